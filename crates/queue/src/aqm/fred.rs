//! FRED, flow random early drop (Lin and Morris 1997): RED with per-flow accounting: the number of queued packets of the arriving packet's
//! flow counts.
//!
//! For each flow that has packets waiting it counts them (q_i) and how often the flow ran over its share (strikes). N is their number.
//!
//! ```text
//! at an accepted arrival and at a departure:  avg <- (1 - w_q) avg + w_q q;   idle link: avg <- (1 - w_q)^m avg
//!                                             avgcq = max(avg / N, 1)         a flow's share
//! at an arrival, max_q = min_th, or 2 if avg >= max_th:
//!   q_i >= max_q, or avg >= max_th and q_i > 2 avgcq, or q_i >= avgcq and strikes > 1:    strikes + 1, drop
//!   min_th <= avg < max_th and q_i >= max(min_q, avgcq):                                  signal with p_a as in RED
//!   avg < min_th:                                                                         pass
//! ```
//!
//! Above `max_th` every flow may still have two packets waiting; this is the paper's support for many flows. With `many_flows = false` it
//! is the simpler form without it, which drops every packet there, as RED does.
//!
//! One difference: in the paper the idle period begins with the departure that empties the queue. Here it begins when the link has nothing
//! to send, as in RED, and a packet that is dropped at an idle link does not end it. Otherwise the average would not decay and the link
//! could starve.

use std::collections::BTreeMap;

use ecnlab_units::quantity::PacketsOrBytes;
use ecnlab_units::{Rate, Rng, Span, Time, math, parameters};

use super::entry::{AqmEntry, Contradictions, Gauge};
use super::{
    AVERAGE_GAUGE_NAME, Aqm, AqmRequirements, Arrival, Departure, DequeueVerdict, EnqueueVerdict, GaugeReport, PacketInfo, SignalCause,
};
use crate::limit::Limit;

/// FRED in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "fred",
    title: "FRED",
    summary: "RED that protects flows with few queued packets and drops from flows that queue more than their share.",
    source: "Lin and Morris 1997",
    parameters: Settings::PARAMETERS,
    gauges: GAUGES,
    lowest_mark: AqmEntry::MARK_LEVEL_CONGESTED_IF_ECN,
    check: |values, limit| Settings::from_values(values).contradictions(limit),
    test_params: &[("w_q", "1"), ("min_th", "6"), ("max_th", "15"), ("max_p", "1"), ("min_q", "0")],
    make: &|values, link| Box::new(Fred::new(Settings::from_values(values), link.limit, link.rate)),
    ..AqmEntry::DEFAULTS
};

const GAUGES: &[Gauge] = &[
    Gauge::new(AVERAGE_GAUGE_NAME, "packets", "Average queue length"),
    Gauge { name: "share", unit: "packets", doc: "avgcq, the average queue length of one flow, at least 1", symbol: "avgcq" },
    Gauge::new("flows", "flows", "Flows with queued packets"),
];

parameters! {
    /// FRED as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        /// Average queue length below which only flows above their share lose packets, and the largest number of queued packets of one
        /// flow; auto is a quarter of the buffer.
        #[source("Lin and Morris 1997")]
        #[usual(1..=60, linear)]
        pub min_th: Option<f64> = "auto", 0..=1e9, "packets";
        /// Average queue length from which a flow may queue only two packets; auto is 2 min_th.
        #[source("Lin and Morris 1997")]
        #[usual(5..=120, linear)]
        pub max_th: Option<f64> = "auto", 0..=1e9, "packets";
        /// Value of the probability at max_th, before signals are spaced out.
        #[source("Lin and Morris 1997")]
        #[off("0", "no packet is signalled at random")]
        #[usual(0.01..=1, log)]
        pub max_p: f64 = "0.02", 0..=1;
        /// Weight of the newest queue length in the average.
        #[source("Lin and Morris 1997")]
        #[off("0", "the average stays 0, so that only flows with min_th packets waiting lose any")]
        #[usual(0.0005..=1, log)]
        pub w_q: f64 = "0.002", 0..=1;
        /// Queued packets of one flow that are exempt from random signals: 2 for small buffers, 4 for large ones.
        #[source("Lin and Morris 1997")]
        #[usual(1..=10, linear)]
        pub min_q: u32 = "2", 0..=1_000_000, "packets";
        /// Two queued packets for each flow while the average is at max_th or above, instead of dropping all packets.
        #[source("Lin and Morris 1997")]
        pub many_flows: bool = "true";
        /// Mean packet size, for the idle link's estimate and a buffer of bytes.
        #[source("ns-2 2.35, mean_pktsize_")]
        pub mean_packet: u32 = "500 B", 1..=65_535, "bytes";
        /// Marking of ECN-capable packets instead of dropping them at random; flows above their share still lose packets.
        #[source("RFC 3168, section 7")]
        pub ecn: bool = "true";
    }
}

impl Settings {
    /// The thresholds in a buffer of so many packets.
    fn thresholds(&self, limit: PacketsOrBytes) -> (f64, f64) {
        let min_th = self.min_th.unwrap_or(limit.in_packets_of(self.mean_packet) / 4.0);
        (min_th, self.max_th.unwrap_or(2.0 * min_th))
    }

    fn contradictions(&self, limit: PacketsOrBytes) -> Contradictions {
        let (min_th, max_th) = self.thresholds(limit);
        let contradiction = || vec![("max_th", format!("{max_th} must be above min_th {min_th}"))];
        if min_th < max_th { Vec::new() } else { contradiction() }
    }
}

/// FRED at work.
pub struct Fred {
    settings: Settings,
    min_th: f64,
    max_th: f64,
    packet_time: Span,
    average: f64,
    idle_since: Option<Time>,
    /// Arrivals at an average between the thresholds, counted from the last random signal, with the one that it fell on.
    count: u64,
    /// Flows that have packets waiting.
    flows: BTreeMap<u64, FlowState>,
}

/// A flow that has packets waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FlowState {
    queued_packets: u32,
    strikes: u32,
}

impl Fred {
    /// With these settings, in a buffer of this limit before a line of this rate.
    pub fn new(settings: Settings, limit: Limit, rate: Rate) -> Fred {
        let (min_th, max_th) = settings.thresholds(limit.into());
        let packet_time = rate.transmission_time(settings.mean_packet);
        Fred { settings, min_th, max_th, packet_time, average: 0.0, idle_since: None, count: 0, flows: BTreeMap::new() }
    }

    /// `avgcq`.
    fn average_per_flow(&self) -> f64 {
        (self.average / self.flows.len().max(1) as f64).max(1.0)
    }

    fn sample_queue_length(&mut self, packets: u32) {
        self.average += self.settings.w_q * (f64::from(packets) - self.average);
    }

    /// Takes the packets in that an idle link could have sent since the spell began or was last counted.
    fn decay_over_idle_time(&mut self, now: Time) {
        let Some(since) = &mut self.idle_since else { return };
        let sent = now.since(*since).picos() / self.packet_time.picos().max(1);
        self.average *= math::powi(1.0 - self.settings.w_q, sent);
        *since += self.packet_time * sent;
    }

    /// Whether the flow of an arriving packet does not adapt: it keeps more waiting than it may.
    fn exceeds_share(&self, flow: FlowState) -> bool {
        let (queued_packets, share) = (f64::from(flow.queued_packets), self.average_per_flow());
        let crowded = self.average >= self.max_th;
        let most = if crowded && self.settings.many_flows { 2.0 } else { self.min_th.max(1.0) };
        let far_over = self.settings.many_flows && crowded && queued_packets > 2.0 * share;
        queued_packets >= most || far_over || queued_packets >= share && flow.strikes > 1
    }

    /// Draws for a packet between the thresholds; whether it is signalled.
    fn draws_signal(&mut self, flow: FlowState, rng: &mut Rng) -> bool {
        self.count += 1;
        if f64::from(flow.queued_packets) < self.average_per_flow().max(f64::from(self.settings.min_q)) {
            return false;
        }
        let p_b = self.settings.max_p * (self.average - self.min_th) / (self.max_th - self.min_th);
        let passed = (self.count - 1) as f64 * p_b;
        let hit = passed >= 1.0 || rng.uniform() < p_b / (1.0 - passed);
        if hit {
            self.count = 1;
        }
        hit
    }

    fn verdict_unless_full(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        let number = arrival.packet.flow;
        let flow = self.flows.get(&number).copied().unwrap_or_default();
        let forced = EnqueueVerdict::drop_arriving(SignalCause::Forced);
        if self.exceeds_share(flow) {
            self.flows.entry(number).and_modify(|flow| flow.strikes += 1);
            return forced;
        }
        match self.average {
            average if average < self.min_th => self.count = 0,
            average if average < self.max_th => {
                if self.draws_signal(flow, rng) {
                    return arrival.mark_or_drop(self.settings.ecn, SignalCause::Early);
                }
            }
            _ if self.settings.many_flows => {}
            _ => {
                self.count = 1;
                return forced;
            }
        }
        EnqueueVerdict::Pass
    }

    /// The packet waits now.
    fn count_enqueued_and_sample(&mut self, arrival: &Arrival) {
        self.idle_since = None;
        self.flows.entry(arrival.packet.flow).or_default().queued_packets += 1;
        self.sample_queue_length(arrival.backlog.packets);
    }

    /// The packet waits no more.
    fn count_removed(&mut self, packet: &PacketInfo) {
        if let Some(flow) = self.flows.get_mut(&packet.flow) {
            flow.queued_packets -= 1;
            if flow.queued_packets == 0 {
                self.flows.remove(&packet.flow);
            }
        }
    }
}

impl Aqm for Fred {
    fn requirements(&self) -> AqmRequirements {
        AqmRequirements { dequeue_hook: true, ..AqmRequirements::default() }
    }

    fn on_enqueue(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        self.decay_over_idle_time(arrival.now);
        if arrival.backlog.packets == 0 {
            self.flows.clear();
        }
        if arrival.would_overflow {
            return EnqueueVerdict::drop_arriving(SignalCause::Overflow);
        }
        let verdict = self.verdict_unless_full(arrival, rng);
        if !matches!(verdict, EnqueueVerdict::Drop { .. }) {
            self.count_enqueued_and_sample(arrival);
        }
        verdict
    }

    fn on_dequeue(&mut self, departure: &Departure, _rng: &mut Rng) -> DequeueVerdict {
        self.count_removed(&departure.packet);
        self.sample_queue_length(departure.backlog.packets);
        DequeueVerdict::Pass
    }

    fn on_overflow_drop(&mut self, packet: &PacketInfo, _now: Time) {
        self.count_removed(packet);
    }

    fn on_moved_out(&mut self, packet: &PacketInfo, _now: Time) {
        self.count_removed(packet);
    }

    fn on_moved_in(&mut self, packet: &PacketInfo, now: Time) {
        self.decay_over_idle_time(now);
        self.idle_since = None;
        self.flows.entry(packet.flow).or_default().queued_packets += 1;
    }

    fn on_queue_empty(&mut self, now: Time) {
        self.idle_since = Some(now);
    }

    fn set_link_rate(&mut self, rate: Rate) {
        self.packet_time = rate.transmission_time(self.settings.mean_packet);
    }

    fn average_queue_length(&self) -> Option<f64> {
        Some(self.average)
    }

    fn report_gauges(&self, report: GaugeReport) {
        report(AVERAGE_GAUGE_NAME, self.average);
        report("share", self.average_per_flow());
        report("flows", self.flows.len() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::Backlog;
    use crate::aqm::entry::default_values_with_overrides;

    const MARK: EnqueueVerdict = EnqueueVerdict::mark_arriving(SignalCause::Early);
    const FORCED: EnqueueVerdict = EnqueueVerdict::drop_arriving(SignalCause::Forced);

    fn fred(settings: &[(&str, &str)]) -> (Fred, Rng) {
        let values = default_values_with_overrides("fred", Settings::PARAMETERS, settings);
        let rate = Rate::from_bps(1_500_000).unwrap();
        (Fred::new(Settings::from_values(&values), Limit::Packets(40), rate), Rng::for_role(1, "fred"))
    }

    fn arrival(flow: u64, packets: u32) -> Arrival<'static> {
        Arrival {
            packet: PacketInfo { flow, ..PacketInfo::EXAMPLE_ECT0 },
            backlog: Backlog::of_1000_byte_packets(packets),
            ..Arrival::PLAIN
        }
    }

    /// Fills the queue with so many packets of each flow, at an average that lets them in.
    fn fred_with_queue(flows: &[(u64, u32)], average: f64, settings: &[(&str, &str)]) -> (Fred, Rng) {
        let (mut fred, rng) = fred(settings);
        fred.flows = flows.iter().map(|&(number, queued_packets)| (number, FlowState { queued_packets, strikes: 0 })).collect();
        fred.average = average;
        (fred, rng)
    }

    #[test]
    fn the_thresholds_follow_the_buffer() {
        let (fred, _) = fred(&[]);
        assert_eq!((10.0, 20.0), (fred.min_th, fred.max_th));
    }

    #[test]
    fn no_flow_has_more_than_min_th_packets_waiting() {
        let (mut fred, mut rng) = fred(&[]);
        let verdicts: Vec<EnqueueVerdict> = (0..12).map(|queued_packets| fred.on_enqueue(&arrival(1, queued_packets), &mut rng)).collect();
        assert_eq!(([EnqueueVerdict::Pass; 10].as_slice(), [FORCED; 2].as_slice()), verdicts.split_at(10));
        assert_eq!(FlowState { queued_packets: 10, strikes: 2 }, fred.flows[&1]);
    }

    #[test]
    fn a_flow_with_two_strikes_is_held_to_its_share() {
        let (mut fred, mut rng) = fred_with_queue(&[(1, 3), (2, 3), (3, 2)], 8.0, &[("w_q", "0")]);
        fred.flows.get_mut(&1).unwrap().strikes = 2;
        assert_eq!(8.0 / 3.0, fred.average_per_flow());
        assert_eq!([FORCED, EnqueueVerdict::Pass], [1, 2].map(|flow| fred.on_enqueue(&arrival(flow, 8), &mut rng)));
    }

    #[test]
    fn fragile_flows_are_spared_between_the_thresholds() {
        let (mut fred, mut rng) = fred_with_queue(&[(1, 9), (2, 1)], 15.0, &[("max_p", "1"), ("w_q", "0")]);
        let signals = |fred: &mut Fred, flow, rng: &mut Rng| {
            let kept = fred.flows.clone();
            let verdicts = (0..200).map(|_| {
                fred.flows = kept.clone();
                fred.on_enqueue(&arrival(flow, 10), rng)
            });
            verdicts.filter(|verdict| *verdict == MARK).count()
        };
        assert!(signals(&mut fred, 1, &mut rng) > 50, "a robust flow is signalled");
        fred.flows = BTreeMap::from([(1, FlowState { queued_packets: 9, strikes: 0 }), (2, FlowState { queued_packets: 1, strikes: 0 })]);
        assert_eq!(0, signals(&mut fred, 2, &mut rng));
    }

    #[test]
    fn above_max_th_each_flow_may_have_two_packets_waiting_or_none_passes() {
        let flows: Vec<(u64, u32)> = (0..15).map(|flow| (flow, 1 + u32::from(flow < 10))).collect();
        let (mut fred, mut rng) = fred_with_queue(&flows, 25.0, &[("w_q", "0")]);
        assert_eq!(
            [FORCED, EnqueueVerdict::Pass, EnqueueVerdict::Pass],
            [0, 12, 99].map(|flow| fred.on_enqueue(&arrival(flow, 25), &mut rng))
        );
        let (mut fred, mut rng) = fred_with_queue(&flows, 25.0, &[("w_q", "0"), ("many_flows", "false")]);
        assert_eq!([FORCED; 3], [0, 12, 99].map(|flow| fred.on_enqueue(&arrival(flow, 25), &mut rng)));
    }

    #[test]
    fn a_flow_that_has_no_packets_waiting_is_forgotten() {
        let (mut fred, mut rng) = fred(&[]);
        for packets in 0..6 {
            fred.on_enqueue(&arrival(u64::from(packets) % 3, packets), &mut rng);
        }
        for left in (0..6).rev() {
            let flow = u64::from(5 - left) % 3;
            let packet = PacketInfo { flow, ..PacketInfo::EXAMPLE_ECT0 };
            fred.on_dequeue(&Departure { packet, backlog: Backlog::of_1000_byte_packets(left), ..Departure::PLAIN }, &mut rng);
            assert_eq!(left.min(3) as usize, fred.flows.len());
        }
    }

    #[test]
    fn packets_that_a_shared_buffer_drops_count_no_more() {
        let (mut fred, _) = fred_with_queue(&[(1, 2), (2, 1)], 8.0, &[]);
        for flow in [1, 2, 3] {
            fred.on_overflow_drop(&PacketInfo { flow, ..PacketInfo::EXAMPLE_ECT0 }, Time::ZERO);
        }
        assert_eq!(BTreeMap::from([(1, FlowState { queued_packets: 1, strikes: 0 })]), fred.flows);
    }

    #[test]
    fn a_link_whose_packets_are_all_dropped_does_not_starve() {
        let (mut fred, mut rng) = fred_with_queue(&[], 30.0, &[("many_flows", "false")]);
        fred.on_queue_empty(Time::ZERO);
        let at = |n: u64| Arrival { now: Time::ZERO + Span::from_millis(2) * n, ..Arrival::PLAIN };
        let passed = (1..=2_000).find(|&n| fred.on_enqueue(&at(n), &mut rng) == EnqueueVerdict::Pass);
        // 2.7 ms for a packet of 500 bytes at 1.5 Mbps: ln(30 / 20) / 0.002 packets of them.
        assert!(passed.unwrap() < 300, "the first packet passed after {passed:?} arrivals");
    }
}
