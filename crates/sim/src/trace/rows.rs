//! A packet trace as a table: one row for each event.

use super::LinkTraceEvent;
use crate::measures::table::{ColumnNameSource, TableSpec, count_column, index_column, name_column, real_column};
use crate::packet::PacketKind;

/// Source of a row.
pub struct TraceRow {
    pub(super) event: LinkTraceEvent,
    /// Number of its flow's connection.
    pub(super) connection: u32,
    /// The packet's number in the run.
    pub(super) number: u64,
    /// Application data, in bytes.
    pub(super) payload: u32,
}

/// Events of a packet on a link, in the order of [`TraceEventKind`](ecnlab_wire::TraceEventKind).
const EVENT_WORDS: &[&str] = &["enqueued", "dequeued", "dropped", "received"];

/// ECN fields by codepoint.
const ECN_WORDS: &[&str] = &["not-ect", "ect1", "ect0", "ce"];

pub static EVENTS: TableSpec<TraceRow> = TableSpec {
    name: "trace",
    doc: "each event of each packet on each traced link, in the order in which they happen",
    columns: &[&[
        real_column("time_s", "s", "Time of the event", |row| row.event.time.seconds()),
        name_column(
            "event",
            ColumnNameSource::Word(EVENT_WORDS),
            "Event: the packet arrived at the link, its transmission began, it was dropped there, or it arrived at the far end",
            |row| row.event.kind as u32,
        ),
        name_column("link", ColumnNameSource::Link, "Name of the link", |row| row.event.link),
        index_column("flow", "index", "The flow's number", |row| row.event.packet.flow),
        index_column("connection", "index", "Number of the connection within the flow", |row| row.connection),
        name_column("kind", ColumnNameSource::Word(PacketKind::WORDS), "Kind of the packet", |row| row.event.packet.kind() as u32),
        count_column("packet_number", "index", "Number of the packet; each transmission has a separate one", |row| row.number),
        count_column("seq", "packets", "Number of the segment; for an ACK the next one expected", |row| row.event.packet.seq),
        index_column("size_bytes", "bytes", "Size on the wire", |row| row.event.packet.size),
        index_column("payload_bytes", "bytes", "Application data in the packet", |row| row.payload),
        name_column("ecn", ColumnNameSource::Word(ECN_WORDS), "ECN field at that time", |row| row.event.packet.ecn as u32),
        index_column("ece", "1", "1 if the packet carries ECN-Echo", |row| u32::from(row.event.packet.flags.ece())),
        index_column("cwr", "1", "1 if the packet carries CWR", |row| u32::from(row.event.packet.flags.cwr())),
        index_column("retransmission", "1", "1 if the segment was sent before; for an ACK: if the segment that caused it was", |row| {
            u32::from(row.event.packet.flags.is_retransmission())
        }),
    ]],
};

#[cfg(test)]
mod tests {
    use ecnlab_units::Ecn;
    use ecnlab_wire::TraceEventKind;

    use super::*;

    #[test]
    fn words_are_in_the_order_of_kinds_and_codepoints() {
        let kinds = [TraceEventKind::Enqueued, TraceEventKind::Dequeued, TraceEventKind::Dropped, TraceEventKind::Received];
        assert_eq!(["enqueued", "dequeued", "dropped", "received"], kinds.map(|kind| EVENT_WORDS[kind as usize]));
        assert_eq!(["not-ect", "ect1", "ect0", "ce"], [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(|ecn| ECN_WORDS[ecn as usize]));
    }
}
