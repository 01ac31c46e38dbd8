//! Declarations of sections, and functions shared by their readers.

use std::collections::BTreeMap;

use ecnlab_queue::Limit;
use ecnlab_units::quantity::PacketsOrBytes;
use ecnlab_units::{Kind, Parameter, Value, Values};
use serde_json::{Value as Json, json};

use crate::read::{ReadValues, Reader, TableInput};
use crate::tree::Node;

/// Maximum number of packets in a queue or a buffer.
pub const MAX_PACKETS: u64 = 100_000_000;
const MAX_BYTES: f64 = 1e13;

/// The limit of this amount, if it is a whole number of packets or a number of bytes within the bounds.
pub fn limit_of_amount(amount: PacketsOrBytes) -> Option<Limit> {
    match amount {
        PacketsOrBytes::Packets(packets) => {
            (packets.fract() == 0.0 && (1.0..=MAX_PACKETS as f64).contains(&packets)).then_some(Limit::Packets(packets as u32))
        }
        PacketsOrBytes::Bytes(bytes) => (1.0..=MAX_BYTES).contains(&bytes).then_some(Limit::Bytes(bytes as u64)),
    }
}

/// Declaration of a section: its keys and its tables.
pub struct Section {
    /// As in `link.reverse`.
    pub name: &'static str,
    /// A few words.
    pub title: &'static str,
    /// One sentence.
    pub doc: &'static str,
    pub keys: &'static [Parameter],
    pub tables: &'static [TableDeclaration],
}

/// A table within a section.
pub struct TableDeclaration {
    pub key: &'static str,
    pub content: TableContent,
    pub required: bool,
    /// One sentence.
    pub doc: &'static str,
    /// Example in a scenario file.
    pub example: &'static str,
}

/// Content of a table.
#[derive(Clone, Copy)]
pub enum TableContent {
    One(&'static Section),
    /// A list of tables with unique names.
    Many(&'static Section),
    /// A discipline with its parameters, an AQM with its parameters, and the buffer.
    Queue,
    /// TCP: a profile, a variant, and parameters.
    Tcp,
    /// An application: its name, or a table with its parameters.
    App,
    /// A list of impairments, each with its kind and its parameters.
    Impairments,
    /// A topology by its name, with its parameters.
    Topology,
    /// A trace of delivery opportunities: a file, or a list of times.
    Deliveries,
}

impl TableDeclaration {
    /// The table, if it is given and is one.
    pub fn read<'a>(&self, reader: &mut Reader, given: &TableInput<'a>) -> Option<TableInput<'a>> {
        reader.read_table(given, self.key, self.example)
    }
}

impl Section {
    /// Names of all keys and tables.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        let (keys, tables) = (self.keys, self.tables);
        keys.iter().map(|key| key.name).chain(tables.iter().map(|table| table.key))
    }

    /// Reads the declared keys of a table, and reports all others.
    pub fn read_keys(&self, reader: &mut Reader, given: &TableInput) -> ReadValues {
        reader.reject_unknown_keys(given, self.names());
        reader.read_keys(given, self.keys)
    }

    /// The declared table with this key.
    ///
    /// # Panics
    /// If there is none, since callers use keys of their own declarations.
    pub fn table(&self, key: &str) -> &'static TableDeclaration {
        self.tables.iter().find(|table| table.key == key).unwrap_or_else(|| panic!("{} holds no table {key}", self.name))
    }
}

/// Members of a list of tables, each with its path; reports an empty list, and members with the same name.
pub fn read_array_of_tables<'a>(reader: &mut Reader, root: &TableInput<'a>, key: &str) -> Vec<TableInput<'a>> {
    let Some(nodes) = root.node.get(key).and_then(Node::as_list).filter(|nodes| !nodes.is_empty()) else {
        let written_as_one = root.node.get(key).is_some_and(|node| node.entries().is_some());
        let message = if written_as_one {
            format!("must be a list of tables; fix: write [[{key}]] instead of [{key}]")
        } else {
            format!("must have at least one [[{key}]]")
        };
        reader.report(root, key, message);
        return Vec::new();
    };
    let mut taken = BTreeMap::new();
    let mut sections = Vec::with_capacity(nodes.len());
    for (at, node) in nodes.iter().enumerate() {
        let name = node.text_of_key("name").filter(|name| MEMBER_NAME_PARAMETER.parse(name).is_ok() && !name.contains('.'));
        let given = TableInput::new(node, format!("{key}.{}", name.map_or_else(|| at.to_string(), str::to_owned)));
        check_name_dotless_and_unique(reader, &given, key, &mut taken, &sections);
        sections.push(given);
    }
    sections
}

/// A member name that is usable in paths: valid and without a dot. Members with other names are identified by number.
const MEMBER_NAME_PARAMETER: Parameter = Parameter { kind: Kind::Text, ..Parameter::DEFAULTS };

/// Checks a member's name. Overrides use names as path steps, so they contain no dot and are unique. Of two equal names the one that an
/// override has set is reported, and otherwise the later one.
fn check_name_dotless_and_unique<'a>(
    reader: &mut Reader,
    given: &TableInput<'a>,
    key: &str,
    taken: &mut BTreeMap<&'a str, usize>,
    before: &[TableInput<'a>],
) {
    let Some(name) = given.node.text_of_key("name") else { return };
    if name.contains('.') {
        reader.report(given, "name", format!("must not contain a dot: overrides are written as {key}.NAME.{}", override_example(key)));
    }
    if let Some(first) = taken.insert(name, before.len()) {
        let is_first_overridden = before[first].line("name").is_none() && given.line("name").is_some();
        let (repeated, other) = if is_first_overridden { (&before[first], before.len()) } else { (given, first) };
        reader.report(repeated, "name", format!("this name is taken by [[{key}]] {}: names must be unique", other + 1));
    }
}

fn override_example(key: &str) -> &'static str {
    if key == "flows" { "count=40" } else { "rate=\"10 Mbps\"" }
}

/// The values in the form of a scenario, which can be read again.
pub fn values_to_json(values: &Values) -> Json {
    values.iter().map(|(name, value)| (name, value_to_json(value))).collect()
}

/// The values of an entry that `kind` chooses, in the same form.
pub fn kind_and_values_to_json(kind: &str, values: &Values) -> Json {
    std::iter::once(("kind", json!(kind))).chain(values.iter().map(|(name, value)| (name, value_to_json(value)))).collect()
}

/// A value as JSON.
pub fn value_to_json(value: &Value) -> Json {
    match value {
        Value::Number(x) => json!(x),
        Value::Count(n) => json!(n),
        Value::Flag(flag) => json!(flag),
        Value::List(values) => values.iter().map(value_to_json).collect(),
        Value::Special(_)
        | Value::Amount(_)
        | Value::Span(_)
        | Value::Rate(_)
        | Value::Distribution(_)
        | Value::Choice(_)
        | Value::Text(_) => json!(value.to_string()),
    }
}
