//! A class of the user's as an entry of the registry.
//!
//! Entries live as long as the process, as ours do: a class is declared once, however many scenarios name it, and is small.

use ecnlab_queue::{Aqm, AqmEntry, Contradictions, Gauge, Limit, LinkParams, Registry};
use ecnlab_units::quantity::Amount;
use ecnlab_units::{CongestionLevel, Kind, Parameter, Span, Value, Values};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use super::compiled::{Compiled, Program};
use super::failure::{self, Failure};
use super::interpreted::{Draws, Interpreted};
use super::view::MOST_GROUPS;

/// A user's AQM, declared: what scenarios are read against.
#[pyclass(frozen, module = "ecnlab._core")]
pub struct BroughtAqm(&'static AqmEntry);

/// What an instance needs to know of its class.
pub struct Brought {
    pub name: &'static str,
    pub hooks: &'static [&'static str],
    pub groups: usize,
    pub gauges: &'static [Gauge],
    pub keeps_average: bool,
    /// The type that answers have.
    pub verdict: Py<PyType>,
    pub parameters: &'static [Parameter],
    /// Makes an instance: `begin(values, rate_bps, limit_packets, limit_bytes)`.
    begin: Py<PyAny>,
    /// Tells what contradicts itself: `check(values)`, pairs of a parameter and what is wrong.
    check: Py<PyAny>,
}

/// A parameter as Python declares it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Declared {
    name: String,
    kind: String,
    min: f64,
    max: f64,
    unit: String,
    default: String,
    word: Option<String>,
    choices: Vec<String>,
    doc: String,
    source: String,
}

/// What identifies a class, and what stands in its declaration.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct About {
    name: String,
    title: String,
    summary: String,
    source: String,
    digest: String,
    marks: Option<String>,
    parameters: Vec<Declared>,
    /// Name, unit and sentence of each.
    gauges: Vec<(String, String, String)>,
    test_params: Vec<(String, String)>,
    hooks: Vec<String>,
    groups: usize,
}

#[pymethods]
impl BroughtAqm {
    /// Raises ValueError if a parameter's default or test value does not fit it.
    #[new]
    fn new(about: &Bound<'_, PyDict>, verdict: Py<PyType>, begin: Py<PyAny>, check: Py<PyAny>) -> PyResult<BroughtAqm> {
        declared(about.extract()?, verdict, begin, check).map(BroughtAqm).map_err(PyValueError::new_err)
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name
    }

    #[getter]
    fn digest(&self) -> &str {
        self.0.source_digest
    }
}

/// The entry of an AQM: ours by name, or the user's.
#[derive(FromPyObject)]
pub enum Subject<'py> {
    Named(String),
    Brought(Bound<'py, BroughtAqm>),
}

impl Subject<'_> {
    /// # Errors
    /// If there is none of that name.
    pub fn entry(&self) -> Result<&'static AqmEntry, String> {
        match self {
            Subject::Named(name) => Registry::builtin().aqm(name).ok_or_else(|| format!("unknown AQM \"{name}\"")),
            Subject::Brought(aqm) => Ok(aqm.get().0),
        }
    }
}

/// Our registry with the user's AQMs. Raises ValueError if a name is taken.
pub fn registry_with(aqms: &[Py<BroughtAqm>]) -> PyResult<Registry> {
    aqms.iter().try_fold(Registry::builtin(), |registry, aqm| registry.with_aqm(aqm.get().0)).map_err(PyValueError::new_err)
}

impl Brought {
    /// Whether the class has this hook.
    pub fn has(&self, hook: &str) -> bool {
        self.hooks.contains(&hook)
    }

    /// An instance; one that failed to begin lets every packet pass, and so does one that is made where a failure waits to be looked at.
    fn make(&'static self, values: &Values, line: &LinkParams) -> Box<dyn Aqm> {
        if failure::is_kept() {
            return Box::new(Failed);
        }
        Python::attach(|py| self.begin(py, values, line)).unwrap_or_else(|error| {
            failure::keep(Failure { aqm: self.name, hook: "on_start", now: None, packet: String::new(), error });
            Box::new(Failed)
        })
    }

    /// What the class's `check` finds, each at its parameter; what it raises stands at the first.
    fn contradictions(&'static self, values: &Values) -> Contradictions {
        let first = self.parameters[0].name;
        let found = Python::attach(|py| self.check.bind(py).call1((values_of(py, values)?,))?.extract::<Vec<(String, String)>>());
        let named = |name: &str| self.parameters.iter().find(|parameter| parameter.name == name).map_or(first, |parameter| parameter.name);
        match found {
            Ok(found) => found.into_iter().map(|(name, why)| (named(&name), why)).collect(),
            Err(error) => vec![(first, format!("the check of {} raised {error}", self.name))],
        }
    }

    fn begin(&'static self, py: Python<'_>, values: &Values, line: &LinkParams) -> PyResult<Box<dyn Aqm>> {
        let (packets, bytes) = match line.limit {
            Limit::Packets(packets) => (Some(packets), None),
            Limit::Bytes(bytes) => (None, Some(bytes)),
        };
        let begun = self.begin.bind(py).call1((values_of(py, values)?, line.rate.bps(), packets, bytes))?;
        let (instance, draws, due, program): (Bound<'_, PyAny>, Py<Draws>, Option<f64>, Option<Program>) = begun.extract()?;
        Ok(match program {
            None => Box::new(Interpreted::new(self, instance, draws, due)?),
            // SAFETY: `begin` is that of `ecnlab.aqm.plugins`, which passes on what `ecnlab.aqm.compiled` has compiled: each hook for this signature,
            // this record and what it sees. `keep` holds the compiled code.
            #[allow(unsafe_code)]
            Some(program) => Box::new(unsafe { Compiled::new(self, program, due)? }),
        })
    }
}

/// What stands in for an AQM that could not begin, until the run looks.
struct Failed;

impl Aqm for Failed {
    fn on_enqueue(&mut self, _arrival: &ecnlab_queue::aqm::Arrival, _rng: &mut ecnlab_units::Rng) -> ecnlab_queue::aqm::EnqueueVerdict {
        ecnlab_queue::aqm::EnqueueVerdict::Pass
    }
}

fn declared(about: About, verdict: Py<PyType>, begin: Py<PyAny>, check: Py<PyAny>) -> Result<&'static AqmEntry, String> {
    if about.groups > MOST_GROUPS {
        return Err(format!("groups = {} must be at most {MOST_GROUPS}", about.groups));
    }
    let parameters = about.parameters.into_iter().map(parameter).collect::<Result<Vec<_>, _>>()?;
    let parameters: &'static [Parameter] = parameters.leak();
    let gauges: Vec<_> = about
        .gauges
        .into_iter()
        .map(|(name, unit, doc)| Gauge { name: kept(name), unit: kept(unit), doc: kept(doc), symbol: "" })
        .collect();
    let gauges: &'static [Gauge] = gauges.leak();
    let test_params: Vec<_> = about.test_params.into_iter().map(|(name, text)| (kept(name), kept(text))).collect();
    check_test_params(parameters, &test_params)?;
    let hooks: Vec<_> = about.hooks.into_iter().map(kept).collect();
    let brought: &'static Brought = Box::leak(Box::new(Brought {
        name: kept(about.name),
        hooks: hooks.leak(),
        groups: about.groups,
        gauges,
        keeps_average: gauges.iter().any(|gauge| gauge.name == "average"),
        verdict,
        parameters,
        begin,
        check,
    }));
    Ok(Box::leak(Box::new(AqmEntry {
        name: brought.name,
        title: kept(about.title),
        summary: kept(about.summary),
        source: kept(about.source),
        parameters,
        gauges,
        check_user_aqm: if parameters.is_empty() {
            None
        } else {
            Some(Box::leak(Box::new(|values: &Values| brought.contradictions(values))))
        },
        lowest_mark: marks(about.marks.as_deref())?,
        test_params: test_params.leak(),
        source_digest: kept(about.digest),
        make: Box::leak(Box::new(move |values: &Values, line: &LinkParams| brought.make(values, line))),
        ..AqmEntry::DEFAULTS
    })))
}

fn kept(text: String) -> &'static str {
    text.leak()
}

fn parameter(declared: Declared) -> Result<Parameter, String> {
    let Declared { name, kind, min, max, unit, default, word, choices, doc, source } = declared;
    let seconds = |bound: f64| Span::from_secs_f64(bound).ok_or_else(|| format!("{name}: the bound {bound} s is not a time"));
    let kind = match kind.as_str() {
        "number" => Kind::Number { min, max, unit: kept(unit) },
        "count" => Kind::Count { min: min as u64, max: max as u64, unit: kept(unit) },
        "time" => Kind::Span { min: seconds(min)?, max: seconds(max)? },
        "rate" => Kind::Rate,
        "flag" => Kind::Flag,
        "choice" => Kind::Choice(choices.into_iter().map(kept).collect::<Vec<_>>().leak()),
        _ => Kind::Text,
    };
    let (word, default) = (word.map(kept), kept(default));
    let made =
        Parameter { name: kept(name), kind, special_word: word, default, doc: kept(doc), source: kept(source), ..Parameter::DEFAULTS };
    made.parse(default).map_err(|why| format!("{}: its default is invalid: {why}", made.name))?;
    Ok(made)
}

fn check_test_params(parameters: &'static [Parameter], test_params: &[(&'static str, &'static str)]) -> Result<(), String> {
    for (name, text) in test_params {
        let parameter = parameters.iter().find(|parameter| parameter.name == *name);
        let parameter = parameter.ok_or_else(|| format!("test_params: unknown parameter {name}"))?;
        parameter.parse(text).map_err(|why| format!("test_params: {name}: {why}"))?;
    }
    Ok(())
}

/// The quietest level that a class writes; a flag `ecn` that is off says that it marks nothing.
fn marks(level: Option<&str>) -> Result<fn(&Values) -> Option<CongestionLevel>, String> {
    match level {
        None => Ok(|_| None),
        Some("congested") => Ok(|values| on(values).then_some(CongestionLevel::Congested)),
        Some("incipient") => Ok(|values| on(values).then_some(CongestionLevel::Incipient)),
        Some(other) => Err(format!("marks = {other:?} must be \"congested\", \"incipient\" or None")),
    }
}

fn on(values: &Values) -> bool {
    let switch = values.parameters().iter().find(|parameter| parameter.name == "ecn" && parameter.kind == Kind::Flag);
    switch.is_none_or(|switch| values.get(switch.name))
}

fn values_of<'py>(py: Python<'py>, values: &Values) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for parameter in values.parameters() {
        dict.set_item(parameter.name, value_of(py, values.value(parameter.name))?)?;
    }
    Ok(dict)
}

/// A value as Python has it: times in seconds, rates in bit/s, the word that stands for no value as None.
fn value_of(py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
    Ok(match value {
        Value::Special(_) => py.None(),
        Value::Number(x) | Value::Amount(Amount::Packets(x) | Amount::Bytes(x)) => x.into_pyobject(py)?.into_any().unbind(),
        Value::Count(n) => n.into_pyobject(py)?.into_any().unbind(),
        Value::Span(span) => span.seconds().into_pyobject(py)?.into_any().unbind(),
        Value::Rate(rate) => rate.bps().into_pyobject(py)?.into_any().unbind(),
        Value::Flag(flag) => flag.into_pyobject(py)?.to_owned().into_any().unbind(),
        Value::Choice(word) => word.into_pyobject(py)?.into_any().unbind(),
        Value::Text(text) => text.into_pyobject(py)?.into_any().unbind(),
        Value::Distribution(drawn) => drawn.to_string().into_pyobject(py)?.into_any().unbind(),
        Value::List(values) => values.iter().map(|one| value_of(py, one)).collect::<PyResult<Vec<_>>>()?.into_pyobject(py)?.unbind(),
    })
}
