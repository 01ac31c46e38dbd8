//! Reductions of cwnd and ssthresh by echoed marks, losses and the retransmission timer.

use ecnlab_units::{CongestionLevel, Time};

use super::{LastReduction, SenderOutput, Tcb};
use crate::congestion::{CongestionControl, ReductionCause};
use crate::ecn_response as response;
use crate::segment::Ack;
use crate::settings::{ReduceFrom, SsthreshRounding};

impl Tcb {
    /// Segments to which a multiplicative decrease applies: cwnd or FlightSize.
    pub fn reduction_base(&self) -> f64 {
        match self.settings.quirks.reduce_from {
            ReduceFrom::Cwnd => self.usable_window_f64(),
            ReduceFrom::Flight if self.snd_una < self.snd_max => {
                self.window.cwnd.min(self.settings.max_rwnd as f64).min(self.outstanding_segments() as f64)
            }
            // A late echo may find nothing outstanding; half of zero is not a window.
            ReduceFrom::Flight => self.usable_window_f64(),
        }
    }

    /// Responds to an echoed mark before the rest of the ACK is processed.
    #[inline(always)]
    pub fn respond_to_echo(&mut self, ack: &Ack, now: Time, out: &mut impl SenderOutput) {
        if self.ecn.is_accurate() {
            return self.respond_to_counted_marks(ack, now, out);
        }
        if !(self.ecn.in_use() && self.responds_before_recovery) {
            return self.ecn.ignore_echo_of_ack();
        }
        let level = self.ecn.read_echo(ack, self.settings.ecn_echo);
        if self.response_needs_acks {
            self.ecn_response.count_acked_and_echoed(ack.next, ack.next.saturating_sub(self.snd_una), level.is_some(), self.snd_max);
        }
        if let Some(level) = level {
            self.respond_to_mark(level, ack, now, out);
        }
    }

    /// Responds to the marks that an ACK newly reports with Accurate ECN, unless recovery reads them.
    #[inline(never)]
    fn respond_to_counted_marks(&mut self, ack: &Ack, now: Time, out: &mut impl SenderOutput) {
        if !self.ecn.in_use() || self.settings.reduces_by_prr_for_marks() {
            return self.ecn.ignore_echo_of_ack();
        }
        let marked = self.count_delivered_and_read_marks(ack);
        let level = self.ecn.read_counted_marks(marked);
        if self.response_needs_acks {
            let (delivered, _) = self.newly_delivered_and_marked();
            self.ecn_response.count_acked_and_marked(ack.next, delivered, marked, self.snd_max);
        }
        if let Some(level) = level.filter(|_| self.responds_before_recovery) {
            self.respond_to_mark(level, ack, now, out);
        } else if !self.responds_before_recovery {
            self.ecn.ignore_echo_of_ack();
        }
    }

    #[inline(never)]
    fn respond_to_mark(&mut self, level: CongestionLevel, ack: &Ack, now: Time, out: &mut impl SenderOutput) {
        //= RFC 3168, section 6.1.2: one cut for a window's marks
        //= RFC 3168, section 6.1.2: a cut for each window
        //= RFC 3168, section 6.1.2: the echo that goes on cuts no more
        //= RFC 3168, section 6.1.2: no cut while the last one's round trip lasts
        if self.recovery_point.covers_mark(ack.next, self.settings.quirks.ece_response_after_rto) {
            if let Some(further) =
                self.ecn_response.beta_for_further_echo(level).and_then(|share| self.recovery_point.reduce_further(share))
            {
                self.reduce_cwnd(self.reduction_base(), further, out);
            }
            return;
        }
        //= RFC 3168, section 6.1.2; RFC 8511, section 3: the window is cut as for a loss, or as the response has it
        //= Durresi et al. 2001, section 2: the cut is the level's
        let Some(share) = self.ecn_response.beta_for_mark(level, self.control.loss_beta()) else { return };
        self.recovery_point.record_mark_reduction(share, self.snd_max);
        self.counters.ecn_reactions += 1;
        if self.ecn.record_mark_and_ask_if_repeated(self.window.cwnd) {
            self.back_off_rto();
        }
        self.notify_control_of_reduction(ReductionCause::Mark, now);
        //= RFC 3168, section 6.1.2: a mark retransmits nothing
        self.reduce_cwnd(self.reduction_base(), share, out);
    }

    /// Passes an ACK of `segments` segments to a response that estimates the fraction of marks (DCTCP's alpha).
    pub fn update_mark_estimate(&mut self, segments: u64, echo: bool) {
        if self.response_needs_acks && self.settings.reduces_by_prr_for_marks() {
            if self.ecn.is_accurate() {
                let (_, marked) = self.newly_delivered_and_marked();
                self.ecn_response.count_acked_and_marked(self.snd_una, segments, marked, self.snd_max);
            } else {
                self.ecn_response.count_acked_and_echoed(self.snd_una, segments, echo, self.snd_max);
            }
        }
    }

    /// Reduces ssthresh, and leaves cwnd to a proportional rate reduction.
    pub fn reduce_ssthresh(&mut self, cause: ReductionCause, now: Time, out: &mut impl SenderOutput) {
        self.notify_control_of_reduction(cause, now);
        let base = self.reduction_base();
        let by_loss = if self.control_sets_cwnd { self.window.ssthresh } else { self.control.ssthresh_after_loss(base) };
        let as_mark = cause == ReductionCause::Mark || cause == ReductionCause::Probe && self.ecn_response.reduces_again_on_loss();
        let left = if as_mark {
            self.ecn_response.ssthresh_after_mark(CongestionLevel::Congested, base, by_loss).unwrap_or(base)
        } else {
            by_loss
        };
        let left = if self.settings.quirks.ssthresh_rounding == SsthreshRounding::Real { left } else { left.floor() };
        self.window.ssthresh = if self.control_sets_cwnd { left } else { left.max(self.min_ssthresh()) };
        out.on_window_changed(&self.window);
        self.counters.ecn_reactions += u64::from(cause == ReductionCause::Mark);
        match cause {
            ReductionCause::Timeout => {}
            ReductionCause::Mark => self.recovery_point.record_mark_reduction(left / base, self.snd_max),
            ReductionCause::Loss | ReductionCause::Probe => self.recovery_point.record_loss_reduction(self.snd_max),
        }
        self.ecn.queue_cwr();
    }

    fn min_ssthresh(&self) -> f64 {
        response::MIN_SSTHRESH.max(self.settings.quirks.min_cwnd as f64)
    }

    /// Lowers ssthresh for a loss in a window that is being reduced for a mark, if the response reduces less for marks.
    pub fn reduce_ssthresh_for_loss_after_mark(&mut self, now: Time, out: &mut impl SenderOutput) {
        if self.control_sets_cwnd {
            self.control.on_reduction(&self.window, ReductionCause::Loss, now);
        } else if self.ecn_response.reduces_again_on_loss() {
            self.window.ssthresh = self.control.ssthresh_after_loss(self.reduction_base()).max(self.min_ssthresh());
            out.on_window_changed(&self.window);
        }
    }

    /// Undoes a spurious reduction: cwnd is at least its prior value, and a pending CWR is cancelled.
    pub fn undo_reduction(&mut self, cwnd: f64, ssthresh: f64, now: Time, out: &mut impl SenderOutput) {
        self.window.cwnd = match self.control.prague_mut() {
            Some(prague) => prague.cwnd_after_undo(self.window.cwnd),
            None => self.window.cwnd.max(cwnd),
        };
        if ssthresh > self.window.ssthresh {
            self.window.ssthresh = ssthresh;
            self.ecn.withdraw_cwr();
        }
        self.control.on_undo(now);
        out.on_window_changed(&self.window);
    }

    /// Whether cwnd was reduced for a mark and part of that window is still outstanding.
    pub fn is_in_window_reduced_for_mark(&self) -> bool {
        self.recovery_point.last_reduction_is(LastReduction::Mark) && !self.recovery_point.is_reached_by(self.snd_una)
    }

    /// Counts an RTO that indicates a loss.
    pub fn count_timeout(&mut self) {
        self.counters.timeouts += 1;
    }

    /// Finishes the processing of an RTO, after recovery has reduced cwnd.
    pub fn finish_rto_reduction(&mut self, now: Time) {
        self.mark_cwnd_used(now);
        self.control.on_rto(self.snd_max, now);
        self.recovery_point.record_rto_reduction(self.snd_max);
        self.hystart = None;
        self.cancel_rtt_timing();
        self.ecn.queue_cwr();
    }

    /// Reduces cwnd for a loss indicated by ACKs. The reduction applies to `from` segments.
    pub fn reduce_cwnd_for_loss(&mut self, from: f64, now: Time, out: &mut impl SenderOutput) {
        self.record_loss_reduction(now);
        //= RFC 5681, section 3.2, equation 4: one cut, to the share that is kept
        self.reduce_cwnd(from, self.control.loss_beta(), out);
    }

    /// Reduces ssthresh for a loss indicated by ACKs, and cwnd to one segment.
    pub fn reduce_to_one_for_loss(&mut self, now: Time, out: &mut impl SenderOutput) {
        self.record_loss_reduction(now);
        self.reduce_ssthresh_and_cwnd_to_one(out);
    }

    /// Records a reduction for a loss: marks and losses of the segments sent so far do not reduce cwnd again, and a CWR is queued.
    pub fn record_loss_reduction(&mut self, now: Time) {
        //= RFC 3168, section 6.1.2: the loss of CWR cuts again
        self.recovery_point.record_loss_reduction(self.snd_max);
        self.notify_control_of_reduction(ReductionCause::Loss, now);
        //= RFC 3168, section 6.1.2: CWR is sent again
        self.ecn.queue_cwr();
    }

    /// Reduces cwnd further, to the fraction for a loss, in a window that a mark has reduced less. Congestion control knows of the first
    /// reduction and is not notified of a second.
    pub fn reduce_further_for_loss(&mut self, from: f64, out: &mut impl SenderOutput) {
        if let Some(further) = self.recovery_point.take_remaining_beta_for_loss(self.control.loss_beta()) {
            self.reduce_cwnd(from, further, out);
        }
    }

    /// Notifies congestion control of a reduction, and ends the first slow start (RFC 9406, section 4.3).
    fn notify_control_of_reduction(&mut self, cause: ReductionCause, now: Time) {
        self.control.on_reduction(&self.window, cause, now);
        self.hystart = None;
    }

    fn reduce_cwnd(&mut self, from: f64, share: f64, out: &mut impl SenderOutput) {
        let mut left = response::reduced_window(from, share, self.settings.reduction_rounding());
        left.cwnd = left.cwnd.max(self.settings.quirks.min_cwnd as f64);
        left.apply_to(&mut self.window, |window| out.on_window_changed(window));
        self.ecn.queue_cwr();
    }

    fn reduce_ssthresh_and_cwnd_to_one(&mut self, out: &mut impl SenderOutput) {
        //= RFC 5681, section 3.1: the window after a timeout is one segment
        //= RFC 5681, section 3.1: after a timeout slow start begins at one segment
        let left = response::reduced_window(self.reduction_base(), self.control.loss_beta(), self.settings.reduction_rounding())
            .with_cwnd_of_one();
        left.apply_to(&mut self.window, |window| out.on_window_changed(window));
        self.ecn.queue_cwr();
    }

    /// Sets cwnd to one segment and keeps ssthresh.
    pub fn reset_cwnd_to_one(&mut self, out: &mut impl SenderOutput) {
        self.set_cwnd(1.0, out);
        self.ecn.queue_cwr();
    }

    /// Raises a cwnd below one segment, the result of marks, to one segment.
    pub fn raise_cwnd_to_one(&mut self, out: &mut impl SenderOutput) {
        if self.window.cwnd < 1.0 {
            self.set_cwnd(1.0, out);
        }
    }

    /// Handles the expiry of the retransmission timer: cwnd becomes one segment and the RTO backs off. Recovery decides what to send.
    pub fn on_rto(&mut self, now: Time, out: &mut impl SenderOutput) {
        self.rto_deadline = Time::NEVER;
        self.dupacks = 0;
        let outstanding = self.snd_una < self.snd_max;
        let marked = outstanding && self.has_mark_reduced_ssthresh();
        self.recovery_point.record_rto_reduction(self.snd_max);
        let idle = !outstanding && self.settings.quirks.idle_rto_keeps_ssthresh;
        if self.snd_una == 0 && self.settings.quirks.first_packet_loss_recovery {
            self.initial_window = 1;
        }
        if outstanding || self.settings.quirks.idle_rto_resets_cwnd {
            self.enter_loss(idle, marked, now, out);
            self.control.on_rto(self.snd_max, now);
        }
        if !idle {
            self.hystart = None;
            self.back_off_rto();
        }
        self.restart_rto_timer(now);
        self.cancel_rtt_timing();
    }

    /// Whether a mark has already reduced the ssthresh that an RTO would reduce.
    fn has_mark_reduced_ssthresh(&self) -> bool {
        let in_its_window = !self.recovery_point.is_reached_by(self.snd_una);
        self.recovery_point.last_reduction_is(LastReduction::Mark) && (in_its_window || self.settings.quirks.rto_keeps_ecn_ssthresh)
    }

    /// Sets cwnd and ssthresh after an RTO. Ssthresh stays in a window reduced for a mark, and with nothing outstanding.
    fn enter_loss(&mut self, idle: bool, marked: bool, now: Time, out: &mut impl SenderOutput) {
        let again =
            self.settings.quirks.repeated_rto_keeps_ssthresh && std::mem::replace(&mut self.last_rto_segment, self.snd_una) == self.snd_una;
        if !idle && !marked {
            self.counters.timeouts += 1;
        }
        // A stronger echo of the same window does not reduce cwnd below the value after the RTO.
        self.recovery_point.forbid_further_reduction();
        //= RFC 5681, section 3.1: further timeouts of a segment leave the threshold
        if idle || marked || again {
            self.reset_cwnd_to_one(out);
        } else {
            self.notify_control_of_reduction(ReductionCause::Timeout, now);
            self.reduce_ssthresh_and_cwnd_to_one(out);
        }
    }
}
