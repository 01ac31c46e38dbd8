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
        let duplicates = u64::from(!news.advanced && !news.overtaken && !news.is_new() && !news.twice && news.outstanding_before > 0);
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
    #[inline(never)]
    fn end_state(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) -> bool {
        match self.state {
            // Until more is acknowledged the CWR may not have reached the receiver.
            State::Cwr if tcb.una() > self.ends => {
                self.end_reduction(tcb, now, out);
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
                    self.end_reduction(tcb, now, out);
                }
            }
            _ => {}
        }
        false
    }

    pub(super) fn end_reduction(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        tcb.count_as_used(now);
        let (reduced, window) = (self.prr.take().is_some(), *tcb.window());
        tcb.set_cwnd(if reduced { window.ssthresh } else { window.cwnd.min(window.ssthresh) }, out);
    }

    #[inline(never)]
    fn go_on_recovering(&mut self, tcb: &mut Tcb, news: &mut News, duplicates: u64, now: Time, out: &mut impl Output) -> Resend {
        let mut asks = self.asks_to_count(tcb, news, duplicates);
        if news.advanced {
            if self.undo_in_part(tcb, news.una_before, now, out) {
                return Resend::Nothing;
            }
            if self.state == State::Recovery {
                asks = self.is_far_above(tcb);
            }
        } else if !self.rules.sack {
            self.count_duplicate(duplicates);
        }
        if self.undo_by_reports(tcb, now, out) {
            self.try_to_open(tcb, news, now, out);
        }
        self.identify(tcb, news, now);
        if self.state != State::Recovery {
            if !self.has_losses() {
                return Resend::Nothing;
            }
            self.enter_recovery(news.echo, tcb, now, out);
        }
        if asks {
            self.mark_by_count(tcb, false);
        }
        Resend::Lost
    }

    /// Whether a loss is known, or enough is counted for one.
    fn has_losses(&self) -> bool {
        self.board.lost > 0 || self.counts_enough()
    }

    #[inline(never)]
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
        if !self.has_losses() {
            self.try_to_open(tcb, news, now, out);
            return Resend::Nothing;
        }
        let asks = self.asks_to_count(tcb, news, duplicates);
        self.enter_recovery(news.echo, tcb, now, out);
        if asks {
            self.mark_by_count(tcb, true);
        }
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
        if self.rules.counts {
            return;
        }
        let resent = self.board.resent;
        if self.find_late(tcb, now) {
            news.sets_timer = false;
        }
        news.lost_again |= resent > self.board.resent;
    }

    /// Without SACK the first segment is lost after enough duplicates, and in recovery with every acknowledgement of a part (RFC 6582).
    #[inline(never)]
    fn find_first_lost(&mut self, tcb: &Tcb, advanced: bool) {
        let by_duplicates = self.state < State::Recovery && self.board.sacked >= self.reordering.degree;
        if by_duplicates || self.state == State::Recovery && advanced {
            self.board.lose_first(tcb.una());
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
    #[inline(never)]
    fn enter_reduction_for_mark(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        self.undo.threshold = None;
        if self.state < State::Cwr {
            self.undo.disarm();
            self.begin_reduction(CutCause::Mark, tcb, now, out);
            self.enter(State::Cwr);
        }
    }

    #[inline(never)]
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
    #[inline(never)]
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

#[cfg(test)]
mod tests {
    use ecnlab_units::{Span, Time};

    use crate::recovery::testing::Wire;
    use crate::settings::MarkReduction;

    fn millis(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    /// All of 20 segments are acknowledged one by one, with the echo of a mark; returns what each of the acknowledgements sent.
    fn marked(wire: &mut Wire) -> Vec<usize> {
        let sent = wire.now;
        wire.wait(millis(100));
        let mut each = |next| {
            wire.hear_mark(next, sent);
            wire.sent().len()
        };
        (2..=21).map(&mut each).collect()
    }

    #[test]
    fn a_mark_brings_the_window_down_by_a_segment_for_two_acknowledgements() {
        let mut wire = Wire::host(20, |_| ());
        let sends = marked(&mut wire);
        // RFC 6937, section 3.1; the last two when no more is in flight than the threshold.
        assert!(sends[..18].chunks(2).all(|pair| pair == [1, 0]), "{sends:?}");
        assert_eq!(10, sends.iter().sum::<usize>());
        assert_eq!((10.0, 10.0), wire.window());
    }

    #[test]
    fn a_mark_that_cuts_at_once_leaves_silence_for_half_a_round_trip() {
        let mut wire = Wire::host(20, |settings| settings.mark_reduction = MarkReduction::AtOnce);
        let sends = marked(&mut wire);
        assert_eq!(([0; 10], 10), (sends[..10].try_into().unwrap(), sends[10..].iter().sum::<usize>()));
    }

    #[test]
    fn the_window_does_not_grow_while_it_comes_down_and_an_echo_that_outlives_that_cuts_again() {
        for (marked_again, expected) in [(false, (10.0, 10.0)), (true, (10.0, 5.0))] {
            let mut wire = Wire::host(20, |_| ());
            marked(&mut wire);
            let sent = wire.now;
            wire.wait(millis(100));
            if marked_again {
                wire.hear_mark(22, sent)
            } else {
                wire.hear(22, &[], sent)
            }
            assert_eq!(expected, wire.window(), "{marked_again}");
        }
    }

    #[test]
    fn a_loss_while_the_window_comes_down_for_a_mark_does_not_cut_again() {
        let mut wire = Wire::host(20, |_| ());
        let sent = wire.now;
        wire.wait(millis(100));
        wire.hear_mark(2, sent);
        (4..=7).for_each(|end| wire.hear(2, &[(3, end)], sent));
        assert!(wire.sent().contains(&2), "when the reduction leaves a segment for it");
        assert_eq!(10.0, wire.window().1);
    }

    #[test]
    fn without_sack_the_third_duplicate_and_each_partial_acknowledgement_send_a_segment_again() {
        // RFC 6582, section 3.2.
        let mut wire = Wire::host(20, |settings| settings.sack_blocks = 0);
        let sent = wire.now;
        wire.wait(millis(100));
        let again = |wire: &mut Wire, next| {
            wire.hear(next, &[], sent);
            wire.sent().into_iter().filter(|&seq| seq <= 20).collect::<Vec<_>>()
        };
        assert_eq!([vec![], vec![], vec![1], vec![]], [1; 4].map(|next| again(&mut wire, next)));
        assert_eq!(10.0, wire.window().1);
        wire.wait(millis(100));
        let now = wire.now;
        wire.hear(7, &[], now);
        assert_eq!(Some(&7), wire.sent().first());
        let high = wire.tcb.high();
        wire.hear(high, &[], now);
        assert_eq!(10.0, wire.window().1, "one cut for both");
    }

    /// Segments 1 to 10 are in flight, the timer has expired and 1 went again; returns when they went and when 1 went again.
    fn timed_out() -> (Wire, Time, Time) {
        let mut wire = Wire::host(10, |settings| settings.tlp = false);
        let sent = wire.now;
        wire.wake();
        assert_eq!((vec![1], (1.0, 5.0)), (wire.sent(), wire.window()));
        wire.wait(millis(100));
        let again = wire.now;
        (wire, sent, again)
    }

    #[test]
    fn an_acknowledgement_from_before_the_retransmission_takes_a_timeout_back() {
        // RFC 4015, section 3.2.
        let (mut wire, sent, _) = timed_out();
        wire.hear(2, &[], sent);
        assert_eq!((11.0, 100.0), wire.window(), "as it was, and grown by one");
        assert_eq!(vec![11, 12], wire.sent());
    }

    #[test]
    fn after_a_timeout_two_new_segments_go_and_an_original_that_arrives_takes_it_back() {
        // RFC 5682, section 3.1, steps 2.b and 3.b.
        let (mut wire, _, again) = timed_out();
        wire.hear(2, &[], again);
        assert_eq!(vec![11, 12], wire.sent());
        wire.hear(3, &[], again);
        assert_eq!(100.0, wire.window().1);
        assert!(wire.sent().iter().all(|&seq| seq > 12), "nothing was lost");
    }

    #[test]
    fn after_a_timeout_what_arrives_of_the_new_segments_shows_that_the_rest_is_lost() {
        // RFC 5682, section 3.1, step 3.a.
        let (mut wire, _, again) = timed_out();
        wire.hear(2, &[], again);
        assert_eq!(vec![11, 12], wire.sent());
        wire.wait(millis(100));
        wire.hear(2, &[(11, 12)], again);
        assert_eq!(Some(&2), wire.sent().first());
        assert_eq!(5.0, wire.window().1);
    }

    #[test]
    fn without_new_segments_a_timeout_goes_on_with_the_old_ones() {
        // RFC 5682, section 3.1, step 2.a.
        let (mut wire, _, again) = timed_out();
        wire.offer = 9 * wire.tcb.plan().full_payload();
        wire.hear(2, &[], again);
        assert_eq!(vec![2, 3], wire.sent());
    }
}
