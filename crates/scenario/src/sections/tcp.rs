//! `flows.tcp`: a profile, a variant, parameters, and quirks in a table inside.

use std::sync::Arc;

use ecnlab_transport::checked::SenderCombination;
use ecnlab_transport::profile::{self, Profile, VARIANTS};
use ecnlab_transport::settings::{self, CongestionControlName, QUIRKS_KEY, is_quirk, parameter_path};
use ecnlab_transport::{Quirks, TcpSettings, Transport};
use ecnlab_units::{Parameter, Values};
use serde_json::{Value as Json, json};

use super::declaration::{TableContent, TableDeclaration, value_to_json};
use super::tcp_renames;
use crate::read::{Reader, TableInput, parameter_names};

/// Keys of `tcp` besides its parameters.
const NON_PARAMETER_KEYS: [&str; 3] = ["profile", "variant", QUIRKS_KEY];

/// Table of a group's TCP.
pub const TCP_TABLE: TableDeclaration = TableDeclaration {
    key: "tcp",
    content: TableContent::Tcp,
    required: false,
    doc: "TCP at both ends: a profile, optionally a variant, parameters, and quirks = { ... }; later ones override earlier ones. Each \
        group has tcp or udp.",
    example: "{ profile = \"ns2\", ecn = true }",
};

/// The transport of a group, with all its parameters in a form that can be read again.
pub struct ReadTransport {
    pub transport: Transport,
    pub key: &'static str,
    pub described: Json,
    pub offers_ecn: bool,
    pub has_ecn_key: bool,
}

/// TCP's parameters, with the quirks in their own table, in the form of a scenario.
fn tcp_parameters_to_json(profile: &str, values: &Values) -> Json {
    let of = |declared| parameter_names(declared).map(|name| (name, value_to_json(values.value_by_name(name))));
    let mut described: Json = std::iter::once(("profile", json!(profile))).chain(of(TcpSettings::OWN_PARAMETERS)).collect();
    described[QUIRKS_KEY] = of(Quirks::PARAMETERS).collect();
    described
}

/// Reads the table `tcp` of a group.
pub fn read(reader: &mut Reader, flows: &TableInput) -> Option<ReadTransport> {
    let Some(given) = TCP_TABLE.read(reader, flows) else {
        if !flows.has("tcp") {
            reader.report(
                flows,
                "tcp",
                format!("is missing; fix: give it as tcp = {}, or udp = {{ ... }} for datagrams", TCP_TABLE.example),
            );
        }
        return None;
    };
    let quirks = reader.read_table(&given, QUIRKS_KEY, "{ tick = \"10 ms\" }");
    let quirks_fault = given.has(QUIRKS_KEY) && quirks.is_none();
    let quirks = quirks.unwrap_or_else(|| TableInput::empty(given.path_of_key(QUIRKS_KEY)));
    let profile = profile::find_profile(reader.read_name_and_find_entry(&given, "profile", "profile", &profile::names(), |name| name)?)?;
    let own_keys = NON_PARAMETER_KEYS.into_iter().chain(parameter_names(TcpSettings::OWN_PARAMETERS));
    tcp_renames::report_unknown_tcp_keys(reader, &given, own_keys);
    tcp_renames::report_unknown_tcp_keys(reader, &quirks, parameter_names(Quirks::PARAMETERS));
    let mut values = profile.values_with_defaults();
    let variant = match given.has("variant") {
        true => Some(reader.read_name_and_find_entry(&given, "variant", "variant", VARIANTS, |variant| variant.name)?),
        false => None,
    };
    let members = variant.map_or(&[][..], |variant| variant.members_for_profile(&values));
    if let Some(variant) = variant {
        variant.apply(&mut values);
    }
    let values = read_parameters_or_quirks(reader, &given, TcpSettings::OWN_PARAMETERS, values);
    let values = read_parameters_or_quirks(reader, &quirks, Quirks::PARAMETERS, values?).filter(|_| !quirks_fault)?;
    let problems = settings::check(&values);
    let sound = problems.is_empty();
    for (parameter, message) in problems {
        reader.report(if is_quirk(parameter) { &quirks } else { &given }, parameter, message);
    }
    reader.warn_ignored_keys_with_path_fn(&given, &values, &[], parameter_path);
    reader.warn_ignored_keys_with_path_fn(&quirks, &values, &[], parameter_path);
    warn_of_unread_variant_members(reader, &given, members, &values);
    match values.get_as::<CongestionControlName>("congestion_control") {
        CongestionControlName::Kernel(_) => warn_of_unread_with_kernel_control(reader, &given, &values),
        _ if sound => {
            let with_profile = |reader: &mut Reader, other: &Profile| {
                let mut values = other.values_with_defaults();
                if let Some(variant) = variant {
                    variant.apply(&mut values);
                }
                let values = read_parameters_or_quirks(reader, &given, TcpSettings::OWN_PARAMETERS, values)?;
                read_parameters_or_quirks(reader, &quirks, Quirks::PARAMETERS, values)
            };
            warn_of_unchecked(reader, &given, profile, &values, with_profile);
        }
        _ => {}
    }
    let described = tcp_parameters_to_json(profile.name, &values);
    sound.then(|| ReadTransport {
        transport: Transport::Tcp(Arc::new(TcpSettings::from_values(&values))),
        key: "tcp",
        described,
        offers_ecn: values.get_as("ecn"),
        has_ecn_key: given.has("ecn"),
    })
}

/// Reads one of the two tables; rewrites problems of renamed values.
fn read_parameters_or_quirks(reader: &mut Reader, given: &TableInput, declared: &'static [Parameter], values: Values) -> Option<Values> {
    let before = reader.problems.len();
    let reading = reader.read_keys_among(given, declared, values);
    tcp_renames::rewrite_value_problems(&mut reader.problems[before..], given);
    reading.into_valid_values()
}

/// Warns of a combination of congestion control, recovery and response that no reference has checked with the profile. `with_profile` reads
/// the same table with another profile. A warning that several groups share is given once.
fn warn_of_unchecked(
    reader: &mut Reader,
    given: &TableInput,
    profile: &Profile,
    values: &Values,
    with_profile: impl Fn(&mut Reader, &Profile) -> Option<Values>,
) {
    let combination = SenderCombination::from_settings(&TcpSettings::from_values(values));
    if combination.is_covered_by(profile.checked) {
        return;
    }
    let mut checking_profiles = Vec::new();
    for other in profile::PROFILES {
        let Some(values) = with_profile(reader, other).filter(|values| settings::check(values).is_empty()) else { continue };
        if SenderCombination::from_settings(&TcpSettings::from_values(&values)).is_covered_by(other.checked) {
            checking_profiles.push(format!("profile = \"{}\"", other.name));
        }
    }
    let other_profile = match &checking_profiles[..] {
        [] => String::new(),
        names => format!("give {}, with which these settings are checked, or ", names.join(" or ")),
    };
    let message = format!(
        "{combination} is unchecked over profile {0}: it was not compared with ns-2, with packets of Linux or with the rules of the RFCs; \
         fix: {other_profile}see that your results do not depend on it; checked over {0} are {1}",
        profile.name,
        checked_combinations_text(profile, combination.control)
    );
    if reader.warnings.iter().all(|known| known.message != message) {
        let chosen = ["recovery", "congestion_control", "variant", "ecn_response", "ecn_echo"].into_iter().find(|key| given.has(key));
        reader.warn(given, chosen.unwrap_or("profile"), message);
    }
}

/// Parameters of the simulator's congestion controls that one of a kernel does not read.
const UNREAD_WITH_KERNEL_CONTROL: [&str; 2] = ["ecn_response", "hystart"];

/// Warns of parameters that a kernel's congestion control does not read.
fn warn_of_unread_with_kernel_control(reader: &mut Reader, given: &TableInput, values: &Values) {
    let control = values.value_by_name("congestion_control");
    for name in UNREAD_WITH_KERNEL_CONTROL.into_iter().filter(|name| given.has(name)) {
        let message = format!("has no effect, since the code of the kernel's congestion control {control} decides; fix: leave it out");
        reader.warn(given, name, message);
    }
}

/// The checked combinations of a profile, as their parameters: those of one congestion control, or of all if it has none.
fn checked_combinations_text(profile: &Profile, control: CongestionControlName) -> String {
    let mut checked: Vec<_> = profile.checked.iter().filter(|one| one.control == control).collect();
    if checked.is_empty() {
        checked = profile.checked.iter().collect();
    }
    let mut pairs: Vec<(String, Vec<String>)> = Vec::new();
    for one in checked {
        let name = format!("{} with recovery {}", one.control, one.recovery);
        let at = pairs.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            pairs.push((name, vec!["without ECN".to_owned()]));
            pairs.len() - 1
        });
        let feedback = if one.accurate_ecn { " and Accurate ECN" } else { "" };
        for response in one.responses.iter().map(|response| format!("with ecn_response {}{feedback}", response.word())) {
            if !pairs[at].1.contains(&response) {
                pairs[at].1.push(response);
            }
        }
    }
    pairs.iter().map(|(name, responses)| format!("{name}, {}", responses.join(" or "))).collect::<Vec<_>>().join("; ")
}

/// Warns of a variant whose members the scenario's own parameters have all overridden.
fn warn_of_unread_variant_members(reader: &mut Reader, given: &TableInput, members: &[(&str, &str)], values: &Values) {
    let mut unread = members.iter().filter_map(|(name, value)| Some((name, value, *values.unmet_read_conditions_of(name).first()?)));
    if let Some((name, value, condition)) = unread.next() {
        let now = values.value_by_name(condition.parameter);
        let message = format!("sets {name} = {value}, which has an effect only with {condition}, but {} is {now}", condition.parameter);
        reader.warn(given, "variant", format!("{message}; fix: leave out one of the two"));
    }
}
