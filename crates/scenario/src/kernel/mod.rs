//! Compares the profile of a real kernel with that kernel, packet by packet.
//!
//! A case is one connection between two hosts of Linux 6.1 over one router with a script, recorded in virtual time.

pub mod case;
pub mod closed;
pub mod compare;
pub mod ideal;
mod ledger;
pub mod receiver;
pub mod script;
pub mod sender;
pub mod settings;
mod written;
