//! The values of a table of parameters, read and checked.

use super::{Parameter, ParameterType, ReadCondition};
use crate::distribution::Distribution;
use crate::quantity::Amount;
use crate::{Rate, Span};

/// A parameter's value, read and checked.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The word that stands in place of a value, such as `auto`.
    Special(&'static str),
    Number(f64),
    Count(u64),
    Amount(Amount),
    Span(Span),
    Rate(Rate),
    Distribution(Distribution),
    Flag(bool),
    Choice(&'static str),
    Text(String),
    List(Vec<Value>),
}

/// The values of all of an algorithm's parameters, in the order of their declaration.
#[derive(Clone, Debug)]
pub struct Values {
    parameters: &'static [Parameter],
    values: Vec<Value>,
}

impl Values {
    pub fn defaults(parameters: &'static [Parameter]) -> Values {
        Values { parameters, values: parameters.iter().map(Parameter::default_value).collect() }
    }

    pub fn parameters(&self) -> &'static [Parameter] {
        self.parameters
    }

    /// # Panics
    /// If no such parameter is declared: the caller asks for a name of its own declaration.
    pub fn set(&mut self, name: &str, value: Value) {
        let at = self.index_of(name);
        self.values[at] = value;
    }

    /// Sets from text, as a user would write it.
    pub fn set_from_text(&mut self, name: &str, text: &str) -> Result<(), String> {
        let at = self.index_of(name);
        self.values[at] = self.parameters[at].parse(text)?;
        Ok(())
    }

    pub fn value(&self, name: &str) -> &Value {
        &self.values[self.index_of(name)]
    }

    /// The value as the type that it is declared with.
    ///
    /// # Panics
    /// If it is declared with another one: a fault of the program.
    pub fn get<T: ParameterType>(&self, name: &str) -> T {
        T::from_value(self.value(name))
    }

    /// What would have to hold for the algorithm to read this parameter, and does not; empty if it is read.
    pub fn unmet_conditions(&self, name: &str) -> Vec<&'static ReadCondition> {
        self.parameters[self.index_of(name)].read_when.iter().filter(|condition| !self.meets(condition)).collect()
    }

    /// Whether a condition holds under these values.
    pub fn meets(&self, condition: &ReadCondition) -> bool {
        condition.values.contains(&self.value(condition.parameter).to_string().as_str())
    }

    /// Names and values as text, for results that describe themselves.
    pub fn iter_texts(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        self.parameters.iter().zip(&self.values).map(|(p, v)| (p.name, v.to_string()))
    }

    fn index_of(&self, name: &str) -> usize {
        self.parameters.iter().position(|p| p.name == name).unwrap_or_else(|| panic!("no parameter {name} is declared"))
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Special(word) | Value::Choice(word) => write!(f, "{word}"),
            Value::Number(x) => write!(f, "{x}"),
            Value::Count(n) => write!(f, "{n}"),
            Value::Amount(Amount::Packets(n)) => write!(f, "{n} packets"),
            Value::Amount(Amount::Bytes(n)) => write!(f, "{n} B"),
            Value::Span(span) => write!(f, "{} s", span.seconds()),
            Value::Rate(rate) => write!(f, "{} bps", rate.bps()),
            Value::Distribution(drawn) => write!(f, "{drawn}"),
            Value::Flag(flag) => write!(f, "{flag}"),
            Value::Text(text) => write!(f, "{text}"),
            Value::List(values) => {
                let texts: Vec<_> = values.iter().map(Value::to_string).collect();
                write!(f, "{}", texts.join(", "))
            }
        }
    }
}
