//! Packets in the network: 64 bytes each, in one arena, chained through their `next`.

use ecnlab_transport::{Ack, Role, Sacks, Segment};
use ecnlab_units::{Dialect, Ecn, Time};

use crate::deadlines::Order;

/// Index of a packet in its arena.
pub type PacketId = u32;

pub const NONE: PacketId = PacketId::MAX;

/// A packet on its way. The first two fields are of the link that it is on.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Packet {
    /// When it reaches the far end of its link.
    pub due: Time,
    pub order: Order,
    pub next: PacketId,
    /// Where on its route it is: an index into the engine's hops.
    pub cursor: u32,
    /// A segment's number, or the next segment that an acknowledgement expects.
    pub seq: u64,
    /// When the segment was sent; an acknowledgement carries that of the segment that caused it.
    pub sent: Time,
    pub flow: u32,
    pub size: u32,
    /// What [`Packet::rtt_us`] and [`Packet::aside`] read.
    note: u32,
    pub ecn: Ecn,
    pub role: Role,
    pub bits: Bits,
    /// Which of its flow's connections it belongs to, modulo 256.
    pub connection: u8,
}

/// One-bit fields of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bits(u8);

impl Bits {
    const CWR: u8 = 1;
    const ECE: u8 = 2;
    const RETRANSMISSION: u8 = 4;
    const ACK: u8 = 8;
    const MECN: u8 = 16;
    const DATAGRAM: u8 = 32;
    const COPY: u8 = 64;

    fn new(cwr: bool, ece: bool, retransmission: bool) -> Bits {
        Bits(u8::from(cwr) | u8::from(ece) << 1 | u8::from(retransmission) << 2)
    }

    /// Of all packets of a sender: what their ECN field means, and whether they are datagrams.
    pub fn of_sender(dialect: Dialect, datagrams: bool) -> Bits {
        let mecn = if dialect == Dialect::Mecn { Bits::MECN } else { 0 };
        Bits(if datagrams { mecn | Bits::DATAGRAM } else { mecn })
    }

    /// With more bits set.
    fn with(self, bits: u8) -> Bits {
        Bits(self.0 | bits)
    }

    pub fn cwr(self) -> bool {
        self.0 & Bits::CWR != 0
    }

    pub fn ece(self) -> bool {
        self.0 & Bits::ECE != 0
    }

    /// Of an acknowledgement: of the segment that caused it.
    pub fn retransmission(self) -> bool {
        self.0 & Bits::RETRANSMISSION != 0
    }

    /// Of a copy that a link made of a packet.
    pub fn copy(self) -> bool {
        self.0 & Bits::COPY != 0
    }

    /// Without the bits by which TCP's ends speak of ECN.
    pub fn without_ecn(self) -> Bits {
        Bits(self.0 & !(Bits::CWR | Bits::ECE))
    }
}

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// From a TCP sender to its sink.
    Data,
    /// From a sink back to its sender.
    Ack,
    Datagram,
}

/// Whose packet it is, where its route begins and what is the same of all packets from there.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    pub flow: u32,
    pub cursor: u32,
    pub connection: u8,
    pub bits: Bits,
}

impl Packet {
    #[inline]
    pub fn of_segment(segment: &Segment, origin: Origin, sent: Time, rtt_us: u32) -> Packet {
        let bits = Bits::new(segment.cwr, segment.ece, segment.retransmission);
        Packet {
            due: Time::ZERO,
            order: Order::default(),
            next: NONE,
            cursor: origin.cursor,
            seq: segment.seq,
            sent,
            flow: origin.flow,
            size: segment.size,
            note: rtt_us,
            ecn: segment.ecn,
            role: segment.role,
            bits: bits.with(origin.bits.0),
            connection: origin.connection,
        }
    }

    #[inline]
    pub fn of_ack(ack: &Ack, origin: Origin) -> Packet {
        Packet {
            due: Time::ZERO,
            order: Order::default(),
            next: NONE,
            cursor: origin.cursor,
            seq: ack.next,
            sent: ack.echo,
            flow: origin.flow,
            size: ack.size,
            note: NONE,
            ecn: ack.ecn,
            role: ack.role,
            bits: Bits::new(ack.cwr, ack.ece, ack.echo_retransmission).with(Bits::ACK),
            connection: origin.connection,
        }
    }

    /// What it is; a TCP sender's own acknowledgement without data counts as data.
    #[inline]
    pub fn kind(&self) -> PacketKind {
        match self.bits.0 & (Bits::ACK | Bits::DATAGRAM) {
            0 => PacketKind::Data,
            Bits::DATAGRAM => PacketKind::Datagram,
            _ => PacketKind::Ack,
        }
    }

    /// Whether it is an acknowledgement on its way back.
    #[inline]
    pub fn is_ack(&self) -> bool {
        self.bits.0 & Bits::ACK != 0
    }

    /// What its ECN field means.
    #[inline]
    pub fn dialect(&self) -> Dialect {
        if self.bits.0 & Bits::MECN == 0 { Dialect::Classic } else { Dialect::Mecn }
    }

    /// The round-trip time that it reports, in microseconds; zero if it reports none, as acknowledgements do.
    #[inline]
    pub fn rtt_us(&self) -> u32 {
        if self.is_ack() { 0 } else { self.note }
    }

    /// Where that stands aside which not every acknowledgement carries, if it does.
    #[inline]
    fn aside(&self) -> Option<u32> {
        (self.is_ack() && self.note != NONE).then_some(self.note)
    }

    #[inline]
    pub fn segment(&self) -> Segment {
        Segment {
            seq: self.seq,
            size: self.size,
            role: self.role,
            ecn: self.ecn,
            cwr: self.bits.cwr(),
            ece: self.bits.ece(),
            retransmission: self.bits.retransmission(),
            push: false,
        }
    }

    #[inline]
    fn ack(&self, Aside { sacks, window }: Aside) -> Ack {
        Ack {
            next: self.seq,
            size: self.size,
            role: self.role,
            ece: self.bits.ece(),
            cwr: self.bits.cwr(),
            echo: self.sent,
            echo_retransmission: self.bits.retransmission(),
            window,
            ecn: self.ecn,
            sacks,
        }
    }
}

/// What not every acknowledgement carries, so that it has no room in each packet.
#[derive(Clone, Debug)]
struct Aside {
    sacks: Sacks,
    window: u32,
}

impl Default for Aside {
    fn default() -> Aside {
        Aside { sacks: Sacks::default(), window: Ack::ANY }
    }
}

/// All packets in the network.
#[derive(Default)]
pub struct Arena {
    packets: Vec<Packet>,
    free: PacketId,
    live: u32,
    /// What stands aside, and which of the places are free.
    asides: Vec<Aside>,
    free_asides: Vec<u32>,
}

impl Arena {
    pub fn new() -> Arena {
        Arena { free: NONE, ..Arena::default() }
    }

    pub fn insert(&mut self, packet: Packet) -> PacketId {
        self.live += 1;
        if self.free == NONE {
            self.packets.push(packet);
            return (self.packets.len() - 1) as PacketId;
        }
        let id = self.free;
        self.free = std::mem::replace(&mut self.packets[id as usize], packet).next;
        id
    }

    #[inline]
    pub fn insert_ack(&mut self, ack: &mut Ack, origin: Origin) -> PacketId {
        let mut packet = Packet::of_ack(ack, origin);
        if !ack.sacks.is_empty() || ack.window != Ack::ANY {
            packet.note = self.set_aside(Aside { sacks: std::mem::take(&mut ack.sacks), window: ack.window });
        }
        self.insert(packet)
    }

    /// Puts a copy of a packet into the network.
    pub fn copy(&mut self, id: PacketId) -> PacketId {
        let mut copy = self[id];
        copy.bits = copy.bits.with(Bits::COPY);
        if let Some(place) = copy.aside() {
            copy.note = self.set_aside(self.asides[place as usize].clone());
        }
        self.insert(copy)
    }

    /// Takes an acknowledgement out of the network.
    #[inline]
    pub fn release_ack(&mut self, id: PacketId) -> Ack {
        let aside = self[id].aside().map_or_else(Aside::default, |place| self.take_back(place));
        let ack = self[id].ack(aside);
        self.release(id);
        ack
    }

    /// Puts aside what an acknowledgement carries until it arrives; returns where.
    #[inline(never)]
    fn set_aside(&mut self, aside: Aside) -> u32 {
        let place = self.free_asides.pop().unwrap_or_else(|| {
            self.asides.push(Aside::default());
            (self.asides.len() - 1) as u32
        });
        self.asides[place as usize] = aside;
        place
    }

    #[inline(never)]
    fn take_back(&mut self, place: u32) -> Aside {
        self.free_asides.push(place);
        std::mem::take(&mut self.asides[place as usize])
    }

    #[inline]
    pub fn release(&mut self, id: PacketId) {
        self.live -= 1;
        self.packets[id as usize].next = std::mem::replace(&mut self.free, id);
    }

    /// Packets in the network now.
    pub fn live(&self) -> u32 {
        self.live
    }
}

impl std::ops::Index<PacketId> for Arena {
    type Output = Packet;
    fn index(&self, id: PacketId) -> &Packet {
        &self.packets[id as usize]
    }
}

impl std::ops::IndexMut<PacketId> for Arena {
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.packets[id as usize]
    }
}
