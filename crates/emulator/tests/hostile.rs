//! Malformed, truncated and hostile packets: told by name or carried, never a panic; and what is written into packets leaves them sound.

use etherparse::{PacketBuilder, TcpOptionElement};
use proptest::prelude::*;

use ecnlab_emulator::address::{FlowAddressMap, FlowClassifier, Side, slot_and_side_of_address};
use ecnlab_emulator::tcp_tracker::TcpTracker;
use ecnlab_units::{CongestionLevel, Ecn, EcnSemantics, Span, Time};
use ecnlab_wire::{ParsedHeaders, TransportHeader, rewrite_ece_cwr, rewrite_ecn};

/// TCP or UDP over either version, with data and, of TCP, some options.
fn any_packet() -> impl Strategy<Value = Vec<u8>> {
    let options = prop::collection::vec(0..4_u8, 0..4);
    (any::<(bool, bool, u8, u32, u32)>(), prop::collection::vec(any::<u8>(), 0..200), options).prop_map(
        |((v6, tcp, class, seq, stamp), data, options)| {
            let near = [0xfd, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];
            let far = [0xfd, 0, 0x80, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];
            let ip = if v6 { PacketBuilder::ipv6(near, far, 64) } else { PacketBuilder::ipv4([10, 3, 0, 9], [10, 131, 0, 9], 64) };
            let mut bytes = Vec::new();
            if tcp {
                let element = |kind| match kind {
                    0 => TcpOptionElement::Noop,
                    1 => TcpOptionElement::MaximumSegmentSize(1460),
                    2 => TcpOptionElement::SelectiveAcknowledgementPermitted,
                    _ => TcpOptionElement::Timestamp(stamp, seq),
                };
                let options: Vec<TcpOptionElement> = options.into_iter().map(element).collect();
                let segment = ip.tcp(1000, 80, seq, 100).ack(stamp);
                let segment = if class & 1 == 1 { segment.syn() } else { segment };
                segment.options(&options).unwrap().write(&mut bytes, &data).unwrap();
            } else {
                ip.udp(1000, 80).write(&mut bytes, &data).unwrap();
            }
            rewrite_ecn(&mut bytes, Ecn::from_bits(class >> 6));
            bytes
        },
    )
}

/// Checksums as etherparse computes them, of IP and of what it carries.
fn are_checksums_right(bytes: &[u8]) -> bool {
    let packet = etherparse::PacketHeaders::from_ip_slice(bytes).unwrap();
    let data = packet.payload.slice();
    match (packet.net.unwrap(), packet.transport.unwrap()) {
        (etherparse::NetHeaders::Ipv4(ip, _), etherparse::TransportHeader::Tcp(tcp)) => {
            ip.header_checksum == ip.calc_header_checksum() && tcp.calc_checksum_ipv4(&ip, data) == Ok(tcp.checksum)
        }
        (etherparse::NetHeaders::Ipv6(ip, _), etherparse::TransportHeader::Tcp(tcp)) => {
            tcp.calc_checksum_ipv6(&ip, data) == Ok(tcp.checksum)
        }
        (etherparse::NetHeaders::Ipv4(ip, _), etherparse::TransportHeader::Udp(udp)) => {
            ip.header_checksum == ip.calc_header_checksum() && udp.calc_checksum_ipv4(&ip, data) == Ok(udp.checksum)
        }
        (etherparse::NetHeaders::Ipv6(ip, _), etherparse::TransportHeader::Udp(udp)) => {
            udp.calc_checksum_ipv6(&ip, data) == Ok(udp.checksum)
        }
        other => panic!("{other:?}"),
    }
}

/// All that the router does with a packet's headers.
fn process_headers(bytes: &mut [u8], slots: &FlowAddressMap, connections: &mut TcpTracker, now: Time) {
    let Ok(view) = ParsedHeaders::parse(bytes) else { return };
    assert!(view.payload <= view.size && view.size as usize == bytes.len());
    let direction = slots.packet_flow_by_addresses(view.source, view.destination, view.occupies_sequence_space());
    if let (Some(_), Some((here, side)), TransportHeader::Tcp(tcp)) = (direction, slot_and_side_of_address(view.source), view.transport) {
        connections.on_sent(here, side, &tcp, view.payload, now);
        connections.on_delivered(here, side.other(), &tcp, now + Span::from_millis(7));
        assert!(connections.min_rtt(here, side).is_none_or(|rtt| rtt <= Span::from_secs(60)));
    }
    for ecn in [Ecn::Ce, Ecn::NotEct, view.ecn] {
        rewrite_ecn(bytes, ecn);
        assert_eq!(Ok(ecn), ParsedHeaders::parse(bytes).map(|view| view.ecn));
    }
    if let TransportHeader::Tcp(_) = view.transport {
        rewrite_ece_cwr(bytes, view.transport_at as usize, true, false);
    }
}

fn slots() -> FlowAddressMap {
    let mut slots = FlowAddressMap::default();
    for flow in 0..12 {
        slots.assign_opener_address_slot(flow, 3);
    }
    slots.assign_answerer_address_slot(20, 8);
    slots
}

proptest! {
    #[test]
    fn any_bytes_are_looked_at_without_a_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        process_headers(&mut bytes, &slots(), &mut TcpTracker::default(), Time::ZERO);
    }

    #[test]
    fn bytes_that_begin_as_ip_are(mut bytes in prop::collection::vec(any::<u8>(), 1..200), version in prop::sample::select(vec![0x45_u8, 0x4f, 0x60])) {
        bytes[0] = version;
        if version == 0x60 && bytes.len() >= 40 {
            let length = bytes.len() as u16 - 40;
            bytes[4..6].copy_from_slice(&length.to_be_bytes());
        }
        process_headers(&mut bytes, &slots(), &mut TcpTracker::default(), Time::ZERO);
    }

    #[test]
    fn a_real_packet_cut_short_is_not_carried(packet in any_packet(), keep in 0.0..1.0_f64) {
        let kept = (packet.len() as f64 * keep) as usize;
        prop_assert!(ParsedHeaders::parse(&packet[..kept]).is_err());
    }

    #[test]
    fn real_packets_with_wrong_bytes_are_looked_at_without_a_panic(
        sequence in prop::collection::vec((any_packet(), prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4), 0..100_u64), 1..20)
    ) {
        let (slots, mut connections) = (slots(), TcpTracker::default());
        for (mut packet, wrong, millis) in sequence {
            for (at, byte) in wrong {
                let at = at.index(packet.len());
                packet[at] = byte;
            }
            process_headers(&mut packet, &slots, &mut connections, Time::ZERO + Span::from_millis(millis));
        }
    }

    #[test]
    fn a_mark_never_weakens_and_checksums_stay_right(mut packet in any_packet(), levels in prop::collection::vec(any::<bool>(), 1..5), mecn: bool) {
        let ecn_semantics = if mecn { EcnSemantics::Mecn } else { EcnSemantics::Classic };
        prop_assert!(are_checksums_right(&packet));
        for congested in levels {
            let before = ParsedHeaders::parse(&packet).unwrap().ecn;
            rewrite_ecn(&mut packet, ecn_semantics.apply_mark(before, if congested { CongestionLevel::Congested } else { CongestionLevel::Incipient }));
            let after = ParsedHeaders::parse(&packet).unwrap().ecn;
            prop_assert!(ecn_semantics.level_of(after) >= ecn_semantics.level_of(before) && after.is_capable() == before.is_capable());
            prop_assert!(are_checksums_right(&packet));
        }
    }

    #[test]
    fn echoes_leave_checksums_right(mut packet in any_packet(), ece: bool, cwr: bool) {
        let view = ParsedHeaders::parse(&packet).unwrap();
        if let TransportHeader::Tcp(_) = view.transport {
            rewrite_ece_cwr(&mut packet, view.transport_at as usize, ece, cwr);
            prop_assert!(are_checksums_right(&packet));
        }
    }

    #[test]
    fn packets_of_a_slot_belong_to_its_flow(packet in any_packet()) {
        let view = ParsedHeaders::parse(&packet).unwrap();
        prop_assert_eq!(Some(Side::Near), slot_and_side_of_address(view.source).map(|(_, side)| side));
        prop_assert!(slots().packet_flow_by_addresses(view.source, view.destination, view.occupies_sequence_space()).is_some());
    }
}
