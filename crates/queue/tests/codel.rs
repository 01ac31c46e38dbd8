//! CoDel compared with RFC 8289's pseudo-code, transcribed line by line, over random arrivals.

use std::collections::VecDeque;

use ecnlab_queue::aqm::codel::{Codel, Settings};
use ecnlab_queue::{DequeueOutcome, Discipline, Fifo, Limit, QueueEvent, SignalCause};
use ecnlab_testkit::Packet;
use ecnlab_units::{Ecn, Rng, Time, Values};
use proptest::prelude::*;

/// RFC 8289, section 5: names, order of statements and the zero that means "no time set" are the RFC's.
#[allow(non_snake_case, reason = "the names of the RFC")]
struct CodelQueue {
    queue: VecDeque<(u64, Packet)>,
    bytes: u64,
    dropped: Vec<u64>,
    first_above_time_: u64,
    drop_next_: u64,
    count_: u32,
    lastcount_: u32,
    dropping_: bool,
    TARGET: u64,
    INTERVAL: u64,
    maxpacket: u64,
}

struct DodequeueResult {
    p: Option<Packet>,
    ok_to_drop: bool,
}

impl CodelQueue {
    fn new(target: u64, interval: u64, maxpacket: u64) -> CodelQueue {
        CodelQueue {
            queue: VecDeque::new(),
            bytes: 0,
            dropped: Vec::new(),
            first_above_time_: 0,
            drop_next_: 0,
            count_: 0,
            lastcount_: 0,
            dropping_: false,
            TARGET: target,
            INTERVAL: interval,
            maxpacket,
        }
    }

    fn enqueue(&mut self, pkt: Packet, clock: u64) {
        self.bytes += u64::from(pkt.size);
        self.queue.push_back((clock, pkt));
    }

    fn dequeue(&mut self, now: u64) -> Option<Packet> {
        let mut r = self.dodequeue(now);
        if self.dropping_ {
            if !r.ok_to_drop {
                self.dropping_ = false;
            }
            while now >= self.drop_next_ && self.dropping_ {
                self.drop(&r);
                self.count_ += 1;
                r = self.dodequeue(now);
                if !r.ok_to_drop {
                    self.dropping_ = false;
                } else {
                    self.drop_next_ = self.control_law(self.drop_next_, self.count_);
                }
            }
        } else if r.ok_to_drop {
            self.drop(&r);
            r = self.dodequeue(now);
            self.dropping_ = true;
            let delta = self.count_ - self.lastcount_;
            self.count_ = 1;
            if delta > 1 && (now as i128 - self.drop_next_ as i128) < 16 * self.INTERVAL as i128 {
                self.count_ = delta;
            }
            self.drop_next_ = self.control_law(now, self.count_);
            self.lastcount_ = self.count_;
        }
        r.p
    }

    fn control_law(&self, t: u64, count: u32) -> u64 {
        t + (self.INTERVAL as f64 / f64::from(count).sqrt()) as u64
    }

    fn dodequeue(&mut self, now: u64) -> DodequeueResult {
        let mut r = DodequeueResult { p: None, ok_to_drop: false };
        let Some((tstamp, p)) = self.queue.pop_front() else {
            self.first_above_time_ = 0;
            return r;
        };
        self.bytes -= u64::from(p.size);
        r.p = Some(p);
        let sojourn_time = now - tstamp;
        if sojourn_time < self.TARGET || self.bytes <= self.maxpacket {
            self.first_above_time_ = 0;
        } else if self.first_above_time_ == 0 {
            self.first_above_time_ = now + self.INTERVAL;
        } else if now >= self.first_above_time_ {
            r.ok_to_drop = true;
        }
        r
    }

    fn drop(&mut self, r: &DodequeueResult) {
        self.dropped.extend(r.p.map(|p| p.number));
    }
}

/// A queue with CoDel, a link that drains it, and what it told.
struct AqmUnderTest {
    fifo: Fifo<Packet>,
    rng: Rng,
    dropped: Vec<u64>,
    marked: Vec<u64>,
}

impl AqmUnderTest {
    fn new(settings: &[(&str, String)]) -> AqmUnderTest {
        let mut values = Values::defaults(Settings::PARAMETERS);
        for (name, text) in settings {
            values.set_from_text(name, text).unwrap();
        }
        let codel = Codel::new(Settings::from_values(&values));
        let fifo = Fifo::new(Box::new(codel), Limit::Packets(1_000_000));
        AqmUnderTest { fifo, rng: Rng::for_role(1, "codel"), dropped: Vec::new(), marked: Vec::new() }
    }

    fn enqueue(&mut self, packet: Packet, now: u64) {
        self.fifo.enqueue(packet, Time::from_picos(now), &mut self.rng, &mut |_| {});
    }

    fn dequeue(&mut self, now: u64) -> Option<Packet> {
        let AqmUnderTest { fifo, rng, dropped, marked } = self;
        let taken = fifo.dequeue(Time::from_picos(now), rng, &mut |event| match event {
            QueueEvent::Dropped(packet, cause) => {
                assert_eq!(SignalCause::Early, cause);
                dropped.push(packet.number);
            }
            QueueEvent::Marked(packet, _) => marked.push(packet.number),
            QueueEvent::Stored(_) => panic!("nothing arrives"),
        });
        match taken {
            DequeueOutcome::Packet { packet, .. } => Some(packet),
            DequeueOutcome::RetryAt(_) | DequeueOutcome::Empty => None,
        }
    }
}

const MS: u64 = 1_000_000_000;

/// Bursts of so many packets of this size after this gap, and how long the link takes for each byte while they come.
fn bursts() -> impl Strategy<Value = Vec<(usize, u32, u64, u64)>> {
    let burst = (1usize..120, 40u32..=1500, 0u64..120 * MS, prop_oneof![Just(800_000u64), Just(3_200_000), Just(8_000_000)]);
    prop::collection::vec(burst, 1..60)
}

/// Simulates the bursts and the link. Calls `on_packet` with the time and the arriving packet, or `None` for a dequeue; it returns the
/// transmission time of the dequeued packet.
fn drive(bursts: &[(usize, u32, u64, u64)], mut on_packet: impl FnMut(u64, Option<Packet>) -> u64) {
    let (mut clock, mut number) = (MS, 0);
    let mut free_at = clock;
    for &(packets, size, gap, picos_per_byte) in bursts {
        clock += gap;
        while free_at <= clock {
            let bytes = on_packet(free_at, None);
            free_at = if bytes == 0 { clock + 1 } else { free_at + bytes * picos_per_byte };
        }
        for _ in 0..packets {
            number += 1;
            on_packet(clock, Some(Packet { number, size, ecn: Ecn::NotEct, ..Packet::ECT0_1000_BYTES }));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_sends_and_drops_the_packets_that_the_rfcs_pseudo_code_does(
        bursts in bursts(), target_ms in 1u64..8, interval_ms in 9u64..60, mtu in 40u64..=1500,
    ) {
        let mut theirs = CodelQueue::new(target_ms * MS, interval_ms * MS, mtu);
        let settings = [("target", format!("{target_ms} ms")), ("interval", format!("{interval_ms} ms")), ("mtu", format!("{mtu} B"))];
        let mut aqm_under_test = AqmUnderTest::new(&settings);
        drive(&bursts, |now, arriving| {
            if let Some(packet) = arriving {
                theirs.enqueue(packet, now);
                aqm_under_test.enqueue(packet, now);
                return 0;
            }
            let packet = theirs.dequeue(now);
            assert_eq!(packet, aqm_under_test.dequeue(now), "at {now} ps");
            assert_eq!(theirs.dropped, aqm_under_test.dropped, "at {now} ps");
            packet.map_or(0, |packet| u64::from(packet.size))
        });
    }
}

/// A packet arrives every half millisecond and leaves every millisecond: the queue grows for ever.
fn run_overloaded(aqm_under_test: &mut AqmUnderTest, ecn: Ecn, milliseconds: u64) -> Vec<(u64, usize)> {
    let mut drops = Vec::new();
    for half in 0..2 * milliseconds {
        let now = MS + half * MS / 2;
        aqm_under_test.enqueue(Packet { number: half, size: 1500, ecn, ..Packet::ECT0_1000_BYTES }, now);
        let before = aqm_under_test.dropped.len() + aqm_under_test.marked.len();
        if half % 2 == 1 {
            aqm_under_test.dequeue(now);
        }
        let signals = aqm_under_test.dropped.len() + aqm_under_test.marked.len() - before;
        if signals > 0 {
            drops.push((now, signals));
        }
    }
    drops
}

#[test]
fn the_pseudo_code_itself_drops_in_the_random_runs() {
    let bursts: Vec<_> = (0..60).map(|_| (100, 1500, 50 * MS, 800_000)).collect();
    let mut theirs = CodelQueue::new(5 * MS, 20 * MS, 1500);
    drive(&bursts, |now, arriving| {
        if let Some(packet) = arriving {
            theirs.enqueue(packet, now);
            return 0;
        }
        theirs.dequeue(now).map_or(0, |packet| u64::from(packet.size))
    });
    assert!(theirs.dropped.len() > 100, "{}", theirs.dropped.len());
}

#[test]
fn under_overload_the_gaps_shrink_with_the_square_root_until_several_packets_go_at_once() {
    let mut aqm_under_test = AqmUnderTest::new(&[]);
    let drops = run_overloaded(&mut aqm_under_test, Ecn::NotEct, 30_000);
    assert!(drops.iter().any(|&(_, signals)| signals > 1));
    let law = |count: usize| 100.0 / (count as f64).sqrt();
    let mut due = drops[0].0 as f64 / MS as f64;
    let mut count = 0;
    for (time, signals) in drops {
        for _ in 0..signals {
            let late = time as f64 / MS as f64 - due;
            assert!((-1e-6..1.0 + 1e-6).contains(&late), "drop {count} is {late} ms late");
            count += 1;
            due += law(count);
        }
    }
    // The sum of 100 / sqrt(k) is 29 899 ms at k = 22 568; beyond k = 10 000 a gap is shorter than the time of a packet.
    assert!((22_500..22_650).contains(&count), "{count}");
}

#[test]
fn a_mark_takes_the_place_of_a_drop_at_the_same_time_and_loses_no_packet() {
    let [mut dropping, mut marking] = [(); 2].map(|()| AqmUnderTest::new(&[]));
    let drops = run_overloaded(&mut dropping, Ecn::NotEct, 3_000);
    let marks = run_overloaded(&mut marking, Ecn::Ect0, 3_000);
    assert_eq!(drops, marks);
    assert!(!drops.is_empty() && marking.dropped.is_empty() && dropping.marked.is_empty());
}
