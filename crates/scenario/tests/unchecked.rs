//! Combinations of TCP's parts that no reference has checked run with one warning, checked ones with none.

use ecnlab_scenario::{Problem, Registry, Scenario, no_files};
use ecnlab_transport::checked::SenderCombination;
use ecnlab_transport::profile::{PROFILES, Profile, VARIANTS};
use ecnlab_transport::settings::{CongestionControlName, EcnResponseName, LossDetection, RecoveryName};
use ecnlab_transport::{TcpSettings, settings};
use ecnlab_units::Rng;

const SEED: u64 = 1;
const CASES: usize = 2000;

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
    let echoes = [if ["dctcp", "mecn"].contains(&response) { response } else { "classic" }, "accurate"];
    let members = [
        ("congestion_control", pick(rng, CongestionControlName::WORDS)),
        ("recovery", pick(rng, RecoveryName::WORDS)),
        ("loss_detection", pick(rng, LossDetection::WORDS)),
        ("sack_blocks", pick(rng, &["0", "3"])),
        ("ecn", pick(rng, &["true", "false"])),
        ("ecn_response", response),
        ("ecn_echo", pick(rng, &echoes)),
        // Accurate ECN and Prague ask for both.
        ("handshake", "three-way"),
        ("pacing", pick(rng, &["true", "false"])),
    ];
    let mut values = profile.values_with_defaults();
    members.iter().for_each(|(name, text)| values.set_from_text(name, text).unwrap());
    let is_bare = |name: &str| ["sack_blocks", "ecn", "pacing"].contains(&name);
    let member = |(name, text): &(&str, &str)| if is_bare(name) { format!("{name} = {text}") } else { format!("{name} = \"{text}\"") };
    let texts: Vec<String> = members.iter().map(member).collect();
    let tcp = format!("{{ profile = \"{}\", {} }}", profile.name, texts.join(", "));
    settings::check(&values).is_empty().then(|| (tcp, SenderCombination::from_settings(&TcpSettings::from_values(&values))))
}

#[test]
fn drawn_combinations_are_warned_of_once_unless_they_are_checked() {
    let mut rng = Rng::for_role(SEED, "combinations");
    let (mut seen, mut accurate_seen) = ([0, 0], 0);
    for _ in 0..CASES {
        let profile = &PROFILES[rng.below(PROFILES.len() as u64) as usize];
        let Some((tcp, combination)) = random_combination(&mut rng, profile) else { continue };
        let is_checked = combination.is_covered_by(profile.checked);
        let found = warnings(&tcp);
        assert_eq!(usize::from(!is_checked), found.len(), "{tcp}: {found:?}");
        for warning in found {
            assert_eq!("flows.one.tcp.recovery", warning.place);
            let says = format!("{combination} is unchecked over profile {}", profile.name);
            assert!(
                warning.message.starts_with(&says) && warning.message.contains(&format!("; checked over {} are ", profile.name)),
                "{}",
                warning.message
            );
        }
        seen[usize::from(is_checked)] += 1;
        accurate_seen += usize::from(combination.accurate_ecn && !is_checked);
    }
    assert!(seen[0] > 100 && seen[1] > 20, "{seen:?}");
    assert!(accurate_seen > 100, "{accurate_seen}");
}

#[test]
fn a_profile_with_any_variant_is_checked_but_prague_with_ecn_with_linux_7_2_alone() {
    for profile in PROFILES {
        for variant in VARIANTS.iter().map(|variant| variant.name).chain([""]) {
            for ecn in ["", ", ecn = false"] {
                let set = if variant.is_empty() { String::new() } else { format!(", variant = \"{variant}\"") };
                let is_prague = variant.starts_with("prague") && ecn.is_empty();
                let unchecked = usize::from(is_prague && profile.name != "linux-7.2");
                assert_eq!(
                    unchecked,
                    warnings(&format!("{{ profile = \"{}\"{set}{ecn} }}", profile.name)).len(),
                    "{} {set}{ecn}",
                    profile.name
                );
            }
        }
    }
}

#[test]
fn prague_over_linux_6_1_is_warned_of_once_with_the_profile_that_has_it() {
    let tcp = "{ profile = \"linux\", variant = \"prague\" }";
    let second = format!("{tcp}\n[[flows]]\nname = \"two\"\nfrom = \"left\"\nto = \"right\"\ntcp = {tcp}");
    let found = warnings(&second);
    assert_eq!(1, found.len(), "{found:?}");
    assert_eq!("flows.one.tcp.variant", found[0].place);
    let fix = "fix: give profile = \"linux-7.2\", with which these settings are checked, or see";
    let checked = "; checked over linux-6.1 are prague with recovery rack, without ECN";
    assert!(found[0].message.contains(fix) && found[0].message.ends_with(checked), "{}", found[0].message);
    let other = warnings("{ profile = \"linux-7.2\", ecn = true, ecn_echo = \"accurate\", congestion_control = \"aimd\" }");
    assert!(!other[0].message.contains("give profile"), "no profile has it: {}", other[0].message);
}

#[test]
fn accurate_ecn_is_checked_with_linux_7_2_and_the_controls_of_its_cases() {
    let accurate = |rest: &str| format!("{{ ecn = true, ecn_echo = \"accurate\", {rest} }}");
    let own = "profile = \"linux-7.2\"";
    for checked in ["", ", congestion_control = \"reno\"", ", variant = \"dctcp\"", ", variant = \"prague\""] {
        assert_eq!(0, warnings(&accurate(&format!("{own}{checked}"))).len(), "{checked}");
    }
    for unchecked in [
        format!("{own}, ecn_response = \"abe\""),
        format!("{own}, congestion_control = \"aimd\""),
        format!("{own}, loss_detection = \"dupthresh\", congestion_control = \"reno\""),
        "profile = \"linux-6.1\"".to_owned(),
        "profile = \"rfc\", handshake = \"three-way\"".to_owned(),
    ] {
        let found = warnings(&accurate(&unchecked));
        assert_eq!(1, found.len(), "{unchecked}: {found:?}");
        assert!(found[0].message.contains(" with Accurate ECN is unchecked over profile "), "{}", found[0].message);
    }
}
