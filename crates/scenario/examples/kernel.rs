//! Plays the cases of a folder and prints the first difference of each.
//!
//!     cargo run -p ecnlab-scenario --profile tests --example kernel -- DIR [--way receiver|sender|closed] [--case NAME]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use ecnlab_scenario::kernel::case::{A, B, Case, Packet};
use ecnlab_scenario::kernel::compare::{self, Expected};
use ecnlab_scenario::kernel::sender::Played;
use ecnlab_scenario::kernel::{closed, ideal, receiver, sender, settings};
use ecnlab_transport::Settings;
use ecnlab_units::Time;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| arguments.iter().position(|argument| argument == name).map(|at| arguments[at + 1].clone());
    let (only, way) = (option("--case"), option("--way").unwrap_or("sender".to_owned()));
    let mut files: Vec<PathBuf> = std::fs::read_dir(&arguments[0]).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let (mut exact, mut all) = (0, 0);
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        if only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        all += 1;
        exact += usize::from(judge(&name, &file, &way, only.is_some()));
    }
    println!("{way}: {exact} of {all} exact");
}

fn judge(name: &str, file: &Path, way: &str, shows: bool) -> bool {
    let case = Case::read(&std::fs::read_to_string(file).unwrap()).unwrap_or_else(|why| panic!("{name}: {why}"));
    let judged = settings::settings(&case).and_then(|settings| {
        let way = match way {
            "closed" => judge_closed,
            "receiver" => judge_receiver,
            _ => judge_sender,
        };
        catch_unwind(AssertUnwindSafe(|| way(name, &case, settings, shows))).unwrap_or(Err("PANIC".to_owned()))
    });
    judged.unwrap_or_else(|why| {
        println!("{name:30} {why}");
        false
    })
}

fn judge_closed(name: &str, case: &Case, settings: Settings, shows: bool) -> Result<bool, String> {
    let ours = closed::run(case, settings)?;
    let times = ideal::times(case);
    let late = case.packets.iter().zip(&times).map(|(packet, &time)| packet.sent.since(time).seconds() * 1e6).fold(0.0, f64::max);
    let theirs: Vec<Expected> = case.packets.iter().zip(times).map(|(packet, time)| Expected { packet, time }).collect();
    let difference = compare::both(&ours, &theirs, false);
    let agreed = difference.as_ref().map_or(theirs.len(), |d| d.agreed);
    println!("{name:30} packets {agreed:4}/{:4} late {late:.0} us", theirs.len());
    if let Some(difference) = &difference {
        println!("    {:9.3} ms {}", difference.time.seconds() * 1e3, difference.what);
        if shows {
            for side in [A, B] {
                let theirs: Vec<_> = theirs.iter().filter(|their| their.packet.side == side).collect();
                let ours: Vec<_> = ours.iter().filter(|our| our.side == side).collect();
                let at = theirs.partition_point(|their| their.time < difference.time);
                for at in at.saturating_sub(20)..at + 30 {
                    let (their, our) = (theirs.get(at).map(|their| their.packet), ours.get(at).copied());
                    let text = |packet: Option<&Packet>| packet.map_or(String::new(), compare::line);
                    println!("    {:<100} | {}", text(their), text(our));
                }
                println!();
            }
        }
    }
    Ok(difference.is_none())
}

fn judge_receiver(name: &str, case: &Case, settings: Settings, shows: bool) -> Result<bool, String> {
    let ours = receiver::play(case, &settings)?;
    let theirs: Vec<Expected> = case.sent_by(B).map(|packet| Expected { packet, time: packet.sent }).collect();
    let difference = compare::packets(&ours, &theirs, case.tcp.receiver != "auto");
    let agreed = difference.as_ref().map_or(theirs.len(), |d| d.agreed);
    println!("{name:30} packets {agreed:4}/{:4}", theirs.len());
    if let Some(difference) = &difference {
        println!("    {:9.3} ms {}", difference.time.seconds() * 1e3, difference.what);
        if shows {
            for at in agreed.saturating_sub(10)..agreed + 20 {
                let (their, our) = (theirs.get(at).map(|their| their.packet), ours.get(at));
                let text = |packet: Option<&Packet>| packet.map_or(String::new(), compare::line);
                println!("    {:<100} | {}", text(their), text(our));
            }
        }
    }
    Ok(difference.is_none())
}

fn judge_sender(name: &str, case: &Case, settings: Settings, shows: bool) -> Result<bool, String> {
    let played = sender::play(case, settings);
    let theirs: Vec<Expected> = case.sent_by(A).map(|packet| Expected { packet, time: packet.sent }).collect();
    let packets = compare::packets(&played.packets, &theirs, false);
    let states = compare::states(&played.states, &case.states);
    let count = |found: &Option<compare::Difference>, all: usize| format!("{:4}/{all:4}", found.as_ref().map_or(all, |d| d.agreed));
    println!("{name:30} packets {} states {}", count(&packets, theirs.len()), count(&states, played.states.len()));
    for difference in packets.iter().chain(&states) {
        println!("    {:9.3} ms {}", difference.time.seconds() * 1e3, difference.what);
    }
    if let Some(why) = played.stopped.as_ref().filter(|_| packets.is_none() && states.is_none()) {
        println!("    stopped: {why}");
    }
    if shows {
        show(case, &played, packets.as_ref().or(states.as_ref()));
    }
    Ok(packets.is_none() && states.is_none() && played.stopped.is_none())
}

/// Both runs side by side around a difference, with what reached the sender between.
fn show(case: &Case, played: &Played, difference: Option<&compare::Difference>) {
    let Some(difference) = difference else { return };
    let width = 60e-3;
    let near = |time: Time| (time.seconds() - difference.time.seconds()).abs() < width;
    let mut lines: Vec<(u64, u8, String)> = Vec::new();
    let theirs: Vec<&Packet> = case.sent_by(A).collect();
    for at in 0..theirs.len().max(played.packets.len()) {
        let (their, our) = (theirs.get(at), played.packets.get(at));
        let Some(time) = their.map(|packet| packet.sent).or(our.map(|packet| packet.sent)).filter(|&time| near(time)) else { continue };
        let text = |packet: Option<&Packet>| packet.map_or(String::new(), compare::line);
        lines.push((time.picos(), 1, format!("    > {:<60} | {}", text(their.copied()), text(our))));
    }
    for packet in case.reached(A) {
        let Some(time) = packet.arrives.filter(|&time| near(time)) else { continue };
        let at = case.states.iter().position(|state| state.packet == Some(packet.id));
        let state = at.map_or(String::new(), |at| state_line(case, played, at));
        lines.push((time.picos(), 0, format!("  {:9.3} < #{} {}{state}", time.seconds() * 1e3, packet.id, compare::line(packet))));
    }
    for (at, state) in case.states.iter().enumerate().filter(|(_, state)| state.why == "timer" && near(state.time)) {
        lines.push((state.time.picos(), 0, format!("  {:9.3} timer {}", state.time.seconds() * 1e3, state_line(case, played, at))));
    }
    lines.sort();
    lines.iter().for_each(|(.., line)| println!("{line}"));
}

fn state_line(case: &Case, played: &Played, at: usize) -> String {
    let their = &case.states[at];
    let ours = played.states.iter().find(|shown| shown.state == at);
    let ours = ours.map_or(String::new(), |our| format!(" | ours {} {}", our.cwnd, our.ssthresh.map_or("-".into(), |s| s.to_string())));
    format!("  window {} {}{ours}", their.cwnd, their.ssthresh.map_or("-".into(), |s| s.to_string()))
}
