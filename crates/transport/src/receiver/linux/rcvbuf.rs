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
const MAX_UNSCALED_WINDOW: i64 = 65_535;

/// The largest scale (RFC 7323, section 2.3).
const MAX_WINDOW_SCALE: u32 = 14;

/// Memory that a packet takes besides its own bytes, in two pieces: with the bytes in one block of a power of two, and beside it.
const BLOCK_OVERHEAD_BYTES: u32 = 400;
/// What of its block is before a packet and behind its data (Linux NET_SKB_PAD, struct skb_shared_info).
const HEADROOM_AND_SHINFO_BYTES: u32 = 64 + 320;
const SK_BUFF_OVERHEAD_BYTES: u32 = 256;

/// IPv4 and TCP headers without options.
const IPV4_TCP_HEADER_BYTES: u32 = 40;

/// The smallest block for a packet.
const MIN_BLOCK_BYTES: u32 = 512;

/// A segment that is stored.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueuedSegment {
    /// Application data, in bytes.
    pub payload: u32,
    /// Memory that it takes, in bytes.
    pub memory: u32,
    /// What of that is free behind its data: as much of the next segment's data goes there.
    pub tailroom: u32,
    pub fin: bool,
}

/// Memory that a packet of this size takes.
pub fn truesize_of(size: u32) -> u32 {
    block_size(size) + SK_BUFF_OVERHEAD_BYTES
}

fn block_size(size: u32) -> u32 {
    (size + BLOCK_OVERHEAD_BYTES).next_power_of_two().max(MIN_BLOCK_BYTES)
}

/// What is free behind the data of a packet of this size.
pub fn tailroom_of(size: u32) -> u32 {
    block_size(size) - (size + HEADROOM_AND_SHINFO_BYTES)
}

/// What of so much memory counts as window.
fn window_from_memory(memory: i64) -> i64 {
    memory - (memory >> 1)
}

/// A window that was chosen.
#[derive(Clone, Copy, Debug)]
pub struct WindowChoice {
    pub bytes: i64,
    /// Less than half is free: no time for quick acknowledgements.
    pub is_space_low: bool,
}

#[derive(Debug)]
pub struct ReceiveBuffer {
    rcvbuf: i64,
    rcvbuf_max: i64,
    /// The buffer may grow.
    is_autotuned: bool,
    rmem_alloc: i64,
    window_clamp: i64,
    rcv_ssthresh: i64,
    /// What was advertised last, and up to where data had arrived then.
    rcv_wnd: i64,
    rcv_wup: i64,
    rcv_wscale: u32,
    /// A full segment's payload.
    full_payload: i64,
}

impl ReceiveBuffer {
    /// None if nothing is said of the buffer.
    pub fn new(settings: &Settings) -> Option<ReceiveBuffer> {
        let grows = match settings.receive_window {
            ReceiveWindow::Unlimited => return None,
            ReceiveWindow::Fixed => false,
            ReceiveWindow::Autotuned => true,
        };
        let (buffer, most) = (settings.receive_buffer as i64, settings.receive_buffer_max as i64);
        let full = i64::from(settings.payload());
        let space = window_from_memory(buffer);
        let limit = if grows { MAX_UNSCALED_WINDOW << MAX_WINDOW_SCALE } else { space };
        // The side that connects chooses before the options are known.
        let segment = if settings.handshake == Handshake::None { i64::from(settings.packet_size - IPV4_TCP_HEADER_BYTES) } else { full };
        let whole = if space > segment { space - space % segment } else { space };
        let scale = if settings.quirks.window_scaling { window_scale(whole.max(most).min(limit)) } else { 0 };
        let window = whole.min(MAX_UNSCALED_WINDOW);
        let clamp = limit.min(MAX_UNSCALED_WINDOW << scale);
        Some(ReceiveBuffer {
            rcvbuf: buffer,
            rcvbuf_max: most,
            is_autotuned: grows,
            rmem_alloc: 0,
            window_clamp: clamp,
            rcv_ssthresh: window,
            rcv_wnd: window,
            rcv_wup: 0,
            rcv_wscale: scale,
            full_payload: full,
        })
    }

    /// By how many bits the header shifts the window.
    pub fn window_scale(&self) -> u32 {
        self.rcv_wscale
    }

    /// The connection is open, with all before `next` arrived.
    pub fn on_open(&mut self, next: u64) {
        let all = window_from_memory(self.rcvbuf);
        self.window_clamp = self.window_clamp.min(all);
        if self.window_clamp > 2 * self.full_payload && self.window_clamp + self.full_payload > all {
            self.window_clamp = (2 * self.full_payload).max(all - self.full_payload);
        }
        self.rcv_ssthresh = self.rcv_ssthresh.min(self.window_clamp);
        self.rcv_wup = next as i64;
    }

    pub fn rcv_ssthresh(&self) -> i64 {
        self.rcv_ssthresh
    }

    /// What was advertised last.
    pub fn last_window(&self) -> i64 {
        self.rcv_wnd
    }

    /// What is left of what was advertised last, when all before `next` have arrived.
    pub fn receive_window(&self, next: u64) -> i64 {
        (self.rcv_wup + self.rcv_wnd - next as i64).max(0)
    }

    fn free_space(&self) -> i64 {
        window_from_memory(self.rcvbuf - self.rmem_alloc)
    }

    pub fn is_empty(&self) -> bool {
        self.rmem_alloc == 0
    }

    /// Takes a segment's memory.
    pub fn charge(&mut self, memory: u32) {
        self.rmem_alloc += i64::from(memory);
    }

    /// The application has read it.
    pub fn uncharge(&mut self, memory: u32) {
        self.rmem_alloc -= i64::from(memory);
    }

    /// Whether more is in the buffer than it holds.
    pub fn is_over_limit(&self) -> bool {
        self.rmem_alloc > self.rcvbuf
    }

    /// The buffer is overfull: an autotuned one grows to what is in it, up to its limit. Returns whether that helps.
    pub fn clamp_window(&mut self) -> bool {
        if self.is_autotuned {
            self.rcvbuf = self.rcvbuf.max(self.rmem_alloc.min(self.rcvbuf_max));
        }
        if self.is_over_limit() {
            self.rcv_ssthresh = self.rcv_ssthresh.min(self.window_clamp).min(2 * self.full_payload);
        }
        !self.is_over_limit()
    }

    /// The application reads fast: the buffer becomes as large as that, up to its limit.
    pub fn grow_rcvbuf(&mut self, buffer: i64) {
        let buffer = buffer.min(self.rcvbuf_max);
        if buffer > self.rcvbuf {
            self.rcvbuf = buffer;
            self.window_clamp = window_from_memory(buffer);
        }
    }

    /// A segment has arrived that took this memory. Returns whether the threshold rises.
    pub fn grow_rcv_ssthresh(&mut self, stored: QueuedSegment, peer_segment: u32) -> bool {
        let rest = self.window_clamp.min(self.free_space()) - self.rcv_ssthresh;
        if rest <= 0 {
            return false;
        }
        let payload = i64::from(stored.payload);
        let rise = if window_from_memory(i64::from(stored.memory)) <= payload {
            2 * self.full_payload
        } else if self.has_good_truesize(stored) {
            2 * i64::from(peer_segment)
        } else {
            return false;
        };
        self.rcv_ssthresh += rest.min(rise.max(2 * payload));
        true
    }

    /// Whether segments with as much memory for their payload leave room while the threshold is as low as it is.
    fn has_good_truesize(&self, stored: QueuedSegment) -> bool {
        let mut memory = window_from_memory(i64::from(stored.memory)) >> 1;
        let mut window = window_from_memory(self.rcvbuf_max) >> 1;
        while self.rcv_ssthresh <= window {
            if memory <= i64::from(stored.payload) {
                return true;
            }
            (memory, window) = (memory >> 1, window >> 1);
        }
        false
    }

    /// The window as of now, were nothing promised before.
    pub fn choose_window(&self, peer_segment: u32) -> WindowChoice {
        let all = window_from_memory(self.rcvbuf);
        let full = self.window_clamp.min(all);
        let segment = i64::from(peer_segment).min(full);
        let mut free = self.free_space();
        let is_low = free < full >> 1;
        if is_low {
            free = free >> self.rcv_wscale << self.rcv_wscale;
            if free < all >> 4 || free < segment {
                return WindowChoice { bytes: 0, is_space_low: is_low };
            }
        }
        free = free.min(self.rcv_ssthresh);
        let bytes = if self.rcv_wscale > 0 { self.round_up_to_scale(free) } else { self.round_to_segments(free, segment, full) };
        WindowChoice { bytes, is_space_low: is_low }
    }

    /// The window as it was, unless a segment more or less is free; then in whole segments.
    fn round_to_segments(&self, free: i64, segment: i64, full: i64) -> i64 {
        if self.rcv_wnd <= free - segment || self.rcv_wnd > free {
            free - free % segment
        } else if segment == full && free > self.rcv_wnd + (full >> 1) {
            free
        } else {
            self.rcv_wnd
        }
    }

    fn round_up_to_scale(&self, bytes: i64) -> i64 {
        let step = 1 << self.rcv_wscale;
        (bytes + step - 1) / step * step
    }

    /// Advertises a window with an acknowledgement of all before `next`; returns it as a header shows it, and whether little is free.
    pub fn select_window(&mut self, next: u64, peer_segment: u32) -> (u32, bool) {
        let WindowChoice { bytes, is_space_low: is_low } = self.choose_window(peer_segment);
        let left = self.receive_window(next);
        self.rcv_wnd = if bytes < left { self.round_up_to_scale(left) } else { bytes };
        self.rcv_wup = next as i64;
        let shown = self.rcv_wnd.min(MAX_UNSCALED_WINDOW << self.rcv_wscale) >> self.rcv_wscale << self.rcv_wscale;
        (shown as u32, is_low)
    }

    /// What a SYN-ACK shows, which is not scaled.
    pub fn syn_ack_window(&self) -> u32 {
        self.rcv_wnd.min(MAX_UNSCALED_WINDOW) as u32
    }

    /// The window as of now, when the application has read; nothing while the sender, who knows of `left` bytes, has enough.
    pub fn choose_window_after_read(&self, left: i64, peer_segment: u32) -> Option<WindowChoice> {
        (2 * left <= self.window_clamp).then(|| self.choose_window(peer_segment))
    }
}

/// The scale with which a header of 16 bits shows so large a window.
fn window_scale(window: i64) -> u32 {
    window.ilog2().saturating_sub(15).min(MAX_WINDOW_SCALE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;

    fn room(receive_window: ReceiveWindow, receive_buffer: u64) -> ReceiveBuffer {
        let settings = Settings { receive_window, receive_buffer, ..profile::settings("linux") };
        let mut room = ReceiveBuffer::new(&settings).unwrap();
        room.on_open(0);
        room
    }

    const FULL: QueuedSegment = QueuedSegment { payload: 1448, memory: 2304, tailroom: 164, fin: false };

    #[test]
    fn a_full_packet_takes_a_block_of_two_kilobytes_and_its_description() {
        assert_eq!([768, 1280, 2304], [52, 252, 1500].map(truesize_of));
    }

    #[test]
    fn every_segment_raises_the_window_by_two_up_to_half_of_the_buffer_less_one_segment() {
        let mut room = room(ReceiveWindow::Fixed, 262_144);
        let windows: Vec<u32> = (1..=26)
            .map(|segments| {
                room.charge(FULL.memory);
                room.grow_rcv_ssthresh(FULL, 1448);
                let window = room.select_window(segments * 1448, 1448).0;
                room.uncharge(FULL.memory);
                window
            })
            .collect();
        assert_eq!([68_432, 71_328, 74_224], windows[..3]);
        assert_eq!([129_248, 129_624, 129_624, 129_624], windows[21..25]);
    }

    #[test]
    fn a_small_buffer_is_advertised_in_whole_segments() {
        let mut room = room(ReceiveWindow::Fixed, 65_536);
        room.charge(FULL.memory);
        assert_eq!(
            (31_856, false, 21 * 1448),
            (room.syn_ack_window(), room.grow_rcv_ssthresh(FULL, 1448), room.select_window(1448, 1448).0)
        );
    }

    #[test]
    fn what_nobody_reads_closes_the_window_and_no_promise_is_taken_back() {
        let mut room = room(ReceiveWindow::Fixed, 65_536);
        let mut right = 0;
        let mut windows = Vec::new();
        for segments in 1..=28 {
            room.charge(FULL.memory);
            let window = room.select_window(segments * 1448, 1448).0;
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
            room.charge(FULL.memory);
            room.select_window(segments * 1448, 1448);
        }
        let left = room.receive_window(28 * 1448);
        assert_eq!(0, room.choose_window_after_read(left, 1448).unwrap().bytes);
        (0..28).for_each(|_| room.uncharge(FULL.memory));
        assert_eq!(21 * 1448, room.choose_window_after_read(left, 1448).unwrap().bytes);
    }
}
