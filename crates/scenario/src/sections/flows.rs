//! `[[flows]]`: groups of identical flows.

use ecnlab_transport::application::{self, APPLICATIONS, AllowedTransport, ApplicationEntry};
use ecnlab_transport::{TcpSettings, Traffic, Transport, datagram};
use ecnlab_units::{Span, Time, Value, Values, parameters};
use serde_json::Value as Json;

use super::declaration::{self, Section, TableContent, TableDeclaration, read_array_of_tables};
use super::link::Links;
use super::routes::{self, GroupRoute};
use super::tcp::{self, ReadTransport, TCP_TABLE};
use crate::problem::format_names;
use crate::read::{Reader, TableInput, parameter_names};
use crate::route::NetworkGraph;

pub const MAX_FLOWS: u64 = 1_000_000;

parameters! {
    /// Keys of a group.
    struct GroupKeys {
        /// Unique name of the group, in results and for the random streams of its flows.
        #[required]
        pub name: String = "flows";
        /// Number of flows. Of an application that opens several flows, or opens and closes them, the number of applications.
        #[usual(1..=100, log)]
        pub count: u32 = "1", 1..=MAX_FLOWS;
        /// Node of the senders; auto is the node that access leads to, so it is required without access.
        pub from: Option<String> = "auto";
        /// Node of the sinks; auto is the node that exit begins at, so it is required without exit.
        pub to: Option<String> = "auto";
        /// Names of the links from the first node to the last, in order; NAME.reverse is the reverse direction of a link. Auto is the route
        /// with the fewest links; among equal routes the one whose links are declared first.
        pub route: Option<Vec<String>> = "auto";
        /// Route of the ACKs, from the last node to the first, in the same form. Auto is the reverse of the route; if one of its links has
        /// no reverse direction, the route with the fewest links.
        pub route_back: Option<Vec<String>> = "auto";
        /// Start time of the flows; a list is assigned to them in turn.
        pub start: Vec<Span> = "0 s", 0..=8_640_000, "s";
    }
}

pub const FLOWS: Section = Section {
    name: "flows",
    title: "A group of flows",
    doc: "A group of identical flows. Their ACKs take the reverse path, where they are ordinary packets.",
    keys: GroupKeys::PARAMETERS,
    tables: &[
        routes::ACCESS_TABLE,
        routes::EXIT_TABLE,
        TCP_TABLE,
        TableDeclaration {
            key: "udp",
            content: TableContent::One(&UDP),
            required: false,
            doc: "Datagrams instead of TCP, without acknowledgements.",
            example: "{ packet_size = 1000 }",
        },
        TableDeclaration {
            key: "app",
            content: TableContent::App,
            required: false,
            doc: "Application: a name, or kind = NAME with parameters; bulk by default.",
            example: "{ kind = \"file\", bytes = \"1 MB\" }",
        },
    ],
};

pub const UDP: Section = Section {
    name: "flows.udp",
    title: "Datagrams of each flow",
    doc: "Format of a group's datagrams.",
    keys: datagram::DatagramSettings::PARAMETERS,
    tables: &[],
};

/// A group of flows as declared, with its routes over the edges of the network.
pub struct Group<'a> {
    pub name: String,
    pub count: u32,
    pub route: GroupRoute,
    pub transport: Transport,
    pub traffic: Traffic,
    pub starts: Vec<Time>,
    pub given: TableInput<'a>,
    /// Whether its senders offer ECN, and whether the file sets that explicitly.
    pub offers_ecn: bool,
    pub has_ecn_key: bool,
    /// The group in a form that can be read again.
    pub described: Json,
}

impl Group<'_> {
    /// TCP parameters, if TCP carries the data.
    pub fn tcp(&self) -> Option<&TcpSettings> {
        match &self.transport {
            Transport::Tcp(tcp) => Some(tcp),
            Transport::Datagrams(_) | Transport::External(_) => None,
        }
    }
}

/// Groups in the order of the file; invalid ones are omitted.
pub fn read<'a>(reader: &mut Reader, root: &TableInput<'a>, links: &Links) -> Vec<Group<'a>> {
    let ends = links.edges.iter().map(|edge| (edge.name.as_str(), edge.from.as_str(), edge.to.as_str(), edge.opposite));
    let mut graph = links.is_complete.then(|| NetworkGraph::new(ends));
    let groups: Vec<Group> =
        read_array_of_tables(reader, root, "flows").into_iter().filter_map(|given| read_group(reader, given, graph.as_mut())).collect();
    let total: u64 = groups.iter().map(|group| u64::from(group.count) * group.traffic.initial_flows()).sum();
    if total > MAX_FLOWS {
        reader.report(root, "flows", format!("{total} flows in all must be at most {MAX_FLOWS}"));
    }
    groups
}

fn read_group<'a>(reader: &mut Reader, given: TableInput<'a>, graph: Option<&mut NetworkGraph>) -> Option<Group<'a>> {
    let reading = FLOWS.read_keys(reader, &given);
    let route = routes::read(reader, &given, &reading, graph);
    let transport = read_transport(reader, &given);
    let app = read_app(reader, &given, transport.as_ref());
    let (values, transport, (app, app_values, app_described), route) = (reading.valid_values()?, transport?, app?, route?);
    let keys = GroupKeys::from_values(values);
    let traffic = (app.traffic)(&app_values, transport.transport.payload());
    if traffic.spawns_flows() && keys.count > 1 {
        let message = "counts applications, and an application with flows of limited life must be alone in its group; fix: give count = 1 and more flows";
        reader.report(&given, "count", message);
        return None;
    }
    let mut described = declaration::values_to_json(values);
    route.describe(&mut described);
    described[transport.key] = transport.described;
    described["app"] = app_described;
    Some(Group {
        name: keys.name,
        count: keys.count,
        route,
        traffic,
        offers_ecn: transport.offers_ecn,
        has_ecn_key: transport.has_ecn_key,
        transport: transport.transport,
        starts: keys.start.into_iter().map(|start| Time::ZERO + start).collect(),
        given,
        described,
    })
}

fn read_transport(reader: &mut Reader, flows: &TableInput) -> Option<ReadTransport> {
    match (flows.has("tcp"), flows.has("udp")) {
        (_, false) => tcp::read(reader, flows),
        (false, true) => read_udp(reader, flows),
        (true, true) => {
            reader.report(flows, "udp", "excludes tcp; fix: give one of the two");
            None
        }
    }
}

fn read_udp(reader: &mut Reader, flows: &TableInput) -> Option<ReadTransport> {
    let given = FLOWS.table("udp").read(reader, flows)?;
    let reading = UDP.read_keys(reader, &given);
    let values = reading.valid_values()?;
    reader.warn_ignored_keys(&given, values, &[]);
    let settings = datagram::DatagramSettings::from_values(values);
    let problems = settings.check();
    let sound = problems.is_empty();
    problems.into_iter().for_each(|(parameter, message)| reader.report(&given, parameter, message));
    sound.then(|| ReadTransport {
        transport: Transport::Datagrams(settings),
        key: "udp",
        described: declaration::values_to_json(values),
        offers_ecn: settings.ecn.codepoint().is_capable(),
        has_ecn_key: given.has("ecn"),
    })
}

/// The application: a name, or a table with `kind` and its parameters. The default is bulk.
fn read_app(
    reader: &mut Reader,
    flows: &TableInput,
    transport: Option<&ReadTransport>,
) -> Option<(&'static ApplicationEntry, Values, Json)> {
    let table = flows.table("app").filter(|table| table.node.entries().is_some());
    let name = |entry: &ApplicationEntry| entry.name;
    let entry = match &table {
        Some(given) => reader.read_name_and_find_entry(given, "kind", "application", APPLICATIONS, name)?,
        None if flows.has("app") => reader.read_name_and_find_entry(flows, "app", "application", APPLICATIONS, name)?,
        None => &APPLICATIONS[0],
    };
    if let Some(transport) = transport {
        check_app_transport(reader, flows, entry, transport);
    }
    let mut values = Values::defaults(entry.parameters);
    if let Some(given) = &table {
        reader.reject_unknown_keys(given, std::iter::once("kind").chain(parameter_names(entry.parameters)));
        let reading = reader.read_keys_over(given, values);
        values = reading.into_valid_values()?;
        reader.warn_ignored_keys(given, &values, &[]);
        read_times_and_sizes_file(reader, given, &mut values)?;
    }
    for (parameter, message) in (entry.check)(&values) {
        match &table {
            Some(given) => reader.report(given, parameter, message),
            None => reader.report(flows, "app", format!("{parameter} {message}, as in app = {{ kind = \"{}\", ... }}", entry.name)),
        }
    }
    let described = declaration::kind_and_values_to_json(entry.name, &values);
    Some((entry, values, described))
}

/// Replaces an application's file by its times and sizes; none if the file is invalid.
fn read_times_and_sizes_file(reader: &mut Reader, given: &TableInput, values: &mut Values) -> Option<()> {
    let reads = values.parameters().iter().any(|parameter| parameter.name == "file");
    let Some(file) = reads.then(|| values.get_as::<Option<String>>("file")).flatten() else { return Some(()) };
    for key in ["times", "sizes"].into_iter().filter(|key| given.has(key)) {
        reader.report(given, key, "excludes file, which contains it too; fix: give one of the two");
    }
    let text = reader.read_file(given, "file", &file)?;
    let (times, sizes) = application::parse_list(&text).map_err(|why| reader.report(given, "file", format!("\"{file}\": {why}"))).ok()?;
    values.set("times", Value::List(times.into_iter().map(Value::Span).collect()));
    values.set("sizes", Value::List(sizes.into_iter().map(Value::Count).collect()));
    values.set_from_text("file", "auto").ok()
}

/// Reports an application that needs ACKs over datagrams.
fn check_app_transport(reader: &mut Reader, flows: &TableInput, entry: &ApplicationEntry, transport: &ReadTransport) {
    if entry.allowed_transport == AllowedTransport::Either || !transport.transport.is_datagrams() {
        return;
    }
    let others: Vec<_> =
        APPLICATIONS.iter().filter(|entry| entry.allowed_transport == AllowedTransport::Either).map(|entry| entry.name).collect();
    let message = format!(
        "\"{}\" waits for acknowledgements, which datagrams do not have; fix: give tcp instead of udp, or an application with its own timing: {}",
        entry.name,
        format_names(&others)
    );
    reader.report(flows, "app", message);
}
