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

use ::parquet::errors::ParquetError;
use ecnlab_scenario::registry;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::aqm::{UserAqm, registry_with};
use crate::parquet::RunTables;
use crate::table::Table;

/// A file, and the extents of its row groups.
type ParquetFile = (Cow<'static, [u8]>, Vec<parquet::RowGroupExtent>);

#[pyfunction]
#[pyo3(name = "registry", signature = (aqms = Vec::new()))]
fn registry_text(aqms: Vec<Py<UserAqm>>) -> PyResult<String> {
    Ok(registry::registry(&registry_with(&aqms)?).to_string())
}

/// What to write for a queue or congestion control of another tool.
#[pyfunction]
fn fix_for_other_tools_name(name: &str) -> Option<String> {
    ecnlab_scenario::fix_for_other_tools_name(name)
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

/// Tables of one scenario: its key, and each run's seed and table.
type PyRunTables = (String, Vec<(u64, Py<Table>)>);

fn run_tables<'t>(key: &str, runs: &'t [(u64, Py<Table>)]) -> Result<RunTables<'t>, ParquetError> {
    RunTables::new(key, &runs.iter().map(|(seed, table)| (*seed, &table.get().0)).collect::<Vec<_>>())
}

/// Concatenates the tables of several runs of one scenario, with the columns `key` and `seed` in front.
#[pyfunction]
#[pyo3(name = "join")]
fn join_run_tables(py: Python<'_>, key: &str, tables: Vec<(u64, Py<Table>)>) -> PyResult<Table> {
    let joined = py.detach(|| run_tables(key, &tables).map(|runs| table::concatenate_run_tables(&runs)));
    joined.map(Table).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Writes the tables of each scenario's runs, with the columns `key` and `seed` in front, as one Parquet file with a row group for each
/// scenario and `metadata` in its footer; returns it with offset and size of each row group.
#[pyfunction]
fn write_parquet(py: Python<'_>, scenarios: Vec<PyRunTables>, metadata: Vec<(String, String)>) -> PyResult<ParquetFile> {
    let write = || {
        let tables: Vec<_> = scenarios.iter().map(|(key, runs)| run_tables(key, runs)).collect::<Result<_, _>>()?;
        parquet::write_tables(&tables, metadata)
    };
    let (data, extents) = py.detach(write).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((Cow::Owned(data), extents))
}

/// The module itself: what Python sees of this crate.
#[pymodule]
mod _core {
    use pyo3::prelude::*;
    use pyo3::types::PyBytes;

    #[pymodule_export]
    use super::{columns_text, fix_for_other_tools_name, join_run_tables, registry_text, schema, units_text, write_parquet};
    #[pymodule_export]
    use crate::aqm::UserAqm;
    #[pymodule_export]
    use crate::aqm::check::{check_aqm, cost_of_aqm};
    #[pymodule_export]
    use crate::aqm::compiled::{addresses, exp, ln, powi};
    #[pymodule_export]
    use crate::aqm::failure::AqmFailure;
    #[pymodule_export]
    use crate::aqm::interpreted::Draws;
    #[pymodule_export]
    use crate::aqm::view::{Arrival, Backlog, Departure, Idling, Packet, TimerContext};
    #[pymodule_export]
    use crate::backends::{SystemRefusal, refusals};
    #[pymodule_export]
    use crate::conformance::check_discipline;
    #[cfg(all(target_os = "linux", feature = "emulator"))]
    #[pymodule_export]
    use crate::emulator::live::{run_live, set_realtime_scheduling, unshare_as_root, unshare_network_namespace};
    #[cfg(all(target_os = "linux", feature = "emulator"))]
    #[pymodule_export]
    use crate::emulator::shell::{
        Shell, die_with_parent, enter_network, gain_capabilities, has_capabilities, join_namespaces, remount_sysfs, setup_private_mounts,
        unshare_pid_namespace,
    };
    #[pymodule_export]
    use crate::errors::{EngineFault, Interrupted, ScenarioError, TraceError};
    #[pymodule_export]
    use crate::replay::replay_queues;
    #[pymodule_export]
    use crate::scenario::{RunResult, Scenario};
    #[pymodule_export]
    use crate::table::{Footer, Table};
    #[pymodule_export]
    use crate::trace::{TraceRead, check_trace, read_trace, trace_columns, trace_rules};
    #[pymodule_export]
    use crate::tracing::copy_capture_compressed;
    #[pymodule_export]
    use crate::validation::{run_packetdrill_script, validate_kernel_case, validate_ns2_case};

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    const BUILD: &str = ecnlab_scenario::SOURCES_DIGEST;
    #[pymodule_export]
    const DERIVATION: u32 = ecnlab_scenario::RUN_DERIVATION_VERSION;
    #[pymodule_export]
    const EMULATOR: Option<&str> = crate::emulator::EMULATOR_SOURCES_DIGEST;
    #[pymodule_export]
    const GUEST: Option<&str> = crate::emulator::GUEST_SOURCES_DIGEST;
    /// Version of the layout of the results folder, and of its tables with their encodings: it rises with anything that an earlier reader
    /// refuses.
    #[pymodule_export]
    const FORMAT: u32 = 7;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::panic::install_hook();
        module.add("AQM_SOURCES", PyBytes::new(module.py(), &crate::aqm::RUST_SOURCE_FILES.concat()))
    }
}
