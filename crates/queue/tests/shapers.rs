//! Shapers before a link of their own clock: what a token bucket lets pass and when, to the picosecond, and the rate of a bounded class.

use ecnlab_queue::{Child, DequeueOutcome, Discipline, DisciplineEntry, Limit, Queue, QueueConfig, QueueEvent, Registry};
use ecnlab_testkit::Packet;
use ecnlab_units::{Ecn, Rate, Rng, Span, Time, Values};
use proptest::prelude::*;

fn not_ect_packet(number: u32, size: u32) -> Packet {
    Packet { number: u64::from(number), size, ecn: Ecn::NotEct, ..Packet::ECT0_1000_BYTES }
}

/// A packet that began its transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SentPacket {
    at: Time,
    sojourn: Span,
    packet: Packet,
}

fn mbps(rate: u64) -> Rate {
    Rate::from_bps(rate * 1_000_000).unwrap()
}

fn discipline(name: &str) -> &'static DisciplineEntry {
    Registry::builtin().discipline(name).unwrap()
}

/// A discipline of this name and these values around another composition.
fn shaper(name: &str, values: &[(&str, &str)], inner: QueueConfig) -> QueueConfig {
    let discipline = discipline(name);
    let mut read = Values::defaults(discipline.parameters);
    values.iter().for_each(|(name, text)| read.set_from_text(name, text).unwrap());
    QueueConfig { discipline, values: read, child: Child::Queue(Box::new(inner)) }
}

fn droptail(packets: u32) -> QueueConfig {
    let entry = Registry::builtin().aqm("droptail").unwrap();
    QueueConfig::fifo(entry, Values::defaults(entry.parameters), Limit::Packets(packets))
}

/// A link that dequeues as the engine does: at an arrival while idle, after a transmission, and at a retry time.
struct Link {
    queue: Queue<Packet>,
    rate: Rate,
    now: Time,
    transmitting: bool,
    wake: Option<Time>,
    sent: Vec<SentPacket>,
    dropped: u32,
    rng: Rng,
}

impl Link {
    fn new(of: &QueueConfig, rate: Rate) -> Link {
        let rng = Rng::for_role(1, "link");
        Link { queue: of.build(rate), rate, now: Time::ZERO, transmitting: false, wake: None, sent: Vec::new(), dropped: 0, rng }
    }

    fn enqueue(&mut self, at: Time, packet: Packet) {
        self.run_until(at);
        let dropped = &mut self.dropped;
        self.queue.enqueue(packet, at, &mut self.rng, &mut |event| {
            assert!(!matches!(event, QueueEvent::Marked(..)), "a packet is marked that is not ECN-capable");
            *dropped += u32::from(matches!(event, QueueEvent::Dropped(..)));
        });
        if !self.transmitting {
            self.poll_queue();
        }
        self.queue.assert_conservation();
    }

    /// Lets the link work until this time, what happens then not included.
    fn run_until(&mut self, time: Time) {
        while let Some(wake) = self.wake.filter(|&wake| wake < time) {
            self.now = wake;
            self.transmitting = false;
            self.poll_queue();
            self.queue.assert_conservation();
        }
        self.now = time;
    }

    fn poll_queue(&mut self) {
        match self.queue.dequeue(self.now, &mut self.rng, &mut |event| panic!("nothing is done at departures here: {event:?}")) {
            DequeueOutcome::Packet { packet, sojourn, .. } => {
                self.sent.push(SentPacket { at: self.now, sojourn, packet });
                self.transmitting = true;
                self.wake = Some(self.now + self.rate.transmission_time(packet.size));
            }
            DequeueOutcome::RetryAt(time) => {
                assert!(time > self.now, "a queue that is asked again at once lets time stand still");
                assert!(!self.queue.is_empty(), "a queue that has nothing is empty, not late");
                self.wake = Some(time);
            }
            DequeueOutcome::Empty => {
                assert!(self.queue.is_empty(), "a queue that says it is empty is");
                self.wake = None;
            }
        }
    }

    fn bytes(&self) -> u64 {
        self.sent.iter().map(|sent| u64::from(sent.packet.size)).sum()
    }
}

/// Packets that leave in so many seconds while the queue is never empty.
fn run_saturated(of: &QueueConfig, link: Rate, sizes: &[u32], seconds: u64) -> Vec<SentPacket> {
    let mut link = Link::new(of, link);
    let end = Time::ZERO + Span::from_secs(seconds);
    for (number, &size) in (0..).zip(sizes.iter().cycle()) {
        if link.now >= end {
            break;
        }
        while link.queue.len() > 40 {
            link.run_until(link.wake.unwrap() + Span::from_picos(1));
        }
        link.enqueue(link.now, not_ect_packet(number, size));
    }
    link.sent.retain(|sent| sent.at < end);
    link.sent
}

fn rate_of(sent: &[SentPacket], from: Time) -> f64 {
    let counted: Vec<&SentPacket> = sent.iter().filter(|sent| sent.at >= from).collect();
    let (first, last) = (counted[0], counted[counted.len() - 1]);
    let bytes: u64 = counted[..counted.len() - 1].iter().map(|sent| u64::from(sent.packet.size)).sum();
    bytes as f64 * 8.0 / last.at.since(first.at).seconds()
}

#[test]
fn a_burst_passes_at_the_links_rate_and_the_rest_at_the_buckets() {
    let of = shaper("tbf", &[("rate", "1 Mbps"), ("burst", "5000 B")], droptail(100));
    let sent = run_saturated(&of, mbps(10), &[1000], 1);
    let link_time = Span::from_micros(800);
    // Five packets of tokens; while they leave, 3.2 ms at 1 Mbps bring 400 bytes more; then 1000 bytes take 8 ms.
    for (n, sent) in (0..5).zip(&sent) {
        assert_eq!(Time::ZERO + link_time * n, sent.at);
    }
    for (n, sent) in (1..).zip(&sent[5..]) {
        assert_eq!(Time::ZERO + Span::from_millis(8) * n, sent.at);
    }
}

#[test]
fn over_ten_seconds_a_token_buckets_rate_is_exact_to_the_packet() {
    // 1.5 Mbps and 7 Mbps make fractions of a picosecond of most sizes.
    for (rate, bps, sizes) in [("1.5 Mbps", 1_500_000, &[1000][..]), ("7 Mbps", 7_000_000, &[40, 1500, 577]), ("9999 bps", 9_999, &[64])] {
        let of = shaper("tbf", &[("rate", rate), ("burst", "1500 B")], droptail(100));
        let bytes: u64 = run_saturated(&of, mbps(10), sizes, 10).iter().map(|sent| u64::from(sent.packet.size)).sum();
        let allowed = 1500 + bps * 10 / 8;
        let largest = u64::from(*sizes.iter().max().unwrap());
        assert!(bytes <= allowed && bytes + largest > allowed, "{rate}: {bytes} bytes left, {allowed} might");
    }
}

#[test]
fn a_peak_rate_paces_the_burst() {
    let of = shaper("tbf", &[("rate", "1 Mbps"), ("burst", "10 KB"), ("peakrate", "4 Mbps"), ("mtu", "1000 B")], droptail(100));
    let sent = run_saturated(&of, mbps(10), &[1000], 1);
    // At the peak rate 2 ms a packet; the bucket of 10 packets empties at 4 - 1 Mbps, after 13 packets and 26 ms.
    for (n, sent) in (0..13).zip(&sent) {
        assert_eq!(Time::ZERO + Span::from_millis(2) * n, sent.at);
    }
    assert_eq!(Time::ZERO + Span::from_millis(32), sent[13].at);
}

#[test]
fn a_packet_larger_than_the_bucket_waits_for_its_own_size_of_tokens() {
    let of = shaper("tbf", &[("rate", "1 Mbps"), ("burst", "500 B")], droptail(100));
    let sent = run_saturated(&of, mbps(10), &[1000], 1);
    // 500 bytes of tokens are there, 500 more take 4 ms; from then on 8 ms a packet.
    for (n, sent) in (0..).zip(&sent) {
        assert_eq!(Time::ZERO + Span::from_millis(4) + Span::from_millis(8) * n, sent.at);
    }
    assert_eq!(125, sent.len());
}

#[test]
fn a_packet_that_waits_for_tokens_is_counted_as_waiting() {
    let of = shaper("tbf", &[("rate", "1 Mbps"), ("burst", "1000 B")], droptail(2));
    let mut link = Link::new(&of, mbps(10));
    for number in 0..5 {
        link.enqueue(Time::ZERO + Span::from_millis(u64::from(number)), not_ect_packet(number, 1000));
    }
    // One is in transmission, one waits for tokens, two fill the buffer, one was dropped.
    assert_eq!((1, 3, 3000, 1), (link.sent.len(), link.queue.len(), link.queue.bytes(), link.dropped));
    let total = link.queue.total_counters();
    assert_eq!((5, 1, 1), (total.arrived.packets, total.departed.packets, total.dropped_packets()));
    let mut waiting = Vec::new();
    link.queue.for_each_packet(&mut |packet| waiting.push(packet.number));
    assert_eq!(vec![1, 2, 3], waiting);
    link.run_until(Time::ZERO + Span::from_secs(1));
    let waits: Vec<Span> = link.sent.iter().map(|sent| sent.sojourn).collect();
    assert_eq!([0, 7, 14, 21].map(Span::from_millis).to_vec(), waits);
}

#[test]
fn shapers_inside_each_other_hold_to_the_slowest() {
    let inner = shaper("tbf", &[("rate", "1 Mbps"), ("burst", "1000 B")], droptail(100));
    let outer = shaper("tbf", &[("rate", "2 Mbps"), ("burst", "5000 B")], inner);
    let swapped =
        shaper("tbf", &[("rate", "1 Mbps"), ("burst", "1000 B")], shaper("cbq", &[("rate", "2 Mbps"), ("maxburst", "1")], droptail(100)));
    for of in [outer, swapped] {
        let sent = run_saturated(&of, mbps(10), &[1000], 10);
        assert_eq!(1250, sent.len(), "10 s at 8 ms a packet, in {of:?}");
    }
}

#[test]
fn a_bounded_class_lets_a_burst_pass_and_holds_its_rate_from_then_on() {
    let of = shaper("cbq", &[("rate", "1.5 Mbps"), ("maxburst", "20")], droptail(100));
    let sent = run_saturated(&of, mbps(10), &[1000], 100);
    let back_to_back = sent.windows(2).take_while(|pair| pair[1].at.since(pair[0].at) == Span::from_micros(800)).count() + 1;
    assert!((20..=22).contains(&back_to_back), "{back_to_back} packets left at once");
    let rate = rate_of(&sent, Time::ZERO + Span::from_secs(1));
    assert!((rate / 1_500_000.0 - 1.0).abs() < 1e-6, "{rate} bps after the burst");
}

/// Sizes that differ make idle times that do, and now and then an average above zero, at which packets leave at once: what they overdraw is
/// forgiven when the class waits again. So its rate is a little more than allotted.
#[test]
fn a_bounded_class_of_mixed_sizes_is_a_little_above_its_rate() {
    let of = shaper("cbq", &[("rate", "1.5 Mbps"), ("avpkt", "700 B")], droptail(100));
    let sent = run_saturated(&of, mbps(10), &[1500, 40, 576, 1000], 100);
    let rate = rate_of(&sent, Time::ZERO + Span::from_secs(10));
    assert!((1.0..1.03).contains(&(rate / 1_500_000.0)), "{rate} bps after the burst");
}

/// A wait of D + offtime is followed by bursts of m + 1, where D is the difference of a packet's time at the class's rate and on the link.
/// The first packet's idle time of offtime raises the average, and m more packets lower it to zero or below. offtime is a little more than
/// m D.
#[test]
fn bursts_after_each_wait_cost_a_bounded_class_some_of_its_rate() {
    for (minburst, of_rate) in [(2, 0.991), (3, 0.980), (5, 0.955), (10, 0.891)] {
        let of = shaper("cbq", &[("rate", "1.5 Mbps"), ("minburst", &minburst.to_string())], droptail(100));
        let sent = run_saturated(&of, mbps(10), &[1000], 100);
        let rate = rate_of(&sent, Time::ZERO + Span::from_secs(10));
        let (on_link, at_rate, g) = (8e-4, 8e3 / 1.5e6, 31.0f64 / 32.0);
        let d = at_rate - on_link;
        let offtime = d * (1.0 + 32.0 * (g.powi(1 - minburst) - 1.0));
        let packets = f64::from(minburst + 1);
        let expected = packets * 8000.0 / (d + offtime + packets * on_link);
        assert!((rate / expected - 1.0).abs() < 1e-3, "minburst {minburst}: {rate} bps where {expected} is expected");
        assert!((rate / 1_500_000.0 - of_rate).abs() < 0.001, "minburst {minburst}: {rate} bps is not {of_rate} of 1.5 Mbps");
    }
}

#[test]
fn a_class_above_the_links_rate_shapes_nothing() {
    let of = shaper("cbq", &[("rate", "20 Mbps"), ("minburst", "3")], droptail(100));
    let sent = run_saturated(&of, mbps(10), &[1000], 1);
    assert_eq!(1250, sent.len());
}

/// When a packet of these tokens may leave by every window of the past: the least time at which no window has let out more than
/// burst + rate t.
fn earliest_departure(sent: &[SentPacket], at_least: Time, bytes: u64, bps: u64, burst: u64) -> Time {
    const BYTE: u128 = 8_000_000_000_000;
    let (mut sum, mut earliest_departure) = (u128::from(bytes), at_least);
    for sent in sent.iter().rev() {
        sum += u128::from(sent.packet.size);
        let missing = (sum * BYTE).saturating_sub(u128::from(burst) * BYTE);
        earliest_departure = earliest_departure.max(sent.at + Span::from_picos(missing.div_ceil(u128::from(bps)) as u64));
    }
    earliest_departure
}

fn arrivals() -> impl Strategy<Value = Vec<(u64, u32)>> {
    let gap = prop_oneof![3 => 0u64..2_000, 1 => 0u64..60_000];
    prop::collection::vec((gap, 1u32..=1500), 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_packet_leaves_as_soon_as_no_window_would_hold_too_much_and_no_sooner(
        arrivals in arrivals(), bps in 9_000u64..20_000_000, burst in 1500u64..10_000, peak in any::<bool>()
    ) {
        let (rate, bytes) = (format!("{bps} bps"), format!("{burst} B"));
        let mut values = vec![("rate", rate.as_str()), ("burst", bytes.as_str())];
        if peak {
            values.extend([("peakrate", "25 Mbps"), ("mtu", "1500 B")]);
        }
        let mut link = Link::new(&shaper("tbf", &values, droptail(1000)), mbps(100));
        let mut came = Vec::new();
        let mut now = Time::ZERO;
        for (number, (gap, size)) in (0..).zip(arrivals) {
            now += Span::from_micros(gap);
            came.push(now);
            link.enqueue(now, not_ect_packet(number, size));
        }
        link.run_until(Time::NEVER);
        prop_assert_eq!(came.len(), link.sent.len());
        for (n, sent) in link.sent.iter().enumerate() {
            let (past, size) = (&link.sent[..n], u64::from(sent.packet.size));
            let free = past.last().map_or(Time::ZERO, |last| last.at + mbps(100).transmission_time(last.packet.size));
            let mut expected = earliest_departure(past, came[n].max(free), size, bps, burst);
            if peak {
                expected = expected.max(earliest_departure(past, Time::ZERO, size, 25_000_000, 1500));
            }
            prop_assert_eq!(expected, sent.at, "packet {}", n);
            prop_assert_eq!(sent.at.since(came[n]), sent.sojourn, "how long packet {} says that it waited", n);
            prop_assert_eq!(n as u64, sent.packet.number);
        }
    }

    #[test]
    fn a_bounded_class_loses_nothing_and_sends_what_it_has(arrivals in arrivals(), bps in 100_000u64..20_000_000, minburst in 0u32..4) {
        let (rate, minburst) = (format!("{bps} bps"), minburst.to_string());
        let mut link = Link::new(&shaper("cbq", &[("rate", &rate), ("minburst", &minburst)], droptail(1000)), mbps(10));
        let (mut now, mut bytes) = (Time::ZERO, 0);
        for (number, &(gap, size)) in (0..).zip(&arrivals) {
            now += Span::from_micros(gap);
            bytes += u64::from(size);
            link.enqueue(now, not_ect_packet(number, size));
        }
        link.run_until(now + Span::from_secs(600));
        prop_assert_eq!((arrivals.len(), bytes), (link.sent.len(), link.bytes()));
        prop_assert!(link.queue.is_empty());
    }
}
