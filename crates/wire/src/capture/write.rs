//! Writes pcapng: one section in the byte order of little-endian machines, interfaces with their names, and packets with stamps in nanoseconds.

use ecnlab_units::Time;

use super::pcapng::{MAX_NAME_BYTES, PACKET_DATA_OFFSET, block, option};
use crate::header::write::Headers;

/// IPv4 and nothing before it; IPv6.
const LINK_TYPE_IPV4: u16 = 228;
const LINK_TYPE_IPV6: u16 = 229;
/// Either version; each packet's header has it.
const LINK_TYPE_RAW: u16 = 101;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const NANOSECOND_RESOLUTION_CODE: u8 = 9;
const PICOS_PER_NANO: u64 = 1_000;
/// Option code of the program that wrote the section (`shb_userappl`).
const APPLICATION_OPTION: u16 = 4;

/// The version of IP that an interface's packets have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpVersion {
    V4,
    V6,
}

/// Writes blocks into a buffer that its owner empties.
#[derive(Clone, Copy, Debug)]
pub struct PcapngWriter {
    /// Bytes that are kept of each packet.
    snap_length: u32,
}

impl PcapngWriter {
    /// Begins a file in which at most `snap_length` bytes of each packet are kept, written by `application`.
    pub fn begin(snap_length: u32, application: &str, out: &mut Vec<u8>) -> PcapngWriter {
        push_block(block::SECTION, out, |out| {
            out.extend(BYTE_ORDER_MAGIC.to_le_bytes());
            out.extend([1_u16, 0].map(u16::to_le_bytes).as_flattened());
            out.extend(u64::MAX.to_le_bytes());
            push_option(APPLICATION_OPTION, application.as_bytes(), out);
            push_option(option::END, &[], out);
        });
        PcapngWriter { snap_length }
    }

    /// Adds an interface; their numbers count from 0. Names are cut to [`MAX_NAME_BYTES`]. Without a version its packets may be of either.
    pub fn add_interface(&self, name: &str, version: impl Into<Option<IpVersion>>, out: &mut Vec<u8>) {
        let link = match version.into() {
            Some(IpVersion::V4) => LINK_TYPE_IPV4,
            Some(IpVersion::V6) => LINK_TYPE_IPV6,
            None => LINK_TYPE_RAW,
        };
        push_block(block::INTERFACE, out, |out| {
            out.extend([link, 0].map(u16::to_le_bytes).as_flattened());
            out.extend(self.snap_length.to_le_bytes());
            push_option(option::NAME, &name.as_bytes()[..name.len().min(MAX_NAME_BYTES)], out);
            push_option(option::RESOLUTION, &[NANOSECOND_RESOLUTION_CODE], out);
            push_option(option::END, &[], out);
        });
    }

    /// Appends a packet at an interface by its headers, which may have been written before.
    #[inline]
    pub fn write_packet_from_headers(&self, interface: u32, time: Time, headers: &Headers, out: &mut Vec<u8>) {
        self.write_enhanced_packet_block(interface, time, headers.packet_size(), out, |out| {
            headers.write_with_zero_payload(self.snap_length, out)
        });
    }

    /// Appends a packet's bytes, from its IP header on.
    pub fn write_bytes(&self, interface: u32, time: Time, packet: &[u8], out: &mut Vec<u8>) {
        let captured = packet.len().min(self.snap_length as usize);
        self.write_enhanced_packet_block(interface, time, packet.len() as u32, out, |out| out.extend_from_slice(&packet[..captured]));
    }

    /// Appends a packet of `total` bytes, of which `write` appends those that are kept.
    #[inline]
    fn write_enhanced_packet_block(&self, interface: u32, time: Time, total: u32, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        let nanos = time.picos() / PICOS_PER_NANO;
        let captured = self.snap_length.min(total);
        let length = PACKET_DATA_OFFSET as u32 + captured.next_multiple_of(4) + 4;
        let header = [block::ENHANCED_PACKET, length, interface, (nanos >> 32) as u32, nanos as u32, captured, total];
        out.reserve(length as usize);
        out.extend_from_slice(header.map(u32::to_le_bytes).as_flattened());
        let start = out.len();
        write(out);
        pad_to_word(out, start);
        out.extend_from_slice(&length.to_le_bytes());
    }
}

/// Appends a block whose body `write_body` appends.
fn push_block(kind: u32, out: &mut Vec<u8>, write_body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend([kind, 0].map(u32::to_le_bytes).as_flattened());
    write_body(out);
    let length = ((out.len() - start + 4) as u32).to_le_bytes();
    out.extend(length);
    out[start + 4..start + 8].copy_from_slice(&length);
}

fn push_option(code: u16, value: &[u8], out: &mut Vec<u8>) {
    out.extend([code, value.len() as u16].map(u16::to_le_bytes).as_flattened());
    let start = out.len();
    out.extend_from_slice(value);
    pad_to_word(out, start);
}

/// Zeros up to a multiple of four bytes from `start` on.
fn pad_to_word(out: &mut Vec<u8>, start: usize) {
    out.resize(start + (out.len() - start).next_multiple_of(4), 0);
}
