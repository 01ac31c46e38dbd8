//! A valid scenario, and runs of it.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use cpu_time::ThreadTime;
use ecnlab_scenario::Scenario as ValidScenario;
use ecnlab_sim::measures;
use ecnlab_sim::{NoProbe, Probe, Recorder, RecorderAndTracer, RecordingConfig, Run, Simulation, Tracer};
use ecnlab_units::Time;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::aqm::failure;
use crate::aqm::{UserAqm, registry_with};
use crate::errors::{engine_fault, recording_limit_error, scenario_error};
use crate::file_io;
use crate::panic::catch_panic;
use crate::progress::ProgressWatch;
use crate::table::tables_to_dict;
use crate::tracing::TraceFileOptions;

/// Events between two reads of the clock; fewer if a user's AQM may fail at any of them.
const SLICE_EVENTS: u64 = 1 << 16;
const SHORT_SLICE_EVENTS: u64 = 1 << 8;
/// Events between two reads of the clock with a trace, which is buffered in memory in between.
const TRACED_SLICE_EVENTS: u64 = 1 << 13;

/// A valid scenario.
#[pyclass(frozen)]
pub struct Scenario(pub ValidScenario);

/// A finished run: its identity, and its tables by name.
#[pyclass(frozen, get_all)]
pub struct RunResult {
    seed: u64,
    fingerprint: String,
    events: u64,
    packet_hops: u64,
    /// Share of the packets that reached their sinks on the fast path; `None` if none arrived.
    fast_path_share: Option<f64>,
    cpu_s: f64,
    tables: Py<PyDict>,
}

#[pymethods]
impl Scenario {
    /// Reads a scenario in TOML, or else in JSON, without the interpreter's lock: a large file takes seconds, in which other threads must
    /// receive Ctrl-C. A scenario that is another one with changes shares its network if they do not concern it.
    #[new]
    #[pyo3(signature = (text, overrides, aqms = Vec::new(), folder = PathBuf::new(), changed_from = None, *, is_toml))]
    fn new(
        py: Python<'_>,
        text: &str,
        overrides: Vec<(String, String)>,
        aqms: Vec<Py<UserAqm>>,
        folder: PathBuf,
        changed_from: Option<Py<Scenario>>,
        is_toml: bool,
    ) -> PyResult<Scenario> {
        let read = if is_toml { ValidScenario::from_toml } else { ValidScenario::from_json };
        let registry = registry_with(&aqms)?;
        let read = py.detach(|| read(text, &overrides, &registry, &|name| file_io::read_file_in_folder(&folder, name)));
        let mut scenario = read.map_err(|problems| scenario_error(&problems))?;
        if let Some(original) = &changed_from {
            scenario.share_network(&original.get().0);
        }
        Ok(Scenario(scenario))
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

    /// Links of each group that its data and its ACKs cross, without private links.
    #[getter]
    fn routes(&self) -> Vec<[Vec<String>; 2]> {
        self.0.routes.clone()
    }

    #[getter]
    fn hash(&self) -> String {
        self.0.hash()
    }

    #[getter]
    fn resolved(&self) -> String {
        self.0.resolved.to_string()
    }

    /// Estimates of a run's memory in bytes: with little state of each flow, and with much.
    #[getter]
    fn estimated_memory_bytes(&self) -> (u64, u64) {
        self.0.estimated_memory_bytes().into()
    }

    /// Name and digest of each user-defined AQM in a queue.
    #[getter]
    fn user_aqm_digests(&self) -> Vec<(&str, &str)> {
        self.0.user_aqms.clone()
    }

    /// Names of the files that the scenario names.
    #[getter]
    fn file_names(&self) -> Vec<String> {
        self.0.file_names.clone()
    }

    /// Recordings besides the measures, as JSON.
    #[getter]
    fn recordings_json(&self) -> String {
        self.0.resolved["record"].to_string()
    }

    /// Warnings of the scenario: path, line and message.
    #[getter]
    fn warnings(&self) -> Vec<(String, Option<usize>, String)> {
        self.0.warnings.iter().map(|warning| (warning.place.clone(), warning.line, warning.message.clone())).collect()
    }

    /// Names that select links for a trace: each link's, and each group's for its private links.
    #[getter]
    fn links(&self) -> Vec<String> {
        let network = &self.0.network;
        // Applications with arriving flows create further links from their templates.
        let extra_tables = network.apps.iter().filter_map(|app| app.member_template.as_deref());
        let to_come = extra_tables.flat_map(|template| template.access.iter().chain(&template.exit).flatten());
        let names = network.links.iter().chain(to_come).flat_map(|link| [link.name.display_name(), link.name.result_label()]);
        names.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Runs the scenario; `watch` is called with the simulated seconds about every 50 ms, and returns whether to stop. Raises OSError if
    /// the trace cannot be written.
    #[pyo3(signature = (seed, watch = None, trace = None))]
    fn run(&self, py: Python<'_>, seed: i64, watch: Option<Py<PyAny>>, trace: Option<TraceFileOptions>) -> PyResult<RunResult> {
        let seed = u64::try_from(seed).map_err(|_| PyValueError::new_err(format!("seed {seed} must not be negative")))?;
        let needs_kernel = self.0.problems_without_kernel();
        if !needs_kernel.is_empty() {
            return Err(scenario_error(&needs_kernel));
        }
        let watch = ProgressWatch::new(watch);
        let (outcome, cpu_s) = py.detach(|| {
            let began = ThreadTime::now();
            let outcome = catch_panic(|| self.run_to_end(seed, watch, trace.as_ref()));
            (outcome, began.elapsed().as_secs_f64())
        });
        let (run, extra_tables) = outcome.map_err(|message| engine_fault(py, &self.0.hash(), seed, &message))??;
        RunResult::new(py, seed, run, extra_tables, cpu_s)
    }
}

type Tables = Vec<(&'static str, measures::Table)>;

impl Scenario {
    fn run_to_end(&self, seed: u64, watch: ProgressWatch, trace: Option<&TraceFileOptions>) -> PyResult<(Run, Tables)> {
        let recording = self.0.record.recording();
        if trace.is_none() && recording == RecordingConfig::default() {
            let (run, NoProbe) = self.run_in_slices(seed, NoProbe, watch, SLICE_EVENTS, |_| Ok(()))?;
            return Ok((run, Vec::new()));
        }
        let recorder = Recorder::new(recording, Time::ZERO + self.0.duration);
        let (run, recorder) = match trace {
            None => self.run_in_slices(seed, recorder, watch, SLICE_EVENTS, |_| Ok(()))?,
            Some(to) => self.run_traced(seed, recorder, watch, to)?,
        };
        let extra_tables = recorder.tables(&run.names).map_err(|reached| recording_limit_error(&reached))?;
        Ok((run, extra_tables))
    }

    /// Runs the scenario with a packet trace in a file.
    fn run_traced(&self, seed: u64, recorder: Recorder, watch: ProgressWatch, to: &TraceFileOptions) -> PyResult<(Run, Recorder)> {
        let mut file = to.create()?;
        let probe = RecorderAndTracer { recorder, tracer: Tracer::new(to.spec()) };
        let (run, mut probe) =
            self.run_in_slices(seed, probe, watch, TRACED_SLICE_EVENTS, |probe| file.write_pending(&mut probe.tracer))?;
        probe.tracer.write_begun_transmissions(Time::ZERO + self.0.duration);
        file.finish(&mut probe.tracer)?;
        Ok((run, probe.recorder))
    }

    /// Runs the scenario in slices of events; `between` them it may drain the probe.
    fn run_in_slices<P: Probe>(
        &self,
        seed: u64,
        probe: P,
        mut watch: ProgressWatch,
        slice: u64,
        mut between: impl FnMut(&mut P) -> io::Result<()>,
    ) -> PyResult<(Run, P)> {
        let times = self.0.times_and_seed(seed);
        let slice = if self.0.user_aqms.is_empty() { slice } else { SHORT_SLICE_EVENTS };
        drop(failure::take_failure());
        let mut simulation = Simulation::new(&self.0.network, &times, probe);
        loop {
            let over = simulation.advance_with_event_limit(times.duration, slice);
            if let Some(failure) = failure::take_failure() {
                return Err(failure::into_exception(seed, failure));
            }
            between(simulation.probe_mut())?;
            if over {
                return Ok(simulation.finish());
            }
            if let Some(reached) = simulation.probe().recording_limit_reached() {
                return Err(recording_limit_error(&reached));
            }
            if watch.report_and_ask_stop(simulation.now().seconds()) {
                return Err(watch.into_exception("the run was stopped"));
            }
        }
    }
}

impl RunResult {
    pub fn new(py: Python<'_>, seed: u64, run: Run, extra_tables: Tables, cpu_s: f64) -> PyResult<RunResult> {
        Ok(RunResult {
            seed,
            fingerprint: format!("{:016x}", run.fingerprint),
            events: run.events,
            packet_hops: run.packet_hops,
            fast_path_share: run.fast_path_share(),
            cpu_s,
            tables: tables_to_dict(py, run.report.tables.into_iter().chain(extra_tables))?,
        })
    }
}
