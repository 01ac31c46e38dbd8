//! `[[link]]`: two directed edges between the same nodes, NAME and `NAME.reverse`. Each has a rate, a delay, impairments, and a measured
//! queue or a plain buffer in front.

use ecnlab_queue::QueueConfig;
use ecnlab_sim::trace_driven_link::DeliveryTrace;
use ecnlab_sim::{Direction, LinkName, LinkSpec, PipeOrQueue, QueueSpec, impairment};
use ecnlab_units::parameter::{Parameter, concat_parameter_tables};
use ecnlab_units::{Rate, Span, Value, Values, parameters};
use serde_json::Value as Json;

use super::bursts::{self, BURSTS, LinkBursts};
use super::declaration::{MAX_PACKETS, Section, TableContent, TableDeclaration, read_array_of_tables, values_to_json};
use super::deliveries::{self, DELIVERIES};
use super::impair::{self, IMPAIR, Impairments};
use super::queue::{self, Queue};
use crate::read::{ReadValues, Reader, TableInput};

parameters! {
    /// Keys of a link.
    pub struct LinkKeys {
        /// Unique name of the link. It names the queue in results, and the queue's random stream; NAME.reverse is the reverse direction.
        #[required]
        pub name: String = "bottleneck";
        /// Node at which the link begins; the queue is there.
        #[required]
        pub from: String = "router";
        /// Node at the far end.
        #[required]
        pub to: String = "sink";
        /// Transmission rate; required unless deliveries are given, whose mean is then the default.
        #[usual(1e5..=1e9, log)]
        pub rate: Option<Rate> = "auto";
        /// Propagation delay.
        #[required]
        #[usual(0.0001..=0.5, log)]
        pub delay: Span = "5 ms", 0..=8_640_000, "s";
        /// Capacity of the plain drop-tail buffer of a link without a queue, in packets. That buffer is not measured.
        #[usual(10..=10000, log)]
        pub limit: u32 = "1000", 1..=MAX_PACKETS, "packets";
        /// No reverse direction.
        pub one_way: bool = "false";
    }
}

parameters! {
    /// Keys of the reverse direction.
    struct ReverseLinkKeys {
        /// Transmission rate; auto is the link's.
        #[usual(1e5..=1e9, log)]
        pub rate: Option<Rate> = "auto";
        /// Propagation delay; auto is the link's.
        #[usual(0.0001..=0.5, log)]
        pub delay: Option<Span> = "auto", 0..=8_640_000, "s";
        /// Capacity of the plain drop-tail buffer of a link without a queue, in packets. That buffer is not measured.
        #[usual(10..=10000, log)]
        pub limit: u32 = "1000", 1..=MAX_PACKETS, "packets";
    }
}

const IMPAIRMENT_KEY_COUNT: usize = impairment::ImpairmentKeys::PARAMETERS.len();
const LINK_KEYS: [Parameter; LinkKeys::PARAMETERS.len() + IMPAIRMENT_KEY_COUNT] =
    concat_parameter_tables(&[LinkKeys::PARAMETERS, impairment::ImpairmentKeys::PARAMETERS]);
const REVERSE_LINK_KEYS: [Parameter; ReverseLinkKeys::PARAMETERS.len() + IMPAIRMENT_KEY_COUNT] =
    concat_parameter_tables(&[ReverseLinkKeys::PARAMETERS, impairment::ImpairmentKeys::PARAMETERS]);

pub const LINK: Section = Section {
    name: "link",
    title: "A link",
    doc: "A link from one node to another, with its reverse direction. The reverse has the same rate and delay, and no measured queue by \
        default. The link's impairments apply to packets before they reach its queue.",
    keys: &LINK_KEYS,
    tables: &[
        QUEUE_TABLE,
        IMPAIR,
        DELIVERIES,
        BURSTS,
        TableDeclaration {
            key: "reverse",
            content: TableContent::One(&REVERSE),
            required: false,
            doc: "Reverse direction: its queue, and values that differ from the link's.",
            example: "{ rate = \"10 Mbps\" }",
        },
    ],
};

pub const REVERSE: Section = Section {
    name: "link.reverse",
    title: "The reverse direction of a link",
    doc: "The reverse direction of a link. It has a plain drop-tail buffer that is not measured, unless it has a queue.",
    keys: &REVERSE_LINK_KEYS,
    tables: &[QUEUE_TABLE, IMPAIR, DELIVERIES, BURSTS],
};

const QUEUE_TABLE: TableDeclaration = TableDeclaration {
    key: "queue",
    content: TableContent::Queue,
    required: false,
    doc: "A measured queue: the AQM with its parameters, and the buffer.",
    example: "{ aqm = \"droptail\", limit = 100 }",
};

/// The links as edges of the network's graph.
pub struct Links<'a> {
    /// In the order of the network: the forward edges of all links, then the reverse ones.
    pub edges: Vec<Edge<'a>>,
    /// Whether every link has a name and ends, so that routes can be computed.
    pub is_complete: bool,
    /// The links in a form that can be read again.
    pub described: Vec<Json>,
}

/// One direction of a link. Invalid parts have their defaults here, so that routes can use the edge.
pub struct Edge<'a> {
    /// `NAME.reverse` for the reverse direction.
    pub name: String,
    pub from: String,
    pub to: String,
    /// Number of the edge in the opposite direction, if there is one.
    pub opposite: Option<usize>,
    pub given: TableInput<'a>,
    /// Its queue, unless it has none or an invalid one.
    pub queue: Option<QueueConfig>,
    /// Parameters for the simulation.
    pub spec: LinkSpec,
}

/// Both directions of a link as declared, and the link in a form that can be read again.
struct Link<'a> {
    forward: Edge<'a>,
    reverse: Option<Edge<'a>>,
    described: Json,
}

/// One direction of a link, before name and ends are set.
struct LinkDirection<'a> {
    values: Values,
    given: TableInput<'a>,
    queue: Option<Queue>,
    impairments: Impairments,
    deliveries: Option<DeliveryTrace>,
    bursts: Option<LinkBursts>,
}

impl Links<'_> {
    /// Valid queues in the order of the network.
    pub fn queues(&self) -> impl Iterator<Item = &QueueConfig> {
        self.edges.iter().filter_map(|edge| edge.queue.as_ref())
    }
}

/// Reads the links in the order of the file.
pub fn read<'a>(reader: &mut Reader, root: &TableInput<'a>) -> Links<'a> {
    let given = read_array_of_tables(reader, root, "link");
    let declared = given.len();
    let links: Vec<Link> = given.into_iter().filter_map(|given| read_link(reader, given)).collect();
    let is_complete = declared > 0 && links.len() == declared;
    let described = links.iter().map(|link| link.described.clone()).collect();
    Links { edges: forward_then_reverse_edges(links), is_complete, described }
}

/// All forward edges, then the reverse ones.
fn forward_then_reverse_edges(links: Vec<Link>) -> Vec<Edge> {
    let (mut edges, reverse): (Vec<Edge>, Vec<Option<Edge>>) = links.into_iter().map(|link| (link.forward, link.reverse)).unzip();
    for (at, mut edge) in reverse.into_iter().enumerate().filter_map(|(at, edge)| Some((at, edge?))) {
        edges[at].opposite = Some(edges.len());
        edge.opposite = Some(at);
        edges.push(edge);
    }
    edges
}

fn read_link<'a>(reader: &mut Reader, given: TableInput<'a>) -> Option<Link<'a>> {
    let reading = LINK.read_keys(reader, &given);
    let ends: [Option<String>; 3] = ["name", "from", "to"].map(|key| reading.get(key));
    if ends[1].is_some() && ends[1] == ends[2] {
        reader.report(&given, "to", "a link must lead to another node than it comes from");
    }
    if reading.get::<Option<Rate>>("rate") == Some(None) && !given.has(DELIVERIES.key) {
        reader.report(&given, "rate", "is missing, or auto without deliveries; fix: give it as rate = \"10 Mbps\", or give deliveries");
    }
    let reverse = read_reverse(reader, &given, &reading);
    let forward = read_direction_keys(reader, given, reading);
    warn_of_missing_queue(reader, &forward);
    let described = link_to_json(&forward, reverse.as_ref());
    let [name, from, to] = ends;
    let (name, from, to) = (name?, from?, to?);
    let back = format!("{name}.reverse");
    let reverse = reverse.map(|direction| direction.into_edge(LinkName::shared(&name, Direction::Back), back, [&to, &from]));
    let forward = forward.into_edge(LinkName::shared(&name, Direction::Forward), name, [&from, &to]);
    Some(Link { forward, reverse, described })
}

/// Reads the reverse direction, unless the link is one-way; omitted keys have the link's values.
fn read_reverse<'a>(reader: &mut Reader, link: &TableInput<'a>, of_link: &ReadValues) -> Option<LinkDirection<'a>> {
    let given = LINK.table("reverse").read(reader, link);
    if of_link.get("one_way") == Some(true) {
        if given.is_some() {
            reader.report(link, "reverse", "excludes one_way = true, which removes the reverse direction; fix: leave out one of the two");
        }
        return None;
    }
    let given = given.unwrap_or_else(|| TableInput::empty(link.path_of_key("reverse")));
    let mut reading = REVERSE.read_keys(reader, &given);
    if link.has(DELIVERIES.key) && !given.has("rate") && !given.has(DELIVERIES.key) {
        let message =
            "is missing: the link follows a trace and has no rate for its reverse direction; fix: give rate = \"10 Mbps\", or deliveries";
        reader.report(&given, "rate", message);
    }
    let inherited = if given.has(DELIVERIES.key) { &["delay"][..] } else { &["rate", "delay"] };
    for &key in inherited {
        if let Value::Special(_) = reading.values.value_by_name(key) {
            reading.values.set(key, of_link.values.value_by_name(key).clone());
        }
    }
    Some(read_direction_keys(reader, given, reading))
}

/// Builds a direction from its keys.
fn read_direction_keys<'a>(reader: &mut Reader, given: TableInput<'a>, mut reading: ReadValues) -> LinkDirection<'a> {
    reader.warn_ignored_keys(&given, &reading.values, &[]);
    let table = QUEUE_TABLE.read(reader, &given);
    let queue = table.and_then(|table| queue::read(reader, &table));
    if given.has("queue") && given.has("limit") {
        reader.warn(&given, "limit", "has no effect with a queue, which has its own buffer; fix: leave out one of the two");
    }
    let keys = impairment::ImpairmentKeys::from_values(&reading.values);
    let impairments = impair::read(reader, &given, Some(keys));
    let deliveries = read_deliveries(reader, &given, &mut reading);
    if deliveries.is_some() && queue.as_ref().is_some_and(|queue| queue.of.wrapped_kernel_qdisc().is_some()) {
        let message = "exclude a queue of a kernel, which sends at the link's rate; fix: leave out one of the two";
        reader.report(&given, DELIVERIES.key, message);
    }
    let bursts = read_bursts(reader, &given, queue.as_ref());
    LinkDirection { values: reading.values, given, queue, impairments, deliveries, bursts }
}

/// Bursts, if they are given; they require a queue whose packets the link itself requests.
fn read_bursts(reader: &mut Reader, given: &TableInput, queue: Option<&Queue>) -> Option<LinkBursts> {
    if !given.has(BURSTS.key) {
        return None;
    }
    let message = if given.has(DELIVERIES.key) {
        Some("exclude deliveries, which are the departure times; fix: leave out one of the two".to_owned())
    } else if queue.is_some_and(|queue| queue.of.wrapped_kernel_qdisc().is_some()) {
        Some("exclude a queue of a kernel, which sends as soon as the link is free; fix: give the queue an aqm".to_owned())
    } else if !given.has("queue") {
        Some(format!("require a queue; fix: give queue = {}", QUEUE_TABLE.example))
    } else {
        None
    };
    message.into_iter().for_each(|message| reader.report(given, BURSTS.key, message));
    bursts::read(reader, given)
}

/// Trace of delivery opportunities, if one is given; its mean is then the rate.
fn read_deliveries(reader: &mut Reader, given: &TableInput, reading: &mut ReadValues) -> Option<DeliveryTrace> {
    if !given.has(DELIVERIES.key) {
        return None;
    }
    if given.has("rate") {
        reader.report(given, "rate", "excludes deliveries, which are the departure times; fix: leave out one of the two");
    }
    if !given.has("queue") {
        let message = format!("require a queue; fix: give queue = {}", QUEUE_TABLE.example);
        reader.report(given, DELIVERIES.key, message);
    }
    let trace = deliveries::read(reader, given)?;
    reading.values.set("rate", Value::Rate(trace.mean_rate()));
    Some(trace)
}

/// Warns of a link with neither a queue nor a limit.
fn warn_of_missing_queue(reader: &mut Reader, link: &LinkDirection) {
    if !link.given.has("queue") && !link.given.has("limit") {
        let message = format!(
            "is left out, so packets wait in a plain drop-tail buffer of {} packets that is not measured; fix: give queue = {}, or to keep it, limit",
            link.values.get_as::<u32>("limit"),
            QUEUE_TABLE.example
        );
        reader.warn(&link.given, "queue", message);
    }
}

impl<'a> LinkDirection<'a> {
    /// The edge between these nodes.
    fn into_edge(self, link: LinkName, name: String, [from, to]: [&str; 2]) -> Edge<'a> {
        let buffer = match &self.queue {
            Some(queue) => {
                let (delivery_trace, bursts) = (self.deliveries.clone(), self.bursts.as_ref().map(|given| given.bursts));
                PipeOrQueue::Queue(Box::new(QueueSpec { delivery_trace, bursts, ..QueueSpec::new(name.clone(), queue.of.clone()) }))
            }
            None => PipeOrQueue::Pipe { limit: self.values.get_as("limit") },
        };
        let spec = LinkSpec {
            name: link,
            rate: self.values.get_as::<Option<Rate>>("rate").unwrap_or(Rate::MAX),
            delay: self.values.get_as("delay"),
            buffer,
            delay_spread: Span::ZERO,
            impairment: self.impairments.spec,
            private_params: None,
        };
        let queue = self.queue.map(|queue| queue.of);
        Edge { name, from: from.to_owned(), to: to.to_owned(), opposite: None, given: self.given, queue, spec }
    }

    /// The direction in a form that can be read again, with its queue or with the limit of its plain buffer.
    fn describe(&self) -> Json {
        let mut described = values_to_json(&self.values);
        if let Some(queue) = &self.queue {
            remove_member(&mut described, "limit");
            described["queue"] = queue.described.clone();
        }
        if let Some(trace) = &self.deliveries {
            remove_member(&mut described, "rate");
            described[DELIVERIES.key] = deliveries::trace_to_json(trace);
        }
        if let Some(bursts) = &self.bursts {
            described[BURSTS.key] = bursts.described.clone();
        }
        self.impairments.describe(&mut described);
        described
    }
}

/// The link with its reverse direction in a form that can be read again.
fn link_to_json(forward: &LinkDirection, reverse: Option<&LinkDirection>) -> Json {
    let mut described = forward.describe();
    if let Some(reverse) = reverse {
        described["reverse"] = reverse.describe();
    }
    described
}

fn remove_member(table: &mut Json, key: &str) {
    table.as_object_mut().and_then(|members| members.remove(key));
}
