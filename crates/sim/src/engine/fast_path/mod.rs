//! The fast path: what follows from a packet is computed when its departure from a queue is known, up to the next place where flows meet.
//!
//! A queue has *known departures* if it is first in, first out and its AQM signals arriving packets only. Its link then computes the departure
//! of a packet when it is stored, and the event for the end of the transmission is not needed. The queue itself is brought up to date when
//! its state is read: at the next arrival, at its timer, at a sample, at the end of a slice ([`Simulation::update_known_queue`]).
//!
//! Any other queue knows the departure of a packet when it dequeues it. So a packet needs two events there instead of one: its arrival, and the
//! end of the transmission before it.
//!
//! From such a departure on, a packet is *passed ahead*: it reaches its sink, the ACK crosses the pipes of the return path and the sender
//! processes it, each at its own later time, without an event. The next data packet enters the flow's access link, whose far end is a place
//! where flows meet, and so is an event again:
//!
//! ```text
//!            event: arrival at the queue                                            event: arrival at the queue
//!                 |                                                                      |
//!   access link --+--> queue ---> wire ---> sink ---> return path ---> sender ---> access link ---
//!                      stored     departs   receives  ACK              on_ack
//!                      `---------- one event computes all of these --------------'
//! ```
//!
//! # Why the results are the same
//!
//! Events at the ends and pipes of one flow depend on each other only, so their order relative to events elsewhere does not matter. Five
//! rules keep the order among them, and the order relative to events that read their state:
//!
//! 1. **Horizon.** Nothing at or after [`FastPath::horizon`] is computed ahead: the next bin of rates, the beginning of the measured
//!    interval, the end of the slice or of the run. Samples of windows are no horizon: the window before each change is kept for them.
//! 2. **Order of entry.** A pipe may be entered ahead only if all its packets come from one place, in order
//!    (`plan.rs`). A packet is passed ahead only if no packet before it on the same way is left to an event.
//! 3. **Timers.** A timer of a sink that is due before a packet's arrival runs before it. An ACK whose sender has an earlier timer is left to
//!    an event.
//! 4. **Reactions elsewhere.** Packets before an impairment or another queue, the answer to a SYN of an application, ACKs that end a transfer
//!    and deliveries that end a lockout are left to events. A flow of an application is ahead only if it is known until when the application
//!    does not write ([`WriteTimes`](ecnlab_transport::application::WriteTimes)): up to its timer, or until all data are acknowledged. In the
//!    latter case the next connection may open then, so nothing of a complete transfer is computed ahead but its first ACK and pure ACKs.
//! 5. **No recursion.** Packets of a sender that is ahead cross their first link by events, so no sender is called while it sends.
//!
//! A packet that is left to an event is on a wire, with the same keys as without the fast path. So nothing has to be undone, the fast path may
//! stop anywhere, and conservation is checked as usual. Events that are computed ahead count for the fingerprint as others do.

mod plan;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use ecnlab_queue::{DequeueOutcome, Discipline, Queue, QueueEvent, QueueItem, SignalCause};
use ecnlab_transport::{Ack, CongestionWindow, SegmentType};
use ecnlab_units::{Span, Time};

use super::flow::{AppWriteTiming, FlowState};
use super::path::probe_dequeue;
use super::{END_OF_ROUTE, Simulation};
use crate::calendar_queue::TieBreak;
use crate::component::{ComponentId, ComponentKind};
use crate::index_vec::IndexVec;
use crate::link::QueuedPacket;
use crate::network::{PrivateLinkIds, RowPolicy};
use crate::packet::{NO_INDEX, PacketFlags, PacketId};
use crate::probe::{AckDrop, MarkOrDropWithCause, Probe};
use crate::queue_log::MeasuredQueueEvent;

/// State of the fast path.
#[derive(Default)]
pub struct FastPath {
    is_disabled: bool,
    /// Whether it is determined where the fast path applies.
    is_planned: bool,
    /// Nothing at this time or later is computed ahead.
    horizon: Time,
    slice_end: Time,
    /// By link.
    links: IndexVec<LinkAhead>,
    /// Pipes on whose wires packets wait for the horizon to move.
    held_pipes: Vec<u32>,
    /// Queues with known departures.
    queues: Vec<u32>,
    /// Links with a queue behind which packets are passed ahead.
    queue_links: Vec<u32>,
    /// Next sample of windows, if there are any.
    next_window_sample: Option<Time>,
    /// By flow, as far as windows were kept.
    past_windows: IndexVec<VecDeque<PastWindow>>,
    /// Packets that reached their sinks without an event.
    passed_packets: u64,
}

/// Fewest timers of sinks on one return path that are searched for outdated ones.
const MIN_SINK_TIMERS_TO_PRUNE: usize = 64;

/// State of a link for the fast path.
#[derive(Default)]
pub struct LinkAhead {
    /// Packets that enter this pipe next, or whose ACKs do, and are left to events on the wire of a queue's link.
    packets_before: u32,
    is_held: bool,
    /// Present once a timer is set or a packet waits.
    waiting: Option<Box<WaitingAhead>>,
}

/// Timers and packets that wait at a link.
#[derive(Default)]
struct WaitingAhead {
    /// Timers of sinks that share this return path, some of them outdated.
    sink_timers: BinaryHeap<Reverse<SinkTimer>>,
    /// Number of these timers that was left by the last search for outdated ones.
    searched_sink_timers: usize,
    /// Times at which transmissions of waiting packets begin, of a pipe that computes ahead.
    transmission_starts: VecDeque<Time>,
}

impl LinkAhead {
    /// The earliest timer of a sink that shares this return path, some of them outdated.
    fn first_sink_timer(&self) -> Option<&SinkTimer> {
        self.waiting.as_ref().and_then(|waiting| waiting.sink_timers.peek()).map(|Reverse(timer)| timer)
    }

    /// The times at which transmissions of waiting packets begin.
    fn transmission_starts(&mut self) -> &mut VecDeque<Time> {
        &mut self.waiting.get_or_insert_default().transmission_starts
    }
}

/// A timer of a sink, in the order of events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SinkTimer {
    due: Time,
    tie_break: TieBreak,
    component: ComponentId,
}

/// A congestion window that the sender had before an ACK that was processed ahead.
struct PastWindow {
    /// The last time at which a sample would have found it.
    until: Time,
    window: CongestionWindow,
    alpha: Option<f64>,
}

/// Whether packets may be passed ahead to a flow's sink.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SinkAhead {
    /// They may not.
    #[default]
    Never,
    /// No other flow shares the first link of the return path.
    OwnReturnPath,
    /// Sinks share the first link of the return path, which their ACKs enter in order.
    SharedReturnPath,
}

/// Where the fast path applies to flows that an application adds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppFlowFastPath {
    pub sink: SinkAhead,
    pub is_sender_ahead: bool,
}

/// What the engine asks of it.
impl<P: Probe> Simulation<P> {
    /// Computes each event at its time, to check that results are the same. It must be called before the first event.
    pub fn disable_fast_path(&mut self) {
        self.fast_path.is_disabled = true;
    }

    /// A link, a flow or an application was added by the owner of the simulation.
    pub(super) fn invalidate_fast_path_plan(&mut self) {
        self.fast_path.is_planned = false;
    }

    /// Lets an application add links and flows that were planned for.
    pub(super) fn keep_plan_while_adding<T>(&mut self, add: impl FnOnce(&mut Self) -> T) -> T {
        let is_planned = self.fast_path.is_planned;
        let added = add(self);
        self.fast_path.is_planned = is_planned;
        added
    }

    /// A link was added.
    pub(super) fn add_link_ahead(&mut self) {
        self.fast_path.links.push(LinkAhead::default());
    }

    /// An application added a flow with these private links.
    pub(super) fn apply_app_flow_fast_path(&mut self, flow: u32, own: &PrivateLinkIds, ahead: AppFlowFastPath) {
        let state = &mut self.flows[flow];
        (state.sink_ahead, state.is_sender_ahead) = (ahead.sink, ahead.is_sender_ahead);
        if let Some([to, back]) = own.access.filter(|_| ahead.is_sender_ahead) {
            self.links[to].accepts_ahead = true;
            let back = &mut self.links[back];
            (back.accepts_ahead, back.computes_ahead, back.is_plain_pipe) = (true, true, false);
        }
    }

    /// Packets that reached their sinks without an event of their own.
    pub(super) fn passed_packets(&self) -> u64 {
        self.fast_path.passed_packets
    }

    /// Whether flows may be ahead of the current time.
    pub(super) fn may_have_run_ahead(&self) -> bool {
        !self.fast_path.queue_links.is_empty() && self.now < self.fast_path.slice_end
    }

    /// A slice begins.
    #[inline]
    pub(super) fn begin_slice(&mut self, until: Time) {
        if !self.fast_path.is_planned {
            self.plan_fast_path();
        }
        self.fast_path.slice_end = until;
        self.move_horizon();
    }

    fn hold_pipe(&mut self, at: u32) {
        let state = &mut self.fast_path.links[at];
        if !std::mem::replace(&mut state.is_held, true) {
            self.fast_path.held_pipes.push(at);
        }
    }
}

/// The horizon.
impl<P: Probe> Simulation<P> {
    /// Moves the horizon to the next time at which the measures of flows are read, and passes on what it has held back.
    pub(super) fn move_horizon(&mut self) {
        let end = self.fast_path.slice_end + Span::from_picos(1);
        let horizon = self.next_read_of_flow_measures().map_or(end, |time| time.min(end));
        if horizon == self.fast_path.horizon {
            return;
        }
        self.fast_path.horizon = horizon;
        for place in 0..self.fast_path.queue_links.len() {
            self.continue_queue_link_packets_ahead(self.fast_path.queue_links[place]);
        }
        for pipe in std::mem::take(&mut self.fast_path.held_pipes) {
            self.fast_path.links[pipe].is_held = false;
            self.continue_pipe_packets_ahead(pipe);
        }
    }

    /// Passes on what waits on the wire of a queue's link, as far as that is possible now.
    fn continue_queue_link_packets_ahead(&mut self, at: u32) {
        let (mut previous, mut id) = (NO_INDEX, self.links[at].first_packet());
        while id != NO_INDEX {
            let packet = &self.packets[id];
            let (next, arrives, keys) = (packet.next, packet.arrives_at, packet.tie_break);
            if arrives >= self.fast_path.horizon {
                return;
            }
            let Some(pipe) = self.next_pipe_of_packet(id) else {
                (previous, id) = (id, next);
                continue;
            };
            if !self.prepare_sink(id, at, arrives, keys) {
                return;
            }
            self.fast_path.links[pipe].packets_before -= 1;
            if self.links[at].remove_packet_after(&mut self.packets, previous) {
                self.set_arrival_of_first(at);
            }
            self.continue_ahead(at, id, arrives);
            id = next;
        }
    }

    /// The same for a pipe.
    pub(super) fn continue_pipe_packets_ahead(&mut self, at: u32) {
        loop {
            let id = self.links[at].first_packet();
            if id == NO_INDEX {
                return;
            }
            let packet = &self.packets[id];
            let (arrives, keys) = (packet.arrives_at, packet.tie_break);
            if !self.may_leave_pipe_ahead(id, at, arrives, keys) {
                return self.hold_pipe(at);
            }
            self.links[at].remove_packet_after(&mut self.packets, NO_INDEX);
            self.set_arrival_of_first(at);
            self.continue_ahead(at, id, arrives);
        }
    }

    /// Sets the deadline of a link to the arrival of the first packet on its wire.
    fn set_arrival_of_first(&mut self, at: u32) {
        let link = &self.links[at];
        match link.first_packet() {
            NO_INDEX => self.calendar.clear_deadline(link.arrival_slot),
            first => {
                let packet = &self.packets[first];
                self.calendar.set_deadline_with_tie_break(link.arrival_slot, packet.arrives_at, packet.tie_break);
            }
        }
    }
}

/// Queues with known departures.
impl<P: Probe> Simulation<P> {
    /// A packet arrives at a queue with known departures.
    pub(super) fn enqueue_with_known_departure(&mut self, at: u32, id: PacketId) {
        self.update_known_queue(at);
        let waiting = QueuedPacket::new(id, &self.packets);
        let size = waiting.size();
        self.probe_queue_event(at, MeasuredQueueEvent::Arrived(&waiting));
        let mut is_stored = false;
        let (now, queue, mut handler) = self.queue_and_handler(at);
        let Queue::Fifo(fifo) = &mut queue.discipline else { unreachable!("only a FIFO has known departures") };
        let length = fifo.len();
        queue.measures.update_length(length, now);
        fifo.enqueue(waiting, now, &mut queue.rng, &mut |event| {
            match &event {
                QueueEvent::Stored(_) => is_stored = true,
                QueueEvent::Marked(packet, _) => assert_eq!(id, packet.packet, "the AQM signals arriving packets only"),
                QueueEvent::Dropped(packet, _) => assert_eq!(id, packet.packet, "the AQM signals arriving packets only"),
            }
            handler.on_queue_event(event);
        });
        queue.measures.on_arrival(length, fifo.average_queue_length());
        if !is_stored {
            return;
        }
        let link = queue.link;
        let (begins, departs) = self.links[link].reserve_transmitter(size, now);
        let queue = &mut self.queues[at];
        queue.known_departures.of_waiting.push_back(departs);
        if !queue.transmitting {
            self.begin_known_transmission(at, now);
        }
        self.leave_queue(link, id, departs, TieBreak { scheduled_at: begins, entered_buffer_at: now });
    }

    /// Brings a queue with known departures up to the event at hand.
    #[inline(always)]
    pub(super) fn update_known_queue(&mut self, at: u32) {
        loop {
            let queue = &self.queues[at];
            let ends = queue.known_departures.ends;
            if !queue.transmitting || ends > self.now || ends == self.now && !self.is_transmission_end_before_event(at) {
                return;
            }
            self.end_known_transmission(at);
        }
    }

    /// Whether the event for the end of a transmission that ends now would have come before the event at hand.
    #[cold]
    fn is_transmission_end_before_event(&self, at: u32) -> bool {
        let departures = &self.queues[at].known_departures;
        let component = ComponentId::new(ComponentKind::Transmitter, at);
        self.calendar.is_past(departures.ends, TieBreak::scheduled_now(departures.began), component)
    }

    /// Brings all queues with known departures up to the event at hand.
    pub(super) fn update_known_queues(&mut self) {
        for place in 0..self.fast_path.queues.len() {
            self.update_known_queue(self.fast_path.queues[place]);
        }
    }

    /// Brings all queues with known departures through all events up to and at a time.
    pub(super) fn update_known_queues_through(&mut self, time: Time) {
        for place in 0..self.fast_path.queues.len() {
            let at = self.fast_path.queues[place];
            while self.queues[at].transmitting && self.queues[at].known_departures.ends <= time {
                self.end_known_transmission(at);
            }
        }
    }

    #[inline(always)]
    fn end_known_transmission(&mut self, at: u32) {
        let queue = &mut self.queues[at];
        queue.transmitting = false;
        let ends = queue.known_departures.ends;
        self.count_and_hash_event(ends, ComponentId::new(ComponentKind::Transmitter, at));
        self.begin_known_transmission(at, ends);
    }

    /// Dequeues the next packet at a time, if there is one.
    #[inline]
    fn begin_known_transmission(&mut self, at: u32, then: Time) {
        let Simulation { queues, probe, .. } = self;
        let queue = &mut queues[at];
        let Queue::Fifo(fifo) = &mut queue.discipline else { unreachable!("only a FIFO has known departures") };
        queue.measures.update_length(fifo.len(), then);
        let outcome = fifo.dequeue(then, &mut queue.rng, &mut |_| unreachable!("the AQM signals arriving packets only"));
        probe_dequeue(probe, then, at, &outcome);
        let departures = &mut queue.known_departures;
        match outcome {
            DequeueOutcome::Packet { sojourn, band, .. } => {
                (departures.began, departures.ends) =
                    (then, departures.of_waiting.pop_front().expect("each waiting packet has a departure"));
                queue.measures.record_departure(sojourn, band, departures.ends.since(then));
                queue.transmitting = true;
            }
            DequeueOutcome::RetryAt(_) => unreachable!("a FIFO holds nothing back"),
            DequeueOutcome::Empty => {}
        }
    }

    /// A packet that has been dequeued leaves the link: see [`Self::leave_queue`], which queues with known departures have inline.
    #[inline(never)]
    pub(super) fn leave_queue_ahead(&mut self, at: u32, id: PacketId, departs: Time, keys: TieBreak) {
        self.leave_queue(at, id, departs, keys);
    }

    /// A packet leaves the link of a queue at a known time: it is passed ahead, or put on the wire.
    #[inline(always)]
    fn leave_queue(&mut self, at: u32, id: PacketId, departs: Time, keys: TieBreak) {
        let arrives = departs + self.links[at].delay();
        if let Some(pipe) = self.next_pipe_of_packet(id) {
            let is_in_order = self.fast_path.links[pipe].packets_before == 0;
            if arrives < self.fast_path.horizon && is_in_order && self.prepare_sink(id, at, arrives, keys) {
                self.links[at].delivered_packets += 1;
                return self.continue_ahead(at, id, arrives);
            }
            self.fast_path.links[pipe].packets_before += 1;
        }
        self.start_propagation(at, id, departs, keys);
    }

    /// A packet on the wire of a queue's link arrives by an event; its place in the order is free.
    pub(super) fn decrement_packets_before_pipe(&mut self, hop: u32, id: PacketId) -> bool {
        let Some(pipe) = self.pipe_of_packet_at_hop(hop, id) else { return false };
        self.fast_path.links[pipe].packets_before -= 1;
        true
    }

    /// After an arrival by an event on a link that computes ahead: what came behind may be passed on.
    #[inline(never)]
    pub(super) fn continue_link_packets_ahead(&mut self, at: u32) {
        let link = &self.links[at];
        if link.first_packet() == NO_INDEX {
            return;
        }
        if link.queue == NO_INDEX { self.continue_pipe_packets_ahead(at) } else { self.continue_queue_link_packets_ahead(at) }
    }
}

/// The way of a packet ahead.
impl<P: Probe> Simulation<P> {
    /// The pipe that a packet enters at the far end of its link, or else that its ACK enters; `None` if what happens there is an event.
    #[inline]
    fn next_pipe_of_packet(&self, id: PacketId) -> Option<u32> {
        self.pipe_of_packet_at_hop(self.route_hops[self.packets[id].hop_index + 1], id)
    }

    /// The same, where `next` is the next hop.
    #[inline]
    fn pipe_of_packet_at_hop(&self, next: u32, id: PacketId) -> Option<u32> {
        if next != END_OF_ROUTE {
            return self.links[next].accepts_ahead.then_some(next);
        }
        let packet = &self.packets[id];
        let flow = &self.flows[packet.flow];
        (!packet.is_ack_from_sink() && flow.sink_ahead != SinkAhead::Never).then(|| self.route_hops[flow.back_route])
    }

    /// Whether a packet may leave a pipe ahead, whose wire is empty otherwise.
    fn may_leave_pipe_ahead(&mut self, id: PacketId, at: u32, arrives: Time, keys: TieBreak) -> bool {
        if arrives >= self.fast_path.horizon {
            return false;
        }
        let packet = &self.packets[id];
        let (flow, seq, is_ack) = (packet.flow, packet.seq, packet.is_ack_from_sink());
        let is_at_end = self.route_hops[packet.hop_index + 1] == END_OF_ROUTE;
        if is_at_end && is_ack {
            return self.may_process_ack_ahead(flow, seq, at, arrives, keys);
        }
        self.next_pipe_of_packet(id).is_some() && self.prepare_sink(id, at, arrives, keys)
    }

    /// Prepares the arrival of a packet at its sink, if it reaches it: earlier timers of sinks run first. Returns whether the arrival may be
    /// computed ahead.
    #[inline(always)]
    fn prepare_sink(&mut self, id: PacketId, at: u32, arrives: Time, keys: TieBreak) -> bool {
        let packet = &self.packets[id];
        let flow = packet.flow;
        if self.route_hops[packet.hop_index + 1] != END_OF_ROUTE {
            return !packet.is_ack_from_sink()
                || self.is_ack_before_next_connection(flow, packet.hop_index + 1, packet.seq, packet.connection_id);
        }
        let state = &self.flows[flow];
        if state.measures.arrival_depends_on_event_order(arrives, state.sends_datagrams) {
            return false;
        }
        let arrival = SinkTimer { due: arrives, tie_break: keys, component: ComponentId::new(ComponentKind::Link, at) };
        if state.sink_ahead == SinkAhead::SharedReturnPath {
            let pipe = self.route_hops[state.back_route];
            let has_earlier = self.fast_path.links[pipe].first_sink_timer().is_some_and(|timer| *timer < arrival);
            if has_earlier && !self.run_sink_timers_before(pipe, &arrival) {
                return false;
            }
        } else if state.sink.deadline().is_some_and(|due| due <= arrives) && !self.run_sink_timer_before(flow, &arrival) {
            return false;
        }
        !self.flows[flow].may_reopen_on_ack() || self.gets_no_ack_from_sink(id)
    }

    /// Whether a packet is a pure ACK without a reply. Its only effect at the sink is on a timer, which the next connection would clear.
    fn gets_no_ack_from_sink(&self, id: PacketId) -> bool {
        let packet = &self.packets[id];
        let sink = &self.flows[packet.flow].sink;
        packet.segment_type() == SegmentType::PureAck && packet.seq >= sink.rcv_nxt() && sink.accurate().is_none()
    }

    /// Runs the timers of sinks with a common return path that come before an arrival. Returns whether none of them is left to an event.
    #[inline(never)]
    fn run_sink_timers_before(&mut self, pipe: u32, arrival: &SinkTimer) -> bool {
        while let Some(timer) = self.fast_path.links[pipe].first_sink_timer().copied()
            && timer < *arrival
        {
            let flow = timer.component.index();
            let state = &self.flows[flow];
            let is_set = self.calendar.deadline_of(state.sink_timer_slot) == Some((timer.due, timer.tie_break));
            if is_set && state.may_reopen_on_ack() {
                return false;
            }
            if let Some(waiting) = &mut self.fast_path.links[pipe].waiting {
                waiting.sink_timers.pop();
            }
            if is_set {
                self.run_sink_timer_ahead(flow, timer.due);
            }
        }
        true
    }

    /// Runs the timer of a sink as long as it comes before an arrival. Returns whether it is not left to an event.
    #[inline(never)]
    fn run_sink_timer_before(&mut self, flow: u32, arrival: &SinkTimer) -> bool {
        let component = ComponentId::new(ComponentKind::SinkTimer, flow);
        while let Some((due, tie_break)) = self.calendar.deadline_of(self.flows[flow].sink_timer_slot)
            && (SinkTimer { due, tie_break, component }) < *arrival
        {
            if self.flows[flow].may_reopen_on_ack() {
                return false;
            }
            self.run_sink_timer_ahead(flow, due);
        }
        true
    }

    fn run_sink_timer_ahead(&mut self, flow: u32, due: Time) {
        self.calendar.clear_deadline(self.flows[flow].sink_timer_slot);
        self.count_and_hash_event(due, ComponentId::new(ComponentKind::SinkTimer, flow));
        self.at_time(due, |simulation| simulation.on_sink_timer(flow));
    }

    /// The timer of a sink with a shared return path was set.
    #[inline(never)]
    pub(super) fn add_sink_timer(&mut self, flow: u32, due: Time, tie_break: TieBreak) {
        let pipe = self.route_hops[self.flows[flow].back_route];
        let component = ComponentId::new(ComponentKind::SinkTimer, flow);
        let Simulation { flows, calendar, fast_path, .. } = self;
        let waiting = fast_path.links[pipe].waiting.get_or_insert_default();
        let WaitingAhead { sink_timers, searched_sink_timers, .. } = &mut **waiting;
        sink_timers.push(Reverse(SinkTimer { due, tie_break, component }));
        // A timer that is moved leaves an outdated one behind, which may be due only much later.
        if sink_timers.len() >= MIN_SINK_TIMERS_TO_PRUNE.max(2 * *searched_sink_timers) {
            let set = |timer: &SinkTimer| calendar.deadline_of(flows[timer.component.index()].sink_timer_slot);
            sink_timers.retain(|Reverse(timer)| set(timer) == Some((timer.due, timer.tie_break)));
            *searched_sink_timers = sink_timers.len();
        }
    }

    /// Computes something at a time to come.
    #[inline(always)]
    fn at_time<T>(&mut self, then: Time, compute: impl FnOnce(&mut Self) -> T) -> T {
        let now = std::mem::replace(&mut self.now, then);
        let result = compute(self);
        self.now = now;
        result
    }

    /// A packet reaches the far end of a link at a time to come.
    #[inline]
    fn continue_ahead(&mut self, at: u32, id: PacketId, arrives: Time) {
        self.count_and_hash_event(arrives, ComponentId::new(ComponentKind::Link, at));
        let packet = &mut self.packets[id];
        packet.hop_index += 1;
        let is_ack = packet.is_ack_from_sink();
        let hop = self.route_hops[packet.hop_index];
        self.at_time(arrives, |simulation| {
            if hop != END_OF_ROUTE {
                simulation.enter_link(hop, id);
            } else if is_ack {
                simulation.deliver_ack_to_sender(id);
            } else {
                simulation.fast_path.passed_packets += 1;
                simulation.deliver_to_sink(id);
            }
        });
    }

    /// A packet enters a pipe that computes ahead.
    pub(super) fn enter_pipe_ahead(&mut self, at: u32, id: PacketId) {
        let Some((begins, departs)) = self.reserve_transmitter_ahead(at, self.packets[id].size, self.now) else {
            return self.drop_at_full_pipe(at, id);
        };
        let keys = TieBreak { scheduled_at: begins, entered_buffer_at: self.now };
        let link = &self.links[at];
        let arrives = departs + link.delay();
        if link.first_packet() == NO_INDEX && self.may_leave_pipe_ahead(id, at, arrives, keys) {
            self.links[at].delivered_packets += 1;
            return self.continue_ahead(at, id, arrives);
        }
        self.hold_pipe(at);
        self.start_propagation(at, id, departs, keys);
    }

    /// Begin and end of a transmission in a pipe that computes ahead; `None` if its buffer is full.
    #[inline(always)]
    fn reserve_transmitter_ahead(&mut self, at: u32, size: u32, then: Time) -> Option<(Time, Time)> {
        let link = &mut self.links[at];
        if link.free_at() > then {
            return self.reserve_busy_transmitter_ahead(at, size, then);
        }
        let (begins, departs) = link.reserve_transmitter(size, then);
        if departs != begins + link.transmission_time_of_last_size() {
            // Carried fractions of a picosecond may delay the start by one. All earlier transmissions are over.
            let start = departs - link.transmission_time(size);
            let starts = self.fast_path.links[at].transmission_starts();
            starts.clear();
            starts.push_back(start);
        }
        Some((begins, departs))
    }

    /// The same if packets may wait.
    #[inline(never)]
    fn reserve_busy_transmitter_ahead(&mut self, at: u32, size: u32, then: Time) -> Option<(Time, Time)> {
        let link = &mut self.links[at];
        let starts = self.fast_path.links[at].transmission_starts();
        while starts.front().is_some_and(|&start| start <= then) {
            starts.pop_front();
        }
        if starts.len() >= link.limit() {
            return None;
        }
        let (begins, departs) = link.reserve_transmitter(size, then);
        starts.push_back(departs - link.transmission_time(size));
        Some((begins, departs))
    }

    /// Sends an ACK over pipes of its return path. It is not stored as a packet as long as it is passed ahead.
    pub(super) fn send_ack_ahead(&mut self, at: u32, ack: &mut Ack) {
        let mut cursor = self.flows[at].back_route;
        let mut then = self.now;
        loop {
            let hop = self.route_hops[cursor];
            let link = &mut self.links[hop];
            link.arrived_packets += 1;
            if !link.computes_ahead {
                // The pipe is entered ahead, and its far end is an event.
                let id = self.packets.insert_ack(ack, self.flows[at].packet_origin(at, cursor, PacketFlags::default()));
                return self.at_time(then, |simulation| simulation.enter_pipe(hop, id));
            }
            let Some((begins, departs)) = self.reserve_transmitter_ahead(hop, ack.size, then) else {
                return self.drop_ack_at_full_pipe(at, ack, hop, then);
            };
            let keys = TieBreak { scheduled_at: begins, entered_buffer_at: then };
            let link = &self.links[hop];
            let arrives = departs + link.delay();
            if link.first_packet() == NO_INDEX && arrives < self.fast_path.horizon {
                let next = self.route_hops[cursor + 1];
                let is_at_end = next == END_OF_ROUTE;
                if is_at_end && self.may_process_ack_ahead(at, ack.next, hop, arrives, keys) {
                    self.count_ack_link_arrival(hop, arrives);
                    return self.at_time(arrives, |simulation| simulation.process_ack(at, ack));
                }
                let may_go_on = !is_at_end && self.links[next].accepts_ahead;
                if may_go_on && self.is_ack_before_next_connection(at, cursor + 1, ack.next, self.flows[at].connection_id()) {
                    self.count_ack_link_arrival(hop, arrives);
                    (cursor, then) = (cursor + 1, arrives);
                    continue;
                }
            }
            let id = self.packets.insert_ack(ack, self.flows[at].packet_origin(at, cursor, PacketFlags::default()));
            self.hold_pipe(hop);
            return self.start_propagation(hop, id, departs, keys);
        }
    }

    #[inline(always)]
    fn count_ack_link_arrival(&mut self, hop: u32, arrives: Time) {
        self.links[hop].delivered_packets += 1;
        self.count_and_hash_event(arrives, ComponentId::new(ComponentKind::Link, hop));
    }

    #[cold]
    #[inline(never)]
    fn drop_ack_at_full_pipe(&mut self, at: u32, ack: &Ack, hop: u32, then: Time) {
        self.links[hop].dropped_packets += 1;
        let signal = MarkOrDropWithCause::Dropped(SignalCause::Overflow);
        self.probe.on_ack_drop(then, &AckDrop { link: hop, queue: None, flow: at, ack_seq: ack.next, signal });
    }

    /// Whether a sender may process an ACK at a time to come: it has no timer before, and the ACK does not end its transfer. Keeps the window
    /// for samples until then.
    #[inline(always)]
    fn may_process_ack_ahead(&mut self, at: u32, next: u64, hop: u32, arrives: Time, keys: TieBreak) -> bool {
        let flow = &self.flows[at];
        let Some(sender) = flow.sender.as_tcp().filter(|_| flow.is_sender_ahead) else { return false };
        if sender.deadline_or_never() <= arrives || next >= sender.send_buffer().queued_segments() {
            return false;
        }
        if flow.app_kind != AppWriteTiming::Absent
            && (sender.is_in_handshake() || sender.is_done() || !self.is_before_app_timer(flow, arrives))
        {
            return false;
        }
        if self.fast_path.next_window_sample.is_some_and(|sample| sample <= arrives) {
            self.keep_window(at, hop, arrives, keys);
        }
        true
    }
}

/// Flows of applications.
impl<P: Probe> Simulation<P> {
    /// Whether an ACK enters a link of its return path before the next connection of its flow can open, which may change the last link. That
    /// takes an ACK of all data at the sender; the first one that is sent suffices.
    fn is_ack_before_next_connection(&self, flow: u32, hop_index: u32, next: u64, connection: u8) -> bool {
        let state = &self.flows[flow];
        if state.app_kind != AppWriteTiming::WritesWhileIdle || self.route_hops[hop_index + 1] != END_OF_ROUTE {
            return true;
        }
        let link = &self.links[self.route_hops[hop_index]];
        let Some(sender) = state.sender.as_tcp() else { return false };
        let is_in_order = next < sender.send_buffer().queued_segments() || link.first_packet() == NO_INDEX;
        is_in_order && !sender.is_done() && connection == state.connection_id()
    }

    /// Whether a time comes before the timer of a flow's application, if it writes then.
    fn is_before_app_timer(&self, flow: &FlowState, time: Time) -> bool {
        flow.app_kind != AppWriteTiming::WritesAtTimer || self.apps[flow.app].next_deadline().is_none_or(|due| time < due)
    }
}

/// Samples of windows.
impl<P: Probe> Simulation<P> {
    /// The next sample of windows comes at this time.
    pub(super) fn set_next_window_sample(&mut self, time: Option<Time>) {
        self.fast_path.next_window_sample = time;
    }

    /// Keeps the window that a sender has before an ACK at a time to come, if a sample before that is still to be taken.
    #[inline(never)]
    fn keep_window(&mut self, at: u32, hop: u32, arrives: Time, keys: TieBreak) {
        let (Some(next), Some(every)) = (self.fast_path.next_window_sample, self.probe.window_sample_interval()) else { return };
        let flow = &self.flows[at];
        let Some(&window) = flow.sender.window().filter(|_| flow.row_policy == RowPolicy::OwnRow) else { return };
        let until = self.last_sample_before(next, every, hop, arrives, keys);
        let samples_until = |time: Time| time.since(next).picos() / every.picos();
        let past = self.fast_path.past_windows.get_or_add(at, VecDeque::new);
        let is_known = past.back().is_some_and(|last| last.until >= next && samples_until(last.until) == samples_until(until));
        if until >= next && !is_known {
            past.push_back(PastWindow { until, window, alpha: flow.sender.dctcp_alpha() });
        }
    }

    /// The last time at which a sample would come before an arrival. A sample is scheduled at the sample before.
    fn last_sample_before(&self, next: Time, every: Span, hop: u32, arrives: Time, keys: TieBreak) -> Time {
        let is_at_sample = arrives.since(next).picos() % every.picos() == 0;
        let sample = (TieBreak::scheduled_now(Time::ZERO + arrives.since(Time::ZERO + every)), self.window_sample_component());
        let is_before = is_at_sample && sample < (keys, ComponentId::new(ComponentKind::Link, hop));
        if is_before { arrives } else { arrives - Span::from_picos(1) }
    }

    /// The window of a flow's sender for a sample now, and DCTCP's fraction.
    #[inline]
    pub(super) fn window_for_sample(&mut self, at: u32) -> Option<(CongestionWindow, Option<f64>)> {
        let now = self.now;
        if let Some(past) = self.fast_path.past_windows.get_mut(at as usize) {
            while past.front().is_some_and(|kept| kept.until < now) {
                past.pop_front();
            }
            if let Some(kept) = past.front() {
                return Some((kept.window, kept.alpha));
            }
        }
        let sender = &self.flows[at].sender;
        sender.window().map(|&window| (window, sender.dctcp_alpha()))
    }
}
