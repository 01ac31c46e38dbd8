//! What an acknowledgement means to the state, and what leads from one to another (Linux tcp_fastretrans_alert).

use ecnlab_units::Time;

use super::news::News;
use super::{Rack, Resend, State};
use crate::recovery::prr::Prr;
use crate::settings::CutFrom;
use crate::tcb::{Output, Tcb};
use crate::window::{CutCause, Window};

impl Rack {
    /// An acknowledgement that is not only of what was sent: ends a state that is over, and enters the one that it asks for.
    pub(super) fn alert(&mut self, tcb: &mut Tcb, news: &mut News, now: Time, out: &mut impl Output) -> Resend {
        let duplicates = u64::from(!news.advanced && !news.is_new() && !news.twice && news.outstanding_before > 0);
        if self.board.outstanding() == 0 && !self.rules.sack {
            self.forget_duplicates();
        }
        if news.echo {
            self.undo.threshold = None;
        }
        if self.state == State::Open {
            self.undo.first_resent = None;
        } else if tcb.una() >= self.ends && self.end_state(tcb, now, out) {
            return Resend::Nothing;
        }
        match self.state {
            State::Recovery => self.go_on_recovering(tcb, news, duplicates, now, out),
            State::Loss => self.go_on_after_timeout(tcb, news, duplicates, now, out),
            State::Open | State::Disorder | State::Cwr => self.look_for_losses(tcb, news, duplicates, now, out),
        }
    }

    /// All that the state covers is acknowledged; returns whether nothing more is to be done.
    fn end_state(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) -> bool {
        match self.state {
            // Until more is acknowledged the CWR may not have reached the receiver.
            State::Cwr if tcb.una() > self.ends => {
                self.end_reduction(tcb, out);
                self.enter(State::Open);
            }
            State::Recovery => {
                if !self.rules.sack {
                    self.forget_duplicates();
                }
                if self.finish(tcb, now, out) {
                    return true;
                }
                // Unless the cut was taken back, the window is what it has left.
                if self.undo.is_armed() {
                    self.end_reduction(tcb, out);
                }
            }
            _ => {}
        }
        false
    }

    pub(super) fn end_reduction(&mut self, tcb: &mut Tcb, out: &mut impl Output) {
        let (reduced, window) = (self.prr.take().is_some(), *tcb.window());
        tcb.set_cwnd(if reduced { window.ssthresh } else { window.cwnd.min(window.ssthresh) }, out);
    }

    fn go_on_recovering(&mut self, tcb: &mut Tcb, news: &mut News, duplicates: u64, now: Time, out: &mut impl Output) -> Resend {
        if news.advanced {
            if self.undo_in_part(tcb, news.una_before, now, out) {
                return Resend::Nothing;
            }
        } else if !self.rules.sack {
            self.count_duplicate(duplicates);
        }
        if self.undo_by_reports(tcb, now, out) {
            self.try_to_open(tcb, news, now, out);
        }
        self.identify(tcb, news, now);
        if self.state != State::Recovery {
            if self.board.lost == 0 {
                return Resend::Nothing;
            }
            self.enter_recovery(news.echo, tcb, now, out);
        }
        Resend::Lost
    }

    fn go_on_after_timeout(&mut self, tcb: &mut Tcb, news: &mut News, duplicates: u64, now: Time, out: &mut impl Output) -> Resend {
        let resend = self.process_timeout(tcb, news, duplicates, now, out);
        self.identify(tcb, news, now);
        if self.state == State::Open || news.lost_again {
            return match self.look_for_losses(tcb, news, duplicates, now, out) {
                Resend::Nothing => resend,
                other => other,
            };
        }
        resend
    }

    fn process_timeout(&mut self, tcb: &mut Tcb, news: &mut News, duplicates: u64, now: Time, out: &mut impl Output) -> Resend {
        let recovered = tcb.una() >= self.ends;
        if news.advanced && self.undo_timeout(false, tcb, now, out) {
            return Resend::Nothing;
        }
        if self.frto {
            // A segment that was sent once has arrived: not all was lost (RFC 5682, section 3.1, step 3.b).
            if news.original && self.undo_timeout(true, tcb, now, out) {
                return Resend::Nothing;
            }
            if tcb.high() > self.ends {
                self.frto &= !(news.sacked || duplicates > 0);
            } else if news.advanced && !recovered {
                self.ends = tcb.high();
                if tcb.has_new() {
                    return Resend::New;
                }
                self.frto = false;
            }
        }
        if recovered {
            self.finish(tcb, now, out);
            return Resend::Nothing;
        }
        if !self.rules.sack {
            if tcb.high() > self.ends && duplicates > 0 {
                self.count_duplicate(duplicates);
            } else if news.advanced {
                self.forget_duplicates();
            }
        }
        Resend::Lost
    }

    fn look_for_losses(&mut self, tcb: &mut Tcb, news: &mut News, duplicates: u64, now: Time, out: &mut impl Output) -> Resend {
        if !self.rules.sack {
            if news.advanced {
                self.forget_duplicates();
            }
            self.count_duplicate(duplicates);
        }
        if self.state <= State::Disorder {
            self.undo_by_reports(tcb, now, out);
        }
        self.identify(tcb, news, now);
        if self.board.lost == 0 {
            self.try_to_open(tcb, news, now, out);
            return Resend::Nothing;
        }
        self.enter_recovery(news.echo, tcb, now, out);
        Resend::Lost
    }

    /// Finds what is lost.
    fn identify(&mut self, tcb: &mut Tcb, news: &mut News, now: Time) {
        if self.board.outstanding() == 0 {
            return;
        }
        if !self.rules.sack {
            return self.find_first_lost(tcb, news.advanced);
        }
        let resent = self.board.resent;
        if self.find_late(tcb, now) {
            news.sets_timer = false;
        }
        news.lost_again |= resent > self.board.resent;
    }

    /// Without SACK the first segment is lost after enough duplicates, and in recovery with every acknowledgement of a part (RFC 6582).
    fn find_first_lost(&mut self, tcb: &Tcb, advanced: bool) {
        let by_duplicates = self.state < State::Recovery && self.board.sacked >= self.reordering.degree;
        let lost = self.board.first().is_some_and(|record| record.lost);
        if !lost && (by_duplicates || self.state == State::Recovery && advanced) {
            self.board.lose(tcb.una());
        }
    }

    fn try_to_open(&mut self, tcb: &mut Tcb, news: &News, now: Time, out: &mut impl Output) {
        self.forget_resent();
        if news.echo {
            self.enter_reduction_for_mark(tcb, now, out);
        }
        if self.state != State::Cwr {
            self.keep_open(tcb);
        }
    }

    pub(super) fn keep_open(&mut self, tcb: &mut Tcb) {
        let disorder = self.board.sacked + self.board.lost > 0 || self.has_resent();
        let state = if disorder { State::Disorder } else { State::Open };
        if self.state != state {
            self.enter(state);
            self.ends = tcb.high();
        }
    }

    /// An echo of a mark: the window comes down, unless it does already.
    fn enter_reduction_for_mark(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        self.undo.threshold = None;
        if self.state < State::Cwr {
            self.undo.disarm();
            self.begin_reduction(CutCause::Mark, tcb, now, out);
            self.enter(State::Cwr);
        }
    }

    pub(super) fn enter_recovery(&mut self, echo: bool, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        self.forget_resent();
        self.undo.threshold = None;
        self.arm_undo(tcb);
        if !self.reduces() {
            self.undo.threshold = (!echo).then(|| self.threshold_in_force(tcb));
            self.begin_reduction(CutCause::Loss, tcb, now, out);
        } else {
            tcb.deepen_threshold(out);
        }
        self.enter(State::Recovery);
        tcb.enter_recovery();
    }

    pub(super) fn arm_undo(&mut self, tcb: &Tcb) {
        let probe = u64::from(self.probe.ends.is_some() && self.probe.resent);
        self.undo.arm(tcb.una(), self.board.resent + probe);
    }

    /// The threshold that the last slow start has shown to be good: three quarters of the window if that is more, but not while it comes down
    /// (Linux tcp_current_ssthresh; RFC 2861).
    pub(super) fn threshold_in_force(&self, tcb: &Tcb) -> f64 {
        let window = tcb.window();
        let cwnd = window.cwnd as u64;
        if self.reduces() { window.ssthresh } else { window.ssthresh.max((cwnd / 2 + cwnd / 4) as f64) }
    }

    /// Cuts the threshold; the window follows as acknowledgements come, or at once where there is no proportional rate reduction.
    pub(super) fn begin_reduction(&mut self, cause: CutCause, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        self.ends = tcb.high();
        self.probe.ends = None;
        self.undo.window = tcb.window().cwnd;
        let of = match tcb.settings().prr_of {
            CutFrom::Window => tcb.window().cwnd as u64,
            CutFrom::Flight => tcb.outstanding(),
        };
        if cause != CutCause::Mark && !self.rules.reduces_for_marks && tcb.is_in_marked_window() {
            tcb.cut_after_mark(tcb.cut_base(), out);
        } else {
            tcb.cut_threshold(cause, now, out);
        }
        self.prr = self.rules.prr.then(|| Prr::new(of, tcb.settings().prr_bound));
        if self.prr.is_none() {
            let Window { cwnd, ssthresh } = *tcb.window();
            tcb.set_cwnd(cwnd.min(ssthresh), out);
        }
    }
}
