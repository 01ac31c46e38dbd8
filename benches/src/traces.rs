//! Cost of tracing: a network with all of its links traced in each format, the output discarded, in turn with the same network without.

use ecnlab_scenario::Scenario;
use ecnlab_sim::measures::Column;
use ecnlab_sim::{IpVersion, NoProbe, Probe, RunTimesAndSeed, Simulation, TraceFormat, TraceSpec, Tracer};
use ecnlab_units::Time;
use serde_json::{Map, Value, json};

use crate::cpu_seconds;

/// Events of the engine between two looks at the output.
const SLICE_EVENTS: u64 = 1 << 13;
const REPETITIONS: usize = 5;
const FORMATS: [(&str, TraceFormat); 3] =
    [("ns2", TraceFormat::Ns2), ("pcapng", TraceFormat::Pcapng { keep: 128, version: IpVersion::V4 }), ("table", TraceFormat::Table)];

/// For each form, turn by turn, how many times as long the run takes as without a trace, and nanoseconds for each event in the trace.
pub fn traces(scenario: &Scenario) -> Value {
    let (all, seen) = count_events(scenario);
    let of = |form| if matches!(form, TraceFormat::Pcapng { .. }) { seen } else { all };
    FORMATS.iter().map(|&(name, form)| (name.to_owned(), tracing_cost(scenario, form, of(form)))).collect::<Map<_, _>>().into()
}

fn tracing_cost(scenario: &Scenario, form: TraceFormat, events: u64) -> Value {
    let turns: Vec<_> = (0..REPETITIONS)
        .map(|_| (run_timed(scenario, NoProbe, |_| ()), run_timed(scenario, tracer(scenario, form), discard_output)))
        .collect();
    let ratios: Vec<_> = turns.iter().map(|(plain, traced)| traced / plain).collect();
    let ns: Vec<_> = turns.iter().map(|(plain, traced)| (traced - plain) * 1e9 / events as f64).collect();
    json!({ "ratio": ratios, "ns_per_event": ns, "events": events })
}

/// Of all links.
fn tracer(scenario: &Scenario, format: TraceFormat) -> Tracer {
    Tracer::new(TraceSpec { format, links: scenario.network.links.iter().map(|link| link.name.display_name()).collect() })
}

fn discard_output(tracer: &mut Tracer) {
    drop(tracer.drain_rows_if_at_least(1));
    if let Some(bytes) = tracer.bytes_mut() {
        bytes.clear();
    }
}

/// Seconds that a run takes; the probe is emptied between two slices.
fn run_timed<P: Probe>(scenario: &Scenario, probe: P, mut between_slices: impl FnMut(&mut P)) -> f64 {
    let duration = Time::ZERO + scenario.duration;
    let mut simulation = Simulation::new(&scenario.network, &RunTimesAndSeed { duration, measure_from: Time::ZERO, seed: 1 }, probe);
    let start = cpu_seconds();
    while !simulation.advance_with_event_limit(duration, SLICE_EVENTS) {
        between_slices(simulation.probe_mut());
    }
    cpu_seconds() - start
}

/// Events on all links, and those among them that a capture shows.
fn count_events(scenario: &Scenario) -> (u64, u64) {
    let (mut all, mut seen) = (0, 0);
    run_timed(scenario, tracer(scenario, TraceFormat::Table), |tracer| {
        let Some(table) = tracer.drain_rows_if_at_least(1) else { return };
        all += table.height() as u64;
        if let Column::Name { index, names } = table.column("event") {
            seen += index.iter().filter(|&&at| matches!(&*names[at as usize], "enqueued" | "dequeued")).count() as u64;
        }
    });
    (all, seen)
}
