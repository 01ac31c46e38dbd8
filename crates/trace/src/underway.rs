//! Packets of one direction that were seen and have not reached the place where it ends.

use std::collections::VecDeque;

use ecnlab_units::{Ecn, Span, Time};
use ecnlab_wire::{Kind, Packet, Place};

use crate::flow::Numbers;
use crate::room::Room;

/// Packets of one direction of one connection that may be under way.
const MOST: usize = 1 << 16;

/// Packets that are looked at to find one that was seen before, where their keys do not ascend.
const LOOKED_AT: usize = 4096;

/// A packet that is not seen within this time after later ones of its direction was dropped; until then it may have been overtaken.
const LATEST: Span = Span::from_secs(1);

/// A packet that is not seen beyond the last place that is known within this time has arrived there. It is long enough for a SYN that was
/// dropped there to be sent again, and to be seen beyond (RFC 6298, section 2: after a second, and 3 s in older hosts).
const ARRIVED: Span = Span::from_secs(10);

/// A packet that is under way.
#[derive(Clone, Copy, Debug)]
pub struct Passing {
    key: u64,
    /// Where it was seen last, and when.
    pub place: Place,
    pub since: Time,
    /// When its source sent it, if the file says.
    pub sent: Option<Time>,
    pub ecn: Ecn,
    pub is_data: bool,
    pub is_again: bool,
    pub numbers: Numbers,
    /// Since when packets of this direction that were sent later have been seen farther on.
    overtaken: Option<Time>,
}

/// The packets under way, in the order in which they were sent.
#[derive(Clone, Debug, Default)]
pub struct UnderWay {
    packets: VecDeque<Passing>,
    /// Some key is less than one before it.
    is_unsorted: bool,
}

impl Passing {
    /// A packet that comes to a place; `sent` if its source has sent it just now.
    pub fn new(key: u64, place: Place, now: Time, packet: &Packet, numbers: Numbers, is_sent: bool) -> Passing {
        let is_data = matches!(packet.kind, Kind::Data | Kind::Datagram);
        Passing {
            key,
            place,
            since: now,
            sent: is_sent.then_some(now),
            ecn: packet.ecn,
            is_data,
            is_again: false,
            numbers,
            overtaken: None,
        }
    }
}

impl UnderWay {
    /// A packet sets out.
    pub fn push(&mut self, passing: Passing, room: &mut Room) {
        if self.packets.len() >= MOST {
            self.packets.pop_front();
            room.give(1);
        }
        if room.take() {
            self.is_unsorted |= self.packets.back().is_some_and(|last| last.key >= passing.key);
            self.packets.push_back(passing);
        }
        if self.packets.len() <= 1 {
            self.is_unsorted = false;
        }
    }

    /// The packet that set out last is a retransmission.
    pub fn last_was_again(&mut self) {
        if let Some(last) = self.packets.back_mut() {
            last.is_again = true;
        }
    }

    /// Where a packet stands.
    pub fn find(&self, key: u64) -> Option<usize> {
        self.find_at(key, |_| true)
    }

    /// Where a packet stands that was last seen at a place of these. Where several are alike, it is the one that set out first.
    pub fn find_at(&self, key: u64, is_such: impl Fn(Place) -> bool) -> Option<usize> {
        if self.is_unsorted {
            return self.packets.iter().take(LOOKED_AT).position(|passing| passing.key == key && is_such(passing.place));
        }
        self.packets.binary_search_by_key(&key, |passing| passing.key).ok().filter(|&at| is_such(self.packets[at].place))
    }

    pub fn at(&mut self, at: usize) -> &mut Passing {
        &mut self.packets[at]
    }

    pub fn remove(&mut self, at: usize, room: &mut Room) -> Option<Passing> {
        room.give(1);
        self.packets.remove(at)
    }

    /// A packet is seen farther on, at a place: those before it that were last seen where it was have been overtaken.
    pub fn moves_on(&mut self, at: usize, to: Place, now: Time) {
        let place = self.packets[at].place;
        for packet in self.packets.range_mut(..at).filter(|packet| packet.place == place) {
            packet.overtaken.get_or_insert(now);
        }
        let packet = &mut self.packets[at];
        (packet.place, packet.since, packet.overtaken) = (to, now, None);
    }

    /// Forgets packets that came to the last place so long ago that it was the last for them.
    pub fn forget_arrived(&mut self, last: Place, now: Time, room: &mut Room) {
        while self.packets.front().is_some_and(|packet| packet.place == last && now.since(packet.since) >= ARRIVED) {
            self.remove(0, room);
        }
    }

    /// Takes away a packet that was overtaken so long ago that it was dropped.
    pub fn take_dropped(&mut self, now: Time, room: &mut Room) -> Option<Passing> {
        let since = self.packets.front()?.overtaken?;
        if now.since(since) < LATEST {
            return None;
        }
        self.remove(0, room)
    }

    /// Takes away all that were overtaken, at the end.
    pub fn take_all_overtaken(&mut self, room: &mut Room) -> Vec<Passing> {
        let gone: Vec<Passing> = self.packets.iter().filter(|packet| packet.overtaken.is_some()).copied().collect();
        self.packets.retain(|packet| packet.overtaken.is_none());
        room.give(gone.len());
        gone
    }

    /// Gives its room back.
    pub fn clear(&mut self, room: &mut Room) {
        room.give(self.packets.len());
        self.packets.clear();
    }
}

/// What tells packets of one direction apart in a capture: IPv4's identification, and of TCP what a copy would have otherwise.
pub fn key(packet: &Packet) -> u64 {
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
