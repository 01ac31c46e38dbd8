//! Lookahead: a driver that polls only at possible outputs gets the same outputs, and gets them in time.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use std::sync::Arc;

use common::scripted_app::{AppScript, ScriptedApp as App, at, host, network, template};
use common::{options, pipe, queue_link};
use ecnlab_queue::{Limit, Registry};
use ecnlab_sim::impairment::Impairment;
use ecnlab_sim::network::LinkChange;
use ecnlab_sim::{Direction, ExternalPacket, FlowSpec, ImpairmentSpec, Network, NoProbe, PipeOrQueue, SimOutput, Simulation};
use ecnlab_transport::AppWrite;
use ecnlab_transport::application::{AppEvent, FlowDirection};
use ecnlab_units::{Ecn, Span, Time, Values};
use proptest::prelude::*;

/// Three links in a row and two back, of which some may delay, lose or copy packets, and one gets shorter during the run. Over them run an
/// application with a timer, and a flow that starts late.
fn five_link_network(delays_us: [u64; 4], impaired: bool, shorter_us: Option<u64>) -> Network {
    let act: AppScript = |event, now, calls| {
        if matches!(event, AppEvent::Start | AppEvent::Timer) {
            calls.open_connection(0, AppWrite::keep_open(100));
        }
        matches!(event, AppEvent::Start | AppEvent::Timer).then(|| now + Span::from_micros(37_311))
    };
    let app = App { members: vec![FlowDirection::Along], grows: false, act, heard: Arc::default() };
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
        made.links[2].impairment = ImpairmentSpec::from_parts([Impairment::random_loss(0.1), Impairment::periodic_loss(7)]);
    }
    if let PipeOrQueue::Queue(queue) = &mut made.links[1].buffer {
        let delay = shorter_us.map(Span::from_micros);
        queue.changes = vec![LinkChange { time: at(150), repeat_interval: None, rate: None, delay, state: None }];
    }
    let ways = |flow: FlowSpec| FlowSpec { forward: vec![0, 1, 2], back: vec![3, 4], ..flow };
    made.flows = made.flows.into_iter().map(ways).collect();
    let late = FlowSpec { initial_write: Some(AppWrite::ENDLESS), start: at(123), member: 9, ..made.flows[0].clone() };
    made.flows.push(FlowSpec { forward: vec![0, 1], ..late });
    made.with_external_hosts()
}

/// Injects packets at their times and polls at the times that `next` returns. Returns the outputs, each with the time of its poll, and the
/// number of polls.
fn run_driver(
    network: &Network,
    packets: &[(Time, ExternalPacket)],
    next: fn(&mut Simulation<NoProbe>) -> Option<Time>,
) -> (Vec<(Time, SimOutput)>, u64) {
    let mut simulation = Simulation::new(network, &options(1, 1), NoProbe);
    let (mut heard, mut looks, end) = (Vec::new(), 0, at(1000));
    let mut packets = packets.iter().peekable();
    while simulation.now() < end {
        let wake = next(&mut simulation).unwrap_or(end).min(end);
        let wake = packets.peek().map_or(wake, |(time, _)| wake.min(*time));
        simulation.advance_to(wake);
        let now = simulation.now();
        heard.extend(simulation.drain_outputs().map(|happened| (now, happened)));
        while let Some((_, external)) = packets.next_if(|(time, _)| *time <= now) {
            simulation.inject_host_packet(external);
        }
        heard.extend(simulation.drain_outputs().map(|happened| (now, happened)));
        looks += 1;
    }
    (heard, looks)
}

/// Time of an output if the driver has to react then.
fn required_poll_time(happened: &SimOutput) -> Option<Time> {
    match happened {
        SimOutput::Arrived { at, .. } | SimOutput::Open { at, .. } | SimOutput::Write { at, .. } => Some(*at),
        _ => None,
    }
}

fn timed_packets() -> impl Strategy<Value = Vec<(Time, ExternalPacket)>> {
    let packet = (0..800_000_u64, any::<bool>(), any::<bool>(), 40..1500_u32);
    prop::collection::vec(packet, 0..150).prop_map(|mut packets| {
        packets.sort_unstable();
        let external = |(handle, (micros, late, back, size)): (usize, (u64, bool, bool, u32))| {
            let direction = if back { Direction::Back } else { Direction::Forward };
            let external = ExternalPacket {
                flow: u32::from(late),
                direction,
                size,
                ecn: Ecn::Ect0,
                handle: handle as u32,
                ..ExternalPacket::default()
            };
            (Time::ZERO + Span::from_micros(micros), external)
        };
        packets.into_iter().enumerate().map(external).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn polling_at_next_output_time_sees_every_output_in_time(
        packets in timed_packets(),
        delays in [0..20_000_u64, 0..20_000_u64, 0..20_000_u64, 0..20_000_u64],
        impaired: bool,
        shorter in prop::option::of(0..20_000_u64),
    ) {
        let network = five_link_network(delays, impaired, shorter);
        let (each, looks_each) = run_driver(&network, &packets, Simulation::next_event_time);
        let (seldom, looks) = run_driver(&network, &packets, Simulation::next_output_time);
        let outputs_of = |heard: &[(Time, SimOutput)]| heard.iter().map(|(_, happened)| *happened).collect::<Vec<_>>();
        prop_assert_eq!(outputs_of(&each), outputs_of(&seldom));
        for (when, happened) in &seldom {
            prop_assert!(required_poll_time(happened).is_none_or(|at| at == *when), "{happened:?} heard at {when:?}");
        }
        prop_assert!(looks <= looks_each);
    }
}

#[test]
fn a_chain_of_links_needs_about_one_poll_per_arrival() {
    let packets: Vec<_> = (0..100)
        .map(|handle| (at(u64::from(handle) * 5 + 1), ExternalPacket { size: 1000, ecn: Ecn::Ect0, handle, ..ExternalPacket::default() }))
        .collect();
    let mut network = five_link_network([5_000, 20_000, 10_000, 10_000], false, None);
    // The late flow's route ends before the last link, where the other's packets would also need polls.
    network.flows.truncate(1);
    let (heard, looks) = run_driver(&network, &packets, Simulation::next_output_time);
    let (_, looks_each) = run_driver(&network, &packets, Simulation::next_event_time);
    assert_eq!(100, heard.iter().filter(|(_, happened)| matches!(happened, SimOutput::Arrived { .. })).count());
    // An injection and an arrival for each packet, 28 requests, and few idle polls.
    assert!((looks, looks_each) < (260, 460) && looks_each > 400, "{looks} of {looks_each}");
}
