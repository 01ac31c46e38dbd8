//! Packets of real hosts at the router, and what it writes into them.

use ecnlab_emulator::address::{AddressFamily, FlowAddressMap, FlowClassifier, Side, slot_and_side_of_address};
use ecnlab_emulator::recordings::{ConnectionRecorder, SentPacket};
use ecnlab_emulator::shell::flow_table::FlowTable;
use ecnlab_emulator::tcp_tracker::TcpTracker;
use ecnlab_units::{Ecn, Span, Time};

use ecnlab_wire::{Flags, ParsedHeaders, TransportHeader, rewrite_ece_cwr, rewrite_ecn};

use crate::input::Input;

/// Of the group whose packets come.
const GROUP: u32 = 3;
const FLOWS: u32 = 6;

/// Packets in sequence, as they arrive from the TUN devices of both sides. Three bytes precede each: how it is made valid, its delay in
/// milliseconds, and its length.
pub fn packets(data: &[u8]) {
    let mut input = Input(data);
    let mut header_path = HeaderPath::new();
    let mut now = Time::ZERO;
    while !input.is_empty() {
        let [how, later, length] = input.bytes();
        now += Span::from_millis(u64::from(later));
        let mut packet = input.slice(length.into()).to_vec();
        make_valid(&mut packet, how);
        header_path.process(&mut packet, if how & 1 == 0 { Side::Near } else { Side::Far }, now);
    }
}

/// Sets what a random packet would hardly get right: addresses of the plan, lengths, and IPv4's checksum.
fn make_valid(packet: &mut [u8], how: u8) {
    let length = packet.len();
    let version = packet.first().map(|first| first >> 4);
    let side = if how & 1 == 0 { Side::Near } else { Side::Far };
    let slot = ecnlab_emulator::address::AddressSlot { group: GROUP, number: u32::from(how >> 4 & 7) };
    let family = if version == Some(6) { AddressFamily::V6 } else { AddressFamily::V4 };
    let [from, to] = [side, side.other()].map(|side| family.address(slot, side));
    match (from, to, version) {
        (std::net::IpAddr::V4(from), std::net::IpAddr::V4(to), Some(4)) if length >= 20 => {
            if how & 2 != 0 {
                packet[12..16].copy_from_slice(&from.octets());
                packet[16..20].copy_from_slice(&to.octets());
            }
            if how & 4 != 0 {
                packet[2..4].copy_from_slice(&(length as u16).to_be_bytes());
            }
            if how & 8 != 0 {
                packet[10..12].fill(0);
                let header = (usize::from(packet[0] & 15) * 4).clamp(20, length & !1);
                let sum = internet_checksum(&packet[..header]);
                packet[10..12].copy_from_slice(&sum.to_be_bytes());
            }
        }
        (std::net::IpAddr::V6(from), std::net::IpAddr::V6(to), Some(6)) if length >= 40 => {
            if how & 2 != 0 {
                packet[8..24].copy_from_slice(&from.octets());
                packet[24..40].copy_from_slice(&to.octets());
            }
            if how & 4 != 0 {
                packet[4..6].copy_from_slice(&(length as u16 - 40).to_be_bytes());
            }
        }
        _ => {}
    }
}

/// The ones' complement sum of TCP's fixed header, its checksum included, in which zero has one form alone.
fn tcp_checksum_sum(packet: &[u8], view: &ParsedHeaders) -> u32 {
    let header = &packet[view.transport_at as usize..][..20];
    header.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum::<u32>() % 0xffff
}

/// RFC 1071 over an even number of bytes.
fn internet_checksum(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let once = (sum & 0xffff) + (sum >> 16);
    !((once & 0xffff) + (once >> 16)) as u16
}

struct HeaderPath {
    slots: FlowAddressMap,
    flow_table: FlowTable,
    connections: TcpTracker,
    recorder: ConnectionRecorder,
    handle: u32,
}

impl HeaderPath {
    fn new() -> HeaderPath {
        let (mut slots, mut recorder) = (FlowAddressMap::default(), ConnectionRecorder::default());
        for flow in 0..FLOWS {
            let here = slots.assign_opener_address_slot(flow, GROUP).expect("there are addresses");
            recorder.on_connect(here, 0x1000, flow, Time::ZERO);
        }
        slots.assign_answerer_address_slot(20, 2);
        HeaderPath { slots, flow_table: FlowTable::with_first_flow(0), connections: TcpTracker::default(), recorder, handle: 0 }
    }

    /// All processing of a packet's headers in the router.
    fn process(&mut self, packet: &mut [u8], side: Side, now: Time) {
        let Ok(view) = ParsedHeaders::parse(packet) else { return };
        assert!(view.payload <= view.size && view.size as usize == packet.len());
        assert!(view.transport_at as usize + view.payload as usize <= packet.len());
        let shell = self.flow_table.classify(&view, (0, side), now);
        assert!(shell.is_none_or(|found| found.side == side));
        if let Some(found) = self.slots.classify(&view, (GROUP, side), now) {
            assert_eq!(Some((found.slot, found.side)), slot_and_side_of_address(view.source));
            if let TransportHeader::Tcp(tcp) = view.transport {
                self.handle += 1;
                let (handle, payload) = (self.handle % 8, view.payload);
                self.connections.on_sent(found.slot, side, &tcp, payload, now);
                self.recorder.on_sent(SentPacket { slot: found.slot, side, handle, tcp, size: view.size, payload, ecn: view.ecn }, now);
                let later = now + Span::from_millis(7);
                let ack = self.connections.on_delivered(found.slot, side.other(), &tcp, later);
                assert!(ack.rtt.is_none_or(|rtt| rtt <= later.since(Time::ZERO)));
                if handle & 1 == 0 {
                    self.recorder.on_delivered(handle, view.ecn, later)
                } else {
                    self.recorder.on_lost(handle)
                }
                self.recorder.on_write(found.slot, tcp.ports.0, side, payload.into(), now);
            }
        }
        check_rewriting(packet, &view);
    }
}

/// A codepoint or an echo that is written is read again, and nothing else has changed.
fn check_rewriting(packet: &mut [u8], before: &ParsedHeaders) {
    for ecn in [Ecn::Ce, Ecn::NotEct, Ecn::Ect1, before.ecn] {
        rewrite_ecn(packet, ecn);
        assert_eq!(Ok(ParsedHeaders { ecn, ..*before }), ParsedHeaders::parse(packet));
    }
    let TransportHeader::Tcp(tcp) = before.transport else { return };
    let (bytes, sum) = (packet.to_vec(), tcp_checksum_sum(packet, before));
    for (ece, cwr) in [(true, false), (true, true), (false, true), (tcp.header.flags.has(Flags::ECE), tcp.header.flags.has(Flags::CWR))] {
        rewrite_ece_cwr(packet, before.transport_at as usize, ece, cwr);
        assert_eq!(sum, tcp_checksum_sum(packet, before), "a checksum that was right is no longer, or the other way round");
        match ParsedHeaders::parse(packet).map(|view| view.transport) {
            Ok(TransportHeader::Tcp(now)) => assert_eq!((ece, cwr), (now.header.flags.has(Flags::ECE), now.header.flags.has(Flags::CWR))),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(ParsedHeaders::parse(&bytes), ParsedHeaders::parse(packet));
}
