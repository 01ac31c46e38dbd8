//! Sound JSON in which an input has put other values: it gets further than text whose bytes are changed, which is seldom JSON.

use serde_json::{Value, json};

use crate::input::Input;

/// Edits that an input may make.
const MOST_EDITS: usize = 12;

/// Puts other values into a tree: numbers out of range, small texts that readers know, or another value of the tree.
pub fn edit(tree: &mut Value, input: &mut Input) {
    for _ in 0..MOST_EDITS {
        if input.is_empty() {
            return;
        }
        let (place, what) = (input.u16().into(), input.u8());
        let value = match what {
            0..=29 => None,
            30..=159 => Some(plain(what, input)),
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

fn count(tree: &Value) -> usize {
    match tree {
        Value::Array(values) => values.len() + values.iter().map(count).sum::<usize>(),
        Value::Object(entries) => entries.len() + entries.values().map(count).sum::<usize>(),
        _ => 0,
    }
}

/// The node with this number, modulo how many there are; the root has none.
fn node(tree: &mut Value, number: usize) -> Option<&mut Value> {
    let all = count(tree);
    if all == 0 { None } else { find(tree, &mut (number % all)) }
}

fn find<'t>(tree: &'t mut Value, left: &mut usize) -> Option<&'t mut Value> {
    let mut one = |value: &'t mut Value| {
        if *left == 0 {
            return Some(value);
        }
        *left -= 1;
        find(value, left)
    };
    match tree {
        Value::Array(values) => values.iter_mut().find_map(&mut one),
        Value::Object(entries) => entries.values_mut().find_map(&mut one),
        _ => None,
    }
}

/// Puts a value at a node, or empties it: a list loses its last member, a table its first.
fn replace(tree: &mut Value, number: usize, value: Option<Value>) {
    let Some(node) = node(tree, number) else { return };
    match (value, &mut *node) {
        (Some(value), _) => *node = value,
        (None, Value::Array(values)) => drop(values.pop()),
        (None, Value::Object(entries)) => {
            if let Some(key) = entries.keys().next().cloned() {
                entries.remove(&key);
            }
        }
        (None, _) => *node = Value::Null,
    }
}
