//! Impairments of a link, which a packet passes before the queue.

use ecnlab_units::Time;

use super::Simulation;
use crate::calendar_queue::TieBreak;
use crate::external_hosts::SimOutput;
use crate::impairment::{DelayedPacket, ImpairmentAction};
use crate::packet::{NO_INDEX, PacketId};
use crate::probe::{MarkOrDropWithCause, Probe};

impl<P: Probe> Simulation<P> {
    /// Applies the impairments of a link to a packet, from this one on.
    #[cold]
    #[inline(never)]
    pub(super) fn apply_impairments_from(&mut self, at: u32, id: PacketId, first: usize) {
        let mut part = first;
        while let Some(event) = self.apply_impairment(at, id, part) {
            match event {
                ImpairmentAction::Drop => return self.drop_outside_queue(at, id, MarkOrDropWithCause::Lost),
                ImpairmentAction::DropForEcn => return self.drop_outside_queue(at, id, MarkOrDropWithCause::DroppedForEcn),
                ImpairmentAction::Delay(until) => return self.delay_packet(at, id, part, until),
                ImpairmentAction::Duplicate => {
                    let copy = self.create_duplicate_packet(id);
                    self.apply_impairments_from(at, id, part + 1);
                    return self.apply_impairments_from(at, copy, part + 1);
                }
                ImpairmentAction::Mark(_) | ImpairmentAction::ForceMark => {
                    self.link_event_handler(at).record_mark(id, MarkOrDropWithCause::PathMarked)
                }
                ImpairmentAction::Pass | ImpairmentAction::ClearEcn => {}
            }
            if let Some(held) = self.pop_overtaken(at, part) {
                self.apply_impairments_from(at, id, part + 1);
                return self.release_overtaken(at, part, held);
            }
            part += 1;
        }
        self.enter_link_buffer(at, id);
    }

    /// Action of an impairment on a packet; `None` after the last impairment.
    fn apply_impairment(&mut self, at: u32, id: PacketId, part: usize) -> Option<ImpairmentAction> {
        let impairment = self.links[at].impairment.as_mut().filter(|impairment| impairment.has_impairment(part))?;
        Some(impairment.apply(part, &mut self.packets[id], self.now))
    }

    /// Drops a packet of a link that is not in a queue.
    pub(super) fn drop_outside_queue(&mut self, at: u32, id: PacketId, what: MarkOrDropWithCause) {
        self.links[at].dropped_packets += 1;
        self.link_event_handler(at).drop_packet(id, what);
    }

    /// Creates a copy of a packet, which counts for the same flow.
    pub(super) fn create_duplicate_packet(&mut self, id: PacketId) -> PacketId {
        let packet = &self.packets[id];
        if !packet.is_ack_from_sink() {
            self.flows[packet.flow].duplicated_packets += 1;
        }
        if packet.flags.is_external() {
            self.outputs.push(SimOutput::Duplicated { handle: packet.handle() });
        }
        let copy = self.packets.duplicate(id);
        if P::OBSERVES_PACKETS {
            self.probe.on_packet_duplicated(copy, id);
        }
        copy
    }

    fn delay_packet(&mut self, at: u32, id: PacketId, part: usize, until: Time) {
        let Some(impairment) = &mut self.links[at].impairment else { return };
        let before = impairment.next_release();
        impairment.delay(part, id, self.now, until);
        if before.is_none_or(|(before, _)| until < before) {
            self.calendar.set_deadline(impairment.release_slot, self.now, until);
        }
    }

    /// The next packet that an impairment releases because others have overtaken it.
    fn pop_overtaken(&mut self, at: u32, part: usize) -> Option<DelayedPacket> {
        self.links[at].impairment.as_mut()?.pop_overtaken(part)
    }

    /// Releases packets that others have overtaken, from `first` on.
    fn release_overtaken(&mut self, at: u32, part: usize, first: DelayedPacket) {
        let mut next = Some(first);
        while let Some(held) = next {
            self.apply_impairments_from(at, held.packet, part + 1);
            next = self.pop_overtaken(at, part);
        }
    }

    /// The release time of delayed packets has come.
    #[cold]
    pub(super) fn on_delay_expired(&mut self, at: u32) {
        while let Some(held) = self.links[at].impairment.as_mut().and_then(|impairment| impairment.pop_due(self.now)) {
            self.apply_impairments_from(at, held.packet, held.impairment + 1);
        }
        let Some(impairment) = &self.links[at].impairment else { return };
        if let Some((next, since)) = impairment.next_release() {
            self.calendar.set_deadline_with_tie_break(impairment.release_slot, next, TieBreak::scheduled_now(since));
        }
    }

    /// A packet has passed all impairments of a link and enters its buffer.
    #[inline]
    pub(super) fn enter_link_buffer(&mut self, at: u32, id: PacketId) {
        let link = &self.links[at];
        match (link.queue, link.computes_ahead) {
            (NO_INDEX, false) => self.enter_pipe(at, id),
            (NO_INDEX, true) => self.enter_pipe_ahead(at, id),
            (queue, true) if self.queues[queue].has_known_departures == Some(true) => self.enqueue_with_known_departure(queue, id),
            (queue, _) => self.enqueue(queue, id),
        }
    }
}
