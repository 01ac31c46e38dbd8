//! Slow start and congestion avoidance (Jacobson 1988; RFC 5681, section 3.1): for each ACK or segment `cwnd += 1` below ssthresh, and
//! `cwnd += 1 / cwnd` from there on.

use super::aimd::slow_start_or_increase_additively;
use super::{AckSample, CongestionControl, CongestionWindow};

pub struct Reno;

impl CongestionControl for Reno {
    #[inline]
    fn on_ack(&mut self, window: &mut CongestionWindow, acked: &AckSample) {
        slow_start_or_increase_additively(window, acked.segments, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::ack_sample;
    use ecnlab_units::{Span, Time};

    #[test]
    fn slow_start_adds_one_and_avoidance_one_a_window() {
        let mut window = CongestionWindow { cwnd: 2.0, ssthresh: 4.0 };
        let mut seen = Vec::new();
        for _ in 0..4 {
            Reno.on_ack(&mut window, &ack_sample(1, Time::ZERO, Span::ZERO));
            seen.push(window.cwnd);
        }
        assert_eq!(vec![3.0, 4.0, 4.25, 4.25 + 1.0 / 4.25], seen);
    }

    #[test]
    fn segments_beyond_the_threshold_count_for_avoidance() {
        let mut window = CongestionWindow { cwnd: 3.0, ssthresh: 4.0 };
        Reno.on_ack(&mut window, &ack_sample(3, Time::ZERO, Span::ZERO));
        assert_eq!(4.5, window.cwnd);
    }
}
