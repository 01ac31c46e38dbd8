//! A trace as a table: a row for each event.

use ecnlab_units::{Ecn, words};
use ecnlab_wire::What;

use super::Event;
use crate::measures::table::{Naming, TableSpec, count, index, name, real};
use crate::packet::PacketKind;

/// What a row is read off.
pub struct Row {
    pub(super) event: Event,
    /// Which of its flow's connections the packet belongs to.
    pub(super) connection: u32,
    /// The packet's number in the run.
    pub(super) number: u64,
    /// Application data, in bytes.
    pub(super) payload: u32,
}

words! {
    /// What happened to a packet on a link.
    pub enum EventWord { Enqueued = "enqueued", Dequeued = "dequeued", Dropped = "dropped", Received = "received" }
}

words! {
    /// What a packet is.
    pub enum KindWord { Data = "data", Ack = "ack", Datagram = "datagram" }
}

words! {
    /// A packet's ECN field.
    pub enum EcnWord { NotEct = "not-ect", Ect1 = "ect1", Ect0 = "ect0", Ce = "ce" }
}

pub static EVENTS: TableSpec<Row> = TableSpec {
    name: "trace",
    doc: "each event of each packet on each traced link, in the order in which they happen",
    columns: &[&[
        real("time_s", "s", "When it happened", |row| row.event.time.seconds()),
        name(
            "event",
            Naming::Word(EventWord::WORDS),
            "The packet came to the link, its transmission began, it was dropped there, or it arrived at the far end",
            |row| event_word(row.event.what) as u32,
        ),
        name("link", Naming::Link, "Name of the link", |row| row.event.link),
        index("flow", "index", "The flow's number", |row| row.event.packet.flow),
        index("connection", "index", "Which of the flow's connections it belongs to", |row| row.connection),
        name("kind", Naming::Word(KindWord::WORDS), "What the packet is", |row| kind_word(row.event.packet.kind()) as u32),
        count("packet_number", "index", "The packet's number; each transmission has its own", |row| row.number),
        count("seq", "packets", "Number of the segment; of an acknowledgement that of the next one expected", |row| row.event.packet.seq),
        index("size_bytes", "bytes", "Size on the wire", |row| row.event.packet.size),
        index("payload_bytes", "bytes", "Application data in it", |row| row.payload),
        name("ecn", Naming::Word(EcnWord::WORDS), "The ECN field at that moment", |row| ecn_word(row.event.packet.ecn) as u32),
        index("ece", "1", "1 if the packet carries ECN-Echo", |row| u32::from(row.event.packet.bits.ece())),
        index("cwr", "1", "1 if the packet says that the window was reduced", |row| u32::from(row.event.packet.bits.cwr())),
        index("retransmission", "1", "1 if the segment was sent before; of an acknowledgement: of the segment that caused it", |row| {
            u32::from(row.event.packet.bits.retransmission())
        }),
    ]],
};

fn event_word(what: What) -> EventWord {
    match what {
        What::Enqueued => EventWord::Enqueued,
        What::Dequeued => EventWord::Dequeued,
        What::Dropped => EventWord::Dropped,
        What::Received | What::Seen => EventWord::Received,
    }
}

fn kind_word(kind: PacketKind) -> KindWord {
    match kind {
        PacketKind::Data => KindWord::Data,
        PacketKind::Ack => KindWord::Ack,
        PacketKind::Datagram => KindWord::Datagram,
    }
}

fn ecn_word(ecn: Ecn) -> EcnWord {
    match ecn {
        Ecn::NotEct => EcnWord::NotEct,
        Ecn::Ect1 => EcnWord::Ect1,
        Ecn::Ect0 => EcnWord::Ect0,
        Ecn::Ce => EcnWord::Ce,
    }
}
