//! Tahoe's fast retransmit (Jacobson 1988; ns-2's Agent/TCP): a third duplicate is answered as a timeout is, but for the back-off.
//!
//! The threshold is cut, the window falls to one segment, and sending goes back to the first unacknowledged segment. What arrived
//! beyond it is passed over when the acknowledgement jumps. There is no fast recovery: duplicates inflate nothing.

use ecnlab_units::Time;

use super::Recovery;
use super::duplicates::{self, Reaction};
use crate::segment::Ack;
use crate::settings::Settings;
use crate::tcb::{Output, Tcb};

pub struct Tahoe {
    threshold: u32,
    /// Duplicates in a row; a timeout among them does not end it.
    duplicates: u32,
}

impl Tahoe {
    pub fn new(settings: &Settings) -> Tahoe {
        Tahoe { threshold: settings.duplicate_threshold, duplicates: 0 }
    }

    fn duplicate(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        self.duplicates += 1;
        tcb.set_duplicates(self.duplicates);
        if tcb.duplicates() == self.threshold {
            go_back(tcb, now, out);
        } else if tcb.duplicates() < self.threshold {
            duplicates::limited_transmit(tcb, now, out);
        }
    }
}

fn go_back(tcb: &mut Tcb, now: Time, out: &mut impl Output) {
    let Reaction::Retransmit { cut } = duplicates::reaction(tcb, false) else { return };
    tcb.enter_recovery();
    if cut {
        tcb.collapse_for_loss(now, out);
    } else {
        tcb.restart_window(out);
    }
    tcb.go_back();
    if tcb.una() < tcb.available() {
        duplicates::retransmit_first(tcb, now, out);
        tcb.pass_over(tcb.una());
    }
}

impl Recovery for Tahoe {
    #[inline(never)]
    fn acknowledged<O: Output>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O) {
        if ack.next > tcb.una() {
            self.duplicates = 0;
            let newly = tcb.advance(ack, now);
            tcb.grow(ack, newly, now, out);
        } else if ack.next == tcb.una() {
            self.duplicate(tcb, now, out);
        }
        tcb.send_window(u64::MAX, now, out);
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
