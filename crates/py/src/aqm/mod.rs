//! User-defined AQMs: a class declared in Python becomes an entry of the registry, and its instances implement the trait
//! [`Aqm`](ecnlab_queue::Aqm).
//!
//! An AQM in plain Python is called through the interpreter ([`interpreted`]), to which each call attaches the thread. One compiled by
//! numba is called at an address ([`compiled`]), without the interpreter. Both return the same integers ([`verdict`]) and handle errors in
//! the same way ([`failure`]): the exception is stored, the AQM passes all packets from then on, and the run ends when it reads the
//! failure.

pub mod check;
pub mod compiled;
mod entry;
pub mod failure;
pub mod interpreted;
mod verdict;
pub mod view;

pub use self::entry::{UserAqm, registry_with};

/// Sources of the interface to users' AQMs. The engine's digest does not cover them, so they are part of the AQM's digest.
pub const RUST_SOURCE_FILES: [&[u8]; 8] = [
    include_bytes!("check.rs"),
    include_bytes!("compiled.rs"),
    include_bytes!("entry.rs"),
    include_bytes!("failure.rs"),
    include_bytes!("interpreted.rs"),
    include_bytes!("mod.rs"),
    include_bytes!("verdict.rs"),
    include_bytes!("view.rs"),
];
