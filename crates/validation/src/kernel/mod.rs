//! Compares the profile of a real kernel with that kernel, packet by packet.
//!
//! A case is one connection between two hosts of Linux 6.1 or 7.2 over one router with a script, recorded in virtual time. It is compared in
//! three modes:
//!
//! ```text
//! receiver   the segments that reached the real receiver reach ours, which must send the same acknowledgements
//! sender     the acknowledgements that reached the real sender reach ours, which must send the same segments and have the same window
//!            and threshold after each acknowledgement
//! closed     both of our ends over the path of the case: every packet of either must be the same
//! ```
//!
//! Cases that depend on how a build lays out its memory are compared by their counters: see [`validate`].
//!
//! Modules import in one direction: json < case < segment_map < segments, script_rule, settings, compare, counters, ideal_host < receiver,
//! sender, closed_loop < excerpt.

pub mod case;
mod closed_loop;
mod compare;
mod counters;
mod excerpt;
mod ideal_host;
mod json;
mod receiver;
mod script_rule;
mod segment_map;
mod segments;
mod sender;
mod settings;

use std::collections::BTreeSet;

use ecnlab_transport::TcpSettings;
use ecnlab_units::{Time, words};

use case::{Case, Side};
use compare::{ExpectedPacket, RUNAWAY_FACTOR};
use counters::CaseCounters;

pub use compare::Difference;
pub(crate) use segment_map::{SegmentBoundaries, SegmentMap};
pub use settings::{NEWER_PROFILE, PROFILE};

words! {
    /// The ends of a case that are ours.
    pub enum CaseMode { Receiver = "receiver", Sender = "sender", Closed = "closed" }
}

impl CaseMode {
    /// The mode with this name.
    pub fn from_word(word: &str) -> Option<CaseMode> {
        CaseMode::ALL.iter().copied().find(|mode| mode.word() == word)
    }
}

/// The result of a case in one mode.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseResult {
    pub name: String,
    pub kind: String,
    pub verdict: Verdict,
    /// Packets that agreed before the first difference.
    pub agreed: usize,
    pub packets: usize,
    /// Both runs side by side around the first difference.
    pub excerpt: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Every packet is the same.
    Exact,
    /// The counters agree, in a case that depends on the kernel's build.
    CountersAgree(String),
    Differs(Difference),
    /// The case cannot be compared in this mode.
    NotComparable(String),
    NotBuilt(String),
}

/// The difference of a run of ours from the record.
struct Comparison {
    difference: Option<Difference>,
    packets: usize,
    counters: Option<[CaseCounters; 2]>,
    excerpt: Vec<String>,
}

impl Comparison {
    /// With the excerpt around the time of the difference.
    fn new(
        difference: Option<Difference>,
        packets: usize,
        counters: [CaseCounters; 2],
        excerpt_at: impl FnOnce(Time) -> Vec<String>,
    ) -> Comparison {
        let excerpt = difference.as_ref().map(|difference| excerpt_at(difference.time)).unwrap_or_default();
        Comparison { difference, packets, counters: Some(counters), excerpt }
    }
}

/// The kind of cases whose receiver tunes its buffer from the first packets on.
const AUTOTUNING_KIND: &str = "autotuning";

/// Acknowledgements of an autotuning receiver that do not depend on how a build lays out its memory.
const BUILD_INDEPENDENT_ACKS: usize = 100;

/// Reads a case and compares it in one mode.
///
/// # Errors
/// The missing or wrong field, if the text is not a case.
pub fn validate_case_from_json(text: &str, mode: CaseMode) -> Result<CaseResult, String> {
    Ok(validate(&Case::from_json_text(text)?, mode))
}

/// Compares a case in one mode.
///
/// A case with segmentation offload or of autotuning is compared by its counters, another one with an autotuning receiver by those behind its
/// first 100 acknowledgements.
pub fn validate(case: &Case, mode: CaseMode) -> CaseResult {
    let settings = require_packets_from_both_hosts(case).and_then(|()| settings::settings_of_case(case).map_err(Verdict::NotBuilt));
    let comparison = settings.and_then(|settings| match mode {
        CaseMode::Receiver => compare_receiver(case, &settings),
        CaseMode::Sender => Ok(compare_sender(case, settings)),
        CaseMode::Closed => compare_closed_loop(case, settings),
    });
    let (name, kind) = (case.name.clone(), case.kind.clone());
    match comparison {
        Err(verdict) => CaseResult { name, kind, verdict, agreed: 0, packets: 0, excerpt: Vec::new() },
        Ok(comparison) => {
            let agreed = comparison.difference.as_ref().map_or(comparison.packets, |difference| difference.agreed);
            let packets = comparison.packets;
            let (verdict, excerpt) = decide_verdict(case, mode, comparison);
            CaseResult { name, kind, verdict, agreed, packets, excerpt }
        }
    }
}

/// Skips a record that lacks one side's packets; resets do not count.
fn require_packets_from_both_hosts(case: &Case) -> Result<(), Verdict> {
    match Side::BOTH.into_iter().find(|&side| case.sent_by(side).next().is_none()) {
        Some(side) => Err(Verdict::NotComparable(format!("not comparable: the record has no packet of side {} but resets", side.letter()))),
        None => Ok(()),
    }
}

/// The verdict on a comparison: counters decide where a difference may depend on the kernel's build.
fn decide_verdict(case: &Case, mode: CaseMode, comparison: Comparison) -> (Verdict, Vec<String>) {
    let Some(difference) = comparison.difference.map(|difference| name_recorded_kernel(case, difference)) else {
        return (Verdict::Exact, Vec::new());
    };
    let acks_before = case.sent_by(Side::B).filter(|packet| packet.sent < difference.time).count();
    match comparison.counters.filter(|_| acks_before >= min_acks_before_counters_only(case, mode)) {
        None => (Verdict::Differs(difference), comparison.excerpt),
        Some([ours, theirs]) => match counters::first_counter_difference(&ours, &theirs) {
            None => (Verdict::CountersAgree(counters::format_all_counters(&ours, &theirs)), Vec::new()),
            Some(apart) => {
                (Verdict::Differs(Difference { what: format!("{apart}; {}", difference.what), ..difference }), comparison.excerpt)
            }
        },
    }
}

/// Adds the recorded kernel to a difference, if it is not the profile's.
fn name_recorded_kernel(case: &Case, difference: Difference) -> Difference {
    let version = settings::profile_of(case).trim_start_matches("linux-");
    match case.kernel.as_ref().filter(|kernel| *kernel != version && !kernel.starts_with(&format!("{version}."))) {
        Some(kernel) => {
            Difference { what: format!("{} (the record is of Linux {kernel}, the profile of {version})", difference.what), ..difference }
        }
        None => difference,
    }
}

/// Fails a run that was stopped because our hosts sent far too many packets, regardless of its counters.
fn fail_if_runaway(comparison: Comparison, at: Option<Time>) -> Comparison {
    let Some(at) = at else { return comparison };
    let what = format!("stopped at {:.3} ms: ours had sent {RUNAWAY_FACTOR} times as many packets as the record has", at.seconds() * 1e3);
    let difference = match comparison.difference {
        Some(first) => Difference { what: format!("{}; {what}", first.what), ..first },
        None => Difference { time: at, agreed: comparison.packets, what },
    };
    Comparison { difference: Some(difference), counters: None, ..comparison }
}

/// Acknowledgements that must have been sent before only counters are compared. A sender alone has the recorded receiver.
fn min_acks_before_counters_only(case: &Case, mode: CaseMode) -> usize {
    let has_recorded_receiver = mode == CaseMode::Sender;
    match () {
        () if case.tcp.gso || case.kind == AUTOTUNING_KIND && !has_recorded_receiver => 0,
        () if case.tcp.receiver == "auto" && !has_recorded_receiver => BUILD_INDEPENDENT_ACKS,
        () => usize::MAX,
    }
}

fn compare_receiver(case: &Case, settings: &TcpSettings) -> Result<Comparison, Verdict> {
    let ours = receiver::replay(case, settings).map_err(Verdict::NotComparable)?;
    let theirs: Vec<ExpectedPacket> = case.sent_by(Side::B).map(ExpectedPacket::at_recorded_time).collect();
    let difference = compare::first_packet_difference(&ours, &theirs, is_window_compared(case));
    let counters = [CaseCounters::of(case, ours.iter()), CaseCounters::of(case, case.sent_by(Side::B))];
    Ok(Comparison::new(difference, theirs.len(), counters, |at| excerpt::of_side(&ours, &theirs, at)))
}

fn compare_sender(case: &Case, settings: TcpSettings) -> Comparison {
    let played = sender::replay(case, settings);
    let theirs: Vec<ExpectedPacket> = case.sent_by(Side::A).map(ExpectedPacket::at_recorded_time).collect();
    let packets = compare::first_packet_difference(&played.packets, &theirs, false);
    let states = compare::first_state_difference(&played.states, &case.states);
    let agreed = |time| theirs.iter().filter(|their| their.time < time).count();
    let states = states.map(|difference| Difference { agreed: agreed(difference.time), ..difference });
    let stopped = played.stopped.clone().map(|(time, what)| Difference { time, agreed: agreed(time), what });
    let difference = packets.into_iter().chain(states).chain(stopped).min_by_key(|difference| difference.time);
    let counters = [CaseCounters::of(case, played.packets.iter()), CaseCounters::of(case, case.sent_by(Side::A))];
    let comparison = Comparison::new(difference, theirs.len(), counters, |at| excerpt::sender_inputs_and_packets(case, &played, at));
    fail_if_runaway(comparison, played.runaway)
}

fn compare_closed_loop(case: &Case, settings: TcpSettings) -> Result<Comparison, Verdict> {
    let none = || Verdict::NotComparable("not comparable: the network was more than the path of a case".to_owned());
    let path = case.path.as_ref().ok_or_else(none)?;
    let paced = settings.pacing;
    let (ours, runaway) = closed_loop::run(case, path, settings).map_err(Verdict::NotBuilt)?;
    let times = ideal_host::ideal_send_times(case, path, paced);
    let sent: BTreeSet<u64> = Side::BOTH.into_iter().flat_map(|side| case.sent_by(side)).map(|packet| packet.id).collect();
    let timed = case.packets.iter().zip(times).filter(|(packet, _)| sent.contains(&packet.id));
    let theirs: Vec<ExpectedPacket> = timed.map(|(packet, time)| ExpectedPacket { packet, time }).collect();
    let difference = compare::first_difference_of_both_sides(&ours, &theirs, is_window_compared(case));
    let counters = [CaseCounters::of(case, ours.iter()), CaseCounters::of(case, case.packets.iter())];
    Ok(fail_if_runaway(Comparison::new(difference, theirs.len(), counters, |at| excerpt::of_both(&ours, &theirs, at)), runaway))
}

/// Whether the advertised window is compared: not where it depends on how a build lays out its memory.
fn is_window_compared(case: &Case) -> bool {
    case.tcp.receiver != "auto"
}
