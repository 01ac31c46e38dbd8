//! Losses: at random, and of each so many packets the last.

use ecnlab_units::{Rng, parameters};

use super::{Deed, Entry, Part};

pub static LOSS: Entry = Entry {
    name: "loss",
    title: "Random losses",
    summary: "Loses packets with a probability, each independently of the others.",
    source: "ns-2 2.35, ErrorModel",
    parameters: Random::PARAMETERS,
    ..Entry::with(|values| Part::Loss(Random::of(values)))
};

pub static PERIODIC: Entry = Entry {
    name: "periodic-loss",
    title: "Periodic losses",
    summary: "Loses one packet in so many: the last of each so many that come.",
    source: "RFC 3649, section 2: the deterministic model of response functions; ns-2 2.35, ErrorModel/Periodic",
    parameters: PeriodicSettings::PARAMETERS,
    ..Entry::with(|values| Part::Periodic(Periodic::new(PeriodicSettings::of(values).every)))
};

parameters! {
    /// Random losses.
    #[derive(Clone, Copy, Debug)]
    pub struct Random {
        /// Probability that a packet is lost.
        #[source("ns-2 2.35, ErrorModel, rate_")]
        #[must be given]
        #[off("0", "no packet is lost")]
        #[off("1", "every packet is lost")]
        pub rate: f64 = "0.01", 0..=1;
    }
}

parameters! {
    /// Periodic losses as a scenario sets them.
    struct PeriodicSettings {
        /// One packet in so many is lost.
        #[source("ns-2 2.35, ErrorModel/Periodic, period_")]
        #[must be given]
        #[off("1", "every packet is lost")]
        pub every: u64 = "1000", 1..=1e12, "packets";
    }
}

/// Loses the last of each so many packets.
#[derive(Clone, Copy, Debug)]
pub struct Periodic {
    every: u64,
    /// Packets since the last loss.
    passed: u64,
}

impl Random {
    pub fn meet(&self, rng: &mut Rng) -> Deed {
        if rng.uniform() < self.rate { Deed::Lose } else { Deed::Pass }
    }
}

impl Periodic {
    pub fn new(every: u64) -> Periodic {
        Periodic { every, passed: 0 }
    }

    pub fn meet(&mut self) -> Deed {
        self.passed += 1;
        if self.passed < self.every {
            return Deed::Pass;
        }
        self.passed = 0;
        Deed::Lose
    }
}
