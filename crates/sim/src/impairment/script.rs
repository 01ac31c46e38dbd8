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
    title: "Scripted losses, marks, copies or delays",
    summary: "Loses, marks, copies or delays the packets that it names: by number, by time, by what they do to the connection, or by segment.",
    source: "ns-2 2.35, ErrorModel/List",
    parameters: Settings::PARAMETERS,
    example: Some("numbers = [10, 11]"),
    check: |values| Settings::of(values).check(),
    ..Entry::with(|values| Part::Script(Script::of(values)))
};

parameters! {
    /// A script as a scenario sets it.
    struct Settings {
        /// What is done to the packets: they are lost; marked, those that can be or all; copied; or go on later, so that others overtake them.
        #[source("ns-2 2.35, ErrorModel/List, droplist; RFC 3168, section 5")]
        pub deed: DeedName = "drop";
        /// How loud marks are: CE, or MECN's quieter level.
        #[source("RFC 3168, section 5; Durresi, Sridharan, Liu, Goyal and Jain 2001")]
        #[when(deed = "mark")]
        pub level: Loudness = "congested";
        /// How much later packets go on.
        #[source("RFC 4737")]
        #[when(deed = "delay")]
        pub later: Span = "10 ms", 0.000001..=1_000_000, "s";
        /// Packets by their number at this place of the link, from 0, whatever they are.
        #[source("ns-2 2.35, ErrorModel/List, droplist")]
        pub numbers: OrOff<Vec<u64>> = "off", 0..=1e12;
        /// The first packet that comes at each of these times or later.
        #[source("ns-2 2.35, ErrorModel, unit_ time")]
        pub times: OrOff<Vec<Span>> = "off", 0..=8_640_000, "s";
        /// All packets that come from the first of two times on and before the second.
        #[source("ns-2 2.35, ErrorModel, unit_ time")]
        pub during: OrOff<Vec<Span>> = "off", 0..=8_640_000, "s";
        /// Packets that open or close the connection, or tell that the window is reduced.
        #[source("RFC 9293, section 3.1; RFC 3168, section 6.1.2")]
        pub flag: OrOff<Flag> = "off";
        /// Segments by their number, from 0; a SYN and a FIN take a number each.
        #[source("ns-2 2.35, Agent/TCP, seqno_")]
        pub segments: OrOff<Vec<u64>> = "off", 0..=1e12;
        /// The flow of the segments, by its number in results, from 0; auto is every flow.
        #[source("ns-2 2.35, Agent/TCP, fid_")]
        pub flow: Option<u32> = "auto", 0..=1_000_000;
        /// Which transmission of the segments, counted over all connections of the flow: 0 is the first, 1 the first retransmission; and which of
        /// the packets with the flag.
        #[source("ns-2 2.35, Agent/TCP, seqno_")]
        pub transmission: u32 = "0", 0..=1_000_000;
    }
}

words! {
    /// What a script does to packets.
    enum DeedName { Drop = "drop", Mark = "mark", ForceMark = "force-mark", Copy = "copy", Delay = "delay" }
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

words! {
    /// What a packet does to its connection.
    pub enum Flag {
        Syn = "syn",
        Fin = "fin",
        /// Tells that the window is reduced, behind the handshake.
        Cwr = "cwr",
    }
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

/// What is to be done, in the order in which it comes up.
#[derive(Clone, Debug)]
struct Ahead<T> {
    acts: Vec<(T, Act)>,
    next: usize,
}

impl Settings {
    fn check(&self) -> Contradictions {
        let Settings { numbers, times, during, flag, segments, flow, transmission, .. } = self;
        if numbers.0.is_none() && times.0.is_none() && during.0.is_none() && flag.0.is_none() && segments.0.is_none() {
            return vec![(
                "numbers",
                "is missing: say which packets, as numbers = [10, 11], times = [\"2 s\"], during = [\"2 s\", \"3 s\"], flag = \"syn\" or segments = [5]"
                    .to_owned(),
            )];
        }
        let needs = |name, given: bool, with| given.then(|| (name, format!("is read only with {with}: leave it out, or give them")));
        let is_pair = during.0.as_ref().is_none_or(|during| matches!(during[..], [from, to] if from < to));
        let told = "must be two times, the first one earlier, as in during = [\"2 s\", \"3 s\"]".to_owned();
        let alone = [
            needs("flow", flow.is_some() && segments.0.is_none(), "segments"),
            needs("transmission", *transmission > 0 && segments.0.is_none() && flag.0.is_none(), "segments or a flag"),
            (!is_pair).then_some(("during", told)),
        ];
        alone.into_iter().flatten().collect()
    }

    fn act(&self) -> Act {
        match self.deed {
            DeedName::Drop => Act::Drop,
            DeedName::Mark => Act::Mark(if self.level == Loudness::Congested { Level::Congested } else { Level::Incipient }),
            DeedName::ForceMark => Act::ForceMark,
            DeedName::Copy => Act::Copy,
            DeedName::Delay => Act::Delay(self.later),
        }
    }

    /// What is told otherwise than by lists of numbers and of times.
    fn rules(&self) -> impl Iterator<Item = Rule> {
        let (act, flow, transmission) = (self.act(), self.flow, self.transmission);
        let during = self.during.0.as_ref().map(|during| Which::During(Time::ZERO + during[0]..Time::ZERO + during[1]));
        let flagged = self.flag.0.map(|flag| Which::Flagged { flag, nth: Some(transmission) });
        let segments = self.segments.0.clone().unwrap_or_default().into_iter();
        let told = during.into_iter().chain(flagged).map(move |which| Rule { which, act });
        told.chain(segments.map(move |seq| Rule::of_segment(seq, flow, transmission, act)))
    }
}

impl Script {
    /// Data segments to drop, each with which of its transmissions, from 0; those to mark likewise, and how loud; and packets to drop by
    /// their number at this link, from 0, whatever they are.
    pub fn new(drops: Vec<(u64, u32)>, marks: Vec<(u64, u32, Level)>, drop_numbers: Vec<u64>) -> Script {
        let dropped = drops.into_iter().map(|(seq, transmission)| Rule::of_segment(seq, None, transmission, Act::Drop));
        let marked = marks.into_iter().map(|(seq, transmission, level)| Rule::of_segment(seq, None, transmission, Act::Mark(level)));
        let numbered = Ahead::new(drop_numbers.into_iter().map(|number| (number, Act::Drop)));
        Script { numbered, ..Script::of_rules(dropped.chain(marked)) }
    }

    /// Of the rules that tell a packet the first is followed.
    pub fn of_rules(rules: impl IntoIterator<Item = Rule>) -> Script {
        Script { rules: rules.into_iter().map(|rule| Running { rule, came: 0 }).collect(), ..Script::default() }
    }

    fn of(values: &Values) -> Script {
        let settings = Settings::of(values);
        let (act, rules) = (settings.act(), Script::of_rules(settings.rules()));
        let numbers = settings.numbers.0.unwrap_or_default().into_iter();
        let times = settings.times.0.unwrap_or_default().into_iter();
        Script {
            numbered: Ahead::new(numbers.map(|number| (number, act))),
            timed: Ahead::new(times.map(|time| (Time::ZERO + time, act))),
            ..rules
        }
    }

    /// Whether it marks packets.
    pub fn marks(&self) -> bool {
        let listed = self.numbered.acts.iter().map(|(_, act)| act).chain(self.timed.acts.iter().map(|(_, act)| act));
        listed.chain(self.rules.iter().map(|running| &running.rule.act)).any(|act| matches!(act, Act::Mark(_) | Act::ForceMark))
    }

    /// Decides about a packet that comes now.
    pub fn meet(&mut self, packet: &Packet, now: Time) -> Deed {
        let number = self.passed;
        self.passed += 1;
        let by_number = self.numbered.come_to(number);
        let by_time = self.timed.come_to(now);
        let by_rule = self.by_rule(number, packet, now);
        by_number.or(by_time).or(by_rule).map_or(Deed::Pass, |act| act.deed(now))
    }

    fn by_rule(&mut self, number: u64, packet: &Packet, now: Time) -> Option<Act> {
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
                first = Some(rule.act);
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
    fn new(acts: impl Iterator<Item = (T, Act)>) -> Ahead<T> {
        let mut acts: Vec<_> = acts.collect();
        acts.sort_by_key(|&(at, _)| at);
        acts.dedup_by_key(|&mut (at, _)| at);
        Ahead { acts, next: 0 }
    }

    /// The first one that has come up and was not done.
    fn come_to(&mut self, now: T) -> Option<Act> {
        let &(at, act) = self.acts.get(self.next)?;
        (at <= now).then(|| {
            self.next += 1;
            act
        })
    }
}

impl<T> Default for Ahead<T> {
    fn default() -> Ahead<T> {
        Ahead { acts: Vec::new(), next: 0 }
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_transport::Segment;
    use ecnlab_units::Ecn;

    use super::super::testing::{segment, syn, syn_ack};
    use super::*;
    use crate::packet::{Bits, Origin};

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
    fn a_packet_is_copied_marked_by_force_or_held_for_as_long_as_is_said() {
        let done = |given: &[(&str, &str)]| deeds(&mut script(given, &[("numbers", &["1"])]), 0, &[5, 5, 5])[1];
        assert_eq!([Deed::Copy, Deed::ForceMark], [done(&[("deed", "copy")]), done(&[("deed", "force-mark")])]);
        assert_eq!(Deed::Hold(Time::ZERO + Span::from_millis(1020)), done(&[("deed", "delay"), ("later", "20 ms")]));
    }

    #[test]
    fn all_packets_of_a_time_are_told_and_none_at_its_end() {
        let mut script = script(&[], &[("during", &["1 s", "3 s"])]);
        assert_eq!([Deed::Pass, Deed::Lose, Deed::Lose, Deed::Pass], deeds(&mut script, 0, &[5; 4])[..]);
    }

    #[test]
    fn packets_are_told_by_what_they_do_to_the_connection() {
        let met = |flag: &str, nth: &str, packets: &[Packet]| {
            let mut script = script(&[("flag", flag), ("transmission", nth)], &[]);
            packets.iter().map(|packet| script.meet(packet, Time::ZERO) == Deed::Lose).collect::<Vec<_>>()
        };
        let (syn, syn_ack, reduced) = (syn(), syn_ack(), segment(Ecn::Ect0));
        assert_eq!(vec![true, false], met("syn", "0", &[syn, syn]));
        assert_eq!(vec![false, false, true], met("syn", "1", &[syn_ack, reduced, syn_ack]));
        assert_eq!(vec![false, true, false], met("cwr", "0", &[syn, reduced, reduced]));
        assert_eq!(vec![false, false], met("fin", "0", &[syn, reduced]));
    }

    #[test]
    fn of_the_rules_that_tell_a_packet_the_first_is_followed_and_each_counts_by_itself() {
        let rule = |nth, act| Rule { which: Which::Segments { of: 5..7, flow: None, transmission: nth }, act };
        let mut script = Script::of_rules([rule(Some(1), Act::Copy), rule(None, Act::Drop)]);
        assert_eq!([Deed::Lose, Deed::Lose, Deed::Copy, Deed::Pass, Deed::Lose], deeds(&mut script, 0, &[5, 6, 5, 7, 5])[..]);
    }

    #[test]
    fn an_acknowledgement_without_data_is_no_transmission_of_the_segment_that_follows() {
        let mut script = script(&[], &[("segments", &["5"])]);
        let pure = Packet::of_segment(
            &Segment { role: Role::Pure, ..Segment::plain(5, 52) },
            Origin { flow: 0, cursor: 0, connection: 0, bits: Bits::default() },
            Time::ZERO,
            0,
        );
        assert_eq!([Deed::Pass, Deed::Lose], [pure, segment(Ecn::Ect0)].map(|packet| script.meet(&packet, Time::ZERO)));
    }

    #[test]
    fn a_script_that_names_no_packet_and_one_that_names_a_flow_alone_are_refused() {
        let mut values = Values::defaults(Settings::PARAMETERS);
        assert_eq!("numbers", (ENTRY.check)(&values)[0].0);
        values.set("numbers", ecnlab_units::Value::List(vec![ecnlab_units::Value::Count(1)]));
        values.read("flow", "0").unwrap();
        assert_eq!("flow", (ENTRY.check)(&values)[0].0);
        let time = |name: &str| Settings::PARAMETERS.iter().find(|parameter| parameter.name == "during").unwrap().read(name).unwrap();
        for during in [vec!["1 s"], vec!["2 s", "1 s"], vec!["1 s", "2 s", "3 s"]] {
            let mut values = Values::defaults(Settings::PARAMETERS);
            values.set("during", ecnlab_units::Value::List(during.into_iter().map(time).collect()));
            assert_eq!("during", (ENTRY.check)(&values)[0].0);
        }
    }
}
