//! Combinations of congestion control, loss recovery and response to marks that a judge outside of this code has checked, by profile.
//!
//! Parameters can be combined freely; a combination that is not listed runs with a warning.

use ecnlab_units::words;

use crate::settings::CongestionControlName::{Aimd, Cubic, Reno, Vegas};
use crate::settings::EcnResponseName::{Dctcp, Halve, Mecn};
use crate::settings::{CongestionControlName, EcnResponseName, LossDetection, RecoveryName, Settings};

words! {
    /// A judge of packets that is not part of this simulator.
    pub enum Judge { Ns2 = "ns-2", Linux = "Linux 6.1", Rfcs = "RFC conformance suite" }
}

words! {
    /// Loss recovery as it works: that of Linux does with SACK and RACK, with SACK and DupThresh, or without SACK.
    pub enum RecoveryMode {
        Tahoe = "tahoe",
        Reno = "reno",
        NewReno = "newreno",
        Sack1 = "sack1",
        Vegas = "vegas",
        Sack = "sack",
        Fack = "fack",
        Rack = "rack",
        RackByDupthresh = "rack by dupthresh",
        RackWithoutSack = "rack without SACK blocks",
    }
}

/// The parts of a sender that are checked together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Combination {
    pub control: CongestionControlName,
    pub recovery: RecoveryMode,
    /// Nothing without ECN.
    pub response: Option<EcnResponseName>,
}

/// A combination that a judge has checked, without ECN and with each of some responses.
#[derive(Clone, Copy, Debug)]
pub struct CheckedCombination {
    pub control: CongestionControlName,
    pub recovery: RecoveryMode,
    pub responses: &'static [EcnResponseName],
    pub judge: Judge,
}

const fn checked(
    judge: Judge,
    control: CongestionControlName,
    recovery: RecoveryMode,
    responses: &'static [EcnResponseName],
) -> CheckedCombination {
    CheckedCombination { control, recovery, responses, judge }
}

/// Responses of the conformance suite with every variant but DCTCP.
const SUITE: &[EcnResponseName] = &[Halve, Mecn];
/// Those with the variant DCTCP.
const SUITE_DCTCP: &[EcnResponseName] = &[Dctcp, Mecn];

/// What the conformance suite runs with every profile: the variants, over this recovery where they leave the profile's.
macro_rules! suite {
    ($recovery:ident: $($checked:expr),* $(,)?) => {
        &[
            $($checked,)*
            checked(Judge::Rfcs, Reno, RecoveryMode::Tahoe, SUITE),
            checked(Judge::Rfcs, Reno, RecoveryMode::Reno, SUITE),
            checked(Judge::Rfcs, Reno, RecoveryMode::Sack1, SUITE),
            checked(Judge::Rfcs, Vegas, RecoveryMode::Vegas, SUITE),
            checked(Judge::Rfcs, Cubic, RecoveryMode::$recovery, SUITE),
            checked(Judge::Rfcs, Reno, RecoveryMode::$recovery, SUITE_DCTCP),
            checked(Judge::Rfcs, Aimd, RecoveryMode::$recovery, SUITE),
        ]
    };
}

pub(crate) const NS2: &[CheckedCombination] = suite![Reno:
    checked(Judge::Ns2, Reno, RecoveryMode::Tahoe, &[Halve]),
    checked(Judge::Ns2, Reno, RecoveryMode::Reno, &[Halve]),
    checked(Judge::Ns2, Reno, RecoveryMode::NewReno, &[Halve]),
    checked(Judge::Ns2, Reno, RecoveryMode::Sack1, &[Halve]),
    checked(Judge::Ns2, Vegas, RecoveryMode::Vegas, &[]),
    checked(Judge::Rfcs, Reno, RecoveryMode::NewReno, SUITE),
    checked(Judge::Rfcs, Reno, RecoveryMode::Sack, SUITE),
];

pub(crate) const NS2_2001: &[CheckedCombination] = suite![Reno:
    checked(Judge::Ns2, Reno, RecoveryMode::Reno, &[Halve]),
    checked(Judge::Ns2, Reno, RecoveryMode::NewReno, &[]),
    checked(Judge::Ns2, Reno, RecoveryMode::Sack1, &[]),
    checked(Judge::Rfcs, Reno, RecoveryMode::NewReno, SUITE),
    checked(Judge::Rfcs, Reno, RecoveryMode::Sack, SUITE),
];

pub(crate) const LINUX_2_0: &[CheckedCombination] = suite![Reno:
    checked(Judge::Rfcs, Reno, RecoveryMode::NewReno, SUITE),
    checked(Judge::Rfcs, Reno, RecoveryMode::Sack, SUITE),
];

pub(crate) const LINUX_2_2: &[CheckedCombination] = suite![Fack:
    checked(Judge::Rfcs, Reno, RecoveryMode::Fack, SUITE),
    checked(Judge::Rfcs, Reno, RecoveryMode::NewReno, SUITE),
    checked(Judge::Rfcs, Reno, RecoveryMode::Sack, SUITE),
];

pub(crate) const LINUX_6_1: &[CheckedCombination] = suite![Rack:
    checked(Judge::Linux, Cubic, RecoveryMode::Rack, &[Halve]),
    checked(Judge::Linux, Reno, RecoveryMode::Rack, &[Halve, Dctcp]),
    checked(Judge::Linux, Reno, RecoveryMode::RackWithoutSack, &[]),
    checked(Judge::Rfcs, Reno, RecoveryMode::RackWithoutSack, SUITE),
    checked(Judge::Rfcs, Reno, RecoveryMode::RackByDupthresh, SUITE),
];

pub(crate) const RFC: &[CheckedCombination] = suite![Sack:
    checked(Judge::Rfcs, Reno, RecoveryMode::Sack, SUITE),
    checked(Judge::Rfcs, Reno, RecoveryMode::NewReno, SUITE),
];

impl RecoveryMode {
    /// The recovery of a sender.
    pub fn of(settings: &Settings) -> RecoveryMode {
        match settings.recovery {
            RecoveryName::Tahoe => RecoveryMode::Tahoe,
            RecoveryName::Reno => RecoveryMode::Reno,
            RecoveryName::NewReno => RecoveryMode::NewReno,
            RecoveryName::Sack1 => RecoveryMode::Sack1,
            RecoveryName::Vegas => RecoveryMode::Vegas,
            RecoveryName::Sack => RecoveryMode::Sack,
            RecoveryName::Fack => RecoveryMode::Fack,
            RecoveryName::Rack if settings.sack_blocks == 0 => RecoveryMode::RackWithoutSack,
            RecoveryName::Rack if settings.loss_detection == LossDetection::Dupthresh => RecoveryMode::RackByDupthresh,
            RecoveryName::Rack => RecoveryMode::Rack,
        }
    }
}

impl Combination {
    /// The combination of a sender.
    pub fn of(settings: &Settings) -> Combination {
        Combination {
            control: settings.congestion_control,
            recovery: RecoveryMode::of(settings),
            response: settings.ecn.then_some(settings.ecn_response),
        }
    }

    /// Whether one of these covers it.
    pub fn is_among(self, checked: &[CheckedCombination]) -> bool {
        checked.iter().any(|one| one.covers(self))
    }
}

impl CheckedCombination {
    /// The combinations that it covers: without ECN, and with each response.
    pub fn combinations(&self) -> impl Iterator<Item = Combination> + '_ {
        let responses = std::iter::once(None).chain(self.responses.iter().copied().map(Some));
        responses.map(|response| Combination { control: self.control, recovery: self.recovery, response })
    }

    /// Whether this is that combination.
    pub fn covers(&self, combination: Combination) -> bool {
        let is_response_covered = combination.response.is_none_or(|response| self.responses.contains(&response));
        (self.control, self.recovery) == (combination.control, combination.recovery) && is_response_covered
    }
}

impl std::fmt::Display for Combination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} with recovery {}", self.control, self.recovery)?;
        self.response.map_or(Ok(()), |response| write!(f, " and ecn_response {response}"))
    }
}
