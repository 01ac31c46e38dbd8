//! What senders and receivers exchange. Sequence numbers count segments; the engine adds flow, size on the path and time.

use ecnlab_units::{Ecn, Time};

/// A data segment as the sender makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Number of the segment, from 0.
    pub seq: u64,
    /// Size on the wire in bytes, headers included.
    pub size: u32,
    pub ecn: Ecn,
    /// The sender has reduced its window (RFC 3168, section 6.1.2).
    pub cwr: bool,
    /// On the first segment: ECN is offered.
    pub ece: bool,
    pub retransmission: bool,
}

/// An acknowledgement as the receiver makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The next segment that the receiver expects; all before it have arrived.
    pub next: u64,
    /// Size on the wire in bytes.
    pub size: u32,
    /// The receiver has seen congestion experienced (RFC 3168, section 6.1.3).
    pub ece: bool,
    /// When the segment that caused this acknowledgement was sent, and whether that was a retransmission.
    pub echo: Time,
    pub echo_retransmission: bool,
}
