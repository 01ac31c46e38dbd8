//! How a parameter is declared: once, beside the algorithm that reads it.
//!
//! The schema, the `show` text, the documentation tables and the checks of a scenario are all made from these declarations.

use crate::quantity::{self, Amount};
use crate::{Rate, Span};

/// What a parameter is, its default and where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    pub name: &'static str,
    pub kind: Kind,
    /// The default as a user would write it.
    pub default: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// RFC section, paper or simulator.
    pub source: &'static str,
}

/// The values a parameter may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A real number within bounds, both included.
    Number {
        min: f64,
        max: f64,
        unit: &'static str,
    },
    /// As `Number`, or the word `auto`.
    NumberOrAuto {
        min: f64,
        max: f64,
        unit: &'static str,
    },
    /// A whole number within bounds.
    Count {
        min: u64,
        max: u64,
        unit: &'static str,
    },
    /// Packets or bytes: `120 packets`, `64 KB`.
    Amount,
    Span {
        min: Span,
        max: Span,
    },
    Flag,
    Choice(&'static [&'static str]),
}

/// A parameter's value, read and checked.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Auto,
    Number(f64),
    Count(u64),
    Amount(Amount),
    Span(Span),
    Rate(Rate),
    Flag(bool),
    Word(String),
}

impl Parameter {
    /// Reads what a user wrote for this parameter. The error names the remedy, not the place.
    pub fn read(&self, text: &str) -> Result<Value, String> {
        match self.kind {
            Kind::NumberOrAuto { .. } if text == "auto" => Ok(Value::Auto),
            Kind::Number { min, max, .. } | Kind::NumberOrAuto { min, max, .. } => {
                within(quantity::number(text)?, min, max).map(Value::Number)
            }
            Kind::Count { min, max, unit } => whole(text, min, max, unit).map(Value::Count),
            Kind::Amount => quantity::amount(text).map(Value::Amount),
            Kind::Span { min, max } => span_within(text, min, max).map(Value::Span),
            Kind::Flag => flag(text).map(Value::Flag),
            Kind::Choice(words) => choice(text, words).map(Value::Word),
        }
    }

    /// The default, read.
    ///
    /// # Panics
    /// If the declaration's default does not fit its own kind: a fault of the program, which a test looks for.
    pub fn default_value(&self) -> Value {
        self.read(self.default).unwrap_or_else(|why| panic!("default of {}: {why}", self.name))
    }

    /// The bounds in words, for the documentation.
    pub fn bounds(&self) -> String {
        match self.kind {
            Kind::Number { min, max, .. } => bounds_text(min, max),
            Kind::NumberOrAuto { min, max, .. } => format!("{} or auto", bounds_text(min, max)),
            Kind::Count { min, max, .. } => format!("{min} .. {max}"),
            Kind::Amount => "above 0".to_owned(),
            Kind::Span { min, max } => format!("{} s .. {} s", min.seconds(), max.seconds()),
            Kind::Flag => "true or false".to_owned(),
            Kind::Choice(words) => words.join(", "),
        }
    }

    /// The unit in words, empty where there is none.
    pub fn unit(&self) -> &'static str {
        match self.kind {
            Kind::Number { unit, .. } | Kind::NumberOrAuto { unit, .. } | Kind::Count { unit, .. } => unit,
            Kind::Amount => "packets or bytes",
            Kind::Span { .. } => "time",
            Kind::Flag | Kind::Choice(_) => "",
        }
    }

    /// The kind's name in the schema.
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            Kind::Number { .. } => "number",
            Kind::NumberOrAuto { .. } => "number or auto",
            Kind::Count { .. } => "whole number",
            Kind::Amount => "amount",
            Kind::Span { .. } => "time",
            Kind::Flag => "flag",
            Kind::Choice(_) => "choice",
        }
    }
}

/// The values of all of an algorithm's parameters, in the order of their declaration.
#[derive(Clone, Debug)]
pub struct Values {
    declared: &'static [Parameter],
    values: Vec<Value>,
}

impl Values {
    pub fn defaults(declared: &'static [Parameter]) -> Values {
        Values { declared, values: declared.iter().map(Parameter::default_value).collect() }
    }

    pub fn declared(&self) -> &'static [Parameter] {
        self.declared
    }

    /// # Panics
    /// If no such parameter is declared: the caller asks for a name of its own declaration.
    pub fn set(&mut self, name: &str, value: Value) {
        let at = self.position(name);
        self.values[at] = value;
    }

    /// Sets from text, as a user would write it.
    pub fn read(&mut self, name: &str, text: &str) -> Result<(), String> {
        let at = self.position(name);
        self.values[at] = self.declared[at].read(text)?;
        Ok(())
    }

    pub fn value(&self, name: &str) -> &Value {
        &self.values[self.position(name)]
    }

    pub fn number(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::Number(x) => *x,
            other => panic!("{name} is no number: {other:?}"),
        }
    }

    /// The number, or `None` for `auto`.
    pub fn number_or_auto(&self, name: &str) -> Option<f64> {
        match self.value(name) {
            Value::Auto => None,
            Value::Number(x) => Some(*x),
            other => panic!("{name} is no number: {other:?}"),
        }
    }

    pub fn count(&self, name: &str) -> u64 {
        match self.value(name) {
            Value::Count(n) => *n,
            other => panic!("{name} is no whole number: {other:?}"),
        }
    }

    pub fn amount(&self, name: &str) -> Amount {
        match self.value(name) {
            Value::Amount(amount) => *amount,
            other => panic!("{name} is no amount: {other:?}"),
        }
    }

    pub fn span(&self, name: &str) -> Span {
        match self.value(name) {
            Value::Span(span) => *span,
            other => panic!("{name} is no time: {other:?}"),
        }
    }

    pub fn flag(&self, name: &str) -> bool {
        match self.value(name) {
            Value::Flag(flag) => *flag,
            other => panic!("{name} is no flag: {other:?}"),
        }
    }

    pub fn word(&self, name: &str) -> &str {
        match self.value(name) {
            Value::Word(word) => word,
            other => panic!("{name} is no word: {other:?}"),
        }
    }

    /// Names and values as text, for results that describe themselves.
    pub fn texts(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        self.declared.iter().zip(&self.values).map(|(p, v)| (p.name, v.to_string()))
    }

    fn position(&self, name: &str) -> usize {
        self.declared.iter().position(|p| p.name == name).unwrap_or_else(|| panic!("no parameter {name} is declared"))
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Auto => write!(f, "auto"),
            Value::Number(x) => write!(f, "{x}"),
            Value::Count(n) => write!(f, "{n}"),
            Value::Amount(Amount::Packets(n)) => write!(f, "{n} packets"),
            Value::Amount(Amount::Bytes(n)) => write!(f, "{n} B"),
            Value::Span(span) => write!(f, "{} s", span.seconds()),
            Value::Rate(rate) => write!(f, "{} bps", rate.bps()),
            Value::Flag(flag) => write!(f, "{flag}"),
            Value::Word(word) => write!(f, "{word}"),
        }
    }
}

fn within(number: f64, min: f64, max: f64) -> Result<f64, String> {
    if number >= min && number <= max { Ok(number) } else { Err(format!("{number} must be {}", bounds_text(min, max))) }
}

fn bounds_text(min: f64, max: f64) -> String {
    if max == f64::INFINITY { format!("at least {min}") } else { format!("{min} .. {max}") }
}

/// A whole number, bare or in the parameter's own unit.
fn whole(text: &str, min: u64, max: u64, unit: &str) -> Result<u64, String> {
    let bare = !text.contains(|c: char| c.is_alphabetic() && !matches!(c, 'e' | 'E'));
    let (number, fits) = match quantity::amount(text)? {
        Amount::Packets(number) => (number, bare || unit == "packets"),
        Amount::Bytes(number) => (number, unit == "bytes"),
    };
    if !fits {
        let of = if unit.is_empty() { String::new() } else { format!(" of {unit}") };
        return Err(format!("\"{text}\" has the wrong unit: give a whole number{of}, {min} .. {max}"));
    }
    if number.fract() != 0.0 || number < min as f64 || number > max as f64 {
        return Err(format!("{text} must be a whole number, {min} .. {max}"));
    }
    Ok(number as u64)
}

fn span_within(text: &str, min: Span, max: Span) -> Result<Span, String> {
    let span = quantity::span(text)?;
    if span < min || span > max { Err(format!("\"{text}\" must be {} s .. {} s", min.seconds(), max.seconds())) } else { Ok(span) }
}

fn flag(text: &str) -> Result<bool, String> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("\"{text}\" must be true or false")),
    }
}

fn choice(text: &str, words: &[&str]) -> Result<String, String> {
    if words.contains(&text) { Ok(text.to_owned()) } else { Err(format!("\"{text}\" must be one of {}", words.join(", "))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_is_bare_or_in_its_own_unit() {
        let count = |unit| Parameter { name: "n", kind: Kind::Count { min: 1, max: 1_000_000, unit }, default: "1", doc: "", source: "" };
        assert_eq!(Ok(Value::Count(64_000)), count("bytes").read("64 KB"));
        assert_eq!(Ok(Value::Count(64)), count("packets").read("64 packets"));
        for unit in ["bytes", "packets", "ACKs", ""] {
            assert_eq!(Ok(Value::Count(1_000)), count(unit).read("1e3"), "{unit}");
        }
        for (unit, text) in [("packets", "64 KB"), ("bytes", "64 packets"), ("", "3 packets"), ("ACKs", "3 B")] {
            assert!(count(unit).read(text).unwrap_err().contains("wrong unit"), "{text} as {unit}");
        }
    }
}
