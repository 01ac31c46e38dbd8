//! A scenario as a tree of values that remember their lines, from TOML or JSON, and overrides written into it.

use toml_edit::{ImDocument, Item, Value as Toml};

use crate::problem::Problem;

/// A value and the line on which it stands in the file, if it stands in one.
#[derive(Clone, Debug)]
pub struct Node {
    pub value: Tree,
    pub line: Option<usize>,
}

#[derive(Clone, Debug)]
pub enum Tree {
    /// A word, a number or a flag, as a user would write it.
    Scalar(String),
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
}

impl Node {
    /// Reads TOML.
    pub fn from_toml(text: &str) -> Result<Node, Problem> {
        let document = ImDocument::parse(text).map_err(|why| Problem {
            place: "file".to_owned(),
            line: why.span().map(|span| line_of(text, span.start)),
            message: why.message().to_owned(),
        })?;
        Ok(of_item(document.as_item(), text))
    }

    /// Reads JSON.
    pub fn from_json(text: &str) -> Result<Node, Problem> {
        serde_json::from_str(text).map(of_json).map_err(|why| Problem::new("file", format!("not valid JSON: {why}")))
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

    pub fn scalar(&self) -> Option<&str> {
        if let Tree::Scalar(text) = &self.value { Some(text) } else { None }
    }

    /// Writes `value` at `path`, as in `flows.fragile.count`: members of a list go by their `name`, by their number from 0, or all by `*`.
    pub fn set(&mut self, path: &str, value: &str) -> Result<(), Problem> {
        let value = parse_value(value);
        let steps: Vec<&str> = path.split('.').collect();
        if steps.iter().any(|step| step.is_empty()) {
            return Err(Problem::new(path, "an override is written as flows.fragile.count=40".to_owned()));
        }
        self.write(&steps, &value).map_err(|message| Problem::new(path, message))
    }

    fn write(&mut self, steps: &[&str], value: &Node) -> Result<(), String> {
        let Some((step, rest)) = steps.split_first() else {
            *self = value.clone();
            return Ok(());
        };
        match &mut self.value {
            Tree::Table(entries) => {
                if let Some((_, node)) = entries.iter_mut().find(|(name, _)| name == step) {
                    return node.write(rest, value);
                }
                let mut node = if rest.is_empty() { value.clone() } else { Node { value: Tree::Table(Vec::new()), line: None } };
                node.write(rest, value)?;
                entries.push(((*step).to_owned(), node));
                Ok(())
            }
            Tree::List(nodes) => write_members(nodes, step, rest, value),
            Tree::Scalar(text) => Err(format!("\"{text}\" has no member {step}: give it as a table")),
        }
    }
}

fn write_members(nodes: &mut [Node], step: &str, rest: &[&str], value: &Node) -> Result<(), String> {
    let names: Vec<String> = nodes.iter().filter_map(|node| node.get("name")?.scalar().map(str::to_owned)).collect();
    let mut found = false;
    for (at, node) in nodes.iter_mut().enumerate() {
        let named = node.get("name").and_then(Node::scalar) == Some(step);
        if step == "*" || named || step.parse() == Ok(at) {
            node.write(rest, value)?;
            found = true;
        }
    }
    if found { Ok(()) } else { Err(format!("there is no member \"{step}\": the members are {}", names.join(", "))) }
}

/// A value as the command line gives it: TOML, or else a bare word.
fn parse_value(text: &str) -> Node {
    let mut node =
        text.trim().parse::<Toml>().map_or(Node { value: Tree::Scalar(text.trim().to_owned()), line: None }, |value| of_value(&value, ""));
    forget_lines(&mut node);
    node
}

fn forget_lines(node: &mut Node) {
    node.line = None;
    match &mut node.value {
        Tree::Scalar(_) => {}
        Tree::List(nodes) => nodes.iter_mut().for_each(forget_lines),
        Tree::Table(entries) => entries.iter_mut().for_each(|(_, node)| forget_lines(node)),
    }
}

fn of_item(item: &Item, text: &str) -> Node {
    let line = item.span().map(|span| line_of(text, span.start));
    let value = match item {
        Item::None => Tree::Table(Vec::new()),
        Item::Value(value) => return of_value(value, text),
        Item::Table(table) => Tree::Table(table.iter().map(|(key, item)| (key.to_owned(), of_item(item, text))).collect()),
        Item::ArrayOfTables(tables) => Tree::List(
            tables
                .iter()
                .map(|table| Node {
                    line: table.span().map(|span| line_of(text, span.start)),
                    value: Tree::Table(table.iter().map(|(key, item)| (key.to_owned(), of_item(item, text))).collect()),
                })
                .collect(),
        ),
    };
    Node { value, line }
}

fn of_value(value: &Toml, text: &str) -> Node {
    let line = value.span().filter(|_| !text.is_empty()).map(|span| line_of(text, span.start));
    let tree = match value {
        Toml::String(string) => Tree::Scalar(string.value().clone()),
        Toml::Integer(number) => Tree::Scalar(number.value().to_string()),
        Toml::Float(number) => Tree::Scalar(number.value().to_string()),
        Toml::Boolean(flag) => Tree::Scalar(flag.value().to_string()),
        Toml::Datetime(date) => Tree::Scalar(date.value().to_string()),
        Toml::Array(array) => Tree::List(array.iter().map(|value| of_value(value, text)).collect()),
        Toml::InlineTable(table) => Tree::Table(table.iter().map(|(key, value)| (key.to_owned(), of_value(value, text))).collect()),
    };
    Node { value: tree, line }
}

fn of_json(json: serde_json::Value) -> Node {
    use serde_json::Value as Json;
    let value = match json {
        Json::Null => Tree::Scalar("null".to_owned()),
        Json::Bool(flag) => Tree::Scalar(flag.to_string()),
        Json::Number(number) => Tree::Scalar(number.to_string()),
        Json::String(string) => Tree::Scalar(string),
        Json::Array(values) => Tree::List(values.into_iter().map(of_json).collect()),
        Json::Object(entries) => Tree::Table(entries.into_iter().map(|(key, value)| (key, of_json(value))).collect()),
    };
    Node { value, line: None }
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at.min(text.len())].matches('\n').count() + 1
}
