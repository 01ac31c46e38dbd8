//! Python's look at work while it goes on: how far it is, and whether to stop.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// How often, in wall time, work shows itself.
const EVERY: Duration = Duration::from_millis(50);

/// Tells a Python callable now and then how far it is, in simulated seconds or in bytes, and asks it whether to stop.
pub struct Watch {
    callable: Option<Py<PyAny>>,
    last: Instant,
    /// What the callable raised, or Ctrl-C.
    pub failure: Option<PyErr>,
}

impl Watch {
    pub fn new(callable: Option<Py<PyAny>>) -> Watch {
        Watch { callable, last: Instant::now(), failure: None }
    }

    /// Whether the work is to stop.
    pub fn wants_stop(&mut self, done: f64) -> bool {
        if self.last.elapsed() < EVERY {
            return false;
        }
        self.last = Instant::now();
        Python::attach(|py| self.ask(py, done)).unwrap_or_else(|failure| {
            self.failure = Some(failure);
            true
        })
    }

    fn ask(&self, py: Python<'_>, done: f64) -> PyResult<bool> {
        py.check_signals()?;
        match &self.callable {
            Some(callable) => callable.call1(py, (done,))?.is_truthy(py),
            None => Ok(false),
        }
    }
}
