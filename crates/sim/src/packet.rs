//! Packets in the network: 64 bytes each, in one arena, chained through their `next`.

use ecnlab_transport::{Ack, Role, Sacks, Segment};
use ecnlab_units::{Dialect, Ecn, Time};

use crate::deadlines::Order;
use crate::outside::{Foreign, Toward};

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
    /// What [`Arena::rtt_us`] and [`Packet::aside`] read.
    note: u32,
    pub ecn: Ecn,
    /// Which of its flow's connections it belongs to, modulo 256.
    pub connection: u8,
    pub bits: Bits,
}

/// One-bit fields of a packet, and its role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bits(u16);

impl Bits {
    const CWR: u16 = 1;
    const ECE: u16 = 2;
    const RETRANSMISSION: u16 = 4;
    const ACK: u16 = 8;
    const MECN: u16 = 16;
    const DATAGRAM: u16 = 32;
    const COPY: u16 = 64;
    const PUSH: u16 = 128;
    const RIDDEN: u16 = 256;
    /// From here on the role's two bits.
    const ROLE: u32 = 9;
    const FOREIGN: u16 = 2048;

    fn new(role: Role, cwr: bool, ece: bool, retransmission: bool) -> Bits {
        Bits(u16::from(cwr) | u16::from(ece) << 1 | u16::from(retransmission) << 2 | (role as u16) << Bits::ROLE)
    }

    /// Of all packets of a sender: what their ECN field means, and whether they are datagrams.
    pub fn of_sender(dialect: Dialect, datagrams: bool) -> Bits {
        let mecn = if dialect == Dialect::Mecn { Bits::MECN } else { 0 };
        Bits(if datagrams { mecn | Bits::DATAGRAM } else { mecn })
    }

    /// With more bits set.
    fn with(self, bits: u16) -> Bits {
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

    #[inline]
    pub fn role(self) -> Role {
        match self.0 >> Bits::ROLE & 3 {
            0 => Role::Plain,
            1 => Role::Syn,
            2 => Role::Fin,
            _ => Role::Pure,
        }
    }

    /// The application has written no more for now.
    pub fn push(self) -> bool {
        self.0 & Bits::PUSH != 0
    }

    /// Of data on which an acknowledgement of the other direction rides.
    #[inline]
    pub fn is_ridden(self) -> bool {
        self.0 & Bits::RIDDEN != 0
    }

    /// Of a packet of a host outside of the engine.
    #[inline]
    pub fn is_foreign(self) -> bool {
        self.0 & Bits::FOREIGN != 0
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
    #[inline(always)]
    pub fn of_segment(segment: &Segment, origin: Origin, sent: Time, rtt_us: u32) -> Packet {
        let bits = Bits::new(segment.role, segment.cwr, segment.ece, segment.retransmission);
        let push = if segment.push { Bits::PUSH } else { 0 };
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
            connection: origin.connection,
            bits: bits.with(origin.bits.0 | push),
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
            connection: origin.connection,
            bits: Bits::new(ack.role, ack.cwr, ack.ece, ack.echo_retransmission).with(Bits::ACK),
        }
    }

    /// A host's packet that enters the network. Its number is the ticket, below the bytes that it carries.
    pub fn of_foreign(foreign: &Foreign, origin: Origin, now: Time) -> Packet {
        let is_bare = foreign.toward == Toward::Sink && foreign.role == Role::Plain && foreign.payload == 0;
        let role = if is_bare { Role::Pure } else { foreign.role };
        let bits = Bits::new(role, foreign.cwr, foreign.ece, foreign.retransmission).with(Bits::FOREIGN);
        let rtt_us = foreign.rtt.map_or(0, |rtt| rtt.picos() / 1_000_000).min(u64::from(NONE - 1)) as u32;
        let (bits, note) = match foreign.toward {
            Toward::Sink => (bits.with(origin.bits.0), rtt_us),
            Toward::Source => (bits.with(Bits::ACK), NONE),
        };
        Packet {
            due: Time::ZERO,
            order: Order::default(),
            next: NONE,
            cursor: origin.cursor,
            seq: u64::from(foreign.payload) << 32 | u64::from(foreign.ticket),
            sent: now,
            flow: origin.flow,
            size: foreign.size,
            note,
            ecn: foreign.ecn,
            connection: origin.connection,
            bits,
        }
    }

    /// Of a host's packet: by what its host tells it.
    pub fn ticket(&self) -> u32 {
        self.seq as u32
    }

    /// Of a host's packet: which end takes it.
    pub fn toward(&self) -> Toward {
        if self.is_ack() { Toward::Source } else { Toward::Sink }
    }

    /// Of a host's packet: application data that came for the first time.
    pub fn first_bytes(&self) -> u32 {
        if self.bits.retransmission() || self.bits.copy() { 0 } else { (self.seq >> 32) as u32 }
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

    /// What it does to the connection.
    #[inline]
    pub fn role(&self) -> Role {
        self.bits.role()
    }

    /// Whether it carries what only some packets carry, or is of a kind that may.
    #[inline]
    fn may_have_aside(&self) -> bool {
        self.bits.0 & (Bits::ACK | Bits::RIDDEN) != 0
    }

    /// Where that stands aside which not every packet carries, if it does.
    #[inline]
    fn aside(&self) -> Option<u32> {
        (self.may_have_aside() && self.note != NONE).then_some(self.note)
    }

    #[inline]
    pub fn segment(&self) -> Segment {
        Segment {
            seq: self.seq,
            size: self.size,
            role: self.role(),
            ecn: self.ecn,
            cwr: self.bits.cwr(),
            ece: self.bits.ece(),
            retransmission: self.bits.retransmission(),
            push: self.bits.push(),
        }
    }

    #[inline(always)]
    fn ack(&self, sacks: Sacks, window: u32) -> Ack {
        Ack {
            next: self.seq,
            size: self.size,
            role: self.role(),
            ece: self.bits.ece(),
            cwr: self.bits.cwr(),
            echo: self.sent,
            echo_retransmission: self.bits.retransmission(),
            window,
            ecn: self.ecn,
            on_data: false,
            sacks,
        }
    }
}

/// What not every packet carries, so that it has no room in each of them.
#[derive(Clone, Debug)]
struct Aside {
    sacks: Sacks,
    window: u32,
    ride: Ride,
}

/// Of data on which an acknowledgement rides: what else of that, and what stands in the packet's own note where there is none.
#[derive(Clone, Copy, Debug, Default)]
struct Ride {
    next: u64,
    echo: Time,
    echo_retransmission: bool,
    rtt_us: u32,
}

impl Default for Aside {
    fn default() -> Aside {
        Aside { sacks: Sacks::default(), window: Ack::ANY, ride: Ride::default() }
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

    #[inline(always)]
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

    #[inline(always)]
    pub fn insert_ack(&mut self, ack: &mut Ack, origin: Origin) -> PacketId {
        let mut packet = Packet::of_ack(ack, origin);
        if !ack.sacks.is_empty() || ack.window != Ack::ANY {
            packet.note = self.set_aside(Aside { sacks: std::mem::take(&mut ack.sacks), window: ack.window, ride: Ride::default() });
        }
        self.insert(packet)
    }

    /// Puts data into the network on which an acknowledgement of the other direction rides; the echo of marks is a flag of the packet.
    pub fn insert_ridden(&mut self, mut packet: Packet, ack: Ack) -> PacketId {
        let Ack { next, echo, echo_retransmission, window, sacks, ece, .. } = ack;
        let ride = Ride { next, echo, echo_retransmission, rtt_us: packet.note };
        packet.note = self.set_aside(Aside { sacks, window, ride });
        packet.bits = packet.bits.with(if ece { Bits::RIDDEN | Bits::ECE } else { Bits::RIDDEN });
        self.insert(packet)
    }

    /// Takes the acknowledgement off data, which then is as if none had been on it.
    pub fn take_ride(&mut self, id: PacketId) -> Option<Ack> {
        let packet = self[id];
        let place = packet.aside().filter(|_| packet.bits.is_ridden())?;
        let Aside { sacks, window, ride: Ride { next, echo, echo_retransmission, rtt_us } } = self.take_back(place);
        let data = &mut self[id];
        data.note = rtt_us;
        data.bits = Bits(data.bits.0 & !(Bits::RIDDEN | Bits::ECE));
        Some(Ack { ece: packet.bits.ece(), echo, echo_retransmission, window, on_data: true, sacks, ..Ack::plain(next, packet.size) })
    }

    /// The round-trip time that a packet reports, in microseconds; zero if it reports none, as acknowledgements do.
    #[inline]
    pub fn rtt_us(&self, id: PacketId) -> u32 {
        let packet = &self[id];
        if packet.may_have_aside() { self.rtt_aside(packet) } else { packet.note }
    }

    #[inline(never)]
    fn rtt_aside(&self, packet: &Packet) -> u32 {
        packet.aside().map_or(0, |place| self.asides[place as usize].ride.rtt_us)
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
    #[inline(always)]
    pub fn release_ack(&mut self, id: PacketId) -> Ack {
        let ack = match self[id].aside() {
            None => self[id].ack(Sacks::default(), Ack::ANY),
            Some(place) => {
                let Aside { sacks, window, .. } = self.take_back(place);
                self[id].ack(sacks, window)
            }
        };
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

    /// Takes a packet out of the network that carries nothing aside.
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

#[cfg(test)]
mod tests {
    use ecnlab_units::Span;

    use super::*;

    fn data() -> Packet {
        let origin = Origin { flow: 3, cursor: 0, connection: 7, bits: Bits::default() };
        Packet::of_segment(&Segment { role: Role::Fin, push: true, ..Segment::plain(5, 1500) }, origin, Time::ZERO, 40_000)
    }

    /// What rides on data, with everything on it that may be there.
    fn ack() -> Ack {
        let echo = Time::ZERO + Span::from_millis(3);
        let mut ack = Ack { ece: true, echo, echo_retransmission: true, window: 65_535, on_data: true, ..Ack::plain(9, 1500) };
        ack.sacks.push(11, 12);
        ack
    }

    #[test]
    fn a_packet_is_a_cache_line() {
        assert_eq!(64, size_of::<Packet>());
    }

    #[test]
    fn what_rides_is_taken_off_as_it_was_and_leaves_data_as_if_it_had_never_been_there() {
        let mut arena = Arena::new();
        let id = arena.insert_ridden(data(), ack());
        let copy = arena.copy(id);
        assert_eq!((40_000, true), (arena.rtt_us(id), arena[id].bits.ece()));
        assert_eq!(Some(ack()), arena.take_ride(id));
        assert_eq!((None, 40_000, data().bits), (arena.take_ride(id), arena.rtt_us(id), arena[id].bits));
        assert_eq!(data().segment(), arena[id].segment());
        assert_eq!(Some(ack()), arena.take_ride(copy), "a copy carries it too");
    }

    #[test]
    fn a_segment_is_what_it_was_when_it_arrives() {
        for role in [Role::Plain, Role::Syn, Role::Fin, Role::Pure] {
            for push in [false, true] {
                let segment = Segment { role, push, cwr: push, ..Segment::plain(5, 1500) };
                let origin = Origin { flow: 3, cursor: 0, connection: 7, bits: Bits::of_sender(Dialect::Mecn, false) };
                assert_eq!(segment, Packet::of_segment(&segment, origin, Time::ZERO, 0).segment());
            }
        }
    }
}
