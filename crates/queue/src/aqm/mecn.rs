//! MECN, multi-level ECN (Durresi et al. 2001, 2007, section 2): two ramps of probability, one for each of two marks.
//!
//! ```text
//! min_th <= avg < max_th    level 10, incipient    p1 = max_p    (avg - min_th) / (max_th - min_th)
//! mid_th <= avg < max_th    level 11, moderate     p2 = mid_max_p (avg - mid_th) / (max_th - mid_th)
//! avg >= max_th             drop; gentle: both ramps rise to 1 at 2 max_th, from where packets are dropped
//! ```
//!
//! The heavier mark is tried first, then the lighter one, with a draw for each. Each ramp spaces its marks by a separate count as RED does
//! (our choice; the paper gives the probabilities alone). A mark never weakens one that a packet carries already. A packet of a sender that
//! speaks classic ECN cannot carry level 10 and passes unmarked there; one that is not ECN-capable is dropped.

use ecnlab_units::quantity::PacketsOrBytes;
use ecnlab_units::{CongestionLevel, Rate, Rng, Time, math, parameters};

use super::control::red::{self, AverageQueue, GAUGES, ProbabilityRamp, SignalSpacing, TEST_PARAMS};
use super::drop_policy::DropPosition;
use super::entry::{AqmEntry, Contradictions};
use super::{AVERAGE_GAUGE_NAME, Aqm, Arrival, EnqueueVerdict, GaugeReport, MarkTarget, PacketInfo, SignalCause};

/// Multi-level ECN in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "mecn",
    title: "Multi-level ECN",
    summary: "RED with two marks, incipient and moderate congestion, for senders with a separate decrease for each.",
    source: "Durresi et al. 2001; Durresi, Sridharan and Jain 2007, section 2",
    parameters: Settings::PARAMETERS,
    unread_parameters: &["mark_limit"],
    lowest_mark: |_| Some(CongestionLevel::Incipient),
    check: |values, limit| Settings::from_values(values).contradictions(limit),
    test_params: TEST_PARAMS,
    gauges: GAUGES,
    make: &|values, link| Box::new(Mecn::new(Settings::from_values(values).ramps(), link.rate)),
    ..AqmEntry::DEFAULTS
};

parameters! {
    /// MECN as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        ..law: red::Settings;
        /// Average queue length from which packets are marked with the higher level; auto is half way between min_th and max_th.
        #[source("Durresi, Sridharan and Jain 2007, sections 2.1 and 4.2")]
        #[usual(2..=90, linear)]
        pub mid_th: Option<f64> = "auto", 0..=1e9, "packets";
        /// Value of the higher level's probability at max_th (P2max); auto is max_p (P1max).
        #[source("Durresi, Sridharan and Jain 2007, section 2.1; auto is our choice")]
        #[usual(0.01..=1, log)]
        pub mid_max_p: Option<f64> = "auto", 0..=1;
    }
}

impl Settings {
    /// Contradicting thresholds, each with its error.
    pub fn contradictions(&self, limit: PacketsOrBytes) -> Contradictions {
        let mut problems = self.law.contradictions(limit);
        problems.extend(check_mid_th(self.mid_th, self.law.min_th, self.law.max_th));
        problems
    }

    fn ramps(&self) -> MecnRamps {
        let red::Settings { min_th, max_th, max_p, .. } = self.law;
        MecnRamps { law: self.law, mid_th: self.mid_th.unwrap_or((min_th + max_th) / 2.0), mid_max_p: self.mid_max_p.unwrap_or(max_p) }
    }
}

/// Error of an explicit `mid_th`.
pub(super) fn check_mid_th(mid_th: Option<f64>, min_th: f64, max_th: f64) -> Option<(&'static str, String)> {
    let mid_th = mid_th.filter(|&mid_th| mid_th < min_th || mid_th >= max_th)?;
    Some(("mid_th", format!("{mid_th} must be at least min_th {min_th} and below max_th {max_th}")))
}

/// The two ramps in numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct MecnRamps {
    pub(super) law: red::Settings,
    pub(super) mid_th: f64,
    pub(super) mid_max_p: f64,
}

/// Multi-level ECN at work.
pub struct Mecn {
    law: red::Settings,
    average: AverageQueue,
    incipient: LevelMarker,
    moderate: LevelMarker,
}

/// One level's ramp, and what spreads its marks.
struct LevelMarker {
    ramp: ProbabilityRamp,
    spacing: SignalSpacing,
}

impl Mecn {
    pub(super) fn new(ramps: MecnRamps, rate: Rate) -> Mecn {
        let average = AverageQueue::new(&ramps.law, rate);
        let [incipient, moderate] = ramps.to_ramps().map(|ramp| LevelMarker { ramp, spacing: SignalSpacing::default() });
        Mecn { law: ramps.law, average, incipient, moderate }
    }

    /// Marks along these ramps from now on.
    pub(super) fn set_ramps(&mut self, ramps: &MecnRamps) {
        self.law = ramps.law;
        [self.incipient.ramp, self.moderate.ramp] = ramps.to_ramps();
    }

    /// The average as an arrival at this time would find it.
    pub(super) fn average_at(&self, now: Time) -> f64 {
        self.average.value_at(now)
    }

    fn verdict_unless_full(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        let average = self.average.value();
        if average < self.incipient.ramp.min_th || arrival.backlog.packets <= self.law.floor {
            self.incipient.spacing.leave_signal_region();
            self.moderate.spacing.leave_signal_region();
            return EnqueueVerdict::Pass;
        }
        if average >= self.incipient.ramp.forced_signal_threshold() {
            return self.drop_and_reset_spacing(SignalCause::Forced, arrival, rng);
        }
        let size = arrival.packet.size;
        let mark = |level| EnqueueVerdict::Signal { level, target: MarkTarget::Arriving, cause: SignalCause::Early };
        if self.moderate.draw_mark(average, &self.law, size, rng) {
            mark(CongestionLevel::Congested)
        } else if self.incipient.draw_mark(average, &self.law, size, rng) {
            mark(CongestionLevel::Incipient)
        } else {
            EnqueueVerdict::Pass
        }
    }

    fn drop_and_reset_spacing(&mut self, cause: SignalCause, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        self.incipient.spacing.reset();
        self.moderate.spacing.reset();
        EnqueueVerdict::Drop { target: self.law.drop.drop_target(arrival, rng), cause }
    }
}

impl MecnRamps {
    fn to_ramps(self) -> [ProbabilityRamp; 2] {
        let red::Settings { min_th, max_th, max_p, gentle, .. } = self.law;
        [ProbabilityRamp::new(min_th, max_th, max_p, gentle), ProbabilityRamp::new(self.mid_th, max_th, self.mid_max_p, gentle)]
    }
}

impl LevelMarker {
    /// One random test at this average.
    fn draw_mark(&mut self, average: f64, law: &red::Settings, size: u32, rng: &mut Rng) -> bool {
        if average < self.ramp.min_th {
            self.spacing.leave_signal_region();
            return false;
        }
        !self.spacing.enters_signal_region(law) && self.spacing.draw_signal(self.ramp.probability(average), law, size, rng)
    }
}

impl Aqm for Mecn {
    fn on_enqueue(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        let idle = self.average.update_taking_idle_start(arrival);
        self.incipient.spacing.count_arrival(arrival.packet.size);
        self.moderate.spacing.count_arrival(arrival.packet.size);
        let verdict = if arrival.would_overflow {
            self.drop_and_reset_spacing(SignalCause::Overflow, arrival, rng)
        } else {
            self.verdict_unless_full(arrival, rng)
        };
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
        report("probability", math::positive_part(self.incipient.ramp.probability(self.average.value())));
    }

    fn signals_arriving_packets_only(&self) -> bool {
        self.law.drop == DropPosition::Tail
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Values;

    use super::*;
    use crate::aqm::Backlog;
    use crate::aqm::entry::default_values_with_overrides;

    fn values(given: &[(&str, &str)]) -> Values {
        default_values_with_overrides("mecn", Settings::PARAMETERS, [("w_q", "1"), ("min_th", "5"), ("max_th", "15")].iter().chain(given))
    }

    /// Verdicts on arrivals at this queue length.
    fn verdicts(given: &[(&str, &str)], packets: u32, arrivals: usize) -> Vec<EnqueueVerdict> {
        let mut mecn = Mecn::new(Settings::from_values(&values(given)).ramps(), Rate::from_bps(1_500_000).unwrap());
        let mut rng = Rng::for_role(1, "mecn");
        (0..arrivals)
            .map(|_| mecn.on_enqueue(&Arrival { backlog: Backlog::of_1000_byte_packets(packets), ..Arrival::PLAIN }, &mut rng))
            .collect()
    }

    /// The shares of arrivals that are to be marked incipient and moderate.
    fn mark_shares(given: &[(&str, &str)], packets: u32) -> [f64; 2] {
        let verdicts = verdicts(given, packets, 100_000);
        [CongestionLevel::Incipient, CongestionLevel::Congested].map(|wanted| {
            let hits =
                verdicts.iter().filter(|verdict| matches!(verdict, EnqueueVerdict::Signal { level, .. } if *level == wanted)).count();
            hits as f64 / verdicts.len() as f64
        })
    }

    /// RED's long-run rate of signals without wait, which is what the ramps are to give.
    fn long_run_rate(p_b: f64) -> f64 {
        2.0 * p_b / (1.0 + p_b)
    }

    #[test]
    fn below_mid_th_only_the_lighter_mark_is_given() {
        let [incipient, moderate] = mark_shares(&[("max_p", "0.2"), ("wait", "false"), ("count_self", "false")], 8);
        assert_eq!(0.0, moderate);
        assert!((incipient / long_run_rate(0.06) - 1.0).abs() < 0.03, "{incipient}");
    }

    #[test]
    fn above_mid_th_each_level_has_its_own_probability() {
        let [incipient, moderate] = mark_shares(&[("max_p", "0.1"), ("mid_max_p", "0.4"), ("wait", "false"), ("count_self", "false")], 12);
        assert!((moderate / long_run_rate(0.16) - 1.0).abs() < 0.03, "p2 = 0.4 (12 - 10) / (15 - 10) = 0.16: {moderate}");
        // The lighter mark is tried on packets without the heavier one; its count grows meanwhile, so that a hit may be late but is not
        // lost.
        let left = long_run_rate(0.07) * (1.0 - moderate);
        assert!(incipient > left * 0.97 && incipient < long_run_rate(0.07), "p1 = 0.1 (12 - 5) / (15 - 5) = 0.07: {incipient}");
    }

    #[test]
    fn from_max_th_on_packets_are_dropped() {
        let all = |given: &[(&str, &str)], packets| {
            verdicts(given, packets, 50).iter().all(|verdict| matches!(verdict, EnqueueVerdict::Drop { cause: SignalCause::Forced, .. }))
        };
        assert!(all(&[], 15));
        assert!(!all(&[("gentle", "true")], 29) && all(&[("gentle", "true")], 30));
    }

    #[test]
    fn a_full_buffer_drops() {
        let mut mecn = Mecn::new(Settings::from_values(&values(&[])).ramps(), Rate::from_bps(1_500_000).unwrap());
        let full = Arrival { would_overflow: true, backlog: Backlog::of_1000_byte_packets(8), ..Arrival::PLAIN };
        assert_eq!(EnqueueVerdict::drop_arriving(SignalCause::Overflow), mecn.on_enqueue(&full, &mut Rng::for_role(1, "mecn")));
    }

    #[test]
    fn mid_th_stands_between_the_thresholds() {
        let wrong = |mid_th| Settings::from_values(&values(&[("mid_th", mid_th)])).contradictions(PacketsOrBytes::Packets(100.0)).len();
        assert_eq!([1, 0, 0, 1], ["4", "5", "14.9", "15"].map(wrong));
        assert_eq!(10.0, Settings::from_values(&values(&[])).ramps().mid_th);
    }
}
