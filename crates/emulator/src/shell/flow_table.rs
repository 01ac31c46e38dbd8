//! Flow table of a shell: a flow of the engine for each direction of a conversation, which is a pair of addresses and ports.
//!
//! The engine has a fixed number of flows for them. If all are used, a new conversation replaces the one that has been silent longest, and
//! queues treat it as another flow.

use std::collections::HashMap;
use std::net::IpAddr;

use ecnlab_sim::Direction;
use ecnlab_units::Time;
use ecnlab_wire::{ParsedHeaders, TransportHeader, extension, protocol};

use crate::address::{AddressSlot, Classification, FlowClassifier, Side};

/// Maximum number of conversations that queues distinguish at one time.
pub const MAX_FLOWS: u32 = 1024;

/// Identity of a conversation: address and port of the client, those of the server, and the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct FiveTuple {
    inner: (IpAddr, u16),
    outer: (IpAddr, u16),
    protocol: u8,
}

#[derive(Clone, Copy, Debug)]
struct FlowEntry {
    five_tuple: FiveTuple,
    last_packet: Time,
    /// Number of earlier conversations with this entry, modulo 256.
    connection_id: u8,
}

/// Known conversations.
#[derive(Debug, Default)]
pub struct FlowTable {
    /// Flow number of the first entry.
    first_flow: u32,
    index: HashMap<FiveTuple, u32>,
    entries: Vec<FlowEntry>,
}

/// The flow of a conversation's packets from a side; flows of conversations begin at `first`.
pub fn flow_of_entry(first_flow: u32, number: u32, from: Side) -> u32 {
    first_flow + if from == Side::Near { number } else { MAX_FLOWS + number }
}

impl FlowClassifier for FlowTable {
    /// `None` if the packet is not unicast, or sent by a device itself.
    fn classify(&mut self, view: &ParsedHeaders, (_, side): (u32, Side), now: Time) -> Option<Classification> {
        if !is_unicast(view.source) || !is_unicast(view.destination) {
            return None;
        }
        let (source, destination) = view.ports().unwrap_or_default();
        let ends = [(view.source, source), (view.destination, destination)];
        let [inner, outer] = if side == Side::Near { ends } else { [ends[1], ends[0]] };
        let number = self.find_or_insert(FiveTuple { inner, outer, protocol: protocol_of(&view.transport) }, now);
        let entry = &mut self.entries[number as usize];
        entry.last_packet = now;
        Some(Classification {
            flow: flow_of_entry(self.first_flow, number, side),
            direction: Direction::Forward,
            slot: AddressSlot { group: 0, number },
            side,
            connection_id: entry.connection_id,
        })
    }

    fn flow_sending_from(&self, slot: AddressSlot, side: Side) -> Option<u32> {
        Some(flow_of_entry(self.first_flow, slot.number, side))
    }
}

impl FlowTable {
    /// Creates a table with flows from this number on.
    pub fn with_first_flow(first_flow: u32) -> FlowTable {
        FlowTable { first_flow, ..FlowTable::default() }
    }

    fn find_or_insert(&mut self, five_tuple: FiveTuple, now: Time) -> u32 {
        if let Some(number) = self.index.get(&five_tuple) {
            return *number;
        }
        let number = if self.entries.len() < MAX_FLOWS as usize {
            self.entries.push(FlowEntry { five_tuple, last_packet: now, connection_id: 0 });
            self.entries.len() as u32 - 1
        } else {
            let (at, evicted) = self.entries.iter_mut().enumerate().min_by_key(|(_, entry)| entry.last_packet).expect("there are places");
            self.index.remove(&evicted.five_tuple);
            *evicted = FlowEntry { five_tuple, last_packet: now, connection_id: evicted.connection_id.wrapping_add(1) };
            at as u32
        };
        self.index.insert(five_tuple, number);
        number
    }
}

/// Fragments after the first have no ports, and share an entry with all others of their hosts.
fn protocol_of(transport: &TransportHeader) -> u8 {
    match transport {
        TransportHeader::Tcp(_) => protocol::TCP,
        TransportHeader::Udp { .. } => protocol::UDP,
        TransportHeader::Icmp => protocol::ICMP,
        TransportHeader::Fragment => extension::FRAGMENT,
        TransportHeader::Other(number) => *number,
    }
}

fn is_unicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !(address.is_multicast() || address.is_broadcast() || address.is_link_local() || address.is_unspecified()),
        IpAddr::V6(address) => !(address.is_multicast() || address.is_unspecified() || address.segments()[0] & 0xffc0 == 0xfe80),
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Span;

    use super::*;

    fn udp_packet(from: &str, to: &str, ports: (u16, u16)) -> ParsedHeaders {
        let mut bytes = Vec::new();
        let octets = |text: &str| text.parse::<std::net::Ipv4Addr>().unwrap().octets();
        let packet = etherparse::PacketBuilder::ipv4(octets(from), octets(to), 64).udp(ports.0, ports.1);
        packet.write(&mut bytes, &[0; 10]).unwrap();
        ParsedHeaders::parse(&bytes).unwrap()
    }

    /// Index of the entry, and the number that distinguishes it from earlier conversations there.
    fn classified(flow_table: &mut FlowTable, view: &ParsedHeaders, from: Side, second: u64) -> (u32, u8) {
        let found = flow_table.classify(view, (0, from), Time::ZERO + Span::from_secs(second)).unwrap();
        assert_eq!(found.flow, flow_of_entry(0, found.slot.number, from));
        (found.slot.number, found.connection_id)
    }

    #[test]
    fn both_directions_of_a_connection_share_an_entry_and_other_ports_do_not() {
        let mut flow_table = FlowTable::default();
        let (inner, outer) = ("100.64.0.2", "100.64.0.1");
        let there = classified(&mut flow_table, &udp_packet(inner, outer, (5000, 80)), Side::Near, 0);
        let back = classified(&mut flow_table, &udp_packet(outer, inner, (80, 5000)), Side::Far, 0);
        let other = classified(&mut flow_table, &udp_packet(inner, outer, (5001, 80)), Side::Near, 0);
        assert_eq!(there, back);
        assert_ne!(there, other);
    }

    #[test]
    fn multicast_and_link_local_packets_have_no_flow() {
        let mut flow_table = FlowTable::default();
        let (inner, outer) = ("100.64.0.2", "100.64.0.1");
        for (from, to) in [(inner, "224.0.0.251"), (inner, "255.255.255.255"), ("169.254.0.1", outer), ("0.0.0.0", outer)] {
            assert_eq!(None, flow_table.classify(&udp_packet(from, to, (1, 2)), (0, Side::Near), Time::ZERO), "{from} {to}");
        }
    }

    #[test]
    fn the_least_recently_used_entry_is_evicted_and_its_label_changes() {
        let mut flow_table = FlowTable::default();
        let mut at =
            |port: u16, second| classified(&mut flow_table, &udp_packet("100.64.0.2", "100.64.0.1", (port, 80)), Side::Near, second);
        let first = at(1, 0);
        (2..=MAX_FLOWS as u16).for_each(|port| {
            at(port, u64::from(port));
        });
        assert_eq!(first, at(1, 5000), "it has spoken again");
        let newest = at(9999, 5001);
        assert_eq!((1, 1), newest, "in the place of the second");
        assert_eq!(first, at(1, 5002));
        assert_ne!(newest, at(2, 5003));
    }
}
