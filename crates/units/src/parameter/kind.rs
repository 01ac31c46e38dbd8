//! The kinds of values that a parameter may take, and how a user's text is read as one.

use super::Value;
use crate::Span;
use crate::distribution::{Distribution, DrawnQuantity};
use crate::quantity::{self, PacketsOrBytes};

/// The values a parameter may take; bounds are included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A real number.
    Number {
        min: f64,
        max: f64,
        unit: &'static str,
    },
    /// A whole number.
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
    Rate,
    Flag,
    Choice(&'static [&'static str]),
    /// One of these words, or the name of something outside of the program: [`is_congestion_control_name`].
    ChoiceOrName(&'static [&'static str]),
    /// A distribution that values are drawn from: `exponential 1 s`.
    Distribution {
        dimension: DrawnQuantity,
        min: f64,
        max: f64,
    },
    /// A name: a line of text that can be shown anywhere.
    Text,
}

const MAX_NAME_CHARS: usize = 100;
/// Longest name of a kernel's congestion control: TCP_CA_NAME_MAX without the zero at its end.
pub const MAX_CONGESTION_CONTROL_NAME_BYTES: usize = 15;
const ONE_DAY: Span = Span::from_secs(24 * 3600);

impl Kind {
    /// The same kind within bounds: numbers as they are, times in seconds.
    ///
    /// # Panics
    /// While compiling, if the kind has no bounds or the lower one is above the upper one.
    pub const fn with_bounds(self, min: f64, max: f64, unit: &'static str) -> Kind {
        assert!(min <= max, "the lower bound is above the upper one");
        match self {
            Kind::Number { .. } => Kind::Number { min, max, unit },
            Kind::Count { max: most, .. } => {
                assert!(max <= most as f64, "the field's type is too small for the bound");
                Kind::Count { min: min as u64, max: max as u64, unit }
            }
            Kind::Span { .. } => Kind::Span { min: span_from_seconds(min), max: span_from_seconds(max) },
            Kind::Distribution { dimension, .. } => Kind::Distribution { dimension, min, max },
            Kind::Amount | Kind::Rate | Kind::Flag | Kind::Choice(_) | Kind::ChoiceOrName(_) | Kind::Text => {
                panic!("this kind has no bounds")
            }
        }
    }

    pub(super) fn parse(&self, text: &str) -> Result<Value, String> {
        match *self {
            Kind::Number { min, max, .. } => parse_number_within(text, min, max).map(Value::Number),
            Kind::Count { min, max, unit } => parse_count_within(text, min, max, unit).map(Value::Count),
            Kind::Amount => quantity::parse_packets_or_bytes(text).map(Value::Amount),
            Kind::Span { min, max } => parse_span_within(text, min, max).map(Value::Span),
            Kind::Rate => quantity::parse_rate(text).map(Value::Rate),
            Kind::Flag => parse_flag(text).map(Value::Flag),
            Kind::Choice(words) => parse_choice(text, words).map(Value::Choice),
            Kind::ChoiceOrName(words) => parse_choice_or_kernel_name(text, words),
            Kind::Distribution { dimension, min, max } => parse_distribution_within(text, dimension, min, max).map(Value::Distribution),
            Kind::Text => parse_name(text).map(|name| Value::Text(name.to_owned())),
        }
    }

    pub(super) fn bounds_text(&self) -> String {
        match self {
            Kind::Number { min, max, .. } => number_bounds_text(*min, *max),
            Kind::Count { min, max, .. } => format!("{min} .. {max}"),
            Kind::Amount | Kind::Rate => "above 0".to_owned(),
            Kind::Span { min, max } => span_bounds_text(*min, *max),
            Kind::Flag => "true or false".to_owned(),
            // Pages and the laboratory offer the words.
            Kind::Choice(words) | Kind::ChoiceOrName(words) => words.join(", "),
            Kind::Distribution { dimension: DrawnQuantity::Time, min, max } => {
                span_bounds_text(span_from_seconds(*min), span_from_seconds(*max))
            }
            Kind::Distribution { min, max, .. } => number_bounds_text(*min, *max),
            Kind::Text => format!("1 .. {MAX_NAME_CHARS} characters"),
        }
    }

    pub(super) fn unit(&self) -> &'static str {
        match self {
            Kind::Number { unit, .. } | Kind::Count { unit, .. } => unit,
            Kind::Amount => "packets or bytes",
            Kind::Span { .. } | Kind::Distribution { dimension: DrawnQuantity::Time, .. } => "time",
            Kind::Distribution { dimension: DrawnQuantity::Bytes, .. } => "bytes",
            Kind::Rate => "rate",
            Kind::Flag
            | Kind::Choice(_)
            | Kind::ChoiceOrName(_)
            | Kind::Text
            | Kind::Distribution { dimension: DrawnQuantity::Count, .. } => "",
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Kind::Number { .. } => "number",
            Kind::Count { .. } => "whole number",
            Kind::Amount => "amount",
            Kind::Span { .. } => "time",
            Kind::Rate => "rate",
            Kind::Flag => "flag",
            Kind::Choice(_) | Kind::ChoiceOrName(_) => "choice",
            Kind::Distribution { .. } => "distribution",
            Kind::Text => "text",
        }
    }
}

const fn span_from_seconds(secs: f64) -> Span {
    Span::from_picos((secs * 1e12 + 0.5) as u64)
}

fn parse_number_within(text: &str, min: f64, max: f64) -> Result<f64, String> {
    let number = quantity::parse_number(text)
        .map_err(|why| if has_no_digit(text) { not_a_number_message(text, &number_bounds_text(min, max)) } else { why })?;
    if number >= min && number <= max {
        Ok(number)
    } else {
        Err(format!("{} must be {}", format_number(number), number_bounds_text(min, max)))
    }
}

fn number_bounds_text(min: f64, max: f64) -> String {
    if max == f64::INFINITY { format!("at least {min}") } else { format!("{} .. {}", format_number(min), format_number(max)) }
}

/// A number as people would write it: `1e308` is not three hundred digits.
fn format_number(number: f64) -> String {
    let (plain, short) = (number.to_string(), format!("{number:e}"));
    if plain.len() > 12 && short.len() < plain.len() { short } else { plain }
}

/// Whether a text holds no number at all, such as `inf` and `true`.
fn has_no_digit(text: &str) -> bool {
    !text.contains(|c: char| c.is_ascii_digit())
}

fn not_a_number_message(text: &str, wanted: &str) -> String {
    format!("\"{text}\" is not a number: it must be {wanted}")
}

/// A whole number, bare or in the parameter's own unit.
fn parse_count_within(text: &str, min: u64, max: u64, unit: &str) -> Result<u64, String> {
    let bare = !text.contains(|c: char| c.is_alphabetic() && !matches!(c, 'e' | 'E'));
    if has_no_digit(text) {
        return Err(not_a_number_message(text, &format!("a whole number, {min} .. {max}")));
    }
    let (number, fits) = match quantity::parse_packets_or_bytes(text)? {
        PacketsOrBytes::Packets(number) => (number, bare || unit == "packets"),
        PacketsOrBytes::Bytes(number) => (number, unit == "bytes"),
    };
    if !fits {
        let of = if unit.is_empty() { String::new() } else { format!(" of {unit}") };
        return Err(format!("\"{text}\" has the wrong unit; fix: give a whole number{of}, {min} .. {max}"));
    }
    if number.fract() != 0.0 || number < min as f64 || number > max as f64 {
        return Err(format!("{text} must be a whole number, {min} .. {max}"));
    }
    Ok(number as u64)
}

fn parse_span_within(text: &str, min: Span, max: Span) -> Result<Span, String> {
    let span =
        quantity::parse_span(text).map_err(|why| if why.contains("between") { out_of_bounds_message(text, min, max) } else { why })?;
    if span < min || span > max { Err(out_of_bounds_message(text, min, max)) } else { Ok(span) }
}

/// A distribution whose given numbers lie within the bounds, in seconds, bytes or as they are.
fn parse_distribution_within(text: &str, dimension: DrawnQuantity, min: f64, max: f64) -> Result<Distribution, String> {
    let distribution = Distribution::parse(text, dimension)?;
    if distribution.given_values().iter().all(|given| (min..=max).contains(given)) {
        return Ok(distribution);
    }
    let kind = Kind::Distribution { dimension, min, max };
    Err(format!("\"{text}\" must hold values within {}", kind.bounds_text()))
}

fn out_of_bounds_message(text: &str, min: Span, max: Span) -> String {
    format!("\"{text}\" must be {}", span_bounds_text(min, max))
}

fn span_bounds_text(min: Span, max: Span) -> String {
    format!("{} .. {}", format_span(min), format_span(max))
}

/// A time in the unit in which people would write it: short ones in microseconds, days in days.
fn format_span(span: Span) -> String {
    let (days, rest) = (span.picos() / ONE_DAY.picos(), span.picos() % ONE_DAY.picos());
    if days > 1 && rest == 0 {
        format!("{days} days")
    } else if span > Span::ZERO && span < Span::from_millis(1) {
        format!("{} us", span.seconds() * 1e6)
    } else {
        format!("{} s", span.seconds())
    }
}

fn parse_flag(text: &str) -> Result<bool, String> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("\"{text}\" must be true or false")),
    }
}

/// A name is shown in terminals, tables, figures and file names, so it is a line of text that says something.
fn parse_name(text: &str) -> Result<&str, String> {
    if text.chars().any(is_control_or_bidi) {
        return Err(format!("{text:?} must not hold control characters, such as a line break or an escape"));
    }
    if text.chars().all(|c| c.is_whitespace() || is_zero_width(c)) {
        return Err("must not be empty or blank".to_owned());
    }
    match text.chars().count() {
        length if length > MAX_NAME_CHARS => Err(format!("has {length} characters: at most {MAX_NAME_CHARS} are allowed")),
        _ => Ok(text),
    }
}

/// Control characters, and the invisible ones that break lines or change the direction of writing.
fn is_control_or_bidi(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Characters that show nothing.
fn is_zero_width(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{ad}')
}

/// The declared word itself, so that a value stores no copy.
fn parse_choice(text: &str, words: &[&'static str]) -> Result<&'static str, String> {
    words.iter().find(|word| **word == text).copied().ok_or_else(|| format!("\"{text}\" must be one of {}", words.join(", ")))
}

/// One of the words, or any name that a kernel can have.
fn parse_choice_or_kernel_name(text: &str, words: &[&'static str]) -> Result<Value, String> {
    match parse_choice(text, words) {
        Ok(word) => Ok(Value::Choice(word)),
        Err(_) if is_congestion_control_name(text) => Ok(Value::Text(text.to_owned())),
        Err(message) => Err(format!(
            "{message}, or a kernel's name: at most {MAX_CONGESTION_CONTROL_NAME_BYTES} letters, digits, underscores and hyphens"
        )),
    }
}

/// Whether a text is a name as Linux gives them to congestion controls: a letter, then letters, digits, `_` and `-`.
pub fn is_congestion_control_name(text: &str) -> bool {
    text.len() <= MAX_CONGESTION_CONTROL_NAME_BYTES
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_with_names_takes_its_words_and_what_a_kernel_could_call_something() {
        let kind = Kind::ChoiceOrName(&["reno", "cubic"]);
        assert_eq!(Ok(Value::Choice("cubic")), kind.parse("cubic"));
        for name in ["bbr", "my_cc-2", "exactly15bytes_"] {
            assert_eq!(Ok(Value::Text(name.to_owned())), kind.parse(name));
        }
        for wrong in ["", "2x", "sixteen_bytes_00", "a b", "a.b", "ü", "-a"] {
            assert!(kind.parse(wrong).unwrap_err().contains("must be one of reno, cubic, or a kernel's name"), "{wrong}");
        }
    }

    #[test]
    fn a_whole_number_is_bare_or_in_its_own_unit() {
        let count = |unit| Kind::Count { min: 1, max: 1_000_000, unit };
        assert_eq!(Ok(Value::Count(64_000)), count("bytes").parse("64 KB"));
        assert_eq!(Ok(Value::Count(64)), count("packets").parse("64 packets"));
        for unit in ["bytes", "packets", "ACKs", ""] {
            assert_eq!(Ok(Value::Count(1_000)), count(unit).parse("1e3"), "{unit}");
        }
        for (unit, text) in [("packets", "64 KB"), ("bytes", "64 packets"), ("", "3 packets"), ("ACKs", "3 B")] {
            assert!(count(unit).parse(text).unwrap_err().contains("wrong unit"), "{text} as {unit}");
        }
    }

    #[test]
    fn a_number_far_out_of_bounds_is_shown_short() {
        let kind = Kind::Number { min: 0.0, max: 1e9, unit: "" };
        assert_eq!(Err("1e308 must be 0 .. 1000000000".to_owned()), kind.parse("1e308"));
    }

    #[test]
    fn a_word_for_a_number_is_refused_with_the_bounds_and_no_unit() {
        let share = Kind::Number { min: 0.0, max: 1.0, unit: "" };
        for word in ["inf", "nan", "true", "-inf", "half", ""] {
            assert_eq!(Err(format!("\"{word}\" is not a number: it must be 0 .. 1")), share.parse(word));
            let count = Kind::Count { min: 1, max: 50, unit: "packets" };
            assert_eq!(Err(format!("\"{word}\" is not a number: it must be a whole number, 1 .. 50")), count.parse(word));
        }
        assert!(share.parse("50 %").unwrap_err().contains("without \"%\""));
    }

    #[test]
    fn bounds_in_days_are_read_in_days() {
        let kind = Kind::Span { min: Span::ZERO, max: Span::from_secs(100 * 24 * 3600) };
        assert_eq!("0 s .. 100 days", kind.bounds_text());
        assert_eq!(Ok(Value::Span(Span::from_secs(100 * 24 * 3600))), kind.parse("100 days"));
        assert_eq!(Err("\"101 days\" must be 0 s .. 100 days".to_owned()), kind.parse("101 days"));
    }

    #[test]
    fn a_name_is_a_line_of_text_that_can_be_shown_anywhere() {
        for name in ["near", "[x]", "a/b", "x^2_$", "_hidden", "Zürich, 60 flows"] {
            assert_eq!(Ok(Value::Text(name.to_owned())), Kind::Text.parse(name));
        }
        for name in ["", "  ", "\u{200b}", " \u{feff}", "a\nb", "\u{1b}[31m", "nul\0", "a\u{202e}b", "a\u{61c}b"] {
            assert!(Kind::Text.parse(name).is_err(), "{name:?}");
        }
        assert!(Kind::Text.parse(&"ä".repeat(100)).is_ok() && Kind::Text.parse(&"ä".repeat(101)).is_err());
    }

    #[test]
    fn a_time_out_of_bounds_is_told_the_parameters_own_bounds() {
        let kind = Kind::Span { min: Span::ZERO, max: Span::from_secs(3600) };
        for text in ["2 h", "1e9 s", "-1 s"] {
            assert_eq!(Err(format!("\"{text}\" must be 0 s .. 3600 s")), kind.parse(text));
        }
    }
}
