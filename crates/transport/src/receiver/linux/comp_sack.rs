//! SACK compression: the first three ACKs of a gap are sent at once. Later ones wait for 5 % of the RTT, at most 1 ms, plus the timer
//! slack, and are merged (Linux __tcp_ack_snd_check, tcp_compressed_ack_kick).

use ecnlab_units::{Span, Time};

/// ACKs per gap that are sent at once, so that the sender detects the loss (RFC 5681, section 3.2).
const UNCOMPRESSED_PER_GAP: u8 = 3;

/// Maximum number of ACKs merged into one.
const MAX_COMPRESSED: u32 = 44;

const MAX_COMPRESSION_DELAY: Span = Span::from_millis(1);
const TIMER_SLACK: Span = Span::from_micros(100);

#[derive(Debug, Default)]
pub struct CompressedSacks {
    /// Number of waiting ACKs.
    compressed_count: u32,
    deadline: Option<Time>,
    /// The gap, and the number of its ACKs sent at once.
    gap_seq: Option<u64>,
    sent_for_gap: u8,
}

impl CompressedSacks {
    /// Processes an ACK of a segment beyond the gap at `next`. Returns whether it is sent at once.
    pub fn on_ack_beyond_gap(&mut self, next: u64, rtt: Span, now: Time) -> bool {
        if self.compressed_count >= MAX_COMPRESSED {
            return true;
        }
        if self.gap_seq.replace(next) != Some(next) {
            self.sent_for_gap = 0;
        }
        if self.sent_for_gap < UNCOMPRESSED_PER_GAP {
            self.sent_for_gap += 1;
            return true;
        }
        self.compressed_count += 1;
        if self.deadline.is_none() {
            self.deadline = Some(now + MAX_COMPRESSION_DELAY.min(rtt / 20) + TIMER_SLACK);
        }
        false
    }

    pub fn is_pending(&self) -> bool {
        self.compressed_count > 0
    }

    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// Clears the waiting ACKs, because any ACK sent now replaces them.
    pub fn on_ack_sent(&mut self) {
        (self.compressed_count, self.deadline) = (0, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_three_of_a_gap_they_wait_for_a_millisecond_or_a_twentieth_of_the_round_trip() {
        let passes = |rtt| {
            let mut compressed = CompressedSacks::default();
            let passes = [1, 1, 1, 1, 1, 7].map(|next| compressed.on_ack_beyond_gap(next, Span::from_millis(rtt), Time::ZERO));
            (passes, compressed.deadline().unwrap().since(Time::ZERO))
        };
        let expected = [true, true, true, false, false, true];
        assert_eq!((expected, Span::from_micros(1100)), passes(40));
        assert_eq!((expected, Span::from_micros(600)), passes(10));
    }
}
