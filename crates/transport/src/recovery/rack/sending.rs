//! Transmission: new segments as far as cwnd allows, and retransmissions of lost ones.

use ecnlab_units::Time;

use super::{CaState, Rack, RexmitAction};
use crate::segment::SegmentType;
use crate::tcb::{SenderOutput, Tcb};

impl Rack {
    /// Sends what an ACK requires beyond what cwnd allows.
    #[inline(never)]
    pub(super) fn retransmit_after_ack(&mut self, tcb: &mut Tcb, resend: RexmitAction, now: Time, out: &mut impl SenderOutput) {
        match resend {
            RexmitAction::None => return,
            RexmitAction::NewDataFirst => {
                self.send_new_segments(tcb, now, out);
                if tcb.snd_max() > self.high_seq {
                    return;
                }
                self.frto_active = false;
            }
            RexmitAction::Lost => {}
        }
        self.retransmit_lost(tcb, now, out);
    }

    /// Retransmits lost segments as far as cwnd allows.
    pub(super) fn retransmit_lost(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
        let (first, cwnd) = (tcb.snd_una(), tcb.window().cwnd as u64);
        let mut restarts = false;
        while self.scoreboard.in_flight() < cwnd && tcb.gate_allows_send_or_sets_timer(now) {
            let Some(seq) = self.scoreboard.next_lost() else { break };
            self.retransmit_segment(seq, true, tcb, now, out);
            self.count_prr_sent(1);
            restarts |= seq == first && !self.is_reordering_timer_set();
        }
        if restarts {
            self.restart_full_rto(tcb, now);
        }
    }

    fn is_reordering_timer_set(&self) -> bool {
        matches!(self.pending_timer, Some((super::RackTlpTimer::Reordering, _)))
    }

    /// Counts segments sent during a reduction.
    fn count_prr_sent(&mut self, segments: u64) {
        if self.is_reducing()
            && let Some(prr) = &mut self.prr
        {
            prr.on_sent(segments);
        }
    }

    /// Sends new segments as far as cwnd allows.
    pub(super) fn send_new_segments(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
        let (most, cwnd) = (tcb.max_burst(), tcb.window().cwnd as u64);
        let (restarts, micros) = (self.sending_restarts_rto(), tcb.host_clock_micros_at(now));
        let (mut sent, mut bundle, mut size, mut waits) = (0, most, 0, false);
        while sent < most && self.may_send_new(cwnd, tcb, now) {
            if self.options.gso && (sent == 0 || bundle == 0) {
                let Some(next) = self.next_bundle_segments(tcb, now) else {
                    waits = true;
                    break;
                };
                (bundle, size) = (next, next);
            }
            // The last segment of a bundle carries PSH (Linux __tcp_transmit_skb).
            if bundle == 1 && size > 1 {
                tcb.set_push_on_next();
            }
            self.emit_new_segment(tcb, (now, micros), out);
            (sent, bundle) = (sent + 1, bundle - 1);
        }
        self.update_cwnd_limited_after_sending(sent, waits || self.scoreboard.in_flight() >= cwnd, tcb, now, out);
        if sent > 0 && !self.schedule_tlp_after_sending(tcb, (now, micros)) && restarts {
            self.rearm_rto(tcb, now);
        }
    }

    /// Sends one new segment regardless of cwnd, if there is one and it fits into the receive window; returns whether it did.
    #[inline(never)]
    pub(super) fn send_new_segment_beyond_cwnd(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) -> bool {
        if tcb.is_next_segment_limited_by_control() {
            tcb.fit_next_segment_to_control();
        }
        let may = tcb.has_new_segment();
        if may {
            self.transmit_new_segment(tcb, now, out);
            let limited = self.scoreboard.in_flight() >= tcb.window().cwnd as u64;
            self.update_cwnd_limited_after_sending(1, limited, tcb, now, out);
        }
        may
    }

    /// Records `sent` new segments, and whether cwnd held more of them back.
    #[inline(always)]
    fn update_cwnd_limited_after_sending(&mut self, sent: u64, limited: bool, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
        if sent > 0 || limited {
            tcb.update_is_cwnd_limited(self.scoreboard.outstanding_segments(), limited, self.state == CaState::Open, now, out);
        }
        self.count_prr_sent(sent);
    }

    #[inline(always)]
    fn may_send_new(&self, cwnd: u64, tcb: &mut Tcb, now: Time) -> bool {
        if tcb.is_next_segment_limited_by_control() {
            return self.may_send_size_limited_segment(cwnd, tcb, now);
        }
        tcb.has_new_segment()
            && self.cwnd_allows_new(cwnd, tcb)
            && tcb.may_send_by_nagle(tcb.snd_max())
            && tcb.gate_allows_send_or_sets_timer(now)
    }

    /// Whether a new segment may go whose size congestion control limits. Its size is fitted only once cwnd and pacing let it go
    /// (Linux tcp_write_xmit): while it waits the limit may change. Only a segment that the receive window and Nagle let go is processed.
    #[inline(never)]
    fn may_send_size_limited_segment(&self, cwnd: u64, tcb: &mut Tcb, now: Time) -> bool {
        if tcb.snd_max() >= tcb.queued_segments() || !self.cwnd_allows_new(cwnd, tcb) || !tcb.pacing_allows_send_or_sets_timer(now) {
            return false;
        }
        tcb.fit_next_segment_to_control();
        tcb.has_new_segment() && tcb.may_send_by_nagle(tcb.snd_max()) && tcb.processing_allows_send_or_sets_timer(now)
    }

    /// Whether cwnd and the duplicate ACKs allow a new segment.
    #[inline(always)]
    fn cwnd_allows_new(&self, cwnd: u64, tcb: &Tcb) -> bool {
        if self.scoreboard.in_flight() >= cwnd {
            let exempts_fin = tcb.settings().quirks.fin_beyond_cwnd;
            if !exempts_fin || tcb.send_buffer().segment_type(tcb.snd_max()) != SegmentType::Fin {
                return false;
            }
        }
        tcb.settings().quirks.limited_transmit || self.state > CaState::Disorder || self.scoreboard.sacked == 0
    }

    #[inline(never)]
    pub(super) fn transmit_new_segment(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
        let restarts = self.sending_restarts_rto();
        self.emit_new_segment(tcb, (now, tcb.host_clock_micros_at(now)), out);
        if restarts {
            self.rearm_rto(tcb, now);
        }
    }

    /// Whether a new segment restarts the retransmission timer.
    fn sending_restarts_rto(&self) -> bool {
        self.scoreboard.outstanding_segments() == 0 || self.tlp_due || matches!(self.pending_timer, Some((super::RackTlpTimer::Tlp, _)))
    }

    /// Sends a new segment and leaves the timer to the caller.
    // Inlined: nearly all segments are sent by `send_new_segments`.
    #[inline(always)]
    fn emit_new_segment(&mut self, tcb: &mut Tcb, (now, micros): (Time, u64), out: &mut impl SenderOutput) {
        if self.scoreboard.in_flight() == 0 {
            tcb.pass_idle_restart_to_control(now);
        }
        tcb.transmit_without_timer(tcb.snd_max(), now, out);
        tcb.set_snd_nxt_to_max();
        self.scoreboard.on_sent(micros, self.delivered);
    }

    /// Retransmits a segment, for a loss or as a probe.
    pub(super) fn retransmit_segment(&mut self, seq: u64, for_loss: bool, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
        if self.scoreboard.in_flight() == 0 {
            tcb.pass_idle_restart_to_control(now);
        }
        tcb.retransmit_without_timer(seq, self.state == CaState::Loss, now, out);
        self.scoreboard.on_retransmitted(seq, tcb.host_clock_micros_at(now), self.delivered, for_loss);
        self.retransmitted_total += 1;
        if for_loss {
            self.undo.on_retransmitted(tcb.host_clock_millis_at(now));
        }
    }
}
