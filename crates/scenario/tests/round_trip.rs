//! A run's own trace, read again, gives back what the run has measured.

use ecnlab_scenario::{Registry, Scenario, no_files};
use ecnlab_sim::measures::{Column, Table};
use ecnlab_sim::{Options, Run, Simulation, TraceFormat, TraceSpec, Tracer};
use ecnlab_trace::{Analysis, Told};
use ecnlab_units::Time;
use ecnlab_wire::Reader;

/// Flows of three distances through one queue that marks and drops; some know no ECN, and all have an end or none.
fn network(app: &str, profile: &str, duration_s: u64, from_s: u64) -> Scenario {
    let group = |name: &str, delay_ms: u32, ecn: bool| {
        format!(
            "[[flows]]\nname = \"{name}\"\ncount = 4\nto = \"sink\"\n\
             access = {{ to = \"router\", rate = \"10 Mbps\", delay = \"{delay_ms} ms\", spread = \"1 ms\" }}\n\
             tcp = {{ profile = \"{profile}\", ecn = {ecn}, max_window = 64 }}\napp = {app}\n"
        )
    };
    let text = format!(
        "name = \"traced\"\nduration = \"{duration_s} s\"\nmeasure_from = \"{from_s} s\"\n\n\
         [[link]]\nname = \"bottleneck\"\nfrom = \"router\"\nto = \"sink\"\nrate = \"5 Mbps\"\ndelay = \"5 ms\"\n\
         queue = {{ aqm = \"ecn\", limit = 30, min_th = 4, max_th = 12, max_p = 0.2 }}\n\n{}\n{}\n{}",
        group("near", 5, true),
        group("far", 60, true),
        group("deaf", 20, false),
    );
    Scenario::from_toml(&text, &[], &Registry::builtin(), &no_files).unwrap()
}

/// Runs it with a trace, and reads the trace over the measured interval.
fn there_and_back(scenario: &Scenario, format: TraceFormat, header: u32) -> (Run, Told) {
    let (duration, measure_from) = (Time::ZERO + scenario.duration, Time::ZERO + scenario.measure_from);
    let options = Options { duration, measure_from, seed: 7 };
    let ways = ["bottleneck", "bottleneck.reverse"].map(str::to_owned).to_vec();
    let spec = TraceSpec { format, links: if format == TraceFormat::Ns2 { Vec::new() } else { ways } };
    let (run, mut tracer) = Simulation::new(&scenario.network, &options, Tracer::new(spec)).finish();
    tracer.finish(duration);
    let mut reader = Reader::open(tracer.bytes().unwrap().as_slice()).unwrap();
    let asked = ecnlab_trace::Options {
        from: Some(scenario.measure_from),
        to: Some(scenario.duration),
        header,
        ..ecnlab_trace::Options::default()
    };
    let mut analysis = Analysis::new(asked, false);
    while let Some(event) = reader.next() {
        let names: Vec<String> = reader.interfaces().iter().map(|interface| interface.name.clone().unwrap_or_default()).collect();
        analysis.interfaces(names);
        analysis.take(&event.unwrap());
    }
    (run, analysis.finish())
}

fn values(table: &Table, column: &str) -> Vec<f64> {
    match table.column(column) {
        Column::Real(values) => values.clone(),
        Column::Count(values) => values.iter().map(|&value| value as f64).collect(),
        Column::Index(values) | Column::Name { index: values, .. } => values.iter().map(|&value| f64::from(value)).collect(),
    }
}

fn told(trace: &Told, table: &str, column: &str) -> Vec<f64> {
    values(&trace.tables.iter().find(|(name, _)| *name == table).unwrap().1, column)
}

/// A column of flows, in the order of the run's.
fn by_flow(trace: &Told, column: &str) -> Vec<f64> {
    let mut rows: Vec<_> = told(trace, "flows", "fid").into_iter().zip(told(trace, "flows", column)).collect();
    rows.sort_by(|one, other| one.0.total_cmp(&other.0));
    rows.into_iter().map(|(_, value)| value).collect()
}

/// The two are the same but for what adding up in another order leaves.
fn assert_same(own: &[f64], read: &[f64], tolerance: f64, what: &str) {
    assert_eq!(own.len(), read.len(), "{what}");
    for (at, (own, read)) in own.iter().zip(read).enumerate() {
        assert!((own - read).abs() <= tolerance + own.abs() * 1e-9, "{what} of {at}: the run has {own}, its trace {read}");
    }
}

/// The total of a run, or of its trace.
fn whole(run: &Run, trace: &Told, column: &str) -> ([f64; 1], [f64; 1]) {
    ([run.report.reals("total", column)[0]], [told(trace, "total", column)[0]])
}

const COUNTS: &[&str] = &["sent", "retransmitted_fast", "retransmitted_timeout", "drops", "marks", "lockouts"];
const RATES: &[&str] = &["throughput_bps", "goodput_bps", "goodput_first_bps"];
const FILE: &str = "{ kind = \"file\", bytes = \"600 kB\" }";

/// What ns-2's lines keep of a time; a percentile may fall into the next cell of its histogram, 3.2 % away.
const TIME_S: f64 = 1e-6;
const CELL: f64 = 0.033;

#[test]
fn an_ns_2_trace_of_finite_transfers_gives_back_every_flow_s_measures() {
    for profile in ["ns2-2001", "ns2"] {
        let scenario = network(FILE, profile, 60, 0);
        let (run, trace) = there_and_back(&scenario, TraceFormat::Ns2, 0);
        for column in COUNTS.iter().chain(RATES) {
            assert_same(&run.report.reals("flows", column), &by_flow(&trace, column), 0.0, &format!("{profile}: {column}"));
        }
        assert_same(&run.report.reals("flows", "delay_mean_s"), &by_flow(&trace, "delay_mean_s"), TIME_S, "delay_mean_s");
        let (own, read) = (run.report.reals("flows", "delay_p95_s"), by_flow(&trace, "delay_p95_s"));
        assert!(own.iter().zip(&read).all(|(own, read)| (own - read).abs() <= CELL * own), "{profile}: {own:?} {read:?}");
        let drops: f64 = run.report.reals("total", "drops")[0];
        assert!(drops > 50.0, "{profile}: {drops}");
    }
}

#[test]
fn an_ns_2_trace_gives_back_the_measures_of_an_interval_within_a_run() {
    let scenario = network("{ kind = \"bulk\" }", "ns2-2001", 30, 5);
    let (run, trace) = there_and_back(&scenario, TraceFormat::Ns2, 0);
    for column in RATES.iter().chain(&["sent", "drops", "delay_mean_s", "jain_throughput", "jain_goodput", "jain_goodput_first"]) {
        let (own, read) = whole(&run, &trace, column);
        assert_same(&own, &read, TIME_S, column);
    }
    for kind in ["throughput", "goodput", "goodput_first"] {
        let (own, read) = (run.report.reals("total", &format!("jain_1s_{kind}")), told(&trace, "total", &format!("jain_bins_{kind}")));
        assert_same(&own, &read, 0.0, &format!("jain_1s_{kind}"));
    }
    // The run counts a mark when the packet comes, the trace shows it when the packet leaves: what waits at both ends of the interval differs.
    let (own, read) = whole(&run, &trace, "marks");
    assert!((own[0] - read[0]).abs() <= 30.0 && own[0] > 500.0, "marks: the run has {}, its trace {}", own[0], read[0]);
}

/// A capture ends behind the bottleneck and shows no round-trip time of the sink, but all bytes of a transfer come there.
#[test]
fn a_capture_of_finite_transfers_gives_back_every_flow_s_measures() {
    for profile in ["rfc", "linux"] {
        let scenario = network(FILE, profile, 60, 0);
        let (run, trace) = there_and_back(&scenario, TraceFormat::Pcapng { keep: 128 }, 0);
        // A run's flow counts a SYN that was dropped, which is no data.
        let lost: f64 = run.report.reals("flows", "drops").iter().sum();
        assert_same(&[lost], &told(&trace, "links", "drops")[..1], 0.0, profile);
        for column in ["goodput_bps", "goodput_first_bps", "marks"] {
            assert_same(
                &sorted(run.report.reals("flows", column)),
                &sorted(told(&trace, "flows", column)),
                0.0,
                &format!("{profile}: {column}"),
            );
        }
    }
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}
