//! Segments and ACKs. Sequence numbers count segments; the engine adds the flow, the size on the path and the time.

use ecnlab_units::{Ecn, Time};

/// Type of a segment or an ACK: data, a control bit, or a pure ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum SegmentType {
    /// From the sender a data segment, from the receiver an ACK without control bits.
    #[default]
    Plain = 0,
    /// Opens the connection; takes a sequence number.
    Syn = 1,
    /// Closes the connection; takes a sequence number.
    Fin = 2,
    /// An ACK without data from the sender, which takes no sequence number and is not acknowledged.
    PureAck = 3,
}

/// A segment from the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Segment number from 0; for a pure ACK, the number of the next data segment.
    pub seq: u64,
    /// Size on the wire in bytes, headers included.
    pub size: u32,
    pub segment_type: SegmentType,
    pub ecn: Ecn,
    /// Congestion window reduced (RFC 3168, section 6.1.2); on a SYN with `ece`, the offer of ECN.
    pub cwr: bool,
    /// On the first segment: offer of ECN.
    pub ece: bool,
    pub retransmission: bool,
    /// PSH: the application has no more data for now, so the receiver delivers at once (RFC 9293, section 3.9.1.2).
    pub push: bool,
}

impl Segment {
    /// A zero-window probe while all segments before `next` are acknowledged. Its number is one byte before that, so the peer replies at
    /// once (RFC 9293, section 3.8.6.1).
    pub fn window_probe(next: u64, size: u32) -> Segment {
        Segment { segment_type: SegmentType::PureAck, retransmission: true, ..Segment::plain(next - 1, size) }
    }

    /// Whether this is a zero-window probe. Its number is that of the last acknowledged segment, and it represents that segment's last
    /// byte.
    pub fn is_window_probe(&self) -> bool {
        self.segment_type == SegmentType::PureAck && self.retransmission
    }

    /// A segment with only a number and a size, not ECN-capable.
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

/// An acknowledgement from the receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Next expected segment; all before it have arrived.
    pub next: u64,
    /// Size on the wire in bytes.
    pub size: u32,
    pub segment_type: SegmentType,
    /// ECN-Echo: the receiver has seen CE (RFC 3168, section 6.1.3). For MECN, one of its two bits.
    pub ece: bool,
    /// For MECN, the second bit; otherwise never set.
    pub cwr: bool,
    /// Echoed timestamp of the segment that caused this ACK, and whether that segment was a retransmission.
    pub echo: Time,
    pub echo_retransmission: bool,
    /// Receive window in bytes from `next`; [`Ack::WINDOW_UNLIMITED`] if none is advertised.
    pub window: u32,
    /// ECN codepoint of the ACK itself.
    pub ecn: Ecn,
    /// Piggybacked on data of the reverse direction.
    pub on_data: bool,
    pub sacks: SackOption,
}

/// Selective acknowledgement blocks: ranges of segments `[from, to)` beyond `Ack::next`, the latest first (RFC 2018).
///
/// Most ACKs have none. The engine stores the blocks of the others apart from the packet.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SackOption {
    runs: [(u64, u64); SackOption::MAX_BLOCKS],
    count: u8,
}

impl SackOption {
    /// Number of blocks that fit into the TCP options.
    pub const MAX_BLOCKS: usize = 4;

    /// Appends a block if space is left.
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
    /// The receiver advertises no window; `max_rwnd` applies.
    pub const WINDOW_UNLIMITED: u32 = u32::MAX;

    /// An ACK of all segments before `next`, without options or flags.
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
