//! A packet's way over links: through a pipe at once, through a measured queue by its AQM and its transmitter.

use ecnlab_queue::{Cause, Outcome};
use ecnlab_units::Time;

use super::{SINK, SOURCE, Simulation};
use crate::deadlines::Deadlines;
use crate::link::{Link, Waiting};
use crate::packet::{Arena, NONE, PacketId};
use crate::probe::{MarkOrDrop, Probe, Touch};

impl<P: Probe> Simulation<P> {
    /// The first packet on a link has reached its far end.
    pub(super) fn arrive(&mut self, link: u32) {
        let link = &mut self.links[link as usize];
        let (id, packet, next) = link.pop(&mut self.packets);
        packet.cursor += 1;
        let hop = self.hops[packet.cursor as usize];
        if let Some((due, order)) = next {
            self.deadlines.set_ordered(link.deadline, due, order);
        }
        match hop {
            SINK => self.sink(id),
            SOURCE => self.acknowledge(id),
            link => self.enter(link, id),
        }
    }

    /// A packet comes to a link.
    pub(super) fn enter(&mut self, at: u32, id: PacketId) {
        let link = &mut self.links[at as usize];
        link.arrived += 1;
        if link.plain { self.enter_pipe(at, id) } else { self.enter_special(at, id) }
    }

    /// A packet comes to a link with a measured queue, or with an impairment.
    fn enter_special(&mut self, at: u32, id: PacketId) {
        let Link { queue, ref impairment, .. } = self.links[at as usize];
        if impairment.is_some() && !self.impair(at, id) {
            return;
        }
        if queue == NONE { self.enter_pipe(at, id) } else { self.offer(queue, id) }
    }

    /// A packet comes to a pipe, which computes its departure.
    #[inline]
    fn enter_pipe(&mut self, at: u32, id: PacketId) {
        let link = &mut self.links[at as usize];
        if link.is_full(&self.packets, self.now) {
            link.dropped += 1;
            return self.lose(at, id, MarkOrDrop::Dropped(Cause::Overflow));
        }
        let (begins, departs) = link.depart(self.packets[id].size, self.now);
        launch(link, &mut self.packets, &mut self.deadlines, id, begins, departs);
    }

    /// A packet comes to a measured queue.
    fn offer(&mut self, at: u32, id: PacketId) {
        let queue = &mut self.queues[at as usize];
        let packet = &self.packets[id];
        let length = queue.fifo.len();
        queue.measures.held(length, self.now);
        let waiting = Waiting { packet: id, size: packet.size, rtt_us: packet.rtt_us(), ecn: packet.ecn, dialect: packet.dialect() };
        let outcome = queue.fifo.offer(waiting, self.now, &mut queue.rng);
        queue.measures.arrival(length, queue.fifo.average());
        let (link, idle) = (queue.link, !queue.transmitting);
        match outcome {
            Outcome::Queued => {}
            Outcome::Marked(place, cause) => {
                let &Waiting { packet, ecn, .. } = queue.fifo.frame(place);
                self.packets[packet].ecn = ecn;
                self.touch(link, packet, MarkOrDrop::Marked(cause));
            }
            Outcome::Dropped(dropped, cause) => self.lose(link, dropped.packet, MarkOrDrop::Dropped(cause)),
        }
        if idle {
            self.transmit(at);
        }
    }

    /// A transmitter has finished a packet.
    pub(super) fn transmitted(&mut self, at: u32) {
        self.queues[at as usize].transmitting = false;
        if !self.transmit(at) {
            self.queues[at as usize].fifo.idle(self.now);
        }
    }

    /// Starts the next packet of a queue, if one waits.
    fn transmit(&mut self, at: u32) -> bool {
        let queue = &mut self.queues[at as usize];
        let length = queue.fifo.len();
        let Some((waiting, waited)) = queue.fifo.take(self.now) else { return false };
        queue.measures.held(length, self.now);
        let link = &mut self.links[queue.link as usize];
        let (begins, departs) = link.depart(waiting.size, self.now);
        queue.measures.departure(waited, departs.since(self.now));
        queue.transmitting = true;
        launch(link, &mut self.packets, &mut self.deadlines, waiting.packet, begins, departs);
        self.deadlines.set(queue.deadline, self.now, departs);
        true
    }

    /// Lets a packet through the link's impairments; false if the packet is gone.
    #[cold]
    fn impair(&mut self, at: u32, id: PacketId) -> bool {
        let link = &mut self.links[at as usize];
        let Some(what) = link.impairment.as_mut().and_then(|impairment| impairment.impair(&mut self.packets[id])) else { return true };
        if what == MarkOrDrop::ScriptMarked {
            self.touch(at, id, what);
            return true;
        }
        link.dropped += 1;
        self.lose(at, id, what);
        false
    }

    /// Counts what was done to a data packet.
    fn touch(&mut self, link: u32, id: PacketId, what: MarkOrDrop) {
        let packet = &self.packets[id];
        let flow = &mut self.flows[packet.flow as usize];
        let group = &mut self.groups[flow.group as usize];
        match what {
            MarkOrDrop::Marked(_) | MarkOrDrop::ScriptMarked => {
                flow.measures.marks += 1;
                group.marks += 1;
            }
            MarkOrDrop::Dropped(_) | MarkOrDrop::ScriptDropped | MarkOrDrop::Lost | MarkOrDrop::EcnRefused => {
                flow.measures.drops += 1;
                flow.lost += 1;
                group.drops += 1;
            }
        }
        let queue = Some(self.links[link as usize].queue).filter(|&queue| queue != NONE);
        self.probe.touched(self.now, &Touch { link, queue, flow: packet.flow, segment: &packet.segment(), what });
    }

    /// A packet is gone.
    pub(super) fn lose(&mut self, link: u32, id: PacketId, what: MarkOrDrop) {
        let packet = self.packets[id];
        if packet.is_ack() {
            let ack = self.packets.release_ack(id);
            self.probe.ack_dropped(self.now, link, packet.flow, ack.next);
        } else {
            self.touch(link, id, what);
            self.packets.release(id);
        }
    }
}

/// Puts a packet on a wire.
#[inline]
fn launch(link: &mut Link, packets: &mut Arena, deadlines: &mut Deadlines, id: PacketId, begins: Time, departs: Time) {
    let order = deadlines.order(begins);
    if link.push(packets, id, departs, order) {
        deadlines.set_ordered(link.deadline, packets[id].due, order);
    }
}
