//! Result tables of a finished run: rows made from the counts of flows, groups and queues.

use ecnlab_queue::{CountsByCause, QueueCounters};
use ecnlab_transport::SendCounters;
use ecnlab_units::Time;
use ecnlab_units::column_groups::TimeMeanAndPercentiles;

use super::columns::{
    BANDS, BandCounts, BandRow, COMPLETIONS, CommonMeasures, CompletionsBySizeRow, FLOWS, FlowRow, FlowSums, GROUPS, GroupRow, IMPAIRMENTS,
    ImpairmentRow, QUEUES, QueueRow, TOTAL, TotalRow,
};
use super::completions::TransferSizeClass;
use super::table::{Column, NetworkNames, Table, TableBuilder};
use super::{BinnedFairness, FlowMeasures, GroupMeasures, Histogram, QueueMeasures};
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
    pub names: &'a NetworkNames,
    pub measure_from: Time,
    pub now: Time,
    pub groups: &'a [GroupMeasures],
    pub queues: Vec<QueueAtEnd<'a>>,
    pub impairments: Vec<ImpairmentRow>,
    pub fairness: &'a BinnedFairness,
}

impl ReportBuilder<'_> {
    pub fn build<'r>(self, flows: impl Iterator<Item = FlowAtEnd<'r>>) -> Report {
        let ReportBuilder { names, measure_from, now, groups, queues, impairments, fairness } = self;
        let seconds = now.since(measure_from).seconds();
        let zero = FlowSums { seconds, ..FlowSums::default() };
        let mut rows = TableBuilder::new(&FLOWS);
        let mut members = vec![(0, zero.clone()); groups.len()];
        let mut total = TotalRow {
            common: CommonMeasures {
                sums: zero,
                delay: merged_times(groups.iter().map(|group| &group.delay)),
                transaction: merged_times(groups.iter().map(|group| &group.transfers)),
            },
            jain: Default::default(),
            jain_1s: fairness.means(),
            min_max_goodput_ratio: f64::NAN,
            timeouts_run: 0,
            retransmitted_run: 0,
            locked_out_flows: 0,
        };
        for (flow, at_end) in (0..).zip(flows) {
            let row = flow_row(flow, &at_end, seconds);
            let (flows, sums) = &mut members[row.group as usize];
            *flows += u64::from(at_end.has_row);
            sums.add(&row.common.sums);
            total.add(&row.common.sums, &at_end);
            if at_end.has_row {
                rows.push(&row);
            }
        }
        total.min_max_goodput_ratio = min_max_group_goodput_ratio(&members);
        let group_rows = (0..).zip(members.into_iter().zip(groups)).map(|(group, ((flows, sums), at_end))| {
            let common = CommonMeasures { sums, delay: (&at_end.delay).into(), transaction: (&at_end.transfers).into() };
            GroupRow { group, flows, common }
        });
        Report {
            tables: vec![
                (FLOWS.name, rows.finish(names)),
                (GROUPS.name, GROUPS.build_table_from_rows(names, group_rows)),
                (TOTAL.name, TOTAL.build_table_from_rows(names, [total])),
                (COMPLETIONS.name, COMPLETIONS.build_table_from_rows(names, completion_rows(groups))),
                (QUEUES.name, QUEUES.build_table_from_rows(names, (0..).zip(&queues).map(|(queue, at_end)| queue_row(queue, at_end, now)))),
                (BANDS.name, BANDS.build_table_from_rows(names, band_rows(&queues))),
                (IMPAIRMENTS.name, IMPAIRMENTS.build_table_from_rows(names, impairments)),
            ],
        }
    }
}

fn merged_times<'a>(of_groups: impl Iterator<Item = &'a Histogram<8>>) -> TimeMeanAndPercentiles {
    let mut all = Histogram::default();
    of_groups.for_each(|times| all.merge(times));
    (&all).into()
}

fn flow_row(flow: u32, at_end: &FlowAtEnd, seconds: f64) -> FlowRow {
    let measures = at_end.measures;
    let sums = FlowSums {
        seconds,
        bytes: measures.bytes,
        sender: at_end.sender.since(&measures.counters_before()),
        drops: measures.drops,
        marks: measures.marks,
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
            delay: (&measures.delay).into(),
            transaction: measures.transfer_durations().unwrap_or(&Histogram::default()).into(),
        },
    }
}

/// Sizes of the finished transfers, group by group.
fn completion_rows(groups: &[GroupMeasures]) -> Vec<CompletionsBySizeRow> {
    let table_row = |group: u32, (from, to, step): (u64, u64, &TransferSizeClass)| CompletionsBySizeRow {
        group,
        size_range: [from, to],
        transactions: step.durations.count(),
        transaction: (&step.durations).into(),
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
    QueueRow {
        queue,
        counts: counted.fold(BandCounts::default(), BandCounts::sum_with),
        losses: at_end.losses,
        length_mean: measures.length_mean(now),
        length_at_arrival: measures.length_at_arrival(),
        length_max: measures.length_max,
        average_mean: measures.average_mean(),
        empty_fraction: measures.empty_fraction(now),
        utilisation: at_end.utilisation,
        sojourn: (&measures.sojourn).into(),
    }
}

/// Bands of all queues that have several, queue by queue.
fn band_rows(queues: &[QueueAtEnd]) -> Vec<BandRow> {
    let bands = (0..).zip(queues).flat_map(|(queue, at_end)| (0..at_end.band_names.len()).map(move |band| (queue, at_end, band)));
    let table_row = |(place, (queue, at_end, band)): (u32, (u32, &QueueAtEnd, usize))| BandRow {
        queue,
        band: place,
        counts: BandCounts::counted_between(&at_end.measures.counters_before[band], &at_end.counters[band]),
        sojourn: (&at_end.measures.band_sojourns[band]).into(),
    };
    (0..).zip(bands).map(table_row).collect()
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

impl TotalRow {
    fn add(&mut self, sums: &FlowSums, flow: &FlowAtEnd) {
        self.common.sums.add(sums);
        if flow.has_row {
            (0..3).for_each(|kind| self.jain[kind].add_share(sums.bytes[kind] as f64));
        }
        self.timeouts_run += flow.sender.timeouts;
        self.retransmitted_run += flow.sender.retransmitted_fast + flow.sender.retransmitted_timeout;
        self.locked_out_flows += u64::from(sums.lockouts > 0);
    }
}

/// Ratio of the smallest to the largest mean goodput of a flow, by group.
fn min_max_group_goodput_ratio(groups: &[(u64, FlowSums)]) -> f64 {
    let means = groups.iter().filter(|(flows, _)| *flows > 0).map(|(flows, sums)| sums.bytes[1] as f64 / *flows as f64);
    let (least, most) = means.fold((f64::MAX, 0.0f64), |(least, most), mean| (least.min(mean), most.max(mean)));
    least / most
}
