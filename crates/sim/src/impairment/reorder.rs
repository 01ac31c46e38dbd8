//! Reordering and duplication: a share of packets is delayed while others overtake them, or is duplicated.

use std::collections::VecDeque;

use ecnlab_units::parameter::OrOff;
use ecnlab_units::{Rng, Span, Time, Values, parameters};

use super::{Impairment, ImpairmentAction, ImpairmentKind};
use crate::due_queue::DueKey;

pub static REORDER: ImpairmentKind = ImpairmentKind {
    name: "reorder",
    title: "Reordering",
    summary: "Delays a share of the packets by a time, or until a number of others have overtaken them, whichever is first.",
    source: "RFC 4737; netem, reorder",
    parameters: ReorderSettings::PARAMETERS,
    ..ImpairmentKind::with_constructor(|values| Impairment::Reorder(Reorder::from_parameter_values(values)))
};

pub static DUPLICATE: ImpairmentKind = ImpairmentKind {
    name: "duplicate",
    title: "Duplication",
    summary: "Copies a share of the packets. A copy follows directly behind its packet, and later impairments apply to each of them.",
    source: "RFC 5560; netem, duplicate",
    parameters: Duplicate::PARAMETERS,
    ..ImpairmentKind::with_constructor(|values| Impairment::Duplicate(Duplicate::from_values(values)))
};

parameters! {
    /// Settings of reordering.
    #[derive(Clone, Copy, Debug)]
    struct ReorderSettings {
        /// Probability that a packet is delayed.
        #[source("netem, reorder: its share passes at once and the others are held")]
        #[required]
        #[off("0", "no packet is held")]
        #[usual(0.0001..=0.5, log)]
        pub rate: f64 = "0.01", 0..=1;
        /// Longest delay.
        #[source("netem, delay")]
        #[required]
        #[off("0 s", "a packet that is held goes on at once")]
        #[usual(0.0001..=0.1, log)]
        pub delay: Span = "10 ms", 0..=8_640_000, "s";
        /// Number of overtaking packets after which a packet continues before that time; off uses the time only.
        #[source("RFC 4737, section 4.2: the extent of reordering")]
        pub packets: OrOff<u32> = "off", 1..=1_000_000, "packets";
    }
}

parameters! {
    /// Duplication.
    #[derive(Clone, Copy, Debug)]
    pub struct Duplicate {
        /// Probability that a packet is copied.
        #[source("netem, duplicate")]
        #[required]
        #[off("0", "no packet is copied")]
        #[usual(0.0001..=0.5, log)]
        pub rate: f64 = "0.01", 0..=1;
    }
}

/// Delays packets while others overtake them.
#[derive(Clone, Debug)]
pub struct Reorder {
    settings: ReorderSettings,
    /// Packets that were not delayed.
    passed_packets: u64,
    /// Delayed packets in order of arrival, each with the number of passed packets at which it is released.
    overtake_limits: VecDeque<(u64, DueKey)>,
}

impl Duplicate {
    pub fn apply(&self, rng: &mut Rng) -> ImpairmentAction {
        if rng.uniform() < self.rate { ImpairmentAction::Duplicate } else { ImpairmentAction::Pass }
    }
}

impl Reorder {
    fn from_parameter_values(values: &Values) -> Reorder {
        Reorder { settings: ReorderSettings::from_values(values), passed_packets: 0, overtake_limits: VecDeque::new() }
    }

    pub fn apply(&mut self, now: Time, rng: &mut Rng) -> ImpairmentAction {
        if rng.uniform() < self.settings.rate {
            return ImpairmentAction::Delay(now + self.settings.delay);
        }
        self.passed_packets += 1;
        ImpairmentAction::Pass
    }

    /// Adds a packet that is delayed under this key.
    pub fn add_delayed(&mut self, key: DueKey) {
        if let OrOff(Some(packets)) = self.settings.packets {
            self.overtake_limits.push_back((self.passed_packets + u64::from(packets), key));
        }
    }

    /// The next packet that enough others have overtaken, if it is still delayed.
    pub fn pop_overtaken(&mut self) -> Option<DueKey> {
        let &(at, key) = self.overtake_limits.front()?;
        (at <= self.passed_packets).then(|| {
            self.overtake_limits.pop_front();
            key
        })
    }
}
