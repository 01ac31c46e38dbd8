//! An AQM in plain Python.
//!
//! Each hook call attaches the thread to the interpreter and detaches it again, so that runs of other seeds and the handler of Ctrl-C can
//! run. Only one thread runs in the interpreter at a time: several seeds of such an AQM are no faster on many cores than on one.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use ecnlab_queue::aqm::{AqmRequirements, Arrival, Departure, DequeueVerdict, EnqueueVerdict, GaugeReport, PacketInfo, TimerContext};
use ecnlab_queue::{Aqm, user_aqm};
use ecnlab_units::{Rate, Rng, Time};
use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;

use super::entry::UserAqmClass;
use super::failure::{self, Failure};
use super::{verdict, view};

/// Random stream of the queue, lent to an AQM during a hook call.
#[pyclass(frozen)]
#[derive(Default)]
pub struct Draws(Mutex<Option<Rng>>);

#[pymethods]
impl Draws {
    #[new]
    fn new() -> Draws {
        Draws::default()
    }

    /// Uniform in [0, 1). Raises RuntimeError outside of a hook call for a packet or a deadline.
    fn random(&self) -> PyResult<f64> {
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stream.as_mut().map(Rng::uniform).ok_or_else(|| PyRuntimeError::new_err(NO_RANDOM_STREAM))
    }
}

pub const NO_RANDOM_STREAM: &str = "random() works only in on_arrival, on_departure and on_deadline";

impl Draws {
    /// Lends the stream during `call_hook`.
    fn with_stream<T>(&self, rng: &mut Rng, call_hook: impl FnOnce() -> T) -> T {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(rng.clone());
        let answer = call_hook();
        if let Some(advanced) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            *rng = advanced;
        }
        answer
    }
}

/// An instance of a user's AQM class in plain Python.
pub struct InterpretedAqm {
    user_aqm: &'static UserAqmClass,
    hooks: PythonHooks,
    instance: Py<PyAny>,
    random_stream: Py<Draws>,
    deadline: Option<Time>,
    average: Cell<Option<f64>>,
    /// A hook has failed: from then on the instance passes every packet.
    failed: Cell<bool>,
}

/// Bound methods of the hooks that the class defines.
struct PythonHooks {
    arrival: Py<PyAny>,
    departure: Option<Py<PyAny>>,
    deadline: Option<Py<PyAny>>,
    idle: Option<Py<PyAny>>,
    rate: Option<Py<PyAny>>,
    group: Option<Py<PyAny>>,
}

impl InterpretedAqm {
    /// Wraps an instance that `ecnlab.aqm` has created; `due` is its first deadline in seconds.
    pub fn new(
        user_aqm: &'static UserAqmClass,
        instance: Bound<'_, PyAny>,
        random_stream: Py<Draws>,
        due: Option<f64>,
    ) -> PyResult<InterpretedAqm> {
        let hook = |name: &str| if user_aqm.has(name) { instance.getattr(name).map(|it| Some(it.unbind())) } else { Ok(None) };
        let hooks = PythonHooks {
            arrival: instance.getattr("on_arrival")?.unbind(),
            departure: hook("on_departure")?,
            deadline: hook("on_deadline")?,
            idle: hook("on_idle")?,
            rate: hook("on_rate")?,
            group: hook("group")?,
        };
        let deadline = parse_deadline(due, None)?;
        let (instance, failed) = (instance.unbind(), Cell::new(false));
        let aqm = InterpretedAqm { user_aqm, hooks, instance, random_stream, deadline, average: Cell::new(None), failed };
        aqm.average.set(Python::attach(|py| aqm.read_average(py))?);
        Ok(aqm)
    }

    /// Calls a Python hook. Its exception is stored, and this and all later calls return `fallback`.
    fn call_hook<T>(
        &self,
        hook: &'static str,
        now: Option<Time>,
        packet: Option<&PacketInfo>,
        fallback: T,
        call_hook: impl FnOnce(Python<'_>) -> PyResult<T>,
    ) -> T {
        if self.failed.get() {
            return fallback;
        }
        let call_and_read_average = |py: Python<'_>| {
            let answer = call_hook(py)?;
            self.average.set(self.read_average(py)?);
            Ok(answer)
        };
        Python::attach(call_and_read_average).unwrap_or_else(|error| {
            self.failed.set(true);
            let packet = packet.map_or(String::new(), user_aqm::packet_text);
            failure::store_failure(Failure { aqm: self.user_aqm.name, hook, now, packet, error });
            fallback
        })
    }

    fn extract_verdict_code(&self, py: Python<'_>, answer: &Bound<'_, PyAny>) -> PyResult<i64> {
        if !answer.get_type().is(self.user_aqm.verdict.bind(py)) {
            return Err(PyTypeError::new_err(format!("{} is not a verdict; fix: return PASS, mark() or drop()", repr_text(answer)?)));
        }
        answer.extract()
    }

    /// Value of the gauge `average`, if the class has one.
    fn read_average(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        if !self.user_aqm.keeps_average {
            return Ok(None);
        }
        gauge_value(&self.instance.bind(py).getattr(intern!(py, "average"))?, "average").map(Some)
    }
}

/// A deadline in seconds that the user's code returned, if it did.
pub fn extract_deadline(due: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    extract_or_explain(due, |text| format!("{text} is not a deadline; fix: return a number of seconds since the start of the run, or None"))
}

/// A deadline in seconds, if there is one.
pub fn parse_deadline(due_s: Option<f64>, now: Option<Time>) -> PyResult<Option<Time>> {
    due_s.map(|due_s| user_aqm::parse_deadline(due_s, now, "None")).transpose().map_err(PyValueError::new_err)
}

fn gauge_value(value: &Bound<'_, PyAny>, name: &str) -> PyResult<f64> {
    extract_or_explain(value, |text| format!("the gauge {name} is {text} and not a number; fix: set self.{name} to a number"))
}

/// A value of the user's code. A value of another type is a TypeError with the message for its text.
///
/// An exception with a traceback comes from the value's own `__float__` or `__index__`, and is passed on.
fn extract_or_explain<'py, T: FromPyObject<'py>>(value: &Bound<'py, PyAny>, message: impl FnOnce(String) -> String) -> PyResult<T> {
    value.extract().or_else(|error: PyErr| {
        let py = value.py();
        let is_of_another_type = error.is_instance_of::<PyTypeError>(py) || error.is_instance_of::<PyOverflowError>(py);
        if is_of_another_type && error.traceback(py).is_none() {
            return Err(PyTypeError::new_err(message(repr_text(value)?)));
        }
        Err(error)
    })
}

fn repr_text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(truncate_text(&value.repr()?.to_string()))
}

fn truncate_text(text: &str) -> String {
    const MAX_CHARS: usize = 80;
    if text.chars().count() > MAX_CHARS { text.chars().take(MAX_CHARS).chain("...".chars()).collect() } else { text.to_owned() }
}

impl Aqm for InterpretedAqm {
    fn requirements(&self) -> AqmRequirements {
        AqmRequirements { groups: self.user_aqm.groups, dequeue_hook: self.hooks.departure.is_some() }
    }

    fn packet_group_index(&self, packet: &PacketInfo) -> u8 {
        let Some(hook) = &self.hooks.group else { return 0 };
        self.call_hook("group", None, Some(packet), 0, |py| {
            let answer = hook.call1(py, (view::Packet::of(packet),))?;
            let last = self.user_aqm.groups.saturating_sub(1);
            let not_a_group = |text| format!("{text} is not a group; fix: return a whole number from 0 to {last}");
            let group: i64 = extract_or_explain(answer.bind(py), not_a_group)?;
            if !(0..self.user_aqm.groups as i64).contains(&group) {
                return Err(PyValueError::new_err(user_aqm::unknown_group(group, self.user_aqm.groups)));
            }
            Ok(group as u8)
        })
    }

    fn on_enqueue(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        self.call_hook("on_arrival", Some(arrival.now), Some(&arrival.packet), EnqueueVerdict::Pass, |py| {
            let seen = view::Arrival::of(arrival);
            let answer = self.random_stream.get().with_stream(rng, || self.hooks.arrival.call1(py, (seen,)))?;
            let code = self.extract_verdict_code(py, answer.bind(py))?;
            verdict::decode_enqueue_verdict(code, self.user_aqm.groups).map_err(PyValueError::new_err)
        })
    }

    fn on_dequeue(&mut self, departure: &Departure, rng: &mut Rng) -> DequeueVerdict {
        let Some(hook) = &self.hooks.departure else { return DequeueVerdict::Pass };
        self.call_hook("on_departure", Some(departure.now), Some(&departure.packet), DequeueVerdict::Pass, |py| {
            let answer = self.random_stream.get().with_stream(rng, || hook.call1(py, (view::Departure::of(departure),)))?;
            verdict::decode_dequeue_verdict(self.extract_verdict_code(py, answer.bind(py))?).map_err(PyValueError::new_err)
        })
    }

    fn on_queue_empty(&mut self, now: Time) {
        let Some(hook) = &self.hooks.idle else { return };
        self.call_hook("on_idle", Some(now), None, (), |py| hook.call1(py, (view::Idling::at_time(now),)).map(|_| ()));
    }

    fn next_timer(&self) -> Option<Time> {
        self.deadline
    }

    fn on_timer(&mut self, context: &TimerContext, rng: &mut Rng) {
        let Some(hook) = &self.hooks.deadline else { return self.deadline = None };
        let now = Some(context.now);
        self.deadline = self.call_hook("on_deadline", now, None, None, |py| {
            let answer = self.random_stream.get().with_stream(rng, || hook.call1(py, (view::TimerContext::of(context),)))?;
            parse_deadline(extract_deadline(answer.bind(py))?, now)
        });
    }

    fn set_link_rate(&mut self, rate: Rate) {
        let Some(hook) = &self.hooks.rate else { return };
        self.call_hook("on_rate", None, None, (), |py| hook.call1(py, (rate.bps(),)).map(|_| ()));
    }

    fn average_queue_length(&self) -> Option<f64> {
        self.average.get()
    }

    fn report_gauges(&self, show: GaugeReport) {
        for gauge in self.user_aqm.gauges {
            show(
                gauge.name,
                self.call_hook("its gauges", None, None, f64::NAN, |py| {
                    gauge_value(&self.instance.bind(py).getattr(gauge.name)?, gauge.name)
                }),
            );
        }
    }
}
