//! The conformance suite over an AQM, ours or the user's.

use ecnlab_queue::conformance;
use ecnlab_units::Time;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Value as Json, json};

use super::entry::Subject;
use super::failure::{self, Failure};
use crate::conformance::judge;
use crate::fault::caught;

/// Runs the suite over an AQM. JSON as of [`judge`], with one check more.
#[pyfunction]
pub fn check_aqm(py: Python<'_>, aqm: Subject<'_>) -> PyResult<String> {
    let entry = aqm.entry().map_err(PyValueError::new_err)?;
    drop(failure::take());
    let outcome = py.detach(|| caught(|| judge(&conformance::Subject::aqm(entry))).map(|judged| (judged, failure::take())));
    let (mut judged, failure) = outcome.map_err(PyRuntimeError::new_err)?;
    if let Json::Array(checks) = &mut judged["checks"] {
        checks.insert(0, raises(py, failure));
    }
    Ok(judged.to_string())
}

/// The rule that only a user's AQM can break: one that has raised lets every packet pass, which the other rules would not notice.
fn raises(py: Python<'_>, failure: Option<Failure>) -> Json {
    let found = failure.as_ref().map_or(String::new(), |Failure { hook, now, error, .. }| {
        let at = now.map_or(String::new(), |now: Time| format!(" at {} s", now.seconds()));
        let traceback = error.traceback(py).and_then(|traceback| traceback.format().ok()).unwrap_or_default();
        format!("{hook}{at}: {error}\n{traceback}").trim_end().to_owned()
    });
    json!({ "name": "raises", "sentence": "It raises nothing, and every answer is one.", "ok": failure.is_none(), "found": found })
}
