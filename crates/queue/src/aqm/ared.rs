//! Adaptive RED (Floyd, Gummadi and Shenker 2001): RED that moves max_p so that the average stays half way between the thresholds.
//!
//! ```text
//! every interval, with the zone [min_th + 0.4 (max_th - min_th), min_th + 0.6 (max_th - min_th)]:
//! avg above it and max_p <= top       max_p <- max_p + min(alpha, max_p / 4)
//! avg below it and max_p >= bottom    max_p <- beta max_p
//! ```
//!
//! A step starts from the current max_p, so it ends a little beyond `top` and `bottom`, as in the paper. While the link is idle the average
//! is the one that an arrival would find (our choice; the paper leaves it open). ns-2 differs in two points, both of which are parameters.
//! It adapts at arrivals, once an interval has passed since the last change (`adapt`). Its gentle line starts from the initial max_p
//! (`gentle_line`).

use ecnlab_units::{Rate, Span, Time, parameters, words};

use super::control::adaptive;
use super::control::adaptive_max_p::{AdaptiveRed, MaxPController};
use super::control::red::TEST_PARAMS;
use super::entry::{AqmEntry, Contradictions, LinkParams};
use super::red::SignalMode;

/// Adaptive RED in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "ared",
    title: "Adaptive RED",
    summary: "RED that adapts max_p to keep the average queue half way between the thresholds, which can follow from a target delay.",
    source: "Floyd, Gummadi and Shenker 2001",
    parameters: Settings::PARAMETERS,
    lowest_mark: AqmEntry::MARK_LEVEL_CONGESTED_IF_ECN,
    check: |values, limit| Settings::from_values(values).contradictions(limit),
    test_params: TEST_PARAMS,
    gauges: adaptive::GAUGES,
    make: &|values, link| Box::new(new(Settings::from_values(values), link)),
    ..AqmEntry::DEFAULTS
};

/// The smallest min_th that a target delay gives, in packets (Floyd, Gummadi and Shenker 2001).
const MIN_TH_FLOOR: f64 = 5.0;

parameters! {
    /// Adaptive RED as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        ..auto: adaptive::AutoThresholdSettings;
        /// Marking of ECN-capable packets; without it every signal is a drop.
        #[source("Floyd, Gummadi and Shenker 2001; RFC 3168")]
        pub ecn: bool = "true";
        /// Largest p_b at which packets are marked; above it they are dropped.
        #[source("ns-2 2.35, mark_p_; RFC 3168, section 7")]
        #[when(ecn = "true")]
        #[off("0", "no packet is marked: what would be marked is dropped")]
        #[usual(0.01..=1, log)]
        pub mark_limit: f64 = "1", 0..=1;
        /// Minimum time between two changes of max_p.
        #[source("Floyd, Gummadi and Shenker 2001")]
        #[usual(0.05..=5, log)]
        pub interval: Span = "0.5 s", 0.001..=3600, "s";
        /// Largest increase of max_p; never more than a quarter of it.
        #[source("Floyd, Gummadi and Shenker 2001")]
        #[usual(0.001..=0.1, log)]
        pub alpha: f64 = "0.01", 0..=1;
        /// Factor of a decrease of max_p.
        #[source("Floyd, Gummadi and Shenker 2001")]
        #[usual(0.5..=0.99, linear)]
        pub beta: f64 = "0.9", 0..=1;
        /// Value below which max_p is not decreased further; auto is the smaller of 0.01 and the inverse of the number of 1000-byte packets
        /// in 100 ms.
        #[source("Floyd, Gummadi and Shenker 2001; auto is ns-2 2.35, bottom_")]
        pub bottom: Option<f64> = "0.01", 0..=1;
        /// Value above which max_p is not increased further.
        #[source("Floyd, Gummadi and Shenker 2001")]
        #[usual(0.05..=1, linear)]
        pub top: f64 = "0.5", 0..=1;
        /// Time of adaptation: by a timer, or at the first arrival after interval has passed since the last change.
        #[source("Floyd, Gummadi and Shenker 2001; arrivals is ns-2 2.35")]
        pub adapt: AdaptTrigger = "timer";
        /// Begin of the gentle line: the current max_p or the initial one.
        #[source("first is ns-2 2.35")]
        #[when(gentle = "true")]
        pub gentle_line: GentleRampStart = "now";
    }
}

words! {
    /// Trigger of changes of max_p.
    pub enum AdaptTrigger { Timer = "timer", Arrivals = "arrivals" }
}

words! {
    /// Start of the gentle line.
    pub enum GentleRampStart { Now = "now", First = "first" }
}

impl Settings {
    /// Contradicting parameters, each with its error.
    pub fn contradictions(&self, limit: ecnlab_units::quantity::PacketsOrBytes) -> Contradictions {
        let mut problems = self.auto.contradictions(limit);
        problems.extend(adaptive::check_max_p_above_zero(self.auto.max_p));
        if let Some(bottom) = self.bottom.filter(|&bottom| bottom > self.top) {
            problems.push(("bottom", format!("{bottom} must be at most top {}", self.top)));
        }
        problems
    }
}

/// Adaptive RED on a line.
fn new(settings: Settings, link: &LinkParams) -> AdaptiveRed<AimdMaxP> {
    let law = super::control::red::Settings { mark_limit: settings.mark_limit, ..settings.auto.red_settings(link.rate, MIN_TH_FLOOR) };
    let mode = if settings.ecn { SignalMode::Mark } else { SignalMode::Drop };
    AdaptiveRed::new(law, mode, link.rate, AimdMaxP::new(settings, link.rate, (law.min_th, law.max_th)))
}

/// Additive increase and multiplicative decrease of max_p.
struct AimdMaxP {
    settings: Settings,
    bottom: f64,
    /// Target range of the average.
    target_range: (f64, f64),
    /// The end of the current interval.
    due: Time,
}

impl AimdMaxP {
    fn new(settings: Settings, rate: Rate, thresholds: (f64, f64)) -> AimdMaxP {
        AimdMaxP {
            settings,
            bottom: bottom_max_p(&settings, rate),
            target_range: target_range(thresholds),
            due: Time::ZERO + settings.interval,
        }
    }

    fn next_max_p(&self, average: f64, max_p: f64) -> f64 {
        let Settings { alpha, beta, top, .. } = self.settings;
        if average > self.target_range.1 && max_p <= top {
            max_p + alpha.min(max_p / 4.0)
        } else if average < self.target_range.0 && max_p >= self.bottom {
            max_p * beta
        } else {
            max_p
        }
    }
}

impl MaxPController for AimdMaxP {
    fn on_arrival(&mut self, average: f64, now: Time, max_p: f64) -> f64 {
        if self.settings.adapt == AdaptTrigger::Timer || now <= self.due {
            return max_p;
        }
        let next_max_p = self.next_max_p(average, max_p);
        if next_max_p != max_p {
            self.due = now + self.settings.interval;
        }
        next_max_p
    }

    fn next_timer(&self) -> Option<Time> {
        (self.settings.adapt == AdaptTrigger::Timer).then_some(self.due)
    }

    fn on_timer(&mut self, average: f64, now: Time, max_p: f64) -> f64 {
        self.due = now + self.settings.interval;
        self.next_max_p(average, max_p)
    }

    fn thresholds_for_new_link_rate(&mut self, rate: Rate) -> Option<(f64, f64)> {
        let law = self.settings.auto.red_settings(rate, MIN_TH_FLOOR);
        self.bottom = bottom_max_p(&self.settings, rate);
        self.target_range = target_range((law.min_th, law.max_th));
        Some((law.min_th, law.max_th))
    }

    fn gentle_ramp_follows_max_p(&self) -> bool {
        self.settings.gentle_line == GentleRampStart::Now
    }
}

/// Target range of the average: from 0.4 to 0.6 of the interval between the thresholds.
fn target_range((min_th, max_th): (f64, f64)) -> (f64, f64) {
    (min_th + 0.4 * (max_th - min_th), min_th + 0.6 * (max_th - min_th))
}

fn bottom_max_p(settings: &Settings, rate: Rate) -> f64 {
    let packets_in_100_ms = rate.bps() as f64 / 80_000.0;
    settings.bottom.unwrap_or((1.0 / packets_in_100_ms).min(0.01))
}

#[cfg(test)]
mod tests {
    use ecnlab_units::{Rng, Values};

    use super::*;
    use crate::aqm::entry::default_values_with_overrides;
    use crate::aqm::{Aqm, Arrival, Backlog, TimerContext};
    use crate::limit::Limit;

    fn ared(given: &[(&str, &str)]) -> AdaptiveRed<AimdMaxP> {
        let values = default_values_with_overrides(
            "ared",
            Settings::PARAMETERS,
            [("min_th", "5"), ("max_th", "15"), ("w_q", "1")].iter().chain(given),
        );
        new(Settings::from_values(&values), &LinkParams { rate: Rate::from_bps(1_500_000).unwrap(), limit: Limit::Packets(100) })
    }

    fn gauge_value(aqm: &dyn Aqm, name: &str) -> f64 {
        let mut value = None;
        aqm.report_gauges(&mut |shown, x| {
            if shown == name {
                value = Some(x)
            }
        });
        value.unwrap()
    }

    fn arrive(aqm: &mut dyn Aqm, now: Time, packets: u32) {
        aqm.on_enqueue(&Arrival { now, backlog: Backlog::of_1000_byte_packets(packets), ..Arrival::PLAIN }, &mut Rng::for_role(1, "ared"));
    }

    /// max_p after each of so many intervals with this many packets waiting.
    fn max_p_after_intervals(aqm: &mut dyn Aqm, packets: u32, intervals: usize) -> Vec<f64> {
        let mut step = |_| {
            let now = aqm.next_timer().unwrap();
            arrive(aqm, now, packets);
            aqm.on_timer(
                &TimerContext { now, backlog: Backlog::of_1000_byte_packets(packets), head_sojourn: Span::ZERO },
                &mut Rng::for_role(1, "ared"),
            );
            gauge_value(aqm, "max_p")
        };
        (0..intervals).map(&mut step).collect()
    }

    #[test]
    fn max_p_rises_by_a_hundredth_and_falls_by_a_tenth() {
        let close = |expected: &[f64], found: &[f64]| expected.iter().zip(found).all(|(a, b)| (a - b).abs() < 1e-12);
        let mut aqm = ared(&[]);
        let found = max_p_after_intervals(&mut aqm, 12, 3);
        assert!(close(&[0.11, 0.12, 0.13], &found), "{found:?}");
        let found = max_p_after_intervals(&mut aqm, 8, 2);
        assert!(close(&[0.117, 0.1053], &found), "{found:?}");
        let found = max_p_after_intervals(&mut ared(&[("max_p", "0.02")]), 12, 2);
        assert!(close(&[0.025, 0.03125], &found), "a quarter of max_p at most: {found:?}");
    }

    #[test]
    fn a_max_p_that_could_not_move_is_refused() {
        let wrong = |max_p: &str| {
            let mut values = Values::defaults(Settings::PARAMETERS);
            values.set_from_text("max_p", max_p).unwrap();
            Settings::from_values(&values).contradictions(ecnlab_units::quantity::PacketsOrBytes::Packets(100.0))
        };
        assert_eq!("max_p", wrong("0")[0].0);
        assert!(wrong("0.001").is_empty());
    }

    #[test]
    fn inside_the_zone_max_p_stays() {
        for packets in [9, 10, 11] {
            assert_eq!(vec![0.1; 4], max_p_after_intervals(&mut ared(&[]), packets, 4));
        }
    }

    /// Floyd, Gummadi and Shenker 2001: at least 0.49 / alpha intervals from 0.01 to 0.5, which is 24.5 s with the defaults. And log 0.02 /
    /// log beta intervals back, which with beta = 0.9 are 37.1 intervals.
    #[test]
    fn from_bottom_to_top_and_back_takes_as_many_intervals_as_the_paper_says() {
        let up = max_p_after_intervals(&mut ared(&[("max_p", "0.01")]), 40, 200).iter().position(|&max_p| max_p >= 0.5).unwrap() + 1;
        assert!((49..=54).contains(&up), "{up} intervals");
        let down = max_p_after_intervals(&mut ared(&[("max_p", "0.5")]), 0, 200).iter().position(|&max_p| max_p <= 0.01).unwrap() + 1;
        assert_eq!(38, down);
    }

    #[test]
    fn max_p_ends_one_step_beyond_its_bounds_at_most() {
        let up = *max_p_after_intervals(&mut ared(&[]), 40, 200).last().unwrap();
        assert!((0.5..=0.51).contains(&up), "{up}");
        let down = *max_p_after_intervals(&mut ared(&[]), 0, 200).last().unwrap();
        assert!((0.009..=0.01).contains(&down), "{down}");
    }

    #[test]
    fn by_arrivals_an_interval_has_to_pass_since_the_last_change() {
        let mut aqm = ared(&[("adapt", "arrivals")]);
        assert_eq!(None, aqm.next_timer());
        let mut at = |millis, packets| {
            arrive(&mut aqm, Time::ZERO + Span::from_millis(millis), packets);
            gauge_value(&aqm, "max_p")
        };
        assert_eq!([0.1, 0.11, 0.11], [at(500, 12), at(501, 12), at(1_001, 12)]);
        assert_eq!([0.11, 0.12], [at(1_400, 10), at(1_401, 12)], "no change, no new interval");
    }

    #[test]
    fn the_gentle_line_follows_max_p_unless_told_otherwise() {
        for (line, expected) in [("now", 0.11), ("first", 0.1)] {
            let mut aqm = ared(&[("gentle_line", line)]);
            max_p_after_intervals(&mut aqm, 15, 1);
            let p = gauge_value(&aqm, "probability");
            assert!((p - expected).abs() < 1e-12, "{line}: p_b {p} at max_th");
        }
    }

    #[test]
    fn bottom_is_one_packet_of_the_delay_bandwidth_product_on_fast_links() {
        let mut values = Values::defaults(Settings::PARAMETERS);
        values.set_from_text("bottom", "auto").unwrap();
        let of = |bps| bottom_max_p(&Settings::from_values(&values), Rate::from_bps(bps).unwrap());
        assert_eq!((0.01, 0.0008), (of(1_500_000), of(100_000_000)));
    }

    #[test]
    fn automatic_thresholds_follow_the_rate() {
        let mut values = Values::defaults(Settings::PARAMETERS);
        values.set_from_text("target_delay", "20 ms").unwrap();
        let mut aqm =
            new(Settings::from_values(&values), &LinkParams { rate: Rate::from_bps(16_000_000).unwrap(), limit: Limit::Packets(1000) });
        aqm.set_link_rate(Rate::from_bps(160_000_000).unwrap());
        assert_eq!((360.0, 440.0), aqm.controller.target_range);
    }
}
