//! Sections of a scenario file. Each has one declaration, from which come its reader, the description of the values in force, the schema,
//! the text of `show` and the documentation.

mod bursts;
pub mod change;
mod declaration;
pub mod deliveries;
pub mod flows;
pub mod impair;
pub mod link;
pub mod queue;
pub mod record;
pub mod root;
pub mod routes;
pub mod tcp;
mod tcp_renames;
mod unknown_keys;

pub use declaration::{MAX_PACKETS, Section, TableContent, TableDeclaration, value_to_json, values_to_json};

/// Every section, in the order of the documentation.
pub const SECTIONS: &[&Section] = &[
    &root::ROOT,
    &link::LINK,
    &queue::QUEUE,
    &link::REVERSE,
    &bursts::BURSTS_SECTION,
    &change::CHANGE,
    &flows::FLOWS,
    &routes::ACCESS,
    &routes::EXIT,
    &flows::UDP,
    &record::RECORD,
];
