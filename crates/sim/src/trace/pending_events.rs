//! Events that a pipe has computed in advance.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use ecnlab_units::Time;

use super::TraceEvent;

/// Pending events by time; those at the same time keep the order of insertion.
#[derive(Default)]
pub struct PendingEvents {
    events: BinaryHeap<Reverse<PendingEvent>>,
    pushed: u64,
}

struct PendingEvent {
    event: TraceEvent,
    number: u64,
}

impl PendingEvents {
    pub fn push(&mut self, event: TraceEvent) {
        self.events.push(Reverse(PendingEvent { event, number: self.pushed }));
        self.pushed += 1;
    }

    /// The first event, if its time has come.
    #[inline]
    pub fn pop_due(&mut self, now: Time) -> Option<TraceEvent> {
        let Reverse(first) = self.events.peek()?;
        if first.event.time > now {
            return None;
        }
        self.events.pop().map(|Reverse(pending)| pending.event)
    }
}

impl Ord for PendingEvent {
    fn cmp(&self, other: &PendingEvent) -> Ordering {
        (self.event.time, self.number).cmp(&(other.event.time, other.number))
    }
}

impl PartialOrd for PendingEvent {
    fn partial_cmp(&self, other: &PendingEvent) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PendingEvent {
    fn eq(&self, other: &PendingEvent) -> bool {
        self.number == other.number
    }
}

impl Eq for PendingEvent {}
