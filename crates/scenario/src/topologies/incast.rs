//! Incast: many servers of a data centre reply to one receiver at once, through the shallow buffer of a switch.

use ecnlab_units::quantity::PacketsOrBytes;
use ecnlab_units::{Rate, Span, parameters};

use super::builder::{BuiltTopology, NamedHosts, link_node};
use super::{QUEUE, TopologyEntry};
use crate::sections::{MAX_PACKETS, TableDeclaration};
use crate::tree::Node;

pub static ENTRY: TopologyEntry = TopologyEntry {
    name: "incast",
    title: "Data-centre leaf with incast",
    summary: "Many servers send to one receiver through the shallow buffer of its switch port.",
    source: "Alizadeh and others 2010, sections 2.3 and 4.2; RFC 8257, section 1",
    parameters: Incast::PARAMETERS,
    tables: &[TableDeclaration {
        required: false,
        doc: "Queue of the port; DCTCP's step with threshold and limit by default.",
        example: "{ aqm = \"step\", limit = \"300 KB\", threshold = 65 }",
        ..QUEUE
    }],
    nodes: "hosts `servers` - leaf - port - `receiver`.",
    example: "network = { topology = \"incast\", rate = \"10 Gbps\", delay = \"10 us\" }",
    make: |_, given, values| {
        let of = |name: &str| Node::from_parameter_value(values.value_by_name(name));
        let step = || Node::table([("aqm", Node::from_word("step")), ("limit", of("limit")), ("threshold", of("threshold"))]);
        let queue = given.node.get("queue").cloned().unwrap_or_else(step);
        let port = link_node("port", "leaf", "receiver", vec![("rate", of("rate")), ("delay", of("delay")), ("queue", queue)]);
        let own = ["rate", "delay", "spread", "limit"]
            .iter()
            .zip(["rate", "delay", "spread", "server_limit"])
            .map(|(&key, name)| (key, of(name)));
        BuiltTopology { links: vec![port], hosts: vec![NamedHosts::new("servers", "leaf", own.collect())], ..BuiltTopology::default() }
    },
};

parameters! {
    /// A leaf with incast as a scenario sets it.
    pub struct Incast {
        /// Rate of every link.
        #[usual(1e8..=4e10, log)]
        pub rate: Rate = "10 Gbps";
        /// Propagation delay of every link, one way, including the hosts' delays.
        #[usual(1e-6..=0.001, log)]
        pub delay: Span = "10 us", 0..=8_640_000, "s";
        /// Largest random addition to each server's delay, uniform, drawn in each run; it keeps identical servers out of step.
        pub spread: Span = "0 s", 0..=8_640_000, "s";
        /// Buffer of the port, without a queue.
        #[usual(20..=2000, log)]
        pub limit: PacketsOrBytes = "300 KB";
        /// Queue length from which the port marks, without a queue.
        #[source("Alizadeh and others 2010: 65 packets at 10 Gbps")]
        #[usual(5..=500, log)]
        pub threshold: PacketsOrBytes = "65";
        /// Buffer of each server's private link, in packets.
        pub server_limit: u32 = "1000", 1..=MAX_PACKETS, "packets";
    }
}
