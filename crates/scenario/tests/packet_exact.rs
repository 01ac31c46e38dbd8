//! ns-2 is the judge: every event and window change of its cases.

use std::path::Path;

use ecnlab_scenario::packet_exact::judge;

#[test]
fn every_case_agrees_with_ns2_to_the_packet() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/ecnlab/reference/ns2/packet-exact");
    let mut cases: Vec<_> =
        std::fs::read_dir(&folder).expect("the reference cases are part of the project").map(|entry| entry.unwrap().path()).collect();
    cases.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    cases.sort();
    assert!(cases.len() >= 65, "{} cases in {}", cases.len(), folder.display());
    let verdicts = cases.iter().map(|path| judge(&std::fs::read_to_string(path).unwrap()).unwrap());
    let differences: Vec<_> = verdicts.filter_map(|v| v.difference.map(|d| format!("{}: {d}", v.name))).collect();
    assert!(differences.is_empty(), "{} of {} differ:\n{}", differences.len(), cases.len(), differences.join("\n"));
}

#[test]
fn a_case_with_words_for_numbers_is_refused_and_not_read_as_one_without() {
    let text = r#"{"scenario": {"name": "x", "path": {}, "marks_seq_nth": [["five", 1]]}, "events": [], "cwnd_changes": []}"#;
    assert_eq!(Err("marks_seq_nth must hold pairs of whole numbers, not [\"five\",1]".to_owned()), judge(text).map(|verdict| verdict.name));
    let triple = text.replace(r#"["five", 1]"#, "[5, 1, 2]");
    assert_eq!(Err("marks_seq_nth must hold pairs of whole numbers, not [5,1,2]".to_owned()), judge(&triple).map(|verdict| verdict.name));
    let text = text.replace(r#"[["five", 1]]"#, "3");
    assert_eq!(Err("marks_seq_nth must be a list, not 3".to_owned()), judge(&text).map(|verdict| verdict.name));
}
