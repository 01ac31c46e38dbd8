//! DSRED, double-slope RED (Zheng and Atiquzzaman 2000): RED whose line rises slowly in the lower half and steeply in the upper one, up to
//! certainty at max_th.
//!
//! With K_m half way between the thresholds:
//!
//! ```text
//! min_th <= avg < K_m       p_b = a (avg - min_th)                a = 2 (1 - gamma) / (max_th - min_th)
//! K_m    <= avg < max_th    p_b = 1 - gamma + b (avg - K_m)       b = 2 gamma / (max_th - min_th)
//! avg    >= max_th          every packet
//! ```
//!
//! Signals are spread as RED's are (our choice; RED's `wait` is a parameter). It has no `max_p`: gamma divides the rise between the halves.

use ecnlab_units::{Rate, parameters};

use super::control::red::{self, GAUGES, ProbabilityRamp};
use super::entry::AqmEntry;
use super::red::{Red, SignalMode};

/// Double-slope RED in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "dsred",
    title: "Double-slope RED",
    summary: "RED with two slopes: a gentle one in the lower half between the thresholds, a steep one in the upper half.",
    source: "Zheng and Atiquzzaman 2000",
    parameters: Settings::PARAMETERS,
    unread_parameters: &["max_p", "gentle"],
    read_when: AqmEntry::MARK_LIMIT_READ_IF_ECN,
    lowest_mark: AqmEntry::MARK_LEVEL_CONGESTED_IF_ECN,
    check: |values, limit| Settings::from_values(values).law.contradictions(limit),
    test_params: &[("w_q", "1"), ("min_th", "2"), ("max_th", "12"), ("gamma", "0.5")],
    gauges: GAUGES,
    make: &|values, link| Box::new(new(&Settings::from_values(values), link.rate)),
    ..AqmEntry::DEFAULTS
};

parameters! {
    /// Double-slope RED as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        ..law: red::Settings;
        /// Marking of ECN-capable packets; without it every signal is a drop.
        #[source("RFC 3168")]
        pub ecn: bool = "true";
        /// Share of the probability's rise in the upper half.
        #[source("Zheng and Atiquzzaman 2000")]
        #[usual(0.5..=1, linear)]
        pub gamma: f64 = "0.96", 0..=1;
    }
}

/// Double-slope RED on a link of this rate.
fn new(settings: &Settings, rate: Rate) -> Red {
    let mode = if settings.ecn { SignalMode::Mark } else { SignalMode::Drop };
    let mut red = Red::new(settings.law, mode, rate);
    red.set_ramp(bent_ramp(settings));
    red
}

fn bent_ramp(settings: &Settings) -> ProbabilityRamp {
    let red::Settings { min_th, max_th, .. } = settings.law;
    ProbabilityRamp::new(min_th, max_th, 1.0, false).with_bend((min_th + max_th) / 2.0, 1.0 - settings.gamma)
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Values;

    use super::*;

    #[test]
    fn the_slopes_are_those_of_the_paper() {
        let settings = Settings::from_values(&Values::defaults(Settings::PARAMETERS));
        let ramp = bent_ramp(&settings);
        let p = |average| (ramp.probability(average) * 1e9).round() / 1e9;
        // Thresholds 5 and 15, gamma 0.96: a = 0.008, b = 0.192.
        assert_eq!([0.0, 0.016, 0.04, 0.04 + 0.192, 1.0], [5.0, 7.0, 10.0, 11.0, 15.0].map(p));
        assert_eq!(15.0, ramp.forced_signal_threshold());
    }
}
