//! Reno's fast retransmit and fast recovery (RFC 5681, section 3.2) as ns-2 has them: recovery ends with any new acknowledgement.
//!
//! A third duplicate retransmits and halves; each further one inflates the window by a segment. Duplicates of a
//! window that was already cut do neither, but for one after a cut for a mark, which retransmits without a second cut.

use ecnlab_units::Time;

use super::Recovery;
use crate::segment::Ack;
use crate::sender::{Core, LastCut, Output};
use crate::settings::Settings;

pub struct Reno {
    threshold: u32,
}

/// What the duplicate at the threshold calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reaction {
    Wait,
    /// Retransmit the first unacknowledged segment, and cut the window or leave it.
    Retransmit {
        cut: bool,
    },
}

impl Reno {
    pub fn new(settings: &Settings) -> Reno {
        Reno { threshold: settings.duplicate_threshold }
    }

    fn duplicate(&mut self, core: &mut Core, now: Time, out: &mut impl Output) {
        core.duplicates += 1;
        let count = core.duplicates;
        if count == self.threshold {
            self.at_threshold(core, now, out);
        } else if count < self.threshold {
            if core.settings.limited_transmit {
                core.send_one(now, out);
            }
        } else if !core.settings.strict_inflation || core.last_cut == LastCut::Duplicates {
            core.inflation += 1;
        }
    }

    fn at_threshold(&mut self, core: &mut Core, now: Time, out: &mut impl Output) {
        let reaction = reaction(core);
        let base = core.loss_base();
        if reaction != Reaction::Wait || !core.settings.strict_inflation {
            core.inflation = u64::from(self.threshold);
        }
        let Reaction::Retransmit { cut } = reaction else { return };
        core.last_cut = LastCut::Duplicates;
        if cut {
            core.cut_for_loss(base, now, out);
        }
        core.restart_timer(now);
        core.timed = None;
        core.retransmit(core.una, now, out);
    }
}

fn reaction(core: &Core) -> Reaction {
    let settings = &core.settings;
    let may_cut = core.una > core.recover
        || !settings.single_fast_retransmit && !settings.ecn
        || core.last_cut == LastCut::Duplicates
        || settings.first_packet_loss && core.una == 1;
    if may_cut {
        Reaction::Retransmit { cut: true }
    } else if settings.ecn && core.last_cut == LastCut::Mark {
        Reaction::Retransmit { cut: false }
    } else {
        Reaction::Wait
    }
}

impl Recovery for Reno {
    fn acknowledged<O: Output>(&mut self, core: &mut Core, ack: &Ack, now: Time, out: &mut O) {
        if ack.next > core.una {
            core.inflation = 0;
            let newly = core.advance(ack, now);
            core.grow(ack, newly, now, out);
        } else if ack.next == core.una {
            self.duplicate(core, now, out);
        }
        if core.duplicates == 0 || core.duplicates >= self.threshold {
            core.send_window(u64::MAX, now, out);
        }
    }

    fn timed_out<O: Output>(&mut self, core: &mut Core, now: Time, out: &mut O) {
        core.next = core.una;
        core.send_window(u64::MAX, now, out);
    }
}
