//! A sound scenario, and one run of it under a seed.

use std::sync::Arc;

use cpu_time::ThreadTime;
use ecnlab_scenario::Scenario as Sound;
use ecnlab_sim::measures;
use ecnlab_sim::probe::Recorder;
use ecnlab_sim::{Buffer, Off, Options, Probe, Run, run};
use ecnlab_units::Time;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{Interrupted, engine_fault, scenario_error};
use crate::fault::caught;
use crate::table::{Column, Table};
use crate::watch::Watch;

/// A scenario that is known to be sound.
#[pyclass(frozen)]
pub struct Scenario(Sound);

/// A finished run: what identifies it, and its tables by name.
#[pyclass(frozen, get_all)]
pub struct RunResult {
    seed: u64,
    fingerprint: String,
    events: u64,
    packet_hops: u64,
    cpu_s: f64,
    tables: Py<PyDict>,
}

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
    fn hash(&self) -> String {
        self.0.hash()
    }

    #[getter]
    fn resolved(&self) -> String {
        self.0.resolved.to_string()
    }

    /// What is recorded besides the measures, as JSON.
    #[getter]
    fn record(&self) -> String {
        self.0.resolved["record"].to_string()
    }

    /// What the scenario says that its author hardly meant: place, line and message.
    #[getter]
    fn warnings(&self) -> Vec<(String, Option<usize>, String)> {
        Vec::new()
    }

    /// Runs it; `watch` is told the simulated seconds every 50 ms or so and answers whether to stop.
    #[pyo3(signature = (seed, watch = None))]
    fn run(&self, py: Python<'_>, seed: i64, watch: Option<Py<PyAny>>) -> PyResult<RunResult> {
        let seed = u64::try_from(seed).map_err(|_| PyValueError::new_err(format!("seed {seed} must not be negative")))?;
        let mut watch = Watch::new(watch);
        let (outcome, cpu_s) = py.detach(|| {
            let began = ThreadTime::now();
            let outcome = caught(|| self.finish(seed, &mut watch));
            (outcome, began.elapsed().as_secs_f64())
        });
        match outcome {
            Ok(Some((mut run, more))) => {
                let tables = std::mem::take(&mut run.report.tables).into_iter().chain(more);
                RunResult::new(py, seed, run, tables.map(|(name, table)| (name, self.named(table))).collect(), cpu_s)
            }
            Ok(None) => Err(watch.failure.unwrap_or_else(|| Interrupted::new_err("the run was stopped"))),
            Err(told) => Err(engine_fault(py, &self.0.hash(), seed, &told)),
        }
    }
}

impl Scenario {
    fn finish(&self, seed: u64, watch: &mut Watch) -> Option<(Run, Vec<(&'static str, measures::Table)>)> {
        if self.0.record == Default::default() {
            return self.execute(seed, &mut Off, watch).map(|run| (run, Vec::new()));
        }
        let mut recorder = self.recorder();
        self.execute(seed, &mut recorder, watch).map(|run| (run, recorded_tables(recorder, &self.0)))
    }

    fn execute(&self, seed: u64, probe: &mut impl Probe, watch: &mut Watch) -> Option<Run> {
        let options = Options {
            duration: Time::ZERO + self.0.duration,
            measure_from: Time::ZERO + self.0.measure_from,
            seed,
            sample_queues: self.0.record.queue,
            sample_windows: self.0.record.window,
        };
        run(&self.0.network, &options, probe, &mut |now| watch.wants_stop(now)).ok()
    }

    /// A table of the engine with names in place of indices.
    fn named(&self, table: measures::Table) -> Table {
        let (groups, queues): (Arc<[String]>, Arc<[String]>) = (self.0.groups.clone().into(), self.0.queues.clone().into());
        let words = |words: &[&str]| -> Arc<[String]> { words.iter().map(|&word| word.to_owned()).collect() };
        let column = |name: &str, column: measures::Column| match (name, column) {
            ("group", measures::Column::Index(index)) => Column::Name { index, names: groups.clone() },
            ("queue", measures::Column::Index(index)) => Column::Name { index, names: queues.clone() },
            ("kind", measures::Column::Code(codes)) => {
                Column::Name { index: codes.into_iter().map(u32::from).collect(), names: words(&["mark", "drop"]) }
            }
            (_, measures::Column::Code(codes)) => Column::Name {
                index: codes.into_iter().map(u32::from).collect(),
                names: words(&["early", "forced", "overflow", "lost", "ecn"]),
            },
            (_, measures::Column::Real(values)) => Column::Real(values),
            (_, measures::Column::Count(values)) => Column::Count(values),
            (_, measures::Column::Index(values)) => Column::Index(values),
        };
        Table { columns: table.columns.into_iter().map(|(name, values)| (name.to_owned(), column(name, values))).collect() }
    }
    fn recorder(&self) -> Recorder {
        let mut queues = 0;
        let mut number = |buffer: &Buffer| match buffer {
            Buffer::Queue(_) => {
                queues += 1;
                queues - 1
            }
            Buffer::Pipe { .. } => u32::MAX,
        };
        let queue_of_link = self.0.network.links.iter().map(|link| number(&link.buffer)).collect();
        Recorder { events: self.0.record.events, queue_of_link, ..Recorder::default() }
    }
}
fn recorded_tables(recorder: Recorder, scenario: &Sound) -> Vec<(&'static str, measures::Table)> {
    let table = |columns: Vec<(&'static str, measures::Column)>| measures::Table { columns };
    let (q, w, r, d, l) = (recorder.queue, recorder.window, recorder.rates, recorder.deeds, recorder.lockouts);
    let queue = table(vec![
        ("time_s", measures::Column::Real(q.time_s)),
        ("queue", measures::Column::Index(q.queue)),
        ("length_packets", measures::Column::Index(q.length_packets)),
        ("average_packets", measures::Column::Real(q.average_packets)),
    ]);
    let window = table(vec![
        ("time_s", measures::Column::Real(w.time_s)),
        ("flow", measures::Column::Index(w.flow)),
        ("cwnd_packets", measures::Column::Real(w.cwnd_packets)),
        ("ssthresh_packets", measures::Column::Real(w.ssthresh_packets)),
        ("alpha", measures::Column::Real(w.alpha)),
    ]);
    let rates = table(vec![
        ("time_s", measures::Column::Real(r.time_s)),
        ("group", measures::Column::Index(r.group)),
        ("throughput_bps", measures::Column::Real(r.throughput_bps)),
        ("goodput_bps", measures::Column::Real(r.goodput_bps)),
        ("goodput_first_bps", measures::Column::Real(r.goodput_first_bps)),
        ("marks", measures::Column::Count(r.marks)),
        ("drops", measures::Column::Count(r.drops)),
    ]);
    let events = table(vec![
        ("time_s", measures::Column::Real(d.time_s)),
        ("queue", measures::Column::Index(d.queue)),
        ("flow", measures::Column::Index(d.flow)),
        ("kind", measures::Column::Code(d.kind)),
        ("cause", measures::Column::Code(d.cause)),
    ]);
    let lockouts = table(vec![
        ("flow", measures::Column::Index(l.flow)),
        ("start_s", measures::Column::Real(l.start_s)),
        ("end_s", measures::Column::Real(l.end_s)),
    ]);
    let record = &scenario.record;
    let all = [
        (record.queue.is_some(), "series_queue", queue),
        (record.rates, "series_rate", rates),
        (record.window.is_some(), "series_window", window),
        (record.events, "events", events),
        (record.events, "lockouts", lockouts),
    ];
    all.into_iter().filter(|(asked, ..)| *asked).map(|(_, name, table)| (name, table)).collect()
}

impl RunResult {
    fn new(py: Python<'_>, seed: u64, run: Run, more: Vec<(&'static str, Table)>, cpu_s: f64) -> PyResult<RunResult> {
        let tables = PyDict::new(py);
        for (name, table) in more {
            tables.set_item(name, Py::new(py, table)?)?;
        }
        Ok(RunResult {
            seed,
            fingerprint: format!("{:016x}", run.fingerprint),
            events: run.events,
            packet_hops: run.packet_hops,
            cpu_s,
            tables: tables.unbind(),
        })
    }
}
