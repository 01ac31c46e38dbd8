//! Analysis of packet traces: measures of flows, links and bins of time, and the reactions of sources to marks.
//!
//! It reads events ([`ecnlab_wire::TraceEvent`]) one by one, from ns-2's traces and from captures. It keeps state of active flows only and
//! returns tables at the end.

pub mod analysis;
mod bins;
pub mod check;
pub mod columns;
mod competing;
mod connection;
mod connection_table;
mod context;
mod flow;
mod hops;
mod in_flight;
mod links;
mod memory_budget;
mod reaction;
mod reassembly;
mod retransmission;
mod seq_unwrap;

pub use analysis::{Analysis, Options, ReadCounts, TraceReport};
pub use check::{CheckReport, EcnCheck};

use ecnlab_units::table::TableDescription;

/// All tables of a trace analysis.
pub fn describe_tables() -> Vec<TableDescription> {
    use columns::{BINS, EVENTS, FLOW_BINS, FLOWS, LINKS, LOCKOUTS, REACTIONS, SEQUENCE, TOTAL};
    vec![
        FLOWS.describe(),
        TOTAL.describe(),
        LINKS.describe(),
        BINS.describe(),
        FLOW_BINS.describe(),
        REACTIONS.describe(),
        EVENTS.describe(),
        LOCKOUTS.describe(),
        SEQUENCE.describe(),
    ]
}
