//! Slow start and congestion avoidance (Jacobson 1988; RFC 5681, section 3.1), counted in acknowledgements:
//! below ssthresh `cwnd += 1`, from there on `cwnd += 1 / cwnd` for each one.

use super::{CongestionControl, Window};

pub struct Reno;

impl CongestionControl for Reno {
    fn acknowledged(&mut self, window: &mut Window, _segments: u64) {
        window.cwnd += if window.in_slow_start() { 1.0 } else { 1.0 / window.cwnd };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_adds_one_and_avoidance_one_a_window() {
        let mut window = Window { cwnd: 2.0, ssthresh: 4.0 };
        let mut seen = Vec::new();
        for _ in 0..4 {
            Reno.acknowledged(&mut window, 1);
            seen.push(window.cwnd);
        }
        assert_eq!(vec![3.0, 4.0, 4.25, 4.25 + 1.0 / 4.25], seen);
    }
}
