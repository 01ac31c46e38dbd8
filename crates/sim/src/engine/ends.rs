//! Where packets begin and end: senders, receivers and what they make.

use ecnlab_transport::application::Event;
use ecnlab_transport::receiver::Arrival;
use ecnlab_transport::{Ack, Endpoint, Output, Role, Segment, Window};
use ecnlab_units::{Rate, Time};

use super::{END, Simulation};
use crate::measures::{Delivery, Ended};
use crate::network::Counted;
use crate::packet::{Bits, NONE, Origin, Packet, PacketId};
use crate::probe::{Made, Probe, Twin};

impl<P: Probe> Simulation<P> {
    /// A packet has reached its sink.
    // Each packet comes here, or to `acknowledge`: what they do stands in the loop itself.
    #[inline(always)]
    pub(super) fn sink(&mut self, id: PacketId) {
        let packet = self.packets[id];
        if packet.bits.is_ridden() {
            return self.sink_ridden(id);
        }
        self.packets.release(id);
        self.take(&packet, |simulation, arrival| {
            if let Some(ack) = &mut arrival.held {
                simulation.send_ack(packet.flow, ack);
            }
            if let Some(ack) = &mut arrival.ack {
                simulation.send_ack(packet.flow, ack);
            }
        });
    }

    /// Data has reached its sink on which an acknowledgement of the other direction rides. That is taken first, then the data; and what the
    /// acknowledgement lets go takes along what there is to say of the data.
    #[inline(never)]
    fn sink_ridden(&mut self, id: PacketId) {
        let ack = self.packets.take_ride(id);
        let packet = self.packets[id];
        let flow = &self.flows[packet.flow as usize];
        let twin = flow.twin;
        let is_taken = twin != NONE && flow.is_of_now(packet.connection, packet.sent);
        let Some(ack) = ack.filter(|_| is_taken) else { return self.sink(id) };
        self.packets.release(id);
        let is_sample = self.flows[twin as usize].sender.tcp().is_some_and(|sender| ack.next > sender.una());
        self.hear(twin, &ack, is_sample);
        let before = self.let_act(twin, |sender, now, out| sender.acknowledge_on_data(&ack, now, out));
        self.take(&packet, |simulation, arrival| {
            if let Some(ack) = &mut arrival.held {
                simulation.send_ack(packet.flow, ack);
            }
            if let Some(mut ack) = simulation.send_turn_with_ack(twin, before, arrival.ack.take()) {
                simulation.send_ack(packet.flow, &mut ack);
            }
        });
        self.end_transfer_if_done(twin);
    }

    /// Lets the sink take a packet, sends what comes of it and tells the application; nothing comes of one of an earlier connection.
    #[inline(always)]
    fn take(&mut self, packet: &Packet, send: impl FnOnce(&mut Self, &mut Arrival)) {
        let flow = &mut self.flows[packet.flow as usize];
        flow.received += 1;
        if !flow.is_of_now(packet.connection, packet.sent) {
            return;
        }
        let segment = packet.segment();
        self.probe.received(self.now, packet.flow, &segment);
        let before = flow.sink.deadline();
        let mut arrival = flow.sink.receive(&segment, packet.sent, self.now);
        let mut heard = 0;
        if packet.role() != Role::Pure {
            let (new_bytes, carried) = flow.sender.brought(&segment, arrival.delivered, flow.sink.next());
            let first_bytes = if segment.retransmission || packet.bits.copy() { 0 } else { carried };
            let delivery = Delivery { size: packet.size, new_bytes, first_bytes, delay: self.now.since(packet.sent) };
            if let Some(since) = flow.measures.delivered(&delivery, self.now) {
                self.probe.lockout(packet.flow, since, self.now);
            }
            if flow.counted != Counted::Nowhere {
                self.groups[flow.group as usize].delay.record(delivery.delay);
            }
            heard = if flow.hears_deliveries { new_bytes } else { 0 };
        }
        self.update_sink_deadline(packet.flow, before);
        send(self, &mut arrival);
        if heard > 0 {
            self.tell_of(packet.flow, |member| Event::Delivered(member, heard));
        }
    }

    /// A sink's deadline: a delayed acknowledgement, or an unanswered part of a handshake.
    #[inline(never)]
    pub(super) fn wake_sink(&mut self, flow: u32) {
        let ack = self.flows[flow as usize].sink.expire(self.now);
        self.update_sink_deadline(flow, None);
        if let Some(mut ack) = ack {
            self.send_ack(flow, &mut ack);
        }
    }

    /// Sets a sink's deadline if it is not what it was `before`.
    #[inline(always)]
    fn update_sink_deadline(&mut self, flow: u32, before: Option<Time>) {
        let flow = &self.flows[flow as usize];
        match flow.sink.deadline() {
            after if after == before => {}
            Some(until) => self.deadlines.set(flow.sink_deadline, self.now, until),
            None => self.deadlines.clear(flow.sink_deadline),
        }
    }

    /// Puts an acknowledgement into the network, which takes its SACK blocks.
    fn send_ack(&mut self, flow: u32, ack: &mut Ack) {
        self.probe.ack_sent(self.now, flow, ack);
        let from = &self.flows[flow as usize];
        let (cursor, origin) = (from.back, from.origin(flow, from.back, Bits::default()));
        let told = P::LINKS.then(|| ack.clone());
        let id = self.packets.insert_ack(ack, origin);
        self.tell_of_made(id, told.as_ref());
        self.enter(self.hops[cursor as usize], id);
    }

    /// An acknowledgement has reached its source.
    pub(super) fn acknowledge(&mut self, id: PacketId) {
        let Packet { flow: at, connection, .. } = self.packets[id];
        let ack = self.packets.release_ack(id);
        let flow = &mut self.flows[at as usize];
        if !flow.is_of_now(connection, ack.echo) {
            return;
        }
        self.hear(at, &ack, true);
        let flow = &self.flows[at as usize];
        let opens = ack.role == Role::Syn && flow.opens_for_application();
        self.with_sender(at, |sender, now, out| sender.acknowledge(&ack, now, out));
        if opens {
            self.tell_of(at, Event::Opened);
        }
        self.end_transfer_if_done(at);
    }

    /// An acknowledgement has come, which may show a round-trip time.
    #[inline(always)]
    fn hear(&mut self, at: u32, ack: &Ack, is_sample: bool) {
        self.probe.ack_received(self.now, at, ack);
        if is_sample && !ack.echo_retransmission {
            let flow = &mut self.flows[at as usize];
            let rtt = self.now.since(ack.echo);
            flow.measures.round_trip(rtt);
            if flow.counted != Counted::Nowhere {
                self.probe.round_trip(self.now, flow.group, rtt);
            }
        }
    }

    #[inline(always)]
    fn end_transfer_if_done(&mut self, at: u32) {
        let flow = &self.flows[at as usize];
        if flow.sender.is_done() && flow.measures.is_sending() {
            self.end_transfer(at);
        }
    }

    /// All that a flow had to send is acknowledged.
    #[cold]
    pub(super) fn end_transfer(&mut self, at: u32) {
        let flow = &mut self.flows[at as usize];
        let began = flow.measures.end_transfer().unwrap_or(self.now);
        if flow.app != NONE {
            return self.tell_of(at, Event::Acknowledged);
        }
        flow.measures.completed = Some(self.now);
        let bytes = flow.opens.map_or(0, |demand| demand.bytes);
        self.count_transfer(at, began, bytes);
    }

    /// Counts what a user waited for since it `began`.
    pub(super) fn count_transfer(&mut self, at: u32, began: Time, bytes: u64) {
        let narrowest = self.narrowest(self.flows[at as usize].forward);
        let flow = &mut self.flows[at as usize];
        let took = self.now.since(began);
        flow.measures.transfers.record(took);
        let group = &mut self.groups[flow.group as usize];
        group.transfers.record(took);
        group.completions.record(&Ended { bytes, took, ideal: Ended::ideal(bytes, flow.base_rtt, narrowest) });
        self.probe.transfer(self.now, flow.group, began, bytes);
    }

    /// The declared rate of the slowest link of a route.
    fn narrowest(&self, route: u32) -> Rate {
        let links = self.hops[route as usize..].iter().take_while(|&&link| link != END);
        links.map(|&link| self.declared[link as usize].0).min().expect("a route has a link")
    }

    /// A flow's own deadline: its start, later its retransmission timer.
    #[inline(never)]
    pub(super) fn time_out(&mut self, flow: u32) {
        if self.flows[flow as usize].is_outside() {
            self.start_outside(flow);
        } else if std::mem::replace(&mut self.flows[flow as usize].started, true) {
            self.with_sender(flow, |sender, now, out| sender.expire(now, out));
        } else {
            self.with_sender(flow, |sender, now, out| sender.start(now, out));
        }
    }

    /// Lets a sender act, sends what it made and sets its timer.
    #[inline(always)]
    pub(super) fn with_sender(&mut self, at: u32, act: impl FnOnce(&mut Endpoint, Time, &mut Outbox<'_, P>)) {
        let before = self.let_act(at, act);
        if self.flows[at as usize].twin == NONE {
            self.send_turn(at, before, Self::send);
        } else {
            self.send_turn_with_ack(at, before, None);
        }
    }

    /// Lets a sender act, which leaves what it made in the outbox; returns when it was to be woken before.
    #[inline(always)]
    fn let_act(&mut self, at: u32, act: impl FnOnce(&mut Endpoint, Time, &mut Outbox<'_, P>)) -> Option<Time> {
        debug_assert!(self.outbox.is_empty(), "what another sender made is not sent yet");
        let Simulation { now, flows, outbox, probe, .. } = self;
        let flow = &mut flows[at as usize];
        let before = flow.sender.deadline();
        act(&mut flow.sender, *now, &mut Outbox { segments: outbox, probe, now: *now, flow: at });
        before
    }

    /// Sends what a sender made and sets its timer, unless that is as it was `before`. `ack` is an acknowledgement of its twin that may ride;
    /// returns it if nothing took it along.
    #[inline(never)]
    fn send_turn_with_ack(&mut self, at: u32, before: Option<Time>, mut ack: Option<Ack>) -> Option<Ack> {
        self.send_turn(at, before, |simulation, segment, origin, rtt_us| simulation.send_ridden(segment, origin, rtt_us, &mut ack));
        ack
    }

    /// The same where no acknowledgement rides.
    #[inline(always)]
    fn send_turn(&mut self, at: u32, before: Option<Time>, mut send: impl FnMut(&mut Self, &Segment, Origin, u32)) {
        let flow = &self.flows[at as usize];
        let (after, rtt) = (flow.sender.deadline(), flow.sender.reported_rtt());
        let (timer, origin) = (flow.timer, flow.origin(at, flow.forward, flow.bits));
        let rtt_us = rtt.map_or(0, |rtt| rtt.picos() / 1_000_000).min(u64::from(u32::MAX)) as u32;
        for place in 0..self.outbox.len() {
            let segment = self.outbox[place];
            self.probe.sent(self.now, at, &segment);
            send(self, &segment, origin, rtt_us);
        }
        self.outbox.clear();
        match after {
            Some(due) if after != before => self.deadlines.set(timer, self.now, due),
            None if before.is_some() => self.deadlines.clear(timer),
            _ => {}
        }
    }

    #[inline(never)]
    fn send(&mut self, segment: &Segment, origin: Origin, rtt_us: u32) {
        let id = self.packets.insert(Packet::of_segment(segment, origin, self.now, rtt_us));
        self.tell_of_made(id, None);
        self.enter(self.hops[origin.cursor as usize], id);
    }

    /// Sends data with an acknowledgement of the twin on it: that at hand, unless it answers a SYN or a FIN, or else what there is to say now.
    /// SACK blocks are options of the header, which make the packet so much larger.
    #[inline(never)]
    fn send_ridden(&mut self, segment: &Segment, origin: Origin, rtt_us: u32, ack: &mut Option<Ack>) {
        if segment.role == Role::Pure {
            return self.send(segment, origin, rtt_us);
        }
        let twin = self.flows[origin.flow as usize].twin;
        let as_of_now = self.ride(twin);
        let rides = ack.take_if(|ack| ack.role == Role::Plain).or(as_of_now);
        let Some(rides) = rides else { return self.send(segment, origin, rtt_us) };
        let mut packet = Packet::of_segment(segment, origin, self.now, rtt_us);
        self.probe.ack_rides(self.now, twin, &rides);
        packet.size += rides.size - self.flows[twin as usize].transport.sizes().1;
        let told = P::LINKS.then(|| rides.clone());
        let id = self.packets.insert_ridden(packet, rides);
        self.tell_of_made(id, told.as_ref());
        self.enter(self.hops[origin.cursor as usize], id);
    }

    /// The acknowledgement that data of the other direction takes along now, so that none waits any more.
    fn ride(&mut self, at: u32) -> Option<Ack> {
        let sink = &mut self.flows[at as usize].sink;
        let before = sink.deadline();
        let ack = sink.ride(self.now);
        self.update_sink_deadline(at, before);
        ack
    }

    /// Tells a probe that looks at packets of a new one.
    #[inline(always)]
    fn tell_of_made(&mut self, id: PacketId, ack: Option<&Ack>) {
        if P::LINKS {
            let packet = &self.packets[id];
            let flow = &self.flows[packet.flow as usize];
            let twin =
                self.flows.get(flow.twin as usize).map(|twin| Twin { flow: flow.twin, endpoint: &twin.sender, next: twin.sink.next() });
            self.probe.made(self.now, id, packet, &Made { endpoint: &flow.sender, ack, twin });
        }
    }
}

/// Collects what a sender makes.
pub(super) struct Outbox<'a, P> {
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
