//! Recovery by a scoreboard (RFC 6675), with two rules of loss detection.
//!
//! - sack: three segments above it are sacked (RFC 6675, IsLost)
//! - fack: the highest sacked segment is three above it, or more (Mathis and Mahdavi 1996)
//!
//! A loss reduces cwnd once. Then NextSeg sends while the pipe is below cwnd, or as PRR allows (RFC 6937):
//!
//! ```text
//! (1)  the lowest lost segment                                                     sent once
//! (2)  a new one
//! (3)  the lowest segment above HighRxt with a sacked one above it                 in the pipe twice until it is lost
//! (4)  the highest segment not sacked, if HighACK > RescueRxt                      once per recovery, not in the pipe
//! ```
//!
//! Both rules of loss detection use all four rules of NextSeg: they differ only in IsLost. Forward acknowledgement retransmits every hole
//! below the highest sacked segment (Mathis and Mahdavi 1996), as rule (3) does; rule (4) is RFC 6675's. An RTO marks all segments as lost
//! and starts slow start; rules (3) and (4) do not apply after it (RFC 6675, section 5.1).

use ecnlab_units::Time;

use super::Recovery;
use super::prr::Prr;
use super::scoreboard::Scoreboard;
use crate::congestion::CongestionWindow;
use crate::ecn_response::MIN_SSTHRESH;
use crate::segment::Ack;
use crate::settings::{PrrBound, RecoveryName, TcpSettings};
use crate::tcb::{SenderOutput, Tcb};

pub struct Sack {
    scoreboard: Scoreboard,
    /// The distance to the highest sacked segment indicates losses too, besides the number of sacked segments.
    uses_fack: bool,
    dup_thresh: u64,
    phase: SackPhase,
    /// One past the highest segment sent when recovery began or the timer expired. A mark in between moves the recovery point, but not
    /// this.
    recovery_end: u64,
    /// PRR while a reduction is in progress.
    prr: Option<Prr>,
    /// One past the highest segment that this recovery has retransmitted, except by rule (4) (RFC 6675, HighRxt).
    high_rxt: u64,
    /// Rule (4) applies once more than all segments before this one are acknowledged (RFC 6675, RescueRxt).
    rescue_rxt: u64,
}

/// Result of NextSeg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextSeg {
    Segment(u64),
    /// Segment of rule (4), which changes neither HighRxt nor the pipe.
    Rescue(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SackPhase {
    Open,
    /// Losses of one window are being repaired; ends when all segments sent before are acknowledged.
    Recovery,
    /// Recovery after an RTO.
    Loss,
}

impl Sack {
    pub fn new(settings: &TcpSettings) -> Sack {
        Sack {
            scoreboard: Scoreboard::default(),
            uses_fack: settings.recovery == RecoveryName::Fack,
            dup_thresh: u64::from(settings.dupthresh),
            phase: SackPhase::Open,
            recovery_end: 0,
            prr: None,
            high_rxt: 0,
            rescue_rxt: 0,
        }
    }

    /// Updates the scoreboard by an ACK; returns the number of segments that it delivers.
    fn update_scoreboard(&mut self, ack: &Ack) -> u64 {
        let count = self.scoreboard.ack_up_to(ack.next);
        if ack.sacks.is_empty() { count } else { count + self.scoreboard.apply_sack_blocks(&ack.sacks) }
    }

    fn detect_losses(&mut self) {
        let mut below = self.scoreboard.loss_bound_by_sacked_count(self.dup_thresh);
        if self.uses_fack {
            // Both rules: three above it are sacked, or the highest sacked segment is three above it.
            below = below.max(self.scoreboard.fack().checked_sub(self.dup_thresh).filter(|_| self.scoreboard.sacked() > 0));
        }
        if let Some(below) = below {
            self.scoreboard.mark_lost_below(below);
        }
    }

    /// Updates the phase after an ACK of `newly` segments that delivered `delivered`.
    fn update_phase_and_cwnd(&mut self, tcb: &mut Tcb, ack: &Ack, newly: u64, delivered: u64, now: Time, out: &mut impl SenderOutput) {
        if self.phase != SackPhase::Open && tcb.snd_una() >= self.recovery_end {
            self.exit_phase(tcb, out);
        }
        if self.phase == SackPhase::Open && self.scoreboard.has_losses() {
            self.enter_recovery(tcb, now, out);
        }
        match self.phase {
            SackPhase::Recovery => {
                tcb.remember_ecn_echo(ack);
                self.apply_prr(tcb, delivered, out);
            }
            // Segments sacked earlier have grown cwnd already, or belonged to a window with a loss.
            SackPhase::Open | SackPhase::Loss if newly > 0 => tcb.grow_cwnd(ack, delivered.min(newly), now, out),
            SackPhase::Open | SackPhase::Loss => tcb.remember_ecn_echo(ack),
        }
    }

    fn enter_recovery(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
        let flight = tcb.outstanding_segments();
        if tcb.is_in_window_reduced_for_mark() {
            tcb.reduce_further_for_loss(tcb.reduction_base(), out);
        } else {
            tcb.reduce_cwnd_for_loss(tcb.reduction_base(), now, out);
        }
        tcb.recovery_point.extend_to(tcb.snd_max());
        self.recovery_end = tcb.snd_max();
        tcb.recovery_point.record_recovery_start();
        raise_cwnd_to_min(tcb, out);
        self.phase = SackPhase::Recovery;
        (self.high_rxt, self.rescue_rxt) = (tcb.snd_una() + 1, tcb.snd_una() + 1);
        self.prr = tcb.settings().quirks.prr.then(|| Prr::new(flight, PrrBound::Ssrb));
        tcb.restart_rto_timer(now);
        self.retransmit_first_lost_at_once(tcb, now, out);
    }

    /// Sets cwnd by PRR after `delivered` segments, if a reduction is in progress.
    fn apply_prr(&mut self, tcb: &mut Tcb, delivered: u64, out: &mut impl SenderOutput) {
        if let Some(prr) = &mut self.prr {
            tcb.set_cwnd(prr.cwnd_after_delivery(delivered, true, self.scoreboard.pipe(), tcb.window().ssthresh) as f64, out);
        }
    }

    /// Sends the first retransmission regardless of the pipe (RFC 6675, section 5, step 4.3).
    fn retransmit_first_lost_at_once(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
        if self.prr.is_none()
            && let Some(seq) = self.scoreboard.next_lost()
        {
            self.transmit(tcb, seq, now, out);
        }
    }

    fn exit_phase(&mut self, tcb: &mut Tcb, out: &mut impl SenderOutput) {
        //= RFC 5681, section 3.2, step 6: recovery ends at the threshold
        if self.phase == SackPhase::Recovery {
            let CongestionWindow { cwnd, ssthresh } = *tcb.window();
            let reduced = self.prr.take().is_some();
            tcb.set_cwnd(if reduced { ssthresh } else { cwnd.min(ssthresh) }, out);
        }
        self.phase = SackPhase::Open;
        tcb.recovery_point.exit_recovery();
    }

    fn transmit(&mut self, tcb: &mut Tcb, seq: u64, now: Time, out: &mut impl SenderOutput) {
        if seq < tcb.snd_max() {
            self.high_rxt = self.high_rxt.max(seq + 1);
        }
        self.send_without_updating_scoreboard(tcb, seq, now, out);
        self.scoreboard.on_sent_or_retransmitted(seq);
    }

    /// Sends or retransmits a segment without updating the scoreboard.
    fn send_without_updating_scoreboard(&mut self, tcb: &mut Tcb, seq: u64, now: Time, out: &mut impl SenderOutput) {
        if seq < tcb.snd_max() {
            tcb.cancel_rtt_timing();
        }
        if seq < tcb.snd_max() && self.phase != SackPhase::Loss {
            tcb.fast_retransmit_segment(seq, now, out);
        } else {
            tcb.transmit(seq, now, out);
        }
        tcb.set_snd_nxt_to_max();
        if let Some(prr) = &mut self.prr {
            prr.on_sent(1);
        }
    }

    /// RFC 6675, section 4.
    fn next_segment(&mut self, tcb: &Tcb) -> Option<NextSeg> {
        //= RFC 6675, section 4: NextSeg (1): the lowest lost segment above HighRxt
        if let Some(seq) = self.scoreboard.next_lost() {
            return Some(NextSeg::Segment(seq));
        }
        //= RFC 6675, section 4: NextSeg (2): new data
        if tcb.has_new_segment() {
            let waits = !tcb.settings().quirks.limited_transmit && self.phase == SackPhase::Open && self.scoreboard.sacked() > 0;
            return (!waits).then_some(NextSeg::Segment(tcb.snd_max()));
        }
        if self.phase == SackPhase::Recovery { self.next_hole_or_rescue(tcb) } else { None }
    }

    /// Rules (3) and (4).
    fn next_hole_or_rescue(&self, tcb: &Tcb) -> Option<NextSeg> {
        //= RFC 6675, section 4: NextSeg (3): the lowest hole below the highest SACK
        if let Some(seq) = self.scoreboard.next_hole(self.high_rxt) {
            return Some(NextSeg::Segment(seq));
        }
        //= RFC 6675, section 4: NextSeg (4): the highest outstanding segment, once a recovery
        if tcb.snd_una() > self.rescue_rxt { self.scoreboard.highest_unsacked().map(NextSeg::Rescue) } else { None }
    }
}

/// Keeps cwnd at two segments or more after a loss, as ssthresh is (RFC 5681, equation 4).
fn raise_cwnd_to_min(tcb: &mut Tcb, out: &mut impl SenderOutput) {
    if tcb.window().cwnd < MIN_SSTHRESH {
        tcb.set_cwnd(MIN_SSTHRESH, out);
    }
}

impl Recovery for Sack {
    #[inline(never)]
    fn on_ack<O: SenderOutput>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O) {
        if ack.next < tcb.snd_una() {
            return;
        }
        let delivered = self.update_scoreboard(ack);
        let newly = if ack.next > tcb.snd_una() { tcb.process_new_ack(ack, now) } else { 0 };
        tcb.set_snd_nxt_to_max();
        self.detect_losses();
        self.update_phase_and_cwnd(tcb, ack, newly, delivered, now, out);
        self.send_while_allowed(tcb, now, out);
    }

    #[inline(never)]
    fn on_rto<O: SenderOutput>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        self.phase = SackPhase::Loss;
        self.recovery_end = tcb.snd_max();
        self.prr = None;
        tcb.set_snd_nxt_to_max();
        //= RFC 6675, section 5.1: the timer repairs it
        self.scoreboard.mark_all_lost();
        if let Some(seq) = self.scoreboard.next_lost() {
            self.transmit(tcb, seq, now, out);
        }
        self.send_while_allowed(tcb, now, out);
    }

    #[inline(never)]
    fn send_while_allowed<O: SenderOutput>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        for _ in 0..tcb.max_burst() {
            if self.scoreboard.pipe() >= tcb.window().cwnd as u64 || !tcb.gate_allows_send_or_sets_timer(now) {
                break;
            }
            match self.next_segment(tcb) {
                Some(NextSeg::Segment(seq)) => self.transmit(tcb, seq, now, out),
                Some(NextSeg::Rescue(seq)) => {
                    self.rescue_rxt = self.recovery_end;
                    self.send_without_updating_scoreboard(tcb, seq, now, out);
                }
                //= RFC 6675, section 4: NextSeg (5): else nothing
                None => break,
            }
        }
    }

    fn send_one_new_segment<O: SenderOutput>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        self.transmit(tcb, tcb.snd_max(), now, out);
    }

    fn on_handshake_done(&mut self, tcb: &mut Tcb, _now: Time) {
        self.scoreboard.reset_at(tcb.snd_una());
    }
}

#[cfg(test)]
mod tests {
    use crate::recovery::testing::RecoveryTestBench;
    use crate::settings::RecoveryName;

    #[test]
    fn a_retransmission_ends_the_timing_of_what_was_sent_before() {
        let mut wire = RecoveryTestBench::new(RecoveryName::Sack, 8);
        assert!(wire.tcb.timed_segment().is_some_and(|seq| seq <= 8));
        [3, 4, 5].into_iter().for_each(|end| wire.dupack_with_sack(1, &[(2, end)]));
        assert_eq!(Some(&1), wire.take_sent().first());
        assert!(wire.tcb.timed_segment().is_none_or(|seq| seq > 8));
    }
}
