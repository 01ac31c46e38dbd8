//! Adaptive RED (Floyd, Gummadi and Shenker 2001): RED that moves max_p so that the average stays half way between the thresholds.
//!
//! ```text
//! every interval, with the zone [min_th + 0.4 (max_th - min_th), min_th + 0.6 (max_th - min_th)]:
//! avg above it and max_p <= top       max_p <- max_p + min(alpha, max_p / 4)
//! avg below it and max_p >= bottom    max_p <- beta max_p
//! ```
//!
//! The step is taken from where max_p is, so it ends a little beyond `top` and `bottom`, as the text has it. While the link is idle the
//! average is the one that an arrival would find (our choice; the text does not say).
//! ns-2 does two things otherwise, and both are parameters: it adapts at arrivals, once an interval has passed since the last change
//! (`adapt`), and its gentle line goes on from the first max_p (`gentle_line`).

use ecnlab_units::{Level, Rate, Span, Time, parameters, words};

use super::law::adaptive;
use super::law::red::BUSY;
use super::law::steered::{Steered, Steering};
use super::red::Mode;
use crate::registry::{AqmEntry, Line};

/// Adaptive RED in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "ared",
    title: "Adaptive RED",
    summary: "RED that moves max_p so that the average queue stays half way between the thresholds, which may follow from a target delay.",
    source: "Floyd, Gummadi and Shenker 2001",
    parameters: Settings::PARAMETERS,
    marks: |values| Settings::of(values).ecn.then_some(Level::Congested),
    check: |values, limit| Settings::of(values).check(limit),
    busy: BUSY,
    gauges: adaptive::GAUGES,
    make: &|values, line| Box::new(new(Settings::of(values), line)),
    ..AqmEntry::PLAIN
};

/// The smallest min_th that a target delay gives, in packets (Floyd, Gummadi and Shenker 2001).
const LEAST_MIN_TH: f64 = 5.0;

parameters! {
    /// Adaptive RED as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        ..auto: adaptive::Settings;
        /// Mark ECN-capable packets; otherwise every signal drops.
        #[source("Floyd, Gummadi and Shenker 2001; RFC 3168")]
        pub ecn: bool = "true";
        /// Mark only while p_b is at most this, above it drop.
        #[source("ns-2 2.35, mark_p_; RFC 3168, section 7")]
        #[when(ecn = "true")]
        #[off("0", "no packet is marked: what would be marked is dropped")]
        pub mark_limit: f64 = "1", 0..=1;
        /// How long max_p stays as it is at least.
        #[source("Floyd, Gummadi and Shenker 2001")]
        pub interval: Span = "0.5 s", 0.001..=3600, "s";
        /// What is added to max_p at most; never more than a quarter of it.
        #[source("Floyd, Gummadi and Shenker 2001")]
        pub alpha: f64 = "0.01", 0..=1;
        /// What max_p is multiplied by to lower it.
        #[source("Floyd, Gummadi and Shenker 2001")]
        pub beta: f64 = "0.9", 0..=1;
        /// max_p is lowered from here on up; auto is 0.01 or the inverse of the packets of 1000 bytes in 100 ms, the smaller one.
        #[source("Floyd, Gummadi and Shenker 2001; auto is ns-2 2.35, bottom_")]
        pub bottom: Option<f64> = "0.01", 0..=1;
        /// max_p is raised up to here.
        #[source("Floyd, Gummadi and Shenker 2001")]
        pub top: f64 = "0.5", 0..=1;
        /// Adapt by a timer, or at arrivals once interval has passed since the last change.
        #[source("Floyd, Gummadi and Shenker 2001; arrivals is ns-2 2.35")]
        pub adapt: Adapt = "timer";
        /// Whether the gentle line begins at max_p as it is now or as it was at first.
        #[source("first is ns-2 2.35")]
        #[when(gentle = "true")]
        pub gentle_line: GentleLine = "now";
    }
}

words! {
    /// What max_p moves by.
    pub enum Adapt { Timer = "timer", Arrivals = "arrivals" }
}

words! {
    /// Where the gentle line begins.
    pub enum GentleLine { Now = "now", First = "first" }
}

impl Settings {
    /// What is wrong with parameters that contradict each other: the parameter's name and why.
    pub fn check(&self, limit: ecnlab_units::quantity::Amount) -> Vec<(&'static str, String)> {
        let mut problems = self.auto.check(limit);
        problems.extend(adaptive::check_max_p(self.auto.max_p));
        if let Some(bottom) = self.bottom.filter(|&bottom| bottom > self.top) {
            problems.push(("bottom", format!("{bottom} must be at most top {}", self.top)));
        }
        problems
    }
}

/// Adaptive RED on a line.
fn new(settings: Settings, line: &Line) -> Steered<Adaptive> {
    let law = super::law::red::Settings { mark_limit: settings.mark_limit, ..settings.auto.law(line.rate, LEAST_MIN_TH) };
    let mode = if settings.ecn { Mode::Mark } else { Mode::Drop };
    Steered::new(law, mode, line.rate, Adaptive::new(settings, line.rate, (law.min_th, law.max_th)))
}

/// Additive increase and multiplicative decrease of max_p.
struct Adaptive {
    settings: Settings,
    bottom: f64,
    /// Where the average is to be.
    zone: (f64, f64),
    /// The end of the current interval.
    due: Time,
}

impl Adaptive {
    fn new(settings: Settings, rate: Rate, thresholds: (f64, f64)) -> Adaptive {
        Adaptive { settings, bottom: bottom(&settings, rate), zone: zone(thresholds), due: Time::ZERO + settings.interval }
    }

    fn adapted(&self, average: f64, max_p: f64) -> f64 {
        let Settings { alpha, beta, top, .. } = self.settings;
        if average > self.zone.1 && max_p <= top {
            max_p + alpha.min(max_p / 4.0)
        } else if average < self.zone.0 && max_p >= self.bottom {
            max_p * beta
        } else {
            max_p
        }
    }
}

impl Steering for Adaptive {
    fn arrived(&mut self, average: f64, now: Time, max_p: f64) -> f64 {
        if self.settings.adapt == Adapt::Timer || now <= self.due {
            return max_p;
        }
        let adapted = self.adapted(average, max_p);
        if adapted != max_p {
            self.due = now + self.settings.interval;
        }
        adapted
    }

    fn deadline(&self) -> Option<Time> {
        (self.settings.adapt == Adapt::Timer).then_some(self.due)
    }

    fn expire(&mut self, average: f64, now: Time, max_p: f64) -> f64 {
        self.due = now + self.settings.interval;
        self.adapted(average, max_p)
    }

    fn retune(&mut self, rate: Rate) -> Option<(f64, f64)> {
        let law = self.settings.auto.law(rate, LEAST_MIN_TH);
        self.bottom = bottom(&self.settings, rate);
        self.zone = zone((law.min_th, law.max_th));
        Some((law.min_th, law.max_th))
    }

    fn gentle_follows(&self) -> bool {
        self.settings.gentle_line == GentleLine::Now
    }
}

/// Where the average is to be: from 0.4 to 0.6 of the way between the thresholds.
fn zone((min_th, max_th): (f64, f64)) -> (f64, f64) {
    (min_th + 0.4 * (max_th - min_th), min_th + 0.6 * (max_th - min_th))
}

fn bottom(settings: &Settings, rate: Rate) -> f64 {
    let packets_in_100_ms = rate.bps() as f64 / 80_000.0;
    settings.bottom.unwrap_or((1.0 / packets_in_100_ms).min(0.01))
}

#[cfg(test)]
mod tests {
    use ecnlab_units::{Rng, Values};

    use super::*;
    use crate::aqm::{Aqm, Arrival, Backlog, Expiry};
    use crate::discipline::Limit;

    fn ared(given: &[(&str, &str)]) -> Steered<Adaptive> {
        let mut values = Values::defaults(Settings::PARAMETERS);
        for (name, text) in [("min_th", "5"), ("max_th", "15"), ("w_q", "1")].iter().chain(given) {
            values.read(name, text).unwrap();
        }
        new(Settings::of(&values), &Line { rate: Rate::from_bps(1_500_000).unwrap(), limit: Limit::Packets(100) })
    }

    fn gauge(aqm: &dyn Aqm, name: &str) -> f64 {
        let mut value = None;
        aqm.gauges(&mut |shown, x| {
            if shown == name {
                value = Some(x)
            }
        });
        value.unwrap()
    }

    fn arrive(aqm: &mut dyn Aqm, now: Time, packets: u32) {
        aqm.arrive(&Arrival { now, backlog: Backlog::of(packets), ..Arrival::PLAIN }, &mut Rng::for_role(1, "ared"));
    }

    /// max_p after each of so many intervals with this many packets waiting.
    fn course(aqm: &mut dyn Aqm, packets: u32, intervals: usize) -> Vec<f64> {
        let mut step = |_| {
            let now = aqm.deadline().unwrap();
            arrive(aqm, now, packets);
            aqm.expire(&Expiry { now, backlog: Backlog::of(packets), head_waited: Span::ZERO }, &mut Rng::for_role(1, "ared"));
            gauge(aqm, "max_p")
        };
        (0..intervals).map(&mut step).collect()
    }

    #[test]
    fn max_p_rises_by_a_hundredth_and_falls_by_a_tenth() {
        let close = |expected: &[f64], found: &[f64]| expected.iter().zip(found).all(|(a, b)| (a - b).abs() < 1e-12);
        let mut aqm = ared(&[]);
        let found = course(&mut aqm, 12, 3);
        assert!(close(&[0.11, 0.12, 0.13], &found), "{found:?}");
        let found = course(&mut aqm, 8, 2);
        assert!(close(&[0.117, 0.1053], &found), "{found:?}");
        let found = course(&mut ared(&[("max_p", "0.02")]), 12, 2);
        assert!(close(&[0.025, 0.03125], &found), "a quarter of max_p at most: {found:?}");
    }

    #[test]
    fn a_max_p_that_could_not_move_is_refused() {
        let wrong = |max_p: &str| {
            let mut values = Values::defaults(Settings::PARAMETERS);
            values.read("max_p", max_p).unwrap();
            Settings::of(&values).check(ecnlab_units::quantity::Amount::Packets(100.0))
        };
        assert_eq!("max_p", wrong("0")[0].0);
        assert!(wrong("0.001").is_empty());
    }

    #[test]
    fn inside_the_zone_max_p_stays() {
        for packets in [9, 10, 11] {
            assert_eq!(vec![0.1; 4], course(&mut ared(&[]), packets, 4));
        }
    }

    /// Floyd, Gummadi and Shenker 2001: at least 0.49 / alpha intervals from 0.01 to 0.5, 24.5 s with the defaults, and
    /// log 0.02 / log beta intervals back, which with beta = 0.9 are 37.1 intervals.
    #[test]
    fn from_bottom_to_top_and_back_takes_as_many_intervals_as_the_paper_says() {
        let up = course(&mut ared(&[("max_p", "0.01")]), 40, 200).iter().position(|&max_p| max_p >= 0.5).unwrap() + 1;
        assert!((49..=54).contains(&up), "{up} intervals");
        let down = course(&mut ared(&[("max_p", "0.5")]), 0, 200).iter().position(|&max_p| max_p <= 0.01).unwrap() + 1;
        assert_eq!(38, down);
    }

    #[test]
    fn max_p_ends_one_step_beyond_its_bounds_at_most() {
        let up = *course(&mut ared(&[]), 40, 200).last().unwrap();
        assert!((0.5..=0.51).contains(&up), "{up}");
        let down = *course(&mut ared(&[]), 0, 200).last().unwrap();
        assert!((0.009..=0.01).contains(&down), "{down}");
    }

    #[test]
    fn by_arrivals_an_interval_has_to_pass_since_the_last_change() {
        let mut aqm = ared(&[("adapt", "arrivals")]);
        assert_eq!(None, aqm.deadline());
        let mut at = |millis, packets| {
            arrive(&mut aqm, Time::ZERO + Span::from_millis(millis), packets);
            gauge(&aqm, "max_p")
        };
        assert_eq!([0.1, 0.11, 0.11], [at(500, 12), at(501, 12), at(1_001, 12)]);
        assert_eq!([0.11, 0.12], [at(1_400, 10), at(1_401, 12)], "no change, no new interval");
    }

    #[test]
    fn the_gentle_line_follows_max_p_unless_told_otherwise() {
        for (line, expected) in [("now", 0.11), ("first", 0.1)] {
            let mut aqm = ared(&[("gentle_line", line)]);
            course(&mut aqm, 15, 1);
            let p = gauge(&aqm, "probability");
            assert!((p - expected).abs() < 1e-12, "{line}: p_b {p} at max_th");
        }
    }

    #[test]
    fn bottom_is_one_packet_of_the_delay_bandwidth_product_on_fast_links() {
        let mut values = Values::defaults(Settings::PARAMETERS);
        values.read("bottom", "auto").unwrap();
        let of = |bps| bottom(&Settings::of(&values), Rate::from_bps(bps).unwrap());
        assert_eq!((0.01, 0.0008), (of(1_500_000), of(100_000_000)));
    }

    #[test]
    fn automatic_thresholds_follow_the_rate() {
        let mut values = Values::defaults(Settings::PARAMETERS);
        values.read("target_delay", "20 ms").unwrap();
        let mut aqm = new(Settings::of(&values), &Line { rate: Rate::from_bps(16_000_000).unwrap(), limit: Limit::Packets(1000) });
        aqm.retune(Rate::from_bps(160_000_000).unwrap());
        assert_eq!((360.0, 440.0), aqm.steering.zone);
    }
}
