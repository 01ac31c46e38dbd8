//! How long a driver may look away: one that looks only when something may come out hears the same, and hears it in time.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use std::sync::Arc;

use common::told::{Act, Told as App, at, host, network, template};
use common::{options, pipe, queue_link};
use ecnlab_queue::{Limit, Registry};
use ecnlab_sim::impairment::Part;
use ecnlab_sim::network::Change;
use ecnlab_sim::{Buffer, FlowSpec, Foreign, Happened, ImpairmentSpec, Network, Off, Simulation, Toward};
use ecnlab_transport::Demand;
use ecnlab_transport::application::{Event, Heading};
use ecnlab_units::{Ecn, Span, Time, Values};
use proptest::prelude::*;

/// Three links in a row and two back, of which some may hold, lose or copy packets, and one gets shorter while the run goes on; over them
/// an application that opens something by its own clock, and a flow that begins late.
fn scene(delays_us: [u64; 4], impaired: bool, shorter_us: Option<u64>) -> Network {
    let act: Act = |event, now, calls| {
        if matches!(event, Event::Start | Event::Timer) {
            calls.open(0, Demand::open(100));
        }
        matches!(event, Event::Start | Event::Timer).then(|| now + Span::from_micros(37_311))
    };
    let app = App { members: vec![Heading::Along], grows: false, act, heard: Arc::default() };
    let mut made = network(&template(host(true)), Arc::new(app));
    let red = Registry::builtin().aqm("droptail").unwrap();
    let values = || Values::defaults(red.parameters);
    let [first, second, third, back] = delays_us;
    made.links = vec![
        pipe(50_000, first, 30),
        queue_link(4_000, second, "narrow", red, values(), Limit::Packets(20)),
        pipe(20_000, third, 10),
        queue_link(2_000, back, "back", red, values(), Limit::Packets(20)),
        pipe(100_000, first, 30),
    ];
    if impaired {
        made.links[2].impairment = ImpairmentSpec::of([Part::random_losses(0.1), Part::periodic_losses(7)]);
    }
    if let Buffer::Queue(queue) = &mut made.links[1].buffer {
        let delay = shorter_us.map(Span::from_micros);
        queue.changes = vec![Change { at: at(150), every: None, rate: None, delay, state: None }];
    }
    let ways = |flow: FlowSpec| FlowSpec { forward: vec![0, 1, 2], back: vec![3, 4], ..flow };
    made.flows = made.flows.into_iter().map(ways).collect();
    let late = FlowSpec { opens: Some(Demand::ENDLESS), start: at(123), member: 9, ..made.flows[0].clone() };
    made.flows.push(FlowSpec { forward: vec![0, 1], ..late });
    made.with_ends_outside()
}

/// Injects packets at their times and looks when `next` says. Tells what was heard, each with the time at which it was heard, and how often it looked.
fn drive(network: &Network, packets: &[(Time, Foreign)], next: fn(&mut Simulation<Off>) -> Option<Time>) -> (Vec<(Time, Happened)>, u64) {
    let mut simulation = Simulation::new(network, &options(1, 1), Off);
    let (mut heard, mut looks, end) = (Vec::new(), 0, at(1000));
    let mut packets = packets.iter().peekable();
    while simulation.now() < end {
        let wake = next(&mut simulation).unwrap_or(end).min(end);
        let wake = packets.peek().map_or(wake, |(time, _)| wake.min(*time));
        simulation.advance_to(wake);
        let now = simulation.now();
        heard.extend(simulation.happened().map(|happened| (now, happened)));
        while let Some((_, foreign)) = packets.next_if(|(time, _)| *time <= now) {
            simulation.inject(foreign);
        }
        heard.extend(simulation.happened().map(|happened| (now, happened)));
        looks += 1;
    }
    (heard, looks)
}

/// When it happened, if whoever drives is to do something then.
fn wanted_at(happened: &Happened) -> Option<Time> {
    match happened {
        Happened::Arrived { at, .. } | Happened::Open { at, .. } | Happened::Produce { at, .. } => Some(*at),
        _ => None,
    }
}

fn packets() -> impl Strategy<Value = Vec<(Time, Foreign)>> {
    let packet = (0..800_000_u64, any::<bool>(), any::<bool>(), 40..1500_u32);
    prop::collection::vec(packet, 0..150).prop_map(|mut packets| {
        packets.sort_unstable();
        let foreign = |(ticket, (micros, late, back, size)): (usize, (u64, bool, bool, u32))| {
            let toward = if back { Toward::Source } else { Toward::Sink };
            let foreign = Foreign { flow: u32::from(late), toward, size, ecn: Ecn::Ect0, ticket: ticket as u32, ..Foreign::default() };
            (Time::ZERO + Span::from_micros(micros), foreign)
        };
        packets.into_iter().enumerate().map(foreign).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn who_looks_only_when_something_may_come_out_hears_the_same_in_time(
        packets in packets(),
        delays in [0..20_000_u64, 0..20_000_u64, 0..20_000_u64, 0..20_000_u64],
        impaired: bool,
        shorter in prop::option::of(0..20_000_u64),
    ) {
        let network = scene(delays, impaired, shorter);
        let (each, looks_each) = drive(&network, &packets, Simulation::next_deadline);
        let (seldom, looks) = drive(&network, &packets, Simulation::next_outward);
        let what = |heard: &[(Time, Happened)]| heard.iter().map(|(_, happened)| *happened).collect::<Vec<_>>();
        prop_assert_eq!(what(&each), what(&seldom));
        for (when, happened) in &seldom {
            prop_assert!(wanted_at(happened).is_none_or(|at| at == *when), "{happened:?} heard at {when:?}");
        }
        prop_assert!(looks <= looks_each);
    }
}

#[test]
fn over_links_in_a_row_there_is_about_one_look_for_each_arrival() {
    let packets: Vec<_> = (0..100)
        .map(|ticket| (at(u64::from(ticket) * 5 + 1), Foreign { size: 1000, ecn: Ecn::Ect0, ticket, ..Foreign::default() }))
        .collect();
    let mut network = scene([5_000, 20_000, 10_000, 10_000], false, None);
    // The late flow's route ends before the last link, where packets of the other would have to be looked at as well.
    network.flows.truncate(1);
    let (heard, looks) = drive(&network, &packets, Simulation::next_outward);
    let (_, looks_each) = drive(&network, &packets, Simulation::next_deadline);
    assert_eq!(100, heard.iter().filter(|(_, happened)| matches!(happened, Happened::Arrived { .. })).count());
    // An injection and an arrival for each packet, 28 wishes, and few for nothing.
    assert!((looks, looks_each) < (260, 460) && looks_each > 400, "{looks} of {looks_each}");
}
