//! The scenario file: what its sections mean, checked as a whole, and the network that comes out.

use std::sync::Arc;

use ecnlab_queue::{Limit, registry as aqms};
use ecnlab_sim::{Buffer, Direction, FlowSpec, ImpairmentSpec, LinkName, LinkSpec, Network, QueueSpec, impairment};
use ecnlab_transport::{Settings, Traffic, profile, settings, source};
use ecnlab_units::quantity::{self, Amount};
use ecnlab_units::{Rate, Span, Time, Values};
use serde_json::{Map, Value as Json, json};

use crate::problem::{Problem, suggestion};
use crate::read::{Reader, Section};
use crate::route;
use crate::tree::Node;

pub const MAX_FLOWS: u64 = 1_000_000;
const MAX_PACKETS: u64 = 100_000_000;
/// Packets that an access link or a return path lets wait unless told otherwise.
const PIPE_LIMIT: u32 = 1_000;
const MAX_DURATION: Span = Span::from_secs(100 * 24 * 3600);

pub const ROOT_KEYS: &[&str] = &["name", "duration", "measure_from", "link", "flows", "record"];
pub const LINK_KEYS: &[&str] = &["name", "from", "to", "rate", "delay", "queue", "reverse"];
pub const REVERSE_KEYS: &[&str] = &["rate", "delay", "limit"];
pub const FLOW_KEYS: &[&str] = &["name", "count", "from", "to", "access", "route", "tcp", "app", "start"];
pub const ACCESS_KEYS: &[&str] = &["to", "rate", "delay", "spread", "limit"];
pub const RECORD_KEYS: &[&str] = &["queue", "rates", "window", "events"];

/// A scenario that is known to be sound.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub name: String,
    pub duration: Span,
    pub measure_from: Span,
    pub record: Record,
    pub network: Network,
    /// Names of the groups of flows, in order.
    pub groups: Vec<String>,
    /// Names of the measured queues, in order.
    pub queues: Vec<String>,
    /// Every parameter in force.
    pub resolved: Json,
}

/// What to record besides the measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    pub queue: Option<Span>,
    pub window: Option<Span>,
    pub rates: bool,
    pub events: bool,
}

/// The links as the file declares them.
struct Links {
    declared: Vec<Declared>,
    /// Whether every link has its name and ends: otherwise nothing can be said about routes.
    ends_known: bool,
}

/// A link as the file declares it. One that has a problem still has its place in routes.
struct Declared {
    name: String,
    from: String,
    to: String,
    sound: Option<SoundLink>,
}

struct SoundLink {
    forward: LinkSpec,
    reverse: LinkSpec,
    description: Json,
}

impl Scenario {
    /// Reads and checks a scenario; all problems at once.
    pub fn read(root: &Node) -> Result<Scenario, Vec<Problem>> {
        let mut reader = Reader::default();
        let section = Section::new(root, "");
        reader.only(&section, ROOT_KEYS);
        let name = reader.text(&section, "name", "\"my scenario\"").unwrap_or_default().to_owned();
        let duration = reader.span(&section, "duration", "\"100 s\"");
        let measure_from = reader.span_if(&section, "measure_from", "\"20 s\"").unwrap_or(Span::ZERO);
        check_times(&mut reader, &section, duration, measure_from);
        let record = record(&mut reader, &section);
        let mut resolved = Map::new();
        let links = links(&mut reader, &section, &mut resolved);
        let flows = flows(&mut reader, &section, &links, &mut resolved);
        let (network, groups) = assemble(&mut reader, &links.declared, flows);
        match (reader.problems.is_empty(), duration) {
            (true, Some(duration)) => Ok(Scenario {
                resolved: json!({
                    "name": name, "duration_s": duration.seconds(), "measure_from_s": measure_from.seconds(),
                    "links": resolved.remove("links"), "flows": resolved.remove("flows"), "record": record.to_json(),
                }),
                queues: links.declared.into_iter().map(|link| link.name).collect(),
                name,
                duration,
                measure_from,
                record,
                network,
                groups,
            }),
            _ => Err(reader.problems),
        }
    }

    /// A key of the scenario's content and the engine's version: 128-bit FNV-1a, in hexadecimal.
    pub fn hash(&self) -> String {
        let text = format!("{} {}", env!("CARGO_PKG_VERSION"), self.resolved);
        let hash = text.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
            (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
        });
        format!("{hash:032x}")
    }
}

impl Record {
    fn to_json(self) -> Json {
        let span = |span: Option<Span>| span.map(Span::seconds);
        json!({ "queue_s": span(self.queue), "window_s": span(self.window), "rates": self.rates, "events": self.events })
    }
}

fn check_times(reader: &mut Reader, section: &Section, duration: Option<Span>, measure_from: Span) {
    let Some(duration) = duration else { return };
    if duration == Span::ZERO || duration > MAX_DURATION {
        reader.report_at(section, "duration", format!("{} s must be above 0 and at most 100 days", duration.seconds()));
    } else if measure_from >= duration {
        reader.report_at(
            section,
            "measure_from",
            format!("{} s must be before the end, duration {} s", measure_from.seconds(), duration.seconds()),
        );
    }
}

fn record(reader: &mut Reader, root: &Section) -> Record {
    let Some(section) = reader.section(root, "record", "{ queue = \"10 ms\" }") else { return Record::default() };
    reader.only(&section, RECORD_KEYS);
    let mut every = |key: &str| {
        let span = reader.span_if(&section, key, "\"10 ms\"");
        if span.is_some_and(|span| span < Span::from_micros(1)) {
            reader.report_at(&section, key, "must be at least 1 us".to_owned());
        }
        span
    };
    let (queue, window) = (every("queue"), every("window"));
    Record {
        queue,
        window,
        rates: reader.flag_if(&section, "rates").unwrap_or(false),
        events: reader.flag_if(&section, "events").unwrap_or(false),
    }
}

/// The members of a list of tables, each with its place; a problem if there are none.
fn members<'a>(reader: &mut Reader, root: &Section<'a>, key: &str) -> Vec<Section<'a>> {
    let Some(nodes) = root.node.get(key).and_then(Node::list).filter(|nodes| !nodes.is_empty()) else {
        reader.report_at(root, key, format!("there must be at least one [[{key}]]"));
        return Vec::new();
    };
    let mut seen = Vec::new();
    let place = |at: usize, node: &'a Node| {
        let name = node.get("name").and_then(Node::scalar).map_or_else(|| at.to_string(), str::to_owned);
        Section::new(node, format!("{key}.{name}"))
    };
    let sections: Vec<_> = nodes.iter().enumerate().map(|(at, node)| place(at, node)).collect();
    for section in &sections {
        if section.node.get("name").and_then(Node::scalar).is_some_and(|name| name.contains('.')) {
            reader.report_at(section, "name", "must not contain a dot: overrides are written as flows.NAME.count=40".to_owned());
        }
        if seen.contains(&section.place) {
            reader.report_at(section, "name", "this name is taken: names must be unique".to_owned());
        }
        seen.push(section.place.clone());
    }
    sections
}

fn links(reader: &mut Reader, root: &Section, resolved: &mut Map<String, Json>) -> Links {
    let sections = members(reader, root, "link");
    let declared: Vec<Declared> = sections.iter().filter_map(|section| link(reader, section)).collect();
    let described = declared.iter().filter_map(|link| Some(link.sound.as_ref()?.description.clone())).collect();
    resolved.insert("links".to_owned(), Json::Array(described));
    Links { ends_known: !declared.is_empty() && declared.len() == sections.len(), declared }
}

fn link(reader: &mut Reader, section: &Section) -> Option<Declared> {
    reader.only(section, &with_impairment(LINK_KEYS));
    let name = reader.text(section, "name", "\"bottleneck\"");
    let from = reader.text(section, "from", "\"router\"");
    let to = reader.text(section, "to", "\"sink\"");
    let rate = reader.rate(section, "rate");
    let delay = reader.span(section, "delay", "\"5 ms\"");
    let impairment = impairment(reader, section);
    let reverse = reverse(reader, section, name.unwrap_or_default(), rate, delay);
    if from.is_some() && from == to {
        reader.report_at(section, "to", "a link must lead to another node than it comes from".to_owned());
    }
    let queue = queue(reader, section, name.unwrap_or_default());
    let (name, from, to) = (name?.to_owned(), from?.to_owned(), to?.to_owned());
    let sound = sound_link([&name, &from, &to], rate, delay, queue, &impairment, reverse);
    Some(Declared { name, from, to, sound })
}

/// The link's two directions, unless something of it has a problem.
fn sound_link(
    [name, from, to]: [&str; 3],
    rate: Option<Rate>,
    delay: Option<Span>,
    queue: Option<QueueSpec>,
    impairment: &Values,
    reverse: Option<(LinkSpec, Values)>,
) -> Option<SoundLink> {
    let (rate, delay, queue, (reverse, reverse_impairment)) = (rate?, delay?, queue?, reverse?);
    let mut description = json!({
        "name": name, "from": from, "to": to, "rate_bps": rate.bps(), "delay_s": delay.seconds(),
        "queue": describe(queue.aqm.name, &queue.values, queue.limit),
        "reverse": { "rate_bps": reverse.rate.bps(), "delay_s": reverse.delay.seconds(), "limit": pipe_limit(&reverse) },
    });
    describe_impairment(&mut description, impairment);
    describe_impairment(&mut description["reverse"], &reverse_impairment);
    let forward = LinkSpec {
        name: LinkName::shared(name, Direction::Forward),
        rate,
        delay,
        buffer: Buffer::Queue(Box::new(queue)),
        spread: Span::ZERO,
        impairment: ImpairmentSpec::new(impairment::Settings::of(impairment)),
    };
    Some(SoundLink { forward, reverse, description })
}

/// The way back: as the link itself, with a plain buffer.
fn reverse(reader: &mut Reader, link: &Section, name: &str, rate: Option<Rate>, delay: Option<Span>) -> Option<(LinkSpec, Values)> {
    let (mut rate, mut delay, mut limit) = (rate, delay, PIPE_LIMIT);
    let mut values = Values::defaults(impairment::Settings::PARAMETERS);
    if let Some(section) = reader.section(link, "reverse", "{ rate = \"10 Mbps\" }") {
        reader.only(&section, &with_impairment(REVERSE_KEYS));
        values = impairment(reader, &section);
        if section.node.get("rate").is_some() {
            rate = reader.rate(&section, "rate");
        }
        delay = reader.span_if(&section, "delay", "\"5 ms\"").or(delay);
        limit = reader.count_if(&section, "limit", MAX_PACKETS).map_or(limit, |limit| limit as u32);
    }
    let (name, impairment) = (LinkName::shared(name, Direction::Back), ImpairmentSpec::new(impairment::Settings::of(&values)));
    Some((LinkSpec { name, rate: rate?, delay: delay?, buffer: Buffer::Pipe { limit }, spread: Span::ZERO, impairment }, values))
}

/// The keys of a link, and those of what its path does to packets.
fn with_impairment<'a>(keys: &[&'a str]) -> Vec<&'a str> {
    keys.iter().copied().chain(impairment::Settings::PARAMETERS.iter().map(|parameter| parameter.name)).collect()
}

fn impairment(reader: &mut Reader, link: &Section) -> Values {
    let mut values = Values::defaults(impairment::Settings::PARAMETERS);
    reader.parameters(link, &mut values);
    values
}

fn describe_impairment(link: &mut Json, values: &Values) {
    values.texts().for_each(|(name, text)| link[name] = json!(text));
}

fn pipe_limit(link: &LinkSpec) -> u32 {
    if let Buffer::Pipe { limit } = link.buffer { limit } else { 0 }
}

fn describe(aqm: &str, values: &Values, limit: Limit) -> Json {
    let limit = match limit {
        Limit::Packets(packets) => format!("{packets} packets"),
        Limit::Bytes(bytes) => format!("{bytes} B"),
    };
    let mut map = Map::from_iter([("aqm".to_owned(), json!(aqm)), ("limit".to_owned(), json!(limit))]);
    map.extend(texts(values));
    Json::Object(map)
}

fn texts(values: &Values) -> Map<String, Json> {
    values.texts().map(|(name, text)| (name.to_owned(), json!(text))).collect()
}

fn queue(reader: &mut Reader, link: &Section, name: &str) -> Option<QueueSpec> {
    let Some(section) = link.section("queue") else {
        reader.report_at(link, "queue", "is missing: give it as queue = { aqm = \"droptail\", limit = 100 }".to_owned());
        return None;
    };
    let word = reader.text(&section, "aqm", "\"red\"")?;
    let Some(aqm) = aqms::find(word) else {
        let names = aqms::AQMS.iter().map(|entry| entry.name);
        reader.report_at(&section, "aqm", format!("there is no AQM \"{word}\"{}", suggestion(word, names)));
        return None;
    };
    let mut keys = vec!["aqm", "limit"];
    keys.extend(aqm.parameters.iter().map(|parameter| parameter.name));
    reader.only(&section, &keys);
    let mut values = Values::defaults(aqm.parameters);
    reader.parameters(&section, &mut values);
    let limit = limit(reader, &section)?;
    for (parameter, message) in (aqm.check)(&values, limit.0) {
        reader.report_at(&section, parameter, message);
    }
    Some(QueueSpec { name: name.to_owned(), aqm, values, limit: limit.1 })
}

fn limit(reader: &mut Reader, section: &Section) -> Option<(Amount, Limit)> {
    let text = reader.text(section, "limit", "120")?;
    let amount = reader.accept(section, "limit", quantity::amount(text))?;
    let limit = match amount {
        Amount::Packets(packets) if packets.fract() == 0.0 && (1.0..=MAX_PACKETS as f64).contains(&packets) => {
            Limit::Packets(packets as u32)
        }
        Amount::Bytes(bytes) if (1.0..=1e13).contains(&bytes) => Limit::Bytes(bytes as u64),
        _ => {
            reader.report_at(
                section,
                "limit",
                format!("{text} must be a whole number of packets, 1 .. {MAX_PACKETS}, or bytes, as in \"64 KB\""),
            );
            return None;
        }
    };
    Some((amount, limit))
}

/// A group of flows as the file declares it, with its route over the declared links.
struct Group {
    name: String,
    count: u64,
    access: Option<(LinkSpec, LinkSpec)>,
    route: Vec<usize>,
    tcp: Arc<Settings>,
    traffic: Traffic,
    starts: Vec<Time>,
}

fn flows(reader: &mut Reader, root: &Section, links: &Links, resolved: &mut Map<String, Json>) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut described = Vec::new();
    let sections = members(reader, root, "flows");
    for section in &sections {
        if let Some((group, description)) = group(reader, section, links) {
            groups.push(group);
            described.push(description);
        }
    }
    let total: u64 = groups.iter().map(|group| group.count).sum();
    if total > MAX_FLOWS {
        reader.report_at(root, "flows", format!("{total} flows in all must be at most {MAX_FLOWS}"));
    }
    resolved.insert("flows".to_owned(), Json::Array(described));
    groups
}

fn group(reader: &mut Reader, section: &Section, links: &Links) -> Option<(Group, Json)> {
    reader.only(section, FLOW_KEYS);
    let name = reader.text(section, "name", "\"flows\"");
    let count = if section.node.get("count").is_some() { reader.count_if(section, "count", MAX_FLOWS) } else { Some(1) };
    let access = access(reader, section);
    let route = route(reader, section, links);
    let tcp = tcp(reader, section);
    let app = app(reader, section);
    let starts = starts(reader, section);
    let (tcp, app, starts) = (tcp?, app?, starts?);
    let settings = Settings::of(&tcp.1);
    let group = Group {
        name: name?.to_owned(),
        count: count?,
        access: access?,
        route: route?,
        traffic: (app.0.traffic)(&app.1, settings.payload()),
        tcp: Arc::new(settings),
        starts,
    };
    let mut tcp_texts = texts(&tcp.1);
    tcp_texts.insert("profile".to_owned(), json!(tcp.0));
    let mut app_texts = texts(&app.1);
    app_texts.insert("kind".to_owned(), json!(app.0.name));
    let description = json!({
        "name": group.name, "count": group.count, "route": group.route.iter().map(|&link| &links.declared[link].name).collect::<Vec<_>>(),
        "access": group.access.as_ref().map(|(there, _)| json!({ "rate_bps": there.rate.bps(), "delay_s": there.delay.seconds(), "spread_s": there.spread.seconds(), "limit": pipe_limit(there) })),
        "tcp": tcp_texts, "app": app_texts, "start_s": group.starts.iter().map(|start| start.seconds()).collect::<Vec<_>>(),
    });
    Some((group, description))
}

/// The flow's own link to its first node and back, if it has one. The outer option is for problems.
fn access(reader: &mut Reader, flow: &Section) -> Option<Option<(LinkSpec, LinkSpec)>> {
    if flow.node.get("access").is_none() {
        return Some(None);
    }
    let Some(section) = flow.section("access") else {
        reader.report_at(flow, "access", "must be a table: access = { to = \"router\", rate = \"10 Mbps\", delay = \"5 ms\" }".to_owned());
        return None;
    };
    reader.only(&section, ACCESS_KEYS);
    let rate = reader.rate(&section, "rate");
    let delay = reader.span(&section, "delay", "\"5 ms\"");
    let limit = if section.node.get("limit").is_some() { reader.count_if(&section, "limit", MAX_PACKETS)? as u32 } else { PIPE_LIMIT };
    let spread = reader.span_if(&section, "spread", "\"1 ms\"").unwrap_or(Span::ZERO);
    // Each flow's own name comes with its place in the group.
    let name = LinkName::Access { group: "".into(), member: 0, direction: Direction::Back };
    let back = LinkSpec { name, rate: rate?, delay: delay?, buffer: Buffer::Pipe { limit }, spread: Span::ZERO, impairment: None };
    Some(Some((LinkSpec { spread, ..back.clone() }, back)))
}

/// The declared links from the flow's first node to its last, by number.
fn route(reader: &mut Reader, flow: &Section, links: &Links) -> Option<Vec<usize>> {
    let first = match flow.section("access") {
        Some(access) if flow.node.get("from").is_none() => reader.text(&access, "to", "\"router\""),
        Some(_) => {
            reader.report_at(flow, "from", "a flow with access starts where its access link leads: leave from out".to_owned());
            None
        }
        None => reader.text(flow, "from", "\"router\""),
    };
    let last = reader.text(flow, "to", "\"sink\"");
    let (first, last) = (first?, last?);
    if !links.ends_known {
        return None;
    }
    let links = &links.declared;
    let nodes = || links.iter().flat_map(|link| [link.from.as_str(), link.to.as_str()]);
    for (key, node) in [("from", first), ("to", last)] {
        if !nodes().any(|known| known == node) {
            let at = if key == "from" && flow.section("access").is_some() { "access" } else { key };
            reader.report_at(flow, at, format!("no link touches the node \"{node}\"{}", suggestion(node, nodes())));
            return None;
        }
    }
    let ends: Vec<_> = links.iter().map(|link| (link.from.as_str(), link.to.as_str())).collect();
    match flow.node.get("route") {
        Some(node) => named_route(reader, flow, node, links, first, last),
        None => route::shortest(&ends, first, last).or_else(|| {
            reader.report_at(flow, "to", format!("no links lead from \"{first}\" to \"{last}\""));
            None
        }),
    }
}

/// A route given by the names of its links.
fn named_route(reader: &mut Reader, flow: &Section, node: &Node, links: &[Declared], first: &str, last: &str) -> Option<Vec<usize>> {
    let names: Vec<&str> = node.list().unwrap_or_default().iter().filter_map(Node::scalar).collect();
    let mut at = first;
    let mut route = Vec::new();
    for name in names {
        let Some(number) = links.iter().position(|link| link.name == name) else {
            reader.report_at(
                flow,
                "route",
                format!("there is no link \"{name}\"{}", suggestion(name, links.iter().map(|l| l.name.as_str()))),
            );
            return None;
        };
        if links[number].from != at {
            reader.report_at(flow, "route", format!("link \"{name}\" comes from \"{}\", but the route is at \"{at}\"", links[number].from));
            return None;
        }
        at = &links[number].to;
        route.push(number);
    }
    if at != last || route.is_empty() {
        reader.report_at(flow, "route", format!("must be a list of links from \"{first}\" to \"{last}\""));
        return None;
    }
    Some(route)
}

fn tcp<'a>(reader: &mut Reader, flow: &Section<'a>) -> Option<(&'a str, Values)> {
    let Some(section) = flow.section("tcp") else {
        reader.report_at(flow, "tcp", "is missing: give it as tcp = { profile = \"ns2\", ecn = true }".to_owned());
        return None;
    };
    let word = reader.text(&section, "profile", "\"ns2\"")?;
    let Some(profile) = profile::find(word) else {
        let names = profile::PROFILES.iter().map(|profile| profile.name);
        reader.report_at(&section, "profile", format!("there is no profile \"{word}\"{}", suggestion(word, names)));
        return None;
    };
    let mut keys = vec!["profile", "variant"];
    keys.extend(Settings::PARAMETERS.iter().map(|parameter| parameter.name));
    reader.only(&section, &keys);
    let mut values = profile.values();
    if section.node.get("variant").is_some() {
        let word = reader.text(&section, "variant", "\"newreno\"")?;
        let Some(variant) = profile::find_variant(word) else {
            let names = profile::VARIANTS.iter().map(|variant| variant.name);
            reader.report_at(&section, "variant", format!("there is no variant \"{word}\"{}", suggestion(word, names)));
            return None;
        };
        variant.apply(&mut values);
    }
    reader.parameters(&section, &mut values);
    let problems = settings::check(&values);
    let sound = problems.is_empty();
    for (parameter, message) in problems {
        reader.report_at(&section, parameter, message);
    }
    sound.then_some((word, values))
}

/// The traffic source: a name, or a table with `kind` and its parameters. Bulk if left out.
fn app(reader: &mut Reader, flow: &Section) -> Option<(&'static source::SourceEntry, Values)> {
    let section = flow.section("app");
    let word = match &section {
        Some(section) => reader.text(section, "kind", "\"bulk\"")?,
        None if flow.node.get("app").is_none() => "bulk",
        None => reader.text(flow, "app", "\"bulk\"")?,
    };
    let Some(entry) = source::find(word) else {
        let names = source::SOURCES.iter().map(|entry| entry.name);
        reader.report_at(flow, "app", format!("there is no traffic source \"{word}\"{}", suggestion(word, names)));
        return None;
    };
    let mut values = Values::defaults(entry.parameters);
    let before = reader.problems.len();
    if let Some(section) = &section {
        let mut keys = vec!["kind"];
        keys.extend(entry.parameters.iter().map(|parameter| parameter.name));
        reader.only(section, &keys);
        reader.parameters(section, &mut values);
    }
    if reader.problems.len() > before {
        return None;
    }
    for (parameter, message) in (entry.check)(&values) {
        match &section {
            Some(section) => reader.report_at(section, parameter, message),
            None => reader.report_at(flow, "app", format!("{parameter} {message}, as in app = {{ kind = \"{word}\", ... }}")),
        }
    }
    Some((entry, values))
}

/// Start times, dealt out to the flows in turn.
fn starts(reader: &mut Reader, flow: &Section) -> Option<Vec<Time>> {
    let Some(node) = flow.node.get("start") else { return Some(vec![Time::ZERO]) };
    let nodes = node.list().unwrap_or(std::slice::from_ref(node));
    let mut starts = Vec::new();
    for node in nodes {
        match node.scalar().map(quantity::span) {
            Some(Ok(span)) if span <= MAX_DURATION => starts.push(Time::ZERO + span),
            Some(Err(message)) => reader.report(flow.at("start"), node.line, message),
            _ => reader.report(flow.at("start"), node.line, "must be a time or a list of times, as in [\"0 s\", \"2 s\"]".to_owned()),
        }
    }
    (starts.len() == nodes.len() && !starts.is_empty()).then_some(starts)
}

/// Numbers the links: first the declared ones, then their ways back, then each flow's own two.
fn assemble(reader: &mut Reader, links: &[Declared], groups: Vec<Group>) -> (Network, Vec<String>) {
    let mut network = Network { groups: groups.iter().map(|group| group.name.as_str().into()).collect(), ..Network::default() };
    if !reader.problems.is_empty() {
        return (network, Vec::new());
    }
    let sound: Vec<_> = links.iter().filter_map(|link| link.sound.as_ref()).collect();
    network.links.extend(sound.iter().map(|link| link.forward.clone()));
    network.links.extend(sound.iter().map(|link| link.reverse.clone()));
    let declared = links.len() as u32;
    let flows: usize = groups.iter().map(|group| group.count as usize).sum();
    let own_links: usize = groups.iter().map(|group| if group.access.is_some() { 2 * group.count as usize } else { 0 }).sum();
    network.links.reserve_exact(own_links);
    network.flows.reserve_exact(flows);
    for (number, group) in groups.iter().enumerate() {
        let own = |link: &LinkSpec, member, direction| LinkSpec {
            name: LinkName::Access { group: network.groups[number].clone(), member, direction },
            ..link.clone()
        };
        for member in 0..group.count as u32 {
            let mut forward = Vec::with_capacity(group.route.len() + 1);
            let mut back = Vec::with_capacity(group.route.len() + 1);
            if group.access.is_some() {
                forward.push(network.links.len() as u32);
            }
            forward.extend(group.route.iter().map(|&link| link as u32));
            back.extend(group.route.iter().rev().map(|&link| link as u32 + declared));
            if let Some((there, here)) = &group.access {
                back.push(network.links.len() as u32 + 1);
                network.links.extend([own(there, member, Direction::Forward), own(here, member, Direction::Back)]);
            }
            network.flows.push(FlowSpec {
                group: number as u32,
                member,
                forward,
                back,
                tcp: group.tcp.clone(),
                traffic: group.traffic,
                start: group.starts[member as usize % group.starts.len()],
                boot: None,
            });
        }
    }
    (network, groups.into_iter().map(|group| group.name).collect())
}
