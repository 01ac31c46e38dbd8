//! What queues do to packets as a run counts and shows it: marks over several queues, and acknowledgements that wait.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use std::sync::Arc;

use common::{options, pipe, queue_link, run_with};
use ecnlab_queue::registry::{AqmEntry, MakeAqm};
use ecnlab_queue::{Aqm, Arrival, Cause, Limit, Registry, Target, Victim, Wish};
use ecnlab_sim::probe::{MarkOrDrop, Touch};
use ecnlab_sim::{Counted, FlowSpec, LinkSpec, Network, Probe, Run};
use ecnlab_transport::settings::ResponseName;
use ecnlab_transport::{Ack, Demand, Segment, Settings, Transport, profile};
use ecnlab_units::{Ecn, Level, Rng, Span, Time, Values};

/// Signals every packet that has to wait behind another, and drops the oldest one at a full buffer.
struct SignalAll;

impl Aqm for SignalAll {
    fn arrive(&mut self, arrival: &Arrival, _rng: &mut Rng) -> Wish {
        let cause = Cause::Early;
        if arrival.full {
            return Wish::Drop { victim: Victim::Front, cause };
        }
        if arrival.backlog.packets == 0 {
            return Wish::Pass;
        }
        Wish::Signal { level: Level::Congested, target: Target::Arriving, cause }
    }
}

/// Lets packets pass of which nothing is known, and fails at any other.
struct KnowsNothing;

impl Aqm for KnowsNothing {
    fn arrive(&mut self, arrival: &Arrival, _rng: &mut Rng) -> Wish {
        assert_eq!(Span::ZERO, arrival.packet.rtt, "an acknowledgement reports no round-trip time");
        Wish::Pass
    }
}

static SIGNAL_ALL: AqmEntry = entry(&|_, _| Box::new(SignalAll));
static KNOWS_NOTHING: AqmEntry = entry(&|_, _| Box::new(KnowsNothing));

const fn entry(make: MakeAqm) -> AqmEntry {
    AqmEntry { name: "test", marks: AqmEntry::CONGESTED, make, ..AqmEntry::PLAIN }
}

fn queue(kbps: u64, name: &str, aqm: &'static AqmEntry, packets: u32) -> LinkSpec {
    queue_link(kbps, 5_000, name, aqm, Values::defaults(aqm.parameters), Limit::Packets(packets))
}

/// One flow of 200 packets over these links and back over those, with what the probe saw.
fn run(tcp: Settings, forward: Vec<LinkSpec>, back: Vec<LinkSpec>) -> (Run, Seen) {
    let (there, all) = (forward.len() as u32, (forward.len() + back.len()) as u32);
    let flow = FlowSpec {
        group: 0,
        member: 0,
        forward: (0..there).collect(),
        back: (there..all).collect(),
        opens: Some(Demand::packets(200, tcp.payload())),
        transport: Transport::Tcp(Arc::new(tcp)),
        start: Time::ZERO,
        boot: Some(Span::ZERO),
        counted: Counted::AsFlow,
    };
    let links = forward.into_iter().chain(back).collect();
    run_with(&Network { links, flows: vec![flow], groups: vec!["all".into()], ..Network::default() }, &options(100, 1), Seen::default())
}

/// A sender that keeps its window whatever is marked.
fn ecn_flow() -> Settings {
    Settings { ecn: true, response: ResponseName::None, max_window: 30, ..profile::settings("ns2") }
}

#[derive(Default)]
struct Seen {
    /// Data packets that arrived marked.
    arrived_marked: u64,
    /// ECN fields of packets as they were marked, and as they were dropped.
    marked: Vec<Ecn>,
    dropped: Vec<Ecn>,
    acks: u64,
}

impl Probe for Seen {
    fn received(&mut self, _now: Time, _flow: u32, segment: &Segment) {
        self.arrived_marked += u64::from(segment.ecn == Ecn::Ce);
    }

    fn touched(&mut self, _now: Time, touch: &Touch) {
        match touch.what {
            MarkOrDrop::Marked(_) => self.marked.push(touch.segment.ecn),
            _ => self.dropped.push(touch.segment.ecn),
        }
    }

    fn ack_received(&mut self, _now: Time, _flow: u32, _ack: &Ack) {
        self.acks += 1;
    }
}

#[test]
fn a_packet_that_two_queues_signal_is_marked_once() {
    let queues = vec![queue(2_000, "first", &SIGNAL_ALL, 100), queue(1_000, "second", &SIGNAL_ALL, 100)];
    let (run, seen) = run(ecn_flow(), queues, vec![pipe(1_000, 5_000, 100)]);
    assert!(seen.arrived_marked > 0 && seen.dropped.is_empty());
    let sum = |table: &str| run.report.reals(table, "marks").iter().sum::<f64>() as u64;
    assert_eq!([seen.arrived_marked; 3], ["queues", "flows", "groups"].map(sum));
    assert!(run.report.reals("queues", "marks").iter().all(|&marks| marks > 0.0), "both queues mark");
    assert_eq!(seen.arrived_marked as usize, seen.marked.len());
}

#[test]
fn a_probe_is_shown_the_ecn_field_as_it_is_at_that_moment() {
    let (_, seen) = run(ecn_flow(), vec![queue(1_000, "bottleneck", &SIGNAL_ALL, 3)], vec![pipe(1_000, 5_000, 100)]);
    assert!(!seen.marked.is_empty() && seen.marked.iter().all(|&ecn| ecn == Ecn::Ce), "{:?}", seen.marked);
    assert!(seen.dropped.contains(&Ecn::Ce), "a packet was marked, waited and was dropped: {:?}", seen.dropped);
}

#[test]
fn an_acknowledgement_in_a_queue_has_no_round_trip_time_and_bears_no_mark() {
    for profile in ["ns2", "linux"] {
        let tcp = Settings { max_window: 30, ..profile::settings(profile) };
        let lossy = || vec![queue(1_000, "there", Registry::builtin().aqm("droptail").unwrap(), 5)];
        let (_, seen) = run(tcp.clone(), lossy(), vec![queue(100, "back", &KNOWS_NOTHING, 100)]);
        assert!(seen.acks > 50 && !seen.dropped.is_empty(), "{profile}: acknowledgements came back, some with SACK blocks");
        let (run, _) = run(tcp, lossy(), vec![queue(20, "back", &SIGNAL_ALL, 100)]);
        let [marks, drops] = ["marks", "drops"].map(|column| run.report.reals("queues", column)[1]);
        assert!(marks == 0.0 && drops > 0.0, "{profile}: a signal drops an acknowledgement and marks none");
    }
}
