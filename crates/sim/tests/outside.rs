//! Hosts outside of the engine: their packets take the same ways, and applications hear of them what they hear of those inside.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use std::sync::{Arc, Mutex};

use common::told::{Act, Told as App, at, host, network, template};
use common::{options, pipe};
use ecnlab_sim::{FlowSpec, Foreign, Happened, Network, Off, Simulation, Told, Toward};
use ecnlab_transport::application::{Event, Heading, Transfer};
use ecnlab_transport::{Demand, SendCounters, Window};
use ecnlab_units::{Ecn, Span, Time};

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
    let mut happened = |simulation: &mut Simulation<Off>| simulation.happened().collect::<Vec<_>>();
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
