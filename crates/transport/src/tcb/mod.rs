//! The transmission control block (TCB): the sender state that loss recovery uses, and the methods that change it.
//!
//! ```text
//!                     snd_una       snd_nxt       snd_max         snd_una + window    queued_segments
//!  ----------------------+-------------+-------------+------------------+------------------+
//!    acknowledged        |        sent, not yet      |   may be sent    |   has to wait    |
//!                        |        acknowledged       |                  |                  |
//!
//!  snd_una <= snd_nxt <= snd_max <= queued_segments
//!  window = min(cwnd + inflation, max_rwnd); inflation adds a segment for each duplicate ACK of a recovery
//!  `snd_nxt` is below `snd_max` only after a go-back-N; segments below `snd_max` are retransmissions.
//!
//!                     snd_una                 recover                    snd_max
//!  ----------------------+-----------------------+--------------------------+
//!                        |  sent before the last |  sent after it: a mark   |
//!                        |  reduction, which     |  or a loss reduces cwnd  |
//!                        |  covers their marks   |  again                   |
//!                        |  and losses           |                          |
//!
//!  recover is `snd_max` at the time of the last reduction
//! ```
//!
//! [`RecoveryPoint`] keeps the cause and the depth of the last reduction. `EcnState` keeps whether ECN is in use and a CWR is pending.
//! [`SendBuffer`] keeps which segments are short or the FIN. `reduction` reduces cwnd, `send` transmits, `handshake` opens the connection.
//! The fields are private: recovery calls methods, which keep the invariants above.

mod accurate_ecn;
mod cwnd_validation;
mod ecn;

mod handshake;
mod pacing;
mod recovery_point;
mod reduction;
mod rtt_stats;
mod send;
mod send_gate;
mod timing;
mod window_probe;

use std::mem::offset_of;
use std::sync::Arc;

use ecnlab_units::{Span, Time};

use self::accurate_ecn::AccurateSender;
pub use self::accurate_ecn::ReverseAccurateStart;
use self::cwnd_validation::CwndValidation;
use self::ecn::EcnState;
pub use self::recovery_point::{LastReduction, RecoveryPoint};
pub use self::rtt_stats::RttStats;
use self::send_gate::SendGate;
use self::window_probe::AdvertisedWindow;
use crate::application::AppWrite;
use crate::clock::HostClock;
use crate::congestion::{
    AckSample, CongControlSample, CongestionControl, CongestionController, CongestionWindow, ControlMemory, HyStartPlusPlus, linux,
};
use crate::ecn_response::EcnResponse;
use crate::memory;
use crate::processing::ProcessingTime;
use crate::rtt::{LinuxEstimatorAndMinRtt, MinRtt, RttEstimator, RttSampleContext};
use crate::segment::{Ack, Segment};
use crate::send_buffer::SendBuffer;
use crate::settings::{
    CwndIncrease, EcnResponseName, HystartName, PADDED_ACCECN_OPTION_BYTES, RecoveryName, RtoEstimatorName, RtoTimerRestart, RttInPackets,
    TcpSettings,
};

/// Receives a sender's segments and each possible change of its window.
pub trait SenderOutput {
    fn send(&mut self, segment: Segment);

    /// Called when cwnd or ssthresh may have changed.
    fn on_window_changed(&mut self, _window: &CongestionWindow) {}
}

impl SenderOutput for Vec<Segment> {
    fn send(&mut self, segment: Segment) {
        self.push(segment);
    }
}

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendCounters {
    pub sent: u64,
    pub retransmitted_fast: u64,
    pub retransmitted_timeout: u64,
    /// RTOs that indicate a loss: data was outstanding and no mark had just reduced cwnd (ns-2's nrexmit_).
    pub timeouts: u64,
    /// Reductions of cwnd in response to marks.
    pub ecn_reactions: u64,
}

impl SendCounters {
    /// Sum of these counters and `other`.
    pub fn sum_with(&self, other: &SendCounters) -> SendCounters {
        SendCounters {
            sent: self.sent + other.sent,
            retransmitted_fast: self.retransmitted_fast + other.retransmitted_fast,
            retransmitted_timeout: self.retransmitted_timeout + other.retransmitted_timeout,
            timeouts: self.timeouts + other.timeouts,
            ecn_reactions: self.ecn_reactions + other.ecn_reactions,
        }
    }

    /// What was counted since these counters were `before`.
    pub fn since(&self, before: &SendCounters) -> SendCounters {
        SendCounters {
            sent: self.sent - before.sent,
            retransmitted_fast: self.retransmitted_fast - before.retransmitted_fast,
            retransmitted_timeout: self.retransmitted_timeout - before.retransmitted_timeout,
            timeouts: self.timeouts - before.timeouts,
            ecn_reactions: self.ecn_reactions - before.ecn_reactions,
        }
    }
}

/// Marker for the absence of a segment.
const NO_SEGMENT: u64 = u64::MAX;

/// State of a sender without its loss recovery. The fields that each ACK reads come first, so that they share cache lines. State that most
/// senders do not have is boxed.
#[repr(C)]
pub struct Tcb {
    settings: Arc<TcpSettings>,
    /// Lowest unacknowledged segment.
    snd_una: u64,
    /// Next segment to send.
    snd_nxt: u64,
    /// One past the highest segment ever sent.
    snd_max: u64,
    /// One past the last segment that fits into the receive window.
    rwnd_right_edge: u64,
    /// Deadline of the retransmission timer, or `NEVER`.
    rto_deadline: Time,
    send_buffer: SendBuffer,
    window: CongestionWindow,
    pub(crate) recovery_point: RecoveryPoint,
    /// Consecutive duplicate ACKs.
    dupacks: u32,
    ecn: EcnState,
    /// The ECN response needs each ACK.
    response_needs_acks: bool,
    /// The response to an echoed mark precedes recovery. Without a response no CWR is sent, and an echo that stays set must not keep cwnd
    /// from growing.
    responds_before_recovery: bool,
    /// Congestion control sets cwnd on each ACK.
    control_sets_cwnd: bool,
    /// Congestion control needs RTT samples, and recovery does not pass them.
    control_needs_rtt: bool,
    /// The peer advertises a receive window.
    uses_rwnd: bool,
    /// The next segment carries PSH.
    push_next_segment: bool,
    last_sent_at: Time,
    rtt_stats: RttStats,
    /// Segment being timed, or `NO_SEGMENT`, and its send time.
    timed_segment: u64,
    timed_segment_sent_at: Time,
    control: CongestionController,
    /// HyStart++, present until the first slow start ends.
    hystart: Option<Box<HyStartPlusPlus>>,
    /// Gate that may delay segments which the window allows.
    send_gate: Option<Box<SendGate>>,
    /// Present with Accurate ECN, offered or negotiated.
    accurate: Option<Box<AccurateSender>>,
    ecn_response: EcnResponse,
    counters: SendCounters,
    rtt_estimator: RttEstimator,
    /// Present if the increase rule depends on cwnd usage.
    cwnd_validation: Option<Box<CwndValidation>>,
    /// Present if recovery takes RTT samples and the estimator does not keep the minimum.
    min_rtt: Option<Box<MinRtt>>,
    initial_window: u64,
    /// Present once the peer has advertised a window.
    advertised_window: Option<Box<AdvertisedWindow>>,
    /// Last segment that the RTO timer retransmitted, or `NO_SEGMENT`.
    last_rto_segment: u64,
}

/// Boxes of a connection that is over.
#[derive(Default)]
pub struct TcbMemory {
    control: ControlMemory,
    rtt: Option<Box<LinuxEstimatorAndMinRtt>>,
    cwnd_validation: Option<Box<CwndValidation>>,
    advertised_window: Option<Box<AdvertisedWindow>>,
}

impl Tcb {
    /// End of the fields that each ACK reads.
    pub const PACKET_FIELDS_END: usize = offset_of!(Tcb, rtt_estimator) + RttEstimator::PACKET_FIELDS_END;

    /// Takes the memory out, at the end of a connection.
    pub fn detach_memory(&mut self) -> TcbMemory {
        TcbMemory {
            control: self.control.detach_memory(),
            rtt: self.rtt_estimator.take_linux_state(),
            cwnd_validation: self.cwnd_validation.take(),
            advertised_window: self.advertised_window.take(),
        }
    }

    pub fn new(settings: Arc<TcpSettings>, app_write: &AppWrite, clock: HostClock, memory: TcbMemory) -> Tcb {
        let first_window = if settings.has_syn() && settings.quirks.delay_growth { 1 } else { settings.initial_window };
        let control = CongestionController::reusing_memory(&settings, clock, memory.control);
        let mut tcb = Tcb {
            snd_una: 0,
            snd_nxt: 0,
            snd_max: 0,
            recovery_point: RecoveryPoint::initial(),
            window: CongestionWindow { cwnd: first_window as f64, ssthresh: settings.max_rwnd as f64 },
            rto_deadline: Time::NEVER,
            timed_segment: NO_SEGMENT,
            timed_segment_sent_at: Time::ZERO,
            dupacks: 0,
            ecn: EcnState::new(&settings),
            response_needs_acks: settings.ecn_response == EcnResponseName::Dctcp,
            responds_before_recovery: settings.ecn_response != EcnResponseName::None && !settings.reduces_by_prr_for_marks(),
            uses_rwnd: false,
            control_sets_cwnd: control.prague().is_some(),
            control_needs_rtt: settings.recovery != RecoveryName::Rack && control.uses_rtt_samples(),
            send_buffer: SendBuffer::new(&settings, app_write),
            control,
            hystart: (settings.hystart == HystartName::HystartPlusPlus).then(|| Box::new(HyStartPlusPlus::new(settings.pacing))),
            send_gate: settings.pacing.then(|| Box::new(SendGate::with_pacing(settings.quirks.pacing_rule))),
            counters: SendCounters::default(),
            last_sent_at: Time::ZERO,
            rtt_stats: RttStats::default(),
            rtt_estimator: RttEstimator::new(&settings, clock, memory.rtt),
            ecn_response: EcnResponse::new(&settings),
            accurate: AccurateSender::for_settings(&settings),
            initial_window: settings.initial_window,
            cwnd_validation: CwndValidation::for_settings(&settings, memory.cwnd_validation),
            last_rto_segment: NO_SEGMENT,
            push_next_segment: false,
            min_rtt: (settings.recovery == RecoveryName::Rack && settings.quirks.rto_estimator != RtoEstimatorName::Linux)
                .then(Box::default),
            rwnd_right_edge: u64::MAX,
            advertised_window: memory.advertised_window.map(|past| memory::reuse_box(Some(past), AdvertisedWindow::default())),
            settings,
        };
        tcb.remember_early_write(app_write);
        tcb
    }

    /// Adds a random processing time before segments leave the host.
    pub fn set_processing_time(&mut self, processing: ProcessingTime) {
        self.send_gate.get_or_insert_default().set_processing_time(processing);
    }

    /// Appends a write of the application.
    pub fn add_write(&mut self, app_write: &AppWrite) {
        self.send_buffer.add_write(app_write, self.snd_max);
        self.remember_early_write(app_write);
        self.recompute_rwnd_right_edge();
    }

    /// Queues the FIN if the application has closed; call it after the segments that may go were sent. Returns whether there is a FIN to
    /// send.
    pub fn queue_fin(&mut self) -> bool {
        let closes = self.send_buffer.queue_fin(self.snd_max);
        if closes {
            self.recompute_rwnd_right_edge();
        }
        closes
    }

    /// Segments to send.
    pub fn send_buffer(&self) -> &SendBuffer {
        &self.send_buffer
    }

    /// Bytes that an arriving segment makes readable; see [`crate::SenderEndpoint::bytes_delivered_by_segment`].
    #[inline]
    pub fn bytes_delivered_by(&self, segment: &Segment, delivered: u64, next: u64) -> (u64, u32) {
        let carried = || {
            if self.send_buffer.type_carries_data(segment.segment_type) && segment.seq >= u64::from(self.settings.has_syn()) {
                let option = if segment.accecn_option { PADDED_ACCECN_OPTION_BYTES } else { 0 };
                segment.size - self.settings.quirks.header_size - option
            } else {
                0
            }
        };
        self.send_buffer.bytes_delivered_by_segment(segment.seq, delivered, next, carried)
    }

    /// Handles new data after all earlier data was acknowledged, when the connection was idle (RFC 5681, section 4.1). `reduces`: a
    /// congestion reduction of cwnd is in progress.
    pub fn restart_if_idle(&mut self, reduces: bool, now: Time, out: &mut impl SenderOutput) {
        if self.snd_una < self.snd_max || self.snd_max == 0 {
            return;
        }
        // RACK reports an idle period when it sends.
        if self.settings.recovery != RecoveryName::Rack {
            self.control.on_restart_after_idle(now, self.last_sent_at);
        }
        self.restart_after_idle(reduces, now, out);
    }
}

/// Accessors.
impl Tcb {
    pub fn settings(&self) -> &TcpSettings {
        &self.settings
    }

    /// Lowest unacknowledged segment.
    pub fn snd_una(&self) -> u64 {
        self.snd_una
    }

    /// Next segment to send.
    pub fn snd_nxt(&self) -> u64 {
        self.snd_nxt
    }

    /// One past the highest segment ever sent.
    pub fn snd_max(&self) -> u64 {
        self.snd_max
    }

    /// Number of segments to send, with SYN and FIN.
    pub fn queued_segments(&self) -> u64 {
        self.send_buffer.queued_segments()
    }

    /// Whether a new segment exists that fits into the receive window.
    pub fn has_new_segment(&self) -> bool {
        self.snd_max < self.queued_segments() && self.snd_max < self.snd_una + self.settings.max_rwnd && self.snd_max < self.rwnd_right_edge
    }

    /// Whether a segment fits into the receive window, or did when it was first sent.
    pub fn fits_rwnd(&self, seq: u64) -> bool {
        seq < self.rwnd_right_edge.max(self.snd_max)
    }

    /// Number of new segments that fit into the receive window.
    pub fn sendable_new_segments(&self) -> u64 {
        self.queued_segments().min(self.rwnd_right_edge).min(self.snd_una + self.settings.max_rwnd).saturating_sub(self.snd_max)
    }

    /// Whether the application will not write any more.
    pub fn is_app_closed(&self) -> bool {
        self.send_buffer.has_fin_before(self.queued_segments())
    }

    /// Time of the last transmission.
    pub fn last_sent_at(&self) -> Time {
        self.last_sent_at
    }

    /// Segments sent and not yet cumulatively acknowledged.
    pub fn outstanding_segments(&self) -> u64 {
        self.snd_max - self.snd_una
    }

    /// Whether congestion control sets cwnd on each ACK, also during a reduction.
    #[inline]
    pub fn control_sets_cwnd(&self) -> bool {
        self.control_sets_cwnd
    }

    pub fn window(&self) -> &CongestionWindow {
        &self.window
    }

    /// Segments that may be in flight, rounded down.
    pub fn usable_window(&self) -> u64 {
        (self.window.cwnd as u64 + self.recovery_point.inflation()).min(self.settings.max_rwnd)
    }

    pub(crate) fn usable_window_f64(&self) -> f64 {
        (self.window.cwnd + self.recovery_point.inflation() as f64).min(self.settings.max_rwnd as f64)
    }

    /// Consecutive duplicate ACKs.
    pub fn dupacks(&self) -> u32 {
        self.dupacks
    }

    pub fn rtt_stats(&self) -> &RttStats {
        &self.rtt_stats
    }

    /// Deadline of the retransmission timer, or `NEVER`.
    #[inline]
    pub fn rto_deadline_or_never(&self) -> Time {
        self.rto_deadline
    }

    /// Deadline of the retransmission timer.
    #[inline]
    pub fn rto_deadline(&self) -> Option<Time> {
        (self.rto_deadline != Time::NEVER).then_some(self.rto_deadline)
    }

    /// Time at which a segment delayed by pacing or processing may leave.
    pub fn send_gate_deadline(&self) -> Option<Time> {
        self.send_gate.as_ref().and_then(|gate| gate.deadline())
    }

    pub fn counters(&self) -> &SendCounters {
        &self.counters
    }

    /// Whether ECN is in use.
    pub fn uses_ecn(&self) -> bool {
        self.ecn.in_use()
    }

    /// DCTCP's alpha, if the response keeps one.
    pub fn dctcp_alpha(&self) -> Option<f64> {
        self.ecn_response.dctcp_alpha()
    }

    /// Whether HyStart++ still watches the first slow start.
    #[cfg(test)]
    pub fn in_first_slow_start(&self) -> bool {
        self.hystart.is_some()
    }

    /// Segment being timed for an RTT sample.
    pub fn timed_segment(&self) -> Option<u64> {
        (self.timed_segment != NO_SEGMENT).then_some(self.timed_segment)
    }
}

/// Sequence space and RTT samples.
impl Tcb {
    /// Takes the RTT sample of an ACK.
    pub fn sample_echoed_rtt(&mut self, ack: &Ack, now: Time) {
        self.rtt_stats.on_ack(ack, now);
    }

    /// Advances the sequence space for an ACK of new data, takes its RTT sample and restarts the timer. Returns the number of newly
    /// acknowledged segments.
    #[inline(always)]
    pub fn process_new_ack(&mut self, ack: &Ack, now: Time) -> u64 {
        self.recovery_point.record_fast_recovery_end();
        let newly = ack.next - self.snd_una;
        if self.settings.quirks.rto_timer_restart == RtoTimerRestart::BeforeSample {
            // With cwnd below one, nothing is sent before the timer fires: it runs even with nothing outstanding.
            let needed = self.snd_nxt >= ack.next || ack.next < self.snd_max || self.window.cwnd < 1.0;
            if needed {
                self.restart_rto_timer(now);
            } else {
                self.rto_deadline = Time::NEVER;
            }
        }
        self.dupacks = 0;
        //= RFC 9293, section 3.4: what is acknowledged is not sent again
        self.snd_una = ack.next;
        self.snd_nxt = self.snd_nxt.max(self.snd_una);
        self.sample_rtt(ack, now);
        if self.settings.quirks.rtt_report == RttInPackets::Base {
            self.rtt_stats.update_base_rtt_by_round(ack, self.snd_nxt, self.settings.max_rwnd, now);
        }
        match self.settings.quirks.rto_timer_restart {
            RtoTimerRestart::AfterSample => self.restart_rto_timer(now),
            RtoTimerRestart::Rfc6298 if self.snd_una < self.snd_max => self.restart_rto_timer(now),
            RtoTimerRestart::Rfc6298 => self.rto_deadline = Time::NEVER,
            RtoTimerRestart::BeforeSample => {}
        }
        self.send_buffer.release_before(self.snd_una);
        newly
    }

    /// Advances `snd_una` for a partial ACK during recovery, and changes nothing else.
    pub fn advance_snd_una(&mut self, next: u64) {
        self.snd_una = next;
        self.snd_nxt = self.snd_nxt.max(self.snd_una);
        self.send_buffer.release_before(self.snd_una);
    }

    /// Moves `snd_nxt` back to `snd_una`.
    pub fn rewind_snd_nxt(&mut self) {
        self.snd_nxt = self.snd_una;
    }

    /// Moves `snd_nxt` to `snd_max`, so that new data is sent next.
    pub fn set_snd_nxt_to_max(&mut self) {
        self.snd_nxt = self.snd_max;
    }

    /// Moves `snd_nxt` past a segment that was sent out of order.
    pub fn advance_snd_nxt_past(&mut self, seq: u64) {
        self.snd_nxt = self.snd_nxt.max(seq + 1);
    }

    /// Counts a duplicate ACK; returns the number of consecutive ones.
    pub fn count_dupack(&mut self) -> u32 {
        self.dupacks += 1;
        self.dupacks
    }

    /// Sets the number of consecutive duplicate ACKs, as recovery counts them.
    pub fn set_dupacks(&mut self, count: u32) {
        self.dupacks = count;
    }

    #[inline(always)]
    fn sample_rtt(&mut self, ack: &Ack, now: Time) {
        if self.settings.timestamps {
            self.rtt_estimator.end_backoff();
            return self.rtt_estimator.on_rtt_sample(ack.echo, now, self.sample_context(), &self.settings);
        }
        let sent = self.timed_segment_sent_at;
        if ack.next <= self.timed_segment {
            return;
        }
        if self.ecn.is_backoff_ended_by_sample() {
            self.rtt_estimator.end_backoff();
        }
        self.timed_segment = NO_SEGMENT;
        self.rtt_estimator.on_rtt_sample(sent, now, self.sample_context(), &self.settings);
    }

    /// Connection state for an RTT sample. Linux runs slow start for an ACK before it takes the ACK's sample.
    fn sample_context(&self) -> RttSampleContext {
        let CongestionWindow { cwnd, ssthresh } = self.window;
        RttSampleContext { snd_una: self.snd_una, snd_max: self.snd_max, cwnd, cwnd_will_grow: cwnd <= ssthresh }
    }

    /// Cancels the running RTT sample: the timed segment was retransmitted, or its ACK waits for a retransmission (Karn's algorithm, RFC
    /// 6298, section 3).
    pub fn cancel_rtt_timing(&mut self) {
        self.timed_segment = NO_SEGMENT;
    }

    /// Cancels the RTT sample of a segment that a partial ACK has covered, and ends the RTO backoff.
    pub fn drop_passed_rtt_timing(&mut self) {
        if self.timed_segment < self.snd_una {
            self.timed_segment = NO_SEGMENT;
            self.rtt_estimator.end_backoff();
        }
    }
}

/// Retransmission timer.
impl Tcb {
    pub fn restart_rto_timer(&mut self, now: Time) {
        self.rto_deadline = self.rtt_estimator.clock().timer_expiry(now, self.rtt_estimator.rto(&self.settings));
    }

    /// Starts the timer if cwnd is below one segment. Nothing is sent before it fires (RFC 3168, section 6.1.2), so it runs even with
    /// nothing outstanding.
    pub fn ensure_timer_below_one_segment(&mut self, now: Time) {
        //= RFC 3168, section 6.1.2: at one segment the timer sends
        if self.rto_deadline == Time::NEVER && self.window.cwnd < 1.0 && self.snd_una < self.queued_segments() {
            self.restart_rto_timer(now);
        }
    }

    /// Doubles the RTO.
    pub fn back_off_rto(&mut self) {
        self.rtt_estimator.back_off(&self.settings);
    }

    pub fn end_rto_backoff(&mut self) {
        self.rtt_estimator.end_backoff();
    }
}

/// Growth of cwnd; `reduction` has the decrease.
impl Tcb {
    /// Whether the echo on the current ACK forbids growth of cwnd (RFC 3168, section 6.1.2). During the recovery after an RTO it does not:
    /// the RTO has already reduced cwnd. If CWR waits for new data, the echo cannot end before that recovery does. Slow start continues
    /// then, as in Linux (tcp_cong_avoid in CA_Loss). ns-2's retransmissions carry CWR, which ends the echo, and ns-2 does not grow cwnd on
    /// an echo.
    fn ece_forbids_growth(&self) -> bool {
        //= RFC 5681, section 3.1: slow start repairs what a timeout has shown
        let repairs_timeout =
            || self.recovery_point.last_reduction_is(LastReduction::Timeout) && !self.recovery_point.is_reached_by(self.snd_una);
        self.ecn.forbids_growth() && (self.settings.quirks.cwr_on_retransmission || !repairs_timeout())
    }

    /// Whether an ACK of `newly` segments may grow cwnd.
    fn may_grow_cwnd(&self, newly: u64) -> bool {
        !self.ece_forbids_growth() && self.is_cwnd_used(newly)
    }

    /// Grows cwnd for an ACK of `newly` segments, unless the ACK signals congestion.
    #[inline(always)]
    pub fn grow_cwnd(&mut self, ack: &Ack, newly: u64, now: Time, out: &mut impl SenderOutput) {
        self.mark_cwnd_used(now);
        if self.control_needs_rtt {
            self.pass_rtt_to_control(ack, newly, now);
        }
        //= RFC 3168, section 6.1.2: no growth on an ACK with ECE
        //= RFC 3168, section 6.1.2: a mark does not raise the window
        if !self.ece_forbids_growth() {
            if self.is_cwnd_used(newly) {
                let acked = self.ack_sample(ack, newly, now);
                self.apply_growth(&acked);
                self.apply_cwnd_limit();
                out.on_window_changed(&self.window);
            } else {
                self.control.on_app_limited(now);
            }
        }
        self.ecn.record_peer_echo(ack);
        if self.snd_una == 1 && self.settings.quirks.delay_growth {
            self.set_initial_window(out);
        }
    }

    #[inline(never)]
    fn pass_rtt_to_control(&mut self, ack: &Ack, newly: u64, now: Time) {
        let acked = self.ack_sample(ack, newly, now);
        if let Some(rtt) = acked.rtt {
            let rtt = rtt.micros();
            if self.control.on_rtt_sample(&self.window, rtt, now) {
                let acked = self.ack_sample_with_estimator_srtt(ack, newly, now);
                self.control.check_slow_start_exit(&mut self.window, rtt, &acked);
            }
        }
    }

    #[inline(always)]
    fn apply_growth(&mut self, acked: &AckSample) {
        let Some(hystart) = &mut self.hystart else { return self.control.on_ack(&mut self.window, acked) };
        if !hystart.on_ack(&mut self.window, acked) {
            self.hystart = None;
        }
    }

    /// Lets a control that sets cwnd itself process an ACK that delivers `delivered` segments.
    #[inline(never)]
    pub fn pass_delivery_to_control(&mut self, delivered: u64, in_flight: u64, now: Time, out: &mut impl SenderOutput) {
        let (_, marked) = self.newly_delivered_and_marked();
        let sample = self.delivery_sample(delivered, marked, in_flight, now);
        if let Some(prague) = self.control.prague_mut() {
            prague.cong_control(&mut self.window, &sample);
        }
        out.on_window_changed(&self.window);
    }

    fn delivery_sample(&self, delivered: u64, marked: u64, in_flight: u64, now: Time) -> CongControlSample {
        CongControlSample {
            now_micros: self.host_clock_micros_at(now),
            delivered,
            marked,
            eight_srtt: self.srtt_multiple_micros(8).unwrap_or(0),
            in_flight,
            snd_una: self.snd_una,
            snd_max: self.snd_max,
            cwnd_limited: self.cwnd_validation.as_ref().is_none_or(|usage| usage.allows_growth(&self.window)),
        }
    }

    /// Sets the pacing rate of a paced sender, with `outstanding` segments.
    #[inline]
    pub fn update_pacing_rate(&mut self, outstanding: u64) {
        if self.send_gate.is_some() {
            self.set_pacing_rate(outstanding);
        }
    }

    #[inline(never)]
    fn set_pacing_rate(&mut self, outstanding: u64) {
        let cwnd = (self.window.cwnd as u64).max(outstanding);
        let payload = u64::from(self.settings.mss());
        let of_window = || self.srtt_multiple_micros(8).and_then(|eight| linux::pacing_rate(payload, cwnd, &self.window, eight));
        let rate = self.control.prague().map(|prague| prague.state().pacing_rate).or_else(of_window);
        if let (Some(gate), Some(rate)) = (&mut self.send_gate, rate) {
            gate.set_pacing_rate(rate);
        }
    }

    /// Lets a control that sets cwnd itself begin, once the connection is open with Accurate ECN in use; without that it continues as Reno.
    pub fn start_control(&mut self, now: Time) {
        if !self.control_sets_cwnd {
            return;
        }
        if self.uses_accurate_ecn() {
            let sample = self.delivery_sample(1, 0, 0, now);
            if let Some(prague) = self.control.prague_mut() {
                prague.on_established(&self.window, &sample);
            }
            self.update_pacing_rate(0);
        } else {
            self.control.fall_back_to_reno();
            self.ecn.disable();
            self.control_sets_cwnd = false;
            self.end_pacing();
        }
    }

    fn end_pacing(&mut self) {
        if let Some(mut gate) = self.send_gate.take()
            && gate.disable_pacing()
        {
            self.send_gate = Some(gate);
        }
    }

    /// Notifies a control that sets cwnd itself of the end of recovery.
    #[inline]
    pub fn notify_open(&mut self) {
        if let Some(prague) = self.control.prague_mut() {
            prague.on_reduction_end();
        }
    }

    /// Variant of `grow_cwnd` for Vegas recovery: takes an RTT sample as argument, ends the flight at `snd_nxt`, and reports each step.
    pub fn grow_cwnd_traced(&mut self, ack: &Ack, newly: u64, rtt: Option<Span>, now: Time, out: &mut impl SenderOutput) {
        if self.may_grow_cwnd(newly) {
            let acked = AckSample { rtt, snd_max: self.snd_nxt, ..self.ack_sample(ack, newly, now) };
            self.control.on_ack_traced(&mut self.window, &acked, |window| out.on_window_changed(window));
            self.apply_cwnd_limit();
            out.on_window_changed(&self.window);
        }
        self.ecn.record_peer_echo(ack);
    }

    /// Notifies congestion control that the first segment is sent.
    pub fn on_first_segment_sent(&mut self, now: Time) {
        self.control.on_first_segment_sent(now);
    }

    /// Sets the initial window after the first ACK, if it had to wait for it.
    pub fn set_initial_window(&mut self, out: &mut impl SenderOutput) {
        //= RFC 5681, section 3.1; RFC 6928, section 2: the first flight is the initial window
        self.set_cwnd(self.initial_window as f64, out);
    }

    /// Remembers the echo of an ACK that does not grow cwnd.
    pub fn remember_ecn_echo(&mut self, ack: &Ack) {
        self.ecn.record_peer_echo(ack);
    }

    /// Congestion control's view of an ACK of `newly` segments.
    #[inline(always)]
    fn ack_sample(&self, ack: &Ack, newly: u64, now: Time) -> AckSample {
        AckSample {
            segments: if self.settings.cwnd_increase == CwndIncrease::PerAck { 1 } else { newly },
            now,
            rtt: (!ack.echo_retransmission).then(|| now.since(ack.echo)),
            srtt: self.rtt_stats.srtt(),
            min_rtt: self.rtt_stats.min_rtt(),
            snd_una: self.snd_una,
            snd_max: self.snd_max,
            marked: self.newly_delivered_and_marked().1,
        }
    }

    /// The same as `ack_sample`, with the smoothed RTT of the RTO estimator.
    fn ack_sample_with_estimator_srtt(&self, ack: &Ack, newly: u64, now: Time) -> AckSample {
        let acked = self.ack_sample(ack, newly, now);
        AckSample { srtt: self.srtt().unwrap_or(acked.srtt), ..acked }
    }

    fn apply_cwnd_limit(&mut self) {
        let limit = self.settings.quirks.max_cwnd;
        if limit > 0 && self.window.cwnd as u64 > limit {
            self.window.cwnd = limit as f64;
        }
    }

    /// Sets cwnd on behalf of recovery.
    pub fn set_cwnd(&mut self, cwnd: f64, out: &mut impl SenderOutput) {
        self.window.cwnd = cwnd;
        out.on_window_changed(&self.window);
    }

    /// Sets ssthresh on behalf of recovery.
    pub fn set_ssthresh(&mut self, ssthresh: f64, out: &mut impl SenderOutput) {
        self.window.ssthresh = ssthresh;
        out.on_window_changed(&self.window);
    }
}
