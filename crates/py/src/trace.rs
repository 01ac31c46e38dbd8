//! Traces that were written before: files are opened here, and read without the interpreter's lock.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ecnlab_scenario::registry;
use ecnlab_trace::check::{Finding, Known, Rule, Tally};
use ecnlab_trace::{Analysis, Check, Options, Told};
use ecnlab_units::{Span, Time};
use ecnlab_wire::{Event, Fault, Format, Reader};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value as Json, json};

use crate::errors::{Interrupted, TraceError};
use crate::fault::caught;
use crate::table::Table;
use crate::watch::Watch;

/// Records between two looks at the clock.
const SLICE: u32 = 1 << 13;

/// Faults of a file that are told one by one.
const MOST_FAULTS: usize = 20;

/// A trace that was read: its tables by name, and what is to be said about the file, as JSON.
#[pyclass(frozen, get_all)]
pub struct TraceRead {
    tables: Py<PyDict>,
    about: String,
}

pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<TraceRead>()?;
    module.add_function(wrap_pyfunction!(read_trace, module)?)?;
    module.add_function(wrap_pyfunction!(check_trace, module)?)?;
    module.add_function(wrap_pyfunction!(trace_rules, module)?)?;
    module.add_function(wrap_pyfunction!(trace_columns, module)?)
}

/// The tables of a trace as they are declared.
#[pyfunction]
fn trace_columns() -> String {
    registry::columns_of(&ecnlab_trace::tables()).to_string()
}

/// The rules of a check as they are declared.
#[pyfunction]
fn trace_rules() -> String {
    Rule::ALL.map(|rule| rule_told(rule, Tally::default())).into_iter().collect::<Json>().to_string()
}

/// Reads a trace, of standard input without a path. `watch` is told the bytes read every 50 ms or so and answers whether to stop.
/// Raises OSError if it cannot be opened, TraceError if nothing in it can be read.
#[pyfunction]
#[pyo3(signature = (path, *, from_s = None, to_s = None, bin_s = 1.0, flows = Vec::new(), drawn = Vec::new(), header = 0, watch = None))]
#[expect(clippy::too_many_arguments, reason = "each is an option by its name")]
fn read_trace(
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
    let span = |seconds: f64| Span::from_secs_f64(seconds).ok_or_else(|| PyValueError::new_err(format!("{seconds} s is no time")));
    let (from, to) = (from_s.map(span).transpose()?, to_s.map(span).transpose()?);
    let options = Options { from, to, bin: span(bin_s)?, flows, drawn, header };
    let (told, about) = read(py, path, watch, |input| tell(input, options))?;
    let tables = PyDict::new(py);
    for (name, table) in told.tables {
        tables.set_item(name, Py::new(py, Table(table))?)?;
    }
    Ok(TraceRead { tables: tables.unbind(), about: about.to_string() })
}

/// Checks a trace against RFC 3168; JSON with `about`, `rules` and `findings`. Arguments and exceptions as `read_trace` has them.
#[pyfunction]
#[pyo3(signature = (path, *, watch = None))]
fn check_trace(py: Python<'_>, path: Option<&str>, watch: Option<Py<PyAny>>) -> PyResult<String> {
    read(py, path, watch, judge).map(|verdict| verdict.to_string())
}

/// A file that is being read.
pub struct Input<'a> {
    reader: Reader<'a>,
    /// Bytes that were read of it as it is, compressed or not.
    taken: Arc<AtomicU64>,
    watch: Watch,
    is_stopped: bool,
    until_look: u32,
    interfaces: usize,
    faults: Vec<Fault>,
    more_faults: u64,
}

/// Opens a file and has it read without the interpreter's lock; a fault of ours becomes an exception.
fn read<T: Send>(
    py: Python<'_>,
    path: Option<&str>,
    watch: Option<Py<PyAny>>,
    work: impl FnOnce(&mut Input) -> Result<T, String> + Send,
) -> PyResult<T> {
    let taken = Arc::new(AtomicU64::new(0));
    let file: Box<dyn Read + Send> = match path {
        Some(path) => Box::new(File::open(path)?),
        None => Box::new(io::stdin()),
    };
    let watch = Watch::new(watch);
    let outcome = py.detach(|| {
        caught(|| {
            let reader = Reader::open(Counted { file, taken: taken.clone() }).map_err(refusal)?;
            let mut input = Input::new(reader, taken, watch);
            let worked = work(&mut input);
            Ok((worked, input.is_stopped, input.watch))
        })
    });
    let (worked, is_stopped, watch) = outcome.map_err(TraceError::new_err)?.map_err(Refusal::raised)?;
    if is_stopped {
        return Err(watch.failure.unwrap_or_else(|| Interrupted::new_err("the reading was stopped")));
    }
    worked.map_err(TraceError::new_err)
}

/// A file that cannot be read at all.
enum Refusal {
    Unreadable(String),
    Failed(io::Error),
}

fn refusal(fault: Fault) -> Refusal {
    match fault.why {
        ecnlab_wire::Why::Input(error) => Refusal::Failed(error),
        _ => Refusal::Unreadable(fault.to_string()),
    }
}

impl Refusal {
    fn raised(self) -> PyErr {
        match self {
            Refusal::Unreadable(told) => TraceError::new_err(told),
            Refusal::Failed(error) => PyOSError::new_err((error.raw_os_error(), error.to_string())),
        }
    }
}

impl<'a> Input<'a> {
    fn new(reader: Reader<'a>, taken: Arc<AtomicU64>, watch: Watch) -> Input<'a> {
        Input { reader, taken, watch, is_stopped: false, until_look: SLICE, interfaces: 0, faults: Vec::new(), more_faults: 0 }
    }

    /// The next event; none at the end, or when the reading is to stop. What cannot be read is kept.
    fn next(&mut self) -> Option<Event> {
        loop {
            self.until_look -= 1;
            if self.until_look == 0 {
                self.until_look = SLICE;
                self.is_stopped = self.watch.wants_stop(self.taken.load(Ordering::Relaxed) as f64);
            }
            if self.is_stopped {
                return None;
            }
            match self.reader.step()? {
                Ok(Some(event)) => return Some(event),
                Ok(None) => {}
                Err(fault) if self.faults.len() < MOST_FAULTS => self.faults.push(fault),
                Err(_) => self.more_faults += 1,
            }
        }
    }

    /// The names of the interfaces, if there are more than before.
    fn new_interfaces(&mut self) -> Option<Vec<String>> {
        let interfaces = self.reader.interfaces();
        if interfaces.len() == self.interfaces {
            return None;
        }
        self.interfaces = interfaces.len();
        Some(interfaces.iter().map(|interface| interface.name.clone().unwrap_or_default()).collect())
    }

    /// Whether times count from the first event, as in a capture of a host, whose clock shows the date.
    fn counts_from_first(&self) -> bool {
        self.reader.format() != Format::Ns2 && self.reader.zero() > 0
    }

    /// What there is to say about the file; `first` is the time of its first event.
    fn about(&self, first: &Event) -> Json {
        let begins = self.counts_from_first().then(|| self.reader.zero() as f64 + first.time.seconds());
        let faults: Vec<_> = self.faults.iter().map(Fault::to_string).collect();
        json!({
            "format": match self.reader.format() { Format::Ns2 => "ns-2", Format::Pcap => "pcap", Format::Pcapng => "pcapng" },
            "interfaces": self.reader.interfaces().len(),
            "records": self.reader.records(),
            "passed_over": self.reader.passed_over(),
            "bytes": self.reader.position(),
            "begins_unix_s": begins,
            "faults": faults,
            "more_faults": self.more_faults,
            "backwards": self.reader.backwards().map(|found| {
                json!({ "first_record": found.first, "records": found.count, "by_s": found.by.seconds() })
            }),
            "reliable": self.reader.backwards().is_none(),
            "ends_early": self.faults.iter().any(|fault| fault.ends),
        })
    }

    /// Why there is nothing to tell.
    fn nothing(&self) -> String {
        match self.faults.first() {
            Some(fault) => fault.to_string(),
            None => "there is no IP packet in it".to_owned(),
        }
    }
}

fn tell(input: &mut Input, options: Options) -> Result<(Told, Json), String> {
    let Some(first) = input.next() else { return Err(input.nothing()) };
    let mut analysis = Analysis::new(options, input.counts_from_first());
    let mut event = Some(first);
    while let Some(next) = event {
        if let Some(names) = input.new_interfaces() {
            analysis.interfaces(names);
        }
        analysis.take(&next);
        event = input.next();
    }
    let told = analysis.finish();
    let mut about = input.about(&first);
    let counts = told.counts;
    about["events"] = counts.events.into();
    about["from_s"] = told.from_s.into();
    about["to_s"] = told.to_s.into();
    about["last_s"] = told.last_s.into();
    about["others"] = counts.others.into();
    about["fragments"] = counts.fragments.into();
    about["cut"] = counts.cut.into();
    about["unlisted_flows"] = counts.unlisted_flows.into();
    about["unranked"] = counts.unranked.into();
    about["unacknowledged"] = counts.unacknowledged.into();
    about["evicted"] = counts.evicted.into();
    about["left_out"] = counts.left_out.into();
    about["unfollowed"] = counts.unfollowed.into();
    Ok((told, about))
}

fn judge(input: &mut Input) -> Result<Json, String> {
    let Some(first) = input.next() else { return Err(input.nothing()) };
    let origin = if input.counts_from_first() { first.time } else { Time::ZERO };
    let mut check = Check::default();
    let mut event = Some(first);
    while let Some(next) = event {
        if let Some(names) = input.new_interfaces() {
            check.interfaces(names.len());
        }
        check.take(&next, input.reader.packets(), Time::ZERO + next.time.since(origin));
        event = input.next();
    }
    let verdict = check.finish();
    let mut about = input.about(&first);
    about["events"] = verdict.events.into();
    about["connections"] = verdict.connections.into();
    let tallied = Rule::ALL.iter().zip(verdict.tallies).filter(|(_, tally)| *tally != Tally::default());
    let rules: Vec<_> = tallied.map(|(rule, tally)| rule_told(*rule, tally)).collect();
    let known: Vec<_> = verdict.known.iter().map(|(&(rule, known), &count)| known_told(rule, known, count)).collect();
    let findings: Vec<_> = verdict.findings.iter().map(finding_told).collect();
    Ok(json!({ "about": about, "rules": rules, "known": known, "findings": findings }))
}

fn rule_told(rule: Rule, tally: Tally) -> Json {
    let about = rule.about();
    json!({
        "name": about.name,
        "section": about.section,
        "asks": about.asks,
        "departs": about.departs,
        "violations": tally.violations,
        "departures": tally.departures,
    })
}

fn known_told(rule: Rule, known: Known, count: u64) -> Json {
    json!({ "rule": rule.about().name, "section": rule.about().section, "whose": known.whose(), "count": count })
}

fn finding_told(finding: &Finding) -> Json {
    json!({
        "record": finding.record,
        "time_s": finding.time.seconds(),
        "source": finding.source.to_string(),
        "destination": finding.destination.to_string(),
        "rule": finding.rule.about().name,
        "section": finding.rule.about().section,
        "is_departure": finding.known.is_some(),
        "whose": finding.known.map_or("", Known::whose),
        "found": finding.found,
    })
}

/// A file that tells how much of it was read.
struct Counted {
    file: Box<dyn Read + Send>,
    taken: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.taken.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
