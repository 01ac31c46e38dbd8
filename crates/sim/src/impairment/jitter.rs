//! Jitter: each packet is delayed by a random time, before the queue.
//!
//! Packets may then overtake each other, as on multipath routes. Or they keep their order, as behind a radio link with link-layer
//! retransmissions: no packet is released before one that arrived earlier.

use ecnlab_units::{Rng, Time, TimeDistribution, parameters, words};

use super::{Impairment, ImpairmentAction, ImpairmentKind};

pub static JITTER: ImpairmentKind = ImpairmentKind {
    name: "jitter",
    title: "Jitter",
    summary: "Delays each packet by a random time before the queue.",
    source: "netem, delay and distribution",
    parameters: JitterSettings::PARAMETERS,
    ..ImpairmentKind::with_constructor(|values| {
        Impairment::Jitter(Box::new(Jitter { settings: JitterSettings::from_values(values), last_release: Time::ZERO }))
    })
};

parameters! {
    /// Settings of jitter.
    #[derive(Clone, Debug)]
    struct JitterSettings {
        /// Distribution of the delay, drawn for each packet.
        #[source("netem, delay and distribution")]
        #[required]
        pub delay: TimeDistribution = "uniform 0 ms to 10 ms", 0..=8_640_000, "s";
        /// Order of packets: kept, or overtaking, where each packet continues after its delay.
        #[source("netem, delay, which overtakes")]
        pub order: PacketOrder = "keep";
    }
}

words! {
    /// Whether packets keep their order.
    enum PacketOrder { Keep = "keep", Overtake = "overtake" }
}

/// Delays packets.
#[derive(Clone, Debug)]
pub struct Jitter {
    settings: JitterSettings,
    /// Release time of the last packet that keeps its order.
    last_release: Time,
}

impl Jitter {
    pub fn apply(&mut self, now: Time, rng: &mut Rng) -> ImpairmentAction {
        let mut until = now + self.settings.delay.draw(rng);
        if self.settings.order == PacketOrder::Keep {
            until = until.max(self.last_release);
            self.last_release = until;
        }
        ImpairmentAction::Delay(until)
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::{Span, Values};

    use super::*;

    const SIMULATED_PACKETS: u64 = 200_000;

    fn jitter_impairment(delay: &str, order: &str) -> Impairment {
        let mut values = Values::defaults(JitterSettings::PARAMETERS);
        values.set_from_text("delay", delay).unwrap();
        values.set_from_text("order", order).unwrap();
        (JITTER.make)(&values)
    }

    /// Release times of packets that arrive so many milliseconds apart.
    fn release_times(mut jitter: Impairment, apart_ms: u64, packets: u64) -> Vec<Time> {
        let Impairment::Jitter(jitter) = &mut jitter else { panic!("{jitter:?}") };
        let mut rng = Rng::for_role(1, "test");
        let mut release_time = |number| match jitter.apply(Time::ZERO + Span::from_millis(number * apart_ms), &mut rng) {
            ImpairmentAction::Delay(until) => until,
            other => panic!("{other:?}"),
        };
        (0..packets).map(&mut release_time).collect()
    }

    /// Mean and variance in milliseconds and their squares, with five standard errors: that of a variance is its square times
    /// (kurtosis - 1).
    #[test]
    fn delays_have_mean_and_variance_of_their_distribution() {
        let cases =
            [("uniform 6 ms to 14 ms", 16.0 / 3.0, 1.8), ("normal 10 ms, deviation 1 ms", 1.0, 3.0), ("exponential 10 ms", 100.0, 9.0)];
        for (delay, variance, kurtosis) in cases {
            let n = SIMULATED_PACKETS as f64;
            let times = release_times(jitter_impairment(delay, "keep"), 1000, SIMULATED_PACKETS);
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
            assert_eq!(kept, release_times(jitter_impairment("exponential 10 ms", order), 1, 1000).is_sorted(), "{order}");
        }
    }
}
