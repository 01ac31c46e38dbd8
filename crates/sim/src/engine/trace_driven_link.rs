//! A link that follows a trace of delivery opportunities: each opportunity sends waiting packets, up to its bytes.

use ecnlab_queue::{DequeueOutcome, Discipline, QueueItem};
use ecnlab_units::{Span, Time};

use super::{Simulation, path};
use crate::calendar_queue::TieBreak;
use crate::packet::PacketId;
use crate::probe::Probe;
use crate::trace_driven_link::PartlySentPacket;

/// Result of an opportunity.
enum OpportunityUse {
    /// All of its bytes were used, or as many as waited.
    Sent,
    /// Unused, since no packet may leave before this time.
    Later(Time),
}

impl<P: Probe> Simulation<P> {
    /// Uses the opportunities of this instant, and waits for the next if data remain.
    pub(super) fn send_at_opportunities(&mut self, at: u32) {
        while self.has_data_to_send(at) {
            let Some(next) = self.queues[at].delivery_schedule.as_mut().map(|deliveries| deliveries.next_opportunity_time(self.now)) else {
                return;
            };
            if next > self.now {
                return self.wait_for_opportunity(at, next);
            }
            if let OpportunityUse::Later(time) = self.use_opportunity(at) {
                return self.calendar.set_deadline(self.queues[at].transmitter_slot, self.now, time);
            }
        }
    }

    fn wait_for_opportunity(&mut self, at: u32, opportunity: Time) {
        let queue = &mut self.queues[at];
        queue.transmitting = true;
        self.calendar.set_deadline(queue.transmitter_slot, self.now, opportunity);
    }

    /// Whether data wait to be sent.
    fn has_data_to_send(&self, at: u32) -> bool {
        let queue = &self.queues[at];
        !queue.discipline.is_empty() || queue.delivery_schedule.as_ref().is_some_and(|deliveries| deliveries.partly_sent.is_some())
    }

    /// Sends at one opportunity. Bytes of it that remain when no packet may leave are lost.
    fn use_opportunity(&mut self, at: u32) -> OpportunityUse {
        let Some(mut left) = self.queues[at].delivery_schedule.as_mut().map(|deliveries| deliveries.use_opportunity()) else {
            return OpportunityUse::Sent;
        };
        while left > 0 {
            let partly = match self.next_packet_to_send(at) {
                Ok(Some(partly)) => partly,
                Ok(None) => break,
                Err(time) => return OpportunityUse::Later(time),
            };
            let bytes = partly.bytes_left.min(left);
            left -= bytes;
            self.send_bytes(at, partly, bytes);
        }
        OpportunityUse::Sent
    }

    /// The packet to send next: the partly sent one, or the next of the queue; or the time of the next attempt.
    fn next_packet_to_send(&mut self, at: u32) -> Result<Option<PartlySentPacket>, Time> {
        let begun = self.queues[at].delivery_schedule.as_mut().and_then(|deliveries| deliveries.partly_sent.take());
        if begun.is_some() {
            return Ok(begun);
        }
        let (now, outcome) = (self.now, self.dequeue(at));
        match outcome {
            DequeueOutcome::Packet { packet, sojourn, band } => {
                let queue = &mut self.queues[at];
                queue.measures.record_departure(sojourn, band, Span::ZERO);
                let link = queue.link;
                self.probe_transmission_start(link, packet.packet, now);
                let tie_break = TieBreak { scheduled_at: now, entered_buffer_at: now - sojourn };
                Ok(Some(PartlySentPacket { packet: packet.packet, bytes_left: packet.size(), tie_break }))
            }
            DequeueOutcome::RetryAt(time) => Err(path::assert_later_than_now(time, now)),
            DequeueOutcome::Empty => Ok(None),
        }
    }

    /// Sends some bytes of a packet, which departs with its last byte.
    fn send_bytes(&mut self, at: u32, partly: PartlySentPacket, bytes: u32) {
        let queue = &mut self.queues[at];
        let Some(deliveries) = &mut queue.delivery_schedule else { return };
        deliveries.sent_bytes += u64::from(bytes);
        if bytes < partly.bytes_left {
            deliveries.partly_sent = Some(PartlySentPacket { bytes_left: partly.bytes_left - bytes, ..partly });
            return;
        }
        let link = queue.link;
        self.leave_after_dequeue(link, partly.packet, self.now, partly.tie_break);
    }

    /// Packets of which some bytes have been sent.
    pub(super) fn partly_sent_packets(&self) -> impl Iterator<Item = PacketId> {
        self.queues.iter().filter_map(|queue| Some(queue.delivery_schedule.as_ref()?.partly_sent.as_ref()?.packet))
    }
}
