//! What the path does to chosen packets.

use ecnlab_transport::{Ack, Role, Segment};
use ecnlab_units::{Dialect, Ecn, Level, Rate, Span, Time};

/// Which packets of a direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pick {
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
pub enum Deed {
    Drop,
    Mark(Level),
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
pub struct Passing {
    pub number: u64,
    pub nth: u32,
    pub index: u64,
    pub time: Time,
    pub capable: bool,
    pub ece: bool,
    /// The how-manieth with CWR it is.
    pub cwr: Option<u32>,
    pub retransmission: bool,
    pub kind: Role,
}

impl Pick {
    pub fn fits(self, packet: &Passing) -> bool {
        match self {
            Pick::Number(number, nth) => packet.kind != Role::Pure && (packet.number, packet.nth) == (number, nth),
            Pick::Always(number) => packet.kind != Role::Pure && packet.number == number,
            Pick::Index(index) => packet.index == index,
            Pick::During(from, to) => from <= packet.time && packet.time < to,
            Pick::Capable => packet.capable,
            Pick::Ece => packet.ece,
            Pick::Cwr(nth) => packet.cwr == Some(nth),
            Pick::Retransmission => packet.retransmission,
            Pick::Syn => packet.kind == Role::Syn,
            Pick::All => true,
        }
    }
}

/// A direction's script.
pub type Script = Vec<(Pick, Deed)>;

/// A path with a fixed delay, the same in both directions.
#[derive(Clone, Debug)]
pub struct Path {
    pub delay: Span,
    /// Data is serialised at this rate in front of the delay.
    pub rate: Option<Rate>,
    pub data: Script,
    pub acks: Script,
    pub dialect: Dialect,
}

impl Path {
    /// 100 ms there and back at 10 Gbps: a window arrives as good as at once, but no two segments at the same time.
    pub fn clean() -> Path {
        Path {
            delay: Span::from_millis(50),
            rate: Rate::from_bps(10_000_000_000),
            data: Vec::new(),
            acks: Vec::new(),
            dialect: Dialect::Classic,
        }
    }

    pub fn data(mut self, pick: Pick, deed: Deed) -> Path {
        self.data.push((pick, deed));
        self
    }

    pub fn acks(mut self, pick: Pick, deed: Deed) -> Path {
        self.acks.push((pick, deed));
        self
    }

    /// Loses the first transmission of segments.
    pub fn lose(self, seqs: &[u64]) -> Path {
        seqs.iter().fold(self, |path, &seq| path.data(Pick::Number(seq, 1), Deed::Drop))
    }

    /// Marks the first transmission of segments.
    pub fn mark(self, seqs: &[u64]) -> Path {
        seqs.iter().fold(self, |path, &seq| path.data(Pick::Number(seq, 1), Deed::Mark(Level::Congested)))
    }
}

/// What a script can change on a packet.
pub trait Packet {
    fn mark(&mut self, dialect: Dialect, level: Level);
    fn bleach(&mut self);
    fn set_flags(&mut self, set: bool);
}

impl Packet for Segment {
    fn mark(&mut self, dialect: Dialect, level: Level) {
        self.ecn = dialect.mark(self.ecn, level);
    }

    fn bleach(&mut self) {
        self.ecn = Ecn::NotEct;
    }

    fn set_flags(&mut self, set: bool) {
        (self.ece, self.cwr) = (set, set);
    }
}

impl Packet for Ack {
    fn mark(&mut self, _: Dialect, _: Level) {}

    fn bleach(&mut self) {}

    fn set_flags(&mut self, set: bool) {
        (self.ece, self.cwr) = (set, set);
    }
}

/// What becomes of a packet.
pub struct Fate<P> {
    pub packet: P,
    /// How much later than the path's delay each copy comes; none if it is lost.
    pub copies: Vec<Span>,
    pub deeds: Vec<Deed>,
}

/// Applies a script to a packet.
pub fn pass<P: Packet>(script: &Script, dialect: Dialect, mut packet: P, passing: &Passing) -> Fate<P> {
    let deeds: Vec<Deed> = script.iter().filter(|(pick, _)| pick.fits(passing)).map(|&(_, deed)| deed).collect();
    let (mut late, mut copies) = (Span::ZERO, Vec::new());
    for &deed in &deeds {
        match deed {
            Deed::Drop => return Fate { packet, copies: Vec::new(), deeds },
            Deed::Mark(level) => packet.mark(dialect, level),
            Deed::Duplicate(after) => copies.push(after),
            Deed::Delay(by) => late = late.max(by),
            Deed::Bleach => packet.bleach(),
            Deed::ClearFlags => packet.set_flags(false),
            Deed::SetFlags => packet.set_flags(true),
        }
    }
    copies.insert(0, late);
    Fate { packet, copies, deeds }
}
