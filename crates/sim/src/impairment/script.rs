//! Scripted losses, marks, copies and delays, for cases whose every packet is known: packets are told by their number at the link, by when
//! they come, by what they do to the connection, or by flow and segment.

use std::collections::BTreeMap;
use std::ops::Range;

use ecnlab_transport::Role;
use ecnlab_units::parameter::OrOff;
use ecnlab_units::{Level, Span, Time, Values, parameters, words};

use super::ecn::Loudness;
use super::{Contradictions, Deed, Entry, Part};
use crate::packet::Packet;

pub static ENTRY: Entry = Entry {
    name: "script",
    title: "Scripted losses or marks",
    summary: "Loses or marks the packets that it names: by number, by time, or by segment.",
    source: "ns-2 2.35, ErrorModel/List",
    parameters: Settings::PARAMETERS,
    example: Some("numbers = [10, 11]"),
    check: |values| Settings::of(values).check(),
    ..Entry::with(|values| Part::Script(Script::of(values)))
};

parameters! {
    /// A script as a scenario sets it.
    struct Settings {
        /// What is done to the packets.
        #[source("ns-2 2.35, ErrorModel/List, droplist; RFC 3168, section 5")]
        pub deed: DeedName = "drop";
        /// How loud marks are: CE, or MECN's quieter level.
        #[source("RFC 3168, section 5; Durresi, Sridharan, Liu, Goyal and Jain 2001")]
        #[when(deed = "mark")]
        pub level: Loudness = "congested";
        /// Packets by their number at this place of the link, from 0, whatever they are.
        #[source("ns-2 2.35, ErrorModel/List, droplist")]
        pub numbers: OrOff<Vec<u64>> = "off", 0..=1e12;
        /// The first packet that comes at each of these times or later.
        #[source("ns-2 2.35, ErrorModel, unit_ time")]
        pub times: OrOff<Vec<Span>> = "off", 0..=8_640_000, "s";
        /// Segments by their number, from 0; a SYN and a FIN take a number each.
        #[source("ns-2 2.35, Agent/TCP, seqno_")]
        pub segments: OrOff<Vec<u64>> = "off", 0..=1e12;
        /// The flow of the segments, by its number in results, from 0; auto is every flow.
        #[source("ns-2 2.35, Agent/TCP, fid_")]
        pub flow: Option<u32> = "auto", 0..=1_000_000;
        /// Which transmission of the segments, counted over all connections of the flow: 0 is the first, 1 the first retransmission.
        #[source("ns-2 2.35, Agent/TCP, seqno_")]
        pub transmission: u32 = "0", 0..=1_000_000;
    }
}

words! {
    /// What a script does to packets.
    enum DeedName { Drop = "drop", Mark = "mark" }
}

/// What to do to which packets of a link.
#[derive(Clone, Debug, Default)]
pub struct Script {
    numbered: Ahead<u64>,
    timed: Ahead<Time>,
    rules: Vec<Running>,
    passed: u64,
    /// How often the segments of a flow have come that a rule tells by their transmission.
    seen: BTreeMap<(u32, u64), u32>,
}

/// A deed, and the packets to which it is done.
#[derive(Clone, Debug)]
pub struct Rule {
    pub which: Which,
    pub act: Act,
}

/// How packets are told.
#[derive(Clone, Debug)]
pub enum Which {
    /// By their number at this link, from 0, whatever they are.
    Numbers(Range<u64>),
    /// Data by its segment, and which transmission of it this is, from 0; every one if there is none.
    Segments { of: Range<u64>, flow: Option<u32>, transmission: Option<u32> },
    /// By what they do to the connection, and which such packet this is, from 0.
    Flagged { flag: Flag, nth: Option<u32> },
    /// By when they come.
    During(Range<Time>),
}

/// What a packet does to its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag {
    Syn,
    Fin,
    /// Tells that the window is reduced, behind the handshake.
    Cwr,
}

/// What is done to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Drop,
    /// Marked if it can be.
    Mark(Level),
    /// Congestion experienced is written into it also if it is not ECN-capable.
    ForceMark,
    Copy,
    /// Goes on so much later; others overtake it.
    Delay(Span),
}

/// A rule, and how many packets have come to it that it tells by their count.
#[derive(Clone, Debug)]
struct Running {
    rule: Rule,
    came: u32,
}

/// Deeds in the order in which they come up.
#[derive(Clone, Debug)]
struct Ahead<T> {
    deeds: Vec<(T, Deed)>,
    next: usize,
}

impl Settings {
    fn check(&self) -> Contradictions {
        let Settings { numbers, times, segments, flow, transmission, .. } = self;
        if numbers.0.is_none() && times.0.is_none() && segments.0.is_none() {
            return vec![(
                "numbers",
                "is missing: say which packets, as numbers = [10, 11], times = [\"2 s\"] or segments = [5]".to_owned(),
            )];
        }
        let needs = |name, given| {
            (given && segments.0.is_none()).then(|| (name, "is read only with segments: leave it out, or give them".to_owned()))
        };
        [needs("flow", flow.is_some()), needs("transmission", *transmission > 0)].into_iter().flatten().collect()
    }
}

impl Script {
    /// Data segments to drop, each with which of its transmissions, from 0; those to mark likewise, and how loud; and packets to drop by
    /// their number at this link, from 0, whatever they are.
    pub fn new(drops: Vec<(u64, u32)>, marks: Vec<(u64, u32, Level)>, drop_numbers: Vec<u64>) -> Script {
        let dropped = drops.into_iter().map(|(seq, transmission)| Rule::of_segment(seq, None, transmission, Act::Drop));
        let marked = marks.into_iter().map(|(seq, transmission, level)| Rule::of_segment(seq, None, transmission, Act::Mark(level)));
        let numbered = Ahead::new(drop_numbers.into_iter().map(|number| (number, Deed::Lose)));
        Script { numbered, ..Script::of_rules(dropped.chain(marked)) }
    }

    /// Of the rules that tell a packet the first is followed.
    pub fn of_rules(rules: impl IntoIterator<Item = Rule>) -> Script {
        Script { rules: rules.into_iter().map(|rule| Running { rule, came: 0 }).collect(), ..Script::default() }
    }

    fn of(values: &Values) -> Script {
        let settings = Settings::of(values);
        let level = if settings.level == Loudness::Congested { Level::Congested } else { Level::Incipient };
        let act = if settings.deed == DeedName::Drop { Act::Drop } else { Act::Mark(level) };
        let deed = act.deed(Time::ZERO);
        let Settings { flow, transmission, .. } = settings;
        let numbers = settings.numbers.0.unwrap_or_default().into_iter();
        let times = settings.times.0.unwrap_or_default().into_iter();
        let segments = settings.segments.0.unwrap_or_default().into_iter();
        Script {
            numbered: Ahead::new(numbers.map(|number| (number, deed))),
            timed: Ahead::new(times.map(|time| (Time::ZERO + time, deed))),
            ..Script::of_rules(segments.map(|seq| Rule::of_segment(seq, flow, transmission, act)))
        }
    }

    /// Whether it marks packets.
    pub fn marks(&self) -> bool {
        let listed = self.numbered.deeds.iter().map(|(_, deed)| deed).chain(self.timed.deeds.iter().map(|(_, deed)| deed));
        listed.copied().chain(self.rules.iter().map(|running| running.rule.act.deed(Time::ZERO))).any(|deed| matches!(deed, Deed::Mark(_)))
    }

    /// Decides about a packet that comes now.
    pub fn meet(&mut self, packet: &Packet, now: Time) -> Deed {
        let number = self.passed;
        self.passed += 1;
        let by_number = self.numbered.come_to(number);
        let by_time = self.timed.come_to(now);
        by_number.or(by_time).or_else(|| self.by_rule(number, packet, now)).unwrap_or(Deed::Pass)
    }

    fn by_rule(&mut self, number: u64, packet: &Packet, now: Time) -> Option<Deed> {
        let transmission = self.transmission(packet);
        let mut first = None;
        for Running { rule, came } in &mut self.rules {
            let tells = match &rule.which {
                Which::Numbers(numbers) => numbers.contains(&number),
                Which::During(times) => times.contains(&now),
                Which::Segments { transmission: nth, .. } => rule.is_of_segment(packet) && nth.is_none_or(|nth| Some(nth) == transmission),
                Which::Flagged { flag, nth } if flag.is_on(packet) => {
                    *came += 1;
                    nth.is_none_or(|nth| nth == *came - 1)
                }
                Which::Flagged { .. } => false,
            };
            if tells && first.is_none() {
                first = Some(rule.act.deed(now));
            }
        }
        first
    }

    /// Which transmission of a segment this is, from 0, where a rule asks for it.
    fn transmission(&mut self, packet: &Packet) -> Option<u32> {
        self.rules.iter().find(|running| running.rule.is_of_segment(packet))?;
        let seen = self.seen.entry((packet.flow, packet.seq)).or_default();
        *seen += 1;
        Some(*seen - 1)
    }
}

impl Rule {
    fn of_segment(seq: u64, flow: Option<u32>, transmission: u32, act: Act) -> Rule {
        Rule { which: Which::Segments { of: seq..seq + 1, flow, transmission: Some(transmission) }, act }
    }

    /// Whether it tells packets by their segment, and this is one of them.
    fn is_of_segment(&self, packet: &Packet) -> bool {
        let Which::Segments { of, flow, .. } = &self.which else { return false };
        !packet.is_ack() && packet.role() != Role::Pure && of.contains(&packet.seq) && flow.is_none_or(|only| only == packet.flow)
    }
}

impl Flag {
    fn is_on(self, packet: &Packet) -> bool {
        match self {
            Flag::Syn => packet.role() == Role::Syn,
            Flag::Fin => packet.role() == Role::Fin,
            Flag::Cwr => packet.bits.cwr() && packet.role() != Role::Syn,
        }
    }
}

impl Act {
    fn deed(self, now: Time) -> Deed {
        match self {
            Act::Drop => Deed::Lose,
            Act::Mark(level) => Deed::Mark(level),
            Act::ForceMark => Deed::ForceMark,
            Act::Copy => Deed::Copy,
            Act::Delay(later) => Deed::Hold(now + later),
        }
    }
}

impl<T: Ord + Copy> Ahead<T> {
    fn new(deeds: impl Iterator<Item = (T, Deed)>) -> Ahead<T> {
        let mut deeds: Vec<_> = deeds.collect();
        deeds.sort_by_key(|&(at, _)| at);
        deeds.dedup_by_key(|&mut (at, _)| at);
        Ahead { deeds, next: 0 }
    }

    /// The first deed that has come up and was not done.
    fn come_to(&mut self, now: T) -> Option<Deed> {
        let &(at, deed) = self.deeds.get(self.next)?;
        (at <= now).then(|| {
            self.next += 1;
            deed
        })
    }
}

impl<T> Default for Ahead<T> {
    fn default() -> Ahead<T> {
        Ahead { deeds: Vec::new(), next: 0 }
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Ecn;

    use super::super::testing::segment;
    use super::*;

    fn script(given: &[(&str, &str)], lists: &[(&str, &[&str])]) -> Script {
        let mut values = Values::defaults(Settings::PARAMETERS);
        given.iter().for_each(|(name, text)| values.read(name, text).unwrap());
        for (name, members) in lists {
            let parameter = Settings::PARAMETERS.iter().find(|parameter| parameter.name == *name).unwrap();
            values.set(name, ecnlab_units::Value::List(members.iter().map(|text| parameter.read(text).unwrap()).collect()));
        }
        assert!((ENTRY.check)(&values).is_empty());
        Script::of(&values)
    }

    /// The deeds at packets of a flow that come a second apart.
    fn deeds(script: &mut Script, flow: u32, seqs: &[u64]) -> Vec<Deed> {
        let mut packet = segment(Ecn::Ect0);
        packet.flow = flow;
        let mut deed = |(at, &seq)| {
            packet.seq = seq;
            script.meet(&packet, Time::ZERO + Span::from_secs(at))
        };
        (0..).zip(seqs).map(&mut deed).collect()
    }

    #[test]
    fn packets_are_told_by_their_number_whatever_they_are() {
        let mut script = script(&[], &[("numbers", &["3", "1"])]);
        assert_eq!([Deed::Pass, Deed::Lose, Deed::Pass, Deed::Lose, Deed::Pass], deeds(&mut script, 0, &[5; 5])[..]);
    }

    #[test]
    fn each_time_takes_the_first_packet_that_comes_then_or_later() {
        let mut script = script(&[("deed", "mark")], &[("times", &["0.5 s", "2 s", "2.5 s"])]);
        let mark = Deed::Mark(Level::Congested);
        assert_eq!([Deed::Pass, mark, mark, mark, Deed::Pass], deeds(&mut script, 0, &[5; 5])[..]);
    }

    #[test]
    fn segments_are_told_by_flow_and_transmission() {
        let mut script = script(&[("flow", "2"), ("transmission", "1")], &[("segments", &["7", "9"])]);
        assert_eq!([Deed::Pass; 4], deeds(&mut script, 1, &[7, 7, 9, 9])[..]);
        assert_eq!([Deed::Pass, Deed::Pass, Deed::Lose, Deed::Lose, Deed::Pass], deeds(&mut script, 2, &[7, 9, 7, 9, 7])[..]);
    }

    #[test]
    fn a_script_that_names_no_packet_and_one_that_names_a_flow_alone_are_refused() {
        let mut values = Values::defaults(Settings::PARAMETERS);
        assert_eq!("numbers", (ENTRY.check)(&values)[0].0);
        values.set("numbers", ecnlab_units::Value::List(vec![ecnlab_units::Value::Count(1)]));
        values.read("flow", "0").unwrap();
        assert_eq!("flow", (ENTRY.check)(&values)[0].0);
    }
}
