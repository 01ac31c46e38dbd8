//! Reordering and duplication: a share of packets is held while others overtake them, or comes twice.

use std::collections::VecDeque;

use ecnlab_units::parameter::OrOff;
use ecnlab_units::{Rng, Span, Time, Values, parameters};

use super::held::Key;
use super::{Deed, Entry, Part};

pub static REORDER: Entry = Entry {
    name: "reorder",
    title: "Reordering",
    summary: "Holds a share of the packets for a time, or until so many others have overtaken them, whichever comes first.",
    source: "RFC 4737; netem, reorder",
    parameters: Settings::PARAMETERS,
    ..Entry::with(|values| Part::Reorder(Reorder::of(values)))
};

pub static DUPLICATE: Entry = Entry {
    name: "duplicate",
    title: "Duplication",
    summary: "Copies a share of the packets; a copy goes on right behind its packet, and each of them meets what comes after this.",
    source: "RFC 5560; netem, duplicate",
    parameters: Duplicate::PARAMETERS,
    ..Entry::with(|values| Part::Duplicate(Duplicate::of(values)))
};

parameters! {
    /// Reordering as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    struct Settings {
        /// Probability that a packet is held.
        #[source("netem, reorder: its share passes at once and the others are held")]
        #[must be given]
        #[off("0", "no packet is held")]
        pub rate: f64 = "0.01", 0..=1;
        /// How long it is held.
        #[source("netem, delay")]
        #[must be given]
        #[off("0 s", "a packet that is held goes on at once")]
        pub delay: Span = "10 ms", 0..=8_640_000, "s";
        /// After how many packets that overtook it, it goes on before that time; off is after the time alone.
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
        #[must be given]
        #[off("0", "no packet is copied")]
        pub rate: f64 = "0.01", 0..=1;
    }
}

/// Holds packets while others overtake them.
#[derive(Clone, Debug)]
pub struct Reorder {
    settings: Settings,
    /// Packets that were not held.
    passed: u64,
    /// What is held, in the order in which it came, with the packet at which it goes on.
    waiting: VecDeque<(u64, Key)>,
}

impl Duplicate {
    pub fn meet(&self, rng: &mut Rng) -> Deed {
        if rng.uniform() < self.rate { Deed::Copy } else { Deed::Pass }
    }
}

impl Reorder {
    fn of(values: &Values) -> Reorder {
        Reorder { settings: Settings::of(values), passed: 0, waiting: VecDeque::new() }
    }

    pub fn meet(&mut self, now: Time, rng: &mut Rng) -> Deed {
        if rng.uniform() < self.settings.rate {
            return Deed::Hold(now + self.settings.delay);
        }
        self.passed += 1;
        Deed::Pass
    }

    /// A packet is held under this key.
    pub fn held(&mut self, key: Key) {
        if let OrOff(Some(packets)) = self.settings.packets {
            self.waiting.push_back((self.passed + u64::from(packets), key));
        }
    }

    /// The next packet that enough others have overtaken, if it is still held.
    pub fn overtaken(&mut self) -> Option<Key> {
        let &(at, key) = self.waiting.front()?;
        (at <= self.passed).then(|| {
            self.waiting.pop_front();
            key
        })
    }
}
