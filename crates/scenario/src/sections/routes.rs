//! The way of a group's flows: the links of their own at both ends, and the routes over the network's edges between.

use std::sync::Arc;

use ecnlab_sim::{Direction, ImpairmentSpec, LinkName, LinkSpec, PrivateLinkParams};
use ecnlab_units::distribution::TimeDistribution;
use ecnlab_units::parameter::{Parameter, concat_parameter_tables};
use ecnlab_units::{Rate, Span, Values, parameters};
use serde_json::{Map, Value as Json};

use super::declaration::{Holds, Inner, MAX_PACKETS, Section, described};
use super::impair::{self, IMPAIR, Impairments};
use crate::problem::suggestion;
use crate::read::{Given, Reader, Reading};
use crate::route::Graph;

parameters! {
    /// What a link of each flow's own is.
    struct Own {
        /// Transmission rate of one flow's link; a list is dealt out to the flows in turn.
        #[required]
        pub rate: Vec<Rate> = "10 Mbps";
        /// Propagation delay, one way; a list is dealt out to the flows in turn. From a distribution, such as normal 40 ms, deviation 5 ms,
        /// each run draws each flow's own, the same for both ways.
        #[required]
        pub delay: Vec<TimeDistribution> = "5 ms", 0..=8_640_000, "s";
        /// Each run lengthens each flow's delay by a uniform draw of up to this, so that flows alike do not keep step.
        #[source("Floyd and Jacobson 1992, phase effects")]
        pub spread: Span = "0 s", 0..=8_640_000, "s";
        /// Packets that may wait; a list is dealt out to the flows in turn.
        pub limit: Vec<u32> = "1000", 1..=MAX_PACKETS, "packets";
    }
}

parameters! {
    /// Where access leads.
    struct AccessNode {
        /// First node of the route.
        #[required]
        pub to: String = "router";
    }
}

parameters! {
    /// Where exit begins.
    struct ExitNode {
        /// Last node of the route.
        #[required]
        pub from: String = "router";
    }
}

const OWN: usize = Own::PARAMETERS.len();
const ACCESS_KEYS: [Parameter; 1 + OWN] = concat_parameter_tables(&[AccessNode::PARAMETERS, Own::PARAMETERS]);
const EXIT_KEYS: [Parameter; 1 + OWN] = concat_parameter_tables(&[ExitNode::PARAMETERS, Own::PARAMETERS]);

pub const ACCESS: Section = Section {
    name: "flows.access",
    title: "A private link of each flow, to its first node",
    doc: "A private link from each flow's source to the first node of its route, a plain drop-tail buffer that is not measured, alike in both directions.",
    keys: &ACCESS_KEYS,
    tables: &[IMPAIR],
};

pub const EXIT: Section = Section {
    name: "flows.exit",
    title: "A private link of each flow, from its last node",
    doc: "A private link from the last node of each flow's route to its sink, a plain drop-tail buffer that is not measured, alike in both directions.",
    keys: &EXIT_KEYS,
    tables: &[IMPAIR],
};

pub const ACCESS_TABLE: Inner = Inner {
    key: "access",
    holds: Holds::One(&ACCESS),
    required: false,
    doc: "A private link for each flow to the first node of its route, and one back.",
    example: "{ to = \"router\", rate = \"10 Mbps\", delay = \"5 ms\" }",
};

pub const EXIT_TABLE: Inner = Inner {
    key: "exit",
    holds: Holds::One(&EXIT),
    required: false,
    doc: "A private link for each flow from the last node of its route to its sink, and one back.",
    example: "{ from = \"router\", rate = \"10 Mbps\", delay = \"5 ms\" }",
};

/// The way of a group's flows.
pub struct Way {
    pub access: Option<Private>,
    pub exit: Option<Private>,
    pub routes: Routes,
}

/// From the first node to the last, and back, as numbers of edges.
pub struct Routes {
    pub forward: Vec<usize>,
    pub back: Vec<usize>,
}

/// The links of their own that the flows of a group have at one end.
pub struct Private {
    end: &'static End,
    link: Arc<PrivateLinkParams>,
    spread: Span,
    values: Values,
    impairments: Impairments,
}

/// One end of a group's way.
struct End {
    table: &'static Inner,
    /// The key of the table that names the node, and that of the group.
    node: &'static str,
    of_group: &'static str,
    example: &'static str,
    /// What a flow does where its own link ends.
    does: &'static str,
    name: fn(Arc<str>, u32, Direction) -> LinkName,
}

static FIRST: End = End {
    table: &ACCESS_TABLE,
    node: "to",
    of_group: "from",
    example: "from = \"router\"",
    does: "starts where its access link leads",
    name: |group, member, direction| LinkName::Access { group, member, direction },
};

static LAST: End = End {
    table: &EXIT_TABLE,
    node: "from",
    of_group: "to",
    example: "to = \"sink\"",
    does: "ends where its exit link begins",
    name: |group, member, direction| LinkName::Exit { group, member, direction },
};

/// An end as it was read: the node, the key that names it for messages, and the private links there.
struct Found {
    node: Option<String>,
    key: &'static str,
    private: Option<Private>,
}

/// The way of a group, unless something of it has a problem.
pub fn read(reader: &mut Reader, given: &Given, reading: &Reading, graph: Option<&mut Graph>) -> Option<Way> {
    let problems = reader.problems.len();
    let [first, last] = [&FIRST, &LAST].map(|end| end.find(reader, given, reading));
    let routes = graph.and_then(|graph| routes(reader, given, reading, [&first, &last], graph))?;
    (problems == reader.problems.len()).then_some(Way { access: first.private, exit: last.private, routes })
}

impl Way {
    /// The private links as they can be read again.
    pub fn describe(&self, described_group: &mut Map<String, Json>) {
        for private in [&self.access, &self.exit].into_iter().flatten() {
            let mut described = described(&private.values);
            private.impairments.describe(&mut described);
            described_group.insert(private.end.table.key.to_owned(), Json::Object(described));
        }
    }
}

impl Private {
    /// What the links do to packets, if anything.
    pub fn impairment(&self) -> Option<&ImpairmentSpec> {
        self.impairments.spec.as_deref()
    }

    /// The link of a flow at this end, and the one back.
    pub fn specs(&self, group: &Arc<str>, member: u32) -> [LinkSpec; 2] {
        [(Direction::Forward, self.spread), (Direction::Back, Span::ZERO)].map(|(direction, spread)| {
            let name = (self.end.name)(Arc::clone(group), member, direction);
            LinkSpec {
                delay_spread: spread,
                impairment: self.impairments.spec.clone(),
                ..LinkSpec::private_link(name, Arc::clone(&self.link))
            }
        })
    }
}

impl End {
    /// The node at the inner end of the private links, or that of the group itself.
    fn find(&'static self, reader: &mut Reader, given: &Given, of_group: &Reading) -> Found {
        let node: Option<Option<String>> = of_group.get(self.of_group);
        let Some(table) = reader.table(given, self.table.key, self.table.example) else {
            if node == Some(None) && !given.gives(self.table.key) {
                reader.report(given, self.of_group, format!("is missing; fix: give it as {}, or give {}", self.example, self.table.key));
            }
            return Found { node: node.flatten(), key: self.of_group, private: None };
        };
        if node.flatten().is_some() {
            reader.report(given, self.of_group, format!("a flow with {} {}; fix: leave out {}", self.table.key, self.does, self.of_group));
        }
        let section = if self.node == "to" { &ACCESS } else { &EXIT };
        reader.only(&table, section.names());
        let reading = reader.keys(&table, section.keys);
        let impairments = impair::read(reader, &table, None);
        let private = reading.sound().map(|values| self.private(values, impairments));
        Found { node: reading.get(self.node), key: self.table.key, private }
    }

    fn private(&'static self, values: &Values, impairments: Impairments) -> Private {
        let Own { rate, delay, spread, limit } = Own::from_values(values);
        let link = PrivateLinkParams { rates: rate, delays: delay, limits: limit };
        Private { end: self, link: Arc::new(link), spread, values: values.clone(), impairments }
    }
}

/// The group's routes from its first node to its last and back.
fn routes(reader: &mut Reader, given: &Given, reading: &Reading, [from, to]: [&Found; 2], graph: &mut Graph) -> Option<Routes> {
    let (first, last) = (from.node.as_deref()?, to.node.as_deref()?);
    for (key, node) in [(from.key, first), (to.key, last)] {
        if !graph.has_node(node) {
            reader.report(given, key, format!("unknown node \"{node}\": no link has it{}", suggestion(node, graph.nodes())));
            return None;
        }
    }
    let forward = match reading.get::<Option<Vec<String>>>("route")? {
        Some(names) => named_route(reader, given, ("route", &names), graph, (first, last)),
        None => graph.shortest(first, last).or_else(|| {
            reader.report(given, to.key, format!("no links lead from \"{first}\" to \"{last}\""));
            None
        }),
    }?;
    let back = match reading.get::<Option<Vec<String>>>("route_back")? {
        Some(names) => named_route(reader, given, ("route_back", &names), graph, (last, first)),
        // Nothing answers a datagram, so its route may have no way back.
        None => graph.back_over(&forward).or_else(|| graph.shortest(last, first)).or(given.gives("udp").then(Vec::new)).or_else(|| {
            let message =
                format!("no links lead back from \"{last}\" to \"{first}\" for acknowledgements; fix: leave out one_way, or add a link");
            reader.report(given, "route_back", message);
            None
        }),
    }?;
    Some(Routes { forward, back })
}

/// A route that is given under a key by the names of its edges.
fn named_route(reader: &mut Reader, given: &Given, route: (&str, &[String]), graph: &Graph, ends: (&str, &str)) -> Option<Vec<usize>> {
    let (key, names) = route;
    let mut at = ends.0;
    let mut route = Vec::new();
    for name in names {
        let Some(number) = graph.edge(name) else {
            reader.report(given, key, format!("unknown link \"{name}\"{}", suggestion(name, graph.edge_names())));
            return None;
        };
        let (from, to) = graph.ends_of(number);
        if from != at {
            reader.report(given, key, format!("link \"{name}\" comes from \"{from}\", but the route is at \"{at}\""));
            return None;
        }
        at = to;
        route.push(number);
    }
    if at != ends.1 {
        reader.report(given, key, format!("must be a list of links from \"{}\" to \"{}\"", ends.0, ends.1));
        return None;
    }
    Some(route)
}
