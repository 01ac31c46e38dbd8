//! Traces of runs: they do not change the run, and agree with its counters.

mod captures;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use captures::{events, tshark};
use ecnlab_scenario::{Registry, Scenario, no_files};
use ecnlab_sim::measures::{Column, Table};
use ecnlab_sim::{NoProbe, Recorder, RecorderAndTracer, RecordingConfig, Run, RunTimesAndSeed, Simulation, TraceFormat, TraceSpec, Tracer};
use ecnlab_units::{Ecn, Span, Time};
use ecnlab_wire::{Flags, IpVersion, Kind, Location, Reader, TraceEvent, TraceEventKind};
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{Block, PcapBlockOwned, PcapError, PcapNGReader};

/// Marks and drops at one queue, with hosts that use handshakes, FINs, timestamps and SACK, and hosts that do not.
const NETWORK: &str = r#"name = "traced"
duration = "8 s"
measure_from = "0 s"

[[link]]
name = "bottleneck"
from = "router"
to = "sink"
rate = "5 Mbps"
delay = "5 ms"
queue = { aqm = "ecn", limit = 40, min_th = 5, max_th = 15 }

[[flows]]
name = "hosts"
count = 3
to = "sink"
access = { to = "router", rate = "10 Mbps", delay = "10 ms" }
tcp = { profile = "linux", ecn = true }
app = "transactions"

[[flows]]
name = "simulated"
count = 6
to = "sink"
access = { to = "router", rate = "10 Mbps", delay = "20 ms" }
tcp = { profile = "ns2", variant = "sack", ecn = true, max_rwnd = 64 }

[[flows]]
name = "deaf"
count = 4
to = "sink"
access = { to = "router", rate = "10 Mbps", delay = "20 ms" }
tcp = { profile = "rfc", ecn = false }
"#;

const FULL_CAPTURE: TraceFormat = TraceFormat::Pcapng { keep: 65_535, version: IpVersion::V4 };

fn scenario() -> (Scenario, RunTimesAndSeed) {
    let scenario = Scenario::from_toml(NETWORK, &[], &Registry::builtin(), &no_files).unwrap();
    let options = RunTimesAndSeed { duration: Time::ZERO + scenario.duration, measure_from: Time::ZERO, seed: 1 };
    (scenario, options)
}

fn run_with_trace(format: TraceFormat, links: &[&str]) -> (Run, Tracer) {
    let (scenario, options) = scenario();
    let spec = TraceSpec { format, links: links.iter().map(|&name| name.to_owned()).collect() };
    let (run, mut tracer) = Simulation::new(&scenario.network, &options, Tracer::new(spec)).finish();
    tracer.write_begun_transmissions(options.duration);
    (run, tracer)
}

fn count(run: &Run, table: &str, column: &str) -> u64 {
    let (_, table) = run.report.tables.iter().find(|(name, _)| *name == table).unwrap();
    match table.column(column) {
        Column::Count(values) => values.iter().sum(),
        other => panic!("{column} is {other:?}"),
    }
}

/// Texts of a column of names, row by row.
fn words(table: &Table, column: &str) -> Vec<String> {
    match table.column(column) {
        Column::Name { index, names } => index.iter().map(|&at| names[at as usize].to_string()).collect(),
        other => panic!("{column} is {other:?}"),
    }
}

#[test]
fn a_trace_changes_nothing_about_the_run() {
    let (scenario, options) = scenario();
    let (plain, NoProbe) = Simulation::new(&scenario.network, &options, NoProbe).finish();
    for format in [TraceFormat::Ns2, FULL_CAPTURE, TraceFormat::Table] {
        let (run, _) = run_with_trace(format, &[]);
        assert_eq!((plain.fingerprint, plain.events), (run.fingerprint, run.events), "{format:?}");
        assert_eq!(format!("{:?}", plain.report), format!("{:?}", run.report), "{format:?}");
    }
}

/// Impairments, changes, delivery traces, datagrams, short flows: all features of the project's examples.
#[test]
fn a_trace_changes_nothing_about_any_example() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let short = [("duration", "1 s"), ("measure_from", "0 s")].map(|(key, value)| (key.to_owned(), format!("\"{value}\"")));
    let mut paths: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    assert!(paths.len() > 10, "{} examples", paths.len());
    for path in paths {
        let beside = |name: &str| std::fs::read_to_string(path.with_file_name(name)).map_err(|why| why.to_string());
        let text = std::fs::read_to_string(&path).unwrap();
        let scenario =
            Scenario::from_toml(&text, &short, &Registry::builtin(), &beside).unwrap_or_else(|why| panic!("{}: {why:?}", path.display()));
        let options = RunTimesAndSeed { duration: Time::ZERO + scenario.duration, measure_from: Time::ZERO, seed: 1 };
        let (plain, NoProbe) = Simulation::new(&scenario.network, &options, NoProbe).finish();
        for format in [TraceFormat::Ns2, TraceFormat::Pcapng { keep: 128, version: IpVersion::V4 }, TraceFormat::Table] {
            let links = scenario.network.links.iter().map(|link| link.name.display_name()).collect();
            let mut simulation = Simulation::new(&scenario.network, &options, Tracer::new(TraceSpec { format, links }));
            let (mut written, mut over) = (0, false);
            while !over {
                over = simulation.advance_with_event_limit(options.duration, 1 << 13);
                let tracer = simulation.probe_mut();
                written += tracer.drain_rows_if_at_least(1).map_or(0, |table| table.height());
                if let Some(bytes) = tracer.bytes_mut() {
                    written += if format == TraceFormat::Ns2 { events(bytes).len() } else { bytes.len() };
                    bytes.clear();
                }
            }
            assert_eq!(plain.fingerprint, simulation.finish().0.fingerprint, "{} as {format:?}", path.display());
            assert!(written > 100, "{}: {written} as {format:?}", path.display());
        }
    }
}

/// A packet's IP identification is counted modulo 2^16 over the run; it is unique together with its connection and its numbers.
fn key(event: &TraceEvent) -> impl Ord + use<> {
    let packet = &event.packet;
    (packet.source, packet.destination, packet.id, packet.tcp.seq, packet.tcp.ack)
}

#[test]
fn a_capture_shows_what_the_queue_has_counted() {
    let (run, mut tracer) = run_with_trace(FULL_CAPTURE, &[]);
    let events = events(tracer.bytes_mut().unwrap());
    let (before, after): (Vec<&TraceEvent>, Vec<&TraceEvent>) = events.iter().partition(|event| event.location == Location::Interface(0));
    let is_marked = |event: &&&TraceEvent| event.packet.ecn == Ecn::Ce;
    let marked_before = before.iter().filter(is_marked).count();
    let marked_after: Vec<_> = after.iter().filter(is_marked).collect();
    let sent: BTreeSet<_> = before.iter().map(|event| key(event)).collect();
    assert_eq!(before.len(), sent.len(), "no two packets are alike");
    assert!(after.iter().all(|event| sent.contains(&key(event))), "nothing comes out that has not come in");
    let counted = ["marks", "drops"].map(|column| count(&run, "queues", column));
    assert!(counted.iter().all(|&count| count > 20), "{counted:?} marks and drops");
    assert_eq!((0, count(&run, "queues", "arrivals")), (marked_before, before.len() as u64));
    assert_eq!(count(&run, "queues", "departures"), after.len() as u64);
    let reactions = before.iter().filter(|event| event.packet.has(Flags::CWR | Flags::ACK)).count() as u64;
    assert!(reactions > 0 && reactions <= count(&run, "flows", "ecn_reactions") + count(&run, "flows", "drops"), "{reactions} reactions");
    let waiting = before.len() - after.len() - count(&run, "queues", "drops") as usize;
    assert!(waiting <= 40, "{waiting} wait when the run ends");
    let still_waiting = count(&run, "queues", "marks") as usize - marked_after.len();
    assert!(still_waiting <= waiting, "{still_waiting} packets were marked and did not leave, of {waiting} that wait");
}

/// The table of events agrees too, for all links and by flow.
#[test]
fn rows_of_events_agree_with_what_flows_and_queues_have_counted() {
    let (run, mut tracer) = run_with_trace(TraceFormat::Table, &[]);
    let table = tracer.drain_rows_if_at_least(0).unwrap();
    let (happened, kinds, links) = (words(&table, "event"), words(&table, "kind"), words(&table, "link"));
    let rows = |event: &str, kind: &str, link: &str| {
        let alike = |at: &usize| happened[*at] == event && kinds[*at] == kind && link.is_empty() | (links[*at] == link);
        (0..table.height()).filter(alike).count() as u64
    };
    assert_eq!(count(&run, "flows", "drops"), rows("dropped", "data", ""));
    assert_eq!(count(&run, "queues", "arrivals"), rows("enqueued", "data", "bottleneck"));
    assert_eq!(count(&run, "queues", "departures"), rows("dequeued", "data", "bottleneck"));
    assert_eq!(run.packet_hops, happened.iter().filter(|event| *event == "received").count() as u64);
    let Column::Real(times) = table.column("time_s") else { panic!("times are real numbers") };
    assert!(times.is_sorted(), "events stand in the order in which they happen");
}

#[test]
fn only_the_links_that_were_chosen_are_in_a_trace() {
    let (_, mut tracer) = run_with_trace(FULL_CAPTURE, &["hosts.access.1", "hosts.access.1.reverse"]);
    let bytes = std::mem::take(tracer.bytes_mut().unwrap());
    let mut reader = Reader::from_reader(&bytes[..]).unwrap();
    let sources: BTreeSet<_> = reader.by_ref().map(|event| event.unwrap().packet.source.address).collect();
    assert_eq!(2, sources.len(), "one host and the sink");
    let names: Vec<_> = reader.interfaces().iter().map(|interface| interface.name.clone().unwrap()).collect();
    let ends = ["before hosts.access.1", "after hosts.access.1", "before hosts.access.1.reverse", "after hosts.access.1.reverse"];
    let (mut expected, mut names): (Vec<_>, Vec<_>) = (ends.map(str::to_owned).to_vec(), names);
    expected.sort();
    names.sort();
    assert_eq!(expected, names);
}

/// At a host's own link: its packets start with a SYN that offers ECN and end with a FIN, sequence numbers have no gap, and the peer
/// acknowledges exactly them.
#[test]
fn a_host_s_connection_reads_as_tcp_has_it() {
    let (_, mut tracer) = run_with_trace(FULL_CAPTURE, &["hosts.access.0", "hosts.access.0.reverse"]);
    let events = events(tracer.bytes_mut().unwrap());
    let out: Vec<_> = events.iter().filter(|event| event.location == Location::Interface(0)).map(|event| event.packet).collect();
    let first = out.first().unwrap();
    assert_eq!((Flags::SYN | Flags::ECE | Flags::CWR, 0), (first.tcp.flags, first.tcp.seq));
    assert!(first.tcp.sack_permitted && first.tcp.timestamps.is_some());
    let mut connections: BTreeMap<u32, Vec<_>> = BTreeMap::new();
    out.iter().for_each(|packet| connections.entry(packet.source.port).or_default().push(packet));
    assert!(connections.len() > 2, "{} connections", connections.len());
    for (port, packets) in &connections {
        let mut next = 0;
        for packet in packets {
            assert!(packet.tcp.seq <= next, "port {port}: a gap before {}", packet.tcp.seq);
            let takes = u32::from(packet.has(Flags::SYN)) + u32::from(packet.has(Flags::FIN)) + packet.payload;
            next = next.max(packet.tcp.seq + takes);
        }
        let answers = events.iter().filter(|event| event.packet.destination.port == *port).map(|event| event.packet.tcp.ack);
        assert!(answers.max().is_none_or(|ack| ack <= next), "port {port}: nothing is acknowledged that was not sent");
    }
    let closed = connections.values().filter(|packets| packets.iter().any(|packet| packet.has(Flags::FIN))).count();
    assert!(closed + 1 >= connections.len(), "all but the last connection are closed");
    assert!(events.iter().any(|event| event.packet.kind == Kind::Ack && event.packet.has(Flags::ECE)));
}

/// RFC 6691: the MSS option does not subtract TCP options, so with timestamps a full segment carries 12 bytes less than the MSS.
#[test]
fn the_mss_is_the_packet_s_size_without_fixed_headers() {
    for (version, expected) in [(IpVersion::V4, 1460), (IpVersion::V6, 1440)] {
        let (_, mut tracer) = run_with_trace(TraceFormat::Pcapng { keep: 128, version }, &["hosts.access.0", "hosts.access.0.reverse"]);
        let events = events(tracer.bytes_mut().unwrap());
        let syns: Vec<_> = events.iter().map(|event| event.packet).filter(|packet| packet.has(Flags::SYN)).collect();
        assert!(syns.len() > 4 && syns.iter().all(|syn| syn.tcp.mss == Some(expected)), "{:?}", syns[0].tcp);
    }
}

/// A packet by another parser: interface, ECN field and TCP flags.
type TsharkFields = (u32, u8, u16);

fn tshark_fields(event: &TraceEvent) -> TsharkFields {
    let Location::Interface(interface) = event.location else { panic!("a capture has interfaces") };
    (interface, event.packet.ecn as u8, event.packet.tcp.flags.0)
}

/// All packets of a capture by pcap-parser and etherparse, with both checksums verified by etherparse.
fn parse_with_etherparse(bytes: &[u8]) -> Vec<TsharkFields> {
    let mut reader = PcapNGReader::new(1 << 20, bytes).unwrap();
    let mut packets = Vec::new();
    loop {
        match reader.next() {
            Ok((length, block)) => {
                if let PcapBlockOwned::NG(Block::EnhancedPacket(packet)) = block {
                    assert_eq!(packet.origlen, packet.caplen, "the packet is whole");
                    let (ecn, flags) = ecn_and_flags(&packet.data[..packet.caplen as usize]);
                    packets.push((packet.if_id, ecn, flags));
                }
                reader.consume(length);
            }
            Err(PcapError::Eof) => return packets,
            Err(PcapError::Incomplete(_)) => reader.refill().unwrap(),
            Err(why) => panic!("{why:?}"),
        }
    }
}

/// ECN field and flags of a packet, after its lengths and checksums were verified.
fn ecn_and_flags(bytes: &[u8]) -> (u8, u16) {
    let packet = SlicedPacket::from_ip(bytes).unwrap();
    let Some(TransportSlice::Tcp(tcp)) = &packet.transport else { panic!("every packet is one of TCP") };
    assert!(tcp.options_iterator().all(|option| option.is_ok()));
    let (ecn, length, sum) = match packet.net.as_ref().unwrap() {
        NetSlice::Ipv4(ip) => {
            let header = ip.header().to_header();
            assert_eq!(header.calc_header_checksum(), header.header_checksum);
            let sum = tcp.calc_checksum_ipv4(header.source, header.destination);
            (header.ecn.value(), usize::from(header.total_len), sum)
        }
        NetSlice::Ipv6(ip) => {
            let header = ip.header();
            let sum = tcp.calc_checksum_ipv6(header.source(), header.destination());
            (header.ecn().value(), 40 + usize::from(header.payload_length()), sum)
        }
        NetSlice::Arp(_) => panic!("no packet here resolves addresses"),
    };
    assert_eq!((bytes.len(), tcp.checksum()), (length, sum.unwrap()));
    let header = tcp.slice();
    (ecn, u16::from_be_bytes([header[12] & 1, header[13]]))
}

/// Every checksum and length of both versions of IP, and the same count of each ECN field at each interface.
#[test]
fn other_parsers_find_checksums_right_and_see_the_same_ecn_fields() {
    for version in [IpVersion::V4, IpVersion::V6] {
        let (_, mut tracer) = run_with_trace(TraceFormat::Pcapng { keep: 65_535, version }, &[]);
        let bytes = std::mem::take(tracer.bytes_mut().unwrap());
        let (theirs, ours) = (parse_with_etherparse(&bytes), events(&bytes).iter().map(tshark_fields).collect::<Vec<_>>());
        assert!(ours.len() > 5_000 && ours.iter().any(|&(_, ecn, _)| ecn == Ecn::Ce as u8), "{} packets", ours.len());
        assert_eq!((theirs.len(), None), (ours.len(), theirs.iter().zip(&ours).find(|(their, our)| their != our)));
    }
}

/// Consistency between packets, which header parsers do not check.
#[test]
fn tshark_has_no_complaint_and_sees_the_same_ecn_fields_where_it_is_installed() {
    for (version, field) in [(IpVersion::V4, "ip.dsfield.ecn"), (IpVersion::V6, "ipv6.tclass.ecn")] {
        let (_, mut tracer) = run_with_trace(TraceFormat::Pcapng { keep: 65_535, version }, &[]);
        let bytes = std::mem::take(tracer.bytes_mut().unwrap());
        let bad = "ip.checksum.status == 0 || tcp.checksum.status == 0 || _ws.malformed || frame.cap_len != frame.len || tcp.analysis.ack_lost_segment";
        let Some(complaints) = tshark(&bytes, &["-Y", bad]).map(text) else {
            eprintln!("tshark is not installed; etherparse and pcap-parser have judged");
            return;
        };
        assert_eq!("", complaints);
        let theirs = tshark(&bytes, &["-T", "fields", "-e", "frame.interface_id", "-e", field, "-e", "tcp.flags"]).map(text).unwrap();
        let line = |(interface, ecn, flags): TsharkFields| format!("{interface}\t{ecn}\t{flags:#06x}\n");
        let ours: String = events(&bytes).iter().map(|event| line(tshark_fields(event))).collect();
        assert_eq!(theirs.lines().count(), ours.lines().count());
        assert_eq!(None, theirs.lines().zip(ours.lines()).find(|(theirs, ours)| theirs != ours));
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// The version of IP affects only the headers: the same packets at the same times with the same fields.
#[test]
fn a_capture_of_ipv6_shows_the_packets_of_one_of_ipv4() {
    let [old, new] = [IpVersion::V4, IpVersion::V6].map(|version| {
        let (_, mut tracer) = run_with_trace(TraceFormat::Pcapng { keep: 128, version }, &[]);
        events(&std::mem::take(tracer.bytes_mut().unwrap()))
    });
    let plain = |event: &TraceEvent| (event.time, event.location, event.packet.ecn, event.packet.kind, event.packet.tcp.flags);
    assert_eq!(old.iter().map(plain).collect::<Vec<_>>(), new.iter().map(plain).collect::<Vec<_>>());
    let is_of_hosts = |packet: &ecnlab_wire::Packet| packet.source.to_string().starts_with("[2001:db8::");
    assert!(new.iter().all(|event| is_of_hosts(&event.packet)), "{}", new[0].packet.source);
    // A full segment has the same number of bytes on the wire, of which the header takes 20 more.
    let longest = |events: &[TraceEvent]| events.iter().map(|event| (event.packet.size, event.packet.payload)).max().unwrap();
    let ((size, payload), longer) = (longest(&old), longest(&new));
    assert_eq!((size, payload - 20), longer);
}

/// Copies of segments arrive at the receiver, which reports them by DSACK, some long after their ACK. A transfer's last segment is short,
/// so that sequence numbers are not multiples.
#[test]
fn blocks_of_a_connection_that_is_kept_begin_and_end_where_segments_do() {
    let overrides = [
        (
            "link.bottleneck.impair",
            "[{ kind = \"duplicate\", rate = 0.2 }, { kind = \"jitter\", delay = \"exponential 100 ms\", order = \"overtake\" }]",
        ),
        ("flows.hosts.app", "{ kind = \"transactions\", bytes = 5000, gap = \"50 ms\", connection = \"keep\" }"),
    ];
    let overrides = overrides.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let scenario = Scenario::from_toml(NETWORK, &overrides, &Registry::builtin(), &no_files).unwrap();
    let options = RunTimesAndSeed { duration: Time::ZERO + scenario.duration, measure_from: Time::ZERO, seed: 1 };
    let links = ["hosts.access", "hosts.access.reverse"].map(str::to_owned).to_vec();
    let (_, mut tracer) = Simulation::new(&scenario.network, &options, Tracer::new(TraceSpec { format: FULL_CAPTURE, links })).finish();
    let packets: Vec<_> = events(tracer.bytes_mut().unwrap()).into_iter().map(|event| event.packet).collect();
    let mut edges = BTreeSet::new();
    for packet in packets.iter().filter(|packet| packet.kind == Kind::Data) {
        edges.extend([packet.tcp.seq, packet.tcp.seq + packet.payload].map(|edge| (packet.source, edge)));
    }
    let mut again = 0;
    for packet in packets.iter().filter(|packet| packet.kind == Kind::Ack) {
        for &(from, to) in packet.tcp.sacks.as_slice() {
            let is_of_segments = [from, to].iter().all(|&edge| edges.contains(&(packet.destination, edge)));
            assert!(is_of_segments, "{} is told of {from} to {to}, before {}", packet.destination, packet.tcp.ack);
            again += u32::from(to <= packet.tcp.ack);
        }
    }
    assert!(again > 50, "{again} segments came twice");
}

#[test]
fn an_event_ahead_is_written_when_its_time_has_come() {
    let (_, mut tracer) = run_with_trace(TraceFormat::Ns2, &[]);
    let events = events(tracer.bytes_mut().unwrap());
    assert!(events.is_sorted_by_key(|event| event.time));
    let of = |what| events.iter().filter(|event| event.kind == what).count();
    assert!(of(TraceEventKind::Enqueued) >= of(TraceEventKind::Dequeued) && of(TraceEventKind::Dequeued) >= of(TraceEventKind::Received));
}

#[test]
fn a_run_that_is_traced_records_what_it_records_without_a_trace() {
    // ACKs of the reverse path share a queue of two bands with data, so some of them are dropped.
    let overrides = [
        (
            "link.bottleneck.reverse",
            "{ rate = \"500 kbps\", queue = { discipline = \"fq\", limit = 10, aqm = { name = \"red\", min_th = 1, max_th = 4 } } }",
        ),
        ("flows.hosts.app", "{ kind = \"transactions\", bytes = 20000, gap = \"100 ms\" }"),
    ];
    let overrides = overrides.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let scenario = Scenario::from_toml(NETWORK, &overrides, &Registry::builtin(), &no_files).unwrap();
    let options = RunTimesAndSeed { duration: Time::ZERO + scenario.duration, measure_from: Time::ZERO, seed: 1 };
    let every = Some(ecnlab_units::Span::from_millis(10));
    let all = RecordingConfig {
        queue_interval: every,
        window_interval: every,
        rate_bin: Some(Span::from_secs(1)),
        events: true,
        distributions: true,
        transfers: true,
        arrivals: true,
    };
    let (plain, recorder) = Simulation::new(&scenario.network, &options, Recorder::new(all, options.duration)).finish();
    let tracer = Tracer::new(TraceSpec { format: TraceFormat::Ns2, links: Vec::new() });
    let probe = RecorderAndTracer { recorder: Recorder::new(all, options.duration), tracer };
    let (traced, probe) = Simulation::new(&scenario.network, &options, probe).finish();
    let [expected, found] = [recorder.tables(&plain.names), probe.recorder.tables(&traced.names)].map(Result::unwrap);
    assert_eq!(format!("{expected:?}"), format!("{found:?}"));
    let empty: Vec<&str> = expected.iter().filter(|(_, table)| table.height() == 0).map(|(name, _)| *name).collect();
    assert!(empty.is_empty(), "there is nothing to compare in {empty:?}");
}
