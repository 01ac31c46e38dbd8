//! The rooms of the project: dependencies run downward only, and the core reads no clock, file, network or hash order.

use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item};

/// Which rooms each room may look at.
const ROOMS: &[(&str, &[&str])] = &[
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
    ("py", &["units", "queue", "testkit", "transport", "wire", "sim", "scenario", "validation", "trace", "emulator"]),
];

/// Test kits that the tests of a crate use although the kit depends on the crate itself.
const TEST_KITS: &[(&str, &str)] = &[("queue", "testkit")];

/// The files of `py` that use each crate of checks: no run may depend on one.
const USERS_OF_CHECKS: &[(&str, &[&str])] =
    &[("ecnlab_testkit", &["aqm/check.rs", "conformance.rs"]), ("ecnlab_validation", &["validation.rs"])];

const CORE: &[&str] = &["units", "queue", "transport", "sim", "scenario", "validation", "wire", "trace"];

/// Where unsafe code is allowed. The rooms of these files deny it everywhere else; all other rooms forbid it.
const UNSAFE: &[&str] = &[
    "uml_guest/src/calls.rs",
    "uml_guest/src/host_syscalls.rs",
    "py/src/aqm/compiled.rs",
    "py/src/aqm/entry.rs",
    "emulator/src/sys/mod.rs",
];

/// What a room may use all the same: readers of traces are given something to read from.
const ALLOWED: &[(&str, &str)] = &[("wire", "std::io")];

/// What would make a run depend on more than its network and seed, or write where nobody asked.
const FORBIDDEN: &[&str] = &[
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

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn manifest(room: &str) -> DocumentMut {
    let path = crates().join(room).join("Cargo.toml");
    std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display())).parse().expect("a manifest is TOML")
}

/// The rooms that a room depends on, tests included, except for its test kit.
fn neighbours(room: &str) -> Vec<String> {
    let manifest = manifest(room);
    let names_in = |key: &str| {
        let table = manifest.get(key).and_then(Item::as_table);
        let names = table.into_iter().flat_map(|table| table.iter().map(|(key, item)| renamed(key, item)));
        names.filter_map(|name| name.strip_prefix("ecnlab-").map(str::to_owned)).collect::<Vec<_>>()
    };
    let for_tests = names_in("dev-dependencies").into_iter().filter(|name| !TEST_KITS.contains(&(room, name.as_str())));
    names_in("dependencies").into_iter().chain(names_in("build-dependencies")).chain(for_tests).collect()
}

/// A dependency may hide its name behind another.
fn renamed(key: &str, item: &Item) -> String {
    item.get("package").and_then(Item::as_str).unwrap_or(key).to_owned()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().flat_map(|path| if path.is_dir() { sources(path) } else { vec![path.clone()] }).collect()
}

/// The lines before a file's tests, which stand last, with comments and the documentation left out.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).enumerate();
    lines.map(|(at, line)| (at + 1, line.split("//").next().unwrap_or_default()))
}

#[test]
fn every_room_is_known() {
    let folders = std::fs::read_dir(crates()).unwrap().map(|entry| entry.unwrap());
    let mut found: Vec<String> = folders
        .filter(|entry| entry.path().join("Cargo.toml").exists())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let mut known: Vec<&str> = ROOMS.iter().map(|(room, _)| *room).collect();
    found.sort();
    known.sort_unstable();
    assert_eq!(known, found);
}

#[test]
fn dependencies_run_downward_only() {
    for (room, allowed) in ROOMS {
        let upward: Vec<_> = neighbours(room).into_iter().filter(|other| !allowed.contains(&other.as_str())).collect();
        assert!(upward.is_empty(), "{room} may depend on {allowed:?}, not on {upward:?}");
    }
}

#[test]
fn the_extension_module_uses_crates_of_checks_in_the_files_that_are_named() {
    let source = crates().join("py/src");
    for (name, expected) in USERS_OF_CHECKS {
        let users: Vec<PathBuf> =
            sources(&source).into_iter().filter(|path| std::fs::read_to_string(path).unwrap().contains(name)).collect();
        let expected: Vec<PathBuf> = expected.iter().map(|path| source.join(path)).collect();
        assert_eq!(expected, users, "{name}");
    }
}

#[test]
fn the_core_has_no_clock_file_thread_hash_order_or_output() {
    let mut found = Vec::new();
    for (room, path) in CORE.iter().flat_map(|room| sources(&crates().join(room).join("src")).into_iter().map(move |path| (*room, path))) {
        let text = std::fs::read_to_string(&path).unwrap();
        for (line, code) in code(&text) {
            let words = FORBIDDEN.iter().filter(|word| code.contains(**word) && !ALLOWED.contains(&(room, **word)));
            found.extend(words.map(|word| format!("{}:{line}: {word}", path.display())));
        }
    }
    assert!(found.is_empty(), "the core must not use:\n{}", found.join("\n"));
}

#[test]
fn unsafe_code_is_forbidden_but_in_the_files_that_are_named() {
    let workspace = std::fs::read_to_string(crates().join("../Cargo.toml")).unwrap().parse::<DocumentMut>().unwrap();
    assert_eq!(Some("forbid"), workspace["workspace"]["lints"]["rust"]["unsafe_code"].as_str());
    for (room, _) in ROOMS {
        let source = crates().join(room).join("src");
        let has_exceptions = UNSAFE.iter().any(|path| path.starts_with(&format!("{room}/")));
        let is_forbidden = manifest(room).get("lints").and_then(|lints| lints.get("workspace")).and_then(Item::as_bool) == Some(true);
        let is_denied = std::fs::read_to_string(source.join("lib.rs")).unwrap().contains("#![deny(unsafe_code)]");
        assert_eq!((!has_exceptions, has_exceptions), (is_forbidden, is_denied), "{room}");
        for path in sources(&source) {
            let allows = std::fs::read_to_string(&path).unwrap().contains("allow(unsafe_code)");
            let name = path.strip_prefix(crates()).unwrap().to_string_lossy().into_owned();
            assert_eq!(UNSAFE.contains(&&*name), allows, "{name}");
        }
    }
}
