//! Dumbbell: hosts on both sides of one link, the usual network of queue studies.

use ecnlab_units::{Rate, Span, parameters};

use super::builder::{BuiltTopology, NamedHosts, link_node};
use super::{HostLinkParameters, QUEUE, TopologyEntry};
use crate::sections::{TableContent, TableDeclaration};
use crate::tree::Node;

pub static ENTRY: TopologyEntry = TopologyEntry {
    name: "dumbbell",
    title: "Dumbbell",
    summary: "Hosts on both sides of one bottleneck.",
    source: "RFC 5166, section 2; RFC 7928, section 3",
    parameters: Dumbbell::PARAMETERS,
    tables: &[
        QUEUE,
        TableDeclaration {
            key: "queue_back",
            content: TableContent::Queue,
            required: false,
            doc: "Queue of the bottleneck's reverse direction; a plain buffer by default.",
            example: "{ aqm = \"droptail\", limit = 100 }",
        },
    ],
    nodes: "hosts `left` - r1 - bottleneck - r2 - hosts `right`.",
    example: "network = { topology = \"dumbbell\", rate = \"10 Mbps\", delay = \"20 ms\", queue = { aqm = \"ecn\", limit = 120, min_th = 10, max_th = 30 } }",
    make: |_, given, values| {
        let table = |key: &str| given.node.get(key).cloned();
        let mut rest = vec![
            ("rate", Node::from_parameter_value(values.value_by_name("rate"))),
            ("delay", Node::from_parameter_value(values.value_by_name("delay"))),
        ];
        rest.extend(table("queue").map(|queue| ("queue", queue)));
        rest.extend(table("queue_back").map(|queue| ("reverse", Node::table([("queue", queue)]))));
        let hosts = [("left", "r1"), ("right", "r2")]
            .map(|(name, node)| NamedHosts::new(name, node, HostLinkParameters::private_link_keys(values)));
        BuiltTopology { links: vec![link_node("bottleneck", "r1", "r2", rest)], hosts: hosts.into(), ..BuiltTopology::default() }
    },
};

parameters! {
    /// A dumbbell as a scenario sets it.
    pub struct Dumbbell {
        ..hosts: HostLinkParameters;
        /// Rate of the bottleneck.
        #[required]
        #[usual(1e5..=1e9, log)]
        pub rate: Rate = "10 Mbps";
        /// Propagation delay of the bottleneck, one way.
        #[required]
        #[usual(0.0001..=0.5, log)]
        pub delay: Span = "20 ms", 0..=8_640_000, "s";
    }
}
