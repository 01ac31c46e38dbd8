//! `bursts`: a link that sends in bursts at slots, as Wi-Fi, DOCSIS and 5G do.

use ecnlab_queue::{Bursts, Limit};
use ecnlab_units::parameter::OrOff;
use ecnlab_units::quantity::PacketsOrBytes;
use ecnlab_units::{Span, parameters};
use serde_json::Value as Json;

use super::declaration::{MAX_PACKETS, Section, TableContent, TableDeclaration, limit_of_amount, values_to_json};
use crate::read::{Reader, TableInput};

parameters! {
    /// Keys of the bursts of a link.
    struct BurstKeys {
        /// Time from one slot to the next. Slots begin at whole multiples of it, and a burst begins at a slot at which packets wait.
        #[required]
        #[usual(0.0001..=0.02, log)]
        pub period: Span = "4 ms", 1e-12..=100, "s";
        /// Packets or bytes that one slot sends; off sends until no packet waits. Bytes of the last packet beyond it come off the next slots.
        #[usual(1..=100, linear)]
        pub aggregate: OrOff<PacketsOrBytes> = "off";
    }
}

pub const BURSTS_SECTION: Section = Section {
    name: "link.bursts",
    title: "The bursts of a link",
    doc: "Bursts in which a link sends, as Wi-Fi sends aggregates, DOCSIS uses grants and 5G uses slots. Packets leave back to back at the \
        link's rate from a slot on, until no packet waits or the aggregate is sent.",
    keys: BurstKeys::PARAMETERS,
    tables: &[],
};

pub const BURSTS: TableDeclaration = TableDeclaration {
    key: "bursts",
    content: TableContent::One(&BURSTS_SECTION),
    required: false,
    doc: "Bursts in which the link sends, at slots.",
    example: "{ period = \"4 ms\", aggregate = 32 }",
};

/// Valid bursts, also in a form that can be read again.
pub struct LinkBursts {
    pub bursts: Bursts,
    pub described: Json,
}

/// The bursts of a link, if they are given and valid.
pub fn read(reader: &mut Reader, given: &TableInput) -> Option<LinkBursts> {
    let table = BURSTS.read(reader, given)?;
    let reading = BURSTS_SECTION.read_keys(reader, &table);
    let period: Option<Span> = reading.get("period");
    let aggregate = match reading.get::<OrOff<PacketsOrBytes>>("aggregate")?.0 {
        None => None,
        Some(amount) => Some(limit_of_aggregate(reader, &table, amount)?),
    };
    Some(LinkBursts { bursts: Bursts { period: period?, aggregate }, described: values_to_json(&reading.values) })
}

/// The limit of an aggregate, in whole packets or bytes.
fn limit_of_aggregate(reader: &mut Reader, table: &TableInput, amount: PacketsOrBytes) -> Option<Limit> {
    let limit = limit_of_amount(amount).filter(|_| !matches!(amount, PacketsOrBytes::Bytes(bytes) if bytes.fract() != 0.0));
    if limit.is_none() {
        let message = format!("must be off, a whole number of packets, 1 .. {MAX_PACKETS}, or whole bytes, as in \"64 KB\"");
        reader.report(table, "aggregate", message);
    }
    limit
}
