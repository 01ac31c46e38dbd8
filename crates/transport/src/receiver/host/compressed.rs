//! Acknowledgements of segments beyond a gap that are merged: the first three of a gap go at once, and from then on they wait for 5 % of the
//! round-trip time, at most 1 ms, and for what the timer may be late (Linux __tcp_ack_snd_check, tcp_compressed_ack_kick).

use ecnlab_units::{Span, Time};

/// What the sender is to hear at once of a gap (RFC 5681, section 3.2).
const AT_ONCE: u8 = 3;

/// Most that are merged into one.
const MOST: u32 = 44;

const LONGEST: Span = Span::from_millis(1);
const SLACK: Span = Span::from_micros(100);

#[derive(Debug, Default)]
pub struct Compressed {
    /// How many wait.
    waiting: u32,
    until: Option<Time>,
    /// The gap, and how many acknowledgements of it went at once.
    gap: Option<u64>,
    sent: u8,
}

impl Compressed {
    /// An acknowledgement of a segment beyond the gap before which `next` is missing. Returns whether it goes at once.
    pub fn passes(&mut self, next: u64, rtt: Span, now: Time) -> bool {
        if self.waiting >= MOST {
            return true;
        }
        if self.gap.replace(next) != Some(next) {
            self.sent = 0;
        }
        if self.sent < AT_ONCE {
            self.sent += 1;
            return true;
        }
        self.waiting += 1;
        if self.until.is_none() {
            self.until = Some(now + LONGEST.min(Span::from_picos(rtt.picos() / 20)) + SLACK);
        }
        false
    }

    pub fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    pub fn deadline(&self) -> Option<Time> {
        self.until
    }

    /// An acknowledgement goes out, which says all that they would have.
    pub fn sent(&mut self) {
        (self.waiting, self.until) = (0, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_three_of_a_gap_they_wait_for_a_millisecond_or_a_twentieth_of_the_round_trip() {
        let passes = |rtt| {
            let mut compressed = Compressed::default();
            let passes = [1, 1, 1, 1, 1, 7].map(|next| compressed.passes(next, Span::from_millis(rtt), Time::ZERO));
            (passes, compressed.deadline().unwrap().since(Time::ZERO))
        };
        let expected = [true, true, true, false, false, true];
        assert_eq!((expected, Span::from_micros(1100)), passes(40));
        assert_eq!((expected, Span::from_micros(600)), passes(10));
    }
}
