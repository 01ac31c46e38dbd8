//! What a sender does about duplicate acknowledgements (RFC 5681, section 3.2; RFC 6582, section 3.2; ns-2's one-way agents).
//!
//! A window is cut once: duplicates in a window that was cut for a loss change nothing. A window that was cut for a mark may have lost
//! segments too; then the first of them is sent again without a second cut.

use ecnlab_units::Time;

use crate::tcb::{LastReduction, SenderOutput, Tcb};

/// What a sender does when as many duplicates have come as mean a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DupackReaction {
    /// Nothing.
    Wait,
    /// Send the first unacknowledged segment again, and cut the window or leave it.
    Retransmit { cut: bool },
}

/// The reaction to the duplicate that reaches the threshold; `again` allows a second cut for losses of one window.
pub fn react_to_dupacks(tcb: &Tcb, again: bool) -> DupackReaction {
    let settings = tcb.settings();
    // With nothing outstanding an ACK is no duplicate (RFC 5681, section 2). ns-2 counts it, and sends the next segment for a loss.
    let end = if settings.quirks.count_dupacks_when_idle { tcb.queued_segments() } else { tcb.snd_max() };
    if tcb.snd_una() >= end || !tcb.fits_rwnd(tcb.snd_una()) {
        return DupackReaction::Wait;
    }
    //= RFC 5681, section 4.3: the threshold comes down at most once a loss
    let new_window =
        tcb.recovery_point().is_passed_by(tcb.snd_una()) || again || settings.quirks.first_packet_loss_recovery && tcb.snd_una() == 1;
    //= RFC 3168, section 6.1.2: a loss and a mark of one window cut once
    let marked = settings.ecn && tcb.recovery_point().last_reduction_is(LastReduction::Mark);
    if new_window {
        DupackReaction::Retransmit { cut: true }
    } else if marked || !settings.quirks.single_fast_retransmit {
        DupackReaction::Retransmit { cut: !marked }
    } else {
        DupackReaction::Wait
    }
}

/// Reno's fast retransmit, which NewReno shares: the first unacknowledged segment goes again, the window falls to its share and is then
/// inflated by the duplicates.
pub fn fast_retransmit(tcb: &mut Tcb, reaction: DupackReaction, now: Time, out: &mut impl SenderOutput) {
    let base = tcb.reduction_base();
    if reaction != DupackReaction::Wait || !tcb.settings().quirks.inflate_in_recovery_only {
        tcb.set_inflation(u64::from(tcb.settings().dupthresh));
    }
    let DupackReaction::Retransmit { cut } = reaction else { return };
    //= RFC 5681, section 3.2: no timeout
    //= RFC 5681, section 3.2: the loss is repaired without a timeout
    tcb.enter_recovery();
    if cut {
        tcb.reduce_cwnd_for_loss(base, now, out);
    } else {
        tcb.reduce_further_for_loss(base, out);
    }
    retransmit_first(tcb, now, out);
}

/// Sends the first unacknowledged segment again: no sample is taken of it, and the timer starts anew.
pub fn retransmit_first(tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
    tcb.restart_rto_timer(now);
    //= RFC 6298, section 3: no sample of a retransmission
    tcb.cancel_rtt_timing();
    //= RFC 5681, section 3.2: only the lost segment is sent again
    //= RFC 5681, section 3.2: only the late segment is sent again
    tcb.retransmit(tcb.snd_una(), now, out);
}

/// A duplicate below the threshold.
pub fn limited_transmit(tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
    //= RFC 3042, section 2: a new segment for each of the first two duplicates
    if tcb.settings().quirks.limited_transmit {
        tcb.send_limited_transmit(now, out);
    }
}

/// A duplicate above the threshold: in fast recovery it inflates the window.
pub fn inflate_for_dupack(tcb: &mut Tcb) {
    if !tcb.settings().quirks.inflate_in_recovery_only || tcb.recovery_point().last_reduction_is(LastReduction::FastRecovery) {
        tcb.inflate_by_one();
    }
}
