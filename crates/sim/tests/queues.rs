//! Effects of queues on packets, as a run counts them: marks over several queues, and queueing of ACKs.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use std::sync::Arc;

use common::{options, pipe, queue_link, run_with};
use ecnlab_queue::{Aqm, Arrival, DropTarget, EnqueueVerdict, Limit, MarkTarget, Registry, SignalCause};
use ecnlab_queue::{AqmEntry, MakeAqm};
use ecnlab_sim::probe::{MarkOrDropWithCause, SignalEvent};
use ecnlab_sim::{FlowSpec, LinkSpec, Network, Probe, RowPolicy, Run};
use ecnlab_transport::settings::EcnResponseName;
use ecnlab_transport::{Ack, AppWrite, Segment, TcpSettings, Transport, profile};
use ecnlab_units::{CongestionLevel, Ecn, Rng, Span, Time, Values};

/// Signals every packet that arrives at a non-empty queue, and drops the head at a full buffer.
struct SignalAll;

impl Aqm for SignalAll {
    fn on_enqueue(&mut self, arrival: &Arrival, _rng: &mut Rng) -> EnqueueVerdict {
        let cause = SignalCause::Early;
        if arrival.would_overflow {
            return EnqueueVerdict::Drop { target: DropTarget::Front, cause };
        }
        if arrival.backlog.packets == 0 {
            return EnqueueVerdict::Pass;
        }
        EnqueueVerdict::Signal { level: CongestionLevel::Congested, target: MarkTarget::Arriving, cause }
    }
}

/// Passes packets that report no RTT, and panics at any other.
struct AssertNoRtt;

impl Aqm for AssertNoRtt {
    fn on_enqueue(&mut self, arrival: &Arrival, _rng: &mut Rng) -> EnqueueVerdict {
        assert_eq!(Span::ZERO, arrival.packet.rtt, "an acknowledgement reports no round-trip time");
        EnqueueVerdict::Pass
    }
}

static SIGNAL_ALL: AqmEntry = aqm_entry(&|_, _| Box::new(SignalAll));
static ASSERT_NO_RTT: AqmEntry = aqm_entry(&|_, _| Box::new(AssertNoRtt));

const fn aqm_entry(make: MakeAqm) -> AqmEntry {
    AqmEntry { name: "test", lowest_mark: AqmEntry::MARK_LEVEL_CONGESTED, make, ..AqmEntry::DEFAULTS }
}

fn queue(kbps: u64, name: &str, aqm: &'static AqmEntry, packets: u32) -> LinkSpec {
    queue_link(kbps, 5_000, name, aqm, Values::defaults(aqm.parameters), Limit::Packets(packets))
}

/// One flow of 200 packets over these links, with the observations of the probe.
fn run(tcp: TcpSettings, forward: Vec<LinkSpec>, back: Vec<LinkSpec>) -> (Run, SignalLog) {
    let (there, all) = (forward.len() as u32, (forward.len() + back.len()) as u32);
    let flow = FlowSpec {
        group: 0,
        member: 0,
        forward: (0..there).collect(),
        back: (there..all).collect(),
        initial_write: Some(AppWrite::full_packets(200, tcp.payload())),
        transport: Transport::Tcp(Arc::new(tcp)),
        start: Time::ZERO,
        clock_phase: Some(Span::ZERO),
        row_policy: RowPolicy::OwnRow,
    };
    let links = forward.into_iter().chain(back).collect();
    run_with(
        &Network { links, flows: vec![flow], groups: vec!["all".into()], ..Network::default() },
        &options(100, 1),
        SignalLog::default(),
    )
}

/// A sender with a fixed window that ignores marks.
fn unresponsive_ecn_settings() -> TcpSettings {
    TcpSettings { ecn: true, ecn_response: EcnResponseName::None, max_rwnd: 30, ..profile::tcp_settings_of("ns2") }
}

#[derive(Default)]
struct SignalLog {
    /// Data packets that arrived marked.
    arrived_marked: u64,
    /// ECN fields of marked packets, and of dropped ones.
    marked: Vec<Ecn>,
    dropped: Vec<Ecn>,
    acks: u64,
}

impl Probe for SignalLog {
    fn on_segment_received(&mut self, _now: Time, _flow: u32, segment: &Segment) {
        self.arrived_marked += u64::from(segment.ecn == Ecn::Ce);
    }

    fn on_data_mark_or_drop(&mut self, _now: Time, touch: &SignalEvent) {
        match touch.signal {
            MarkOrDropWithCause::Marked(_) => self.marked.push(touch.segment.ecn),
            _ => self.dropped.push(touch.segment.ecn),
        }
    }

    fn on_ack_received(&mut self, _now: Time, _flow: u32, _ack: &Ack) {
        self.acks += 1;
    }
}

#[test]
fn a_packet_marked_by_two_queues_counts_once() {
    let queues = vec![queue(2_000, "first", &SIGNAL_ALL, 100), queue(1_000, "second", &SIGNAL_ALL, 100)];
    let (run, seen) = run(unresponsive_ecn_settings(), queues, vec![pipe(1_000, 5_000, 100)]);
    assert!(seen.arrived_marked > 0 && seen.dropped.is_empty());
    let sum = |table: &str| run.report.column_as_reals(table, "marks").iter().sum::<f64>() as u64;
    assert_eq!([seen.arrived_marked; 3], ["queues", "flows", "groups"].map(sum));
    assert!(run.report.column_as_reals("queues", "marks").iter().all(|&marks| marks > 0.0), "both queues mark");
    assert_eq!(seen.arrived_marked as usize, seen.marked.len());
}

#[test]
fn probes_see_the_current_ecn_field() {
    let (_, seen) = run(unresponsive_ecn_settings(), vec![queue(1_000, "bottleneck", &SIGNAL_ALL, 3)], vec![pipe(1_000, 5_000, 100)]);
    assert!(!seen.marked.is_empty() && seen.marked.iter().all(|&ecn| ecn == Ecn::Ce), "{:?}", seen.marked);
    assert!(seen.dropped.contains(&Ecn::Ce), "a packet was marked, waited and was dropped: {:?}", seen.dropped);
}

#[test]
fn acks_in_a_queue_have_no_rtt_and_carry_no_mark() {
    for profile in ["ns2", "linux"] {
        let tcp = TcpSettings { max_rwnd: 30, ..profile::tcp_settings_of(profile) };
        let lossy = || vec![queue(1_000, "there", Registry::builtin().aqm("droptail").unwrap(), 5)];
        let (_, seen) = run(tcp.clone(), lossy(), vec![queue(100, "back", &ASSERT_NO_RTT, 100)]);
        assert!(seen.acks > 50 && !seen.dropped.is_empty(), "{profile}: acknowledgements came back, some with SACK blocks");
        let (run, _) = run(tcp, lossy(), vec![queue(20, "back", &SIGNAL_ALL, 100)]);
        let [marks, drops] = ["marks", "drops"].map(|column| run.report.column_as_reals("queues", column)[1]);
        assert!(marks == 0.0 && drops > 0.0, "{profile}: a signal drops an acknowledgement and marks none");
    }
}
