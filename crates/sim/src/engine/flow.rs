//! A flow during a run: its two endpoints, its routes and its counts over all of its connections.

use std::mem::offset_of;
use std::sync::Arc;

use ecnlab_transport::application::WriteTimes;
use ecnlab_transport::endpoint::DatagramOrExternalSender;
use ecnlab_transport::{
    AccurateReceiver, AppWrite, HostClock, NegotiatedEcn, ProcessingTime, ReceiverEndpoint, ReverseAccurateStart, SendCounters, Sender,
    SenderEndpoint, Transport,
};
use ecnlab_units::{Span, Time};

use super::fast_path::SinkAhead;
use crate::calendar_queue::CalendarQueue;
use crate::measures::{FlowAtEnd, FlowMeasures};
use crate::network::{FlowSpec, RowPolicy};
use crate::packet::{NO_INDEX, PacketFlags, PacketOrigin};

/// A thousand flows exceed the first-level cache, and ten thousand the second, so the fields that a packet and its ACK read are neighbours,
/// from the end of `measures` to the middle of `sender`. The fields before and after are read at other times only.
#[repr(C, align(64))]
pub struct FlowState {
    /// Packets from the sender that were lost, in the whole run.
    pub lost_packets: u64,
    /// Copies of its packets that links made, in the whole run.
    pub duplicated_packets: u64,
    /// Application data that it sends at its start without an application.
    pub initial_write: Option<AppWrite>,
    pub start: Time,
    pub base_rtt: Span,
    /// Phases of the clocks of the sender's host and the sink's host at time zero.
    pub clock_phases: [Span; 2],
    /// Counts of earlier connections.
    past_connections: Option<Box<PastConnections>>,
    /// Source of the random processing time of each connection, if there is one.
    pub processing: Option<Box<ProcessingTime>>,
    pub app_member: u32,
    pub measures: FlowMeasures,
    /// Packets from the sender that reached the sink, in the whole run.
    pub received_packets: u64,
    /// Time at which its connection was opened.
    opened_at: Time,
    /// Number of its application, or `NONE`; its member index there is `app_member`.
    pub app: u32,
    pub forward_route: u32,
    pub back_route: u32,
    pub group: u32,
    /// Number of the open connection, modulo 256.
    connection_id: u8,
    /// Flags that all packets of its sender have.
    pub sender_flags: PacketFlags,
    pub sends_datagrams: bool,
    pub started: bool,
    pub row_policy: RowPolicy,
    pub app_kind: AppWriteTiming,
    /// Whether the fast path may pass packets to its sink, and ACKs to its sender.
    pub sink_ahead: SinkAhead,
    pub is_sender_ahead: bool,
    /// The flow of the other direction of its connection if ACKs are piggybacked on data; else `NONE`.
    pub reverse_flow: u32,
    /// Slots in the calendar queue: of the start and the sender's timer, and of the sink, added when it first sets its timer.
    pub timer_slot: u32,
    pub sink_timer_slot: u32,
    pub sink: ReceiverEndpoint,
    pub sender: SenderEndpoint,
    pub transport: Transport,
}

const _: () = {
    assert!(size_of::<FlowState>() <= 15 * 64, "a million flows at once take 2 KB each, with their links and timers");
    let begin = offset_of!(FlowState, measures) + FlowMeasures::PACKET_FIELDS_BEGIN;
    let end = offset_of!(FlowState, sender) + Sender::PACKET_FIELDS_END;
    assert!(end.div_ceil(64) - (begin + size_of::<usize>()) / 64 <= 10, "a packet and its ACK read ten cache lines of their flow");
};

/// A flow's application, as far as packets depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppWriteTiming {
    Absent,
    /// It gets delivery events.
    WantsDeliveries,
    /// It writes at any event.
    WritesAnyTime,
    /// See [`WriteTimes`].
    WritesWhileIdle,
    WritesAtTimer,
}

impl AppWriteTiming {
    /// The kind of an application of flows that carry datagrams or not.
    pub fn new(wants_deliveries: bool, write_times: WriteTimes, is_tcp: bool) -> AppWriteTiming {
        match write_times {
            _ if wants_deliveries => AppWriteTiming::WantsDeliveries,
            WriteTimes::WhileIdle if is_tcp => AppWriteTiming::WritesWhileIdle,
            WriteTimes::AtTimer if is_tcp => AppWriteTiming::WritesAtTimer,
            _ => AppWriteTiming::WritesAnyTime,
        }
    }

    /// Whether it is known up to when it does not write.
    pub fn allows_computing_ahead(self) -> bool {
        !matches!(self, AppWriteTiming::WantsDeliveries | AppWriteTiming::WritesAnyTime)
    }
}

/// Counts of a flow's earlier connections.
struct PastConnections {
    send_counters: SendCounters,
    min_rtt: Option<Span>,
}

/// Result of a handshake that both sides know: how ECN is negotiated, how long the handshake took, if known, and what is known of marks.
#[derive(Clone, Copy, Debug)]
pub struct HandshakeResult {
    pub ecn: NegotiatedEcn,
    pub rtt: Option<Span>,
    pub accurate: ReverseAccurateStart,
}

impl FlowState {
    /// An idle flow; `routes` are where its routes begin, `timer_slot` is that of its start and its sender's timer.
    pub fn new(
        spec: &FlowSpec,
        clock_phases: [Span; 2],
        processing: Option<Box<ProcessingTime>>,
        base_rtt: Span,
        routes: (u32, u32),
        timer_slot: u32,
    ) -> FlowState {
        let transport = spec.transport.clone();
        let (forward_route, back_route) = routes;
        let nothing = AppWrite::keep_open(0);
        let mut flow = FlowState {
            sink: ReceiverEndpoint::new(&transport, clock_phases[1]),
            forward_route,
            back_route,
            group: spec.group,
            connection_id: 0,
            sender_flags: PacketFlags::common_flags_of_sender(transport.ecn_semantics(), transport.is_datagrams()),
            sends_datagrams: transport.is_datagrams(),
            started: false,
            row_policy: spec.row_policy,
            reverse_flow: NO_INDEX,
            app_kind: AppWriteTiming::Absent,
            sink_ahead: SinkAhead::Never,
            is_sender_ahead: false,
            timer_slot,
            sink_timer_slot: CalendarQueue::NO_SLOT,
            app: NO_INDEX,
            app_member: 0,
            received_packets: 0,
            lost_packets: 0,
            duplicated_packets: 0,
            initial_write: spec.initial_write,
            start: spec.start,
            measures: FlowMeasures::new(base_rtt, spec.initial_write.map(|_| spec.start)),
            base_rtt,
            sender: SenderEndpoint::new(&transport, spec.initial_write.as_ref().unwrap_or(&nothing), clock_phases[0]),
            transport,
            clock_phases,
            opened_at: Time::ZERO,
            past_connections: None,
            processing,
        };
        flow.draw_sender_processing_time();
        flow
    }

    /// Draws the random processing time of a new connection's sender, if there is one.
    fn draw_sender_processing_time(&mut self) {
        if let Some(processing) = &mut self.processing {
            self.sender.set_processing_time(processing.for_next_connection());
        }
    }

    /// Replaces the previous connection, if any, by a new one. Packets of the previous one that are still in the network are discarded when
    /// they arrive.
    pub fn replace_with_new_connection(&mut self, demand: &AppWrite, now: Time) {
        let transport = self.transport.clone();
        if self.has_external_hosts() {
            let sender = SenderEndpoint::new(&transport, demand, self.clock_phases[0]);
            let sink = ReceiverEndpoint::new(&transport, self.clock_phases[1]);
            return self.replace_connection(sender, sink, now);
        }
        self.end_connection();
        self.sender.renew(&transport, demand, self.clock_phases[0]);
        self.begin_connection_with_sink(ReceiverEndpoint::new(&transport, self.clock_phases[1]), now);
    }

    /// Replaces the previous connection by the other direction of an open one. The sink does not answer its FIN by one: the direction that
    /// opened the connection closes separately.
    pub fn replace_with_reverse_connection(&mut self, opening: HandshakeResult, demand: &AppWrite, now: Time) {
        let settings = match &self.transport {
            Transport::Tcp(settings) => settings,
            Transport::Datagrams(_) => panic!("datagrams answer no connection"),
            Transport::External(_) => panic!("hosts outside answer by themselves"),
        };
        let settings = Arc::new(settings.for_reverse_direction(opening.ecn));
        let mut sink = ReceiverEndpoint::new(&Transport::Tcp(settings.clone()), self.clock_phases[1]);
        sink.suppress_close_on_fin();
        if opening.ecn == NegotiatedEcn::Accurate {
            let ReverseAccurateStart { received_ce, uses_option, .. } = opening.accurate;
            sink.set_accurate_receiver(AccurateReceiver::for_reverse_direction(&settings, received_ce, uses_option, opening.rtt));
        }
        let clock = HostClock::new(&settings, self.clock_phases[0]);
        let sender = Sender::for_reverse_direction(settings, demand, clock, opening.rtt, opening.accurate, now);
        self.replace_connection(SenderEndpoint::Tcp(sender), sink, now);
    }

    /// The same with external hosts; the connection counts as open from now on.
    pub fn replace_with_external_reverse_connection(&mut self, demand: &AppWrite, now: Time) {
        self.replace_with_new_connection(demand, now);
        if let Some(host) = self.sender.as_external_mut() {
            host.request_write(demand.bytes);
            host.record_open();
        }
    }

    fn replace_connection(&mut self, mut sender: SenderEndpoint, sink: ReceiverEndpoint, now: Time) {
        if let (Some(sender), Some(before)) = (sender.as_external_mut(), self.sender.as_external_mut()) {
            sender.set_next_connection_number(before);
        }
        self.end_connection();
        self.sender = sender;
        self.begin_connection_with_sink(sink, now);
    }

    /// Keeps the counts of the previous connection, if there was one.
    fn end_connection(&mut self) {
        // An external host may have sent data before any request.
        if !self.started && !self.has_external_hosts() {
            return;
        }
        let past = PastConnections { send_counters: self.send_counters_of_all_connections(), min_rtt: self.min_rtt_of_all_connections() };
        match &mut self.past_connections {
            Some(known) => **known = past,
            None => self.past_connections = Some(Box::new(past)),
        }
        self.connection_id = self.connection_id.wrapping_add(1);
    }

    /// Begins a connection whose sender is new.
    fn begin_connection_with_sink(&mut self, mut sink: ReceiverEndpoint, now: Time) {
        self.started = true;
        sink.reuse_memory_of(&mut self.sink);
        (self.sink, self.opened_at) = (sink, now);
        self.draw_sender_processing_time();
    }

    /// Origin of its packets that enter a route: the sender's or the sink's.
    #[inline]
    pub fn packet_origin(&self, flow: u32, hop_index: u32, flags: PacketFlags) -> PacketOrigin {
        PacketOrigin { flow, hop_index, connection_id: self.connection_id, flags }
    }

    /// Whether a packet belongs to the open connection. One that stayed in the network during 256 later connections has the same number,
    /// but was `sent` before this one opened.
    #[inline]
    pub fn is_current_connection(&self, connection: u8, sent: Time) -> bool {
        connection == self.connection_id && sent >= self.opened_at
    }

    /// Number of the open connection, modulo 256.
    #[inline]
    pub fn connection_id(&self) -> u8 {
        self.connection_id
    }

    /// Whether an ACK of its sink may let its application open the next connection: the sink may have acknowledged all data that the sender
    /// has to send.
    #[inline]
    pub fn may_reopen_on_ack(&self) -> bool {
        self.app_kind == AppWriteTiming::WritesWhileIdle
            && self.sender.as_tcp().is_some_and(|sender| self.sink.max_acknowledged() >= sender.send_buffer().queued_segments())
    }

    /// Whether its hosts are external.
    pub fn has_external_hosts(&self) -> bool {
        matches!(self.sender, SenderEndpoint::NonTcp(DatagramOrExternalSender::External(_)))
    }

    /// Whether ACKs of a bidirectional connection are piggybacked on data.
    pub fn piggybacks_acks(&self) -> bool {
        matches!(&self.transport, Transport::Tcp(settings) if settings.piggybacks_acks())
    }

    /// Whether its application has opened a connection whose handshake is not answered yet.
    #[cold]
    #[inline(never)]
    pub fn awaits_syn_ack_for_app(&self) -> bool {
        self.app != NO_INDEX && self.sender.as_tcp().is_some_and(Sender::is_in_handshake)
    }

    /// Counters of the senders of all its connections.
    pub fn send_counters_of_all_connections(&self) -> SendCounters {
        self.past_connections.as_ref().map_or(*self.sender.counters(), |past| past.send_counters.sum_with(self.sender.counters()))
    }

    /// Smallest RTT sample over all its connections, if there was one.
    fn min_rtt_of_all_connections(&self) -> Option<Span> {
        let past = self.past_connections.as_ref().and_then(|past| past.min_rtt);
        past.into_iter().chain(self.sender.min_rtt()).min()
    }

    pub fn flow_at_end(&self) -> FlowAtEnd<'_> {
        FlowAtEnd {
            group: self.group,
            has_row: self.row_policy == RowPolicy::OwnRow,
            measures: &self.measures,
            sender: self.send_counters_of_all_connections(),
            base_rtt_s: self.base_rtt.seconds(),
            min_rtt_s: self.min_rtt_of_all_connections().unwrap_or(Span::ZERO).seconds(),
            started: self.start,
        }
    }
}
