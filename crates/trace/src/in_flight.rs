//! Packets in flight of one direction: those that were seen and have not reached its last place.

use std::collections::VecDeque;

use ecnlab_units::{Ecn, Span, Time};
use ecnlab_wire::{Kind, Location, Packet};

use crate::flow::SeqRange;
use crate::memory_budget::MemoryBudget;

/// Packets in flight of one direction of one connection.
const MAX_IN_FLIGHT: usize = 1 << 16;

/// Packets that are scanned for one that was seen before, where their keys do not ascend.
const MAX_SCANNED_PACKETS: usize = 4096;

/// A packet that is not seen within this time after later ones of its direction was dropped; until then it may have been overtaken.
const REORDERING_TIMEOUT: Span = Span::from_secs(1);

/// A packet that is not seen beyond the last place that is known within this time has arrived there. It is long enough for a SYN that was
/// dropped there to be sent again, and to be seen beyond (RFC 6298, section 2: after a second, and 3 s in older hosts).
const ASSUME_DELIVERED_AFTER: Span = Span::from_secs(10);

/// A packet in flight.
#[derive(Clone, Copy, Debug)]
pub struct InFlightPacket {
    key: u64,
    /// The place at which it was seen last, and the time.
    pub location: Location,
    pub since: Time,
    /// Time at which its source sent it, if the file shows it.
    pub sent_at: Option<Time>,
    pub ecn: Ecn,
    pub is_data: bool,
    pub is_retransmission: bool,
    pub seq_range: SeqRange,
    /// Time at which a packet of this direction that was sent later was first seen at a later place.
    overtaken_at: Option<Time>,
}

/// The packets in flight, in the order in which they were sent.
#[derive(Clone, Debug, Default)]
pub struct InFlight {
    packets: VecDeque<InFlightPacket>,
    /// Some key is less than one before it.
    is_unsorted: bool,
}

impl InFlightPacket {
    /// A packet that arrives at a place; `is_sent` if its source sends it there.
    pub fn new(key: u64, location: Location, now: Time, packet: &Packet, seq_range: SeqRange, is_sent: bool) -> InFlightPacket {
        let is_data = matches!(packet.kind, Kind::Data | Kind::Datagram);
        InFlightPacket {
            key,
            location,
            since: now,
            sent_at: is_sent.then_some(now),
            ecn: packet.ecn,
            is_data,
            is_retransmission: false,
            seq_range,
            overtaken_at: None,
        }
    }
}

impl InFlight {
    /// Adds a packet that was sent last.
    pub fn push(&mut self, packet: InFlightPacket, memory: &mut MemoryBudget) {
        if self.packets.len() >= MAX_IN_FLIGHT {
            self.packets.pop_front();
            memory.release(1);
        }
        if memory.try_reserve() {
            self.is_unsorted |= self.packets.back().is_some_and(|last| last.key >= packet.key);
            self.packets.push_back(packet);
        }
        if self.packets.len() <= 1 {
            self.is_unsorted = false;
        }
    }

    /// Marks the packet that was added last as a retransmission.
    pub fn mark_last_retransmission(&mut self) {
        if let Some(last) = self.packets.back_mut() {
            last.is_retransmission = true;
        }
    }

    /// The index of a packet.
    pub fn find(&self, key: u64) -> Option<usize> {
        self.find_eligible(key, |_| true)
    }

    /// The index of a packet whose last place is eligible; of several packets with this key, the one that was sent first.
    pub fn find_eligible(&self, key: u64, is_eligible: impl Fn(Location) -> bool) -> Option<usize> {
        if self.is_unsorted {
            return self.packets.iter().take(MAX_SCANNED_PACKETS).position(|packet| packet.key == key && is_eligible(packet.location));
        }
        self.packets.binary_search_by_key(&key, |packet| packet.key).ok().filter(|&at| is_eligible(self.packets[at].location))
    }

    pub fn packet_at_mut(&mut self, at: usize) -> &mut InFlightPacket {
        &mut self.packets[at]
    }

    pub fn remove(&mut self, at: usize, memory: &mut MemoryBudget) -> Option<InFlightPacket> {
        memory.release(1);
        self.packets.remove(at)
    }

    /// Moves a packet to a later place. Packets sent before it that are still at its former place have been overtaken.
    pub fn move_to(&mut self, at: usize, to: Location, now: Time) {
        let location = self.packets[at].location;
        for packet in self.packets.range_mut(..at).filter(|packet| packet.location == location) {
            packet.overtaken_at.get_or_insert(now);
        }
        let packet = &mut self.packets[at];
        (packet.location, packet.since, packet.overtaken_at) = (to, now, None);
    }

    /// Removes packets that arrived at the last place so long ago that they were delivered there.
    pub fn remove_assumed_delivered(&mut self, last: Location, now: Time, memory: &mut MemoryBudget) {
        while self.packets.front().is_some_and(|packet| packet.location == last && now.since(packet.since) >= ASSUME_DELIVERED_AFTER) {
            self.remove(0, memory);
        }
    }

    /// Removes a packet that was overtaken so long ago that it was dropped.
    pub fn pop_dropped(&mut self, now: Time, memory: &mut MemoryBudget) -> Option<InFlightPacket> {
        let since = self.packets.front()?.overtaken_at?;
        if now.since(since) < REORDERING_TIMEOUT {
            return None;
        }
        self.remove(0, memory)
    }

    /// Removes all overtaken packets, at the end of the file.
    pub fn drain_overtaken(&mut self, memory: &mut MemoryBudget) -> Vec<InFlightPacket> {
        let overtaken: Vec<InFlightPacket> = self.packets.iter().filter(|packet| packet.overtaken_at.is_some()).copied().collect();
        self.packets.retain(|packet| packet.overtaken_at.is_none());
        memory.release(overtaken.len());
        overtaken
    }

    /// Removes all packets and releases their memory.
    pub fn release_memory(&mut self, memory: &mut MemoryBudget) {
        memory.release(self.packets.len());
        self.packets.clear();
    }
}

/// A hash that distinguishes the packets of one direction in a capture: IPv4's identification, and TCP fields that differ in retransmissions.
pub fn packet_key(packet: &Packet) -> u64 {
    let tcp = &packet.tcp;
    let stamp = tcp.timestamps.map_or(0, |stamps| stamps.value);
    let parts = [
        packet.id.unwrap_or(u64::MAX),
        u64::from(tcp.seq) << 32 | u64::from(tcp.ack),
        u64::from(packet.size) << 32 | u64::from(stamp),
        u64::from(tcp.window) << 16 | u64::from(tcp.sacks.as_slice().first().map_or(0, |run| run.1)) << 32,
    ];
    parts.into_iter().fold(0, |key, part| (key ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29))
}
