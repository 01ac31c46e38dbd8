//! Self-configuring RED (Feng, Kandlur, Saha and Shin 1999): RED that makes max_p larger or smaller by a factor when the average leaves
//! the thresholds.
//!
//! ```text
//! avg comes above max_th              max_p <- max_p beta
//! avg comes below min_th              max_p <- max_p / alpha
//! ```
//!
//! Once on one side, max_p stays until the average has been elsewhere; it starts below min_th, at an average of 0. The text bounds max_p nowhere; here it is 1 at most.

use ecnlab_units::quantity::Amount;
use ecnlab_units::{Level, Rate, Time, parameters};

use super::law::adaptive::{self, GAUGES};
use super::law::red::{self, BUSY};
use super::law::steered::{Steered, Steering};
use super::red::Mode;
use crate::registry::AqmEntry;

/// Self-configuring RED in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "feng-red",
    title: "Self-configuring RED",
    summary: "RED that multiplies max_p when the average comes above max_th and divides it when it comes below min_th.",
    source: "Feng, Kandlur, Saha and Shin 1999",
    parameters: Settings::PARAMETERS,
    read_when: AqmEntry::LIMITS_MARKS_WITH_ECN,
    marks: |values| Settings::of(values).ecn.then_some(Level::Congested),
    check: |values, limit| Settings::of(values).check(limit),
    busy: BUSY,
    gauges: GAUGES,
    make: &|values, line| Box::new(new(Settings::of(values), line.rate)),
    ..AqmEntry::PLAIN
};

parameters! {
    /// Self-configuring RED as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        ..law: red::Settings;
        /// Mark ECN-capable packets; otherwise every signal drops.
        #[source("Feng, Kandlur, Saha and Shin 1999; RFC 3168")]
        pub ecn: bool = "true";
        /// What max_p is divided by when the average comes below min_th.
        #[source("Feng, Kandlur, Saha and Shin 1999")]
        pub alpha: f64 = "3", 1..=1e6;
        /// What max_p is multiplied by when the average comes above max_th.
        #[source("Feng, Kandlur, Saha and Shin 1999")]
        pub beta: f64 = "2", 1..=1e6;
    }
}

impl Settings {
    /// What is wrong with parameters that contradict each other: the parameter's name and why.
    pub fn check(&self, limit: Amount) -> Vec<(&'static str, String)> {
        let mut problems = self.law.check(limit);
        problems.extend(adaptive::check_max_p(self.law.max_p));
        problems
    }
}

/// Self-configuring RED on a link of this rate.
fn new(settings: Settings, rate: Rate) -> Steered<SelfConfiguring> {
    let mode = if settings.ecn { Mode::Mark } else { Mode::Drop };
    Steered::new(settings.law, mode, rate, SelfConfiguring { settings, side: Side::Below })
}

struct SelfConfiguring {
    settings: Settings,
    side: Side,
}

/// Where the average is, seen from the thresholds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Below,
    Between,
    Above,
}

impl SelfConfiguring {
    /// Where this average is; on a threshold it is where it was.
    fn side_of(&self, average: f64) -> Side {
        let red::Settings { min_th, max_th, .. } = self.settings.law;
        if average < min_th {
            Side::Below
        } else if average > max_th {
            Side::Above
        } else if average > min_th && average < max_th {
            Side::Between
        } else {
            self.side
        }
    }
}

impl Steering for SelfConfiguring {
    fn arrived(&mut self, average: f64, _now: Time, max_p: f64) -> f64 {
        let side = self.side_of(average);
        match (std::mem::replace(&mut self.side, side) == side, side) {
            (true, _) | (_, Side::Between) => max_p,
            (_, Side::Below) => max_p / self.settings.alpha,
            (_, Side::Above) => (max_p * self.settings.beta).min(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::{Rng, Values};

    use super::*;
    use crate::aqm::{Aqm, Arrival, Backlog};

    /// max_p after arrivals at a queue of these lengths, with w_q = 1 and thresholds 5 and 15.
    fn course(lengths: &[u32]) -> Vec<f64> {
        let mut values = Values::defaults(Settings::PARAMETERS);
        for (name, text) in [("w_q", "1"), ("max_p", "0.12")] {
            values.read(name, text).unwrap();
        }
        let mut aqm = new(Settings::of(&values), Rate::from_bps(1_500_000).unwrap());
        let mut arrive = |&packets: &u32| {
            aqm.arrive(&Arrival { backlog: Backlog::of(packets), ..Arrival::PLAIN }, &mut Rng::for_role(1, "feng"));
            let mut shown = 0.0;
            aqm.gauges(&mut |name, value| {
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
        assert_eq!(vec![0.12, 0.24, 0.24, 0.24, 0.48], course(&[10, 16, 20, 10, 16]), "doubled above max_th");
        assert_eq!(vec![0.12, 0.04, 0.04, 0.04, 0.013333], course(&[10, 4, 0, 10, 4]), "a third below min_th");
        assert_eq!(vec![0.24, 0.08, 0.16], course(&[16, 4, 16]), "from one side to the other");
    }

    #[test]
    fn the_average_of_an_empty_queue_has_not_come_below_min_th() {
        assert_eq!(vec![0.12, 0.12], course(&[0, 1]), "it was there from the start");
        assert_eq!(vec![0.12, 0.12, 0.04], course(&[4, 10, 4]), "here it has come back");
    }

    #[test]
    fn a_max_p_that_could_not_move_is_refused() {
        let wrong = |max_p: &str| {
            let mut values = Values::defaults(Settings::PARAMETERS);
            values.read("max_p", max_p).unwrap();
            Settings::of(&values).check(Amount::Packets(100.0))
        };
        assert_eq!("max_p", wrong("0")[0].0);
        assert!(wrong("0.001").is_empty());
    }

    #[test]
    fn max_p_is_one_at_most() {
        let lengths: Vec<u32> = (0..20).map(|n| if n % 2 == 0 { 16 } else { 10 }).collect();
        assert_eq!(Some(&1.0), course(&lengths).last());
    }
}
