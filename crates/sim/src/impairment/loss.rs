//! Losses: random, and periodic (the last of each N packets).

use ecnlab_units::{Rng, parameters};

use super::{Impairment, ImpairmentAction, ImpairmentKind};

pub static RANDOM_LOSS: ImpairmentKind = ImpairmentKind {
    name: "loss",
    title: "Random losses",
    summary: "Loses packets with a probability, each independently of the others.",
    source: "ns-2 2.35, ErrorModel",
    parameters: RandomLoss::PARAMETERS,
    ..ImpairmentKind::with_constructor(|values| Impairment::RandomLoss(RandomLoss::from_values(values)))
};

pub static PERIODIC_LOSS: ImpairmentKind = ImpairmentKind {
    name: "periodic-loss",
    title: "Periodic losses",
    summary: "Loses one packet in N: the last of every N arriving packets.",
    source: "RFC 3649, section 2: the deterministic model of response functions; ns-2 2.35, ErrorModel/Periodic",
    parameters: PeriodicLossSettings::PARAMETERS,
    ..ImpairmentKind::with_constructor(|values| {
        Impairment::PeriodicLoss(PeriodicLoss::new(PeriodicLossSettings::from_values(values).every))
    })
};

parameters! {
    /// Random losses.
    #[derive(Clone, Copy, Debug)]
    pub struct RandomLoss {
        /// Probability that a packet is lost.
        #[source("ns-2 2.35, ErrorModel, rate_")]
        #[required]
        #[off("0", "no packet is lost")]
        #[off("1", "every packet is lost")]
        #[usual(0.0001..=0.2, log)]
        pub rate: f64 = "0.01", 0..=1;
    }
}

parameters! {
    /// Settings of periodic losses.
    struct PeriodicLossSettings {
        /// Number N: one packet in N is lost.
        #[source("ns-2 2.35, ErrorModel/Periodic, period_")]
        #[required]
        #[off("1", "every packet is lost")]
        #[usual(10..=1e5, log)]
        pub every: u64 = "1000", 1..=1e12, "packets";
    }
}

/// Loses the last of each N packets.
#[derive(Clone, Copy, Debug)]
pub struct PeriodicLoss {
    every: u64,
    /// Packets since the last loss.
    passed_since_loss: u64,
}

impl RandomLoss {
    pub fn apply(&self, rng: &mut Rng) -> ImpairmentAction {
        if rng.uniform() < self.rate { ImpairmentAction::Drop } else { ImpairmentAction::Pass }
    }
}

impl PeriodicLoss {
    pub fn new(every: u64) -> PeriodicLoss {
        PeriodicLoss { every, passed_since_loss: 0 }
    }

    pub fn apply(&mut self) -> ImpairmentAction {
        self.passed_since_loss += 1;
        if self.passed_since_loss < self.every {
            return ImpairmentAction::Pass;
        }
        self.passed_since_loss = 0;
        ImpairmentAction::Drop
    }
}
