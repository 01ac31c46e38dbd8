//! A host: a network namespace whose way out is a TUN device, and whose addresses are those of a side of a group.
//!
//! All addresses of a network are the host's at once (a local route, AnyIP), so that a flow more or less changes nothing. What a new
//! namespace takes over from the machine, such as the congestion control, is set or is to be set by whoever makes connections.

use std::io;

use crate::address::{Family, Side};
use crate::sys::namespace::dropped_by_device;
use crate::sys::netlink::{Device, Netlink, Route, index, set_device, set_route};
use crate::sys::{Namespace, Tun, settings};

/// The device's name in every host.
pub const DEVICE: &str = "way";

/// Packets that may wait for the router. A packet that finds no room is lost without a word to anyone, so this has to be more than it can
/// ever be behind; the run asks the device afterwards.
pub(crate) const WAITING: u32 = 10_000;

/// No host sends what no application asked for. Set before a device is up, which then would look for routers.
const QUIET_V4: [&str; 2] = ["net.ipv6.conf.all.disable_ipv6", "net.ipv6.conf.default.disable_ipv6"];

/// The same where IPv6 is spoken: no addresses of its own making, nor the search for routers.
pub(crate) const QUIET_V6: [(&str, &str); 3] = [
    ("net.ipv6.conf.default.addr_gen_mode", "1"),
    ("net.ipv6.conf.default.accept_dad", "0"),
    ("net.ipv6.conf.default.router_solicitations", "0"),
];

/// Unlike IPv4, IPv6 lets nobody use an address that is the host's by a route alone unless it is told to.
const ANY_ADDRESS_V6: (&str, &str) = ("net.ipv6.ip_nonlocal_bind", "1");

/// What a host is to be like.
#[derive(Clone, Debug, Default)]
pub struct HostSpec {
    pub family: Family,
    pub group: u32,
    pub side: Side,
    /// Largest packet, IP header included.
    pub mtu: u32,
    /// Settings under `/proc/sys` with their values.
    pub settings: Vec<(String, String)>,
    /// The same, that not every kernel has, or lets the root of a user namespace set.
    pub optional: Vec<(String, String)>,
    /// Metrics of the route to all others.
    pub metrics: Vec<(u16, u32)>,
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
    pub fn make(spec: &HostSpec) -> io::Result<Host> {
        let namespace = Namespace::make()?;
        let tun = namespace.inside(|| furnish(spec))?;
        Ok(Host { group: spec.group, side: spec.side, namespace, tun })
    }

    /// How many packets were lost because the router did not take them in time.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn dropped(&self) -> io::Result<u64> {
        self.namespace.inside(|| dropped_by_device(self.tun.name()))
    }
}

fn furnish(spec: &HostSpec) -> io::Result<Tun> {
    match spec.family {
        // A kernel without IPv6 has no such setting and no need of it.
        Family::V4 => QUIET_V4.iter().try_for_each(|name| {
            settings::set(name, "1").or_else(|why| if why.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(why) })
        })?,
        Family::V6 => QUIET_V6.iter().chain([&ANY_ADDRESS_V6]).try_for_each(|(name, value)| settings::set(name, value))?,
    }
    spec.settings.iter().try_for_each(|(name, value)| settings::set(name, value))?;
    spec.optional.iter().try_for_each(|(name, value)| match settings::set(name, value) {
        Err(why) if matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => Ok(()),
        other => other,
    })?;
    let tun = Tun::make(DEVICE)?;
    let (way, lo) = (index(DEVICE)?, index("lo")?);
    let mut netlink = Netlink::open()?;
    let device = Device { up: true, mtu: Some(spec.mtu), queue: Some(WAITING), no_offload: true };
    netlink.ask(set_device("lo", lo, Device { up: true, ..Device::default() }))?;
    netlink.ask(set_device(DEVICE, way, device))?;
    netlink.ask(set_route(&Route::local(lo, spec.family.network(spec.group, spec.side))))?;
    netlink.ask(set_route(&Route { metrics: spec.metrics.clone(), ..Route::over(way, spec.family.everywhere()) }))?;
    Ok(tun)
}
