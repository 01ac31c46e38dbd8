//! The targets, by what they read.

pub mod engine;
pub mod guest;
pub mod kernel;
pub mod router;
pub mod scenario;
pub mod store;
pub mod trace;
pub mod wire;
