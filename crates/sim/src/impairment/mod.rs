//! Impairments: what happens to packets at the entry of a link, before its queue. They are small parts in an order, each with a stream of
//! its own; a packet meets one after another until one of them takes or holds it. What is held goes on later with the part behind.
//!
//! A part is told of a packet and answers with a [`Deed`], which the engine does.

mod ecn;
mod gilbert;
mod held;
mod jitter;
mod loss;
mod reorder;
pub mod script;
#[cfg(test)]
mod testing;

use std::collections::BTreeMap;

use ecnlab_units::{Ecn, Level, Parameter, Rng, Time, Values, parameters};

pub use ecn::EcnPath;
use held::Held;
pub use held::HeldPacket;
use loss::{Periodic, Random};

use crate::packet::{Packet, PacketId};

parameters! {
    /// The impairments that have a key of their own.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        /// What the path does to ECN: nothing; clear ECT and CE; drop packets with ECT or CE; clear ECE and CWR of SYN and SYN-ACK; drop
        /// ECN-setup SYNs.
        #[source("Bauer, Beverly and Berger 2011; RFC 3168, section 6.1.1.1")]
        pub ecn: EcnPath = "keep";
        /// Probability that a packet is lost before the queue, each independently of the others.
        #[source("ns-2 2.35, ErrorModel")]
        #[off("1", "every packet is lost")]
        pub loss: f64 = "0", 0..=1;
        /// One packet in so many is lost before the queue: the last of each so many that come; 0 loses none.
        #[source("RFC 3649, section 2: the deterministic model of response functions; ns-2 2.35, ErrorModel/Periodic")]
        #[off("1", "every packet is lost")]
        pub loss_every: u64 = "0", 0..=1e12, "packets";
    }
}

/// A kind of impairment as users meet it.
pub struct Entry {
    /// The word that names it, and its random stream.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// The paper, RFC or program that it follows.
    pub source: &'static str,
    /// What a user may set.
    pub parameters: &'static [Parameter],
    /// Parameters that none must be given of, as they may be together.
    pub example: Option<&'static str>,
    /// Contradictions among the parameters: the parameter's name and what is wrong.
    pub check: fn(&Values) -> Contradictions,
    /// Makes it, of values that agree with each other.
    pub make: fn(&Values) -> Part,
}

/// What contradicts itself: the parameter's name and what is wrong.
pub type Contradictions = Vec<(&'static str, String)>;

/// The kinds, one line each.
#[rustfmt::skip]
pub static KINDS: &[&Entry] = &[
    &loss::LOSS,
    &loss::PERIODIC,
    &gilbert::ENTRY,
    &script::ENTRY,
    &ecn::MARK,
    &ecn::ENTRY,
    &jitter::ENTRY,
    &reorder::REORDER,
    &reorder::DUPLICATE,
];

/// The names of the kinds, in the same order.
pub static KIND_WORDS: [&str; KINDS.len()] = {
    let mut words = [""; KINDS.len()];
    let mut at = 0;
    while at < words.len() {
        words[at] = KINDS[at].name;
        at += 1;
    }
    words
};

/// A part, as it is before the first packet.
#[derive(Clone, Debug)]
pub enum Part {
    Ecn(EcnPath),
    Loss(Random),
    Periodic(Periodic),
    Bursts(gilbert::GilbertElliott),
    Script(script::Script),
    Mark(ecn::Marking),
    Jitter(Box<jitter::Jitter>),
    Reorder(reorder::Reorder),
    Duplicate(reorder::Duplicate),
}

/// What a part does to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Pass,
    /// Passes with other ECN bits.
    Clear,
    /// Is marked, if it can be.
    Mark(Level),
    /// Is marked also if it is not ECN-capable.
    ForceMark,
    Lose,
    /// Is lost for its ECN bits.
    Refuse,
    /// Passes, and a copy behind it.
    Copy,
    /// Goes on at this time.
    Hold(Time),
}

/// What a link does to packets before they wait: the parts in their order.
#[derive(Clone, Debug, Default)]
pub struct ImpairmentSpec {
    pub parts: Vec<Part>,
}

/// The impairments of a link as they run.
pub struct Impairment {
    parts: Vec<Running>,
    held: Held,
    /// Its place in the calendar, for what it holds.
    pub deadline: u32,
    /// Copies made in the whole run.
    pub copied: u64,
}

/// A part as it runs.
struct Running {
    part: Part,
    rng: Rng,
    counts: Counts,
    before: Counts,
    /// Packets that have come to it, and the last of them among those that went on.
    came: u64,
    furthest: u64,
}

/// What a part has done, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub arrived: u64,
    pub lost: u64,
    pub refused: u64,
    pub marked: u64,
    pub cleared: u64,
    pub copied: u64,
    pub held: u64,
    /// Went on after one that came later.
    pub reordered: u64,
}

/// Packets that never came to the queue: lost, and dropped for their ECN bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    pub lost: u64,
    pub ecn: u64,
}

impl Entry {
    /// What may be left out of an entry beside what makes it.
    const fn with(make: fn(&Values) -> Part) -> Entry {
        Entry { name: "", title: "", summary: "", source: "", parameters: &[], example: None, check: |_| Vec::new(), make }
    }
}

impl ImpairmentSpec {
    /// These parts in this order; nothing if there are none.
    pub fn of(parts: impl IntoIterator<Item = Part>) -> Option<Box<ImpairmentSpec>> {
        let parts: Vec<Part> = parts.into_iter().collect();
        (!parts.is_empty()).then(|| Box::new(ImpairmentSpec { parts }))
    }

    /// A script and nothing else.
    pub fn scripted(script: script::Script) -> Option<Box<ImpairmentSpec>> {
        ImpairmentSpec::of([Part::Script(script)])
    }
}

impl Settings {
    /// The parts that these keys stand for.
    pub fn parts(self) -> impl Iterator<Item = Part> {
        let Settings { ecn, loss, loss_every } = self;
        let ecn = (ecn != EcnPath::Keep).then_some(Part::Ecn(ecn));
        let periodic = (loss_every > 0).then(|| Part::periodic_losses(loss_every));
        let random = (loss > 0.0).then_some(Part::random_losses(loss));
        [ecn, periodic, random].into_iter().flatten()
    }
}

impl Part {
    /// Losses with this probability.
    pub fn random_losses(rate: f64) -> Part {
        Part::Loss(Random { rate })
    }

    /// The last of each so many packets is lost.
    pub fn periodic_losses(every: u64) -> Part {
        Part::Periodic(Periodic::new(every))
    }

    /// Whether it writes marks.
    pub fn marks(&self) -> bool {
        match self {
            Part::Mark(_) => true,
            Part::Script(script) => script.marks(),
            _ => false,
        }
    }

    fn entry(&self) -> &'static Entry {
        match self {
            Part::Ecn(_) => &ecn::ENTRY,
            Part::Loss(_) => &loss::LOSS,
            Part::Periodic(_) => &loss::PERIODIC,
            Part::Bursts(_) => &gilbert::ENTRY,
            Part::Script(_) => &script::ENTRY,
            Part::Mark(_) => &ecn::MARK,
            Part::Jitter(_) => &jitter::ENTRY,
            Part::Reorder(_) => &reorder::REORDER,
            Part::Duplicate(_) => &reorder::DUPLICATE,
        }
    }

    fn meet(&mut self, packet: &mut Packet, now: Time, rng: &mut Rng) -> Deed {
        match self {
            Part::Ecn(path) => path.meet(packet),
            Part::Loss(losses) => losses.meet(rng),
            Part::Periodic(losses) => losses.meet(),
            Part::Bursts(channel) => channel.meet(rng),
            Part::Script(script) => script.meet(packet, now),
            Part::Mark(marking) => marking.meet(rng),
            Part::Jitter(jitter) => jitter.meet(now, rng),
            Part::Reorder(reorder) => reorder.meet(now, rng),
            Part::Duplicate(duplicate) => duplicate.meet(rng),
        }
    }
}

impl Impairment {
    /// `stream` gives the stream of a role.
    pub fn new(spec: &ImpairmentSpec, stream: impl Fn(&str) -> Rng, deadline: u32) -> Impairment {
        let mut alike: BTreeMap<&str, u32> = BTreeMap::new();
        let mut role = |part: &Part| {
            let name = part.entry().name;
            let nth = alike.entry(name).or_default();
            *nth += 1;
            if *nth == 1 { name.to_owned() } else { format!("{name} {nth}") }
        };
        let parts = spec.parts.iter().map(|part| Running::new(part.clone(), stream(&role(part)))).collect();
        Impairment { parts, held: Held::default(), deadline, copied: 0 }
    }

    /// Whether there is a part of this number.
    pub fn has(&self, part: usize) -> bool {
        part < self.parts.len()
    }

    /// A packet comes to a part. A mark that would change nothing is none.
    pub fn meet(&mut self, part: usize, packet: &mut Packet, now: Time) -> Deed {
        let deed = self.parts[part].meet(packet, now);
        self.copied += u64::from(deed == Deed::Copy);
        deed
    }

    /// Holds a packet behind the part that says so.
    pub fn hold(&mut self, part: usize, packet: PacketId, now: Time, until: Time) {
        let running = &mut self.parts[part];
        let key = self.held.hold(until, HeldPacket { packet, part, number: running.came, held_since: now });
        if let Part::Reorder(reorder) = &mut running.part {
            reorder.held(key);
        }
    }

    /// The next packet held by a part that goes on since others have overtaken it.
    pub fn overtaken(&mut self, part: usize) -> Option<HeldPacket> {
        let Part::Reorder(reorder) = &mut self.parts[part].part else { return None };
        let held = std::iter::from_fn(|| reorder.overtaken()).find_map(|key| self.held.take(key))?;
        self.goes_on(held)
    }

    /// The next packet whose time has come.
    pub fn due(&mut self, now: Time) -> Option<HeldPacket> {
        let held = self.held.due(now)?;
        self.goes_on(held)
    }

    fn goes_on(&mut self, held: HeldPacket) -> Option<HeldPacket> {
        self.parts[held.part].goes_on(held.number);
        Some(held)
    }

    /// When the next packet that is held goes on, and when it was held.
    pub fn next_due(&self) -> Option<(Time, Time)> {
        self.held.next()
    }

    /// What is held.
    pub fn held(&self) -> impl ExactSizeIterator<Item = PacketId> + '_ {
        self.held.iter()
    }

    /// Starts the measured interval.
    pub fn begin_measuring(&mut self) {
        self.parts.iter_mut().for_each(|part| part.before = part.counts);
    }

    /// What each part did in the measured interval, with the place of its kind among [`KINDS`].
    pub fn counts(&self) -> impl Iterator<Item = (u32, Counts)> + '_ {
        let kind = |part: &Part| KINDS.iter().position(|entry| entry.name == part.entry().name).unwrap_or_default() as u32;
        self.parts.iter().map(move |running| (kind(&running.part), running.counts.since(&running.before)))
    }

    /// What was lost in the measured interval.
    pub fn losses(&self) -> Losses {
        self.counts().fold(Losses::default(), |sum, (_, part)| Losses { lost: sum.lost + part.lost, ecn: sum.ecn + part.refused })
    }
}

impl Running {
    fn new(part: Part, rng: Rng) -> Running {
        Running { part, rng, counts: Counts::default(), before: Counts::default(), came: 0, furthest: 0 }
    }

    fn meet(&mut self, packet: &mut Packet, now: Time) -> Deed {
        self.came += 1;
        self.counts.arrived += 1;
        let mut deed = self.part.meet(packet, now, &mut self.rng);
        if let Deed::Mark(level) = deed {
            let marked = packet.dialect().mark(packet.ecn, level);
            let before = std::mem::replace(&mut packet.ecn, marked);
            deed = if marked == before { Deed::Pass } else { deed };
        }
        if deed == Deed::ForceMark {
            packet.ecn = Ecn::Ce;
        }
        match deed {
            Deed::Pass => {}
            Deed::Clear => self.counts.cleared += 1,
            Deed::Mark(_) | Deed::ForceMark => self.counts.marked += 1,
            Deed::Lose => self.counts.lost += 1,
            Deed::Refuse => self.counts.refused += 1,
            Deed::Copy => self.counts.copied += 1,
            Deed::Hold(_) => {
                self.counts.held += 1;
                return deed;
            }
        }
        self.goes_on(self.came);
        deed
    }

    /// The packet that came as this one goes on.
    fn goes_on(&mut self, number: u64) {
        self.counts.reordered += u64::from(number < self.furthest);
        self.furthest = self.furthest.max(number);
    }
}

impl Counts {
    fn since(&self, before: &Counts) -> Counts {
        let since = |of: fn(&Counts) -> u64| of(self) - of(before);
        Counts {
            arrived: since(|counts| counts.arrived),
            lost: since(|counts| counts.lost),
            refused: since(|counts| counts.refused),
            marked: since(|counts| counts.marked),
            cleared: since(|counts| counts.cleared),
            copied: since(|counts| counts.copied),
            held: since(|counts| counts.held),
            reordered: since(|counts| counts.reordered),
        }
    }

    /// With what another has counted.
    pub fn plus(&self, other: &Counts) -> Counts {
        Counts {
            arrived: self.arrived + other.arrived,
            lost: self.lost + other.lost,
            refused: self.refused + other.refused,
            marked: self.marked + other.marked,
            cleared: self.cleared + other.cleared,
            copied: self.copied + other.copied,
            held: self.held + other.held,
            reordered: self.reordered + other.reordered,
        }
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Span;

    use super::script::Script;
    use super::testing::{segment, syn, syn_ack};
    use super::*;

    fn path(parts: impl IntoIterator<Item = Part>) -> Impairment {
        Impairment::new(&ImpairmentSpec::of(parts).unwrap(), |role| Rng::for_role(1, &format!("{role} test")), 0)
    }

    /// A part of this kind with these parameters.
    fn part(kind: &str, given: &[(&str, &str)]) -> Part {
        let entry = KINDS.iter().find(|entry| entry.name == kind).unwrap();
        let mut values = Values::defaults(entry.parameters);
        given.iter().for_each(|(name, text)| values.read(name, text).unwrap());
        (entry.make)(&values)
    }

    /// What comes out of a path: the IP header's codepoint, CWR and ECE; nothing if it is gone.
    fn behind(ecn: EcnPath, mut packet: Packet) -> Option<(Ecn, bool, bool)> {
        let mut path = path([Part::Ecn(ecn)]);
        let gone = path.meet(0, &mut packet, Time::ZERO) == Deed::Refuse;
        assert_eq!(Losses { lost: 0, ecn: u64::from(gone) }, path.losses());
        (!gone).then_some((packet.ecn, packet.bits.cwr(), packet.bits.ece()))
    }

    #[test]
    fn each_path_touches_its_own_ecn_bits_and_no_others() {
        let cases = [
            (EcnPath::Keep, [Some((Ecn::Ect0, true, false)), Some((Ecn::Ce, true, false)), Some((Ecn::NotEct, true, true))]),
            (EcnPath::Bleach, [Some((Ecn::NotEct, true, false)), Some((Ecn::NotEct, true, false)), Some((Ecn::NotEct, true, true))]),
            (EcnPath::Drop, [None, None, Some((Ecn::NotEct, true, true))]),
            (EcnPath::ClearFlags, [Some((Ecn::Ect0, true, false)), Some((Ecn::Ce, true, false)), Some((Ecn::NotEct, false, false))]),
            (EcnPath::DropSetup, [Some((Ecn::Ect0, true, false)), Some((Ecn::Ce, true, false)), None]),
        ];
        for (ecn, expected) in cases {
            assert_eq!(expected, [segment(Ecn::Ect0), segment(Ecn::Ce), syn()].map(|packet| behind(ecn, packet)), "{ecn:?}");
        }
    }

    #[test]
    fn an_answer_to_a_setup_passes_where_setups_are_dropped_and_loses_its_flags_where_flags_are_cleared() {
        assert_eq!(Some((Ecn::NotEct, false, true)), behind(EcnPath::DropSetup, syn_ack()));
        assert_eq!(Some((Ecn::NotEct, false, false)), behind(EcnPath::ClearFlags, syn_ack()));
    }

    #[test]
    fn random_deeds_are_as_frequent_as_declared() {
        let cases = [
            ("loss", Deed::Lose),
            ("mark", Deed::Mark(Level::Congested)),
            ("duplicate", Deed::Copy),
            ("reorder", Deed::Hold(Time::ZERO + Span::from_millis(10))),
        ];
        for (kind, deed) in cases {
            let mut path = path([part(kind, &[("rate", "0.1")])]);
            let done = (0..100_000).filter(|_| path.meet(0, &mut segment(Ecn::Ect0), Time::ZERO) == deed).count();
            // Five standard deviations of 95.
            assert!((9_525..10_475).contains(&done), "{kind}: {done}");
            let Counts { arrived, lost, marked, copied, held, .. } = path.parts[0].counts;
            assert_eq!((100_000, done as u64), (arrived, lost + marked + copied + held), "{kind}");
        }
    }

    #[test]
    fn periodic_losses_take_the_last_of_each_so_many() {
        let mut path = path([Part::periodic_losses(4)]);
        let lost: Vec<usize> = (1..=12).filter(|_| path.meet(0, &mut segment(Ecn::Ect0), Time::ZERO) == Deed::Lose).collect();
        assert_eq!(vec![4, 8, 12], lost);
        assert_eq!(Losses { lost: 3, ecn: 0 }, path.losses());
    }

    #[test]
    fn a_mark_is_as_loud_as_the_part_says_and_none_where_it_changes_nothing() {
        let script =
            Script::new(Vec::new(), vec![(5, 0, Level::Incipient), (5, 1, Level::Congested), (5, 2, Level::Congested)], Vec::new());
        let mut path = path([Part::Script(script)]);
        let marks = [Ecn::Ect0, Ecn::Ect0, Ecn::NotEct].map(|ecn| {
            let mut packet = segment(ecn);
            (path.meet(0, &mut packet, Time::ZERO), packet.ecn)
        });
        let [incipient, congested] = [Level::Incipient, Level::Congested].map(Deed::Mark);
        assert_eq!([(incipient, Ecn::Ect1), (congested, Ecn::Ce), (Deed::Pass, Ecn::NotEct)], marks);
        assert_eq!(2, path.parts[0].counts.marked);
    }

    #[test]
    fn each_part_draws_from_a_stream_of_its_own_and_the_first_of_a_kind_from_that_of_its_name() {
        let lone = |role: &str| {
            let mut rng = Rng::for_role(1, role);
            (0..50).map(|_| rng.uniform() < 0.5).collect::<Vec<_>>()
        };
        let mut path = path([part("duplicate", &[]), Part::random_losses(0.5), Part::random_losses(0.5)]);
        let lost = [1, 2].map(|at| (0..50).map(|_| path.meet(at, &mut segment(Ecn::Ect0), Time::ZERO) == Deed::Lose).collect::<Vec<_>>());
        assert_eq!([lone("loss test"), lone("loss 2 test")], lost);
    }

    /// Packets come a millisecond apart; which go on at which millisecond, by number from 1. `held` are those that are held for 100 ms.
    fn way_through(packets: &str, held: &[u64], count: u64) -> Vec<(u64, u64)> {
        let mut path = path([part("reorder", &[("rate", "0.5"), ("packets", packets), ("delay", "100 ms")])]);
        let mut went = Vec::new();
        for number in 1..=count {
            let now = Time::ZERO + Span::from_millis(number);
            let wanted = held.contains(&number);
            // The draws are passed over until one is as wanted.
            while (path.parts[0].rng.clone().uniform() < 0.5) != wanted {
                path.parts[0].rng.uniform();
            }
            match path.meet(0, &mut segment(Ecn::Ect0), now) {
                Deed::Hold(until) => path.hold(0, number as PacketId, now, until),
                _ => went.push((number, number)),
            }
            while let Some(held) = path.overtaken(0) {
                went.push((u64::from(held.packet), number));
            }
        }
        while let Some((next, _)) = path.next_due() {
            let held = path.due(next).unwrap();
            went.push((u64::from(held.packet), next.picos() / 1_000_000_000));
        }
        let reordered = went.iter().enumerate().filter(|(at, (number, _))| went[..*at].iter().any(|(earlier, _)| earlier > number)).count();
        assert_eq!(reordered as u64, path.parts[0].counts.reordered);
        went
    }

    #[test]
    fn a_held_packet_goes_on_when_so_many_have_overtaken_it_or_its_time_has_come() {
        assert_eq!(vec![(1, 1), (3, 3), (4, 4), (2, 4), (5, 5)], way_through("2", &[2], 5));
        assert_eq!(vec![(1, 1), (4, 4), (5, 5), (2, 5), (3, 5)], way_through("2", &[2, 3], 5));
        assert_eq!(vec![(1, 1), (3, 3), (2, 102)], way_through("5", &[2], 3));
        assert_eq!(vec![(2, 2), (1, 101), (3, 103)], way_through("off", &[1, 3], 3));
    }

    #[test]
    fn names_are_unique_and_every_kind_makes_what_its_entry_says() {
        for (at, entry) in KINDS.iter().enumerate() {
            assert!(KINDS[..at].iter().all(|other| other.name != entry.name), "{}", entry.name);
            let given: &[_] = if entry.name == "burst-loss" { &[("rate", "0.01"), ("burst", "3")] } else { &[] };
            assert_eq!(entry.name, part(entry.name, given).entry().name);
        }
    }
}
