//! A scenario from TOML or JSON as a tree of values, each with its line and its form.

use std::ops::Range;

use ecnlab_units::Value;
use serde_json::Value as Json;
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

    pub fn table<K: Into<String>>(entries: impl IntoIterator<Item = (K, Node)>) -> Node {
        Node { value: NodeValue::Table(entries.into_iter().map(|(key, node)| (key.into(), node)).collect()), line: None }
    }

    pub fn from_list(nodes: Vec<Node>) -> Node {
        Node { value: NodeValue::List(nodes), line: None }
    }

    pub fn from_word(text: &str) -> Node {
        Node::scalar(text, ScalarKind::Text)
    }

    pub fn from_number(number: u32) -> Node {
        Node::scalar(number.to_string(), ScalarKind::Number)
    }

    fn scalar(text: impl Into<String>, form: ScalarKind) -> Node {
        Node { value: NodeValue::Scalar(Scalar { text: text.into(), form }), line: None }
    }

    /// A value in the syntax of a scenario.
    pub fn from_parameter_value(value: &Value) -> Node {
        let form = match value {
            Value::List(values) => return Node::from_list(values.iter().map(Node::from_parameter_value).collect()),
            Value::Number(_) | Value::Count(_) => ScalarKind::Number,
            Value::Flag(_) => ScalarKind::Flag,
            _ => ScalarKind::Text,
        };
        Node::scalar(value.to_string(), form)
    }

    fn from_json_value(value: Json) -> Node {
        match value {
            Json::Null => Node::scalar("null", ScalarKind::Other),
            Json::Bool(flag) => Node::scalar(flag.to_string(), ScalarKind::Flag),
            Json::Number(number) => Node::scalar(number.to_string(), ScalarKind::Number),
            Json::String(text) => Node::scalar(text, ScalarKind::Text),
            Json::Array(members) => Node::from_list(members.into_iter().map(Node::from_json_value).collect()),
            Json::Object(members) => Node::table(members.into_iter().map(|(key, value)| (key, Node::from_json_value(value)))),
        }
    }

    /// Reads TOML.
    pub fn from_toml(text: &str) -> Result<Node, Problem> {
        let lines = LineStarts::of(text);
        let document = ImDocument::parse(text).map_err(|why| Problem {
            place: "file".to_owned(),
            line: lines.line(why.span()),
            // The parser has no message for a text that ends within a value.
            message: if why.message().is_empty() {
                "not valid TOML: a value is missing or not complete".to_owned()
            } else {
                why.message().to_owned()
            },
        })?;
        Ok(lines.item(document.as_item()))
    }

    /// Reads JSON. A repeated key has its last value at its first position.
    pub fn from_json(text: &str) -> Result<Node, Problem> {
        serde_json::from_str(text).map(Node::from_json_value).map_err(|why| Problem::new("file", format!("not valid JSON: {why}")))
    }

    /// A value from the command line: TOML or JSON, or otherwise a bare word such as a name.
    pub fn parse_override_value(text: &str) -> Result<Node, String> {
        let text = text.trim();
        if let Ok(value) = text.parse::<Toml>() {
            return Ok(LineStarts(Vec::new()).value(&value));
        }
        match serde_json::from_str(text) {
            Ok(json) => Ok(Node::from_json_value(json)),
            Err(_) if text.starts_with('{') => {
                Err(format!("{text} is neither TOML nor JSON: a table is written as {{ aqm = \"droptail\", limit = 100 }}"))
            }
            Err(_) => Ok(Node::from_word(text)),
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

/// Offsets of the starts of lines in a text; none if the text is not from a file.
struct LineStarts(Vec<usize>);

impl LineStarts {
    fn of(text: &str) -> LineStarts {
        LineStarts(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    /// Number of the line in which a span begins, from 1.
    fn line(&self, span: Option<Range<usize>>) -> Option<usize> {
        let begin = span?.start;
        Some(self.0.partition_point(|&start| start <= begin)).filter(|&line| line > 0)
    }

    fn item(&self, item: &Item) -> Node {
        let node = match item {
            Item::None => Node::EMPTY,
            Item::Value(value) => return self.value(value),
            Item::Table(table) => return self.table(table),
            Item::ArrayOfTables(tables) => Node::from_list(tables.iter().map(|table| self.table(table)).collect()),
        };
        Node { line: self.line(item.span()), ..node }
    }

    fn table(&self, table: &TomlTable) -> Node {
        Node { line: self.line(table.span()), ..Node::table(table.iter().map(|(key, item)| (key, self.item(item)))) }
    }

    fn value(&self, value: &Toml) -> Node {
        let node = match value {
            Toml::String(string) => Node::from_word(string.value()),
            Toml::Integer(number) => Node::scalar(number.value().to_string(), ScalarKind::Number),
            Toml::Float(number) => Node::scalar(number.value().to_string(), ScalarKind::Number),
            Toml::Boolean(flag) => Node::scalar(flag.value().to_string(), ScalarKind::Flag),
            Toml::Datetime(date) => Node::scalar(date.value().to_string(), ScalarKind::Other),
            Toml::Array(array) => Node::from_list(array.iter().map(|value| self.value(value)).collect()),
            Toml::InlineTable(table) => Node::table(table.iter().map(|(key, value)| (key, self.value(value)))),
        };
        Node { line: self.line(value.span()), ..node }
    }
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
