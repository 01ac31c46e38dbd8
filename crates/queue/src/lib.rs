//! Queues: what decides (`aqm`) and what stores (`discipline`).
//!
//! An AQM sees a [`Glimpse`] of each packet and answers with a wish. It owns no packet, reads no clock and draws from the stream that it is
//! handed, so the same code serves the simulator and a live router. The discipline stores the packets, does the deeds and tells them.

pub mod aqm;
mod compose;
pub mod composition;
pub mod conformance;
pub mod discipline;
pub mod registry;

pub use aqm::{Aqm, Arrival, Backlog, Cause, Departure, Expiry, Fate, Glimpse, Needs, Target, Victim, Wish};
pub use composition::{AqmChoice, Composition, Inside};
pub use discipline::{ByCause, Counters, Deed, Discipline, Fifo, FlowQueues, Frame, Limit, Queue, Take};
pub use registry::Registry;
