//! What was recorded at queues, put through the same queues again.

use ecnlab_sim::replay::{self, ReplayCounts, ReplayDifference, ReplayOutcome};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::aqm::failure;
use crate::errors::engine_fault;
use crate::panic::caught;
use crate::scenario::Scenario;
use crate::table::Table;

/// A decision that was another: which line of the queue's record, when, what the queue did then, and what it does now.
type Other = (usize, f64, Option<String>, Option<String>);

/// A queue's arrivals, departures, marks and drops up to the first decision that was another, and that.
type Told = ([u64; 4], Option<Other>);

/// Replays the queues of a table `arrivals`, or the one of this name; a kernel's queue has its name alone. Raises ValueError if the one cannot
/// be replayed, or none of all.
#[pyfunction]
#[pyo3(name = "replay", signature = (scenario, seed, table, queue = None))]
pub fn replayed(
    py: Python<'_>,
    scenario: &Scenario,
    seed: u64,
    table: &Table,
    queue: Option<&str>,
) -> PyResult<Vec<(String, Option<Told>)>> {
    drop(failure::take());
    let outcome = py.detach(|| {
        let outcome = caught(|| replay::replay(&scenario.0.network, seed, &table.0, queue));
        (outcome, failure::take())
    });
    match outcome {
        (_, Some(failure)) => Err(failure::raised(py, seed, failure)),
        (Err(told), None) => Err(engine_fault(py, &scenario.0.hash(), seed, &told)),
        (Ok(Err(unplayable)), None) => Err(PyValueError::new_err(unplayable.to_string())),
        (Ok(Ok(outcomes)), None) => Ok(outcomes.into_iter().map(|(name, outcome)| (name, outcome.map(told))).collect()),
    }
}

fn told((replayed, difference): ReplayOutcome) -> Told {
    let ReplayCounts { arrivals, departures, marks, drops } = replayed;
    let other = difference.map(|difference| {
        let ReplayDifference { entry: line, time, recorded, replayed } = difference;
        (line, time.seconds(), recorded.map(|line| line.to_string()), replayed.map(|line| line.to_string()))
    });
    ([arrivals, departures, marks, drops], other)
}
