//! Congestion control: growth of cwnd, and its reduction after a loss. One file per algorithm; `linux` has those of the Linux kernel, in
//! whole segments.

mod aimd;
mod cubic;
mod hystart;
mod hystart_pp;
pub(crate) mod linux;
mod prague;
mod reno;
mod vegas;

use ecnlab_units::{Span, Time};

pub use aimd::Aimd;
pub use cubic::{Cubic, CubicSettings};
pub use hystart::HyStart;
pub use hystart_pp::HyStartPlusPlus;
pub use prague::{Prague, PragueState};
pub use reno::Reno;
pub use vegas::{Vegas, VegasSettings};

use self::linux::{LinuxCubic, LinuxReno};
use crate::clock::HostClock;
use crate::memory;
use crate::settings::{CongestionControlName, HystartName, TcpSettings};

/// The congestion window and the slow-start threshold, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CongestionWindow {
    /// May fall below one under repeated marks; then nothing is sent before the timer fires (RFC 3168, section 6.1.2).
    pub cwnd: f64,
    pub ssthresh: f64,
}

impl CongestionWindow {
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start (RFC 5681, section 3.1) up to ssthresh; returns the remaining segments.
    #[inline]
    pub fn grow_in_slow_start(&mut self, segments: u64) -> u64 {
        let mut left = segments;
        //= RFC 5681, section 3.1, equation 2: at most a segment for each acknowledged
        while left > 0 && self.in_slow_start() {
            self.cwnd += 1.0;
            left -= 1;
        }
        left
    }
}

/// Congestion control's view of an ACK of new data.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Acknowledged segments to count, or one per ACK.
    pub segments: u64,
    pub now: Time,
    /// RTT sample of this ACK, unless it acknowledges a retransmission.
    pub rtt: Option<Span>,
    /// Smoothed and minimum RTT; zero before the first sample.
    pub srtt: Span,
    pub min_rtt: Span,
    /// Lowest unacknowledged segment, and one past the highest ever sent.
    pub snd_una: u64,
    pub snd_max: u64,
    /// Packets that the ACK newly reports as marked, with Accurate ECN; zero without it.
    pub marked: u64,
}

/// An ACK as a control sees it that sets cwnd itself (Linux rate_sample).
#[derive(Clone, Copy, Debug)]
pub struct CongControlSample {
    /// The host's clock in microseconds.
    pub now_micros: u64,
    /// Segments newly delivered, and marked packets newly reported.
    pub delivered: u64,
    pub marked: u64,
    /// Eight times the smoothed RTT in microseconds; zero before the first sample.
    pub eight_srtt: u64,
    pub in_flight: u64,
    /// Lowest unacknowledged segment, and one past the highest ever sent.
    pub snd_una: u64,
    pub snd_max: u64,
    /// Cwnd is in use.
    pub cwnd_limited: bool,
}

/// Cause of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReductionCause {
    Mark,
    Loss,
    /// A loss that a tail loss probe has repaired.
    Probe,
    Timeout,
}

/// A congestion control algorithm.
pub trait CongestionControl {
    /// Called for an ACK of new data that signals no congestion, in slow start too; may change the window.
    fn on_ack(&mut self, window: &mut CongestionWindow, acked: &AckSample);

    /// Variant of `on_ack` for Vegas recovery: calls `changed` after each step, in the order in which ns-2 writes its variables.
    /// `acked.snd_max` is the next segment to send.
    fn on_ack_traced(&mut self, window: &mut CongestionWindow, acked: &AckSample, _changed: impl FnMut(&CongestionWindow)) {
        self.on_ack(window, acked);
    }

    /// Called when the first segment of a connection is sent, if recovery times every segment.
    fn on_first_segment_sent(&mut self, _now: Time) {}

    /// Multiplicative decrease factor: the fraction of cwnd that remains after a loss.
    fn loss_beta(&self) -> f64 {
        0.5
    }

    /// Ssthresh after a loss at a window of `cwnd` segments, with the algorithm's rounding.
    fn ssthresh_after_loss(&self, cwnd: f64) -> f64 {
        cwnd * self.loss_beta()
    }

    /// Called for an RTT sample in microseconds, at least one, whether cwnd may grow or not. Returns whether the sample counts, for HyStart
    /// too.
    fn on_rtt_sample(&mut self, _rtt: u64, _now: Time) -> bool {
        true
    }

    /// Called when a spurious reduction is undone; the caller restores cwnd and ssthresh. Linux keeps the changes by `on_reduction`, RFC
    /// 9438 undoes them too.
    fn on_undo(&mut self, _now: Time) {}

    /// Called before cwnd is reduced.
    fn on_reduction(&mut self, _before: &CongestionWindow, _cause: ReductionCause, _now: Time) {}

    /// Called after an RTO with all segments before `snd_max` sent, whether cwnd was reduced or not.
    fn on_rto(&mut self, _high: u64, _now: Time) {}

    /// Called for an ACK of new data while the application limits the sender instead of cwnd.
    fn on_app_limited(&mut self, _now: Time) {}

    /// Called when the application sends after a time with nothing outstanding; the last segment was sent at `last_sent`.
    fn on_restart_after_idle(&mut self, _now: Time, _last_sent: Time) {}
}

/// A congestion control, with HyStart if that is enabled.
pub struct CongestionController {
    algorithm: AnyCongestionControl,
    hystart: Option<Box<HyStart>>,
}

/// The algorithms as an enum, which needs no indirection for each packet.
enum AnyCongestionControl {
    Reno(Reno),
    LinuxReno(LinuxReno),
    Aimd(Box<Aimd>),
    Cubic(Box<Cubic>),
    LinuxCubic(Box<LinuxCubic>),
    Vegas(Box<Vegas>),
    Prague(Box<Prague>),
}

macro_rules! each {
    ($control:expr, $algorithm:ident => $call:expr) => {
        match $control {
            AnyCongestionControl::Reno($algorithm) => $call,
            AnyCongestionControl::LinuxReno($algorithm) => $call,
            AnyCongestionControl::Aimd($algorithm) => $call,
            AnyCongestionControl::Cubic($algorithm) => $call,
            AnyCongestionControl::LinuxCubic($algorithm) => $call,
            AnyCongestionControl::Vegas($algorithm) => $call,
            AnyCongestionControl::Prague($algorithm) => $call,
        }
    };
}

/// Boxes of the control of a connection that is over.
#[derive(Default)]
pub struct ControlMemory {
    cubic: Option<Box<LinuxCubic>>,
    hystart: Option<Box<HyStart>>,
}

impl AnyCongestionControl {
    fn new(settings: &TcpSettings, clock: HostClock, cubic: Option<Box<LinuxCubic>>) -> AnyCongestionControl {
        match (settings.congestion_control, settings.has_integer_cwnd()) {
            (CongestionControlName::Reno, false) => AnyCongestionControl::Reno(Reno),
            (CongestionControlName::Reno, true) => AnyCongestionControl::LinuxReno(LinuxReno::default()),
            (CongestionControlName::Aimd, _) => AnyCongestionControl::Aimd(Box::new(Aimd::new(settings.aimd_a, settings.aimd_b))),
            (CongestionControlName::Cubic, false) => {
                AnyCongestionControl::Cubic(Box::new(Cubic::new(CubicSettings::from_settings(settings))))
            }
            (CongestionControlName::Cubic, true) => {
                AnyCongestionControl::LinuxCubic(memory::reuse_box(cubic, LinuxCubic::new(settings, clock)))
            }
            (CongestionControlName::Vegas, _) => AnyCongestionControl::Vegas(Box::new(Vegas::new(VegasSettings::from_settings(settings)))),
            (CongestionControlName::Prague, _) => AnyCongestionControl::Prague(Box::new(Prague::new(settings, clock))),
            // A scenario with it is refused before (`needs_kernel`).
            (CongestionControlName::Kernel(name), _) => panic!("only a kernel has the congestion control {name}"),
        }
    }
}

impl CongestionController {
    pub fn new(settings: &TcpSettings, clock: HostClock) -> CongestionController {
        CongestionController::reusing_memory(settings, clock, ControlMemory::default())
    }

    /// The same in the memory of a connection that is over.
    pub fn reusing_memory(settings: &TcpSettings, clock: HostClock, memory: ControlMemory) -> CongestionController {
        let hystart = settings.hystart == HystartName::Hystart;
        CongestionController {
            algorithm: AnyCongestionControl::new(settings, clock, memory.cubic),
            hystart: hystart.then(|| memory::reuse_box(memory.hystart, HyStart::new(settings, clock))),
        }
    }

    /// Takes the memory out, at the end of a connection.
    pub fn detach_memory(&mut self) -> ControlMemory {
        let algorithm = std::mem::replace(&mut self.algorithm, AnyCongestionControl::Reno(Reno));
        let cubic = if let AnyCongestionControl::LinuxCubic(cubic) = algorithm { Some(cubic) } else { None };
        ControlMemory { cubic, hystart: self.hystart.take() }
    }

    /// Prague, which sets cwnd on each ACK, also during a reduction (Linux cong_control).
    #[inline]
    pub fn prague(&self) -> Option<&Prague> {
        if let AnyCongestionControl::Prague(prague) = &self.algorithm { Some(prague) } else { None }
    }

    pub fn prague_mut(&mut self) -> Option<&mut Prague> {
        if let AnyCongestionControl::Prague(prague) = &mut self.algorithm { Some(prague) } else { None }
    }

    /// Continues as Reno: the algorithm requires Accurate ECN, which the peer does not have.
    pub fn fall_back_to_reno(&mut self) {
        self.algorithm = AnyCongestionControl::LinuxReno(LinuxReno::default());
    }

    /// Whether RTT samples are used.
    pub fn uses_rtt_samples(&self) -> bool {
        self.hystart.is_some() || matches!(self.algorithm, AnyCongestionControl::LinuxCubic(_))
    }

    /// Adds an RTT sample in microseconds before cwnd grows, whether it may grow or not; not called for a SYN-ACK. Returns whether HyStart
    /// must check it.
    #[inline]
    pub fn on_rtt_sample(&mut self, window: &CongestionWindow, rtt: u64, now: Time) -> bool {
        let rtt = rtt.max(1);
        let counts = each!(&mut self.algorithm, algorithm => algorithm.on_rtt_sample(rtt, now));
        counts && self.hystart.as_mut().is_some_and(|hystart| hystart.on_rtt_sample(window, rtt))
    }

    /// Lets HyStart check an RTT sample, with `acked.segments` newly acknowledged, possibly none. May end slow start.
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

    fn on_first_segment_sent(&mut self, now: Time) {
        each!(&mut self.algorithm, algorithm => algorithm.on_first_segment_sent(now));
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
    AckSample { segments, now, rtt: Some(rtt), srtt: rtt, min_rtt: rtt, snd_una: 0, snd_max: 0, marked: 0 }
}
