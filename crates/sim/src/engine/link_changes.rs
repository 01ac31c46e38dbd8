//! Scheduled changes of links: at given times rate or delay change, or the link goes down or up.
//!
//! A transmission in progress keeps its old rate. A packet on the wire keeps its old delay, and no later packet arrives before it. While a
//! link is down no transmission begins, but its queue continues to fill.

use ecnlab_queue::Discipline;

use super::Simulation;
use crate::calendar_queue::TieBreak;
use crate::component::ComponentKind;
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
        let timer_slot = self.calendar.add_component(ComponentKind::LinkChange, self.link_changes.next_number());
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
        let link = self.queues[queue].link;
        if let Some(rate) = change.rate {
            self.probe_queue_event(queue, MeasuredQueueEvent::RateChanged(rate));
            self.links[link].set_rate(rate);
            self.queues[queue].discipline.set_link_rate(rate);
        }
        if let Some(delay) = change.delay {
            self.links[link].set_delay(delay);
        }
        match change.state {
            Some(LinkState::Up) => {
                self.queues[queue].is_down = false;
                if !self.queues[queue].transmitting {
                    self.start_transmission(queue);
                }
            }
            Some(LinkState::Down { drops_wire_packets }) => {
                self.queues[queue].is_down = true;
                if drops_wire_packets {
                    self.drop_packets_on_wire(link);
                }
            }
            None => {}
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
            self.drop_outside_queue(at, id, MarkOrDropWithCause::Lost);
        }
    }
}
