//! Congestion window validation: how much of cwnd is in use, and the reduction of an unused cwnd (RFC 2861; RFC 7661).
//!
//! ```text
//! grows     while cwnd limited the last transmission of this window, and in slow start while cwnd is below twice
//!           the maximum outstanding in this window
//! idle      cwnd is halved for each RTO since the last data was sent, down to the initial window           (Linux tcp_cwnd_restart)
//! not used  for a whole RTO: cwnd comes halfway down to the maximum outstanding in that time               (Linux tcp_cwnd_application_limited)
//!           both leave ssthresh at no less than three quarters of cwnd
//! ```

use ecnlab_units::Time;

use super::{SenderOutput, Tcb};
use crate::congestion::CongestionWindow;
use crate::memory;
use crate::settings::{CwndGrowthCondition, RecoveryName, SlowStartAfterIdle, TcpSettings};

/// Tracks how much of the congestion window is in use.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct CwndValidation {
    /// Whether cwnd limited the sender in this window.
    cwnd_limited: bool,
    /// Maximum outstanding segments in this window if cwnd did not limit the sender.
    max_outstanding: u64,
    /// This window ends when all segments before this one are acknowledged.
    window_end: u64,
    /// Maximum outstanding segments since cwnd was last known to be in use.
    max_outstanding_since_used: u64,
    /// Last time at which cwnd was in use.
    last_used: Time,
}

impl CwndValidation {
    /// Validation for these settings, if the increase rule depends on cwnd usage and recovery reports it.
    pub fn for_settings(settings: &TcpSettings, memory: Option<Box<CwndValidation>>) -> Option<Box<CwndValidation>> {
        let asked = settings.cwnd_validation == CwndGrowthCondition::LargestFlight && settings.recovery == RecoveryName::Rack;
        asked.then(|| memory::reuse_box(memory, CwndValidation::default()))
    }

    /// Records the outstanding segments after a transmission, and whether cwnd held more segments back.
    fn record_cwnd_usage(&mut self, outstanding: u64, limited: bool, snd_una: u64, snd_max: u64) {
        if snd_una >= self.window_end || limited || !self.cwnd_limited && outstanding > self.max_outstanding {
            (self.cwnd_limited, self.max_outstanding, self.window_end) = (limited, outstanding, snd_max);
        }
    }

    /// Whether this window may grow.
    pub(super) fn allows_growth(&self, window: &CongestionWindow) -> bool {
        self.cwnd_limited || window.in_slow_start() && (window.cwnd as u64) < 2 * self.max_outstanding
    }
}

impl Tcb {
    /// Records cwnd usage after a transmission, or after cwnd held one back. In the Open state (`open`) a cwnd that was unused for a whole
    /// RTO comes down.
    pub fn update_is_cwnd_limited(&mut self, outstanding: u64, limited: bool, open: bool, now: Time, out: &mut impl SenderOutput) {
        let (snd_una, snd_max, least) = (self.snd_una, self.snd_max, self.initial_window);
        let Some(usage) = &mut self.cwnd_validation else { return };
        let first = usage.window_end == 0;
        usage.record_cwnd_usage(outstanding, limited, snd_una, snd_max);
        if first || usage.allows_growth(&self.window) {
            (usage.max_outstanding_since_used, usage.last_used) = (0, now);
            return;
        }
        usage.max_outstanding_since_used = usage.max_outstanding_since_used.max(outstanding);
        // Not for a control that sets cwnd itself (Linux tcp_cwnd_validate).
        if self.settings.slow_start_after_idle == SlowStartAfterIdle::Halve && !self.control_sets_cwnd {
            self.reduce_unused_cwnd(open, least, now, out);
        }
    }

    /// Reduces a cwnd that was unused for a whole RTO.
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

    /// Whether cwnd was in use before these segments were acknowledged. In slow start half of it is enough.
    #[inline]
    pub(super) fn is_cwnd_used(&self, newly: u64) -> bool {
        self.settings.cwnd_validation == CwndGrowthCondition::Off || self.is_cwnd_used_enough(newly)
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

    /// Counts cwnd as used, because it had the chance to grow or was set (Linux snd_cwnd_stamp).
    #[inline]
    pub fn mark_cwnd_used(&mut self, now: Time) {
        if self.settings.cwnd_validation == CwndGrowthCondition::LargestFlight
            && let Some(usage) = &mut self.cwnd_validation
        {
            usage.last_used = now;
        }
    }

    /// Reduces cwnd when sending restarts after an idle RTO. `reduces`: a congestion reduction of cwnd is in progress.
    pub(super) fn restart_after_idle(&mut self, reduces: bool, now: Time, out: &mut impl SenderOutput) {
        match self.settings.slow_start_after_idle {
            // Not for a control that sets cwnd itself (Linux tcp_slow_start_after_idle_check).
            _ if self.control_sets_cwnd => {}
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

    /// Raises ssthresh to three quarters of cwnd, unless a reduction is in progress (Linux tcp_current_ssthresh).
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
    use crate::tcb::TcbMemory;

    struct NullOutput;

    impl SenderOutput for NullOutput {
        fn send(&mut self, _segment: Segment) {}
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// Open connection whose last segment was sent at `last_sent` ms, with an RTO of 264 ms and an initial window of 10 segments.
    fn idle_tcb(cwnd: f64, ssthresh: f64, last_sent: u64) -> Tcb {
        let settings = TcpSettings {
            slow_start_after_idle: SlowStartAfterIdle::Halve,
            cwnd_validation: CwndGrowthCondition::LargestFlight,
            initial_window: 10,
            rto_initial: Span::from_millis(264),
            quirks: Quirks { tick: Span::from_millis(4), ..profile::quirks("linux") },
            ..profile::tcp_settings_of("linux")
        };
        let clock = HostClock::new(&settings, Span::from_millis(493 * 4 + 1));
        let mut tcb = Tcb::new(Arc::new(settings), &AppWrite::keep_open(1), clock, TcbMemory::default());
        (tcb.window, tcb.last_sent_at) = (CongestionWindow { cwnd, ssthresh }, at(last_sent));
        tcb
    }

    #[test]
    fn an_idle_window_is_halved_once_for_each_timeout() {
        // reno-idle-400ms, reno-idle-1s and cubic-zero-window. First tuple: cwnd, ssthresh and the time of the last transmission; then the
        // time at which sending restarts.
        for ((cwnd, ssthresh, sent), now, expected) in [
            ((110.0, 2172.0, 205), 600, (55.0, 2172.0)),
            ((110.0, 2172.0, 205), 1500, (10.0, 2172.0)),
            ((42.0, 38.0, 683), 2020, (10.0, 38.0)),
            ((110.0, 20.0, 205), 600, (55.0, 82.0)),
            ((110.0, 20.0, 205), 468, (110.0, 20.0)),
        ] {
            let mut tcb = idle_tcb(cwnd, ssthresh, sent);
            tcb.restart_after_idle(false, at(now), &mut NullOutput);
            assert_eq!(expected, (tcb.window.cwnd, tcb.window.ssthresh), "{cwnd} at {now} ms");
        }
    }

    /// A mark has reduced ssthresh to 30, no segment sent after that is acknowledged, and the application pauses.
    #[test]
    fn an_idle_window_that_comes_down_for_a_cut_keeps_the_cut_s_threshold() {
        for (reduces, expected) in [(true, (55.0, 30.0)), (false, (55.0, 82.0))] {
            let mut tcb = idle_tcb(110.0, 30.0, 205);
            tcb.restart_after_idle(reduces, at(600), &mut NullOutput);
            assert_eq!(expected, (tcb.window.cwnd, tcb.window.ssthresh), "{reduces}");
        }
    }

    #[test]
    fn a_window_that_was_set_counts_as_used_from_then_on() {
        // Cwnd held nothing back since 0 ms; at 400 ms an RTO, or the end of a reduction, has set cwnd.
        for (set, expected) in [(None, 36.0), (Some(400), 50.0)] {
            let mut tcb = idle_tcb(50.0, 20.0, 0);
            tcb.snd_max = 22;
            tcb.update_is_cwnd_limited(22, false, true, at(0), &mut NullOutput);
            set.into_iter().for_each(|millis| tcb.mark_cwnd_used(at(millis)));
            tcb.update_is_cwnd_limited(22, false, true, at(527), &mut NullOutput);
            assert_eq!(expected, tcb.window.cwnd, "{set:?}");
        }
    }

    #[test]
    fn slow_start_goes_on_up_to_twice_what_was_outstanding() {
        // cubic-app-limited: after writes of five segments no ACK grows a cwnd of 10; after writes of six it grows.
        let mut tcb = idle_tcb(10.0, 2172.0, 0);
        let grows = |tcb: &mut Tcb, outstanding, limited| {
            (tcb.snd_una, tcb.snd_max) = (tcb.snd_max, tcb.snd_max + outstanding);
            tcb.update_is_cwnd_limited(outstanding, limited, true, at(10), &mut NullOutput);
            tcb.is_cwnd_used(1)
        };
        assert_eq!([false, true, false, true], [(5, false), (6, false), (5, false), (5, true)].map(|(of, by)| grows(&mut tcb, of, by)));
        // Once cwnd-limited, the sender stays cwnd-limited until the window ends.
        tcb.update_is_cwnd_limited(3, false, true, at(10), &mut NullOutput);
        assert!(tcb.is_cwnd_used(1));
        assert!(!grows(&mut tcb, 3, false));
    }

    #[test]
    fn a_window_that_is_not_used_for_a_timeout_comes_halfway_down_to_what_is() {
        let mut tcb = idle_tcb(50.0, 20.0, 0);
        tcb.snd_max = 22;
        let kept = (50.0, 20.0);
        for (now, open, expected) in [(0, true, kept), (100, true, kept), (264, false, kept), (526, true, kept), (527, true, (36.0, 37.0))]
        {
            tcb.update_is_cwnd_limited(22, false, open, at(now), &mut NullOutput);
            assert_eq!(expected, (tcb.window.cwnd, tcb.window.ssthresh), "{now} ms");
        }
    }
}
