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
//! Cases whose course rests on how a build lays out its memory are judged by their totals: see [`judge`].

pub mod case;
mod closed;
mod compare;
mod excerpt;
mod ideal;
mod ledger;
mod receiver;
mod script;
mod sender;
mod settings;
mod totals;
mod written;

use std::collections::BTreeSet;

use ecnlab_transport::Settings;
use ecnlab_units::{Time, words};

use case::{A, B, Case};
use compare::Expected;
use totals::Totals;

pub use compare::Difference;
pub use settings::PROFILE;

words! {
    /// What of a case is ours.
    pub enum Way { Receiver = "receiver", Sender = "sender", Closed = "closed" }
}

impl Way {
    /// The way with this name, if it is one.
    pub fn from_word(word: &str) -> Option<Way> {
        Way::ALL.iter().copied().find(|way| way.word() == word)
    }
}

/// How a case came out in one way.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub name: String,
    pub kind: String,
    pub outcome: Outcome,
    /// Packets that agreed before the first difference, of how many.
    pub agreed: usize,
    pub packets: usize,
    /// Both runs side by side around the first difference.
    pub excerpt: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Every packet is the same.
    Exact,
    /// The totals agree, where no more can be asked for.
    Totals(String),
    Differs(Difference),
    /// This way cannot tell anything about this case.
    NotComparable(String),
    NotBuilt(String),
}

/// Why a case is not judged.
#[derive(Clone, Debug, PartialEq)]
enum Unjudged {
    NotComparable(String),
    NotBuilt(String),
}

/// What became of a run of ours.
struct Judged {
    difference: Option<Difference>,
    packets: usize,
    totals: Option<[Totals; 2]>,
    excerpt: Vec<String>,
}

/// The kind of cases whose receiver tunes its buffer from the first packets on.
const AUTOTUNING: &str = "autotuning";

/// Packets that an autotuning receiver sends before how a build lays out its memory shows.
const ACKS_OF_ANY_BUILD: usize = 100;

/// Reads a case and goes through it in one way.
///
/// # Errors
/// The field that is missing or wrong, if the text is no case.
pub fn judge(text: &str, way: Way) -> Result<Verdict, String> {
    Ok(judge_case(&Case::read(text)?, way))
}

/// Goes through a case in one way.
///
/// Of a case with segmentation offload or of autotuning the totals are judged, and of another one with an autotuning receiver those behind
/// its first 100 acknowledgements.
pub fn judge_case(case: &Case, way: Way) -> Verdict {
    let settings = both_sides(case).and_then(|()| settings::settings(case).map_err(Unjudged::NotBuilt));
    let judged = settings.and_then(|settings| match way {
        Way::Receiver => judge_receiver(case, &settings),
        Way::Sender => Ok(judge_sender(case, settings)),
        Way::Closed => judge_closed(case, settings),
    });
    let (name, kind) = (case.name.clone(), case.kind.clone());
    match judged {
        Err(Unjudged::NotBuilt(why)) => Verdict { name, kind, outcome: Outcome::NotBuilt(why), agreed: 0, packets: 0, excerpt: Vec::new() },
        Err(Unjudged::NotComparable(why)) => {
            Verdict { name, kind, outcome: Outcome::NotComparable(why), agreed: 0, packets: 0, excerpt: Vec::new() }
        }
        Ok(judged) => {
            let agreed = judged.difference.as_ref().map_or(judged.packets, |difference| difference.agreed);
            let packets = judged.packets;
            let (outcome, excerpt) = outcome(case, way, judged);
            Verdict { name, kind, outcome, agreed, packets, excerpt }
        }
    }
}

/// A record tells nothing that lacks one side's packets: resets count for none.
fn both_sides(case: &Case) -> Result<(), Unjudged> {
    match [(A, 'a'), (B, 'b')].into_iter().find(|&(side, _)| case.sent_by(side).next().is_none()) {
        Some((_, side)) => Err(Unjudged::NotComparable(format!("not comparable: the record has no packet of side {side} but resets"))),
        None => Ok(()),
    }
}

/// What a run amounts to: where a difference says nothing, the totals do.
fn outcome(case: &Case, way: Way, judged: Judged) -> (Outcome, Vec<String>) {
    let Some(difference) = judged.difference.map(|difference| with_kernel(case, difference)) else { return (Outcome::Exact, Vec::new()) };
    let acks_before = case.sent_by(B).filter(|packet| packet.sent < difference.time).count();
    match judged.totals.filter(|_| acks_before >= acks_that_count(case, way)) {
        None => (Outcome::Differs(difference), judged.excerpt),
        Some([ours, theirs]) => match totals::first_apart(&ours, &theirs) {
            None => (Outcome::Totals(totals::shown(&ours, &theirs)), Vec::new()),
            Some(apart) => (Outcome::Differs(Difference { what: format!("{apart}; {}", difference.what), ..difference }), judged.excerpt),
        },
    }
}

/// A difference, and whose record it is if that is not the kernel of the profile.
fn with_kernel(case: &Case, difference: Difference) -> Difference {
    let version = PROFILE.trim_start_matches("linux-");
    match case.kernel.as_ref().filter(|kernel| *kernel != version && !kernel.starts_with(&format!("{version}."))) {
        Some(kernel) => {
            Difference { what: format!("{} (the record is of Linux {kernel}, the profile of {version})", difference.what), ..difference }
        }
        None => difference,
    }
}

/// How many times as many packets as the record has ours may send before the run is stopped.
const FAR_TOO_MANY: usize = 10;

/// Most packets that ours may send where the record has so many.
fn most_packets(recorded: usize) -> usize {
    FAR_TOO_MANY * recorded
}

/// A run that was stopped since ours sent far too many packets fails by that, whatever its totals.
fn cut_short(judged: Judged, at: Option<Time>) -> Judged {
    let Some(at) = at else { return judged };
    let what = format!("stopped at {:.3} ms: ours had sent {FAR_TOO_MANY} times as many packets as the record has", at.seconds() * 1e3);
    let difference = match judged.difference {
        Some(first) => Difference { what: format!("{}; {what}", first.what), ..first },
        None => Difference { time: at, agreed: judged.packets, what },
    };
    Judged { difference: Some(difference), totals: None, ..judged }
}

/// How many acknowledgements must have been sent before the totals are all that is judged. To a sender alone the receiver is given.
fn acks_that_count(case: &Case, way: Way) -> usize {
    let is_given = way == Way::Sender;
    match () {
        () if case.tcp.gso || case.kind == AUTOTUNING && !is_given => 0,
        () if case.tcp.receiver == "auto" && !is_given => ACKS_OF_ANY_BUILD,
        () => usize::MAX,
    }
}

fn judge_receiver(case: &Case, settings: &Settings) -> Result<Judged, Unjudged> {
    let ours = receiver::play(case, settings).map_err(Unjudged::NotComparable)?;
    let theirs: Vec<Expected> = case.sent_by(B).map(Expected::as_it_was).collect();
    let difference = compare::packets(&ours, &theirs, shows_window(case));
    let excerpt = difference.as_ref().map(|difference| excerpt::of_side(&ours, &theirs, difference.time));
    let totals = [Totals::of(case, ours.iter()), Totals::of(case, case.sent_by(B))];
    Ok(Judged { difference, packets: theirs.len(), totals: Some(totals), excerpt: excerpt.unwrap_or_default() })
}

fn judge_sender(case: &Case, settings: Settings) -> Judged {
    let played = sender::play(case, settings);
    let theirs: Vec<Expected> = case.sent_by(A).map(Expected::as_it_was).collect();
    let packets = compare::packets(&played.packets, &theirs, false);
    let states = compare::states(&played.states, &case.states);
    let agreed = |time| theirs.iter().filter(|their| their.time < time).count();
    let states = states.map(|difference| Difference { agreed: agreed(difference.time), ..difference });
    let stopped = played.stopped.clone().map(|(time, what)| Difference { time, agreed: agreed(time), what });
    let difference = packets.into_iter().chain(states).chain(stopped).min_by_key(|difference| difference.time);
    let excerpt = difference.as_ref().map(|difference| excerpt::of_sender(case, &played, difference.time));
    let totals = [Totals::of(case, played.packets.iter()), Totals::of(case, case.sent_by(A))];
    let judged = Judged { difference, packets: theirs.len(), totals: Some(totals), excerpt: excerpt.unwrap_or_default() };
    cut_short(judged, played.ran_away)
}

fn judge_closed(case: &Case, settings: Settings) -> Result<Judged, Unjudged> {
    let none = || Unjudged::NotComparable("not comparable: the network was more than the path of a case".to_owned());
    let path = case.path.as_ref().ok_or_else(none)?;
    let (ours, ran_away) = closed::run(case, path, settings).map_err(Unjudged::NotBuilt)?;
    let times = ideal::times(case, path);
    let sent: BTreeSet<u64> = [A, B].into_iter().flat_map(|side| case.sent_by(side)).map(|packet| packet.id).collect();
    let timed = case.packets.iter().zip(times).filter(|(packet, _)| sent.contains(&packet.id));
    let theirs: Vec<Expected> = timed.map(|(packet, time)| Expected { packet, time }).collect();
    let difference = compare::both(&ours, &theirs, shows_window(case));
    let excerpt = difference.as_ref().map(|difference| excerpt::of_both(&ours, &theirs, difference.time));
    let totals = [Totals::of(case, ours.iter()), Totals::of(case, case.packets.iter())];
    Ok(cut_short(Judged { difference, packets: theirs.len(), totals: Some(totals), excerpt: excerpt.unwrap_or_default() }, ran_away))
}

/// Whether the window that is advertised is compared: not where it rests on how a build lays out its memory.
fn shows_window(case: &Case) -> bool {
    case.tcp.receiver != "auto"
}
