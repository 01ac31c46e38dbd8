//! Packets as hosts send them: IPv4 (RFC 791) or IPv6 (RFC 8200) with TCP (RFC 9293), UDP or anything else behind it.
//!
//! [`View::of`] is strict where a router has to be: a packet whose headers contradict themselves is not carried. It is not the reader of
//! captures in the crate `wire`, which tells as much as it can of whatever was kept of a packet, and makes an event of it; this one looks at
//! every packet of a link, and copies nothing.

mod ecn;
mod ip;
mod transport;

use std::net::IpAddr;

use ecnlab_units::Ecn;

pub use ecn::{write_echo, write_ecn};
pub use transport::{Flags, Tcp, Upper};

/// What a packet's headers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    pub from: IpAddr,
    pub to: IpAddr,
    pub ecn: Ecn,
    /// Bytes of the whole packet.
    pub size: u32,
    /// Where the header behind IP's begins.
    pub upper_at: u32,
    /// Bytes behind all headers: of TCP and UDP what applications have written, of other packets all that IP carries.
    pub payload: u32,
    pub upper: Upper,
}

/// Why a packet is not carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than its IP header.
    Short,
    /// Neither IPv4 nor IPv6.
    Version,
    /// IPv4's header length is less than 20 bytes or more than there are.
    HeaderLength,
    /// What IP says of the packet's length is not what came.
    Length,
    /// IPv4's header checksum is wrong.
    Checksum,
    /// IPv6's extension headers go past the end, or are too many.
    Extensions,
    /// The TCP or UDP header goes past the end, or contradicts itself.
    Transport,
}

impl Malformed {
    pub const ALL: [Malformed; 7] = [
        Malformed::Short,
        Malformed::Version,
        Malformed::HeaderLength,
        Malformed::Length,
        Malformed::Checksum,
        Malformed::Extensions,
        Malformed::Transport,
    ];

    /// As results name it.
    pub const fn name(self) -> &'static str {
        match self {
            Malformed::Short => "short",
            Malformed::Version => "version",
            Malformed::HeaderLength => "header_length",
            Malformed::Length => "length",
            Malformed::Checksum => "checksum",
            Malformed::Extensions => "extensions",
            Malformed::Transport => "transport",
        }
    }
}

impl View {
    /// Reads a packet, which is all of `bytes`.
    ///
    /// # Errors
    /// Why it is not carried.
    pub fn of(bytes: &[u8]) -> Result<View, Malformed> {
        let ip = ip::read(bytes)?;
        let carried = &bytes[ip.header..];
        let (upper, header) = if ip.later_fragment { (Upper::Fragment, 0) } else { transport::read(ip.protocol, carried, ip.fragment)? };
        let payload = (carried.len() - header) as u32;
        Ok(View { from: ip.from, to: ip.to, ecn: ip.ecn, size: bytes.len() as u32, upper_at: ip.header as u32, payload, upper })
    }

    /// TCP's ports or UDP's, the sender's first.
    pub fn ports(&self) -> Option<(u16, u16)> {
        match self.upper {
            Upper::Tcp(tcp) => Some(tcp.ports),
            Upper::Udp { ports } => Some(ports),
            _ => None,
        }
    }

    /// Whether it carries data of an application, opens a connection or closes its direction of one.
    pub fn carries(&self) -> bool {
        match self.upper {
            Upper::Tcp(tcp) => self.payload > 0 || tcp.flags.fin() || (tcp.flags.syn() && !tcp.flags.ack()),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;

    use super::*;

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
    fn a_segment_says_what_it_is() {
        for bytes in segments() {
            let view = View::of(&bytes).unwrap();
            assert_eq!((100, bytes.len() as u32, Ecn::NotEct), (view.payload, view.size, view.ecn));
            assert_eq!(Some((5001, 80)), view.ports());
            let Upper::Tcp(tcp) = view.upper else { panic!("{view:?}") };
            assert_eq!((7, 77, Some((1234, 99))), (tcp.seq, tcp.ack, tcp.timestamps));
            assert!(tcp.flags.ack() && !tcp.flags.syn() && view.carries());
        }
    }

    #[test]
    fn a_codepoint_is_written_and_the_checksum_stays_right() {
        for mut bytes in segments() {
            for ecn in [Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::Ect1, Ecn::NotEct] {
                write_ecn(&mut bytes, ecn);
                assert_eq!(Ok(ecn), View::of(&bytes).map(|view| view.ecn));
            }
            assert!(segments().contains(&bytes), "and back to what it was");
        }
    }

    #[test]
    fn echoes_of_marks_are_written_and_tcp_s_checksum_follows() {
        for mut bytes in segments() {
            let before = bytes.clone();
            let at = View::of(&bytes).unwrap().upper_at as usize;
            let flags = |bytes: &[u8]| match View::of(bytes).unwrap().upper {
                Upper::Tcp(tcp) => (tcp.flags.ece(), tcp.flags.cwr(), tcp.flags.ack()),
                other => panic!("{other:?}"),
            };
            for (ece, cwr) in [(true, false), (true, true), (false, true)] {
                write_echo(&mut bytes, at, ece, cwr);
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
            write_echo(&mut bytes, at, false, false);
            assert_eq!(before, bytes);
        }
    }

    #[test]
    fn the_rest_of_the_traffic_class_stays() {
        for mut bytes in segments() {
            let at = if bytes[0] >> 4 == 6 { [bytes[0] | 0x0b, 0x80] } else { [bytes[0], bytes[1]] };
            bytes[..2].copy_from_slice(&at);
            let before = bytes.clone();
            write_ecn(&mut bytes, Ecn::Ce);
            let mask = if bytes[0] >> 4 == 6 { 0xcf } else { 0xfc };
            assert_eq!((before[0], before[1] & mask), (bytes[0], bytes[1] & mask));
        }
    }

    #[test]
    fn what_contradicts_itself_is_told_by_name() {
        let [v4, v6] = segments();
        let with = |bytes: &[u8], at: usize, value: u8| {
            let mut bytes = bytes.to_vec();
            bytes[at] = value;
            View::of(&bytes).unwrap_err()
        };
        assert_eq!(Err(Malformed::Short), View::of(&[]));
        assert_eq!(Err(Malformed::Short), View::of(&v4[..19]));
        assert_eq!(Err(Malformed::Short), View::of(&v6[..39]));
        assert_eq!(Malformed::Version, with(&v4, 0, 0x55));
        assert_eq!(Malformed::HeaderLength, with(&v4, 0, 0x44));
        assert_eq!(Err(Malformed::Length), View::of(&v4[..100]));
        assert_eq!(Err(Malformed::Length), View::of(&v6[..100]));
        assert_eq!(Malformed::Checksum, with(&v4, 8, 63));
        assert_eq!(Malformed::Extensions, with(&v6, 6, 0));
        assert_eq!(Malformed::Transport, with(&v4, 32, 0x40));
        assert_eq!(Malformed::Transport, with(&v6, 52, 0x40));
    }

    #[test]
    fn only_the_first_part_of_a_packet_has_ports() {
        let mut bytes = Vec::new();
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 128, 0, 1], 64).udp(1, 2).write(&mut bytes, &[0; 40]).unwrap();
        // More fragments, with the checksum for it.
        let set = |bytes: &mut [u8], offset: u16| {
            bytes[6..8].copy_from_slice(&offset.to_be_bytes());
            bytes[10..12].fill(0);
            let checksum = !ip::sum(&bytes[..20]);
            bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
        };
        set(&mut bytes, 0x2000);
        bytes[24..26].copy_from_slice(&2000_u16.to_be_bytes());
        assert_eq!(Some((1, 2)), View::of(&bytes).unwrap().ports());
        set(&mut bytes, 0x0010);
        let later = View::of(&bytes).unwrap();
        assert_eq!((None, Upper::Fragment, 48), (later.ports(), later.upper, later.payload));
    }
}
