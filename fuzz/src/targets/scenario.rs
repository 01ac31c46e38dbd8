//! Scenarios as TOML and as JSON, and the overrides of `--set`.

use std::sync::LazyLock;

use ecnlab_scenario::{Problem, Registry, Scenario, no_files};

use crate::edit::{TextTree, edit};
use crate::input::Input;

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::builtin);

pub fn registry() -> &'static Registry {
    &REGISTRY
}

/// Scenarios with every parameter, as they are resolved.
static RESOLVED: LazyLock<Vec<TextTree>> = LazyLock::new(|| {
    let texts = [
        LINKS,
        include_str!("../../corpus/scenario_toml/today"),
        include_str!("../../corpus/scenario_toml/arrivals"),
        include_str!("../../corpus/scenario_toml/dualpi2"),
        include_str!("../../corpus/scenario_toml/wireless"),
        include_str!("../../corpus/scenario_toml/web"),
    ];
    let resolved = |text: &&str| Scenario::from_toml(text, &[], registry(), &no_files).map(|scenario| scenario.resolved);
    texts.iter().map(resolved).map(|resolved| TextTree::of(resolved.unwrap_or_else(|problems| panic!("{problems:#?}")))).collect()
});

pub fn prepare() {
    LazyLock::force(&REGISTRY);
    LazyLock::force(&RESOLVED);
}

/// A sound scenario with other values.
pub fn fields(data: &[u8]) -> usize {
    let mut input = Input(data);
    let mut scenario = RESOLVED[input.below(RESOLVED.len())].clone();
    edit(&mut scenario, &mut input);
    let mut text = String::with_capacity(16 << 10);
    scenario.write(&mut text);
    check(Scenario::from_json(&text, &[], registry(), &no_files))
}

pub fn toml(data: &[u8]) -> usize {
    let Ok(text) = std::str::from_utf8(data) else { return 0 };
    check(Scenario::from_toml(text, &[], registry(), &no_files))
}

pub fn json(data: &[u8]) -> usize {
    let Ok(text) = std::str::from_utf8(data) else { return 0 };
    check(Scenario::from_json(text, &[], registry(), &no_files))
}

/// A line each, as `link.slow.delay=20 ms`; those that speak of a network are of the scenario with a topology.
pub fn overrides(data: &[u8]) -> usize {
    let Ok(text) = std::str::from_utf8(data) else { return 0 };
    let one = |line: &str| line.split_once('=').map(|(path, value)| (path.to_owned(), value.to_owned()));
    let overrides: Vec<(String, String)> = text.lines().filter_map(one).collect();
    let scenario = if text.contains("network") { TOPOLOGY } else { LINKS };
    check(Scenario::from_toml(scenario, &overrides, registry(), &no_files))
}

const LINKS: &str = r#"
name = "links"
duration = "2 s"
[[link]]
name = "slow"
from = "a"
to = "b"
rate = "1 Mbps"
delay = "5 ms"
queue = { aqm = "ecn", limit = 20, min_th = 2, max_th = 8 }
[[flows]]
name = "tcp"
from = "a"
to = "b"
tcp = { profile = "linux" }
"#;

const TOPOLOGY: &str = r#"
name = "topology"
duration = "2 s"
[network]
topology = "dumbbell"
rate = "1 Mbps"
delay = "5 ms"
[[flows]]
name = "tcp"
"#;

/// Problems come with a reason; a scenario is, by its resolved text, the same scenario again. Returns what its network may take.
fn check(read: Result<Scenario, Vec<Problem>>) -> usize {
    let scenario = match read {
        Ok(scenario) => scenario,
        Err(problems) => {
            assert!(!problems.is_empty(), "a scenario is refused without a reason");
            assert!(problems.iter().all(|problem| !problem.message.is_empty()));
            return 0;
        }
    };
    let resolved = scenario.resolved.to_string();
    let again = Scenario::from_json(&resolved, &[], registry(), &no_files);
    let again = again.unwrap_or_else(|problems| panic!("the resolved scenario is refused: {problems:#?}\n{resolved}"));
    // The texts decide the hashes too.
    assert_eq!(resolved, again.resolved.to_string());
    assert_eq!(scenario.user_aqms, again.user_aqms);
    assert_eq!((scenario.duration, scenario.measure_from), (again.duration, again.measure_from));
    assert_eq!((&scenario.groups, &scenario.queues, &scenario.routes), (&again.groups, &again.queues, &again.routes));
    let sizes = |scenario: &Scenario| (scenario.network.links.len(), scenario.network.flows.len(), scenario.network.apps.len());
    assert_eq!(sizes(&scenario), sizes(&again));
    network_bytes(&scenario)
}

/// Bytes that a scenario's network may take: a scenario may have a million flows.
pub fn network_bytes(scenario: &Scenario) -> usize {
    const FOR_EACH: usize = 1024;
    FOR_EACH * (scenario.network.links.len() + scenario.network.flows.len() + scenario.network.apps.len())
}
