//! PD-RED (Sun, Ko, Chen, Chan and Zukerman 2003): RED whose max_p a proportional-derivative controller moves.
//!
//! Every interval, with the average avg, the buffer of B packets and the error of the interval before it e':
//!
//! ```text
//! e     = (avg - target) / B
//! max_p <- max_p + k_p e + k_d (e - e') / interval          kept within 0 and 1
//! ```
//!
//! The first sample has no interval before it, and no derivative (our choice): the empty queue at the start is not a fall of the average.
//! The target is half way between the thresholds unless given (our choice), as in Adaptive RED. The gains and the interval are those of
//! later papers' comparisons.

use ecnlab_units::quantity::PacketsOrBytes;
use ecnlab_units::{Span, Time, parameters};

use super::control::adaptive::GAUGES;
use super::control::adaptive_max_p::{AdaptiveRed, MaxPController};
use super::control::red::{self, TEST_PARAMS};
use super::entry::{AqmEntry, Contradictions, LinkParams};
use super::red::SignalMode;
use crate::limit::Limit;

/// PD-RED in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "pd-red",
    title: "PD-RED",
    summary: "RED whose max_p is adapted by a proportional-derivative controller that keeps the average at a target.",
    source: "Sun, Ko, Chen, Chan and Zukerman 2003",
    parameters: Settings::PARAMETERS,
    read_when: AqmEntry::MARK_LIMIT_READ_IF_ECN,
    lowest_mark: AqmEntry::MARK_LEVEL_CONGESTED_IF_ECN,
    check: |values, limit| Settings::from_values(values).contradictions(limit),
    test_params: TEST_PARAMS,
    gauges: GAUGES,
    make: &|values, link| Box::new(new(Settings::from_values(values), link)),
    ..AqmEntry::DEFAULTS
};

parameters! {
    /// PD-RED as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        ..law: red::Settings;
        /// Marking of ECN-capable packets; without it every signal is a drop.
        #[source("RFC 3168")]
        pub ecn: bool = "true";
        /// Target of the average; auto is half way between the thresholds.
        #[source("Sun, Ko, Chen, Chan and Zukerman 2003; auto is our choice")]
        #[usual(2..=90, linear)]
        pub target: Option<f64> = "auto", 0..=1e9, "packets";
        /// Proportional gain.
        #[source("Sun, Ko, Chen, Chan and Zukerman 2003, as later papers quote it")]
        #[usual(0.0001..=0.1, log)]
        pub k_p: f64 = "0.001", 0..=1000;
        /// Derivative gain.
        #[source("Sun, Ko, Chen, Chan and Zukerman 2003, as later papers quote it")]
        #[usual(0.001..=1, log)]
        pub k_d: f64 = "0.05", 0..=1000, "s";
        /// Time between two changes of max_p.
        #[source("Sun, Ko, Chen, Chan and Zukerman 2003, as later papers quote it")]
        #[usual(0.001..=0.1, log)]
        pub interval: Span = "10 ms", 0.0001..=3600, "s";
    }
}

impl Settings {
    /// Contradicting parameters, each with its error.
    pub fn contradictions(&self, limit: PacketsOrBytes) -> Contradictions {
        let mut problems = self.law.contradictions(limit);
        let red::Settings { min_th, max_th, .. } = self.law;
        if let Some(target) = self.target.filter(|target| !(min_th..=max_th).contains(target)) {
            problems.push(("target", format!("{target} must be between min_th {min_th} and max_th {max_th}")));
        }
        problems
    }

    fn target(&self) -> f64 {
        self.target.unwrap_or((self.law.min_th + self.law.max_th) / 2.0)
    }
}

/// PD-RED on a line.
fn new(settings: Settings, link: &LinkParams) -> AdaptiveRed<PdController> {
    let mode = if settings.ecn { SignalMode::Mark } else { SignalMode::Drop };
    AdaptiveRed::new(settings.law, mode, link.rate, PdController::new(settings, link.limit))
}

struct PdController {
    settings: Settings,
    /// Buffer in packets.
    buffer: f64,
    /// The error at the end of the interval before, once there has been one.
    last_error: Option<f64>,
    due: Time,
}

impl PdController {
    fn new(settings: Settings, limit: Limit) -> PdController {
        let buffer = PacketsOrBytes::from(limit).in_packets_of(settings.law.mean_packet);
        PdController { settings, buffer, last_error: None, due: Time::ZERO + settings.interval }
    }
}

impl MaxPController for PdController {
    fn next_timer(&self) -> Option<Time> {
        Some(self.due)
    }

    fn on_timer(&mut self, average: f64, now: Time, max_p: f64) -> f64 {
        let Settings { k_p, k_d, interval, .. } = self.settings;
        self.due = now + interval;
        let error = (average - self.settings.target()) / self.buffer;
        let before = self.last_error.replace(error).unwrap_or(error);
        (max_p + k_p * error + k_d * (error - before) / interval.seconds()).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Values;

    use super::*;

    fn controller() -> PdController {
        let values = Values::defaults(Settings::PARAMETERS);
        PdController::new(Settings::from_values(&values), Limit::Packets(100))
    }

    #[test]
    fn a_step_moves_max_p_once_by_the_derivative_and_then_by_the_proportion() {
        let mut controller = controller();
        assert_eq!(0.1, controller.on_timer(10.0, Time::ZERO, 0.1));
        // Target 10, buffer 100: an average of 12 is an error of 0.02.
        let first = controller.on_timer(12.0, Time::ZERO, 0.1);
        assert!((first - (0.1 + 0.001 * 0.02 + 0.05 * 0.02 / 0.01)).abs() < 1e-12, "{first}");
        let second = controller.on_timer(12.0, Time::ZERO, first);
        assert!((second - first - 0.001 * 0.02).abs() < 1e-12, "{second}");
    }

    #[test]
    fn the_first_sample_has_nothing_to_differ_from() {
        let first = controller().on_timer(0.0, Time::ZERO, 0.1);
        assert!((first - (0.1 - 0.001 * 0.1)).abs() < 1e-12, "an empty queue, 10 below the target: {first}");
    }

    #[test]
    fn at_the_target_max_p_stays() {
        let mut controller = controller();
        assert_eq!(0.1, controller.on_timer(10.0, Time::ZERO, 0.1));
        assert_eq!(Some(Time::ZERO + Span::from_millis(10)), controller.next_timer());
    }

    #[test]
    fn max_p_stays_a_probability() {
        let step = |from: f64, to: f64, max_p: f64| {
            let mut controller = controller();
            let before = controller.on_timer(from, Time::ZERO, max_p);
            controller.on_timer(to, Time::ZERO, before)
        };
        assert_eq!([1.0, 0.0], [step(10.0, 100.0, 0.9), step(10.0, 0.0, 0.01)]);
    }

    #[test]
    fn a_target_outside_the_thresholds_is_refused() {
        let mut values = Values::defaults(Settings::PARAMETERS);
        values.set_from_text("target", "16").unwrap();
        assert_eq!("target", Settings::from_values(&values).contradictions(PacketsOrBytes::Packets(100.0))[0].0);
    }
}
