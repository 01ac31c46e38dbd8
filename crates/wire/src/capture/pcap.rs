//! Reads pcap: a header of 24 bytes, and 16 bytes before each packet.

use std::io;

use super::clock::{Clock, Resolution, Stamp};
use super::{HEADERS, Interface, LONGEST, Order, Record, event};
use crate::event::Event;
use crate::fault::Why;
use crate::header::Bytes;
use crate::header::link::LinkType;
use crate::source::Source;

const HEADER: usize = 24;
const RECORD: usize = 16;

/// A file whose header has been read.
pub struct Pcap {
    order: Order,
    resolution: Resolution,
    pub interface: Interface,
}

/// What the next record is.
pub enum Next {
    Event(Event),
    /// A packet of another protocol, or something that is no packet.
    Aside,
    End,
}

/// Why there is no next record, and whether there may be one behind it.
pub enum Stop {
    Skip(Why),
    End(Why),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::End(error.into())
    }
}

/// Byte order and resolution, by a file's first four bytes.
pub fn magic(bytes: [u8; 4]) -> Option<(Order, Resolution)> {
    match bytes {
        [0xd4, 0xc3, 0xb2, 0xa1] => Some((Order::Little, Resolution::MICRO)),
        [0xa1, 0xb2, 0xc3, 0xd4] => Some((Order::Big, Resolution::MICRO)),
        [0x4d, 0x3c, 0xb2, 0xa1] => Some((Order::Little, Resolution::NANO)),
        [0xa1, 0xb2, 0x3c, 0x4d] => Some((Order::Big, Resolution::NANO)),
        _ => None,
    }
}

impl Pcap {
    pub fn open(source: &mut Source) -> Result<Pcap, Stop> {
        let header = Bytes(source.peek(HEADER)?);
        let (order, resolution) = header.array(0).and_then(magic).ok_or(Stop::End(Why::Unknown))?;
        // The upper bits say whether frames end with a checksum, which lies behind all that is read.
        let link_number = (order.u32(header, 20).ok_or(Stop::End(Why::Truncated))? & 0xffff) as u16;
        let link_type = LinkType::of(link_number).ok_or_else(|| Stop::End(unknown_link(link_number)))?;
        source.skip(HEADER as u64)?;
        Ok(Pcap { order, resolution, interface: Interface { name: None, link_type: Some(link_type), link_number } })
    }

    pub fn next(&mut self, source: &mut Source, clock: &mut Clock) -> Result<Next, Stop> {
        let header = Bytes(source.peek(RECORD)?);
        if header.0.is_empty() {
            return Ok(Next::End);
        }
        let field = |at| self.order.u32(header, at).ok_or(Stop::End(Why::Truncated));
        let (seconds, below, kept, wire) = (field(0)?, field(4)?, field(8)?, field(12)?);
        if kept > LONGEST {
            return Err(Stop::End(Why::Damaged(format!("it says that {kept} bytes of a packet were kept, more than any capture keeps"))));
        }
        let below = self.resolution.stamp(below.into());
        let stamp = Stamp { seconds: u64::from(seconds) + below.seconds, picos: below.picos };
        let (ahead, all) = ((kept as usize).min(HEADERS), RECORD as u64 + u64::from(kept));
        let bytes = source.peek(RECORD + ahead)?.get(RECORD..).unwrap_or_default();
        let record = Record { interface: 0, stamp, kept: bytes, wire };
        let read = match self.interface.link_type {
            Some(link_type) => event(&record, link_type, clock),
            None => Ok(None),
        };
        finish(read, source, all)
    }
}

pub fn unknown_link(number: u16) -> Why {
    Why::Unsupported(format!("packets of link type {number} are not read; Ethernet, raw IP, Linux' cooked captures and loopback are"))
}

/// Takes a record whose packet has been read.
pub fn finish(read: Result<Option<Event>, Why>, source: &mut Source, length: u64) -> Result<Next, Stop> {
    if source.skip(length)? < length {
        return Err(Stop::End(Why::Truncated));
    }
    match read {
        Ok(Some(event)) => Ok(Next::Event(event)),
        Ok(None) => Ok(Next::Aside),
        Err(why) => Err(Stop::Skip(why)),
    }
}
