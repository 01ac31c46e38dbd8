//! Receive buffer and advertised window, in bytes (RFC 9293, section 3.8.6; Linux tcp_select_window, tcp_grow_window).
//!
//! ```text
//! buffer      limits the memory of packets, overhead included; half of it counts as window (tcp_adv_win_scale = 1)
//! rcv_ssthresh  the maximum window to advertise: the first window, plus two segments for every arriving segment that uses its
//!             memory well, up to the clamp: half of the buffer, less one segment
//! window      the free part, at most rcv_ssthresh, rounded up to the window scale; without a scale in whole segments.
//!             The right edge never moves back (section 3.8.6.2.1). Zero if less than a segment, or a sixteenth of half the buffer, is free
//! ```
//!
//! An autotuned buffer grows with the application's reading rate ([`super::autotune`]).

use crate::settings::{Handshake, ReceiveWindow, TcpSettings};

/// Maximum window without window scaling.
const MAX_UNSCALED_WINDOW: i64 = 65_535;

/// Maximum window scale (RFC 7323, section 2.3).
const MAX_WINDOW_SCALE: u32 = 14;

/// Memory overhead of a packet in two parts: within the data block, whose size is a power of two, and outside of it.
const BLOCK_OVERHEAD_BYTES: u32 = 400;
/// Overhead within the block before the packet and after its data (Linux NET_SKB_PAD, struct skb_shared_info).
const HEADROOM_AND_SHINFO_BYTES: u32 = 64 + 320;
const SK_BUFF_OVERHEAD_BYTES: u32 = 256;

/// IPv4 and TCP headers without options.
const IPV4_TCP_HEADER_BYTES: u32 = 40;

/// Minimum block size of a packet.
const MIN_BLOCK_BYTES: u32 = 512;

/// A stored segment.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueuedSegment {
    /// Application data in bytes.
    pub payload: u32,
    /// Memory in bytes, overhead included.
    pub memory: u32,
    /// Free memory after its data, which takes that much of the next segment's data.
    pub tailroom: u32,
    pub fin: bool,
}

/// Memory of a packet of this size, overhead included.
pub fn truesize_of(size: u32) -> u32 {
    block_size(size) + SK_BUFF_OVERHEAD_BYTES
}

fn block_size(size: u32) -> u32 {
    (size + BLOCK_OVERHEAD_BYTES).next_power_of_two().max(MIN_BLOCK_BYTES)
}

/// Free memory after the data of a packet of this size.
pub fn tailroom_of(size: u32) -> u32 {
    block_size(size) - (size + HEADROOM_AND_SHINFO_BYTES)
}

/// Share of memory that counts as window before it is measured, in 1/256.
const DEFAULT_SHARE: i64 = 128;
const SHARE_BITS: u32 = 8;

/// Window that this much memory counts as: half of it, or a measured share in 1/256.
fn window_from_memory(memory: i64, measured_share: Option<i64>) -> i64 {
    measured_share.map_or(memory - (memory >> 1), |share| (memory * share) >> SHARE_BITS)
}

/// Result of the window selection.
#[derive(Clone, Copy, Debug)]
pub struct WindowChoice {
    pub bytes: i64,
    /// Less than half of the buffer is free, so quick ACKs end.
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
    /// Last advertised window, and the next expected byte at that time.
    rcv_wnd: i64,
    rcv_wup: i64,
    rcv_wscale: u32,
    /// Payload of a full segment.
    full_payload: i64,
    /// Share of memory that counts as window, in 1/256, if it is measured; else half.
    measured_share: Option<i64>,
}

impl ReceiveBuffer {
    /// Receive buffer by these settings; none if no window is advertised.
    pub fn new(settings: &TcpSettings) -> Option<ReceiveBuffer> {
        let grows = match settings.receive_window {
            ReceiveWindow::Unlimited => return None,
            ReceiveWindow::Fixed => false,
            ReceiveWindow::Autotuned => true,
        };
        let (buffer, most) = (settings.receive_buffer as i64, settings.receive_buffer_max as i64);
        let full = i64::from(settings.mss());
        let measured_share = settings.quirks.measured_rcvbuf_share.then_some(DEFAULT_SHARE);
        let space = window_from_memory(buffer, measured_share);
        let limit = if grows { MAX_UNSCALED_WINDOW << MAX_WINDOW_SCALE } else { space };
        // The active opener selects it before the TCP options are known.
        let segment = if settings.handshake == Handshake::None { i64::from(settings.packet_size - IPV4_TCP_HEADER_BYTES) } else { full };
        let whole = if space > segment { space - space % segment } else { space };
        let scale = if settings.quirks.window_scaling { window_scale(whole.max(most).min(limit)) } else { 0 };
        let window = if measured_share.is_some() { whole } else { whole.min(MAX_UNSCALED_WINDOW) };
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
            measured_share,
        })
    }

    /// Window scale in bits.
    pub fn window_scale(&self) -> u32 {
        self.rcv_wscale
    }

    /// Starts when the connection opens, with all data before `next` received.
    pub fn on_open(&mut self, next: u64) {
        let all = self.window_from_memory(self.rcvbuf);
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

    /// Last advertised window.
    pub fn last_window(&self) -> i64 {
        self.rcv_wnd
    }

    /// Remainder of the last advertised window, with all data before `next` received.
    pub fn receive_window(&self, next: u64) -> i64 {
        (self.rcv_wup + self.rcv_wnd - next as i64).max(0)
    }

    fn window_from_memory(&self, memory: i64) -> i64 {
        window_from_memory(memory, self.measured_share)
    }

    /// Measures the share of data in the memory of a segment, which is larger than those before. The clamp follows.
    pub fn measure_share(&mut self, stored: QueuedSegment) {
        let Some(share) = &mut self.measured_share else { return };
        let measured = ((i64::from(stored.payload) << SHARE_BITS) / i64::from(stored.memory.max(1))).max(1);
        if std::mem::replace(share, measured) != measured {
            self.window_clamp = self.window_from_memory(self.rcvbuf);
        }
    }

    fn free_space(&self) -> i64 {
        self.window_from_memory(self.rcvbuf - self.rmem_alloc)
    }

    pub fn is_empty(&self) -> bool {
        self.rmem_alloc == 0
    }

    /// Charges a segment's memory to the buffer.
    pub fn charge(&mut self, memory: u32) {
        self.rmem_alloc += i64::from(memory);
    }

    /// Releases a segment's memory after the application has read it.
    pub fn uncharge(&mut self, memory: u32) {
        self.rmem_alloc -= i64::from(memory);
    }

    /// Whether the memory in use exceeds the buffer.
    pub fn is_over_limit(&self) -> bool {
        self.rmem_alloc > self.rcvbuf
    }

    /// Grows an autotuned buffer to the memory in use, up to its limit. Returns whether that suffices.
    pub fn clamp_window(&mut self) -> bool {
        if self.is_autotuned {
            self.rcvbuf = self.rcvbuf.max(self.rmem_alloc.min(self.rcvbuf_max));
        }
        if self.is_over_limit() {
            self.rcv_ssthresh = self.rcv_ssthresh.min(self.window_clamp).min(2 * self.full_payload);
        }
        !self.is_over_limit()
    }

    /// Grows the buffer by the application's reading rate, up to its limit.
    pub fn grow_rcvbuf(&mut self, buffer: i64) {
        let buffer = buffer.min(self.rcvbuf_max);
        if buffer > self.rcvbuf {
            self.rcvbuf = buffer;
            self.window_clamp = self.window_from_memory(buffer);
        }
    }

    /// Raises rcv_ssthresh for an arrived segment. Returns whether it rose.
    pub fn grow_rcv_ssthresh(&mut self, stored: QueuedSegment, peer_segment: u32) -> bool {
        let rest = self.window_clamp.min(self.free_space()) - self.rcv_ssthresh;
        if rest <= 0 {
            return false;
        }
        let payload = i64::from(stored.payload);
        let rise = if self.window_from_memory(i64::from(stored.memory)) <= payload {
            2 * self.full_payload
        } else if self.has_good_truesize(stored) {
            2 * i64::from(peer_segment)
        } else {
            return false;
        };
        self.rcv_ssthresh += rest.min(rise.max(2 * payload));
        true
    }

    /// Whether segments with this ratio of memory to payload would fit at the current rcv_ssthresh.
    fn has_good_truesize(&self, stored: QueuedSegment) -> bool {
        let mut memory = self.window_from_memory(i64::from(stored.memory)) >> 1;
        let mut window = self.window_from_memory(self.rcvbuf_max) >> 1;
        while self.rcv_ssthresh <= window {
            if memory <= i64::from(stored.payload) {
                return true;
            }
            (memory, window) = (memory >> 1, window >> 1);
        }
        false
    }

    /// Window by the free space, without regard to the last advertised one.
    pub fn choose_window(&self, peer_segment: u32) -> WindowChoice {
        let all = self.window_from_memory(self.rcvbuf);
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
        let bytes = if self.rcv_wscale > 0 { self.round_up_to_scale(free) } else { self.keep_or_round_to_segments(free, segment, full) };
        WindowChoice { bytes, is_space_low: is_low }
    }

    /// Last advertised window if the free space differs by less than a segment; otherwise the free space in whole segments.
    fn keep_or_round_to_segments(&self, free: i64, segment: i64, full: i64) -> i64 {
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

    /// Selects the window of an ACK of all data before `next`; returns the value for the header, and whether little is free.
    pub fn select_window(&mut self, next: u64, peer_segment: u32) -> (u32, bool) {
        let WindowChoice { bytes, is_space_low: is_low } = self.choose_window(peer_segment);
        let left = self.receive_window(next);
        self.rcv_wnd = if bytes < left { self.round_up_to_scale(left) } else { bytes };
        self.rcv_wup = next as i64;
        let shown = self.rcv_wnd.min(MAX_UNSCALED_WINDOW << self.rcv_wscale) >> self.rcv_wscale << self.rcv_wscale;
        (shown as u32, is_low)
    }

    /// Window of a SYN-ACK, which is not scaled.
    pub fn syn_ack_window(&self) -> u32 {
        self.rcv_wnd.min(MAX_UNSCALED_WINDOW) as u32
    }

    /// Window after the application has read; none while the sender still has a sufficient window of `left` bytes.
    pub fn choose_window_after_read(&self, left: i64, peer_segment: u32) -> Option<WindowChoice> {
        (2 * left <= self.window_clamp).then(|| self.choose_window(peer_segment))
    }
}

/// Window scale required for a window of this size in a field of 16 bits.
fn window_scale(window: i64) -> u32 {
    window.ilog2().saturating_sub(15).min(MAX_WINDOW_SCALE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;

    fn receive_buffer_of(receive_window: ReceiveWindow, receive_buffer: u64) -> ReceiveBuffer {
        let settings = TcpSettings { receive_window, receive_buffer, ..profile::tcp_settings_of("linux") };
        let mut room = ReceiveBuffer::new(&settings).unwrap();
        room.on_open(0);
        room
    }

    const FULL_SEGMENT: QueuedSegment = QueuedSegment { payload: 1448, memory: 2304, tailroom: 164, fin: false };

    #[test]
    fn a_full_packet_takes_a_block_of_two_kilobytes_and_its_description() {
        assert_eq!([768, 1280, 2304], [52, 252, 1500].map(truesize_of));
    }

    #[test]
    fn every_segment_raises_the_window_by_two_up_to_half_of_the_buffer_less_one_segment() {
        let mut room = receive_buffer_of(ReceiveWindow::Fixed, 262_144);
        let windows: Vec<u32> = (1..=26)
            .map(|segments| {
                room.charge(FULL_SEGMENT.memory);
                room.grow_rcv_ssthresh(FULL_SEGMENT, 1448);
                let window = room.select_window(segments * 1448, 1448).0;
                room.uncharge(FULL_SEGMENT.memory);
                window
            })
            .collect();
        assert_eq!([68_432, 71_328, 74_224], windows[..3]);
        assert_eq!([129_248, 129_624, 129_624, 129_624], windows[21..25]);
    }

    #[test]
    fn a_small_buffer_is_advertised_in_whole_segments() {
        let mut room = receive_buffer_of(ReceiveWindow::Fixed, 65_536);
        room.charge(FULL_SEGMENT.memory);
        assert_eq!(
            (31_856, false, 21 * 1448),
            (room.syn_ack_window(), room.grow_rcv_ssthresh(FULL_SEGMENT, 1448), room.select_window(1448, 1448).0)
        );
    }

    #[test]
    fn what_nobody_reads_closes_the_window_and_no_promise_is_taken_back() {
        let mut room = receive_buffer_of(ReceiveWindow::Fixed, 65_536);
        let mut right = 0;
        let mut windows = Vec::new();
        for segments in 1..=28 {
            room.charge(FULL_SEGMENT.memory);
            let window = room.select_window(segments * 1448, 1448).0;
            assert!(segments * 1448 + u64::from(window) >= right);
            right = segments * 1448 + u64::from(window);
            windows.push(window);
        }
        assert_eq!(0, *windows.last().unwrap());
    }

    #[test]
    fn a_reader_that_made_room_is_worth_an_acknowledgement() {
        let mut room = receive_buffer_of(ReceiveWindow::Fixed, 65_536);
        for segments in 1..=28 {
            room.charge(FULL_SEGMENT.memory);
            room.select_window(segments * 1448, 1448);
        }
        let left = room.receive_window(28 * 1448);
        assert_eq!(0, room.choose_window_after_read(left, 1448).unwrap().bytes);
        (0..28).for_each(|_| room.uncharge(FULL_SEGMENT.memory));
        assert_eq!(21 * 1448, room.choose_window_after_read(left, 1448).unwrap().bytes);
    }
}
