//! Mark-front (Liu and Jain 2001): ECN that writes its mark on the oldest unmarked packet instead of the arriving one,
//! so that the sender learns of congestion a queueing delay sooner.
//!
//! RED decides when; one group of all packets names the target.

use ecnlab_units::{Rate, Rng, Time};

use super::control::red::{GAUGES, Settings, TEST_PARAMS};
use super::entry::AqmEntry;
use super::red::{Red, SignalMode};
use super::{Aqm, AqmRequirements, Arrival, EnqueueVerdict, MarkTarget, PacketInfo};

/// Mark-front ECN in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "mark-front",
    title: "Mark-front ECN",
    summary: "ECN that marks the oldest unmarked packet in the queue instead of the arriving one.",
    source: "Liu and Jain 2001; Zheng 2001, section 5.2.3",
    parameters: Settings::PARAMETERS,
    lowest_mark: AqmEntry::MARK_LEVEL_CONGESTED,
    check: |values, limit| Settings::from_values(values).contradictions(limit),
    test_params: TEST_PARAMS,
    gauges: GAUGES,
    make: &|values, link| Box::new(MarkFront::new(Settings::from_values(values), link.rate)),
    ..AqmEntry::DEFAULTS
};

/// Mark-front ECN at work.
pub struct MarkFront(Red);

impl MarkFront {
    /// With these settings, before a line of this rate.
    pub fn new(settings: Settings, rate: Rate) -> MarkFront {
        MarkFront(Red::new(settings, SignalMode::Mark, rate))
    }
}

impl Aqm for MarkFront {
    fn requirements(&self) -> AqmRequirements {
        AqmRequirements { groups: 1, dequeue_hook: false }
    }

    fn on_enqueue(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        match self.0.on_enqueue(arrival, rng) {
            EnqueueVerdict::Signal { level, cause, .. } => EnqueueVerdict::Signal { level, target: MarkTarget::FirstUnmarkedOf(0), cause },
            verdict => verdict,
        }
    }

    fn on_moved_in(&mut self, packet: &PacketInfo, now: Time) {
        self.0.on_moved_in(packet, now);
    }

    fn on_queue_empty(&mut self, now: Time) {
        self.0.on_queue_empty(now);
    }

    fn set_link_rate(&mut self, rate: Rate) {
        self.0.set_link_rate(rate);
    }

    fn average_queue_length(&self) -> Option<f64> {
        self.0.average_queue_length()
    }

    fn report_gauges(&self, report: &mut dyn FnMut(&'static str, f64)) {
        self.0.report_gauges(report);
    }
}
