//! Reno's fast retransmit and fast recovery (RFC 5681, section 3.2) as ns-2 has them: recovery ends with any new acknowledgement.
//!
//! A third duplicate retransmits and halves; each further one inflates the window by a segment. Duplicates of a
//! window that was already cut do neither, but for one after a cut for a mark, which retransmits without a second cut.

use ecnlab_units::Time;

use super::{Recovery, duplicates};
use crate::segment::Ack;
use crate::settings::Settings;
use crate::tcb::{CutFor, Output, Tcb};

pub struct RenoRecovery {
    threshold: u32,
}

impl RenoRecovery {
    pub fn new(settings: &Settings) -> RenoRecovery {
        RenoRecovery { threshold: settings.duplicate_threshold }
    }

    fn duplicate(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        let count = tcb.count_duplicate();
        if count == self.threshold {
            let reaction = duplicates::reaction(tcb, tcb.last_cut().is_for(CutFor::Duplicates));
            duplicates::fast_retransmit(tcb, reaction, now, out);
        } else if count < self.threshold {
            duplicates::limited_transmit(tcb, now, out);
        } else {
            duplicates::inflate(tcb);
        }
    }
}

impl Recovery for RenoRecovery {
    #[inline(never)]
    fn acknowledged<O: Output>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O) {
        if ack.next > tcb.una() {
            tcb.inflate_to(0);
            let newly = tcb.advance(ack, now);
            tcb.grow(ack, newly, now, out);
        } else if ack.next == tcb.una() {
            self.duplicate(tcb, now, out);
        }
        if tcb.duplicates() == 0 || tcb.duplicates() >= self.threshold {
            tcb.send_window(u64::MAX, now, out);
        }
    }
}
