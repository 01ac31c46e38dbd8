//! RED (Floyd and Jacobson 1993), and ECN as the papers name it: RED that marks. The law is [`control::red`](super::control::red).

use ecnlab_units::{CongestionLevel, Rate, Rng, Time, math};

use super::control::red::{AverageQueue, GAUGES, ProbabilityRamp, Settings, SignalSpacing, TEST_PARAMS};
use super::drop_policy::DropPosition;
use super::entry::AqmEntry;
use super::{AVERAGE_GAUGE_NAME, Aqm, AqmRequirements, Arrival, EnqueueVerdict, GaugeReport, MarkTarget, PacketInfo, SignalCause};

/// What the entries of RED share.
pub(super) const RED_BASE_ENTRY: AqmEntry = AqmEntry {
    parameters: Settings::PARAMETERS,
    check: |values, limit| Settings::from_values(values).contradictions(limit),
    test_params: TEST_PARAMS,
    gauges: GAUGES,
    ..AqmEntry::DEFAULTS
};

/// RED in the registry.
pub static RED: AqmEntry = AqmEntry {
    name: "red",
    title: "RED",
    summary: "Random early detection that drops packets, ECN-capable or not.",
    source: "Floyd and Jacobson 1993",
    unread_parameters: &["mark_limit"],
    make: &|values, link| Box::new(Red::new(Settings::from_values(values), SignalMode::Drop, link.rate)),
    ..RED_BASE_ENTRY
};

/// ECN in the registry.
pub static ECN: AqmEntry = AqmEntry {
    name: "ecn",
    title: "ECN",
    summary: "RED that marks ECN-capable packets on early signals and drops on forced ones.",
    source: "Floyd 1994; RFC 3168",
    lowest_mark: AqmEntry::MARK_LEVEL_CONGESTED,
    make: &|values, link| Box::new(Red::new(Settings::from_values(values), SignalMode::Mark, link.rate)),
    ..RED_BASE_ENTRY
};

/// ECNM in the registry.
pub static ECNM: AqmEntry = AqmEntry {
    name: "ecnm",
    title: "ECNM",
    summary: "ECN that also marks at and above max_th and drops only when the buffer is full.",
    source: "Zheng 2001, section 4.2.2",
    unread_parameters: &["mark_limit"],
    lowest_mark: AqmEntry::MARK_LEVEL_CONGESTED,
    make: &|values, link| Box::new(Red::new(Settings::from_values(values), SignalMode::MarkAll, link.rate)),
    ..RED_BASE_ENTRY
};

/// How a signal is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalMode {
    /// Every signal drops.
    Drop,
    /// Early signals mark, forced ones drop.
    Mark,
    /// Early and forced signals mark; only a full buffer drops.
    MarkAll,
    /// As `Mark`, but the oldest packet without a mark is marked.
    MarkFront,
}

/// RED, ECN, ECNM or mark-front at work.
pub struct Red {
    mode: SignalMode,
    settings: Settings,
    ramp: ProbabilityRamp,
    average: AverageQueue,
    spacing: SignalSpacing,
}

impl Red {
    /// With these settings, before a line of this rate.
    pub fn new(settings: Settings, mode: SignalMode, rate: Rate) -> Red {
        Red {
            mode,
            settings,
            ramp: settings.probability_ramp(),
            average: AverageQueue::new(&settings, rate),
            spacing: SignalSpacing::default(),
        }
    }

    /// Updates the average for an arrival; returns the start of the idle period that it ended, if any. [`Red::decide`] follows.
    #[inline]
    pub(super) fn update_average_taking_idle_start(&mut self, arrival: &Arrival) -> Option<Time> {
        self.average.update_taking_idle_start(arrival)
    }

    /// Verdict on the arrival that the average was updated for.
    #[inline(always)]
    pub(super) fn decide(&mut self, arrival: &Arrival, idle: Option<Time>, rng: &mut Rng) -> EnqueueVerdict {
        self.spacing.count_arrival(arrival.packet.size);
        let mut verdict = self.verdict_unless_full(arrival, rng);
        if arrival.would_overflow {
            self.spacing.reset();
            verdict = EnqueueVerdict::Drop { target: self.settings.drop.drop_target(arrival, rng), cause: SignalCause::Overflow };
        }
        self.average.resume_idle_if_dropped(idle, &verdict);
        verdict
    }

    /// The average as an arrival at this time would find it.
    pub(super) fn average_at(&self, now: Time) -> f64 {
        self.average.value_at(now)
    }

    /// Signals along another ramp from now on.
    pub(super) fn set_ramp(&mut self, ramp: ProbabilityRamp) {
        self.ramp = ramp;
    }

    #[inline(always)]
    fn verdict_unless_full(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        let Settings { floor, drop, .. } = self.settings;
        if self.average.value() < self.ramp.min_th || arrival.backlog.packets <= floor {
            self.spacing.leave_signal_region();
            return EnqueueVerdict::Pass;
        }
        let forced = self.average.value() >= self.ramp.forced_signal_threshold();
        if forced && self.mode != SignalMode::MarkAll {
            self.spacing.reset();
            return EnqueueVerdict::Drop { target: drop.drop_target(arrival, rng), cause: SignalCause::Forced };
        }
        if self.spacing.enters_signal_region(&self.settings) {
            return EnqueueVerdict::Pass;
        }
        let p_b = self.ramp.probability(self.average.value());
        let hit = self.spacing.draw_signal(p_b, &self.settings, arrival.packet.size, rng);
        if !hit && !forced {
            return EnqueueVerdict::Pass;
        }
        self.spacing.reset();
        let cause = if forced { SignalCause::Forced } else { SignalCause::Early };
        if self.mode == SignalMode::Drop || p_b > self.settings.mark_limit && self.mode != SignalMode::MarkAll {
            return EnqueueVerdict::Drop { target: drop.drop_target(arrival, rng), cause };
        }
        let target = if self.mode == SignalMode::MarkFront { MarkTarget::FirstUnmarkedOf(0) } else { MarkTarget::Arriving };
        EnqueueVerdict::Signal { level: CongestionLevel::Congested, target, cause }
    }
}

impl Aqm for Red {
    fn requirements(&self) -> AqmRequirements {
        AqmRequirements { groups: usize::from(self.mode == SignalMode::MarkFront), dequeue_hook: false }
    }

    fn on_enqueue(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        let idle = self.update_average_taking_idle_start(arrival);
        self.decide(arrival, idle, rng)
    }

    fn on_moved_in(&mut self, _packet: &PacketInfo, now: Time) {
        self.average.end_idle(now);
    }

    fn on_queue_empty(&mut self, now: Time) {
        self.average.start_idle(now);
    }

    fn set_link_rate(&mut self, rate: Rate) {
        self.average.set_link_rate(rate);
    }

    fn average_queue_length(&self) -> Option<f64> {
        Some(self.average.value())
    }

    fn report_gauges(&self, report: GaugeReport) {
        report(AVERAGE_GAUGE_NAME, self.average.value());
        report("probability", math::positive_part(self.ramp.probability(self.average.value())));
    }

    fn signals_arriving_packets_only(&self) -> bool {
        self.settings.drop == DropPosition::Tail && self.mode != SignalMode::MarkFront
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::{Span, Values};

    use super::*;
    use crate::aqm::Backlog;
    use crate::aqm::entry::default_values_with_overrides;

    fn values(settings: &[(&str, &str)]) -> Values {
        default_values_with_overrides("red", Settings::PARAMETERS, settings)
    }

    fn red(mode: SignalMode, settings: &[(&str, &str)]) -> (Red, Rng) {
        (Red::new(Settings::from_values(&values(settings)), mode, Rate::from_bps(1_500_000).unwrap()), Rng::for_role(1, "red"))
    }

    fn arrival(now: Time, packets: u32) -> Arrival<'static> {
        Arrival { now, backlog: Backlog::of_1000_byte_packets(packets), ..Arrival::PLAIN }
    }

    #[test]
    fn the_average_follows_the_weighted_sum() {
        let (mut red, mut rng) = red(SignalMode::Drop, &[("w_q", "0.5"), ("min_th", "100"), ("max_th", "200")]);
        for (length, expected) in [(4, 2.0), (4, 3.0), (0, 1.5)] {
            red.on_enqueue(&arrival(Time::ZERO, length), &mut rng);
            assert_eq!(Some(expected), red.average_queue_length());
        }
    }

    #[test]
    fn an_idle_spell_decays_the_average_as_if_small_packets_had_passed() {
        let (mut red, mut rng) = red(SignalMode::Drop, &[("w_q", "0.5"), ("min_th", "100"), ("max_th", "200"), ("mean_packet", "1000 B")]);
        red.on_enqueue(&arrival(Time::ZERO, 32), &mut rng);
        red.on_queue_empty(Time::ZERO);
        let three_packets_later = Time::ZERO + Span::from_millis(16);
        red.on_enqueue(&arrival(three_packets_later, 0), &mut rng);
        assert_eq!(Some(16.0 * 0.5f64.powi(4)), red.average_queue_length());
    }

    #[test]
    fn signals_come_at_even_gaps_between_one_and_two_times_the_inverse_probability() {
        let (mut red, mut rng) = red(SignalMode::Mark, &[("w_q", "1"), ("min_th", "5"), ("max_th", "15"), ("max_p", "0.1")]);
        let mut gaps = Vec::new();
        let mut gap = 0;
        for _ in 0..20_000 {
            gap += 1;
            if red.on_enqueue(&arrival(Time::ZERO, 10), &mut rng) != EnqueueVerdict::Pass {
                gaps.push(gap);
                gap = 0;
            }
        }
        assert!(gaps[1..].iter().all(|&gap| (20..=40).contains(&gap)), "{gaps:?}");
        let mean = gaps.iter().sum::<i32>() as f64 / gaps.len() as f64;
        assert!((mean - 30.0).abs() < 1.0, "{mean}");
    }

    #[test]
    fn without_wait_the_mean_gap_is_half_as_long() {
        let (mut red, mut rng) = red(SignalMode::Mark, &[("w_q", "1"), ("max_p", "0.1"), ("wait", "false")]);
        let hits = (0..20_000).filter(|_| red.on_enqueue(&arrival(Time::ZERO, 10), &mut rng) != EnqueueVerdict::Pass).count();
        assert!((20_000.0 / hits as f64 - 10.5).abs() < 0.6, "{hits}");
    }

    #[test]
    fn above_max_th_red_forces_a_drop_and_ecnm_marks() {
        for (mode, marks) in [(SignalMode::Drop, false), (SignalMode::Mark, false), (SignalMode::MarkAll, true)] {
            let (mut red, mut rng) = red(mode, &[("w_q", "1")]);
            red.on_enqueue(&arrival(Time::ZERO, 20), &mut rng);
            let verdict = red.on_enqueue(&arrival(Time::ZERO, 20), &mut rng);
            let signalled = verdict == EnqueueVerdict::mark_arriving(SignalCause::Forced);
            assert_eq!(marks, signalled, "{mode:?}: {verdict:?}");
        }
    }

    /// Zheng 2001, section 4.2.2: each one, also where counting by RED's rule would leave some out.
    #[test]
    fn above_max_th_ecnm_marks_every_packet_but_the_first_above_min_th() {
        for settings in [&[("count_self", "false")][..], &[("unit", "bytes"), ("mean_packet", "1000 B"), ("wait", "false")]] {
            let given: Vec<_> = [("w_q", "1")].iter().chain(settings).copied().collect();
            let (mut red, mut rng) = red(SignalMode::MarkAll, &given);
            let small = Arrival { packet: PacketInfo { size: 80, ..PacketInfo::EXAMPLE_ECT0 }, ..arrival(Time::ZERO, 20) };
            let verdicts: Vec<EnqueueVerdict> = (0..100).map(|_| red.on_enqueue(&small, &mut rng)).collect();
            let marked =
                verdicts.iter().filter(|verdict| matches!(verdict, EnqueueVerdict::Signal { cause: SignalCause::Forced, .. })).count();
            assert_eq!((99, EnqueueVerdict::Pass), (marked, verdicts[0]), "{settings:?}");
        }
    }

    #[test]
    fn above_the_mark_limit_ecn_drops() {
        let (mut red, mut rng) = red(SignalMode::Mark, &[("w_q", "1"), ("max_p", "0.5"), ("mark_limit", "0.1")]);
        let verdicts: Vec<EnqueueVerdict> = (0..100).map(|_| red.on_enqueue(&arrival(Time::ZERO, 10), &mut rng)).collect();
        assert!(verdicts.contains(&EnqueueVerdict::drop_arriving(SignalCause::Early)));
        assert!(!verdicts.iter().any(|verdict| matches!(verdict, EnqueueVerdict::Signal { .. })));
    }

    #[test]
    fn a_full_buffer_drops_whatever_red_thinks() {
        let (mut red, mut rng) = red(SignalMode::Mark, &[]);
        let full = Arrival { would_overflow: true, ..arrival(Time::ZERO, 10) };
        assert_eq!(EnqueueVerdict::drop_arriving(SignalCause::Overflow), red.on_enqueue(&full, &mut rng));
    }

    #[test]
    fn byte_mode_counts_small_packets_as_less() {
        let (mut red, mut rng) =
            red(SignalMode::Mark, &[("unit", "bytes"), ("mean_packet", "1000 B"), ("w_q", "1"), ("min_th", "100"), ("max_th", "200")]);
        red.on_enqueue(&Arrival { backlog: Backlog { packets: 50, bytes: 2_000 }, ..Arrival::PLAIN }, &mut rng);
        assert_eq!(Some(2.0), red.average_queue_length());
    }

    #[test]
    fn packets_dropped_at_an_empty_queue_do_not_end_the_idle_spell() {
        let (mut red, mut rng) =
            red(SignalMode::Drop, &[("w_q", "0.002"), ("floor", "0"), ("min_th", "5"), ("max_th", "15"), ("mean_packet", "1000 B")]);
        for _ in 0..2_000 {
            red.on_enqueue(&arrival(Time::ZERO, 40), &mut rng);
        }
        assert!(red.average_queue_length().unwrap() > 15.0);
        red.on_queue_empty(Time::ZERO);
        // One packet every 2 ms where the link could send one in 5.3 ms: each alone decays next to nothing.
        let passed =
            (1..=2_000).find(|&n| red.on_enqueue(&arrival(Time::ZERO + Span::from_millis(2) * n, 0), &mut rng) == EnqueueVerdict::Pass);
        let first = passed.expect("the link starves: the average never came down");
        assert!(first < 400, "the first packet passed only after {first} arrivals");
    }
}
