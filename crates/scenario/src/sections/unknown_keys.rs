//! Keys of a queue in the wrong table: one problem per kind of key names the right table.

use crate::read::{Reader, TableInput};
use crate::tree::{Node, NodeValue, ScalarKind};

/// Table in which a misplaced key belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum KnownKeyLocation {
    /// The child table.
    InTable,
    /// The parent table.
    InParentTable,
    /// A table that this one has replaced, or none.
    Elsewhere,
}

/// Reports the unknown keys of a table. `location` returns the right table of a key, `message` the text for several keys with the same
/// location.
pub fn report_unknown_keys(
    reader: &mut Reader,
    given: &TableInput,
    allowed_keys: &[&'static str],
    location: impl Fn(&str) -> Option<KnownKeyLocation>,
    message: impl Fn(KnownKeyLocation, &[&str]) -> String,
) {
    let unknown_keys = || given_keys(given).filter(|key| !allowed_keys.contains(key)).filter_map(|key| Some((key, location(key)?)));
    reader
        .reject_unknown_keys(given, allowed_keys.iter().copied().chain(unknown_keys().map(|(key, _)| key)).collect::<Vec<_>>().into_iter());
    for kind in [KnownKeyLocation::InTable, KnownKeyLocation::InParentTable, KnownKeyLocation::Elsewhere] {
        let keys_at_location: Vec<&str> = unknown_keys().filter(|(_, location)| *location == kind).map(|(key, _)| key).collect();
        if let Some(first) = keys_at_location.first() {
            reader.report(given, first, message(kind, &keys_at_location));
        }
    }
}

/// The verb for one or several keys.
pub fn belongs_verb(keys: &[&str]) -> &'static str {
    if keys.len() == 1 { "belongs" } else { "belong" }
}

fn given_keys<'g>(given: &'g TableInput) -> impl Iterator<Item = &'g str> {
    given.node.entries().unwrap_or_default().iter().map(|(key, _)| key.as_str())
}

/// Members of a table as a scenario writes them, `a = 1, b = "x"`.
pub fn format_key_value_pairs(node: &Node, wanted: impl Fn(&str) -> bool) -> String {
    let entries = node.entries().unwrap_or_default().iter().filter(|(key, _)| wanted(key));
    entries.map(|(key, member)| format!("{key} = {}", format_value(member))).collect::<Vec<_>>().join(", ")
}

/// A value in the syntax of a scenario.
pub fn format_value(node: &Node) -> String {
    match &node.value {
        NodeValue::Scalar(scalar) if scalar.form == ScalarKind::Text => format!("\"{}\"", scalar.text),
        NodeValue::Scalar(scalar) => scalar.text.clone(),
        NodeValue::List(list) => format!("[{}]", list.iter().map(format_value).collect::<Vec<_>>().join(", ")),
        NodeValue::Table(_) => format!("{{ {} }}", format_key_value_pairs(node, |_| true)),
    }
}
