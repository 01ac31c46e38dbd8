//! Hosts outside of the engine: their packets take the same ways, and applications hear of them what they hear of those inside.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use std::sync::{Arc, Mutex};

use common::told::{Act, Told as App, at, host, network, template};
use common::{options, pipe};
use ecnlab_queue::{Cause, Composition, KernelQueue};
use ecnlab_sim::{Buffer, FlowSpec, Foreign, Happened, ImpairmentSpec, Network, Off, Part, QueueSpec, Simulation, Told, Toward};
use ecnlab_transport::application::{Event, Heading, Transfer};
use ecnlab_transport::{Demand, SendCounters, Window};
use ecnlab_units::{Ecn, Span, Time};
use proptest::prelude::*;

fn bulk(start: Time) -> Network {
    let flow = FlowSpec { opens: Some(Demand::ENDLESS), start, ..template(host(true)).flow };
    let links = vec![pipe(12_000, 20_000, 3); 2];
    Network { links, flows: vec![flow], groups: vec!["all".into()], ..Network::default() }.with_ends_outside()
}

fn data(ticket: u32) -> Foreign {
    Foreign { size: 1500, payload: 1448, ecn: Ecn::Ect0, ticket, ..Foreign::default() }
}

fn simulation(network: &Network) -> Simulation<Off> {
    Simulation::new(network, &options(2, 1), Off)
}

#[test]
fn packets_arrive_at_the_exact_times_of_their_links_however_late_the_driver_looks() {
    let mut simulation = simulation(&bulk(at(0)));
    simulation.advance_to(at(10));
    assert_eq!(
        vec![Happened::Open { flow: 0, connection: 0, demand: Demand::ENDLESS, at: at(0) }],
        simulation.happened().collect::<Vec<_>>()
    );
    // The link has one packet of 1 ms in transmission and three that wait: the fifth finds no room.
    (0..5).for_each(|ticket| simulation.inject(&data(ticket)));
    simulation.inject(&Foreign { toward: Toward::Source, size: 60, payload: 0, ..data(9) });
    assert_eq!(vec![Happened::Lost { ticket: 4, at: at(10) }], simulation.happened().collect::<Vec<_>>());
    assert_eq!(Some(at(30) + Span::from_micros(40)), simulation.next_deadline());
    simulation.advance_to(at(500));
    let arrivals: Vec<(u32, Toward, Time)> = simulation
        .happened()
        .map(|happened| match happened {
            Happened::Arrived { ticket, at, flow: 0, toward, ecn: Ecn::Ect0, .. } => (ticket, toward, at),
            other => panic!("{other:?}"),
        })
        .collect();
    let sink = |ticket: u32| (ticket, Toward::Sink, at(31 + u64::from(ticket)));
    assert_eq!(vec![(9, Toward::Source, at(30) + Span::from_micros(40)), sink(0), sink(1), sink(2), sink(3)], arrivals);
    let (run, _) = simulation.finish();
    assert_eq!((vec![5.0], vec![1.0]), (run.report.reals("flows", "sent"), run.report.reals("flows", "drops")));
    assert_eq!(vec![4.0 * 1500.0 * 8.0 / 2.0], run.report.reals("flows", "throughput_bps"));
    assert_eq!(vec![4.0 * 1448.0 * 8.0 / 2.0], run.report.reals("flows", "goodput_first_bps"));
}

#[test]
fn what_hosts_tell_is_in_the_results_as_if_it_had_been_seen_inside() {
    let mut simulation = simulation(&bulk(at(0)));
    simulation.advance_to(at(1500));
    simulation.tell(0, Told::Opened);
    simulation.tell(0, Told::Delivered { bytes: 2_896 });
    simulation.tell(0, Told::RoundTrip(Span::from_millis(50)));
    simulation.tell(0, Told::RoundTrip(Span::from_millis(70)));
    simulation.tell(0, Told::Window(Window { cwnd: 10.0, ssthresh: 20.0 }));
    let more = SendCounters { timeouts: 1, retransmitted_timeout: 2, ecn_reactions: 3, ..SendCounters::default() };
    simulation.tell(0, Told::Counters(more));
    simulation.tell(0, Told::Counters(more));
    let (run, _) = simulation.finish();
    let flow = |column| run.report.reals("flows", column)[0];
    assert_eq!(2_896.0 * 8.0 / 2.0, flow("goodput_bps"));
    assert_eq!([0.06, 0.05], [flow("rtt_mean_s"), flow("rtt_min_s")]);
    assert_eq!([2.0, 4.0, 6.0], [flow("timeouts"), flow("retransmitted_timeout"), flow("ecn_reactions")]);
    assert_eq!([1.0, 1.5], [flow("lockouts"), flow("lockout_s")]);
}

#[test]
fn an_application_s_wishes_go_to_hosts_outside_and_it_hears_of_them() {
    let exchange: Act = |event, _, calls| {
        match event {
            Event::Start => calls.open(0, Demand::open(100)),
            Event::Delivered(0, 100) => calls.answer(1, 0, Demand::closing(300)),
            Event::Delivered(1, 300) => {
                calls.finished(&Transfer { member: 1, began: at(100), bytes: 300 });
                calls.produce(0, Demand::closing(0));
                calls.open(0, Demand::open(7));
            }
            _ => {}
        }
        None
    };
    let heard: Arc<Mutex<Vec<(Time, Event)>>> = Arc::default();
    let app = App { members: vec![Heading::Against, Heading::Along], grows: false, act: exchange, heard: heard.clone() };
    let mut simulation = simulation(&network(&template(host(true)), Arc::new(app)).with_ends_outside());
    let happened = |simulation: &mut Simulation<Off>| simulation.happened().collect::<Vec<_>>();
    simulation.advance_to(at(150));
    // The flow with a row is number 0, and the one that carries requests comes after.
    assert_eq!(vec![Happened::Open { flow: 1, connection: 0, demand: Demand::open(100), at: at(100) }], happened(&mut simulation));
    simulation.tell(1, Told::Opened);
    simulation.tell(1, Told::Delivered { bytes: 100 });
    assert_eq!(vec![Happened::Answer { flow: 0, to: 1, demand: Demand::closing(300), at: at(150) }], happened(&mut simulation));
    simulation.advance_to(at(250));
    simulation.tell(0, Told::Acknowledged);
    simulation.tell(0, Told::Delivered { bytes: 300 });
    let (closes, next) = (Demand::closing(0), Demand::open(7));
    let expected = vec![
        Happened::Produce { flow: 1, demand: closes, at: at(250) },
        Happened::Open { flow: 1, connection: 1, demand: next, at: at(250) },
    ];
    assert_eq!(expected, happened(&mut simulation));
    let (run, _) = simulation.finish();
    let events: Vec<Event> = heard.lock().unwrap().iter().map(|(_, event)| *event).collect();
    let opened = [Event::Start, Event::Opened(0), Event::Delivered(0, 100), Event::Opened(1)];
    assert_eq!([&opened[..], &[Event::Acknowledged(1), Event::Delivered(1, 300)]].concat(), events);
    assert_eq!(vec![0.15], run.report.reals("flows", "transaction_mean_s"));
}

/// What a driver does.
#[derive(Clone, Debug)]
enum Step {
    Advance(u64),
    Inject {
        against: bool,
        toward: Toward,
        size: u32,
        payload: u32,
        ecn: Ecn,
        label: u8,
    },
    Tell {
        against: bool,
        told: Told,
    },
    /// Of the packets that wait in the kernel, by place.
    Release(usize, Ecn),
    Drop(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let ecn = || prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)];
    let toward = prop_oneof![Just(Toward::Sink), Just(Toward::Source)];
    let told = prop_oneof![
        Just(Told::Opened),
        (0..3_000u64).prop_map(|bytes| Told::Delivered { bytes }),
        Just(Told::Acknowledged),
        (1..100u64).prop_map(|millis| Told::RoundTrip(Span::from_millis(millis))),
        Just(Told::Window(Window { cwnd: 3.5, ssthresh: f64::INFINITY })),
        Just(Told::Counters(SendCounters { sent: 7, timeouts: 1, ..SendCounters::default() })),
    ];
    let inject = (any::<bool>(), toward, 0..70_000u32, 0..70_000u32, ecn(), any::<u8>())
        .prop_map(|(against, toward, size, payload, ecn, label)| Step::Inject { against, toward, size, payload, ecn, label });
    let step = prop_oneof![
        2 => (0..40_000u64).prop_map(Step::Advance),
        4 => inject,
        2 => (any::<bool>(), told).prop_map(|(against, told)| Step::Tell { against, told }),
        2 => (any::<usize>(), ecn()).prop_map(|(place, ecn)| Step::Release(place, ecn)),
        1 => any::<usize>().prop_map(Step::Drop),
    ];
    prop::collection::vec(step, 1..120)
}

/// Exchanges over a lossy link with a kernel's queue.
fn any_order() -> Network {
    let act: Act = |event, now, calls| {
        match event {
            Event::Start | Event::Timer | Event::Delivered(1, _) => calls.open(0, Demand::open(100)),
            Event::Delivered(0, _) => calls.answer(1, 0, Demand::closing(300)),
            Event::Acknowledged(member) => calls.produce(member, Demand::open(50)),
            _ => {}
        }
        matches!(event, Event::Start | Event::Timer).then(|| now + Span::from_millis(300))
    };
    let app = App { members: vec![Heading::Against, Heading::Along], grows: false, act, heard: Arc::default() };
    let mut network = network(&template(host(true)), Arc::new(app));
    let of = Composition::of_kernel(KernelQueue { name: "red".to_owned(), arguments: Vec::new() });
    network.links[0].buffer = Buffer::Queue(Box::new(QueueSpec::new("l", of)));
    network.links[1] = pipe(1_000, 5_000, 2);
    network.links[1].impairment = ImpairmentSpec::of([Part::random_losses(0.2), Part::periodic_losses(5)]);
    network.with_ends_outside()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_driver_does_and_in_whichever_order_every_packet_comes_back_once(steps in steps()) {
        let network = any_order();
        let mut simulation = simulation(&network);
        let (mut injected, mut back, mut waiting) = (0u32, Vec::new(), Vec::new());
        for step in steps {
            match step {
                Step::Advance(micros) => simulation.advance_to(simulation.now() + Span::from_micros(micros)),
                Step::Inject { against, toward, size, payload, ecn, label } => {
                    let foreign = Foreign { flow: u32::from(against), toward, size, payload, ecn, label, ticket: injected, ..Foreign::default() };
                    simulation.inject(&foreign);
                    injected += 1;
                }
                Step::Tell { against, told } => simulation.tell(u32::from(against), told),
                Step::Release(..) | Step::Drop(_) if waiting.is_empty() => {}
                Step::Release(place, ecn) => {
                    let ticket = waiting.remove(place % waiting.len());
                    prop_assert!(simulation.released(0, ticket, ecn) && !simulation.released(1, ticket, ecn));
                }
                Step::Drop(place) => {
                    let ticket = waiting.remove(place % waiting.len());
                    prop_assert!(simulation.dropped(0, ticket, Cause::Early) && !simulation.dropped(0, ticket, Cause::Early));
                }
            }
            prop_assert!(simulation.next_deadline().is_none_or(|due| due >= simulation.now()));
            for happened in simulation.happened() {
                match happened {
                    Happened::Arrived { ticket, .. } | Happened::Lost { ticket, .. } => back.push(ticket),
                    Happened::Offered { ticket, link: 0, .. } => waiting.push(ticket),
                    other => prop_assert!(matches!(other, Happened::Open { .. } | Happened::Answer { .. } | Happened::Produce { .. }), "{other:?}"),
                }
            }
        }
        // What is left in the kernel leaves; then all that is under way arrives before the end, but for what the slow pipe still has.
        waiting.drain(..).for_each(|ticket| assert!(simulation.released(0, ticket, Ecn::NotEct)));
        let before = simulation.now();
        simulation.advance_to(before + Span::from_millis(1_500));
        let (mut offered, mut left) = (Vec::new(), Vec::new());
        for happened in simulation.happened() {
            match happened {
                Happened::Arrived { ticket, .. } | Happened::Lost { ticket, .. } => left.push(ticket),
                Happened::Offered { ticket, .. } => offered.push(ticket),
                _ => {}
            }
        }
        back.extend(left);
        back.sort_unstable();
        let mut once = back.clone();
        once.dedup();
        prop_assert_eq!(&once, &back, "none comes back twice");
        prop_assert!(offered.is_empty() && back.iter().all(|&ticket| ticket < injected));
        // The end checks that none is lost or made.
        simulation.finish();
    }
}
