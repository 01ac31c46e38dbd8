//! Profiles: named bundles of parameters. A scenario may override every member.

use ecnlab_units::Values;

use crate::settings::{PARAMETERS, Settings};

/// A named bundle of parameters.
pub struct Profile {
    pub name: &'static str,
    pub title: &'static str,
    pub summary: &'static str,
    pub source: &'static str,
    /// The members that differ from the declared defaults.
    pub members: &'static [(&'static str, &'static str)],
}

/// A congestion control with the recovery and the response that belong to it, under the name that it goes by.
pub struct Variant {
    pub name: &'static str,
    pub title: &'static str,
    pub source: &'static str,
    pub members: &'static [(&'static str, &'static str)],
}

pub const VARIANTS: &[Variant] = &[
    Variant { name: "tahoe", title: "Tahoe", source: "Jacobson 1988", members: &[("congestion", "reno"), ("recovery", "tahoe")] },
    Variant { name: "reno", title: "Reno", source: "RFC 5681", members: &[("congestion", "reno"), ("recovery", "reno")] },
    Variant { name: "newreno", title: "NewReno", source: "RFC 6582", members: &[("congestion", "reno"), ("recovery", "newreno")] },
    Variant { name: "sack", title: "SACK", source: "Fall and Floyd 1996", members: &[("congestion", "reno"), ("recovery", "sack1")] },
    Variant {
        name: "vegas",
        title: "Vegas",
        source: "Brakmo and Peterson 1995",
        members: &[("congestion", "vegas"), ("recovery", "vegas")],
    },
];

pub const PROFILES: &[Profile] = &[
    Profile {
        name: "ns2",
        title: "One-way TCP of ns-2 2.35",
        summary: "ns-2's one-way TCP with the defaults of 2.35, packet-exact on deterministic cases.",
        source: "ns-2 2.35, ns-default.tcl",
        members: &[],
    },
    Profile {
        name: "ns2-2001",
        title: "One-way TCP of ns-2 2.1b7",
        summary: "The same with the defaults of the thesis' time: coarse clock, no minimum timeout, integer halving, no SYN, initial window 1, and the thesis' own round-trip time in its packets.",
        source: "ns-2 2.1b7 (2001), change log of 2.35",
        members: &[
            ("initial_window", "1"),
            ("handshake", "none"),
            ("first_packet_size", "0 B"),
            ("delay_growth", "false"),
            ("limited_transmit", "false"),
            ("halving", "integer"),
            ("first_packet_loss", "false"),
            ("strict_inflation", "false"),
            ("tick", "0.1 s"),
            ("rto_min", "0 s"),
            ("rto_max", "64 s"),
            ("rto_initial", "6 s"),
            ("rto_order", "backoff-first"),
            ("timer_restart", "before-sample"),
            ("rtt_report", "base"),
        ],
    },
];

pub fn find(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

pub fn find_variant(name: &str) -> Option<&'static Variant> {
    VARIANTS.iter().find(|variant| variant.name == name)
}

impl Variant {
    /// Sets this variant's members.
    ///
    /// # Panics
    /// If a member does not fit its declaration: a fault of the program, which a test looks for.
    pub fn apply(&self, values: &mut Values) {
        for (name, text) in self.members {
            values.read(name, text).unwrap_or_else(|why| panic!("variant {}: {name}: {why}", self.name));
        }
    }
}

impl Profile {
    /// All parameters, with this profile's members set.
    ///
    /// # Panics
    /// If a member does not fit its declaration: a fault of the program, which a test looks for.
    pub fn values(&self) -> Values {
        let mut values = Values::defaults(PARAMETERS);
        for (name, text) in self.members {
            values.read(name, text).unwrap_or_else(|why| panic!("profile {}: {name}: {why}", self.name));
        }
        values
    }
}

/// The settings of a profile as it stands.
///
/// # Panics
/// If there is no such profile.
pub fn settings(name: &str) -> Settings {
    Settings::new(&find(name).unwrap_or_else(|| panic!("no profile {name}")).values())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_fits_the_declarations() {
        for profile in PROFILES {
            assert!(crate::settings::check(&profile.values()).is_empty(), "{}", profile.name);
            for variant in VARIANTS {
                let mut values = profile.values();
                variant.apply(&mut values);
                assert!(crate::settings::check(&values).is_empty(), "{} {}", profile.name, variant.name);
            }
        }
    }
}
