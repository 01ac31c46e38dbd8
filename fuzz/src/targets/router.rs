//! Packets of real hosts at the router, and what it writes into them.

use ecnlab_router::address::{Family, Seats, Side, seat};
use ecnlab_router::cases::{Cases, Sent};
use ecnlab_router::connection::Connections;
use ecnlab_router::drive::Owners;
use ecnlab_router::packet::{Upper, View, write_echo, write_ecn};
use ecnlab_router::shell::conversations::Conversations;
use ecnlab_units::{Ecn, Span, Time};

use crate::input::Input;

/// Of the group whose packets come.
const GROUP: u32 = 3;
const FLOWS: u32 = 6;

/// Packets one after another, as they come from the TUN devices of both sides. Three bytes stand before each: how it is made sound, how much
/// later it comes in milliseconds, and its length.
pub fn packets(data: &[u8]) {
    let mut input = Input(data);
    let mut router = Router::new();
    let mut now = Time::ZERO;
    while !input.is_empty() {
        let [how, later, length] = input.bytes();
        now += Span::from_millis(u64::from(later));
        let mut packet = input.slice(length.into()).to_vec();
        make_sound(&mut packet, how);
        router.carry(&mut packet, if how & 1 == 0 { Side::Near } else { Side::Far }, now);
    }
}

/// Sets what a random packet would hardly get right: addresses of the plan, lengths, and IPv4's checksum.
fn make_sound(packet: &mut [u8], how: u8) {
    let length = packet.len();
    let version = packet.first().map(|first| first >> 4);
    let side = if how & 1 == 0 { Side::Near } else { Side::Far };
    let place = ecnlab_router::address::Seat { group: GROUP, number: u32::from(how >> 4 & 7) };
    let family = if version == Some(6) { Family::V6 } else { Family::V4 };
    let [from, to] = [side, side.other()].map(|side| family.address(place, side));
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
fn tcp_sum(packet: &[u8], view: &View) -> u32 {
    let header = &packet[view.upper_at as usize..][..20];
    header.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum::<u32>() % 0xffff
}

/// RFC 1071 over an even number of bytes.
fn internet_checksum(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let once = (sum & 0xffff) + (sum >> 16);
    !((once & 0xffff) + (once >> 16)) as u16
}

struct Router {
    seats: Seats,
    conversations: Conversations,
    connections: Connections,
    cases: Cases,
    ticket: u32,
}

impl Router {
    fn new() -> Router {
        let (mut seats, mut cases) = (Seats::default(), Cases::default());
        for flow in 0..FLOWS {
            let here = seats.open(flow, GROUP).expect("there are addresses");
            cases.connects(here, 0x1000, flow, Time::ZERO);
        }
        seats.answer(20, 2);
        Router { seats, conversations: Conversations::from(0), connections: Connections::default(), cases, ticket: 0 }
    }

    /// All that the router does with a packet's headers.
    fn carry(&mut self, packet: &mut [u8], side: Side, now: Time) {
        let Ok(view) = View::of(packet) else { return };
        assert!(view.payload <= view.size && view.size as usize == packet.len());
        assert!(view.upper_at as usize + view.payload as usize <= packet.len());
        let inside = self.conversations.owner(&view, (0, side), now);
        assert!(inside.is_none_or(|owner| owner.side == side));
        if let Some(owner) = self.seats.owner(&view, (GROUP, side), now) {
            assert_eq!(Some((owner.seat, owner.side)), seat(view.from));
            if let Upper::Tcp(tcp) = view.upper {
                self.ticket += 1;
                let (ticket, upper, payload) = (self.ticket % 8, view.upper_at as usize, view.payload);
                self.connections.entered(owner.seat, side, &tcp, payload, now);
                self.cases.entered(Sent { seat: owner.seat, side, ticket, tcp, bytes: packet, upper, payload, ecn: view.ecn }, now);
                let later = now + Span::from_millis(7);
                let heard = self.connections.left(owner.seat, side.other(), &tcp, later);
                assert!(heard.rtt.is_none_or(|rtt| rtt <= later.since(Time::ZERO)));
                if ticket & 1 == 0 {
                    self.cases.left(ticket, view.ecn, later)
                } else {
                    self.cases.lost(ticket)
                }
                self.cases.wrote(owner.seat, tcp.ports.0, side, payload.into(), now);
            }
        }
        write(packet, &view);
    }
}

/// A codepoint or an echo that is written is read again, and nothing else has changed.
fn write(packet: &mut [u8], before: &View) {
    for ecn in [Ecn::Ce, Ecn::NotEct, Ecn::Ect1, before.ecn] {
        write_ecn(packet, ecn);
        assert_eq!(Ok(View { ecn, ..*before }), View::of(packet));
    }
    let Upper::Tcp(tcp) = before.upper else { return };
    let (bytes, sum) = (packet.to_vec(), tcp_sum(packet, before));
    for (ece, cwr) in [(true, false), (true, true), (false, true), (tcp.flags.ece(), tcp.flags.cwr())] {
        write_echo(packet, before.upper_at as usize, ece, cwr);
        assert_eq!(sum, tcp_sum(packet, before), "a checksum that was right is no longer, or the other way round");
        match View::of(packet).map(|view| view.upper) {
            Ok(Upper::Tcp(now)) => assert_eq!((ece, cwr), (now.flags.ece(), now.flags.cwr())),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(View::of(&bytes), View::of(packet));
}
