//! The columns of `flows`, `groups`, `total`, `queues` and `impairments`, each with its unit and description.
//!
//! All columns cover the measured interval, unless a name ends in `run` or the description differs.

use std::marker::PhantomData;

use ecnlab_queue::{CountsByCause, SignalCause};
use ecnlab_transport::SendCounters;
use ecnlab_units::column_groups::{THROUGHPUT_AND_GOODPUT_DOCS, TimeMeanAndPercentiles, throughput_and_goodputs_bps};
use ecnlab_units::fairness::JainIndex;
use ecnlab_units::{jain_columns, rate_columns, time_columns};

use super::table::{ColumnNameSource, ColumnSpec, TableSpec, count_column, index_column, name_column, real_column};
use crate::impairment::{IMPAIRMENT_NAMES, ImpairmentCounts, LossCounts};

/// Sums over one flow or several flows.
#[derive(Clone, Debug, Default)]
pub struct FlowSums {
    /// Length of the measured interval.
    pub seconds: f64,
    /// Bytes that reached the sink: all, new in order, and on first transmissions.
    pub bytes: [u64; 3],
    pub sender: SendCounters,
    pub drops: u64,
    pub marks: u64,
    pub lockouts: u64,
    pub transactions: u64,
    pub lockout_s: f64,
    pub rtt_sum_us: f64,
    pub rtt_samples: u64,
}

/// Columns common to the rows of flows, of groups and of all flows.
#[derive(Clone, Debug)]
pub struct CommonMeasures {
    pub sums: FlowSums,
    pub delay: TimeMeanAndPercentiles,
    pub transaction: TimeMeanAndPercentiles,
}

pub struct FlowRow {
    pub flow: u32,
    pub group: u32,
    pub base_rtt_s: f64,
    pub rtt_min_s: f64,
    pub completion_s: f64,
    pub common: CommonMeasures,
}

pub struct GroupRow {
    pub group: u32,
    pub flows: u64,
    pub common: CommonMeasures,
}

pub struct TotalRow {
    pub common: CommonMeasures,
    /// Jain's index of throughput, goodput and first-time goodput.
    pub jain: [JainIndex; 3],
    pub jain_1s: [f64; 3],
    pub min_max_goodput_ratio: f64,
    pub timeouts_run: u64,
    pub retransmitted_run: u64,
    pub locked_out_flows: u64,
}

pub struct CompletionsBySizeRow {
    pub group: u32,
    /// Smallest size of this step and of the next, in bytes.
    pub size_range: [u64; 2],
    pub transactions: u64,
    pub transaction: TimeMeanAndPercentiles,
    pub slowdown: f64,
}

pub struct QueueRow {
    pub queue: u32,
    /// Sums over its bands.
    pub counts: BandCounts,
    pub losses: LossCounts,
    pub length_mean: f64,
    pub length_at_arrival: f64,
    pub length_max: u32,
    pub average_mean: f64,
    pub empty_fraction: f64,
    pub utilisation: f64,
    pub sojourn: TimeMeanAndPercentiles,
}

pub struct ImpairmentRow {
    pub link: u32,
    pub position: u32,
    /// Index of its kind.
    pub kind: u32,
    pub counts: ImpairmentCounts,
}

pub struct BandRow {
    pub queue: u32,
    /// Index among the bands of all queues.
    pub band: u32,
    pub counts: BandCounts,
    pub sojourn: TimeMeanAndPercentiles,
}

/// Counts of a band over the measured interval, in packets.
#[derive(Clone, Copy, Default)]
pub struct BandCounts {
    pub arrivals: u64,
    pub departures: u64,
    pub marks: u64,
    pub drops: CountsByCause<u64>,
}

pub static FLOWS: TableSpec<FlowRow> = TableSpec {
    name: "flows",
    doc: "a row for each flow",
    columns: &[
        &[
            index_column("flow", "index", "The flow's number, in the order of the scenario, from 0", |row| row.flow),
            name_column("group", ColumnNameSource::Group, "Name of its `[[flows]]` section", |row| row.group),
            real_column(
                "base_rtt_s",
                "s",
                "Round-trip time of a data packet and its ACK over empty links: all transmission times and propagation delays",
                |row| row.base_rtt_s,
            ),
        ],
        SharedColumns::RATE_COLUMNS,
        SharedColumns::SUM_COLUMNS,
        &[real_column("rtt_min_s", "s", "Smallest round-trip time of the whole run", |row| row.rtt_min_s)],
        SharedColumns::DELAY_COLUMNS,
        &[real_column("completion_s", "s", "Time from the flow's start until all its data was acknowledged; NaN if it was not", |row| {
            row.completion_s
        })],
        SharedColumns::TRANSACTION_COLUMNS,
    ],
};

pub static GROUPS: TableSpec<GroupRow> = TableSpec {
    name: "groups",
    doc: "a row for each group of flows: sums over its flows, times over all of its packets and transactions",
    columns: &[
        &[
            name_column("group", ColumnNameSource::Group, "Name of the `[[flows]]` section", |row| row.group),
            count_column("flows", "flows", "Number of flows", |row| row.flows),
        ],
        SharedColumns::RATE_COLUMNS,
        SharedColumns::SUM_COLUMNS,
        SharedColumns::DELAY_COLUMNS,
        SharedColumns::TRANSACTION_COLUMNS,
    ],
};

pub static TOTAL: TableSpec<TotalRow> = TableSpec {
    name: "total",
    doc: "one row: the same over all flows, and their fairness",
    columns: &[
        SharedColumns::RATE_COLUMNS,
        SharedColumns::SUM_COLUMNS,
        &jain_columns!(
            "jain",
            "Jain's index of the flows' ",
            [" over the whole measured interval", " over the whole measured interval"],
            |row| row.jain.map(|shares| shares.value())
        ),
        &jain_columns!(
            "jain_1s",
            "Mean of Jain's index of ",
            [
                " over bins of one second, without bins in which nothing was delivered. \
                 Bins begin at whole seconds; those that begin before `measure_from` are left out",
                " over the same bins"
            ],
            |row| row.jain_1s
        ),
        &[
            real_column("min_max_goodput_ratio", "1", "Smallest over largest group by mean goodput of a flow; 1 is equal", |row| {
                row.min_max_goodput_ratio
            }),
            real_column("power", "bit/s^2", "Goodput over mean one-way delay", TotalRow::goodput_over_delay),
            count_column("timeouts_run", "timeouts", "`timeouts` of the whole run", |row| row.timeouts_run),
            count_column("retransmitted_run", "packets", "Retransmissions of the whole run", |row| row.retransmitted_run),
        ],
        SharedColumns::DELAY_COLUMNS,
        &[count_column("locked_out_flows", "flows", "Flows with at least one lockout", |row| row.locked_out_flows)],
        SharedColumns::TRANSACTION_COLUMNS,
    ],
};

pub static COMPLETIONS: TableSpec<CompletionsBySizeRow> = TableSpec {
    name: "completions",
    doc: "how long transactions took by their size: a row for each group and each step of sizes, 1, 2, 5, 10, 20, ... bytes, in which one ended",
    columns: &[
        &[
            name_column("group", ColumnNameSource::Group, "Name of the `[[flows]]` section", |row| row.group),
            count_column("size_from_bytes", "bytes", "Smallest application data of the size class", |row| row.size_range[0]),
            count_column("size_to_bytes", "bytes", "Application data at which the next size class begins", |row| row.size_range[1]),
            count_column("transactions", "transactions", "Transactions of that size that ended in the interval", |row| row.transactions),
        ],
        &time_columns!("transaction", "duration", |row| row.transaction),
        &[real_column(
            "slowdown_mean",
            "1",
            "Mean slowdown: the duration over its minimum, which is the time of the data at the narrowest link of the route plus an \
                empty round trip",
            |row| row.slowdown,
        )],
    ],
};

pub static QUEUES: TableSpec<QueueRow> = TableSpec {
    name: "queues",
    doc: "a row for each link with a queue. A length is what waits; the packet in transmission is not counted",
    columns: &[
        &[
            name_column("queue", ColumnNameSource::Queue, "Name of the link", |row| row.queue),
            count_column(
                "arrivals",
                "packets",
                "Packets that arrived at the link, with dropped ones and with copies made before the queue",
                |row| row.counts.arrivals + row.losses.lost + row.losses.dropped_for_ecn,
            ),
            count_column("departures", "packets", "Packets whose transmission began", |row| row.counts.departures),
            count_column("marks", "packets", "Packets marked by the queue", |row| row.counts.marks),
            count_column("drops", "packets", "Packets dropped, the sum of the next five columns", QueueRow::drops),
            count_column("drops_early", "packets", "Dropped by the AQM while the queue was within its tolerance", |row| {
                row.counts.drops[SignalCause::Early]
            }),
            count_column("drops_forced", "packets", "Dropped because the queue was beyond the AQM's tolerance", |row| {
                row.counts.drops[SignalCause::Forced]
            }),
            count_column("drops_overflow", "packets", "Dropped because the buffer was full", |row| row.counts.drops[SignalCause::Overflow]),
            count_column("drops_lost", "packets", "Lost before the queue (`loss`, `loss_every` and `impair` of the link)", |row| {
                row.losses.lost
            }),
            count_column("drops_ecn", "packets", "Dropped before the queue because of ECN (`ecn` and `impair` of the link)", |row| {
                row.losses.dropped_for_ecn
            }),
            real_column("length_mean_packets", "packets", "Mean length over time", |row| row.length_mean),
            real_column("length_at_arrival_packets", "packets", "Mean length that an arriving packet found", |row| row.length_at_arrival),
            count_column("length_max_packets", "packets", "Largest length", |row| u64::from(row.length_max)),
            real_column(
                "average_mean_packets",
                "packets",
                "Mean over arrivals of the AQM's average queue length, each after its update by the arrival; NaN if the AQM has no average",
                |row| row.average_mean,
            ),
            real_column("empty_fraction", "1", "Share of the time with an empty queue", |row| row.empty_fraction),
            real_column(
                "utilisation",
                "1",
                "Share of the interval in which a packet was in transmission; a packet counts if its transmission began in the interval. \
                    For a trace-driven link, the share of the bytes that its opportunities could carry. A link that is down sends \
                    nothing",
                |row| row.utilisation,
            ),
        ],
        &time_columns!("sojourn", "sojourn time of the packets that departed", mean: ", without transmission", |row| row.sojourn),
    ],
};

pub static BANDS: TableSpec<BandRow> = TableSpec {
    name: "bands",
    doc: "a row for each band of a queue that serves its packets in several, such as the two of DualPI2; none for other queues",
    columns: &[
        &[
            name_column("queue", ColumnNameSource::Queue, "Name of the link", |row| row.queue),
            name_column("band", ColumnNameSource::Band, "Name of the band", |row| row.band),
            count_column("arrivals", "packets", "Packets that arrived at the band, with dropped ones", |row| row.counts.arrivals),
            count_column("departures", "packets", "Packets whose transmission began", |row| row.counts.departures),
            count_column("marks", "packets", "Packets marked by the queue", |row| row.counts.marks),
            count_column("drops_early", "packets", "As in `queues`", |row| row.counts.drops[SignalCause::Early]),
            count_column("drops_forced", "packets", "As in `queues`", |row| row.counts.drops[SignalCause::Forced]),
            count_column("drops_overflow", "packets", "As in `queues`", |row| row.counts.drops[SignalCause::Overflow]),
        ],
        &time_columns!("sojourn", "sojourn time of the packets that departed", mean: ", without transmission", |row| row.sojourn),
    ],
};

pub static IMPAIRMENTS: TableSpec<ImpairmentRow> = TableSpec {
    name: "impairments",
    doc: "a row for each impairment of each link, in the order in which packets meet them; the private links of a group are one link. \
          Losses of data packets are among `drops` too",
    columns: &[&[
        name_column(
            "link",
            ColumnNameSource::Link,
            "Name of the link as declared, with `.reverse` for the reverse direction, and `GROUP.access` for private links",
            |row| row.link,
        ),
        index_column("position", "index", "Position among the link's impairments, from 0", |row| row.position),
        name_column("kind", ColumnNameSource::Word(&IMPAIRMENT_NAMES), "Kind of the impairment", |row| row.kind),
        count_column("arrivals", "packets", "Packets that arrived at it", |row| row.counts.arrived),
        count_column("lost", "packets", "Packets lost", |row| row.counts.lost),
        count_column("drops_ecn", "packets", "Packets dropped because of ECN", |row| row.counts.dropped_for_ecn),
        count_column("marked", "packets", "Packets marked", |row| row.counts.marked),
        count_column("ecn_cleared", "packets", "Packets whose ECN codepoint or flags it cleared", |row| row.counts.ecn_cleared),
        count_column("duplicated", "packets", "Copies made", |row| row.counts.duplicated),
        count_column("delayed", "packets", "Packets delayed", |row| row.counts.delayed),
        count_column("reordered", "packets", "Packets that continued after a packet that had arrived later", |row| row.counts.reordered),
    ]],
};

/// Columns that flows, groups and the total share.
struct SharedColumns<R>(PhantomData<R>);

impl<R: AsRef<CommonMeasures> + 'static> SharedColumns<R> {
    const RATE_COLUMNS: &'static [ColumnSpec<R>] = &rate_columns!(THROUGHPUT_AND_GOODPUT_DOCS, |row: &R| sums_of_row(row).rates_bps());

    const SUM_COLUMNS: &'static [ColumnSpec<R>] = &[
        count_column(
            "sent",
            "packets",
            "Packets that the sender sent: data, SYN, FIN and the ACKs that close a handshake, retransmissions included",
            |row| sums_of_row(row).sender.sent,
        ),
        count_column("retransmitted_fast", "packets", "Retransmissions triggered by duplicate ACKs", |row| {
            sums_of_row(row).sender.retransmitted_fast
        }),
        count_column("retransmitted_timeout", "packets", "Retransmissions after a timeout", |row| {
            sums_of_row(row).sender.retransmitted_timeout
        }),
        count_column(
            "timeouts",
            "timeouts",
            "Expiries of the retransmission timer that indicate a loss: with outstanding data, and not directly after a reduction by a \
                mark",
            |row| sums_of_row(row).sender.timeouts,
        ),
        count_column("drops", "packets", "Data packets that were dropped, at any link", |row| sums_of_row(row).drops),
        count_column("marks", "packets", "Data packets that were marked", |row| sums_of_row(row).marks),
        count_column("ecn_reactions", "reactions", "Window reductions for marks", |row| sums_of_row(row).sender.ecn_reactions),
        count_column("lockouts", "spells", "Lockouts that ended in the interval, or are open at its end", |row| sums_of_row(row).lockouts),
        count_column("transactions", "transactions", "Transactions that ended in the interval", |row| sums_of_row(row).transactions),
        real_column("lockout_s", "s", "Total length of the lockouts", |row| sums_of_row(row).lockout_s),
        real_column("rtt_mean_s", "s", "Mean round-trip time over ACKs of packets that were not retransmissions", |row| {
            sums_of_row(row).rtt_mean_s()
        }),
    ];

    const DELAY_COLUMNS: &'static [ColumnSpec<R>] = &time_columns!("delay", "one-way delay", |row: &R| row.as_ref().delay);

    const TRANSACTION_COLUMNS: &'static [ColumnSpec<R>] =
        &time_columns!("transaction", "duration of a transaction", |row: &R| row.as_ref().transaction);
}

fn sums_of_row<R: AsRef<CommonMeasures>>(row: &R) -> &FlowSums {
    &row.as_ref().sums
}

impl FlowSums {
    /// Adds the sums of another flow in the same interval.
    pub fn add(&mut self, flow: &FlowSums) {
        (0..3).for_each(|kind| self.bytes[kind] += flow.bytes[kind]);
        self.sender = self.sender.sum_with(&flow.sender);
        self.drops += flow.drops;
        self.marks += flow.marks;
        self.lockouts += flow.lockouts;
        self.transactions += flow.transactions;
        self.lockout_s += flow.lockout_s;
        self.rtt_sum_us += flow.rtt_sum_us;
        self.rtt_samples += flow.rtt_samples;
    }

    /// Throughput, goodput and first-time goodput.
    pub fn rates_bps(&self) -> [f64; 3] {
        throughput_and_goodputs_bps(self.bytes, self.seconds)
    }

    fn rtt_mean_s(&self) -> f64 {
        self.rtt_sum_us * 1e-6 / self.rtt_samples as f64
    }
}

impl TotalRow {
    fn goodput_over_delay(&self) -> f64 {
        self.common.sums.rates_bps()[1] / self.common.delay.mean_s
    }
}

impl QueueRow {
    fn drops(&self) -> u64 {
        self.counts.drops.counts().sum::<u64>() + self.losses.lost + self.losses.dropped_for_ecn
    }
}

impl AsRef<CommonMeasures> for FlowRow {
    fn as_ref(&self) -> &CommonMeasures {
        &self.common
    }
}

impl AsRef<CommonMeasures> for GroupRow {
    fn as_ref(&self) -> &CommonMeasures {
        &self.common
    }
}

impl AsRef<CommonMeasures> for TotalRow {
    fn as_ref(&self) -> &CommonMeasures {
        &self.common
    }
}
