//! RACK: a segment is lost when one that was sent later has arrived and enough time for reordering has passed (RFC 8985, section 6).

use std::collections::VecDeque;

use ecnlab_units::{Span, Time};

use super::scoreboard::{Scoreboard, SegmentState};

#[derive(Debug, Default)]
pub struct Rack {
    /// Segments sacked before any reordering was seen that make the window for reordering zero.
    threshold: u64,
    /// The most recently sent segment that has arrived: when it was sent, and its number.
    newest: Option<(Time, u64)>,
    rtt: Span,
    /// One past the highest segment that has arrived.
    fack: u64,
    reordering: bool,
    /// The window for reordering in quarters of the smallest round trip, which grows with every DSACK of a round trip.
    quarters: u64,
    /// Recoveries without a DSACK after which it falls back.
    persist: u32,
    /// One past the highest segment sent when it grew last.
    grew: u64,
    /// Transmissions in the order of their time.
    order: VecDeque<(Time, u64)>,
    /// When segments that are late become losses.
    reorder_at: Option<Time>,
}

impl Rack {
    pub fn new(threshold: u32) -> Rack {
        Rack { threshold: u64::from(threshold), ..Rack::default() }
    }

    pub fn sent(&mut self, seq: u64, now: Time) {
        self.order.push_back((now, seq));
    }

    pub fn deadline(&self) -> Option<Time> {
        self.reorder_at
    }

    /// A segment has arrived that was not known to have (step 2 and 3).
    pub fn delivered(&mut self, seq: u64, segment: &SegmentState, now: Time, min_rtt: Span) {
        let rtt = now.since(segment.sent);
        if !segment.ever_resent {
            self.reordering |= seq < self.fack;
        } else if rtt < min_rtt {
            // The acknowledgement is of an earlier transmission.
            return;
        }
        self.fack = self.fack.max(seq + 1);
        if self.newest.is_none_or(|newest| newest < (segment.sent, seq)) {
            self.newest = Some((segment.sent, seq));
            self.rtt = rtt;
        }
    }

    /// An acknowledgement came, with a DSACK or without (step 4): the window for reordering adapts, once a round trip.
    pub fn adapt(&mut self, dsack: bool, una: u64, high: u64) {
        if dsack && una >= self.grew {
            (self.quarters, self.persist, self.grew) = (self.quarters.max(1) + 1, 16, high);
        }
    }

    /// Recovery has ended.
    pub fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.quarters = 1;
        }
    }

    fn reordering_window(&self, board: &Scoreboard, recovering: bool, min_rtt: Span, srtt: Span) -> Span {
        if !self.reordering && (recovering || board.sacked() >= self.threshold) {
            return Span::ZERO;
        }
        Span::from_picos((self.quarters.max(1) * min_rtt.picos() / 4).min(srtt.picos()))
    }

    /// Marks what is lost by now, and sets the timer for what may be late (step 5).
    pub fn detect(&mut self, board: &mut Scoreboard, recovering: bool, min_rtt: Span, srtt: Span, now: Time) {
        self.reorder_at = None;
        let Some(newest) = self.newest else { return };
        let patience = self.rtt + self.reordering_window(board, recovering, min_rtt, srtt);
        while let Some(&(sent, seq)) = self.order.front() {
            let stands =
                board.segment(seq).is_some_and(|segment| !segment.sacked && segment.sent == sent && (!segment.lost || segment.resent));
            if stands {
                if (sent, seq) >= newest {
                    return;
                }
                if sent + patience > now {
                    self.reorder_at = Some(sent + patience);
                    return;
                }
                board.lose(seq);
            }
            self.order.pop_front();
        }
    }

    /// The retransmission timer has expired: the first segment is lost, and every one that is late (section 6.3).
    pub fn timed_out(&mut self, board: &mut Scoreboard, una: u64, min_rtt: Span, srtt: Span, now: Time) {
        let patience = self.rtt + self.reordering_window(board, true, min_rtt, srtt);
        for seq in una..board.end() {
            let late = board.segment(seq).is_some_and(|segment| !segment.sacked && (seq == una || segment.sent + patience <= now));
            if late {
                board.lose(seq);
            }
        }
        self.reorder_at = None;
    }
}
