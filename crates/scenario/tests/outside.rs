//! Hosts outside of the engine against those inside: the packets of a simulated run, injected by a driver into the same network, meet the
//! same decisions of the same queues.

use std::collections::BTreeMap;

use ecnlab_queue::{Cause, Frame, KernelQueue, Registry};
use ecnlab_scenario::{Scenario, no_files};
use ecnlab_sim::arrivals::QueueDeed;
use ecnlab_sim::network::Network;
use ecnlab_sim::probe::Made;
use ecnlab_sim::{Buffer, Foreign, Happened, Off, Options, Packet, PacketId, PacketKind, Probe, Run, Simulation, Toward};
use ecnlab_units::{Ecn, Span, Time};

/// Packets as they were made.
#[derive(Default)]
struct Packets(Vec<(Time, Foreign)>);

impl Probe for Packets {
    const LINKS: bool = true;

    fn made(&mut self, now: Time, _id: PacketId, packet: &Packet, made: &Made) {
        let is_ack = packet.kind() == PacketKind::Ack;
        let foreign = Foreign {
            flow: packet.flow,
            toward: if is_ack { Toward::Source } else { Toward::Sink },
            size: packet.size,
            payload: if is_ack { 0 } else { made.endpoint.carried(packet.seq, packet.size) },
            retransmission: packet.bits.retransmission(),
            ecn: packet.ecn,
            rtt: made.endpoint.reported_rtt(),
            label: packet.connection,
            role: packet.role(),
            ece: packet.bits.ece(),
            cwr: packet.bits.cwr(),
            ticket: self.0.len() as u32,
        };
        self.0.push((now, foreign));
    }
}

/// Bulk, datagrams and exchanges over two congested links whose delays no two flows share, with impairments before the first queue.
fn scenario(queue: &str) -> Scenario {
    let text = format!(
        r#"
        name = "outside"
        duration = "20 s"
        measure_from = "3 s"
        [[link]]
        name = "l"
        from = "a"
        to = "b"
        rate = "3.01 Mbps"
        delay = "7.001 ms"
        queue = {queue}
        impair = [{{ kind = "loss", rate = 0.003 }}, {{ kind = "duplicate", rate = 0.01 }}, {{ kind = "jitter", delay = "uniform 0 ms to 3 ms" }}]
        [[link]]
        name = "m"
        from = "b"
        to = "c"
        rate = "2.77 Mbps"
        delay = "3.0007 ms"
        queue = {queue}
        [[flows]]
        name = "bulk"
        to = "c"
        count = 5
        tcp = {{ profile = "linux", ecn = true }}
        access = {{ to = "a", rate = "20 Mbps", delay = ["11.13 ms", "23.71 ms", "37.917 ms", "5.3 ms", "51.3 ms"] }}
        [[flows]]
        name = "plain"
        to = "c"
        count = 3
        tcp = {{ profile = "linux", variant = "reno" }}
        access = {{ to = "a", rate = "20 Mbps", delay = ["13.3 ms", "29.9 ms", "3.91 ms"] }}
        [[flows]]
        name = "requests"
        to = "c"
        count = 3
        app = {{ kind = "exchange", response = 20000 }}
        tcp = {{ profile = "linux", ecn = true }}
        access = {{ to = "a", rate = "20 Mbps", delay = ["9.13 ms", "21.79 ms", "31.117 ms"] }}
        [[flows]]
        name = "voice"
        to = "c"
        count = 2
        app = {{ kind = "onoff" }}
        udp = {{ packet_size = 300, ecn = "ect1" }}
        access = {{ to = "a", rate = "20 Mbps", delay = ["1.3 ms", "2.9 ms"] }}
        "#
    );
    Scenario::from_toml(&text, &[], &Registry::builtin(), &no_files).unwrap_or_else(|why| panic!("{queue}: {why:#?}"))
}

fn options(scenario: &Scenario) -> Options {
    Options { duration: Time::ZERO + scenario.duration, measure_from: Time::ZERO + scenario.measure_from, seed: 7 }
}

/// Injects packets at their times.
fn drive(network: &Network, options: &Options, packets: &[(Time, Foreign)]) -> Run {
    let mut simulation = Simulation::new(network, options, Off);
    let mut underway = BTreeMap::new();
    let mut settle = |simulation: &mut Simulation<Off>, entered: Option<u32>| {
        if let Some(ticket) = entered {
            *underway.entry(ticket).or_insert(0) += 1;
        }
        for happened in simulation.happened() {
            match happened {
                Happened::Arrived { ticket, at, .. } | Happened::Lost { ticket, at } => {
                    assert!(at >= packets[ticket as usize].0);
                    *underway.get_mut(&ticket).expect("it is under way") -= 1;
                }
                Happened::Copied { ticket } => *underway.get_mut(&ticket).expect("it is under way") += 1,
                Happened::Offered { .. } => panic!("no queue is outside"),
                Happened::Open { .. } | Happened::Answer { .. } | Happened::Produce { .. } => {}
            }
        }
        underway.retain(|_, copies| *copies > 0);
    };
    for (time, foreign) in packets {
        simulation.advance_to(*time);
        settle(&mut simulation, None);
        simulation.inject(foreign);
        settle(&mut simulation, Some(foreign.ticket));
    }
    simulation.finish().0
}

#[test]
fn packets_of_hosts_outside_meet_the_decisions_that_they_met_as_packets_of_hosts_inside() {
    let queues = [
        r#"{ aqm = "droptail", limit = 30 }"#,
        r#"{ aqm = "red", limit = 80, min_th = 5, max_th = 25, max_p = 0.1 }"#,
        r#"{ aqm = "ecn", limit = 80, min_th = 5, max_th = 25, max_p = 0.1 }"#,
        r#"{ aqm = "pie", limit = 80 }"#,
        r#"{ aqm = "codel", limit = 80 }"#,
        r#"{ aqm = "pi2", limit = 80 }"#,
        r#"{ discipline = "fq", limit = 80, aqm = { name = "codel" } }"#,
        r#"{ discipline = "dualpi2", limit = 80 }"#,
    ];
    for queue in queues {
        let scenario = scenario(queue);
        let options = options(&scenario);
        let (inside, packets) = Simulation::new(&scenario.network, &options, Packets::default()).finish();
        assert!(packets.0.len() > 5_000, "{queue}: {} packets", packets.0.len());
        let outside = drive(&scenario.network.clone().with_ends_outside(), &options, &packets.0);
        for table in ["queues", "bands", "impairments"] {
            assert_eq!(format!("{:?}", inside.report.table(table)), format!("{:?}", outside.report.table(table)), "{queue}: {table}");
        }
        // A host inside passes over packets of a connection that is over, and a driver counts what arrives.
        let once = scenario.groups.iter().position(|name| name == "requests").unwrap() as f64;
        let is_once: Vec<bool> = inside.report.reals("flows", "group").iter().map(|group| *group == once).collect();
        for column in ["sent", "marks", "drops", "throughput_bps", "goodput_first_bps", "delay_mean_s", "delay_p99_s"] {
            let counts_arrivals = !matches!(column, "sent" | "marks" | "drops");
            let of = |run: &Run| {
                let rows = run.report.reals("flows", column).into_iter().zip(&is_once);
                rows.filter(|(_, once)| !(counts_arrivals && **once)).map(|(value, _)| value.to_bits()).collect::<Vec<_>>()
            };
            assert_eq!(of(&inside), of(&outside), "{queue}: {column}");
        }
        assert_eq!(inside.packet_hops, outside.packet_hops, "{queue}");
        let lost: f64 = ["marks", "drops"].iter().flat_map(|column| inside.report.reals("flows", column)).sum();
        assert!(lost > 100.0, "{queue}: {lost} marks and drops");
    }
}

/// What the first queue does to packets, and what is in their ECN field behind it.
#[derive(Default)]
struct Deeds(Vec<(&'static str, Ecn)>);

impl Probe for Deeds {
    const QUEUES: bool = true;

    fn queue_did(&mut self, _now: Time, queue: u32, deed: QueueDeed) {
        let told = match deed {
            QueueDeed::Came(frame) => ("came", frame.ecn()),
            QueueDeed::Marked(frame, _) => ("marked", frame.ecn()),
            QueueDeed::Dropped(frame, _) => ("dropped", frame.ecn()),
            QueueDeed::Left { frame, .. } => ("left", frame.ecn()),
            _ => return,
        };
        if queue == 0 {
            self.0.push(told);
        }
    }
}

#[test]
fn a_queue_of_a_kernel_counts_what_it_is_told() {
    let mut scenario = scenario(r#"{ kernel = "red", limit = 60000, ecn = true, mode = "adaptive" }"#);
    let Buffer::Queue(queue) = &scenario.network.links[0].buffer else { panic!("a queue") };
    let arguments = [("ecn", "true"), ("limit", "60000"), ("mode", "adaptive")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(Some(&KernelQueue { name: "red".to_owned(), arguments: arguments.to_vec() }), queue.of.kernel());
    scenario.network.links[0].impairment = None;
    let mut simulation = Simulation::new(&scenario.network.with_ends_outside(), &OPTIONS, Deeds::default());
    let happened = |simulation: &mut Simulation<Deeds>| -> Vec<Happened> {
        let asks = |it: &Happened| matches!(it, Happened::Open { .. } | Happened::Answer { .. } | Happened::Produce { .. });
        simulation.happened().filter(|it| !asks(it)).collect()
    };
    let packet = |ticket| Foreign { size: 1500, payload: 1448, ecn: Ecn::Ect0, ticket, ..Foreign::default() };
    (0..3).for_each(|ticket| simulation.inject(&packet(ticket)));
    simulation.advance_to(at(100));
    let first: Vec<u32> = happened(&mut simulation)
        .iter()
        .map(|it| match it {
            Happened::Offered { ticket, link: 0, ecn: Ecn::Ect0, .. } => *ticket,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(vec![0, 1, 2], first);
    assert!(simulation.released(0, 1, Ecn::Ce) && !simulation.released(0, 1, Ecn::Ce) && !simulation.released(9, 0, Ecn::Ce));
    assert!(simulation.copied(0, 0) && !simulation.copied(0, 9));
    assert!(simulation.dropped(0, 0, Cause::Early) && simulation.dropped(0, 0, Cause::Overflow) && !simulation.dropped(0, 0, Cause::Early));
    let lost = Happened::Lost { ticket: 0, at: at(100) };
    assert_eq!(vec![Happened::Copied { ticket: 0 }, lost, lost], happened(&mut simulation));
    simulation.advance_to(at(200));
    let behind = ecnlab_units::Rate::from_bps(3_010_000).expect("a rate").transmission(1500) + Span::from_micros(7_001);
    assert_eq!(vec![Happened::Offered { ticket: 1, at: at(100) + behind, link: 1, ecn: Ecn::Ce }], happened(&mut simulation));
    let (run, deeds) = simulation.finish();
    let (came, dropped) = (("came", Ecn::Ect0), ("dropped", Ecn::Ect0));
    let told = [came, came, came, ("marked", Ecn::Ce), ("left", Ecn::Ce), came, dropped, dropped].into_iter();
    assert_eq!(told.collect::<Vec<_>>(), deeds.0);
    let of = |column| run.report.reals("queues", column);
    assert_eq!([4.0, 1.0, 1.0], [of("arrivals")[0], of("departures")[0], of("marks")[0]]);
    assert_eq!([1.0, 1.0], [of("drops_early")[0], of("drops_overflow")[0]]);
    assert_eq!((1.0, 2.0), (run.report.reals("flows", "marks")[0], run.report.reals("flows", "drops")[0]));
    assert!(of("sojourn_mean_s")[0] > 0.05 && of("length_max_packets")[0] == 3.0);
}

const OPTIONS: Options = Options { duration: Time::from_picos(1_000_000_000_000), measure_from: Time::ZERO, seed: 1 };

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}
