//! What a receiver advertises of its buffer, in bytes (RFC 9293, section 3.8.6; Linux tcp_select_window, tcp_grow_window).
//!
//! ```text
//! buffer      holds packets with all the memory that they take; half of it counts as window (tcp_adv_win_scale = 1)
//! threshold   what is advertised at most: the first window, and then two segments more for every segment that arrives and that uses its
//!             memory well, up to the clamp: half of the buffer, less one segment
//! window      what is free, at most the threshold, rounded up to the window's scale; without a scale in whole segments.
//!             What was promised is never taken back (section 3.8.6.2.1). Nothing where less than a segment, or than a sixteenth of half, is free
//! ```
//!
//! An autotuned buffer grows with what the application reads in a round trip ([`super::autotune`]).

use crate::settings::{Handshake, ReceiveWindow, Settings};

/// Largest window that a header shows without a scale.
const UNSCALED: i64 = 65_535;

/// The largest scale (RFC 7323, section 2.3).
const LARGEST_SCALE: u32 = 14;

/// Memory that a packet takes besides its own bytes, in two pieces: with the bytes in one block of a power of two, and beside it.
const IN_BLOCK: u32 = 400;
/// What of its block is before a packet and behind its data (Linux NET_SKB_PAD, struct skb_shared_info).
const AROUND: u32 = 64 + 320;
const BESIDE: u32 = 256;

/// IPv4 and TCP headers without options.
const BARE_HEADER: u32 = 40;

/// The smallest block for a packet.
const SMALLEST_BLOCK: u32 = 512;

/// A segment that is stored.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stored {
    /// Application data, in bytes.
    pub payload: u32,
    /// Memory that it takes, in bytes.
    pub memory: u32,
    /// What of that is free behind its data: as much of the next segment's data goes there.
    pub spare: u32,
    pub fin: bool,
}

/// Memory that a packet of this size takes.
pub fn memory_of(size: u32) -> u32 {
    block_of(size) + BESIDE
}

fn block_of(size: u32) -> u32 {
    (size + IN_BLOCK).next_power_of_two().max(SMALLEST_BLOCK)
}

/// What is free behind the data of a packet of this size.
pub fn spare_of(size: u32) -> u32 {
    block_of(size) - (size + AROUND)
}

/// What of so much memory counts as window.
fn window_of(memory: i64) -> i64 {
    memory - (memory >> 1)
}

/// A window that was chosen.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    pub bytes: i64,
    /// Less than half is free: no time for quick acknowledgements.
    pub is_low: bool,
}

#[derive(Debug)]
pub struct Room {
    buffer: i64,
    most: i64,
    /// The buffer may grow.
    grows: bool,
    used: i64,
    clamp: i64,
    threshold: i64,
    /// What was advertised last, and up to where data had arrived then.
    window: i64,
    from: i64,
    scale: u32,
    /// A full segment's payload.
    full: i64,
}

impl Room {
    /// None if nothing is said of the buffer.
    pub fn new(settings: &Settings) -> Option<Room> {
        let grows = match settings.receive_window {
            ReceiveWindow::Any => return None,
            ReceiveWindow::Fixed => false,
            ReceiveWindow::Autotuned => true,
        };
        let (buffer, most) = (settings.receive_buffer as i64, settings.receive_buffer_max as i64);
        let full = i64::from(settings.payload());
        let space = window_of(buffer);
        let limit = if grows { UNSCALED << LARGEST_SCALE } else { space };
        // The side that connects chooses before the options are known.
        let segment = if settings.handshake == Handshake::None { i64::from(settings.packet_size - BARE_HEADER) } else { full };
        let whole = if space > segment { space - space % segment } else { space };
        let scale = if settings.window_scaling { scale_of(whole.max(most).min(limit)) } else { 0 };
        let window = whole.min(UNSCALED);
        let clamp = limit.min(UNSCALED << scale);
        Some(Room { buffer, most, grows, used: 0, clamp, threshold: window, window, from: 0, scale, full })
    }

    /// By how many bits the header shifts the window.
    pub fn scale(&self) -> u32 {
        self.scale
    }

    /// The connection is open, with all before `next` arrived.
    pub fn open(&mut self, next: u64) {
        let all = window_of(self.buffer);
        self.clamp = self.clamp.min(all);
        if self.clamp > 2 * self.full && self.clamp + self.full > all {
            self.clamp = (2 * self.full).max(all - self.full);
        }
        self.threshold = self.threshold.min(self.clamp);
        self.from = next as i64;
    }

    pub fn threshold(&self) -> i64 {
        self.threshold
    }

    /// What was advertised last.
    pub fn window(&self) -> i64 {
        self.window
    }

    /// What is left of what was advertised last, when all before `next` have arrived.
    pub fn left(&self, next: u64) -> i64 {
        (self.from + self.window - next as i64).max(0)
    }

    fn free(&self) -> i64 {
        window_of(self.buffer - self.used)
    }

    pub fn is_unused(&self) -> bool {
        self.used == 0
    }

    /// Takes a segment's memory.
    pub fn store(&mut self, memory: u32) {
        self.used += i64::from(memory);
    }

    /// The application has read it.
    pub fn release(&mut self, memory: u32) {
        self.used -= i64::from(memory);
    }

    /// Whether more is in the buffer than it holds.
    pub fn is_overfull(&self) -> bool {
        self.used > self.buffer
    }

    /// The buffer is overfull: an autotuned one grows to what is in it, up to its limit. Returns whether that helps.
    pub fn give_way(&mut self) -> bool {
        if self.grows {
            self.buffer = self.buffer.max(self.used.min(self.most));
        }
        if self.is_overfull() {
            self.threshold = self.threshold.min(self.clamp).min(2 * self.full);
        }
        !self.is_overfull()
    }

    /// The application reads fast: the buffer becomes as large as that, up to its limit.
    pub fn enlarge(&mut self, buffer: i64) {
        let buffer = buffer.min(self.most);
        if buffer > self.buffer {
            self.buffer = buffer;
            self.clamp = window_of(buffer);
        }
    }

    /// A segment has arrived that took this memory. Returns whether the threshold rises.
    pub fn grow(&mut self, stored: Stored, peer_segment: u32) -> bool {
        let rest = self.clamp.min(self.free()) - self.threshold;
        if rest <= 0 {
            return false;
        }
        let payload = i64::from(stored.payload);
        let rise = if window_of(i64::from(stored.memory)) <= payload {
            2 * self.full
        } else if self.fits(stored) {
            2 * i64::from(peer_segment)
        } else {
            return false;
        };
        self.threshold += rest.min(rise.max(2 * payload));
        true
    }

    /// Whether segments with as much memory for their payload leave room while the threshold is as low as it is.
    fn fits(&self, stored: Stored) -> bool {
        let mut memory = window_of(i64::from(stored.memory)) >> 1;
        let mut window = window_of(self.most) >> 1;
        while self.threshold <= window {
            if memory <= i64::from(stored.payload) {
                return true;
            }
            (memory, window) = (memory >> 1, window >> 1);
        }
        false
    }

    /// The window as of now, were nothing promised before.
    pub fn choose(&self, peer_segment: u32) -> Choice {
        let all = window_of(self.buffer);
        let full = self.clamp.min(all);
        let segment = i64::from(peer_segment).min(full);
        let mut free = self.free();
        let is_low = free < full >> 1;
        if is_low {
            free = free >> self.scale << self.scale;
            if free < all >> 4 || free < segment {
                return Choice { bytes: 0, is_low };
            }
        }
        free = free.min(self.threshold);
        let bytes = if self.scale > 0 { self.scaled_up(free) } else { self.in_segments(free, segment, full) };
        Choice { bytes, is_low }
    }

    /// The window as it was, unless a segment more or less is free; then in whole segments.
    fn in_segments(&self, free: i64, segment: i64, full: i64) -> i64 {
        if self.window <= free - segment || self.window > free {
            free - free % segment
        } else if segment == full && free > self.window + (full >> 1) {
            free
        } else {
            self.window
        }
    }

    fn scaled_up(&self, bytes: i64) -> i64 {
        let step = 1 << self.scale;
        (bytes + step - 1) / step * step
    }

    /// Advertises a window with an acknowledgement of all before `next`; returns it as a header shows it, and whether little is free.
    pub fn advertise(&mut self, next: u64, peer_segment: u32) -> (u32, bool) {
        let Choice { bytes, is_low } = self.choose(peer_segment);
        let left = self.left(next);
        self.window = if bytes < left { self.scaled_up(left) } else { bytes };
        self.from = next as i64;
        let shown = self.window.min(UNSCALED << self.scale) >> self.scale << self.scale;
        (shown as u32, is_low)
    }

    /// What a SYN-ACK shows, which is not scaled.
    pub fn first(&self) -> u32 {
        self.window.min(UNSCALED) as u32
    }

    /// The window as of now, when the application has read; nothing while the sender, who knows of `left` bytes, has enough.
    pub fn choose_after_reading(&self, left: i64, peer_segment: u32) -> Option<Choice> {
        (2 * left <= self.clamp).then(|| self.choose(peer_segment))
    }
}

/// The scale with which a header of 16 bits shows so large a window.
fn scale_of(window: i64) -> u32 {
    window.ilog2().saturating_sub(15).min(LARGEST_SCALE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;

    fn room(receive_window: ReceiveWindow, receive_buffer: u64) -> Room {
        let settings = Settings { receive_window, receive_buffer, ..profile::settings("linux") };
        let mut room = Room::new(&settings).unwrap();
        room.open(0);
        room
    }

    const FULL: Stored = Stored { payload: 1448, memory: 2304, spare: 164, fin: false };

    #[test]
    fn a_full_packet_takes_a_block_of_two_kilobytes_and_its_description() {
        assert_eq!([768, 1280, 2304], [52, 252, 1500].map(memory_of));
    }

    #[test]
    fn every_segment_raises_the_window_by_two_up_to_half_of_the_buffer_less_one_segment() {
        let mut room = room(ReceiveWindow::Fixed, 262_144);
        let windows: Vec<u32> = (1..=26)
            .map(|segments| {
                room.store(FULL.memory);
                room.grow(FULL, 1448);
                let window = room.advertise(segments * 1448, 1448).0;
                room.release(FULL.memory);
                window
            })
            .collect();
        assert_eq!([68_432, 71_328, 74_224], windows[..3]);
        assert_eq!([129_248, 129_624, 129_624, 129_624], windows[21..25]);
    }

    #[test]
    fn a_small_buffer_is_advertised_in_whole_segments() {
        let mut room = room(ReceiveWindow::Fixed, 65_536);
        room.store(FULL.memory);
        assert_eq!((31_856, false, 21 * 1448), (room.first(), room.grow(FULL, 1448), room.advertise(1448, 1448).0));
    }

    #[test]
    fn what_nobody_reads_closes_the_window_and_no_promise_is_taken_back() {
        let mut room = room(ReceiveWindow::Fixed, 65_536);
        let mut right = 0;
        let mut windows = Vec::new();
        for segments in 1..=28 {
            room.store(FULL.memory);
            let window = room.advertise(segments * 1448, 1448).0;
            assert!(segments * 1448 + u64::from(window) >= right);
            right = segments * 1448 + u64::from(window);
            windows.push(window);
        }
        assert_eq!(0, *windows.last().unwrap());
    }

    #[test]
    fn a_reader_that_made_room_is_worth_an_acknowledgement() {
        let mut room = room(ReceiveWindow::Fixed, 65_536);
        for segments in 1..=28 {
            room.store(FULL.memory);
            room.advertise(segments * 1448, 1448);
        }
        let left = room.left(28 * 1448);
        assert_eq!(0, room.choose_after_reading(left, 1448).unwrap().bytes);
        (0..28).for_each(|_| room.release(FULL.memory));
        assert_eq!(21 * 1448, room.choose_after_reading(left, 1448).unwrap().bytes);
    }
}
