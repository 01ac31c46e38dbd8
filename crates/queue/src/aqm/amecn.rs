//! AMECN, adaptive multi-level ECN (Durresi, Sridharan and Jain 2007, section 3): MECN that moves P1max so that the average stays at a
//! target.
//!
//! Every interval:
//!
//! ```text
//! avg > target and max_p <= top       max_p <- max_p + 0.25 max_p (avg - target) / target
//! avg < target and max_p >= bottom    max_p <- max_p (1 - 0.17 (target - avg) / (target - min_th))
//! ```
//!
//! kept within `bottom` and `top` (section 3.2), which figure 3 does not do: there the last step may lead beyond (`overshoot`). The increase
//! is that of figure 3; the paper's equation (4) has a factor of 0.17 more (`increase`).
//! P2max keeps its ratio to P1max (our choice). Below `min_th` the second line would take more than 0.17 of max_p; it is the paper's
//! line all the same.
//! Thresholds that are not given follow from the target delay and the link's rate: min_th = target / 2, max_th = 3 min_th,
//! mid_th = 2.25 min_th, w_q with a time constant of one second. The ramps are gentle, as the paper's reason for `top` supposes.
//! While the link is idle the average is the one that an arrival would find (our choice).

use ecnlab_units::quantity::PacketsOrBytes;
use ecnlab_units::{CongestionLevel, Rate, Rng, Span, Time, parameters};

use super::control::adaptive::{self, GAUGES};
use super::entry::{AqmEntry, Contradictions};
use super::mecn::{Mecn, MecnRamps, check_mid_th};
use super::{Aqm, Arrival, EnqueueVerdict, GaugeReport, PacketInfo, TimerContext};

/// Adaptive multi-level ECN in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "amecn",
    title: "Adaptive multi-level ECN",
    summary: "MECN that adapts its marking probability to keep the average queue at a target, which can follow from a target delay.",
    source: "Durresi, Sridharan and Jain 2007, section 3",
    parameters: Settings::PARAMETERS,
    lowest_mark: |_| Some(CongestionLevel::Incipient),
    check: |values, limit| Settings::from_values(values).contradictions(limit),
    test_params: &[("w_q", "1"), ("min_th", "2"), ("max_th", "12"), ("max_p", "1"), ("top", "1")],
    gauges: GAUGES,
    make: &|values, link| Box::new(Amecn::new(Settings::from_values(values), link.rate)),
    ..AqmEntry::DEFAULTS
};

/// A min_th of which there is a ramp to draw, in packets; the paper has no smallest one.
const MIN_TH_FLOOR: f64 = 1.0;
/// Position of mid_th between the thresholds: 2.25 min_th when max_th is 3 min_th.
const MID_TH_FRACTION: f64 = 0.625;

parameters! {
    /// AMECN as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        ..auto: adaptive::AutoThresholdSettings;
        /// Average queue length from which packets are marked with the higher level; auto is 2.25 min_th, or with a given max_th 0.625 of
        /// the way to it.
        #[source("Durresi, Sridharan and Jain 2007, section 3.3.3")]
        #[usual(2..=90, linear)]
        pub mid_th: Option<f64> = "auto", 0..=1e9, "packets";
        /// Initial value of the higher level's probability at max_th (P2max); auto is max_p (P1max).
        #[source("Durresi, Sridharan and Jain 2007, section 2.1; auto is our choice")]
        #[usual(0.01..=1, log)]
        pub mid_max_p: Option<f64> = "auto", 0..=1;
        /// Target of the average; auto is half way between the thresholds.
        #[source("Durresi, Sridharan and Jain 2007, section 3.2")]
        #[usual(2..=90, linear)]
        pub target: Option<f64> = "auto", 0..=1e9, "packets";
        /// Time between two changes of max_p.
        #[source("Durresi, Sridharan and Jain 2007, figure 3")]
        #[usual(0.05..=5, log)]
        pub interval: Span = "0.5 s", 0.001..=3600, "s";
        /// Lower bound of max_p.
        #[source("Durresi, Sridharan and Jain 2007, section 3.3.1")]
        pub bottom: f64 = "0.01", 0..=1;
        /// Upper bound of max_p.
        #[source("Durresi, Sridharan and Jain 2007, section 3.3.1")]
        pub top: f64 = "0.5", 0..=1;
        /// Relative increase of max_p in an interval when the average is at twice the target.
        #[source("Durresi, Sridharan and Jain 2007, figure 3; equation (4) has 0.0425")]
        #[off("0", "max_p never rises")]
        #[usual(0.01..=1, log)]
        pub increase: f64 = "0.25", 0..=1;
        /// Steps that may end beyond bottom or top; the next step in the same direction is then omitted.
        #[source("Durresi, Sridharan and Jain 2007, figure 3 by the letter; section 3.2 constrains max_p")]
        pub overshoot: bool = "false";
    }
}

impl Settings {
    /// Contradicting parameters, each with its error.
    pub fn contradictions(&self, limit: PacketsOrBytes) -> Contradictions {
        let mut problems = self.auto.contradictions(limit);
        if let Some(min_th) = self.auto.min_th {
            problems.extend(check_mid_th(self.mid_th, min_th, self.auto.max_th.unwrap_or(3.0 * min_th)));
            problems.extend(self.check_target(min_th, self.auto.max_th.unwrap_or(3.0 * min_th)));
        } else {
            let needs_min_th =
                |name, given: Option<f64>| given.map(|_| (name, "requires min_th; fix: leave it out too, for target_delay".to_owned()));
            problems.extend(needs_min_th("mid_th", self.mid_th).into_iter().chain(needs_min_th("target", self.target)));
        }
        if self.bottom > self.top {
            problems.push(("bottom", format!("{} must be at most top {}", self.bottom, self.top)));
        } else {
            problems.extend(self.check_max_p());
        }
        problems
    }

    fn check_target(&self, min_th: f64, max_th: f64) -> Option<(&'static str, String)> {
        let target = self.target.filter(|&target| target <= min_th || target >= max_th)?;
        Some(("target", format!("{target} must be above min_th {min_th} and below max_th {max_th}")))
    }

    fn check_max_p(&self) -> Option<(&'static str, String)> {
        let Settings { bottom, top, .. } = *self;
        let max_p = self.auto.max_p;
        let outside = (!(bottom..=top).contains(&max_p))
            .then(|| ("max_p", format!("{max_p} must be at least bottom {bottom} and at most top {top}, between which it moves")));
        outside.or_else(|| adaptive::check_max_p_above_zero(max_p))
    }

    /// The ramps on a link of this rate when P1max is `max_p`.
    fn ramps(&self, rate: Rate, max_p: f64) -> MecnRamps {
        let mut law = self.auto.red_settings(rate, MIN_TH_FLOOR);
        let ratio = self.mid_max_p.map_or(1.0, |mid_max_p| mid_max_p / law.max_p);
        law.max_p = max_p;
        let mid_th = self.mid_th.unwrap_or(law.min_th + MID_TH_FRACTION * (law.max_th - law.min_th));
        MecnRamps { law, mid_th, mid_max_p: (max_p * ratio).min(1.0) }
    }
}

/// Adaptive multi-level ECN at work.
pub struct Amecn {
    settings: Settings,
    mecn: Mecn,
    rate: Rate,
    ramps: MecnRamps,
    due: Time,
}

impl Amecn {
    /// With these settings, before a line of this rate.
    pub fn new(settings: Settings, rate: Rate) -> Amecn {
        let ramps = settings.ramps(rate, settings.auto.max_p);
        Amecn { settings, mecn: Mecn::new(ramps, rate), rate, ramps, due: Time::ZERO + settings.interval }
    }

    fn target_average(&self) -> f64 {
        self.settings.target.unwrap_or((self.ramps.law.min_th + self.ramps.law.max_th) / 2.0)
    }

    /// `max_p` after an interval that ended with this average.
    fn next_max_p(&self, average: f64) -> f64 {
        let Settings { bottom, top, increase, overshoot, .. } = self.settings;
        let (target, max_p) = (self.target_average(), self.ramps.law.max_p);
        let next = if average > target && max_p <= top {
            max_p + increase * max_p * (average - target) / target
        } else if average < target && max_p >= bottom {
            max_p * (1.0 - 0.17 * (target - average) / (target - self.ramps.law.min_th))
        } else {
            max_p
        };
        if overshoot { next.clamp(0.0, 1.0) } else { next.clamp(bottom, top) }
    }

    fn set_max_p(&mut self, max_p: f64) {
        self.ramps = self.settings.ramps(self.rate, max_p);
        self.mecn.set_ramps(&self.ramps);
    }
}

impl Aqm for Amecn {
    fn on_enqueue(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        self.mecn.on_enqueue(arrival, rng)
    }

    fn on_moved_in(&mut self, packet: &PacketInfo, now: Time) {
        self.mecn.on_moved_in(packet, now);
    }

    fn on_queue_empty(&mut self, now: Time) {
        self.mecn.on_queue_empty(now);
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.due)
    }

    fn on_timer(&mut self, expiry: &TimerContext, _rng: &mut Rng) {
        self.due = expiry.now + self.settings.interval;
        self.set_max_p(self.next_max_p(self.mecn.average_at(expiry.now)));
    }

    fn set_link_rate(&mut self, rate: Rate) {
        self.rate = rate;
        self.mecn.set_link_rate(rate);
        self.set_max_p(self.ramps.law.max_p);
    }

    fn average_queue_length(&self) -> Option<f64> {
        self.mecn.average_queue_length()
    }

    fn report_gauges(&self, report: GaugeReport) {
        self.mecn.report_gauges(report);
        report("max_p", self.ramps.law.max_p);
    }

    fn signals_arriving_packets_only(&self) -> bool {
        self.mecn.signals_arriving_packets_only()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::Backlog;
    use crate::aqm::entry::default_values_with_overrides;

    fn settings(given: &[(&str, &str)]) -> Settings {
        Settings::from_values(&default_values_with_overrides("amecn", Settings::PARAMETERS, given))
    }

    fn amecn(given: &[(&str, &str)]) -> Amecn {
        let given: Vec<_> = [("min_th", "5"), ("max_th", "15"), ("w_q", "1")].iter().chain(given).copied().collect();
        Amecn::new(settings(&given), Rate::from_bps(1_500_000).unwrap())
    }

    #[test]
    fn the_target_delay_sets_all_thresholds() {
        let rate = Rate::from_bps(16_000_000).unwrap();
        let MecnRamps { law, mid_th, .. } = settings(&[("target_delay", "20 ms")]).ramps(rate, 0.1);
        assert_eq!((20.0, 45.0, 60.0), (law.min_th, mid_th, law.max_th), "a target of 40 packets");
        assert_eq!(40.0, Amecn::new(settings(&[("target_delay", "20 ms")]), rate).target_average());
    }

    /// The paper's figure 3, with thresholds 5 and 15 and so a target of 10.
    #[test]
    fn max_p_moves_as_figure_3_says() {
        let close = |expected: f64, found: f64| assert!((expected - found).abs() < 1e-12, "{expected} {found}");
        let amecn = amecn(&[]);
        close(0.1 + 0.25 * 0.1 * 0.2, amecn.next_max_p(12.0));
        close(0.1 * (1.0 - 0.17 * 2.0 / 5.0), amecn.next_max_p(8.0));
        close(0.083, amecn.next_max_p(5.0));
        close(0.1, amecn.next_max_p(10.0));
    }

    #[test]
    fn equation_4_raises_max_p_by_a_sixth_of_that() {
        let found = amecn(&[("increase", "0.0425")]).next_max_p(12.0);
        assert!((0.1 + 0.25 * 0.17 * 0.1 * 0.2 - found).abs() < 1e-12, "{found}");
    }

    #[test]
    fn a_step_that_may_overshoot_leads_beyond_the_bound_once() {
        let mut amecn = amecn(&[("overshoot", "true"), ("max_p", "0.48")]);
        assert_eq!(0.5, self::amecn(&[("max_p", "0.48")]).next_max_p(20.0));
        let beyond = amecn.next_max_p(20.0);
        assert!((0.6 - beyond).abs() < 1e-12, "{beyond}");
        amecn.set_max_p(beyond);
        assert_eq!([beyond, beyond * 0.83], [20.0, 5.0].map(|average| amecn.next_max_p(average)), "no further step up, and one down");
    }

    #[test]
    fn max_p_stays_within_its_bounds_and_p2max_keeps_its_ratio() {
        let mut amecn = amecn(&[("mid_max_p", "0.2")]);
        for (packets, expected) in [(30, [0.5, 1.0]), (0, [0.01, 0.02])] {
            for _ in 0..200 {
                let now = amecn.next_timer().unwrap();
                amecn.on_enqueue(
                    &Arrival { now, backlog: Backlog::of_1000_byte_packets(packets), ..Arrival::PLAIN },
                    &mut Rng::for_role(1, "amecn"),
                );
                amecn.on_timer(
                    &TimerContext { now, backlog: Backlog::of_1000_byte_packets(packets), head_sojourn: Span::ZERO },
                    &mut Rng::for_role(1, "amecn"),
                );
            }
            let found = [amecn.ramps.law.max_p, amecn.ramps.mid_max_p];
            assert!(expected.iter().zip(found).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        }
    }

    #[test]
    fn the_deadline_comes_every_interval() {
        let mut amecn = amecn(&[]);
        assert_eq!(Some(Time::ZERO + Span::from_millis(500)), amecn.next_timer());
        amecn.on_timer(
            &TimerContext { now: Time::ZERO + Span::from_millis(500), backlog: Backlog::EMPTY, head_sojourn: Span::ZERO },
            &mut Rng::for_role(1, "amecn"),
        );
        assert_eq!(Some(Time::ZERO + Span::from_secs(1)), amecn.next_timer());
    }

    #[test]
    fn contradictions_are_refused() {
        let wrong = |given: &[(&str, &str)]| {
            settings(given).contradictions(PacketsOrBytes::Packets(100.0)).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(vec!["mid_th"], wrong(&[("min_th", "5"), ("mid_th", "20")]));
        assert_eq!(vec!["mid_th", "target"], wrong(&[("mid_th", "20"), ("target", "9")]));
        assert_eq!(vec!["target"], wrong(&[("min_th", "5"), ("target", "5")]));
        assert_eq!(vec!["target"], wrong(&[("min_th", "5"), ("target", "15")]), "max_th is 15");
        assert_eq!(vec!["target"], wrong(&[("min_th", "5"), ("max_th", "12"), ("target", "12")]));
        assert_eq!(vec!["bottom"], wrong(&[("bottom", "0.6")]));
        assert_eq!(vec!["max_p"], wrong(&[("max_p", "0.6")]));
        assert_eq!(vec!["max_p"], wrong(&[("max_p", "0.005")]));
        assert_eq!(vec!["max_p"], wrong(&[("max_p", "0"), ("mid_max_p", "0.2")]));
        assert_eq!(vec!["max_p"], wrong(&[("max_p", "0"), ("bottom", "0")]), "it would never move");
        assert!(wrong(&[("min_th", "5"), ("target", "14.9"), ("max_p", "0.5")]).is_empty());
        assert!(wrong(&[]).is_empty());
    }
}
