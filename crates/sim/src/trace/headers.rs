//! What the headers of each packet in the network say, kept beside it: addresses, numbers, options.
//!
//! Hosts have the addresses 10.0.0.1, 10.0.0.2, ... by their nodes' numbers. Each flow has a port of its own at its sink, and each of its
//! connections another one at its source. In ns-2's lines hosts are nodes, and ports the numbers of their agents.

use core::net::Ipv4Addr;

use ecnlab_transport::{Endpoint, Role, Transport};
use ecnlab_units::{Ecn, Time};
use ecnlab_wire::{Address, End, Flags, Kind, State, Tcp};

use super::TraceFormat;
use super::connection::Connection;
use super::nodes::Host;
use crate::packet::{Packet, PacketId, PacketKind};
use crate::probe::Made;

/// Ports above those whose protocols are told by their number.
const SINK_PORTS: u32 = 32_768;
const SOURCE_PORTS: u32 = 49_152;
const PORTS: u32 = 16_384;

/// The headers of all packets in the network.
pub struct Headers {
    /// Whether numbers count segments and ends are nodes, as in ns-2.
    as_ns2: bool,
    notes: Vec<Note>,
    flows: Vec<Flow>,
    /// Packets made so far.
    made: u64,
}

/// What a packet's headers say, as it was when it was made.
#[derive(Clone, Copy, Debug)]
pub struct Note {
    wire: ecnlab_wire::Packet,
    /// Which of its flow's connections it belongs to.
    pub connection: u32,
    /// Application data as the simulation counts them, in bytes.
    pub payload: u32,
    /// Its number in the run.
    pub number: u64,
}

/// A flow's hosts and its present connection.
struct Flow {
    hosts: [Host; 2],
    /// How many connections there were before, and the number of the present one in its packets.
    connections: u32,
    connection: u8,
    tcp: Option<Connection>,
}

impl Headers {
    pub fn new(format: TraceFormat) -> Headers {
        Headers { as_ns2: !matches!(format, TraceFormat::Pcapng { .. }), notes: Vec::new(), flows: Vec::new(), made: 0 }
    }

    pub fn add_flow(&mut self, transport: &Transport, hosts: [Host; 2]) {
        let tcp = match transport {
            Transport::Tcp(settings) => Some(Connection::new(settings)),
            Transport::Datagrams(_) => None,
        };
        self.flows.push(Flow { hosts, connections: 0, connection: 0, tcp });
    }

    #[inline]
    pub fn note(&self, id: PacketId) -> &Note {
        &self.notes[id as usize]
    }

    /// A packet as it is now: its ECN field and its bits may have changed since it was made.
    #[inline]
    pub fn wire(&self, id: PacketId, packet: &Packet) -> ecnlab_wire::Packet {
        let mut wire = self.note(id).wire;
        let others = Flags(wire.tcp.flags.0 & !(Flags::ECE | Flags::CWR).0);
        wire.tcp.flags = others.with(Flags::ECE, packet.bits.ece()).with(Flags::CWR, packet.bits.cwr());
        wire.ecn = packet.ecn;
        wire
    }

    /// A packet comes into the network.
    pub fn made(&mut self, now: Time, id: PacketId, packet: &Packet, made: &Made) {
        let flow = &mut self.flows[packet.flow as usize];
        flow.turn_to(packet.connection);
        let payload = carried(packet, made.endpoint);
        let (tcp, shown) = match &mut flow.tcp {
            _ if self.as_ns2 => (of_segment(packet), packet.size),
            Some(connection) => connection.header(now, packet, made, payload),
            None => (Tcp::default(), payload),
        };
        let ends = if self.as_ns2 { flow.agents() } else { flow.ports() };
        let [source, destination] = if packet.is_ack() { [ends[1], ends[0]] } else { ends };
        let wire = ecnlab_wire::Packet {
            kind: kind(packet),
            source,
            destination,
            flow: Some(packet.flow),
            id: Some(self.made),
            size: packet.size,
            payload: shown,
            ecn: Ecn::NotEct,
            tcp,
            state: State::Whole,
        };
        let note = Note { wire, connection: flow.connections, payload, number: self.made };
        self.made += 1;
        self.keep(id, note);
    }

    /// A copy of a packet comes into the network; it says what that one says.
    pub fn copied(&mut self, copy: PacketId, of: PacketId) {
        self.keep(copy, *self.note(of));
    }

    /// An acknowledgement has reached its source.
    pub fn heard(&mut self, id: PacketId, flow: u32) {
        let stamps = self.note(id).wire.tcp.timestamps;
        if let (Some(stamps), Some(connection)) = (stamps, &mut self.flows[flow as usize].tcp) {
            connection.hear(stamps.value);
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
    fn turn_to(&mut self, connection: u8) {
        if connection != self.connection {
            self.connections += u32::from(connection.wrapping_sub(self.connection));
            self.connection = connection;
            self.tcp.iter_mut().for_each(Connection::begin_anew);
        }
    }

    fn agents(&self) -> [End; 2] {
        self.hosts.map(|host| End { address: Address::Node(host.node), port: host.agent })
    }

    fn ports(&self) -> [End; 2] {
        let [source, sink] = self.hosts;
        let ports = [SOURCE_PORTS + (self.connections + sink.agent / PORTS) % PORTS, SINK_PORTS + sink.agent % PORTS];
        let end = |host: Host, port| End { address: Address::V4(Ipv4Addr::from(10 << 24 | (host.node + 1) & 0x00ff_ffff)), port };
        [end(source, ports[0]), end(sink, ports[1])]
    }
}

fn kind(packet: &Packet) -> Kind {
    match packet.kind() {
        PacketKind::Data if packet.role == Role::Pure => Kind::Ack,
        PacketKind::Data => Kind::Data,
        PacketKind::Ack => Kind::Ack,
        PacketKind::Datagram => Kind::Datagram,
    }
}

/// Application data in a packet, in bytes.
fn carried(packet: &Packet, endpoint: &Endpoint) -> u32 {
    match (packet.kind(), packet.role) {
        (PacketKind::Ack, _) | (_, Role::Pure | Role::Fin) => 0,
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
