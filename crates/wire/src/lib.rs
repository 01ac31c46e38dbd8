//! Packets as other tools write and read them: ns-2's trace lines, pcap and pcapng, IPv4 and IPv6, TCP and UDP.
//!
//! Both ways share one type, the [`Event`]: what a reader yields, a writer takes. This crate opens no file: bytes come in through a
//! `Read` that the caller has, and go out into a buffer that the caller empties.

pub mod address;
pub mod event;
pub mod fault;
pub mod tcp;

pub use address::{Address, End};
pub use event::{Event, Kind, Packet, Place, What};
pub use fault::{Fault, Why};
pub use tcp::{Flags, SackRuns, Tcp, Timestamps};
