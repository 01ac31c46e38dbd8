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
        if record.ever_resent && rtt < min_rtt {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        let (sent, its_end) = self.newest;
        if record.sent > sent || record.sent == sent && end > its_end {
            self.newest = (record.sent, end);
        }
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

    /// Without SACK: so many segments overtake.
    pub fn exceed(&mut self, degree: u64) {
        self.degree = degree.min(LARGEST_DEGREE);
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
    #[inline]
    pub fn detect(&self, board: &mut Board, recovering: bool, min_rtt: u64, srtt: u64, now: u64) -> Option<Span> {
        if board.begins_at(self.newest) { None } else { self.look_for_late(board, recovering, (min_rtt, srtt), now) }
    }

    #[inline(never)]
    fn look_for_late(&self, board: &mut Board, recovering: bool, (min_rtt, srtt): (u64, u64), now: u64) -> Option<Span> {
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

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: u64 = 1000;
    /// Smallest round trip.
    const RTT: u64 = 40 * MILLI;

    /// Segments on their way, from 0 on, sent at these milliseconds, and what is known of reordering.
    struct Flight {
        board: Board,
        reordering: Reordering,
    }

    impl Flight {
        fn sent(at: &[u64]) -> Flight {
            let mut flight = Flight { board: Board::default(), reordering: Reordering::new(3) };
            at.iter().for_each(|&at| flight.board.sent(at * MILLI, 0));
            flight
        }

        /// A segment is sacked at so many milliseconds.
        fn sack(&mut self, seq: u64, at: u64) {
            let record = *self.board.get(seq).unwrap();
            self.reordering.arrived(seq + 1, &record, at * MILLI, RTT);
            self.board.sack(seq);
        }

        /// Which segments are lost at so many milliseconds, and after how many microseconds another one may be.
        fn detect(&mut self, at: u64) -> (Vec<u64>, Option<u64>) {
            let wait = self.reordering.detect(&mut self.board, false, RTT, 2 * RTT, at * MILLI);
            let lost = (0..self.board.end()).filter(|&seq| self.board.get(seq).unwrap().lost).collect();
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
            flight.reordering.seen = seen;
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
        flight.board.sent_again(0, 40 * MILLI, 3, true);
        flight.sack(4, 60);
        flight.detect(100);
        assert!(flight.board.get(0).unwrap().resent, "4 went before the retransmission");
        flight.sack(5, 100);
        flight.detect(100);
        assert_eq!((false, Some(0), 2), (flight.board.get(0).unwrap().resent, flight.board.next_lost(), flight.board.losses));
    }

    #[test]
    fn what_comes_sooner_than_a_round_trip_after_its_retransmission_was_the_original() {
        // RFC 8985, section 6.2, step 1.
        let mut flight = Flight::sent(&[0, 50]);
        flight.board.sent_again(0, 60 * MILLI, 0, false);
        flight.sack(0, 70);
        assert!(!flight.reordering.advanced);
        flight.sack(1, 95);
        assert!(flight.reordering.advanced);
    }

    #[test]
    fn reports_of_what_came_twice_widen_the_window_once_a_round_trip_and_for_sixteen_recoveries() {
        // RFC 8985, section 6.2, step 4.
        let mut reordering = Reordering { seen: true, ..Reordering::new(3) };
        let windows = |reordering: &Reordering| reordering.window(0, true, RTT, 2 * RTT) / (RTT / 4);
        assert_eq!(1, windows(&reordering));
        for (then, delivered, expected) in [(0, 10, 2), (5, 20, 2), (10, 30, 3)] {
            reordering.twice = true;
            reordering.adapt(Some(then), delivered);
            assert_eq!(expected, windows(&reordering), "sent when {then} were delivered");
        }
        reordering.adapt(None, 31);
        assert_eq!((3, PERSIST), (windows(&reordering), reordering.persist));
        reordering.persist = 0;
        reordering.adapt(Some(31), 40);
        assert_eq!(1, windows(&reordering));
        reordering.steps = 100;
        assert_eq!(8, windows(&reordering), "no longer than the smoothed round trip");
    }

    #[test]
    fn how_far_segments_overtake_is_the_most_that_was_seen() {
        let mut reordering = Reordering::new(3);
        let mut after = |low, highest| {
            reordering.overtaken(low, highest);
            (reordering.seen, reordering.degree)
        };
        assert_eq!(
            [(false, 3), (true, 3), (true, 7), (true, 7), (true, 300)],
            [(9, 9), (7, 9), (10, 17), (20, 22), (30, 900)].map(|(a, b)| after(a, b))
        );
    }
}
