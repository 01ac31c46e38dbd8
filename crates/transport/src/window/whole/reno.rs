//! Reno in whole segments (RFC 5681, section 3.1; Linux tcp_reno_cong_avoid, tcp_reno_ssthresh): one more when a window of segments is
//! acknowledged; a loss leaves half of the window, rounded down.

use ecnlab_units::Time;

use super::{Credit, GRID, cut_to, slow_start};
use crate::window::{Acked, CongestionControl, CutCause, Window};

#[derive(Default)]
pub struct WholeReno {
    credit: Credit,
}

impl CongestionControl for WholeReno {
    #[inline]
    fn acknowledged(&mut self, window: &mut Window, acked: &Acked) {
        let left = slow_start(window, acked.segments);
        if left > 0 {
            self.credit.avoid(window, (window.cwnd as u64).max(1), left);
        }
    }

    fn left_by_loss(&self, cwnd: f64) -> f64 {
        cut_to(cwnd, GRID / 2)
    }

    fn cut(&mut self, _before: &Window, _cause: CutCause, _now: Time) {
        self.credit.forget();
    }

    fn timed_out(&mut self, _high: u64, _now: Time) {
        self.credit.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::acked;
    use ecnlab_units::Span;

    fn grow(reno: &mut WholeReno, window: &mut Window, segments: u64) -> f64 {
        reno.acknowledged(window, &acked(segments, Time::ZERO, Span::ZERO));
        window.cwnd
    }

    #[test]
    fn avoidance_adds_one_when_a_window_is_acknowledged() {
        let (mut reno, mut window) = (WholeReno::default(), Window { cwnd: 4.0, ssthresh: 4.0 });
        let seen = [1; 9].map(|segments| grow(&mut reno, &mut window, segments));
        assert_eq!([4.0, 4.0, 4.0, 5.0, 5.0, 5.0, 5.0, 5.0, 6.0], seen);
    }

    #[test]
    fn what_slow_start_leaves_counts_for_avoidance() {
        let (mut reno, mut window) = (WholeReno::default(), Window { cwnd: 3.0, ssthresh: 4.0 });
        assert_eq!([4.0, 5.0], [4, 1].map(|segments| grow(&mut reno, &mut window, segments)));
    }

    #[test]
    fn a_cut_forgets_what_was_counted() {
        let (mut reno, mut window) = (WholeReno::default(), Window { cwnd: 4.0, ssthresh: 4.0 });
        grow(&mut reno, &mut window, 3);
        reno.cut(&window, CutCause::Loss, Time::ZERO);
        assert_eq!([4.0, 2.0], [grow(&mut reno, &mut window, 1), reno.left_by_loss(5.0)]);
    }
}
