//! Links that change while the run goes on: at given times they have another rate or another delay, go down and come up.
//!
//! A transmission that goes on when the rate changes ends as it would have. A packet that is on the wire when the delay changes arrives as
//! it would have, and none that follows arrives before it. While a link is down no transmission begins; its queue goes on to fill.

use ecnlab_queue::Discipline;

use super::Simulation;
use crate::arrivals::QueueDeed;
use crate::component::{Component, ComponentKind};
use crate::deadlines::Order;
use crate::network::{Change, LinkState};
use crate::packet::NONE;
use crate::probe::{MarkOrDrop, Probe};

/// A change that is to come.
#[derive(Clone, Copy)]
pub struct Scheduled {
    /// Number of the queue whose link it is.
    queue: u32,
    /// Its place in the calendar.
    deadline: u32,
    change: Change,
}

impl<P: Probe> Simulation<P> {
    /// How the link of a queue will change.
    pub(super) fn changes_of(&self, queue: u32) -> impl Iterator<Item = Change> + '_ {
        self.schedule.iter().filter(move |scheduled| scheduled.queue == queue).map(|scheduled| scheduled.change)
    }

    /// Notes that the link of a queue is to change.
    pub(super) fn add_change(&mut self, queue: u32, change: &Change) {
        let deadline = self.deadlines.add(Component::new(ComponentKind::Schedule, self.schedule.len()));
        self.deadlines.set_ordered(deadline, change.at.max(self.now), Order::default());
        self.schedule.push(Scheduled { queue, deadline, change: *change });
    }

    /// The time of a change has come.
    #[cold]
    #[inline(never)]
    pub(super) fn change(&mut self, number: u32) {
        let Scheduled { queue, deadline, change } = self.schedule[number as usize];
        if let Some(every) = change.every {
            self.deadlines.set_ordered(deadline, self.now + every, Order::default());
        }
        let at = &mut self.queues[queue as usize];
        let link = &mut self.links[at.link as usize];
        if let Some(rate) = change.rate {
            if P::QUEUES {
                self.probe.queue_did(self.now, queue, QueueDeed::Retuned(rate));
            }
            link.set_rate(rate);
            at.discipline.retune(rate);
        }
        if let Some(delay) = change.delay {
            link.set_delay(delay);
        }
        match change.state {
            Some(LinkState::Up) => self.come_up(queue),
            Some(LinkState::Down { loses_wire }) => self.go_down(queue, loses_wire),
            None => {}
        }
    }

    fn go_down(&mut self, at: u32, loses_wire: bool) {
        let queue = &mut self.queues[at as usize];
        queue.is_down = true;
        let link = queue.link;
        if loses_wire {
            self.lose_wire(link);
        }
    }

    fn come_up(&mut self, at: u32) {
        let queue = &mut self.queues[at as usize];
        queue.is_down = false;
        if !queue.transmitting {
            self.transmit(at);
        }
    }

    /// All that is on a wire is lost.
    fn lose_wire(&mut self, at: u32) {
        let link = &mut self.links[at as usize];
        let (mut next, deadline) = (link.cut(), link.deadline);
        self.deadlines.clear(deadline);
        while next != NONE {
            let id = next;
            next = self.packets[id].next;
            self.links[at as usize].dropped += 1;
            self.at_link(at).lose(id, MarkOrDrop::Lost);
        }
    }
}
