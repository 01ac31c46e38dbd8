//! Linux's RTO estimator in whole microseconds (tcp_rtt_estimator, tcp_set_rto).
//!
//! ```text
//! first sample m:  srtt = m, mdev = 2 m, rttvar = max(mdev, minimum)
//! then:            srtt += (m - srtt) / 8
//!                  mdev += (|m - srtt| - mdev / 4), an eighth of it if the sample is below srtt and that is positive
//!                  mdev_max = max(mdev_max, mdev),  rttvar = max(rttvar, mdev_max)
//!                  once per RTT: rttvar falls by a quarter of its excess over mdev_max, and mdev_max restarts at the minimum
//! RTO = srtt + rttvar, rounded up to a tick
//! ```
//!
//! `mdev`, `mdev_max` and `rttvar` are four times the deviation. Divisions round down: `srtt` is kept in eighths.

use ecnlab_units::Span;

/// In microseconds, `srtt` in eighths of one.
#[derive(Clone, Debug, Default)]
pub(super) struct LinuxEstimator {
    /// Zero before the first sample.
    srtt: u64,
    mdev: u64,
    mdev_max: u64,
    rttvar: u64,
    /// The round ends when more than all segments before this one are acknowledged.
    rtt_seq: u64,
}

impl LinuxEstimator {
    /// Adds a sample, with all segments before `snd_una` acknowledged and all before `snd_max` sent. `smallest` gives the host's minimum
    /// RTO. Returns the RTO before rounding.
    pub(super) fn on_rtt_sample(&mut self, m: u64, snd_una: u64, snd_max: u64, smallest: impl Fn() -> Span) -> Span {
        let least = || smallest().micros();
        if self.srtt == 0 {
            self.init_from_first_sample(m, snd_max, least());
        } else {
            self.update_srtt_and_mdev(m);
            self.mdev_max = self.mdev_max.max(self.mdev);
            self.rttvar = self.rttvar.max(self.mdev_max);
            if snd_una > self.rtt_seq {
                self.end_round_trip(snd_max, least());
            }
        }
        Span::from_micros((self.srtt >> 3) + self.rttvar)
    }

    fn init_from_first_sample(&mut self, m: u64, snd_max: u64, least: u64) {
        self.srtt = (8 * m).max(1);
        self.mdev = 2 * m;
        self.rttvar = self.mdev.max(least);
        self.mdev_max = self.rttvar;
        self.rtt_seq = snd_max;
    }

    fn update_srtt_and_mdev(&mut self, m: u64) {
        let mean = self.srtt >> 3;
        let (error, quarter) = (m.abs_diff(mean), self.mdev >> 2);
        self.srtt = (self.srtt + m - mean).max(1);
        self.mdev = if error > quarter {
            // A sample far below the mean is an improvement, which must not raise the RTO much.
            self.mdev + ((error - quarter) >> if m < mean { 3 } else { 0 })
        } else {
            self.mdev - (quarter - error)
        };
    }

    fn end_round_trip(&mut self, snd_max: u64, least: u64) {
        self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
        self.rtt_seq = snd_max;
        self.mdev_max = least;
    }

    /// Smoothed RTT in eighths of a microsecond; zero before the first sample.
    pub(super) fn srtt_eighths(&self) -> u64 {
        self.srtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMUM: Span = Span::from_millis(200);

    /// Values of a Linux 6.1 flow after each ACK: smoothed RTT, deviation, and RTO in ticks of 4 ms.
    fn replay(trace: &str) {
        let mut linux = LinuxEstimator::default();
        for line in trace.lines().skip(1) {
            let fields: Vec<u64> = line.split(',').map(|field| field.parse().unwrap()).collect();
            let [sample, snd_una, snd_max, srtt, mdev, rto] = fields[..] else { panic!("six fields: {line}") };
            let timeout = linux.on_rtt_sample(sample, snd_una, snd_max, || MINIMUM).picos().div_ceil(Span::from_millis(4).picos()) * 4000;
            assert_eq!((srtt, mdev, rto), (linux.srtt >> 3, linux.mdev >> 2, timeout), "{line}");
        }
    }

    #[test]
    fn a_flow_that_fills_a_queue_falls_idle_and_fills_it_again() {
        replay(include_str!("../../tests/traces/estimates/reno-idle-1s.csv"));
    }

    /// The first sample is of a SYN whose SYN-ACK was lost, so the deviation starts at half a second and falls.
    #[test]
    fn a_flow_whose_first_sample_is_a_second() {
        replay(include_str!("../../tests/traces/estimates/reno-ecn-synack-lost.csv"));
    }

    #[test]
    fn a_sample_far_below_the_mean_raises_the_deviation_by_an_eighth_of_what_one_above_does() {
        let deviation_after = |m| {
            let mut linux = LinuxEstimator { srtt: 8 * 100_000, mdev: 4_000, mdev_max: 200_000, rttvar: 200_000, rtt_seq: 9 };
            linux.on_rtt_sample(m, 1, 10, || MINIMUM);
            linux.mdev
        };
        assert_eq!((4_000 + 39_000, 4_000 + 39_000 / 8), (deviation_after(140_000), deviation_after(60_000)));
    }
}
