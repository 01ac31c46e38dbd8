//! Simple AIMD flows: each keeps a window of packets in flight, and reduces it at most once per RTT for a loss or a mark. The window grows
//! by one packet per RTT, in slow start by one per arriving packet.
//!
//! They model responsive traffic, not a particular transport protocol: retransmissions, timeouts and delayed ACKs are missing. A loss is
//! detected one RTT after the drop.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ecnlab_units::{CongestionLevel, Rate, Rng, Span, Time};

use super::bench::QueueBench;
use super::dut::{DefaultOrTestValues, DeviceUnderTest};
use crate::packet::Packet;
use ecnlab_queue::{DequeueOutcome, Limit, QueueEvent, SignalCause};

/// A link, its buffer and the flows that share it.
#[derive(Clone, Copy, Debug)]
pub struct BottleneckParams<'a> {
    pub rate: Rate,
    /// Packets that may wait.
    pub buffer: u32,
    pub flows: usize,
    /// Sizes that packets have, drawn evenly.
    pub sizes: &'a [u32],
    pub duration: Span,
}

/// Measures of such flows in the second half of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BottleneckResult {
    /// Mean number of waiting packets, as a share of the buffer.
    pub mean_fill: f64,
    /// Share of the time in which the link sent.
    pub utilization: f64,
    /// Packets dropped by a full buffer, as a share of all sent packets.
    pub overflow_share: f64,
    /// Offered packets, and marked or dropped ones, by size.
    pub by_size: Vec<Ratio>,
}

/// A part of a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ratio {
    pub part: u64,
    pub whole: u64,
}

impl Ratio {
    pub fn value(self) -> f64 {
        self.part as f64 / self.whole.max(1) as f64
    }
}

/// A link that many flows share, and its queue.
struct BottleneckSimulation<'a> {
    bench: QueueBench<Packet>,
    params: &'a BottleneckParams<'a>,
    flows: Vec<AimdFlow>,
    events: BinaryHeap<Reverse<(Time, u64, FlowEvent)>>,
    /// Events so far: those of one time happen in the order in which they were caused.
    order: u64,
    packet: Packet,
    sizes: Rng,
    delays: Rng,
    transmitting: bool,
    sums: Totals,
}

/// Sums over the second half of the run.
#[derive(Default)]
struct Totals {
    since: Time,
    packet_picos: f64,
    sending: Span,
    offered: u64,
    overflowed: u64,
    by_size: Vec<Ratio>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FlowEvent {
    Start {
        flow: usize,
    },
    Transmitted,
    /// Feedback on a packet: it arrived with this mark.
    Arrived {
        flow: usize,
        sent: u64,
        mark: Option<CongestionLevel>,
    },
    Lost {
        flow: usize,
        sent: u64,
    },
    /// The line to retry a queue that had nothing to send yet.
    Retry,
}

struct AimdFlow {
    window: f64,
    in_flight: u64,
    sent: u64,
    /// In slow start until the first signal.
    slow_start: bool,
    /// Signals of packets up to this one belong to a window that was cut already.
    decreased_up_to: u64,
    round_trip: Span,
}

/// Runs such flows over a queue with its defaults.
pub fn simulate_bottleneck(dut: &DeviceUnderTest, params: &BottleneckParams) -> BottleneckResult {
    let flows = params.flows;
    let values = dut.parameter_values_of_set(DefaultOrTestValues::Defaults);
    let mut simulation = BottleneckSimulation {
        bench: QueueBench::new(dut, &values, params.rate, Limit::Packets(params.buffer)),
        params,
        flows: (0..flows).map(|flow| AimdFlow::new(round_trip_time(flow, flows))).collect(),
        events: BinaryHeap::new(),
        order: 0,
        packet: Packet { ecn_semantics: dut.ecn_semantics(DefaultOrTestValues::Defaults), ..Packet::ECT0_1000_BYTES },
        sizes: Rng::for_role(1, "sizes"),
        delays: Rng::for_role(1, "delays"),
        transmitting: false,
        sums: Totals::starting_at(Time::ZERO, params.sizes.len()),
    };
    for flow in 0..flows {
        simulation.schedule(Time::ZERO + START_SPREAD / flows as u64 * flow as u64, FlowEvent::Start { flow });
    }
    let half = params.duration / 2;
    simulation.run_until(Time::ZERO + half);
    simulation.sums = Totals::starting_at(simulation.bench.now, params.sizes.len());
    simulation.run_until(Time::ZERO + half + half);
    simulation.result()
}

/// Round-trip times lie evenly between 75 and 115 ms, and up to 10 ms are added, so that flows do not march in step.
fn round_trip_time(flow: usize, flows: usize) -> Span {
    Span::from_micros(75_000 + 40_000 * flow as u64 / flows as u64)
}

impl BottleneckSimulation<'_> {
    fn schedule(&mut self, time: Time, event: FlowEvent) {
        self.order += 1;
        self.events.push(Reverse((time, self.order, event)));
    }

    fn run_until(&mut self, end: Time) {
        while let Some(&Reverse((time, _, event))) = self.events.peek().filter(|Reverse((time, ..))| *time <= end) {
            self.events.pop();
            self.advance_to(time);
            self.handle_event(event);
        }
        self.advance_to(end);
    }

    fn advance_to(&mut self, time: Time) {
        self.sums.packet_picos += self.bench.len() as f64 * time.since(self.bench.now).picos() as f64;
        self.bench.wait_until(time);
    }

    fn handle_event(&mut self, event: FlowEvent) {
        match event {
            FlowEvent::Start { flow } => self.send_within_window(flow),
            FlowEvent::Transmitted => {
                self.transmitting = false;
                self.transmit();
            }
            FlowEvent::Retry => self.transmit(),
            FlowEvent::Arrived { flow, sent, mark } => {
                self.flows[flow].on_packet_arrived(sent, mark);
                self.send_within_window(flow);
            }
            FlowEvent::Lost { flow, sent } => {
                self.flows[flow].on_packet_lost(sent);
                self.send_within_window(flow);
            }
        }
    }

    /// Sends what a flow's window allows.
    fn send_within_window(&mut self, flow: usize) {
        while self.flows[flow].in_flight < self.flows[flow].window as u64 {
            let number = self.flows[flow].take_next_packet_number();
            let kind = self.sizes.below(self.params.sizes.len() as u64) as usize;
            let size = self.params.sizes[kind];
            self.sums.offered += 1;
            self.sums.by_size[kind].whole += 1;
            let packet = Packet { number, flow: flow as u64, size, rtt: self.flows[flow].round_trip, ..self.packet };
            self.call_queue(|bench, on_event| bench.enqueue(packet, on_event));
            self.transmit();
        }
    }

    fn transmit(&mut self) {
        if self.transmitting {
            return;
        }
        match self.call_queue(|bench, on_event| bench.dequeue(on_event)) {
            DequeueOutcome::Packet { packet, .. } => self.transmit_dequeued_packet(&packet),
            DequeueOutcome::RetryAt(time) => self.schedule(time, FlowEvent::Retry),
            DequeueOutcome::Empty => {}
        }
    }

    fn transmit_dequeued_packet(&mut self, packet: &Packet) {
        let sending = self.params.rate.transmission_time(packet.size);
        let sent = self.bench.now + sending;
        self.transmitting = true;
        self.sums.sending += sending;
        self.schedule(sent, FlowEvent::Transmitted);
        let flow = packet.flow as usize;
        let mark = packet.ecn_semantics.level_of(packet.ecn);
        let heard = sent + self.feedback_delay(flow);
        self.schedule(heard, FlowEvent::Arrived { flow, sent: packet.number, mark });
    }

    /// Time until a flow gets feedback on a packet, without the queue. It varies a little, so that bursts do not stay together for ever.
    fn feedback_delay(&mut self, flow: usize) -> Span {
        self.flows[flow].round_trip + Span::from_picos(self.delays.below(MAX_RTT_JITTER.picos()))
    }

    /// Does something to the queue, counts what it signalled, and lets the flows miss what it dropped.
    fn call_queue<T>(&mut self, operation: impl FnOnce(&mut QueueBench<Packet>, &mut dyn FnMut(QueueEvent<Packet>)) -> T) -> T {
        let mut lost = Vec::new();
        let BottleneckSimulation { bench, sums, params, .. } = self;
        let mut signalled = |packet: &Packet| {
            let kind = params.sizes.iter().position(|&size| size == packet.size);
            kind.into_iter().for_each(|kind| sums.by_size[kind].part += 1);
        };
        let done = operation(bench, &mut |event| match event {
            QueueEvent::Stored(_) => {}
            QueueEvent::Marked(packet, _) => signalled(packet),
            QueueEvent::Dropped(packet, cause) => {
                signalled(&packet);
                lost.push((packet, cause));
            }
        });
        for (packet, cause) in lost {
            self.schedule_loss(&packet, cause);
        }
        done
    }

    fn schedule_loss(&mut self, packet: &Packet, cause: SignalCause) {
        self.sums.overflowed += u64::from(cause == SignalCause::Overflow);
        let flow = packet.flow as usize;
        let heard = self.bench.now + self.feedback_delay(flow);
        self.schedule(heard, FlowEvent::Lost { flow, sent: packet.number });
    }

    fn result(self) -> BottleneckResult {
        let span = self.bench.now.since(self.sums.since);
        BottleneckResult {
            mean_fill: self.sums.packet_picos / span.picos() as f64 / f64::from(self.params.buffer),
            utilization: (self.sums.sending.seconds() / span.seconds()).min(1.0),
            overflow_share: Ratio { part: self.sums.overflowed, whole: self.sums.offered }.value(),
            by_size: self.sums.by_size,
        }
    }
}

impl Totals {
    fn starting_at(since: Time, sizes: usize) -> Totals {
        Totals { since, by_size: vec![Ratio::default(); sizes], ..Totals::default() }
    }
}

impl AimdFlow {
    fn new(round_trip: Span) -> AimdFlow {
        AimdFlow { window: INITIAL_WINDOW, in_flight: 0, sent: 0, slow_start: true, decreased_up_to: 0, round_trip }
    }

    /// The number of the next packet, which is in flight from now on.
    fn take_next_packet_number(&mut self) -> u64 {
        self.sent += 1;
        self.in_flight += 1;
        self.sent
    }

    fn on_packet_arrived(&mut self, sent: u64, mark: Option<CongestionLevel>) {
        self.in_flight -= 1;
        match mark {
            Some(CongestionLevel::Congested) => self.decrease_window(sent, 0.5),
            Some(CongestionLevel::Incipient) => self.decrease_window(sent, 0.2),
            None if self.slow_start => self.window += 1.0,
            None => self.window += 1.0 / self.window,
        }
    }

    fn on_packet_lost(&mut self, sent: u64) {
        self.in_flight -= 1;
        self.decrease_window(sent, 0.5);
    }

    /// Cuts the window by a share of it, once for all packets that were in flight.
    fn decrease_window(&mut self, sent: u64, decrease: f64) {
        if sent > self.decreased_up_to {
            self.window = (self.window * (1.0 - decrease)).max(1.0);
            self.decreased_up_to = self.sent;
            self.slow_start = false;
        }
    }
}

/// Largest random addition to a round trip.
const MAX_RTT_JITTER: Span = Span::from_millis(10);

/// Flows start evenly until then.
const START_SPREAD: Span = Span::from_millis(2500);
const INITIAL_WINDOW: f64 = 10.0;

#[cfg(test)]
mod tests {
    use super::*;
    use ecnlab_queue::aqm::droptail;

    fn ten_mbps(buffer: u32) -> BottleneckParams<'static> {
        let rate = Rate::from_bps(10_000_000).expect("above zero");
        BottleneckParams { rate, buffer, flows: 8, sizes: &[1500], duration: Span::from_secs(40) }
    }

    #[test]
    fn a_buffer_of_the_bandwidth_delay_product_keeps_the_link_busy_and_overflows() {
        let result = simulate_bottleneck(&DeviceUnderTest::from_aqm_in_fifo(&droptail::ENTRY), &ten_mbps(83));
        assert!(result.utilization > 0.99 && result.mean_fill > 0.5 && result.overflow_share > 0.0, "{result:?}");
    }

    /// One flow over a path that holds 66.7 packets, with a buffer of so many.
    fn one_flow(buffer: u32) -> BottleneckResult {
        simulate_bottleneck(
            &DeviceUnderTest::from_aqm_in_fifo(&droptail::ENTRY),
            &BottleneckParams { flows: 1, duration: Span::from_secs(400), ..ten_mbps(buffer) },
        )
    }

    #[test]
    fn one_flow_fills_a_buffer_of_the_bandwidth_delay_product_to_five_ninths() {
        // With x the window over the path's own packets, from 1 to 2, a round trip takes x: the integral of (x - 1) x over that of x.
        let result = one_flow(67);
        assert!((result.mean_fill / (5.0 / 9.0) - 1.0).abs() < 0.06 && result.utilization > 0.99, "{result:?}");
    }

    #[test]
    fn one_flow_uses_twenty_seven_parts_of_twenty_eight_with_half_that_buffer() {
        // x goes from 3/4 to 3/2, and a round trip takes the larger of x and 1: (7/32 + 5/8) / (1/4 + 5/8).
        let result = one_flow(33);
        assert!((result.utilization - 27.0 / 28.0).abs() < 0.015, "{result:?}");
    }

    #[test]
    fn a_window_decreases_once_per_window_in_flight() {
        let mut flow = AimdFlow { window: 16.0, ..AimdFlow::new(Span::from_millis(100)) };
        (0..16).for_each(|_| assert!(flow.take_next_packet_number() > 0));
        flow.on_packet_lost(3);
        flow.on_packet_arrived(4, Some(CongestionLevel::Congested));
        assert_eq!((8.0, 14), (flow.window, flow.in_flight));
        let sent = flow.take_next_packet_number();
        flow.on_packet_arrived(sent, Some(CongestionLevel::Incipient));
        assert!((flow.window - 6.4).abs() < 1e-12);
    }
}
