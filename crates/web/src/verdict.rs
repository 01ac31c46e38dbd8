//! Verdicts of an AQM in JavaScript as numbers: those of `ecnlab.Verdict` in Python without its highest bits, so that a double holds them.
//!
//! ```text
//! bits 0..4    0 pass, 1 mark, 2 drop
//! bits 4..8    congestion level of a mark
//! bits 8..12   cause
//! bits 12..16  target: 0 the arriving packet, 1 the first markable one of a group or the oldest, 2 the n-th
//! bits 16..48  the group, or n
//! ```

use ecnlab_queue::aqm::{DequeueVerdict, DropTarget, EnqueueVerdict, MarkTarget, SignalCause};
use ecnlab_units::CongestionLevel;

const PASS: u64 = 0;
const MARK: u64 = 1;
const DROP: u64 = 2;

const TARGET_ARRIVING: u64 = 0;
const TARGET_HEAD: u64 = 1;
const TARGET_NTH: u64 = 2;

const MAX_CODE: f64 = (1_u64 << 48) as f64;

/// Decodes the verdict on an arrival.
///
/// # Errors
/// If it is not a verdict, or names a group that the AQM does not have.
pub fn enqueue_verdict(answer: f64, groups: usize) -> Result<EnqueueVerdict, String> {
    let code = code(answer)?;
    let index = code >> 16;
    match (code & 15, code >> 12 & 15) {
        (PASS, TARGET_ARRIVING) => Ok(EnqueueVerdict::Pass),
        (MARK, TARGET_ARRIVING) => Ok(EnqueueVerdict::Signal { level: level(code)?, target: MarkTarget::Arriving, cause: cause(code)? }),
        (MARK, TARGET_HEAD) if index < groups as u64 => {
            Ok(EnqueueVerdict::Signal { level: level(code)?, target: MarkTarget::FirstUnmarkedOf(index as u8), cause: cause(code)? })
        }
        (MARK, TARGET_HEAD) => Err(format!("unknown group {index}: the class has groups = {groups}")),
        (DROP, TARGET_ARRIVING) => Ok(EnqueueVerdict::Drop { target: DropTarget::Arriving, cause: cause(code)? }),
        (DROP, TARGET_HEAD) => Ok(EnqueueVerdict::Drop { target: DropTarget::Front, cause: cause(code)? }),
        (DROP, TARGET_NTH) => Ok(EnqueueVerdict::Drop { target: DropTarget::QueuedAt(index as u32), cause: cause(code)? }),
        _ => Err(invalid(answer)),
    }
}

/// Decodes the verdict on a departure.
///
/// # Errors
/// If it is not a verdict, or targets another packet than the departing one.
pub fn dequeue_verdict(answer: f64) -> Result<DequeueVerdict, String> {
    let code = code(answer)?;
    match (code & 15, code >> 12 & 15) {
        (PASS, TARGET_ARRIVING) => Ok(DequeueVerdict::Pass),
        (MARK, TARGET_ARRIVING) => Ok(DequeueVerdict::Signal { level: level(code)?, cause: cause(code)? }),
        (DROP, TARGET_ARRIVING) => Ok(DequeueVerdict::Drop { cause: cause(code)? }),
        (MARK | DROP, _) => {
            Err("at a departure only the leaving packet can be marked or dropped; fix: leave out group and victim".to_owned())
        }
        _ => Err(invalid(answer)),
    }
}

fn code(answer: f64) -> Result<u64, String> {
    if answer.fract() == 0.0 && (0.0..MAX_CODE).contains(&answer) { Ok(answer as u64) } else { Err(invalid(answer)) }
}

fn level(code: u64) -> Result<CongestionLevel, String> {
    match code >> 4 & 15 {
        0 => Ok(CongestionLevel::Incipient),
        1 => Ok(CongestionLevel::Congested),
        _ => Err(invalid(code as f64)),
    }
}

fn cause(code: u64) -> Result<SignalCause, String> {
    SignalCause::ALL.get((code >> 8 & 15) as usize).copied().ok_or_else(|| invalid(code as f64))
}

fn invalid(answer: f64) -> String {
    format!("{answer} is not a verdict; fix: return PASS, mark() or drop()")
}
