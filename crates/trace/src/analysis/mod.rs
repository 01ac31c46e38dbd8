//! Reads events one by one and returns the tables of flows, links and bins of time at the end.
//!
//! Memory is bounded by the active connections, of which there are at most [`crate::connection_table::MAX_CONNECTIONS`], by the packets and
//! segments that are tracked ([`MemoryBudget`]), and by the rows of each table. [`ReadCounts`] has the rest.

mod report;

use ecnlab_units::table::Table;
use ecnlab_units::{Span, Time};
use ecnlab_wire::{Address, Flags, Kind, Location, Packet, SackBlocks, TraceEvent, TraceEventKind, Truncation};

use crate::bins::{Bins, FlowAndConnectionNumbers};
use crate::columns::{EcnMode, FlowRow, SignalKind};
use crate::competing::FairnessCandidates;
use crate::connection::{Connection, HalfConnection, HopObservation, TrackingContext};
use crate::connection_table::{ConnectionKey, ConnectionTable};
use crate::context::{AnalysisContext, OutputRows, OverallTimes};
use crate::flow::{Flow, FlowCounters, ObservedAck, SeqRange};
use crate::in_flight::InFlightPacket;
use crate::links::{Hop, LinkTable};
use crate::memory_budget::MemoryBudget;

/// Flows that have rows; the total counts all.
const MAX_FLOW_ROWS: usize = 100_000;

/// Options of an analysis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The measured interval; from the first event to the last unless given.
    pub from: Option<Span>,
    pub to: Option<Span>,
    pub bin: Span,
    /// The flows to count; all if there are none.
    pub flows: Vec<u32>,
    /// The flows whose time-sequence graph is recorded.
    pub sequence_flows: Vec<u32>,
    /// Bytes of headers in the TCP packets of an ns-2 trace, whose lines show headers and data as one size.
    pub header_bytes: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options { from: None, to: None, bin: Span::from_secs(1), flows: Vec::new(), sequence_flows: Vec::new(), header_bytes: 0 }
    }
}

/// A trace that is being read.
#[derive(Debug)]
pub struct Analysis {
    /// The flows to count; all if there are none.
    selected_flows: Vec<u32>,
    /// The time that is zero of all results, once it is known.
    time_origin: Option<Time>,
    starts_at_first_event: bool,
    interfaces: Vec<String>,
    connections: ConnectionTable<Connection>,
    links: LinkTable,
    context: AnalysisContext,
    next_flow: u32,
    rows: Vec<FlowRow>,
    total: SumOverAllFlows,
    candidates: FairnessCandidates,
    /// Packets that have just been found to be dropped.
    dropped_packets: Vec<InFlightPacket>,
    counts: ReadCounts,
}

/// Counts of what was read, and of what was left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    pub events: u64,
    /// Packets that are neither TCP nor datagrams.
    pub other_protocols: u64,
    /// Parts of fragmented packets, whose headers are elsewhere.
    pub fragments: u64,
    /// Packets of which the capture kept too little.
    pub truncated: u64,
    /// Flows without rows of their own.
    pub unlisted_flows: u64,
    /// Connections excluded from Jain's index, because there were too many.
    pub unranked_connections: u64,
    /// Flows of TCP that go on while no acknowledgement of theirs is seen.
    pub unacknowledged_flows: u64,
    /// Connections that the full table evicted before they had ended.
    pub evicted_connections: u64,
    /// Rows that full tables left out, and packets that could not be tracked.
    pub rows_left_out: u64,
    pub untracked_packets: u64,
}

/// Result of an analysis.
#[derive(Clone, Debug)]
pub struct TraceReport {
    pub tables: Vec<(&'static str, Table)>,
    pub counts: ReadCounts,
    /// The measured interval.
    pub from_s: f64,
    pub to_s: f64,
    /// The last event.
    pub last_s: f64,
}

/// Sums over all flows.
#[derive(Clone, Debug, Default)]
struct SumOverAllFlows {
    flows: u64,
    counters: FlowCounters,
    locked_out_flows: u64,
}

impl Analysis {
    /// `starts_at_first_event`: times count from the first event, as in a capture of a host, and not from zero, as in a simulation.
    pub fn new(options: Options, starts_at_first_event: bool) -> Analysis {
        let Options { from, to, bin, flows, sequence_flows, header_bytes } = options;
        let context = AnalysisContext {
            now: Time::ZERO,
            is_measured: false,
            from: Time::ZERO + from.unwrap_or_default(),
            to: to.map_or(Time::NEVER, |to| Time::ZERO + to),
            header_bytes,
            sequence_flows,
            memory: MemoryBudget::default(),
            bins: Bins::new(bin.max(Span::from_picos(1))),
            overall: OverallTimes::default(),
            output: OutputRows::default(),
        };
        Analysis {
            selected_flows: flows,
            time_origin: (!starts_at_first_event).then_some(Time::ZERO),
            starts_at_first_event: from.is_none(),
            interfaces: Vec::new(),
            connections: ConnectionTable::default(),
            links: LinkTable::default(),
            context,
            next_flow: 0,
            rows: Vec::new(),
            total: SumOverAllFlows::default(),
            candidates: FairnessCandidates::default(),
            dropped_packets: Vec::new(),
            counts: ReadCounts::default(),
        }
    }

    /// Names the interfaces of a capture, as they become known.
    pub fn set_interfaces(&mut self, names: Vec<String>) {
        self.interfaces = names;
    }

    /// Processes an event.
    pub fn on_event(&mut self, event: &TraceEvent) {
        self.counts.events += 1;
        self.advance_to(event.time);
        match event.packet.truncation {
            Truncation::Fragment { is_first: false } => self.counts.fragments += 1,
            Truncation::Truncated => self.counts.truncated += 1,
            _ => match ConnectionKey::with_side_of_packet(&event.packet) {
                Some((key, side)) => self.track_packet(event, key, side),
                None => self.count_neither_tcp_nor_datagram(event),
            },
        }
    }

    /// Ends the trace and returns its tables.
    pub fn finish(mut self) -> TraceReport {
        let last = self.context.now;
        let to = if self.context.to == Time::NEVER { last.max(self.context.from) } else { self.context.to };
        self.context.bins.close(self.context.from, to);
        self.context.is_measured = self.context.from <= last;
        self.context.now = last.min(to);
        for connection in std::mem::take(&mut self.connections).into_values() {
            self.finish_connection(connection);
        }
        report::build_report(self, to, last)
    }

    /// Advances to the time of an event. An event with an earlier time than the one before counts at that one's.
    fn advance_to(&mut self, time: Time) {
        let time_origin = *self.time_origin.get_or_insert(time);
        let now = Time::ZERO + time.since(time_origin);
        if self.counts.events == 1 && self.starts_at_first_event {
            self.context.from = now;
        }
        self.context.advance_to(now);
    }

    /// Counts a packet that is neither TCP nor a datagram at its link.
    fn count_neither_tcp_nor_datagram(&mut self, event: &TraceEvent) {
        self.counts.other_protocols += 1;
        if !self.context.is_measured || !matches!(event.location, Location::Link { .. }) {
            return;
        }
        let link = self.links.link_index(Hop::from_link(event.location));
        self.links.update(link, |link| match event.kind {
            TraceEventKind::Enqueued => link.arrivals += 1,
            TraceEventKind::Dequeued => link.on_departure(event.packet.size, None),
            TraceEventKind::Dropped => link.drops += 1,
            TraceEventKind::Received | TraceEventKind::Captured => {}
        });
    }

    /// Tracks a packet of a connection.
    fn track_packet(&mut self, event: &TraceEvent, key: ConnectionKey, side: usize) {
        let (at, evicted) = self.connections.get_or_allocate_slot(key, Connection::default);
        if let Some(evicted) = evicted {
            self.counts.evicted_connections += 1;
            self.finish_connection(evicted);
        }
        if self.connections.state_at_mut(at).is_reopened_by(&event.packet) {
            let previous = std::mem::take(self.connections.state_at_mut(at));
            self.finish_connection(previous);
        }
        let connection = self.connections.state_at_mut(at);
        let is_closed = connection.update_handshake_and_close(&event.packet, side);
        let half = &mut connection.halves[side];
        let seq_range = half.seq_range(&event.packet);
        let mut tracking = TrackingContext {
            now: self.context.now,
            is_measured: self.context.is_measured,
            has_several_interfaces: self.interfaces.len() > 1,
            links: &mut self.links,
            memory: &mut self.context.memory,
            overtaken: &mut self.dropped_packets,
        };
        let observation = half.on_event(event, seq_range, &mut tracking);
        if !self.dropped_packets.is_empty() {
            let mut half = std::mem::take(&mut self.connections.state_at_mut(at).halves[side]);
            self.count_overtaken_packets_as_drops(&mut half);
            self.connections.state_at_mut(at).halves[side] = half;
        }
        if seq_range.is_some() || !event.packet.is_tcp() {
            self.begin_flow(at, side, &event.packet, seq_range);
            self.update_data_flow(at, side, event, seq_range, observation);
        }
        if event.packet.has(Flags::ACK) {
            self.update_acked_flow(at, side, event, observation);
        }
        if is_closed {
            self.mark_flows_closed(at);
        }
    }

    /// Counts packets that were overtaken and did not arrive, at the time at which they were seen last.
    fn count_overtaken_packets_as_drops(&mut self, half: &mut HalfConnection) {
        for dropped in self.dropped_packets.drain(..) {
            let is_measured = self.context.from <= dropped.since && dropped.since < self.context.to;
            let link = half.next_hop_from(dropped.location).and_then(|hop| self.links.link_index(hop));
            if is_measured {
                self.links.update(link, |link| (link.arrivals, link.drops) = (link.arrivals + 1, link.drops + 1));
            }
            if let Some(flow) = half.flow.as_mut().filter(|_| dropped.is_data) {
                let was_measured = std::mem::replace(&mut self.context.is_measured, is_measured);
                flow.on_signal(SignalKind::Drop, link, dropped.seq_range, dropped.since, &mut self.context);
                self.context.is_measured = was_measured;
            }
        }
    }

    /// Begins a flow at the first packet with data.
    fn begin_flow(&mut self, at: u32, side: usize, packet: &Packet, seq_range: SeqRange) {
        let halves = &mut self.connections.state_at_mut(at).halves;
        if halves[side].flow.is_some() {
            return;
        }
        let other = halves[1 - side].flow.as_deref().map(|flow| (flow.number, flow.is_selected));
        let half = &mut halves[side];
        let first_seq = half.first_seq.unwrap_or(seq_range.map_or(0, |(start, _)| start));
        let number = self.next_flow;
        let is_selected = self.selected_flows.is_empty() || self.selected_flows.contains(&number);
        let member = FlowAndConnectionNumbers { flow: number, connection: other.map_or(number, |(first, _)| first) };
        let is_first = is_selected && !other.is_some_and(|(_, is_selected)| is_selected);
        half.flow = Some(Box::new(Flow::new(member, is_selected, is_first, packet, first_seq, self.context.now)));
        self.next_flow = number.saturating_add(1);
        if is_selected {
            self.context.bins.on_flow_begin(is_first);
        }
    }

    /// Updates the flow of a packet with data.
    fn update_data_flow(&mut self, at: u32, side: usize, event: &TraceEvent, seq_range: SeqRange, observation: HopObservation) {
        let connection = self.connections.state_at_mut(at);
        let counts_marks = connection.ecn_mode() == EcnMode::Accurate;
        let HalfConnection { flow: Some(flow), path, in_flight, .. } = &mut connection.halves[side] else { return };
        flow.counts_marks = counts_marks;
        let (context, packet, endpoint) = (&mut self.context, &event.packet, observation.endpoint);
        let mut is_retransmission = observation.previous.is_some_and(|previous| previous.is_retransmission);
        if endpoint.is_sent {
            is_retransmission = flow.on_sent(packet, seq_range, event.kind != TraceEventKind::Captured, context);
            if is_retransmission {
                in_flight.mark_last_retransmission();
            }
        }
        if observation.is_marked {
            flow.on_signal(SignalKind::Mark, observation.link, seq_range, context.now, context);
        }
        if observation.is_dropped {
            flow.on_signal(SignalKind::Drop, observation.link, seq_range, context.now, context);
        }
        if endpoint.has_sink_moved {
            flow.restart_at_new_sink(context);
        }
        if endpoint.is_received {
            let sent = observation.previous.and_then(|previous| previous.sent_at).filter(|_| path.has_both_ends());
            let delay = sent.map(|sent| (context.now.since(sent), path.is_sink_certain()));
            flow.on_sink_arrival(packet, seq_range, is_retransmission, delay, context);
        }
    }

    /// Updates the flow of the other direction with an acknowledgement.
    fn update_acked_flow(&mut self, at: u32, side: usize, event: &TraceEvent, observation: HopObservation) {
        let (packet, endpoint) = (&event.packet, observation.endpoint);
        let connection = self.connections.state_at_mut(at);
        let shift = connection.window_shift(side);
        let acked_seq = connection.halves[1 - side].acked_data_end(packet.tcp.ack);
        let is_at_endpoint = connection.halves[side].path.is_sink_certain();
        let HalfConnection { flow: Some(flow), seq, .. } = &mut connection.halves[1 - side] else { return };
        if endpoint.has_sink_moved {
            flow.restart_at_new_source();
        }
        if endpoint.is_sent && packet.has(Flags::ECE) && !packet.has(Flags::SYN) {
            flow.on_ece_sent(acked_seq, matches!(packet.source.address, Address::Node(_)), &mut self.context);
        }
        if endpoint.is_received && !packet.has(Flags::SYN) {
            let mut sack_blocks = [(0, 0); SackBlocks::MAX_BLOCKS];
            let runs = packet.tcp.sacks.as_slice();
            for (block, &(start, end)) in sack_blocks.iter_mut().zip(runs) {
                *block = (seq.expand(start), seq.expand(end));
            }
            let window_edge = (packet.tcp.window > 0).then(|| acked_seq + (u64::from(packet.tcp.window) << shift));
            let is_pure = packet.kind == Kind::Ack && !packet.has(Flags::FIN);
            let ack = ObservedAck { ack: acked_seq, sack_blocks: &sack_blocks[..runs.len()], window_edge, is_pure, is_at_endpoint };
            flow.on_ack(&ack, packet, &mut self.context);
        }
    }

    /// Closes a connection: its flows are not active in later bins.
    fn mark_flows_closed(&mut self, at: u32) {
        for flow in self.connections.state_at_mut(at).halves.iter_mut().filter_map(|half| half.flow.as_mut()) {
            if flow.is_selected && flow.closed.replace(self.context.now).is_none() {
                self.context.bins.on_flow_close(flow.is_first);
            }
        }
    }

    /// Adds a connection's flows to the rows and to the total.
    fn finish_connection(&mut self, connection: Connection) {
        let ecn = connection.ecn_mode();
        let mut candidates = Vec::with_capacity(2);
        for mut half in connection.halves {
            self.dropped_packets = half.drain_lost(&mut self.context.memory);
            self.count_overtaken_packets_as_drops(&mut half);
            half.release_in_flight(&mut self.context.memory);
            let Some(flow) = half.flow else { continue };
            let (is_selected, is_first, is_open) = (flow.is_selected, flow.is_first, flow.closed.is_none());
            candidates.extend(is_selected.then(|| flow.fairness_candidate()));
            self.counts.unacknowledged_flows += u64::from(is_selected && flow.lacks_acks());
            let row = flow.finish(ecn, &mut self.context);
            if is_selected {
                if is_open {
                    self.context.bins.on_flow_close(is_first);
                }
                self.total.add_flow_counters(&row.common.counters);
                self.push_bounded_flow_row(row);
            }
        }
        self.candidates.add_connection(&candidates, self.context.from, self.context.now);
    }

    fn push_bounded_flow_row(&mut self, row: FlowRow) {
        if self.rows.len() < MAX_FLOW_ROWS {
            self.rows.push(row);
        } else {
            self.counts.unlisted_flows += 1;
        }
    }
}

impl SumOverAllFlows {
    fn add_flow_counters(&mut self, counters: &FlowCounters) {
        self.flows += 1;
        self.counters.add(counters);
        self.locked_out_flows += u64::from(counters.lockouts > 0);
    }
}
