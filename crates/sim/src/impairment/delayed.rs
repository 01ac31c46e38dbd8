//! Packets that impairments delay before a link's queue; when released, each continues after the impairment that delayed it.

use std::collections::BTreeMap;

use ecnlab_units::Time;

use crate::packet::PacketId;

/// Release time of a packet, and its order among packets with the same time.
pub type ReleaseKey = (Time, u64);

/// A delayed packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedPacket {
    pub packet: PacketId,
    /// The impairment that delays it, and the packet's number among the arrivals there.
    pub impairment: usize,
    pub arrival_number: u64,
    /// The time at which its delay began.
    pub delayed_since: Time,
}

/// Delayed packets of a link.
#[derive(Debug, Default)]
pub struct DelayedPackets {
    packets: BTreeMap<ReleaseKey, DelayedPacket>,
    /// Number of packets delayed so far.
    delayed_count: u64,
}

impl DelayedPackets {
    /// Delays a packet until a time.
    pub fn insert(&mut self, until: Time, packet: DelayedPacket) -> ReleaseKey {
        self.delayed_count += 1;
        let key = (until, self.delayed_count);
        self.packets.insert(key, packet);
        key
    }

    /// Time of the next release, and the time at which that packet's delay began.
    pub fn next_release(&self) -> Option<(Time, Time)> {
        self.packets.first_key_value().map(|(&(until, _), packet)| (until, packet.delayed_since))
    }

    /// Removes and returns the first packet that is due by now.
    pub fn pop_due(&mut self, now: Time) -> Option<DelayedPacket> {
        let first = self.packets.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// Removes a packet before its release time, if it is still present.
    pub fn remove(&mut self, key: ReleaseKey) -> Option<DelayedPacket> {
        self.packets.remove(&key)
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = PacketId> + '_ {
        self.packets.values().map(|held| held.packet)
    }
}
