//! Testbed of RFC 2884: a server whose packets a router shapes, a router that adds delay, and three receivers.
//!
//! R1 shapes the packets to 1.5 Mbps by class-based queueing, with RED; R2 delays them with NIST Net. "The latency of the link" was 20 ms,
//! without a direction: here each direction of the links behind R2 has this delay.

use ecnlab_units::{Rate, Span, Value, parameters};

use super::builder::{BuiltTopology, link_node};
use super::{QUEUE, TopologyEntry};
use crate::sections::TableDeclaration;
use crate::tree::Node;

pub static ENTRY: TopologyEntry = TopologyEntry {
    name: "rfc2884",
    title: "RFC 2884's testbed",
    summary: "A server, a router that shapes by class-based queueing, a router that delays, and three receivers.",
    source: "RFC 2884, section 4.1",
    parameters: Testbed::PARAMETERS,
    tables: &[TableDeclaration { doc: "Queue inside the shaper, with its AQM.", ..QUEUE }],
    nodes: "`server` - lan - r1 - bottleneck - r2, and from there to the receivers `on`, `off` and `c` over links of these names.",
    example: "network = { topology = \"rfc2884\", queue = { aqm = \"ecn\", limit = 50, min_th = 5, max_th = 15 } }",
    make: |_, given, values| {
        let rate = || Node::from_parameter_value(values.value_by_name("link_rate"));
        let nothing = || Node::from_parameter_value(&Value::Span(Span::ZERO));
        let plain =
            |name, from, to, delay| link_node(name, from, to, vec![("rate", rate()), ("delay", delay), ("limit", Node::from_number(1000))]);
        let mut shaper = vec![("discipline", Node::from_word("cbq")), ("rate", Node::from_parameter_value(values.value_by_name("rate")))];
        shaper.extend(given.node.get("queue").map(|queue| ("queue", queue.clone())));
        let bottleneck = vec![("rate", rate()), ("delay", nothing()), ("queue", Node::table(shaper))];
        let receivers =
            ["on", "off", "c"].map(|receiver| plain(receiver, "r2", receiver, Node::from_parameter_value(values.value_by_name("delay"))));
        let before = [plain("lan", "server", "r1", nothing()), link_node("bottleneck", "r1", "r2", bottleneck)];
        BuiltTopology { links: before.into_iter().chain(receivers).collect(), ..BuiltTopology::default() }
    },
};

parameters! {
    /// The testbed as a scenario sets it.
    pub struct Testbed {
        /// Rate to which R1 shapes.
        #[source("RFC 2884, section 4.1")]
        #[usual(1e5..=1e8, log)]
        pub rate: Rate = "1.5 Mbps";
        /// Delay of R2, each way.
        #[source("RFC 2884, section 4.1")]
        #[usual(0.001..=0.5, log)]
        pub delay: Span = "20 ms", 0..=8_640_000, "s";
        /// Rate of all physical links.
        #[source("RFC 2884, section 4.1")]
        pub link_rate: Rate = "10 Mbps";
    }
}
