//! Queues: what decides (`aqm`) and what stores (`discipline`).
//!
//! An AQM sees a [`Glimpse`] of each arriving packet and returns a [`Wish`]. It owns no packet, reads no clock and
//! draws from the stream that it is handed, so the same code serves the simulator and a live router. The
//! discipline stores the packets and does the deed in one place, [`discipline::Fifo::offer`].

pub mod aqm;
pub mod discipline;
pub mod registry;

pub use aqm::{Aqm, Cause, Glimpse, Target, Victim, Wish};
pub use discipline::{Counters, Fifo, Frame, Limit, Outcome};
