//! Records connections of hosts as cases of `ecnlab validate linux`: every packet at the doors of both hosts, what their applications wrote,
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
mod written;

use std::collections::BTreeMap;
use std::io;

use ecnlab_scenario::{Problem, Scenario};
use ecnlab_units::{Ecn, Span, Time};
use ecnlab_wire::Tcp as Header;

use crate::address::{Family, Seat, Side};
use crate::connection::precedes;
use crate::mapping::HostSettings;
use crate::packet::Tcp;
use crate::sys::socket::TcpInfo;

pub use self::written::{Clock, Recorded};

/// What is read of a host within this of what it was given, or of a write, it has sent then and because of that: its kernel answers before its
/// clock goes on, and the router's turns take so long. What comes later is a timer's.
const AT_ONCE: Span = Span::from_micros(5);
const TOGETHER: Span = Span::from_micros(20);
/// As [`TcpInfo::state`] tells it.
const SYN_SENT: u8 = 2;

/// Connections as they are recorded.
#[derive(Debug, Default)]
pub struct Cases {
    connections: Vec<Connection>,
    /// The newest connection of each seat from each port of its near side.
    places: BTreeMap<(Seat, u16), usize>,
    /// Of packets in the network the connection and the packet's number there, by their tickets.
    on_the_way: BTreeMap<u32, (usize, usize)>,
    /// The packet that a host was given last.
    given: Option<(usize, usize)>,
}

/// A connection between the near side (a) and the far side (b) of a seat.
#[derive(Debug)]
struct Connection {
    seat: Seat,
    flow: u32,
    began: Time,
    packets: Vec<Packet>,
    states: Vec<State>,
    deeds: Vec<(Side, Time, Deed)>,
    /// When either side was last given something, by the network or by its application.
    stirs: [Stirs; 2],
    /// The newest data that either side was given.
    data: [Option<Data>; 2],
    /// The window's scale that the SYN of either side offers, and where its numbers begin.
    first: [Option<First>; 2],
}

/// The first SYN of a side.
#[derive(Clone, Copy, Debug)]
struct First {
    at: Time,
    header: Header,
}

/// A segment with data: one past its last sequence number, and when its host was given it.
#[derive(Clone, Copy, Debug)]
struct Data {
    end: u32,
    at: Time,
}

/// When a side was given something: the last time, and the first of those that lie so near together that its kernel's answers to them are read
/// at one time.
#[derive(Clone, Copy, Debug)]
struct Stirs {
    first: Time,
    last: Time,
}

impl Stirs {
    fn at(now: Time) -> Stirs {
        Stirs { first: now, last: now }
    }

    fn add(&mut self, now: Time) {
        let is_near = now.since(self.last) <= AT_ONCE && now.since(self.first) <= TOGETHER;
        *self = Stirs { first: if is_near { self.first } else { now }, last: now };
    }
}

/// A packet of TCP that a host at a side of a seat has sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a> {
    pub seat: Seat,
    pub side: Side,
    pub ticket: u32,
    pub tcp: Tcp,
    pub bytes: &'a [u8],
    /// Where TCP's header begins.
    pub upper: usize,
    /// Bytes of data.
    pub payload: u32,
    pub ecn: Ecn,
}

/// A packet as its headers had it when it left its host.
#[derive(Clone, Debug)]
struct Packet {
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
struct State {
    time: Time,
    /// The number of the packet that the host was given; a timer's has none.
    packet: Option<usize>,
    info: TcpInfo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Wrote(u64),
    Closed,
}

impl Cases {
    /// The near side of a seat begins to connect from a port, to send a flow.
    pub fn connects(&mut self, seat: Seat, port: u16, flow: u32, now: Time) {
        let (packets, states, deeds) = (Vec::new(), Vec::new(), Vec::new());
        self.places.insert((seat, port), self.connections.len());
        let (stirs, data, first) = ([Stirs::at(now); 2], [None; 2], [None; 2]);
        self.connections.push(Connection { seat, flow, began: now, packets, states, deeds, stirs, data, first });
    }

    /// A packet has left its host. Whether a timer of the near side's kernel has sent it; which port that side has.
    pub fn entered(&mut self, sent: Sent, now: Time) -> Option<u16> {
        let Sent { seat, side, ticket, tcp, bytes, upper, payload, ecn } = sent;
        self.on_the_way.remove(&ticket);
        let port = if side == Side::Near { tcp.ports.0 } else { tcp.ports.1 };
        let &at = self.places.get(&(seat, port))?;
        let connection = &mut self.connections[at];
        let header = Header::read(&bytes[upper..bytes.len() - payload as usize])?;
        if tcp.flags.syn() && connection.first[side as usize].is_none() {
            connection.first[side as usize] = Some(First { at: now, header });
        }
        self.on_the_way.insert(ticket, (at, connection.packets.len()));
        let stirs = connection.stirs[side as usize];
        let is_answer = now.since(stirs.last) <= AT_ONCE;
        // It was sent no earlier than the data came that it acknowledges.
        let acknowledged = connection.data[side as usize].filter(|data| tcp.flags.ack() && !precedes(tcp.ack, data.end));
        let sent = if is_answer { acknowledged.map_or(stirs.first, |data| data.at.max(stirs.first)) } else { now };
        let packet = Packet { side, sent, arrives: None, is_lost: false, size: bytes.len() as u32, payload, ecn: [ecn; 2], header };
        connection.packets.push(packet);
        (side == Side::Near && !is_answer).then_some(port)
    }

    /// A packet has been given to its host, with this codepoint.
    pub fn left(&mut self, ticket: u32, ecn: Ecn, now: Time) {
        self.given = self.on_the_way.remove(&ticket);
        let Some((at, number)) = self.given else { return };
        let connection = &mut self.connections[at];
        let packet = &mut connection.packets[number];
        (packet.arrives, packet.ecn[1]) = (Some(now), ecn);
        let to = packet.side.other() as usize;
        if packet.payload > 0 {
            connection.data[to] = Some(Data { end: packet.header.seq.wrapping_add(packet.payload), at: now });
        }
        connection.stirs[to].add(now);
    }

    /// A packet is gone.
    pub fn lost(&mut self, ticket: u32) {
        if let Some((at, number)) = self.on_the_way.remove(&ticket) {
            self.connections[at].packets[number].is_lost = true;
        }
    }

    /// What the kernel tells of the near side of a seat, whose port is this: after the packet that it was just given, or, `by_timer`, after
    /// its timer has sent something.
    pub fn shown(&mut self, seat: Seat, port: u16, info: TcpInfo, by_timer: bool, now: Time) {
        let Some(&at) = self.places.get(&(seat, port)) else { return };
        if info.state == SYN_SENT {
            // It tells a first window that the route's has not yet taken the place of.
            return;
        }
        let packet = self.given.filter(|&(given, _)| given == at && !by_timer).map(|(_, number)| number);
        if by_timer || packet.is_some() {
            self.connections[at].states.push(State { time: now, packet, info });
        }
        if by_timer {
            self.connections[at].stirs[Side::Near as usize].add(now);
        }
    }

    /// A side of the connection at a seat has written so many bytes in one call.
    pub fn wrote(&mut self, seat: Seat, port: u16, side: Side, bytes: u64, now: Time) {
        self.did(seat, port, side, Deed::Wrote(bytes), now);
    }

    /// It has said that it writes no more.
    pub fn closed(&mut self, seat: Seat, port: u16, side: Side, now: Time) {
        self.did(seat, port, side, Deed::Closed, now);
    }

    /// What is done in one turn is done call by call, and behind what came in it.
    fn did(&mut self, seat: Seat, port: u16, side: Side, deed: Deed, now: Time) {
        let Some(&at) = self.places.get(&(seat, port)) else { return };
        let connection = &mut self.connections[at];
        let last = connection.deeds.last().map(|&(_, time, _)| time).filter(|&time| time >= now);
        let at = last.unwrap_or(now) + Span::from_picos(1_000);
        connection.deeds.push((side, at, deed));
        connection.stirs[side as usize].add(at);
    }

    /// The cases, one for each connection in the order in which they were asked for, as lines of JSON.
    ///
    /// # Errors
    /// If the kernel does not tell its clock.
    pub fn written(self, of: &Recorded) -> io::Result<Vec<String>> {
        let clock = Clock::read(of.origin_ns)?;
        let mut of_seat: BTreeMap<Seat, usize> = BTreeMap::new();
        self.connections.iter().for_each(|connection| *of_seat.entry(connection.seat).or_default() += 1);
        let mut come: BTreeMap<Seat, usize> = BTreeMap::new();
        let cases = self.connections.iter().map(|connection| {
            let come = come.entry(connection.seat).or_default();
            *come += 1;
            written::case(connection, (*come - 1, of_seat[&connection.seat] == 1), &clock, of).to_string()
        });
        Ok(cases.collect())
    }
}

/// What of a scenario no case can hold, whose hosts are set to this, each with its place and a remedy.
pub fn refusals(scenario: &Scenario, hosts: &[HostSettings], family: Family) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut refuse = |place: &str, message: &str| problems.push(Problem::new(place, format!("a case does not hold it: {message}")));
    if family == Family::V6 {
        refuse("ip", "leave out --ip 6");
    }
    for (name, host) in scenario.groups.iter().zip(hosts) {
        let Some(tcp) = &host.tcp else { continue };
        if host.ecn[0] == 3 {
            refuse(&format!("flows.{name}.tcp.ecn_echo"), "hosts that count marks are compared with none: give \"classic\"");
        }
        if tcp.pacing {
            refuse(&format!("flows.{name}.tcp.pacing"), "give false");
        }
        if tcp.window_clamp.is_some() {
            refuse(&format!("flows.{name}.tcp.max_window"), "give one that is more than half of the receive buffer");
        }
    }
    if hosts.iter().all(|host| host.tcp.is_none()) {
        refuse("flows", "there is no connection, only datagrams");
    }
    for link in scenario.resolved["link"].as_array().into_iter().flatten() {
        let place = format!("link.{}", link["name"].as_str().unwrap_or_default());
        for (place, parts) in [(&place, &link["impair"]), (&format!("{place}.reverse"), &link["reverse"]["impair"])] {
            for (number, part) in parts.as_array().into_iter().flatten().enumerate() {
                if part["kind"] == "duplicate" || part["deed"] == "copy" {
                    refuse(&format!("{place}.impair.{number}"), "leave out what copies packets");
                }
            }
        }
    }
    problems
}
