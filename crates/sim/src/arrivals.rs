//! All that came to measured queues and all that they did, in order: enough to put the same packets through the same queue again
//! ([`replay`](crate::replay)).

use ecnlab_queue::{Cause, Frame};
use ecnlab_units::{Dialect, Ecn, Rate, Span, Time, words};

use crate::link::Waiting;
use crate::measures::table::{Naming, TableSpec, count, index, name};
use crate::packet::PacketId;

/// What a queue did, or what was done to it.
#[derive(Clone, Copy, Debug)]
pub enum QueueDeed<'a> {
    /// A packet came.
    Came(&'a Waiting),
    /// It was marked; it is shown as it is now.
    Marked(&'a Waiting, Cause),
    Dropped(&'a Waiting, Cause),
    /// It left a band of the queue after this sojourn time, to be sent.
    Left {
        frame: &'a Waiting,
        sojourn: Span,
        band: u8,
    },
    /// The queue was asked for a packet and lets none go before this time.
    Waits(Time),
    /// The queue was asked for a packet and had none.
    Empty,
    /// The queue's own time had come.
    Expired,
    /// The link has another rate from now on.
    Retuned(Rate),
}

words! {
    /// What a queue did, or what was done to it.
    pub enum QueueAct {
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
    /// What a mark or a drop came from.
    pub enum QueueCause { None = "none", Early = "early", Forced = "forced", Overflow = "overflow" }
}

words! {
    /// An ECN field under what it means.
    pub enum Field {
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

/// One line of what happened at a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLine {
    pub time: Time,
    pub act: QueueAct,
    /// Which of the packets it was that came to the queue, from 0; where no packet is spoken of, how many had come.
    pub packet: u32,
    pub size: u32,
    pub field: Field,
    /// Of a packet its flow, as the queue tells flows; of a wait the time until which, in picoseconds; of a rate how many bit/s.
    pub key: u64,
    pub rtt_us: u32,
    pub cause: QueueCause,
}

pub struct ArrivalRow {
    pub queue: u32,
    pub line: QueueLine,
}

pub static ARRIVALS: TableSpec<ArrivalRow> = TableSpec {
    name: "arrivals",
    doc: "all that came to each queue and all that the queue did, in order, if `record.arrivals` is on; `ecnlab replay` puts it through the same queue again",
    columns: &[&[
        count("time_ps", "ps", "When it happened", |row| row.line.time.picos()),
        name("queue", Naming::Queue, "Name of the link", |row| row.queue),
        name(
            "act",
            Naming::Word(QueueAct::WORDS),
            "A packet arrived, was marked or dropped, or departed; asked for a packet, the queue let none go yet, or was empty; its own time had come; the link's rate changed",
            |row| row.line.act as u32,
        ),
        index("number", "packets", "Which of the queue's packets it was, from 0; else how many had come", |row| row.line.packet),
        index("size_bytes", "bytes", "The packet's size", |row| row.line.size),
        name("ecn", Naming::Word(Field::WORDS), "Its ECN field as it is then, after `mecn` where that has MECN's meaning", |row| {
            row.line.field as u32
        }),
        count(
            "value",
            "its own",
            "Of a packet its flow, as the queue tells flows; of a wait the time until which, in ps; of a rate how many bit/s",
            |row| row.line.key,
        ),
        index("rtt_us", "us", "The round-trip time that the packet shows; 0 if none", |row| row.line.rtt_us),
        name("cause", Naming::Word(QueueCause::WORDS), "What a mark or a drop came from, as in `events`", |row| row.line.cause as u32),
    ]],
};

/// Numbers the packets of each queue as they come.
#[derive(Default)]
pub struct Numbers {
    /// How many have come, by queue.
    came: Vec<u32>,
    /// The number of each packet at the queue where it is, by its place in the arena.
    numbers: Vec<u32>,
}

impl Numbers {
    /// The line of a deed.
    pub fn line(&mut self, time: Time, queue: u32, deed: QueueDeed) -> QueueLine {
        let at = queue as usize;
        if self.came.len() <= at {
            self.came.resize(at + 1, 0);
        }
        let came = self.came[at];
        let bare = |act, key| QueueLine { time, act, packet: came, size: 0, field: Field::NotEct, key, rtt_us: 0, cause: QueueCause::None };
        match deed {
            QueueDeed::Came(frame) => {
                self.came[at] += 1;
                self.put(frame.packet, came);
                of_packet(time, came, QueueAct::Arrival, QueueCause::None, frame)
            }
            QueueDeed::Marked(frame, cause) => of_packet(time, self.of(frame), QueueAct::Mark, cause.into(), frame),
            QueueDeed::Dropped(frame, cause) => of_packet(time, self.of(frame), QueueAct::Drop, cause.into(), frame),
            QueueDeed::Left { frame, .. } => of_packet(time, self.of(frame), QueueAct::Departure, QueueCause::None, frame),
            QueueDeed::Waits(until) => bare(QueueAct::Wait, until.picos()),
            QueueDeed::Empty => bare(QueueAct::Empty, 0),
            QueueDeed::Expired => bare(QueueAct::Timer, 0),
            QueueDeed::Retuned(rate) => bare(QueueAct::Rate, rate.bps()),
        }
    }

    fn put(&mut self, packet: PacketId, number: u32) {
        let place = packet as usize;
        if self.numbers.len() <= place {
            self.numbers.resize(place + 1, 0);
        }
        self.numbers[place] = number;
    }

    fn of(&self, frame: &Waiting) -> u32 {
        self.numbers[frame.packet as usize]
    }
}

fn of_packet(time: Time, packet: u32, act: QueueAct, cause: QueueCause, frame: &Waiting) -> QueueLine {
    let field = Field::of(frame.dialect(), frame.ecn());
    QueueLine { time, act, packet, size: frame.size(), field, key: frame.flow(), rtt_us: frame.rtt_us(), cause }
}

impl Field {
    /// A codepoint under what it means.
    pub fn of(dialect: Dialect, ecn: Ecn) -> Field {
        use Field::{Ce, Ect0, Ect1, MecnCe, MecnEct0, MecnEct1, MecnNotEct, NotEct};
        let [classic, mecn] = match ecn {
            Ecn::NotEct => [NotEct, MecnNotEct],
            Ecn::Ect1 => [Ect1, MecnEct1],
            Ecn::Ect0 => [Ect0, MecnEct0],
            Ecn::Ce => [Ce, MecnCe],
        };
        if dialect == Dialect::Mecn { mecn } else { classic }
    }

    /// The codepoint and what it means.
    pub fn parts(self) -> (Dialect, Ecn) {
        use Field::{Ce, Ect0, Ect1, MecnCe, MecnEct0, MecnEct1, MecnNotEct, NotEct};
        match self {
            NotEct => (Dialect::Classic, Ecn::NotEct),
            Ect1 => (Dialect::Classic, Ecn::Ect1),
            Ect0 => (Dialect::Classic, Ecn::Ect0),
            Ce => (Dialect::Classic, Ecn::Ce),
            MecnNotEct => (Dialect::Mecn, Ecn::NotEct),
            MecnEct1 => (Dialect::Mecn, Ecn::Ect1),
            MecnEct0 => (Dialect::Mecn, Ecn::Ect0),
            MecnCe => (Dialect::Mecn, Ecn::Ce),
        }
    }
}

impl From<Cause> for QueueCause {
    fn from(cause: Cause) -> QueueCause {
        match cause {
            Cause::Early => QueueCause::Early,
            Cause::Forced => QueueCause::Forced,
            Cause::Overflow => QueueCause::Overflow,
        }
    }
}
