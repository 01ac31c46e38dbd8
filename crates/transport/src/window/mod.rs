//! Congestion control: how the congestion window grows, and what a loss leaves of it. One file per algorithm.

mod aimd;
mod cubic;
mod hystart;
mod reno;
mod vegas;

use ecnlab_units::{Span, Time};

pub use aimd::Aimd;
pub use cubic::{Cubic, CubicSettings};
pub use hystart::HyStart;
pub use reno::Reno;
pub use vegas::{Vegas, VegasSettings};

use crate::clock::HostClock;
use crate::settings::{CongestionName, Settings};

/// The congestion window and the slow-start threshold, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// May fall below one under repeated marks; then nothing is sent before the timer (RFC 3168, section 6.1.2).
    pub cwnd: f64,
    pub ssthresh: f64,
}

impl Window {
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start (RFC 5681, section 3.1) for as many segments as it takes to its end; returns what is left of them.
    #[inline]
    pub fn slow_start(&mut self, segments: u64) -> u64 {
        let mut left = segments;
        while left > 0 && self.in_slow_start() {
            self.cwnd += 1.0;
            left -= 1;
        }
        left
    }
}

/// What an acknowledgement of new data tells congestion control.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// Segments to count, or one for the acknowledgement.
    pub segments: u64,
    pub now: Time,
    /// The round-trip time that this acknowledgement shows, unless it is of a retransmission.
    pub rtt: Option<Span>,
    /// Smoothed and smallest; zero before the first sample.
    pub srtt: Span,
    pub min_rtt: Span,
    /// Lowest segment not yet acknowledged, and one past the highest ever sent.
    pub una: u64,
    pub high: u64,
}

/// Why the window is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutCause {
    Mark,
    Loss,
    Timeout,
}

/// An algorithm of congestion control.
pub trait CongestionControl {
    /// An acknowledgement of new data with no signal of congestion on it, in slow start too: the algorithm may change the window.
    fn acknowledged(&mut self, window: &mut Window, acked: &Acked);

    /// The same, telling `changed` of every step in the order in which ns-2 writes its variables; for Vegas' recovery, which asks with
    /// `acked.high` as the next segment to send.
    fn acknowledged_by_steps(&mut self, window: &mut Window, acked: &Acked, _changed: impl FnMut(&Window)) {
        self.acknowledged(window, acked);
    }

    /// The first segment of a connection is sent, where recovery times every segment.
    fn started(&mut self, _now: Time) {}

    /// The share of the window that a loss leaves.
    fn loss_share(&self) -> f64 {
        0.5
    }

    /// An acknowledgement brings a round-trip time, with `acked.segments` newly acknowledged, perhaps none: asked before the window grows, and
    /// whether it may grow or not. The algorithm may end slow start here by setting the threshold.
    fn sampled(&mut self, _window: &mut Window, _rtt: Span, _acked: &Acked) {}

    /// A cut that turns out to have been for nothing is taken back: what `cut` changed stays, and the window is at least what it was.
    fn restored(&mut self, _now: Time) {}

    /// The window is about to be cut.
    fn cut(&mut self, _before: &Window, _cause: CutCause, _now: Time) {}

    /// An acknowledgement of new data while the application, and not the window, limits what is sent.
    fn not_used(&mut self, _now: Time) {}

    /// The application has more to send after a time in which nothing was outstanding.
    fn resumed(&mut self, _now: Time) {}
}

/// The algorithms, told apart without a pointer on a packet's way.
pub enum Control {
    Reno(Reno),
    Aimd(Aimd),
    Cubic(Box<Cubic>),
    Vegas(Box<Vegas>),
}

macro_rules! each {
    ($control:expr, $algorithm:ident => $call:expr) => {
        match $control {
            Control::Reno($algorithm) => $call,
            Control::Aimd($algorithm) => $call,
            Control::Cubic($algorithm) => $call,
            Control::Vegas($algorithm) => $call,
        }
    };
}

impl Control {
    pub fn new(settings: &Settings, _clock: HostClock) -> Control {
        match settings.congestion {
            CongestionName::Reno => Control::Reno(Reno),
            CongestionName::Aimd => Control::Aimd(Aimd::new(settings.aimd_a, settings.aimd_b)),
            CongestionName::Cubic => Control::Cubic(Box::new(Cubic::new(CubicSettings::of(settings)))),
            CongestionName::Vegas => Control::Vegas(Box::new(Vegas::new(VegasSettings::of(settings)))),
        }
    }
}

impl CongestionControl for Control {
    #[inline]
    fn acknowledged(&mut self, window: &mut Window, acked: &Acked) {
        each!(self, algorithm => algorithm.acknowledged(window, acked));
    }

    fn acknowledged_by_steps(&mut self, window: &mut Window, acked: &Acked, changed: impl FnMut(&Window)) {
        each!(self, algorithm => algorithm.acknowledged_by_steps(window, acked, changed));
    }

    fn started(&mut self, now: Time) {
        each!(self, algorithm => algorithm.started(now));
    }

    fn loss_share(&self) -> f64 {
        each!(self, algorithm => algorithm.loss_share())
    }

    fn sampled(&mut self, window: &mut Window, rtt: Span, acked: &Acked) {
        each!(self, algorithm => algorithm.sampled(window, rtt, acked));
    }

    fn restored(&mut self, now: Time) {
        each!(self, algorithm => algorithm.restored(now));
    }

    fn cut(&mut self, before: &Window, cause: CutCause, now: Time) {
        each!(self, algorithm => algorithm.cut(before, cause, now));
    }

    fn not_used(&mut self, now: Time) {
        each!(self, algorithm => algorithm.not_used(now));
    }

    fn resumed(&mut self, now: Time) {
        each!(self, algorithm => algorithm.resumed(now));
    }
}

#[cfg(test)]
pub(crate) fn acked(segments: u64, now: Time, rtt: Span) -> Acked {
    Acked { segments, now, rtt: Some(rtt), srtt: rtt, min_rtt: rtt, una: 0, high: 0 }
}
