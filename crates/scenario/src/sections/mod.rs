//! The sections of a scenario file. Each is declared once: from the declaration come its reader, the description of what is in force, the
//! schema, the `show` text and the documentation.

pub mod change;
mod declaration;
pub mod deliveries;
pub mod flows;
pub mod impair;
pub mod link;
pub mod queue;
pub mod record;
pub mod root;
mod stray;
pub mod tcp;
mod tcp_renames;
pub mod way;

pub use declaration::{Holds, Inner, MAX_PACKETS, Section, described, json_of};

/// Every section, in the order of the documentation.
pub const SECTIONS: &[&Section] = &[
    &root::ROOT,
    &link::LINK,
    &queue::QUEUE,
    &link::REVERSE,
    &change::CHANGE,
    &flows::FLOWS,
    &way::ACCESS,
    &way::EXIT,
    &flows::UDP,
    &record::RECORD,
];
