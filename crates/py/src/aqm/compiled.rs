//! An AQM whose hooks numba has compiled: functions at addresses, called without the interpreter.
//!
//! The instance's parameters and state are a record of numba's, a run of bytes that this side owns. A hook gets the record and a struct
//! of what it sees, both by address, and answers with a number. The first eight bytes of the record are the address of the queue's random
//! stream while a hook may draw, and zero otherwise; a compiled `self.random()` hands it to [`draw`].
//!
//! What a hook raises it tells with [`RAISED`]. Then the same question is put to the class in plain Python, over the record as the hook
//! left it, and what that raises is the failure, with its traceback.
//!
//! With [`entry`](super::entry), which begins a compiled instance, this is the one place of this crate with `unsafe`. Each block says on what
//! it rests.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::c_void;

use ecnlab_queue::Aqm;
use ecnlab_queue::aqm::{AqmRequirements, Arrival, Departure, DequeueVerdict, EnqueueVerdict, PacketInfo, TimerContext};
use ecnlab_units::{Rate, Rng, Time, math};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::entry::Brought;
use super::failure::{self, Failure};
use super::interpreted::{later, told};
use super::{verdict, view};

/// What a hook answers that has raised. No verdict is negative.
const RAISED: i64 = -1;

/// What a compiled `on_deadline` answers for "none", and for "raised".
const NEVER: f64 = f64::NEG_INFINITY;
const RAISED_S: f64 = f64::INFINITY;

/// A question about a packet, a deadline or a time: the record, and what is seen.
type Ask = unsafe extern "C" fn(*mut u64, *const c_void) -> i64;
type AskDeadline = unsafe extern "C" fn(*mut u64, *const c_void) -> f64;
type TellRate = unsafe extern "C" fn(*mut u64, i64) -> i64;

/// What Python compiled for one instance.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Program {
    /// The record as it begins; its length is a multiple of eight.
    record: Vec<u8>,
    /// Where each hook begins, zero where the class has none.
    on_arrival: usize,
    on_departure: usize,
    on_deadline: usize,
    on_idle: usize,
    on_rate: usize,
    group: usize,
    /// Where each gauge stands in the record, in the order of their declaration, and whether it is a whole number.
    gauges: Vec<(usize, bool)>,
    /// `again(hook, record, seen)`: asks the class in plain Python.
    again: Py<PyAny>,
    /// What the addresses stand for lives as long as this.
    keep: Py<PyAny>,
}

/// An instance of a compiled class.
pub struct Compiled {
    brought: &'static Brought,
    hooks: Hooks,
    /// Cells, since a hook may write through the address that it gets, also one that is asked with the instance shared.
    record: Vec<Cell<u64>>,
    gauges: Vec<(usize, bool)>,
    average: Option<(usize, bool)>,
    deadline: Option<Time>,
    again: Py<PyAny>,
    _keep: Py<PyAny>,
    failed: Cell<bool>,
}

struct Hooks {
    arrival: Ask,
    departure: Option<Ask>,
    deadline: Option<AskDeadline>,
    idle: Option<Ask>,
    rate: Option<TellRate>,
    group: Option<Ask>,
}

impl Hooks {
    /// The hooks of a program; `None` if it has no `on_arrival`.
    ///
    /// # Safety
    /// As for [`Compiled::new`].
    unsafe fn of(program: &Program) -> Option<Hooks> {
        // SAFETY: each address is zero, which makes `None`, or that of a function with the signature of its field, as the caller promises.
        unsafe {
            Some(Hooks {
                arrival: std::mem::transmute::<usize, Option<Ask>>(program.on_arrival)?,
                departure: std::mem::transmute::<usize, Option<Ask>>(program.on_departure),
                deadline: std::mem::transmute::<usize, Option<AskDeadline>>(program.on_deadline),
                idle: std::mem::transmute::<usize, Option<Ask>>(program.on_idle),
                rate: std::mem::transmute::<usize, Option<TellRate>>(program.on_rate),
                group: std::mem::transmute::<usize, Option<Ask>>(program.group),
            })
        }
    }
}

impl Compiled {
    /// # Errors
    /// If the record is not of whole words, has no room for a gauge, or there is no `on_arrival`.
    ///
    /// # Safety
    /// Each address in the program is zero or that of a function of the signature of its field in [`Hooks`]. The function was compiled for
    /// this layout of the record and for the struct that the hook sees. It stays in memory as long as `keep` lives.
    pub unsafe fn new(brought: &'static Brought, program: Program, due: Option<f64>) -> PyResult<Compiled> {
        let fault = || PyValueError::new_err("a compiled AQM needs a record of whole words with its gauges, and on_arrival");
        // SAFETY: the caller promises what `of` asks for, and the instance holds `keep`.
        let hooks = unsafe { Hooks::of(&program) }.ok_or_else(fault)?;
        let record = words(&program.record).filter(|record| record.len() > 1).ok_or_else(fault)?;
        if program.gauges.iter().any(|(at, _)| *at >= record.len()) {
            return Err(fault());
        }
        let average = brought.gauges.iter().position(|gauge| gauge.name == "average").map(|at| program.gauges[at]);
        let deadline = due.map(|due| later(due, None)).transpose().map_err(PyValueError::new_err)?;
        let Program { gauges, again, keep, .. } = program;
        Ok(Compiled { brought, hooks, record, gauges, average, deadline, again, _keep: keep, failed: Cell::new(false) })
    }

    /// Asks a hook with the stream lent to it.
    #[inline]
    fn ask<S>(&mut self, hook: Ask, seen: &S, rng: &mut Rng) -> i64 {
        self.record[0].set(std::ptr::from_mut(rng) as u64);
        let answer = call(hook, &self.record, seen);
        self.record[0].set(0);
        answer
    }

    /// What the answer stands for. If it stands for nothing, that is kept, and the AQM has failed.
    #[inline]
    fn settled<T>(&self, hook: &'static str, answer: Result<T, Wrong>, otherwise: T, about: impl FnOnce() -> About) -> T {
        answer.unwrap_or_else(|wrong| {
            self.fail(hook, wrong, about());
            otherwise
        })
    }

    #[cold]
    fn fail(&self, hook: &'static str, wrong: Wrong, about: About) {
        self.failed.set(true);
        let error = match wrong {
            Wrong::Answer(why) => PyValueError::new_err(why),
            Wrong::Raised => Python::attach(|py| self.raised_by(py, hook, &about)),
        };
        failure::keep(Failure { aqm: self.brought.name, hook, now: about.now, packet: about.packet, error });
    }

    /// What the class raises in plain Python for the same question.
    fn raised_by(&self, py: Python<'_>, hook: &str, about: &About) -> PyErr {
        let record: Vec<u8> = self.record.iter().flat_map(|word| word.get().to_ne_bytes()).collect();
        let seen = (about.seen)(py);
        let again = seen.and_then(|seen| self.again.call1(py, (hook, PyBytes::new(py, &record), seen)));
        again.err().unwrap_or_else(|| PyRuntimeError::new_err("the compiled hook raised, and the interpreted hook does not"))
    }

    fn gauge(&self, (at, whole): (usize, bool)) -> f64 {
        let word = self.record[at].get();
        if whole { word as i64 as f64 } else { f64::from_bits(word) }
    }
}

/// What is wrong with an answer.
enum Wrong {
    Raised,
    Answer(String),
}

/// What a failed question was about.
struct About {
    now: Option<Time>,
    packet: String,
    /// What was seen, as plain Python sees it.
    seen: Shown,
}

/// Makes what a hook saw into an object of Python.
type Shown = Box<dyn Fn(Python<'_>) -> PyResult<Py<PyAny>>>;

/// The bytes as words.
fn words(bytes: &[u8]) -> Option<Vec<Cell<u64>>> {
    let words = bytes.chunks_exact(8);
    let whole = words.remainder().is_empty();
    whole.then(|| words.map(|word| Cell::new(u64::from_ne_bytes(std::array::from_fn(|at| word[at])))).collect())
}

#[inline]
fn call<S>(hook: Ask, record: &[Cell<u64>], seen: &S) -> i64 {
    // SAFETY: the hook reads and writes the record within its layout and reads `seen`, a struct of the layout that it was compiled for;
    // it keeps neither address. Both outlive the call, and nobody else looks at them meanwhile.
    unsafe { hook(words_of(record), std::ptr::from_ref(seen).cast()) }
}

/// The address of the record's words, which lie as words without cells do.
#[inline]
fn words_of(record: &[Cell<u64>]) -> *mut u64 {
    record.as_ptr().cast_mut().cast()
}

impl Aqm for Compiled {
    fn requirements(&self) -> AqmRequirements {
        AqmRequirements { groups: self.brought.groups, dequeue_hook: self.hooks.departure.is_some() }
    }

    fn group_of(&self, packet: &PacketInfo) -> u8 {
        let Some(hook) = self.hooks.group.filter(|_| !self.failed.get()) else { return 0 };
        let seen = view::Packet::of(packet);
        let answer = call(hook, &self.record, &seen);
        let groups = self.brought.groups;
        let group = match answer {
            RAISED => Err(Wrong::Raised),
            group if (0..groups as i64).contains(&group) => Ok(group as u8),
            group => Err(Wrong::Answer(format!("unknown group {group}: the class has groups = {groups}"))),
        };
        self.settled("group", group, 0, || About { now: None, packet: told(packet), seen: shown(move || seen) })
    }

    #[inline]
    fn on_enqueue(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        if self.failed.get() {
            return EnqueueVerdict::Pass;
        }
        let seen = view::ArrivalStruct::of(arrival);
        let answer = self.ask(self.hooks.arrival, &seen, rng);
        if answer == verdict::PASSES {
            return EnqueueVerdict::Pass;
        }
        let groups = self.brought.groups;
        let wish = if answer == RAISED { Err(Wrong::Raised) } else { verdict::wish(answer, groups).map_err(Wrong::Answer) };
        self.settled("on_arrival", wish, EnqueueVerdict::Pass, || About {
            now: Some(arrival.now),
            packet: told(&arrival.packet),
            seen: shown(move || view::Arrival::of_struct(seen, groups)),
        })
    }

    fn on_dequeue(&mut self, departure: &Departure, rng: &mut Rng) -> DequeueVerdict {
        let Some(hook) = self.hooks.departure.filter(|_| !self.failed.get()) else { return DequeueVerdict::Pass };
        let seen = view::Departure::of(departure);
        let answer = self.ask(hook, &seen, rng);
        let fate = if answer == RAISED { Err(Wrong::Raised) } else { verdict::fate(answer).map_err(Wrong::Answer) };
        let about = || About { now: Some(departure.now), packet: told(&departure.packet), seen: shown(move || seen) };
        self.settled("on_departure", fate, DequeueVerdict::Pass, about)
    }

    fn on_queue_empty(&mut self, now: Time) {
        let Some(hook) = self.hooks.idle.filter(|_| !self.failed.get()) else { return };
        let seen = view::Idling::at(now);
        let told = if call(hook, &self.record, &seen) == RAISED { Err(Wrong::Raised) } else { Ok(()) };
        self.settled("on_idle", told, (), || About { now: Some(now), packet: String::new(), seen: shown(move || seen) });
    }

    fn next_timer(&self) -> Option<Time> {
        self.deadline
    }

    fn on_timer(&mut self, context: &TimerContext, rng: &mut Rng) {
        let Some(hook) = self.hooks.deadline.filter(|_| !self.failed.get()) else { return self.deadline = None };
        let (now, seen) = (context.now, view::TimerContext::of(context));
        self.record[0].set(std::ptr::from_mut(rng) as u64);
        // SAFETY: as in `call`; the hook answers with seconds.
        let answer = unsafe { hook(words_of(&self.record), std::ptr::from_ref(&seen).cast()) };
        self.record[0].set(0);
        let due = match answer {
            NEVER => Ok(None),
            RAISED_S => Err(Wrong::Raised),
            due => later(due, Some(now)).map(Some).map_err(Wrong::Answer),
        };
        self.deadline =
            self.settled("on_deadline", due, None, || About { now: Some(now), packet: String::new(), seen: shown(move || seen) });
    }

    fn set_link_rate(&mut self, rate: Rate) {
        let Some(hook) = self.hooks.rate.filter(|_| !self.failed.get()) else { return };
        let bps = rate.bps() as i64;
        // SAFETY: as in `call`; the rate goes by value.
        let told = if unsafe { hook(words_of(&self.record), bps) } == RAISED { Err(Wrong::Raised) } else { Ok(()) };
        self.settled("on_rate", told, (), || About {
            now: None,
            packet: String::new(),
            seen: Box::new(move |py| Ok(bps.into_pyobject(py)?.into_any().unbind())),
        });
    }

    fn average_queue_length(&self) -> Option<f64> {
        self.average.map(|gauge| self.gauge(gauge))
    }

    fn report_gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        for (declared, &gauge) in self.brought.gauges.iter().zip(&self.gauges) {
            show(declared.name, self.gauge(gauge));
        }
    }
}

/// What a hook saw, as an object of Python when it is asked for.
fn shown<T: pyo3::PyClass + Into<PyClassInitializer<T>>>(seen: impl Fn() -> T + 'static) -> Shown {
    Box::new(move |py| Ok(Py::new(py, seen())?.into_any()))
}

/// Uniform in [0, 1) from the stream at an address; not a number if there is none.
extern "C" fn draw(stream: u64) -> f64 {
    if stream == 0 {
        return f64::NAN;
    }
    // SAFETY: the address is that of the stream which `ask` or `expire` is holding alone while the compiled hook works, and the hook
    // hands it over as it found it.
    unsafe { &mut *(stream as *mut Rng) }.uniform()
}

extern "C" fn exp_of(x: f64) -> f64 {
    math::exp(x)
}

extern "C" fn ln_of(x: f64) -> f64 {
    math::ln(x)
}

extern "C" fn powi_of(base: f64, exponent: u64) -> f64 {
    math::powi(base, exponent)
}

/// Where compiled hooks find our functions.
#[pyfunction]
pub fn addresses(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let addresses = PyDict::new(py);
    addresses.set_item("draw", draw as *const () as usize)?;
    addresses.set_item("exp", exp_of as *const () as usize)?;
    addresses.set_item("ln", ln_of as *const () as usize)?;
    addresses.set_item("powi", powi_of as *const () as usize)?;
    Ok(addresses)
}

/// e^x, the same on every machine.
#[pyfunction]
pub fn exp(x: f64) -> f64 {
    math::exp(x)
}

/// The natural logarithm, the same on every machine.
#[pyfunction]
pub fn ln(x: f64) -> f64 {
    math::ln(x)
}

/// base^exponent by squaring, the same on every machine; the exponent is a whole number, at least 0.
#[pyfunction]
pub fn powi(base: f64, exponent: u64) -> f64 {
    math::powi(base, exponent)
}
