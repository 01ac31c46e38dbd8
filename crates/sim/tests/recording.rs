//! Recorder output: the requested tables, with names, within the size limit.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use std::sync::Arc;

use common::{options, pipe, queue_link, run_with};
use ecnlab_queue::{Limit, Registry};
use ecnlab_sim::impairment::Impairment;
use ecnlab_sim::measures::table::{ColumnSlice, NameSource};
use ecnlab_sim::measures::{Column, NetworkNames, Table};
use ecnlab_sim::{
    FlowSpec, ImpairmentSpec, Network, NewRows, NewRowsReader, Probe, Recorder, RecordingConfig, RowPolicy, Run, RunTimesAndSeed,
    Simulation, describe_tables,
};
use ecnlab_transport::{AppWrite, Transport, profile};
use ecnlab_units::{Span, Time, Values};

const RECORD_EVERYTHING: RecordingConfig = RecordingConfig {
    queue_interval: Some(Span::from_millis(10)),
    window_interval: Some(Span::from_millis(10)),
    rate_bin: Some(Span::from_secs(1)),
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
        transport: Transport::Tcp(Arc::new(profile::tcp_settings_of("rfc"))),
        initial_write: Some(AppWrite::ENDLESS),
        start: Time::ZERO,
        clock_phase: None,
        row_policy: RowPolicy::OwnRow,
    };
    let flows = vec![flow(0, 0), flow(0, 1), flow(1, 0)];
    Network { links: vec![link, pipe(2_000, 10_000, 100)], flows, groups: vec!["two".into(), "one".into()], ..Network::default() }
}

fn measured_options() -> RunTimesAndSeed {
    RunTimesAndSeed { measure_from: Time::ZERO + Span::from_secs(5), ..options(20, 3) }
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
    assert_eq!(vec!["series_rate"], names(RecordingConfig { rate_bin: Some(Span::from_secs(1)), ..RecordingConfig::default() }));
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
    let all = describe_tables();
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
        let counted = run.report.column_as_reals("queues", column)[0];
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
            let expected = run.report.column_as_reals("groups", column)[group];
            assert!(count > 100 && (mean / expected - 1.0).abs() < 0.002, "{quantity} of {name}: {mean}, not {expected}, over {count}");
        }
    }
    let (count, mean) = samples_of("sojourn", "bottleneck");
    assert_eq!(run.report.column_as_reals("queues", "departures")[0], count as f64);
    assert!((mean / run.report.column_as_reals("queues", "sojourn_mean_s")[0] - 1.0).abs() < 0.002);
}

#[test]
fn a_full_recording_reports_its_limit_and_the_remedy() {
    let recorder =
        Recorder::new(RecordingConfig { arrivals: false, ..RECORD_EVERYTHING }, measured_options().duration).with_max_bytes(10_000);
    let mut simulation = Simulation::new(&network(), &measured_options(), recorder);
    while simulation.probe().recording_limit_reached().is_none() {
        assert!(!simulation.advance_with_event_limit(measured_options().duration, 100), "the bound is reached before the end");
    }
    let full = simulation.probe().recording_limit_reached().expect("it is full");
    assert!(full.at <= simulation.now() && full.at > Time::ZERO);
    assert_eq!("series_window", full.table);
    let message = full.to_string();
    assert!(message.contains("series_window") && message.contains("record less"), "{message}");
    let (run, recorder) = simulation.finish();
    assert_eq!(Some(full), recorder.tables(&run.names).err());
}

/// Appends new rows to columns as the tables of a finished run have them.
fn append_rows(to: &mut Vec<(&'static str, Vec<(&'static str, Column)>)>, rows: NewRows, names: &NetworkNames) {
    let at = to.iter().position(|(name, _)| *name == rows.table).unwrap_or_else(|| {
        to.push((rows.table, Vec::new()));
        to.len() - 1
    });
    for (place, (name, slice)) in rows.columns.into_iter().enumerate() {
        if to[at].1.len() <= place {
            assert_eq!(0, rows.from, "the first piece begins at the first row");
            to[at].1.push(match slice {
                ColumnSlice::Real(values) => (name, Column::Real(values.to_vec())),
                ColumnSlice::Count(values) => (name, Column::Count(values.to_vec())),
                ColumnSlice::Index(values) => (name, Column::Index(values.to_vec())),
                ColumnSlice::Name(source, values) => (name, Column::Name { index: values.to_vec(), names: source.names_in_context(names) }),
            });
            continue;
        }
        let column = &mut to[at].1[place].1;
        assert_eq!(rows.from, column.len(), "{name}");
        match (column, slice) {
            (Column::Real(all), ColumnSlice::Real(values)) => all.extend(values),
            (Column::Count(all), ColumnSlice::Count(values)) => all.extend(values),
            (Column::Index(all), ColumnSlice::Index(values)) => all.extend(values),
            (Column::Name { index, names: known }, ColumnSlice::Name(source, values)) => {
                index.extend(values);
                *known = source.names_in_context(names);
            }
            _ => panic!("{name} changes its kind"),
        }
    }
}

#[test]
fn new_rows_together_are_the_tables_of_a_recorder() {
    let (whole, expected) = run_recorded(RECORD_EVERYTHING);
    let recorder = Recorder::new(RECORD_EVERYTHING, measured_options().duration);
    let mut reader = NewRowsReader::default();
    let mut simulation = Simulation::new(&network(), &measured_options(), recorder);
    let (mut pieces, mut looks) = (Vec::new(), 0);
    loop {
        let over = simulation.advance_with_event_limit(measured_options().duration, 500);
        let names = simulation.probe().names_with_gauges(&simulation.network_names());
        for rows in reader.new_rows(simulation.probe()) {
            append_rows(&mut pieces, rows, &names);
        }
        assert!(reader.new_rows(simulation.probe()).iter().all(|rows| rows.columns.iter().all(|(_, column)| slice_len(column) == 0)));
        looks += 1;
        if over {
            break;
        }
    }
    assert!(looks > 5, "the run is looked at in pieces");
    let (run, recorder) = simulation.finish();
    assert_eq!(whole.fingerprint, run.fingerprint);
    let kept = recorder.tables(&run.names).expect("it fits");
    assert_eq!(format!("{expected:?}"), format!("{kept:?}"), "rows that were handed out stay in their tables");
    let growing: Vec<_> = expected.into_iter().filter(|(name, _)| *name != "distributions").collect();
    assert_eq!(growing.iter().map(|(name, _)| *name).collect::<Vec<_>>(), pieces.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for ((name, table), (_, columns)) in growing.iter().zip(&pieces) {
        // As text, since the averages of drop-tail are NaN. Lockouts that are open at the end are reported with it.
        if *name != "lockouts" {
            let found: Vec<_> = columns.iter().map(|(name, column)| (*name, column)).collect();
            let expected: Vec<_> = table.columns.iter().map(|(name, column)| (&**name, column)).collect();
            assert_eq!(format!("{expected:?}"), format!("{found:?}"), "{name}");
        }
    }
}

fn slice_len<S>(slice: &ColumnSlice<'_, S>) -> usize {
    match slice {
        ColumnSlice::Real(values) => values.len(),
        ColumnSlice::Count(values) => values.len(),
        ColumnSlice::Index(values) | ColumnSlice::Name(_, values) => values.len(),
    }
}

#[test]
fn every_hook_of_recorders_tracers_and_captures_is_forwarded() {
    let forwarded = include_str!("../src/recorder_and_tracer.rs");
    let capture = include_str!("../../emulator/src/capture.rs");
    for (source, least) in [(include_str!("../src/recorder.rs"), 15), (include_str!("../src/trace/mod.rs"), 8), (capture, 2)] {
        let (_, hooks) = source.split_once("\nimpl Probe for ").expect("it is a probe");
        let (hooks, _) = hooks.split_once("\n}").expect("the implementation ends");
        let hooks: Vec<&str> =
            hooks.lines().filter_map(|line| line.strip_prefix("    fn ")?.split_once('(')).map(|(name, _)| name).collect();
        assert!(hooks.len() > least, "{hooks:?}");
        // A tracer needs the order of events, as any probe does that does not declare otherwise.
        for hook in hooks.into_iter().filter(|hook| *hook != "needs_event_order") {
            assert!(forwarded.contains(&format!(" {hook}(")), "{hook} is not forwarded");
        }
    }
}

#[test]
fn bins_of_a_tenth_of_a_second_add_up_to_those_of_a_second_and_change_no_result() {
    let rates = |bin| run_recorded(RecordingConfig { rate_bin: Some(bin), ..RecordingConfig::default() });
    let (by_second, seconds) = rates(Span::from_secs(1));
    let (by_tenth, tenths) = rates(Span::from_millis(100));
    assert_eq!((by_second.fingerprint, by_second.events), (by_tenth.fingerprint, by_tenth.events));
    assert_eq!(format!("{:?}", by_second.report.tables), format!("{:?}", by_tenth.report.tables));
    let (seconds, tenths) = (&seconds[0].1, &tenths[0].1);
    assert_eq!((20 * 2, 200 * 2), (seconds.height(), tenths.height()));
    let groups = 2;
    for column in ["marks", "drops"] {
        let (Column::Count(long), Column::Count(short)) = (seconds.column(column), tenths.column(column)) else {
            panic!("{column} counts")
        };
        let sums = (0..long.len()).map(|row| (0..10).map(|tenth| short[(row / groups * 10 + tenth) * groups + row % groups]).sum::<u64>());
        assert_eq!(*long, sums.collect::<Vec<_>>(), "{column}");
        assert!(column == "marks" || long.iter().sum::<u64>() > 0);
    }
    for column in ["throughput_bps", "goodput_bps"] {
        let (Column::Real(long), Column::Real(short)) = (seconds.column(column), tenths.column(column)) else { panic!("{column} is real") };
        let mean = |row: usize| (0..10).map(|tenth| short[(row / groups * 10 + tenth) * groups + row % groups]).sum::<f64>() / 10.0;
        assert!((0..long.len()).all(|row| (long[row] - mean(row)).abs() < 1e-3), "{column}: {long:?}");
        assert!(long.iter().sum::<f64>() > 0.0);
    }
}
