//! First in, first out: a buffer with an AQM, and the groups of packets that some AQMs ask for.

use std::collections::VecDeque;

use ecnlab_units::{CongestionLevel, Ecn, Rate, Rng, Span, Time};

use super::entry::DisciplineEntry;
use super::flow_queues::QueueEnd;
use super::{DequeueOutcome, Discipline, QueueCounters, QueueEvent, QueueItem};
use crate::aqm::{
    Aqm, AqmRequirements, Arrival, Backlog, Departure, DequeueVerdict, DropTarget, EnqueueVerdict, GaugeReport, MarkTarget, PacketInfo,
    SignalCause, TimerContext,
};
use crate::limit::Limit;

/// The FIFO in the registry.
pub static ENTRY: DisciplineEntry = DisciplineEntry {
    name: "fifo",
    title: "First in, first out",
    summary: "One buffer for all packets, with an AQM.",
    source: "RFC 7567, section 2",
    ..DisciplineEntry::DEFAULTS
};

/// The level that every ECN-capable packet can carry, and beyond which there is none.
const STRONGEST_LEVEL: CongestionLevel = CongestionLevel::Congested;

/// Group of L4S packets that bypass the AQM, which has fewer groups.
const AQM_BYPASS_PACKET_GROUP: u8 = u8::MAX;

/// A FIFO buffer with an AQM.
pub struct Fifo<F> {
    aqm: Box<dyn Aqm>,
    requirements: AqmRequirements,
    limit: Limit,
    /// Sojourn time above which L4S packets are marked, if they bypass the AQM.
    l4s_step: Option<Span>,
    /// Whether a packet is checked before it leaves: by the AQM or by the step.
    checks_departures: bool,
    waiting: VecDeque<QueuedPacket<F>>,
    bytes: u64,
    /// Packets that ever left the front; the n-th waiting packet has number `head_number + n`.
    head_number: u64,
    groups: Vec<UnmarkedPackets>,
    group_backlogs: Vec<Backlog>,
    /// Whether the AQM got [`Aqm::on_queue_empty`], and nothing has been sent since.
    empty_reported: bool,
    counters: QueueCounters,
}

/// A waiting packet, its group and its time of arrival.
pub(super) struct QueuedPacket<F> {
    pub(super) packet: F,
    group: u8,
    pub(super) enqueued_at: Time,
}

/// The numbers of the packets of one group that could still be marked, in order.
#[derive(Default)]
struct UnmarkedPackets {
    numbers: VecDeque<u64>,
}

impl<F: QueueItem> Fifo<F> {
    /// An empty buffer of this limit.
    pub fn new(aqm: Box<dyn Aqm>, limit: Limit) -> Fifo<F> {
        let requirements = aqm.requirements();
        Fifo {
            aqm,
            requirements,
            limit,
            l4s_step: None,
            checks_departures: requirements.dequeue_hook,
            waiting: VecDeque::new(),
            bytes: 0,
            head_number: 0,
            groups: (0..requirements.groups).map(|_| UnmarkedPackets::default()).collect(),
            group_backlogs: vec![Backlog::EMPTY; requirements.groups],
            empty_reported: true,
            counters: QueueCounters::default(),
        }
    }

    /// The same buffer with a step for L4S packets: each that has waited longer is marked as it leaves, and the AQM is asked about none of them. They count in
    /// the backlog that it gets, and if it drops from the front it may drop one.
    ///
    /// RFC 9331, section 5.1, has the class, ECT(1) and CE, which is that of the packet's arrival. A step is the native L4S AQM of RFC 9332,
    /// appendix A, with a range of zero.
    #[must_use]
    pub fn with_l4s_step(self, l4s_step: Option<Span>) -> Fifo<F> {
        Fifo { l4s_step, checks_departures: self.requirements.dequeue_hook || l4s_step.is_some(), ..self }
    }

    /// Dequeues the next packet, where `other_backlog` waits in other queues that share the buffer.
    #[inline(always)]
    pub fn dequeue_with_shared_backlog(
        &mut self,
        other_backlog: Backlog,
        now: Time,
        rng: &mut Rng,
        on_event: &mut impl FnMut(QueueEvent<F>),
    ) -> DequeueOutcome<F> {
        if self.checks_departures {
            self.check_departure(other_backlog, now, rng, on_event);
        }
        let Some(leaving) = self.pop_front() else {
            if !std::mem::replace(&mut self.empty_reported, true) {
                self.aqm.on_queue_empty(now);
            }
            return DequeueOutcome::Empty;
        };
        self.empty_reported = false;
        self.counters.departed.count_packet(leaving.packet.size());
        DequeueOutcome::Packet { packet: leaving.packet, sojourn: now.since(leaving.enqueued_at), band: 0 }
    }

    /// Drops the packet at an end of the queue, if there is one, for lack of space elsewhere.
    pub fn drop_at_end(&mut self, end: QueueEnd, now: Time, on_event: &mut impl FnMut(QueueEvent<F>)) {
        let position = if end == QueueEnd::Front { 0 } else { self.waiting.len().saturating_sub(1) };
        let Some(QueuedPacket { packet, group, .. }) = self.remove_at(position) else { return };
        if group != AQM_BYPASS_PACKET_GROUP {
            self.aqm.on_overflow_drop(&packet.info(), now);
        }
        self.drop_packet(packet, SignalCause::Overflow, on_event);
    }

    /// Reports to the AQM that a packet goes from this buffer to another, after [`undo_all_arrivals`](Self::remove_all).
    pub(super) fn report_moved_out_to_aqm(&mut self, moved: &QueuedPacket<F>, now: Time) {
        if moved.group != AQM_BYPASS_PACKET_GROUP {
            self.aqm.on_moved_out(&moved.packet.info(), now);
        }
    }

    /// Reports to the AQM that a packet comes from another buffer, to be [restored](Self::append_moved) here.
    pub(super) fn report_moved_in_to_aqm(&mut self, moved: &QueuedPacket<F>, now: Time) {
        self.empty_reported = false;
        if moved.group != AQM_BYPASS_PACKET_GROUP {
            self.aqm.on_moved_in(&moved.packet.info(), now);
        }
    }

    /// Removes all packets, as if they had never arrived.
    pub(super) fn undo_all_arrivals(&mut self) -> Vec<QueuedPacket<F>> {
        let removed: Vec<QueuedPacket<F>> = std::iter::from_fn(|| self.pop_front()).collect();
        for queued in &removed {
            self.counters.arrived.packets -= 1;
            self.counters.arrived.bytes -= u64::from(queued.packet.size());
        }
        removed
    }

    /// Puts a packet in at the end that has been removed from this or another queue, without asking the AQM.
    pub(super) fn append_moved(&mut self, queued: QueuedPacket<F>) {
        self.counters.arrived.count_packet(queued.packet.size());
        self.append(queued, &mut |_| {});
    }

    /// Whether the departure of a packet is known when it is stored: on a link of constant rate it follows from the packets before it, since
    /// no waiting packet is marked, dropped or overtaken.
    pub fn has_known_departures(&self) -> bool {
        self.l4s_step.is_none() && self.groups.is_empty() && self.aqm.signals_arriving_packets_only()
    }

    /// The next packet to leave.
    pub fn head(&self) -> Option<&F> {
        self.waiting.front().map(|queued| &queued.packet)
    }

    /// Backlog of the buffer.
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.waiting.len() as u32, bytes: self.bytes }
    }

    fn head_sojourn(&self, now: Time) -> Span {
        self.waiting.front().map_or(Span::ZERO, |front| now.since(front.enqueued_at))
    }

    /// Applies the step, or calls the AQM, for the head packet, and for the next one as long as the verdict is a drop.
    #[inline(never)]
    fn check_departure(&mut self, other_backlog: Backlog, now: Time, rng: &mut Rng, on_event: &mut impl FnMut(QueueEvent<F>)) {
        while let Some(&QueuedPacket { ref packet, group, enqueued_at }) = self.waiting.front() {
            if group == AQM_BYPASS_PACKET_GROUP {
                if self.l4s_step.is_some_and(|threshold| now.since(enqueued_at) > threshold) {
                    self.mark_at(0, CongestionLevel::Congested, SignalCause::Early, on_event);
                }
                return;
            }
            if !self.requirements.dequeue_hook {
                return;
            }
            let packet = packet.info();
            let behind = Backlog { packets: self.waiting.len() as u32 - 1, bytes: self.bytes - u64::from(packet.size) };
            let departure =
                Departure { now, packet, sojourn: now.since(enqueued_at), backlog: behind, shared_backlog: behind + other_backlog };
            let verdict = self.aqm.on_dequeue(&departure, rng);
            match verdict {
                DequeueVerdict::Pass => return,
                DequeueVerdict::Signal { level, cause } if packet.ecn.is_capable() => return self.mark_at(0, level, cause, on_event),
                DequeueVerdict::Signal { cause, .. } | DequeueVerdict::Drop { cause } => {
                    let Some(front) = self.pop_front() else { return };
                    self.drop_packet(front.packet, cause, on_event);
                }
            }
        }
    }

    #[inline(never)]
    fn drop_packet(&mut self, packet: F, cause: SignalCause, on_event: &mut impl FnMut(QueueEvent<F>)) {
        self.counters.dropped[cause].count_packet(packet.size());
        on_event(QueueEvent::Dropped(packet, cause));
    }

    /// Stores, marks or drops by the verdict; no other place does.
    #[inline(always)]
    fn apply_verdict(&mut self, verdict: EnqueueVerdict, arriving: QueuedPacket<F>, on_event: &mut impl FnMut(QueueEvent<F>)) {
        match verdict {
            EnqueueVerdict::Pass => self.append(arriving, on_event),
            EnqueueVerdict::Signal { level, target, cause } => self.mark_or_drop(level, target, cause, arriving, on_event),
            EnqueueVerdict::Drop { target, cause } => self.drop_verdict_target(target, cause, arriving, on_event),
        }
    }

    #[inline(never)]
    fn mark_or_drop(
        &mut self,
        level: CongestionLevel,
        target: MarkTarget,
        cause: SignalCause,
        arriving: QueuedPacket<F>,
        on_event: &mut impl FnMut(QueueEvent<F>),
    ) {
        let waiting = match target {
            MarkTarget::Arriving => None,
            MarkTarget::FirstUnmarkedOf(group) => self.first_markable(level, group),
        };
        if waiting.is_none() && !arriving.packet.ecn().is_capable() {
            return self.drop_packet(arriving.packet, cause, on_event);
        }
        self.append(arriving, on_event);
        self.mark_at(waiting.unwrap_or(self.waiting.len() - 1), level, cause, on_event);
    }

    /// The first waiting packet of a group that a mark would change.
    fn first_markable(&self, level: CongestionLevel, group: u8) -> Option<usize> {
        let numbers = &self.groups.get(usize::from(group))?.numbers;
        numbers
            .iter()
            .map(|number| (number - self.head_number) as usize)
            .find(|&position| self.waiting[position].packet.can_be_marked(level))
    }

    /// Marks a waiting packet. A mark that the packet cannot carry changes nothing and is not counted.
    fn mark_at(&mut self, position: usize, level: CongestionLevel, cause: SignalCause, on_event: &mut impl FnMut(QueueEvent<F>)) {
        let QueuedPacket { packet, group, .. } = &mut self.waiting[position];
        if !packet.can_be_marked(level) {
            return;
        }
        packet.mark(level);
        if let Some(group) = self.groups.get_mut(usize::from(*group)).filter(|_| !packet.can_be_marked(STRONGEST_LEVEL)) {
            group.remove_marked(self.head_number + position as u64);
        }
        self.counters.marked[cause] += 1;
        on_event(QueueEvent::Marked(packet, cause));
    }

    #[inline(never)]
    fn drop_verdict_target(
        &mut self,
        target: DropTarget,
        cause: SignalCause,
        arriving: QueuedPacket<F>,
        on_event: &mut impl FnMut(QueueEvent<F>),
    ) {
        let position = match target {
            DropTarget::Arriving => self.waiting.len(),
            DropTarget::Front => 0,
            DropTarget::QueuedAt(position) => position as usize,
        };
        let position = if self.fits_after_drop(position, arriving.packet.size()) { position } else { self.waiting.len() };
        match self.remove_at(position) {
            Some(waiting) => {
                self.drop_packet(waiting.packet, cause, on_event);
                self.append(arriving, on_event);
            }
            None => self.drop_packet(arriving.packet, cause, on_event),
        }
    }

    /// Whether `size` bytes fit once the packet at `position` is gone. If the dropped packet is smaller than the arriving one, a buffer of bytes may stay overfull;
    /// then the arriving packet goes.
    fn fits_after_drop(&self, position: usize, size: u32) -> bool {
        match (self.limit, self.waiting.get(position)) {
            (Limit::Bytes(limit), Some(target)) => self.bytes + u64::from(size) <= limit + u64::from(target.packet.size()),
            _ => true,
        }
    }

    #[inline(always)]
    fn append(&mut self, arriving: QueuedPacket<F>, on_event: &mut impl FnMut(QueueEvent<F>)) {
        on_event(QueueEvent::Stored(&arriving.packet));
        let size = arriving.packet.size();
        self.bytes += u64::from(size);
        let number = self.head_number + self.waiting.len() as u64;
        let group = usize::from(arriving.group);
        if let Some(queue) = self.groups.get_mut(group) {
            let backlog = &mut self.group_backlogs[group];
            backlog.packets += 1;
            backlog.bytes += u64::from(size);
            if arriving.packet.can_be_marked(STRONGEST_LEVEL) {
                queue.numbers.push_back(number);
            }
        }
        self.waiting.push_back(arriving);
    }

    /// Removes the head packet.
    #[inline]
    fn pop_front(&mut self) -> Option<QueuedPacket<F>> {
        let front = self.waiting.pop_front()?;
        self.bytes -= u64::from(front.packet.size());
        if !self.groups.is_empty() {
            self.remove_from_groups(&front, self.head_number, 0);
        }
        self.head_number += 1;
        Some(front)
    }

    /// Removes a waiting packet at any position.
    fn remove_at(&mut self, position: usize) -> Option<QueuedPacket<F>> {
        if position == 0 {
            return self.pop_front();
        }
        let removed = self.waiting.remove(position)?;
        self.bytes -= u64::from(removed.packet.size());
        self.remove_from_groups(&removed, self.head_number + position as u64, position);
        Some(removed)
    }

    fn remove_from_groups(&mut self, removed: &QueuedPacket<F>, number: u64, position: usize) {
        for group in &mut self.groups {
            group.on_packet_removed(number, position);
        }
        if let Some(backlog) = self.group_backlogs.get_mut(usize::from(removed.group)) {
            backlog.packets -= 1;
            backlog.bytes -= u64::from(removed.packet.size());
        }
    }

    /// Group of an arriving packet.
    #[inline(never)]
    fn group_of(&self, packet: &PacketInfo) -> u8 {
        match packet.ecn {
            Ecn::Ect1 | Ecn::Ce if self.l4s_step.is_some() => AQM_BYPASS_PACKET_GROUP,
            _ if self.groups.is_empty() => 0,
            _ => self.aqm.packet_group_index(packet),
        }
    }

    fn would_overflow(&self, size: u32) -> bool {
        match self.limit {
            Limit::Packets(packets) => self.waiting.len() as u32 >= packets,
            Limit::Bytes(bytes) => self.bytes + u64::from(size) > bytes,
        }
    }
}

impl<F: QueueItem> Discipline<F> for Fifo<F> {
    #[inline(always)]
    fn enqueue(&mut self, packet: F, now: Time, rng: &mut Rng, on_event: &mut impl FnMut(QueueEvent<F>)) {
        self.counters.arrived.count_packet(packet.size());
        let info = packet.info();
        let group = if self.groups.is_empty() && self.l4s_step.is_none() { 0 } else { self.group_of(&info) };
        let would_overflow = self.would_overflow(info.size);
        let arrival = Arrival {
            now,
            packet: info,
            backlog: self.backlog(),
            head_sojourn: self.head_sojourn(now),
            groups: &self.group_backlogs,
            would_overflow,
        };
        let verdict = if group == AQM_BYPASS_PACKET_GROUP { EnqueueVerdict::Pass } else { self.aqm.on_enqueue(&arrival, rng) };
        let verdict = if would_overflow { to_drop_verdict_on_overflow(verdict) } else { verdict };
        self.apply_verdict(verdict, QueuedPacket { packet, group, enqueued_at: now }, on_event);
    }

    #[inline(always)]
    fn dequeue(&mut self, now: Time, rng: &mut Rng, on_event: &mut impl FnMut(QueueEvent<F>)) -> DequeueOutcome<F> {
        self.dequeue_with_shared_backlog(Backlog::EMPTY, now, rng, on_event)
    }

    fn next_timer(&self) -> Option<Time> {
        self.aqm.next_timer()
    }

    fn on_timer(&mut self, now: Time, rng: &mut Rng) {
        let expiry = TimerContext { now, backlog: self.backlog(), head_sojourn: self.head_sojourn(now) };
        self.aqm.on_timer(&expiry, rng);
    }

    fn set_link_rate(&mut self, rate: Rate) {
        self.aqm.set_link_rate(rate);
    }

    #[inline]
    fn len(&self) -> usize {
        self.waiting.len()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn for_each_packet(&self, visit: &mut dyn FnMut(&F)) {
        self.waiting.iter().for_each(|queued| visit(&queued.packet));
    }

    fn band_counters(&self, _band: u8) -> &QueueCounters {
        &self.counters
    }

    #[inline]
    fn average_queue_length(&self) -> Option<f64> {
        self.aqm.average_queue_length()
    }

    fn report_gauges(&self, report: GaugeReport) {
        self.aqm.report_gauges(report);
    }

    fn assert_conservation(&self) {
        self.counters.assert_conservation(self.waiting.len(), self.bytes);
        assert_eq!(self.bytes, self.waiting.iter().map(|queued| u64::from(queued.packet.size())).sum::<u64>());
    }
}

impl UnmarkedPackets {
    /// Takes packet `number` off the list. From the front and from the end this is one step; from the middle the later packets move up by one.
    fn on_packet_removed(&mut self, number: u64, position: usize) {
        if position == 0 {
            if self.numbers.front() == Some(&number) {
                self.numbers.pop_front();
            }
            return;
        }
        if self.numbers.back() == Some(&number) {
            self.numbers.pop_back();
        } else if self.numbers.back().is_some_and(|&last| last > number) {
            self.numbers.retain(|&n| n != number);
            self.numbers.iter_mut().filter(|n| **n > number).for_each(|n| *n -= 1);
        }
    }

    /// Takes packet `number` off the list, wherever it waits: it has been marked.
    fn remove_marked(&mut self, number: u64) {
        if let Ok(at) = self.numbers.binary_search(&number) {
            self.numbers.remove(at);
        }
    }
}

/// Overflow is the discipline's decision: unless the AQM's verdict names the packet to drop, the arriving one is dropped.
fn to_drop_verdict_on_overflow(verdict: EnqueueVerdict) -> EnqueueVerdict {
    match verdict {
        EnqueueVerdict::Drop { .. } => verdict,
        EnqueueVerdict::Pass | EnqueueVerdict::Signal { .. } => EnqueueVerdict::drop_arriving(SignalCause::Overflow),
    }
}
