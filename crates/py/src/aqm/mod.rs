//! User-defined AQMs: a class declared in Python becomes an entry of the registry, and its instances implement the trait
//! [`Aqm`](ecnlab_queue::Aqm).
//!
//! An AQM in plain Python is called through the interpreter ([`interpreted`]), to which each call attaches the thread. One compiled by
//! numba is called at an address ([`compiled`]), without the interpreter. Both return the same integers ([`verdict`]) and handle errors in
//! the same way ([`failure`]): the exception is stored, the AQM passes all packets from then on, and the run ends when it reads the
//! failure.

mod check;
mod compiled;
mod entry;
pub mod failure;
mod interpreted;
mod verdict;
mod view;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

pub use self::entry::{UserAqm, registry_with};

/// Sources of the interface to users' AQMs. The engine's digest does not cover them, so they are part of the AQM's digest.
const RUST_SOURCE_FILES: [&[u8]; 8] = [
    include_bytes!("check.rs"),
    include_bytes!("compiled.rs"),
    include_bytes!("entry.rs"),
    include_bytes!("failure.rs"),
    include_bytes!("interpreted.rs"),
    include_bytes!("mod.rs"),
    include_bytes!("verdict.rs"),
    include_bytes!("view.rs"),
];

/// Adds the classes and functions for users' AQMs to the module `_core`.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("AQM_SOURCES", PyBytes::new(module.py(), &RUST_SOURCE_FILES.concat()))?;
    module.add_class::<UserAqm>()?;
    module.add_class::<interpreted::Draws>()?;
    module.add_class::<view::Arrival>()?;
    module.add_class::<view::Backlog>()?;
    module.add_class::<view::Departure>()?;
    module.add_class::<view::TimerContext>()?;
    module.add_class::<view::Idling>()?;
    module.add_class::<view::Packet>()?;
    module.add_function(wrap_pyfunction!(check::check_aqm, module)?)?;
    module.add_function(wrap_pyfunction!(check::cost_of_aqm, module)?)?;
    module.add_function(wrap_pyfunction!(compiled::addresses, module)?)?;
    module.add_function(wrap_pyfunction!(compiled::exp, module)?)?;
    module.add_function(wrap_pyfunction!(compiled::ln, module)?)?;
    module.add_function(wrap_pyfunction!(compiled::powi, module)?)
}
