//! Times one scenario, or its first queue by itself:
//!
//! ```text
//! ecnlab-bench FILE.toml [path=value ...]          the whole network, one line of JSON
//! ecnlab-bench --no-fast-path FILE.toml [...]      the same with an event for each step of a packet
//! ecnlab-bench --queue FILE.toml [path=value ...]  the queue of its first link, in turn with plain drop-tail
//! ecnlab-bench --trace FILE.toml [path=value ...]  the whole network with a trace of each kind, in turn with none
//! ```
//!
//! Set-up and run are timed apart; the run's time is that of this process's CPU, so that other load on the machine counts less.

mod alone;
mod traces;

use ecnlab_queue::{Child, Limit, QueueConfig};
use ecnlab_scenario::{Registry, Scenario};
use ecnlab_sim::{LinkSpec, NoProbe, PipeOrQueue, RunTimesAndSeed, Simulation};
use ecnlab_units::{Time, Values};
use serde_json::{Value, json};

const USAGE: &str = "usage: ecnlab-bench [--queue | --trace | --no-fast-path] FILE.toml [path=value ...]";
/// How often a queue and drop-tail take turns, and how many packets each takes in at a time.
const REPETITIONS: usize = 7;
const PACKETS_PER_RUN: u64 = 1_000_000;

fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    let queue_alone = arguments.next_if_eq("--queue").is_some();
    let with_traces = arguments.next_if_eq("--trace").is_some();
    let without_fast_path = arguments.next_if_eq("--no-fast-path").is_some();
    let file = arguments.next().expect(USAGE);
    let overrides: Vec<_> = arguments.filter_map(|a| a.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned()))).collect();
    let text = std::fs::read_to_string(&file).unwrap_or_else(|why| panic!("{file}: {why}"));
    let start = cpu_seconds();
    let beside = |name: &str| std::fs::read_to_string(std::path::Path::new(&file).with_file_name(name)).map_err(|why| why.to_string());
    let read = Scenario::from_toml(&text, &overrides, &Registry::builtin(), &beside);
    let scenario = read.unwrap_or_else(|problems| panic!("{file}: {problems:?}"));
    let told = match (queue_alone, with_traces) {
        (true, _) => queue(&scenario.network.links[0]),
        (_, true) => traces::traces(&scenario),
        _ => network(&scenario, start, without_fast_path),
    };
    println!("{told}");
}

/// Times a whole network; `start` is when its file began to be read.
fn network(scenario: &Scenario, start: f64, without_fast_path: bool) -> Value {
    let duration = Time::ZERO + scenario.duration;
    let mut simulation = Simulation::new(&scenario.network, &RunTimesAndSeed { duration, measure_from: Time::ZERO, seed: 1 }, NoProbe);
    if without_fast_path {
        simulation.disable_fast_path();
    }
    let set_up = cpu_seconds() - start;
    let set_up_bytes = resident_bytes();
    let start = cpu_seconds();
    simulation.advance_to(duration);
    let run_s = cpu_seconds() - start;
    let (finished, _) = simulation.finish();
    let grows = scenario.network.apps.iter().any(|app| app.member_template.is_some());
    let came = if grows { finished.report.column_as_reals("total", "transactions")[0] } else { 0.0 };
    let flows = scenario.network.flows.len() + came as usize;
    let of_queue = |column| finished.report.column_as_reals("queues", column)[0];
    json!({
        "flows": flows, "simulated_s": scenario.duration.seconds(), "hops": finished.packet_hops, "events": finished.events,
        "fast_path_share": finished.fast_path_share(),
        "set_up_s": set_up, "run_s": run_s, "ns_per_hop": run_s * 1e9 / finished.packet_hops as f64,
        "set_up_us_per_flow": set_up * 1e6 / flows as f64, "set_up_bytes": set_up_bytes, "peak_bytes": peak_bytes(),
        "utilisation": of_queue("utilisation"), "departures": of_queue("departures"), "marks": of_queue("marks"), "drops": of_queue("drops"),
        "fingerprint": format!("{:016x}", finished.fingerprint),
    })
}

/// Times the queue of a link by itself, in turn with drop-tail in a buffer as large.
fn queue(link: &LinkSpec) -> Value {
    let PipeOrQueue::Queue(spec) = &link.buffer else { panic!("the first link has a measured queue") };
    let entry = Registry::builtin().aqm("droptail").expect("drop-tail is built in");
    let plain = QueueConfig::fifo(entry, Values::defaults(entry.parameters), limit(&spec.config));
    let mut ns = [Vec::new(), Vec::new()];
    let mut work = alone::QueueRun::default();
    for _ in 0..REPETITIONS {
        for (ns, of) in ns.iter_mut().zip([&plain, &spec.config]) {
            let start = cpu_seconds();
            work = alone::run_queue(of, link.rate, PACKETS_PER_RUN);
            ns.push((cpu_seconds() - start) * 1e9 / work.arrived as f64);
        }
    }
    let [plain_ns, ns] = ns;
    let share = |of: u64| of as f64 / work.arrived as f64;
    json!({ "ns": ns, "droptail_ns": plain_ns, "packets": PACKETS_PER_RUN, "marked": share(work.marked), "dropped": share(work.dropped) })
}

/// The limit of the buffer, wherever it stands.
fn limit(of: &QueueConfig) -> Limit {
    match &of.child {
        Child::Aqm { limit, .. } | Child::Buffer { limit } => *limit,
        Child::Queue(inner) => limit(inner),
        Child::Kernel(_) => panic!("a kernel's queue is none of the engine's"),
    }
}

/// CPU time of this process.
pub fn cpu_seconds() -> f64 {
    cpu_time::ProcessTime::now().as_duration().as_secs_f64()
}

fn resident_bytes() -> u64 {
    status("VmRSS:")
}

fn peak_bytes() -> u64 {
    status("VmHWM:")
}

fn status(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("the benchmark reads Linux's /proc");
    let line = text.lines().find(|line| line.starts_with(key)).expect("status names its sizes");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).map_or(0, |kib| kib * 1024)
}
