//! The IP header, extension headers included.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ecnlab_units::Ecn;
use ecnlab_wire::{LENGTH_V4, LENGTH_V6, extension};

use super::Malformed;

/// No packet has more extension headers than this and means well.
const MOST_EXTENSIONS: u32 = 8;

pub struct Ip {
    pub from: IpAddr,
    pub to: IpAddr,
    pub ecn: Ecn,
    pub protocol: u8,
    /// Bytes of all headers up to what IP carries.
    pub header: usize,
    /// It is a part of a packet.
    pub fragment: bool,
    /// It is a part that is not the first: no header of TCP or UDP stands in it.
    pub later_fragment: bool,
}

pub fn read(bytes: &[u8]) -> Result<Ip, Malformed> {
    match bytes.first().ok_or(Malformed::Short)? >> 4 {
        4 => v4(bytes),
        6 => v6(bytes),
        _ => Err(Malformed::Version),
    }
}

fn v4(bytes: &[u8]) -> Result<Ip, Malformed> {
    let fixed: &[u8; LENGTH_V4] = bytes.first_chunk().ok_or(Malformed::Short)?;
    let header = usize::from(fixed[0] & 0xf) * 4;
    if header < LENGTH_V4 || header > bytes.len() {
        return Err(Malformed::HeaderLength);
    }
    if usize::from(u16::from_be_bytes([fixed[2], fixed[3]])) != bytes.len() {
        return Err(Malformed::Length);
    }
    if sum(&bytes[..header]) != 0xffff {
        return Err(Malformed::Checksum);
    }
    let offset = u16::from_be_bytes([fixed[6], fixed[7]]);
    let address = |at: usize| IpAddr::V4(Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]));
    Ok(Ip {
        from: address(12),
        to: address(16),
        ecn: Ecn::of_bits(fixed[1]),
        protocol: fixed[9],
        header,
        fragment: offset & 0x3fff != 0,
        later_fragment: offset & 0x1fff != 0,
    })
}

fn v6(bytes: &[u8]) -> Result<Ip, Malformed> {
    let fixed: &[u8; LENGTH_V6] = bytes.first_chunk().ok_or(Malformed::Short)?;
    if usize::from(u16::from_be_bytes([fixed[4], fixed[5]])) != bytes.len() - LENGTH_V6 {
        return Err(Malformed::Length);
    }
    let address = |at: usize| IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(&fixed[at..at + 16]).expect("sixteen bytes")));
    let ecn = Ecn::of_bits(fixed[1] >> 4);
    let (mut protocol, mut header, mut fragment, mut later_fragment) = (fixed[6], LENGTH_V6, false, false);
    for _ in 0..MOST_EXTENSIONS {
        let behind = &bytes[header..];
        let second = behind.get(1).copied().unwrap_or(0);
        let Some(length) = extension::length(protocol, second) else {
            return Ok(Ip { from: address(8), to: address(24), ecn, protocol, header, fragment, later_fragment });
        };
        if length > behind.len() {
            return Err(Malformed::Extensions);
        }
        if protocol == extension::FRAGMENT {
            let offset = u16::from_be_bytes([behind[2], behind[3]]);
            fragment |= offset & !6 != 0;
            later_fragment |= offset >> 3 != 0;
        }
        (protocol, header) = (behind[0], header + length);
        if later_fragment {
            return Ok(Ip { from: address(8), to: address(24), ecn, protocol, header, fragment, later_fragment });
        }
    }
    Err(Malformed::Extensions)
}

/// The ones' complement sum of 16-bit words (RFC 1071); all ones over a header with a right checksum.
pub fn sum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    fold(words.sum())
}

/// With the carries added.
pub fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
