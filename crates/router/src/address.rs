//! Who is who: the addresses of flows, and the flow that a packet belongs to.
//!
//! Each group has two hosts: one whose applications open connections (the near side) and one whose applications are called (the far
//! side). A flow has an address of its own at both ends, so that a packet's IP header alone says whose it is:
//!
//! ```text
//! IPv4   10.SGGGGGGG.s.s     S: side, G: group, s.s: the flow's seat in its group, from 1
//! IPv6   fd00:SG::seat       S: side, G: group
//! ```
//!
//! A connection carries one flow, or two: the flow that opened it from near to far, and one that answers over it from far to near. A
//! packet with data belongs to the flow that sends in its direction; any other acknowledges the flow of the other direction, if there is
//! one, and goes where that one's acknowledgements go.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ecnlab_sim::Toward;

/// The side of a group that opens connections, or the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    #[default]
    Near,
    Far,
}

impl Side {
    pub fn other(self) -> Side {
        if self == Side::Near { Side::Far } else { Side::Near }
    }
}

/// The version of IP that hosts speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Family {
    #[default]
    V4,
    V6,
}

impl Family {
    /// Of a version's number, which is 4 unless it is 6.
    pub fn of(version: u32) -> Family {
        if version == 6 { Family::V6 } else { Family::V4 }
    }
}

/// A flow's place in its group: it has an address on each side.
#[derive(Default, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seat {
    pub group: u32,
    /// From 0.
    pub number: u32,
}

/// Groups that have addresses.
pub const MOST_GROUPS: u32 = 1 << 7;
/// Flows of a group that have addresses: neither the first nor the last address of a network is one.
pub const MOST_SEATS: u32 = (1 << 16) - 2;

impl Family {
    /// The network of a group's host, with the length of its prefix.
    pub fn network(self, group: u32, side: Side) -> (IpAddr, u8) {
        match self {
            Family::V4 => (self.place(group, side, 0), 16),
            Family::V6 => (self.place(group, side, 0), 32),
        }
    }

    /// Every address of the plan.
    pub fn everywhere(self) -> (IpAddr, u8) {
        match self {
            Family::V4 => (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0)), 8),
            Family::V6 => (IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 0)), 16),
        }
    }

    /// The address of a seat on a side.
    pub fn address(self, seat: Seat, side: Side) -> IpAddr {
        self.place(seat.group, side, seat.number + 1)
    }

    fn place(self, group: u32, side: Side, number: u32) -> IpAddr {
        let side = (side == Side::Far) as u32;
        match self {
            Family::V4 => IpAddr::V4(Ipv4Addr::from_bits(10 << 24 | side << 23 | group << 16 | number)),
            Family::V6 => {
                let high = 0xfd00_u128 << 112 | u128::from(side << 15 | group) << 96;
                IpAddr::V6(Ipv6Addr::from_bits(high | u128::from(number)))
            }
        }
    }
}

/// The seat and side of an address; `None` if it is not one of the plan.
pub fn seat(address: IpAddr) -> Option<(Seat, Side)> {
    let (side, group, number) = match address {
        IpAddr::V4(address) => {
            let bits = address.to_bits();
            (bits >> 24 == 10).then_some((bits >> 23 & 1, bits >> 16 & 0x7f, bits & 0xffff))?
        }
        IpAddr::V6(address) => {
            let bits = address.to_bits();
            let (high, low) = ((bits >> 96) as u32, bits & ((1 << 96) - 1));
            (high >> 16 == 0xfd00 && low <= 0xffff).then_some((high >> 15 & 1, high & 0x7fff, low as u32))?
        }
    };
    let side = if side == 0 { Side::Near } else { Side::Far };
    (group < MOST_GROUPS && (1..=MOST_SEATS).contains(&number)).then(|| (Seat { group, number: number - 1 }, side))
}

/// The flow that a packet belongs to, and which of its ends takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whose {
    pub flow: u32,
    pub toward: Toward,
}

/// The flows of a seat: of each direction of its connection.
#[derive(Clone, Copy, Debug, Default)]
struct Flows {
    /// From near to far: it opened the connection.
    opened: Option<u32>,
    /// From far to near, over the same connection.
    answers: Option<u32>,
}

/// Which flow has which seat.
#[derive(Clone, Debug, Default)]
pub struct Seats {
    /// By group, then by seat.
    groups: Vec<Vec<Flows>>,
    /// By flow: where it sits, and the side that it sends from.
    flows: Vec<Option<(Seat, Side)>>,
}

impl Seats {
    /// The seat of a flow that opens a connection or sends datagrams, its own from the first time on; `None` if no address is left.
    pub fn open(&mut self, flow: u32, group: u32) -> Option<Seat> {
        if let Some((seat, _)) = self.of(flow) {
            return Some(seat);
        }
        if group >= MOST_GROUPS {
            return None;
        }
        let group_at = group as usize;
        if self.groups.len() <= group_at {
            self.groups.resize_with(group_at + 1, Vec::new);
        }
        let seats = &mut self.groups[group_at];
        let seat = Seat { group, number: seats.len() as u32 };
        if seat.number >= MOST_SEATS {
            return None;
        }
        seats.push(Flows { opened: Some(flow), answers: None });
        self.put(flow, seat, Side::Near);
        Some(seat)
    }

    /// A flow sends back over the connection of another, which has a seat; it replaces one that did so before.
    ///
    /// # Panics
    /// If the other has no seat.
    pub fn answer(&mut self, flow: u32, to: u32) -> Seat {
        let (seat, _) = self.of(to).expect("a flow is answered once it has opened a connection");
        let answers = &mut self.groups[seat.group as usize][seat.number as usize].answers;
        let before = answers.replace(flow);
        if let Some(before) = before.filter(|before| *before != flow) {
            self.flows[before as usize] = None;
        }
        self.put(flow, seat, Side::Far);
        seat
    }

    fn put(&mut self, flow: u32, seat: Seat, side: Side) {
        let flow = flow as usize;
        if self.flows.len() <= flow {
            self.flows.resize(flow + 1, None);
        }
        self.flows[flow] = Some((seat, side));
    }

    /// Where a flow sits and the side that it sends from.
    pub fn of(&self, flow: u32) -> Option<(Seat, Side)> {
        self.flows.get(flow as usize).copied().flatten()
    }

    /// The flow that sends from a side of a seat, if one does.
    pub fn sender(&self, seat: Seat, side: Side) -> Option<u32> {
        let flows = self.groups.get(seat.group as usize)?.get(seat.number as usize)?;
        if side == Side::Near { flows.opened } else { flows.answers }
    }

    /// Whose packet this is, from one address to another, which carries data or does not; `None` if it is nobody's.
    pub fn whose(&self, from: IpAddr, to: IpAddr, carries: bool) -> Option<Whose> {
        let ((from, side), (to, _)) = (seat(from)?, seat(to).filter(|(_, far)| seat(from).is_some_and(|(_, near)| near != *far))?);
        if from != to {
            return None;
        }
        let flows = self.groups.get(from.group as usize)?.get(from.number as usize)?;
        let (mine, other) = if side == Side::Near { (flows.opened, flows.answers) } else { (flows.answers, flows.opened) };
        let sent = mine.map(|flow| Whose { flow, toward: Toward::Sink });
        let acknowledged = other.map(|flow| Whose { flow, toward: Toward::Source });
        if carries { sent.or(acknowledged) } else { acknowledged.or(sent) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_seat_and_side() {
        for family in [Family::V4, Family::V6] {
            for group in [0, 1, MOST_GROUPS - 1] {
                for number in [0, 1, 255, 256, MOST_SEATS - 1] {
                    for side in [Side::Near, Side::Far] {
                        let here = Seat { group, number };
                        assert_eq!(Some((here, side)), seat(family.address(here, side)));
                    }
                }
            }
        }
        assert_eq!("10.130.1.1", Family::V4.address(Seat { group: 2, number: 256 }, Side::Far).to_string());
        assert_eq!("fd00:8002::101", Family::V6.address(Seat { group: 2, number: 256 }, Side::Far).to_string());
    }

    #[test]
    fn other_addresses_are_nobodys() {
        for address in ["10.0.0.0", "10.0.255.255", "11.0.0.1", "127.0.0.1", "fe80::1", "fd00::", "fd00:80::1", "fd00::1:0:1", "::1"] {
            assert_eq!(None, seat(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn acknowledgements_of_a_lone_flow_go_to_its_source() {
        let mut seats = Seats::default();
        let here = seats.open(7, 3).unwrap();
        let [near, far] = [Side::Near, Side::Far].map(|side| Family::V4.address(here, side));
        let sink = Some(Whose { flow: 7, toward: Toward::Sink });
        let source = Some(Whose { flow: 7, toward: Toward::Source });
        assert_eq!([sink, sink], [true, false].map(|carries| seats.whose(near, far, carries)));
        assert_eq!([source, source], [true, false].map(|carries| seats.whose(far, near, carries)));
        assert_eq!([None, None], [seats.whose(near, near, true), seats.whose(far, far, true)]);
    }

    #[test]
    fn a_connection_that_goes_both_ways_is_two_flows() {
        let mut seats = Seats::default();
        let here = seats.open(4, 0).unwrap();
        assert_eq!(here, seats.answer(5, 4));
        assert_eq!([Some(4), Some(5)], [Side::Near, Side::Far].map(|side| seats.sender(here, side)));
        let [near, far] = [Side::Near, Side::Far].map(|side| Family::V6.address(here, side));
        assert_eq!(Some(Whose { flow: 4, toward: Toward::Sink }), seats.whose(near, far, true));
        assert_eq!(Some(Whose { flow: 5, toward: Toward::Source }), seats.whose(near, far, false));
        assert_eq!(Some(Whose { flow: 5, toward: Toward::Sink }), seats.whose(far, near, true));
        assert_eq!(Some(Whose { flow: 4, toward: Toward::Source }), seats.whose(far, near, false));
    }

    #[test]
    fn a_flow_keeps_its_seat_and_others_have_others() {
        let mut seats = Seats::default();
        let first = seats.open(0, 0);
        assert_eq!(first, seats.open(0, 0));
        assert_ne!(first, seats.open(1, 0));
        assert_eq!(None, seats.open(2, MOST_GROUPS));
        let (other, _) = (seats.open(2, 1).unwrap(), ());
        let [mine, theirs] = [(first.unwrap(), Side::Near), (other, Side::Far)].map(|(seat, side)| Family::V4.address(seat, side));
        assert_eq!(None, seats.whose(mine, theirs, true));
    }
}
