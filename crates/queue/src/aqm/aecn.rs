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

use ecnlab_units::quantity::Amount;
use ecnlab_units::{Level, Rate, Rng, Span, Time, parameters, words};

use super::law::red::{self, Average, Count, Ramp};
use super::{Aqm, Arrival, Cause, Glimpse, Needs, Target, Wish};
use crate::registry::{AqmEntry, Gauge};

/// Adaptive ECN in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "aecn",
    title: "Adaptive ECN",
    summary: "ECN with a marking probability for each group of round-trip times, marking at the front of the group (AECN, AECN2, AECN3, AECN4).",
    source: "Zheng 2001, chapter 5 and appendix B",
    parameters: Settings::PARAMETERS,
    marks: AqmEntry::CONGESTED,
    check: |values, limit| Settings::of(values).check(limit),
    busy: red::BUSY,
    gauges: GAUGES,
    make: &|values, line| Box::new(Aecn::new(Settings::of(values), line.rate)),
    ..AqmEntry::PLAIN
};

const ROBUST: usize = 0;
const AVERAGE: usize = 1;
const FRAGILE: usize = 2;

parameters! {
    /// AECN as a scenario sets it: RED's law, and what each group has of its own.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        ..law: red::Settings;
        /// Fragile flows are marked with max_p / alpha.
        #[source("Zheng 2001, section 5.2.4")]
        #[when(balance = "fixed")]
        pub alpha: f64 = "2.5", 0.001..=1e6;
        /// Robust flows are marked with min(max_p beta, 1).
        #[source("Zheng 2001, section 5.2.4")]
        #[when(balance = "fixed")]
        pub beta: f64 = "2.5", 0.001..=1e6;
        /// Whether alpha and beta are fixed or follow the lengths of the groups (AECN2).
        #[source("Zheng 2001, section 5.7.1")]
        pub balance: Balance = "fixed";
        /// Whether alpha and beta of the population are real numbers or whole ones.
        #[source("a division of two lengths in C gives whole numbers")]
        #[when(balance = "population")]
        pub ratios: Ratios = "real";
        /// The robust group's own min_th (AECN3); auto is min_th.
        #[source("Zheng 2001, section 5.7.2")]
        pub robust_min_th: Option<f64> = "auto", 0..=1e9, "packets";
        /// Whether packets since the last mark are counted for each group or for the router.
        #[source("Zheng 2001, appendix B prints router; group gives the curves of chapter 5")]
        pub count: Counting = "group";
        /// Smallest round-trip time of a robust flow; a smaller one counts as unknown, and so as average.
        #[source("Zheng 2001, section 5.4")]
        pub robust_rtt: Span = "0.5 ms", 0..=3600, "s";
        /// Smallest round-trip time of an average flow.
        #[source("Zheng 2001, section 5.4")]
        pub average_rtt: Span = "75 ms", 0..=3600, "s";
        /// Smallest round-trip time of a fragile flow.
        #[source("Zheng 2001, section 5.4")]
        pub fragile_rtt: Span = "150 ms", 0..=3600, "s";
    }
}

words! {
    /// Where alpha and beta come from.
    pub enum Balance { Fixed = "fixed", Population = "population" }
}

words! {
    /// What a ratio of two lengths is.
    pub enum Ratios { Real = "real", Whole = "whole" }
}

impl Ratios {
    fn of(self, (alpha, beta): (f64, f64)) -> (f64, f64) {
        if self == Ratios::Real { (alpha, beta) } else { (alpha.floor(), beta.floor()) }
    }
}

words! {
    /// Where packets since the last mark are counted.
    pub enum Counting { Group = "group", Router = "router" }
}

impl Settings {
    /// What is wrong with parameters that contradict each other, RED's among them: the parameter's name and why.
    pub fn check(&self, limit: Amount) -> Vec<(&'static str, String)> {
        let mut problems = self.law.check(limit);
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

/// What it shows.
pub const GAUGES: &[Gauge] = &[red::GAUGES[0]];

/// Adaptive ECN at work.
pub struct Aecn {
    settings: Settings,
    average: Average,
    min_th: [f64; 3],
    group_counts: [Count; 3],
    /// RED's own count; it alone is restarted by the first arrival above `min_th`.
    router_count: Count,
}

impl Aecn {
    /// With these settings, before a line of this rate.
    pub fn new(settings: Settings, rate: Rate) -> Aecn {
        let min_th = settings.law.min_th;
        Aecn {
            average: Average::new(&settings.law, rate),
            min_th: [settings.robust_min_th.unwrap_or(min_th), min_th, min_th],
            group_counts: [Count::default(); 3],
            router_count: Count::default(),
            settings,
        }
    }

    /// The group's line, from its own `min_th` to the common `max_th`.
    fn ramp(&self, group: usize, arrival: &Arrival) -> Ramp {
        let Settings { law, alpha, beta, balance, .. } = &self.settings;
        let (alpha, beta) = match balance {
            Balance::Fixed => (*alpha, *beta),
            Balance::Population => self.settings.ratios.of(population_balance(group, arrival)),
        };
        let max_p = match group {
            ROBUST => law.max_p * beta,
            FRAGILE => law.max_p / alpha.max(f64::MIN_POSITIVE),
            _ => law.max_p,
        };
        Ramp::new(self.min_th[group], law.max_th, max_p.min(1.0), law.gentle)
    }

    fn wish(&mut self, group: usize, arrival: &Arrival, rng: &mut Rng) -> Wish {
        let average = self.average.value();
        let ramp = self.ramp(group, arrival);
        self.count(group).arrival(arrival.packet.size);
        if arrival.full {
            self.count(group).restart();
            return Wish::Drop { victim: self.settings.law.drop.victim(arrival, rng), cause: Cause::Overflow };
        }
        if average < ramp.min_th || arrival.backlog.packets <= self.settings.law.floor {
            self.router_count.below();
            return Wish::Pass;
        }
        if average >= ramp.end() {
            self.count(group).restart();
            return Wish::Drop { victim: self.settings.law.drop.victim(arrival, rng), cause: Cause::Forced };
        }
        let p_b = ramp.probability(average);
        let law = self.settings.law;
        if self.router_count.enters(&law) || !self.count(group).test(p_b, &law, arrival.packet.size, rng) {
            return Wish::Pass;
        }
        if p_b > law.mark_limit {
            return Wish::Drop { victim: law.drop.victim(arrival, rng), cause: Cause::Early };
        }
        Wish::Signal { level: Level::Congested, target: Target::FrontUnmarked(group as u8), cause: Cause::Early }
    }

    /// The count that spreads the marks of a group: its own, or the router's.
    fn count(&mut self, group: usize) -> &mut Count {
        match self.settings.count {
            Counting::Group => &mut self.group_counts[group],
            Counting::Router => &mut self.router_count,
        }
    }
}

impl Aqm for Aecn {
    fn needs(&self) -> Needs {
        Needs { groups: 3, departures: false }
    }

    fn group(&self, packet: &Glimpse) -> u8 {
        let rtt = packet.rtt;
        let Settings { robust_rtt, average_rtt, fragile_rtt, .. } = self.settings;
        let group = if rtt >= fragile_rtt {
            FRAGILE
        } else if rtt >= average_rtt || rtt < robust_rtt {
            AVERAGE
        } else {
            ROBUST
        };
        group as u8
    }

    fn arrive(&mut self, arrival: &Arrival, rng: &mut Rng) -> Wish {
        let idle = self.average.update(arrival);
        let wish = self.wish(usize::from(self.group(&arrival.packet)), arrival, rng);
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
    }
}

/// AECN2's alpha and beta (Zheng 2001, algorithm 5.2). The arriving packet counts as standing in its group, not yet in the router's.
fn population_balance(arriving: usize, arrival: &Arrival) -> (f64, f64) {
    let length = |group: usize| f64::from(arrival.groups[group].packets + u32::from(group == arriving));
    let [robust, average, fragile] = [ROBUST, AVERAGE, FRAGILE].map(length);
    let average = if average == 0.0 { f64::from(arrival.backlog.packets) } else { average };
    let alpha = if fragile == 0.0 { 1.0 } else { average / fragile };
    (alpha, robust / average)
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Values;

    use super::*;
    use crate::aqm::Backlog;

    fn aecn(settings: &[(&str, &str)]) -> Aecn {
        let mut values = Values::defaults(Settings::PARAMETERS);
        for (name, text) in [("w_q", "1"), ("min_th", "10"), ("max_th", "30"), ("max_p", "0.5")].iter().chain(settings) {
            values.read(name, text).unwrap();
        }
        Aecn::new(Settings::of(&values), Rate::from_bps(10_000_000).unwrap())
    }

    fn arrival(rtt: Span, packets: u32, groups: &[Backlog]) -> Arrival<'_> {
        Arrival { packet: Glimpse { rtt, ..Glimpse::PLAIN }, backlog: Backlog::of(packets), groups, ..Arrival::PLAIN }
    }

    #[test]
    fn the_round_trip_time_picks_the_group_with_the_thesis_bounds() {
        let aecn = aecn(&[]);
        let group = |micros| usize::from(aecn.group(&Glimpse { rtt: Span::from_micros(micros), ..Glimpse::PLAIN }));
        assert_eq!([AVERAGE, AVERAGE, ROBUST, ROBUST], [0, 499, 500, 74_999].map(group));
        assert_eq!([AVERAGE, AVERAGE, FRAGILE], [75_000, 149_999, 150_000].map(group));
    }

    #[test]
    fn robust_flows_are_marked_more_and_fragile_ones_less() {
        let aecn = aecn(&[]);
        let p = |group| aecn.ramp(group, &arrival(Span::ZERO, 20, &[Backlog::NONE; 3])).probability(20.0);
        assert_eq!([0.5, 0.25, 0.1], [ROBUST, AVERAGE, FRAGILE].map(p));
    }

    #[test]
    fn aecn2_takes_alpha_and_beta_from_the_lengths_of_the_flow_queues() {
        assert_eq!((2.0, 3.0), population_balance(ROBUST, &arrival(Span::ZERO, 17, &[11, 4, 2].map(Backlog::of))));
        assert_eq!((1.0, 0.5), population_balance(ROBUST, &arrival(Span::ZERO, 12, &[5, 0, 0].map(Backlog::of))));
        assert_eq!((4.0, 0.75), population_balance(FRAGILE, &arrival(Span::ZERO, 7, &[3, 4, 0].map(Backlog::of))));
    }

    #[test]
    fn whole_ratios_are_cut_and_a_ratio_of_zero_stands() {
        let aecn = aecn(&[("balance", "population"), ("ratios", "whole")]);
        let p = |group, lengths: [u32; 3]| aecn.ramp(group, &arrival(Span::ZERO, 20, &lengths.map(Backlog::of))).probability(20.0);
        // The arriving packet counts: 11 / 4 robust to average are 2, 5 / 2 average to fragile are 2, each the half of the way.
        assert_eq!([0.5, 0.125], [p(ROBUST, [10, 4, 1]), p(FRAGILE, [10, 5, 1])]);
        assert_eq!([0.0, 0.5], [p(ROBUST, [2, 4, 1]), p(FRAGILE, [10, 1, 3])]);
    }

    #[test]
    fn aecn3_starts_the_robust_line_at_its_own_threshold() {
        let aecn = aecn(&[("robust_min_th", "2")]);
        let ramp = aecn.ramp(ROBUST, &arrival(Span::ZERO, 9, &[Backlog::NONE; 3]));
        assert_eq!(0.25, ramp.probability(9.0));
        assert_eq!(10.0, aecn.ramp(FRAGILE, &arrival(Span::ZERO, 9, &[Backlog::NONE; 3])).min_th);
    }

    #[test]
    fn a_hit_points_at_the_front_of_the_group_of_the_arriving_packet() {
        let mut aecn = aecn(&[]);
        let mut rng = Rng::for_role(1, "aecn");
        let wishes: Vec<Wish> =
            (0..50).map(|_| aecn.arrive(&arrival(Span::from_millis(200), 25, &[9, 9, 7].map(Backlog::of)), &mut rng)).collect();
        let marked = Wish::Signal { level: Level::Congested, target: Target::FrontUnmarked(FRAGILE as u8), cause: Cause::Early };
        assert!(wishes.contains(&marked));
        assert!(wishes.iter().all(|&wish| wish == marked || wish == Wish::Pass));
    }
}
