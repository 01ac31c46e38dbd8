//! A packet's way through the impairments of a link, which come before its queue.

use ecnlab_units::Time;

use super::Simulation;
use crate::deadlines::Order;
use crate::impairment::{Deed, HeldPacket};
use crate::outside::Happened;
use crate::packet::{NONE, PacketId};
use crate::probe::{MarkOrDrop, Probe};

impl<P: Probe> Simulation<P> {
    /// A packet comes to the impairments of a link from this one on.
    #[cold]
    #[inline(never)]
    pub(super) fn impair(&mut self, at: u32, id: PacketId, first: usize) {
        let mut part = first;
        while let Some(deed) = self.meet(at, id, part) {
            match deed {
                Deed::Lose => return self.lose_before_queue(at, id, MarkOrDrop::Lost),
                Deed::Refuse => return self.lose_before_queue(at, id, MarkOrDrop::EcnRefused),
                Deed::Hold(until) => return self.hold(at, id, part, until),
                Deed::Copy => {
                    let copy = self.copy(id);
                    self.impair(at, id, part + 1);
                    return self.impair(at, copy, part + 1);
                }
                Deed::Mark(_) | Deed::ForceMark => self.at_link(at).mark(id, MarkOrDrop::PathMarked),
                Deed::Pass | Deed::Clear => {}
            }
            if let Some(held) = self.overtaken(at, part) {
                self.impair(at, id, part + 1);
                return self.go_on(at, part, held);
            }
            part += 1;
        }
        self.enter_queue(at, id);
    }

    /// What a part does to a packet; nothing behind the last one.
    fn meet(&mut self, at: u32, id: PacketId, part: usize) -> Option<Deed> {
        let impairment = self.links[at as usize].impairment.as_mut().filter(|impairment| impairment.has(part))?;
        Some(impairment.meet(part, &mut self.packets[id], self.now))
    }

    fn lose_before_queue(&mut self, at: u32, id: PacketId, what: MarkOrDrop) {
        self.links[at as usize].dropped += 1;
        self.at_link(at).lose(id, what);
    }

    /// A copy of a packet, which is the flow's as well.
    pub(super) fn copy(&mut self, id: PacketId) -> PacketId {
        let packet = &self.packets[id];
        if !packet.is_ack() {
            self.flows[packet.flow as usize].copied += 1;
        }
        if packet.bits.is_foreign() {
            self.happened.push(Happened::Copied { ticket: packet.ticket() });
        }
        let copy = self.packets.copy(id);
        if P::LINKS {
            self.probe.copied(copy, id);
        }
        copy
    }

    fn hold(&mut self, at: u32, id: PacketId, part: usize, until: Time) {
        let Some(impairment) = &mut self.links[at as usize].impairment else { return };
        let before = impairment.next_due();
        impairment.hold(part, id, self.now, until);
        if before.is_none_or(|(before, _)| until < before) {
            self.deadlines.set(impairment.deadline, self.now, until);
        }
    }

    /// The first packet that a part lets go since others have overtaken it.
    fn overtaken(&mut self, at: u32, part: usize) -> Option<HeldPacket> {
        self.links[at as usize].impairment.as_mut()?.overtaken(part)
    }

    /// Packets that others have overtaken go on, from the first one on.
    fn go_on(&mut self, at: u32, part: usize, first: HeldPacket) {
        let mut next = Some(first);
        while let Some(held) = next {
            self.impair(at, held.packet, part + 1);
            next = self.overtaken(at, part);
        }
    }

    /// The time has come at which packets that a link holds go on.
    #[cold]
    pub(super) fn release(&mut self, at: u32) {
        while let Some(held) = self.due(at) {
            self.impair(at, held.packet, held.part + 1);
        }
        let Some(impairment) = &self.links[at as usize].impairment else { return };
        if let Some((next, since)) = impairment.next_due() {
            self.deadlines.set_ordered(impairment.deadline, next, Order::at(since));
        }
    }

    fn due(&mut self, at: u32) -> Option<HeldPacket> {
        self.links[at as usize].impairment.as_mut()?.due(self.now)
    }

    /// A packet has passed the impairments of a link, or there are none.
    #[inline]
    pub(super) fn enter_queue(&mut self, at: u32, id: PacketId) {
        let queue = self.links[at as usize].queue;
        if queue == NONE { self.enter_pipe(at, id) } else { self.offer(queue, id) }
    }
}
