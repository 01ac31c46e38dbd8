//! Links, addresses and routes of the namespace that the calling thread is in, over routing netlink (rtnetlink(7)).
//!
//! A [`NetlinkRequest`] is a header, the fixed part of its kind and attributes, each a length, a number and bytes. The kernel answers each with
//! an error number, zero for none.

use std::ffi::CString;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::errno::{check, retry_eintr};

/// A request in the making.
#[derive(Clone, Debug)]
pub struct NetlinkRequest {
    bytes: Vec<u8>,
    what: String,
}

const NETLINK_HEADER_BYTES: usize = 16;

impl NetlinkRequest {
    /// Of a kind (`RTM_NEWLINK`, ...), with flags beside those of every request, and the part that all of this kind begin with. `what`
    /// is told if the kernel refuses it.
    pub fn new(kind: u16, flags: libc::c_int, fixed: &[u8], what: impl Into<String>) -> NetlinkRequest {
        let flags = (flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        let mut bytes = vec![0; 4];
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend(fixed);
        NetlinkRequest { bytes, what: what.into() }
    }

    /// With an attribute.
    #[must_use]
    pub fn with_attribute(mut self, attribute: u16, value: &[u8]) -> NetlinkRequest {
        self.push(attribute, value);
        self
    }

    /// With an attribute that holds attributes, which `fill` adds.
    #[must_use]
    pub fn with_nested(mut self, attribute: u16, fill: impl FnOnce(NetlinkRequest) -> NetlinkRequest) -> NetlinkRequest {
        let start = self.bytes.len();
        self.push(attribute, &[]);
        let mut filled = fill(self);
        let length = (filled.bytes.len() - start) as u16;
        filled.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        filled
    }

    /// With bytes that are no attribute, behind which attributes may follow.
    #[must_use]
    pub fn with_bytes(mut self, bytes: &[u8]) -> NetlinkRequest {
        self.bytes.extend(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }

    fn push(&mut self, attribute: u16, value: &[u8]) {
        self.bytes.extend((4 + value.len() as u16).to_ne_bytes());
        self.bytes.extend(attribute.to_ne_bytes());
        self.bytes.extend(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// A socket to the kernel, in the namespace where it was made.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    /// Counts the requests.
    sequence: u32,
}

impl Netlink {
    /// # Errors
    /// If the process may have no more descriptors.
    pub fn open() -> io::Result<Netlink> {
        // Safety: the descriptor is new and has no other owner.
        let socket = unsafe {
            let socket = check(libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE))?;
            OwnedFd::from_raw_fd(socket)
        };
        Ok(Netlink { socket, sequence: 0 })
    }

    /// Asks for something and waits for the kernel's answer.
    ///
    /// # Errors
    /// With what was asked for, if the kernel refuses it.
    pub fn request(&mut self, message: NetlinkRequest) -> io::Result<()> {
        self.request_with_reply(message).map(|_| ())
    }

    /// Asks for something and gives what the kernel says of it, from behind the header on; nothing if it says only that all is well.
    ///
    /// # Errors
    /// With what was asked for, if the kernel refuses it.
    pub fn request_with_reply(&mut self, mut message: NetlinkRequest) -> io::Result<Vec<u8>> {
        self.sequence += 1;
        let length = message.bytes.len() as u32;
        message.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        message.bytes[8..12].copy_from_slice(&self.sequence.to_ne_bytes());
        let said = self.send(&message.bytes).and_then(|()| self.read_reply());
        said.map_err(|why| io::Error::new(why.kind(), format!("{}: {why}", message.what)))
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        // Safety: the buffer is as long as is said. A socket without a peer sends to the kernel.
        retry_eintr(|| unsafe { libc::send(self.socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) }).map(|_| ())
    }

    /// Reads the answer to the request that was sent last, up to the word whether it was done.
    fn read_reply(&self) -> io::Result<Vec<u8>> {
        let mut buffer = [0_u8; 8192];
        let mut said = Vec::new();
        loop {
            // Safety: the buffer is as long as is said.
            let read = retry_eintr(|| unsafe { libc::recv(self.socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) })?;
            let answer = &buffer[..read as usize];
            if read_u32(answer, 8) != Some(self.sequence) {
                continue;
            }
            if answer[4..6] != (libc::NLMSG_ERROR as u16).to_ne_bytes() {
                said = answer[NETLINK_HEADER_BYTES..].to_vec();
                continue;
            }
            let error = read_u32(answer, NETLINK_HEADER_BYTES).unwrap_or(0) as i32;
            return if error == 0 { Ok(said) } else { Err(io::Error::from_raw_os_error(-error)) };
        }
    }
}

/// The value of an attribute among attributes, the first of that number.
pub fn find_attribute(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    /// Flags in an attribute's number (`NLA_F_NESTED`, `NLA_F_NET_BYTEORDER`).
    const FLAGS: u16 = 3 << 14;
    loop {
        let head = read_u32(attributes, 0)?;
        let (length, found) = ((head & 0xffff) as usize, (head >> 16) as u16 & !FLAGS);
        let value = attributes.get(4..length)?;
        if found == wanted {
            return Some(value);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

/// The number at a place, in the byte order of the machine.
pub fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).map(|bytes| u32::from_ne_bytes(bytes.try_into().expect("four bytes")))
}

/// What a device is set to. What is `None` stays as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeviceSettings {
    pub up: bool,
    pub mtu: Option<u32>,
    /// Packets that wait for the reader of a TUN device.
    pub queue: Option<u32>,
    /// No packet of more than one segment reaches the device.
    pub no_offload: bool,
}

const IFLA_GSO_MAX_SEGS: u16 = 40;

/// The number of a device in the namespace that the calling thread is in.
///
/// # Errors
/// With the name, if there is none of it.
pub fn index(name: &str) -> io::Result<u32> {
    let text = CString::new(name)?;
    // Safety: the name ends with a zero and outlives the call.
    match unsafe { libc::if_nametoindex(text.as_ptr()) } {
        0 => Err(io::Error::new(io::ErrorKind::NotFound, format!("no device {name}"))),
        index => Ok(index),
    }
}

/// Sets a device.
pub fn set_device_request(name: &str, index: u32, device: DeviceSettings) -> NetlinkRequest {
    let up = if device.up { libc::IFF_UP as u32 } else { 0 };
    // struct ifinfomsg: family, padding, type, index, flags, which flags are meant.
    let mut fixed = vec![0_u8; 4];
    [index, up, up].iter().for_each(|number| fixed.extend(number.to_ne_bytes()));
    let mut message = NetlinkRequest::new(libc::RTM_NEWLINK, 0, &fixed, format!("set device {name} to {device:?}"));
    let segments = device.no_offload.then_some(1);
    for (attribute, value) in [(libc::IFLA_MTU, device.mtu), (libc::IFLA_TXQLEN, device.queue), (IFLA_GSO_MAX_SEGS, segments)] {
        if let Some(value) = value {
            message.push(attribute, &value.to_ne_bytes());
        }
    }
    message
}

/// Where packets to some addresses go.
#[derive(Clone, Debug)]
pub struct Route {
    /// The network and the length of its prefix.
    pub to: (IpAddr, u8),
    pub device: u32,
    /// The namespace takes these packets as its own: every address of the network is one of the host's (AnyIP).
    pub local: bool,
    /// The source address of those that have no other.
    pub from: Option<IpAddr>,
    /// Metrics of the route (`RTAX_...`), each with its value.
    pub metrics: Vec<(u16, u32)>,
    /// Congestion control of connections over it, if they set none.
    pub congestion_control: Option<String>,
}

impl Route {
    /// Over a device, to everywhere or to a network.
    pub fn via_device(device: u32, to: (IpAddr, u8)) -> Route {
        Route { to, device, local: false, from: None, metrics: Vec::new(), congestion_control: None }
    }

    /// All addresses of a network are the host's own.
    pub fn local(device: u32, to: (IpAddr, u8)) -> Route {
        Route { local: true, ..Route::via_device(device, to) }
    }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

fn address_family(address: IpAddr) -> u8 {
    (if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 }) as u8
}

/// Adds a route, or puts it in the place of one to the same network.
pub fn set_route_request(route: &Route) -> NetlinkRequest {
    let (table, scope, kind) = match route.local {
        true => (libc::RT_TABLE_LOCAL, libc::RT_SCOPE_HOST, libc::RTN_LOCAL),
        false => (libc::RT_TABLE_MAIN, libc::RT_SCOPE_LINK, libc::RTN_UNICAST),
    };
    let (to, length) = route.to;
    // struct rtmsg: family, lengths of destination and source, type of service, table, protocol, scope, kind, flags.
    let mut fixed = vec![address_family(to), length, 0, 0, table, libc::RTPROT_STATIC, scope, kind];
    fixed.extend([0; 4]);
    let what = format!("route {to}/{length}{}", if route.local { " to the host itself" } else { "" });
    let mut message = NetlinkRequest::new(libc::RTM_NEWROUTE, libc::NLM_F_CREATE | libc::NLM_F_REPLACE, &fixed, what)
        .with_attribute(libc::RTA_OIF, &route.device.to_ne_bytes());
    if length > 0 {
        message.push(libc::RTA_DST, &octets(to));
    }
    if let Some(from) = route.from {
        message.push(libc::RTA_PREFSRC, &octets(from));
    }
    if route.metrics.is_empty() && route.congestion_control.is_none() {
        return message;
    }
    message.with_nested(libc::RTA_METRICS, |mut message| {
        route.metrics.iter().for_each(|(metric, value)| message.push(*metric, &value.to_ne_bytes()));
        if let Some(name) = &route.congestion_control {
            message.push(RTAX_CC_ALGO, name.as_bytes());
        }
        message
    })
}

/// Packets to a network are refused with a word to who sent them, but for those that a longer prefix sends elsewhere.
pub fn unreachable_route_request((to, length): (IpAddr, u8)) -> NetlinkRequest {
    let mut fixed =
        vec![address_family(to), length, 0, 0, libc::RT_TABLE_MAIN, libc::RTPROT_STATIC, libc::RT_SCOPE_UNIVERSE, libc::RTN_UNREACHABLE];
    fixed.extend([0; 4]);
    let what = format!("no route to {to}/{length}");
    NetlinkRequest::new(libc::RTM_NEWROUTE, libc::NLM_F_CREATE | libc::NLM_F_REPLACE, &fixed, what)
        .with_attribute(libc::RTA_DST, &octets(to))
}

/// Route metrics of Linux that `libc` does not name (`linux/rtnetlink.h`).
pub mod metric {
    /// Which of the others are not to be left: a bit each.
    pub const RTAX_LOCK: u16 = 1;
    pub const RTAX_MTU: u16 = 2;
    pub const RTAX_WINDOW: u16 = 3;
    pub const RTAX_RTT: u16 = 4;
    pub const RTAX_RTTVAR: u16 = 5;
    pub const RTAX_SSTHRESH: u16 = 6;
    pub const RTAX_CWND: u16 = 7;
    pub const RTAX_ADVMSS: u16 = 8;
    pub const RTAX_REORDERING: u16 = 9;
    pub const RTAX_HOPLIMIT: u16 = 10;
    pub const RTAX_INITCWND: u16 = 11;
    pub const RTAX_FEATURES: u16 = 12;
    /// In milliseconds.
    pub const RTAX_RTO_MIN: u16 = 13;
    pub const RTAX_INITRWND: u16 = 14;
    pub const RTAX_QUICKACK: u16 = 15;
}

const RTAX_CC_ALGO: u16 = 16;

/// Gives a device an address, which it may use at once: nobody else on it can have it.
pub fn add_address_request(device: u32, address: IpAddr, prefix: u8) -> NetlinkRequest {
    // struct ifaddrmsg: family, length of the prefix, flags, scope, device.
    let mut fixed = vec![address_family(address), prefix, libc::IFA_F_NODAD as u8, 0];
    fixed.extend(device.to_ne_bytes());
    NetlinkRequest::new(libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_REPLACE, &fixed, format!("address {address}/{prefix}"))
        .with_attribute(libc::IFA_LOCAL, &octets(address))
        .with_attribute(libc::IFA_ADDRESS, &octets(address))
}
