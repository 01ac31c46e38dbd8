//! What the headers of each packet in the network say, kept beside it: addresses, numbers, options. A packet has many events, so they are
//! written once, when it is made.
//!
//! Hosts have the addresses 10.0.0.1, 10.0.0.2, ... by their nodes' numbers, or 2001:db8::1, 2001:db8::2, ... (RFC 3849). Each flow has a port of
//! its own at its sink, and each of its connections another one at its source. In ns-2's lines hosts are nodes, and ports the numbers of their
//! agents; each connection has an agent of its own at either end, as a new pair of agents has in ns-2.

use core::net::{Ipv4Addr, Ipv6Addr};

use ecnlab_transport::{Endpoint, Role, Transport};
use ecnlab_units::Time;
use ecnlab_wire::ns2::Lines;
use ecnlab_wire::{Address, End, Flags, Kind, State, Tcp, Version};

use super::TraceFormat;
use super::connection::{Connection, OtherWay};
use super::nodes::{Host, Nodes};
use crate::packet::{Packet, PacketId, PacketKind};
use crate::probe::Made;

/// Ports above those whose protocols are told by their number.
const SINK_PORTS: u32 = 32_768;
const SOURCE_PORTS: u32 = 49_152;
const PORTS: u32 = 16_384;
/// The prefix 2001:db8::/32 (RFC 3849).
const DOCUMENTATION: u32 = 0x2001_0db8;

/// The headers of all packets in the network.
pub struct Headers {
    format: TraceFormat,
    notes: Vec<Note>,
    flows: Vec<Flow>,
    /// Packets made so far.
    made: u64,
}

/// What is kept of a packet beside what is in it.
#[derive(Clone, Copy, Debug)]
pub struct Note {
    pub written: Written,
    /// The clock that it shows.
    clock: Option<u32>,
    /// Its flags but for those of ECN.
    flags: Flags,
    /// Which of its flow's connections it belongs to.
    pub connection: u32,
    /// Application data as the simulation counts them, in bytes.
    pub payload: u32,
    /// Its number in the run.
    pub number: u64,
}

/// What is the same in all events of a packet, in the trace's form.
#[derive(Clone, Copy, Debug)]
pub enum Written {
    Lines(Lines),
    Headers(ecnlab_wire::Headers),
    /// Rows of a table hold what the packet itself says.
    Row,
}

/// A flow's hosts and its present connection.
struct Flow {
    hosts: [Host; 2],
    /// Its present connection's agents, at the same nodes.
    agents: [Host; 2],
    /// How many connections there were before, and the number of the present one in its packets.
    connections: u32,
    connection: u8,
    tcp: Option<Connection>,
    /// Where the connection has another direction: also when that has gone on to a connection of its own, and this one has not heard of it.
    joined: Option<Joined>,
}

/// What is known of a connection's other direction.
#[derive(Clone, Copy)]
struct Joined {
    ends: [End; 2],
    other: OtherWay,
}

impl Headers {
    pub fn new(format: TraceFormat) -> Headers {
        Headers { format, notes: Vec::new(), flows: Vec::new(), made: 0 }
    }

    pub fn add_flow(&mut self, transport: &Transport, hosts: [Host; 2]) {
        let tcp = match transport {
            Transport::Tcp(settings) => Some(Connection::new(settings, self.version())),
            Transport::Datagrams(_) | Transport::Outside(_) => None,
        };
        self.flows.push(Flow { hosts, agents: hosts, connections: 0, connection: 0, tcp, joined: None });
    }

    /// The version of IP that a capture shows; other forms show none.
    fn version(&self) -> Version {
        match self.format {
            TraceFormat::Pcapng { version, .. } => version,
            TraceFormat::Ns2 | TraceFormat::Table => Version::V4,
        }
    }

    #[inline]
    pub fn note(&self, id: PacketId) -> &Note {
        &self.notes[id as usize]
    }

    /// A packet comes into the network.
    pub fn made(&mut self, now: Time, id: PacketId, packet: &Packet, made: &Made, nodes: &mut Nodes) {
        let flow = &mut self.flows[packet.flow as usize];
        flow.turn_to(packet.connection, nodes);
        let connection = flow.connections;
        let payload = carried(packet, made.endpoint);
        let (written, clock, flags) = match self.format {
            TraceFormat::Ns2 => (flow.lines(packet, self.made), None, Flags::default()),
            TraceFormat::Table => (Written::Row, None, Flags::default()),
            TraceFormat::Pcapng { version, .. } => self.headers(now, packet, made, payload, version),
        };
        let note = Note { written, clock, flags, connection, payload, number: self.made };
        self.made += 1;
        self.keep(id, note);
    }

    /// The headers of a packet in a capture, with the clock and the flags that they show.
    fn headers(&mut self, now: Time, packet: &Packet, made: &Made, payload: u32, version: Version) -> (Written, Option<u32>, Flags) {
        let joined = self.joined(packet, made, version);
        let flow = &mut self.flows[packet.flow as usize];
        flow.joined = joined.or(flow.joined);
        let ends = flow.joined.map_or_else(|| flow.ports(version), |joined| joined.ends);
        let (tcp, payload) = match &mut flow.tcp {
            Some(connection) => connection.header(now, packet, made, flow.joined.map(|joined| joined.other), payload),
            None => (Tcp::default(), payload),
        };
        let shown = flow.packet(packet, ends, self.made, payload, tcp);
        self.go_on(packet.flow, made);
        (Written::Headers(ecnlab_wire::Headers::of(&shown)), tcp.timestamps.map(|stamps| stamps.value), tcp.flags)
    }

    /// What a packet shows of the other direction of its connection. Both have the ends of the one that has opened it.
    fn joined(&mut self, packet: &Packet, made: &Made, version: Version) -> Option<Joined> {
        let twin = made.twin?;
        let rides = made.ack.filter(|_| !packet.is_ack());
        let other = self.flows[twin.flow as usize].tcp.as_mut()?.other_way(&twin, rides)?;
        let opens = made.endpoint.plan().is_some_and(|plan| plan.role(0) == Role::Syn);
        let opener = if opens { packet.flow } else { twin.flow };
        let [source, sink] = self.flows[opener as usize].ports(version);
        Some(Joined { ends: if opens { [source, sink] } else { [sink, source] }, other })
    }

    /// The other direction of a connection is to show what this one has come to.
    fn go_on(&mut self, flow: u32, made: &Made) {
        let Some(twin) = made.twin.map(|twin| twin.flow as usize) else { return };
        let Some(mut joined) = self.flows[twin].joined else { return };
        if let Some(connection) = &self.flows[flow as usize].tcp {
            connection.go_on(made, &mut joined.other);
        }
        self.flows[twin].joined = Some(joined);
    }

    /// A copy of a packet comes into the network; it says what that one says.
    pub fn copied(&mut self, copy: PacketId, of: PacketId) {
        self.keep(copy, *self.note(of));
    }

    /// An acknowledgement has reached its source.
    pub fn heard(&mut self, id: PacketId, flow: u32) {
        if let (Some(clock), Some(connection)) = (self.note(id).clock, &mut self.flows[flow as usize].tcp) {
            connection.hear(clock);
        }
    }

    fn keep(&mut self, id: PacketId, note: Note) {
        match self.notes.get_mut(id as usize) {
            Some(place) => *place = note,
            None => self.notes.resize(id as usize + 1, note),
        }
    }
}

impl Flow {
    /// A packet of this connection is made, which may be a new one.
    fn turn_to(&mut self, connection: u8, nodes: &mut Nodes) {
        if connection != self.connection {
            self.agents = self.hosts.map(|host| nodes.add_agent(host.node));
            self.connections += u32::from(connection.wrapping_sub(self.connection));
            self.connection = connection;
            self.tcp.iter_mut().for_each(Connection::begin_anew);
            self.joined = None;
        }
    }

    /// The lines of a packet, as ns-2 writes them: numbers count segments.
    fn lines(&self, packet: &Packet, number: u64) -> Written {
        let ends = self.agents.map(|host| End { address: Address::Node(host.node), port: host.agent });
        let packet = self.packet(packet, ends, number, packet.size, of_segment(packet));
        Lines::of(&packet).map_or(Written::Row, Written::Lines)
    }

    fn packet(&self, packet: &Packet, ends: [End; 2], number: u64, payload: u32, tcp: Tcp) -> ecnlab_wire::Packet {
        let [source, destination] = if packet.is_ack() { [ends[1], ends[0]] } else { ends };
        let tcp = Tcp { flags: tcp.flags | ecn_flags(packet), ..tcp };
        ecnlab_wire::Packet {
            kind: kind(packet),
            source,
            destination,
            flow: Some(packet.flow),
            id: Some(number),
            size: packet.size,
            payload,
            ecn: packet.ecn,
            tcp,
            state: State::Whole,
        }
    }

    fn ports(&self, version: Version) -> [End; 2] {
        let [source, sink] = self.hosts;
        let ports = [SOURCE_PORTS + (self.connections + sink.agent / PORTS) % PORTS, SINK_PORTS + sink.agent % PORTS];
        let end = |host: Host, port| End { address: address(host.node + 1, version), port };
        [end(source, ports[0]), end(sink, ports[1])]
    }
}

impl Note {
    /// A packet's flags now; an impairment may have changed those of ECN since it was made.
    #[inline]
    pub fn flags(&self, packet: &Packet) -> Flags {
        self.flags | ecn_flags(packet)
    }
}

fn address(host: u32, version: Version) -> Address {
    match version {
        Version::V4 => Address::V4(Ipv4Addr::from(10 << 24 | host & 0x00ff_ffff)),
        Version::V6 => Address::V6(Ipv6Addr::from(u128::from(DOCUMENTATION) << 96 | u128::from(host))),
    }
}

/// The flags by which the two sides of a connection speak of ECN.
#[inline]
fn ecn_flags(packet: &Packet) -> Flags {
    Flags::default().with(Flags::ECE, packet.bits.ece()).with(Flags::CWR, packet.bits.cwr())
}

fn kind(packet: &Packet) -> Kind {
    match packet.kind() {
        PacketKind::Data if packet.role() == Role::Pure => Kind::Ack,
        PacketKind::Data => Kind::Data,
        PacketKind::Ack => Kind::Ack,
        PacketKind::Datagram => Kind::Datagram,
    }
}

/// Application data in a packet, in bytes.
fn carried(packet: &Packet, endpoint: &Endpoint) -> u32 {
    match (packet.kind(), packet.role()) {
        (PacketKind::Ack, _) | (_, Role::Pure) => 0,
        _ => endpoint.carried(packet.seq, packet.size),
    }
}

/// What of TCP's header ns-2's lines show: numbers count segments.
fn of_segment(packet: &Packet) -> Tcp {
    match kind(packet) {
        Kind::Ack if packet.is_ack() => Tcp { ack: packet.seq as u32, flags: Flags::ACK, ..Tcp::default() },
        Kind::Ack => Tcp { ack: 1, flags: Flags::ACK, ..Tcp::default() },
        _ => Tcp { seq: packet.seq as u32, ..Tcp::default() },
    }
}
