//! Additive increase, multiplicative decrease with given constants (Chiu and Jain 1989): `cwnd += a / cwnd` for each segment,
//! and a loss leaves `1 - b` of the window. Slow start is Reno's. `a = 1, b = 0.5` is Reno.

use super::{Acked, CongestionControl, Window};

pub struct Aimd {
    a: f64,
    b: f64,
}

impl Aimd {
    pub fn new(a: f64, b: f64) -> Aimd {
        Aimd { a, b }
    }
}

impl CongestionControl for Aimd {
    fn acknowledged(&mut self, window: &mut Window, acked: &Acked) {
        let left = window.slow_start(acked.segments);
        if left > 0 {
            window.cwnd += self.a * left as f64 / window.cwnd;
        }
    }

    fn loss_share(&self) -> f64 {
        1.0 - self.b
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::acked;
    use ecnlab_units::{Span, Time};

    #[test]
    fn a_is_the_growth_of_a_round_trip_and_b_the_share_that_goes() {
        let mut aimd = Aimd::new(2.0, 0.125);
        let mut window = Window { cwnd: 10.0, ssthresh: 5.0 };
        aimd.acknowledged(&mut window, &acked(1, Time::ZERO, Span::ZERO));
        assert_eq!((10.2, 0.875), (window.cwnd, aimd.loss_share()));
    }
}
