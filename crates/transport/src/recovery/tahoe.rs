//! Tahoe's fast retransmit (Jacobson 1988; ns-2's Agent/TCP): a third duplicate is answered as a timeout is, but for the back-off.
//!
//! The threshold is cut, the window falls to one segment, and sending goes back to the first unacknowledged segment. What arrived
//! beyond it is passed over when the acknowledgement jumps. There is no fast recovery: duplicates inflate nothing.

use ecnlab_units::Time;

use super::Recovery;
use super::duplicates::{self, Reaction};
use crate::segment::Ack;
use crate::sender::{Core, LastCut, Output};
use crate::settings::Settings;

pub struct Tahoe {
    threshold: u32,
    /// Duplicates in a row; a timeout among them does not end it.
    duplicates: u32,
}

impl Tahoe {
    pub fn new(settings: &Settings) -> Tahoe {
        Tahoe { threshold: settings.duplicate_threshold, duplicates: 0 }
    }

    fn duplicate(&mut self, core: &mut Core, now: Time, out: &mut impl Output) {
        self.duplicates += 1;
        core.duplicates = self.duplicates;
        if core.duplicates == self.threshold {
            go_back(core, now, out);
        } else if core.duplicates < self.threshold {
            duplicates::limited_transmit(core, now, out);
        }
    }
}

fn go_back(core: &mut Core, now: Time, out: &mut impl Output) {
    let Reaction::Retransmit { cut } = duplicates::reaction(core, false) else { return };
    core.last_cut = LastCut::Duplicates;
    if cut {
        core.collapse_for_loss(now, out);
    } else {
        core.restart_window(out);
    }
    core.next = core.una;
    if core.una < core.available {
        duplicates::retransmit_first(core, now, out);
        core.next += 1;
    }
}

impl Recovery for Tahoe {
    #[inline(never)]
    fn acknowledged<O: Output>(&mut self, core: &mut Core, ack: &Ack, now: Time, out: &mut O) {
        if ack.next > core.una {
            self.duplicates = 0;
            let newly = core.advance(ack, now);
            core.grow(ack, newly, now, out);
        } else if ack.next == core.una {
            self.duplicate(core, now, out);
        }
        core.send_window(u64::MAX, now, out);
    }
}

#[cfg(test)]
mod tests {
    use crate::recovery::testing::Wire;
    use crate::settings::RecoveryName;

    #[test]
    fn a_third_duplicate_goes_back_with_a_window_of_one() {
        let mut wire = Wire::new(RecoveryName::Tahoe, 8);
        wire.duplicates(1, 3);
        assert_eq!((1.0, 4.0), wire.window());
        assert_eq!(vec![1], wire.sent());
        wire.acknowledge(5);
        assert_eq!(vec![5, 6], wire.sent());
    }
}
