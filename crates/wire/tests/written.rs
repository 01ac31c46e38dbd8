//! What is written is read again as it was, by this crate's reader and by others': etherparse, pcap-parser and, where it is installed, tshark.

mod common;

use std::io::Write;
use std::process::{Command, Stdio};

use ecnlab_units::{Ecn, Time};
use ecnlab_wire::{Address, Flags, Headers, Kind, Packet, PcapngWriter, Place, Reader, Tcp, Version};
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use pcap_parser::{Block, PcapBlockOwned, PcapNGReader, traits::PcapReaderIterator};
use proptest::prelude::*;

const WHOLE: u32 = 65_535;

/// A file in which interface 0 sees the packets of IPv4 and interface 1 those of IPv6, a microsecond after each other.
fn file(packets: &[Packet], keep: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let writer = PcapngWriter::begin(keep, "ecnlab", &mut out);
    writer.interface("before bottleneck", Version::V4, &mut out);
    writer.interface("after bottleneck", Version::V6, &mut out);
    for (at, packet) in packets.iter().enumerate() {
        writer.packet(interface(packet), time(at), packet, &mut out);
    }
    out
}

fn interface(packet: &Packet) -> u32 {
    u32::from(matches!(packet.source.address, Address::V6(_)))
}

fn time(at: usize) -> Time {
    Time::from_picos(at as u64 * 1_000_000)
}

/// The enhanced packet blocks as pcap-parser sees them: interface, stamp, length on the wire, bytes.
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
fn check(packet: &Packet, bytes: &[u8]) {
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
    assert!(tcp.options_iterator().all(|option| option.is_ok()));
}

proptest! {
    #![proptest_config(common::config())]

    #[test]
    fn packets_are_read_again_as_they_were(packets in prop::collection::vec(common::packet(), 1..20)) {
        let file = file(&packets, WHOLE);
        let mut reader = Reader::open(&file[..]).unwrap();
        for (at, packet) in packets.iter().enumerate() {
            let event = reader.next().unwrap().unwrap();
            prop_assert_eq!((time(at), Place::Interface(interface(packet)), packet), (event.time, event.place, &event.packet));
        }
        prop_assert!(reader.next().is_none());
        let names: Vec<_> = reader.interfaces().iter().map(|interface| interface.name.as_deref()).collect();
        prop_assert_eq!(vec![Some("before bottleneck"), Some("after bottleneck")], names);
    }

    #[test]
    fn other_parsers_read_the_same_and_find_the_checksums_right(packets in prop::collection::vec(common::packet(), 1..20)) {
        let blocks = blocks(&file(&packets, WHOLE));
        prop_assert_eq!(packets.len(), blocks.len());
        for (at, (packet, (seen_by, stamp, wire, bytes))) in packets.iter().zip(&blocks).enumerate() {
            prop_assert_eq!((interface(packet), time(at).picos() / 1_000, packet.size), (*seen_by, *stamp, *wire));
            check(packet, bytes);
        }
    }

    /// Checksums included: what a queue or a middlebox changes is written as if the packet had been made so.
    #[test]
    fn headers_that_are_changed_are_those_of_the_changed_packet(packet in common::packet(), ecn in 0..4_u8, flags in 0..0x200_u16) {
        let (ecn, flags) = (Ecn::from_bits(ecn), Flags(flags));
        let mut changed = Headers::of(&packet);
        changed.changed(ecn, flags);
        let tcp = if packet.is_tcp() { Tcp { flags, ..packet.tcp } } else { packet.tcp };
        let made_so = Packet { ecn, tcp, ..packet };
        let written = |headers: &Headers| {
            let mut out = Vec::new();
            headers.write(WHOLE, &mut out);
            out
        };
        check(&made_so, &written(&changed));
        prop_assert_eq!(written(&Headers::of(&made_so)), written(&changed));
    }

    #[test]
    fn what_is_kept_of_a_packet_is_its_beginning(packet in common::packet(), keep in 0..2000_u32) {
        let (whole, cut) = (blocks(&file(&[packet], WHOLE)).remove(0), blocks(&file(&[packet], keep)).remove(0));
        prop_assert_eq!(whole.2, cut.2);
        prop_assert_eq!(&whole.3[..whole.3.len().min(keep as usize)], &cut.3[..]);
    }
}

/// ns-2's sizes need not have room for what a real header takes.
#[test]
fn a_packet_without_room_for_its_headers_is_written_longer() {
    let any = common::example(common::packet().prop_filter("TCP", Packet::is_tcp));
    let small = Packet { size: any.payload + 1, ..any };
    let (_, _, wire, bytes) = blocks(&file(&[small], WHOLE)).remove(0);
    assert_eq!(wire as usize, bytes.len());
    check(&Packet { size: wire, ..small }, &bytes);
}

/// Where a packet's size leaves more room than its headers need, TCP's are filled up, so that size and payload are both right.
#[test]
fn room_that_a_header_does_not_need_is_filled_with_options() {
    let any = common::example(common::packet().prop_filter("TCP", Packet::is_tcp));
    let plain = Packet { tcp: Tcp { seq: 7, ..Default::default() }, payload: 960, kind: Kind::Data, ..any };
    let ip = if interface(&any) == 1 { 40 } else { 20 };
    let large = Packet { size: ip + 40 + 960, ..plain };
    let (_, _, wire, bytes) = blocks(&file(&[large], WHOLE)).remove(0);
    assert_eq!(large.size, wire);
    check(&large, &bytes);
}

/// Every expert complaint of tshark, and every checksum that it does not find good.
#[test]
fn tshark_has_no_complaint_where_it_is_installed() {
    let packets = common::example(prop::collection::vec(common::packet(), 300));
    let arguments = ["-r", "-", "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"];
    let bad =
        "ip.checksum.status == 0 || tcp.checksum.status == 0 || udp.checksum.status == 0 || _ws.malformed || frame.cap_len != frame.len";
    let Ok(mut tshark) = Command::new("tshark").args(arguments).args(["-Y", bad]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
    else {
        eprintln!("tshark is not installed; etherparse and pcap-parser have judged");
        return;
    };
    tshark.stdin.take().unwrap().write_all(&file(&packets, WHOLE)).unwrap();
    let output = tshark.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!("", String::from_utf8_lossy(&output.stdout));
}
