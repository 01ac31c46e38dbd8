//! Writes ns-2's lines.
//!
//! A packet has a line for every event on every link of its way, and most of it is the same each time. So that is written once ([`Lines`]), and a
//! line is put together from it.

use ecnlab_units::{Ecn, Time};

use super::text::Text;
use super::{ACTION, CAPABLE, ECHO, EXPERIENCED, KINDS};
use crate::address::{Address, End};
use crate::event::{Event, Kind, Packet, Place, What};
use crate::tcp::Flags;

/// As ns-2 rounds times.
pub const DECIMALS: u32 = 6;
/// A picosecond.
pub const MOST_DECIMALS: u32 = 12;

/// Room for what stands before and behind the flags that is the same in all lines of a packet, and for the rest of what stands before.
const HEAD: usize = 24;
const TAIL: usize = 96;
const FRONT: usize = 64;

/// Appends the line of what happened on a link to a packet between nodes, with the time in seconds to so many decimals, 12 at most. Of
/// anything else it appends nothing, and returns false.
pub fn line(event: &Event, decimals: u32, out: &mut Vec<u8>) -> bool {
    let Event { time, what, packet, .. } = event;
    let (Some(sign), Place::Link { from, to }, Some(lines)) = (what.sign(), event.place, Lines::of(packet)) else { return false };
    lines.write(sign, *time, decimals, (from, to), letters(packet.ecn, packet.tcp.flags), out);
    true
}

/// What is the same in all lines of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Lines {
    /// Type and size.
    head: Text<HEAD>,
    /// Flow, ends and numbers.
    tail: Text<TAIL>,
}

impl Lines {
    /// `None` if the packet's ends are no nodes.
    pub fn of(packet: &Packet) -> Option<Lines> {
        let (Address::Node(source), Address::Node(destination)) = (packet.source.address, packet.destination.address) else { return None };
        let (mut head, mut tail) = (Text::empty(), Text::empty());
        head.push(b" ");
        head.push(name(packet.kind).as_bytes());
        head.push_after(b' ', packet.size.into());
        head.push(b" ");
        tail.push_after(b' ', packet.flow.unwrap_or(0).into());
        push_end(source, packet.source, &mut tail);
        push_end(destination, packet.destination, &mut tail);
        push_seq(packet, &mut tail);
        tail.push_after(b' ', packet.id.unwrap_or(0));
        tail.push(b"\n");
        Some(Lines { head, tail })
    }

    /// Appends the line of what happened on a link; nothing of what ns-2 has no sign for. `ecn` and `flags` are the packet's at that moment.
    pub fn event(&self, what: What, time: Time, link: (u32, u32), ecn: Ecn, flags: Flags, out: &mut Vec<u8>) {
        if let Some(sign) = what.sign() {
            self.write(sign, time, DECIMALS, link, letters(ecn, flags), out);
        }
    }

    #[inline(always)]
    fn write(&self, sign: u8, time: Time, decimals: u32, (from, to): (u32, u32), letters: [u8; 7], out: &mut Vec<u8>) {
        let mut front: Text<FRONT> = Text::empty();
        front.push(&[sign, b' ']);
        push_seconds(time, decimals.min(MOST_DECIMALS), &mut front);
        front.push_after(b' ', from.into());
        front.push_after(b' ', to.into());
        out.reserve(FRONT + HEAD + letters.len() + TAIL);
        out.extend_from_slice(front.as_slice());
        out.extend_from_slice(self.head.as_slice());
        out.extend_from_slice(&letters);
        out.extend_from_slice(self.tail.as_slice());
    }
}

/// The first of ns-2's names for a kind.
fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Datagram => "udp",
        _ => KINDS.iter().find(|(_, known)| *known == kind).map_or("other", |&(name, _)| name),
    }
}

fn letters(ecn: Ecn, flags: Flags) -> [u8; 7] {
    let mut letters = [b'-'; 7];
    let mut set = |(place, letter): (usize, u8), set: bool| letters[place] = if set { letter } else { b'-' };
    set(ECHO, flags.has(Flags::ECE));
    set(ACTION, flags.has(Flags::CWR));
    set(EXPERIENCED, ecn == Ecn::Ce);
    set(CAPABLE, ecn != Ecn::NotEct);
    letters
}

/// Of an acknowledgement the last packet that it acknowledges, -1 if there is none; of anything else its own number.
fn push_seq(packet: &Packet, text: &mut Text<TAIL>) {
    match (packet.kind, packet.tcp.ack) {
        (Kind::Ack, 0) => text.push(b" -1"),
        (Kind::Ack, next) => text.push_after(b' ', u64::from(next) - 1),
        _ => text.push_after(b' ', packet.tcp.seq.into()),
    }
}

fn push_end(node: u32, end: End, text: &mut Text<TAIL>) {
    text.push_after(b' ', node.into());
    text.push_after(b'.', end.port.into());
}

/// Seconds, to the nearest decimal that is shown, without zeros at the end, as C's `%g` shows them.
#[inline(always)]
fn push_seconds(time: Time, decimals: u32, text: &mut Text<FRONT>) {
    let step = 10_u64.pow(MOST_DECIMALS - decimals);
    let units = time.picos().saturating_add(step / 2) / step;
    let per_second = 10_u64.pow(decimals);
    text.push_number(units / per_second);
    let below = units % per_second;
    if below > 0 {
        text.push(b".");
        text.push_fraction(below, decimals as usize);
    }
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
