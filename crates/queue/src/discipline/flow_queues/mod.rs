//! Flow queues: a FIFO with an AQM for each flow, and rounds in which they take turns (RFC 8290; McKenney 1990; Shreedhar and Varghese
//! 1995).
//!
//! ```text
//! arrival     queue = hash(flow, salt); an idle queue joins the end of the first list with a quantum of credit
//! fq, sfq     the first queue of the list sends while its credit is above 0; then it gets a quantum and goes to the end of the last list
//! drr         a queue gets a quantum as its turn begins and sends while its next packet is no larger than its credit; then it goes to the end
//! lists       fq: new queues, then old ones; an empty new queue becomes an old one, an empty old one idle.   sfq, drr: one list
//! overflow    once the packet is stored, the longest queue loses packets: fq half of it and at most batch, from the front; sfq and drr one
//! ```
//!
//! fq follows RFC 8290, section 4, with one difference: the RFC ends a turn at negative credits, but here as in Linux a credit of zero ends
//! it too. A queue that has run out of credit gets a quantum before it is seen to be empty. sfq is McKenney's with turns in bytes, as Linux
//! has it: the longest queue is the one with the most packets, and a queue leaves the list with its last packet. drr is its paper's loop;
//! an AQM inside may drop a packet at its turn and leave a larger one to send, whose excess comes off the next turn (our choice; the paper
//! has no AQM).
//!
//! The hash is a bijection that mixes all bits (SplitMix64's), scaled to the number of queues, instead of Jenkins' hash of RFC 8290 or
//! McKenney's: only the evenness of a hash matters. When sfq changes the salt, waiting packets move to the queues of the new hash in order
//! of arrival, so no flow is reordered. Two flows that collide may then exceed `depth` for a while.
//!
//! With `l4s_step` each queue has a step for L4S packets beside its AQM ([`Fifo::with_l4s_step`]).
//!
//! A queue and its AQM are made once and kept. Each takes about 350 bytes and its AQM, so 1024 with CoDel take less than half a megabyte.

mod fattest;
mod kinds;

use std::collections::VecDeque;

use ecnlab_units::rng::mix_bits;
use ecnlab_units::{Rate, Rng, Time};

use fattest::FattestFlowFinder;
pub use kinds::{
    DRR, DrrParams, FQ, FlowQueueConfig, FlowQueueKind, FqParams, QueueEnd, QueueLengthUnit, RoundRobinParams, SFQ, SfqParams, TurnEndRule,
};

use super::{DequeueOutcome, Discipline, Fifo, QueueCounters, QueueEvent, QueueItem};
use crate::aqm::{Aqm, Backlog, GaugeReport, SignalCause};
use crate::limit::Limit;

/// List that a queue joins when its flow begins (fq_codel's `new_flows`).
const NEW_FLOWS_LIST: usize = 0;

/// A FIFO with an AQM for each flow, and rounds in which they take turns.
pub struct FlowQueues<F> {
    config: FlowQueueConfig,
    limit: Limit,
    queues: Vec<FlowQueue<F>>,
    /// The queues that take turns: those of the first list before those of the second, which fq alone has.
    active_lists: [VecDeque<u32>; 2],
    fattest: FattestFlowFinder,
    backlog: Backlog,
    /// Salt of the hash; drawn at the first packet.
    salt: Option<u64>,
    /// When the first of the AQMs wants to be woken. All of one kind were made at once, so they want it together.
    aqms_due: Option<Time>,
    /// When the hash is to be perturbed.
    hash_due: Option<Time>,
    /// By band: the list of a packet's queue at the time of the event.
    counters: Vec<QueueCounters>,
}

struct FlowQueue<F> {
    fifo: Fifo<F>,
    /// Bytes that it may still send.
    credit: i64,
    /// The list that contains it.
    list: Option<u8>,
    /// Whether its turn has begun, where a turn begins with a quantum.
    in_turn: bool,
    /// Whether it has left the list with its last packet, and is in it only until the next dequeue.
    left_list: bool,
}

impl<F: QueueItem> FlowQueues<F> {
    /// Queues that share a buffer of this limit, each with a separate AQM.
    pub fn new(config: FlowQueueConfig, limit: Limit, mut aqm: impl FnMut() -> Box<dyn Aqm>) -> FlowQueues<F> {
        let depth = Limit::Packets(config.depth);
        let mut fifo = || Fifo::new(aqm(), depth).with_l4s_step(config.l4s_step);
        let queue = |_| FlowQueue { fifo: fifo(), credit: 0, list: None, in_turn: false, left_list: false };
        let queues: Vec<FlowQueue<F>> = (0..config.flows).map(queue).collect();
        FlowQueues {
            aqms_due: earliest_timer(&queues),
            hash_due: config.perturb.map(|perturb| Time::ZERO + perturb),
            fattest: FattestFlowFinder::new(queues.len()),
            salt: config.salt,
            queues,
            config,
            limit,
            active_lists: [VecDeque::new(), VecDeque::new()],
            backlog: Backlog::EMPTY,
            counters: vec![QueueCounters::default(); usize::from(config.new_first) + 1],
        }
    }

    /// The queues in which packets wait: each takes turns.
    fn backlogged_queues(&self) -> impl Iterator<Item = &Fifo<F>> {
        let taking_turns = self.active_lists.iter().flatten().map(|&at| &self.queues[at as usize].fifo);
        taking_turns.filter(|fifo| !fifo.is_empty())
    }

    /// The queue of a flow.
    fn queue_of_flow(&mut self, flow: u64, rng: &mut Rng) -> usize {
        let salt = *self.salt.get_or_insert_with(|| rng.next_u64());
        ((u128::from(mix_bits(flow ^ salt)) * u128::from(self.config.flows)) >> 64) as usize
    }

    /// A queue's length has changed from `before`.
    fn update_backlog(&mut self, at: usize, before: Backlog) {
        self.backlog = self.backlog - before + self.queues[at].fifo.backlog();
        self.fattest.mark_changed(at);
    }

    /// A packet waits in a queue that was empty: it takes turns from now on.
    fn activate(&mut self, at: usize) {
        let queue = &mut self.queues[at];
        if std::mem::take(&mut queue.left_list) {
            self.active_lists[NEW_FLOWS_LIST].pop_front();
        } else if queue.list.is_some() {
            return;
        }
        queue.credit = if self.config.deficit_rule == TurnEndRule::CreditSpent { self.config.quantum } else { 0 };
        queue.in_turn = false;
        queue.list = Some(NEW_FLOWS_LIST as u8);
        self.active_lists[NEW_FLOWS_LIST].push_back(at as u32);
    }

    /// The list in which turns go round.
    fn round_robin_list_index(&self) -> usize {
        usize::from(self.config.new_first)
    }

    /// The queue whose turn it is, and its list.
    fn next_queue(&self) -> Option<(usize, usize)> {
        let front = |list: usize| self.active_lists[list].front().map(|&at| (list, at as usize));
        front(NEW_FLOWS_LIST).or_else(|| front(self.round_robin_list_index()))
    }

    /// Whether the queue may send, or be seen to be empty.
    fn may_send(&mut self, at: usize) -> bool {
        let FlowQueue { fifo, credit, in_turn, .. } = &mut self.queues[at];
        let Some(head) = fifo.head().filter(|_| self.config.deficit_rule == TurnEndRule::PacketExceedsCredit) else {
            return *credit > 0 || fifo.is_empty() && !self.config.new_first;
        };
        if !std::mem::replace(in_turn, true) {
            *credit += self.config.quantum;
        }
        i64::from(head.size()) <= *credit
    }

    /// The first queue of a list ends its turn.
    fn end_turn(&mut self, list: usize, at: usize) {
        let last = self.round_robin_list_index();
        let queue = &mut self.queues[at];
        if self.config.deficit_rule == TurnEndRule::CreditSpent {
            queue.credit += self.config.quantum;
        }
        queue.in_turn = false;
        queue.list = Some(last as u8);
        self.active_lists[list].pop_front();
        self.active_lists[last].push_back(at as u32);
    }

    /// The first queue of a list has been seen to be empty.
    fn deactivate(&mut self, list: usize, at: usize) {
        self.active_lists[list].pop_front();
        (self.queues[at].list, self.queues[at].left_list) = (None, false);
        if list != self.round_robin_list_index() {
            self.queues[at].list = Some(self.round_robin_list_index() as u8);
            self.active_lists[self.round_robin_list_index()].push_back(at as u32);
        }
    }

    /// Enqueues a packet into its flow's queue. One that would not fit into an empty buffer is dropped at once.
    fn enqueue_into(&mut self, at: usize, packet: F, now: Time, rng: &mut Rng, on_event: &mut impl FnMut(QueueEvent<F>)) {
        let FlowQueue { fifo, list, .. } = &mut self.queues[at];
        let alone = Backlog { packets: 1, bytes: u64::from(packet.size()) };
        let counters = &mut self.counters[usize::from(list.unwrap_or_default())];
        counters.arrived.count_packet(packet.size());
        let mut on_event = count_events(counters, on_event);
        if exceeds_limit(self.limit, alone) {
            return on_event(QueueEvent::Dropped(packet, SignalCause::Overflow));
        }
        fifo.enqueue(packet, now, rng, &mut on_event);
    }

    /// Drops from the longest queue.
    #[inline(never)]
    fn drop_from_fattest(&mut self, now: Time, on_event: &mut impl FnMut(QueueEvent<F>)) {
        let FlowQueues { queues, fattest, config, .. } = self;
        let at = fattest.find(|at| match config.length {
            QueueLengthUnit::Packets => queues[at].fifo.len() as u64,
            QueueLengthUnit::Bytes => queues[at].fifo.bytes(),
        });
        let before = queues[at].fifo.backlog();
        self.drop_packets_from_queue(at, before.packets.div_ceil(2).min(self.config.batch), now, on_event);
        self.update_backlog(at, before);
    }

    fn drop_packets_from_queue(&mut self, at: usize, packets: u32, now: Time, on_event: &mut impl FnMut(QueueEvent<F>)) {
        let FlowQueue { fifo, list, .. } = &mut self.queues[at];
        let mut on_event = count_events(&mut self.counters[usize::from(list.unwrap_or_default())], on_event);
        for _ in 0..packets {
            fifo.drop_at_end(self.config.drop, now, &mut on_event);
        }
    }

    /// Another hash: what waits moves to the queues where it belongs now, in the order of its arrival. The AQMs of both queues get a report of
    /// each packet that changes its queue.
    fn rehash_waiting_packets(&mut self, now: Time, rng: &mut Rng) {
        self.salt = Some(rng.next_u64());
        let mut waiting = Vec::new();
        for &at in self.active_lists.iter().flatten() {
            waiting.extend(self.queues[at as usize].fifo.undo_all_arrivals().into_iter().map(|queued| (at as usize, queued)));
            self.fattest.mark_changed(at as usize);
        }
        waiting.sort_by_key(|(_, queued)| queued.enqueued_at);
        for (from, queued) in waiting {
            let at = self.queue_of_flow(queued.packet.flow_key(), rng);
            if at != from {
                self.queues[from].fifo.report_moved_out_to_aqm(&queued, now);
                self.queues[at].fifo.report_moved_in_to_aqm(&queued, now);
            }
            let was_empty = self.queues[at].fifo.is_empty();
            self.queues[at].fifo.append_moved(queued);
            self.fattest.mark_changed(at);
            if was_empty {
                self.activate(at);
            }
        }
    }
}

/// Whether more waits than may.
fn exceeds_limit(limit: Limit, backlog: Backlog) -> bool {
    match limit {
        Limit::Packets(packets) => backlog.packets > packets,
        Limit::Bytes(bytes) => backlog.bytes > bytes,
    }
}

/// Counts the events of a queue and passes them on.
fn count_events<F: QueueItem>(counters: &mut QueueCounters, on_event: &mut impl FnMut(QueueEvent<F>)) -> impl FnMut(QueueEvent<F>) {
    move |event| {
        match &event {
            QueueEvent::Stored(_) => {}
            QueueEvent::Marked(_, cause) => counters.marked[*cause] += 1,
            QueueEvent::Dropped(packet, cause) => counters.dropped[*cause].count_packet(packet.size()),
        }
        on_event(event);
    }
}

fn earliest_timer<F: QueueItem>(queues: &[FlowQueue<F>]) -> Option<Time> {
    queues.iter().filter_map(|queue| queue.fifo.next_timer()).min()
}

fn is_due(deadline: Option<Time>, now: Time) -> bool {
    deadline.is_some_and(|time| time <= now)
}

impl<F: QueueItem> Discipline<F> for FlowQueues<F> {
    fn enqueue(&mut self, packet: F, now: Time, rng: &mut Rng, on_event: &mut impl FnMut(QueueEvent<F>)) {
        let at = self.queue_of_flow(packet.flow_key(), rng);
        let before = self.queues[at].fifo.backlog();
        self.enqueue_into(at, packet, now, rng, on_event);
        self.update_backlog(at, before);
        if before.packets == 0 && !self.queues[at].fifo.is_empty() {
            self.activate(at);
        }
        while exceeds_limit(self.limit, self.backlog) {
            self.drop_from_fattest(now, on_event);
        }
    }

    fn dequeue(&mut self, now: Time, rng: &mut Rng, on_event: &mut impl FnMut(QueueEvent<F>)) -> DequeueOutcome<F> {
        while let Some((list, at)) = self.next_queue() {
            if !self.may_send(at) {
                self.end_turn(list, at);
                continue;
            }
            let FlowQueue { fifo, credit, left_list, .. } = &mut self.queues[at];
            let before = fifo.backlog();
            let outcome =
                fifo.dequeue_with_shared_backlog(self.backlog - before, now, rng, &mut count_events(&mut self.counters[list], on_event));
            let DequeueOutcome::Packet { packet, sojourn, .. } = outcome else {
                self.update_backlog(at, before);
                self.deactivate(list, at);
                continue;
            };
            *credit -= i64::from(packet.size());
            *left_list = fifo.is_empty() && !self.config.new_first;
            self.counters[list].departed.count_packet(packet.size());
            self.update_backlog(at, before);
            return DequeueOutcome::Packet { packet, sojourn, band: list as u8 };
        }
        DequeueOutcome::Empty
    }

    fn next_timer(&self) -> Option<Time> {
        [self.aqms_due, self.hash_due].into_iter().flatten().min()
    }

    fn on_timer(&mut self, now: Time, rng: &mut Rng) {
        if is_due(self.aqms_due, now) {
            for queue in self.queues.iter_mut().filter(|queue| is_due(queue.fifo.next_timer(), now)) {
                queue.fifo.on_timer(now, rng);
            }
            self.aqms_due = earliest_timer(&self.queues);
        }
        if is_due(self.hash_due, now) {
            self.rehash_waiting_packets(now, rng);
            self.hash_due = self.config.perturb.map(|perturb| now + perturb);
        }
    }

    fn set_link_rate(&mut self, rate: Rate) {
        self.queues.iter_mut().for_each(|queue| queue.fifo.set_link_rate(rate));
    }

    #[inline]
    fn len(&self) -> usize {
        self.backlog.packets as usize
    }

    fn bytes(&self) -> u64 {
        self.backlog.bytes
    }

    fn for_each_packet(&self, visit: &mut dyn FnMut(&F)) {
        self.backlogged_queues().for_each(|fifo| fifo.for_each_packet(visit));
    }

    fn band_count(&self) -> u8 {
        self.round_robin_list_index() as u8 + 1
    }

    fn band_len(&self, band: u8) -> usize {
        self.active_lists[usize::from(band)].iter().map(|&at| self.queues[at as usize].fifo.len()).sum()
    }

    fn band_counters(&self, band: u8) -> &QueueCounters {
        &self.counters[usize::from(band)]
    }

    fn report_gauges(&self, report: GaugeReport) {
        let lengths = || self.backlogged_queues().map(Fifo::len);
        report("flows", lengths().count() as f64);
        report("longest", lengths().max().unwrap_or_default() as f64);
    }

    fn assert_conservation(&self) {
        self.total_counters().assert_conservation(self.len(), self.bytes());
        self.backlogged_queues().for_each(Fifo::assert_conservation);
        let sum = self.backlogged_queues().fold(Backlog::EMPTY, |sum, fifo| sum + fifo.backlog());
        assert_eq!(self.backlog, sum, "what waits is what waits in the flow queues");
    }
}
