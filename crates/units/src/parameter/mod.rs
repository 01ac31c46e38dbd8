//! How a parameter is declared: once, beside the algorithm that reads it.
//!
//! [`parameters!`](crate::parameters) makes a table of [`Parameter`]s and a struct with typed fields from one declaration, and
//! [`words!`](crate::words) an enum and the words that users write for it. The checks of a scenario, the schema, the `show` text and the
//! documentation are made from the table. A table may as well be built while the program runs, for an algorithm that a user brings.

mod declare;
mod kind;
mod values;

pub use declare::{OrOff, ParameterType, concat_parameter_tables, panic_mistyped};
pub use kind::{Kind, MAX_CONGESTION_CONTROL_NAME_BYTES, is_congestion_control_name};

use crate::distribution::DrawnQuantity;
pub use values::{Value, Values};

/// Declaration of a parameter: kind, default and source.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    pub name: &'static str,
    pub kind: Kind,
    /// Keyword that may replace a value, such as `auto`.
    pub special_word: Option<&'static str>,
    /// Whether a list of values is also accepted.
    pub accepts_list: bool,
    /// The default as a user would write it; of a required parameter an example.
    pub default: &'static str,
    /// Whether it is required.
    pub required: bool,
    /// One sentence.
    pub doc: &'static str,
    /// RFC section, paper or simulator.
    pub source: &'static str,
    /// The algorithm reads it only where all of these hold.
    pub read_when: &'static [ReadCondition],
    /// Values that switch something off, each with what they do.
    pub off_values: &'static [(&'static str, &'static str)],
    /// Values among which one usually chooses.
    pub usual: Option<UsualRange>,
}

/// Range of a parameter's usual values, for a slider: numbers as they are, times in seconds, rates in bit/s, amounts in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UsualRange {
    pub min: f64,
    pub max: f64,
    pub scale: Scale,
}

crate::words! {
    /// Scale of a slider.
    pub enum Scale { Linear = "linear", Log = "log" }
}

impl UsualRange {
    /// A range whose steps are equal differences.
    pub const fn linear(min: f64, max: f64) -> UsualRange {
        assert!(min < max, "the usual values are a range");
        UsualRange { min, max, scale: Scale::Linear }
    }

    /// A range whose steps are equal ratios.
    pub const fn log(min: f64, max: f64) -> UsualRange {
        assert!(0.0 < min && min < max, "a logarithmic scale begins above 0");
        UsualRange { min, max, scale: Scale::Log }
    }
}

/// That another parameter of the same table has one of some values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadCondition {
    pub parameter: &'static str,
    pub values: &'static [&'static str],
}

impl Parameter {
    /// Defaults of a declaration: a single value, no keyword, always read.
    pub const DEFAULTS: Parameter = Parameter {
        name: "",
        kind: Kind::Flag,
        special_word: None,
        accepts_list: false,
        default: "",
        required: false,
        doc: "",
        source: "",
        read_when: &[],
        off_values: &[],
        usual: None,
    };

    /// Reads what a user wrote for this parameter. The error names the remedy, not the place.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        match self.special_word {
            Some(word) if text == word => Ok(Value::Special(word)),
            Some(word) if !text.contains(|c: char| c.is_ascii_digit()) => self.kind.parse(text).map_err(|why| format!("{why}, or {word}")),
            _ => self.kind.parse(text),
        }
    }

    /// The default, read; of a required parameter its example.
    ///
    /// # Panics
    /// If the declaration's default does not fit its own kind: a fault of the program, which a test looks for.
    pub fn default_value(&self) -> Value {
        let value = self.parse(self.default).unwrap_or_else(|why| panic!("default of {}: {why}", self.name));
        if self.accepts_list && !matches!(value, Value::Special(_)) { Value::List(vec![value]) } else { value }
    }

    /// The bounds in words, for the documentation.
    pub fn bounds_text(&self) -> String {
        let bounds = self.kind.bounds_text();
        self.special_word.map_or_else(|| bounds.clone(), |word| format!("{bounds} or {word}"))
    }

    /// The unit in words, empty where there is none.
    pub fn unit(&self) -> &'static str {
        self.kind.unit()
    }

    /// The kind's name in the documentation.
    pub fn kind_name(&self) -> String {
        let list = if self.accepts_list { " or list" } else { "" };
        let word = self.special_word.map_or(String::new(), |word| format!(" or {word}"));
        format!("{}{list}{word}", self.kind.name())
    }

    /// A value of the usual range as a user would write it.
    pub fn format_usual_value(&self, value: f64) -> String {
        match self.kind {
            Kind::Span { .. } | Kind::Distribution { dimension: DrawnQuantity::Time, .. } => format!("{value} s"),
            Kind::Rate => format!("{value} bps"),
            Kind::Amount => format!("{value} packets"),
            _ => value.to_string(),
        }
    }

    /// Name of the effect that this value switches off, if any.
    pub fn effect_disabled_by(&self, value: &Value) -> Option<&'static str> {
        self.off_values.iter().find(|(off, _)| self.parse(off).as_ref() == Ok(value)).map(|(_, effect)| *effect)
    }
}

impl std::fmt::Display for ReadCondition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} = {}", self.parameter, self.values.join(" or "))
    }
}
