//! The host's clock as recovery by time reads it: microseconds in which it compares, milliseconds of timestamps, and its timer.

use ecnlab_units::{Span, Time};

use super::{Output, Tcb};
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

    /// The smoothed round-trip time, after the first sample.
    pub fn smoothed(&self) -> Option<Span> {
        self.estimator.smoothed(&self.settings)
    }

    /// The smallest round-trip time in whole microseconds; more than any before the first sample.
    pub fn min_rtt_micros(&self) -> u64 {
        self.min_rtt.as_ref().map_or(u64::MAX, |min_rtt| min_rtt.micros())
    }

    /// Takes a round-trip time into the estimate, and that of the last segment into the smallest unless its acknowledgement may have been
    /// `delayed`. The back-off ends.
    pub fn take_round_trip(&mut self, sample: Span, latest: Span, delayed: bool, now: Time) {
        if let Some(min_rtt) = &mut self.min_rtt
            && (!delayed || min_rtt.get().is_none_or(|smallest| latest <= smallest))
        {
            min_rtt.sample(latest, now, self.estimator.clock());
        }
        let sent = Time::from_picos(now.picos().saturating_sub(sample.picos()));
        self.estimator.sample(sent, now, self.point(), &self.settings);
        self.estimator.end_backoff();
    }

    /// Shows congestion control a round-trip time, with what is newly acknowledged.
    pub fn show_round_trip(&mut self, ack: &Ack, rtt: Span, newly: u64, now: Time, out: &mut impl Output) {
        let acked = self.acked(ack, newly, now);
        let before = self.window;
        self.control.sampled(&mut self.window, rtt, &acked);
        if self.window != before {
            out.window(&self.window);
        }
    }
}
