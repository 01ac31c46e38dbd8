//! Links that send in bursts, compared with the formulas of the module and with links that do not.

use ecnlab_queue::{Bursts, Child, Datagram, Limit, QueueConfig, Registry, VirtualLink};
use ecnlab_units::{Ecn, Rate, Rng, Span, Time};
use proptest::prelude::*;
use proptest::sample::select;

const DELAY: Span = Span::from_millis(3);

type Arrivals = Vec<(Time, u32)>;
/// Times at which packets begin to leave, with their number and size.
type Departures = Vec<(Time, usize, u32)>;

fn queue(discipline: &str, aqm: &str, limit: Limit) -> QueueConfig {
    let registry = Registry::builtin();
    registry.queue_config(discipline, &[], Child::Aqm { aqm: registry.aqm_config(aqm, &[]).unwrap(), limit }).unwrap()
}

fn plain_queue() -> QueueConfig {
    queue("fifo", "droptail", Limit::Packets(1_000_000))
}

fn rate(bps: u64) -> Rate {
    Rate::from_bps(bps).unwrap()
}

fn at(micros: u64) -> Time {
    Time::ZERO + Span::from_micros(micros)
}

/// What reaches the far end of a link, with its times of arrival there.
fn deliveries(config: &QueueConfig, rate: Rate, bursts: Option<Bursts>, arrivals: &[(Time, u32)]) -> Vec<(Time, usize, u32, Ecn)> {
    let link = VirtualLink::new(config, rate, DELAY, Rng::for_role(1, "bursts"));
    let mut link = if let Some(bursts) = bursts { link.with_bursts(bursts) } else { link };
    for (number, &(time, size)) in arrivals.iter().enumerate() {
        link.enqueue(time, Datagram { payload: number, size, ecn: Ecn::Ect0, flow: number as u64 % 3 });
    }
    let mut deliveries = Vec::new();
    let last = arrivals.last().map_or(Time::ZERO, |(time, _)| *time);
    while let Some(due) = link.next_event() {
        while let Some((time, packet)) = link.poll(due.max(last)) {
            deliveries.push((time, packet.payload, packet.size, packet.ecn));
        }
    }
    link.counters().assert_conservation(0, 0);
    deliveries
}

/// Begins of transmissions on a plain link whose packets take whole picoseconds.
fn departures(bps: u64, bursts: Bursts, arrivals: &[(Time, u32)]) -> Departures {
    let began = |(time, number, size, _): (Time, usize, u32, Ecn)| {
        (Time::from_picos((time - DELAY).picos() - rate(bps).transmission_time(size).picos()), number, size)
    };
    deliveries(&plain_queue(), rate(bps), Some(bursts), arrivals).into_iter().map(began).collect()
}

fn at_once(packets: usize, size: u32) -> Arrivals {
    vec![(Time::ZERO, size); packets]
}

#[test]
fn a_packet_that_finds_the_link_idle_leaves_at_the_next_slot() {
    let bursts = Bursts { period: Span::from_millis(4), aggregate: Some(Limit::Packets(2)) };
    // 1000 bytes at 8 Mbps take 1 ms; each packet is gone before the next arrives.
    let arrivals: Vec<(Time, u32)> = [0, 9_000, 16_000, 20_001, 31_999].map(|micros| (at(micros), 1000)).into();
    let times: Vec<Time> = departures(8_000_000, bursts, &arrivals).into_iter().map(|(time, ..)| time).collect();
    assert_eq!([0, 12_000, 16_000, 24_000, 32_000].map(at).to_vec(), times);
    // Evenly spread arrivals wait for half a period on average: here 0.5, 1.5, 2.5 and 3.5 ms after a slot.
    let spread: Vec<(Time, u32)> = (0..400).map(|number| (at(number * 41_000 + 500), 1000)).collect();
    let waits: u64 =
        departures(8_000_000, bursts, &spread).iter().zip(&spread).map(|((left, ..), (came, _))| left.since(*came).picos()).sum();
    assert_eq!(Span::from_millis(2).picos(), waits / 400);
}

#[test]
fn a_slot_sends_no_more_than_its_aggregate_back_to_back() {
    let bursts = Bursts { period: Span::from_millis(4), aggregate: Some(Limit::Packets(3)) };
    let expected: Vec<Time> = (0..10).map(|number| at(number / 3 * 4_000 + number % 3 * 1_000)).collect();
    let times: Vec<Time> = departures(8_000_000, bursts, &at_once(10, 1000)).into_iter().map(|(time, ..)| time).collect();
    assert_eq!(expected, times);
}

#[test]
fn a_burst_longer_than_the_period_delays_the_next_to_a_whole_number_of_periods() {
    // Six packets take 6 ms, so each burst has two of the periods of 4 ms.
    let bursts = Bursts { period: Span::from_millis(4), aggregate: Some(Limit::Packets(6)) };
    let times: Vec<Time> = departures(8_000_000, bursts, &at_once(18, 1000)).into_iter().map(|(time, ..)| time).collect();
    assert_eq!((0..18).map(|number| at(number / 6 * 8_000 + number % 6 * 1_000)).collect::<Vec<_>>(), times);
}

#[test]
fn a_packet_that_arrives_during_a_burst_joins_it_and_one_that_arrives_after_it_waits() {
    let bursts = Bursts { period: Span::from_millis(4), aggregate: Some(Limit::Packets(3)) };
    let arrivals = [(at(0), 1000), (at(500), 1000), (at(2_500), 1000), (at(2_600), 1000)];
    let times: Vec<Time> = departures(8_000_000, bursts, &arrivals).into_iter().map(|(time, ..)| time).collect();
    assert_eq!([0, 1_000, 4_000, 5_000].map(at).to_vec(), times);
}

#[test]
fn bytes_beyond_the_aggregate_come_off_the_next_slots() {
    // Begins of packets of 1000 bytes, in slots of 10 ms, by hand: the allowances of slots 0, 1, 2 ... follow from the excess.
    let slots = |bytes, packets| {
        let bursts = Bursts { period: Span::from_millis(10), aggregate: Some(Limit::Bytes(bytes)) };
        let times = departures(8_000_000, bursts, &at_once(packets, 1000)).into_iter();
        times.map(|(time, ..)| time.picos() / Span::from_millis(10).picos()).collect::<Vec<u64>>()
    };
    assert_eq!(vec![0, 0, 0, 1, 1, 2, 2, 2, 3, 3], slots(2500, 10), "2500: three packets, 2000: two");
    assert_eq!(vec![0, 0, 1, 1, 2, 2], slots(2000, 6));
    assert_eq!(vec![0, 2, 5, 7, 10], slots(400, 5), "a packet has 2.5 slots: allowances of 400, 200, 400, 200 and 400 bytes");
}

#[test]
fn an_aggregate_of_bytes_is_the_mean_of_the_slots_for_packets_of_any_size() {
    let mut rng = Rng::for_role(1, "sizes");
    for (bytes, period_ms) in [(5_000, 7), (1_500, 3), (777, 3), (64_000, 66)] {
        let arrivals: Vec<(Time, u32)> = (0..3_000).map(|_| (Time::ZERO, 40 + rng.below(1_461) as u32)).collect();
        let bursts = Bursts { period: Span::from_millis(period_ms), aggregate: Some(Limit::Bytes(bytes)) };
        let left = departures(8_000_000, bursts, &arrivals);
        let mut sent = 0;
        let mut slot = 0;
        for (time, _, size) in left {
            let now = time.picos() / bursts.period.picos();
            // All slots before have used their aggregates, and no packet begins once that of this slot is used.
            assert!(now == slot || sent >= now * bytes, "{bytes}: {sent} bytes before slot {now}");
            assert!(sent < (now + 1) * bytes, "{bytes}: slot {now} began a packet after {sent} bytes");
            (slot, sent) = (now, sent + u64::from(size));
        }
    }
}

#[test]
fn without_an_aggregate_a_busy_period_is_that_of_a_plain_link_after_the_slot() {
    let mut rng = Rng::for_role(2, "arrivals");
    let mut time = Time::ZERO;
    let arrivals: Vec<(Time, u32)> = (0..2_000)
        .map(|_| {
            time += Span::from_micros(rng.below(2_100));
            (time, 1000)
        })
        .collect();
    let period = Span::from_millis(4);
    let left = departures(8_000_000, Bursts { period, aggregate: None }, &arrivals);
    let mut free = Time::ZERO;
    for (&(came, size), (left, _, sent)) in arrivals.iter().zip(left) {
        // Lindley's recursion, where a packet that finds the link idle waits for the slot; one that arrives as it becomes idle does too.
        let begins = if came < free { free } else { Time::from_picos(came.picos().div_ceil(period.picos()) * period.picos()) };
        assert_eq!((begins.max(free), size), (left, sent));
        free = left + Span::from_millis(1);
    }
}

/// Random arrivals: bursts and pauses.
fn arrivals() -> impl Strategy<Value = Arrivals> {
    let gap = prop_oneof![2 => Just(0u64), 3 => 0u64..3_000_000_000, 1 => 0u64..60_000_000_000];
    prop::collection::vec((gap, select(vec![40u32, 333, 1000, 1500])), 1..300).prop_map(|steps| {
        let mut time = Time::ZERO;
        steps
            .into_iter()
            .map(|(gap, size)| {
                time += Span::from_picos(gap);
                (time, size)
            })
            .collect()
    })
}

fn aggregates() -> impl Strategy<Value = Option<Limit>> {
    prop_oneof![
        Just(None),
        (1u32..40).prop_map(|packets| Some(Limit::Packets(packets))),
        (1u64..60_000).prop_map(|bytes| Some(Limit::Bytes(bytes)))
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// The aggregate is in packets or off: bytes in excess come off the next slots even where these are a picosecond apart.
    #[test]
    fn with_slots_a_picosecond_apart_a_link_is_one_without_bursts(
        arrivals in arrivals(), packets in prop::option::of(1u32..40), bps in select(vec![8_000_000u64, 7_300_007, 1_000_000_000]),
        (discipline, aqm) in select(vec![("fifo", "droptail"), ("fifo", "codel"), ("fq", "codel"), ("fifo", "pie"), ("drr", "ecn")]),
    ) {
        let config = queue(discipline, aqm, Limit::Packets(60));
        let bursts = Bursts { period: Span::from_picos(1), aggregate: packets.map(Limit::Packets) };
        prop_assert_eq!(deliveries(&config, rate(bps), None, &arrivals), deliveries(&config, rate(bps), Some(bursts), &arrivals));
    }

    /// Order, whole packets, the wait for the slot, and the limit of each burst.
    #[test]
    fn every_packet_is_sent_once_in_order_within_the_aggregate_of_its_burst(
        arrivals in arrivals(), aggregate in aggregates(), period_us in 1u64..20_000,
    ) {
        let bursts = Bursts { period: Span::from_micros(period_us), aggregate };
        let left = departures(8_000_000, bursts, &arrivals);
        prop_assert_eq!(arrivals.len(), left.len());
        let (mut free, mut sent, mut sent_bytes) = (None, 0, 0);
        for (expected, (&(came, size), &(begins, number, left_size))) in arrivals.iter().zip(&left).enumerate() {
            prop_assert_eq!((expected, size), (number, left_size));
            prop_assert!(begins >= came && free.is_none_or(|free| begins >= free));
            let is_slot = begins.picos() % bursts.period.picos() == 0;
            let is_used_up = match aggregate {
                None => false,
                Some(Limit::Packets(packets)) => sent >= packets,
                Some(Limit::Bytes(bytes)) => sent_bytes >= bytes,
            };
            let begins_burst = is_used_up || free.is_none_or(|free| begins > free);
            prop_assert!(is_slot || !begins_burst, "packet {} begins a burst beside a slot", number);
            // A slot that coincides with the end of a transmission may also begin one after a smaller allowance of bytes.
            if begins_burst || is_slot && matches!(aggregate, Some(Limit::Bytes(_))) {
                (sent, sent_bytes) = (0, 0);
            }
            (sent, sent_bytes) = (sent + 1, sent_bytes + u64::from(size));
            free = Some(begins + rate(8_000_000).transmission_time(size));
        }
    }
}
