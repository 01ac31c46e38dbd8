//! Sockets of the namespace of the calling thread. None of these calls blocks.
//!
//! Data is all zeros, and received data is discarded unread (`MSG_TRUNC`): only its amount matters.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use ecnlab_units::Ecn;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SendFlags, Shutdown, SocketFlags, SocketType, sockopt};

use super::errno::{check_syscall, retry_on_intr_nonblocking};
use super::sockopt::{set_int_option, set_option, tcp_info};

/// Number of bytes of one write.
const MAX_SEND_BYTES: usize = 1 << 18;
static ZEROS: [u8; MAX_SEND_BYTES] = [0; MAX_SEND_BYTES];

/// Maximum number of datagrams received by one call.
const MAX_DATAGRAMS_PER_RECVMMSG: usize = 32;

/// A TCP or UDP socket.
#[derive(Debug)]
pub struct Socket(OwnedFd);

/// State of a connection in the kernel: the head of its `struct tcp_info` (`linux/tcp.h`), in its units, as far as it is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct TcpInfo {
    pub state: u8,
    /// Open, disorder, CWR, recovery, loss: 0 to 4.
    pub ca_state: u8,
    /// Timeouts of the outstanding segment.
    pub retransmits: u8,
    pub probes: u8,
    pub backoff: u8,
    /// Options of the handshake, as [`TcpInfo::agreed_ecn`].
    pub options: u8,
    pub scales: u8,
    pub flags: u8,
    pub rto_us: u32,
    pub ato_us: u32,
    pub snd_mss: u32,
    pub rcv_mss: u32,
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    pub fackets: u32,
    pub last_data_sent_ms: u32,
    pub last_ack_sent_ms: u32,
    pub last_data_recv_ms: u32,
    pub last_ack_recv_ms: u32,
    pub pmtu: u32,
    pub rcv_ssthresh: u32,
    pub rtt_us: u32,
    pub rttvar_us: u32,
    pub snd_ssthresh: u32,
    pub snd_cwnd: u32,
    pub advmss: u32,
    pub reordering: u32,
    pub rcv_rtt_us: u32,
    pub rcv_space: u32,
    pub total_retrans: u32,
    pub pacing_rate: u64,
    pub max_pacing_rate: u64,
    pub bytes_acked: u64,
    pub bytes_received: u64,
    pub segs_out: u32,
    pub segs_in: u32,
    pub notsent_bytes: u32,
    pub min_rtt_us: u32,
    pub data_segs_in: u32,
    pub data_segs_out: u32,
    pub delivery_rate: u64,
    pub busy_time_us: u64,
    pub rwnd_limited_us: u64,
    pub sndbuf_limited_us: u64,
    pub delivered: u32,
    pub delivered_ce: u32,
    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    pub dsack_dups: u32,
    pub reord_seen: u32,
    pub rcv_ooopack: u32,
    pub snd_wnd: u32,
    pub rcv_wnd: u32,
    pub rehash: u32,
    pub total_rto: u16,
    pub total_rto_recoveries: u16,
    pub total_rto_time_ms: u32,
    pub received_ce: u32,
    pub delivered_bytes: [u32; 3],
    pub received_bytes: [u32; 3],
    /// The lowest two bits show the echo of marks, as [`TcpInfo::agreed_ecn`].
    pub ecn_mode: u32,
}

/// Outcome of a handshake for ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgreedEcn {
    None,
    /// RFC 3168.
    Classic,
    /// RFC 9768.
    Accurate,
}

/// States of a sender in [`TcpInfo::ca_state`].
pub const TCP_CA_CWR: u8 = 2;
pub const TCP_CA_LOSS: u8 = 4;

impl TcpInfo {
    pub fn agreed_ecn(&self) -> AgreedEcn {
        match (self.options & 8 != 0, self.ecn_mode & 3) {
            (false, _) => AgreedEcn::None,
            (true, 2) => AgreedEcn::Accurate,
            (true, _) => AgreedEcn::Classic,
        }
    }
}

/// An option of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketOption<'a> {
    /// Permits the address of a connection that has ended.
    ReuseAddress,
    CongestionControl(&'a str),
    /// Short segments do not wait.
    NoDelay,
    /// Acknowledgements wait for a reply that can carry them.
    QuickAckOff,
    /// Segments are paced over the round trip.
    Pacing,
    /// Maximum of the advertised window, in bytes.
    WindowClamp(u32),
    /// Codepoint of datagrams.
    EcnCodepoint(Ecn),
    /// Receive buffer, as far as the machine permits, in bytes.
    ReceiveBuffer(u32),
    /// Receive buffer beyond the limit of the machine, if the caller may set it; the kernel doubles it for its overhead.
    ForcedReceiveBuffer(u32),
}

impl Socket {
    /// Creates a TCP socket.
    ///
    /// # Errors
    /// If the process may not open more descriptors.
    pub fn stream(is_v6: bool) -> io::Result<Socket> {
        Socket::new(is_v6, SocketType::STREAM)
    }

    /// Creates a UDP socket.
    ///
    /// # Errors
    /// If the process may not open more descriptors.
    pub fn datagrams(is_v6: bool) -> io::Result<Socket> {
        Socket::new(is_v6, SocketType::DGRAM)
    }

    fn new(is_v6: bool, kind: SocketType) -> io::Result<Socket> {
        let family = if is_v6 { AddressFamily::INET6 } else { AddressFamily::INET };
        Ok(Socket(net::socket_with(family, kind, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)?))
    }

    fn raw_fd(&self) -> libc::c_int {
        self.0.as_raw_fd()
    }

    /// # Errors
    /// If the kernel refuses the option, which the error names.
    pub fn set(&self, option: SocketOption) -> io::Result<()> {
        let done = match option {
            SocketOption::ReuseAddress => sockopt::set_socket_reuseaddr(self, true).map_err(io::Error::from),
            SocketOption::CongestionControl(name) => sockopt::set_tcp_congestion(self, name).map_err(io::Error::from),
            SocketOption::NoDelay => sockopt::set_tcp_nodelay(self, true).map_err(io::Error::from),
            SocketOption::QuickAckOff => sockopt::set_tcp_quickack(self, false).map_err(io::Error::from),
            // Any rate below the maximum enables pacing; this one limits nothing. Four bytes would limit to 34 Gbit/s.
            SocketOption::Pacing => set_option(self, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &(u64::MAX - 1).to_ne_bytes()),
            SocketOption::WindowClamp(bytes) => set_int_option(self, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, bytes as i32),
            SocketOption::EcnCodepoint(ecn) => self.set_codepoint(ecn),
            SocketOption::ForcedReceiveBuffer(bytes) => set_int_option(self, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes as i32),
            SocketOption::ReceiveBuffer(bytes) => set_int_option(self, libc::SOL_SOCKET, libc::SO_RCVBUF, bytes as i32),
        };
        done.map_err(|why| io::Error::new(why.kind(), format!("set a socket to {option:?}: {why}")))
    }

    fn set_codepoint(&self, ecn: Ecn) -> io::Result<()> {
        let bits = match ecn {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        };
        // A socket of IPv6 also accepts the option of IPv4, for packets that it does not send here; one of IPv4 accepts only its own.
        Ok(sockopt::set_ipv6_tclass(self, bits.into()).or_else(|_| sockopt::set_ip_tos(self, bits))?)
    }

    /// # Errors
    /// If the address is used, or not one of the namespace.
    pub fn bind(&self, address: SocketAddr) -> io::Result<()> {
        Ok(net::bind(self, &address)?)
    }

    /// Begins to connect; for datagrams this completes at once.
    ///
    /// # Errors
    /// If there is no route.
    pub fn connect(&self, address: SocketAddr) -> io::Result<()> {
        match net::connect(self, &address) {
            Err(Errno::INPROGRESS) => Ok(()),
            other => Ok(other?),
        }
    }

    /// The address that the socket is bound to.
    ///
    /// # Errors
    /// If the kernel has no memory.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        Ok(net::getsockname(self)?.try_into()?)
    }

    /// # Errors
    /// If another socket listens there.
    pub fn listen(&self) -> io::Result<()> {
        // The kernel reduces the backlog to `net.core.somaxconn`.
        Ok(net::listen(self, i32::from(u16::MAX))?)
    }

    /// Accepts a waiting connection; returns it with its peer's address.
    ///
    /// # Errors
    /// If the process may not open more descriptors.
    pub fn accept(&self) -> io::Result<Option<(Socket, SocketAddr)>> {
        let accepted = retry_on_intr_nonblocking(|| net::acceptfrom_with(self, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC))?;
        let Some((socket, address)) = accepted else { return Ok(None) };
        let address = address.ok_or(Errno::AFNOSUPPORT)?.try_into()?;
        Ok(Some((Socket(socket), address)))
    }

    /// Sends up to this number of zeros. Returns the number that the kernel accepted; `None` if it would block.
    ///
    /// # Errors
    /// If the connection is broken.
    pub fn send(&self, bytes: u64) -> io::Result<Option<u64>> {
        let length = bytes.min(MAX_SEND_BYTES as u64) as usize;
        let sent = retry_on_intr_nonblocking(|| net::send(self, &ZEROS[..length], SendFlags::NOSIGNAL))?;
        Ok(sent.map(|sent| sent as u64))
    }

    /// Discards up to this number of received bytes. Returns their number, 0 at the end of the data, `None` if there are none yet.
    ///
    /// # Errors
    /// If the connection is broken.
    pub fn discard(&self, max_bytes: u32) -> io::Result<Option<u64>> {
        let (nowhere, length) = (std::ptr::null_mut(), max_bytes as usize);
        // Safety: with MSG_TRUNC a stream's bytes are written nowhere (tcp(7)).
        let read = retry_on_intr_nonblocking(|| check_syscall(unsafe { libc::recv(self.raw_fd(), nowhere, length, libc::MSG_TRUNC) }))?;
        Ok(read.map(|read| read as u64))
    }

    /// Discards received datagrams; calls `each` with their source and size. Returns whether there may be more.
    ///
    /// # Errors
    /// If the kernel has no memory.
    pub fn for_each_discarded_datagram(&self, mut each: impl FnMut(SocketAddr, u64)) -> io::Result<bool> {
        let mut addresses = [[0_u8; SOCKADDR_BYTES]; MAX_DATAGRAMS_PER_RECVMMSG];
        // Safety: all zeros are a header of no message.
        let mut messages: [libc::mmsghdr; MAX_DATAGRAMS_PER_RECVMMSG] = unsafe { std::mem::zeroed() };
        for (message, address) in messages.iter_mut().zip(&mut addresses) {
            message.msg_hdr.msg_name = address.as_mut_ptr().cast();
            message.msg_hdr.msg_namelen = SOCKADDR_BYTES as libc::socklen_t;
        }
        let (flags, no_limit) = (libc::MSG_TRUNC | libc::MSG_DONTWAIT, std::ptr::null_mut());
        // Safety: there is this number of headers, each with space for an address and none for data.
        let received = retry_on_intr_nonblocking(|| {
            check_syscall(unsafe {
                libc::recvmmsg(self.raw_fd(), messages.as_mut_ptr(), MAX_DATAGRAMS_PER_RECVMMSG as u32, flags as _, no_limit)
            })
        });
        let received = received?.unwrap_or(0) as usize;
        for (message, address) in messages.iter().zip(&addresses).take(received) {
            each(from_sockaddr(address), u64::from(message.msg_len));
        }
        Ok(received == MAX_DATAGRAMS_PER_RECVMMSG)
    }

    /// Shuts down the sending direction: a FIN follows all data.
    ///
    /// # Errors
    /// If the connection is broken.
    pub fn shutdown_write(&self) -> io::Result<()> {
        Ok(net::shutdown(self, Shutdown::Write)?)
    }

    /// Bytes that the other side has not acknowledged, a FIN included.
    ///
    /// # Errors
    /// If it is not a TCP socket that has been connected.
    pub fn unacked_bytes(&self) -> io::Result<u32> {
        let mut bytes: libc::c_int = 0;
        // Safety: the call writes one number, which outlives it.
        check_syscall(unsafe { libc::ioctl(self.raw_fd(), libc::TIOCOUTQ, &raw mut bytes) })?;
        Ok(bytes as u32)
    }

    /// The pending error of the socket, which this call clears.
    ///
    /// # Errors
    /// If it is not a socket.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        Ok(sockopt::socket_error(self)?.err().map(io::Error::from))
    }

    /// The kernel's state of the connection; fields that an older kernel lacks are zero.
    ///
    /// # Errors
    /// If it is not a TCP socket.
    pub fn tcp_info(&self) -> io::Result<TcpInfo> {
        // Safety: the structure consists of numbers.
        unsafe { tcp_info(self) }
    }

    /// The congestion control in use.
    ///
    /// # Errors
    /// If it is not a TCP socket.
    pub fn congestion_control(&self) -> io::Result<String> {
        Ok(sockopt::tcp_congestion(self)?)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// `struct sockaddr_in6`, the longer of the two.
const SOCKADDR_BYTES: usize = 28;

/// Decodes an address that the kernel has written.
fn from_sockaddr(bytes: &[u8; SOCKADDR_BYTES]) -> SocketAddr {
    let port = u16::from_be_bytes([bytes[2], bytes[3]]);
    let ip = if bytes[..2] == (libc::AF_INET6 as libc::sa_family_t).to_ne_bytes() {
        IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(&bytes[8..24]).expect("sixteen bytes")))
    } else {
        IpAddr::V4(Ipv4Addr::new(bytes[4], bytes[5], bytes[6], bytes[7]))
    };
    SocketAddr::new(ip, port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pacing_sets_a_rate_above_any_link() {
        let socket = Socket::stream(false).unwrap();
        socket.set(SocketOption::Pacing).unwrap();
        assert_eq!(u64::MAX - 1, socket.tcp_info().unwrap().max_pacing_rate);
    }

    #[test]
    fn datagrams_are_discarded_and_reported_with_their_sender_and_length() {
        for local in ["127.0.0.1:0", "[::1]:0"] {
            let (from, to) = (std::net::UdpSocket::bind(local).unwrap(), Socket::datagrams(local.starts_with('[')).unwrap());
            to.bind(local.parse().unwrap()).unwrap();
            for length in [3, 1000] {
                from.send_to(&vec![1; length], to.local_address().unwrap()).unwrap();
            }
            let mut received = Vec::new();
            assert!(!to.for_each_discarded_datagram(|sender, bytes| received.push((sender, bytes))).unwrap());
            let sender = from.local_addr().unwrap();
            assert_eq!(vec![(sender, 3), (sender, 1000)], received);
        }
    }
}
