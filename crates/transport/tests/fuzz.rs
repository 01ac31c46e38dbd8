//! Fuzz of every variant and profile with any settings under random patterns of loss, marks, duplication and reordering. The transfer must
//! end, all data must arrive once and in order, and no sender may send more than its window.
//!
//! The cases are the same in every run; `PROPTEST_RNG_SEED` and `PROPTEST_CASES` select others.

mod harness;

use ecnlab_units::{CongestionLevel, EcnSemantics, Rate, Span};
use harness::cases::{self, ProfileCase};
use harness::network::{TransferPlan, run_transfer};
use harness::oracle::check_invariants;
use harness::path::{PacketFilter, Path, PathAction, PathScript};
use harness::show::render_table;
use harness::{at, millis};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Number of packets of a direction that a script may affect; afterwards the path is clean.
const MAX_SCRIPTED_PACKETS: u64 = 150;

/// Takes about one second.
const CASES: u32 = 5_000;

type Members = Vec<(&'static str, String)>;

fn action(data: bool) -> impl Strategy<Value = PathAction> {
    let late = (0u64..600).prop_map(|by| PathAction::Delay(millis(by)));
    let twice = (0u64..600).prop_map(|after| PathAction::Duplicate(millis(after)));
    let marks = if data { 4 } else { 0 };
    prop_oneof![
        6 => Just(PathAction::Drop),
        marks => Just(PathAction::Mark(CongestionLevel::Congested)),
        marks / 2 => Just(PathAction::Mark(CongestionLevel::Incipient)),
        2 => late,
        1 => twice,
        1 => Just(PathAction::Bleach),
        1 => Just(PathAction::ClearFlags),
    ]
}

/// Single packets, ranges of packets, and every packet with a probability.
fn path_script(data: bool) -> impl Strategy<Value = PathScript> {
    let single = (0..MAX_SCRIPTED_PACKETS, action(data)).prop_map(|(index, action)| vec![(PacketFilter::Index(index), action)]);
    let near = (0u64..40, action(data)).prop_map(|(index, action)| vec![(PacketFilter::Index(index), action)]);
    let several = (0u64..60, 1u64..20, action(data))
        .prop_map(|(from, count, action)| (from..from + count).map(|i| (PacketFilter::Index(i), action)).collect());
    prop::collection::vec(prop_oneof![3 => single, 3 => near, 1 => several], 0..14).prop_map(|parts: Vec<PathScript>| parts.concat())
}

fn path() -> impl Strategy<Value = Path> {
    let rate = prop_oneof![Just(None), (100_000u64..100_000_000).prop_map(Rate::from_bps), Just(Rate::from_bps(10_000_000_000))];
    (1u64..300, rate, path_script(true), path_script(false), any::<bool>()).prop_map(|(delay, rate, data, acks, mecn)| {
        let ecn_semantics = if mecn { EcnSemantics::Mecn } else { EcnSemantics::Classic };
        Path { delay: millis(delay), rate, data, acks, ecn_semantics }
    })
}

fn plan() -> impl Strategy<Value = TransferPlan> {
    let later = prop::collection::vec((0u64..20_000, 1u64..40), 0..3);
    (1u64..100, later, path()).prop_map(|(segments, mut later, path)| {
        later.sort_unstable();
        let later = later.into_iter().map(|(time, segments)| (at(time), segments)).collect();
        TransferPlan { later, ..TransferPlan::new(segments, path) }
    })
}

fn flag_members() -> impl Strategy<Value = Members> {
    const FLAGS: &[&str] = &[
        "ecn",
        "delayed_ack",
        "limited_transmit",
        "single_fast_retransmit",
        "inflate_in_recovery_only",
        "pacing",
        "prr",
        "tlp",
        "dsack",
        "timestamps",
        "repeated_rto_keeps_ssthresh",
        "ece_response_after_rto",
        "rto_keeps_ecn_ssthresh",
        "cwr_on_retransmission",
        "cwr_on_highest_packet",
        "cwr_without_ecn",
        "count_dupacks_when_idle",
        "first_packet_offers_ecn",
        "ece_on_ect_only",
        "delay_dup_acks",
        "ect_on_retransmission",
        "receiver_ecn",
        "handshake_rtt_sample",
        "fin_on_data",
        "coalesce_writes",
        "nagle",
        "timer_wheel",
        "integer_cwnd",
        "undo",
        "frto",
        "gso",
        "dctcp_ect_on_all_packets",
        "fin",
        "comp_sack",
        "pingpong",
        "window_scaling",
    ];
    prop::collection::vec((prop::sample::select(FLAGS), any::<bool>().prop_map(|on| on.to_string())), 0..12)
}

fn choice_members() -> impl Strategy<Value = Members> {
    let choice =
        |name: &'static str, words: &'static [&'static str]| prop::sample::select(words).prop_map(move |word| (name, word.to_owned()));
    let one = prop_oneof![
        choice("recovery", &["tahoe", "reno", "newreno", "sack1", "vegas", "sack", "fack", "rack"]),
        choice("congestion_control", &["reno", "aimd", "cubic", "vegas"]),
        choice("ssthresh_rounding", &["exact", "integer", "real"]),
        choice("hystart", &["off", "hystart++", "hystart"]),
        choice("cwnd_increase", &["per-ack", "per-segment"]),
        choice("reduce_from", &["cwnd", "flight"]),
        choice("rto_timer_restart", &["after-sample", "before-sample", "rfc6298"]),
        choice("rto_estimator", &["ticks", "rfc6298", "linux", "linux-2.0", "linux-2.2"]),
        choice("ecn_response", &["none", "halve", "abe"]),
        choice("partial_ack_timer", &["every", "first"]),
        choice("max_rwnd", &["1", "2", "3", "4", "8", "20", "64"]),
        choice("initial_window", &["1", "2", "4", "10"]),
        choice("dupthresh", &["1", "2", "3", "5"]),
        choice("sack_blocks", &["0", "1", "2", "3", "4"]),
        choice("delayed_ack_rule", &["fixed", "arrivals", "quickack"]),
        choice("delayed_ack_time", &["1 ms", "40 ms", "500 ms"]),
        choice("syn_rtx_rto", &["rfc6298", "sample"]),
        choice("slow_start_after_idle", &["off", "initial", "halve"]),
        choice("cwnd_validation", &["off", "flight", "largest-flight"]),
        choice("max_burst", &["0", "1", "3"]),
        choice("min_cwnd", &["0", "1", "2"]),
        choice("prr_bound", &["ssrb", "safe-ack"]),
        choice("prr_divisor", &["cwnd", "flight"]),
        choice("ecn_reduction", &["immediate", "prr"]),
        choice("tick", &["0.000001 s", "1 ms", "4 ms", "10 ms", "0.1 s"]),
        choice("max_quickacks", &["0", "1", "16"]),
        choice("receive_window", &["unlimited", "fixed", "autotuned"]),
        choice("receive_buffer", &["4608 B", "10000 B", "16384 B", "65536 B", "262144 B"]),
        choice("receive_buffer_max", &["262144 B", "1000000 B"]),
        choice("app_read_size", &["1000 B", "4096 B"]),
        choice("app_read_pause", &["0 s", "0.1 s"]),
    ];
    prop::collection::vec(one, 0..8)
}

fn case() -> impl Strategy<Value = ProfileCase> {
    (prop::sample::select(cases::all_cases()), flag_members(), choice_members()).prop_filter_map(
        "settings contradict each other",
        |(case, flags, choices)| {
            // A reader that never resumes would block the transfer.
            let resumes = choices.iter().any(|(name, _)| *name == "app_read_pause").then(|| ("app_read_resume", "2 s".to_owned()));
            let members: Members = flags.into_iter().chain(choices).chain(resumes).collect();
            let members: Vec<(&str, &str)> = members.iter().map(|(name, text)| (*name, text.as_str())).collect();
            case.with(&members)
        },
    )
}

/// Upper bound of the transfer's end: one maximum RTO per line of the script, and one RTT per segment.
fn transfer_time_bound(case: &ProfileCase, plan: &TransferPlan) -> Span {
    let hurts = (plan.path.data.len() + plan.path.acks.len() + 12) as u64;
    let segments = plan.segments + plan.later.iter().map(|(_, segments)| segments).sum::<u64>() + 20;
    (case.settings.quirks.rto_max + Span::from_secs(5)) * hurts + Span::from_secs(segments * 4) + Span::from_secs(20)
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
        let plan = TransferPlan { until: at(0) + transfer_time_bound(&case, &plan), ..plan };
        let run = run_transfer(&case.settings, &plan);
        let verdict = check_invariants(&case.settings, &run);
        prop_assert!(verdict.is_ok(), "{}\n{}", verdict.unwrap_err(), render_table(&run, 60));
    }
}
