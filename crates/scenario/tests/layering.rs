//! Layers of the project: crates depend on lower ones only, and the core does not depend on clock, files, network or hash order.

use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item};

/// Dependencies that each crate may have.
const ALLOWED_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("queue", &["units"]),
    ("testkit", &["units", "queue"]),
    ("transport", &["units"]),
    ("wire", &["units"]),
    ("trace", &["units", "wire"]),
    ("sim", &["units", "queue", "transport", "wire"]),
    ("scenario", &["units", "queue", "transport", "wire", "trace", "sim"]),
    ("validation", &["units", "queue", "transport", "wire", "sim"]),
    ("emulator", &["units", "queue", "transport", "wire", "sim", "scenario", "trace"]),
    ("uml_guest", &["units", "queue", "transport", "sim", "scenario", "emulator"]),
    ("web", &["units", "queue", "sim", "scenario"]),
    ("py", &["units", "queue", "testkit", "transport", "wire", "sim", "scenario", "validation", "trace", "emulator"]),
];

/// Dependencies of a crate's tests and examples alone. The test kit depends on the crate that it tests.
const TEST_DEPENDENCIES: &[(&str, &str)] = &[("queue", "testkit"), ("transport", "queue")];

/// Files of `py` that use each checking crate: no run may depend on one.
const VALIDATION_USERS: &[(&str, &[&str])] =
    &[("ecnlab_testkit", &["aqm/check.rs", "conformance.rs"]), ("ecnlab_validation", &["validation.rs"])];

const CORE_CRATES: &[&str] = &["units", "queue", "transport", "sim", "scenario", "validation", "wire", "trace"];

/// Files with unsafe code. Their crates deny it everywhere else; all other crates forbid it.
const FILES_WITH_UNSAFE: &[&str] = &[
    "uml_guest/src/calls.rs",
    "uml_guest/src/host_syscalls.rs",
    "web/src/exports.rs",
    "web/src/host.rs",
    "py/src/aqm/compiled.rs",
    "py/src/aqm/entry.rs",
    "emulator/src/sys/mod.rs",
];

/// Exceptions: readers of traces use `std::io` traits.
const EXCEPTIONS: &[(&str, &str)] = &[("wire", "std::io")];

/// Names that would make a run depend on more than its network and seed, or write output.
const FORBIDDEN_NAMES: &[&str] = &[
    "std::fs",
    "std::net",
    "std::thread",
    "std::time",
    "std::env",
    "std::io",
    "std::process",
    "HashMap",
    "HashSet",
    "print!",
    "println!",
    "eprintln!",
    "dbg!",
];

fn crates_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn manifest(crate_name: &str) -> DocumentMut {
    let path = crates_folder().join(crate_name).join("Cargo.toml");
    std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display())).parse().expect("a manifest is TOML")
}

/// Crates that a crate depends on, tests included, except for `TEST_DEPENDENCIES`.
fn dependencies(crate_name: &str) -> Vec<String> {
    let manifest = manifest(crate_name);
    let names_in = |key: &str| {
        let table = manifest.get(key).and_then(Item::as_table);
        let names = table.into_iter().flat_map(|table| table.iter().map(|(key, item)| package_name(key, item)));
        names.filter_map(|name| name.strip_prefix("ecnlab-").map(str::to_owned)).collect::<Vec<_>>()
    };
    let for_tests = names_in("dev-dependencies").into_iter().filter(|name| !TEST_DEPENDENCIES.contains(&(crate_name, name.as_str())));
    names_in("dependencies").into_iter().chain(names_in("build-dependencies")).chain(for_tests).collect()
}

/// Package name of a dependency, which may be renamed.
fn package_name(key: &str, item: &Item) -> String {
    item.get("package").and_then(Item::as_str).unwrap_or(key).to_owned()
}

fn source_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().flat_map(|path| if path.is_dir() { source_files(path) } else { vec![path.clone()] }).collect()
}

/// Lines before a file's tests, without comments and documentation.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).enumerate();
    lines.map(|(at, line)| (at + 1, line.split("//").next().unwrap_or_default()))
}

#[test]
fn every_crate_has_a_layer() {
    let folders = std::fs::read_dir(crates_folder()).unwrap().map(|entry| entry.unwrap());
    let mut found: Vec<String> = folders
        .filter(|entry| entry.path().join("Cargo.toml").exists())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let mut known: Vec<&str> = ALLOWED_DEPENDENCIES.iter().map(|(crate_name, _)| *crate_name).collect();
    found.sort();
    known.sort_unstable();
    assert_eq!(known, found);
}

#[test]
fn dependencies_run_downward_only() {
    for (crate_name, allowed) in ALLOWED_DEPENDENCIES {
        let upward: Vec<_> = dependencies(crate_name).into_iter().filter(|other| !allowed.contains(&other.as_str())).collect();
        assert!(upward.is_empty(), "{crate_name} may depend on {allowed:?}, not on {upward:?}");
    }
}

#[test]
fn the_extension_module_uses_validation_crates_only_in_the_listed_files() {
    let source = crates_folder().join("py/src");
    for (name, expected) in VALIDATION_USERS {
        let users: Vec<PathBuf> =
            source_files(&source).into_iter().filter(|path| std::fs::read_to_string(path).unwrap().contains(name)).collect();
        let expected: Vec<PathBuf> = expected.iter().map(|path| source.join(path)).collect();
        assert_eq!(expected, users, "{name}");
    }
}

#[test]
fn the_core_has_no_clock_file_thread_hash_order_or_output() {
    let mut found = Vec::new();
    for (crate_name, path) in CORE_CRATES
        .iter()
        .flat_map(|crate_name| source_files(&crates_folder().join(crate_name).join("src")).into_iter().map(move |path| (*crate_name, path)))
    {
        let text = std::fs::read_to_string(&path).unwrap();
        for (line, code) in code_lines(&text) {
            let words = FORBIDDEN_NAMES.iter().filter(|word| code.contains(**word) && !EXCEPTIONS.contains(&(crate_name, **word)));
            found.extend(words.map(|word| format!("{}:{line}: {word}", path.display())));
        }
    }
    assert!(found.is_empty(), "the core must not use:\n{}", found.join("\n"));
}

#[test]
fn unsafe_code_is_forbidden_outside_the_listed_files() {
    let workspace = std::fs::read_to_string(crates_folder().join("../Cargo.toml")).unwrap().parse::<DocumentMut>().unwrap();
    assert_eq!(Some("forbid"), workspace["workspace"]["lints"]["rust"]["unsafe_code"].as_str());
    for (crate_name, _) in ALLOWED_DEPENDENCIES {
        let source = crates_folder().join(crate_name).join("src");
        let has_exceptions = FILES_WITH_UNSAFE.iter().any(|path| path.starts_with(&format!("{crate_name}/")));
        let is_forbidden = manifest(crate_name).get("lints").and_then(|lints| lints.get("workspace")).and_then(Item::as_bool) == Some(true);
        let is_denied = std::fs::read_to_string(source.join("lib.rs")).unwrap().contains("#![deny(unsafe_code)]");
        assert_eq!((!has_exceptions, has_exceptions), (is_forbidden, is_denied), "{crate_name}");
        for path in source_files(&source) {
            let allows = std::fs::read_to_string(&path).unwrap().contains("allow(unsafe_code)");
            let name = path.strip_prefix(crates_folder()).unwrap().to_string_lossy().into_owned();
            assert_eq!(FILES_WITH_UNSAFE.contains(&&*name), allows, "{name}");
        }
    }
}
