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
    /// AE, the third bit of the ACE field (RFC 9768, section 3.2.2); on a SYN with `cwr` and `ece`, the offer of Accurate ECN.
    pub ae: bool,
    /// The Accurate ECN option is present. Its counters are those of the ACK on the segment; without one they have their initial values,
    /// since the sender has received no data.
    pub accecn_option: bool,
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
            ae: false,
            accecn_option: false,
        }
    }

    /// The ACE field: AE, CWR and ECE as a number (RFC 9768, section 3.2.2).
    #[inline]
    pub fn ace(&self) -> u8 {
        ace_of_bits(self.ae, self.cwr, self.ece)
    }

    /// Sets the ACE field.
    pub fn set_ace(&mut self, ace: u8) {
        (self.ae, self.cwr, self.ece) = bits_of_ace(ace);
    }
}

/// The ACE field of three header bits.
#[inline]
pub fn ace_of_bits(ae: bool, cwr: bool, ece: bool) -> u8 {
    u8::from(ae) << 2 | u8::from(cwr) << 1 | u8::from(ece)
}

/// AE, CWR and ECE of an ACE field.
#[inline]
pub fn bits_of_ace(ace: u8) -> (bool, bool, bool) {
    (ace & 4 != 0, ace & 2 != 0, ace & 1 != 0)
}

/// The Accurate ECN option (RFC 9768, section 3.2.3): byte counters of 24 bits, each of which may be absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccEcnOption {
    /// Three bytes each, as in the header, which keeps an [`Ack`] small.
    counters: [[u8; 3]; 3],
    /// A bit for each counter, and one for the option itself, which may have none.
    present: u8,
}

/// Kind and length of the option, and a counter, in bytes.
const ACCECN_OPTION_BASE_BYTES: u32 = 2;
const ACCECN_COUNTER_BYTES: u32 = 3;

impl AccEcnOption {
    /// Bits of a counter.
    pub const COUNTER_MASK: u32 = 0xFF_FFFF;
    const OPTION_PRESENT_BIT: u8 = 8;

    /// An option with the counters of ECT(1), CE and ECT(0), of which 24 bits are kept.
    pub fn new(counters: [Option<u32>; 3]) -> AccEcnOption {
        let mut option = AccEcnOption { counters: [[0; 3]; 3], present: AccEcnOption::OPTION_PRESENT_BIT };
        for (at, counter) in counters.into_iter().enumerate() {
            if let Some(counter) = counter {
                let [low, middle, high, _] = counter.to_le_bytes();
                option.counters[at] = [low, middle, high];
                option.present |= 1 << at;
            }
        }
        option
    }

    /// Whether there is an option.
    #[inline]
    pub fn is_present(&self) -> bool {
        self.present != 0
    }

    /// The counters of ECT(1), CE and ECT(0).
    pub fn counters(&self) -> [Option<u32>; 3] {
        std::array::from_fn(|at| {
            let [low, middle, high] = self.counters[at];
            (self.present & 1 << at != 0).then(|| u32::from_le_bytes([low, middle, high, 0]))
        })
    }

    /// Number of counters.
    pub fn count(&self) -> u32 {
        (self.present & !AccEcnOption::OPTION_PRESENT_BIT).count_ones()
    }

    /// Bytes of an option with this many counters.
    pub fn bytes_with(counters: u32) -> u32 {
        ACCECN_OPTION_BASE_BYTES + ACCECN_COUNTER_BYTES * counters
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
    /// AE, the third bit of the ACE field (RFC 9768, section 3.2.2).
    pub ae: bool,
    /// With Accurate ECN: timestamp of the ACK itself in milliseconds, plus one, by which a reader of ACE recognizes a reordered ACK; 1
    /// without timestamps. Zero without Accurate ECN.
    pub tsval_ms: u32,
    pub accecn: AccEcnOption,
    pub sacks: SackOption,
}

/// Selective acknowledgement blocks: ranges of segments `[from, to)` beyond `Ack::next`, the latest first (RFC 2018).
///
/// Most ACKs have none. The engine stores the blocks of the others apart from the packet.
#[derive(Clone, PartialEq, Eq)]
pub struct SackOption {
    /// The blocks, then `(0, 0)`: no block ends at 0.
    runs: [(u64, u64); SackOption::MAX_BLOCKS],
}

impl SackOption {
    /// Number of blocks that fit into the TCP options.
    pub const MAX_BLOCKS: usize = 4;

    /// Appends a block if space is left.
    pub fn push(&mut self, from: u64, to: u64) {
        debug_assert!(from < to, "a SACK block is empty: {from} to {to}");
        if let Some(run) = self.runs.iter_mut().find(|run| run.1 == 0) {
            *run = (from, to);
        }
    }

    /// Keeps the first blocks.
    pub fn truncate(&mut self, count: usize) {
        self.runs[count.min(SackOption::MAX_BLOCKS)..].fill((0, 0));
    }

    pub fn as_slice(&self) -> &[(u64, u64)] {
        let count = self.runs.iter().position(|run| run.1 == 0).unwrap_or(SackOption::MAX_BLOCKS);
        &self.runs[..count]
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.runs[0].1 == 0
    }
}

impl Default for SackOption {
    // The derived one is a call for each ACK.
    #[inline(always)]
    fn default() -> SackOption {
        SackOption { runs: [(0, 0); SackOption::MAX_BLOCKS] }
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

    /// Whether it has the fields of Accurate ECN.
    #[inline]
    pub fn is_accurate(&self) -> bool {
        self.tsval_ms > 0
    }

    /// An ACK of all segments before `next`, without options or flags.
    #[inline]
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
            ae: false,
            tsval_ms: 0,
            accecn: AccEcnOption::default(),
            sacks: SackOption::default(),
        }
    }

    /// The ACE field: AE, CWR and ECE as a number (RFC 9768, section 3.2.2).
    #[inline]
    pub fn ace(&self) -> u8 {
        ace_of_bits(self.ae, self.cwr, self.ece)
    }

    /// Sets the ACE field.
    pub fn set_ace(&mut self, ace: u8) {
        (self.ae, self.cwr, self.ece) = bits_of_ace(ace);
    }
}
