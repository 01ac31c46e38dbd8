//! Any pattern of loss, marks, duplication and reordering, on every variant and profile with any settings: the transfer ends, everything
//! arrives once and in order, and nobody sends more than the window allows.
//!
//! The cases are the same in every run; `PROPTEST_RNG_SEED` and `PROPTEST_CASES` choose others.

mod harness;

use ecnlab_units::{Dialect, Level, Rate, Span};
use harness::cases::{self, Case};
use harness::network::{Plan, run};
use harness::oracle::judge;
use harness::path::{Deed, Path, Pick, Script};
use harness::show::table;
use harness::{at, millis};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Packets of a direction that a script may touch; afterwards the path is clean.
const HURT: u64 = 150;

/// About a second.
const CASES: u32 = 5_000;

type Members = Vec<(&'static str, String)>;

fn deed(data: bool) -> impl Strategy<Value = Deed> {
    let late = (0u64..600).prop_map(|by| Deed::Delay(millis(by)));
    let twice = (0u64..600).prop_map(|after| Deed::Duplicate(millis(after)));
    let marks = if data { 4 } else { 0 };
    prop_oneof![
        6 => Just(Deed::Drop),
        marks => Just(Deed::Mark(Level::Congested)),
        marks / 2 => Just(Deed::Mark(Level::Incipient)),
        2 => late,
        1 => twice,
        1 => Just(Deed::Bleach),
        1 => Just(Deed::ClearFlags),
    ]
}

/// Single packets, runs of packets, and every packet with a chance.
fn script(data: bool) -> impl Strategy<Value = Script> {
    let single = (0..HURT, deed(data)).prop_map(|(index, deed)| vec![(Pick::Index(index), deed)]);
    let near = (0u64..40, deed(data)).prop_map(|(index, deed)| vec![(Pick::Index(index), deed)]);
    let several =
        (0u64..60, 1u64..20, deed(data)).prop_map(|(from, count, deed)| (from..from + count).map(|i| (Pick::Index(i), deed)).collect());
    prop::collection::vec(prop_oneof![3 => single, 3 => near, 1 => several], 0..14).prop_map(|parts: Vec<Script>| parts.concat())
}

fn path() -> impl Strategy<Value = Path> {
    let rate = prop_oneof![Just(None), (100_000u64..100_000_000).prop_map(Rate::from_bps), Just(Rate::from_bps(10_000_000_000))];
    (1u64..300, rate, script(true), script(false), any::<bool>()).prop_map(|(delay, rate, data, acks, mecn)| {
        let dialect = if mecn { Dialect::Mecn } else { Dialect::Classic };
        Path { delay: millis(delay), rate, data, acks, dialect }
    })
}

fn plan() -> impl Strategy<Value = Plan> {
    let later = prop::collection::vec((0u64..20_000, 1u64..40), 0..3);
    (1u64..100, later, path()).prop_map(|(segments, mut later, path)| {
        later.sort_unstable();
        let later = later.into_iter().map(|(time, segments)| (at(time), segments)).collect();
        Plan { later, ..Plan::new(segments, path) }
    })
}

fn flags() -> impl Strategy<Value = Members> {
    const FLAGS: &[&str] = &[
        "ecn",
        "delayed_ack",
        "limited_transmit",
        "single_fast_retransmit",
        "strict_inflation",
        "pacing",
        "prr",
        "tlp",
        "dsack",
        "timestamps",
        "threshold_once",
        "mark_after_timeout",
        "mark_spares_later_timeouts",
        "cwr_on_retransmission",
        "cwr_on_highest",
        "cwr_without_ecn",
        "duplicates_when_idle",
        "first_packet_offers_ecn",
        "echo_on_capable_only",
        "delay_repeated",
        "ect_on_retransmission",
        "receiver_ecn",
        "handshake_sample",
        "fin_on_data",
        "join_writes",
        "nagle",
        "timer_wheel",
        "whole_window",
        "undo",
        "frto",
        "gso",
        "dctcp_ect_on_all",
        "fin",
        "compressed_sacks",
        "interactive",
        "window_scaling",
    ];
    prop::collection::vec((prop::sample::select(FLAGS), any::<bool>().prop_map(|on| on.to_string())), 0..12)
}

fn choices() -> impl Strategy<Value = Members> {
    let choice =
        |name: &'static str, words: &'static [&'static str]| prop::sample::select(words).prop_map(move |word| (name, word.to_owned()));
    let one = prop_oneof![
        choice("recovery", &["tahoe", "reno", "newreno", "sack1", "vegas", "sack", "fack", "rack"]),
        choice("congestion", &["reno", "aimd", "cubic", "vegas"]),
        choice("halving", &["exact", "integer", "real"]),
        choice("hystart", &["off", "plus-plus", "train-delay"]),
        choice("growth", &["acks", "segments"]),
        choice("cut_from", &["window", "flight"]),
        choice("timer_restart", &["after-sample", "before-sample", "rfc6298"]),
        choice("estimator", &["ticks", "rfc6298", "linux", "linux-2.0", "linux-2.2"]),
        choice("response", &["none", "halve", "abe"]),
        choice("partial_ack_timer", &["every", "first"]),
        choice("max_window", &["1", "2", "3", "4", "8", "20", "64"]),
        choice("initial_window", &["1", "2", "4", "10"]),
        choice("duplicate_threshold", &["1", "2", "3", "5"]),
        choice("sack_blocks", &["0", "1", "2", "3", "4"]),
        choice("delayed_ack_rule", &["fixed", "arrivals", "quick"]),
        choice("delayed_ack_time", &["1 ms", "40 ms", "500 ms"]),
        choice("lost_syn", &["rfc6298", "sample"]),
        choice("idle_restart", &["off", "initial", "halve"]),
        choice("window_validation", &["off", "flight", "largest-flight"]),
        choice("max_burst", &["0", "1", "3"]),
        choice("min_window", &["0", "1", "2"]),
        choice("prr_bound", &["slow-start", "safe-ack"]),
        choice("prr_of", &["window", "flight"]),
        choice("mark_reduction", &["at-once", "prr"]),
        choice("tick", &["0.000001 s", "1 ms", "4 ms", "10 ms", "0.1 s"]),
        choice("quick_acks", &["0", "1", "16"]),
        choice("receive_window", &["any", "fixed", "autotuned"]),
        choice("receive_buffer", &["4608 B", "10000 B", "100000 B"]),
    ];
    prop::collection::vec(one, 0..8)
}

fn case() -> impl Strategy<Value = Case> {
    (prop::sample::select(cases::all()), flags(), choices()).prop_filter_map("settings contradict each other", |(case, flags, choices)| {
        let members: Members = flags.into_iter().chain(choices).collect();
        let members: Vec<(&str, &str)> = members.iter().map(|(name, text)| (*name, text.as_str())).collect();
        case.with(&members)
    })
}

/// A time by which the path is clean and everything must have arrived: as many of the longest timeouts as the script has lines, and one
/// round trip for each segment.
fn bound(case: &Case, plan: &Plan) -> Span {
    let hurts = (plan.path.data.len() + plan.path.acks.len() + 12) as u64;
    let segments = plan.segments + plan.later.iter().map(|(_, segments)| segments).sum::<u64>() + 20;
    (case.settings.rto_max + Span::from_secs(5)) * hurts + Span::from_secs(segments * 4) + Span::from_secs(20)
}

fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    let rng_seed = if config.rng_seed == RngSeed::Random { RngSeed::Fixed(1) } else { config.rng_seed };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { config.cases } else { CASES };
    ProptestConfig { cases, rng_seed, failure_persistence: None, max_shrink_iters: 20_000, ..config }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_transfer_ends_and_no_window_is_overrun(case in case(), plan in plan()) {
        let plan = Plan { until: at(0) + bound(&case, &plan), ..plan };
        let run = run(&case.settings, &plan);
        let verdict = judge(&case.settings, &run);
        prop_assert!(verdict.is_ok(), "{}\n{}", verdict.unwrap_err(), table(&run, 60));
    }
}
