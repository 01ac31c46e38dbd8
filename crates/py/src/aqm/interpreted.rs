//! An AQM in plain Python.
//!
//! Every question attaches the thread to the interpreter and lets it go again, so that runs of other seeds and whoever hears Ctrl-C get
//! their turn. Only one thread is in the interpreter at a time: several seeds of such an AQM take as long on many cores as on few.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use ecnlab_queue::Aqm;
use ecnlab_queue::aqm::{AqmRequirements, Arrival, Departure, DequeueVerdict, EnqueueVerdict, PacketInfo, TimerContext};
use ecnlab_units::{Rate, Rng, Time};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;

use super::entry::Brought;
use super::failure::{self, Failure};
use super::{verdict, view};

/// The queue's own stream of random numbers, lent to an AQM while it is asked.
#[pyclass(frozen)]
#[derive(Default)]
pub struct Draws(Mutex<Option<Rng>>);

#[pymethods]
impl Draws {
    #[new]
    fn new() -> Draws {
        Draws::default()
    }

    /// Uniform in [0, 1). Raises RuntimeError unless the AQM is being asked about a packet or a deadline.
    fn random(&self) -> PyResult<f64> {
        let mut lent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lent.as_mut().map(Rng::uniform).ok_or_else(|| PyRuntimeError::new_err(NO_DRAW))
    }
}

pub const NO_DRAW: &str = "random() works only in on_arrival, on_departure and on_deadline";

impl Draws {
    /// Lends the stream while `ask` works.
    fn lend<T>(&self, rng: &mut Rng, ask: impl FnOnce() -> T) -> T {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(rng.clone());
        let answer = ask();
        if let Some(drawn) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            *rng = drawn;
        }
        answer
    }
}

/// An instance of a user's class.
pub struct Interpreted {
    brought: &'static Brought,
    hooks: Hooks,
    instance: Py<PyAny>,
    draws: Py<Draws>,
    deadline: Option<Time>,
    average: Option<f64>,
    /// It has failed: from then on it lets every packet pass.
    failed: Cell<bool>,
}

/// The instance's methods, of those that the class has.
struct Hooks {
    arrival: Py<PyAny>,
    departure: Option<Py<PyAny>>,
    deadline: Option<Py<PyAny>>,
    idle: Option<Py<PyAny>>,
    rate: Option<Py<PyAny>>,
    group: Option<Py<PyAny>>,
}

impl Interpreted {
    /// Of an instance that `ecnlab.aqm` has started; `due` is its first deadline in seconds.
    pub fn new(brought: &'static Brought, instance: Bound<'_, PyAny>, draws: Py<Draws>, due: Option<f64>) -> PyResult<Interpreted> {
        let hook = |name: &str| if brought.has(name) { instance.getattr(name).map(|it| Some(it.unbind())) } else { Ok(None) };
        let hooks = Hooks {
            arrival: instance.getattr("on_arrival")?.unbind(),
            departure: hook("on_departure")?,
            deadline: hook("on_deadline")?,
            idle: hook("on_idle")?,
            rate: hook("on_rate")?,
            group: hook("group")?,
        };
        let deadline = due.map(|due| later(due, None)).transpose().map_err(PyValueError::new_err)?;
        let (instance, failed) = (instance.unbind(), Cell::new(false));
        let mut aqm = Interpreted { brought, hooks, instance, draws, deadline, average: None, failed };
        aqm.average = Python::attach(|py| aqm.own_average(py))?;
        Ok(aqm)
    }

    /// Asks Python; what it raises is kept, and `otherwise` answers from then on.
    fn ask<T>(&self, asked: Asked, otherwise: T, ask: impl FnOnce(Python<'_>) -> PyResult<T>) -> T {
        if self.failed.get() {
            return otherwise;
        }
        Python::attach(ask).unwrap_or_else(|error| {
            self.failed.set(true);
            failure::keep(Failure { aqm: self.brought.name, hook: asked.hook, now: asked.now, packet: asked.packet(), error });
            otherwise
        })
    }

    fn verdict(&self, py: Python<'_>, answer: &Bound<'_, PyAny>) -> PyResult<i64> {
        if !answer.get_type().is(self.brought.verdict.bind(py)) {
            let told = answer.repr()?.to_string();
            return Err(PyTypeError::new_err(format!("{} is not a verdict; fix: return PASS, mark() or drop()", shortened(&told))));
        }
        answer.extract()
    }

    /// The gauge `average`, if the class has one.
    fn own_average(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        if !self.brought.keeps_average {
            return Ok(None);
        }
        self.instance.bind(py).getattr(intern!(py, "average"))?.extract().map(Some)
    }
}

/// What an AQM is asked, for the message if it fails.
struct Asked<'a> {
    hook: &'static str,
    now: Option<Time>,
    packet: Option<&'a PacketInfo>,
}

impl Asked<'_> {
    fn packet(&self) -> String {
        self.packet.map_or(String::new(), told)
    }
}

/// A packet in words.
pub fn told(packet: &PacketInfo) -> String {
    format!("a packet of {} bytes of flow {}", packet.size, packet.flow)
}

/// A time in seconds at which an AQM wants to be woken.
///
/// # Errors
/// If it is no time, or not later than `now`.
pub fn later(due_s: f64, now: Option<Time>) -> Result<Time, String> {
    let due = ecnlab_units::Span::from_secs_f64(due_s).map(|span| Time::ZERO + span);
    let due = due.ok_or_else(|| format!("a deadline at {due_s} s is not a time; fix: give seconds since the start of the run, or None"))?;
    match now {
        Some(now) if due <= now => Err(format!("a deadline at {due_s} s is in the past: now is {} s", now.seconds())),
        _ => Ok(due),
    }
}

fn shortened(text: &str) -> String {
    const MOST: usize = 80;
    if text.chars().count() > MOST { text.chars().take(MOST).chain("...".chars()).collect() } else { text.to_owned() }
}

impl Aqm for Interpreted {
    fn requirements(&self) -> AqmRequirements {
        AqmRequirements { groups: self.brought.groups, dequeue_hook: self.hooks.departure.is_some() }
    }

    fn group_of(&self, packet: &PacketInfo) -> u8 {
        let Some(hook) = &self.hooks.group else { return 0 };
        self.ask(Asked { hook: "group", now: None, packet: Some(packet) }, 0, |py| {
            let group: i64 = hook.call1(py, (view::Packet::of(packet),))?.extract(py)?;
            if !(0..self.brought.groups as i64).contains(&group) {
                let groups = self.brought.groups;
                return Err(PyValueError::new_err(format!("unknown group {group}: the class has groups = {groups}")));
            }
            Ok(group as u8)
        })
    }

    fn on_enqueue(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        let asked = Asked { hook: "on_arrival", now: Some(arrival.now), packet: Some(&arrival.packet) };
        let (wish, average) = self.ask(asked, (EnqueueVerdict::Pass, self.average), |py| {
            let seen = view::Arrival::of(arrival);
            let answer = self.draws.get().lend(rng, || self.hooks.arrival.call1(py, (seen,)))?;
            let code = self.verdict(py, answer.bind(py))?;
            let wish = verdict::wish(code, self.brought.groups).map_err(PyValueError::new_err)?;
            Ok((wish, self.own_average(py)?))
        });
        self.average = average;
        wish
    }

    fn on_dequeue(&mut self, departure: &Departure, rng: &mut Rng) -> DequeueVerdict {
        let Some(hook) = &self.hooks.departure else { return DequeueVerdict::Pass };
        let asked = Asked { hook: "on_departure", now: Some(departure.now), packet: Some(&departure.packet) };
        self.ask(asked, DequeueVerdict::Pass, |py| {
            let answer = self.draws.get().lend(rng, || hook.call1(py, (view::Departure::of(departure),)))?;
            verdict::fate(self.verdict(py, answer.bind(py))?).map_err(PyValueError::new_err)
        })
    }

    fn on_queue_empty(&mut self, now: Time) {
        let Some(hook) = &self.hooks.idle else { return };
        let asked = Asked { hook: "on_idle", now: Some(now), packet: None };
        self.ask(asked, (), |py| hook.call1(py, (view::Idling::at(now),)).map(|_| ()));
    }

    fn next_timer(&self) -> Option<Time> {
        self.deadline
    }

    fn on_timer(&mut self, context: &TimerContext, rng: &mut Rng) {
        let Some(hook) = &self.hooks.deadline else { return self.deadline = None };
        let now = Some(context.now);
        self.deadline = self.ask(Asked { hook: "on_deadline", now, packet: None }, None, |py| {
            let answer = self.draws.get().lend(rng, || hook.call1(py, (view::TimerContext::of(context),)))?;
            let due: Option<f64> = answer.extract(py)?;
            due.map(|due| later(due, now)).transpose().map_err(PyValueError::new_err)
        });
    }

    fn set_link_rate(&mut self, rate: Rate) {
        let Some(hook) = &self.hooks.rate else { return };
        self.ask(Asked { hook: "on_rate", now: None, packet: None }, (), |py| hook.call1(py, (rate.bps(),)).map(|_| ()));
    }

    fn average_queue_length(&self) -> Option<f64> {
        self.average
    }

    fn report_gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        for gauge in self.brought.gauges {
            let asked = Asked { hook: "its gauges", now: None, packet: None };
            show(gauge.name, self.ask(asked, f64::NAN, |py| self.instance.bind(py).getattr(gauge.name)?.extract()));
        }
    }
}
