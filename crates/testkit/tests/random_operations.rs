//! Random operations on every discipline, with every AQM and with one of random verdicts, at random values, keep the invariants.

use ecnlab_queue::registry::{AQMS, DISCIPLINES};
use ecnlab_queue::{
    Aqm, AqmEntry, AqmRequirements, Arrival, Backlog, ChildKind, Departure, DequeueVerdict, DisciplineEntry, DropTarget, EnqueueVerdict,
    Limit, MarkTarget, PacketInfo, SignalCause, TimerContext,
};
use ecnlab_testkit::{CheckedQueue, DefaultOrTestValues, DeviceUnderTest, random_operations};
use ecnlab_units::{CongestionLevel, Rng, Span, Time, parameters};
use proptest::prelude::*;

/// An AQM of random verdicts, which checks its arguments.
static RANDOM_VERDICTS: AqmEntry = AqmEntry {
    name: "whimsical",
    parameters: Settings::PARAMETERS,
    lowest_mark: |_| Some(CongestionLevel::Incipient),
    make: &|values, _| Box::new(RandomVerdicts::new(&Settings::from_values(values))),
    ..AqmEntry::DEFAULTS
};

parameters! {
    /// Source of the random verdicts.
    struct Settings {
        /// Seed of its whims.
        pub seed: u64 = "1", 0..=1e9;
        /// Groups that it asks for.
        pub groups: u32 = "0", 0..=3;
        /// Whether it is asked at departures.
        pub departures: bool = "false";
        /// Whether it has a deadline.
        pub timer: bool = "false";
    }
}

struct RandomVerdicts {
    needs: AqmRequirements,
    whims: Rng,
    deadline: Option<Time>,
    now: Time,
}

impl RandomVerdicts {
    fn new(settings: &Settings) -> RandomVerdicts {
        RandomVerdicts {
            needs: AqmRequirements { groups: settings.groups as usize, dequeue_hook: settings.departures },
            whims: Rng::for_role(settings.seed, "whims"),
            deadline: settings.timer.then_some(Time::ZERO + Span::from_millis(1)),
            now: Time::ZERO,
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.whims.below(bound)
    }

    fn cause(&mut self) -> SignalCause {
        SignalCause::ALL[self.below(3) as usize]
    }

    fn level(&mut self) -> CongestionLevel {
        if self.below(2) == 0 { CongestionLevel::Incipient } else { CongestionLevel::Congested }
    }

    /// The queue as it is shown makes sense, and time does not run backwards.
    fn check_context(&mut self, now: Time, backlog: Backlog, head_sojourn: Span) {
        assert!(now >= self.now, "time runs backwards");
        assert!((backlog.packets == 0) == (backlog.bytes == 0), "{backlog:?}");
        assert!(backlog.packets > 0 || head_sojourn == Span::ZERO, "nothing waits, and the head has waited {head_sojourn:?}");
        assert!(head_sojourn <= now.since(Time::ZERO));
        self.now = now;
    }
}

impl Aqm for RandomVerdicts {
    fn requirements(&self) -> AqmRequirements {
        self.needs
    }

    fn packet_group_index(&self, packet: &PacketInfo) -> u8 {
        (packet.flow % 4) as u8
    }

    fn on_enqueue(&mut self, arrival: &Arrival, _rng: &mut Rng) -> EnqueueVerdict {
        self.check_context(arrival.now, arrival.backlog, arrival.head_sojourn);
        assert_eq!(self.needs.groups, arrival.groups.len());
        assert!(arrival.groups.iter().map(|group| group.bytes).sum::<u64>() <= arrival.backlog.bytes);
        let cause = self.cause();
        match self.below(8) {
            0 | 1 => EnqueueVerdict::Signal { level: self.level(), target: MarkTarget::Arriving, cause },
            2 | 3 => EnqueueVerdict::Signal { level: self.level(), target: MarkTarget::FirstUnmarkedOf(self.below(4) as u8), cause },
            4 => EnqueueVerdict::Drop { target: [DropTarget::Arriving, DropTarget::Front][self.below(2) as usize], cause },
            5 => EnqueueVerdict::Drop { target: DropTarget::QueuedAt(self.below(60) as u32), cause },
            _ => EnqueueVerdict::Pass,
        }
    }

    fn on_dequeue(&mut self, departure: &Departure, _rng: &mut Rng) -> DequeueVerdict {
        assert!(self.needs.dequeue_hook, "it did not ask to be asked");
        self.check_context(departure.now, departure.backlog, Span::ZERO);
        let cause = self.cause();
        match self.below(4) {
            0 => DequeueVerdict::Signal { level: self.level(), cause },
            1 => DequeueVerdict::Drop { cause },
            _ => DequeueVerdict::Pass,
        }
    }

    fn on_queue_empty(&mut self, now: Time) {
        self.check_context(now, Backlog::EMPTY, Span::ZERO);
    }

    fn next_timer(&self) -> Option<Time> {
        self.deadline
    }

    fn on_timer(&mut self, expiry: &TimerContext, _rng: &mut Rng) {
        self.check_context(expiry.now, expiry.backlog, expiry.head_sojourn);
        assert!(self.deadline.is_some_and(|deadline| deadline <= expiry.now), "its deadline has not come");
        self.deadline = (self.below(50) > 0).then(|| expiry.now + Span::from_micros(1 + self.below(5_000)));
    }
}

/// A discipline with any AQM that it may hold.
fn devices_under_test() -> impl Strategy<Value = DeviceUnderTest> {
    let inside = |discipline: &'static DisciplineEntry, aqm: &'static AqmEntry| DeviceUnderTest {
        discipline,
        aqm: (discipline.child != ChildKind::Buffer).then_some(aqm),
    };
    (0..DISCIPLINES.len(), 0..=AQMS.len())
        .prop_map(move |(discipline, aqm)| inside(DISCIPLINES[discipline], AQMS.get(aqm).unwrap_or(&&RANDOM_VERDICTS)))
}

fn limits() -> impl Strategy<Value = Limit> {
    prop_oneof![(1u32..60).prop_map(Limit::Packets), (1u64..60_000).prop_map(Limit::Bytes)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_operations_keep_the_invariants(dut in devices_under_test(), limit in limits(), seed in any::<u64>(), operations in 1usize..400) {
        let values = dut.random_values(limit, &mut Rng::for_role(seed, "values"));
        let mut queue = CheckedQueue::new(&dut, &values, limit, seed);
        let kept = queue.apply_all(&random_operations(seed, operations)).and_then(|()| queue.drain());
        prop_assert!(kept.is_ok(), "{} with {}: {}", dut.name(), values.differences_from_defaults(), kept.unwrap_err());
    }

    #[test]
    fn no_verdict_breaks_a_discipline(discipline in 0..DISCIPLINES.len(), limit in limits(), seed in any::<u64>(), operations in 1usize..400) {
        let discipline = DISCIPLINES[discipline];
        let dut = DeviceUnderTest { discipline, aqm: (discipline.child != ChildKind::Buffer).then_some(&RANDOM_VERDICTS) };
        let mut values = dut.random_values(limit, &mut Rng::for_role(seed, "values"));
        values.discipline = dut.parameter_values_of_set(DefaultOrTestValues::Defaults).discipline;
        let mut queue = CheckedQueue::new(&dut, &values, limit, seed);
        let kept = queue.apply_all(&random_operations(seed, operations));
        prop_assert!(kept.is_ok(), "{} with {}: {}", dut.name(), values.differences_from_defaults(), kept.unwrap_err());
    }
}
