//! Reads pcap: a header of 24 bytes, and 16 bytes before each packet.

use super::clock::{CaptureClock, CaptureTime, TimeResolution};
use super::{ByteOrder, Interface, MAX_CAPTURED_BYTES, MAX_HEADER_BYTES, Record, packet_event};
use crate::error::ReadErrorKind;
use crate::event::TraceEvent;
use crate::header::Bytes;
use crate::header::link::LinkType;
use crate::record::{NextRecord, RecordError};
use crate::source::ByteSource;

const FILE_HEADER_BYTES: usize = 24;
const RECORD_HEADER_BYTES: usize = 16;

/// A file whose header has been read.
pub struct Pcap {
    byte_order: ByteOrder,
    resolution: TimeResolution,
    pub interface: Interface,
}

/// Byte order and resolution, by a file's first four bytes.
pub fn parse_magic(bytes: [u8; 4]) -> Option<(ByteOrder, TimeResolution)> {
    match bytes {
        [0xd4, 0xc3, 0xb2, 0xa1] => Some((ByteOrder::Little, TimeResolution::MICRO)),
        [0xa1, 0xb2, 0xc3, 0xd4] => Some((ByteOrder::Big, TimeResolution::MICRO)),
        [0x4d, 0x3c, 0xb2, 0xa1] => Some((ByteOrder::Little, TimeResolution::NANO)),
        [0xa1, 0xb2, 0x3c, 0x4d] => Some((ByteOrder::Big, TimeResolution::NANO)),
        _ => None,
    }
}

impl Pcap {
    pub fn open(source: &mut ByteSource) -> Result<Pcap, ReadErrorKind> {
        let header = Bytes(source.peek(FILE_HEADER_BYTES)?);
        let (byte_order, resolution) = header.array(0).and_then(parse_magic).ok_or(ReadErrorKind::Unknown)?;
        // The upper bits announce a frame checksum, which lies behind everything that is read.
        let link_number = (byte_order.u32(header, 20)? & 0xffff) as u16;
        let link_type = LinkType::of(link_number).ok_or_else(|| unknown_link_type(link_number))?;
        source.skip(FILE_HEADER_BYTES as u64)?;
        Ok(Pcap { byte_order, resolution, interface: Interface { name: None, link_type: Some(link_type), link_number } })
    }

    pub fn read_record(&mut self, source: &mut ByteSource, clock: &mut CaptureClock) -> Result<NextRecord, RecordError> {
        let header = Bytes(source.peek(RECORD_HEADER_BYTES)?);
        if header.0.is_empty() {
            return Ok(NextRecord::End);
        }
        let field = |at| self.byte_order.u32(header, at).map_err(RecordError::End);
        let (seconds, fraction, captured, wire_length) = (field(0)?, field(4)?, field(8)?, field(12)?);
        if captured > MAX_CAPTURED_BYTES {
            return Err(RecordError::End(ReadErrorKind::Damaged(format!("its captured length of {captured} bytes is above the maximum"))));
        }
        let fraction = self.resolution.capture_time(fraction.into());
        let capture_time = CaptureTime { seconds: u64::from(seconds) + fraction.seconds, picos: fraction.picos };
        let (peeked, record_length) = ((captured as usize).min(MAX_HEADER_BYTES), RECORD_HEADER_BYTES as u64 + u64::from(captured));
        let bytes = source.peek(RECORD_HEADER_BYTES + peeked)?.get(RECORD_HEADER_BYTES..).unwrap_or_default();
        let record = Record { interface: 0, capture_time, captured: bytes, wire_length };
        let read = match self.interface.link_type {
            Some(link_type) => packet_event(&record, link_type, clock),
            None => Ok(None),
        };
        finish_record(read, source, record_length)
    }
}

pub fn unknown_link_type(number: u16) -> ReadErrorKind {
    ReadErrorKind::Unsupported(format!("unsupported link type {number}; fix: capture as Ethernet, raw IP, Linux cooked or loopback"))
}

/// Consumes a record whose packet has been read.
pub fn finish_record(
    read: Result<Option<TraceEvent>, ReadErrorKind>,
    source: &mut ByteSource,
    length: u64,
) -> Result<NextRecord, RecordError> {
    if source.skip(length)? < length {
        return Err(RecordError::End(ReadErrorKind::Truncated));
    }
    NextRecord::from_content(read)
}
