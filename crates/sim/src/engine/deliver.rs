//! A link that follows a trace of delivery opportunities: what waits is sent at each of them, up to its bytes.

use ecnlab_queue::{Discipline, Frame, Take};
use ecnlab_units::{Span, Time};

use super::path::launch;
use super::{Simulation, path};
use crate::arrivals::QueueDeed;
use crate::deadlines::Order;
use crate::deliveries::Partly;
use crate::packet::PacketId;
use crate::probe::Probe;

/// What became of an opportunity.
enum Used {
    /// All of its bytes, or as many as there were to send.
    Bytes,
    /// None, since nothing may leave before this time.
    Later(Time),
}

impl<P: Probe> Simulation<P> {
    /// Uses the opportunities of this instant, and waits for the next if something is left to send.
    pub(super) fn deliver(&mut self, at: u32) {
        while self.has_more(at) {
            let Some(next) = self.queues[at as usize].deliveries.as_mut().map(|deliveries| deliveries.next(self.now)) else { return };
            if next > self.now {
                return self.wait_for(at, next);
            }
            if let Used::Later(time) = self.use_opportunity(at) {
                return self.deadlines.set(self.queues[at as usize].deadline, self.now, time);
            }
        }
    }

    fn wait_for(&mut self, at: u32, opportunity: Time) {
        let queue = &mut self.queues[at as usize];
        queue.transmitting = true;
        self.deadlines.set(queue.deadline, self.now, opportunity);
    }

    /// Whether there is anything to send.
    fn has_more(&self, at: u32) -> bool {
        let queue = &self.queues[at as usize];
        !queue.discipline.is_empty() || queue.deliveries.as_ref().is_some_and(|deliveries| deliveries.partly.is_some())
    }

    /// Sends at one opportunity. What is left of it when nothing more may leave is lost.
    fn use_opportunity(&mut self, at: u32) -> Used {
        let Some(mut left) = self.queues[at as usize].deliveries.as_mut().map(|deliveries| deliveries.take()) else { return Used::Bytes };
        while left > 0 {
            let partly = match self.partly_sent(at) {
                Ok(Some(partly)) => partly,
                Ok(None) => break,
                Err(time) => return Used::Later(time),
            };
            let bytes = partly.bytes.min(left);
            left -= bytes;
            self.send_bytes(at, partly, bytes);
        }
        Used::Bytes
    }

    /// The packet whose bytes go next: that which was begun, or the next of the queue; or the time at which to ask again.
    fn partly_sent(&mut self, at: u32) -> Result<Option<Partly>, Time> {
        let begun = self.queues[at as usize].deliveries.as_mut().and_then(|deliveries| deliveries.partly.take());
        if begun.is_some() {
            return Ok(begun);
        }
        let (now, queue, mut witness) = self.at_queue(at);
        queue.measures.held(queue.discipline.len(), now);
        match queue.discipline.take(now, &mut queue.rng, &mut |deed| witness.hear(deed)) {
            Take::Packet { frame, waited, band } => {
                witness.tell_of_queue(QueueDeed::Left { frame: &frame, sojourn: waited, band });
                queue.measures.departure(waited, band, Span::ZERO);
                witness.tell_of_beginning(frame.packet, now);
                let order = Order { since: now, entered: now - waited };
                Ok(Some(Partly { packet: frame.packet, bytes: frame.size(), order }))
            }
            Take::Later(time) => {
                witness.tell_of_queue(QueueDeed::Waits(time));
                Err(path::later_than(time, now))
            }
            Take::Empty => {
                witness.tell_of_queue(QueueDeed::Empty);
                Ok(None)
            }
        }
    }

    /// Sends some bytes of a packet, which departs with the last of them.
    fn send_bytes(&mut self, at: u32, partly: Partly, bytes: u32) {
        let queue = &mut self.queues[at as usize];
        let Some(deliveries) = &mut queue.deliveries else { return };
        deliveries.sent += u64::from(bytes);
        if bytes < partly.bytes {
            deliveries.partly = Some(Partly { bytes: partly.bytes - bytes, ..partly });
            return;
        }
        let link = &mut self.links[queue.link as usize];
        launch(link, &mut self.packets, &mut self.deadlines, partly.packet, self.now, partly.order);
    }

    /// The packets of which some bytes are sent.
    pub(super) fn partly(&self) -> impl Iterator<Item = PacketId> {
        self.queues.iter().filter_map(|queue| Some(queue.deliveries.as_ref()?.partly.as_ref()?.packet))
    }
}
