//! Random processing time of senders: its rule, which is that of ns-2's `overhead_`, and its removal of phase effects.

mod reading;

use ecnlab_scenario::Scenario;
use ecnlab_sim::{Probe, Run, RunTimesAndSeed, Simulation};
use ecnlab_transport::{Ack, Segment};
use ecnlab_units::{Span, Time};

/// Network of Floyd and Jacobson 1992: two connections through a drop-tail gateway, whose packets take 10 ms each at the bottleneck. The
/// RTT of the second is slightly longer than that of the first.
const TWO_FLOWS: &str = r#"name = "two flows"
duration = "100 s"
measure_from = "50 s"

[[link]]
name = "bottleneck"
from = "gateway"
to = "sink"
rate = "800 kbps"
delay = "100 ms"
queue = { aqm = "droptail", limit = 15 }

[[flows]]
name = "one"
to = "sink"
access = { to = "gateway", rate = "8 Mbps", delay = "5 ms" }
tcp = { profile = "ns2", variant = "tahoe", handshake = "none", max_rwnd = 32 }

[[flows]]
name = "two"
to = "sink"
access = { to = "gateway", rate = "8 Mbps", delay = "5 ms" }
tcp = { profile = "ns2", variant = "tahoe", handshake = "none", max_rwnd = 32 }
start = "1.3 s"
"#;

/// One flow that sends a packet per ACK, over the same bottleneck.
const ONE_PACKET: &str = r#"name = "one packet in flight"
duration = "200 s"

[[link]]
name = "bottleneck"
from = "gateway"
to = "sink"
rate = "800 kbps"
delay = "10 ms"
queue = { aqm = "droptail", limit = 15 }

[[flows]]
name = "one"
from = "gateway"
to = "sink"
tcp = { profile = "ns2", handshake = "none", max_rwnd = 1 }
"#;

/// Datagrams of 1000 bytes, one every 20 ms.
const DATAGRAMS: &str = r#"name = "datagrams"
duration = "100 s"

[[link]]
name = "bottleneck"
from = "gateway"
to = "sink"
rate = "800 kbps"
delay = "10 ms"
queue = { aqm = "droptail", limit = 15 }

[[flows]]
name = "one"
from = "gateway"
to = "sink"
udp = { packet_size = 1000, header = 0 }
app = { kind = "cbr", rate = "400 kbps" }
"#;

/// Send times of packets, arrival times of ACKs, and RTT samples.
#[derive(Default)]
struct SendTimes {
    sent: Vec<(Time, u64)>,
    acknowledged: Vec<Time>,
    round_trips: Vec<Span>,
}

impl Probe for SendTimes {
    fn on_segment_sent(&mut self, now: Time, _flow: u32, segment: &Segment) {
        self.sent.push((now, segment.seq));
    }

    fn on_ack_received(&mut self, now: Time, _flow: u32, _ack: &Ack) {
        self.acknowledged.push(now);
    }

    fn on_rtt_sample(&mut self, _now: Time, _group: u32, rtt: Span) {
        self.round_trips.push(rtt);
    }
}

fn scenario(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    reading::read(text, overrides).unwrap_or_else(|why| panic!("{why:?}"))
}

fn run(scenario: &Scenario, seed: u64) -> (Run, SendTimes) {
    let [duration, measure_from] = [scenario.duration, scenario.measure_from].map(|span| Time::ZERO + span);
    Simulation::new(&scenario.network, &RunTimesAndSeed { duration, measure_from, seed }, SendTimes::default()).finish()
}

fn millis(span: Span) -> f64 {
    span.seconds() * 1e3
}

/// Share of the first flow in the throughput, with this delay before the second.
fn share_after_jitter(delay: &str, jitter: &str, seed: u64) -> f64 {
    let changes = [("flows.two.access.delay", delay), ("processing_jitter", jitter)];
    let rates = run(&scenario(TWO_FLOWS, &changes), seed).0.report.column_as_reals("groups", "throughput_bps");
    rates[0] / (rates[0] + rates[1])
}

#[test]
fn it_ends_the_phase_effect_of_two_flows_at_a_drop_tail_gateway() {
    let delays: Vec<String> = (0..12).map(|half| format!("{} ms", 5.0 + 0.5 * f64::from(half))).collect();
    let locked: Vec<f64> = delays.iter().map(|delay| share_after_jitter(delay, "0 s", 1)).collect();
    let [smallest, largest] = [locked.iter().copied().fold(1.0, f64::min), locked.iter().copied().fold(0.0, f64::max)];
    assert!(smallest < 0.15 && largest > 0.85, "a millisecond of delay decides which flow gets the drops: {locked:?}");
    let smooth: Vec<f64> =
        delays.iter().map(|delay| (1..=4).map(|seed| share_after_jitter(delay, "packet", seed)).sum::<f64>() / 4.0).collect();
    assert!(smooth.iter().all(|share_after_jitter| (0.3..0.65).contains(share_after_jitter)), "{smooth:?}");
    assert!(smooth.windows(2).all(|pair| (pair[0] - pair[1]).abs() < 0.15), "{smooth:?}");
}

#[test]
fn packets_leave_after_a_uniform_time_below_that_of_one_packet_which_no_round_trip_time_includes() {
    let found = run(&scenario(ONE_PACKET, &[("processing_jitter", "packet")]), 1).1;
    let waits: Vec<f64> = found.acknowledged.iter().zip(&found.sent[1..]).map(|(ack, (sent, _))| millis(sent.since(*ack))).collect();
    let n = waits.len() as f64;
    assert!(n > 4000.0 && waits.iter().all(|wait| (0.0..10.0).contains(wait)));
    let mean = waits.iter().sum::<f64>() / n;
    assert!((mean - 5.0).abs() < 4.0 * (100.0 / 12.0 / n).sqrt(), "mean {mean} ms");
    let below = waits.iter().filter(|wait| **wait < 2.5).count() as f64 / n;
    assert!((below - 0.25).abs() < 4.0 * (0.25 * 0.75 / n).sqrt(), "a quarter of the waits is below a quarter of 10 ms, not {below}");
    let without = run(&scenario(ONE_PACKET, &[]), 1).1;
    assert!(without.round_trips.iter().zip(&found.round_trips).all(|(plain, rtt)| plain == rtt));
}

#[test]
fn datagrams_keep_order_number_and_rate() {
    let found = run(&scenario(DATAGRAMS, &[("processing_jitter", "packet")]), 1).1;
    let without = run(&scenario(DATAGRAMS, &[]), 1).1;
    assert!(found.sent.len() + 1 >= without.sent.len() && without.sent.len() > 4900);
    let waits: Vec<f64> = without.sent.iter().zip(&found.sent).map(|((plain, _), (sent, _))| millis(sent.since(*plain))).collect();
    assert!(waits.iter().all(|wait| (0.0..10.0).contains(wait)));
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    assert!((mean - 5.0).abs() < 0.2, "mean {mean} ms");
    assert!(found.sent.iter().map(|(_, seq)| *seq).eq(0..found.sent.len() as u64));
}

#[test]
fn it_is_the_same_for_a_seed_and_off_by_default() {
    let fingerprint = |jitter: &[(&str, &str)], seed| run(&scenario(TWO_FLOWS, jitter), seed).0.fingerprint;
    let packet = [("processing_jitter", "packet")];
    assert_eq!(fingerprint(&[], 1), fingerprint(&[("processing_jitter", "0 s")], 2));
    assert_ne!(fingerprint(&[], 1), fingerprint(&packet, 1));
    assert_ne!(fingerprint(&packet, 1), fingerprint(&packet, 2));
    assert_eq!(fingerprint(&packet, 1), fingerprint(&packet, 1));
    assert_eq!(
        fingerprint(&packet, 1),
        fingerprint(&[("processing_jitter", "10 ms")], 1),
        "a packet of 1000 bytes takes 10 ms at 800 kbit/s"
    );
    let slow_access = |jitter| fingerprint(&[("flows.*.access.rate", "400 kbps"), ("processing_jitter", jitter)], 1);
    assert_eq!(slow_access("packet"), slow_access("10 ms"), "the bottleneck is where the queue is");
    let no_queue = |jitter| {
        let text = TWO_FLOWS.replace("queue = { aqm = \"droptail\", limit = 15 }", "limit = 15").replace("8 Mbps", "400 kbps");
        run(&scenario(&text, &[("processing_jitter", jitter), ("duration", "60 s")]), 1).0.fingerprint
    };
    assert_eq!(no_queue("packet"), no_queue("20 ms"));
}

#[test]
fn a_processing_time_of_nearly_nothing_changes_nearly_nothing_with_any_recovery() {
    let lossy = ONE_PACKET.replace("800 kbps", "10 Mbps").replace("delay = \"10 ms\"", "delay = \"10 ms\"\nloss_every = 150");
    let variants = ["tahoe", "reno", "newreno", "sack1", "sack", "vegas", "cubic", "dctcp"];
    let hosts = ["ns2", "linux-2.2", "linux", "rfc"].into_iter().flat_map(|profile| variants.map(|variant| (profile, variant)));
    for (profile, variant) in hosts {
        for pacing in [false, true] {
            let tcp = format!("{{ profile = \"{profile}\", variant = \"{variant}\", max_rwnd = 100, pacing = {pacing} }}");
            let measured = |jitter: &str| {
                let changes = [("flows.one.tcp", tcp.as_str()), ("duration", "60 s"), ("processing_jitter", jitter)];
                let report = run(&scenario(&lossy, &changes), 1).0.report;
                ["goodput_bps", "timeouts"].map(|column| report.column_as_reals("flows", column)[0])
            };
            let ([plain, timeouts], [goodput, timeouts_with]) = (measured("0 s"), measured("1 ns"));
            let shown =
                format!("{profile} {variant} pacing {pacing}: {goodput} with, {plain} without; timeouts {timeouts_with}, {timeouts}");
            assert!((goodput / plain - 1.0).abs() < 0.1, "{shown}");
            assert!((timeouts_with - timeouts).abs() <= 5.0 + 0.1 * timeouts, "{shown}");
        }
    }
}

#[test]
fn every_flow_draws_from_a_stream_of_its_own() {
    let first = |text: &str, member: usize| {
        let found = run(&scenario(text, &[("processing_jitter", "packet"), ("duration", "3 s"), ("measure_from", "0 s")]), 1).1;
        found.sent.iter().filter(|(_, seq)| *seq == 0).nth(member).unwrap().0
    };
    let alone = &TWO_FLOWS[..TWO_FLOWS.rfind("[[flows]]").unwrap()];
    assert_eq!(first(alone, 0), first(TWO_FLOWS, 0), "another group shifts no draw");
    let start = Time::ZERO + Span::from_millis(1300);
    assert_ne!(first(TWO_FLOWS, 0).since(Time::ZERO), first(TWO_FLOWS, 1).since(start));
}

#[test]
fn what_it_may_be_is_said() {
    let refused = |jitter: &str| {
        let problems = reading::read(TWO_FLOWS, &[("processing_jitter", jitter)]).unwrap_err();
        problems.into_iter().map(|problem| format!("{}: {}", problem.place, problem.message)).collect::<Vec<_>>().join("; ")
    };
    let wrong = refused("packets");
    assert!(wrong.starts_with("processing_jitter: ") && wrong.ends_with(", or packet"), "{wrong}");
    assert!(refused("2 h").contains("0 s .. 3600 s"), "{}", refused("2 h"));
}
