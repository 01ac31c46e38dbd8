//! Writes pcapng: one section in the byte order of little-endian machines, interfaces with their names, and packets with stamps in nanoseconds.

use ecnlab_units::Time;

use super::pcapng::{BEFORE_PACKET, NAME, block, option};
use crate::event::Packet;
use crate::header::write::Headers;

/// IPv4 and nothing before it; IPv6.
const LINK_IPV4: u16 = 228;
const LINK_IPV6: u16 = 229;
/// Either of them, which each packet says itself.
const LINK_RAW: u16 = 101;

const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const NANOSECONDS: u8 = 9;
const PICOS_PER_NANO: u64 = 1_000;
/// Which program wrote the section (`shb_userappl`).
const APPLICATION: u16 = 4;

/// The version of IP that an interface's packets have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V4,
    V6,
}

/// Writes blocks into a buffer that its owner empties.
#[derive(Clone, Copy, Debug)]
pub struct PcapngWriter {
    /// As much of each packet is kept.
    keep: u32,
}

impl PcapngWriter {
    /// Begins a file in which at most `keep` bytes of each packet are kept, written by `application`.
    pub fn begin(keep: u32, application: &str, out: &mut Vec<u8>) -> PcapngWriter {
        write_block(block::SECTION, out, |out| {
            out.extend(BYTE_ORDER.to_le_bytes());
            out.extend([1_u16, 0].map(u16::to_le_bytes).as_flattened());
            out.extend(u64::MAX.to_le_bytes());
            push_option(APPLICATION, application.as_bytes(), out);
            push_option(option::END, &[], out);
        });
        PcapngWriter { keep }
    }

    /// Describes an interface; they are counted from 0. A name is cut where readers would cut it. Without a version its packets are of either.
    pub fn interface(&self, name: &str, version: impl Into<Option<Version>>, out: &mut Vec<u8>) {
        let link = match version.into() {
            Some(Version::V4) => LINK_IPV4,
            Some(Version::V6) => LINK_IPV6,
            None => LINK_RAW,
        };
        write_block(block::INTERFACE, out, |out| {
            out.extend([link, 0].map(u16::to_le_bytes).as_flattened());
            out.extend(self.keep.to_le_bytes());
            push_option(option::NAME, &name.as_bytes()[..name.len().min(NAME)], out);
            push_option(option::RESOLUTION, &[NANOSECONDS], out);
            push_option(option::END, &[], out);
        });
    }

    /// Appends a packet that an interface saw.
    pub fn packet(&self, interface: u32, time: Time, packet: &Packet, out: &mut Vec<u8>) {
        self.headers(interface, time, &Headers::of(packet), out);
    }

    /// Appends a packet by its headers, which may have been written before.
    #[inline]
    pub fn headers(&self, interface: u32, time: Time, headers: &Headers, out: &mut Vec<u8>) {
        self.block(interface, time, headers.total(), out, |out| headers.write(self.keep, out));
    }

    /// Appends a packet as it is, from its IP header on.
    pub fn bytes(&self, interface: u32, time: Time, packet: &[u8], out: &mut Vec<u8>) {
        let kept = packet.len().min(self.keep as usize);
        self.block(interface, time, packet.len() as u32, out, |out| out.extend_from_slice(&packet[..kept]));
    }

    /// Appends a packet of so many bytes, of which `write` appends those that are kept.
    #[inline]
    fn block(&self, interface: u32, time: Time, total: u32, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        let nanos = time.picos() / PICOS_PER_NANO;
        let kept = self.keep.min(total);
        let length = BEFORE_PACKET as u32 + kept.next_multiple_of(4) + 4;
        let before = [block::ENHANCED_PACKET, length, interface, (nanos >> 32) as u32, nanos as u32, kept, total];
        out.reserve(length as usize);
        out.extend_from_slice(before.map(u32::to_le_bytes).as_flattened());
        let start = out.len();
        write(out);
        pad(out, start);
        out.extend_from_slice(&length.to_le_bytes());
    }
}

/// A block around what `body` appends.
fn write_block(kind: u32, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend([kind, 0].map(u32::to_le_bytes).as_flattened());
    body(out);
    let length = ((out.len() - start + 4) as u32).to_le_bytes();
    out.extend(length);
    out[start + 4..start + 8].copy_from_slice(&length);
}

fn push_option(code: u16, value: &[u8], out: &mut Vec<u8>) {
    out.extend([code, value.len() as u16].map(u16::to_le_bytes).as_flattened());
    let start = out.len();
    out.extend_from_slice(value);
    pad(out, start);
}

/// Zeros up to a multiple of four bytes from `start` on.
fn pad(out: &mut Vec<u8>, start: usize) {
    out.resize(start + (out.len() - start).next_multiple_of(4), 0);
}
