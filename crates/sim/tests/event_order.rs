//! The order of events at one instant depends on the network only, not on how a run is computed.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use std::sync::Arc;

use common::{options, pipe, queue_link, run_with};
use ecnlab_queue::{Limit, Registry};
use ecnlab_sim::network::LinkChange;
use ecnlab_sim::{
    ExternalPacket, FlowSpec, LinkSpec, Network, NoProbe, Packet, PacketId, PipeOrQueue, RowPolicy, RunTimesAndSeed, SimOutput,
};
use ecnlab_sim::{Probe, Recorder, RecordingConfig, Simulation};
use ecnlab_transport::{AppWrite, TcpSettings, Transport, profile};
use ecnlab_units::{Rate, Span, Time, Values};
use proptest::prelude::*;

/// Packets of 1000 bytes take a millisecond.
const LINK_KBPS: u64 = 8_000;
/// The link that all flows share. Private links are numbered from 1: flow `n` has `2 n + 1` and, in reverse, `2 n + 2`.
const SHARED_LINK: u32 = 0;

/// Whether private links compute departures when packets arrive, or have an event for the end of each transmission.
#[derive(Clone, Copy, Debug)]
enum PrivateLinkKind {
    Pipe,
    Queue,
}

fn at(micros: u64) -> Time {
    Time::ZERO + Span::from_micros(micros)
}

fn droptail(kbps: u64, delay_us: u64, name: &str, packets: u32) -> LinkSpec {
    let aqm = Registry::builtin().aqm("droptail").unwrap();
    queue_link(kbps, delay_us, name, aqm, Values::defaults(aqm.parameters), Limit::Packets(packets))
}

/// A flow's private link, whose buffer never overflows.
fn private_link(as_what: PrivateLinkKind, delay_us: u64) -> LinkSpec {
    match as_what {
        PrivateLinkKind::Pipe => pipe(LINK_KBPS, delay_us, 100_000),
        PrivateLinkKind::Queue => droptail(LINK_KBPS, delay_us, "own", 100_000),
    }
}

/// A flow with one transfer over its private link and the shared one.
fn flow(member: u32, start: Time, bytes: u64, max_rwnd: u64) -> FlowSpec {
    let tcp = TcpSettings { max_rwnd, ..profile::tcp_settings_of("ns2") };
    FlowSpec {
        group: 0,
        member,
        forward: vec![2 * member + 1, SHARED_LINK],
        back: vec![2 * member + 2],
        transport: Transport::Tcp(Arc::new(tcp)),
        initial_write: Some(AppWrite { bytes, ..AppWrite::ENDLESS }),
        start,
        clock_phase: Some(Span::ZERO),
        row_policy: RowPolicy::OwnRow,
    }
}

/// So many flows with equal private links, all starting at time zero.
fn equal_flows(count: u32, as_what: PrivateLinkKind) -> Network {
    let owns = (0..2 * count).map(|_| private_link(as_what, 5_000));
    let links = std::iter::once(droptail(LINK_KBPS, 1_000, "shared", 100)).chain(owns).collect();
    let flows = (0..count).map(|member| flow(member, Time::ZERO, 1_000, 10)).collect();
    Network { links, flows, groups: vec!["all".into()], ..Network::default() }
}

/// Handles of packets that are injected into the private links at these times, in order of arrival.
fn order_of_arrivals(network: Network, injected: &[(u64, u32, u32)]) -> Vec<u32> {
    let mut simulation = Simulation::new(&network.with_external_hosts(), &options(1, 1), NoProbe);
    for &(micros, flow, handle) in injected {
        simulation.advance_to(at(micros));
        simulation.inject_host_packet(&ExternalPacket { size: 1000, payload: 960, flow, handle, ..ExternalPacket::default() });
    }
    simulation.advance_to(at(1_000_000));
    let arrived_handle = |happened| if let SimOutput::Arrived { handle, .. } = happened { Some(handle) } else { None };
    simulation.drain_outputs().filter_map(arrived_handle).collect()
}

/// Both second packets begin their transmission after 1 ms. That of flow 1 entered its link first, although flow 0's transmitter was
/// occupied first.
#[test]
fn simultaneous_transmissions_arrive_in_the_order_of_link_entry() {
    for as_what in [PrivateLinkKind::Pipe, PrivateLinkKind::Queue] {
        let injected = [(0, 0, 10), (0, 1, 11), (300, 1, 21), (500, 0, 20)];
        assert_eq!(vec![10, 11, 21, 20], order_of_arrivals(equal_flows(2, as_what), &injected), "{as_what:?}");
    }
}

#[test]
fn simultaneous_entries_arrive_in_the_order_of_link_numbers() {
    for as_what in [PrivateLinkKind::Pipe, PrivateLinkKind::Queue] {
        let injected = [(0, 2, 12), (0, 0, 10), (0, 1, 11)];
        assert_eq!(vec![10, 11, 12], order_of_arrivals(equal_flows(3, as_what), &injected), "{as_what:?}");
    }
}

/// A packet at the far end of a link: time, link, flow, number, and whether it is an ACK.
type LinkArrival = (Time, u32, u32, u64, bool);

/// Logs every packet that reaches the far end of a link, in order.
#[derive(Default)]
struct ArrivalLog(Vec<LinkArrival>);

impl Probe for ArrivalLog {
    const OBSERVES_PACKETS: bool = true;

    fn on_link_exit(&mut self, now: Time, link: u32, _id: PacketId, packet: &Packet) {
        self.0.push((now, link, packet.flow, packet.seq, packet.is_ack_from_sink()));
    }
}

/// Arrivals of a run in which the flows from `first` on are added `before` their start.
fn arrivals_in_slices(network: &Network, options: &RunTimesAndSeed, first: usize, before: Span) -> Vec<LinkArrival> {
    let begun = Network { flows: network.flows[..first].to_vec(), ..network.clone() };
    let mut simulation = Simulation::new(&begun, options, ArrivalLog::default());
    for flow in &network.flows[first..] {
        simulation.advance_to(Time::from_picos(flow.start.picos().saturating_sub(before.picos())));
        simulation.add_flow(flow);
    }
    simulation.finish().1.0
}

/// The first packet of flow 0, of 40 bytes, starts its 5 ms of propagation at 4.96 ms. It reaches the shared link at 10 ms, when flow 1
/// starts there.
#[test]
fn a_flow_start_precedes_later_scheduled_events_whenever_the_flow_was_added() {
    let mut network = equal_flows(2, PrivateLinkKind::Pipe);
    network.flows[0].start = at(4_960);
    (network.flows[1].start, network.flows[1].forward) = (at(10_000), vec![SHARED_LINK]);
    let whole = run_with(&network, &options(1, 1), ArrivalLog::default()).1.0;
    let first_at_shared = whole.iter().find(|arrived| arrived.1 == SHARED_LINK).unwrap();
    assert_eq!((at(11_040), 1), (first_at_shared.0, first_at_shared.2));
    for before_us in [10_000, 6_000, 5_000, 1] {
        assert_eq!(whole, arrivals_in_slices(&network, &options(1, 1), 1, Span::from_micros(before_us)), "{before_us} us before");
    }
}

/// A change of the shared link's rate at this second.
fn rate_change(second: u64, every: Option<Span>, bps: u64) -> LinkChange {
    LinkChange { time: at(second * 1_000_000), repeat_interval: every, rate: Rate::from_bps(bps), delay: None, state: None }
}

/// Both changes are due at 3 s, and `second` is listed later. A packet of 40 bytes takes 20 ms at 16 kbit/s and 80 ms at 4 kbit/s.
#[test]
fn of_two_simultaneous_changes_the_later_listed_one_wins() {
    for begin in [1, 2, 3] {
        let mut network = equal_flows(1, PrivateLinkKind::Pipe);
        (network.flows[0].start, network.flows[0].forward) = (at(3_500_000), vec![SHARED_LINK]);
        let PipeOrQueue::Queue(shared) = &mut network.links[SHARED_LINK as usize].buffer else { panic!("the shared link has a queue") };
        shared.changes = vec![rate_change(begin, Some(Span::from_secs(1)), 4_000), rate_change(3, None, 16_000)];
        let arrivals = run_with(&network, &options(5, 1), ArrivalLog::default()).1.0;
        assert_eq!(Some((at(3_521_000), SHARED_LINK)), arrivals.first().map(|first| (first.0, first.1)), "the other begins at {begin} s");
    }
}

/// A tiny network whose flows differ in start time, size and whether they have a private link: every second flow starts at the shared link.
/// All starts are multiples of 40 us, as the times of packets are, so that starts and packets tie.
#[derive(Clone, Debug)]
struct TinyNetwork {
    /// Each flow's start in microseconds, and its kilobytes.
    flows: Vec<(u64, u64)>,
    delay_ms: u64,
    buffer: u32,
    max_rwnd: u64,
}

impl TinyNetwork {
    fn network(&self, as_what: PrivateLinkKind) -> Network {
        let owns = (0..2 * self.flows.len()).map(|_| private_link(as_what, self.delay_ms * 1_000));
        let links = std::iter::once(droptail(LINK_KBPS, self.delay_ms * 1_000, "shared", self.buffer)).chain(owns).collect();
        let flows = self.flows.iter().zip(0..);
        let flows = flows.map(|(&(start_us, kilobytes), member)| {
            let along = flow(member, at(start_us), kilobytes * 1_000, self.max_rwnd);
            if member % 2 == 0 { along } else { FlowSpec { forward: vec![SHARED_LINK], ..along } }
        });
        Network { links, flows: flows.collect(), groups: vec!["all".into()], ..Network::default() }
    }
}

fn tiny_networks() -> impl Strategy<Value = TinyNetwork> {
    let start = (1u64..20, 0u64..4).prop_map(|(millis, small)| millis * 1_000 + small * 40);
    let flows = prop::collection::vec((start, 1u64..200), 3..8).prop_map(|mut flows| {
        flows.sort_unstable();
        // At least the first packets of the flows 0 and 2 tie.
        (flows[1].0, flows[2].0) = (flows[0].0, flows[0].0);
        flows
    });
    (flows, 0u64..8, 2u32..20, 2u64..30).prop_map(|(flows, delay_ms, buffer, max_rwnd)| TinyNetwork { flows, delay_ms, buffer, max_rwnd })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// All packets keep their order with and without events for ends of transmissions, with and without a probe, and in one slice or many.
    #[test]
    fn how_a_run_is_computed_changes_no_packet(
        tiny in tiny_networks(), before_us in 1u64..4_000, first in 1usize..7, slices in prop::collection::vec((0u64..200, 1u64..2_000), 1..10)
    ) {
        let (network, options) = (tiny.network(PrivateLinkKind::Pipe), options(3, 1));
        let (watched, arrivals) = run_with(&network, &options, ArrivalLog::default());
        let ties = arrivals.0.windows(2).filter(|pair| pair[0].0 == pair[1].0).count();
        prop_assert!(ties > 0, "no two packets arrive at one instant");

        let (with_events, by_events) = run_with(&tiny.network(PrivateLinkKind::Queue), &options, ArrivalLog::default());
        prop_assert!(arrivals.0 == by_events.0, "{}", first_difference(&arrivals.0, &by_events.0));
        prop_assert!(watched.events < with_events.events);

        let first = first.min(network.flows.len() - 1);
        let added = arrivals_in_slices(&network, &options, first, Span::from_micros(before_us));
        prop_assert!(arrivals.0 == added, "{}", first_difference(&arrivals.0, &added));

        let off = run_with(&network, &options, NoProbe).0;
        prop_assert_eq!((watched.fingerprint, watched.events), (off.fingerprint, off.events));

        let every = Some(Span::from_millis(1));
        let all = RecordingConfig { queue_interval: every, window_interval: every, rate_bin: Some(Span::from_secs(1)), events: true, distributions: true, transfers: true, arrivals: true };
        let mut recorded = Simulation::new(&network, &options, Recorder::new(all, options.duration));
        for (millis, events) in slices {
            let until = recorded.now() + Span::from_millis(millis);
            recorded.advance_with_event_limit(until, events);
        }
        let recorded = recorded.finish().0;
        prop_assert_eq!((watched.fingerprint, watched.events), (recorded.fingerprint, recorded.events));
    }
}

/// The first difference of two lists of arrivals.
fn first_difference(one: &[LinkArrival], other: &[LinkArrival]) -> String {
    let at = one.iter().zip(other).position(|(one, other)| one != other).unwrap_or(one.len().min(other.len()));
    format!("arrival {at}: {:?} and {:?}", one.get(at), other.get(at))
}
