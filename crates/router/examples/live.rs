//! Runs a scenario in front of this machine's kernel, as root: `cargo run --example live -- FILE [SEED] [PATH=VALUE ...]`. Prints its tables.
//! With `ECNLAB_CAPTURE=FILE.pcapng` the packets before and behind its measured queues go there.

use std::io::Write;

use ecnlab_router::address::Family;
use ecnlab_router::drive::Pace;
use ecnlab_router::run::{Capture, Refused, RunOptions, kernel, run};
use ecnlab_router::sys::process;
use ecnlab_scenario::{Registry, Scenario, no_files};
use ecnlab_units::table::Table;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = std::fs::read_to_string(&arguments[0]).expect("a scenario");
    let seed = arguments.get(1).map_or(1, |seed| seed.parse().expect("a seed"));
    let overrides: Vec<_> = arguments.iter().skip(2).filter_map(|set| set.split_once('=')).map(|(a, b)| (a.into(), b.into())).collect();
    let scenario = Scenario::from_toml(&text, &overrides, &Registry::builtin(), &no_files).expect("a sound scenario");
    let file = std::env::var_os("ECNLAB_CAPTURE").map(|path| std::fs::File::create(path).expect("a file that can be written"));
    let capture = file.map(|file| Capture { links: Vec::new(), keep: u32::MAX, out: Box::new(file) });
    let options = RunOptions {
        seed,
        kernel: kernel("live", true),
        family: Family::V4,
        pace: Pace::Real,
        priority: Some(process::PRIORITY),
        budget: None,
        capture,
        cases: false,
    };
    match run(&scenario, options, &mut |_| false) {
        Ok(outcome) => {
            outcome.run.report.tables.iter().for_each(|(name, table)| show(name, table));
            println!("{}", serde_json::to_string_pretty(&outcome.about.json()).expect("a record"));
        }
        Err(Refused::Asked(problems)) => problems.iter().for_each(|problem| eprintln!("{}: {}", problem.place, problem.message)),
        Err(other) => eprintln!("{other:?}"),
    }
}

fn show(name: &str, table: &Table) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{name}: {table:?}\n").expect("somebody reads");
}
