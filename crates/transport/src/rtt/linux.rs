//! Linux' estimator in whole microseconds (tcp_rtt_estimator, tcp_set_rto).
//!
//! ```text
//! first sample m:  srtt = m, mdev = 2 m, var = max(mdev, minimum)
//! then:            srtt += (m - srtt) / 8
//!                  mdev += (|m - srtt| - mdev / 4), an eighth of it where the sample is below srtt and that is positive
//!                  most = max(most, mdev),  var = max(var, most)
//!                  once a round trip: var falls by a quarter of what it is above most, and most begins anew at the minimum
//! RTO = srtt + var, rounded up to a tick
//! ```
//!
//! `mdev`, `most` and `var` are four times the deviation. Quotients are rounded down: `srtt` is kept in eighths.

use ecnlab_units::Span;

/// In microseconds, `srtt` in eighths of one.
#[derive(Clone, Debug, Default)]
pub(super) struct Linux {
    /// Zero before the first sample.
    srtt: u64,
    mdev: u64,
    most: u64,
    var: u64,
    /// The round trip ends when more than all before this segment is acknowledged.
    ends: u64,
}

impl Linux {
    /// Takes a sample with all before `una` acknowledged and all before `high` sent, for a host with this smallest timeout; returns the timeout
    /// before it is rounded.
    pub(super) fn sample(&mut self, m: u64, una: u64, high: u64, smallest: impl Fn() -> Span) -> Span {
        let least = || smallest().picos() / Span::from_micros(1).picos();
        if self.srtt == 0 {
            self.begin(m, high, least());
        } else {
            self.smooth(m);
            self.most = self.most.max(self.mdev);
            self.var = self.var.max(self.most);
            if una > self.ends {
                self.end_round_trip(high, least());
            }
        }
        Span::from_micros((self.srtt >> 3) + self.var)
    }

    fn begin(&mut self, m: u64, high: u64, least: u64) {
        self.srtt = (8 * m).max(1);
        self.mdev = 2 * m;
        self.var = self.mdev.max(least);
        self.most = self.var;
        self.ends = high;
    }

    fn smooth(&mut self, m: u64) {
        let mean = self.srtt >> 3;
        let (error, quarter) = (m.abs_diff(mean), self.mdev >> 2);
        self.srtt = (self.srtt + m - mean).max(1);
        self.mdev = if error > quarter {
            // A sample far below the mean is an improvement: it must not raise the timeout much.
            self.mdev + ((error - quarter) >> if m < mean { 3 } else { 0 })
        } else {
            self.mdev - (quarter - error)
        };
    }

    fn end_round_trip(&mut self, high: u64, least: u64) {
        self.var -= (self.var - self.most) >> 2;
        self.ends = high;
        self.most = least;
    }

    /// Smoothed round-trip time in eighths of a microsecond; zero before the first sample.
    pub(super) fn smoothed_eighths(&self) -> u64 {
        self.srtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMUM: Span = Span::from_millis(200);

    /// What a flow of Linux 6.1 had after each acknowledgement: smoothed time, deviation, and the timeout in ticks of 4 ms.
    fn replay(trace: &str) {
        let mut linux = Linux::default();
        for line in trace.lines().skip(1) {
            let fields: Vec<u64> = line.split(',').map(|field| field.parse().unwrap()).collect();
            let [sample, una, high, srtt, mdev, rto] = fields[..] else { panic!("six fields: {line}") };
            let timeout = linux.sample(sample, una, high, || MINIMUM).picos().div_ceil(Span::from_millis(4).picos()) * 4000;
            assert_eq!((srtt, mdev, rto), (linux.srtt >> 3, linux.mdev >> 2, timeout), "{line}");
        }
    }

    #[test]
    fn a_flow_that_fills_a_queue_falls_idle_and_fills_it_again() {
        replay(include_str!("../../tests/traces/estimates/reno-idle-1s.csv"));
    }

    /// The first sample is of a SYN whose answer was lost, which makes the deviation fall from half a second.
    #[test]
    fn a_flow_whose_first_sample_is_a_second() {
        replay(include_str!("../../tests/traces/estimates/reno-ecn-synack-lost.csv"));
    }

    #[test]
    fn a_sample_far_below_the_mean_raises_the_deviation_by_an_eighth_of_what_one_above_does() {
        let deviation_after = |m| {
            let mut linux = Linux { srtt: 8 * 100_000, mdev: 4_000, most: 200_000, var: 200_000, ends: 9 };
            linux.sample(m, 1, 10, || MINIMUM);
            linux.mdev
        };
        assert_eq!((4_000 + 39_000, 4_000 + 39_000 / 8), (deviation_after(140_000), deviation_after(60_000)));
    }
}
