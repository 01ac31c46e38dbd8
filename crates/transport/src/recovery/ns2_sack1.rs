//! Sack1, ns-2's recovery by SACK (Fall and Floyd 1996): `pipe` estimates the number of segments in flight.
//!
//! A duplicate ACK counts only if its blocks contain new information. The third one starts recovery with `pipe = outstanding - 3`. Every
//! ACK takes one segment out of the pipe, a partial ACK two. While the pipe is smaller than cwnd, the next hole is retransmitted, or new
//! data is sent. Each hole is retransmitted once. Recovery ends when all segments sent before it are acknowledged, and that ACK does not
//! grow cwnd.

use ecnlab_units::{RangeSet, Time};

use super::Recovery;
use super::dupack::{self, FastRetransmitDecision};
use crate::segment::{Ack, SackOption};
use crate::settings::TcpSettings;
use crate::tcb::{SenderOutput, Tcb};

#[derive(Default)]
pub struct Ns2Sack1 {
    dup_thresh: u32,
    sacked: SackedSegments,
    in_recovery: bool,
    /// An RTO has cleared the SACK information; duplicate ACKs are ignored until an ACK of new data.
    after_timeout: bool,
    pipe: i64,
}

/// Segments beyond the cumulative ACK that the receiver has, and the retransmitted holes.
#[derive(Default)]
struct SackedSegments {
    ranges: RangeSet,
    /// All segments before this one are acknowledged.
    acked_below: u64,
    /// All holes before this segment are retransmitted.
    retransmitted_below: u64,
}

impl Ns2Sack1 {
    pub fn new(settings: &TcpSettings) -> Ns2Sack1 {
        Ns2Sack1 { dup_thresh: settings.dupthresh, ..Ns2Sack1::default() }
    }

    fn on_dupack_outside_recovery(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut impl SenderOutput) {
        if self.after_timeout || !self.sacked.insert_sack_blocks(tcb.snd_una(), &ack.sacks) {
            return;
        }
        let count = tcb.count_dupack();
        if count == self.dup_thresh {
            self.enter_fast_recovery(tcb, now, out);
        } else if count < self.dup_thresh {
            dupack::limited_transmit(tcb, now, out);
        }
    }

    fn enter_fast_recovery(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
        let FastRetransmitDecision::Retransmit { cut } = dupack::decide_fast_retransmit(tcb, false) else { return };
        tcb.recovery_point.record_recovery_start();
        self.in_recovery = true;
        self.pipe = tcb.outstanding_segments() as i64 - i64::from(self.dup_thresh);
        self.sacked.mark_retransmitted(tcb.snd_una());
        if cut {
            tcb.reduce_cwnd_for_loss(tcb.reduction_base(), now, out);
        }
        dupack::retransmit_first(tcb, now, out);
    }

    fn on_ack_in_recovery(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time) {
        self.pipe -= 1;
        if tcb.recovery_point.is_reached_by(ack.next) {
            self.in_recovery = false;
            tcb.recovery_point.reset();
            tcb.process_new_ack(ack, now);
            self.clear_sacked();
        } else if ack.next > tcb.snd_una() {
            tcb.advance_snd_una(ack.next);
            self.sacked.insert_sack_blocks(tcb.snd_una(), &ack.sacks);
            self.pipe -= 1;
            tcb.restart_rto_timer(now);
            tcb.end_rto_backoff();
        } else if !self.after_timeout && self.sacked.insert_sack_blocks(tcb.snd_una(), &ack.sacks) && tcb.dupacks() > 0 {
            tcb.count_dupack();
        }
    }

    fn clear_sacked(&mut self) {
        self.after_timeout = false;
        self.sacked.clear();
    }

    fn send_holes_or_new_segments(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
        for _ in 0..tcb.max_burst() {
            if !self.has_pipe_or_window_space(tcb) || !tcb.gate_allows_send_or_sets_timer(now) {
                break;
            }
            let Some(seq) = self.choose_segment(tcb) else { break };
            if seq < tcb.snd_max() {
                tcb.fast_retransmit_segment(seq, now, out);
            } else {
                tcb.transmit(seq, now, out);
            }
            tcb.advance_snd_nxt_past(seq);
            self.pipe += 1;
        }
    }

    fn has_pipe_or_window_space(&self, tcb: &Tcb) -> bool {
        if self.in_recovery { self.pipe < tcb.window().cwnd as i64 } else { tcb.snd_nxt() < tcb.snd_una() + tcb.usable_window() }
    }

    /// The next hole, or new data, within the receive window.
    fn choose_segment(&mut self, tcb: &Tcb) -> Option<u64> {
        let limit = tcb.snd_una() + tcb.settings().max_rwnd;
        if let Some(hole) = self.sacked.next_hole() {
            let within = hole < limit;
            if within {
                self.sacked.mark_retransmitted(hole);
            }
            return within.then_some(hole);
        }
        (tcb.snd_nxt() < limit && tcb.snd_nxt() < tcb.queued_segments() && tcb.fits_rwnd(tcb.snd_nxt())).then_some(tcb.snd_nxt())
    }
}

impl SackedSegments {
    fn clear(&mut self) {
        self.ranges.clear();
        self.retransmitted_below = 0;
    }

    /// Adds the blocks of an ACK of all segments before `snd_una`; returns whether they contain new information.
    fn insert_sack_blocks(&mut self, snd_una: u64, sacks: &SackOption) -> bool {
        let mut changed = false;
        if self.acked_below < snd_una {
            self.acked_below = snd_una;
            changed = !self.ranges.is_empty();
            self.ranges.remove_below(snd_una);
        }
        for &(from, to) in sacks.as_slice() {
            changed |= self.ranges.insert(from, to);
        }
        changed
    }

    /// Lowest hole that was not retransmitted and has a sacked segment above it.
    fn next_hole(&mut self) -> Option<u64> {
        self.retransmitted_below = self.retransmitted_below.max(self.acked_below);
        let hole = self.ranges.next_number_in_gap(self.retransmitted_below)?;
        self.retransmitted_below = hole;
        // ns-2 uses segment 0 as the marker for none.
        (hole > 0).then_some(hole)
    }

    fn mark_retransmitted(&mut self, seq: u64) {
        self.retransmitted_below = self.retransmitted_below.max(seq + 1);
    }
}

impl Recovery for Ns2Sack1 {
    #[inline(never)]
    fn on_ack<O: SenderOutput>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O) {
        if self.in_recovery {
            self.on_ack_in_recovery(tcb, ack, now);
            return self.send_holes_or_new_segments(tcb, now, out);
        }
        if ack.next > tcb.snd_una() {
            let newly = tcb.process_new_ack(ack, now);
            tcb.grow_cwnd(ack, newly, now, out);
            self.clear_sacked();
        } else if ack.next == tcb.snd_una() {
            self.on_dupack_outside_recovery(tcb, ack, now, out);
        }
        if tcb.dupacks() == 0 {
            self.send_holes_or_new_segments(tcb, now, out);
        }
    }

    #[inline(never)]
    fn on_rto<O: SenderOutput>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        self.in_recovery = false;
        self.clear_sacked();
        self.after_timeout = true;
        tcb.rewind_snd_nxt();
        tcb.send_new_segments(u64::MAX, now, out);
    }

    #[inline(never)]
    fn send_while_allowed<O: SenderOutput>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        self.send_holes_or_new_segments(tcb, now, out);
    }
}

#[cfg(test)]
mod tests {
    use crate::recovery::testing::RecoveryTestBench;
    use crate::settings::RecoveryName;

    #[test]
    fn holes_go_again_once_each_while_the_pipe_has_room() {
        let mut wire = RecoveryTestBench::new(RecoveryName::Sack1, 10);
        // Segments 1 and 3 are lost.
        wire.dupack_with_sack(1, &[(2, 3)]);
        wire.dupack_with_sack(1, &[(4, 5), (2, 3)]);
        wire.dupack_with_sack(1, &[(4, 6), (2, 3)]);
        assert_eq!((vec![1], (5.0, 5.0)), (wire.take_sent(), wire.cwnd_and_ssthresh()));
        for to in 7..=11 {
            wire.dupack_with_sack(1, &[(4, to), (2, 3)]);
        }
        assert_eq!(vec![3, 11, 12], wire.take_sent());
    }

    #[test]
    fn a_duplicate_without_a_new_block_does_not_count() {
        let mut wire = RecoveryTestBench::new(RecoveryName::Sack1, 10);
        for _ in 0..5 {
            wire.dupack_with_sack(1, &[(2, 3)]);
        }
        assert_eq!(Vec::<u64>::new(), wire.take_sent());
    }
}
