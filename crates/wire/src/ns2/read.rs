//! Reads ns-2's lines.

use ecnlab_units::{Ecn, Time};

use super::number::{decimal, hexadecimal, seconds};
use super::{ACTION, CAPABLE, ECHO, EXPERIENCED, KINDS};
use crate::address::{Address, End};
use crate::event::{Event, Kind, Packet, Place, State, What};
use crate::fault::Why;
use crate::tcp::{Flags, Tcp};

/// No line that ns-2 writes is longer.
const LONGEST: usize = 4096;

/// What a line is.
#[derive(Debug)]
pub enum Line {
    Event(Event),
    /// An annotation, a variable, a hop for nam: nothing that happens to a packet on a link.
    Aside,
}

/// Reads a line.
///
/// # Errors
/// If it is not of the format, [`Why::Damaged`]; if it is of a format of ns-2's that is not read here, [`Why::Unsupported`].
pub fn line(text: &[u8]) -> Result<Line, Why> {
    if text.len() > LONGEST {
        return Err(Why::Damaged(format!("the line is longer than {LONGEST} bytes")));
    }
    let what = match text {
        [b'+', b' ', ..] => What::Enqueued,
        [b'-', b' ', ..] => What::Dequeued,
        [b'd', b' ', ..] => What::Dropped,
        [b'r', b' ', ..] => What::Received,
        _ => return aside(text),
    };
    event(what, Fields(&text[2..])).map(Line::Event).map_err(|why| other_format(text).unwrap_or(why))
}

/// Lines that are not about a packet on a link: blank ones, annotations (`v`), hops (`h`), variables (`X tTIME aAGENT nNAME vVALUE`).
fn aside(text: &[u8]) -> Result<Line, Why> {
    match text {
        [] | [b'v' | b'h', b' ', ..] | [_, b' ', b't', b'0'..=b'9', ..] => Ok(Line::Aside),
        _ => Err(other_format(text)
            .unwrap_or_else(|| Why::Damaged("a line of an ns-2 trace begins with '+', '-', 'd' or 'r' and a space".to_owned()))),
    }
}

/// Which other of ns-2's formats a line is of, if any.
fn other_format(text: &[u8]) -> Option<Why> {
    let mut fields = Fields(text);
    let (sign, second, third) = (fields.next(), fields.next(), fields.next());
    let what = match (sign, second, third) {
        (Some([b's' | b'r' | b'd' | b'f']), Some(b"-t"), _) | (_, Some(_), Some([b'_', ..])) => "ns-2's wireless nodes",
        (_, Some(b"-t"), _) => "nam, ns-2's animator",
        (_, Some(_), Some(b"-s")) => "ns-2 with tags",
        _ => return None,
    };
    Some(Why::Unsupported(format!("the line is of a trace of {what}; what is read are the traces of links that 'trace-all' writes")))
}

fn event(what: What, mut fields: Fields) -> Result<Event, Why> {
    let time = fields.read("time", seconds)?;
    let place = Place::Link { from: fields.read("node", decimal)?, to: fields.read("node", decimal)? };
    let kind = kind(fields.read("packet type", Some)?);
    let size = fields.read("size", decimal)?;
    let letters = fields.read("flags", letters)?;
    let flow = fields.read("flow", decimal)?;
    let (source, destination) = (fields.read("source", end)?, fields.read("destination", end)?);
    let seq = fields.read("sequence number", signed)?;
    let id = fields.read("packet number", decimal)?;
    let header = Header::read(&mut fields)?;
    let packet = Packet {
        kind,
        source,
        destination,
        flow: Some(flow),
        id: Some(id),
        size,
        payload: payload(kind, size, header),
        ecn: ecn(letters),
        tcp: tcp(kind, seq, letters, header),
        state: State::Whole,
    };
    Ok(Event { time: Time::from_picos(time), what, place, packet })
}

fn kind(name: &[u8]) -> Kind {
    KINDS.iter().find(|(known, _)| known.as_bytes() == name).map_or(Kind::Other, |&(_, kind)| kind)
}

fn payload(kind: Kind, size: u32, header: Header) -> u32 {
    match header.length {
        0 if kind == Kind::Ack => 0,
        length => size.saturating_sub(length),
    }
}

/// What of TCP's header can be told from a line.
fn tcp(kind: Kind, seq: u32, letters: &[u8], header: Header) -> Tcp {
    let flags = Flags::default().with(Flags::ECE, has(letters, ECHO)).with(Flags::CWR, has(letters, ACTION));
    match kind {
        Kind::Data | Kind::Ack if header.length > 0 => Tcp { seq, ack: header.ack, flags: flags | header.flags, ..Tcp::default() },
        Kind::Ack => Tcp { ack: seq.wrapping_add(1), flags: flags | Flags::ACK, ..Tcp::default() },
        Kind::Data => Tcp { seq, flags, ..Tcp::default() },
        Kind::Datagram => Tcp { seq, ..Tcp::default() },
        Kind::Other => Tcp::default(),
    }
}

/// What `show_tcphdr_` adds; zero without it, and of one-way agents, which have no header.
#[derive(Clone, Copy, Default)]
struct Header {
    ack: u32,
    flags: Flags,
    length: u32,
}

impl Header {
    fn read(fields: &mut Fields) -> Result<Header, Why> {
        let Some(ack) = fields.next() else { return Ok(Header::default()) };
        let Some(flags) = fields.next().and_then(|flags| flags.strip_prefix(b"0x")) else { return Ok(Header::default()) };
        let wrong = || Why::Damaged("its TCP header is not one".to_owned());
        let flags = hexadecimal(flags).ok_or_else(wrong)?;
        Ok(Header {
            ack: signed(ack).ok_or_else(wrong)?,
            flags: Flags((flags & 0x1ff) as u16),
            length: fields.read("header length", decimal)?,
        })
    }
}

/// The column of flags. ns-2.35 writes seven letters, older ones six, SCTP eight.
fn letters(field: &[u8]) -> Option<&[u8]> {
    field.iter().all(|&letter| letter == b'-' || letter.is_ascii_alphanumeric()).then_some(field)
}

fn has(letters: &[u8], (place, letter): (usize, u8)) -> bool {
    letters.get(place) == Some(&letter)
}

fn ecn(letters: &[u8]) -> Ecn {
    match (has(letters, EXPERIENCED), has(letters, CAPABLE)) {
        (true, _) => Ecn::Ce,
        (false, true) => Ecn::Ect0,
        (false, false) => Ecn::NotEct,
    }
}

/// `node.agent`.
fn end(field: &[u8]) -> Option<End> {
    let dot = field.iter().position(|&byte| byte == b'.')?;
    Some(End { address: Address::Node(decimal(&field[..dot])?), port: decimal(&field[dot + 1..])? })
}

/// A number that may be -1, as what has none; modulo 2^32.
fn signed(field: &[u8]) -> Option<u32> {
    match field.strip_prefix(b"-") {
        Some(digits) => decimal::<u32>(digits).map(u32::wrapping_neg),
        None => decimal(field),
    }
}

/// What is left of a line, field by field.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.0.iter().position(|&byte| byte != b' ')?;
        let field = &self.0[start..];
        let end = field.iter().position(|&byte| byte == b' ').unwrap_or(field.len());
        self.0 = &field[end..];
        Some(&field[..end])
    }

    fn read<T>(&mut self, name: &str, read: impl FnOnce(&'a [u8]) -> Option<T>) -> Result<T, Why> {
        let field = self.next().ok_or_else(|| Why::Damaged(format!("the line ends before its {name}")))?;
        read(field).ok_or_else(|| Why::Damaged(format!("'{}' is not a {name}", String::from_utf8_lossy(&field[..field.len().min(40)]))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Event {
        match line(text.as_bytes()) {
            Ok(Line::Event(event)) => event,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn wrong(text: &str) -> String {
        line(text.as_bytes()).unwrap_err().to_string()
    }

    /// ns-2.35 wrote all lines of these tests.
    #[test]
    fn a_marked_packet_that_tells_of_a_reduction_is_read_whole() {
        let event = read("r 1.355637 1 2 tcp 1040 ---AE-N 3 0.0 2.0 18 68");
        assert_eq!((Time::from_picos(1_355_637_000_000), What::Received), (event.time, event.what));
        assert_eq!(Place::Link { from: 1, to: 2 }, event.place);
        let packet = event.packet;
        assert_eq!((Kind::Data, 1040, Ecn::Ce), (packet.kind, packet.size, packet.ecn));
        assert_eq!(("0.0".to_owned(), "2.0".to_owned()), (packet.source.to_string(), packet.destination.to_string()));
        assert_eq!((Some(3), Some(68), 18, Flags::CWR), (packet.flow, packet.id, packet.tcp.seq, packet.tcp.flags));
    }

    #[test]
    fn an_acknowledgement_names_the_next_packet_that_is_expected() {
        let packet = read("+ 0.105032 2 1 ack 40 C------ 3 2.0 0.0 17 69").packet;
        assert_eq!((Kind::Ack, 0, 18, Flags::ECE | Flags::ACK), (packet.kind, packet.payload, packet.tcp.ack, packet.tcp.flags));
    }

    #[test]
    fn the_header_that_full_tcp_shows_is_read() {
        let packet = read("r 0.381128 1 2 tcp 576 ------N 0 0.2 2.2 1073 54 1 0x10 40 0").packet;
        assert_eq!((1073, 1, Flags::ACK, 536), (packet.tcp.seq, packet.tcp.ack, packet.tcp.flags, packet.payload));
        let one_way = read("- 0.37652 2 1 ack 64 C------ 3 2.0 0.0 17 70 0 0x0 0 3").packet;
        assert_eq!((18, 0), (one_way.tcp.ack, one_way.payload));
    }

    #[test]
    fn annotations_and_variables_are_passed_over() {
        for text in ["v 0.1 eval {set sim_annotation {start}}", "f t1.5 a_o12 ncwnd_ v4", ""] {
            assert!(matches!(line(text.as_bytes()), Ok(Line::Aside)), "{text}");
        }
    }

    #[test]
    fn a_line_that_is_none_is_said_to_be_wrong_where_it_is() {
        assert_eq!("'0,5' is not a time", wrong("+ 0,5 0 1 tcp 40 ------- 0 0.0 1.0 0 0"));
        assert_eq!("the line ends before its packet number", wrong("+ 0.5 0 1 tcp 40 ------- 0 0.0 1.0 0"));
        assert_eq!("'0.0.1.2' is not a source", wrong("+ 0.5 0 1 tcp 40 ------- 0 0.0.1.2 1.0 0 0"));
        assert!(wrong("+ -t 0.5 -s 0 -d 1 -p tcp").contains("nam"));
        assert!(wrong("+ 0.5 -s 0 -d 1 -p tcp -e 40").contains("tags"));
        assert!(wrong("s 0.5 _0_ AGT --- 0 tcp 40").contains("wireless"));
    }
}
