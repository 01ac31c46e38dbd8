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
    let judged = py.detach(|| caught(|| judge(&Subject::discipline(entry))));
    judged.map(|judged| judged.to_string()).map_err(PyRuntimeError::new_err)
}

/// Judges every rule and measures every duty. JSON with `name`, `checks` and `duties`; each check has `name`, `sentence`, `ok` (nothing if it
/// could not be judged) and `found`, each duty `name`, `section`, `sentence`, `verdict` and `found`.
pub fn judge(subject: &Subject) -> Json {
    let report = conformance::subject(subject);
    let checks: Vec<_> = report.checks.iter().map(check).collect();
    let duties: Vec<_> = duties(subject).iter().map(duty).collect();
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
