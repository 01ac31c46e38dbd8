//! What is asked of the system, asked of it: namespaces with a TUN device each, routes to networks of addresses, and nothing left behind.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::time::Duration;

use ecnlab_router::address::{Family, Seat, Side};
use ecnlab_router::packet::View;
use ecnlab_router::sys::namespace::dropped_by_device;
use ecnlab_router::sys::netlink::{Device, Netlink, Route, index, metric, set_device, set_route};
use ecnlab_router::sys::poll::Interest;
use ecnlab_router::sys::{Namespace, Poller, Tun, settings};

/// A host, or why this machine lets none be made, which is printed.
fn host(group: u32, side: Side) -> Option<(Namespace, Tun)> {
    let made = Namespace::make().and_then(|namespace| {
        let tun = namespace.inside(|| {
            settings::set("net.ipv4.tcp_ecn", "1")?;
            let tun = Tun::make("out")?;
            let mut netlink = Netlink::open()?;
            let (out, lo) = (index("out")?, index("lo")?);
            let device = Device { up: true, mtu: Some(1500), queue: Some(2000), no_offload: true };
            netlink.ask(set_device("lo", lo, Device { up: true, ..Device::default() }))?;
            netlink.ask(set_device("out", out, device))?;
            netlink.ask(set_route(&Route::local(lo, Family::V4.network(group, side))))?;
            let metrics = vec![(metric::INITCWND, 2), (metric::RTO_MIN, 1000)];
            netlink.ask(set_route(&Route { metrics, ..Route::over(out, Family::V4.everywhere()) }))?;
            Ok(tun)
        })?;
        Ok((namespace, tun))
    });
    made.inspect_err(|why| println!("skipped: {why}")).ok()
}

#[test]
fn a_datagram_leaves_one_namespace_and_reaches_another() {
    let (Some((near, near_tun)), Some((far, far_tun))) = (host(0, Side::Near), host(0, Side::Far)) else { return };
    let seat = Seat { group: 0, number: 4000 };
    let [from, to] = [Side::Near, Side::Far].map(|side| Family::V4.address(seat, side));
    let sender = near.inside(|| UdpSocket::bind((from, 1000))).unwrap();
    let receiver = far.inside(|| UdpSocket::bind((to, 2000))).unwrap();
    receiver.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut poller = Poller::new().unwrap();
    poller.add(&near_tun, 7, Interest::Read).unwrap();
    poller.wait(Some(Duration::ZERO)).unwrap();
    assert_eq!(0, poller.ready().count());
    sender.send_to(b"hello", (to, 2000)).unwrap();
    poller.wait(Some(Duration::from_secs(5))).unwrap();
    let ready: Vec<_> = poller.ready().collect();
    assert_eq!([(7, true)], ready.iter().map(|ready| (ready.token, ready.read)).collect::<Vec<_>>()[..]);
    let mut buffer = [0; 2000];
    let length = near_tun.read(&mut buffer).unwrap().expect("a packet");
    let view = View::of(&buffer[..length]).unwrap();
    assert_eq!((from, to, 5, Some((1000, 2000))), (view.from, view.to, view.payload, view.ports()));
    assert_eq!(None, near_tun.read(&mut buffer).unwrap());
    assert!(far_tun.write(&buffer[..length]).unwrap());
    let mut heard = [0; 10];
    assert_eq!(5, receiver.recv(&mut heard).unwrap());
    assert_eq!(0, near.inside(|| dropped_by_device("out")).unwrap());
    assert_eq!("1", near.inside(|| settings::get("net.ipv4.tcp_ecn")).unwrap());
}

#[test]
fn what_the_kernel_refuses_is_told_with_what_was_asked() {
    let Some((near, _tun)) = host(1, Side::Near) else { return };
    let told = near.inside(|| {
        let nowhere = Route::over(999, (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0)), 8));
        let route = Netlink::open()?.ask(set_route(&nowhere)).unwrap_err().to_string();
        let setting = settings::set("net.ipv4.tcp_ecn", "x").unwrap_err().to_string();
        let device = dropped_by_device("none").unwrap_err().to_string();
        Ok([route, setting, device])
    });
    let told = told.unwrap();
    assert!(told[0].starts_with("route 10.0.0.0/8: "), "{told:?}");
    assert!(told[1].starts_with("net.ipv4.tcp_ecn = x: "), "{told:?}");
    assert_eq!("no device none in /proc/thread-self/net/dev", told[2]);
}
