//! The timers of a sender by name, and which of several deadlines comes first.

use ecnlab_units::Time;

/// What wakes a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderTimer {
    /// Nothing new was acknowledged for a retransmission timeout (RFC 6298, section 5).
    Retransmission,
    /// Recovery's own: segments are late enough to be lost, or a tail loss probe is due (RFC 8985, sections 6.2 and 7).
    Recovery,
    /// The receiver's window has stayed too small for a while (RFC 9293, section 3.8.6.1).
    WindowProbe,
    /// A segment may leave that pacing or the host's processing time has held back.
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

/// Whether a deadline has come.
pub(crate) fn is_due(at: Option<Time>, now: Time) -> bool {
    at.is_some_and(|at| at <= now)
}
