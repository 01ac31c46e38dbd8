//! Writes an IP packet: IPv4 (RFC 791) or IPv6 (RFC 8200), TCP (RFC 9293) or UDP (RFC 768) behind it, and zeros for the data.
//!
//! Checksums are right (RFC 1071); zeros add nothing to a sum, so a packet's length costs no time unless its data are kept.

use core::net::{Ipv4Addr, Ipv6Addr};

use ecnlab_units::Ecn;

use super::checksum::{checksum_of_sum, sum_words, write_word_and_update_checksum};
use super::tcp::option;
use super::{IPV4_HEADER_BYTES, IPV6_HEADER_BYTES, UDP_HEADER_BYTES, protocol, tcp};
use crate::address::Address;
use crate::event::{Kind, Packet};
use crate::tcp::{AccEcn, Flags, Tcp};

const INITIAL_TTL: u8 = 64;
/// For experiments (RFC 3692, section 2.1): what is neither TCP nor UDP.
const EXPERIMENTAL_PROTOCOL: u8 = 253;
const DO_NOT_FRAGMENT: u16 = 0x4000;
const MAX_TCP_HEADER_BYTES: usize = 60;
/// IPv6's and the longest of TCP's.
const MAX_HEADERS_BYTES: usize = IPV6_HEADER_BYTES + MAX_TCP_HEADER_BYTES;

/// The headers of a packet, written.
#[derive(Clone, Copy, Debug)]
pub struct Headers {
    bytes: [u8; MAX_HEADERS_BYTES],
    length: usize,
    ip_length: usize,
    number: u8,
    /// Of the whole packet.
    total: u32,
    ecn: Ecn,
    flags: Flags,
}

impl Headers {
    /// Writes a packet's headers.
    ///
    /// The packet's length is its size. If its headers and payload exceed that, it is longer; if they are shorter, TCP's options are
    /// padded. A node of ns-2 gets the address 10.x.y.z with the lower 24 bits of its number.
    pub fn of(packet: &Packet) -> Headers {
        let v6 = is_v6(packet.source.address) || is_v6(packet.destination.address);
        let ip_length = if v6 { IPV6_HEADER_BYTES } else { IPV4_HEADER_BYTES };
        let (ecn, flags) = (packet.ecn, packet.tcp.flags);
        let mut headers =
            Headers { bytes: [0; MAX_HEADERS_BYTES], length: ip_length, ip_length, number: EXPERIMENTAL_PROTOCOL, total: 0, ecn, flags };
        headers.push_transport(packet);
        headers.total = packet_length(packet, headers.length);
        if v6 {
            headers.write_ipv6_header(packet)
        } else {
            headers.write_ipv4_header(packet)
        }
        headers.write_checksum();
        headers
    }

    /// Length of the whole packet.
    pub fn packet_size(&self) -> u32 {
        self.total
    }

    /// Sets what a network or an impairment changes, and corrects the checksums.
    #[inline]
    pub fn update_ecn_and_flags(&mut self, ecn: Ecn, flags: Flags) {
        if ecn != self.ecn {
            self.update_ecn(ecn);
        }
        if flags != self.flags && self.number == protocol::TCP {
            self.update_flags(flags);
        }
    }

    /// Appends the packet with zeros for its data, of which `keep` bytes at most are kept.
    #[inline]
    pub fn write_with_zero_payload(&self, keep: u32, out: &mut Vec<u8>) {
        let kept = keep.min(self.total) as usize;
        let end = out.len() + kept;
        out.extend_from_slice(&self.bytes[..self.length.min(kept)]);
        out.resize(end, 0);
    }
}

fn is_v6(address: Address) -> bool {
    matches!(address, Address::V6(_))
}

/// Length with data behind the headers: of TCP its payload, so that sequence numbers fit; of all else what the packet's size leaves.
fn packet_length(packet: &Packet, headers: usize) -> u32 {
    let headers = headers as u32;
    let total = if packet.is_tcp() { headers.saturating_add(packet.payload) } else { packet.size.max(headers) };
    total.min(u16::MAX.into())
}

impl Headers {
    /// Writes what stands behind the IP header, without its checksum.
    fn push_transport(&mut self, packet: &Packet) {
        match packet.kind {
            Kind::Data | Kind::Ack => {
                self.number = protocol::TCP;
                self.push_tcp(packet);
            }
            Kind::Datagram => {
                self.number = protocol::UDP;
                let length = (packet.size as usize).saturating_sub(self.ip_length);
                self.push_u16(packet.source.port as u16);
                self.push_u16(packet.destination.port as u16);
                self.push_u16(length.clamp(UDP_HEADER_BYTES, usize::from(u16::MAX) - self.ip_length) as u16);
                self.push_u16(0);
            }
            Kind::Other => {}
        }
    }

    fn push_tcp(&mut self, packet: &Packet) {
        let (start, tcp) = (self.length, &packet.tcp);
        self.push_u16(packet.source.port as u16);
        self.push_u16(packet.destination.port as u16);
        self.push(&tcp.seq.to_be_bytes());
        self.push(&tcp.ack.to_be_bytes());
        self.push_u16(0);
        self.push_u16(tcp.window);
        self.push(&[0; 4]);
        self.push_options(tcp, start + MAX_TCP_HEADER_BYTES);
        let room = (packet.size as usize).saturating_sub(packet.payload as usize).saturating_sub(self.ip_length);
        let length = (self.length - start).max(room.min(MAX_TCP_HEADER_BYTES)).next_multiple_of(4);
        self.bytes[self.length..start + length].fill(option::NOTHING);
        self.length = start + length;
        let words = (length / 4) as u16;
        self.bytes[start + 12..start + 14].copy_from_slice(&(words << 12 | tcp.flags.0 & 0x1ff).to_be_bytes());
    }

    /// Options in the order in which Linux writes them; of SACK as many runs as there is room for.
    fn push_options(&mut self, tcp: &Tcp, end: usize) {
        if let Some(mss) = tcp.mss {
            self.push(&[option::MSS, 4]);
            self.push_u16(mss);
        }
        // Each option alone is filled up to four bytes; these two need no filling together.
        match (tcp.sack_permitted, tcp.timestamps) {
            (true, Some(_)) => self.push(&[option::SACK_PERMITTED, 2]),
            (true, None) => self.push(&[option::NOTHING, option::NOTHING, option::SACK_PERMITTED, 2]),
            (false, Some(_)) => self.push(&[option::NOTHING, option::NOTHING]),
            (false, None) => {}
        }
        if let Some(stamps) = tcp.timestamps {
            self.push(&[option::TIMESTAMPS, 10]);
            self.push(&stamps.value.to_be_bytes());
            self.push(&stamps.echo.to_be_bytes());
        }
        if let Some(scale) = tcp.window_scale {
            self.push(&[option::NOTHING, option::WINDOW_SCALE, 3, scale]);
        }
        if let Some(accecn) = tcp.accecn {
            self.push_accecn(&accecn, end);
        }
        let room = (end - self.length).saturating_sub(4) / 8;
        let runs = &tcp.sacks.as_slice()[..tcp.sacks.as_slice().len().min(room)];
        if !runs.is_empty() {
            self.push(&[option::NOTHING, option::NOTHING, option::SACK, 2 + 8 * runs.len() as u8]);
        }
        for (from, to) in runs {
            self.push(&from.to_be_bytes());
            self.push(&to.to_be_bytes());
        }
    }

    /// The Accurate ECN option, filled up to four bytes, with as many counters as there is room for.
    fn push_accecn(&mut self, accecn: &AccEcn, end: usize) {
        let counters: Vec<u32> = accecn.counters_in_option_order().collect();
        let bytes = |count: usize| 2 + 3 * count;
        let room = end - self.length;
        let Some(count) = (0..=counters.len()).rev().find(|&count| bytes(count).next_multiple_of(4) <= room) else { return };
        let kind = if accecn.begins_with_ect0 { option::ACCECN_ECT0_FIRST } else { option::ACCECN_ECT1_FIRST };
        self.push(&[kind, bytes(count) as u8]);
        for counter in &counters[..count] {
            self.push(&counter.to_be_bytes()[1..]);
        }
        for _ in bytes(count)..bytes(count).next_multiple_of(4) {
            self.push(&[option::NOTHING]);
        }
    }

    fn write_ipv4_header(&mut self, packet: &Packet) {
        let id = packet.id.unwrap_or(0) as u16;
        let header = &mut self.bytes[..IPV4_HEADER_BYTES];
        header[..2].copy_from_slice(&[0x45, packet.ecn as u8]);
        header[2..4].copy_from_slice(&(self.total as u16).to_be_bytes());
        header[4..6].copy_from_slice(&id.to_be_bytes());
        header[6..8].copy_from_slice(&DO_NOT_FRAGMENT.to_be_bytes());
        header[8..10].copy_from_slice(&[INITIAL_TTL, self.number]);
        header[12..16].copy_from_slice(&to_ipv4_address(packet.source.address).octets());
        header[16..20].copy_from_slice(&to_ipv4_address(packet.destination.address).octets());
        let sum = checksum_of_sum(sum_words(header));
        self.bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    }

    fn write_ipv6_header(&mut self, packet: &Packet) {
        let header = &mut self.bytes[..IPV6_HEADER_BYTES];
        header[..2].copy_from_slice(&[0x60, (packet.ecn as u8) << 4]);
        header[4..6].copy_from_slice(&(self.total as u16 - IPV6_HEADER_BYTES as u16).to_be_bytes());
        header[6..8].copy_from_slice(&[self.number, INITIAL_TTL]);
        header[8..24].copy_from_slice(&to_ipv6_address(packet.source.address).octets());
        header[24..40].copy_from_slice(&to_ipv6_address(packet.destination.address).octets());
    }

    /// Writes TCP's or UDP's checksum over header, data and the pseudo-header of addresses, protocol and length.
    fn write_checksum(&mut self) {
        let Some(location) = self.checksum_offset() else { return };
        let addresses = if self.ip_length == IPV4_HEADER_BYTES { 12..20 } else { 8..40 };
        let pseudo = sum_words(&self.bytes[addresses]) + u32::from(self.number) + (self.total - self.ip_length as u32);
        let sum = match checksum_of_sum(pseudo + sum_words(&self.bytes[self.ip_length..self.length])) {
            // In UDP a sum of zero says that there is none (RFC 768).
            0 if self.number == protocol::UDP => u16::MAX,
            sum => sum,
        };
        self.bytes[location..location + 2].copy_from_slice(&sum.to_be_bytes());
    }

    fn checksum_offset(&self) -> Option<usize> {
        match self.number {
            protocol::TCP => Some(self.ip_length + 16),
            protocol::UDP => Some(self.ip_length + 6),
            _ => None,
        }
    }

    /// The pseudo-header does not cover the ECN field, and the IPv6 header lacks a checksum.
    fn update_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
        if self.ip_length == IPV4_HEADER_BYTES {
            let word = u16::from_be_bytes([self.bytes[0], self.bytes[1] & !3 | ecn as u8]);
            write_word_and_update_checksum(&mut self.bytes, 0, word, 10);
        } else {
            self.bytes[1] = self.bytes[1] & !0x30 | (ecn as u8) << 4;
        }
    }

    fn update_flags(&mut self, flags: Flags) {
        self.flags = flags;
        let at = self.ip_length + 12;
        let before = u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]]);
        write_word_and_update_checksum(&mut self.bytes, at, before & !0x1ff | flags.0 & 0x1ff, self.ip_length + 16);
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    fn push_u16(&mut self, number: u16) {
        self.push(&number.to_be_bytes());
    }
}

fn to_ipv4_address(address: Address) -> Ipv4Addr {
    match address {
        Address::Node(node) => Ipv4Addr::from(10 << 24 | node & 0x00ff_ffff),
        Address::V4(address) => address,
        Address::V6(address) => address.to_ipv4_mapped().unwrap_or(Ipv4Addr::UNSPECIFIED),
    }
}

fn to_ipv6_address(address: Address) -> Ipv6Addr {
    match address {
        Address::V6(address) => address,
        other => to_ipv4_address(other).to_ipv6_mapped(),
    }
}

// The shortest TCP header that this writes has no options.
const _: () = assert!(tcp::MIN_HEADER_BYTES + 40 == MAX_TCP_HEADER_BYTES);
