//! How much of the window is in use, and what becomes of a window that is not (RFC 2861; RFC 7661).
//!
//! ```text
//! grows     while the window was what limited the sender when it sent last in this window, and in slow start while it is below twice
//!           the most that was outstanding in this window
//! idle      halved for each timeout that has passed since data was sent last, down to the initial window     (Linux tcp_cwnd_restart)
//! not used  for a whole timeout: halfway down to the most that was outstanding in it                         (Linux tcp_cwnd_application_limited)
//!           both leave a threshold of at least three quarters of the window
//! ```

use ecnlab_units::Time;

use super::{SenderOutput, Tcb};
use crate::congestion::CongestionWindow;
use crate::settings::{CwndValidationName, RecoveryName, Settings, SlowStartAfterIdle};

/// What is known of the window's use.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct CwndValidation {
    /// The window was what limited the sender in this window.
    cwnd_limited: bool,
    /// Most segments outstanding in this window, where it did not.
    max_outstanding: u64,
    /// This window ends when all before this segment is acknowledged.
    window_end: u64,
    /// Most segments outstanding since the window was known to be in use.
    max_outstanding_since_used: u64,
    /// Until when it was.
    last_used: Time,
}

impl CwndValidation {
    /// Where growth asks for it, and recovery tells of it.
    pub fn for_settings(settings: &Settings) -> Option<Box<CwndValidation>> {
        let asked = settings.cwnd_validation == CwndValidationName::LargestFlight && settings.recovery == RecoveryName::Rack;
        asked.then(Default::default)
    }

    /// So many segments are outstanding after sending, and the window kept more of them back or not.
    fn on_sent(&mut self, outstanding: u64, limited: bool, snd_una: u64, snd_max: u64) {
        if snd_una >= self.window_end || limited || !self.cwnd_limited && outstanding > self.max_outstanding {
            (self.cwnd_limited, self.max_outstanding, self.window_end) = (limited, outstanding, snd_max);
        }
    }

    /// Whether a window may grow.
    fn allows_growth(&self, window: &CongestionWindow) -> bool {
        self.cwnd_limited || window.in_slow_start() && (window.cwnd as u64) < 2 * self.max_outstanding
    }
}

impl Tcb {
    /// Something was sent, or the window kept it back: how much of the window is in use. With nothing wrong (`open`) a window that was not in
    /// use for a whole timeout comes down.
    pub fn update_is_cwnd_limited(&mut self, outstanding: u64, limited: bool, open: bool, now: Time, out: &mut impl SenderOutput) {
        let (snd_una, snd_max, least) = (self.snd_una, self.snd_max, self.initial_window);
        let Some(usage) = &mut self.cwnd_validation else { return };
        let first = usage.window_end == 0;
        usage.on_sent(outstanding, limited, snd_una, snd_max);
        if first || usage.allows_growth(&self.window) {
            (usage.max_outstanding_since_used, usage.last_used) = (0, now);
            return;
        }
        usage.max_outstanding_since_used = usage.max_outstanding_since_used.max(outstanding);
        if self.settings.slow_start_after_idle == SlowStartAfterIdle::Halve {
            self.reduce_unused_cwnd(open, least, now, out);
        }
    }

    /// The window is not in use: after a whole timeout of that it comes down.
    #[inline(never)]
    fn reduce_unused_cwnd(&mut self, open: bool, least: u64, now: Time, out: &mut impl SenderOutput) {
        let Some(usage) = &mut self.cwnd_validation else { return };
        let clock = self.rtt_estimator.clock();
        if clock.ticks(now) - clock.ticks(usage.last_used) < clock.ticks_in_span(self.rtt_estimator.rto(&self.settings)) {
            return;
        }
        usage.last_used = now;
        if open {
            let needed = std::mem::take(&mut usage.max_outstanding_since_used).max(least);
            let cwnd = self.window.cwnd as u64;
            if needed < cwnd {
                self.raise_ssthresh_to_three_quarters(out);
                self.set_cwnd(((cwnd + needed) / 2) as f64, out);
            }
        }
    }

    /// Whether the window was in use before these segments were acknowledged. In slow start half of it is enough.
    #[inline]
    pub(super) fn is_cwnd_used(&self, newly: u64) -> bool {
        self.settings.cwnd_validation == CwndValidationName::Off || self.is_cwnd_used_enough(newly)
    }

    fn is_cwnd_used_enough(&self, newly: u64) -> bool {
        let (cwnd, slow_start) = (self.window.cwnd, self.window.in_slow_start());
        let flight = (self.outstanding_segments() + newly) as f64;
        match &self.cwnd_validation {
            Some(usage) => usage.allows_growth(&self.window),
            None if slow_start => 2.0 * flight > cwnd,
            None => flight + 1.0 > cwnd,
        }
    }

    /// The window had the chance to grow, or was set: it counts as used (Linux snd_cwnd_stamp).
    #[inline]
    pub fn mark_cwnd_used(&mut self, now: Time) {
        if self.settings.cwnd_validation == CwndValidationName::LargestFlight
            && let Some(usage) = &mut self.cwnd_validation
        {
            usage.last_used = now;
        }
    }

    /// Nothing is outstanding and there is more to send: after an idle timeout the window comes down. It may come down for a cut already.
    pub(super) fn restart_after_idle(&mut self, reduces: bool, now: Time, out: &mut impl SenderOutput) {
        match self.settings.slow_start_after_idle {
            SlowStartAfterIdle::Off => {}
            //= RFC 5681, section 4.1: a restart window after an idle time
            SlowStartAfterIdle::Initial if now.since(self.last_sent_at) > self.rto() => {
                self.set_cwnd(self.window.cwnd.min(self.initial_window as f64), out);
            }
            SlowStartAfterIdle::Initial => {}
            SlowStartAfterIdle::Halve => self.halve_after_idle(reduces, now, out),
        }
    }

    fn halve_after_idle(&mut self, reduces: bool, now: Time, out: &mut impl SenderOutput) {
        let mut idle = self.rtt_estimator.clock().ticks(now) - self.rtt_estimator.clock().ticks(self.last_sent_at);
        let timeout = self.rtt_estimator.clock().ticks_in_span(self.rto());
        if idle <= timeout {
            return;
        }
        if !reduces {
            self.raise_ssthresh_to_three_quarters(out);
        }
        let mut cwnd = self.window.cwnd;
        let least = cwnd.min(self.initial_window as f64);
        while idle > timeout && cwnd > least {
            idle -= timeout;
            cwnd = if self.settings.quirks.integer_cwnd { (cwnd / 2.0).floor() } else { cwnd / 2.0 };
        }
        self.set_cwnd(cwnd.max(least), out);
        if let Some(usage) = &mut self.cwnd_validation {
            (usage.max_outstanding_since_used, usage.last_used) = (0, now);
        }
    }

    /// Three quarters of a window that does not come down have proved good: the threshold is at least that (Linux tcp_current_ssthresh).
    fn raise_ssthresh_to_three_quarters(&mut self, out: &mut impl SenderOutput) {
        let cwnd = self.window.cwnd as u64;
        self.set_ssthresh(self.window.ssthresh.max((cwnd / 2 + cwnd / 4) as f64), out);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ecnlab_units::Span;

    use super::*;
    use crate::application::AppWrite;
    use crate::clock::HostClock;
    use crate::profile;
    use crate::segment::Segment;
    use crate::settings::Quirks;

    struct Nowhere;

    impl SenderOutput for Nowhere {
        fn send(&mut self, _segment: Segment) {}
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// An open connection whose last segment was sent at `last_sent` ms, with a timeout of 264 ms and an initial window of 10 segments.
    fn idle(cwnd: f64, ssthresh: f64, last_sent: u64) -> Tcb {
        let settings = Settings {
            slow_start_after_idle: SlowStartAfterIdle::Halve,
            cwnd_validation: CwndValidationName::LargestFlight,
            initial_window: 10,
            rto_initial: Span::from_millis(264),
            quirks: Quirks { tick: Span::from_millis(4), ..profile::quirks("linux") },
            ..profile::settings("linux")
        };
        let clock = HostClock::new(&settings, Span::from_millis(493 * 4 + 1));
        let mut tcb = Tcb::new(Arc::new(settings), &AppWrite::keep_open(1), clock);
        (tcb.window, tcb.last_sent_at) = (CongestionWindow { cwnd, ssthresh }, at(last_sent));
        tcb
    }

    #[test]
    fn an_idle_window_is_halved_once_for_each_timeout() {
        // reno-idle-400ms, reno-idle-1s and cubic-zero-window: the window, its threshold and when data was sent last; when there was more.
        for ((cwnd, ssthresh, sent), now, expected) in [
            ((110.0, 2172.0, 205), 600, (55.0, 2172.0)),
            ((110.0, 2172.0, 205), 1500, (10.0, 2172.0)),
            ((42.0, 38.0, 683), 2020, (10.0, 38.0)),
            ((110.0, 20.0, 205), 600, (55.0, 82.0)),
            ((110.0, 20.0, 205), 468, (110.0, 20.0)),
        ] {
            let mut tcb = idle(cwnd, ssthresh, sent);
            tcb.restart_after_idle(false, at(now), &mut Nowhere);
            assert_eq!(expected, (tcb.window.cwnd, tcb.window.ssthresh), "{cwnd} at {now} ms");
        }
    }

    /// A mark has cut the threshold to 30, nothing beyond what was sent then is acknowledged, and the application pauses.
    #[test]
    fn an_idle_window_that_comes_down_for_a_cut_keeps_the_cut_s_threshold() {
        for (reduces, expected) in [(true, (55.0, 30.0)), (false, (55.0, 82.0))] {
            let mut tcb = idle(110.0, 30.0, 205);
            tcb.restart_after_idle(reduces, at(600), &mut Nowhere);
            assert_eq!(expected, (tcb.window.cwnd, tcb.window.ssthresh), "{reduces}");
        }
    }

    #[test]
    fn a_window_that_was_set_counts_as_used_from_then_on() {
        // Nothing was kept back since 0 ms; at 400 ms a timeout, or the end of a reduction, has set the window.
        for (set, expected) in [(None, 36.0), (Some(400), 50.0)] {
            let mut tcb = idle(50.0, 20.0, 0);
            tcb.snd_max = 22;
            tcb.update_is_cwnd_limited(22, false, true, at(0), &mut Nowhere);
            set.into_iter().for_each(|millis| tcb.mark_cwnd_used(at(millis)));
            tcb.update_is_cwnd_limited(22, false, true, at(527), &mut Nowhere);
            assert_eq!(expected, tcb.window.cwnd, "{set:?}");
        }
    }

    #[test]
    fn slow_start_goes_on_up_to_twice_what_was_outstanding() {
        // cubic-app-limited: writes of five segments, of which no acknowledgement lets a window of 10 grow; of six it would.
        let mut tcb = idle(10.0, 2172.0, 0);
        let grows = |tcb: &mut Tcb, outstanding, limited| {
            (tcb.snd_una, tcb.snd_max) = (tcb.snd_max, tcb.snd_max + outstanding);
            tcb.update_is_cwnd_limited(outstanding, limited, true, at(10), &mut Nowhere);
            tcb.is_cwnd_used(1)
        };
        assert_eq!([false, true, false, true], [(5, false), (6, false), (5, false), (5, true)].map(|(of, by)| grows(&mut tcb, of, by)));
        // Limited once in a window, it stays so until the window ends.
        tcb.update_is_cwnd_limited(3, false, true, at(10), &mut Nowhere);
        assert!(tcb.is_cwnd_used(1));
        assert!(!grows(&mut tcb, 3, false));
    }

    #[test]
    fn a_window_that_is_not_used_for_a_timeout_comes_halfway_down_to_what_is() {
        let mut tcb = idle(50.0, 20.0, 0);
        tcb.snd_max = 22;
        let kept = (50.0, 20.0);
        for (now, open, expected) in [(0, true, kept), (100, true, kept), (264, false, kept), (526, true, kept), (527, true, (36.0, 37.0))]
        {
            tcb.update_is_cwnd_limited(22, false, open, at(now), &mut Nowhere);
            assert_eq!(expected, (tcb.window.cwnd, tcb.window.ssthresh), "{now} ms");
        }
    }
}
