//! The tables of a finished run: what flows, groups and queues have counted, read into rows.

use ecnlab_queue::{ByCause, Counters};
use ecnlab_transport::SendCounters;
use ecnlab_units::Time;

use super::columns::{
    BANDS, BandRow, COMPLETIONS, Common, CompletionRow, FLOWS, FlowRow, GROUPS, GroupRow, IMPAIRMENTS, ImpairmentRow, QUEUES, QueueRow,
    Sums, TOTAL, Times, TotalRow,
};
use super::completions::Step;
use super::table::{Column, Filling, NetworkNames, Table};
use super::{Completions, FairnessBins, FlowMeasures, Histogram, Jain, QueueMeasures};
use crate::impairment::Losses;

/// Every table of a run, by name.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub tables: Vec<(&'static str, Table)>,
}

/// A flow when the run has ended.
pub struct FlowAtEnd<'a> {
    pub group: u32,
    /// Whether it has a row of its own and takes part in Jain's index.
    pub has_row: bool,
    pub measures: &'a FlowMeasures,
    /// What its senders have counted in the whole run.
    pub sender: SendCounters,
    pub base_rtt_s: f64,
    pub min_rtt_s: f64,
    pub started: Time,
}

/// What a group's flows have counted together.
pub struct GroupAtEnd<'a> {
    pub delay: &'a Histogram<8>,
    pub transfers: &'a Histogram<8>,
    pub completions: &'a Completions,
}

/// A queue when the run has ended.
pub struct QueueAtEnd<'a> {
    pub measures: &'a QueueMeasures,
    /// The names of its bands, none where there is one band.
    pub bands: &'static [&'static str],
    /// By band.
    pub counters: Vec<Counters>,
    pub lost: Losses,
    /// Share of the interval in which its transmitter was busy.
    pub utilisation: f64,
}

impl Report {
    /// # Panics
    /// If there is no such table.
    pub fn table(&self, name: &str) -> &Table {
        &self.tables.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no table {name}")).1
    }

    /// A column as real numbers.
    ///
    /// # Panics
    /// If there is no such table or column.
    pub fn reals(&self, table: &str, column: &str) -> Vec<f64> {
        match self.table(table).column(column) {
            Column::Real(values) => values.clone(),
            Column::Count(values) => values.iter().map(|&n| n as f64).collect(),
            Column::Index(values) | Column::Name { index: values, .. } => values.iter().map(|&n| f64::from(n)).collect(),
        }
    }
}

/// Makes the tables `flows`, `groups`, `total`, `completions`, `queues`, `bands` and `impairments`.
pub struct Reporter<'a> {
    names: &'a NetworkNames,
    to: Time,
    seconds: f64,
}

impl<'a> Reporter<'a> {
    /// Of a run whose measured interval was this.
    pub fn new(names: &'a NetworkNames, from: Time, to: Time) -> Reporter<'a> {
        Reporter { names, to, seconds: to.since(from).seconds() }
    }

    pub fn report<'r>(
        &self,
        flows: impl Iterator<Item = FlowAtEnd<'r>>,
        groups: &[GroupAtEnd],
        queues: &[QueueAtEnd<'r>],
        impairments: Vec<ImpairmentRow>,
        fairness: &FairnessBins,
    ) -> Report {
        let mut rows = Filling::new(&FLOWS);
        let mut members = vec![(0, Sums::over(self.seconds)); groups.len()];
        let mut total = Total::new(self.seconds);
        for (flow, at_end) in flows.enumerate() {
            let row = flow_row(flow as u32, &at_end, self.seconds);
            let (flows, sums) = &mut members[row.group as usize];
            *flows += u64::from(at_end.has_row);
            sums.add(&row.common.sums);
            total.add(&row.common.sums, &at_end);
            if at_end.has_row {
                rows.push(&row);
            }
        }
        let gap = max_min_gap(&members);
        let group_rows = members.into_iter().zip(groups).enumerate().map(|(group, ((flows, sums), at_end))| {
            let common = Common { sums, delay: times(at_end.delay), transaction: times(at_end.transfers) };
            GroupRow { group: group as u32, flows, common }
        });
        let queue_rows = queues.iter().enumerate().map(|(queue, at_end)| queue_row(queue as u32, at_end, self.to));
        Report {
            tables: vec![
                (FLOWS.name, rows.finish(self.names)),
                (GROUPS.name, GROUPS.table(self.names, group_rows)),
                (TOTAL.name, TOTAL.table(self.names, [total.row(groups, fairness, gap)])),
                (COMPLETIONS.name, COMPLETIONS.table(self.names, completion_rows(groups))),
                (QUEUES.name, QUEUES.table(self.names, queue_rows)),
                (BANDS.name, BANDS.table(self.names, band_rows(queues))),
                (IMPAIRMENTS.name, IMPAIRMENTS.table(self.names, impairments)),
            ],
        }
    }
}

fn flow_row(flow: u32, at_end: &FlowAtEnd, seconds: f64) -> FlowRow {
    let (measures, sender, before) = (at_end.measures, at_end.sender, at_end.measures.before);
    let sums = Sums {
        seconds,
        bytes: measures.bytes,
        sent: sender.sent - before.sent,
        retransmitted_fast: sender.retransmitted_fast - before.retransmitted_fast,
        retransmitted_timeout: sender.retransmitted_timeout - before.retransmitted_timeout,
        timeouts: sender.timeouts - before.timeouts,
        drops: measures.drops,
        marks: measures.marks,
        ecn_reactions: sender.ecn_reactions - before.ecn_reactions,
        lockouts: u64::from(measures.lockouts),
        transactions: measures.transfers.count(),
        lockout_s: measures.lockout.seconds(),
        rtt_sum_us: measures.rtt_sum_us,
        rtt_samples: measures.rtt_samples,
    };
    FlowRow {
        flow,
        group: at_end.group,
        base_rtt_s: at_end.base_rtt_s,
        rtt_min_s: at_end.min_rtt_s,
        completion_s: measures.completed.map_or(f64::NAN, |at| at.since(at_end.started).seconds()),
        common: Common { sums, delay: times(&measures.delay), transaction: times(&measures.transfers) },
    }
}

/// The sizes of each group that transfers had, one group after another.
fn completion_rows(groups: &[GroupAtEnd]) -> Vec<CompletionRow> {
    let row = |group: u32, (from, to, step): (u64, u64, &Step)| CompletionRow {
        group,
        sizes: [from, to],
        transactions: step.times.count(),
        transaction: times(&step.times),
        slowdown: step.mean_slowdown(),
    };
    (0..).zip(groups).flat_map(|(group, at_end)| at_end.completions.steps().map(move |step| row(group, step))).collect()
}

fn queue_row(queue: u32, at_end: &QueueAtEnd, now: Time) -> QueueRow {
    let measures = at_end.measures;
    let counted = at_end.counters.iter().zip(&measures.before).map(|(now, before)| Counted::between(before, now));
    let all = counted.fold(Counted::default(), Counted::plus);
    QueueRow {
        queue,
        arrivals: all.arrivals + at_end.lost.lost + at_end.lost.ecn,
        departures: all.departures,
        marks: all.marks,
        drops: all.drops,
        lost: at_end.lost.lost,
        refused_for_ecn: at_end.lost.ecn,
        length_mean: measures.length_mean(now),
        length_at_arrival: measures.length_at_arrival(),
        length_max: measures.length_max,
        average_mean: measures.average_mean(),
        empty_fraction: measures.empty_fraction(now),
        utilisation: at_end.utilisation,
        sojourn: times(&measures.sojourn),
    }
}

/// The bands of all queues that have several, one queue after another.
fn band_rows(queues: &[QueueAtEnd]) -> Vec<BandRow> {
    let bands = (0..).zip(queues).flat_map(|(queue, at_end)| (0..at_end.bands.len()).map(move |band| (queue, at_end, band)));
    let row = |(place, (queue, at_end, band)): (u32, (u32, &QueueAtEnd, usize))| {
        let Counted { arrivals, departures, marks, drops } = Counted::between(&at_end.measures.before[band], &at_end.counters[band]);
        BandRow { queue, band: place, arrivals, departures, marks, drops, sojourn: times(&at_end.measures.band_sojourns[band]) }
    };
    (0..).zip(bands).map(row).collect()
}

/// What a band has counted over the measured interval, in packets.
#[derive(Clone, Copy, Default)]
struct Counted {
    arrivals: u64,
    departures: u64,
    marks: u64,
    drops: ByCause<u64>,
}

impl Counted {
    fn between(before: &Counters, now: &Counters) -> Counted {
        let since = |of: fn(&Counters) -> u64| of(now) - of(before);
        Counted {
            arrivals: since(|all| all.arrived.packets),
            departures: since(|all| all.departed.packets),
            marks: since(Counters::marked_packets),
            drops: ByCause::of(|cause| now.dropped[cause].packets - before.dropped[cause].packets),
        }
    }

    fn plus(self, other: Counted) -> Counted {
        Counted {
            arrivals: self.arrivals + other.arrivals,
            departures: self.departures + other.departures,
            marks: self.marks + other.marks,
            drops: ByCause::of(|cause| self.drops[cause] + other.drops[cause]),
        }
    }
}

/// What all flows have done together, as it is added up.
struct Total {
    sums: Sums,
    jain: [Jain; 3],
    timeouts_run: u64,
    retransmitted_run: u64,
    locked_out_flows: u64,
}

impl Total {
    fn new(seconds: f64) -> Total {
        Total { sums: Sums::over(seconds), jain: Default::default(), timeouts_run: 0, retransmitted_run: 0, locked_out_flows: 0 }
    }

    fn add(&mut self, sums: &Sums, flow: &FlowAtEnd) {
        self.sums.add(sums);
        if flow.has_row {
            (0..3).for_each(|kind| self.jain[kind].add(sums.bytes[kind] as f64));
        }
        self.timeouts_run += flow.sender.timeouts;
        self.retransmitted_run += flow.sender.retransmitted_fast + flow.sender.retransmitted_timeout;
        self.locked_out_flows += u64::from(sums.lockouts > 0);
    }

    fn row(self, groups: &[GroupAtEnd], fairness: &FairnessBins, max_min_gap: f64) -> TotalRow {
        let (mut delay, mut transfers) = (Histogram::default(), Histogram::default());
        for group in groups {
            delay.merge(group.delay);
            transfers.merge(group.transfers);
        }
        TotalRow {
            common: Common { sums: self.sums, delay: times(&delay), transaction: times(&transfers) },
            jain: self.jain.map(|shares| shares.index()),
            jain_1s: fairness.means(),
            max_min_gap,
            timeouts_run: self.timeouts_run,
            retransmitted_run: self.retransmitted_run,
            locked_out_flows: self.locked_out_flows,
        }
    }
}

fn times<const BITS: u32>(of: &Histogram<BITS>) -> Times {
    Times { mean_s: of.mean_s(), p50_s: of.quantile_s(0.50), p95_s: of.quantile_s(0.95), p99_s: of.quantile_s(0.99) }
}

/// Smallest over largest mean goodput of a flow, by group.
fn max_min_gap(groups: &[(u64, Sums)]) -> f64 {
    let means = groups.iter().filter(|(flows, _)| *flows > 0).map(|(flows, sums)| sums.bytes[1] as f64 / *flows as f64);
    let (least, most) = means.fold((f64::MAX, 0.0f64), |(least, most), mean| (least.min(mean), most.max(mean)));
    least / most
}
