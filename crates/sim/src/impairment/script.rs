//! Scripted losses and marks, for cases whose every packet is known: packets are told by their number at the link, by when they come, or
//! by flow and segment.

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
    segments: Vec<Scripted>,
    passed: u64,
    /// How often the scripted segments of a flow have come.
    seen: Vec<(u32, u64, u32)>,
}

/// Deeds in the order in which they come up.
#[derive(Clone, Debug)]
struct Ahead<T> {
    deeds: Vec<(T, Deed)>,
    next: usize,
}

/// A segment to which something is done.
#[derive(Clone, Copy, Debug)]
struct Scripted {
    seq: u64,
    /// Of which flow; of any if there is none.
    flow: Option<u32>,
    transmission: u32,
    deed: Deed,
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
        let dropped = drops.into_iter().map(|(seq, transmission)| Scripted { seq, flow: None, transmission, deed: Deed::Lose });
        let marked =
            marks.into_iter().map(|(seq, transmission, level)| Scripted { seq, flow: None, transmission, deed: Deed::Mark(level) });
        let numbered = Ahead::new(drop_numbers.into_iter().map(|number| (number, Deed::Lose)));
        Script { numbered, segments: dropped.chain(marked).collect(), ..Script::default() }
    }

    fn of(values: &Values) -> Script {
        let settings = Settings::of(values);
        let level = if settings.level == Loudness::Congested { Level::Congested } else { Level::Incipient };
        let deed = if settings.deed == DeedName::Drop { Deed::Lose } else { Deed::Mark(level) };
        let Settings { flow, transmission, .. } = settings;
        let numbers = settings.numbers.0.unwrap_or_default().into_iter();
        let times = settings.times.0.unwrap_or_default().into_iter();
        let segments = settings.segments.0.unwrap_or_default().into_iter();
        Script {
            numbered: Ahead::new(numbers.map(|number| (number, deed))),
            timed: Ahead::new(times.map(|time| (Time::ZERO + time, deed))),
            segments: segments.map(|seq| Scripted { seq, flow, transmission, deed }).collect(),
            ..Script::default()
        }
    }

    /// Whether it marks packets.
    pub fn marks(&self) -> bool {
        let listed = self.numbered.deeds.iter().map(|(_, deed)| deed).chain(self.timed.deeds.iter().map(|(_, deed)| deed));
        listed.chain(self.segments.iter().map(|scripted| &scripted.deed)).any(|deed| matches!(deed, Deed::Mark(_)))
    }

    /// Decides about a packet that comes now.
    pub fn meet(&mut self, packet: &Packet, now: Time) -> Deed {
        let number = self.passed;
        self.passed += 1;
        let by_number = self.numbered.come_to(number);
        let by_time = self.timed.come_to(now);
        let by_segment = if packet.is_ack() { None } else { self.of_segment(packet.flow, packet.seq) };
        by_number.or(by_time).or(by_segment).unwrap_or(Deed::Pass)
    }

    fn of_segment(&mut self, flow: u32, seq: u64) -> Option<Deed> {
        let of = |scripted: &&Scripted| scripted.seq == seq && scripted.flow.is_none_or(|only| only == flow);
        self.segments.iter().find(of)?;
        let transmission = self.count(flow, seq);
        self.segments.iter().filter(of).find(|scripted| scripted.transmission == transmission).map(|scripted| scripted.deed)
    }

    /// Which transmission of a segment this is, from 0.
    fn count(&mut self, flow: u32, seq: u64) -> u32 {
        let at = self.seen.iter().position(|&(f, s, _)| (f, s) == (flow, seq)).unwrap_or_else(|| {
            self.seen.push((flow, seq, 0));
            self.seen.len() - 1
        });
        self.seen[at].2 += 1;
        self.seen[at].2 - 1
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
