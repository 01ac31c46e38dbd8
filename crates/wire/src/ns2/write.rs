//! Writes ns-2's lines.
//!
//! A packet has a line for every event on every link of its path, and most of it is the same each time. [`PacketLines`] formats that part once.

use ecnlab_units::{Ecn, Time};

use super::text::FixedText;
use super::{CE_POSITION_AND_LETTER, CWR_POSITION_AND_LETTER, ECE_POSITION_AND_LETTER, ECT_POSITION_AND_LETTER, PACKET_TYPES};
use crate::address::{Address, End};
use crate::event::{Kind, Location, Packet, TraceEvent, TraceEventKind};
use crate::tcp::Flags;

/// Decimals of times in ns-2: microseconds.
pub const NS2_TIME_DECIMALS: u32 = 6;
/// Decimals of a picosecond.
pub const PICOSECOND_DECIMALS: u32 = 12;

/// Bytes before and behind the flags that are the same in all lines of a packet, and bytes before them that differ.
const MAX_TYPE_AND_SIZE_BYTES: usize = 24;
const MAX_AFTER_FLAGS_BYTES: usize = 96;
const MAX_LINE_FRONT_BYTES: usize = 64;

/// Appends the line of an event on a link, of a packet between nodes, with the time in seconds to so many decimals, 12 at most. For any other
/// event it appends nothing and returns false.
pub fn write_line(event: &TraceEvent, decimals: u32, out: &mut Vec<u8>) -> bool {
    let TraceEvent { time, kind, packet, .. } = event;
    let (Some(sign), Location::Link { from, to }, Some(packet_lines)) = (kind.sign(), event.location, PacketLines::of(packet)) else {
        return false;
    };
    packet_lines.write(sign, *time, decimals, (from, to), flag_letters(packet.ecn, packet.tcp.flags), out);
    true
}

/// The parts that are the same in all lines of a packet.
#[derive(Clone, Copy, Debug)]
pub struct PacketLines {
    /// Type and size.
    head: FixedText<MAX_TYPE_AND_SIZE_BYTES>,
    /// Flow, ends and numbers.
    tail: FixedText<MAX_AFTER_FLAGS_BYTES>,
}

impl PacketLines {
    /// `None` if the packet's ends are no nodes.
    pub fn of(packet: &Packet) -> Option<PacketLines> {
        let (Address::Node(source), Address::Node(destination)) = (packet.source.address, packet.destination.address) else { return None };
        let (mut head, mut tail) = (FixedText::new(), FixedText::new());
        head.push_bytes(b" ");
        head.push_bytes(type_name(packet.kind).as_bytes());
        head.push_byte_and_number(b' ', packet.size.into());
        head.push_bytes(b" ");
        tail.push_byte_and_number(b' ', packet.flow.unwrap_or(0).into());
        push_end(source, packet.source, &mut tail);
        push_end(destination, packet.destination, &mut tail);
        push_seq(packet, &mut tail);
        tail.push_byte_and_number(b' ', packet.id.unwrap_or(0));
        tail.push_bytes(b"\n");
        Some(PacketLines { head, tail })
    }

    /// Appends the line of an event on a link, unless ns-2 has no sign for it. `ecn` and `flags` are the packet's at that moment.
    pub fn write_event(&self, kind: TraceEventKind, time: Time, link: (u32, u32), ecn: Ecn, flags: Flags, out: &mut Vec<u8>) {
        if let Some(sign) = kind.sign() {
            self.write(sign, time, NS2_TIME_DECIMALS, link, flag_letters(ecn, flags), out);
        }
    }

    #[inline(always)]
    fn write(&self, sign: u8, time: Time, decimals: u32, (from, to): (u32, u32), flag_letters: [u8; 7], out: &mut Vec<u8>) {
        let mut front: FixedText<MAX_LINE_FRONT_BYTES> = FixedText::new();
        front.push_bytes(&[sign, b' ']);
        push_seconds(time, decimals.min(PICOSECOND_DECIMALS), &mut front);
        front.push_byte_and_number(b' ', from.into());
        front.push_byte_and_number(b' ', to.into());
        out.reserve(MAX_LINE_FRONT_BYTES + MAX_TYPE_AND_SIZE_BYTES + flag_letters.len() + MAX_AFTER_FLAGS_BYTES);
        out.extend_from_slice(front.as_slice());
        out.extend_from_slice(self.head.as_slice());
        out.extend_from_slice(&flag_letters);
        out.extend_from_slice(self.tail.as_slice());
    }
}

/// The first of ns-2's names for a kind.
fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Datagram => "udp",
        _ => PACKET_TYPES.iter().find(|(_, type_kind)| *type_kind == kind).map_or("other", |&(type_name, _)| type_name),
    }
}

fn flag_letters(ecn: Ecn, flags: Flags) -> [u8; 7] {
    let mut flag_letters = [b'-'; 7];
    let mut set = |(position, letter): (usize, u8), set: bool| flag_letters[position] = if set { letter } else { b'-' };
    set(ECE_POSITION_AND_LETTER, flags.has(Flags::ECE));
    set(CWR_POSITION_AND_LETTER, flags.has(Flags::CWR));
    set(CE_POSITION_AND_LETTER, ecn == Ecn::Ce);
    set(ECT_POSITION_AND_LETTER, ecn != Ecn::NotEct);
    flag_letters
}

/// For an acknowledgement the last packet that it acknowledges, -1 if there is none; for any other packet its own number.
fn push_seq(packet: &Packet, text: &mut FixedText<MAX_AFTER_FLAGS_BYTES>) {
    match (packet.kind, packet.tcp.ack) {
        (Kind::Ack, 0) => text.push_bytes(b" -1"),
        (Kind::Ack, next) => text.push_byte_and_number(b' ', u64::from(next) - 1),
        _ => text.push_byte_and_number(b' ', packet.tcp.seq.into()),
    }
}

fn push_end(node: u32, end: End, text: &mut FixedText<MAX_AFTER_FLAGS_BYTES>) {
    text.push_byte_and_number(b' ', node.into());
    text.push_byte_and_number(b'.', end.port.into());
}

/// Seconds, to the nearest decimal that is shown, without zeros at the end, as C's `%g` shows them.
#[inline(always)]
fn push_seconds(time: Time, decimals: u32, text: &mut FixedText<MAX_LINE_FRONT_BYTES>) {
    let step = 10_u64.pow(PICOSECOND_DECIMALS - decimals);
    let units = time.picos().saturating_add(step / 2) / step;
    let per_second = 10_u64.pow(decimals);
    text.push_number(units / per_second);
    let fraction = units % per_second;
    if fraction > 0 {
        text.push_bytes(b".");
        text.push_trimmed_fraction(fraction, decimals as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::TraceEventKind;
    use crate::ns2::read;

    fn parsed_event(text: &str) -> TraceEvent {
        match read::parse_line(text.as_bytes()) {
            Ok(Some(event)) => event,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn written_line(event: &TraceEvent, decimals: u32) -> String {
        let mut out = Vec::new();
        write_line(event, decimals, &mut out);
        String::from_utf8(out).unwrap()
    }

    /// ns-2.35 wrote these lines.
    #[test]
    fn lines_are_written_as_ns_2_writes_them() {
        for text in [
            "+ 0.1 0 1 tcp 40 C------ 3 0.0 2.0 0 0\n",
            "r 1.355637 1 2 tcp 1040 ---AE-N 3 0.0 2.0 18 68\n",
            "d 0.2642 1 2 tcp 1040 ------N 3 0.0 2.0 18 33\n",
            "- 12 2 1 ack 40 C------ 3 2.0 0.0 17 69\n",
            "+ 12.05 2 1 ack 40 ------- 3 2.0 0.0 -1 69\n",
        ] {
            assert_eq!(text, written_line(&parsed_event(text.trim_end()), NS2_TIME_DECIMALS));
        }
    }

    #[test]
    fn a_time_has_as_many_decimals_as_asked() {
        let later = TraceEvent { time: Time::from_picos(1_000_000_700_049), ..parsed_event("+ 0.1 0 1 tcp 40 ------- 3 0.0 2.0 0 0") };
        let time = |decimals| written_line(&later, decimals).split(' ').nth(1).unwrap().to_owned();
        assert_eq!(["1", "1.000001", "1.0000007", "1.000000700049"], [0, 6, 9, 12].map(time));
    }

    #[test]
    fn events_without_a_sign_of_ns_2_are_not_written() {
        let seen = TraceEvent { kind: TraceEventKind::Captured, ..parsed_event("+ 0.1 0 1 tcp 40 ------- 3 0.0 2.0 0 0") };
        assert_eq!("", written_line(&seen, NS2_TIME_DECIMALS));
    }
}
