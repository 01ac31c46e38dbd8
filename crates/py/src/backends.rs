//! Runs in front of kernels: what of a scenario they can do, and a run on that of this machine.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use cpu_time::ThreadTime;
use ecnlab_emulator::address::AddressFamily;
use ecnlab_emulator::event_loop::TimeMode;
use ecnlab_emulator::mapping::{self, KernelFeatures};
use ecnlab_emulator::run::{self, CaptureOptions, RunError, RunOptions, RunOutcome};
use ecnlab_emulator::sys::{Namespace, caps, process, userns};
use ecnlab_units::Span;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

use crate::aqm::failure;
use crate::errors::{Interrupted, Place, engine_fault, listed, scenario_error};
use crate::panic::caught;
use crate::progress::Watch;
use crate::scenario::{RunResult, Scenario, recording_full};
use crate::tracing::{TraceFile, TraceTo};

create_exception!(_core, SystemRefusal, PyException, "The machine does not permit what a run with real hosts needs.");

/// What a backend, or a shell, cannot do of a scenario, each with place, line and remedy. Where hosts are not this machine's, `controls` are the congestion
/// controls that they have; `ip` is the version that they speak, and `accurate_ecn` says whether they can agree on it.
#[pyfunction]
#[pyo3(signature = (scenario, backend, controls = None, ip = 4, accurate_ecn = false))]
pub fn refusals(
    py: Python<'_>,
    scenario: &Scenario,
    backend: &str,
    controls: Option<Vec<String>>,
    ip: u32,
    accurate_ecn: bool,
) -> PyResult<Vec<Place>> {
    let kernel = match backend {
        "sim" => return Ok(listed(&scenario.0.needs_kernel())),
        "shell" => return Ok(listed(&mapping::shell_problems(&scenario.0))),
        "live" => run::probe_kernel("live", accurate_ecn),
        "uml" => KernelFeatures {
            backend: "uml",
            controls: controls.unwrap_or_default(),
            has_queues: true,
            has_accurate_ecn: accurate_ecn,
            ..KernelFeatures::default()
        },
        _ => return Err(PyValueError::new_err(format!("unknown backend {backend:?}"))),
    };
    let kernel = KernelFeatures { family: AddressFamily::from_version(ip), ..kernel };
    Ok(listed(&py.detach(|| mapping::map_to_host_settings(&scenario.0, &kernel)).err().unwrap_or_default()))
}

/// Runs a scenario in front of this machine's kernel, and tells of the run as JSON what only such a one knows. The process has to have one
/// thread; it becomes root of a user namespace where it may make no namespaces else, and ends with whoever has started it.
///
/// Raises what `Scenario.run` raises, and SystemRefusal.
#[pyfunction]
#[pyo3(signature = (scenario, seed, watch = None, trace = None, lateness_budget_s = None, ip = 4))]
pub fn run_live(
    py: Python<'_>,
    scenario: &Scenario,
    seed: u64,
    watch: Option<Py<PyAny>>,
    trace: Option<TraceTo>,
    lateness_budget_s: Option<f64>,
    ip: u32,
) -> PyResult<(RunResult, String)> {
    let options = RunOptions {
        seed,
        kernel: KernelFeatures::default(),
        family: AddressFamily::from_version(ip),
        time_mode: TimeMode::Real,
        priority: Some(process::REALTIME_PRIORITY),
        lateness_budget: lateness_budget_s.and_then(Span::from_secs_f64),
        capture: None,
        record_connections: false,
    };
    let mut watch = Watch::new(watch);
    let (outcome, cpu_s) = py.detach(|| {
        let began = ThreadTime::now();
        let outcome = caught(|| ran(scenario, options, trace.as_ref(), &mut watch));
        (outcome, began.elapsed().as_secs_f64())
    });
    let RunOutcome { run, tables, metadata, .. } = match outcome {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(Ended::Failed(failure))) => return Err(failure::raised(py, seed, *failure)),
        Ok(Err(Ended::Untraced(error))) => return Err(error.into()),
        Ok(Err(Ended::RunError(refused))) => return Err(raised(py, refused, watch)),
        Err(told) => return Err(engine_fault(py, &scenario.0.hash(), seed, &told)),
    };
    Ok((RunResult::new(py, seed, run, tables, cpu_s)?, metadata.json().to_string()))
}

/// Moves this process into a network of its own. Raises OSError.
#[pyfunction]
pub fn unshare_network_namespace() -> PyResult<()> {
    Ok(Namespace::create()?.enter()?)
}

/// Makes this process, which has to have one thread, root of a user namespace of its own with a network of its own. Raises OSError.
#[pyfunction]
pub fn unshare_as_root(py: Python<'_>) -> PyResult<()> {
    Ok(py.detach(userns::unshare_as_root)?)
}

/// Moves this thread into the real-time class. Raises OSError.
#[pyfunction]
pub fn set_realtime_scheduling() -> PyResult<()> {
    Ok(process::set_realtime_scheduling(process::REALTIME_PRIORITY)?)
}

/// Why a run has ended before its time.
enum Ended {
    RunError(RunError),
    /// Its capture could not be written.
    Untraced(io::Error),
    /// A user's AQM has failed.
    Failed(Box<failure::Failure>),
}

impl From<io::Error> for Ended {
    fn from(why: io::Error) -> Ended {
        Ended::RunError(RunError::System(why))
    }
}

fn ran(scenario: &Scenario, mut options: RunOptions, trace: Option<&TraceTo>, watch: &mut Watch) -> Result<RunOutcome, Ended> {
    if !caps::has_capabilities() {
        userns::unshare_as_root()?;
    }
    // Who gets other rights than it had forgets that it is to end with its parent, so this comes after.
    process::die_with_parent()?;
    options.kernel = run::probe_kernel("live", true);
    let written = trace.map(Written::begin).transpose().map_err(Ended::Untraced)?;
    options.capture = written.as_ref().zip(trace).map(|(written, to)| to.capture(Box::new(written.clone())));
    drop(failure::take());
    let mut failed = None;
    let outcome = run::run(&scenario.0, options, &mut |over_s| {
        failed = failure::take();
        failed.is_some() || watch.wants_stop(over_s)
    });
    if let Some(failure) = failed.or_else(failure::take) {
        return Err(Ended::Failed(Box::new(failure)));
    }
    match (outcome, written) {
        (Ok(outcome), Some(written)) => written.finish().map(|()| outcome).map_err(Ended::Untraced),
        (Err(RunError::System(why)), Some(written)) if written.has_failed() => Err(Ended::Untraced(why)),
        (outcome, _) => outcome.map_err(Ended::RunError),
    }
}

fn raised(py: Python<'_>, refused: RunError, watch: Watch) -> PyErr {
    match refused {
        RunError::Unsupported(problems) => scenario_error(py, problems),
        RunError::Stopped => watch.failure.unwrap_or_else(|| Interrupted::new_err("the run was stopped")),
        RunError::RecordingFull(full) => recording_full(py, &full),
        RunError::System(why) => SystemRefusal::new_err(why.to_string()),
    }
}

/// A file that a run writes a capture into.
#[derive(Clone)]
struct Written(Arc<Mutex<(Option<TraceFile>, bool)>>);

impl Written {
    fn begin(to: &TraceTo) -> io::Result<Written> {
        Ok(Written(Arc::new(Mutex::new((Some(to.create()?), false)))))
    }

    /// Whether something could not be written.
    fn has_failed(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    fn finish(&self) -> io::Result<()> {
        let file = self.0.lock().unwrap_or_else(PoisonError::into_inner).0.take();
        file.map_or(Ok(()), TraceFile::close)
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(file), failed) = &mut *held else { return Ok(bytes.len()) };
        file.put(bytes).inspect_err(|_| *failed = true)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TraceTo {
    fn capture(&self, out: Box<dyn Write + Send>) -> CaptureOptions {
        CaptureOptions { links: self.links().to_vec(), snaplen: self.keep(), out }
    }
}
