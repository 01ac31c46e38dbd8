//! What there is, in its own words: the text behind `list`, `show` and the schema, made from the declarations.

use ecnlab_queue::registry::AQMS;
use ecnlab_sim::impairment;
use ecnlab_sim::measures::table::{ColumnText, TableText};
use ecnlab_transport::{Settings, profile, source};
use ecnlab_units::{Kind, Parameter};
use serde_json::{Map, Value as Json, json};

use crate::scenario;

/// AQMs, TCP profiles, TCP variants and traffic sources with all their parameters.
pub fn registry() -> Json {
    let aqms: Vec<_> = AQMS.iter().map(|e| entry(e.name, e.title, e.summary, e.source, &[&[LIMIT], e.parameters].concat(), &[])).collect();
    let tcp: Vec<_> =
        profile::PROFILES.iter().map(|p| entry(p.name, p.title, p.summary, p.source, Settings::PARAMETERS, p.members)).collect();
    let variants: Vec<_> = profile::VARIANTS.iter().map(variant).collect();
    let apps: Vec<_> = source::SOURCES.iter().map(|e| entry(e.name, e.title, e.summary, e.source, e.parameters, &[])).collect();
    json!({ "aqm": aqms, "tcp": tcp, "variant": variants, "app": apps })
}

/// The buffer, which every AQM shares.
const LIMIT: Parameter = Parameter {
    name: "limit",
    kind: Kind::Amount,
    default: "",
    doc: "Buffer: how much may wait, the packet in transmission not counted. Must be given.",
    source: "ns-2 2.35, queue-limit",
    ..Parameter::PLAIN
};

/// Every table that a run can give: its name, what a row stands for, and its columns, each with name, kind, unit, meaning, and the words
/// that stand in it where they are known beforehand.
pub fn columns() -> Json {
    let column = |column: &ColumnText| json!({ "name": column.name, "kind": column.kind, "unit": column.unit, "doc": column.doc, "words": column.words });
    let table = |table: &TableText| {
        let columns: Vec<_> = table.columns.iter().map(column).collect();
        json!({ "name": table.name, "doc": table.doc, "columns": columns })
    };
    ecnlab_sim::tables().iter().map(table).collect()
}

fn entry(name: &str, title: &str, summary: &str, source: &str, parameters: &[Parameter], members: &[profile::Member]) -> Json {
    let rows: Vec<_> = parameters.iter().map(|parameter| row(parameter, members)).collect();
    json!({ "name": name, "title": title, "summary": summary, "source": source, "parameters": rows })
}

/// A variant with the parameters that it sets.
fn variant(variant: &profile::Variant) -> Json {
    let set = |parameter: &&Parameter| variant.members.iter().any(|(name, _)| *name == parameter.name);
    let parameters: Vec<_> = Settings::PARAMETERS.iter().filter(set).copied().collect();
    let members: Vec<_> = parameters.iter().map(|p| (p.name, variant.member(p.name), p.source)).collect();
    entry(variant.name, variant.title, VARIANT_SUMMARY, variant.source, &parameters, &members)
}

const VARIANT_SUMMARY: &str =
    "tcp = { profile = ..., variant = ... }: sets these parameters of any profile; what the scenario gives itself comes after.";

fn row(parameter: &Parameter, members: &[profile::Member]) -> Json {
    let member = members.iter().find(|member| member.0 == parameter.name);
    let (default, source) = member.map_or((parameter.default, parameter.source), |member| (member.1, member.2));
    json!({
        "name": parameter.name, "kind": parameter.kind_name(), "unit": parameter.unit(), "default": default,
        "bounds": parameter.bounds(), "doc": parameter.doc, "source": source, "set": member.is_some(),
    })
}

/// The JSON Schema of a scenario file.
pub fn schema() -> Json {
    let quantity = json!({ "type": ["string", "number"] });
    let word = json!({ "type": "string" });
    let flag = json!({ "type": "boolean" });
    let queues: Vec<_> = AQMS
        .iter()
        .map(|e| table(&[("aqm", json!({ "const": e.name })), ("limit", quantity.clone())], e.parameters, &["aqm", "limit"]))
        .collect();
    let profiles: Vec<_> = profile::PROFILES.iter().map(|p| p.name).collect();
    let variants: Vec<_> = profile::VARIANTS.iter().map(|v| v.name).collect();
    let tcp =
        table(&[("profile", json!({ "enum": profiles })), ("variant", json!({ "enum": variants }))], Settings::PARAMETERS, &["profile"]);
    let apps: Vec<_> = source::SOURCES.iter().map(|e| table(&[("kind", json!({ "const": e.name }))], e.parameters, &["kind"])).collect();
    let names: Vec<_> = source::SOURCES.iter().map(|e| e.name).collect();
    let sources = [vec![json!({ "enum": names })], apps].concat();
    let pipe = |keys: &[&'static str], parameters: &[Parameter]| {
        table(&keys.iter().map(|&key| (key, quantity.clone())).collect::<Vec<_>>(), parameters, &[])
    };
    let link = table(
        &[
            ("name", word.clone()),
            ("from", word.clone()),
            ("to", word.clone()),
            ("rate", word.clone()),
            ("delay", word.clone()),
            ("queue", json!({ "oneOf": queues })),
            ("reverse", pipe(scenario::REVERSE_KEYS, impairment::Settings::PARAMETERS)),
        ],
        impairment::Settings::PARAMETERS,
        &["name", "from", "to", "rate", "delay", "queue"],
    );
    let flows = table(
        &[
            ("name", word.clone()),
            ("count", json!({ "type": "integer", "minimum": 1, "maximum": scenario::MAX_FLOWS })),
            ("from", word.clone()),
            ("to", word.clone()),
            ("access", pipe(scenario::ACCESS_KEYS, &[])),
            ("route", json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 })),
            ("tcp", tcp),
            ("app", json!({ "oneOf": sources })),
            ("start", json!({ "oneOf": [word, { "type": "array", "items": { "type": "string" }, "minItems": 1 }] })),
        ],
        &[],
        &["name", "to", "tcp"],
    );
    let record = table(&[("queue", word.clone()), ("window", word.clone()), ("rates", flag.clone()), ("events", flag)], &[], &[]);
    let list = |items: Json| json!({ "type": "array", "minItems": 1, "items": items });
    let mut root = table(
        &[
            ("name", word.clone()),
            ("duration", word.clone()),
            ("measure_from", word),
            ("link", list(link)),
            ("flows", list(flows)),
            ("record", record),
        ],
        &[],
        &["name", "duration", "link", "flows"],
    );
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("ecnlab scenario");
    root
}

fn table(members: &[(&str, Json)], parameters: &[Parameter], required: &[&str]) -> Json {
    let mut properties: Map<String, Json> = members.iter().map(|(name, of)| ((*name).to_owned(), of.clone())).collect();
    properties.extend(parameters.iter().map(|parameter| (parameter.name.to_owned(), property(parameter))));
    json!({ "type": "object", "additionalProperties": false, "properties": properties, "required": required })
}

fn property(parameter: &Parameter) -> Json {
    let mut json = match parameter.kind {
        Kind::Number { min, max, .. } => bounded("number", min, max),
        Kind::Count { min, max, .. } => json!({ "oneOf": [bounded("integer", min as f64, max as f64), { "type": "string" }] }),
        Kind::Amount => json!({ "type": ["string", "number"] }),
        Kind::Span { .. } | Kind::Rate | Kind::Text => json!({ "type": "string" }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Choice(words) => json!({ "enum": words }),
    };
    if let Some(word) = parameter.word {
        json = json!({ "oneOf": [json, { "const": word }] });
    }
    json["description"] = json!(format!("{} ({})", parameter.doc, parameter.source));
    json["default"] = json!(parameter.default);
    json
}

fn bounded(kind: &str, min: f64, max: f64) -> Json {
    if max.is_finite() { json!({ "type": kind, "minimum": min, "maximum": max }) } else { json!({ "type": kind, "minimum": min }) }
}
