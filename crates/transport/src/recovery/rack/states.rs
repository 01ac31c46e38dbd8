//! Processing of an ACK in each state, and the transitions between states (Linux tcp_fastretrans_alert).

use ecnlab_units::Time;

use super::ack_state::AckState;
use super::{CaState, Rack, RexmitAction};
use crate::congestion::{CongestionWindow, ReductionCause};
use crate::recovery::prr::Prr;
use crate::settings::ReduceFrom;
use crate::tcb::{SenderOutput, Tcb};

impl Rack {
    /// Processes an ACK on the slow path: ends a completed state, and enters the next one.
    pub(super) fn process_ack_in_state(
        &mut self,
        tcb: &mut Tcb,
        ack_state: &mut AckState,
        now: Time,
        out: &mut impl SenderOutput,
    ) -> RexmitAction {
        ack_state.is_counted_dupack = !ack_state.advanced
            && !ack_state.is_old_ack
            && !ack_state.is_not_dupack()
            && !ack_state.dsacked
            && ack_state.prior_outstanding > 0;
        if self.scoreboard.outstanding_segments() == 0 && !self.options.uses_sack {
            self.reset_dupacks();
        }
        if ack_state.ece {
            self.undo.prior_ssthresh = None;
        }
        if self.state == CaState::Open {
            self.undo.retrans_stamp = None;
        } else if tcb.snd_una() >= self.high_seq && self.try_end_state(tcb, now, out) {
            return RexmitAction::None;
        }
        match self.state {
            CaState::Recovery => self.process_ack_in_recovery(tcb, ack_state, now, out),
            CaState::Loss => self.process_ack_after_rto(tcb, ack_state, now, out),
            CaState::Open | CaState::Disorder | CaState::Cwr => self.enter_recovery_if_lost(tcb, ack_state, now, out),
        }
    }

    /// Ends the state if all segments that it covers are acknowledged; returns whether the ACK needs no further processing.
    #[inline(never)]
    fn try_end_state(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) -> bool {
        match self.state {
            // The receiver may not have got the CWR until more is acknowledged.
            CaState::Cwr if tcb.snd_una() > self.high_seq => {
                self.end_cwnd_reduction(tcb, now, out);
                self.set_state(CaState::Open, tcb);
            }
            CaState::Recovery => {
                if !self.options.uses_sack {
                    self.reset_dupacks();
                }
                if self.try_undo_recovery(tcb, now, out) {
                    return true;
                }
                // Sets cwnd to ssthresh, unless the reduction was undone.
                if self.undo.has_undo_marker() {
                    self.end_cwnd_reduction(tcb, now, out);
                }
            }
            _ => {}
        }
        false
    }

    pub(super) fn end_cwnd_reduction(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
        // A control that sets cwnd itself has done so (Linux tcp_end_cwnd_reduction).
        if tcb.control_sets_cwnd() {
            return;
        }
        tcb.mark_cwnd_used(now);
        let (reduced, window) = (self.prr.take().is_some(), *tcb.window());
        //= RFC 3168, section 6.1.2; RFC 6937: the window is at the threshold a round trip later
        //= RFC 5681, section 3.2, step 6: recovery ends at the threshold
        tcb.set_cwnd(if reduced { window.ssthresh } else { window.cwnd.min(window.ssthresh) }, out);
    }

    #[inline(never)]
    fn process_ack_in_recovery(&mut self, tcb: &mut Tcb, ack_state: &mut AckState, now: Time, out: &mut impl SenderOutput) -> RexmitAction {
        let mut asks = self.ack_needs_dupthresh_check(tcb, ack_state);
        if ack_state.advanced {
            if self.try_undo_partial(tcb, ack_state.prior_snd_una, now, out) {
                return RexmitAction::None;
            }
            if self.state == CaState::Recovery {
                asks = self.is_highest_sacked_beyond_dupthresh(tcb);
            }
        } else if !self.options.uses_sack {
            self.count_dupack(ack_state);
        }
        if self.try_undo_by_dsack(tcb, now, out) {
            self.try_exit_recovery(tcb, ack_state, now, out);
        }
        self.detect_lost(tcb, ack_state, now);
        if self.state != CaState::Recovery {
            if !self.has_losses() {
                return RexmitAction::None;
            }
            self.enter_recovery(ack_state.ece, tcb, now, out);
        }
        if asks {
            self.mark_lost_by_dupthresh(tcb, false);
        }
        RexmitAction::Lost
    }

    /// Whether a segment is lost, or enough are sacked for a loss.
    fn has_losses(&self) -> bool {
        self.scoreboard.lost > 0 || self.has_dupthresh_sacked()
    }

    #[inline(never)]
    fn process_ack_after_rto(&mut self, tcb: &mut Tcb, ack_state: &mut AckState, now: Time, out: &mut impl SenderOutput) -> RexmitAction {
        let resend = self.process_loss_state(tcb, ack_state, now, out);
        self.detect_lost(tcb, ack_state, now);
        if self.state == CaState::Open || ack_state.retransmission_lost {
            return match self.enter_recovery_if_lost(tcb, ack_state, now, out) {
                RexmitAction::None => resend,
                other => other,
            };
        }
        resend
    }

    fn process_loss_state(&mut self, tcb: &mut Tcb, ack_state: &mut AckState, now: Time, out: &mut impl SenderOutput) -> RexmitAction {
        let recovered = tcb.snd_una() >= self.high_seq;
        if ack_state.advanced && self.try_undo_loss(false, tcb, now, out) {
            return RexmitAction::None;
        }
        if self.frto_active {
            // A segment that was sent once has arrived: not all segments were lost (RFC 5682, section 3.1, step 3.b).
            if ack_state.original_delivered && self.try_undo_loss(true, tcb, now, out) {
                return RexmitAction::None;
            }
            if tcb.snd_max() > self.high_seq {
                self.frto_active &= !(ack_state.newly_sacked || ack_state.is_counted_dupack);
            } else if ack_state.advanced && !recovered {
                self.high_seq = tcb.snd_max();
                if tcb.has_new_segment() {
                    return RexmitAction::NewDataFirst;
                }
                self.frto_active = false;
            }
        }
        if recovered {
            self.try_undo_recovery(tcb, now, out);
            return RexmitAction::None;
        }
        if !self.options.uses_sack {
            if tcb.snd_max() > self.high_seq && ack_state.is_counted_dupack {
                self.count_dupack(ack_state);
            } else if ack_state.advanced {
                self.reset_dupacks();
            }
        }
        RexmitAction::Lost
    }

    fn enter_recovery_if_lost(&mut self, tcb: &mut Tcb, ack_state: &mut AckState, now: Time, out: &mut impl SenderOutput) -> RexmitAction {
        if !self.options.uses_sack {
            if ack_state.advanced {
                self.reset_dupacks();
            }
            self.count_dupack(ack_state);
        }
        if self.state <= CaState::Disorder {
            self.try_undo_by_dsack(tcb, now, out);
        }
        self.detect_lost(tcb, ack_state, now);
        if !self.has_losses() {
            self.try_exit_recovery(tcb, ack_state, now, out);
            return RexmitAction::None;
        }
        let asks = self.ack_needs_dupthresh_check(tcb, ack_state);
        self.enter_recovery(ack_state.ece, tcb, now, out);
        if asks {
            self.mark_lost_by_dupthresh(tcb, true);
        }
        RexmitAction::Lost
    }

    /// Detects lost segments.
    fn detect_lost(&mut self, tcb: &mut Tcb, ack_state: &mut AckState, now: Time) {
        if self.scoreboard.outstanding_segments() == 0 {
            return;
        }
        if !self.options.uses_sack {
            return self.detect_first_lost_without_sack(tcb, ack_state.advanced);
        }
        if self.options.uses_dupthresh {
            return;
        }
        let resent = self.scoreboard.retransmitted;
        if self.detect_lost_by_time(tcb, now) {
            ack_state.rearms_timer = false;
        }
        ack_state.retransmission_lost |= resent > self.scoreboard.retransmitted;
    }

    /// Detects losses without SACK: the first segment is lost after DupThresh duplicate ACKs, and in recovery with each partial ACK (RFC
    /// 6582).
    #[inline(never)]
    fn detect_first_lost_without_sack(&mut self, tcb: &Tcb, advanced: bool) {
        let by_duplicates = self.state < CaState::Recovery && self.scoreboard.sacked >= self.reordering.dup_thresh;
        if by_duplicates || self.state == CaState::Recovery && advanced {
            self.scoreboard.mark_first_lost(tcb.snd_una());
        }
    }

    fn try_exit_recovery(&mut self, tcb: &mut Tcb, ack_state: &AckState, now: Time, out: &mut impl SenderOutput) {
        self.clear_retrans_stamp();
        if ack_state.ece {
            self.enter_cwr(tcb, now, out);
        }
        if self.state != CaState::Cwr {
            self.try_keep_open(tcb);
        }
    }

    pub(super) fn try_keep_open(&mut self, tcb: &mut Tcb) {
        let disorder = self.scoreboard.sacked + self.scoreboard.lost > 0 || self.has_retransmission_outstanding();
        let state = if disorder { CaState::Disorder } else { CaState::Open };
        if self.state != state {
            self.set_state(state, tcb);
            self.high_seq = tcb.snd_max();
        }
    }

    /// Starts a reduction for a mark, unless one is in progress.
    #[inline(never)]
    fn enter_cwr(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
        self.undo.prior_ssthresh = None;
        if self.state < CaState::Cwr {
            self.undo.clear_undo();
            self.begin_cwnd_reduction(ReductionCause::Mark, tcb, now, out);
            self.set_state(CaState::Cwr, tcb);
        }
    }

    #[inline(never)]
    pub(super) fn enter_recovery(&mut self, echo: bool, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
        self.clear_retrans_stamp();
        self.undo.prior_ssthresh = None;
        self.begin_undo(tcb);
        //= RFC 3168, section 6.1.2: a loss and a mark of one window cut once
        if !self.is_reducing() {
            self.undo.prior_ssthresh = (!echo).then(|| self.current_ssthresh(tcb));
            self.begin_cwnd_reduction(ReductionCause::Loss, tcb, now, out);
        } else {
            tcb.reduce_ssthresh_for_loss_after_mark(now, out);
        }
        self.set_state(CaState::Recovery, tcb);
        tcb.recovery_point.record_recovery_start();
    }

    pub(super) fn begin_undo(&mut self, tcb: &Tcb) {
        let probe = u64::from(self.tlp.high_seq.is_some() && self.tlp.is_retransmission);
        self.undo.begin_undo(tcb.snd_una(), self.scoreboard.retransmitted + probe);
    }

    /// Ssthresh raised to three quarters of cwnd, unless a reduction is in progress (Linux tcp_current_ssthresh; RFC 2861).
    pub(super) fn current_ssthresh(&self, tcb: &Tcb) -> f64 {
        let window = tcb.window();
        let cwnd = window.cwnd as u64;
        if self.is_reducing() { window.ssthresh } else { window.ssthresh.max((cwnd / 2 + cwnd / 4) as f64) }
    }

    /// Reduces ssthresh. Cwnd follows with the ACKs, or at once without PRR.
    #[inline(never)]
    pub(super) fn begin_cwnd_reduction(&mut self, cause: ReductionCause, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
        self.high_seq = tcb.snd_max();
        self.tlp.high_seq = None;
        self.undo.prior_cwnd = tcb.window().cwnd;
        let of = match tcb.settings().quirks.prr_divisor {
            ReduceFrom::Cwnd => tcb.window().cwnd as u64,
            ReduceFrom::Flight => tcb.outstanding_segments(),
        };
        if cause != ReductionCause::Mark && !self.options.reduces_for_marks && tcb.is_in_window_reduced_for_mark() {
            tcb.reduce_further_for_loss(tcb.reduction_base(), out);
        } else {
            tcb.reduce_ssthresh(cause, now, out);
        }
        if tcb.control_sets_cwnd() {
            return;
        }
        self.prr = self.options.prr.then(|| Prr::new(of, tcb.settings().quirks.prr_bound));
        if self.prr.is_none() {
            let CongestionWindow { cwnd, ssthresh } = *tcb.window();
            tcb.set_cwnd(cwnd.min(ssthresh), out);
        }
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::{Span, Time};

    use crate::recovery::testing::RecoveryTestBench;
    use crate::settings::EcnReductionTiming;

    fn millis(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    /// Acknowledges all of 20 segments one by one, with an echo of a mark; returns the number of segments that each ACK sent.
    fn ack_all_with_ece(wire: &mut RecoveryTestBench) -> Vec<usize> {
        let sent = wire.now;
        wire.advance_clock(millis(100));
        let mut each = |next| {
            wire.ack_with_ece(next, sent);
            wire.take_sent().len()
        };
        (2..=21).map(&mut each).collect()
    }

    #[test]
    fn a_mark_brings_the_window_down_by_a_segment_for_two_acknowledgements() {
        let mut wire = RecoveryTestBench::with_linux_profile(20, |_| ());
        let sends = ack_all_with_ece(&mut wire);
        // RFC 6937, section 3.1; for the last two no more segments are in flight than ssthresh.
        assert!(sends[..18].chunks(2).all(|pair| pair == [1, 0]), "{sends:?}");
        assert_eq!(10, sends.iter().sum::<usize>());
        assert_eq!((10.0, 10.0), wire.cwnd_and_ssthresh());
    }

    #[test]
    fn a_mark_that_cuts_at_once_leaves_silence_for_half_a_round_trip() {
        let mut wire = RecoveryTestBench::with_linux_profile(20, |settings| settings.quirks.ecn_reduction = EcnReductionTiming::Immediate);
        let sends = ack_all_with_ece(&mut wire);
        assert_eq!(([0; 10], 10), (sends[..10].try_into().unwrap(), sends[10..].iter().sum::<usize>()));
    }

    #[test]
    fn the_window_does_not_grow_while_it_comes_down_and_an_echo_that_outlives_that_cuts_again() {
        for (marked_again, expected) in [(false, (10.0, 10.0)), (true, (10.0, 5.0))] {
            let mut wire = RecoveryTestBench::with_linux_profile(20, |_| ());
            ack_all_with_ece(&mut wire);
            let sent = wire.now;
            wire.advance_clock(millis(100));
            if marked_again {
                wire.ack_with_ece(22, sent)
            } else {
                wire.ack_with_sack(22, &[], sent)
            }
            assert_eq!(expected, wire.cwnd_and_ssthresh(), "{marked_again}");
        }
    }

    #[test]
    fn a_loss_while_the_window_comes_down_for_a_mark_does_not_cut_again() {
        let mut wire = RecoveryTestBench::with_linux_profile(20, |_| ());
        let sent = wire.now;
        wire.advance_clock(millis(100));
        wire.ack_with_ece(2, sent);
        (4..=7).for_each(|end| wire.ack_with_sack(2, &[(3, end)], sent));
        assert!(wire.take_sent().contains(&2), "when the reduction leaves a segment for it");
        assert_eq!(10.0, wire.cwnd_and_ssthresh().1);
    }

    #[test]
    fn without_sack_the_third_duplicate_and_each_partial_acknowledgement_send_a_segment_again() {
        // RFC 6582, section 3.2.
        let mut wire = RecoveryTestBench::with_linux_profile(20, |settings| settings.sack_blocks = 0);
        let sent = wire.now;
        wire.advance_clock(millis(100));
        let again = |wire: &mut RecoveryTestBench, next| {
            wire.ack_with_sack(next, &[], sent);
            wire.take_sent().into_iter().filter(|&seq| seq <= 20).collect::<Vec<_>>()
        };
        assert_eq!([vec![], vec![], vec![1], vec![]], [1; 4].map(|next| again(&mut wire, next)));
        assert_eq!(10.0, wire.cwnd_and_ssthresh().1);
        wire.advance_clock(millis(100));
        let now = wire.now;
        wire.ack_with_sack(7, &[], now);
        assert_eq!(Some(&7), wire.take_sent().first());
        let snd_max = wire.tcb.snd_max();
        wire.ack_with_sack(snd_max, &[], now);
        assert_eq!(10.0, wire.cwnd_and_ssthresh().1, "one cut for both");
    }

    /// Segments 1 to 10 are in flight, the timer has expired and 1 was retransmitted; returns the send time and the time of the
    /// retransmission.
    fn bench_after_rto() -> (RecoveryTestBench, Time, Time) {
        let mut wire = RecoveryTestBench::with_linux_profile(10, |settings| settings.tlp = false);
        let sent = wire.now;
        wire.fire_next_timer();
        assert_eq!((vec![1], (1.0, 5.0)), (wire.take_sent(), wire.cwnd_and_ssthresh()));
        wire.advance_clock(millis(100));
        let again = wire.now;
        (wire, sent, again)
    }

    #[test]
    fn an_acknowledgement_from_before_the_retransmission_takes_a_timeout_back() {
        // RFC 4015, section 3.2.
        let (mut wire, sent, _) = bench_after_rto();
        wire.ack_with_sack(2, &[], sent);
        assert_eq!((11.0, 100.0), wire.cwnd_and_ssthresh(), "as it was, and grown by one");
        assert_eq!(vec![11, 12], wire.take_sent());
    }

    #[test]
    fn after_a_timeout_two_new_segments_go_and_an_original_that_arrives_takes_it_back() {
        // RFC 5682, section 3.1, steps 2.b and 3.b.
        let (mut wire, _, again) = bench_after_rto();
        wire.ack_with_sack(2, &[], again);
        assert_eq!(vec![11, 12], wire.take_sent());
        wire.ack_with_sack(3, &[], again);
        assert_eq!(100.0, wire.cwnd_and_ssthresh().1);
        assert!(wire.take_sent().iter().all(|&seq| seq > 12), "nothing was lost");
    }

    #[test]
    fn after_a_timeout_what_arrives_of_the_new_segments_shows_that_the_rest_is_lost() {
        // RFC 5682, section 3.1, step 3.a.
        let (mut wire, _, again) = bench_after_rto();
        wire.ack_with_sack(2, &[], again);
        assert_eq!(vec![11, 12], wire.take_sent());
        wire.advance_clock(millis(100));
        wire.ack_with_sack(2, &[(11, 12)], again);
        assert_eq!(Some(&2), wire.take_sent().first());
        assert_eq!(5.0, wire.cwnd_and_ssthresh().1);
    }

    #[test]
    fn without_new_segments_a_timeout_goes_on_with_the_old_ones() {
        // RFC 5682, section 3.1, step 2.a.
        let (mut wire, _, again) = bench_after_rto();
        wire.rwnd = 9 * wire.tcb.send_buffer().full_payload();
        wire.ack_with_sack(2, &[], again);
        assert_eq!(vec![2, 3], wire.take_sent());
    }
}
