//! Buffers of packets in the network, by their handles.

use ecnlab_wire::TcpHeaderWithPorts;

use crate::address::AddressSlot;

/// A packet in the network.
#[derive(Debug, Default)]
pub struct PacketSlot {
    /// As long as the largest packet; bytes after `length` are from earlier packets.
    bytes: Box<[u8]>,
    length: usize,
    /// Number of arrivals or losses that are still expected: one, and one for each copy.
    references: u32,
    pub delivery_info: DeliveryInfo,
}

/// Data that the driver needs when a packet arrives.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeliveryInfo {
    /// The host that receives it.
    pub to_host: u32,
    /// Offset of the TCP or UDP header.
    pub transport_at: u32,
    pub tcp: Option<TcpHeaderWithPorts>,
    pub slot: AddressSlot,
}

/// Packets in the network. A slot and its memory are used again when its packet has gone.
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

    /// A free slot for the next packet, with its handle. [`PacketSlab::store_read_packet`] takes the slot; otherwise the next call returns
    /// it again.
    pub fn free_slot_mut(&mut self) -> (u32, &mut [u8]) {
        let handle = *self.free_slots.last().unwrap_or(&(self.slots.len() as u32));
        if handle as usize == self.slots.len() {
            self.slots.push(PacketSlot { bytes: vec![0; self.max_packet_bytes].into(), ..PacketSlot::default() });
            self.free_slots.push(handle);
        }
        (handle, &mut self.slots[handle as usize].bytes)
    }

    /// Stores the packet that was read into the free slot.
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

    /// Adds an expected arrival or loss.
    pub fn add_reference(&mut self, handle: u32) {
        self.slots[handle as usize].references += 1;
    }

    /// Removes an expected arrival or loss, after it was processed.
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
