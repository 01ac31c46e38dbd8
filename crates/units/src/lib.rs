//! The words that every other room speaks: time, rate, ECN codepoints, randomness, distributions, parameters, tables of results.
//!
//! This crate looks at nothing else of the project and does no input or output.

pub mod column_groups;
pub mod distribution;
pub mod ecn;
pub mod fairness;
pub mod histogram;
pub mod math;
pub mod parameter;
pub mod quantity;
pub mod range_set;
pub mod rng;
pub mod table;
pub mod time;

pub use distribution::{CountDistribution, Distribution, SizeDistribution, TimeDistribution};
pub use ecn::{CongestionLevel, Ecn, EcnSemantics};
pub use parameter::{Kind, Parameter, Value, Values};
pub use range_set::RangeSet;
pub use rng::Rng;
pub use time::{Rate, Span, Time};
