//! What a link holds before its queue: packets that go on later, each from behind the impairment that held it.

use std::collections::BTreeMap;

use ecnlab_units::Time;

use crate::packet::PacketId;

/// When a packet goes on, and which of those that go on at that time it is.
pub type Key = (Time, u64);

/// A packet that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldPacket {
    pub packet: PacketId,
    /// The impairment that holds it, and which of the packets it was that came to it.
    pub part: usize,
    pub number: u64,
    /// The time at which it was held.
    pub held_since: Time,
}

/// The packets that a link holds.
#[derive(Debug, Default)]
pub struct Held {
    packets: BTreeMap<Key, HeldPacket>,
    /// How many have been held.
    count: u64,
}

impl Held {
    /// Holds a packet until a time.
    pub fn hold(&mut self, until: Time, packet: HeldPacket) -> Key {
        self.count += 1;
        let key = (until, self.count);
        self.packets.insert(key, packet);
        key
    }

    /// When the next one goes on, and when it was held.
    pub fn next(&self) -> Option<(Time, Time)> {
        self.packets.first_key_value().map(|(&(until, _), packet)| (until, packet.held_since))
    }

    /// Takes the first one that goes on by now.
    pub fn due(&mut self, now: Time) -> Option<HeldPacket> {
        let first = self.packets.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// Takes one before its time, if it is still here.
    pub fn take(&mut self, key: Key) -> Option<HeldPacket> {
        self.packets.remove(&key)
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = PacketId> + '_ {
        self.packets.values().map(|held| held.packet)
    }
}
