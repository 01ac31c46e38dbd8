//! Old names of TCP's parameters and values, and errors that give the new ones.

use ecnlab_transport::TcpSettings;
use ecnlab_transport::settings::{QUIRKS_KEY, is_quirk};

use super::unknown_keys;
use crate::problem::Problem;
use crate::read::{Reader, TableInput, unknown_keys};

/// Old keys of `tcp` with their new names. A key that only became a quirk keeps its name.
pub const KEYS: &[(&str, &str)] = &[
    ("congestion", "congestion_control"),
    ("duplicate_threshold", "dupthresh"),
    ("response", "ecn_response"),
    ("codepoint", "ect_codepoint"),
    ("mecn_incipient", "mecn_incipient_decrease"),
    ("mecn_moderate", "mecn_moderate_decrease"),
    ("growth", "cwnd_increase"),
    ("window_validation", "cwnd_validation"),
    ("idle_restart", "slow_start_after_idle"),
    ("max_window", "max_rwnd"),
    ("echo_on_capable_only", "ece_on_ect_only"),
    ("dctcp_ect_on_all", "dctcp_ect_on_all_packets"),
    ("mark_after_timeout", "ece_response_after_rto"),
    ("mark_spares_later_timeouts", "rto_keeps_ecn_ssthresh"),
    ("mark_reduction", "ecn_reduction"),
    ("cwr_on_highest", "cwr_on_highest_packet"),
    ("whole_window", "integer_cwnd"),
    ("halving", "ssthresh_rounding"),
    ("cut_from", "reduce_from"),
    ("min_window", "min_cwnd"),
    ("cwnd_limit", "max_cwnd"),
    ("threshold_once", "repeated_rto_keeps_ssthresh"),
    ("slow_start_restart", "idle_rto_resets_cwnd"),
    ("idle_threshold", "idle_rto_keeps_ssthresh"),
    ("duplicates_when_idle", "count_dupacks_when_idle"),
    ("first_packet_loss", "first_packet_loss_recovery"),
    ("strict_inflation", "inflate_in_recovery_only"),
    ("partial_deflation", "partial_window_deflation"),
    ("exit_to_flight", "cwnd_on_exit"),
    ("prr_of", "prr_divisor"),
    ("timer_restart", "rto_timer_restart"),
    ("estimator", "rto_estimator"),
    ("handshake_sample", "handshake_rtt_sample"),
    ("lost_syn", "syn_rtx_rto"),
    ("join_writes", "coalesce_writes"),
    ("header", "header_size"),
    ("first_packet_size", "syn_size"),
    ("sack_option", "sack_option_size"),
    ("compressed_sacks", "comp_sack"),
    ("delay_repeated", "delay_dup_acks"),
    ("quick_acks", "max_quickacks"),
    ("interactive", "pingpong"),
    ("piggyback", "piggyback_acks"),
    ("buffer_follows_reading", "moderate_rcvbuf"),
    ("read_size", "app_read_size"),
    ("reader_stops", "app_read_pause"),
    ("reader_resumes", "app_read_resume"),
];

/// Old values: the parameter's new name, the old value and the new one.
pub const VALUES: &[(&str, &str, &str)] = &[
    ("loss_detection", "count", "dupthresh"),
    ("loss_detection", "time", "rack"),
    ("hystart", "plus-plus", "hystart++"),
    ("hystart", "train-delay", "hystart"),
    ("cwnd_increase", "acks", "per-ack"),
    ("cwnd_increase", "segments", "per-segment"),
    ("receive_window", "any", "unlimited"),
    ("reduce_from", "window", "cwnd"),
    ("prr_divisor", "window", "cwnd"),
    ("prr_bound", "slow-start", "ssrb"),
    ("ecn_reduction", "at-once", "immediate"),
    ("delayed_ack_rule", "quick", "quickack"),
    ("cwnd_on_exit", "false", "ssthresh"),
    ("cwnd_on_exit", "true", "flight"),
];

/// Reports unknown keys of a TCP table; for an old name, or one of the other table, with the right key.
pub fn report_unknown_tcp_keys<'k>(reader: &mut Reader, given: &TableInput, known: impl Iterator<Item = &'k str> + Clone) {
    let unknown = unknown_keys(given.node, known.clone());
    if unknown.is_empty() {
        return;
    }
    let moved: Vec<(String, &str)> = unknown.into_iter().filter_map(|key| Some((key.to_owned(), current_name(key)?))).collect();
    let names: Vec<String> = known.map(str::to_owned).chain(moved.iter().map(|(key, _)| key.clone())).collect();
    reader.reject_unknown_keys(given, names.iter().map(String::as_str));
    for (key, name) in moved {
        let message = moved_message(given, &key, name);
        reader.report(given, &key, message);
    }
}

/// Current name of a key, if it is an old one or a parameter of either table.
fn current_name(key: &str) -> Option<&'static str> {
    let renamed = KEYS.iter().find(|(old, _)| *old == key).map(|(_, name)| *name);
    renamed.or_else(|| TcpSettings::PARAMETERS.iter().find(|parameter| parameter.name == key).map(|parameter| parameter.name))
}

fn moved_message(given: &TableInput, key: &str, name: &'static str) -> String {
    let in_quirks = given.place.ends_with(QUIRKS_KEY);
    let value = given.node.get(key).map_or_else(String::new, unknown_keys::format_value);
    let value =
        VALUES.iter().find(|(of, old, _)| *of == name && value.trim_matches('"') == *old).map_or(value, |(.., new)| format!("\"{new}\""));
    let member = format!("{name} = {value}");
    let wrong = match (key == name, is_quirk(name)) {
        (true, true) => "is a quirk".to_owned(),
        (true, false) => "is not a quirk".to_owned(),
        (false, true) => format!("is the quirk {name} now"),
        (false, false) => format!("is named {name} now"),
    };
    match (in_quirks, is_quirk(name)) {
        (false, true) => format!("{wrong}; fix: give {} = {{ {member} }}", QUIRKS_KEY),
        (true, false) => format!("{wrong}; fix: give {member} in tcp itself"),
        (true, true) | (false, false) => format!("{wrong}; fix: give {member}"),
    }
}

/// Rewrites problems of renamed values.
pub fn rewrite_value_problems(problems: &mut [Problem], given: &TableInput) {
    if problems.is_empty() {
        return;
    }
    for (name, old, new) in VALUES {
        let is_old = given.node.get(name).and_then(|node| node.as_scalar()).is_some_and(|scalar| scalar.text == *old);
        for problem in problems.iter_mut().filter(|problem| is_old && problem.place == given.path_of_key(name)) {
            problem.message = format!("\"{old}\" is named \"{new}\" now; fix: give {name} = \"{new}\"");
        }
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_queue::Registry;
    use ecnlab_transport::TcpSettings;
    use ecnlab_transport::settings::is_quirk;

    use super::{KEYS, VALUES};
    use crate::{Scenario, no_files};

    /// Problems of a scenario with this table `tcp`, each with its path.
    fn problems(tcp: &str) -> Vec<(String, String)> {
        let text = format!(
            "name = \"x\"\nduration = \"2 s\"\n[network]\ntopology = \"dumbbell\"\nrate = \"10 Mbps\"\ndelay = \"10 ms\"\n\
             queue = {{ aqm = \"ecn\", limit = 100 }}\n[[flows]]\nname = \"one\"\nfrom = \"left\"\nto = \"right\"\ntcp = {tcp}\n"
        );
        let read = Scenario::from_toml(&text, &[], &Registry::builtin(), &no_files);
        read.err().unwrap_or_default().into_iter().map(|problem| (problem.place, problem.message)).collect()
    }

    #[test]
    fn every_new_name_is_a_parameter_and_no_old_one_is() {
        let is_declared = |name: &str| TcpSettings::PARAMETERS.iter().any(|parameter| parameter.name == name);
        for (old, new) in KEYS {
            assert!(is_declared(new) && !is_declared(old), "{old} -> {new}");
        }
        for (name, old, new) in VALUES {
            let parameter = TcpSettings::PARAMETERS.iter().find(|parameter| parameter.name == *name).unwrap();
            assert!(parameter.parse(new).is_ok() && parameter.parse(old).is_err(), "{name} = {old} -> {new}");
        }
    }

    #[test]
    fn an_old_key_is_reported_with_its_new_name_in_either_table() {
        for (old, new) in KEYS {
            for table in [format!("{{ profile = \"ns2\", {old} = 7 }}"), format!("{{ profile = \"ns2\", quirks = {{ {old} = 7 }} }}")] {
                let inside = if table.contains("quirks") { "quirks." } else { "" };
                let [(place, message)] = &problems(&table)[..] else { panic!("{table}: {:?}", problems(&table)) };
                assert_eq!(&format!("flows.one.tcp.{inside}{old}"), place);
                assert!(message.contains(&format!("{new} = 7")), "{table}: {message}");
                assert_eq!(is_quirk(new) && inside.is_empty(), message.contains("give quirks = {"), "{table}: {message}");
            }
        }
    }

    #[test]
    fn a_parameter_in_the_other_table_is_reported_with_its_place() {
        for parameter in TcpSettings::PARAMETERS {
            let member = crate::read::parameter_example_line(parameter);
            let is_quirk = is_quirk(parameter.name);
            let table = if is_quirk {
                format!("{{ profile = \"ns2\", {member} }}")
            } else {
                format!("{{ profile = \"ns2\", quirks = {{ {member} }} }}")
            };
            let [(_, message)] = &problems(&table)[..] else { panic!("{table}: {:?}", problems(&table)) };
            let fix = if is_quirk {
                format!("is a quirk; fix: give quirks = {{ {member} }}")
            } else {
                format!("is not a quirk; fix: give {member} in tcp itself")
            };
            assert_eq!(&fix, message);
        }
    }

    #[test]
    fn an_old_value_is_reported_with_its_new_name() {
        for (name, old, new) in VALUES {
            let value = if ["true", "false"].contains(old) { (*old).to_owned() } else { format!("\"{old}\"") };
            let member = format!("{name} = {value}");
            let table = if is_quirk(name) { format!("quirks = {{ {member} }}") } else { member };
            let [(_, message)] = &problems(&format!("{{ profile = \"linux\", {table} }}"))[..] else { panic!("{name} = {old}") };
            assert_eq!(&format!("\"{old}\" is named \"{new}\" now; fix: give {name} = \"{new}\""), message);
        }
    }

    #[test]
    fn an_old_key_with_an_old_value_is_reported_with_both_new_names() {
        let [(_, message)] = &problems("{ profile = \"ns2\", growth = \"segments\" }")[..] else { panic!() };
        assert_eq!("is named cwnd_increase now; fix: give cwnd_increase = \"per-segment\"", message);
        let [(_, message)] = &problems("{ profile = \"rfc\", exit_to_flight = true }")[..] else { panic!() };
        assert_eq!("is the quirk cwnd_on_exit now; fix: give quirks = { cwnd_on_exit = \"flight\" }", message);
    }
}
