//! Self-configuring RED (Feng, Kandlur, Saha and Shin 1999): RED that makes max_p larger or smaller by a factor when the average leaves
//! the thresholds.
//!
//! ```text
//! avg comes above max_th              max_p <- max_p beta
//! avg comes below min_th              max_p <- max_p / alpha
//! ```
//!
//! Once on one side, max_p stays until the average has been elsewhere; it starts below min_th, at an average of 0. The text bounds max_p nowhere; here it is 1 at most.

use ecnlab_units::quantity::PacketsOrBytes;
use ecnlab_units::{Rate, Time, parameters};

use super::control::adaptive::{self, GAUGES};
use super::control::adaptive_max_p::{AdaptiveRed, MaxPController};
use super::control::red::{self, TEST_PARAMS};
use super::entry::{AqmEntry, Contradictions};
use super::red::SignalMode;

/// Self-configuring RED in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "feng-red",
    title: "Self-configuring RED",
    summary: "RED that multiplies max_p when the average rises above max_th and divides it when the average falls below min_th.",
    source: "Feng, Kandlur, Saha and Shin 1999",
    parameters: Settings::PARAMETERS,
    read_when: AqmEntry::MARK_LIMIT_READ_IF_ECN,
    lowest_mark: AqmEntry::MARK_LEVEL_CONGESTED_IF_ECN,
    check: |values, limit| Settings::from_values(values).contradictions(limit),
    test_params: TEST_PARAMS,
    gauges: GAUGES,
    make: &|values, link| Box::new(new(Settings::from_values(values), link.rate)),
    ..AqmEntry::DEFAULTS
};

parameters! {
    /// Self-configuring RED as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        ..law: red::Settings;
        /// Marking of ECN-capable packets; without it every signal is a drop.
        #[source("Feng, Kandlur, Saha and Shin 1999; RFC 3168")]
        pub ecn: bool = "true";
        /// Divisor of max_p when the average falls below min_th.
        #[source("Feng, Kandlur, Saha and Shin 1999")]
        #[usual(1..=10, linear)]
        pub alpha: f64 = "3", 1..=1e6;
        /// Factor of max_p when the average rises above max_th.
        #[source("Feng, Kandlur, Saha and Shin 1999")]
        #[usual(1..=10, linear)]
        pub beta: f64 = "2", 1..=1e6;
    }
}

impl Settings {
    /// Contradicting parameters, each with its error.
    pub fn contradictions(&self, limit: PacketsOrBytes) -> Contradictions {
        let mut problems = self.law.contradictions(limit);
        problems.extend(adaptive::check_max_p_above_zero(self.law.max_p));
        problems
    }
}

/// Self-configuring RED on a link of this rate.
fn new(settings: Settings, rate: Rate) -> AdaptiveRed<FengMaxP> {
    let mode = if settings.ecn { SignalMode::Mark } else { SignalMode::Drop };
    AdaptiveRed::new(settings.law, mode, rate, FengMaxP { settings, region: AverageRegion::Below })
}

struct FengMaxP {
    settings: Settings,
    region: AverageRegion,
}

/// Position of the average relative to the thresholds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AverageRegion {
    Below,
    Between,
    Above,
}

impl FengMaxP {
    /// Region of this average; on a threshold it keeps the previous one.
    fn region_of(&self, average: f64) -> AverageRegion {
        let red::Settings { min_th, max_th, .. } = self.settings.law;
        if average < min_th {
            AverageRegion::Below
        } else if average > max_th {
            AverageRegion::Above
        } else if average > min_th && average < max_th {
            AverageRegion::Between
        } else {
            self.region
        }
    }
}

impl MaxPController for FengMaxP {
    fn on_arrival(&mut self, average: f64, _now: Time, max_p: f64) -> f64 {
        let region = self.region_of(average);
        match (std::mem::replace(&mut self.region, region) == region, region) {
            (true, _) | (_, AverageRegion::Between) => max_p,
            (_, AverageRegion::Below) => max_p / self.settings.alpha,
            (_, AverageRegion::Above) => (max_p * self.settings.beta).min(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::{Rng, Values};

    use super::*;
    use crate::aqm::entry::default_values_with_overrides;
    use crate::aqm::{Aqm, Arrival, Backlog};

    /// max_p after arrivals at a queue of these lengths, with w_q = 1 and thresholds 5 and 15.
    fn max_p_after_arrivals(lengths: &[u32]) -> Vec<f64> {
        let values = default_values_with_overrides("feng-red", Settings::PARAMETERS, &[("w_q", "1"), ("max_p", "0.12")]);
        let mut aqm = new(Settings::from_values(&values), Rate::from_bps(1_500_000).unwrap());
        let mut arrive = |&packets: &u32| {
            aqm.on_enqueue(&Arrival { backlog: Backlog::of_1000_byte_packets(packets), ..Arrival::PLAIN }, &mut Rng::for_role(1, "feng"));
            let mut shown = 0.0;
            aqm.report_gauges(&mut |name, value| {
                if name == "max_p" {
                    shown = value
                }
            });
            (shown * 1e6).round() / 1e6
        };
        lengths.iter().map(&mut arrive).collect()
    }

    #[test]
    fn each_way_out_of_the_thresholds_counts_once() {
        assert_eq!(vec![0.12, 0.24, 0.24, 0.24, 0.48], max_p_after_arrivals(&[10, 16, 20, 10, 16]), "doubled above max_th");
        assert_eq!(vec![0.12, 0.04, 0.04, 0.04, 0.013333], max_p_after_arrivals(&[10, 4, 0, 10, 4]), "a third below min_th");
        assert_eq!(vec![0.24, 0.08, 0.16], max_p_after_arrivals(&[16, 4, 16]), "from one side to the other");
    }

    #[test]
    fn the_average_of_an_empty_queue_has_not_come_below_min_th() {
        assert_eq!(vec![0.12, 0.12], max_p_after_arrivals(&[0, 1]), "it was there from the start");
        assert_eq!(vec![0.12, 0.12, 0.04], max_p_after_arrivals(&[4, 10, 4]), "here it has come back");
    }

    #[test]
    fn a_max_p_that_could_not_move_is_refused() {
        let wrong = |max_p: &str| {
            let mut values = Values::defaults(Settings::PARAMETERS);
            values.set_from_text("max_p", max_p).unwrap();
            Settings::from_values(&values).contradictions(PacketsOrBytes::Packets(100.0))
        };
        assert_eq!("max_p", wrong("0")[0].0);
        assert!(wrong("0.001").is_empty());
    }

    #[test]
    fn max_p_is_one_at_most() {
        let lengths: Vec<u32> = (0..20).map(|n| if n % 2 == 0 { 16 } else { 10 }).collect();
        assert_eq!(Some(&1.0), max_p_after_arrivals(&lengths).last());
    }
}
