//! What cuts the window: echoes of marks, losses and the retransmission timer.

use ecnlab_units::{Level, Time};

use super::{Core, LastCut};
use crate::response;
use crate::segment::Ack;
use crate::sender::Output;
use crate::settings::{CutFrom, Echo, Handshake, RecoveryName, ResponseName};
use crate::window::{Cause, CongestionControl};

impl Core {
    /// What a cut is taken of.
    pub fn cut_base(&self) -> f64 {
        match self.settings.cut_from {
            CutFrom::Window => self.usable_window_exact(),
            CutFrom::Flight if self.una < self.high => self.window.cwnd.min(self.settings.max_window as f64).min(self.outstanding() as f64),
            // A late echo finds nothing outstanding, and half of nothing would be no window.
            CutFrom::Flight => self.usable_window_exact(),
        }
    }

    /// Answers an echo of marks, before anything else of an acknowledgement is looked at.
    #[inline]
    pub fn hear(&mut self, ack: &Ack, now: Time, out: &mut impl Output) {
        self.echoed = false;
        // Without a response nothing says CWR, and the echo that stays on must not keep the window from growing.
        if !self.ecn || self.settings.response == ResponseName::None {
            return;
        }
        let level = match self.settings.ecn_echo {
            Echo::Mecn => mecn_level(ack),
            Echo::Classic | Echo::Dctcp => ack.ece.then_some(Level::Congested),
        };
        self.echoed = level.is_some();
        if self.observed {
            self.response.observe(ack.next, ack.next.saturating_sub(self.una), self.echoed, self.high);
        }
        if let Some(level) = level {
            self.answer(level, ack, now, out);
        }
    }

    #[inline(never)]
    fn answer(&mut self, level: Level, ack: &Ack, now: Time, out: &mut impl Output) {
        let answered = ack.next <= self.recover && !(self.settings.mark_after_timeout && self.last_cut == LastCut::Timeout);
        if answered {
            if let Some(keep) = self.response.heavier(level).filter(|&keep| keep < self.kept) {
                let further = keep / std::mem::replace(&mut self.kept, keep);
                self.cut(self.cut_base(), further, out);
            }
            return;
        }
        let Some(keep) = self.response.keep(level, self.control.keep()) else { return };
        self.kept = keep;
        self.recover = self.high;
        self.last_cut = LastCut::Mark;
        self.counters.ecn_reactions += 1;
        if self.window.cwnd > 1.0 {
            self.marked_at_one = false;
        } else if self.marked_at_one {
            self.estimator.back_off(&self.settings);
        } else {
            self.marked_at_one = true;
        }
        self.foretell(Cause::Mark, now);
        self.cut(self.cut_base(), keep, out);
    }

    /// Cuts the window for a loss that duplicates show, taken of `from` segments.
    pub fn cut_for_loss(&mut self, from: f64, now: Time, out: &mut impl Output) {
        self.note_loss(now);
        self.cut(from, self.control.keep(), out);
    }

    /// Cuts the threshold for a loss that duplicates show, and the window to one segment.
    pub fn collapse_for_loss(&mut self, now: Time, out: &mut impl Output) {
        self.note_loss(now);
        self.cut_to_one(out);
    }

    /// The window is cut for a loss: marks and losses of what is sent so far do not cut it again, and the receiver is told.
    pub fn note_loss(&mut self, now: Time) {
        self.recover = self.high;
        self.kept = 0.0;
        self.foretell(Cause::Loss, now);
        self.cwr_due = true;
    }

    /// A loss in the window of a mark that has cut already: the cut is deepened to that of a loss, if it was smaller.
    /// Congestion control knows of the mark's cut, and is not told of a second one.
    pub fn cut_after_mark(&mut self, from: f64, out: &mut impl Output) {
        let keep = self.control.keep() / self.kept;
        if keep < 1.0 {
            self.kept = 0.0;
            self.cut(from, keep, out);
        }
    }

    /// Congestion control is told of a cut to come, and the first slow start is over (RFC 9406, section 4.3).
    fn foretell(&mut self, cause: Cause, now: Time) {
        self.control.cut(&self.window, cause, now);
        self.hystart = None;
    }

    fn cut(&mut self, from: f64, keep: f64, out: &mut impl Output) {
        let mut cut = response::cut(from, keep, self.settings.halving);
        cut.cwnd = cut.cwnd.max(self.settings.min_window);
        cut.apply(&mut self.window, |window| out.window(window));
        self.cwr_due = true;
    }

    fn cut_to_one(&mut self, out: &mut impl Output) {
        let cut = response::cut(self.cut_base(), self.control.keep(), self.settings.halving).to_one();
        cut.apply(&mut self.window, |window| out.window(window));
        self.cwr_due = true;
    }

    /// The window of one segment, with the threshold as it is.
    pub fn restart_window(&mut self, out: &mut impl Output) {
        self.window.cwnd = 1.0;
        out.window(&self.window);
        self.cwr_due = true;
    }

    /// Notes whether the other side echoes marks.
    pub fn note_echo(&mut self, ack: &Ack) {
        if !self.echoed && self.ecn_confirmed {
            self.marked_at_one = false;
        }
        self.ecn_confirmed |= ack.ece || ack.cwr;
    }

    /// The retransmission timer has expired: the window falls to one segment and the timer backs off. What to send is for recovery to say.
    pub fn time_out(&mut self, now: Time, out: &mut impl Output) {
        self.rto_at = None;
        self.duplicates = 0;
        self.inflation = 0;
        // ns-2 takes the threshold for cut by a mark as long as nothing else has cut it since.
        let host = self.settings.handshake == Handshake::ThreeWay;
        let marked = self.last_cut == LastCut::Mark && self.una < self.high && (self.una < self.recover || !host);
        self.recover = self.high;
        if self.window.cwnd < 1.0 && self.settings.recovery != RecoveryName::Vegas {
            self.window.cwnd = 1.0;
            out.window(&self.window);
        }
        let outstanding = self.una < self.high;
        let idle = !outstanding && self.settings.idle_threshold;
        if self.una == 0 && self.settings.first_packet_loss {
            self.initial_window = 1;
        }
        if outstanding || self.settings.slow_start_restart {
            self.collapse(idle, marked, now, out);
        }
        if !idle {
            self.hystart = None;
            self.estimator.back_off(&self.settings);
        }
        self.restart_timer(now);
        self.timed = None;
        self.last_cut = LastCut::Timeout;
    }

    /// The window after a timeout. In a window that was cut for a mark, and with nothing outstanding, the threshold stays.
    fn collapse(&mut self, idle: bool, marked: bool, now: Time, out: &mut impl Output) {
        let again = self.settings.threshold_once && self.resent.replace(self.una) == Some(self.una);
        if !idle && !marked {
            self.counters.timeouts += 1;
        }
        // No heavier echo of the same window cuts what the timeout has left.
        self.kept = 0.0;
        if idle || marked || again {
            self.restart_window(out);
        } else {
            self.foretell(Cause::Timeout, now);
            self.cut_to_one(out);
        }
    }

    /// DCTCP's alpha, where there is one.
    pub fn alpha(&self) -> Option<f64> {
        self.response.alpha()
    }
}

/// MECN's echo in (CWR, ECE): 00 window reduced, 01 nothing, 10 incipient, 11 moderate.
fn mecn_level(ack: &Ack) -> Option<Level> {
    match (ack.cwr, ack.ece) {
        (true, false) => Some(Level::Incipient),
        (true, true) => Some(Level::Congested),
        (false, _) => None,
    }
}
