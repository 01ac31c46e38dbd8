//! Recorder output: the requested tables, with names, within the size limit.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use std::sync::Arc;

use common::{options, pipe, queue_link, run_with};
use ecnlab_queue::{Limit, Registry};
use ecnlab_sim::impairment::Impairment;
use ecnlab_sim::measures::{Column, Table};
use ecnlab_sim::{FlowSpec, ImpairmentSpec, Network, Options, Probe, Recorder, RecordingConfig, RowPolicy, Run, Simulation, tables};
use ecnlab_transport::{AppWrite, Transport, profile};
use ecnlab_units::{Span, Time, Values};

const RECORD_EVERYTHING: RecordingConfig = RecordingConfig {
    queue_interval: Some(Span::from_millis(10)),
    window_interval: Some(Span::from_millis(10)),
    rates: true,
    events: true,
    distributions: true,
    transfers: true,
    arrivals: true,
};

/// Three flows in two groups over a small drop-tail queue and a lossy path.
fn network() -> Network {
    let aqm = Registry::builtin().aqm("droptail").unwrap();
    let mut link = queue_link(2_000, 10_000, "bottleneck", aqm, Values::defaults(aqm.parameters), Limit::Packets(10));
    link.impairment = Some(Box::new(ImpairmentSpec { impairments: vec![Impairment::random_loss(0.01)] }));
    let flow = |group, member| FlowSpec {
        group,
        member,
        forward: vec![0],
        back: vec![1],
        transport: Transport::Tcp(Arc::new(profile::settings("rfc"))),
        initial_write: Some(AppWrite::ENDLESS),
        start: Time::ZERO,
        clock_phase: None,
        row_policy: RowPolicy::OwnRow,
    };
    let flows = vec![flow(0, 0), flow(0, 1), flow(1, 0)];
    Network { links: vec![link, pipe(2_000, 10_000, 100)], flows, groups: vec!["two".into(), "one".into()], ..Network::default() }
}

fn measured_options() -> Options {
    Options { measure_from: Time::ZERO + Span::from_secs(5), ..options(20, 3) }
}

fn run_recorded(recording: RecordingConfig) -> (Run, Vec<(&'static str, Table)>) {
    let (run, recorder) = run_with(&network(), &measured_options(), Recorder::new(recording, measured_options().duration));
    let tables = recorder.tables(&run.names).expect("it fits");
    (run, tables)
}

/// A column of names as words.
fn column_words(table: &Table, column: &str) -> Vec<String> {
    match table.column(column) {
        Column::Name { index, names } => index.iter().map(|&at| names[at as usize].to_string()).collect(),
        other => panic!("{column} holds no names: {other:?}"),
    }
}

#[test]
fn only_requested_tables_are_recorded() {
    let names = |recording| run_recorded(recording).1.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(Vec::<&str>::new(), names(RecordingConfig::default()));
    assert_eq!(vec!["series_rate"], names(RecordingConfig { rates: true, ..RecordingConfig::default() }));
    assert_eq!(vec!["events", "lockouts"], names(RecordingConfig { events: true, ..RecordingConfig::default() }));
    assert_eq!(vec!["transfers"], names(RecordingConfig { transfers: true, ..RecordingConfig::default() }));
    assert_eq!(vec!["arrivals"], names(RecordingConfig { arrivals: true, ..RecordingConfig::default() }));
    assert_eq!(10, names(RECORD_EVERYTHING).len());
}

#[test]
fn declared_tables_and_produced_tables_are_the_same() {
    let (run, more) = run_recorded(RECORD_EVERYTHING);
    let made: Vec<_> = run.report.tables.iter().chain(&more).collect();
    // The last table is the packet trace, which no recorder creates.
    let all = tables();
    let (trace, declared) = all.split_last().unwrap();
    assert_eq!("trace", trace.name);
    assert_eq!(declared.iter().map(|table| table.name).collect::<Vec<_>>(), made.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for (text, (name, table)) in declared.iter().zip(made) {
        let columns: Vec<_> = table.columns.iter().map(|(name, _)| &**name).collect();
        assert_eq!(text.columns.iter().map(|column| column.name).collect::<Vec<_>>(), columns, "{name}");
        assert!(table.columns.iter().all(|(_, column)| column.len() == table.height()), "{name}");
        assert!(text.columns.iter().all(|column| !column.doc.is_empty() && (column.kind == "name") == column.unit.is_empty()), "{name}");
    }
}

#[test]
fn events_are_the_drops_of_the_queue_and_of_its_path_by_name() {
    let (run, tables) = run_recorded(RecordingConfig { events: true, ..RecordingConfig::default() });
    let events = &tables[0].1;
    let Column::Real(times) = events.column("time_s") else { panic!("times are real numbers") };
    let measured_options: Vec<usize> = (0..events.height()).filter(|&row| times[row] >= 5.0).collect();
    let (kinds, causes, queues) = (column_words(events, "kind"), column_words(events, "cause"), column_words(events, "queue"));
    assert!(measured_options.iter().all(|&row| kinds[row] == "drop" && queues[row] == "bottleneck"));
    for (cause, column) in [("overflow", "drops_overflow"), ("lost", "drops_lost")] {
        let counted = run.report.reals("queues", column)[0];
        assert!(counted > 0.0);
        assert_eq!(counted, measured_options.iter().filter(|&&row| causes[row] == cause).count() as f64, "{cause}");
    }
}

#[test]
fn distributions_count_the_samples_behind_the_means_of_groups_and_queues() {
    let (run, tables) = run_recorded(RecordingConfig { distributions: true, ..RecordingConfig::default() });
    let cells = &tables[0].1;
    let (quantities, of) = (column_words(cells, "quantity"), column_words(cells, "group_or_queue"));
    let [Column::Real(low), Column::Real(high), Column::Count(counts)] = ["low_s", "high_s", "count"].map(|name| cells.column(name)) else {
        panic!("bounds are real numbers and counts are counts")
    };
    let samples_of = |quantity: &str, name: &str| {
        let rows: Vec<usize> = (0..cells.height()).filter(|&row| quantities[row] == quantity && of[row] == name).collect();
        let count: u64 = rows.iter().map(|&row| counts[row]).sum();
        (count, rows.iter().map(|&row| (low[row] + high[row]) / 2.0 * counts[row] as f64).sum::<f64>() / count as f64)
    };
    for (group, name) in ["two", "one"].into_iter().enumerate() {
        for (quantity, column) in [("delay", "delay_mean_s"), ("rtt", "rtt_mean_s")] {
            let (count, mean) = samples_of(quantity, name);
            let expected = run.report.reals("groups", column)[group];
            assert!(count > 100 && (mean / expected - 1.0).abs() < 0.002, "{quantity} of {name}: {mean}, not {expected}, over {count}");
        }
    }
    let (count, mean) = samples_of("sojourn", "bottleneck");
    assert_eq!(run.report.reals("queues", "departures")[0], count as f64);
    assert!((mean / run.report.reals("queues", "sojourn_mean_s")[0] - 1.0).abs() < 0.002);
}

#[test]
fn a_full_recording_reports_its_limit_and_the_remedy() {
    let recorder =
        Recorder::new(RecordingConfig { arrivals: false, ..RECORD_EVERYTHING }, measured_options().duration).with_max_bytes(10_000);
    let mut simulation = Simulation::new(&network(), &measured_options(), recorder);
    while simulation.probe().recording_full().is_none() {
        assert!(!simulation.advance(measured_options().duration, 100), "the bound is reached before the end");
    }
    let full = simulation.probe().recording_full().expect("it is full");
    assert!(full.at <= simulation.now() && full.at > Time::ZERO);
    assert_eq!("series_window", full.table);
    let message = full.to_string();
    assert!(message.contains("series_window") && message.contains("record less"), "{message}");
    let (run, recorder) = simulation.finish();
    assert_eq!(Some(full), recorder.tables(&run.names).err());
}
