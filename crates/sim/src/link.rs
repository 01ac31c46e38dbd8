//! Links: a buffer, a transmitter and a wire. Packets on the wire form a chain with one deadline, that of the first.
//!
//! Four packets in five cross pipes, whose departures are computed as packets arrive. Their data lie in the first of a link's two cache
//! lines. The second is read for few packets: transmission times with a fraction of a picosecond, a pipe that may be full, a measured
//! queue, an impairment.

use std::collections::VecDeque;

use ecnlab_queue::{self as queue, BurstSchedule, Discipline, QueueItem};
use ecnlab_units::{Ecn, EcnSemantics, Rate, Rng, Span, Time};

use crate::calendar_queue::{CalendarQueue, TieBreak};
use crate::component::ComponentKind;
use crate::impairment::LinkImpairments;
use crate::measures::QueueMeasures;
use crate::packet::{NO_INDEX, Packet, PacketArena, PacketId};
use crate::trace_driven_link::DeliverySchedule;

/// One direction of a link during a run.
#[repr(C, align(64))]
pub struct Link {
    /// Time at which the transmitter is free; a pipe's departures are known on arrival.
    free_at: Time,
    delay: Span,
    /// Transmission time of a packet of `size` bytes, truncated to whole picoseconds.
    transmission: Span,
    /// Packets that have entered the link.
    pub arrived_packets: u64,
    /// Packets that reached the far end.
    pub delivered_packets: u64,
    head: PacketId,
    tail: PacketId,
    last_size: u32,
    /// Number of packets that may be added between `head` and `tail` before the buffer of a pipe might be full; negative if exceeded.
    packets_until_full: i32,
    /// Slot in the calendar queue of the next arrival at the far end, added when the first packet enters its wire.
    pub arrival_slot: u32,
    /// Whether `transmission` and `free_at` have no truncated fraction.
    is_whole_picos: bool,
    /// A pipe without an impairment that does not compute ahead.
    pub is_plain_pipe: bool,
    /// Whether the fast path may pass its packets on without an event: a pipe, or a link whose queue has known departures.
    pub computes_ahead: bool,
    /// A pipe that the fast path may let packets enter at a time to come.
    pub accepts_ahead: bool,

    // Second cache line.
    rate: Rate,
    /// Truncated fraction of `transmission`, in 1/rate of a picosecond.
    transmission_remainder: u64,
    /// Truncated fraction of `free_at`: back-to-back packets add up exactly.
    free_at_remainder: u64,
    /// Packets of a pipe whose transmission is known to have begun, and the last of them if it is still on the link.
    begun_packets: u64,
    last_begun_packet: PacketId,
    limit: i32,
    /// Index of its measured queue, or `NONE`.
    pub queue: u32,
    number: u32,
    /// Impairments that packets pass before the buffer.
    pub impairment: Option<Box<LinkImpairments>>,
    /// Packets that a pipe or an impairment dropped.
    pub dropped_packets: u64,
}

impl Link {
    pub fn new(rate: Rate, delay: Span, limit: u32, queue: u32, impairment: Option<Box<LinkImpairments>>, number: u32) -> Link {
        let limit = limit.min(i32::MAX as u32) as i32;
        Link {
            free_at: Time::ZERO,
            delay,
            transmission: Span::ZERO,
            arrived_packets: 0,
            delivered_packets: 0,
            head: NO_INDEX,
            tail: NO_INDEX,
            last_size: 0,
            packets_until_full: limit,
            arrival_slot: CalendarQueue::NO_SLOT,
            is_whole_picos: true,
            is_plain_pipe: queue == NO_INDEX && impairment.is_none(),
            computes_ahead: false,
            accepts_ahead: false,
            rate,
            transmission_remainder: 0,
            free_at_remainder: 0,
            begun_packets: 0,
            last_begun_packet: NO_INDEX,
            limit,
            queue,
            number,
            impairment,
            dropped_packets: 0,
        }
    }

    /// Reserves the transmitter for a packet, now or when it is free; returns the begin and end of the transmission.
    #[inline]
    pub fn reserve_transmitter(&mut self, size: u32, now: Time) -> (Time, Time) {
        if self.has_last_size(size) { self.transmit_last_size(now) } else { self.schedule_departure_with_remainder(size, now) }
    }

    /// The same for a pipe that is not full and a packet of the last size, with whole picoseconds; `None` otherwise, without effect.
    #[inline(always)]
    pub fn schedule_departure_of_same_size(&mut self, size: u32, now: Time) -> Option<(Time, Time)> {
        (self.packets_until_full > 0 && self.has_last_size(size)).then(|| self.transmit_last_size(now))
    }

    /// Whether a packet has the last size and takes a whole number of picoseconds.
    #[inline(always)]
    fn has_last_size(&self, size: u32) -> bool {
        size == self.last_size && self.is_whole_picos
    }

    #[inline(always)]
    fn transmit_last_size(&mut self, now: Time) -> (Time, Time) {
        let begins = self.free_at.max(now);
        self.free_at = begins + self.transmission;
        (begins, self.free_at)
    }

    /// The same for another size than the last, and with fractions of picoseconds.
    #[inline(never)]
    fn schedule_departure_with_remainder(&mut self, size: u32, now: Time) -> (Time, Time) {
        if size != self.last_size {
            (self.transmission, self.transmission_remainder) = self.rate.transmission_time_with_remainder(size);
            self.last_size = size;
        }
        if now > self.free_at {
            self.free_at = now;
            self.free_at_remainder = 0;
        }
        let begins = self.free_at;
        self.free_at += self.transmission;
        self.free_at_remainder += self.transmission_remainder;
        if self.free_at_remainder >= self.rate.bps() {
            self.free_at_remainder -= self.rate.bps();
            self.free_at += Span::from_picos(1);
        }
        self.is_whole_picos = self.transmission_remainder == 0 && self.free_at_remainder == 0;
        (begins, self.free_at)
    }

    /// Transmission time of a packet of this size.
    pub fn transmission_time(&self, size: u32) -> Span {
        self.rate.transmission_time(size)
    }

    /// Transmission time of a packet of the last size, without fractions of a picosecond.
    #[inline(always)]
    pub fn transmission_time_of_last_size(&self) -> Span {
        self.transmission
    }

    /// Sets the rate of transmissions that begin from now on.
    pub fn set_rate(&mut self, rate: Rate) {
        let fraction = u128::from(self.free_at_remainder) * u128::from(rate.bps()) / u128::from(self.rate.bps());
        self.free_at_remainder = fraction as u64;
        self.rate = rate;
        // No packet has this size.
        self.last_size = 0;
    }

    /// Reassigns a pipe to another flow, with its rate, delay and buffer. Packets on it continue.
    pub fn set_rate_delay_and_limit(&mut self, rate: Rate, delay: Span, limit: u32) {
        self.set_rate(rate);
        self.set_delay(delay);
        let limit = limit.min(i32::MAX as u32) as i32;
        self.packets_until_full += limit - self.limit;
        self.limit = limit;
    }

    /// Adds the component of its arrivals to the calendar queue, which an idle link and a pipe that is always computed ahead do not need.
    #[cold]
    #[inline(never)]
    fn add_arrival_slot(&mut self, calendar: &mut CalendarQueue) {
        self.arrival_slot = calendar.add_component(ComponentKind::Link, self.number);
    }

    /// Removes all packets from the wire; returns the first of their chain.
    pub fn clear_wire(&mut self) -> PacketId {
        self.packets_until_full = self.limit;
        self.tail = NO_INDEX;
        std::mem::replace(&mut self.head, NO_INDEX)
    }

    pub fn delay(&self) -> Span {
        self.delay
    }

    /// Time at which the transmitter is free.
    #[inline]
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// Number of packets that may wait in a pipe.
    pub fn limit(&self) -> usize {
        self.limit as usize
    }

    /// Whether it is a pipe without impairments: the arrival time of each of its packets is known on entry.
    pub fn has_plain_pipe(&self) -> bool {
        self.queue == NO_INDEX && self.impairment.is_none()
    }

    /// Arrival time of the first packet on the wire.
    pub fn next_arrival(&self, packets: &PacketArena) -> Option<Time> {
        (self.head != NO_INDEX).then(|| packets[self.head].arrives_at)
    }

    /// Sets the delay of later packets; none of them overtakes a packet on the wire.
    pub fn set_delay(&mut self, delay: Span) {
        self.delay = delay;
    }

    /// Whether the buffer of a pipe is full. Exact, but counted only when it might be full.
    #[inline]
    pub fn is_full(&mut self, packets: &PacketArena, now: Time) -> bool {
        self.packets_until_full <= 0 && self.free_at > now && self.waiting_packets(packets, now) >= self.limit as u64
    }

    /// Packets in a pipe whose transmission has not begun. Amortized: each packet is passed once.
    #[inline(never)]
    fn waiting_packets(&mut self, packets: &PacketArena, now: Time) -> u64 {
        let mut next = if self.begun_packets > self.delivered_packets { packets[self.last_begun_packet].next } else { self.head };
        self.begun_packets = self.begun_packets.max(self.delivered_packets);
        while next != NO_INDEX {
            let packet = &packets[next];
            let departs = packet.arrives_at.since(Time::ZERO + self.delay);
            if departs > now.since(Time::ZERO) + self.rate.transmission_time(packet.size) {
                break;
            }
            self.begun_packets += 1;
            (self.last_begun_packet, next) = (next, packet.next);
        }
        self.delivered_packets + u64::from(self.wire_packet_count()) - self.begun_packets
    }

    /// Puts a packet on the wire. If it is the first one, the link's deadline becomes that of this packet.
    #[inline(always)]
    pub fn push_to_wire(
        &mut self,
        packets: &mut PacketArena,
        calendar: &mut CalendarQueue,
        id: PacketId,
        departs: Time,
        tie_break: TieBreak,
    ) {
        self.packets_until_full -= 1;
        let mut due = departs + self.delay;
        let last = std::mem::replace(&mut self.tail, id);
        let first = self.head == NO_INDEX;
        if first {
            self.head = id;
        } else {
            let last = &mut packets[last];
            last.next = id;
            due = due.max(last.arrives_at);
        }
        let packet = &mut packets[id];
        packet.arrives_at = due;
        packet.tie_break = tie_break;
        packet.next = NO_INDEX;
        if first {
            if self.arrival_slot == CalendarQueue::NO_SLOT {
                self.add_arrival_slot(calendar);
            }
            calendar.set_deadline_with_tie_break(self.arrival_slot, due, tie_break);
        }
    }

    /// Removes the packet that has reached the far end, and returns the time of the next arrival.
    #[inline]
    pub fn pop_arrived<'a>(&mut self, packets: &'a mut PacketArena) -> (PacketId, &'a mut Packet, Option<(Time, TieBreak)>) {
        let id = self.head;
        self.head = packets[id].next;
        self.packets_until_full += 1;
        self.delivered_packets += 1;
        let next = (self.head != NO_INDEX).then(|| (packets[self.head].arrives_at, packets[self.head].tie_break));
        (id, &mut packets[id], next)
    }

    /// The first packet on the wire, or `NONE`.
    #[inline]
    pub fn first_packet(&self) -> PacketId {
        self.head
    }

    /// Removes the packet behind `previous`, or the first one if that is `NONE`, as if it had arrived. Returns whether it was the first.
    pub fn remove_packet_after(&mut self, packets: &mut PacketArena, previous: PacketId) -> bool {
        let is_first = previous == NO_INDEX;
        let id = if is_first { self.head } else { packets[previous].next };
        let next = packets[id].next;
        if is_first {
            self.head = next;
        } else {
            packets[previous].next = next;
        }
        if next == NO_INDEX {
            self.tail = previous;
        }
        self.packets_until_full += 1;
        self.delivered_packets += 1;
        is_first
    }

    /// The packets on this link, first to last.
    pub fn iter_packets_on_wire<'a>(&self, packets: &'a PacketArena) -> impl Iterator<Item = PacketId> + 'a {
        std::iter::successors((self.head != NO_INDEX).then_some(self.head), |&id| Some(packets[id].next).filter(|&next| next != NO_INDEX))
    }

    /// Number of packets between the buffer's exit and the far end.
    pub fn wire_packet_count(&self) -> u32 {
        self.limit.abs_diff(self.packets_until_full)
    }
}

/// A measured queue during a run.
pub struct LinkQueue {
    pub discipline: queue::Queue<QueuedPacket>,
    pub rng: Rng,
    pub link: u32,
    /// Slot of the transmitter in the calendar queue.
    pub transmitter_slot: u32,
    /// Slot of the discipline's timer in the calendar queue, or `NONE` if it has none.
    pub timer_slot: u32,
    /// Whether a transmission is in progress, or the queue waits for a delivery opportunity or a slot.
    pub transmitting: bool,
    /// Whether its link is down.
    pub is_down: bool,
    /// Whether it has one of the two schedules: its link does not send as soon as the transmitter is free.
    pub follows_schedule: bool,
    /// Delivery opportunities of its link, if it does not send at a rate.
    pub delivery_schedule: Option<Box<DeliverySchedule>>,
    /// Slots of its link, if it sends in bursts.
    pub burst_schedule: Option<Box<BurstSchedule>>,
    pub measures: QueueMeasures,
    /// Whether departures are computed when packets are stored; `None` until the first event after it was added.
    pub has_known_departures: Option<bool>,
    pub known_departures: KnownDepartures,
}

impl LinkQueue {
    /// Counts the time since the last change of the length, before a change now; returns the length.
    #[inline(always)]
    pub fn update_length(&mut self, now: Time) -> usize {
        let length = self.discipline.len();
        self.measures.update_length(length, now);
        length
    }
}

/// Departures that were computed when the packets were stored. The queue itself is brought up to date when its state is read.
#[derive(Default)]
pub struct KnownDepartures {
    /// Departure times of the waiting packets.
    pub of_waiting: VecDeque<Time>,
    /// Begin and end of the current transmission.
    pub began: Time,
    pub ends: Time,
}

/// A waiting packet as its queue sees it.
///
/// It holds the packet's fields at arrival, and marks set since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedPacket {
    pub packet: PacketId,
    size: u32,
    flow: u32,
    rtt_us: u32,
    ecn: Ecn,
    ecn_semantics: EcnSemantics,
    connection: u8,
    is_ack: bool,
}

impl QueuedPacket {
    #[inline]
    pub fn new(id: PacketId, packets: &PacketArena) -> QueuedPacket {
        let packet = &packets[id];
        QueuedPacket {
            packet: id,
            size: packet.size,
            flow: packet.flow,
            rtt_us: packets.rtt_us(id),
            ecn: packet.ecn,
            ecn_semantics: packet.ecn_semantics(),
            connection: packet.connection_id,
            is_ack: packet.is_ack_from_sink(),
        }
    }

    /// Round-trip time that the packet reports, in microseconds; zero if none.
    pub fn rtt_us(&self) -> u32 {
        self.rtt_us
    }
}

impl QueueItem for QueuedPacket {
    fn size(&self) -> u32 {
        self.size
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }

    fn ecn_semantics(&self) -> EcnSemantics {
        self.ecn_semantics
    }

    /// Identifies one direction of a connection: a later connection of the same flow is another flow to the queue, as it has another port.
    fn flow_key(&self) -> u64 {
        u64::from(self.connection) << 33 | u64::from(self.flow) << 1 | u64::from(self.is_ack)
    }

    fn rtt(&self) -> Span {
        Span::from_micros(u64::from(self.rtt_us))
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_transport::{Ack, Segment};
    use ecnlab_units::CongestionLevel;

    use super::*;
    use crate::packet::{PacketFlags, PacketOrigin};

    fn queued_packet(packet: Packet) -> QueuedPacket {
        let mut packets = PacketArena::new();
        let id = packets.insert(packet);
        QueuedPacket::new(id, &packets)
    }

    #[test]
    fn flow_ids_differ_by_direction_and_connection_only() {
        let origin = |flow, connection_id| PacketOrigin { flow, hop_index: 0, connection_id, flags: PacketFlags::default() };
        let data = |seq, origin| queued_packet(Packet::from_segment(&Segment::plain(seq, 1000), origin, Time::ZERO, 0)).flow_key();
        let ack = |origin| queued_packet(Packet::from_ack(&Ack::plain(1, 40), origin)).flow_key();
        assert_eq!(data(1, origin(7, 0)), data(2, origin(7, 0)));
        let mut all = vec![data(1, origin(7, 0)), ack(origin(7, 0)), data(1, origin(7, 1)), ack(origin(7, 1)), data(1, origin(8, 0))];
        all.sort_unstable();
        all.dedup();
        assert_eq!(5, all.len());
    }

    #[test]
    fn an_ack_has_no_rtt_and_cannot_be_marked() {
        let origin = PacketOrigin { flow: 0, hop_index: 0, connection_id: 0, flags: PacketFlags::default() };
        let mut waiting = queued_packet(Packet::from_ack(&Ack::plain(1, 40), origin));
        waiting.mark(CongestionLevel::Congested);
        assert_eq!((Span::ZERO, Ecn::NotEct, false), (waiting.rtt(), waiting.ecn(), waiting.can_be_marked(CongestionLevel::Congested)));
    }
}
