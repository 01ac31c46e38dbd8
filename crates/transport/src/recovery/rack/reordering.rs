//! RACK loss detection: a segment is lost when one that was sent later has arrived and the reordering window has passed (RFC 8985, section
//! 6). Also the adaptation to reordering.
//!
//! ```text
//! reordering window   0 while no reordering was seen, in recovery or with `dup_thresh` segments sacked
//!                     otherwise the minimum RTT / 4, times reo_wnd_mult, at most the smoothed RTT
//! reo_wnd_mult        one more for each RTT with a DSACK, back to 1 after 16 recoveries without a DSACK
//! ```
//!
//! `dup_thresh` is the maximum degree of reordering seen so far, and 3 at the start (Linux tcp_check_sack_reordering).

use ecnlab_units::Span;

use super::scoreboard::{LossVerdict, RackScoreboard, RackSegment};

/// Recoveries for which the reordering window is kept (RFC 8985, section 6.2, step 4).
pub const REO_WND_PERSIST: u32 = 16;
/// Linux sysctl tcp_max_reordering.
const MAX_REORDERING: u64 = 300;

#[derive(Debug)]
pub struct Reordering {
    /// Degree of reordering: the number of segments that may overtake one that is not lost.
    pub dup_thresh: u64,
    /// Value of `dup_thresh` before any reordering.
    pub min_dup_thresh: u64,
    pub reordering_seen: bool,
    reo_wnd_mult: u64,
    pub reo_wnd_persist: u32,
    /// A DSACK arrived that has not updated `reo_wnd_mult` yet.
    pub dsack_pending: bool,
    /// Delivered count at the last increase of `reo_wnd_mult`.
    delivered_at_last_step: u64,
    /// Most recently sent segment that is delivered: its send time, and one past its number.
    newest_delivered: (u64, u64),
    /// RTT of that segment in microseconds.
    rtt: u64,
    /// A segment was delivered since the last loss detection.
    pub delivered_since_check: bool,
}

impl Reordering {
    pub fn new(least: u32) -> Reordering {
        let least = u64::from(least);
        Reordering {
            dup_thresh: least,
            min_dup_thresh: least,
            reordering_seen: false,
            reo_wnd_mult: 1,
            reo_wnd_persist: 0,
            dsack_pending: false,
            delivered_at_last_step: 0,
            newest_delivered: (0, 0),
            rtt: 0,
            delivered_since_check: false,
        }
    }

    /// Records a delivered segment (steps 1 and 2). For a retransmitted segment, the original may have arrived.
    pub fn on_delivered(&mut self, end: u64, segment: &RackSegment, now: u64, min_rtt: u64) {
        let rtt = now - segment.last_sent_at;
        //= RFC 8985, section 6.2: what was sent before a delivered retransmission is lost
        if segment.ever_retransmitted && rtt < min_rtt {
            return;
        }
        self.delivered_since_check = true;
        self.rtt = rtt;
        let (sent, its_end) = self.newest_delivered;
        if segment.last_sent_at > sent || segment.last_sent_at == sent && end > its_end {
            self.newest_delivered = (segment.last_sent_at, end);
        }
    }

    /// Records that a segment below the highest delivered one arrived without retransmission, so it was overtaken.
    pub fn on_reordered(&mut self, low: u64, highest: u64) {
        if low >= highest {
            return;
        }
        if highest - low > self.dup_thresh {
            self.dup_thresh = (highest - low).min(MAX_REORDERING);
        }
        self.reordering_seen = true;
    }

    /// Raises `dup_thresh` to the degree of reordering seen without SACK.
    pub fn raise_dup_thresh(&mut self, degree: u64) {
        self.dup_thresh = degree.min(MAX_REORDERING);
        self.reordering_seen = true;
    }

    /// Updates `reo_wnd_mult` (step 4). `delivered_then` is the delivered count when the most recently sent delivered segment was sent;
    /// none if no segment was delivered.
    pub fn update_reo_wnd_mult(&mut self, delivered_then: Option<u64>, delivered: u64) {
        let Some(delivered_then) = delivered_then else { return };
        if delivered_then < self.delivered_at_last_step {
            self.dsack_pending = false;
        }
        if std::mem::take(&mut self.dsack_pending) {
            self.reo_wnd_mult = (self.reo_wnd_mult + 1).min(255);
            self.delivered_at_last_step = delivered;
            self.reo_wnd_persist = REO_WND_PERSIST;
        } else if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }

    /// Reordering window in microseconds.
    fn reo_wnd(&self, sacked: u64, recovering: bool, min_rtt: u64, srtt: u64) -> u64 {
        if !self.reordering_seen && (recovering || sacked >= self.dup_thresh) {
            return 0;
        }
        (min_rtt / 4 * self.reo_wnd_mult).min(srtt)
    }

    /// Marks late segments as lost (step 5); returns the time until the next one will be late.
    #[inline]
    pub fn detect_lost(&self, board: &mut RackScoreboard, recovering: bool, min_rtt: u64, srtt: u64, now: u64) -> Option<Span> {
        if board.has_none_sent_before(self.newest_delivered) { None } else { self.mark_late_lost(board, recovering, (min_rtt, srtt), now) }
    }

    #[inline(never)]
    fn mark_late_lost(&self, board: &mut RackScoreboard, recovering: bool, (min_rtt, srtt): (u64, u64), now: u64) -> Option<Span> {
        let window = self.reo_wnd(board.sacked, recovering, min_rtt, srtt);
        let mut longest = 0;
        board.for_each_in_send_order(|seq, segment| {
            if (segment.last_sent_at, seq + 1) >= self.newest_delivered {
                return LossVerdict::Stop;
            }
            match self.time_until_late(segment, window, now) {
                None => LossVerdict::Lost,
                Some(left) => {
                    longest = longest.max(left);
                    LossVerdict::InTime
                }
            }
        });
        (longest > 0).then(|| Span::from_micros(longest))
    }

    /// Microseconds until a segment is late; none if it is late.
    fn time_until_late(&self, segment: &RackSegment, window: u64, now: u64) -> Option<u64> {
        (segment.last_sent_at + self.rtt + window).checked_sub(now).filter(|&left| left > 0)
    }

    /// Whether a segment was sent so recently that an RTO does not mark it as lost.
    pub fn is_too_recent_for_rto(&self, segment: &RackSegment, now: u64) -> bool {
        self.time_until_late(segment, 0, now).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROS_PER_MILLI: u64 = 1000;
    /// Minimum RTT.
    const MIN_RTT_MICROS: u64 = 40 * MICROS_PER_MILLI;

    /// Segments in flight from 0 on, with their send times in ms, and the reordering state.
    struct Flight {
        board: RackScoreboard,
        reordering: Reordering,
    }

    impl Flight {
        fn with_send_times(at: &[u64]) -> Flight {
            let mut flight = Flight { board: RackScoreboard::default(), reordering: Reordering::new(3) };
            at.iter().for_each(|&at| flight.board.on_sent(at * MICROS_PER_MILLI, 0));
            flight
        }

        /// Sacks a segment at `at` ms.
        fn sack(&mut self, seq: u64, at: u64) {
            let segment = *self.board.segment(seq).unwrap();
            self.reordering.on_delivered(seq + 1, &segment, at * MICROS_PER_MILLI, MIN_RTT_MICROS);
            self.board.mark_sacked(seq);
        }

        /// Segments lost at `at` ms, and the microseconds until the next one may be.
        fn detect(&mut self, at: u64) -> (Vec<u64>, Option<u64>) {
            let wait = self.reordering.detect_lost(&mut self.board, false, MIN_RTT_MICROS, 2 * MIN_RTT_MICROS, at * MICROS_PER_MILLI);
            let lost = (0..self.board.end_seq()).filter(|&seq| self.board.segment(seq).unwrap().lost).collect();
            (lost, wait.map(|wait| wait.micros()))
        }
    }

    #[test]
    fn a_segment_is_lost_a_quarter_of_a_round_trip_after_one_sent_later_might_have_come() {
        // RFC 8985, section 6.2, step 5: send time + RTT of the delivered segment + a quarter of the minimum RTT.
        let mut flight = Flight::with_send_times(&[0, 5, 10, 10, 12]);
        flight.sack(3, 50);
        assert_eq!((vec![0], Some(10 * MICROS_PER_MILLI)), flight.detect(50), "1 at 55, 2 at 60: sent with 3, and before it");
        assert_eq!((vec![0, 1], Some(5 * MICROS_PER_MILLI)), flight.detect(55));
        assert_eq!((vec![0, 1, 2], None), flight.detect(60), "4 was sent after all that has arrived");
    }

    #[test]
    fn three_sacked_segments_wait_for_nothing_unless_reordering_was_seen() {
        // RFC 8985, section 6.2, step 4: as with classic duplicate ACKs.
        for (seen, expected) in [(false, (vec![0], None)), (true, (vec![], Some(10 * MICROS_PER_MILLI)))] {
            let mut flight = Flight::with_send_times(&[0, 0, 0, 0]);
            flight.reordering.reordering_seen = seen;
            [1, 2, 3].into_iter().for_each(|seq| flight.sack(seq, 40));
            assert_eq!(expected, flight.detect(40), "{seen}");
        }
    }

    #[test]
    fn a_retransmission_is_lost_when_something_sent_after_it_arrives() {
        // RFC 8985, section 3.1: order of transmission, not of sequence numbers.
        let mut flight = Flight::with_send_times(&[0, 0, 0, 0, 20, 60]);
        [1, 2, 3].into_iter().for_each(|seq| flight.sack(seq, 40));
        flight.detect(40);
        flight.board.on_retransmitted(0, 40 * MICROS_PER_MILLI, 3, true);
        flight.sack(4, 60);
        flight.detect(100);
        assert!(flight.board.segment(0).unwrap().retransmitted, "4 went before the retransmission");
        flight.sack(5, 100);
        flight.detect(100);
        assert_eq!(
            (false, Some(0), 2),
            (flight.board.segment(0).unwrap().retransmitted, flight.board.next_lost(), flight.board.losses_total)
        );
    }

    #[test]
    fn what_comes_sooner_than_a_round_trip_after_its_retransmission_was_the_original() {
        // RFC 8985, section 6.2, step 1.
        let mut flight = Flight::with_send_times(&[0, 50]);
        flight.board.on_retransmitted(0, 60 * MICROS_PER_MILLI, 0, false);
        flight.sack(0, 70);
        assert!(!flight.reordering.delivered_since_check);
        flight.sack(1, 95);
        assert!(flight.reordering.delivered_since_check);
    }

    #[test]
    fn reports_of_what_came_twice_widen_the_window_once_a_round_trip_and_for_sixteen_recoveries() {
        // RFC 8985, section 6.2, step 4.
        let mut reordering = Reordering { reordering_seen: true, ..Reordering::new(3) };
        let windows = |reordering: &Reordering| reordering.reo_wnd(0, true, MIN_RTT_MICROS, 2 * MIN_RTT_MICROS) / (MIN_RTT_MICROS / 4);
        assert_eq!(1, windows(&reordering));
        for (then, delivered, expected) in [(0, 10, 2), (5, 20, 2), (10, 30, 3)] {
            reordering.dsack_pending = true;
            reordering.update_reo_wnd_mult(Some(then), delivered);
            assert_eq!(expected, windows(&reordering), "sent when {then} were delivered");
        }
        reordering.update_reo_wnd_mult(None, 31);
        assert_eq!((3, REO_WND_PERSIST), (windows(&reordering), reordering.reo_wnd_persist));
        reordering.reo_wnd_persist = 0;
        reordering.update_reo_wnd_mult(Some(31), 40);
        assert_eq!(1, windows(&reordering));
        reordering.reo_wnd_mult = 100;
        assert_eq!(8, windows(&reordering), "no longer than the smoothed round trip");
    }

    #[test]
    fn how_far_segments_overtake_is_the_most_that_was_seen() {
        let mut reordering = Reordering::new(3);
        let mut after = |low, highest| {
            reordering.on_reordered(low, highest);
            (reordering.reordering_seen, reordering.dup_thresh)
        };
        assert_eq!(
            [(false, 3), (true, 3), (true, 7), (true, 7), (true, 300)],
            [(9, 9), (7, 9), (10, 17), (20, 22), (30, 900)].map(|(a, b)| after(a, b))
        );
    }
}
