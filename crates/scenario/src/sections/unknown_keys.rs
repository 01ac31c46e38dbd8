//! Keys of a queue that stand where they do not belong: each is told where it does, several of one kind in one problem.

use crate::read::{Given, Reader};
use crate::tree::{Form, Node, Tree};

/// Where a key belongs that a table does not have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// In the table of what stands inside.
    Inside,
    /// In the table around this one.
    Around,
    /// In a table that has been replaced by this one, or in none.
    Elsewhere,
}

/// Reports the keys that a table does not have; `home` says where one belongs, if anywhere, and `say` what to do about several of one home.
pub fn report(
    reader: &mut Reader,
    given: &Given,
    own: &[&'static str],
    home: impl Fn(&str) -> Option<Home>,
    say: impl Fn(Home, &[&str]) -> String,
) {
    let strays = || keys(given).filter(|key| !own.contains(key)).filter_map(|key| Some((key, home(key)?)));
    reader.only(given, own.iter().copied().chain(strays().map(|(key, _)| key)).collect::<Vec<_>>().into_iter());
    for kind in [Home::Inside, Home::Around, Home::Elsewhere] {
        let of_kind: Vec<&str> = strays().filter(|(_, home)| *home == kind).map(|(key, _)| key).collect();
        if let Some(first) = of_kind.first() {
            reader.report(given, first, say(kind, &of_kind));
        }
    }
}

/// Whether one or several are spoken of.
pub fn belongs(keys: &[&str]) -> &'static str {
    if keys.len() == 1 { "belongs" } else { "belong" }
}

fn keys<'g>(given: &'g Given) -> impl Iterator<Item = &'g str> {
    given.node.entries().unwrap_or_default().iter().map(|(key, _)| key.as_str())
}

/// Members of a table as a scenario writes them, `a = 1, b = "x"`.
pub fn members(node: &Node, wanted: impl Fn(&str) -> bool) -> String {
    let entries = node.entries().unwrap_or_default().iter().filter(|(key, _)| wanted(key));
    entries.map(|(key, member)| format!("{key} = {}", value(member))).collect::<Vec<_>>().join(", ")
}

/// A value as a scenario writes it.
pub fn value(node: &Node) -> String {
    match &node.value {
        Tree::Scalar(scalar) if scalar.form == Form::Text => format!("\"{}\"", scalar.text),
        Tree::Scalar(scalar) => scalar.text.clone(),
        Tree::List(list) => format!("[{}]", list.iter().map(value).collect::<Vec<_>>().join(", ")),
        Tree::Table(_) => format!("{{ {} }}", members(node, |_| true)),
    }
}
