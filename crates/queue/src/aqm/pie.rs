//! PIE (RFC 8033): proportional integral controller enhanced. It holds the queueing delay at a target by dropping or marking arriving
//! packets with a probability that is computed anew every `t_update`.
//!
//! ```text
//! change = alpha (delay - target) + beta (delay - previous delay)
//! change = change / 2048, 512, 128, 32, 8, 2, 1     for p < 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, and above
//! p      = p + change;  p = 0.98 p after two samples of zero delay;  0 <= p <= 1
//! burst allowance = max(0, burst allowance - t_update)
//! ```
//!
//! An arriving packet passes while there is burst allowance, while the previous delay is below half the target and p below 0.2, and while
//! at most `floor` bytes wait. Burst allowance is full again when p is zero and both delays are below half the target.
//!
//! The defaults are the basic scheme of the RFC's section 4 and appendix A, with ECN. What section 5 adds is a parameter each: `cap`,
//! `derandomize`, `activate`, `delay = "departure-rate"` by appendix B, and `calm = "half-target"`, at which appendix B lets p decay.
//!
//! Where the text leaves something open:
//! - The delay by timestamps is that of the packet that left last, and zero at a sample that finds nothing waiting: otherwise the last
//!   packet of a busy spell would be taken for congestion through the idle time after it, and p would not decay.
//! - With `activate` PIE stays active while the queue is above the threshold. By the letter of section 5.3 and appendix B it would be
//!   switched off again by the packet that switched it on, since p and both delays are zero then, and would never compute p. It is switched
//!   off where p is zero and both delays are below half the target (section 5.3); appendix B waits until both are zero.
//! - `mark_limit` is met by p at the limit too, so that 1 means no limit.

use ecnlab_units::{Level, Rng, Span, Time, parameters, words};

use super::law::pi::Controller;
use super::{Aqm, Arrival, Backlog, Cause, Departure, Expiry, Fate, Needs, Target, Victim, Wish};
use crate::discipline::Limit;
use crate::registry::{AqmEntry, Gauge};

/// PIE in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "pie",
    title: "PIE",
    summary: "Holds the queueing delay at a target by a probability that a controller computes at every interval.",
    source: "RFC 8033",
    parameters: Settings::PARAMETERS,
    marks: |values| Settings::of(values).ecn.then_some(Level::Congested),
    busy: &[
        ("target", "1 ms"),
        ("t_update", "1 ms"),
        ("alpha", "10"),
        ("beta", "100"),
        ("max_burst", "0 s"),
        ("floor", "0 B"),
        ("mark_limit", "1"),
    ],
    gauges: &[
        Gauge { name: "probability", unit: "1", doc: "Probability of a signal", symbol: "" },
        Gauge { name: "delay", unit: "s", doc: "Queueing delay as last measured", symbol: "" },
    ],
    make: &|values, line| Box::new(Pie::new(Settings::of(values), line.limit)),
    ..AqmEntry::PLAIN
};

parameters! {
    /// PIE as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        /// Queueing delay that PIE steers to.
        #[source("RFC 8033, section 4.2, QDELAY_REF")]
        pub target: Span = "15 ms", 0..=10, "s";
        /// How often the probability is computed.
        #[source("RFC 8033, section 4.2, T_UPDATE")]
        pub t_update: Span = "15 ms", 0.000001..=10, "s";
        /// Integral gain: what a second of delay above target adds to the probability at each computation.
        #[source("RFC 8033, appendix A")]
        pub alpha: f64 = "0.125", 0..=1e6, "1/s";
        /// Proportional gain: what a second of growth since the last computation adds to the probability.
        #[source("RFC 8033, appendix A")]
        pub beta: f64 = "1.25", 0..=1e6, "1/s";
        /// How long a burst at a queue without congestion may last before any packet is signalled.
        #[source("RFC 8033, section 4.4, MAX_BURST")]
        #[off("0 s", "no burst is spared")]
        pub max_burst: Span = "150 ms", 0..=100, "s";
        /// No signal while at most this much waits: two packets of mean size.
        #[source("RFC 8033, section 4.1, with MEAN_PKTSIZE of RFC 8034, appendix A.1.2; Linux takes two packets of the MTU")]
        pub floor: u32 = "2048 B", 0..=1_000_000_000, "bytes";
        /// Mark ECN-capable packets instead of dropping them.
        #[source("RFC 8033, section 5.1; off in Linux unless asked for")]
        pub ecn: bool = "true";
        /// Mark only while the probability is at most this, above it drop.
        #[source("RFC 8033, section 5.1, mark_ecnth; Linux sch_pie.c")]
        #[when(ecn = "true")]
        #[off("0", "no packet is marked: what would be marked is dropped")]
        pub mark_limit: f64 = "0.1", 0..=1;
        /// What is left of the probability at each computation while there is no congestion.
        #[source("RFC 8033, section 4.2; 1 - 1/64 in Linux")]
        #[off("1", "the probability falls by the controller alone")]
        pub decay: f64 = "0.98", 0..=1;
        /// When there is no congestion: after two samples of no delay, or of less than half the target.
        #[source("RFC 8033, appendix A; half-target: appendix B")]
        pub calm: Calm = "empty";
        /// By how much the probability may rise at one computation once it is at least 0.1.
        #[source("RFC 8033, section 5.5, with 0.02; Linux sch_pie.c")]
        pub cap: f64 = "1", 0..=1;
        /// Space signals out: none before 0.85/p packets have passed, and one at the latest after 8.5/p.
        #[source("RFC 8033, section 5.4; Linux sch_pie.c")]
        pub derandomize: bool = "false";
        /// Share of the buffer that must be filled before PIE becomes active; 0 keeps it active.
        #[source("RFC 8033, section 5.3, with 1/3")]
        pub activate: f64 = "0", 0..=1;
        /// How the delay is measured: at the packet that leaves, or by what waits over the rate at which packets leave.
        #[source("RFC 8033, section 4.3")]
        pub delay: Measure = "timestamps";
        /// So much must leave from a queue at least as long for a measurement of the rate.
        #[source("RFC 8033, section 5.2, DQ_THRESHOLD")]
        #[when(delay = "departure-rate")]
        pub dq_threshold: u32 = "16384 B", 1..=65_536, "bytes";
    }
}

words! {
    /// When there is no congestion.
    pub enum Calm { Empty = "empty", HalfTarget = "half-target" }
}

words! {
    /// How the delay is measured.
    pub enum Measure { Timestamps = "timestamps", DepartureRate = "departure-rate" }
}

/// PIE at work.
pub struct Pie {
    settings: Settings,
    /// The probability, and the previous delay.
    law: Controller,
    /// The current delay in seconds.
    delay: f64,
    rate: DepartureRate,
    burst_allowance: Span,
    /// The probabilities since the last signal, added up.
    accumulated: f64,
    active: bool,
    limit: Limit,
    due: Time,
}

impl Pie {
    /// With these settings, in a buffer of this limit.
    pub fn new(settings: Settings, limit: Limit) -> Pie {
        Pie {
            settings,
            law: controller(&settings),
            delay: 0.0,
            rate: DepartureRate::new(settings.dq_threshold),
            burst_allowance: settings.max_burst,
            accumulated: 0.0,
            active: settings.activate == 0.0,
            limit,
            due: Time::ZERO + settings.t_update,
        }
    }

    /// Sees whether congestion has come or gone.
    fn watch(&mut self, backlog: Backlog, now: Time) {
        let uncongested = self.law.probability() == 0.0 && self.is_low(self.delay) && self.is_low(self.law.previous());
        if uncongested {
            self.burst_allowance = self.settings.max_burst;
        }
        match (self.active, self.reaches_threshold(backlog)) {
            (false, true) => self.activate(now),
            (true, false) => self.active = !uncongested,
            _ => {}
        }
    }

    /// Begins anew, with nothing known of what happened before.
    fn activate(&mut self, now: Time) {
        self.law = controller(&self.settings);
        self.rate = DepartureRate { begun: Some((now, 0)), ..DepartureRate::new(self.settings.dq_threshold) };
        self.accumulated = 0.0;
        self.active = true;
    }

    fn is_low(&self, delay: f64) -> bool {
        delay < 0.5 * self.settings.target.seconds()
    }

    fn reaches_threshold(&self, backlog: Backlog) -> bool {
        let (waiting, limit) = match self.limit {
            Limit::Packets(limit) => (f64::from(backlog.packets), f64::from(limit)),
            Limit::Bytes(limit) => (backlog.bytes as f64, limit as f64),
        };
        waiting >= self.settings.activate * limit
    }

    /// Whether an arriving packet is signalled, burst allowance apart.
    fn hits(&mut self, backlog: Backlog, rng: &mut Rng) -> bool {
        let p = self.law.probability();
        if self.is_low(self.law.previous()) && p < LIGHT || backlog.bytes <= u64::from(self.settings.floor) {
            return false;
        }
        let hits = if self.settings.derandomize { self.accumulate(p, rng) } else { rng.uniform() < p };
        if hits {
            self.accumulated = 0.0;
        }
        hits
    }

    fn accumulate(&mut self, p: f64, rng: &mut Rng) -> bool {
        self.accumulated = if p == 0.0 { 0.0 } else { self.accumulated + p };
        self.accumulated >= SURELY || self.accumulated >= NOT_BEFORE && rng.uniform() < p
    }

    fn signal(&self) -> Wish {
        if self.settings.ecn && self.law.probability() <= self.settings.mark_limit {
            Wish::Signal { level: Level::Congested, target: Target::Arriving, cause: Cause::Early }
        } else {
            Wish::Drop { victim: Victim::Arriving, cause: Cause::Early }
        }
    }

    fn measured(&self, backlog: Backlog) -> f64 {
        match self.settings.delay {
            Measure::Timestamps if backlog.packets == 0 => 0.0,
            Measure::Timestamps => self.delay,
            Measure::DepartureRate => self.rate.delay(backlog),
        }
    }

    fn compute(&mut self) {
        let p = self.law.probability();
        let mut change = self.law.change(self.delay) / scale(p);
        if p >= HEAVY {
            change = change.min(self.settings.cap);
        }
        self.law.add(change);
        if self.is_calm(self.delay) && self.is_calm(self.law.previous()) {
            self.law.scale(self.settings.decay);
        }
        self.law.remember(self.delay);
        let left = self.burst_allowance.picos().saturating_sub(self.settings.t_update.picos());
        self.burst_allowance = Span::from_picos(left);
    }

    fn is_calm(&self, delay: f64) -> bool {
        match self.settings.calm {
            Calm::Empty => delay == 0.0,
            Calm::HalfTarget => self.is_low(delay),
        }
    }
}

impl Aqm for Pie {
    fn needs(&self) -> Needs {
        Needs { groups: 0, departures: true }
    }

    fn arrive(&mut self, arrival: &Arrival, rng: &mut Rng) -> Wish {
        self.watch(arrival.backlog, arrival.now);
        if arrival.full {
            self.accumulated = 0.0;
            return Wish::Pass;
        }
        let spared = !self.active || self.burst_allowance > Span::ZERO;
        if spared || !self.hits(arrival.backlog, rng) { Wish::Pass } else { self.signal() }
    }

    fn depart(&mut self, departure: &Departure, _rng: &mut Rng) -> Fate {
        match self.settings.delay {
            Measure::Timestamps => self.delay = departure.waited.seconds(),
            Measure::DepartureRate => self.rate.departs(departure),
        }
        Fate::Pass
    }

    fn deadline(&self) -> Option<Time> {
        Some(self.due)
    }

    fn expire(&mut self, expiry: &Expiry, _rng: &mut Rng) {
        self.due = expiry.now + self.settings.t_update;
        self.delay = self.measured(expiry.backlog);
        if self.active {
            self.compute();
        }
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("probability", self.law.probability());
        show("delay", self.delay);
    }
}

fn controller(settings: &Settings) -> Controller {
    Controller::new(settings.alpha, settings.beta, settings.target.seconds())
}

/// What a change is divided by at this probability, so that the controller is as quick at light congestion as it is stable.
fn scale(p: f64) -> f64 {
    SCALES.iter().find(|(below, _)| p < *below).map_or(1.0, |(_, scale)| *scale)
}

/// How long packets take to leave, by dq_threshold bytes at a time (RFC 8033, section 5.2 and appendix B).
struct DepartureRate {
    threshold: u32,
    /// When the measurement began and what has left since, while there is one.
    begun: Option<(Time, u64)>,
    /// Average time for the threshold's bytes in seconds; zero before the first measurement.
    time: f64,
}

impl DepartureRate {
    fn new(threshold: u32) -> DepartureRate {
        DepartureRate { threshold, begun: None, time: 0.0 }
    }

    fn departs(&mut self, departure: &Departure) {
        if let Some((since, left)) = &mut self.begun {
            *left += u64::from(departure.packet.size);
            if *left >= u64::from(self.threshold) {
                let time = departure.now.since(*since).seconds();
                self.average(time);
                self.begun = None;
            }
        }
        if self.begun.is_none() && departure.backlog.bytes >= u64::from(self.threshold) {
            self.begun = Some((departure.now, 0));
        }
    }

    fn average(&mut self, time: f64) {
        let weight = if self.time == 0.0 { 1.0 } else { f64::from(self.threshold) / 65_536.0 };
        self.time += weight * (time - self.time);
    }

    fn delay(&self, backlog: Backlog) -> f64 {
        backlog.bytes as f64 * self.time / f64::from(self.threshold)
    }
}

/// Below the first, a change is divided by the second.
const SCALES: [(f64, f64); 6] = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];

/// Below this probability a low delay brings no signal.
const LIGHT: f64 = 0.2;
/// From this probability on the rise is capped.
const HEAVY: f64 = 0.1;
/// With derandomize: no signal before the probabilities add up to the first, and one when they reach the second.
const NOT_BEFORE: f64 = 0.85;
const SURELY: f64 = 8.5;
