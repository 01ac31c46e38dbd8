//! Captures of connections with data in both directions: each is one connection with consistent directions.

mod captures;

use std::collections::BTreeMap;

use captures::{events, tshark};
use ecnlab_scenario::{Registry, Scenario, no_files};
use ecnlab_sim::{RunTimesAndSeed, Simulation, TraceFormat, TraceSpec, Tracer};
use ecnlab_trace::EcnCheck;
use ecnlab_trace::check::CheckReport;
use ecnlab_units::{Ecn, Time};
use ecnlab_wire::{End, Flags, IpVersion, Location, Packet, Reader, Tcp, TraceEvent};

/// Runs six clients at one end of a link and their servers at the other with this application; a queue in each direction.
fn run_transactions(app: &str, queue: &str, overrides: &[(&str, &str)]) -> Vec<u8> {
    let text = format!(
        "name = \"talk\"\nduration = \"40 s\"\nmeasure_from = \"0 s\"\n\n\
         [[link]]\nname = \"bottleneck\"\nfrom = \"router\"\nto = \"clients\"\nrate = \"5 Mbps\"\ndelay = \"5 ms\"\n\
         queue = {queue}\nreverse = {{ rate = \"5 Mbps\", queue = {queue} }}\n\n\
         [[flows]]\nname = \"servers\"\ncount = 6\nto = \"clients\"\naccess = {{ to = \"router\", rate = \"10 Mbps\", delay = \"10 ms\" }}\n\
         tcp = {{ profile = \"linux\", ecn = true }}\napp = {app}\n"
    );
    let overrides: Vec<_> = overrides.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let scenario = Scenario::from_toml(&text, &overrides, &Registry::builtin(), &no_files).unwrap();
    let options = RunTimesAndSeed { duration: Time::ZERO + scenario.duration, measure_from: Time::ZERO, seed: 1 };
    let links = ["servers.access", "servers.access.reverse", "bottleneck", "bottleneck.reverse"].map(str::to_owned).to_vec();
    let format = TraceFormat::Pcapng { keep: 65_535, version: IpVersion::V4 };
    let (_, mut tracer) = Simulation::new(&scenario.network, &options, Tracer::new(TraceSpec { format, links })).finish();
    tracer.write_begun_transmissions(options.duration);
    std::mem::take(tracer.bytes_mut().unwrap())
}

const DROPTAIL_QUEUE: &str = "{ aqm = \"droptail\", limit = 1000 }";
const MARKING_QUEUE: &str = "{ aqm = \"ecn\", limit = 30, min_th = 2, max_th = 20, max_p = 0.2, w_q = 0.1 }";
/// Small requests, whose ACK waits for the response, and transfers that fill windows in both directions.
const APPS: [&str; 4] = [
    "{ kind = \"exchange\", request = \"300 B\", response = \"60 kB\", count = 8, connection = \"keep\" }",
    "{ kind = \"exchange\", request = \"42 kB\", response = \"60 kB\", count = 8, connection = \"keep\" }",
    "{ kind = \"exchange\", request = \"42 kB\", response = \"60 kB\", count = 8, connection = \"new\" }",
    "{ kind = \"web\", request = \"3 kB\", connections = 2, connection = \"keep\", count = 5 }",
];

/// Data sent so far by one end of a connection, as seen on its private link.
#[derive(Default)]
struct SentData {
    syns: u32,
    fins: u32,
    /// Sequence number after the last byte sent.
    next: u32,
    /// Highest ACK number that it sent.
    ack: u32,
    carried_both: u32,
}

/// Processes a packet sent by an end; the other end's data is known, since both are observed at the same place.
fn add_packet(packet: &Packet, sent_data: &mut SentData) {
    let takes = u32::from(packet.has(Flags::SYN)) + u32::from(packet.has(Flags::FIN)) + packet.payload;
    sent_data.syns += u32::from(packet.has(Flags::SYN));
    sent_data.fins += u32::from(packet.has(Flags::FIN));
    assert!(packet.tcp.seq <= sent_data.next, "a gap before {}", packet.tcp.seq);
    if takes == 0 {
        assert_eq!(sent_data.next, packet.tcp.seq, "an acknowledgement has the number of what is sent next");
    }
    assert!(packet.tcp.ack >= sent_data.ack, "an acknowledgement is taken back");
    sent_data.carried_both += u32::from(packet.payload > 0 && packet.tcp.ack > sent_data.ack);
    (sent_data.next, sent_data.ack) = (sent_data.next.max(packet.tcp.seq + takes), packet.tcp.ack);
}

/// Packets to and from servers at their private links, by the server's end.
fn data_at_servers(events: &[TraceEvent]) -> BTreeMap<(End, End), [SentData; 2]> {
    let mut connections: BTreeMap<(End, End), [SentData; 2]> = BTreeMap::new();
    for TraceEvent { location, packet, .. } in events {
        let Location::Interface(interface) = location else { panic!("a capture has interfaces") };
        // Each link has an interface before it and one after it. Packets that leave a server are read before its link, packets to it after
        // the reverse link.
        let way = match interface % 4 {
            0 if *interface >= 4 => 0,
            3 if *interface >= 4 => 1,
            _ => continue,
        };
        let key = if way == 0 { (packet.source, packet.destination) } else { (packet.destination, packet.source) };
        add_packet(packet, &mut connections.entry(key).or_default()[way]);
        let [server, client] = &connections[&key];
        assert!(server.ack <= client.next, "the server acknowledges {} of {}", server.ack, client.next);
        assert!(client.ack <= server.next, "the client acknowledges {} of {}", client.ack, server.next);
    }
    connections
}

#[test]
fn two_flows_are_one_connection_whose_directions_acknowledge_each_other() {
    for (app, connections) in APPS.iter().zip([6, 6, 48, 12]) {
        let bytes = run_transactions(app, DROPTAIL_QUEUE, &[]);
        let seen = data_at_servers(&events(&bytes));
        assert_eq!(connections, seen.len(), "{app}");
        for [server, client] in seen.values() {
            assert_eq!((1, 1), (server.syns, client.syns), "{app}");
            let fins = u32::from(app.contains("new"));
            assert_eq!((fins, fins), (server.fins, client.fins), "{app}");
        }
        let rode = seen.values().map(|[server, _]| server.carried_both).sum::<u32>();
        assert!(rode >= 36 || !app.contains("300 B"), "{app}: {rode} responses were the first to acknowledge their request");
        if app.contains("42 kB") {
            let carried = |of: fn(&[SentData; 2]) -> u32| seen.values().map(of).sum::<u32>();
            let (opens, closes) = (2 * connections as u32, if app.contains("new") { 2 * connections as u32 } else { 0 });
            assert_eq!(6 * 8 * 102_000 + opens + closes, carried(|[server, client]| server.next + client.next), "{app}");
        }
    }
}

/// With Linux's buffer of 128 KB: 45 segments on the SYN-ACK, which is not scaled, and a window scale of 7. Later windows are the rest of
/// that, down to half of the buffer less one segment, in whole steps of the scale. Requests as small as these do not grow it.
#[test]
fn windows_are_those_that_acknowledgements_tell() {
    let bytes = run_transactions(APPS[0], DROPTAIL_QUEUE, &[("flows.servers.count", "1")]);
    let answers = events(&bytes).into_iter().filter(|event| event.location == Location::Interface(0) && event.packet.has(Flags::ACK));
    let answers: Vec<Tcp> = answers.map(|event| event.packet.tcp).collect();
    assert_eq!((45 * 1448, Some(7)), (u32::from(answers[0].window), answers[0].window_scale));
    let edges: Vec<u32> =
        answers.iter().map(|tcp| tcp.ack + (u32::from(tcp.window) << if tcp.window_scale.is_some() { 0 } else { 7 })).collect();
    assert!(edges[1..].is_sorted() && edges[1] + 128 > edges[0], "what was promised is not taken back");
    assert_eq!((65_536u32 - 1448).next_multiple_of(128), u32::from(answers.last().unwrap().window) << 7);
}

fn check_report(bytes: &[u8]) -> CheckReport {
    let mut reader = Reader::from_reader(bytes).unwrap();
    let mut check = EcnCheck::default();
    while let Some(event) = reader.next() {
        check.set_interface_count(reader.interfaces().len());
        let event = event.unwrap();
        check.on_event(&event, reader.records(), event.time);
    }
    check.finish()
}

/// Marks in both directions, each echoed on data and ACKs of the other, by hosts that reduce cwnd once per window as in RFC 3168.
#[test]
fn a_check_of_a_conversation_finds_nothing() {
    for app in APPS {
        let bytes = run_transactions(
            app,
            MARKING_QUEUE,
            &[("flows.servers.tcp.profile", "\"rfc\""), ("flows.servers.tcp.quirks.piggyback_acks", "true")],
        );
        let events = events(&bytes);
        let to_clients = |event: &&TraceEvent| event.location == Location::Interface(1);
        let to_servers = |event: &&TraceEvent| event.location == Location::Interface(3);
        let marked = |event: &&TraceEvent| event.packet.ecn == Ecn::Ce;
        let echoes = |event: &&TraceEvent| event.packet.payload > 0 && event.packet.has(Flags::ECE);
        let counts = [
            events.iter().filter(to_clients).filter(marked).count(),
            events.iter().filter(to_servers).filter(marked).count(),
            events.iter().filter(echoes).count(),
        ];
        assert!(!app.contains("42 kB") || counts.iter().all(|&count| count > 10), "{app}: {counts:?} marks both ways and echoes on data");
        let verdict = check_report(&bytes);
        assert_eq!(0, verdict.total_counts().violations, "{app}: {:?}", verdict.findings.first());
        assert_eq!(0, verdict.total_counts().departures, "{app}: {:?}", verdict.findings.first());
    }
}

/// Without losses and other packets in the queue, tshark at a server's host reports no anomalies.
#[test]
fn tshark_sees_whole_conversations_where_it_is_installed() {
    for app in APPS {
        let bytes = run_transactions(app, DROPTAIL_QUEUE, &[("flows.servers.count", "1")]);
        // Packets of the host enter its link, and packets to it leave the reverse link.
        let at_host = ["-Y", "frame.interface_id == 4 || frame.interface_id == 7", "-F", "pcapng", "-w", "-"];
        let Some(seen) = tshark(&bytes, &at_host) else {
            eprintln!("tshark is not installed");
            return;
        };
        let strange = "ip.checksum.status == 0 || tcp.checksum.status == 0 || _ws.malformed || frame.cap_len != frame.len \
                       || tcp.analysis.flags && !tcp.analysis.window_update";
        let complaints = tshark(&seen, &["-Y", strange]).unwrap();
        assert_eq!("", String::from_utf8(complaints).unwrap(), "{app}");
        let conversations = tshark(&seen, &["-T", "fields", "-e", "tcp.stream"]).unwrap();
        let last = String::from_utf8(conversations).unwrap().lines().map(|stream| stream.parse::<u32>().unwrap()).max();
        assert_eq!(Some(if app.contains("new") { 7 } else { u32::from(app.contains("web")) }), last, "{app}");
    }
}
