//! AECN (Zheng 2001, chapter 5 and appendix B): ECN that marks robust flows more and fragile ones less.
//!
//! The round-trip time that a packet carries puts it into one of three groups (the thesis's flow queues); zero (unknown) counts as average.
//! The average queue length is RED's, the line to `max_th` is each group's own:
//!
//! ```text
//! robust   [robust_rtt, average_rtt)    max_p = min(base beta, 1)    min_th = robust_min_th (AECN3)
//! average  [average_rtt, fragile_rtt)   max_p = base
//! fragile  [fragile_rtt, inf)           max_p = base / alpha
//! ```
//!
//! A hit marks the first unmarked ECN-capable packet of the group (mark-front), the arriving one last.
//! If none fits, the arriving packet is dropped (our choice; the appendix leaves it open).
//! `count` is kept per group: the appendix prints one for the router, but only a count for each group gives the curves of the thesis.
//! A forced drop restarts the group's count, but the first arrival above `min_th` restarts the router's alone: of the readings
//! tried this one meets ns-2's figures (`reference/ns2/thesis-aecn.csv`).
//! AECN2 is `balance = "population"`: alpha = len(average) / len(fragile), beta = len(robust) / len(average),
//! with the router queue's length for an empty average group, and alpha = 1 for an empty fragile one (our choice).
//! `ratios = "whole"` cuts both to whole numbers, as a division of two lengths in C does. Nothing guards a ratio of 0 then:
//! alpha = 0 leaves max_p = 1 and beta = 0 leaves 0. With real numbers AECN2 meets ns-2's rows; with whole ones it does not, under this
//! or 13 other readings of what guards a 0.
//! AECN4 is AECN3 with a larger `max_th`.

use ecnlab_units::quantity::PacketsOrBytes;
use ecnlab_units::{CongestionLevel, Rate, Rng, Span, Time, parameters, words};

use super::control::red::{self, AverageQueue, ProbabilityRamp, SignalSpacing};
use super::entry::{AqmEntry, Contradictions, Gauge};
use super::{AVERAGE_GAUGE_NAME, Aqm, AqmRequirements, Arrival, EnqueueVerdict, GaugeReport, MarkTarget, PacketInfo, SignalCause};

/// Adaptive ECN in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "aecn",
    title: "Adaptive ECN",
    summary: "ECN with a marking probability for each group of round-trip times, marking at the front of the group (AECN, AECN2, AECN3, AECN4).",
    source: "Zheng 2001, chapter 5 and appendix B",
    parameters: Settings::PARAMETERS,
    lowest_mark: AqmEntry::MARK_LEVEL_CONGESTED,
    check: |values, limit| Settings::from_values(values).contradictions(limit),
    test_params: red::TEST_PARAMS,
    gauges: GAUGES,
    make: &|values, link| Box::new(Aecn::new(Settings::from_values(values), link.rate)),
    ..AqmEntry::DEFAULTS
};

const ROBUST_GROUP: usize = 0;
const AVERAGE_GROUP: usize = 1;
const FRAGILE_GROUP: usize = 2;

parameters! {
    /// AECN as a scenario sets it: RED's law, and what each group has of its own.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        ..law: red::Settings;
        /// Divisor of the fragile flows' probability: they are marked with max_p / alpha.
        #[source("Zheng 2001, section 5.2.4")]
        #[when(balance = "fixed")]
        #[usual(1..=10, linear)]
        pub alpha: f64 = "2.5", 0.001..=1e6;
        /// Factor of the robust flows' probability: they are marked with min(max_p beta, 1).
        #[source("Zheng 2001, section 5.2.4")]
        #[when(balance = "fixed")]
        #[usual(1..=10, linear)]
        pub beta: f64 = "2.5", 0.001..=1e6;
        /// Source of alpha and beta: fixed, or the lengths of the groups' queues (AECN2).
        #[source("Zheng 2001, section 5.7.1")]
        pub balance: RatioSource = "fixed";
        /// Arithmetic of alpha and beta with balance = population: real numbers or integers.
        #[source("a division of two lengths in C gives whole numbers")]
        #[when(balance = "population")]
        pub ratios: RatioRounding = "real";
        /// Separate min_th of the robust group (AECN3); auto is min_th.
        #[source("Zheng 2001, section 5.7.2")]
        #[usual(1..=60, linear)]
        pub robust_min_th: Option<f64> = "auto", 0..=1e9, "packets";
        /// Scope of the count of packets since the last mark: one for each group, or one for the router.
        #[source("Zheng 2001, appendix B prints router; group gives the curves of chapter 5")]
        pub count: SpacingScope = "group";
        /// Smallest round-trip time of a robust flow; a smaller one counts as unknown, and so as average.
        #[source("Zheng 2001, section 5.4")]
        #[usual(0.0005..=0.5, log)]
        pub robust_rtt: Span = "0.5 ms", 0..=3600, "s";
        /// Smallest round-trip time of an average flow.
        #[source("Zheng 2001, section 5.4")]
        #[usual(0.0005..=0.5, log)]
        pub average_rtt: Span = "75 ms", 0..=3600, "s";
        /// Smallest round-trip time of a fragile flow.
        #[source("Zheng 2001, section 5.4")]
        #[usual(0.0005..=0.5, log)]
        pub fragile_rtt: Span = "150 ms", 0..=3600, "s";
    }
}

words! {
    /// Source of the ratios alpha and beta.
    pub enum RatioSource { Fixed = "fixed", Population = "population" }
}

words! {
    /// Rounding of the ratio of two lengths.
    pub enum RatioRounding { Real = "real", Whole = "whole" }
}

impl RatioRounding {
    fn round(self, (alpha, beta): (f64, f64)) -> (f64, f64) {
        if self == RatioRounding::Real { (alpha, beta) } else { (alpha.floor(), beta.floor()) }
    }
}

words! {
    /// Scope in which packets since the last mark are counted.
    pub enum SpacingScope { Group = "group", Router = "router" }
}

impl Settings {
    /// Contradicting parameters, RED's among them, each with its error.
    pub fn contradictions(&self, limit: PacketsOrBytes) -> Contradictions {
        let mut problems = self.law.contradictions(limit);
        let bounds = [("robust_rtt", self.robust_rtt), ("average_rtt", self.average_rtt), ("fragile_rtt", self.fragile_rtt)];
        for [(lower, low), (upper, high)] in [[bounds[0], bounds[1]], [bounds[1], bounds[2]]] {
            if low >= high {
                problems.push((lower, format!("{} s must be below {upper} {} s", low.seconds(), high.seconds())));
            }
        }
        if let Some(min_th) = self.robust_min_th.filter(|&min_th| min_th >= self.law.max_th) {
            problems.push(("robust_min_th", format!("{min_th} must be below max_th {}", self.law.max_th)));
        }
        problems
    }
}

/// Gauges for recordings.
pub const GAUGES: &[Gauge] = &[red::GAUGES[0]];

/// Adaptive ECN at work.
pub struct Aecn {
    settings: Settings,
    average: AverageQueue,
    min_th: [f64; 3],
    group_spacings: [SignalSpacing; 3],
    /// RED's own count; it alone is restarted by the first arrival above `min_th`.
    router_spacing: SignalSpacing,
}

impl Aecn {
    /// With these settings, before a line of this rate.
    pub fn new(settings: Settings, rate: Rate) -> Aecn {
        let min_th = settings.law.min_th;
        Aecn {
            average: AverageQueue::new(&settings.law, rate),
            min_th: [settings.robust_min_th.unwrap_or(min_th), min_th, min_th],
            group_spacings: [SignalSpacing::default(); 3],
            router_spacing: SignalSpacing::default(),
            settings,
        }
    }

    /// The group's line, from its own `min_th` to the common `max_th`.
    fn ramp_of(&self, group: usize, arrival: &Arrival) -> ProbabilityRamp {
        let Settings { law, alpha, beta, balance, .. } = &self.settings;
        let (alpha, beta) = match balance {
            RatioSource::Fixed => (*alpha, *beta),
            RatioSource::Population => self.settings.ratios.round(alpha_beta_from_backlogs(group, arrival)),
        };
        let max_p = match group {
            ROBUST_GROUP => law.max_p * beta,
            FRAGILE_GROUP => law.max_p / alpha.max(f64::MIN_POSITIVE),
            _ => law.max_p,
        };
        ProbabilityRamp::new(self.min_th[group], law.max_th, max_p.min(1.0), law.gentle)
    }

    fn group_verdict(&mut self, group: usize, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        let average = self.average.value();
        let ramp = self.ramp_of(group, arrival);
        self.spacing_counter_mut(group).count_arrival(arrival.packet.size);
        if arrival.would_overflow {
            self.spacing_counter_mut(group).reset();
            return EnqueueVerdict::Drop { target: self.settings.law.drop.drop_target(arrival, rng), cause: SignalCause::Overflow };
        }
        if average < ramp.min_th || arrival.backlog.packets <= self.settings.law.floor {
            self.router_spacing.leave_signal_region();
            return EnqueueVerdict::Pass;
        }
        if average >= ramp.forced_signal_threshold() {
            self.spacing_counter_mut(group).reset();
            return EnqueueVerdict::Drop { target: self.settings.law.drop.drop_target(arrival, rng), cause: SignalCause::Forced };
        }
        let p_b = ramp.probability(average);
        let law = self.settings.law;
        if self.router_spacing.enters_signal_region(&law)
            || !self.spacing_counter_mut(group).draw_signal(p_b, &law, arrival.packet.size, rng)
        {
            return EnqueueVerdict::Pass;
        }
        if p_b > law.mark_limit {
            return EnqueueVerdict::Drop { target: law.drop.drop_target(arrival, rng), cause: SignalCause::Early };
        }
        EnqueueVerdict::Signal {
            level: CongestionLevel::Congested,
            target: MarkTarget::FirstUnmarkedOf(group as u8),
            cause: SignalCause::Early,
        }
    }

    /// The count that spreads the marks of a group: its own, or the router's.
    fn spacing_counter_mut(&mut self, group: usize) -> &mut SignalSpacing {
        match self.settings.count {
            SpacingScope::Group => &mut self.group_spacings[group],
            SpacingScope::Router => &mut self.router_spacing,
        }
    }
}

impl Aqm for Aecn {
    fn requirements(&self) -> AqmRequirements {
        AqmRequirements { groups: 3, dequeue_hook: false }
    }

    fn packet_group_index(&self, packet: &PacketInfo) -> u8 {
        let rtt = packet.rtt;
        let Settings { robust_rtt, average_rtt, fragile_rtt, .. } = self.settings;
        let group = if rtt >= fragile_rtt {
            FRAGILE_GROUP
        } else if rtt >= average_rtt || rtt < robust_rtt {
            AVERAGE_GROUP
        } else {
            ROBUST_GROUP
        };
        group as u8
    }

    fn on_enqueue(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        let idle = self.average.update_taking_idle_start(arrival);
        let verdict = self.group_verdict(usize::from(self.packet_group_index(&arrival.packet)), arrival, rng);
        self.average.resume_idle_if_dropped(idle, &verdict);
        verdict
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
    }
}

/// AECN2's alpha and beta (Zheng 2001, algorithm 5.2). The arriving packet counts as standing in its group, not yet in the router's.
fn alpha_beta_from_backlogs(arriving: usize, arrival: &Arrival) -> (f64, f64) {
    let length = |group: usize| f64::from(arrival.groups[group].packets + u32::from(group == arriving));
    let [robust, average, fragile] = [ROBUST_GROUP, AVERAGE_GROUP, FRAGILE_GROUP].map(length);
    let average = if average == 0.0 { f64::from(arrival.backlog.packets) } else { average };
    let alpha = if fragile == 0.0 { 1.0 } else { average / fragile };
    (alpha, robust / average)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::Backlog;
    use crate::aqm::entry::default_values_with_overrides;

    fn aecn(settings: &[(&str, &str)]) -> Aecn {
        let values = default_values_with_overrides(
            "aecn",
            Settings::PARAMETERS,
            [("w_q", "1"), ("min_th", "10"), ("max_th", "30"), ("max_p", "0.5")].iter().chain(settings),
        );
        Aecn::new(Settings::from_values(&values), Rate::from_bps(10_000_000).unwrap())
    }

    fn arrival(rtt: Span, packets: u32, groups: &[Backlog]) -> Arrival<'_> {
        Arrival {
            packet: PacketInfo { rtt, ..PacketInfo::EXAMPLE_ECT0 },
            backlog: Backlog::of_1000_byte_packets(packets),
            groups,
            ..Arrival::PLAIN
        }
    }

    #[test]
    fn the_round_trip_time_picks_the_group_with_the_thesis_bounds() {
        let aecn = aecn(&[]);
        let group =
            |micros| usize::from(aecn.packet_group_index(&PacketInfo { rtt: Span::from_micros(micros), ..PacketInfo::EXAMPLE_ECT0 }));
        assert_eq!([AVERAGE_GROUP, AVERAGE_GROUP, ROBUST_GROUP, ROBUST_GROUP], [0, 499, 500, 74_999].map(group));
        assert_eq!([AVERAGE_GROUP, AVERAGE_GROUP, FRAGILE_GROUP], [75_000, 149_999, 150_000].map(group));
    }

    #[test]
    fn robust_flows_are_marked_more_and_fragile_ones_less() {
        let aecn = aecn(&[]);
        let p = |group| aecn.ramp_of(group, &arrival(Span::ZERO, 20, &[Backlog::EMPTY; 3])).probability(20.0);
        assert_eq!([0.5, 0.25, 0.1], [ROBUST_GROUP, AVERAGE_GROUP, FRAGILE_GROUP].map(p));
    }

    #[test]
    fn aecn2_takes_alpha_and_beta_from_the_lengths_of_the_flow_queues() {
        assert_eq!(
            (2.0, 3.0),
            alpha_beta_from_backlogs(ROBUST_GROUP, &arrival(Span::ZERO, 17, &[11, 4, 2].map(Backlog::of_1000_byte_packets)))
        );
        assert_eq!(
            (1.0, 0.5),
            alpha_beta_from_backlogs(ROBUST_GROUP, &arrival(Span::ZERO, 12, &[5, 0, 0].map(Backlog::of_1000_byte_packets)))
        );
        assert_eq!(
            (4.0, 0.75),
            alpha_beta_from_backlogs(FRAGILE_GROUP, &arrival(Span::ZERO, 7, &[3, 4, 0].map(Backlog::of_1000_byte_packets)))
        );
    }

    #[test]
    fn whole_ratios_are_cut_and_a_ratio_of_zero_stands() {
        let aecn = aecn(&[("balance", "population"), ("ratios", "whole")]);
        let p = |group, lengths: [u32; 3]| {
            aecn.ramp_of(group, &arrival(Span::ZERO, 20, &lengths.map(Backlog::of_1000_byte_packets))).probability(20.0)
        };
        // The arriving packet counts: 11 / 4 robust to average are 2, 5 / 2 average to fragile are 2, each the half of the way.
        assert_eq!([0.5, 0.125], [p(ROBUST_GROUP, [10, 4, 1]), p(FRAGILE_GROUP, [10, 5, 1])]);
        assert_eq!([0.0, 0.5], [p(ROBUST_GROUP, [2, 4, 1]), p(FRAGILE_GROUP, [10, 1, 3])]);
    }

    #[test]
    fn aecn3_starts_the_robust_line_at_its_own_threshold() {
        let aecn = aecn(&[("robust_min_th", "2")]);
        let ramp = aecn.ramp_of(ROBUST_GROUP, &arrival(Span::ZERO, 9, &[Backlog::EMPTY; 3]));
        assert_eq!(0.25, ramp.probability(9.0));
        assert_eq!(10.0, aecn.ramp_of(FRAGILE_GROUP, &arrival(Span::ZERO, 9, &[Backlog::EMPTY; 3])).min_th);
    }

    #[test]
    fn a_hit_points_at_the_front_of_the_group_of_the_arriving_packet() {
        let mut aecn = aecn(&[]);
        let mut rng = Rng::for_role(1, "aecn");
        let verdicts: Vec<EnqueueVerdict> = (0..50)
            .map(|_| aecn.on_enqueue(&arrival(Span::from_millis(200), 25, &[9, 9, 7].map(Backlog::of_1000_byte_packets)), &mut rng))
            .collect();
        let marked = EnqueueVerdict::Signal {
            level: CongestionLevel::Congested,
            target: MarkTarget::FirstUnmarkedOf(FRAGILE_GROUP as u8),
            cause: SignalCause::Early,
        };
        assert!(verdicts.contains(&marked));
        assert!(verdicts.iter().all(|&verdict| verdict == marked || verdict == EnqueueVerdict::Pass));
    }
}
