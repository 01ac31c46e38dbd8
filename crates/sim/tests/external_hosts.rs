//! External hosts: their packets take the same paths, and applications get the same events as with simulated hosts.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use std::sync::{Arc, Mutex};

use common::scripted_app::{AppScript, ScriptedApp as App, at, host, network, template};
use common::{options, pipe};
use ecnlab_queue::{KernelQdisc, QueueConfig, SignalCause};
use ecnlab_sim::{
    Direction, ExternalPacket, FlowSpec, HostEvent, Impairment, ImpairmentSpec, Network, NoProbe, PipeOrQueue, QueueSpec, SimOutput,
    Simulation,
};
use ecnlab_transport::application::{AppEvent, FinishedTransaction, FlowDirection};
use ecnlab_transport::{AppWrite, CongestionWindow, SendCounters};
use ecnlab_units::{Ecn, Span, Time};
use proptest::prelude::*;

fn bulk_network(start: Time) -> Network {
    let flow = FlowSpec { initial_write: Some(AppWrite::ENDLESS), start, ..template(host(true)).flow };
    let links = vec![pipe(12_000, 20_000, 3); 2];
    Network { links, flows: vec![flow], groups: vec!["all".into()], ..Network::default() }.with_external_hosts()
}

fn data_packet(handle: u32) -> ExternalPacket {
    ExternalPacket { size: 1500, payload: 1448, ecn: Ecn::Ect0, handle, ..ExternalPacket::default() }
}

fn simulation(network: &Network) -> Simulation<NoProbe> {
    Simulation::new(network, &options(2, 1), NoProbe)
}

#[test]
fn packets_arrive_at_exact_link_times_however_late_the_driver_polls() {
    let mut simulation = simulation(&bulk_network(at(0)));
    simulation.advance_to(at(10));
    assert_eq!(
        vec![SimOutput::Open { flow: 0, connection: 0, demand: AppWrite::ENDLESS, at: at(0) }],
        simulation.drain_outputs().collect::<Vec<_>>()
    );
    // One packet is in transmission for 1 ms and three wait: the fifth is dropped.
    (0..5).for_each(|handle| simulation.inject_host_packet(&data_packet(handle)));
    simulation.inject_host_packet(&ExternalPacket { direction: Direction::Back, size: 60, payload: 0, ..data_packet(9) });
    assert_eq!(vec![SimOutput::Lost { handle: 4, at: at(10) }], simulation.drain_outputs().collect::<Vec<_>>());
    assert_eq!(Some(at(30) + Span::from_micros(40)), simulation.next_event_time());
    simulation.advance_to(at(500));
    let arrivals: Vec<(u32, Direction, Time)> = simulation
        .drain_outputs()
        .map(|happened| match happened {
            SimOutput::Arrived { handle, at, flow: 0, direction, ecn: Ecn::Ect0, .. } => (handle, direction, at),
            other => panic!("{other:?}"),
        })
        .collect();
    let arrival_at_sink = |handle: u32| (handle, Direction::Forward, at(31 + u64::from(handle)));
    assert_eq!(
        vec![
            (9, Direction::Back, at(30) + Span::from_micros(40)),
            arrival_at_sink(0),
            arrival_at_sink(1),
            arrival_at_sink(2),
            arrival_at_sink(3)
        ],
        arrivals
    );
    let (run, _) = simulation.finish();
    assert_eq!((vec![5.0], vec![1.0]), (run.report.column_as_reals("flows", "sent"), run.report.column_as_reals("flows", "drops")));
    assert_eq!(vec![4.0 * 1500.0 * 8.0 / 2.0], run.report.column_as_reals("flows", "throughput_bps"));
    assert_eq!(vec![4.0 * 1448.0 * 8.0 / 2.0], run.report.column_as_reals("flows", "goodput_first_bps"));
}

#[test]
fn host_inputs_appear_in_the_results_like_internal_events() {
    let mut simulation = simulation(&bulk_network(at(0)));
    simulation.advance_to(at(1500));
    simulation.apply_host_input(0, HostEvent::Opened);
    simulation.apply_host_input(0, HostEvent::Delivered { bytes: 2_896 });
    simulation.apply_host_input(0, HostEvent::RoundTrip(Span::from_millis(50)));
    simulation.apply_host_input(0, HostEvent::RoundTrip(Span::from_millis(70)));
    simulation.apply_host_input(0, HostEvent::Window(CongestionWindow { cwnd: 10.0, ssthresh: 20.0 }));
    let more = SendCounters { timeouts: 1, retransmitted_timeout: 2, ecn_reactions: 3, ..SendCounters::default() };
    simulation.apply_host_input(0, HostEvent::Counters(more));
    simulation.apply_host_input(0, HostEvent::Counters(more));
    let (run, _) = simulation.finish();
    let flow_value = |column| run.report.column_as_reals("flows", column)[0];
    assert_eq!(2_896.0 * 8.0 / 2.0, flow_value("goodput_bps"));
    assert_eq!([0.06, 0.05], [flow_value("rtt_mean_s"), flow_value("rtt_min_s")]);
    assert_eq!([2.0, 4.0, 6.0], [flow_value("timeouts"), flow_value("retransmitted_timeout"), flow_value("ecn_reactions")]);
    assert_eq!([1.0, 1.5], [flow_value("lockouts"), flow_value("lockout_s")]);
}

#[test]
fn application_requests_reach_external_hosts_and_their_events_return() {
    let exchange: AppScript = |event, _, calls| {
        match event {
            AppEvent::Start => calls.open_connection(0, AppWrite::keep_open(100)),
            AppEvent::Delivered(0, 100) => calls.write_reverse(1, 0, AppWrite::then_close(300)),
            AppEvent::Delivered(1, 300) => {
                calls.record_transaction(&FinishedTransaction { flow: 1, started_at: at(100), bytes: 300 });
                calls.write(0, AppWrite::then_close(0));
                calls.open_connection(0, AppWrite::keep_open(7));
            }
            _ => {}
        }
        None
    };
    let heard: Arc<Mutex<Vec<(Time, AppEvent)>>> = Arc::default();
    let app = App { members: vec![FlowDirection::Against, FlowDirection::Along], grows: false, act: exchange, heard: heard.clone() };
    let mut simulation = simulation(&network(&template(host(true)), Arc::new(app)).with_external_hosts());
    let drained_outputs = |simulation: &mut Simulation<NoProbe>| simulation.drain_outputs().collect::<Vec<_>>();
    simulation.advance_to(at(150));
    // The flow with a row is number 0; the one that carries requests follows.
    assert_eq!(
        vec![SimOutput::Open { flow: 1, connection: 0, demand: AppWrite::keep_open(100), at: at(100) }],
        drained_outputs(&mut simulation)
    );
    simulation.apply_host_input(1, HostEvent::Opened);
    simulation.apply_host_input(1, HostEvent::Delivered { bytes: 100 });
    assert_eq!(
        vec![SimOutput::Answer { flow: 0, to: 1, demand: AppWrite::then_close(300), at: at(150) }],
        drained_outputs(&mut simulation)
    );
    simulation.advance_to(at(250));
    simulation.apply_host_input(0, HostEvent::Acknowledged);
    simulation.apply_host_input(0, HostEvent::Delivered { bytes: 300 });
    let (closes, next) = (AppWrite::then_close(0), AppWrite::keep_open(7));
    let expected = vec![
        SimOutput::Write { flow: 1, demand: closes, at: at(250) },
        SimOutput::Open { flow: 1, connection: 1, demand: next, at: at(250) },
    ];
    assert_eq!(expected, drained_outputs(&mut simulation));
    let (run, _) = simulation.finish();
    let events: Vec<AppEvent> = heard.lock().unwrap().iter().map(|(_, event)| *event).collect();
    let opened = [AppEvent::Start, AppEvent::Opened(0), AppEvent::Delivered(0, 100), AppEvent::Opened(1)];
    assert_eq!([&opened[..], &[AppEvent::Acknowledged(1), AppEvent::Delivered(1, 300)]].concat(), events);
    assert_eq!(vec![0.15], run.report.column_as_reals("flows", "transaction_mean_s"));
}

/// A step of the driver.
#[derive(Clone, Debug)]
enum DriverStep {
    Advance(u64),
    Inject {
        against: bool,
        direction: Direction,
        size: u32,
        payload: u32,
        ecn: Ecn,
        connection_id: u8,
    },
    Tell {
        against: bool,
        told: HostEvent,
    },
    /// Dequeues a packet in the kernel queue, by index.
    Release(usize, Ecn),
    Drop(usize),
}

fn driver_steps() -> impl Strategy<Value = Vec<DriverStep>> {
    let ecn = || prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)];
    let direction = prop_oneof![Just(Direction::Forward), Just(Direction::Back)];
    let told = prop_oneof![
        Just(HostEvent::Opened),
        (0..3_000u64).prop_map(|bytes| HostEvent::Delivered { bytes }),
        Just(HostEvent::Acknowledged),
        (1..100u64).prop_map(|millis| HostEvent::RoundTrip(Span::from_millis(millis))),
        Just(HostEvent::Window(CongestionWindow { cwnd: 3.5, ssthresh: f64::INFINITY })),
        Just(HostEvent::Counters(SendCounters { sent: 7, timeouts: 1, ..SendCounters::default() })),
    ];
    let inject = (any::<bool>(), direction, 0..70_000u32, 0..70_000u32, ecn(), any::<u8>()).prop_map(
        |(against, direction, size, payload, ecn, connection_id)| DriverStep::Inject {
            against,
            direction,
            size,
            payload,
            ecn,
            connection_id,
        },
    );
    let step = prop_oneof![
        2 => (0..40_000u64).prop_map(DriverStep::Advance),
        4 => inject,
        2 => (any::<bool>(), told).prop_map(|(against, told)| DriverStep::Tell { against, told }),
        2 => (any::<usize>(), ecn()).prop_map(|(place, ecn)| DriverStep::Release(place, ecn)),
        1 => any::<usize>().prop_map(DriverStep::Drop),
    ];
    prop::collection::vec(step, 1..120)
}

/// Request and response over a lossy link with a kernel queue.
fn lossy_network_with_kernel_queue() -> Network {
    let act: AppScript = |event, now, calls| {
        match event {
            AppEvent::Start | AppEvent::Timer | AppEvent::Delivered(1, _) => calls.open_connection(0, AppWrite::keep_open(100)),
            AppEvent::Delivered(0, _) => calls.write_reverse(1, 0, AppWrite::then_close(300)),
            AppEvent::Acknowledged(member) => calls.write(member, AppWrite::keep_open(50)),
            _ => {}
        }
        matches!(event, AppEvent::Start | AppEvent::Timer).then(|| now + Span::from_millis(300))
    };
    let app = App { members: vec![FlowDirection::Against, FlowDirection::Along], grows: false, act, heard: Arc::default() };
    let mut network = network(&template(host(true)), Arc::new(app));
    let of = QueueConfig::from_kernel_qdisc(KernelQdisc { name: "red".to_owned(), arguments: Vec::new() });
    network.links[0].buffer = PipeOrQueue::Queue(Box::new(QueueSpec::new("l", of)));
    network.links[1] = pipe(1_000, 5_000, 2);
    network.links[1].impairment = ImpairmentSpec::from_parts([Impairment::random_loss(0.2), Impairment::periodic_loss(5)]);
    network.with_external_hosts()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_is_returned_once_whatever_the_driver_does(steps in driver_steps()) {
        let network = lossy_network_with_kernel_queue();
        let mut simulation = simulation(&network);
        let (mut injected, mut back, mut waiting) = (0u32, Vec::new(), Vec::new());
        for step in steps {
            match step {
                DriverStep::Advance(micros) => simulation.advance_to(simulation.now() + Span::from_micros(micros)),
                DriverStep::Inject { against, direction, size, payload, ecn, connection_id } => {
                    let external = ExternalPacket { flow: u32::from(against), direction, size, payload, ecn, connection_id, handle: injected, ..ExternalPacket::default() };
                    simulation.inject_host_packet(&external);
                    injected += 1;
                }
                DriverStep::Tell { against, told } => simulation.apply_host_input(u32::from(against), told),
                DriverStep::Release(..) | DriverStep::Drop(_) if waiting.is_empty() => {}
                DriverStep::Release(place, ecn) => {
                    let handle = waiting.remove(place % waiting.len());
                    prop_assert!(simulation.on_kernel_dequeue(0, handle, ecn) && !simulation.on_kernel_dequeue(1, handle, ecn));
                }
                DriverStep::Drop(place) => {
                    let handle = waiting.remove(place % waiting.len());
                    prop_assert!(simulation.on_kernel_drop(0, handle, SignalCause::Early) && !simulation.on_kernel_drop(0, handle, SignalCause::Early));
                }
            }
            prop_assert!(simulation.next_event_time().is_none_or(|due| due >= simulation.now()));
            for happened in simulation.drain_outputs() {
                match happened {
                    SimOutput::Arrived { handle, .. } | SimOutput::Lost { handle, .. } => back.push(handle),
                    SimOutput::KernelEnqueued { handle, link: 0, .. } => waiting.push(handle),
                    other => prop_assert!(matches!(other, SimOutput::Open { .. } | SimOutput::Answer { .. } | SimOutput::Write { .. }), "{other:?}"),
                }
            }
        }
        // The kernel queue is drained; then all packets in flight arrive before the end, except those in the slow pipe.
        waiting.drain(..).for_each(|handle| assert!(simulation.on_kernel_dequeue(0, handle, Ecn::NotEct)));
        let before = simulation.now();
        simulation.advance_to(before + Span::from_millis(1_500));
        let (mut offered, mut left) = (Vec::new(), Vec::new());
        for happened in simulation.drain_outputs() {
            match happened {
                SimOutput::Arrived { handle, .. } | SimOutput::Lost { handle, .. } => left.push(handle),
                SimOutput::KernelEnqueued { handle, .. } => offered.push(handle),
                _ => {}
            }
        }
        back.extend(left);
        back.sort_unstable();
        let mut once = back.clone();
        once.dedup();
        prop_assert_eq!(&once, &back, "none comes back twice");
        prop_assert!(offered.is_empty() && back.iter().all(|&handle| handle < injected));
        // `finish` checks conservation of packets.
        simulation.finish();
    }
}
