//! First in, first out: a buffer with an AQM, and the groups of packets that some AQMs ask for.

use std::collections::VecDeque;

use ecnlab_units::{Level, Rate, Rng, Span, Time};

use super::{Counters, Deed, Discipline, Frame, Limit, Take};
use crate::aqm::{Aqm, Arrival, Backlog, Cause, Departure, Expiry, Fate, Needs, Target, Victim, Wish};
use crate::registry::{DisciplineEntry, DisciplineKind, Holds};

/// The FIFO in the registry.
pub static ENTRY: DisciplineEntry = DisciplineEntry {
    name: "fifo",
    title: "First in, first out",
    summary: "One buffer for all packets, with an AQM.",
    source: "RFC 7567, section 2",
    parameters: &[],
    holds: Holds::Aqm("droptail"),
    gauges: &[],
    bands: &[],
    marks: |_| None,
    check: |_, _| Vec::new(),
    busy: &[],
    kind: DisciplineKind::Fifo,
};

/// The level that every ECN-capable packet can carry, and beyond which there is none.
const LOUDEST: Level = Level::Congested;

/// A FIFO buffer with an AQM.
pub struct Fifo<F> {
    aqm: Box<dyn Aqm>,
    needs: Needs,
    limit: Limit,
    waiting: VecDeque<Stored<F>>,
    bytes: u64,
    /// Packets that ever left the front; the n-th waiting packet has number `gone + n`.
    gone: u64,
    groups: Vec<Group>,
    group_backlogs: Vec<Backlog>,
    /// Whether the AQM has been told that nothing is left to send, and nothing has been sent since.
    idle: bool,
    counters: Counters,
}

/// A waiting packet, its group and since when it waits.
pub(super) struct Stored<F> {
    pub(super) frame: F,
    group: u8,
    pub(super) arrived: Time,
}

/// The numbers of the packets of one group that could still be marked, in order.
#[derive(Default)]
struct Group {
    unmarked: VecDeque<u64>,
}

impl<F: Frame> Fifo<F> {
    /// An empty buffer of this limit.
    pub fn new(aqm: Box<dyn Aqm>, limit: Limit) -> Fifo<F> {
        let needs = aqm.needs();
        Fifo {
            aqm,
            needs,
            limit,
            waiting: VecDeque::new(),
            bytes: 0,
            gone: 0,
            groups: (0..needs.groups).map(|_| Group::default()).collect(),
            group_backlogs: vec![Backlog::NONE; needs.groups],
            idle: true,
            counters: Counters::default(),
        }
    }

    /// The next packet to send, while so much waits in other queues that share the buffer.
    #[inline(always)]
    pub fn take_beside(&mut self, elsewhere: Backlog, now: Time, rng: &mut Rng, tell: &mut impl FnMut(Deed<F>)) -> Take<F> {
        if self.needs.departures {
            self.judge(elsewhere, now, rng, tell);
        }
        let Some(leaving) = self.pop() else {
            if !std::mem::replace(&mut self.idle, true) {
                self.aqm.idle(now);
            }
            return Take::Empty;
        };
        self.idle = false;
        self.counters.departed.add(leaving.frame.size());
        Take::Packet { frame: leaving.frame, waited: now.since(leaving.arrived), band: 0 }
    }

    /// Drops the next packet to leave, if there is one, and tells the AQM: what a discipline does whose buffers share one limit.
    pub fn drop_front(&mut self, now: Time, tell: &mut impl FnMut(Deed<F>)) -> bool {
        let front = self.pop();
        self.lose(front, now, tell)
    }

    /// The same for the packet that came last.
    pub fn drop_back(&mut self, now: Time, tell: &mut impl FnMut(Deed<F>)) -> bool {
        let back = self.waiting.len().checked_sub(1).and_then(|place| self.remove(place));
        self.lose(back, now, tell)
    }

    fn lose(&mut self, lost: Option<Stored<F>>, now: Time, tell: &mut impl FnMut(Deed<F>)) -> bool {
        let Some(Stored { frame, .. }) = lost else { return false };
        self.aqm.lost(&frame.glimpse(), now);
        self.drop_frame(frame, Cause::Overflow, tell);
        true
    }

    /// Reports to the AQM that a packet goes from this buffer to another, after [`remove_all`](Self::remove_all).
    pub(super) fn report_moved_out(&mut self, moved: &Stored<F>, now: Time) {
        self.aqm.on_moved_out(&moved.frame.glimpse(), now);
    }

    /// Reports to the AQM that a packet comes from another buffer, to be [restored](Self::restore) here.
    pub(super) fn report_moved_in(&mut self, moved: &Stored<F>, now: Time) {
        self.idle = false;
        self.aqm.on_moved_in(&moved.frame.glimpse(), now);
    }

    /// Takes out all that waits, as if it had never come.
    pub(super) fn remove_all(&mut self) -> Vec<Stored<F>> {
        let removed: Vec<Stored<F>> = std::iter::from_fn(|| self.pop()).collect();
        for stored in &removed {
            self.counters.arrived.packets -= 1;
            self.counters.arrived.bytes -= u64::from(stored.frame.size());
        }
        removed
    }

    /// Puts a packet in at the end that has been removed from this or another queue, without asking the AQM.
    pub(super) fn restore(&mut self, stored: Stored<F>) {
        self.counters.arrived.add(stored.frame.size());
        self.store(stored, &mut |_| {});
    }

    /// The next packet to leave.
    pub fn head(&self) -> Option<&F> {
        self.waiting.front().map(|stored| &stored.frame)
    }

    /// What waits.
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.waiting.len() as u32, bytes: self.bytes }
    }

    fn head_waited(&self, now: Time) -> Span {
        self.waiting.front().map_or(Span::ZERO, |front| now.since(front.arrived))
    }

    /// Asks the AQM about the packet at the exit, and about the next one as long as it drops.
    #[inline(never)]
    fn judge(&mut self, elsewhere: Backlog, now: Time, rng: &mut Rng, tell: &mut impl FnMut(Deed<F>)) {
        while let Some(Stored { frame, arrived, .. }) = self.waiting.front() {
            let packet = frame.glimpse();
            let behind = Backlog { packets: self.waiting.len() as u32 - 1, bytes: self.bytes - u64::from(packet.size) };
            let departure = Departure { now, packet, waited: now.since(*arrived), backlog: behind, total: behind + elsewhere };
            let fate = self.aqm.depart(&departure, rng);
            match fate {
                Fate::Pass => return,
                Fate::Signal { level, cause } if packet.ecn.is_capable() => return self.mark(0, level, cause, tell),
                Fate::Signal { cause, .. } | Fate::Drop { cause } => {
                    let Some(front) = self.pop() else { return };
                    self.drop_frame(front.frame, cause, tell);
                }
            }
        }
    }

    #[inline(never)]
    fn drop_frame(&mut self, frame: F, cause: Cause, tell: &mut impl FnMut(Deed<F>)) {
        self.counters.dropped[cause].add(frame.size());
        tell(Deed::Dropped(frame, cause));
    }

    /// The one place where a wish becomes a deed.
    #[inline(always)]
    fn settle(&mut self, wish: Wish, arriving: Stored<F>, tell: &mut impl FnMut(Deed<F>)) {
        match wish {
            Wish::Pass => self.store(arriving, tell),
            Wish::Signal { level, target, cause } => self.signal(level, target, cause, arriving, tell),
            Wish::Drop { victim, cause } => self.discard(victim, cause, arriving, tell),
        }
    }

    #[inline(never)]
    fn signal(&mut self, level: Level, target: Target, cause: Cause, arriving: Stored<F>, tell: &mut impl FnMut(Deed<F>)) {
        let waiting = match target {
            Target::Arriving => None,
            Target::FrontUnmarked(group) => self.first_to_take(level, group),
        };
        if waiting.is_none() && !arriving.frame.ecn().is_capable() {
            return self.drop_frame(arriving.frame, cause, tell);
        }
        self.store(arriving, tell);
        self.mark(waiting.unwrap_or(self.waiting.len() - 1), level, cause, tell);
    }

    /// The first waiting packet of a group that a mark would change.
    fn first_to_take(&self, level: Level, group: u8) -> Option<usize> {
        let unmarked = &self.groups.get(usize::from(group))?.unmarked;
        unmarked.iter().map(|number| (number - self.gone) as usize).find(|&place| self.waiting[place].frame.takes(level))
    }

    /// Marks a waiting packet. A mark that it does not take leaves it as it is and counts as none.
    fn mark(&mut self, place: usize, level: Level, cause: Cause, tell: &mut impl FnMut(Deed<F>)) {
        let Stored { frame, group, .. } = &mut self.waiting[place];
        if !frame.takes(level) {
            return;
        }
        frame.mark(level);
        if let Some(group) = self.groups.get_mut(usize::from(*group)).filter(|_| !frame.takes(LOUDEST)) {
            group.forget_marked(self.gone + place as u64);
        }
        self.counters.marked[cause] += 1;
        tell(Deed::Marked(frame, cause));
    }

    #[inline(never)]
    fn discard(&mut self, victim: Victim, cause: Cause, arriving: Stored<F>, tell: &mut impl FnMut(Deed<F>)) {
        let place = match victim {
            Victim::Arriving => self.waiting.len(),
            Victim::Front => 0,
            Victim::Waiting(place) => place as usize,
        };
        let place = if self.makes_room(place, arriving.frame.size()) { place } else { self.waiting.len() };
        match self.remove(place) {
            Some(waiting) => {
                self.drop_frame(waiting.frame, cause, tell);
                self.store(arriving, tell);
            }
            None => self.drop_frame(arriving.frame, cause, tell),
        }
    }

    /// Whether `size` bytes fit once the packet at `place` is gone. A smaller victim would leave a buffer of bytes overfull;
    /// then the arriving packet goes.
    fn makes_room(&self, place: usize, size: u32) -> bool {
        match (self.limit, self.waiting.get(place)) {
            (Limit::Bytes(limit), Some(victim)) => self.bytes + u64::from(size) <= limit + u64::from(victim.frame.size()),
            _ => true,
        }
    }

    #[inline(always)]
    fn store(&mut self, arriving: Stored<F>, tell: &mut impl FnMut(Deed<F>)) {
        tell(Deed::Stored(&arriving.frame));
        let size = arriving.frame.size();
        self.bytes += u64::from(size);
        let number = self.gone + self.waiting.len() as u64;
        let group = usize::from(arriving.group);
        if let Some(queue) = self.groups.get_mut(group) {
            let backlog = &mut self.group_backlogs[group];
            backlog.packets += 1;
            backlog.bytes += u64::from(size);
            if arriving.frame.takes(LOUDEST) {
                queue.unmarked.push_back(number);
            }
        }
        self.waiting.push_back(arriving);
    }

    /// Takes the packet at the front out.
    #[inline]
    fn pop(&mut self) -> Option<Stored<F>> {
        let front = self.waiting.pop_front()?;
        self.bytes -= u64::from(front.frame.size());
        if !self.groups.is_empty() {
            self.leave_group(&front, self.gone, 0);
        }
        self.gone += 1;
        Some(front)
    }

    /// Takes a waiting packet out, wherever it stands.
    fn remove(&mut self, place: usize) -> Option<Stored<F>> {
        if place == 0 {
            return self.pop();
        }
        let removed = self.waiting.remove(place)?;
        self.bytes -= u64::from(removed.frame.size());
        self.leave_group(&removed, self.gone + place as u64, place);
        Some(removed)
    }

    fn leave_group(&mut self, gone: &Stored<F>, number: u64, place: usize) {
        for group in &mut self.groups {
            group.forget(number, place);
        }
        if let Some(backlog) = self.group_backlogs.get_mut(usize::from(gone.group)) {
            backlog.packets -= 1;
            backlog.bytes -= u64::from(gone.frame.size());
        }
    }

    fn is_full(&self, size: u32) -> bool {
        match self.limit {
            Limit::Packets(packets) => self.waiting.len() as u32 >= packets,
            Limit::Bytes(bytes) => self.bytes + u64::from(size) > bytes,
        }
    }
}

impl<F: Frame> Discipline<F> for Fifo<F> {
    #[inline(always)]
    fn offer(&mut self, frame: F, now: Time, rng: &mut Rng, tell: &mut impl FnMut(Deed<F>)) {
        self.counters.arrived.add(frame.size());
        let packet = frame.glimpse();
        let group = if self.groups.is_empty() { 0 } else { self.aqm.group(&packet) };
        let full = self.is_full(packet.size);
        let arrival =
            Arrival { now, packet, backlog: self.backlog(), head_waited: self.head_waited(now), groups: &self.group_backlogs, full };
        let wish = self.aqm.arrive(&arrival, rng);
        let wish = if full { at_full_buffer(wish) } else { wish };
        self.settle(wish, Stored { frame, group, arrived: now }, tell);
    }

    #[inline(always)]
    fn take(&mut self, now: Time, rng: &mut Rng, tell: &mut impl FnMut(Deed<F>)) -> Take<F> {
        self.take_beside(Backlog::NONE, now, rng, tell)
    }

    fn deadline(&self) -> Option<Time> {
        self.aqm.deadline()
    }

    fn expire(&mut self, now: Time, rng: &mut Rng) {
        let expiry = Expiry { now, backlog: self.backlog(), head_waited: self.head_waited(now) };
        self.aqm.expire(&expiry, rng);
    }

    fn retune(&mut self, rate: Rate) {
        self.aqm.retune(rate);
    }

    #[inline]
    fn len(&self) -> usize {
        self.waiting.len()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn frames(&self, show: &mut dyn FnMut(&F)) {
        self.waiting.iter().for_each(|stored| show(&stored.frame));
    }

    fn counters(&self, _band: u8) -> &Counters {
        &self.counters
    }

    #[inline]
    fn average(&self) -> Option<f64> {
        self.aqm.average()
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.aqm.gauges(show);
    }

    fn assert_conservation(&self) {
        self.counters.assert_conservation(self.waiting.len(), self.bytes);
        assert_eq!(self.bytes, self.waiting.iter().map(|stored| u64::from(stored.frame.size())).sum::<u64>());
    }
}

impl Group {
    /// Takes packet `number` off the list. From the front and from the end this is one step; from the middle the later packets move up by one.
    fn forget(&mut self, number: u64, place: usize) {
        if place == 0 {
            if self.unmarked.front() == Some(&number) {
                self.unmarked.pop_front();
            }
            return;
        }
        if self.unmarked.back() == Some(&number) {
            self.unmarked.pop_back();
        } else if self.unmarked.back().is_some_and(|&last| last > number) {
            self.unmarked.retain(|&n| n != number);
            self.unmarked.iter_mut().filter(|n| **n > number).for_each(|n| *n -= 1);
        }
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
