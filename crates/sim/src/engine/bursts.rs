//! A link that sends in bursts: its packets wait for slots.

use ecnlab_queue::Discipline;

use super::Simulation;
use crate::probe::Probe;

impl<P: Probe> Simulation<P> {
    /// Transmits the next packet if the link may send now, and waits for the next slot otherwise. An empty queue is asked as on any link, so
    /// that its AQM learns that it is empty.
    pub(super) fn transmit_at_burst_slot(&mut self, at: u32) {
        let now = self.now;
        let queue = &mut self.queues[at];
        if !queue.discipline.is_empty()
            && let Some(slot) = queue.burst_schedule.as_mut().and_then(|schedule| schedule.begin_burst_or_find_next_slot(now))
        {
            queue.transmitting = true;
            return self.calendar.set_deadline(queue.transmitter_slot, now, slot);
        }
        let sent = self.transmit_next(at);
        let Some(schedule) = &mut self.queues[at].burst_schedule else { return };
        match sent {
            Some((size, ends)) => schedule.on_departure(size, ends),
            None => schedule.end_burst(),
        }
    }
}
