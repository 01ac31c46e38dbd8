//! Routes of a group's flows: the private links at both ends, and the edges of the network between.

use std::sync::Arc;

use ecnlab_sim::{Direction, ImpairmentSpec, LinkKind, LinkName, LinkSpec, PrivateLinkParamLists};
use ecnlab_units::distribution::TimeDistribution;
use ecnlab_units::parameter::{Parameter, concat_parameter_tables};
use ecnlab_units::{Rate, Span, Values, parameters};
use serde_json::Value as Json;

use super::declaration::{MAX_PACKETS, Section, TableContent, TableDeclaration, values_to_json};
use super::impair::{self, IMPAIR, Impairments};
use crate::problem::suggestion_text;
use crate::read::{ReadValues, Reader, TableInput};
use crate::route::NetworkGraph;

parameters! {
    /// Keys of a flow's private link.
    struct PrivateLinkKeys {
        /// Transmission rate of one flow's link; a list is assigned to the flows in turn.
        #[required]
        #[usual(1e5..=1e10, log)]
        pub rate: Vec<Rate> = "10 Mbps";
        /// Propagation delay, one way; a list is assigned to the flows in turn. From a distribution, such as normal 40 ms, deviation 5 ms,
        /// each run draws one delay for each flow, the same for both directions.
        #[required]
        #[usual(0.0001..=0.5, log)]
        pub delay: Vec<TimeDistribution> = "5 ms", 0..=8_640_000, "s";
        /// Largest random addition to each flow's delay, uniform, drawn in each run; it keeps identical flows out of step.
        #[source("Floyd and Jacobson 1992, phase effects")]
        #[usual(0..=0.05, linear)]
        pub spread: Span = "0 s", 0..=8_640_000, "s";
        /// Buffer capacity in packets; a list is assigned to the flows in turn.
        pub limit: Vec<u32> = "1000", 1..=MAX_PACKETS, "packets";
    }
}

parameters! {
    /// Node of the access link.
    struct AccessNode {
        /// First node of the route.
        #[required]
        pub to: String = "router";
    }
}

parameters! {
    /// Node of the exit link.
    struct ExitNode {
        /// Last node of the route.
        #[required]
        pub from: String = "router";
    }
}

const PRIVATE_LINK_KEY_COUNT: usize = PrivateLinkKeys::PARAMETERS.len();
const ACCESS_KEYS: [Parameter; 1 + PRIVATE_LINK_KEY_COUNT] =
    concat_parameter_tables(&[AccessNode::PARAMETERS, PrivateLinkKeys::PARAMETERS]);
const EXIT_KEYS: [Parameter; 1 + PRIVATE_LINK_KEY_COUNT] = concat_parameter_tables(&[ExitNode::PARAMETERS, PrivateLinkKeys::PARAMETERS]);

pub const ACCESS: Section = Section {
    name: "flows.access",
    title: "A private link of each flow, to its first node",
    doc: "A private link from each flow's source to the first node of its route. Both directions have the same plain drop-tail buffer, \
        which is not measured.",
    keys: &ACCESS_KEYS,
    tables: &[IMPAIR],
};

pub const EXIT: Section = Section {
    name: "flows.exit",
    title: "A private link of each flow, from its last node",
    doc: "A private link from the last node of each flow's route to its sink. Both directions have the same plain drop-tail buffer, \
        which is not measured.",
    keys: &EXIT_KEYS,
    tables: &[IMPAIR],
};

pub const ACCESS_TABLE: TableDeclaration = TableDeclaration {
    key: "access",
    content: TableContent::One(&ACCESS),
    required: false,
    doc: "A private link for each flow to the first node of its route, with its reverse direction.",
    example: "{ to = \"router\", rate = \"10 Mbps\", delay = \"5 ms\" }",
};

pub const EXIT_TABLE: TableDeclaration = TableDeclaration {
    key: "exit",
    content: TableContent::One(&EXIT),
    required: false,
    doc: "A private link for each flow from the last node of its route to its sink, with its reverse direction.",
    example: "{ from = \"router\", rate = \"10 Mbps\", delay = \"5 ms\" }",
};

/// Route of a group's flows.
pub struct GroupRoute {
    pub access: Option<PrivateLinks>,
    pub exit: Option<PrivateLinks>,
    pub routes: EdgeRoutes,
}

/// Forward and reverse route, as numbers of edges.
pub struct EdgeRoutes {
    pub forward: Vec<usize>,
    pub back: Vec<usize>,
}

/// The private links of a group's flows at one end.
pub struct PrivateLinks {
    end: &'static RouteEndKind,
    link: Arc<PrivateLinkParamLists>,
    spread: Span,
    values: Values,
    impairments: Impairments,
}

/// One end of a group's route.
struct RouteEndKind {
    table: &'static TableDeclaration,
    /// Key of the table that names the node, and that of the group.
    node: &'static str,
    group_key: &'static str,
    example: &'static str,
    /// Behaviour of a flow at the inner end of its private link.
    behaviour: &'static str,
    link_kind: fn(u32) -> LinkKind,
}

static SOURCE_END: RouteEndKind = RouteEndKind {
    table: &ACCESS_TABLE,
    node: "to",
    group_key: "from",
    example: "from = \"router\"",
    behaviour: "starts where its access link leads",
    link_kind: LinkKind::Access,
};

static SINK_END: RouteEndKind = RouteEndKind {
    table: &EXIT_TABLE,
    node: "from",
    group_key: "to",
    example: "to = \"sink\"",
    behaviour: "ends where its exit link begins",
    link_kind: LinkKind::Exit,
};

/// An end that was read: the node, the key that names it in messages, and the private links.
struct ResolvedRouteEnd {
    node: Option<String>,
    key: &'static str,
    private_links: Option<PrivateLinks>,
}

/// The route of a group, unless it is invalid.
pub fn read(reader: &mut Reader, given: &TableInput, reading: &ReadValues, graph: Option<&mut NetworkGraph>) -> Option<GroupRoute> {
    let problems = reader.problems.len();
    let [first, last] = [&SOURCE_END, &SINK_END].map(|end| end.read_node_and_links(reader, given, reading));
    let routes = graph.and_then(|graph| find_routes(reader, given, reading, [&first, &last], graph))?;
    (problems == reader.problems.len()).then_some(GroupRoute { access: first.private_links, exit: last.private_links, routes })
}

impl GroupRoute {
    /// Adds the private links to the group's description, in a form that can be read again.
    pub fn describe(&self, group_json: &mut Json) {
        for private_links in [&self.access, &self.exit].into_iter().flatten() {
            let mut table_json = values_to_json(&private_links.values);
            private_links.impairments.describe(&mut table_json);
            group_json[private_links.end.table.key] = table_json;
        }
    }
}

impl PrivateLinks {
    /// The impairments of the links, if any.
    pub fn impairment(&self) -> Option<&ImpairmentSpec> {
        self.impairments.spec.as_deref()
    }

    /// The link of a flow at this end, and its reverse link.
    pub fn link_specs_of_flow(&self, group: &Arc<str>, member: u32) -> [LinkSpec; 2] {
        [(Direction::Forward, self.spread), (Direction::Back, Span::ZERO)].map(|(direction, spread)| {
            let name = LinkName { kind: (self.end.link_kind)(member), name: Arc::clone(group), direction };
            LinkSpec {
                delay_spread: spread,
                impairment: self.impairments.spec.clone(),
                ..LinkSpec::private_link(name, Arc::clone(&self.link))
            }
        })
    }
}

impl RouteEndKind {
    /// Resolves the node at the inner end of the private links, or that of the group itself.
    fn read_node_and_links(&'static self, reader: &mut Reader, given: &TableInput, group: &ReadValues) -> ResolvedRouteEnd {
        let node: Option<Option<String>> = group.get(self.group_key);
        let Some(table) = self.table.read(reader, given) else {
            if node == Some(None) && !given.has(self.table.key) {
                reader.report(given, self.group_key, format!("is missing; fix: give it as {}, or give {}", self.example, self.table.key));
            }
            return ResolvedRouteEnd { node: node.flatten(), key: self.group_key, private_links: None };
        };
        if node.flatten().is_some() {
            reader.report(
                given,
                self.group_key,
                format!("a flow with {} {}; fix: leave out {}", self.table.key, self.behaviour, self.group_key),
            );
        }
        let section = if self.node == "to" { &ACCESS } else { &EXIT };
        let reading = section.read_keys(reader, &table);
        let impairments = impair::read(reader, &table, None);
        let private_links = reading.valid_values().map(|values| self.build_private_links(values, impairments));
        ResolvedRouteEnd { node: reading.get(self.node), key: self.table.key, private_links }
    }

    fn build_private_links(&'static self, values: &Values, impairments: Impairments) -> PrivateLinks {
        let PrivateLinkKeys { rate, delay, spread, limit } = PrivateLinkKeys::from_values(values);
        let link = PrivateLinkParamLists { rates: rate, delays: delay, limits: limit };
        PrivateLinks { end: self, link: Arc::new(link), spread, values: values.clone(), impairments }
    }
}

/// The group's routes from its first node to its last and back.
fn find_routes(
    reader: &mut Reader,
    given: &TableInput,
    reading: &ReadValues,
    [from, to]: [&ResolvedRouteEnd; 2],
    graph: &mut NetworkGraph,
) -> Option<EdgeRoutes> {
    let (first, last) = (from.node.as_deref()?, to.node.as_deref()?);
    for (key, node) in [(from.key, first), (to.key, last)] {
        if !graph.has_node(node) {
            reader.report(given, key, format!("unknown node \"{node}\": no link has it{}", suggestion_text(node, graph.node_names())));
            return None;
        }
    }
    let forward = match reading.get::<Option<Vec<String>>>("route")? {
        Some(names) => parse_route(reader, given, ("route", &names), graph, (first, last)),
        None => graph.shortest_route(first, last).or_else(|| {
            reader.report(given, to.key, format!("no links lead from \"{first}\" to \"{last}\""));
            None
        }),
    }?;
    let back = match reading.get::<Option<Vec<String>>>("route_back")? {
        Some(names) => parse_route(reader, given, ("route_back", &names), graph, (last, first)),
        // Datagrams have no ACKs, so their route may have no reverse path.
        None => {
            graph.reverse_route(&forward).or_else(|| graph.shortest_route(last, first)).or(given.has("udp").then(Vec::new)).or_else(|| {
                let message = format!(
                    "no links lead back from \"{last}\" to \"{first}\" for acknowledgements; fix: leave out one_way, or add a link"
                );
                reader.report(given, "route_back", message);
                None
            })
        }
    }?;
    Some(EdgeRoutes { forward, back })
}

/// Parses a route given by the names of its edges.
fn parse_route(
    reader: &mut Reader,
    given: &TableInput,
    route: (&str, &[String]),
    graph: &NetworkGraph,
    end_nodes: (&str, &str),
) -> Option<Vec<usize>> {
    let (key, names) = route;
    let mut node = end_nodes.0;
    let mut route = Vec::new();
    for name in names {
        let Some(number) = graph.edge_number(name) else {
            reader.report(given, key, format!("unknown link \"{name}\"{}", suggestion_text(name, graph.edge_names())));
            return None;
        };
        let (from, to) = graph.nodes_of_edge(number);
        if from != node {
            reader.report(given, key, format!("link \"{name}\" comes from \"{from}\", but the route is at \"{node}\""));
            return None;
        }
        node = to;
        route.push(number);
    }
    if node != end_nodes.1 {
        reader.report(given, key, format!("must be a list of links from \"{}\" to \"{}\"", end_nodes.0, end_nodes.1));
        return None;
    }
    Some(route)
}
