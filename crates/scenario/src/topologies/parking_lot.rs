//! Parking lot: several bottlenecks in a row, with traffic that crosses each of them.

use ecnlab_units::{Rate, Span, parameters};

use super::builder::{BuiltTopology, NamedHosts, link_node};
use super::{HostLinkParameters, QUEUE, TopologyEntry};
use crate::sections::{TableContent, TableDeclaration, flows};
use crate::tree::Node;

const CROSS_EXAMPLE: &str = "{ name = \"cross\", count = 10, tcp = { profile = \"ns2\", ecn = true } }";

pub static ENTRY: TopologyEntry = TopologyEntry {
    name: "parking-lot",
    title: "Parking lot",
    summary: "Several bottlenecks in a row: long flows cross all of them, and cross traffic crosses one each.",
    source: "RFC 5166, section 2; RFC 7928, section 3",
    parameters: ParkingLot::PARAMETERS,
    tables: &[
        TableDeclaration { doc: "Queue of each hop.", ..QUEUE },
        TableDeclaration {
            key: "cross",
            content: TableContent::One(&flows::FLOWS),
            required: false,
            doc: "Group of flows across each hop, written as in [[flows]] without its end nodes; the hop's number is appended to its name.",
            example: CROSS_EXAMPLE,
        },
    ],
    nodes: "r0 - hop1 - r1 - hop2 - r2 ..., with hosts `h0`, `h1`, `h2` ... at the routers; cross1, cross2 ... run from h0 to h1, from h1 to h2 ...",
    example: "network = { topology = \"parking-lot\", hops = 3, rate = \"10 Mbps\", delay = \"5 ms\", queue = { aqm = \"ecn\", limit = 120 } }",
    make: |reader, given, values| {
        let hops: u32 = values.get_as("hops");
        let hop = |at: u32| {
            let mut rest = vec![
                ("rate", Node::from_parameter_value(values.value_by_name("rate"))),
                ("delay", Node::from_parameter_value(values.value_by_name("delay"))),
            ];
            rest.extend(given.node.get("queue").map(|queue| ("queue", queue.clone())));
            link_node(&format!("hop{at}"), &format!("r{}", at - 1), &format!("r{at}"), rest)
        };
        let cross = reader.read_table(given, "cross", CROSS_EXAMPLE);
        for end in ["from", "to"].into_iter().filter(|end| cross.as_ref().is_some_and(|cross| cross.has(end))) {
            reader.report(
                given,
                "cross",
                format!("gives {end}, but cross traffic runs from each router to the next; fix: leave out {end}"),
            );
        }
        BuiltTopology {
            links: (1..=hops).map(hop).collect(),
            groups: cross.iter().flat_map(|cross| (1..=hops).map(|at| cross_traffic_group(cross.node, at))).collect(),
            hosts: (0..=hops)
                .map(|at| NamedHosts::new(&format!("h{at}"), &format!("r{at}"), HostLinkParameters::private_link_keys(values)))
                .collect(),
        }
    },
};

/// Group of cross traffic over one hop.
fn cross_traffic_group(group: &Node, hop: u32) -> Node {
    let mut group = group.clone();
    let name = format!("{}{hop}", group.text_of_key("name").unwrap_or("cross"));
    let line = group.remove("name").and_then(|name| name.line);
    group.insert_if_absent("name", Node { line, ..Node::from_word(&name) });
    group.insert_if_absent("from", Node::from_word(&format!("h{}", hop - 1)));
    group.insert_if_absent("to", Node::from_word(&format!("h{hop}")));
    group
}

parameters! {
    /// A parking lot as a scenario sets it.
    pub struct ParkingLot {
        ..hosts: HostLinkParameters;
        /// Number of bottlenecks.
        #[usual(1..=10, linear)]
        pub hops: u32 = "3", 1..=100;
        /// Rate of each hop.
        #[required]
        #[usual(1e5..=1e9, log)]
        pub rate: Rate = "10 Mbps";
        /// Propagation delay of each hop, one way.
        #[required]
        #[usual(0.0001..=0.5, log)]
        pub delay: Span = "5 ms", 0..=8_640_000, "s";
    }
}
