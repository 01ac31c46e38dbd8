//! Names of a sender's timers, and comparisons of their deadlines.

use ecnlab_units::Time;

/// A timer of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderTimer {
    /// No new data was acknowledged for an RTO (RFC 6298, section 5).
    Retransmission,
    /// RACK reordering timer or tail loss probe timer (RFC 8985, sections 6.2 and 7).
    Recovery,
    /// Persist timer: the receive window stayed too small (RFC 9293, section 3.8.6.1).
    WindowProbe,
    /// Timer for a segment delayed by pacing or by the host's processing time.
    SendGate,
}

/// The earlier of two deadlines.
#[inline]
pub(crate) fn earlier_deadline(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Whether a deadline is reached.
pub(crate) fn is_due(at: Option<Time>, now: Time) -> bool {
    at.is_some_and(|at| at <= now)
}
