//! What a link holds before its queue: packets that go on later, each from behind the impairment that held it.

use std::collections::BTreeMap;

use ecnlab_units::Time;

use crate::packet::PacketId;

/// When a packet goes on, and which of those that go on at that time it is.
pub type ReleaseKey = (Time, u64);

/// A packet that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedPacket {
    pub packet: PacketId,
    /// The impairment that holds it, and which of the packets it was that came to it.
    pub impairment: usize,
    pub arrival_number: u64,
    /// The time at which it was held.
    pub delayed_since: Time,
}

/// The packets that a link holds.
#[derive(Debug, Default)]
pub struct DelayedPackets {
    packets: BTreeMap<ReleaseKey, DelayedPacket>,
    /// How many have been held.
    delayed_count: u64,
}

impl DelayedPackets {
    /// Holds a packet until a time.
    pub fn insert(&mut self, until: Time, packet: DelayedPacket) -> ReleaseKey {
        self.delayed_count += 1;
        let key = (until, self.delayed_count);
        self.packets.insert(key, packet);
        key
    }

    /// When the next one goes on, and when it was held.
    pub fn next_release(&self) -> Option<(Time, Time)> {
        self.packets.first_key_value().map(|(&(until, _), packet)| (until, packet.delayed_since))
    }

    /// Takes the first one that goes on by now.
    pub fn pop_due(&mut self, now: Time) -> Option<DelayedPacket> {
        let first = self.packets.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// Takes one before its time, if it is still here.
    pub fn remove(&mut self, key: ReleaseKey) -> Option<DelayedPacket> {
        self.packets.remove(&key)
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = PacketId> + '_ {
        self.packets.values().map(|held| held.packet)
    }
}
