//! The round-trip estimator and retransmission timeout of ns-2: the BSD arithmetic in whole clock ticks
//! (Jacobson 1988, appendix A; RFC 6298 with granularity).
//!
//! ```text
//! first sample t:  srtt = 8 t, rttvar = 2 t             srtt in 1/8, rttvar in 1/4 ticks
//! then:            d = t - srtt/8;  srtt += d;  rttvar += |d| - rttvar/4
//! RTO   = (srtt + 8 rttvar) / 8 ticks, cut to whole ticks  (= srtt + 4 var)
//! ```

use ecnlab_units::{Span, Time};

use crate::settings::{Settings, TimerStyle};

#[derive(Clone, Debug)]
pub struct Estimator {
    /// Smoothed round-trip time in 1/8 ticks; 0 before the first sample and after heavy back-off.
    srtt: i64,
    /// Mean deviation in 1/4 ticks.
    rttvar: i64,
    rto: Span,
    backoff: u64,
    /// Phase of the host's clock at time zero, below one tick.
    boot: Span,
}

impl Estimator {
    pub fn new(settings: &Settings, boot: Span) -> Estimator {
        Estimator { srtt: 0, rttvar: 0, rto: settings.rto_initial, backoff: 1, boot }
    }

    /// Takes the sample of a segment that was sent at `sent` and acknowledged now.
    pub fn sample(&mut self, sent: Time, now: Time, tick: Span) {
        let ticks = |at: Time| (at.picos() + self.boot.picos()) / tick.picos();
        let t = (ticks(now) - ticks(sent)).max(1) as i64;
        if self.srtt == 0 {
            self.srtt = t << 3;
            self.rttvar = t << 1;
        } else {
            let d = t - (self.srtt >> 3);
            self.srtt = (self.srtt + d).max(1);
            self.rttvar = (self.rttvar + d.abs() - (self.rttvar >> 2)).max(1);
        }
        self.rto = tick * (((self.rttvar << 3) + self.srtt) >> 3) as u64;
    }

    /// Ends the back-off: a timed segment was acknowledged (Karn and Partridge 1987).
    pub fn end_backoff(&mut self) {
        self.backoff = 1;
    }

    /// Doubles the timeout (RFC 6298, section 5.5). Past eight times, the smoothed value moves into the deviation.
    pub fn back_off(&mut self, settings: &Settings) {
        let may_double = self.backoff < 64 || settings.timer == TimerStyle::MinimumFirst && self.timeout(settings) < settings.rto_max;
        if may_double {
            self.backoff *= 2;
        }
        if self.backoff > 8 {
            self.rttvar += self.srtt >> 3;
            self.srtt = 0;
        }
    }

    /// The timeout in force: minimum, back-off and maximum applied, at least two ticks.
    pub fn timeout(&self, settings: &Settings) -> Span {
        let timeout = match settings.timer {
            TimerStyle::MinimumFirst => self.rto.max(settings.rto_min) * self.backoff,
            TimerStyle::BackoffFirst => (self.rto * self.backoff).max(settings.rto_min),
        };
        timeout.min(settings.rto_max).max(settings.tick * 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn samples_are_counted_in_ticks_that_the_clock_has_passed() {
        let settings = profile::settings("ns2-2001");
        let mut estimator = Estimator::new(&settings, Span::from_millis(50));
        // Sent at clock 0.05 s, acknowledged at 0.21 s: two ticks of 0.1 s have passed.
        estimator.sample(at(0), at(160), settings.tick);
        assert_eq!((16, 4), (estimator.srtt, estimator.rttvar));
        assert_eq!(Span::from_millis(600), estimator.timeout(&settings));
    }

    #[test]
    fn the_timeout_doubles_and_is_capped() {
        let settings = profile::settings("ns2");
        let mut estimator = Estimator::new(&settings, Span::ZERO);
        let mut seen = Vec::new();
        for _ in 0..6 {
            seen.push(estimator.timeout(&settings).seconds());
            estimator.back_off(&settings);
        }
        assert_eq!(vec![3.0, 6.0, 12.0, 24.0, 48.0, 60.0], seen);
    }

    #[test]
    fn backing_off_past_eight_forgets_the_smoothed_value() {
        let settings = profile::settings("ns2");
        let mut estimator = Estimator::new(&settings, Span::ZERO);
        estimator.sample(at(0), at(100), settings.tick);
        for _ in 0..4 {
            estimator.back_off(&settings);
        }
        assert_eq!((0, 16, 30), (estimator.backoff as i64 - 16, 16, estimator.srtt + estimator.rttvar));
    }
}
