//! Reading of trace files, without the interpreter's lock.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ecnlab_scenario::registry;
use ecnlab_trace::check::{Finding, FindingCounts, KnownDeparture, Rule};
use ecnlab_trace::{Analysis, EcnCheck, Options, TraceReport};
use ecnlab_units::{Span, Time};
use ecnlab_wire::{Format, ReadError, Reader, TraceEvent};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value as Json, json};

use crate::errors::TraceError;
use crate::panic::catch_panic;
use crate::progress::ProgressWatch;
use crate::table::tables_to_dict;

/// Records between two reads of the clock.
const RECORDS_PER_POLL: u32 = 1 << 13;

/// Maximum number of a file's errors that are listed.
const MAX_LISTED_ERRORS: usize = 20;

/// An analyzed trace: its tables by name, and facts about the file as JSON.
#[pyclass(frozen, get_all)]
pub struct TraceRead {
    tables: Py<PyDict>,
    about: String,
}

/// The declared tables of a trace.
#[pyfunction]
pub fn trace_columns() -> String {
    registry::columns_of(&ecnlab_trace::describe_tables()).to_string()
}

/// The declared rules of the ECN check.
#[pyfunction]
pub fn trace_rules() -> String {
    Rule::ALL.iter().map(|&rule| rule_json(rule, FindingCounts::default())).collect::<Json>().to_string()
}

/// Reads a trace; without a path, from standard input. `watch` is called with the bytes read about every 50 ms, and returns whether to
/// stop. Raises OSError if the file cannot be opened, TraceError if no record in it can be read.
#[pyfunction]
#[pyo3(signature = (path, *, from_s = None, to_s = None, bin_s = 1.0, flows = Vec::new(), drawn = Vec::new(), header = 0, watch = None))]
#[expect(clippy::too_many_arguments, reason = "each is an option by its name")]
pub fn read_trace(
    py: Python<'_>,
    path: Option<&str>,
    from_s: Option<f64>,
    to_s: Option<f64>,
    bin_s: f64,
    flows: Vec<u32>,
    drawn: Vec<u32>,
    header: u32,
    watch: Option<Py<PyAny>>,
) -> PyResult<TraceRead> {
    let span = |seconds: f64| Span::from_secs_f64(seconds).ok_or_else(|| PyValueError::new_err(format!("{seconds} s is not a time")));
    let (from, to) = (from_s.map(span).transpose()?, to_s.map(span).transpose()?);
    let options = Options { from, to, bin: span(bin_s)?, flows, sequence_flows: drawn, header_bytes: header };
    let (report, about) = read_without_gil(py, path, watch, |input| analyze_trace_input(input, options))?;
    Ok(TraceRead { tables: tables_to_dict(py, report.tables)?, about: about.to_string() })
}

/// Checks a trace against RFC 3168; JSON with `about`, `rules` and `findings`. Arguments and exceptions as of `read_trace`.
#[pyfunction]
#[pyo3(signature = (path, *, watch = None))]
pub fn check_trace(py: Python<'_>, path: Option<&str>, watch: Option<Py<PyAny>>) -> PyResult<String> {
    read_without_gil(py, path, watch, check).map(|report| report.to_string())
}

/// A trace file that is being read.
pub struct TraceInput<'a> {
    reader: Reader<'a>,
    /// Bytes read from the file, before decompression.
    bytes_read: Arc<AtomicU64>,
    watch: ProgressWatch,
    is_stopped: bool,
    records_until_poll: u32,
    interfaces: usize,
    errors: Vec<ReadError>,
    more_errors: u64,
}

/// Opens a file and reads it without the interpreter's lock; a panic becomes an exception.
fn read_without_gil<T: Send>(
    py: Python<'_>,
    path: Option<&str>,
    watch: Option<Py<PyAny>>,
    work: impl FnOnce(&mut TraceInput) -> Result<T, String> + Send,
) -> PyResult<T> {
    let bytes_read = Arc::new(AtomicU64::new(0));
    let file: Box<dyn Read + Send> = match path {
        Some(path) => Box::new(File::open(path)?),
        None => Box::new(io::stdin()),
    };
    let watch = ProgressWatch::new(watch);
    let outcome = py.detach(|| {
        catch_panic(|| {
            let reader = Reader::from_reader(CountingReader { file, bytes_read: bytes_read.clone() }).map_err(exception_of_unreadable)?;
            let mut input = TraceInput {
                reader,
                bytes_read,
                watch,
                is_stopped: false,
                records_until_poll: RECORDS_PER_POLL,
                interfaces: 0,
                errors: Vec::new(),
                more_errors: 0,
            };
            let worked = work(&mut input);
            if input.is_stopped {
                return Err(input.watch.into_exception("the reading was stopped"));
            }
            worked.map_err(TraceError::new_err)
        })
    });
    outcome.map_err(TraceError::new_err)?
}

/// The exception for a file that cannot be read at all.
fn exception_of_unreadable(error: ReadError) -> PyErr {
    match error.kind {
        ecnlab_wire::ReadErrorKind::Input(error) => PyOSError::new_err((error.raw_os_error(), error.to_string())),
        _ => TraceError::new_err(error.to_string()),
    }
}

impl TraceInput<'_> {
    /// The next event; none at the end, or when reading is to stop. Errors are kept.
    fn next_event(&mut self) -> Option<TraceEvent> {
        loop {
            self.records_until_poll -= 1;
            if self.records_until_poll == 0 {
                self.records_until_poll = RECORDS_PER_POLL;
                self.is_stopped = self.watch.report_and_ask_stop(self.bytes_read.load(Ordering::Relaxed) as f64);
            }
            if self.is_stopped {
                return None;
            }
            match self.reader.read_record()? {
                Ok(Some(event)) => return Some(event),
                Ok(None) => {}
                Err(error) if self.errors.len() < MAX_LISTED_ERRORS => self.errors.push(error),
                Err(_) => self.more_errors += 1,
            }
        }
    }

    /// Names of the interfaces, if there are new ones.
    fn interface_names_if_changed(&mut self) -> Option<Vec<String>> {
        let interfaces = self.reader.interfaces();
        if interfaces.len() == self.interfaces {
            return None;
        }
        self.interfaces = interfaces.len();
        Some(interfaces.iter().map(|interface| interface.name.clone().unwrap_or_default()).collect())
    }

    /// Whether times are relative to the first event, as in a capture of a host with absolute times.
    fn starts_at_first_event(&self) -> bool {
        self.reader.format() != Format::Ns2 && self.reader.epoch_s() > 0
    }

    /// Facts about the file; `first` is its first event.
    fn file_info(&self, first: &TraceEvent) -> Json {
        let begin_unix_s = self.starts_at_first_event().then(|| self.reader.epoch_s() as f64 + first.time.seconds());
        let errors: Vec<_> = self.errors.iter().map(ReadError::to_string).collect();
        json!({
            "format": match self.reader.format() { Format::Ns2 => "ns-2", Format::Pcap => "pcap", Format::Pcapng => "pcapng" },
            "interfaces": self.reader.interfaces().len(),
            "records": self.reader.records(),
            "passed_over": self.reader.skipped_records(),
            "bytes": self.reader.bytes_read(),
            "begins_unix_s": begin_unix_s,
            "faults": errors,
            "more_faults": self.more_errors,
            "backwards": self.reader.backward_times().map(|backward| {
                json!({ "first_record": backward.first_record, "records": backward.records, "by_s": backward.max_step.seconds() })
            }),
            "reliable": self.reader.backward_times().is_none(),
            "ends_early": self.errors.iter().any(|error| error.is_fatal),
        })
    }

    /// The error of a file without events.
    fn no_events_error(&self) -> String {
        match self.errors.first() {
            Some(error) => error.to_string(),
            None => "it contains no IP packet".to_owned(),
        }
    }
}

fn analyze_trace_input(input: &mut TraceInput, options: Options) -> Result<(TraceReport, Json), String> {
    let Some(first) = input.next_event() else { return Err(input.no_events_error()) };
    let mut analysis = Analysis::new(options, input.starts_at_first_event());
    let mut event = Some(first);
    while let Some(next) = event {
        if let Some(names) = input.interface_names_if_changed() {
            analysis.set_interfaces(names);
        }
        analysis.on_event(&next);
        event = input.next_event();
    }
    let report = analysis.finish();
    let counts = report.counts;
    let about = with_members(
        input.file_info(&first),
        json!({
            "events": counts.events,
            "from_s": report.from_s,
            "to_s": report.to_s,
            "last_s": report.last_s,
            "others": counts.other_protocols,
            "fragments": counts.fragments,
            "cut": counts.truncated,
            "unlisted_flows": counts.unlisted_flows,
            "unranked": counts.unranked_connections,
            "unacknowledged": counts.unacknowledged_flows,
            "evicted": counts.evicted_connections,
            "left_out": counts.rows_left_out,
            "unfollowed": counts.untracked_packets,
        }),
    );
    Ok((report, about))
}

fn with_members(mut object: Json, members: Json) -> Json {
    if let (Json::Object(object), Json::Object(members)) = (&mut object, members) {
        object.extend(members);
    }
    object
}

fn check(input: &mut TraceInput) -> Result<Json, String> {
    let Some(first) = input.next_event() else { return Err(input.no_events_error()) };
    let origin = if input.starts_at_first_event() { first.time } else { Time::ZERO };
    let mut check = EcnCheck::default();
    let mut event = Some(first);
    while let Some(next) = event {
        if let Some(names) = input.interface_names_if_changed() {
            check.set_interface_count(names.len());
        }
        check.on_event(&next, input.reader.packets(), Time::ZERO + next.time.since(origin));
        event = input.next_event();
    }
    let report = check.finish();
    let counts = json!({ "events": report.events, "connections": report.connections, "one_way_connections": report.one_way_connections });
    let about = with_members(input.file_info(&first), counts);
    let broken_rules = Rule::ALL.iter().zip(report.rule_counts).filter(|(_, rule_count)| *rule_count != FindingCounts::default());
    let rules: Vec<_> = broken_rules.map(|(rule, rule_count)| rule_json(*rule, rule_count)).collect();
    let known: Vec<_> = report.known.iter().map(|(&(rule, known), &count)| departure_json(rule, known, count)).collect();
    let findings: Vec<_> = report.findings.iter().map(finding_json).collect();
    Ok(json!({ "about": about, "rules": rules, "known": known, "findings": findings }))
}

fn rule_json(rule: Rule, rule_count: FindingCounts) -> Json {
    let about = rule.info();
    json!({
        "name": rule.word(),
        "section": about.section,
        "asks": about.requirement,
        "departs": about.known_departures,
        "violations": rule_count.violations,
        "departures": rule_count.departures,
    })
}

fn departure_json(rule: Rule, known: KnownDeparture, count: u64) -> Json {
    json!({ "rule": rule.word(), "section": rule.info().section, "whose": known.hosts_description(), "count": count })
}

fn finding_json(finding: &Finding) -> Json {
    json!({
        "record": finding.record,
        "time_s": finding.time.seconds(),
        "source": finding.source.to_string(),
        "destination": finding.destination.to_string(),
        "rule": finding.rule.word(),
        "section": finding.rule.info().section,
        "is_departure": finding.known.is_some(),
        "whose": finding.known.map_or("", KnownDeparture::hosts_description),
        "found": finding.found,
    })
}

/// A reader that counts the bytes read.
struct CountingReader {
    file: Box<dyn Read + Send>,
    bytes_read: Arc<AtomicU64>,
}

impl Read for CountingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.bytes_read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
