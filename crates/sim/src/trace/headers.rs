//! What the headers of each packet in the network say, kept beside it: addresses, numbers, options. A packet has many events, so they are
//! written once, when it is made.
//!
//! Hosts have the addresses 10.0.0.1, 10.0.0.2, ... by their nodes' numbers, or 2001:db8::1, 2001:db8::2, ... (RFC 3849). Each flow has a port of
//! its own at its sink, and each of its connections another one at its source. In ns-2's lines hosts are nodes, and ports the numbers of their
//! agents; each connection has an agent of its own at either end, as a new pair of agents has in ns-2.

use core::net::{Ipv4Addr, Ipv6Addr};

use ecnlab_transport::{SegmentType, SenderEndpoint, Transport};
use ecnlab_units::Time;
use ecnlab_wire::ns2::PacketLines;
use ecnlab_wire::{Address, End, Flags, IpVersion, Kind, Tcp, Truncation};

use super::TraceFormat;
use super::connection::{ReverseState, TracedConnection};
use super::nodes::{FlowHost, NodeMap};
use crate::packet::{Packet, PacketId, PacketKind};
use crate::probe::PacketCreationContext;

/// Ports above those whose protocols are told by their number.
const FIRST_SINK_PORT: u32 = 32_768;
const FIRST_SOURCE_PORT: u32 = 49_152;
const PORT_COUNT: u32 = 16_384;
/// The prefix 2001:db8::/32 (RFC 3849).
const DOCUMENTATION_PREFIX: u32 = 0x2001_0db8;

/// The headers of all packets in the network.
pub struct PacketHeaders {
    format: TraceFormat,
    notes: Vec<StoredPacketHeader>,
    flows: Vec<TracedFlow>,
    /// Packets made so far.
    packets_created: u64,
}

/// Header of a packet as the trace shows it, stored while the packet is in the network.
#[derive(Clone, Copy, Debug)]
pub struct StoredPacketHeader {
    pub header: EncodedHeader,
    /// The clock that it shows.
    timestamp: Option<u32>,
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
pub enum EncodedHeader {
    Lines(PacketLines),
    Headers(ecnlab_wire::Headers),
    /// Rows of a table hold what the packet itself says.
    TraceRow,
}

/// A flow's hosts and its present connection.
struct TracedFlow {
    hosts: [FlowHost; 2],
    /// Its present connection's agents, at the same nodes.
    agents: [FlowHost; 2],
    /// How many connections there were before, and the number of the present one in its packets.
    past_connections: u32,
    connection_id: u8,
    tcp: Option<TracedConnection>,
    /// Where the connection has another direction: also when that has gone on to a connection of its own, and this one has not heard of it.
    reverse_direction: Option<ReverseDirectionEnds>,
}

/// Ends and state of a connection's other direction.
#[derive(Clone, Copy)]
struct ReverseDirectionEnds {
    ends: [End; 2],
    reverse: ReverseState,
}

impl PacketHeaders {
    pub fn new(format: TraceFormat) -> PacketHeaders {
        PacketHeaders { format, notes: Vec::new(), flows: Vec::new(), packets_created: 0 }
    }

    pub fn add_flow(&mut self, transport: &Transport, hosts: [FlowHost; 2]) {
        let tcp = match transport {
            Transport::Tcp(settings) => Some(TracedConnection::new(settings, self.version())),
            Transport::Datagrams(_) | Transport::External(_) => None,
        };
        self.flows.push(TracedFlow { hosts, agents: hosts, past_connections: 0, connection_id: 0, tcp, reverse_direction: None });
    }

    /// The version of IP that a capture shows; other forms show none.
    fn version(&self) -> IpVersion {
        match self.format {
            TraceFormat::Pcapng { version, .. } => version,
            TraceFormat::Ns2 | TraceFormat::Table => IpVersion::V4,
        }
    }

    #[inline]
    pub fn stored_header(&self, id: PacketId) -> &StoredPacketHeader {
        &self.notes[id as usize]
    }

    /// A packet comes into the network.
    pub fn add_packet(&mut self, now: Time, id: PacketId, packet: &Packet, context: &PacketCreationContext, nodes: &mut NodeMap) {
        let flow = &mut self.flows[packet.flow as usize];
        flow.switch_connection(packet.connection_id, nodes);
        let connection = flow.past_connections;
        let payload = payload_bytes(packet, context.endpoint);
        let (header, timestamp, flags) = match self.format {
            TraceFormat::Ns2 => (flow.ns2_lines(packet, self.packets_created), None, Flags::default()),
            TraceFormat::Table => (EncodedHeader::TraceRow, None, Flags::default()),
            TraceFormat::Pcapng { version, .. } => self.encode_headers(now, packet, context, payload, version),
        };
        let note = StoredPacketHeader { header, timestamp, flags, connection, payload, number: self.packets_created };
        self.packets_created += 1;
        self.store_header(id, note);
    }

    /// The headers of a packet in a capture, with the clock and the flags that they show.
    fn encode_headers(
        &mut self,
        now: Time,
        packet: &Packet,
        context: &PacketCreationContext,
        payload: u32,
        version: IpVersion,
    ) -> (EncodedHeader, Option<u32>, Flags) {
        let joined = self.reverse_direction(packet, context, version);
        let flow = &mut self.flows[packet.flow as usize];
        flow.reverse_direction = joined.or(flow.reverse_direction);
        let ends = flow.reverse_direction.map_or_else(|| flow.host_ports(version), |joined| joined.ends);
        let (tcp, payload) = match &mut flow.tcp {
            Some(connection) => connection.header(now, packet, context, flow.reverse_direction.map(|joined| joined.reverse), payload),
            None => (Tcp::default(), payload),
        };
        let shown = flow.wire_packet(packet, ends, self.packets_created, payload, tcp);
        self.update_reverse_flow(packet.flow, context);
        (EncodedHeader::Headers(ecnlab_wire::Headers::of(&shown)), tcp.timestamps.map(|stamps| stamps.value), tcp.flags)
    }

    /// What a packet shows of the other direction of its connection. Both have the ends of the one that has opened it.
    fn reverse_direction(&mut self, packet: &Packet, context: &PacketCreationContext, version: IpVersion) -> Option<ReverseDirectionEnds> {
        let reverse_flow = context.reverse_flow?;
        let piggybacked_ack = context.ack.filter(|_| !packet.is_ack());
        let reverse = self.flows[reverse_flow.flow as usize].tcp.as_mut()?.reverse_state(&reverse_flow, piggybacked_ack)?;
        let opens = context.endpoint.send_buffer().is_some_and(|send_buffer| send_buffer.segment_type(0) == SegmentType::Syn);
        let opener = if opens { packet.flow } else { reverse_flow.flow };
        let [source, sink] = self.flows[opener as usize].host_ports(version);
        Some(ReverseDirectionEnds { ends: if opens { [source, sink] } else { [sink, source] }, reverse })
    }

    /// The other direction of a connection is to show what this one has come to.
    fn update_reverse_flow(&mut self, flow: u32, context: &PacketCreationContext) {
        let Some(reverse_flow) = context.reverse_flow.map(|reverse_flow| reverse_flow.flow as usize) else { return };
        let Some(mut joined) = self.flows[reverse_flow].reverse_direction else { return };
        if let Some(connection) = &self.flows[flow as usize].tcp {
            connection.update_reverse_state(context, &mut joined.reverse);
        }
        self.flows[reverse_flow].reverse_direction = Some(joined);
    }

    /// A copy of a packet comes into the network; it says what that one says.
    pub fn duplicate(&mut self, copy: PacketId, of: PacketId) {
        self.store_header(copy, *self.stored_header(of));
    }

    /// An acknowledgement has reached its source.
    pub fn on_ack_received(&mut self, id: PacketId, flow: u32) {
        if let (Some(clock), Some(connection)) = (self.stored_header(id).timestamp, &mut self.flows[flow as usize].tcp) {
            connection.on_ack_timestamp(clock);
        }
    }

    fn store_header(&mut self, id: PacketId, note: StoredPacketHeader) {
        match self.notes.get_mut(id as usize) {
            Some(place) => *place = note,
            None => self.notes.resize(id as usize + 1, note),
        }
    }
}

impl TracedFlow {
    /// A packet of this connection is made, which may be a new one.
    fn switch_connection(&mut self, connection: u8, nodes: &mut NodeMap) {
        if connection != self.connection_id {
            self.agents = self.hosts.map(|host| nodes.add_agent(host.node));
            self.past_connections += u32::from(connection.wrapping_sub(self.connection_id));
            self.connection_id = connection;
            self.tcp.iter_mut().for_each(TracedConnection::reset);
            self.reverse_direction = None;
        }
    }

    /// The lines of a packet, as ns-2 writes them: numbers count segments.
    fn ns2_lines(&self, packet: &Packet, number: u64) -> EncodedHeader {
        let ends = self.agents.map(|host| End { address: Address::Node(host.node), port: host.agent });
        let packet = self.wire_packet(packet, ends, number, packet.size, ns2_tcp_header(packet));
        PacketLines::of(&packet).map_or(EncodedHeader::TraceRow, EncodedHeader::Lines)
    }

    fn wire_packet(&self, packet: &Packet, ends: [End; 2], number: u64, payload: u32, tcp: Tcp) -> ecnlab_wire::Packet {
        let [source, destination] = if packet.is_ack() { [ends[1], ends[0]] } else { ends };
        let tcp = Tcp { flags: tcp.flags | ecn_flags(packet), ..tcp };
        ecnlab_wire::Packet {
            kind: wire_kind(packet),
            source,
            destination,
            flow: Some(packet.flow),
            id: Some(number),
            size: packet.size,
            payload,
            ecn: packet.ecn,
            tcp,
            truncation: Truncation::Complete,
        }
    }

    fn host_ports(&self, version: IpVersion) -> [End; 2] {
        let [source, sink] = self.hosts;
        let ports =
            [FIRST_SOURCE_PORT + (self.past_connections + sink.agent / PORT_COUNT) % PORT_COUNT, FIRST_SINK_PORT + sink.agent % PORT_COUNT];
        let host_end = |host: FlowHost, port| End { address: host_address(host.node + 1, version), port };
        [host_end(source, ports[0]), host_end(sink, ports[1])]
    }
}

impl StoredPacketHeader {
    /// A packet's flags now; an impairment may have changed those of ECN since it was made.
    #[inline]
    pub fn flags(&self, packet: &Packet) -> Flags {
        self.flags | ecn_flags(packet)
    }
}

fn host_address(host: u32, version: IpVersion) -> Address {
    match version {
        IpVersion::V4 => Address::V4(Ipv4Addr::from(10 << 24 | host & 0x00ff_ffff)),
        IpVersion::V6 => Address::V6(Ipv6Addr::from(u128::from(DOCUMENTATION_PREFIX) << 96 | u128::from(host))),
    }
}

/// The flags by which the two sides of a connection speak of ECN.
#[inline]
fn ecn_flags(packet: &Packet) -> Flags {
    Flags::default().with(Flags::ECE, packet.flags.ece()).with(Flags::CWR, packet.flags.cwr())
}

fn wire_kind(packet: &Packet) -> Kind {
    match packet.kind() {
        PacketKind::Data if packet.segment_type() == SegmentType::PureAck => Kind::Ack,
        PacketKind::Data => Kind::Data,
        PacketKind::Ack => Kind::Ack,
        PacketKind::Datagram => Kind::Datagram,
    }
}

/// Application data in a packet, in bytes.
fn payload_bytes(packet: &Packet, endpoint: &SenderEndpoint) -> u32 {
    match (packet.kind(), packet.segment_type()) {
        (PacketKind::Ack, _) | (_, SegmentType::PureAck) => 0,
        _ => endpoint.packet_payload(packet.seq, packet.size),
    }
}

/// What of TCP's header ns-2's lines show: numbers count segments.
fn ns2_tcp_header(packet: &Packet) -> Tcp {
    match wire_kind(packet) {
        Kind::Ack if packet.is_ack() => Tcp { ack: packet.seq as u32, flags: Flags::ACK, ..Tcp::default() },
        Kind::Ack => Tcp { ack: 1, flags: Flags::ACK, ..Tcp::default() },
        _ => Tcp { seq: packet.seq as u32, ..Tcp::default() },
    }
}
