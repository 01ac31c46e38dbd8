//! Bursty losses: a Markov chain with a good and a bad state, in each of which packets are lost with a probability of its own.
//!
//! Gilbert (1960) loses no packet in the good state; Elliott (1963) some. With the four parameters of Hasslinger and Hohlfeld (2008),
//! which netem's gemodel has too:
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
//! The share of losses and the mean stay in bad may be given in place of p and r. With h = 0 and k = 1 a stay in bad is a burst of losses,
//! one packet after another.
//!
//! The chain moves at each packet, and the packet meets the state that it has moved to. Where we differ from netem: the first state is
//! drawn by the chain's own shares, so that losses are as frequent at the beginning as later; netem begins in good.

use ecnlab_units::{Rng, Values, parameters};

use super::{Deed, Entry, Part};

pub static ENTRY: Entry = Entry {
    name: "burst-loss",
    title: "Bursty losses",
    summary: "Loses packets in bursts, as a channel with a good and a bad state does. Give either p and r, or rate and burst.",
    source: "Gilbert 1960; Elliott 1963; Hasslinger and Hohlfeld 2008",
    parameters: Settings::PARAMETERS,
    example: Some("rate = 0.01, burst = 5"),
    check: |values| Settings::of(values).chain().err().map_or_else(Vec::new, |found| vec![found]),
    ..Entry::with(|values| Part::Bursts(GilbertElliott::of(values)))
};

parameters! {
    /// A channel of two states as a scenario sets it.
    struct Settings {
        /// Probability to go from good to bad at a packet; auto is what rate and burst make of it.
        #[source("Hasslinger and Hohlfeld 2008; netem, gemodel")]
        pub p: Option<f64> = "auto", 0..=1;
        /// Probability to go from bad to good at a packet; auto is what burst makes of it.
        #[source("Hasslinger and Hohlfeld 2008; netem, gemodel")]
        pub r: Option<f64> = "auto", 0..=1;
        /// Probability that a packet passes in bad.
        #[source("Elliott 1963; netem, gemodel")]
        pub h: f64 = "0", 0..=1;
        /// Probability that a packet passes in good.
        #[source("Elliott 1963; netem, gemodel")]
        pub k: f64 = "1", 0..=1;
        /// Share of packets that are lost, in place of p.
        #[source("Hasslinger and Hohlfeld 2008")]
        pub rate: Option<f64> = "auto", 0..=1;
        /// Mean stay in bad, in packets, in place of r.
        #[source("Hasslinger and Hohlfeld 2008")]
        pub burst: Option<f64> = "auto", 1..=1_000_000_000, "packets";
    }
}

/// A channel of two states.
#[derive(Clone, Copy, Debug)]
pub struct GilbertElliott {
    chain: Chain,
    /// Probabilities of a loss in good and in bad.
    loss: [f64; 2],
    /// Nothing before the first packet.
    is_bad: Option<bool>,
}

/// The probabilities to go from good to bad and back.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Chain {
    p: f64,
    r: f64,
}

impl Settings {
    /// The chain, or the parameter that is at fault and what is wrong.
    fn chain(&self) -> Result<Chain, (&'static str, String)> {
        match (self.p, self.r, self.rate, self.burst) {
            (Some(p), Some(r), None, None) if p + r > 0.0 => Ok(Chain { p, r }),
            (Some(_), Some(_), None, None) => {
                Err(("r", "0 stands beside p = 0, and no state is ever left: give one of them above 0".to_owned()))
            }
            (None, None, Some(rate), Some(burst)) => self.chain_of(rate, burst),
            _ => Err((
                "p",
                "must be given with r, or else rate with burst: give p and r, or rate and burst, and nothing of the other two".to_owned(),
            )),
        }
    }

    /// The chain with this share of losses and this mean stay in bad.
    fn chain_of(&self, rate: f64, burst: f64) -> Result<Chain, (&'static str, String)> {
        let (good, bad) = (1.0 - self.k, 1.0 - self.h);
        if !(good..bad).contains(&rate) {
            return Err((
                "rate",
                format!("{rate} must be at least what is lost in good, 1 - k = {good}, and below what is lost in bad, 1 - h = {bad}"),
            ));
        }
        let share = (rate - good) / (bad - good);
        let r = 1.0 / burst;
        let p = r * share / (1.0 - share);
        if p > 1.0 {
            let least = share / (1.0 - share);
            return Err(("burst", format!("{burst} is too short for losses of {rate}: give at least {least:.3}")));
        }
        Ok(Chain { p, r })
    }
}

impl GilbertElliott {
    /// # Panics
    /// If the values contradict each other, which the entry's check tells.
    fn of(values: &Values) -> GilbertElliott {
        let settings = Settings::of(values);
        let chain = settings.chain().unwrap_or_else(|(name, why)| panic!("{name} {why}"));
        GilbertElliott { chain, loss: [1.0 - settings.k, 1.0 - settings.h], is_bad: None }
    }

    pub fn meet(&mut self, rng: &mut Rng) -> Deed {
        let Chain { p, r } = self.chain;
        let draw = rng.uniform();
        let is_bad = match self.is_bad {
            None => draw < p / (p + r),
            Some(false) => draw < p,
            Some(true) => draw >= r,
        };
        self.is_bad = Some(is_bad);
        if rng.uniform() < self.loss[usize::from(is_bad)] { Deed::Lose } else { Deed::Pass }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: usize = 1_000_000;

    fn values(given: &[(&str, &str)]) -> Values {
        let mut values = Values::defaults(Settings::PARAMETERS);
        given.iter().for_each(|(name, text)| values.read(name, text).unwrap());
        values
    }

    /// Which of a million packets are lost.
    fn losses(given: &[(&str, &str)]) -> Vec<bool> {
        let mut channel = GilbertElliott::of(&values(given));
        let mut rng = Rng::for_role(1, "test");
        (0..PACKETS).map(|_| channel.meet(&mut rng) == Deed::Lose).collect()
    }

    fn share(lost: &[bool]) -> f64 {
        lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64
    }

    /// Lengths of the runs of losses.
    fn bursts(lost: &[bool]) -> Vec<usize> {
        lost.split(|&lost| !lost).map(<[bool]>::len).filter(|&length| length > 0).collect()
    }

    /// Standard error of the share of losses: those of one chain are correlated over 1 / (p + r) packets, which multiplies the variance by
    /// (1 + c) / (1 - c) with c = 1 - p - r.
    fn error(share: f64, Chain { p, r }: Chain) -> f64 {
        let c = 1.0 - p - r;
        (share * (1.0 - share) / PACKETS as f64 * (1.0 + c) / (1.0 - c)).sqrt()
    }

    #[test]
    fn losses_are_as_frequent_as_the_stationary_chain_says() {
        for (p, r, h, k) in [("0.01", "0.25", "0", "1"), ("0.05", "0.5", "0.3", "0.99"), ("0.3", "0.9", "0", "1"), ("1", "1", "0.5", "0.9")]
        {
            let given = [("p", p), ("r", r), ("h", h), ("k", k)];
            let [p, r, h, k] = given.map(|(_, text)| text.parse::<f64>().unwrap());
            let expected = ((1.0 - k) * r + (1.0 - h) * p) / (p + r);
            let (measured, most) = (share(&losses(&given)), 5.0 * error(expected, Chain { p, r }).max(1e-4));
            assert!((measured - expected).abs() < most, "{given:?}: {measured} against {expected}");
        }
    }

    #[test]
    fn bursts_are_geometric_with_a_mean_of_one_over_r() {
        let lengths = bursts(&losses(&[("p", "0.01"), ("r", "0.25")]));
        let count = lengths.len() as f64;
        let mean = lengths.iter().sum::<usize>() as f64 / count;
        // The variance of a geometric length is (1 - r) / r².
        assert!((mean - 4.0).abs() < 5.0 * (0.75f64 / 0.0625 / count).sqrt(), "{mean}");
        let single = lengths.iter().filter(|&&length| length == 1).count() as f64 / count;
        assert!((single - 0.25).abs() < 5.0 * (0.25 * 0.75 / count).sqrt(), "{single}");
    }

    #[test]
    fn a_share_and_a_burst_length_stand_for_p_and_r() {
        let lost = losses(&[("rate", "0.02"), ("burst", "5")]);
        let chain = Chain { p: 0.2 * 0.02 / 0.98, r: 0.2 };
        let lengths = bursts(&lost);
        let mean = lengths.iter().sum::<usize>() as f64 / lengths.len() as f64;
        assert!((share(&lost) - 0.02).abs() < 5.0 * error(0.02, chain), "{}", share(&lost));
        assert!((mean - 5.0).abs() < 5.0 * (20.0 / lengths.len() as f64).sqrt(), "{mean}");
    }

    #[test]
    fn what_gives_no_chain_is_told_with_the_parameter() {
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
            let found = (ENTRY.check)(&values(given));
            assert_eq!(vec![at], found.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "{given:?}");
        }
        assert!((ENTRY.check)(&values(&[("rate", "0.01"), ("burst", "10")])).is_empty());
    }
}
