//! Which connection a packet belongs to, and in which of its two directions it goes.
//!
//! Connections that are alive are found by their two ends. When there are too many, the one that was quiet for longest makes room.

use std::collections::BTreeMap;

use ecnlab_wire::{End, Kind, Packet};

/// Connections that are alive at a time.
pub const MOST: usize = 1 << 16;

/// The two ends, the lesser first, and what they talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    low: End,
    high: End,
    protocol: Protocol,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Protocol {
    Tcp,
    Datagrams,
}

impl Key {
    /// The connection of a packet, and its direction: 0 from the lesser end. `None` for what is neither TCP nor a datagram.
    pub fn of(packet: &Packet) -> Option<(Key, usize)> {
        let protocol = match packet.kind {
            Kind::Data | Kind::Ack => Protocol::Tcp,
            Kind::Datagram => Protocol::Datagrams,
            Kind::Other => return None,
        };
        let (source, destination) = (packet.source, packet.destination);
        let side = usize::from(source > destination);
        let (low, high) = if side == 0 { (source, destination) } else { (destination, source) };
        Some((Key { low, high, protocol }, side))
    }
}

/// What is known of each connection, in slots that are used again.
#[derive(Debug)]
pub struct Connections<T> {
    index: BTreeMap<Key, u32>,
    slots: Vec<Slot<T>>,
    /// The slot that was used last and the one that was not used for longest.
    newest: u32,
    oldest: u32,
}

#[derive(Debug)]
struct Slot<T> {
    key: Key,
    state: T,
    newer: u32,
    older: u32,
}

impl<T> Default for Connections<T> {
    fn default() -> Connections<T> {
        Connections { index: BTreeMap::new(), slots: Vec::new(), newest: NONE, oldest: NONE }
    }
}

impl<T> Connections<T> {
    /// The slot of a connection, which is made if it is new. Returns what had to make room, too.
    pub fn enter(&mut self, key: Key, make: impl FnOnce() -> T) -> (u32, Option<T>) {
        if self.slots.get(self.newest as usize).is_some_and(|slot| slot.key == key) {
            return (self.newest, None);
        }
        if let Some(&at) = self.index.get(&key) {
            self.unlink(at);
            self.link(at);
            return (at, None);
        }
        let (at, gone) = self.place(key, make());
        self.index.insert(key, at);
        self.link(at);
        (at, gone)
    }

    pub fn at(&mut self, at: u32) -> &mut T {
        &mut self.slots[at as usize].state
    }

    /// All that are alive, in the order of their slots.
    pub fn into_all(self) -> impl Iterator<Item = T> {
        self.slots.into_iter().map(|slot| slot.state)
    }

    /// Puts a new connection into a slot of its own, or into that of the one that was quiet for longest.
    fn place(&mut self, key: Key, state: T) -> (u32, Option<T>) {
        let slot = Slot { key, state, newer: NONE, older: NONE };
        if self.slots.len() < MOST {
            self.slots.push(slot);
            return ((self.slots.len() - 1) as u32, None);
        }
        let at = self.oldest;
        self.unlink(at);
        let gone = std::mem::replace(&mut self.slots[at as usize], slot);
        self.index.remove(&gone.key);
        (at, Some(gone.state))
    }

    fn link(&mut self, at: u32) {
        (self.slots[at as usize].older, self.slots[at as usize].newer) = (self.newest, NONE);
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

const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use ecnlab_wire::{Address, End};

    use super::*;

    fn key(port: u32) -> Key {
        let end = |node| End { address: Address::Node(node), port };
        Key { low: end(0), high: end(1), protocol: Protocol::Tcp }
    }

    #[test]
    fn the_connection_that_was_quiet_for_longest_makes_room() {
        let mut connections = Connections::default();
        for port in 0..MOST as u32 {
            assert_eq!((port, None), connections.enter(key(port), || port));
        }
        connections.enter(key(0), || unreachable!());
        assert_eq!((1, Some(1)), connections.enter(key(MOST as u32), || 7));
        assert_eq!((2, Some(2)), connections.enter(key(1), || 8));
        assert_eq!((0, None), connections.enter(key(0), || unreachable!()));
    }
}
