//! Measures of flows, groups and queues over the measured interval.
//!
//! All measures are reset when the measured interval begins, so no packet has to check whether measuring has begun, and memory does not
//! grow with time.

pub mod columns;
mod completions;
mod flow;
mod queue;
mod report;
pub mod table;

pub use completions::{CompletionsBySize, FinishedTransfer};
pub use ecnlab_units::fairness::{BinnedFairness, JainIndex};
pub use ecnlab_units::histogram::{self, Histogram};
pub use flow::{Delivery, FlowMeasures};
pub use queue::QueueMeasures;
pub use report::{FlowAtEnd, GroupDistributionsAtEnd, QueueAtEnd, Report, ReportBuilder};
pub use table::{Column, NetworkNames, Table};
