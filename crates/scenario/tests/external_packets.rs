//! External hosts compared with simulated ones: a driver injects the packets of a simulated run into the same network, and the queues make
//! the same decisions.

use std::collections::BTreeMap;

use ecnlab_queue::{KernelQdisc, QueueItem, Registry, SignalCause};
use ecnlab_scenario::{Scenario, no_files};
use ecnlab_sim::network::Network;
use ecnlab_sim::probe::PacketCreationContext;
use ecnlab_sim::queue_log::MeasuredQueueEvent;
use ecnlab_sim::{
    Direction, ExternalPacket, NoProbe, Packet, PacketId, PacketKind, PipeOrQueue, Probe, Run, RunTimesAndSeed, SimOutput, Simulation,
};
use ecnlab_units::{Ecn, Span, Time};

/// Packets in the order of their creation.
#[derive(Default)]
struct ExternalDriver(Vec<(Time, ExternalPacket)>);

impl Probe for ExternalDriver {
    const OBSERVES_PACKETS: bool = true;

    fn on_packet_created(&mut self, now: Time, _id: PacketId, packet: &Packet, made: &PacketCreationContext) {
        let is_ack = packet.kind() == PacketKind::Ack;
        let foreign = ExternalPacket {
            flow: packet.flow,
            direction: if is_ack { Direction::Back } else { Direction::Forward },
            size: packet.size,
            payload: if is_ack { 0 } else { made.endpoint.payload_of_packet(packet.seq, packet.size) },
            retransmission: packet.flags.is_retransmission(),
            ecn: packet.ecn,
            rtt: made.endpoint.rtt_written_into_packets(),
            connection_id: packet.connection_id,
            segment_type: packet.segment_type(),
            ece: packet.flags.ece(),
            cwr: packet.flags.cwr(),
            handle: self.0.len() as u32,
        };
        self.0.push((now, foreign));
    }
}

/// Bulk, datagrams and exchanges over two congested links with distinct delays of all flows, and impairments before the first queue.
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

fn options(scenario: &Scenario) -> RunTimesAndSeed {
    RunTimesAndSeed { duration: Time::ZERO + scenario.duration, measure_from: Time::ZERO + scenario.measure_from, seed: 7 }
}

/// Runs the network with packets injected at their times.
fn run_with_packets(network: &Network, options: &RunTimesAndSeed, packets: &[(Time, ExternalPacket)]) -> Run {
    let mut simulation = Simulation::new(network, options, NoProbe);
    let mut underway = BTreeMap::new();
    let mut settle = |simulation: &mut Simulation<NoProbe>, entered: Option<u32>| {
        if let Some(ticket) = entered {
            *underway.entry(ticket).or_insert(0) += 1;
        }
        for happened in simulation.drain_outputs() {
            match happened {
                SimOutput::Arrived { handle: ticket, at, .. } | SimOutput::Lost { handle: ticket, at } => {
                    assert!(at >= packets[ticket as usize].0);
                    *underway.get_mut(&ticket).expect("it is under way") -= 1;
                }
                SimOutput::Duplicated { handle: ticket } => *underway.get_mut(&ticket).expect("it is under way") += 1,
                SimOutput::KernelEnqueued { .. } => panic!("no queue is outside"),
                SimOutput::Open { .. } | SimOutput::Answer { .. } | SimOutput::Write { .. } => {}
            }
        }
        underway.retain(|_, copies| *copies > 0);
    };
    for (time, foreign) in packets {
        simulation.advance_to(*time);
        settle(&mut simulation, None);
        simulation.inject_host_packet(foreign);
        settle(&mut simulation, Some(foreign.handle));
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
        let (inside, packets) = Simulation::new(&scenario.network, &options, ExternalDriver::default()).finish();
        assert!(packets.0.len() > 5_000, "{queue}: {} packets", packets.0.len());
        let outside = run_with_packets(&(*scenario.network).clone().with_external_hosts(), &options, &packets.0);
        for table in ["queues", "bands", "impairments"] {
            assert_eq!(format!("{:?}", inside.report.table(table)), format!("{:?}", outside.report.table(table)), "{queue}: {table}");
        }
        // A simulated host ignores packets of a closed connection, and a driver counts all arrivals.
        let once = scenario.groups.iter().position(|name| name == "requests").unwrap() as f64;
        let is_once: Vec<bool> = inside.report.column_as_reals("flows", "group").iter().map(|group| *group == once).collect();
        for column in ["sent", "marks", "drops", "throughput_bps", "goodput_first_bps", "delay_mean_s", "delay_p99_s"] {
            let counts_arrivals = !matches!(column, "sent" | "marks" | "drops");
            let of = |run: &Run| {
                let rows = run.report.column_as_reals("flows", column).into_iter().zip(&is_once);
                rows.filter(|(_, once)| !(counts_arrivals && **once)).map(|(value, _)| value.to_bits()).collect::<Vec<_>>()
            };
            assert_eq!(of(&inside), of(&outside), "{queue}: {column}");
        }
        assert_eq!(inside.packet_hops, outside.packet_hops, "{queue}");
        let lost: f64 = ["marks", "drops"].iter().flat_map(|column| inside.report.column_as_reals("flows", column)).sum();
        assert!(lost > 100.0, "{queue}: {lost} marks and drops");
    }
}

/// Actions of the first queue on packets, and their ECN fields after it.
#[derive(Default)]
struct ActionRecorder(Vec<(&'static str, Ecn)>);

impl Probe for ActionRecorder {
    fn observes_queue_events(&self) -> bool {
        true
    }

    fn on_queue_event(&mut self, _now: Time, queue: u32, deed: MeasuredQueueEvent) {
        let told = match deed {
            MeasuredQueueEvent::Arrived(frame) => ("came", frame.ecn()),
            MeasuredQueueEvent::Marked(frame, _) => ("marked", frame.ecn()),
            MeasuredQueueEvent::Dropped(frame, _) => ("dropped", frame.ecn()),
            MeasuredQueueEvent::Departed { frame, .. } => ("left", frame.ecn()),
            _ => return,
        };
        if queue == 0 {
            self.0.push(told);
        }
    }
}

#[test]
fn a_queue_of_a_kernel_counts_what_it_is_told() {
    let scenario = scenario(r#"{ kernel = "red", limit = 60000, ecn = true, mode = "adaptive" }"#);
    let PipeOrQueue::Queue(queue) = &scenario.network.links[0].buffer else { panic!("a queue") };
    let arguments = [("ecn", "true"), ("limit", "60000"), ("mode", "adaptive")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(Some(&KernelQdisc { name: "red".to_owned(), arguments: arguments.to_vec() }), queue.config.wrapped_kernel_qdisc());
    let mut network = (*scenario.network).clone();
    network.links[0].impairment = None;
    let mut simulation = Simulation::new(&network.with_external_hosts(), &OPTIONS, ActionRecorder::default());
    let happened = |simulation: &mut Simulation<ActionRecorder>| -> Vec<SimOutput> {
        let asks = |it: &SimOutput| matches!(it, SimOutput::Open { .. } | SimOutput::Answer { .. } | SimOutput::Write { .. });
        simulation.drain_outputs().filter(|it| !asks(it)).collect()
    };
    let packet = |ticket| ExternalPacket { size: 1500, payload: 1448, ecn: Ecn::Ect0, handle: ticket, ..ExternalPacket::default() };
    (0..3).for_each(|ticket| simulation.inject_host_packet(&packet(ticket)));
    simulation.advance_to(at(100));
    let first: Vec<u32> = happened(&mut simulation)
        .iter()
        .map(|it| match it {
            SimOutput::KernelEnqueued { handle: ticket, link: 0, ecn: Ecn::Ect0, .. } => *ticket,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(vec![0, 1, 2], first);
    assert!(
        simulation.on_kernel_dequeue(0, 1, Ecn::Ce)
            && !simulation.on_kernel_dequeue(0, 1, Ecn::Ce)
            && !simulation.on_kernel_dequeue(9, 0, Ecn::Ce)
    );
    assert!(simulation.on_kernel_duplicate(0, 0) && !simulation.on_kernel_duplicate(0, 9));
    assert!(
        simulation.on_kernel_drop(0, 0, SignalCause::Early)
            && simulation.on_kernel_drop(0, 0, SignalCause::Overflow)
            && !simulation.on_kernel_drop(0, 0, SignalCause::Early)
    );
    let lost = SimOutput::Lost { handle: 0, at: at(100) };
    assert_eq!(vec![SimOutput::Duplicated { handle: 0 }, lost, lost], happened(&mut simulation));
    simulation.advance_to(at(200));
    let behind = ecnlab_units::Rate::from_bps(3_010_000).expect("a rate").transmission_time(1500) + Span::from_micros(7_001);
    assert_eq!(vec![SimOutput::KernelEnqueued { handle: 1, at: at(100) + behind, link: 1, ecn: Ecn::Ce }], happened(&mut simulation));
    let (run, deeds) = simulation.finish();
    let (came, dropped) = (("came", Ecn::Ect0), ("dropped", Ecn::Ect0));
    let told = [came, came, came, ("marked", Ecn::Ce), ("left", Ecn::Ce), came, dropped, dropped].into_iter();
    assert_eq!(told.collect::<Vec<_>>(), deeds.0);
    let of = |column| run.report.column_as_reals("queues", column);
    assert_eq!([4.0, 1.0, 1.0], [of("arrivals")[0], of("departures")[0], of("marks")[0]]);
    assert_eq!([1.0, 1.0], [of("drops_early")[0], of("drops_overflow")[0]]);
    assert_eq!((1.0, 2.0), (run.report.column_as_reals("flows", "marks")[0], run.report.column_as_reals("flows", "drops")[0]));
    assert!(of("sojourn_mean_s")[0] > 0.05 && of("length_max_packets")[0] == 3.0);
}

const OPTIONS: RunTimesAndSeed = RunTimesAndSeed { duration: Time::from_picos(1_000_000_000_000), measure_from: Time::ZERO, seed: 1 };

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}
