//! Reads JSON into the types of a case; a refusal names the place, what it must be, and what it is.

use ecnlab_units::{Span, Time};
use serde::de::value::MapDeserializer;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;
use serde_path_to_error::Segment;

/// Microseconds in a day.
const DAY_US: f64 = 86_400e6;

/// Reads a value.
///
/// # Errors
/// The place of the first value that is missing or wrong.
pub fn deserialize_json_value<T: DeserializeOwned>(json: &Json) -> Result<T, String> {
    serde_path_to_error::deserialize(json).map_err(|error| serde_error_message_with_path(&error, json))
}

/// Reads the rows of a table, whose columns another list names.
///
/// # Errors
/// The place of the first value that is missing or wrong.
pub fn read_rows_by_column_names<'j, T: DeserializeOwned>(json: &'j Json, rows: &str, columns: &str) -> Result<Vec<T>, String> {
    let list = |name: &str| match json.get(name) {
        Some(list) => list.as_array().ok_or_else(|| wrong_value_message(json, &format!("/{name}"), "a list")),
        None => Err(format!("{name} is missing")),
    };
    let name =
        |(at, column): (usize, &'j Json)| column.as_str().ok_or_else(|| wrong_value_message(json, &format!("/{columns}/{at}"), "a string"));
    let names: Vec<&str> = list(columns)?.iter().enumerate().map(name).collect::<Result<_, _>>()?;
    let read_row = |(at, row): (usize, &'j Json)| {
        let members = row.as_array().ok_or_else(|| wrong_value_message(json, &format!("/{rows}/{at}"), "a list"))?;
        if members.len() != names.len() {
            return Err(format!("{rows}[{at}] has {} values for {} columns", members.len(), names.len()));
        }
        let named_members = || names.iter().copied().zip(members);
        serde_path_to_error::deserialize(MapDeserializer::new(named_members())).map_err(|error| {
            let row: Json = named_members().map(|(name, member)| (name.to_owned(), member.clone())).collect();
            format!("{rows}[{at}].{}", serde_error_message_with_path(&error, &row)).replace(".the case", "")
        })
    };
    list(rows)?.iter().enumerate().map(read_row).collect()
}

/// Refuses the value to which a JSON pointer leads.
pub fn wrong_value_message(json: &Json, pointer: &str, wanted: &str) -> String {
    format!("{} must be {wanted}, not {}", path_of_pointer(pointer), json.pointer(pointer).unwrap_or(&Json::Null))
}

/// A JSON pointer as refusals name it: `packets[3].seq`.
fn path_of_pointer(pointer: &str) -> String {
    let steps = pointer.split('/').skip(1);
    let steps = steps.map(|step| if step.parse::<usize>().is_ok() { format!("[{step}]") } else { format!(".{step}") });
    let place = steps.collect::<String>().trim_start_matches('.').to_owned();
    if place.is_empty() { "the case".to_owned() } else { place }
}

/// Refuses a value by the error of serde.
fn serde_error_message_with_path(error: &serde_path_to_error::Error<serde_json::Error>, json: &Json) -> String {
    let steps = error.path().iter().map(|segment| match segment {
        Segment::Seq { index } => format!("/{index}"),
        Segment::Map { key } => format!("/{key}"),
        Segment::Enum { .. } | Segment::Unknown => String::new(),
    });
    let (pointer, message) = (steps.collect::<String>(), error.inner().to_string());
    if let Some(name) = message.strip_prefix("missing field `") {
        return format!("{} is missing", path_of_pointer(&format!("{pointer}/{}", name.trim_end_matches('`'))));
    }
    if message.starts_with('[') {
        return path_of_pointer(&pointer) + &message;
    }
    match message.strip_prefix("must be ").or_else(|| Some(message.split_once(", expected ")?.1)) {
        Some(wanted) => wrong_value_message(json, &pointer, if wanted.starts_with("struct ") { "an object" } else { wanted }),
        None => format!("{}: {message}", path_of_pointer(&pointer)),
    }
}

/// Reads a value by the rules of `W`.
pub fn deserialize_via<'de, D: Deserializer<'de>, W: Deserialize<'de> + Into<T>, T>(from: D) -> Result<T, D::Error> {
    W::deserialize(from).map(Into::into)
}

/// Reads a value that must not be null by the rules of `W`.
pub fn deserialize_non_null<'de, D: Deserializer<'de>, W: Deserialize<'de> + Into<T>, T>(from: D) -> Result<Option<T>, D::Error> {
    W::deserialize(from).map(|value| Some(value.into()))
}

/// Reads a value by the rules of `W`, or null.
pub fn deserialize_or_null<'de, D: Deserializer<'de>, W: Deserialize<'de> + Into<T>, T>(from: D) -> Result<Option<T>, D::Error> {
    Ok(Option::<W>::deserialize(from)?.map(Into::into))
}

/// Reads a value, where null is the default.
pub fn deserialize_or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// Reads a value by the rules of `W`, or `none`.
pub fn deserialize_or_sentinel<'de, D: Deserializer<'de>, W: TryFrom<Json, Error = String>>(
    from: D,
    none: &Json,
) -> Result<Option<W>, D::Error> {
    let json = Json::deserialize(from)?;
    if json == *none { Ok(None) } else { W::try_from(json).map(Some).map_err(D::Error::custom) }
}

/// Reads one of these words.
pub fn deserialize_word<'de, D: Deserializer<'de>, T: Copy>(from: D, words: &[(&str, T)]) -> Result<T, D::Error> {
    meaning_of_word(&String::deserialize(from)?, words)
}

/// The meaning of one of these words.
pub fn meaning_of_word<E: Error, T: Copy>(word: &str, words: &[(&str, T)]) -> Result<T, E> {
    let known = || {
        let names: Vec<String> = words.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        if names.len() == 2 { names.join(" or ") } else { format!("one of {}", names.join(", ")) }
    };
    words.iter().find(|(name, _)| *name == word).map(|(_, meaning)| *meaning).ok_or_else(|| E::custom(format!("must be {}", known())))
}

/// A whole number within bounds.
#[derive(Clone, Copy, PartialEq, PartialOrd, Deserialize)]
#[serde(try_from = "Json")]
pub struct BoundedInteger<const MIN: u64, const MAX: u64>(u64);

impl<const MIN: u64, const MAX: u64> TryFrom<Json> for BoundedInteger<MIN, MAX> {
    type Error = String;

    fn try_from(json: Json) -> Result<Self, String> {
        let number = non_negative_number(&json)?;
        match number as u64 {
            _ if number.fract() != 0.0 => Err("must be a whole number".to_owned()),
            whole if !(MIN..=MAX).contains(&whole) => Err(format!("must be from {MIN} to {MAX}")),
            whole => Ok(BoundedInteger(whole)),
        }
    }
}

macro_rules! whole_as {
    ($($type:ty),+) => {$(
        impl<const MIN: u64, const MAX: u64> From<BoundedInteger<MIN, MAX>> for $type {
            fn from(BoundedInteger(number): BoundedInteger<MIN, MAX>) -> $type {
                number as $type
            }
        }
    )+};
}
whole_as!(u8, u32, u64);

/// Microseconds, at most a day of them.
#[derive(Clone, Copy, PartialEq, PartialOrd, Deserialize)]
#[serde(try_from = "Json")]
pub struct Micros(Span);

/// Milliseconds, 0 or more, and not longer than a case.
#[derive(Deserialize)]
#[serde(try_from = "Json")]
pub struct Millis(Span);

impl TryFrom<Json> for Millis {
    type Error = String;

    fn try_from(json: Json) -> Result<Millis, String> {
        let millis = non_negative_number(&json)?;
        let Micros(span) = Micros::try_from(Json::from(millis * 1e3))?;
        Ok(Millis(span))
    }
}

impl From<Millis> for Span {
    fn from(Millis(span): Millis) -> Span {
        span
    }
}

impl TryFrom<Json> for Micros {
    type Error = String;

    fn try_from(json: Json) -> Result<Micros, String> {
        let micros = non_negative_number(&json)?;
        if micros > DAY_US {
            Err("must be at most a day of microseconds".to_owned())
        } else {
            Ok(Micros(Span::from_picos((micros * 1e6).round() as u64)))
        }
    }
}

impl From<Micros> for Span {
    fn from(Micros(span): Micros) -> Span {
        span
    }
}

impl From<Micros> for Time {
    fn from(Micros(span): Micros) -> Time {
        Time::ZERO + span
    }
}

fn non_negative_number(json: &Json) -> Result<f64, String> {
    json.as_f64().filter(|number| *number >= 0.0).ok_or_else(|| "must be a number from 0".to_owned())
}

/// Two values, the smaller one first.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "Vec<W>", bound = "W: Deserialize<'de> + PartialOrd + Copy")]
pub struct OrderedPair<W>(W, W);

impl<W: PartialOrd + Copy> TryFrom<Vec<W>> for OrderedPair<W> {
    type Error = &'static str;

    fn try_from(values: Vec<W>) -> Result<OrderedPair<W>, &'static str> {
        match values[..] {
            [from, to] if from <= to => Ok(OrderedPair(from, to)),
            [_, _] => Err("must be a pair with the smaller one first"),
            _ => Err("must be a pair"),
        }
    }
}

impl<T, W: Into<T>> From<OrderedPair<W>> for (T, T) {
    fn from(OrderedPair(from, to): OrderedPair<W>) -> (T, T) {
        (from.into(), to.into())
    }
}

/// A value for each side.
#[derive(Deserialize)]
pub struct PerSide<T> {
    a: T,
    b: T,
}

impl<T, U: From<T>> From<PerSide<T>> for [U; 2] {
    fn from(PerSide { a, b }: PerSide<T>) -> [U; 2] {
        [a.into(), b.into()]
    }
}
