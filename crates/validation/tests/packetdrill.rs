//! Runs scripts in packetdrill's language: those of the folder `packetdrill`, and those of a kernel's source package in the folder that
//! ECNLAB_PACKETDRILL names.

use std::path::{Path, PathBuf};

use ecnlab_validation::packetdrill::{ScriptResult, run};

fn scripts(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "pkt"));
    paths.sort();
    paths
}

fn results(folder: &Path) -> Vec<(String, ScriptResult)> {
    let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    scripts(folder).iter().map(|path| (name(path), run(&std::fs::read_to_string(path).unwrap()))).collect()
}

#[test]
fn the_scripts_of_the_project_pass() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/packetdrill");
    let results = results(&folder);
    assert!(results.len() >= 4, "{} scripts", results.len());
    let wrong: Vec<_> = results.iter().filter(|(_, result)| *result != ScriptResult::Passed).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_script_that_asks_for_another_packet_fails_by_its_line_and_field() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/packetdrill/server_counts_marks.pkt")).unwrap();
    let line = |text: &str, part: &str| text.lines().position(|line| line.contains(part)).unwrap() + 1;
    for (from, to, field) in [
        ("[ect0] P.5 1:1001", "[noecn] P.5 1:1001", "ECN field"),
        ("[ect0] P.5 1:1001(1000)", "[ect0] P.6 1:1001(1000)", "ACE field"),
        ("ack 1001 <ECN e1b 1 ceb 1000", "ack 1001 <ECN e1b 1 ceb 1001", "Accurate ECN option"),
        ("tcpi_delivered_ce == 1", "tcpi_delivered_ce == 2", "tcpi_delivered_ce"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(text, changed, "{from}");
        match run(&changed) {
            ScriptResult::Failed { line: at, what } => assert!(at == line(&changed, to) && what.starts_with(field), "{at} {what}"),
            other => panic!("{from}: {other:?}"),
        }
    }
}

#[test]
fn the_kernel_s_scripts_pass_where_its_source_is_at_hand() {
    let Some(folder) = std::env::var_os("ECNLAB_PACKETDRILL") else { return };
    let results: Vec<_> = results(Path::new(&folder)).into_iter().filter(|(name, _)| name.starts_with("tcp_accecn_")).collect();
    let passed = results.iter().filter(|(_, result)| *result == ScriptResult::Passed).count();
    for (name, result) in results.iter().filter(|(_, result)| *result != ScriptResult::Passed) {
        println!("{name}: {result:?}");
    }
    println!("{passed} of {} pass", results.len());
}
