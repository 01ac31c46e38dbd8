//! What a run is asked for: the measures of flows, groups and queues over the measured interval.
//!
//! Everything here is set to zero when the measured interval begins, so nothing asks "are we measuring?" on the way of a packet,
//! and memory does not grow with time.

mod fairness;
mod flow;
pub mod histogram;
mod queue;
mod report;

pub use fairness::{FairnessBins, jain};
pub use flow::{Delivery, FlowMeasures};
pub use histogram::Histogram;
pub use queue::QueueMeasures;
pub use report::{Column, FlowRow, GroupRow, Material, QueueRow, Report, Table, report};
