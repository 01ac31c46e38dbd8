//! What a sender does about duplicate acknowledgements (RFC 5681, section 3.2; RFC 6582, section 3.2; ns-2's one-way agents).
//!
//! A window is cut once: duplicates in a window that was cut for a loss change nothing. A window that was cut for a mark may have lost
//! segments too; then the first of them is sent again without a second cut.

use ecnlab_units::Time;

use crate::tcb::{CutFor, Output, Tcb};

/// What a sender does when as many duplicates have come as mean a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Nothing.
    Wait,
    /// Send the first unacknowledged segment again, and cut the window or leave it.
    Retransmit { cut: bool },
}

/// The reaction to the duplicate that reaches the threshold; `again` allows a second cut for losses of one window.
pub fn reaction(tcb: &Tcb, again: bool) -> Reaction {
    let settings = tcb.settings();
    // With nothing outstanding an ACK is no duplicate (RFC 5681, section 2). ns-2 counts it, and sends the next segment for a loss.
    let end = if settings.duplicates_when_idle { tcb.available() } else { tcb.high() };
    if tcb.una() >= end || !tcb.fits(tcb.una()) {
        return Reaction::Wait;
    }
    let new_window = tcb.last_cut().is_passed(tcb.una()) || again || settings.first_packet_loss && tcb.una() == 1;
    let marked = settings.ecn && tcb.last_cut().is_for(CutFor::Mark);
    if new_window {
        Reaction::Retransmit { cut: true }
    } else if marked || !settings.single_fast_retransmit {
        Reaction::Retransmit { cut: !marked }
    } else {
        Reaction::Wait
    }
}

/// Reno's fast retransmit, which NewReno shares: the first unacknowledged segment goes again, the window falls to its share and is then
/// inflated by the duplicates.
pub fn fast_retransmit(tcb: &mut Tcb, reaction: Reaction, now: Time, out: &mut impl Output) {
    let base = tcb.cut_base();
    if reaction != Reaction::Wait || !tcb.settings().strict_inflation {
        tcb.inflate_to(u64::from(tcb.settings().duplicate_threshold));
    }
    let Reaction::Retransmit { cut } = reaction else { return };
    tcb.enter_recovery();
    if cut {
        tcb.cut_for_loss(base, now, out);
    } else {
        tcb.cut_after_mark(base, out);
    }
    retransmit_first(tcb, now, out);
}

/// Sends the first unacknowledged segment again: no sample is taken of it, and the timer starts anew.
pub fn retransmit_first(tcb: &mut Tcb, now: Time, out: &mut impl Output) {
    tcb.restart_timer(now);
    tcb.stop_timing();
    tcb.retransmit(tcb.una(), now, out);
}

/// A duplicate below the threshold.
pub fn limited_transmit(tcb: &mut Tcb, now: Time, out: &mut impl Output) {
    if tcb.settings().limited_transmit {
        tcb.send_beyond_window(now, out);
    }
}

/// A duplicate above the threshold: in fast recovery it inflates the window.
pub fn inflate(tcb: &mut Tcb) {
    if !tcb.settings().strict_inflation || tcb.last_cut().is_for(CutFor::Duplicates) {
        tcb.inflate();
    }
}
