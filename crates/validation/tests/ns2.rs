//! Compares every event and cwnd change with cases that ns-2 recorded.

use std::fs::File;
use std::path::{Path, PathBuf};

use ecnlab_transport::checked::{RecoveryMode, ReferenceImplementation, SenderCombination};
use ecnlab_transport::profile;
use ecnlab_transport::settings::{CongestionControlName, EcnResponseName};
use ecnlab_validation::ns2::validate_case_from_json;
use serde_json::Value;

/// The files of the reference cases.
fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/ecnlab/reference/ns2/packet-exact");
    let mut cases: Vec<_> =
        std::fs::read_dir(&folder).expect("the reference cases are part of the project").map(|entry| entry.unwrap().path()).collect();
    cases.retain(|path| path.extension().is_some_and(|ending| ending == "gz"));
    cases.sort();
    assert!(cases.len() >= 65, "{} cases in {}", cases.len(), folder.display());
    cases
}

/// The JSON text of a case.
fn read_case(path: &Path) -> String {
    std::io::read_to_string(flate2::read::GzDecoder::new(File::open(path).unwrap())).unwrap()
}

/// The profile of a case, of 2.35 or with the defaults of 2.1b7, and the combination that its agent is.
fn combination(case: &Value) -> (&'static str, SenderCombination) {
    let (scenario, variables) = (&case["scenario"], &case["scenario"]["tcp_params"]);
    let profile = if variables["precisionReduce_"].as_f64() == Some(0.0) { "ns2-2001" } else { "ns2" };
    let (control, recovery) = match scenario["tcp"].as_str().unwrap() {
        "Tahoe" | "TCP" => (CongestionControlName::Reno, RecoveryMode::Tahoe),
        "Reno" => (CongestionControlName::Reno, RecoveryMode::Reno),
        "Newreno" => (CongestionControlName::Reno, RecoveryMode::NewReno),
        "Sack1" => (CongestionControlName::Reno, RecoveryMode::Sack1),
        "Vegas" => (CongestionControlName::Vegas, RecoveryMode::Vegas),
        other => panic!("agent {other}"),
    };
    let uses_ecn = variables["ecn_"].as_f64().is_some_and(|ecn| ecn != 0.0);
    (profile, SenderCombination { control, recovery, response: uses_ecn.then_some(EcnResponseName::Halve), accurate_ecn: false })
}

#[test]
fn what_profiles_declare_as_checked_by_ns2_is_what_the_cases_have() {
    let read = |path: &PathBuf| serde_json::from_str(&read_case(path)).unwrap();
    let of_cases: Vec<_> = cases().iter().map(|path| combination(&read(path))).collect();
    for name in ["ns2", "ns2-2001"] {
        let declared = profile::find_profile(name).unwrap().checked.iter().filter(|one| one.reference == ReferenceImplementation::Ns2);
        let declared: Vec<SenderCombination> = declared.flat_map(|one| one.combinations()).collect();
        let judged: Vec<SenderCombination> = of_cases.iter().filter(|(profile, _)| *profile == name).map(|(_, one)| *one).collect();
        for one in &declared {
            assert!(judged.contains(one), "{name}: no case has {one}");
        }
        for one in &judged {
            assert!(declared.contains(one), "{name}: {one} is not declared");
        }
    }
}

#[test]
fn every_case_agrees_with_ns2_to_the_packet() {
    let cases = cases();
    let results = cases.iter().map(|path| validate_case_from_json(&read_case(path)).unwrap());
    let differences: Vec<_> = results.filter_map(|v| v.difference.map(|d| format!("{}: {d}", v.name))).collect();
    assert!(differences.is_empty(), "{} of {} differ:\n{}", differences.len(), cases.len(), differences.join("\n"));
}

#[test]
fn a_case_with_words_for_numbers_is_refused_and_not_read_as_one_without() {
    let text = r#"{"scenario": {"name": "x", "path": {}, "marks_seq_nth": [["five", 1]]}, "events": [], "cwnd_changes": []}"#;
    assert_eq!(
        Err("marks_seq_nth must hold pairs of whole numbers, not [\"five\",1]".to_owned()),
        validate_case_from_json(text).map(|result| result.name)
    );
    let triple = text.replace(r#"["five", 1]"#, "[5, 1, 2]");
    assert_eq!(
        Err("marks_seq_nth must hold pairs of whole numbers, not [5,1,2]".to_owned()),
        validate_case_from_json(&triple).map(|result| result.name)
    );
    let text = text.replace(r#"[["five", 1]]"#, "3");
    assert_eq!(Err("marks_seq_nth must be a list, not 3".to_owned()), validate_case_from_json(&text).map(|result| result.name));
}
