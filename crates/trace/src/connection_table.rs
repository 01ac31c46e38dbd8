//! The table of connections: maps a packet to its connection and direction.
//!
//! Active connections are keyed by their two ends. A full table evicts the least recently used one.

use std::collections::BTreeMap;

use ecnlab_wire::{End, Kind, Packet};

/// Connections that the table holds at a time.
pub const MAX_CONNECTIONS: usize = 1 << 16;

/// The two ends, the lesser first, and the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionKey {
    low_end: End,
    high_end: End,
    protocol: Protocol,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Protocol {
    Tcp,
    Datagrams,
}

impl ConnectionKey {
    /// The connection of a packet, and its direction: 0 from the lesser end. `None` for what is neither TCP nor a datagram.
    pub fn with_side_of_packet(packet: &Packet) -> Option<(ConnectionKey, usize)> {
        let protocol = match packet.kind {
            Kind::Data | Kind::Ack => Protocol::Tcp,
            Kind::Datagram => Protocol::Datagrams,
            Kind::Other => return None,
        };
        let (source, destination) = (packet.source, packet.destination);
        let side = usize::from(source > destination);
        let (low_end, high_end) = if side == 0 { (source, destination) } else { (destination, source) };
        Some((ConnectionKey { low_end, high_end, protocol }, side))
    }
}

/// State of each connection, in reusable slots that a list links by last use.
#[derive(Debug)]
pub struct ConnectionTable<T> {
    index: BTreeMap<ConnectionKey, u32>,
    slots: Vec<Slot<T>>,
    /// The most and the least recently used slot.
    newest: u32,
    oldest: u32,
}

#[derive(Debug)]
struct Slot<T> {
    key: ConnectionKey,
    state: T,
    newer: u32,
    older: u32,
}

impl<T> Default for ConnectionTable<T> {
    fn default() -> ConnectionTable<T> {
        ConnectionTable { index: BTreeMap::new(), slots: Vec::new(), newest: NO_SLOT, oldest: NO_SLOT }
    }
}

impl<T> ConnectionTable<T> {
    /// The slot of a connection, created if it is new, and the state of the connection that was evicted for it.
    pub fn get_or_allocate_slot(&mut self, key: ConnectionKey, new_state: impl FnOnce() -> T) -> (u32, Option<T>) {
        if self.slots.get(self.newest as usize).is_some_and(|slot| slot.key == key) {
            return (self.newest, None);
        }
        if let Some(&at) = self.index.get(&key) {
            self.unlink(at);
            self.push_newest(at);
            return (at, None);
        }
        let (at, evicted) = self.allocate_slot(key, new_state());
        self.index.insert(key, at);
        self.push_newest(at);
        (at, evicted)
    }

    pub fn state_at_mut(&mut self, at: u32) -> &mut T {
        &mut self.slots[at as usize].state
    }

    /// The states of all connections, in the order of their slots.
    pub fn into_values(self) -> impl Iterator<Item = T> {
        self.slots.into_iter().map(|slot| slot.state)
    }

    /// Stores a new connection in a free slot, or in that of the least recently used one.
    fn allocate_slot(&mut self, key: ConnectionKey, state: T) -> (u32, Option<T>) {
        let slot = Slot { key, state, newer: NO_SLOT, older: NO_SLOT };
        if self.slots.len() < MAX_CONNECTIONS {
            self.slots.push(slot);
            return ((self.slots.len() - 1) as u32, None);
        }
        let at = self.oldest;
        self.unlink(at);
        let evicted = std::mem::replace(&mut self.slots[at as usize], slot);
        self.index.remove(&evicted.key);
        (at, Some(evicted.state))
    }

    fn push_newest(&mut self, at: u32) {
        (self.slots[at as usize].older, self.slots[at as usize].newer) = (self.newest, NO_SLOT);
        match self.slots.get_mut(self.newest as usize) {
            Some(slot) => slot.newer = at,
            None => self.oldest = at,
        }
        self.newest = at;
    }

    fn unlink(&mut self, at: u32) {
        let (older, newer) = (self.slots[at as usize].older, self.slots[at as usize].newer);
        match self.slots.get_mut(older as usize) {
            Some(slot) => slot.newer = newer,
            None => self.oldest = newer,
        }
        match self.slots.get_mut(newer as usize) {
            Some(slot) => slot.older = older,
            None => self.newest = older,
        }
    }
}

const NO_SLOT: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use ecnlab_wire::{Address, End};

    use super::*;

    fn key(port: u32) -> ConnectionKey {
        let end = |node| End { address: Address::Node(node), port };
        ConnectionKey { low_end: end(0), high_end: end(1), protocol: Protocol::Tcp }
    }

    #[test]
    fn a_full_table_evicts_the_least_recently_used_connection() {
        let mut connections = ConnectionTable::default();
        for port in 0..MAX_CONNECTIONS as u32 {
            assert_eq!((port, None), connections.get_or_allocate_slot(key(port), || port));
        }
        connections.get_or_allocate_slot(key(0), || unreachable!());
        assert_eq!((1, Some(1)), connections.get_or_allocate_slot(key(MAX_CONNECTIONS as u32), || 7));
        assert_eq!((2, Some(2)), connections.get_or_allocate_slot(key(1), || 8));
        assert_eq!((0, None), connections.get_or_allocate_slot(key(0), || unreachable!()));
    }
}
