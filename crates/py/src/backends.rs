//! Parts of a scenario that a backend does not support. Backends with kernel hosts exist on Linux only.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

use crate::emulator;
use crate::errors::{ProblemTuple, problem_tuples};
use crate::scenario::Scenario;

create_exception!(_core, SystemRefusal, PyException, "The machine does not permit what a run with real hosts needs.");

/// Parts of a scenario that a backend or a shell does not support, each with path, line and remedy. For hosts on another machine,
/// `controls` are their congestion controls; `ip` is their IP version, and `accurate_ecn` whether they can negotiate Accurate ECN.
/// Raises ValueError for a backend that this build does not have.
#[pyfunction]
#[pyo3(signature = (scenario, backend, controls = None, ip = 4, accurate_ecn = false))]
pub fn refusals(
    py: Python<'_>,
    scenario: &Scenario,
    backend: &str,
    controls: Option<Vec<String>>,
    ip: u32,
    accurate_ecn: bool,
) -> PyResult<Vec<ProblemTuple>> {
    let problems = match backend {
        "sim" => Some(scenario.0.problems_without_kernel()),
        _ => py.detach(|| emulator::refusals(&scenario.0, backend, controls, ip, accurate_ecn)),
    };
    let problems = problems.ok_or_else(|| PyValueError::new_err(format!("unknown backend {backend:?}")))?;
    Ok(problem_tuples(&problems))
}
