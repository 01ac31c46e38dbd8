//! Reads pcapng: blocks with their kind and length in front, and their length again behind.
//!
//! ```text
//! section header   byte order of the section; numbers of interfaces restart
//! interface        link type, name, resolution of its timestamps
//! packet           enhanced (6) or obsolete (2): interface, timestamp, lengths, bytes
//! simple packet    without a timestamp, so it is reported as unsupported
//! all others       skipped
//! ```

use super::clock::{CaptureClock, TimeResolution};
use super::pcap::{finish_record, unknown_link_type};
use super::{ByteOrder, Interface, MAX_CAPTURED_BYTES, MAX_HEADER_BYTES, Record, packet_event};
use crate::error::ReadErrorKind;
use crate::event::TraceEvent;
use crate::header::Bytes;
use crate::header::link::LinkType;
use crate::record::{NextRecord, RecordError};
use crate::source::ByteSource;

/// Result of a block: an event, nothing, or an error of this block alone.
type BlockResult = Result<Option<TraceEvent>, ReadErrorKind>;

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
pub const FILE_MAGIC: [u8; 4] = block::SECTION.to_le_bytes();

/// Default of `if_tsresol`: microseconds.
const DEFAULT_RESOLUTION_CODE: u8 = 6;

/// Kind and length before a block, and the length behind it.
const BLOCK_OVERHEAD_BYTES: u32 = 12;
/// Bytes of an interface's description that are read, as in Wireshark.
const MAX_INTERFACE_BLOCK_PEEK_BYTES: usize = 64 * 1024;
/// Interfaces of a file, bounded so that memory is.
const MAX_INTERFACES: usize = 4096;
/// Bytes of an interface's name.
pub const MAX_NAME_BYTES: usize = 200;
/// Offset of an enhanced packet's bytes from the block's start.
pub const PACKET_DATA_OFFSET: usize = 28;

/// State of a file: sections and interfaces so far.
#[derive(Default)]
pub struct Pcapng {
    byte_order: ByteOrder,
    /// Of all sections.
    pub interfaces: Vec<Interface>,
    resolutions: Vec<TimeResolution>,
    /// Index of the section's first interface.
    first_interface: usize,
    /// Blocks so far that hold a packet.
    pub packets: u64,
}

impl Pcapng {
    pub fn read_block(&mut self, source: &mut ByteSource, clock: &mut CaptureClock) -> Result<NextRecord, RecordError> {
        let block_start = Bytes(source.peek(PACKET_DATA_OFFSET)?);
        if block_start.0.is_empty() {
            return Ok(NextRecord::End);
        }
        let kind = self.byte_order.u32(block_start, 0).map_err(RecordError::End)?;
        if kind == block::SECTION {
            self.begin_section(block_start).map_err(RecordError::End)?;
        }
        let length = self.byte_order.u32(block_start, 4).map_err(RecordError::End)?;
        if length < min_block_length(kind) || length % 4 != 0 {
            return Err(RecordError::End(ReadErrorKind::Damaged(format!("a block of kind {kind} cannot be {length} bytes long"))));
        }
        self.packets += u64::from([block::ENHANCED_PACKET, block::OBSOLETE_PACKET, block::SIMPLE_PACKET].contains(&kind));
        let read = match kind {
            block::INTERFACE => self.read_interface(source, length).map_err(RecordError::End)?,
            block::ENHANCED_PACKET | block::OBSOLETE_PACKET => self.read_packet(kind, source, length, clock).map_err(RecordError::End)?,
            block::SIMPLE_PACKET => Err(ReadErrorKind::Unsupported("a simple packet block has no time".to_owned())),
            _ => Ok(None),
        };
        self.check_trailer(source, length).map_err(RecordError::End)?;
        finish_record(read, source, 4)
    }

    /// Skips to the length behind a block, which must equal that in front.
    fn check_trailer(&self, source: &mut ByteSource, length: u32) -> Result<(), ReadErrorKind> {
        source.skip(u64::from(length) - 4)?;
        let trailer = self.byte_order.u32(Bytes(source.peek(4)?), 0)?;
        if trailer == length {
            return Ok(());
        }
        Err(ReadErrorKind::Damaged(format!("a block is {length} bytes long as it begins and {trailer} as it ends")))
    }

    fn begin_section(&mut self, block_start: Bytes) -> Result<(), ReadErrorKind> {
        self.byte_order = match block_start.array(8).ok_or(ReadErrorKind::Truncated)? {
            [0x4d, 0x3c, 0x2b, 0x1a] => ByteOrder::Little,
            [0x1a, 0x2b, 0x3c, 0x4d] => ByteOrder::Big,
            _ => return Err(ReadErrorKind::Damaged("unknown byte order of a section".to_owned())),
        };
        self.first_interface = self.interfaces.len();
        match self.byte_order.u16(block_start, 12)? {
            1 => Ok(()),
            version => Err(ReadErrorKind::Unsupported(format!("version {version} of pcapng is not read; version 1 is"))),
        }
    }

    /// Reads a block that describes an interface.
    fn read_interface(&mut self, source: &mut ByteSource, length: u32) -> Result<BlockResult, ReadErrorKind> {
        if self.interfaces.len() == MAX_INTERFACES {
            return Err(ReadErrorKind::Unsupported(format!("more than {MAX_INTERFACES} interfaces are not read")));
        }
        let body = Bytes(source.peek((length as usize).min(MAX_INTERFACE_BLOCK_PEEK_BYTES))?).truncated(length as usize - 4);
        let link_number = self.byte_order.u16(body, 8)?;
        let link_type = LinkType::of(link_number);
        let options = InterfaceOptions::read(self.byte_order, body.from(16));
        // A description that is longer than is read may end within an option.
        let is_damaged = options.is_malformed || options.is_truncated && length as usize <= MAX_INTERFACE_BLOCK_PEEK_BYTES;
        let resolution = TimeResolution::from_code(options.resolution.unwrap_or(DEFAULT_RESOLUTION_CODE));
        let is_read = resolution.is_some() && !is_damaged;
        self.interfaces.push(Interface { name: options.name, link_type: link_type.filter(|_| is_read), link_number });
        self.resolutions.push(resolution.unwrap_or(TimeResolution::MICRO).with_offset(options.offset.unwrap_or(0)));
        Ok(match (link_type, resolution) {
            _ if is_damaged => Err(ReadErrorKind::Damaged("an interface's options have a wrong length".to_owned())),
            (None, _) => Err(unknown_link_type(link_number)),
            (_, None) => Err(ReadErrorKind::Unsupported("timestamps finer than 64 bits are not supported".to_owned())),
            _ => Ok(None),
        })
    }

    /// Reads a block with a packet.
    fn read_packet(&self, kind: u32, source: &mut ByteSource, length: u32, clock: &mut CaptureClock) -> Result<BlockResult, ReadErrorKind> {
        let bytes = source.peek((length as usize - 4).min(PACKET_DATA_OFFSET + MAX_HEADER_BYTES))?;
        let block_start = Bytes(bytes);
        let field = |at| self.byte_order.u32(block_start, at);
        let number = match kind {
            block::OBSOLETE_PACKET => self.byte_order.u16(block_start, 8).map_or(0, u32::from),
            _ => field(8)?,
        };
        let (high, low, captured, wire_length) = (field(12)?, field(16)?, field(20)?, field(24)?);
        if captured > MAX_CAPTURED_BYTES || u64::from(captured) + PACKET_DATA_OFFSET as u64 + 4 > u64::from(length) {
            return Ok(Err(ReadErrorKind::Damaged(format!("its captured length of {captured} bytes is larger than its block"))));
        }
        let at = self.first_interface.saturating_add(number as usize);
        let (Some(interface), Some(resolution)) = (self.interfaces.get(at), self.resolutions.get(at)) else {
            return Ok(Err(ReadErrorKind::Damaged(format!("its interface {number} has no interface description block"))));
        };
        let capture_time = resolution.capture_time(u64::from(high) << 32 | u64::from(low));
        let record = Record {
            interface: at as u32,
            capture_time,
            captured: block_start.from(PACKET_DATA_OFFSET).truncated(captured as usize).0,
            wire_length,
        };
        Ok(interface.link_type.map_or(Ok(None), |link_type| packet_event(&record, link_type, clock)))
    }
}

/// Length of a block without optional parts.
fn min_block_length(kind: u32) -> u32 {
    match kind {
        block::SECTION => BLOCK_OVERHEAD_BYTES + 16,
        block::INTERFACE => BLOCK_OVERHEAD_BYTES + 8,
        block::OBSOLETE_PACKET | block::ENHANCED_PACKET => BLOCK_OVERHEAD_BYTES + 20,
        _ => BLOCK_OVERHEAD_BYTES,
    }
}

/// Options of an interface. Each of them may occur once (draft-ietf-opsawg-pcapng, section 4.2); of several the first is used.
#[derive(Default)]
struct InterfaceOptions {
    name: Option<String>,
    resolution: Option<u8>,
    offset: Option<i64>,
    /// The last one is longer than the block.
    is_truncated: bool,
    /// A resolution is not one byte long, or an offset not eight.
    is_malformed: bool,
}

impl InterfaceOptions {
    /// Reads options up to their end, or to a truncated one, whose value is ignored.
    fn read(byte_order: ByteOrder, mut bytes: Bytes) -> InterfaceOptions {
        let mut options = InterfaceOptions::default();
        while let (Ok(code), Ok(length)) = (byte_order.u16(bytes, 0), byte_order.u16(bytes, 2)) {
            let value = bytes.from(4).truncated(length.into());
            if code == option::END {
                break;
            }
            if value.0.len() < usize::from(length) {
                options.is_truncated = true;
                break;
            }
            match code {
                option::NAME if options.name.is_none() => {
                    options.name = Some(String::from_utf8_lossy(value.truncated(MAX_NAME_BYTES).0).into_owned())
                }
                option::RESOLUTION if length == 1 => options.resolution = options.resolution.or(value.u8(0)),
                option::OFFSET if length == 8 => {
                    options.offset = options.offset.or(byte_order.u64(value, 0).ok().map(|seconds| seconds as i64));
                }
                option::RESOLUTION | option::OFFSET => options.is_malformed = true,
                _ => {}
            }
            bytes = bytes.from(4 + usize::from(length).next_multiple_of(4));
        }
        options
    }
}
