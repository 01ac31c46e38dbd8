//! Results of the conformance suite for a queue, as JSON.

use ecnlab_queue::Registry;
use ecnlab_testkit::rfc7567::{RequirementResult, measure_all_requirements};
use ecnlab_testkit::{DeviceUnderTest, InvariantResult, check_excluding_rejected_cases};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Value as Json, json};

use crate::panic::catch_panic;

/// Runs the suite for a discipline with its default AQM. JSON as of `check_aqm`.
#[pyfunction]
pub fn check_discipline(py: Python<'_>, name: &str) -> PyResult<String> {
    let entry = Registry::builtin().discipline(name).ok_or_else(|| PyValueError::new_err(format!("unknown discipline \"{name}\"")))?;
    let judged = py.detach(|| catch_panic(|| check_to_json(&DeviceUnderTest::from_discipline_with_default_aqm(entry), &mut || true)));
    judged.map(|judged| judged.to_string()).map_err(PyRuntimeError::new_err)
}

/// Checks every invariant and measures every requirement of RFC 7567. JSON with `name`, `checks` and `duties`. Each check has `name`,
/// `sentence`, `ok` (null if no case of it was completed) and `found`; each duty has `name`, `section`, `sentence`, `verdict` and `found`.
/// `accepts` is called after each test case and after the measurements; if it returns false, the results do not count.
pub fn check_to_json(dut: &DeviceUnderTest, accepts: &mut dyn FnMut() -> bool) -> Json {
    let report = check_excluding_rejected_cases(dut, accepts);
    let checks: Vec<_> = report.checks.iter().map(invariant_check_json).collect();
    let measured = measure_all_requirements(dut);
    let accepted = accepts();
    let duties: Vec<_> = measured.iter().map(|one| requirement_json(one, accepted)).collect();
    json!({ "name": report.name, "checks": checks, "duties": duties })
}

fn invariant_check_json(check: &InvariantResult) -> Json {
    let ok = if check.violation.is_some() { Some(false) } else { check.completed.then_some(true) };
    let found = check.violation.as_ref().map_or("", |violation| violation.message.as_str());
    json!({ "name": check.invariant.word(), "sentence": check.invariant.sentence(), "ok": ok, "found": found })
}

fn requirement_json(RequirementResult { requirement, compliance, found }: &RequirementResult, accepted: bool) -> Json {
    let (section, sentence) = (requirement.section(), requirement.sentence());
    let (verdict, found) = if accepted { (compliance.word(), found.as_str()) } else { ("not judged", "") };
    json!({ "name": requirement.word(), "section": section, "sentence": sentence, "verdict": verdict, "found": found })
}
