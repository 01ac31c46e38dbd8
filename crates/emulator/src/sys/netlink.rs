//! Links, addresses and routes of the calling thread's network namespace, over routing netlink (rtnetlink(7)).
//!
//! `netlink-packet-route` encodes the messages. Of a reply only its header and its attributes are decoded: statistics of a queueing
//! discipline that the crate does not know then remain readable.

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

use netlink_packet_core::{
    ErrorBuffer, NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_REQUEST, NLMSG_ERROR, NetlinkBuffer, NetlinkHeader, NetlinkMessage,
    NlasIterator,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{RouteAttribute, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use rustix::io::retry_on_intr;
use rustix::net::{self, RecvFlags, SendFlags, SocketFlags, SocketType, netdevice};

/// Routing tables (`linux/rtnetlink.h`).
const RT_TABLE_MAIN: u8 = 254;
const RT_TABLE_LOCAL: u8 = 255;

/// A request, with the text that an error message names it by.
#[derive(Clone, Debug)]
pub struct NetlinkRequest {
    message: RouteNetlinkMessage,
    flags: u16,
    description: String,
}

impl NetlinkRequest {
    /// The `flags` are added to those of every request.
    pub fn new(message: RouteNetlinkMessage, flags: u16, description: impl Into<String>) -> NetlinkRequest {
        NetlinkRequest { message, flags: flags | NLM_F_REQUEST | NLM_F_ACK, description: description.into() }
    }

    /// Adds an object or replaces the one in its place.
    pub fn create_or_replace(message: RouteNetlinkMessage, description: impl Into<String>) -> NetlinkRequest {
        NetlinkRequest::new(message, NLM_F_CREATE | NLM_F_REPLACE, description)
    }

    fn encode(&self, sequence_number: u32) -> Vec<u8> {
        let mut header = NetlinkHeader::default();
        (header.flags, header.sequence_number) = (self.flags, sequence_number);
        let mut message = NetlinkMessage::new(header, self.message.clone().into());
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        bytes
    }
}

/// A socket to the kernel, in the namespace where it was opened.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    /// Of the last request.
    sequence_number: u32,
}

impl Netlink {
    /// # Errors
    /// If the process has reached its limit of descriptors.
    pub fn open() -> io::Result<Netlink> {
        // Protocol 0 is NETLINK_ROUTE.
        let socket = net::socket_with(net::AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        Ok(Netlink { socket, sequence_number: 0 })
    }

    /// Sends a request and waits for its acknowledgement.
    ///
    /// # Errors
    /// With the request's description, if the kernel refuses it.
    pub fn request(&mut self, request: NetlinkRequest) -> io::Result<()> {
        self.request_with_reply(request).map(|_| ())
    }

    /// Sends a request and returns the reply without its netlink header; empty if the kernel only acknowledges.
    ///
    /// # Errors
    /// With the request's description, if the kernel refuses it.
    pub fn request_with_reply(&mut self, request: NetlinkRequest) -> io::Result<Vec<u8>> {
        self.sequence_number += 1;
        let bytes = request.encode(self.sequence_number);
        // A socket without a peer sends to the kernel.
        let sent = retry_on_intr(|| net::send(&self.socket, &bytes, SendFlags::empty())).map_err(io::Error::from);
        let reply = sent.and_then(|_| self.read_reply());
        reply.map_err(|why| io::Error::new(why.kind(), format!("{}: {why}", request.description)))
    }

    /// Reads until the acknowledgement of the last request.
    fn read_reply(&self) -> io::Result<Vec<u8>> {
        let mut buffer = [0_u8; 8192];
        let mut reply = Vec::new();
        loop {
            let (length, _) = retry_on_intr(|| net::recv(&self.socket, &mut buffer, RecvFlags::empty()))?;
            let bytes = &buffer[..length];
            let Ok(message) = NetlinkBuffer::new_checked(&bytes) else { continue };
            if message.sequence_number() != self.sequence_number {
                continue;
            }
            if message.message_type() != NLMSG_ERROR {
                reply = message.payload().to_vec();
                continue;
            }
            let error = ErrorBuffer::new_checked(message.payload()).map_err(io::Error::other)?;
            return error.code().map_or(Ok(reply), |code| Err(io::Error::from_raw_os_error(-code.get())));
        }
    }
}

/// The value of the first attribute of this number.
pub fn find_attribute(attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    let found = NlasIterator::new(attributes).map_while(Result::ok).find(|attribute| attribute.kind() == wanted)?;
    let length = usize::from(found.length());
    found.into_inner().get(netlink_packet_core::NLA_HEADER_SIZE..length)
}

/// The number at an offset, in the byte order of the machine.
pub fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).map(|bytes| u32::from_ne_bytes(bytes.try_into().expect("four bytes")))
}

/// Changes to a device; `None` leaves a setting unchanged.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeviceSettings {
    pub up: bool,
    pub mtu: Option<u32>,
    /// Packets that wait for the reader of a TUN device.
    pub queue: Option<u32>,
    /// No packet of more than one segment reaches the device.
    pub no_offload: bool,
}

/// The interface index of a device in the calling thread's namespace.
///
/// # Errors
/// With the name, if there is no such device.
pub fn index(name: &str) -> io::Result<u32> {
    let socket = net::socket_with(net::AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    netdevice::name_to_index(socket, name).map_err(|why| match why {
        rustix::io::Errno::NODEV => io::Error::new(io::ErrorKind::NotFound, format!("no device {name}")),
        other => io::Error::new(other.kind(), format!("device {name}: {other}")),
    })
}

pub fn set_device_request(name: &str, index: u32, device: DeviceSettings) -> NetlinkRequest {
    let mut message = LinkMessage::default();
    message.header.index = index;
    if device.up {
        (message.header.flags, message.header.change_mask) = (LinkFlags::Up, LinkFlags::Up);
    }
    message.attributes.extend(device.mtu.map(LinkAttribute::Mtu));
    message.attributes.extend(device.queue.map(LinkAttribute::TxQueueLen));
    message.attributes.extend(device.no_offload.then_some(LinkAttribute::GsoMaxSegs(1)));
    NetlinkRequest::new(RouteNetlinkMessage::NewLink(message), 0, format!("set device {name} to {device:?}"))
}

/// A route over a device.
#[derive(Clone, Debug)]
pub struct Route {
    /// Destination network and prefix length.
    pub to: (IpAddr, u8),
    pub device: u32,
    /// Every address of the network is one of the host's own (AnyIP).
    pub local: bool,
    /// The source address of packets whose socket has none.
    pub from: Option<IpAddr>,
    pub metrics: Vec<RouteMetric>,
    /// Congestion control of connections over the route that set none.
    pub congestion_control: Option<String>,
}

impl Route {
    pub fn via_device(device: u32, to: (IpAddr, u8)) -> Route {
        Route { to, device, local: false, from: None, metrics: Vec::new(), congestion_control: None }
    }

    /// Makes all addresses of a network the host's own.
    pub fn local(device: u32, to: (IpAddr, u8)) -> Route {
        Route { local: true, ..Route::via_device(device, to) }
    }
}

fn address_family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn route_message((to, prefix_length): (IpAddr, u8), table: u8, scope: RouteScope, kind: RouteType) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = address_family(to);
    message.header.destination_prefix_length = prefix_length;
    (message.header.table, message.header.protocol) = (table, RouteProtocol::Static);
    (message.header.scope, message.header.kind) = (scope, kind);
    message
}

/// Adds a route or replaces the one to the same network.
pub fn set_route_request(route: &Route) -> NetlinkRequest {
    let (table, scope, kind) = match route.local {
        true => (RT_TABLE_LOCAL, RouteScope::Host, RouteType::Local),
        false => (RT_TABLE_MAIN, RouteScope::Link, RouteType::Unicast),
    };
    let (to, prefix_length) = route.to;
    let mut message = route_message(route.to, table, scope, kind);
    message.attributes.push(RouteAttribute::Oif(route.device));
    if prefix_length > 0 {
        message.attributes.push(RouteAttribute::Destination(to.into()));
    }
    message.attributes.extend(route.from.map(|from| RouteAttribute::PrefSource(from.into())));
    let congestion_control = route.congestion_control.clone().map(RouteMetric::CcAlgo);
    let metrics: Vec<RouteMetric> = route.metrics.iter().cloned().chain(congestion_control).collect();
    if !metrics.is_empty() {
        message.attributes.push(RouteAttribute::Metrics(metrics));
    }
    let description = format!("route {to}/{prefix_length}{}", if route.local { " to the host itself" } else { "" });
    NetlinkRequest::create_or_replace(RouteNetlinkMessage::NewRoute(message), description)
}

/// Rejects packets to a network with ICMP unreachable, unless a longer prefix matches.
pub fn unreachable_route_request(to: (IpAddr, u8)) -> NetlinkRequest {
    let mut message = route_message(to, RT_TABLE_MAIN, RouteScope::Universe, RouteType::Unreachable);
    message.attributes.push(RouteAttribute::Destination(to.0.into()));
    NetlinkRequest::create_or_replace(RouteNetlinkMessage::NewRoute(message), format!("no route to {}/{}", to.0, to.1))
}

/// Adds an address without duplicate address detection, so it is usable at once.
pub fn add_address_request(device: u32, address: IpAddr, prefix_length: u8) -> NetlinkRequest {
    let mut message = AddressMessage::default();
    message.header.family = address_family(address);
    (message.header.prefix_len, message.header.index) = (prefix_length, device);
    message.header.flags = AddressHeaderFlags::Nodad;
    message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
    NetlinkRequest::create_or_replace(RouteNetlinkMessage::NewAddress(message), format!("address {address}/{prefix_length}"))
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::{DefaultNla, Emitable};

    use super::*;

    #[test]
    fn an_attribute_is_found_among_others_and_damage_ends_the_search() {
        let attributes = [DefaultNla::new(1, vec![9]), DefaultNla::new(2 | 1 << 15, vec![1, 2, 3, 4, 5])];
        let mut bytes = vec![0; (&attributes[..]).buffer_len()];
        (&attributes[..]).emit(&mut bytes);
        assert_eq!((Some(&[1, 2, 3, 4, 5][..]), None), (find_attribute(&bytes, 2), find_attribute(&bytes, 3)));
        bytes[0] = 3;
        assert_eq!(None, find_attribute(&bytes, 2));
    }

    /// The bytes are those of `struct nlmsghdr`, `struct rtmsg` and attributes in rtnetlink(7).
    #[test]
    fn a_route_is_encoded_with_its_metrics() {
        let metrics = vec![RouteMetric::InitCwnd(2)];
        let congestion_control = Some("reno".to_owned());
        let route = Route { metrics, congestion_control, ..Route::via_device(7, ([10, 0, 0, 0].into(), 8)) };
        let mut expected: Vec<u8> = [64_u32.to_ne_bytes(), [24, 0, 5, 5], 3_u32.to_ne_bytes(), [0; 4]].concat();
        expected.extend([2, 8, 0, 0, RT_TABLE_MAIN, 4, 253, 1, 0, 0, 0, 0]);
        expected.extend([[8, 0, 4, 0], [7, 0, 0, 0], [8, 0, 1, 0], [10, 0, 0, 0]].concat());
        expected.extend([[24, 0, 8, 0], [8, 0, 11, 0], [2, 0, 0, 0], [9, 0, 16, 0]].concat());
        expected.extend(b"reno\0\0\0\0");
        expected[0] = expected.len() as u8;
        if cfg!(target_endian = "little") {
            assert_eq!(expected, set_route_request(&route).encode(3));
        }
    }
}
