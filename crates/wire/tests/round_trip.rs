//! Written packets are read back unchanged, by this crate's reader and by etherparse, pcap-parser and, where it is installed, tshark.

mod common;

use std::io::Write;
use std::process::{Command, Stdio};

use ecnlab_units::{Ecn, Time};
use ecnlab_wire::{Address, Flags, Headers, IpVersion, Kind, Location, Packet, PcapngWriter, Reader, Tcp};
use etherparse::{NetSlice, SlicedPacket, TcpOptionReadError, TransportSlice};
use pcap_parser::{Block, PcapBlockOwned, PcapNGReader, traits::PcapReaderIterator};
use proptest::prelude::*;

const FULL_PACKET: u32 = 65_535;

/// A file in which interface 0 sees the packets of IPv4 and interface 1 those of IPv6, a microsecond after each other.
fn write_file(packets: &[Packet], snap_length: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let writer = PcapngWriter::begin(snap_length, "ecnlab", &mut out);
    writer.add_interface("before bottleneck", IpVersion::V4, &mut out);
    writer.add_interface("after bottleneck", IpVersion::V6, &mut out);
    for (at, packet) in packets.iter().enumerate() {
        writer.write_packet_from_headers(interface(packet), time(at), &Headers::of(packet), &mut out);
    }
    out
}

fn interface(packet: &Packet) -> u32 {
    u32::from(matches!(packet.source.address, Address::V6(_)))
}

fn time(at: usize) -> Time {
    Time::from_picos(at as u64 * 1_000_000)
}

/// The enhanced packet blocks as pcap-parser reads them: interface, timestamp, length on the wire, bytes.
fn blocks(file: &[u8]) -> Vec<(u32, u64, u32, Vec<u8>)> {
    let mut reader = PcapNGReader::new(1 << 20, file).unwrap();
    let mut packets = Vec::new();
    while let Ok((length, block)) = reader.next() {
        if let PcapBlockOwned::NG(Block::EnhancedPacket(packet)) = block {
            let stamp = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
            packets.push((packet.if_id, stamp, packet.origlen, packet.data[..packet.caplen as usize].to_vec()));
        }
        reader.consume(length);
    }
    packets
}

/// Checks a packet's bytes with etherparse: lengths, ECN field, numbers, and that both checksums are what it computes itself.
fn check_packet(packet: &Packet, bytes: &[u8]) {
    let sliced = SlicedPacket::from_ip(bytes).unwrap();
    assert_eq!(packet.size as usize, bytes.len());
    let net = sliced.net.as_ref().unwrap();
    match net {
        NetSlice::Ipv4(ip) => {
            let header = ip.header().to_header();
            assert_eq!(header.calc_header_checksum(), header.header_checksum);
            assert_eq!(packet.ecn as u8, header.ecn.value());
        }
        NetSlice::Ipv6(ip) => assert_eq!(packet.ecn as u8, ip.header().ecn().value()),
        NetSlice::Arp(_) => panic!("no packet here resolves addresses"),
    }
    match sliced.transport.as_ref().unwrap() {
        TransportSlice::Tcp(tcp) => check_tcp(packet, net, tcp),
        TransportSlice::Udp(udp) => {
            let computed = match net {
                NetSlice::Ipv4(ip) => udp.to_header().calc_checksum_ipv4(&ip.header().to_header(), udp.payload()),
                NetSlice::Ipv6(ip) => udp.to_header().calc_checksum_ipv6(&ip.header().to_header(), udp.payload()),
                NetSlice::Arp(_) => panic!("no packet here resolves addresses"),
            };
            assert_eq!(computed.unwrap(), udp.checksum());
            assert_eq!(packet.payload as usize, udp.payload().len());
        }
        other => panic!("{other:?}"),
    }
}

fn check_tcp(packet: &Packet, net: &NetSlice, tcp: &etherparse::TcpSlice) {
    let computed = match net {
        NetSlice::Ipv4(ip) => tcp.calc_checksum_ipv4(ip.header().source(), ip.header().destination()),
        NetSlice::Ipv6(ip) => tcp.calc_checksum_ipv6(ip.header().source(), ip.header().destination()),
        NetSlice::Arp(_) => panic!("no packet here resolves addresses"),
    };
    assert_eq!(computed.unwrap(), tcp.checksum());
    assert_eq!((packet.tcp.seq, packet.tcp.ack), (tcp.sequence_number(), tcp.acknowledgment_number()));
    assert_eq!(packet.payload as usize, tcp.payload().len());
    // etherparse does not know the options of Accurate ECN.
    let is_accecn = |option: &Result<_, TcpOptionReadError>| matches!(option, Err(TcpOptionReadError::UnknownId(172 | 174)));
    assert!(tcp.options_iterator().all(|option| option.is_ok() || is_accecn(&option)));
}

proptest! {
    #![proptest_config(common::config())]

    #[test]
    fn written_packets_are_read_back_unchanged(packets in prop::collection::vec(common::packet(), 1..20)) {
        let file = write_file(&packets, FULL_PACKET);
        let mut reader = Reader::from_reader(&file[..]).unwrap();
        for (at, packet) in packets.iter().enumerate() {
            let event = reader.next().unwrap().unwrap();
            prop_assert_eq!((time(at), Location::Interface(interface(packet)), packet), (event.time, event.location, &event.packet));
        }
        prop_assert!(reader.next().is_none());
        let names: Vec<_> = reader.interfaces().iter().map(|interface| interface.name.as_deref()).collect();
        prop_assert_eq!(vec![Some("before bottleneck"), Some("after bottleneck")], names);
    }

    #[test]
    fn other_parsers_read_the_same_and_find_the_checksums_right(packets in prop::collection::vec(common::packet(), 1..20)) {
        let blocks = blocks(&write_file(&packets, FULL_PACKET));
        prop_assert_eq!(packets.len(), blocks.len());
        for (at, (packet, (interface_id, stamp, wire, bytes))) in packets.iter().zip(&blocks).enumerate() {
            prop_assert_eq!((interface(packet), time(at).picos() / 1_000, packet.size), (*interface_id, *stamp, *wire));
            check_packet(packet, bytes);
        }
    }

    /// Headers that a queue or a middlebox changes equal those of a packet built that way, checksums included.
    #[test]
    fn headers_that_are_changed_are_those_of_the_changed_packet(packet in common::packet(), ecn in 0..4_u8, flags in 0..0x200_u16) {
        let (ecn, flags) = (Ecn::from_bits(ecn), Flags(flags));
        let mut changed = Headers::of(&packet);
        changed.update_ecn_and_flags(ecn, flags);
        let tcp = if packet.is_tcp() { Tcp { flags, ..packet.tcp } } else { packet.tcp };
        let rebuilt = Packet { ecn, tcp, ..packet };
        let written = |headers: &Headers| {
            let mut out = Vec::new();
            headers.write_with_zero_payload(FULL_PACKET, &mut out);
            out
        };
        check_packet(&rebuilt, &written(&changed));
        prop_assert_eq!(written(&Headers::of(&rebuilt)), written(&changed));
    }

    #[test]
    fn a_truncated_packet_keeps_its_beginning(packet in common::packet(), snap_length in 0..2000_u32) {
        let (full, truncated) = (blocks(&write_file(&[packet], FULL_PACKET)).remove(0), blocks(&write_file(&[packet], snap_length)).remove(0));
        prop_assert_eq!(full.2, truncated.2);
        prop_assert_eq!(&full.3[..full.3.len().min(snap_length as usize)], &truncated.3[..]);
    }
}

/// ns-2's sizes may be smaller than real headers.
#[test]
fn a_packet_smaller_than_its_headers_is_written_longer() {
    let any = common::example(common::packet().prop_filter("TCP", Packet::is_tcp));
    let small = Packet { size: any.payload + 1, ..any };
    let (_, _, wire, bytes) = blocks(&write_file(&[small], FULL_PACKET)).remove(0);
    assert_eq!(wire as usize, bytes.len());
    check_packet(&Packet { size: wire, ..small }, &bytes);
}

/// If a packet is larger than its headers and payload, TCP options fill the difference, so that both size and payload are right.
#[test]
fn extra_size_is_filled_with_tcp_options() {
    let any = common::example(common::packet().prop_filter("TCP", Packet::is_tcp));
    let plain = Packet { tcp: Tcp { seq: 7, ..Default::default() }, payload: 960, kind: Kind::Data, ..any };
    let ip = if interface(&any) == 1 { 40 } else { 20 };
    let large = Packet { size: ip + 40 + 960, ..plain };
    let (_, _, wire, bytes) = blocks(&write_file(&[large], FULL_PACKET)).remove(0);
    assert_eq!(large.size, wire);
    check_packet(&large, &bytes);
}

/// All packets that tshark finds malformed, or with a wrong checksum.
#[test]
fn tshark_reports_no_errors_where_it_is_installed() {
    let packets = common::example(prop::collection::vec(common::packet(), 300));
    let arguments = ["-r", "-", "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"];
    let error_filter =
        "ip.checksum.status == 0 || tcp.checksum.status == 0 || udp.checksum.status == 0 || _ws.malformed || frame.cap_len != frame.len";
    let Ok(mut tshark) =
        Command::new("tshark").args(arguments).args(["-Y", error_filter]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
    else {
        eprintln!("tshark is not installed; etherparse and pcap-parser have judged");
        return;
    };
    tshark.stdin.take().unwrap().write_all(&write_file(&packets, FULL_PACKET)).unwrap();
    let output = tshark.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!("", String::from_utf8_lossy(&output.stdout));
}
