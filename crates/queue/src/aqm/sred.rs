//! SRED, stabilized RED (Ott, Lakshman and Wong 1999): the probability of a signal follows an estimate of how many flows are active.
//!
//! A list of M recently seen flows, the zombies, samples the traffic. Each arriving packet is compared with a zombie drawn at random: if
//! both are of one flow, that is a hit; if not, the packet's flow takes the zombie's place with probability `overwrite`. The share of hits
//! P estimates the sum of the squares of the flows' shares, which is 1/N for N equal flows.
//!
//! ```text
//! P      <- (1 - alpha) P + alpha Hit                        alpha = overwrite / M
//! p_sred =  p_max            B/3 <= q                        q of a buffer B
//!           p_max / 4        B/6 <= q < B/3
//!           0                       q < B/6
//! p_zap  =  p_sred min(1, 1 / (flows P)^2)                   flows = 256: simple SRED
//!           p_sred min(1, 1 / (flows P)^2) (1 + Hit / P)     full SRED
//! ```
//!
//! While the list is not full, each packet puts its flow on it and counts as no comparison. The paper keeps a count and a time with each
//! zombie, to name flows that take more than their share; they do not enter the probability and are not kept here.

use ecnlab_units::{Rng, parameters};

use super::entry::{AqmEntry, Gauge};
use super::{Aqm, Arrival, EnqueueVerdict, GaugeReport, SignalCause};
use crate::limit::Limit;

/// SRED in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "sred",
    title: "SRED",
    summary: "Signals by the queue length and an estimate of the number of active flows, without per-flow state.",
    source: "Ott, Lakshman and Wong 1999",
    parameters: Settings::PARAMETERS,
    gauges: GAUGES,
    lowest_mark: AqmEntry::MARK_LEVEL_CONGESTED_IF_ECN,
    test_params: &[("p_max", "1"), ("list", "10")],
    make: &|values, link| Box::new(Sred::new(Settings::from_values(values), link.limit)),
    ..AqmEntry::DEFAULTS
};

const GAUGES: &[Gauge] = &[
    Gauge { name: "hits", unit: "1", doc: "P, the share of arriving packets that hit a zombie of their own flow", symbol: "P" },
    Gauge { name: "probability", unit: "1", doc: "p_zap of the last arrival", symbol: "p_zap" },
];

parameters! {
    /// SRED as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        /// Probability of a signal from a third of the buffer on, with many flows.
        #[source("Ott, Lakshman and Wong 1999")]
        #[off("0", "no packet is signalled before the buffer is full")]
        #[usual(0.01..=1, log)]
        pub p_max: f64 = "0.15", 0..=1;
        /// Length M of the list of zombies.
        #[source("Ott, Lakshman and Wong 1999")]
        pub list: u32 = "1000", 1..=1_000_000, "flows";
        /// Probability with which a packet that does not hit overwrites the zombie.
        #[source("Ott, Lakshman and Wong 1999")]
        #[off("0", "the list keeps the flows that came first")]
        #[usual(0.01..=1, log)]
        pub overwrite: f64 = "0.25", 0..=1;
        /// Weight of the newest comparison in P; auto is overwrite / list, at which P forgets as fast as the list.
        #[source("Ott, Lakshman and Wong 1999")]
        #[off("0", "P stays 0: the probability does not depend on the flows")]
        pub alpha: Option<f64> = "auto", 0..=1;
        /// Number of flows from which the probability is p_sred itself; with N fewer flows it is smaller by a factor of (N / flows)^2.
        #[source("Ott, Lakshman and Wong 1999")]
        pub flows: u32 = "256", 1..=1_000_000, "flows";
        /// Full SRED, which signals packets that hit, and so flows that send much, more often; false is simple SRED.
        #[source("Ott, Lakshman and Wong 1999")]
        pub full: bool = "true";
        /// Marking of ECN-capable packets instead of dropping them.
        #[source("RFC 3168, section 7")]
        pub ecn: bool = "true";
    }
}

/// SRED at work.
pub struct Sred {
    settings: Settings,
    alpha: f64,
    limit: Limit,
    zombies: Vec<u64>,
    /// P.
    hits: f64,
    /// `p_zap` of the last arrival.
    probability: f64,
}

impl Sred {
    /// With these settings, in a buffer of this limit.
    pub fn new(settings: Settings, limit: Limit) -> Sred {
        let alpha = settings.alpha.unwrap_or(settings.overwrite / f64::from(settings.list));
        Sred { settings, alpha, limit, zombies: Vec::new(), hits: 0.0, probability: 0.0 }
    }

    /// Compares a packet with a zombie; whether it hits.
    fn compare_with_zombie(&mut self, flow: u64, rng: &mut Rng) -> bool {
        if self.zombies.len() < self.settings.list as usize {
            self.zombies.push(flow);
            return false;
        }
        let zombie = &mut self.zombies[rng.below(u64::from(self.settings.list)) as usize];
        let hit = *zombie == flow;
        if !hit && rng.uniform() < self.settings.overwrite {
            *zombie = flow;
        }
        self.hits += self.alpha * (f64::from(u8::from(hit)) - self.hits);
        hit
    }

    /// `p_sred` of the backlog.
    fn length_probability(&self, arrival: &Arrival) -> f64 {
        let (waiting, buffer) = match self.limit {
            Limit::Packets(packets) => (f64::from(arrival.backlog.packets), f64::from(packets)),
            Limit::Bytes(bytes) => (arrival.backlog.bytes as f64, bytes as f64),
        };
        match waiting / buffer {
            share if share >= 1.0 / 3.0 => self.settings.p_max,
            share if share >= 1.0 / 6.0 => self.settings.p_max / 4.0,
            _ => 0.0,
        }
    }

    /// `p_zap`.
    fn zap_probability(&self, arrival: &Arrival, hit: bool) -> f64 {
        let expected = f64::from(self.settings.flows) * self.hits;
        let by_flows = (1.0 / (expected * expected)).min(1.0);
        let by_hit = if self.settings.full && hit && self.hits > 0.0 { 1.0 + 1.0 / self.hits } else { 1.0 };
        (self.length_probability(arrival) * by_flows * by_hit).min(1.0)
    }
}

impl Aqm for Sred {
    fn on_enqueue(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        let hit = self.compare_with_zombie(arrival.packet.flow, rng);
        self.probability = self.zap_probability(arrival, hit);
        if arrival.would_overflow {
            return EnqueueVerdict::drop_arriving(SignalCause::Overflow);
        }
        if rng.uniform() < self.probability { arrival.mark_or_drop(self.settings.ecn, SignalCause::Early) } else { EnqueueVerdict::Pass }
    }

    fn report_gauges(&self, report: GaugeReport) {
        report("hits", self.hits);
        report("probability", self.probability);
    }

    fn signals_arriving_packets_only(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::entry::default_values_with_overrides;
    use crate::aqm::{Backlog, PacketInfo};

    fn sred(settings: &[(&str, &str)]) -> (Sred, Rng) {
        (
            Sred::new(Settings::from_values(&default_values_with_overrides("sred", Settings::PARAMETERS, settings)), Limit::Packets(60)),
            Rng::for_role(1, "sred"),
        )
    }

    fn arrival(flow: u64, packets: u32) -> Arrival<'static> {
        Arrival {
            packet: PacketInfo { flow, ..PacketInfo::EXAMPLE_ECT0 },
            backlog: Backlog::of_1000_byte_packets(packets),
            ..Arrival::PLAIN
        }
    }

    #[test]
    fn the_share_of_hits_estimates_the_number_of_equal_flows() {
        for flows in [4, 16, 64] {
            let (mut sred, mut rng) = sred(&[]);
            let (mut sum, samples) = (0.0, 200_000);
            for _ in 0..samples {
                sred.on_enqueue(&arrival(rng.below(flows), 0), &mut rng);
            }
            for _ in 0..samples {
                sred.on_enqueue(&arrival(rng.below(flows), 0), &mut rng);
                sum += sred.hits;
            }
            let estimate = f64::from(samples) / sum;
            assert!((estimate / flows as f64 - 1.0).abs() < 0.05, "{flows} flows are estimated as {estimate}");
        }
    }

    #[test]
    fn the_probability_goes_by_sixths_of_the_buffer() {
        let (sred, _) = sred(&[]);
        for (packets, expected) in [(0, 0.0), (9, 0.0), (10, 0.0375), (19, 0.0375), (20, 0.15), (59, 0.15)] {
            assert_eq!(expected, sred.length_probability(&arrival(1, packets)), "{packets} packets of 60");
        }
    }

    #[test]
    fn few_flows_are_signalled_as_the_square_of_their_number_and_256_or_more_alike() {
        let (mut sred, _) = sred(&[("full", "false")]);
        for (flows, expected) in [(64.0, 0.15 / 16.0), (128.0, 0.15 / 4.0), (256.0, 0.15), (1000.0, 0.15)] {
            sred.hits = 1.0 / flows;
            assert!((expected - sred.zap_probability(&arrival(1, 30), true)).abs() < 1e-12, "{flows} flows");
        }
    }

    #[test]
    fn full_sred_signals_a_hit_more_often_by_one_and_the_number_of_flows() {
        let (mut sred, _) = sred(&[]);
        sred.hits = 1.0 / 64.0;
        let [hit, miss] = [true, false].map(|hit| sred.zap_probability(&arrival(1, 30), hit));
        assert!((65.0 * miss - hit).abs() < 1e-12, "{hit} after a hit, {miss} after none");
    }

    #[test]
    fn the_list_fills_first_and_holds_no_more_than_its_length() {
        let (mut sred, mut rng) = sred(&[("list", "5")]);
        let mut arrive = |sred: &mut Sred, flow| sred.on_enqueue(&arrival(flow, 0), &mut rng);
        for flow in 0..5 {
            arrive(&mut sred, flow);
        }
        assert_eq!((vec![0, 1, 2, 3, 4], 0.0), (sred.zombies.clone(), sred.hits));
        for flow in 5..100 {
            arrive(&mut sred, flow);
        }
        assert_eq!(5, sred.zombies.len());
        assert_ne!(vec![0, 1, 2, 3, 4], sred.zombies);
    }
}
