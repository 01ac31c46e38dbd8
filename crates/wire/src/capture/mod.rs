//! Captures: pcap (draft-ietf-opsawg-pcap) and pcapng (draft-ietf-opsawg-pcapng), of either byte order.

pub mod clock;
pub mod pcap;
pub mod pcapng;
pub mod write;

use crate::error::ReadErrorKind;
use crate::event::{Location, TraceEvent, TraceEventKind};
use crate::header::link::LinkType;
use crate::header::{Bytes, ip};
use clock::CaptureTime;

/// Bytes of a packet that are read: more than the longest headers, extension headers and tags included.
const MAX_HEADER_BYTES: usize = 1024;

/// Longest packet, as in Wireshark for most link types and in libpcap for its own records.
const MAX_CAPTURED_BYTES: u32 = 256 * 1024;

/// An interface at which packets were captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// `None` in pcap, and where the file gives none.
    pub name: Option<String>,
    /// `None` if its link type is not supported.
    pub link_type: Option<LinkType>,
    /// The number of its link type.
    pub link_number: u16,
}

/// A packet as its record describes it.
struct Record<'a> {
    interface: u32,
    capture_time: CaptureTime,
    captured: &'a [u8],
    /// Length that it had on the wire, its link header included.
    wire_length: u32,
}

/// Byte order of a file's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ByteOrder {
    #[default]
    Little,
    Big,
}

impl ByteOrder {
    pub fn u16(self, bytes: Bytes, at: usize) -> Result<u16, ReadErrorKind> {
        self.little_endian_bytes(bytes, at).map(u16::from_le_bytes)
    }

    pub fn u32(self, bytes: Bytes, at: usize) -> Result<u32, ReadErrorKind> {
        self.little_endian_bytes(bytes, at).map(u32::from_le_bytes)
    }

    pub fn u64(self, bytes: Bytes, at: usize) -> Result<u64, ReadErrorKind> {
        self.little_endian_bytes(bytes, at).map(u64::from_le_bytes)
    }

    /// Bytes of a number, with the lowest one first.
    fn little_endian_bytes<const N: usize>(self, bytes: Bytes, at: usize) -> Result<[u8; N], ReadErrorKind> {
        let mut number = bytes.array(at).ok_or(ReadErrorKind::Truncated)?;
        if self == ByteOrder::Big {
            number.reverse();
        }
        Ok(number)
    }
}

/// The event of a record; `None` if it is not an IP packet.
fn packet_event(record: &Record, link_type: LinkType, clock: &mut clock::CaptureClock) -> Result<Option<TraceEvent>, ReadErrorKind> {
    let Some(link_header) = link_type.ip_header_offset(Bytes(record.captured)) else { return Ok(None) };
    let time = clock.relative_time(record.capture_time)?;
    let bytes = Bytes(record.captured).from(link_header);
    let packet = ip::read_packet(bytes, record.wire_length.saturating_sub(link_header as u32))
        .map_err(|malformed| ReadErrorKind::Damaged(malformed.message().to_owned()))?;
    Ok(Some(TraceEvent { time, kind: TraceEventKind::Captured, location: Location::Interface(record.interface), packet }))
}
