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
pub use report::{FlowAtEnd, QueueAtEnd, Report, ReportBuilder};
pub use table::{Column, NetworkNames, Table};

/// Sums over a group's flows.
#[derive(Default)]
pub struct GroupMeasures {
    pub delay: Histogram<8>,
    pub transfers: Histogram<8>,
    pub completions: CompletionsBySize,
    /// Since the last bin of one second.
    pub marks: u64,
    pub drops: u64,
}
