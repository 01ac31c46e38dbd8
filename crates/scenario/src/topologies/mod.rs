//! Topologies: `[network]` names one, which inserts links, and possibly groups, into the scenario as if the file contained them.
//!
//! A topology is a function over the tree. The file may add links, and may override the generated ones: a `[[link]]` of the same name
//! overrides the generated link key by key. A topology also has *hosts*: names that a group uses as `from` or `to`. Such a name gives each
//! flow its own host with a private link to a router.

mod builder;
mod dumbbell;
mod incast;
mod parking_lot;
mod red_ecn;
mod rfc2884;

use ecnlab_units::distribution::TimeDistribution;
use ecnlab_units::{Parameter, Rate, Span, Values, parameters};

use crate::read::{Reader, TableInput, parameter_names};
use crate::sections::root::NETWORK;
use crate::sections::{MAX_PACKETS, TableContent, TableDeclaration};
use crate::tree::Node;

pub use builder::NamedHosts;
use builder::{BuiltTopology, insert_into_tree};

/// A topology in the registry.
pub struct TopologyEntry {
    /// Name in scenario files.
    pub name: &'static str,
    /// Title.
    pub title: &'static str,
    /// One sentence.
    pub summary: &'static str,
    pub source: &'static str,
    pub parameters: &'static [Parameter],
    /// Tables that it takes besides its parameters.
    pub tables: &'static [TableDeclaration],
    /// Its links, and the nodes and hosts for groups, in one or two sentences.
    pub nodes: &'static str,
    /// Example in a scenario file.
    pub example: &'static str,
    make: fn(&mut Reader, &TableInput, &Values) -> BuiltTopology,
}

/// Every topology.
pub const TOPOLOGIES: &[&TopologyEntry] = &[&dumbbell::ENTRY, &parking_lot::ENTRY, &rfc2884::ENTRY, &red_ecn::ENTRY, &incast::ENTRY];

/// The key that names the topology of a network.
pub const TOPOLOGY: &str = "topology";

parameters! {
    /// The hosts of a topology, each with a private link to its router.
    struct HostLinkParameters {
        /// Transmission rate of each host's private link; a list is assigned to the flows in turn.
        #[usual(1e6..=1e10, log)]
        pub host_rate: Vec<Rate> = "1 Gbps";
        /// Propagation delay of each host's private link, one way; a list is assigned to the flows in turn, and a distribution is drawn
        /// from.
        #[usual(0.0001..=0.5, log)]
        pub host_delay: Vec<TimeDistribution> = "1 ms", 0..=8_640_000, "s";
        /// Largest random addition to the delay of each host's private link, uniform, drawn in each run; it keeps identical flows out of
        /// step.
        #[usual(0..=0.05, linear)]
        pub host_spread: Span = "0 s", 0..=8_640_000, "s";
        /// Buffer of each host's private link in packets.
        pub host_limit: u32 = "1000", 1..=MAX_PACKETS, "packets";
    }
}

impl HostLinkParameters {
    /// Keys of a host's private link.
    fn private_link_keys(values: &Values) -> Vec<(&'static str, Node)> {
        let names = [("rate", "host_rate"), ("delay", "host_delay"), ("spread", "host_spread"), ("limit", "host_limit")];
        names.map(|(key, name)| (key, Node::from_parameter_value(values.value_by_name(name)))).into()
    }
}

/// A queue that a topology requires.
const QUEUE: TableDeclaration = TableDeclaration {
    key: "queue",
    content: TableContent::Queue,
    required: true,
    doc: "Queue of the bottleneck.",
    example: "{ aqm = \"ecn\", limit = 120, min_th = 10, max_th = 30 }",
};

/// Inserts the scenario's topology into its tree; returns the hosts, whose private links are added after all overrides.
pub fn insert_topology(root: &mut Node, reader: &mut Reader) -> Vec<NamedHosts> {
    let Some(network) = root.remove(NETWORK) else { return Vec::new() };
    let holder = Node::table([(NETWORK, network)]);
    let Some(given) = reader.read_table(&TableInput::new(&holder, ""), NETWORK, "{ topology = \"dumbbell\" }") else { return Vec::new() };
    let Some(&topology) = reader.read_name_and_find_entry(&given, TOPOLOGY, "topology", TOPOLOGIES, |topology| topology.name) else {
        return Vec::new();
    };
    let names = parameter_names(topology.parameters).chain(topology.tables.iter().map(|table| table.key));
    reader.reject_unknown_keys(&given, std::iter::once(TOPOLOGY).chain(names));
    // The contents of these tables are checked in the sections into which they are inserted.
    for table in topology.tables {
        if table.required && !given.has(table.key) {
            reader.report(&given, table.key, format!("is missing; fix: give it as {} = {}", table.key, table.example));
        }
    }
    let reading = reader.read_keys(&given, topology.parameters);
    reader.warn_ignored_keys(&given, &reading.values, &[]);
    let built = (topology.make)(reader, &given, &reading.values);
    insert_into_tree(root, built, given.node.line)
}

/// Replaces the named hosts of each group by private links.
pub fn replace_hosts_by_private_links(root: &mut Node, hosts: &[NamedHosts]) {
    let groups = root.get_mut("flows").and_then(Node::list_mut).into_iter().flatten();
    groups.for_each(|group| hosts.iter().for_each(|hosts| hosts.replace_in_group(group)));
}
