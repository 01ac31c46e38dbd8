//! What the conformance suite finds of a queue, as JSON.

use ecnlab_queue::Registry;
use ecnlab_queue::conformance::duties::{Measured, duties};
use ecnlab_queue::conformance::{self, Check, Subject};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Value as Json, json};

use crate::fault::caught;

/// Runs the suite over a discipline with the AQM that it has by default. JSON as of `check_aqm`.
#[pyfunction]
pub fn check_discipline(py: Python<'_>, name: &str) -> PyResult<String> {
    let entry = Registry::builtin().discipline(name).ok_or_else(|| PyValueError::new_err(format!("there is no discipline \"{name}\"")))?;
    let judged = py.detach(|| caught(|| judge(&Subject::discipline(entry), &mut || true)));
    judged.map(|judged| judged.to_string()).map_err(PyRuntimeError::new_err)
}

/// Judges every rule and measures every duty. JSON with `name`, `checks` and `duties`; each check has `name`, `sentence`, `ok` (nothing if it
/// could not be judged) and `found`, each duty `name`, `section`, `sentence`, `verdict` and `found`. `counts` is asked after each trial, and
/// after the duties were measured, whether the subject was itself.
pub fn judge(subject: &Subject, counts: &mut dyn FnMut() -> bool) -> Json {
    let report = conformance::judge(subject, counts);
    let checks: Vec<_> = report.checks.iter().map(check).collect();
    let measured = duties(subject);
    let counts = counts();
    let duties: Vec<_> = measured.iter().map(|one| if counts { duty(one) } else { not_judged(one) }).collect();
    json!({ "name": report.name, "checks": checks, "duties": duties })
}

fn check(check: &Check) -> Json {
    let ok = if check.fault.is_some() { Some(false) } else { check.judged.then_some(true) };
    let found = check.fault.as_ref().map_or("", |fault| fault.what.as_str());
    json!({ "name": check.rule.word(), "sentence": check.rule.sentence(), "ok": ok, "found": found })
}

fn duty(Measured { duty, verdict, found }: &Measured) -> Json {
    json!({ "name": duty.word(), "section": duty.section(), "sentence": duty.sentence(), "verdict": verdict.word(), "found": found })
}

fn not_judged(Measured { duty, .. }: &Measured) -> Json {
    json!({ "name": duty.word(), "section": duty.section(), "sentence": duty.sentence(), "verdict": "not judged", "found": "" })
}
