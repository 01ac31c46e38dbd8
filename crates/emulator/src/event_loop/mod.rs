//! Event loop: one thread carries packets between hosts and the engine, and determines the time.
//!
//! ```text
//!     iteration   now = the clock, read once when the wait ends
//!     iteration   now = the clock, read once when the wait ends
//!                 the engine advances to now; packets that have arrived are written to their hosts, requests of applications are served
//!                 packets of each ready device are read, and enter the network at now
//!                 ready sockets are served
//!                 wait for a device, a socket, or the time of the next possible output of the engine
//! ```
//!
//! **Time of a packet.** All packets of an iteration have the time at which it began. Every event of the engine that was due by then has
//! been processed. A packet that arrives at the time at which another leaves a queue therefore finds that one gone. Packets of one
//! iteration have the same time. Their order is that of their devices' readiness, and for each device that of sending. Departures keep the
//! exact times of the engine: a late iteration delivers late and delays nothing after it.
//!
//! A packet costs three system calls, to wait, to read and to write, and fewer if several are waiting.

mod counters;
mod host_backend;
mod spin;

use std::io;
use std::time::Duration;

use ecnlab_sim::{Direction, ExternalPacket, HostEvent, Probe, SimOutput, Simulation};
use ecnlab_transport::SegmentType;
use ecnlab_units::{Ecn, Span, Time};
use ecnlab_wire::{Flags, ParsedHeaders, TcpHeaderWithPorts, TransportHeader, rewrite_ece_cwr, rewrite_ecn};

pub use self::counters::ForwardingCounters;
pub use self::host_backend::{AppRequest, BackendContext, FIRST_BACKEND_TOKEN, HostBackend, NoHosts};
use self::spin::SpinBudget;
use crate::address::{Classification, FlowAddressMap, FlowClassifier, Side};
use crate::capture::AsPacketCapture;
use crate::clock::{RunClock, nanos_until};
use crate::host::Host;
use crate::kernel_queue::KernelQueues;
use crate::lateness::LatenessHistogram;
use crate::recordings::{ConnectionRecorder, SentPacket};
use crate::slab::{DeliveryInfo, PacketSlab};
use crate::sys::poll::Interest;
use crate::sys::{Poller, ReadyEvent};
use crate::tcp_tracker::{AckInfo, TcpTracker};

/// Maximum number of packets read from a device in one iteration.
const MAX_READ_BATCH: u32 = 32;

/// Clock of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeMode {
    /// Real time: reading the clock is cheap, and work takes time.
    Real,
    /// Virtual time, which stops during work: each system call is expensive, and the clock is read once per iteration.
    Virtual,
}

/// A network with hosts at its ends.
pub struct EventLoop<P: Probe, B, C = FlowAddressMap> {
    simulation: Simulation<P>,
    backend: B,
    forwarder: Forwarder<C>,
    /// Queues of links that are in the kernel.
    queues: KernelQueues,
    poller: Poller,
    spin: SpinBudget,
    time_mode: TimeMode,
    clock: RunClock,
    host_inputs: Vec<(u32, HostEvent)>,
    /// Records connections, if requested.
    recorder: Option<ConnectionRecorder>,
    /// Outputs of the engine that are being processed; kept for its memory.
    outputs: Vec<SimOutput>,
    ready: Vec<ReadyEvent>,
}

/// Carries packets between the engine and devices.
struct Forwarder<C> {
    hosts: Vec<Host>,
    /// For each group, the hosts of both sides.
    hosts_by_side: Vec<[Option<u32>; 2]>,
    /// Packets to read from each device in one iteration: more if the last iteration has not emptied it.
    read_batches: Vec<u32>,
    classifier: C,
    slab: PacketSlab,
    connections: TcpTracker,
    counters: ForwardingCounters,
    /// Packets of each host whose ECT(0) became ECT(1).
    rewritten_to_ect1: Vec<u64>,
    lateness: LatenessHistogram,
}

/// Result of reading a device.
enum ReadOutcome {
    Injected(ExternalPacket),
    /// A packet that cannot be carried; it is counted.
    Dropped,
    Empty,
}

/// State after a run.
pub struct FinishedRun<P: Probe, B> {
    pub simulation: Simulation<P>,
    pub backend: B,
    pub counters: ForwardingCounters,
    /// Packets of each host whose ECT(0) became ECT(1), in the order of the hosts.
    pub rewritten_to_ect1: Vec<u64>,
    pub lateness: LatenessHistogram,
    /// Started at time zero of the run.
    pub clock: RunClock,
    /// Connections, if they were recorded.
    pub recorder: Option<ConnectionRecorder>,
}

impl<P: Probe + AsPacketCapture, B: HostBackend> EventLoop<P, B> {
    /// Creates a loop with the hosts of all groups, whose largest packet has `max_packet_bytes` bytes.
    ///
    /// # Errors
    /// If the process may not open more descriptors.
    pub fn new(
        simulation: Simulation<P>,
        hosts: Vec<Host>,
        backend: B,
        max_packet_bytes: u32,
        time_mode: TimeMode,
    ) -> io::Result<EventLoop<P, B>> {
        EventLoop::new_with_classifier(simulation, hosts, backend, FlowAddressMap::default(), max_packet_bytes, time_mode)
    }
}

impl<P: Probe + AsPacketCapture, B: HostBackend, C: FlowClassifier> EventLoop<P, B, C> {
    /// Creates a loop with another classifier than the addresses of the plan.
    ///
    /// # Errors
    /// As above.
    pub fn new_with_classifier(
        simulation: Simulation<P>,
        hosts: Vec<Host>,
        backend: B,
        classifier: C,
        max_packet_bytes: u32,
        time_mode: TimeMode,
    ) -> io::Result<EventLoop<P, B, C>> {
        let poller = Poller::new()?;
        for (token, host) in (0..).zip(&hosts) {
            poller.add(&host.tun, token, Interest::Read)?;
        }
        let forwarder = Forwarder::new(hosts, classifier, max_packet_bytes);
        Ok(EventLoop {
            simulation,
            backend,
            forwarder,
            queues: KernelQueues::default(),
            poller,
            spin: SpinBudget::new(),
            time_mode,
            clock: RunClock::start(),
            host_inputs: Vec::new(),
            recorder: None,
            outputs: Vec::new(),
            ready: Vec::new(),
        })
    }

    /// Records connections, if a recorder is given.
    #[must_use]
    pub fn with_recorder(mut self, recorder: Option<ConnectionRecorder>) -> EventLoop<P, B, C> {
        self.recorder = recorder;
        self
    }

    /// Adds queues of the kernel at links.
    ///
    /// # Errors
    /// If the process may not open more descriptors.
    pub fn with_kernel_queues(mut self, queues: KernelQueues) -> io::Result<EventLoop<P, B, C>> {
        for (token, device) in (self.forwarder.hosts.len() as u64..).zip(queues.devices()) {
            self.poller.add(device, token, Interest::Read)?;
        }
        self.queues = queues;
        Ok(self)
    }

    /// Runs from time zero, which is now, to a time. Calls `watch` from time to time, at most once in `every`, to ask whether to continue.
    ///
    /// # Errors
    /// A fatal error of a device, the poller or the hosts.
    pub fn run(
        &mut self,
        until: Time,
        every: Span,
        watch: &mut dyn FnMut(&mut Simulation<P>, &ForwardingCounters) -> bool,
    ) -> io::Result<()> {
        self.clock = RunClock::start();
        let (mut now, mut look) = (Time::ZERO, Time::ZERO + every);
        loop {
            self.run_iteration(now)?;
            if now >= look {
                look = now + every;
                if !watch(&mut self.simulation, &self.forwarder.counters) {
                    return Ok(());
                }
            }
            if now >= until {
                return Ok(());
            }
            self.wait_for_events(until.min(look), now)?;
            now = self.clock.now();
        }
    }

    /// Ends the run: collects the last reports of hosts, and the drops of devices.
    ///
    /// # Errors
    /// A fatal error of the hosts, or if `/proc` cannot be read.
    pub fn finish(mut self) -> io::Result<FinishedRun<P, B>> {
        let now = self.simulation.now();
        self.call_backend(now, |backend, context| backend.finish(context))?;
        self.apply_host_inputs();
        let Forwarder { hosts, mut counters, rewritten_to_ect1, lateness, .. } = self.forwarder;
        counters.tun_tx_drops = hosts.iter().map(Host::tun_tx_drops).sum::<io::Result<u64>>()?;
        Ok(FinishedRun {
            simulation: self.simulation,
            backend: self.backend,
            counters,
            rewritten_to_ect1,
            lateness,
            clock: self.clock,
            recorder: self.recorder,
        })
    }

    /// Calls the backend with what it may use.
    fn call_backend<R>(&mut self, now: Time, call: impl FnOnce(&mut B, &mut BackendContext) -> R) -> R {
        let (poller, hosts, host_inputs) = (&self.poller, &self.forwarder.hosts, &mut self.host_inputs);
        call(&mut self.backend, &mut BackendContext { now, poller, hosts, host_inputs, recorder: self.recorder.as_mut() })
    }

    fn apply_host_inputs(&mut self) {
        for (flow, input) in self.host_inputs.drain(..) {
            self.simulation.apply_host_input(flow, input);
        }
    }

    /// Runs all actions of a time.
    fn run_iteration(&mut self, now: Time) -> io::Result<()> {
        self.forwarder.counters.iterations += 1;
        if !self.queues.is_empty() {
            self.advance_kernel_queues(now)?;
        }
        self.simulation.advance_to(now);
        self.process_outputs(now)?;
        let mut ready = std::mem::take(&mut self.ready);
        for ready in ready.drain(..) {
            if ready.token < self.forwarder.hosts.len() as u64 {
                self.read_host_packets(ready.token as usize, now)?;
            } else if ready.token < FIRST_BACKEND_TOKEN {
                self.queues.dequeue_at_free_links(&mut self.simulation)?;
            } else {
                self.call_backend(now, |backend, context| backend.on_descriptor_ready(ready, context))?;
            }
        }
        self.ready = ready;
        if self.backend.next_timer().is_some_and(|due| due <= now) {
            self.call_backend(now, |backend, context| backend.on_timer(context))?;
        }
        self.process_outputs(now)
    }

    /// Reads packets of a host, which enter the network.
    fn read_host_packets(&mut self, host: usize, now: Time) -> io::Result<()> {
        for _ in 0..self.forwarder.read_batches[host] {
            let external = match self.forwarder.read_packet(host, now)? {
                ReadOutcome::Injected(external) => external,
                ReadOutcome::Dropped => continue,
                ReadOutcome::Empty => {
                    self.forwarder.read_batches[host] = 1;
                    return Ok(());
                }
            };
            self.simulation.inject_host_packet(&external);
            self.record_sent_packet(host, &external, now)?;
            if external.retransmission {
                let (slot, side) = (self.forwarder.slab.delivery_info(external.handle).slot, self.forwarder.hosts[host].side);
                self.call_backend(now, |backend, context| backend.on_retransmission(slot, side, context))?;
            }
        }
        self.forwarder.read_batches[host] = (2 * self.forwarder.read_batches[host]).min(MAX_READ_BATCH);
        Ok(())
    }

    /// Records a packet that was read from a host.
    fn record_sent_packet(&mut self, host: usize, external: &ExternalPacket, now: Time) -> io::Result<()> {
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        let (side, handle) = (self.forwarder.hosts[host].side, external.handle);
        let DeliveryInfo { tcp, slot, .. } = self.forwarder.slab.delivery_info(handle);
        let Some(tcp) = tcp else { return Ok(()) };
        let sent = SentPacket { slot, side, handle, tcp, size: external.size, payload: external.payload, ecn: external.ecn };
        let Some(port) = recorder.on_sent(sent, now) else { return Ok(()) };
        self.call_backend(now, |backend, context| backend.record_tcp_info(slot, port, true, context))
    }

    /// Advances the engine to a time, step by step at the exact times of its events and those of the kernel's queues. A packet that arrives
    /// when another has just been sent finds that one gone, as in queues of the engine.
    fn advance_kernel_queues(&mut self, now: Time) -> io::Result<()> {
        loop {
            let (due, deadline) = (self.queues.next_transmission(), self.simulation.next_event_time());
            let Some(next) = due.into_iter().chain(deadline).min().filter(|&next| next <= now) else { return Ok(()) };
            self.simulation.advance_to(next);
            // The engine stops at its end, and the clock may be past it: nothing that is due between them happens.
            if self.simulation.now() < next {
                return Ok(());
            }
            if due.is_some_and(|due| due <= next) {
                self.queues.dequeue_at_free_links(&mut self.simulation)?;
            }
            self.process_outputs(now)?;
        }
    }

    /// Processes the outputs of the engine and the inputs that follow from them, until there are none.
    fn process_outputs(&mut self, now: Time) -> io::Result<()> {
        loop {
            self.apply_host_inputs();
            if let Some(capture) = self.simulation.probe_mut().as_packet_capture_mut() {
                capture.write_packets_until(now, &mut self.forwarder.slab)?;
            }
            self.outputs.extend(self.simulation.drain_outputs());
            if self.outputs.is_empty() {
                return Ok(());
            }
            let mut happened = std::mem::take(&mut self.outputs);
            for happened in happened.drain(..) {
                self.handle_output(happened, now)?;
            }
            self.outputs = happened;
        }
    }

    fn handle_output(&mut self, happened: SimOutput, now: Time) -> io::Result<()> {
        let request = match happened {
            SimOutput::Arrived { handle, at, ecn, ece, cwr, .. } => {
                let delivered_at = if self.time_mode == TimeMode::Real { self.clock.now() } else { now };
                self.forwarder.lateness.record(delivered_at.since(at).picos() / 1_000);
                let DeliveryInfo { to_host, tcp, slot, .. } = self.forwarder.slab.delivery_info(handle);
                let side = self.forwarder.hosts[to_host as usize].side;
                self.forwarder.deliver_to_host(handle, ecn, (ece, cwr))?;
                let Some(tcp) = tcp else { return Ok(()) };
                if let Some(recorder) = &mut self.recorder {
                    recorder.on_delivered(handle, ecn, now);
                    if side == Side::Near {
                        self.call_backend(now, |backend, context| backend.record_tcp_info(slot, tcp.ports.1, false, context))?;
                    }
                }
                let AckInfo { rtt, is_first_ecn_echo } = self.forwarder.connections.on_delivered(slot, side, &tcp, now);
                self.host_inputs.extend(
                    rtt.zip(self.forwarder.classifier.flow_sending_from(slot, side)).map(|(rtt, flow)| (flow, HostEvent::RoundTrip(rtt))),
                );
                return self.call_backend(now, |backend, context| backend.on_packet_delivered(slot, side, is_first_ecn_echo, context));
            }
            SimOutput::Lost { handle, .. } => {
                if let Some(recorder) = &mut self.recorder {
                    recorder.on_lost(handle);
                }
                self.forwarder.slab.release(handle);
                return Ok(());
            }
            SimOutput::Duplicated { handle } => {
                self.forwarder.slab.add_reference(handle);
                return Ok(());
            }
            SimOutput::KernelEnqueued { link, handle, ecn, .. } => {
                let packet = self.forwarder.slab.bytes(handle);
                rewrite_ecn(packet, ecn);
                return self.queues.enqueue(link, handle, packet, &mut self.simulation);
            }
            SimOutput::Open { flow, connection, demand, .. } => {
                let group = self.simulation.group_of_flow(flow);
                let slot = self
                    .forwarder
                    .classifier
                    .assign_opener_address_slot(flow, group)
                    .ok_or_else(|| io::Error::other(NO_ADDRESS_LEFT_MESSAGE))?;
                AppRequest::Open { flow, slot, connection, demand }
            }
            SimOutput::Answer { flow, to, demand, .. } => {
                let slot = self
                    .forwarder
                    .classifier
                    .assign_answerer_address_slot(flow, to)
                    .expect("a flow is answered once it has opened a connection");
                AppRequest::Answer { flow, slot, opener: to, demand }
            }
            SimOutput::Write { flow, demand, .. } => {
                let (slot, side) = self
                    .forwarder
                    .classifier
                    .slot_and_side_of_flow(flow)
                    .expect("a flow sends more once it has opened a connection or answered one");
                AppRequest::Write { flow, slot, side, demand }
            }
        };
        self.call_backend(now, |backend, context| backend.on_request(request, context))
    }

    /// Waits for a device or a socket, at most until a time or the next possible output of the engine.
    fn wait_for_events(&mut self, until: Time, now: Time) -> io::Result<()> {
        // A queue of the kernel must receive its packets on time; without one, internal events can wait until the next output.
        let next = if self.queues.is_empty() { self.simulation.next_output_time() } else { self.simulation.next_event_time() };
        let engine_due = next.map_or(until, |next| next.min(until));
        let due = self.backend.next_timer().into_iter().chain(self.queues.next_transmission()).fold(engine_due, Time::min);
        if self.time_mode == TimeMode::Real {
            self.spin.wait_for_ready_descriptor(&mut self.poller, nanos_until(due, self.clock.now()))?;
        } else {
            self.poller.wait(Some(Duration::from_nanos(nanos_until(due, now))))?;
        }
        self.ready.extend(self.poller.ready());
        Ok(())
    }
}

const NO_ADDRESS_LEFT_MESSAGE: &str = "out of addresses: at most 128 groups, with 65534 simultaneous flows each";

impl<C: FlowClassifier> Forwarder<C> {
    fn new(hosts: Vec<Host>, classifier: C, max_packet_bytes: u32) -> Forwarder<C> {
        let mut hosts_by_side = Vec::new();
        for (number, host) in (0..).zip(&hosts) {
            let group = host.group as usize;
            if hosts_by_side.len() <= group {
                hosts_by_side.resize(group + 1, [None; 2]);
            }
            hosts_by_side[group][host.side as usize] = Some(number);
        }
        Forwarder {
            read_batches: vec![1; hosts.len()],
            rewritten_to_ect1: vec![0; hosts.len()],
            hosts,
            hosts_by_side,
            classifier,
            // A packet above the maximum size is truncated, so that its length field is inconsistent.
            slab: PacketSlab::new(max_packet_bytes as usize + 1),
            connections: TcpTracker::default(),
            counters: ForwardingCounters::default(),
            lateness: LatenessHistogram::default(),
        }
    }

    /// Reads the next packet of a host.
    fn read_packet(&mut self, host: usize, now: Time) -> io::Result<ReadOutcome> {
        let (handle, buffer) = self.slab.free_slot_mut();
        let Some(length) = self.hosts[host].tun.read(buffer)? else { return Ok(ReadOutcome::Empty) };
        self.counters.read_from_hosts += 1;
        let view = match ParsedHeaders::parse(&buffer[..length]) {
            Ok(mut view) => {
                if self.hosts[host].rewrites_ect1 && view.ecn == Ecn::Ect0 {
                    rewrite_ecn(&mut buffer[..length], Ecn::Ect1);
                    view.ecn = Ecn::Ect1;
                    self.rewritten_to_ect1[host] += 1;
                }
                view
            }
            Err(why) => {
                self.counters.count_malformed(why);
                return Ok(ReadOutcome::Dropped);
            }
        };
        let Some((external, about)) = self.translate_host_packet(host, &view, handle, now) else {
            self.counters.unclassified += 1;
            return Ok(ReadOutcome::Dropped);
        };
        self.slab.store_read_packet(view.size as usize, about);
        Ok(ReadOutcome::Injected(external))
    }

    fn translate_host_packet(
        &mut self,
        host: usize,
        view: &ParsedHeaders,
        handle: u32,
        now: Time,
    ) -> Option<(ExternalPacket, DeliveryInfo)> {
        let Host { group, side, .. } = self.hosts[host];
        let Classification { flow, direction, slot, side, connection_id } = self.classifier.classify(view, (group, side), now)?;
        let to_host = self.hosts_by_side[group as usize][side.other() as usize]?;
        let tcp = match view.transport {
            TransportHeader::Tcp(tcp) => Some(tcp),
            _ => None,
        };
        let retransmission = tcp.is_some_and(|tcp| self.connections.on_sent(slot, side, &tcp, view.payload, now));
        let flags = tcp.map(|tcp: TcpHeaderWithPorts| tcp.header.flags).unwrap_or_default();
        let segment_type =
            match (flags.has(Flags::SYN), flags.has(Flags::FIN), view.occupies_sequence_space() || direction == Direction::Back) {
                (true, ..) => SegmentType::Syn,
                (_, true, _) => SegmentType::Fin,
                (.., true) => SegmentType::Plain,
                _ => SegmentType::PureAck,
            };
        let external = ExternalPacket {
            flow,
            direction,
            size: view.size,
            payload: if tcp.is_some() || view.ports().is_some() { view.payload } else { 0 },
            retransmission,
            ecn: view.ecn,
            rtt: self.connections.min_rtt(slot, side),
            connection_id,
            segment_type,
            ece: flags.has(Flags::ECE),
            cwr: flags.has(Flags::CWR),
            handle,
        };
        Some((external, DeliveryInfo { to_host, transport_at: view.transport_at, tcp, slot }))
    }

    /// Delivers a packet that has arrived to its host, with the changes of the path.
    fn deliver_to_host(&mut self, handle: u32, ecn: Ecn, echo: (bool, bool)) -> io::Result<()> {
        let DeliveryInfo { to_host, transport_at, tcp, .. } = self.slab.delivery_info(handle);
        let host = &self.hosts[to_host as usize];
        let bytes = self.slab.bytes(handle);
        rewrite_ecn(bytes, ecn);
        if tcp.is_some() {
            rewrite_ece_cwr(bytes, transport_at as usize, echo.0, echo.1);
        }
        match host.tun.write(bytes) {
            Ok(true) => self.counters.delivered += 1,
            Ok(false) => self.counters.refused_by_host += 1,
            Err(why) if is_refused_packet(&why) => self.counters.refused_by_host += 1,
            Err(why) => return Err(why),
        }
        self.slab.release(handle);
        Ok(())
    }
}

/// Whether a host's kernel has refused a single packet and may accept the next: the bytes are not a packet, the device is down, or memory
/// is short.
fn is_refused_packet(why: &io::Error) -> bool {
    matches!(why.raw_os_error(), Some(libc::EINVAL | libc::EIO | libc::ENETDOWN | libc::ENOBUFS | libc::ENOMEM))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::Namespace;
    use crate::sys::tun::Tun;

    #[test]
    fn a_device_that_is_down_refuses_packets_without_ending_the_run() {
        let made = Namespace::create().and_then(|namespace| namespace.run_inside(|| Tun::create("way")));
        let Ok(down) = made else { return println!("skipped: {made:?}") };
        let packet = [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let why = down.write(&packet).unwrap_err();
        assert!(is_refused_packet(&why), "{why}");
        assert!(!is_refused_packet(&io::Error::from_raw_os_error(libc::EBADF)));
    }
}
