//! Verdicts of a user's AQM as integers, the same for plain Python and compiled hooks (`Verdict` in `ecnlab.aqm`): those of
//! [`user_aqm`](ecnlab_queue::user_aqm), with "ec" in bits 48..63, so that no other integer is mistaken for a verdict.

use ecnlab_queue::user_aqm;
use ecnlab_queue::{DequeueVerdict, EnqueueVerdict};

/// "ec", in ASCII.
const VERDICT_MAGIC: i64 = 0x6563;

/// The verdict of most calls.
pub const PASS_VERDICT: i64 = VERDICT_MAGIC << 48;

/// # Errors
/// If the code is not a verdict about an arriving packet.
pub fn decode_enqueue_verdict(code: i64, groups: usize) -> Result<EnqueueVerdict, String> {
    user_aqm::decode_enqueue_verdict(without_magic(code), code, groups)
}

/// # Errors
/// If the code is not a verdict about a departing packet.
pub fn decode_dequeue_verdict(code: i64) -> Result<DequeueVerdict, String> {
    user_aqm::decode_dequeue_verdict(without_magic(code), code)
}

fn without_magic(code: i64) -> Option<u64> {
    (code >> 48 == VERDICT_MAGIC).then_some((code ^ PASS_VERDICT) as u64)
}
