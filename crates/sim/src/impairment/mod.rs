//! Impairments: losses, delays, copies and ECN changes at the entry of a link, before its queue. They form an ordered list, each with a
//! separate random stream. A packet passes one after another until one drops or delays it; a delayed packet later continues with the next
//! impairment.
//!
//! For each packet an impairment returns an [`ImpairmentAction`], which the engine executes.

mod ecn;
mod gilbert;
mod jitter;
mod loss;
mod reorder;
pub mod script;
#[cfg(test)]
mod test_packets;

use std::collections::BTreeMap;

use ecnlab_units::{CongestionLevel, Ecn, Parameter, Rng, Time, Values, parameters};

pub use ecn::EcnPath;
use loss::{PeriodicLoss, RandomLoss};

use crate::due_queue::DueQueue;
use crate::packet::{Packet, PacketId};

parameters! {
    /// Impairments with separate keys in a scenario.
    #[derive(Clone, Copy, Debug)]
    pub struct ImpairmentKeys {
        /// Treatment of ECN by the path: none; clear ECT and CE; drop packets with ECT or CE; clear ECE and CWR of SYN and SYN-ACK; drop
        /// ECN-setup SYNs.
        #[source("Bauer, Beverly and Berger 2011; RFC 3168, section 6.1.1.1")]
        pub ecn: EcnPath = "keep";
        /// Probability that a packet is lost before the queue, each independently of the others.
        #[source("ns-2 2.35, ErrorModel")]
        #[off("1", "every packet is lost")]
        #[usual(0..=0.1, linear)]
        pub loss: f64 = "0", 0..=1;
        /// Period of losses before the queue: the last of every N arriving packets is lost; 0 loses none.
        #[source("RFC 3649, section 2: the deterministic model of response functions; ns-2 2.35, ErrorModel/Periodic")]
        #[off("1", "every packet is lost")]
        pub loss_every: u64 = "0", 0..=1e12, "packets";
    }
}

/// A kind of impairment as users meet it.
pub struct ImpairmentKind {
    /// Its name in a scenario and of its random stream.
    pub name: &'static str,
    /// Title in the documentation.
    pub title: &'static str,
    /// Its effect, in one sentence.
    pub summary: &'static str,
    /// The paper, RFC or program that it follows.
    pub source: &'static str,
    /// Parameters that a user may set.
    pub parameters: &'static [Parameter],
    /// Example of parameters, where none is required alone because only combinations are valid.
    pub example: Option<&'static str>,
    /// Finds contradictions among the parameters.
    pub check: fn(&Values) -> Contradictions,
    /// Creates it from values without contradictions.
    pub make: fn(&Values) -> Impairment,
}

/// Contradicting parameters, each with its error.
pub type Contradictions = Vec<(&'static str, String)>;

/// All kinds of impairments.
#[rustfmt::skip]
pub static IMPAIRMENT_KINDS: &[&ImpairmentKind] = &[
    &loss::RANDOM_LOSS,
    &loss::PERIODIC_LOSS,
    &gilbert::BURST_LOSS,
    &script::SCRIPT,
    &ecn::RANDOM_MARKS,
    &ecn::ECN_PATH,
    &jitter::JITTER,
    &reorder::REORDER,
    &reorder::DUPLICATE,
];

/// Names of the kinds, in the same order.
pub static IMPAIRMENT_NAMES: [&str; IMPAIRMENT_KINDS.len()] = {
    let mut words = [""; IMPAIRMENT_KINDS.len()];
    let mut at = 0;
    while at < words.len() {
        words[at] = IMPAIRMENT_KINDS[at].name;
        at += 1;
    }
    words
};

/// An impairment before the first packet.
#[derive(Clone, Debug)]
pub enum Impairment {
    Ecn(EcnPath),
    RandomLoss(RandomLoss),
    PeriodicLoss(PeriodicLoss),
    BurstLoss(gilbert::GilbertElliott),
    Script(script::Script),
    RandomMarks(ecn::RandomMarks),
    Jitter(Box<jitter::Jitter>),
    Reorder(reorder::Reorder),
    Duplicate(reorder::Duplicate),
}

/// Action of an impairment on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImpairmentAction {
    Pass,
    /// Passes the packet with ECN bits changed.
    ClearEcn,
    /// Marks the packet if it is ECN-capable.
    Mark(CongestionLevel),
    /// Marks the packet even if it is not ECN-capable.
    ForceMark,
    Drop,
    /// Drops the packet because of its ECN bits.
    DropForEcn,
    /// Passes the packet, followed by a copy.
    Duplicate,
    /// Releases the packet at this time.
    Delay(Time),
}

/// Ordered impairments of a link, which packets pass before the queue.
#[derive(Clone, Debug, Default)]
pub struct ImpairmentSpec {
    pub impairments: Vec<Impairment>,
}

/// A delayed packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedPacket {
    pub packet: PacketId,
    /// The impairment that delays it, and the packet's number among the arrivals there.
    pub impairment: usize,
    pub arrival_number: u64,
    /// The time at which its delay began.
    pub delayed_since: Time,
}

/// State of the impairments of a link during a run.
pub struct LinkImpairments {
    impairments: Vec<RunningImpairment>,
    /// Packets that impairments delay; when released, each continues after the impairment that delayed it.
    delayed: DueQueue<DelayedPacket>,
    /// Slot in the calendar queue for the release of delayed packets.
    pub release_slot: u32,
    /// Copies made in the whole run.
    pub duplicated_packets: u64,
}

/// State of an impairment during a run.
struct RunningImpairment {
    impairment: Impairment,
    rng: Rng,
    counts: ImpairmentCounts,
    counts_before: ImpairmentCounts,
    /// Packets that have arrived at it, and the number of the last one released.
    arrived_packets: u64,
    highest_released: u64,
}

/// Packets counted by the action of an impairment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImpairmentCounts {
    pub arrived: u64,
    pub lost: u64,
    pub dropped_for_ecn: u64,
    pub marked: u64,
    pub ecn_cleared: u64,
    pub duplicated: u64,
    pub delayed: u64,
    /// Released after a packet that arrived later.
    pub reordered: u64,
}

/// Packets lost before the queue: at random or by script, and for their ECN bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossCounts {
    pub lost: u64,
    pub dropped_for_ecn: u64,
}

impl ImpairmentKind {
    /// Defaults of an entry, all but its constructor.
    const fn with_constructor(make: fn(&Values) -> Impairment) -> ImpairmentKind {
        ImpairmentKind { name: "", title: "", summary: "", source: "", parameters: &[], example: None, check: |_| Vec::new(), make }
    }
}

impl ImpairmentSpec {
    /// These impairments in this order; `None` if there are none.
    pub fn from_parts(parts: impl IntoIterator<Item = Impairment>) -> Option<Box<ImpairmentSpec>> {
        let parts: Vec<Impairment> = parts.into_iter().collect();
        (!parts.is_empty()).then(|| Box::new(ImpairmentSpec { impairments: parts }))
    }

    /// A specification with a script alone.
    pub fn from_script(script: script::Script) -> Option<Box<ImpairmentSpec>> {
        ImpairmentSpec::from_parts([Impairment::Script(script)])
    }
}

impl ImpairmentKeys {
    /// The impairments that these keys define.
    pub fn impairments(self) -> impl Iterator<Item = Impairment> {
        let ImpairmentKeys { ecn, loss, loss_every } = self;
        let ecn = (ecn != EcnPath::Keep).then_some(Impairment::Ecn(ecn));
        let periodic = (loss_every > 0).then(|| Impairment::periodic_loss(loss_every));
        let random = (loss > 0.0).then_some(Impairment::random_loss(loss));
        [ecn, periodic, random].into_iter().flatten()
    }
}

impl Impairment {
    /// Losses with this probability.
    pub fn random_loss(rate: f64) -> Impairment {
        Impairment::RandomLoss(RandomLoss { rate })
    }

    /// Loss of the last of each N packets.
    pub fn periodic_loss(every: u64) -> Impairment {
        Impairment::PeriodicLoss(PeriodicLoss::new(every))
    }

    /// Whether it can mark packets.
    pub fn can_mark(&self) -> bool {
        match self {
            Impairment::RandomMarks(_) => true,
            Impairment::Script(script) => script.can_mark(),
            _ => false,
        }
    }

    fn kind(&self) -> &'static ImpairmentKind {
        match self {
            Impairment::Ecn(_) => &ecn::ECN_PATH,
            Impairment::RandomLoss(_) => &loss::RANDOM_LOSS,
            Impairment::PeriodicLoss(_) => &loss::PERIODIC_LOSS,
            Impairment::BurstLoss(_) => &gilbert::BURST_LOSS,
            Impairment::Script(_) => &script::SCRIPT,
            Impairment::RandomMarks(_) => &ecn::RANDOM_MARKS,
            Impairment::Jitter(_) => &jitter::JITTER,
            Impairment::Reorder(_) => &reorder::REORDER,
            Impairment::Duplicate(_) => &reorder::DUPLICATE,
        }
    }

    fn apply(&mut self, packet: &mut Packet, now: Time, rng: &mut Rng) -> ImpairmentAction {
        match self {
            Impairment::Ecn(link_impairments) => link_impairments.apply(packet),
            Impairment::RandomLoss(losses) => losses.apply(rng),
            Impairment::PeriodicLoss(losses) => losses.apply(),
            Impairment::BurstLoss(channel) => channel.apply(rng),
            Impairment::Script(script) => script.apply(packet, now),
            Impairment::RandomMarks(marking) => marking.apply(rng),
            Impairment::Jitter(jitter) => jitter.apply(now, rng),
            Impairment::Reorder(reorder) => reorder.apply(now, rng),
            Impairment::Duplicate(duplicate) => duplicate.apply(rng),
        }
    }
}

impl LinkImpairments {
    /// `stream` returns the random stream of a role.
    pub fn new(spec: &ImpairmentSpec, stream: impl Fn(&str) -> Rng, release_slot: u32) -> LinkImpairments {
        let mut alike: BTreeMap<&str, u32> = BTreeMap::new();
        let mut stream_name = |part: &Impairment| {
            let name = part.kind().name;
            let nth = alike.entry(name).or_default();
            *nth += 1;
            if *nth == 1 { name.to_owned() } else { format!("{name} {nth}") }
        };
        let parts = spec.impairments.iter().map(|part| RunningImpairment::new(part.clone(), stream(&stream_name(part)))).collect();
        LinkImpairments { impairments: parts, delayed: DueQueue::default(), release_slot, duplicated_packets: 0 }
    }

    /// Whether an impairment of this index exists.
    pub fn has_impairment(&self, part: usize) -> bool {
        part < self.impairments.len()
    }

    /// Applies an impairment to a packet. A mark that does not change the packet becomes a pass.
    pub fn apply(&mut self, part: usize, packet: &mut Packet, now: Time) -> ImpairmentAction {
        let action = self.impairments[part].apply(packet, now);
        self.duplicated_packets += u64::from(action == ImpairmentAction::Duplicate);
        action
    }

    /// Delays a packet; `impairment` is the index of the impairment that delays it.
    pub fn delay(&mut self, impairment: usize, packet: PacketId, now: Time, until: Time) {
        let running = &mut self.impairments[impairment];
        let key =
            self.delayed.insert(until, DelayedPacket { packet, impairment, arrival_number: running.arrived_packets, delayed_since: now });
        if let Impairment::Reorder(reorder) = &mut running.impairment {
            reorder.add_delayed(key);
        }
    }

    /// The next packet that an impairment releases because enough others have overtaken it.
    pub fn pop_overtaken(&mut self, part: usize) -> Option<DelayedPacket> {
        let Impairment::Reorder(reorder) = &mut self.impairments[part].impairment else { return None };
        let held = std::iter::from_fn(|| reorder.pop_overtaken()).find_map(|key| self.delayed.remove(key))?;
        self.record_release(held)
    }

    /// The next delayed packet that is due.
    pub fn pop_due(&mut self, now: Time) -> Option<DelayedPacket> {
        let held = self.delayed.pop_due(now)?;
        self.record_release(held)
    }

    fn record_release(&mut self, held: DelayedPacket) -> Option<DelayedPacket> {
        self.impairments[held.impairment].record_release(held.arrival_number);
        Some(held)
    }

    /// Time of the next release, and the time at which that packet's delay began.
    pub fn next_release(&self) -> Option<(Time, Time)> {
        self.delayed.first().map(|(until, packet)| (until, packet.delayed_since))
    }

    /// All delayed packets.
    pub fn delayed_packets(&self) -> impl ExactSizeIterator<Item = PacketId> + '_ {
        self.delayed.iter().map(|held| held.packet)
    }

    /// Starts the measured interval.
    pub fn begin_measuring(&mut self) {
        self.impairments.iter_mut().for_each(|part| part.counts_before = part.counts);
    }

    /// Counts of each impairment in the measured interval, with the index of its kind in [`IMPAIRMENT_KINDS`].
    pub fn counts(&self) -> impl Iterator<Item = (u32, ImpairmentCounts)> + '_ {
        let kind_index =
            |part: &Impairment| IMPAIRMENT_KINDS.iter().position(|entry| entry.name == part.kind().name).unwrap_or_default() as u32;
        self.impairments.iter().map(move |running| (kind_index(&running.impairment), running.counts.since(&running.counts_before)))
    }

    /// Losses in the measured interval.
    pub fn loss_counts(&self) -> LossCounts {
        self.counts().fold(LossCounts::default(), |sum, (_, part)| LossCounts {
            lost: sum.lost + part.lost,
            dropped_for_ecn: sum.dropped_for_ecn + part.dropped_for_ecn,
        })
    }
}

impl RunningImpairment {
    fn new(impairment: Impairment, rng: Rng) -> RunningImpairment {
        RunningImpairment {
            impairment,
            rng,
            counts: ImpairmentCounts::default(),
            counts_before: ImpairmentCounts::default(),
            arrived_packets: 0,
            highest_released: 0,
        }
    }

    fn apply(&mut self, packet: &mut Packet, now: Time) -> ImpairmentAction {
        self.arrived_packets += 1;
        self.counts.arrived += 1;
        let mut action = self.impairment.apply(packet, now, &mut self.rng);
        if let ImpairmentAction::Mark(level) = action {
            let marked = packet.ecn_semantics().apply_mark(packet.ecn, level);
            let before = std::mem::replace(&mut packet.ecn, marked);
            action = if marked == before { ImpairmentAction::Pass } else { action };
        }
        if action == ImpairmentAction::ForceMark {
            packet.ecn = Ecn::Ce;
        }
        match action {
            ImpairmentAction::Pass => {}
            ImpairmentAction::ClearEcn => self.counts.ecn_cleared += 1,
            ImpairmentAction::Mark(_) | ImpairmentAction::ForceMark => self.counts.marked += 1,
            ImpairmentAction::Drop => self.counts.lost += 1,
            ImpairmentAction::DropForEcn => self.counts.dropped_for_ecn += 1,
            ImpairmentAction::Duplicate => self.counts.duplicated += 1,
            ImpairmentAction::Delay(_) => {
                self.counts.delayed += 1;
                return action;
            }
        }
        self.record_release(self.arrived_packets);
        action
    }

    /// Records that packet `number`, by arrival, is released, to count reordering.
    fn record_release(&mut self, number: u64) {
        self.counts.reordered += u64::from(number < self.highest_released);
        self.highest_released = self.highest_released.max(number);
    }
}

impl ImpairmentCounts {
    fn since(&self, before: &ImpairmentCounts) -> ImpairmentCounts {
        let difference_of = |of: fn(&ImpairmentCounts) -> u64| of(self) - of(before);
        ImpairmentCounts {
            arrived: difference_of(|counts| counts.arrived),
            lost: difference_of(|counts| counts.lost),
            dropped_for_ecn: difference_of(|counts| counts.dropped_for_ecn),
            marked: difference_of(|counts| counts.marked),
            ecn_cleared: difference_of(|counts| counts.ecn_cleared),
            duplicated: difference_of(|counts| counts.duplicated),
            delayed: difference_of(|counts| counts.delayed),
            reordered: difference_of(|counts| counts.reordered),
        }
    }

    /// Sum with the counts of another.
    pub fn plus(&self, other: &ImpairmentCounts) -> ImpairmentCounts {
        ImpairmentCounts {
            arrived: self.arrived + other.arrived,
            lost: self.lost + other.lost,
            dropped_for_ecn: self.dropped_for_ecn + other.dropped_for_ecn,
            marked: self.marked + other.marked,
            ecn_cleared: self.ecn_cleared + other.ecn_cleared,
            duplicated: self.duplicated + other.duplicated,
            delayed: self.delayed + other.delayed,
            reordered: self.reordered + other.reordered,
        }
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Span;

    use super::script::Script;
    use super::test_packets::{cwr_segment, ecn_setup_syn, ecn_setup_syn_ack};
    use super::*;

    fn link_impairments(parts: impl IntoIterator<Item = Impairment>) -> LinkImpairments {
        LinkImpairments::new(&ImpairmentSpec::from_parts(parts).unwrap(), |role| Rng::for_role(1, format_args!("{role} test")), 0)
    }

    /// An impairment of this kind with these parameters.
    fn impairment_of_kind(kind: &str, given: &[(&str, &str)]) -> Impairment {
        let entry = IMPAIRMENT_KINDS.iter().find(|entry| entry.name == kind).unwrap();
        let mut values = Values::defaults(entry.parameters);
        given.iter().for_each(|(name, text)| values.set_from_text(name, text).unwrap());
        (entry.make)(&values)
    }

    /// ECN codepoint, CWR and ECE of a packet behind a path; `None` if the packet was dropped.
    fn ecn_fields_after(ecn: EcnPath, mut packet: Packet) -> Option<(Ecn, bool, bool)> {
        let mut link_impairments = link_impairments([Impairment::Ecn(ecn)]);
        let gone = link_impairments.apply(0, &mut packet, Time::ZERO) == ImpairmentAction::DropForEcn;
        assert_eq!(LossCounts { lost: 0, dropped_for_ecn: u64::from(gone) }, link_impairments.loss_counts());
        (!gone).then_some((packet.ecn, packet.flags.cwr(), packet.flags.ece()))
    }

    #[test]
    fn each_ecn_path_changes_only_its_own_ecn_bits() {
        let cases = [
            (EcnPath::Keep, [Some((Ecn::Ect0, true, false)), Some((Ecn::Ce, true, false)), Some((Ecn::NotEct, true, true))]),
            (EcnPath::Bleach, [Some((Ecn::NotEct, true, false)), Some((Ecn::NotEct, true, false)), Some((Ecn::NotEct, true, true))]),
            (EcnPath::Drop, [None, None, Some((Ecn::NotEct, true, true))]),
            (EcnPath::ClearFlags, [Some((Ecn::Ect0, true, false)), Some((Ecn::Ce, true, false)), Some((Ecn::NotEct, false, false))]),
            (EcnPath::DropSetup, [Some((Ecn::Ect0, true, false)), Some((Ecn::Ce, true, false)), None]),
        ];
        for (ecn, expected) in cases {
            assert_eq!(
                expected,
                [cwr_segment(Ecn::Ect0), cwr_segment(Ecn::Ce), ecn_setup_syn()].map(|packet| ecn_fields_after(ecn, packet)),
                "{ecn:?}"
            );
        }
    }

    #[test]
    fn a_syn_ack_passes_drop_setup_and_loses_its_flags_in_clear_flags() {
        assert_eq!(Some((Ecn::NotEct, false, true)), ecn_fields_after(EcnPath::DropSetup, ecn_setup_syn_ack()));
        assert_eq!(Some((Ecn::NotEct, false, false)), ecn_fields_after(EcnPath::ClearFlags, ecn_setup_syn_ack()));
    }

    #[test]
    fn random_actions_occur_at_their_declared_rate() {
        let cases = [
            ("loss", ImpairmentAction::Drop),
            ("mark", ImpairmentAction::Mark(CongestionLevel::Congested)),
            ("duplicate", ImpairmentAction::Duplicate),
            ("reorder", ImpairmentAction::Delay(Time::ZERO + Span::from_millis(10))),
        ];
        for (kind, action) in cases {
            let mut link_impairments = link_impairments([impairment_of_kind(kind, &[("rate", "0.1")])]);
            let done = (0..100_000).filter(|_| link_impairments.apply(0, &mut cwr_segment(Ecn::Ect0), Time::ZERO) == action).count();
            // Five standard deviations of 95.
            assert!((9_525..10_475).contains(&done), "{kind}: {done}");
            let ImpairmentCounts { arrived, lost, marked, duplicated, delayed, .. } = link_impairments.impairments[0].counts;
            assert_eq!((100_000, done as u64), (arrived, lost + marked + duplicated + delayed), "{kind}");
        }
    }

    #[test]
    fn periodic_loss_drops_every_nth_packet() {
        let mut link_impairments = link_impairments([Impairment::periodic_loss(4)]);
        let lost: Vec<usize> =
            (1..=12).filter(|_| link_impairments.apply(0, &mut cwr_segment(Ecn::Ect0), Time::ZERO) == ImpairmentAction::Drop).collect();
        assert_eq!(vec![4, 8, 12], lost);
        assert_eq!(LossCounts { lost: 3, dropped_for_ecn: 0 }, link_impairments.loss_counts());
    }

    #[test]
    fn a_mark_has_the_declared_level_and_is_not_counted_where_it_changes_nothing() {
        let script = Script::new(
            Vec::new(),
            vec![(5, 0, CongestionLevel::Incipient), (5, 1, CongestionLevel::Congested), (5, 2, CongestionLevel::Congested)],
            Vec::new(),
        );
        let mut link_impairments = link_impairments([Impairment::Script(script)]);
        let marks = [Ecn::Ect0, Ecn::Ect0, Ecn::NotEct].map(|ecn| {
            let mut packet = cwr_segment(ecn);
            (link_impairments.apply(0, &mut packet, Time::ZERO), packet.ecn)
        });
        let [incipient, congested] = [CongestionLevel::Incipient, CongestionLevel::Congested].map(ImpairmentAction::Mark);
        assert_eq!([(incipient, Ecn::Ect1), (congested, Ecn::Ce), (ImpairmentAction::Pass, Ecn::NotEct)], marks);
        assert_eq!(2, link_impairments.impairments[0].counts.marked);
    }

    #[test]
    fn each_impairment_has_its_own_random_stream_named_by_its_kind() {
        let draws_of_stream = |role: &str| {
            let mut rng = Rng::for_role(1, role);
            (0..50).map(|_| rng.uniform() < 0.5).collect::<Vec<_>>()
        };
        let mut link_impairments =
            link_impairments([impairment_of_kind("duplicate", &[]), Impairment::random_loss(0.5), Impairment::random_loss(0.5)]);
        let lost = [1, 2].map(|at| {
            (0..50)
                .map(|_| link_impairments.apply(at, &mut cwr_segment(Ecn::Ect0), Time::ZERO) == ImpairmentAction::Drop)
                .collect::<Vec<_>>()
        });
        assert_eq!([draws_of_stream("loss test"), draws_of_stream("loss 2 test")], lost);
    }

    /// Packets arrive a millisecond apart; returns which are released at which millisecond, by number from 1. Packets in `held` are delayed
    /// for 100 ms.
    fn release_order(packets: &str, held: &[u64], count: u64) -> Vec<(u64, u64)> {
        let mut link_impairments =
            link_impairments([impairment_of_kind("reorder", &[("rate", "0.5"), ("packets", packets), ("delay", "100 ms")])]);
        let mut went = Vec::new();
        for number in 1..=count {
            let now = Time::ZERO + Span::from_millis(number);
            let wanted = held.contains(&number);
            // Draws are skipped until the first packets get the wanted outcome.
            while (link_impairments.impairments[0].rng.clone().uniform() < 0.5) != wanted {
                link_impairments.impairments[0].rng.uniform();
            }
            match link_impairments.apply(0, &mut cwr_segment(Ecn::Ect0), now) {
                ImpairmentAction::Delay(until) => link_impairments.delay(0, number as PacketId, now, until),
                _ => went.push((number, number)),
            }
            while let Some(held) = link_impairments.pop_overtaken(0) {
                went.push((u64::from(held.packet), number));
            }
        }
        while let Some((next, _)) = link_impairments.next_release() {
            let held = link_impairments.pop_due(next).unwrap();
            went.push((u64::from(held.packet), next.picos() / 1_000_000_000));
        }
        let reordered = went.iter().enumerate().filter(|(at, (number, _))| went[..*at].iter().any(|(earlier, _)| earlier > number)).count();
        assert_eq!(reordered as u64, link_impairments.impairments[0].counts.reordered);
        went
    }

    #[test]
    fn a_delayed_packet_is_released_after_enough_overtakes_or_at_its_time() {
        assert_eq!(vec![(1, 1), (3, 3), (4, 4), (2, 4), (5, 5)], release_order("2", &[2], 5));
        assert_eq!(vec![(1, 1), (4, 4), (5, 5), (2, 5), (3, 5)], release_order("2", &[2, 3], 5));
        assert_eq!(vec![(1, 1), (3, 3), (2, 102)], release_order("5", &[2], 3));
        assert_eq!(vec![(2, 2), (1, 101), (3, 103)], release_order("off", &[1, 3], 3));
    }

    #[test]
    fn kind_names_are_unique_and_each_kind_constructs_its_impairment() {
        for (at, entry) in IMPAIRMENT_KINDS.iter().enumerate() {
            assert!(IMPAIRMENT_KINDS[..at].iter().all(|other| other.name != entry.name), "{}", entry.name);
            let given: &[_] = if entry.name == "burst-loss" { &[("rate", "0.01"), ("burst", "3")] } else { &[] };
            assert_eq!(entry.name, impairment_of_kind(entry.name, given).kind().name);
        }
    }
}
