//! What duplicate acknowledgements call for (RFC 5681, section 3.2; RFC 6582, section 3.2; ns-2's one-way agents).
//!
//! One cut a window: duplicates of a window that was already cut call for nothing. A window that was cut for a mark may have lost
//! segments too; then the first of them is sent again without a second cut.

use ecnlab_units::Time;

use crate::sender::{Core, LastCut, Output};
use crate::settings::Handshake;

/// What the duplicate at the threshold calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    Wait,
    /// Send the first unacknowledged segment again, and cut the window or leave it.
    Retransmit {
        cut: bool,
    },
}

/// The reaction of a sender; `again` allows a cut for duplicates of a window that was already cut.
pub fn reaction(core: &Core, again: bool) -> Reaction {
    let settings = &core.settings;
    // With nothing outstanding an ACK is no duplicate (RFC 5681, section 2); ns-2 sends for it what is next, if there is anything.
    let end = if settings.handshake == Handshake::ThreeWay { core.high } else { core.available };
    if core.una >= end {
        return Reaction::Wait;
    }
    let new_window = core.una > core.recover || again || settings.first_packet_loss && core.una == 1;
    let marked = settings.ecn && core.last_cut == LastCut::Mark;
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
pub fn fast_retransmit(core: &mut Core, reaction: Reaction, now: Time, out: &mut impl Output) {
    let base = core.cut_base();
    if reaction != Reaction::Wait || !core.settings.strict_inflation {
        core.inflation = u64::from(core.settings.duplicate_threshold);
    }
    let Reaction::Retransmit { cut } = reaction else { return };
    core.last_cut = LastCut::Duplicates;
    if cut {
        core.cut_for_loss(base, now, out);
    } else {
        core.cut_after_mark(base, out);
    }
    retransmit_first(core, now, out);
}

/// Sends the first unacknowledged segment again: no sample is taken of it, and the timer starts anew.
pub fn retransmit_first(core: &mut Core, now: Time, out: &mut impl Output) {
    core.restart_timer(now);
    core.timed = None;
    core.retransmit(core.una, now, out);
}

/// A duplicate below the threshold.
pub fn limited_transmit(core: &mut Core, now: Time, out: &mut impl Output) {
    if core.settings.limited_transmit {
        core.send_one(now, out);
    }
}

/// A duplicate above the threshold: in fast recovery it inflates the window.
pub fn inflate(core: &mut Core) {
    if !core.settings.strict_inflation || core.last_cut == LastCut::Duplicates {
        core.inflation += 1;
    }
}
