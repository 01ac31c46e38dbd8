//! `impair`: the impairments of a link before its queue, in order.

use ecnlab_sim::ImpairmentSpec;
use ecnlab_sim::impairment::{IMPAIRMENT_KINDS, Impairment, ImpairmentKeys, ImpairmentKind};
use serde_json::{Value as Json, json};

use super::declaration::{TableContent, TableDeclaration, kind_and_values_to_json};
use crate::read::{Reader, TableInput, parameter_example_line, parameter_names};
use crate::tree::Node;

/// Maximum number of impairments of one link.
const MAX_IMPAIRMENTS: usize = 16;

pub const IMPAIR: TableDeclaration = TableDeclaration {
    key: "impair",
    content: TableContent::Impairments,
    required: false,
    doc: "Impairments before the queue, applied in this order, after those of the keys ecn, loss_every and loss.",
    example: "[{ kind = \"loss\", rate = 0.01 }]",
};

/// The impairments of one direction of a link.
#[derive(Clone, Default)]
pub struct Impairments {
    pub spec: Option<Box<ImpairmentSpec>>,
    /// The list in a form that can be read again.
    pub described: Vec<Json>,
}

impl Impairments {
    /// Adds the list to the link's description, unless it is empty.
    pub fn describe(&self, link: &mut Json) {
        if !self.described.is_empty() {
            link[IMPAIR.key] = json!(self.described);
        }
    }
}

/// Reads the list, after the impairments of the separate keys. Invalid parts are omitted.
pub fn read(reader: &mut Reader, given: &TableInput, keys: Option<ImpairmentKeys>) -> Impairments {
    let parts: Vec<(Impairment, Json)> = impairment_tables(reader, given).iter().filter_map(|given| read_part(reader, given)).collect();
    let (parts, described): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    let keys = keys.into_iter().flat_map(ImpairmentKeys::impairments);
    Impairments { spec: ImpairmentSpec::from_parts(keys.chain(parts)), described }
}

/// Tables in the list, each with its path.
fn impairment_tables<'a>(reader: &mut Reader, given: &TableInput<'a>) -> Vec<TableInput<'a>> {
    let Some(node) = given.node.get(IMPAIR.key) else { return Vec::new() };
    let Some(list) = node.as_list() else {
        reader.report(given, IMPAIR.key, format!("must be a list of tables, as in {} = {}", IMPAIR.key, IMPAIR.example));
        return Vec::new();
    };
    if list.len() > MAX_IMPAIRMENTS {
        reader.report(given, IMPAIR.key, format!("{} impairments one after another: at most {MAX_IMPAIRMENTS} are allowed", list.len()));
        return Vec::new();
    }
    let place = given.path_of_key(IMPAIR.key);
    list.iter().enumerate().map(|(at, node): (usize, &Node)| TableInput::new(node, format!("{place}.{at}"))).collect()
}

fn read_part(reader: &mut Reader, given: &TableInput) -> Option<(Impairment, Json)> {
    let entry = *reader.read_name_and_find_entry(given, "kind", "impairment", IMPAIRMENT_KINDS, |entry| entry.name)?;
    reader.reject_unknown_keys(given, std::iter::once("kind").chain(parameter_names(entry.parameters)));
    let reading = reader.read_keys(given, entry.parameters);
    let values = reading.valid_values()?;
    reader.warn_ignored_keys(given, values, &[]);
    let contradictions = (entry.check)(values);
    let is_sound = contradictions.is_empty();
    for (parameter, message) in contradictions {
        reader.report(given, parameter, message);
    }
    is_sound.then(|| ((entry.make)(values), kind_and_values_to_json(entry.name, values)))
}

/// An impairment in the syntax of a scenario, with its required parameters.
pub fn example_of(entry: &ImpairmentKind) -> String {
    let required = entry.parameters.iter().filter(|parameter| parameter.required).map(parameter_example_line);
    let required: Vec<_> = required.chain(entry.example.iter().map(|&text| text.to_owned())).collect();
    let rest = if required.is_empty() { String::new() } else { format!(", {}", required.join(", ")) };
    format!("impair = [{{ kind = \"{}\"{rest} }}]", entry.name)
}
