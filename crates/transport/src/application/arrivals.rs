//! Arrivals of finite flows, with random intervals and sizes. Intervals and sizes have independent random streams, so a seed gives the same
//! flows at the same times regardless of the network.
//!
//! ```text
//! mean interval = mean size / (load * rate),   or 1 / flows_per_second
//! ```

use ecnlab_units::{Rate, Rng, SizeDistribution, Span, TimeDistribution, parameters, words};

use super::paced::{DelayedMessage, FlowArrivals, MessageSource, RenewalProcess};
use super::{Application, ApplicationSpec, FlowDirection, WriteTimes};

parameters! {
    /// Such an application as a scenario sets it.
    #[derive(Clone, Debug)]
    pub struct ArrivalsSettings {
        /// Mean arrivals of flows per second; 0 if load is given.
        #[source("Kleinrock 1975, section 2.4")]
        #[usual(0.1..=200, log)]
        pub flows_per_second: f64 = "0", 0..=10_000_000, "1/s";
        /// Offered application data as a share of rate; 0 if flows_per_second is given.
        #[source("Kleinrock 1975, section 2.1")]
        #[usual(0.05..=1.2, linear)]
        pub load: f64 = "0", 0..=100;
        /// Reference rate of load, such as the bottleneck's rate.
        #[source("Kleinrock 1975, section 2.1")]
        pub rate: Option<Rate> = "auto";
        /// Distribution of the intervals between flows.
        #[source("Paxson and Floyd 1995, section 3")]
        pub process: ArrivalProcess = "poisson";
        /// Shape of the intervals' distribution.
        #[source("Paxson and Floyd 1995, section 3")]
        #[when(process = "pareto")]
        pub shape: f64 = "1.5", 1.01..=100;
        /// Application data of a flow.
        #[source("Feldmann, Gilbert, Huang and Willinger 1999, table 3")]
        pub size: SizeDistribution = "pareto 12 KB, shape 1.2", 1..=1e15;
        /// Flows in all; 0 is unlimited.
        #[source("Kleinrock 1975, section 2.1")]
        pub count: u64 = "0", 0..=1e12;
        /// Time from the start during which flows arrive; auto is until the end of the run.
        #[source("Kleinrock 1975, section 2.1")]
        pub until: Option<Span> = "auto", 0..=8_640_000;
    }
}

words! {
    /// Distribution of the intervals between flows.
    pub enum ArrivalProcess {
        Poisson = "poisson",
        Pareto = "pareto",
        Deterministic = "deterministic",
    }
}

impl ArrivalsSettings {
    /// Contradictions as pairs of parameter name and explanation.
    pub fn check(&self) -> Vec<(&'static str, String)> {
        let (often, load) = (self.flows_per_second > 0.0, self.load > 0.0);
        match (often, load, self.rate) {
            (false, false, _) => {
                vec![(
                    "load",
                    "is missing; fix: give the number of flows, as load = 0.8 with rate = \"10 Mbps\" or as flows_per_second = 100"
                        .to_owned(),
                )]
            }
            (true, true, _) => {
                vec![("load", format!("{} excludes flows_per_second {}; fix: give one of the two", self.load, self.flows_per_second))]
            }
            (false, true, None) => vec![("rate", "is missing: load is relative to it; fix: give e.g. rate = \"10 Mbps\"".to_owned())],
            (true, false, Some(rate)) => {
                vec![("rate", format!("{} bps has an effect only with load, but flows_per_second is given", rate.bps()))]
            }
            (true, false, None) => Vec::new(),
            (false, true, Some(_)) => {
                let told = || "starts more than ten million flows a second; fix: give less load or rate, or larger sizes".to_owned();
                (self.mean_interval() < MIN_MEAN_INTERVAL).then(|| ("load", told())).into_iter().collect()
            }
        }
    }

    /// Mean interval between flows.
    fn mean_interval(&self) -> Span {
        match self.rate {
            Some(rate) => self.size.mean_interval(self.load * rate.bps() as f64),
            None => Span::from_secs_f64(1.0 / self.flows_per_second).unwrap_or(Span::from_picos(u64::MAX)),
        }
    }

    fn intervals(&self) -> TimeDistribution {
        let mean = self.mean_interval();
        match self.process {
            ArrivalProcess::Poisson => TimeDistribution::exponential(mean),
            ArrivalProcess::Pareto => TimeDistribution::pareto(mean, self.shape),
            ArrivalProcess::Deterministic => TimeDistribution::fixed(mean),
        }
    }
}

/// Minimum of the mean interval: that of the maximum flows per second. Far shorter intervals would be rounded to zero.
const MIN_MEAN_INTERVAL: Span = Span::from_picos(100_000);

impl ApplicationSpec for ArrivalsSettings {
    fn flow_directions(&self) -> Vec<FlowDirection> {
        Vec::new()
    }

    fn spawns_flows(&self) -> bool {
        true
    }

    fn warnings(&self, lasting: Span) -> Vec<(&'static str, String)> {
        let coming = self.until.unwrap_or(lasting).min(lasting);
        let mut doubts = Vec::new();
        if self.load >= 1.0 {
            let told = format!("{} is overload, in which the number of flows grows without bound; fix: give less than 1", self.load);
            doubts.push(("load", told));
        }
        let mean = self.mean_interval();
        if mean > coming {
            let parameter = if self.load > 0.0 { "load" } else { "flows_per_second" };
            let (mean, coming) = (mean.seconds(), coming.seconds());
            doubts.push((
                parameter,
                format!("starts a flow every {mean} s on average, but only for {coming} s; fix: give more, or run longer"),
            ));
        }
        doubts
    }

    fn timing_of_writes(&self) -> WriteTimes {
        WriteTimes::WhileIdle
    }

    fn instantiate(&self, rng: Rng) -> Box<dyn Application> {
        Box::new(FlowArrivals::new(BoundedArrivals::new(self, &rng)))
    }
}

/// Arrivals up to the count or the time limit.
struct BoundedArrivals {
    renewal: RenewalProcess,
    count: u64,
    until: Option<Span>,
    arrival_count: u64,
    /// Time since the start.
    at: Span,
}

impl BoundedArrivals {
    fn new(spec: &ArrivalsSettings, rng: &Rng) -> BoundedArrivals {
        let renewal = RenewalProcess::new(spec.intervals(), spec.size.clone(), rng);
        BoundedArrivals { renewal, count: spec.count, until: spec.until, arrival_count: 0, at: Span::ZERO }
    }
}

impl MessageSource for BoundedArrivals {
    fn next_message(&mut self) -> Option<DelayedMessage> {
        let message = self.renewal.next_message()?;
        self.at += message.delay;
        self.arrival_count += 1;
        let enough = self.count > 0 && self.arrival_count > self.count;
        let late = self.until.is_some_and(|until| self.at > until);
        (!enough && !late).then_some(message)
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Values;

    use super::*;

    fn settings(parameters: &[(&str, &str)]) -> ArrivalsSettings {
        let mut values = Values::defaults(ArrivalsSettings::PARAMETERS);
        parameters.iter().for_each(|(name, text)| values.set_from_text(name, text).unwrap());
        ArrivalsSettings::from_values(&values)
    }

    fn first_arrivals(parameters: &[(&str, &str)], most: usize) -> Vec<DelayedMessage> {
        let mut pace = BoundedArrivals::new(&settings(parameters), &Rng::for_role(1, "source 0 short"));
        std::iter::from_fn(|| pace.next_message()).take(most).collect()
    }

    #[test]
    fn the_load_is_what_arrives() {
        const FLOWS: usize = 100_000;
        for process in ["poisson", "pareto", "deterministic"] {
            let load = [("load", "0.8"), ("rate", "10 Mbps"), ("size", "exponential 10 KB"), ("process", process), ("shape", "2.5")];
            let flows = first_arrivals(&load, FLOWS);
            let bits = 8.0 * flows.iter().map(|flow| flow.bytes as f64).sum::<f64>();
            let rate = bits / flows.iter().map(|flow| flow.delay.seconds()).sum::<f64>();
            // Intervals and sizes each have a standard deviation of at most about their mean.
            assert!((rate / 8e6 - 1.0).abs() < 4.0 * 2f64.sqrt() / (FLOWS as f64).sqrt(), "{process}: {rate}");
        }
    }

    #[test]
    fn flows_stop_coming_after_their_count_or_their_time() {
        let regular = [("flows_per_second", "10"), ("process", "deterministic")];
        let arrival_count = |bound| first_arrivals(&[regular.as_slice(), &[bound]].concat(), 1000).len();
        assert_eq!((7, 25, 1000), (arrival_count(("count", "7")), arrival_count(("until", "2.55 s")), arrival_count(("count", "0"))));
    }

    #[test]
    fn how_often_flows_come_is_said_once() {
        let wrong = |parameters: &[(&str, &str)]| settings(parameters).check().first().map(|(name, _)| *name);
        assert_eq!(Some("load"), wrong(&[]));
        assert_eq!(Some("load"), wrong(&[("load", "0.5"), ("rate", "1 Mbps"), ("flows_per_second", "3")]));
        assert_eq!(Some("rate"), wrong(&[("load", "0.5")]));
        assert_eq!(Some("rate"), wrong(&[("flows_per_second", "3"), ("rate", "1 Mbps")]));
        assert_eq!([None; 2], [wrong(&[("load", "0.5"), ("rate", "1 Mbps")]), wrong(&[("flows_per_second", "3")])]);
    }

    #[test]
    fn a_load_that_leaves_no_time_between_flows_is_refused() {
        let wrong = |size, rate| {
            let told = settings(&[("load", "1"), ("size", size), ("rate", rate)]).check();
            told.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        // 8 bits at 80 Mbps are 100 ns.
        assert_eq!([vec![], vec!["load"], vec!["load"]], [wrong("1 B", "80 Mbps"), wrong("1 B", "81 Mbps"), wrong("1 B", "10 Tbps")]);
    }

    #[test]
    fn how_large_flows_are_does_not_shift_when_they_come() {
        let with = |size| first_arrivals(&[("flows_per_second", "10"), ("size", size)], 100);
        let times = |flows: Vec<DelayedMessage>| flows.into_iter().map(|flow| flow.delay).collect::<Vec<_>>();
        assert_eq!(times(with("1 KB")), times(with("exponential 3 KB")));
    }
}
