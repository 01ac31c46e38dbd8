//! Congestion control of the Linux kernel, with cwnd in whole segments.
//!
//! ```text
//! slow start   cwnd += N for N segments, up to ssthresh; the remaining segments count for avoidance
//! avoidance    credit += N;  cwnd += 1 for each W of the credit, where W is cwnd for Reno and cnt for CUBIC
//!              a credit gathered under a larger W gives one segment, and the rest of it is discarded
//! ```
//!
//! The credit (snd_cwnd_cnt) is reset when cwnd is reduced and after an RTO (Linux tcp_cong_avoid_ai, tcp_init_cwnd_reduction,
//! tcp_enter_loss).

mod cube_root;
mod cubic;
mod reno;

pub use cubic::LinuxCubic;
pub use reno::LinuxReno;

use super::CongestionWindow;

/// Fixed-point representation of 1: fractions are in 1/1024.
pub const FIXED_POINT_ONE: u64 = 1024;

/// Minimum cwnd after a reduction.
pub const MIN_CWND_AFTER_REDUCTION: u64 = 2;

/// A parameter in fixed point.
pub fn to_fixed_point(value: f64) -> u64 {
    (value * FIXED_POINT_ONE as f64).round() as u64
}

/// `share` of cwnd, in fixed point and rounded down, but at least the minimum after a reduction.
pub fn reduced_cwnd(cwnd: f64, share: u64) -> f64 {
    (cwnd as u64 * share / FIXED_POINT_ONE).max(MIN_CWND_AFTER_REDUCTION) as f64
}

/// Pacing rate in percent of cwnd / srtt, below half of ssthresh and above (ip-sysctl tcp_pacing_ss_ratio, tcp_pacing_ca_ratio).
const PACING_PERCENT: [u64; 2] = [200, 120];
/// Microseconds in eight hundredths of a second.
const MICROS_IN_EIGHT_HUNDREDTHS: u64 = 80_000;

/// Pacing rate of a window of `cwnd` segments in bytes per second; `eight_srtt` is eight times the smoothed RTT in microseconds. None
/// before the first sample (Linux tcp_update_pacing_rate).
pub fn pacing_rate(payload: u64, cwnd: u64, window: &CongestionWindow, eight_srtt: u64) -> Option<u64> {
    let percent = PACING_PERCENT[usize::from(window.cwnd >= window.ssthresh / 2.0)];
    (payload * cwnd * percent * MICROS_IN_EIGHT_HUNDREDTHS).checked_div(eight_srtt)
}

/// Segments acknowledged in congestion avoidance that have not grown cwnd yet (Linux snd_cwnd_cnt).
#[derive(Default)]
#[repr(transparent)]
struct CwndCount(u64);

impl CwndCount {
    /// Grows cwnd by one for each `per` of the segments.
    #[inline]
    fn grow_in_avoidance(&mut self, window: &mut CongestionWindow, per: u64, segments: u64) {
        if self.0 >= per {
            self.0 = 0;
            window.cwnd += 1.0;
        }
        self.0 += segments;
        if self.0 >= per {
            window.cwnd += (self.0 / per) as f64;
            self.0 %= per;
        }
    }

    fn reset(&mut self) {
        self.0 = 0;
    }
}

/// Slow start up to ssthresh; returns the remaining segments.
#[inline]
pub(super) fn slow_start(window: &mut CongestionWindow, segments: u64) -> u64 {
    if !window.in_slow_start() {
        return segments;
    }
    let grown = (window.cwnd + segments as f64).min(window.ssthresh);
    let left = segments - (grown - window.cwnd) as u64;
    window.cwnd = grown;
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credit_gathered_under_a_larger_window_gives_one_segment() {
        let mut window = CongestionWindow { cwnd: 10.0, ssthresh: 5.0 };
        let mut credit = CwndCount(8);
        credit.grow_in_avoidance(&mut window, 4, 1);
        assert_eq!((11.0, 1), (window.cwnd, credit.0));
    }

    #[test]
    fn segments_for_more_than_a_window_count_each() {
        let mut window = CongestionWindow { cwnd: 10.0, ssthresh: 5.0 };
        let mut credit = CwndCount(1);
        credit.grow_in_avoidance(&mut window, 3, 9);
        assert_eq!((13.0, 1), (window.cwnd, credit.0));
    }

    #[test]
    fn slow_start_ends_at_the_threshold_and_gives_back_the_rest() {
        let mut window = CongestionWindow { cwnd: 7.0, ssthresh: 10.0 };
        assert_eq!((0, 2), (slow_start(&mut window, 3), slow_start(&mut window, 2)));
        assert_eq!(10.0, window.cwnd);
    }

    #[test]
    fn shares_are_taken_on_the_grid_and_rounded_down() {
        // 0.7 is 717/1024: of 43 segments 30.1.
        assert_eq!((717, 410), (to_fixed_point(0.7), to_fixed_point(0.4)));
        assert_eq!([30.0, 2.0, 2.0], [43.0, 3.0, 1.0].map(|cwnd| reduced_cwnd(cwnd, 717)));
    }
}
