//! Comparison with ns-2 and with a kernel, for `ecnlab validate`.

use ecnlab_validation::kernel::{CaseMode, CaseResult, Verdict, validate_case_from_json};
use ecnlab_validation::ns2;
use ecnlab_validation::packetdrill::{self, ScriptResult};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::EngineFault;
use crate::panic::catch_panic;

/// Compares a run of ns-2; JSON with `name`, `ok`, `events` and `difference`.
#[pyfunction]
#[pyo3(name = "packet_exact")]
pub fn validate_ns2_case(case_json: &str) -> PyResult<String> {
    let result = ns2::validate_case_from_json(case_json).map_err(PyValueError::new_err)?;
    let is_ok = result.difference.is_none();
    Ok(json!({ "name": result.name, "ok": is_ok, "events": result.events, "difference": result.difference }).to_string())
}

/// Compares a recording of a kernel in one mode; JSON with `name`, `kind`, `verdict`, `why`, `agreed`, `packets` and `excerpt`.
#[pyfunction]
#[pyo3(name = "kernel_case")]
pub fn validate_kernel_case(py: Python<'_>, case_json: &str, way: &str) -> PyResult<String> {
    let unknown = || PyValueError::new_err(format!("unknown way {way}; fix: use one of {}", CaseMode::WORDS.join(", ")));
    let mode = CaseMode::from_word(way).ok_or_else(unknown)?;
    let result = py.detach(|| catch_panic(|| validate_case_from_json(case_json, mode))).map_err(EngineFault::new_err)?;
    result.map(|result| to_json(&result).to_string()).map_err(PyValueError::new_err)
}

/// Runs a packetdrill script against a simulated host; JSON with `verdict` (`passed`, `failed` or `unsupported`), `line` and `why`.
#[pyfunction]
#[pyo3(name = "packetdrill_script")]
pub fn run_packetdrill_script(py: Python<'_>, text: &str) -> PyResult<String> {
    let result = py.detach(|| catch_panic(|| packetdrill::run(text))).map_err(EngineFault::new_err)?;
    Ok(match result {
        ScriptResult::Passed => json!({ "verdict": "passed", "line": null, "why": null }),
        ScriptResult::Failed { line, what } => json!({ "verdict": "failed", "line": line, "why": what }),
        ScriptResult::Unsupported { line, what } => {
            json!({ "verdict": "unsupported", "line": line, "why": format!("not supported: {what}") })
        }
    }
    .to_string())
}

fn to_json(result: &CaseResult) -> Value {
    let (word, why) = match &result.verdict {
        Verdict::Exact => ("exact", None),
        Verdict::CountersAgree(counters) => ("totals", Some(counters.clone())),
        Verdict::Differs(difference) => ("differs", Some(format!("at {:.3} ms {}", difference.time.seconds() * 1e3, difference.what))),
        Verdict::NotComparable(why) => ("not comparable", Some(why.clone())),
        Verdict::NotBuilt(why) => ("not built", Some(why.clone())),
    };
    json!({
        "name": result.name, "kind": result.kind, "verdict": word, "why": why,
        "agreed": result.agreed, "packets": result.packets, "excerpt": result.excerpt,
    })
}
