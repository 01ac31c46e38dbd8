//! The first exception of a user's AQM, stored until the run reads it.
//!
//! An AQM cannot stop its run, so its failure is stored per thread, since a run stays on one thread. Only the first failure counts.

use std::cell::{Cell, RefCell};

use ecnlab_units::Time;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Failure of an AQM, with hook and time.
pub struct Failure {
    pub aqm: &'static str,
    pub hook: &'static str,
    /// None if the creation failed.
    pub now: Option<Time>,
    /// Description of the packet that the hook was called for.
    pub packet: String,
    pub error: PyErr,
}

thread_local! {
    static HAS_FAILED: Cell<bool> = const { Cell::new(false) };
    static FIRST_FAILURE: RefCell<Option<Failure>> = const { RefCell::new(None) };
}

/// Stores a failure, unless there is one already.
pub fn store_failure(failure: Failure) {
    if !HAS_FAILED.replace(true) {
        FIRST_FAILURE.set(Some(failure));
    }
}

/// Prevents the creation of instances until [`take_failure`] is called, because the results of this thread are discarded.
pub fn block_instances() {
    HAS_FAILED.set(true);
}

/// Whether there is a failure, or instances are blocked.
pub fn has_failure() -> bool {
    HAS_FAILED.get()
}

/// Removes and returns the failure.
pub fn take_failure() -> Option<Failure> {
    HAS_FAILED.set(false);
    FIRST_FAILURE.take()
}

pyo3::create_exception!(_core, AqmFailure, pyo3::exceptions::PyException, "A user's AQM raised, or answered what cannot be.");

/// Whether the failure is Ctrl-C while a hook ran, and no error of the AQM.
pub fn is_interrupt(failure: &Failure) -> bool {
    Python::attach(|py| failure.error.is_instance_of::<PyKeyboardInterrupt>(py))
}

/// The failure as an exception with `aqm`, `hook`, `seed`, `time_s` and `packet`; its cause is the original exception. An interrupt is
/// returned as it is.
pub fn into_exception(seed: u64, failure: Failure) -> PyErr {
    if is_interrupt(&failure) {
        return failure.error;
    }
    let Failure { aqm, hook, now, packet, error } = failure;
    let exception = AqmFailure::new_err(error.to_string());
    let completed = Python::attach(|py| {
        exception.set_cause(py, Some(error));
        let about = PyDict::new(py);
        about.set_item("aqm", aqm)?;
        about.set_item("hook", hook)?;
        about.set_item("seed", seed)?;
        about.set_item("time_s", now.map(Time::seconds))?;
        about.set_item("packet", packet)?;
        exception.value(py).setattr("about", about)
    });
    completed.err().unwrap_or(exception)
}
