//! Quantities of network simulation: time, rates, ECN codepoints, random numbers, distributions, parameters and tables of results.
//!
//! The crate depends on no other crate of the project and performs no input or output.
//!
//! ```
//! use ecnlab_units::{Ecn, Rate, Rng, Span, Time};
//!
//! let rate = Rate::from_bps(10_000_000).unwrap();
//! let sent = Time::ZERO + rate.transmission_time(1250);
//! assert_eq!(Time::ZERO + Span::from_millis(1), sent);
//!
//! assert_eq!(Ecn::Ect1, Ecn::from_bits(0b01));
//!
//! // The same seed and role give the same numbers on every machine.
//! assert_eq!(Rng::for_role(1, "queue").next_u64(), Rng::for_role(1, "queue").next_u64());
//! ```

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
