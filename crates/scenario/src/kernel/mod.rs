//! Compares the profile of a real kernel with that kernel, packet by packet.
//!
//! A case is one connection between two hosts of Linux 6.1 over one router with a script, recorded in virtual time.

pub mod case;
pub mod compare;
mod ledger;
pub mod sender;
pub mod settings;
