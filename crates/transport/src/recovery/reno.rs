//! Reno's fast retransmit and fast recovery (RFC 5681, section 3.2) as ns-2 has them: recovery ends with any new acknowledgement.
//!
//! A third duplicate retransmits and halves; each further one inflates the window by a segment. Duplicates of a
//! window that was already cut do neither, but for one after a cut for a mark, which retransmits without a second cut.

use super::{LastCut, Reaction, Recovery, View};
use crate::settings::Settings;

pub struct Reno {
    threshold: u32,
    limited_transmit: bool,
    single: bool,
    first_packet: bool,
    strict_inflation: bool,
    inflation: u64,
}

impl Reno {
    pub fn new(settings: &Settings) -> Reno {
        Reno {
            threshold: settings.duplicate_threshold,
            limited_transmit: settings.limited_transmit,
            single: settings.single_fast_retransmit,
            first_packet: settings.first_packet_loss,
            strict_inflation: settings.strict_inflation,
            inflation: 0,
        }
    }

    fn at_threshold(&mut self, view: &View) -> Reaction {
        let may_cut = view.una > view.recover
            || !self.single && !view.ecn
            || view.last_cut == LastCut::Duplicates
            || self.first_packet && view.una == 1;
        let reaction = if may_cut {
            Reaction::Retransmit { cut: true }
        } else if view.ecn && view.last_cut == LastCut::Mark {
            Reaction::Retransmit { cut: false }
        } else {
            Reaction::Wait
        };
        if reaction != Reaction::Wait || !self.strict_inflation {
            self.inflation = u64::from(self.threshold);
        }
        reaction
    }
}

impl Recovery for Reno {
    fn inflation(&self) -> u64 {
        self.inflation
    }

    fn duplicate(&mut self, count: u32, view: &View) -> Reaction {
        if count == self.threshold {
            return self.at_threshold(view);
        }
        if count < self.threshold {
            return if self.limited_transmit { Reaction::LimitedTransmit } else { Reaction::Wait };
        }
        if !self.strict_inflation || view.last_cut == LastCut::Duplicates {
            self.inflation += 1;
        }
        Reaction::Wait
    }

    fn advanced(&mut self) {
        self.inflation = 0;
    }

    fn timed_out(&mut self) {
        self.inflation = 0;
    }
}
