//! What our hosts send, written down as the files of cases have it.

use ecnlab_transport::{Ack, AppWrite, Role, Segment};
use ecnlab_units::{Ecn, Time};

use super::case::{Action, Packet, SocketCall, Trigger};
use super::segment_map::SentSegment;

/// A segment as it leaves its host.
pub fn of_segment(side: u8, time: Time, segment: &Segment, written: &SentSegment) -> Packet {
    let bits =
        HeaderFlags { role: segment.role, push: segment.push, answers: segment.role != Role::Syn, ece: segment.ece, cwr: segment.cwr };
    Packet { seq: written.seq, len: written.len, nth: written.nth, ecn: [field(segment.ecn), 0], ..packet(side, time, bits.flags()) }
}

/// Where segments begin and end in a stream of bytes.
pub trait SegmentBoundaries {
    /// Where a segment begins; of the one behind the last, where that ends.
    fn start(&self, segment: u64) -> u64;

    /// Where the segment before this one ends.
    fn end(&self, segment: u64) -> u64;
}

/// An acknowledgement of segments with these borders, as it leaves its host. `seq` is the next byte of what that sends itself.
pub fn of_ack(side: u8, time: Time, ack: &Ack, borders: &impl SegmentBoundaries, seq: u64) -> Packet {
    let bits = HeaderFlags { role: ack.role, push: false, answers: true, ece: ack.ece, cwr: ack.cwr };
    let seq = if ack.role == Role::Syn { 0 } else { seq };
    with_ack(Packet { seq, ecn: [field(ack.ecn), 0], ..packet(side, time, bits.flags()) }, ack, borders)
}

/// A packet that says what an acknowledgement does, by itself or because that rides on it.
pub fn with_ack(packet: Packet, ack: &Ack, borders: &impl SegmentBoundaries) -> Packet {
    let sacks = ack.sacks.as_slice().iter().map(|&(from, to)| (borders.start(from), borders.end(to)));
    let ece = ack.ece && !packet.has('E');
    let flags = if ece { packet.flags.replace('C', "") + if packet.has('C') { "EC" } else { "E" } } else { packet.flags };
    Packet { ack: Some(borders.start(ack.next)), window: Some(u64::from(ack.window)), sacks: sacks.collect(), flags, ..packet }
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
        ack: None,
        flags,
        ecn: [0, 0],
        window: None,
        tsval: None,
        tsecr: None,
        sacks: Vec::new(),
        nth: None,
    }
}

struct HeaderFlags {
    role: Role,
    push: bool,
    answers: bool,
    ece: bool,
    cwr: bool,
}

impl HeaderFlags {
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

/// How much the recorded application hands over in one call.
const WRITE_CALL_BYTES: u64 = 1 << 20;

/// What a side writes, call by call. Side a connects at time zero, and what is to be written before the connection is open waits for that.
pub fn app_writes(application: &[Action], side: u8) -> Vec<(Trigger, AppWrite)> {
    let mut writes: Vec<(Trigger, AppWrite)> = Vec::new();
    for action in application.iter().filter(|action| action.side == side) {
        let at = action.trigger;
        let is_new = match action.what {
            SocketCall::Write(_) => writes.last().is_none_or(|&(before, demand)| before != at || demand.bytes > 0),
            SocketCall::Close => writes.last().is_none_or(|&(before, _)| before != at),
            _ => false,
        };
        if is_new {
            writes.push((at, AppWrite::keep_open(0)));
        }
        match (action.what, writes.last_mut()) {
            (SocketCall::Write(bytes), Some((_, demand))) => demand.bytes += bytes,
            (SocketCall::Close, Some((_, demand))) => demand.closes = true,
            _ => {}
        }
    }
    writes.into_iter().flat_map(|(at, demand)| in_calls(demand).map(move |demand| (at, demand))).collect()
}

/// A write call by call; the last one closes.
fn in_calls(whole: AppWrite) -> impl Iterator<Item = AppWrite> {
    let calls = whole.bytes.div_ceil(WRITE_CALL_BYTES).max(1);
    (0..calls).map(move |call| {
        let bytes = (whole.bytes - call * WRITE_CALL_BYTES).min(WRITE_CALL_BYTES);
        AppWrite { bytes, closes: whole.closes && call + 1 == calls }
    })
}
