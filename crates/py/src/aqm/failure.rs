//! What a user's AQM raised, kept until the run looks.
//!
//! An AQM cannot stop the run that asks it, so its failure waits here: one place for each thread, since a run stays on one thread. The
//! first failure counts.

use std::cell::{Cell, RefCell};

use ecnlab_units::Time;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Which AQM failed, where and when.
pub struct Failure {
    pub aqm: &'static str,
    pub hook: &'static str,
    /// Nothing if it failed as it was made.
    pub now: Option<Time>,
    /// What is known of the packet that it was asked about.
    pub packet: String,
    pub error: PyErr,
}

thread_local! {
    static FAILED: Cell<bool> = const { Cell::new(false) };
    static KEPT: RefCell<Option<Failure>> = const { RefCell::new(None) };
}

/// Keeps a failure, unless there is one already.
pub fn keep(failure: Failure) {
    if !FAILED.replace(true) {
        KEPT.set(Some(failure));
    }
}

/// Lets no instance be made until [`take`] is called: what goes on in this thread has no meaning any more.
pub fn refuse() {
    FAILED.set(true);
}

/// Whether there is a failure, or instances are refused.
pub fn is_kept() -> bool {
    FAILED.get()
}

/// Takes the failure out.
pub fn take() -> Option<Failure> {
    FAILED.set(false);
    KEPT.take()
}

pyo3::create_exception!(_core, AqmFailure, pyo3::exceptions::PyException, "A user's AQM raised, or answered what cannot be.");

/// The failure as an exception that tells `aqm`, `hook`, `seed`, `time_s` and `packet`; its cause is what was raised.
pub fn raised(py: Python<'_>, seed: u64, failure: Failure) -> PyErr {
    let Failure { aqm, hook, now, packet, error } = failure;
    let raised = AqmFailure::new_err(error.to_string());
    raised.set_cause(py, Some(error));
    let about = PyDict::new(py);
    let told = about
        .set_item("aqm", aqm)
        .and_then(|()| about.set_item("hook", hook))
        .and_then(|()| about.set_item("seed", seed))
        .and_then(|()| about.set_item("time_s", now.map(Time::seconds)))
        .and_then(|()| about.set_item("packet", packet))
        .and_then(|()| raised.value(py).setattr("about", about));
    told.err().unwrap_or(raised)
}
