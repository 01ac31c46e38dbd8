//! Replays recorded arrivals through the queues of their scenario.

use ecnlab_sim::replay::{self, ReplayCounts, ReplayDifference, ReplayOutcome};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::aqm::failure;
use crate::errors::engine_fault;
use crate::panic::catch_panic;
use crate::scenario::Scenario;
use crate::table::Table;

/// First different decision: line of the queue's record, time, recorded decision, replayed decision.
type FirstDifference = (usize, f64, Option<String>, Option<String>);

/// A queue's arrivals, departures, marks and drops up to the first different decision, and that decision.
type QueueReplay = ([u64; 4], Option<FirstDifference>);

/// Replays the queues of a table `arrivals`, or the one with this name; a queue of a kernel has only its name. Raises ValueError if the
/// selected queue, or all queues, cannot be replayed.
#[pyfunction]
#[pyo3(name = "replay", signature = (scenario, seed, table, queue = None))]
pub fn replay_queues(
    py: Python<'_>,
    scenario: &Scenario,
    seed: u64,
    table: &Table,
    queue: Option<&str>,
) -> PyResult<Vec<(String, Option<QueueReplay>)>> {
    drop(failure::take_failure());
    let outcome = py.detach(|| {
        let outcome = catch_panic(|| replay::replay(&scenario.0.network, seed, &table.0, queue));
        (outcome, failure::take_failure())
    });
    match outcome {
        (_, Some(failure)) => Err(failure::into_exception(seed, failure)),
        (Err(message), None) => Err(engine_fault(py, &scenario.0.hash(), seed, &message)),
        (Ok(Err(unplayable)), None) => Err(PyValueError::new_err(unplayable.to_string())),
        (Ok(Ok(outcomes)), None) => Ok(outcomes.into_iter().map(|(name, outcome)| (name, outcome.map(to_python))).collect()),
    }
}

fn to_python((replayed, difference): ReplayOutcome) -> QueueReplay {
    let ReplayCounts { arrivals, departures, marks, drops } = replayed;
    let first_difference = difference.map(|difference| {
        let ReplayDifference { entry: line, time, recorded, replayed } = difference;
        (line, time.seconds(), recorded.map(|line| line.to_string()), replayed.map(|line| line.to_string()))
    });
    ([arrivals, departures, marks, drops], first_difference)
}
