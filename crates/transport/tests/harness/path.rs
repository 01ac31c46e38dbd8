//! What the path does to chosen packets.

use ecnlab_transport::{Ack, Segment, SegmentType};
use ecnlab_units::{CongestionLevel, Ecn, EcnSemantics, Rate, Span, Time};

/// Which packets of a direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PacketFilter {
    /// The nth packet, from 1, with this number: a segment's own, or what an acknowledgement expects.
    Number(u64, u32),
    /// All packets with this number.
    Always(u64),
    /// The packet with this place in the direction's order, from 0.
    Index(u64),
    /// All that are sent from one time to another.
    During(Time, Time),
    /// Packets with an ECN-capable codepoint.
    Capable,
    /// The SYN, or ns-2's first packet, as long as it offers ECN; of acknowledgements those with ECE.
    Ece,
    /// The nth packet with CWR, from 1, the SYN not counted.
    Cwr(u32),
    Retransmission,
    Syn,
    All,
}

/// What the path does to a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PathAction {
    Drop,
    Mark(CongestionLevel),
    /// A copy comes so much later.
    Duplicate(Span),
    /// It comes later: others overtake it.
    Delay(Span),
    /// The codepoint is set to not capable.
    Bleach,
    /// The two bits in the TCP header are cleared, or set.
    ClearFlags,
    SetFlags,
}

/// What a script is told of a packet.
#[derive(Clone, Copy, Debug)]
pub struct PacketInfo {
    pub number: u64,
    pub nth: u32,
    pub index: u64,
    pub time: Time,
    pub capable: bool,
    pub ece: bool,
    /// The how-manieth with CWR it is.
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

/// A direction's script.
pub type PathScript = Vec<(PacketFilter, PathAction)>;

/// A path with a fixed delay, the same in both directions.
#[derive(Clone, Debug)]
pub struct Path {
    pub delay: Span,
    /// Data is serialised at this rate in front of the delay.
    pub rate: Option<Rate>,
    pub data: PathScript,
    pub acks: PathScript,
    pub ecn_semantics: EcnSemantics,
}

impl Path {
    /// 100 ms there and back at 10 Gbps: a window arrives as good as at once, but no two segments at the same time.
    pub fn clean() -> Path {
        Path {
            delay: Span::from_millis(50),
            rate: Rate::from_bps(10_000_000_000),
            data: Vec::new(),
            acks: Vec::new(),
            ecn_semantics: EcnSemantics::Classic,
        }
    }

    pub fn data(mut self, pick: PacketFilter, deed: PathAction) -> Path {
        self.data.push((pick, deed));
        self
    }

    pub fn acks(mut self, pick: PacketFilter, deed: PathAction) -> Path {
        self.acks.push((pick, deed));
        self
    }

    /// Loses the first transmission of segments.
    pub fn lose(self, seqs: &[u64]) -> Path {
        seqs.iter().fold(self, |path, &seq| path.data(PacketFilter::Number(seq, 1), PathAction::Drop))
    }

    /// Marks the first transmission of segments.
    pub fn mark(self, seqs: &[u64]) -> Path {
        seqs.iter().fold(self, |path, &seq| path.data(PacketFilter::Number(seq, 1), PathAction::Mark(CongestionLevel::Congested)))
    }
}

/// What a script can change on a packet.
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
        (self.ece, self.cwr) = (set, set);
    }
}

impl Packet for Ack {
    fn mark(&mut self, _: EcnSemantics, _: CongestionLevel) {}

    fn bleach(&mut self) {}

    fn set_flags(&mut self, set: bool) {
        (self.ece, self.cwr) = (set, set);
    }
}

/// What becomes of a packet.
pub struct PathOutcome<P> {
    pub packet: P,
    /// How much later than the path's delay each copy comes; none if it is lost.
    pub copies: Vec<Span>,
    pub actions: Vec<PathAction>,
}

/// Applies a script to a packet.
pub fn apply_script<P: Packet>(script: &PathScript, ecn_semantics: EcnSemantics, mut packet: P, passing: &PacketInfo) -> PathOutcome<P> {
    let deeds: Vec<PathAction> = script.iter().filter(|(pick, _)| pick.matches(passing)).map(|&(_, deed)| deed).collect();
    let (mut late, mut copies) = (Span::ZERO, Vec::new());
    for &deed in &deeds {
        match deed {
            PathAction::Drop => return PathOutcome { packet, copies: Vec::new(), actions: deeds },
            PathAction::Mark(level) => packet.mark(ecn_semantics, level),
            PathAction::Duplicate(after) => copies.push(after),
            PathAction::Delay(by) => late = late.max(by),
            PathAction::Bleach => packet.bleach(),
            PathAction::ClearFlags => packet.set_flags(false),
            PathAction::SetFlags => packet.set_flags(true),
        }
    }
    copies.insert(0, late);
    PathOutcome { packet, copies, actions: deeds }
}
