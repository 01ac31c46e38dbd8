//! The two ends of a shell: a namespace inside, and what is outside of it, each with the other end of the path as a device.
//!
//! ```text
//!     inside: lo, way (the way out)  ====== the scenario's links ======  outside: lo, in0
//! ```
//!
//! Outside is a namespace of its own that leads nowhere, or, of a shell that is started inside of another, that other's inside, which then forwards.

use std::io;

use super::place::{MOST_INSIDE, Place};
use crate::address::{Family, Side};
use crate::host::{DEVICE, Host, QUIET_V6, WAITING};
use crate::sys::netlink::{Device, Netlink, Route, index, set_address, set_device, set_route, set_unreachable};
use crate::sys::{Namespace, Tun, settings};

/// Largest packet.
pub const MTU: u32 = 1500;

/// What both ends are like.
#[derive(Clone, Debug)]
pub struct RoomsSpec {
    /// The network of the shell that this process is inside of, if it is: its namespace is then the outside.
    pub within: Option<Place>,
    /// Connections ask for ECN and take it.
    pub ecn: bool,
    /// The congestion control of connections that choose none; the kernel's own if nothing is said.
    pub congestion_control: Option<String>,
}

/// Both ends.
#[derive(Debug)]
pub struct Rooms {
    pub place: Place,
    pub inside: Host,
    pub outside: Host,
    /// The kernel speaks IPv6 too.
    pub has_v6: bool,
}

impl Rooms {
    /// # Errors
    /// Without the privilege, or with what the kernel refuses, told by its name.
    pub fn make(spec: &RoomsSpec) -> io::Result<Rooms> {
        let far = if spec.within.is_some() { Namespace::own()? } else { Namespace::make()? };
        let (place, tun) = far.inside(|| furnish_outside(spec))?;
        let outside = Host { group: 0, side: Side::Far, namespace: far, tun };
        let near = Namespace::make()?;
        let (tun, has_v6) = near.inside(|| Ok((furnish_inside(spec, place)?, has_v6())))?;
        let inside = Host { group: 0, side: Side::Near, namespace: near, tun };
        Ok(Rooms { place, inside, outside, has_v6 })
    }
}

fn furnish_outside(spec: &RoomsSpec) -> io::Result<(Place, Tun)> {
    let (place, tun) = door(spec.within)?;
    if spec.within.is_none() {
        quiet(spec)?;
        up("lo", Device::default())?;
    }
    // Where nothing leads further this has those who ask for more told so, in place of waiting.
    forward()?;
    let way = connect(tun.name(), place, Side::Far)?;
    let mut netlink = Netlink::open()?;
    for family in families() {
        let from = Some(place.address(family, Side::Far));
        let there = Route { from, congestion_control: spec.congestion_control.clone(), ..Route::over(way, place.network(family)) };
        netlink.ask(set_route(&there))?;
    }
    Ok((place, tun))
}

/// Has a namespace forward packets. The inside of a shell does from its start, so that a shell inside of it changes nothing there.
fn forward() -> io::Result<()> {
    settings::set("net.ipv4.ip_forward", "1")?;
    if has_v6() { settings::set("net.ipv6.conf.all.forwarding", "1") } else { Ok(()) }
}

fn furnish_inside(spec: &RoomsSpec, place: Place) -> io::Result<Tun> {
    quiet(spec)?;
    forward()?;
    up("lo", Device::default())?;
    let tun = Tun::make(DEVICE)?;
    let way = connect(DEVICE, place, Side::Near)?;
    let mut netlink = Netlink::open()?;
    for family in families() {
        let everywhere = (if family == Family::V4 { [0_u8; 4].into() } else { [0_u8; 16].into() }, 0);
        let single = if family == Family::V4 { 32 } else { 128 };
        for to in [everywhere, (place.address(family, Side::Far), single)] {
            let from = Some(place.address(family, Side::Near));
            let out = Route { from, congestion_control: spec.congestion_control.clone(), ..Route::over(way, to) };
            netlink.ask(set_route(&out))?;
        }
        // Else the two ends would send a packet to nobody to and fro.
        netlink.ask(set_unreachable(place.network(family)))?;
    }
    Ok(tun)
}

/// Makes the device outside: of a name, and so of a network, that no other shell that is started here has.
fn door(within: Option<Place>) -> io::Result<(Place, Tun)> {
    let Some(within) = within else { return Ok((Place::first(), Tun::make("in0")?)) };
    for number in 0..MOST_INSIDE {
        let place = within.inside(number).ok_or_else(|| io::Error::other("shells nest six deep at most: leave one of them"))?;
        match Tun::make(&format!("in{number}")) {
            Ok(tun) => return Ok((place, tun)),
            Err(why) if why.raw_os_error() == Some(libc::EBUSY) => {}
            Err(why) => return Err(why),
        }
    }
    Err(io::Error::other(format!("there are {MOST_INSIDE} shells inside of this one, which is as many as there may be: leave one of them")))
}

/// Settings of a new namespace.
fn quiet(spec: &RoomsSpec) -> io::Result<()> {
    if has_v6() {
        QUIET_V6.iter().try_for_each(|(name, value)| settings::set(name, value))?;
    }
    settings::set("net.ipv4.tcp_ecn", if spec.ecn { "1" } else { "0" })?;
    // What one connection has learnt is not for the next to know.
    settings::set("net.ipv4.tcp_no_metrics_save", "1")
}

fn has_v6() -> bool {
    settings::get("net.ipv6.conf.default.disable_ipv6").is_ok_and(|value| value == "0")
}

fn families() -> impl Iterator<Item = Family> {
    [Family::V4].into_iter().chain(has_v6().then_some(Family::V6))
}

/// Gives the device its addresses and brings it up; returns its number.
fn connect(name: &str, place: Place, side: Side) -> io::Result<u32> {
    let way = up(name, Device { mtu: Some(MTU), queue: Some(WAITING), no_offload: true, ..Device::default() })?;
    let mut netlink = Netlink::open()?;
    for family in families() {
        let single = if family == Family::V4 { 32 } else { 128 };
        netlink.ask(set_address(way, place.address(family, side), single))?;
    }
    Ok(way)
}

fn up(name: &str, device: Device) -> io::Result<u32> {
    let number = index(name)?;
    Netlink::open()?.ask(set_device(name, number, Device { up: true, ..device }))?;
    Ok(number)
}
