//! What stores packets. A discipline holds the frames, keeps the counts and carries out what its AQM wishes.

mod fifo;

use ecnlab_units::{Ecn, Level, Span};

pub use fifo::Fifo;

use crate::aqm::Cause;

/// A packet as a queue handles it: a handle of the simulator, or a real buffer.
pub trait Frame {
    /// Size on the wire in bytes.
    fn size(&self) -> u32;
    fn ecn(&self) -> Ecn;
    /// Whether a mark of this level would change the packet: it can carry the level, and carries none as loud yet.
    fn takes(&self, level: Level) -> bool;
    /// Writes a congestion signal that the packet [takes](Frame::takes) into the ECN field.
    fn mark(&mut self, level: Level);
    /// The round-trip time known for this packet's flow; zero if unknown.
    fn rtt(&self) -> Span;
}

/// How much may wait; the packet in transmission is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Packets(u32),
    Bytes(u64),
}

/// What became of an arriving packet and the queue that it met.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome<F> {
    /// The arriving packet was queued and no packet changed.
    Queued,
    /// The arriving packet was queued, and the waiting packet at this place (0 is the front) was marked: its ECN field has changed.
    Marked(usize, Cause),
    /// This packet was dropped; if it is not the arriving one, the arriving one was queued.
    Dropped(F, Cause),
}

/// What a queue has seen, in packets and bytes; `arrived = departed + dropped + waiting` always holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub arrived: Tally,
    pub departed: Tally,
    /// Dropped, by [`Cause`].
    pub dropped: [Tally; 3],
    /// Marks written, by [`Cause`].
    pub marked: [u64; 3],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub packets: u64,
    pub bytes: u64,
}

impl Tally {
    pub fn add(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }
}
