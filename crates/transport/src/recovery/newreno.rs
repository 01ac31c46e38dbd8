//! NewReno's fast recovery (RFC 6582) as ns-2 has it: it lasts until all that was sent before the loss is acknowledged.
//!
//! A partial acknowledgement shows the next loss: its segment goes again, and the window gives back what left the network and takes
//! one segment for what was sent (section 3.2, step 3). It takes no sample and does not end the row of duplicates. In recovery each
//! acknowledgement sends at most two new segments. The window stays at its share when recovery ends, or falls to what is outstanding.

use ecnlab_units::Time;

use super::{Recovery, duplicates};
use crate::segment::Ack;
use crate::settings::{PartialAckTimer, Settings};
use crate::tcb::{CutFor, Output, Tcb};

/// Most segments that an acknowledgement in recovery sends.
const BURST: u64 = 2;

pub struct NewReno {
    threshold: u32,
    /// Whether every partial acknowledgement restarts the timer, or the first one only (section 4: slow-but-steady and impatient).
    every: bool,
    partial_seen: bool,
}

impl NewReno {
    pub fn new(settings: &Settings) -> NewReno {
        NewReno {
            threshold: settings.duplicate_threshold,
            every: settings.partial_ack_timer == PartialAckTimer::Every,
            partial_seen: false,
        }
    }

    fn duplicate(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        let count = tcb.count_duplicate();
        if count == self.threshold {
            let reaction = duplicates::reaction(tcb, false);
            duplicates::fast_retransmit(tcb, reaction, now, out);
        } else if count < self.threshold {
            duplicates::limited_transmit(tcb, now, out);
        } else {
            duplicates::inflate(tcb);
        }
    }

    fn partial(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut impl Output) {
        if self.every || !self.partial_seen {
            self.partial_seen = true;
            tcb.restart_timer(now);
        }
        if tcb.settings().partial_deflation {
            deflate(tcb, ack.next - tcb.una(), out);
        } else {
            tcb.inflate_to(0);
        }
        tcb.advance_partly(ack.next);
        tcb.give_up_passed_sample();
        tcb.retransmit(tcb.una(), now, out);
    }

    fn full(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut impl Output) {
        self.partial_seen = false;
        // ns-2 knows by its inflation that it was in recovery.
        let unnoticed = tcb.last_cut().inflation() == 0 && tcb.last_cut().is_for(CutFor::Duplicates);
        if tcb.last_cut().inflation() > 0 && tcb.settings().exit_to_flight {
            tcb.set_cwnd(tcb.window().ssthresh.min((tcb.high() + 1 - ack.next) as f64), out);
        }
        tcb.inflate_to(0);
        let newly = tcb.advance(ack, now);
        if unnoticed {
            tcb.enter_recovery();
        }
        tcb.grow(ack, newly, now, out);
    }
}

/// Takes `newly` segments out of the inflated window and puts one in; the inflation stays above zero, the window at one.
fn deflate(tcb: &mut Tcb, newly: u64, out: &mut impl Output) {
    let inflation = tcb.last_cut().inflation();
    if inflation > newly {
        tcb.inflate_to(inflation - (newly - 1));
    } else {
        tcb.set_cwnd(tcb.window().cwnd - (newly - inflation) as f64, out);
        tcb.inflate_to(1);
    }
    tcb.reopen_window(out);
}

impl Recovery for NewReno {
    #[inline(never)]
    fn acknowledged<O: Output>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O) {
        if ack.next > tcb.una() {
            if !tcb.last_cut().is_repaired(ack.next) && tcb.last_cut().is_for(CutFor::Duplicates) {
                self.partial(tcb, ack, now, out);
            } else {
                self.full(tcb, ack, now, out);
            }
        } else if ack.next == tcb.una() {
            self.duplicate(tcb, now, out);
        }
        if tcb.duplicates() == 0 {
            tcb.send_window(u64::MAX, now, out);
        } else if tcb.duplicates() >= self.threshold {
            tcb.send_window(BURST, now, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::recovery::testing::Wire;
    use crate::settings::RecoveryName;

    #[test]
    fn a_partial_acknowledgement_retransmits_and_recovery_goes_on() {
        let mut wire = Wire::new(RecoveryName::NewReno, 8);
        wire.duplicates(1, 3);
        assert_eq!(vec![1], wire.sent());
        wire.acknowledge(4);
        assert_eq!(vec![4], wire.sent());
        assert_eq!((4.0, 4.0), wire.window());
    }

    #[test]
    fn a_partial_acknowledgement_of_more_than_the_inflation_deflates_the_window() {
        let mut wire = Wire::new(RecoveryName::NewReno, 16);
        wire.duplicates(1, 3);
        wire.acknowledge(8);
        // Seven segments left, three of them known by their duplicates.
        assert_eq!((4.0, 8.0), wire.window());
    }

    #[test]
    fn recovery_ends_with_all_that_was_sent_before_the_loss() {
        let mut wire = Wire::new(RecoveryName::NewReno, 8);
        wire.duplicates(1, 3);
        wire.acknowledge(9);
        assert_eq!((4.25, 4.0), wire.window());
    }
}
