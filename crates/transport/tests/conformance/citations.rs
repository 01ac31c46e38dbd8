//! Citations: every rule of this suite is cited in the code that implements it, and every citation names a rule of the suite.
//!
//! A citation is a separate comment, `//= SECTION: RULE`, as in s2n-quic:
//!
//! ```text
//! //= RFC 6298, section 5.5: each timeout doubles the next
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const CITATION: &str = "//= ";

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] }).collect()
}

fn crate_folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The string literal at the start of a text, and the rest of the text.
fn string_literal(text: &str) -> Option<(&str, &str)> {
    text.trim_start().strip_prefix('"')?.split_once('"')
}

/// The rules of the suite as they are cited: section and name of each `rule(NAME, SECTION, ..)`.
fn suite_clauses() -> BTreeSet<String> {
    let mut clauses = BTreeSet::new();
    for path in rust_files(&crate_folder("tests/conformance")) {
        let text = fs::read_to_string(&path).unwrap();
        for call in text.split("rule(").skip(1) {
            let Some((name, rest)) = string_literal(call) else { continue };
            let section = rest.trim_start().strip_prefix(',').and_then(string_literal);
            clauses.extend(section.map(|(section, _)| format!("{section}: {name}")));
        }
    }
    clauses
}

/// The citations in the crate's code, with their positions.
fn code_citations() -> BTreeMap<String, Vec<String>> {
    let mut citations = BTreeMap::<String, Vec<String>>::new();
    for path in rust_files(&crate_folder("src")) {
        let text = fs::read_to_string(&path).unwrap();
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(clause) = line.trim_start().strip_prefix(CITATION) {
                citations.entry(clause.to_owned()).or_default().push(format!("{}:{number}", path.display()));
            }
        }
    }
    citations
}

#[test]
fn every_clause_of_the_suite_is_cited_in_the_code() {
    let (clauses, citations) = (suite_clauses(), code_citations());
    assert!(clauses.len() > 60, "the suite's rules were not found: {clauses:?}");
    let missing: Vec<&String> = clauses.iter().filter(|clause| !citations.contains_key(*clause)).collect();
    assert!(missing.is_empty(), "no code cites these clauses, as {CITATION}SECTION: RULE: {missing:#?}");
}

#[test]
fn every_citation_names_a_clause_of_the_suite() {
    let clauses = suite_clauses();
    let unknown: Vec<_> = code_citations().into_iter().filter(|(clause, _)| !clauses.contains(clause)).collect();
    assert!(unknown.is_empty(), "the conformance suite has no such clause: {unknown:#?}");
}
