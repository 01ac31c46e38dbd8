//! With Accurate ECN the marks that the receiver counted are those that the sender knows of, whichever packets were lost and marked on the way.

#[path = "harness/mod.rs"]
mod harness;

use ecnlab_units::{CongestionLevel, Rate, Rng, Span};
use harness::cases::{self, ProfileCase};
use harness::network::{TransferPlan, run_transfer};
use harness::path::{PacketFilter, Path, PathAction};

/// With timestamps a duplicate ACK is known to be newer than the last.
const ACCURATE: &[(&str, &str)] = &[("handshake", "three-way"), ("ecn", "true"), ("ecn_echo", "accurate"), ("timestamps", "true")];
const SEEDS: u64 = 12;
const SEGMENTS: u64 = 300;

/// Random marks on data, in runs, and random losses of data and of ACKs; the last ACKs arrive. Packets are more than a millisecond apart, the
/// unit of timestamps: of duplicate ACKs of one millisecond only the first is known to be newer, and more than seven marks would be lost.
fn random_path(rng: &mut Rng, loses_acks: bool) -> Path {
    let mut path = Path { rate: Rate::from_bps(5_000_000), ..Path::clean() };
    path.delay = Span::from_millis(5 + rng.below(50));
    for _ in 0..rng.below(20) {
        let first = 1 + rng.below(SEGMENTS);
        for seq in first..first + rng.below(30) {
            path = path.data(PacketFilter::Number(seq, 1), PathAction::Mark(CongestionLevel::Congested));
        }
    }
    for _ in 0..rng.below(6) {
        path = path.data(PacketFilter::Number(1 + rng.below(SEGMENTS - 20), 1), PathAction::Drop);
    }
    for _ in 0..if loses_acks { rng.below(10) } else { 0 } {
        let first = 2 + rng.below(SEGMENTS / 2);
        for index in first..first + rng.below(4) {
            path = path.acks(PacketFilter::Index(index), PathAction::Drop);
        }
    }
    path
}

fn hosts() -> impl Iterator<Item = ProfileCase> {
    cases::all_cases().into_iter().filter_map(|case| case.with(&[ACCURATE, &[("max_rwnd", "64")]].concat()))
}

#[test]
fn marks_received_are_the_marks_that_the_sender_knows_of() {
    let (mut runs, mut marks, mut wrong) = (0, 0, Vec::new());
    for case in hosts() {
        for seed in 0..SEEDS {
            let plan = TransferPlan::new(SEGMENTS, random_path(&mut Rng::for_role(seed, "path"), false));
            let run = run_transfer(&case.settings, &plan);
            (runs, marks) = (runs + 1, marks + run.received_ce);
            if run.reported_ce != run.received_ce {
                wrong.push(format!("{} seed {seed}: {} received, {} known", case.name(), run.received_ce, run.reported_ce));
            }
        }
    }
    assert!(runs > 100 && marks > 1000, "{runs} runs with {marks} marks");
    assert!(wrong.is_empty(), "{} of {runs} runs:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn where_acknowledgements_are_lost_no_mark_is_missing() {
    let (mut runs, mut wrong) = (0, Vec::new());
    for case in hosts() {
        for seed in 100..100 + SEEDS {
            let plan = TransferPlan::new(SEGMENTS, random_path(&mut Rng::for_role(seed, "path"), true));
            let run = run_transfer(&case.settings, &plan);
            runs += 1;
            if run.reported_ce < run.received_ce {
                wrong.push(format!("{} seed {seed}: {} received, {} known", case.name(), run.received_ce, run.reported_ce));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {runs} runs:\n{}", wrong.len(), wrong.join("\n"));
}
