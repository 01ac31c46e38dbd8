//! Addresses of flows, and the flow of a packet by its addresses.
//!
//! Each group has two hosts: one whose applications open connections (the near side) and one whose applications accept them (the far
//! side). A flow has a separate address at both ends, so that the IP header of a packet identifies its flow:
//!
//! ```text
//! IPv4   10.SGGGGGGG.s.s     S: side, G: group, s.s: the flow's slot in its group, from 1
//! IPv6   fd00:SG::slot       S: side, G: group
//! ```
//!
//! A connection carries one flow, or two: the flow that opened it from near to far, and one that replies over it from far to near. A
//! packet with data belongs to the flow that sends in its direction. Any other packet acknowledges the flow of the other direction, if
//! there is one, and takes the route of its acknowledgements.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ecnlab_sim::Direction;
use ecnlab_units::Time;
use ecnlab_wire::ParsedHeaders;

/// The side of a group that opens connections, or the other side.
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

/// Version of IP that hosts use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressFamily {
    #[default]
    V4,
    V6,
}

impl AddressFamily {
    /// From a version number: 6, or 4 for any other.
    pub fn from_ip_version_or_v4(version: u32) -> AddressFamily {
        if version == 6 { AddressFamily::V6 } else { AddressFamily::V4 }
    }
}

/// Slot of a flow in its group, with an address on each side.
#[derive(Default, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressSlot {
    pub group: u32,
    /// Counted from 0.
    pub number: u32,
}

/// Maximum number of groups with addresses.
pub const MAX_GROUPS: u32 = 1 << 7;
/// IPv6's minimum MTU (RFC 8200, section 5).
pub const MIN_MTU_V6: u32 = 1280;
/// Maximum number of flows of a group: the first and the last address of a network are not used.
pub const MAX_HOSTS_PER_SUBNET: u32 = (1 << 16) - 2;

impl AddressFamily {
    /// The network of a group's host, with its prefix length.
    pub fn subnet(self, group: u32, side: Side) -> (IpAddr, u8) {
        match self {
            AddressFamily::V4 => (self.nth_address(group, side, 0), 16),
            AddressFamily::V6 => (self.nth_address(group, side, 0), 32),
        }
    }

    /// The networks of all addresses of the plan.
    pub fn all_subnets(self) -> (IpAddr, u8) {
        match self {
            AddressFamily::V4 => (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0)), 8),
            AddressFamily::V6 => (IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 0)), 16),
        }
    }

    /// The address of a slot on a side.
    pub fn address(self, slot: AddressSlot, side: Side) -> IpAddr {
        self.nth_address(slot.group, side, slot.number + 1)
    }

    fn nth_address(self, group: u32, side: Side, number: u32) -> IpAddr {
        let side = (side == Side::Far) as u32;
        match self {
            AddressFamily::V4 => IpAddr::V4(Ipv4Addr::from_bits(10 << 24 | side << 23 | group << 16 | number)),
            AddressFamily::V6 => {
                let high = 0xfd00_u128 << 112 | u128::from(side << 15 | group) << 96;
                IpAddr::V6(Ipv6Addr::from_bits(high | u128::from(number)))
            }
        }
    }
}

/// The slot and side of an address; `None` if it is not in the plan.
pub fn slot_and_side_of_address(address: IpAddr) -> Option<(AddressSlot, Side)> {
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
    (group < MAX_GROUPS && (1..=MAX_HOSTS_PER_SUBNET).contains(&number)).then(|| (AddressSlot { group, number: number - 1 }, side))
}

/// Flow of a packet, and the slot of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classification {
    pub flow: u32,
    pub direction: Direction,
    pub slot: AddressSlot,
    /// The side that sent it.
    pub side: Side,
    /// Distinguishes connections of one flow at queues.
    pub connection_id: u8,
}

/// Finds the flow of a packet, as a classifier of tc does.
pub trait FlowClassifier {
    /// Classifies a packet from the host at a group's side; `None` if it belongs to no flow.
    fn classify(&mut self, view: &ParsedHeaders, host: (u32, Side), now: Time) -> Option<Classification>;

    /// The slot of a flow that will open a connection or send datagrams; `None` if none is free.
    fn assign_opener_address_slot(&mut self, _flow: u32, _group: u32) -> Option<AddressSlot> {
        None
    }

    /// The slot of a flow that will reply over the connection of another; `None` if that has no slot.
    fn assign_answerer_address_slot(&mut self, _flow: u32, _opener: u32) -> Option<AddressSlot> {
        None
    }

    /// The slot of a flow that has opened or answered a connection, and the side that it sends from.
    fn slot_and_side_of_flow(&self, _flow: u32) -> Option<(AddressSlot, Side)> {
        None
    }

    /// The flow that sends from a side of a slot, if any.
    fn flow_sending_from(&self, slot: AddressSlot, side: Side) -> Option<u32>;
}

/// Flow of a packet, and the side that receives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketFlow {
    pub flow: u32,
    pub direction: Direction,
}

/// The flows of a slot, one for each direction of its connection.
#[derive(Clone, Copy, Debug, Default)]
struct SlotFlows {
    /// From near to far: the flow that opened the connection.
    forward: Option<u32>,
    /// From far to near, over the same connection.
    reverse: Option<u32>,
}

/// Map between flows and their address slots, and from a packet's addresses to its flow.
#[derive(Clone, Debug, Default)]
pub struct FlowAddressMap {
    /// Flows by group and slot.
    groups: Vec<Vec<SlotFlows>>,
    /// Slot of each flow, and the side that it sends from.
    flows: Vec<Option<(AddressSlot, Side)>>,
}

impl FlowAddressMap {
    fn assign(&mut self, flow: u32, slot: AddressSlot, side: Side) {
        let flow = flow as usize;
        if self.flows.len() <= flow {
            self.flows.resize(flow + 1, None);
        }
        self.flows[flow] = Some((slot, side));
    }

    /// Flow of a packet by its addresses and whether it carries data; `None` if it belongs to no flow.
    pub fn packet_flow_by_addresses(&self, from: IpAddr, to: IpAddr, occupies_sequence_space: bool) -> Option<PacketFlow> {
        let ((from, side), (to, _)) = (
            slot_and_side_of_address(from)?,
            slot_and_side_of_address(to).filter(|(_, far)| slot_and_side_of_address(from).is_some_and(|(_, near)| near != *far))?,
        );
        if from != to {
            return None;
        }
        let flows = self.groups.get(from.group as usize)?.get(from.number as usize)?;
        let (mine, other) = if side == Side::Near { (flows.forward, flows.reverse) } else { (flows.reverse, flows.forward) };
        let sent = mine.map(|flow| PacketFlow { flow, direction: Direction::Forward });
        let acknowledged = other.map(|flow| PacketFlow { flow, direction: Direction::Back });
        if occupies_sequence_space { sent.or(acknowledged) } else { acknowledged.or(sent) }
    }
}

/// By the addresses of the plan.
impl FlowClassifier for FlowAddressMap {
    fn classify(&mut self, view: &ParsedHeaders, host: (u32, Side), _now: Time) -> Option<Classification> {
        let (slot, side) = slot_and_side_of_address(view.source).filter(|(slot, side)| (slot.group, *side) == host)?;
        let found = self.packet_flow_by_addresses(view.source, view.destination, view.occupies_sequence_space())?;
        let (from, to) = view.ports().unwrap_or_default();
        let port = if side == Side::Near { from } else { to };
        Some(Classification { flow: found.flow, direction: found.direction, slot, side, connection_id: (port ^ port >> 8) as u8 })
    }

    fn assign_opener_address_slot(&mut self, flow: u32, group: u32) -> Option<AddressSlot> {
        if let Some((slot, _)) = self.slot_and_side_of_flow(flow) {
            return Some(slot);
        }
        if group >= MAX_GROUPS {
            return None;
        }
        let group_index = group as usize;
        if self.groups.len() <= group_index {
            self.groups.resize_with(group_index + 1, Vec::new);
        }
        let slots = &mut self.groups[group_index];
        let slot = AddressSlot { group, number: slots.len() as u32 };
        if slot.number >= MAX_HOSTS_PER_SUBNET {
            return None;
        }
        slots.push(SlotFlows { forward: Some(flow), reverse: None });
        self.assign(flow, slot, Side::Near);
        Some(slot)
    }

    fn assign_answerer_address_slot(&mut self, flow: u32, opener: u32) -> Option<AddressSlot> {
        let (slot, _) = self.slot_and_side_of_flow(opener)?;
        let reverse = &mut self.groups[slot.group as usize][slot.number as usize].reverse;
        let before = reverse.replace(flow);
        if let Some(before) = before.filter(|before| *before != flow) {
            self.flows[before as usize] = None;
        }
        self.assign(flow, slot, Side::Far);
        Some(slot)
    }

    fn slot_and_side_of_flow(&self, flow: u32) -> Option<(AddressSlot, Side)> {
        self.flows.get(flow as usize).copied().flatten()
    }

    fn flow_sending_from(&self, slot: AddressSlot, side: Side) -> Option<u32> {
        let flows = self.groups.get(slot.group as usize)?.get(slot.number as usize)?;
        if side == Side::Near { flows.forward } else { flows.reverse }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_encodes_slot_and_side() {
        for family in [AddressFamily::V4, AddressFamily::V6] {
            for group in [0, 1, MAX_GROUPS - 1] {
                for number in [0, 1, 255, 256, MAX_HOSTS_PER_SUBNET - 1] {
                    for side in [Side::Near, Side::Far] {
                        let slot = AddressSlot { group, number };
                        assert_eq!(Some((slot, side)), slot_and_side_of_address(family.address(slot, side)));
                    }
                }
            }
        }
        assert_eq!("10.130.1.1", AddressFamily::V4.address(AddressSlot { group: 2, number: 256 }, Side::Far).to_string());
        assert_eq!("fd00:8002::101", AddressFamily::V6.address(AddressSlot { group: 2, number: 256 }, Side::Far).to_string());
    }

    #[test]
    fn addresses_outside_the_plan_have_no_slot() {
        for address in ["10.0.0.0", "10.0.255.255", "11.0.0.1", "127.0.0.1", "fe80::1", "fd00::", "fd00:80::1", "fd00::1:0:1", "::1"] {
            assert_eq!(None, slot_and_side_of_address(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn acks_of_a_one_way_connection_go_to_its_source() {
        let mut slots = FlowAddressMap::default();
        let slot = slots.assign_opener_address_slot(7, 3).unwrap();
        let [near, far] = [Side::Near, Side::Far].map(|side| AddressFamily::V4.address(slot, side));
        let sink = Some(PacketFlow { flow: 7, direction: Direction::Forward });
        let source = Some(PacketFlow { flow: 7, direction: Direction::Back });
        assert_eq!(
            [sink, sink],
            [true, false].map(|occupies_sequence_space| slots.packet_flow_by_addresses(near, far, occupies_sequence_space))
        );
        assert_eq!(
            [source, source],
            [true, false].map(|occupies_sequence_space| slots.packet_flow_by_addresses(far, near, occupies_sequence_space))
        );
        assert_eq!([None, None], [slots.packet_flow_by_addresses(near, near, true), slots.packet_flow_by_addresses(far, far, true)]);
    }

    #[test]
    fn a_connection_that_goes_both_ways_is_two_flows() {
        let mut slots = FlowAddressMap::default();
        let slot = slots.assign_opener_address_slot(4, 0).unwrap();
        assert_eq!(Some(slot), slots.assign_answerer_address_slot(5, 4));
        assert_eq!([Some(4), Some(5)], [Side::Near, Side::Far].map(|side| slots.flow_sending_from(slot, side)));
        let [near, far] = [Side::Near, Side::Far].map(|side| AddressFamily::V6.address(slot, side));
        assert_eq!(Some(PacketFlow { flow: 4, direction: Direction::Forward }), slots.packet_flow_by_addresses(near, far, true));
        assert_eq!(Some(PacketFlow { flow: 5, direction: Direction::Back }), slots.packet_flow_by_addresses(near, far, false));
        assert_eq!(Some(PacketFlow { flow: 5, direction: Direction::Forward }), slots.packet_flow_by_addresses(far, near, true));
        assert_eq!(Some(PacketFlow { flow: 4, direction: Direction::Back }), slots.packet_flow_by_addresses(far, near, false));
    }

    #[test]
    fn a_flow_keeps_its_slot_and_others_get_others() {
        let mut slots = FlowAddressMap::default();
        let first = slots.assign_opener_address_slot(0, 0);
        assert_eq!(first, slots.assign_opener_address_slot(0, 0));
        assert_ne!(first, slots.assign_opener_address_slot(1, 0));
        assert_eq!(None, slots.assign_opener_address_slot(2, MAX_GROUPS));
        let (other, _) = (slots.assign_opener_address_slot(2, 1).unwrap(), ());
        let [mine, theirs] = [(first.unwrap(), Side::Near), (other, Side::Far)].map(|(slot, side)| AddressFamily::V4.address(slot, side));
        assert_eq!(None, slots.packet_flow_by_addresses(mine, theirs, true));
    }
}
