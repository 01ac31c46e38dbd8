//! The columns of a trace's tables, each with its unit and what it says.

use ecnlab_units::Span;
use ecnlab_units::histogram::Histogram;
use ecnlab_units::table::{ColumnSpec, Names, Naming, TableSpec, count, index, name, real};
use ecnlab_wire::End;
use std::marker::PhantomData;

use crate::flow::Kept;

/// What the names of a column are names of.
#[derive(Clone, Copy, Debug)]
pub enum Of {
    End,
    Link,
    Word(&'static [&'static str]),
}

/// The names that a trace has.
#[derive(Clone, Debug)]
pub struct TraceNames {
    /// Sources and sinks, as the file writes them.
    pub ends: Names,
    pub links: Names,
}

impl Naming for Of {
    type Of = TraceNames;

    fn names(self, of: &TraceNames) -> Names {
        match self {
            Of::End => of.ends.clone(),
            Of::Link => of.links.clone(),
            Of::Word(words) => words.iter().map(|&word| word.into()).collect(),
        }
    }

    fn words(self) -> &'static [&'static str] {
        match self {
            Of::Word(words) => words,
            _ => &[],
        }
    }
}

/// What a flow talks.
pub const KINDS: &[&str] = &["tcp", "datagrams"];

/// How a connection settled about ECN.
pub const ECN: &[&str] = &["unknown", "none", "classic", "accurate"];
pub const UNKNOWN: u32 = 0;
pub const REFUSED: u32 = 1;
pub const CLASSIC: u32 = 2;
pub const ACCURATE: u32 = 3;

/// What happened to a packet.
pub const EVENTS: &[&str] = &["mark", "drop"];

/// What a point of a time-sequence graph stands for.
pub const POINTS: &[&str] = &["data", "retransmission", "ack", "window", "sack", "mark", "drop", "echo", "reduced"];

/// Mean and percentiles of times.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub mean_s: f64,
    pub p50_s: f64,
    pub p95_s: f64,
    pub p99_s: f64,
}

impl<const BITS: u32> From<&Histogram<BITS>> for Times {
    fn from(of: &Histogram<BITS>) -> Times {
        Times { mean_s: of.mean_s(), p50_s: of.quantile_s(0.50), p95_s: of.quantile_s(0.95), p99_s: of.quantile_s(0.99) }
    }
}

/// What flows and their total have in common.
#[derive(Clone, Debug)]
pub struct Common {
    pub seconds: f64,
    pub kept: Kept,
    pub rtt: Times,
    pub delay: Times,
}

#[derive(Clone, Debug)]
pub struct FlowRow {
    pub flow: u32,
    pub fid: Option<u32>,
    /// Source and destination, and their places among the names once there are any.
    pub ends: [End; 2],
    pub names: [u32; 2],
    pub kind: u32,
    pub ecn: u32,
    pub begin_s: f64,
    pub end_s: f64,
    pub rtt_min_s: f64,
    pub competes: bool,
    pub common: Common,
}

pub struct TotalRow {
    pub flows: u64,
    pub competing_flows: u64,
    pub jain: [f64; 3],
    pub jain_bins: [f64; 3],
    pub locked_out_flows: u64,
    pub common: Common,
}

pub struct LinkRow {
    pub link: u32,
    pub arrivals: u64,
    pub departures: u64,
    pub marks: u64,
    pub drops: u64,
    pub throughput_bps: f64,
    pub sojourn: Times,
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
    pub kind: u32,
}

#[derive(Clone, Copy, Debug)]
pub struct LockoutRow {
    pub flow: u32,
    pub start_s: f64,
    pub end_s: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct PointRow {
    pub flow: u32,
    pub time_s: f64,
    pub kind: u32,
    pub from: f64,
    pub to: f64,
}

pub static FLOWS: TableSpec<FlowRow, Of> = TableSpec {
    name: "flows",
    doc: "a row for each direction of a connection that carried data, in the order in which they began",
    columns: &[
        &[
            index("flow", "index", "The flow's number, from 0", |row: &FlowRow| row.flow),
            real("fid", "1", "The flow's number in an ns-2 trace; NaN in captures", |row| row.fid.map_or(f64::NAN, f64::from)),
            name("source", Of::End, "Who sends: node and agent of ns-2, or address and port", |row| row.names[0]),
            name("destination", Of::End, "Who receives", |row| row.names[1]),
            name("kind", Of::Word(KINDS), "Its transport protocol", |row| row.kind),
            name(
                "ecn",
                Of::Word(ECN),
                "What the handshake settled about ECN: `classic` is RFC 3168, `accurate` RFC 9768; `unknown` without a handshake in the file",
                |row| row.ecn,
            ),
            real("begin_s", "s", "When its first packet was seen", |row| row.begin_s),
            real("end_s", "s", "When its last packet was seen", |row| row.end_s),
            count("competes", "1", "1 if the flow competes, so that Jain's index counts it; 0 otherwise", |row| u64::from(row.competes)),
        ],
        Shared::SUMS,
        &[real("rtt_min_s", "s", "Smallest round-trip time, of the whole file", |row| row.rtt_min_s)],
        Shared::TIMES,
    ],
};

pub static TOTAL: TableSpec<TotalRow, Of> = TableSpec {
    name: "total",
    doc: "one row: the same over all flows, and how evenly they share",
    columns: &[
        &[
            count("flows", "flows", "How many flows there are", |row: &TotalRow| row.flows),
            count("competing_flows", "flows", "How many of them compete", |row| row.competing_flows),
        ],
        Shared::SUMS,
        Shared::TIMES,
        &[
            real(
                "jain_throughput",
                "1",
                "Jain's index of the competing flows' throughput over the whole interval; NaN for fewer than two",
                |row| row.jain[0],
            ),
            real(
                "jain_goodput",
                "1",
                "Jain's index of the competing flows' goodput over the whole interval; NaN for fewer than two",
                |row| row.jain[1],
            ),
            real(
                "jain_goodput_first",
                "1",
                "Jain's index of the competing flows' first-time goodput over the whole interval; NaN for fewer than two",
                |row| row.jain[2],
            ),
            real(
                "jain_bins_throughput",
                "1",
                "Mean of Jain's index of throughput over the bins that lie whole in the interval, those left out in which nothing arrived; \
                 a connection shares a bin, by its larger direction there, if it has begun and not been closed before; NaN if fewer than two flows compete",
                |row| row.jain_bins[0],
            ),
            real("jain_bins_goodput", "1", "Mean of Jain's index of goodput over the same bins", |row| row.jain_bins[1]),
            real("jain_bins_goodput_first", "1", "Mean of Jain's index of first-time goodput over the same bins", |row| row.jain_bins[2]),
            count("locked_out_flows", "flows", "Flows with at least one lockout", |row| row.locked_out_flows),
        ],
    ],
};

pub static LINKS: TableSpec<LinkRow, Of> = TableSpec {
    name: "links",
    doc: "a row for each link, all packets counted; the one that marked and dropped most, or else where packets waited longest, stands first",
    columns: &[&[
        name("link", Of::Link, "Two nodes of ns-2, or two interfaces of a capture", |row: &LinkRow| row.link),
        count("arrivals", "packets", "Packets that came to the link", |row| row.arrivals),
        count("departures", "packets", "Packets whose transmission began", |row| row.departures),
        count("marks", "packets", "Packets marked", |row| row.marks),
        count("drops", "packets", "Packets dropped", |row| row.drops),
        real("throughput_bps", "bit/s", "Bytes of the packets that departed, by time", |row| row.throughput_bps),
        real("sojourn_mean_s", "s", "Mean time from the arrival at the link to the begin of transmission", |row| row.sojourn.mean_s),
        real("sojourn_p50_s", "s", "Median of this time", |row| row.sojourn.p50_s),
        real("sojourn_p95_s", "s", "95th percentile of this time", |row| row.sojourn.p95_s),
        real("sojourn_p99_s", "s", "99th percentile of this time", |row| row.sojourn.p99_s),
    ]],
};

pub static BINS: TableSpec<BinRow, Of> = TableSpec {
    name: "bins",
    doc: "a row for each bin in which anything happened",
    columns: &[&[
        real("time_s", "s", "Begin of the bin", |row: &BinRow| row.time_s),
        real("throughput_bps", "bit/s", "Throughput of all flows", |row| rate(row.bytes[0], row.seconds)),
        real("goodput_bps", "bit/s", "Goodput of all flows", |row| rate(row.bytes[1], row.seconds)),
        real("goodput_first_bps", "bit/s", "First-time goodput of all flows", |row| rate(row.bytes[2], row.seconds)),
        count("marks", "packets", "Data packets that were marked", |row| row.marks),
        count("drops", "packets", "Data packets that were dropped", |row| row.drops),
        count("flows", "flows", "Flows that had begun and not been closed before", |row| row.flows),
        real(
            "jain_throughput",
            "1",
            "Jain's index of throughput over the connections of these flows, each by its direction with more goodput in the bin",
            |row| row.jain[0],
        ),
        real("jain_goodput", "1", "Jain's index of goodput over the same directions", |row| row.jain[1]),
        real("jain_goodput_first", "1", "Jain's index of first-time goodput over the same directions", |row| row.jain[2]),
    ]],
};

pub static FLOW_BINS: TableSpec<FlowBinRow, Of> = TableSpec {
    name: "flow_bins",
    doc: "a row for each flow in each bin in which anything happened to it",
    columns: &[&[
        real("time_s", "s", "Begin of the bin", |row: &FlowBinRow| row.time_s),
        index("flow", "index", "The flow's number", |row| row.flow),
        real("throughput_bps", "bit/s", "Throughput", |row| rate(row.bytes[0], row.seconds)),
        real("goodput_bps", "bit/s", "Goodput", |row| rate(row.bytes[1], row.seconds)),
        real("goodput_first_bps", "bit/s", "First-time goodput", |row| rate(row.bytes[2], row.seconds)),
        count("marks", "packets", "Data packets that were marked", |row| row.marks),
        count("drops", "packets", "Data packets that were dropped", |row| row.drops),
    ]],
};

pub static REACTIONS: TableSpec<ReactionRow, Of> = TableSpec {
    name: "reactions",
    doc: "a row for each reaction of a TCP flow to marks; a time is NaN if the file does not show what happened then",
    columns: &[&[
        index("flow", "index", "The flow's number", |row: &ReactionRow| row.flow),
        real("experienced_s", "s", "When the first packet with CE came to the sink", |row| row.experienced_s),
        real("echoed_s", "s", "When the sink sent the first acknowledgement with ECN-Echo", |row| row.echoed_s),
        real("reduced_s", "s", "When the source sent the packet with CWR", |row| row.reduced_s),
        count("packets", "packets", "Packets with CE that it answers", |row| row.packets),
        real("latency_s", "s", "From CE at the sink to CWR at the source", |row| row.reduced_s - row.experienced_s),
        real("latency_rtts", "1", "The same in round-trip times, by the flow's mean so far", |row| {
            (row.reduced_s - row.experienced_s) / row.rtt_s
        }),
    ]],
};

pub static EVENTS_TABLE: TableSpec<EventRow, Of> = TableSpec {
    name: "events",
    doc: "a row for each data packet that was marked or dropped",
    columns: &[&[
        real("time_s", "s", "When it was seen marked, or dropped", |row: &EventRow| row.time_s),
        name("link", Of::Link, "Where", |row| row.link),
        index("flow", "index", "The flow's number", |row| row.flow),
        name("kind", Of::Word(EVENTS), "Mark or drop", |row| row.kind),
    ]],
};

pub static LOCKOUTS: TableSpec<LockoutRow, Of> = TableSpec {
    name: "lockouts",
    doc: "a row for each lockout",
    columns: &[&[
        index("flow", "index", "The flow's number", |row: &LockoutRow| row.flow),
        real("start_s", "s", "Since when nothing new arrived", |row| row.start_s),
        real("end_s", "s", "When something arrived again, or the file ended", |row| row.end_s),
    ]],
};

pub static SEQUENCE: TableSpec<PointRow, Of> = TableSpec {
    name: "sequence",
    doc: "the time-sequence graph of the flows that were asked for, as seen near the source, counted from each flow's first number",
    columns: &[&[
        index("flow", "index", "The flow's number", |row: &PointRow| row.flow),
        real("time_s", "s", "When", |row| row.time_s),
        name(
            "kind",
            Of::Word(POINTS),
            "What it is: a segment (`data`, `retransmission`), what is acknowledged (`ack`), the window's right edge (`window`), a block \
             of SACK (`sack`), a segment that was marked or dropped (`mark`, `drop`), the first acknowledgement with ECN-Echo (`echo`), \
             a segment with CWR (`reduced`)",
            |row| row.kind,
        ),
        real("from", "1", "The first number of it; bytes, or packets in an ns-2 trace", |row| row.from),
        real("to", "1", "The number behind its last", |row| row.to),
    ]],
};

/// The columns that flows and the total share.
struct Shared<R>(PhantomData<R>);

impl<R: AsRef<Common> + 'static> Shared<R> {
    const SUMS: &'static [ColumnSpec<R, Of>] = &[
        real(
            "throughput_bps",
            "bit/s",
            "Throughput: bytes of data packets that reached the sink, headers and copies included, by time",
            |row| rated(row, 0),
        ),
        real("goodput_bps", "bit/s", "Goodput: bytes that the application at the sink could newly read, in order, by time", |row| {
            rated(row, 1)
        }),
        real(
            "goodput_first_bps",
            "bit/s",
            "First-time goodput: bytes of data of packets that reached the sink and were no retransmissions, by time",
            |row| rated(row, 2),
        ),
        count("sent", "packets", "Data packets that the source sent, retransmissions included", |row| kept(row).sent),
        count("retransmitted_fast", "packets", "Retransmissions called for by duplicate ACKs or SACK blocks", |row| kept(row).again_fast),
        count("retransmitted_timeout", "packets", "Retransmissions after a timer", |row| kept(row).again_timeout),
        count("retransmitted_needlessly", "packets", "Retransmissions of what had arrived, where that can be told", |row| {
            kept(row).needless
        }),
        count("timeouts", "timeouts", "Retransmissions that a timer began", |row| kept(row).timeouts),
        count("reordered", "packets", "Data packets that were overtaken before they were seen", |row| kept(row).late),
        count("drops", "packets", "Data packets that were dropped", |row| kept(row).drops),
        count("marks", "packets", "Data packets that were marked in the file", |row| kept(row).marks),
        count("ce", "packets", "Data packets that came to the sink with CE", |row| kept(row).ce),
        count("echoes", "packets", "Acknowledgements with ECN-Echo that the sink sent", |row| kept(row).echoes),
        count("reduced", "packets", "Data packets with CWR that the source sent", |row| kept(row).reduced),
        count("reactions", "reactions", "Reactions to marks that came to their end in the interval", |row| kept(row).reactions),
        real("reaction_mean_s", "s", "Mean latency of reactions, from CE at the sink to CWR at the source", |row| {
            kept(row).reaction_mean_s()
        }),
        count("lockouts", "spells", "Lockouts that ended in the interval, or are open at its end", |row| kept(row).lockouts),
        real("lockout_s", "s", "Length of the lockouts in all", |row| kept(row).lockout.seconds()),
        count("unseen", "1", "Bytes (packets in an ns-2 trace) that were acknowledged and are not in the file", |row| kept(row).unseen),
    ];

    const TIMES: &'static [ColumnSpec<R, Of>] = &[
        real("rtt_mean_s", "s", "Mean round-trip time of segments that were sent once", |row| row.as_ref().rtt.mean_s),
        real("rtt_p50_s", "s", "Median round-trip time", |row| row.as_ref().rtt.p50_s),
        real("rtt_p95_s", "s", "95th percentile of the round-trip time", |row| row.as_ref().rtt.p95_s),
        real("rtt_p99_s", "s", "99th percentile of the round-trip time", |row| row.as_ref().rtt.p99_s),
        real("delay_mean_s", "s", "Mean one-way delay, where the file shows both ends; NaN otherwise", |row| row.as_ref().delay.mean_s),
        real("delay_p50_s", "s", "Median one-way delay", |row| row.as_ref().delay.p50_s),
        real("delay_p95_s", "s", "95th percentile of the one-way delay", |row| row.as_ref().delay.p95_s),
        real("delay_p99_s", "s", "99th percentile of the one-way delay", |row| row.as_ref().delay.p99_s),
    ];
}

fn kept<R: AsRef<Common>>(row: &R) -> &Kept {
    &row.as_ref().kept
}

fn rated<R: AsRef<Common>>(row: &R, kind: usize) -> f64 {
    rate(kept(row).bytes[kind], row.as_ref().seconds)
}

fn rate(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 * 8.0 / seconds
}

impl AsRef<Common> for FlowRow {
    fn as_ref(&self) -> &Common {
        &self.common
    }
}

impl AsRef<Common> for TotalRow {
    fn as_ref(&self) -> &Common {
        &self.common
    }
}

/// Seconds, or no number.
pub fn seconds(span: Option<Span>) -> f64 {
    span.map_or(f64::NAN, Span::seconds)
}
