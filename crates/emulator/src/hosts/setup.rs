//! Settings with which hosts are created: sysctls of the namespace, metrics of its route, options of its sockets.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use netlink_packet_route::route::RouteMetric;

use crate::address::{AddressFamily, MIN_MTU_V6, Side};
use crate::host::{Host, HostSpec};
use crate::host_settings::{HostSettings, RouteMetrics, SocketSettings, Sysctl};
use crate::sys::socket::{Socket, SocketOption};

/// Port on which far hosts listen: that of the discard service (RFC 863).
pub const LISTENER_PORT: u16 = 9;

/// Ports from which near hosts connect, none of them privileged.
pub const FIRST_CLIENT_PORT: u16 = 1024;

/// Minimum MTU of IPv4 that a host accepts.
const MIN_MTU_UDP_V4: u32 = 576;
/// TCP uses smaller segments than the device permits.
const MIN_MTU_TCP_V4: u32 = 128;

/// Memory for datagrams that are not read yet.
const DATAGRAM_RCVBUF_BYTES: u32 = 1 << 22;

/// Specification of one side of a group.
pub fn host_spec(family: AddressFamily, group: u32, side: Side, host: &HostSettings) -> HostSpec {
    let min_mtu = match (family, host.datagrams) {
        (AddressFamily::V6, _) => MIN_MTU_V6,
        (AddressFamily::V4, Some(_)) => MIN_MTU_UDP_V4,
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
        rewrites_ect1: host.rewrites_ect1,
        sysctls: settings.into_iter().map(named).chain([ecn]).collect(),
        optional_sysctls: optional.into_iter().map(named).chain([backlog]).collect(),
        route_metrics: route_metrics(&host.route),
    }
}

/// Creates the near and the far host of a group.
///
/// # Errors
/// If the system refuses a call.
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

/// The far host's socket, which accepts all connections, or receives all datagrams, of its group.
pub fn open_tcp_or_udp_listener(family: AddressFamily, host: &HostSettings) -> io::Result<Socket> {
    let any = match family {
        AddressFamily::V4 => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        AddressFamily::V6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let is_v6 = family == AddressFamily::V6;
    let Some(tcp) = &host.tcp else {
        let socket = Socket::datagrams(is_v6)?;
        socket.set(SocketOption::ReceiveBuffer(DATAGRAM_RCVBUF_BYTES))?;
        socket.bind(SocketAddr::new(any, LISTENER_PORT))?;
        return Ok(socket);
    };
    let socket = Socket::stream(is_v6)?;
    socket.set(SocketOption::ReuseAddress)?;
    set_socket_options(&socket, tcp)?;
    socket.bind(SocketAddr::new(any, LISTENER_PORT))?;
    socket.listen()?;
    Ok(socket)
}

/// Options of the sockets at both ends; accepted sockets inherit them.
pub fn set_socket_options(socket: &Socket, tcp: &SocketSettings) -> io::Result<()> {
    socket.set(SocketOption::CongestionControl(tcp.congestion.as_str()))?;
    let options = [
        tcp.nodelay.then_some(SocketOption::NoDelay),
        tcp.pacing.then_some(SocketOption::Pacing),
        tcp.window_clamp.map(SocketOption::WindowClamp),
    ];
    options.into_iter().flatten().try_for_each(|option| socket.set(option))?;
    // Only root of the machine may set any size. If that is refused, the sysctl sets one, whose window has another scale.
    match tcp.receive_buffer.map(|bytes| socket.set(SocketOption::ForcedReceiveBuffer(bytes / 2))) {
        Some(Err(why)) if why.kind() != io::ErrorKind::PermissionDenied => Err(why),
        _ => Ok(()),
    }
}

/// Binds to the next free port after `last`, and returns it.
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
