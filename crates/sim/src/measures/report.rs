//! Result tables of a finished run: rows made from the counts of flows, groups and queues.

use ecnlab_queue::{CountsByCause, QueueCounters};
use ecnlab_transport::SendCounters;
use ecnlab_units::Time;
use ecnlab_units::column_groups::TimeMeanAndPercentiles;

use super::columns::{
    BANDS, BandRow, COMPLETIONS, CommonMeasures, CompletionsBySizeRow, FLOWS, FlowRow, FlowSums, GROUPS, GroupRow, IMPAIRMENTS,
    ImpairmentRow, QUEUES, QueueRow, TOTAL, TotalRow,
};
use super::completions::TransferSizeClass;
use super::table::{Column, NetworkNames, Table, TableBuilder};
use super::{BinnedFairness, CompletionsBySize, FlowMeasures, Histogram, JainIndex, QueueMeasures};
use crate::impairment::LossCounts;

/// All tables of a run, by name.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub tables: Vec<(&'static str, Table)>,
}

/// State of a flow at the end of a run.
pub struct FlowAtEnd<'a> {
    pub group: u32,
    /// Whether it has a separate row and is part of Jain's index.
    pub has_row: bool,
    pub measures: &'a FlowMeasures,
    /// Counters of its senders over the whole run.
    pub sender: SendCounters,
    pub base_rtt_s: f64,
    pub min_rtt_s: f64,
    pub started: Time,
}

/// Sums over a group's flows.
pub struct GroupDistributionsAtEnd<'a> {
    pub delay: &'a Histogram<8>,
    pub transfers: &'a Histogram<8>,
    pub completions: &'a CompletionsBySize,
}

/// State of a queue at the end of a run.
pub struct QueueAtEnd<'a> {
    pub measures: &'a QueueMeasures,
    /// Names of its bands, none if there is one band.
    pub band_names: &'static [&'static str],
    /// By band.
    pub counters: Vec<QueueCounters>,
    pub losses: LossCounts,
    /// Share of the interval in which its transmitter was busy.
    pub utilisation: f64,
}

impl Report {
    /// # Panics
    /// If the table does not exist.
    pub fn table(&self, name: &str) -> &Table {
        &self.tables.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no table {name}")).1
    }

    /// A column as real numbers.
    ///
    /// # Panics
    /// If the table or column does not exist.
    pub fn column_as_reals(&self, table: &str, column: &str) -> Vec<f64> {
        match self.table(table).column(column) {
            Column::Real(values) => values.clone(),
            Column::Count(values) => values.iter().map(|&n| n as f64).collect(),
            Column::Index(values) | Column::Name { index: values, .. } => values.iter().map(|&n| f64::from(n)).collect(),
        }
    }
}

/// Builds the tables `flows`, `groups`, `total`, `completions`, `queues`, `bands` and `impairments`.
pub struct ReportBuilder<'a> {
    names: &'a NetworkNames,
    interval_end: Time,
    seconds: f64,
}

impl<'a> ReportBuilder<'a> {
    /// A builder for a run with this measured interval.
    pub fn new(names: &'a NetworkNames, from: Time, interval_end: Time) -> ReportBuilder<'a> {
        ReportBuilder { names, interval_end, seconds: interval_end.since(from).seconds() }
    }

    pub fn build<'r>(
        &self,
        flows: impl Iterator<Item = FlowAtEnd<'r>>,
        groups: &[GroupDistributionsAtEnd],
        queues: &[QueueAtEnd<'r>],
        impairments: Vec<ImpairmentRow>,
        fairness: &BinnedFairness,
    ) -> Report {
        let mut rows = TableBuilder::new(&FLOWS);
        let mut members = vec![(0, FlowSums::zero_over_seconds(self.seconds)); groups.len()];
        let mut total = TotalAccumulator::new(self.seconds);
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
        let gap = min_max_group_goodput_ratio(&members);
        let group_rows = members.into_iter().zip(groups).enumerate().map(|(group, ((flows, sums), at_end))| {
            let common = CommonMeasures {
                sums,
                delay: TimeMeanAndPercentiles::from(at_end.delay),
                transaction: TimeMeanAndPercentiles::from(at_end.transfers),
            };
            GroupRow { group: group as u32, flows, common }
        });
        let queue_rows = queues.iter().enumerate().map(|(queue, at_end)| queue_row(queue as u32, at_end, self.interval_end));
        Report {
            tables: vec![
                (FLOWS.name, rows.finish(self.names)),
                (GROUPS.name, GROUPS.build_table_from_rows(self.names, group_rows)),
                (TOTAL.name, TOTAL.build_table_from_rows(self.names, [total.into_row(groups, fairness, gap)])),
                (COMPLETIONS.name, COMPLETIONS.build_table_from_rows(self.names, completion_rows(groups))),
                (QUEUES.name, QUEUES.build_table_from_rows(self.names, queue_rows)),
                (BANDS.name, BANDS.build_table_from_rows(self.names, band_rows(queues))),
                (IMPAIRMENTS.name, IMPAIRMENTS.build_table_from_rows(self.names, impairments)),
            ],
        }
    }
}

fn flow_row(flow: u32, at_end: &FlowAtEnd, seconds: f64) -> FlowRow {
    let (measures, sender, before) = (at_end.measures, at_end.sender, at_end.measures.counters_before());
    let sums = FlowSums {
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
        transactions: measures.transfer_durations().map_or(0, Histogram::count),
        lockout_s: measures.lockout_time.seconds(),
        rtt_sum_us: measures.rtt_sum_us,
        rtt_samples: measures.rtt_samples,
    };
    FlowRow {
        flow,
        group: at_end.group,
        base_rtt_s: at_end.base_rtt_s,
        rtt_min_s: at_end.min_rtt_s,
        completion_s: measures.completed_at().map_or(f64::NAN, |at| at.since(at_end.started).seconds()),
        common: CommonMeasures {
            sums,
            delay: TimeMeanAndPercentiles::from(&measures.delay),
            transaction: measures
                .transfer_durations()
                .map_or_else(|| TimeMeanAndPercentiles::from(&Histogram::<5>::default()), TimeMeanAndPercentiles::from),
        },
    }
}

/// Sizes of the finished transfers, group by group.
fn completion_rows(groups: &[GroupDistributionsAtEnd]) -> Vec<CompletionsBySizeRow> {
    let table_row = |group: u32, (from, to, step): (u64, u64, &TransferSizeClass)| CompletionsBySizeRow {
        group,
        size_range: [from, to],
        transactions: step.durations.count(),
        transaction: TimeMeanAndPercentiles::from(&step.durations),
        slowdown: step.mean_slowdown(),
    };
    (0..)
        .zip(groups)
        .flat_map(|(group, at_end)| at_end.completions.non_empty_size_classes().map(move |step| table_row(group, step)))
        .collect()
}

fn queue_row(queue: u32, at_end: &QueueAtEnd, now: Time) -> QueueRow {
    let measures = at_end.measures;
    let counted = at_end.counters.iter().zip(&measures.counters_before).map(|(now, before)| BandCounts::counted_between(before, now));
    let all = counted.fold(BandCounts::default(), BandCounts::sum_with);
    QueueRow {
        queue,
        arrivals: all.arrivals + at_end.losses.lost + at_end.losses.dropped_for_ecn,
        departures: all.departures,
        marks: all.marks,
        drops: all.drops,
        lost: at_end.losses.lost,
        refused_for_ecn: at_end.losses.dropped_for_ecn,
        length_mean: measures.length_mean(now),
        length_at_arrival: measures.length_at_arrival(),
        length_max: measures.length_max,
        average_mean: measures.average_mean(),
        empty_fraction: measures.empty_fraction(now),
        utilisation: at_end.utilisation,
        sojourn: TimeMeanAndPercentiles::from(&measures.sojourn),
    }
}

/// Bands of all queues that have several, queue by queue.
fn band_rows(queues: &[QueueAtEnd]) -> Vec<BandRow> {
    let bands = (0..).zip(queues).flat_map(|(queue, at_end)| (0..at_end.band_names.len()).map(move |band| (queue, at_end, band)));
    let table_row = |(place, (queue, at_end, band)): (u32, (u32, &QueueAtEnd, usize))| {
        let BandCounts { arrivals, departures, marks, drops } =
            BandCounts::counted_between(&at_end.measures.counters_before[band], &at_end.counters[band]);
        BandRow {
            queue,
            band: place,
            arrivals,
            departures,
            marks,
            drops,
            sojourn: TimeMeanAndPercentiles::from(&at_end.measures.band_sojourns[band]),
        }
    };
    (0..).zip(bands).map(table_row).collect()
}

/// Counts of a band over the measured interval, in packets.
#[derive(Clone, Copy, Default)]
struct BandCounts {
    arrivals: u64,
    departures: u64,
    marks: u64,
    drops: CountsByCause<u64>,
}

impl BandCounts {
    fn counted_between(before: &QueueCounters, now: &QueueCounters) -> BandCounts {
        let difference_of = |of: fn(&QueueCounters) -> u64| of(now) - of(before);
        BandCounts {
            arrivals: difference_of(|all| all.arrived.packets),
            departures: difference_of(|all| all.departed.packets),
            marks: difference_of(QueueCounters::marked_packets),
            drops: CountsByCause::from_fn(|cause| now.dropped[cause].packets - before.dropped[cause].packets),
        }
    }

    fn sum_with(self, other: BandCounts) -> BandCounts {
        BandCounts {
            arrivals: self.arrivals + other.arrivals,
            departures: self.departures + other.departures,
            marks: self.marks + other.marks,
            drops: CountsByCause::from_fn(|cause| self.drops[cause] + other.drops[cause]),
        }
    }
}

/// Sums over all flows, from which the row of the total is built.
struct TotalAccumulator {
    sums: FlowSums,
    jain: [JainIndex; 3],
    timeouts_run: u64,
    retransmitted_run: u64,
    locked_out_flows: u64,
}

impl TotalAccumulator {
    fn new(seconds: f64) -> TotalAccumulator {
        TotalAccumulator {
            sums: FlowSums::zero_over_seconds(seconds),
            jain: Default::default(),
            timeouts_run: 0,
            retransmitted_run: 0,
            locked_out_flows: 0,
        }
    }

    fn add(&mut self, sums: &FlowSums, flow: &FlowAtEnd) {
        self.sums.add(sums);
        if flow.has_row {
            (0..3).for_each(|kind| self.jain[kind].add_share(sums.bytes[kind] as f64));
        }
        self.timeouts_run += flow.sender.timeouts;
        self.retransmitted_run += flow.sender.retransmitted_fast + flow.sender.retransmitted_timeout;
        self.locked_out_flows += u64::from(sums.lockouts > 0);
    }

    fn into_row(self, groups: &[GroupDistributionsAtEnd], fairness: &BinnedFairness, min_max_goodput_ratio: f64) -> TotalRow {
        let (mut delay, mut transfers) = (Histogram::default(), Histogram::default());
        for group in groups {
            delay.merge(group.delay);
            transfers.merge(group.transfers);
        }
        TotalRow {
            common: CommonMeasures {
                sums: self.sums,
                delay: TimeMeanAndPercentiles::from(&delay),
                transaction: TimeMeanAndPercentiles::from(&transfers),
            },
            jain: self.jain.map(|shares| shares.value()),
            jain_1s: fairness.means(),
            min_max_goodput_ratio,
            timeouts_run: self.timeouts_run,
            retransmitted_run: self.retransmitted_run,
            locked_out_flows: self.locked_out_flows,
        }
    }
}

/// Ratio of the smallest to the largest mean goodput of a flow, by group.
fn min_max_group_goodput_ratio(groups: &[(u64, FlowSums)]) -> f64 {
    let means = groups.iter().filter(|(flows, _)| *flows > 0).map(|(flows, sums)| sums.bytes[1] as f64 / *flows as f64);
    let (least, most) = means.fold((f64::MAX, 0.0f64), |(least, most), mean| (least.min(mean), most.max(mean)));
    least / most
}
