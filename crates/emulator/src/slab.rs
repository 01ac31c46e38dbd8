//! The bytes of packets that are in the network, by their tickets.

use ecnlab_wire::TcpSegment;

use crate::address::AddressSlot;

/// A packet in the network.
#[derive(Debug, Default)]
pub struct PacketSlot {
    /// As long as the largest packet; what is behind `length` is left from earlier packets.
    bytes: Box<[u8]>,
    length: usize,
    /// As many arrivals or losses are still to come for it: one, and one for each copy.
    references: u32,
    pub delivery_info: DeliveryInfo,
}

/// What the driver has to know of a packet when it arrives.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeliveryInfo {
    /// The host that takes it.
    pub to_host: u32,
    /// Where TCP's or UDP's header begins.
    pub transport_at: u32,
    pub tcp: Option<TcpSegment>,
    pub slot: AddressSlot,
}

/// Packets in the network. A place is used again when its packet has gone, with its memory.
#[derive(Debug)]
pub struct PacketSlab {
    slots: Vec<PacketSlot>,
    free_slots: Vec<u32>,
    /// Bytes of the largest packet.
    max_packet_bytes: usize,
}

impl PacketSlab {
    pub fn new(max_packet_bytes: usize) -> PacketSlab {
        PacketSlab { slots: Vec::new(), free_slots: Vec::new(), max_packet_bytes }
    }

    /// A free place to read a packet into: its ticket, if it is taken by [`PacketSlab::take`] before this is asked again.
    pub fn free_slot_mut(&mut self) -> (u32, &mut [u8]) {
        let handle = *self.free_slots.last().unwrap_or(&(self.slots.len() as u32));
        if handle as usize == self.slots.len() {
            self.slots.push(PacketSlot { bytes: vec![0; self.max_packet_bytes].into(), ..PacketSlot::default() });
            self.free_slots.push(handle);
        }
        (handle, &mut self.slots[handle as usize].bytes)
    }

    /// Keeps the packet that has been read into the free place.
    pub fn store_read_packet(&mut self, length: usize, delivery_info: DeliveryInfo) {
        let handle = self.free_slots.pop().expect("there is free_slot_mut for a packet before one is read");
        let slot = &mut self.slots[handle as usize];
        (slot.length, slot.references, slot.delivery_info) = (length, 1, delivery_info);
    }

    pub fn bytes(&mut self, handle: u32) -> &mut [u8] {
        let slot = &mut self.slots[handle as usize];
        &mut slot.bytes[..slot.length]
    }

    pub fn delivery_info(&self, handle: u32) -> DeliveryInfo {
        self.slots[handle as usize].delivery_info
    }

    /// One more arrival or loss is to come.
    pub fn add_reference(&mut self, handle: u32) {
        self.slots[handle as usize].references += 1;
    }

    /// An arrival or a loss has come, and has been dealt with.
    pub fn release(&mut self, handle: u32) {
        let slot = &mut self.slots[handle as usize];
        slot.references = slot.references.checked_sub(1).expect("a packet that is gone does not arrive");
        if slot.references == 0 {
            self.free_slots.push(handle);
        }
    }

    /// Packets in the network.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free_slots.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_reused_once_its_last_copy_is_released() {
        let mut slab = PacketSlab::new(100);
        let (first, buffer) = slab.free_slot_mut();
        buffer[0] = 7;
        assert_eq!(first, slab.free_slot_mut().0, "nothing was taken");
        slab.store_read_packet(10, DeliveryInfo::default());
        let second = slab.free_slot_mut().0;
        assert_ne!(first, second);
        slab.store_read_packet(20, DeliveryInfo::default());
        slab.add_reference(first);
        slab.release(first);
        assert_eq!((2, &mut [7, 0, 0, 0, 0, 0, 0, 0, 0, 0][..]), (slab.len(), slab.bytes(first)));
        slab.release(first);
        assert_eq!((1, first), (slab.len(), slab.free_slot_mut().0));
    }
}
