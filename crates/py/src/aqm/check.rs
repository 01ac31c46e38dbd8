//! Conformance suite for an AQM, built-in or user-defined.

use cpu_time::ThreadTime;
use ecnlab_queue::{AqmConfig, Discipline, Fifo, Limit};
use ecnlab_testkit::{DeviceUnderTest, Packet};
use ecnlab_units::{Rate, Rng, Span, Time, Values};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Value as Json, json};

use super::entry::AqmOrName;
use super::failure::{self, Failure, is_interrupt};
use crate::conformance::check_to_json;
use crate::panic::catch_panic;

/// Runs the suite for an AQM. JSON as of [`check_to_json`], with one more check. Raises KeyboardInterrupt if a hook or this thread receives
/// Ctrl-C.
///
/// An AQM that has raised passes every packet, so a test case in which it raises does not count for other rules.
#[pyfunction]
pub fn check_aqm(py: Python<'_>, aqm: AqmOrName<'_>) -> PyResult<String> {
    let entry = aqm.entry().map_err(PyValueError::new_err)?;
    drop(failure::take_failure());
    let mut failure = None;
    let outcome =
        py.detach(|| catch_panic(|| check_to_json(&DeviceUnderTest::from_aqm_in_fifo(entry), &mut || has_no_new_failure(&mut failure))));
    drop(failure::take_failure());
    if let Some(Failure { error, .. }) = failure.take_if(|failure| is_interrupt(failure)) {
        return Err(error);
    }
    let mut judged = outcome.map_err(PyRuntimeError::new_err)?;
    if let Json::Array(checks) = &mut judged["checks"] {
        checks.insert(0, exception_check_json(py, failure));
    }
    Ok(judged.to_string())
}

/// Whether no failure has occurred since the last call. The first failure is stored, and after Ctrl-C no test case calls a hook.
fn has_no_new_failure(first: &mut Option<Failure>) -> bool {
    if first.as_ref().is_some_and(is_interrupt) {
        failure::block_instances();
        return false;
    }
    if let Err(error) = Python::attach(|py| py.check_signals()) {
        failure::store_failure(Failure { aqm: "", hook: "", now: None, packet: String::new(), error });
    }
    let Some(failure) = failure::take_failure() else { return true };
    if is_interrupt(&failure) {
        failure::block_instances();
        *first = Some(failure);
    } else {
        first.get_or_insert(failure);
    }
    false
}

/// CPU time per packet in a FIFO with this AQM, in nanoseconds, averaged over `packets` packets.
///
/// The queue is kept at ten packets, with the AQM's defaults: there RED's average is between its thresholds.
#[pyfunction]
pub fn cost_of_aqm(py: Python<'_>, aqm: AqmOrName<'_>, packets: u32) -> PyResult<f64> {
    let entry = aqm.entry().map_err(PyValueError::new_err)?;
    drop(failure::take_failure());
    let cost_ns = py.detach(|| {
        let (rate, limit) = (Rate::from_bps(10_000_000).expect("is not zero"), Limit::Packets(100));
        let aqm = AqmConfig { entry, values: Values::defaults(entry.parameters) }.build(rate, limit);
        let began = ThreadTime::now();
        send_packets_through(Fifo::new(aqm, limit), packets);
        began.elapsed().as_secs_f64() * 1e9 / f64::from(packets)
    });
    match failure::take_failure() {
        Some(failure) => Err(failure::into_exception(0, failure)),
        None => Ok(cost_ns),
    }
}

/// Sends packets through a queue, which is kept at ten packets as far as the AQM allows.
fn send_packets_through(mut queue: Fifo<Packet>, packets: u32) {
    let (mut now, mut rng) = (Time::ZERO, Rng::for_role(1, "cost"));
    for number in 0..u64::from(packets) {
        queue.enqueue(Packet { number, ..Packet::ECT0_1000_BYTES }, now, &mut rng, &mut |_| {});
        now += Span::from_micros(400);
        if queue.len() > 10 {
            queue.dequeue(now, &mut rng, &mut |_| {});
        }
    }
}

/// The rule that only a user's AQM can violate: one that has raised passes every packet, which the other rules would not detect.
fn exception_check_json(py: Python<'_>, failure: Option<Failure>) -> Json {
    let found = failure.as_ref().map_or(String::new(), |Failure { hook, now, error, .. }| {
        let at = now.map_or(String::new(), |now: Time| format!(" at {} s", now.seconds()));
        let traceback = error.traceback(py).and_then(|traceback| traceback.format().ok()).unwrap_or_default();
        format!("{hook}{at}: {error}\n{traceback}").trim_end().to_owned()
    });
    json!({ "name": "exceptions", "sentence": "No hook raises an exception, and each verdict is a valid one.", "ok": failure.is_none(), "found": found })
}
