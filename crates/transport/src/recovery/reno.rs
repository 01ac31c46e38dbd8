//! Reno's fast retransmit and fast recovery (RFC 5681, section 3.2) as ns-2 has them: recovery ends with any new acknowledgement.
//!
//! A third duplicate retransmits and halves; each further one inflates the window by a segment. Duplicates of a
//! window that was already cut do neither, but for one after a cut for a mark, which retransmits without a second cut.

use ecnlab_units::Time;

use super::{Recovery, duplicates};
use crate::segment::Ack;
use crate::sender::{Core, LastCut, Output};
use crate::settings::Settings;

pub struct Reno {
    threshold: u32,
}

impl Reno {
    pub fn new(settings: &Settings) -> Reno {
        Reno { threshold: settings.duplicate_threshold }
    }

    fn duplicate(&mut self, core: &mut Core, now: Time, out: &mut impl Output) {
        core.duplicates += 1;
        let count = core.duplicates;
        if count == self.threshold {
            let reaction = duplicates::reaction(core, core.last_cut == LastCut::Duplicates);
            duplicates::fast_retransmit(core, reaction, now, out);
        } else if count < self.threshold {
            duplicates::limited_transmit(core, now, out);
        } else {
            duplicates::inflate(core);
        }
    }
}

impl Recovery for Reno {
    #[inline(never)]
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
}
