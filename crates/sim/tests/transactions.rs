//! Traffic of finite transfers: what the application reads, how long it takes, and when the next transfer begins.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use std::sync::Arc;

use common::{options, pipe, run_off, run_with};
use ecnlab_sim::impairment::{KINDS, Part};
use ecnlab_sim::{Counted, FlowSpec, ImpairmentSpec, Network, Options, Packet, PacketId, Probe, Run};
use ecnlab_transport::application::{Connection, Traffic, Transactions};
use ecnlab_transport::{Ack, Demand, Segment, Settings, Transport, profile};
use ecnlab_units::{Span, Time, Values};

const RTT: Span = Span::from_millis(40);

fn plan(bytes: u64, count: u64, connection: Connection) -> Transactions {
    Transactions { bytes, gap: Span::from_secs(1), exponential: false, count, connection }
}

fn traffic(plan: Transactions) -> Traffic {
    Traffic::Application(Arc::new(plan))
}

fn tcp() -> Settings {
    Settings { packet_size: 1000, header: 40, ack_size: 40, ..profile::settings("ns2") }
}

/// One flow over a link of 100 Mbps and 20 ms each way.
fn network(tcp: Settings, traffic: Traffic) -> Network {
    let flow = FlowSpec {
        group: 0,
        member: 0,
        forward: vec![0],
        back: vec![1],
        transport: Transport::Tcp(Arc::new(tcp)),
        opens: None,
        start: Time::ZERO,
        boot: Some(Span::ZERO),
        counted: Counted::AsFlow,
    };
    let mut network = Network { links: vec![pipe(100_000, 20_000, 1_000); 2], groups: vec!["all".into()], ..Network::default() };
    network.add_flow(flow, &traffic);
    network
}

fn of(run: &Run, column: &str) -> f64 {
    run.report.reals("flows", column)[0]
}

/// When segment 0 was sent, for each connection, and how many segments in all.
#[derive(Default)]
struct Tape {
    openings: Vec<Time>,
    sent: Vec<(Time, u64)>,
    acks: Vec<Time>,
    received: u64,
}

impl Probe for Tape {
    fn sent(&mut self, now: Time, _flow: u32, segment: &Segment) {
        if segment.seq == 0 {
            self.openings.push(now);
        }
        self.sent.push((now, segment.seq));
    }

    fn received(&mut self, _now: Time, _flow: u32, _segment: &Segment) {
        self.received += 1;
    }

    fn ack_received(&mut self, now: Time, _flow: u32, _ack: &Ack) {
        self.acks.push(now);
    }
}

#[test]
fn goodput_counts_the_bytes_that_the_application_sent() {
    for bytes in [1, 959, 960, 961, 100_001] {
        let run = run_off(&network(tcp(), Traffic::Once(Demand::closing(bytes))), &options(8, 1));
        assert_eq!([bytes as f64; 2], [of(&run, "goodput_bps"), of(&run, "goodput_first_bps")], "{bytes}");
        assert_eq!(1.0, of(&run, "transactions"));
        assert!((of(&run, "completion_s") - of(&run, "transaction_mean_s")).abs() < 1e-9);
    }
}

#[test]
fn the_pause_begins_when_all_is_acknowledged() {
    for connection in [Connection::New, Connection::Keep] {
        let (run, tape) = run_with(&network(tcp(), traffic(plan(500, 3, connection))), &options(10, 1), Tape::default());
        assert_eq!(3.0, of(&run, "transactions"), "{connection:?}");
        let opens = if connection == Connection::New { 3 } else { 1 };
        assert_eq!(opens, tape.openings.len(), "{connection:?}");
        // A transfer is one segment, and a SYN where the connection is new.
        let starts: Vec<Time> = match connection {
            Connection::New => tape.openings,
            Connection::Keep => [0, 2, 3].map(|at| tape.sent[at].0).to_vec(),
        };
        let ends = if connection == Connection::New { [1, 3] } else { [1, 2] };
        assert_eq!(ends.map(|at| tape.acks[at] + Span::from_secs(1)).to_vec(), starts[1..], "{connection:?}");
        let completion = (tape.acks[tape.acks.len() - 1]).seconds();
        assert_eq!(completion, of(&run, "completion_s"), "{connection:?}");
    }
}

#[test]
fn a_new_connection_costs_a_round_trip_more_than_a_kept_one() {
    let mean = |connection| of(&run_off(&network(tcp(), traffic(plan(500, 100, connection))), &options(200, 1)), "transaction_mean_s");
    let (new, kept) = (mean(Connection::New), mean(Connection::Keep));
    assert!((new - 2.0 * RTT.seconds()).abs() < 0.001, "{new}");
    assert!((kept - RTT.seconds() * 1.01).abs() < 0.001, "{kept}");
}

#[test]
fn counts_go_on_over_connections() {
    let run = run_off(&network(tcp(), traffic(plan(2_000, 5, Connection::New))), &options(20, 1));
    assert_eq!([5.0 * 4.0, 5.0 * 2_000.0 * 8.0 / 20.0], [of(&run, "sent"), of(&run, "goodput_bps")]);
    assert!((of(&run, "rtt_min_s") - RTT.seconds()).abs() < 0.001);
}

#[test]
fn a_pause_is_no_lockout() {
    let long = Transactions { gap: Span::from_secs(5), ..plan(2_000, 0, Connection::Keep) };
    let run = run_off(&network(tcp(), traffic(long)), &options(23, 1));
    assert_eq!([0.0, 5.0], [of(&run, "lockouts"), of(&run, "transactions")]);
    assert!(of(&run, "completion_s").is_nan(), "a source without an end has no completion");
}

#[test]
fn transfers_count_where_they_end() {
    let network = network(tcp(), traffic(plan(500, 0, Connection::Keep)));
    let later = Options { measure_from: Time::ZERO + Span::from_millis(1_100), ..options(4, 1) };
    let [all, some] = [options(4, 1), later].map(|options| of(&run_off(&network, &options), "transactions"));
    assert_eq!([4.0, 3.0], [all, some]);
}

/// The sender's timer of a connection that is over, its receiver's held acknowledgement and its packets concern nobody.
#[test]
fn what_an_earlier_connection_left_in_the_network_is_discarded() {
    // A timer that is shorter than the round trip resends each connection's first segments.
    let hasty = Settings {
        delayed_ack: true,
        delayed_ack_time: Span::from_millis(200),
        tick: Span::from_millis(1),
        rto_min: Span::from_millis(1),
        rto_initial: Span::from_millis(15),
        rto_max: Span::from_millis(100),
        ..tcp()
    };
    let mut network = network(hasty, traffic(Transactions { gap: Span::ZERO, ..plan(5_000, 0, Connection::New) }));
    let lossy = ecnlab_sim::ImpairmentSpec { parts: vec![Part::random_losses(0.1)] };
    network.links.iter_mut().for_each(|link| link.impairment = Some(Box::new(lossy.clone())));
    let (run, tape) = run_with(&network, &options(600, 1), Tape::default());
    let discarded = of(&run, "sent") - of(&run, "drops") - tape.received as f64;
    assert!(discarded > 10.0, "{discarded} packets were discarded or are still in flight");
    assert!(of(&run, "transactions") > 200.0, "{}", of(&run, "transactions"));
    let read = of(&run, "goodput_bps") * 600.0 / 8.0;
    let done = of(&run, "transactions") * 5_000.0;
    assert!((done..=done + 5_000.0).contains(&read), "{read} bytes read in transfers of {done}");
}

/// When the only flow's connection was opened, when that was sent which has just arrived, and what of it was taken.
#[derive(Default)]
struct Ages {
    opened: Time,
    arrived: Option<(u64, Time)>,
    /// Segments and acknowledgements that its ends took, and how many of them were sent before their connection opened.
    taken: [u64; 2],
    of_before: [u64; 2],
    /// Those that arrived so late.
    late: u64,
}

impl Ages {
    fn take(&mut self, what: usize, sent: Time) {
        self.taken[what] += 1;
        self.of_before[what] += u64::from(sent < self.opened);
    }
}

impl Probe for Ages {
    const LINKS: bool = true;

    fn sent(&mut self, now: Time, _flow: u32, segment: &Segment) {
        if segment.seq == 0 && !segment.retransmission {
            self.opened = now;
        }
    }

    fn arrived(&mut self, _now: Time, _link: u32, _id: PacketId, packet: &Packet) {
        self.arrived = Some((packet.seq, packet.sent));
        self.late += u64::from(packet.sent < self.opened);
    }

    fn received(&mut self, _now: Time, _flow: u32, segment: &Segment) {
        let (seq, sent) = self.arrived.take().unwrap();
        assert_eq!(segment.seq, seq);
        self.take(0, sent);
    }

    fn ack_received(&mut self, _now: Time, _flow: u32, ack: &Ack) {
        self.take(1, ack.echo);
    }
}

/// A packet's number of its connection comes again after 256 of them.
#[test]
fn what_stayed_in_the_network_while_256_connections_came_and_went_is_of_none_of_them() {
    let entry = KINDS.iter().find(|entry| entry.name == "jitter").unwrap();
    let mut values = Values::defaults(entry.parameters);
    // A transfer takes two round trips, 256 of them 20 s, and more where a packet is held up and sent again.
    let delays = (0..20).map(|late| format!("{} s: 0.0025", 20 + late)).fold("mix 0 s: 0.95".to_owned(), |all, one| all + ", " + &one);
    for (name, text) in [("delay", delays.as_str()), ("order", "overtake")] {
        values.read(name, text).unwrap();
    }
    let hasty = Settings { rto_min: Span::from_millis(100), rto_initial: Span::from_millis(100), ..tcp() };
    let mut network = network(hasty, traffic(Transactions { gap: Span::ZERO, ..plan(500, 0, Connection::New) }));
    network.links.iter_mut().for_each(|link| link.impairment = ImpairmentSpec::of([(entry.make)(&values)]));
    let (_, ages) = run_with(&network, &options(4_000, 1), Ages::default());
    assert!(ages.late > 1_000 && ages.taken.iter().all(|&taken| taken > 10_000), "{} late, {:?} taken", ages.late, ages.taken);
    assert_eq!([0, 0], ages.of_before, "of {} that came late", ages.late);
}

#[test]
fn acknowledgements_of_a_sender_are_sent_and_no_data() {
    let settings = profile::settings("rfc");
    assert!(settings.fin && settings.syn());
    let (header, ack_size) = (settings.header, settings.ack_size);
    let syn = if settings.first_packet_size > 0 { settings.first_packet_size } else { settings.packet_size };
    let (run, tape) = run_with(&network(settings, Traffic::Once(Demand::closing(500))), &options(8, 1), Tape::default());
    assert_eq!([500.0, f64::from(syn + 500 + header + ack_size)], [of(&run, "goodput_bps"), of(&run, "throughput_bps")]);
    assert_eq!(
        [5.0, 0.0],
        [of(&run, "sent"), of(&run, "retransmitted_timeout")],
        "SYN, data and FIN, and an answer to each of the other side's"
    );
    assert_eq!(5, tape.received);
}
