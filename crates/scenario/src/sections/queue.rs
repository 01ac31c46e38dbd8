//! `link.queue`: a discipline with its values, and what stands inside it.
//!
//! A plain FIFO is written flat, its AQM's parameters beside the buffer. Every other discipline has its own parameters there, and the AQM
//! as a table inside:
//!
//! ```toml
//! queue = { aqm = "red", limit = 120, min_th = 10, max_th = 30 }
//! queue = { discipline = "NAME", limit = 1000, aqm = { name = "red", min_th = 10, max_th = 30 } }
//! queue = { discipline = "NAME", queue = { aqm = "red", limit = 120 } }
//! ```

use ecnlab_queue::registry::{AqmEntry, DisciplineEntry, Holds};
use ecnlab_queue::{AqmChoice, Composition, Inside, Limit};
use ecnlab_units::quantity::Amount;
use ecnlab_units::{Parameter, Values, parameters};
use serde_json::{Map, Value as Json, json};

use super::link::MAX_PACKETS;
use super::{Section, json_of};
use crate::read::{Given, Reader};

/// The table of the queue inside another, and how it is written.
const INNER: &str = "queue";
const INNER_EXAMPLE: &str = "{ aqm = \"droptail\", limit = 100 }";
const LIMIT_EXAMPLE: &str = "limit = 120";
const MAX_BYTES: f64 = 1e13;

parameters! {
    /// What a queue has beside its discipline's and its AQM's parameters.
    struct Buffering {
        /// Buffer: how much may wait, the packet in transmission not counted.
        #[source("ns-2 2.35, queue-limit")]
        #[must be given]
        pub limit: Amount = "120";
    }
}

pub const QUEUE: Section = Section {
    name: "link.queue",
    title: "The queue of a link",
    doc: "An AQM, aqm = NAME, with its parameters and the buffer; or a discipline, discipline = NAME, with its parameters and an AQM inside, aqm = { name = NAME }.",
    keys: Buffering::PARAMETERS,
    tables: &[],
};

/// A queue that is known to be sound, and as it can be read again.
pub struct Queue {
    pub of: Composition,
    pub described: Map<String, Json>,
}

/// An AQM that is known to be sound, with its values as they can be read again.
struct Chosen {
    aqm: AqmChoice,
    described: Map<String, Json>,
}

/// A line of a scenario with the AQM.
pub fn example_of_aqm(aqm: &AqmEntry) -> String {
    format!("queue = {{ aqm = \"{}\", {LIMIT_EXAMPLE}{} }}", aqm.name, required(aqm.parameters))
}

/// A line of a scenario with the discipline.
pub fn example_of_discipline(discipline: &DisciplineEntry) -> String {
    let own = required(discipline.parameters);
    let inside = match discipline.holds {
        Holds::Aqm(_) => format!("{LIMIT_EXAMPLE}{own}, aqm = {{ name = \"red\", max_p = 0.5 }}"),
        Holds::Law => format!("{LIMIT_EXAMPLE}{own}"),
        Holds::Queue => format!("{INNER} = {INNER_EXAMPLE}{own}"),
    };
    format!("queue = {{ discipline = \"{}\", {inside} }}", discipline.name)
}

/// The parameters that must be given, each with a value that could be.
fn required(parameters: &[Parameter]) -> String {
    let required = parameters.iter().filter(|parameter| parameter.required);
    required.map(|parameter| format!(", {} = {}", parameter.name, json_of(&parameter.default_value()))).collect()
}

/// Reads a queue's table.
pub fn read(reader: &mut Reader, given: &Given) -> Option<Queue> {
    let registry = reader.registry;
    let discipline: &'static DisciplineEntry = if given.gives("discipline") {
        reader.entry(given, "discipline", "discipline", registry.disciplines(), |entry| entry.name).copied()?
    } else {
        registry.disciplines()[0]
    };
    match discipline.holds {
        Holds::Aqm(_) if is_flat(reader, discipline) => flat(reader, given, discipline),
        Holds::Aqm(default) => with_aqm(reader, given, discipline, default),
        Holds::Law => with_law(reader, given, discipline),
        Holds::Queue => with_queue(reader, given, discipline),
    }
}

/// Whether the AQM's parameters stand beside the buffer.
fn is_flat(reader: &Reader, discipline: &DisciplineEntry) -> bool {
    std::ptr::eq(discipline, reader.registry.disciplines()[0])
}

/// A FIFO with its AQM in the same table, or in a table of its own.
fn flat(reader: &mut Reader, given: &Given, discipline: &'static DisciplineEntry) -> Option<Queue> {
    if given.node.get("aqm").is_some_and(|aqm| aqm.entries().is_some()) {
        return with_aqm(reader, given, discipline, "");
    }
    let entry = named_aqm(reader, given, "aqm")?;
    only_of(reader, given, entry, &["discipline", "aqm", "limit"]);
    let (amount, limit) = buffer(reader, given)?;
    let Chosen { aqm, described } = aqm(reader, given, given, entry, amount)?;
    let mut described = described;
    described.insert("aqm".to_owned(), json!(entry.name));
    described.extend(limit_described(amount));
    Some(Queue {
        of: Composition { discipline, values: Values::defaults(discipline.parameters), inside: Inside::Aqm { aqm, limit } },
        described,
    })
}

/// A discipline with its parameters, and an AQM in a table of its own.
fn with_aqm(reader: &mut Reader, given: &Given, discipline: &'static DisciplineEntry, default: &str) -> Option<Queue> {
    let inside = aqm_given(reader, given, default);
    only_around(reader, given, discipline, inside.as_ref().map(|(_, entry)| *entry));
    let buffer = buffer(reader, given);
    let own = own_values(reader, given, discipline, buffer.map(|(amount, _)| amount));
    let (within, entry) = inside?;
    let (amount, limit) = buffer?;
    let Chosen { aqm, mut described } = aqm(reader, &within, given, entry, amount)?;
    described.insert("name".to_owned(), json!(entry.name));
    let values = own?;
    let mut outer = super::described(&values);
    outer.insert("discipline".to_owned(), json!(discipline.name));
    outer.insert("aqm".to_owned(), Json::Object(described));
    outer.extend(limit_described(amount));
    Some(Queue { of: Composition { discipline, values, inside: Inside::Aqm { aqm, limit } }, described: outer })
}

/// A discipline whose law is its own, with a buffer.
fn with_law(reader: &mut Reader, given: &Given, discipline: &'static DisciplineEntry) -> Option<Queue> {
    reader.only(given, ["discipline", "limit"].into_iter().chain(own_names(discipline)));
    let buffer = buffer(reader, given);
    let values = own_values(reader, given, discipline, buffer.map(|(amount, _)| amount));
    let ((amount, limit), values) = (buffer?, values?);
    let mut described = super::described(&values);
    described.insert("discipline".to_owned(), json!(discipline.name));
    described.extend(limit_described(amount));
    Some(Queue { of: Composition { discipline, values, inside: Inside::Law { limit } }, described })
}

/// A discipline with another queue inside.
fn with_queue(reader: &mut Reader, given: &Given, discipline: &'static DisciplineEntry) -> Option<Queue> {
    reader.only(given, ["discipline", INNER].into_iter().chain(own_names(discipline)));
    let values = own_values(reader, given, discipline, None);
    let Some(within) = reader.table(given, INNER, INNER_EXAMPLE) else {
        if !given.gives(INNER) {
            reader.report(given, INNER, format!("is missing: give what waits inside, as in {INNER} = {INNER_EXAMPLE}"));
        }
        return None;
    };
    let inner = read(reader, &within);
    let (values, inner) = (values?, inner?);
    let mut described = super::described(&values);
    described.insert("discipline".to_owned(), json!(discipline.name));
    described.insert(INNER.to_owned(), Json::Object(inner.described));
    Some(Queue { of: Composition { discipline, values, inside: Inside::Queue(Box::new(inner.of)) }, described })
}

/// The AQM inside a discipline and where its parameters stand: a table, a name alone, or the default.
fn aqm_given<'a>(reader: &mut Reader, given: &Given<'a>, default: &str) -> Option<(Given<'a>, &'static AqmEntry)> {
    match given.node.get("aqm") {
        None => Some((Given::nothing(given.at("aqm")), reader.registry.aqm(default)?)),
        Some(node) if node.entries().is_some() => {
            let within = Given::new(node, given.at("aqm"));
            let entry = named_aqm(reader, &within, "name")?;
            only_of(reader, &within, entry, &["name"]);
            Some((within, entry))
        }
        Some(_) => Some((Given::nothing(given.at("aqm")), named_aqm(reader, given, "aqm")?)),
    }
}

/// The AQM that the word under `key` names.
fn named_aqm(reader: &mut Reader, given: &Given, key: &str) -> Option<&'static AqmEntry> {
    let registry = reader.registry;
    let word = given.node.text(key);
    if let Some(discipline) = word.filter(|word| registry.aqm(word).is_none()).and_then(|word| registry.discipline(word)) {
        let name = discipline.name;
        reader.report(given, key, format!("\"{name}\" is a discipline: write discipline = \"{name}\" in place of it"));
        return None;
    }
    reader.entry(given, key, "AQM", registry.aqms(), |entry| entry.name).copied()
}

/// Reads an AQM's values; `around` is the table of the buffer.
fn aqm(reader: &mut Reader, given: &Given, around: &Given, entry: &'static AqmEntry, amount: Amount) -> Option<Chosen> {
    let reading = reader.keys(given, entry.parameters);
    let values = reading.sound()?;
    for (parameter, message) in (entry.check)(values, amount) {
        reader.report(if parameter == "limit" { around } else { given }, parameter, message);
    }
    reader.warn_unheeded(given, values, entry.unread);
    Some(Chosen { described: super::described(values), aqm: AqmChoice { entry, values: values.clone() } })
}

/// Reads a discipline's own values.
fn own_values(reader: &mut Reader, given: &Given, discipline: &DisciplineEntry, amount: Option<Amount>) -> Option<Values> {
    let reading = reader.keys(given, discipline.parameters);
    let values = reading.sound()?;
    for (parameter, message) in (discipline.check)(values, amount) {
        reader.report(given, parameter, message);
    }
    reader.warn_unheeded(given, values, &[]);
    Some(values.clone())
}

/// Reports keys that the AQM does not have. Those of another AQM were left behind when it was replaced.
fn only_of(reader: &mut Reader, given: &Given, aqm: &AqmEntry, beside: &[&str]) {
    let own = || beside.iter().copied().chain(names(aqm));
    let registry = reader.registry;
    let of_another = |key: &str| registry.aqms().iter().any(|other| names(other).any(|name| name == key));
    let stale: Vec<&str> = given_keys(given).filter(|key| !own().any(|own| own == *key) && of_another(key)).collect();
    reader.only(given, own().chain(stale.iter().copied()));
    if let Some(first) = stale.first() {
        let name = aqm.name;
        let message = format!(
            "aqm = \"{name}\" has no {}: leave out what belongs to another AQM, or replace the whole table, as in --set '{}={{ aqm = \"{name}\", limit = 120 }}'",
            stale.join(", "),
            given.place,
        );
        reader.report(given, first, message);
    }
}

/// Reports keys that a discipline does not have. Those of its AQM belong into the AQM's own table.
fn only_around(reader: &mut Reader, given: &Given, discipline: &DisciplineEntry, aqm: Option<&AqmEntry>) {
    let own = || ["discipline", "aqm", "limit"].into_iter().chain(own_names(discipline));
    let of_aqm = |key: &str| aqm.is_some_and(|aqm| names(aqm).any(|name| name == key));
    let misplaced: Vec<&str> = given_keys(given).filter(|key| !own().any(|own| own == *key) && of_aqm(key)).collect();
    reader.only(given, own().chain(misplaced.iter().copied()));
    for key in misplaced {
        let name = aqm.map_or("", |aqm| aqm.name);
        reader.report(given, key, format!("belongs to the AQM inside: write aqm = {{ name = \"{name}\", {key} = ... }}"));
    }
}

fn names<'n>(aqm: &AqmEntry) -> impl Iterator<Item = &'n str> + Clone + use<'n> {
    let parameters: &'static [Parameter] = aqm.parameters;
    parameters.iter().map(|parameter| parameter.name)
}

fn own_names<'n>(discipline: &DisciplineEntry) -> impl Iterator<Item = &'n str> + Clone + use<'n> {
    let parameters: &'static [Parameter] = discipline.parameters;
    parameters.iter().map(|parameter| parameter.name)
}

fn given_keys<'g>(given: &'g Given) -> impl Iterator<Item = &'g str> {
    given.node.entries().unwrap_or_default().iter().map(|(key, _)| key.as_str())
}

/// The buffer, as it is written and as it is used.
fn buffer(reader: &mut Reader, given: &Given) -> Option<(Amount, Limit)> {
    let amount: Amount = reader.keys(given, Buffering::PARAMETERS).get("limit")?;
    match amount {
        Amount::Packets(packets) if packets.fract() == 0.0 && (1.0..=MAX_PACKETS as f64).contains(&packets) => {
            Some((amount, Limit::Packets(packets as u32)))
        }
        Amount::Bytes(bytes) if (1.0..=MAX_BYTES).contains(&bytes) => Some((amount, Limit::Bytes(bytes as u64))),
        _ => {
            reader.report(given, "limit", format!("must be a whole number of packets, 1 .. {MAX_PACKETS}, or bytes, as in \"64 KB\""));
            None
        }
    }
}

fn limit_described(amount: Amount) -> Map<String, Json> {
    let mut values = Values::defaults(Buffering::PARAMETERS);
    values.set("limit", ecnlab_units::Value::Amount(amount));
    super::described(&values)
}
