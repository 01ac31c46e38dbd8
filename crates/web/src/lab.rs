//! Scenarios that a page has opened, each with at most one run.

use ecnlab_queue::Registry;
use ecnlab_scenario::{Problem, SOURCES_DIGEST, Scenario, registry};
use ecnlab_sim::measures::Table;
use ecnlab_sim::{NewRowsReader, Probe, Recorder, RecordingLimitReached, Run, Simulation};
use ecnlab_units::{Span, Time};
use serde_json::{Map, Value as Json, json};

use crate::columns::{new_rows_json, table_json};
use crate::user_aqm;

/// Maximum bytes of the rows that a run records: a page holds several runs, and copies what it draws.
const MAX_RECORD_BYTES: u64 = 256 << 20;

/// Events between two looks for a failure of the page's AQM, after which going on is useless.
const AQM_FAILURE_CHECK_EVENTS: u64 = 1 << 8;

/// The scenarios by number; closed ones leave a gap.
#[derive(Default)]
pub struct Labs(Vec<Option<Lab>>);

/// A scenario, and its run.
struct Lab {
    scenario: Scenario,
    state: RunState,
}

enum RunState {
    None,
    Running(Box<Simulation<Recorder>>, NewRowsReader),
    Finished(Box<Run>, Vec<(&'static str, Table)>),
    /// The recording has reached its limit, or the page's AQM has failed: what the run went on to would be the results of another AQM. The
    /// reason is as the page gets it.
    Failed(Json),
}

/// Version, build, and all that scenarios may name.
pub fn catalog() -> Json {
    let registry_json = registry::registry(&Registry::builtin());
    json!({
        "version": env!("CARGO_PKG_VERSION"), "build": SOURCES_DIGEST, "registry": registry_json, "columns": registry::columns(),
        "units": registry::units(),
    })
}

impl Labs {
    /// Reads a scenario; returns its number and what it is, or its problems.
    pub fn open(&mut self, request: &str) -> Json {
        let request: Json = match serde_json::from_str(request) {
            Ok(request) => request,
            Err(why) => return problems_json(&[Problem::new("request", format!("not valid JSON: {why}"))]),
        };
        match scenario_from_request(&request) {
            Err(problems) => problems_json(&problems),
            Ok(scenario) => {
                let number = self.0.iter().position(Option::is_none).unwrap_or_else(|| {
                    self.0.push(None);
                    self.0.len() - 1
                });
                let opened = opened_json(number, &scenario);
                self.0[number] = Some(Lab { scenario, state: RunState::None });
                opened
            }
        }
    }

    /// The scenario in force as TOML.
    pub fn toml(&self, lab: u32) -> String {
        self.lab(lab).scenario.to_toml()
    }

    /// Begins a run; the one before ends.
    pub fn start(&mut self, lab: u32, seed: f64) {
        assert!(seed.fract() == 0.0 && (0.0..=MAX_SEED).contains(&seed), "a seed is a whole number from 0 to 2^53, not {seed}");
        drop(user_aqm::take_failure());
        let Lab { scenario, state } = self.lab_mut(lab);
        *state = RunState::None;
        let times = scenario.times_and_seed(seed as u64);
        let recorder = Recorder::new(scenario.record.recording(), times.duration).with_max_bytes(MAX_RECORD_BYTES);
        let simulation = Simulation::new(&scenario.network, &times, recorder);
        *state = user_aqm::take_failure()
            .map_or_else(|| RunState::Running(Box::new(simulation), NewRowsReader::default()), RunState::of_aqm_failure);
    }

    /// Advances to a time or the end, or by so many events; returns the time. NaN if the run has failed, now or before.
    pub fn advance(&mut self, lab: u32, until_s: f64, events: f64) -> f64 {
        let Lab { scenario, state } = self.lab_mut(lab);
        let simulation = match state {
            RunState::Running(simulation, _) => simulation,
            RunState::Failed(_) => return f64::NAN,
            RunState::None | RunState::Finished(..) => panic!("lab {lab} has no run to advance; fix: start one"),
        };
        let until = Time::ZERO + Span::from_secs_f64(until_s).unwrap_or(scenario.duration).min(scenario.duration);
        let mut left = events as u64;
        let slice = if scenario.user_aqms.is_empty() { left } else { AQM_FAILURE_CHECK_EVENTS };
        while left > 0 {
            let part = slice.min(left);
            left -= part;
            let over = simulation.advance_with_event_limit(until, part);
            if let Some(failure) = user_aqm::take_failure() {
                *state = RunState::of_aqm_failure(failure);
                return f64::NAN;
            }
            if let Some(reached) = simulation.probe().recording_limit_reached() {
                *state = RunState::of_full_recording(&reached);
                return f64::NAN;
            }
            if over {
                break;
            }
        }
        simulation.now().seconds()
    }

    /// Reason for which the run has failed; null if it has not.
    pub fn failure(&self, lab: u32) -> Json {
        if let RunState::Failed(failure) = &self.lab(lab).state { failure.clone() } else { Json::Null }
    }

    /// Rows that were recorded since the last call.
    pub fn take_new_rows(&mut self, lab: u32) -> Json {
        let RunState::Running(simulation, reader) = &mut self.lab_mut(lab).state else {
            panic!("lab {lab} has no run in progress; fix: call fresh between start and finish")
        };
        let names = simulation.probe().names_with_gauges(&simulation.network_names());
        let rows = reader.new_rows(simulation.probe()).into_iter();
        let tables: Map<String, Json> = rows.map(|rows| (rows.table.to_owned(), new_rows_json(rows.from, &rows.columns, &names))).collect();
        json!({ "now_s": simulation.now().seconds(), "tables": tables })
    }

    /// Ends the run: its identity and all tables, those of measures apart from the recorded ones. Their columns stay in memory until the next
    /// run or the lab's end. Of a failed run it answers the reason.
    pub fn finish(&mut self, lab: u32) -> Json {
        let Lab { state, .. } = self.lab_mut(lab);
        *state = match std::mem::replace(state, RunState::None) {
            RunState::Running(simulation, _) => {
                let (run, recorder) = simulation.finish();
                match (user_aqm::take_failure(), recorder.tables(&run.names)) {
                    (Some(failure), _) => RunState::of_aqm_failure(failure),
                    (None, Ok(tables)) => RunState::Finished(Box::new(run), tables),
                    (None, Err(reached)) => RunState::of_full_recording(&reached),
                }
            }
            other => other,
        };
        match state {
            RunState::Finished(run, recorded) => json!({
                "fingerprint": format!("{:016x}", run.fingerprint), "events": run.events, "packet_hops": run.packet_hops,
                "tables": tables_json(&run.report.tables), "recorded": tables_json(recorded),
            }),
            RunState::Failed(failure) => json!({ "failure": failure }),
            RunState::None | RunState::Running(..) => panic!("lab {lab} has no run to finish; fix: start one"),
        }
    }

    /// Frees a scenario and its run.
    pub fn close(&mut self, lab: u32) {
        if let Some(place) = self.0.get_mut(lab as usize) {
            *place = None;
        }
    }

    fn lab(&self, lab: u32) -> &Lab {
        self.0.get(lab as usize).and_then(Option::as_ref).unwrap_or_else(|| panic!("lab {lab} is not open"))
    }

    fn lab_mut(&mut self, lab: u32) -> &mut Lab {
        self.0.get_mut(lab as usize).and_then(Option::as_mut).unwrap_or_else(|| panic!("lab {lab} is not open"))
    }
}

impl RunState {
    fn of_full_recording(reached: &RecordingLimitReached) -> RunState {
        RunState::Failed(json!({ "kind": "recording", "message": format!("record: {reached}") }))
    }

    fn of_aqm_failure(failure: user_aqm::Failure) -> RunState {
        let user_aqm::Failure { aqm, hook, now, packet, message } = failure;
        let time_s = now.map(Time::seconds);
        RunState::Failed(json!({ "kind": "aqm", "aqm": aqm, "hook": hook, "time_s": time_s, "packet": packet, "message": message }))
    }
}

fn tables_json(tables: &[(&'static str, Table)]) -> Json {
    Json::Object(tables.iter().map(|(name, table)| ((*name).to_owned(), table_json(table))).collect())
}

/// Largest seed that a double holds with all smaller ones.
const MAX_SEED: f64 = 9_007_199_254_740_992.0;

fn scenario_from_request(request: &Json) -> Result<Scenario, Vec<Problem>> {
    let mut registry = Registry::builtin();
    for declaration in request["aqms"].as_array().into_iter().flatten() {
        let problem = |why| vec![Problem::new(declaration["name"].as_str().unwrap_or("aqms"), why)];
        let entry = user_aqm::get_or_make_entry(declaration).map_err(problem)?;
        registry = registry.with_aqm(entry).map_err(problem)?;
    }
    let pair = |pair: &Json| (override_value_to_text(&pair[0]), override_value_to_text(&pair[1]));
    let record =
        request["record"].as_object().into_iter().flatten().map(|(key, value)| (format!("record.{key}"), override_value_to_text(value)));
    let overrides: Vec<_> = request["set"].as_array().into_iter().flatten().map(pair).chain(record).collect();
    let files = |name: &str| {
        let text = request["files"][name].as_str();
        text.map(str::to_owned).ok_or_else(|| "this page has no such file; fix: give its content with the scenario".to_owned())
    };
    let scenario = match (request["toml"].as_str(), request["json"].as_str()) {
        (Some(toml), _) => Scenario::from_toml(toml, &overrides, &registry, &files),
        (None, Some(json)) => Scenario::from_json(json, &overrides, &registry, &files),
        (None, None) => Err(vec![Problem::new("request", "has no scenario; fix: give toml or json".to_owned())]),
    }?;
    let needs_kernel = scenario.problems_without_kernel();
    if needs_kernel.is_empty() { Ok(scenario) } else { Err(needs_kernel) }
}

/// A value of an override as text: a string's content, anything else as JSON.
fn override_value_to_text(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn opened_json(number: usize, scenario: &Scenario) -> Json {
    json!({
        "lab": number, "name": scenario.name, "hash": scenario.hash(), "duration_s": scenario.duration.seconds(),
        "measure_from_s": scenario.measure_from.seconds(), "groups": scenario.groups, "queues": scenario.queues,
        "spawning_groups": spawning_groups(scenario), "routes": scenario.routes, "record": scenario.resolved["record"], "resolved": scenario.resolved,
        "warnings": problem_json_array(&scenario.warnings),
    })
}

/// Names of the groups whose applications open flows during the run.
fn spawning_groups(scenario: &Scenario) -> Vec<&str> {
    let apps = scenario.network.apps.iter().filter(|app| app.spec.spawns_flows());
    apps.map(|app| &*scenario.groups[app.group as usize]).collect()
}

fn problems_json(problems: &[Problem]) -> Json {
    json!({ "problems": problem_json_array(problems) })
}

fn problem_json_array(problems: &[Problem]) -> Json {
    problems.iter().map(|problem| json!({ "place": problem.place, "line": problem.line, "message": problem.message })).collect()
}
