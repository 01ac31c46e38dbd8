//! The columns of `flows`, `groups`, `total`, `queues` and `impairments`, each with its unit and what it says.
//!
//! All of it is over the measured interval, unless a name ends in `run` or the sentence says otherwise.

use std::marker::PhantomData;

use ecnlab_queue::{ByCause, Cause};

use super::table::{ColumnSpec, Naming, TableSpec, count, index, name, real};
use crate::impairment::{Counts, KIND_WORDS};

pub const THROUGHPUT: &str = "Throughput: bytes of data packets that reached the sink, headers and retransmitted copies included, by time";
pub const GOODPUT: &str = "Goodput: bytes that the application at the sink could newly read, in order, by time";
pub const GOODPUT_FIRST: &str =
    "First-time goodput: application bytes of packets that reached the sink and were no retransmissions, by time";

/// What a flow did, or several flows together.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    /// Length of the measured interval.
    pub seconds: f64,
    /// Bytes that reached the sink: all, new in order, and on first transmissions.
    pub bytes: [u64; 3],
    pub sent: u64,
    pub retransmitted_fast: u64,
    pub retransmitted_timeout: u64,
    pub timeouts: u64,
    pub drops: u64,
    pub marks: u64,
    pub ecn_reactions: u64,
    pub lockouts: u64,
    pub transactions: u64,
    pub lockout_s: f64,
    pub rtt_sum_us: f64,
    pub rtt_samples: u64,
}

/// Mean and percentiles of times.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub mean_s: f64,
    pub p50_s: f64,
    pub p95_s: f64,
    pub p99_s: f64,
}

/// What rows of flows, of groups and of all flows have in common.
#[derive(Clone, Debug)]
pub struct Common {
    pub sums: Sums,
    pub delay: Times,
    pub transaction: Times,
}

pub struct FlowRow {
    pub flow: u32,
    pub group: u32,
    pub base_rtt_s: f64,
    pub rtt_min_s: f64,
    pub completion_s: f64,
    pub common: Common,
}

pub struct GroupRow {
    pub group: u32,
    pub flows: u64,
    pub common: Common,
}

pub struct TotalRow {
    pub common: Common,
    /// Over throughput, goodput and first-time goodput.
    pub jain: [f64; 3],
    pub jain_1s: [f64; 3],
    pub max_min_gap: f64,
    pub timeouts_run: u64,
    pub retransmitted_run: u64,
    pub locked_out_flows: u64,
}

pub struct CompletionRow {
    pub group: u32,
    /// Least size and that of the next step, in bytes.
    pub sizes: [u64; 2],
    pub transactions: u64,
    pub transaction: Times,
    pub slowdown: f64,
}

pub struct QueueRow {
    pub queue: u32,
    pub arrivals: u64,
    pub departures: u64,
    pub marks: u64,
    pub drops: ByCause<u64>,
    pub lost: u64,
    pub refused_for_ecn: u64,
    pub length_mean: f64,
    pub length_at_arrival: f64,
    pub length_max: u32,
    pub average_mean: f64,
    pub empty_fraction: f64,
    pub utilisation: f64,
    pub sojourn: Times,
}

pub struct ImpairmentRow {
    pub link: u32,
    pub part: u32,
    /// Its place among the kinds.
    pub kind: u32,
    pub counts: Counts,
}

pub struct BandRow {
    pub queue: u32,
    /// Its place among the bands of all queues.
    pub band: u32,
    pub arrivals: u64,
    pub departures: u64,
    pub marks: u64,
    pub drops: ByCause<u64>,
    pub sojourn: Times,
}

pub static FLOWS: TableSpec<FlowRow> = TableSpec {
    name: "flows",
    doc: "a row for each flow",
    columns: &[
        &[
            index("flow", "index", "The flow's number, in the order of the scenario, from 0", |row| row.flow),
            name("group", Naming::Group, "Name of its `[[flows]]` section", |row| row.group),
            real(
                "base_rtt_s",
                "s",
                "Round-trip time of a data packet and its ACK over empty links: all transmission times and propagation delays",
                |row| row.base_rtt_s,
            ),
        ],
        Shared::SUMS,
        &[real("rtt_min_s", "s", "Smallest round-trip time of the whole run", |row| row.rtt_min_s)],
        Shared::DELAY,
        &[real(
            "completion_s",
            "s",
            "From the flow's start until all that it ever has to send was acknowledged; NaN if it was not",
            |row| row.completion_s,
        )],
        Shared::TRANSACTION,
    ],
};

pub static GROUPS: TableSpec<GroupRow> = TableSpec {
    name: "groups",
    doc: "a row for each group of flows: sums over its flows, times over all of its packets and transactions",
    columns: &[
        &[
            name("group", Naming::Group, "Name of the `[[flows]]` section", |row| row.group),
            count("flows", "flows", "How many flows it has", |row| row.flows),
        ],
        Shared::SUMS,
        Shared::DELAY,
        Shared::TRANSACTION,
    ],
};

pub static TOTAL: TableSpec<TotalRow> = TableSpec {
    name: "total",
    doc: "one row: the same over all flows, and how evenly they share",
    columns: &[
        Shared::SUMS,
        &[
            real("jain_throughput", "1", "Jain's index of the flows' throughput over the whole measured interval", |row| row.jain[0]),
            real("jain_goodput", "1", "Jain's index of the flows' goodput over the whole measured interval", |row| row.jain[1]),
            real("jain_goodput_first", "1", "Jain's index of the flows' first-time goodput over the whole measured interval", |row| {
                row.jain[2]
            }),
            real(
                "jain_1s_throughput",
                "1",
                "Mean of Jain's index of throughput over the bins of one second; a bin in which nothing was delivered is left out. \
                 Bins begin at whole seconds; those that begin before `measure_from` are left out",
                |row| row.jain_1s[0],
            ),
            real("jain_1s_goodput", "1", "Mean of Jain's index of goodput over the same bins", |row| row.jain_1s[1]),
            real("jain_1s_goodput_first", "1", "Mean of Jain's index of first-time goodput over the same bins", |row| row.jain_1s[2]),
            real("max_min_gap", "1", "Smallest over largest group, by mean goodput of a flow; 1 is equal", |row| row.max_min_gap),
            real("power", "bit/s^2", "Goodput over mean one-way delay", TotalRow::power),
            count("timeouts_run", "timeouts", "`timeouts` of the whole run", |row| row.timeouts_run),
            count("retransmitted_run", "packets", "Retransmissions of the whole run", |row| row.retransmitted_run),
        ],
        Shared::DELAY,
        &[count("locked_out_flows", "flows", "Flows with at least one lockout", |row| row.locked_out_flows)],
        Shared::TRANSACTION,
    ],
};

pub static COMPLETIONS: TableSpec<CompletionRow> = TableSpec {
    name: "completions",
    doc: "how long transactions took by their size: a row for each group and each step of sizes, 1, 2, 5, 10, 20, ... bytes, in which one ended",
    columns: &[&[
        name("group", Naming::Group, "Name of the `[[flows]]` section", |row| row.group),
        count("size_from_bytes", "bytes", "Least application data of the step", |row| row.sizes[0]),
        count("size_to_bytes", "bytes", "Application data from which on the next step counts", |row| row.sizes[1]),
        count("transactions", "transactions", "Transactions of that size that ended in the interval", |row| row.transactions),
        real("transaction_mean_s", "s", "Mean time that one took", |row| row.transaction.mean_s),
        real("transaction_p50_s", "s", "Median time that one took", |row| row.transaction.p50_s),
        real("transaction_p95_s", "s", "95th percentile of the time that one took", |row| row.transaction.p95_s),
        real("transaction_p99_s", "s", "99th percentile of the time that one took", |row| row.transaction.p99_s),
        real(
            "slowdown_mean",
            "1",
            "Mean of how many times as long as it has to one took: as long as its data at the narrowest link of the route and an empty round trip",
            |row| row.slowdown,
        ),
    ]],
};

pub static QUEUES: TableSpec<QueueRow> = TableSpec {
    name: "queues",
    doc: "a row for each link with a queue. A length is what waits; the packet in transmission is not counted",
    columns: &[&[
        name("queue", Naming::Queue, "Name of the link", |row| row.queue),
        count("arrivals", "packets", "Packets that came to the link, dropped ones and copies made before the queue included", |row| {
            row.arrivals
        }),
        count("departures", "packets", "Packets whose transmission began", |row| row.departures),
        count("marks", "packets", "Packets marked by the queue", |row| row.marks),
        count("drops", "packets", "Packets dropped, the sum of the next five", QueueRow::drops),
        count("drops_early", "packets", "Dropped by the AQM's law, before the queue was beyond what it tolerates", |row| {
            row.drops[Cause::Early]
        }),
        count("drops_forced", "packets", "Dropped because the queue was beyond what the AQM tolerates", |row| row.drops[Cause::Forced]),
        count("drops_overflow", "packets", "Dropped because the buffer was full", |row| row.drops[Cause::Overflow]),
        count("drops_lost", "packets", "Lost before the queue (`loss`, `loss_every` and `impair` of the link)", |row| row.lost),
        count("drops_ecn", "packets", "Dropped before the queue because of ECN (`ecn` and `impair` of the link)", |row| {
            row.refused_for_ecn
        }),
        real("length_mean_packets", "packets", "Mean length over time", |row| row.length_mean),
        real("length_at_arrival_packets", "packets", "Mean length that an arriving packet found", |row| row.length_at_arrival),
        count("length_max_packets", "packets", "Largest length", |row| u64::from(row.length_max)),
        real(
            "average_mean_packets",
            "packets",
            "Mean over arrivals of the AQM's own average, each after the arrival was taken in; NaN if the AQM keeps none",
            |row| row.average_mean,
        ),
        real("empty_fraction", "1", "Share of the time in which nothing waited", |row| row.empty_fraction),
        real(
            "utilisation",
            "1",
            "Share of the interval in which a packet was in transmission; a packet counts if its transmission began in the interval. Of a \
             link that follows a trace, the share of the bytes that its opportunities could carry. A link that is down sends nothing",
            |row| row.utilisation,
        ),
        real("sojourn_mean_s", "s", "Mean wait of the packets that departed, transmission not included", |row| row.sojourn.mean_s),
        real("sojourn_p50_s", "s", "Median wait of the packets that departed", |row| row.sojourn.p50_s),
        real("sojourn_p95_s", "s", "95th percentile of the wait of the packets that departed", |row| row.sojourn.p95_s),
        real("sojourn_p99_s", "s", "99th percentile of the wait of the packets that departed", |row| row.sojourn.p99_s),
    ]],
};

pub static BANDS: TableSpec<BandRow> = TableSpec {
    name: "bands",
    doc: "a row for each band of a queue that serves its packets in several, such as the two of DualPI2; none for other queues",
    columns: &[&[
        name("queue", Naming::Queue, "Name of the link", |row| row.queue),
        name("band", Naming::Band, "Name of the band", |row| row.band),
        count("arrivals", "packets", "Packets that came to the band, dropped ones included", |row| row.arrivals),
        count("departures", "packets", "Packets whose transmission began", |row| row.departures),
        count("marks", "packets", "Packets marked by the queue", |row| row.marks),
        count("drops_early", "packets", "As in `queues`", |row| row.drops[Cause::Early]),
        count("drops_forced", "packets", "As in `queues`", |row| row.drops[Cause::Forced]),
        count("drops_overflow", "packets", "As in `queues`", |row| row.drops[Cause::Overflow]),
        real("sojourn_mean_s", "s", "Mean wait of the packets that departed, transmission not included", |row| row.sojourn.mean_s),
        real("sojourn_p50_s", "s", "Median wait of the packets that departed", |row| row.sojourn.p50_s),
        real("sojourn_p95_s", "s", "95th percentile of the wait of the packets that departed", |row| row.sojourn.p95_s),
        real("sojourn_p99_s", "s", "99th percentile of the wait of the packets that departed", |row| row.sojourn.p99_s),
    ]],
};

pub static IMPAIRMENTS: TableSpec<ImpairmentRow> = TableSpec {
    name: "impairments",
    doc: "a row for each impairment of each link, in the order in which packets meet them; the private links of a group are one link. \
          Losses of data packets are among `drops` too",
    columns: &[&[
        name(
            "link",
            Naming::Link,
            "Name of the link: as declared, with `.reverse` behind it on the way back, and `GROUP.access` of private links",
            |row| row.link,
        ),
        index("part", "index", "Which of the link's impairments, from 0", |row| row.part),
        name("kind", Naming::Word(&KIND_WORDS), "What kind of impairment", |row| row.kind),
        count("arrivals", "packets", "Packets that came to it", |row| row.counts.arrived),
        count("lost", "packets", "Packets lost", |row| row.counts.lost),
        count("refused", "packets", "Packets dropped because of ECN", |row| row.counts.refused),
        count("marked", "packets", "Packets marked", |row| row.counts.marked),
        count("cleared", "packets", "Packets whose ECN codepoint or flags it cleared", |row| row.counts.cleared),
        count("copied", "packets", "Copies made", |row| row.counts.copied),
        count("held", "packets", "Packets held before they went on", |row| row.counts.held),
        count("reordered", "packets", "Packets that went on after one that had come later", |row| row.counts.reordered),
    ]],
};

/// The columns that flows, groups and the total share.
struct Shared<R>(PhantomData<R>);

impl<R: AsRef<Common> + 'static> Shared<R> {
    const SUMS: &'static [ColumnSpec<R>] = &[
        real("throughput_bps", "bit/s", THROUGHPUT, |row| sums(row).rate_bps(0)),
        real("goodput_bps", "bit/s", GOODPUT, |row| sums(row).rate_bps(1)),
        real("goodput_first_bps", "bit/s", GOODPUT_FIRST, |row| sums(row).rate_bps(2)),
        count(
            "sent",
            "packets",
            "Packets that the sender sent: data, SYN, FIN and the ACKs that close a handshake, retransmissions included",
            |row| sums(row).sent,
        ),
        count("retransmitted_fast", "packets", "Retransmissions called for by duplicate ACKs", |row| sums(row).retransmitted_fast),
        count("retransmitted_timeout", "packets", "Retransmissions after a timeout", |row| sums(row).retransmitted_timeout),
        count(
            "timeouts",
            "timeouts",
            "Expiries of the retransmission timer that meant a loss: data was outstanding and no mark had just cut the window",
            |row| sums(row).timeouts,
        ),
        count("drops", "packets", "Data packets that were dropped, at any link", |row| sums(row).drops),
        count("marks", "packets", "Data packets that were marked", |row| sums(row).marks),
        count("ecn_reactions", "reactions", "Window cuts for marks", |row| sums(row).ecn_reactions),
        count("lockouts", "spells", "Lockouts that ended in the interval, or are open at its end", |row| sums(row).lockouts),
        count("transactions", "transactions", "Transactions that ended in the interval", |row| sums(row).transactions),
        real("lockout_s", "s", "Length of the lockouts in all", |row| sums(row).lockout_s),
        real("rtt_mean_s", "s", "Mean round-trip time over ACKs of packets that were not retransmissions", |row| sums(row).rtt_mean_s()),
    ];

    const DELAY: &'static [ColumnSpec<R>] = &[
        real("delay_mean_s", "s", "Mean one-way delay", |row| row.as_ref().delay.mean_s),
        real("delay_p50_s", "s", "Median one-way delay", |row| row.as_ref().delay.p50_s),
        real("delay_p95_s", "s", "95th percentile of the one-way delay", |row| row.as_ref().delay.p95_s),
        real("delay_p99_s", "s", "99th percentile of the one-way delay", |row| row.as_ref().delay.p99_s),
    ];

    const TRANSACTION: &'static [ColumnSpec<R>] = &[
        real("transaction_mean_s", "s", "Mean time that a transaction took", |row| row.as_ref().transaction.mean_s),
        real("transaction_p50_s", "s", "Median time that a transaction took", |row| row.as_ref().transaction.p50_s),
        real("transaction_p95_s", "s", "95th percentile of the time that a transaction took", |row| row.as_ref().transaction.p95_s),
        real("transaction_p99_s", "s", "99th percentile of the time that a transaction took", |row| row.as_ref().transaction.p99_s),
    ];
}

fn sums<R: AsRef<Common>>(row: &R) -> &Sums {
    &row.as_ref().sums
}

impl Sums {
    /// Nothing yet, over an interval of so many seconds.
    pub fn over(seconds: f64) -> Sums {
        Sums { seconds, ..Sums::default() }
    }

    /// Adds what another flow did in the same interval.
    pub fn add(&mut self, flow: &Sums) {
        (0..3).for_each(|kind| self.bytes[kind] += flow.bytes[kind]);
        self.sent += flow.sent;
        self.retransmitted_fast += flow.retransmitted_fast;
        self.retransmitted_timeout += flow.retransmitted_timeout;
        self.timeouts += flow.timeouts;
        self.drops += flow.drops;
        self.marks += flow.marks;
        self.ecn_reactions += flow.ecn_reactions;
        self.lockouts += flow.lockouts;
        self.transactions += flow.transactions;
        self.lockout_s += flow.lockout_s;
        self.rtt_sum_us += flow.rtt_sum_us;
        self.rtt_samples += flow.rtt_samples;
    }

    /// Throughput, goodput or first-time goodput.
    pub fn rate_bps(&self, kind: usize) -> f64 {
        self.bytes[kind] as f64 * 8.0 / self.seconds
    }

    fn rtt_mean_s(&self) -> f64 {
        self.rtt_sum_us * 1e-6 / self.rtt_samples as f64
    }
}

impl TotalRow {
    fn power(&self) -> f64 {
        self.common.sums.rate_bps(1) / self.common.delay.mean_s
    }
}

impl QueueRow {
    fn drops(&self) -> u64 {
        self.drops.iter().sum::<u64>() + self.lost + self.refused_for_ecn
    }
}

impl AsRef<Common> for FlowRow {
    fn as_ref(&self) -> &Common {
        &self.common
    }
}

impl AsRef<Common> for GroupRow {
    fn as_ref(&self) -> &Common {
        &self.common
    }
}

impl AsRef<Common> for TotalRow {
    fn as_ref(&self) -> &Common {
        &self.common
    }
}
