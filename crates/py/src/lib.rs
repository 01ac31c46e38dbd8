//! The Python module `ecnlab._core`: converts types, releases the interpreter's lock, and maps errors. It contains no other logic.

#![deny(unsafe_code)]

mod aqm;
mod backends;
mod conformance;
#[cfg_attr(not(all(target_os = "linux", feature = "emulator")), path = "no_emulator.rs")]
mod emulator;
mod errors;
mod file_io;
mod panic;
mod parquet;
mod progress;
mod replay;
mod scenario;
mod table;
mod trace;
mod tracing;
mod validation;

use std::borrow::Cow;

use ecnlab_scenario::registry;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::aqm::failure::AqmFailure;
use crate::aqm::{UserAqm, registry_with};
use crate::errors::{EngineFault, Interrupted, ScenarioError, TraceError};
use crate::scenario::{RunResult, Scenario};
use crate::table::{Footer, Table};

/// Version of the layout of the results folder and of its tables.
const FORMAT_VERSION: u32 = 6;

/// A file, and the extents of its row groups.
type ParquetFile = (Cow<'static, [u8]>, Vec<parquet::RowGroupExtent>);

#[pyfunction]
#[pyo3(name = "registry", signature = (aqms = Vec::new()))]
fn registry_text(aqms: Vec<Py<UserAqm>>) -> PyResult<String> {
    Ok(registry::registry(&registry_with(&aqms)?).to_string())
}

#[pyfunction]
#[pyo3(signature = (aqms = Vec::new()))]
fn schema(aqms: Vec<Py<UserAqm>>) -> PyResult<String> {
    Ok(registry::schema(&registry_with(&aqms)?).to_string())
}

#[pyfunction]
#[pyo3(name = "columns")]
fn columns_text() -> String {
    registry::columns().to_string()
}

#[pyfunction]
#[pyo3(name = "units")]
fn units_text() -> String {
    registry::units().to_string()
}

/// Concatenates the tables of several runs of one scenario, with the columns `key` and `seed` in front.
#[pyfunction]
#[pyo3(name = "join")]
fn join_run_tables(py: Python<'_>, key: &str, tables: Vec<(u64, Py<Table>)>) -> PyResult<Table> {
    let tables: Vec<_> = tables.iter().map(|(seed, table)| (*seed, &table.get().0)).collect();
    let joined = py.detach(|| table::concatenate_run_tables(key, &tables));
    joined.map(Table).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Writes tables as one Parquet file with a row group each and `metadata` in its footer; returns it with offset and size of each row group.
#[pyfunction]
fn write_parquet(py: Python<'_>, tables: Vec<Py<Table>>, metadata: Vec<(String, String)>) -> PyResult<ParquetFile> {
    let tables: Vec<_> = tables.iter().map(|table| &table.get().0).collect();
    let (data, extents) =
        py.detach(|| parquet::write_tables(&tables, metadata)).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((Cow::Owned(data), extents))
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    panic::install_hook();
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add("BUILD", ecnlab_scenario::SOURCES_DIGEST)?;
    module.add("DERIVATION", ecnlab_scenario::RUN_DERIVATION_VERSION)?;
    module.add("EMULATOR", emulator::EMULATOR_SOURCES_DIGEST)?;
    module.add("GUEST", emulator::GUEST_SOURCES_DIGEST)?;
    module.add("FORMAT", FORMAT_VERSION)?;
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add("Interrupted", module.py().get_type::<Interrupted>())?;
    module.add("EngineFault", module.py().get_type::<EngineFault>())?;
    module.add("AqmFailure", module.py().get_type::<AqmFailure>())?;
    module.add("SystemRefusal", module.py().get_type::<backends::SystemRefusal>())?;
    module.add("TraceError", module.py().get_type::<TraceError>())?;
    aqm::add_to(module)?;
    trace::add_to(module)?;
    emulator::add_to(module)?;
    module.add_class::<Scenario>()?;
    module.add_class::<RunResult>()?;
    module.add_class::<Table>()?;
    module.add_class::<Footer>()?;
    module.add_function(wrap_pyfunction!(registry_text, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(columns_text, module)?)?;
    module.add_function(wrap_pyfunction!(units_text, module)?)?;
    module.add_function(wrap_pyfunction!(validation::validate_ns2_case, module)?)?;
    module.add_function(wrap_pyfunction!(validation::validate_kernel_case, module)?)?;
    module.add_function(wrap_pyfunction!(validation::run_packetdrill_script, module)?)?;
    module.add_function(wrap_pyfunction!(tracing::copy_capture_compressed, module)?)?;
    module.add_function(wrap_pyfunction!(backends::refusals, module)?)?;
    module.add_function(wrap_pyfunction!(conformance::check_discipline, module)?)?;
    module.add_function(wrap_pyfunction!(replay::replay_queues, module)?)?;
    module.add_function(wrap_pyfunction!(join_run_tables, module)?)?;
    module.add_function(wrap_pyfunction!(write_parquet, module)?)
}
