//! The two ends of a shell: the client's namespace and the server's, each with one end of the path as a device.
//!
//! ```text
//!     client (inner): lo, way  ====== the scenario's links ======  server (outer): lo, in0
//! ```
//!
//! The outer namespace is a new one without a route to others. For a nested shell it is the inner one of the shell around it, which then
//! forwards packets.

use std::io;

use super::subnet::{MAX_CHILDREN_PER_SHELL, ShellSubnet};
use crate::address::{AddressFamily, Side};
use crate::host::{Host, NO_AUTOCONF_V6_SYSCTLS, TUN_NAME, TX_QUEUE_PACKETS};
use crate::sys::netlink::{
    DeviceSettings, Netlink, Route, add_address_request, index, set_device_request, set_route_request, unreachable_route_request,
};
use crate::sys::{Namespace, Tun, sysctl};

/// MTU of the devices.
pub const MTU_BYTES: u32 = 1500;

/// Configuration of both ends.
#[derive(Clone, Debug)]
pub struct ShellNamespacesSpec {
    /// The network of the shell in which this process runs, if any: its namespace is then the outer one.
    pub outer_subnet: Option<ShellSubnet>,
    /// Connections request and accept ECN.
    pub ecn: bool,
    /// Congestion control of connections that choose none; by default the kernel's.
    pub congestion_control: Option<String>,
}

/// Both ends.
#[derive(Debug)]
pub struct ShellNamespaces {
    pub subnet: ShellSubnet,
    pub inner: Host,
    pub outer: Host,
    /// Whether the kernel supports IPv6.
    pub has_v6: bool,
}

impl ShellNamespaces {
    /// Without the privilege, or if the kernel refuses a call, which the error names.
    /// Without the privilege, or with what the kernel refuses, told by its name.
    pub fn create(spec: &ShellNamespacesSpec) -> io::Result<ShellNamespaces> {
        let far = if spec.outer_subnet.is_some() { Namespace::current()? } else { Namespace::create()? };
        let (subnet, tun) = far.run_inside(|| configure_outer_netns(spec))?;
        let outer = Host { group: 0, side: Side::Far, namespace: far, tun, rewrites_ect1: false };
        let near = Namespace::create()?;
        let (tun, has_v6) = near.run_inside(|| Ok((configure_inner_netns(spec, subnet)?, kernel_has_ipv6())))?;
        let inner = Host { group: 0, side: Side::Near, namespace: near, tun, rewrites_ect1: false };
        Ok(ShellNamespaces { subnet, inner, outer, has_v6 })
    }
}

fn configure_outer_netns(spec: &ShellNamespacesSpec) -> io::Result<(ShellSubnet, Tun)> {
    let (subnet, tun) = create_outer_tun(spec.outer_subnet)?;
    if spec.outer_subnet.is_none() {
        apply_netns_sysctls(spec)?;
        bring_up_with_settings("lo", DeviceSettings::default())?;
    }
    // If no route leads further, programs that try get an error at once instead of a timeout.
    enable_forwarding()?;
    let tun_index = configure_device(tun.name(), subnet, Side::Far)?;
    let mut netlink = Netlink::open()?;
    for family in ip_families() {
        let from = Some(subnet.address(family, Side::Far));
        let there =
            Route { from, congestion_control: spec.congestion_control.clone(), ..Route::via_device(tun_index, subnet.prefix(family)) };
        netlink.request(set_route_request(&there))?;
    }
    Ok((subnet, tun))
}

/// Lets a namespace forward packets. The inner one of a shell does so from its start, so that a nested shell changes nothing there.
fn enable_forwarding() -> io::Result<()> {
    sysctl::set("net.ipv4.ip_forward", "1")?;
    if kernel_has_ipv6() { sysctl::set("net.ipv6.conf.all.forwarding", "1") } else { Ok(()) }
}

fn configure_inner_netns(spec: &ShellNamespacesSpec, subnet: ShellSubnet) -> io::Result<Tun> {
    apply_netns_sysctls(spec)?;
    enable_forwarding()?;
    bring_up_with_settings("lo", DeviceSettings::default())?;
    let tun = Tun::create(TUN_NAME)?;
    let tun_index = configure_device(TUN_NAME, subnet, Side::Near)?;
    let mut netlink = Netlink::open()?;
    for family in ip_families() {
        let default_route = (if family == AddressFamily::V4 { [0_u8; 4].into() } else { [0_u8; 16].into() }, 0);
        let host_prefix_length = if family == AddressFamily::V4 { 32 } else { 128 };
        for to in [default_route, (subnet.address(family, Side::Far), host_prefix_length)] {
            let from = Some(subnet.address(family, Side::Near));
            let out = Route { from, congestion_control: spec.congestion_control.clone(), ..Route::via_device(tun_index, to) };
            netlink.request(set_route_request(&out))?;
        }
        // Otherwise the two ends would forward a packet without a receiver in a loop.
        netlink.request(unreachable_route_request(subnet.prefix(family)))?;
    }
    Ok(tun)
}

/// Creates the outer device, with a name, and so a network, that no other shell in this namespace has.
fn create_outer_tun(outer_subnet: Option<ShellSubnet>) -> io::Result<(ShellSubnet, Tun)> {
    let Some(outer_subnet) = outer_subnet else { return Ok((ShellSubnet::outermost(), Tun::create("in0")?)) };
    for number in 0..MAX_CHILDREN_PER_SHELL {
        let subnet = outer_subnet.nested(number).ok_or_else(|| io::Error::other("shells nest six deep at most; fix: exit one"))?;
        match Tun::create(&format!("in{number}")) {
            Ok(tun) => return Ok((subnet, tun)),
            Err(why) if why.raw_os_error() == Some(libc::EBUSY) => {}
            Err(why) => return Err(why),
        }
    }
    Err(io::Error::other(format!("at most {MAX_CHILDREN_PER_SHELL} nested shells per shell; fix: exit one of them")))
}

/// Settings of a new namespace.
fn apply_netns_sysctls(spec: &ShellNamespacesSpec) -> io::Result<()> {
    if kernel_has_ipv6() {
        NO_AUTOCONF_V6_SYSCTLS.iter().try_for_each(|(name, value)| sysctl::set(name, value))?;
    }
    sysctl::set("net.ipv4.tcp_ecn", if spec.ecn { "1" } else { "0" })?;
    // Connections do not inherit what earlier ones have measured.
    sysctl::set("net.ipv4.tcp_no_metrics_save", "1")
}

fn kernel_has_ipv6() -> bool {
    sysctl::get("net.ipv6.conf.default.disable_ipv6").is_ok_and(|value| value == "0")
}

fn ip_families() -> impl Iterator<Item = AddressFamily> {
    [AddressFamily::V4].into_iter().chain(kernel_has_ipv6().then_some(AddressFamily::V6))
}

/// Assigns the addresses of the device and brings it up; returns its interface index.
fn configure_device(name: &str, subnet: ShellSubnet, side: Side) -> io::Result<u32> {
    let tun_index = bring_up_with_settings(
        name,
        DeviceSettings { mtu: Some(MTU_BYTES), queue: Some(TX_QUEUE_PACKETS), no_offload: true, ..DeviceSettings::default() },
    )?;
    let mut netlink = Netlink::open()?;
    for family in ip_families() {
        let host_prefix_length = if family == AddressFamily::V4 { 32 } else { 128 };
        netlink.request(add_address_request(tun_index, subnet.address(family, side), host_prefix_length))?;
    }
    Ok(tun_index)
}

fn bring_up_with_settings(name: &str, device: DeviceSettings) -> io::Result<u32> {
    let number = index(name)?;
    Netlink::open()?.request(set_device_request(name, number, DeviceSettings { up: true, ..device }))?;
    Ok(number)
}
