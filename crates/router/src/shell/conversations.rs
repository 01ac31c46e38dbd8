//! Who speaks with whom: a flow of the engine for each direction of a conversation, that is of a pair of addresses and ports.
//!
//! The engine has a fixed number of flows for them. A conversation takes the place of the one that has been silent longest when all are taken, and
//! counts as another to queues.

use std::collections::HashMap;
use std::net::IpAddr;

use ecnlab_sim::Toward;
use ecnlab_units::Time;
use ecnlab_wire::{extension, protocol};

use crate::address::{Seat, Side};
use crate::drive::{Owner, Owners};
use crate::packet::{Upper, View};

/// Conversations that queues tell apart at one time.
pub const MOST: u32 = 1024;

/// What tells a conversation: address and port inside, those outside, and the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Who {
    inside: (IpAddr, u16),
    outside: (IpAddr, u16),
    protocol: u8,
}

#[derive(Clone, Copy, Debug)]
struct Conversation {
    who: Who,
    last: Time,
    /// Of those that had this place, modulo 256.
    label: u8,
}

/// The conversations that are known.
#[derive(Debug, Default)]
pub struct Conversations {
    /// The number of the first one's flow.
    first: u32,
    places: HashMap<Who, u32>,
    known: Vec<Conversation>,
}

/// The flow of a conversation's packets that come from a side, where flows of conversations begin at `first`.
pub fn flow(first: u32, number: u32, from: Side) -> u32 {
    first + if from == Side::Near { number } else { MOST + number }
}

impl Owners for Conversations {
    /// None if the packet is for no single host, or from a device alone.
    fn owner(&mut self, view: &View, (_, side): (u32, Side), now: Time) -> Option<Owner> {
        if !is_one_host(view.from) || !is_one_host(view.to) {
            return None;
        }
        let (source, destination) = view.ports().unwrap_or_default();
        let ends = [(view.from, source), (view.to, destination)];
        let [inside, outside] = if side == Side::Near { ends } else { [ends[1], ends[0]] };
        let number = self.number(Who { inside, outside, protocol: protocol_of(&view.upper) }, now);
        let known = &mut self.known[number as usize];
        known.last = now;
        Some(Owner {
            flow: flow(self.first, number, side),
            toward: Toward::Sink,
            seat: Seat { group: 0, number },
            side,
            label: known.label,
        })
    }

    /// Nothing is opened here but by programs themselves.
    fn open(&mut self, _flow: u32, _group: u32) -> Option<Seat> {
        None
    }

    fn answer(&mut self, _flow: u32, _to: u32) -> Option<Seat> {
        None
    }

    fn of(&self, _flow: u32) -> Option<(Seat, Side)> {
        None
    }

    fn sender(&self, seat: Seat, side: Side) -> Option<u32> {
        Some(flow(self.first, seat.number, side))
    }
}

impl Conversations {
    /// With flows from this number on.
    pub fn from(first: u32) -> Conversations {
        Conversations { first, ..Conversations::default() }
    }

    fn number(&mut self, who: Who, now: Time) -> u32 {
        if let Some(number) = self.places.get(&who) {
            return *number;
        }
        let number = if self.known.len() < MOST as usize {
            self.known.push(Conversation { who, last: now, label: 0 });
            self.known.len() as u32 - 1
        } else {
            let (at, silent) = self.known.iter_mut().enumerate().min_by_key(|(_, known)| known.last).expect("there are places");
            self.places.remove(&silent.who);
            *silent = Conversation { who, last: now, label: silent.label.wrapping_add(1) };
            at as u32
        };
        self.places.insert(who, number);
        number
    }
}

/// Parts of a packet behind the first have no ports and share a place with all others of their hosts.
fn protocol_of(upper: &Upper) -> u8 {
    match upper {
        Upper::Tcp(_) => protocol::TCP,
        Upper::Udp { .. } => protocol::UDP,
        Upper::Icmp => protocol::ICMP,
        Upper::Fragment => extension::FRAGMENT,
        Upper::Other(number) => *number,
    }
}

fn is_one_host(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !(address.is_multicast() || address.is_broadcast() || address.is_link_local() || address.is_unspecified()),
        IpAddr::V6(address) => !(address.is_multicast() || address.is_unspecified() || address.segments()[0] & 0xffc0 == 0xfe80),
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Span;

    use super::*;

    fn view(from: &str, to: &str, ports: (u16, u16)) -> View {
        let mut bytes = Vec::new();
        let octets = |text: &str| text.parse::<std::net::Ipv4Addr>().unwrap().octets();
        let packet = etherparse::PacketBuilder::ipv4(octets(from), octets(to), 64).udp(ports.0, ports.1);
        packet.write(&mut bytes, &[0; 10]).unwrap();
        View::of(&bytes).unwrap()
    }

    /// Its place, and what tells it there from those before.
    fn place(conversations: &mut Conversations, view: &View, from: Side, second: u64) -> (u32, u8) {
        let owner = conversations.owner(view, (0, from), Time::ZERO + Span::from_secs(second)).unwrap();
        assert_eq!(owner.flow, flow(0, owner.seat.number, from));
        (owner.seat.number, owner.label)
    }

    #[test]
    fn both_directions_of_a_conversation_have_one_place_and_other_ports_another() {
        let mut conversations = Conversations::default();
        let (inside, outside) = ("100.64.0.2", "100.64.0.1");
        let there = place(&mut conversations, &view(inside, outside, (5000, 80)), Side::Near, 0);
        let back = place(&mut conversations, &view(outside, inside, (80, 5000)), Side::Far, 0);
        let other = place(&mut conversations, &view(inside, outside, (5001, 80)), Side::Near, 0);
        assert_eq!(there, back);
        assert_ne!(there, other);
    }

    #[test]
    fn packets_to_groups_and_of_devices_have_none() {
        let mut conversations = Conversations::default();
        let (inside, outside) = ("100.64.0.2", "100.64.0.1");
        for (from, to) in [(inside, "224.0.0.251"), (inside, "255.255.255.255"), ("169.254.0.1", outside), ("0.0.0.0", outside)] {
            assert_eq!(None, conversations.owner(&view(from, to, (1, 2)), (0, Side::Near), Time::ZERO), "{from} {to}");
        }
    }

    #[test]
    fn the_one_that_was_silent_longest_makes_room_and_its_place_counts_as_another() {
        let mut conversations = Conversations::default();
        let mut at = |port: u16, second| place(&mut conversations, &view("100.64.0.2", "100.64.0.1", (port, 80)), Side::Near, second);
        let first = at(1, 0);
        (2..=MOST as u16).for_each(|port| {
            at(port, u64::from(port));
        });
        assert_eq!(first, at(1, 5000), "it has spoken again");
        let newest = at(9999, 5001);
        assert_eq!((1, 1), newest, "in the place of the second");
        assert_eq!(first, at(1, 5002));
        assert_ne!(newest, at(2, 5003));
    }
}
