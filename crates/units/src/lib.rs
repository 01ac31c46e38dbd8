//! The words that every other room speaks: time, rate, ECN codepoints, randomness, distributions, parameters, tables of results.
//!
//! This crate looks at nothing else of the project and does no input or output.

pub mod distribution;
pub mod ecn;
pub mod fairness;
pub mod histogram;
pub mod math;
pub mod parameter;
pub mod quantity;
pub mod rng;
pub mod table;
pub mod time;

pub use distribution::{Counts, Distribution, Sizes, Times};
pub use ecn::{Dialect, Ecn, Level};
pub use parameter::{Kind, Parameter, Value, Values};
pub use rng::Rng;
pub use time::{Rate, Span, Time};

/// Index of a flow in its network, in the order of the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowId(pub u32);
