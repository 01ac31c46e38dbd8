//! Reads an IP packet: IPv4 (RFC 791) or IPv6 (RFC 8200), and TCP or UDP behind it.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ecnlab_units::{Ecn, words};

use super::{Bytes, IPV4_HEADER_BYTES, IPV6_HEADER_BYTES, UDP_HEADER_BYTES, extension, protocol, tcp};
use crate::address::End;
use crate::event::{Kind, Packet, Truncation};
use crate::tcp::Tcp;

/// An IP header, extension headers included.
pub struct IpHeader {
    pub source: IpAddr,
    pub destination: IpAddr,
    pub ecn: Ecn,
    pub id: Option<u64>,
    pub protocol: u8,
    /// Of the whole packet; `None` where the header leaves it open, as for packets longer than 65,535 bytes.
    pub total: Option<u32>,
    /// Of all headers up to TCP or UDP.
    pub length: usize,
    /// How many extension headers of IPv6 are part of that.
    pub extensions: u32,
    /// Whether it is a part of a packet, and whether that part is the first.
    pub fragment: Option<bool>,
}

words! {
    /// Why headers cannot be read, or contradict themselves.
    pub enum Malformed {
        /// Shorter than its IP header.
        Short = "short",
        /// Neither IPv4 nor IPv6.
        IpVersion = "version",
        /// IPv4's header length is less than 20 bytes or more than there are.
        HeaderLength = "header_length",
        /// The length in the IP header contradicts the packet.
        Length = "length",
        /// IPv4's header checksum is wrong.
        Checksum = "checksum",
        /// IPv6's extension headers go past the end, or are too many.
        Extensions = "extensions",
        /// The TCP or UDP header goes past the end, or contradicts itself.
        Transport = "transport",
    }
}

impl Malformed {
    /// Description of the fault of a captured packet.
    pub const fn message(self) -> &'static str {
        match self {
            Malformed::Short => "too few captured bytes for its IP header",
            Malformed::IpVersion => "it is neither IPv4 nor IPv6",
            Malformed::HeaderLength => "its IPv4 header length is too small",
            Malformed::Length => "its IPv4 total length is smaller than its header",
            Malformed::Checksum => "the checksum of its IPv4 header is wrong",
            Malformed::Extensions => "its extension headers go past its end, or are too many",
            Malformed::Transport => "its TCP data offset is too small",
        }
    }
}

/// Reads a header with its extension headers, as far as they were kept.
///
/// # Errors
/// If the capture lacks the addresses, or the header is not an IP header.
pub fn read_ip_header(bytes: Bytes) -> Result<IpHeader, Malformed> {
    match bytes.u8(0).ok_or(Malformed::Short)? >> 4 {
        4 => read_ipv4_header(bytes),
        6 => read_ipv6_header(bytes),
        _ => Err(Malformed::IpVersion),
    }
}

/// Reads a packet that was `wire` bytes long, of which `bytes` were kept.
///
/// # Errors
/// What is wrong with it, if its headers contradict themselves or too little was kept to tell who sent it to whom.
pub fn read_packet(bytes: Bytes, wire: u32) -> Result<Packet, Malformed> {
    let ip = read_ip_header(bytes)?;
    if ip.source.is_ipv4() && ip.total.is_some_and(|total| (total as usize) < ip.length) {
        return Err(Malformed::Length);
    }
    let size = ip.total.unwrap_or(wire).max(ip.length.min(u32::MAX as usize) as u32);
    let behind = size - ip.length as u32;
    let carried = bytes.truncated(size as usize).from(ip.length);
    match ip.fragment {
        Some(false) => Ok(build_packet(&ip, size, TransportFields { payload: behind, ..TransportFields::default_for_kind(Kind::Other) })),
        _ => Ok(build_packet(&ip, size, read_transport(ip.protocol, carried, behind)?)),
    }
}

/// Fields of the TCP or UDP header.
struct TransportFields {
    kind: Kind,
    ports: (u16, u16),
    payload: u32,
    tcp: Tcp,
    whole: bool,
}

impl TransportFields {
    fn default_for_kind(kind: Kind) -> TransportFields {
        TransportFields { kind, ports: (0, 0), payload: 0, tcp: Tcp::default(), whole: true }
    }
}

fn build_packet(ip: &IpHeader, size: u32, inner: TransportFields) -> Packet {
    Packet {
        kind: inner.kind,
        source: End { address: ip.source.into(), port: inner.ports.0.into() },
        destination: End { address: ip.destination.into(), port: inner.ports.1.into() },
        flow: None,
        id: ip.id,
        size,
        payload: inner.payload,
        ecn: ip.ecn,
        tcp: inner.tcp,
        truncation: match ip.fragment {
            Some(first) => Truncation::Fragment { is_first: first },
            None if inner.whole => Truncation::Complete,
            None => Truncation::Truncated,
        },
    }
}

fn read_transport(protocol: u8, bytes: Bytes, behind: u32) -> Result<TransportFields, Malformed> {
    let ports = (bytes.u16(0).unwrap_or(0), bytes.u16(2).unwrap_or(0));
    match protocol {
        protocol::TCP => {
            let header = tcp::read(bytes).ok_or(Malformed::Transport)?;
            let payload = behind.saturating_sub(header.length as u32);
            let kind = if payload > 0 { Kind::Data } else { Kind::Ack };
            Ok(TransportFields { kind, ports, payload, tcp: header.tcp, whole: header.whole })
        }
        protocol::UDP => {
            let whole = bytes.0.len() >= UDP_HEADER_BYTES;
            Ok(TransportFields {
                ports,
                payload: behind.saturating_sub(UDP_HEADER_BYTES as u32),
                whole,
                ..TransportFields::default_for_kind(Kind::Datagram)
            })
        }
        _ => Ok(TransportFields { payload: behind, ..TransportFields::default_for_kind(Kind::Other) }),
    }
}

fn read_ipv4_header(bytes: Bytes) -> Result<IpHeader, Malformed> {
    let header: [u8; IPV4_HEADER_BYTES] = bytes.array(0).ok_or(Malformed::Short)?;
    let at = Bytes(&header);
    let (length, total) = (usize::from(header[0] & 0xf) * 4, at.u16(2).unwrap_or(0));
    if length < IPV4_HEADER_BYTES {
        return Err(Malformed::HeaderLength);
    }
    let fragment = at.u16(6).unwrap_or(0);
    let (more, location) = (fragment & 0x2000 != 0, fragment & 0x1fff);
    Ok(IpHeader {
        source: IpAddr::V4(Ipv4Addr::from(at.array(12).unwrap_or_default())),
        destination: IpAddr::V4(Ipv4Addr::from(at.array(16).unwrap_or_default())),
        ecn: Ecn::from_bits(header[1]),
        id: at.u16(4).map(u64::from),
        protocol: header[9],
        total: (total != 0).then_some(total.into()),
        length,
        extensions: 0,
        fragment: (more || location != 0).then_some(location == 0),
    })
}

fn read_ipv6_header(bytes: Bytes) -> Result<IpHeader, Malformed> {
    let header: [u8; IPV6_HEADER_BYTES] = bytes.array(0).ok_or(Malformed::Short)?;
    let at = Bytes(&header);
    let payload = at.u16(4).unwrap_or(0);
    let mut ip = IpHeader {
        source: IpAddr::V6(Ipv6Addr::from(at.array(8).unwrap_or_default())),
        destination: IpAddr::V6(Ipv6Addr::from(at.array(24).unwrap_or_default())),
        ecn: Ecn::from_bits(header[1] >> 4),
        id: None,
        protocol: header[6],
        total: (payload != 0).then_some(IPV6_HEADER_BYTES as u32 + u32::from(payload)),
        length: IPV6_HEADER_BYTES,
        extensions: 0,
        fragment: None,
    };
    skip_extension_headers(bytes, &mut ip);
    Ok(ip)
}

/// Walks over the extension headers to the protocol that the packet carries, as far as they were kept.
fn skip_extension_headers(bytes: Bytes, ip: &mut IpHeader) {
    loop {
        let here = bytes.from(ip.length);
        let (Some(next), Some(units)) = (here.u8(0), here.u8(1)) else { return };
        let Some(length) = extension::header_length(ip.protocol, units) else { return };
        if ip.protocol == extension::FRAGMENT {
            let location = here.u16(2).unwrap_or(0);
            ip.id = here.u32(4).map(u64::from);
            // A whole packet may have a fragment header too (RFC 6946).
            ip.fragment = if location & 0xfff9 == 0 { ip.fragment } else { Some(location & 0xfff8 == 0) };
        }
        ip.protocol = next;
        ip.length += length;
        ip.extensions += 1;
        if ip.fragment == Some(false) {
            return;
        }
    }
}
