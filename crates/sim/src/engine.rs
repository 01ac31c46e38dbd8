//! The run: takes the earliest deadline, wakes its component, until the time is up.
//!
//! A packet's way: a sender's segment becomes a [`Packet`] and enters the first link of its route ([`Engine::enter`]). A pipe
//! computes its departure at once; a measured queue asks its AQM and starts its transmitter. At the far end
//! ([`Engine::arrive`]) it enters the next link or reaches the sink, whose acknowledgement takes the route back.

use std::sync::Arc;

use ecnlab_queue::{Fifo, Outcome};
use ecnlab_transport::{Ack, Output, Receiver, Segment, Sender, Settings, Window};
use ecnlab_units::{Ecn, Rng, Span, Time};

use crate::deadlines::Deadlines;
use crate::link::{Link, Queue, Waiting};
use crate::measures::{self, Delivery, FairnessBins, FlowMeasures, FlowRow, Histogram, Material, QueueMeasures, QueueRow, Report, jain};
use crate::network::{Buffer, Network};
use crate::packet::{Arena, NONE, Origin, Packet, PacketId};
use crate::probe::{Bin, Deed, Probe};
use crate::script::Fate;

const SECOND: Span = Span::from_secs(1);
/// Events between two looks at whether to stop.
const LOOK_EVERY: u64 = 1 << 16;

/// How long to run and what to sample.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub duration: Time,
    pub measure_from: Time,
    pub seed: u64,
    /// Interval of [`Probe::queue_sample`].
    pub sample_queues: Option<Span>,
    /// Interval of [`Probe::window_sample`].
    pub sample_windows: Option<Span>,
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Run {
    pub report: Report,
    /// A hash over every event's time and component.
    pub fingerprint: u64,
    pub events: u64,
    /// Data and acknowledgement packets that crossed a link, one for each link.
    pub packet_hops: u64,
}

/// The run was stopped from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// Runs a network. `stop` is asked from time to time whether to give up, and told how far the run is.
///
/// # Panics
/// If a packet is lost or made: arrived = departed + dropped + waiting at each queue, and sent = received + lost + in flight for each flow.
pub fn run<P: Probe>(network: &Network, options: &Options, probe: &mut P, stop: &mut dyn FnMut(Time) -> bool) -> Result<Run, Stopped> {
    let mut engine = Engine::new(network, options, probe);
    engine.open();
    engine.work(stop)?;
    engine.assert_conservation();
    Ok(engine.close())
}

struct Engine<'a, P> {
    now: Time,
    options: Options,
    deadlines: Deadlines,
    parts: Parts,
    packets: Arena,
    links: Vec<Link>,
    queues: Vec<Queue>,
    flows: Vec<Flow>,
    /// The routes of all flows, each ended by `SINK` or `SOURCE`.
    hops: Vec<u32>,
    groups: Vec<Group>,
    fairness: FairnessBins,
    scratch: Vec<Segment>,
    fingerprint: u64,
    events: u64,
    probe: &'a mut P,
}

/// A connection as it runs.
struct Flow {
    sender: Sender,
    receiver: Receiver,
    forward: u32,
    back: u32,
    group: u32,
    data_bytes: u32,
    syn: bool,
    /// Data packets that reached the sink and that were lost, in the whole run.
    received: u64,
    lost: u64,
    start: Time,
    started: bool,
    base_rtt: Span,
    measures: FlowMeasures,
}

#[derive(Default)]
struct Group {
    delay: Histogram<8>,
    marks: u64,
    drops: u64,
}

/// Which component numbers belong to what.
#[derive(Clone, Copy)]
struct Parts {
    transmitters: u32,
    timers: u32,
    receivers: u32,
    clock: u32,
}

/// The components that belong to the run as a whole, from `Parts::clock` on.
const BIN: u32 = 0;
const MEASURE: u32 = 1;
const SAMPLE_QUEUES: u32 = 2;
const SAMPLE_WINDOWS: u32 = 3;
const CLOCKS: u32 = 4;

/// Ends of routes.
const SINK: u32 = u32::MAX;
const SOURCE: u32 = u32::MAX - 1;

impl<'a, P: Probe> Engine<'a, P> {
    fn new(network: &Network, options: &Options, probe: &'a mut P) -> Engine<'a, P> {
        let mut queues = Vec::new();
        let links: Vec<Link> = network
            .links
            .iter()
            .enumerate()
            .map(|(at, spec)| {
                let (limit, queue) = match &spec.buffer {
                    Buffer::Pipe { limit } => (*limit, NONE),
                    Buffer::Queue(queue) => {
                        queues.push(Queue {
                            fifo: Fifo::new((queue.aqm.make)(&queue.values, spec.rate), queue.limit),
                            rng: Rng::for_role(options.seed, &format!("queue {}", queue.name)),
                            link: at as u32,
                            transmitting: false,
                            measures: QueueMeasures::new(Time::ZERO, Default::default()),
                        });
                        (0, queues.len() as u32 - 1)
                    }
                };
                let spread = if spec.spread == Span::ZERO {
                    0
                } else {
                    Rng::for_role(options.seed, &format!("spread {at}")).below(spec.spread.picos() + 1)
                };
                Link::new(spec.rate, spec.delay + Span::from_picos(spread), limit, queue, spec.script.clone())
            })
            .collect();
        let mut hops = Vec::with_capacity(network.flows.iter().map(|flow| flow.forward.len() + flow.back.len() + 2).sum());
        let flows: Vec<Flow> = network.flows.iter().enumerate().map(|(at, _)| Flow::new(network, at, options.seed, &mut hops)).collect();
        let (link_count, queue_count, flow_count) = (links.len() as u32, queues.len() as u32, flows.len() as u32);
        let timers = link_count + queue_count;
        let parts = Parts { transmitters: link_count, timers, receivers: timers + flow_count, clock: timers + 2 * flow_count };
        Engine {
            now: Time::ZERO,
            options: *options,
            deadlines: Deadlines::new((parts.clock + CLOCKS) as usize),
            parts,
            packets: Arena::new(),
            links,
            queues,
            flows,
            hops,
            groups: (0..network.groups).map(|_| Group::default()).collect(),
            fairness: FairnessBins::default(),
            scratch: Vec::new(),
            fingerprint: options.seed,
            events: 0,
            probe,
        }
    }

    /// Sets the first deadlines.
    fn open(&mut self) {
        let clock = self.parts.clock;
        self.deadlines.set(clock + MEASURE, self.now, self.options.measure_from);
        self.deadlines.set(clock + BIN, self.now, Time::ZERO + SECOND);
        for (part, every) in [(SAMPLE_QUEUES, self.options.sample_queues), (SAMPLE_WINDOWS, self.options.sample_windows)] {
            if every.is_some() {
                self.deadlines.set(clock + part, self.now, Time::ZERO);
            }
        }
        for flow in 0..self.flows.len() as u32 {
            self.deadlines.set(self.parts.timers + flow, self.now, self.flows[flow as usize].start);
        }
    }

    fn work(&mut self, stop: &mut dyn FnMut(Time) -> bool) -> Result<(), Stopped> {
        while let Some((due, component)) = self.deadlines.pop() {
            if due > self.options.duration {
                break;
            }
            debug_assert!(due >= self.now);
            self.now = due;
            self.events += 1;
            self.fingerprint =
                (self.fingerprint ^ due.picos() ^ (u64::from(component) << 40)).wrapping_mul(0x9fb2_1c65_1e98_df25).rotate_left(23);
            self.wake(component);
            if self.events % LOOK_EVERY == 0 && stop(self.now) {
                return Err(Stopped);
            }
        }
        self.now = self.options.duration;
        Ok(())
    }

    #[inline(always)]
    fn wake(&mut self, component: u32) {
        let Parts { transmitters, timers, receivers, clock } = self.parts;
        if component < transmitters {
            self.arrive(component);
        } else if component < timers {
            self.transmitted(component - transmitters);
        } else if component < receivers {
            self.time_out(component - timers);
        } else if component < clock {
            self.wake_receiver(component - receivers);
        } else {
            self.tick(component - clock);
        }
    }

    /// The first packet on a link has reached its far end.
    fn arrive(&mut self, link: u32) {
        let (id, next) = self.links[link as usize].pop(&self.packets);
        if let Some((due, order)) = next {
            self.deadlines.set_ordered(link, due, order);
        }
        let packet = &mut self.packets[id];
        packet.cursor += 1;
        match self.hops[packet.cursor as usize] {
            SINK => self.sink(id),
            SOURCE => self.acknowledge(id),
            link => self.enter(link, id),
        }
    }

    /// A packet comes to a link.
    fn enter(&mut self, at: u32, id: PacketId) {
        self.links[at as usize].arrived += 1;
        if self.links[at as usize].script.is_some() && !self.obey_script(at, id) {
            return;
        }
        let link = &mut self.links[at as usize];
        if link.queue != NONE {
            let queue = link.queue;
            return self.offer(queue, id);
        }
        if link.is_full(&self.packets, self.now) {
            link.dropped += 1;
            return self.lose(at, id, Deed::Dropped(ecnlab_queue::Cause::Overflow));
        }
        let (begins, departs) = link.depart(self.packets[id].size, self.now);
        self.launch(at, id, begins, departs);
    }

    /// Puts a packet on a wire.
    fn launch(&mut self, at: u32, id: PacketId, begins: Time, departs: Time) {
        let order = self.deadlines.order(begins);
        if self.links[at as usize].push(&mut self.packets, id, departs, order) {
            self.deadlines.set_ordered(at, self.packets[id].due, order);
        }
    }

    /// A packet comes to a measured queue.
    fn offer(&mut self, at: u32, id: PacketId) {
        let queue = &mut self.queues[at as usize];
        let packet = &self.packets[id];
        queue.measures.held(queue.fifo.len(), self.now);
        let waiting = Waiting { packet: id, size: packet.size, rtt_us: packet.note, ecn: packet.ecn };
        let length = queue.fifo.len();
        let outcome = queue.fifo.offer(waiting, self.now, &mut queue.rng);
        queue.measures.arrival(length, queue.fifo.average());
        let (link, idle) = (queue.link, !queue.transmitting);
        match outcome {
            Outcome::Queued => {}
            Outcome::Marked(place, cause) => {
                let marked = queue.fifo.frame(place).packet;
                self.touch(link, marked, Deed::Marked(cause));
            }
            Outcome::Dropped(dropped, cause) => self.lose(link, dropped.packet, Deed::Dropped(cause)),
        }
        if idle {
            self.transmit(at);
        }
    }

    /// A transmitter has finished a packet.
    fn transmitted(&mut self, at: u32) {
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
        let link = queue.link;
        let (begins, departs) = self.links[link as usize].depart(waiting.size, self.now);
        queue.measures.departure(waited, departs.since(self.now));
        queue.transmitting = true;
        self.packets[waiting.packet].ecn = waiting.ecn;
        self.launch(link, waiting.packet, begins, departs);
        self.deadlines.set(self.parts.transmitters + at, self.now, departs);
        true
    }

    /// A data packet has reached its sink.
    fn sink(&mut self, id: PacketId) {
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
        if let Some(ack) = arrival.held {
            self.send_ack(packet.flow, *ack);
        }
        if let Some(ack) = arrival.ack {
            self.send_ack(packet.flow, ack);
        }
    }

    /// A receiver's deadline: a delayed acknowledgement, or an unanswered part of a handshake.
    #[inline(never)]
    fn wake_receiver(&mut self, flow: u32) {
        if let Some(ack) = self.flows[flow as usize].receiver.expire(self.now) {
            self.keep_receiver_deadline(flow);
            self.send_ack(flow, ack);
        }
    }

    fn keep_receiver_deadline(&mut self, flow: u32) {
        let component = self.parts.receivers + flow;
        match self.flows[flow as usize].receiver.deadline() {
            Some(until) => self.deadlines.set(component, self.now, until),
            None => self.deadlines.clear(component),
        }
    }

    fn send_ack(&mut self, flow: u32, ack: Ack) {
        self.probe.ack_sent(self.now, flow, &ack);
        let cursor = self.flows[flow as usize].back;
        let id = self.packets.insert_ack(ack, Origin { flow, cursor, connection: 0 });
        self.enter(self.hops[cursor as usize], id);
    }

    /// An acknowledgement has reached its source.
    fn acknowledge(&mut self, id: PacketId) {
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
    fn time_out(&mut self, flow: u32) {
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

    /// Does what the link's script says; false if the packet is gone.
    fn obey_script(&mut self, at: u32, id: PacketId) -> bool {
        let seq = self.packets[id].seq;
        let fate = self.links[at as usize].script.as_mut().map_or(Fate::Pass, |script| script.fate(seq));
        match fate {
            Fate::Pass => true,
            Fate::Mark => {
                if self.packets[id].ecn.is_capable() {
                    self.packets[id].ecn = Ecn::Ce;
                }
                self.touch(at, id, Deed::ScriptMarked);
                true
            }
            Fate::Drop => {
                self.links[at as usize].dropped += 1;
                self.lose(at, id, Deed::ScriptDropped);
                false
            }
        }
    }

    /// Counts what was done to a data packet.
    fn touch(&mut self, link: u32, id: PacketId, deed: Deed) {
        let packet = &self.packets[id];
        let flow = &mut self.flows[packet.flow as usize];
        let group = &mut self.groups[flow.group as usize];
        match deed {
            Deed::Marked(_) | Deed::ScriptMarked => {
                flow.measures.marks += 1;
                group.marks += 1;
            }
            Deed::Dropped(_) | Deed::ScriptDropped => {
                flow.measures.drops += 1;
                flow.lost += 1;
                group.drops += 1;
            }
        }
        self.probe.touched(self.now, link, packet.flow, &packet.segment(), deed);
    }

    /// A packet is gone.
    fn lose(&mut self, link: u32, id: PacketId, deed: Deed) {
        let packet = self.packets[id];
        if packet.cursor < self.flows[packet.flow as usize].back {
            self.touch(link, id, deed);
            self.packets.release(id);
        } else {
            let ack = self.packets.release_ack(id);
            self.probe.ack_dropped(self.now, link, packet.flow, ack.next);
        }
    }

    #[inline(never)]
    fn tick(&mut self, clock: u32) {
        match clock {
            BIN => self.end_bin(),
            MEASURE => self.begin_measuring(),
            SAMPLE_QUEUES => self.sample_queues(),
            _ => self.sample_windows(),
        }
    }

    fn end_bin(&mut self) {
        let start = Time::from_picos(self.now.picos() - SECOND.picos());
        let mut bins = vec![Bin::default(); self.groups.len()];
        let mut shares = [(); 3].map(|()| Vec::with_capacity(self.flows.len()));
        for flow in &mut self.flows {
            let bytes = flow.measures.end_bin();
            let bin = &mut bins[flow.group as usize];
            bin.throughput += bytes[0];
            bin.goodput += bytes[1];
            bin.goodput_first += bytes[2];
            (0..3).for_each(|kind| shares[kind].push(bytes[kind] as f64));
        }
        if start >= self.options.measure_from {
            self.fairness.add(shares.map(|of| jain(of.into_iter())));
        }
        for (at, bin) in bins.iter_mut().enumerate() {
            bin.marks = std::mem::take(&mut self.groups[at].marks);
            bin.drops = std::mem::take(&mut self.groups[at].drops);
            self.probe.rates(start, at as u32, bin);
        }
        self.deadlines.set(self.parts.clock + BIN, self.now, self.now + SECOND);
    }

    fn begin_measuring(&mut self) {
        for flow in &mut self.flows {
            flow.measures.reset(self.now, flow.sender.counters());
        }
        for group in &mut self.groups {
            group.delay = Histogram::default();
        }
        for queue in &mut self.queues {
            queue.measures = QueueMeasures::new(self.now, *queue.fifo.counters());
        }
    }

    fn sample_queues(&mut self) {
        for (at, queue) in self.queues.iter().enumerate() {
            self.probe.queue_sample(self.now, at as u32, queue.fifo.len() as u32, queue.fifo.average());
        }
        if let Some(every) = self.options.sample_queues {
            self.deadlines.set(self.parts.clock + SAMPLE_QUEUES, self.now, self.now + every);
        }
    }

    fn sample_windows(&mut self) {
        for (at, flow) in self.flows.iter().enumerate() {
            self.probe.window_sample(self.now, at as u32, flow.sender.window());
        }
        if let Some(every) = self.options.sample_windows {
            self.deadlines.set(self.parts.clock + SAMPLE_WINDOWS, self.now, self.now + every);
        }
    }

    fn assert_conservation(&self) {
        self.queues.iter().for_each(|queue| queue.fifo.assert_conservation());
        let mut in_flight = vec![0u64; self.flows.len()];
        let on_wires = self.links.iter().flat_map(|link| link.chain(&self.packets));
        let waiting = self.queues.iter().flat_map(|queue| (0..queue.fifo.len()).map(|place| queue.fifo.frame(place).packet));
        let mut live = 0;
        for id in on_wires.chain(waiting) {
            let packet = &self.packets[id];
            live += 1;
            in_flight[packet.flow as usize] += u64::from(packet.cursor < self.flows[packet.flow as usize].back);
        }
        assert_eq!(self.packets.live(), live, "every packet is on a link or in a queue");
        for (flow, in_flight) in self.flows.iter().zip(in_flight) {
            assert_eq!(flow.sender.counters().sent, flow.received + flow.lost + in_flight, "sent = received + lost + in flight");
            assert!(flow.sender.una() <= flow.receiver.next(), "nothing is acknowledged that has not arrived");
        }
        for link in &self.links {
            let queued = if link.queue == NONE { (0, 0) } else { self.queue_waiting_and_dropped(link.queue) };
            let accounted = link.delivered + link.dropped + u64::from(link.count()) + queued.0 + queued.1;
            assert_eq!(link.arrived, accounted, "arrived = delivered + dropped + waiting + on the wire");
        }
    }

    fn queue_waiting_and_dropped(&self, at: u32) -> (u64, u64) {
        let fifo = &self.queues[at as usize].fifo;
        (fifo.len() as u64, fifo.counters().dropped.iter().map(|dropped| dropped.packets).sum())
    }

    fn close(mut self) -> Run {
        for (at, flow) in self.flows.iter_mut().enumerate() {
            if let Some(since) = flow.measures.finish(self.now) {
                self.probe.lockout(at as u32, since, self.now);
            }
        }
        for queue in &mut self.queues {
            queue.measures.held(queue.fifo.len(), self.now);
        }
        let group_delays: Vec<_> = self.groups.iter().map(|group| group.delay.clone()).collect();
        let material = Material {
            from: self.options.measure_from,
            to: self.now,
            groups: self.groups.len() as u32,
            flows: self.flows.iter().map(Flow::row).collect(),
            group_delays: &group_delays,
            fairness: &self.fairness,
            queues: self.queues.iter().map(|queue| QueueRow { measures: &queue.measures, counters: *queue.fifo.counters() }).collect(),
        };
        Run {
            report: measures::report(&material),
            fingerprint: self.fingerprint,
            events: self.events,
            packet_hops: self.links.iter().map(|link| link.delivered).sum(),
        }
    }
}

impl Flow {
    /// Makes the flow and appends its routes to `hops`.
    fn new(network: &Network, at: usize, seed: u64, hops: &mut Vec<u32>) -> Flow {
        let spec = &network.flows[at];
        let forward = hops.len() as u32;
        hops.extend(&spec.forward);
        hops.push(SINK);
        let back = hops.len() as u32;
        hops.extend(&spec.back);
        hops.push(SOURCE);
        let tcp: Arc<Settings> = spec.tcp.clone();
        let boot = spec.boot.unwrap_or_else(|| Span::from_picos(Rng::for_role(seed, &format!("boot {at}")).below(tcp.tick.picos())));
        let base_rtt = network.base_rtt(spec);
        Flow {
            receiver: Receiver::new(&tcp),
            forward,
            back,
            group: spec.group,
            data_bytes: tcp.packet_size - tcp.header,
            syn: tcp.syn(),
            received: 0,
            lost: 0,
            start: spec.start,
            started: false,
            base_rtt,
            measures: FlowMeasures::new(base_rtt, spec.start),
            sender: Sender::new(tcp, &spec.demand, boot),
        }
    }

    fn row(&self) -> FlowRow<'_> {
        FlowRow {
            group: self.group,
            measures: &self.measures,
            sender: *self.sender.counters(),
            base_rtt_s: self.base_rtt.seconds(),
            min_rtt_s: self.sender.min_rtt().seconds(),
            started: self.start,
        }
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
