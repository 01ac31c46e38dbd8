//! Endpoints of flows: senders, receivers and the packets that they create.

use ecnlab_transport::application::AppEvent;
use ecnlab_transport::receiver::ReceiveOutcome;
use ecnlab_transport::settings::PADDED_ACCECN_OPTION_BYTES;
use ecnlab_transport::{Ack, CongestionWindow, Segment, SegmentType, SenderEndpoint, SenderOutput};
use ecnlab_units::{Rate, Time};

use super::Simulation;
use super::fast_path::SinkAhead;
use super::flow::AppWriteTiming;
use crate::calendar_queue::{CalendarQueue, TieBreak};
use crate::component::ComponentKind;
use crate::measures::{Delivery, FinishedTransfer};
use crate::network::RowPolicy;
use crate::packet::{NO_INDEX, Packet, PacketFlags, PacketId, PacketOrigin};
use crate::probe::{PacketCreationContext, Probe, ReverseFlow};

impl<P: Probe> Simulation<P> {
    /// A packet has reached its sink.
    // Runs for each packet (this or `acknowledge`), so their work is inlined in the event loop.
    #[inline(always)]
    pub(super) fn deliver_to_sink(&mut self, id: PacketId) {
        let packet = self.packets[id];
        if packet.flags.is_piggybacked() {
            return self.deliver_piggybacked_to_sink(id);
        }
        self.packets.remove_without_ext(id);
        self.receive_at_sink(&packet, |simulation, arrival| {
            if let Some(ack) = &mut arrival.earlier_ack {
                simulation.send_ack(packet.flow, ack);
            }
            if let Some(ack) = &mut arrival.ack {
                simulation.send_ack(packet.flow, ack);
            }
        });
    }

    /// Data with a piggybacked ACK of the other direction has reached its sink. The ACK is processed first, then the data; segments that
    /// the ACK releases carry the ACK of the data.
    #[inline(never)]
    fn deliver_piggybacked_to_sink(&mut self, id: PacketId) {
        let ack = self.packets.remove_piggybacked_ack(id);
        let packet = self.packets[id];
        let flow = &self.flows[packet.flow];
        let reverse_flow = flow.reverse_flow;
        let is_taken = reverse_flow != NO_INDEX && flow.is_current_connection(packet.connection_id, packet.sent_at);
        let Some(ack) = ack.filter(|_| is_taken) else { return self.deliver_to_sink(id) };
        self.packets.remove_without_ext(id);
        let is_sample = self.flows[reverse_flow].sender.as_tcp().is_some_and(|sender| ack.next > sender.snd_una());
        self.record_ack(reverse_flow, &ack, is_sample);
        let before = self.call_sender_without_flush(reverse_flow, |sender, now, out| sender.on_ack_with_data(&ack, now, out));
        self.receive_at_sink(&packet, |simulation, arrival| {
            if let Some(ack) = &mut arrival.earlier_ack {
                simulation.send_ack(packet.flow, ack);
            }
            if let Some(mut ack) = simulation.flush_segments_with_ack(reverse_flow, before, arrival.ack.take()) {
                simulation.send_ack(packet.flow, &mut ack);
            }
        });
        self.end_transfer_if_done(reverse_flow);
    }

    /// Delivers a packet to the sink, sends its ACK and notifies the application. A packet of an earlier connection is ignored.
    #[inline(always)]
    fn receive_at_sink(&mut self, packet: &Packet, send: impl FnOnce(&mut Self, &mut ReceiveOutcome)) {
        let flow = &mut self.flows[packet.flow];
        flow.received_packets += 1;
        if !flow.is_current_connection(packet.connection_id, packet.sent_at) {
            return;
        }
        let segment = packet.to_segment();
        self.probe.on_segment_received(self.now, packet.flow, &segment);
        let before = flow.sink.deadline();
        let mut arrival = flow.sink.receive(&segment, packet.sent_at, self.now);
        let mut delivered_bytes = 0;
        if packet.segment_type() != SegmentType::PureAck {
            let (new_bytes, carried) = flow.sender.bytes_delivered_by_segment(&segment, arrival.delivered, flow.sink.rcv_nxt());
            let first_bytes = if segment.retransmission || packet.flags.is_duplicate() { 0 } else { carried };
            let delivery = Delivery { size: packet.size, new_bytes, first_bytes };
            if let Some(since) = flow.measures.on_delivery(&delivery, self.now) {
                self.probe.on_lockout(packet.flow, since, self.now);
            }
            self.groups[flow.group].record_delay(flow, self.now.since(packet.sent_at));
            delivered_bytes = if flow.app_kind == AppWriteTiming::WantsDeliveries { new_bytes } else { 0 };
        }
        self.update_sink_timer(packet.flow, before);
        send(self, &mut arrival);
        if delivered_bytes > 0 {
            self.notify_app_of_flow(packet.flow, |member| AppEvent::Delivered(member, delivered_bytes));
        }
    }

    /// The timer of a sink: a delayed ACK, or a retransmission of the handshake.
    #[inline(never)]
    pub(super) fn on_sink_timer(&mut self, flow: u32) {
        let ack = self.flows[flow].sink.on_timer(self.now);
        self.update_sink_timer(flow, None);
        if let Some(mut ack) = ack {
            self.send_ack(flow, &mut ack);
        }
    }

    /// Sets a sink's timer if its deadline differs from `before`.
    #[inline(always)]
    fn update_sink_timer(&mut self, at: u32, before: Option<Time>) {
        let flow = &self.flows[at];
        match flow.sink.deadline() {
            after if after == before => {}
            Some(until) => {
                let shares_return_path = flow.sink_ahead == SinkAhead::SharedReturnPath;
                if flow.sink_timer_slot == CalendarQueue::NO_SLOT {
                    self.add_sink_timer_slot(at);
                }
                self.calendar.set_deadline(self.flows[at].sink_timer_slot, self.now, until);
                if shares_return_path {
                    self.add_sink_timer(at, until, TieBreak::scheduled_now(self.now));
                }
            }
            None => self.calendar.clear_deadline(flow.sink_timer_slot),
        }
    }

    /// Adds the component of a sink's timer to the calendar queue.
    #[cold]
    #[inline(never)]
    fn add_sink_timer_slot(&mut self, at: u32) {
        self.flows[at].sink_timer_slot = self.calendar.add_component(ComponentKind::SinkTimer, at);
    }

    /// Sends an ACK, which takes its SACK blocks along.
    fn send_ack(&mut self, flow: u32, ack: &mut Ack) {
        self.probe.on_ack_sent(self.now, flow, ack);
        let from = &self.flows[flow];
        if self.links[self.route_hops[from.back_route]].accepts_ahead {
            return self.send_ack_ahead(flow, ack);
        }
        let (cursor, origin) = (from.back_route, from.packet_origin(flow, from.back_route, PacketFlags::default()));
        let probed_ack = P::OBSERVES_PACKETS.then(|| ack.clone());
        let id = self.packets.insert_ack(ack, origin);
        self.probe_packet_creation(id, probed_ack.as_ref());
        self.enter_link(self.route_hops[cursor], id);
    }

    /// An ACK has reached its source.
    pub(super) fn deliver_ack_to_sender(&mut self, id: PacketId) {
        let Packet { flow: at, connection_id, .. } = self.packets[id];
        let ack = self.packets.remove_ack(id);
        if self.flows[at].is_current_connection(connection_id, ack.echo) {
            self.process_ack(at, &ack);
        }
    }

    /// The sender of a flow processes an ACK of its connection.
    #[inline(always)]
    pub(super) fn process_ack(&mut self, at: u32, ack: &Ack) {
        let flow = &mut self.flows[at];
        let reverse_flow = flow.reverse_flow;
        if ack.is_accurate() && reverse_flow != NO_INDEX {
            self.flows[reverse_flow].sink.on_ack_ecn(ack.ecn);
        }
        self.record_ack(at, ack, true);
        let flow = &self.flows[at];
        let opens = ack.segment_type == SegmentType::Syn && flow.awaits_syn_ack_for_app();
        self.run_sender(at, |sender, now, out| sender.on_ack(ack, now, out));
        if opens {
            self.notify_app_of_flow(at, AppEvent::Opened);
        }
        self.end_transfer_if_done(at);
    }

    /// Reports an arrived ACK to the probe, with its RTT sample if it gave one.
    #[inline(always)]
    fn record_ack(&mut self, at: u32, ack: &Ack, is_sample: bool) {
        self.probe.on_ack_received(self.now, at, ack);
        if is_sample && !ack.echo_retransmission {
            let flow = &mut self.flows[at];
            let rtt = self.now.since(ack.echo);
            flow.measures.on_rtt_sample(rtt);
            if flow.row_policy != RowPolicy::NotCounted {
                self.probe.on_rtt_sample(self.now, flow.group, rtt);
            }
        }
    }

    #[inline(always)]
    fn end_transfer_if_done(&mut self, at: u32) {
        let flow = &self.flows[at];
        if flow.sender.is_done() && flow.measures.is_sending() {
            self.end_transfer(at);
        }
    }

    /// A flow's transfer is acknowledged completely.
    #[cold]
    pub(super) fn end_transfer(&mut self, at: u32) {
        let flow = &mut self.flows[at];
        let began = flow.measures.take_transfer_begin().unwrap_or(self.now);
        if flow.app != NO_INDEX {
            return self.notify_app_of_flow(at, AppEvent::Acknowledged);
        }
        flow.measures.set_completed_at(self.now);
        let bytes = flow.initial_write.map_or(0, |demand| demand.bytes);
        self.record_transfer(at, began, bytes);
    }

    /// Records a transfer that the user has waited for since `began`.
    pub(super) fn record_transfer(&mut self, at: u32, began: Time, bytes: u64) {
        let narrowest = self.bottleneck_rate(self.flows[at].forward_route);
        let flow = &mut self.flows[at];
        let duration = self.now.since(began);
        flow.measures.record_transfer_duration(duration);
        let group = &mut self.groups[flow.group];
        group.transfers.record(duration);
        group.completions.record(&FinishedTransfer {
            bytes,
            duration,
            ideal_duration: FinishedTransfer::ideal_duration(bytes, flow.base_rtt, narrowest),
        });
        self.probe.on_transfer_end(self.now, flow.group, began, bytes);
    }

    /// The declared rate of the slowest link of a route.
    fn bottleneck_rate(&self, route: u32) -> Rate {
        self.links_of_route(route).iter().map(|&link| self.declared_links[link].0).min().expect("a route has a link")
    }

    /// The timer of a flow: its start, later the timer of its sender.
    #[inline(never)]
    pub(super) fn on_start_or_sender_timer(&mut self, flow: u32) {
        if self.flows[flow].has_external_hosts() {
            self.start_external_flow(flow);
        } else if std::mem::replace(&mut self.flows[flow].started, true) {
            self.run_sender(flow, |sender, now, out| sender.on_timer(now, out));
        } else {
            self.run_sender(flow, |sender, now, out| sender.start(now, out));
        }
        if self.flows[flow].is_sender_ahead {
            self.continue_return_acks_ahead(flow);
        }
    }

    /// The timer of a sender has run, for which ACKs may wait.
    fn continue_return_acks_ahead(&mut self, flow: u32) {
        if let Some(&last) = self.links_of_route(self.flows[flow].back_route).last() {
            self.continue_link_packets_ahead(last);
        }
    }

    /// Runs a sender, sends the segments that it created and sets its timer.
    #[inline(always)]
    pub(super) fn run_sender(&mut self, at: u32, act: impl FnOnce(&mut SenderEndpoint, Time, &mut SenderOutbox<'_, P>)) {
        let before = self.call_sender_without_flush(at, act);
        if self.flows[at].reverse_flow == NO_INDEX {
            self.flush_segments(at, before, Self::send_segment);
        } else {
            self.flush_segments_with_ack(at, before, None);
        }
    }

    /// Runs a sender, which leaves its segments in the outbox; returns the previous deadline of its timer, or `NEVER`.
    #[inline(always)]
    fn call_sender_without_flush(&mut self, at: u32, act: impl FnOnce(&mut SenderEndpoint, Time, &mut SenderOutbox<'_, P>)) -> Time {
        debug_assert!(self.unsent_segments.is_empty(), "what another sender made is not sent yet");
        let Simulation { now, flows, unsent_segments, probe, .. } = self;
        let flow = &mut flows[at];
        let before = flow.sender.deadline_or_never();
        act(&mut flow.sender, *now, &mut SenderOutbox { segments: unsent_segments, probe, now: *now, flow: at });
        before
    }

    /// Sends the segments of a sender and sets its timer unless its deadline is still `before`. `ack` is one of its reverse flow that may
    /// be piggybacked; returned if no segment carried it.
    #[inline(never)]
    fn flush_segments_with_ack(&mut self, at: u32, before: Time, mut ack: Option<Ack>) -> Option<Ack> {
        self.flush_segments(at, before, |simulation, segment, origin, rtt_us| {
            simulation.send_segment_with_ack(segment, origin, rtt_us, &mut ack)
        });
        ack
    }

    /// The same without piggybacked ACKs.
    #[inline(always)]
    fn flush_segments(&mut self, at: u32, before: Time, mut send: impl FnMut(&mut Self, &Segment, PacketOrigin, u32)) {
        let flow = &self.flows[at];
        let (after, rtt) = (flow.sender.deadline_or_never(), flow.sender.rtt_written_into_packets());
        let (timer, origin) = (flow.timer_slot, flow.packet_origin(at, flow.forward_route, flow.sender_flags));
        let rtt_us = rtt.map_or(0, |rtt| rtt.picos() / 1_000_000).min(u64::from(u32::MAX)) as u32;
        // A packet may be passed ahead to a sender, which then needs the outbox.
        let mut segments = std::mem::take(&mut self.unsent_segments);
        for segment in &segments {
            self.probe.on_segment_sent(self.now, at, segment);
            send(self, segment, origin, rtt_us);
        }
        segments.clear();
        self.unsent_segments = segments;
        if after == before {
            return;
        }
        if after == Time::NEVER {
            self.calendar.clear_deadline(timer);
        } else {
            self.calendar.set_deadline(timer, self.now, after);
        }
    }

    #[inline(never)]
    fn send_segment(&mut self, segment: &Segment, origin: PacketOrigin, rtt_us: u32) {
        let id = self.packets.insert(Packet::from_segment(segment, origin, self.now, rtt_us));
        self.probe_packet_creation(id, None);
        self.enter_link(self.route_hops[origin.hop_index], id);
    }

    /// Sends data with an ACK of the reverse flow: `ack`, unless it answers a SYN or a FIN, else the current one. SACK blocks are header
    /// options and enlarge the packet by their size.
    #[inline(never)]
    fn send_segment_with_ack(&mut self, segment: &Segment, origin: PacketOrigin, rtt_us: u32, ack: &mut Option<Ack>) {
        if segment.segment_type == SegmentType::PureAck {
            return self.send_segment(segment, origin, rtt_us);
        }
        let reverse_flow = self.flows[origin.flow].reverse_flow;
        let as_of_now = self.piggybacked_ack_now(reverse_flow);
        let piggybacked_ack = ack.take_if(|ack| ack.segment_type == SegmentType::Plain).or(as_of_now);
        let Some(piggybacked_ack) = piggybacked_ack else { return self.send_segment(segment, origin, rtt_us) };
        let mut packet = Packet::from_segment(segment, origin, self.now, rtt_us);
        self.probe.on_ack_piggybacked(self.now, reverse_flow, &piggybacked_ack);
        packet.size += piggybacked_ack.size - self.flows[reverse_flow].transport.packet_and_ack_sizes().1;
        if segment.accecn_option && piggybacked_ack.accecn.is_present() {
            // The segment and the ACK have one option between them.
            packet.size -= PADDED_ACCECN_OPTION_BYTES;
        }
        let probed_ack = P::OBSERVES_PACKETS.then(|| piggybacked_ack.clone());
        let id = self.packets.insert_with_ack(packet, piggybacked_ack);
        self.probe_packet_creation(id, probed_ack.as_ref());
        self.enter_link(self.route_hops[origin.hop_index], id);
    }

    /// The ACK that data of the other direction carries now; a pending delayed ACK is thereby sent.
    fn piggybacked_ack_now(&mut self, at: u32) -> Option<Ack> {
        let sink = &mut self.flows[at].sink;
        let before = sink.deadline();
        let ack = sink.piggybacked_ack(self.now);
        self.update_sink_timer(at, before);
        ack
    }

    /// Reports a new packet to a probe that observes packets.
    #[inline(always)]
    fn probe_packet_creation(&mut self, id: PacketId, ack: Option<&Ack>) {
        if P::OBSERVES_PACKETS {
            let packet = &self.packets[id];
            let flow = &self.flows[packet.flow];
            let reverse_flow = self.flows.get(flow.reverse_flow as usize).map(|reverse_flow| ReverseFlow {
                flow: flow.reverse_flow,
                endpoint: &reverse_flow.sender,
                rcv_next: reverse_flow.sink.rcv_nxt(),
            });
            self.probe.on_packet_created(self.now, id, packet, &PacketCreationContext { endpoint: &flow.sender, ack, reverse_flow });
        }
    }
}

/// Collects the segments that a sender creates.
pub(super) struct SenderOutbox<'a, P> {
    segments: &'a mut Vec<Segment>,
    probe: &'a mut P,
    now: Time,
    flow: u32,
}

impl<P: Probe> SenderOutput for SenderOutbox<'_, P> {
    fn send(&mut self, segment: Segment) {
        self.segments.push(segment);
    }

    fn on_window_changed(&mut self, window: &CongestionWindow) {
        self.probe.on_window_update(self.now, self.flow, window);
    }
}
