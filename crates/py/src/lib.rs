//! The Python module `ecnlab._core`: converts, releases the interpreter's lock, maps errors. Nothing is decided here.

mod conformance;
mod errors;
mod fault;
mod parquet;
mod scenario;
mod table;
mod watch;

use std::borrow::Cow;

use ecnlab_queue::conformance::Subject;
use ecnlab_scenario::{Registry, packet_exact, registry};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::errors::{EngineFault, Interrupted, ScenarioError};
use crate::scenario::{RunResult, Scenario};
use crate::table::Table;

/// Version of the results folder's layout and of its tables'.
const FORMAT: u32 = 3;

#[pyfunction]
#[pyo3(name = "registry")]
fn registry_text() -> String {
    registry::registry(&Registry::builtin()).to_string()
}

#[pyfunction]
fn schema() -> String {
    registry::schema(&Registry::builtin()).to_string()
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

/// Judges an AQM of the registry in a FIFO buffer; JSON with `name`, `checks` and `duties`.
#[pyfunction]
fn check_aqm(py: Python<'_>, name: &str) -> PyResult<String> {
    let entry = Registry::builtin().aqm(name).ok_or_else(|| PyValueError::new_err(format!("there is no AQM \"{name}\"")))?;
    py.detach(|| judged(&Subject::aqm(entry)))
}

/// Judges a discipline with the AQM that it has by default; JSON as of `check_aqm`.
#[pyfunction]
fn check_discipline(py: Python<'_>, name: &str) -> PyResult<String> {
    let entry = Registry::builtin().discipline(name).ok_or_else(|| PyValueError::new_err(format!("there is no discipline \"{name}\"")))?;
    py.detach(|| judged(&Subject::discipline(entry)))
}

/// A panic that the suite looks for is caught inside and told as a finding.
fn judged(subject: &Subject) -> PyResult<String> {
    fault::caught(|| conformance::judge(subject).to_string()).map_err(PyRuntimeError::new_err)
}

/// One table of several seeds as a Parquet file, with the column `seed` in front and `metadata` in its footer.
#[pyfunction]
fn write_parquet(py: Python<'_>, tables: Vec<(u64, Py<Table>)>, metadata: Vec<(String, String)>) -> PyResult<Cow<'static, [u8]>> {
    let tables: Vec<_> = tables.iter().map(|(seed, table)| (*seed, &table.get().0)).collect();
    let written = py.detach(|| parquet::write(&tables, metadata));
    written.map(Cow::Owned).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Reads what `write_parquet` wrote. Raises OSError if it is damaged.
#[pyfunction]
fn read_parquet(py: Python<'_>, data: Vec<u8>) -> PyResult<Table> {
    let read = py.detach(|| fault::caught(|| parquet::read(data).map_err(|error| error.to_string())));
    read.and_then(|table| table).map(Table).map_err(PyOSError::new_err)
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    fault::install();
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add("BUILD", ecnlab_scenario::BUILD)?;
    module.add("FORMAT", FORMAT)?;
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add("Interrupted", module.py().get_type::<Interrupted>())?;
    module.add("EngineFault", module.py().get_type::<EngineFault>())?;
    module.add_class::<Scenario>()?;
    module.add_class::<RunResult>()?;
    module.add_class::<Table>()?;
    module.add_function(wrap_pyfunction!(registry_text, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(columns_text, module)?)?;
    module.add_function(wrap_pyfunction!(packet_exact_case, module)?)?;
    module.add_function(wrap_pyfunction!(check_aqm, module)?)?;
    module.add_function(wrap_pyfunction!(check_discipline, module)?)?;
    module.add_function(wrap_pyfunction!(write_parquet, module)?)?;
    module.add_function(wrap_pyfunction!(read_parquet, module)?)
}
