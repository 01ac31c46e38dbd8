//! The tables of a finished run. Rates are in bit/s, times in seconds, over the measured interval unless a name says `run`.

use ecnlab_transport::sender::Counters;
use ecnlab_units::Time;

use crate::impairment::Losses;

use super::fairness::{FairnessBins, jain};
use super::{FlowMeasures, Histogram, QueueMeasures};

/// Every table of a run, by name.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub tables: Vec<(&'static str, Table)>,
}

/// Columns of equal length, by name.
#[derive(Clone, Debug, Default)]
pub struct Table {
    pub columns: Vec<(&'static str, Column)>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    Real(Vec<f64>),
    Count(Vec<u64>),
    Index(Vec<u32>),
    Code(Vec<u8>),
}

/// What the report is made from.
pub struct Material<'a> {
    pub from: Time,
    pub to: Time,
    pub groups: Vec<GroupRow<'a>>,
    pub flows: Vec<FlowRow<'a>>,
    pub fairness: &'a FairnessBins,
    pub queues: Vec<QueueRow<'a>>,
}

pub struct FlowRow<'a> {
    pub group: u32,
    pub measures: &'a FlowMeasures,
    pub sender: Counters,
    pub base_rtt_s: f64,
    pub min_rtt_s: f64,
    pub started: Time,
}

pub struct GroupRow<'a> {
    pub delay: &'a Histogram<8>,
    pub transfers: &'a Histogram<8>,
}

pub struct QueueRow<'a> {
    pub measures: &'a QueueMeasures,
    pub counters: ecnlab_queue::Counters,
    pub lost: Losses,
}

impl Report {
    /// # Panics
    /// If there is no such table or column.
    pub fn column(&self, table: &str, column: &str) -> &Column {
        let table = &self.tables.iter().find(|(name, _)| *name == table).unwrap_or_else(|| panic!("no table {table}")).1;
        &table.columns.iter().find(|(name, _)| *name == column).unwrap_or_else(|| panic!("no column {column}")).1
    }

    /// A column as real numbers.
    ///
    /// # Panics
    /// If there is no such table or column.
    pub fn reals(&self, table: &str, column: &str) -> Vec<f64> {
        match self.column(table, column) {
            Column::Real(values) => values.clone(),
            Column::Count(values) => values.iter().map(|&n| n as f64).collect(),
            Column::Index(values) => values.iter().map(|&n| f64::from(n)).collect(),
            Column::Code(values) => values.iter().map(|&n| f64::from(n)).collect(),
        }
    }
}

impl Table {
    pub fn real(&mut self, name: &'static str, values: impl Iterator<Item = f64>) {
        self.columns.push((name, Column::Real(values.collect())));
    }

    pub fn count(&mut self, name: &'static str, values: impl Iterator<Item = u64>) {
        self.columns.push((name, Column::Count(values.collect())));
    }

    pub fn index(&mut self, name: &'static str, values: impl Iterator<Item = u32>) {
        self.columns.push((name, Column::Index(values.collect())));
    }
}

/// The tables `flows`, `groups`, `total` and `queues`.
pub fn report(material: &Material) -> Report {
    let sets = |of: &dyn Fn(&FlowRow) -> bool| material.flows.iter().filter(|row| of(row)).collect::<Vec<_>>();
    let groups: Vec<Vec<&FlowRow>> = (0..material.groups.len() as u32).map(|group| sets(&|row| row.group == group)).collect();
    let all = vec![sets(&|_| true)];
    let (mut delay, mut transfers) = (Histogram::default(), Histogram::default());
    for group in &material.groups {
        delay.merge(group.delay);
        transfers.merge(group.transfers);
    }
    let whole = GroupRow { delay: &delay, transfers: &transfers };
    Report {
        tables: vec![
            ("flows", flow_table(material)),
            ("groups", group_table(material, &groups)),
            ("total", total_table(material, &groups, &all, &whole)),
            ("queues", queue_table(material)),
        ],
    }
}

fn flow_table(material: &Material) -> Table {
    let mut table = Table::default();
    let rows = &material.flows;
    let each: Vec<Vec<&FlowRow>> = rows.iter().map(|row| vec![row]).collect();
    table.index("flow", 0..rows.len() as u32);
    table.index("group", rows.iter().map(|row| row.group));
    table.real("base_rtt_s", rows.iter().map(|row| row.base_rtt_s));
    sums(&mut table, material, &each);
    table.real("rtt_mean_s", rows.iter().map(|row| row.measures.rtt_mean_s()));
    table.real("rtt_min_s", rows.iter().map(|row| row.min_rtt_s));
    times(&mut table, DELAY, rows.iter().map(|row| &row.measures.delay));
    let completion = |row: &FlowRow| row.measures.completed.map_or(f64::NAN, |at| at.since(row.started).seconds());
    table.real("completion_s", rows.iter().map(completion));
    times(&mut table, TRANSACTION, rows.iter().map(|row| &row.measures.transfers));
    table
}

fn group_table(material: &Material, groups: &[Vec<&FlowRow>]) -> Table {
    let mut table = Table::default();
    table.index("group", 0..material.groups.len() as u32);
    table.count("flows", groups.iter().map(|rows| rows.len() as u64));
    sums(&mut table, material, groups);
    times(&mut table, DELAY, material.groups.iter().map(|group| group.delay));
    times(&mut table, TRANSACTION, material.groups.iter().map(|group| group.transfers));
    table
}

fn total_table(material: &Material, groups: &[Vec<&FlowRow>], all: &[Vec<&FlowRow>], whole: &GroupRow) -> Table {
    let mut table = Table::default();
    sums(&mut table, material, all);
    let index = |kind: usize| jain(material.flows.iter().map(|row| row.measures.bytes[kind] as f64));
    let one = |x: f64| std::iter::once(x);
    for (kind, name) in ["jain_throughput", "jain_goodput", "jain_goodput_first"].into_iter().enumerate() {
        table.real(name, one(index(kind)));
    }
    let bins = material.fairness.means();
    for (kind, name) in ["jain_1s_throughput", "jain_1s_goodput", "jain_1s_goodput_first"].into_iter().enumerate() {
        table.real(name, one(bins[kind]));
    }
    let goodput: u64 = material.flows.iter().map(|row| row.measures.bytes[1]).sum();
    table.real("max_min_gap", one(max_min_gap(groups)));
    table.real("power", one(goodput as f64 * 8.0 / seconds(material) / whole.delay.mean_s()));
    table.count("timeouts_run", std::iter::once(material.flows.iter().map(|row| row.sender.timeouts).sum()));
    let retransmitted = |row: &FlowRow| row.sender.retransmitted_fast + row.sender.retransmitted_timeout;
    table.count("retransmitted_run", std::iter::once(material.flows.iter().map(retransmitted).sum()));
    times(&mut table, DELAY, std::iter::once(whole.delay));
    table.count("locked_out_flows", std::iter::once(material.flows.iter().filter(|row| row.measures.lockouts > 0).count() as u64));
    times(&mut table, TRANSACTION, std::iter::once(whole.transfers));
    table
}

fn queue_table(material: &Material) -> Table {
    let mut table = Table::default();
    let (rows, now) = (&material.queues, material.to);
    let since = |of: fn(&ecnlab_queue::Counters) -> u64| rows.iter().map(move |row| of(&row.counters) - of(&row.measures.before));
    table.index("queue", 0..rows.len() as u32);
    let lost = |of: fn(&Losses) -> u64| rows.iter().map(move |row| of(&row.lost));
    let all_lost = || lost(|lost| lost.lost + lost.ecn);
    table.count("arrivals", since(|c| c.arrived.packets).zip(all_lost()).map(|(queue, path)| queue + path));
    table.count("departures", since(|c| c.departed.packets));
    table.count("marks", since(|c| c.marked.iter().sum()));
    let dropped = since(|c| c.dropped.iter().map(|d| d.packets).sum());
    table.count("drops", dropped.zip(all_lost()).map(|(queue, path)| queue + path));
    table.count("drops_early", since(|c| c.dropped[0].packets));
    table.count("drops_forced", since(|c| c.dropped[1].packets));
    table.count("drops_overflow", since(|c| c.dropped[2].packets));
    table.count("drops_lost", lost(|lost| lost.lost));
    table.count("drops_ecn", lost(|lost| lost.ecn));
    table.real("length_mean_packets", rows.iter().map(|row| row.measures.length_mean(now)));
    table.real("length_at_arrival_packets", rows.iter().map(|row| row.measures.length_at_arrival()));
    table.count("length_max_packets", rows.iter().map(|row| u64::from(row.measures.length_max)));
    table.real("average_mean_packets", rows.iter().map(|row| row.measures.average_mean()));
    table.real("empty_fraction", rows.iter().map(|row| row.measures.empty_fraction(now)));
    table.real("utilisation", rows.iter().map(|row| row.measures.utilisation(now)));
    let sojourn = |q: f64| rows.iter().map(move |row| row.measures.sojourn.quantile_s(q));
    table.real("sojourn_mean_s", rows.iter().map(|row| row.measures.sojourn.mean_s()));
    table.real("sojourn_p50_s", sojourn(0.50));
    table.real("sojourn_p95_s", sojourn(0.95));
    table.real("sojourn_p99_s", sojourn(0.99));
    table
}

/// The columns that add up over flows.
fn sums(table: &mut Table, material: &Material, sets: &[Vec<&FlowRow>]) {
    for (kind, name) in ["throughput_bps", "goodput_bps", "goodput_first_bps"].into_iter().enumerate() {
        let bytes = |rows: &Vec<&FlowRow>| rows.iter().map(|row| row.measures.bytes[kind]).sum::<u64>();
        table.real(name, sets.iter().map(|rows| bytes(rows) as f64 * 8.0 / seconds(material)));
    }
    type Of = fn(&FlowRow) -> u64;
    let counts: [(&'static str, Of); 9] = [
        ("sent", |row| row.sender.sent - row.measures.before.sent),
        ("retransmitted_fast", |row| row.sender.retransmitted_fast - row.measures.before.retransmitted_fast),
        ("retransmitted_timeout", |row| row.sender.retransmitted_timeout - row.measures.before.retransmitted_timeout),
        ("timeouts", |row| row.sender.timeouts - row.measures.before.timeouts),
        ("drops", |row| row.measures.drops),
        ("marks", |row| row.measures.marks),
        ("ecn_reactions", |row| row.sender.ecn_reactions - row.measures.before.ecn_reactions),
        ("lockouts", |row| u64::from(row.measures.lockouts)),
        ("transactions", |row| row.measures.transfers.count()),
    ];
    for (name, of) in counts {
        table.count(name, sets.iter().map(|rows| rows.iter().map(|row| of(row)).sum()));
    }
    table.real("lockout_s", sets.iter().map(|rows| rows.iter().map(|row| row.measures.lockout.seconds()).sum()));
}

const DELAY: [&str; 4] = ["delay_mean_s", "delay_p50_s", "delay_p95_s", "delay_p99_s"];
const TRANSACTION: [&str; 4] = ["transaction_mean_s", "transaction_p50_s", "transaction_p95_s", "transaction_p99_s"];

/// Mean and percentiles under these names.
fn times<'a, const BITS: u32>(table: &mut Table, names: [&'static str; 4], of: impl Iterator<Item = &'a Histogram<BITS>> + Clone) {
    let [mean, p50, p95, p99] = names;
    table.real(mean, of.clone().map(Histogram::mean_s));
    table.real(p50, of.clone().map(|times| times.quantile_s(0.50)));
    table.real(p95, of.clone().map(|times| times.quantile_s(0.95)));
    table.real(p99, of.map(|times| times.quantile_s(0.99)));
}

/// Smallest over largest mean goodput of a flow, by group.
fn max_min_gap(groups: &[Vec<&FlowRow>]) -> f64 {
    let mean = |rows: &Vec<&FlowRow>| rows.iter().map(|row| row.measures.bytes[1] as f64).sum::<f64>() / rows.len() as f64;
    let (least, most) = groups.iter().filter(|rows| !rows.is_empty()).map(mean).fold((f64::MAX, 0.0f64), |(l, m), x| (l.min(x), m.max(x)));
    least / most
}

fn seconds(material: &Material) -> f64 {
    material.to.since(material.from).seconds()
}
