//! Judges the cases of a folder in one way, as `ecnlab validate linux` does.
//!
//!     cargo run -p ecnlab-scenario --profile tests --example kernel -- DIR [--way receiver|sender|closed] [--case NAME]

use std::panic::catch_unwind;
use std::path::PathBuf;

use ecnlab_scenario::kernel::{Outcome, Way, judge};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| arguments.iter().position(|argument| argument == name).map(|at| arguments[at + 1].clone());
    let way = option("--way").unwrap_or("sender".to_owned());
    let mut files: Vec<PathBuf> = std::fs::read_dir(&arguments[0]).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.retain(|file| option("--case").is_none_or(|only| file.to_string_lossy().contains(&only)));
    let exact = files.iter().filter(|file| is_exact(&std::fs::read_to_string(file).unwrap(), &way, option("--case").is_some())).count();
    println!("{way}: {exact} of {} exact", files.len());
}

fn is_exact(text: &str, way: &str, shows: bool) -> bool {
    let way = Way::from_word(way).unwrap();
    let Ok(verdict) = catch_unwind(|| judge(text, way).unwrap()) else { return false };
    print!("{:30} {:>4}/{:<4} ", verdict.name, verdict.agreed, verdict.packets);
    match &verdict.outcome {
        Outcome::Exact => println!("exact"),
        Outcome::Totals(totals) => println!("totals: {totals}"),
        Outcome::NotComparable(why) => println!("not comparable: {why}"),
        Outcome::NotBuilt(why) => println!("{why}"),
        Outcome::Differs(difference) => println!("{:.3} ms {}", difference.time.seconds() * 1e3, difference.what),
    }
    if shows {
        verdict.excerpt.iter().for_each(|row| println!("    {row}"));
    }
    verdict.outcome == Outcome::Exact
}
