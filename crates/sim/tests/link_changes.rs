//! Links that change during the run, and links that follow a trace of delivery opportunities, compared with formulas.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use std::sync::Arc;

use common::{options, pipe, queue_link, run_off, run_with};
use ecnlab_queue::{Bursts, Limit, Registry};
use ecnlab_sim::impairment::Impairment;
use ecnlab_sim::network::{LinkChange, LinkState};
use ecnlab_sim::trace_driven_link::DeliveryTrace;
use ecnlab_sim::{FlowSpec, ImpairmentSpec, LinkSpec, Network, PipeOrQueue, Probe, QueueSpec, RowPolicy, Run, RunTimesAndSeed};
use ecnlab_transport::{AppWrite, Segment, TcpSettings, Transport, profile};
use ecnlab_units::{Rate, Span, Time, Values};
use proptest::prelude::*;

const DELAY_US: u64 = 10_000;

/// Segments sent, and arrival times.
#[derive(Default)]
struct SegmentLog {
    sent: Vec<(u64, bool)>,
    arrived: Vec<(Time, Segment)>,
}

impl Probe for SegmentLog {
    fn on_segment_sent(&mut self, _now: Time, _flow: u32, segment: &Segment) {
        self.sent.push((segment.seq, segment.retransmission));
    }

    fn on_segment_received(&mut self, now: Time, _flow: u32, segment: &Segment) {
        self.arrived.push((now, *segment));
    }
}

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// A change at this time without effect.
fn empty_change(millis: u64) -> LinkChange {
    LinkChange { time: at(millis), repeat_interval: None, rate: None, delay: None, state: None }
}

fn rate_of_kbps(kbps: u64) -> Option<Rate> {
    Rate::from_bps(kbps * 1000)
}

/// Full-sized flows of 1000 bytes over one queue with 10 ms delay, and a return link without delay.
fn network(kbps: u64, aqm: &str, given: &[(&str, &str)], flows: u32, shape: impl FnOnce(&mut QueueSpec)) -> Network {
    let entry = Registry::builtin().aqm(aqm).unwrap();
    let mut values = Values::defaults(entry.parameters);
    given.iter().for_each(|(name, text)| values.set_from_text(name, text).unwrap());
    let mut link = queue_link(kbps, DELAY_US, "link", entry, values, Limit::Packets(200));
    let PipeOrQueue::Queue(queue) = &mut link.buffer else { panic!("a queue") };
    shape(queue);
    let tcp = Arc::new(TcpSettings { max_rwnd: 60, ..profile::tcp_settings_of("ns2") });
    let flow = |member| FlowSpec {
        group: 0,
        member,
        forward: vec![0],
        back: vec![1],
        transport: Transport::Tcp(tcp.clone()),
        initial_write: Some(AppWrite::ENDLESS),
        start: Time::ZERO,
        clock_phase: None,
        row_policy: RowPolicy::OwnRow,
    };
    let back = LinkSpec { delay: Span::ZERO, ..pipe(10_000_000, 0, 100_000) };
    Network { links: vec![link, back], flows: (0..flows).map(flow).collect(), groups: vec!["all".into()], ..Network::default() }
}

fn run_logged(network: &Network, seconds: u64) -> (Run, SegmentLog) {
    run_with(network, &options(seconds, 1), SegmentLog::default())
}

/// Departure times of the packets of a run, which are back to back from `from` on.
fn departure_times(segment_log: &SegmentLog, from: Time) -> Vec<Time> {
    let times = segment_log.arrived.iter().map(|(time, _)| Time::from_picos(time.picos() - Span::from_micros(DELAY_US).picos()));
    times.filter(|&time| time >= from).collect()
}

/// Size of a segment with its headers, in bits.
fn segment_bits(segment_log: &SegmentLog) -> u64 {
    u64::from(segment_log.arrived.last().unwrap().1.size) * 8
}

#[test]
fn transmissions_that_begin_after_a_step_take_the_new_time_to_the_picosecond() {
    // At 3 Mbps a third of a picosecond is truncated in each transmission, and accumulates.
    for (before, after) in [(1_000, 4_000), (4_000, 1_000), (1_500, 3_000), (3_000, 7_000)] {
        let step = LinkChange { rate: rate_of_kbps(after), ..empty_change(5_000) };
        let (_, segment_log) = run_logged(&network(before, "droptail", &[], 1, |queue| queue.changes.push(step)), 10);
        let (bits, departures) = (segment_bits(&segment_log), departure_times(&segment_log, at(2_000)));
        let first_new = departures.iter().position(|&time| time >= step.time).unwrap();
        // A transmission that began before the step keeps its old rate; later ones have the new rate.
        for (from, to, kbps) in [(0, first_new, before), (first_new, departures.len() - 1, after)] {
            for last in from..=to {
                let exact = u128::from(bits) * (last - from) as u128 * 1_000_000_000 / u128::from(kbps);
                let took = departures[last].since(departures[from]).picos();
                assert!(u128::from(took).abs_diff(exact) <= 1, "{before} to {after}: {} packets took {took} ps, not {exact}", last - from);
            }
        }
    }
}

#[test]
fn a_periodic_change_recurs_at_its_interval() {
    let slow = LinkChange { rate: rate_of_kbps(1_000), repeat_interval: Some(Span::from_secs(2)), ..empty_change(2_000) };
    let fast = LinkChange { rate: rate_of_kbps(4_000), repeat_interval: Some(Span::from_secs(2)), ..empty_change(3_000) };
    let (_, segment_log) = run_logged(&network(4_000, "droptail", &[], 1, |queue| queue.changes.extend([slow, fast])), 12);
    let departures = departure_times(&segment_log, at(4_000));
    for second in 4..11 {
        let sent = departures.iter().filter(|&&time| time >= at(second * 1000) && time < at(second * 1000 + 1000)).count() as u64;
        let expected = (if second % 2 == 0 { 1_000_000 } else { 4_000_000 }) / segment_bits(&segment_log);
        assert!(sent.abs_diff(expected) <= 1, "second {second}: {sent} packets, not {expected}");
    }
}

#[test]
fn packets_behind_a_longer_delay_come_later_by_it_and_those_behind_a_shorter_one_not_before_the_last() {
    for (delay_ms, gap) in [(70u64, 62u64), (1, 2)] {
        let step = LinkChange { delay: Some(Span::from_millis(delay_ms)), ..empty_change(5_000) };
        let (_, segment_log) = run_logged(&network(4_000, "droptail", &[], 1, |queue| queue.changes.push(step)), 10);
        let arrivals: Vec<Time> = segment_log.arrived.iter().map(|(time, _)| *time).collect();
        assert!(arrivals.is_sorted());
        // The packet in transmission at the step keeps the old delay. The next transmission ends 2 ms later and has the new delay.
        let spread = segment_bits(&segment_log) / 4;
        assert_eq!(2_000, spread);
        let gaps: Vec<u64> = arrivals.windows(2).map(|pair| pair[1].since(pair[0]).picos() / 1_000_000_000).collect();
        let steady = gaps[arrivals.iter().position(|&time| time > at(3_000)).unwrap()..].iter().filter(|&&gap| gap != 2).count();
        if delay_ms > 10 {
            assert!(gaps.contains(&gap), "no gap of {gap} ms");
            assert_eq!(1, steady, "one gap that is not a transmission");
        } else {
            // Packets that would have overtaken arrive together with the last one that was on the wire: 9 ms less at 2 ms each.
            assert_eq!(4, gaps.iter().filter(|&&gap| gap == 0).count(), "{gaps:?}");
        }
    }
}

#[test]
fn a_link_that_is_down_begins_no_transmission_and_what_is_on_the_wire_arrives_or_is_lost() {
    for drops_wire_packets in [false, true] {
        let down = LinkChange { state: Some(LinkState::Down { drops_wire_packets }), ..empty_change(5_001) };
        let up = LinkChange { state: Some(LinkState::Up), ..empty_change(6_000) };
        let (run, segment_log) = run_logged(&network(4_000, "droptail", &[], 1, |queue| queue.changes.extend([down, up])), 10);
        let arrivals_between =
            |from: u64, to: u64| segment_log.arrived.iter().filter(|(time, _)| *time > at(from) && *time < at(to)).count();
        // 10 ms of delay and 2 ms of transmission: the last packet began within 2 ms before the link went down.
        let on_the_wire = arrivals_between(5_001, 6_012);
        assert_eq!(if drops_wire_packets { 0 } else { 6 }, on_the_wire, "{drops_wire_packets}");
        assert_eq!(0, arrivals_between(5_014, 6_012));
        assert_eq!(1, arrivals_between(6_011, 6_013), "the first one begins as the link comes up");
        assert_eq!(if drops_wire_packets { 6.0 } else { 0.0 }, run.report.column_as_reals("total", "drops")[0]);
    }
}

/// Nine seconds of ten are fully used, and the tenth is not: a link that is down counts as unused.
#[test]
fn utilisation_is_the_share_of_the_time_in_which_something_was_sent() {
    let down = LinkChange { state: Some(LinkState::Down { drops_wire_packets: false }), ..empty_change(5_000) };
    let up = LinkChange { state: Some(LinkState::Up), ..empty_change(6_000) };
    let step = LinkChange { rate: rate_of_kbps(1_000), ..empty_change(8_000) };
    let network = network(4_000, "droptail", &[], 4, |queue| queue.changes.extend([down, up, step]));
    let measured = RunTimesAndSeed { measure_from: at(2_000), ..options(12, 1) };
    let (run, _) = run_with(&network, &measured, SegmentLog::default());
    assert!((run.report.column_as_reals("queues", "utilisation")[0] - 0.9).abs() < 0.001);
}

/// After a step to a rate, an AQM holds the same queue as with that rate from the beginning: the means over seeds agree to four standard
/// errors.
#[test]
fn aqms_hold_their_target_after_a_step_of_the_rate() {
    for (aqm, given) in [("codel", &[][..]), ("pie", &[]), ("pi2", &[]), ("ared", &[("min_th", "auto"), ("max_th", "auto")])] {
        let over_seeds = |network: &Network| {
            let runs = (1..=SEED_COUNT).map(|seed| run_off(network, &RunTimesAndSeed { measure_from: at(60_000), ..options(160, seed) }));
            let held: Vec<_> =
                runs.map(|run| ["sojourn_mean_s", "utilisation"].map(|name| run.report.column_as_reals("queues", name)[0])).collect();
            [0, 1].map(|of| mean_and_error(&held.iter().map(|held| held[of]).collect::<Vec<_>>()))
        };
        let step = LinkChange { rate: rate_of_kbps(KBPS_AFTER_STEP), ..empty_change(30_000) };
        let steady = over_seeds(&network(KBPS_AFTER_STEP, aqm, given, 8, |_| {}));
        let stepped = over_seeds(&network(3_000, aqm, given, 8, |queue| queue.changes.push(step)));
        for (what, steady, stepped) in [("waits", steady[0], stepped[0]), ("utilisation", steady[1], stepped[1])] {
            let error = steady.1.hypot(stepped.1);
            assert!((stepped.0 - steady.0).abs() < 4.0 * error, "{aqm}: {what} {stepped:?} after a step, {steady:?} without");
        }
    }
}

const SEED_COUNT: u64 = 12;

/// Not 10 Mbps: there PI2's interval of 16 ms is exactly 20 transmissions, so it samples the queue always at the same phase of a
/// transmission. A step changes this phase and thereby the held queue by up to 3 %.
const KBPS_AFTER_STEP: u64 = 10_007;

/// Mean of independent values, and its standard error.
fn mean_and_error(of: &[f64]) -> (f64, f64) {
    let n = of.len() as f64;
    let mean = of.iter().sum::<f64>() / n;
    let variance = of.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// Random changes of a link.
fn link_change_lists() -> impl Strategy<Value = Vec<LinkChange>> {
    let state = prop_oneof![
        4 => Just(None),
        1 => Just(Some(LinkState::Up)),
        1 => any::<bool>().prop_map(|drops_wire_packets| Some(LinkState::Down { drops_wire_packets })),
    ];
    let to = (prop::option::of(50u64..20_000), prop::option::of(0u64..200), state, prop::option::of(50u64..3_000));
    let one = (0u64..9_000, to).prop_map(|(millis, (kbps, delay_ms, state, every_ms))| LinkChange {
        time: at(millis),
        repeat_interval: every_ms.map(Span::from_millis),
        rate: kbps.and_then(rate_of_kbps),
        delay: delay_ms.map(Span::from_millis),
        state,
    });
    prop::collection::vec(one, 0..8)
}

/// Random ascending times of a trace.
fn delivery_traces() -> impl Strategy<Value = Option<DeliveryTrace>> {
    let steps = prop::collection::vec(0u32..40, 1..60).prop_map(|steps| {
        let mut time = 0;
        let mut millis: Vec<u32> = steps
            .iter()
            .map(|step| {
                time += step;
                time
            })
            .collect();
        millis.push(time + 1);
        DeliveryTrace::new(millis).unwrap()
    });
    prop::option::of(steps)
}

/// Random bursts.
fn link_bursts() -> impl Strategy<Value = Option<Bursts>> {
    let aggregate =
        prop_oneof![Just(None), (1u32..30).prop_map(|n| Some(Limit::Packets(n))), (1u64..40_000).prop_map(|n| Some(Limit::Bytes(n)))];
    let bursts = (1u64..30_000, aggregate).prop_map(|(micros, aggregate)| Bursts { period: Span::from_micros(micros), aggregate });
    prop::option::of(bursts)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// The end of each run checks conservation of packets.
    #[test]
    fn no_packet_overtakes_another_however_the_link_changes(
        changes in link_change_lists(), trace in delivery_traces(), bursts in link_bursts(), losses in 0.0f64..0.05, kbps in 100u64..10_000
    ) {
        let bursts = bursts.filter(|_| trace.is_none());
        let apply_changes =
            |queue: &mut QueueSpec| (queue.changes, queue.delivery_trace, queue.bursts) = (changes.clone(), trace.clone(), bursts);
        let mut network = network(kbps, "droptail", &[], 3, apply_changes);
        network.links[0].impairment = ImpairmentSpec::from_parts([Impairment::random_loss(losses)]);
        let one_flow = Network { flows: network.flows[..1].to_vec(), ..network.clone() };
        let (run, segment_log) = run_logged(&one_flow, 10);
        let mut sent = segment_log.sent.iter();
        for (_, segment) in &segment_log.arrived {
            prop_assert!(sent.any(|of| *of == (segment.seq, segment.retransmission)), "segment {} came out of its turn", segment.seq);
        }
        prop_assert!((0.0..=1.0).contains(&run.report.column_as_reals("queues", "utilisation")[0]));
        run_logged(&network, 10);
    }
}

/// A packet departs with its last byte. While packets always wait, the first `k` opportunities carry `1500 k` bytes. That gives the number
/// of whole packets, except for the bytes left from an earlier packet.
#[test]
fn packets_depart_at_the_opportunities_and_all_their_bytes_are_used() {
    const TRACE_TIMES: [u32; 8] = [3, 3, 7, 20, 21, 21, 21, 40];
    /// Instants of a round, each with the number of its opportunities so far.
    const PACKETS_BY_INSTANT: [(u64, u64); 5] = [(3, 2), (7, 3), (20, 4), (21, 7), (40, 8)];
    for size in [500, 1000, 1500] {
        let trace = DeliveryTrace::new(TRACE_TIMES.to_vec()).unwrap();
        let mut network = network(2_400, "droptail", &[], 4, |queue| queue.delivery_trace = Some(trace));
        let tcp = TcpSettings { max_rwnd: 60, packet_size: size, ..profile::tcp_settings_of("ns2") };
        network.flows.iter_mut().for_each(|flow| flow.transport = Transport::Tcp(Arc::new(tcp.clone())));
        let (run, segment_log) = run_logged(&network, 60);
        assert_eq!(u64::from(size) * 8, segment_bits(&segment_log));
        let departures = departure_times(&segment_log, at(10_001));
        let matches_trace = |left_over: u64| {
            let instants =
                (0..1_240).flat_map(|round| PACKETS_BY_INSTANT.map(|(time, been)| (at(10_000 + round * 40 + time), round * 8 + been)));
            let mut sent = 0;
            instants.into_iter().all(|(time, opportunities)| {
                let now = departures[sent..].iter().take_while(|&&departed| departed <= time).count();
                let at_once = departures[sent..sent + now].iter().all(|&departed| departed == time);
                sent += now;
                at_once && sent as u64 == (opportunities * 1500 + left_over) / u64::from(size)
            })
        };
        assert!((0..u64::from(size)).step_by(500).any(matches_trace), "{size}: {:?}", &departures[..20]);
        let all = 60_000 / 40 * TRACE_TIMES.len() as u64 * 1500;
        let throughput = run.report.column_as_reals("total", "throughput_bps")[0] * 60.0 / 8.0;
        assert!((throughput / all as f64 - 1.0).abs() < 0.01, "{size}: {throughput} bytes of {all}");
        assert!(run.report.column_as_reals("queues", "utilisation")[0] > 0.99);
    }
}

/// Three flows with windows of 60 packets keep packets waiting, so each slot sends its aggregate: 10 packets of 1000 bytes every 10 ms are 8 Mbps of the link's 40.
/// With an aggregate that takes 25 ms of slots of 10 ms, a burst begins every 30 ms.
#[test]
fn a_link_in_bursts_has_the_mean_rate_of_its_aggregates() {
    for (kbps, aggregate, burst_ms, packets) in
        [(40_000, Limit::Packets(10), 10, 10), (40_000, Limit::Bytes(10_000), 10, 10), (8_000, Limit::Packets(25), 30, 25)]
    {
        let bursts = Some(Bursts { period: Span::from_millis(10), aggregate: Some(aggregate) });
        let network = network(kbps, "droptail", &[], 3, |queue| queue.bursts = bursts);
        let (run, segment_log) = run_logged(&network, 60);
        assert_eq!(8000, segment_bits(&segment_log));
        let departures = departure_times(&segment_log, at(10_000));
        // Each burst after 10 s: its packets back to back from the slot on.
        let transmission = Span::from_picos(8_000 * 1_000_000_000 / kbps);
        let skipped = departures.windows(2).position(|pair| pair[1].since(pair[0]) > transmission).unwrap() + 1;
        let later = &departures[skipped..];
        let first = later[0].picos() - transmission.picos();
        assert_eq!(0, first % Span::from_millis(10).picos(), "{aggregate:?}: a burst begins at a slot");
        for (number, &departed) in later.iter().enumerate() {
            let slot = Time::from_picos(first) + Span::from_millis(burst_ms) * (number / packets) as u64;
            assert_eq!(slot + transmission * (1 + number % packets) as u64, departed, "{aggregate:?}, packet {number}");
        }
        // The transmitter sends for so much of each period.
        let busy = packets as f64 * transmission.seconds() / Span::from_millis(burst_ms).seconds();
        assert!((run.report.column_as_reals("queues", "utilisation")[0] - busy).abs() < 0.01, "{aggregate:?}");
    }
}
