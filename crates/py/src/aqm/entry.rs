//! A user's AQM class as an entry of the registry.
//!
//! Entries live as long as the process, as built-in ones do: a class is declared once, however many scenarios name it, and is small.

use ecnlab_queue::user_aqm;
use ecnlab_queue::{Aqm, AqmEntry, Contradictions, Gauge, Limit, LinkParams, Registry};
use ecnlab_units::quantity::PacketsOrBytes;
use ecnlab_units::{Parameter, Value, Values};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use super::compiled::{CompiledAqm, CompiledProgram};
use super::failure::{self, Failure};
use super::interpreted::{Draws, InterpretedAqm, extract_deadline};
use super::view::MAX_AQM_GROUPS;

/// Declaration of a user's AQM, for reading scenarios.
#[pyclass(frozen, name = "BroughtAqm", module = "ecnlab._core")]
pub struct UserAqm(&'static AqmEntry);

/// Declaration of a user's AQM class, for its instances.
pub struct UserAqmClass {
    pub name: &'static str,
    pub hooks: &'static [&'static str],
    pub groups: usize,
    pub gauges: &'static [Gauge],
    pub keeps_average: bool,
    /// Python type of verdicts.
    pub verdict: Py<PyType>,
    pub parameters: &'static [Parameter],
    /// Creates an instance: `begin(values, rate_bps, limit_packets, limit_bytes)`.
    begin: Py<PyAny>,
    /// Returns contradictions: `check(values)` gives pairs of parameter and explanation.
    check: Py<PyAny>,
}

/// Declaration of a parameter from Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ParameterDeclaration {
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

/// Identity and declaration of a class from Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ClassDeclaration {
    name: String,
    title: String,
    summary: String,
    source: String,
    digest: String,
    marks: Option<String>,
    parameters: Vec<ParameterDeclaration>,
    /// Name, unit and description of each gauge.
    gauges: Vec<(String, String, String)>,
    test_params: Vec<(String, String)>,
    hooks: Vec<String>,
    groups: usize,
}

#[pymethods]
impl UserAqm {
    /// Raises ValueError if a parameter's default or test value does not fit it.
    #[new]
    fn new(about: &Bound<'_, PyDict>, verdict: Py<PyType>, begin: Py<PyAny>, check: Py<PyAny>) -> PyResult<UserAqm> {
        aqm_entry(about.extract()?, verdict, begin, check).map(UserAqm).map_err(PyValueError::new_err)
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

/// Entry of an AQM: built-in by name, or a user's.
#[derive(FromPyObject)]
pub enum AqmOrName<'py> {
    Named(String),
    UserAqmClass(Bound<'py, UserAqm>),
}

impl AqmOrName<'_> {
    /// Entry of the AQM.
    ///
    /// # Errors
    /// If there is no AQM of that name.
    pub fn entry(&self) -> Result<&'static AqmEntry, String> {
        match self {
            AqmOrName::Named(name) => Registry::builtin().aqm(name).ok_or_else(|| format!("unknown AQM \"{name}\"")),
            AqmOrName::UserAqmClass(aqm) => Ok(aqm.get().0),
        }
    }
}

/// Built-in registry with the user's AQMs. Raises ValueError if a name exists already.
pub fn registry_with(aqms: &[Py<UserAqm>]) -> PyResult<Registry> {
    aqms.iter().try_fold(Registry::builtin(), |registry, aqm| registry.with_aqm(aqm.get().0)).map_err(PyValueError::new_err)
}

impl UserAqmClass {
    /// Whether the class defines this hook.
    pub fn has(&self, hook: &str) -> bool {
        self.hooks.contains(&hook)
    }

    /// Creates an instance. If that fails, or if an unread failure exists, the instance passes every packet.
    fn instantiate(&'static self, values: &Values, link: &LinkParams) -> Box<dyn Aqm> {
        if failure::has_failure() {
            return Box::new(PassAllAqm);
        }
        Python::attach(|py| self.begin(py, values, link)).unwrap_or_else(|error| {
            failure::store_failure(Failure { aqm: self.name, hook: "on_start", now: None, packet: String::new(), error });
            Box::new(PassAllAqm)
        })
    }

    /// Contradictions that the class's `check` reports, each at its parameter; an exception in `check` is reported at the first parameter.
    fn find_contradictions_in_parameter_values(&'static self, values: &Values) -> Contradictions {
        let found = Python::attach(|py| self.check.bind(py).call1((values_to_py_dict(py, values)?,))?.extract::<Vec<(String, String)>>());
        match found {
            Ok(found) => user_aqm::name_contradictions(self.parameters, found),
            Err(error) => vec![(self.parameters[0].name, format!("the check of {} raised {error}", self.name))],
        }
    }

    fn begin(&'static self, py: Python<'_>, values: &Values, link: &LinkParams) -> PyResult<Box<dyn Aqm>> {
        let (packets, bytes) = match link.limit {
            Limit::Packets(packets) => (Some(packets), None),
            Limit::Bytes(bytes) => (None, Some(bytes)),
        };
        let begun = self.begin.bind(py).call1((values_to_py_dict(py, values)?, link.rate.bps(), packets, bytes))?;
        let (instance, draws, due, program): (Bound<'_, PyAny>, Py<Draws>, Bound<'_, PyAny>, Option<CompiledProgram>) = begun.extract()?;
        let due = extract_deadline(&due)?;
        Ok(match program {
            None => Box::new(InterpretedAqm::new(self, instance, draws, due)?),
            // SAFETY: `begin` is that of `ecnlab.aqm.plugins`, which returns the code compiled by `ecnlab.aqm.compiled`: each hook for this
            // signature, this record and this argument struct. `keep` holds the compiled code.
            #[allow(unsafe_code)]
            Some(program) => Box::new(unsafe { CompiledAqm::new(self, program, due)? }),
        })
    }
}

/// Replaces an AQM whose creation failed, until the run reads the failure.
struct PassAllAqm;

impl Aqm for PassAllAqm {
    fn on_enqueue(&mut self, _arrival: &ecnlab_queue::aqm::Arrival, _rng: &mut ecnlab_units::Rng) -> ecnlab_queue::aqm::EnqueueVerdict {
        ecnlab_queue::aqm::EnqueueVerdict::Pass
    }
}

fn aqm_entry(declaration: ClassDeclaration, verdict: Py<PyType>, begin: Py<PyAny>, check: Py<PyAny>) -> Result<&'static AqmEntry, String> {
    if declaration.groups > MAX_AQM_GROUPS {
        return Err(format!("groups = {} must be at most {MAX_AQM_GROUPS}", declaration.groups));
    }
    let parameters = declaration.parameters.into_iter().map(parse_parameter).collect::<Result<Vec<_>, _>>()?;
    let parameters: &'static [Parameter] = parameters.leak();
    let gauges: Vec<_> =
        declaration.gauges.into_iter().map(|(name, unit, doc)| Gauge::new(leak_str(name), leak_str(unit), leak_str(doc))).collect();
    let gauges: &'static [Gauge] = gauges.leak();
    let test_params: Vec<_> = declaration.test_params.into_iter().map(|(name, text)| (leak_str(name), leak_str(text))).collect();
    check_test_params(parameters, &test_params)?;
    let hooks: Vec<_> = declaration.hooks.into_iter().map(leak_str).collect();
    let class: &'static UserAqmClass = Box::leak(Box::new(UserAqmClass {
        name: leak_str(declaration.name),
        hooks: hooks.leak(),
        groups: declaration.groups,
        gauges,
        keeps_average: gauges.iter().any(|gauge| gauge.name == "average"),
        verdict,
        parameters,
        begin,
        check,
    }));
    Ok(Box::leak(Box::new(AqmEntry {
        name: class.name,
        title: leak_str(declaration.title),
        summary: leak_str(declaration.summary),
        source: leak_str(declaration.source),
        parameters,
        gauges,
        check_user_aqm: if parameters.is_empty() {
            None
        } else {
            Some(Box::leak(Box::new(|values: &Values| class.find_contradictions_in_parameter_values(values))))
        },
        lowest_mark: user_aqm::lowest_mark_fn(declaration.marks.as_deref(), "None")?,
        test_params: test_params.leak(),
        source_digest: leak_str(declaration.digest),
        make: Box::leak(Box::new(move |values: &Values, link: &LinkParams| class.instantiate(values, link))),
        ..AqmEntry::DEFAULTS
    })))
}

fn leak_str(text: String) -> &'static str {
    text.leak()
}

fn parse_parameter(aqm_entry: ParameterDeclaration) -> Result<Parameter, String> {
    let ParameterDeclaration { name, kind, min, max, unit, default, word, choices, doc, source } = aqm_entry;
    let choices = choices.into_iter().map(leak_str).collect();
    let kind = user_aqm::parse_kind(&kind, &name, [Some(min), Some(max)], leak_str(unit), choices)?;
    user_aqm::check_default(Parameter {
        name: leak_str(name),
        kind,
        special_word: word.map(leak_str),
        default: leak_str(default),
        doc: leak_str(doc),
        source: leak_str(source),
        ..Parameter::DEFAULTS
    })
}

fn check_test_params(parameters: &'static [Parameter], test_params: &[(&'static str, &'static str)]) -> Result<(), String> {
    for (name, text) in test_params {
        let parameter = parameters.iter().find(|parameter| parameter.name == *name);
        let parameter = parameter.ok_or_else(|| format!("test_params: unknown parameter {name}"))?;
        parameter.parse(text).map_err(|why| format!("test_params: {name}: {why}"))?;
    }
    Ok(())
}

fn values_to_py_dict<'py>(py: Python<'py>, values: &Values) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in values.iter() {
        dict.set_item(name, value_to_py(py, value)?)?;
    }
    Ok(dict)
}

/// A value as Python object: times in seconds, rates in bit/s, None for the word without a value.
fn value_to_py(py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
    Ok(match value {
        Value::Special(_) => py.None(),
        Value::Number(x) | Value::Amount(PacketsOrBytes::Packets(x) | PacketsOrBytes::Bytes(x)) => x.into_py_any(py)?,
        Value::Count(n) => n.into_py_any(py)?,
        Value::Span(span) => span.seconds().into_py_any(py)?,
        Value::Rate(rate) => rate.bps().into_py_any(py)?,
        Value::Flag(flag) => flag.into_py_any(py)?,
        Value::Choice(word) => word.into_py_any(py)?,
        Value::Text(text) => text.into_py_any(py)?,
        Value::Distribution(drawn) => drawn.to_string().into_py_any(py)?,
        Value::List(values) => values.iter().map(|one| value_to_py(py, one)).collect::<PyResult<Vec<_>>>()?.into_py_any(py)?,
    })
}
