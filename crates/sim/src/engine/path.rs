//! Path of a packet over links: through a pipe at once, through a measured queue with its AQM and its transmitter.

use ecnlab_queue::{DequeueOutcome, Discipline, Queue, QueueEvent, QueueItem, SignalCause};
use ecnlab_units::{Ecn, Time};

use super::flow::FlowState;
use super::{END_OF_ROUTE, Simulation};
use crate::calendar_queue::TieBreak;
use crate::external_hosts::SimOutput;
use crate::index_vec::IndexVec;
use crate::link::{LinkQueue, QueuedPacket};
use crate::measures::GroupMeasures;
use crate::network::RowPolicy;
use crate::packet::{NO_INDEX, Packet, PacketArena, PacketId, PacketKind};
use crate::probe::{AckDrop, AckMark, MarkOrDropWithCause, Probe, SignalEvent};
use crate::queue_log::MeasuredQueueEvent;

impl<P: Probe> Simulation<P> {
    /// The first packet on a link has reached its far end.
    pub(super) fn on_link_arrival(&mut self, at: u32) {
        let link = &mut self.links[at];
        let (id, packet, next) = link.pop_arrived(&mut self.packets);
        if P::OBSERVES_PACKETS {
            self.probe.on_link_exit(self.now, at, id, packet);
        }
        packet.hop_index += 1;
        let hop = self.route_hops[packet.hop_index];
        if let Some((due, tie_break)) = next {
            self.calendar.set_deadline_with_tie_break(link.arrival_slot, due, tie_break);
        }
        if link.computes_ahead { self.arrive_and_continue_link_ahead(at, hop, id) } else { self.arrive(hop, id) }
    }

    /// A packet that was left to an event arrives on a link that computes ahead.
    #[inline(never)]
    fn arrive_and_continue_link_ahead(&mut self, at: u32, hop: u32, id: PacketId) {
        let is_followed = self.links[at].queue == NO_INDEX || self.decrement_packets_before_pipe(hop, id);
        self.arrive(hop, id);
        if is_followed {
            self.continue_link_packets_ahead(at);
        }
    }

    /// A packet has reached the far end of its link, where `hop` comes next.
    #[inline(always)]
    fn arrive(&mut self, hop: u32, id: PacketId) {
        if hop != END_OF_ROUTE {
            return self.enter_link(hop, id);
        }
        if self.packets[id].flags.is_external() {
            return self.deliver_to_host(id);
        }
        match self.packets[id].kind() {
            PacketKind::Ack => self.deliver_ack_to_sender(id),
            PacketKind::Data | PacketKind::Datagram => self.deliver_to_sink(id),
        }
    }

    /// A packet enters a link.
    pub(super) fn enter_link(&mut self, at: u32, id: PacketId) {
        let link = &mut self.links[at];
        link.arrived_packets += 1;
        if P::OBSERVES_PACKETS {
            self.probe.on_link_entry(self.now, at, id, &self.packets[id]);
        }
        if link.is_plain_pipe { self.enter_pipe(at, id) } else { self.enter_queue_or_impairment(at, id) }
    }

    /// A packet enters a link with a measured queue or an impairment.
    fn enter_queue_or_impairment(&mut self, at: u32, id: PacketId) {
        if self.links[at].impairment.is_some() { self.apply_impairments_from(at, id, 0) } else { self.enter_link_buffer(at, id) }
    }

    /// A packet enters a pipe, which computes its departure.
    // Four packets in five take this path: code with calls is in a separate function, so that few registers have to be saved.
    #[inline]
    pub(super) fn enter_pipe(&mut self, at: u32, id: PacketId) {
        let link = &mut self.links[at];
        match link.schedule_departure_of_same_size(self.packets[id].size, self.now) {
            Some((begins, departs)) => self.start_pipe_propagation(at, id, begins, departs),
            None => self.enter_pipe_slow_path(at, id),
        }
    }

    /// The slow path: the buffer may be full, the size differs from that of the last packet, or fractions of picoseconds accumulate.
    #[inline(never)]
    fn enter_pipe_slow_path(&mut self, at: u32, id: PacketId) {
        let link = &mut self.links[at];
        if link.is_full(&self.packets, self.now) {
            return self.drop_at_full_pipe(at, id);
        }
        let (begins, departs) = link.reserve_transmitter(self.packets[id].size, self.now);
        self.start_pipe_propagation(at, id, begins, departs);
    }

    /// Drops a packet that finds the buffer of a pipe full.
    #[inline(never)]
    pub(super) fn drop_at_full_pipe(&mut self, at: u32, id: PacketId) {
        self.drop_outside_queue(at, id, MarkOrDropWithCause::Dropped(SignalCause::Overflow));
    }

    /// Puts a packet of a pipe on its wire.
    #[inline(always)]
    fn start_pipe_propagation(&mut self, at: u32, id: PacketId, begins: Time, departs: Time) {
        self.probe_transmission_start(at, id, begins);
        let tie_break = TieBreak { scheduled_at: begins, entered_buffer_at: self.now };
        self.links[at].push_to_wire(&mut self.packets, &mut self.calendar, id, departs, tie_break);
    }

    /// Puts a packet on the wire of a link.
    #[inline(always)]
    pub(super) fn start_propagation(&mut self, at: u32, id: PacketId, departs: Time, tie_break: TieBreak) {
        self.links[at].push_to_wire(&mut self.packets, &mut self.calendar, id, departs, tie_break);
    }

    /// A packet arrives at a measured queue.
    pub(super) fn enqueue(&mut self, at: u32, id: PacketId) {
        self.store_in_queue(at, id);
        if !self.queues[at].transmitting {
            self.start_transmission(at);
        }
    }

    /// A measured queue stores a packet or drops it.
    #[inline(always)]
    pub(super) fn store_in_queue(&mut self, at: u32, id: PacketId) {
        let waiting = QueuedPacket::new(id, &self.packets);
        self.probe_queue_event(at, MeasuredQueueEvent::Arrived(&waiting));
        let (now, queue, mut handler) = self.queue_and_handler(at);
        let length = queue.update_length(now);
        queue.discipline.enqueue(waiting, now, &mut queue.rng, &mut |event| handler.on_queue_event(event));
        queue.measures.on_arrival(length, queue.discipline.average_queue_length());
    }

    /// The transmitter has finished a packet, or a shaper may send now.
    pub(super) fn on_transmitter_ready(&mut self, at: u32) {
        self.queues[at].transmitting = false;
        self.start_transmission(at);
    }

    /// Starts to transmit the next packet of a queue, if there is one.
    ///
    /// # Panics
    /// If the queue holds its packets back but requests another attempt at the current time: time would not advance.
    pub(super) fn start_transmission(&mut self, at: u32) {
        let queue = &self.queues[at];
        if queue.is_down {
            return;
        }
        if queue.follows_schedule {
            return self.send_at_opportunities_or_slots(at);
        }
        self.transmit_next(at);
    }

    /// Sends at delivery opportunities, or in bursts.
    #[inline(never)]
    fn send_at_opportunities_or_slots(&mut self, at: u32) {
        if self.queues[at].delivery_schedule.is_some() { self.send_at_opportunities(at) } else { self.transmit_at_burst_slot(at) }
    }

    /// Dequeues the next packet and transmits it now; returns its size and the end of the transmission.
    ///
    /// # Panics
    /// As [`start_transmission`](Self::start_transmission).
    #[inline(always)]
    pub(super) fn transmit_next(&mut self, at: u32) -> Option<(u32, Time)> {
        let (now, outcome) = (self.now, self.dequeue(at));
        let queue = &mut self.queues[at];
        match outcome {
            DequeueOutcome::Packet { packet, sojourn, band } => {
                let link = queue.link;
                let (begins, departs) = self.links[link].reserve_transmitter(packet.size(), now);
                queue.measures.record_departure(sojourn, band, departs.since(now));
                queue.transmitting = true;
                self.calendar.set_deadline(queue.transmitter_slot, now, departs);
                self.probe_transmission_start(link, packet.packet, begins);
                let tie_break = TieBreak { scheduled_at: begins, entered_buffer_at: now - sojourn };
                self.leave_after_dequeue(link, packet.packet, departs, tie_break);
                return Some((packet.size(), departs));
            }
            DequeueOutcome::RetryAt(time) => {
                self.calendar.set_deadline(queue.transmitter_slot, now, assert_later_than_now(time, now));
            }
            DequeueOutcome::Empty if matches!(queue.discipline, Queue::KernelMirror(_)) => self.report_kernel_enqueues(at),
            DequeueOutcome::Empty => {}
        }
        None
    }

    /// Dequeues the next packet of a queue now.
    #[inline(always)]
    pub(super) fn dequeue(&mut self, at: u32) -> DequeueOutcome<QueuedPacket> {
        let (now, queue, mut handler) = self.queue_and_handler(at);
        queue.update_length(now);
        let outcome = queue.discipline.dequeue(now, &mut queue.rng, &mut |event| handler.on_queue_event(event));
        // A kernel queue dequeues nothing by itself.
        if !matches!(queue.discipline, Queue::KernelMirror(_)) {
            probe_dequeue(handler.probe, now, at, &outcome);
        }
        outcome
    }

    /// A dequeued packet leaves the link of its queue: by the fast path, or on the wire.
    #[inline(always)]
    pub(super) fn leave_after_dequeue(&mut self, link: u32, id: PacketId, departs: Time, tie_break: TieBreak) {
        if self.links[link].computes_ahead {
            self.leave_queue_ahead(link, id, departs, tie_break);
        } else {
            self.start_propagation(link, id, departs, tie_break);
        }
    }

    /// The timer of a queue has expired.
    ///
    /// # Panics
    /// If the queue sets its timer to the current time: time would not advance.
    pub(super) fn on_queue_timer(&mut self, at: u32) {
        if self.queues[at].has_known_departures == Some(true) {
            self.update_known_queue(at);
        }
        self.probe_queue_event(at, MeasuredQueueEvent::TimerFired);
        let queue = &mut self.queues[at];
        queue.discipline.on_timer(self.now, &mut queue.rng);
        if let Some(next) = queue.discipline.next_timer() {
            assert!(next > self.now, "a queue's next deadline must be later than now");
            self.calendar.set_deadline(queue.timer_slot, self.now, next);
        }
    }

    /// Reports an event of a queue to a probe that observes queues.
    #[inline(always)]
    pub(super) fn probe_queue_event(&mut self, at: u32, event: MeasuredQueueEvent) {
        if self.probe.observes_queue_events() {
            self.probe.on_queue_event(self.now, at, event);
        }
    }

    /// Reports the start of a transmission to a probe that observes links.
    #[inline(always)]
    pub(super) fn probe_transmission_start(&mut self, link: u32, id: PacketId, begins: Time) {
        if P::OBSERVES_PACKETS {
            self.probe.on_transmission_start(self.now, begins, link, id, &self.packets[id]);
        }
    }

    /// The time, a queue, and the handler of the queue's events.
    #[inline(always)]
    pub(super) fn queue_and_handler(&mut self, at: u32) -> (Time, &mut LinkQueue, LinkEventHandler<'_, P>) {
        let Simulation { now, queues, packets, flows, groups, probe, outputs, .. } = self;
        let queue = &mut queues[at];
        let handler = LinkEventHandler { now: *now, link: queue.link, queue: Some(at), packets, flows, groups, probe, outputs };
        (*now, queue, handler)
    }

    /// The handler of a link's events.
    #[inline(always)]
    pub(super) fn link_event_handler(&mut self, link: u32) -> LinkEventHandler<'_, P> {
        let Simulation { now, links, packets, flows, groups, probe, outputs, .. } = self;
        let queue = Some(links[link].queue).filter(|&queue| queue != NO_INDEX);
        LinkEventHandler { now: *now, link, queue, packets, flows, groups, probe, outputs }
    }
}

/// Reports the outcome of a dequeue to a probe.
#[inline(always)]
pub(super) fn probe_dequeue<P: Probe>(probe: &mut P, now: Time, queue: u32, outcome: &DequeueOutcome<QueuedPacket>) {
    if let DequeueOutcome::Packet { sojourn, band, .. } = outcome {
        probe.on_departure(queue, *sojourn, *band);
    }
    if probe.observes_queue_events() {
        probe.on_queue_event(now, queue, MeasuredQueueEvent::from(outcome));
    }
}

/// Handles events of a link and its queue: writes marks, counts, calls the probe, and removes dropped packets from the network.
pub(super) struct LinkEventHandler<'a, P> {
    now: Time,
    link: u32,
    queue: Option<u32>,
    packets: &'a mut PacketArena,
    flows: &'a mut IndexVec<FlowState>,
    groups: &'a mut IndexVec<GroupMeasures>,
    probe: &'a mut P,
    outputs: &'a mut Vec<SimOutput>,
}

impl<P: Probe> LinkEventHandler<'_, P> {
    #[inline(always)]
    pub(super) fn on_queue_event(&mut self, event: QueueEvent<QueuedPacket>) {
        match event {
            QueueEvent::Stored(_) => {}
            QueueEvent::Marked(frame, cause) => self.on_mark(frame, cause),
            QueueEvent::Dropped(frame, cause) => {
                self.probe_queue_event(MeasuredQueueEvent::Dropped(&frame, cause));
                self.drop_packet(frame.packet, MarkOrDropWithCause::Dropped(cause));
            }
        }
    }

    /// A packet was marked: updates its ECN field and the counters of data packets.
    #[inline(never)]
    fn on_mark(&mut self, frame: &QueuedPacket, cause: SignalCause) {
        self.probe_queue_event(MeasuredQueueEvent::Marked(frame, cause));
        self.packets[frame.packet].ecn = frame.ecn();
        self.record_mark(frame.packet, MarkOrDropWithCause::Marked(cause));
    }

    /// Counts the mark of a data packet, and reports any mark to the probe.
    pub(super) fn record_mark(&mut self, id: PacketId, what: MarkOrDropWithCause) {
        let packet = &self.packets[id];
        if packet.is_ack_from_sink() {
            self.probe.on_ack_mark(self.now, &AckMark { queue: self.queue, flow: packet.flow, signal: what });
        } else {
            self.report_signal(id, what);
        }
    }

    /// Counts a mark or drop of a data packet and reports it to the probe.
    fn report_signal(&mut self, id: PacketId, what: MarkOrDropWithCause) {
        let packet = &self.packets[id];
        let flow = &mut self.flows[packet.flow];
        let group = &mut self.groups[flow.group];
        let counted = u64::from(flow.row_policy != RowPolicy::NotCounted);
        match what {
            MarkOrDropWithCause::Marked(_) | MarkOrDropWithCause::PathMarked => {
                flow.measures.marks += 1;
                group.marks += counted;
            }
            MarkOrDropWithCause::Dropped(_) | MarkOrDropWithCause::Lost | MarkOrDropWithCause::DroppedForEcn => {
                flow.measures.drops += 1;
                flow.lost_packets += 1;
                group.drops += counted;
            }
        }
        let signal = SignalEvent { link: self.link, queue: self.queue, flow: packet.flow, segment: &packet.to_segment(), signal: what };
        self.probe.on_data_mark_or_drop(self.now, &signal);
    }

    /// Reports a queue event to a probe that observes queues.
    #[inline(always)]
    pub(super) fn probe_queue_event(&mut self, event: MeasuredQueueEvent) {
        if self.probe.observes_queue_events()
            && let Some(queue) = self.queue
        {
            self.probe.on_queue_event(self.now, queue, event);
        }
    }

    /// Removes a dropped packet from the network.
    pub(super) fn drop_packet(&mut self, id: PacketId, what: MarkOrDropWithCause) {
        let packet = self.packets[id];
        if P::OBSERVES_PACKETS {
            self.probe.on_packet_drop(self.now, self.link, id, &packet);
        }
        if packet.flags.is_external() {
            self.drop_external_packet(id, &packet, what);
        } else if packet.is_ack_from_sink() {
            let ack = self.packets.remove_ack(id);
            let drop = AckDrop { link: self.link, queue: self.queue, flow: packet.flow, ack_seq: ack.next, signal: what };
            self.probe.on_ack_drop(self.now, &drop);
        } else {
            self.report_signal(id, what);
            self.packets.remove_piggybacked_ack(id);
            self.packets.remove_without_ext(id);
        }
    }

    /// The handle of an external packet.
    pub(super) fn external_packet_handle(&self, id: PacketId) -> u32 {
        self.packets[id].handle()
    }

    /// Applies the ECN field with which a packet leaves a kernel queue.
    pub(super) fn apply_kernel_ecn(&mut self, frame: &QueuedPacket, ecn: Ecn) {
        let packet = &mut self.packets[frame.packet];
        packet.ecn = ecn;
        if ecn == Ecn::Ce && frame.ecn() != Ecn::Ce {
            self.record_mark(frame.packet, MarkOrDropWithCause::Marked(SignalCause::Early));
        }
    }

    /// Drops a packet of an external host, and reports it.
    #[cold]
    #[inline(never)]
    fn drop_external_packet(&mut self, id: PacketId, packet: &Packet, what: MarkOrDropWithCause) {
        if packet.is_ack_from_sink() {
            let drop = AckDrop { link: self.link, queue: self.queue, flow: packet.flow, ack_seq: 0, signal: what };
            self.probe.on_ack_drop(self.now, &drop);
        } else {
            self.report_signal(id, what);
        }
        self.packets.remove_without_ext(id);
        self.outputs.push(SimOutput::Lost { handle: packet.handle(), at: self.now });
    }
}

/// Checks the time that a queue returned for its next attempt or timer.
///
/// # Panics
/// If it is not after `now`: time would not advance.
#[inline]
pub(super) fn assert_later_than_now(time: Time, now: Time) -> Time {
    assert!(time > now, "the time at which a packet may leave must be later than now");
    time
}
