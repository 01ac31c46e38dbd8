//! What cuts the window: echoes of marks, losses and the retransmission timer.

use ecnlab_units::{CongestionLevel, Time};

use super::{LastReduction, SenderOutput, Tcb};
use crate::congestion::{CongestionControl, ReductionCause};
use crate::ecn_response as response;
use crate::segment::Ack;
use crate::settings::{ReduceFrom, SsthreshRounding};

impl Tcb {
    /// What a cut is taken of.
    pub fn reduction_base(&self) -> f64 {
        match self.settings.quirks.reduce_from {
            ReduceFrom::Cwnd => self.usable_window_f64(),
            ReduceFrom::Flight if self.snd_una < self.snd_max => {
                self.window.cwnd.min(self.settings.max_rwnd as f64).min(self.outstanding_segments() as f64)
            }
            // A late echo finds nothing outstanding, and half of nothing would be no window.
            ReduceFrom::Flight => self.usable_window_f64(),
        }
    }

    /// Responds to an echo of marks, before anything else of an acknowledgement is looked at.
    #[inline(always)]
    pub fn respond_to_echo(&mut self, ack: &Ack, now: Time, out: &mut impl SenderOutput) {
        if !(self.ecn.in_use() && self.responds_before_recovery) {
            return self.ecn.ignore_echo();
        }
        let level = self.ecn.read_echo(ack, self.settings.ecn_echo);
        if self.response_needs_acks {
            self.ecn_response.update_mark_estimate(ack.next, ack.next.saturating_sub(self.snd_una), level.is_some(), self.snd_max);
        }
        if let Some(level) = level {
            self.respond_to_mark(level, ack, now, out);
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
        self.recovery_point.set_for_mark(share, self.snd_max);
        self.counters.ecn_reactions += 1;
        if self.ecn.note_mark_at_cwnd(self.window.cwnd) {
            self.back_off_rto();
        }
        self.notify_reduction(ReductionCause::Mark, now);
        //= RFC 3168, section 6.1.2: a mark retransmits nothing
        self.reduce_cwnd(self.reduction_base(), share, out);
    }

    /// Looks at an acknowledgement that delivered so many segments, for a response that estimates the share of marks.
    pub fn update_mark_estimate(&mut self, segments: u64, echo: bool) {
        if self.response_needs_acks && self.settings.reduces_by_prr_for_marks() {
            self.ecn_response.update_mark_estimate(self.snd_una, segments, echo, self.snd_max);
        }
    }

    /// Cuts the threshold, and leaves the window to a reduction that follows.
    pub fn reduce_ssthresh(&mut self, cause: ReductionCause, now: Time, out: &mut impl SenderOutput) {
        self.notify_reduction(cause, now);
        let base = self.reduction_base();
        let by_loss = self.control.ssthresh_after_loss(base);
        let as_mark = cause == ReductionCause::Mark || cause == ReductionCause::Probe && self.ecn_response.reduces_again_on_loss();
        let left = if as_mark {
            self.ecn_response.ssthresh_after_mark(CongestionLevel::Congested, base, by_loss).unwrap_or(base)
        } else {
            by_loss
        };
        let left = if self.settings.quirks.ssthresh_rounding == SsthreshRounding::Real { left } else { left.floor() };
        self.window.ssthresh = left.max(self.min_ssthresh());
        out.on_window_changed(&self.window);
        self.counters.ecn_reactions += u64::from(cause == ReductionCause::Mark);
        match cause {
            ReductionCause::Timeout => {}
            ReductionCause::Mark => self.recovery_point.set_for_mark(left / base, self.snd_max),
            ReductionCause::Loss | ReductionCause::Probe => self.recovery_point.set_for_loss(self.snd_max),
        }
        self.ecn.queue_cwr();
    }

    fn min_ssthresh(&self) -> f64 {
        response::MIN_SSTHRESH.max(self.settings.quirks.min_cwnd as f64)
    }

    /// A loss in a window that comes down for a mark: where the response cuts less for marks, the threshold is now that of a loss.
    pub fn reduce_ssthresh_for_loss(&mut self, out: &mut impl SenderOutput) {
        if self.ecn_response.reduces_again_on_loss() {
            self.window.ssthresh = self.control.ssthresh_after_loss(self.reduction_base()).max(self.min_ssthresh());
            out.on_window_changed(&self.window);
        }
    }

    /// Takes a cut back that nothing was lost for: the window is at least what it was, and the receiver need not be told.
    pub fn undo_reduction(&mut self, cwnd: f64, ssthresh: f64, now: Time, out: &mut impl SenderOutput) {
        self.window.cwnd = self.window.cwnd.max(cwnd);
        if ssthresh > self.window.ssthresh {
            self.window.ssthresh = ssthresh;
            self.ecn.withdraw_cwr();
        }
        self.control.on_undo(now);
        out.on_window_changed(&self.window);
    }

    /// Whether the window was cut for a mark, and not all is acknowledged that was sent before.
    pub fn is_in_window_reduced_for_mark(&self) -> bool {
        self.recovery_point.last_reduction_is(LastReduction::Mark) && !self.recovery_point.is_reached_by(self.snd_una)
    }

    /// A timeout that means a loss.
    pub fn count_timeout(&mut self) {
        self.counters.timeouts += 1;
    }

    /// The retransmission timer has expired, and recovery has cut what is to be cut.
    pub fn finish_rto_reduction(&mut self, now: Time) {
        self.mark_cwnd_used(now);
        self.control.on_rto(self.snd_max, now);
        self.recovery_point.set_for_timeout(self.snd_max);
        self.hystart = None;
        self.timed_segment = None;
        self.ecn.queue_cwr();
    }

    /// Cuts the window for a loss that acknowledgements show, taken of `from` segments.
    pub fn reduce_cwnd_for_loss(&mut self, from: f64, now: Time, out: &mut impl SenderOutput) {
        self.begin_loss_reduction(now);
        //= RFC 5681, section 3.2, equation 4: one cut, to the share that is kept
        self.reduce_cwnd(from, self.control.loss_beta(), out);
    }

    /// Cuts the threshold for a loss that acknowledgements show, and the window to one segment.
    pub fn reduce_to_one_for_loss(&mut self, now: Time, out: &mut impl SenderOutput) {
        self.begin_loss_reduction(now);
        self.reduce_cwnd_to_one(out);
    }

    /// The window is cut for a loss: marks and losses of what is sent so far do not cut it again, and the receiver is told.
    pub fn begin_loss_reduction(&mut self, now: Time) {
        //= RFC 3168, section 6.1.2: the loss of CWR cuts again
        self.recovery_point.set_for_loss(self.snd_max);
        self.notify_reduction(ReductionCause::Loss, now);
        //= RFC 3168, section 6.1.2: CWR is sent again
        self.ecn.queue_cwr();
    }

    /// A loss in the window of a mark that has cut already: the cut is deepened to that of a loss, if it was smaller.
    /// Congestion control knows of the mark's cut, and is not told of a second one.
    pub fn reduce_further_for_loss(&mut self, from: f64, out: &mut impl SenderOutput) {
        if let Some(further) = self.recovery_point.reduce_further_for_loss(self.control.loss_beta()) {
            self.reduce_cwnd(from, further, out);
        }
    }

    /// Recovery begins, or goes on. Who has cut for the loss says so beside it.
    pub fn enter_recovery(&mut self) {
        self.recovery_point.enter_recovery();
    }

    /// Recovery by a scoreboard is over.
    pub fn exit_recovery(&mut self) {
        self.recovery_point.exit_recovery();
    }

    /// The last cut covers all that is sent so far.
    pub fn extend_recovery_point(&mut self) {
        self.recovery_point.extend_to(self.snd_max);
    }

    /// The last cut covers nothing any more.
    pub fn reset_recovery_point(&mut self) {
        self.recovery_point.reset();
    }

    /// Lends so many segments to the window, which duplicates show to have left the network.
    pub fn set_inflation(&mut self, segments: u64) {
        self.recovery_point.set_inflation(segments);
    }

    /// Lends one segment more to the window.
    pub fn inflate_by_one(&mut self) {
        self.recovery_point.inflate_by_one();
    }

    /// Congestion control is told of a cut to come, and the first slow start is over (RFC 9406, section 4.3).
    fn notify_reduction(&mut self, cause: ReductionCause, now: Time) {
        self.control.on_reduction(&self.window, cause, now);
        self.hystart = None;
    }

    fn reduce_cwnd(&mut self, from: f64, share: f64, out: &mut impl SenderOutput) {
        let mut left = response::reduced_window(from, share, self.settings.reduction_rounding());
        left.cwnd = left.cwnd.max(self.settings.quirks.min_cwnd as f64);
        left.apply_to(&mut self.window, |window| out.on_window_changed(window));
        self.ecn.queue_cwr();
    }

    fn reduce_cwnd_to_one(&mut self, out: &mut impl SenderOutput) {
        //= RFC 5681, section 3.1: the window after a timeout is one segment
        //= RFC 5681, section 3.1: after a timeout slow start begins at one segment
        let left = response::reduced_window(self.reduction_base(), self.control.loss_beta(), self.settings.reduction_rounding())
            .with_cwnd_of_one();
        left.apply_to(&mut self.window, |window| out.on_window_changed(window));
        self.ecn.queue_cwr();
    }

    /// The window of one segment, with the threshold as it is.
    pub fn reset_cwnd_to_one(&mut self, out: &mut impl SenderOutput) {
        self.set_cwnd(1.0, out);
        self.ecn.queue_cwr();
    }

    /// A window below one segment, to which marks have cut it, returns to one.
    pub fn restore_cwnd_to_one(&mut self, out: &mut impl SenderOutput) {
        if self.window.cwnd < 1.0 {
            self.set_cwnd(1.0, out);
        }
    }

    /// The retransmission timer has expired: the window falls to one segment and the timer backs off. What to send is for recovery to say.
    pub fn on_rto(&mut self, now: Time, out: &mut impl SenderOutput) {
        self.rto_deadline = None;
        self.dupacks = 0;
        let outstanding = self.snd_una < self.snd_max;
        let marked = outstanding && self.is_reduced_for_mark();
        self.recovery_point.set_for_timeout(self.snd_max);
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
        self.timed_segment = None;
    }

    /// Whether a mark has cut the threshold that a timeout would cut.
    fn is_reduced_for_mark(&self) -> bool {
        let in_its_window = !self.recovery_point.is_reached_by(self.snd_una);
        self.recovery_point.last_reduction_is(LastReduction::Mark) && (in_its_window || self.settings.quirks.rto_keeps_ecn_ssthresh)
    }

    /// The window after a timeout. In a window that was cut for a mark, and with nothing outstanding, the threshold stays.
    fn enter_loss(&mut self, idle: bool, marked: bool, now: Time, out: &mut impl SenderOutput) {
        let again = self.settings.quirks.repeated_rto_keeps_ssthresh && self.last_rto_segment.replace(self.snd_una) == Some(self.snd_una);
        if !idle && !marked {
            self.counters.timeouts += 1;
        }
        // No heavier echo of the same window cuts what the timeout has left.
        self.recovery_point.forbid_further_reduction();
        //= RFC 5681, section 3.1: further timeouts of a segment leave the threshold
        if idle || marked || again {
            self.reset_cwnd_to_one(out);
        } else {
            self.notify_reduction(ReductionCause::Timeout, now);
            self.reduce_cwnd_to_one(out);
        }
    }
}
