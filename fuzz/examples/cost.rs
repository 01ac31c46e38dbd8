//! Executes a target on the files of folders, ROUNDS times each, and prints what an execution takes: `cost TARGET ROUNDS FOLDER...`.

use std::time::Instant;

fn main() {
    let mut args = std::env::args().skip(1);
    let name = args.next().expect("a target");
    let rounds: u32 = args.next().expect("rounds").parse().expect("a number");
    let target = ecnlab_fuzz::TARGETS.iter().find(|target| target.name == name).expect("a target");
    target.prepare();
    let mut inputs = Vec::new();
    for folder in args {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            inputs.push((std::fs::read(&path).expect("a file"), path));
        }
    }
    let (mut slowest, start) = (Vec::new(), Instant::now());
    for (data, path) in &inputs {
        let begin = Instant::now();
        let mut held = 0;
        for _ in 0..rounds {
            held = target.execute(data);
        }
        slowest.push((begin.elapsed().as_micros() / u128::from(rounds), held, data.len(), path));
    }
    println!("{name}: {} us an execution", start.elapsed().as_micros() / u128::from(rounds) / inputs.len() as u128);
    slowest.sort();
    for one in slowest.iter().rev().take(4) {
        println!("    {} us, {} bytes held, {} of input: {}", one.0, one.1, one.2, one.3.display());
    }
}
