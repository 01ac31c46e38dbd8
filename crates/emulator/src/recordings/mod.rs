//! Records connections of hosts as cases of `ecnlab validate linux`: every packet at the devices of both hosts, the writes of their
//! applications, and the kernel's `TCP_INFO` of the opening side after each packet that it received.
//!
//! ```text
//!     router, a packet is read from a device    -> entered     time at which it left its host, and its headers
//!             a packet is written to a device   -> left        time at which it reached its host, with the marks of the path
//!             a packet is lost                  -> lost
//!     hosts,  a connection, a write, a close    -> connects, wrote, closed
//!             TCP_INFO after a packet, a timer  -> shown
//! ```
//!
//! It requests only TCP_INFO from the kernel and reads no clock, so recording does not change the run. Time zero of a case is the request
//! of its connection.

mod path;
mod writer;

use std::collections::BTreeMap;
use std::io;

use ecnlab_scenario::{Problem, Scenario};
use ecnlab_units::{Ecn, Span, Time};
use ecnlab_wire::{Flags, Tcp as Header, TcpHeaderWithPorts};

use crate::address::{AddressFamily, AddressSlot, Side};
use crate::host_settings::HostSettings;
use crate::sys::socket::TcpInfo;
use crate::tcp_tracker::seq_before;

pub use self::writer::{JiffiesClock, RecordingContext};

/// A packet that is read from a host within this time after an input or a write was sent in response to it: the kernel replies before its
/// clock advances, and iterations of the loop take so long. A timer sends later packets.
const MAX_ANSWER_DELAY: Span = Span::from_micros(5);
const MAX_BURST_DURATION: Span = Span::from_micros(20);
/// Congestion controls whose connections `ecnlab validate linux` compares with the simulator.
const COMPARABLE_CONTROLS: [&str; 5] = ["reno", "cubic", "vegas", "dctcp", "abe"];
/// Value of [`TcpInfo::state`].
const TCP_SYN_SENT: u8 = 2;

/// A TCP packet that a host at a side of a slot has sent.
#[derive(Clone, Copy, Debug)]
pub struct SentPacket {
    pub slot: AddressSlot,
    pub side: Side,
    pub handle: u32,
    pub tcp: TcpHeaderWithPorts,
    /// Bytes of the whole packet.
    pub size: u32,
    /// Bytes of data.
    pub payload: u32,
    pub ecn: Ecn,
}

/// Recorded connections.
#[derive(Debug, Default)]
pub struct ConnectionRecorder {
    connections: Vec<RecordedConnection>,
    /// The latest connection of each slot from each port of its near side.
    newest_by_port: BTreeMap<(AddressSlot, u16), usize>,
    /// Connection and packet number of each packet in the network, by handle.
    in_flight: BTreeMap<u32, (usize, usize)>,
    /// The last packet that a host received.
    last_delivered: Option<(usize, usize)>,
}

/// A connection between the near side (a) and the far side (b) of a slot.
#[derive(Debug)]
struct RecordedConnection {
    slot: AddressSlot,
    flow: u32,
    began: Time,
    packets: Vec<RecordedPacket>,
    tcp_infos: Vec<TcpInfoRecord>,
    actions: Vec<(Side, Time, SocketAction)>,
    /// Time of the last input of either side, from the network or from its application.
    input_bursts: [InputBurst; 2],
    /// The latest data that either side received.
    received_data: [Option<ReceivedDataSegment>; 2],
    /// Window scale in the SYN of either side, and its initial sequence number.
    first_syns: [Option<FirstSyn>; 2],
}

/// The first SYN of a side.
#[derive(Clone, Copy, Debug)]
struct FirstSyn {
    at: Time,
    header: Header,
}

/// A segment with data: the sequence number after it, and the time at which its host received it.
#[derive(Clone, Copy, Debug)]
struct ReceivedDataSegment {
    end: u32,
    at: Time,
}

/// Inputs of a side: the time of the last one, and of the first in a group so close that the router reads its kernel's replies to them at
/// one time.
#[derive(Clone, Copy, Debug)]
struct InputBurst {
    first: Time,
    last: Time,
}

impl InputBurst {
    fn extend_or_restart(&mut self, now: Time) {
        let is_near = now.since(self.last) <= MAX_ANSWER_DELAY && now.since(self.first) <= MAX_BURST_DURATION;
        *self = InputBurst { first: if is_near { self.first } else { now }, last: now };
    }
}

/// A packet with its headers when it left its host.
#[derive(Clone, Debug)]
struct RecordedPacket {
    side: Side,
    sent: Time,
    arrives: Option<Time>,
    is_lost: bool,
    /// Bytes on the wire, from the IP header on.
    size: u32,
    payload: u32,
    /// ECN field before and after the path.
    ecn: [Ecn; 2],
    header: Header,
}

#[derive(Debug)]
struct TcpInfoRecord {
    time: Time,
    /// Number of the packet that the host received; `None` after a timer.
    packet: Option<usize>,
    info: TcpInfo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SocketAction {
    Wrote(u64),
    Closed,
}

impl ConnectionRecorder {
    /// The near side of a slot begins to connect from a port, to send a flow.
    pub fn on_connect(&mut self, slot: AddressSlot, port: u16, flow: u32, now: Time) {
        self.newest_by_port.insert((slot, port), self.connections.len());
        self.connections.push(RecordedConnection {
            slot,
            flow,
            began: now,
            packets: Vec::new(),
            tcp_infos: Vec::new(),
            actions: Vec::new(),
            input_bursts: [InputBurst { first: now, last: now }; 2],
            received_data: [None; 2],
            first_syns: [None; 2],
        });
    }

    /// A packet has left its host. Returns the near side's port if a timer of its kernel has sent it, to request its `TCP_INFO`.
    pub fn on_sent(&mut self, sent: SentPacket, now: Time) -> Option<u16> {
        let SentPacket { slot, side, handle, tcp, size, payload, ecn } = sent;
        self.in_flight.remove(&handle);
        let port = if side == Side::Near { tcp.ports.0 } else { tcp.ports.1 };
        let &at = self.newest_by_port.get(&(slot, port))?;
        let connection = &mut self.connections[at];
        let header = tcp.header;
        if header.flags.has(Flags::SYN) && connection.first_syns[side as usize].is_none() {
            connection.first_syns[side as usize] = Some(FirstSyn { at: now, header });
        }
        self.in_flight.insert(handle, (at, connection.packets.len()));
        let burst = connection.input_bursts[side as usize];
        let is_answer = now.since(burst.last) <= MAX_ANSWER_DELAY;
        // It was sent no earlier than the arrival of the data that it acknowledges.
        let acknowledged =
            connection.received_data[side as usize].filter(|data| header.flags.has(Flags::ACK) && !seq_before(header.ack, data.end));
        let sent = if is_answer { acknowledged.map_or(burst.first, |data| data.at.max(burst.first)) } else { now };
        let packet = RecordedPacket { side, sent, arrives: None, is_lost: false, size, payload, ecn: [ecn; 2], header };
        connection.packets.push(packet);
        (side == Side::Near && !is_answer).then_some(port)
    }

    /// A packet was delivered to its host, with this codepoint.
    pub fn on_delivered(&mut self, handle: u32, ecn: Ecn, now: Time) {
        self.last_delivered = self.in_flight.remove(&handle);
        let Some((at, number)) = self.last_delivered else { return };
        let connection = &mut self.connections[at];
        let packet = &mut connection.packets[number];
        (packet.arrives, packet.ecn[1]) = (Some(now), ecn);
        let to = packet.side.other() as usize;
        if packet.payload > 0 {
            connection.received_data[to] = Some(ReceivedDataSegment { end: packet.header.seq.wrapping_add(packet.payload), at: now });
        }
        connection.input_bursts[to].extend_or_restart(now);
    }

    /// A packet is lost.
    pub fn on_lost(&mut self, handle: u32) {
        if let Some((at, number)) = self.in_flight.remove(&handle) {
            self.connections[at].packets[number].is_lost = true;
        }
    }

    /// The kernel's `TCP_INFO` of the near side of a slot: after the packet that it just received, or, with `by_timer`, after its timer has
    /// sent something.
    pub fn on_tcp_info(&mut self, slot: AddressSlot, port: u16, info: TcpInfo, by_timer: bool, now: Time) {
        let Some(&at) = self.newest_by_port.get(&(slot, port)) else { return };
        if info.state == TCP_SYN_SENT {
            // It reports an initial window before that of the route has replaced it.
            return;
        }
        let packet = self.last_delivered.filter(|&(given, _)| given == at && !by_timer).map(|(_, number)| number);
        if by_timer || packet.is_some() {
            self.connections[at].tcp_infos.push(TcpInfoRecord { time: now, packet, info });
        }
        if by_timer {
            self.connections[at].input_bursts[Side::Near as usize].extend_or_restart(now);
        }
    }

    /// A side of the connection at a slot has written this number of bytes in one call.
    pub fn on_write(&mut self, slot: AddressSlot, port: u16, side: Side, bytes: u64, now: Time) {
        self.add_action(slot, port, side, SocketAction::Wrote(bytes), now);
    }

    /// It has closed its direction.
    pub fn on_write_shutdown(&mut self, slot: AddressSlot, port: u16, side: Side, now: Time) {
        self.add_action(slot, port, side, SocketAction::Closed, now);
    }

    /// Records an action. Actions of one iteration are ordered by calls, and follow its inputs.
    fn add_action(&mut self, slot: AddressSlot, port: u16, side: Side, action: SocketAction, now: Time) {
        let Some(&at) = self.newest_by_port.get(&(slot, port)) else { return };
        let connection = &mut self.connections[at];
        let last = connection.actions.last().map(|&(_, time, _)| time).filter(|&time| time >= now);
        let at = last.unwrap_or(now) + Span::from_picos(1_000);
        connection.actions.push((side, at, action));
        connection.input_bursts[side as usize].extend_or_restart(at);
    }

    /// The cases, one for each connection in the order of their requests, as lines of JSON.
    ///
    /// # Errors
    /// If the kernel does not report its clock.
    pub fn to_json_lines(self, of: &RecordingContext) -> io::Result<Vec<String>> {
        let clock = JiffiesClock::from_proc_timer_list(of.origin_ns)?;
        let mut of_seat: BTreeMap<AddressSlot, usize> = BTreeMap::new();
        self.connections.iter().for_each(|connection| *of_seat.entry(connection.slot).or_default() += 1);
        let mut come: BTreeMap<AddressSlot, usize> = BTreeMap::new();
        let cases = self.connections.iter().map(|connection| {
            let come = come.entry(connection.slot).or_default();
            *come += 1;
            writer::case_json(connection, (*come - 1, of_seat[&connection.slot] == 1), &clock, of).to_string()
        });
        Ok(cases.collect())
    }
}

/// Parts of a scenario, with these settings of its hosts, that a case cannot represent, each with its place and a remedy.
pub fn unsupported_settings(scenario: &Scenario, hosts: &[HostSettings], family: AddressFamily) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut refuse = |place: &str, message: &str| problems.push(Problem::new(place, format!("a case cannot contain it: {message}")));
    if family == AddressFamily::V6 {
        refuse("ip", "leave out --ip 6");
    }
    for (name, host) in scenario.groups.iter().zip(hosts) {
        let Some(tcp) = &host.tcp else { continue };
        if host.ecn[0] == 3 {
            refuse(&format!("flows.{name}.tcp.ecn_echo"), "hosts with Accurate ECN cannot be compared; fix: give \"classic\"");
        }
        if !COMPARABLE_CONTROLS.contains(&tcp.congestion.as_str()) {
            let message = format!("{} has no recorded cases; fix: give one of {}", tcp.congestion, COMPARABLE_CONTROLS.join(", "));
            refuse(&format!("flows.{name}.tcp.congestion_control"), &message);
        }
        if host.rewrites_ect1 {
            refuse(&format!("flows.{name}.tcp.ect_codepoint"), "the packets are not those of the kernel; fix: give \"ect0\"");
        }
        if tcp.pacing {
            refuse(&format!("flows.{name}.tcp.pacing"), "give false");
        }
        if tcp.window_clamp.is_some() {
            refuse(&format!("flows.{name}.tcp.max_rwnd"), "give one that is more than half of the receive buffer");
        }
    }
    if hosts.iter().all(|host| host.tcp.is_none()) {
        refuse("flows", "datagrams have no connection");
    }
    for link in scenario.resolved["link"].as_array().into_iter().flatten() {
        let place = format!("link.{}", link["name"].as_str().unwrap_or_default());
        for (place, parts) in [(&place, &link["impair"]), (&format!("{place}.reverse"), &link["reverse"]["impair"])] {
            for (number, part) in parts.as_array().into_iter().flatten().enumerate() {
                if part["kind"] == "duplicate" || part["action"] == "copy" {
                    refuse(&format!("{place}.impair.{number}"), "leave out what copies packets");
                }
            }
        }
    }
    problems
}
