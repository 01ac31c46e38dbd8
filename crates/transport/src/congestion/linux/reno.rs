//! Reno in whole segments (RFC 5681, section 3.1; Linux tcp_reno_cong_avoid, tcp_reno_ssthresh): cwnd grows by one per acknowledged window;
//! a loss halves cwnd, rounded down.

use ecnlab_units::Time;

use super::{CwndCount, FIXED_POINT_ONE, reduced_cwnd, slow_start};
use crate::congestion::{AckSample, CongestionControl, CongestionWindow, ReductionCause};

#[derive(Default)]
pub struct LinuxReno {
    cwnd_count: CwndCount,
}

impl CongestionControl for LinuxReno {
    #[inline]
    fn on_ack(&mut self, window: &mut CongestionWindow, acked: &AckSample) {
        let left = slow_start(window, acked.segments);
        if left > 0 {
            self.cwnd_count.grow_in_avoidance(window, (window.cwnd as u64).max(1), left);
        }
    }

    fn ssthresh_after_loss(&self, cwnd: f64) -> f64 {
        reduced_cwnd(cwnd, FIXED_POINT_ONE / 2)
    }

    fn on_reduction(&mut self, _before: &CongestionWindow, _cause: ReductionCause, _now: Time) {
        self.cwnd_count.reset();
    }

    fn on_rto(&mut self, _high: u64, _now: Time) {
        self.cwnd_count.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::ack_sample;
    use ecnlab_units::Span;

    fn grow(reno: &mut LinuxReno, window: &mut CongestionWindow, segments: u64) -> f64 {
        reno.on_ack(window, &ack_sample(segments, Time::ZERO, Span::ZERO));
        window.cwnd
    }

    #[test]
    fn avoidance_adds_one_when_a_window_is_acknowledged() {
        let (mut reno, mut window) = (LinuxReno::default(), CongestionWindow { cwnd: 4.0, ssthresh: 4.0 });
        let seen = [1; 9].map(|segments| grow(&mut reno, &mut window, segments));
        assert_eq!([4.0, 4.0, 4.0, 5.0, 5.0, 5.0, 5.0, 5.0, 6.0], seen);
    }

    #[test]
    fn what_slow_start_leaves_counts_for_avoidance() {
        let (mut reno, mut window) = (LinuxReno::default(), CongestionWindow { cwnd: 3.0, ssthresh: 4.0 });
        assert_eq!([4.0, 5.0], [4, 1].map(|segments| grow(&mut reno, &mut window, segments)));
    }

    #[test]
    fn a_cut_forgets_what_was_counted() {
        let (mut reno, mut window) = (LinuxReno::default(), CongestionWindow { cwnd: 4.0, ssthresh: 4.0 });
        grow(&mut reno, &mut window, 3);
        reno.on_reduction(&window, ReductionCause::Loss, Time::ZERO);
        assert_eq!([4.0, 2.0], [grow(&mut reno, &mut window, 1), reno.ssthresh_after_loss(5.0)]);
    }
}
