//! Congestion control: how the congestion window grows, and what a loss leaves of it. One file per algorithm; `linux` has those of a kernel, in
//! whole segments.

mod aimd;
mod cubic;
mod hystart;
mod hystart_pp;
pub(crate) mod linux;
mod reno;
mod vegas;

use ecnlab_units::{Span, Time};

pub use aimd::Aimd;
pub use cubic::{Cubic, CubicSettings};
pub use hystart::HyStart;
pub use hystart_pp::HyStartPlusPlus;
pub use reno::Reno;
pub use vegas::{Vegas, VegasSettings};

use self::linux::{LinuxCubic, LinuxReno};
use crate::clock::HostClock;
use crate::settings::{CongestionControlName, HystartName, Settings};

/// The congestion window and the slow-start threshold, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CongestionWindow {
    /// May fall below one under repeated marks; then nothing is sent before the timer (RFC 3168, section 6.1.2).
    pub cwnd: f64,
    pub ssthresh: f64,
}

impl CongestionWindow {
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start (RFC 5681, section 3.1) for as many segments as it takes to its end; returns what is left of them.
    #[inline]
    pub fn slow_start(&mut self, segments: u64) -> u64 {
        let mut left = segments;
        //= RFC 5681, section 3.1, equation 2: at most a segment for each acknowledged
        while left > 0 && self.in_slow_start() {
            self.cwnd += 1.0;
            left -= 1;
        }
        left
    }
}

/// What an acknowledgement of new data tells congestion control.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Segments to count, or one for the acknowledgement.
    pub segments: u64,
    pub now: Time,
    /// The round-trip time that this acknowledgement shows, unless it is of a retransmission.
    pub rtt: Option<Span>,
    /// Smoothed and smallest; zero before the first sample.
    pub srtt: Span,
    pub min_rtt: Span,
    /// Lowest segment not yet acknowledged, and one past the highest ever sent.
    pub snd_una: u64,
    pub snd_max: u64,
}

/// Why the window is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReductionCause {
    Mark,
    Loss,
    /// A loss that a tail loss probe has repaired.
    Probe,
    Timeout,
}

/// An algorithm of congestion control.
pub trait CongestionControl {
    /// An acknowledgement of new data with no signal of congestion on it, in slow start too: the algorithm may change the window.
    fn on_ack(&mut self, window: &mut CongestionWindow, acked: &AckSample);

    /// The same, telling `changed` of every step in the order in which ns-2 writes its variables; for Vegas' recovery, which asks with
    /// `acked.snd_max` as the next segment to send.
    fn on_ack_traced(&mut self, window: &mut CongestionWindow, acked: &AckSample, _changed: impl FnMut(&CongestionWindow)) {
        self.on_ack(window, acked);
    }

    /// The first segment of a connection is sent, where recovery times every segment.
    fn on_first_segment(&mut self, _now: Time) {}

    /// The share of the window that a loss leaves.
    fn loss_beta(&self) -> f64 {
        0.5
    }

    /// What a loss leaves of a window of `cwnd` segments, rounded as the algorithm rounds it.
    fn ssthresh_after_loss(&self, cwnd: f64) -> f64 {
        cwnd * self.loss_beta()
    }

    /// An acknowledgement brings a round-trip time in microseconds, at least one, whether the window may grow or not: whether it counts, for
    /// HyStart too.
    fn on_rtt_sample(&mut self, _rtt: u64, _now: Time) -> bool {
        true
    }

    /// The last cut turns out to have been for nothing and is taken back; the window and the threshold are set beside this. Linux leaves what
    /// `on_reduction` has changed, RFC 9438 takes it back too.
    fn on_undo(&mut self, _now: Time) {}

    /// The window is about to be cut.
    fn on_reduction(&mut self, _before: &CongestionWindow, _cause: ReductionCause, _now: Time) {}

    /// The retransmission timer has expired when all before `snd_max` was sent, and the window was cut for it or not.
    fn on_rto(&mut self, _high: u64, _now: Time) {}

    /// An acknowledgement of new data while the application, and not the window, limits what is sent.
    fn on_app_limited(&mut self, _now: Time) {}

    /// The application has more to send after a time in which nothing was outstanding; the last segment was sent at `last_sent`.
    fn on_restart_after_idle(&mut self, _now: Time, _last_sent: Time) {}
}

/// A congestion control, and HyStart before it where that ends slow start by trains and delays.
pub struct CongestionController {
    algorithm: CongestionAlgorithm,
    hystart: Option<Box<HyStart>>,
}

/// The algorithms, told apart without a pointer on a packet's way.
enum CongestionAlgorithm {
    Reno(Reno),
    LinuxReno(LinuxReno),
    Aimd(Box<Aimd>),
    Cubic(Box<Cubic>),
    LinuxCubic(Box<LinuxCubic>),
    Vegas(Box<Vegas>),
}

macro_rules! each {
    ($control:expr, $algorithm:ident => $call:expr) => {
        match $control {
            CongestionAlgorithm::Reno($algorithm) => $call,
            CongestionAlgorithm::LinuxReno($algorithm) => $call,
            CongestionAlgorithm::Aimd($algorithm) => $call,
            CongestionAlgorithm::Cubic($algorithm) => $call,
            CongestionAlgorithm::LinuxCubic($algorithm) => $call,
            CongestionAlgorithm::Vegas($algorithm) => $call,
        }
    };
}

impl CongestionAlgorithm {
    fn new(settings: &Settings, clock: HostClock) -> CongestionAlgorithm {
        match (settings.congestion_control, settings.has_integer_cwnd()) {
            (CongestionControlName::Reno, false) => CongestionAlgorithm::Reno(Reno),
            (CongestionControlName::Reno, true) => CongestionAlgorithm::LinuxReno(LinuxReno::default()),
            (CongestionControlName::Aimd, _) => CongestionAlgorithm::Aimd(Box::new(Aimd::new(settings.aimd_a, settings.aimd_b))),
            (CongestionControlName::Cubic, false) => {
                CongestionAlgorithm::Cubic(Box::new(Cubic::new(CubicSettings::from_settings(settings))))
            }
            (CongestionControlName::Cubic, true) => CongestionAlgorithm::LinuxCubic(Box::new(LinuxCubic::new(settings, clock))),
            (CongestionControlName::Vegas, _) => CongestionAlgorithm::Vegas(Box::new(Vegas::new(VegasSettings::from_settings(settings)))),
        }
    }
}

impl CongestionController {
    pub fn new(settings: &Settings, clock: HostClock) -> CongestionController {
        let hystart = settings.hystart == HystartName::Hystart;
        CongestionController {
            algorithm: CongestionAlgorithm::new(settings, clock),
            hystart: hystart.then(|| Box::new(HyStart::new(settings, clock))),
        }
    }

    /// Whether round-trip times make a difference.
    pub fn uses_rtt_samples(&self) -> bool {
        self.hystart.is_some() || matches!(self.algorithm, CongestionAlgorithm::LinuxCubic(_))
    }

    /// An acknowledgement brings a round-trip time in microseconds: asked before the window grows, and whether it may grow or not; not for the
    /// answer to a SYN. Returns whether HyStart is to look at it.
    #[inline]
    pub fn on_rtt_sample(&mut self, window: &CongestionWindow, rtt: u64, now: Time) -> bool {
        let rtt = rtt.max(1);
        let counts = each!(&mut self.algorithm, algorithm => algorithm.on_rtt_sample(rtt, now));
        counts && self.hystart.as_mut().is_some_and(|hystart| hystart.on_rtt_sample(window, rtt))
    }

    /// HyStart looks at a round-trip time that counts, with `acked.segments` newly acknowledged, perhaps none. Slow start may end here by the
    /// threshold.
    pub fn check_slow_start_exit(&mut self, window: &mut CongestionWindow, rtt: u64, acked: &AckSample) {
        if let Some(hystart) = &mut self.hystart {
            hystart.check_slow_start_exit(window, rtt.max(1), acked);
        }
    }
}

impl CongestionControl for CongestionController {
    #[inline(always)]
    fn on_ack(&mut self, window: &mut CongestionWindow, acked: &AckSample) {
        each!(&mut self.algorithm, algorithm => algorithm.on_ack(window, acked));
    }

    fn on_ack_traced(&mut self, window: &mut CongestionWindow, acked: &AckSample, changed: impl FnMut(&CongestionWindow)) {
        each!(&mut self.algorithm, algorithm => algorithm.on_ack_traced(window, acked, changed));
    }

    fn on_first_segment(&mut self, now: Time) {
        each!(&mut self.algorithm, algorithm => algorithm.on_first_segment(now));
    }

    fn loss_beta(&self) -> f64 {
        each!(&self.algorithm, algorithm => algorithm.loss_beta())
    }

    fn ssthresh_after_loss(&self, cwnd: f64) -> f64 {
        each!(&self.algorithm, algorithm => algorithm.ssthresh_after_loss(cwnd))
    }

    fn on_undo(&mut self, now: Time) {
        each!(&mut self.algorithm, algorithm => algorithm.on_undo(now));
    }

    fn on_reduction(&mut self, before: &CongestionWindow, cause: ReductionCause, now: Time) {
        each!(&mut self.algorithm, algorithm => algorithm.on_reduction(before, cause, now));
    }

    fn on_rto(&mut self, snd_max: u64, now: Time) {
        each!(&mut self.algorithm, algorithm => algorithm.on_rto(snd_max, now));
        if let Some(hystart) = &mut self.hystart {
            hystart.on_rto(snd_max, now);
        }
    }

    fn on_app_limited(&mut self, now: Time) {
        each!(&mut self.algorithm, algorithm => algorithm.on_app_limited(now));
    }

    fn on_restart_after_idle(&mut self, now: Time, last_sent: Time) {
        each!(&mut self.algorithm, algorithm => algorithm.on_restart_after_idle(now, last_sent));
    }
}

#[cfg(test)]
pub(crate) fn ack_sample(segments: u64, now: Time, rtt: Span) -> AckSample {
    AckSample { segments, now, rtt: Some(rtt), srtt: rtt, min_rtt: rtt, snd_una: 0, snd_max: 0 }
}
