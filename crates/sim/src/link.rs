//! Links: a buffer, a transmitter and a wire. What is on the wire is a chain of packets with one deadline, that of the first.
//!
//! Four packets in five cross pipes, whose departures are computed as packets arrive. What that takes lies in the first of a link's two
//! cache lines; the second is read for what few packets need: a transmission time with a fraction of a picosecond, a pipe that may be
//! full, a measured queue, an impairment.

use ecnlab_queue::{self as queue, Frame};
use ecnlab_units::{Dialect, Ecn, Rate, Rng, Span, Time};

use crate::deadlines::Order;
use crate::deliveries::Deliveries;
use crate::impairment::Impairment;
use crate::measures::QueueMeasures;
use crate::packet::{Arena, NONE, Packet, PacketId};

/// One direction of a link as it runs.
#[repr(C, align(64))]
pub struct Link {
    /// When the transmitter is free; a pipe's departures are known on arrival.
    free_at: Time,
    delay: Span,
    /// How long a packet of `size` bytes takes to send, cut to whole picoseconds.
    transmission: Span,
    /// Packets that came to the link.
    pub arrived: u64,
    /// Packets that reached the far end.
    pub delivered: u64,
    head: PacketId,
    tail: PacketId,
    size: u32,
    /// How many more packets there can be from `head` to `tail` before the buffer of a pipe might be full: below zero there are more.
    room: i32,
    /// Its place in the calendar.
    pub deadline: u32,
    /// Nothing is cut off `transmission` and `free_at`.
    whole: bool,
    /// A pipe without an impairment.
    pub plain: bool,

    // The second line.
    rate: Rate,
    /// What is cut off `transmission`, in 1/rate of a picosecond.
    cut_off: u64,
    /// What was cut off `free_at`: back-to-back packets add up exactly.
    fraction: u64,
    /// Packets of a pipe known to have begun their transmission, and the last one of them if it is still on the link.
    begun: u64,
    last_begun: PacketId,
    limit: i32,
    /// Index of its measured queue, or `NONE`.
    pub queue: u32,
    /// What happens to packets before they wait, if anything.
    pub impairment: Option<Box<Impairment>>,
    /// Packets that a pipe or an impairment dropped.
    pub dropped: u64,
}

impl Link {
    pub fn new(rate: Rate, delay: Span, limit: u32, queue: u32, impairment: Option<Box<Impairment>>, deadline: u32) -> Link {
        let limit = limit.min(i32::MAX as u32) as i32;
        Link {
            free_at: Time::ZERO,
            delay,
            transmission: Span::ZERO,
            arrived: 0,
            delivered: 0,
            head: NONE,
            tail: NONE,
            size: 0,
            room: limit,
            deadline,
            whole: true,
            plain: queue == NONE && impairment.is_none(),
            rate,
            cut_off: 0,
            fraction: 0,
            begun: 0,
            last_begun: NONE,
            limit,
            queue,
            impairment,
            dropped: 0,
        }
    }

    /// Occupies the transmitter with a packet, now or when it is free; returns when its transmission begins and ends.
    #[inline]
    pub fn depart(&mut self, size: u32, now: Time) -> (Time, Time) {
        if self.repeats(size) { self.repeat(now) } else { self.depart_exactly(size, now) }
    }

    /// The same of a pipe with room for a packet of the same size as the last, where nothing is cut off; else nothing is done.
    #[inline(always)]
    pub fn depart_again(&mut self, size: u32, now: Time) -> Option<(Time, Time)> {
        (self.room > 0 && self.repeats(size)).then(|| self.repeat(now))
    }

    /// Whether a packet is like the last, and takes a whole number of picoseconds.
    #[inline(always)]
    fn repeats(&self, size: u32) -> bool {
        size == self.size && self.whole
    }

    #[inline(always)]
    fn repeat(&mut self, now: Time) -> (Time, Time) {
        let begins = self.free_at.max(now);
        self.free_at = begins + self.transmission;
        (begins, self.free_at)
    }

    /// The same for another size than the last, and where fractions of picoseconds add up.
    #[inline(never)]
    fn depart_exactly(&mut self, size: u32, now: Time) -> (Time, Time) {
        if size != self.size {
            (self.transmission, self.cut_off) = self.rate.transmission_exact(size);
            self.size = size;
        }
        if now > self.free_at {
            self.free_at = now;
            self.fraction = 0;
        }
        let begins = self.free_at;
        self.free_at += self.transmission;
        self.fraction += self.cut_off;
        if self.fraction >= self.rate.bps() {
            self.fraction -= self.rate.bps();
            self.free_at += Span::from_picos(1);
        }
        self.whole = self.cut_off == 0 && self.fraction == 0;
        (begins, self.free_at)
    }

    /// How long a packet of this size takes to send.
    pub fn transmission_of(&self, size: u32) -> Span {
        self.rate.transmission(size)
    }

    /// Transmissions that begin from now on go at this rate.
    pub fn set_rate(&mut self, rate: Rate) {
        let fraction = u128::from(self.fraction) * u128::from(rate.bps()) / u128::from(self.rate.bps());
        self.fraction = fraction as u64;
        self.rate = rate;
        // A size that no packet has.
        self.size = 0;
    }

    /// A pipe is from now on another flow's, with its rate, delay and buffer. What is on it goes on.
    pub fn reseat(&mut self, rate: Rate, delay: Span, limit: u32) {
        self.set_rate(rate);
        self.set_delay(delay);
        let limit = limit.min(i32::MAX as u32) as i32;
        self.room += limit - self.limit;
        self.limit = limit;
    }

    /// Takes all packets off the wire; returns the first of their chain.
    pub fn cut(&mut self) -> PacketId {
        self.room = self.limit;
        self.tail = NONE;
        std::mem::replace(&mut self.head, NONE)
    }

    pub fn delay(&self) -> Span {
        self.delay
    }

    /// A pipe without impairments: all that has come to it is on the wire, or will be at a time that is known.
    pub fn is_plain(&self) -> bool {
        self.queue == NONE && self.impairment.is_none()
    }

    /// When the first packet on the wire arrives.
    pub fn next_due(&self, packets: &Arena) -> Option<Time> {
        (self.head != NONE).then(|| packets[self.head].due)
    }

    /// From now on packets take this long over the wire; none of them overtakes one that is there.
    pub fn set_delay(&mut self, delay: Span) {
        self.delay = delay;
    }

    /// Whether a pipe's buffer holds as many waiting packets as it may. Exact, but counted only when it might be so.
    #[inline]
    pub fn is_full(&mut self, packets: &Arena, now: Time) -> bool {
        self.room <= 0 && self.free_at > now && self.waiting(packets, now) >= self.limit as u64
    }

    /// Packets in a pipe whose transmission has not begun. Each packet is passed once, however often this is asked.
    #[inline(never)]
    fn waiting(&mut self, packets: &Arena, now: Time) -> u64 {
        let mut next = if self.begun > self.delivered { packets[self.last_begun].next } else { self.head };
        self.begun = self.begun.max(self.delivered);
        while next != NONE {
            let packet = &packets[next];
            let departs = packet.due.since(Time::ZERO + self.delay);
            if departs > now.since(Time::ZERO) + self.rate.transmission(packet.size) {
                break;
            }
            self.begun += 1;
            (self.last_begun, next) = (next, packet.next);
        }
        self.delivered + u64::from(self.count()) - self.begun
    }

    /// Puts a packet on the wire. True if it is the first one there: the link's deadline is now its own.
    #[inline]
    pub fn push(&mut self, packets: &mut Arena, id: PacketId, departs: Time, order: Order) -> bool {
        self.room -= 1;
        let mut due = departs + self.delay;
        let last = std::mem::replace(&mut self.tail, id);
        let first = self.head == NONE;
        if first {
            self.head = id;
        } else {
            let last = &mut packets[last];
            last.next = id;
            due = due.max(last.due);
        }
        let packet = &mut packets[id];
        packet.due = due;
        packet.order = order;
        packet.next = NONE;
        first
    }

    /// Takes the packet that has reached the far end, and tells when the next one will.
    #[inline]
    pub fn pop<'a>(&mut self, packets: &'a mut Arena) -> (PacketId, &'a mut Packet, Option<(Time, Order)>) {
        let id = self.head;
        self.head = packets[id].next;
        self.room += 1;
        self.delivered += 1;
        let next = (self.head != NONE).then(|| (packets[self.head].due, packets[self.head].order));
        (id, &mut packets[id], next)
    }

    /// The packets on this link, first to last.
    pub fn chain<'a>(&self, packets: &'a Arena) -> impl Iterator<Item = PacketId> + 'a {
        std::iter::successors((self.head != NONE).then_some(self.head), |&id| Some(packets[id].next).filter(|&next| next != NONE))
    }

    /// Packets from the buffer's exit to the far end.
    pub fn count(&self) -> u32 {
        self.limit.abs_diff(self.room)
    }
}

/// A measured queue as it runs.
pub struct Queue {
    pub discipline: queue::Queue<Waiting>,
    pub rng: Rng,
    pub link: u32,
    /// The transmitter's place in the calendar.
    pub deadline: u32,
    /// The place in the calendar of the discipline's own deadline, or `NONE` if it has none.
    pub timer: u32,
    /// A transmission goes on, or the queue waits for an opportunity.
    pub transmitting: bool,
    /// Its link is down.
    pub is_down: bool,
    /// When its link sends, if that is not at its rate.
    pub deliveries: Option<Box<Deliveries>>,
    pub measures: QueueMeasures,
}

/// A waiting packet as its queue sees it.
///
/// It says what its packet said when it came, and the marks that it has been given since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub packet: PacketId,
    size: u32,
    flow: u32,
    rtt_us: u32,
    ecn: Ecn,
    dialect: Dialect,
    connection: u8,
    is_ack: bool,
}

impl Waiting {
    #[inline]
    pub fn new(id: PacketId, packets: &Arena) -> Waiting {
        let packet = &packets[id];
        Waiting {
            packet: id,
            size: packet.size,
            flow: packet.flow,
            rtt_us: packets.rtt_us(id),
            ecn: packet.ecn,
            dialect: packet.dialect(),
            connection: packet.connection,
            is_ack: packet.is_ack(),
        }
    }
}

impl Waiting {
    /// The round-trip time that it shows, in microseconds; zero if none.
    pub fn rtt_us(&self) -> u32 {
        self.rtt_us
    }
}

impl Frame for Waiting {
    fn size(&self) -> u32 {
        self.size
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }

    fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// One direction of a connection: what comes later over a flow's place is another flow to the queue, as it has another port.
    fn flow(&self) -> u64 {
        u64::from(self.connection) << 33 | u64::from(self.flow) << 1 | u64::from(self.is_ack)
    }

    fn rtt(&self) -> Span {
        Span::from_micros(u64::from(self.rtt_us))
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_transport::{Ack, Segment};
    use ecnlab_units::Level;

    use super::*;
    use crate::packet::{Bits, Origin};

    fn waiting(packet: Packet) -> Waiting {
        let mut packets = Arena::new();
        let id = packets.insert(packet);
        Waiting::new(id, &packets)
    }

    #[test]
    fn a_queue_tells_directions_and_connections_apart_and_packets_of_one_of_them_not() {
        let origin = |flow, connection| Origin { flow, cursor: 0, connection, bits: Bits::default() };
        let data = |seq, origin| waiting(Packet::of_segment(&Segment::plain(seq, 1000), origin, Time::ZERO, 0)).flow();
        let ack = |origin| waiting(Packet::of_ack(&Ack::plain(1, 40), origin)).flow();
        assert_eq!(data(1, origin(7, 0)), data(2, origin(7, 0)));
        let mut all = vec![data(1, origin(7, 0)), ack(origin(7, 0)), data(1, origin(7, 1)), ack(origin(7, 1)), data(1, origin(8, 0))];
        all.sort_unstable();
        all.dedup();
        assert_eq!(5, all.len());
    }

    #[test]
    fn an_acknowledgement_shows_a_queue_no_round_trip_time_and_takes_no_mark() {
        let origin = Origin { flow: 0, cursor: 0, connection: 0, bits: Bits::default() };
        let mut waiting = waiting(Packet::of_ack(&Ack::plain(1, 40), origin));
        waiting.mark(Level::Congested);
        assert_eq!((Span::ZERO, Ecn::NotEct, false), (waiting.rtt(), waiting.ecn(), waiting.takes(Level::Congested)));
    }
}
