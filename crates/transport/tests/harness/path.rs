//! Actions of the path on selected packets.

use ecnlab_transport::{Ack, Segment, SegmentType};
use ecnlab_units::{CongestionLevel, Ecn, EcnSemantics, Rate, Span, Time};

/// Selection of packets of a direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PacketFilter {
    /// The nth transmission, from 1, of this number: a segment's number, or the next expected segment of an ACK.
    Number(u64, u32),
    /// All packets with this number.
    Always(u64),
    /// The packet at this position in the direction's order, from 0.
    Index(u64),
    /// All packets sent in a time interval.
    During(Time, Time),
    /// Packets with an ECN-capable codepoint.
    Capable,
    /// The SYN, or ns-2's first packet, while it offers ECN; of ACKs those with ECE.
    Ece,
    /// The nth packet with CWR, from 1, without the SYN.
    Cwr(u32),
    Retransmission,
    Syn,
    All,
}

/// Action on a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PathAction {
    Drop,
    Mark(CongestionLevel),
    /// A copy arrives later by this time.
    Duplicate(Span),
    /// The packet is delayed by this time, so that others overtake it.
    Delay(Span),
    /// The codepoint is set to not capable.
    Bleach,
    /// ECE and CWR are cleared, or set.
    ClearFlags,
    SetFlags,
}

/// Properties of a packet that scripts use.
#[derive(Clone, Copy, Debug)]
pub struct PacketInfo {
    pub number: u64,
    pub nth: u32,
    pub index: u64,
    pub time: Time,
    pub capable: bool,
    pub ece: bool,
    /// Number of the packet among those with CWR.
    pub cwr: Option<u32>,
    pub retransmission: bool,
    pub kind: SegmentType,
}

impl PacketFilter {
    pub fn matches(self, packet: &PacketInfo) -> bool {
        match self {
            PacketFilter::Number(number, nth) => packet.kind != SegmentType::PureAck && (packet.number, packet.nth) == (number, nth),
            PacketFilter::Always(number) => packet.kind != SegmentType::PureAck && packet.number == number,
            PacketFilter::Index(index) => packet.index == index,
            PacketFilter::During(from, to) => from <= packet.time && packet.time < to,
            PacketFilter::Capable => packet.capable,
            PacketFilter::Ece => packet.ece,
            PacketFilter::Cwr(nth) => packet.cwr == Some(nth),
            PacketFilter::Retransmission => packet.retransmission,
            PacketFilter::Syn => packet.kind == SegmentType::Syn,
            PacketFilter::All => true,
        }
    }
}

/// Script of a direction.
pub type PathScript = Vec<(PacketFilter, PathAction)>;

/// A path with a fixed delay, the same in both directions.
#[derive(Clone, Debug)]
pub struct Path {
    pub delay: Span,
    /// Data is serialized at this rate before the delay.
    pub rate: Option<Rate>,
    pub data: PathScript,
    pub acks: PathScript,
    pub ecn_semantics: EcnSemantics,
}

impl Path {
    /// RTT of 100 ms at 10 Gbps: a window arrives almost at once, but no two segments at the same time.
    pub fn clean() -> Path {
        Path {
            delay: Span::from_millis(50),
            rate: Rate::from_bps(10_000_000_000),
            data: Vec::new(),
            acks: Vec::new(),
            ecn_semantics: EcnSemantics::Classic,
        }
    }

    pub fn data(mut self, filter: PacketFilter, action: PathAction) -> Path {
        self.data.push((filter, action));
        self
    }

    pub fn acks(mut self, filter: PacketFilter, action: PathAction) -> Path {
        self.acks.push((filter, action));
        self
    }

    /// Drops the first transmission of segments.
    pub fn lose(self, seqs: &[u64]) -> Path {
        seqs.iter().fold(self, |path, &seq| path.data(PacketFilter::Number(seq, 1), PathAction::Drop))
    }

    /// Marks the first transmission of segments.
    pub fn mark(self, seqs: &[u64]) -> Path {
        seqs.iter().fold(self, |path, &seq| path.data(PacketFilter::Number(seq, 1), PathAction::Mark(CongestionLevel::Congested)))
    }
}

/// Fields of a packet that a script can change.
pub trait Packet {
    fn mark(&mut self, ecn_semantics: EcnSemantics, level: CongestionLevel);
    fn bleach(&mut self);
    fn set_flags(&mut self, set: bool);
}

impl Packet for Segment {
    fn mark(&mut self, ecn_semantics: EcnSemantics, level: CongestionLevel) {
        self.ecn = ecn_semantics.apply_mark(self.ecn, level);
    }

    fn bleach(&mut self) {
        self.ecn = Ecn::NotEct;
    }

    fn set_flags(&mut self, set: bool) {
        (self.ece, self.cwr, self.ae) = (set, set, self.ae && set);
    }
}

impl Packet for Ack {
    fn mark(&mut self, ecn_semantics: EcnSemantics, level: CongestionLevel) {
        self.ecn = ecn_semantics.apply_mark(self.ecn, level);
    }

    fn bleach(&mut self) {}

    fn set_flags(&mut self, set: bool) {
        (self.ece, self.cwr) = (set, set);
    }
}

/// Result of a script for a packet.
pub struct PathOutcome<P> {
    pub packet: P,
    /// Extra delay of each copy; empty if the packet is lost.
    pub copies: Vec<Span>,
    pub actions: Vec<PathAction>,
}

/// Applies a script to a packet.
pub fn apply_script<P: Packet>(script: &PathScript, ecn_semantics: EcnSemantics, mut packet: P, passing: &PacketInfo) -> PathOutcome<P> {
    let actions: Vec<PathAction> = script.iter().filter(|(filter, _)| filter.matches(passing)).map(|&(_, action)| action).collect();
    let (mut late, mut copies) = (Span::ZERO, Vec::new());
    for &action in &actions {
        match action {
            PathAction::Drop => return PathOutcome { packet, copies: Vec::new(), actions },
            PathAction::Mark(level) => packet.mark(ecn_semantics, level),
            PathAction::Duplicate(after) => copies.push(after),
            PathAction::Delay(by) => late = late.max(by),
            PathAction::Bleach => packet.bleach(),
            PathAction::ClearFlags => packet.set_flags(false),
            PathAction::SetFlags => packet.set_flags(true),
        }
    }
    copies.insert(0, late);
    PathOutcome { packet, copies, actions }
}
