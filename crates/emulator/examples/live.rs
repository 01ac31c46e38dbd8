//! Runs a scenario in front of this machine's kernel, as root: `cargo run --example live -- FILE [SEED] [PATH=VALUE ...]`. Prints its tables.
//! With `ECNLAB_CAPTURE=FILE.pcapng` the packets before and behind its measured queues go there.

use std::io::Write;

use ecnlab_emulator::address::AddressFamily;
use ecnlab_emulator::event_loop::TimeMode;
use ecnlab_emulator::run::{CaptureOptions, RunError, RunOptions, probe_kernel, run};
use ecnlab_emulator::sys::process;
use ecnlab_scenario::{Registry, Scenario, no_files};
use ecnlab_units::table::Table;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = std::fs::read_to_string(&arguments[0]).expect("a scenario");
    let seed = arguments.get(1).map_or(1, |seed| seed.parse().expect("a seed"));
    let overrides: Vec<_> = arguments.iter().skip(2).filter_map(|set| set.split_once('=')).map(|(a, b)| (a.into(), b.into())).collect();
    let scenario = Scenario::from_toml(&text, &overrides, &Registry::builtin(), &no_files).expect("a sound scenario");
    let file = std::env::var_os("ECNLAB_CAPTURE").map(|path| std::fs::File::create(path).expect("a file that can be written"));
    let capture = file.map(|file| CaptureOptions { links: Vec::new(), snaplen: u32::MAX, out: Box::new(file) });
    let options = RunOptions {
        seed,
        kernel: probe_kernel("live", true),
        family: AddressFamily::V4,
        time_mode: TimeMode::Real,
        priority: Some(process::REALTIME_PRIORITY),
        lateness_budget: None,
        capture,
        record_connections: false,
    };
    match run(&scenario, options, &mut |_| false) {
        Ok(outcome) => {
            outcome.run.report.tables.iter().for_each(|(name, table)| show(name, table));
            println!("{}", serde_json::to_string_pretty(&outcome.metadata.json()).expect("a record"));
        }
        Err(RunError::Unsupported(problems)) => problems.iter().for_each(|problem| eprintln!("{}: {}", problem.place, problem.message)),
        Err(other) => eprintln!("{other:?}"),
    }
}

fn show(name: &str, table: &Table) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{name}: {table:?}\n").expect("somebody reads");
}
