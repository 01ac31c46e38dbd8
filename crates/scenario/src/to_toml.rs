//! A valid scenario as TOML: every parameter in force.

use serde_json::{Map, Value as Json};
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, Value as Toml};

use crate::scenario::Scenario;

impl Scenario {
    /// The scenario as TOML with every parameter in force. It reads as the same scenario again, with the same key.
    pub fn to_toml(&self) -> String {
        let mut document = DocumentMut::new();
        if let Json::Object(members) = &self.resolved {
            *document.as_table_mut() = json_to_toml_table(members);
        }
        document.to_string()
    }
}

/// A table: single values first, as TOML requires, then its tables.
fn json_to_toml_table(members: &Map<String, Json>) -> Table {
    let mut table = Table::new();
    let (tables, values): (Vec<_>, Vec<_>) = members.iter().partition(|(_, value)| is_table_or_tables(value));
    for (key, value) in values.into_iter().chain(tables) {
        table.insert(key, json_to_toml_item(value));
    }
    table
}

fn is_table_or_tables(value: &Json) -> bool {
    match value {
        Json::Object(_) => true,
        Json::Array(values) => !values.is_empty() && values.iter().all(Json::is_object),
        _ => false,
    }
}

fn json_to_toml_item(value: &Json) -> Item {
    match value {
        Json::Object(members) => Item::Table(json_to_toml_table(members)),
        Json::Array(values) if is_table_or_tables(value) => {
            Item::ArrayOfTables(values.iter().filter_map(Json::as_object).map(json_to_toml_table).collect::<ArrayOfTables>())
        }
        _ => Item::Value(json_to_inline_toml_value(value)),
    }
}

/// A value that is no table. A scenario has no null.
fn json_to_inline_toml_value(value: &Json) -> Toml {
    match value {
        Json::Bool(flag) => (*flag).into(),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64().unwrap_or(f64::NAN).into(),
        },
        Json::String(text) => text.as_str().into(),
        Json::Array(values) => Toml::Array(values.iter().map(json_to_inline_toml_value).collect::<Array>()),
        Json::Object(members) => {
            Toml::InlineTable(members.iter().map(|(key, value)| (key.as_str(), json_to_inline_toml_value(value))).collect())
        }
        Json::Null => "".into(),
    }
}
