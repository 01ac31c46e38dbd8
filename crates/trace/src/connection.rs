//! A connection as a trace shows it: two directions, and its ECN negotiation.

use ecnlab_units::{Ecn, Time};
use ecnlab_wire::{Address, Flags, Kind, Location, Packet, TraceEvent, TraceEventKind};

use crate::columns::EcnMode;
use crate::flow::{Flow, SeqRange};
use crate::hops::{EndpointEvents, ObservationPoints};
use crate::in_flight::{InFlight, InFlightPacket, packet_key};
use crate::links::{Hop, LinkTable};
use crate::memory_budget::MemoryBudget;
use crate::seq_unwrap::SeqUnwrapper;

#[derive(Debug, Default)]
pub struct Connection {
    pub halves: [HalfConnection; 2],
    negotiation: EcnNegotiation,
    /// Sequence number of the SYN that opened it.
    syn_seq: Option<u32>,
    fin_seen: [bool; 2],
    /// Its packets are ns-2's.
    pub is_ns2: bool,
}

/// One direction.
#[derive(Debug, Default)]
pub struct HalfConnection {
    pub path: ObservationPoints,
    pub seq: SeqUnwrapper,
    pub in_flight: InFlight,
    /// Window scale that this end offered.
    window_scale: Option<u8>,
    pub flow: Option<Box<Flow>>,
    /// Sequence number of its first data.
    pub first_seq: Option<u64>,
    /// Sequence number of its FIN, if that was seen.
    fin_seq: Option<u64>,
}

/// Observation of a packet at a place on its path.
#[derive(Clone, Copy, Debug, Default)]
pub struct HopObservation {
    pub endpoint: EndpointEvents,
    /// The packet as it was seen before.
    pub previous: Option<InFlightPacket>,
    pub link: Option<u32>,
    pub is_marked: bool,
    pub is_dropped: bool,
}

/// The part of a file's state that tracking a packet reads (the time and the two flags) and updates (the rest).
#[derive(Debug)]
pub struct TrackingContext<'a> {
    pub now: Time,
    pub is_measured: bool,
    /// A capture of more than one interface.
    pub has_several_interfaces: bool,
    pub links: &'a mut LinkTable,
    pub memory: &'a mut MemoryBudget,
    /// Packets that others have overtaken on their link, which are taken for lost.
    pub overtaken: &'a mut Vec<InFlightPacket>,
}

/// Flags of SYN and SYN-ACK that negotiate ECN.
#[derive(Clone, Copy, Debug, Default)]
struct EcnNegotiation {
    syn_flags: Option<Flags>,
    syn_ack_flags: Option<Flags>,
    /// Whether any SYN of this connection offered ECN.
    has_any_syn_offered: bool,
    /// Whether any SYN asked for Accurate ECN, and any answer agreed. A retransmission may lack the request, but the hosts keep the first
    /// agreement.
    has_requested_accurate: bool,
    has_accepted_accurate: bool,
    /// A packet of the connection was seen.
    has_begun: bool,
    /// The first packet was data that offers ECN, of an agent of ns-2 that has no handshake: its side, and the number behind it.
    offered_in_data: Option<(usize, u64)>,
    /// The side of the SYN, and whether the other side has answered without one.
    opener_side: usize,
    is_one_way: bool,
}

/// The flags by which ECN is offered and agreed to.
pub const ECN_FLAGS: Flags = Flags(Flags::ECE.0 | Flags::CWR.0 | Flags::AE.0);

impl Connection {
    /// Whether a packet opens a new connection between the same ends.
    pub fn is_reopened_by(&self, packet: &Packet) -> bool {
        let is_syn = packet.has(Flags::SYN) && !packet.has(Flags::ACK);
        let has_data = self.halves.iter().any(|half| half.flow.is_some());
        is_syn && self.syn_seq != Some(packet.tcp.seq) && (has_data || self.syn_seq.is_some())
    }

    /// Updates handshake and close state from a packet; returns whether the packet closes the connection.
    pub fn update_handshake_and_close(&mut self, packet: &Packet, side: usize) -> bool {
        let flags = packet.tcp.flags;
        if !std::mem::replace(&mut self.negotiation.has_begun, true) && is_offer_in_data(packet) {
            let start = self.halves[side].seq.expand_and_track(packet.tcp.seq);
            self.negotiation.offered_in_data = Some((side, start + u64::from(packet.payload)));
        }
        if flags.has(Flags::SYN) {
            self.on_syn(packet, side);
        } else if flags.has(Flags::ACK) && self.negotiation.syn_flags.is_some() && side != self.negotiation.opener_side {
            self.negotiation.is_one_way |= self.negotiation.syn_ack_flags.is_none();
        }
        if flags.has(Flags::FIN) {
            let half = &mut self.halves[side];
            half.fin_seq = Some(half.seq.expand(packet.tcp.seq) + u64::from(packet.payload));
        }
        let was_closed = self.is_closed();
        self.fin_seen[side] |= flags.has(Flags::FIN);
        if flags.has(Flags::RST) {
            self.fin_seen = [true; 2];
        }
        self.is_closed() && !was_closed
    }

    pub fn is_closed(&self) -> bool {
        self.fin_seen == [true; 2]
    }

    /// Shift of the windows that this end announces (RFC 7323, section 2.2: both ends must have offered window scaling).
    pub fn window_shift(&self, side: usize) -> u8 {
        if self.halves.iter().all(|half| half.window_scale.is_some()) { self.halves[side].window_scale.unwrap_or(0).min(14) } else { 0 }
    }

    /// Outcome of the ECN negotiation so far.
    pub fn ecn_mode(&self) -> EcnMode {
        let classic = Flags::ECE | Flags::CWR;
        match (self.negotiation.syn_flags, self.negotiation.syn_ack_flags) {
            (None, _) | (Some(_), None) => EcnMode::Unknown,
            _ if self.negotiation.has_requested_accurate && self.negotiation.has_accepted_accurate => EcnMode::Accurate,
            (Some(syn_flags), Some(Flags::ECE)) if syn_flags.has(classic) => EcnMode::Classic,
            _ => EcnMode::Refused,
        }
    }

    /// Whether any SYN asked for Accurate ECN.
    pub fn has_requested_accurate(&self) -> bool {
        self.negotiation.has_requested_accurate
    }

    /// Whether it is known that no SYN offered ECN.
    pub fn has_never_offered(&self) -> bool {
        self.negotiation.syn_flags.is_some() && !self.negotiation.has_any_syn_offered
    }

    /// Whether hosts may use ECN after this handshake: ECN is negotiated, or the SYN was retransmitted and they behave as Linux does, or
    /// the handshake was not seen.
    pub fn may_use_ecn(&self) -> bool {
        self.ecn_mode() != EcnMode::Refused || self.uses_ecn_after_fallback()
    }

    /// Whether a SYN that offered ECN was followed by one that did not, and the SYN-ACK agrees to ECN all the same. RFC 3168, section 6.1.1,
    /// then forbids ECN to the host that sent both; Linux uses it.
    pub fn uses_ecn_after_fallback(&self) -> bool {
        let EcnNegotiation { syn_flags, syn_ack_flags, has_any_syn_offered, .. } = self.negotiation;
        let is_fallback = syn_flags.is_some_and(|last| !last.has(Flags::ECE | Flags::CWR)) && has_any_syn_offered;
        self.ecn_mode() == EcnMode::Refused && is_fallback && syn_ack_flags == Some(Flags::ECE)
    }

    /// Whether the packets are ns-2's: nodes have sent them, or its one-way agents. Those count from 0, as no host does (RFC 9293, section
    /// 3.4.1), and either no SYN-ACK answers the SYN, or the first packet is data that offers ECN and the sink sends none.
    pub fn is_like_ns2(&self) -> bool {
        let EcnNegotiation { syn_flags, syn_ack_flags, is_one_way, offered_in_data, .. } = self.negotiation;
        let has_syn = syn_ack_flags.is_none() && self.syn_seq == Some(0) && (syn_flags == Some(Flags::ECE) || is_one_way);
        let has_none = syn_flags.is_none()
            && syn_ack_flags.is_none()
            && offered_in_data.is_some_and(|(side, _)| self.halves[1 - side].first_seq.is_none());
        self.is_ns2 || has_syn || has_none
    }

    /// Whether this is the first packet, and offers ECN with data, as ns-2's one-way agents do.
    pub fn is_ns2_data_offer(&self, packet: &Packet) -> bool {
        self.is_like_ns2() && self.negotiation.offered_in_data.is_some() && is_offer_in_data(packet)
    }

    /// Whether an acknowledgement is that of the first packet of a direction of ns-2's one-way agents, whose ECE agrees to ECN.
    pub fn is_ns2_offer_ack(&self, side: usize, number: u64) -> bool {
        let first_end = self.negotiation.offered_in_data.map(|(_, end)| end).or(self.halves[side].first_seq.map(|first_seq| first_seq + 1));
        self.is_like_ns2() && first_end.is_none_or(|end| number <= end)
    }

    fn on_syn(&mut self, packet: &Packet, side: usize) {
        let half = &mut self.halves[side];
        half.first_seq = Some(half.seq.expand_and_track(packet.tcp.seq.wrapping_add(1)));
        half.window_scale = packet.tcp.window_scale;
        let ecn_flags = Flags(packet.tcp.flags.0 & ECN_FLAGS.0);
        if packet.has(Flags::ACK) {
            self.negotiation.syn_ack_flags = Some(ecn_flags);
            self.negotiation.has_accepted_accurate |= ![Flags::default(), Flags::ECE, ECN_FLAGS].contains(&ecn_flags);
        } else {
            (self.negotiation.syn_flags, self.syn_seq) = (Some(ecn_flags), Some(packet.tcp.seq));
            self.negotiation.opener_side = side;
            self.negotiation.has_any_syn_offered |= packet.has(Flags::ECE | Flags::CWR);
            self.negotiation.has_requested_accurate |= packet.has(ECN_FLAGS);
        }
    }
}

impl HalfConnection {
    /// The sequence range of a segment with data, in packets for ns-2's one-way agents and in bytes otherwise.
    pub fn seq_range(&mut self, packet: &Packet) -> SeqRange {
        if packet.kind != Kind::Data {
            return None;
        }
        let start = self.seq.expand_and_track(packet.tcp.seq);
        let count = if is_numbered_by_packet(packet) { 1 } else { u64::from(packet.payload) };
        let start = start + u64::from(packet.has(Flags::SYN));
        self.first_seq.get_or_insert(start);
        Some((start, start + count))
    }

    /// The sequence number up to which an acknowledgement covers data, without the FIN.
    pub fn acked_data_end(&mut self, ack: u32) -> u64 {
        let number = self.seq.expand_and_track(ack);
        self.fin_seq.map_or(number, |fin_seq| number.min(fin_seq))
    }

    /// Tracks a packet of this direction. Packets that were overtaken long ago, and so dropped, are added to `overtaken`.
    pub fn on_event(&mut self, event: &TraceEvent, seq_range: SeqRange, tracking: &mut TrackingContext) -> HopObservation {
        match event.kind {
            TraceEventKind::Captured if !tracking.has_several_interfaces => {
                HopObservation { endpoint: self.path.on_event(event, None), ..HopObservation::default() }
            }
            TraceEventKind::Captured => self.on_captured(event, seq_range, tracking),
            _ => self.on_link_event(event, seq_range, tracking),
        }
    }

    /// Removes the packets that were overtaken and never arrived.
    pub fn drain_lost(&mut self, memory: &mut MemoryBudget) -> Vec<InFlightPacket> {
        self.in_flight.drain_overtaken(memory)
    }

    /// The hop on which a packet was lost that was last seen at a place.
    pub fn next_hop_from(&self, location: Location) -> Option<Hop> {
        self.path.next_location(location).map(|to| Hop { from: location, to })
    }

    /// Removes the packets in flight and releases their memory.
    pub fn release_in_flight(&mut self, memory: &mut MemoryBudget) {
        self.in_flight.release_memory(memory);
    }

    /// Processes an event at a link of an ns-2 trace.
    fn on_link_event(&mut self, event: &TraceEvent, seq_range: SeqRange, tracking: &mut TrackingContext) -> HopObservation {
        let (now, is_measured) = (tracking.now, tracking.is_measured);
        let link = tracking.links.link_index(Hop::from_link(event.location));
        let measured_link = link.filter(|_| is_measured);
        let known = event.packet.id.and_then(|id| self.in_flight.find(id));
        let previous = known.map(|at| *self.in_flight.packet_at_mut(at));
        let mut observation = HopObservation { endpoint: self.path.on_event(event, None), previous, link, ..HopObservation::default() };
        match event.kind {
            TraceEventKind::Enqueued => {
                tracking.links.update(measured_link, |link| link.arrivals += 1);
                self.on_link_arrival(event, seq_range, known, now, observation.endpoint.is_sent, tracking.memory);
            }
            TraceEventKind::Dequeued => {
                let sojourn = previous.filter(|previous| previous.location == event.location).map(|previous| now.since(previous.since));
                tracking.links.update(measured_link, |link| link.on_departure(event.packet.size, sojourn));
                observation.is_marked = self.detect_mark(known, &event.packet);
            }
            TraceEventKind::Dropped => {
                tracking.links.update(measured_link, |link| link.drops += 1);
                known.map(|at| self.in_flight.remove(at, tracking.memory));
                observation.is_dropped = true;
            }
            TraceEventKind::Received | TraceEventKind::Captured => {
                observation.is_marked = self.detect_mark(known, &event.packet);
                if let Some(at) = known.filter(|_| observation.endpoint.is_received && self.path.is_sink_certain()) {
                    self.in_flight.remove(at, tracking.memory);
                }
            }
        }
        tracking.links.update(measured_link, |link| link.marks += u64::from(observation.is_marked));
        observation
    }

    /// Updates or adds a packet that arrives at a link.
    fn on_link_arrival(
        &mut self,
        event: &TraceEvent,
        seq_range: SeqRange,
        known: Option<usize>,
        now: Time,
        is_sent: bool,
        memory: &mut MemoryBudget,
    ) {
        match (known, event.packet.id) {
            (Some(at), _) => {
                let known_packet = self.in_flight.packet_at_mut(at);
                (known_packet.location, known_packet.since, known_packet.ecn) = (event.location, now, event.packet.ecn);
            }
            (None, Some(id)) => {
                self.in_flight.push(InFlightPacket::new(id, event.location, now, &event.packet, seq_range, is_sent), memory);
            }
            (None, None) => {}
        }
    }

    /// Stores a packet's codepoint; returns whether it changed to CE since the packet was seen before.
    fn detect_mark(&mut self, known: Option<usize>, packet: &Packet) -> bool {
        let Some(at) = known else { return false };
        let previous = std::mem::replace(&mut self.in_flight.packet_at_mut(at).ecn, packet.ecn);
        previous != packet.ecn && packet.ecn == ecnlab_units::Ecn::Ce
    }

    /// Processes a packet at an interface of a capture that has several.
    fn on_captured(&mut self, event: &TraceEvent, seq_range: SeqRange, tracking: &mut TrackingContext) -> HopObservation {
        self.expire_in_flight(tracking);
        let (now, is_measured) = (tracking.now, tracking.is_measured);
        let key = packet_key(&event.packet);
        let known = self.in_flight.find_eligible(key, |location| self.path.may_precede(location, event.location));
        let previous = known.map(|at| *self.in_flight.packet_at_mut(at));
        let endpoint = self.path.on_event(event, previous.map(|previous| previous.location));
        let (Some(at), Some(previous)) = (known, previous) else {
            if endpoint.is_sent && !(self.path.is_sink_place(event.location) && self.path.is_sink_certain()) {
                self.in_flight.push(InFlightPacket::new(key, event.location, now, &event.packet, seq_range, true), tracking.memory);
            }
            return HopObservation { endpoint, ..HopObservation::default() };
        };
        let link = tracking.links.link_index(Hop { from: previous.location, to: event.location });
        self.in_flight.move_to(at, event.location, now);
        let is_marked = self.detect_mark(Some(at), &event.packet);
        if is_measured {
            tracking.links.update(link, |link| {
                link.arrivals += 1;
                link.on_departure(event.packet.size, Some(now.since(previous.since)));
                link.marks += u64::from(is_marked);
            });
        }
        if endpoint.is_received && self.path.is_sink_certain() {
            self.in_flight.remove(at, tracking.memory);
        }
        HopObservation { endpoint, previous: Some(previous), link, is_marked, is_dropped: false }
    }

    /// Removes packets that arrived at the last place, or were overtaken, so long ago that they will not be seen again. Recent arrivals
    /// are kept while it is not certain that the place is the last.
    fn expire_in_flight(&mut self, tracking: &mut TrackingContext) {
        loop {
            if let Some(last) = self.path.last().filter(|_| self.path.has_both_ends()) {
                self.in_flight.remove_assumed_delivered(last, tracking.now, tracking.memory);
            }
            match self.in_flight.pop_dropped(tracking.now, tracking.memory) {
                Some(dropped) => tracking.overtaken.push(dropped),
                None => return,
            }
        }
    }
}

/// Whether a packet is the first data of one of ns-2's one-way agents that offers ECN, in a capture: a Not-ECT packet with ECE, and both
/// sides count from 0.
fn is_offer_in_data(packet: &Packet) -> bool {
    let seq_range = (packet.tcp.seq, packet.tcp.ack);
    packet.kind == Kind::Data && seq_range == (1, 1) && packet.ecn == Ecn::NotEct && packet.has(Flags::ECE) && !packet.has(Flags::CWR)
}

/// Whether a packet's number counts packets: of ns-2's one-way agents, whose lines show no header.
pub fn is_numbered_by_packet(packet: &Packet) -> bool {
    matches!(packet.source.address, Address::Node(_)) && packet.payload == packet.size
}
