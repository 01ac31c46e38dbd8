//! A FIFO buffer whose AQM wishes anything at all, held against a plain list.

use ecnlab_queue::{
    Aqm, AqmRequirements, Arrival, DequeueOutcome, Discipline, DropTarget, EnqueueVerdict, Fifo, Limit, MarkTarget, PacketInfo, QueueEvent,
    SignalCause,
};
use ecnlab_testkit::Packet;
use ecnlab_units::{CongestionLevel, Ecn, EcnSemantics, Rng, Span, Time, Values};
use proptest::prelude::*;
use proptest::sample::select;

/// An AQM that wishes whatever it was given, in turn. Packets are of the group that their flow says, which there may not be.
struct Whimsical {
    verdicts: Vec<EnqueueVerdict>,
    next: usize,
}

/// Groups that the AQM asks for.
const GROUPS: u8 = 2;

impl Aqm for Whimsical {
    fn requirements(&self) -> AqmRequirements {
        AqmRequirements { groups: usize::from(GROUPS), dequeue_hook: false }
    }

    fn group_of(&self, packet: &PacketInfo) -> u8 {
        packet.flow as u8
    }

    fn on_enqueue(&mut self, _arrival: &Arrival, _rng: &mut Rng) -> EnqueueVerdict {
        self.next += 1;
        self.verdicts[(self.next - 1) % self.verdicts.len()]
    }
}

/// What became of an arriving packet and of one that waited.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Stored(u64),
    Marked(Packet, SignalCause),
    Dropped(Packet, SignalCause),
}

fn enqueue(fifo: &mut Fifo<Packet>, packet: Packet) -> Vec<Told> {
    let mut told = Vec::new();
    fifo.enqueue(packet, Time::ZERO, &mut Rng::for_role(1, "fifo"), &mut |event| {
        told.push(match event {
            QueueEvent::Stored(packet) => Told::Stored(packet.number),
            QueueEvent::Marked(packet, cause) => Told::Marked(*packet, cause),
            QueueEvent::Dropped(packet, cause) => Told::Dropped(packet, cause),
        });
    });
    told
}

fn dequeue(fifo: &mut Fifo<Packet>) -> Option<Packet> {
    match fifo.dequeue(Time::ZERO, &mut Rng::for_role(1, "fifo"), &mut |event| panic!("nothing is done at this departure: {event:?}")) {
        DequeueOutcome::Packet { packet, .. } => Some(packet),
        DequeueOutcome::RetryAt(_) | DequeueOutcome::Empty => None,
    }
}

fn list(fifo: &Fifo<Packet>) -> Vec<Packet> {
    let mut list = Vec::new();
    fifo.for_each_packet(&mut |packet| list.push(*packet));
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
    fn enqueue(&mut self, packet: Packet, verdict: EnqueueVerdict) -> Vec<Told> {
        let full = !self.fits(packet.size, None);
        match verdict {
            EnqueueVerdict::Drop { target, cause } => self.discard(packet, target, cause),
            _ if full => vec![Told::Dropped(packet, SignalCause::Overflow)],
            EnqueueVerdict::Pass => self.store(packet),
            EnqueueVerdict::Signal { level, target, cause } => self.signal(packet, level, target, cause),
        }
    }

    fn store(&mut self, packet: Packet) -> Vec<Told> {
        self.waiting.push(packet);
        vec![Told::Stored(packet.number)]
    }

    fn discard(&mut self, packet: Packet, target: DropTarget, cause: SignalCause) -> Vec<Told> {
        let place = match target {
            DropTarget::Arriving => usize::MAX,
            DropTarget::Front => 0,
            DropTarget::QueuedAt(place) => place as usize,
        };
        if place >= self.waiting.len() || !self.fits(packet.size, Some(place)) {
            return vec![Told::Dropped(packet, cause)];
        }
        let dropped = Told::Dropped(self.waiting.remove(place), cause);
        self.waiting.push(packet);
        vec![dropped, Told::Stored(packet.number)]
    }

    fn signal(&mut self, packet: Packet, level: CongestionLevel, target: MarkTarget, cause: SignalCause) -> Vec<Told> {
        use ecnlab_queue::QueueItem;
        let waiting = match target {
            MarkTarget::FirstUnmarkedOf(group) if group < GROUPS => {
                self.waiting.iter().position(|waiting| waiting.flow == u64::from(group) && waiting.can_be_marked(level))
            }
            _ => None,
        };
        if waiting.is_none() && !packet.ecn.is_capable() {
            return vec![Told::Dropped(packet, cause)];
        }
        let mut told = self.store(packet);
        let place = waiting.unwrap_or(self.waiting.len() - 1);
        let marked = &mut self.waiting[place];
        if marked.can_be_marked(level) {
            marked.mark(level);
            told.push(Told::Marked(*marked, cause));
        }
        told
    }
}

fn verdicts() -> impl Strategy<Value = Vec<EnqueueVerdict>> {
    let cause = || select(vec![SignalCause::Early, SignalCause::Forced, SignalCause::Overflow]);
    let level = select(vec![CongestionLevel::Incipient, CongestionLevel::Congested]);
    let target = prop_oneof![Just(MarkTarget::Arriving), (0u8..4).prop_map(MarkTarget::FirstUnmarkedOf)];
    let drop_target = prop_oneof![Just(DropTarget::Arriving), Just(DropTarget::Front), (0u32..30).prop_map(DropTarget::QueuedAt)];
    let verdict = prop_oneof![
        Just(EnqueueVerdict::Pass),
        (level, target, cause()).prop_map(|(level, target, cause)| EnqueueVerdict::Signal { level, target, cause }),
        (drop_target, cause()).prop_map(|(target, cause)| EnqueueVerdict::Drop { target, cause }),
    ];
    prop::collection::vec(verdict, 1..12)
}

fn packets() -> impl Strategy<Value = Vec<(Packet, u8)>> {
    let ecn = select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
    let ecn_semantics = select(vec![EcnSemantics::Classic, EcnSemantics::Mecn]);
    let packet = (1u32..1500, ecn, ecn_semantics, 0u64..4).prop_map(|(size, ecn, ecn_semantics, flow)| Packet {
        size,
        ecn,
        ecn_semantics,
        flow,
        ..Packet::PLAIN
    });
    prop::collection::vec((packet, 0u8..3), 1..300)
}

fn limits() -> impl Strategy<Value = Limit> {
    prop_oneof![(0u32..30).prop_map(Limit::Packets), (0u64..20_000).prop_map(Limit::Bytes)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_wish_comes_to_what_a_plain_list_makes_of_it(verdicts in verdicts(), packets in packets(), limit in limits()) {
        let mut fifo = Fifo::new(Box::new(Whimsical { verdicts: verdicts.clone(), next: 0 }), limit);
        let mut model = Model { waiting: Vec::new(), limit };
        for (number, ((packet, can_be_marked), verdict)) in packets.into_iter().zip(verdicts.iter().cycle()).enumerate() {
            let packet = Packet { number: number as u64, ..packet };
            prop_assert_eq!(model.enqueue(packet, *verdict), enqueue(&mut fifo, packet));
            for _ in 1..can_be_marked {
                let front = (!model.waiting.is_empty()).then(|| model.waiting.remove(0));
                prop_assert_eq!(front, dequeue(&mut fifo));
            }
            prop_assert_eq!(&model.waiting, &list(&fifo));
            fifo.assert_conservation();
        }
    }
}

/// A queue whose AQM always wishes this.
fn always(verdict: EnqueueVerdict, limit: u32) -> Fifo<Packet> {
    Fifo::new(Box::new(Whimsical { verdicts: vec![verdict], next: 0 }), Limit::Packets(limit))
}

#[test]
fn a_packet_that_is_marked_already_is_not_marked_again() {
    let mut fifo =
        always(EnqueueVerdict::Signal { level: CongestionLevel::Congested, target: MarkTarget::Arriving, cause: SignalCause::Early }, 20);
    let marks = [Ecn::Ect0, Ecn::Ce, Ecn::Ect1].map(|ecn| enqueue(&mut fifo, Packet { ecn, ..Packet::PLAIN }).len() - 1);
    assert_eq!(([1, 0, 1], 2), (marks, fifo.total_counters().marked[SignalCause::Early]));
}

#[test]
fn an_incipient_signal_is_written_only_where_the_network_knows_it() {
    for target in [MarkTarget::Arriving, MarkTarget::FirstUnmarkedOf(0)] {
        let mut fifo = always(EnqueueVerdict::Signal { level: CongestionLevel::Incipient, target, cause: SignalCause::Early }, 20);
        for (ecn_semantics, ecn) in [
            (EcnSemantics::Classic, Ecn::Ect0),
            (EcnSemantics::Mecn, Ecn::Ect0),
            (EcnSemantics::Mecn, Ecn::Ect1),
            (EcnSemantics::Classic, Ecn::Ect1),
        ] {
            enqueue(&mut fifo, Packet { ecn_semantics, ecn, ..Packet::PLAIN });
        }
        let left: Vec<Ecn> = list(&fifo).iter().map(|packet| packet.ecn).collect();
        assert_eq!((vec![Ecn::Ect0, Ecn::Ect1, Ecn::Ect1, Ecn::Ect1], 1), (left, fifo.total_counters().marked_packets()), "{target:?}");
    }
}

#[test]
fn an_aqm_that_knows_no_overflow_gets_the_arriving_packet_dropped() {
    let mut fifo = always(EnqueueVerdict::Pass, 1);
    enqueue(&mut fifo, Packet::PLAIN);
    let second = Packet { number: 1, ..Packet::PLAIN };
    assert_eq!(vec![Told::Dropped(second, SignalCause::Overflow)], enqueue(&mut fifo, second));
}

#[test]
fn drop_from_front_takes_the_oldest_and_keeps_the_newest() {
    let entry = ecnlab_queue::Registry::builtin().aqm("droptail").unwrap();
    let mut values = Values::defaults(entry.parameters);
    values.set_from_text("drop", "front").unwrap();
    let line = ecnlab_queue::LinkParams { rate: ecnlab_units::Rate::from_bps(1_000_000).unwrap(), limit: Limit::Packets(3) };
    let mut fifo = Fifo::new((entry.make)(&values, &line), Limit::Packets(3));
    for number in 0..5 {
        enqueue(&mut fifo, Packet { number, rtt: Span::ZERO, ..Packet::PLAIN });
    }
    assert_eq!(vec![2, 3, 4], list(&fifo).iter().map(|packet| packet.number).collect::<Vec<_>>());
}
