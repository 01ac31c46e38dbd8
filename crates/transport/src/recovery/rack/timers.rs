//! The single timer and its three kinds: the RTO, the tail loss probe (RFC 8985, section 7), and the reordering timer (section 6.3).
//! Setting one kind cancels the others (Linux inet_csk_reset_xmit_timer).

use ecnlab_units::{Span, Time};

use super::ack_state::AckState;
use super::{CaState, Rack};
use crate::congestion::ReductionCause;
use crate::segment::Ack;
use crate::tcb::{SenderOutput, Tcb};

/// Probe timeout before the first RTT sample (RFC 8985, section 7.2).
const TLP_TIMEOUT_WITHOUT_RTT: Span = Span::from_secs(1);
/// Minimum timer (Linux TCP_TIMEOUT_MIN_US).
const MIN_TIMER: Span = Span::from_millis(2);

/// Kind of the timer if it is not the RTO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RackTlpTimer {
    Reordering,
    Tlp,
}

/// State of an outstanding tail loss probe.
#[derive(Debug, Default)]
pub struct TlpState {
    /// One past the highest segment sent when the probe was sent.
    pub high_seq: Option<u64>,
    /// The probe was a retransmission.
    pub is_retransmission: bool,
}

/// The segments that a DSACK reports as duplicates (RFC 2883).
pub fn dsack_block(ack: &Ack) -> Option<(u64, u64)> {
    let blocks = ack.sacks.as_slice();
    let first = *blocks.first()?;
    let inside = |outer: &(u64, u64)| outer.0 <= first.0 && first.1 <= outer.1;
    (first.0 < ack.next || blocks.get(1).is_some_and(inside)).then_some(first)
}

impl Rack {
    fn set_pending_timer(&mut self, kind: RackTlpTimer, tcb: &mut Tcb, at: Time) {
        self.pending_timer = Some((kind, at));
        self.tlp_due = false;
        tcb.set_rto_deadline(None);
    }

    /// Sets the probe timer, or the retransmission timer.
    pub(super) fn schedule_tlp_or_restart_rto(&mut self, tcb: &mut Tcb, now: Time) {
        let timeout = tcb.rto();
        if !self.schedule_tlp(timeout, tcb, now) {
            self.rearm_rto(tcb, now);
        }
    }

    /// Sets the retransmission timer. It counts from the send time of the first segment if another kind of timer was set.
    pub(super) fn rearm_rto(&mut self, tcb: &mut Tcb, now: Time) {
        let instead = self.pending_timer.take().is_some();
        if self.scoreboard.outstanding_segments() == 0 {
            return tcb.set_rto_deadline(None);
        }
        let timeout = if instead { self.remaining_rto(tcb, tcb.host_clock_micros_at(now)).max(Span::from_micros(1)) } else { tcb.rto() };
        tcb.set_rto_deadline(Some(tcb.timer_expiry_after(now, timeout)));
    }

    /// Sets the retransmission timer to the full RTO from now.
    pub(super) fn restart_full_rto(&mut self, tcb: &mut Tcb, now: Time) {
        self.pending_timer = None;
        self.rearm_rto(tcb, now);
    }

    /// Remaining RTO of the first segment.
    fn remaining_rto(&self, tcb: &Tcb, micros: u64) -> Span {
        let sent = self.scoreboard.first_segment().map_or(0, |segment| segment.last_sent_at);
        (Span::from_micros(sent) + tcb.rto()).saturating_sub(Span::from_micros(micros))
    }

    /// Whether a tail loss probe may be sent: data is outstanding, and no segment is known to be missing.
    pub(super) fn may_send_tlp(&self) -> bool {
        self.options.uses_tlp && self.scoreboard.outstanding_segments() > 0 && matches!(self.state, CaState::Open | CaState::Cwr)
    }

    /// Sets the probe timer while no segment is known to be missing; returns whether it did. The timeout is two RTTs, but at most the RTO.
    /// For a single segment, whose ACK the receiver may delay, the minimum RTO is added (200 ms in RFC 8985, section 7.2, and in Linux).
    pub(super) fn schedule_tlp(&mut self, timeout_left: Span, tcb: &mut Tcb, now: Time) -> bool {
        if !self.may_send_tlp() {
            return false;
        }
        let wait = match tcb.srtt_multiple_micros(2) {
            None => TLP_TIMEOUT_WITHOUT_RTT,
            Some(two) => {
                Span::from_micros(two)
                    + if self.scoreboard.outstanding_segments() == 1 { tcb.settings().rto_min_rounded_to_ticks() } else { MIN_TIMER }
            }
        };
        let wait = if timeout_left > Span::ZERO { wait.min(timeout_left) } else { wait };
        let at = tcb.timer_expiry_after(now, wait);
        self.set_pending_timer(RackTlpTimer::Tlp, tcb, at);
        true
    }

    /// Sets the probe timer after a transmission, which does not restart the RTO.
    pub(super) fn schedule_tlp_after_sending(&mut self, tcb: &mut Tcb, (now, micros): (Time, u64)) -> bool {
        let left = self.remaining_rto(tcb, micros);
        self.schedule_tlp(left, tcb, now)
    }

    /// Sends a new segment, or retransmits the last one, to elicit an ACK.
    pub(super) fn send_tlp(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
        if self.tlp.high_seq.is_none() && self.scoreboard.outstanding_segments() > 0 {
            //= RFC 5681, section 3.1; RFC 8985, section 7: the timer repairs it, or a probe
            self.tlp.is_retransmission = !self.send_new_segment_beyond_cwnd(tcb, now, out);
            if self.tlp.is_retransmission {
                self.retransmit_segment(tcb.snd_max() - 1, false, tcb, now, out);
            }
            self.tlp.high_seq = Some(tcb.snd_max());
            self.pending_timer = None;
        }
        self.rearm_rto(tcb, now);
    }

    /// Processes an ACK of the probe (section 7.4): if the probe repaired a loss that nothing else indicated, cwnd is reduced.
    #[inline]
    pub(super) fn process_tlp_ack(&mut self, tcb: &mut Tcb, ack: &Ack, ack_state: &AckState, now: Time, out: &mut impl SenderOutput) {
        if let Some(ends) = self.tlp.high_seq.filter(|&ends| ack.next >= ends) {
            self.end_tlp_or_reduce_cwnd(ends, tcb, ack, ack_state, now, out);
        }
    }

    #[inline(never)]
    fn end_tlp_or_reduce_cwnd(
        &mut self,
        ends: u64,
        tcb: &mut Tcb,
        ack: &Ack,
        ack_state: &AckState,
        now: Time,
        out: &mut impl SenderOutput,
    ) {
        let duplicate = !ack_state.advanced && !ack_state.is_not_dupack() && !ack_state.newly_sacked;
        if !self.tlp.is_retransmission || ack_state.tlp_dsacked {
            self.tlp.high_seq = None;
        } else if ack.next > ends {
            self.begin_cwnd_reduction(ReductionCause::Probe, tcb, now, out);
            self.set_state(CaState::Cwr, tcb);
            self.end_cwnd_reduction(tcb, now, out);
            self.try_keep_open(tcb);
        } else if duplicate {
            self.tlp.high_seq = None;
        }
    }

    /// Marks late segments as lost, and sets the reordering timer for others; returns whether it did.
    pub(super) fn detect_lost_by_time(&mut self, tcb: &mut Tcb, now: Time) -> bool {
        if !std::mem::take(&mut self.reordering.delivered_since_check) {
            return false;
        }
        let Some(wait) = self.mark_lost_returning_wait(tcb, now) else { return false };
        let at = tcb.timer_expiry_after(now, (wait + MIN_TIMER).min(tcb.rto()));
        self.set_pending_timer(RackTlpTimer::Reordering, tcb, at);
        true
    }

    fn mark_lost_returning_wait(&mut self, tcb: &Tcb, now: Time) -> Option<Span> {
        let recovering = self.state >= CaState::Recovery;
        let srtt = tcb.srtt_multiple_micros(1).unwrap_or(0);
        self.reordering.detect_lost(&mut self.scoreboard, recovering, tcb.min_rtt_micros(), srtt, tcb.host_clock_micros_at(now))
    }

    /// Handles the reordering timer.
    pub(super) fn on_reordering_timeout(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
        let before = self.scoreboard.in_flight();
        self.mark_lost_returning_wait(tcb, now);
        if before != self.scoreboard.in_flight() {
            if self.state != CaState::Recovery {
                self.enter_recovery(false, tcb, now, out);
                self.apply_prr(tcb, 1, false, out);
            }
            self.retransmit_lost(tcb, now, out);
        }
        if self.pending_timer.is_some() {
            self.rearm_rto(tcb, now);
        }
    }

    /// Handles the RTO: all segments except recently sent ones are lost, cwnd falls to one segment, and the first segment is retransmitted.
    pub(super) fn handle_rto(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
        tcb.set_rto_deadline(None);
        if self.scoreboard.outstanding_segments() == 0 {
            // Marks may have reduced cwnd below one segment (RFC 3168, section 6.1.2).
            tcb.raise_cwnd_to_one(out);
            return self.send_new_segments(tcb, now, out);
        }
        tcb.count_timeout();
        self.enter_loss(tcb, now, out);
        self.consecutive_rtos += 1;
        //= RFC 5681, section 3.1: one segment for each timeout
        self.retransmit_segment(tcb.snd_una(), true, tcb, now, out);
        tcb.back_off_rto();
        self.restart_full_rto(tcb, now);
    }

    fn enter_loss(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
        let first = self.state < CaState::Recovery;
        self.mark_lost_on_rto(tcb, now);
        //= RFC 5681, section 3.1: further timeouts of a segment leave the threshold
        // The threshold is cut once for what was sent, and for the timeout of what was sent after it.
        let cuts =
            self.state <= CaState::Disorder || tcb.snd_una() >= self.high_seq || self.state == CaState::Loss && self.consecutive_rtos == 0;
        let marked = !self.options.reduces_for_marks && tcb.is_in_window_reduced_for_mark();
        if cuts && !marked {
            self.undo.prior_ssthresh = Some(self.current_ssthresh(tcb));
            self.undo.prior_cwnd = tcb.window().cwnd;
            tcb.reduce_ssthresh(ReductionCause::Timeout, now, out);
            self.begin_undo(tcb);
        }
        tcb.set_cwnd((self.scoreboard.in_flight() + 1) as f64, out);
        if self.state <= CaState::Disorder && self.scoreboard.sacked >= self.reordering.min_dup_thresh {
            self.reordering.dup_thresh = self.reordering.dup_thresh.min(self.reordering.min_dup_thresh);
        }
        self.set_state(CaState::Loss, tcb);
        self.high_seq = tcb.snd_max();
        self.tlp.high_seq = None;
        self.prr = None;
        tcb.finish_rto_reduction(now);
        self.frto_active = self.options.frto && (first || self.consecutive_rtos > 0);
    }

    /// Marks all segments as lost that were not sent within the last RTT; with DupThresh, all segments.
    fn mark_lost_on_rto(&mut self, tcb: &Tcb, now: Time) {
        if !self.options.uses_sack {
            self.reset_dupacks();
        } else if self.scoreboard.first_segment().is_some_and(|segment| segment.sacked) {
            self.scoreboard.clear_sacked();
        }
        let (snd_una, micros) = (tcb.snd_una(), tcb.host_clock_micros_at(now));
        for seq in snd_una..self.scoreboard.end_seq() {
            let recent = !self.options.uses_dupthresh
                && self.scoreboard.segment(seq).is_some_and(|segment| self.reordering.is_too_recent_for_rto(segment, micros));
            if seq == snd_una || !recent {
                self.scoreboard.mark_lost(seq);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::testing::RecoveryTestBench;

    fn millis(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    /// `window` segments are in flight and fill cwnd.
    fn bench_with_full_cwnd(window: u64) -> RecoveryTestBench {
        RecoveryTestBench::with_linux_profile(window, |settings| settings.max_rwnd = window)
    }

    #[test]
    fn a_probe_waits_two_round_trips_and_what_the_receiver_may_delay_a_single_segment_s_answer() {
        // RFC 8985, section 7.2. The RTT is 100 ms, the RTO 300 ms.
        assert_eq!(millis(202), bench_with_full_cwnd(2).fire_next_timer());
        assert_eq!(millis(300), bench_with_full_cwnd(1).fire_next_timer(), "not the 400 ms of two round trips and 200 ms");
    }

    #[test]
    fn a_probe_is_new_if_it_can_be_and_else_the_last_segment_again() {
        // RFC 8985, section 7.3.
        let mut wire = bench_with_full_cwnd(4);
        wire.fire_next_timer();
        assert_eq!(vec![4], wire.take_sent());
        let mut wire = RecoveryTestBench::with_linux_profile(4, |_| ());
        wire.fire_next_timer();
        assert_eq!(vec![5], wire.take_sent(), "whatever the window");
    }

    #[test]
    fn after_the_probe_comes_the_timeout() {
        let mut wire = bench_with_full_cwnd(4);
        let waited = wire.fire_next_timer();
        wire.take_sent();
        assert_eq!(millis(300), wire.fire_next_timer(), "anew from the probe, {waited:?} after the segments");
        assert_eq!((vec![1], 1.0), (wire.take_sent(), wire.cwnd_and_ssthresh().0));
        assert_eq!(millis(600), wire.fire_next_timer(), "twice as long");
    }

    #[test]
    fn a_probe_that_repaired_a_loss_is_answered_as_one_and_one_that_came_twice_is_not() {
        // RFC 8985, section 7.4.2: an ACK beyond the probe without a DSACK of it.
        for (blocks, expected) in [(&[][..], 10.0), (&[(20, 21)][..], 20.0)] {
            let mut wire = RecoveryTestBench::with_linux_profile(20, |settings| settings.max_rwnd = 20);
            let sent = wire.now;
            wire.fire_next_timer();
            assert_eq!(vec![20], wire.take_sent());
            wire.ack_with_sack(20, &[], sent);
            wire.advance_clock(millis(100));
            wire.ack_with_sack(21, blocks, sent);
            wire.advance_clock(millis(100));
            wire.ack_with_sack(22, &[], wire.now);
            assert_eq!(expected, wire.cwnd_and_ssthresh().1, "{blocks:?}");
        }
    }

    #[test]
    fn what_may_only_be_reordered_is_waited_for() {
        // RFC 8985, section 6.3: a quarter of the RTT, and 2 ms.
        let mut wire = RecoveryTestBench::with_linux_profile(20, |_| ());
        let sent = wire.now;
        wire.advance_clock(millis(100));
        wire.ack_with_sack(1, &[(2, 3)], sent);
        wire.take_sent();
        assert_eq!(millis(27), wire.fire_next_timer());
        assert_eq!(Some(&1), wire.take_sent().first());
        assert_eq!(10.0, wire.cwnd_and_ssthresh().1);
    }

    #[test]
    fn a_timeout_takes_for_lost_what_was_sent_more_than_a_round_trip_ago() {
        // RFC 8985, section 6.4: segments 5 and 6 were sent 50 ms before the RTO.
        let mut wire = RecoveryTestBench::with_linux_profile(4, |settings| settings.tlp = false);
        wire.advance_clock(millis(250));
        wire.set_cwnd_and_send(6);
        assert_eq!(vec![5, 6], wire.take_sent());
        assert_eq!(millis(50), wire.fire_next_timer());
        assert_eq!((vec![1], 3.0), (wire.take_sent(), wire.cwnd_and_ssthresh().0), "two are in flight, and one may go");
    }
}
