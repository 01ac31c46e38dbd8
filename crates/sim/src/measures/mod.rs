//! What a run is asked for: the measures of flows, groups and queues over the measured interval.
//!
//! Everything here is set to zero when the measured interval begins, so nothing asks "are we measuring?" on the way of a packet,
//! and memory does not grow with time.

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
pub use report::{FlowAtEnd, GroupAtEnd, QueueAtEnd, Report, ReportBuilder};
pub use table::{Column, NetworkNames, Table};
