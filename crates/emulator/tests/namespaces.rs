//! What is asked of the system, asked of it: hosts in namespaces with a TUN device each, and routes to networks of addresses.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::time::Duration;

use ecnlab_emulator::address::{AddressFamily, AddressSlot, Side};
use ecnlab_emulator::host::{Host, HostSpec};
use ecnlab_emulator::sys::namespace::device_tx_drops;
use ecnlab_emulator::sys::netlink::{Netlink, Route, set_route_request};
use ecnlab_emulator::sys::poll::Interest;
use ecnlab_emulator::sys::{Poller, sysctl};
use ecnlab_wire::{ParsedHeaders, TransportHeader};
use netlink_packet_route::route::RouteMetric;

/// A host, or why this machine lets none be made, which is printed.
fn host(family: AddressFamily, group: u32, side: Side) -> Option<Host> {
    let settings = vec![("net.ipv4.tcp_ecn".to_owned(), "1".to_owned())];
    let spec = HostSpec {
        family,
        group,
        side,
        mtu: 1500,
        sysctls: settings,
        optional_sysctls: Vec::new(),
        route_metrics: vec![RouteMetric::InitCwnd(2), RouteMetric::RtoMin(1000)],
        rewrites_ect1: false,
    };
    Host::create(&spec).inspect_err(|why| println!("skipped: {why}")).ok()
}

fn a_datagram_crosses(family: AddressFamily) {
    let (Some(near), Some(far)) = (host(family, 0, Side::Near), host(family, 0, Side::Far)) else { return };
    let slot = AddressSlot { group: 0, number: 4000 };
    let [from, to] = [Side::Near, Side::Far].map(|side| family.address(slot, side));
    let sender = near.namespace.run_inside(|| UdpSocket::bind((from, 1000))).unwrap();
    let receiver = far.namespace.run_inside(|| UdpSocket::bind((to, 2000))).unwrap();
    receiver.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut poller = Poller::new().unwrap();
    poller.add(&near.tun, 7, Interest::Read).unwrap();
    sender.send_to(b"hello", (to, 2000)).unwrap();
    let mut buffer = [0; 2000];
    let packet = loop {
        poller.wait(Some(Duration::from_secs(5))).unwrap();
        let ready: Vec<_> = poller.ready().collect();
        assert_eq!([(7, true)], ready.iter().map(|ready| (ready.token, ready.read)).collect::<Vec<_>>()[..]);
        let length = near.tun.read(&mut buffer).unwrap().expect("a packet");
        let view = ParsedHeaders::parse(&buffer[..length]).unwrap();
        // IPv6 looks for routers and groups of its own.
        if view.transport != TransportHeader::Icmp {
            break &buffer[..length];
        }
    };
    let view = ParsedHeaders::parse(packet).unwrap();
    assert_eq!((from, to, 5, Some((1000, 2000))), (view.source, view.destination, view.payload, view.ports()));
    assert!(far.tun.write(packet).unwrap());
    let mut heard = [0; 10];
    assert_eq!(5, receiver.recv(&mut heard).unwrap());
    assert_eq!(0, near.tun_tx_drops().unwrap());
    assert_eq!("1", near.namespace.run_inside(|| sysctl::get("net.ipv4.tcp_ecn")).unwrap());
}

#[test]
fn a_datagram_leaves_one_namespace_and_reaches_another() {
    a_datagram_crosses(AddressFamily::V4);
}

#[test]
fn the_same_over_ipv6() {
    a_datagram_crosses(AddressFamily::V6);
}

#[test]
fn what_the_kernel_refuses_is_told_with_what_was_asked() {
    let Some(near) = host(AddressFamily::V4, 1, Side::Near) else { return };
    let told = near.namespace.run_inside(|| {
        let nowhere = Route::via_device(999, (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0)), 8));
        let route = Netlink::open()?.request(set_route_request(&nowhere)).unwrap_err().to_string();
        let setting = sysctl::set("net.ipv4.tcp_ecn", "x").unwrap_err().to_string();
        let device = device_tx_drops("none").unwrap_err().to_string();
        Ok([route, setting, device])
    });
    let told = told.unwrap();
    assert!(told[0].starts_with("route 10.0.0.0/8: "), "{told:?}");
    assert!(told[1].starts_with("net.ipv4.tcp_ecn = x: "), "{told:?}");
    assert_eq!("no device none in /proc/thread-self/net/dev", told[2]);
}
