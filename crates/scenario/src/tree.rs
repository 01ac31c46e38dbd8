//! A scenario from TOML or JSON as a tree of values, each with its line and its form.

use std::fmt;

use ecnlab_units::Value;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use toml_edit::{ImDocument, Item, Table as TomlTable, Value as Toml};

use crate::problem::Problem;

/// A value with its line in the file, if it comes from one.
#[derive(Clone, Debug)]
pub struct Node {
    pub value: NodeValue,
    pub line: Option<usize>,
}

#[derive(Clone, Debug)]
pub enum NodeValue {
    Scalar(Scalar),
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
}

/// A single value in the syntax of a scenario, without quotes.
#[derive(Clone, Debug)]
pub struct Scalar {
    pub text: String,
    pub form: ScalarKind,
}

/// Form of a single value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarKind {
    /// Quoted, or a bare word of the command line.
    Text,
    Number,
    Flag,
    /// A date, or JSON's null, which no parameter accepts.
    Other,
}

impl Node {
    /// A table without members.
    pub const EMPTY: Node = Node { value: NodeValue::Table(Vec::new()), line: None };

    pub fn table<'k>(entries: impl IntoIterator<Item = (&'k str, Node)>) -> Node {
        Node::new_without_line(NodeValue::Table(entries.into_iter().map(|(key, node)| (key.to_owned(), node)).collect()))
    }

    pub fn from_list(nodes: Vec<Node>) -> Node {
        Node::new_without_line(NodeValue::List(nodes))
    }

    pub fn from_word(text: &str) -> Node {
        Node::new_without_line(NodeValue::Scalar(Scalar { text: text.to_owned(), form: ScalarKind::Text }))
    }

    pub fn from_number(number: u32) -> Node {
        Node::new_without_line(NodeValue::Scalar(Scalar { text: number.to_string(), form: ScalarKind::Number }))
    }

    /// A value in the syntax of a scenario.
    pub fn from_parameter_value(value: &Value) -> Node {
        let form = match value {
            Value::List(values) => return Node::from_list(values.iter().map(Node::from_parameter_value).collect()),
            Value::Number(_) | Value::Count(_) => ScalarKind::Number,
            Value::Flag(_) => ScalarKind::Flag,
            _ => ScalarKind::Text,
        };
        Node::new_without_line(NodeValue::Scalar(Scalar { text: value.to_string(), form }))
    }

    fn new_without_line(value: NodeValue) -> Node {
        Node { value, line: None }
    }

    /// Reads TOML.
    pub fn from_toml(text: &str) -> Result<Node, Problem> {
        let lines = LineStarts::of(text);
        let document = ImDocument::parse(text).map_err(|why| Problem {
            place: "file".to_owned(),
            line: why.span().and_then(|span| lines.number(span.start)),
            // The parser has no message for a text that ends within a value.
            message: if why.message().is_empty() {
                "not valid TOML: a value is missing or not complete".to_owned()
            } else {
                why.message().to_owned()
            },
        })?;
        Ok(lines.item(document.as_item()))
    }

    /// Reads JSON.
    pub fn from_json(text: &str) -> Result<Node, Problem> {
        serde_json::from_str(text).map_err(|why| Problem::new("file", format!("not valid JSON: {why}")))
    }

    /// A value from the command line: TOML or JSON, or otherwise a bare word such as a name.
    pub fn parse_override_value(text: &str) -> Result<Node, String> {
        let text = text.trim();
        if let Ok(value) = text.parse::<Toml>() {
            return Ok(LineStarts::none().value(&value));
        }
        match serde_json::from_str(text) {
            Ok(json) => Ok(json),
            Err(_) if text.starts_with('{') => {
                Err(format!("{text} is neither TOML nor JSON: a table is written as {{ aqm = \"droptail\", limit = 100 }}"))
            }
            Err(_) => Ok(Node { value: NodeValue::Scalar(Scalar { text: text.to_owned(), form: ScalarKind::Text }), line: None }),
        }
    }

    pub fn entries(&self) -> Option<&[(String, Node)]> {
        if let NodeValue::Table(entries) = &self.value { Some(entries) } else { None }
    }

    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries()?.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    pub fn as_list(&self) -> Option<&[Node]> {
        if let NodeValue::List(nodes) = &self.value { Some(nodes) } else { None }
    }

    /// The member under `key`, mutable.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        let NodeValue::Table(entries) = &mut self.value else { return None };
        entries.iter_mut().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// Removes and returns a member of a table.
    pub fn remove(&mut self, key: &str) -> Option<Node> {
        let NodeValue::Table(entries) = &mut self.value else { return None };
        let at = entries.iter().position(|(name, _)| name == key)?;
        Some(entries.remove(at).1)
    }

    /// Adds a member that the table does not have yet.
    pub fn insert_if_absent(&mut self, key: &str, node: Node) {
        if let NodeValue::Table(entries) = &mut self.value
            && entries.iter().all(|(name, _)| name != key)
        {
            entries.push((key.to_owned(), node));
        }
    }

    pub fn list_mut(&mut self) -> Option<&mut Vec<Node>> {
        if let NodeValue::List(nodes) = &mut self.value { Some(nodes) } else { None }
    }

    pub fn into_list(self) -> Option<Vec<Node>> {
        if let NodeValue::List(nodes) = self.value { Some(nodes) } else { None }
    }

    /// Sets the line of nodes without one.
    pub fn set_missing_lines(&mut self, line: Option<usize>) {
        self.line = self.line.or(line);
        match &mut self.value {
            NodeValue::Scalar(_) => {}
            NodeValue::List(nodes) => nodes.iter_mut().for_each(|node| node.set_missing_lines(line)),
            NodeValue::Table(entries) => entries.iter_mut().for_each(|(_, node)| node.set_missing_lines(line)),
        }
    }

    pub fn as_scalar(&self) -> Option<&Scalar> {
        if let NodeValue::Scalar(scalar) = &self.value { Some(scalar) } else { None }
    }

    /// The text under `key`, if the value is a text.
    pub fn text_of_key(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_scalar().filter(|scalar| scalar.form == ScalarKind::Text).map(|scalar| scalar.text.as_str())
    }
}

/// Offsets of the starts of lines in a text.
struct LineStarts(Vec<usize>);

impl LineStarts {
    fn of(text: &str) -> LineStarts {
        LineStarts(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    /// Line starts of a text that is not from a file.
    fn none() -> LineStarts {
        LineStarts(Vec::new())
    }

    /// Number of the line with this byte, from 1.
    fn number(&self, at: usize) -> Option<usize> {
        Some(self.0.partition_point(|&start| start <= at)).filter(|&line| line > 0)
    }

    fn item(&self, item: &Item) -> Node {
        let line = item.span().and_then(|span| self.number(span.start));
        let value = match item {
            Item::None => NodeValue::Table(Vec::new()),
            Item::Value(value) => return self.value(value),
            Item::Table(table) => self.table(table),
            Item::ArrayOfTables(tables) => {
                let of = |table: &TomlTable| Node { line: table.span().and_then(|span| self.number(span.start)), value: self.table(table) };
                NodeValue::List(tables.iter().map(of).collect())
            }
        };
        Node { value, line }
    }

    fn table(&self, table: &TomlTable) -> NodeValue {
        NodeValue::Table(table.iter().map(|(key, item)| (key.to_owned(), self.item(item))).collect())
    }

    fn value(&self, value: &Toml) -> Node {
        let line = value.span().and_then(|span| self.number(span.start));
        let scalar = |text: String, form| NodeValue::Scalar(Scalar { text, form });
        let tree = match value {
            Toml::String(string) => scalar(string.value().clone(), ScalarKind::Text),
            Toml::Integer(number) => scalar(number.value().to_string(), ScalarKind::Number),
            Toml::Float(number) => scalar(number.value().to_string(), ScalarKind::Number),
            Toml::Boolean(flag) => scalar(flag.value().to_string(), ScalarKind::Flag),
            Toml::Datetime(date) => scalar(date.value().to_string(), ScalarKind::Other),
            Toml::Array(array) => NodeValue::List(array.iter().map(|value| self.value(value)).collect()),
            Toml::InlineTable(table) => NodeValue::Table(table.iter().map(|(key, value)| (key.to_owned(), self.value(value))).collect()),
        };
        Node { value: tree, line }
    }
}

/// Deserializes JSON directly, without an intermediate tree.
impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl NodeVisitor {
    fn scalar<E>(text: impl Into<String>, form: ScalarKind) -> Result<Node, E> {
        Ok(Node::new_without_line(NodeValue::Scalar(Scalar { text: text.into(), form })))
    }

    fn number<E>(number: impl Into<serde_json::Number>) -> Result<Node, E> {
        NodeVisitor::scalar(number.into().to_string(), ScalarKind::Number)
    }
}

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        NodeVisitor::scalar("null", ScalarKind::Other)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Node, E> {
        NodeVisitor::scalar(flag.to_string(), ScalarKind::Flag)
    }

    fn visit_u64<E>(self, number: u64) -> Result<Node, E> {
        NodeVisitor::number(number)
    }

    fn visit_i64<E>(self, number: i64) -> Result<Node, E> {
        NodeVisitor::number(number)
    }

    /// JSON has only finite numbers.
    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Node, E> {
        serde_json::Number::from_f64(number).map_or_else(|| self.visit_unit(), NodeVisitor::number)
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        NodeVisitor::scalar(text, ScalarKind::Text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut members: A) -> Result<Node, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = members.next_element()? {
            nodes.push(node);
        }
        Ok(Node::from_list(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = members.next_entry()? {
            entries.push(entry);
        }
        Ok(Node::new_without_line(NodeValue::Table(keep_last_of_repeated_keys(entries))))
    }
}

/// Merges repeated keys of a JSON table: the last value at the first position.
fn keep_last_of_repeated_keys(mut entries: Vec<(String, Node)>) -> Vec<(String, Node)> {
    let mut places: Vec<usize> = (0..entries.len()).collect();
    let key = |at: usize| (entries[at].0.len(), entries[at].0.as_str());
    places.sort_by(|&one, &other| key(one).cmp(&key(other)));
    if places.windows(2).all(|pair| key(pair[0]) != key(pair[1])) {
        return entries;
    }
    let with_same_key = places.chunk_by(|&one, &other| key(one) == key(other));
    let mut kept: Vec<(usize, usize)> = with_same_key.map(|same| (same[0], same[same.len() - 1])).collect();
    kept.sort_unstable();
    kept.into_iter().map(|(first, last)| (std::mem::take(&mut entries[first].0), entries[last].1.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_json_repeats_has_its_last_value_at_its_first_place() {
        let shown = |text| format!("{:?}", Node::from_json(text).unwrap());
        assert_eq!(shown(r#"{"b": 5, "aa": 4, "c": 3}"#), shown(r#"{"b": 1, "aa": 2, "c": 3, "aa": 4, "b": {"d": 1}, "b": 5}"#));
    }

    #[test]
    fn a_number_of_json_is_written_as_serde_json_writes_it() {
        let text = |json| Node::from_json(json).unwrap().as_scalar().unwrap().text.clone();
        let written = ["1.0", "1e+300", "0.1", "18446744073709551615", "-1"];
        assert_eq!(written, ["1.00", "1e+300", "0.10", "18446744073709551615", "-1"].map(text));
        assert!(Node::from_json("1e999").is_err());
    }

    #[test]
    fn toml_that_ends_within_a_line_is_refused_with_a_reason_and_its_line() {
        for text in ["name = ", "name = \"a\"\nlink = ["] {
            let problem = Node::from_toml(text).unwrap_err();
            assert!(!problem.message.is_empty(), "{text:?}");
            assert_eq!(Some(text.lines().count()), problem.line, "{text:?}");
        }
    }
}
