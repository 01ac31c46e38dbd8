//! An AQM whose hooks are compiled by numba: functions at addresses, called without the interpreter.
//!
//! The instance's parameters and state are a numba record, a byte buffer owned by Rust. A hook gets the addresses of the record and of its
//! argument struct, and returns an integer. The first eight bytes of the record are the address of the queue's random stream while a hook
//! may draw, and zero otherwise; a compiled `self.random()` passes it to [`draw_uniform`].
//!
//! A hook reports an exception by returning [`RAISED`]. The same call is then repeated with the class in plain Python, on the record as the
//! hook left it. The exception raised there is the failure, with its traceback.
//!
//! Together with [`entry`](super::entry), which creates compiled instances, this is the only module of this crate with `unsafe`. Each block
//! states its safety argument.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::c_void;

use ecnlab_queue::aqm::{AqmRequirements, Arrival, Departure, DequeueVerdict, EnqueueVerdict, GaugeReport, PacketInfo, TimerContext};
use ecnlab_queue::user_aqm::packet_text;
use ecnlab_queue::{Aqm, user_aqm};
use ecnlab_units::{Rate, Rng, Time, math};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::entry::UserAqmClass;
use super::failure::{self, Failure};
use super::interpreted::parse_deadline;
use super::{verdict, view};

/// Return value of a hook that has raised. No verdict is negative.
const RAISED: i64 = -1;

/// Return values of a compiled `on_deadline` for no deadline, and for an exception.
const NO_DEADLINE: f64 = f64::NEG_INFINITY;
const DEADLINE_RAISED: f64 = f64::INFINITY;

/// A hook for a packet, a deadline or a time; its arguments are the record and the argument struct.
type HookFn = unsafe extern "C" fn(*mut u64, *const c_void) -> i64;
type DeadlineHookFn = unsafe extern "C" fn(*mut u64, *const c_void) -> f64;
type RateHookFn = unsafe extern "C" fn(*mut u64, i64) -> i64;

/// Program that Python compiled for one instance.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct CompiledProgram {
    /// Initial record; its length is a multiple of eight.
    record: Vec<u8>,
    /// Address of each hook, zero if the class does not define it.
    on_arrival: usize,
    on_departure: usize,
    on_deadline: usize,
    on_idle: usize,
    on_rate: usize,
    group: usize,
    /// Index of each gauge in the record, in the order of declaration, and whether it is an integer.
    gauges: Vec<(usize, bool)>,
    /// `again(hook, record, argument)`: calls the hook in plain Python.
    again: Py<PyAny>,
    /// Keeps the functions at the addresses alive.
    keep: Py<PyAny>,
}

/// An instance of a compiled AQM class.
pub struct CompiledAqm {
    user_aqm: &'static UserAqmClass,
    hooks: CompiledHooks,
    /// Cells, since a hook may write through its address even when the instance is shared.
    record: Vec<Cell<u64>>,
    gauges: Vec<(usize, bool)>,
    average: Option<(usize, bool)>,
    deadline: Option<Time>,
    again: Py<PyAny>,
    _keep: Py<PyAny>,
    failed: Cell<bool>,
}

struct CompiledHooks {
    arrival: HookFn,
    departure: Option<HookFn>,
    deadline: Option<DeadlineHookFn>,
    idle: Option<HookFn>,
    rate: Option<RateHookFn>,
    group: Option<HookFn>,
}

impl CompiledHooks {
    /// The hooks of a program; `None` if it has no `on_arrival`.
    ///
    /// # Safety
    /// As for [`CompiledAqm::new`].
    unsafe fn of(program: &CompiledProgram) -> Option<CompiledHooks> {
        // SAFETY: each address is zero, which gives `None`, or that of a function with the signature of its field, as the caller
        // guarantees.
        unsafe {
            Some(CompiledHooks {
                arrival: std::mem::transmute::<usize, Option<HookFn>>(program.on_arrival)?,
                departure: std::mem::transmute::<usize, Option<HookFn>>(program.on_departure),
                deadline: std::mem::transmute::<usize, Option<DeadlineHookFn>>(program.on_deadline),
                idle: std::mem::transmute::<usize, Option<HookFn>>(program.on_idle),
                rate: std::mem::transmute::<usize, Option<RateHookFn>>(program.on_rate),
                group: std::mem::transmute::<usize, Option<HookFn>>(program.group),
            })
        }
    }
}

impl CompiledAqm {
    /// Creates an instance of a compiled class.
    ///
    /// # Errors
    /// If the record is not of whole words or too small for a gauge, or there is no `on_arrival`.
    ///
    /// # Safety
    /// Each address in the program is zero or that of a function with the signature of its field in [`CompiledHooks`]. The function was compiled
    /// for this layout of the record and for its argument struct. It stays in memory as long as `keep` lives.
    pub unsafe fn new(user_aqm: &'static UserAqmClass, program: CompiledProgram, due: Option<f64>) -> PyResult<CompiledAqm> {
        let fault = || PyValueError::new_err("a compiled AQM needs a record of whole words with its gauges, and on_arrival");
        // SAFETY: the caller guarantees the requirements of `of`, and the instance holds `keep`.
        let hooks = unsafe { CompiledHooks::of(&program) }.ok_or_else(fault)?;
        let record = bytes_to_words(&program.record).filter(|record| record.len() > 1).ok_or_else(fault)?;
        if program.gauges.iter().any(|(at, _)| *at >= record.len()) {
            return Err(fault());
        }
        let average = user_aqm.gauges.iter().position(|gauge| gauge.name == "average").map(|at| program.gauges[at]);
        let deadline = parse_deadline(due, None)?;
        let CompiledProgram { gauges, again, keep, .. } = program;
        Ok(CompiledAqm { user_aqm, hooks, record, gauges, average, deadline, again, _keep: keep, failed: Cell::new(false) })
    }

    /// Calls a hook with the random stream lent to it.
    #[inline]
    fn call_with_stream<S>(&mut self, hook: HookFn, argument: &S, rng: &mut Rng) -> i64 {
        self.record[0].set(std::ptr::from_mut(rng) as u64);
        let answer = call(hook, &self.record, argument);
        self.record[0].set(0);
        answer
    }

    /// Unwraps the result of a hook; an error marks the AQM as failed.
    #[inline]
    fn unwrap_or_fail<T>(
        &self,
        hook: &'static str,
        answer: Result<T, HookError>,
        fallback: T,
        context: impl FnOnce() -> FailedCallContext,
    ) -> T {
        answer.unwrap_or_else(|error| {
            self.fail(hook, error, context());
            fallback
        })
    }

    #[cold]
    fn fail(&self, hook: &'static str, error: HookError, context: FailedCallContext) {
        self.failed.set(true);
        let error = match error {
            HookError::InvalidVerdict(why) => PyValueError::new_err(why),
            HookError::Raised => Python::attach(|py| self.rerun_hook_in_python(py, hook, &context)),
        };
        failure::store_failure(Failure { aqm: self.user_aqm.name, hook, now: context.now, packet: context.packet, error });
    }

    /// Exception of the class for the same call in plain Python.
    fn rerun_hook_in_python(&self, py: Python<'_>, hook: &str, context: &FailedCallContext) -> PyErr {
        let record: Vec<u8> = self.record.iter().flat_map(|word| word.get().to_ne_bytes()).collect();
        let argument = (context.argument)(py);
        let again = argument.and_then(|argument| self.again.call1(py, (hook, PyBytes::new(py, &record), argument)));
        again.err().unwrap_or_else(|| PyRuntimeError::new_err("the compiled hook raised, and the interpreted hook does not"))
    }

    fn gauge(&self, (at, is_whole): (usize, bool)) -> f64 {
        let word = self.record[at].get();
        if is_whole { word as i64 as f64 } else { f64::from_bits(word) }
    }
}

/// Error of a compiled hook.
enum HookError {
    Raised,
    InvalidVerdict(String),
}

fn unless_raised<T>(answer: i64, read: impl FnOnce(i64) -> Result<T, String>) -> Result<T, HookError> {
    if answer == RAISED { Err(HookError::Raised) } else { read(answer).map_err(HookError::InvalidVerdict) }
}

/// Context of a failed call.
struct FailedCallContext {
    now: Option<Time>,
    packet: String,
    /// The argument, as a Python object.
    argument: PythonArgument,
}

/// Converts the argument of a hook to a Python object.
type PythonArgument = Box<dyn Fn(Python<'_>) -> PyResult<Py<PyAny>>>;

/// The bytes as words.
fn bytes_to_words(bytes: &[u8]) -> Option<Vec<Cell<u64>>> {
    let words = bytes.chunks_exact(8);
    let is_whole = words.remainder().is_empty();
    is_whole.then(|| words.map(|word| Cell::new(u64::from_ne_bytes(std::array::from_fn(|at| word[at])))).collect())
}

#[inline]
fn call<S>(hook: HookFn, record: &[Cell<u64>], argument: &S) -> i64 {
    // SAFETY: the hook reads and writes the record within its layout and reads `argument`, a struct of the layout that it was compiled for;
    // it stores neither address. Both outlive the call, and nothing else accesses them during it.
    unsafe { hook(words_ptr(record), std::ptr::from_ref(argument).cast()) }
}

/// Address of the record's words; cells have the same layout as their contents.
#[inline]
fn words_ptr(record: &[Cell<u64>]) -> *mut u64 {
    record.as_ptr().cast_mut().cast()
}

impl Aqm for CompiledAqm {
    fn requirements(&self) -> AqmRequirements {
        AqmRequirements { groups: self.user_aqm.groups, dequeue_hook: self.hooks.departure.is_some() }
    }

    fn packet_group_index(&self, packet: &PacketInfo) -> u8 {
        let Some(hook) = self.hooks.group.filter(|_| !self.failed.get()) else { return 0 };
        let argument = view::Packet::of(packet);
        let answer = call(hook, &self.record, &argument);
        let groups = self.user_aqm.groups;
        let group = unless_raised(answer, |group| {
            if (0..groups as i64).contains(&group) { Ok(group as u8) } else { Err(user_aqm::unknown_group(group, groups)) }
        });
        self.unwrap_or_fail("group", group, 0, || FailedCallContext {
            now: None,
            packet: packet_text(packet),
            argument: python_argument(move || argument),
        })
    }

    #[inline]
    fn on_enqueue(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        if self.failed.get() {
            return EnqueueVerdict::Pass;
        }
        let argument = view::Arrival::of(arrival);
        let answer = self.call_with_stream(self.hooks.arrival, &argument, rng);
        if answer == verdict::PASS_VERDICT {
            return EnqueueVerdict::Pass;
        }
        let groups = self.user_aqm.groups;
        let verdict_of_answer = unless_raised(answer, |code| verdict::decode_enqueue_verdict(code, groups));
        self.unwrap_or_fail("on_arrival", verdict_of_answer, EnqueueVerdict::Pass, || FailedCallContext {
            now: Some(arrival.now),
            packet: packet_text(&arrival.packet),
            argument: python_argument(move || argument),
        })
    }

    fn on_dequeue(&mut self, departure: &Departure, rng: &mut Rng) -> DequeueVerdict {
        let Some(hook) = self.hooks.departure.filter(|_| !self.failed.get()) else { return DequeueVerdict::Pass };
        let argument = view::Departure::of(departure);
        let answer = self.call_with_stream(hook, &argument, rng);
        let verdict_of_answer = unless_raised(answer, verdict::decode_dequeue_verdict);
        let context = || FailedCallContext {
            now: Some(departure.now),
            packet: packet_text(&departure.packet),
            argument: python_argument(move || argument),
        };
        self.unwrap_or_fail("on_departure", verdict_of_answer, DequeueVerdict::Pass, context)
    }

    fn on_queue_empty(&mut self, now: Time) {
        let Some(hook) = self.hooks.idle.filter(|_| !self.failed.get()) else { return };
        let argument = view::Idling::at_time(now);
        let result = unless_raised(call(hook, &self.record, &argument), |_| Ok(()));
        self.unwrap_or_fail("on_idle", result, (), || FailedCallContext {
            now: Some(now),
            packet: String::new(),
            argument: python_argument(move || argument),
        });
    }

    fn next_timer(&self) -> Option<Time> {
        self.deadline
    }

    fn on_timer(&mut self, context: &TimerContext, rng: &mut Rng) {
        let Some(hook) = self.hooks.deadline.filter(|_| !self.failed.get()) else { return self.deadline = None };
        let (now, argument) = (context.now, view::TimerContext::of(context));
        self.record[0].set(std::ptr::from_mut(rng) as u64);
        // SAFETY: as in `call`; the hook returns seconds.
        let answer = unsafe { hook(words_ptr(&self.record), std::ptr::from_ref(&argument).cast()) };
        self.record[0].set(0);
        let due = match answer {
            NO_DEADLINE => Ok(None),
            DEADLINE_RAISED => Err(HookError::Raised),
            due => user_aqm::parse_deadline(due, Some(now), "None").map(Some).map_err(HookError::InvalidVerdict),
        };
        self.deadline = self.unwrap_or_fail("on_deadline", due, None, || FailedCallContext {
            now: Some(now),
            packet: String::new(),
            argument: python_argument(move || argument),
        });
    }

    fn set_link_rate(&mut self, rate: Rate) {
        let Some(hook) = self.hooks.rate.filter(|_| !self.failed.get()) else { return };
        let bps = rate.bps() as i64;
        // SAFETY: as in `call`; the rate is passed by value.
        let result = unless_raised(unsafe { hook(words_ptr(&self.record), bps) }, |_| Ok(()));
        self.unwrap_or_fail("on_rate", result, (), || FailedCallContext {
            now: None,
            packet: String::new(),
            argument: Box::new(move |py| Ok(bps.into_pyobject(py)?.into_any().unbind())),
        });
    }

    fn average_queue_length(&self) -> Option<f64> {
        self.average.map(|gauge| self.gauge(gauge))
    }

    fn report_gauges(&self, show: GaugeReport) {
        for (declared, &gauge) in self.user_aqm.gauges.iter().zip(&self.gauges) {
            show(declared.name, self.gauge(gauge));
        }
    }
}

/// Converts a hook's argument to a Python object on demand.
fn python_argument<T: pyo3::PyClass + Into<PyClassInitializer<T>>>(argument: impl Fn() -> T + 'static) -> PythonArgument {
    Box::new(move |py| Ok(Py::new(py, argument())?.into_any()))
}

/// Uniform in [0, 1) from the stream at an address; NaN if there is none.
extern "C" fn draw_uniform(stream: u64) -> f64 {
    if stream == 0 {
        return f64::NAN;
    }
    // SAFETY: the address is that of the stream to which the calling method has exclusive access during the compiled hook, and the hook
    // passes it on unchanged.
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

/// Addresses of the functions that compiled hooks call.
#[pyfunction]
pub fn addresses(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let addresses = PyDict::new(py);
    addresses.set_item("draw", draw_uniform as *const () as usize)?;
    addresses.set_item("exp", exp_of as *const () as usize)?;
    addresses.set_item("ln", ln_of as *const () as usize)?;
    addresses.set_item("powi", powi_of as *const () as usize)?;
    Ok(addresses)
}

/// e^x, identical on every machine.
#[pyfunction]
pub fn exp(x: f64) -> f64 {
    math::exp(x)
}

/// Natural logarithm, identical on every machine.
#[pyfunction]
pub fn ln(x: f64) -> f64 {
    math::ln(x)
}

/// base^exponent by squaring, identical on every machine; the exponent is a non-negative integer.
#[pyfunction]
pub fn powi(base: f64, exponent: u64) -> f64 {
    math::powi(base, exponent)
}
