//! A FIFO buffer with an AQM of arbitrary verdicts, compared with a plain list.

use ecnlab_queue::{
    Aqm, AqmRequirements, Arrival, DequeueOutcome, Discipline, DropTarget, EnqueueVerdict, Fifo, Limit, MarkTarget, PacketInfo, QueueEvent,
    SignalCause,
};
use ecnlab_testkit::Packet;
use ecnlab_units::{CongestionLevel, Ecn, EcnSemantics, Rng, Span, Time, Values};
use proptest::prelude::*;
use proptest::sample::select;

/// An AQM that returns given verdicts in turn. A packet's flow is its group, which may not exist.
struct ScriptedAqm {
    verdicts: Vec<EnqueueVerdict>,
    next: usize,
}

/// Groups that the AQM asks for.
const GROUPS: u8 = 2;

impl Aqm for ScriptedAqm {
    fn requirements(&self) -> AqmRequirements {
        AqmRequirements { groups: usize::from(GROUPS), dequeue_hook: false }
    }

    fn packet_group_index(&self, packet: &PacketInfo) -> u8 {
        packet.flow as u8
    }

    fn on_enqueue(&mut self, _arrival: &Arrival, _rng: &mut Rng) -> EnqueueVerdict {
        self.next += 1;
        self.verdicts[(self.next - 1) % self.verdicts.len()]
    }
}

/// Event of an arriving packet or of a queued one.
#[derive(Debug, PartialEq, Eq)]
enum PacketEvent {
    Stored(u64),
    Marked(Packet, SignalCause),
    Dropped(Packet, SignalCause),
}

fn enqueue(fifo: &mut Fifo<Packet>, packet: Packet) -> Vec<PacketEvent> {
    let mut events = Vec::new();
    fifo.enqueue(packet, Time::ZERO, &mut Rng::for_role(1, "fifo"), &mut |event| {
        events.push(match event {
            QueueEvent::Stored(packet) => PacketEvent::Stored(packet.number),
            QueueEvent::Marked(packet, cause) => PacketEvent::Marked(*packet, cause),
            QueueEvent::Dropped(packet, cause) => PacketEvent::Dropped(packet, cause),
        });
    });
    events
}

fn dequeue(fifo: &mut Fifo<Packet>) -> Option<Packet> {
    match fifo.dequeue(Time::ZERO, &mut Rng::for_role(1, "fifo"), &mut |event| panic!("nothing is done at this departure: {event:?}")) {
        DequeueOutcome::Packet { packet, .. } => Some(packet),
        DequeueOutcome::RetryAt(_) | DequeueOutcome::Empty => None,
    }
}

fn stored_packets(fifo: &Fifo<Packet>) -> Vec<Packet> {
    let mut packets = Vec::new();
    fifo.for_each_packet(&mut |packet| packets.push(*packet));
    packets
}

/// The plain list.
struct ListModel {
    waiting: Vec<Packet>,
    limit: Limit,
}

impl ListModel {
    fn has_room(&self, size: u32, without: Option<usize>) -> bool {
        let remaining = self.waiting.iter().enumerate().filter(|(index, _)| Some(*index) != without).map(|(_, packet)| packet);
        match self.limit {
            Limit::Packets(limit) => remaining.count() < limit as usize,
            Limit::Bytes(limit) => remaining.map(|packet| u64::from(packet.size)).sum::<u64>() + u64::from(size) <= limit,
        }
    }

    /// The events of an arriving packet with this verdict.
    fn enqueue(&mut self, packet: Packet, verdict: EnqueueVerdict) -> Vec<PacketEvent> {
        let full = !self.has_room(packet.size, None);
        match verdict {
            EnqueueVerdict::Drop { target, cause } => self.drop_packet(packet, target, cause),
            _ if full => vec![PacketEvent::Dropped(packet, SignalCause::Overflow)],
            EnqueueVerdict::Pass => self.store(packet),
            EnqueueVerdict::Signal { level, target, cause } => self.signal(packet, level, target, cause),
        }
    }

    fn store(&mut self, packet: Packet) -> Vec<PacketEvent> {
        self.waiting.push(packet);
        vec![PacketEvent::Stored(packet.number)]
    }

    fn drop_packet(&mut self, packet: Packet, target: DropTarget, cause: SignalCause) -> Vec<PacketEvent> {
        let index = match target {
            DropTarget::Arriving => usize::MAX,
            DropTarget::Front => 0,
            DropTarget::QueuedAt(index) => index as usize,
        };
        if index >= self.waiting.len() || !self.has_room(packet.size, Some(index)) {
            return vec![PacketEvent::Dropped(packet, cause)];
        }
        let dropped = PacketEvent::Dropped(self.waiting.remove(index), cause);
        self.waiting.push(packet);
        vec![dropped, PacketEvent::Stored(packet.number)]
    }

    fn signal(&mut self, packet: Packet, level: CongestionLevel, target: MarkTarget, cause: SignalCause) -> Vec<PacketEvent> {
        use ecnlab_queue::QueueItem;
        let waiting = match target {
            MarkTarget::FirstUnmarkedOf(group) if group < GROUPS => {
                self.waiting.iter().position(|waiting| waiting.flow == u64::from(group) && waiting.can_be_marked(level))
            }
            _ => None,
        };
        if waiting.is_none() && !packet.ecn.is_capable() {
            return vec![PacketEvent::Dropped(packet, cause)];
        }
        let mut events = self.store(packet);
        let index = waiting.unwrap_or(self.waiting.len() - 1);
        let marked = &mut self.waiting[index];
        if marked.can_be_marked(level) {
            marked.mark(level);
            events.push(PacketEvent::Marked(*marked, cause));
        }
        events
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
        ..Packet::ECT0_1000_BYTES
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
        let mut fifo = Fifo::new(Box::new(ScriptedAqm { verdicts: verdicts.clone(), next: 0 }), limit);
        let mut model = ListModel { waiting: Vec::new(), limit };
        for (number, ((packet, can_be_marked), verdict)) in packets.into_iter().zip(verdicts.iter().cycle()).enumerate() {
            let packet = Packet { number: number as u64, ..packet };
            prop_assert_eq!(model.enqueue(packet, *verdict), enqueue(&mut fifo, packet));
            for _ in 1..can_be_marked {
                let front = (!model.waiting.is_empty()).then(|| model.waiting.remove(0));
                prop_assert_eq!(front, dequeue(&mut fifo));
            }
            prop_assert_eq!(&model.waiting, &stored_packets(&fifo));
            fifo.assert_conservation();
        }
    }
}

/// A queue whose AQM always wishes this.
fn fifo_with_verdict(verdict: EnqueueVerdict, limit: u32) -> Fifo<Packet> {
    Fifo::new(Box::new(ScriptedAqm { verdicts: vec![verdict], next: 0 }), Limit::Packets(limit))
}

#[test]
fn a_packet_that_is_marked_already_is_not_marked_again() {
    let mut fifo = fifo_with_verdict(
        EnqueueVerdict::Signal { level: CongestionLevel::Congested, target: MarkTarget::Arriving, cause: SignalCause::Early },
        20,
    );
    let marks = [Ecn::Ect0, Ecn::Ce, Ecn::Ect1].map(|ecn| enqueue(&mut fifo, Packet { ecn, ..Packet::ECT0_1000_BYTES }).len() - 1);
    assert_eq!(([1, 0, 1], 2), (marks, fifo.total_counters().marked[SignalCause::Early]));
}

#[test]
fn an_incipient_signal_is_written_only_where_the_network_knows_it() {
    for target in [MarkTarget::Arriving, MarkTarget::FirstUnmarkedOf(0)] {
        let mut fifo =
            fifo_with_verdict(EnqueueVerdict::Signal { level: CongestionLevel::Incipient, target, cause: SignalCause::Early }, 20);
        for (ecn_semantics, ecn) in [
            (EcnSemantics::Classic, Ecn::Ect0),
            (EcnSemantics::Mecn, Ecn::Ect0),
            (EcnSemantics::Mecn, Ecn::Ect1),
            (EcnSemantics::Classic, Ecn::Ect1),
        ] {
            enqueue(&mut fifo, Packet { ecn_semantics, ecn, ..Packet::ECT0_1000_BYTES });
        }
        let remaining: Vec<Ecn> = stored_packets(&fifo).iter().map(|packet| packet.ecn).collect();
        assert_eq!(
            (vec![Ecn::Ect0, Ecn::Ect1, Ecn::Ect1, Ecn::Ect1], 1),
            (remaining, fifo.total_counters().marked_packets()),
            "{target:?}"
        );
    }
}

#[test]
fn an_aqm_that_knows_no_overflow_gets_the_arriving_packet_dropped() {
    let mut fifo = fifo_with_verdict(EnqueueVerdict::Pass, 1);
    enqueue(&mut fifo, Packet::ECT0_1000_BYTES);
    let second = Packet { number: 1, ..Packet::ECT0_1000_BYTES };
    assert_eq!(vec![PacketEvent::Dropped(second, SignalCause::Overflow)], enqueue(&mut fifo, second));
}

#[test]
fn drop_from_front_takes_the_oldest_and_keeps_the_newest() {
    let entry = ecnlab_queue::Registry::builtin().aqm("droptail").unwrap();
    let mut values = Values::defaults(entry.parameters);
    values.set_from_text("drop", "front").unwrap();
    let line = ecnlab_queue::LinkParams { rate: ecnlab_units::Rate::from_bps(1_000_000).unwrap(), limit: Limit::Packets(3) };
    let mut fifo = Fifo::new((entry.make)(&values, &line), Limit::Packets(3));
    for number in 0..5 {
        enqueue(&mut fifo, Packet { number, rtt: Span::ZERO, ..Packet::ECT0_1000_BYTES });
    }
    assert_eq!(vec![2, 3, 4], stored_packets(&fifo).iter().map(|packet| packet.number).collect::<Vec<_>>());
}
