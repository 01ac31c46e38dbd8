//! NewReno's fast recovery (RFC 6582) as ns-2 has it: it lasts until all that was sent before the loss is acknowledged.
//!
//! A partial acknowledgement shows the next loss: its segment goes again, and the window gives back what left the network and takes
//! one segment for what was sent (section 3.2, step 3). It takes no sample and does not end the row of duplicates. In recovery each
//! acknowledgement sends at most two new segments. The window stays at its share when recovery ends, or falls to what is outstanding.

use ecnlab_units::Time;

use super::{Recovery, duplicates};
use crate::segment::Ack;
use crate::sender::{Core, LastCut, Output};
use crate::settings::Settings;

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
        NewReno { threshold: settings.duplicate_threshold, every: settings.partial_ack_timer_every, partial_seen: false }
    }

    fn duplicate(&mut self, core: &mut Core, now: Time, out: &mut impl Output) {
        core.duplicates += 1;
        let count = core.duplicates;
        if count == self.threshold {
            let reaction = duplicates::reaction(core, false);
            duplicates::fast_retransmit(core, reaction, now, out);
        } else if count < self.threshold {
            duplicates::limited_transmit(core, now, out);
        } else {
            duplicates::inflate(core);
        }
    }

    fn partial(&mut self, core: &mut Core, ack: &Ack, now: Time, out: &mut impl Output) {
        if self.every || !self.partial_seen {
            self.partial_seen = true;
            core.restart_timer(now);
        }
        if core.settings.partial_deflation {
            deflate(core, ack.next - core.una, out);
        } else {
            core.inflation = 0;
        }
        core.advance_partly(ack.next);
        core.next = core.next.max(core.una);
        if core.timed.is_some_and(|(seq, _)| seq < core.una) {
            core.timed = None;
            core.estimator.end_backoff();
        }
        core.retransmit(core.una, now, out);
    }

    fn full(&mut self, core: &mut Core, ack: &Ack, now: Time, out: &mut impl Output) {
        self.partial_seen = false;
        // ns-2 knows by its inflation that it was in recovery.
        let unnoticed = core.inflation == 0 && core.last_cut == LastCut::Duplicates;
        if core.inflation > 0 && core.settings.exit_to_flight {
            core.window.cwnd = core.window.ssthresh.min((core.high + 1 - ack.next) as f64);
            out.window(&core.window);
        }
        core.inflation = 0;
        let newly = core.advance(ack, now);
        if unnoticed {
            core.last_cut = LastCut::Duplicates;
        }
        core.grow(ack, newly, now, out);
    }
}

/// Takes `newly` segments out of the inflated window and puts one in; the inflation stays above zero, the window at one.
fn deflate(core: &mut Core, newly: u64, out: &mut impl Output) {
    if core.inflation > newly {
        core.inflation -= newly - 1;
    } else {
        core.window.cwnd -= (newly - core.inflation) as f64;
        out.window(&core.window);
        core.inflation = 1;
    }
    if core.window.cwnd < 1.0 {
        core.window.cwnd = 1.0;
        out.window(&core.window);
    }
}

impl Recovery for NewReno {
    #[inline(never)]
    fn acknowledged<O: Output>(&mut self, core: &mut Core, ack: &Ack, now: Time, out: &mut O) {
        if ack.next > core.una {
            if ack.next < core.recover && core.last_cut == LastCut::Duplicates {
                self.partial(core, ack, now, out);
            } else {
                self.full(core, ack, now, out);
            }
        } else if ack.next == core.una {
            self.duplicate(core, now, out);
        }
        if core.duplicates == 0 {
            core.send_window(u64::MAX, now, out);
        } else if core.duplicates >= self.threshold {
            core.send_window(BURST, now, out);
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
