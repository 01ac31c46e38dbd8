//! Jitter: each packet is delayed by a draw, before the queue.
//!
//! Packets may overtake each other then, as on paths of several ways, or keep their order, as where a radio link sends again what was
//! damaged: then none goes on before one that came earlier.

use ecnlab_units::{Rng, Span, Time, Values, distribution, parameters, words};

use super::{Contradictions, Deed, Entry, Part};

pub static ENTRY: Entry = Entry {
    name: "jitter",
    title: "Jitter",
    summary: "Delays each packet by a draw, before the queue.",
    source: "netem, delay",
    parameters: Settings::PARAMETERS,
    check: |values| Settings::of(values).check(),
    ..Entry::with(|values| Part::Jitter(Jitter::of(values)))
};

parameters! {
    /// Jitter as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    struct Settings {
        /// Mean delay.
        #[source("netem, delay")]
        #[must be given]
        pub delay: Span = "5 ms", 0..=8_640_000, "s";
        /// How delays are distributed; a normal one is cut at zero, which makes its mean longer where the deviation is not small beside it.
        #[source("netem, distribution")]
        pub distribution: Shape = "uniform";
        /// Of uniform delays the most that one is off the mean, of normal ones the standard deviation.
        #[source("netem, jitter")]
        #[when(distribution = "uniform" | "normal")]
        pub deviation: Span = "0 s", 0..=8_640_000, "s";
        /// Whether packets keep their order, or go on each after its own delay and may overtake.
        #[source("netem, delay, which overtakes")]
        pub order: Ordering = "keep";
    }
}

words! {
    /// How delays are distributed.
    enum Shape { Uniform = "uniform", Normal = "normal", Exponential = "exponential" }
}

words! {
    /// What becomes of the order of packets.
    enum Ordering { Keep = "keep", Overtake = "overtake" }
}

/// Delays packets.
#[derive(Clone, Copy, Debug)]
pub struct Jitter {
    settings: Settings,
    /// When the last packet goes on that keeps its order.
    last: Time,
}

impl Settings {
    fn check(&self) -> Contradictions {
        let Settings { delay, distribution, deviation, .. } = *self;
        if distribution == Shape::Uniform && deviation > delay {
            let message = format!("{} s must be at most delay {} s: no delay is below 0", deviation.seconds(), delay.seconds());
            return vec![("deviation", message)];
        }
        Vec::new()
    }

    fn draw(&self, rng: &mut Rng) -> Span {
        let [delay, deviation] = [self.delay, self.deviation].map(|span| span.picos() as f64);
        let picos = match self.distribution {
            Shape::Uniform => delay + deviation * (2.0 * rng.uniform() - 1.0),
            Shape::Normal => delay + deviation * distribution::normal(rng),
            Shape::Exponential => delay * distribution::exponential(rng),
        };
        Span::from_picos(picos.max(0.0) as u64)
    }
}

impl Jitter {
    fn of(values: &Values) -> Jitter {
        Jitter { settings: Settings::of(values), last: Time::ZERO }
    }

    pub fn meet(&mut self, now: Time, rng: &mut Rng) -> Deed {
        let mut until = now + self.settings.draw(rng);
        if self.settings.order == Ordering::Keep {
            until = until.max(self.last);
            self.last = until;
        }
        Deed::Hold(until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: u64 = 200_000;

    /// Delays in milliseconds of packets that come a second apart.
    fn delays(given: &[(&str, &str)]) -> Vec<f64> {
        let mut values = Values::defaults(Settings::PARAMETERS);
        given.iter().for_each(|(name, text)| values.read(name, text).unwrap());
        let mut jitter = Jitter::of(&values);
        let mut rng = Rng::for_role(1, "test");
        let mut delay = |now: Time| match jitter.meet(now, &mut rng) {
            Deed::Hold(until) => until.since(now).seconds() * 1e3,
            other => panic!("{other:?}"),
        };
        (0..PACKETS).map(|at| delay(Time::ZERO + Span::from_secs(at))).collect()
    }

    fn mean_and_variance(of: &[f64]) -> (f64, f64) {
        let mean = of.iter().sum::<f64>() / of.len() as f64;
        (mean, of.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / of.len() as f64)
    }

    /// Mean and variance, with five standard errors: those of a variance are its square times (kurtosis - 1).
    #[test]
    fn delays_have_mean_and_variance_of_their_distribution() {
        let cases = [("uniform", "4 ms", 16.0 / 3.0, 1.8), ("normal", "2 ms", 4.0, 3.0), ("exponential", "0 s", 100.0, 9.0)];
        for (distribution, deviation, variance, kurtosis) in cases {
            let delays = delays(&[("delay", "10 ms"), ("distribution", distribution), ("deviation", deviation)]);
            let (mean, measured) = mean_and_variance(&delays);
            let n = PACKETS as f64;
            assert!((mean - 10.0).abs() < 5.0 * (variance / n).sqrt(), "{distribution}: mean {mean}");
            assert!((measured - variance).abs() < 5.0 * variance * ((kurtosis - 1.0) / n).sqrt(), "{distribution}: variance {measured}");
        }
    }

    #[test]
    fn uniform_delays_stay_within_their_deviation_and_normal_ones_above_zero() {
        let uniform = delays(&[("delay", "10 ms"), ("deviation", "10 ms")]);
        assert!(uniform.iter().all(|delay| (0.0..=20.0).contains(delay)));
        let normal = delays(&[("delay", "1 ms"), ("distribution", "normal"), ("deviation", "5 ms")]);
        assert!(normal.iter().all(|&delay| delay >= 0.0));
        // Phi(-0.2) of the draws are below zero.
        let cut = normal.iter().filter(|&&delay| delay == 0.0).count() as f64 / PACKETS as f64;
        assert!((cut - 0.420_740).abs() < 5.0 * (0.42f64 * 0.58 / PACKETS as f64).sqrt(), "{cut}");
    }

    #[test]
    fn packets_keep_their_order_unless_they_may_overtake() {
        for (order, kept) in [("keep", true), ("overtake", false)] {
            let mut values = Values::defaults(Settings::PARAMETERS);
            for (name, text) in [("delay", "10 ms"), ("distribution", "exponential"), ("order", order)] {
                values.read(name, text).unwrap();
            }
            let mut jitter = Jitter::of(&values);
            let mut rng = Rng::for_role(1, "test");
            let untils: Vec<_> = (0..1000).map(|at| jitter.meet(Time::ZERO + Span::from_millis(at), &mut rng)).collect();
            let times: Vec<_> = untils.iter().map(|deed| if let Deed::Hold(until) = deed { *until } else { Time::NEVER }).collect();
            assert_eq!(kept, times.is_sorted(), "{order}");
        }
    }

    #[test]
    fn uniform_delays_below_zero_are_refused() {
        let mut values = Values::defaults(Settings::PARAMETERS);
        values.read("deviation", "6 ms").unwrap();
        assert_eq!("deviation", (ENTRY.check)(&values)[0].0);
        values.read("distribution", "normal").unwrap();
        assert!((ENTRY.check)(&values).is_empty());
    }
}
