//! What the adapters of users' AQMs share, in Python and in JavaScript: the code of a verdict, declared parameters, and messages.
//!
//! ```text
//! bits 0..4    0 pass, 1 mark, 2 drop
//! bits 4..8    congestion level of a mark
//! bits 8..12   cause
//! bits 12..16  target: 0 the arriving packet, 1 the first markable one of a group or the oldest, 2 the n-th
//! bits 16..48  the group, or n
//! ```

use std::fmt::Display;

use ecnlab_units::{CongestionLevel, Kind, Parameter, Span, Time, Values};

use crate::aqm::entry::Contradictions;
use crate::aqm::{DequeueVerdict, DropTarget, EnqueueVerdict, MarkTarget, PacketInfo, SignalCause};

const PASS: u64 = 0;
const MARK: u64 = 1;
const DROP: u64 = 2;

const TARGET_ARRIVING: u64 = 0;
const TARGET_HEAD: u64 = 1;
const TARGET_NTH: u64 = 2;

/// Largest whole number below which a double has all whole numbers.
const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;
const DEFAULT_MAX_PARAMETER_TIME_S: f64 = 1e7;

/// The verdict of a code about an arriving packet.
///
/// # Errors
/// If the answer of the AQM has no code, or its code is none of a verdict.
pub fn decode_enqueue_verdict(code: Option<u64>, answer: impl Display, groups: usize) -> Result<EnqueueVerdict, String> {
    let code = code.ok_or_else(|| invalid_verdict(&answer))?;
    let index = code >> 16;
    let (level, cause) = (|| decode_level(code, &answer), || decode_cause(code, &answer));
    let mark = |target| Ok(EnqueueVerdict::Signal { level: level()?, target, cause: cause()? });
    let drop = |target| Ok(EnqueueVerdict::Drop { target, cause: cause()? });
    match (code & 15, code >> 12 & 15) {
        (PASS, TARGET_ARRIVING) => Ok(EnqueueVerdict::Pass),
        (MARK, TARGET_ARRIVING) => mark(MarkTarget::Arriving),
        (MARK, TARGET_HEAD) if index < groups as u64 => mark(MarkTarget::FirstUnmarkedOf(index as u8)),
        (MARK, TARGET_HEAD) => Err(unknown_group(index, groups)),
        (DROP, TARGET_ARRIVING) => drop(DropTarget::Arriving),
        (DROP, TARGET_HEAD) => drop(DropTarget::Front),
        (DROP, TARGET_NTH) => drop(DropTarget::QueuedAt(index as u32)),
        _ => Err(invalid_verdict(answer)),
    }
}

/// The verdict of a code about a departing packet.
///
/// # Errors
/// As for an arriving packet, and if it names another packet than the departing one.
pub fn decode_dequeue_verdict(code: Option<u64>, answer: impl Display) -> Result<DequeueVerdict, String> {
    let code = code.ok_or_else(|| invalid_verdict(&answer))?;
    match (code & 15, code >> 12 & 15) {
        (PASS, TARGET_ARRIVING) => Ok(DequeueVerdict::Pass),
        (MARK, TARGET_ARRIVING) => Ok(DequeueVerdict::Signal { level: decode_level(code, &answer)?, cause: decode_cause(code, answer)? }),
        (DROP, TARGET_ARRIVING) => Ok(DequeueVerdict::Drop { cause: decode_cause(code, answer)? }),
        (MARK | DROP, _) => {
            Err("at a departure only the leaving packet can be marked or dropped; fix: leave out group and victim".to_owned())
        }
        _ => Err(invalid_verdict(answer)),
    }
}

fn decode_level(code: u64, answer: impl Display) -> Result<CongestionLevel, String> {
    match code >> 4 & 15 {
        0 => Ok(CongestionLevel::Incipient),
        1 => Ok(CongestionLevel::Congested),
        _ => Err(invalid_verdict(answer)),
    }
}

fn decode_cause(code: u64, answer: impl Display) -> Result<SignalCause, String> {
    SignalCause::ALL.get((code >> 8 & 15) as usize).copied().ok_or_else(|| invalid_verdict(answer))
}

fn invalid_verdict(answer: impl Display) -> String {
    format!("{answer} is not a verdict; fix: return PASS, mark() or drop()")
}

/// Message for a group that the class does not have.
pub fn unknown_group(group: impl Display, groups: usize) -> String {
    let fix = groups.checked_sub(1).map_or("give the class groups".to_owned(), |last| format!("give a group from 0 to {last}"));
    format!("unknown group {group}: the class has groups = {groups}; fix: {fix}")
}

/// A packet in a message.
pub fn packet_text(packet: &PacketInfo) -> String {
    format!("a packet of {} bytes of flow {}", packet.size, packet.flow)
}

/// The time of a deadline in seconds, which must be later than now; `none` is the language's word for no deadline.
///
/// # Errors
/// If it is no time, or in the past.
pub fn parse_deadline(due_s: f64, now: Option<Time>, none: &str) -> Result<Time, String> {
    let due = Span::from_secs_f64(due_s).map(|span| Time::ZERO + span);
    let due =
        due.ok_or_else(|| format!("the deadline {due_s} s is not a time; fix: give seconds since the start of the run, or {none}"))?;
    match now {
        Some(now) if due <= now => {
            let now_s = now.seconds();
            Err(format!(
                "the deadline {due_s} s is not later than now, {now_s} s; fix: give a later time since the start of the run, or {none}"
            ))
        }
        _ => Ok(due),
    }
}

/// The lowest level that a class declares to mark at, where its parameter `ecn` does not disable marks.
///
/// # Errors
/// If there is no such level.
pub fn lowest_mark_fn(marks: Option<&str>, none: &str) -> Result<fn(&Values) -> Option<CongestionLevel>, String> {
    match marks {
        None => Ok(|_| None),
        Some("congested") => Ok(|values| is_ecn_enabled(values).then_some(CongestionLevel::Congested)),
        Some("incipient") => Ok(|values| is_ecn_enabled(values).then_some(CongestionLevel::Incipient)),
        Some(other) => Err(format!("marks = {other:?} must be \"congested\", \"incipient\" or {none}")),
    }
}

fn is_ecn_enabled(values: &Values) -> bool {
    let switch = values.parameters().iter().find(|parameter| parameter.name == "ecn" && parameter.kind == Kind::Flag);
    switch.is_none_or(|switch| values.get_as(switch.name))
}

/// What a user's check found: of a parameter that there is, or else of the first one.
pub fn name_contradictions(parameters: &'static [Parameter], found: impl IntoIterator<Item = (String, String)>) -> Contradictions {
    let named = |name: &str| parameters.iter().find(|parameter| parameter.name == name).unwrap_or(&parameters[0]).name;
    found.into_iter().map(|(name, why)| (named(&name), why)).collect()
}

/// The kind of a declared parameter. Bounds that are left out are the kind's own.
///
/// # Errors
/// If a bound is not a time.
pub fn parse_kind(
    kind: &str,
    name: &str,
    [min, max]: [Option<f64>; 2],
    unit: &'static str,
    choices: Vec<&'static str>,
) -> Result<Kind, String> {
    let seconds = |bound: f64| Span::from_secs_f64(bound).ok_or_else(|| format!("{name}: the bound {bound} s is not a time"));
    Ok(match kind {
        "number" => Kind::Number { min: min.unwrap_or(f64::NEG_INFINITY), max: max.unwrap_or(f64::INFINITY), unit },
        "count" => Kind::Count { min: min.unwrap_or(0.0) as u64, max: max.unwrap_or(MAX_EXACT_INTEGER) as u64, unit },
        "time" => Kind::Span { min: seconds(min.unwrap_or(0.0))?, max: seconds(max.unwrap_or(DEFAULT_MAX_PARAMETER_TIME_S))? },
        "rate" => Kind::Rate,
        "flag" => Kind::Flag,
        "choice" => Kind::Choice(choices.leak()),
        _ => Kind::Text,
    })
}

/// The parameter, if its default is valid.
///
/// # Errors
/// If it is not.
pub fn check_default(parameter: Parameter) -> Result<Parameter, String> {
    parameter.parse(parameter.default).map_err(|why| format!("{}: its default is invalid: {why}", parameter.name))?;
    Ok(parameter)
}
