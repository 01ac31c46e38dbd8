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

pub const VARIANTS: &[Variant] =
    &[Variant { name: "reno", title: "Reno", source: "RFC 5681", members: &[("congestion", "reno"), ("recovery", "reno")] }];

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
    Profile {
        name: "linux-2.0",
        title: "Linux 2.0 (1996-1999)",
        summary: "The hosts of RFC 2884's first measurements: Reno without SACK, delayed ACK, a clock of 10 ms, windows of 32 KB.",
        source: "RFC 2884, section 3; RFC 2018; Linux 2.0.32, net/ipv4/tcp*.c",
        members: HOST_2_0,
    },
    Profile {
        name: "linux-2.2",
        title: "Linux 2.2 (1999-2001)",
        summary: "The hosts of RFC 2884's repeated measurements: SACK with forward acknowledgement, timestamps, an initial window of 2; variant newreno is what they do when the other side has no SACK.",
        source: "RFC 2884, sections 3 and 5; Mathis and Mahdavi 1996; Linux 2.2, net/ipv4/tcp*.c",
        members: HOST_2_2,
    },
    Profile {
        name: "linux",
        title: "Linux 6",
        summary: "Linux of today: CUBIC, SACK, RACK-TLP, proportional rate reduction, initial window 10, delayed ACK, 200 ms minimum timeout. HyStart++ stands for Linux' own HyStart.",
        source: "Linux 6, net/ipv4/tcp*.c and Documentation/networking/ip-sysctl.rst; RFC 9438; RFC 8985; RFC 6937; RFC 6928",
        members: LINUX,
    },
    Profile {
        name: "rfc",
        title: "TCP by the RFCs",
        summary: "What the standards-track RFCs ask for, each with its own default: Reno's window, SACK, a minimum timeout of 1 s.",
        source: "RFC 9293; RFC 5681; RFC 6675; RFC 6298; RFC 3168; RFC 7323",
        members: RFC,
    },
];

/// What all hosts have that follow RFC 3168 and RFC 9293, where ns-2 does otherwise.
macro_rules! host {
    ($($member:expr),* $(,)?) => {
        &[
            ("handshake", "three-way"),
            ("fin", "true"),
            ("delay_growth", "false"),
            ("ect_on_retransmission", "false"),
            ("cwr_on_retransmission", "false"),
            ("mark_after_timeout", "false"),
            ("threshold_once", "true"),
            ("slow_start_restart", "false"),
            ("idle_restart", "true"),
            ("timer_restart", "rfc6298"),
            ("delayed_ack", "true"),
            ("packet_size", "1500 B"),
            $($member),*
        ]
    };
}

const RFC: &[(&str, &str)] = host![
    ("recovery", "sack"),
    ("header", "40 B"),
    ("sack_option", "4 B"),
    ("initial_window", "3"),
    ("max_window", "735439"),
    ("halving", "real"),
    ("cut_from", "flight"),
    ("estimator", "rfc6298"),
    ("rto_min", "1 s"),
    ("rto_initial", "1 s"),
    ("delayed_ack_time", "500 ms"),
    ("quick_acks", "0"),
];

const LINUX: &[(&str, &str)] = host![
    ("congestion", "cubic"),
    ("recovery", "rack"),
    ("hystart", "true"),
    ("prr", "true"),
    ("abe_beta", "0.85"),
    ("header", "52 B"),
    ("ack_size", "52 B"),
    ("first_packet_size", "60 B"),
    ("sack_option", "4 B"),
    ("dsack", "true"),
    ("timestamps", "true"),
    ("initial_window", "10"),
    ("max_window", "2172"),
    ("min_window", "2"),
    ("halving", "real"),
    ("growth", "segments"),
    ("window_validation", "true"),
    ("estimator", "linux"),
    ("tick", "1 ms"),
    ("rto_min", "200 ms"),
    ("rto_max", "120 s"),
    ("rto_initial", "1 s"),
    ("delayed_ack_time", "40 ms"),
    ("quick_acks", "16"),
];

const HOST_2_0: &[(&str, &str)] = host![
    ("limited_transmit", "false"),
    ("header", "40 B"),
    ("initial_window", "1"),
    ("max_window", "22"),
    ("halving", "integer"),
    ("rto_min", "200 ms"),
    ("rto_max", "120 s"),
    ("rto_initial", "3 s"),
    ("delayed_ack_time", "200 ms"),
];

const HOST_2_2: &[(&str, &str)] = host![
    ("recovery", "fack"),
    ("limited_transmit", "false"),
    ("header", "52 B"),
    ("ack_size", "52 B"),
    ("first_packet_size", "60 B"),
    ("sack_option", "4 B"),
    ("timestamps", "true"),
    ("initial_window", "2"),
    ("max_window", "22"),
    ("halving", "integer"),
    ("min_window", "2"),
    ("estimator", "linux"),
    ("rto_min", "200 ms"),
    ("rto_max", "120 s"),
    ("rto_initial", "3 s"),
    ("delayed_ack_time", "200 ms"),
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
