//! The analysis of a run's own trace reproduces the run's measures.

use std::collections::BTreeSet;

use ecnlab_scenario::{Registry, Scenario, no_files};
use ecnlab_sim::measures::{Column, Table};
use ecnlab_sim::{Run, RunTimesAndSeed, Simulation, TraceFormat, TraceSpec, Tracer};
use ecnlab_trace::check::Rule;
use ecnlab_trace::{Analysis, CheckReport, EcnCheck, TraceReport};
use ecnlab_units::Time;
use ecnlab_wire::{IpVersion, Reader};

/// Flows of three RTTs through one queue that marks and drops; some do not use ECN, and all are finite or all endless.
fn network(app: &str, profile: &str, duration_s: u64, from_s: u64) -> Scenario {
    // An application with arriving flows is one for its whole group.
    let count = if app.contains("arrivals") { 1 } else { 4 };
    let group = |name: &str, delay_ms: u32, ecn: bool| {
        format!(
            "[[flows]]\nname = \"{name}\"\ncount = {count}\nto = \"sink\"\n\
             access = {{ to = \"router\", rate = \"10 Mbps\", delay = \"{delay_ms} ms\", spread = \"1 ms\" }}\n\
             tcp = {{ profile = \"{profile}\", ecn = {ecn}, max_rwnd = 64 }}\napp = {app}\n"
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

/// Runs the scenario with a trace, and analyzes the trace over the measured interval.
fn run_and_analyze(scenario: &Scenario, format: TraceFormat, header_bytes: u32) -> (Run, TraceReport) {
    let ways = ["bottleneck", "bottleneck.reverse"].map(str::to_owned).to_vec();
    let links = if format == TraceFormat::Ns2 { Vec::new() } else { ways };
    let (run, trace) = run_with_trace(scenario, TraceSpec { format, links });
    let trace = analyze(scenario, &trace, header_bytes);
    (run, trace)
}

/// Runs the scenario with a trace of bytes.
fn run_with_trace(scenario: &Scenario, spec: TraceSpec) -> (Run, Vec<u8>) {
    let (run, mut tracer) = run_with(scenario, spec);
    (run, std::mem::take(tracer.bytes_mut().unwrap()))
}

fn run_with(scenario: &Scenario, spec: TraceSpec) -> (Run, Tracer) {
    let (duration, measure_from) = (Time::ZERO + scenario.duration, Time::ZERO + scenario.measure_from);
    let options = RunTimesAndSeed { duration, measure_from, seed: 7 };
    let (run, mut tracer) = Simulation::new(&scenario.network, &options, Tracer::new(spec)).finish();
    tracer.write_begun_transmissions(duration);
    (run, tracer)
}

/// Analyzes a trace over the measured interval.
fn analyze(scenario: &Scenario, trace: &[u8], header_bytes: u32) -> TraceReport {
    let mut reader = Reader::from_reader(trace).unwrap();
    let options = ecnlab_trace::Options {
        from: Some(scenario.measure_from),
        to: Some(scenario.duration),
        header_bytes,
        ..ecnlab_trace::Options::default()
    };
    let mut analysis = Analysis::new(options, false);
    while let Some(event) = reader.next() {
        let names: Vec<String> = reader.interfaces().iter().map(|interface| interface.name.clone().unwrap_or_default()).collect();
        analysis.set_interfaces(names);
        analysis.on_event(&event.unwrap());
    }
    analysis.finish()
}

/// The report of a check of a trace.
fn check_report(trace: &[u8]) -> CheckReport {
    let mut reader = Reader::from_reader(trace).unwrap();
    let mut check = EcnCheck::default();
    while let Some(event) = reader.next() {
        check.set_interface_count(reader.interfaces().len());
        let event = event.unwrap();
        check.on_event(&event, reader.records(), event.time);
    }
    check.finish()
}

fn values(table: &Table, column: &str) -> Vec<f64> {
    match table.column(column) {
        Column::Real(values) => values.clone(),
        Column::Count(values) => values.iter().map(|&value| value as f64).collect(),
        Column::Index(values) | Column::Name { index: values, .. } => values.iter().map(|&value| f64::from(value)).collect(),
    }
}

fn column_values(trace: &TraceReport, table: &str, column: &str) -> Vec<f64> {
    values(&trace.tables.iter().find(|(name, _)| *name == table).unwrap().1, column)
}

/// Column of flows, in the run's order.
fn column_by_flow(trace: &TraceReport, column: &str) -> Vec<f64> {
    let mut rows: Vec<_> = column_values(trace, "flows", "fid").into_iter().zip(column_values(trace, "flows", column)).collect();
    rows.sort_by(|one, other| one.0.total_cmp(&other.0));
    rows.into_iter().map(|(_, value)| value).collect()
}

/// Asserts equality except for rounding by another order of summation.
fn assert_same(own: &[f64], read: &[f64], tolerance: f64, what: &str) {
    assert_eq!(own.len(), read.len(), "{what}");
    for (at, (own, read)) in own.iter().zip(read).enumerate() {
        assert!((own - read).abs() <= tolerance + own.abs() * 1e-9, "{what} of {at}: the run has {own}, its trace {read}");
    }
}

/// Total of a column in a run, and in its trace.
fn total_columns(run: &Run, trace: &TraceReport, column: &str) -> ([f64; 1], [f64; 1]) {
    ([run.report.column_as_reals("total", column)[0]], [column_values(trace, "total", column)[0]])
}

const COUNTS: &[&str] = &["sent", "retransmitted_fast", "retransmitted_timeout", "drops", "marks", "lockouts"];
const RATES: &[&str] = &["throughput_bps", "goodput_bps", "goodput_first_bps"];
const FILE_APP: &str = "{ kind = \"file\", bytes = \"600 kB\" }";

/// Resolution of times in ns-2's lines; a percentile may fall into the next histogram cell, 3.2 % away.
const TIME_TOLERANCE_S: f64 = 1e-6;
const HISTOGRAM_TOLERANCE: f64 = 0.033;

#[test]
fn an_ns_2_trace_of_finite_transfers_gives_back_every_flow_s_measures() {
    for profile in ["ns2-2001", "ns2"] {
        let scenario = network(FILE_APP, profile, 60, 0);
        let (run, trace) = run_and_analyze(&scenario, TraceFormat::Ns2, 0);
        for column in COUNTS.iter().chain(RATES) {
            assert_same(
                &run.report.column_as_reals("flows", column),
                &column_by_flow(&trace, column),
                0.0,
                &format!("{profile}: {column}"),
            );
        }
        assert_same(
            &run.report.column_as_reals("flows", "delay_mean_s"),
            &column_by_flow(&trace, "delay_mean_s"),
            TIME_TOLERANCE_S,
            "delay_mean_s",
        );
        let (own, read) = (run.report.column_as_reals("flows", "delay_p95_s"), column_by_flow(&trace, "delay_p95_s"));
        assert!(own.iter().zip(&read).all(|(own, read)| (own - read).abs() <= HISTOGRAM_TOLERANCE * own), "{profile}: {own:?} {read:?}");
        let drops: f64 = run.report.column_as_reals("total", "drops")[0];
        assert!(drops > 50.0, "{profile}: {drops}");
    }
}

#[test]
fn an_ns_2_trace_gives_back_the_measures_of_an_interval_within_a_run() {
    let scenario = network("{ kind = \"bulk\" }", "ns2-2001", 30, 5);
    let (run, trace) = run_and_analyze(&scenario, TraceFormat::Ns2, 0);
    for column in RATES.iter().chain(&["sent", "drops", "delay_mean_s", "jain_throughput", "jain_goodput", "jain_goodput_first"]) {
        let (own, read) = total_columns(&run, &trace, column);
        assert_same(&own, &read, TIME_TOLERANCE_S, column);
    }
    for kind in ["throughput", "goodput", "goodput_first"] {
        let (own, read) =
            (run.report.column_as_reals("total", &format!("jain_1s_{kind}")), column_values(&trace, "total", &format!("jain_bins_{kind}")));
        assert_same(&own, &read, 0.0, &format!("jain_1s_{kind}"));
    }
    // The run counts a mark when the packet arrives, the trace shows it when the packet leaves: packets queued at both ends of the interval
    // differ.
    let (own, read) = total_columns(&run, &trace, "marks");
    assert!((own[0] - read[0]).abs() <= 30.0 && own[0] > 500.0, "marks: the run has {}, its trace {}", own[0], read[0]);
}

/// Successive connections of a flow count their packets from 0 each, and the run's flow sums them. Requests are further flows of the trace,
/// which the run does not count.
#[test]
fn an_ns_2_trace_tells_the_connections_of_exchanges_apart() {
    let scenario = network("{ kind = \"exchange\", response = \"20 kB\" }", "ns2", 30, 0);
    let (run, trace) = run_and_analyze(&scenario, TraceFormat::Ns2, 0);
    for column in COUNTS.iter().chain(RATES) {
        let own = run.report.column_as_reals("flows", column);
        let rows: Vec<_> = column_values(&trace, "flows", "fid").into_iter().zip(column_values(&trace, "flows", column)).collect();
        let together = |flow: usize| rows.iter().filter(|(fid, _)| *fid == flow as f64).map(|(_, value)| value).sum();
        assert_same(&own, &(0..own.len()).map(together).collect::<Vec<f64>>(), 0.0, column);
    }
    assert_a_row_for_each_connection(&scenario, &trace, 1500);
}

/// Lockouts are not compared: most of the run's are waits for a lost SYN, which precede the start of the trace's flow.
#[test]
fn an_ns_2_trace_tells_flows_that_come_and_go_apart() {
    let scenario = network("{ kind = \"arrivals\", flows_per_second = 6, size = \"30 kB\" }", "ns2", 60, 0);
    let (run, trace) = run_and_analyze(&scenario, TraceFormat::Ns2, 0);
    for column in ["sent", "retransmitted_fast", "retransmitted_timeout", "drops", "marks", "goodput_bps", "goodput_first_bps"] {
        let (own, read) = total_columns(&run, &trace, column);
        assert_same(&own, &read, 0.0, column);
        assert!(own[0] > 100.0, "{column}: {own:?}");
    }
    assert_a_row_for_each_connection(&scenario, &trace, 1000);
}

/// The table of events, which identifies each packet's connection, has as many connections as the analysis of ns-2's lines, and more than
/// `least`.
fn assert_a_row_for_each_connection(scenario: &Scenario, lines: &TraceReport, least: usize) {
    let (_, mut tracer) = run_with(scenario, TraceSpec { format: TraceFormat::Table, links: Vec::new() });
    let events = tracer.drain_rows_if_at_least(0).unwrap();
    let whose = values(&events, "flow").into_iter().zip(values(&events, "connection"));
    let connections: BTreeSet<_> = whose.map(|(flow, connection)| (flow as u64, connection as u64)).collect();
    assert_eq!(connections.len(), column_values(lines, "flows", "fid").len());
    assert!(connections.len() > least, "{} connections", connections.len());
}

/// A capture ends after the bottleneck and shows no RTT of the receiver, but all bytes of a transfer pass there.
#[test]
fn a_capture_of_finite_transfers_gives_back_every_flow_s_measures() {
    for profile in ["rfc", "linux"] {
        let scenario = network(FILE_APP, profile, 60, 0);
        let (run, trace) = run_and_analyze(&scenario, TraceFormat::Pcapng { keep: 128, version: IpVersion::V4 }, 0);
        // A run's flow counts a dropped SYN, which is not data.
        let lost: f64 = run.report.column_as_reals("flows", "drops").iter().sum();
        assert_same(&[lost], &column_values(&trace, "links", "drops")[..1], 0.0, profile);
        for column in ["goodput_bps", "goodput_first_bps", "marks"] {
            assert_same(
                &sorted(run.report.column_as_reals("flows", column)),
                &sorted(column_values(&trace, "flows", column)),
                0.0,
                &format!("{profile}: {column}"),
            );
        }
    }
}

/// Long flows cross three queues, others two or one. Each queue has an interface before it and one after it, so a path has up to six.
fn parking_lot(profile: &str, app: &str, duration_s: u64) -> Scenario {
    let text = include_str!("../../../examples/parking_lot.toml");
    let endpoint = "tcp = { profile = \"ns2\", variant = \"reno\", ecn = true, max_rwnd = 64 }";
    assert_eq!(3, text.matches(endpoint).count());
    let text = text.replace(endpoint, &format!("tcp = {{ profile = \"{profile}\", ecn = true, max_rwnd = 64 }}, app = {app}"));
    let text = text.replace(&format!(", app = {app}\n"), &format!("\napp = {app}\n"));
    let lasts = [("duration", format!("\"{duration_s} s\"")), ("measure_from", "\"0 s\"".to_owned())];
    Scenario::from_toml(&text, &lasts.map(|(key, value)| (key.to_owned(), value)), &Registry::builtin(), &no_files).unwrap()
}

/// One-way agents have no handshake, whose packets a run's flow counts and a trace's does not. Only the total of retransmissions is
/// compared: far from the sender a trace cannot always tell their cause.
#[test]
fn a_capture_of_several_queues_gives_back_the_packets_of_the_run() {
    let (run, trace) = over_several_queues("ns2-2001");
    for column in ["sent", "drops", "marks"] {
        let (own, read) = total_columns(&run, &trace, column);
        assert_same(&own, &read, 0.0, column);
        assert!(own[0] > 50.0, "{column}: {own:?}");
    }
    let again = ["retransmitted_fast", "retransmitted_timeout"].map(|column| total_columns(&run, &trace, column));
    let [own, read] = [again.iter().map(|(own, _)| own[0]).sum(), again.iter().map(|(_, read)| read[0]).sum::<f64>()];
    assert_same(&[own], &[read], 0.0, "retransmissions");
}

#[test]
fn a_capture_of_several_queues_gives_back_the_bytes_of_every_flow() {
    let (run, trace) = over_several_queues("rfc");
    for column in ["goodput_bps", "goodput_first_bps", "marks"] {
        assert_same(&sorted(run.report.column_as_reals("flows", column)), &sorted(column_values(&trace, "flows", column)), 0.0, column);
    }
}

/// Runs finite transfers and analyzes the capture; checks each queue's counters.
fn over_several_queues(profile: &str) -> (Run, TraceReport) {
    let scenario = parking_lot(profile, "{ kind = \"file\", bytes = \"150 kB\" }", 60);
    let (run, bytes) =
        run_with_trace(&scenario, TraceSpec { format: TraceFormat::Pcapng { keep: 128, version: IpVersion::V4 }, links: Vec::new() });
    let trace = analyze(&scenario, &bytes, 0);
    for column in ["arrivals", "drops", "marks"] {
        let (own, read) = (sorted(run.report.column_as_reals("queues", column)), sorted(column_values(&trace, "links", column)));
        // The links between the queues are links of the trace too.
        let read = if column == "arrivals" { &read[read.len() - 3..] } else { &read[read.iter().filter(|&&count| count == 0.0).count()..] };
        assert_same(&own, read, 0.0, &format!("{column} of queues"));
    }
    (run, trace)
}

#[test]
fn a_capture_of_several_queues_shows_no_violation_where_there_is_none() {
    let scenario = parking_lot("rfc", "{ kind = \"bulk\" }", 20);
    let (_, bytes) =
        run_with_trace(&scenario, TraceSpec { format: TraceFormat::Pcapng { keep: 128, version: IpVersion::V4 }, links: Vec::new() });
    let verdict = check_report(&bytes);
    assert_eq!(0, verdict.total_counts().violations, "{:?}", verdict.findings.first());
    assert!(verdict.events > 50_000 && verdict.connections == 100, "{} events of {} connections", verdict.events, verdict.connections);
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// A capture of ns-2's agents shows their known departures from RFC 3168 and no others; one of modern hosts shows none.
#[test]
fn a_check_of_a_run_s_capture_finds_the_known_departures_of_its_profile() {
    for (profile, expected) in
        [("ns2", &["half-offer", "ect-on-retransmission", "cwr-on-retransmission"][..]), ("linux", &[]), ("rfc", &[])]
    {
        let links = ["bottleneck", "bottleneck.reverse"].map(str::to_owned).to_vec();
        let (_, bytes) = run_with_trace(
            &network(FILE_APP, profile, 60, 0),
            TraceSpec { format: TraceFormat::Pcapng { keep: 128, version: IpVersion::V4 }, links },
        );
        let verdict = check_report(&bytes);
        assert_eq!(
            0,
            verdict.total_counts().violations,
            "{profile}: {:?}",
            verdict.findings.iter().find(|finding| finding.known.is_none())
        );
        let departures = Rule::ALL.iter().zip(verdict.rule_counts).filter(|(_, count)| count.departures > 0);
        assert_eq!(expected, departures.map(|(rule, _)| rule.word()).collect::<Vec<_>>(), "{profile}");
    }
}
