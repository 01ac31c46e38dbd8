//! Combinations of congestion control, loss recovery, response to marks and feedback that a reference outside of this code has checked, by
//! profile.
//!
//! Parameters can be combined freely; a combination that is not listed runs with a warning.

use ecnlab_units::words;

use self::ReferenceImplementation::{Linux, Linux72, Ns2, Rfcs};
use crate::settings::CongestionControlName::{Aimd, Cubic, Prague, Reno, Vegas};
use crate::settings::EcnResponseName::{Dctcp, Halve, Mecn};
use crate::settings::{CongestionControlName, EcnResponseName, LossDetection, RecoveryName, TcpSettings};

words! {
    /// Reference implementation outside of this simulator, against which packets are checked.
    pub enum ReferenceImplementation { Ns2 = "ns-2", Linux = "Linux 6.1", Linux72 = "Linux 7.2", Rfcs = "RFC conformance suite" }
}

words! {
    /// Mode of loss recovery: that of Linux uses SACK and RACK, SACK and DupThresh, or no SACK.
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

/// Congestion control, loss recovery, ECN response and feedback of one sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderCombination {
    pub control: CongestionControlName,
    pub recovery: RecoveryMode,
    /// None without ECN.
    pub response: Option<EcnResponseName>,
    /// Whether it asks for Accurate ECN.
    pub accurate_ecn: bool,
}

/// Combination that a reference implementation has checked, without ECN and with each of some responses.
#[derive(Clone, Copy, Debug)]
pub struct CheckedSenderCombination {
    pub control: CongestionControlName,
    pub recovery: RecoveryMode,
    pub responses: &'static [EcnResponseName],
    /// Whether the responses were checked with Accurate ECN, or else with the other feedback.
    pub accurate_ecn: bool,
    pub reference: ReferenceImplementation,
}

const fn build_checked_combination(
    reference: ReferenceImplementation,
    control: CongestionControlName,
    recovery: RecoveryMode,
    responses: &'static [EcnResponseName],
) -> CheckedSenderCombination {
    CheckedSenderCombination { control, recovery, responses, accurate_ecn: false, reference }
}

/// Combination of Linux 7.2 with Accurate ECN: the rules of the conformance suite on it are no outside reference, as they come from drafts.
const fn build_accurate_ecn_combination(control: CongestionControlName, responses: &'static [EcnResponseName]) -> CheckedSenderCombination {
    CheckedSenderCombination { accurate_ecn: true, ..build_checked_combination(Linux72, control, RecoveryMode::Rack, responses) }
}

/// Combination of the conformance suite, with the responses that it runs with each variant except DCTCP and Prague.
const fn build_suite_combination(control: CongestionControlName, recovery: RecoveryMode) -> CheckedSenderCombination {
    build_checked_combination(Rfcs, control, recovery, &[Halve, Mecn])
}

/// Combinations that the conformance suite runs for a profile: each variant, with this recovery if the variant sets none.
macro_rules! suite {
    ($recovery:ident: $($checked:expr),* $(,)?) => {
        &[
            $($checked,)*
            build_suite_combination(Reno, RecoveryMode::Tahoe),
            build_suite_combination(Reno, RecoveryMode::Reno),
            build_suite_combination(Reno, RecoveryMode::Sack1),
            build_suite_combination(Vegas, RecoveryMode::Vegas),
            build_suite_combination(Cubic, RecoveryMode::$recovery),
            build_checked_combination(Rfcs, Reno, RecoveryMode::$recovery, &[Dctcp, Mecn]),
            build_suite_combination(Aimd, RecoveryMode::$recovery),
            build_checked_combination(Rfcs, Prague, RecoveryMode::Rack, &[]),
        ]
    };
}

pub(crate) const NS2_PROFILE_COMBINATIONS: &[CheckedSenderCombination] = suite![Reno:
    build_checked_combination(Ns2, Reno, RecoveryMode::Tahoe, &[Halve]),
    build_checked_combination(Ns2, Reno, RecoveryMode::Reno, &[Halve]),
    build_checked_combination(Ns2, Reno, RecoveryMode::NewReno, &[Halve]),
    build_checked_combination(Ns2, Reno, RecoveryMode::Sack1, &[Halve]),
    build_checked_combination(Ns2, Vegas, RecoveryMode::Vegas, &[]),
    build_suite_combination(Reno, RecoveryMode::NewReno),
    build_suite_combination(Reno, RecoveryMode::Sack),
];

pub(crate) const NS2_2001_PROFILE_COMBINATIONS: &[CheckedSenderCombination] = suite![Reno:
    build_checked_combination(Ns2, Reno, RecoveryMode::Reno, &[Halve]),
    build_checked_combination(Ns2, Reno, RecoveryMode::NewReno, &[]),
    build_checked_combination(Ns2, Reno, RecoveryMode::Sack1, &[]),
    build_suite_combination(Reno, RecoveryMode::NewReno),
    build_suite_combination(Reno, RecoveryMode::Sack),
];

pub(crate) const LINUX_2_0_PROFILE_COMBINATIONS: &[CheckedSenderCombination] = suite![Reno:
    build_suite_combination(Reno, RecoveryMode::NewReno),
    build_suite_combination(Reno, RecoveryMode::Sack),
];

pub(crate) const LINUX_2_2_PROFILE_COMBINATIONS: &[CheckedSenderCombination] = suite![Fack:
    build_suite_combination(Reno, RecoveryMode::Fack),
    build_suite_combination(Reno, RecoveryMode::NewReno),
    build_suite_combination(Reno, RecoveryMode::Sack),
];

pub(crate) const LINUX_6_1_PROFILE_COMBINATIONS: &[CheckedSenderCombination] = suite![Rack:
    build_checked_combination(Linux, Cubic, RecoveryMode::Rack, &[Halve]),
    build_checked_combination(Linux, Reno, RecoveryMode::Rack, &[Halve, Dctcp]),
    build_checked_combination(Linux, Reno, RecoveryMode::RackWithoutSack, &[]),
    build_suite_combination(Reno, RecoveryMode::RackWithoutSack),
    build_suite_combination(Reno, RecoveryMode::RackByDupthresh),
];

pub(crate) const LINUX_7_2_PROFILE_COMBINATIONS: &[CheckedSenderCombination] = suite![Rack:
    build_checked_combination(Linux72, Cubic, RecoveryMode::Rack, &[Halve]),
    build_accurate_ecn_combination(Cubic, &[Halve]),
    build_accurate_ecn_combination(Reno, &[Halve, Dctcp]),
    build_accurate_ecn_combination(Prague, &[EcnResponseName::Prague]),
    build_suite_combination(Reno, RecoveryMode::RackWithoutSack),
    build_suite_combination(Reno, RecoveryMode::RackByDupthresh),
];

pub(crate) const RFC_PROFILE_COMBINATIONS: &[CheckedSenderCombination] = suite![Sack:
    build_suite_combination(Reno, RecoveryMode::Sack),
    build_suite_combination(Reno, RecoveryMode::NewReno),
];

impl RecoveryMode {
    /// Recovery mode of a sender.
    pub fn from_settings(settings: &TcpSettings) -> RecoveryMode {
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

impl SenderCombination {
    /// Combination of a sender.
    pub fn from_settings(settings: &TcpSettings) -> SenderCombination {
        SenderCombination {
            control: settings.congestion_control,
            recovery: RecoveryMode::from_settings(settings),
            response: settings.ecn.then_some(settings.ecn_response),
            accurate_ecn: settings.wants_accurate_ecn(),
        }
    }

    /// Whether one of `checked` covers this combination.
    pub fn is_covered_by(self, checked: &[CheckedSenderCombination]) -> bool {
        checked.iter().any(|one| one.covers(self))
    }
}

impl CheckedSenderCombination {
    /// All combinations that this covers: without ECN, and with each response.
    pub fn combinations(&self) -> impl Iterator<Item = SenderCombination> + '_ {
        let responses = std::iter::once(None).chain(self.responses.iter().copied().map(Some));
        let accurate_ecn = |response: Option<_>| self.accurate_ecn && response.is_some();
        responses.map(move |response| SenderCombination {
            control: self.control,
            recovery: self.recovery,
            response,
            accurate_ecn: accurate_ecn(response),
        })
    }

    /// Whether this covers `combination`.
    pub fn covers(&self, combination: SenderCombination) -> bool {
        let is_response_covered =
            combination.response.is_none_or(|response| self.responses.contains(&response) && self.accurate_ecn == combination.accurate_ecn);
        (self.control, self.recovery) == (combination.control, combination.recovery) && is_response_covered
    }
}

impl std::fmt::Display for SenderCombination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} with recovery {}", self.control, self.recovery)?;
        self.response.map_or(Ok(()), |response| write!(f, " and ecn_response {response}"))?;
        if self.accurate_ecn { f.write_str(" with Accurate ECN") } else { Ok(()) }
    }
}
