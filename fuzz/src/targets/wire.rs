//! Trace files of each format, read by our reader alone and beside `pcap-parser`; headers that we write, beside `etherparse`.

use std::net::{Ipv4Addr, Ipv6Addr};

use ecnlab_units::{Ecn, Time};
use ecnlab_wire::{
    Address, End, Flags, Headers, IpVersion, Kind, Location, Packet, PcapngWriter, ReadError, Reader, SackBlocks, Tcp, Timestamps,
    TraceEvent, Truncation,
};
use etherparse::{NetSlice, SlicedPacket, TcpOptionElement, TransportSlice};
use pcap_parser::Block;
use pcap_parser::pcapng::{parse_block_be, parse_block_le};

use super::store::panic::catch_panic;
use crate::input::Input;

/// A line that makes a file one of ns-2's.
const FIRST_LINE: &[u8] = b"+ 0 0 1 tcp 1000 ------- 0 0.0 1.0 0 0\n";

/// Lines behind a good one. Events that are read are written, read again and written again the same.
pub fn ns2(data: &[u8]) {
    let (events, _) = read(&[FIRST_LINE, data].concat());
    let written = lines(&events);
    let (again, faults) = read(&written);
    assert!(faults.is_empty(), "a line that was written is not read: {faults:?}\n{}", String::from_utf8_lossy(&written));
    assert_eq!(events.len(), again.len());
    let rewritten = lines(&again);
    assert_eq!(String::from_utf8_lossy(&written), String::from_utf8_lossy(&rewritten));
}

fn lines(events: &[TraceEvent]) -> Vec<u8> {
    let mut out = Vec::new();
    for event in events {
        assert!(
            ecnlab_wire::ns2::write_line(event, ecnlab_wire::ns2::NS2_TIME_DECIMALS, &mut out),
            "an event of ns-2 is not written: {event:?}"
        );
    }
    out
}

/// A file header in front, whose byte order and unit of time the first byte chooses, and the link type the second.
pub fn pcap(data: &[u8]) {
    let [order, link, data @ ..] = data else { return };
    let magic: [u8; 4] = [0xa1b2_c3d4_u32, 0xa1b2_3c4d][usize::from(order & 1)].to_be_bytes();
    let number = |number: u32| if order & 2 == 0 { number.to_be_bytes() } else { number.to_le_bytes() };
    let mut file = magic.to_vec();
    if order & 2 != 0 {
        file.reverse();
    }
    let link = [1, 101, 113, 276, 0, 12, 228, u32::from(*link)][usize::from(link & 7)];
    file.extend(number(0x0002_0004));
    file.extend([0; 8]);
    file.extend(number(65_535));
    file.extend(number(link));
    file.extend_from_slice(data);
    read(&file);
}

pub fn pcapng(data: &[u8]) {
    read(&[&SECTION[..], data].concat());
}

/// Limit for reading a compressed file, in records and in bytes. A kilobyte may hold a million empty lines, or 32 MB of one byte in zstd,
/// and later records are read in the same way. The other targets read the formats to their end.
const MAX_STEPS: usize = 2000;
const MAX_BYTES: u64 = 1 << 18;

/// gzip or zstd around any format.
pub fn compressed(data: &[u8]) {
    let Ok(mut reader) = Reader::from_reader(data) else { return };
    let mut ended = false;
    for _ in 0..MAX_STEPS {
        let Some(read) = reader.read_record() else { return };
        assert!(!ended, "nothing follows what ends a file");
        ended = read.is_err_and(|fault| fault.is_fatal);
        if reader.bytes_read() > MAX_BYTES {
            return;
        }
    }
}

/// Reads all there is, with what must hold of any file.
fn read(bytes: &[u8]) -> (Vec<TraceEvent>, Vec<ReadError>) {
    let mut reader = match Reader::from_reader(bytes) {
        Ok(reader) => reader,
        Err(fault) => return (Vec::new(), vec![fault]),
    };
    let (mut events, mut faults) = (Vec::new(), Vec::new());
    for read in reader.by_ref() {
        match read {
            Ok(event) => events.push(event),
            Err(fault) => faults.push(fault),
        }
    }
    assert!(events.len() + faults.len() <= bytes.len() + 1, "each event and each fault takes a byte at least");
    assert!(faults.iter().all(|fault| fault.offset <= bytes.len() as u64 && !fault.to_string().is_empty()));
    assert!(faults.iter().rev().skip(1).all(|fault| !fault.is_fatal), "nothing follows what ends a file");
    assert!(reader.bytes_read() <= bytes.len() as u64);
    (events, faults)
}

/// A section of little-endian blocks, without options.
const SECTION: [u8; 28] =
    [0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 28, 0, 0, 0];

/// A packet block as `pcap-parser` reads it.
struct PacketBlock<'a> {
    interface: u32,
    /// Since 1970, in picoseconds.
    time: i128,
    kept: &'a [u8],
    wire: u32,
    link: i32,
}

/// Our reader and `pcap-parser` read the same packets, or both refuse the file.
pub fn pcapng_twice(data: &[u8]) {
    let file = [&SECTION[..], data].concat();
    let mut reader = Reader::from_reader(&file[..]).expect("a section begins");
    let (mut ours, mut is_refused) = (Vec::new(), false);
    while let Some(read) = reader.read_record() {
        match read {
            // The number of the packet block that holds it, from 1.
            Ok(Some(event)) => ours.push((reader.packets(), event)),
            Ok(None) => {}
            // A fault of one record alone does not end the file.
            Err(fault) => is_refused |= fault.is_fatal,
        }
    }
    // Some damaged lengths make `pcap-parser` panic, which is a refusal, too.
    let Ok(Some(theirs)) = catch_panic(|| blocks(&file)) else { return };
    if is_refused {
        return;
    }
    assert_eq!(theirs.len() as u64, reader.packets(), "packet blocks");
    for (number, event) in ours {
        let block = &theirs[number as usize - 1];
        if let Some(block) = block {
            compare(&event, block, reader.epoch_s());
        }
    }
}

/// An `if_tsresol` of which a second has more units than 64 bits count: packets with it are not compared.
const UNKNOWN: u8 = 0x7f;

/// The packet blocks of a file, none for a packet without a time or an interface; nothing if the file is refused.
fn blocks(mut file: &[u8]) -> Option<Vec<Option<PacketBlock<'_>>>> {
    let (mut found, mut interfaces, mut first) = (Vec::new(), Vec::new(), 0_usize);
    let mut is_big = false;
    while !file.is_empty() {
        if file.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) {
            is_big = file.get(8..12)? == [0x1a, 0x2b, 0x3c, 0x4d];
        }
        let (rest, block) = if is_big { parse_block_be(file).ok()? } else { parse_block_le(file).ok()? };
        match block {
            Block::SectionHeader(_) => first = interfaces.len(),
            Block::InterfaceDescription(interface) => {
                // `pcap-parser` continues after an end of options that is not empty, although the options end there.
                let is_behind_end = interface.options.iter().rev().skip(1).any(|option| option.code.0 == 0);
                let resolution = if is_behind_end { UNKNOWN } else { interface.if_tsresol().and_then(Result::ok).unwrap_or(6) };
                interfaces.push((interface.linktype.0, resolution, interface.if_tsoffset().and_then(Result::ok).unwrap_or(0)));
            }
            Block::EnhancedPacket(packet) => {
                let place = first.saturating_add(packet.if_id as usize);
                let timestamp = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                let kept = packet.data.get(..packet.caplen as usize)?;
                found.push(interfaces.get(place).and_then(|&(link, resolution, offset)| {
                    // Our reader takes a time before 1970 for its first second.
                    let time = Some(picos(timestamp, resolution)? + i128::from(offset) * 1_000_000_000_000).filter(|&time| time >= 0)?;
                    Some(PacketBlock { interface: place as u32, time, kept, wire: packet.origlen, link })
                }));
            }
            Block::SimplePacket(_) => found.push(None),
            Block::Unknown(unknown) if unknown.block_type == if is_big { 2_u32.swap_bytes() } else { 2 } => found.push(None),
            _ => {}
        }
        file = rest;
    }
    Some(found)
}

/// A stamp of this `if_tsresol` in picoseconds; nothing where a second has more units than 64 bits count.
fn picos(timestamp: u64, resolution: u8) -> Option<i128> {
    let base: u64 = if resolution & 0x80 == 0 { 10 } else { 2 };
    let per_second = i128::from(base.checked_pow(u32::from(resolution & 0x7f))?);
    Some(i128::from(timestamp) / per_second * 1_000_000_000_000 + i128::from(timestamp) % per_second * 1_000_000_000_000 / per_second)
}

fn compare(event: &TraceEvent, block: &PacketBlock, epoch_s: u64) {
    assert_eq!(Location::Interface(block.interface), event.location);
    assert_eq!(block.time, i128::from(epoch_s) * 1_000_000_000_000 + i128::from(event.time.picos()));
    let packet = &event.packet;
    // Behind Ethernet and the other link headers lies the same, which the target `pcap` reads.
    if !matches!(block.link, 101 | 228 | 229) {
        return;
    }
    let Ok(sliced) = SlicedPacket::from_ip(block.kept) else { return };
    assert!(block.wire as usize >= block.kept.len() || packet.size <= block.wire.max(block.kept.len() as u32));
    match sliced.net.as_ref() {
        Some(NetSlice::Ipv4(ip)) => {
            let header = ip.header();
            let ends = [header.source_addr(), header.destination_addr()].map(Address::V4);
            assert_eq!(ends, [packet.source.address, packet.destination.address]);
            assert_eq!((header.ecn().value(), u64::from(header.identification())), (packet.ecn as u8, packet.id.unwrap_or(0)));
        }
        Some(NetSlice::Ipv6(ip)) => {
            let header = ip.header();
            let ends = [header.source_addr(), header.destination_addr()].map(Address::V6);
            assert_eq!(ends, [packet.source.address, packet.destination.address]);
            assert_eq!(header.ecn().value(), packet.ecn as u8);
        }
        _ => {}
    }
    if let (Some(TransportSlice::Tcp(tcp)), Truncation::Complete) = (sliced.transport.as_ref(), packet.truncation) {
        assert!(packet.is_tcp());
        assert_eq!((tcp.source_port().into(), tcp.destination_port().into()), (packet.source.port, packet.destination.port));
        assert_eq!((tcp.sequence_number(), tcp.acknowledgment_number()), (packet.tcp.seq, packet.tcp.ack));
        assert_eq!((tcp.window_size(), flags(tcp)), (packet.tcp.window, packet.tcp.flags));
        assert_eq!(tcp.payload().len(), packet.payload as usize);
    }
}

fn flags(tcp: &etherparse::TcpSlice) -> Flags {
    let bits = [tcp.fin(), tcp.syn(), tcp.rst(), tcp.psh(), tcp.ack(), tcp.urg(), tcp.ece(), tcp.cwr(), tcp.ns()];
    Flags(bits.iter().enumerate().fold(0, |flags, (bit, set)| flags | u16::from(*set) << bit))
}

const FULL_PACKET: u32 = 65_535;

/// A packet of any fields, written and read by `etherparse` and by our reader.
pub fn headers(data: &[u8]) {
    let mut input = Input(data);
    let packet = packet(&mut input);
    let mut headers = Headers::of(&packet);
    check(&packet, &headers);
    let (ecn, flags) = (Ecn::from_bits(input.u8()), Flags(input.u16() & 0x1ff));
    headers.update_ecn_and_flags(ecn, flags);
    let tcp = if packet.is_tcp() { Tcp { flags, ..packet.tcp } } else { packet.tcp };
    let made_so = Packet { ecn, tcp, ..packet };
    check(&made_so, &headers);
    assert_eq!(bytes_of(&Headers::of(&made_so)), bytes_of(&headers), "changed headers are those of the changed packet");
    let keep = input.u16().into();
    let mut cut = Vec::new();
    headers.write_with_zero_payload(keep, &mut cut);
    assert_eq!(bytes_of(&headers)[..cut.len()], cut[..]);
    assert_eq!(keep.min(headers.packet_size()) as usize, cut.len());
}

fn packet(input: &mut Input) -> Packet {
    let kind = [Kind::Data, Kind::Ack, Kind::Datagram, Kind::Other][input.below(4)];
    let options = input.u8();
    let address = |input: &mut Input| match options & 3 {
        0 => Address::Node(input.u32()),
        1 | 2 => Address::V4(input.bytes::<4>().into()),
        _ => Address::V6(input.bytes::<16>().into()),
    };
    let [source, destination] = [address(input), address(input)].map(|address| End { address, port: input.u32() });
    let runs = options >> 2 & 7;
    let mut sacks = SackBlocks::default();
    for _ in 0..runs.min(4) {
        sacks.push(input.u32(), input.u32());
    }
    let tcp = Tcp {
        accecn: None,
        seq: input.u32(),
        ack: input.u32(),
        flags: Flags(input.u16() & 0x1ff),
        window: input.u16(),
        timestamps: (options & 32 != 0).then(|| Timestamps { value: input.u32(), echo: input.u32() }),
        mss: (options & 64 != 0).then(|| input.u16()),
        window_scale: (options & 128 != 0).then(|| input.u8()),
        sack_permitted: input.flag(),
        sacks,
    };
    // Mostly short: each byte of a packet is summed several times.
    let length = |input: &mut Input| if input.u8() == 255 { input.u32() } else { u32::from(input.u8()) * 8 };
    let (size, payload) = (length(input), length(input));
    let id = input.flag().then(|| input.u64());
    Packet {
        kind,
        source,
        destination,
        flow: None,
        id,
        size,
        payload,
        ecn: Ecn::from_bits(input.u8()),
        tcp,
        truncation: Truncation::Complete,
    }
}

fn bytes_of(headers: &Headers) -> Vec<u8> {
    let mut bytes = Vec::new();
    headers.write_with_zero_payload(FULL_PACKET, &mut bytes);
    bytes
}

fn check(packet: &Packet, headers: &Headers) {
    let bytes = bytes_of(headers);
    assert_eq!(headers.packet_size() as usize, bytes.len());
    let sliced = SlicedPacket::from_ip(&bytes).unwrap_or_else(|why| panic!("etherparse refuses {packet:?}: {why}"));
    let net = sliced.net.as_ref().expect("a packet of IP");
    let is_v6 = matches!(net, NetSlice::Ipv6(_));
    match net {
        NetSlice::Ipv4(ip) => {
            let header = ip.header().to_header();
            assert_eq!(header.calc_header_checksum(), header.header_checksum);
            assert_eq!((packet.ecn as u8, packet.id.unwrap_or(0) as u16), (header.ecn.value(), header.identification));
            assert_eq!([packet.source, packet.destination].map(v4), [header.source, header.destination].map(Ipv4Addr::from));
        }
        NetSlice::Ipv6(ip) => {
            let header = ip.header();
            assert_eq!(packet.ecn as u8, header.ecn().value());
            assert_eq!([packet.source, packet.destination].map(v6), [header.source_addr(), header.destination_addr()]);
        }
        NetSlice::Arp(_) => panic!("no packet here resolves addresses"),
    }
    match sliced.transport.as_ref() {
        Some(TransportSlice::Tcp(tcp)) => check_tcp(packet, net, tcp, bytes.len()),
        Some(TransportSlice::Udp(udp)) => {
            assert_eq!(Kind::Datagram, packet.kind);
            let header = udp.to_header();
            let computed = match net {
                NetSlice::Ipv4(ip) => header.calc_checksum_ipv4(&ip.header().to_header(), udp.payload()),
                NetSlice::Ipv6(ip) => header.calc_checksum_ipv6(&ip.header().to_header(), udp.payload()),
                NetSlice::Arp(_) => panic!("no packet here resolves addresses"),
            };
            assert_eq!(computed.expect("it is short enough"), udp.checksum());
            assert_eq!((packet.source.port as u16, packet.destination.port as u16), (udp.source_port(), udp.destination_port()));
        }
        other => assert_eq!((Kind::Other, true), (packet.kind, other.is_none())),
    }
    check_our_reader(packet, headers, is_v6);
}

fn v4(end: End) -> Ipv4Addr {
    match end.address {
        Address::Node(node) => Ipv4Addr::from(10 << 24 | node & 0x00ff_ffff),
        Address::V4(address) => address,
        Address::V6(address) => panic!("{address} in a packet of IPv4"),
    }
}

fn v6(end: End) -> Ipv6Addr {
    if let Address::V6(address) = end.address { address } else { v4(end).to_ipv6_mapped() }
}

fn check_tcp(packet: &Packet, net: &NetSlice, tcp: &etherparse::TcpSlice, total: usize) {
    let computed = match net {
        NetSlice::Ipv4(ip) => tcp.calc_checksum_ipv4(ip.header().source(), ip.header().destination()),
        NetSlice::Ipv6(ip) => tcp.calc_checksum_ipv6(ip.header().source(), ip.header().destination()),
        NetSlice::Arp(_) => panic!("no packet here resolves addresses"),
    };
    assert!(packet.is_tcp());
    assert_eq!(computed.expect("it is short enough"), tcp.checksum());
    assert_eq!((packet.source.port as u16, packet.destination.port as u16), (tcp.source_port(), tcp.destination_port()));
    assert_eq!((packet.tcp.seq, packet.tcp.ack), (tcp.sequence_number(), tcp.acknowledgment_number()));
    assert_eq!((packet.tcp.window, packet.tcp.flags), (tcp.window_size(), flags(tcp)));
    if total < FULL_PACKET as usize {
        assert_eq!(packet.payload as usize, tcp.payload().len());
    }
    let mut read = Tcp::default();
    for option in tcp.options_iterator() {
        match option.expect("an option is sound") {
            TcpOptionElement::Noop => {}
            TcpOptionElement::MaximumSegmentSize(mss) => read.mss = Some(mss),
            TcpOptionElement::WindowScale(scale) => read.window_scale = Some(scale),
            TcpOptionElement::SelectiveAcknowledgementPermitted => read.sack_permitted = true,
            TcpOptionElement::Timestamp(value, echo) => read.timestamps = Some(Timestamps { value, echo }),
            TcpOptionElement::SelectiveAcknowledgement(first, others) => {
                let runs = std::iter::once(first).chain(others.into_iter().flatten());
                runs.for_each(|(from, to)| read.sacks.push(from, to));
            }
        }
    }
    let Tcp { mss, window_scale, sack_permitted, timestamps, .. } = packet.tcp;
    assert_eq!((mss, window_scale, sack_permitted, timestamps), (read.mss, read.window_scale, read.sack_permitted, read.timestamps));
    // As many runs as there is room for, in their order.
    let (ours, theirs) = (packet.tcp.sacks.as_slice(), read.sacks.as_slice());
    assert!(ours.starts_with(theirs));
    let others = [(mss.is_some(), 4), (window_scale.is_some(), 4), (timestamps.is_some(), 12), (sack_permitted && timestamps.is_none(), 4)];
    let room = 40 - others.iter().filter(|(there, _)| *there).map(|(_, length)| length).sum::<usize>();
    assert_eq!(ours.len().min(room.saturating_sub(4) / 8), theirs.len());
}

/// Our own reader finds in the file what was written.
fn check_our_reader(packet: &Packet, headers: &Headers, is_v6: bool) {
    let mut file = Vec::new();
    let writer = PcapngWriter::begin(FULL_PACKET, "ecnlab", &mut file);
    writer.add_interface("way", if is_v6 { IpVersion::V6 } else { IpVersion::V4 }, &mut file);
    writer.write_packet_from_headers(0, Time::from_picos(5_000), headers, &mut file);
    let mut reader = Reader::from_reader(&file[..]).expect("a file of ours");
    let event = reader.next().expect("there is a packet").expect("it is read");
    assert!(reader.next().is_none());
    assert_eq!((Time::from_picos(5_000), Location::Interface(0)), (event.time, event.location));
    let read = event.packet;
    assert_eq!((headers.packet_size(), packet.ecn, Truncation::Complete), (read.size, read.ecn, read.truncation));
    if packet.is_tcp() {
        let Tcp { sacks, .. } = read.tcp;
        assert!(packet.tcp.sacks.as_slice().starts_with(sacks.as_slice()));
        assert_eq!(Tcp { sacks, ..packet.tcp }, read.tcp);
    }
}
