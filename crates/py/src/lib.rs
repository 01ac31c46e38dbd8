//! The Python module `ecnlab._core`: converts, releases the interpreter's lock, maps errors. Nothing is decided here.

use std::time::{Duration, Instant};

use ecnlab_scenario::{Problem, Scenario as Sound, packet_exact, registry};
use ecnlab_sim::measures::{Column, Table};
use ecnlab_sim::{Off, Options, Probe, Recorder, Recording, RecordingFull, Run, Simulation};
use ecnlab_units::Time;
use numpy::IntoPyArray;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

create_exception!(_core, ScenarioError, PyException, "A scenario with problems; `problems` lists (place, line, message).");
create_exception!(_core, Interrupted, PyException, "A run was stopped by its `stop` callable.");

/// Version of the result tables' layout.
const FORMAT: u32 = 2;

/// How often, in wall time, a run asks whether to stop.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// A scenario that is known to be sound.
#[pyclass(frozen)]
struct Scenario(Sound);

#[pymethods]
impl Scenario {
    #[staticmethod]
    fn from_toml(py: Python<'_>, text: &str, overrides: Vec<(String, String)>) -> PyResult<Scenario> {
        Sound::from_toml(text, &overrides).map(Scenario).map_err(|problems| scenario_error(py, problems))
    }

    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str, overrides: Vec<(String, String)>) -> PyResult<Scenario> {
        Sound::from_json(text, &overrides).map(Scenario).map_err(|problems| scenario_error(py, problems))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.0.duration.seconds()
    }

    #[getter]
    fn measure_from_s(&self) -> f64 {
        self.0.measure_from.seconds()
    }

    #[getter]
    fn groups(&self) -> Vec<String> {
        self.0.groups.clone()
    }

    #[getter]
    fn queues(&self) -> Vec<String> {
        self.0.queues.clone()
    }

    #[getter]
    fn flow_groups<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        let groups: Vec<u32> = self.0.network.flows.iter().map(|flow| flow.group).collect();
        groups.into_pyarray(py).into_any()
    }

    #[getter]
    fn hash(&self) -> String {
        self.0.hash()
    }

    #[getter]
    fn resolved(&self) -> String {
        self.0.resolved.to_string()
    }

    #[pyo3(signature = (seed, stop = None))]
    fn run(&self, py: Python<'_>, seed: i64, stop: Option<Py<PyAny>>) -> PyResult<RunResult> {
        let seed = u64::try_from(seed).map_err(|_| PyValueError::new_err(format!("seed {seed} must not be negative")))?;
        let (recording, duration) = (self.recording(), Time::ZERO + self.0.duration);
        let began = Instant::now();
        let mut asker = Asker::new(stop);
        let outcome = py.detach(|| {
            if recording == Recording::default() {
                let (run, Off) = self.execute(seed, Off, &mut asker)?;
                return Ok((run, Vec::new()));
            }
            let (run, recorder) = self.execute(seed, Recorder::new(recording, duration), &mut asker)?;
            let more = recorder.tables(&run.names).map_err(Ended::Full)?;
            Ok((run, more))
        });
        match outcome {
            Ok((run, more)) => RunResult::new(py, run, more, began.elapsed().as_secs_f64()),
            Err(Ended::Stopped) => Err(asker.failure.unwrap_or_else(|| Interrupted::new_err("the run was stopped"))),
            Err(Ended::Full(full)) => Err(PyValueError::new_err(full.to_string())),
        }
    }
}

/// Why a run has ended before its time.
enum Ended {
    Stopped,
    Full(RecordingFull),
}

/// Events between two looks at the clock.
const SLICE: u64 = 1 << 16;

impl Scenario {
    fn execute<P: Probe>(&self, seed: u64, probe: P, asker: &mut Asker) -> Result<(Run, P), Ended> {
        let (duration, measure_from) = (Time::ZERO + self.0.duration, Time::ZERO + self.0.measure_from);
        let mut simulation = Simulation::new(&self.0.network, &Options { duration, measure_from, seed }, probe);
        while !simulation.advance(duration, SLICE) {
            if let Some(full) = simulation.probe().full() {
                return Err(Ended::Full(full));
            }
            if asker.wants_stop() {
                return Err(Ended::Stopped);
            }
        }
        Ok(simulation.finish())
    }

    fn recording(&self) -> Recording {
        let record = &self.0.record;
        Recording { queue: record.queue, window: record.window, rates: record.rates, events: record.events, distributions: false }
    }
}

/// Asks a Python callable now and then whether to stop.
struct Asker {
    stop: Option<Py<PyAny>>,
    asked: Instant,
    failure: Option<PyErr>,
}

impl Asker {
    fn new(stop: Option<Py<PyAny>>) -> Asker {
        Asker { stop, asked: Instant::now(), failure: None }
    }

    fn wants_stop(&mut self) -> bool {
        if self.asked.elapsed() < ASK_EVERY {
            return false;
        }
        self.asked = Instant::now();
        Python::attach(|py| {
            let answer = py.check_signals().and_then(|()| match &self.stop {
                Some(stop) => stop.call0(py)?.is_truthy(py),
                None => Ok(false),
            });
            answer.unwrap_or_else(|failure| {
                self.failure =
                    Some(if failure.is_instance_of::<PyKeyboardInterrupt>(py) { PyKeyboardInterrupt::new_err(()) } else { failure });
                true
            })
        })
    }
}

/// A finished run: its tables as arrays.
#[pyclass(frozen, get_all)]
struct RunResult {
    fingerprint: String,
    events: u64,
    packet_hops: u64,
    cpu_s: f64,
    tables: Py<PyDict>,
}

impl RunResult {
    fn new(py: Python<'_>, run: Run, more: Vec<(&'static str, Table)>, cpu_s: f64) -> PyResult<RunResult> {
        let tables = PyDict::new(py);
        for (name, table) in run.report.tables.into_iter().chain(more) {
            let columns = PyDict::new(py);
            for (column, values) in table.columns {
                columns.set_item(column, array(py, values))?;
            }
            tables.set_item(name, columns)?;
        }
        Ok(RunResult {
            fingerprint: format!("{:016x}", run.fingerprint),
            events: run.events,
            packet_hops: run.packet_hops,
            cpu_s,
            tables: tables.unbind(),
        })
    }
}

/// Hands a column over without a copy.
fn array(py: Python<'_>, column: Column) -> Bound<'_, PyAny> {
    match column {
        Column::Real(values) => values.into_pyarray(py).into_any(),
        Column::Count(values) => values.into_pyarray(py).into_any(),
        Column::Index(values) | Column::Name { index: values, .. } => values.into_pyarray(py).into_any(),
    }
}

fn scenario_error(py: Python<'_>, problems: Vec<Problem>) -> PyErr {
    let text: Vec<_> = problems.iter().map(|problem| format!("{}: {}", problem.place, problem.message)).collect();
    let error = ScenarioError::new_err(text.join("\n"));
    let list: Vec<_> = problems.into_iter().map(|problem| (problem.place, problem.line, problem.message)).collect();
    if let Err(failure) = error.value(py).setattr("problems", list) {
        return failure;
    }
    error
}

#[pyfunction]
#[pyo3(name = "registry")]
fn registry_text() -> String {
    registry::registry().to_string()
}

#[pyfunction]
fn schema() -> String {
    registry::schema().to_string()
}

#[pyfunction]
#[pyo3(name = "columns")]
fn columns_text() -> String {
    registry::columns().to_string()
}

/// Judges one of ns-2's packet-exact cases; JSON with `name`, `ok`, `events` and `difference`.
#[pyfunction]
#[pyo3(name = "packet_exact")]
fn packet_exact_case(case_json: &str) -> PyResult<String> {
    let verdict = packet_exact::judge(case_json).map_err(PyValueError::new_err)?;
    Ok(serde_json::json!({
        "name": verdict.name, "ok": verdict.difference.is_none(), "events": verdict.events, "difference": verdict.difference,
    })
    .to_string())
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add("FORMAT", FORMAT)?;
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add("Interrupted", module.py().get_type::<Interrupted>())?;
    module.add_class::<Scenario>()?;
    module.add_class::<RunResult>()?;
    module.add_function(wrap_pyfunction!(registry_text, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(columns_text, module)?)?;
    module.add_function(wrap_pyfunction!(packet_exact_case, module)?)
}
