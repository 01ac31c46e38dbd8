//! Headers of whole packets as hosts send them, read strictly: a packet whose headers contradict themselves is refused.
//!
//! Captures are read by [`ip::read_packet`], which extracts as much as possible from a truncated packet. Both read headers by the same
//! functions; this one copies nothing.

use core::net::IpAddr;

use ecnlab_units::Ecn;

use super::checksum::{fold, sum_words};
use super::ip::{self, IpHeader, Malformed};
use super::{Bytes, IPV6_HEADER_BYTES, UDP_HEADER_BYTES, extension, protocol, tcp};
use crate::tcp::{Flags, Tcp};

/// No packet has as many extension headers and means well.
const REFUSED_EXTENSION_HEADER_COUNT: u32 = 8;

/// The headers of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsedHeaders {
    pub source: IpAddr,
    pub destination: IpAddr,
    pub ecn: Ecn,
    /// Bytes of the whole packet.
    pub size: u32,
    /// Offset of the transport header.
    pub transport_at: u32,
    /// Bytes after all headers: application data of TCP and UDP, the IP payload of other packets.
    pub payload: u32,
    pub transport: TransportHeader,
}

/// The header behind IP's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportHeader {
    Tcp(TcpHeaderWithPorts),
    Udp {
        ports: (u16, u16),
    },
    Icmp,
    /// A fragment other than the first, of any protocol.
    Fragment,
    Other(u8),
}

/// A TCP header with its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpHeaderWithPorts {
    /// The sender's and the receiver's.
    pub ports: (u16, u16),
    pub header: Tcp,
}

impl ParsedHeaders {
    /// Reads a packet, which is all of `bytes`.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn parse(bytes: &[u8]) -> Result<ParsedHeaders, Malformed> {
        let ip = ip::read_ip_header(Bytes(bytes))?;
        check_ip(&ip, bytes)?;
        let carried = &bytes[ip.length..];
        let (transport, header) = match ip.fragment {
            Some(false) => (TransportHeader::Fragment, 0),
            fragment => read_transport(ip.protocol, carried, fragment.is_some())?,
        };
        Ok(ParsedHeaders {
            source: ip.source,
            destination: ip.destination,
            ecn: ip.ecn,
            size: bytes.len() as u32,
            transport_at: ip.length as u32,
            payload: (carried.len() - header) as u32,
            transport,
        })
    }

    /// TCP's ports or UDP's, the sender's first.
    pub fn ports(&self) -> Option<(u16, u16)> {
        match self.transport {
            TransportHeader::Tcp(segment) => Some(segment.ports),
            TransportHeader::Udp { ports } => Some(ports),
            _ => None,
        }
    }

    /// Whether it carries application data, a SYN or a FIN. Always true for protocols other than TCP.
    pub fn occupies_sequence_space(&self) -> bool {
        match self.transport {
            TransportHeader::Tcp(TcpHeaderWithPorts { header: Tcp { flags, .. }, .. }) => {
                self.payload > 0 || flags.has(Flags::FIN) || (flags.has(Flags::SYN) && !flags.has(Flags::ACK))
            }
            _ => true,
        }
    }
}

fn check_ip(ip: &IpHeader, bytes: &[u8]) -> Result<(), Malformed> {
    if ip.source.is_ipv4() {
        if ip.length > bytes.len() {
            return Err(Malformed::HeaderLength);
        }
        if ip.total != Some(bytes.len() as u32) {
            return Err(Malformed::Length);
        }
        return if fold(sum_words(&bytes[..ip.length])) == 0xffff { Ok(()) } else { Err(Malformed::Checksum) };
    }
    if ip.total.unwrap_or(IPV6_HEADER_BYTES as u32) != bytes.len() as u32 {
        return Err(Malformed::Length);
    }
    // An extension header that is not there as a whole was not passed over.
    let is_cut = ip.length > bytes.len() || (ip.fragment != Some(false) && extension::header_length(ip.protocol, 0).is_some());
    if is_cut || ip.extensions >= REFUSED_EXTENSION_HEADER_COUNT { Err(Malformed::Extensions) } else { Ok(()) }
}

/// Reads what IP carries: what it is, and how long its own header is. Of a packet in parts this is the first.
fn read_transport(number: u8, carried: &[u8], is_fragment: bool) -> Result<(TransportHeader, usize), Malformed> {
    match number {
        protocol::TCP => {
            let header = tcp::read(Bytes(carried)).filter(|header| header.whole).ok_or(Malformed::Transport)?;
            Ok((TransportHeader::Tcp(TcpHeaderWithPorts { ports: read_ports(carried), header: header.tcp }), header.length))
        }
        protocol::UDP => {
            let length: usize = Bytes(carried).u16(4).filter(|_| carried.len() >= UDP_HEADER_BYTES).ok_or(Malformed::Transport)?.into();
            // Of a packet in parts it is the length of the whole.
            if length < UDP_HEADER_BYTES || (length > carried.len() && !is_fragment) {
                return Err(Malformed::Transport);
            }
            Ok((TransportHeader::Udp { ports: read_ports(carried) }, UDP_HEADER_BYTES))
        }
        protocol::ICMP | protocol::ICMP_V6 => Ok((TransportHeader::Icmp, 0)),
        other => Ok((TransportHeader::Other(other), 0)),
    }
}

fn read_ports(header: &[u8]) -> (u16, u16) {
    (u16::from_be_bytes([header[0], header[1]]), u16::from_be_bytes([header[2], header[3]]))
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;

    use super::*;
    use crate::header::checksum::checksum_of_sum;
    use crate::header::rewrite::{rewrite_ece_cwr, rewrite_ecn};
    use crate::tcp::Timestamps;

    /// A TCP segment with 100 bytes of data and timestamps, of either version.
    fn segments() -> [Vec<u8>; 2] {
        let v4 = PacketBuilder::ipv4([10, 0, 0, 1], [10, 128, 0, 1], 64);
        let v6 = PacketBuilder::ipv6([0xfd; 16], [0xfe; 16], 64);
        let timestamps = [etherparse::TcpOptionElement::Noop, etherparse::TcpOptionElement::Timestamp(1234, 99)];
        [v4.tcp(5001, 80, 7, 1000), v6.tcp(5001, 80, 7, 1000)].map(|builder| {
            let mut bytes = Vec::new();
            builder.ack(77).options(&timestamps).unwrap().write(&mut bytes, &[1; 100]).unwrap();
            bytes
        })
    }

    #[test]
    fn a_segment_is_parsed() {
        for bytes in segments() {
            let view = ParsedHeaders::parse(&bytes).unwrap();
            assert_eq!((100, bytes.len() as u32, Ecn::NotEct), (view.payload, view.size, view.ecn));
            assert_eq!(Some((5001, 80)), view.ports());
            let TransportHeader::Tcp(TcpHeaderWithPorts { header: tcp, .. }) = view.transport else { panic!("{view:?}") };
            assert_eq!((7, 77, Some(Timestamps { value: 1234, echo: 99 })), (tcp.seq, tcp.ack, tcp.timestamps));
            assert!(tcp.flags.has(Flags::ACK) && !tcp.flags.has(Flags::SYN) && view.occupies_sequence_space());
        }
    }

    #[test]
    fn a_rewritten_codepoint_updates_the_checksum() {
        for mut bytes in segments() {
            for ecn in [Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::Ect1, Ecn::NotEct] {
                rewrite_ecn(&mut bytes, ecn);
                assert_eq!(Ok(ecn), ParsedHeaders::parse(&bytes).map(|view| view.ecn));
            }
            assert!(segments().contains(&bytes), "and back to what it was");
        }
    }

    #[test]
    fn rewritten_ece_and_cwr_update_tcp_s_checksum() {
        for mut bytes in segments() {
            let before = bytes.clone();
            let at = ParsedHeaders::parse(&bytes).unwrap().transport_at as usize;
            let flags = |bytes: &[u8]| match ParsedHeaders::parse(bytes).unwrap().transport {
                TransportHeader::Tcp(TcpHeaderWithPorts { header: Tcp { flags, .. }, .. }) => {
                    (flags.has(Flags::ECE), flags.has(Flags::CWR), flags.has(Flags::ACK))
                }
                other => panic!("{other:?}"),
            };
            for (ece, cwr) in [(true, false), (true, true), (false, true)] {
                rewrite_ece_cwr(&mut bytes, at, ece, cwr);
                assert_eq!((ece, cwr, true), flags(&bytes));
                let packet = etherparse::PacketHeaders::from_ip_slice(&bytes).unwrap();
                let tcp = packet.transport.unwrap().tcp().unwrap();
                let sum = match packet.net.unwrap() {
                    etherparse::NetHeaders::Ipv4(ip, _) => tcp.calc_checksum_ipv4(&ip, packet.payload.slice()),
                    etherparse::NetHeaders::Ipv6(ip, _) => tcp.calc_checksum_ipv6(&ip, packet.payload.slice()),
                    other => panic!("{other:?}"),
                };
                assert_eq!(Ok(tcp.checksum), sum);
            }
            rewrite_ece_cwr(&mut bytes, at, false, false);
            assert_eq!(before, bytes);
        }
    }

    #[test]
    fn a_rewritten_codepoint_keeps_the_dscp() {
        for mut bytes in segments() {
            let at = if bytes[0] >> 4 == 6 { [bytes[0] | 0x0b, 0x80] } else { [bytes[0], bytes[1]] };
            bytes[..2].copy_from_slice(&at);
            let before = bytes.clone();
            rewrite_ecn(&mut bytes, Ecn::Ce);
            let mask = if bytes[0] >> 4 == 6 { 0xcf } else { 0xfc };
            assert_eq!((before[0], before[1] & mask), (bytes[0], bytes[1] & mask));
        }
    }

    #[test]
    fn contradictory_headers_are_refused_by_name() {
        let [v4, v6] = segments();
        let with = |bytes: &[u8], at: usize, value: u8| {
            let mut bytes = bytes.to_vec();
            bytes[at] = value;
            ParsedHeaders::parse(&bytes).unwrap_err()
        };
        assert_eq!(Err(Malformed::Short), ParsedHeaders::parse(&[]));
        assert_eq!(Err(Malformed::Short), ParsedHeaders::parse(&v4[..19]));
        assert_eq!(Err(Malformed::Short), ParsedHeaders::parse(&v6[..39]));
        assert_eq!(Malformed::IpVersion, with(&v4, 0, 0x55));
        assert_eq!(Malformed::HeaderLength, with(&v4, 0, 0x44));
        assert_eq!(Err(Malformed::Length), ParsedHeaders::parse(&v4[..100]));
        assert_eq!(Err(Malformed::Length), ParsedHeaders::parse(&v6[..100]));
        assert_eq!(Malformed::Checksum, with(&v4, 8, 63));
        assert_eq!(Malformed::Extensions, with(&v6, 6, 0));
        assert_eq!(Malformed::Transport, with(&v4, 32, 0x40));
        assert_eq!(Malformed::Transport, with(&v6, 52, 0x40));
    }

    #[test]
    fn only_the_first_fragment_has_ports() {
        let mut bytes = Vec::new();
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 128, 0, 1], 64).udp(1, 2).write(&mut bytes, &[0; 40]).unwrap();
        // More fragments, with the checksum for it.
        let set = |bytes: &mut [u8], offset: u16| {
            bytes[6..8].copy_from_slice(&offset.to_be_bytes());
            bytes[10..12].fill(0);
            let checksum = checksum_of_sum(sum_words(&bytes[..20]));
            bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
        };
        set(&mut bytes, 0x2000);
        bytes[24..26].copy_from_slice(&2000_u16.to_be_bytes());
        assert_eq!(Some((1, 2)), ParsedHeaders::parse(&bytes).unwrap().ports());
        set(&mut bytes, 0x0010);
        let later = ParsedHeaders::parse(&bytes).unwrap();
        assert_eq!((None, TransportHeader::Fragment, 48), (later.ports(), later.transport, later.payload));
    }
}
