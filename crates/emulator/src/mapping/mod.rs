//! Mapping of a scenario to hosts of a kernel: the settings of each host, or all reasons why it is not possible.
//!
//! The network itself (links, queues, impairments, changes) is the engine's on every backend. Only the hosts differ: a kernel instead of a
//! profile's state machines. Sysctls, socket options and route attributes set its parameters. A parameter that none of them sets must have
//! the kernel's own value. Other values are refused, since the same file has the same meaning on every backend.
//!
//! Only parameters in force are checked: one that depends on the values of others causes no refusal if it is not read.

mod network;
mod tcp;

use ecnlab_scenario::{Problem, Scenario};
use ecnlab_transport::datagram::DatagramSettings;
use ecnlab_transport::settings::{self, EchoStyle, QUIRKS_KEY};
use ecnlab_transport::{TcpSettings, Transport, profile};
use ecnlab_units::Values;
use serde_json::Value as Json;

pub use tcp::{KernelKnob, TCP_PARAMETER_MAPPINGS, TcpParameterMapping};

use crate::address::{AddressFamily, MIN_MTU_V6};
use crate::host_settings::{DatagramSocketSettings, HostSettings, RouteMetrics};

/// Profile whose parameters a current kernel has.
const KERNEL_PROFILE: &str = "linux";
/// Profile of a kernel with Accurate ECN.
const ACCURATE_ECN_PROFILE: &str = "linux-7.2";

/// Name of a shell as a backend.
const SHELL_BACKEND: &str = "shell";
/// Name of the backend with a kernel in virtual time.
const UML_BACKEND: &str = "uml";

/// Congestion controls that every UML kernel has.
pub const UML_CONGESTION_CONTROLS: [&str; 9] = ["reno", "cubic", "dctcp", "abe", "bbr", "bic", "htcp", "vegas", "westwood"];

/// Features of a kernel that hosts may use.
#[derive(Clone, Debug, Default)]
pub struct KernelFeatures {
    /// Name of the backend in commands and scenarios.
    pub backend: &'static str,
    /// Congestion controls that sockets may choose.
    pub controls: Vec<String>,
    /// Whether it may run a user's AQM in Python.
    pub runs_python: bool,
    /// Whether it has queueing disciplines for links.
    pub has_queues: bool,
    /// Whether its hosts can agree on Accurate ECN (RFC 9768).
    pub has_accurate_ecn: bool,
    /// IP version of its hosts.
    pub family: AddressFamily,
}

/// Maps a scenario to the settings of each group's hosts.
///
/// # Errors
/// Everything in the scenario that this kernel does not support, each with its place and a remedy.
pub fn map_to_host_settings(scenario: &Scenario, kernel: &KernelFeatures) -> Result<Vec<HostSettings>, Vec<Problem>> {
    let mut problems = network::network_problems(scenario, kernel);
    let mut hosts = Vec::new();
    for (number, described) in (0..).zip(scenario.resolved["flows"].as_array().into_iter().flatten()) {
        let place = format!("flows.{}", scenario.groups[number as usize]);
        let mut group = FlowGroup { place, described, kernel, problems: &mut problems };
        hosts.extend(scenario.transport(number).map(|transport| group.host_settings(transport)));
    }
    if problems.is_empty() { Ok(hosts) } else { Err(problems) }
}

/// Problems of a scenario in a shell, which uses its links only.
pub fn shell_problems(scenario: &Scenario) -> Vec<Problem> {
    let mut problems = network::link_problems(scenario, &KernelFeatures { backend: SHELL_BACKEND, ..KernelFeatures::default() });
    problems.extend(scenario.kernel_controls().map(|(place, name)| {
        let message = format!(
            "{name}: the flows of a shell's scenario are simulated, which does not have it; fix: leave it out, and choose the \
                               control of your programs with --cc"
        );
        Problem::new(&place, message)
    }));
    problems
}

/// A group of flows, and what a kernel cannot get of it.
struct FlowGroup<'a> {
    place: String,
    described: &'a Json,
    kernel: &'a KernelFeatures,
    problems: &'a mut Vec<Problem>,
}

impl FlowGroup<'_> {
    fn host_settings(&mut self, transport: &Transport) -> HostSettings {
        match transport {
            Transport::External(within) => self.host_settings(within),
            Transport::Tcp(settings) => {
                self.check_tcp(settings);
                tcp::host_settings(settings, self.kernel.family)
            }
            Transport::Datagrams(settings) => {
                self.check_datagrams(settings);
                HostSettings {
                    sysctls: Vec::new(),
                    ecn: [0, 0],
                    route: RouteMetrics::default(),
                    mtu: settings.packet_size,
                    rewrites_ect1: false,
                    tcp: None,
                    datagrams: Some(DatagramSocketSettings { ecn: settings.ecn.codepoint(), payload: settings.payload() }),
                }
            }
        }
    }

    fn push_problem(&mut self, key: &str, message: impl std::fmt::Display) {
        let message = format!("{message} (backend {})", self.kernel.backend);
        self.problems.push(Problem::new(&format!("{}.{key}", self.place), message));
    }

    fn check_tcp(&mut self, settings: &TcpSettings) {
        let described = &self.described["tcp"];
        let name = described["profile"].as_str().unwrap_or_default();
        let profiles = std::iter::once(KERNEL_PROFILE).chain(self.kernel.has_accurate_ecn.then_some(ACCURATE_ECN_PROFILE));
        let mut profiles = profiles.map(|name| profile::find_profile(name).expect("there is such a profile"));
        let Some(ours) = profiles.find(|profile| profile.name == name) else {
            return self.push_problem("tcp.profile", unsupported_profile_message(name));
        };
        let values = tcp_values_in_force(described);
        let profile = ours.values_with_defaults();
        let is_in_force = |row: &&TcpParameterMapping| values.unmet_read_conditions_of(row.name).is_empty() && (row.is_read)(settings);
        for row in TCP_PARAMETER_MAPPINGS.iter().filter(is_in_force) {
            if let Some(why) = row.refusal(settings, &values, &profile, self.kernel.family) {
                self.push_problem(&format!("tcp.{}", settings::parameter_path(row.name)), why);
            }
        }
        self.check_congestion_control(settings);
        if settings.wants_accurate_ecn() && !self.kernel.has_accurate_ecn {
            let message = "accurate: this kernel does not support Accurate ECN; fix: use --backend uml --kernel 7.2, or give \"classic\"";
            self.push_problem("tcp.ecn_echo", message);
        }
        if self.kernel.family == AddressFamily::V6 && settings.packet_size < MIN_MTU_V6 {
            let message = format!(
                "{} bytes: the MTU of IPv6 is at least {MIN_MTU_V6} bytes; fix: give that, or run it over IPv4",
                settings.packet_size
            );
            self.push_problem("tcp.packet_size", message);
        }
        self.check_header_size(settings);
    }

    /// Header sizes may be those of the profile, although IPv6 changes them. But quantities in full packets would then be another number of
    /// bytes.
    fn check_header_size(&mut self, settings: &TcpSettings) {
        let own = tcp::data_header_bytes(settings, self.kernel.family);
        if self.kernel.family == AddressFamily::V6 && u64::from(settings.quirks.header_size) != own && self.is_app_size_in_packets() {
            let message = format!(
                "{} bytes: what the application sends is measured in full packets, whose headers are {own} bytes with this kernel: \
                 give quirks = {{ header_size = \"{own} B\" }}",
                settings.quirks.header_size
            );
            self.push_problem("tcp.quirks.header_size", message);
        }
    }

    /// The number of bytes that the application sends depends on the size of a full packet.
    fn is_app_size_in_packets(&self) -> bool {
        let app = &self.described["app"];
        match app["kind"].as_str().unwrap_or_default() {
            "file" => app["packets"] != 0,
            "poisson" => app["size"] == "auto",
            kind => ["cbr", "onoff"].contains(&kind),
        }
    }

    /// Checks that the kernel has the congestion control.
    fn check_congestion_control(&mut self, settings: &TcpSettings) {
        let Some(control) = tcp::kernel_congestion_control(settings) else { return };
        let control = control.as_str();
        if self.kernel.controls.iter().any(|known| known == control) {
            return;
        }
        let known = self.kernel.controls.join(", ");
        let build = match control {
            "prague" => "ecnlab uml build-kernel --kernel 7.2 --control FILE.c, with Linux' tcp_prague.c".to_owned(),
            _ => format!("ecnlab uml build-kernel --control FILE.c, with the source of {control}"),
        };
        let is_of_uml_kernels = UML_CONGESTION_CONTROLS.contains(&control);
        let remedy = match (self.kernel.backend, control) {
            (UML_BACKEND, _) if is_of_uml_kernels => "build the kernel again with ecnlab uml build-kernel".to_owned(),
            (UML_BACKEND, _) => format!("build a kernel that has it ({build}), and choose it with --kernel (ecnlab uml list)"),
            (_, "abe") => "use --backend uml, whose kernel has it".to_owned(),
            _ if is_of_uml_kernels => format!("load it as root (modprobe tcp_{control}), or use --backend uml"),
            _ => format!("load it as root (modprobe tcp_{control}), or use --backend uml with a kernel that has it ({build})"),
        };
        let message = format!("the kernel does not have the congestion control {control}, only {known}; fix: {remedy}");
        self.push_problem("tcp.congestion_control", message);
    }

    fn check_datagrams(&mut self, settings: &DatagramSettings) {
        let (ip, header, remedy) = match self.kernel.family {
            AddressFamily::V4 => ("IPv4", 28, "leave it out"),
            AddressFamily::V6 => ("IPv6", 48, "give header = \"48 B\""),
        };
        if settings.header != header {
            let message =
                format!("{} bytes: the headers of a real datagram, {ip} and UDP, are {header} bytes; fix: {remedy}", settings.header);
            self.push_problem("udp.header", message);
        }
    }
}

impl TcpParameterMapping {
    /// Reason why a kernel does not support these values in force, with the remedy.
    fn refusal(&self, settings: &TcpSettings, values: &Values, profile: &Values, family: AddressFamily) -> Option<String> {
        let value = values.value_by_name(self.name);
        if let Some(why) = (self.refusal_reason)(settings) {
            return Some(format!("{value}: {why}"));
        }
        match self.means {
            KernelKnob::FixedValue(own, what) => {
                let own = own.map_or_else(|| profile.value_by_name(self.name).to_string(), str::to_owned);
                let remedy =
                    if own == profile.value_by_name(self.name).to_string() { "leave it out".to_owned() } else { format!("give {own}") };
                (value.to_string() != own).then(|| format!("{value}: a kernel has {own}, {what}; fix: {remedy}, or use --backend sim"))
            }
            KernelKnob::DerivedValue(from, of) => {
                let follows = from(settings, family);
                let remedy = format!("give {} = \"{follows} B\"", settings::parameter_path(self.name));
                // They may be those of the profile, for IPv4 and without the option of Accurate ECN: the kernel uses its own.
                let plain = TcpSettings { ecn_echo: EchoStyle::Classic, ..settings.clone() };
                let sizes =
                    [settings, &plain].into_iter().flat_map(|settings| [family, AddressFamily::V4].map(|family| from(settings, family)));
                let fits = sizes.into_iter().any(|size| value.to_string() == size.to_string());
                (!fits).then(|| format!("{value} bytes: in a kernel it follows from {of}; fix: {remedy}"))
            }
            KernelKnob::Sysctl(_)
            | KernelKnob::Socket(_)
            | KernelKnob::Route(_)
            | KernelKnob::Device(_)
            | KernelKnob::CongestionControl
            | KernelKnob::CongestionControlOrSysctl(_)
            | KernelKnob::HostProgram(_)
            | KernelKnob::HostEdge(_)
            | KernelKnob::Unsupported(_) => None,
        }
    }
}

/// Message about another profile, with the nearest settings of a current kernel.
fn unsupported_profile_message(name: &str) -> String {
    if name == ACCURATE_ECN_PROFILE {
        return format!("\"{name}\": this kernel is older; fix: use --backend uml --kernel 7.2, or give profile = \"{KERNEL_PROFILE}\"");
    }
    let near = match name {
        "linux-2.0" => {
            "variant = \"newreno\", timestamps = false, initial_window = 2, receive_window = \"unlimited\", max_rwnd = 22, \
             quirks = { header_size = \"40 B\", ack_size = \"40 B\", syn_size = \"48 B\" }"
        }
        "linux-2.2" => "variant = \"sack\", initial_window = 2, receive_window = \"unlimited\", max_rwnd = 22",
        _ => "variant = \"reno\"",
    };
    let near = match name {
        "linux-2.0" | "linux-2.2" => format!("give the nearest, {{ profile = \"linux\", {near} }}"),
        _ => "give profile = \"linux\", with a variant and parameters as you need".to_owned(),
    };
    format!("\"{name}\": the hosts are a kernel of today, not {name}; fix: {near}")
}

/// The parameters in force of the resolved scenario.
fn tcp_values_in_force(described: &Json) -> Values {
    let mut values = Values::defaults(TcpSettings::PARAMETERS);
    for parameter in TcpSettings::PARAMETERS {
        let table = if settings::is_quirk(parameter.name) { &described[QUIRKS_KEY] } else { described };
        let text = match &table[parameter.name] {
            Json::String(text) => text.clone(),
            Json::Null => continue,
            other => other.to_string(),
        };
        values
            .set_from_text(parameter.name, &text)
            .unwrap_or_else(|why| panic!("{}: a resolved scenario reads again: {why}", parameter.name));
    }
    values
}

#[cfg(test)]
mod tests {
    use ecnlab_scenario::{Registry, no_files};
    use ecnlab_units::Ecn;
    use ecnlab_units::parameter::Kind;

    use super::*;

    const BOX: [&str; 4] = ["reno", "cubic", "dctcp", "vegas"];

    fn kernel() -> KernelFeatures {
        KernelFeatures { backend: "live", controls: BOX.map(str::to_owned).to_vec(), runs_python: true, ..KernelFeatures::default() }
    }

    fn scenario(tcp: &str) -> Scenario {
        let text = format!(
            "name = \"x\"\nduration = \"2 s\"\n[network]\ntopology = \"dumbbell\"\nrate = \"10 Mbps\"\ndelay = \"10 ms\"\n\
             queue = {{ aqm = \"ecn\", limit = 100 }}\n[[flows]]\nname = \"one\"\nfrom = \"left\"\nto = \"right\"\n{tcp}\n"
        );
        Scenario::from_toml(&text, &[], &Registry::builtin(), &no_files).unwrap_or_else(|why| panic!("{tcp}: {why:?}"))
    }

    /// The places of all refusals.
    fn refused(tcp: &str) -> Vec<String> {
        let refusals =
            map_to_host_settings(&scenario(&format!("tcp = {{ profile = \"linux\"{tcp} }}")), &kernel()).err().unwrap_or_default();
        refusals.into_iter().map(|refusal| refusal.place).collect()
    }

    fn mapped(tcp: &str) -> HostSettings {
        map_to_host_settings(&scenario(&format!("tcp = {{ profile = \"linux\"{tcp} }}")), &kernel())
            .unwrap_or_else(|why| panic!("{why:?}"))
            .remove(0)
    }

    #[test]
    fn every_parameter_stands_in_the_table_once() {
        let mut declared: Vec<_> = TcpSettings::PARAMETERS.iter().map(|parameter| parameter.name).collect();
        let mut mapped: Vec<_> = TCP_PARAMETER_MAPPINGS.iter().map(|row| row.name).collect();
        declared.sort_unstable();
        mapped.sort_unstable();
        assert_eq!(declared, mapped);
    }

    #[test]
    fn what_the_table_calls_a_sysctl_is_one_that_hosts_are_set_to() {
        let set = mapped("");
        let names: Vec<_> = set.sysctls.iter().map(|sysctl| sysctl.name).chain(["tcp_ecn"]).collect();
        let called =
            TCP_PARAMETER_MAPPINGS.iter().filter_map(|row| if let KernelKnob::Sysctl(names) = row.means { Some(names) } else { None });
        assert!(called.flat_map(|called| called.split(", ")).all(|name| names.contains(&name)), "{names:?}");
    }

    #[test]
    fn the_profile_of_a_kernel_is_refused_nothing_with_any_variant_that_one_has() {
        for variant in ["", ", variant = \"cubic\"", ", variant = \"sack\"", ", variant = \"newreno\"", ", variant = \"dctcp\""] {
            assert_eq!(Vec::<String>::new(), refused(variant), "{variant}");
            assert_eq!(Vec::<String>::new(), refused(&format!("{variant}, ecn = true")), "{variant}");
        }
    }

    /// A value that differs from the profile's, if the parameter has one.
    fn another(parameter: &ecnlab_units::Parameter, now: &str) -> Option<String> {
        let candidates: Vec<String> = match parameter.kind {
            Kind::Flag => vec!["true".into(), "false".into()],
            Kind::Choice(words) | Kind::ChoiceOrName(words) => words.iter().map(|&word| word.to_owned()).collect(),
            Kind::Number { min, max, .. } => vec![min.to_string(), max.to_string()],
            Kind::Count { min, max, .. } => vec![min.to_string(), max.to_string()],
            Kind::Span { .. } => vec!["0.05 s".into(), "0.3 s".into()],
            _ => Vec::new(),
        };
        candidates.into_iter().find(|text| text != now && parameter.parse(text).is_ok_and(|value| value.to_string() != now))
    }

    #[test]
    fn a_parameter_that_is_changed_and_in_force_is_refused_or_reaches_the_hosts() {
        let ours = profile::find_profile(KERNEL_PROFILE).unwrap().values_with_defaults();
        let before = mapped(", ecn = true");
        // A parameter that changes a header requires the header's size too.
        let follows = |place: &String| {
            TCP_PARAMETER_MAPPINGS
                .iter()
                .any(|row| place.ends_with(&format!(".{}", row.name)) && matches!(row.means, KernelKnob::DerivedValue(..)))
        };
        for parameter in TcpSettings::PARAMETERS {
            let mut values = ours.clone();
            values.set_from_text("ecn", "true").unwrap();
            let now = values.value_by_name(parameter.name).to_string();
            let Some(other) = another(parameter, &now) else { panic!("{}: no other value is tried", parameter.name) };
            values.set_from_text(parameter.name, &other).unwrap();
            if !values.unmet_read_conditions_of(parameter.name).is_empty()
                || parameter.name == "ecn"
                || !ecnlab_transport::settings::check(&values).is_empty()
            {
                continue;
            }
            let member = format!("{} = \"{other}\"", parameter.name);
            let member = if settings::is_quirk(parameter.name) { format!("quirks = {{ {member} }}") } else { member };
            let given = if parameter.name == "ecn" { String::new() } else { format!(", {member}") };
            let is_bare = matches!(parameter.kind, Kind::Flag | Kind::Number { .. } | Kind::Count { .. });
            let given = if is_bare { given.replace('"', "") } else { given };
            let given = format!(", ecn = true{given}");
            let place = format!("flows.one.tcp.{}", settings::parameter_path(parameter.name));
            let refusals = refused(&given);
            if refusals.is_empty() {
                assert_ne!(before, mapped(&given), "{given} is neither refused nor mapped");
            } else {
                assert!(refusals.contains(&place) || refusals.iter().all(follows), "{given}: {refusals:?}");
            }
        }
    }

    #[test]
    fn hosts_count_marks_where_the_kernel_can() {
        let counting = KernelFeatures { has_accurate_ecn: true, ..kernel() };
        let of = |tcp: &str| {
            map_to_host_settings(
                &scenario(&format!("tcp = {{ profile = \"linux\", ecn = true, ecn_echo = \"accurate\"{tcp} }}")),
                &counting,
            )
        };
        assert_eq!([3, 5], of("").unwrap()[0].ecn);
        assert_eq!([3, 5], of(", variant = \"dctcp\"").unwrap()[0].ecn);
        assert_eq!([3, 0], of(", quirks = { receiver_ecn = false }").unwrap()[0].ecn);
        assert_eq!([3, 2], of(", quirks = { receiver_accurate_ecn = false }").unwrap()[0].ecn);
        assert_eq!(["flows.one.tcp.ecn_echo"], refused(", ecn = true, ecn_echo = \"accurate\"")[..]);
        assert_eq!(Vec::<String>::new(), refused(", ecn = false, ecn_echo = \"accurate\""), "it is not in force");
    }

    #[test]
    fn the_option_of_accurate_ecn_leaves_less_room_for_data() {
        let counting = KernelFeatures { has_accurate_ecn: true, ..kernel() };
        let of = |more: &str| {
            let tcp = format!(
                "tcp = {{ profile = \"linux\", ecn = true, ecn_echo = \"accurate\", max_rwnd = 10, receive_window = \"unlimited\"{more}"
            );
            map_to_host_settings(&scenario(&tcp), &counting)
        };
        assert_eq!(Some(14_360), of(" }").unwrap()[0].tcp.unwrap().window_clamp);
        assert_eq!(Some(14_480), of(", quirks = { receiver_accurate_ecn = false } }").unwrap()[0].tcp.unwrap().window_clamp);
        assert_eq!("flows.one.tcp.quirks.header_size", of(", quirks = { header_size = 64 } }").unwrap_err()[0].place);
        assert!(of(" }\napp = { kind = \"file\", packets = 10 }").is_ok());
    }

    #[test]
    fn a_limit_that_no_kernel_keeps_to_is_refused() {
        assert_eq!(vec!["flows.one.tcp.quirks.max_cwnd"], refused(", quirks = { max_cwnd = 25 }"));
    }

    #[test]
    fn all_is_refused_at_once_and_by_name() {
        let places = ["flows.one.tcp.quirks.max_burst", "flows.one.tcp.quirks.rto_max", "flows.one.tcp.quirks.tick"];
        let mut found = refused(", quirks = { tick = \"1 ms\", max_burst = 4, rto_max = \"60 s\" }");
        found.sort_unstable();
        assert_eq!(places.map(str::to_owned).to_vec(), found);
    }

    #[test]
    fn a_host_of_old_is_refused_with_the_nearest_that_a_kernel_can_be_set_to() {
        for old in ["linux-2.0", "linux-2.2"] {
            let refusals = map_to_host_settings(&scenario(&format!("tcp = {{ profile = \"{old}\" }}")), &kernel()).unwrap_err();
            let [refusal] = &refusals[..] else { panic!("{refusals:?}") };
            assert_eq!("flows.one.tcp.profile", refusal.place);
            let near = &refusal.message[refusal.message.find('{').unwrap()..=refusal.message.rfind('}').unwrap()];
            assert!(map_to_host_settings(&scenario(&format!("tcp = {near}")), &kernel()).is_ok(), "{near}");
        }
        assert_eq!(1, map_to_host_settings(&scenario("tcp = { profile = \"ns2\" }"), &kernel()).unwrap_err().len());
    }

    #[test]
    fn a_congestion_control_that_the_kernel_has_not_is_refused() {
        let kernel = KernelFeatures { controls: vec!["reno".into(), "cubic".into()], ..kernel() };
        let refusals = map_to_host_settings(&scenario("tcp = { profile = \"linux\", variant = \"dctcp\" }"), &kernel).unwrap_err();
        assert_eq!(["flows.one.tcp.congestion_control"], refusals.iter().map(|refusal| refusal.place.as_str()).collect::<Vec<_>>()[..]);
        assert!(refusals[0].message.contains("modprobe tcp_dctcp"), "{}", refusals[0].message);
    }

    #[test]
    fn a_congestion_control_of_the_kernel_is_chosen_by_its_name() {
        let kernel = KernelFeatures { controls: ["reno", "bbr"].map(str::to_owned).to_vec(), ..kernel() };
        let asked = |kernel: &KernelFeatures, tcp: &str| {
            map_to_host_settings(&scenario(&format!("tcp = {{ profile = \"linux\", {tcp} }}")), kernel)
        };
        let control = |tcp: &str| asked(&kernel, tcp).unwrap()[0].tcp.unwrap().congestion.to_string();
        assert_eq!(["bbr", "bbr"], ["congestion_control = \"bbr\"", "congestion_control = \"bbr\", ecn = true"].map(control));
        let message = |backend: &'static str, tcp: &str| {
            let refusals = asked(&KernelFeatures { backend, ..kernel.clone() }, tcp).unwrap_err();
            assert_eq!(1, refusals.len(), "{refusals:?}");
            format!("{}: {}", refusals[0].place, refusals[0].message)
        };
        let own = message("uml", "congestion_control = \"mine\"");
        assert!(
            own.starts_with(
                "flows.one.tcp.congestion_control: the kernel does not have the congestion control mine, only reno, bbr; fix: "
            )
        );
        assert!(own.contains("ecnlab uml build-kernel --control FILE.c") && own.contains("--kernel"), "{own}");
        assert!(message("live", "congestion_control = \"htcp\"").contains("modprobe tcp_htcp"));
        let echo = message("uml", "congestion_control = \"bbr\", ecn = true, ecn_echo = \"dctcp\", ecn_response = \"dctcp\"");
        assert!(echo.contains("leave ecn_echo out"), "{echo}");
    }

    #[test]
    fn prague_is_that_of_a_kernel_with_it_and_with_accurate_ecn() {
        let scenario = scenario("tcp = { profile = \"linux\", variant = \"prague\" }");
        let able = KernelFeatures { controls: vec!["prague".into()], has_accurate_ecn: true, backend: "uml", ..kernel() };
        let [hosts] = &map_to_host_settings(&scenario, &able).unwrap()[..] else { panic!() };
        assert_eq!(("prague", [3, 5], true), (hosts.tcp.unwrap().congestion.as_str(), hosts.ecn, hosts.rewrites_ect1));
        let newer = self::scenario("tcp = { profile = \"linux-7.2\", variant = \"prague\" }");
        assert!(map_to_host_settings(&newer, &able).is_ok());
        let on_older = KernelFeatures { has_accurate_ecn: false, ..able.clone() };
        let refusals = map_to_host_settings(&newer, &on_older).unwrap_err();
        assert_eq!("flows.one.tcp.profile", refusals[0].place);
        assert!(refusals[0].message.contains("fix: use --backend uml --kernel 7.2"), "{}", refusals[0].message);
        let message = |kernel: &KernelFeatures| map_to_host_settings(&scenario, kernel).unwrap_err()[0].message.clone();
        let lacking = message(&KernelFeatures { controls: vec!["reno".into()], ..able.clone() });
        assert!(lacking.contains("ecnlab uml build-kernel --kernel 7.2 --control FILE.c, with Linux' tcp_prague.c"), "{lacking}");
        let old = message(&KernelFeatures { has_accurate_ecn: false, ..able.clone() });
        assert!(old.contains("does not support Accurate ECN; fix: use --backend uml --kernel 7.2"), "{old}");
        let of_kernel = |tcp: &str| {
            let text = format!("tcp = {{ profile = \"linux\", variant = \"prague\", {tcp} }}");
            map_to_host_settings(&self::scenario(&text), &able).unwrap_err()[0].place.clone()
        };
        assert_eq!("flows.one.tcp.ect_codepoint", of_kernel("ect_codepoint = \"ect0\""));
        assert_eq!("flows.one.tcp.quirks.prague_rate_mode", of_kernel("quirks = { prague_rate_mode = false }"));
    }

    #[test]
    fn ect1_is_written_by_the_router_where_hosts_use_ecn() {
        let rewrites = |tcp: &str| mapped(tcp).rewrites_ect1;
        assert_eq!(
            [true, false, false],
            [", ecn = true, ect_codepoint = \"ect1\"", ", ecn = true", ", ect_codepoint = \"ect1\""].map(rewrites)
        );
        assert!(rewrites(", variant = \"dctcp\", ect_codepoint = \"ect1\""));
    }

    #[test]
    fn a_response_to_marks_needs_a_congestion_control_that_has_it() {
        let uml = KernelFeatures { backend: "uml", controls: vec!["reno".into(), "abe".into()], ..kernel() };
        let asked = |tcp: &str| {
            map_to_host_settings(&scenario(&format!("tcp = {{ profile = \"linux\", ecn = true, ecn_response = \"abe\"{tcp} }}")), &uml)
        };
        let sockets = asked(", variant = \"sack\", abe_beta = 0.8").unwrap().remove(0).tcp.unwrap();
        assert_eq!("abe", sockets.congestion.as_str());
        let places = |tcp: &str| asked(tcp).unwrap_err().into_iter().map(|refusal| refusal.place).collect::<Vec<_>>();
        assert_eq!(["flows.one.tcp.congestion_control", "flows.one.tcp.abe_beta"], places("")[..]);
        assert_eq!(["flows.one.tcp.abe_beta"], places(", variant = \"sack\"")[..]);
    }

    #[test]
    fn ecn_is_asked_for_by_one_host_and_agreed_to_by_the_other() {
        assert_eq!([1, 2], mapped(", ecn = true").ecn);
        assert_eq!([1, 0], mapped(", ecn = true, quirks = { receiver_ecn = false }").ecn);
        assert_eq!([0, 0], mapped("").ecn);
    }

    #[test]
    fn datagrams_have_their_codepoint_and_real_headers() {
        let datagrams = |udp: &str| {
            map_to_host_settings(&scenario(&format!("udp = {{ {udp} }}\napp = {{ kind = \"cbr\", rate = \"1 Mbps\" }}")), &kernel())
        };
        let settings = datagrams("packet_size = 1200, ecn = \"ect0\"").unwrap().remove(0).datagrams;
        assert_eq!(Some(DatagramSocketSettings { ecn: Ecn::Ect0, payload: 1172 }), settings);
        assert_eq!("flows.one.udp.header", datagrams("header = 20").unwrap_err()[0].place);
        let asked = |udp: &str| scenario(&format!("udp = {{ {udp} }}\napp = {{ kind = \"cbr\", rate = \"1 Mbps\" }}"));
        let over_v6 = |udp: &str| map_to_host_settings(&asked(udp), &KernelFeatures { family: AddressFamily::V6, ..kernel() });
        assert_eq!("flows.one.udp.header", over_v6("packet_size = 1000").unwrap_err()[0].place);
        assert_eq!(Some(952), over_v6("packet_size = 1000, header = 48").unwrap()[0].datagrams.map(|datagrams| datagrams.payload));
    }

    /// Refusals over IPv6.
    fn refused_over_v6(tcp: &str) -> Vec<String> {
        let asked = scenario(&format!("tcp = {{ profile = \"linux\"{tcp}"));
        let refusals = map_to_host_settings(&asked, &KernelFeatures { family: AddressFamily::V6, ..kernel() }).err().unwrap_or_default();
        refusals.into_iter().map(|refusal| refusal.place).collect()
    }

    #[test]
    fn over_ipv6_sizes_are_those_of_either_version_and_none_else() {
        assert_eq!(Vec::<String>::new(), refused_over_v6(" }"));
        assert_eq!(Vec::<String>::new(), refused_over_v6(", quirks = { header_size = 72, ack_size = 72, syn_size = 80 } }"));
        assert_eq!(
            Vec::<String>::new(),
            refused_over_v6(", timestamps = false, quirks = { header_size = 60, ack_size = 40, syn_size = 72 } }")
        );
        assert_eq!(["flows.one.tcp.quirks.header_size"], refused_over_v6(", quirks = { header_size = 60 } }")[..]);
        assert_eq!(["flows.one.tcp.quirks.header_size"], refused(", quirks = { header_size = 72 }")[..]);
        assert_eq!(["flows.one.tcp.packet_size"], refused_over_v6(", packet_size = 1000 }")[..]);
    }

    #[test]
    fn over_ipv6_what_is_measured_in_packets_needs_the_header_that_they_have() {
        let apps = [
            "kind = \"file\", packets = 10",
            "kind = \"cbr\", rate = \"1 Mbps\"",
            "kind = \"onoff\", rate = \"1 Mbps\"",
            "kind = \"poisson\", rate = \"1 Mbps\"",
        ];
        for app in apps {
            assert_eq!(["flows.one.tcp.quirks.header_size"], refused_over_v6(&format!(" }}\napp = {{ {app} }}"))[..], "{app}");
            assert_eq!(Vec::<String>::new(), refused_over_v6(&format!(", quirks = {{ header_size = 72 }} }}\napp = {{ {app} }}")), "{app}");
        }
        for app in ["kind = \"bulk\"", "kind = \"file\", bytes = 1000"] {
            assert_eq!(Vec::<String>::new(), refused_over_v6(&format!(" }}\napp = {{ {app} }}")), "{app}");
        }
    }

    #[test]
    fn each_use_of_the_accurate_ecn_option_is_a_value_of_one_sysctl() {
        for (used, value) in [("off", "0"), ("minimum", "1"), ("full", "2"), ("always", "3")] {
            let kernel = KernelFeatures { has_accurate_ecn: true, ..kernel() };
            let tcp =
                format!("tcp = {{ profile = \"linux\", ecn = true, ecn_echo = \"accurate\", quirks = {{ accecn_option = \"{used}\" }} }}");
            let host = map_to_host_settings(&scenario(&tcp), &kernel).unwrap().remove(0);
            let set: Vec<_> = host.sysctls.iter().filter(|sysctl| sysctl.name == "tcp_ecn_option").map(|sysctl| &sysctl.value).collect();
            assert_eq!(vec![value], set, "{used}: a value of another line would be written over it");
        }
    }

    #[test]
    fn a_largest_window_is_of_the_data_that_packets_bring() {
        let clamp = |family| {
            let kernel = KernelFeatures { family, ..kernel() };
            let asked = scenario("tcp = { profile = \"linux\", max_rwnd = 10, receive_window = \"unlimited\" }");
            map_to_host_settings(&asked, &kernel).unwrap()[0].tcp.unwrap().window_clamp
        };
        assert_eq!([Some(14_480), Some(14_280)], [AddressFamily::V4, AddressFamily::V6].map(clamp));
    }

    #[test]
    fn shorter_segments_leave_a_receive_buffer_autotuned() {
        let clamp_and_tuning = |more: &str, family| {
            let kernel = KernelFeatures { family, has_accurate_ecn: true, ..kernel() };
            let host = map_to_host_settings(&scenario(&format!("tcp = {{ profile = \"linux\"{more} }}")), &kernel).unwrap().remove(0);
            let sysctl = |name| host.sysctls.iter().find(|sysctl| sysctl.name == name).map(|sysctl| sysctl.value.clone());
            (host.tcp.as_ref().unwrap().window_clamp, sysctl("tcp_moderate_rcvbuf"), sysctl("tcp_rmem"))
        };
        let tuned = (None, Some("1".to_owned()), Some("4096 131072 6291456".to_owned()));
        for more in ["", ", ecn = true, ecn_echo = \"accurate\""] {
            for family in [AddressFamily::V4, AddressFamily::V6] {
                assert_eq!(tuned, clamp_and_tuning(more, family), "{more} {family:?}");
            }
        }
    }
}
