//! A host: a network namespace whose only route leads to a TUN device, with the addresses of one side of a group.
//!
//! A local route (AnyIP) assigns all addresses of a network at once, so that more flows need no further addresses. Settings that a new
//! namespace inherits from the machine, such as the congestion control, are set here or by the code that opens connections.

use std::io;

use crate::address::{AddressFamily, Side};
use netlink_packet_route::route::RouteMetric;

use crate::sys::namespace::device_tx_drops;
use crate::sys::netlink::{DeviceSettings, Netlink, Route, index, set_device_request, set_route_request};
use crate::sys::{Namespace, Tun, sysctl};

/// Name of the device in every host.
pub const TUN_NAME: &str = "way";

/// Queue of the device, in packets. A packet that finds it full is lost without a report, so it must exceed any backlog of the router.
/// The run reads the device's counter of drops afterwards.
pub const TX_QUEUE_PACKETS: u32 = 10_000;

/// Disables packets that no application requests. It is set before the device is up, since IPv6 would then search for routers.
const DISABLE_IPV6_SYSCTLS: [&str; 2] = ["net.ipv6.conf.all.disable_ipv6", "net.ipv6.conf.default.disable_ipv6"];

/// The same for IPv6: no automatic addresses, and no search for routers.
pub const NO_AUTOCONF_V6_SYSCTLS: [(&str, &str); 3] = [
    ("net.ipv6.conf.default.addr_gen_mode", "1"),
    ("net.ipv6.conf.default.accept_dad", "0"),
    ("net.ipv6.conf.default.router_solicitations", "0"),
];

/// Permits the use of addresses that the host has by a route only; IPv4 needs no such setting.
const NONLOCAL_BIND_V6_SYSCTL: (&str, &str) = ("net.ipv6.ip_nonlocal_bind", "1");

/// Configuration of a host.
#[derive(Clone, Debug, Default)]
pub struct HostSpec {
    pub family: AddressFamily,
    pub group: u32,
    pub side: Side,
    /// Largest packet, IP header included.
    pub mtu: u32,
    /// The router makes ECT(1) of ECT(0) in packets that leave the host.
    pub rewrites_ect1: bool,
    /// Settings below `/proc/sys` with their values.
    pub sysctls: Vec<(String, String)>,
    /// Settings that some kernels lack, or that the root of a user namespace may not set.
    pub optional_sysctls: Vec<(String, String)>,
    /// Metrics of the route to all other hosts.
    pub route_metrics: Vec<RouteMetric>,
}

/// A host. Its namespace ends when neither this value nor a socket in it exists.
#[derive(Debug)]
pub struct Host {
    pub group: u32,
    pub side: Side,
    pub namespace: Namespace,
    pub tun: Tun,
    /// ECT(1) instead of ECT(0) in packets that leave it.
    pub rewrites_ect1: bool,
}

impl Host {
    /// # Errors
    /// Without the privilege, or if the kernel refuses a setting, which the error names.
    pub fn create(spec: &HostSpec) -> io::Result<Host> {
        let namespace = Namespace::create()?;
        let tun = namespace.run_inside(|| configure_namespace_with_tun(spec))?;
        Ok(Host { group: spec.group, side: spec.side, namespace, tun, rewrites_ect1: spec.rewrites_ect1 })
    }

    /// Number of packets lost because the router did not read them in time.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn tun_tx_drops(&self) -> io::Result<u64> {
        self.namespace.run_inside(|| device_tx_drops(self.tun.name()))
    }
}

fn configure_namespace_with_tun(spec: &HostSpec) -> io::Result<Tun> {
    match spec.family {
        // A kernel without IPv6 has no such setting and does not need it.
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
