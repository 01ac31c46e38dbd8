//! Sockets of the namespace that the calling thread is in. None of these calls waits.
//!
//! Data is all zeros, and what is received is thrown away unread (`MSG_TRUNC`): only how much there is matters.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use ecnlab_units::Ecn;

use super::errno::{check, nonblocking};

/// As much is written at once.
const MAX_SEND_BYTES: usize = 1 << 18;
static ZEROS: [u8; MAX_SEND_BYTES] = [0; MAX_SEND_BYTES];

/// Datagrams that are received at once.
const MAX_DATAGRAMS_PER_CALL: usize = 32;

/// A socket of TCP or of UDP.
#[derive(Debug)]
pub struct Socket(OwnedFd);

/// What a kernel tells of a connection: the head of its `struct tcp_info` (`linux/tcp.h`), in its units, as far as somebody reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct TcpInfo {
    pub state: u8,
    /// Open, disorder, CWR, recovery, loss: 0 to 4.
    pub ca_state: u8,
    /// Timeouts of the segment that is outstanding.
    pub retransmits: u8,
    pub probes: u8,
    pub backoff: u8,
    /// Which options the handshake has agreed on, as [`TcpInfo::agreed_ecn`].
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
    /// In its lowest two bits how marks are echoed, as [`TcpInfo::agreed_ecn`].
    pub ecn_mode: u32,
}

/// What a handshake has agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgreedEcn {
    None,
    /// RFC 3168.
    Classic,
    /// RFC 9768.
    Accurate,
}

/// The states of a sender as [`TcpInfo::ca_state`] tells them.
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

/// What a socket is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketOption<'a> {
    /// An address that a connection which is over has used may be used again.
    ReuseAddress,
    CongestionControl(&'a str),
    /// Short segments do not wait.
    NoDelay,
    /// Acknowledgements wait to ride on an answer.
    QuickAckOff,
    /// Segments are spread over the round trip.
    Pacing,
    /// The largest window that is offered, in bytes.
    WindowClamp(u32),
    /// Codepoint of datagrams.
    EcnCodepoint(Ecn),
    /// Room for what is to be received, as far as the machine permits, in bytes.
    ReceiveBuffer(u32),
    /// The same, whatever the machine permits, where the caller may ask for that: it is doubled, for what packets are stored with.
    ForcedReceiveBuffer(u32),
}

impl Socket {
    /// A socket of TCP.
    ///
    /// # Errors
    /// If the process may have no more descriptors.
    pub fn stream(is_v6: bool) -> io::Result<Socket> {
        Socket::new(is_v6, libc::SOCK_STREAM)
    }

    /// A socket of UDP.
    ///
    /// # Errors
    /// If the process may have no more descriptors.
    pub fn datagrams(is_v6: bool) -> io::Result<Socket> {
        Socket::new(is_v6, libc::SOCK_DGRAM)
    }

    fn new(is_v6: bool, kind: libc::c_int) -> io::Result<Socket> {
        let family = if is_v6 { libc::AF_INET6 } else { libc::AF_INET };
        // Safety: the descriptor is new and has no other owner.
        Ok(Socket(unsafe { OwnedFd::from_raw_fd(check(libc::socket(family, kind | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0))?) }))
    }

    fn raw(&self) -> libc::c_int {
        self.0.as_raw_fd()
    }

    /// # Errors
    /// With the option, if the kernel refuses it.
    pub fn set(&self, option: SocketOption) -> io::Result<()> {
        let done = match option {
            SocketOption::ReuseAddress => self.set_int(libc::SOL_SOCKET, libc::SO_REUSEADDR, 1),
            SocketOption::CongestionControl(name) => self.set_bytes(libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes()),
            SocketOption::NoDelay => self.set_int(libc::IPPROTO_TCP, libc::TCP_NODELAY, 1),
            SocketOption::QuickAckOff => self.set_int(libc::IPPROTO_TCP, libc::TCP_QUICKACK, 0),
            // Any rate but the largest number has the kernel pace; this one limits nothing. Four bytes would limit to 34 Gbit/s.
            SocketOption::Pacing => self.set_bytes(libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &(u64::MAX - 1).to_ne_bytes()),
            SocketOption::WindowClamp(bytes) => self.set_int(libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, bytes as i32),
            SocketOption::EcnCodepoint(ecn) => self.set_codepoint(ecn),
            SocketOption::ForcedReceiveBuffer(bytes) => self.set_int(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes as i32),
            SocketOption::ReceiveBuffer(bytes) => self.set_int(libc::SOL_SOCKET, libc::SO_RCVBUF, bytes as i32),
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
        // A socket of IPv6 takes IPv4's option too, for packets that it does not send here; one of IPv4 takes only its own.
        let of_v6 = self.set_int(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, bits);
        of_v6.or_else(|_| self.set_int(libc::IPPROTO_IP, libc::IP_TOS, bits))
    }

    fn set_int(&self, level: libc::c_int, option: libc::c_int, value: i32) -> io::Result<()> {
        self.set_bytes(level, option, &value.to_ne_bytes())
    }

    fn set_bytes(&self, level: libc::c_int, option: libc::c_int, value: &[u8]) -> io::Result<()> {
        // Safety: the value outlives the call and is as long as is said.
        check(unsafe { libc::setsockopt(self.raw(), level, option, value.as_ptr().cast(), value.len() as libc::socklen_t) })?;
        Ok(())
    }

    /// # Errors
    /// If the address is taken, or not one of the namespace.
    pub fn bind(&self, address: SocketAddr) -> io::Result<()> {
        let (bytes, length) = to_sockaddr(address);
        // Safety: the address outlives the call and is as long as is said.
        check(unsafe { libc::bind(self.raw(), bytes.as_ptr().cast(), length) })?;
        Ok(())
    }

    /// Begins to connect; of datagrams it is done with this.
    ///
    /// # Errors
    /// If no route leads there.
    pub fn connect(&self, address: SocketAddr) -> io::Result<()> {
        let (bytes, length) = to_sockaddr(address);
        // Safety: the address outlives the call and is as long as is said.
        match check(unsafe { libc::connect(self.raw(), bytes.as_ptr().cast(), length) }) {
            Err(why) if why.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// The address that the socket is bound to.
    ///
    /// # Errors
    /// If the kernel has no memory.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        let mut address = MaybeUninit::<libc::sockaddr_storage>::zeroed();
        let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        // Safety: the kernel writes an address of at most that length.
        check(unsafe { libc::getsockname(self.raw(), address.as_mut_ptr().cast(), &raw mut length) })?;
        // Safety: all zeros are an address of no family; the kernel has written over them.
        Ok(from_sockaddr(unsafe { address.assume_init_ref() }))
    }

    /// # Errors
    /// If another socket listens there.
    pub fn listen(&self) -> io::Result<()> {
        // Safety: takes numbers alone. The kernel takes the backlog down to `net.core.somaxconn`.
        check(unsafe { libc::listen(self.raw(), i32::from(u16::MAX)) })?;
        Ok(())
    }

    /// A connection that has come, and from where.
    ///
    /// # Errors
    /// If the process may have no more descriptors.
    pub fn accept(&self) -> io::Result<Option<(Socket, SocketAddr)>> {
        let mut address = MaybeUninit::<libc::sockaddr_storage>::zeroed();
        let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // Safety: the kernel writes an address of at most that length.
        let accepted = nonblocking(|| check(unsafe { libc::accept4(self.raw(), address.as_mut_ptr().cast(), &raw mut length, flags) }))?;
        // Safety: all zeros are an address of no family; the kernel has written over them. The descriptor is new.
        Ok(accepted.map(|accepted| unsafe { (Socket(OwnedFd::from_raw_fd(accepted)), from_sockaddr(&address.assume_init())) }))
    }

    /// Sends up to so many zeros. How many the kernel has taken; `None` if it has no room.
    ///
    /// # Errors
    /// If the connection is broken.
    pub fn send(&self, bytes: u64) -> io::Result<Option<u64>> {
        let length = bytes.min(MAX_SEND_BYTES as u64) as usize;
        // Safety: so many zeros are there.
        let sent = nonblocking(|| check(unsafe { libc::send(self.raw(), ZEROS.as_ptr().cast(), length, libc::MSG_NOSIGNAL) }))?;
        Ok(sent.map(|sent| sent as u64))
    }

    /// Throws away up to so many received bytes. How many there were, 0 if the other side has sent all; `None` if there is nothing yet.
    ///
    /// # Errors
    /// If the connection is broken.
    pub fn discard(&self, max_bytes: u32) -> io::Result<Option<u64>> {
        let (nowhere, length) = (std::ptr::null_mut(), max_bytes as usize);
        // Safety: with MSG_TRUNC a stream's bytes are written nowhere (tcp(7)).
        let read = nonblocking(|| check(unsafe { libc::recv(self.raw(), nowhere, length, libc::MSG_TRUNC) }))?;
        Ok(read.map(|read| read as u64))
    }

    /// Throws away datagrams that have come; tells `each` where they came from and how much data they carried. Whether there may be more.
    ///
    /// # Errors
    /// If the kernel has no memory.
    pub fn discard_datagrams(&self, mut each: impl FnMut(SocketAddr, u64)) -> io::Result<bool> {
        let mut addresses = [const { MaybeUninit::<libc::sockaddr_storage>::zeroed() }; MAX_DATAGRAMS_PER_CALL];
        // Safety: all zeros are a header of no message.
        let mut messages: [libc::mmsghdr; MAX_DATAGRAMS_PER_CALL] = unsafe { std::mem::zeroed() };
        for (message, address) in messages.iter_mut().zip(&mut addresses) {
            message.msg_hdr.msg_name = address.as_mut_ptr().cast();
            message.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        }
        let (flags, no_limit) = (libc::MSG_TRUNC | libc::MSG_DONTWAIT, std::ptr::null_mut());
        // Safety: there are so many headers, each with room for an address and none for data.
        let received = nonblocking(|| {
            check(unsafe { libc::recvmmsg(self.raw(), messages.as_mut_ptr(), MAX_DATAGRAMS_PER_CALL as u32, flags as _, no_limit) })
        });
        let received = received?.unwrap_or(0) as usize;
        for (message, address) in messages.iter().zip(&addresses).take(received) {
            // Safety: all zeros are an address of no family; the kernel has written over them.
            each(from_sockaddr(unsafe { address.assume_init_ref() }), u64::from(message.msg_len));
        }
        Ok(received == MAX_DATAGRAMS_PER_CALL)
    }

    /// Says that nothing more is sent: a FIN goes behind all data.
    ///
    /// # Errors
    /// If the connection is broken.
    pub fn shutdown_write(&self) -> io::Result<()> {
        // Safety: takes numbers alone.
        check(unsafe { libc::shutdown(self.raw(), libc::SHUT_WR) })?;
        Ok(())
    }

    /// Bytes that the other side has not acknowledged, a FIN among them.
    ///
    /// # Errors
    /// If it is no socket of TCP that has been connected.
    pub fn unacked_bytes(&self) -> io::Result<u32> {
        let mut bytes: libc::c_int = 0;
        // Safety: the call writes one number, which outlives it.
        check(unsafe { libc::ioctl(self.raw(), libc::TIOCOUTQ, &raw mut bytes) })?;
        Ok(bytes as u32)
    }

    /// The error that the socket has met since this was asked last, if any.
    ///
    /// # Errors
    /// If it is no socket.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        let code = self.get_option::<libc::c_int>(libc::SOL_SOCKET, libc::SO_ERROR)?;
        Ok((code != 0).then(|| io::Error::from_raw_os_error(code)))
    }

    /// What the kernel tells of the connection; what an older kernel does not tell is zero.
    ///
    /// # Errors
    /// If it is no socket of TCP.
    pub fn tcp_info(&self) -> io::Result<TcpInfo> {
        self.get_option(libc::IPPROTO_TCP, libc::TCP_INFO)
    }

    /// The congestion control in use.
    ///
    /// # Errors
    /// If it is no socket of TCP.
    pub fn congestion_control(&self) -> io::Result<String> {
        let name: [u8; 16] = self.get_option(libc::IPPROTO_TCP, libc::TCP_CONGESTION)?;
        Ok(String::from_utf8_lossy(name.split(|&byte| byte == 0).next().unwrap_or_default()).into_owned())
    }

    fn get_option<T: AnyBytes>(&self, level: libc::c_int, option: libc::c_int) -> io::Result<T> {
        let mut value = T::ZERO;
        let mut length = size_of::<T>() as libc::socklen_t;
        // Safety: the kernel writes at most `length` bytes, and any bytes are a `T`.
        check(unsafe { libc::getsockopt(self.raw(), level, option, (&raw mut value).cast(), &raw mut length) })?;
        Ok(value)
    }
}

/// What any bytes are a value of.
trait AnyBytes: Copy {
    const ZERO: Self;
}

impl AnyBytes for libc::c_int {
    const ZERO: Self = 0;
}

impl AnyBytes for [u8; 16] {
    const ZERO: Self = [0; 16];
}

impl AnyBytes for TcpInfo {
    // Safety: a structure of numbers.
    const ZERO: Self = unsafe { std::mem::zeroed() };
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// An address as the kernel reads it, with its length.
fn to_sockaddr(address: SocketAddr) -> ([u8; 28], libc::socklen_t) {
    let mut bytes = [0; 28];
    bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
    match address.ip() {
        IpAddr::V4(ip) => {
            bytes[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
            bytes[4..8].copy_from_slice(&ip.octets());
            (bytes, 16)
        }
        IpAddr::V6(ip) => {
            bytes[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
            bytes[8..24].copy_from_slice(&ip.octets());
            (bytes, 28)
        }
    }
}

/// An address that the kernel has written.
fn from_sockaddr(storage: &libc::sockaddr_storage) -> SocketAddr {
    // Safety: the storage is at least as long, all of it is initialised, and any bytes are bytes.
    let bytes: &[u8; 28] = unsafe { &*std::ptr::from_ref(storage).cast() };
    let port = u16::from_be_bytes([bytes[2], bytes[3]]);
    let ip = if storage.ss_family == libc::AF_INET6 as libc::sa_family_t {
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
    fn addresses_survive_the_conversion_to_sockaddr_and_back() {
        for text in ["10.128.0.1:7000", "[fd00:8002::101]:65535"] {
            let address: SocketAddr = text.parse().unwrap();
            let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
            let (bytes, length) = to_sockaddr(address);
            let to: &mut [u8; 28] = unsafe { &mut *(&raw mut storage).cast() };
            to[..length as usize].copy_from_slice(&bytes[..length as usize]);
            assert_eq!(address, from_sockaddr(&storage));
        }
    }
}
