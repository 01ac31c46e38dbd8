//! A host: a network namespace whose way out is a TUN device, and whose addresses are those of a side of a group.
//!
//! All addresses of a network are the host's at once (a local route, AnyIP), so that a flow more or less changes nothing. What a new
//! namespace takes over from the machine, such as the congestion control, is set or is to be set by whoever makes connections.

use std::io;

use crate::address::{AddressFamily, Side};
use netlink_packet_route::route::RouteMetric;

use crate::sys::namespace::device_tx_drops;
use crate::sys::netlink::{DeviceSettings, Netlink, Route, index, set_device_request, set_route_request};
use crate::sys::{Namespace, Tun, sysctl};

/// The device's name in every host.
pub const TUN_NAME: &str = "way";

/// Packets that may wait for the router. A packet that finds no room is lost without a word to anyone, so this has to be more than it can
/// ever be behind; the run asks the device afterwards.
pub(crate) const TX_QUEUE_PACKETS: u32 = 10_000;

/// No host sends what no application asked for. Set before a device is up, which then would look for routers.
const DISABLE_IPV6_SYSCTLS: [&str; 2] = ["net.ipv6.conf.all.disable_ipv6", "net.ipv6.conf.default.disable_ipv6"];

/// The same where IPv6 is spoken: no addresses of its own making, nor the search for routers.
pub(crate) const NO_AUTOCONF_V6_SYSCTLS: [(&str, &str); 3] = [
    ("net.ipv6.conf.default.addr_gen_mode", "1"),
    ("net.ipv6.conf.default.accept_dad", "0"),
    ("net.ipv6.conf.default.router_solicitations", "0"),
];

/// Unlike IPv4, IPv6 lets nobody use an address that is the host's by a route alone unless it is told to.
const NONLOCAL_BIND_V6_SYSCTL: (&str, &str) = ("net.ipv6.ip_nonlocal_bind", "1");

/// What a host is to be like.
#[derive(Clone, Debug, Default)]
pub struct HostSpec {
    pub family: AddressFamily,
    pub group: u32,
    pub side: Side,
    /// Largest packet, IP header included.
    pub mtu: u32,
    /// Settings under `/proc/sys` with their values.
    pub sysctls: Vec<(String, String)>,
    /// The same, that not every kernel has, or lets the root of a user namespace set.
    pub optional_sysctls: Vec<(String, String)>,
    /// Metrics of the route to all others.
    pub route_metrics: Vec<RouteMetric>,
}

/// A host. It goes, with all that is in it, when nothing holds it or a socket of it any longer.
#[derive(Debug)]
pub struct Host {
    pub group: u32,
    pub side: Side,
    pub namespace: Namespace,
    pub tun: Tun,
}

impl Host {
    /// # Errors
    /// Without the privilege, or if the kernel refuses a setting, told by its name.
    pub fn create(spec: &HostSpec) -> io::Result<Host> {
        let namespace = Namespace::create()?;
        let tun = namespace.run_inside(|| configure_namespace(spec))?;
        Ok(Host { group: spec.group, side: spec.side, namespace, tun })
    }

    /// How many packets were lost because the router did not take them in time.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn tun_tx_drops(&self) -> io::Result<u64> {
        self.namespace.run_inside(|| device_tx_drops(self.tun.name()))
    }
}

fn configure_namespace(spec: &HostSpec) -> io::Result<Tun> {
    match spec.family {
        // A kernel without IPv6 has no such setting and no need of it.
        AddressFamily::V4 => DISABLE_IPV6_SYSCTLS.iter().try_for_each(|name| {
            sysctl::set(name, "1").or_else(|why| if why.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(why) })
        })?,
        AddressFamily::V6 => {
            NO_AUTOCONF_V6_SYSCTLS.iter().chain([&NONLOCAL_BIND_V6_SYSCTL]).try_for_each(|(name, value)| sysctl::set(name, value))?
        }
    }
    spec.sysctls.iter().try_for_each(|(name, value)| sysctl::set(name, value))?;
    spec.optional_sysctls.iter().try_for_each(|(name, value)| match sysctl::set(name, value) {
        Err(why) if matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => Ok(()),
        other => other,
    })?;
    let tun = Tun::create(TUN_NAME)?;
    let (way, lo) = (index(TUN_NAME)?, index("lo")?);
    let mut netlink = Netlink::open()?;
    let device = DeviceSettings { up: true, mtu: Some(spec.mtu), queue: Some(TX_QUEUE_PACKETS), no_offload: true };
    netlink.request(set_device_request("lo", lo, DeviceSettings { up: true, ..DeviceSettings::default() }))?;
    netlink.request(set_device_request(TUN_NAME, way, device))?;
    netlink.request(set_route_request(&Route::local(lo, spec.family.subnet(spec.group, spec.side))))?;
    netlink
        .request(set_route_request(&Route { metrics: spec.route_metrics.clone(), ..Route::via_device(way, spec.family.all_subnets()) }))?;
    Ok(tun)
}
