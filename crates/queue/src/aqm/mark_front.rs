//! Mark-front (Liu and Jain 2001): ECN that writes its mark on the oldest unmarked packet instead of the arriving one,
//! so that the sender learns of congestion a queueing delay sooner.
//!
//! RED decides when; one group of all packets names the target.

use ecnlab_units::{Rate, Rng, Time};

use super::law::red::{BUSY, GAUGES, Settings};
use super::red::{Mode, Red};
use super::{Aqm, Arrival, Glimpse, Needs, Target, Wish};
use crate::registry::AqmEntry;

/// Mark-front ECN in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "mark-front",
    title: "Mark-front ECN",
    summary: "ECN that marks the oldest unmarked packet in the queue instead of the arriving one.",
    source: "Liu and Jain 2001; Zheng 2001, section 5.2.3",
    parameters: Settings::PARAMETERS,
    marks: AqmEntry::CONGESTED,
    check: |values, limit| Settings::of(values).check(limit),
    busy: BUSY,
    gauges: GAUGES,
    make: &|values, line| Box::new(MarkFront::new(Settings::of(values), line.rate)),
    ..AqmEntry::PLAIN
};

/// Mark-front ECN at work.
pub struct MarkFront(Red);

impl MarkFront {
    /// With these settings, before a line of this rate.
    pub fn new(settings: Settings, rate: Rate) -> MarkFront {
        MarkFront(Red::new(settings, Mode::Mark, rate))
    }
}

impl Aqm for MarkFront {
    fn needs(&self) -> Needs {
        Needs { groups: 1, departures: false }
    }

    fn arrive(&mut self, arrival: &Arrival, rng: &mut Rng) -> Wish {
        match self.0.arrive(arrival, rng) {
            Wish::Signal { level, cause, .. } => Wish::Signal { level, target: Target::FrontUnmarked(0), cause },
            wish => wish,
        }
    }

    fn on_moved_in(&mut self, packet: &Glimpse, now: Time) {
        self.0.on_moved_in(packet, now);
    }

    fn idle(&mut self, now: Time) {
        self.0.idle(now);
    }

    fn retune(&mut self, rate: Rate) {
        self.0.retune(rate);
    }

    fn average(&self) -> Option<f64> {
        self.0.average()
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.0.gauges(show);
    }
}
