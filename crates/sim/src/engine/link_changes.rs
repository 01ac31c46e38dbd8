//! Scheduled changes of links: at given times rate or delay change, or the link goes down or up.
//!
//! A transmission in progress keeps its old rate. A packet on the wire keeps its old delay, and no later packet arrives before it. While a
//! link is down no transmission begins, but its queue continues to fill.

use ecnlab_queue::Discipline;

use super::Simulation;
use crate::calendar_queue::TieBreak;
use crate::component::{ComponentId, ComponentKind};
use crate::network::{LinkChange, LinkState};
use crate::packet::NO_INDEX;
use crate::probe::{MarkOrDropWithCause, Probe};
use crate::queue_log::MeasuredQueueEvent;

/// A pending change.
#[derive(Clone, Copy)]
pub struct ScheduledLinkChange {
    /// Number of the queue whose link it is.
    queue: u32,
    /// Its slot in the calendar queue.
    timer_slot: u32,
    change: LinkChange,
}

impl<P: Probe> Simulation<P> {
    /// Pending changes of the link of a queue.
    pub(super) fn changes_of_link(&self, queue: u32) -> impl Iterator<Item = LinkChange> + '_ {
        self.link_changes.iter().filter(move |scheduled| scheduled.queue == queue).map(|scheduled| scheduled.change)
    }

    /// Schedules a change of the link of a queue.
    pub(super) fn schedule_link_change(&mut self, queue: u32, change: &LinkChange) {
        let timer_slot = self.calendar.add_component(ComponentId::new(ComponentKind::LinkChange, self.link_changes.next_number()));
        self.calendar.set_deadline_with_tie_break(timer_slot, change.time.max(self.now), TieBreak::default());
        self.link_changes.push(ScheduledLinkChange { queue, timer_slot, change: *change });
    }

    /// The time of a change has come.
    #[cold]
    #[inline(never)]
    pub(super) fn on_link_change(&mut self, number: u32) {
        let ScheduledLinkChange { queue, timer_slot, change } = self.link_changes[number];
        if let Some(every) = change.repeat_interval {
            self.calendar.set_deadline_with_tie_break(timer_slot, self.now + every, TieBreak::default());
        }
        let at = &mut self.queues[queue];
        let link = &mut self.links[at.link];
        if let Some(rate) = change.rate {
            if P::OBSERVES_QUEUES {
                self.probe.on_queue_event(self.now, queue, MeasuredQueueEvent::RateChanged(rate));
            }
            link.set_rate(rate);
            at.discipline.set_link_rate(rate);
        }
        if let Some(delay) = change.delay {
            link.set_delay(delay);
        }
        match change.state {
            Some(LinkState::Up) => self.set_link_up(queue),
            Some(LinkState::Down { drops_wire_packets }) => self.set_link_down(queue, drops_wire_packets),
            None => {}
        }
    }

    fn set_link_down(&mut self, at: u32, drops_wire_packets: bool) {
        let queue = &mut self.queues[at];
        queue.is_down = true;
        let link = queue.link;
        if drops_wire_packets {
            self.drop_packets_on_wire(link);
        }
    }

    fn set_link_up(&mut self, at: u32) {
        let queue = &mut self.queues[at];
        queue.is_down = false;
        if !queue.transmitting {
            self.start_transmission(at);
        }
    }

    /// Drops all packets on the wire of a link.
    fn drop_packets_on_wire(&mut self, at: u32) {
        let link = &mut self.links[at];
        let (mut next, deadline) = (link.clear_wire(), link.arrival_slot);
        self.calendar.clear_deadline(deadline);
        while next != NO_INDEX {
            let id = next;
            next = self.packets[id].next;
            self.links[at].dropped_packets += 1;
            self.link_event_handler(at).drop_packet(id, MarkOrDropWithCause::Lost);
        }
    }
}
