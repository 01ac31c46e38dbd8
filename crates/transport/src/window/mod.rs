//! Congestion control: how the congestion window grows, and what a loss leaves of it. One file per algorithm; `whole` has those that count in
//! whole segments.

mod aimd;
mod cubic;
mod hystart;
mod reno;
mod train_delay;
mod vegas;
pub(crate) mod whole;

use ecnlab_units::{Span, Time};

pub use aimd::Aimd;
pub use cubic::{Cubic, CubicSettings};
pub use hystart::HyStart;
pub use reno::Reno;
pub use train_delay::TrainDelay;
pub use vegas::{Vegas, VegasSettings};

use self::whole::{WholeCubic, WholeReno};
use crate::clock::HostClock;
use crate::settings::{CongestionName, HystartName, Settings};

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
    /// A loss that a tail loss probe has repaired.
    Probe,
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

    /// What a loss leaves of a window of `cwnd` segments, rounded as the algorithm rounds it.
    fn left_by_loss(&self, cwnd: f64) -> f64 {
        cwnd * self.loss_share()
    }

    /// An acknowledgement brings a round-trip time in microseconds, at least one, whether the window may grow or not: whether it counts, for
    /// HyStart too.
    fn takes_sample(&mut self, _rtt: u64, _now: Time) -> bool {
        true
    }

    /// The last cut turns out to have been for nothing and is taken back; the window and the threshold are set beside this. Linux leaves what
    /// `cut` has changed, RFC 9438 takes it back too.
    fn restored(&mut self, _now: Time) {}

    /// The window is about to be cut.
    fn cut(&mut self, _before: &Window, _cause: CutCause, _now: Time) {}

    /// The retransmission timer has expired when all before `high` was sent, and the window was cut for it or not.
    fn timed_out(&mut self, _high: u64, _now: Time) {}

    /// An acknowledgement of new data while the application, and not the window, limits what is sent.
    fn not_used(&mut self, _now: Time) {}

    /// The application has more to send after a time in which nothing was outstanding; the last segment was sent at `last_sent`.
    fn resumed(&mut self, _now: Time, _last_sent: Time) {}
}

/// A congestion control, and HyStart before it where that ends slow start by trains and delays.
pub struct Control {
    algorithm: Algorithm,
    hystart: Option<Box<TrainDelay>>,
}

/// The algorithms, told apart without a pointer on a packet's way.
enum Algorithm {
    Reno(Reno),
    WholeReno(WholeReno),
    Aimd(Box<Aimd>),
    Cubic(Box<Cubic>),
    WholeCubic(Box<WholeCubic>),
    Vegas(Box<Vegas>),
}

macro_rules! each {
    ($control:expr, $algorithm:ident => $call:expr) => {
        match $control {
            Algorithm::Reno($algorithm) => $call,
            Algorithm::WholeReno($algorithm) => $call,
            Algorithm::Aimd($algorithm) => $call,
            Algorithm::Cubic($algorithm) => $call,
            Algorithm::WholeCubic($algorithm) => $call,
            Algorithm::Vegas($algorithm) => $call,
        }
    };
}

impl Algorithm {
    fn new(settings: &Settings, clock: HostClock) -> Algorithm {
        match (settings.congestion, settings.counts_whole()) {
            (CongestionName::Reno, false) => Algorithm::Reno(Reno),
            (CongestionName::Reno, true) => Algorithm::WholeReno(WholeReno::default()),
            (CongestionName::Aimd, _) => Algorithm::Aimd(Box::new(Aimd::new(settings.aimd_a, settings.aimd_b))),
            (CongestionName::Cubic, false) => Algorithm::Cubic(Box::new(Cubic::new(CubicSettings::of(settings)))),
            (CongestionName::Cubic, true) => Algorithm::WholeCubic(Box::new(WholeCubic::new(settings, clock))),
            (CongestionName::Vegas, _) => Algorithm::Vegas(Box::new(Vegas::new(VegasSettings::of(settings)))),
        }
    }
}

impl Control {
    pub fn new(settings: &Settings, clock: HostClock) -> Control {
        let hystart = settings.hystart == HystartName::TrainDelay;
        Control { algorithm: Algorithm::new(settings, clock), hystart: hystart.then(|| Box::new(TrainDelay::new(settings, clock))) }
    }

    /// Whether round-trip times make a difference.
    pub fn reads_samples(&self) -> bool {
        self.hystart.is_some() || matches!(self.algorithm, Algorithm::WholeCubic(_))
    }

    /// An acknowledgement brings a round-trip time in microseconds: asked before the window grows, and whether it may grow or not; not for the
    /// answer to a SYN. Returns whether HyStart is to look at it.
    #[inline]
    pub fn counts(&mut self, window: &Window, rtt: u64, now: Time) -> bool {
        let rtt = rtt.max(1);
        let counts = each!(&mut self.algorithm, algorithm => algorithm.takes_sample(rtt, now));
        counts && self.hystart.as_mut().is_some_and(|hystart| hystart.counts(window, rtt))
    }

    /// HyStart looks at a round-trip time that counts, with `acked.segments` newly acknowledged, perhaps none. Slow start may end here by the
    /// threshold.
    pub fn look_for_end(&mut self, window: &mut Window, rtt: u64, acked: &Acked) {
        if let Some(hystart) = &mut self.hystart {
            hystart.look(window, rtt.max(1), acked);
        }
    }
}

impl CongestionControl for Control {
    #[inline(always)]
    fn acknowledged(&mut self, window: &mut Window, acked: &Acked) {
        each!(&mut self.algorithm, algorithm => algorithm.acknowledged(window, acked));
    }

    fn acknowledged_by_steps(&mut self, window: &mut Window, acked: &Acked, changed: impl FnMut(&Window)) {
        each!(&mut self.algorithm, algorithm => algorithm.acknowledged_by_steps(window, acked, changed));
    }

    fn started(&mut self, now: Time) {
        each!(&mut self.algorithm, algorithm => algorithm.started(now));
    }

    fn loss_share(&self) -> f64 {
        each!(&self.algorithm, algorithm => algorithm.loss_share())
    }

    fn left_by_loss(&self, cwnd: f64) -> f64 {
        each!(&self.algorithm, algorithm => algorithm.left_by_loss(cwnd))
    }

    fn restored(&mut self, now: Time) {
        each!(&mut self.algorithm, algorithm => algorithm.restored(now));
    }

    fn cut(&mut self, before: &Window, cause: CutCause, now: Time) {
        each!(&mut self.algorithm, algorithm => algorithm.cut(before, cause, now));
    }

    fn timed_out(&mut self, high: u64, now: Time) {
        each!(&mut self.algorithm, algorithm => algorithm.timed_out(high, now));
        if let Some(hystart) = &mut self.hystart {
            hystart.timed_out(high, now);
        }
    }

    fn not_used(&mut self, now: Time) {
        each!(&mut self.algorithm, algorithm => algorithm.not_used(now));
    }

    fn resumed(&mut self, now: Time, last_sent: Time) {
        each!(&mut self.algorithm, algorithm => algorithm.resumed(now, last_sent));
    }
}

#[cfg(test)]
pub(crate) fn acked(segments: u64, now: Time, rtt: Span) -> Acked {
    Acked { segments, now, rtt: Some(rtt), srtt: rtt, min_rtt: rtt, una: 0, high: 0 }
}
