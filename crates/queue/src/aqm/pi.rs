//! PI (Hollot, Misra, Towsley and Gong 2001): a proportional-integral controller of the queue length. The controller is in
//! [`control::pi`](super::control::pi).
//!
//! The queue q is sampled `frequency` times a second, and every arriving packet is signalled with the probability p:
//!
//! ```text
//! p <- p + a (q - q_ref) - b (q_previous - q_ref),   0 <= p <= 1
//! ```
//!
//! The integral term removes the steady-state error: the queue settles at `q_ref` under any load, but RED's average must rise for its
//! probability to rise. `a` and `b` follow from the slowest loop that is to be stable: N flows at least, R seconds of round-trip time at
//! most, over a link of C packets a second. The controller is C(s) = K (1 + s/z) / s, and
//!
//! ```text
//! z = 2N / (R^2 C)                                     cancels the pole of TCP's window
//! w = min(z, 1/2R)                                     keeps a phase margin of 35 degrees at least
//! K = w |1 + j w R| (2N)^2 / (R C)^3                   the open loop has unit gain at w
//! a = (K/z) (1 + z/2f),  b = (K/z) (1 - z/2f)          by Tustin's rule at f samples a second
//! ```
//!
//! At the paper's design point (N = 60, C = 3750 packets/s, R = 0.2467 s = 0.2 s + 175/3750 s) this gives its figures a = 1.822e-5 and b =
//! 1.816e-5 to 1 %; the paper rounds on the way. There w is z, which leaves a phase margin of 75 degrees. The bound 1/2R is ours: it keeps
//! the design stable where N flows share a link on which each has a window of a few packets only, and where w = z would not.

use ecnlab_units::quantity::PacketsOrBytes;
use ecnlab_units::{Rate, Rng, Span, Time, parameters};

use super::control::pi::PiController;
use super::entry::{AqmEntry, Contradictions, Gauge};
use super::{Aqm, Arrival, EnqueueVerdict, GaugeReport, SignalCause, TimerContext};

/// PI in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "pi",
    title: "PI",
    summary: "Keeps the queue length at a reference by a proportional-integral controller.",
    source: "Hollot, Misra, Towsley and Gong 2001",
    parameters: Settings::PARAMETERS,
    lowest_mark: AqmEntry::MARK_LEVEL_CONGESTED_IF_ECN,
    check: |values, limit| Settings::from_values(values).contradictions(limit),
    test_params: &[("q_ref", "2"), ("a", "0.011"), ("b", "0.01")],
    gauges: &[Gauge::new("probability", "1", "Probability of a signal")],
    make: &|values, link| Box::new(Pi::new(Settings::from_values(values), link.rate)),
    ..AqmEntry::DEFAULTS
};

parameters! {
    /// PI as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        /// Reference queue length.
        #[source("ns-2 2.35, qref_; Hollot et al. 2001 take 200")]
        #[usual(1..=200, linear)]
        pub q_ref: f64 = "50", 0..=1e9, "packets";
        /// Samples of the queue per second.
        #[source("Hollot et al. 2001; 170 in ns-2")]
        #[usual(10..=1000, log)]
        pub frequency: f64 = "160", 0.001..=1e6, "Hz";
        /// Weight of the current queue length; auto follows the design rule.
        #[source("Hollot et al. 2001: 1.822e-5")]
        pub a: Option<f64> = "auto", 0..=1, "1/packet";
        /// Weight of the queue length one sample before; auto follows the design rule.
        #[source("Hollot et al. 2001: 1.816e-5")]
        pub b: Option<f64> = "auto", 0..=1, "1/packet";
        /// Smallest number of flows for which the design is stable.
        #[source("Hollot et al. 2001")]
        #[when(a = "auto", b = "auto")]
        #[usual(1..=200, log)]
        pub flows: u32 = "60", 1..=1_000_000_000, "flows";
        /// Longest round-trip time for which the design is stable.
        #[source("Hollot et al. 2001")]
        #[when(a = "auto", b = "auto")]
        #[usual(0.01..=1, log)]
        pub rtt: Span = "246 ms", 0.000001..=100, "s";
        /// Mean packet size, which converts the link's rate into packets/s for the design.
        #[source("ns-2 2.35, mean_pktsize_")]
        #[when(a = "auto", b = "auto")]
        pub mean_packet: u32 = "500 B", 1..=65_535, "bytes";
        /// Marking of ECN-capable packets instead of dropping them.
        #[source("Hollot et al. 2001")]
        pub ecn: bool = "true";
    }
}

impl Settings {
    fn contradictions(&self, limit: PacketsOrBytes) -> Contradictions {
        let mut problems = Vec::new();
        if let PacketsOrBytes::Packets(limit) = limit
            && self.q_ref >= limit
        {
            problems.push(("q_ref", format!("{} packets must be below the limit of {limit}", self.q_ref)));
        }
        match (self.a, self.b) {
            (Some(_), None) => problems.push(("b", "is missing: a and b are given together, or both are auto".to_owned())),
            (None, Some(_)) => problems.push(("a", "is missing: a and b are given together, or both are auto".to_owned())),
            (Some(a), Some(b)) if a < b => {
                problems.push(("a", format!("{a} must be at least b {b}: their difference is the integral gain")))
            }
            _ => {}
        }
        problems
    }

    /// a and b for a link of this rate.
    fn gains(&self, rate: Rate) -> (f64, f64) {
        match (self.a, self.b) {
            (Some(a), Some(b)) => (a, b),
            _ => self.design_gains(rate.bps() as f64 / (8.0 * f64::from(self.mean_packet))),
        }
    }

    /// a and b by the design rule, for a link of so many packets a second.
    fn design_gains(&self, packets_per_second: f64) -> (f64, f64) {
        let (twice_flows, rtt) = (2.0 * f64::from(self.flows), self.rtt.seconds());
        let pipe = rtt * packets_per_second;
        let z = twice_flows / (rtt * pipe);
        let w = z.min(0.5 / rtt);
        let gain = w / z * (1.0 + w * rtt * w * rtt).sqrt() * twice_flows * twice_flows / (pipe * pipe * pipe);
        let half_sample = z / (2.0 * self.frequency);
        (gain * (1.0 + half_sample), gain * (1.0 - half_sample))
    }

    fn sample_interval(&self) -> Span {
        Span::from_secs_f64(1.0 / self.frequency).unwrap_or_default()
    }
}

/// PI at work.
pub struct Pi {
    settings: Settings,
    controller: PiController,
    next_sample: Time,
}

impl Pi {
    /// With these settings, before a line of this rate.
    pub fn new(settings: Settings, rate: Rate) -> Pi {
        let (a, b) = settings.gains(rate);
        Pi { settings, controller: PiController::new(a - b, b, settings.q_ref), next_sample: Time::ZERO + settings.sample_interval() }
    }
}

impl Aqm for Pi {
    fn on_enqueue(&mut self, _arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        if rng.uniform() >= self.controller.probability() {
            EnqueueVerdict::Pass
        } else if self.settings.ecn {
            EnqueueVerdict::mark_arriving(SignalCause::Early)
        } else {
            EnqueueVerdict::drop_arriving(SignalCause::Early)
        }
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.next_sample)
    }

    fn on_timer(&mut self, expiry: &TimerContext, _rng: &mut Rng) {
        self.next_sample = expiry.now + self.settings.sample_interval();
        self.controller.update(f64::from(expiry.backlog.packets));
    }

    fn set_link_rate(&mut self, rate: Rate) {
        let (a, b) = self.settings.gains(rate);
        self.controller.set_gains(a - b, b);
    }

    fn report_gauges(&self, report: GaugeReport) {
        report("probability", self.controller.probability());
    }

    fn signals_arriving_packets_only(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::entry::default_values_with_overrides;

    fn settings(given: &[(&str, &str)]) -> Settings {
        Settings::from_values(&default_values_with_overrides("pi", Settings::PARAMETERS, given))
    }

    /// The magnitude and the phase of the open loop at w rad/s: the controller before TCP and the queue of Hollot et al. 2001,
    /// `C^2/2N e^(-sR) / ((s + 2N/(R^2 C)) (s + 1/R))`.
    fn open_loop(settings: &Settings, packets_per_second: f64, w: f64) -> (f64, f64) {
        let (a, b) = settings.design_gains(packets_per_second);
        let (flows, rtt) = (f64::from(settings.flows), settings.rtt.seconds());
        let (integral, proportional) = ((a - b) * settings.frequency, (a + b) / 2.0);
        let pole = 2.0 * flows / (rtt * rtt * packets_per_second);
        let magnitude =
            (proportional * w).hypot(integral) / w * packets_per_second.powi(2) / (2.0 * flows) / w.hypot(pole) / w.hypot(1.0 / rtt);
        let phase = (proportional * w / integral).atan() - std::f64::consts::FRAC_PI_2 - w * rtt - (w / pole).atan() - (w * rtt).atan();
        (magnitude, phase.to_degrees())
    }

    #[test]
    fn the_design_rule_meets_the_papers_figures() {
        let (a, b) = settings(&[("rtt", "246.67 ms")]).design_gains(3750.0);
        assert!((a / 1.822e-5 - 1.0).abs() < 0.01 && (b / 1.816e-5 - 1.0).abs() < 0.01, "{a} {b}");
        assert!(((a - b) / 6e-8 - 1.0).abs() < 0.01, "{}", a - b);
    }

    #[test]
    fn the_designed_loop_has_unit_gain_where_it_should_and_a_wide_phase_margin() {
        for (flows, rtt, packets_per_second, w) in
            [("60", "246 ms", 3750.0, 0.5288), ("20", "100 ms", 1250.0, 3.2), ("60", "246 ms", 375.0, 0.5 / 0.246)]
        {
            let settings = settings(&[("flows", flows), ("rtt", rtt)]);
            let (magnitude, phase) = open_loop(&settings, packets_per_second, w);
            assert!((magnitude - 1.0).abs() < 1e-3, "{flows} flows: {magnitude}");
            assert!(180.0 + phase > 34.0, "{flows} flows: phase margin {}", 180.0 + phase);
        }
    }

    #[test]
    fn gains_follow_the_links_rate_unless_they_are_given() {
        let rate = |mbps: u64| Rate::from_bps(mbps * 1_000_000).unwrap();
        let auto = settings(&[]);
        assert_eq!(auto.design_gains(3750.0), auto.gains(rate(15)));
        assert!(auto.gains(rate(30)).0 < auto.gains(rate(15)).0);
        assert_eq!((0.02, 0.01), settings(&[("a", "0.02"), ("b", "0.01")]).gains(rate(30)));
    }

    #[test]
    fn contradictions_are_told_with_what_would_do() {
        let problems = |given: &[(&str, &str)]| {
            settings(given).contradictions(PacketsOrBytes::Packets(100.0)).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(vec!["q_ref", "b"], problems(&[("q_ref", "100"), ("a", "0.1")]));
        assert_eq!(vec!["a"], problems(&[("b", "0.1")]));
        assert_eq!(vec!["a"], problems(&[("a", "0.1"), ("b", "0.2")]));
        assert!(problems(&[]).is_empty());
    }
}
