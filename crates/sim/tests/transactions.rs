//! Traffic of finite transfers: data read by the application, completion times, and the start of the next transfer.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use std::sync::Arc;

use common::{options, pipe, run_off, run_with};
use ecnlab_sim::impairment::{IMPAIRMENT_KINDS, Impairment};
use ecnlab_sim::{FlowSpec, ImpairmentSpec, Network, Packet, PacketId, Probe, RowPolicy, Run, RunTimesAndSeed};
use ecnlab_transport::application::{ConnectionReuse, GapDistribution, Traffic, TransactionsSettings};
use ecnlab_transport::{Ack, AppWrite, Quirks, Segment, TcpSettings, Transport, profile};
use ecnlab_units::{Span, Time, Values};

const RTT: Span = Span::from_millis(40);

fn transactions(bytes: u64, count: u64, connection: ConnectionReuse) -> TransactionsSettings {
    TransactionsSettings { bytes, gap: Span::from_secs(1), gap_distribution: GapDistribution::Fixed, count, connection }
}

fn traffic(plan: TransactionsSettings) -> Traffic {
    Traffic::Application(Arc::new(plan))
}

fn tcp_settings() -> TcpSettings {
    TcpSettings {
        packet_size: 1000,
        quirks: Quirks { header_size: 40, ack_size: 40, ..profile::quirks("ns2") },
        ..profile::tcp_settings_of("ns2")
    }
}

/// One flow over a link of 100 Mbps and 20 ms each way.
fn network(tcp: TcpSettings, traffic: Traffic) -> Network {
    let flow = FlowSpec {
        group: 0,
        member: 0,
        forward: vec![0],
        back: vec![1],
        transport: Transport::Tcp(Arc::new(tcp)),
        initial_write: None,
        start: Time::ZERO,
        clock_phase: Some(Span::ZERO),
        row_policy: RowPolicy::OwnRow,
    };
    let mut network = Network { links: vec![pipe(100_000, 20_000, 1_000); 2], groups: vec!["all".into()], ..Network::default() };
    network.add_flow_with_traffic(flow, &traffic);
    network
}

fn flow_column(run: &Run, column: &str) -> f64 {
    run.report.column_as_reals("flows", column)[0]
}

/// Times at which segment 0 was sent, for each connection, and the number of all segments.
#[derive(Default)]
struct SegmentTimes {
    openings: Vec<Time>,
    sent: Vec<(Time, u64)>,
    acks: Vec<Time>,
    received: u64,
}

impl Probe for SegmentTimes {
    fn on_segment_sent(&mut self, now: Time, _flow: u32, segment: &Segment) {
        if segment.seq == 0 {
            self.openings.push(now);
        }
        self.sent.push((now, segment.seq));
    }

    fn on_segment_received(&mut self, _now: Time, _flow: u32, _segment: &Segment) {
        self.received += 1;
    }

    fn on_ack_received(&mut self, now: Time, _flow: u32, _ack: &Ack) {
        self.acks.push(now);
    }
}

#[test]
fn goodput_counts_the_bytes_that_the_application_sent() {
    for bytes in [1, 959, 960, 961, 100_001] {
        let run = run_off(&network(tcp_settings(), Traffic::Once(AppWrite::then_close(bytes))), &options(8, 1));
        assert_eq!([bytes as f64; 2], [flow_column(&run, "goodput_bps"), flow_column(&run, "goodput_first_bps")], "{bytes}");
        assert_eq!(1.0, flow_column(&run, "transactions"));
        assert!((flow_column(&run, "completion_s") - flow_column(&run, "transaction_mean_s")).abs() < 1e-9);
    }
}

#[test]
fn the_gap_begins_when_all_is_acknowledged() {
    for connection in [ConnectionReuse::New, ConnectionReuse::Keep] {
        let (run, tape) =
            run_with(&network(tcp_settings(), traffic(transactions(500, 3, connection))), &options(10, 1), SegmentTimes::default());
        assert_eq!(3.0, flow_column(&run, "transactions"), "{connection:?}");
        let opens = if connection == ConnectionReuse::New { 3 } else { 1 };
        assert_eq!(opens, tape.openings.len(), "{connection:?}");
        // A transfer is one segment, plus a SYN if the connection is new.
        let starts: Vec<Time> = match connection {
            ConnectionReuse::New => tape.openings,
            ConnectionReuse::Keep => [0, 2, 3].map(|at| tape.sent[at].0).to_vec(),
        };
        let ends = if connection == ConnectionReuse::New { [1, 3] } else { [1, 2] };
        assert_eq!(ends.map(|at| tape.acks[at] + Span::from_secs(1)).to_vec(), starts[1..], "{connection:?}");
        let completion = (tape.acks[tape.acks.len() - 1]).seconds();
        assert_eq!(completion, flow_column(&run, "completion_s"), "{connection:?}");
    }
}

#[test]
fn a_new_connection_costs_one_rtt_more_than_a_reused_one() {
    let mean = |connection| {
        flow_column(&run_off(&network(tcp_settings(), traffic(transactions(500, 100, connection))), &options(200, 1)), "transaction_mean_s")
    };
    let (new, kept) = (mean(ConnectionReuse::New), mean(ConnectionReuse::Keep));
    assert!((new - 2.0 * RTT.seconds()).abs() < 0.001, "{new}");
    assert!((kept - RTT.seconds() * 1.01).abs() < 0.001, "{kept}");
}

#[test]
fn counters_continue_over_connections() {
    let run = run_off(&network(tcp_settings(), traffic(transactions(2_000, 5, ConnectionReuse::New))), &options(20, 1));
    assert_eq!([5.0 * 4.0, 5.0 * 2_000.0 * 8.0 / 20.0], [flow_column(&run, "sent"), flow_column(&run, "goodput_bps")]);
    assert!((flow_column(&run, "rtt_min_s") - RTT.seconds()).abs() < 0.001);
}

#[test]
fn a_gap_is_not_a_lockout() {
    let long = TransactionsSettings { gap: Span::from_secs(5), ..transactions(2_000, 0, ConnectionReuse::Keep) };
    let run = run_off(&network(tcp_settings(), traffic(long)), &options(23, 1));
    assert_eq!([0.0, 5.0], [flow_column(&run, "lockouts"), flow_column(&run, "transactions")]);
    assert!(flow_column(&run, "completion_s").is_nan(), "a source without an end has no completion");
}

#[test]
fn transfers_count_in_the_interval_of_their_end() {
    let network = network(tcp_settings(), traffic(transactions(500, 0, ConnectionReuse::Keep)));
    let later = RunTimesAndSeed { measure_from: Time::ZERO + Span::from_millis(1_100), ..options(4, 1) };
    let [all, some] = [options(4, 1), later].map(|options| flow_column(&run_off(&network, &options), "transactions"));
    assert_eq!([4.0, 3.0], [all, some]);
}

/// The sender's timer, the delayed ACK and the packets of a closed connection have no effect.
#[test]
fn packets_of_an_earlier_connection_are_discarded() {
    // An RTO below the RTT, so that each connection's first segments are retransmitted.
    let hasty = TcpSettings {
        delayed_ack: true,
        delayed_ack_time: Span::from_millis(200),
        rto_min: Span::from_millis(1),
        rto_initial: Span::from_millis(15),
        quirks: Quirks { tick: Span::from_millis(1), rto_max: Span::from_millis(100), ..tcp_settings().quirks },
        ..tcp_settings()
    };
    let mut network = network(hasty, traffic(TransactionsSettings { gap: Span::ZERO, ..transactions(5_000, 0, ConnectionReuse::New) }));
    let lossy = ecnlab_sim::ImpairmentSpec { impairments: vec![Impairment::random_loss(0.1)] };
    network.links.iter_mut().for_each(|link| link.impairment = Some(Box::new(lossy.clone())));
    let (run, tape) = run_with(&network, &options(600, 1), SegmentTimes::default());
    let discarded = flow_column(&run, "sent") - flow_column(&run, "drops") - tape.received as f64;
    assert!(discarded > 10.0, "{discarded} packets were discarded or are still in flight");
    assert!(flow_column(&run, "transactions") > 200.0, "{}", flow_column(&run, "transactions"));
    let read = flow_column(&run, "goodput_bps") * 600.0 / 8.0;
    let done = flow_column(&run, "transactions") * 5_000.0;
    assert!((done..=done + 5_000.0).contains(&read), "{read} bytes read in transfers of {done}");
}

/// Time at which the only flow's connection was opened, send time of the packet that has just arrived, and whether it was accepted.
#[derive(Default)]
struct ConnectionAges {
    opened: Time,
    arrived: Option<(u64, Time)>,
    /// Segments and ACKs accepted by the endpoints, and how many of them were sent before their connection opened.
    taken: [u64; 2],
    of_before: [u64; 2],
    /// Packets that arrived so late.
    late: u64,
}

impl ConnectionAges {
    fn on_taken(&mut self, what: usize, sent: Time) {
        self.taken[what] += 1;
        self.of_before[what] += u64::from(sent < self.opened);
    }
}

impl Probe for ConnectionAges {
    const OBSERVES_PACKETS: bool = true;

    fn on_segment_sent(&mut self, now: Time, _flow: u32, segment: &Segment) {
        if segment.seq == 0 && !segment.retransmission {
            self.opened = now;
        }
    }

    fn on_link_exit(&mut self, _now: Time, _link: u32, _id: PacketId, packet: &Packet) {
        self.arrived = Some((packet.seq, packet.sent_at));
        self.late += u64::from(packet.sent_at < self.opened);
    }

    fn on_segment_received(&mut self, _now: Time, _flow: u32, segment: &Segment) {
        let (seq, sent) = self.arrived.take().unwrap();
        assert_eq!(segment.seq, seq);
        self.on_taken(0, sent);
    }

    fn on_ack_received(&mut self, _now: Time, _flow: u32, ack: &Ack) {
        self.on_taken(1, ack.echo);
    }
}

/// The connection number of packets repeats after 256 connections.
#[test]
fn packets_older_than_256_connections_belong_to_none() {
    let entry = IMPAIRMENT_KINDS.iter().find(|entry| entry.name == "jitter").unwrap();
    let mut values = Values::defaults(entry.parameters);
    // A transfer takes two RTTs, 256 of them 20 s, and more if a packet is delayed and retransmitted.
    let delays = (0..20).map(|late| format!("{} s: 0.0025", 20 + late)).fold("mix 0 s: 0.95".to_owned(), |all, one| all + ", " + &one);
    for (name, text) in [("delay", delays.as_str()), ("order", "overtake")] {
        values.set_from_text(name, text).unwrap();
    }
    let hasty = TcpSettings { rto_min: Span::from_millis(100), rto_initial: Span::from_millis(100), ..tcp_settings() };
    let mut network = network(hasty, traffic(TransactionsSettings { gap: Span::ZERO, ..transactions(500, 0, ConnectionReuse::New) }));
    network.links.iter_mut().for_each(|link| link.impairment = ImpairmentSpec::from_parts([(entry.make)(&values)]));
    let (_, ages) = run_with(&network, &options(4_000, 1), ConnectionAges::default());
    assert!(ages.late > 1_000 && ages.taken.iter().all(|&taken| taken > 10_000), "{} late, {:?} taken", ages.late, ages.taken);
    assert_eq!([0, 0], ages.of_before, "of {} that came late", ages.late);
}

#[test]
fn pure_acks_of_a_sender_count_as_sent_and_not_as_data() {
    let settings = profile::tcp_settings_of("rfc");
    assert!(settings.quirks.fin && settings.has_syn());
    let (header, ack_size) = (settings.quirks.header_size, settings.quirks.ack_size);
    let syn = if settings.quirks.syn_size > 0 { settings.quirks.syn_size } else { settings.packet_size };
    let (run, tape) = run_with(&network(settings, Traffic::Once(AppWrite::then_close(500))), &options(8, 1), SegmentTimes::default());
    assert_eq!([500.0, f64::from(syn + 500 + header + ack_size)], [flow_column(&run, "goodput_bps"), flow_column(&run, "throughput_bps")]);
    assert_eq!(
        [5.0, 0.0],
        [flow_column(&run, "sent"), flow_column(&run, "retransmitted_timeout")],
        "SYN, data and FIN, and an answer to each of the other side's"
    );
    assert_eq!(5, tape.received);
}
