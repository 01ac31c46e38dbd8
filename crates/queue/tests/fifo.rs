//! A FIFO buffer whose AQM wishes anything at all, held against a plain list.

use ecnlab_queue::conformance::Packet;
use ecnlab_queue::{Aqm, Arrival, Cause, Deed, Discipline, Fifo, Glimpse, Limit, Needs, Take, Target, Victim, Wish};
use ecnlab_units::{Dialect, Ecn, Level, Rng, Span, Time, Values};
use proptest::prelude::*;
use proptest::sample::select;

/// An AQM that wishes whatever it was given, in turn. Packets are of the group that their flow says, which there may not be.
struct Whimsical {
    wishes: Vec<Wish>,
    next: usize,
}

/// Groups that the AQM asks for.
const GROUPS: u8 = 2;

impl Aqm for Whimsical {
    fn needs(&self) -> Needs {
        Needs { groups: usize::from(GROUPS), departures: false }
    }

    fn group(&self, packet: &Glimpse) -> u8 {
        packet.flow as u8
    }

    fn arrive(&mut self, _arrival: &Arrival, _rng: &mut Rng) -> Wish {
        self.next += 1;
        self.wishes[(self.next - 1) % self.wishes.len()]
    }
}

/// What became of an arriving packet and of one that waited.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Stored(u64),
    Marked(Packet, Cause),
    Dropped(Packet, Cause),
}

fn offer(fifo: &mut Fifo<Packet>, packet: Packet) -> Vec<Told> {
    let mut told = Vec::new();
    fifo.offer(packet, Time::ZERO, &mut Rng::for_role(1, "fifo"), &mut |deed| {
        told.push(match deed {
            Deed::Stored(packet) => Told::Stored(packet.number),
            Deed::Marked(packet, cause) => Told::Marked(*packet, cause),
            Deed::Dropped(packet, cause) => Told::Dropped(packet, cause),
        });
    });
    told
}

fn take(fifo: &mut Fifo<Packet>) -> Option<Packet> {
    match fifo.take(Time::ZERO, &mut Rng::for_role(1, "fifo"), &mut |deed| panic!("nothing is done at this departure: {deed:?}")) {
        Take::Packet { frame, .. } => Some(frame),
        Take::Later(_) | Take::Empty => None,
    }
}

fn list(fifo: &Fifo<Packet>) -> Vec<Packet> {
    let mut list = Vec::new();
    fifo.frames(&mut |packet| list.push(*packet));
    list
}

/// The plain list.
struct Model {
    waiting: Vec<Packet>,
    limit: Limit,
}

impl Model {
    fn fits(&self, size: u32, without: Option<usize>) -> bool {
        let left = self.waiting.iter().enumerate().filter(|(place, _)| Some(*place) != without).map(|(_, packet)| packet);
        match self.limit {
            Limit::Packets(most) => left.count() < most as usize,
            Limit::Bytes(most) => left.map(|packet| u64::from(packet.size)).sum::<u64>() + u64::from(size) <= most,
        }
    }

    /// What a wish about an arriving packet comes to.
    fn offer(&mut self, packet: Packet, wish: Wish) -> Vec<Told> {
        let full = !self.fits(packet.size, None);
        match wish {
            Wish::Drop { victim, cause } => self.discard(packet, victim, cause),
            _ if full => vec![Told::Dropped(packet, Cause::Overflow)],
            Wish::Pass => self.store(packet),
            Wish::Signal { level, target, cause } => self.signal(packet, level, target, cause),
        }
    }

    fn store(&mut self, packet: Packet) -> Vec<Told> {
        self.waiting.push(packet);
        vec![Told::Stored(packet.number)]
    }

    fn discard(&mut self, packet: Packet, victim: Victim, cause: Cause) -> Vec<Told> {
        let place = match victim {
            Victim::Arriving => usize::MAX,
            Victim::Front => 0,
            Victim::Waiting(place) => place as usize,
        };
        if place >= self.waiting.len() || !self.fits(packet.size, Some(place)) {
            return vec![Told::Dropped(packet, cause)];
        }
        let dropped = Told::Dropped(self.waiting.remove(place), cause);
        self.waiting.push(packet);
        vec![dropped, Told::Stored(packet.number)]
    }

    fn signal(&mut self, packet: Packet, level: Level, target: Target, cause: Cause) -> Vec<Told> {
        use ecnlab_queue::Frame;
        let waiting = match target {
            Target::FrontUnmarked(group) if group < GROUPS => {
                self.waiting.iter().position(|waiting| waiting.flow == u64::from(group) && waiting.takes(level))
            }
            _ => None,
        };
        if waiting.is_none() && !packet.ecn.is_capable() {
            return vec![Told::Dropped(packet, cause)];
        }
        let mut told = self.store(packet);
        let place = waiting.unwrap_or(self.waiting.len() - 1);
        let marked = &mut self.waiting[place];
        if marked.takes(level) {
            marked.mark(level);
            told.push(Told::Marked(*marked, cause));
        }
        told
    }
}

fn wishes() -> impl Strategy<Value = Vec<Wish>> {
    let cause = || select(vec![Cause::Early, Cause::Forced, Cause::Overflow]);
    let level = select(vec![Level::Incipient, Level::Congested]);
    let target = prop_oneof![Just(Target::Arriving), (0u8..4).prop_map(Target::FrontUnmarked)];
    let victim = prop_oneof![Just(Victim::Arriving), Just(Victim::Front), (0u32..30).prop_map(Victim::Waiting)];
    let wish = prop_oneof![
        Just(Wish::Pass),
        (level, target, cause()).prop_map(|(level, target, cause)| Wish::Signal { level, target, cause }),
        (victim, cause()).prop_map(|(victim, cause)| Wish::Drop { victim, cause }),
    ];
    prop::collection::vec(wish, 1..12)
}

fn packets() -> impl Strategy<Value = Vec<(Packet, u8)>> {
    let ecn = select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
    let dialect = select(vec![Dialect::Classic, Dialect::Mecn]);
    let packet =
        (1u32..1500, ecn, dialect, 0u64..4).prop_map(|(size, ecn, dialect, flow)| Packet { size, ecn, dialect, flow, ..Packet::PLAIN });
    prop::collection::vec((packet, 0u8..3), 1..300)
}

fn limits() -> impl Strategy<Value = Limit> {
    prop_oneof![(0u32..30).prop_map(Limit::Packets), (0u64..20_000).prop_map(Limit::Bytes)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_wish_comes_to_what_a_plain_list_makes_of_it(wishes in wishes(), packets in packets(), limit in limits()) {
        let mut fifo = Fifo::new(Box::new(Whimsical { wishes: wishes.clone(), next: 0 }), limit);
        let mut model = Model { waiting: Vec::new(), limit };
        for (number, ((packet, takes), wish)) in packets.into_iter().zip(wishes.iter().cycle()).enumerate() {
            let packet = Packet { number: number as u64, ..packet };
            prop_assert_eq!(model.offer(packet, *wish), offer(&mut fifo, packet));
            for _ in 1..takes {
                let front = (!model.waiting.is_empty()).then(|| model.waiting.remove(0));
                prop_assert_eq!(front, take(&mut fifo));
            }
            prop_assert_eq!(&model.waiting, &list(&fifo));
            fifo.assert_conservation();
        }
    }
}

/// A queue whose AQM always wishes this.
fn always(wish: Wish, limit: u32) -> Fifo<Packet> {
    Fifo::new(Box::new(Whimsical { wishes: vec![wish], next: 0 }), Limit::Packets(limit))
}

#[test]
fn a_packet_that_is_marked_already_is_not_marked_again() {
    let mut fifo = always(Wish::Signal { level: Level::Congested, target: Target::Arriving, cause: Cause::Early }, 20);
    let marks = [Ecn::Ect0, Ecn::Ce, Ecn::Ect1].map(|ecn| offer(&mut fifo, Packet { ecn, ..Packet::PLAIN }).len() - 1);
    assert_eq!(([1, 0, 1], 2), (marks, fifo.total().marked[Cause::Early]));
}

#[test]
fn an_incipient_signal_is_written_only_where_the_network_knows_it() {
    for target in [Target::Arriving, Target::FrontUnmarked(0)] {
        let mut fifo = always(Wish::Signal { level: Level::Incipient, target, cause: Cause::Early }, 20);
        for (dialect, ecn) in
            [(Dialect::Classic, Ecn::Ect0), (Dialect::Mecn, Ecn::Ect0), (Dialect::Mecn, Ecn::Ect1), (Dialect::Classic, Ecn::Ect1)]
        {
            offer(&mut fifo, Packet { dialect, ecn, ..Packet::PLAIN });
        }
        let left: Vec<Ecn> = list(&fifo).iter().map(|packet| packet.ecn).collect();
        assert_eq!((vec![Ecn::Ect0, Ecn::Ect1, Ecn::Ect1, Ecn::Ect1], 1), (left, fifo.total().marked_packets()), "{target:?}");
    }
}

#[test]
fn an_aqm_that_knows_no_overflow_gets_the_arriving_packet_dropped() {
    let mut fifo = always(Wish::Pass, 1);
    offer(&mut fifo, Packet::PLAIN);
    let second = Packet { number: 1, ..Packet::PLAIN };
    assert_eq!(vec![Told::Dropped(second, Cause::Overflow)], offer(&mut fifo, second));
}

#[test]
fn drop_from_front_takes_the_oldest_and_keeps_the_newest() {
    let entry = ecnlab_queue::Registry::builtin().aqm("droptail").unwrap();
    let mut values = Values::defaults(entry.parameters);
    values.read("drop", "front").unwrap();
    let line = ecnlab_queue::registry::Line { rate: ecnlab_units::Rate::from_bps(1_000_000).unwrap(), limit: Limit::Packets(3) };
    let mut fifo = Fifo::new((entry.make)(&values, &line), Limit::Packets(3));
    for number in 0..5 {
        offer(&mut fifo, Packet { number, rtt: Span::ZERO, ..Packet::PLAIN });
    }
    assert_eq!(vec![2, 3, 4], list(&fifo).iter().map(|packet| packet.number).collect::<Vec<_>>());
}
