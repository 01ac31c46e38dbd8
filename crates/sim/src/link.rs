//! Links: a buffer, a transmitter and a wire. What is on the wire is a chain of packets with one deadline, that of the first.

use ecnlab_queue::{Fifo, Frame};
use ecnlab_units::{Dialect, Ecn, Level, Rate, Rng, Span, Time};

use crate::deadlines::Order;
use crate::impairment::Impairment;
use crate::measures::QueueMeasures;
use crate::packet::{Arena, NONE, PacketId};

/// One direction of a link as it runs.
pub struct Link {
    rate: Rate,
    delay: Span,
    /// The last size sent, its transmission time and what is cut off to whole picoseconds, in 1/rate of them.
    cached: (u32, Span, u64),
    /// When the transmitter is free; a pipe's departures are known on arrival.
    free_at: Time,
    /// What was cut off `free_at`: back-to-back packets add up exactly.
    fraction: u64,
    head: PacketId,
    tail: PacketId,
    /// Packets from `head` to `tail`: on the wire, in transmission and, in a pipe, waiting.
    count: u32,
    limit: u32,
    /// Its place in the calendar.
    pub deadline: u32,
    /// The first packet of a pipe not known to be in transmission or beyond, and how many come from there.
    first_waiting: PacketId,
    waiting: u32,
    /// Index of its measured queue, or `NONE`.
    pub queue: u32,
    /// What happens to packets before they wait, if anything.
    pub impairment: Option<Box<Impairment>>,
    /// Packets that reached the far end.
    pub delivered: u64,
    /// Packets that a pipe or an impairment dropped.
    pub dropped: u64,
    /// Packets that came to the link.
    pub arrived: u64,
}

impl Link {
    pub fn new(rate: Rate, delay: Span, limit: u32, queue: u32, impairment: Option<Box<Impairment>>, deadline: u32) -> Link {
        Link {
            rate,
            delay,
            cached: (0, Span::ZERO, 0),
            free_at: Time::ZERO,
            fraction: 0,
            head: NONE,
            tail: NONE,
            count: 0,
            limit,
            deadline,
            first_waiting: NONE,
            waiting: 0,
            queue,
            impairment,
            delivered: 0,
            dropped: 0,
            arrived: 0,
        }
    }

    /// Occupies the transmitter with a packet, now or when it is free; returns when its transmission begins and ends.
    #[inline]
    pub fn depart(&mut self, size: u32, now: Time) -> (Time, Time) {
        if self.cached.0 != size {
            let (span, fraction) = self.rate.transmission_exact(size);
            self.cached = (size, span, fraction);
        }
        let (_, span, fraction) = self.cached;
        if now > self.free_at {
            self.free_at = now;
            self.fraction = 0;
        }
        let begins = self.free_at;
        self.free_at += span;
        self.fraction += fraction;
        if self.fraction >= self.rate.bps() {
            self.fraction -= self.rate.bps();
            self.free_at += Span::from_picos(1);
        }
        (begins, self.free_at)
    }

    /// Whether a pipe's buffer holds as many waiting packets as it may. Exact, but counted only when it might be so.
    #[inline]
    pub fn is_full(&mut self, packets: &Arena, now: Time) -> bool {
        self.count >= self.limit && self.free_at > now && self.waiting(packets, now) >= self.limit
    }

    /// Packets in a pipe whose transmission has not begun. Each packet is passed once, however often this is asked.
    fn waiting(&mut self, packets: &Arena, now: Time) -> u32 {
        while self.first_waiting != NONE {
            let packet = &packets[self.first_waiting];
            let departs = packet.due.since(Time::ZERO + self.delay);
            if departs > now.since(Time::ZERO) + self.rate.transmission(packet.size) {
                break;
            }
            self.first_waiting = packet.next;
            self.waiting -= 1;
        }
        self.waiting
    }

    /// Puts a packet on the wire. True if it is the first one there: the link's deadline is now its own.
    pub fn push(&mut self, packets: &mut Arena, id: PacketId, departs: Time, order: Order) -> bool {
        let packet = &mut packets[id];
        packet.due = departs + self.delay;
        packet.order = order;
        packet.next = NONE;
        let first = self.head == NONE;
        if first {
            self.head = id;
        } else {
            packets[self.tail].next = id;
        }
        self.tail = id;
        self.count += 1;
        self.waiting += 1;
        if self.first_waiting == NONE {
            self.first_waiting = id;
        }
        first
    }

    /// Takes the packet that has reached the far end, and tells when the next one will.
    pub fn pop(&mut self, packets: &Arena) -> (PacketId, Option<(Time, Order)>) {
        let id = self.head;
        self.head = packets[id].next;
        self.count -= 1;
        self.delivered += 1;
        if self.first_waiting == id {
            self.first_waiting = self.head;
            self.waiting -= 1;
        }
        let next = (self.head != NONE).then(|| (packets[self.head].due, packets[self.head].order));
        (id, next)
    }

    /// The packets on this link, first to last.
    pub fn chain<'a>(&self, packets: &'a Arena) -> impl Iterator<Item = PacketId> + 'a {
        std::iter::successors((self.head != NONE).then_some(self.head), |&id| Some(packets[id].next).filter(|&next| next != NONE))
    }

    /// Packets from the buffer's exit to the far end.
    pub fn count(&self) -> u32 {
        self.count
    }
}

/// A measured queue as it runs.
pub struct Queue {
    pub fifo: Fifo<Waiting>,
    pub rng: Rng,
    pub link: u32,
    /// The transmitter's place in the calendar.
    pub deadline: u32,
    pub transmitting: bool,
    pub measures: QueueMeasures,
}

/// A waiting packet as its queue sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub packet: PacketId,
    pub size: u32,
    pub rtt_us: u32,
    pub ecn: Ecn,
}

impl Frame for Waiting {
    fn size(&self) -> u32 {
        self.size
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark(&mut self, level: Level) {
        // Classic networks know no level that this dialect would write otherwise.
        self.ecn = Dialect::Mecn.mark(self.ecn, level);
    }

    fn rtt(&self) -> Span {
        Span::from_micros(u64::from(self.rtt_us))
    }
}
