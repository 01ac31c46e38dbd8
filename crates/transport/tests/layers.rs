//! Layers inside this crate: a module imports only those below it, so that recovery does not depend on the sender, nor the TCB on recovery.

use std::path::{Path, PathBuf};

/// Modules that each module may import, from the lowest layer to the highest.
const LAYERS: &[(&str, &[&str])] = &[
    ("segment", &[]),
    ("accurate_ecn", &["segment"]),
    ("settings", &[]),
    ("application", &[]),
    ("timer", &[]),
    ("processing", &[]),
    ("checked", &["settings"]),
    ("profile", &["settings", "checked"]),
    ("memory", &[]),
    ("clock", &["settings"]),
    ("send_buffer", &["segment", "settings", "application"]),
    ("rtt", &["settings", "memory", "clock"]),
    ("congestion", &["settings", "memory", "clock"]),
    ("ecn_response", &["settings", "congestion"]),
    ("receiver", &["accurate_ecn", "segment", "settings", "timer", "memory", "clock"]),
    (
        "tcb",
        &[
            "accurate_ecn",
            "segment",
            "settings",
            "application",
            "memory",
            "clock",
            "send_buffer",
            "processing",
            "rtt",
            "congestion",
            "ecn_response",
        ],
    ),
    ("recovery", &["segment", "settings", "timer", "memory", "clock", "congestion", "ecn_response", "tcb"]),
    ("sender", &["segment", "settings", "application", "clock", "send_buffer", "processing", "timer", "congestion", "tcb", "recovery"]),
    ("datagram", &["segment", "application", "processing", "tcb"]),
    ("external", &["congestion", "tcb"]),
    (
        "endpoint",
        &[
            "segment",
            "settings",
            "application",
            "clock",
            "send_buffer",
            "processing",
            "congestion",
            "receiver",
            "tcb",
            "sender",
            "datagram",
            "external",
        ],
    ),
];

/// File name of test helpers.
const TEST_ONLY: &str = "testing.rs";

fn source_files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = std::fs::read_dir(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).filter(|path| !path.ends_with(TEST_ONLY)).collect();
    paths.sort();
    paths.iter().flat_map(|path| source_files(path)).collect()
}

/// Path of a module's file or folder in `src`.
fn module_path(name: &str) -> PathBuf {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let file = src.join(format!("{name}.rs"));
    if file.is_file() { file } else { src.join(name) }
}

/// Modules that a line of code names by their path from the crate root.
fn modules_named_in(line: &str) -> impl Iterator<Item = &str> {
    line.split("crate::").skip(1).map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default())
}

#[test]
fn modules_look_downward_only() {
    let mut upward = Vec::new();
    for (name, allowed) in LAYERS {
        for path in source_files(&module_path(name)) {
            let text = std::fs::read_to_string(&path).unwrap();
            // Tests are last in a file, and may import all modules.
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
            let others = lines.flat_map(modules_named_in).filter(|other| other != name && !allowed.contains(other));
            upward.extend(others.map(|other| format!("{}: crate::{other}", path.display())));
        }
    }
    assert!(upward.is_empty(), "these look at a module that is not below theirs:\n{}", upward.join("\n"));
}

#[test]
fn every_module_has_its_layer() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found: Vec<String> = std::fs::read_dir(src)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    let mut known: Vec<&str> = LAYERS.iter().map(|(name, _)| *name).chain(["lib"]).collect();
    found.sort();
    known.sort_unstable();
    assert_eq!(known, found);
}
