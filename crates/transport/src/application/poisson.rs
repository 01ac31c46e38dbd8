//! Poisson arrivals of packets: exponential intervals and sizes as configured. Packets of one size make a link an M/D/1 queue. Exponential
//! sizes make it an M/M/1 queue, except for rounding to bytes and headers.

use ecnlab_units::{Rate, Rng, SizeDistribution, TimeDistribution, parameters};

use super::paced::{MessageStream, RenewalProcess};
use super::{Application, ApplicationSpec, WriteTimes};

parameters! {
    /// Such an application as a scenario sets it.
    pub struct PoissonSettings {
        /// Mean rate of application data, without headers.
        #[source("Kleinrock 1975, section 2.4")]
        #[usual(10000..=1e8, log)]
        pub rate: Rate = "1 Mbps";
        /// Application data sent each time; auto is the payload of a full packet. More than that is sent in several packets at once.
        #[source("Kleinrock 1975, section 3.2")]
        pub size: Option<SizeDistribution> = "auto", 1..=1_000_000_000;
    }
}

/// Parameters shared by all flows of a Poisson application.
#[derive(Clone, Debug)]
pub struct PoissonSpec {
    intervals: TimeDistribution,
    sizes: SizeDistribution,
}

impl PoissonSettings {
    /// Parameters for full packets with `payload` bytes of application data.
    pub fn into_application_spec(self, payload: u32) -> PoissonSpec {
        let sizes = self.size.unwrap_or_else(|| SizeDistribution::fixed(u64::from(payload)));
        PoissonSpec { intervals: TimeDistribution::exponential(sizes.mean_interval(self.rate.bps() as f64)), sizes }
    }
}

impl ApplicationSpec for PoissonSpec {
    fn timing_of_writes(&self) -> WriteTimes {
        WriteTimes::AtTimer
    }

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
        let spec = PoissonSettings { rate: Rate::from_bps(1_000_000).unwrap(), size: None }.into_application_spec(1000);
        let mut renewal = RenewalProcess::new(spec.intervals, spec.sizes, &Rng::for_role(1, "poisson"));
        let pauses: Vec<_> = (0..PACKETS).map(|_| renewal.next_message().unwrap().delay.seconds()).collect();
        let mean = pauses.iter().sum::<f64>() / f64::from(PACKETS);
        let variance = pauses.iter().map(|pause| (pause - mean) * (pause - mean)).sum::<f64>() / f64::from(PACKETS);
        assert!((mean / 0.008 - 1.0).abs() < 4.0 / f64::from(PACKETS).sqrt(), "mean {mean}");
        assert!((variance / (0.008 * 0.008) - 1.0).abs() < 0.04, "variance {variance}");
    }
}
