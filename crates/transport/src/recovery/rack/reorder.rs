//! RACK: a segment is lost when one that was sent later has arrived and enough time for reordering has passed (RFC 8985, section 6), and what is
//! learned of reordering.
//!
//! ```text
//! window for reordering   0 as long as no reordering was seen, in recovery or with as many segments sacked as may overtake
//!                         else the smallest round trip / 4, times the steps, at most the smoothed round trip
//! steps                   one more for each round trip with a report of what came twice, back to 1 after 16 recoveries without one
//! ```
//!
//! How far segments overtake (`degree`) is the most seen so far, 3 at the start (Linux tcp_check_sack_reordering).

use ecnlab_units::Span;

use super::board::{Board, Found, Record};

/// Recoveries for which the window for reordering stays as it is (RFC 8985, section 6.2, step 4).
pub const PERSIST: u32 = 16;
/// Linux sysctl tcp_max_reordering.
const LARGEST_DEGREE: u64 = 300;

#[derive(Debug)]
pub struct Reordering {
    /// Segments that may overtake one that is not lost.
    pub degree: u64,
    /// As it is without any reordering.
    pub least: u64,
    pub seen: bool,
    steps: u64,
    pub persist: u32,
    /// A report of what came twice, and nothing done about it.
    pub twice: bool,
    /// How many segments had been delivered as the steps became more.
    stepped_at: u64,
    /// The most recently sent segment that has arrived: when it was sent, and one past its number.
    newest: (u64, u64),
    /// Microseconds from there to its acknowledgement.
    rtt: u64,
    /// Something has arrived since segments were looked at last.
    pub advanced: bool,
}

impl Reordering {
    pub fn new(least: u32) -> Reordering {
        let least = u64::from(least);
        Reordering {
            degree: least,
            least,
            seen: false,
            steps: 1,
            persist: 0,
            twice: false,
            stepped_at: 0,
            newest: (0, 0),
            rtt: 0,
            advanced: false,
        }
    }

    /// A segment has arrived (steps 1 and 2). One that was sent again may have arrived by its first transmission.
    pub fn arrived(&mut self, end: u64, record: &Record, now: u64, min_rtt: u64) {
        let rtt = now - record.sent;
        if rtt < min_rtt && record.ever_resent {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        self.newest = self.newest.max((record.sent, end));
    }

    /// A segment below one that had arrived arrives without having been sent again: it was overtaken by as many.
    pub fn overtaken(&mut self, low: u64, highest: u64) {
        if low >= highest {
            return;
        }
        if highest - low > self.degree {
            self.degree = (highest - low).min(LARGEST_DEGREE);
        }
        self.seen = true;
    }

    /// Adapts the window for reordering (step 4). `delivered_then` is how many segments had been delivered as the newest one that has arrived
    /// was sent, none if nothing arrived.
    pub fn adapt(&mut self, delivered_then: Option<u64>, delivered: u64) {
        let Some(delivered_then) = delivered_then else { return };
        if delivered_then < self.stepped_at {
            self.twice = false;
        }
        if std::mem::take(&mut self.twice) {
            self.steps = (self.steps + 1).min(255);
            self.stepped_at = delivered;
            self.persist = PERSIST;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// The window for reordering, in microseconds.
    fn window(&self, sacked: u64, recovering: bool, min_rtt: u64, srtt: u64) -> u64 {
        if !self.seen && (recovering || sacked >= self.degree) {
            return 0;
        }
        (min_rtt / 4 * self.steps).min(srtt)
    }

    /// Marks what is late as lost (step 5); returns after how long what is not yet late will be.
    pub fn detect(&self, board: &mut Board, recovering: bool, min_rtt: u64, srtt: u64, now: u64) -> Option<Span> {
        let window = self.window(board.sacked, recovering, min_rtt, srtt);
        let mut longest = 0;
        board.walk(|seq, record| {
            if (record.sent, seq + 1) >= self.newest {
                return Found::Stop;
            }
            match self.late_in(record, window, now) {
                None => Found::Lost,
                Some(left) => {
                    longest = longest.max(left);
                    Found::InTime
                }
            }
        });
        (longest > 0).then(|| Span::from_micros(longest))
    }

    /// After how many microseconds a segment is late; nothing if it is.
    fn late_in(&self, record: &Record, window: u64, now: u64) -> Option<u64> {
        (record.sent + self.rtt + window).checked_sub(now).filter(|&left| left > 0)
    }

    /// Whether a segment was sent so recently that a timeout says nothing of it.
    pub fn is_recent(&self, record: &Record, now: u64) -> bool {
        self.late_in(record, 0, now).is_some()
    }
}
