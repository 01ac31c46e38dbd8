//! Reads traces: what flows, links and bins of time have seen, and how sources answered marks.
//!
//! It takes events ([`ecnlab_wire::Event`]) one by one, of ns-2's traces and of captures alike, keeps no more than it needs of flows that
//! are alive, and gives tables at the end.

pub mod analysis;
mod bins;
pub mod check;
pub mod columns;
mod competing;
mod connection;
mod connections;
mod desk;
mod flow;
mod links;
mod path;
mod reaction;
mod room;
mod runs;
mod sending;
mod space;
mod underway;

pub use analysis::{Analysis, Counts, Options, Told};
pub use check::{Check, Verdict};

use ecnlab_units::table::TableDescription;

/// Every table that a trace gives.
pub fn tables() -> Vec<TableDescription> {
    use columns::{BINS, EVENTS_TABLE, FLOW_BINS, FLOWS, LINKS, LOCKOUTS, REACTIONS, SEQUENCE, TOTAL};
    vec![
        FLOWS.describe(),
        TOTAL.describe(),
        LINKS.describe(),
        BINS.describe(),
        FLOW_BINS.describe(),
        REACTIONS.describe(),
        EVENTS_TABLE.describe(),
        LOCKOUTS.describe(),
        SEQUENCE.describe(),
    ]
}
