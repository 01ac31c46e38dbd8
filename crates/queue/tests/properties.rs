//! Random operations on every discipline, with every AQM and with one that wishes anything, at random values, keep the rules.

use ecnlab_queue::conformance::{Setting, Subject, Watched, storm};
use ecnlab_queue::registry::{AQMS, AqmEntry, DISCIPLINES, DisciplineEntry, Holds};
use ecnlab_queue::{Aqm, Arrival, Backlog, Cause, Departure, Expiry, Fate, Glimpse, Limit, Needs, Target, Victim, Wish};
use ecnlab_units::{Level, Rng, Span, Time, parameters};
use proptest::prelude::*;

/// An AQM that wishes anything, and minds what it is shown.
static WHIMSICAL: AqmEntry = AqmEntry {
    name: "whimsical",
    parameters: Settings::PARAMETERS,
    marks: |_| Some(Level::Incipient),
    make: &|values, _| Box::new(Whimsical::new(&Settings::of(values))),
    ..AqmEntry::PLAIN
};

parameters! {
    /// What the whims come from.
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

struct Whimsical {
    needs: Needs,
    whims: Rng,
    deadline: Option<Time>,
    now: Time,
}

impl Whimsical {
    fn new(settings: &Settings) -> Whimsical {
        Whimsical {
            needs: Needs { groups: settings.groups as usize, departures: settings.departures },
            whims: Rng::for_role(settings.seed, "whims"),
            deadline: settings.timer.then_some(Time::ZERO + Span::from_millis(1)),
            now: Time::ZERO,
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.whims.below(bound)
    }

    fn cause(&mut self) -> Cause {
        Cause::ALL[self.below(3) as usize]
    }

    fn level(&mut self) -> Level {
        if self.below(2) == 0 { Level::Incipient } else { Level::Congested }
    }

    /// The queue as it is shown makes sense, and time does not run backwards.
    fn mind(&mut self, now: Time, backlog: Backlog, head_waited: Span) {
        assert!(now >= self.now, "time runs backwards");
        assert!((backlog.packets == 0) == (backlog.bytes == 0), "{backlog:?}");
        assert!(backlog.packets > 0 || head_waited == Span::ZERO, "nothing waits, and the head has waited {head_waited:?}");
        assert!(head_waited <= now.since(Time::ZERO));
        self.now = now;
    }
}

impl Aqm for Whimsical {
    fn needs(&self) -> Needs {
        self.needs
    }

    fn group(&self, packet: &Glimpse) -> u8 {
        (packet.flow % 4) as u8
    }

    fn arrive(&mut self, arrival: &Arrival, _rng: &mut Rng) -> Wish {
        self.mind(arrival.now, arrival.backlog, arrival.head_waited);
        assert_eq!(self.needs.groups, arrival.groups.len());
        assert!(arrival.groups.iter().map(|group| group.bytes).sum::<u64>() <= arrival.backlog.bytes);
        let cause = self.cause();
        match self.below(8) {
            0 | 1 => Wish::Signal { level: self.level(), target: Target::Arriving, cause },
            2 | 3 => Wish::Signal { level: self.level(), target: Target::FrontUnmarked(self.below(4) as u8), cause },
            4 => Wish::Drop { victim: [Victim::Arriving, Victim::Front][self.below(2) as usize], cause },
            5 => Wish::Drop { victim: Victim::Waiting(self.below(60) as u32), cause },
            _ => Wish::Pass,
        }
    }

    fn depart(&mut self, departure: &Departure, _rng: &mut Rng) -> Fate {
        assert!(self.needs.departures, "it did not ask to be asked");
        self.mind(departure.now, departure.backlog, Span::ZERO);
        let cause = self.cause();
        match self.below(4) {
            0 => Fate::Signal { level: self.level(), cause },
            1 => Fate::Drop { cause },
            _ => Fate::Pass,
        }
    }

    fn idle(&mut self, now: Time) {
        self.mind(now, Backlog::NONE, Span::ZERO);
    }

    fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    fn expire(&mut self, expiry: &Expiry, _rng: &mut Rng) {
        self.mind(expiry.now, expiry.backlog, expiry.head_waited);
        assert!(self.deadline.is_some_and(|deadline| deadline <= expiry.now), "its deadline has not come");
        self.deadline = (self.below(50) > 0).then(|| expiry.now + Span::from_micros(1 + self.below(5_000)));
    }
}

/// A discipline with any AQM that it may hold.
fn subjects() -> impl Strategy<Value = Subject> {
    let inside = |discipline: &'static DisciplineEntry, aqm: &'static AqmEntry| Subject {
        discipline,
        aqm: (discipline.holds != Holds::Law).then_some(aqm),
    };
    (0..DISCIPLINES.len(), 0..=AQMS.len())
        .prop_map(move |(discipline, aqm)| inside(DISCIPLINES[discipline], AQMS.get(aqm).unwrap_or(&&WHIMSICAL)))
}

fn limits() -> impl Strategy<Value = Limit> {
    prop_oneof![(1u32..60).prop_map(Limit::Packets), (1u64..60_000).prop_map(Limit::Bytes)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_operations_keep_the_rules(subject in subjects(), limit in limits(), seed in any::<u64>(), operations in 1usize..400) {
        let chosen = subject.draw(limit, &mut Rng::for_role(seed, "values"));
        let mut queue = Watched::new(&subject, &chosen, limit, seed);
        let kept = queue.act_all(&storm(seed, operations)).and_then(|()| queue.drain());
        prop_assert!(kept.is_ok(), "{} with {}: {}", subject.name(), chosen.changes(), kept.unwrap_err());
    }

    #[test]
    fn no_wish_breaks_a_discipline(discipline in 0..DISCIPLINES.len(), limit in limits(), seed in any::<u64>(), operations in 1usize..400) {
        let discipline = DISCIPLINES[discipline];
        let subject = Subject { discipline, aqm: (discipline.holds != Holds::Law).then_some(&WHIMSICAL) };
        let mut chosen = subject.draw(limit, &mut Rng::for_role(seed, "values"));
        chosen.discipline = subject.values(Setting::Defaults).discipline;
        let mut queue = Watched::new(&subject, &chosen, limit, seed);
        let kept = queue.act_all(&storm(seed, operations));
        prop_assert!(kept.is_ok(), "{} with {}: {}", subject.name(), chosen.changes(), kept.unwrap_err());
    }
}
