//! One deadline per component, in a calendar that finds its own width.
//!
//! Whoever wants to be woken is added once and gets a place; setting its deadline overwrites the old one. A deadline that moves to later leaves its place in the calendar as it is and is put right when
//! that place comes up, so timers that every acknowledgement restarts cost one store. Ties are broken by [`Order`]:
//! what was scheduled first comes first, as in ns-2.
//!
//! The calendar (Brown 1988) is an array of buckets of equal width, each a list through the components themselves; a
//! bitmap skips empty buckets. The bucket at hand is sorted into `ready`. The width follows the mean gap between events and
//! changes nothing about their order.

use ecnlab_units::Time;

use crate::component::Component;

const NONE: u32 = u32::MAX;
const IDLE: u64 = u64::MAX;
/// Up to this many entries are kept in order one by one.
const FEW: usize = 16;

/// Breaks ties between deadlines: since when the thing was bound to happen, then a running number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Order {
    since: Time,
    number: u64,
}

/// The deadlines of components, which may be added at any time.
#[derive(Default)]
pub struct Deadlines {
    slots: Vec<Slot>,
    heads: Vec<u32>,
    occupied: Vec<u64>,
    /// Bucket width is `1 << shift` picoseconds.
    shift: u32,
    mask: u64,
    /// Number of the bucket at hand, counted from time zero.
    current: u64,
    /// What the bucket at hand still holds, the earliest last.
    ready: Vec<Entry>,
    orders: u64,
    pops: u64,
    tuned_at: u64,
}

#[derive(Clone, Copy)]
struct Slot {
    due: u64,
    order: Order,
    /// The time under which the calendar holds this component, or `IDLE`.
    placed: u64,
    next: u32,
    owner: Component,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    due: u64,
    order: Order,
    component: u32,
}

impl Entry {
    /// The order of entries, with the deadline asked first: ties are rare.
    #[inline]
    fn is_before(&self, other: &Entry) -> bool {
        self.due < other.due || self.due == other.due && self < other
    }
}

impl Deadlines {
    /// No deadlines yet, with room for about so many components.
    pub fn new(components: usize) -> Deadlines {
        let buckets = (components * 2).next_power_of_two().clamp(1 << 10, 1 << 17);
        Deadlines {
            slots: Vec::with_capacity(components),
            heads: vec![NONE; buckets],
            occupied: vec![0; buckets / 64],
            shift: 27,
            mask: buckets as u64 - 1,
            ..Deadlines::default()
        }
    }

    /// Adds a component without a deadline; returns the place under which its deadline is set.
    pub fn add(&mut self, owner: Component) -> u32 {
        self.slots.push(Slot { due: IDLE, order: Order::default(), placed: IDLE, next: NONE, owner });
        (self.slots.len() - 1) as u32
    }

    /// The next order of something bound to happen since `since`.
    pub fn order(&mut self, since: Time) -> Order {
        self.orders += 1;
        Order { since, number: self.orders }
    }

    /// Sets a component's deadline at the time `now`.
    pub fn set(&mut self, component: u32, now: Time, due: Time) {
        let order = self.order(now);
        self.set_ordered(component, due, order);
    }

    /// Sets a component's deadline with an order drawn before.
    pub fn set_ordered(&mut self, component: u32, due: Time, order: Order) {
        let slot = &mut self.slots[component as usize];
        slot.due = due.picos();
        slot.order = order;
        if slot.placed > slot.due {
            if slot.placed != IDLE {
                self.unplace(component);
            }
            self.place(component);
        }
    }

    /// Clears a component's deadline.
    pub fn clear(&mut self, component: u32) {
        self.slots[component as usize].due = IDLE;
    }

    #[cfg(test)]
    fn pop(&mut self) -> Option<(Time, Component)> {
        self.pop_until(Time::NEVER)
    }

    /// Takes the earliest deadline, if it is not after `until`, and clears it; tells whose it was.
    pub fn pop_until(&mut self, until: Time) -> Option<(Time, Component)> {
        loop {
            let Some(&entry) = self.ready.last() else {
                if !self.advance() {
                    return None;
                }
                continue;
            };
            if entry.due > until.picos() {
                return None;
            }
            self.ready.pop();
            let slot = &mut self.slots[entry.component as usize];
            slot.placed = IDLE;
            if (slot.due, slot.order) == (entry.due, entry.order) {
                slot.due = IDLE;
                let owner = slot.owner;
                self.pops += 1;
                if self.pops & 0x0fff == 0 || self.pops == 256 {
                    self.tune(entry.due);
                }
                return Some((Time::from_picos(entry.due), owner));
            }
            if slot.due != IDLE {
                self.place(entry.component);
            }
        }
    }

    fn place(&mut self, component: u32) {
        let slot = &mut self.slots[component as usize];
        slot.placed = slot.due;
        let bucket = slot.due >> self.shift;
        if bucket <= self.current {
            let entry = Entry { due: slot.due, order: slot.order, component };
            self.insert_ready(entry);
        } else {
            let index = (bucket & self.mask) as usize;
            slot.next = std::mem::replace(&mut self.heads[index], component);
            self.occupied[index / 64] |= 1 << (index % 64);
        }
    }

    /// Takes a component out of its place, to be put at an earlier one.
    fn unplace(&mut self, component: u32) {
        let placed = self.slots[component as usize].placed;
        let bucket = placed >> self.shift;
        if bucket <= self.current {
            self.ready.retain(|entry| entry.component != component);
            return;
        }
        let index = (bucket & self.mask) as usize;
        let next = self.slots[component as usize].next;
        if self.heads[index] == component {
            self.heads[index] = next;
            return;
        }
        let mut at = self.heads[index];
        while self.slots[at as usize].next != component {
            at = self.slots[at as usize].next;
        }
        self.slots[at as usize].next = next;
    }

    /// Moves to the next bucket with a deadline of this lap. False if no deadline is set.
    fn advance(&mut self) -> bool {
        let laps_end = self.current + self.heads.len() as u64;
        while let Some(bucket) = self.next_occupied(laps_end) {
            self.current = bucket;
            self.empty_bucket();
            if !self.ready.is_empty() {
                return true;
            }
        }
        self.leap()
    }

    /// The next bucket after the one at hand, up to `last`, whose list is not empty.
    fn next_occupied(&self, last: u64) -> Option<u64> {
        let mut bucket = self.current + 1;
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

    /// Moves what the bucket at hand holds for this lap into `ready`.
    fn empty_bucket(&mut self) {
        let index = (self.current & self.mask) as usize;
        let mut component = std::mem::replace(&mut self.heads[index], NONE);
        while component != NONE {
            let slot = &mut self.slots[component as usize];
            let next = slot.next;
            if slot.placed >> self.shift > self.current {
                slot.next = std::mem::replace(&mut self.heads[index], component);
            } else {
                // One that moved to later since it was placed has an order that `pop` does not find, and is placed anew there.
                let order = if slot.placed == slot.due { slot.order } else { Order::default() };
                let entry = Entry { due: slot.placed, order, component };
                if self.ready.len() < FEW { self.insert_ready(entry) } else { self.ready.push(entry) }
            }
            component = next;
        }
        if self.heads[index] == NONE {
            self.occupied[index / 64] &= !(1 << (index % 64));
        }
        if self.ready.len() > FEW {
            self.ready.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// Puts an entry into its place in `ready`, looking from the earliest.
    #[inline]
    fn insert_ready(&mut self, entry: Entry) {
        let mut at = self.ready.len();
        while at > 0 && self.ready[at - 1].is_before(&entry) {
            at -= 1;
        }
        self.ready.insert(at, entry);
    }

    /// Goes straight to the earliest place, all being more than a lap ahead.
    fn leap(&mut self) -> bool {
        let earliest = self.slots.iter().map(|slot| slot.placed).min().unwrap_or(IDLE);
        if earliest == IDLE {
            return false;
        }
        self.current = earliest >> self.shift;
        self.empty_bucket();
        true
    }

    /// Fits the bucket width to the mean gap between events.
    fn tune(&mut self, now: u64) {
        let events = if self.pops == 256 { 256 } else { 4096 };
        let gap = ((now - self.tuned_at) / events).max(1);
        self.tuned_at = now;
        let shift = (64 - gap.leading_zeros()).clamp(10, 44);
        if shift.abs_diff(self.shift) >= 2 {
            self.rebuild(shift, now);
        }
    }

    fn rebuild(&mut self, shift: u32, now: u64) {
        self.heads.fill(NONE);
        self.occupied.fill(0);
        self.ready.clear();
        self.shift = shift;
        self.current = now >> shift;
        for component in 0..self.slots.len() as u32 {
            let slot = &mut self.slots[component as usize];
            if slot.placed != IDLE {
                slot.placed = IDLE;
                if slot.due != IDLE {
                    self.place(component);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::component::ComponentKind;

    fn at(picos: u64) -> Time {
        Time::from_picos(picos)
    }

    fn deadlines(components: usize) -> Deadlines {
        let mut deadlines = Deadlines::new(components);
        (0..components).for_each(|index| assert_eq!(index as u32, deadlines.add(Component::new(ComponentKind::Timer, index))));
        deadlines
    }

    fn popped(deadlines: &mut Deadlines) -> Option<(Time, u32)> {
        deadlines.pop().map(|(due, owner)| (due, owner.index()))
    }

    #[test]
    fn ties_come_in_the_order_in_which_they_were_set() {
        let mut deadlines = deadlines(3);
        for component in [2, 0, 1] {
            deadlines.set(component, Time::ZERO, at(5));
        }
        assert_eq!([2, 0, 1], [(); 3].map(|()| popped(&mut deadlines).unwrap().1));
        assert_eq!(None, popped(&mut deadlines));
    }

    #[test]
    fn setting_again_overwrites_and_clearing_forgets() {
        let mut deadlines = deadlines(2);
        deadlines.set(0, Time::ZERO, at(1 << 40));
        deadlines.set(0, Time::ZERO, at(1 << 50));
        deadlines.set(1, Time::ZERO, at(1 << 45));
        deadlines.set(1, Time::ZERO, at(7));
        assert_eq!(Some((at(7), 1)), popped(&mut deadlines));
        deadlines.set(1, Time::ZERO, at(9));
        deadlines.clear(1);
        assert_eq!(Some((at(1 << 50), 0)), popped(&mut deadlines));
        assert_eq!(None, popped(&mut deadlines));
    }

    proptest! {
        /// Against the plainest judge: a list that is searched.
        #[test]
        fn any_sequence_of_operations_agrees_with_a_sorted_list(
            operations in prop::collection::vec((0u8..4, 0u32..40, 0u64..48, 0u64..1000), 1..3000)
        ) {
            let mut deadlines = deadlines(40);
            let mut list: Vec<Option<(u64, u64)>> = vec![None; 40];
            let (mut now, mut order) = (0, 0);
            for (kind, component, magnitude, fraction) in operations {
                match kind {
                    0 | 1 => {
                        let due = now + ((1u64 << magnitude) / 1000) * fraction;
                        order += 1;
                        list[component as usize] = Some((due, order));
                        deadlines.set(component, at(now), at(due));
                    }
                    2 => {
                        list[component as usize] = None;
                        deadlines.clear(component);
                    }
                    _ => {
                        let first = list.iter().enumerate().filter_map(|(i, d)| d.map(|d| (d, i as u32))).min();
                        prop_assert_eq!(first.map(|((due, _), i)| (at(due), i)), popped(&mut deadlines));
                        if let Some(((due, _), i)) = first {
                            now = due;
                            list[i as usize] = None;
                        }
                    }
                }
            }
        }
    }
}
