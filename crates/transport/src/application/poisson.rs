//! Packets that come at random: the intervals are exponential, the sizes as they are set. With packets of one size they make an M/D/1 queue of a
//! link, with exponential sizes an M/M/1 queue but for the bytes that round them and the headers.

use ecnlab_units::{Rate, Rng, SizeDistribution, TimeDistribution, parameters};

use super::paced::{MessageStream, RenewalProcess};
use super::{Application, ApplicationSpec};

parameters! {
    /// Such an application as a scenario sets it.
    pub struct Settings {
        /// Mean rate of application data; headers come on top.
        #[source("Kleinrock 1975, section 2.4")]
        pub rate: Rate = "1 Mbps";
        /// Application data sent each time; auto is what a full packet carries, and more than that goes in several packets at once.
        #[source("Kleinrock 1975, section 3.2")]
        pub size: Option<SizeDistribution> = "auto", 1..=1_000_000_000;
    }
}

/// What all flows of such an application have in common.
#[derive(Clone, Debug)]
pub struct PoissonSpec {
    intervals: TimeDistribution,
    sizes: SizeDistribution,
}

impl Settings {
    /// With full packets that carry so much application data.
    pub fn into_spec(self, payload: u32) -> PoissonSpec {
        let sizes = self.size.unwrap_or_else(|| SizeDistribution::fixed(u64::from(payload)));
        PoissonSpec { intervals: TimeDistribution::exponential(sizes.mean_interval(self.rate.bps() as f64)), sizes }
    }
}

impl ApplicationSpec for PoissonSpec {
    fn instantiate(&self, rng: Rng) -> Box<dyn Application> {
        Box::new(MessageStream::new(RenewalProcess::new(self.intervals.clone(), self.sizes.clone(), &rng)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::paced::MessageSource;
    use super::*;

    #[test]
    fn packets_come_at_the_mean_rate_with_exponential_intervals() {
        const PACKETS: u32 = 100_000;
        let spec = Settings { rate: Rate::from_bps(1_000_000).unwrap(), size: None }.into_spec(1000);
        let mut renewal = RenewalProcess::new(spec.intervals, spec.sizes, &Rng::for_role(1, "poisson"));
        let pauses: Vec<_> = (0..PACKETS).map(|_| renewal.next_message().unwrap().delay.seconds()).collect();
        let mean = pauses.iter().sum::<f64>() / f64::from(PACKETS);
        let variance = pauses.iter().map(|pause| (pause - mean) * (pause - mean)).sum::<f64>() / f64::from(PACKETS);
        assert!((mean / 0.008 - 1.0).abs() < 4.0 / f64::from(PACKETS).sqrt(), "mean {mean}");
        assert!((variance / (0.008 * 0.008) - 1.0).abs() < 0.04, "variance {variance}");
    }
}
