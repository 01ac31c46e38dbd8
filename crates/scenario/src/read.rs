//! Reads tables of a scenario and gathers every problem on the way.

use ecnlab_units::quantity;
use ecnlab_units::{Kind, Parameter, Rate, Span, Values};

use crate::problem::{Problem, suggestion};
use crate::tree::Node;

/// Gathers problems.
#[derive(Default)]
pub struct Reader {
    pub problems: Vec<Problem>,
}

/// A table of the scenario, where it stands and what it may hold.
pub struct Section<'a> {
    pub node: &'a Node,
    pub place: String,
}

impl<'a> Section<'a> {
    pub fn new(node: &'a Node, place: impl Into<String>) -> Section<'a> {
        Section { node, place: place.into() }
    }

    pub fn at(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }

    /// The table under `key`, if it is one.
    pub fn section(&self, key: &str) -> Option<Section<'a>> {
        let node = self.node.get(key)?;
        node.entries().map(|_| Section::new(node, self.at(key)))
    }
}

impl Reader {
    pub fn report(&mut self, place: String, line: Option<usize>, message: String) {
        self.problems.push(Problem { place, line, message });
    }

    /// Reports a problem of a member, at its line if it stands there.
    pub fn report_at(&mut self, section: &Section, key: &str, message: String) {
        let line = section.node.get(key).map_or(section.node.line, |node| node.line);
        self.report(section.at(key), line, message);
    }

    /// Reports every key that is not known.
    pub fn only(&mut self, section: &Section, known: &[&str]) {
        for (key, node) in section.node.entries().unwrap_or_default() {
            if !known.contains(&key.as_str()) {
                self.report(section.at(key), node.line, format!("unknown key{}", suggestion(key, known.iter().copied())));
            }
        }
    }

    /// The text of a member; a problem if it is missing or no single value.
    pub fn text<'a>(&mut self, section: &Section<'a>, key: &str, example: &str) -> Option<&'a str> {
        if section.node.get(key).is_none() {
            self.report_at(section, key, format!("is missing: give it as {key} = {example}"));
            return None;
        }
        self.text_if(section, key, example)
    }

    /// The text of a member that may be left out.
    pub fn text_if<'a>(&mut self, section: &Section<'a>, key: &str, example: &str) -> Option<&'a str> {
        let node = section.node.get(key)?;
        let text = node.scalar();
        if text.is_none() {
            self.report_at(section, key, format!("must be a single value, as in {key} = {example}"));
        }
        text
    }

    /// The table under `key`, if there is one; a problem if something else stands there.
    pub fn section<'a>(&mut self, section: &Section<'a>, key: &str, example: &str) -> Option<Section<'a>> {
        let found = section.section(key);
        if found.is_none() && section.node.get(key).is_some() {
            self.report_at(section, key, format!("must be a table, as in {key} = {example}"));
        }
        found
    }

    pub fn span(&mut self, section: &Section, key: &str, example: &str) -> Option<Span> {
        let text = self.text(section, key, example)?;
        self.accept(section, key, quantity::span(text))
    }

    pub fn span_if(&mut self, section: &Section, key: &str, example: &str) -> Option<Span> {
        let text = self.text_if(section, key, example)?;
        self.accept(section, key, quantity::span(text))
    }

    pub fn rate(&mut self, section: &Section, key: &str) -> Option<Rate> {
        let text = self.text(section, key, "\"10 Mbps\"")?;
        self.accept(section, key, quantity::rate(text))
    }

    pub fn flag_if(&mut self, section: &Section, key: &str) -> Option<bool> {
        let text = self.text_if(section, key, "true")?;
        let flag = match text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(format!("\"{text}\" must be true or false")),
        };
        self.accept(section, key, flag)
    }

    pub fn count_if(&mut self, section: &Section, key: &str, max: u64) -> Option<u64> {
        let text = self.text_if(section, key, "20")?;
        let kind = Kind::Count { min: 1, max, unit: "" };
        let parameter = Parameter { kind, ..Parameter::PLAIN };
        let read = parameter.read(text).map(|value| if let ecnlab_units::Value::Count(count) = value { count } else { 1 });
        self.accept(section, key, read)
    }

    /// Reads the declared parameters that the section gives into `values`.
    pub fn parameters(&mut self, section: &Section, values: &mut Values) {
        for parameter in values.declared() {
            if let Some(text) = self.text_if(section, parameter.name, parameter.default) {
                let read = values.read(parameter.name, text);
                self.accept(section, parameter.name, read);
            }
        }
    }

    /// The value, or its problem noted.
    pub fn accept<T>(&mut self, section: &Section, key: &str, read: Result<T, String>) -> Option<T> {
        read.map_err(|message| self.report_at(section, key, message)).ok()
    }
}
