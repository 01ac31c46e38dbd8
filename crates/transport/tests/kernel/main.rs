//! The receiver against packets of real hosts.

mod case;
mod receiver;
