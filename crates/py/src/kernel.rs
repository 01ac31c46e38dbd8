//! Cases of a real kernel, judged.

use ecnlab_scenario::kernel::{Outcome, Verdict, Way, judge};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::EngineFault;
use crate::fault::caught;

/// Judges a case of a real kernel in one way; JSON with `name`, `kind`, `verdict`, `why`, `agreed`, `packets` and `excerpt`.
#[pyfunction]
#[pyo3(name = "kernel_case")]
pub fn kernel_case(py: Python<'_>, case_json: &str, way: &str) -> PyResult<String> {
    let way =
        Way::from_word(way).ok_or_else(|| PyValueError::new_err(format!("no way is called {way}: there are {}", Way::WORDS.join(", "))))?;
    let judged = py.detach(|| caught(|| judge(case_json, way))).map_err(EngineFault::new_err)?;
    judged.map(|verdict| told(&verdict).to_string()).map_err(PyValueError::new_err)
}

fn told(verdict: &Verdict) -> Value {
    let (word, why) = match &verdict.outcome {
        Outcome::Exact => ("exact", None),
        Outcome::Totals(totals) => ("totals", Some(totals.clone())),
        Outcome::Differs(difference) => ("differs", Some(format!("at {:.3} ms {}", difference.time.seconds() * 1e3, difference.what))),
        Outcome::NotComparable(why) => ("not comparable", Some(why.clone())),
        Outcome::NotBuilt(why) => ("not built", Some(why.clone())),
    };
    json!({
        "name": verdict.name, "kind": verdict.kind, "verdict": word, "why": why,
        "agreed": verdict.agreed, "packets": verdict.packets, "excerpt": verdict.excerpt,
    })
}
