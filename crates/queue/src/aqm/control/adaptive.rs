//! RED's thresholds from a target delay and the link's rate (Floyd, Gummadi and Shenker 2001; Durresi et al. 2007, section 3.3.3).
//!
//! With C the link's rate in packets/s:
//!
//! ```text
//! target = target_delay C              packets, half way between the thresholds
//! min_th = max(target / 2, least)      max_th = 3 min_th
//! w_q    = 1 - exp(-1/C)               a time constant of one second
//! ```
//!
//! Explicit values are kept; `auto` values follow the link's rate, also when that changes.

use ecnlab_units::quantity::PacketsOrBytes;
use ecnlab_units::{Rate, Span, parameters};

use super::red::{self, QueueUnit, SignalGaps};
use crate::aqm::drop_policy::DropPosition;
use crate::aqm::entry::{Contradictions, Gauge};

parameters! {
    /// RED's law with thresholds that may follow from a target delay.
    #[derive(Clone, Copy, Debug)]
    pub struct AutoThresholdSettings {
        /// Average queueing delay from which the thresholds are derived.
        #[source("Floyd, Gummadi and Shenker 2001; ns-2 2.35, targetdelay_")]
        #[when(min_th = "auto")]
        #[usual(0.001..=0.1, log)]
        pub target_delay: Span = "5 ms", 0..=3600, "s";
        /// Average queue length below which no packet is signalled; auto is half of the packets that the link sends in target_delay.
        #[source("Floyd, Gummadi and Shenker 2001")]
        #[usual(1..=60, linear)]
        pub min_th: Option<f64> = "auto", 0..=1e9, "packets";
        /// Average queue length at which the line of probabilities ends; auto is 3 min_th.
        #[source("Floyd, Gummadi and Shenker 2001")]
        #[usual(5..=120, linear)]
        pub max_th: Option<f64> = "auto", 0..=1e9, "packets";
        /// Initial value of p_b, the probability before signals are spaced out, at max_th.
        #[source("Floyd and Jacobson 1993, section 4")]
        #[usual(0.01..=1, log)]
        pub max_p: f64 = "0.1", 0..=1;
        /// Weight of the newest queue length in the average; auto is 1 - exp(-1/C) with the link's C in packets/s.
        #[source("Floyd, Gummadi and Shenker 2001")]
        #[off("0", "the average stays 0 and no packet is ever signalled")]
        #[usual(0.0005..=1, log)]
        pub w_q: Option<f64> = "auto", 0..=1;
        /// Increase of the probability from max_p to 1 between max_th and 2 max_th, instead of signalling every packet from max_th on.
        #[source("Floyd, Gummadi and Shenker 2001")]
        pub gentle: bool = "true";
        /// Distribution of the gaps between signals: uniform, by a count of packets since the last signal; or geometric, where each packet
        /// is signalled with p_b independently of earlier packets.
        #[source("Floyd and Jacobson 1993, section 7: methods 2 and 1")]
        pub gaps: SignalGaps = "uniform";
        /// Minimum spacing of signals: none before 1/p_b packets have passed.
        #[source("ns-2 2.35, wait_")]
        #[when(gaps = "uniform")]
        pub wait: bool = "true";
        /// Unit of the queue and of the probability: packets, or bytes over mean_packet.
        #[source("Floyd and Jacobson 1993, section 9")]
        pub unit: QueueUnit = "packets";
        /// Mean packet size: for C, for the idle link's estimate, and for unit = bytes.
        #[source("Durresi et al. 2007, section 4.1; ns-2 2.35 has 500 B")]
        pub mean_packet: u32 = "1000 B", 1..=65_535, "bytes";
        /// Packet that a drop removes: the arriving, the oldest or a random one. A packet that would be marked and is not ECN-capable is
        /// dropped itself.
        #[source("ns-2 2.35, drop_front_ and drop_rand_")]
        pub drop: DropPosition = "tail";
        /// Number of waiting packets up to which no packet is signalled.
        #[source("ns-2 2.35, qlen > 1")]
        pub floor: u32 = "1", 0..=1_000_000, "packets";
    }
}

/// Gauges of algorithms with a changing max_p.
pub const GAUGES: &[Gauge] = &[red::GAUGES[0], red::GAUGES[1], Gauge::new("max_p", "1", "Current value of the probability at max_th")];

impl AutoThresholdSettings {
    /// RED's law as these settings have it on a link of this rate; `least` is the smallest min_th that auto gives.
    pub(crate) fn red_settings(&self, rate: Rate, least: f64) -> red::Settings {
        let min_th = self.min_th.unwrap_or_else(|| (self.target_delay.seconds() * self.packets_per_second(rate) / 2.0).max(least));
        red::Settings {
            min_th,
            max_th: self.max_th.unwrap_or(3.0 * min_th),
            max_p: self.max_p,
            w_q: self.w_q,
            gentle: self.gentle,
            gaps: self.gaps,
            wait: self.wait,
            unit: self.unit,
            by_size: false,
            mean_packet: self.mean_packet,
            mark_limit: 1.0,
            drop: self.drop,
            floor: self.floor,
            count_self: true,
        }
    }

    /// Contradicting thresholds, each with its error.
    pub fn contradictions(&self, limit: PacketsOrBytes) -> Contradictions {
        match (self.min_th, self.max_th) {
            (None, Some(_)) => vec![("max_th", "requires min_th; fix: give both, or neither for a target_delay".to_owned())],
            (None, None) => Vec::new(),
            (Some(min_th), _) if min_th <= 0.0 => vec![("min_th", "must be above 0".to_owned())],
            // With min_th given nothing depends on the rate.
            (Some(_), _) => self.red_settings(Rate::from_bps(1).unwrap_or_else(|| unreachable!()), 0.0).contradictions(limit),
        }
    }

    fn packets_per_second(&self, rate: Rate) -> f64 {
        rate.bps() as f64 / (8.0 * f64::from(self.mean_packet))
    }
}

/// Error of a max_p of 0 if steps are shares of max_p.
pub(crate) fn check_max_p_above_zero(max_p: f64) -> Option<(&'static str, String)> {
    (max_p == 0.0).then(|| ("max_p", "must be above 0, because max_p changes in proportion to itself; fix: give e.g. 0.1".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::entry::default_values_with_overrides;

    fn settings(given: &[(&str, &str)]) -> AutoThresholdSettings {
        AutoThresholdSettings::from_values(&default_values_with_overrides("adaptive RED", AutoThresholdSettings::PARAMETERS, given))
    }

    #[test]
    fn the_target_delay_sets_thresholds_around_the_packets_that_it_holds() {
        let rate = Rate::from_bps(16_000_000).unwrap();
        let law = settings(&[("target_delay", "20 ms"), ("mean_packet", "1000 B")]).red_settings(rate, 5.0);
        assert_eq!((20.0, 60.0, None), (law.min_th, law.max_th, law.w_q), "40 packets in 20 ms");
        assert_eq!(5.0, settings(&[]).red_settings(Rate::from_bps(1_500_000).unwrap(), 5.0).min_th, "at least 5 packets");
    }

    #[test]
    fn what_is_given_stands() {
        let law = settings(&[("min_th", "7"), ("max_th", "50"), ("w_q", "0.01")]).red_settings(Rate::from_bps(1_000).unwrap(), 5.0);
        assert_eq!((7.0, 50.0, Some(0.01)), (law.min_th, law.max_th, law.w_q));
    }

    #[test]
    fn thresholds_that_contradict_each_other_are_refused() {
        let wrong = |given: &[(&str, &str)]| {
            settings(given).contradictions(PacketsOrBytes::Packets(20.0)).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(vec!["max_th"], wrong(&[("max_th", "20")]));
        assert_eq!(vec!["min_th"], wrong(&[("min_th", "9"), ("max_th", "8")]));
        assert_eq!(vec!["limit"], wrong(&[("min_th", "9")]));
        assert!(wrong(&[("min_th", "5")]).is_empty() && wrong(&[]).is_empty());
    }
}
