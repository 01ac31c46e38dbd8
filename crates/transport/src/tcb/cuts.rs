//! What cuts the window: echoes of marks, losses and the retransmission timer.

use ecnlab_units::{Level, Time};

use super::{CutFor, Output, Tcb};
use crate::response;
use crate::segment::Ack;
use crate::settings::{CutFrom, Halving};
use crate::window::{CongestionControl, CutCause};

impl Tcb {
    /// What a cut is taken of.
    pub fn cut_base(&self) -> f64 {
        match self.settings.cut_from {
            CutFrom::Window => self.usable_window_exact(),
            CutFrom::Flight if self.una < self.high => self.window.cwnd.min(self.settings.max_window as f64).min(self.outstanding() as f64),
            // A late echo finds nothing outstanding, and half of nothing would be no window.
            CutFrom::Flight => self.usable_window_exact(),
        }
    }

    /// Responds to an echo of marks, before anything else of an acknowledgement is looked at.
    #[inline(always)]
    pub fn respond_to_echo(&mut self, ack: &Ack, now: Time, out: &mut impl Output) {
        if !(self.ecn.in_use() && self.responds_at_once) {
            return self.ecn.pass_over();
        }
        let level = self.ecn.read(ack, self.settings.ecn_echo);
        if self.observed {
            self.response.observe(ack.next, ack.next.saturating_sub(self.una), level.is_some(), self.high);
        }
        if let Some(level) = level {
            self.respond_to_mark(level, ack, now, out);
        }
    }

    #[inline(never)]
    fn respond_to_mark(&mut self, level: Level, ack: &Ack, now: Time, out: &mut impl Output) {
        if self.last_cut.covers_mark(ack.next, self.settings.mark_after_timeout) {
            if let Some(further) = self.response.heavier(level).and_then(|share| self.last_cut.deepen(share)) {
                self.cut(self.cut_base(), further, out);
            }
            return;
        }
        let Some(share) = self.response.share(level, self.control.loss_share()) else { return };
        self.last_cut.for_mark(share, self.high);
        self.counters.ecn_reactions += 1;
        if self.ecn.marked_again_at_one(self.window.cwnd) {
            self.back_off();
        }
        self.announce_cut(CutCause::Mark, now);
        self.cut(self.cut_base(), share, out);
    }

    /// Looks at an acknowledgement that delivered so many segments, for a response that estimates the share of marks.
    pub fn observe_marks(&mut self, segments: u64, echo: bool) {
        if self.observed && self.settings.reduces_for_marks() {
            self.response.observe(self.una, segments, echo, self.high);
        }
    }

    /// Cuts the threshold, and leaves the window to a reduction that follows.
    pub fn cut_threshold(&mut self, cause: CutCause, now: Time, out: &mut impl Output) {
        self.announce_cut(cause, now);
        let base = self.cut_base();
        let by_loss = self.control.left_by_loss(base);
        let as_mark = cause == CutCause::Mark || cause == CutCause::Probe && self.response.loss_cuts_again();
        let left = if as_mark { self.response.left_by_mark(Level::Congested, base, by_loss).unwrap_or(base) } else { by_loss };
        let left = if self.settings.halving == Halving::Real { left } else { left.floor() };
        self.window.ssthresh = left.max(self.least_threshold());
        out.window(&self.window);
        self.counters.ecn_reactions += u64::from(cause == CutCause::Mark);
        match cause {
            CutCause::Timeout => {}
            CutCause::Mark => self.last_cut.for_mark(left / base, self.high),
            CutCause::Loss | CutCause::Probe => self.last_cut.for_loss(self.high),
        }
        self.ecn.owe_cwr();
    }

    fn least_threshold(&self) -> f64 {
        response::MIN_SSTHRESH.max(self.settings.min_window as f64)
    }

    /// A loss in a window that comes down for a mark: where the response cuts less for marks, the threshold is now that of a loss.
    pub fn deepen_threshold(&mut self, out: &mut impl Output) {
        if self.response.loss_cuts_again() {
            self.window.ssthresh = self.control.left_by_loss(self.cut_base()).max(self.least_threshold());
            out.window(&self.window);
        }
    }

    /// Takes a cut back that nothing was lost for: the window is at least what it was, and the receiver need not be told.
    pub fn take_back_cut(&mut self, cwnd: f64, ssthresh: f64, now: Time, out: &mut impl Output) {
        self.window.cwnd = self.window.cwnd.max(cwnd);
        if ssthresh > self.window.ssthresh {
            self.window.ssthresh = ssthresh;
            self.ecn.withdraw_cwr();
        }
        self.control.restored(now);
        out.window(&self.window);
    }

    /// Whether the window was cut for a mark, and not all is acknowledged that was sent before.
    pub fn is_in_marked_window(&self) -> bool {
        self.last_cut.is_for(CutFor::Mark) && !self.last_cut.is_repaired(self.una)
    }

    /// A timeout that means a loss.
    pub fn count_timeout(&mut self) {
        self.counters.timeouts += 1;
    }

    /// The retransmission timer has expired, and recovery has cut what is to be cut.
    pub fn note_timeout(&mut self, now: Time) {
        self.count_as_used(now);
        self.control.timed_out(self.high, now);
        self.last_cut.for_timeout(self.high);
        self.hystart = None;
        self.timed = None;
        self.ecn.owe_cwr();
    }

    /// Cuts the window for a loss that acknowledgements show, taken of `from` segments.
    pub fn cut_for_loss(&mut self, from: f64, now: Time, out: &mut impl Output) {
        self.begin_cut_for_loss(now);
        self.cut(from, self.control.loss_share(), out);
    }

    /// Cuts the threshold for a loss that acknowledgements show, and the window to one segment.
    pub fn collapse_for_loss(&mut self, now: Time, out: &mut impl Output) {
        self.begin_cut_for_loss(now);
        self.cut_to_one(out);
    }

    /// The window is cut for a loss: marks and losses of what is sent so far do not cut it again, and the receiver is told.
    pub fn begin_cut_for_loss(&mut self, now: Time) {
        self.last_cut.for_loss(self.high);
        self.announce_cut(CutCause::Loss, now);
        self.ecn.owe_cwr();
    }

    /// A loss in the window of a mark that has cut already: the cut is deepened to that of a loss, if it was smaller.
    /// Congestion control knows of the mark's cut, and is not told of a second one.
    pub fn cut_after_mark(&mut self, from: f64, out: &mut impl Output) {
        if let Some(further) = self.last_cut.deepen_for_loss(self.control.loss_share()) {
            self.cut(from, further, out);
        }
    }

    /// Recovery begins, or goes on. Who has cut for the loss says so beside it.
    pub fn enter_recovery(&mut self) {
        self.last_cut.enter_recovery();
    }

    /// Recovery by a scoreboard is over.
    pub fn leave_recovery(&mut self) {
        self.last_cut.leave_recovery();
    }

    /// The last cut covers all that is sent so far.
    pub fn extend_cut(&mut self) {
        self.last_cut.extend(self.high);
    }

    /// The last cut covers nothing any more.
    pub fn forget_cut(&mut self) {
        self.last_cut.forget();
    }

    /// Lends so many segments to the window, which duplicates show to have left the network.
    pub fn inflate_to(&mut self, segments: u64) {
        self.last_cut.inflate_to(segments);
    }

    /// Lends one segment more to the window.
    pub fn inflate(&mut self) {
        self.last_cut.inflate();
    }

    /// Congestion control is told of a cut to come, and the first slow start is over (RFC 9406, section 4.3).
    fn announce_cut(&mut self, cause: CutCause, now: Time) {
        self.control.cut(&self.window, cause, now);
        self.hystart = None;
    }

    fn cut(&mut self, from: f64, share: f64, out: &mut impl Output) {
        let mut left = response::cut(from, share, self.settings.rounding());
        left.cwnd = left.cwnd.max(self.settings.min_window as f64);
        left.apply(&mut self.window, |window| out.window(window));
        self.ecn.owe_cwr();
    }

    fn cut_to_one(&mut self, out: &mut impl Output) {
        let left = response::cut(self.cut_base(), self.control.loss_share(), self.settings.rounding()).to_one();
        left.apply(&mut self.window, |window| out.window(window));
        self.ecn.owe_cwr();
    }

    /// The window of one segment, with the threshold as it is.
    pub fn restart_window(&mut self, out: &mut impl Output) {
        self.set_cwnd(1.0, out);
        self.ecn.owe_cwr();
    }

    /// A window below one segment, to which marks have cut it, returns to one.
    pub fn reopen_window(&mut self, out: &mut impl Output) {
        if self.window.cwnd < 1.0 {
            self.set_cwnd(1.0, out);
        }
    }

    /// The retransmission timer has expired: the window falls to one segment and the timer backs off. What to send is for recovery to say.
    pub fn time_out(&mut self, now: Time, out: &mut impl Output) {
        self.retransmit_at = None;
        self.duplicates = 0;
        let outstanding = self.una < self.high;
        let marked = outstanding && self.is_cut_for_mark();
        self.last_cut.for_timeout(self.high);
        let idle = !outstanding && self.settings.idle_threshold;
        if self.una == 0 && self.settings.first_packet_loss {
            self.initial_window = 1;
        }
        if outstanding || self.settings.slow_start_restart {
            self.collapse(idle, marked, now, out);
            self.control.timed_out(self.high, now);
        }
        if !idle {
            self.hystart = None;
            self.back_off();
        }
        self.restart_timer(now);
        self.timed = None;
    }

    /// Whether a mark has cut the threshold that a timeout would cut.
    fn is_cut_for_mark(&self) -> bool {
        let in_its_window = !self.last_cut.is_repaired(self.una);
        self.last_cut.is_for(CutFor::Mark) && (in_its_window || self.settings.mark_spares_later_timeouts)
    }

    /// The window after a timeout. In a window that was cut for a mark, and with nothing outstanding, the threshold stays.
    fn collapse(&mut self, idle: bool, marked: bool, now: Time, out: &mut impl Output) {
        let again = self.settings.threshold_once && self.resent.replace(self.una) == Some(self.una);
        if !idle && !marked {
            self.counters.timeouts += 1;
        }
        // No heavier echo of the same window cuts what the timeout has left.
        self.last_cut.end_deepening();
        if idle || marked || again {
            self.restart_window(out);
        } else {
            self.announce_cut(CutCause::Timeout, now);
            self.cut_to_one(out);
        }
    }
}
