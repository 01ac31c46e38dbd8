//! Bursty losses: a Markov chain with a good and a bad state, each with its own loss probability.
//!
//! Gilbert (1960) loses no packet in the good state; Elliott (1963) some. With the four parameters of Hasslinger and Hohlfeld (2008), which
//! netem's gemodel has too:
//!
//! ```text
//! p        from good to bad          r        from bad to good, at each packet
//! 1 - k    a loss in good            1 - h    a loss in bad
//!
//! share of packets in bad   p / (p + r)
//! mean stay in bad          1 / r packets
//! losses                    ((1 - k) r + (1 - h) p) / (p + r)
//! ```
//!
//! The share of losses and the mean stay in bad may be given instead of p and r. With h = 0 and k = 1 a stay in bad is a burst of losses,
//! one packet after another.
//!
//! The chain moves at each packet, before the packet's loss is drawn. One difference from netem: the first state is drawn from the
//! stationary distribution, so that losses are as frequent at the beginning as later; netem starts in good.

use ecnlab_units::{Rng, Values, parameters};

use super::{Impairment, ImpairmentAction, ImpairmentKind};

pub static BURST_LOSS: ImpairmentKind = ImpairmentKind {
    name: "burst-loss",
    title: "Bursty losses",
    summary: "Loses packets in bursts, by the Gilbert-Elliott model of a channel with a good and a bad state. Give either p and r, or \
        rate and burst.",
    source: "Gilbert 1960; Elliott 1963; Hasslinger and Hohlfeld 2008",
    parameters: GilbertElliottSettings::PARAMETERS,
    example: Some("rate = 0.01, burst = 5"),
    check: |values| GilbertElliottSettings::from_values(values).markov_chain().err().map_or_else(Vec::new, |found| vec![found]),
    ..ImpairmentKind::with_constructor(|values| Impairment::BurstLoss(GilbertElliott::from_parameter_values(values)))
};

parameters! {
    /// Settings of a two-state channel.
    struct GilbertElliottSettings {
        /// Probability of a transition from good to bad at a packet; auto follows from rate and burst.
        #[source("Hasslinger and Hohlfeld 2008; netem, gemodel")]
        pub p: Option<f64> = "auto", 0..=1;
        /// Probability of a transition from bad to good at a packet; auto follows from burst.
        #[source("Hasslinger and Hohlfeld 2008; netem, gemodel")]
        pub r: Option<f64> = "auto", 0..=1;
        /// Probability that a packet passes in the bad state.
        #[source("Elliott 1963; netem, gemodel")]
        pub h: f64 = "0", 0..=1;
        /// Probability that a packet passes in the good state.
        #[source("Elliott 1963; netem, gemodel")]
        pub k: f64 = "1", 0..=1;
        /// Share of packets that are lost, instead of p.
        #[source("Hasslinger and Hohlfeld 2008")]
        #[usual(0.0001..=0.2, log)]
        pub rate: Option<f64> = "auto", 0..=1;
        /// Mean length of the bad state in packets, instead of r.
        #[source("Hasslinger and Hohlfeld 2008")]
        #[usual(1..=50, log)]
        pub burst: Option<f64> = "auto", 1..=1_000_000_000, "packets";
    }
}

/// A two-state loss channel.
#[derive(Clone, Copy, Debug)]
pub struct GilbertElliott {
    chain: MarkovChain,
    /// Probabilities of a loss in good and in bad.
    loss_probabilities: [f64; 2],
    /// `None` before the first packet.
    is_bad: Option<bool>,
}

/// Transition probabilities from good to bad and back.
#[derive(Clone, Copy, Debug, PartialEq)]
struct MarkovChain {
    p: f64,
    r: f64,
}

impl GilbertElliottSettings {
    /// The chain, or the invalid parameter and its error.
    fn markov_chain(&self) -> Result<MarkovChain, (&'static str, String)> {
        match (self.p, self.r, self.rate, self.burst) {
            (Some(p), Some(r), None, None) if p + r > 0.0 => Ok(MarkovChain { p, r }),
            (Some(_), Some(_), None, None) => Err(("r", "0 with p = 0 never changes the state; fix: give one of them above 0".to_owned())),
            (None, None, Some(rate), Some(burst)) => self.chain_from_rate_and_burst(rate, burst),
            _ => Err(("p", "is missing; fix: give p and r, or rate and burst, but not both pairs".to_owned())),
        }
    }

    /// The chain with this share of losses and this mean stay in bad.
    fn chain_from_rate_and_burst(&self, rate: f64, burst: f64) -> Result<MarkovChain, (&'static str, String)> {
        let (good, bad) = (1.0 - self.k, 1.0 - self.h);
        if !(good..bad).contains(&rate) {
            return Err((
                "rate",
                format!("{rate} must be at least what is lost in good, 1 - k = {good}, and below what is lost in bad, 1 - h = {bad}"),
            ));
        }
        let loss_share = (rate - good) / (bad - good);
        let r = 1.0 / burst;
        let p = r * loss_share / (1.0 - loss_share);
        if p > 1.0 {
            let least = loss_share / (1.0 - loss_share);
            return Err(("burst", format!("{burst} is too short for losses of {rate}; fix: give at least {least:.3}")));
        }
        Ok(MarkovChain { p, r })
    }
}

impl GilbertElliott {
    /// # Panics
    /// If the values contradict each other, which the check of the entry reports.
    fn from_parameter_values(values: &Values) -> GilbertElliott {
        let settings = GilbertElliottSettings::from_values(values);
        let chain = settings.markov_chain().unwrap_or_else(|(name, why)| panic!("{name} {why}"));
        GilbertElliott { chain, loss_probabilities: [1.0 - settings.k, 1.0 - settings.h], is_bad: None }
    }

    pub fn apply(&mut self, rng: &mut Rng) -> ImpairmentAction {
        let MarkovChain { p, r } = self.chain;
        let draw = rng.uniform();
        let is_bad = match self.is_bad {
            None => draw < p / (p + r),
            Some(false) => draw < p,
            Some(true) => draw >= r,
        };
        self.is_bad = Some(is_bad);
        if rng.uniform() < self.loss_probabilities[usize::from(is_bad)] { ImpairmentAction::Drop } else { ImpairmentAction::Pass }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIMULATED_PACKETS: usize = 1_000_000;

    fn gilbert_values(given: &[(&str, &str)]) -> Values {
        let mut values = Values::defaults(GilbertElliottSettings::PARAMETERS);
        given.iter().for_each(|(name, text)| values.set_from_text(name, text).unwrap());
        values
    }

    /// Which of a million packets are lost.
    fn simulate_losses(given: &[(&str, &str)]) -> Vec<bool> {
        let mut channel = GilbertElliott::from_parameter_values(&gilbert_values(given));
        let mut rng = Rng::for_role(1, "test");
        (0..SIMULATED_PACKETS).map(|_| channel.apply(&mut rng) == ImpairmentAction::Drop).collect()
    }

    fn loss_share(lost: &[bool]) -> f64 {
        lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64
    }

    /// Lengths of the runs of losses.
    fn burst_lengths(lost: &[bool]) -> Vec<usize> {
        lost.split(|&lost| !lost).map(<[bool]>::len).filter(|&length| length > 0).collect()
    }

    /// Standard error of the loss share: losses of one chain are correlated over 1 / (p + r) packets, which multiplies the variance by (1 +
    /// c) / (1 - c) with c = 1 - p - r.
    fn loss_share_standard_error(loss_share: f64, MarkovChain { p, r }: MarkovChain) -> f64 {
        let c = 1.0 - p - r;
        (loss_share * (1.0 - loss_share) / SIMULATED_PACKETS as f64 * (1.0 + c) / (1.0 - c)).sqrt()
    }

    #[test]
    fn loss_share_matches_the_stationary_markov_chain() {
        for (p, r, h, k) in [("0.01", "0.25", "0", "1"), ("0.05", "0.5", "0.3", "0.99"), ("0.3", "0.9", "0", "1"), ("1", "1", "0.5", "0.9")]
        {
            let given = [("p", p), ("r", r), ("h", h), ("k", k)];
            let [p, r, h, k] = given.map(|(_, text)| text.parse::<f64>().unwrap());
            let expected = ((1.0 - k) * r + (1.0 - h) * p) / (p + r);
            let (measured, most) =
                (loss_share(&simulate_losses(&given)), 5.0 * loss_share_standard_error(expected, MarkovChain { p, r }).max(1e-4));
            assert!((measured - expected).abs() < most, "{given:?}: {measured} against {expected}");
        }
    }

    #[test]
    fn burst_lengths_are_geometric_with_mean_one_over_r() {
        let lengths = burst_lengths(&simulate_losses(&[("p", "0.01"), ("r", "0.25")]));
        let count = lengths.len() as f64;
        let mean = lengths.iter().sum::<usize>() as f64 / count;
        // The variance of a geometric length is (1 - r) / r².
        assert!((mean - 4.0).abs() < 5.0 * (0.75f64 / 0.0625 / count).sqrt(), "{mean}");
        let single = lengths.iter().filter(|&&length| length == 1).count() as f64 / count;
        assert!((single - 0.25).abs() < 5.0 * (0.25 * 0.75 / count).sqrt(), "{single}");
    }

    #[test]
    fn rate_and_burst_determine_p_and_r() {
        let lost = simulate_losses(&[("rate", "0.02"), ("burst", "5")]);
        let chain = MarkovChain { p: 0.2 * 0.02 / 0.98, r: 0.2 };
        let lengths = burst_lengths(&lost);
        let mean = lengths.iter().sum::<usize>() as f64 / lengths.len() as f64;
        assert!((loss_share(&lost) - 0.02).abs() < 5.0 * loss_share_standard_error(0.02, chain), "{}", loss_share(&lost));
        assert!((mean - 5.0).abs() < 5.0 * (20.0 / lengths.len() as f64).sqrt(), "{mean}");
    }

    #[test]
    fn contradictory_parameters_are_reported_by_name() {
        let faults = [
            (&[][..], "p"),
            (&[("p", "0.1")], "p"),
            (&[("p", "0.1"), ("r", "0.1"), ("rate", "0.1")], "p"),
            (&[("p", "0"), ("r", "0")], "r"),
            (&[("rate", "0.7"), ("burst", "1.5")], "burst"),
            (&[("rate", "1"), ("burst", "10")], "rate"),
            (&[("rate", "0.01"), ("burst", "10"), ("k", "0.95")], "rate"),
        ];
        for (given, at) in faults {
            let found = (BURST_LOSS.check)(&gilbert_values(given));
            assert_eq!(vec![at], found.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "{given:?}");
        }
        assert!((BURST_LOSS.check)(&gilbert_values(&[("rate", "0.01"), ("burst", "10")])).is_empty());
    }
}
