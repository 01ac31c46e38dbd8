//! The values of a table of parameters, read and checked.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::{Parameter, ParameterType, ReadCondition};
use crate::distribution::Distribution;
use crate::quantity::PacketsOrBytes;
use crate::{Rate, Span};

/// A parameter's value, read and checked.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The keyword that replaces a value, such as `auto`.
    Special(&'static str),
    Number(f64),
    Count(u64),
    Amount(PacketsOrBytes),
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
    index: Arc<NameIndex>,
    values: Vec<Value>,
}

impl Values {
    /// The defaults of a table. They are read once, since each table of a scenario begins with them.
    pub fn defaults(parameters: &'static [Parameter]) -> Values {
        static READ_DEFAULTS: RwLock<BTreeMap<(usize, usize), Values>> = RwLock::new(BTreeMap::new());
        let table = (parameters.as_ptr() as usize, parameters.len());
        if let Some(values) = READ_DEFAULTS.read().unwrap_or_else(PoisonError::into_inner).get(&table) {
            return values.clone();
        }
        let values = parameters.iter().map(Parameter::default_value).collect();
        let values = Values { parameters, index: Arc::new(NameIndex::of(parameters)), values };
        READ_DEFAULTS.write().unwrap_or_else(PoisonError::into_inner).entry(table).or_insert(values).clone()
    }

    pub fn parameters(&self) -> &'static [Parameter] {
        self.parameters
    }

    /// The place of a parameter in its table, if it is declared.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.index.position(self.parameters, name)
    }

    /// The value at a place of the table.
    ///
    /// # Panics
    /// If the table is shorter.
    pub fn value_at(&self, at: usize) -> &Value {
        &self.values[at]
    }

    /// # Panics
    /// If the parameter is undeclared, which is an error of the caller.
    pub fn set(&mut self, name: &str, value: Value) {
        let at = self.index_of(name);
        self.values[at] = value;
    }

    /// Sets the value at a place of the table.
    ///
    /// # Panics
    /// If the table is shorter.
    pub fn set_at(&mut self, at: usize, value: Value) {
        self.values[at] = value;
    }

    /// Sets from text, as a user would write it.
    pub fn set_from_text(&mut self, name: &str, text: &str) -> Result<(), String> {
        let at = self.index_of(name);
        self.values[at] = self.parameters[at].parse(text)?;
        Ok(())
    }

    pub fn value_by_name(&self, name: &str) -> &Value {
        &self.values[self.index_of(name)]
    }

    /// The value as the type that it is declared with.
    ///
    /// # Panics
    /// If it is declared with another one: a fault of the program.
    pub fn get_as<T: ParameterType>(&self, name: &str) -> T {
        T::from_value(self.value_by_name(name))
    }

    /// Unmet conditions under which the algorithm reads this parameter; empty if it is read.
    pub fn unmet_read_conditions_of(&self, name: &str) -> Vec<&'static ReadCondition> {
        self.parameters[self.index_of(name)].read_when.iter().filter(|condition| !self.meets_condition(condition)).collect()
    }

    /// Whether a condition holds under these values.
    pub fn meets_condition(&self, condition: &ReadCondition) -> bool {
        let value = self.value_by_name(condition.parameter);
        condition.values.iter().any(|text| value.is_written_as(text))
    }

    /// Names and values, in the order of the declaration.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.parameters.iter().zip(&self.values).map(|(parameter, value)| (parameter.name, value))
    }

    /// Names and values as text, for results that describe themselves.
    pub fn iter_texts(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        self.iter().map(|(name, value)| (name, value.to_string()))
    }

    fn index_of(&self, name: &str) -> usize {
        self.position(name).unwrap_or_else(|| panic!("no parameter {name} is declared"))
    }
}

impl Value {
    /// Whether it is written as this text.
    fn is_written_as(&self, text: &str) -> bool {
        match self {
            Value::Special(word) | Value::Choice(word) => *word == text,
            Value::Flag(true) => text == "true",
            Value::Flag(false) => text == "false",
            other => other.to_string() == text,
        }
    }
}

/// The places of the names of a table: a hash table with open addressing, twice to four times as large as the table.
#[derive(Debug)]
struct NameIndex {
    slots: Vec<u16>,
}

const EMPTY_INDEX_SLOT: u16 = u16::MAX;

impl NameIndex {
    /// The first of two parameters with one name counts.
    ///
    /// # Panics
    /// If the table has 65535 parameters or more.
    fn of(parameters: &[Parameter]) -> NameIndex {
        assert!(parameters.len() < usize::from(EMPTY_INDEX_SLOT), "a table of {} parameters", parameters.len());
        let mut index = NameIndex { slots: vec![EMPTY_INDEX_SLOT; (2 * parameters.len() + 1).next_power_of_two()] };
        for (at, parameter) in parameters.iter().enumerate() {
            let slot = index.slot(parameters, parameter.name);
            if index.slots[slot] == EMPTY_INDEX_SLOT {
                index.slots[slot] = at as u16;
            }
        }
        index
    }

    fn position(&self, parameters: &[Parameter], name: &str) -> Option<usize> {
        let at = self.slots[self.slot(parameters, name)];
        (at != EMPTY_INDEX_SLOT).then_some(at.into())
    }

    /// The slot that holds a name, or the empty one in which it would be.
    fn slot(&self, parameters: &[Parameter], name: &str) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash(name) & mask;
        while self.slots[slot] != EMPTY_INDEX_SLOT && parameters[usize::from(self.slots[slot])].name != name {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

/// A hash of a name's length, its first eight bytes and its last eight, by Fibonacci hashing.
fn hash(name: &str) -> usize {
    let bytes = name.as_bytes();
    let ends = match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(first), Some(last)) => u64::from_le_bytes(*first) ^ u64::from_le_bytes(*last).rotate_left(29),
        _ => bytes.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)),
    };
    ((ends ^ bytes.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Special(word) | Value::Choice(word) => write!(f, "{word}"),
            Value::Number(x) => write!(f, "{x}"),
            Value::Count(n) => write!(f, "{n}"),
            Value::Amount(PacketsOrBytes::Packets(n)) => write!(f, "{n} packets"),
            Value::Amount(PacketsOrBytes::Bytes(n)) => write!(f, "{n} B"),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    const fn flag(name: &'static str) -> Parameter {
        Parameter { name, kind: Kind::Flag, default: "true", ..Parameter::DEFAULTS }
    }

    static TABLE: [Parameter; 5] = [flag("a"), flag("ab"), flag("a_name_of_16_byt"), flag("a_name_longer_than_16_bytes"), flag("")];

    #[test]
    fn each_parameter_is_found_by_its_name_and_no_other_name_is() {
        let values = Values::defaults(&TABLE);
        for (at, parameter) in TABLE.iter().enumerate() {
            assert_eq!(Some(at), values.position(parameter.name), "{}", parameter.name);
        }
        for other in ["b", "aa", "a_name", "a_name_of_16_byt_", "\0"] {
            assert_eq!(None, values.position(other), "{other}");
        }
    }

    #[test]
    fn a_value_that_is_set_leaves_the_defaults_of_its_table() {
        let mut values = Values::defaults(&TABLE);
        values.set("ab", Value::Flag(false));
        assert_eq!((false, true), (values.get_as::<bool>("ab"), Values::defaults(&TABLE).get_as::<bool>("ab")));
        assert_eq!(2, Values::defaults(&TABLE[..2]).parameters().len());
    }

    #[test]
    fn a_condition_is_met_as_the_value_is_written() {
        let written = |value: Value| (value.is_written_as("true"), value.is_written_as("off"), value.is_written_as("3"));
        assert_eq!((true, false, false), written(Value::Flag(true)));
        assert_eq!((false, true, false), written(Value::Special("off")));
        assert_eq!((false, false, true), written(Value::Count(3)));
    }
}
