//! Compares TCP with the packets of other implementations: of ns-2 ([`ns2`]) and of a Linux kernel ([`kernel`]); and runs
//! packetdrill scripts against a simulated host ([`packetdrill`]).
//!
//! Serves tests and `ecnlab validate`; no crate that computes results depends on it. A case comes as text, and nothing here opens a file.

pub mod kernel;
pub mod ns2;
pub mod packetdrill;
