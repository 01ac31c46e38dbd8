//! Links in virtual time: the same arrivals leave at the same times, with the same marks and drops, as on a link of the engine.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use common::scripted_app::{host, template};
use common::{options, pipe};
use ecnlab_queue::{Bursts, Child, Datagram, Discipline, Limit, QueueConfig, Registry, VirtualLink};
use ecnlab_sim::{Direction, ExternalPacket, LinkName, LinkSpec, Network, NoProbe, PipeOrQueue, QueueSpec, SimOutput, Simulation};
use ecnlab_units::{Ecn, Rate, Rng, Span, Time};

const SEED: u64 = 7;
const NAME: &str = "port";
const FLOWS: u64 = 5;
const DELAY: Span = Span::from_picos(12_345_678_901);

type Deliveries = Vec<(Time, u32, Ecn)>;

fn aqm(name: &str, values: &[(&str, &str)]) -> Child {
    Child::Aqm { aqm: Registry::builtin().aqm_config(name, values).unwrap(), limit: Limit::Packets(60) }
}

fn queue(name: &str, values: &[(&str, &str)], child: Child) -> QueueConfig {
    Registry::builtin().queue_config(name, values, child).unwrap()
}

/// Queues that decide on arrival, on departure and on a timer, that reorder, and that hold packets back.
fn queues() -> Vec<QueueConfig> {
    let codel = || queue("fifo", &[], aqm("codel", &[]));
    vec![
        queue("fifo", &[], aqm("droptail", &[])),
        queue("fifo", &[], aqm("ecn", &[("min_th", "5"), ("max_th", "15"), ("w_q", "0.1")])),
        codel(),
        queue("fifo", &[], aqm("pie", &[])),
        queue("fifo", &[], aqm("pi2", &[("t_update", "16 ms")])),
        queue("fq", &[], aqm("codel", &[])),
        queue("dualpi2", &[], Child::Buffer { limit: Limit::Bytes(60_000) }),
        queue("tbf", &[("rate", "3 Mbps"), ("burst", "4 KB")], Child::Queue(Box::new(queue("fq", &[], aqm("codel", &[]))))),
        queue("cbq", &[("rate", "3 Mbps")], Child::Queue(Box::new(codel()))),
    ]
}

/// No bursts, and bursts of packets, of bytes and without end. Slots often begin as a packet arrives or a transmission ends.
fn bursts() -> [Option<Bursts>; 4] {
    let bursts = |period_ms, aggregate| Some(Bursts { period: Span::from_millis(period_ms), aggregate });
    [None, bursts(4, Some(Limit::Packets(3))), bursts(2, Some(Limit::Bytes(1700))), bursts(1, None)]
}

/// Bursts and pauses of 4000 packets. On a link of 8 Mbps many arrive just as a transmission ends or a timer fires.
fn arrivals() -> Vec<(Time, Datagram<u32>)> {
    let mut rng = Rng::for_role(SEED, "arrivals");
    let mut now = Time::ZERO;
    let mut next = |number| {
        now += match rng.below(8) {
            0 | 1 => Span::ZERO,
            2 | 3 => Span::from_millis(1),
            4 => Span::from_millis(rng.below(4)),
            5 => Span::from_micros(rng.below(3_000)),
            6 => Span::from_picos(rng.below(2_000_000_000)),
            _ if rng.below(60) == 0 => Span::from_millis(rng.below(200)),
            _ => Span::ZERO,
        };
        let size = [1000, 1000, 1000, 1500, 40, 333][rng.below(6) as usize];
        let ecn = Ecn::from_bits(rng.below(4) as u8);
        (now, Datagram { payload: number, size, ecn, flow: rng.below(FLOWS) })
    };
    (0..4000).map(&mut next).collect()
}

fn engine_deliveries(config: &QueueConfig, rate: Rate, bursts: Option<Bursts>) -> Deliveries {
    let buffer = PipeOrQueue::Queue(Box::new(QueueSpec { bursts, ..QueueSpec::new(NAME, config.clone()) }));
    let link = LinkSpec { name: LinkName::shared(NAME, Direction::Forward), rate, delay: DELAY, buffer, ..pipe(1, 0, 0) };
    let flows = vec![template(host(true)).flow; FLOWS as usize];
    let network = Network { links: vec![link, pipe(1, 0, 1)], flows, groups: vec!["all".into()], ..Network::default() };
    let mut simulation = Simulation::new(&network.with_external_hosts(), &options(60, SEED), NoProbe);
    for (time, packet) in arrivals() {
        simulation.advance_to(time);
        let Datagram { payload: handle, size, ecn, flow } = packet;
        simulation.inject_host_packet(&ExternalPacket { flow: flow as u32, size, ecn, handle, payload: size, ..ExternalPacket::default() });
    }
    simulation.advance_to(Time::ZERO + Span::from_secs(59));
    let outputs = simulation.drain_outputs();
    outputs
        .filter_map(|output| if let SimOutput::Arrived { at, handle, ecn, .. } = output { Some((at, handle, ecn)) } else { None })
        .collect()
}

/// Deliveries of the link, polled before each arrival or only at times far apart.
fn link_deliveries(
    config: &QueueConfig,
    rate: Rate,
    bursts: Option<Bursts>,
    polls_rarely: bool,
) -> (Deliveries, VirtualLink<Datagram<u32>>) {
    let link = VirtualLink::new(config, rate, DELAY, Rng::for_role(SEED, format_args!("queue {NAME}")));
    let mut link = if let Some(bursts) = bursts { link.with_bursts(bursts) } else { link };
    let mut deliveries = Vec::new();
    for (number, (time, packet)) in arrivals().into_iter().enumerate() {
        while let Some(due) = link.next_event().filter(|&due| due <= time && !polls_rarely) {
            deliveries.extend(link.poll(due).inspect(|(at, _)| assert_eq!(due, *at)));
        }
        if number % 1000 == 999 {
            deliveries.extend(std::iter::from_fn(|| link.poll(time)));
        }
        // The engine's numbers of flows distinguish both directions.
        link.enqueue(time, Datagram { flow: packet.flow << 1, ..packet });
    }
    while let Some(due) = link.next_event() {
        deliveries.extend(link.poll(due));
    }
    (deliveries.into_iter().map(|(at, packet)| (at, packet.payload, packet.ecn)).collect(), link)
}

#[test]
fn the_same_arrivals_leave_at_the_same_times_as_on_a_link_of_the_engine() {
    for bps in [8_000_000, 7_300_007] {
        let rate = Rate::from_bps(bps).unwrap();
        for (config, bursts) in queues().into_iter().flat_map(|config| bursts().map(|bursts| (config.clone(), bursts))) {
            let expected = engine_deliveries(&config, rate, bursts);
            let (deliveries, link) = link_deliveries(&config, rate, bursts, false);
            assert!(expected == deliveries, "{config:?} at {bps} bps, {bursts:?}");
            let counters = link.counters();
            assert_eq!(4000, counters.departed.packets + counters.dropped_packets(), "{config:?} at {bps} bps");
            assert!(counters.dropped_packets() > 0, "the arrivals must make {config:?} decide something");
            link.queue().assert_conservation();
        }
    }
}

#[test]
fn a_caller_that_polls_late_gets_the_same_deliveries() {
    let rate = Rate::from_bps(8_000_000).unwrap();
    for config in queues() {
        for bursts in bursts() {
            let deliveries = |polls_rarely| link_deliveries(&config, rate, bursts, polls_rarely).0;
            assert!(deliveries(false) == deliveries(true), "{config:?}, {bursts:?}");
        }
    }
}

#[test]
fn next_event_is_the_release_of_a_shaper_while_the_wire_is_empty() {
    let rate = Rate::from_bps(8_000_000).unwrap();
    let shaped = queue("tbf", &[("rate", "1 Mbps"), ("burst", "1000 B")], Child::Queue(Box::new(queue("fifo", &[], aqm("droptail", &[])))));
    let mut link = VirtualLink::new(&shaped, rate, Span::ZERO, Rng::for_role(SEED, NAME));
    assert_eq!(None, link.next_event());
    for number in 0..2 {
        link.enqueue(Time::ZERO, Datagram { payload: number, size: 1000, ..Datagram::default() });
    }
    let ms = |millis| Time::ZERO + Span::from_millis(millis);
    assert_eq!(Some(ms(1)), link.next_event());
    assert_eq!(Some((ms(1), 0)), link.poll(ms(1)).map(|(at, packet)| (at, packet.payload)));
    // 1000 bytes of tokens take 8 ms.
    assert_eq!(Some(ms(8)), link.next_event());
    assert_eq!(None, link.poll(ms(8)));
    assert_eq!(Some(ms(9)), link.next_event());
    assert_eq!(Some((ms(9), 1)), link.poll(ms(9)).map(|(at, packet)| (at, packet.payload)));
    assert_eq!((None, 0), (link.next_event(), Discipline::<Datagram<u32>>::len(link.queue())));
}

#[test]
#[should_panic(expected = "the time of a link must not go back")]
fn time_does_not_go_back() {
    let config = queue("fifo", &[], aqm("droptail", &[]));
    let mut link: VirtualLink<Datagram<u32>> = VirtualLink::new(&config, Rate::from_bps(1).unwrap(), DELAY, Rng::for_role(SEED, NAME));
    link.enqueue(Time::from_picos(2), Datagram::default());
    link.poll(Time::from_picos(1));
}
