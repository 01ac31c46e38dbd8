//! The combinations that profiles declare as checked by this suite are those that it runs.

use ecnlab_transport::checked::{ReferenceImplementation, SenderCombination};
use ecnlab_transport::profile::PROFILES;

use crate::harness::cases;

/// Combinations that the ECN scenarios run for a profile: its own response and MECN's with each variant. Those with Accurate ECN, as Prague has
/// it, are left out: recorded connections check them.
fn run(profile: &str) -> Vec<SenderCombination> {
    let ecn: &[(&str, &str)] = &[("ecn", "true")];
    let mecn: &[(&str, &str)] = &[("ecn", "true"), ("ecn_response", "mecn"), ("ecn_echo", "mecn")];
    let of_profile = cases::all_cases().into_iter().filter(|case| case.profile == profile);
    let with = of_profile.flat_map(|case| [case.with(ecn), case.with(mecn)]).flatten();
    with.map(|case| SenderCombination::from_settings(&case.settings)).filter(|one| !one.accurate_ecn).collect()
}

#[test]
fn what_a_profile_declares_as_checked_by_the_suite_is_what_the_suite_runs() {
    for profile in PROFILES {
        let run = run(profile.name);
        let of_suite: Vec<_> = profile.checked.iter().filter(|one| one.reference == ReferenceImplementation::Rfcs).copied().collect();
        for combination in &run {
            assert!(combination.is_covered_by(&of_suite), "{}: {combination} is not declared", profile.name);
        }
        for one in &of_suite {
            for &response in one.responses {
                let (control, recovery) = (one.control, one.recovery);
                let declared = SenderCombination { control, recovery, response: Some(response), accurate_ecn: one.accurate_ecn };
                assert!(run.contains(&declared), "{}: {declared} is not run", profile.name);
            }
        }
    }
}
