//! Verdicts of a user's AQM as integers, the same for plain Python and compiled hooks (`Verdict` in `ecnlab.aqm`).
//!
//! ```text
//! bits 0..4    0 pass, 1 mark, 2 drop
//! bits 4..8    congestion level of a mark
//! bits 8..12   cause
//! bits 12..16  target: 0 the arriving packet, 1 the first markable one of a group or the oldest, 2 the n-th
//! bits 16..48  the group, or n
//! bits 48..63  "ec", so that no other integer is mistaken for a verdict
//! ```

use ecnlab_queue::aqm::{DequeueVerdict, DropTarget, EnqueueVerdict, MarkTarget, SignalCause};
use ecnlab_units::CongestionLevel;

/// Highest bits of every verdict.
const VERDICT_MAGIC: i64 = 0x6563;

/// The verdict that lets a packet pass.
pub const PASS_VERDICT: i64 = VERDICT_MAGIC << 48;

const PASS: i64 = 0;
const MARK: i64 = 1;
const DROP: i64 = 2;

const TARGET_ARRIVING: i64 = 0;
const TARGET_HEAD: i64 = 1;
const TARGET_NTH: i64 = 2;

/// Decodes the verdict on an arrival.
///
/// # Errors
/// If it is not a verdict, or names a group that the AQM does not have.
pub fn decode_enqueue_verdict(code: i64, groups: usize) -> Result<EnqueueVerdict, String> {
    let index = code >> 16 & 0xffff_ffff;
    match (decode_kind(code), code >> 12 & 15) {
        (PASS, TARGET_ARRIVING) => Ok(EnqueueVerdict::Pass),
        (MARK, TARGET_ARRIVING) => {
            Ok(EnqueueVerdict::Signal { level: decode_level(code)?, target: MarkTarget::Arriving, cause: decode_cause(code)? })
        }
        (MARK, TARGET_HEAD) if (0..groups as i64).contains(&index) => Ok(EnqueueVerdict::Signal {
            level: decode_level(code)?,
            target: MarkTarget::FirstUnmarkedOf(index as u8),
            cause: decode_cause(code)?,
        }),
        (MARK, TARGET_HEAD) => Err(format!("unknown group {index}: the class has groups = {groups}")),
        (DROP, TARGET_ARRIVING) => Ok(EnqueueVerdict::Drop { target: DropTarget::Arriving, cause: decode_cause(code)? }),
        (DROP, TARGET_HEAD) => Ok(EnqueueVerdict::Drop { target: DropTarget::Front, cause: decode_cause(code)? }),
        (DROP, TARGET_NTH) => {
            Ok(EnqueueVerdict::Drop { target: DropTarget::QueuedAt(u32::try_from(index).unwrap_or(u32::MAX)), cause: decode_cause(code)? })
        }
        _ => Err(invalid_verdict(code)),
    }
}

/// Decodes the verdict on a departure.
///
/// # Errors
/// If it is not a verdict, or targets another packet than the departing one.
pub fn decode_dequeue_verdict(code: i64) -> Result<DequeueVerdict, String> {
    match (decode_kind(code), code >> 12 & 15) {
        (PASS, TARGET_ARRIVING) => Ok(DequeueVerdict::Pass),
        (MARK, TARGET_ARRIVING) => Ok(DequeueVerdict::Signal { level: decode_level(code)?, cause: decode_cause(code)? }),
        (DROP, TARGET_ARRIVING) => Ok(DequeueVerdict::Drop { cause: decode_cause(code)? }),
        (MARK | DROP, _) => {
            Err("at a departure only the leaving packet can be marked or dropped; fix: leave out group and victim".to_owned())
        }
        _ => Err(invalid_verdict(code)),
    }
}

/// Pass, mark or drop; another value for any other integer.
fn decode_kind(code: i64) -> i64 {
    if code >> 48 == VERDICT_MAGIC { code & 15 } else { -1 }
}

fn decode_level(code: i64) -> Result<CongestionLevel, String> {
    match code >> 4 & 15 {
        0 => Ok(CongestionLevel::Incipient),
        1 => Ok(CongestionLevel::Congested),
        _ => Err(invalid_verdict(code)),
    }
}

fn decode_cause(code: i64) -> Result<SignalCause, String> {
    SignalCause::ALL.get((code >> 8 & 15) as usize).copied().ok_or_else(|| invalid_verdict(code))
}

fn invalid_verdict(code: i64) -> String {
    format!("{code} is not a verdict; fix: return PASS, mark() or drop()")
}
