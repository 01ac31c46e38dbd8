//! Packets in the network: 64 bytes each, in one arena, chained through their `next`.

use ecnlab_transport::{AccEcnOption, Ack, SackOption, Segment, SegmentType};
use ecnlab_units::{Ecn, EcnSemantics, Span, Time, words};

use crate::calendar_queue::TieBreak;
use crate::index_vec::IndexVec;

/// Index of a packet in its arena.
pub type PacketId = u32;

pub const NO_INDEX: PacketId = PacketId::MAX;

/// Direction of a packet or a link, relative to the flow for which it was declared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From source to sink, the direction of data.
    #[default]
    Forward,
    /// From sink to source, the direction of pure ACKs.
    Back,
}

/// A packet of an external host.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExternalPacket {
    pub flow: u32,
    pub direction: Direction,
    /// Bytes on the wire, from the IP header on.
    pub size: u32,
    /// Application data in it, in bytes.
    pub payload: u32,
    pub retransmission: bool,
    pub ecn: Ecn,
    /// Round-trip time reported to queues, if known; packets to the source report none.
    pub rtt: Option<Span>,
    /// Distinguishes connections of one flow for queues.
    pub connection_id: u8,
    /// Its segment type and flags, for impairments that match them. A packet to the sink without flags and data is an ACK of its sender,
    /// not data.
    pub segment_type: SegmentType,
    pub ece: bool,
    pub cwr: bool,
    /// The driver's number of it.
    pub handle: u32,
}

/// A packet in the network. The first two fields belong to the link that it is on.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Packet {
    /// Arrival time at the far end of its link.
    pub arrives_at: Time,
    pub tie_break: TieBreak,
    pub next: PacketId,
    /// Position on its route: an index into the engine's hops.
    pub hop_index: u32,
    /// A segment's number, or the next segment that an acknowledgement expects.
    pub seq: u64,
    /// Time at which the segment was sent; an ACK carries that of the segment that caused it.
    pub sent_at: Time,
    pub flow: u32,
    pub size: u32,
    /// Accessed by [`PacketArena::rtt_us`] and [`Packet::ext_index`].
    ext_or_rtt_us: u32,
    pub ecn: Ecn,
    /// Number of its flow's connection, modulo 256.
    pub connection_id: u8,
    pub flags: PacketFlags,
}

/// One-bit fields of a packet, and its segment type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketFlags(u16);

impl PacketFlags {
    const CWR: u16 = 1;
    const ECE: u16 = 2;
    const RETRANSMISSION: u16 = 4;
    const ACK: u16 = 8;
    const MECN: u16 = 16;
    const DATAGRAM: u16 = 32;
    const COPY: u16 = 64;
    const PUSH: u16 = 128;
    const PIGGYBACKED: u16 = 256;
    /// First of the two bits of the segment type.
    const SEGMENT_TYPE_SHIFT: u32 = 9;
    const EXTERNAL: u16 = 2048;
    const AE: u16 = 4096;
    /// The Accurate ECN option on a segment.
    const ACCECN_OPTION: u16 = 8192;

    fn new(segment_type: SegmentType, cwr: bool, ece: bool, retransmission: bool) -> PacketFlags {
        PacketFlags(
            u16::from(cwr)
                | u16::from(ece) << 1
                | u16::from(retransmission) << 2
                | (segment_type as u16) << PacketFlags::SEGMENT_TYPE_SHIFT,
        )
    }

    /// Flags common to all packets of a sender: ECN semantics, and whether they are datagrams.
    pub fn common_flags_of_sender(ecn_semantics: EcnSemantics, datagrams: bool) -> PacketFlags {
        let mecn = if ecn_semantics == EcnSemantics::Mecn { PacketFlags::MECN } else { 0 };
        PacketFlags(if datagrams { mecn | PacketFlags::DATAGRAM } else { mecn })
    }

    /// Sets more bits.
    fn with_bits_set(self, bits: u16) -> PacketFlags {
        PacketFlags(self.0 | bits)
    }

    pub fn cwr(self) -> bool {
        self.0 & PacketFlags::CWR != 0
    }

    pub fn ece(self) -> bool {
        self.0 & PacketFlags::ECE != 0
    }

    /// AE, the third bit of the ACE field of Accurate ECN.
    pub fn ae(self) -> bool {
        self.0 & PacketFlags::AE != 0
    }

    /// For data: whether it carries the Accurate ECN option.
    pub fn accecn_option(self) -> bool {
        self.0 & PacketFlags::ACCECN_OPTION != 0
    }

    /// For an ACK: whether the segment that caused it was a retransmission.
    pub fn is_retransmission(self) -> bool {
        self.0 & PacketFlags::RETRANSMISSION != 0
    }

    #[inline]
    pub fn segment_type(self) -> SegmentType {
        match self.0 >> PacketFlags::SEGMENT_TYPE_SHIFT & 3 {
            0 => SegmentType::Plain,
            1 => SegmentType::Syn,
            2 => SegmentType::Fin,
            _ => SegmentType::PureAck,
        }
    }

    /// PSH: the application has written no more data for now.
    pub fn push(self) -> bool {
        self.0 & PacketFlags::PUSH != 0
    }

    /// Whether data carry a piggybacked ACK of the other direction.
    #[inline]
    pub fn is_piggybacked(self) -> bool {
        self.0 & PacketFlags::PIGGYBACKED != 0
    }

    /// Whether it belongs to an external host.
    #[inline]
    pub fn is_external(self) -> bool {
        self.0 & PacketFlags::EXTERNAL != 0
    }

    /// Whether a link created it as a copy of a packet.
    pub fn is_duplicate(self) -> bool {
        self.0 & PacketFlags::COPY != 0
    }

    /// Clears the ECN flags of TCP (ECE, CWR, AE).
    pub fn without_ecn(self) -> PacketFlags {
        PacketFlags(self.0 & !(PacketFlags::CWR | PacketFlags::ECE | PacketFlags::AE))
    }
}

words! {
    /// Kind of a packet.
    pub enum PacketKind {
        /// From a TCP sender to its sink.
        Data = "data",
        /// From a sink back to its sender.
        Ack = "ack",
        Datagram = "datagram",
    }
}

/// Origin of packets: their flow, the first hop of their route and the common flags.
#[derive(Clone, Copy, Debug)]
pub struct PacketOrigin {
    pub flow: u32,
    pub hop_index: u32,
    pub connection_id: u8,
    pub flags: PacketFlags,
}

impl Packet {
    /// A packet of this origin without content and extension.
    #[inline(always)]
    fn blank(origin: PacketOrigin) -> Packet {
        let PacketOrigin { flow, hop_index, connection_id, flags } = origin;
        Packet {
            arrives_at: Time::ZERO,
            tie_break: TieBreak::default(),
            next: NO_INDEX,
            hop_index,
            seq: 0,
            sent_at: Time::ZERO,
            flow,
            size: 0,
            ext_or_rtt_us: NO_INDEX,
            ecn: Ecn::NotEct,
            connection_id,
            flags,
        }
    }

    #[inline(always)]
    pub fn from_segment(segment: &Segment, origin: PacketOrigin, sent_at: Time, rtt_us: u32) -> Packet {
        let bits = PacketFlags::new(segment.segment_type, segment.cwr, segment.ece, segment.retransmission);
        let push = if segment.push { PacketFlags::PUSH } else { 0 };
        let accurate = u16::from(segment.ae) << 12 | u16::from(segment.accecn_option) << 13;
        Packet {
            seq: segment.seq,
            sent_at,
            size: segment.size,
            ext_or_rtt_us: rtt_us,
            ecn: segment.ecn,
            flags: bits.with_bits_set(origin.flags.0 | push | accurate),
            ..Packet::blank(origin)
        }
    }

    #[inline]
    pub fn from_ack(ack: &Ack, origin: PacketOrigin) -> Packet {
        Packet {
            seq: ack.next,
            sent_at: ack.echo,
            size: ack.size,
            ecn: ack.ecn,
            flags: PacketFlags::new(ack.segment_type, ack.cwr, ack.ece, ack.echo_retransmission)
                .with_bits_set(PacketFlags::ACK | u16::from(ack.ae) << 12),
            ..Packet::blank(origin)
        }
    }

    /// An external packet that enters the network. Its `seq` holds the payload size and, below it, the handle.
    pub fn from_external(external: &ExternalPacket, origin: PacketOrigin, now: Time) -> Packet {
        let is_bare = external.direction == Direction::Forward && external.segment_type == SegmentType::Plain && external.payload == 0;
        let segment_type = if is_bare { SegmentType::PureAck } else { external.segment_type };
        let flags =
            PacketFlags::new(segment_type, external.cwr, external.ece, external.retransmission).with_bits_set(PacketFlags::EXTERNAL);
        let rtt_us = external.rtt.map_or(0, |rtt| rtt.picos() / 1_000_000).min(u64::from(NO_INDEX - 1)) as u32;
        let (flags, ext_or_rtt_us) = match external.direction {
            Direction::Forward => (flags.with_bits_set(origin.flags.0), rtt_us),
            Direction::Back => (flags.with_bits_set(PacketFlags::ACK), NO_INDEX),
        };
        Packet {
            seq: u64::from(external.payload) << 32 | u64::from(external.handle),
            sent_at: now,
            size: external.size,
            ext_or_rtt_us,
            ecn: external.ecn,
            flags,
            ..Packet::blank(origin)
        }
    }

    /// For an external packet: the driver's number of it.
    pub fn handle(&self) -> u32 {
        self.seq as u32
    }

    /// For an external packet: its direction.
    pub fn direction(&self) -> Direction {
        if self.is_ack_from_sink() { Direction::Back } else { Direction::Forward }
    }

    /// For an external packet: application data that are not retransmitted.
    pub fn first_time_payload(&self) -> u32 {
        if self.flags.is_retransmission() || self.flags.is_duplicate() { 0 } else { (self.seq >> 32) as u32 }
    }

    /// Its kind; a TCP sender's pure ACK counts as data.
    #[inline]
    pub fn kind(&self) -> PacketKind {
        match self.flags.0 & (PacketFlags::ACK | PacketFlags::DATAGRAM) {
            0 => PacketKind::Data,
            PacketFlags::DATAGRAM => PacketKind::Datagram,
            _ => PacketKind::Ack,
        }
    }

    /// Whether it is an ACK on its return route.
    #[inline]
    pub fn is_ack_from_sink(&self) -> bool {
        self.flags.0 & PacketFlags::ACK != 0
    }

    /// Semantics of its ECN field.
    #[inline]
    pub fn ecn_semantics(&self) -> EcnSemantics {
        if self.flags.0 & PacketFlags::MECN == 0 { EcnSemantics::Classic } else { EcnSemantics::Mecn }
    }

    /// Segment type by its TCP flags.
    #[inline]
    pub fn segment_type(&self) -> SegmentType {
        self.flags.segment_type()
    }

    /// Whether a packet of its kind may have an extension.
    #[inline]
    fn may_have_ext(&self) -> bool {
        self.flags.0 & (PacketFlags::ACK | PacketFlags::PIGGYBACKED) != 0
    }

    /// Index of its extension, if it has one.
    #[inline]
    fn ext_index(&self) -> Option<u32> {
        (self.may_have_ext() && self.ext_or_rtt_us != NO_INDEX).then_some(self.ext_or_rtt_us)
    }

    #[inline]
    pub fn to_segment(&self) -> Segment {
        Segment {
            seq: self.seq,
            size: self.size,
            segment_type: self.segment_type(),
            ecn: self.ecn,
            cwr: self.flags.cwr(),
            ece: self.flags.ece(),
            retransmission: self.flags.is_retransmission(),
            push: self.flags.push(),
            ae: self.flags.ae(),
            accecn_option: self.flags.accecn_option(),
        }
    }

    /// The ACK, without its extension.
    #[inline(always)]
    fn to_ack(self) -> Ack {
        Ack {
            segment_type: self.segment_type(),
            ece: self.flags.ece(),
            cwr: self.flags.cwr(),
            echo: self.sent_at,
            echo_retransmission: self.flags.is_retransmission(),
            ecn: self.ecn,
            ae: self.flags.ae(),
            ..Ack::plain(self.seq, self.size)
        }
    }
}

/// Fields that few packets have, stored separately so that a packet fits one cache line.
#[derive(Clone, Debug)]
struct PacketExt {
    sacks: SackOption,
    window: u32,
    accecn: AccEcnOption,
    tsval_ms: u32,
    piggybacked_ack: PiggybackedAck,
}

/// For data with a piggybacked ACK: the fields of the ACK, and the RTT that the packet itself reports.
#[derive(Clone, Copy, Debug, Default)]
struct PiggybackedAck {
    next: u64,
    echo: Time,
    echo_retransmission: bool,
    rtt_us: u32,
}

impl Default for PacketExt {
    fn default() -> PacketExt {
        PacketExt {
            sacks: SackOption::default(),
            window: Ack::WINDOW_UNLIMITED,
            accecn: AccEcnOption::default(),
            tsval_ms: 0,
            piggybacked_ack: PiggybackedAck::default(),
        }
    }
}

/// All packets in the network.
#[derive(Default)]
pub struct PacketArena {
    packets: IndexVec<Packet>,
    first_free: PacketId,
    live_packets: u32,
    /// Extensions of packets, and the indices of free ones.
    exts: IndexVec<PacketExt>,
    free_exts: Vec<u32>,
}

impl PacketArena {
    pub fn new() -> PacketArena {
        PacketArena { first_free: NO_INDEX, ..PacketArena::default() }
    }

    #[inline(always)]
    pub fn insert(&mut self, packet: Packet) -> PacketId {
        self.live_packets += 1;
        if self.first_free == NO_INDEX {
            return self.packets.push(packet);
        }
        let id = self.first_free;
        self.first_free = std::mem::replace(&mut self.packets[id], packet).next;
        id
    }

    #[inline(always)]
    pub fn insert_ack(&mut self, ack: &mut Ack, origin: PacketOrigin) -> PacketId {
        let mut packet = Packet::from_ack(ack, origin);
        // A SYN-ACK has the Accurate ECN option, but no timestamp yet.
        let is_accurate = ack.is_accurate() || ack.segment_type == SegmentType::Syn && ack.accecn.is_present();
        if !ack.sacks.is_empty() || ack.window != Ack::WINDOW_UNLIMITED || is_accurate {
            packet.ext_or_rtt_us = self.store_ext(PacketExt {
                sacks: std::mem::take(&mut ack.sacks),
                window: ack.window,
                accecn: ack.accecn,
                tsval_ms: ack.tsval_ms,
                piggybacked_ack: PiggybackedAck::default(),
            });
        }
        self.insert(packet)
    }

    /// Inserts data with a piggybacked ACK of the other direction; ECE of the ACK, or its ACE field, becomes that of the packet.
    pub fn insert_with_ack(&mut self, mut packet: Packet, ack: Ack) -> PacketId {
        let Ack { next, echo, echo_retransmission, window, sacks, ece, cwr, ae, accecn, tsval_ms, .. } = ack;
        let piggybacked_ack = PiggybackedAck { next, echo, echo_retransmission, rtt_us: packet.ext_or_rtt_us };
        packet.ext_or_rtt_us = self.store_ext(PacketExt { sacks, window, accecn, tsval_ms, piggybacked_ack });
        if tsval_ms > 0 {
            // With Accurate ECN the ACE field is the ACK's.
            packet.flags = packet.flags.without_ecn().with_bits_set(u16::from(ae) << 12 | u16::from(cwr));
        }
        packet.flags = packet.flags.with_bits_set(if ece { PacketFlags::PIGGYBACKED | PacketFlags::ECE } else { PacketFlags::PIGGYBACKED });
        self.insert(packet)
    }

    /// Removes the piggybacked ACK from data.
    pub fn remove_piggybacked_ack(&mut self, id: PacketId) -> Option<Ack> {
        let packet = self[id];
        let place = packet.ext_index().filter(|_| packet.flags.is_piggybacked())?;
        let PacketExt { sacks, window, accecn, tsval_ms, piggybacked_ack: PiggybackedAck { next, echo, echo_retransmission, rtt_us } } =
            self.remove_ext(place);
        let data = &mut self[id];
        data.ext_or_rtt_us = rtt_us;
        let is_accurate = tsval_ms > 0;
        // The ACE field of Accurate ECN stays on the data too.
        let cleared = if is_accurate { PacketFlags::PIGGYBACKED } else { PacketFlags::PIGGYBACKED | PacketFlags::ECE };
        data.flags = PacketFlags(data.flags.0 & !cleared);
        let mut ack =
            Ack { ece: packet.flags.ece(), echo, echo_retransmission, window, on_data: true, sacks, ..Ack::plain(next, packet.size) };
        if is_accurate {
            (ack.cwr, ack.ae, ack.accecn, ack.tsval_ms) = (packet.flags.cwr(), packet.flags.ae(), accecn, tsval_ms);
        }
        Some(ack)
    }

    /// Round-trip time that a packet reports, in microseconds; zero if it reports none, as ACKs do.
    #[inline]
    pub fn rtt_us(&self, id: PacketId) -> u32 {
        let packet = &self[id];
        if packet.may_have_ext() { self.rtt_us_from_ext(packet) } else { packet.ext_or_rtt_us }
    }

    #[inline(never)]
    fn rtt_us_from_ext(&self, packet: &Packet) -> u32 {
        packet.ext_index().map_or(0, |place| self.exts[place].piggybacked_ack.rtt_us)
    }

    /// Inserts a copy of a packet.
    pub fn duplicate(&mut self, id: PacketId) -> PacketId {
        let mut copy = self[id];
        copy.flags = copy.flags.with_bits_set(PacketFlags::COPY);
        if let Some(place) = copy.ext_index() {
            copy.ext_or_rtt_us = self.store_ext(self.exts[place].clone());
        }
        self.insert(copy)
    }

    /// Removes an ACK from the network.
    #[inline(always)]
    pub fn remove_ack(&mut self, id: PacketId) -> Ack {
        let ack = match self[id].ext_index() {
            None => self[id].to_ack(),
            Some(place) => {
                let PacketExt { sacks, window, accecn, tsval_ms, .. } = self.remove_ext(place);
                Ack { sacks, window, accecn, tsval_ms, ..self[id].to_ack() }
            }
        };
        self.remove_without_ext(id);
        ack
    }

    /// Stores an extension until its packet arrives; returns its index.
    #[inline(never)]
    fn store_ext(&mut self, aside: PacketExt) -> u32 {
        let place = self.free_exts.pop().unwrap_or_else(|| self.exts.push(PacketExt::default()));
        self.exts[place] = aside;
        place
    }

    #[inline(never)]
    fn remove_ext(&mut self, place: u32) -> PacketExt {
        self.free_exts.push(place);
        std::mem::take(&mut self.exts[place])
    }

    /// Removes a packet without an extension from the network.
    #[inline]
    pub fn remove_without_ext(&mut self, id: PacketId) {
        self.live_packets -= 1;
        self.packets[id].next = std::mem::replace(&mut self.first_free, id);
    }

    /// Number of packets in the network.
    pub fn live_packets(&self) -> u32 {
        self.live_packets
    }
}

impl std::ops::Index<PacketId> for PacketArena {
    type Output = Packet;
    fn index(&self, id: PacketId) -> &Packet {
        &self.packets[id]
    }
}

impl std::ops::IndexMut<PacketId> for PacketArena {
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.packets[id]
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Span;

    use super::*;

    fn data_packet() -> Packet {
        let origin = PacketOrigin { flow: 3, hop_index: 0, connection_id: 7, flags: PacketFlags::default() };
        Packet::from_segment(&Segment { segment_type: SegmentType::Fin, push: true, ..Segment::plain(5, 1500) }, origin, Time::ZERO, 40_000)
    }

    /// A piggybacked ACK with every field set.
    fn full_ack() -> Ack {
        let echo = Time::ZERO + Span::from_millis(3);
        let mut ack = Ack { ece: true, echo, echo_retransmission: true, window: 65_535, on_data: true, ..Ack::plain(9, 1500) };
        ack.sacks.push(11, 12);
        ack
    }

    #[test]
    fn a_packet_fits_one_cache_line() {
        assert_eq!(64, size_of::<Packet>());
    }

    #[test]
    fn a_piggybacked_ack_is_removed_unchanged_and_leaves_the_data_unchanged() {
        let mut arena = PacketArena::new();
        let id = arena.insert_with_ack(data_packet(), full_ack());
        let copy = arena.duplicate(id);
        assert_eq!((40_000, true), (arena.rtt_us(id), arena[id].flags.ece()));
        assert_eq!(Some(full_ack()), arena.remove_piggybacked_ack(id));
        assert_eq!((None, 40_000, data_packet().flags), (arena.remove_piggybacked_ack(id), arena.rtt_us(id), arena[id].flags));
        assert_eq!(data_packet().to_segment(), arena[id].to_segment());
        assert_eq!(Some(full_ack()), arena.remove_piggybacked_ack(copy), "a copy carries it too");
    }

    #[test]
    fn a_segment_survives_conversion_to_a_packet() {
        for segment_type in [SegmentType::Plain, SegmentType::Syn, SegmentType::Fin, SegmentType::PureAck] {
            for push in [false, true] {
                let segment = Segment { segment_type, push, cwr: push, ..Segment::plain(5, 1500) };
                let origin = PacketOrigin {
                    flow: 3,
                    hop_index: 0,
                    connection_id: 7,
                    flags: PacketFlags::common_flags_of_sender(EcnSemantics::Mecn, false),
                };
                assert_eq!(segment, Packet::from_segment(&segment, origin, Time::ZERO, 0).to_segment());
            }
        }
    }
}
