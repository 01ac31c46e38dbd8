//! PI2 (De Schepper, Bondarenko, Tsang and Briscoe 2016): a proportional-integral controller of the queueing delay whose output is squared
//! for classic traffic. The controller is in [`control::pi`](super::control::pi).
//!
//! Every `t_update` p' moves by `alpha (delay - target) + beta (delay - previous delay)`, where the delay is the sojourn time of the head
//! packet. An arriving packet is signalled
//!
//! ```text
//! with p'^2     if it is classic: not ECN-capable, or ECT(0)
//! with k p'     if it is scalable: ECT(1), marked only
//! ```
//!
//! The load of classic senders depends on the square root of the probability, so p' acts on it linearly, and PIE's gain corrections are
//! unnecessary. The two probabilities let scalable and classic flows share one queue with about equal windows.
//!
//! The parameters are those of RFC 9332's later PI2; their sources name those of the paper. The paper compares two draws with p'; here one
//! draw is compared with its square, which has the same probability. As in the authors' implementation nothing is signalled while fewer
//! than two packets of the MTU wait.

use ecnlab_units::{Ecn, Rng, Time, parameters};

use super::control::pi::{self, SQUARED_PROBABILITY_GAUGES, SquaredProbability};
use super::entry::AqmEntry;
use super::{Aqm, Arrival, EnqueueVerdict, GaugeReport, SignalCause, TimerContext};

/// PI2 in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "pi2",
    title: "PI2",
    summary: "Keeps the queueing delay at a target by a controller whose probability is squared for classic packets.",
    source: "De Schepper et al. 2016; RFC 9332, appendix A",
    parameters: Settings::PARAMETERS,
    lowest_mark: AqmEntry::MARK_LEVEL_CONGESTED_IF_ECN,
    test_params: &[
        ("target", "1 ms"),
        ("t_update", "1 ms"),
        ("alpha", "10"),
        ("beta", "100"),
        ("min_backlog", "0 B"),
        ("overload", "delay"),
    ],
    gauges: SQUARED_PROBABILITY_GAUGES,
    make: &|values, _| Box::new(Pi2::new(Settings::from_values(values))),
    ..AqmEntry::DEFAULTS
};

parameters! {
    /// PI2 as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        ..law: pi::Pi2BaseSettings;
        /// Marking of ECN-capable packets instead of dropping them.
        #[source("De Schepper et al. 2016")]
        pub ecn: bool = "true";
        /// ECT(1) identifies scalable senders.
        #[source("De Schepper et al. 2016; RFC 9331, section 4.1")]
        #[when(ecn = "true")]
        pub scalable: bool = "true";
        /// Backlog below which no packet is signalled.
        #[source("RFC 9332, appendix A.1, of Linux: two packets of the MTU")]
        pub min_backlog: u32 = "3000 B", 0..=1_000_000_000, "bytes";
    }
}

/// PI2 at work.
pub struct Pi2 {
    settings: Settings,
    probability: SquaredProbability,
    next_update: Time,
}

impl Pi2 {
    /// With these settings.
    pub fn new(settings: Settings) -> Pi2 {
        Pi2 { settings, probability: SquaredProbability::new(&settings.law), next_update: Time::ZERO + settings.law.t_update }
    }

    fn is_scalable_ect1(&self, ecn: Ecn) -> bool {
        self.settings.ecn && self.settings.scalable && ecn == Ecn::Ect1
    }

    fn classic_verdict(&self, rng: &mut Rng) -> EnqueueVerdict {
        if rng.uniform() >= self.probability.classic_probability() {
            EnqueueVerdict::Pass
        } else if self.settings.ecn && !self.probability.is_dropping_ecn_classic() {
            MARK_VERDICT
        } else {
            DROP_VERDICT
        }
    }

    fn scalable_verdict(&self, rng: &mut Rng) -> EnqueueVerdict {
        if self.probability.is_dropping_scalable() && rng.uniform() < self.probability.classic_probability() {
            DROP_VERDICT
        } else if rng.uniform() < self.probability.coupled_probability() {
            MARK_VERDICT
        } else {
            EnqueueVerdict::Pass
        }
    }
}

impl Aqm for Pi2 {
    fn on_enqueue(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        if arrival.backlog.bytes < u64::from(self.settings.min_backlog) {
            EnqueueVerdict::Pass
        } else if self.is_scalable_ect1(arrival.packet.ecn) {
            self.scalable_verdict(rng)
        } else {
            self.classic_verdict(rng)
        }
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn on_timer(&mut self, expiry: &TimerContext, _rng: &mut Rng) {
        self.next_update = expiry.now + self.settings.law.t_update;
        self.probability.update(expiry.head_sojourn);
    }

    fn report_gauges(&self, report: GaugeReport) {
        self.probability.report_gauges(report);
    }

    fn signals_arriving_packets_only(&self) -> bool {
        true
    }
}

const MARK_VERDICT: EnqueueVerdict = EnqueueVerdict::mark_arriving(SignalCause::Early);
const DROP_VERDICT: EnqueueVerdict = EnqueueVerdict::drop_arriving(SignalCause::Early);

#[cfg(test)]
mod tests {
    use ecnlab_units::{Span, Values};

    use super::*;
    use crate::aqm::entry::default_values_with_overrides;
    use crate::aqm::{Backlog, PacketInfo};

    /// A PI2 whose p' is about `base`, and the share of so many arrivals that it signals, all in the same way.
    fn signalled_share(base: f64, ecn: Ecn, given: &[(&str, &str)]) -> (f64, Option<EnqueueVerdict>) {
        let values = default_values_with_overrides("pi2", Settings::PARAMETERS, [("alpha", "0.1"), ("beta", "0")].iter().chain(given));
        let (mut pi2, mut rng) = (Pi2::new(Settings::from_values(&values)), Rng::for_role(1, "pi2"));
        while pi2.probability.base_probability() < base - 1e-9 {
            let now = pi2.next_update;
            pi2.on_timer(&TimerContext { now, backlog: Backlog::of_1000_byte_packets(50), head_sojourn: Span::from_millis(25) }, &mut rng);
        }
        let arrival = Arrival {
            packet: PacketInfo { ecn, ..PacketInfo::EXAMPLE_ECT0 },
            backlog: Backlog::of_1000_byte_packets(50),
            ..Arrival::PLAIN
        };
        let verdicts: Vec<EnqueueVerdict> =
            (0..100_000).map(|_| pi2.on_enqueue(&arrival, &mut rng)).filter(|&verdict| verdict != EnqueueVerdict::Pass).collect();
        let alike = verdicts.windows(2).all(|pair| pair[0] == pair[1]);
        (verdicts.len() as f64 / 100_000.0, verdicts.first().copied().filter(|_| alike))
    }

    #[test]
    fn classic_packets_are_signalled_with_the_square_and_scalable_ones_with_twice_the_base() {
        let cases = [
            (Ecn::NotEct, vec![], 0.04, MARK_VERDICT),
            (Ecn::Ect0, vec![], 0.04, MARK_VERDICT),
            (Ecn::Ect1, vec![], 0.4, MARK_VERDICT),
            (Ecn::Ect1, vec![("coupling", "1")], 0.2, MARK_VERDICT),
            (Ecn::Ect1, vec![("coupling", "0.5")], 0.1, MARK_VERDICT),
            (Ecn::Ect1, vec![("scalable", "false")], 0.04, MARK_VERDICT),
            (Ecn::Ect1, vec![("ecn", "false")], 0.04, DROP_VERDICT),
        ];
        for (ecn, given, share, verdict) in cases {
            let (found, how) = signalled_share(0.2, ecn, &given);
            assert!((found - share).abs() < 0.005, "{ecn:?} {given:?}: {found}");
            assert_eq!(Some(verdict), how, "{ecn:?} {given:?}");
        }
    }

    #[test]
    fn at_saturation_all_are_dropped_alike_or_none_more_than_a_quarter() {
        assert_eq!(Some(DROP_VERDICT), signalled_share(0.6, Ecn::Ect0, &[]).1, "ECN helps nobody any more");
        let (share, how) = signalled_share(0.6, Ecn::Ect1, &[]);
        assert_eq!((1.0, None), (share, how), "what is not dropped is marked");
        let (share, how) = signalled_share(1.0, Ecn::Ect1, &[("coupling", "0.5")]);
        assert!((share - 0.5).abs() < 0.005 && how == Some(MARK_VERDICT), "k p' is far from 1: {share} {how:?}");
        let (share, how) = signalled_share(0.5, Ecn::Ect0, &[("overload", "delay")]);
        assert!((share - 0.25).abs() < 0.005 && how == Some(MARK_VERDICT), "{share} {how:?}");
    }

    #[test]
    fn a_short_queue_is_not_signalled() {
        let (mut pi2, mut rng) = (Pi2::new(Settings::from_values(&Values::defaults(Settings::PARAMETERS))), Rng::for_role(1, "pi2"));
        (0..100).for_each(|_| pi2.probability.update(Span::from_secs(1)));
        assert_eq!(
            EnqueueVerdict::Pass,
            pi2.on_enqueue(&Arrival { backlog: Backlog::of_1000_byte_packets(2), ..Arrival::PLAIN }, &mut rng)
        );
        assert_ne!(
            EnqueueVerdict::Pass,
            pi2.on_enqueue(&Arrival { backlog: Backlog::of_1000_byte_packets(3), ..Arrival::PLAIN }, &mut rng)
        );
    }
}
