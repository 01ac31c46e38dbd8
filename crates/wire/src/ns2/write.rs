//! Writes ns-2's lines.

use ecnlab_units::{Ecn, Time};

use super::{ACTION, CAPABLE, ECHO, EXPERIENCED, KINDS};
use crate::address::{Address, End};
use crate::event::{Event, Kind, Packet, Place};
use crate::tcp::Flags;

/// As ns-2 rounds times.
pub const DECIMALS: u32 = 6;
/// A picosecond.
pub const MOST_DECIMALS: u32 = 12;

/// Appends the line of what happened on a link to a packet between nodes, with the time in seconds to so many decimals, 12 at most. Of
/// anything else it appends nothing, and returns false.
pub fn line(event: &Event, decimals: u32, out: &mut Vec<u8>) -> bool {
    let packet = &event.packet;
    let (Some(sign), Place::Link { from, to }) = (event.what.sign(), event.place) else { return false };
    let (Address::Node(source), Address::Node(destination)) = (packet.source.address, packet.destination.address) else { return false };
    out.extend([sign, b' ']);
    push_seconds(event.time, decimals.min(MOST_DECIMALS), out);
    push_after(b' ', from.into(), out);
    push_after(b' ', to.into(), out);
    out.push(b' ');
    out.extend_from_slice(name(packet.kind).as_bytes());
    push_after(b' ', packet.size.into(), out);
    out.push(b' ');
    out.extend(letters(packet));
    push_after(b' ', packet.flow.unwrap_or(0).into(), out);
    push_end(source, packet.source, out);
    push_end(destination, packet.destination, out);
    push_seq(packet, out);
    push_after(b' ', packet.id.unwrap_or(0), out);
    out.push(b'\n');
    true
}

/// The first of ns-2's names for a kind.
fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Datagram => "udp",
        _ => KINDS.iter().find(|(_, known)| *known == kind).map_or("other", |&(name, _)| name),
    }
}

fn letters(packet: &Packet) -> [u8; 7] {
    let mut letters = [b'-'; 7];
    let mut set = |(place, letter): (usize, u8), set| {
        if set {
            letters[place] = letter;
        }
    };
    set(ECHO, packet.has(Flags::ECE));
    set(ACTION, packet.has(Flags::CWR));
    set(EXPERIENCED, packet.ecn == Ecn::Ce);
    set(CAPABLE, packet.ecn != Ecn::NotEct);
    letters
}

/// Of an acknowledgement the last packet that it acknowledges, -1 if there is none; of anything else its own number.
fn push_seq(packet: &Packet, out: &mut Vec<u8>) {
    match (packet.kind, packet.tcp.ack) {
        (Kind::Ack, 0) => out.extend_from_slice(b" -1"),
        (Kind::Ack, next) => push_after(b' ', u64::from(next) - 1, out),
        _ => push_after(b' ', packet.tcp.seq.into(), out),
    }
}

fn push_end(node: u32, end: End, out: &mut Vec<u8>) {
    push_after(b' ', node.into(), out);
    push_after(b'.', end.port.into(), out);
}

fn push_after(byte: u8, number: u64, out: &mut Vec<u8>) {
    out.push(byte);
    push_digits(number, 1, out);
}

/// Seconds, to the nearest decimal that is shown, without zeros at the end, as C's `%g` shows them.
fn push_seconds(time: Time, decimals: u32, out: &mut Vec<u8>) {
    let step = 10_u64.pow(MOST_DECIMALS - decimals);
    let units = time.picos() / step + u64::from(time.picos() % step >= step.div_ceil(2));
    let per_second = 10_u64.pow(decimals);
    push_digits(units / per_second, 1, out);
    let (mut below, mut shown) = (units % per_second, decimals as usize);
    if below == 0 {
        return;
    }
    while below % 10 == 0 {
        below /= 10;
        shown -= 1;
    }
    out.push(b'.');
    push_digits(below, shown, out);
}

/// A number in decimal digits, with zeros before it to make `least` of them.
fn push_digits(mut number: u64, least: usize, out: &mut Vec<u8>) {
    let mut digits = [b'0'; 20];
    let mut first = digits.len();
    while number > 0 {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    out.extend_from_slice(&digits[first.min(digits.len() - least)..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::What;
    use crate::ns2::read::{self, Line};

    fn event(text: &str) -> Event {
        match read::line(text.as_bytes()) {
            Ok(Line::Event(event)) => event,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn written(event: &Event, decimals: u32) -> String {
        let mut out = Vec::new();
        line(event, decimals, &mut out);
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
            assert_eq!(text, written(&event(text.trim_end()), DECIMALS));
        }
    }

    #[test]
    fn a_time_has_as_many_decimals_as_asked() {
        let later = Event { time: Time::from_picos(1_000_000_700_049), ..event("+ 0.1 0 1 tcp 40 ------- 3 0.0 2.0 0 0") };
        let time = |decimals| written(&later, decimals).split(' ').nth(1).unwrap().to_owned();
        assert_eq!(["1", "1.000001", "1.0000007", "1.000000700049"], [0, 6, 9, 12].map(time));
    }

    #[test]
    fn what_ns_2_has_no_sign_for_is_not_written() {
        let seen = Event { what: What::Seen, ..event("+ 0.1 0 1 tcp 40 ------- 3 0.0 2.0 0 0") };
        assert_eq!("", written(&seen, DECIMALS));
    }
}
