//! Overrides of a scenario: `flows.fragile.count=40`.
//!
//! A path selects members of a list by `name`, by number from 0, or all by `*`. Names are looked up in an index, so the time is linear in
//! the number of overrides and members.

use std::collections::BTreeMap;

use crate::problem::{Problem, format_names};
use crate::tree::{Node, NodeValue, Scalar};

/// Applies all overrides in order; returns all problems together.
pub fn apply_overrides(root: &mut Node, overrides: &[(String, String)]) -> Vec<Problem> {
    let mut writer = OverrideWriter::default();
    overrides.iter().filter_map(|(path, value)| writer.set(root, path, value).err()).collect()
}

/// Index of the names of members in the lists at the root.
#[derive(Default)]
struct OverrideWriter {
    indices: BTreeMap<String, BTreeMap<String, Vec<usize>>>,
}

impl OverrideWriter {
    fn set(&mut self, root: &mut Node, path: &str, value: &str) -> Result<(), Problem> {
        let steps: Vec<&str> = path.split('.').collect();
        if steps.iter().any(|step| step.is_empty()) {
            return Err(Problem::new(path, "an override is written as flows.fragile.count=40"));
        }
        let value = Node::parse_override_value(value).map_err(|message| Problem::new(path, message))?;
        self.set_at_root(root, &steps, &value).map_err(|message| Problem::new(path, message))
    }

    fn set_at_root(&mut self, root: &mut Node, steps: &[&str], value: &Node) -> Result<(), String> {
        let list = match (&mut root.value, steps) {
            (NodeValue::Table(entries), [key, _, ..]) => entries.iter_mut().find(|(name, _)| name == key).map(|(_, node)| &mut node.value),
            _ => None,
        };
        let (Some(NodeValue::List(members)), [key, step, rest @ ..]) = (list, steps) else {
            self.indices.remove(steps[0]);
            return set_at(root, steps, 0, value);
        };
        let index = self.indices.entry((*key).to_owned()).or_insert_with(|| member_indices_by_name(members));
        set_in_matching_members(members, index, step, (steps, 2), value)?;
        if matches!(rest, [] | ["name", ..]) {
            self.indices.remove(*key);
        }
        Ok(())
    }
}

fn member_indices_by_name(members: &[Node]) -> BTreeMap<String, Vec<usize>> {
    let mut names: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, member) in members.iter().enumerate() {
        if let Some(name) = member.get("name").and_then(Node::as_scalar) {
            names.entry(name.text.clone()).or_default().push(at);
        }
    }
    names
}

/// Sets the value at a path, from its step `at` on.
fn set_at(node: &mut Node, path: &[&str], at: usize, value: &Node) -> Result<(), String> {
    let Some(step) = path.get(at) else {
        *node = value.clone();
        return Ok(());
    };
    let rest = at + 1;
    match &mut node.value {
        NodeValue::Table(entries) => {
            if let Some((_, node)) = entries.iter_mut().find(|(name, _)| name == step) {
                return set_at(node, path, rest, value);
            }
            let mut node = if rest == path.len() { value.clone() } else { Node { value: NodeValue::Table(Vec::new()), line: None } };
            set_at(&mut node, path, rest, value)?;
            entries.push(((*step).to_owned(), node));
            Ok(())
        }
        NodeValue::List(members) => {
            let index = member_indices_by_name(members);
            set_in_matching_members(members, &index, step, (path, rest), value)
        }
        NodeValue::Scalar(Scalar { text, .. }) => Err(not_a_table_message(text, path, at)),
    }
}

/// Message for a path that continues beyond a single value.
fn not_a_table_message(text: &str, path: &[&str], at: usize) -> String {
    let beside = [&path[..at - 1], &path[at..]].concat().join(".");
    format!("\"{text}\" has no member {}; fix: give a table instead, or set {beside}", path[at])
}

fn set_in_matching_members(
    members: &mut [Node],
    index: &BTreeMap<String, Vec<usize>>,
    step: &str,
    (path, at): (&[&str], usize),
    value: &Node,
) -> Result<(), String> {
    let chosen: Vec<usize> = match (step, index.get(step), step.parse()) {
        ("*", ..) => (0..members.len()).collect(),
        (_, Some(named), _) => named.clone(),
        (_, None, Ok(member)) if member < members.len() => vec![member],
        _ => {
            let names: Vec<&str> = members.iter().filter_map(|member| Some(member.get("name")?.as_scalar()?.text.as_str())).collect();
            return Err(format!("unknown member \"{step}\"; fix: use one of {}", format_names(&names)));
        }
    };
    chosen.into_iter().try_for_each(|member| set_at(&mut members[member], path, at, value))
}
