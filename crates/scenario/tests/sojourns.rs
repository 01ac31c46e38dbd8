//! Recorded sojourn times, of a queue and of its bands, compared with those computed from the recorded arrivals and departures.

use std::collections::BTreeMap;

use ecnlab_scenario::{Registry, Scenario, no_files};
use ecnlab_sim::measures::{Column, Table};
use ecnlab_sim::{Recorder, RecordingConfig, Run, RunTimesAndSeed, Simulation};
use ecnlab_units::{Span, Time};

const SAMPLE_INTERVAL: Span = Span::from_micros(9_870);

fn scenario(queue: &str) -> Scenario {
    let text = format!(
        r#"
        name = "sojourns"
        duration = "5 s"
        measure_from = "1 s"
        [[link]]
        name = "first"
        from = "a"
        to = "b"
        rate = "10 Mbps"
        delay = "10 ms"
        queue = {queue}
        [[link]]
        name = "second"
        from = "b"
        to = "c"
        rate = "9 Mbps"
        delay = "1 ms"
        queue = {{ discipline = "fq", limit = 100 }}
        [[flows]]
        name = "scalable"
        from = "a"
        to = "c"
        start = "50 ms"
        tcp = {{ profile = "linux", variant = "dctcp", ecn = true, ect_codepoint = "ect1" }}
        [[flows]]
        name = "classic"
        from = "a"
        to = "c"
        start = "1 s"
        tcp = {{ profile = "linux", ecn = true }}
        "#
    );
    Scenario::from_toml(&text, &[], &Registry::builtin(), &no_files).unwrap_or_else(|why| panic!("{queue}: {why:#?}"))
}

/// A run and its tables `series_queue`, `series_band`, `distributions` and `arrivals`.
fn run_recorded(scenario: &Scenario) -> (Run, BTreeMap<&'static str, Table>) {
    let options = RunTimesAndSeed { duration: Time::ZERO + scenario.duration, measure_from: Time::ZERO + scenario.measure_from, seed: 1 };
    let recording =
        RecordingConfig { queue_interval: Some(SAMPLE_INTERVAL), arrivals: true, distributions: true, ..RecordingConfig::default() };
    let (run, recorder) = Simulation::new(&scenario.network, &options, Recorder::new(recording, options.duration)).finish();
    let tables = recorder.tables(&run.names).unwrap();
    (run, tables.into_iter().collect())
}

fn reals(table: &Table, column: &str) -> Vec<f64> {
    match table.column(column) {
        Column::Real(values) => values.clone(),
        Column::Count(values) => values.iter().map(|&n| n as f64).collect(),
        Column::Index(values) | Column::Name { index: values, .. } => values.iter().map(|&n| f64::from(n)).collect(),
    }
}

fn words(table: &Table, column: &str) -> Vec<String> {
    match table.column(column) {
        Column::Name { index, names } => index.iter().map(|&at| names[at as usize].to_string()).collect(),
        other => panic!("{column} holds no names: {other:?}"),
    }
}

/// A departure: time, queue, whether its packet belongs to DualPI2's band L, and sojourn time.
struct Departure {
    time_s: f64,
    queue: String,
    low: bool,
    sojourn_s: f64,
}

fn departures(arrivals: &Table) -> Vec<Departure> {
    let (times, numbers, queues) = (reals(arrivals, "time_ps"), reals(arrivals, "number"), words(arrivals, "queue"));
    let (acts, fields) = (words(arrivals, "event"), words(arrivals, "ecn"));
    let mut came = BTreeMap::new();
    let mut departures_list = Vec::new();
    for row in 0..arrivals.height() {
        let packet = (queues[row].clone(), numbers[row] as u64);
        match acts[row].as_str() {
            "arrival" => drop(came.insert(packet, (times[row], matches!(fields[row].as_str(), "ect1" | "ce")))),
            "departure" => {
                let (since, low) = came[&packet];
                departures_list.push(Departure {
                    time_s: times[row] * 1e-12,
                    queue: packet.0,
                    low,
                    sojourn_s: (times[row] - since) * 1e-12,
                });
            }
            _ => {}
        }
    }
    departures_list
}

/// Mean and maximum sojourn time of the departures of one kind, per sampling interval; NaN without departures.
fn stats_by_interval(departures_list: &[Departure], samples: &[f64], of: impl Fn(&Departure) -> bool) -> Vec<(f64, f64)> {
    let mut begin = -1.0;
    let interval = |&end: &f64| {
        let inside: Vec<f64> =
            departures_list.iter().filter(|one| of(one) && one.time_s > begin && one.time_s <= end).map(|one| one.sojourn_s).collect();
        begin = end;
        let max = inside.iter().copied().fold(f64::NAN, f64::max);
        (inside.iter().sum::<f64>() / inside.len() as f64, max)
    };
    samples.iter().map(interval).collect()
}

fn assert_close(name: &str, expected: &[(f64, f64)], mean: &[f64], max: &[f64]) {
    assert!(expected.iter().filter(|(mean, _)| !mean.is_nan()).count() > 50, "{name}: packets departed");
    assert_eq!(expected.len(), mean.len(), "{name}");
    for (row, (expected, found)) in expected.iter().zip(mean.iter().zip(max)).enumerate() {
        let alike = |a: f64, b: f64| a.is_nan() && b.is_nan() || (a - b).abs() < 1e-9;
        assert!(alike(expected.0, *found.0) && alike(expected.1, *found.1), "{name}, row {row}: {found:?}, counted {expected:?}");
    }
}

#[test]
fn a_sample_of_a_queue_or_a_band_has_the_sojourn_times_since_the_sample_before() {
    let (_, tables) = run_recorded(&scenario(r#"{ discipline = "dualpi2", limit = 200 }"#));
    let departures_list = departures(&tables["arrivals"]);
    let whole = &tables["series_queue"];
    let bands = &tables["series_band"];
    for queue in ["first", "second"] {
        let names = words(whole, "queue");
        let of = |column: &str| -> Vec<f64> {
            reals(whole, column).into_iter().zip(&names).filter(|(_, name)| *name == queue).map(|(x, _)| x).collect()
        };
        let samples = of("time_s");
        assert!(departures_list.iter().all(|one| !samples.contains(&one.time_s)), "no packet departs in the moment of a sample");
        let expected = stats_by_interval(&departures_list, &samples, |one| one.queue == queue);
        assert_close(queue, &expected, &of("sojourn_mean_s"), &of("sojourn_max_s"));
    }
    let (queues, names) = (words(bands, "queue"), words(bands, "band"));
    let of = |queue: &str, band: &str, column: &str| -> Vec<f64> {
        (0..bands.height()).filter(|&row| queues[row] == queue && names[row] == band).map(|row| reals(bands, column)[row]).collect()
    };
    for (band, low) in [("L", true), ("C", false)] {
        let expected = stats_by_interval(&departures_list, &of("first", band, "time_s"), |one| one.queue == "first" && one.low == low);
        assert_close(band, &expected, &of("first", band, "sojourn_mean_s"), &of("first", band, "sojourn_max_s"));
    }
    assert_eq!(of("first", "L", "time_s"), of("second", "new", "time_s"));
    let bands_of_second: Vec<&str> = names.iter().zip(&queues).filter(|(_, queue)| *queue == "second").map(|(band, _)| &**band).collect();
    assert_eq!(["new", "old", "new", "old"], bands_of_second[..4]);
}

#[test]
fn a_queue_of_one_band_has_no_rows_of_bands() {
    let (_, tables) = run_recorded(&scenario(r#"{ aqm = "droptail", limit = 200 }"#));
    let bands = words(&tables["series_band"], "queue");
    assert!(!bands.is_empty() && bands.iter().all(|queue| queue == "second"));
    let cells = &tables["distributions"];
    let rows = (0..cells.height()).filter(|&row| words(cells, "group_or_queue")[row] == "first");
    assert!(rows.map(|row| words(cells, "band")[row].clone()).all(|band| band.is_empty()));
}

#[test]
fn a_distribution_of_sojourn_times_has_the_samples_of_each_band() {
    let (run, tables) = run_recorded(&scenario(r#"{ discipline = "dualpi2", limit = 200 }"#));
    let cells = &tables["distributions"];
    let (quantities, of, bands, counts) =
        (words(cells, "quantity"), words(cells, "group_or_queue"), words(cells, "band"), reals(cells, "count"));
    let (low, high) = (reals(cells, "low_s"), reals(cells, "high_s"));
    let (departures_list, means) =
        (run.report.column_as_reals("bands", "departures"), run.report.column_as_reals("bands", "sojourn_mean_s"));
    for (place, (queue, band)) in [("first", "L"), ("first", "C"), ("second", "new"), ("second", "old")].into_iter().enumerate() {
        let rows: Vec<usize> =
            (0..cells.height()).filter(|&row| quantities[row] == "sojourn" && of[row] == queue && bands[row] == band).collect();
        let count: f64 = rows.iter().map(|&row| counts[row]).sum();
        let mean = rows.iter().map(|&row| (low[row] + high[row]) / 2.0 * counts[row]).sum::<f64>() / count;
        assert_eq!(departures_list[place], count, "{queue} {band}");
        assert!(count == 0.0 || (mean / means[place] - 1.0).abs() < 0.005, "{queue} {band}: {mean}, not {}", means[place]);
    }
    let all: f64 = (0..cells.height()).filter(|&row| of[row] == "first" && quantities[row] == "sojourn").map(|row| counts[row]).sum();
    assert_eq!(run.report.column_as_reals("queues", "departures")[0], all, "each packet counts once");
    assert!(quantities.iter().zip(&bands).all(|(quantity, band)| quantity == "sojourn" || band.is_empty()));
}
