//! Flow queues: a FIFO with an AQM for each flow, and rounds in which they take turns (RFC 8290; McKenney 1990; Shreedhar and Varghese 1995).
//!
//! ```text
//! arrival     queue = hash(flow, salt); an idle queue joins the end of the first list with a quantum of credit
//! fq, sfq     the first queue of the list sends while its credit is above 0; then it gets a quantum and goes to the end of the last list
//! drr         a queue gets a quantum as its turn begins and sends while its next packet is no larger than its credit; then it goes to the end
//! lists       fq: new queues, then old ones; an empty new queue becomes an old one, an empty old one idle.   sfq, drr: one list
//! overflow    once the packet is stored, the longest queue loses packets: fq half of it and at most batch, from the front; sfq and drr one
//! ```
//!
//! fq follows RFC 8290, section 4, with one difference: where its letter ends a turn at a negative number of credits, here as in Linux a
//! queue whose credit is zero has also had its turn. A queue that has run out of credit gets a quantum before it is seen to be empty. sfq is
//! McKenney's with turns in bytes, as Linux has it: the longest queue is the one with the most packets, and a queue leaves the list with
//! its last packet. drr is its paper's loop; an AQM inside may drop a packet at its turn and leave a larger one to send, whose
//! excess comes off the next turn (our choice; the paper has no AQM).
//!
//! The hash is a bijection that mixes all bits (SplitMix64's), scaled to the number of queues, where RFC 8290 names Jenkins' and McKenney
//! one of his own: of a hash only its evenness shows. When sfq perturbs it, what waits moves to the queues of the new hash in the order of
//! its arrival, so no flow is reordered; two flows that meet may then stand deeper than `depth` for a while.
//!
//! A queue and its AQM are made once and kept. Each takes about 350 bytes and its AQM, so 1024 with CoDel take less than half a megabyte.

mod longest;
mod schemes;

use std::collections::VecDeque;

use ecnlab_units::rng::scramble;
use ecnlab_units::{Rate, Rng, Time};

use longest::Longest;
pub use schemes::{DRR, Drr, End, FQ, Fq, Length, Plan, Round, SFQ, Scheme, Sfq, Turn};

use super::{Counters, Deed, Discipline, Fifo, Frame, Limit, Take};
use crate::aqm::{Aqm, Backlog, Cause};

/// The list that a queue joins.
const FIRST: usize = 0;

/// A FIFO with an AQM for each flow, and rounds in which they take turns.
pub struct FlowQueues<F> {
    plan: Plan,
    limit: Limit,
    queues: Vec<FlowQueue<F>>,
    /// The queues that take turns: those of the first list before those of the second, which fq alone has.
    lists: [VecDeque<u32>; 2],
    longest: Longest,
    backlog: Backlog,
    /// What the hash is perturbed with, once a packet has come.
    salt: Option<u64>,
    /// When the first of the AQMs wants to be woken. All of one kind were made at once, so they want it together.
    aqms_due: Option<Time>,
    /// When the hash is to be perturbed.
    hash_due: Option<Time>,
    /// By band, which is the list that a packet's queue stands in as something happens to it.
    counters: Vec<Counters>,
}

struct FlowQueue<F> {
    fifo: Fifo<F>,
    /// Bytes that it may still send.
    credit: i64,
    /// The list that it stands in.
    list: Option<u8>,
    /// Whether its turn has begun, where a turn begins with a quantum.
    in_turn: bool,
    /// Whether it has left the list with its last packet, and stands there only until the link asks for the next.
    left: bool,
}

impl<F: Frame> FlowQueues<F> {
    /// Queues that share a buffer of this limit, each with an AQM of its own.
    pub fn new(plan: Plan, limit: Limit, mut aqm: impl FnMut() -> Box<dyn Aqm>) -> FlowQueues<F> {
        let depth = Limit::Packets(plan.depth);
        let queue = |_| FlowQueue { fifo: Fifo::new(aqm(), depth), credit: 0, list: None, in_turn: false, left: false };
        let queues: Vec<FlowQueue<F>> = (0..plan.flows).map(queue).collect();
        FlowQueues {
            aqms_due: earliest(&queues),
            hash_due: plan.perturb.map(|perturb| Time::ZERO + perturb),
            longest: Longest::of(queues.len()),
            salt: plan.salt,
            queues,
            plan,
            limit,
            lists: [VecDeque::new(), VecDeque::new()],
            backlog: Backlog::NONE,
            counters: vec![Counters::default(); usize::from(plan.new_first) + 1],
        }
    }

    /// The queues in which packets wait: each takes turns.
    fn waiting(&self) -> impl Iterator<Item = &Fifo<F>> {
        let taking_turns = self.lists.iter().flatten().map(|&at| &self.queues[at as usize].fifo);
        taking_turns.filter(|fifo| !fifo.is_empty())
    }

    /// The queue of a flow.
    fn queue_of(&mut self, flow: u64, rng: &mut Rng) -> usize {
        let salt = *self.salt.get_or_insert_with(|| rng.next_u64());
        ((u128::from(scramble(flow ^ salt)) * u128::from(self.plan.flows)) >> 64) as usize
    }

    /// A queue's length has changed from `before`.
    fn settle(&mut self, at: usize, before: Backlog) {
        self.backlog = self.backlog - before + self.queues[at].fifo.backlog();
        self.longest.note(at);
    }

    /// A packet waits in a queue that was empty: it takes turns from now on.
    fn begin(&mut self, at: usize) {
        let queue = &mut self.queues[at];
        if std::mem::take(&mut queue.left) {
            self.lists[FIRST].pop_front();
        } else if queue.list.is_some() {
            return;
        }
        queue.credit = if self.plan.turn == Turn::Spent { self.plan.quantum } else { 0 };
        queue.in_turn = false;
        queue.list = Some(FIRST as u8);
        self.lists[FIRST].push_back(at as u32);
    }

    /// The list in which turns go round.
    fn last_list(&self) -> usize {
        usize::from(self.plan.new_first)
    }

    /// The queue whose turn it is, and its list.
    fn next(&self) -> Option<(usize, usize)> {
        let front = |list: usize| self.lists[list].front().map(|&at| (list, at as usize));
        front(FIRST).or_else(|| front(self.last_list()))
    }

    /// Whether the queue may send, or be seen to be empty.
    fn has_turn(&mut self, at: usize) -> bool {
        let FlowQueue { fifo, credit, in_turn, .. } = &mut self.queues[at];
        let Some(head) = fifo.head().filter(|_| self.plan.turn == Turn::TooLarge) else {
            return *credit > 0 || fifo.is_empty() && !self.plan.new_first;
        };
        if !std::mem::replace(in_turn, true) {
            *credit += self.plan.quantum;
        }
        i64::from(head.size()) <= *credit
    }

    /// The first queue of a list ends its turn.
    fn end_turn(&mut self, list: usize, at: usize) {
        let last = self.last_list();
        let queue = &mut self.queues[at];
        if self.plan.turn == Turn::Spent {
            queue.credit += self.plan.quantum;
        }
        queue.in_turn = false;
        queue.list = Some(last as u8);
        self.lists[list].pop_front();
        self.lists[last].push_back(at as u32);
    }

    /// The first queue of a list has been seen to be empty.
    fn leave(&mut self, list: usize, at: usize) {
        self.lists[list].pop_front();
        (self.queues[at].list, self.queues[at].left) = (None, false);
        if list != self.last_list() {
            self.queues[at].list = Some(self.last_list() as u8);
            self.lists[self.last_list()].push_back(at as u32);
        }
    }

    /// Hands a packet to its queue. One that would fit into no empty buffer is dropped at once.
    fn admit(&mut self, at: usize, frame: F, now: Time, rng: &mut Rng, tell: &mut impl FnMut(Deed<F>)) {
        let FlowQueue { fifo, list, .. } = &mut self.queues[at];
        let alone = Backlog { packets: 1, bytes: u64::from(frame.size()) };
        let counters = &mut self.counters[usize::from(list.unwrap_or_default())];
        counters.arrived.add(frame.size());
        let mut tell = counting(counters, tell);
        if is_over(self.limit, alone) {
            return tell(Deed::Dropped(frame, Cause::Overflow));
        }
        fifo.offer(frame, now, rng, &mut tell);
    }

    /// Drops from the longest queue.
    #[inline(never)]
    fn overflow(&mut self, now: Time, tell: &mut impl FnMut(Deed<F>)) {
        let FlowQueues { queues, longest, plan, .. } = self;
        let at = longest.find(|at| match plan.length {
            Length::Packets => queues[at].fifo.len() as u64,
            Length::Bytes => queues[at].fifo.bytes(),
        });
        let before = queues[at].fifo.backlog();
        self.drop_from(at, before.packets.div_ceil(2).min(self.plan.batch), now, tell);
        self.settle(at, before);
    }

    fn drop_from(&mut self, at: usize, packets: u32, now: Time, tell: &mut impl FnMut(Deed<F>)) {
        let FlowQueue { fifo, list, .. } = &mut self.queues[at];
        let mut tell = counting(&mut self.counters[usize::from(list.unwrap_or_default())], tell);
        for _ in 0..packets {
            match self.plan.drop {
                End::Front => fifo.drop_front(now, &mut tell),
                End::Tail => fifo.drop_back(now, &mut tell),
            };
        }
    }

    /// Another hash: what waits moves to the queues where it belongs now, in the order of its arrival. The AQMs of both queues get a report of
    /// each packet that changes its queue.
    fn perturb(&mut self, now: Time, rng: &mut Rng) {
        self.salt = Some(rng.next_u64());
        let mut waiting = Vec::new();
        for &at in self.lists.iter().flatten() {
            waiting.extend(self.queues[at as usize].fifo.remove_all().into_iter().map(|stored| (at as usize, stored)));
            self.longest.note(at as usize);
        }
        waiting.sort_by_key(|(_, stored)| stored.arrived);
        for (from, stored) in waiting {
            let at = self.queue_of(stored.frame.flow(), rng);
            if at != from {
                self.queues[from].fifo.report_moved_out(&stored, now);
                self.queues[at].fifo.report_moved_in(&stored, now);
            }
            let begins = self.queues[at].fifo.is_empty();
            self.queues[at].fifo.restore(stored);
            self.longest.note(at);
            if begins {
                self.begin(at);
            }
        }
    }
}

/// Whether more waits than may.
fn is_over(limit: Limit, backlog: Backlog) -> bool {
    match limit {
        Limit::Packets(packets) => backlog.packets > packets,
        Limit::Bytes(bytes) => backlog.bytes > bytes,
    }
}

/// Counts what a queue tells before it is told on.
fn counting<F: Frame>(counters: &mut Counters, tell: &mut impl FnMut(Deed<F>)) -> impl FnMut(Deed<F>) {
    move |deed| {
        match &deed {
            Deed::Stored(_) => {}
            Deed::Marked(_, cause) => counters.marked[*cause] += 1,
            Deed::Dropped(frame, cause) => counters.dropped[*cause].add(frame.size()),
        }
        tell(deed);
    }
}

fn earliest<F: Frame>(queues: &[FlowQueue<F>]) -> Option<Time> {
    queues.iter().filter_map(|queue| queue.fifo.deadline()).min()
}

fn is_due(deadline: Option<Time>, now: Time) -> bool {
    deadline.is_some_and(|time| time <= now)
}

impl<F: Frame> Discipline<F> for FlowQueues<F> {
    fn offer(&mut self, frame: F, now: Time, rng: &mut Rng, tell: &mut impl FnMut(Deed<F>)) {
        let at = self.queue_of(frame.flow(), rng);
        let before = self.queues[at].fifo.backlog();
        self.admit(at, frame, now, rng, tell);
        self.settle(at, before);
        if before.packets == 0 && !self.queues[at].fifo.is_empty() {
            self.begin(at);
        }
        while is_over(self.limit, self.backlog) {
            self.overflow(now, tell);
        }
    }

    fn take(&mut self, now: Time, rng: &mut Rng, tell: &mut impl FnMut(Deed<F>)) -> Take<F> {
        while let Some((list, at)) = self.next() {
            if !self.has_turn(at) {
                self.end_turn(list, at);
                continue;
            }
            let FlowQueue { fifo, credit, left, .. } = &mut self.queues[at];
            let before = fifo.backlog();
            let taken = fifo.take_beside(self.backlog - before, now, rng, &mut counting(&mut self.counters[list], tell));
            let Take::Packet { frame, waited, .. } = taken else {
                self.settle(at, before);
                self.leave(list, at);
                continue;
            };
            *credit -= i64::from(frame.size());
            *left = fifo.is_empty() && !self.plan.new_first;
            self.counters[list].departed.add(frame.size());
            self.settle(at, before);
            return Take::Packet { frame, waited, band: list as u8 };
        }
        Take::Empty
    }

    fn deadline(&self) -> Option<Time> {
        [self.aqms_due, self.hash_due].into_iter().flatten().min()
    }

    fn expire(&mut self, now: Time, rng: &mut Rng) {
        if is_due(self.aqms_due, now) {
            for queue in self.queues.iter_mut().filter(|queue| is_due(queue.fifo.deadline(), now)) {
                queue.fifo.expire(now, rng);
            }
            self.aqms_due = earliest(&self.queues);
        }
        if is_due(self.hash_due, now) {
            self.perturb(now, rng);
            self.hash_due = self.plan.perturb.map(|perturb| now + perturb);
        }
    }

    fn retune(&mut self, rate: Rate) {
        self.queues.iter_mut().for_each(|queue| queue.fifo.retune(rate));
    }

    #[inline]
    fn len(&self) -> usize {
        self.backlog.packets as usize
    }

    fn bytes(&self) -> u64 {
        self.backlog.bytes
    }

    fn frames(&self, show: &mut dyn FnMut(&F)) {
        self.waiting().for_each(|fifo| fifo.frames(show));
    }

    fn bands(&self) -> u8 {
        self.last_list() as u8 + 1
    }

    fn counters(&self, band: u8) -> &Counters {
        &self.counters[usize::from(band)]
    }

    fn average(&self) -> Option<f64> {
        None
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        let lengths = || self.waiting().map(Fifo::len);
        show("flows", lengths().count() as f64);
        show("longest", lengths().max().unwrap_or_default() as f64);
    }

    fn assert_conservation(&self) {
        self.total().assert_conservation(self.len(), self.bytes());
        self.waiting().for_each(Fifo::assert_conservation);
        let sum = self.waiting().fold(Backlog::NONE, |sum, fifo| sum + fifo.backlog());
        assert_eq!(self.backlog, sum, "what waits is what waits in the flow queues");
    }
}
