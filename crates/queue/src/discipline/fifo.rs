//! First in, first out, with the flow queues that some AQMs ask for.

use std::collections::VecDeque;

use ecnlab_units::{Level, Rng, Span, Time};

use super::{Counters, Frame, Limit, Outcome};
use crate::aqm::{Aqm, Cause, Glimpse, Target, Victim, Wish};

/// The level that every ECN-capable packet can carry, and beyond which there is none.
const LOUDEST: Level = Level::Congested;

/// A FIFO buffer with an AQM.
pub struct Fifo<F> {
    aqm: Box<dyn Aqm>,
    limit: Limit,
    waiting: VecDeque<Stored<F>>,
    bytes: u64,
    /// Packets that ever left the front; the n-th waiting packet has number `gone + n`.
    gone: u64,
    classes: Vec<Class>,
    class_packets: Vec<u32>,
    counters: Counters,
}

/// A waiting packet, its flow queue and since when it waits.
struct Stored<F> {
    frame: F,
    class: u8,
    arrived: Time,
}

/// A flow queue: the numbers of the packets of one group that could still be marked, in order.
#[derive(Default)]
struct Class {
    unmarked: VecDeque<u64>,
}

impl<F: Frame> Fifo<F> {
    pub fn new(aqm: Box<dyn Aqm>, limit: Limit) -> Fifo<F> {
        let classes = aqm.classes();
        Fifo {
            aqm,
            limit,
            waiting: VecDeque::new(),
            bytes: 0,
            gone: 0,
            classes: (0..classes).map(|_| Class::default()).collect(),
            class_packets: vec![0; classes],
            counters: Counters::default(),
        }
    }

    /// Takes an arriving packet: asks the AQM, stores, marks or drops.
    pub fn offer(&mut self, frame: F, now: Time, rng: &mut Rng) -> Outcome<F> {
        self.counters.arrived.add(frame.size());
        let class = if self.classes.is_empty() { 0 } else { self.aqm.classify(frame.rtt()) };
        let full = self.is_full(frame.size());
        let glimpse = Glimpse {
            now,
            size: frame.size(),
            rtt: frame.rtt(),
            packets: self.waiting.len() as u32,
            bytes: self.bytes,
            class_packets: &self.class_packets,
            full,
        };
        let wish = self.aqm.arrive(&glimpse, rng);
        let wish = if full { at_full_buffer(wish) } else { wish };
        self.settle(wish, Stored { frame, class, arrived: now })
    }

    /// The next packet to send and how long it waited.
    pub fn take(&mut self, now: Time) -> Option<(F, Span)> {
        let front = self.remove(0)?;
        self.counters.departed.add(front.frame.size());
        Some((front.frame, now.since(front.arrived)))
    }

    /// Tells the AQM that the link found nothing to send.
    pub fn idle(&mut self, now: Time) {
        self.aqm.idle(now);
    }

    /// Packets waiting.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Bytes waiting.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The `place`-th waiting packet, 0 being the next to leave.
    ///
    /// # Panics
    /// If fewer packets wait.
    pub fn frame(&self, place: usize) -> &F {
        &self.waiting[place].frame
    }

    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The AQM's average queue length in packets, if it keeps one.
    pub fn average(&self) -> Option<f64> {
        self.aqm.average()
    }

    /// # Panics
    /// If a packet or a byte was lost or made: arrived = departed + dropped + waiting.
    pub fn assert_conservation(&self) {
        let Counters { arrived, departed, dropped, .. } = &self.counters;
        let packets = departed.packets + dropped.iter().map(|d| d.packets).sum::<u64>() + self.waiting.len() as u64;
        let bytes = departed.bytes + dropped.iter().map(|d| d.bytes).sum::<u64>() + self.bytes;
        assert_eq!(arrived.packets, packets, "packets arrived = departed + dropped + waiting");
        assert_eq!(arrived.bytes, bytes, "bytes arrived = departed + dropped + waiting");
        assert_eq!(self.bytes, self.waiting.iter().map(|stored| u64::from(stored.frame.size())).sum::<u64>());
    }

    /// The one place where a wish becomes a deed.
    fn settle(&mut self, wish: Wish, arriving: Stored<F>) -> Outcome<F> {
        match wish {
            Wish::Pass => {
                self.push(arriving);
                Outcome::Queued
            }
            Wish::Signal { level, target, cause } => self.signal(level, target, cause, arriving),
            Wish::Drop { victim, cause } => self.discard(victim, cause, arriving),
        }
    }

    fn signal(&mut self, level: Level, target: Target, cause: Cause, arriving: Stored<F>) -> Outcome<F> {
        let waiting = match target {
            Target::Arriving => None,
            Target::FrontUnmarked(class) => self.first_to_take(level, class),
        };
        if waiting.is_none() && !arriving.frame.ecn().is_capable() {
            return self.discard(Victim::Arriving, cause, arriving);
        }
        self.push(arriving);
        self.mark(waiting.unwrap_or(self.waiting.len() - 1), level, cause)
    }

    /// The first waiting packet of a flow queue that a mark would change.
    fn first_to_take(&self, level: Level, class: u8) -> Option<usize> {
        let unmarked = &self.classes.get(usize::from(class))?.unmarked;
        unmarked.iter().map(|number| (number - self.gone) as usize).find(|&place| self.waiting[place].frame.takes(level))
    }

    /// Marks a waiting packet. A mark that it does not take leaves it as it is and counts as none.
    fn mark(&mut self, place: usize, level: Level, cause: Cause) -> Outcome<F> {
        let Stored { frame, class, .. } = &mut self.waiting[place];
        if !frame.takes(level) {
            return Outcome::Queued;
        }
        frame.mark(level);
        if let Some(class) = self.classes.get_mut(usize::from(*class)).filter(|_| !frame.takes(LOUDEST)) {
            class.forget_marked(self.gone + place as u64);
        }
        self.counters.marked[cause as usize] += 1;
        Outcome::Marked(place, cause)
    }

    fn discard(&mut self, victim: Victim, cause: Cause, arriving: Stored<F>) -> Outcome<F> {
        let place = match victim {
            Victim::Arriving => self.waiting.len(),
            Victim::Front => 0,
            Victim::Waiting(place) => place as usize,
        };
        let place = if self.makes_room(place, arriving.frame.size()) { place } else { self.waiting.len() };
        let dropped = match self.remove(place) {
            Some(waiting) => {
                self.push(arriving);
                waiting.frame
            }
            None => arriving.frame,
        };
        self.counters.dropped[cause as usize].add(dropped.size());
        Outcome::Dropped(dropped, cause)
    }

    /// Whether `size` bytes fit once the packet at `place` is gone. A smaller victim would leave a buffer of bytes overfull;
    /// then the arriving packet goes.
    fn makes_room(&self, place: usize, size: u32) -> bool {
        match (self.limit, self.waiting.get(place)) {
            (Limit::Bytes(limit), Some(victim)) => self.bytes + u64::from(size) <= limit + u64::from(victim.frame.size()),
            _ => true,
        }
    }

    fn push(&mut self, arriving: Stored<F>) {
        self.bytes += u64::from(arriving.frame.size());
        let number = self.gone + self.waiting.len() as u64;
        let class = usize::from(arriving.class);
        if let Some(queue) = self.classes.get_mut(class) {
            self.class_packets[class] += 1;
            if arriving.frame.takes(LOUDEST) {
                queue.unmarked.push_back(number);
            }
        }
        self.waiting.push_back(arriving);
    }

    fn remove(&mut self, place: usize) -> Option<Stored<F>> {
        let removed = if place == 0 { self.waiting.pop_front()? } else { self.waiting.remove(place)? };
        self.bytes -= u64::from(removed.frame.size());
        let number = self.gone + place as u64;
        for class in &mut self.classes {
            class.forget(number, place);
        }
        if let Some(packets) = self.class_packets.get_mut(usize::from(removed.class)) {
            *packets -= 1;
        }
        if place == 0 {
            self.gone += 1;
        }
        Some(removed)
    }

    fn is_full(&self, size: u32) -> bool {
        match self.limit {
            Limit::Packets(packets) => self.waiting.len() as u32 >= packets,
            Limit::Bytes(bytes) => self.bytes + u64::from(size) > bytes,
        }
    }
}

impl Class {
    /// Takes packet `number` off the list. From the front this is one step; from the middle the later packets move up by one.
    fn forget(&mut self, number: u64, place: usize) {
        if place == 0 {
            if self.unmarked.front() == Some(&number) {
                self.unmarked.pop_front();
            }
            return;
        }
        self.unmarked.retain(|&n| n != number);
        self.unmarked.iter_mut().filter(|n| **n > number).for_each(|n| *n -= 1);
    }

    /// Takes packet `number` off the list, wherever it waits: it has been marked.
    fn forget_marked(&mut self, number: u64) {
        if let Ok(at) = self.unmarked.binary_search(&number) {
            self.unmarked.remove(at);
        }
    }
}

/// Overflow is the buffer's own law: if the AQM does not say which packet goes, the arriving one does.
fn at_full_buffer(wish: Wish) -> Wish {
    match wish {
        Wish::Drop { .. } => wish,
        Wish::Pass | Wish::Signal { .. } => Wish::Drop { victim: Victim::Arriving, cause: Cause::Overflow },
    }
}
