//! RACK: a segment is lost when one that was sent later has arrived and enough time for reordering has passed (RFC 8985, section 6), and what is
//! learned of reordering.
//!
//! ```text
//! window for reordering   0 as long as no reordering was seen, in recovery or with as many segments sacked as may overtake
//!                         else the smallest round trip / 4, times reo_wnd_mult, at most the smoothed round trip
//! reo_wnd_mult            one more for each round trip with a report of what came twice, back to 1 after 16 recoveries without one
//! ```
//!
//! How far segments overtake (`dup_thresh`) is the most seen so far, 3 at the start (Linux tcp_check_sack_reordering).

use ecnlab_units::Span;

use super::scoreboard::{LossVerdict, RackScoreboard, RackSegment};

/// Recoveries for which the window for reordering stays as it is (RFC 8985, section 6.2, step 4).
pub const REO_WND_PERSIST: u32 = 16;
/// Linux sysctl tcp_max_reordering.
const MAX_REORDERING: u64 = 300;

#[derive(Debug)]
pub struct Reordering {
    /// Segments that may overtake one that is not lost.
    pub dup_thresh: u64,
    /// As it is without any reordering.
    pub min_dup_thresh: u64,
    pub reordering_seen: bool,
    reo_wnd_mult: u64,
    pub reo_wnd_persist: u32,
    /// A report of what came twice, and nothing done about it.
    pub dsack_pending: bool,
    /// How many segments had been delivered as the steps became more.
    delivered_at_last_step: u64,
    /// The most recently sent segment that has arrived: when it was sent, and one past its number.
    newest_delivered: (u64, u64),
    /// Microseconds from there to its acknowledgement.
    rtt: u64,
    /// Something has arrived since segments were looked at last.
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

    /// A segment has arrived (steps 1 and 2). One that was sent again may have arrived by its first transmission.
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

    /// A segment below one that had arrived arrives without having been sent again: it was overtaken by as many.
    pub fn on_reordered(&mut self, low: u64, highest: u64) {
        if low >= highest {
            return;
        }
        if highest - low > self.dup_thresh {
            self.dup_thresh = (highest - low).min(MAX_REORDERING);
        }
        self.reordering_seen = true;
    }

    /// Without SACK: so many segments overtake.
    pub fn raise_dup_thresh(&mut self, degree: u64) {
        self.dup_thresh = degree.min(MAX_REORDERING);
        self.reordering_seen = true;
    }

    /// Adapts the window for reordering (step 4). `delivered_then` is how many segments had been delivered as the newest one that has arrived
    /// was sent, none if nothing arrived.
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

    /// The window for reordering, in microseconds.
    fn reo_wnd(&self, sacked: u64, recovering: bool, min_rtt: u64, srtt: u64) -> u64 {
        if !self.reordering_seen && (recovering || sacked >= self.dup_thresh) {
            return 0;
        }
        (min_rtt / 4 * self.reo_wnd_mult).min(srtt)
    }

    /// Marks what is late as lost (step 5); returns after how long what is not yet late will be.
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

    /// Microseconds until a segment is late; nothing if it is.
    fn time_until_late(&self, segment: &RackSegment, window: u64, now: u64) -> Option<u64> {
        (segment.last_sent_at + self.rtt + window).checked_sub(now).filter(|&left| left > 0)
    }

    /// Whether a segment was sent so recently that a timeout says nothing of it.
    pub fn was_sent_recently(&self, segment: &RackSegment, now: u64) -> bool {
        self.time_until_late(segment, 0, now).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: u64 = 1000;
    /// Smallest round trip.
    const RTT: u64 = 40 * MILLI;

    /// Segments on their way, from 0 on, sent at these milliseconds, and what is known of reordering.
    struct Flight {
        board: RackScoreboard,
        reordering: Reordering,
    }

    impl Flight {
        fn sent(at: &[u64]) -> Flight {
            let mut flight = Flight { board: RackScoreboard::default(), reordering: Reordering::new(3) };
            at.iter().for_each(|&at| flight.board.on_sent(at * MILLI, 0));
            flight
        }

        /// A segment is sacked at so many milliseconds.
        fn sack(&mut self, seq: u64, at: u64) {
            let segment = *self.board.segment(seq).unwrap();
            self.reordering.on_delivered(seq + 1, &segment, at * MILLI, RTT);
            self.board.mark_sacked(seq);
        }

        /// Which segments are lost at so many milliseconds, and after how many microseconds another one may be.
        fn detect(&mut self, at: u64) -> (Vec<u64>, Option<u64>) {
            let wait = self.reordering.detect_lost(&mut self.board, false, RTT, 2 * RTT, at * MILLI);
            let lost = (0..self.board.end_seq()).filter(|&seq| self.board.segment(seq).unwrap().lost).collect();
            (lost, wait.map(|wait| wait.picos() / Span::from_micros(1).picos()))
        }
    }

    #[test]
    fn a_segment_is_lost_a_quarter_of_a_round_trip_after_one_sent_later_might_have_come() {
        // RFC 8985, section 6.2, step 5: sent + the round trip of what arrived + a quarter of the smallest one.
        let mut flight = Flight::sent(&[0, 5, 10, 10, 12]);
        flight.sack(3, 50);
        assert_eq!((vec![0], Some(10 * MILLI)), flight.detect(50), "1 at 55, 2 at 60: sent with 3, and before it");
        assert_eq!((vec![0, 1], Some(5 * MILLI)), flight.detect(55));
        assert_eq!((vec![0, 1, 2], None), flight.detect(60), "4 was sent after all that has arrived");
    }

    #[test]
    fn three_sacked_segments_wait_for_nothing_unless_reordering_was_seen() {
        // RFC 8985, section 6.2, step 4: as classic duplicates do.
        for (seen, expected) in [(false, (vec![0], None)), (true, (vec![], Some(10 * MILLI)))] {
            let mut flight = Flight::sent(&[0, 0, 0, 0]);
            flight.reordering.reordering_seen = seen;
            [1, 2, 3].into_iter().for_each(|seq| flight.sack(seq, 40));
            assert_eq!(expected, flight.detect(40), "{seen}");
        }
    }

    #[test]
    fn a_retransmission_is_lost_when_something_sent_after_it_arrives() {
        // RFC 8985, section 3.1: the order of transmission counts, not that of numbers.
        let mut flight = Flight::sent(&[0, 0, 0, 0, 20, 60]);
        [1, 2, 3].into_iter().for_each(|seq| flight.sack(seq, 40));
        flight.detect(40);
        flight.board.on_retransmitted(0, 40 * MILLI, 3, true);
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
        let mut flight = Flight::sent(&[0, 50]);
        flight.board.on_retransmitted(0, 60 * MILLI, 0, false);
        flight.sack(0, 70);
        assert!(!flight.reordering.delivered_since_check);
        flight.sack(1, 95);
        assert!(flight.reordering.delivered_since_check);
    }

    #[test]
    fn reports_of_what_came_twice_widen_the_window_once_a_round_trip_and_for_sixteen_recoveries() {
        // RFC 8985, section 6.2, step 4.
        let mut reordering = Reordering { reordering_seen: true, ..Reordering::new(3) };
        let windows = |reordering: &Reordering| reordering.reo_wnd(0, true, RTT, 2 * RTT) / (RTT / 4);
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
