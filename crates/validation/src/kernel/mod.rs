//! Compares the profile of a real kernel with that kernel, packet by packet.
//!
//! A case is one connection between two hosts of Linux 6.1 over one router with a script, recorded in virtual time. It is gone through in
//! three ways:
//!
//! ```text
//! receiver   the segments that reached the real receiver reach ours: it is to send the same acknowledgements
//! sender     the acknowledgements that reached the real sender reach ours: it is to send the same segments, and to have the same window
//!            and threshold after each acknowledgement
//! closed     both of our ends over the path of the case: every packet of either is to be the same
//! ```
//!
//! Cases whose course rests on how a build lays out its memory are compared by their counters: see [`validate`].

pub mod case;
mod compare;
mod counters;
mod excerpt;
mod ideal_host;
mod loopback;
mod packetdrill;
mod receiver;
mod segment_map;
mod segments;
mod sender;
mod settings;

use std::collections::BTreeSet;

use ecnlab_transport::Settings;
use ecnlab_units::{Time, words};

use case::{A, B, Case};
use compare::Expected;
use counters::Counters;

pub use compare::Difference;
pub use settings::PROFILE;

words! {
    /// What of a case is ours.
    pub enum CaseMode { Receiver = "receiver", Sender = "sender", Closed = "closed" }
}

impl CaseMode {
    /// The way with this name, if it is one.
    pub fn from_word(word: &str) -> Option<CaseMode> {
        CaseMode::ALL.iter().copied().find(|mode| mode.word() == word)
    }
}

/// How a case came out in one way.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseResult {
    pub name: String,
    pub kind: String,
    pub verdict: Verdict,
    /// Packets that agreed before the first difference, of how many.
    pub agreed: usize,
    pub packets: usize,
    /// Both runs side by side around the first difference.
    pub excerpt: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Every packet is the same.
    Exact,
    /// The totals agree, where no more can be asked for.
    CountersAgree(String),
    Differs(Difference),
    /// This way cannot tell anything about this case.
    NotComparable(String),
    NotBuilt(String),
}

/// Why a case is not compared.
#[derive(Clone, Debug, PartialEq)]
enum Skipped {
    NotComparable(String),
    NotBuilt(String),
}

/// What became of a run of ours.
struct Comparison {
    difference: Option<Difference>,
    packets: usize,
    counters: Option<[Counters; 2]>,
    excerpt: Vec<String>,
}

/// The kind of cases whose receiver tunes its buffer from the first packets on.
const AUTOTUNING_KIND: &str = "autotuning";

/// Packets that an autotuning receiver sends before how a build lays out its memory shows.
const BUILD_INDEPENDENT_ACKS: usize = 100;

/// Reads a case and goes through it in one way.
///
/// # Errors
/// The field that is missing or wrong, if the text is no case.
pub fn validate_json(text: &str, mode: CaseMode) -> Result<CaseResult, String> {
    Ok(validate(&Case::read(text)?, mode))
}

/// Goes through a case in one way.
///
/// Of a case with segmentation offload or of autotuning the counters are compared, and of another one with an autotuning receiver those behind
/// its first 100 acknowledgements.
pub fn validate(case: &Case, mode: CaseMode) -> CaseResult {
    let settings = require_packets_of_both_sides(case).and_then(|()| settings::settings(case).map_err(Skipped::NotBuilt));
    let comparison = settings.and_then(|settings| match mode {
        CaseMode::Receiver => compare_receiver(case, &settings),
        CaseMode::Sender => Ok(compare_sender(case, settings)),
        CaseMode::Closed => compare_closed_loop(case, settings),
    });
    let (name, kind) = (case.name.clone(), case.kind.clone());
    match comparison {
        Err(Skipped::NotBuilt(why)) => {
            CaseResult { name, kind, verdict: Verdict::NotBuilt(why), agreed: 0, packets: 0, excerpt: Vec::new() }
        }
        Err(Skipped::NotComparable(why)) => {
            CaseResult { name, kind, verdict: Verdict::NotComparable(why), agreed: 0, packets: 0, excerpt: Vec::new() }
        }
        Ok(comparison) => {
            let agreed = comparison.difference.as_ref().map_or(comparison.packets, |difference| difference.agreed);
            let packets = comparison.packets;
            let (verdict, excerpt) = verdict(case, mode, comparison);
            CaseResult { name, kind, verdict, agreed, packets, excerpt }
        }
    }
}

/// A record tells nothing that lacks one side's packets: resets count for none.
fn require_packets_of_both_sides(case: &Case) -> Result<(), Skipped> {
    match [(A, 'a'), (B, 'b')].into_iter().find(|&(side, _)| case.sent_by(side).next().is_none()) {
        Some((_, side)) => Err(Skipped::NotComparable(format!("not comparable: the record has no packet of side {side} but resets"))),
        None => Ok(()),
    }
}

/// What a run amounts to: where a difference says nothing, the totals do.
fn verdict(case: &Case, mode: CaseMode, comparison: Comparison) -> (Verdict, Vec<String>) {
    let Some(difference) = comparison.difference.map(|difference| name_recorded_kernel(case, difference)) else {
        return (Verdict::Exact, Vec::new());
    };
    let acks_before = case.sent_by(B).filter(|packet| packet.sent < difference.time).count();
    match comparison.counters.filter(|_| acks_before >= min_acks_for_counters(case, mode)) {
        None => (Verdict::Differs(difference), comparison.excerpt),
        Some([ours, theirs]) => match counters::first_apart(&ours, &theirs) {
            None => (Verdict::CountersAgree(counters::shown(&ours, &theirs)), Vec::new()),
            Some(apart) => {
                (Verdict::Differs(Difference { what: format!("{apart}; {}", difference.what), ..difference }), comparison.excerpt)
            }
        },
    }
}

/// A difference, and whose record it is if that is not the kernel of the profile.
fn name_recorded_kernel(case: &Case, difference: Difference) -> Difference {
    let version = PROFILE.trim_start_matches("linux-");
    match case.kernel.as_ref().filter(|kernel| *kernel != version && !kernel.starts_with(&format!("{version}."))) {
        Some(kernel) => {
            Difference { what: format!("{} (the record is of Linux {kernel}, the profile of {version})", difference.what), ..difference }
        }
        None => difference,
    }
}

/// How many times as many packets as the record has ours may send before the run is stopped.
const RUNAWAY_FACTOR: usize = 10;

/// Most packets that ours may send where the record has so many.
fn max_packets(recorded: usize) -> usize {
    RUNAWAY_FACTOR * recorded
}

/// A run that was stopped since ours sent far too many packets fails by that, whatever its counters.
fn fail_if_runaway(comparison: Comparison, at: Option<Time>) -> Comparison {
    let Some(at) = at else { return comparison };
    let what = format!("stopped at {:.3} ms: ours had sent {RUNAWAY_FACTOR} times as many packets as the record has", at.seconds() * 1e3);
    let difference = match comparison.difference {
        Some(first) => Difference { what: format!("{}; {what}", first.what), ..first },
        None => Difference { time: at, agreed: comparison.packets, what },
    };
    Comparison { difference: Some(difference), counters: None, ..comparison }
}

/// How many acknowledgements must have been sent before only counters are compared. To a sender alone the receiver is given.
fn min_acks_for_counters(case: &Case, mode: CaseMode) -> usize {
    let is_given = mode == CaseMode::Sender;
    match () {
        () if case.tcp.gso || case.kind == AUTOTUNING_KIND && !is_given => 0,
        () if case.tcp.receiver == "auto" && !is_given => BUILD_INDEPENDENT_ACKS,
        () => usize::MAX,
    }
}

fn compare_receiver(case: &Case, settings: &Settings) -> Result<Comparison, Skipped> {
    let ours = receiver::play(case, settings).map_err(Skipped::NotComparable)?;
    let theirs: Vec<Expected> = case.sent_by(B).map(Expected::as_it_was).collect();
    let difference = compare::packets(&ours, &theirs, is_window_compared(case));
    let excerpt = difference.as_ref().map(|difference| excerpt::of_side(&ours, &theirs, difference.time));
    let counters = [Counters::of(case, ours.iter()), Counters::of(case, case.sent_by(B))];
    Ok(Comparison { difference, packets: theirs.len(), counters: Some(counters), excerpt: excerpt.unwrap_or_default() })
}

fn compare_sender(case: &Case, settings: Settings) -> Comparison {
    let played = sender::play(case, settings);
    let theirs: Vec<Expected> = case.sent_by(A).map(Expected::as_it_was).collect();
    let packets = compare::packets(&played.packets, &theirs, false);
    let states = compare::states(&played.states, &case.states);
    let agreed = |time| theirs.iter().filter(|their| their.time < time).count();
    let states = states.map(|difference| Difference { agreed: agreed(difference.time), ..difference });
    let stopped = played.stopped.clone().map(|(time, what)| Difference { time, agreed: agreed(time), what });
    let difference = packets.into_iter().chain(states).chain(stopped).min_by_key(|difference| difference.time);
    let excerpt = difference.as_ref().map(|difference| excerpt::of_sender(case, &played, difference.time));
    let counters = [Counters::of(case, played.packets.iter()), Counters::of(case, case.sent_by(A))];
    let comparison = Comparison { difference, packets: theirs.len(), counters: Some(counters), excerpt: excerpt.unwrap_or_default() };
    fail_if_runaway(comparison, played.runaway)
}

fn compare_closed_loop(case: &Case, settings: Settings) -> Result<Comparison, Skipped> {
    let none = || Skipped::NotComparable("not comparable: the network was more than the path of a case".to_owned());
    let path = case.path.as_ref().ok_or_else(none)?;
    let (ours, runaway) = loopback::run(case, path, settings).map_err(Skipped::NotBuilt)?;
    let times = ideal_host::times(case, path);
    let sent: BTreeSet<u64> = [A, B].into_iter().flat_map(|side| case.sent_by(side)).map(|packet| packet.id).collect();
    let timed = case.packets.iter().zip(times).filter(|(packet, _)| sent.contains(&packet.id));
    let theirs: Vec<Expected> = timed.map(|(packet, time)| Expected { packet, time }).collect();
    let difference = compare::both(&ours, &theirs, is_window_compared(case));
    let excerpt = difference.as_ref().map(|difference| excerpt::of_both(&ours, &theirs, difference.time));
    let counters = [Counters::of(case, ours.iter()), Counters::of(case, case.packets.iter())];
    Ok(fail_if_runaway(
        Comparison { difference, packets: theirs.len(), counters: Some(counters), excerpt: excerpt.unwrap_or_default() },
        runaway,
    ))
}

/// Whether the window that is advertised is compared: not where it rests on how a build lays out its memory.
fn is_window_compared(case: &Case) -> bool {
    case.tcp.receiver != "auto"
}
