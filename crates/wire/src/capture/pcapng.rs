//! Reads pcapng: blocks that say their kind and their length, before and behind.
//!
//! ```text
//! section header   byte order of what follows; interfaces are counted anew
//! interface        link type, name, resolution of its stamps
//! packet           enhanced (6) or obsolete (2): interface, stamp, lengths, bytes
//! simple packet    without a stamp, which is of no use here
//! all others       passed over
//! ```

use super::clock::{Clock, Resolution};
use super::pcap::{Next, Stop, finish, unknown_link};
use super::{HEADERS, Interface, LONGEST, Order, Record, event};
use crate::event::Event;
use crate::fault::Why;
use crate::header::Bytes;
use crate::header::link::LinkType;
use crate::source::Source;

/// What a block gives: an event, nothing, or something that is wrong with it alone.
type Read = Result<Option<Event>, Why>;

/// Kinds of blocks.
pub mod block {
    pub const SECTION: u32 = 0x0a0d_0d0a;
    pub const INTERFACE: u32 = 1;
    pub const OBSOLETE_PACKET: u32 = 2;
    pub const SIMPLE_PACKET: u32 = 3;
    pub const ENHANCED_PACKET: u32 = 6;
}

/// Options of interfaces.
pub mod option {
    pub const END: u16 = 0;
    pub const NAME: u16 = 2;
    pub const RESOLUTION: u16 = 9;
    pub const OFFSET: u16 = 14;
}

/// A file's first four bytes, which are the same in either byte order.
pub const MAGIC: [u8; 4] = block::SECTION.to_le_bytes();

/// What `if_tsresol` is unless an interface has it.
const MICROSECONDS: u8 = 6;

/// Kind and length before a block, and the length behind it.
const FRAME: u32 = 12;
/// As much of an interface's description as is looked at; as Wireshark, nothing believes in more.
const DESCRIPTION: usize = 64 * 1024;
/// Interfaces that are remembered, so that no file takes memory without bound.
const MOST_INTERFACES: usize = 4096;
/// Of an interface's name.
pub const NAME: usize = 200;
/// Before an enhanced packet's bytes, from the block's start.
pub const BEFORE_PACKET: usize = 28;

/// A file of which sections and interfaces have been read so far.
pub struct Pcapng {
    order: Order,
    /// Of all sections.
    pub interfaces: Vec<Interface>,
    resolutions: Vec<Resolution>,
    /// The section's first.
    first: usize,
    /// Blocks so far that hold a packet.
    pub packets: u64,
}

impl Pcapng {
    pub fn open() -> Pcapng {
        Pcapng { order: Order::Little, interfaces: Vec::new(), resolutions: Vec::new(), first: 0, packets: 0 }
    }

    pub fn next(&mut self, source: &mut Source, clock: &mut Clock) -> Result<Next, Stop> {
        let head = Bytes(source.peek(BEFORE_PACKET)?);
        if head.0.is_empty() {
            return Ok(Next::End);
        }
        let kind = self.order.u32(head, 0).ok_or(Stop::End(Why::Truncated))?;
        if kind == block::SECTION {
            self.begin_section(head)?;
        }
        let length = self.order.u32(head, 4).ok_or(Stop::End(Why::Truncated))?;
        if length < shortest(kind) || length % 4 != 0 {
            return Err(Stop::End(Why::Damaged(format!("a block of kind {kind} cannot be {length} bytes long"))));
        }
        self.packets += u64::from([block::ENHANCED_PACKET, block::OBSOLETE_PACKET, block::SIMPLE_PACKET].contains(&kind));
        let read = match kind {
            block::INTERFACE => self.interface(source, length)?,
            block::ENHANCED_PACKET | block::OBSOLETE_PACKET => self.packet(kind, source, length, clock)?,
            block::SIMPLE_PACKET => Err(Why::Unsupported("a simple packet block has no time".to_owned())),
            _ => Ok(None),
        };
        self.close(source, length)?;
        finish(read, source, 4)
    }

    /// Goes to the length behind a block, which must be that before it.
    fn close(&self, source: &mut Source, length: u32) -> Result<(), Stop> {
        source.skip(u64::from(length) - 4)?;
        match self.order.u32(Bytes(source.peek(4)?), 0) {
            None => Err(Stop::End(Why::Truncated)),
            Some(behind) if behind == length => Ok(()),
            Some(behind) => Err(Stop::End(Why::Damaged(format!("a block is {length} bytes long as it begins and {behind} as it ends")))),
        }
    }

    fn begin_section(&mut self, head: Bytes) -> Result<(), Stop> {
        self.order = match head.array(8) {
            Some([0x4d, 0x3c, 0x2b, 0x1a]) => Order::Little,
            Some([0x1a, 0x2b, 0x3c, 0x4d]) => Order::Big,
            Some(_) => return Err(Stop::End(Why::Damaged("a section's byte order is none".to_owned()))),
            None => return Err(Stop::End(Why::Truncated)),
        };
        self.first = self.interfaces.len();
        match self.order.u16(head, 12) {
            Some(1) => Ok(()),
            Some(version) => Err(Stop::End(Why::Unsupported(format!("version {version} of pcapng is not read; version 1 is")))),
            None => Err(Stop::End(Why::Truncated)),
        }
    }

    /// Reads a block that describes an interface.
    fn interface(&mut self, source: &mut Source, length: u32) -> Result<Read, Stop> {
        if self.interfaces.len() == MOST_INTERFACES {
            return Err(Stop::End(Why::Unsupported(format!("more than {MOST_INTERFACES} interfaces are not read"))));
        }
        let body = Bytes(source.peek((length as usize).min(DESCRIPTION))?).first(length as usize - 4);
        let link_number = self.order.u16(body, 8).ok_or(Stop::End(Why::Truncated))?;
        let link_type = LinkType::of(link_number);
        let options = Options::read(self.order, body.from(16));
        // Of a description that is longer than is looked at, an option may be cut here.
        let is_damaged = options.is_wrong || options.is_cut && length as usize <= DESCRIPTION;
        let resolution = Resolution::of_code(options.resolution.unwrap_or(MICROSECONDS));
        let is_read = resolution.is_some() && !is_damaged;
        self.interfaces.push(Interface { name: options.name, link_type: link_type.filter(|_| is_read), link_number });
        self.resolutions.push(resolution.unwrap_or(Resolution::MICRO).offset_by(options.offset.unwrap_or(0)));
        Ok(match (link_type, resolution) {
            _ if is_damaged => Err(Why::Damaged("an interface's options are not as long as they must be".to_owned())),
            (None, _) => Err(unknown_link(link_number)),
            (_, None) => Err(Why::Unsupported("stamps finer than 64 bits can count are not read".to_owned())),
            _ => Ok(None),
        })
    }

    /// Reads a block with a packet.
    fn packet(&self, kind: u32, source: &mut Source, length: u32, clock: &mut Clock) -> Result<Read, Stop> {
        let bytes = source.peek((length as usize - 4).min(BEFORE_PACKET + HEADERS))?;
        let head = Bytes(bytes);
        let field = |at| self.order.u32(head, at).ok_or(Stop::End(Why::Truncated));
        let number = match kind {
            block::OBSOLETE_PACKET => self.order.u16(head, 8).map_or(0, u32::from),
            _ => field(8)?,
        };
        let (high, low, kept, wire) = (field(12)?, field(16)?, field(20)?, field(24)?);
        if kept > LONGEST || u64::from(kept) + BEFORE_PACKET as u64 + 4 > u64::from(length) {
            return Ok(Err(Why::Damaged(format!("it says that {kept} bytes of a packet were kept, more than its block holds"))));
        }
        let at = self.first.saturating_add(number as usize);
        let (Some(interface), Some(resolution)) = (self.interfaces.get(at), self.resolutions.get(at)) else {
            return Ok(Err(Why::Damaged(format!("its interface, {number}, has not been described"))));
        };
        let stamp = resolution.stamp(u64::from(high) << 32 | u64::from(low));
        let record = Record { interface: at as u32, stamp, kept: head.from(BEFORE_PACKET).first(kept as usize).0, wire };
        Ok(interface.link_type.map_or(Ok(None), |link_type| event(&record, link_type, clock)))
    }
}

/// Length of a block with nothing in it that may be left out.
fn shortest(kind: u32) -> u32 {
    match kind {
        block::SECTION => FRAME + 16,
        block::INTERFACE => FRAME + 8,
        block::OBSOLETE_PACKET | block::ENHANCED_PACKET => FRAME + 20,
        _ => FRAME,
    }
}

/// What an interface's options say. Each of them may occur once (draft-ietf-opsawg-pcapng, section 4.2); of several the first holds.
#[derive(Default)]
struct Options {
    name: Option<String>,
    resolution: Option<u8>,
    offset: Option<i64>,
    /// The last one is longer than what there is.
    is_cut: bool,
    /// A resolution is not one byte long, or an offset not eight.
    is_wrong: bool,
}

impl Options {
    /// Reads options up to their end, or to one that is cut, whose value says nothing.
    fn read(order: Order, mut bytes: Bytes) -> Options {
        let mut options = Options::default();
        while let (Some(code), Some(length)) = (order.u16(bytes, 0), order.u16(bytes, 2)) {
            let value = bytes.from(4).first(length.into());
            if code == option::END {
                break;
            }
            if value.0.len() < usize::from(length) {
                options.is_cut = true;
                break;
            }
            match code {
                option::NAME if options.name.is_none() => options.name = Some(String::from_utf8_lossy(value.first(NAME).0).into_owned()),
                option::RESOLUTION if length == 1 => options.resolution = options.resolution.or(value.u8(0)),
                option::OFFSET if length == 8 => {
                    options.offset = options.offset.or(order.u64(value, 0).map(|seconds| seconds as i64));
                }
                option::RESOLUTION | option::OFFSET => options.is_wrong = true,
                _ => {}
            }
            bytes = bytes.from(4 + usize::from(length).next_multiple_of(4));
        }
        options
    }
}
