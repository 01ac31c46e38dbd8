//! Log of a queue: arrivals and decisions in order, sufficient to replay the same packets through the same queue
//! ([`replay`](crate::replay)).

use ecnlab_queue::{DequeueOutcome, QueueItem, SignalCause};
use ecnlab_units::{Ecn, EcnSemantics, Rate, Span, Time, words};

use crate::index_vec::IndexVec;
use crate::link::QueuedPacket;
use crate::measures::table::{ColumnNameSource, TableSpec, count_column, index_column, name_column};

/// An event of a queue.
#[derive(Clone, Copy, Debug)]
pub enum MeasuredQueueEvent<'a> {
    /// A packet arrived.
    Arrived(&'a QueuedPacket),
    /// A packet was marked; its fields are those after the mark.
    Marked(&'a QueuedPacket, SignalCause),
    Dropped(&'a QueuedPacket, SignalCause),
    /// A packet left a band of the queue after this sojourn time, to be sent.
    Departed {
        frame: &'a QueuedPacket,
        sojourn: Span,
        band: u8,
    },
    /// A dequeue returned no packet: none may leave before this time.
    DepartureDelayed(Time),
    /// A dequeue found the queue empty.
    Empty,
    /// The timer of the queue expired.
    TimerFired,
    /// The link changed to this rate.
    RateChanged(Rate),
}

impl<'a> From<&'a DequeueOutcome<QueuedPacket>> for MeasuredQueueEvent<'a> {
    fn from(outcome: &'a DequeueOutcome<QueuedPacket>) -> MeasuredQueueEvent<'a> {
        match outcome {
            DequeueOutcome::Packet { packet, sojourn, band } => {
                MeasuredQueueEvent::Departed { frame: packet, sojourn: *sojourn, band: *band }
            }
            DequeueOutcome::RetryAt(time) => MeasuredQueueEvent::DepartureDelayed(*time),
            DequeueOutcome::Empty => MeasuredQueueEvent::Empty,
        }
    }
}

words! {
    /// Kind of a queue event.
    pub enum QueueLogEntryKind {
        Arrival = "arrival",
        Mark = "mark",
        Drop = "drop",
        Departure = "departure",
        Wait = "wait",
        Empty = "empty",
        Timer = "timer",
        Rate = "rate",
    }
}

words! {
    /// Cause of a mark or a drop.
    pub enum QueueLogCause { None = "none", Early = "early", Forced = "forced", Overflow = "overflow" }
}

words! {
    /// An ECN field with its semantics.
    pub enum EcnField {
        NotEct = "not-ect",
        Ect1 = "ect1",
        Ect0 = "ect0",
        Ce = "ce",
        MecnNotEct = "mecn not-ect",
        MecnEct1 = "mecn ect1",
        MecnEct0 = "mecn ect0",
        MecnCe = "mecn ce",
    }
}

/// One entry of a queue's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLogEntry {
    pub time: Time,
    pub kind: QueueLogEntryKind,
    /// Number of the packet among the queue's arrivals, from 0; for entries without a packet, the number of arrivals so far.
    pub packet: u32,
    pub size: u32,
    pub ecn_field: EcnField,
    /// Meaning by kind: a packet's flow, as queues identify flows; the end of a delay in picoseconds; a rate in bit/s.
    pub value: u64,
    pub rtt_us: u32,
    pub cause: QueueLogCause,
}

pub struct QueueLogRow {
    pub queue: u32,
    pub entry: QueueLogEntry,
}

pub static ARRIVALS: TableSpec<QueueLogRow> = TableSpec {
    name: "arrivals",
    doc: "each packet that arrived at each queue and each action of the queue, in order, if `record.arrivals` is on; `ecnlab replay` puts it through the same queue again",
    columns: &[&[
        count_column("time_ps", "ps", "Time of the event", |row| row.entry.time.picos()),
        name_column("queue", ColumnNameSource::Queue, "Name of the link", |row| row.queue),
        name_column(
            "event",
            ColumnNameSource::Word(QueueLogEntryKind::WORDS),
            "Event: a packet arrived, was marked or dropped, or departed; a dequeue returned no packet, as the queue was waiting or \
                empty; a timer of the queue expired; the link's rate changed",
            |row| row.entry.kind as u32,
        ),
        index_column(
            "number",
            "packets",
            "Number of the packet in this queue, from 0; for other events the number of arrivals so far",
            |row| row.entry.packet,
        ),
        index_column("size_bytes", "bytes", "Size of the packet", |row| row.entry.size),
        name_column(
            "ecn",
            ColumnNameSource::Word(EcnField::WORDS),
            "ECN field of the packet at that time, after `mecn` if the field has MECN's meaning",
            |row| row.entry.ecn_field as u32,
        ),
        count_column(
            "value",
            "its own",
            "For a packet its flow, as the queue classifies it; for a wait its end in ps; for a rate bit/s",
            |row| row.entry.value,
        ),
        index_column("rtt_us", "us", "Round-trip time carried by the packet; 0 if none", |row| row.entry.rtt_us),
        name_column("cause", ColumnNameSource::Word(QueueLogCause::WORDS), "Cause of a mark or a drop, as in `events`", |row| {
            row.entry.cause as u32
        }),
    ]],
};

/// Numbers the arrivals of each queue.
#[derive(Default)]
pub struct PacketNumbering {
    /// Number of arrivals, by queue.
    arrived_by_queue: IndexVec<u32>,
    /// The number of each packet at the queue where it is, by its place in the arena.
    number_by_packet: IndexVec<u32>,
}

impl PacketNumbering {
    /// The log entry of an event.
    pub fn log_entry_of_event(&mut self, time: Time, queue: u32, event: MeasuredQueueEvent) -> QueueLogEntry {
        let arrived_packets = self.arrived_by_queue.get_or_add(queue, u32::default);
        let without_packet = |kind, value| QueueLogEntry::without_packet(time, kind, *arrived_packets, value);
        let (kind, cause, frame) = match event {
            MeasuredQueueEvent::Arrived(frame) => {
                *self.number_by_packet.get_or_add(frame.packet, u32::default) = *arrived_packets;
                *arrived_packets += 1;
                (QueueLogEntryKind::Arrival, QueueLogCause::None, frame)
            }
            MeasuredQueueEvent::Marked(frame, cause) => (QueueLogEntryKind::Mark, cause.into(), frame),
            MeasuredQueueEvent::Dropped(frame, cause) => (QueueLogEntryKind::Drop, cause.into(), frame),
            MeasuredQueueEvent::Departed { frame, .. } => (QueueLogEntryKind::Departure, QueueLogCause::None, frame),
            MeasuredQueueEvent::DepartureDelayed(until) => return without_packet(QueueLogEntryKind::Wait, until.picos()),
            MeasuredQueueEvent::Empty => return without_packet(QueueLogEntryKind::Empty, 0),
            MeasuredQueueEvent::TimerFired => return without_packet(QueueLogEntryKind::Timer, 0),
            MeasuredQueueEvent::RateChanged(rate) => return without_packet(QueueLogEntryKind::Rate, rate.bps()),
        };
        QueueLogEntry {
            time,
            kind,
            packet: self.number_by_packet[frame.packet],
            size: frame.size(),
            ecn_field: EcnField::from_codepoint(frame.ecn_semantics(), frame.ecn()),
            value: frame.flow_key(),
            rtt_us: frame.rtt_us(),
            cause,
        }
    }
}

impl QueueLogEntry {
    /// An entry without a packet, after so many arrivals.
    pub fn without_packet(time: Time, kind: QueueLogEntryKind, arrived_packets: u32, value: u64) -> QueueLogEntry {
        let (ecn_field, cause) = (EcnField::NotEct, QueueLogCause::None);
        QueueLogEntry { time, kind, packet: arrived_packets, size: 0, ecn_field, value, rtt_us: 0, cause }
    }
}

impl EcnField {
    /// A codepoint with its semantics: the fields with either are in the order of codepoints.
    pub fn from_codepoint(ecn_semantics: EcnSemantics, ecn: Ecn) -> EcnField {
        EcnField::ALL[4 * ecn_semantics as usize + ecn as usize]
    }

    /// The codepoint and its semantics.
    pub fn semantics_and_codepoint(self) -> (EcnSemantics, Ecn) {
        let number = self as u8;
        (if number < 4 { EcnSemantics::Classic } else { EcnSemantics::Mecn }, Ecn::from_bits(number))
    }
}

impl From<SignalCause> for QueueLogCause {
    fn from(cause: SignalCause) -> QueueLogCause {
        match cause {
            SignalCause::Early => QueueLogCause::Early,
            SignalCause::Forced => QueueLogCause::Forced,
            SignalCause::Overflow => QueueLogCause::Overflow,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_has_the_name_of_its_codepoint_and_semantics() {
        let codepoints = [(Ecn::NotEct, "not-ect"), (Ecn::Ect1, "ect1"), (Ecn::Ect0, "ect0"), (Ecn::Ce, "ce")];
        for (semantics, before) in [(EcnSemantics::Classic, ""), (EcnSemantics::Mecn, "mecn ")] {
            for (ecn, name) in codepoints {
                let field = EcnField::from_codepoint(semantics, ecn);
                assert_eq!(format!("{before}{name}"), field.word());
                assert_eq!((semantics, ecn), field.semantics_and_codepoint());
            }
        }
    }
}
