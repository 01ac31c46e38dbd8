//! Scenario files: from text to a checked network, and descriptions of the registry.
//!
//! The text is an argument; this crate opens no files.

mod other_tools;
mod overrides;
mod problem;
mod read;
pub mod registry;
mod renamed_keys;
mod route;
mod scenario;
mod sections;
mod to_toml;
mod topologies;
mod tree;
mod warnings;

pub use ecnlab_queue::Registry;
pub use other_tools::fix_for_other_tools_name;
pub use problem::Problem;
use read::Reader;
pub use read::{FileReader, no_files};
pub use scenario::{RUN_DERIVATION_VERSION, SOURCES_DIGEST, Scenario};
pub use sections::record::Record;
use sections::root::NETWORK;
use tree::Node;

impl Scenario {
    /// Reads a TOML scenario with overrides such as `("flows.fragile.count", "40")`. The registry lists the AQMs and disciplines that it
    /// may name, and `files` returns the text of files that it names.
    ///
    /// # Errors
    /// All problems together, with path and line.
    pub fn from_toml(
        text: &str,
        overrides: &[(String, String)],
        registry: &Registry,
        files: FileReader<'_>,
    ) -> Result<Scenario, Vec<Problem>> {
        Scenario::read_tree(Node::from_toml(text), overrides, registry, files)
    }

    /// As [`Scenario::from_toml`], from JSON.
    ///
    /// # Errors
    /// All problems together, with their paths.
    pub fn from_json(
        text: &str,
        overrides: &[(String, String)],
        registry: &Registry,
        files: FileReader<'_>,
    ) -> Result<Scenario, Vec<Problem>> {
        Scenario::read_tree(Node::from_json(text), overrides, registry, files)
    }

    fn read_tree(
        root: Result<Node, Problem>,
        overrides: &[(String, String)],
        registry: &Registry,
        files: FileReader<'_>,
    ) -> Result<Scenario, Vec<Problem>> {
        let mut root = root.map_err(|problem| vec![problem])?;
        let mut reader = Reader::new(registry, files);
        let (of_topology, others): (Vec<_>, Vec<_>) =
            overrides.iter().cloned().partition(|(path, _)| path.split('.').next() == Some(NETWORK));
        let mut problems = overrides::apply_overrides(&mut root, &of_topology);
        let hosts = topologies::insert_topology(&mut root, &mut reader);
        problems.extend(overrides::apply_overrides(&mut root, &others));
        topologies::replace_hosts_by_private_links(&mut root, &hosts);
        if problems.is_empty() && !(reader.problems.is_empty() || root.get("link").is_some()) {
            return Err(reader.problems);
        }
        if problems.is_empty() { Scenario::read(&root, reader) } else { Err(problems) }
    }
}
