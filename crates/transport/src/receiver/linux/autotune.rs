//! Receive buffer autotuning by the application's reading rate (Fisk and Feng 2001; Linux tcp_rcv_space_adjust).
//!
//! ```text
//! once per RTT, if more was read than the maximum before:
//!     window = 2 * read + 16 segments
//!     window = window + 2 * window * (read - before) / before
//!     buffer = memory for so many full segments
//! ```

use ecnlab_units::{Span, Time};

use crate::settings::TcpSettings;

/// Segments of the initial window, the base of the first comparison (RFC 6928).
const INITIAL_SEGMENTS: u64 = 10;

/// Segments added to the window for small variations.
const SLACK_SEGMENTS: u64 = 16;

/// Memory of a full segment besides its payload, and the step in which memory is raised until half of it holds the payload.
const SEGMENT_OVERHEAD_BYTES: u64 = 896;
const SEGMENT_MEMORY_STEP_BYTES: u64 = 128;

#[derive(Debug)]
pub struct RcvBufAutotune {
    segment_payload: u64,
    segment_memory: u64,
    /// Maximum number of bytes read in an RTT.
    max_read_per_rtt: u64,
    /// Start time and start byte of the current RTT's reading.
    round_start: Time,
    round_start_byte: u64,
}

impl RcvBufAutotune {
    pub fn new(settings: &TcpSettings) -> RcvBufAutotune {
        let full = u64::from(settings.mss());
        let mut memory = full + SEGMENT_OVERHEAD_BYTES;
        while memory - memory / 2 < full {
            memory += SEGMENT_MEMORY_STEP_BYTES;
        }
        RcvBufAutotune { segment_payload: full, segment_memory: memory, max_read_per_rtt: 0, round_start: Time::ZERO, round_start_byte: 0 }
    }

    /// Starts when the connection opens with this window; the data begins at byte `read`.
    pub fn on_open(&mut self, window: i64, read: u64, now: Time) {
        self.max_read_per_rtt = (INITIAL_SEGMENTS * self.segment_payload).min(window as u64);
        (self.round_start, self.round_start_byte) = (now, read);
    }

    /// Processes a read of all data before `read`. Returns the required buffer size once per RTT.
    pub fn required_rcvbuf_after_read(&mut self, read: u64, rtt: Span, now: Time) -> Option<i64> {
        if rtt == Span::ZERO || now.since(self.round_start) < rtt {
            return None;
        }
        let copied = read - self.round_start_byte;
        let buffer = (copied > self.max_read_per_rtt).then(|| self.buffer_for_read_rate(copied));
        self.max_read_per_rtt = self.max_read_per_rtt.max(copied);
        (self.round_start, self.round_start_byte) = (now, read);
        buffer
    }

    fn buffer_for_read_rate(&self, copied: u64) -> i64 {
        let window = 2 * copied + SLACK_SEGMENTS * self.segment_payload;
        let growth = window * (copied - self.max_read_per_rtt) / self.max_read_per_rtt;
        ((window + 2 * growth) / self.segment_payload * self.segment_memory) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;

    #[test]
    fn the_buffer_is_asked_for_once_a_round_trip_and_allows_the_sender_to_double_its_rate() {
        let mut autotune = RcvBufAutotune::new(&profile::tcp_settings_of("linux"));
        autotune.on_open(65_160, 0, Time::ZERO);
        let rtt = Span::from_millis(40);
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        assert_eq!(None, autotune.required_rcvbuf_after_read(14_480, rtt, at(30)));
        // As much as the initial window: no growth.
        assert_eq!(None, autotune.required_rcvbuf_after_read(14_480, rtt, at(40)));
        // Twice as much: 2 * 28 960 + 23 168 = 81 088, and twice that more: 168 segments of 2984 bytes.
        assert_eq!(Some(168 * 2984), autotune.required_rcvbuf_after_read(43_440, rtt, at(80)));
    }
}
