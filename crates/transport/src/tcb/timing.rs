//! The host clock in the units of RACK: microseconds for comparisons, milliseconds for timestamps, and ticks for timers.

use ecnlab_units::{Span, Time};

use super::{SenderOutput, Tcb};
use crate::rtt::MinRtt;
use crate::segment::Ack;

impl Tcb {
    /// Host clock at `at` in whole microseconds.
    pub fn host_clock_micros_at(&self, at: Time) -> u64 {
        self.rtt_estimator.clock().micros(at)
    }

    /// Host clock at `at` in whole milliseconds, as timestamps show it.
    pub fn host_clock_millis_at(&self, at: Time) -> u64 {
        self.rtt_estimator.clock().millis(at)
    }

    /// Expiry of a timer set now for `delay`.
    pub fn timer_expiry_after(&self, now: Time, delay: Span) -> Time {
        self.rtt_estimator.clock().timer_expiry(now, delay)
    }

    /// Sets whether a timer handler is running.
    pub fn set_timer_handler_running(&mut self, serves: bool) {
        self.rtt_estimator.clock_mut().set_timer_handler_running(serves);
    }

    /// Sets or clears the deadline of the retransmission timer.
    pub fn set_rto_deadline(&mut self, at: Option<Time>) {
        self.rto_deadline = at.unwrap_or(Time::NEVER);
    }

    /// Current RTO.
    pub fn rto(&self) -> Span {
        self.rtt_estimator.rto(&self.settings)
    }

    /// Smoothed RTT times `trips` in whole microseconds, after the first sample.
    #[inline]
    pub fn srtt_multiple_micros(&self, trips: u64) -> Option<u64> {
        self.rtt_estimator.srtt_multiple_micros(trips, &self.settings)
    }

    /// Smoothed RTT, after the first sample.
    pub fn srtt(&self) -> Option<Span> {
        self.rtt_estimator.srtt(&self.settings)
    }

    /// Minimum RTT in whole microseconds; larger than any RTT before the first sample.
    pub fn min_rtt_micros(&self) -> u64 {
        match self.rtt_estimator.min_rtt_filter() {
            Some(min_rtt) => min_rtt.micros(),
            None => self.min_rtt.as_deref().map_or(u64::MAX, MinRtt::micros),
        }
    }

    /// Adds an RTT sample to the estimator and to the minimum RTT. Ends the RTO backoff.
    pub fn on_rtt_sample(&mut self, sample: Span, now: Time) {
        self.update_min_rtt(sample.micros(), false, now);
        let sent = now.saturating_sub(sample);
        self.rtt_estimator.on_rtt_sample(sent, now, self.sample_context(), &self.settings);
        self.rtt_estimator.end_backoff();
    }

    /// Adds an RTT sample in microseconds to the estimator, bounded by the host clock. Adds that of the `latest` segment to the minimum
    /// RTT, unless a delayed ACK may have made it longer (`delayed`). Ends the RTO backoff.
    pub fn on_rtt_sample_micros(&mut self, sample: u64, latest: u64, delayed: bool, now: Time) {
        self.update_min_rtt(latest, delayed, now);
        self.rtt_estimator.on_rtt_sample_micros(sample, now, self.sample_context(), &self.settings);
        self.rtt_estimator.end_backoff();
    }

    #[inline]
    pub(super) fn update_min_rtt(&mut self, latest: u64, delayed: bool, now: Time) {
        if delayed && latest > self.min_rtt_micros() {
            return;
        }
        if let Some((min_rtt, clock)) = self.rtt_estimator.min_rtt_mut() {
            min_rtt.on_rtt_sample(latest, now, clock);
        } else if let Some(min_rtt) = &mut self.min_rtt {
            min_rtt.on_rtt_sample(latest, now, self.rtt_estimator.clock());
        }
    }

    /// Passes an RTT sample in microseconds, with the newly acknowledged segments, to congestion control.
    #[inline]
    pub fn pass_rtt_sample_to_control(&mut self, ack: &Ack, rtt: u64, newly: u64, now: Time, out: &mut impl SenderOutput) {
        if self.control.on_rtt_sample(&self.window, rtt, now) {
            self.check_slow_start_exit(ack, rtt, newly, now, out);
        }
    }

    #[inline(never)]
    fn check_slow_start_exit(&mut self, ack: &Ack, rtt: u64, newly: u64, now: Time, out: &mut impl SenderOutput) {
        let acked = self.ack_sample_with_estimator_srtt(ack, newly, now);
        let before = self.window;
        self.control.check_slow_start_exit(&mut self.window, rtt, &acked);
        if self.window != before {
            out.on_window_changed(&self.window);
        }
    }
}
