//! Descriptions of all items that a scenario may name, for `list`, `show` and the schema, generated from the declarations.

use ecnlab_queue::Registry;
use ecnlab_queue::{AqmEntry, ChildKind, DisciplineEntry, Gauge};
use ecnlab_sim::impairment::{IMPAIRMENT_KINDS, ImpairmentKind as Impairment};
use ecnlab_sim::measures::table::{ColumnDescription, TableDescription};
use ecnlab_transport::application::APPLICATIONS;
use ecnlab_transport::checked::CheckedSenderCombination;
use ecnlab_transport::settings::{self, QUIRKS_KEY};
use ecnlab_transport::{Quirks, TcpSettings, profile};
use ecnlab_units::distribution::DrawnQuantity;
use ecnlab_units::quantity::{PACKET_UNITS, RATE_UNITS, SIZE_UNITS, TIME_UNITS, Unit};
use ecnlab_units::{Kind, Parameter};
use serde_json::{Map, Value as Json, json};

use crate::sections::{SECTIONS, Section, TableContent, TableDeclaration, impair, queue, root, value_to_json};
use crate::topologies::{TOPOLOGIES, TOPOLOGY, TopologyEntry};

/// Sections of a scenario, AQMs, disciplines, TCP profiles, TCP variants, applications, impairments and topologies with all their parameters.
pub fn registry(known: &Registry) -> Json {
    json!({
        "section": json_list(SECTIONS, |section| section_json(section)),
        "aqm": json_list(known.aqms(), |aqm| aqm_json(aqm)),
        "discipline": json_list(known.disciplines(), |discipline| discipline_json(discipline)),
        "tcp": json_list(profile::PROFILES, profile_json),
        "variant": json_list(profile::VARIANTS, variant_json),
        "app": json_list(APPLICATIONS, |app| entry_json(app.name, app.title, app.summary, app.source, app.parameters, &[])),
        "impairment": json_list(IMPAIRMENT_KINDS, |kind| impairment_json(kind)),
        "topology": json_list(TOPOLOGIES, |topology| topology_json(topology)),
    })
}

fn json_list<T>(items: &[T], item_json: impl Fn(&T) -> Json) -> Json {
    items.iter().map(item_json).collect()
}

/// Every table of a run: its name, the meaning of a row, and its columns. Each column has name, kind, unit, meaning, and its possible words
/// if they are fixed.
pub fn columns() -> Json {
    columns_of(&ecnlab_sim::describe_tables())
}

/// Units accepted in scenarios, by the unit of results: all spellings of each, and its factor.
pub fn units() -> Json {
    let of = |units: &[Unit]| json_list(units, |unit| json!({ "spellings": unit.spellings, "factor": unit.factor }));
    json!({ "s": of(TIME_UNITS), "bit/s": of(RATE_UNITS), "bytes": of(SIZE_UNITS), "packets": of(PACKET_UNITS) })
}

/// Declared tables with their columns.
pub fn columns_of(tables: &[TableDescription]) -> Json {
    let column = |column: &ColumnDescription| json!({ "name": column.name, "kind": column.kind, "unit": column.unit, "doc": column.doc, "words": column.words });
    let table = |table: &TableDescription| json!({ "name": table.name, "doc": table.doc, "columns": json_list(&table.columns, column) });
    json_list(tables, table)
}

fn aqm_json(aqm: &AqmEntry) -> Json {
    let mut text =
        entry_json(aqm.name, aqm.title, aqm.summary, aqm.source, &[queue::QUEUE.keys, &aqm.parameters_with_conditions()].concat(), &[]);
    text["gauges"] = gauge_rows(aqm.gauges);
    text["example"] = json!(queue::example_of_aqm(aqm));
    text
}

fn discipline_json(discipline: &DisciplineEntry) -> Json {
    let parameters = [buffer_parameters_of_discipline(discipline), discipline.parameters].concat();
    let mut text = entry_json(discipline.name, discipline.title, discipline.summary, discipline.source, &parameters, &[]);
    text["gauges"] = gauge_rows(discipline.gauges);
    text["bands"] = json!(discipline.band_names);
    let (child, default_aqm) = match discipline.child {
        ChildKind::Aqm(default) => ("aqm", Some(default)),
        ChildKind::Buffer => ("buffer", None),
        ChildKind::Queue => ("queue", None),
    };
    (text["child"], text["default_aqm"]) = (json!(child), json!(default_aqm));
    text["holds"] = json!(match discipline.child {
        ChildKind::Aqm(default) => format!("It has an AQM, aqm = {{ name = ... }}, and a buffer; the default is \"{default}\"."),
        ChildKind::Buffer => "It has a buffer and its own algorithm, so it takes no AQM.".to_owned(),
        ChildKind::Queue => "It contains another queue, queue = { ... }, which has the buffer.".to_owned(),
    });
    text["example"] = json!(queue::example_of_discipline(discipline));
    text
}

fn impairment_json(kind: &Impairment) -> Json {
    let mut text = entry_json(kind.name, kind.title, kind.summary, kind.source, kind.parameters, &[]);
    text["example"] = json!(impair::example_of(kind));
    text
}

/// A topology, with its tables among its parameters.
fn topology_json(topology: &TopologyEntry) -> Json {
    let mut text = entry_json(topology.name, topology.title, topology.summary, topology.source, topology.parameters, &[]);
    let tables = topology.tables.iter().map(table_row);
    text["parameters"].as_array_mut().expect("a list").extend(tables);
    text["holds"] = json!(topology.nodes);
    text["example"] = json!(topology.example);
    text
}

/// Keys of the buffer, if the discipline has one.
fn buffer_parameters_of_discipline(discipline: &DisciplineEntry) -> &'static [Parameter] {
    match discipline.child {
        ChildKind::Aqm(_) | ChildKind::Buffer => queue::QUEUE.keys,
        ChildKind::Queue => &[],
    }
}

fn gauge_rows(gauges: &[Gauge]) -> Json {
    json_list(gauges, |gauge| json!({ "name": gauge.name, "unit": gauge.unit, "doc": gauge.doc, "symbol": gauge.symbol }))
}

fn section_json(section: &Section) -> Json {
    let keys = section.keys.iter().map(|parameter| parameter_row(parameter, &[], str::to_owned));
    let rows: Vec<_> = keys.chain(section.tables.iter().map(table_row)).collect();
    json!({ "name": section.name, "title": section.title, "summary": section.doc, "source": "docs/reference/scenario.md", "parameters": rows })
}

/// A table as a row among the keys of a section.
fn table_row(inner: &TableDeclaration) -> Json {
    let kind = match inner.content {
        TableContent::Many(_) | TableContent::Impairments => "tables",
        TableContent::Deliveries => "file or list",
        TableContent::One(_) | TableContent::Queue | TableContent::Tcp | TableContent::App | TableContent::Topology => "table",
    };
    json!({
        "name": inner.key, "kind": kind, "unit": "", "default": "", "example": inner.example, "required": inner.required, "bounds": "",
        "doc": inner.doc, "source": "", "read_when": "", "set": false, "usual": null,
    })
}

fn entry_json(name: &str, title: &str, summary: &str, source: &str, parameters: &[Parameter], members: &[profile::ProfileMember]) -> Json {
    let rows = json_list(parameters, |parameter| parameter_row(parameter, members, str::to_owned));
    json!({ "name": name, "title": title, "summary": summary, "source": source, "parameters": rows })
}

fn profile_json(profile: &profile::Profile) -> Json {
    let mut text = entry_json(profile.name, profile.title, profile.summary, profile.source, &[], &[]);
    let rows =
        |declared: &[Parameter]| json_list(declared, |parameter| parameter_row(parameter, profile.members, settings::parameter_path));
    text["parameters"] = rows(TcpSettings::OWN_PARAMETERS);
    text[QUIRKS_KEY] = rows(Quirks::PARAMETERS);
    let checked = |one: &CheckedSenderCombination| {
        let responses: Vec<_> = one.responses.iter().map(|response| response.word()).collect();
        json!({
            "congestion_control": one.control.word(), "recovery": one.recovery.word(), "ecn_responses": responses,
            "accurate_ecn": one.accurate_ecn, "judge": one.reference.word(),
        })
    };
    text["checked"] = json_list(profile.checked, checked);
    text["alias"] = json!(profile.alias.unwrap_or_default());
    text
}

/// A variant with the parameters that it sets.
fn variant_json(variant: &profile::Variant) -> Json {
    let set = |parameter: &&Parameter| variant.members.iter().any(|(name, _)| *name == parameter.name);
    let parameters: Vec<_> = TcpSettings::PARAMETERS.iter().filter(set).copied().collect();
    let members: Vec<_> = parameters.iter().map(|p| (p.name, variant.member_value(p.name), p.source)).collect();
    entry_json(variant.name, variant.title, VARIANT_SUMMARY, variant.source, &parameters, &members)
}

const VARIANT_SUMMARY: &str =
    "tcp = { profile = ..., variant = ... } sets these parameters of any profile; parameters of the scenario override them.";

/// A parameter with its default; `path` returns the path of another parameter in its condition.
fn parameter_row(parameter: &Parameter, members: &[profile::ProfileMember], path: fn(&str) -> String) -> Json {
    // The last one applies: a profile's own members follow the shared ones.
    let member = members.iter().rfind(|member| member.0 == parameter.name);
    let (given, source) = member.map_or((parameter.default, parameter.source), |member| (member.1, member.2));
    let usual = parameter.usual.map(|usual| json!({ "min": usual.min, "max": usual.max, "scale": usual.scale.word() }));
    let conditions: Vec<_> = parameter.read_when.iter().map(|of| format!("{} = {}", path(of.parameter), of.values.join(" or "))).collect();
    json!({
        "name": parameter.name, "kind": parameter.kind_name(), "unit": parameter.unit(),
        "default": if parameter.required { "" } else { given }, "example": given, "required": parameter.required,
        "bounds": parameter.bounds_text(), "doc": parameter.doc, "source": source, "read_when": conditions.join(" and "), "set": member.is_some(),
        "usual": usual,
    })
}

/// The JSON Schema of a scenario file.
pub fn schema(known: &Registry) -> Json {
    let mut schema = section_schema(&root::ROOT, known);
    schema["$defs"] = json!({ "queue": queue_schema(known) });
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("ecnlab scenario");
    schema
}

fn section_schema(section: &Section, known: &Registry) -> Json {
    table_schema_of_members(&table_members(section.tables, known).collect::<Vec<_>>(), section.keys)
}

/// Key, schema and necessity of each table.
fn table_members(tables: &[TableDeclaration], known: &Registry) -> impl Iterator<Item = (&'static str, Json, bool)> {
    tables.iter().map(|inner| (inner.key, with_description(table_schema(inner.content, known), inner.doc), inner.required))
}

fn table_schema(content: TableContent, known: &Registry) -> Json {
    match content {
        TableContent::One(one) => section_schema(one, known),
        TableContent::Many(one) => json!({ "type": "array", "minItems": 1, "items": section_schema(one, known) }),
        TableContent::Queue => json!({ "$ref": QUEUE_SCHEMA_REF }),
        TableContent::Tcp => {
            let names = |names: Vec<&str>| json!({ "enum": names });
            let profiles = names(profile::names());
            let variants = names(profile::VARIANTS.iter().map(|v| v.name).collect());
            let quirks = table_schema_of_members(&[], Quirks::PARAMETERS);
            table_schema_of_members(
                &[("profile", profiles, true), ("variant", variants, false), (QUIRKS_KEY, quirks, false)],
                TcpSettings::OWN_PARAMETERS,
            )
        }
        TableContent::App => {
            let names: Vec<_> = APPLICATIONS.iter().map(|e| e.name).collect();
            let tables = APPLICATIONS.iter().map(|e| table_schema_of_members(&[("kind", json!({ "const": e.name }), true)], e.parameters));
            json!({ "oneOf": std::iter::once(json!({ "enum": names })).chain(tables).collect::<Vec<_>>() })
        }
        TableContent::Topology => {
            let of = |topology: &&TopologyEntry| {
                let named = (TOPOLOGY, json!({ "const": topology.name }), true);
                let members: Vec<_> = std::iter::once(named).chain(table_members(topology.tables, known)).collect();
                table_schema_of_members(&members, topology.parameters)
            };
            json!({ "oneOf": TOPOLOGIES.iter().map(of).collect::<Vec<_>>() })
        }
        TableContent::Deliveries => {
            let times = json!({ "type": "array", "minItems": 1, "items": number_schema("integer", 0.0, f64::from(u32::MAX)) });
            json!({ "oneOf": [{ "type": "string", "minLength": 1 }, times] })
        }
        TableContent::Impairments => {
            let tables = IMPAIRMENT_KINDS
                .iter()
                .map(|kind| table_schema_of_members(&[("kind", json!({ "const": kind.name }), true)], kind.parameters));
            json!({ "type": "array", "items": { "oneOf": tables.collect::<Vec<_>>() } })
        }
    }
}

/// The plain discipline with a flat AQM, or a discipline with its AQM by name or as a table; a table without a name uses the default AQM.
fn queue_schema(known: &Registry) -> Json {
    let plain = known.disciplines()[0];
    let of = |members: &[(&str, Json, bool)], beside: &[Parameter], aqm: &AqmEntry| {
        table_schema_of_members(members, &[beside, aqm.parameters].concat())
    };
    let named = |name: &str| json!({ "const": name });
    let flat = known.aqms().iter().map(|aqm| {
        let members = [("aqm", named(aqm.name), true), ("discipline", named(plain.name), false)];
        of(&members, queue::QUEUE.keys, aqm)
    });
    let names: Vec<_> = known.aqms().iter().map(|aqm| aqm.name).collect();
    let tables: Vec<_> = known.aqms().iter().map(|aqm| of(&[("name", named(aqm.name), true)], &[], aqm)).collect();
    let discipline = |entry: &DisciplineEntry| {
        let name = ("discipline", named(entry.name), true);
        match entry.child {
            ChildKind::Aqm(default) => {
                let unnamed = known.aqm(default).map(|aqm| of(&[], &[], aqm));
                let aqm = std::iter::once(json!({ "enum": names })).chain(tables.iter().cloned()).chain(unnamed);
                let aqm = json!({ "oneOf": aqm.collect::<Vec<_>>() });
                table_schema_of_members(&[name, ("aqm", aqm, false)], &[buffer_parameters_of_discipline(entry), entry.parameters].concat())
            }
            ChildKind::Buffer => table_schema_of_members(&[name], &[buffer_parameters_of_discipline(entry), entry.parameters].concat()),
            ChildKind::Queue => table_schema_of_members(&[name, ("queue", json!({ "$ref": QUEUE_SCHEMA_REF }), true)], entry.parameters),
        }
    };
    let unnamed = table_schema_of_members(&[("aqm", json!({ "oneOf": tables }), true)], queue::QUEUE.keys);
    let word = json!({ "type": "string", "minLength": 1 });
    let free = json!({ "type": ["string", "number", "boolean"] });
    let kernel = json!({ "type": "object", "additionalProperties": free, "properties": { "kernel": word }, "required": ["kernel"] });
    let disciplines = known.disciplines().iter().copied().map(discipline);
    json!({ "anyOf": flat.chain(disciplines).chain([unnamed, kernel]).collect::<Vec<_>>() })
}

/// Reference to the schema of a queue, which may contain another queue.
const QUEUE_SCHEMA_REF: &str = "#/$defs/queue";

fn with_description(mut schema: Json, doc: &str) -> Json {
    schema["description"] = json!(doc);
    schema
}

/// A table with members, each with whether it is required, and parameters.
fn table_schema_of_members(members: &[(&str, Json, bool)], parameters: &[Parameter]) -> Json {
    let mut properties: Map<String, Json> = members.iter().map(|(name, of, _)| ((*name).to_owned(), of.clone())).collect();
    properties.extend(parameters.iter().map(|parameter| (parameter.name.to_owned(), property_schema(parameter))));
    let members = members.iter().filter(|(.., required)| *required).map(|(name, ..)| *name);
    let required: Vec<_> =
        members.chain(parameters.iter().filter(|parameter| parameter.required).map(|parameter| parameter.name)).collect();
    json!({ "type": "object", "additionalProperties": false, "properties": properties, "required": required })
}

fn property_schema(parameter: &Parameter) -> Json {
    let mut schema = match parameter.kind {
        Kind::Number { min, max, .. } => number_schema("number", min, max),
        Kind::Count { min, max, unit: "bytes" | "packets" } => {
            json!({ "oneOf": [number_schema("integer", min as f64, max as f64), { "type": "string" }] })
        }
        Kind::Count { min, max, .. } => number_schema("integer", min as f64, max as f64),
        Kind::Amount | Kind::Distribution { dimension: DrawnQuantity::Bytes | DrawnQuantity::Count, .. } => {
            json!({ "type": ["string", "number"] })
        }
        Kind::Span { .. } | Kind::Rate | Kind::Distribution { dimension: DrawnQuantity::Time, .. } => json!({ "type": "string" }),
        Kind::Text => json!({ "type": "string", "minLength": 1 }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Choice(words) => json!({ "enum": words }),
        // The words first, which editors complete.
        Kind::ChoiceOrName(words) => json!({ "anyOf": [{ "enum": words }, { "type": "string", "minLength": 1 }] }),
    };
    if parameter.accepts_list {
        schema = json!({ "oneOf": [schema, { "type": "array", "items": schema, "minItems": 1 }] });
    }
    // A word needs no alternative if the kind accepts any text.
    if let Some(word) = parameter
        .special_word
        .filter(|_| !matches!(parameter.kind, Kind::Span { .. } | Kind::Rate | Kind::Text | Kind::Distribution { .. }))
    {
        schema = json!({ "oneOf": [schema, { "const": word }] });
    }
    let source = if parameter.source.is_empty() { String::new() } else { format!(" ({})", parameter.source) };
    schema["description"] = json!(format!("{}{source}", parameter.doc));
    if parameter.required {
        schema["examples"] = json!([value_to_json(&parameter.default_value())]);
    } else {
        schema["default"] = value_to_json(&parameter.default_value());
    }
    schema
}

fn number_schema(kind: &str, min: f64, max: f64) -> Json {
    if max.is_finite() { json!({ "type": kind, "minimum": min, "maximum": max }) } else { json!({ "type": kind, "minimum": min }) }
}

#[cfg(test)]
mod tests {
    use ecnlab_queue::registry::{AQMS, DISCIPLINES};
    use ecnlab_units::Values;
    use ecnlab_units::parameter::ReadCondition;

    use super::*;

    /// Every parameter table with its name.
    fn all_parameter_tables() -> Vec<(&'static str, &'static [Parameter])> {
        let sections = SECTIONS.iter().map(|section| (section.name, section.keys));
        let aqms = AQMS.iter().map(|entry| (entry.name, entry.parameters));
        let disciplines = DISCIPLINES.iter().map(|entry| (entry.name, entry.parameters));
        let kinds = IMPAIRMENT_KINDS.iter().map(|kind| (kind.name, kind.parameters));
        let apps = APPLICATIONS.iter().map(|entry| (entry.name, entry.parameters));
        let topologies = TOPOLOGIES.iter().map(|topology| (topology.name, topology.parameters));
        sections
            .chain(topologies)
            .chain(aqms)
            .chain(disciplines)
            .chain(apps)
            .chain(kinds)
            .chain([("tcp", TcpSettings::PARAMETERS)])
            .collect()
    }

    #[test]
    fn what_is_shown_of_a_profile_is_what_it_has() {
        for profile in profile::PROFILES {
            let values = profile.values_with_defaults();
            for row in profile_json(profile)["parameters"].as_array().unwrap() {
                let (name, text) = (row["name"].as_str().unwrap(), row["example"].as_str().unwrap());
                let mut shown = values.clone();
                shown.set_from_text(name, text).unwrap();
                assert_eq!(values.value_by_name(name).to_string(), shown.value_by_name(name).to_string(), "{} {name}", profile.name);
            }
        }
    }

    #[test]
    fn every_default_and_every_value_that_switches_something_off_can_be_read() {
        for (table, parameters) in all_parameter_tables() {
            for parameter in parameters {
                parameter.default_value();
                parameter
                    .off_values
                    .iter()
                    .for_each(|(value, _)| assert!(parameter.parse(value).is_ok(), "{table}.{}: {value}", parameter.name));
            }
        }
    }

    #[test]
    fn both_ends_of_every_usual_range_can_be_read() {
        let mut ranges = 0;
        for (table, parameters) in all_parameter_tables() {
            for (parameter, usual) in parameters.iter().filter_map(|parameter| Some((parameter, parameter.usual?))) {
                for end in [usual.min, usual.max].map(|end| parameter.format_usual_value(end)) {
                    assert!(parameter.parse(&end).is_ok(), "{table}.{}: {end}: {:?}", parameter.name, parameter.parse(&end));
                }
                ranges += 1;
            }
        }
        assert!(ranges > 100, "{ranges} parameters have a usual range");
    }

    #[test]
    fn every_condition_names_a_parameter_of_its_table_and_words_that_it_takes() {
        for (table, parameters) in all_parameter_tables() {
            for condition in parameters.iter().flat_map(|parameter| parameter.read_when) {
                let other = parameters.iter().find(|other| other.name == condition.parameter);
                let other = other.unwrap_or_else(|| panic!("{table} has no parameter {}", condition.parameter));
                for &word in condition.values {
                    assert_eq!(Ok(word.to_owned()), other.parse(word).map(|value| value.to_string()), "{table}.{}", other.name);
                }
            }
        }
    }

    #[test]
    fn what_an_aqm_leaves_unread_is_a_parameter_of_its_table() {
        for entry in AQMS {
            let names: Vec<_> = entry.parameters.iter().map(|parameter| parameter.name).collect();
            assert!(entry.unread_parameters.iter().all(|unread| names.contains(unread)), "{}: {:?}", entry.name, entry.unread_parameters);
            for (name, ReadCondition { parameter, values }) in entry.read_when {
                let table = Values::defaults(entry.parameters);
                assert!(names.contains(name) && table.unmet_read_conditions_of(name).is_empty(), "{}: {name}", entry.name);
                let other = entry.parameters.iter().find(|other| other.name == *parameter).unwrap();
                assert!(values.iter().all(|word| other.parse(word).is_ok()), "{}: {parameter}", entry.name);
            }
        }
    }

    #[test]
    fn the_text_of_an_aqm_shows_what_it_reads_and_nothing_else() {
        for entry in AQMS {
            let text = aqm_json(entry);
            let shown: Vec<_> = text["parameters"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
            let unread = |parameter: &&Parameter| !entry.unread_parameters.contains(&parameter.name);
            let read = entry.parameters.iter().filter(unread).map(|parameter| parameter.name);
            assert_eq!([vec!["limit"], read.collect()].concat(), shown, "{}", entry.name);
        }
    }
}
