//! Reaction to duplicate ACKs (RFC 5681, section 3.2; RFC 6582, section 3.2; ns-2's one-way agents).
//!
//! Cwnd is reduced once per window: duplicate ACKs in a window reduced for a loss change nothing. A window reduced for a mark may have
//! losses too; the first lost segment is then retransmitted without a second reduction.

use ecnlab_units::Time;

use crate::tcb::{LastReduction, SenderOutput, Tcb};

/// Reaction when the number of duplicate ACKs reaches DupThresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastRetransmitDecision {
    /// No reaction.
    Wait,
    /// Retransmit the first unacknowledged segment, with or without a reduction of cwnd.
    Retransmit { cut: bool },
}

/// Reaction to the duplicate ACK that reaches DupThresh; `again` allows a second reduction for losses of one window.
pub fn decide_fast_retransmit(tcb: &Tcb, again: bool) -> FastRetransmitDecision {
    let settings = tcb.settings();
    // With nothing outstanding an ACK is not a duplicate (RFC 5681, section 2). ns-2 counts it, and sends the next segment as for a loss.
    let end = if settings.quirks.count_dupacks_when_idle { tcb.queued_segments() } else { tcb.snd_max() };
    if tcb.snd_una() >= end || !tcb.fits_rwnd(tcb.snd_una()) {
        return FastRetransmitDecision::Wait;
    }
    //= RFC 5681, section 4.3: the threshold comes down at most once a loss
    let new_window =
        tcb.recovery_point.is_passed_by(tcb.snd_una()) || again || settings.quirks.first_packet_loss_recovery && tcb.snd_una() == 1;
    //= RFC 3168, section 6.1.2: a loss and a mark of one window cut once
    let marked = settings.ecn && tcb.recovery_point.last_reduction_is(LastReduction::Mark);
    if new_window {
        FastRetransmitDecision::Retransmit { cut: true }
    } else if marked || !settings.quirks.single_fast_retransmit {
        FastRetransmitDecision::Retransmit { cut: !marked }
    } else {
        FastRetransmitDecision::Wait
    }
}

/// Reno's fast retransmit, also for NewReno: retransmits the first unacknowledged segment, reduces cwnd, and inflates the window by the
/// duplicate ACKs.
pub fn fast_retransmit(tcb: &mut Tcb, reaction: FastRetransmitDecision, now: Time, out: &mut impl SenderOutput) {
    let base = tcb.reduction_base();
    if reaction != FastRetransmitDecision::Wait || !tcb.settings().quirks.inflate_in_recovery_only {
        tcb.recovery_point.set_inflation(u64::from(tcb.settings().dupthresh));
    }
    let FastRetransmitDecision::Retransmit { cut } = reaction else { return };
    //= RFC 5681, section 3.2: no timeout
    //= RFC 5681, section 3.2: the loss is repaired without a timeout
    tcb.recovery_point.record_recovery_start();
    if cut {
        tcb.reduce_cwnd_for_loss(base, now, out);
    } else {
        tcb.reduce_further_for_loss(base, out);
    }
    retransmit_first(tcb, now, out);
}

/// Retransmits the first unacknowledged segment, cancels its RTT sample, and restarts the timer.
pub fn retransmit_first(tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
    tcb.restart_rto_timer(now);
    //= RFC 6298, section 3: no sample of a retransmission
    tcb.cancel_rtt_timing();
    //= RFC 5681, section 3.2: only the lost segment is sent again
    //= RFC 5681, section 3.2: only the late segment is sent again
    tcb.fast_retransmit_segment(tcb.snd_una(), now, out);
}

/// Handles a duplicate ACK below DupThresh.
pub fn limited_transmit(tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
    //= RFC 3042, section 2: a new segment for each of the first two duplicates
    if tcb.settings().quirks.limited_transmit {
        tcb.send_limited_transmit(now, out);
    }
}

/// Inflates the window for a duplicate ACK above DupThresh in fast recovery.
pub fn inflate_for_dupack(tcb: &mut Tcb) {
    if !tcb.settings().quirks.inflate_in_recovery_only || tcb.recovery_point.last_reduction_is(LastReduction::FastRecovery) {
        tcb.recovery_point.inflate_by_one();
    }
}

/// Counts a duplicate ACK and responds to it; `again` as for [`decide_fast_retransmit`].
pub fn count_and_respond(tcb: &mut Tcb, dup_thresh: u32, again: bool, now: Time, out: &mut impl SenderOutput) {
    let count = tcb.count_dupack();
    //= RFC 5681, section 3.2: retransmitted at the third duplicate
    //= RFC 5681, section 3.2: no retransmission and no cut
    if count == dup_thresh {
        let reaction = decide_fast_retransmit(tcb, again);
        fast_retransmit(tcb, reaction, now, out);
    } else if count < dup_thresh {
        limited_transmit(tcb, now, out);
    } else {
        inflate_for_dupack(tcb);
    }
}
