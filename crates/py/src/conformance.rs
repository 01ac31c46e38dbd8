//! What the conformance suite finds of an AQM or a discipline, as JSON.

use ecnlab_queue::conformance::duties::{Measured, duties};
use ecnlab_queue::conformance::{self, Check, Subject};
use serde_json::{Map, Value as Json, json};

use crate::fault;

/// Runs the suite and measures the duties: `name`, `checks` in the order of the rules, and `duties` by name.
pub fn judge(subject: &Subject) -> Json {
    let report = conformance::subject(subject);
    let checks: Vec<_> = report.checks.iter().map(check).collect();
    json!({ "name": report.name, "checks": checks, "duties": measure(subject) })
}

/// `ok` is null where no trial came as far as to judge the rule.
fn check(check: &Check) -> Json {
    let ok = if check.fault.is_some() { Some(false) } else { check.judged.then_some(true) };
    let found = check.fault.as_ref().map_or("", |fault| fault.what.as_str());
    json!({ "name": check.rule.word(), "ok": ok, "sentence": check.rule.sentence(), "found": found })
}

/// The duties of RFC 7567 by name; one that made the AQM panic has no verdict.
fn measure(subject: &Subject) -> Json {
    let Ok(measured) = fault::caught(|| duties(subject)) else { return json!({}) };
    let duty = |Measured { duty, verdict, found }: &Measured| {
        let text = json!({ "section": duty.section(), "sentence": duty.sentence(), "verdict": verdict.word(), "found": found });
        (duty.word().to_owned(), text)
    };
    Json::Object(measured.iter().map(duty).collect::<Map<_, _>>())
}
