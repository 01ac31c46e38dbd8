//! One deadline per component, in a calendar that finds its own width.
//!
//! A component is added once and gets a slot; setting its deadline overwrites the old one. A deadline that moves later is updated in its
//! slot only, which stays in its bucket and is reinserted when the old time comes up. So a timer that every ACK restarts costs one store.
//!
//! # The order of events
//!
//! Events come in the order of four keys, of which each decides where those before it are equal:
//!
//! 1. `due`, the time of the event;
//! 2. [`TieBreak::scheduled_at`], the time at which it was scheduled;
//! 3. [`TieBreak::entered_buffer_at`], the time at which its packet entered the buffer of its link;
//! 4. the [`ComponentId`], by kind and then by number.
//!
//! The second key is ns-2's rule: of two events at one time the one that was scheduled first comes first. An arrival at the far end of a
//! link is scheduled when its transmission begins, and a deadline when it is set. Flow starts and link changes of the scenario, repetitions
//! included, are scheduled at time zero. An event without a packet has `entered_buffer_at` equal to `scheduled_at`. Packets that an
//! impairment delays until the same time are released in one event, with the keys of the packet delayed first.
//!
//! All four keys are times and names of the simulated network. So the order is the same whether a departure is computed when the packet
//! enters or by an event at the end of the transmission before, whether a run is computed in slices, and which probes observe it. A
//! component has one deadline, so two events never have all four keys in common. An event that another one causes at its own instant comes
//! after it, whatever their keys are.
//!
//! # The calendar
//!
//! The calendar queue (Brown 1988) is an array of buckets of equal width, each a list through the components themselves; a bitmap skips
//! empty buckets. The current bucket is sorted into `ready`. The width follows the mean gap between events and changes nothing about their
//! order.
//!
//! One difference from Brown: a deadline that is more than a lap of the buckets ahead waits in a heap, so that idle components are not
//! visited at each lap. No step searches a list, so the work grows with the number of deadlines, by no more than its logarithm for those
//! far ahead, even if all of them are at one instant.
//!
//! A `BinaryHeap` with lazy deletion instead would take 27 %, 36 % and 44 % more instructions per packet-hop (callgrind, 60, 600 and 1000
//! flows of `benches/`, 23 November 2026).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ecnlab_units::Time;

use crate::component::{ComponentId, ComponentKind};
use crate::index_vec::IndexVec;

/// Slot 0 is a sentinel that ends each list, so that list updates need no bounds check.
const SENTINEL_SLOT: u32 = 0;
/// Time of a slot whose component has no deadline.
const NO_DEADLINE: u64 = u64::MAX;
/// Up to this many entries are sorted by insertion.
const INSERTION_SORT_LIMIT: usize = 16;
/// Events before the bucket width is fitted for the first time.
const EVENTS_BEFORE_FIRST_FIT: u64 = 256;
/// Minimum number of events between two fits of the bucket width.
const MIN_EVENTS_BETWEEN_FITS: u64 = 4096;

/// Tie-break key of a deadline, before its component. The default is that of events from the scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TieBreak {
    /// Time at which it was scheduled.
    pub scheduled_at: Time,
    /// Time at which its packet entered the buffer of its link; `scheduled_at` if it belongs to no packet.
    pub entered_buffer_at: Time,
}

impl TieBreak {
    /// Key of a deadline that is set at time `now`.
    #[inline(always)]
    pub fn scheduled_now(now: Time) -> TieBreak {
        TieBreak { scheduled_at: now, entered_buffer_at: now }
    }
}

/// A priority queue with one deadline for each component; components may be added at any time.
pub struct CalendarQueue {
    slots: IndexVec<Slot>,
    /// About the number of components that are added in all.
    expected_components: usize,
    /// The buckets up to a lap ahead of the current one.
    buckets: BucketRing,
    /// Slots further ahead, with the time under which they were inserted.
    overflow: BinaryHeap<Reverse<(u64, u32)>>,
    /// Bucket number of the earliest of these.
    first_overflow_bucket: u64,
    /// Bucket width is `1 << shift` picoseconds.
    bucket_shift: u32,
    /// Number of the current bucket, counted from time zero.
    current_bucket: u64,
    /// Entries of the current bucket, the earliest last.
    ready: Vec<ReadyEntry>,
    /// Entries that were inserted into the current bucket after it became current, and are not among its next few.
    ready_overflow: BinaryHeap<Reverse<ReadyEntry>>,
    popped_events: u64,
    /// Time of the last event, and the largest keys among the events at this time so far.
    last_due: u64,
    last_keys: (TieBreak, ComponentId),
    /// Time of the last fit of the width, the number of pops then, and the number of pops of the next fit.
    width_fitted_at: u64,
    width_fitted_at_pops: u64,
    next_width_fit: u64,
    /// Entries visited, which tests compare with the number of deadlines.
    #[cfg(test)]
    entries_visited: u64,
}

/// A component's deadline, and where the calendar stores it. It fits one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Slot {
    due: u64,
    tie_break: TieBreak,
    /// Time under which the calendar stores this slot, or `NO_DEADLINE`.
    stored_due: u64,
    next: u32,
    previous: u32,
    component: ComponentId,
    location: SlotLocation,
}

impl Slot {
    const EMPTY: Slot = Slot {
        due: NO_DEADLINE,
        tie_break: TieBreak { scheduled_at: Time::ZERO, entered_buffer_at: Time::ZERO },
        stored_due: NO_DEADLINE,
        next: SENTINEL_SLOT,
        previous: SENTINEL_SLOT,
        component: ComponentId::new(ComponentKind::Link, 0),
        location: SlotLocation::Ready,
    };
}

/// The container that stores a slot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SlotLocation {
    Ready,
    Bucket,
    Overflow,
}

/// A deadline in the current bucket.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ReadyEntry {
    due: u64,
    tie_break: TieBreak,
    component: ComponentId,
    /// Index of its slot; never decides the order, since no other entry has the same component.
    slot: u32,
}

impl ReadyEntry {
    /// Compares the deadlines first, since ties are rare.
    #[inline]
    fn is_before(&self, other: &ReadyEntry) -> bool {
        self.due < other.due || self.due == other.due && self.is_before_in_tie(other)
    }

    #[inline]
    fn is_before_in_tie(&self, other: &ReadyEntry) -> bool {
        let (a, b) = (&self.tie_break, &other.tie_break);
        let by_entry =
            || a.entered_buffer_at < b.entered_buffer_at || a.entered_buffer_at == b.entered_buffer_at && self.component < other.component;
        a.scheduled_at < b.scheduled_at || a.scheduled_at == b.scheduled_at && by_entry()
    }
}

impl CalendarQueue {
    /// The slot of a component that was not added: it has no deadline, and none is set by it.
    pub const NO_SLOT: u32 = SENTINEL_SLOT;

    /// No deadlines yet, with capacity for about so many components.
    pub fn new(components: usize) -> CalendarQueue {
        let mut slots = IndexVec::with_capacity(components + 1);
        slots.push(Slot::EMPTY);
        CalendarQueue {
            slots,
            expected_components: components,
            buckets: BucketRing::new(bucket_count_for(components)),
            overflow: BinaryHeap::new(),
            first_overflow_bucket: NO_DEADLINE,
            bucket_shift: 27,
            current_bucket: 0,
            ready: Vec::new(),
            ready_overflow: BinaryHeap::new(),
            popped_events: 0,
            last_due: 0,
            last_keys: (TieBreak::default(), ComponentId::new(ComponentKind::RunTimer, 0)),
            width_fitted_at: 0,
            width_fitted_at_pops: 0,
            next_width_fit: EVENTS_BEFORE_FIRST_FIT,
            #[cfg(test)]
            entries_visited: 0,
        }
    }

    /// Adds a component without a deadline; returns the slot by which its deadline is set.
    pub fn add_component(&mut self, kind: ComponentKind, index: u32) -> u32 {
        self.slots.push(Slot { component: ComponentId::new(kind, index), ..Slot::EMPTY })
    }

    /// Sets a component's deadline at the time `now`.
    pub fn set_deadline(&mut self, slot: u32, now: Time, due: Time) {
        self.set_deadline_with_tie_break(slot, due, TieBreak::scheduled_now(now));
    }

    /// Sets a component's deadline with this tie-break key. The key must not be before that of an earlier deadline that the component had
    /// for the same time.
    // Runs for every packet: calls are in separate functions, so that no register has to be saved.
    pub fn set_deadline_with_tie_break(&mut self, slot: u32, due: Time, tie_break: TieBreak) {
        debug_assert!(slot != CalendarQueue::NO_SLOT, "the component was not added");
        let state = &mut self.slots[slot];
        state.due = due.picos();
        state.tie_break = tie_break;
        if state.stored_due <= state.due {
            return;
        }
        let bucket = state.due >> self.bucket_shift;
        let is_near = (1..=self.buckets.mask).contains(&bucket.wrapping_sub(self.current_bucket));
        if state.stored_due == NO_DEADLINE && is_near {
            (state.stored_due, state.location) = (state.due, SlotLocation::Bucket);
            self.buckets.insert(bucket, slot, &mut self.slots);
        } else {
            self.reinsert_earlier(slot);
        }
    }

    /// A component's deadline and its tie-break key, if one is set.
    pub fn deadline_of(&self, slot: u32) -> Option<(Time, TieBreak)> {
        let state = &self.slots[slot];
        (state.due != NO_DEADLINE).then(|| (Time::from_picos(state.due), state.tie_break))
    }

    /// Whether an event with these keys would have come by now. The event must have been scheduled before its time, and cause no event at
    /// its time.
    #[inline]
    pub fn is_past(&self, due: Time, tie_break: TieBreak, component: ComponentId) -> bool {
        // An event that another one caused at this time may have smaller keys than those before it, hence the largest keys.
        due.picos() < self.last_due || due.picos() == self.last_due && (tie_break, component) < self.last_keys
    }

    /// Clears a component's deadline.
    pub fn clear_deadline(&mut self, slot: u32) {
        self.slots[slot].due = NO_DEADLINE;
    }

    #[cfg(test)]
    fn pop_next(&mut self) -> Option<(Time, ComponentId)> {
        self.pop_until(Time::NEVER)
    }

    /// Removes the earliest deadline, if it is not after `until`; returns its time and its component.
    // Runs for every packet and is therefore inlined into each kind of run: one shared copy costs 3 % of a run.
    #[inline(always)]
    pub fn pop_until(&mut self, until: Time) -> Option<(Time, ComponentId)> {
        loop {
            if !self.ready_overflow.is_empty() {
                self.merge_ready_overflow();
            }
            if let Some(&ReadyEntry { due, tie_break, slot, .. }) = self.ready.last() {
                if due > until.picos() {
                    return None;
                }
                self.ready.truncate(self.ready.len() - 1);
                let state = &self.slots[slot];
                if state.stored_due != due {
                    // The slot has been reinserted at an earlier time since.
                    continue;
                }
                // Otherwise the deadline has been moved since, to this time again or to another.
                if state.due == due && state.tie_break == tie_break {
                    return Some(self.fire_deadline(slot));
                }
                self.reinsert(slot);
            } else {
                let first = self.advance_bucket()?;
                let state = &self.slots[first];
                if state.next != SENTINEL_SLOT || state.stored_due > until.picos() {
                    self.move_to_ready(first);
                } else if state.stored_due == state.due {
                    return Some(self.fire_deadline(first));
                } else {
                    self.reinsert(first);
                }
            }
        }
    }

    /// The earliest deadline, if there is one.
    pub fn earliest_deadline(&mut self) -> Option<Time> {
        loop {
            if !self.ready_overflow.is_empty() {
                self.merge_ready_overflow();
            }
            let Some(&ReadyEntry { due, tie_break, slot, .. }) = self.ready.last() else {
                let first = self.advance_bucket()?;
                self.move_to_ready(first);
                continue;
            };
            let state = &self.slots[slot];
            if (state.stored_due, state.due, state.tie_break) == (due, due, tie_break) {
                return Some(Time::from_picos(due));
            }
            self.ready.truncate(self.ready.len() - 1);
            if self.slots[slot].stored_due == due {
                self.reinsert(slot);
            }
        }
    }

    /// Moves the earliest entry of `ready_overflow` to the end of `ready` if it comes before that end.
    #[cold]
    fn merge_ready_overflow(&mut self) {
        let is_next = |late: &ReadyEntry| self.ready.last().is_none_or(|ready| late.is_before(ready));
        if self.ready_overflow.peek().is_some_and(|Reverse(late)| is_next(late)) {
            self.ready.extend(self.ready_overflow.pop().map(|Reverse(entry)| entry));
        }
    }

    /// Clears a deadline that has expired.
    #[inline]
    fn fire_deadline(&mut self, slot: u32) -> (Time, ComponentId) {
        let state = &mut self.slots[slot];
        let (due, component) = (state.due, state.component);
        let keys = (state.tie_break, component);
        (state.due, state.stored_due) = (NO_DEADLINE, NO_DEADLINE);
        if due == self.last_due {
            self.keep_largest_keys(keys);
        } else {
            (self.last_due, self.last_keys) = (due, keys);
        }
        self.popped_events += 1;
        if self.popped_events == self.next_width_fit {
            self.fit_bucket_width(due);
        }
        (Time::from_picos(due), component)
    }

    #[cold]
    #[inline(never)]
    fn keep_largest_keys(&mut self, keys: (TieBreak, ComponentId)) {
        self.last_keys = self.last_keys.max(keys);
    }

    /// Reinserts a slot whose deadline was moved or cleared, and whose stored time has come up.
    fn reinsert(&mut self, slot: u32) {
        let state = &mut self.slots[slot];
        state.stored_due = NO_DEADLINE;
        if state.due != NO_DEADLINE {
            let Slot { due, tie_break, .. } = *state;
            self.insert_slot(slot, due, tie_break);
        }
    }

    /// Reinserts a slot by its new deadline if the calendar stores it at a later time or in no bucket ahead.
    #[cold]
    #[inline(never)]
    fn reinsert_earlier(&mut self, slot: u32) {
        let Slot { due, tie_break, stored_due, .. } = self.slots[slot];
        if stored_due != NO_DEADLINE {
            self.remove_from_bucket(slot);
        }
        self.insert_slot(slot, due, tie_break);
    }

    /// Stores a slot in the container of its deadline.
    fn insert_slot(&mut self, slot: u32, due: u64, tie_break: TieBreak) {
        let state = &mut self.slots[slot];
        let component = state.component;
        state.stored_due = due;
        let bucket = due >> self.bucket_shift;
        if bucket <= self.current_bucket {
            state.location = SlotLocation::Ready;
            self.insert_ready(ReadyEntry { due, tie_break, component, slot });
        } else if bucket - self.current_bucket <= self.buckets.mask {
            state.location = SlotLocation::Bucket;
            self.buckets.insert(bucket, slot, &mut self.slots);
        } else {
            state.location = SlotLocation::Overflow;
            self.insert_overflow(slot, due);
        }
    }

    #[cold]
    #[inline(never)]
    fn insert_overflow(&mut self, slot: u32, due: u64) {
        self.overflow.push(Reverse((due, slot)));
        self.first_overflow_bucket = self.first_overflow_bucket.min(due >> self.bucket_shift);
    }

    /// Removes a slot from its bucket, to be inserted at an earlier time. Its entries in `ready` and `overflow` are recognized as stale by
    /// their time.
    fn remove_from_bucket(&mut self, slot: u32) {
        let Slot { stored_due, location, .. } = self.slots[slot];
        if location == SlotLocation::Bucket {
            self.buckets.remove(stored_due >> self.bucket_shift, slot, &mut self.slots);
        }
    }

    /// Advances to the next occupied bucket and empties it; returns the first slot of its list, which is mostly the only one. `None` if no
    /// deadline is set.
    #[inline]
    fn advance_bucket(&mut self) -> Option<u32> {
        let bucket = match self.buckets.next_occupied(self.current_bucket + 1, self.current_bucket + self.buckets.mask) {
            Some(bucket) if bucket < self.first_overflow_bucket => bucket,
            _ => self.advance_and_refill()?,
        };
        self.current_bucket = bucket;
        self.count_visit();
        Some(self.buckets.drain_bucket(bucket))
    }

    /// The next occupied bucket, after all entries of `overflow` less than a lap ahead of it have moved into the buckets.
    #[cold]
    #[inline(never)]
    fn advance_and_refill(&mut self) -> Option<u64> {
        loop {
            let next = self.buckets.next_occupied(self.current_bucket + 1, self.current_bucket + self.buckets.mask);
            if let Some(bucket) = next
                && bucket < self.first_overflow_bucket
            {
                return next;
            }
            if self.first_overflow_bucket == NO_DEADLINE {
                return None;
            }
            // Nothing is due before that.
            self.current_bucket = self.current_bucket.max(next.unwrap_or(NO_DEADLINE).min(self.first_overflow_bucket) - 1);
            self.refill_from_overflow();
        }
    }

    /// Moves all entries of `overflow` that are less than a lap ahead into the buckets.
    fn refill_from_overflow(&mut self) {
        while let Some(&Reverse((stored_due, slot))) = self.overflow.peek() {
            let bucket = stored_due >> self.bucket_shift;
            let state = &mut self.slots[slot];
            // Otherwise the slot has been reinserted elsewhere since.
            if state.location == SlotLocation::Overflow && state.stored_due == stored_due {
                if bucket > self.current_bucket + self.buckets.mask {
                    break;
                }
                state.location = SlotLocation::Bucket;
                self.buckets.insert(bucket, slot, &mut self.slots);
            }
            self.count_visit();
            self.overflow.pop();
        }
        self.first_overflow_bucket = self.overflow.peek().map_or(NO_DEADLINE, |&Reverse((stored_due, _))| stored_due >> self.bucket_shift);
    }

    /// Moves the list that starts at `slot` into `ready`.
    #[inline(always)]
    fn move_to_ready(&mut self, mut slot: u32) {
        while slot != SENTINEL_SLOT {
            self.count_visit();
            let state = &mut self.slots[slot];
            state.location = SlotLocation::Ready;
            // A deadline that was moved later comes up at its old time, and is reinserted then.
            let entry = ReadyEntry { due: state.stored_due, tie_break: state.tie_break, component: state.component, slot };
            slot = state.next;
            if self.ready.len() < INSERTION_SORT_LIMIT { self.insert_ready(entry) } else { self.ready.push(entry) }
        }
        if self.ready.len() > INSERTION_SORT_LIMIT {
            self.ready.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// Inserts an entry in order into `ready` if it is among the next few, otherwise into `ready_overflow`.
    #[inline(always)]
    fn insert_ready(&mut self, entry: ReadyEntry) {
        let few = self.ready.len().saturating_sub(INSERTION_SORT_LIMIT);
        let mut at = self.ready.len();
        while at > few && self.ready[at - 1].is_before(&entry) {
            self.count_visit();
            at -= 1;
        }
        if at > few || few == 0 { self.ready.insert(at, entry) } else { self.push_ready_overflow(entry) }
    }

    #[cold]
    fn push_ready_overflow(&mut self, entry: ReadyEntry) {
        self.ready_overflow.push(Reverse(entry));
    }

    /// Fits the bucket width to the mean gap between events. A gap of zero is a burst at one instant and is ignored.
    #[cold]
    fn fit_bucket_width(&mut self, now: u64) {
        self.next_width_fit = self.popped_events + MIN_EVENTS_BETWEEN_FITS.max(self.component_count() as u64);
        let gap = (now - self.width_fitted_at) / (self.popped_events - self.width_fitted_at_pops);
        if gap == 0 {
            return;
        }
        (self.width_fitted_at, self.width_fitted_at_pops) = (now, self.popped_events);
        let shift = (63 - gap.leading_zeros()).clamp(10, 44);
        let is_wide = shift < self.bucket_shift;
        let is_narrow = shift > self.bucket_shift + 1;
        if is_wide || is_narrow || bucket_count_for(self.component_count()) > self.buckets.heads.len() {
            self.rebuild(shift, now);
        }
    }

    /// The number of components, those included that are still to be added.
    fn component_count(&self) -> usize {
        self.slots.len().max(self.expected_components)
    }

    fn rebuild(&mut self, shift: u32, now: u64) {
        self.buckets = BucketRing::new(bucket_count_for(self.component_count()));
        self.overflow.clear();
        self.first_overflow_bucket = NO_DEADLINE;
        self.ready.clear();
        self.ready_overflow.clear();
        self.bucket_shift = shift;
        self.current_bucket = now >> shift;
        for slot in self.slots.numbers() {
            self.count_visit();
            if self.slots[slot].stored_due != NO_DEADLINE {
                self.reinsert(slot);
            }
        }
    }

    #[cfg(test)]
    fn count_visit(&mut self) {
        self.entries_visited += 1;
    }

    #[cfg(not(test))]
    #[inline(always)]
    fn count_visit(&mut self) {}
}

/// Number of buckets for a mean of few slots in each.
fn bucket_count_for(components: usize) -> usize {
    (components * 2).next_power_of_two().clamp(1 << 10, 1 << 17)
}

/// Buckets in a ring, each a doubly linked list of slots, and a bitmap of the occupied ones.
struct BucketRing {
    heads: Vec<u32>,
    occupied: Vec<u64>,
    /// Number of buckets, a power of two, minus one.
    mask: u64,
}

impl BucketRing {
    fn new(count: usize) -> BucketRing {
        BucketRing { heads: vec![SENTINEL_SLOT; count], occupied: vec![0; count / 64], mask: count as u64 - 1 }
    }

    #[inline(always)]
    fn insert(&mut self, bucket: u64, slot: u32, slots: &mut IndexVec<Slot>) {
        let index = (bucket & self.mask) as usize;
        let next = std::mem::replace(&mut self.heads[index], slot);
        self.occupied[index / 64] |= 1 << (index % 64);
        slots[next].previous = slot;
        let state = &mut slots[slot];
        (state.next, state.previous) = (next, SENTINEL_SLOT);
    }

    fn remove(&mut self, bucket: u64, slot: u32, slots: &mut IndexVec<Slot>) {
        let Slot { next, previous, .. } = slots[slot];
        slots[next].previous = previous;
        if previous != SENTINEL_SLOT {
            slots[previous].next = next;
            return;
        }
        let index = (bucket & self.mask) as usize;
        self.heads[index] = next;
        if next == SENTINEL_SLOT {
            self.occupied[index / 64] &= !(1 << (index % 64));
        }
    }

    /// Empties a bucket; returns the first slot of its list.
    #[inline]
    fn drain_bucket(&mut self, bucket: u64) -> u32 {
        let index = (bucket & self.mask) as usize;
        self.occupied[index / 64] &= !(1 << (index % 64));
        std::mem::replace(&mut self.heads[index], SENTINEL_SLOT)
    }

    /// The first occupied bucket from `first` to `last`.
    #[inline]
    fn next_occupied(&self, first: u64, last: u64) -> Option<u64> {
        let mut bucket = first;
        while bucket <= last {
            let index = (bucket & self.mask) as usize;
            let word = self.occupied[index / 64] >> (index % 64);
            if word != 0 {
                let found = bucket + u64::from(word.trailing_zeros());
                return (found <= last).then_some(found);
            }
            bucket += 64 - (index % 64) as u64;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(picos: u64) -> Time {
        Time::from_picos(picos)
    }

    /// Slot of a component by its index: the first slot is the sentinel.
    fn slot_of(index: u32) -> u32 {
        index + 1
    }

    fn calendar_with(components: usize) -> CalendarQueue {
        let mut calendar = CalendarQueue::new(components);
        (0..components as u32).for_each(|index| assert_eq!(slot_of(index), calendar.add_component(ComponentKind::FlowTimer, index)));
        calendar
    }

    fn pop_index(calendar: &mut CalendarQueue) -> Option<(Time, u32)> {
        calendar.pop_next().map(|(due, owner)| (due, owner.index()))
    }

    #[test]
    fn ties_are_ordered_by_scheduling_time_then_buffer_entry_then_component() {
        let orders = [(2, 2), (1, 3), (1, 0), (1, 3), (0, 0)];
        let expected = [4, 2, 1, 3, 0];
        for first in 0..5 {
            let mut calendar = calendar_with(5);
            for component in (0..5).map(|nth| (first + nth) % 5) {
                let (scheduled, entered) = orders[component as usize];
                calendar.set_deadline_with_tie_break(
                    slot_of(component),
                    at(5),
                    TieBreak { scheduled_at: at(scheduled), entered_buffer_at: at(entered) },
                );
            }
            assert_eq!(expected, [(); 5].map(|()| pop_index(&mut calendar).unwrap().1));
            assert_eq!(None, pop_index(&mut calendar));
        }
    }

    #[test]
    fn ties_between_kinds_are_ordered_by_kind_whatever_their_slots() {
        let mut calendar = CalendarQueue::new(3);
        let slots = [ComponentKind::FlowTimer, ComponentKind::Link, ComponentKind::RunTimer].map(|kind| calendar.add_component(kind, 7));
        slots.iter().for_each(|&slot| calendar.set_deadline(slot, Time::ZERO, at(5)));
        let kinds = [(); 3].map(|()| calendar.pop_next().unwrap().1.kind());
        assert_eq!([ComponentKind::RunTimer, ComponentKind::Link, ComponentKind::FlowTimer], kinds);
    }

    #[test]
    fn setting_again_overwrites_and_clearing_removes() {
        let mut calendar = calendar_with(2);
        calendar.set_deadline(slot_of(0), Time::ZERO, at(1 << 40));
        calendar.set_deadline(slot_of(0), Time::ZERO, at(1 << 50));
        calendar.set_deadline(slot_of(1), Time::ZERO, at(1 << 45));
        calendar.set_deadline(slot_of(1), Time::ZERO, at(7));
        assert_eq!(Some((at(7), 1)), pop_index(&mut calendar));
        calendar.set_deadline(slot_of(1), Time::ZERO, at(9));
        calendar.clear_deadline(slot_of(1));
        assert_eq!(Some((at(1 << 50), 0)), pop_index(&mut calendar));
        assert_eq!(None, pop_index(&mut calendar));
    }

    proptest! {
        /// Compares with a plain list that is searched linearly.
        #[test]
        fn any_sequence_of_operations_agrees_with_a_sorted_list(
            operations in prop::collection::vec((0u8..4, 0u32..40, 0u64..48, 0u64..1000), 1..3000)
        ) {
            let mut calendar = calendar_with(40);
            let mut list: Vec<Option<(u64, u64)>> = vec![None; 40];
            let mut now = 0;
            for (kind, component, magnitude, fraction) in operations {
                match kind {
                    0 | 1 => {
                        let due = now + ((1u64 << magnitude) / 1000) * fraction;
                        list[component as usize] = Some((due, now));
                        calendar.set_deadline(slot_of(component), at(now), at(due));
                    }
                    2 => {
                        list[component as usize] = None;
                        calendar.clear_deadline(slot_of(component));
                    }
                    _ => {
                        let first = list.iter().enumerate().filter_map(|(i, d)| d.map(|d| (d, i as u32))).min();
                        prop_assert_eq!(first.map(|((due, _), i)| (at(due), i)), pop_index(&mut calendar));
                        if let Some(((due, _), i)) = first {
                            now = due;
                            list[i as usize] = None;
                        }
                    }
                }
            }
        }
    }

    /// Entries visited when so many components all start at one instant. Their timers all lie at another instant, move earlier one after
    /// the other, and most then wait for long.
    fn entries_visited(components: usize) -> u64 {
        let mut calendar = calendar_with(components);
        let all = 0..components as u32;
        all.clone().for_each(|component| calendar.set_deadline(slot_of(component), Time::ZERO, at(1000)));
        while let Some((now, component)) = pop_index(&mut calendar) {
            calendar.set_deadline(slot_of(component), now, at(3_000_000_000_000));
            if component + 1 == all.end {
                break;
            }
        }
        all.clone().for_each(|component| calendar.set_deadline(slot_of(component), at(1000), at(200_000_000_000)));
        for _ in 0..components {
            let (now, component) = pop_index(&mut calendar).unwrap();
            calendar.set_deadline(slot_of(component), now, at(now.picos() + 50_000_000_000_000));
        }
        for round in 0..components as u64 {
            calendar.set_deadline(slot_of(0), at(200_000_000_000), at(200_000_000_000 + round * 1_000_000_000));
            assert_eq!(0, pop_index(&mut calendar).unwrap().1);
        }
        calendar.entries_visited
    }

    #[test]
    fn the_work_grows_with_the_number_of_deadlines_also_where_all_are_at_one_instant() {
        for components in [5_000, 20_000, 40_000] {
            let deadlines = 4 * components as u64;
            assert!(
                entries_visited(components) < 16 * deadlines,
                "{components} components: {} entries visited",
                entries_visited(components)
            );
        }
    }

    #[test]
    fn pop_until_leaves_a_later_deadline() {
        let mut calendar = calendar_with(40);
        for component in 0..40 {
            calendar.set_deadline(slot_of(component), Time::ZERO, at(1_000_000 + u64::from(component % 3)));
        }
        calendar.set_deadline(slot_of(7), Time::ZERO, at(1 << 50));
        assert_eq!(None, calendar.pop_until(at(999_999)));
        assert_eq!((0..40).map(|_| pop_index(&mut calendar)).last(), Some(Some((at(1 << 50), 7))));
        assert_eq!(None, pop_index(&mut calendar));
    }
}
