//! Traces of other programs: ns-2's lines, and captures of Linux hosts compared with tshark.
//!
//! The captures are of two connections over the loopback interface, one with IPv4 and one with IPv6, with ECN; tcpdump wrote them with
//! 100 bytes of each packet, editcap made the pcapng. Beside each is the output of `tshark -T fields` (4.0).

use std::path::PathBuf;

use ecnlab_wire::{Address, End, Format, Kind, Packet, Reader, TraceEvent, TraceEventKind, ns2};

fn bytes(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/traces").join(name);
    std::fs::read(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

fn events(bytes: &[u8]) -> (Format, u64, Vec<TraceEvent>) {
    let mut reader = Reader::from_reader(bytes).unwrap();
    let events = reader.by_ref().map(Result::unwrap).collect();
    (reader.format(), reader.epoch_s(), events)
}

/// A packet as tshark shows it: time, endpoints, ECN field, identification, flags, numbers, lengths and options.
fn tshark_fields(epoch_s: u64, event: &TraceEvent) -> String {
    let Packet { source, destination, tcp, .. } = event.packet;
    let shown = |end: End| match end.address {
        Address::V4(address) => format!("{address}\t\t{}", end.port),
        Address::V6(address) => format!("\t{address}\t{}", end.port),
        Address::Node(node) => panic!("{node} is none of a capture"),
    };
    let ecn = match source.address {
        Address::V6(_) => format!("\t{}", event.packet.ecn as u8),
        _ => format!("{}\t", event.packet.ecn as u8),
    };
    let id = event.packet.id.map_or(String::new(), |id| format!("{id:#06x}"));
    let nanos = event.time.picos() / 1_000;
    let stamps = tcp.timestamps.map_or("\t".to_owned(), |stamps| format!("{}\t{}", stamps.value, stamps.echo));
    let syn_options =
        (tcp.mss.map_or(String::new(), |mss| mss.to_string()), tcp.window_scale.map_or(String::new(), |scale| scale.to_string()));
    [
        format!("{}.{:09}", epoch_s + nanos / 1_000_000_000, nanos % 1_000_000_000),
        shown(source),
        shown(destination),
        ecn,
        id,
        format!("{:#06x}", tcp.flags.0),
        tcp.seq.to_string(),
        tcp.ack.to_string(),
        event.packet.payload.to_string(),
        tcp.window.to_string(),
        stamps,
        syn_options.0,
        syn_options.1,
    ]
    .join("\t")
}

#[test]
fn captures_of_linux_hosts_are_read_as_tshark_reads_them() {
    for name in ["linux-lo.pcap", "linux-lo.pcapng", "linux-sll.pcap", "linux-sll2.pcap"] {
        let (_, epoch_s, events) = events(&bytes(name));
        let shown = String::from_utf8(bytes(&format!("{name}.tsv"))).unwrap();
        let read: Vec<String> = events.iter().map(|event| tshark_fields(epoch_s, event)).collect();
        assert_eq!(shown.lines().collect::<Vec<_>>(), read, "{name}");
    }
}

#[test]
fn compressed_traces_are_read_as_uncompressed_ones() {
    let uncompressed = bytes("ns2.tr");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &uncompressed).unwrap();
    let compressed = [gzip.finish().unwrap(), zstd::encode_all(&uncompressed[..], 1).unwrap()];
    for bytes in compressed {
        assert_eq!(events(&uncompressed), events(&bytes));
    }
}

#[test]
fn lines_of_ns_2_are_written_back_byte_for_byte() {
    let text = bytes("ns2.tr");
    let (format, _, events) = events(&text);
    let mut rewritten = Vec::new();
    assert!(events.iter().all(|event| ns2::write_line(event, ns2::NS2_TIME_DECIMALS, &mut rewritten)));
    assert_eq!(Format::Ns2, format);
    assert_eq!(String::from_utf8(text).unwrap(), String::from_utf8(rewritten).unwrap());
}

/// Counted with `cut -d' ' -f1,5,7 ns2.tr | sort | uniq -c`.
#[test]
fn ns_2_s_packets_are_what_it_says_they_are() {
    let (_, _, events) = events(&bytes("ns2.tr"));
    let count = |what, kind| events.iter().filter(|event| event.kind == what && event.packet.kind == kind).count();
    assert_eq!(
        (12, 139, 182),
        (
            count(TraceEventKind::Dropped, Kind::Data),
            count(TraceEventKind::Received, Kind::Ack),
            count(TraceEventKind::Enqueued, Kind::Data)
        )
    );
}
