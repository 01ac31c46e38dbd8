//! Verdicts of an AQM in JavaScript as numbers: those of [`user_aqm`](ecnlab_queue::user_aqm), which a double holds.

use ecnlab_queue::user_aqm;
use ecnlab_queue::{DequeueVerdict, EnqueueVerdict};

const MAX_CODE: f64 = (1_u64 << 48) as f64;

/// # Errors
/// If the answer is not a verdict about an arriving packet.
pub fn enqueue_verdict(answer: f64, groups: usize) -> Result<EnqueueVerdict, String> {
    user_aqm::decode_enqueue_verdict(code(answer), answer, groups)
}

/// # Errors
/// If the answer is not a verdict about a departing packet.
pub fn dequeue_verdict(answer: f64) -> Result<DequeueVerdict, String> {
    user_aqm::decode_dequeue_verdict(code(answer), answer)
}

fn code(answer: f64) -> Option<u64> {
    (answer.fract() == 0.0 && (0.0..MAX_CODE).contains(&answer)).then_some(answer as u64)
}
