//! Random operations on every AQM of the registry keep the invariants of the queue, and one suite of behaviour runs over all.

use std::collections::VecDeque;

use ecnlab_queue::registry::{AQMS, AqmEntry, Line};
use ecnlab_queue::{Aqm, Arrival, Cause, Deed, Discipline, Fifo, Frame, Glimpse, Limit, Needs, Registry, Take, Target, Victim, Wish};
use ecnlab_units::{Dialect, Ecn, Level, Rate, Rng, Span, Time, Values};
use proptest::prelude::*;
use proptest::sample::select;

/// A packet that knows its number, so that order and identity can be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packet {
    number: u64,
    size: u32,
    ecn: Ecn,
    dialect: Dialect,
    rtt: Span,
}

impl Frame for Packet {
    fn size(&self) -> u32 {
        self.size
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn takes(&self, level: Level) -> bool {
        self.dialect.mark(self.ecn, level) != self.ecn
    }

    fn mark(&mut self, level: Level) {
        assert!(self.takes(level), "a mark landed on a packet that it does not change");
        self.ecn = self.dialect.mark(self.ecn, level);
    }

    fn flow(&self) -> u64 {
        self.number % 7
    }

    fn rtt(&self) -> Span {
        self.rtt
    }
}

/// What became of an arriving packet and the queue that it met, put together from what the queue told.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Queued,
    /// The waiting packet at this place was marked.
    Marked(usize, Cause),
    Dropped(Packet, Cause),
}

/// A queue as the tests use it: what it tells is put together, and what it must not tell is refused.
trait Watched {
    fn offered(&mut self, packet: Packet, now: Time, rng: &mut Rng) -> Outcome;
    fn taken(&mut self, now: Time) -> Option<Packet>;
    fn list(&self) -> Vec<Packet>;
}

impl Watched for Fifo<Packet> {
    fn offered(&mut self, packet: Packet, now: Time, rng: &mut Rng) -> Outcome {
        let (mut stored, mut outcome) = (false, None);
        let mut told = |seen| assert!(outcome.replace(seen).is_none(), "one packet at most is marked or dropped at an arrival");
        self.offer(packet, now, rng, &mut |deed| match deed {
            Deed::Stored(frame) => {
                assert_eq!(packet, *frame, "the arriving packet is stored as it is");
                stored = true;
            }
            Deed::Marked(frame, cause) => told((*frame, cause, true)),
            Deed::Dropped(frame, cause) => told((frame, cause, false)),
        });
        let list = self.list();
        match outcome {
            None => Outcome::Queued,
            Some((frame, cause, true)) => {
                let place = list.iter().position(|waiting| waiting.number == frame.number).expect("a marked packet waits");
                assert_eq!(list[place], frame, "a mark is told with the packet as it is then");
                Outcome::Marked(place, cause)
            }
            Some((frame, cause, false)) => {
                assert_eq!(stored, frame.number != packet.number, "the arriving packet is stored or dropped");
                Outcome::Dropped(frame, cause)
            }
        }
    }

    fn taken(&mut self, now: Time) -> Option<Packet> {
        match self.take(now, &mut Rng::for_role(1, "taken"), &mut |deed| panic!("nothing is done at this departure: {deed:?}")) {
            Take::Packet { frame, .. } => Some(frame),
            Take::Later(_) | Take::Empty => None,
        }
    }

    fn list(&self) -> Vec<Packet> {
        let mut list = Vec::new();
        self.frames(&mut |frame| list.push(*frame));
        list
    }
}

fn find(name: &str) -> &'static AqmEntry {
    Registry::builtin().aqm(name).unwrap()
}

fn line(limit: Limit) -> Line {
    Line { rate: Rate::from_bps(10_000_000).unwrap(), limit }
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    Offer { size: u32, ecn: Ecn, rtt_ms: u64 },
    Take,
    Empty,
    Wait { micros: u64 },
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let ecn = select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
    let offer = (1u32..=1500, ecn, select(vec![0, 10, 74, 75, 149, 150, 400])).prop_map(|(size, ecn, rtt_ms)| Operation::Offer {
        size,
        ecn,
        rtt_ms,
    });
    let operation = prop_oneof![
        6 => offer,
        4 => Just(Operation::Take),
        1 => Just(Operation::Empty),
        2 => (0u64..20_000).prop_map(|micros| Operation::Wait { micros }),
    ];
    prop::collection::vec(operation, 1..400)
}

/// Any AQM with settings that make it signal often, all drop policies among them.
fn queues() -> impl Strategy<Value = (&'static str, Values, Limit)> {
    let limit = prop_oneof![(1u32..40).prop_map(Limit::Packets), (1500u64..40_000).prop_map(Limit::Bytes)];
    let switches = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let numbers = (select(vec!["0.002", "0.3", "1", "auto"]), 0.0..8.0f64, 0.1..12.0f64, 0.0..1.0f64, 0.0..1.0f64);
    (0..AQMS.len(), limit, switches, numbers, 0usize..3).prop_map(|(at, limit, switches, numbers, drop)| {
        let entry = &AQMS[at];
        let mut values = Values::defaults(entry.parameters);
        let mut set = |name: &str, text: &str| {
            if entry.parameters.iter().any(|parameter| parameter.name == name) {
                values.read(name, text).unwrap();
            }
        };
        let (gentle, wait, bytes, floor, population, per_router) = switches;
        let (w_q, min_th, width, max_p, mark_limit) = numbers;
        set("w_q", w_q);
        set("min_th", &min_th.to_string());
        set("max_th", &(min_th + width).to_string());
        set("max_p", &max_p.to_string());
        set("mark_limit", &mark_limit.max(0.2).to_string());
        set("gentle", &gentle.to_string());
        set("wait", &wait.to_string());
        set("unit", if bytes { "bytes" } else { "packets" });
        set("floor", if floor { "1" } else { "0" });
        set("balance", if population { "population" } else { "fixed" });
        set("count", if per_router { "router" } else { "group" });
        set("drop", ["tail", "front", "random"][drop]);
        (entry.name, values, limit)
    })
}

/// Whether a mark of classic ECN would change a packet.
fn is_unmarked(packet: &Packet) -> bool {
    matches!(packet.ecn, Ecn::Ect0 | Ecn::Ect1)
}

/// The group of a packet as the AQM has it: none, one for all, or AECN's three.
fn group_of(entry: &AqmEntry, packet: &Packet) -> Option<u32> {
    match entry.name {
        "mark-front" => Some(0),
        "aecn" if packet.rtt >= Span::from_millis(150) => Some(2),
        "aecn" if packet.rtt >= Span::from_millis(75) || packet.rtt == Span::ZERO => Some(1),
        "aecn" => Some(0),
        _ => None,
    }
}

/// A queue and the plain list that says what it should hold.
struct Checked {
    entry: &'static AqmEntry,
    drop: String,
    fifo: Fifo<Packet>,
    shadow: VecDeque<Packet>,
    limit: Limit,
    rng: Rng,
    now: Time,
    numbers: u64,
}

impl Checked {
    fn new(name: &str, values: &Values, limit: Limit) -> Checked {
        let entry = find(name);
        Checked {
            entry,
            drop: entry.parameters.iter().find(|p| p.name == "drop").map_or("tail".to_owned(), |p| values.value(p.name).to_string()),
            fifo: Fifo::new((entry.make)(values, &line(limit)), limit),
            shadow: VecDeque::new(),
            limit,
            rng: Rng::for_role(7, "properties"),
            now: Time::ZERO,
            numbers: 0,
        }
    }

    fn act(&mut self, operation: Operation) {
        match operation {
            Operation::Offer { size, ecn, rtt_ms } => {
                self.numbers += 1;
                self.offer(Packet { number: self.numbers, size, ecn, rtt: Span::from_millis(rtt_ms), ..PACKET });
            }
            Operation::Take => assert_eq!(self.shadow.pop_front(), self.fifo.taken(self.now)),
            Operation::Empty => while self.fifo.taken(self.now).is_some_and(|packet| Some(packet) == self.shadow.pop_front()) {},
            Operation::Wait { micros } => self.now += Span::from_micros(micros),
        }
        self.assert_sound();
    }

    fn offer(&mut self, packet: Packet) {
        let full = !self.fits(&packet);
        let outcome = self.fifo.offered(packet, self.now, &mut self.rng);
        match outcome {
            Outcome::Queued => self.shadow.push_back(packet),
            Outcome::Marked(place, _) => {
                self.shadow.push_back(packet);
                assert_eq!(self.expected_mark(&packet), place, "the mark's place");
                assert!(is_unmarked(&self.shadow[place]), "only an ECN-capable packet that is not marked yet is marked");
                self.shadow[place].ecn = Ecn::Ce;
            }
            Outcome::Dropped(lost, cause) => self.dropped(packet, lost, cause),
        }
        assert!(!full || matches!(outcome, Outcome::Dropped(..)), "a full buffer drops");
    }

    fn dropped(&mut self, arriving: Packet, dropped: Packet, cause: Cause) {
        self.shadow.push_back(arriving);
        let place = self.shadow.iter().position(|packet| *packet == dropped).expect("a packet that waited or arrived is dropped");
        let last = self.shadow.len() - 1;
        // A packet that is not ECN-capable goes itself where a mark was meant for it.
        let marks = match cause {
            Cause::Overflow => false,
            Cause::Forced => self.entry.name == "ecnm",
            Cause::Early => self.entry.name != "red",
        };
        let chosen = !marks || arriving.ecn.is_capable();
        match self.drop.as_str() {
            "front" if chosen && self.fits_without(0) => assert_eq!(0, place, "drop-from-front takes the oldest"),
            "front" if chosen => assert_eq!(last, place, "where the oldest makes no room, the arriving packet goes"),
            "tail" => assert_eq!(last, place, "tail drop takes the arriving packet"),
            _ => {}
        }
        self.shadow.remove(place);
    }

    /// A plain search for the packet that a mark belongs to, the arriving one standing last already.
    fn expected_mark(&self, arriving: &Packet) -> usize {
        let last = self.shadow.len() - 1;
        let Some(group) = group_of(self.entry, arriving) else { return last };
        let fits = |packet: &Packet| is_unmarked(packet) && group_of(self.entry, packet) == Some(group);
        self.shadow.iter().position(fits).unwrap_or(last)
    }

    fn fits(&self, packet: &Packet) -> bool {
        match self.limit {
            Limit::Packets(limit) => self.shadow.len() < limit as usize,
            Limit::Bytes(limit) => self.bytes() + u64::from(packet.size) <= limit,
        }
    }

    /// Whether what is in the list fits once the packet at `place` is gone.
    fn fits_without(&self, place: usize) -> bool {
        match self.limit {
            Limit::Packets(limit) => self.shadow.len() - 1 <= limit as usize,
            Limit::Bytes(limit) => self.bytes() - u64::from(self.shadow[place].size) <= limit,
        }
    }

    fn bytes(&self) -> u64 {
        self.shadow.iter().map(|packet| u64::from(packet.size)).sum()
    }

    fn assert_sound(&self) {
        self.fifo.assert_conservation();
        assert_eq!(self.bytes(), self.fifo.bytes());
        assert_eq!(self.shadow.len(), self.fifo.len());
        assert_eq!(self.shadow.is_empty(), self.fifo.is_empty());
        assert_eq!(Vec::from(self.shadow.clone()), self.fifo.list());
        match self.limit {
            Limit::Packets(limit) => assert!(self.fifo.len() <= limit as usize, "more packets wait than may"),
            Limit::Bytes(limit) => assert!(self.fifo.bytes() <= limit, "more bytes wait than may"),
        }
        assert!(self.fifo.average().is_none_or(|average| average.is_finite() && average >= 0.0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_operations_keep_packets_bytes_order_limits_and_marks(queue in queues(), operations in operations()) {
        let (name, values, limit) = queue;
        let mut checked = Checked::new(name, &values, limit);
        for operation in operations {
            checked.act(operation);
        }
    }

    #[test]
    fn the_same_operations_and_stream_give_the_same_outcomes(queue in queues(), operations in operations()) {
        let (name, values, limit) = queue;
        let [mut first, mut second] = [(); 2].map(|()| Checked::new(name, &values, limit));
        for operation in operations {
            first.act(operation);
            second.act(operation);
            prop_assert_eq!(&first.shadow, &second.shadow);
        }
        prop_assert_eq!(first.fifo.total(), second.fifo.total());
    }
}

const PACKET: Packet = Packet { number: 0, size: 1000, ecn: Ecn::Ect0, dialect: Dialect::Classic, rtt: Span::ZERO };

/// Every AQM with its defaults and a buffer of 20 packets.
fn every_aqm() -> impl Iterator<Item = (&'static str, Fifo<Packet>, Rng)> {
    let fifo = |entry: &'static AqmEntry| {
        Fifo::new((entry.make)(&Values::defaults(entry.parameters), &line(Limit::Packets(20))), Limit::Packets(20))
    };
    AQMS.iter().map(move |entry| (entry.name, fifo(entry), Rng::for_role(1, entry.name)))
}

/// Every AQM that signals, signalling often: w_q 1, thresholds 2 and 12.
fn every_busy_aqm() -> impl Iterator<Item = (&'static str, Fifo<Packet>, Rng)> {
    AQMS.iter().filter(|entry| entry.name != "droptail").map(|entry| {
        let values = entry.busy_values();
        (entry.name, Fifo::new((entry.make)(&values, &line(Limit::Packets(20))), Limit::Packets(20)), Rng::for_role(1, entry.name))
    })
}

/// Keeps ten packets waiting for 500 arrivals and returns what became of them.
fn keep_busy(fifo: &mut Fifo<Packet>, rng: &mut Rng, ecn: Ecn) -> Vec<Outcome> {
    let offer = |number| {
        while fifo.len() >= 10 {
            fifo.taken(Time::ZERO);
        }
        fifo.offered(Packet { number, ecn, ..PACKET }, Time::ZERO, rng)
    };
    (0..500).map(offer).collect()
}

#[test]
fn every_aqm_passes_the_first_packet_to_an_empty_queue() {
    for (name, mut fifo, mut rng) in every_aqm() {
        assert_eq!(Outcome::Queued, fifo.offered(PACKET, Time::ZERO, &mut rng), "{name}");
    }
}

#[test]
fn every_aqm_drops_at_a_full_buffer() {
    for (name, mut fifo, mut rng) in every_aqm() {
        let mut dropped = |number| matches!(fifo.offered(Packet { number, ..PACKET }, Time::ZERO, &mut rng), Outcome::Dropped(..));
        let dropped = (0..100).filter(|&number| dropped(number)).count();
        assert_eq!((20, 80), (fifo.len(), dropped), "{name}");
    }
}

#[test]
fn every_signalling_aqm_drops_packets_that_are_not_ecn_capable_and_marks_none() {
    for (name, mut fifo, mut rng) in every_busy_aqm() {
        let outcomes = keep_busy(&mut fifo, &mut rng, Ecn::NotEct);
        assert!(!outcomes.iter().any(|outcome| matches!(outcome, Outcome::Marked(..))), "{name}");
        assert!(outcomes.iter().any(|outcome| matches!(outcome, Outcome::Dropped(..))), "{name}");
    }
}

#[test]
fn every_signalling_aqm_but_red_marks_ecn_capable_packets_and_drops_none_below_max_th() {
    for (name, mut fifo, mut rng) in every_busy_aqm() {
        let outcomes = keep_busy(&mut fifo, &mut rng, Ecn::Ect0);
        let marked = outcomes.iter().any(|outcome| matches!(outcome, Outcome::Marked(..)));
        let dropped = outcomes.iter().any(|outcome| matches!(outcome, Outcome::Dropped(..)));
        assert_eq!((name != "red", name == "red"), (marked, dropped), "{name}");
    }
}

#[test]
fn every_aqm_lets_an_emptied_queue_fill_again() {
    for (name, mut fifo, mut rng) in every_busy_aqm() {
        keep_busy(&mut fifo, &mut rng, Ecn::NotEct);
        while fifo.taken(Time::ZERO).is_some() {}
        let later = Time::ZERO + Span::from_secs(60);
        assert_eq!(Outcome::Queued, fifo.offered(PACKET, later, &mut rng), "{name}");
    }
}

#[test]
fn drop_from_front_takes_the_oldest_and_keeps_the_newest() {
    let entry = find("droptail");
    let mut values = Values::defaults(entry.parameters);
    values.read("drop", "front").unwrap();
    let mut fifo = Fifo::new((entry.make)(&values, &line(Limit::Packets(3))), Limit::Packets(3));
    let mut rng = Rng::for_role(1, "front");
    let outcomes: Vec<_> = (0..5).map(|number| fifo.offered(Packet { number, ..PACKET }, Time::ZERO, &mut rng)).collect();
    let lost = |number| Outcome::Dropped(Packet { number, ..PACKET }, Cause::Overflow);
    assert_eq!(vec![Outcome::Queued, Outcome::Queued, Outcome::Queued, lost(0), lost(1)], outcomes);
    let left: Vec<u64> = std::iter::from_fn(|| fifo.taken(Time::ZERO)).map(|packet| packet.number).collect();
    assert_eq!(vec![2, 3, 4], left);
}

/// An AQM that wishes whatever it was given, in turn, and puts every packet into a flow queue that there may not be.
struct Whimsical {
    wishes: Vec<Wish>,
    next: usize,
    group: u8,
}

impl Aqm for Whimsical {
    fn needs(&self) -> Needs {
        Needs { groups: 2, departures: false }
    }

    fn group(&self, _packet: &Glimpse) -> u8 {
        self.group
    }

    fn arrive(&mut self, _arrival: &Arrival, _rng: &mut Rng) -> Wish {
        self.next += 1;
        self.wishes[self.next % self.wishes.len()]
    }
}

fn wishes() -> impl Strategy<Value = Vec<Wish>> {
    let cause = || select(vec![Cause::Early, Cause::Forced, Cause::Overflow]);
    let level = select(vec![Level::Incipient, Level::Congested]);
    let target = prop_oneof![Just(Target::Arriving), (0u8..4).prop_map(Target::FrontUnmarked)];
    let victim = prop_oneof![Just(Victim::Arriving), Just(Victim::Front), (0u32..60).prop_map(Victim::Waiting)];
    let wish = prop_oneof![
        Just(Wish::Pass),
        (level, target, cause()).prop_map(|(level, target, cause)| Wish::Signal { level, target, cause }),
        (victim, cause()).prop_map(|(victim, cause)| Wish::Drop { victim, cause }),
    ];
    prop::collection::vec(wish, 1..12)
}

proptest! {
    #[test]
    fn no_wish_loses_a_packet_overfills_the_buffer_or_writes_a_mark_that_changes_nothing(
        wishes in wishes(), group in 0u8..4, limit in prop_oneof![(0u32..20).prop_map(Limit::Packets), (0u64..9_000).prop_map(Limit::Bytes)],
        arrivals in prop::collection::vec((1u32..1500, select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]), any::<bool>(), 0u8..3), 1..200)
    ) {
        let mut fifo = Fifo::new(Box::new(Whimsical { wishes, next: 0, group }), limit);
        let mut rng = Rng::for_role(1, "whimsical");
        let mut marks = 0;
        for (number, (size, ecn, mecn, takes)) in (0..).zip(arrivals) {
            let dialect = if mecn { Dialect::Mecn } else { Dialect::Classic };
            marks += u64::from(matches!(fifo.offered(Packet { number, size, ecn, dialect, rtt: Span::ZERO }, Time::ZERO, &mut rng), Outcome::Marked(..)));
            fifo.assert_conservation();
            match limit {
                Limit::Packets(limit) => prop_assert!(fifo.len() <= limit as usize),
                Limit::Bytes(limit) => prop_assert!(fifo.bytes() <= limit),
            }
            for _ in 1..takes {
                fifo.taken(Time::ZERO);
            }
        }
        prop_assert_eq!(marks, fifo.total().marked_packets());
    }
}

/// A queue whose AQM signals every packet at this level.
fn always(level: Level, target: Target) -> Fifo<Packet> {
    let wishes = vec![Wish::Signal { level, target, cause: Cause::Early }];
    Fifo::new(Box::new(Whimsical { wishes, next: 0, group: 0 }), Limit::Packets(20))
}

#[test]
fn a_packet_that_is_marked_already_is_not_marked_again() {
    let mut fifo = always(Level::Congested, Target::Arriving);
    let mut rng = Rng::for_role(1, "again");
    let outcomes = [(0, Ecn::Ect0), (1, Ecn::Ce), (2, Ecn::Ect1)]
        .map(|(number, ecn)| fifo.offered(Packet { number, ecn, ..PACKET }, Time::ZERO, &mut rng));
    let marked = |place| Outcome::Marked(place, Cause::Early);
    assert_eq!(([marked(0), Outcome::Queued, marked(2)], 2), (outcomes, fifo.total().marked[Cause::Early]));
}

#[test]
fn an_incipient_signal_is_written_only_where_the_network_knows_it() {
    let mut rng = Rng::for_role(1, "incipient");
    for target in [Target::Arriving, Target::FrontUnmarked(0)] {
        let mut fifo = always(Level::Incipient, target);
        let offers = [
            (0, Dialect::Classic, Ecn::Ect0),
            (1, Dialect::Mecn, Ecn::Ect0),
            (2, Dialect::Mecn, Ecn::Ect1),
            (3, Dialect::Classic, Ecn::Ect1),
        ];
        let outcomes = offers.map(|(number, dialect, ecn)| fifo.offered(Packet { number, dialect, ecn, ..PACKET }, Time::ZERO, &mut rng));
        assert_eq!([Outcome::Queued, Outcome::Marked(1, Cause::Early), Outcome::Queued, Outcome::Queued], outcomes, "{target:?}");
        let left: Vec<Ecn> = fifo.list().iter().map(|packet| packet.ecn).collect();
        assert_eq!(vec![Ecn::Ect0, Ecn::Ect1, Ecn::Ect1, Ecn::Ect1], left);
    }
}

#[test]
fn an_aqm_that_knows_no_overflow_gets_the_arriving_packet_dropped() {
    let mut fifo = Fifo::new(Box::new(Whimsical { wishes: vec![Wish::Pass], next: 0, group: 0 }), Limit::Packets(1));
    let mut rng = Rng::for_role(1, "overflow");
    let outcomes = [0, 1].map(|number| fifo.offered(Packet { number, ..PACKET }, Time::ZERO, &mut rng));
    assert_eq!([Outcome::Queued, Outcome::Dropped(Packet { number: 1, ..PACKET }, Cause::Overflow)], outcomes);
}
