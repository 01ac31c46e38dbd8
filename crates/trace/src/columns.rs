//! The columns of a trace's tables, each with unit and description.

use std::marker::PhantomData;

use ecnlab_units::column_groups::{THROUGHPUT_AND_GOODPUT_DOCS, TimeMeanAndPercentiles, throughput_and_goodputs_bps};
use ecnlab_units::table::{ColumnSpec, NameList, NameSource, TableSpec, count_column, index_column, name_column, real_column};
use ecnlab_units::{Span, jain_columns, rate_columns, time_columns, words};
use ecnlab_wire::End;

use crate::flow::FlowCounters;

/// Source of the names of a column.
#[derive(Clone, Copy, Debug)]
pub enum NameColumnKind {
    End,
    Link,
    Word(&'static [&'static str]),
}

/// The names that a trace has.
#[derive(Clone, Debug)]
pub struct EndAndLinkNames {
    /// Sources and sinks, as the file writes them.
    pub ends: NameList,
    pub links: NameList,
}

impl NameSource for NameColumnKind {
    type Context = EndAndLinkNames;

    fn names_in_context(self, of: &EndAndLinkNames) -> NameList {
        match self {
            NameColumnKind::End => of.ends.clone(),
            NameColumnKind::Link => of.links.clone(),
            NameColumnKind::Word(words) => words.iter().map(|&word| word.into()).collect(),
        }
    }

    fn fixed_names(self) -> &'static [&'static str] {
        match self {
            NameColumnKind::Word(words) => words,
            _ => &[],
        }
    }
}

words! {
    /// Transport protocol of a flow.
    pub enum FlowKind { Tcp = "tcp", Datagrams = "datagrams" }
}

words! {
    /// Outcome of the ECN negotiation.
    pub enum EcnMode { Unknown = "unknown", Refused = "none", Classic = "classic", Accurate = "accurate" }
}

words! {
    /// Kind of a row in the table `events`.
    pub enum SignalKind { Mark = "mark", Drop = "drop" }
}

words! {
    /// Kind of a point in a time-sequence graph.
    pub enum SequencePointKind {
        Data = "data",
        Retransmission = "retransmission",
        Ack = "ack",
        Window = "window",
        Sack = "sack",
        Mark = "mark",
        Drop = "drop",
        Echo = "echo",
        Cwr = "cwr",
    }
}

/// Values that the rows of flows and of the total share.
#[derive(Clone, Debug)]
pub struct SharedFlowAndTotalValues {
    pub seconds: f64,
    pub counters: FlowCounters,
    pub rtt: TimeMeanAndPercentiles,
    pub delay: TimeMeanAndPercentiles,
}

#[derive(Clone, Debug)]
pub struct FlowRow {
    pub flow: u32,
    pub fid: Option<u32>,
    /// Source and destination, and their indices in the list of names once it exists.
    pub ends: [End; 2],
    pub end_names: [u32; 2],
    pub kind: FlowKind,
    pub ecn: EcnMode,
    pub begin_s: f64,
    pub end_s: f64,
    pub rtt_min_s: f64,
    pub competes: bool,
    pub common: SharedFlowAndTotalValues,
}

pub struct TotalRow {
    pub flows: u64,
    pub competing_flows: u64,
    pub jain: [f64; 3],
    pub jain_bins: [f64; 3],
    pub locked_out_flows: u64,
    pub common: SharedFlowAndTotalValues,
}

pub struct LinkRow {
    pub link: u32,
    pub arrivals: u64,
    pub departures: u64,
    pub marks: u64,
    pub drops: u64,
    pub throughput_bps: f64,
    pub sojourn: TimeMeanAndPercentiles,
}

#[derive(Clone, Copy, Debug)]
pub struct BinRow {
    pub time_s: f64,
    pub seconds: f64,
    pub bytes: [u64; 3],
    pub marks: u64,
    pub drops: u64,
    pub flows: u64,
    pub jain: [f64; 3],
}

#[derive(Clone, Copy, Debug)]
pub struct FlowBinRow {
    pub time_s: f64,
    pub flow: u32,
    pub seconds: f64,
    pub bytes: [u64; 3],
    pub marks: u64,
    pub drops: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct ReactionRow {
    pub flow: u32,
    pub experienced_s: f64,
    pub echoed_s: f64,
    pub reduced_s: f64,
    pub packets: u64,
    pub rtt_s: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct EventRow {
    pub time_s: f64,
    pub link: u32,
    pub flow: u32,
    pub kind: SignalKind,
}

#[derive(Clone, Copy, Debug)]
pub struct LockoutRow {
    pub flow: u32,
    pub start_s: f64,
    pub end_s: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct SequencePointRow {
    pub flow: u32,
    pub time_s: f64,
    pub kind: SequencePointKind,
    pub from: f64,
    pub to: f64,
}

pub static FLOWS: TableSpec<FlowRow, NameColumnKind> = TableSpec {
    name: "flows",
    doc: "a row for each direction of a connection that carried data, in the order in which they began",
    columns: &[
        &[
            index_column("flow", "index", "The flow's number, from 0", |row: &FlowRow| row.flow),
            real_column("fid", "1", "The flow's number in an ns-2 trace; NaN in captures", |row| row.fid.map_or(f64::NAN, f64::from)),
            name_column("source", NameColumnKind::End, "Sender: node and agent of ns-2, or address and port", |row| row.end_names[0]),
            name_column("destination", NameColumnKind::End, "Who receives", |row| row.end_names[1]),
            name_column("kind", NameColumnKind::Word(FlowKind::WORDS), "Its transport protocol", |row| row.kind as u32),
            name_column(
                "ecn",
                NameColumnKind::Word(EcnMode::WORDS),
                "ECN as negotiated in the handshake: `classic` is RFC 3168, `accurate` RFC 9768; `unknown` without a handshake in the file",
                |row| row.ecn as u32,
            ),
            real_column("begin_s", "s", "Time of its first packet", |row| row.begin_s),
            real_column("end_s", "s", "Time of its last packet", |row| row.end_s),
            count_column("competes", "1", "1 if the flow competes, so that Jain's index counts it; 0 otherwise", |row| {
                u64::from(row.competes)
            }),
        ],
        SharedFlowAndTotalColumns::RATES,
        SharedFlowAndTotalColumns::SUMS,
        &[real_column("rtt_min_s", "s", "Smallest round-trip time, of the whole file", |row| row.rtt_min_s)],
        SharedFlowAndTotalColumns::RTT,
        SharedFlowAndTotalColumns::DELAY,
    ],
};

pub static TOTAL: TableSpec<TotalRow, NameColumnKind> = TableSpec {
    name: "total",
    doc: "one row: the same over all flows, and their fairness",
    columns: &[
        &[
            count_column("flows", "flows", "Number of flows", |row: &TotalRow| row.flows),
            count_column("competing_flows", "flows", "Number of competing flows", |row| row.competing_flows),
        ],
        SharedFlowAndTotalColumns::RATES,
        SharedFlowAndTotalColumns::SUMS,
        SharedFlowAndTotalColumns::RTT,
        SharedFlowAndTotalColumns::DELAY,
        &jain_columns!(
            "jain",
            "Jain's index of the competing flows' ",
            [" over the whole interval; NaN for fewer than two", " over the whole interval; NaN for fewer than two"],
            |row: &TotalRow| row.jain
        ),
        &jain_columns!(
            "jain_bins",
            "Mean of Jain's index of ",
            [
                " over the bins that lie completely in the interval, without bins in which nothing arrived; \
                 a connection shares a bin, by its larger direction there, if it has begun and not been closed before; NaN if fewer than two flows compete",
                " over the same bins"
            ],
            |row: &TotalRow| row.jain_bins
        ),
        &[count_column("locked_out_flows", "flows", "Flows with at least one lockout", |row| row.locked_out_flows)],
    ],
};

pub static LINKS: TableSpec<LinkRow, NameColumnKind> = TableSpec {
    name: "links",
    doc: "a row for each link, with all packets; the link with most marks and drops is first, or else the link with the longest sojourn \
        times",
    columns: &[
        &[
            name_column("link", NameColumnKind::Link, "Two nodes of ns-2, or two interfaces of a capture", |row: &LinkRow| row.link),
            count_column("arrivals", "packets", "Packets that arrived at the link", |row| row.arrivals),
            count_column("departures", "packets", "Packets whose transmission began", |row| row.departures),
            count_column("marks", "packets", "Packets marked", |row| row.marks),
            count_column("drops", "packets", "Packets dropped", |row| row.drops),
            real_column("throughput_bps", "bit/s", "Bytes of the packets that departed, by time", |row| row.throughput_bps),
        ],
        &time_columns!("sojourn", "time from the arrival at the link to the begin of transmission", |row: &LinkRow| row.sojourn),
    ],
};

pub static BINS: TableSpec<BinRow, NameColumnKind> = TableSpec {
    name: "bins",
    doc: "a row for each bin in which anything happened",
    columns: &[
        &[real_column("time_s", "s", "Begin of the bin", |row: &BinRow| row.time_s)],
        &rate_columns!(["Throughput of all flows", "Goodput of all flows", "First-time goodput of all flows"], |row: &BinRow| {
            throughput_and_goodputs_bps(row.bytes, row.seconds)
        }),
        &[
            count_column("marks", "packets", "Data packets that were marked", |row| row.marks),
            count_column("drops", "packets", "Data packets that were dropped", |row| row.drops),
            count_column("flows", "flows", "Flows that had begun and not been closed before", |row| row.flows),
        ],
        &jain_columns!(
            "jain",
            "Jain's index of ",
            [" over the connections of these flows, each by its direction with more goodput in the bin", " over the same directions"],
            |row: &BinRow| row.jain
        ),
    ],
};

pub static FLOW_BINS: TableSpec<FlowBinRow, NameColumnKind> = TableSpec {
    name: "flow_bins",
    doc: "a row for each flow in each bin in which anything happened to it",
    columns: &[
        &[
            real_column("time_s", "s", "Begin of the bin", |row: &FlowBinRow| row.time_s),
            index_column("flow", "index", "The flow's number", |row| row.flow),
        ],
        &rate_columns!(["Throughput", "Goodput", "First-time goodput"], |row: &FlowBinRow| throughput_and_goodputs_bps(
            row.bytes,
            row.seconds
        )),
        &[
            count_column("marks", "packets", "Data packets that were marked", |row| row.marks),
            count_column("drops", "packets", "Data packets that were dropped", |row| row.drops),
        ],
    ],
};

pub static REACTIONS: TableSpec<ReactionRow, NameColumnKind> = TableSpec {
    name: "reactions",
    doc: "a row for each reaction of a TCP flow to marks; a time is NaN if the file does not show what happened then",
    columns: &[&[
        index_column("flow", "index", "The flow's number", |row: &ReactionRow| row.flow),
        real_column("experienced_s", "s", "Time at which the first packet with CE arrived at the sink", |row| row.experienced_s),
        real_column("echoed_s", "s", "Time at which the sink sent the first ACK with ECN-Echo", |row| row.echoed_s),
        real_column("reduced_s", "s", "Time at which the source sent the packet with CWR", |row| row.reduced_s),
        count_column("packets", "packets", "Packets with CE that it answers", |row| row.packets),
        real_column("latency_s", "s", "Time from CE at the sink to CWR at the source", |row| row.reduced_s - row.experienced_s),
        real_column("latency_rtts", "1", "The same in round-trip times, by the flow's mean so far", |row| {
            (row.reduced_s - row.experienced_s) / row.rtt_s
        }),
    ]],
};

pub static EVENTS: TableSpec<EventRow, NameColumnKind> = TableSpec {
    name: "events",
    doc: "a row for each data packet that was marked or dropped",
    columns: &[&[
        real_column("time_s", "s", "Time at which it was recorded as marked, or dropped", |row: &EventRow| row.time_s),
        name_column("link", NameColumnKind::Link, "Where", |row| row.link),
        index_column("flow", "index", "The flow's number", |row| row.flow),
        name_column("kind", NameColumnKind::Word(SignalKind::WORDS), "Mark or drop", |row| row.kind as u32),
    ]],
};

pub static LOCKOUTS: TableSpec<LockoutRow, NameColumnKind> = TableSpec {
    name: "lockouts",
    doc: "a row for each lockout",
    columns: &[&[
        index_column("flow", "index", "The flow's number", |row: &LockoutRow| row.flow),
        real_column("start_s", "s", "Begin of the time without new arrivals", |row| row.start_s),
        real_column("end_s", "s", "Next arrival, or the end of the file", |row| row.end_s),
    ]],
};

pub static SEQUENCE: TableSpec<SequencePointRow, NameColumnKind> = TableSpec {
    name: "sequence",
    doc: "the time-sequence graph of the requested flows as recorded near the source, counted from each flow's first number",
    columns: &[&[
        index_column("flow", "index", "The flow's number", |row: &SequencePointRow| row.flow),
        real_column("time_s", "s", "When", |row| row.time_s),
        name_column(
            "kind",
            NameColumnKind::Word(SequencePointKind::WORDS),
            "Kind: a segment (`data`, `retransmission`), an acknowledged range (`ack`), the window's right edge (`window`), a SACK block \
                (`sack`), a segment that was marked or dropped (`mark`, `drop`), the first ACK with ECN-Echo (`echo`), a segment with \
                CWR (`cwr`)",
            |row| row.kind as u32,
        ),
        real_column("from", "1", "First number; bytes, or packets in an ns-2 trace", |row| row.from),
        real_column("to", "1", "Number after the last", |row| row.to),
    ]],
};

/// The columns that flows and the total share.
struct SharedFlowAndTotalColumns<R>(PhantomData<R>);

impl<R: AsRef<SharedFlowAndTotalValues> + 'static> SharedFlowAndTotalColumns<R> {
    const RATES: &'static [ColumnSpec<R, NameColumnKind>] =
        &rate_columns!(THROUGHPUT_AND_GOODPUT_DOCS, |row: &R| throughput_and_goodputs_bps(
            counters_of_row(row).bytes,
            row.as_ref().seconds
        ));

    const SUMS: &'static [ColumnSpec<R, NameColumnKind>] = &[
        count_column("sent", "packets", "Data packets that the source sent, with retransmissions", |row| counters_of_row(row).sent),
        count_column("retransmitted_fast", "packets", "Retransmissions triggered by duplicate ACKs or SACK blocks", |row| {
            counters_of_row(row).fast_retransmits
        }),
        count_column("retransmitted_timeout", "packets", "Retransmissions after a timer", |row| counters_of_row(row).timeout_retransmits),
        count_column("spurious_retransmits", "packets", "Retransmissions of data that had arrived, if the file shows that", |row| {
            counters_of_row(row).spurious_retransmits
        }),
        count_column("timeouts", "timeouts", "Retransmissions that a timer triggered", |row| counters_of_row(row).timeouts),
        count_column("reordered", "packets", "Data packets that were overtaken before they were recorded", |row| {
            counters_of_row(row).reordered
        }),
        count_column("drops", "packets", "Data packets that were dropped", |row| counters_of_row(row).drops),
        count_column("marks", "packets", "Data packets that were marked in the file", |row| counters_of_row(row).marks),
        count_column("ce", "packets", "Data packets that arrived at the sink with CE", |row| counters_of_row(row).ce_packets),
        count_column("echoes", "packets", "Acknowledgements with ECN-Echo that the sink sent", |row| counters_of_row(row).echoes),
        count_column("cwr_packets", "packets", "Data packets with CWR that the source sent", |row| counters_of_row(row).cwr_packets),
        count_column("reactions", "reactions", "Reactions to marks that came to their end in the interval", |row| {
            counters_of_row(row).reactions
        }),
        real_column("reaction_mean_s", "s", "Mean latency of reactions, from CE at the sink to CWR at the source", |row| {
            counters_of_row(row).reaction_mean_s()
        }),
        count_column("lockouts", "spells", "Lockouts that ended in the interval, or are open at its end", |row| {
            counters_of_row(row).lockouts
        }),
        real_column("lockout_s", "s", "Total length of the lockouts", |row| counters_of_row(row).lockout_time.seconds()),
        count_column("acked_unseen_bytes", "1", "Bytes (packets in an ns-2 trace) that were acknowledged and are not in the file", |row| {
            counters_of_row(row).acked_unseen
        }),
    ];

    const RTT: &'static [ColumnSpec<R, NameColumnKind>] =
        &time_columns!("rtt", "round-trip time", mean: " of segments that were sent once", |row: &R| row.as_ref().rtt);

    const DELAY: &'static [ColumnSpec<R, NameColumnKind>] =
        &time_columns!("delay", "one-way delay", mean: ", where the file shows both ends; NaN otherwise", |row: &R| row.as_ref().delay);
}

fn counters_of_row<R: AsRef<SharedFlowAndTotalValues>>(row: &R) -> &FlowCounters {
    &row.as_ref().counters
}

impl AsRef<SharedFlowAndTotalValues> for FlowRow {
    fn as_ref(&self) -> &SharedFlowAndTotalValues {
        &self.common
    }
}

impl AsRef<SharedFlowAndTotalValues> for TotalRow {
    fn as_ref(&self) -> &SharedFlowAndTotalValues {
        &self.common
    }
}

/// Seconds, or NaN.
pub fn seconds_or_nan(span: Option<Span>) -> f64 {
    span.map_or(f64::NAN, Span::seconds)
}
