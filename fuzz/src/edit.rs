//! Sound JSON in which an input has put other values: it gets further than text whose bytes are changed, which is seldom JSON.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::input::Input;

/// Edits that an input may make.
const MOST_EDITS: usize = 12;

/// A tree of JSON whose values can be replaced.
pub trait Tree: Clone {
    /// A value that parses as itself.
    fn plain(value: Value) -> Self;

    /// How many values stand below this one.
    fn count(&self) -> usize;

    /// The value below this one that `left` others stand before; `left` is less by those that were passed over.
    fn find(&mut self, left: &mut usize) -> Option<&mut Self>;

    /// Takes something away: a list loses its last member, a table its first, in whose place its last one comes; all else is null.
    fn shorten(&mut self);
}

/// Puts other values into a tree: numbers out of range, small texts that readers know, or another value of the tree.
pub fn edit(tree: &mut impl Tree, input: &mut Input) {
    for _ in 0..MOST_EDITS {
        if input.is_empty() {
            return;
        }
        let (place, what) = (input.u16().into(), input.u8());
        let value = match what {
            0..=29 => None,
            30..=159 => Some(Tree::plain(plain(what, input))),
            _ => node(tree, input.u16().into()).map(|node| node.clone()),
        };
        replace(tree, place, value);
    }
}

fn plain(what: u8, input: &mut Input) -> Value {
    const TEXTS: [&str; 16] = [
        "",
        "off",
        "auto",
        "0 s",
        "1 ms",
        "213 days",
        "1 bps",
        "100 Gbps",
        "0 B",
        "1 GB",
        "1e300",
        "-1",
        "ns2",
        "linux",
        "uniform 0 s to 1 s",
        "a.b",
    ];
    match what % 16 {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(false),
        3 => json!(0),
        4 => json!(-1),
        5 => json!(input.u8()),
        6 => json!(input.u16()),
        7 => json!(input.u32()),
        8 => json!(input.u64()),
        9 => json!(f64::from(input.u8()) / 255.0),
        10 => json!(1e300),
        11 => json!([]),
        12 => json!({}),
        13 => json!([[input.u8(), input.u16()]]),
        _ => json!(TEXTS[input.below(TEXTS.len())]),
    }
}

/// The node with this number, modulo how many there are; the root has none.
fn node<T: Tree>(tree: &mut T, number: usize) -> Option<&mut T> {
    let all = tree.count();
    if all == 0 { None } else { tree.find(&mut (number % all)) }
}

/// Puts a value at a node, or takes something away there.
fn replace<T: Tree>(tree: &mut T, number: usize, value: Option<T>) {
    let Some(node) = node(tree, number) else { return };
    match value {
        Some(value) => *node = value,
        None => node.shorten(),
    }
}

/// The first of these values and those below them that `left` others stand before.
fn find_among<'t, T: Tree + 't>(mut values: impl Iterator<Item = &'t mut T>, left: &mut usize) -> Option<&'t mut T> {
    values.find_map(|value| {
        if *left == 0 {
            return Some(value);
        }
        *left -= 1;
        value.find(left)
    })
}

impl Tree for Value {
    fn plain(value: Value) -> Value {
        value
    }

    fn count(&self) -> usize {
        match self {
            Value::Array(values) => values.len() + values.iter().map(Tree::count).sum::<usize>(),
            Value::Object(entries) => entries.len() + entries.values().map(Tree::count).sum::<usize>(),
            _ => 0,
        }
    }

    fn find(&mut self, left: &mut usize) -> Option<&mut Value> {
        match self {
            Value::Array(values) => find_among(values.iter_mut(), left),
            Value::Object(entries) => find_among(entries.values_mut(), left),
            _ => None,
        }
    }

    fn shorten(&mut self) {
        match self {
            Value::Array(values) => drop(values.pop()),
            Value::Object(entries) => {
                if let Some(key) = entries.keys().next().cloned() {
                    entries.swap_remove(&key);
                }
            }
            _ => *self = Value::Null,
        }
    }
}

/// JSON of which only the text is needed. Its keys and scalar values are texts already, which all copies of a tree share.
#[derive(Clone, Debug)]
pub enum TextTree {
    Single(Cow<'static, str>),
    List(Vec<TextTree>),
    /// Each key as JSON has it, with the colon.
    Table(Vec<(&'static str, TextTree)>),
}

impl TextTree {
    /// A tree that is copied often.
    pub fn of(value: Value) -> TextTree {
        match value {
            Value::Array(values) => TextTree::List(values.into_iter().map(TextTree::of).collect()),
            Value::Object(entries) => {
                let entry = |(key, value)| (&*format!("{}:", Value::String(key)).leak(), TextTree::of(value));
                TextTree::Table(entries.into_iter().map(entry).collect())
            }
            single => TextTree::Single(Cow::Borrowed(single.to_string().leak())),
        }
    }

    pub fn write(&self, out: &mut String) {
        match self {
            TextTree::Single(text) => out.push_str(text),
            TextTree::List(values) => {
                out.push('[');
                for (at, value) in values.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { "," });
                    value.write(out);
                }
                out.push(']');
            }
            TextTree::Table(entries) => {
                out.push('{');
                for (at, (key, value)) in entries.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { "," });
                    out.push_str(key);
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

impl Tree for TextTree {
    fn plain(value: Value) -> TextTree {
        match value {
            Value::Array(values) => TextTree::List(values.into_iter().map(TextTree::plain).collect()),
            Value::Object(entries) if entries.is_empty() => TextTree::Table(Vec::new()),
            Value::Object(_) => TextTree::of(value),
            single => TextTree::Single(Cow::Owned(single.to_string())),
        }
    }

    fn count(&self) -> usize {
        match self {
            TextTree::Single(_) => 0,
            TextTree::List(values) => values.len() + values.iter().map(Tree::count).sum::<usize>(),
            TextTree::Table(entries) => entries.len() + entries.iter().map(|(_, value)| value.count()).sum::<usize>(),
        }
    }

    fn find(&mut self, left: &mut usize) -> Option<&mut TextTree> {
        match self {
            TextTree::Single(_) => None,
            TextTree::List(values) => find_among(values.iter_mut(), left),
            TextTree::Table(entries) => find_among(entries.iter_mut().map(|(_, value)| value), left),
        }
    }

    fn shorten(&mut self) {
        match self {
            TextTree::Single(text) => *text = Cow::Borrowed("null"),
            TextTree::List(values) => drop(values.pop()),
            TextTree::Table(entries) if entries.is_empty() => {}
            TextTree::Table(entries) => drop(entries.swap_remove(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_trees_are_the_same_after_the_same_edits() {
        let value = json!({"a": [1, {"b": "c", "d": [[], {}, null]}], "e\"": 0.5, "f": {"g": {"h": 1e300, "i": true}}});
        let mut edited = 0;
        for seed in 0..2000_u32 {
            let bytes: Vec<u8> = (0..48_u32)
                .map(|at| (seed.wrapping_mul(2_654_435_761) ^ at.wrapping_mul(0x9e37_79b1)).to_be_bytes()[at as usize % 4])
                .collect();
            let (mut one, mut other, mut text) = (value.clone(), TextTree::of(value.clone()), String::new());
            edit(&mut one, &mut Input(&bytes));
            edit(&mut other, &mut Input(&bytes));
            other.write(&mut text);
            assert_eq!(one.to_string(), text);
            edited += u32::from(one != value);
        }
        assert!(edited > 1900, "{edited}");
    }
}
