//! A scenario as a tree of values that remember their lines and how they were written, from TOML or JSON.

use ecnlab_units::Value;
use toml_edit::{ImDocument, Item, Table as TomlTable, Value as Toml};

use crate::problem::Problem;

/// A value and the line on which it stands in the file, if it stands in one.
#[derive(Clone, Debug)]
pub struct Node {
    pub value: Tree,
    pub line: Option<usize>,
}

#[derive(Clone, Debug)]
pub enum Tree {
    Scalar(Scalar),
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
}

/// A single value as a user would write it, without quotes.
#[derive(Clone, Debug)]
pub struct Scalar {
    pub text: String,
    pub form: Form,
}

/// How a single value was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// In quotes, or as a bare word of the command line.
    Text,
    Number,
    Flag,
    /// What no parameter is: a date, or JSON's null.
    Other,
}

impl Node {
    /// A table without members.
    pub const EMPTY: Node = Node { value: Tree::Table(Vec::new()), line: None };

    pub fn table<'k>(entries: impl IntoIterator<Item = (&'k str, Node)>) -> Node {
        Node::of(Tree::Table(entries.into_iter().map(|(key, node)| (key.to_owned(), node)).collect()))
    }

    pub fn list_of(nodes: Vec<Node>) -> Node {
        Node::of(Tree::List(nodes))
    }

    pub fn word(text: &str) -> Node {
        Node::of(Tree::Scalar(Scalar { text: text.to_owned(), form: Form::Text }))
    }

    pub fn number(number: u32) -> Node {
        Node::of(Tree::Scalar(Scalar { text: number.to_string(), form: Form::Number }))
    }

    /// A value as a user would write it.
    pub fn of_value(value: &Value) -> Node {
        let form = match value {
            Value::List(values) => return Node::list_of(values.iter().map(Node::of_value).collect()),
            Value::Number(_) | Value::Count(_) => Form::Number,
            Value::Flag(_) => Form::Flag,
            _ => Form::Text,
        };
        Node::of(Tree::Scalar(Scalar { text: value.to_string(), form }))
    }

    fn of(value: Tree) -> Node {
        Node { value, line: None }
    }

    /// Reads TOML.
    pub fn from_toml(text: &str) -> Result<Node, Problem> {
        let lines = Lines::of(text);
        let document = ImDocument::parse(text).map_err(|why| Problem {
            place: "file".to_owned(),
            line: why.span().and_then(|span| lines.number(span.start)),
            // The parser has no words for a text that ends within a value.
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
        serde_json::from_str(text).map(of_json).map_err(|why| Problem::new("file", format!("not valid JSON: {why}")))
    }

    /// A value as the command line gives it: TOML or JSON, or else a bare word, which a name may be.
    pub fn from_override(text: &str) -> Result<Node, String> {
        let text = text.trim();
        if let Ok(value) = text.parse::<Toml>() {
            return Ok(Lines::none().value(&value));
        }
        match serde_json::from_str(text) {
            Ok(json) => Ok(of_json(json)),
            Err(_) if text.starts_with('{') => {
                Err(format!("{text} is neither TOML nor JSON: a table is written as {{ aqm = \"droptail\", limit = 100 }}"))
            }
            Err(_) => Ok(Node { value: Tree::Scalar(Scalar { text: text.to_owned(), form: Form::Text }), line: None }),
        }
    }

    pub fn entries(&self) -> Option<&[(String, Node)]> {
        if let Tree::Table(entries) = &self.value { Some(entries) } else { None }
    }

    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries()?.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    pub fn list(&self) -> Option<&[Node]> {
        if let Tree::List(nodes) = &self.value { Some(nodes) } else { None }
    }

    /// The member under `key`, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        let Tree::Table(entries) = &mut self.value else { return None };
        entries.iter_mut().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// Takes a member out of a table.
    pub fn take(&mut self, key: &str) -> Option<Node> {
        let Tree::Table(entries) = &mut self.value else { return None };
        let at = entries.iter().position(|(name, _)| name == key)?;
        Some(entries.remove(at).1)
    }

    /// Adds a member to a table that does not have it yet.
    pub fn add(&mut self, key: &str, node: Node) {
        if let Tree::Table(entries) = &mut self.value
            && entries.iter().all(|(name, _)| name != key)
        {
            entries.push((key.to_owned(), node));
        }
    }

    pub fn list_mut(&mut self) -> Option<&mut Vec<Node>> {
        if let Tree::List(nodes) = &mut self.value { Some(nodes) } else { None }
    }

    pub fn into_list(self) -> Option<Vec<Node>> {
        if let Tree::List(nodes) = self.value { Some(nodes) } else { None }
    }

    /// Says that what stands in no file stands on this line.
    pub fn set_missing_lines(&mut self, line: Option<usize>) {
        self.line = self.line.or(line);
        match &mut self.value {
            Tree::Scalar(_) => {}
            Tree::List(nodes) => nodes.iter_mut().for_each(|node| node.set_missing_lines(line)),
            Tree::Table(entries) => entries.iter_mut().for_each(|(_, node)| node.set_missing_lines(line)),
        }
    }

    pub fn scalar(&self) -> Option<&Scalar> {
        if let Tree::Scalar(scalar) = &self.value { Some(scalar) } else { None }
    }

    /// The text under `key`, if a text stands there.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.scalar().filter(|scalar| scalar.form == Form::Text).map(|scalar| scalar.text.as_str())
    }
}

/// Where the lines of a text begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Lines {
        Lines(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    /// Of a text that is no file.
    fn none() -> Lines {
        Lines(Vec::new())
    }

    /// The number of the line that holds this byte, from 1.
    fn number(&self, at: usize) -> Option<usize> {
        Some(self.0.partition_point(|&start| start <= at)).filter(|&line| line > 0)
    }

    fn item(&self, item: &Item) -> Node {
        let line = item.span().and_then(|span| self.number(span.start));
        let value = match item {
            Item::None => Tree::Table(Vec::new()),
            Item::Value(value) => return self.value(value),
            Item::Table(table) => self.table(table),
            Item::ArrayOfTables(tables) => {
                let of = |table: &TomlTable| Node { line: table.span().and_then(|span| self.number(span.start)), value: self.table(table) };
                Tree::List(tables.iter().map(of).collect())
            }
        };
        Node { value, line }
    }

    fn table(&self, table: &TomlTable) -> Tree {
        Tree::Table(table.iter().map(|(key, item)| (key.to_owned(), self.item(item))).collect())
    }

    fn value(&self, value: &Toml) -> Node {
        let line = value.span().and_then(|span| self.number(span.start));
        let scalar = |text: String, form| Tree::Scalar(Scalar { text, form });
        let tree = match value {
            Toml::String(string) => scalar(string.value().clone(), Form::Text),
            Toml::Integer(number) => scalar(number.value().to_string(), Form::Number),
            Toml::Float(number) => scalar(number.value().to_string(), Form::Number),
            Toml::Boolean(flag) => scalar(flag.value().to_string(), Form::Flag),
            Toml::Datetime(date) => scalar(date.value().to_string(), Form::Other),
            Toml::Array(array) => Tree::List(array.iter().map(|value| self.value(value)).collect()),
            Toml::InlineTable(table) => Tree::Table(table.iter().map(|(key, value)| (key.to_owned(), self.value(value))).collect()),
        };
        Node { value: tree, line }
    }
}

fn of_json(json: serde_json::Value) -> Node {
    use serde_json::Value as Json;
    let scalar = |text: String, form| Tree::Scalar(Scalar { text, form });
    let value = match json {
        Json::Null => scalar("null".to_owned(), Form::Other),
        Json::Bool(flag) => scalar(flag.to_string(), Form::Flag),
        Json::Number(number) => scalar(number.to_string(), Form::Number),
        Json::String(string) => scalar(string, Form::Text),
        Json::Array(values) => Tree::List(values.into_iter().map(of_json).collect()),
        Json::Object(entries) => Tree::Table(entries.into_iter().map(|(key, value)| (key, of_json(value))).collect()),
    };
    Node { value, line: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toml_that_ends_within_a_line_is_refused_with_a_reason_and_its_line() {
        for text in ["name = ", "name = \"a\"\nlink = ["] {
            let problem = Node::from_toml(text).unwrap_err();
            assert!(!problem.message.is_empty(), "{text:?}");
            assert_eq!(Some(text.lines().count()), problem.line, "{text:?}");
        }
    }
}
