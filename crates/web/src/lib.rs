//! The engine as a WebAssembly module, for pages.
//!
//! A page opens scenarios, runs them in slices of events, reads the rows that a slice has added, and reads all tables at the end
//! ([`lab`]). Texts are UTF-8 in the module's memory, small answers are JSON, and columns stay where they are: an answer names their
//! places ([`columns`]). The functions are those of [`exports`]; `web/engine.js` wraps them.
//!
//! A panic is a trap, since the module is built without unwinding. A hook keeps the panic's text, which the page reads after the trap; the
//! instance is of no further use.
//!
//! An AQM in the page's own JavaScript is an entry of the registry ([`user_aqm`]), whose hooks are calls of one imported function
//! ([`host`]).
//!
//! The crate is empty for other targets: its parts are tested by `tests/browser`, through the module.

#![cfg(target_arch = "wasm32")]
#![deny(unsafe_code)]

mod columns;
mod exports;
mod host;
mod lab;
mod user_aqm;
mod verdict;
