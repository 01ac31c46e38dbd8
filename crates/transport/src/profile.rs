//! Profiles: named bundles of parameters. A scenario may override every member.

use std::sync::LazyLock;

use ecnlab_units::Values;

use crate::checked::{self, CheckedSenderCombination};
use crate::settings::{Quirks, TcpSettings};

/// Named bundle of parameters.
pub struct Profile {
    pub name: &'static str,
    /// Alias for the profile; a later profile may take it over.
    pub alias: Option<&'static str>,
    pub title: &'static str,
    pub summary: &'static str,
    pub source: &'static str,
    /// Members that differ from the declared defaults.
    pub members: &'static [ProfileMember],
    /// Combinations that an external reference has checked.
    pub checked: &'static [CheckedSenderCombination],
}

/// Name, value and source of a parameter.
pub type ProfileMember = (&'static str, &'static str, &'static str);

/// A named combination of congestion control, recovery and ECN response.
pub struct Variant {
    pub name: &'static str,
    pub title: &'static str,
    pub source: &'static str,
    pub members: &'static [(&'static str, &'static str)],
}

/// Parameters that a variant sets only if they are `off` in the profile; otherwise the profile's value applies.
const VARIANT_MEMBERS_SET_ONLY_IF_OFF_IN_PROFILE: &[&str] = &["cwnd_validation"];

/// Members that replace those of a variant over a profile with RACK recovery: Linux uses the same recovery states with SACK and without.
const VARIANT_MEMBERS_ON_RACK_PROFILES: &[(&str, &[(&str, &str)])] = &[
    ("newreno", &[("congestion_control", "reno"), ("sack_blocks", "0"), ("dsack", "false")]),
    // As hosts before RACK and TLP.
    (
        "sack",
        &[("congestion_control", "reno"), ("loss_detection", "dupthresh"), ("tlp", "false"), ("frto", "false"), ("comp_sack", "false")],
    ),
];

pub const VARIANTS: &[Variant] = &[
    Variant { name: "tahoe", title: "Tahoe", source: "Jacobson 1988", members: &[("congestion_control", "reno"), ("recovery", "tahoe")] },
    Variant { name: "reno", title: "Reno", source: "RFC 5681", members: &[("congestion_control", "reno"), ("recovery", "reno")] },
    Variant { name: "newreno", title: "NewReno", source: "RFC 6582", members: &[("congestion_control", "reno"), ("recovery", "newreno")] },
    Variant { name: "sack", title: "SACK", source: "RFC 6675", members: &[("congestion_control", "reno"), ("recovery", "sack")] },
    Variant {
        name: "sack1",
        title: "SACK as ns-2's Agent/TCP/Sack1 has it",
        source: "Fall and Floyd 1996; ns-2 2.35",
        members: &[("congestion_control", "reno"), ("recovery", "sack1")],
    },
    Variant {
        name: "vegas",
        title: "Vegas with its own recovery",
        source: "Brakmo and Peterson 1995; ns-2 2.35",
        members: &[("congestion_control", "vegas"), ("recovery", "vegas"), ("ecn", "false")],
    },
    Variant {
        name: "cubic",
        title: "CUBIC",
        source: "RFC 9438; section 4.6 forbids growth of a window that is not used",
        members: &[("congestion_control", "cubic"), ("cwnd_validation", "flight")],
    },
    Variant {
        name: "dctcp",
        title: "DCTCP",
        source: "RFC 8257",
        members: &[("congestion_control", "reno"), ("ecn_response", "dctcp"), ("ecn_echo", "dctcp"), ("ecn", "true")],
    },
    Variant {
        name: "prague",
        title: "TCP Prague",
        source: "RFC 9331; Linux module tcp_prague 0.7; it requires Accurate ECN and paces",
        members: PRAGUE_VARIANT_MEMBERS,
    },
    Variant {
        name: "prague-2020",
        title: "TCP Prague without a target RTT",
        source: "Linux of the L4S team, August 2020, with prague_rtt_scaling = 0",
        members: PRAGUE_2020_VARIANT_MEMBERS,
    },
    Variant { name: "aimd", title: "AIMD", source: "Chiu and Jain 1989", members: &[("congestion_control", "aimd")] },
];

/// Members of the variants of Prague.
macro_rules! prague {
    ($($member:expr),* $(,)?) => {
        &[
            ("congestion_control", "prague"),
            ("recovery", "rack"),
            ("ecn", "true"),
            ("ecn_response", "prague"),
            ("ecn_echo", "accurate"),
            ("ect_codepoint", "ect1"),
            ("handshake", "three-way"),
            ("hystart", "off"),
            ("pacing", "true"),
            ("pacing_rule", "linux"),
            ("cwnd_validation", "largest-flight"),
            $($member),*
        ]
    };
}

const PRAGUE_VARIANT_MEMBERS: &[(&str, &str)] = prague![];

const PRAGUE_2020_VARIANT_MEMBERS: &[(&str, &str)] = prague![("prague_rtt_target", "0 s"), ("prague_rate_mode", "false")];

pub const PROFILES: &[Profile] = &[
    Profile {
        name: "ns2",
        alias: None,
        title: "One-way TCP of ns-2 2.35",
        summary: "ns-2's one-way TCP with the defaults of 2.35, packet-exact on deterministic cases.",
        source: "ns-2 2.35, ns-default.tcl",
        members: &[],
        checked: checked::NS2_PROFILE_COMBINATIONS,
    },
    Profile {
        name: "ns2-2001",
        alias: None,
        title: "One-way TCP of ns-2 2.1b7",
        summary: "The same with the defaults of the thesis' time: coarse clock, no minimum RTO, integer halving, no SYN, initial window \
            1, and the thesis' RTT in the packets.",
        source: "ns-2 2.1b7 (2001), change log of 2.35",
        members: &[
            ("initial_window", "1", "ns-2: windowInit_ 1 before 5/2001"),
            ("handshake", "none", "ns-2: syn_ false before 5/2001"),
            ("syn_size", "0 B", "ns-2: no headers before 11/2001"),
            ("delay_growth", "false", "ns-2: delay_growth_ false before 5/2001"),
            ("limited_transmit", "false", "ns-2: singledup_ 0 before 11/2001"),
            ("ssthresh_rounding", "integer", "ns-2: precisionReduce_ false before 1/2006"),
            ("first_packet_loss_recovery", "false", "ns-2: bugfix_ss_ before 6/2006"),
            ("inflate_in_recovery_only", "false", "ns-2: exitFastRetrans_ before 7/2003"),
            ("tick", "0.1 s", "ns-2: tcpTick_ 0.1 before 3/2002"),
            ("rto_min", "0 s", "ns-2: no minrto_ before 5/2001"),
            ("rto_max", "64 s", "ns-2: maxrto_ 64 before 3/2007"),
            ("rto_initial", "6 s", "ns-2: rtxcur_init_ 6 before 1/2006"),
            ("rto_order", "backoff-first", "ns-2: rfc2988_ false before 3/2002"),
            ("rto_timer_restart", "before-sample", "ns-2: timerfix_ false before 5/2001"),
            ("rtt_report", "base", "Zheng 2001, appendix A"),
        ],
        checked: checked::NS2_2001_PROFILE_COMBINATIONS,
    },
    Profile {
        name: "linux-2.0",
        alias: None,
        title: "Linux 2.0 (1996-1999)",
        summary: "The hosts of RFC 2884's first measurements: Reno without SACK, a first flight of two segments, delayed ACKs by \
            arrivals, a clock of 10 ms, windows of 32 KB, and a long RTO for short flows. It is not yet validated against a real \
            kernel.",
        source: "RFC 2884, section 3; RFC 2018; Linux 2.0.32, net/ipv4/tcp*.c",
        members: LINUX_2_0_MEMBERS,
        checked: checked::LINUX_2_0_PROFILE_COMBINATIONS,
    },
    Profile {
        name: "linux-2.2",
        alias: None,
        title: "Linux 2.2 (1999-2001)",
        summary: "The hosts of RFC 2884's repeated measurements: SACK with forward acknowledgement, timestamps, an initial window of 2. \
            Variant newreno is their behaviour with a peer without SACK. It is not yet validated against a real kernel.",
        source: "RFC 2884, sections 3 and 5; Mathis and Mahdavi 1996; Linux 2.2, net/ipv4/tcp*.c",
        members: LINUX_2_2_MEMBERS,
        checked: checked::LINUX_2_2_PROFILE_COMBINATIONS,
    },
    Profile {
        name: "linux-6.1",
        alias: Some("linux"),
        title: "Linux 6.1",
        summary: "Current Linux, as in Debian 12: CUBIC with HyStart, SACK, RACK-TLP, F-RTO, undo, proportional rate reduction for \
            losses and marks, initial window 10, quick and delayed ACKs, timers in ticks of 4 ms. It is validated packet by packet \
            against flows of the real kernel (ecnlab validate linux).",
        source: "Linux 6.1, net/ipv4/tcp*.c and Documentation/networking/ip-sysctl.rst; RFC 9438; RFC 8985; RFC 6937; RFC 6928",
        members: LINUX_MEMBERS,
        checked: checked::LINUX_6_1_PROFILE_COMBINATIONS,
    },
    Profile {
        name: "linux-7.2",
        alias: None,
        title: "Linux 7.2",
        summary: "Linux of 2026: as Linux 6.1, with that kernel's Accurate ECN where ecn_echo = \"accurate\": ACKs at each change of the \
            codepoint, the option on every packet, and marks beyond the seventh of an ACK by the option. It is validated packet by \
            packet against flows of the real kernel with Accurate ECN (ecnlab validate linux); other changes since 6.1 are not.",
        source: "Linux 7.2, net/ipv4/tcp*.c, include/net/tcp_ecn.h and Documentation/networking/ip-sysctl.rst; RFC 9768; RFC 9438; RFC 8985",
        members: LINUX_7_2_MEMBERS,
        checked: checked::LINUX_7_2_PROFILE_COMBINATIONS,
    },
    Profile {
        name: "rfc",
        alias: None,
        title: "TCP by the RFCs",
        summary: "The requirements of the standards-track RFCs, each with its default: Reno's window, SACK, a minimum RTO of 1 s.",
        source: "RFC 9293; RFC 5681; RFC 6675; RFC 6298; RFC 3168; RFC 7323",
        members: RFC_MEMBERS,
        checked: checked::RFC_PROFILE_COMBINATIONS,
    },
];

/// Members of all hosts that follow RFC 3168 and RFC 9293 and differ from ns-2.
macro_rules! host {
    ($($member:expr),* $(,)?) => {
        &[
            ("handshake", "three-way", "RFC 9293, section 3.5"),
            ("fin", "true", "RFC 9293, section 3.6"),
            ("delay_growth", "false", "RFC 5681, section 3.1"),
            ("ect_on_retransmission", "false", "RFC 3168, section 6.1.5"),
            ("cwr_on_retransmission", "false", "RFC 3168, section 6.1.2"),
            ("cwr_on_highest_packet", "false", "RFC 3168, section 6.1.2"),
            ("cwr_without_ecn", "false", "RFC 3168, section 6.1.2"),
            ("first_packet_offers_ecn", "false", "RFC 3168, section 6.1.1: only a SYN does"),
            ("ece_on_ect_only", "false", "RFC 3168, section 6.1.3"),
            ("ece_response_after_rto", "false", "RFC 3168, section 6.1.2"),
            ("rto_keeps_ecn_ssthresh", "false", "RFC 5681, section 3.1"),
            ("count_dupacks_when_idle", "false", "RFC 5681, section 2"),
            ("repeated_rto_keeps_ssthresh", "true", "RFC 5681, section 3.1"),
            ("idle_rto_resets_cwnd", "false", "RFC 6298, section 5: no timer with nothing outstanding"),
            ("slow_start_after_idle", "initial", "RFC 5681, section 4.1"),
            ("rto_timer_restart", "rfc6298", "RFC 6298, section 5"),
            ("delayed_ack", "true", "RFC 1122, section 4.2.3.2"),
            ("delay_dup_acks", "false", "RFC 9293, section 3.10.7.4"),
            ("packet_size", "1500 B", "Ethernet, 1500-byte MTU"),
            $($member),*
        ]
    };
}

const RFC_MEMBERS: &[ProfileMember] = host![
    ("recovery", "sack", "RFC 6675"),
    ("header_size", "40 B", "RFC 791, RFC 9293: no options"),
    ("sack_option_size", "4 B", "RFC 2018, section 3, padded"),
    ("initial_window", "3", "RFC 5681, section 3.1, 1460-byte segments"),
    ("max_rwnd", "735439", "RFC 7323, section 2: 2^30 bytes"),
    ("ssthresh_rounding", "real", "RFC 5681, equation 4"),
    ("reduce_from", "flight", "RFC 5681, equation 4"),
    ("rto_estimator", "rfc6298", "RFC 6298, section 2"),
    ("rto_min", "1 s", "RFC 6298, section 2.4"),
    ("rto_initial", "1 s", "RFC 6298, section 2.1"),
    ("delayed_ack_time", "500 ms", "RFC 5681, section 4.2: at most 500 ms"),
    ("max_quickacks", "0", "RFC 5681, section 4.2: none asked for"),
];

/// Members of current Linux.
macro_rules! current_linux {
    ($($member:expr),* $(,)?) => {
        host![
            ("congestion_control", "cubic", "Linux DEFAULT_TCP_CONG"),
            ("recovery", "rack", "ip-sysctl tcp_recovery = 1"),
            ("hystart", "hystart", "Linux tcp_cubic, hystart = 1, hystart_detect = 3"),
            ("pacing_rule", "linux", "Linux tcp_pacing_check, tcp_update_pacing_rate"),
            ("prr", "true", "Linux tcp_cwnd_reduction; RFC 6937"),
            ("prr_bound", "safe-ack", "Linux tcp_cwnd_reduction"),
            ("prr_divisor", "cwnd", "Linux tp->prior_cwnd"),
            ("ecn_reduction", "prr", "Linux tcp_enter_cwr"),
            ("undo", "true", "Linux tcp_try_undo_recovery, tcp_try_undo_dsack, tcp_try_undo_loss"),
            ("frto", "true", "ip-sysctl tcp_frto = 2; RFC 5682"),
            ("dctcp_ect_on_all_packets", "true", "Linux tcp_ca_needs_ecn; RFC 8257, section 3.6"),
            ("integer_cwnd", "true", "Linux snd_cwnd, snd_cwnd_cnt"),
            ("timer_wheel", "true", "Linux kernel/time/timer.c"),
            ("fin_on_data", "true", "Linux tcp_send_fin"),
            ("nagle", "true", "Linux tcp_nagle_check; RFC 9293, section 3.7.4"),
            ("syn_rtx_rto", "sample", "Linux tcp_init_cwnd, tcp_ack_update_rtt"),
            ("abe_beta", "0.85", "RFC 8511, section 3.1, CUBIC"),
            ("header_size", "52 B", "RFC 7323: timestamps in every segment"),
            ("ack_size", "52 B", "RFC 7323: timestamps in every segment"),
            ("syn_size", "60 B", "Linux SYN: MSS, SACK, timestamps, window scale"),
            ("sack_option_size", "4 B", "RFC 2018, section 3, padded"),
            ("dsack", "true", "ip-sysctl tcp_dsack = 1"),
            ("timestamps", "true", "ip-sysctl tcp_timestamps = 1"),
            ("initial_window", "10", "Linux TCP_INIT_CWND; RFC 6928"),
            ("max_rwnd", "2172", "ip-sysctl tcp_rmem, 6 MB, half of it window: 2172 segments of 1448 bytes"),
            ("min_cwnd", "2", "Linux tcp_reno_ssthresh, cubictcp_recalc_ssthresh"),
            ("ssthresh_rounding", "real", "Linux beta 717/1024 of the window"),
            ("cwnd_increase", "per-segment", "Linux tcp_slow_start counts segments; RFC 3465"),
            ("cwnd_validation", "largest-flight", "Linux tcp_is_cwnd_limited; RFC 2861"),
            ("slow_start_after_idle", "halve", "Linux tcp_cwnd_restart; RFC 2861"),
            ("rto_estimator", "linux", "Linux tcp_rtt_estimator"),
            ("tick", "4 ms", "Debian CONFIG_HZ = 250"),
            ("rto_min", "200 ms", "Linux TCP_RTO_MIN"),
            ("rto_max", "120 s", "Linux TCP_RTO_MAX"),
            ("rto_initial", "1 s", "Linux TCP_TIMEOUT_INIT; RFC 6298"),
            ("delayed_ack_time", "40 ms", "Linux TCP_DELACK_MIN"),
            ("coalesce_writes", "true", "Linux tcp_sendmsg"),
            ("max_quickacks", "16", "Linux TCP_MAX_QUICKACKS"),
            ("delayed_ack_rule", "quickack", "Linux tcp_event_data_recv"),
            ("comp_sack", "true", "ip-sysctl tcp_comp_sack_delay_ns = 1 ms"),
            ("receive_window", "autotuned", "ip-sysctl tcp_moderate_rcvbuf = 1"),
            ("receive_buffer", "131072 B", "ip-sysctl tcp_rmem"),
            ("receive_buffer_max", "6291456 B", "ip-sysctl tcp_rmem"),
            ("piggyback_acks", "true", "RFC 1122, section 4.2.3.2; Linux tcp_event_ack_sent"),
            ("accecn_rules", "linux", "Linux 7.2, include/net/tcp_ecn.h: the first with Accurate ECN by default"),
            $($member),*
        ]
    };
}

const LINUX_MEMBERS: &[ProfileMember] = current_linux![];

const LINUX_7_2_MEMBERS: &[ProfileMember] = current_linux![
    ("fin_beyond_cwnd", "false", "Linux 7.2, tcp_cwnd_test"),
    ("syn_linear_timeouts", "4", "ip-sysctl tcp_syn_linear_timeouts = 4"),
    ("measured_rcvbuf_share", "true", "Linux 7.2, tcp_measure_rcv_mss"),
];

const LINUX_2_0_MEMBERS: &[ProfileMember] = host![
    ("limited_transmit", "false", "RFC 3042 is of 2001"),
    ("header_size", "40 B", "RFC 791, RFC 793: no options"),
    ("initial_window", "2", "Linux 2.0, tcp_conn_request and tcp_ack: a window of 1, which the handshake's ACK raises by 1"),
    ("max_rwnd", "22", "Linux 2.0: 32 KB, 22 segments of 1460 bytes"),
    ("ssthresh_rounding", "integer", "Linux 2.0: whole segments"),
    ("min_cwnd", "2", "Linux 2.0: a threshold of at least 2; RFC 2884, section 5.2: a mark cuts as a fast retransmit does"),
    ("rto_estimator", "linux-2.0", "Linux 2.0, tcp_rtt_estimator"),
    ("handshake_rtt_sample", "false", "Linux 2.0: the estimate starts anew when the connection is established"),
    ("rto_min", "200 ms", "Linux 2.0: HZ/5"),
    ("rto_max", "120 s", "Linux 2.0: 120 HZ"),
    ("ecn_fallback", "false", "RFC 2481 knows none"),
    ("ect_on_retransmission", "true", "RFC 2884, section 3.2: all packets but pure ACKs"),
    ("rto_initial", "3 s", "Linux 2.0: TCP_TIMEOUT_INIT, 3 s; RFC 1122, section 4.2.3.1"),
    ("delayed_ack_rule", "arrivals", "Linux 2.0, tcp_delack_estimator"),
    ("delayed_ack_time", "333 ms", "Linux 2.0: the first segment HZ/3"),
    ("max_quickacks", "0", "Linux 2.0: none"),
];

const LINUX_2_2_MEMBERS: &[ProfileMember] = host![
    ("recovery", "fack", "RFC 2884, section 3: SACK/FACK; Mathis and Mahdavi 1996"),
    ("limited_transmit", "false", "RFC 3042 is of 2001"),
    ("header_size", "52 B", "RFC 1323: timestamps in every segment"),
    ("ack_size", "52 B", "RFC 1323: timestamps in every segment"),
    ("syn_size", "60 B", "SYN: MSS, SACK, timestamps, window scale"),
    ("sack_option_size", "4 B", "RFC 2018, section 3, padded"),
    ("timestamps", "true", "Linux 2.2: sysctl_tcp_timestamps = 1"),
    ("initial_window", "2", "Linux 2.2: snd_cwnd = 2; RFC 2414"),
    ("max_rwnd", "22", "Linux 2.2: 32 KB, 22 segments"),
    ("ssthresh_rounding", "integer", "Linux 2.2: whole segments"),
    ("min_cwnd", "2", "Linux 2.2: tcp_recalc_ssthresh"),
    ("rto_estimator", "linux-2.2", "Linux 2.2, tcp_rtt_estimator and tcp_set_rto"),
    ("handshake_rtt_sample", "false", "Linux 2.2: only data is timed"),
    ("rto_min", "200 ms", "Linux 2.2: HZ/5"),
    ("rto_max", "120 s", "Linux 2.2: 120 HZ"),
    ("ecn_fallback", "false", "RFC 2481 knows none"),
    ("ect_on_retransmission", "true", "RFC 2884, section 3.2: all packets but pure ACKs"),
    ("rto_initial", "3 s", "Linux 2.2: TCP_TIMEOUT_INIT; RFC 1122"),
    ("delayed_ack_rule", "arrivals", "Linux 2.2, tcp_delack_estimator"),
    ("delayed_ack_time", "10 ms", "Linux 2.2: one tick at the start"),
    ("max_quickacks", "2", "Linux 2.2: the first data at once, which is segment 1"),
];

/// Profile with this name or alias.
pub fn find_profile(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name || profile.alias == Some(name))
}

/// All names that [`find_profile`] accepts; an alias follows its profile's name.
pub fn names() -> Vec<&'static str> {
    PROFILES.iter().flat_map(|profile| [Some(profile.name), profile.alias]).flatten().collect()
}

pub fn find_variant(name: &str) -> Option<&'static Variant> {
    VARIANTS.iter().find(|variant| variant.name == name)
}

impl Variant {
    /// Value that the variant sets for a parameter; empty if it sets none.
    pub fn member_value(&self, name: &str) -> &'static str {
        self.members.iter().find(|(member, _)| *member == name).map_or("", |(_, value)| value)
    }

    /// Members of the variant over a profile with these values.
    pub fn members_for_profile(&self, values: &Values) -> &'static [(&'static str, &'static str)] {
        let of_kernels = VARIANT_MEMBERS_ON_RACK_PROFILES
            .iter()
            .filter(|(name, _)| *name == self.name && values.value_by_name("recovery").to_string() == "rack");
        of_kernels.map(|(_, members)| *members).next().unwrap_or(self.members)
    }

    /// Sets the members of this variant.
    ///
    /// # Panics
    /// If a member does not match its declaration; a test checks all of them.
    pub fn apply(&self, values: &mut Values) {
        for (name, text) in self.members_for_profile(values) {
            if VARIANT_MEMBERS_SET_ONLY_IF_OFF_IN_PROFILE.contains(name) && values.value_by_name(name).to_string() != "off" {
                continue;
            }
            values.set_from_text(name, text).unwrap_or_else(|why| panic!("variant {}: {name}: {why}", self.name));
        }
    }
}

impl Profile {
    /// All parameters, with this profile's members set.
    ///
    /// # Panics
    /// If a member does not match its declaration; a test checks all of them.
    pub fn values_with_defaults(&self) -> Values {
        static READ: LazyLock<Vec<Values>> = LazyLock::new(|| PROFILES.iter().map(Profile::read_values).collect());
        let of_profile = PROFILES.iter().position(|profile| profile.name == self.name);
        of_profile.map_or_else(|| self.read_values(), |at| READ[at].clone())
    }

    fn read_values(&self) -> Values {
        let mut values = Values::defaults(TcpSettings::PARAMETERS);
        for (name, text, _) in self.members {
            values.set_from_text(name, text).unwrap_or_else(|why| panic!("profile {}: {name}: {why}", self.name));
        }
        values
    }
}

/// Settings of a profile without overrides.
///
/// # Panics
/// If there is no such profile.
pub fn tcp_settings_of(name: &str) -> TcpSettings {
    TcpSettings::from_values(&find_profile(name).unwrap_or_else(|| panic!("no profile {name}")).values_with_defaults())
}

/// Quirks of a profile.
///
/// # Panics
/// If there is no such profile.
pub fn quirks(name: &str) -> Quirks {
    tcp_settings_of(name).quirks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_stands_for_one_profile_and_is_the_name_of_none() {
        let names = names();
        assert!(names.iter().enumerate().all(|(at, name)| !names[..at].contains(name)), "{names:?}");
        assert_eq!(Some("linux-6.1"), find_profile("linux").map(|profile| profile.name));
    }

    #[test]
    fn without_sack_a_kernel_keeps_its_states() {
        let newreno = find_variant("newreno").unwrap();
        for (profile, expected) in [("linux", ["rack", "0"]), ("linux-2.2", ["newreno", "3"]), ("ns2", ["newreno", "3"])] {
            let mut values = find_profile(profile).unwrap().values_with_defaults();
            newreno.apply(&mut values);
            assert_eq!(expected, ["recovery", "sack_blocks"].map(|name| values.value_by_name(name).to_string()), "{profile}");
        }
    }

    #[test]
    fn with_sack_and_nothing_newer_a_kernel_counts_in_its_states() {
        let sack = find_variant("sack").unwrap();
        for (profile, expected) in [("linux", ["rack", "dupthresh", "false"]), ("rfc", ["sack", "rack", "true"])] {
            let mut values = find_profile(profile).unwrap().values_with_defaults();
            sack.apply(&mut values);
            assert_eq!(expected, ["recovery", "loss_detection", "tlp"].map(|name| values.value_by_name(name).to_string()), "{profile}");
        }
    }

    #[test]
    fn every_profile_fits_the_declarations() {
        for profile in PROFILES {
            assert!(crate::settings::check(&profile.values_with_defaults()).is_empty(), "{}", profile.name);
            for variant in VARIANTS {
                let mut values = profile.values_with_defaults();
                variant.apply(&mut values);
                assert!(crate::settings::check(&values).is_empty(), "{} {}", profile.name, variant.name);
            }
        }
    }
}
