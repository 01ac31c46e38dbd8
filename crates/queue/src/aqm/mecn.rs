//! MECN, multi-level ECN (Durresi et al. 2001, 2007, section 2): two ramps of probability, one for each of two marks.
//!
//! ```text
//! min_th <= avg < max_th    level 10, incipient    p1 = max_p    (avg - min_th) / (max_th - min_th)
//! mid_th <= avg < max_th    level 11, moderate     p2 = mid_max_p (avg - mid_th) / (max_th - mid_th)
//! avg >= max_th             drop; gentle: both ramps rise to 1 at 2 max_th, from where packets are dropped
//! ```
//!
//! The heavier mark is tried first, then the lighter one, with a draw for each, and each ramp spreads its marks by a count of its own as
//! RED does (our choice; the paper gives the probabilities alone). A mark never weakens one that a packet carries already. A packet of a
//! sender that speaks classic ECN cannot carry level 10 and passes unmarked there; one that is not ECN-capable is dropped.

use ecnlab_units::quantity::Amount;
use ecnlab_units::{Level, Rate, Rng, Time, parameters};

use super::law::red::{self, Average, BUSY, Count, GAUGES, Ramp};
use super::{Aqm, Arrival, Cause, Glimpse, Target, Wish};
use crate::registry::AqmEntry;

/// Multi-level ECN in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "mecn",
    title: "Multi-level ECN",
    summary: "RED with two marks, incipient and moderate congestion, for senders that answer each in its own measure.",
    source: "Durresi et al. 2001; Durresi, Sridharan and Jain 2007, section 2",
    parameters: Settings::PARAMETERS,
    unread: &["mark_limit"],
    marks: |_| Some(Level::Incipient),
    check: |values, limit| Settings::of(values).check(limit),
    busy: BUSY,
    gauges: GAUGES,
    make: &|values, line| Box::new(Mecn::new(Settings::of(values).ramps(), line.rate)),
    ..AqmEntry::PLAIN
};

parameters! {
    /// MECN as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        ..law: red::Settings;
        /// Average queue length from which packets are marked with the heavier level; auto is half way between min_th and max_th.
        #[source("Durresi, Sridharan and Jain 2007, sections 2.1 and 4.2")]
        pub mid_th: Option<f64> = "auto", 0..=1e9, "packets";
        /// What the probability of the heavier mark reaches at max_th (P2max); auto is max_p (P1max).
        #[source("Durresi, Sridharan and Jain 2007, section 2.1; auto is our choice")]
        pub mid_max_p: Option<f64> = "auto", 0..=1;
    }
}

impl Settings {
    /// What is wrong with thresholds that contradict each other: the parameter's name and why.
    pub fn check(&self, limit: Amount) -> Vec<(&'static str, String)> {
        let mut problems = self.law.check(limit);
        problems.extend(check_mid(self.mid_th, self.law.min_th, self.law.max_th));
        problems
    }

    fn ramps(&self) -> Ramps {
        let red::Settings { min_th, max_th, max_p, .. } = self.law;
        Ramps { law: self.law, mid_th: self.mid_th.unwrap_or((min_th + max_th) / 2.0), mid_max_p: self.mid_max_p.unwrap_or(max_p) }
    }
}

/// What is wrong with a `mid_th` that is given.
pub(super) fn check_mid(mid_th: Option<f64>, min_th: f64, max_th: f64) -> Option<(&'static str, String)> {
    let mid_th = mid_th.filter(|&mid_th| mid_th < min_th || mid_th >= max_th)?;
    Some(("mid_th", format!("{mid_th} must be at least min_th {min_th} and below max_th {max_th}")))
}

/// The two ramps in numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ramps {
    pub(super) law: red::Settings,
    pub(super) mid_th: f64,
    pub(super) mid_max_p: f64,
}

/// Multi-level ECN at work.
pub struct Mecn {
    law: red::Settings,
    average: Average,
    incipient: Marker,
    moderate: Marker,
}

/// One level's ramp, and what spreads its marks.
struct Marker {
    ramp: Ramp,
    count: Count,
}

impl Mecn {
    pub(super) fn new(ramps: Ramps, rate: Rate) -> Mecn {
        let average = Average::new(&ramps.law, rate);
        let [incipient, moderate] = ramps.drawn().map(|ramp| Marker { ramp, count: Count::default() });
        Mecn { law: ramps.law, average, incipient, moderate }
    }

    /// Marks along these ramps from now on.
    pub(super) fn follow(&mut self, ramps: &Ramps) {
        self.law = ramps.law;
        [self.incipient.ramp, self.moderate.ramp] = ramps.drawn();
    }

    /// The average as an arrival at this time would find it.
    pub(super) fn average_at(&self, now: Time) -> f64 {
        self.average.at(now)
    }

    fn wish(&mut self, arrival: &Arrival, rng: &mut Rng) -> Wish {
        let average = self.average.value();
        if average < self.incipient.ramp.min_th || arrival.backlog.packets <= self.law.floor {
            self.incipient.count.below();
            self.moderate.count.below();
            return Wish::Pass;
        }
        if average >= self.incipient.ramp.end() {
            return self.drop(Cause::Forced, arrival, rng);
        }
        let size = arrival.packet.size;
        let mark = |level| Wish::Signal { level, target: Target::Arriving, cause: Cause::Early };
        if self.moderate.hits(average, &self.law, size, rng) {
            mark(Level::Congested)
        } else if self.incipient.hits(average, &self.law, size, rng) {
            mark(Level::Incipient)
        } else {
            Wish::Pass
        }
    }

    fn drop(&mut self, cause: Cause, arrival: &Arrival, rng: &mut Rng) -> Wish {
        self.incipient.count.restart();
        self.moderate.count.restart();
        Wish::Drop { victim: self.law.drop.victim(arrival, rng), cause }
    }
}

impl Ramps {
    fn drawn(&self) -> [Ramp; 2] {
        let red::Settings { min_th, max_th, max_p, gentle, .. } = self.law;
        [Ramp::new(min_th, max_th, max_p, gentle), Ramp::new(self.mid_th, max_th, self.mid_max_p, gentle)]
    }
}

impl Marker {
    /// One random test at this average.
    fn hits(&mut self, average: f64, law: &red::Settings, size: u32, rng: &mut Rng) -> bool {
        if average < self.ramp.min_th {
            self.count.below();
            return false;
        }
        !self.count.enters(law) && self.count.test(self.ramp.probability(average), law, size, rng)
    }
}

impl Aqm for Mecn {
    fn arrive(&mut self, arrival: &Arrival, rng: &mut Rng) -> Wish {
        let idle = self.average.update(arrival);
        self.incipient.count.arrival(arrival.packet.size);
        self.moderate.count.arrival(arrival.packet.size);
        let wish = if arrival.full { self.drop(Cause::Overflow, arrival, rng) } else { self.wish(arrival, rng) };
        self.average.resume_idle_if_dropped(idle, &wish);
        wish
    }

    fn on_moved_in(&mut self, _packet: &Glimpse, now: Time) {
        self.average.end_idle(now);
    }

    fn idle(&mut self, now: Time) {
        self.average.set_idle(now);
    }

    fn retune(&mut self, rate: Rate) {
        self.average.retune(rate);
    }

    fn average(&self) -> Option<f64> {
        Some(self.average.value())
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("average", self.average.value());
        show("probability", self.incipient.ramp.probability(self.average.value()).max(0.0));
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Values;

    use super::*;
    use crate::aqm::{Backlog, Victim};

    fn values(given: &[(&str, &str)]) -> Values {
        let mut values = Values::defaults(Settings::PARAMETERS);
        for (name, text) in [("w_q", "1"), ("min_th", "5"), ("max_th", "15")].iter().chain(given) {
            values.read(name, text).unwrap();
        }
        values
    }

    /// What becomes of arrivals that find this many packets waiting.
    fn wishes(given: &[(&str, &str)], packets: u32, arrivals: usize) -> Vec<Wish> {
        let mut mecn = Mecn::new(Settings::of(&values(given)).ramps(), Rate::from_bps(1_500_000).unwrap());
        let mut rng = Rng::for_role(1, "mecn");
        (0..arrivals).map(|_| mecn.arrive(&Arrival { backlog: Backlog::of(packets), ..Arrival::PLAIN }, &mut rng)).collect()
    }

    /// The shares of arrivals that are to be marked incipient and moderate.
    fn shares(given: &[(&str, &str)], packets: u32) -> [f64; 2] {
        let wishes = wishes(given, packets, 100_000);
        [Level::Incipient, Level::Congested].map(|wanted| {
            let hits = wishes.iter().filter(|wish| matches!(wish, Wish::Signal { level, .. } if *level == wanted)).count();
            hits as f64 / wishes.len() as f64
        })
    }

    /// RED's long-run rate of signals without wait, which is what the ramps are to give.
    fn rate(p_b: f64) -> f64 {
        2.0 * p_b / (1.0 + p_b)
    }

    #[test]
    fn below_mid_th_only_the_lighter_mark_is_given() {
        let [incipient, moderate] = shares(&[("max_p", "0.2"), ("wait", "false"), ("count_self", "false")], 8);
        assert_eq!(0.0, moderate);
        assert!((incipient / rate(0.06) - 1.0).abs() < 0.03, "{incipient}");
    }

    #[test]
    fn above_mid_th_each_level_has_its_own_probability() {
        let [incipient, moderate] = shares(&[("max_p", "0.1"), ("mid_max_p", "0.4"), ("wait", "false"), ("count_self", "false")], 12);
        assert!((moderate / rate(0.16) - 1.0).abs() < 0.03, "p2 = 0.4 (12 - 10) / (15 - 10) = 0.16: {moderate}");
        // The lighter mark is tried on what the heavier one left; its count goes on meanwhile, so that a hit may come late but is not lost.
        let left = rate(0.07) * (1.0 - moderate);
        assert!(incipient > left * 0.97 && incipient < rate(0.07), "p1 = 0.1 (12 - 5) / (15 - 5) = 0.07: {incipient}");
    }

    #[test]
    fn from_max_th_on_packets_are_dropped() {
        let all = |given: &[(&str, &str)], packets| {
            wishes(given, packets, 50).iter().all(|wish| matches!(wish, Wish::Drop { cause: Cause::Forced, .. }))
        };
        assert!(all(&[], 15));
        assert!(!all(&[("gentle", "true")], 29) && all(&[("gentle", "true")], 30));
    }

    #[test]
    fn a_full_buffer_drops() {
        let mut mecn = Mecn::new(Settings::of(&values(&[])).ramps(), Rate::from_bps(1_500_000).unwrap());
        let full = Arrival { full: true, backlog: Backlog::of(8), ..Arrival::PLAIN };
        assert_eq!(Wish::Drop { victim: Victim::Arriving, cause: Cause::Overflow }, mecn.arrive(&full, &mut Rng::for_role(1, "mecn")));
    }

    #[test]
    fn mid_th_stands_between_the_thresholds() {
        let wrong = |mid_th| Settings::of(&values(&[("mid_th", mid_th)])).check(Amount::Packets(100.0)).len();
        assert_eq!([1, 0, 0, 1], ["4", "5", "14.9", "15"].map(wrong));
        assert_eq!(10.0, Settings::of(&values(&[])).ramps().mid_th);
    }
}
