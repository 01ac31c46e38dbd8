//! Times one scenario: `ecnlab-bench FILE.toml [path=value ...]` prints one line of JSON.
//!
//! Set-up and run are timed apart; the run's time is that of this process's CPU, so that other load on the machine counts less.

use ecnlab_scenario::{Registry, Scenario};
use ecnlab_sim::{Off, Options, Simulation};
use ecnlab_units::Time;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("usage: ecnlab-bench FILE.toml [path=value ...]");
    let overrides: Vec<_> = arguments.filter_map(|a| a.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned()))).collect();
    let text = std::fs::read_to_string(&file).unwrap_or_else(|why| panic!("{file}: {why}"));
    let start = cpu_seconds();
    let scenario = Scenario::from_toml(&text, &overrides, &Registry::builtin()).unwrap_or_else(|problems| panic!("{file}: {problems:?}"));
    let duration = Time::ZERO + scenario.duration;
    let mut simulation = Simulation::new(&scenario.network, &Options { duration, measure_from: Time::ZERO, seed: 1 }, Off);
    let set_up = cpu_seconds() - start;
    let set_up_bytes = resident_bytes();
    let start = cpu_seconds();
    simulation.advance_to(duration);
    let run_s = cpu_seconds() - start;
    let (finished, _) = simulation.finish();
    let flows = scenario.network.flows.len();
    println!(
        "{}",
        serde_json::json!({
            "flows": flows, "simulated_s": scenario.duration.seconds(), "hops": finished.packet_hops, "events": finished.events,
            "set_up_s": set_up, "run_s": run_s, "ns_per_hop": run_s * 1e9 / finished.packet_hops as f64,
            "set_up_us_per_flow": set_up * 1e6 / flows as f64, "set_up_bytes": set_up_bytes, "peak_bytes": peak_bytes(),
            "utilisation": finished.report.reals("queues", "utilisation")[0], "fingerprint": format!("{:016x}", finished.fingerprint),
        })
    );
}

/// CPU time of this process.
fn cpu_seconds() -> f64 {
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
