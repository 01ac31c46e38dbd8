//! Combinations of TCP's parts that no reference has checked run with one warning, checked ones with none.

use ecnlab_scenario::{Problem, Registry, Scenario, no_files};
use ecnlab_transport::checked::SenderCombination;
use ecnlab_transport::profile::{PROFILES, Profile, VARIANTS};
use ecnlab_transport::settings::{CongestionControlName, EcnResponseName, LossDetection, RecoveryName};
use ecnlab_transport::{TcpSettings, settings};
use ecnlab_units::Rng;

const SEED: u64 = 1;
const CASES: usize = 400;

/// Warnings of unchecked combinations for a scenario with this table `tcp`.
fn warnings(tcp: &str) -> Vec<Problem> {
    let text = format!(
        "name = \"x\"\nduration = \"2 s\"\n[network]\ntopology = \"dumbbell\"\nrate = \"10 Mbps\"\ndelay = \"10 ms\"\n\
         queue = {{ aqm = \"ecn\", limit = 100 }}\n[[flows]]\nname = \"one\"\nfrom = \"left\"\nto = \"right\"\ntcp = {tcp}\n"
    );
    let scenario = Scenario::from_toml(&text, &[], &Registry::builtin(), &no_files).unwrap_or_else(|why| panic!("{tcp}: {why:?}"));
    scenario.warnings.into_iter().filter(|warning| warning.message.contains("is unchecked")).collect()
}

/// A random table `tcp` with its combination; none if the parts contradict each other.
fn random_combination(rng: &mut Rng, profile: &Profile) -> Option<(String, SenderCombination)> {
    fn pick<'w>(rng: &mut Rng, words: &[&'w str]) -> &'w str {
        words[rng.below(words.len() as u64) as usize]
    }
    let response = pick(rng, EcnResponseName::WORDS);
    let members = [
        ("congestion_control", pick(rng, CongestionControlName::WORDS)),
        ("recovery", pick(rng, RecoveryName::WORDS)),
        ("loss_detection", pick(rng, LossDetection::WORDS)),
        ("sack_blocks", pick(rng, &["0", "3"])),
        ("ecn", pick(rng, &["true", "false"])),
        ("ecn_response", response),
        ("ecn_echo", if ["dctcp", "mecn"].contains(&response) { response } else { "classic" }),
    ];
    let mut values = profile.values();
    members.iter().for_each(|(name, text)| values.set_from_text(name, text).unwrap());
    let is_bare = |name: &str| ["sack_blocks", "ecn"].contains(&name);
    let member = |(name, text): &(&str, &str)| if is_bare(name) { format!("{name} = {text}") } else { format!("{name} = \"{text}\"") };
    let texts: Vec<String> = members.iter().map(member).collect();
    let tcp = format!("{{ profile = \"{}\", {} }}", profile.name, texts.join(", "));
    settings::check(&values).is_empty().then(|| (tcp, SenderCombination::from_settings(&TcpSettings::from_values(&values))))
}

#[test]
fn drawn_combinations_are_warned_of_once_unless_they_are_checked() {
    let mut rng = Rng::for_role(SEED, "combinations");
    let mut seen = [0, 0];
    for _ in 0..CASES {
        let profile = &PROFILES[rng.below(PROFILES.len() as u64) as usize];
        let Some((tcp, combination)) = random_combination(&mut rng, profile) else { continue };
        let is_checked = combination.is_covered_by(profile.checked);
        let found = warnings(&tcp);
        assert_eq!(usize::from(!is_checked), found.len(), "{tcp}: {found:?}");
        for warning in found {
            assert_eq!("flows.one.tcp.recovery", warning.place);
            let says = format!("{combination} is unchecked over profile {}", profile.name);
            assert!(warning.message.starts_with(&says) && warning.message.contains("checked are "), "{}", warning.message);
        }
        seen[usize::from(is_checked)] += 1;
    }
    assert!(seen[0] > 100 && seen[1] > 20, "{seen:?}");
}

#[test]
fn a_profile_with_any_variant_is_checked() {
    for profile in PROFILES {
        for tcp in VARIANTS.iter().map(|variant| format!(", variant = \"{}\"", variant.name)).chain([String::new()]) {
            for ecn in ["", ", ecn = false"] {
                assert_eq!(0, warnings(&format!("{{ profile = \"{}\"{tcp}{ecn} }}", profile.name)).len(), "{} {tcp}{ecn}", profile.name);
            }
        }
    }
}
