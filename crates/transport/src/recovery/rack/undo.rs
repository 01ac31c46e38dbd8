//! Undo of a spurious reduction (RFC 4015).
//!
//! Two events show that nothing was lost. The timestamp of an ACK is older than the first retransmission (Eifel, RFC 3522). Or DSACKs
//! report each retransmitted segment as a duplicate (RFC 3708).

use ecnlab_units::Time;

use super::reordering::REO_WND_PERSIST;
use super::{CaState, Rack};
use crate::tcb::{SenderOutput, Tcb};

/// State needed to undo the last reduction.
#[derive(Debug, Default)]
pub struct UndoState {
    /// First unacknowledged segment at the reduction; none if it cannot be undone.
    undo_marker: Option<u64>,
    /// Retransmissions not reported as duplicates yet; none before the first retransmission.
    undo_retrans: Option<u64>,
    /// Cwnd and ssthresh before the reduction; ssthresh is cleared when a mark has confirmed the reduction.
    pub prior_cwnd: f64,
    pub prior_ssthresh: Option<f64>,
    /// Time of the first retransmission in milliseconds of the host clock.
    pub retrans_stamp: Option<u64>,
}

impl UndoState {
    /// Starts to track a reduction, with `resent` retransmissions in flight.
    pub fn begin_undo(&mut self, snd_una: u64, resent: u64) {
        self.undo_marker = Some(snd_una);
        self.undo_retrans = (resent > 0).then_some(resent);
    }

    pub fn clear_undo(&mut self) {
        self.undo_marker = None;
    }

    pub fn has_undo_marker(&self) -> bool {
        self.undo_marker.is_some()
    }

    /// Whether a DSACK that ends at `end` concerns a retransmission since the reduction.
    pub fn is_after_marker(&self, end: u64) -> bool {
        self.undo_marker.is_some_and(|marker| end > marker)
    }

    /// Records a retransmission.
    pub fn on_retransmitted(&mut self, millis: u64) {
        self.retrans_stamp.get_or_insert(millis);
        self.undo_retrans = Some(self.undo_retrans.unwrap_or(0) + 1);
    }

    /// Records a DSACK of `segments` segments up to `end`.
    pub fn on_dsack(&mut self, end: u64, segments: u64) {
        if self.is_after_marker(end) {
            self.undo_retrans = self.undo_retrans.map(|open| open.saturating_sub(segments));
        }
    }

    /// Whether all retransmissions were reported as duplicates.
    fn all_retransmissions_dsacked(&self) -> bool {
        self.undo_marker.is_some() && self.undo_retrans == Some(0)
    }
}

impl Rack {
    /// Whether the timestamp of the ACK is older than the first retransmission.
    fn ack_predates_retransmission(&self, tcb: &Tcb) -> bool {
        match self.undo.retrans_stamp {
            Some(first) => self.options.timestamps && tcb.host_clock_millis_at(self.echoed_send_time) < first,
            None => self.options.uses_sack || tcb.snd_una() < self.high_seq,
        }
    }

    fn may_undo(&self, tcb: &Tcb) -> bool {
        self.options.undo && self.undo.has_undo_marker() && (self.undo.undo_retrans == Some(0) || self.ack_predates_retransmission(tcb))
    }

    /// Whether an unacknowledged segment was retransmitted.
    pub(super) fn has_retransmission_outstanding(&self) -> bool {
        self.scoreboard.retransmitted > 0 || self.scoreboard.first_segment().is_some_and(|segment| segment.ever_retransmitted)
    }

    /// Clears the time of the first retransmission if none is outstanding.
    pub(super) fn clear_retrans_stamp(&mut self) {
        if !self.has_retransmission_outstanding() {
            self.undo.retrans_stamp = None;
        }
    }

    /// Undoes the last reduction, and with `none` clears the lost marks.
    #[inline(never)]
    fn undo_reduction(&mut self, none: bool, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
        if none {
            self.scoreboard.clear_lost();
        }
        if let Some(threshold) = self.undo.prior_ssthresh {
            tcb.undo_reduction(self.undo.prior_cwnd, threshold, now, out);
        }
        tcb.mark_cwnd_used(now);
        self.undo.clear_undo();
        self.reordering.delivered_since_check = true;
    }

    /// Undoes the reduction if possible when all covered segments are acknowledged, and enters Open; returns whether the state stays.
    pub(super) fn try_undo_recovery(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) -> bool {
        if self.may_undo(tcb) {
            self.undo_reduction(false, tcb, now, out);
        } else {
            self.reordering.reo_wnd_persist = self.reordering.reo_wnd_persist.saturating_sub(1);
        }
        if self.stays_in_state_without_sack(tcb) {
            return true;
        }
        self.set_state(CaState::Open, tcb);
        tcb.recovery_point.exit_recovery();
        false
    }

    /// Keeps the state without SACK until a segment above `high_seq` is acknowledged, against false retransmissions (RFC 6582, section
    /// 4.1).
    fn stays_in_state_without_sack(&mut self, tcb: &Tcb) -> bool {
        let holds = !self.options.uses_sack && tcb.snd_una() == self.high_seq;
        if holds {
            self.clear_retrans_stamp();
        }
        holds
    }

    /// Undoes the reduction if DSACKs cover all retransmissions; returns whether it did.
    pub(super) fn try_undo_by_dsack(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) -> bool {
        let undone = self.options.undo && self.undo.all_retransmissions_dsacked();
        if undone {
            self.reordering.reo_wnd_persist = (self.reordering.reo_wnd_persist + 1).min(REO_WND_PERSIST);
            self.undo_reduction(false, tcb, now, out);
        }
        undone
    }

    /// Checks on a partial ACK in recovery whether a reordered segment, and not a retransmission, filled the hole. If no retransmission is
    /// outstanding, the reduction is undone; otherwise new segments are sent, and no more are marked as lost.
    pub(super) fn try_undo_partial(&mut self, tcb: &mut Tcb, una_before: u64, now: Time, out: &mut impl SenderOutput) -> bool {
        if !(self.options.undo && self.undo.has_undo_marker() && self.ack_predates_retransmission(tcb)) {
            return false;
        }
        let highest = self.scoreboard.sacked_end(tcb.snd_una());
        self.reordering.on_reordered(una_before, highest);
        if self.scoreboard.retransmitted > 0 {
            return true;
        }
        self.clear_retrans_stamp();
        self.undo_reduction(true, tcb, now, out);
        self.try_keep_open(tcb);
        false
    }

    /// Undoes an RTO if it was spurious; returns whether the ACK needs no further processing.
    pub(super) fn try_undo_loss(&mut self, spurious: bool, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) -> bool {
        if !(spurious || self.may_undo(tcb)) {
            return false;
        }
        self.undo_reduction(true, tcb, now, out);
        self.consecutive_rtos = 0;
        if !self.stays_in_state_without_sack(tcb) && (spurious || self.options.uses_sack) {
            self.set_state(CaState::Open, tcb);
            tcb.recovery_point.exit_recovery();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::{Span, Time};

    use crate::recovery::testing::RecoveryTestBench;
    use crate::settings::TcpSettings;

    /// Segment 1 of 20 is late and retransmitted 100 ms after all were sent; returns the send time.
    fn bench_with_late_segment(change: impl FnOnce(&mut TcpSettings)) -> (RecoveryTestBench, Time) {
        let mut wire = RecoveryTestBench::with_linux_profile(20, change);
        let sent = wire.now;
        wire.advance_clock(Span::from_millis(100));
        (3..=5).for_each(|end| wire.ack_with_sack(1, &[(2, end)], sent));
        assert_eq!(Some(&1), wire.take_sent().iter().find(|&&seq| seq < 20));
        assert_eq!(10.0, wire.tcb.window().ssthresh);
        wire.advance_clock(Span::from_millis(10));
        (wire, sent)
    }

    #[test]
    fn a_timestamp_from_before_the_retransmission_takes_the_cut_back() {
        // RFC 3522, section 3.2; RFC 4015, section 3.2.
        let (mut wire, sent) = bench_with_late_segment(|_| ());
        wire.ack_with_sack(5, &[], sent);
        let (cwnd, ssthresh) = wire.cwnd_and_ssthresh();
        assert!(cwnd >= 20.0 && ssthresh == 100.0, "{cwnd} {ssthresh}");
        // Four segments overtook it: from now on four may do so without a loss.
        wire.take_sent();
        let sent = wire.now;
        wire.advance_clock(Span::from_millis(20));
        (7..=9).for_each(|end| wire.ack_with_sack(5, &[(6, end)], sent));
        assert!(!wire.take_sent().contains(&5));
    }

    #[test]
    fn the_answer_to_the_retransmission_does_not() {
        let (mut wire, _) = bench_with_late_segment(|_| ());
        wire.ack_with_sack(5, &[], wire.now);
        assert_eq!(10.0, wire.tcb.window().ssthresh);
    }

    #[test]
    fn without_the_parameter_a_cut_stays() {
        let (mut wire, sent) = bench_with_late_segment(|settings| settings.quirks.undo = false);
        wire.ack_with_sack(5, &[], sent);
        assert_eq!(10.0, wire.tcb.window().ssthresh);
    }

    #[test]
    fn without_timestamps_reports_that_all_came_twice_do() {
        // RFC 3708, section 3: the DSACK of the only retransmission.
        let (mut wire, sent) = bench_with_late_segment(|settings| settings.timestamps = false);
        wire.ack_with_sack(5, &[], sent);
        assert_eq!(10.0, wire.tcb.window().ssthresh);
        wire.advance_clock(Span::from_millis(90));
        wire.ack_with_sack(5, &[(1, 2)], sent);
        let (cwnd, ssthresh) = wire.cwnd_and_ssthresh();
        assert!(cwnd >= 20.0 && ssthresh == 100.0, "{cwnd} {ssthresh}");
    }

    #[test]
    fn one_report_of_two_retransmissions_says_nothing() {
        let mut wire = RecoveryTestBench::with_linux_profile(20, |settings| settings.timestamps = false);
        let sent = wire.now;
        wire.advance_clock(Span::from_millis(100));
        (4..=21).for_each(|end| wire.ack_with_sack(1, &[(3, end)], sent));
        let again = wire.take_sent();
        assert!(again.contains(&1) && again.contains(&2), "{again:?}");
        wire.advance_clock(Span::from_millis(100));
        wire.ack_with_sack(21, &[], sent);
        wire.ack_with_sack(21, &[(1, 2)], sent);
        assert_eq!(10.0, wire.tcb.window().ssthresh);
        wire.ack_with_sack(21, &[(2, 3)], sent);
        assert_eq!(100.0, wire.tcb.window().ssthresh);
    }
}
