//! What our hosts send, written down as the files of cases have it.

use ecnlab_transport::{Ack, Demand, Role, Segment};
use ecnlab_units::{Ecn, Time};

use super::case::{A, Action, B, Deed, Packet, When};
use super::ledger::Written;

/// A segment as it leaves its host.
pub fn of_segment(time: Time, segment: &Segment, written: &Written) -> Packet {
    let bits = Bits { role: segment.role, push: segment.push, answers: segment.role != Role::Syn, ece: segment.ece, cwr: segment.cwr };
    Packet { seq: written.seq, len: written.len, nth: written.nth, ecn: [field(segment.ecn), 0], ..packet(A, time, bits.flags()) }
}

/// Where segments begin and end in a stream of bytes.
pub trait Borders {
    /// Where a segment begins; of the one behind the last, where that ends.
    fn start(&self, segment: u64) -> u64;

    /// Where the segment before this one ends.
    fn end(&self, segment: u64) -> u64;
}

/// An acknowledgement of segments with these borders, as it leaves its host.
pub fn of_ack(time: Time, ack: &Ack, borders: &impl Borders) -> Packet {
    let bits = Bits { role: ack.role, push: false, answers: true, ece: ack.ece, cwr: ack.cwr };
    let sacks = ack.sacks.as_slice().iter().map(|&(from, to)| (borders.start(from), borders.end(to)));
    Packet {
        ack: borders.start(ack.next),
        window: u64::from(ack.window),
        sacks: sacks.collect(),
        ecn: [field(ack.ecn), 0],
        // The SYN and the FIN of the side that only answers are all the sequence numbers that it takes.
        seq: u64::from(ack.role != Role::Syn),
        ..packet(B, time, bits.flags())
    }
}

fn packet(side: u8, sent: Time, flags: String) -> Packet {
    Packet {
        id: 0,
        side,
        sent,
        arrives: None,
        fate: String::new(),
        seq: 0,
        len: 0,
        ack: 0,
        flags,
        ecn: [0, 0],
        window: 0,
        tsval: None,
        tsecr: None,
        sacks: Vec::new(),
        nth: None,
    }
}

struct Bits {
    role: Role,
    push: bool,
    answers: bool,
    ece: bool,
    cwr: bool,
}

impl Bits {
    /// In the order of the files.
    fn flags(&self) -> String {
        let given = [
            (self.role == Role::Syn, 'S'),
            (self.role == Role::Fin, 'F'),
            (self.push, 'P'),
            (self.answers, 'A'),
            (self.ece, 'E'),
            (self.cwr, 'C'),
        ];
        given.into_iter().filter(|(on, _)| *on).map(|(_, flag)| flag).collect()
    }
}

fn field(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}

/// The ECN field of a file.
pub fn ecn(field: u8) -> Ecn {
    [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(field.min(3))]
}

/// What a packet of a file does to the connection; a pure acknowledgement is plain.
pub fn role(packet: &Packet) -> Role {
    match () {
        () if packet.has('S') => Role::Syn,
        () if packet.has('F') => Role::Fin,
        () => Role::Plain,
    }
}

/// What side a has to send from the start, and what it writes later. What is written before the connection is open waits for it.
pub fn demands(application: &[Action]) -> (Demand, Vec<(Time, Demand)>) {
    let mut first = Demand::open(0);
    let mut later: Vec<(Time, Demand)> = Vec::new();
    for action in application.iter().filter(|action| action.side == A) {
        let When::At(at) = action.when else { continue };
        if at > Time::ZERO && later.last().is_none_or(|&(before, _)| before < at) {
            later.push((at, Demand::open(0)));
        }
        let demand = later.last_mut().map_or(&mut first, |(_, demand)| demand);
        match action.what {
            Deed::Write(bytes) => demand.bytes += bytes,
            Deed::Close => demand.closes = true,
            Deed::StopReading | Deed::ReadAgain => {}
        }
    }
    (first, later)
}
