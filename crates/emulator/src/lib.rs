//! The engine in front of real hosts: packets of kernel TCP and UDP cross the links and queues of a scenario.
//!
//! The router is the engine itself. Hosts are network namespaces whose way out is a TUN device; what they send comes in through it,
//! crosses the network that the scenario describes on the engine's exact times, and goes out to the host at the far end. Departures are
//! scheduled from scheduled times, never from the time of a wake-up, so lateness of the machine never accumulates.
//!
//! Only [`sys`] speaks to the system and only there is code that the compiler cannot check.

#![deny(unsafe_code)]

/// A digest of this crate's sources, on which results in front of real hosts depend beside those of the simulator.
pub const SOURCE_DIGEST: &str = env!("ECNLAB_EMULATOR");

pub mod address;
pub mod background_writer;
pub mod capture;
pub mod clock;
pub mod event_loop;
pub mod host;
pub mod host_settings;
pub mod hosts;
pub mod kernel_queue;
pub mod lateness;
pub mod mapping;
pub mod recordings;
pub mod run;
pub mod shell;
pub mod slab;
pub mod sys;
pub mod tcp_tracker;
