//! One file per active queue management algorithm, and the words in which they speak.

pub mod aecn;
pub mod droptail;
pub mod mark_front;
pub mod red;

use ecnlab_units::{Level, Rng, Span, Time};

/// What an AQM may know about an arriving packet and the queue that it meets.
#[derive(Clone, Copy, Debug)]
pub struct Glimpse<'a> {
    pub now: Time,
    /// Size on the wire in bytes.
    pub size: u32,
    /// The round-trip time that the packet carries or the router measured; zero if unknown.
    pub rtt: Span,
    /// Packets waiting before this arrival, the one in transmission not counted.
    pub packets: u32,
    /// Bytes waiting before this arrival.
    pub bytes: u64,
    /// Packets waiting in each flow queue of this AQM, empty if it keeps none.
    pub class_packets: &'a [u32],
    /// Whether this packet would exceed the buffer.
    pub full: bool,
}

/// What an AQM wants done about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    Pass,
    /// Write the level on the target. Where that is an arriving packet that is not ECN-capable, it is dropped instead; one that carries
    /// the level already, or whose network does not know it, is stored as it is and counts as unmarked.
    Signal {
        level: Level,
        target: Target,
        cause: Cause,
    },
    Drop {
        victim: Victim,
        cause: Cause,
    },
}

/// The packet that a signal is written on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Arriving,
    /// The first waiting packet of the flow queue that the mark would change, the arriving one last.
    FrontUnmarked(u8),
}

/// The packet that a drop takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    Arriving,
    Front,
    /// The n-th waiting packet, the arriving one counted last and meant by every number beyond.
    Waiting(u32),
}

/// Why a packet was marked or dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Cause {
    /// By the random test.
    Early = 0,
    /// Because the average is at or above its maximum.
    Forced = 1,
    /// Because the buffer is full.
    Overflow = 2,
}

/// An active queue management algorithm.
pub trait Aqm: Send {
    /// How many flow queues the discipline shall keep for this AQM.
    fn classes(&self) -> usize {
        0
    }

    /// The flow queue of a packet, below [`Aqm::classes`].
    fn classify(&self, _rtt: Span) -> u8 {
        0
    }

    /// Judges an arriving packet, before it is stored. At a full buffer every wish but a drop becomes a drop of the arriving packet.
    fn arrive(&mut self, glimpse: &Glimpse, rng: &mut Rng) -> Wish;

    /// Told when the link finds nothing to send.
    fn idle(&mut self, _now: Time) {}

    /// The average queue length in packets, if the algorithm keeps one.
    fn average(&self) -> Option<f64> {
        None
    }
}
