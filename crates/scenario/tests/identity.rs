//! Key of a result: the changes that affect it, and the digest of the sources that is part of it.

mod reading;

use std::path::{Path, PathBuf};

use ecnlab_scenario::{Registry, SOURCES_DIGEST, Scenario, no_files};

#[path = "../digest.rs"]
mod digest;

const SMALL: &str = r#"name = "small"
duration = "10 s"
link = [{ name = "l", from = "a", to = "b", rate = "1 Mbps", delay = "1 ms", queue = { aqm = "red", limit = 50 } }]
flows = [{ name = "f", from = "a", to = "b", tcp = { profile = "ns2" } }]
"#;

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn key(overrides: &[(&str, &str)]) -> String {
    reading::read(SMALL, overrides).unwrap().hash()
}

#[test]
fn neither_title_nor_recording_changes_the_key_and_a_parameter_does() {
    let plain = key(&[]);
    assert_eq!(plain, key(&[("name", "another title")]));
    assert_eq!(plain, key(&[("record.queue", "10 ms"), ("record.events", "true"), ("record.plot", "true")]));
    assert_ne!(plain, key(&[("link.l.queue.max_p", "0.2")]));
    assert_ne!(plain, key(&[("flows.f.name", "g")]), "a group's name names random streams");
}

#[test]
fn what_is_in_force_reads_as_the_same_scenario() {
    let examples = crates().join("../examples");
    let files = std::fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path());
    for path in files.filter(|path| path.extension().is_some_and(|extension| extension == "toml")) {
        let beside = |name: &str| std::fs::read_to_string(path.with_file_name(name)).map_err(|why| why.to_string());
        let scenario = Scenario::from_toml(&std::fs::read_to_string(&path).unwrap(), &[], &Registry::builtin(), &beside).unwrap();
        let again = Scenario::from_json(&scenario.resolved.to_string(), &[], &Registry::builtin(), &no_files)
            .unwrap_or_else(|why| panic!("{}: {why:?}", path.display()));
        let toml = Scenario::from_toml(&scenario.to_toml(), &[], &Registry::builtin(), &no_files)
            .unwrap_or_else(|why| panic!("{}: {why:?}\n{}", path.display(), scenario.to_toml()));
        assert_eq!((scenario.hash(), &scenario.resolved), (again.hash(), &again.resolved), "{}", path.display());
        assert_eq!((scenario.hash(), &scenario.resolved), (toml.hash(), &toml.resolved), "{}", path.display());
    }
}

/// Every Rust source below a folder, found independently of the digest.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { sources(&path, found) } else { found.push(path) }
    }
}

#[test]
fn the_digest_covers_every_source_that_a_result_depends_on() {
    let mut expected = vec![crates().join("../Cargo.lock")];
    for name in ["units", "queue", "transport", "sim", "scenario"] {
        expected.push(crates().join(name).join("Cargo.toml"));
        sources(&crates().join(name).join("src"), &mut expected);
    }
    // These sources only write a trace: a corrected header does not make stored results stale.
    let writers = crates().join("sim/src/trace");
    let before = expected.len();
    expected.retain(|path| !path.starts_with(&writers));
    assert!(expected.len() < before, "there is no {} to leave out", writers.display());
    let mut covered = digest::digested_files(&crates(), digest::CRATES).unwrap();
    expected.sort();
    covered.sort();
    assert_eq!(expected, covered);
    assert_eq!(SOURCES_DIGEST, digest::digest(&crates(), digest::CRATES).unwrap(), "what is compiled in is the digest of these sources");
}

const LOCK: &str = r#"version = 4

[[package]]
name = "libm"
version = "0.2.15"
source = "registry"

[[package]]
name = "ecnlab-bench"
version = "0.1.0"
"#;

#[test]
fn the_digest_tells_sources_and_versions_apart_and_not_how_they_came_here() {
    let folder = std::env::temp_dir().join(format!("ecnlab-digest-{}", std::process::id()));
    let crates = folder.join("crates");
    for name in digest::CRATES {
        std::fs::create_dir_all(crates.join(name).join("src/inner")).unwrap();
        std::fs::write(crates.join(name).join("Cargo.toml"), "[package]\n").unwrap();
        std::fs::write(crates.join(name).join("src/inner/mod.rs"), "//! A room.\nfn it() {}\n").unwrap();
    }
    let digest_of = |source: &str, lock: &str| {
        std::fs::write(crates.join("queue/src/inner/mod.rs"), source).unwrap();
        std::fs::write(folder.join("Cargo.lock"), lock).unwrap();
        digest::digest(&crates, digest::CRATES).unwrap()
    };
    let before = digest_of("//! A room.\nfn it() {}\n", LOCK);
    assert_eq!(before, digest_of("//! A room.\r\nfn it() {}\r\n", &LOCK.replace('\n', "\r\n")), "line endings");
    let own = LOCK.find("\n[[package]]\nname = \"ecnlab-bench\"").unwrap();
    assert_eq!(before, digest_of("//! A room.\nfn it() {}\n", &LOCK[..own]), "a crate of ours that a source distribution leaves out");
    assert_ne!(before, digest_of("//! A room.\nfn it() { }\n", LOCK));
    assert_ne!(before, digest_of("//! A room.\nfn it() {}\n", &LOCK.replace("0.2.15", "0.2.16")));
    std::fs::remove_dir_all(&folder).unwrap();
}
