//! Where packets begin and end: senders, receivers and what they make.

use ecnlab_transport::{Ack, Output, Segment, Sender, Window};
use ecnlab_units::Time;

use super::Engine;
use crate::measures::Delivery;
use crate::packet::{Origin, Packet, PacketId};
use crate::probe::Probe;

impl<P: Probe> Engine<'_, P> {
    /// A data packet has reached its sink.
    pub(super) fn sink(&mut self, id: PacketId) {
        let packet = self.packets[id];
        self.packets.release(id);
        let segment = packet.segment();
        self.probe.received(self.now, packet.flow, &segment);
        let flow = &mut self.flows[packet.flow as usize];
        flow.received += 1;
        let arrival = flow.receiver.receive(&segment, packet.sent, self.now);
        let data = if packet.seq == 0 && flow.syn { 0 } else { flow.data_bytes };
        let syns = u64::from(arrival.delivered > 0 && packet.seq == 0 && flow.syn);
        let delivery = Delivery {
            size: packet.size,
            new_bytes: (arrival.delivered - syns) * u64::from(flow.data_bytes),
            first_bytes: if segment.retransmission { 0 } else { data },
            delay: self.now.since(packet.sent),
        };
        if let Some(since) = flow.measures.delivered(&delivery, self.now) {
            self.probe.lockout(packet.flow, since, self.now);
        }
        self.groups[flow.group as usize].delay.record(delivery.delay);
        self.keep_receiver_deadline(packet.flow);
        for ack in [arrival.held, arrival.ack].into_iter().flatten() {
            self.send_ack(packet.flow, &ack);
        }
    }

    /// A receiver's deadline: a delayed acknowledgement, or an unanswered part of a handshake.
    #[inline(never)]
    pub(super) fn wake_receiver(&mut self, flow: u32) {
        if let Some(ack) = self.flows[flow as usize].receiver.expire(self.now) {
            self.keep_receiver_deadline(flow);
            self.send_ack(flow, &ack);
        }
    }

    fn keep_receiver_deadline(&mut self, flow: u32) {
        let component = self.parts.receivers + flow;
        match self.flows[flow as usize].receiver.deadline() {
            Some(until) => self.deadlines.set(component, self.now, until),
            None => self.deadlines.clear(component),
        }
    }

    fn send_ack(&mut self, flow: u32, ack: &Ack) {
        self.probe.ack_sent(self.now, flow, ack);
        let cursor = self.flows[flow as usize].back;
        let id = self.packets.insert_ack(ack, Origin { flow, cursor, connection: 0 });
        self.enter(self.hops[cursor as usize], id);
    }

    /// An acknowledgement has reached its source.
    pub(super) fn acknowledge(&mut self, id: PacketId) {
        let at = self.packets[id].flow;
        let ack = self.packets.release_ack(id);
        self.probe.ack_received(self.now, at, &ack);
        let flow = &mut self.flows[at as usize];
        if !ack.echo_retransmission {
            flow.measures.round_trip(self.now.since(ack.echo));
        }
        self.with_sender(at, |sender, now, out| sender.acknowledge(&ack, now, out));
        let flow = &mut self.flows[at as usize];
        if flow.measures.completed.is_none() && flow.sender.is_done() {
            flow.measures.completed = Some(self.now);
        }
    }

    /// A flow's own deadline: its start, later its retransmission timer.
    #[inline(never)]
    pub(super) fn time_out(&mut self, flow: u32) {
        if std::mem::replace(&mut self.flows[flow as usize].started, true) {
            self.with_sender(flow, |sender, now, out| sender.expire(now, out));
        } else {
            self.with_sender(flow, |sender, now, out| sender.start(now, out));
        }
    }

    /// Lets a sender act, sends what it made and keeps its timer.
    fn with_sender(&mut self, at: u32, act: impl FnOnce(&mut Sender, Time, &mut Outbox<'_, P>)) {
        let mut segments = std::mem::take(&mut self.scratch);
        let flow = &mut self.flows[at as usize];
        let before = flow.sender.deadline();
        act(&mut flow.sender, self.now, &mut Outbox { segments: &mut segments, probe: self.probe, now: self.now, flow: at });
        let (after, rtt, cursor) = (flow.sender.deadline(), flow.sender.reported_rtt(), flow.forward);
        let rtt_us = (rtt.picos() / 1_000_000).min(u64::from(u32::MAX)) as u32;
        for segment in segments.drain(..) {
            self.probe.sent(self.now, at, &segment);
            self.send(at, cursor, &segment, rtt_us);
        }
        self.scratch = segments;
        match after {
            Some(due) if after != before => self.deadlines.set(self.parts.timers + at, self.now, due),
            None if before.is_some() => self.deadlines.clear(self.parts.timers + at),
            _ => {}
        }
    }

    fn send(&mut self, flow: u32, cursor: u32, segment: &Segment, rtt_us: u32) {
        let id = self.packets.insert(Packet::of_segment(segment, Origin { flow, cursor, connection: 0 }, self.now, rtt_us));
        self.enter(self.hops[cursor as usize], id);
    }
}

/// Collects what a sender makes.
struct Outbox<'a, P> {
    segments: &'a mut Vec<Segment>,
    probe: &'a mut P,
    now: Time,
    flow: u32,
}

impl<P: Probe> Output for Outbox<'_, P> {
    fn send(&mut self, segment: Segment) {
        self.segments.push(segment);
    }

    fn window(&mut self, window: &Window) {
        self.probe.window(self.now, self.flow, window);
    }
}
