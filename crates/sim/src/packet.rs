//! Packets in the network: 64 bytes each, in one arena, chained through their `next`.

use ecnlab_units::{Ecn, Time};

use crate::deadlines::Order;

/// Index of a packet in its arena.
pub type PacketId = u32;

pub const NONE: PacketId = PacketId::MAX;

/// A packet on its way. The first two fields are of the link that it is on.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Packet {
    /// When it reaches the far end of its link.
    pub due: Time,
    pub order: Order,
    pub next: PacketId,
    /// Where on its route it is: an index into the engine's hops.
    pub cursor: u32,
    /// A segment's number, or the next segment that an acknowledgement expects.
    pub seq: u64,
    /// When the segment was sent; an acknowledgement carries that of the segment that caused it.
    pub sent: Time,
    pub flow: u32,
    pub size: u32,
    /// The round-trip time that the packet reports, in microseconds; 0 is unknown.
    pub rtt_us: u32,
    pub ecn: Ecn,
    pub cwr: bool,
    pub ece: bool,
    pub retransmission: bool,
}

/// All packets in the network.
#[derive(Default)]
pub struct Arena {
    packets: Vec<Packet>,
    free: PacketId,
    live: u32,
}

impl Arena {
    pub fn new() -> Arena {
        Arena { packets: Vec::new(), free: NONE, live: 0 }
    }

    pub fn insert(&mut self, packet: Packet) -> PacketId {
        self.live += 1;
        if self.free == NONE {
            self.packets.push(packet);
            return (self.packets.len() - 1) as PacketId;
        }
        let id = self.free;
        self.free = std::mem::replace(&mut self.packets[id as usize], packet).next;
        id
    }

    pub fn release(&mut self, id: PacketId) {
        self.live -= 1;
        self.packets[id as usize].next = std::mem::replace(&mut self.free, id);
    }

    /// Packets in the network now.
    pub fn live(&self) -> u32 {
        self.live
    }
}

impl std::ops::Index<PacketId> for Arena {
    type Output = Packet;
    fn index(&self, id: PacketId) -> &Packet {
        &self.packets[id as usize]
    }
}

impl std::ops::IndexMut<PacketId> for Arena {
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.packets[id as usize]
    }
}
