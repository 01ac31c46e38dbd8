//! Network of a study of RED with and without ECN (Gharegozi): bulk sources behind a link of variable delay, and RED on the next link.
//!
//! The first experiment has only the bulk sources, the second adds on/off datagrams. The paper gives the rates and delays of the hosts'
//! links, the buffers and the thresholds. The parameters set those of the links between the routers.

use ecnlab_units::{Rate, Span, parameters};

use super::builder::{BuiltTopology, NamedHosts, link_node};
use super::{QUEUE, TopologyEntry};
use crate::sections::{MAX_PACKETS, TableDeclaration};
use crate::tree::Node;

pub static ENTRY: TopologyEntry = TopologyEntry {
    name: "red-ecn",
    title: "RED and ECN behind a long link",
    summary: "Slow sources behind a link of variable delay, and the queue on the link after it.",
    source: "Gharegozi, The Study of ECN Application Effect at the Performance Improvement of RED, section III",
    parameters: RedEcn::PARAMETERS,
    tables: &[TableDeclaration {
        required: false,
        doc: "Queue of the bottleneck; RED with the paper's thresholds by default.",
        example: "{ aqm = \"ecn\", limit = 25, min_th = 6, max_th = 18 }",
        ..QUEUE
    }],
    nodes: "hosts `sources` of 1 Mbps and hosts `cross` - r1 - long - r2 - bottleneck - r3 - hosts `sinks`.",
    example: "network = { topology = \"red-ecn\", delay = \"100 ms\" }",
    make: |_, given, values| {
        let of = |name: &str| Node::from_parameter_value(values.value_by_name(name));
        let queue = given.node.get("queue").cloned().unwrap_or_else(red_queue_node);
        let long = vec![("rate", of("long_rate")), ("delay", of("delay")), ("limit", of("limit"))];
        let bottleneck = vec![("rate", of("rate")), ("delay", of("bottleneck_delay")), ("queue", queue)];
        let own = |rate: &str| vec![("rate", of(rate)), ("delay", of("host_delay")), ("limit", of("limit"))];
        let hosts = [("sources", "r1", "source_rate"), ("cross", "r1", "host_rate"), ("sinks", "r3", "host_rate")];
        BuiltTopology {
            links: vec![link_node("long", "r1", "r2", long), link_node("bottleneck", "r2", "r3", bottleneck)],
            hosts: hosts.map(|(name, node, rate)| NamedHosts::new(name, node, own(rate))).into(),
            ..BuiltTopology::default()
        }
    },
};

/// RED with the paper's thresholds and buffer.
fn red_queue_node() -> Node {
    let thresholds = [("limit", 25), ("min_th", 6), ("max_th", 18)].map(|(key, number)| (key, Node::from_number(number)));
    Node::table(std::iter::once(("aqm", Node::from_word("red"))).chain(thresholds))
}

parameters! {
    /// The network as a scenario sets it.
    pub struct RedEcn {
        /// Propagation delay of the long link, one way; the paper has 25 to 500 ms.
        #[required]
        #[usual(0.001..=0.5, log)]
        pub delay: Span = "100 ms", 0..=8_640_000, "s";
        /// Rate of the bottleneck. The paper does not give it; ten sources got 1.44 Mbps at its shortest delay.
        #[usual(1e5..=1e8, log)]
        pub rate: Rate = "1.5 Mbps";
        /// Propagation delay of the bottleneck, one way. The paper does not give it.
        #[usual(0.001..=0.2, log)]
        pub bottleneck_delay: Span = "10 ms", 0..=8_640_000, "s";
        /// Rate of the long link. The paper does not give it.
        pub long_rate: Rate = "10 Mbps";
        /// Rate of the link of each of the hosts `sources`.
        #[source("Gharegozi, section III")]
        pub source_rate: Rate = "1 Mbps";
        /// Rate of the links of all other hosts.
        #[source("Gharegozi, section III")]
        pub host_rate: Rate = "10 Mbps";
        /// Propagation delay of each host's link, one way.
        #[source("Gharegozi, section III")]
        pub host_delay: Span = "10 ms", 0..=8_640_000, "s";
        /// Buffer of each link without a queue, in packets.
        #[source("Gharegozi, section III")]
        #[usual(10..=500, log)]
        pub limit: u32 = "25", 1..=MAX_PACKETS, "packets";
    }
}
