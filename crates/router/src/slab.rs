//! The bytes of packets that are in the network, by their tickets.

use crate::address::Seat;
use crate::packet::Tcp;

/// A packet in the network.
#[derive(Debug, Default)]
pub struct Held {
    /// As long as the largest packet; what is behind `length` is left from earlier packets.
    bytes: Box<[u8]>,
    length: usize,
    /// As many arrivals or losses are still to come for it: one, and one for each copy.
    left: u32,
    pub about: About,
}

/// What the driver has to know of a packet when it arrives.
#[derive(Clone, Copy, Debug, Default)]
pub struct About {
    /// The host that takes it.
    pub to: u32,
    /// Where TCP's or UDP's header begins.
    pub upper: u32,
    pub tcp: Option<Tcp>,
    pub seat: Seat,
}

/// Packets in the network. A place is used again when its packet has gone, with its memory.
#[derive(Debug)]
pub struct Slab {
    held: Vec<Held>,
    free: Vec<u32>,
    /// Bytes of the largest packet.
    largest: usize,
}

impl Slab {
    pub fn new(largest: usize) -> Slab {
        Slab { held: Vec::new(), free: Vec::new(), largest }
    }

    /// A free place to read a packet into: its ticket, if it is taken by [`Slab::take`] before this is asked again.
    pub fn room(&mut self) -> (u32, &mut [u8]) {
        let ticket = *self.free.last().unwrap_or(&(self.held.len() as u32));
        if ticket as usize == self.held.len() {
            self.held.push(Held { bytes: vec![0; self.largest].into(), ..Held::default() });
            self.free.push(ticket);
        }
        (ticket, &mut self.held[ticket as usize].bytes)
    }

    /// Keeps the packet that has been read into the free place.
    pub fn take(&mut self, length: usize, about: About) {
        let ticket = self.free.pop().expect("there is room for a packet before one is read");
        let held = &mut self.held[ticket as usize];
        (held.length, held.left, held.about) = (length, 1, about);
    }

    pub fn bytes(&mut self, ticket: u32) -> &mut [u8] {
        let held = &mut self.held[ticket as usize];
        &mut held.bytes[..held.length]
    }

    pub fn about(&self, ticket: u32) -> About {
        self.held[ticket as usize].about
    }

    /// One more arrival or loss is to come.
    pub fn copied(&mut self, ticket: u32) {
        self.held[ticket as usize].left += 1;
    }

    /// An arrival or a loss has come, and has been dealt with.
    pub fn release(&mut self, ticket: u32) {
        let held = &mut self.held[ticket as usize];
        held.left = held.left.checked_sub(1).expect("a packet that is gone does not arrive");
        if held.left == 0 {
            self.free.push(ticket);
        }
    }

    /// Packets in the network.
    pub fn len(&self) -> usize {
        self.held.len() - self.free.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_used_again_when_its_last_copy_has_gone() {
        let mut slab = Slab::new(100);
        let (first, room) = slab.room();
        room[0] = 7;
        assert_eq!(first, slab.room().0, "nothing was taken");
        slab.take(10, About::default());
        let second = slab.room().0;
        assert_ne!(first, second);
        slab.take(20, About::default());
        slab.copied(first);
        slab.release(first);
        assert_eq!((2, &mut [7, 0, 0, 0, 0, 0, 0, 0, 0, 0][..]), (slab.len(), slab.bytes(first)));
        slab.release(first);
        assert_eq!((1, first), (slab.len(), slab.room().0));
    }
}
