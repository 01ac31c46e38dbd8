//! Events whose time is still to come.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use ecnlab_units::Time;

use super::Event;

/// Events by their time, and at one time in the order in which they were told.
#[derive(Default)]
pub struct Ahead {
    events: BinaryHeap<Reverse<Told>>,
    told: u64,
}

struct Told {
    event: Event,
    number: u64,
}

impl Ahead {
    pub fn push(&mut self, event: Event) {
        self.events.push(Reverse(Told { event, number: self.told }));
        self.told += 1;
    }

    /// The first event, if its time has come.
    #[inline]
    pub fn next(&mut self, now: Time) -> Option<Event> {
        let Reverse(first) = self.events.peek()?;
        if first.event.time > now {
            return None;
        }
        self.events.pop().map(|Reverse(told)| told.event)
    }
}

impl Ord for Told {
    fn cmp(&self, other: &Told) -> Ordering {
        (self.event.time, self.number).cmp(&(other.event.time, other.number))
    }
}

impl PartialOrd for Told {
    fn partial_cmp(&self, other: &Told) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Told {
    fn eq(&self, other: &Told) -> bool {
        self.number == other.number
    }
}

impl Eq for Told {}
