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
        #[source("De Schepper et al. 2016, section 4")]
        pub ecn: bool = "true";
        /// Take ECT(1) for the sign of a scalable sender.
        #[source("De Schepper et al. 2016, section 5; RFC 9331, section 4.1")]
        #[when(ecn = "true")]
        pub scalable: bool = "true";
        /// No signal while less than this waits.
        #[source("RFC 9332, appendix A.1, of Linux: two packets of the MTU")]
        pub min_backlog: u32 = "3000 B", 0..=1_000_000_000, "bytes";
    }
}

pub struct Pi2 {
    settings: Settings,
    law: Squared,
    due: Time,
}

impl Pi2 {
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
        if self.law.saturated() && rng.uniform() < self.law.classic() {
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
