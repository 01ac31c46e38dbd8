//! Reads the scenarios of tests.

use ecnlab_scenario::{Problem, Registry, Scenario, no_files};

/// Reads a scenario with overrides, each a path and a value.
pub fn read(text: &str, overrides: &[(&str, &str)]) -> Result<Scenario, Vec<Problem>> {
    let overrides: Vec<_> = overrides.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    Scenario::from_toml(text, &overrides, &Registry::builtin(), &no_files)
}
