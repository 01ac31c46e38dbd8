//! Additive increase, multiplicative decrease with constants `a` and `b` (Chiu and Jain 1989): `cwnd += a / cwnd` for each segment, and a
//! loss reduces cwnd to `1 - b` of it. Slow start is Reno's. `a = 1, b = 0.5` is Reno.

use super::{AckSample, CongestionControl, CongestionWindow};

pub struct Aimd {
    a: f64,
    b: f64,
}

impl Aimd {
    pub fn new(a: f64, b: f64) -> Aimd {
        Aimd { a, b }
    }
}

/// Slow start, and then additive increase by `a` segments per acknowledged window.
#[inline(always)]
pub(super) fn slow_start_or_increase_additively(window: &mut CongestionWindow, segments: u64, a: f64) {
    let left = window.grow_in_slow_start(segments);
    if left > 0 {
        window.cwnd += a * left as f64 / window.cwnd;
    }
}

impl CongestionControl for Aimd {
    fn on_ack(&mut self, window: &mut CongestionWindow, acked: &AckSample) {
        slow_start_or_increase_additively(window, acked.segments, self.a);
    }

    fn loss_beta(&self) -> f64 {
        1.0 - self.b
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::ack_sample;
    use ecnlab_units::{Span, Time};

    #[test]
    fn a_is_the_growth_of_a_round_trip_and_b_the_share_that_goes() {
        let mut aimd = Aimd::new(2.0, 0.125);
        let mut window = CongestionWindow { cwnd: 10.0, ssthresh: 5.0 };
        aimd.on_ack(&mut window, &ack_sample(1, Time::ZERO, Span::ZERO));
        assert_eq!((10.2, 0.875), (window.cwnd, aimd.loss_beta()));
    }
}
