//! Flow queues compared with plain transcriptions of RFC 8290, section 4, and of deficit round robin's loop.

use std::collections::{BTreeMap, VecDeque};

use ecnlab_queue::discipline::flow_queues::{DRR, FQ, SFQ};
use ecnlab_queue::registry::AQMS;
use ecnlab_queue::{
    Aqm, AqmConfig, AqmEntry, AqmRequirements, Arrival, Backlog, Child, Departure, DequeueOutcome, DequeueVerdict, Discipline,
    DisciplineEntry, EnqueueVerdict, Limit, LinkParams, PacketInfo, Queue, QueueConfig, QueueEvent, Registry, SignalCause, TimerContext,
};
use ecnlab_testkit::Packet;
use ecnlab_units::rng::mix_bits;
use ecnlab_units::{CongestionLevel, Ecn, Rate, Rng, Span, Time, Values};
use proptest::prelude::*;
use proptest::sample::select;

const QUEUES: u64 = 8;
const SALT: u64 = 1;

/// The queue of a flow, as the module's documentation says.
fn queue_of_flow(flow: u64) -> usize {
    ((u128::from(mix_bits(flow ^ SALT)) * u128::from(QUEUES)) >> 64) as usize
}

/// A discipline with this AQM inside, and eight queues with a fixed salt unless the settings say otherwise.
fn build(discipline: &'static DisciplineEntry, settings: &[(&str, &str)], aqm: &'static AqmEntry, limit: Limit) -> QueueUnderTest {
    build_with(discipline, settings, aqm, &[], limit)
}

/// The same with settings of the AQM.
fn build_with(
    discipline: &'static DisciplineEntry,
    settings: &[(&str, &str)],
    aqm: &'static AqmEntry,
    aqm_settings: &[(&str, &str)],
    limit: Limit,
) -> QueueUnderTest {
    let mut values = Values::defaults(discipline.parameters);
    for (name, text) in [("flows", "8"), ("salt", "1")].iter().chain(settings) {
        values.set_from_text(name, text).unwrap();
    }
    let mut aqm = AqmConfig { entry: aqm, values: Values::defaults(aqm.parameters) };
    for (name, text) in aqm_settings {
        aqm.values.set_from_text(name, text).unwrap();
    }
    let composition = QueueConfig { discipline, values, child: Child::Aqm { aqm, limit } };
    QueueUnderTest { queue: composition.build(Rate::from_bps(10_000_000).unwrap()), rng: Rng::for_role(1, "flow queues"), numbers: 0 }
}

fn aqm(name: &str) -> &'static AqmEntry {
    Registry::builtin().aqm(name).unwrap()
}

fn build_plain(discipline: &'static DisciplineEntry, settings: &[(&str, &str)], limit: u32) -> QueueUnderTest {
    build(discipline, settings, aqm("droptail"), Limit::Packets(limit))
}

/// A queue, and the packets that it drops.
struct QueueUnderTest {
    queue: Queue<Packet>,
    rng: Rng,
    numbers: u64,
}

impl QueueUnderTest {
    /// Offers a packet; what is dropped, in order.
    fn enqueue(&mut self, packet: Packet, now: Time) -> Vec<u64> {
        let mut dropped = Vec::new();
        self.queue.enqueue(packet, now, &mut self.rng, &mut |event| {
            if let QueueEvent::Dropped(packet, _) = event {
                dropped.push(packet.number);
            }
        });
        dropped
    }

    /// Offers the next packet of a flow.
    fn enqueue_one(&mut self, flow: u64, size: u32) -> Vec<u64> {
        self.numbers += 1;
        self.enqueue(Packet { number: self.numbers, flow, size, ecn: Ecn::NotEct, ..Packet::ECT0_1000_BYTES }, Time::ZERO)
    }

    /// The next packet to leave, and its band.
    fn dequeue(&mut self, now: Time) -> Option<(Packet, u8)> {
        match self.queue.dequeue(now, &mut self.rng, &mut |_| {}) {
            DequeueOutcome::Packet { packet, band, .. } => Some((packet, band)),
            DequeueOutcome::RetryAt(_) | DequeueOutcome::Empty => None,
        }
    }

    /// The flow and the band of the next packet to leave.
    fn next(&mut self) -> Option<(u64, u8)> {
        self.dequeue(Time::ZERO).map(|(packet, band)| (packet.flow, band))
    }

    /// The flows of the next packets to leave.
    fn flows(&mut self, packets: usize) -> Vec<u64> {
        (0..packets).map_while(|_| self.next()).map(|(flow, _)| flow).collect()
    }
}

/// State of the plain transcriptions: queues of packets, and their credits.
struct ReferenceQueues {
    queues: Vec<VecDeque<Packet>>,
    credits: Vec<i64>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    quantum: i64,
    limit: usize,
    /// The queue whose turn has ended; it moves to the end of the list when the next turn begins.
    ended: Option<usize>,
}

impl ReferenceQueues {
    fn new(quantum: i64, limit: usize) -> ReferenceQueues {
        let n = QUEUES as usize;
        let (new, old) = (VecDeque::new(), VecDeque::new());
        ReferenceQueues { queues: vec![VecDeque::new(); n], credits: vec![0; n], new, old, quantum, limit, ended: None }
    }

    fn packet_count(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    /// The first queue of those that are the longest by this measure.
    fn longest_queue(&self, length: impl Fn(&VecDeque<Packet>) -> u64) -> usize {
        let top = self.queues.iter().map(&length).max().unwrap();
        self.queues.iter().position(|queue| length(queue) == top).unwrap()
    }

    /// RFC 8290, section 4.1.
    fn enqueue_fq(&mut self, packet: Packet) -> Vec<u64> {
        let at = queue_of_flow(packet.flow);
        self.queues[at].push_back(packet);
        if !self.new.contains(&at) && !self.old.contains(&at) {
            self.new.push_back(at);
            self.credits[at] = self.quantum;
        }
        if self.packet_count() <= self.limit {
            return Vec::new();
        }
        let longest_queue = self.longest_queue(bytes);
        let half = self.queues[longest_queue].len().div_ceil(2).min(64);
        self.queues[longest_queue].drain(..half).map(|packet| packet.number).collect()
    }

    /// RFC 8290, section 4.2, without an AQM.
    fn dequeue_fq(&mut self) -> Option<(Packet, u8)> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let at = list.pop_front()?;
            if self.credits[at] <= 0 {
                self.credits[at] += self.quantum;
                self.old.push_back(at);
                continue;
            }
            let Some(packet) = self.queues[at].pop_front() else {
                if from_new {
                    self.old.push_back(at);
                }
                continue;
            };
            self.credits[at] -= i64::from(packet.size);
            if from_new {
                self.new.push_front(at)
            } else {
                self.old.push_front(at)
            }
            return Some((packet, u8::from(!from_new)));
        }
    }

    /// Shreedhar and Varghese 1995, and McKenney's queues in the same frame: overflow takes the last of the longest queue.
    fn enqueue_round_robin(&mut self, packet: Packet, first_credit: i64, length: impl Fn(&VecDeque<Packet>) -> u64) -> Vec<u64> {
        let at = queue_of_flow(packet.flow);
        if !self.old.contains(&at) && self.ended != Some(at) {
            self.old.push_back(at);
            self.credits[at] = first_credit;
        }
        self.queues[at].push_back(packet);
        if self.packet_count() <= self.limit {
            return Vec::new();
        }
        let longest = self.longest_queue(length);
        vec![self.queues[longest].pop_back().unwrap().number]
    }

    /// McKenney's queues with turns in bytes: a turn ends when the credit is spent, and a queue leaves with its last packet.
    fn dequeue_sfq(&mut self) -> Option<(Packet, u8)> {
        loop {
            let at = self.old.pop_front()?;
            if self.queues[at].is_empty() {
                continue;
            }
            if self.credits[at] <= 0 {
                self.credits[at] += self.quantum;
                self.old.push_back(at);
                continue;
            }
            let packet = self.queues[at].pop_front().unwrap();
            self.credits[at] -= i64::from(packet.size);
            if !self.queues[at].is_empty() {
                self.old.push_front(at);
            }
            return Some((packet, 0));
        }
    }

    /// The endless loop inverted: returns all packets that a turn sends, in order.
    fn drr_round(&mut self) -> Vec<Packet> {
        let mut sent = Vec::new();
        self.old.extend(self.ended.take());
        let Some(at) = self.old.pop_front() else { return sent };
        self.credits[at] += self.quantum;
        while let Some(&packet) = self.queues[at].front() {
            if i64::from(packet.size) > self.credits[at] {
                break;
            }
            self.credits[at] -= i64::from(packet.size);
            self.queues[at].pop_front();
            sent.push(packet);
        }
        if self.queues[at].is_empty() {
            self.credits[at] = 0;
        } else {
            self.ended = Some(at);
        }
        sent
    }
}

fn bytes(queue: &VecDeque<Packet>) -> u64 {
    queue.iter().map(|packet| u64::from(packet.size)).sum()
}

fn packets(queue: &VecDeque<Packet>) -> u64 {
    queue.len() as u64
}

/// A packet of this flow and size arrives, or one leaves.
fn operations() -> impl Strategy<Value = Vec<Option<(u64, u32)>>> {
    let size = prop_oneof![Just(40u32), Just(1500), 64u32..3000];
    let flow = prop_oneof![3 => Just(0u64), 2 => 0u64..12];
    prop::collection::vec(prop_oneof![5 => (flow, size).prop_map(Some), 4 => Just(None)], 1..400)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fq_sends_and_drops_what_rfc_8290_says(operations in operations(), quantum in select(vec![64i64, 300, 1514, 6000]), limit in 1u32..200) {
        let mut ours = build_plain(&FQ, &[("quantum", &format!("{quantum} B"))], limit);
        let mut theirs = ReferenceQueues::new(quantum, limit as usize);
        for (number, operation) in (0..).zip(operations) {
            match operation {
                Some((flow, size)) => {
                    let packet = Packet { number, flow, size, ecn: Ecn::NotEct, ..Packet::ECT0_1000_BYTES };
                    prop_assert_eq!(theirs.enqueue_fq(packet), ours.enqueue(packet, Time::ZERO));
                }
                None => prop_assert_eq!(theirs.dequeue_fq(), ours.dequeue(Time::ZERO)),
            }
            ours.queue.assert_conservation();
        }
    }

    #[test]
    fn sfq_gives_each_queue_its_turn_and_takes_from_the_one_with_the_most_packets(
        operations in operations(), quantum in select(vec![64i64, 300, 1514, 6000]), limit in 1u32..100,
    ) {
        let mut ours = build_plain(&SFQ, &[("quantum", &format!("{quantum} B"))], limit);
        let mut theirs = ReferenceQueues::new(quantum, limit as usize);
        for (number, operation) in (0..).zip(operations) {
            match operation {
                Some((flow, size)) => {
                    let packet = Packet { number, flow, size, ecn: Ecn::NotEct, ..Packet::ECT0_1000_BYTES };
                    prop_assert_eq!(theirs.enqueue_round_robin(packet, quantum, packets), ours.enqueue(packet, Time::ZERO));
                }
                None => prop_assert_eq!(theirs.dequeue_sfq(), ours.dequeue(Time::ZERO)),
            }
        }
    }

    #[test]
    fn drr_sends_the_turns_of_its_papers_loop(operations in operations(), quantum in select(vec![64i64, 300, 1514, 6000])) {
        let mut ours = build_plain(&DRR, &[("quantum", &format!("{quantum} B"))], 1_000);
        let mut theirs = ReferenceQueues::new(quantum, 1_000);
        let mut turn = VecDeque::new();
        for (number, operation) in (0..).zip(operations) {
            // The loop sends a turn at one blow: packets arrive between turns.
            if let (Some((flow, size)), true) = (operation, turn.is_empty()) {
                let packet = Packet { number, flow, size, ecn: Ecn::NotEct, ..Packet::ECT0_1000_BYTES };
                prop_assert_eq!(theirs.enqueue_round_robin(packet, 0, bytes), ours.enqueue(packet, Time::ZERO));
                continue;
            }
            while turn.is_empty() && theirs.packet_count() > 0 {
                turn.extend(theirs.drr_round());
            }
            prop_assert_eq!(turn.pop_front(), ours.dequeue(Time::ZERO).map(|(packet, _)| packet));
        }
    }

    #[test]
    fn with_any_aqm_inside_packets_bytes_and_the_order_of_each_flow_are_kept(
        operations in operations(), at in 0..AQMS.len(), scheme in 0usize..3, limit in prop_oneof![
            (1u32..60).prop_map(Limit::Packets), (100u64..60_000).prop_map(Limit::Bytes),
        ], l4s_step in select(vec!["off", "0 s", "3 ms"]),
    ) {
        let scheme = [&FQ, &SFQ, &DRR][scheme];
        let mut queue = build(scheme, &[("salt", "auto"), ("l4s_step", l4s_step)], AQMS[at], limit);
        let mut last = BTreeMap::new();
        for (number, operation) in (0..).zip(operations) {
            let now = Time::ZERO + Span::from_micros(800) * number;
            match operation {
                Some((flow, size)) => {
                    let ecn = if number % 7 == 6 { Ecn::Ce } else { [Ecn::Ect0, Ecn::Ect1][(flow % 2) as usize] };
                    queue.enqueue(Packet { number, flow, size, ecn, ..Packet::ECT0_1000_BYTES }, now);
                }
                None => {
                    if let Some((packet, _)) = queue.dequeue(now) {
                        let before = last.insert(packet.flow, packet.number);
                        prop_assert!(before.is_none_or(|before| before < packet.number));
                    }
                }
            }
            queue.queue.assert_conservation();
            match limit {
                Limit::Packets(limit) => prop_assert!(queue.queue.len() <= limit as usize),
                Limit::Bytes(limit) => prop_assert!(queue.queue.bytes() <= limit),
            }
        }
    }
}

/// Flows that fall into queues of their own.
fn flows_in_distinct_queues<const N: usize>() -> [u64; N] {
    let mut flows =
        (0..).scan([false; QUEUES as usize], |taken, flow| Some((flow, !std::mem::replace(&mut taken[queue_of_flow(flow)], true))));
    std::array::from_fn(|_| flows.find(|&(_, free)| free).unwrap().0)
}

#[test]
fn a_flow_that_has_just_begun_comes_before_those_that_have_sent_a_quantum() {
    let [bulk, other, sparse] = flows_in_distinct_queues();
    let mut queue = build_plain(&FQ, &[], 1_000);
    for _ in 0..10 {
        queue.enqueue_one(bulk, 1514);
        queue.enqueue_one(other, 1514);
    }
    assert_eq!(vec![bulk, other, bulk], queue.flows(3));
    queue.enqueue_one(sparse, 100);
    assert_eq!(Some((sparse, 0)), queue.next());
    assert_eq!(Some((other, 1)), queue.next());
    queue.enqueue_one(sparse, 100);
    assert_eq!(Some((sparse, 1)), queue.next(), "its queue is an old one until a round has found it empty");
    assert_eq!(vec![bulk, other, bulk], queue.flows(3));
    queue.enqueue_one(sparse, 100);
    assert_eq!(Some((sparse, 0)), queue.next());
}

#[test]
fn no_packets_that_come_just_in_time_starve_the_old_queues() {
    let [bulk, pulsing] = flows_in_distinct_queues();
    let mut queue = build_plain(&FQ, &[], 1_000);
    for _ in 0..100 {
        queue.enqueue_one(bulk, 1514);
    }
    queue.flows(1);
    // One packet each time its queue has just been emptied: RFC 8290, section 4.2.
    let served: Vec<u64> = (0..100)
        .flat_map(|_| {
            queue.enqueue_one(pulsing, 1514);
            queue.flows(1)
        })
        .collect();
    assert_eq!(50, served.iter().filter(|&&flow| flow == bulk).count());
}

#[test]
fn an_overflow_takes_half_of_the_queue_with_the_most_bytes_and_64_packets_at_most() {
    let [fat, long] = flows_in_distinct_queues();
    let mut queue = build_plain(&FQ, &[], 300);
    (0..100).for_each(|_| assert!(queue.enqueue_one(fat, 1500).is_empty()));
    (0..200).for_each(|_| assert!(queue.enqueue_one(long, 100).is_empty()));
    assert_eq!((1..=50).collect::<Vec<u64>>(), queue.enqueue_one(long, 100), "half, from the front of the queue with the most bytes");
    let mut queue = build_plain(&FQ, &[], 300);
    (0..300).for_each(|_| assert!(queue.enqueue_one(fat, 1500).is_empty()));
    assert_eq!((1..=64).collect::<Vec<u64>>(), queue.enqueue_one(fat, 1500));
    let mut queue = build_plain(&FQ, &[("batch", "1")], 300);
    (0..300).for_each(|_| assert!(queue.enqueue_one(fat, 1500).is_empty()));
    assert_eq!(vec![1], queue.enqueue_one(long, 40));
}

#[test]
fn sfq_and_drr_take_one_packet_from_the_end_or_the_front_of_the_longest_queue() {
    let [fat, long] = flows_in_distinct_queues();
    for (scheme, longest) in [(&SFQ, long), (&DRR, fat)] {
        for (end, place) in [("tail", 1), ("front", 0)] {
            let mut queue = build_plain(scheme, &[("drop", end)], 180);
            let mut numbers = BTreeMap::from([(fat, vec![]), (long, vec![])]);
            for (flow, size, count) in [(fat, 1500, 60), (long, 100, 120)] {
                for _ in 0..count {
                    assert!(queue.enqueue_one(flow, size).is_empty());
                    numbers.get_mut(&flow).unwrap().push(queue.numbers);
                }
            }
            let ends = [numbers[&longest][0], *numbers[&longest].last().unwrap() + u64::from(longest == long)];
            assert_eq!(vec![ends[place]], queue.enqueue_one(long, 100), "{} {end}", scheme.name);
        }
    }
}

#[test]
fn a_queue_of_sfq_holds_no_more_than_its_depth() {
    let mut queue = build_plain(&SFQ, &[("depth", "5")], 1_000);
    let dropped: Vec<u64> = (0..8).flat_map(|_| queue.enqueue_one(0, 1000)).collect();
    assert_eq!(vec![6, 7, 8], dropped);
}

/// Bytes that two flows of unlike packets have sent when one of them has sent so many.
fn shares(scheme: &'static DisciplineEntry, sizes: [u32; 2], bytes: u64) -> [u64; 2] {
    let flows: [u64; 2] = flows_in_distinct_queues();
    let mut queue = build_plain(scheme, &[], 1_000);
    let mut sent = [0; 2];
    while sent.iter().all(|&sent| sent < bytes) {
        for (flow, size) in flows.into_iter().zip(sizes) {
            while queue.queue.len() < 100 || queue.enqueue_one(flow, size).is_empty() && queue.queue.len() < 300 {
                queue.enqueue_one(flow, size);
            }
        }
        let (packet, _) = queue.dequeue(Time::ZERO).unwrap();
        sent[usize::from(packet.flow == flows[1])] += u64::from(packet.size);
    }
    sent
}

#[test]
fn flows_of_unlike_packets_share_the_bytes_evenly_to_within_a_quantum_and_two_packets() {
    for scheme in [&FQ, &SFQ, &DRR] {
        for sizes in [[1500, 64], [1500, 1000], [300, 1514]] {
            let [a, b] = shares(scheme, sizes, 1_000_000);
            // Shreedhar and Varghese 1995: Quantum + 2 Max.
            assert!(a.abs_diff(b) <= 1514 + 2 * 1514, "{} {sizes:?}: {a} and {b}", scheme.name);
        }
    }
}

/// Drops what leaves anything behind anywhere, and wants to be woken every 10 ms.
struct TimerAqm {
    deadline: Time,
}

impl Aqm for TimerAqm {
    fn requirements(&self) -> AqmRequirements {
        AqmRequirements { dequeue_hook: true, ..AqmRequirements::default() }
    }

    fn on_enqueue(&mut self, _arrival: &Arrival, _rng: &mut Rng) -> EnqueueVerdict {
        EnqueueVerdict::Pass
    }

    fn on_dequeue(&mut self, departure: &Departure, _rng: &mut Rng) -> DequeueVerdict {
        if departure.shared_backlog.packets > departure.backlog.packets {
            DequeueVerdict::Drop { cause: SignalCause::Forced }
        } else {
            DequeueVerdict::Pass
        }
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.deadline)
    }

    fn on_timer(&mut self, expiry: &TimerContext, rng: &mut Rng) {
        assert_eq!(self.deadline, expiry.now);
        self.deadline = expiry.now + Span::from_millis(1 + rng.below(10));
    }
}

static TIMED: AqmEntry =
    AqmEntry { name: "timed", make: &|_, _| Box::new(TimerAqm { deadline: Time::ZERO + Span::from_millis(7) }), ..AqmEntry::DEFAULTS };

#[test]
fn each_aqm_inside_is_woken_at_its_own_deadline() {
    let mut queue = build(&FQ, &[], &TIMED, Limit::Packets(100));
    let mut before = Time::ZERO;
    for _ in 0..1_000 {
        let due = queue.queue.next_timer().unwrap();
        assert!(due > before);
        queue.queue.on_timer(due, &mut queue.rng);
        before = due;
    }
    let span = before.since(Time::ZERO).seconds();
    // Each of the eight is woken every 5.5 ms on average, so a millisecond wakes one at least with probability 1 - (1 - 1/5.5)^8 = 0.799.
    assert!((span - 1.0 / 0.799).abs() < 0.06, "{span}");
}

#[test]
fn an_aqm_inside_sees_what_waits_in_all_queues_behind_a_packet() {
    let [one, other] = flows_in_distinct_queues();
    let mut queue = build(&FQ, &[], &TIMED, Limit::Packets(100));
    for flow in [one, one, other] {
        queue.enqueue_one(flow, 1000);
    }
    assert_eq!(Some((other, 0)), queue.next(), "both of the first queue are dropped, for the other's packet waits");
    assert_eq!((None, 2), (queue.next(), queue.queue.total_counters().dropped_packets()));
}

/// Derives the backlog from events alone, and compares it with the actual backlog.
#[derive(Default)]
struct BacklogRecorder {
    waiting: u32,
}

impl Aqm for BacklogRecorder {
    fn requirements(&self) -> AqmRequirements {
        AqmRequirements { dequeue_hook: true, ..AqmRequirements::default() }
    }

    fn on_enqueue(&mut self, arrival: &Arrival, _rng: &mut Rng) -> EnqueueVerdict {
        assert_eq!(arrival.backlog.packets, self.waiting);
        self.waiting += u32::from(!arrival.would_overflow);
        EnqueueVerdict::Pass
    }

    fn on_dequeue(&mut self, departure: &Departure, _rng: &mut Rng) -> DequeueVerdict {
        self.waiting -= 1;
        assert_eq!(departure.backlog.packets, self.waiting);
        DequeueVerdict::Pass
    }

    fn on_overflow_drop(&mut self, _packet: &PacketInfo, _now: Time) {
        self.waiting -= 1;
    }
}

static TALLY: AqmEntry = AqmEntry { name: "tally", make: &|_, _| Box::new(BacklogRecorder::default()), ..AqmEntry::DEFAULTS };

#[test]
fn an_aqm_inside_is_told_of_the_packets_that_the_shared_buffer_drops() {
    for (scheme, settings) in [(&FQ, vec![]), (&SFQ, vec![("perturb", "off")]), (&DRR, vec![]), (&DRR, vec![("drop", "front")])] {
        let mut queue = build(scheme, &settings, &TALLY, Limit::Packets(12));
        let dropped: usize = (0..200).map(|number| queue.enqueue_one(number % 5, 1000).len()).sum();
        assert_eq!(200, dropped + queue.flows(200).len(), "{}", scheme.name);
        assert!(dropped >= 188, "{}: {dropped}", scheme.name);
    }
}

#[test]
fn another_hash_spreads_flows_anew_and_reorders_none() {
    let mut queue = build_plain(&SFQ, &[("perturb", "1 s"), ("depth", "1000")], 1_000);
    for number in 0..600 {
        queue.enqueue_one(number % 30, 1000);
    }
    let busy = |queue: &QueueUnderTest| {
        let mut flows = f64::NAN;
        queue.queue.report_gauges(&mut |name, value| {
            if name == "flows" {
                flows = value
            }
        });
        flows
    };
    assert_eq!(Some(Time::ZERO + Span::from_secs(1)), queue.queue.next_timer());
    assert!(busy(&queue) > 6.0);
    let order = |queue: &mut QueueUnderTest| {
        let mut last = BTreeMap::new();
        let mut flows = Vec::new();
        while let Some((packet, _)) = queue.dequeue(Time::ZERO) {
            assert!(last.insert(packet.flow, packet.number).is_none_or(|before| before < packet.number));
            flows.push(packet.flow);
        }
        flows
    };
    let mut still = build_plain(&SFQ, &[("perturb", "off"), ("depth", "1000")], 1_000);
    (0..600).for_each(|number| drop(still.enqueue_one(number % 30, 1000)));
    assert_eq!(None, still.queue.next_timer());
    queue.queue.on_timer(Time::ZERO + Span::from_secs(1), &mut queue.rng);
    queue.queue.assert_conservation();
    assert_eq!(Some(Time::ZERO + Span::from_secs(2)), queue.queue.next_timer());
    let [perturbed, unperturbed] = [&mut queue, &mut still].map(order);
    assert_eq!([600, 600], [perturbed.len(), unperturbed.len()]);
    assert_ne!(perturbed, unperturbed);
}

/// FRED with an average of 0 drops only packets of flows that have min_th packets waiting.
#[test]
fn packets_that_a_change_of_the_hash_moves_count_in_freds_flows_where_they_wait() {
    let settings = [("perturb", "1 ms"), ("flows", "4"), ("salt", "auto")];
    let mut queue = build_with(&SFQ, &settings, aqm("fred"), &[("w_q", "0"), ("min_th", "5")], Limit::Packets(1_000));
    let (mut now, mut waiting, mut moved) = (Time::ZERO, [0; 12], 0);
    for step in 0..20_000u64 {
        let flow = mix_bits(step) % 12;
        if waiting[flow as usize] < 4 {
            queue.numbers += 1;
            let packet = Packet { number: queue.numbers, flow, size: 1000, ecn: Ecn::Ect0, ..Packet::ECT0_1000_BYTES };
            assert_eq!(Vec::<u64>::new(), queue.enqueue(packet, now), "flow {flow} has {} packets waiting", waiting[flow as usize]);
            waiting[flow as usize] += 1;
        }
        if step % 3 == 0
            && let Some((packet, _)) = queue.dequeue(now)
        {
            waiting[packet.flow as usize] -= 1;
        }
        now += Span::from_micros(300);
        while queue.queue.next_timer().is_some_and(|due| due <= now) {
            queue.queue.on_timer(now, &mut queue.rng);
            moved += usize::from(waiting.iter().sum::<u32>() > 12);
        }
    }
    assert!(moved > 1_000, "{moved} changes of the hash found packets waiting");
}

#[test]
fn a_hundred_flows_seldom_collide_in_1024_queues() {
    let mut salts = Rng::for_role(1, "salts");
    let occupied: usize = (0..200)
        .map(|_| {
            let salt = salts.next_u64();
            let mut queue = build_plain(&FQ, &[("flows", "1024"), ("salt", &salt.to_string())], 1_000);
            (0..100).for_each(|flow| drop(queue.enqueue_one(flow, 100)));
            let mut busy = f64::NAN;
            queue.queue.report_gauges(&mut |name, value| {
                if name == "flows" {
                    busy = value
                }
            });
            busy as usize
        })
        .sum();
    // The mean of occupied queues is 1024 (1 - (1 - 1/1024)^100) = 95.32, and the deviation of 200 salts' mean 0.14.
    let mean = occupied as f64 / 200.0;
    assert!((mean - 95.32).abs() < 0.6, "{mean}");
}

#[test]
fn the_bands_count_new_and_old_queues_apart() {
    let mut queue = build_plain(&FQ, &[], 100);
    for flow in [0, 0, 0, 1] {
        queue.enqueue_one(flow, 1514);
    }
    let bands = std::iter::from_fn(|| queue.next()).fold([0u64; 2], |mut bands, (_, band)| {
        bands[usize::from(band)] += 1;
        bands
    });
    assert_eq!([2, 2], bands);
    assert_eq!(bands, [0, 1].map(|band| queue.queue.band_counters(band).departed.packets));
    assert_eq!(4, queue.queue.total_counters().arrived.packets);
}

/// AQMs whose average decays during idle periods are notified of them. A packet that is moved in ends the period, since the queue is not
/// empty any more.
#[test]
fn a_packet_that_is_moved_in_ends_the_idle_spell_of_every_aqm_with_an_average() {
    let line = LinkParams { rate: Rate::from_bps(10_000_000).unwrap(), limit: Limit::Packets(100) };
    let at = |millis| Time::ZERO + Span::from_millis(millis);
    let mut averages = 0;
    for entry in AQMS {
        let average_after_a_minute = |moved: bool| {
            let (mut aqm, mut rng) = ((entry.make)(&Values::defaults(entry.parameters), &line), Rng::for_role(1, "idle"));
            let groups = vec![Backlog { packets: 1, bytes: 1000 }; aqm.requirements().groups];
            let packet = PacketInfo { size: 1000, ecn: Ecn::Ect0, flow: 0, rtt: Span::ZERO };
            let backlog = Backlog { packets: 3, bytes: 3000 };
            let arrival = |now| Arrival { now, packet, backlog, head_sojourn: Span::ZERO, groups: &groups, would_overflow: false };
            for millis in 0..5_000 {
                aqm.on_enqueue(&arrival(at(millis)), &mut rng);
            }
            let before = aqm.average_queue_length()?;
            aqm.on_queue_empty(at(5_000));
            if moved {
                aqm.on_moved_in(&packet, at(5_000));
            }
            aqm.on_enqueue(&arrival(at(65_000)), &mut rng);
            Some(aqm.average_queue_length().unwrap() / before)
        };
        if let (Some(idle), Some(busy)) = (average_after_a_minute(false), average_after_a_minute(true)) {
            averages += 1;
            assert!(idle < 0.1 && (busy - 1.0).abs() < 0.1, "{}: {idle} of the average after a minute of rest, {busy} of work", entry.name);
        }
    }
    assert!(averages >= 12, "{averages} AQMs keep an average");
}

/// Codepoints with which packets of two flows leave, one every 0.25 ms from 0.25 ms on; all arrive at time zero.
fn codepoints_at_departure(queue: &mut QueueUnderTest, codepoints: [Ecn; 2], packets: u64) -> Vec<(u64, Ecn, Ecn)> {
    let flows: [u64; 2] = flows_in_distinct_queues();
    for (number, (flow, ecn)) in (0..).zip((0..packets).flat_map(|_| flows.into_iter().zip(codepoints))) {
        queue.enqueue(Packet { number, flow, ecn, ..Packet::ECT0_1000_BYTES }, Time::ZERO);
    }
    let leave = |quarter: u64| {
        let (packet, _) = queue.dequeue(Time::ZERO + Span::from_micros(250) * quarter)?;
        Some((quarter, codepoints[flows.iter().position(|&flow| flow == packet.flow).unwrap()], packet.ecn))
    };
    (1..).map_while(leave).collect()
}

#[test]
fn an_l4s_step_marks_each_ect1_packet_that_has_waited_longer_and_no_other() {
    for discipline in [&FQ, &SFQ, &DRR] {
        let settings = [("l4s_step", "1 ms"), ("quantum", "1000 B")];
        let mut queue = build(discipline, &settings, aqm("droptail"), Limit::Packets(100));
        let left = codepoints_at_departure(&mut queue, [Ecn::Ect1, Ecn::Ect0], 10);
        assert_eq!(20, left.len());
        for (quarter, sent, received) in left {
            // The fourth quarter of a millisecond is as long as the step, not longer.
            let expected = if sent == Ecn::Ect1 && quarter > 4 { Ecn::Ce } else { sent };
            assert_eq!(expected, received, "{}: {sent:?} after {quarter} quarters", discipline.name);
        }
        let counters = queue.queue.total_counters();
        // Both flows send one packet by turns, so eight of ten ECT(1) packets leave after the fourth quarter.
        assert_eq!((8, 0), (counters.marked[SignalCause::Early], counters.dropped[SignalCause::Early].packets), "{}", discipline.name);
    }
}

#[test]
fn packets_of_the_l4s_class_bypass_the_aqm_inside() {
    // An AQM that signals to all: every packet that finds another one in its queue.
    let strict = [("threshold", "0.5")];
    for (codepoint, l4s_step, expected) in
        [(Ecn::Ect1, "off", 9), (Ecn::Ect1, "10 s", 0), (Ecn::Ect0, "10 s", 9), (Ecn::Ce, "10 s", 0), (Ecn::Ect1, "0 s", 10)]
    {
        let mut queue = build_with(&FQ, &[("l4s_step", l4s_step)], aqm("step"), &strict, Limit::Packets(100));
        codepoints_at_departure(&mut queue, [codepoint, Ecn::Ce], 10);
        assert_eq!(expected, queue.queue.total_counters().marked[SignalCause::Early], "{codepoint:?}, {l4s_step}");
    }
    // Without ECN this AQM drops: ECT(0) packets, and CE packets only if they are not in the L4S class.
    for (codepoint, l4s_step, expected) in [(Ecn::Ect0, "10 s", 9), (Ecn::Ce, "off", 18), (Ecn::Ce, "10 s", 0)] {
        let mut queue = build_with(&FQ, &[("l4s_step", l4s_step)], aqm("step"), &[strict[0], ("ecn", "false")], Limit::Packets(100));
        codepoints_at_departure(&mut queue, [codepoint, Ecn::Ce], 10);
        let dropped = queue.queue.total_counters().dropped[SignalCause::Early].packets;
        assert_eq!(expected, dropped, "{codepoint:?}, {l4s_step}");
    }
}

#[test]
fn an_l4s_step_is_a_mark_even_around_an_aqm_that_marks_nothing() {
    let lowest_mark = |step: &str| {
        let mut values = Values::defaults(FQ.parameters);
        values.set_from_text("l4s_step", step).unwrap();
        let aqm = AqmConfig { entry: aqm("droptail"), values: Values::defaults(aqm("droptail").parameters) };
        let config = QueueConfig { discipline: &FQ, values, child: Child::Aqm { aqm, limit: Limit::Packets(9) } };
        (config.lowest_mark_level(), config.marks_ect1_earlier())
    };
    assert_eq!([(None, false), (Some(CongestionLevel::Congested), true)], ["off", "1 ms"].map(lowest_mark));
}
