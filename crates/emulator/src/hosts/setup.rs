//! What hosts are made with: settings of the namespace, metrics of its route, options of its sockets.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use netlink_packet_route::route::RouteMetric;

use crate::address::{AddressFamily, MIN_MTU_V6, Side};
use crate::host::{Host, HostSpec};
use crate::host_settings::{HostSettings, RouteMetrics, SocketSettings, Sysctl};
use crate::sys::socket::{Socket, SocketOption};

/// Where far hosts listen: the port of those that throw away what they get (RFC 863).
pub const DISCARD_PORT: u16 = 9;

/// Ports that near hosts connect from: those that need no privilege.
pub const FIRST_CLIENT_PORT: u16 = 1024;

/// IPv4's smallest: a host takes no less.
const MIN_MTU_V4: u32 = 576;
/// TCP leaves it smaller segments than a device does.
const MIN_MTU_TCP_V4: u32 = 128;

/// Room for datagrams that have come and are not read yet.
const DATAGRAM_RCVBUF_BYTES: u32 = 1 << 22;

/// A side of a group as it is to be made.
pub fn host_spec(family: AddressFamily, group: u32, side: Side, host: &HostSettings) -> HostSpec {
    let min_mtu = match (family, host.datagrams) {
        (AddressFamily::V6, _) => MIN_MTU_V6,
        (AddressFamily::V4, Some(_)) => MIN_MTU_V4,
        (AddressFamily::V4, None) => MIN_MTU_TCP_V4,
    };
    let named = |sysctl: &Sysctl| (format!("net.ipv4.{}", sysctl.name), sysctl.value.clone());
    let (optional, settings): (Vec<_>, Vec<_>) = host.sysctls.iter().partition(|sysctl| sysctl.may_lack);
    let ecn = ("net.ipv4.tcp_ecn".to_owned(), host.ecn[side as usize].to_string());
    let backlog = ("net.core.somaxconn".to_owned(), u16::MAX.to_string());
    HostSpec {
        family,
        group,
        side,
        mtu: host.mtu.max(min_mtu),
        sysctls: settings.into_iter().map(named).chain([ecn]).collect(),
        optional_sysctls: optional.into_iter().map(named).chain([backlog]).collect(),
        route_metrics: route_metrics(&host.route),
    }
}

/// Makes the near and the far host of a group.
///
/// # Errors
/// With what the system refuses.
pub fn create_host_pair(family: AddressFamily, group: u32, host: &HostSettings) -> io::Result<[Host; 2]> {
    Ok([Host::create(&host_spec(family, group, Side::Near, host))?, Host::create(&host_spec(family, group, Side::Far, host))?])
}

/// The bit of the minimum RTO in the metric of locked metrics: `1 << RTAX_RTO_MIN` (`linux/rtnetlink.h`).
const RTO_MIN_LOCK: u32 = 1 << 13;

fn route_metrics(route: &RouteMetrics) -> Vec<RouteMetric> {
    let rto_min = route.rto_min.map(|span| (span.picos() / 1_000_000_000) as u32);
    // A kernel ignores an unlocked minimum RTO (`tcp_rto_min`).
    let lock = rto_min.map(|_| RouteMetric::Lock(RTO_MIN_LOCK));
    let quick_ack = route.quickack.then_some(RouteMetric::QuickAck(1));
    [lock, route.initcwnd.map(RouteMetric::InitCwnd), rto_min.map(RouteMetric::RtoMin), quick_ack].into_iter().flatten().collect()
}

/// The far host's socket, which takes all connections, or all datagrams, of its group.
pub fn open_listener(family: AddressFamily, host: &HostSettings) -> io::Result<Socket> {
    let any = match family {
        AddressFamily::V4 => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        AddressFamily::V6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let is_v6 = family == AddressFamily::V6;
    let Some(tcp) = &host.tcp else {
        let socket = Socket::datagrams(is_v6)?;
        socket.set(SocketOption::ReceiveBuffer(DATAGRAM_RCVBUF_BYTES))?;
        socket.bind(SocketAddr::new(any, DISCARD_PORT))?;
        return Ok(socket);
    };
    let socket = Socket::stream(is_v6)?;
    socket.set(SocketOption::ReuseAddress)?;
    set_socket_options(&socket, tcp)?;
    socket.bind(SocketAddr::new(any, DISCARD_PORT))?;
    socket.listen()?;
    Ok(socket)
}

/// What both ends of connections are set to; those that are accepted inherit it.
pub fn set_socket_options(socket: &Socket, tcp: &SocketSettings) -> io::Result<()> {
    socket.set(SocketOption::CongestionControl(tcp.congestion))?;
    let options = [
        tcp.nodelay.then_some(SocketOption::NoDelay),
        tcp.pacing.then_some(SocketOption::Pacing),
        tcp.window_clamp.map(SocketOption::WindowClamp),
    ];
    options.into_iter().flatten().try_for_each(|option| socket.set(option))?;
    // Only the machine's root may ask for any size. Where that is refused the sysctl gives one, whose window has another scale.
    match tcp.receive_buffer.map(|bytes| socket.set(SocketOption::ForcedReceiveBuffer(bytes / 2))) {
        Some(Err(why)) if why.kind() != io::ErrorKind::PermissionDenied => Err(why),
        _ => Ok(()),
    }
}

/// Binds to the next free port behind `last`, and tells which that is.
pub fn bind_next_free_port(socket: &Socket, address: IpAddr, last: u16) -> io::Result<u16> {
    socket.set(SocketOption::ReuseAddress)?;
    let mut port = last;
    for _ in FIRST_CLIENT_PORT..=u16::MAX {
        port = if port < FIRST_CLIENT_PORT || port == u16::MAX { FIRST_CLIENT_PORT } else { port + 1 };
        match socket.bind(SocketAddr::new(address, port)) {
            Err(why) if why.kind() == io::ErrorKind::AddrInUse => {}
            other => return other.map(|()| port),
        }
    }
    Err(io::Error::new(io::ErrorKind::AddrInUse, format!("{address}: all ports are in use")))
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Span;

    use super::*;

    #[test]
    fn rto_min_of_a_route_is_locked() {
        let route = RouteMetrics { rto_min: Some(Span::from_millis(20)), ..RouteMetrics::default() };
        assert_eq!(vec![RouteMetric::Lock(RTO_MIN_LOCK), RouteMetric::RtoMin(20)], route_metrics(&route));
        assert_eq!(Vec::<RouteMetric>::new(), route_metrics(&RouteMetrics::default()));
    }
}
