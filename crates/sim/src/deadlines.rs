//! One deadline per component, in a calendar that finds its own width.
//!
//! Whoever wants to be woken is added once and gets a place; setting its deadline overwrites the old one. A deadline that moves to
//! later leaves its place in the calendar as it is and is put right when that place comes up, so timers that every acknowledgement
//! restarts cost one store.
//!
//! # The order of events
//!
//! Events come in the order of four keys, of which each decides where those before it are equal:
//!
//! 1. `due`, the time of the event;
//! 2. [`Order::since`], the time from which on it was bound to happen;
//! 3. [`Order::entered`], the time at which its packet entered the buffer of its link;
//! 4. the [`Component`], by kind and then by number.
//!
//! The second key is ns-2's rule: of two events at one time the one that was scheduled first comes first. A packet reaches the far end of a
//! link since the beginning of its transmission, and a deadline is bound to come since it was set. A start or a change that the
//! scenario gives is bound to come since time zero, each repetition of the change too. An event without a packet has `entered` equal to
//! `since`. Packets that a link holds until one time go on in one event, whose keys are those of the packet held first.
//!
//! All four keys are times and names of the simulated network. So the order is the same whether a departure is computed when the packet
//! enters or by an event at the end of the transmission before, whether a run goes on in slices, and whatever a probe looks at.
//! A component has one deadline, so two events never have all four keys in common. An event that another one causes at its own instant comes
//! after it, whatever their keys are.
//!
//! # The calendar
//!
//! The calendar (Brown 1988) is an array of buckets of equal width, each a list through the components themselves; a bitmap skips
//! empty buckets. The bucket at hand is sorted into `ready`. The width follows the mean gap between events and changes nothing about
//! their order.
//!
//! Where we differ from Brown: what is more than a lap of the buckets ahead waits in a heap, so that idle components are not met again at
//! each lap. No step searches a list, so the work grows with the number of deadlines, by no more than its logarithm for those far ahead,
//! also if all of them are at one instant.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ecnlab_units::Time;

use crate::component::{Component, ComponentKind};

/// Ends a list. Nobody has this place: it takes what is written to a neighbour that is not there, which spares asking for one.
const NONE: u32 = 0;
const IDLE: u64 = u64::MAX;
/// Up to this many entries are kept in order one by one.
const FEW: usize = 16;
/// Events before the width is fitted for the first time, and least events from one time to the next.
const FIRST_FIT: u64 = 256;
const FIT_EVERY: u64 = 4096;

/// Tie-break key of a deadline, before its component. The default is that of what a scenario gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Order {
    /// From which time on it was bound to happen.
    pub since: Time,
    /// When its packet entered the buffer of its link; `since`, if it is of no packet.
    pub entered: Time,
}

impl Order {
    /// Of a deadline that is set at this time.
    #[inline(always)]
    pub fn at(now: Time) -> Order {
        Order { since: now, entered: now }
    }
}

/// The deadlines of components, which may be added at any time.
pub struct Deadlines {
    places: Vec<Place>,
    /// The buckets up to a lap ahead of the one at hand.
    near: Buckets,
    /// What is further ahead, with the time under which it was put here, and the first bucket of these.
    far: BinaryHeap<Reverse<(u64, u32)>>,
    first_far: u64,
    /// Bucket width is `1 << shift` picoseconds.
    shift: u32,
    /// Number of the bucket at hand, counted from time zero.
    current: u64,
    /// What the bucket at hand held when it came up, the earliest last, and what has come into it since and is not among the next few.
    ready: Vec<Entry>,
    late: BinaryHeap<Reverse<Entry>>,
    pops: u64,
    /// When the width was fitted, at which of the pops, and at which it will be again.
    fitted_at: u64,
    fitted_pops: u64,
    fit_next: u64,
    /// Entries looked at, which tests compare with the number of deadlines.
    #[cfg(test)]
    looks: u64,
}

/// A component's place: its deadline, and where the calendar holds it. It lies in one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Place {
    due: u64,
    order: Order,
    /// The time under which the calendar holds this component, or `IDLE`.
    held: u64,
    next: u32,
    previous: u32,
    owner: Component,
    list: List,
}

impl Place {
    const IDLE: Place = Place {
        due: IDLE,
        order: Order { since: Time::ZERO, entered: Time::ZERO },
        held: IDLE,
        next: NONE,
        previous: NONE,
        owner: Component::new(ComponentKind::Link, 0),
        list: List::Ready,
    };
}

/// What holds a component.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    Ready,
    Near,
    Far,
}

/// A deadline in the bucket at hand.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    due: u64,
    order: Order,
    owner: Component,
    /// Its place, which decides nothing: no other has the same owner.
    component: u32,
}

impl Entry {
    /// The order of entries, with the deadline asked first: ties are rare.
    #[inline]
    fn is_before(&self, other: &Entry) -> bool {
        self.due < other.due || self.due == other.due && self.is_before_in_tie(other)
    }

    #[inline]
    fn is_before_in_tie(&self, other: &Entry) -> bool {
        let (one, two) = (&self.order, &other.order);
        let entered = || one.entered < two.entered || one.entered == two.entered && self.owner < other.owner;
        one.since < two.since || one.since == two.since && entered()
    }
}

impl Deadlines {
    /// No deadlines yet, with room for about so many components.
    pub fn new(components: usize) -> Deadlines {
        let mut places = Vec::with_capacity(components + 1);
        places.push(Place::IDLE);
        Deadlines {
            places,
            near: Buckets::new(buckets_for(components)),
            far: BinaryHeap::new(),
            first_far: IDLE,
            shift: 27,
            current: 0,
            ready: Vec::new(),
            late: BinaryHeap::new(),
            pops: 0,
            fitted_at: 0,
            fitted_pops: 0,
            fit_next: FIRST_FIT,
            #[cfg(test)]
            looks: 0,
        }
    }

    /// Adds a component without a deadline; returns the place under which its deadline is set.
    pub fn add(&mut self, owner: Component) -> u32 {
        self.places.push(Place { owner, ..Place::IDLE });
        (self.places.len() - 1) as u32
    }

    /// Sets a component's deadline at the time `now`.
    pub fn set(&mut self, component: u32, now: Time, due: Time) {
        self.set_ordered(component, due, Order::at(now));
    }

    /// Sets a component's deadline with this order, which is not before that of a deadline of the component that was set for the same time.
    // Each packet comes here: what makes a call stands apart, so that no register has to be saved.
    pub fn set_ordered(&mut self, component: u32, due: Time, order: Order) {
        let place = &mut self.places[component as usize];
        place.due = due.picos();
        place.order = order;
        if place.held <= place.due {
            return;
        }
        let bucket = place.due >> self.shift;
        let is_near = (1..=self.near.mask).contains(&bucket.wrapping_sub(self.current));
        if place.held == IDLE && is_near {
            (place.held, place.list) = (place.due, List::Near);
            self.near.insert(bucket, component, &mut self.places);
        } else {
            self.put_earlier(component);
        }
    }

    /// Clears a component's deadline.
    pub fn clear(&mut self, component: u32) {
        self.places[component as usize].due = IDLE;
    }

    #[cfg(test)]
    fn pop(&mut self) -> Option<(Time, Component)> {
        self.pop_until(Time::NEVER)
    }

    /// Takes the earliest deadline, if it is not after `until`, and clears it; tells whose it was.
    // Every kind of run has a loop of its own, and each packet comes here: one copy for all of them costs 3 % of a run.
    #[inline(always)]
    pub fn pop_until(&mut self, until: Time) -> Option<(Time, Component)> {
        loop {
            if !self.late.is_empty() {
                self.bring_late();
            }
            if let Some(&Entry { due, order, component, .. }) = self.ready.last() {
                if due > until.picos() {
                    return None;
                }
                self.ready.truncate(self.ready.len() - 1);
                let place = &self.places[component as usize];
                if place.held != due {
                    // It was put at an earlier time since.
                    continue;
                }
                // Else it was moved since, to this time again or to another.
                if place.due == due && place.order == order {
                    return Some(self.fire(component));
                }
                self.put_again(component);
            } else {
                let first = self.advance()?;
                let place = &self.places[first as usize];
                if place.next != NONE || place.held > until.picos() {
                    self.make_ready(first);
                } else if place.held == place.due {
                    return Some(self.fire(first));
                } else {
                    self.put_again(first);
                }
            }
        }
    }

    /// The earliest deadline, if there is one.
    pub fn earliest(&mut self) -> Option<Time> {
        loop {
            if !self.late.is_empty() {
                self.bring_late();
            }
            let Some(&Entry { due, order, component, .. }) = self.ready.last() else {
                let first = self.advance()?;
                self.make_ready(first);
                continue;
            };
            let place = &self.places[component as usize];
            if (place.held, place.due, place.order) == (due, due, order) {
                return Some(Time::from_picos(due));
            }
            self.ready.truncate(self.ready.len() - 1);
            if self.places[component as usize].held == due {
                self.put_again(component);
            }
        }
    }

    /// Moves the earliest entry of `late` to the end of `ready` if it comes before what is there.
    #[cold]
    fn bring_late(&mut self) {
        let is_next = |late: &Entry| self.ready.last().is_none_or(|ready| late.is_before(ready));
        if self.late.peek().is_some_and(|Reverse(late)| is_next(late)) {
            self.ready.extend(self.late.pop().map(|Reverse(entry)| entry));
        }
    }

    /// Clears a deadline that has come.
    #[inline]
    fn fire(&mut self, component: u32) -> (Time, Component) {
        let place = &mut self.places[component as usize];
        let (due, owner) = (place.due, place.owner);
        (place.due, place.held) = (IDLE, IDLE);
        self.pops += 1;
        if self.pops == self.fit_next {
            self.fit(due);
        }
        (Time::from_picos(due), owner)
    }

    /// The place of a deadline that was moved or cleared has come up.
    fn put_again(&mut self, component: u32) {
        let place = &mut self.places[component as usize];
        place.held = IDLE;
        if place.due != IDLE {
            let Place { due, order, .. } = *place;
            self.put(component, due, order);
        }
    }

    /// Puts a component where its new deadline belongs, which the calendar holds at a later time or which is in no bucket ahead.
    #[cold]
    #[inline(never)]
    fn put_earlier(&mut self, component: u32) {
        let Place { due, order, held, .. } = self.places[component as usize];
        if held != IDLE {
            self.take_out(component);
        }
        self.put(component, due, order);
    }

    /// Puts a component where its deadline belongs.
    fn put(&mut self, component: u32, due: u64, order: Order) {
        let place = &mut self.places[component as usize];
        let owner = place.owner;
        place.held = due;
        let bucket = due >> self.shift;
        if bucket <= self.current {
            place.list = List::Ready;
            self.insert_ready(Entry { due, order, owner, component });
        } else if bucket - self.current <= self.near.mask {
            place.list = List::Near;
            self.near.insert(bucket, component, &mut self.places);
        } else {
            place.list = List::Far;
            self.put_far(component, due);
        }
    }

    #[cold]
    #[inline(never)]
    fn put_far(&mut self, component: u32, due: u64) {
        self.far.push(Reverse((due, component)));
        self.first_far = self.first_far.min(due >> self.shift);
    }

    /// Takes a component out, to be put at an earlier time. What `ready` and `far` have of it is known by its time to be of no use.
    fn take_out(&mut self, component: u32) {
        let Place { held, list, .. } = self.places[component as usize];
        if list == List::Near {
            self.near.remove(held >> self.shift, component, &mut self.places);
        }
    }

    /// Goes to the next bucket that holds anything and empties it; returns the first of its list, which mostly is alone. `None` if no
    /// deadline is set.
    #[inline]
    fn advance(&mut self) -> Option<u32> {
        let bucket = match self.near.next_occupied(self.current + 1, self.current + self.near.mask) {
            Some(bucket) if bucket < self.first_far => bucket,
            _ => self.advance_with_far()?,
        };
        self.current = bucket;
        self.look();
        Some(self.near.take(bucket))
    }

    /// The next bucket that holds anything once all of `far` that is less than a lap ahead of it has been put into the buckets.
    #[cold]
    #[inline(never)]
    fn advance_with_far(&mut self) -> Option<u64> {
        loop {
            let next = self.near.next_occupied(self.current + 1, self.current + self.near.mask);
            if let Some(bucket) = next
                && bucket < self.first_far
            {
                return next;
            }
            if self.first_far == IDLE {
                return None;
            }
            // Nothing is due before that.
            self.current = self.current.max(next.unwrap_or(IDLE).min(self.first_far) - 1);
            self.bring_far();
        }
    }

    /// Puts all of `far` that is less than a lap ahead into the buckets.
    fn bring_far(&mut self) {
        while let Some(&Reverse((held, component))) = self.far.peek() {
            let bucket = held >> self.shift;
            let place = &mut self.places[component as usize];
            // Else it was put elsewhere since.
            if place.list == List::Far && place.held == held {
                if bucket > self.current + self.near.mask {
                    break;
                }
                place.list = List::Near;
                self.near.insert(bucket, component, &mut self.places);
            }
            self.look();
            self.far.pop();
        }
        self.first_far = self.far.peek().map_or(IDLE, |&Reverse((held, _))| held >> self.shift);
    }

    /// Moves a list into `ready`.
    #[inline(always)]
    fn make_ready(&mut self, mut component: u32) {
        while component != NONE {
            self.look();
            let place = &mut self.places[component as usize];
            place.list = List::Ready;
            // One that has moved to later since it was put here comes up at its old time, and is put anew then.
            let entry = Entry { due: place.held, order: place.order, owner: place.owner, component };
            component = place.next;
            if self.ready.len() < FEW { self.insert_ready(entry) } else { self.ready.push(entry) }
        }
        if self.ready.len() > FEW {
            self.ready.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// Puts an entry into its order in `ready` if it is among the next few, else into `late`.
    #[inline(always)]
    fn insert_ready(&mut self, entry: Entry) {
        let few = self.ready.len().saturating_sub(FEW);
        let mut at = self.ready.len();
        while at > few && self.ready[at - 1].is_before(&entry) {
            self.look();
            at -= 1;
        }
        if at > few || few == 0 { self.ready.insert(at, entry) } else { self.push_late(entry) }
    }

    #[cold]
    fn push_late(&mut self, entry: Entry) {
        self.late.push(Reverse(entry));
    }

    /// Fits the bucket width to the mean gap between events. A gap of nothing says nothing: it is a burst at one instant.
    #[cold]
    fn fit(&mut self, now: u64) {
        self.fit_next = self.pops + FIT_EVERY.max(self.places.len() as u64);
        let gap = (now - self.fitted_at) / (self.pops - self.fitted_pops);
        if gap == 0 {
            return;
        }
        (self.fitted_at, self.fitted_pops) = (now, self.pops);
        let shift = (63 - gap.leading_zeros()).clamp(10, 44);
        let is_wide = shift < self.shift;
        let is_narrow = shift > self.shift + 1;
        if is_wide || is_narrow || buckets_for(self.places.len()) > self.near.heads.len() {
            self.rebuild(shift, now);
        }
    }

    fn rebuild(&mut self, shift: u32, now: u64) {
        self.near = Buckets::new(buckets_for(self.places.len()));
        self.far.clear();
        self.first_far = IDLE;
        self.ready.clear();
        self.late.clear();
        self.shift = shift;
        self.current = now >> shift;
        for component in 0..self.places.len() as u32 {
            self.look();
            let place = &mut self.places[component as usize];
            if place.held != IDLE {
                place.held = IDLE;
                if place.due != IDLE {
                    let Place { due, order, .. } = *place;
                    self.put(component, due, order);
                }
            }
        }
    }

    #[cfg(test)]
    fn look(&mut self) {
        self.looks += 1;
    }

    #[cfg(not(test))]
    #[inline(always)]
    fn look(&mut self) {}
}

/// Buckets enough for a few entries in each.
fn buckets_for(components: usize) -> usize {
    (components * 2).next_power_of_two().clamp(1 << 10, 1 << 17)
}

/// Buckets in a ring, each a list of components linked both ways, and a bitmap of those that hold any.
struct Buckets {
    heads: Vec<u32>,
    occupied: Vec<u64>,
    /// One less than there are, which is a power of two.
    mask: u64,
}

impl Buckets {
    fn new(count: usize) -> Buckets {
        Buckets { heads: vec![NONE; count], occupied: vec![0; count / 64], mask: count as u64 - 1 }
    }

    #[inline(always)]
    fn insert(&mut self, bucket: u64, component: u32, places: &mut [Place]) {
        let index = (bucket & self.mask) as usize;
        let next = std::mem::replace(&mut self.heads[index], component);
        self.occupied[index / 64] |= 1 << (index % 64);
        places[next as usize].previous = component;
        let place = &mut places[component as usize];
        (place.next, place.previous) = (next, NONE);
    }

    fn remove(&mut self, bucket: u64, component: u32, places: &mut [Place]) {
        let Place { next, previous, .. } = places[component as usize];
        places[next as usize].previous = previous;
        if previous != NONE {
            places[previous as usize].next = next;
            return;
        }
        let index = (bucket & self.mask) as usize;
        self.heads[index] = next;
        if next == NONE {
            self.occupied[index / 64] &= !(1 << (index % 64));
        }
    }

    /// Empties a bucket; returns the first component of its list.
    #[inline]
    fn take(&mut self, bucket: u64) -> u32 {
        let index = (bucket & self.mask) as usize;
        self.occupied[index / 64] &= !(1 << (index % 64));
        std::mem::replace(&mut self.heads[index], NONE)
    }

    /// The first bucket from `first` to `last` that holds anything.
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

    /// Where a component is, by its number: the first place is nobody's.
    fn place(component: u32) -> u32 {
        component + 1
    }

    fn deadlines(components: usize) -> Deadlines {
        let mut deadlines = Deadlines::new(components);
        (0..components).for_each(|index| assert_eq!(place(index as u32), deadlines.add(Component::new(ComponentKind::Timer, index))));
        deadlines
    }

    fn popped(deadlines: &mut Deadlines) -> Option<(Time, u32)> {
        deadlines.pop().map(|(due, owner)| (due, owner.index()))
    }

    #[test]
    fn ties_come_by_when_they_were_bound_to_happen_then_by_entry_then_by_component() {
        let orders = [(2, 2), (1, 3), (1, 0), (1, 3), (0, 0)];
        let expected = [4, 2, 1, 3, 0];
        for first in 0..5 {
            let mut deadlines = deadlines(5);
            for component in (0..5).map(|nth| (first + nth) % 5) {
                let (since, entered) = orders[component as usize];
                deadlines.set_ordered(place(component), at(5), Order { since: at(since), entered: at(entered) });
            }
            assert_eq!(expected, [(); 5].map(|()| popped(&mut deadlines).unwrap().1));
            assert_eq!(None, popped(&mut deadlines));
        }
    }

    #[test]
    fn ties_between_kinds_come_in_the_order_of_the_kinds_whatever_their_places() {
        let mut deadlines = Deadlines::new(3);
        let places = [ComponentKind::Timer, ComponentKind::Link, ComponentKind::Clock].map(|kind| deadlines.add(Component::new(kind, 7)));
        places.iter().for_each(|&place| deadlines.set(place, Time::ZERO, at(5)));
        let kinds = [(); 3].map(|()| deadlines.pop().unwrap().1.kind());
        assert_eq!([ComponentKind::Clock, ComponentKind::Link, ComponentKind::Timer], kinds);
    }

    #[test]
    fn setting_again_overwrites_and_clearing_forgets() {
        let mut deadlines = deadlines(2);
        deadlines.set(place(0), Time::ZERO, at(1 << 40));
        deadlines.set(place(0), Time::ZERO, at(1 << 50));
        deadlines.set(place(1), Time::ZERO, at(1 << 45));
        deadlines.set(place(1), Time::ZERO, at(7));
        assert_eq!(Some((at(7), 1)), popped(&mut deadlines));
        deadlines.set(place(1), Time::ZERO, at(9));
        deadlines.clear(place(1));
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
            let mut now = 0;
            for (kind, component, magnitude, fraction) in operations {
                match kind {
                    0 | 1 => {
                        let due = now + ((1u64 << magnitude) / 1000) * fraction;
                        list[component as usize] = Some((due, now));
                        deadlines.set(place(component), at(now), at(due));
                    }
                    2 => {
                        list[component as usize] = None;
                        deadlines.clear(place(component));
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

    /// Looks at entries in a life of so many components that all start at one instant, whose timers all lie at another and move to
    /// earlier one after the other, and of which most then wait for long.
    fn looks(components: usize) -> u64 {
        let mut deadlines = deadlines(components);
        let all = 0..components as u32;
        all.clone().for_each(|component| deadlines.set(place(component), Time::ZERO, at(1000)));
        while let Some((now, component)) = popped(&mut deadlines) {
            deadlines.set(place(component), now, at(3_000_000_000_000));
            if component + 1 == all.end {
                break;
            }
        }
        all.clone().for_each(|component| deadlines.set(place(component), at(1000), at(200_000_000_000)));
        for _ in 0..components {
            let (now, component) = popped(&mut deadlines).unwrap();
            deadlines.set(place(component), now, at(now.picos() + 50_000_000_000_000));
        }
        for round in 0..components as u64 {
            deadlines.set(place(0), at(200_000_000_000), at(200_000_000_000 + round * 1_000_000_000));
            assert_eq!(0, popped(&mut deadlines).unwrap().1);
        }
        deadlines.looks
    }

    #[test]
    fn the_work_grows_with_the_number_of_deadlines_also_where_all_are_at_one_instant() {
        for components in [5_000, 20_000, 40_000] {
            let deadlines = 4 * components as u64;
            assert!(looks(components) < 16 * deadlines, "{components} components: {} looks", looks(components));
        }
    }

    #[test]
    fn a_deadline_after_the_time_asked_for_stays() {
        let mut deadlines = deadlines(40);
        for component in 0..40 {
            deadlines.set(place(component), Time::ZERO, at(1_000_000 + u64::from(component % 3)));
        }
        deadlines.set(place(7), Time::ZERO, at(1 << 50));
        assert_eq!(None, deadlines.pop_until(at(999_999)));
        assert_eq!((0..40).map(|_| popped(&mut deadlines)).last(), Some(Some((at(1 << 50), 7))));
        assert_eq!(None, popped(&mut deadlines));
    }
}
