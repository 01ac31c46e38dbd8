//! The one timer and its three kinds: the retransmission timeout, the tail loss probe (RFC 8985, section 7), and the wait for what may only be
//! reordered (section 6.3). What sets one of them ends the others (Linux inet_csk_reset_xmit_timer).

use ecnlab_units::{Span, Time};

use super::news::News;
use super::{Rack, State};
use crate::segment::Ack;
use crate::tcb::{Output, Tcb};
use crate::window::CutCause;

/// The probe's timeout before the first sample (RFC 8985, section 7.2).
const UNKNOWN_RTT: Span = Span::from_secs(1);
/// Shortest timer (Linux TCP_TIMEOUT_MIN_US).
const SHORTEST: Span = Span::from_millis(2);

/// What the timer is set for besides the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pending {
    Reordering,
    Probe,
}

/// The probe that is out.
#[derive(Debug, Default)]
pub struct Probe {
    /// One past the highest segment sent when it went.
    pub ends: Option<u64>,
    /// It was a retransmission.
    pub resent: bool,
}

/// The segments that an acknowledgement reports to have come twice (RFC 2883).
pub fn dsack(ack: &Ack) -> Option<(u64, u64)> {
    let blocks = ack.sacks.as_slice();
    let first = *blocks.first()?;
    let inside = |outer: &(u64, u64)| outer.0 <= first.0 && first.1 <= outer.1;
    (first.0 < ack.next || blocks.get(1).is_some_and(inside)).then_some(first)
}

impl Rack {
    fn pend(&mut self, kind: Pending, tcb: &mut Tcb, at: Time) {
        self.pending = Some((kind, at));
        self.probe_is_due = false;
        tcb.set_timer(None);
    }

    /// The probe's timer, or that of the retransmission timeout.
    pub(super) fn set_timer(&mut self, tcb: &mut Tcb, now: Time) {
        let timeout = tcb.timeout();
        if !self.schedule_probe(timeout, tcb, now) {
            self.restart(tcb, now);
        }
    }

    /// Sets the retransmission timer, from when the first segment was sent if another kind of timer was set for it.
    pub(super) fn restart(&mut self, tcb: &mut Tcb, now: Time) {
        let instead = self.pending.take().is_some();
        if self.board.outstanding() == 0 {
            return tcb.set_timer(None);
        }
        let timeout = if instead { self.left(tcb, tcb.micros(now)).max(Span::from_micros(1)) } else { tcb.timeout() };
        tcb.set_timer(Some(tcb.expiry(now, timeout)));
    }

    /// The whole retransmission timeout from now.
    pub(super) fn restart_whole(&mut self, tcb: &mut Tcb, now: Time) {
        self.pending = None;
        self.restart(tcb, now);
    }

    /// What is left of the retransmission timeout of the first segment.
    fn left(&self, tcb: &Tcb, micros: u64) -> Span {
        let sent = self.board.first().map_or(0, |record| record.sent);
        let at = Span::from_micros(sent) + tcb.timeout();
        Span::from_picos(at.picos().saturating_sub(Span::from_micros(micros).picos()))
    }

    /// Whether a probe may go when nothing is heard: something is outstanding, and nothing of it is known to be missing.
    pub(super) fn may_probe(&self) -> bool {
        self.rules.probes && self.board.outstanding() > 0 && matches!(self.state, State::Open | State::Cwr)
    }

    /// Sets the probe's timer while nothing is known to be missing: two round trips, and for a single segment, whose acknowledgement the receiver
    /// may delay, the least timeout besides (RFC 8985, section 7.2, has 200 ms, which that is in Linux), but not beyond the retransmission timeout. Returns whether it did.
    pub(super) fn schedule_probe(&mut self, timeout_left: Span, tcb: &mut Tcb, now: Time) -> bool {
        if !self.may_probe() {
            return false;
        }
        let wait = match tcb.round_trips_micros(2) {
            None => UNKNOWN_RTT,
            Some(two) => Span::from_micros(two) + if self.board.outstanding() == 1 { tcb.settings().effective_rto_min() } else { SHORTEST },
        };
        let wait = if timeout_left > Span::ZERO { wait.min(timeout_left) } else { wait };
        let at = tcb.expiry(now, wait);
        self.pend(Pending::Probe, tcb, at);
        true
    }

    /// The same after something was sent, which does not move the retransmission timeout.
    pub(super) fn schedule_probe_after_sending(&mut self, tcb: &mut Tcb, (now, micros): (Time, u64)) -> bool {
        let left = self.left(tcb, micros);
        self.schedule_probe(left, tcb, now)
    }

    /// Sends a new segment, or the last one again, to draw an acknowledgement.
    pub(super) fn send_probe(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        if self.probe.ends.is_none() && self.board.outstanding() > 0 {
            self.probe.resent = !self.push_one(tcb, now, out);
            if self.probe.resent {
                self.transmit_again(tcb.high() - 1, false, tcb, now, out);
            }
            self.probe.ends = Some(tcb.high());
            self.pending = None;
        }
        self.restart(tcb, now);
    }

    /// What an acknowledgement says of the probe (section 7.4): one that repaired a loss which nothing else showed is answered as a loss.
    #[inline]
    pub(super) fn answer_probe(&mut self, tcb: &mut Tcb, ack: &Ack, news: &News, now: Time, out: &mut impl Output) {
        if let Some(ends) = self.probe.ends.filter(|&ends| ack.next >= ends) {
            self.end_probe(ends, tcb, ack, news, now, out);
        }
    }

    #[inline(never)]
    fn end_probe(&mut self, ends: u64, tcb: &mut Tcb, ack: &Ack, news: &News, now: Time, out: &mut impl Output) {
        let duplicate = !news.advanced && !news.is_new() && !news.sacked;
        if !self.probe.resent || news.twice_probe {
            self.probe.ends = None;
        } else if ack.next > ends {
            self.begin_reduction(CutCause::Probe, tcb, now, out);
            self.enter(State::Cwr);
            self.end_reduction(tcb, now, out);
            self.keep_open(tcb);
        } else if duplicate {
            self.probe.ends = None;
        }
    }

    /// Marks what is late as lost, and sets the timer for what may still be in time; returns whether it did.
    pub(super) fn find_late(&mut self, tcb: &mut Tcb, now: Time) -> bool {
        if !std::mem::take(&mut self.reordering.advanced) {
            return false;
        }
        let Some(wait) = self.detect(tcb, now) else { return false };
        let at = tcb.expiry(now, (wait + SHORTEST).min(tcb.timeout()));
        self.pend(Pending::Reordering, tcb, at);
        true
    }

    fn detect(&mut self, tcb: &Tcb, now: Time) -> Option<Span> {
        let recovering = self.state >= State::Recovery;
        let srtt = tcb.round_trips_micros(1).unwrap_or(0);
        self.reordering.detect(&mut self.board, recovering, tcb.min_rtt_micros(), srtt, tcb.micros(now))
    }

    /// What may have been reordered is late now.
    pub(super) fn end_reordering(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        let before = self.board.in_flight();
        self.detect(tcb, now);
        if before != self.board.in_flight() {
            if self.state != State::Recovery {
                self.enter_recovery(false, tcb, now, out);
                self.reduce(tcb, 1, false, out);
            }
            self.send_lost(tcb, now, out);
        }
        if self.pending.is_some() {
            self.restart(tcb, now);
        }
    }

    /// The retransmission timer has expired: all that was not sent just now is lost, the window falls to one segment, and the first one goes.
    pub(super) fn time_out(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        tcb.set_timer(None);
        if self.board.outstanding() == 0 {
            // Marks have closed the window (RFC 3168, section 6.1.2).
            tcb.reopen_window(out);
            return self.push(tcb, now, out);
        }
        tcb.count_timeout();
        self.enter_loss(tcb, now, out);
        self.timeouts += 1;
        self.transmit_again(tcb.una(), true, tcb, now, out);
        tcb.back_off();
        self.restart_whole(tcb, now);
    }

    fn enter_loss(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        let first = self.state < State::Recovery;
        self.lose_all(tcb, now);
        // The threshold is cut once for what was sent, and for the timeout of what was sent after it.
        let cuts = self.state <= State::Disorder || tcb.una() >= self.ends || self.state == State::Loss && self.timeouts == 0;
        let marked = !self.rules.reduces_for_marks && tcb.is_in_marked_window();
        if cuts && !marked {
            self.undo.threshold = Some(self.threshold_in_force(tcb));
            self.undo.window = tcb.window().cwnd;
            tcb.cut_threshold(CutCause::Timeout, now, out);
            self.arm_undo(tcb);
        }
        tcb.set_cwnd((self.board.in_flight() + 1) as f64, out);
        if self.state <= State::Disorder && self.board.sacked >= self.reordering.least {
            self.reordering.degree = self.reordering.degree.min(self.reordering.least);
        }
        self.enter(State::Loss);
        self.ends = tcb.high();
        self.probe.ends = None;
        self.prr = None;
        tcb.note_timeout(now);
        self.frto = self.rules.frto && (first || self.timeouts > 0);
    }

    /// All is lost that was not sent within the last round trip, and where losses are told by counting, all.
    fn lose_all(&mut self, tcb: &Tcb, now: Time) {
        if !self.rules.sack {
            self.forget_duplicates();
        } else if self.board.first().is_some_and(|record| record.sacked) {
            self.board.forget_sacks();
        }
        let (una, micros) = (tcb.una(), tcb.micros(now));
        for seq in una..self.board.end() {
            let recent = !self.rules.counts && self.board.get(seq).is_some_and(|record| self.reordering.is_recent(record, micros));
            if seq == una || !recent {
                self.board.lose(seq);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::testing::Wire;

    fn millis(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    /// So many segments are in flight and there is room for no other.
    fn full(window: u64) -> Wire {
        Wire::host(window, |settings| settings.max_window = window)
    }

    #[test]
    fn a_probe_waits_two_round_trips_and_what_the_receiver_may_delay_a_single_segment_s_answer() {
        // RFC 8985, section 7.2. The round trip is 100 ms, the timeout 300 ms.
        assert_eq!(millis(202), full(2).wake());
        assert_eq!(millis(300), full(1).wake(), "not the 400 ms of two round trips and 200 ms");
    }

    #[test]
    fn a_probe_is_new_if_it_can_be_and_else_the_last_segment_again() {
        // RFC 8985, section 7.3.
        let mut wire = full(4);
        wire.wake();
        assert_eq!(vec![4], wire.sent());
        let mut wire = Wire::host(4, |_| ());
        wire.wake();
        assert_eq!(vec![5], wire.sent(), "whatever the window");
    }

    #[test]
    fn after_the_probe_comes_the_timeout() {
        let mut wire = full(4);
        let waited = wire.wake();
        wire.sent();
        assert_eq!(millis(300), wire.wake(), "anew from the probe, {waited:?} after the segments");
        assert_eq!((vec![1], 1.0), (wire.sent(), wire.window().0));
        assert_eq!(millis(600), wire.wake(), "twice as long");
    }

    #[test]
    fn a_probe_that_repaired_a_loss_is_answered_as_one_and_one_that_came_twice_is_not() {
        // RFC 8985, section 7.4.2: what is acknowledged beyond the probe without a report of it.
        for (blocks, expected) in [(&[][..], 10.0), (&[(20, 21)][..], 20.0)] {
            let mut wire = Wire::host(20, |settings| settings.max_window = 20);
            let sent = wire.now;
            wire.wake();
            assert_eq!(vec![20], wire.sent());
            wire.hear(20, &[], sent);
            wire.wait(millis(100));
            wire.hear(21, blocks, sent);
            wire.wait(millis(100));
            wire.hear(22, &[], wire.now);
            assert_eq!(expected, wire.window().1, "{blocks:?}");
        }
    }

    #[test]
    fn what_may_only_be_reordered_is_waited_for() {
        // RFC 8985, section 6.3: a quarter of the round trip, and 2 ms.
        let mut wire = Wire::host(20, |_| ());
        let sent = wire.now;
        wire.wait(millis(100));
        wire.hear(1, &[(2, 3)], sent);
        wire.sent();
        assert_eq!(millis(27), wire.wake());
        assert_eq!(Some(&1), wire.sent().first());
        assert_eq!(10.0, wire.window().1);
    }

    #[test]
    fn a_timeout_takes_for_lost_what_was_sent_more_than_a_round_trip_ago() {
        // RFC 8985, section 6.4: 5 and 6 went 50 ms before it.
        let mut wire = Wire::host(4, |settings| settings.tlp = false);
        wire.wait(millis(250));
        wire.widen(6);
        assert_eq!(vec![5, 6], wire.sent());
        assert_eq!(millis(50), wire.wake());
        assert_eq!((vec![1], 3.0), (wire.sent(), wire.window().0), "two are in flight, and one may go");
    }
}
