//! `link.queue`: a discipline with its values, and its child AQM or queue.
//!
//! A plain FIFO is flat: the AQM's parameters are next to the buffer. Every other discipline has its own parameters there, and the AQM in a
//! child table:
//!
//! ```toml
//! queue = { aqm = "red", limit = 120, min_th = 10, max_th = 30 }
//! queue = { discipline = "NAME", limit = 1000, aqm = { name = "red", min_th = 10, max_th = 30 } }
//! queue = { discipline = "NAME", queue = { aqm = "red", limit = 120 } }
//! ```
//!
//! A queue of a kernel has the kernel's name, and all other keys are parameters for that kernel:
//!
//! ```toml
//! queue = { kernel = "red", limit = 120000, min = 10000, max = 30000, avpkt = 1000, ecn = true }
//! ```

use ecnlab_queue::{AqmConfig, AqmEntry, Child, ChildKind, DisciplineEntry, KernelQdisc, Limit, QueueConfig, Registry};
use ecnlab_units::quantity::PacketsOrBytes;
use ecnlab_units::{Parameter, Value, Values, parameters};
use serde_json::{Value as Json, json};

use super::declaration::{MAX_PACKETS, Section, limit_of_amount, value_to_json, values_to_json};
use super::unknown_keys::{self, KnownKeyLocation, belongs_verb};
use crate::other_tools::fix_for_other_tools_queue;
use crate::read::{self, Reader, TableInput};
use crate::tree::{Node, NodeValue, Scalar, ScalarKind};

/// Key of a child queue, with an example.
const CHILD_QUEUE_KEY: &str = "queue";
const CHILD_QUEUE_EXAMPLE: &str = "{ aqm = \"droptail\", limit = 100 }";
const LIMIT_EXAMPLE: &str = "limit = 120";
/// Key that names a queue of a kernel.
const KERNEL_KEY: &str = "kernel";
/// Hint for an unknown AQM.
const USER_AQM_HINT: &str = "; a user-defined AQM needs --aqm FILE:CLASS or load(..., aqms=[CLASS])";

parameters! {
    /// Keys of a queue besides its discipline's and its AQM's parameters.
    struct BufferKeys {
        /// Buffer capacity, without the packet in transmission.
        #[source("ns-2 2.35, queue-limit")]
        #[required]
        #[usual(10..=2000, log)]
        pub limit: PacketsOrBytes = "120";
    }
}

pub const QUEUE: Section = Section {
    name: "link.queue",
    title: "The queue of a link",
    doc: "A queue, given in one of three ways. An AQM: aqm = NAME, with its parameters and the buffer. A discipline: discipline = NAME, \
        with its parameters and a child AQM, aqm = { name = NAME }. A queue of the kernel that --backend uml runs: kernel = NAME, \
        with that kernel's parameters.",
    keys: BufferKeys::PARAMETERS,
    tables: &[],
};

/// A valid queue, also in a form that can be read again.
pub struct Queue {
    pub of: QueueConfig,
    pub described: Json,
}

impl Queue {
    /// A discipline with its child, which the members describe.
    fn of_discipline<const N: usize>(
        discipline: &'static DisciplineEntry,
        values: Values,
        child: Child,
        members: [(&str, Json); N],
    ) -> Queue {
        let mut described = values_to_json(&values);
        described["discipline"] = json!(discipline.name);
        for (key, member) in members {
            described[key] = member;
        }
        Queue { of: QueueConfig { discipline, values, child }, described }
    }
}

/// A valid AQM, with its values in a form that can be read again.
struct ChosenAqm {
    aqm: AqmConfig,
    described: Json,
}

/// A line of a scenario with this AQM.
pub fn example_of_aqm(aqm: &AqmEntry) -> String {
    format!("queue = {}", flat_queue_example(aqm))
}

/// A line of a scenario with this discipline.
pub fn example_of_discipline(discipline: &DisciplineEntry) -> String {
    format!("queue = {}", discipline_table_example(discipline))
}

fn flat_queue_example(aqm: &AqmEntry) -> String {
    format!("{{ aqm = \"{}\", {LIMIT_EXAMPLE}{} }}", aqm.name, required_parameter_assignments(aqm.parameters))
}

fn discipline_table_example(discipline: &DisciplineEntry) -> String {
    let own = required_parameter_assignments(discipline.parameters);
    let inside = match discipline.child {
        ChildKind::Aqm(_) => format!("{LIMIT_EXAMPLE}{own}, aqm = {{ name = \"red\", max_p = 0.5 }}"),
        ChildKind::Buffer => format!("{LIMIT_EXAMPLE}{own}"),
        ChildKind::Queue => format!("{CHILD_QUEUE_KEY} = {CHILD_QUEUE_EXAMPLE}{own}"),
    };
    format!("{{ discipline = \"{}\", {inside} }}", discipline.name)
}

/// The required parameters, each with an example value.
fn required_parameter_assignments(parameters: &[Parameter]) -> String {
    let required = parameters.iter().filter(|parameter| parameter.required);
    required.map(|parameter| format!(", {}", read::parameter_example_line(parameter))).collect()
}

/// Reads a queue's table.
pub fn read(reader: &mut Reader, given: &TableInput) -> Option<Queue> {
    if given.has(KERNEL_KEY) {
        return read_kernel_queue(reader, given);
    }
    let discipline = read_discipline(reader, given)?;
    match discipline.child {
        ChildKind::Aqm(_) if has_aqm_parameters_beside_buffer(reader, given, discipline) => read_flat_queue(reader, given, discipline),
        ChildKind::Aqm(default) => read_discipline_with_child_aqm(reader, given, discipline, default),
        ChildKind::Buffer => read_discipline_with_builtin_algorithm(reader, given, discipline),
        ChildKind::Queue => read_with_child_queue(reader, given, discipline),
    }
}

/// The named discipline, or the plain one by default.
fn read_discipline(reader: &mut Reader, given: &TableInput) -> Option<&'static DisciplineEntry> {
    let registry = reader.registry;
    if !given.has("discipline") {
        return Some(registry.disciplines()[0]);
    }
    let word = given.node.text_of_key("discipline");
    if let Some(aqm) = word.filter(|word| registry.discipline(word).is_none()).and_then(|word| registry.aqm(word)) {
        let message = format!("\"{0}\" is an AQM; fix: write aqm = \"{0}\", or name a discipline that contains it", aqm.name);
        reader.report(given, "discipline", message);
        return None;
    }
    if report_other_tools_name(reader, given, "discipline", "discipline") {
        return None;
    }
    reader.read_name_and_find_entry(given, "discipline", "discipline", registry.disciplines(), |entry| entry.name).copied()
}

/// Reports a queue by its name in another tool; returns whether the value of `key` is one.
fn report_other_tools_name(reader: &mut Reader, given: &TableInput, key: &str, what: &str) -> bool {
    let word = given.node.text_of_key(key).unwrap_or_default();
    let fix = fix_for_other_tools_queue(word);
    fix.inspect(|fix| reader.report(given, key, format!("unknown {what} \"{word}\"; fix: {fix}"))).is_some()
}

/// Whether this is the plain discipline.
fn is_fifo(reader: &Reader, discipline: &DisciplineEntry) -> bool {
    std::ptr::eq(discipline, reader.registry.disciplines()[0])
}

/// Whether the AQM's parameters are in the same table as the buffer.
fn has_aqm_parameters_beside_buffer(reader: &Reader, given: &TableInput, discipline: &DisciplineEntry) -> bool {
    let plain_queue = is_fifo(reader, discipline);
    plain_queue && given.node.get("aqm").map_or(!given.has("discipline"), |aqm| aqm.entries().is_none())
}

/// The plain discipline with its AQM in the same table.
fn read_flat_queue(reader: &mut Reader, given: &TableInput, discipline: &'static DisciplineEntry) -> Option<Queue> {
    let entry = find_named_aqm(reader, given, "aqm")?;
    let own = keys_and_parameter_names(&["discipline", "aqm", "limit"], entry.parameters);
    unknown_keys::report_unknown_keys(reader, given, &own, other_queue_key_locator(reader.registry), |_, keys| {
        stale_aqm_keys_message(entry, "aqm", keys, &given.place, &flat_queue_example(entry))
    });
    let (amount, limit) = read_buffer(reader, given)?;
    let chosen = read_aqm(reader, given, given, entry, amount)?;
    Some(build_fifo_queue(discipline, Values::defaults(discipline.parameters), chosen, amount, limit))
}

/// The plain discipline; its description is flat, whichever way it was written.
fn build_fifo_queue(
    discipline: &'static DisciplineEntry,
    values: Values,
    chosen: ChosenAqm,
    amount: PacketsOrBytes,
    limit: Limit,
) -> Queue {
    let ChosenAqm { aqm, mut described } = chosen;
    described["aqm"] = json!(aqm.entry.name);
    described["limit"] = value_to_json(&Value::Amount(amount));
    Queue { of: QueueConfig { discipline, values, child: Child::Aqm { aqm, limit } }, described }
}

/// A discipline with its parameters, and an AQM in a child table.
fn read_discipline_with_child_aqm(
    reader: &mut Reader,
    given: &TableInput,
    discipline: &'static DisciplineEntry,
    default: &str,
) -> Option<Queue> {
    let inside = find_child_aqm(reader, given, discipline, default);
    reject_unknown_keys_beside_aqm(reader, given, discipline, inside.as_ref().map(|(_, entry)| *entry));
    // A limit within the AQM's table is already reported, so its absence here is not a second problem.
    let misplaced = !given.has("limit") && given.node.get("aqm").is_some_and(|aqm| aqm.get("limit").is_some());
    let buffer = if misplaced { None } else { read_buffer(reader, given) };
    let own = read_own_values(reader, given, discipline, buffer.map(|(amount, _)| amount));
    let (within, entry) = inside?;
    let (amount, limit) = buffer?;
    let chosen = read_aqm(reader, &within, given, entry, amount)?;
    let values = own?;
    if is_fifo(reader, discipline) {
        return Some(build_fifo_queue(discipline, values, chosen, amount, limit));
    }
    let ChosenAqm { aqm, mut described } = chosen;
    described["name"] = json!(entry.name);
    let members = [("aqm", described), ("limit", value_to_json(&Value::Amount(amount)))];
    Some(Queue::of_discipline(discipline, values, Child::Aqm { aqm, limit }, members))
}

/// A discipline with a built-in algorithm, and a buffer.
fn read_discipline_with_builtin_algorithm(reader: &mut Reader, given: &TableInput, discipline: &'static DisciplineEntry) -> Option<Queue> {
    let own = keys_and_parameter_names(&["discipline", "limit"], discipline.parameters);
    unknown_keys::report_unknown_keys(reader, given, &own, other_queue_key_locator(reader.registry), |_, keys| {
        stale_keys_message(
            &format!("discipline = \"{}\", which has its own algorithm,", discipline.name),
            keys,
            &given.place,
            &discipline_table_example(discipline),
        )
    });
    let buffer = read_buffer(reader, given);
    let values = read_own_values(reader, given, discipline, buffer.map(|(amount, _)| amount));
    let ((amount, limit), values) = (buffer?, values?);
    Some(Queue::of_discipline(discipline, values, Child::Buffer { limit }, [("limit", value_to_json(&Value::Amount(amount)))]))
}

/// A discipline with a child queue.
fn read_with_child_queue(reader: &mut Reader, given: &TableInput, discipline: &'static DisciplineEntry) -> Option<Queue> {
    let misplaced = reject_unknown_keys_beside_queue(reader, given, discipline);
    let values = read_own_values(reader, given, discipline, None);
    let Some(within) = reader.read_table(given, CHILD_QUEUE_KEY, CHILD_QUEUE_EXAMPLE) else {
        if !given.has(CHILD_QUEUE_KEY) && !misplaced {
            reader.report(
                given,
                CHILD_QUEUE_KEY,
                format!("is missing; fix: give the inner queue, as in {CHILD_QUEUE_KEY} = {CHILD_QUEUE_EXAMPLE}"),
            );
        }
        return None;
    };
    if within.has(KERNEL_KEY) {
        let message = format!("a kernel's queue must be the link's own queue; fix: write it instead of \"{}\"", discipline.name);
        reader.report(&within, KERNEL_KEY, message);
        return None;
    }
    let inner = read(reader, &within);
    let (values, inner) = (values?, inner?);
    Some(Queue::of_discipline(discipline, values, Child::Queue(Box::new(inner.of)), [(CHILD_QUEUE_KEY, inner.described)]))
}

/// A queue of a kernel. Its parameters are words, numbers and flags by name. A child queue has its own table, whose name becomes a prefix:
/// `leaf.limit`.
fn read_kernel_queue(reader: &mut Reader, given: &TableInput) -> Option<Queue> {
    let before = reader.problems.len();
    let name = given.node.text_of_key(KERNEL_KEY).filter(|name| is_identifier(name));
    if name.is_none() {
        reader.report(given, KERNEL_KEY, "must be a kernel's name of the queue, as in kernel = \"fq_codel\"");
    }
    let mut parameters: Vec<(String, &Scalar)> = Vec::new();
    let mut described = json!({});
    for (key, node) in given.node.entries().unwrap_or_default().iter().filter(|(key, _)| key != KERNEL_KEY) {
        let Some(entries) = node.entries().filter(|_| !is_simulator_key(key)) else {
            if let Some(scalar) = read_kernel_parameter(reader, given, key, node) {
                described[key] = scalar_to_json(scalar);
                parameters.push((key.clone(), scalar));
            }
            continue;
        };
        let within = TableInput::new(node, given.path_of_key(key));
        described[key] = json!({});
        for (inner, node) in entries {
            if let Some(scalar) = read_kernel_parameter(reader, &within, inner, node) {
                described[key][inner] = scalar_to_json(scalar);
                parameters.push((format!("{key}.{inner}"), scalar));
            }
        }
    }
    parameters.sort_by(|(one, _), (other, _)| one.cmp(other));
    let name = name.filter(|_| reader.problems.len() == before)?;
    let arguments = parameters.into_iter().map(|(key, scalar)| (key, scalar.text.clone())).collect();
    described[KERNEL_KEY] = json!(name);
    Some(Queue { of: QueueConfig::from_kernel_qdisc(KernelQdisc { name: name.to_owned(), arguments }), described })
}

/// Whether a key belongs to a queue of the simulator.
fn is_simulator_key(key: &str) -> bool {
    matches!(key, "aqm" | "discipline" | CHILD_QUEUE_KEY)
}

/// Value of a kernel's parameter, unless it is invalid.
fn read_kernel_parameter<'n>(reader: &mut Reader, given: &TableInput, key: &str, node: &'n Node) -> Option<&'n Scalar> {
    let message = match &node.value {
        _ if is_simulator_key(key) => "excludes kernel; fix: leave out one of the two",
        _ if !is_identifier(key) => "a kernel's parameter has a name of letters, digits and underscores",
        NodeValue::Scalar(scalar) if scalar.form != ScalarKind::Other => return Some(scalar),
        _ => "a kernel's parameter must be a word, a number, true or false",
    };
    reader.report(given, key, message);
    None
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn scalar_to_json(scalar: &Scalar) -> Json {
    let parsed = serde_json::from_str(&scalar.text).ok().filter(|_| scalar.form != ScalarKind::Text);
    parsed.unwrap_or_else(|| json!(scalar.text))
}

/// The AQM inside a discipline with the table of its parameters: a table, a name, or the default.
fn find_child_aqm<'a>(
    reader: &mut Reader,
    given: &TableInput<'a>,
    discipline: &DisciplineEntry,
    default: &str,
) -> Option<(TableInput<'a>, &'static AqmEntry)> {
    match given.table("aqm") {
        None => Some((TableInput::empty(given.path_of_key("aqm")), reader.registry.aqm(default)?)),
        Some(within) if within.node.entries().is_some() => {
            let named = within.has("name") || !given.has("discipline");
            let entry = if named { find_named_aqm(reader, &within, "name")? } else { reader.registry.aqm(default)? };
            reject_unknown_keys_in_aqm(reader, &within, entry, discipline);
            Some((within, entry))
        }
        Some(_) => Some((TableInput::empty(given.path_of_key("aqm")), find_named_aqm(reader, given, "aqm")?)),
    }
}

/// The AQM that the value of `key` names.
fn find_named_aqm(reader: &mut Reader, given: &TableInput, key: &str) -> Option<&'static AqmEntry> {
    let registry = reader.registry;
    let word = given.node.text_of_key(key);
    if let Some(discipline) = word.filter(|word| registry.aqm(word).is_none()).and_then(|word| registry.discipline(word)) {
        let message =
            format!("\"{}\" is a discipline, not an AQM; fix: write queue = {}", discipline.name, discipline_table_example(discipline));
        reader.report(given, key, message);
        return None;
    }
    if word.is_some_and(|word| registry.aqm(word).is_none()) && report_other_tools_name(reader, given, key, "AQM") {
        return None;
    }
    let found = reader.read_name_and_find_entry(given, key, "AQM", registry.aqms(), |entry| entry.name).copied();
    if let (None, Some(_), Some(problem)) = (found, word, reader.problems.last_mut()) {
        problem.message.push_str(USER_AQM_HINT);
    }
    found
}

/// Reads an AQM's values; `around` is the table of the buffer.
fn read_aqm(
    reader: &mut Reader,
    given: &TableInput,
    around: &TableInput,
    entry: &'static AqmEntry,
    amount: PacketsOrBytes,
) -> Option<ChosenAqm> {
    let reading = reader.read_keys(given, entry.parameters);
    let values = reading.valid_values()?;
    for (parameter, message) in entry.contradictions(values, amount) {
        reader.report(if parameter == "limit" { around } else { given }, parameter, message);
    }
    reader.warn_ignored_keys(given, values, entry.unread_parameters);
    for (name, condition) in entry.read_when.iter().filter(|(name, condition)| given.has(name) && !values.meets_condition(condition)) {
        reader.warn_unmet_condition(given, values, name, condition, str::to_owned);
    }
    Some(ChosenAqm { described: values_to_json(values), aqm: AqmConfig { entry, values: values.clone() } })
}

/// Reads a discipline's own values.
fn read_own_values(
    reader: &mut Reader,
    given: &TableInput,
    discipline: &DisciplineEntry,
    amount: Option<PacketsOrBytes>,
) -> Option<Values> {
    let reading = reader.read_keys(given, discipline.parameters);
    let values = reading.valid_values()?;
    for (parameter, message) in (discipline.check)(values, amount) {
        reader.report(given, parameter, message);
    }
    reader.warn_ignored_keys(given, values, &[]);
    Some(values.clone())
}

/// Reports unknown keys of a child AQM's table.
fn reject_unknown_keys_in_aqm(reader: &mut Reader, given: &TableInput, aqm: &AqmEntry, discipline: &DisciplineEntry) {
    let around = keys_and_parameter_names(&["limit"], discipline.parameters);
    let elsewhere = other_queue_key_locator(reader.registry);
    let home = |key: &str| if around.contains(&key) { Some(KnownKeyLocation::InParentTable) } else { elsewhere(key) };
    unknown_keys::report_unknown_keys(reader, given, &keys_and_parameter_names(&["name"], aqm.parameters), home, |home, keys| match home {
        KnownKeyLocation::InParentTable => {
            format!("{} {} to the discipline around; fix: write it beside aqm", keys.join(", "), belongs_verb(keys))
        }
        _ => {
            let example = format!("{{ name = \"{}\"{} }}", aqm.name, required_parameter_assignments(aqm.parameters));
            stale_aqm_keys_message(aqm, "name", keys, &given.place, &example)
        }
    });
}

/// Reports unknown keys of a discipline with a child AQM.
fn reject_unknown_keys_beside_aqm(reader: &mut Reader, given: &TableInput, discipline: &DisciplineEntry, aqm: Option<&AqmEntry>) {
    let inside = aqm.map_or_else(Vec::new, |aqm| keys_and_parameter_names(&[], aqm.parameters));
    let elsewhere = other_queue_key_locator(reader.registry);
    let home = |key: &str| if inside.contains(&key) { Some(KnownKeyLocation::InTable) } else { elsewhere(key) };
    let own = keys_and_parameter_names(&["discipline", "aqm", "limit"], discipline.parameters);
    unknown_keys::report_unknown_keys(reader, given, &own, home, |home, keys| match home {
        KnownKeyLocation::InTable => {
            let name = aqm.map_or("", |aqm| aqm.name);
            let moved = unknown_keys::format_key_value_pairs(given.node, |key| keys.contains(&key));
            let there =
                given.node.get("aqm").map_or_else(String::new, |aqm| unknown_keys::format_key_value_pairs(aqm, |key| key != "name"));
            let all = [there, moved].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
            format!("{} {} to the AQM inside; fix: write aqm = {{ name = \"{name}\", {all} }}", keys.join(", "), belongs_verb(keys))
        }
        _ => {
            stale_keys_message(&format!("discipline = \"{}\"", discipline.name), keys, &given.place, &discipline_table_example(discipline))
        }
    });
}

/// Reports unknown keys of a discipline with a child queue; returns whether some belong to that queue.
fn reject_unknown_keys_beside_queue(reader: &mut Reader, given: &TableInput, discipline: &DisciplineEntry) -> bool {
    let of_some_queue = other_queue_key_locator(reader.registry);
    let home =
        |key: &str| if matches!(key, "aqm" | "limit") || of_some_queue(key).is_some() { Some(KnownKeyLocation::InTable) } else { None };
    let own = keys_and_parameter_names(&["discipline", CHILD_QUEUE_KEY], discipline.parameters);
    unknown_keys::report_unknown_keys(reader, given, &own, home, |_, keys| {
        let moved = unknown_keys::format_key_value_pairs(given.node, |key| keys.contains(&key));
        format!("{} {} to the queue inside; fix: write {CHILD_QUEUE_KEY} = {{ {moved} }}", keys.join(", "), belongs_verb(keys))
    });
    let entries = given.node.entries().unwrap_or_default();
    entries.iter().any(|(key, _)| !own.contains(&key.as_str()) && home(key).is_some())
}

/// Message for keys that an AQM does not have; `name_key` is the key of its name. `ecn` is what RED that marks needs in ns-2 and tc.
fn stale_aqm_keys_message(aqm: &AqmEntry, name_key: &str, keys: &[&str], place: &str, example: &str) -> String {
    let of = format!("{name_key} = \"{}\"", aqm.name);
    if keys != ["ecn"] {
        return stale_keys_message(&of, keys, place, example);
    }
    match (aqm.lowest_mark)(&Values::defaults(aqm.parameters)) {
        Some(_) => format!("{of} has no ecn; fix: leave it out, since this AQM marks without it"),
        None => format!(
            "{of} has no ecn, since it drops all that it signals; fix: write {name_key} = \"ecn\", which is RED that marks, or {name_key} = \
             \"linux-red\", which has the parameter ecn, or leave ecn out"
        ),
    }
}

/// Message for keys that remain after an AQM or a discipline was replaced; `example` is the whole table.
fn stale_keys_message(of: &str, keys: &[&str], place: &str, example: &str) -> String {
    format!(
        "{of} has no {}; fix: leave out what belongs to another AQM or discipline, or replace the whole table, as in --set '{place}={example}'",
        keys.join(", "),
    )
}

/// Recognizes keys of other AQMs or disciplines.
fn other_queue_key_locator(registry: &Registry) -> impl Fn(&str) -> Option<KnownKeyLocation> + use<> {
    let of_aqms = registry.aqms().iter().flat_map(|aqm| keys_and_parameter_names(&[], aqm.parameters));
    let of_disciplines = registry.disciplines().iter().flat_map(|discipline| keys_and_parameter_names(&[], discipline.parameters));
    let known: Vec<&'static str> = of_aqms.chain(of_disciplines).chain(["aqm", "limit", CHILD_QUEUE_KEY]).collect();
    move |key| known.contains(&key).then_some(KnownKeyLocation::Elsewhere)
}

/// These keys, and the names of the parameters.
fn keys_and_parameter_names(keys: &[&'static str], parameters: &'static [Parameter]) -> Vec<&'static str> {
    keys.iter().copied().chain(read::parameter_names(parameters)).collect()
}

/// The buffer size as written, and as used.
fn read_buffer(reader: &mut Reader, given: &TableInput) -> Option<(PacketsOrBytes, Limit)> {
    let amount: PacketsOrBytes = reader.read_keys(given, BufferKeys::PARAMETERS).get("limit")?;
    let limit = limit_of_amount(amount);
    if limit.is_none() {
        reader.report(given, "limit", format!("must be a whole number of packets, 1 .. {MAX_PACKETS}, or bytes, as in \"64 KB\""));
    }
    Some((amount, limit?))
}
