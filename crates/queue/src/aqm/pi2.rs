//! PI2 (De Schepper, Bondarenko, Tsang and Briscoe 2016): a proportional-integral controller of the queueing delay whose output is squared
//! for classic traffic. The law is [`law::pi`](super::law::pi).
//!
//! Every `t_update` p' moves by `alpha (delay - target) + beta (delay - previous delay)`, the delay being how long the next packet to leave
//! has waited. An arriving packet is signalled
//!
//! ```text
//! with p'^2     if it is classic: not ECN-capable, or ECT(0)
//! with k p'     if it is scalable: ECT(1), marked only
//! ```
//!
//! The load of classic senders goes with the square root of the probability, so p' acts on it linearly, and none of PIE's corrections of the
//! gain is needed. The two probabilities let scalable and classic flows share one queue with about equal windows.
//!
//! The parameters are those of RFC 9332's later PI2; those of the paper stand in their sources. The paper takes two draws that must both
//! fall below p', here one falls below its square, which is as likely. As in the authors' implementation there is no signal while fewer
//! than two packets of the MTU wait.

use ecnlab_units::{Ecn, Level, Rng, Time, parameters};

use super::law::pi::{self, GAUGES, Squared};
use super::{Aqm, Arrival, Cause, Expiry, Target, Victim, Wish};
use crate::registry::AqmEntry;

/// PI2 in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "pi2",
    title: "PI2",
    summary: "Holds the queueing delay at a target by a controller whose probability is squared for classic packets.",
    source: "De Schepper et al. 2016; RFC 9332, appendix A",
    parameters: Settings::PARAMETERS,
    marks: |values| Settings::of(values).ecn.then_some(Level::Congested),
    busy: &[("target", "1 ms"), ("t_update", "1 ms"), ("alpha", "10"), ("beta", "100"), ("min_backlog", "0 B"), ("overload", "delay")],
    gauges: GAUGES,
    make: &|values, _| Box::new(Pi2::new(Settings::of(values))),
    ..AqmEntry::PLAIN
};

parameters! {
    /// PI2 as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        ..law: pi::Settings;
        /// Mark ECN-capable packets instead of dropping them.
        #[source("De Schepper et al. 2016")]
        pub ecn: bool = "true";
        /// Take ECT(1) for the sign of a scalable sender.
        #[source("De Schepper et al. 2016; RFC 9331, section 4.1")]
        #[when(ecn = "true")]
        pub scalable: bool = "true";
        /// No signal while less than this waits.
        #[source("RFC 9332, appendix A.1, of Linux: two packets of the MTU")]
        pub min_backlog: u32 = "3000 B", 0..=1_000_000_000, "bytes";
    }
}

/// PI2 at work.
pub struct Pi2 {
    settings: Settings,
    law: Squared,
    due: Time,
}

impl Pi2 {
    /// With these settings.
    pub fn new(settings: Settings) -> Pi2 {
        Pi2 { settings, law: Squared::new(&settings.law), due: Time::ZERO + settings.law.t_update }
    }

    fn is_scalable(&self, ecn: Ecn) -> bool {
        self.settings.ecn && self.settings.scalable && ecn == Ecn::Ect1
    }

    fn classic(&self, rng: &mut Rng) -> Wish {
        if rng.uniform() >= self.law.classic() {
            Wish::Pass
        } else if self.settings.ecn && !self.law.saturated() {
            MARK
        } else {
            DROP
        }
    }

    fn scalable(&self, rng: &mut Rng) -> Wish {
        if self.law.low_saturated() && rng.uniform() < self.law.classic() {
            DROP
        } else if rng.uniform() < self.law.coupled() {
            MARK
        } else {
            Wish::Pass
        }
    }
}

impl Aqm for Pi2 {
    fn arrive(&mut self, arrival: &Arrival, rng: &mut Rng) -> Wish {
        if arrival.backlog.bytes < u64::from(self.settings.min_backlog) {
            Wish::Pass
        } else if self.is_scalable(arrival.packet.ecn) {
            self.scalable(rng)
        } else {
            self.classic(rng)
        }
    }

    fn deadline(&self) -> Option<Time> {
        Some(self.due)
    }

    fn expire(&mut self, expiry: &Expiry, _rng: &mut Rng) {
        self.due = expiry.now + self.settings.law.t_update;
        self.law.sample(expiry.head_waited);
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.law.gauges(show);
    }
}

const MARK: Wish = Wish::Signal { level: Level::Congested, target: Target::Arriving, cause: Cause::Early };
const DROP: Wish = Wish::Drop { victim: Victim::Arriving, cause: Cause::Early };

#[cfg(test)]
mod tests {
    use ecnlab_units::{Span, Values};

    use super::*;
    use crate::aqm::{Backlog, Glimpse};

    /// A PI2 whose p' is about `base`, and the share of so many arrivals that it signals, all in the same way.
    fn signalled(base: f64, ecn: Ecn, given: &[(&str, &str)]) -> (f64, Option<Wish>) {
        let mut values = Values::defaults(Settings::PARAMETERS);
        for (name, text) in [("alpha", "0.1"), ("beta", "0")].iter().chain(given) {
            values.read(name, text).unwrap();
        }
        let (mut pi2, mut rng) = (Pi2::new(Settings::of(&values)), Rng::for_role(1, "pi2"));
        while pi2.law.base() < base - 1e-9 {
            let now = pi2.due;
            pi2.expire(&Expiry { now, backlog: Backlog::of(50), head_waited: Span::from_millis(25) }, &mut rng);
        }
        let arrival = Arrival { packet: Glimpse { ecn, ..Glimpse::PLAIN }, backlog: Backlog::of(50), ..Arrival::PLAIN };
        let wishes: Vec<Wish> = (0..100_000).map(|_| pi2.arrive(&arrival, &mut rng)).filter(|&wish| wish != Wish::Pass).collect();
        let alike = wishes.windows(2).all(|pair| pair[0] == pair[1]);
        (wishes.len() as f64 / 100_000.0, wishes.first().copied().filter(|_| alike))
    }

    #[test]
    fn classic_packets_are_signalled_with_the_square_and_scalable_ones_with_twice_the_base() {
        let cases = [
            (Ecn::NotEct, vec![], 0.04, MARK),
            (Ecn::Ect0, vec![], 0.04, MARK),
            (Ecn::Ect1, vec![], 0.4, MARK),
            (Ecn::Ect1, vec![("coupling", "1")], 0.2, MARK),
            (Ecn::Ect1, vec![("coupling", "0.5")], 0.1, MARK),
            (Ecn::Ect1, vec![("scalable", "false")], 0.04, MARK),
            (Ecn::Ect1, vec![("ecn", "false")], 0.04, DROP),
        ];
        for (ecn, given, share, wish) in cases {
            let (found, how) = signalled(0.2, ecn, &given);
            assert!((found - share).abs() < 0.005, "{ecn:?} {given:?}: {found}");
            assert_eq!(Some(wish), how, "{ecn:?} {given:?}");
        }
    }

    #[test]
    fn at_saturation_all_are_dropped_alike_or_none_more_than_a_quarter() {
        assert_eq!(Some(DROP), signalled(0.6, Ecn::Ect0, &[]).1, "ECN helps nobody any more");
        let (share, how) = signalled(0.6, Ecn::Ect1, &[]);
        assert_eq!((1.0, None), (share, how), "what is not dropped is marked");
        let (share, how) = signalled(1.0, Ecn::Ect1, &[("coupling", "0.5")]);
        assert!((share - 0.5).abs() < 0.005 && how == Some(MARK), "k p' is far from 1: {share} {how:?}");
        let (share, how) = signalled(0.5, Ecn::Ect0, &[("overload", "delay")]);
        assert!((share - 0.25).abs() < 0.005 && how == Some(MARK), "{share} {how:?}");
    }

    #[test]
    fn a_short_queue_is_not_signalled() {
        let (mut pi2, mut rng) = (Pi2::new(Settings::of(&Values::defaults(Settings::PARAMETERS))), Rng::for_role(1, "pi2"));
        (0..100).for_each(|_| pi2.law.sample(Span::from_secs(1)));
        assert_eq!(Wish::Pass, pi2.arrive(&Arrival { backlog: Backlog::of(2), ..Arrival::PLAIN }, &mut rng));
        assert_ne!(Wish::Pass, pi2.arrive(&Arrival { backlog: Backlog::of(3), ..Arrival::PLAIN }, &mut rng));
    }
}
