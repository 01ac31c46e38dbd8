//! Jitter: each packet is delayed by a draw, before the queue.
//!
//! Packets may overtake each other then, as on paths of several ways, or keep their order, as where a radio link sends again what was
//! damaged: then none goes on before one that came earlier.

use ecnlab_units::{Rng, Time, Times, parameters, words};

use super::{Deed, Entry, Part};

pub static ENTRY: Entry = Entry {
    name: "jitter",
    title: "Jitter",
    summary: "Delays each packet by a draw, before the queue.",
    source: "netem, delay and distribution",
    parameters: Settings::PARAMETERS,
    ..Entry::with(|values| Part::Jitter(Box::new(Jitter { settings: Settings::of(values), last: Time::ZERO })))
};

parameters! {
    /// Jitter as a scenario sets it.
    #[derive(Clone, Debug)]
    struct Settings {
        /// How long a packet is held, each for a draw of its own.
        #[source("netem, delay and distribution")]
        #[must be given]
        pub delay: Times = "uniform 0 ms to 10 ms", 0..=8_640_000, "s";
        /// Whether packets keep their order, or go on each after its own delay and may overtake.
        #[source("netem, delay, which overtakes")]
        pub order: Ordering = "keep";
    }
}

words! {
    /// What becomes of the order of packets.
    enum Ordering { Keep = "keep", Overtake = "overtake" }
}

/// Delays packets.
#[derive(Clone, Debug)]
pub struct Jitter {
    settings: Settings,
    /// When the last packet goes on that keeps its order.
    last: Time,
}

impl Jitter {
    pub fn meet(&mut self, now: Time, rng: &mut Rng) -> Deed {
        let mut until = now + self.settings.delay.draw(rng);
        if self.settings.order == Ordering::Keep {
            until = until.max(self.last);
            self.last = until;
        }
        Deed::Hold(until)
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::{Span, Values};

    use super::*;

    const PACKETS: u64 = 200_000;

    fn jitter(delay: &str, order: &str) -> Part {
        let mut values = Values::defaults(Settings::PARAMETERS);
        values.read("delay", delay).unwrap();
        values.read("order", order).unwrap();
        (ENTRY.make)(&values)
    }

    /// When packets go on that come so many milliseconds apart.
    fn times(mut jitter: Part, apart_ms: u64, packets: u64) -> Vec<Time> {
        let Part::Jitter(jitter) = &mut jitter else { panic!("{jitter:?}") };
        let mut rng = Rng::for_role(1, "test");
        let mut time = |number| match jitter.meet(Time::ZERO + Span::from_millis(number * apart_ms), &mut rng) {
            Deed::Hold(until) => until,
            other => panic!("{other:?}"),
        };
        (0..packets).map(&mut time).collect()
    }

    /// Mean and variance in milliseconds and their squares, with five standard errors: that of a variance is its square times
    /// (kurtosis - 1).
    #[test]
    fn delays_have_mean_and_variance_of_their_distribution() {
        let cases =
            [("uniform 6 ms to 14 ms", 16.0 / 3.0, 1.8), ("normal 10 ms, deviation 1 ms", 1.0, 3.0), ("exponential 10 ms", 100.0, 9.0)];
        for (delay, variance, kurtosis) in cases {
            let n = PACKETS as f64;
            let times = times(jitter(delay, "keep"), 1000, PACKETS);
            let delays: Vec<f64> =
                (0..).zip(&times).map(|(at, time)| time.since(Time::ZERO + Span::from_secs(at)).seconds() * 1e3).collect();
            let mean = delays.iter().sum::<f64>() / n;
            let measured = delays.iter().map(|delay| (delay - mean) * (delay - mean)).sum::<f64>() / n;
            assert!((mean - 10.0).abs() < 5.0 * (variance / n).sqrt(), "{delay}: mean {mean}");
            assert!((measured - variance).abs() < 5.0 * variance * ((kurtosis - 1.0) / n).sqrt(), "{delay}: variance {measured}");
        }
    }

    #[test]
    fn packets_keep_their_order_unless_they_may_overtake() {
        for (order, kept) in [("keep", true), ("overtake", false)] {
            assert_eq!(kept, times(jitter("exponential 10 ms", order), 1, 1000).is_sorted(), "{order}");
        }
    }
}
