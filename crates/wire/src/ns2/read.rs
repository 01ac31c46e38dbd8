//! Reads ns-2's lines.

use ecnlab_units::{Ecn, Time};

use super::number::{parse_decimal, parse_hexadecimal, parse_seconds};
use super::{CE_POSITION_AND_LETTER, CWR_POSITION_AND_LETTER, ECE_POSITION_AND_LETTER, ECT_POSITION_AND_LETTER, PACKET_TYPES};
use crate::address::{Address, End};
use crate::error::ReadErrorKind;
use crate::event::{Kind, Location, Packet, TraceEvent, TraceEventKind, Truncation};
use crate::tcp::{Flags, Tcp};

/// Longest line; ns-2 writes shorter ones.
const MAX_LINE_BYTES: usize = 4096;

/// Reads a line. `None` is an annotation, a variable, a hop for nam: not an event of a packet on a link.
///
/// # Errors
/// If it is not of the format, [`ReadErrorKind::Damaged`]; if it is of a format of ns-2's that is not read here, [`ReadErrorKind::Unsupported`].
pub fn parse_line(text: &[u8]) -> Result<Option<TraceEvent>, ReadErrorKind> {
    if text.len() > MAX_LINE_BYTES {
        return Err(ReadErrorKind::Damaged(format!("the line is longer than {MAX_LINE_BYTES} bytes")));
    }
    let kind = match text {
        [b'+', b' ', ..] => TraceEventKind::Enqueued,
        [b'-', b' ', ..] => TraceEventKind::Dequeued,
        [b'd', b' ', ..] => TraceEventKind::Dropped,
        [b'r', b' ', ..] => TraceEventKind::Received,
        _ => return parse_other_line(text),
    };
    parse_event(kind, Fields(&text[2..])).map(Some).map_err(|kind| unsupported_format(text).unwrap_or(kind))
}

/// Lines that are not about a packet on a link: blank ones, annotations (`v`), hops (`h`), variables (`X tTIME aAGENT nNAME vVALUE`).
fn parse_other_line(text: &[u8]) -> Result<Option<TraceEvent>, ReadErrorKind> {
    match text {
        [] | [b'v' | b'h', b' ', ..] | [_, b' ', b't', b'0'..=b'9', ..] => Ok(None),
        _ => Err(unsupported_format(text)
            .unwrap_or_else(|| ReadErrorKind::Damaged("a line of an ns-2 trace begins with '+', '-', 'd' or 'r' and a space".to_owned()))),
    }
}

/// The error of a line in another of ns-2's formats, if it is one.
fn unsupported_format(text: &[u8]) -> Option<ReadErrorKind> {
    let mut fields = Fields(text);
    let (sign, second, third) = (fields.next(), fields.next(), fields.next());
    let format = match (sign, second, third) {
        (Some([b's' | b'r' | b'd' | b'f']), Some(b"-t"), _) | (_, Some(_), Some([b'_', ..])) => "ns-2's wireless nodes",
        (_, Some(b"-t"), _) => "nam, ns-2's animator",
        (_, Some(_), Some(b"-s")) => "ns-2 with tags",
        _ => return None,
    };
    Some(ReadErrorKind::Unsupported(format!("unsupported trace of {format}; fix: write the trace of links with 'trace-all'")))
}

fn parse_event(event: TraceEventKind, mut fields: Fields) -> Result<TraceEvent, ReadErrorKind> {
    let time = fields.parse_next("time", parse_seconds)?;
    let location = Location::Link { from: fields.parse_next("node", parse_decimal)?, to: fields.parse_next("node", parse_decimal)? };
    let kind = packet_kind(fields.parse_next("packet type", Some)?);
    let size = fields.parse_next("size", parse_decimal)?;
    let flag_letters = fields.parse_next("flags", check_flag_letters)?;
    let flow = fields.parse_next("flow", parse_decimal)?;
    let (source, destination) = (fields.parse_next("source", parse_end)?, fields.parse_next("destination", parse_end)?);
    let seq = fields.parse_next("sequence number", parse_signed_as_u32)?;
    let id = fields.parse_next("packet number", parse_decimal)?;
    let header = LoggedTcpHeader::read(&mut fields)?;
    let packet = Packet {
        kind,
        source,
        destination,
        flow: Some(flow),
        id: Some(id),
        size,
        payload: payload_bytes(kind, size, header),
        ecn: ecn_of_flags(flag_letters),
        tcp: tcp_fields(kind, seq, flag_letters, header),
        truncation: Truncation::Complete,
    };
    Ok(TraceEvent { time: Time::from_picos(time), kind: event, location, packet })
}

fn packet_kind(name: &[u8]) -> Kind {
    PACKET_TYPES.iter().find(|(known, _)| known.as_bytes() == name).map_or(Kind::Other, |&(_, kind)| kind)
}

fn payload_bytes(kind: Kind, size: u32, header: LoggedTcpHeader) -> u32 {
    match header.length {
        0 if kind == Kind::Ack => 0,
        length => size.saturating_sub(length),
    }
}

/// The fields of TCP's header that a line shows.
fn tcp_fields(kind: Kind, seq: u32, flag_letters: &[u8], header: LoggedTcpHeader) -> Tcp {
    let flags = Flags::default()
        .with_if(Flags::ECE, has_flag(flag_letters, ECE_POSITION_AND_LETTER))
        .with_if(Flags::CWR, has_flag(flag_letters, CWR_POSITION_AND_LETTER));
    match kind {
        Kind::Data | Kind::Ack if header.length > 0 => Tcp { seq, ack: header.ack, flags: flags | header.flags, ..Tcp::default() },
        Kind::Ack => Tcp { ack: seq.wrapping_add(1), flags: flags | Flags::ACK, ..Tcp::default() },
        Kind::Data => Tcp { seq, flags, ..Tcp::default() },
        Kind::Datagram => Tcp { seq, ..Tcp::default() },
        Kind::Other => Tcp::default(),
    }
}

/// Fields that `show_tcphdr_` adds; zero without it, and for one-way agents, which have no header.
#[derive(Clone, Copy, Default)]
struct LoggedTcpHeader {
    ack: u32,
    flags: Flags,
    length: u32,
}

impl LoggedTcpHeader {
    fn read(fields: &mut Fields) -> Result<LoggedTcpHeader, ReadErrorKind> {
        let Some(ack) = fields.next() else { return Ok(LoggedTcpHeader::default()) };
        let Some(flags) = fields.next().and_then(|flags| flags.strip_prefix(b"0x")) else { return Ok(LoggedTcpHeader::default()) };
        let wrong_header = || ReadErrorKind::Damaged("its TCP header is malformed".to_owned());
        let flags = parse_hexadecimal(flags).ok_or_else(wrong_header)?;
        Ok(LoggedTcpHeader {
            ack: parse_signed_as_u32(ack).ok_or_else(wrong_header)?,
            flags: Flags((flags & 0x1ff) as u16),
            length: fields.parse_next("header length", parse_decimal)?,
        })
    }
}

/// The column of flags. ns-2.35 writes seven letters, older ones six, SCTP eight.
fn check_flag_letters(field: &[u8]) -> Option<&[u8]> {
    field.iter().all(|&letter| letter == b'-' || letter.is_ascii_alphanumeric()).then_some(field)
}

fn has_flag(flag_letters: &[u8], (position, letter): (usize, u8)) -> bool {
    flag_letters.get(position) == Some(&letter)
}

fn ecn_of_flags(flag_letters: &[u8]) -> Ecn {
    match (has_flag(flag_letters, CE_POSITION_AND_LETTER), has_flag(flag_letters, ECT_POSITION_AND_LETTER)) {
        (true, _) => Ecn::Ce,
        (false, true) => Ecn::Ect0,
        (false, false) => Ecn::NotEct,
    }
}

/// `node.agent`.
fn parse_end(field: &[u8]) -> Option<End> {
    let dot = field.iter().position(|&byte| byte == b'.')?;
    Some(End { address: Address::Node(parse_decimal(&field[..dot])?), port: parse_decimal(&field[dot + 1..])? })
}

/// A number that may be -1, for none; modulo 2^32.
fn parse_signed_as_u32(field: &[u8]) -> Option<u32> {
    match field.strip_prefix(b"-") {
        Some(digits) => parse_decimal::<u32>(digits).map(u32::wrapping_neg),
        None => parse_decimal(field),
    }
}

/// The rest of a line, field by field.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.0.iter().position(|&byte| byte != b' ')?;
        let field = &self.0[start..];
        let end = field.iter().position(|&byte| byte == b' ').unwrap_or(field.len());
        self.0 = &field[end..];
        Some(&field[..end])
    }

    fn parse_next<T>(&mut self, name: &str, read: impl FnOnce(&'a [u8]) -> Option<T>) -> Result<T, ReadErrorKind> {
        let field = self.next().ok_or_else(|| ReadErrorKind::Damaged(format!("the line ends before its {name}")))?;
        read(field)
            .ok_or_else(|| ReadErrorKind::Damaged(format!("'{}' is not a {name}", String::from_utf8_lossy(&field[..field.len().min(40)]))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_event(text: &str) -> TraceEvent {
        match parse_line(text.as_bytes()) {
            Ok(Some(event)) => event,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn parse_failure(text: &str) -> String {
        parse_line(text.as_bytes()).unwrap_err().to_string()
    }

    /// ns-2.35 wrote all lines of these tests.
    #[test]
    fn all_fields_of_a_marked_packet_with_cwr_are_read() {
        let event = read_event("r 1.355637 1 2 tcp 1040 ---AE-N 3 0.0 2.0 18 68");
        assert_eq!((Time::from_picos(1_355_637_000_000), TraceEventKind::Received), (event.time, event.kind));
        assert_eq!(Location::Link { from: 1, to: 2 }, event.location);
        let packet = event.packet;
        assert_eq!((Kind::Data, 1040, Ecn::Ce), (packet.kind, packet.size, packet.ecn));
        assert_eq!(("0.0".to_owned(), "2.0".to_owned()), (packet.source.to_string(), packet.destination.to_string()));
        assert_eq!((Some(3), Some(68), 18, Flags::CWR), (packet.flow, packet.id, packet.tcp.seq, packet.tcp.flags));
    }

    #[test]
    fn an_acknowledgement_has_the_next_expected_packet() {
        let packet = read_event("+ 0.105032 2 1 ack 40 C------ 3 2.0 0.0 17 69").packet;
        assert_eq!((Kind::Ack, 0, 18, Flags::ECE | Flags::ACK), (packet.kind, packet.payload, packet.tcp.ack, packet.tcp.flags));
    }

    #[test]
    fn the_header_that_full_tcp_shows_is_read() {
        let packet = read_event("r 0.381128 1 2 tcp 576 ------N 0 0.2 2.2 1073 54 1 0x10 40 0").packet;
        assert_eq!((1073, 1, Flags::ACK, 536), (packet.tcp.seq, packet.tcp.ack, packet.tcp.flags, packet.payload));
        let one_way = read_event("- 0.37652 2 1 ack 64 C------ 3 2.0 0.0 17 70 0 0x0 0 3").packet;
        assert_eq!((18, 0), (one_way.tcp.ack, one_way.payload));
    }

    #[test]
    fn annotations_and_variables_are_ignored() {
        for text in ["v 0.1 eval {set sim_annotation {start}}", "f t1.5 a_o12 ncwnd_ v4", ""] {
            assert!(matches!(parse_line(text.as_bytes()), Ok(None)), "{text}");
        }
    }

    #[test]
    fn an_error_names_the_wrong_field() {
        assert_eq!("'0,5' is not a time", parse_failure("+ 0,5 0 1 tcp 40 ------- 0 0.0 1.0 0 0"));
        assert_eq!("the line ends before its packet number", parse_failure("+ 0.5 0 1 tcp 40 ------- 0 0.0 1.0 0"));
        assert_eq!("'0.0.1.2' is not a source", parse_failure("+ 0.5 0 1 tcp 40 ------- 0 0.0.1.2 1.0 0 0"));
        assert!(parse_failure("+ -t 0.5 -s 0 -d 1 -p tcp").contains("nam"));
        assert!(parse_failure("+ 0.5 -s 0 -d 1 -p tcp -e 40").contains("tags"));
        assert!(parse_failure("s 0.5 _0_ AGT --- 0 tcp 40").contains("wireless"));
    }
}
