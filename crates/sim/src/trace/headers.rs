//! Headers of each packet in the network, stored separately: addresses, sequence numbers, options. They are encoded once, at its creation,
//! since a packet has many events.
//!
//! Host addresses are 10.0.0.1, 10.0.0.2, ... by node number, or 2001:db8::1, 2001:db8::2, ... (RFC 3849). Each flow has a separate port at
//! its sink, and each of its connections another one at its source. In ns-2 traces hosts are node numbers, and ports agent numbers; each
//! connection has a new pair of agents, as in ns-2.

use core::net::{Ipv4Addr, Ipv6Addr};

use ecnlab_transport::{SegmentType, SenderEndpoint, Transport};
use ecnlab_units::Time;
use ecnlab_wire::ns2::PacketLines;
use ecnlab_wire::{Address, End, Flags, IpVersion, Kind, Tcp, Truncation};

use super::TraceFormat;
use super::connection::{ReverseHeaderFields, TracedConnection};
use super::nodes::{FlowHost, NodeMap};
use crate::index_vec::IndexVec;
use crate::packet::{Packet, PacketId, PacketKind};
use crate::probe::PacketCreationContext;

/// Above the well-known ports, which would select a protocol dissector.
const FIRST_SINK_PORT: u32 = 32_768;
const FIRST_SOURCE_PORT: u32 = 49_152;
const PORT_COUNT: u32 = 16_384;
/// The prefix 2001:db8::/32 (RFC 3849).
const DOCUMENTATION_PREFIX: u32 = 0x2001_0db8;

/// Headers of all packets in the network.
pub struct PacketHeaders {
    format: TraceFormat,
    notes: IndexVec<StoredPacketHeader>,
    flows: IndexVec<TracedFlow>,
    /// Number of packets created.
    packets_created: u64,
}

/// Header of a packet as the trace shows it, stored while the packet is in the network.
#[derive(Clone, Copy, Debug)]
pub struct StoredPacketHeader {
    pub header: HeaderInTraceFormat,
    /// Its timestamp value.
    timestamp: Option<u32>,
    /// Its TCP flags except those of ECN.
    flags: Flags,
    /// Number of its flow's connection.
    pub connection: u32,
    /// Application data in bytes, as in the simulation.
    pub payload: u32,
    /// Its number in the run.
    pub number: u64,
}

/// The part of the record that is the same for all events of a packet, in the trace's format.
#[derive(Clone, Copy, Debug)]
pub enum HeaderInTraceFormat {
    Lines(PacketLines),
    Headers(ecnlab_wire::Headers),
    /// Empty: rows of a table use fields of the packet.
    TraceRow,
}

/// Hosts of a flow and its current connection.
struct TracedFlow {
    hosts: [FlowHost; 2],
    /// Agents of the current connection, at the same nodes.
    agents: [FlowHost; 2],
    /// Number of earlier connections, and the current connection's number in packets.
    past_connections: u32,
    connection_id: u8,
    tcp: Option<TracedConnection>,
    /// The connection's other direction, if it has one. Kept when that direction has already moved to a new connection and this one has
    /// not.
    reverse_direction: Option<ReverseEndsAndState>,
}

/// Ends and state of a connection's other direction.
#[derive(Clone, Copy)]
struct ReverseEndsAndState {
    ends: [End; 2],
    reverse: ReverseHeaderFields,
}

impl PacketHeaders {
    pub fn new(format: TraceFormat) -> PacketHeaders {
        PacketHeaders { format, notes: IndexVec::default(), flows: IndexVec::default(), packets_created: 0 }
    }

    pub fn add_flow(&mut self, transport: &Transport, hosts: [FlowHost; 2]) {
        let tcp = match transport {
            Transport::Tcp(settings) => Some(TracedConnection::new(settings, self.version())),
            Transport::Datagrams(_) | Transport::External(_) => None,
        };
        self.flows.push(TracedFlow { hosts, agents: hosts, past_connections: 0, connection_id: 0, tcp, reverse_direction: None });
    }

    /// IP version in captures; other formats show none.
    fn version(&self) -> IpVersion {
        match self.format {
            TraceFormat::Pcapng { version, .. } => version,
            TraceFormat::Ns2 | TraceFormat::Table => IpVersion::V4,
        }
    }

    #[inline]
    pub fn stored_header(&self, id: PacketId) -> &StoredPacketHeader {
        &self.notes[id]
    }

    /// Adds a packet that enters the network.
    pub fn add_packet(&mut self, now: Time, id: PacketId, packet: &Packet, context: &PacketCreationContext, nodes: &mut NodeMap) {
        let flow = &mut self.flows[packet.flow];
        flow.switch_connection(packet.connection_id, nodes);
        let connection = flow.past_connections;
        let payload = payload_bytes(packet, context.endpoint);
        let (header, timestamp, flags) = match self.format {
            TraceFormat::Ns2 => (flow.encode_ns2_lines(packet, self.packets_created), None, Flags::default()),
            TraceFormat::Table => (HeaderInTraceFormat::TraceRow, None, Flags::default()),
            TraceFormat::Pcapng { version, .. } => self.encode_headers_timestamp_and_flags(now, packet, context, payload, version),
        };
        let note = StoredPacketHeader { header, timestamp, flags, connection, payload, number: self.packets_created };
        self.packets_created += 1;
        self.store_header(id, note);
    }

    /// Encodes the headers of a captured packet, with its timestamp value and flags.
    fn encode_headers_timestamp_and_flags(
        &mut self,
        now: Time,
        packet: &Packet,
        context: &PacketCreationContext,
        payload: u32,
        version: IpVersion,
    ) -> (HeaderInTraceFormat, Option<u32>, Flags) {
        let joined = self.reverse_ends_and_state(packet, context, version);
        let flow = &mut self.flows[packet.flow];
        flow.reverse_direction = joined.or(flow.reverse_direction);
        let ends = flow.reverse_direction.map_or_else(|| flow.host_addresses_and_ports(version), |joined| joined.ends);
        let (tcp, payload) = match &mut flow.tcp {
            Some(connection) => {
                connection.header_and_payload_bytes(now, packet, context, flow.reverse_direction.map(|joined| joined.reverse), payload)
            }
            None => (Tcp::default(), payload),
        };
        let shown = flow.wire_packet(packet, ends, self.packets_created, payload, tcp);
        self.copy_state_to_reverse_flow(packet.flow, context);
        (HeaderInTraceFormat::Headers(ecnlab_wire::Headers::of(&shown)), tcp.timestamps.map(|stamps| stamps.value), tcp.flags)
    }

    /// The other direction of the connection, as a packet shows it. Both directions have the addresses of the one that opened the
    /// connection.
    fn reverse_ends_and_state(
        &mut self,
        packet: &Packet,
        context: &PacketCreationContext,
        version: IpVersion,
    ) -> Option<ReverseEndsAndState> {
        let reverse_flow = context.reverse_flow?;
        let piggybacked_ack = context.ack.filter(|_| !packet.is_ack_from_sink());
        let reverse = self.flows[reverse_flow.flow].tcp.as_mut()?.reverse_header_fields(&reverse_flow, piggybacked_ack)?;
        let opens = context.endpoint.send_buffer().is_some_and(|send_buffer| send_buffer.segment_type(0) == SegmentType::Syn);
        let opener = if opens { packet.flow } else { reverse_flow.flow };
        let [source, sink] = self.flows[opener].host_addresses_and_ports(version);
        Some(ReverseEndsAndState { ends: if opens { [source, sink] } else { [sink, source] }, reverse })
    }

    /// Updates the state of this direction that the other direction shows.
    fn copy_state_to_reverse_flow(&mut self, flow: u32, context: &PacketCreationContext) {
        let Some(reverse_flow) = context.reverse_flow.map(|reverse_flow| reverse_flow.flow) else { return };
        let Some(mut joined) = self.flows[reverse_flow].reverse_direction else { return };
        if let Some(connection) = &self.flows[flow].tcp {
            connection.update_reverse_header_fields(context, &mut joined.reverse);
        }
        self.flows[reverse_flow].reverse_direction = Some(joined);
    }

    /// Adds a copy of a packet, with the same headers.
    pub fn duplicate(&mut self, copy: PacketId, of: PacketId) {
        self.store_header(copy, *self.stored_header(of));
    }

    /// An ACK has reached its source.
    pub fn on_ack_timestamp_received(&mut self, id: PacketId, flow: u32) {
        if let (Some(clock), Some(connection)) = (self.stored_header(id).timestamp, &mut self.flows[flow].tcp) {
            connection.on_ack_timestamp(clock);
        }
    }

    fn store_header(&mut self, id: PacketId, note: StoredPacketHeader) {
        *self.notes.get_or_add(id, || note) = note;
    }
}

impl TracedFlow {
    /// Switches to the connection of a new packet, if it is a new connection.
    fn switch_connection(&mut self, connection: u8, nodes: &mut NodeMap) {
        if connection != self.connection_id {
            self.agents = self.hosts.map(|host| nodes.add_agent(host.node));
            self.past_connections += u32::from(connection.wrapping_sub(self.connection_id));
            self.connection_id = connection;
            self.tcp.iter_mut().for_each(TracedConnection::reset);
            self.reverse_direction = None;
        }
    }

    /// The text of a packet in ns-2's lines, whose numbers count segments.
    fn encode_ns2_lines(&self, packet: &Packet, number: u64) -> HeaderInTraceFormat {
        let ends = self.agents.map(|host| End { address: Address::Node(host.node), port: host.agent });
        let packet = self.wire_packet(packet, ends, number, packet.size, ns2_tcp_header(packet));
        PacketLines::of(&packet).map_or(HeaderInTraceFormat::TraceRow, HeaderInTraceFormat::Lines)
    }

    fn wire_packet(&self, packet: &Packet, ends: [End; 2], number: u64, payload: u32, tcp: Tcp) -> ecnlab_wire::Packet {
        let [source, destination] = if packet.is_ack_from_sink() { [ends[1], ends[0]] } else { ends };
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

    fn host_addresses_and_ports(&self, version: IpVersion) -> [End; 2] {
        let [source, sink] = self.hosts;
        let ports =
            [FIRST_SOURCE_PORT + (self.past_connections + sink.agent / PORT_COUNT) % PORT_COUNT, FIRST_SINK_PORT + sink.agent % PORT_COUNT];
        let host_end = |host: FlowHost, port| End { address: host_address(host.node + 1, version), port };
        [host_end(source, ports[0]), host_end(sink, ports[1])]
    }
}

impl StoredPacketHeader {
    /// Current TCP flags of a packet; an impairment may have changed those of ECN since its creation.
    #[inline]
    pub fn flags_with_current_ecn(&self, packet: &Packet) -> Flags {
        self.flags | ecn_flags(packet)
    }
}

fn host_address(host: u32, version: IpVersion) -> Address {
    match version {
        IpVersion::V4 => Address::V4(Ipv4Addr::from(10 << 24 | host & 0x00ff_ffff)),
        IpVersion::V6 => Address::V6(Ipv6Addr::from(u128::from(DOCUMENTATION_PREFIX) << 96 | u128::from(host))),
    }
}

/// The ECN flags of the TCP header.
#[inline]
fn ecn_flags(packet: &Packet) -> Flags {
    Flags::default().with_if(Flags::ECE, packet.flags.ece()).with_if(Flags::CWR, packet.flags.cwr()).with_if(Flags::AE, packet.flags.ae())
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
        _ => endpoint.payload_of_packet(packet.seq, packet.size),
    }
}

/// TCP header fields in ns-2's lines, whose numbers count segments.
fn ns2_tcp_header(packet: &Packet) -> Tcp {
    match wire_kind(packet) {
        Kind::Ack if packet.is_ack_from_sink() => Tcp { ack: packet.seq as u32, flags: Flags::ACK, ..Tcp::default() },
        Kind::Ack => Tcp { ack: 1, flags: Flags::ACK, ..Tcp::default() },
        _ => Tcp { seq: packet.seq as u32, ..Tcp::default() },
    }
}
