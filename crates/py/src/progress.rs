//! Progress reports to Python, which may stop the work.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::errors::Interrupted;

/// Wall time between two reports.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Calls a Python callable with the progress, in simulated seconds or in bytes; its result says whether to stop.
pub struct ProgressWatch {
    callable: Option<Py<PyAny>>,
    last_poll: Instant,
    /// Exception of the callable, or Ctrl-C.
    failure: Option<PyErr>,
}

impl ProgressWatch {
    pub fn new(callable: Option<Py<PyAny>>) -> ProgressWatch {
        ProgressWatch { callable, last_poll: Instant::now(), failure: None }
    }

    /// Reports the progress if it is due; returns whether the work should stop.
    pub fn report_and_ask_stop(&mut self, done: f64) -> bool {
        if self.last_poll.elapsed() < POLL_INTERVAL {
            return false;
        }
        self.last_poll = Instant::now();
        Python::attach(|py| self.check_signals_and_call(py, done)).unwrap_or_else(|failure| {
            self.failure = Some(failure);
            true
        })
    }

    /// Why the work was stopped: the exception of the callable, or `Interrupted` with this text.
    pub fn into_exception(self, text: &'static str) -> PyErr {
        self.failure.unwrap_or_else(|| Interrupted::new_err(text))
    }

    fn check_signals_and_call(&self, py: Python<'_>, done: f64) -> PyResult<bool> {
        py.check_signals()?;
        match &self.callable {
            Some(callable) => callable.call1(py, (done,))?.is_truthy(py),
            None => Ok(false),
        }
    }
}
