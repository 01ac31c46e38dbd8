//! What senders and receivers exchange. Sequence numbers count segments; the engine adds flow, size on the path and time.

use ecnlab_units::{Ecn, Time};

/// Type of a segment or an acknowledgement: data, a control bit, or an acknowledgement without data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum SegmentType {
    /// From the sender data, from the receiver an acknowledgement and nothing else.
    #[default]
    Plain = 0,
    /// Opens the connection; takes a sequence number.
    Syn = 1,
    /// Closes it; takes a sequence number.
    Fin = 2,
    /// From the sender an acknowledgement without data, which takes no sequence number and is not acknowledged.
    PureAck = 3,
}

/// A segment as the sender makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Number of the segment, from 0; of a pure acknowledgement that of the next data.
    pub seq: u64,
    /// Size on the wire in bytes, headers included.
    pub size: u32,
    pub segment_type: SegmentType,
    pub ecn: Ecn,
    /// The sender has reduced its window (RFC 3168, section 6.1.2); with `ece` on a SYN, ECN is offered.
    pub cwr: bool,
    /// On the first segment: ECN is offered.
    pub ece: bool,
    pub retransmission: bool,
    /// The application has written no more for now: what there is may be read (RFC 9293, section 3.9.1.2).
    pub push: bool,
}

impl Segment {
    /// A probe of the receiver's window, where all before `next` is acknowledged: it stands one byte before that, and so it is answered at once
    /// (RFC 9293, section 3.8.6.1).
    pub fn window_probe(next: u64, size: u32) -> Segment {
        Segment { segment_type: SegmentType::PureAck, retransmission: true, ..Segment::plain(next - 1, size) }
    }

    /// Whether it probes the receiver's window: its number is that of the last segment that is acknowledged, whose last byte it stands for.
    pub fn is_window_probe(&self) -> bool {
        self.segment_type == SegmentType::PureAck && self.retransmission
    }

    /// A segment with nothing but its number and size, not ECN-capable.
    pub fn plain(seq: u64, size: u32) -> Segment {
        Segment {
            seq,
            size,
            segment_type: SegmentType::Plain,
            ecn: Ecn::NotEct,
            cwr: false,
            ece: false,
            retransmission: false,
            push: false,
        }
    }
}

/// An acknowledgement as the receiver makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The next segment that the receiver expects; all before it have arrived.
    pub next: u64,
    /// Size on the wire in bytes.
    pub size: u32,
    pub segment_type: SegmentType,
    /// The receiver has seen congestion experienced (RFC 3168, section 6.1.3); in MECN's dialect one of two bits.
    pub ece: bool,
    /// In MECN's dialect the other bit; else set on no acknowledgement.
    pub cwr: bool,
    /// When the segment that caused this acknowledgement was sent, and whether that was a retransmission.
    pub echo: Time,
    pub echo_retransmission: bool,
    /// How many bytes beyond `next` the receiver has room for; [`Ack::WINDOW_UNLIMITED`] if it says nothing of that.
    pub window: u32,
    /// Its own ECN field.
    pub ecn: Ecn,
    /// It came on data of the other direction.
    pub on_data: bool,
    pub sacks: SackOption,
}

/// Selective acknowledgements: runs of segments `[from, to)` beyond `Ack::next`, the latest first (RFC 2018).
///
/// Most acknowledgements have none, and the network keeps those of the others aside.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SackOption {
    runs: [(u64, u64); SackOption::MAX_BLOCKS],
    count: u8,
}

impl SackOption {
    /// What fits into the header's options.
    pub const MAX_BLOCKS: usize = 4;

    /// Appends a block if there is room.
    pub fn push(&mut self, from: u64, to: u64) {
        if let Some(run) = self.runs.get_mut(usize::from(self.count)) {
            *run = (from, to);
            self.count += 1;
        }
    }

    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.runs[..usize::from(self.count)]
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl std::fmt::Debug for SackOption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_slice().fmt(f)
    }
}

impl Ack {
    /// The receiver's window where it does not say how large it is: `max_rwnd` holds.
    pub const WINDOW_UNLIMITED: u32 = u32::MAX;

    /// An acknowledgement of all before `next`, with nothing else on it.
    pub fn plain(next: u64, size: u32) -> Ack {
        Ack {
            next,
            size,
            segment_type: SegmentType::Plain,
            ece: false,
            cwr: false,
            echo: Time::ZERO,
            echo_retransmission: false,
            window: Ack::WINDOW_UNLIMITED,
            ecn: Ecn::NotEct,
            on_data: false,
            sacks: SackOption::default(),
        }
    }
}
