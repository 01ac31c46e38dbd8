//! A packet's way over links: through a pipe at once, through a measured queue by its AQM and its transmitter.

use ecnlab_queue::{Cause, Deed, Discipline, Frame, Take};
use ecnlab_units::{Ecn, Time};

use super::flow::Flow;
use super::{END, GroupCounts, Simulation};
use crate::arrivals::QueueDeed;
use crate::deadlines::{Deadlines, Order};
use crate::link::{Link, Queue, Waiting};
use crate::network::Counted;
use crate::outside::Happened;
use crate::packet::{Arena, NONE, Packet, PacketId, PacketKind};
use crate::probe::{AckDrop, AckMark, MarkOrDrop, Probe, Touch};

impl<P: Probe> Simulation<P> {
    /// The first packet on a link has reached its far end.
    pub(super) fn arrive(&mut self, at: u32) {
        let link = &mut self.links[at as usize];
        let (id, packet, next) = link.pop(&mut self.packets);
        if P::LINKS {
            self.probe.arrived(self.now, at, id, packet);
        }
        packet.cursor += 1;
        let hop = self.hops[packet.cursor as usize];
        if let Some((due, order)) = next {
            self.deadlines.set_ordered(link.deadline, due, order);
        }
        if hop != END {
            return self.enter(hop, id);
        }
        if self.packets[id].bits.is_foreign() {
            return self.hand_over(id);
        }
        match self.packets[id].kind() {
            PacketKind::Ack => self.acknowledge(id),
            PacketKind::Data | PacketKind::Datagram => self.sink(id),
        }
    }

    /// A packet comes to a link.
    pub(super) fn enter(&mut self, at: u32, id: PacketId) {
        let link = &mut self.links[at as usize];
        link.arrived += 1;
        if P::LINKS {
            self.probe.entered(self.now, at, id, &self.packets[id]);
        }
        if link.plain { self.enter_pipe(at, id) } else { self.enter_special(at, id) }
    }

    /// A packet comes to a link with a measured queue, or with an impairment.
    fn enter_special(&mut self, at: u32, id: PacketId) {
        if self.links[at as usize].impairment.is_some() { self.impair(at, id, 0) } else { self.enter_queue(at, id) }
    }

    /// A packet comes to a pipe, which computes its departure.
    // Four packets in five come here: what makes a call stands apart, so that few registers have to be saved.
    #[inline]
    pub(super) fn enter_pipe(&mut self, at: u32, id: PacketId) {
        let link = &mut self.links[at as usize];
        match link.depart_again(self.packets[id].size, self.now) {
            Some((begins, departs)) => self.launch_at(at, id, begins, departs),
            None => self.enter_pipe_exactly(at, id),
        }
    }

    /// The same where the buffer may be full, of a packet of another size than the last, and where fractions of picoseconds add up.
    #[inline(never)]
    fn enter_pipe_exactly(&mut self, at: u32, id: PacketId) {
        let link = &mut self.links[at as usize];
        if link.is_full(&self.packets, self.now) {
            link.dropped += 1;
            return self.at_link(at).lose(id, MarkOrDrop::Dropped(Cause::Overflow));
        }
        let (begins, departs) = link.depart(self.packets[id].size, self.now);
        self.launch_at(at, id, begins, departs);
    }

    /// Puts a packet of a pipe on its wire.
    #[inline(always)]
    fn launch_at(&mut self, at: u32, id: PacketId, begins: Time, departs: Time) {
        if P::LINKS {
            self.probe.began(self.now, begins, at, id, &self.packets[id]);
        }
        let order = Order { since: begins, entered: self.now };
        launch(&mut self.links[at as usize], &mut self.packets, &mut self.deadlines, id, departs, order);
    }

    /// A packet comes to a measured queue.
    pub(super) fn offer(&mut self, at: u32, id: PacketId) {
        let waiting = Waiting::new(id, &self.packets);
        if P::QUEUES {
            self.probe.queue_did(self.now, at, QueueDeed::Came(&waiting));
        }
        let (now, queue, mut witness) = self.at_queue(at);
        let length = queue.discipline.len();
        queue.measures.held(length, now);
        queue.discipline.offer(waiting, now, &mut queue.rng, &mut |deed| witness.hear(deed));
        queue.measures.arrival(length, queue.discipline.average());
        if !queue.transmitting {
            self.transmit(at);
        }
    }

    /// A transmitter has finished a packet, or the time has come at which a packet may leave.
    pub(super) fn transmitted(&mut self, at: u32) {
        self.queues[at as usize].transmitting = false;
        self.transmit(at);
    }

    /// Starts the next packet of a queue, if there is one.
    ///
    /// # Panics
    /// If none may leave yet and the queue is to be asked again at once: time would stand still.
    pub(super) fn transmit(&mut self, at: u32) {
        let queue = &self.queues[at as usize];
        if queue.is_down {
            return;
        }
        if queue.deliveries.is_some() {
            return self.deliver(at);
        }
        let Simulation { now, queues, links, packets, flows, groups, probe, deadlines, happened, .. } = self;
        let (now, queue) = (*now, &mut queues[at as usize]);
        queue.measures.held(queue.discipline.len(), now);
        let mut witness = Witness { now, link: queue.link, queue: Some(at), packets, flows, groups, probe, happened };
        match queue.discipline.take(now, &mut queue.rng, &mut |deed| witness.hear(deed)) {
            Take::Packet { frame, waited, band } => {
                witness.tell_of_queue(QueueDeed::Left { frame: &frame, sojourn: waited, band });
                let link = &mut links[queue.link as usize];
                let (begins, departs) = link.depart(frame.size(), now);
                queue.measures.departure(waited, band, departs.since(now));
                witness.tell_of_beginning(frame.packet, begins);
                queue.transmitting = true;
                launch(link, packets, deadlines, frame.packet, departs, Order { since: begins, entered: now - waited });
                deadlines.set(queue.deadline, now, departs);
            }
            Take::Later(time) => {
                witness.tell_of_queue(QueueDeed::Waits(time));
                deadlines.set(queue.deadline, now, later_than(time, now));
            }
            Take::Empty if matches!(queue.discipline, ecnlab_queue::Queue::Outside(_)) => self.offer_outside(at),
            Take::Empty => witness.tell_of_queue(QueueDeed::Empty),
        }
    }

    /// A queue's own deadline has come.
    ///
    /// # Panics
    /// If the queue asks to be woken again at once: time would stand still.
    pub(super) fn expire_queue(&mut self, at: u32) {
        if P::QUEUES {
            self.probe.queue_did(self.now, at, QueueDeed::Expired);
        }
        let queue = &mut self.queues[at as usize];
        queue.discipline.expire(self.now, &mut queue.rng);
        if let Some(next) = queue.discipline.deadline() {
            assert!(next > self.now, "a queue's next deadline must be later than now");
            self.deadlines.set(queue.timer, self.now, next);
        }
    }

    /// The time, a queue, and who hears what the queue does.
    #[inline(always)]
    pub(super) fn at_queue(&mut self, at: u32) -> (Time, &mut Queue, Witness<'_, P>) {
        let Simulation { now, queues, packets, flows, groups, probe, happened, .. } = self;
        let queue = &mut queues[at as usize];
        let witness = Witness { now: *now, link: queue.link, queue: Some(at), packets, flows, groups, probe, happened };
        (*now, queue, witness)
    }

    /// Who hears what a link does.
    #[inline(always)]
    pub(super) fn at_link(&mut self, link: u32) -> Witness<'_, P> {
        let Simulation { now, links, packets, flows, groups, probe, happened, .. } = self;
        let queue = Some(links[link as usize].queue).filter(|&queue| queue != NONE);
        Witness { now: *now, link, queue, packets, flows, groups, probe, happened }
    }
}

/// Hears what a link or its queue does to packets: writes marks, counts, tells the probe, and takes lost packets out of the network.
pub(super) struct Witness<'a, P> {
    now: Time,
    link: u32,
    queue: Option<u32>,
    packets: &'a mut Arena,
    flows: &'a mut [Flow],
    groups: &'a mut [GroupCounts],
    probe: &'a mut P,
    happened: &'a mut Vec<Happened>,
}

impl<P: Probe> Witness<'_, P> {
    #[inline(always)]
    pub(super) fn hear(&mut self, deed: Deed<Waiting>) {
        match deed {
            Deed::Stored(_) => {}
            Deed::Marked(frame, cause) => self.hear_of_mark(frame, cause),
            Deed::Dropped(frame, cause) => {
                self.tell_of_queue(QueueDeed::Dropped(&frame, cause));
                self.lose(frame.packet, MarkOrDrop::Dropped(cause));
            }
        }
    }

    /// A packet was marked: its ECN field says so, and data is counted.
    #[inline(never)]
    fn hear_of_mark(&mut self, frame: &Waiting, cause: Cause) {
        self.tell_of_queue(QueueDeed::Marked(frame, cause));
        self.packets[frame.packet].ecn = frame.ecn();
        self.mark(frame.packet, MarkOrDrop::Marked(cause));
    }

    /// Counts the mark of a data packet, and tells the probe of any.
    pub(super) fn mark(&mut self, id: PacketId, what: MarkOrDrop) {
        let packet = &self.packets[id];
        if packet.is_ack() {
            self.probe.ack_marked(self.now, &AckMark { queue: self.queue, flow: packet.flow, what });
        } else {
            self.touch(id, what);
        }
    }

    /// Counts what was done to a data packet.
    fn touch(&mut self, id: PacketId, what: MarkOrDrop) {
        let packet = &self.packets[id];
        let flow = &mut self.flows[packet.flow as usize];
        let group = &mut self.groups[flow.group as usize];
        let counted = u64::from(flow.counted != Counted::Nowhere);
        match what {
            MarkOrDrop::Marked(_) | MarkOrDrop::PathMarked => {
                flow.measures.marks += 1;
                group.marks += counted;
            }
            MarkOrDrop::Dropped(_) | MarkOrDrop::Lost | MarkOrDrop::EcnRefused => {
                flow.measures.drops += 1;
                flow.lost += 1;
                group.drops += counted;
            }
        }
        let touch = Touch { link: self.link, queue: self.queue, flow: packet.flow, segment: &packet.segment(), what };
        self.probe.touched(self.now, &touch);
    }

    /// Tells a probe that looks at queues what this one did.
    #[inline(always)]
    pub(super) fn tell_of_queue(&mut self, deed: QueueDeed) {
        if P::QUEUES
            && let Some(queue) = self.queue
        {
            self.probe.queue_did(self.now, queue, deed);
        }
    }

    /// Tells a probe that looks at links of a transmission.
    #[inline(always)]
    pub(super) fn tell_of_beginning(&mut self, id: PacketId, begins: Time) {
        if P::LINKS {
            self.probe.began(self.now, begins, self.link, id, &self.packets[id]);
        }
    }

    /// A packet is gone.
    pub(super) fn lose(&mut self, id: PacketId, what: MarkOrDrop) {
        let packet = self.packets[id];
        if P::LINKS {
            self.probe.dropped(self.now, self.link, id, &packet);
        }
        if packet.bits.is_foreign() {
            self.lose_foreign(id, &packet, what);
        } else if packet.is_ack() {
            let ack = self.packets.release_ack(id);
            let drop = AckDrop { link: self.link, queue: self.queue, flow: packet.flow, next: ack.next, what };
            self.probe.ack_dropped(self.now, &drop);
        } else {
            self.touch(id, what);
            self.packets.take_ride(id);
            self.packets.release(id);
        }
    }

    /// By what a host tells a packet of its own.
    pub(super) fn ticket(&self, id: PacketId) -> u32 {
        self.packets[id].ticket()
    }

    /// A packet leaves a queue outside, with this in its ECN field.
    pub(super) fn release(&mut self, frame: &Waiting, ecn: Ecn) {
        let packet = &mut self.packets[frame.packet];
        packet.ecn = ecn;
        if ecn == Ecn::Ce && frame.ecn() != Ecn::Ce {
            self.mark(frame.packet, MarkOrDrop::Marked(Cause::Early));
        }
    }

    /// The same of a host's packet, of which the host hears.
    #[cold]
    #[inline(never)]
    fn lose_foreign(&mut self, id: PacketId, packet: &Packet, what: MarkOrDrop) {
        if packet.is_ack() {
            let drop = AckDrop { link: self.link, queue: self.queue, flow: packet.flow, next: 0, what };
            self.probe.ack_dropped(self.now, &drop);
        } else {
            self.touch(id, what);
        }
        self.packets.release(id);
        self.happened.push(Happened::Lost { ticket: packet.ticket(), at: self.now });
    }
}

/// The time at which a packet may leave, as a queue answers that is asked now.
///
/// # Panics
/// If it is not later: time would stand still.
#[inline]
pub(super) fn later_than(time: Time, now: Time) -> Time {
    assert!(time > now, "the time at which a packet may leave must be later than now");
    time
}

/// Puts a packet on a wire.
#[inline]
pub(super) fn launch(link: &mut Link, packets: &mut Arena, deadlines: &mut Deadlines, id: PacketId, departs: Time, order: Order) {
    if link.push(packets, id, departs, order) {
        deadlines.set_ordered(link.deadline, packets[id].due, order);
    }
}
