//! The proportional-integral controller that PI, PIE, PI2 and DualPI2 share, and PI2's probabilities (Hollot, Misra, Towsley and Gong 2001;
//! RFC 8033, section 4.2; RFC 9332, appendix A).
//!
//! At each sample of the queue, in packets or in seconds of delay:
//!
//! ```text
//! change = alpha (sample - reference) + beta (sample - previous)
//! p      = p + change, kept from 0 to its ceiling
//! ```
//!
//! The first term is integral: it moves p until the queue is at the reference. The second is proportional: it answers to growth. Hollot's
//! form p = a (q - q_ref) - b (q_previous - q_ref) + p_previous is the same with alpha = a - b and beta = b.
//!
//! PI2 controls p', in which the load is linear, and derives from it the probabilities of both kinds of traffic:
//!
//! ```text
//! p_C  = p'^2            classic: a window goes with 1 / sqrt(p)
//! p_CL = k p'            scalable: a window goes with 1 / p
//! saturated where p' >= min(1/k, 1) for classic traffic, where p' >= 1/k for scalable traffic
//! ```
//!
//! With k < 1 the two limits differ: p_CL stays below 1, so marks of scalable traffic never saturate.

use ecnlab_units::{Span, parameters, words};

use crate::aqm::GaugeReport;
use crate::aqm::entry::Gauge;

/// A probability that a proportional-integral controller moves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PiController {
    alpha: f64,
    beta: f64,
    reference: f64,
    ceiling: f64,
    probability: f64,
    previous: f64,
}

impl PiController {
    pub(crate) fn new(alpha: f64, beta: f64, reference: f64) -> PiController {
        PiController { alpha, beta, reference, ceiling: 1.0, probability: 0.0, previous: 0.0 }
    }

    /// Other gains from now on; the probability stays.
    pub(crate) fn set_gains(&mut self, alpha: f64, beta: f64) {
        (self.alpha, self.beta) = (alpha, beta);
    }

    pub(crate) fn probability(&self) -> f64 {
        self.probability
    }

    /// The sample before.
    pub(crate) fn previous_sample(&self) -> f64 {
        self.previous
    }

    /// Takes a sample.
    pub(crate) fn update(&mut self, sample: f64) {
        self.add_to_probability(self.probability_change(sample));
        self.set_previous_sample(sample);
    }

    /// By how much this sample asks the probability to change.
    pub(crate) fn probability_change(&self, sample: f64) -> f64 {
        self.alpha * (sample - self.reference) + self.beta * (sample - self.previous)
    }

    pub(crate) fn add_to_probability(&mut self, change: f64) {
        self.probability = (self.probability + change).clamp(0.0, self.ceiling);
    }

    pub(crate) fn scale_probability(&mut self, factor: f64) {
        self.probability *= factor;
    }

    pub(crate) fn set_previous_sample(&mut self, sample: f64) {
        self.previous = sample;
    }
}

parameters! {
    /// The base law of PI2 and DualPI2 as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Pi2BaseSettings {
        /// Target queueing delay.
        #[source("RFC 9332, appendix A.1; De Schepper et al. 2016 take 20 ms")]
        #[usual(0.001..=0.1, log)]
        pub target: Span = "15 ms", 0..=10, "s";
        /// Time between two samples of the delay.
        #[source("RFC 9332, appendix A.1; De Schepper et al. 2016 take 32 ms")]
        #[usual(0.001..=0.1, log)]
        pub t_update: Span = "16 ms", 0.000001..=10, "s";
        /// Integral gain: addition to p' at each sample for a second of delay above target.
        #[source("RFC 9332, appendix A.1: 0.1 t_update / RTT_max^2 with RTT_max 100 ms; De Schepper et al. 2016 take 5/16")]
        #[usual(0.01..=2, log)]
        pub alpha: f64 = "0.16", 0..=1e6, "1/s";
        /// Proportional gain: addition to p' for a second of growth since the last sample.
        #[source("RFC 9332, appendix A.1: 0.3 / RTT_max, rounded; De Schepper et al. 2016 take 50/16")]
        #[usual(0.1..=20, log)]
        pub beta: f64 = "3.2", 0..=1e6, "1/s";
        /// Coupling factor k: scalable packets are marked with k p', classic packets are signalled with p'^2.
        #[source("RFC 9332, section 2.1 and appendix C")]
        #[usual(0.5..=8, log)]
        pub coupling: f64 = "2", 0.01..=1000;
        /// Behaviour when k p' reaches 1: p' continues to 1 and ECN-capable packets are dropped with p'^2 like all others; or p' stays
        /// there, and the delay grows until the buffer is full.
        #[source("RFC 9332, section 4.2.3; De Schepper et al. 2016 let the delay grow")]
        pub overload: OverloadPolicy = "drop";
    }
}

words! {
    /// Behaviour once marks are saturated.
    pub enum OverloadPolicy { Drop = "drop", Delay = "delay" }
}

/// The probabilities of PI2: one that is controlled, and what follows from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SquaredProbability {
    base: PiController,
    coupling: f64,
    /// The base probability from which marks of classic packets can say no more: min(1/k, 1).
    saturation: f64,
    overload: OverloadPolicy,
}

impl SquaredProbability {
    pub(crate) fn new(settings: &Pi2BaseSettings) -> SquaredProbability {
        let Pi2BaseSettings { target, alpha, beta, coupling, overload, .. } = *settings;
        let saturation = (1.0 / coupling).min(1.0);
        let ceiling = if overload == OverloadPolicy::Drop { 1.0 } else { saturation };
        SquaredProbability {
            base: PiController { ceiling, ..PiController::new(alpha, beta, target.seconds()) },
            coupling,
            saturation,
            overload,
        }
    }

    pub(crate) fn update(&mut self, delay: Span) {
        self.base.update(delay.seconds());
    }

    /// p'.
    pub(crate) fn base_probability(&self) -> f64 {
        self.base.probability
    }

    /// p_C.
    pub(crate) fn classic_probability(&self) -> f64 {
        self.base.probability * self.base.probability
    }

    /// p_CL.
    pub(crate) fn coupled_probability(&self) -> f64 {
        (self.coupling * self.base.probability).min(1.0)
    }

    /// Whether classic packets that are ECN-capable are dropped too.
    pub(crate) fn is_dropping_ecn_classic(&self) -> bool {
        self.overload == OverloadPolicy::Drop && self.base.probability >= self.saturation
    }

    /// Whether scalable packets are dropped too: p_CL has reached 1 (RFC 9332, figure 7, line 4b).
    pub(crate) fn is_dropping_scalable(&self) -> bool {
        self.overload == OverloadPolicy::Drop && self.base.probability >= 1.0 / self.coupling
    }

    pub(crate) fn report_gauges(&self, report: GaugeReport) {
        report("probability", self.base_probability());
        report("classic", self.classic_probability());
        report("coupled", self.coupled_probability());
    }
}

/// Gauges of algorithms with PI2's controller.
pub const SQUARED_PROBABILITY_GAUGES: &[Gauge] = &[
    Gauge { name: "probability", unit: "1", doc: "p', the base probability", symbol: "p'" },
    Gauge { name: "classic", unit: "1", doc: "p_C, the probability for classic packets", symbol: "p_C" },
    Gauge { name: "coupled", unit: "1", doc: "p_CL, the probability for scalable packets", symbol: "p_CL" },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::entry::default_values_with_overrides;

    fn squared_probability(settings: &[(&str, &str)]) -> SquaredProbability {
        SquaredProbability::new(&Pi2BaseSettings::from_values(&default_values_with_overrides("pi", Pi2BaseSettings::PARAMETERS, settings)))
    }

    #[test]
    fn the_step_is_that_of_hollots_difference_equation() {
        let (a, b, q_ref) = (1.822e-5, 1.816e-5, 200.0);
        let mut law = PiController::new(a - b, b, q_ref);
        let (mut p, mut before) = (0.0, 0.0);
        for queue in [300.0, 500.0, 350.0, 900.0, 880.0] {
            p += a * (queue - q_ref) - b * (before - q_ref);
            before = queue;
            law.update(queue);
            assert!((p - law.probability()).abs() < 1e-15, "{p} {}", law.probability());
        }
    }

    #[test]
    fn the_probability_stands_where_the_queue_stands_at_its_reference() {
        let mut law = PiController::new(0.5, 2.0, 0.02);
        law.update(0.02);
        let there = law.probability();
        law.update(0.02);
        assert_eq!((0.04, 0.04), (there, law.probability()));
    }

    #[test]
    fn no_sample_takes_the_probability_out_of_its_range() {
        for (overload, most) in [("drop", 1.0), ("delay", 0.5)] {
            let mut law = squared_probability(&[("overload", overload)]);
            (0..1000).for_each(|_| law.update(Span::from_secs(1)));
            assert_eq!((most, overload == "drop"), (law.base_probability(), law.is_dropping_ecn_classic()), "{overload}");
            (0..1000).for_each(|_| law.update(Span::ZERO));
            assert_eq!(0.0, law.base_probability(), "{overload}");
        }
    }

    #[test]
    fn scalable_packets_are_dropped_only_once_their_marks_are_certain() {
        for (coupling, low) in [("0.5", false), ("0.99", false), ("1", true), ("2", true), ("49", true)] {
            let mut law = squared_probability(&[("coupling", coupling)]);
            assert!(!law.is_dropping_ecn_classic() && !law.is_dropping_scalable());
            (0..1000).for_each(|_| law.update(Span::from_secs(1)));
            assert_eq!(
                (1.0, true, low),
                (law.base_probability(), law.is_dropping_ecn_classic(), law.is_dropping_scalable()),
                "k = {coupling}"
            );
        }
        let mut law = squared_probability(&[("beta", "0")]);
        while law.base_probability() < 1.0 {
            assert_eq!(law.is_dropping_ecn_classic(), law.is_dropping_scalable(), "with k = 2 both kinds saturate at once");
            law.update(Span::from_millis(100));
        }
    }

    #[test]
    fn at_the_default_coupling_marks_saturate_at_a_quarter_of_classic_drops() {
        let mut law = squared_probability(&[("beta", "0")]);
        while !law.is_dropping_ecn_classic() {
            assert!(law.classic_probability() < 0.25 && law.coupled_probability() < 1.0);
            law.update(Span::from_millis(100));
        }
        assert!((law.classic_probability() - 0.25).abs() < 0.02 && law.coupled_probability() == 1.0, "{law:?}");
        let ratio = (law.coupled_probability() / 2.0).powi(2);
        assert_eq!(0.25, ratio, "RFC 9332, equation 1: p_C = (p_CL / k)^2");
    }
}
