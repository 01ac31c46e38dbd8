//! Records connections of hosts as cases of `ecnlab validate linux`: every packet at the devices of both hosts, what their applications wrote,
//! and what the kernel of the side that opened told of itself after each packet that it was given.
//!
//! ```text
//!     router, a packet is read of a device      -> entered     when it left its host, and all that its headers say
//!             a packet is written to a device   -> left        when it reached its host, with the marks of the path
//!             a packet is lost                  -> lost
//!     hosts,  a connection, a write, a close    -> connects, wrote, closed
//!             TCP_INFO after a packet, a timer  -> shown
//! ```
//!
//! It asks the kernel for nothing but TCP_INFO, and reads no clock: a run that is recorded is the same run. Time zero of a case is when its
//! connection was asked for.

mod path;
mod writer;

use std::collections::BTreeMap;
use std::io;

use ecnlab_scenario::{Problem, Scenario};
use ecnlab_units::{Ecn, Span, Time};
use ecnlab_wire::{Flags, Tcp as Header};

use crate::address::{AddressFamily, AddressSlot, Side};
use crate::event_loop::{ConnectionObserver, SentPacket};
use crate::host_settings::HostSettings;
use crate::sys::socket::TcpInfo;
use crate::tcp_tracker::seq_before;

pub use self::writer::{JiffiesClock, RecordingContext};

/// What is read of a host within this of what it was given, or of a write, it has sent then and because of that: its kernel answers before its
/// clock goes on, and the loop's iterations take so long. What comes later is a timer's.
const MAX_ANSWER_DELAY: Span = Span::from_micros(5);
const MAX_BURST_DURATION: Span = Span::from_micros(20);
/// As [`TcpInfo::state`] tells it.
const TCP_SYN_SENT: u8 = 2;

/// Connections as they are recorded.
#[derive(Debug, Default)]
pub struct ConnectionRecorder {
    connections: Vec<RecordedConnection>,
    /// The newest connection of each slot from each port of its near side.
    newest_by_port: BTreeMap<(AddressSlot, u16), usize>,
    /// Of packets in the network the connection and the packet's number there, by their tickets.
    in_flight: BTreeMap<u32, (usize, usize)>,
    /// The packet that a host was given last.
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
    /// When either side was last given something, by the network or by its application.
    input_bursts: [InputBurst; 2],
    /// The newest data that either side was given.
    received_data: [Option<ReceivedData>; 2],
    /// The window's scale that the SYN of either side offers, and where its numbers begin.
    first_syns: [Option<FirstSyn>; 2],
}

/// The first SYN of a side.
#[derive(Clone, Copy, Debug)]
struct FirstSyn {
    at: Time,
    header: Header,
}

/// A segment with data: one past its last sequence number, and when its host was given it.
#[derive(Clone, Copy, Debug)]
struct ReceivedData {
    end: u32,
    at: Time,
}

/// When a side was given something: the last time, and the first of those that lie so near together that its kernel's answers to them are read
/// at one time.
#[derive(Clone, Copy, Debug)]
struct InputBurst {
    first: Time,
    last: Time,
}

impl InputBurst {
    fn starting_at(now: Time) -> InputBurst {
        InputBurst { first: now, last: now }
    }

    fn extend_or_restart(&mut self, now: Time) {
        let is_near = now.since(self.last) <= MAX_ANSWER_DELAY && now.since(self.first) <= MAX_BURST_DURATION;
        *self = InputBurst { first: if is_near { self.first } else { now }, last: now };
    }
}

/// A packet as its headers had it when it left its host.
#[derive(Clone, Debug)]
struct RecordedPacket {
    side: Side,
    sent: Time,
    arrives: Option<Time>,
    is_lost: bool,
    /// Bytes on the wire, from the IP header on.
    size: u32,
    payload: u32,
    /// Before and behind the path.
    ecn: [Ecn; 2],
    header: Header,
}

#[derive(Debug)]
struct TcpInfoRecord {
    time: Time,
    /// The number of the packet that the host was given; a timer's has none.
    packet: Option<usize>,
    info: TcpInfo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SocketAction {
    Wrote(u64),
    Closed,
}

impl ConnectionObserver for ConnectionRecorder {
    /// The near side of a slot begins to connect from a port, to send a flow.
    fn on_connect(&mut self, slot: AddressSlot, port: u16, flow: u32, now: Time) {
        let (packets, tcp_infos, actions) = (Vec::new(), Vec::new(), Vec::new());
        self.newest_by_port.insert((slot, port), self.connections.len());
        let (input_bursts, received_data, first_syns) = ([InputBurst::starting_at(now); 2], [None; 2], [None; 2]);
        self.connections.push(RecordedConnection {
            slot,
            flow,
            began: now,
            packets,
            tcp_infos,
            actions,
            input_bursts,
            received_data,
            first_syns,
        });
    }

    /// A packet has left its host. Whether a timer of the near side's kernel has sent it; which port that side has.
    fn on_sent(&mut self, sent: SentPacket, now: Time) -> Option<u16> {
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
        // It was sent no earlier than the data came that it acknowledges.
        let acknowledged =
            connection.received_data[side as usize].filter(|data| header.flags.has(Flags::ACK) && !seq_before(header.ack, data.end));
        let sent = if is_answer { acknowledged.map_or(burst.first, |data| data.at.max(burst.first)) } else { now };
        let packet = RecordedPacket { side, sent, arrives: None, is_lost: false, size, payload, ecn: [ecn; 2], header };
        connection.packets.push(packet);
        (side == Side::Near && !is_answer).then_some(port)
    }

    /// A packet has been given to its host, with this codepoint.
    fn on_delivered(&mut self, handle: u32, ecn: Ecn, now: Time) {
        self.last_delivered = self.in_flight.remove(&handle);
        let Some((at, number)) = self.last_delivered else { return };
        let connection = &mut self.connections[at];
        let packet = &mut connection.packets[number];
        (packet.arrives, packet.ecn[1]) = (Some(now), ecn);
        let to = packet.side.other() as usize;
        if packet.payload > 0 {
            connection.received_data[to] = Some(ReceivedData { end: packet.header.seq.wrapping_add(packet.payload), at: now });
        }
        connection.input_bursts[to].extend_or_restart(now);
    }

    /// A packet is gone.
    fn on_lost(&mut self, handle: u32) {
        if let Some((at, number)) = self.in_flight.remove(&handle) {
            self.connections[at].packets[number].is_lost = true;
        }
    }

    /// What the kernel tells of the near side of a slot, whose port is this: after the packet that it was just given, or, `by_timer`, after
    /// its timer has sent something.
    fn on_tcp_info(&mut self, slot: AddressSlot, port: u16, info: TcpInfo, by_timer: bool, now: Time) {
        let Some(&at) = self.newest_by_port.get(&(slot, port)) else { return };
        if info.state == TCP_SYN_SENT {
            // It tells a first window that the route's has not yet taken the place of.
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

    /// A side of the connection at a slot has written so many bytes in one call.
    fn on_write(&mut self, slot: AddressSlot, port: u16, side: Side, bytes: u64, now: Time) {
        self.add_action(slot, port, side, SocketAction::Wrote(bytes), now);
    }

    /// It has said that it writes no more.
    fn on_close(&mut self, slot: AddressSlot, port: u16, side: Side, now: Time) {
        self.add_action(slot, port, side, SocketAction::Closed, now);
    }
}

impl ConnectionRecorder {
    /// What is done in one iteration is done call by call, and behind what came in it.
    fn add_action(&mut self, slot: AddressSlot, port: u16, side: Side, action: SocketAction, now: Time) {
        let Some(&at) = self.newest_by_port.get(&(slot, port)) else { return };
        let connection = &mut self.connections[at];
        let last = connection.actions.last().map(|&(_, time, _)| time).filter(|&time| time >= now);
        let at = last.unwrap_or(now) + Span::from_picos(1_000);
        connection.actions.push((side, at, action));
        connection.input_bursts[side as usize].extend_or_restart(at);
    }

    /// The cases, one for each connection in the order in which they were asked for, as lines of JSON.
    ///
    /// # Errors
    /// If the kernel does not tell its clock.
    pub fn to_json_lines(self, of: &RecordingContext) -> io::Result<Vec<String>> {
        let clock = JiffiesClock::read(of.origin_ns)?;
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

/// What of a scenario no case can hold, whose hosts are set to this, each with its place and a remedy.
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
