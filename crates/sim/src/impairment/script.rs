//! Scripted losses, marks, copies and delays, for test cases in which every packet is known. Packets are selected by their number at the
//! link, by arrival time, by TCP flag, or by flow and segment.

use std::collections::BTreeMap;
use std::ops::Range;

use ecnlab_transport::SegmentType;
use ecnlab_units::parameter::OrOff;
use ecnlab_units::{CongestionLevel, Span, Time, Values, parameters, words};

use super::ecn::MarkLevel;
use super::{Contradictions, Impairment, ImpairmentAction, ImpairmentKind};
use crate::packet::Packet;

pub static SCRIPT: ImpairmentKind = ImpairmentKind {
    name: "script",
    title: "Scripted losses, marks, copies or delays",
    summary: "Loses, marks, copies or delays selected packets: by number, by time, by flag, or by segment.",
    source: "ns-2 2.35, ErrorModel/List",
    parameters: ScriptSettings::PARAMETERS,
    example: Some("packets = [10, 11]"),
    check: |values| ScriptSettings::from_values(values).find_contradictions(),
    ..ImpairmentKind::with_constructor(|values| Impairment::Script(Script::from_parameter_values(values)))
};

parameters! {
    /// Settings of a script.
    struct ScriptSettings {
        /// The action on the packets: drop, mark ECN-capable ones, mark all (force-mark), copy, or delay, so that others overtake them.
        #[source("ns-2 2.35, ErrorModel/List, droplist; RFC 3168, section 5")]
        pub action: ScriptActionName = "drop";
        /// MECN congestion level of marks: congested is CE.
        #[source("RFC 3168, section 5; Durresi, Sridharan, Liu, Goyal and Jain 2001")]
        #[when(action = "mark")]
        pub level: MarkLevel = "congested";
        /// Delay added to the packets.
        #[source("RFC 4737")]
        #[when(action = "delay")]
        pub extra_delay: Span = "10 ms", 0.000001..=1_000_000, "s";
        /// Packets by their number at this impairment, from 0, of any kind.
        #[source("ns-2 2.35, ErrorModel/List, droplist")]
        pub packets: OrOff<Vec<u64>> = "off", 0..=1e12;
        /// The first packet that arrives at or after each of these times.
        #[source("ns-2 2.35, ErrorModel, unit_ time")]
        pub times: OrOff<Vec<Span>> = "off", 0..=8_640_000, "s";
        /// All packets that arrive from the first of two times on and before the second.
        #[source("ns-2 2.35, ErrorModel, unit_ time")]
        pub during: OrOff<Vec<Span>> = "off", 0..=8_640_000, "s";
        /// Packets that open or close the connection, or that signal a reduced window.
        #[source("RFC 9293, section 3.1; RFC 3168, section 6.1.2")]
        pub flag: OrOff<SelectorFlag> = "off";
        /// Segments by their number, from 0; a SYN and a FIN have a number each.
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
    /// Action of a script on packets.
    enum ScriptActionName { Drop = "drop", Mark = "mark", ForceMark = "force-mark", Copy = "copy", Delay = "delay" }
}

/// Rules for the packets of a link.
#[derive(Clone, Debug, Default)]
pub struct Script {
    by_number: ScheduledActions<u64>,
    by_time: ScheduledActions<Time>,
    rules: Vec<RunningRule>,
    arrived_packets: u64,
    /// Number of transmissions seen of each segment that a rule selects by transmission.
    transmissions_seen: BTreeMap<(u32, u64), u32>,
}

/// An action, and the packets to which it applies.
#[derive(Clone, Debug)]
pub struct ScriptRule {
    pub selector: PacketSelector,
    pub action: ScriptAction,
}

/// Selects packets.
#[derive(Clone, Debug)]
pub enum PacketSelector {
    /// By their number at this link, from 0, of any kind.
    Numbers(Range<u64>),
    /// Data by segment number, and by number of transmission, from 0; `None` selects all transmissions.
    Segments { of: Range<u64>, flow: Option<u32>, transmission: Option<u32> },
    /// By TCP flag, and the index among such packets, from 0.
    Flagged { flag: SelectorFlag, nth: Option<u32> },
    /// By arrival time.
    During(Range<Time>),
}

words! {
    /// TCP flag of a packet.
    pub enum SelectorFlag {
        Syn = "syn",
        Fin = "fin",
        /// CWR after the handshake.
        Cwr = "cwr",
    }
}

/// Action on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptAction {
    Drop,
    /// Marks the packet if it is ECN-capable.
    Mark(CongestionLevel),
    /// Sets CE even if the packet is not ECN-capable.
    ForceMark,
    Duplicate,
    /// Delays the packet by so much; others overtake it.
    Delay(Span),
}

/// A rule, and the number of packets that it has matched, for rules that count.
#[derive(Clone, Debug)]
struct RunningRule {
    rule: ScriptRule,
    flagged_packets: u32,
}

/// Pending actions by number or time, in ascending order.
#[derive(Clone, Debug)]
struct ScheduledActions<T> {
    actions: Vec<(T, ScriptAction)>,
    next_action: usize,
}

impl ScriptSettings {
    fn find_contradictions(&self) -> Contradictions {
        let ScriptSettings { packets, times, during, flag, segments, flow, transmission, .. } = self;
        if packets.0.is_none() && times.0.is_none() && during.0.is_none() && flag.0.is_none() && segments.0.is_none() {
            return vec![(
                "packets",
                "is missing; fix: name packets, as packets = [10, 11], times = [\"2 s\"], during = [\"2 s\", \"3 s\"], flag = \"syn\" or segments = [5]"
                    .to_owned(),
            )];
        }
        let requires =
            |name, given: bool, with| given.then(|| (name, format!("has an effect only with {with}; fix: leave it out, or give them")));
        let is_pair = during.0.as_ref().is_none_or(|during| matches!(during[..], [from, to] if from < to));
        let told = "must be two times, the first one earlier, as in during = [\"2 s\", \"3 s\"]".to_owned();
        let alone = [
            requires("flow", flow.is_some() && segments.0.is_none(), "segments"),
            requires("transmission", *transmission > 0 && segments.0.is_none() && flag.0.is_none(), "segments or a flag"),
            (!is_pair).then_some(("during", told)),
        ];
        alone.into_iter().flatten().collect()
    }

    fn to_action(&self) -> ScriptAction {
        match self.action {
            ScriptActionName::Drop => ScriptAction::Drop,
            ScriptActionName::Mark => {
                ScriptAction::Mark(if self.level == MarkLevel::Congested { CongestionLevel::Congested } else { CongestionLevel::Incipient })
            }
            ScriptActionName::ForceMark => ScriptAction::ForceMark,
            ScriptActionName::Copy => ScriptAction::Duplicate,
            ScriptActionName::Delay => ScriptAction::Delay(self.extra_delay),
        }
    }

    /// Rules for all selectors but lists of packet numbers and of times.
    fn to_rules(&self) -> impl Iterator<Item = ScriptRule> {
        let (action, flow, transmission) = (self.to_action(), self.flow, self.transmission);
        let during = self.during.0.as_ref().map(|during| PacketSelector::During(Time::ZERO + during[0]..Time::ZERO + during[1]));
        let flagged = self.flag.0.map(|flag| PacketSelector::Flagged { flag, nth: Some(transmission) });
        let segments = self.segments.0.clone().unwrap_or_default().into_iter();
        let told = during.into_iter().chain(flagged).map(move |selector| ScriptRule { selector, action });
        told.chain(segments.map(move |seq| ScriptRule::for_segment(seq, flow, transmission, action)))
    }
}

impl Script {
    /// Drops and marks by data segment, each with the number of its transmission from 0 (and the level of the mark), and drops by packet
    /// number at this link from 0, of any kind.
    pub fn new(drops: Vec<(u64, u32)>, marks: Vec<(u64, u32, CongestionLevel)>, drop_numbers: Vec<u64>) -> Script {
        let dropped = drops.into_iter().map(|(seq, transmission)| ScriptRule::for_segment(seq, None, transmission, ScriptAction::Drop));
        let marked =
            marks.into_iter().map(|(seq, transmission, level)| ScriptRule::for_segment(seq, None, transmission, ScriptAction::Mark(level)));
        let by_number = ScheduledActions::new(drop_numbers.into_iter().map(|number| (number, ScriptAction::Drop)));
        Script { by_number, ..Script::from_rules(dropped.chain(marked)) }
    }

    /// If several rules select a packet, the first applies.
    pub fn from_rules(rules: impl IntoIterator<Item = ScriptRule>) -> Script {
        Script { rules: rules.into_iter().map(|rule| RunningRule { rule, flagged_packets: 0 }).collect(), ..Script::default() }
    }

    fn from_parameter_values(values: &Values) -> Script {
        let settings = ScriptSettings::from_values(values);
        let (act, rules) = (settings.to_action(), Script::from_rules(settings.to_rules()));
        let numbers = settings.packets.0.unwrap_or_default().into_iter();
        let times = settings.times.0.unwrap_or_default().into_iter();
        Script {
            by_number: ScheduledActions::new(numbers.map(|number| (number, act))),
            by_time: ScheduledActions::new(times.map(|time| (Time::ZERO + time, act))),
            ..rules
        }
    }

    /// Whether it marks packets.
    pub fn can_mark(&self) -> bool {
        let listed = self.by_number.actions.iter().map(|(_, act)| act).chain(self.by_time.actions.iter().map(|(_, act)| act));
        listed
            .chain(self.rules.iter().map(|running| &running.rule.action))
            .any(|act| matches!(act, ScriptAction::Mark(_) | ScriptAction::ForceMark))
    }

    /// Action on a packet that arrives now.
    pub fn apply(&mut self, packet: &Packet, now: Time) -> ImpairmentAction {
        let number = self.arrived_packets;
        self.arrived_packets += 1;
        let by_number = self.by_number.pop_due(number);
        let by_time = self.by_time.pop_due(now);
        let by_rule = self.action_by_rule(number, packet, now);
        by_number.or(by_time).or(by_rule).map_or(ImpairmentAction::Pass, |act| act.to_impairment_action(now))
    }

    fn action_by_rule(&mut self, number: u64, packet: &Packet, now: Time) -> Option<ScriptAction> {
        let transmission = self.transmission_number(packet);
        let mut first = None;
        for RunningRule { rule, flagged_packets } in &mut self.rules {
            let tells = match &rule.selector {
                PacketSelector::Numbers(numbers) => numbers.contains(&number),
                PacketSelector::During(times) => times.contains(&now),
                PacketSelector::Segments { transmission: nth, .. } => {
                    rule.selects_segment_of(packet) && nth.is_none_or(|nth| Some(nth) == transmission)
                }
                PacketSelector::Flagged { flag, nth } if flag.is_set_in(packet) => {
                    *flagged_packets += 1;
                    nth.is_none_or(|nth| nth == *flagged_packets - 1)
                }
                PacketSelector::Flagged { .. } => false,
            };
            if tells && first.is_none() {
                first = Some(rule.action);
            }
        }
        first
    }

    /// Number of a segment's transmission, from 0, if a rule needs it.
    fn transmission_number(&mut self, packet: &Packet) -> Option<u32> {
        self.rules.iter().find(|running| running.rule.selects_segment_of(packet))?;
        let seen = self.transmissions_seen.entry((packet.flow, packet.seq)).or_default();
        *seen += 1;
        Some(*seen - 1)
    }
}

impl ScriptRule {
    fn for_segment(seq: u64, flow: Option<u32>, transmission: u32, action: ScriptAction) -> ScriptRule {
        ScriptRule { selector: PacketSelector::Segments { of: seq..seq + 1, flow, transmission: Some(transmission) }, action }
    }

    /// Whether it selects packets by segment, and this is one of them.
    fn selects_segment_of(&self, packet: &Packet) -> bool {
        let PacketSelector::Segments { of, flow, .. } = &self.selector else { return false };
        !packet.is_ack_from_sink()
            && packet.segment_type() != SegmentType::PureAck
            && of.contains(&packet.seq)
            && flow.is_none_or(|only| only == packet.flow)
    }
}

impl SelectorFlag {
    fn is_set_in(self, packet: &Packet) -> bool {
        match self {
            SelectorFlag::Syn => packet.segment_type() == SegmentType::Syn,
            SelectorFlag::Fin => packet.segment_type() == SegmentType::Fin,
            SelectorFlag::Cwr => packet.flags.cwr() && packet.segment_type() != SegmentType::Syn,
        }
    }
}

impl ScriptAction {
    fn to_impairment_action(self, now: Time) -> ImpairmentAction {
        match self {
            ScriptAction::Drop => ImpairmentAction::Drop,
            ScriptAction::Mark(level) => ImpairmentAction::Mark(level),
            ScriptAction::ForceMark => ImpairmentAction::ForceMark,
            ScriptAction::Duplicate => ImpairmentAction::Duplicate,
            ScriptAction::Delay(later) => ImpairmentAction::Delay(now + later),
        }
    }
}

impl<T: Ord + Copy> ScheduledActions<T> {
    fn new(actions: impl Iterator<Item = (T, ScriptAction)>) -> ScheduledActions<T> {
        let mut actions: Vec<_> = actions.collect();
        actions.sort_by_key(|&(at, _)| at);
        actions.dedup_by_key(|&mut (at, _)| at);
        ScheduledActions { actions, next_action: 0 }
    }

    /// The first due action that has not been executed.
    fn pop_due(&mut self, now: T) -> Option<ScriptAction> {
        let &(at, act) = self.actions.get(self.next_action)?;
        (at <= now).then(|| {
            self.next_action += 1;
            act
        })
    }
}

impl<T> Default for ScheduledActions<T> {
    fn default() -> ScheduledActions<T> {
        ScheduledActions { actions: Vec::new(), next_action: 0 }
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_transport::Segment;
    use ecnlab_units::Ecn;

    use super::super::test_packets::{cwr_segment, ecn_setup_syn, ecn_setup_syn_ack};
    use super::*;
    use crate::packet::{PacketFlags, PacketOrigin};

    fn script_from(given: &[(&str, &str)], lists: &[(&str, &[&str])]) -> Script {
        let mut values = Values::defaults(ScriptSettings::PARAMETERS);
        given.iter().for_each(|(name, text)| values.set_from_text(name, text).unwrap());
        for (name, members) in lists {
            let parameter = ScriptSettings::PARAMETERS.iter().find(|parameter| parameter.name == *name).unwrap();
            values.set(name, ecnlab_units::Value::List(members.iter().map(|text| parameter.parse(text).unwrap()).collect()));
        }
        assert!((SCRIPT.check)(&values).is_empty());
        Script::from_parameter_values(&values)
    }

    /// Actions on packets of a flow that arrive a second apart.
    fn actions_for(script: &mut Script, flow: u32, seqs: &[u64]) -> Vec<ImpairmentAction> {
        let mut packet = cwr_segment(Ecn::Ect0);
        packet.flow = flow;
        let mut action_at = |(at, &seq)| {
            packet.seq = seq;
            script.apply(&packet, Time::ZERO + Span::from_secs(at))
        };
        (0..).zip(seqs).map(&mut action_at).collect()
    }

    #[test]
    fn packets_are_selected_by_number_whatever_their_kind() {
        let mut script = script_from(&[], &[("packets", &["3", "1"])]);
        assert_eq!(
            [ImpairmentAction::Pass, ImpairmentAction::Drop, ImpairmentAction::Pass, ImpairmentAction::Drop, ImpairmentAction::Pass],
            actions_for(&mut script, 0, &[5; 5])[..]
        );
    }

    #[test]
    fn each_time_selects_the_first_packet_then_or_later() {
        let mut script = script_from(&[("action", "mark")], &[("times", &["0.5 s", "2 s", "2.5 s"])]);
        let mark = ImpairmentAction::Mark(CongestionLevel::Congested);
        assert_eq!([ImpairmentAction::Pass, mark, mark, mark, ImpairmentAction::Pass], actions_for(&mut script, 0, &[5; 5])[..]);
    }

    #[test]
    fn segments_are_selected_by_flow_and_transmission() {
        let mut script = script_from(&[("flow", "2"), ("transmission", "1")], &[("segments", &["7", "9"])]);
        assert_eq!([ImpairmentAction::Pass; 4], actions_for(&mut script, 1, &[7, 7, 9, 9])[..]);
        assert_eq!(
            [ImpairmentAction::Pass, ImpairmentAction::Pass, ImpairmentAction::Drop, ImpairmentAction::Drop, ImpairmentAction::Pass],
            actions_for(&mut script, 2, &[7, 9, 7, 9, 7])[..]
        );
    }

    #[test]
    fn packets_are_copied_force_marked_or_delayed_as_configured() {
        let action_at_packet_1 = |given: &[(&str, &str)]| actions_for(&mut script_from(given, &[("packets", &["1"])]), 0, &[5, 5, 5])[1];
        assert_eq!(
            [ImpairmentAction::Duplicate, ImpairmentAction::ForceMark],
            [action_at_packet_1(&[("action", "copy")]), action_at_packet_1(&[("action", "force-mark")])]
        );
        assert_eq!(
            ImpairmentAction::Delay(Time::ZERO + Span::from_millis(1020)),
            action_at_packet_1(&[("action", "delay"), ("extra_delay", "20 ms")])
        );
    }

    #[test]
    fn during_selects_all_packets_of_its_interval_but_its_end() {
        let mut script = script_from(&[], &[("during", &["1 s", "3 s"])]);
        assert_eq!(
            [ImpairmentAction::Pass, ImpairmentAction::Drop, ImpairmentAction::Drop, ImpairmentAction::Pass],
            actions_for(&mut script, 0, &[5; 4])[..]
        );
    }

    #[test]
    fn packets_are_selected_by_tcp_flag() {
        let dropped_packets = |flag: &str, nth: &str, packets: &[Packet]| {
            let mut script = script_from(&[("flag", flag), ("transmission", nth)], &[]);
            packets.iter().map(|packet| script.apply(packet, Time::ZERO) == ImpairmentAction::Drop).collect::<Vec<_>>()
        };
        let (ecn_setup_syn, ecn_setup_syn_ack, reduced) = (ecn_setup_syn(), ecn_setup_syn_ack(), cwr_segment(Ecn::Ect0));
        assert_eq!(vec![true, false], dropped_packets("syn", "0", &[ecn_setup_syn, ecn_setup_syn]));
        assert_eq!(vec![false, false, true], dropped_packets("syn", "1", &[ecn_setup_syn_ack, reduced, ecn_setup_syn_ack]));
        assert_eq!(vec![false, true, false], dropped_packets("cwr", "0", &[ecn_setup_syn, reduced, reduced]));
        assert_eq!(vec![false, false], dropped_packets("fin", "0", &[ecn_setup_syn, reduced]));
    }

    #[test]
    fn the_first_matching_rule_applies_and_each_counts_by_itself() {
        let segment_rule =
            |nth, action| ScriptRule { selector: PacketSelector::Segments { of: 5..7, flow: None, transmission: nth }, action };
        let mut script = Script::from_rules([segment_rule(Some(1), ScriptAction::Duplicate), segment_rule(None, ScriptAction::Drop)]);
        assert_eq!(
            [ImpairmentAction::Drop, ImpairmentAction::Drop, ImpairmentAction::Duplicate, ImpairmentAction::Pass, ImpairmentAction::Drop],
            actions_for(&mut script, 0, &[5, 6, 5, 7, 5])[..]
        );
    }

    #[test]
    fn a_pure_ack_is_not_a_transmission_of_the_next_segment() {
        let mut script = script_from(&[], &[("segments", &["5"])]);
        let pure = Packet::from_segment(
            &Segment { segment_type: SegmentType::PureAck, ..Segment::plain(5, 52) },
            PacketOrigin { flow: 0, hop_index: 0, connection_id: 0, flags: PacketFlags::default() },
            Time::ZERO,
            0,
        );
        assert_eq!(
            [ImpairmentAction::Pass, ImpairmentAction::Drop],
            [pure, cwr_segment(Ecn::Ect0)].map(|packet| script.apply(&packet, Time::ZERO))
        );
    }

    #[test]
    fn a_script_without_packets_or_with_a_flow_alone_is_rejected() {
        let mut values = Values::defaults(ScriptSettings::PARAMETERS);
        assert_eq!("packets", (SCRIPT.check)(&values)[0].0);
        values.set("packets", ecnlab_units::Value::List(vec![ecnlab_units::Value::Count(1)]));
        values.set_from_text("flow", "0").unwrap();
        assert_eq!("flow", (SCRIPT.check)(&values)[0].0);
        let time =
            |name: &str| ScriptSettings::PARAMETERS.iter().find(|parameter| parameter.name == "during").unwrap().parse(name).unwrap();
        for during in [vec!["1 s"], vec!["2 s", "1 s"], vec!["1 s", "2 s", "3 s"]] {
            let mut values = Values::defaults(ScriptSettings::PARAMETERS);
            values.set("during", ecnlab_units::Value::List(during.into_iter().map(time).collect()));
            assert_eq!("during", (SCRIPT.check)(&values)[0].0);
        }
    }
}
