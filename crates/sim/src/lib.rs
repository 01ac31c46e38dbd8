//! The event engine: links, queues, senders and receivers in simulated time.
//!
//! [`run`] takes a [`Network`], a seed and a [`Probe`] and returns what was measured. It reads no clock, opens no file
//! and starts no thread: the same network and seed give the same bytes on any machine.

mod component;
pub mod deadlines;
mod engine;
pub mod impairment;
mod link;
pub mod measures;
pub mod network;
mod packet;
mod payloads;
pub mod probe;
pub mod script;

pub use engine::{Options, Run, Stopped, run};
pub use impairment::ImpairmentSpec;
pub use measures::Report;
pub use network::{Buffer, Direction, FlowSpec, LinkName, LinkSpec, Network, QueueSpec};
pub use probe::{Off, Probe};
pub use script::Script;
