//! Exceptions of the engine; `ecnlab.errors` translates them for users.

use ecnlab_scenario::Problem;
use ecnlab_sim::RecordingLimitReached;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(_core, ScenarioError, PyException, "A scenario with problems; `problems` lists (place, line, message).");
create_exception!(_core, TraceError, PyException, "A trace that cannot be read.");
create_exception!(_core, Interrupted, PyException, "A run was stopped by its `watch`.");
create_exception!(_core, EngineFault, PyException, "A fault of the engine itself; `hash` and `seed` say in which run.");

/// Path, line and message of a problem.
pub type ProblemTuple = (String, Option<usize>, String);

pub fn problem_tuples(problems: &[Problem]) -> Vec<ProblemTuple> {
    problems.iter().map(|problem| (problem.place.clone(), problem.line, problem.message.clone())).collect()
}

pub fn scenario_error(problems: &[Problem]) -> PyErr {
    let text: Vec<_> = problems.iter().map(|problem| format!("{}: {}", problem.place, problem.message)).collect();
    let error = ScenarioError::new_err(text.join("\n"));
    Python::attach(|py| error.value(py).setattr("problems", problem_tuples(problems))).err().unwrap_or(error)
}

pub fn recording_limit_error(reached: &RecordingLimitReached) -> PyErr {
    scenario_error(&[Problem::new("record", reached.to_string())])
}

pub fn engine_fault(py: Python<'_>, hash: &str, seed: u64, message: &str) -> PyErr {
    let error = EngineFault::new_err(message.to_owned());
    let value = error.value(py);
    let set = value.setattr("hash", hash).and_then(|()| value.setattr("seed", seed));
    set.err().unwrap_or(error)
}
