//! The host's clock as recovery by time reads it: microseconds in which it compares, milliseconds of timestamps, and its timer.

use ecnlab_units::{Span, Time};

use super::{Output, Tcb};
use crate::rtt::MinRtt;
use crate::segment::Ack;

const MICROS_IN_A_MILLI: u64 = 1000;

impl Tcb {
    /// Whole microseconds that the host's clock has counted.
    pub fn micros(&self, at: Time) -> u64 {
        self.estimator.clock().micros(at)
    }

    /// Milliseconds that the host's clock has counted, as timestamps show them.
    pub fn millis(&self, at: Time) -> u64 {
        self.estimator.clock().millis(at)
    }

    /// The same of microseconds.
    pub fn millis_of(&self, micros: u64) -> u64 {
        micros / MICROS_IN_A_MILLI
    }

    /// Milliseconds in microseconds.
    pub fn micros_in(&self, millis: u64) -> u64 {
        millis * MICROS_IN_A_MILLI
    }

    /// When the timer goes off that is set now.
    pub fn expiry(&self, now: Time, delay: Span) -> Time {
        self.estimator.clock().expiry(now, delay)
    }

    /// A timer begins to be served, or has been.
    pub fn serve_timer(&mut self, serves: bool) {
        self.estimator.clock_mut().serve_timer(serves);
    }

    /// Sets the retransmission timer, or ends it.
    pub fn set_timer(&mut self, at: Option<Time>) {
        self.retransmit_at = at;
    }

    /// The retransmission timeout in force.
    pub fn timeout(&self) -> Span {
        self.estimator.timeout(&self.settings)
    }

    /// So many smoothed round-trip times in whole microseconds, after the first sample.
    #[inline]
    pub fn round_trips_micros(&self, trips: u64) -> Option<u64> {
        self.estimator.round_trips_micros(trips, &self.settings)
    }

    /// The smoothed round-trip time, after the first sample.
    pub fn smoothed(&self) -> Option<Span> {
        self.estimator.smoothed(&self.settings)
    }

    /// The smallest round-trip time in whole microseconds; more than any before the first sample.
    pub fn min_rtt_micros(&self) -> u64 {
        match self.estimator.min_rtt() {
            Some(min_rtt) => min_rtt.micros(),
            None => self.min_rtt.as_deref().map_or(u64::MAX, MinRtt::micros),
        }
    }

    /// Takes a round-trip time into the estimate and the smallest one. The back-off ends.
    pub fn take_round_trip(&mut self, sample: Span, now: Time) {
        self.take_smallest(sample.picos() / Span::from_micros(1).picos(), false, now);
        let sent = Time::from_picos(now.picos().saturating_sub(sample.picos()));
        self.estimator.sample(sent, now, self.point(), &self.settings);
        self.estimator.end_backoff();
    }

    /// Takes a round-trip time in microseconds, no longer than the host's clock has gone since the start, into the estimate, and that of the last
    /// segment into the smallest unless its acknowledgement may have been `delayed`. The back-off ends.
    pub fn take_round_trip_micros(&mut self, sample: u64, latest: u64, delayed: bool, now: Time) {
        self.take_smallest(latest, delayed, now);
        self.estimator.sample_micros(sample, now, self.point(), &self.settings);
        self.estimator.end_backoff();
    }

    #[inline]
    pub(super) fn take_smallest(&mut self, latest: u64, delayed: bool, now: Time) {
        if delayed && latest > self.min_rtt_micros() {
            return;
        }
        if let Some((min_rtt, clock)) = self.estimator.min_rtt_mut() {
            min_rtt.sample(latest, now, clock);
        } else if let Some(min_rtt) = &mut self.min_rtt {
            min_rtt.sample(latest, now, self.estimator.clock());
        }
    }

    /// Shows congestion control a round-trip time in microseconds, with what is newly acknowledged.
    #[inline]
    pub fn show_round_trip(&mut self, ack: &Ack, rtt: u64, newly: u64, now: Time, out: &mut impl Output) {
        if self.control.counts(&self.window, rtt, now) {
            self.show_slow_start(ack, rtt, newly, now, out);
        }
    }

    #[inline(never)]
    fn show_slow_start(&mut self, ack: &Ack, rtt: u64, newly: u64, now: Time, out: &mut impl Output) {
        let acked = self.acked_as_estimated(ack, newly, now);
        let before = self.window;
        self.control.look_for_end(&mut self.window, rtt, &acked);
        if self.window != before {
            out.window(&self.window);
        }
    }
}
