//! Runs on this machine's kernel.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use cpu_time::ThreadTime;
use ecnlab_emulator::address::AddressFamily;
use ecnlab_emulator::event_loop::TimeMode;
use ecnlab_emulator::mapping::KernelFeatures;
use ecnlab_emulator::run::{self, CaptureOptions, RunError, RunOptions, RunOutcome};
use ecnlab_emulator::sys::{Namespace, caps, process, userns};
use ecnlab_units::Span;
use pyo3::prelude::*;

use crate::aqm::failure;
use crate::backends::SystemRefusal;
use crate::errors::{engine_fault, recording_limit_error, scenario_error};
use crate::panic::catch_panic;
use crate::progress::ProgressWatch;
use crate::scenario::{RunResult, Scenario};
use crate::tracing::{TraceFile, TraceFileOptions};

/// Runs a scenario on this machine's kernel; returns the run, and facts known only for a live run as JSON. The process must be
/// single-threaded. It becomes root of a user namespace if it may not create network namespaces otherwise, and it ends with its parent.
///
/// Raises what `Scenario.run` raises, and SystemRefusal.
#[pyfunction]
#[pyo3(signature = (scenario, seed, watch = None, trace = None, lateness_budget_s = None, ip = 4))]
pub fn run_live(
    py: Python<'_>,
    scenario: &Scenario,
    seed: u64,
    watch: Option<Py<PyAny>>,
    trace: Option<TraceFileOptions>,
    lateness_budget_s: Option<f64>,
    ip: u32,
) -> PyResult<(RunResult, String)> {
    let options = RunOptions {
        seed,
        kernel: KernelFeatures::default(),
        family: AddressFamily::from_ip_version_or_v4(ip),
        time_mode: TimeMode::Real,
        priority: Some(process::REALTIME_PRIORITY),
        lateness_budget: lateness_budget_s.and_then(Span::from_secs_f64),
        capture: None,
        record_connections: false,
    };
    let watch = ProgressWatch::new(watch);
    let (outcome, cpu_s) = py.detach(|| {
        let began = ThreadTime::now();
        let outcome = catch_panic(|| unshare_and_run(scenario, options, trace.as_ref(), watch));
        (outcome, began.elapsed().as_secs_f64())
    });
    let outcome = outcome.map_err(|message| engine_fault(py, &scenario.0.hash(), seed, &message))?;
    let RunOutcome { run, tables, metadata, .. } = outcome?;
    Ok((RunResult::new(py, seed, run, tables, cpu_s)?, metadata.json().to_string()))
}

/// Moves this process into a new network namespace. Raises OSError.
#[pyfunction]
pub fn unshare_network_namespace() -> io::Result<()> {
    Namespace::create()?.enter()
}

/// Makes this process, which must be single-threaded, root of a new user namespace with a new network namespace. Raises OSError.
#[pyfunction]
pub fn unshare_as_root(py: Python<'_>) -> io::Result<()> {
    py.detach(userns::unshare_as_root)
}

/// Moves this thread into the real-time scheduling class. Raises OSError.
#[pyfunction]
pub fn set_realtime_scheduling() -> io::Result<()> {
    process::set_realtime_scheduling(process::REALTIME_PRIORITY)
}

fn unshare_and_run(
    scenario: &Scenario,
    mut options: RunOptions,
    trace: Option<&TraceFileOptions>,
    mut watch: ProgressWatch,
) -> PyResult<RunOutcome> {
    if !caps::has_capabilities() {
        userns::unshare_as_root().map_err(system_refusal)?;
    }
    // A change of credentials clears the parent-death signal, so it is set after that.
    process::die_with_parent().map_err(system_refusal)?;
    options.kernel = run::probe_kernel("live", true);
    let trace_file = trace.map(SharedTraceFile::create).transpose()?;
    options.capture = trace_file.as_ref().zip(trace).map(|(trace_file, to)| to.to_capture_options(Box::new(trace_file.clone())));
    drop(failure::take_failure());
    let seed = options.seed;
    let mut failed = None;
    let outcome = run::run(&scenario.0, options, &mut |over_s| {
        failed = failure::take_failure();
        failed.is_some() || watch.report_and_ask_stop(over_s)
    });
    if let Some(failure) = failed.or_else(failure::take_failure) {
        return Err(failure::into_exception(seed, failure));
    }
    match (outcome, trace_file) {
        (Ok(outcome), Some(trace_file)) => Ok(trace_file.finish().map(|()| outcome)?),
        // The run could not write the capture.
        (Err(RunError::System(error)), Some(trace_file)) if trace_file.has_failed() => Err(error.into()),
        (outcome, _) => outcome.map_err(|error| match error {
            RunError::Unsupported(problems) => scenario_error(&problems),
            RunError::Stopped => watch.into_exception("the run was stopped"),
            RunError::RecordingLimitReached(reached) => recording_limit_error(&reached),
            RunError::System(error) => system_refusal(error),
        }),
    }
}

fn system_refusal(error: io::Error) -> PyErr {
    SystemRefusal::new_err(error.to_string())
}

/// Trace file of a capture, shared with the run's thread.
#[derive(Clone)]
struct SharedTraceFile(Arc<Mutex<(Option<TraceFile>, bool)>>);

impl SharedTraceFile {
    fn create(to: &TraceFileOptions) -> io::Result<SharedTraceFile> {
        Ok(SharedTraceFile(Arc::new(Mutex::new((Some(to.create()?), false)))))
    }

    /// Whether a write failed.
    fn has_failed(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    fn finish(&self) -> io::Result<()> {
        let file = self.0.lock().unwrap_or_else(PoisonError::into_inner).0.take();
        file.map_or(Ok(()), TraceFile::close_and_rename)
    }
}

impl Write for SharedTraceFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(file), failed) = &mut *guard else { return Ok(bytes.len()) };
        file.write_capture_bytes(bytes).inspect_err(|_| *failed = true)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TraceFileOptions {
    fn to_capture_options(&self, out: Box<dyn Write + Send>) -> CaptureOptions {
        CaptureOptions { links: self.links.clone(), snaplen: self.keep, out }
    }
}
