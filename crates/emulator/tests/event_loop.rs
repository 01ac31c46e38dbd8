//! The loop between two namespaces: what the engine decides is what hosts get, and what the capture shows.

use std::io::{self, Write};
use std::net::UdpSocket;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use ecnlab_emulator::address::{AddressFamily, AddressSlot, Side};
use ecnlab_emulator::capture::PacketCapture;
use ecnlab_emulator::event_loop::{EventLoop, FinishedRun, NoHosts, TimeMode};
use ecnlab_emulator::host::{Host, HostSpec};
use ecnlab_emulator::sys::socket::{Socket, SocketOption};
use ecnlab_scenario::{Registry, Scenario, no_files};
use ecnlab_sim::{IpVersion, RunTimesAndSeed, Simulation};
use ecnlab_units::{Ecn, Span, Time};
use ecnlab_wire::{Location, Reader};

const FLOW: AddressSlot = AddressSlot { group: 0, number: 0 };
const PACKETS: usize = 20;

/// A file in memory that its writer and the test share.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Both hosts, or why this machine lets none be made, which is printed.
fn hosts(family: AddressFamily, rewrites_ect1: bool) -> Option<[Host; 2]> {
    let host = |side| Host::create(&HostSpec { family, side, mtu: 1500, rewrites_ect1, ..HostSpec::default() });
    let made = host(Side::Near).and_then(|near| Ok([near, host(Side::Far)?]));
    made.inspect_err(|why| println!("skipped: {why}")).ok()
}

/// A link of 10 Mbps and 5 ms with a queue for 3 packets that marks all that find another one there.
fn scenario() -> Scenario {
    let text = r#"
        name = "loop"
        duration = "300 ms"
        measure_from = "0 s"
        [[link]]
        name = "narrow"
        from = "here"
        to = "there"
        rate = "10 Mbps"
        delay = "5 ms"
        queue = { aqm = "step", limit = 3, threshold = 1 }
        [[flows]]
        name = "sent"
        from = "here"
        to = "there"
        tcp = { profile = "linux" }
    "#;
    Scenario::from_toml(text, &[], &Registry::builtin(), &no_files).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// Drives the scenario while a thread sends datagrams all at once.
fn drive(family: AddressFamily, hosts: [Host; 2], codepoint: Ecn) -> (FinishedRun<PacketCapture, NoHosts>, Vec<u8>) {
    let [from, to] = [Side::Near, Side::Far].map(|side| family.address(FLOW, side));
    let file = Shared::default();
    let version = if family == AddressFamily::V4 { IpVersion::V4 } else { IpVersion::V6 };
    let tap = PacketCapture::new(Vec::new(), 2000, version, Box::new(file.clone()));
    let options = RunTimesAndSeed { duration: Time::ZERO + scenario().duration, measure_from: Time::ZERO, seed: 1 };
    let simulation = Simulation::new(&(*scenario().network).clone().with_external_hosts(), &options, tap);
    let sender = hosts[0].namespace.run_inside(|| {
        let socket = Socket::datagrams(family == AddressFamily::V6)?;
        socket.set(SocketOption::EcnCodepoint(codepoint))?;
        socket.bind((from, 1000).into())?;
        socket.connect((to, 2000).into())?;
        Ok(socket)
    });
    let sender = sender.unwrap();
    let mut router = EventLoop::new(simulation, hosts.into(), NoHosts, 1500, TimeMode::Real).unwrap();
    let sends = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        (0..PACKETS).for_each(|_| assert_eq!(Some(1000), sender.send(1000).unwrap()));
    });
    router.run(options.duration, Span::from_secs(1), &mut |_, _| true).unwrap();
    sends.join().unwrap();
    let mut driven = router.finish().unwrap();
    driven.simulation.probe_mut().flush().unwrap();
    let bytes = std::mem::take(&mut *file.0.lock().unwrap());
    (driven, bytes)
}

/// What the capture has seen before the link and behind it, by codepoint.
fn seen(capture: &[u8]) -> [[usize; 4]; 2] {
    let mut reader = Reader::from_reader(capture).unwrap();
    let mut seen = [[0; 4]; 2];
    while let Some(event) = reader.read_record() {
        let Some(event) = event.unwrap() else { continue };
        let Location::Interface(interface) = event.location else { panic!("{event:?}") };
        assert_eq!(1000, event.packet.payload);
        seen[interface as usize % 2][event.packet.ecn as usize] += 1;
    }
    let names: Vec<_> = reader.interfaces().iter().filter_map(|interface| interface.name.clone()).collect();
    assert_eq!(["before narrow", "after narrow"], names[..2]);
    seen
}

/// The socket of the far host.
fn receiver(family: AddressFamily, hosts: &[Host; 2]) -> UdpSocket {
    let to = family.address(FLOW, Side::Far);
    let receiver = hosts[1].namespace.run_inside(|| UdpSocket::bind((to, 2000))).unwrap();
    receiver.set_nonblocking(true).unwrap();
    receiver
}

/// Number of datagrams that have arrived. A kernel discards those whose header has a wrong checksum.
fn received(receiver: &UdpSocket) -> usize {
    let mut buffer = [1; 2000];
    let mut received = 0;
    while let Ok(length) = receiver.recv(&mut buffer) {
        assert!(buffer[..length] == [0; 1000]);
        received += 1;
    }
    received
}

#[test]
fn ect0_becomes_ect1_as_a_packet_leaves_its_host_and_other_codepoints_stay() {
    let cases = [
        (AddressFamily::V4, Ecn::Ect0, Ecn::Ect1),
        (AddressFamily::V6, Ecn::Ect0, Ecn::Ect1),
        (AddressFamily::V4, Ecn::Ect1, Ecn::Ect1),
        (AddressFamily::V4, Ecn::NotEct, Ecn::NotEct),
        (AddressFamily::V4, Ecn::Ce, Ecn::Ce),
    ];
    for (family, sent, expected) in cases {
        let Some(hosts) = hosts(family, true) else { return };
        let receiver = receiver(family, &hosts);
        let (driven, capture) = drive(family, hosts, sent);
        let [before, after] = seen(&capture);
        assert_eq!(PACKETS, before[expected as usize], "{sent:?}: {before:?}");
        let arrived: usize = after.iter().sum();
        assert!((2..=PACKETS).contains(&arrived) && after[expected as usize] + after[Ecn::Ce as usize] >= arrived, "{sent:?}: {after:?}");
        assert_eq!(arrived, received(&receiver), "{sent:?}");
        let rewritten = if sent == Ecn::Ect0 { PACKETS as u64 } else { 0 };
        assert_eq!([rewritten, 0], driven.rewritten_to_ect1[..], "{sent:?}");
    }
}

#[test]
fn what_the_queue_decides_is_what_hosts_get_and_what_the_capture_shows() {
    for (family, codepoint) in [(AddressFamily::V4, Ecn::NotEct), (AddressFamily::V4, Ecn::Ect0), (AddressFamily::V6, Ecn::Ect1)] {
        let Some(hosts) = hosts(family, false) else { return };
        let receiver = receiver(family, &hosts);
        let (driven, capture) = drive(family, hosts, codepoint);
        let received = received(&receiver);
        assert_eq!([0, 0], driven.rewritten_to_ect1[..]);
        let counts = driven.counters;
        assert_eq!((PACKETS as u64, received as u64, 0), (counts.read_from_hosts, counts.delivered, counts.tun_tx_drops));
        assert_eq!(counts.delivered, driven.lateness.count());
        let (run, _) = driven.simulation.finish();
        let queue = |column| run.report.column_as_reals("queues", column)[0] as usize;
        // One is on the wire and three wait; more if the sender was interrupted meanwhile.
        assert!((2..PACKETS).contains(&received), "{counts:?}");
        assert_eq!(PACKETS - received, queue("drops"));
        let (marks, [before, after]) = (queue("marks"), seen(&capture));
        assert_eq!(PACKETS, before[codepoint as usize], "{codepoint:?} {before:?} {after:?} {marks}");
        assert_eq!(marks, after[Ecn::Ce as usize]);
        assert_eq!(received - marks, after[codepoint as usize]);
        assert!(codepoint == Ecn::NotEct || marks > 0);
    }
}
