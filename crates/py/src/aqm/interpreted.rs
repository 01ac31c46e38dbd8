//! An AQM in plain Python.
//!
//! Each hook call attaches the thread to the interpreter and detaches it again, so that runs of other seeds and the handler of Ctrl-C can
//! run. Only one thread runs in the interpreter at a time: several seeds of such an AQM are no faster on many cores than on one.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use ecnlab_queue::Aqm;
use ecnlab_queue::aqm::{AqmRequirements, Arrival, Departure, DequeueVerdict, EnqueueVerdict, PacketInfo, TimerContext};
use ecnlab_units::{Rate, Rng, Time};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
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
        let deadline = due.map(|due| parse_deadline(due, None)).transpose().map_err(PyValueError::new_err)?;
        let (instance, failed) = (instance.unbind(), Cell::new(false));
        let aqm = InterpretedAqm { user_aqm, hooks, instance, random_stream, deadline, average: Cell::new(None), failed };
        aqm.average.set(Python::attach(|py| aqm.read_average(py))?);
        Ok(aqm)
    }

    /// Calls a Python hook. Its exception is stored, and this and all later calls return `fallback`.
    fn call_hook<T>(&self, call: HookCall, fallback: T, call_hook: impl FnOnce(Python<'_>) -> PyResult<T>) -> T {
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
            failure::store_failure(Failure {
                aqm: self.user_aqm.name,
                hook: call.hook,
                now: call.now,
                packet: call.packet_description(),
                error,
            });
            fallback
        })
    }

    fn extract_verdict_code(&self, py: Python<'_>, answer: &Bound<'_, PyAny>) -> PyResult<i64> {
        if !answer.get_type().is(self.user_aqm.verdict.bind(py)) {
            let repr = answer.repr()?.to_string();
            return Err(PyTypeError::new_err(format!("{} is not a verdict; fix: return PASS, mark() or drop()", truncate_text(&repr))));
        }
        answer.extract()
    }

    /// Value of the gauge `average`, if the class has one.
    fn read_average(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        if !self.user_aqm.keeps_average {
            return Ok(None);
        }
        self.instance.bind(py).getattr(intern!(py, "average"))?.extract().map(Some)
    }
}

/// A call of a hook, for error messages.
struct HookCall<'a> {
    hook: &'static str,
    now: Option<Time>,
    packet: Option<&'a PacketInfo>,
}

impl HookCall<'_> {
    fn packet_description(&self) -> String {
        self.packet.map_or(String::new(), packet_text)
    }
}

/// Description of a packet in error messages.
pub fn packet_text(packet: &PacketInfo) -> String {
    format!("a packet of {} bytes of flow {}", packet.size, packet.flow)
}

/// Converts a hook's next deadline in seconds.
///
/// # Errors
/// If it is not a valid time, or not later than `now`.
pub fn parse_deadline(due_s: f64, now: Option<Time>) -> Result<Time, String> {
    let due = ecnlab_units::Span::from_secs_f64(due_s).map(|span| Time::ZERO + span);
    let due = due.ok_or_else(|| format!("a deadline at {due_s} s is not a time; fix: give seconds since the start of the run, or None"))?;
    match now {
        Some(now) if due <= now => Err(format!("a deadline at {due_s} s is in the past: now is {} s", now.seconds())),
        _ => Ok(due),
    }
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
        self.call_hook(HookCall { hook: "group", now: None, packet: Some(packet) }, 0, |py| {
            let group: i64 = hook.call1(py, (view::Packet::of(packet),))?.extract(py)?;
            if !(0..self.user_aqm.groups as i64).contains(&group) {
                let groups = self.user_aqm.groups;
                return Err(PyValueError::new_err(format!("unknown group {group}: the class has groups = {groups}")));
            }
            Ok(group as u8)
        })
    }

    fn on_enqueue(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        let call = HookCall { hook: "on_arrival", now: Some(arrival.now), packet: Some(&arrival.packet) };
        self.call_hook(call, EnqueueVerdict::Pass, |py| {
            let seen = view::Arrival::of(arrival);
            let answer = self.random_stream.get().with_stream(rng, || self.hooks.arrival.call1(py, (seen,)))?;
            let code = self.extract_verdict_code(py, answer.bind(py))?;
            verdict::decode_enqueue_verdict(code, self.user_aqm.groups).map_err(PyValueError::new_err)
        })
    }

    fn on_dequeue(&mut self, departure: &Departure, rng: &mut Rng) -> DequeueVerdict {
        let Some(hook) = &self.hooks.departure else { return DequeueVerdict::Pass };
        let call = HookCall { hook: "on_departure", now: Some(departure.now), packet: Some(&departure.packet) };
        self.call_hook(call, DequeueVerdict::Pass, |py| {
            let answer = self.random_stream.get().with_stream(rng, || hook.call1(py, (view::Departure::of(departure),)))?;
            verdict::decode_dequeue_verdict(self.extract_verdict_code(py, answer.bind(py))?).map_err(PyValueError::new_err)
        })
    }

    fn on_queue_empty(&mut self, now: Time) {
        let Some(hook) = &self.hooks.idle else { return };
        let call = HookCall { hook: "on_idle", now: Some(now), packet: None };
        self.call_hook(call, (), |py| hook.call1(py, (view::Idling::at_time(now),)).map(|_| ()));
    }

    fn next_timer(&self) -> Option<Time> {
        self.deadline
    }

    fn on_timer(&mut self, context: &TimerContext, rng: &mut Rng) {
        let Some(hook) = &self.hooks.deadline else { return self.deadline = None };
        let now = Some(context.now);
        self.deadline = self.call_hook(HookCall { hook: "on_deadline", now, packet: None }, None, |py| {
            let answer = self.random_stream.get().with_stream(rng, || hook.call1(py, (view::TimerContext::of(context),)))?;
            let due: Option<f64> = answer.extract(py)?;
            due.map(|due| parse_deadline(due, now)).transpose().map_err(PyValueError::new_err)
        });
    }

    fn set_link_rate(&mut self, rate: Rate) {
        let Some(hook) = &self.hooks.rate else { return };
        self.call_hook(HookCall { hook: "on_rate", now: None, packet: None }, (), |py| hook.call1(py, (rate.bps(),)).map(|_| ()));
    }

    fn average_queue_length(&self) -> Option<f64> {
        self.average.get()
    }

    fn report_gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        for gauge in self.user_aqm.gauges {
            let call = HookCall { hook: "its gauges", now: None, packet: None };
            show(gauge.name, self.call_hook(call, f64::NAN, |py| self.instance.bind(py).getattr(gauge.name)?.extract()));
        }
    }
}
