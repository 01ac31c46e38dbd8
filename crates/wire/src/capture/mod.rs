//! Captures: pcap (draft-ietf-opsawg-pcap) and pcapng (draft-ietf-opsawg-pcapng), of either byte order.

pub mod clock;
pub mod pcap;
pub mod pcapng;
pub mod write;

use crate::event::{Event, Place, What};
use crate::fault::Why;
use crate::header::link::LinkType;
use crate::header::{Bytes, ip};
use clock::Stamp;

/// As much of a packet as is looked at: more than the longest headers there are, extension headers and tags included.
const HEADERS: usize = 1024;

/// No packet is longer; as Wireshark has it for most link types, and libpcap for its own records.
const LONGEST: u32 = 256 * 1024;

/// Where packets were captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// `None` in pcap, and where the file gives none.
    pub name: Option<String>,
    /// `None` if the headers of its packets are of a kind that is not read.
    pub link_type: Option<LinkType>,
    /// Its number for that kind.
    pub link_number: u16,
}

/// A packet as its record describes it.
struct Record<'a> {
    interface: u32,
    stamp: Stamp,
    kept: &'a [u8],
    /// Length that it had on the wire, its link header included.
    wire: u32,
}

/// Numbers of a file, in its byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Little,
    Big,
}

impl Order {
    pub fn u16(self, bytes: Bytes, at: usize) -> Option<u16> {
        match self {
            Order::Little => bytes.array(at).map(u16::from_le_bytes),
            Order::Big => bytes.u16(at),
        }
    }

    pub fn u32(self, bytes: Bytes, at: usize) -> Option<u32> {
        match self {
            Order::Little => bytes.array(at).map(u32::from_le_bytes),
            Order::Big => bytes.u32(at),
        }
    }

    pub fn u64(self, bytes: Bytes, at: usize) -> Option<u64> {
        match self {
            Order::Little => bytes.array(at).map(u64::from_le_bytes),
            Order::Big => bytes.array(at).map(u64::from_be_bytes),
        }
    }
}

/// The event of a record; `None` if it is not an IP packet.
fn event(record: &Record, link_type: LinkType, clock: &mut clock::Clock) -> Result<Option<Event>, Why> {
    let Some(before) = link_type.header_length(Bytes(record.kept)) else { return Ok(None) };
    let time = clock.time(record.stamp)?;
    let bytes = Bytes(record.kept).from(before);
    let packet = ip::packet(bytes, record.wire.saturating_sub(before as u32)).map_err(|wrong| Why::Damaged(wrong.message().to_owned()))?;
    Ok(Some(Event { time, what: What::Seen, place: Place::Interface(record.interface), packet }))
}
