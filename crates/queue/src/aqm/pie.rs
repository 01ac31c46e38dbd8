//! PIE (RFC 8033): proportional integral controller enhanced. It holds the queueing delay at a target by dropping or marking arriving
//! packets with a probability that is updated every `t_update`.
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
//! The defaults are the basic scheme of the RFC's section 4 and appendix A, with ECN. Each addition of section 5 is a parameter: `cap`,
//! `derandomize`, `activate`, `delay = "departure-rate"` by appendix B, and `calm = "half-target"`, at which appendix B lets p decay.
//!
//! Choices that the RFC leaves open:
//! - The delay by timestamps is that of the packet that left last, and zero at a sample of an empty queue. Otherwise the last packet of a
//!   busy period would count as congestion during the idle time after it, and p would not decay.
//! - With `activate` PIE stays active while the queue is above the threshold. By section 5.3 and appendix B literally, the packet that
//!   activates it would deactivate it again, since p and both delays are zero then. It is deactivated when p is zero and both delays are
//!   below half the target (section 5.3); appendix B waits until both are zero.
//! - `mark_limit` is met by p at the limit too, so that 1 means no limit.

use ecnlab_units::{Rng, Span, Time, parameters, words};

use super::control::pi::PiController;
use super::entry::{AqmEntry, Gauge};
use super::{Aqm, AqmRequirements, Arrival, Backlog, Departure, DequeueVerdict, EnqueueVerdict, GaugeReport, SignalCause, TimerContext};
use crate::limit::Limit;

/// PIE in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "pie",
    title: "PIE",
    summary: "Keeps the queueing delay at a target by a probability that a controller computes at every interval.",
    source: "RFC 8033",
    parameters: Settings::PARAMETERS,
    lowest_mark: AqmEntry::MARK_LEVEL_CONGESTED_IF_ECN,
    test_params: &[
        ("target", "1 ms"),
        ("t_update", "1 ms"),
        ("alpha", "10"),
        ("beta", "100"),
        ("max_burst", "0 s"),
        ("floor", "0 B"),
        ("mark_limit", "1"),
    ],
    gauges: &[Gauge::new("probability", "1", "Probability of a signal"), Gauge::new("delay", "s", "Last measured queueing delay")],
    make: &|values, link| Box::new(Pie::new(Settings::from_values(values), link.limit)),
    ..AqmEntry::DEFAULTS
};

parameters! {
    /// PIE as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        /// Target queueing delay.
        #[source("RFC 8033, section 4.2, QDELAY_REF")]
        #[usual(0.001..=0.1, log)]
        pub target: Span = "15 ms", 0..=10, "s";
        /// Time between two computations of the probability.
        #[source("RFC 8033, section 4.2, T_UPDATE")]
        #[usual(0.001..=0.1, log)]
        pub t_update: Span = "15 ms", 0.000001..=10, "s";
        /// Integral gain: addition to the probability at each computation for a second of delay above target.
        #[source("RFC 8033, appendix A")]
        #[usual(0.01..=1, log)]
        pub alpha: f64 = "0.125", 0..=1e6, "1/s";
        /// Proportional gain: addition to the probability for a second of growth since the last computation.
        #[source("RFC 8033, appendix A")]
        #[usual(0.1..=10, log)]
        pub beta: f64 = "1.25", 0..=1e6, "1/s";
        /// Duration of a burst at an uncongested queue before the first signal.
        #[source("RFC 8033, section 4.4, MAX_BURST")]
        #[off("0 s", "no burst is spared")]
        #[usual(0..=0.5, linear)]
        pub max_burst: Span = "150 ms", 0..=100, "s";
        /// Backlog up to which no packet is signalled: two packets of mean size.
        #[source("RFC 8033, section 4.1, with MEAN_PKTSIZE of RFC 8034, appendix A.1.2; Linux takes two packets of the MTU")]
        pub floor: u32 = "2048 B", 0..=1_000_000_000, "bytes";
        /// Marking of ECN-capable packets instead of dropping them.
        #[source("RFC 8033, section 5.1; off in Linux unless asked for")]
        pub ecn: bool = "true";
        /// Largest probability at which packets are marked; above it they are dropped.
        #[source("RFC 8033, section 5.1, mark_ecnth; Linux sch_pie.c")]
        #[when(ecn = "true")]
        #[off("0", "no packet is marked: what would be marked is dropped")]
        #[usual(0.01..=1, log)]
        pub mark_limit: f64 = "0.1", 0..=1;
        /// Factor of the probability at each computation while there is no congestion.
        #[source("RFC 8033, section 4.2; 1 - 1/64 in Linux")]
        #[off("1", "the probability falls by the controller alone")]
        pub decay: f64 = "0.98", 0..=1;
        /// Condition for no congestion: two samples of no delay, or of less than half the target.
        #[source("RFC 8033, appendix A; half-target: appendix B")]
        pub calm: UncongestedCriterion = "empty";
        /// Largest increase of the probability at one computation once it is at least 0.1.
        #[source("RFC 8033, section 5.5, with 0.02; Linux sch_pie.c")]
        pub cap: f64 = "1", 0..=1;
        /// Bounds on the spacing of signals: none before 0.85/p packets have passed, and one at the latest after 8.5/p.
        #[source("RFC 8033, section 5.4; Linux sch_pie.c")]
        pub derandomize: bool = "false";
        /// Share of the buffer that must be filled before PIE becomes active; 0 keeps it active.
        #[source("RFC 8033, section 5.3, with 1/3")]
        pub activate: f64 = "0", 0..=1;
        /// Measurement of the delay: at the departing packet, or as the backlog over the departure rate.
        #[source("RFC 8033, section 4.3")]
        pub delay: DelayMeasurement = "timestamps";
        /// Bytes that must depart, from a queue at least as long, for a measurement of the rate.
        #[source("RFC 8033, section 5.2, DQ_THRESHOLD")]
        #[when(delay = "departure-rate")]
        pub dq_threshold: u32 = "16384 B", 1..=65_536, "bytes";
    }
}

words! {
    /// Criterion by which there is no congestion.
    pub enum UncongestedCriterion { Empty = "empty", HalfTarget = "half-target" }
}

words! {
    /// How the delay is measured.
    pub enum DelayMeasurement { Timestamps = "timestamps", DepartureRate = "departure-rate" }
}

/// PIE at work.
pub struct Pie {
    settings: Settings,
    /// The probability, and the previous delay.
    controller: PiController,
    /// The current delay in seconds.
    delay: f64,
    departure_rate: DepartureRate,
    burst_allowance: Span,
    /// The probabilities since the last signal, added up.
    accumulated_probability: f64,
    active: bool,
    limit: Limit,
    next_update: Time,
}

impl Pie {
    /// With these settings, in a buffer of this limit.
    pub fn new(settings: Settings, limit: Limit) -> Pie {
        Pie {
            settings,
            controller: new_controller(&settings),
            delay: 0.0,
            departure_rate: DepartureRate::new(settings.dq_threshold),
            burst_allowance: settings.max_burst,
            accumulated_probability: 0.0,
            active: settings.activate == 0.0,
            limit,
            next_update: Time::ZERO + settings.t_update,
        }
    }

    /// Sees whether congestion has come or gone.
    fn update_activity(&mut self, backlog: Backlog, now: Time) {
        let uncongested = self.controller.probability() == 0.0
            && self.is_delay_below_half_target(self.delay)
            && self.is_delay_below_half_target(self.controller.previous_sample());
        if uncongested {
            self.burst_allowance = self.settings.max_burst;
        }
        match (self.active, self.reaches_threshold(backlog)) {
            (false, true) => self.activate(now),
            (true, false) => self.active = !uncongested,
            _ => {}
        }
    }

    /// Resets the state.
    fn activate(&mut self, now: Time) {
        self.controller = new_controller(&self.settings);
        self.departure_rate = DepartureRate { measurement: Some((now, 0)), ..DepartureRate::new(self.settings.dq_threshold) };
        self.accumulated_probability = 0.0;
        self.active = true;
    }

    fn is_delay_below_half_target(&self, delay: f64) -> bool {
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
    fn is_signalled(&mut self, backlog: Backlog, rng: &mut Rng) -> bool {
        let p = self.controller.probability();
        if self.is_delay_below_half_target(self.controller.previous_sample()) && p < SAFEGUARD_PROBABILITY
            || backlog.bytes <= u64::from(self.settings.floor)
        {
            return false;
        }
        let hits = if self.settings.derandomize { self.accumulate_and_draw(p, rng) } else { rng.uniform() < p };
        if hits {
            self.accumulated_probability = 0.0;
        }
        hits
    }

    fn accumulate_and_draw(&mut self, p: f64, rng: &mut Rng) -> bool {
        self.accumulated_probability = if p == 0.0 { 0.0 } else { self.accumulated_probability + p };
        self.accumulated_probability >= DERANDOMIZE_MAX_SUM || self.accumulated_probability >= DERANDOMIZE_MIN_SUM && rng.uniform() < p
    }

    fn signal_verdict(&self) -> EnqueueVerdict {
        if self.settings.ecn && self.controller.probability() <= self.settings.mark_limit {
            EnqueueVerdict::mark_arriving(SignalCause::Early)
        } else {
            EnqueueVerdict::drop_arriving(SignalCause::Early)
        }
    }

    fn measured_delay(&self, backlog: Backlog) -> f64 {
        match self.settings.delay {
            DelayMeasurement::Timestamps if backlog.packets == 0 => 0.0,
            DelayMeasurement::Timestamps => self.delay,
            DelayMeasurement::DepartureRate => self.departure_rate.delay(backlog),
        }
    }

    fn update_probability(&mut self) {
        let p = self.controller.probability();
        let mut change = self.controller.probability_change(self.delay) / change_divisor(p);
        if p >= CHANGE_CAP_MIN_PROBABILITY {
            change = change.min(self.settings.cap);
        }
        self.controller.add_to_probability(change);
        if self.is_uncongested_delay(self.delay) && self.is_uncongested_delay(self.controller.previous_sample()) {
            self.controller.scale_probability(self.settings.decay);
        }
        self.controller.set_previous_sample(self.delay);
        self.burst_allowance = self.burst_allowance.saturating_sub(self.settings.t_update);
    }

    fn is_uncongested_delay(&self, delay: f64) -> bool {
        match self.settings.calm {
            UncongestedCriterion::Empty => delay == 0.0,
            UncongestedCriterion::HalfTarget => self.is_delay_below_half_target(delay),
        }
    }
}

impl Aqm for Pie {
    fn requirements(&self) -> AqmRequirements {
        AqmRequirements { groups: 0, dequeue_hook: true }
    }

    fn on_enqueue(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        self.update_activity(arrival.backlog, arrival.now);
        if arrival.would_overflow {
            self.accumulated_probability = 0.0;
            return EnqueueVerdict::Pass;
        }
        let spared = !self.active || self.burst_allowance > Span::ZERO;
        if spared || !self.is_signalled(arrival.backlog, rng) { EnqueueVerdict::Pass } else { self.signal_verdict() }
    }

    fn on_dequeue(&mut self, departure: &Departure, _rng: &mut Rng) -> DequeueVerdict {
        match self.settings.delay {
            DelayMeasurement::Timestamps => self.delay = departure.sojourn.seconds(),
            DelayMeasurement::DepartureRate => self.departure_rate.on_departure(departure),
        }
        DequeueVerdict::Pass
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn on_timer(&mut self, expiry: &TimerContext, _rng: &mut Rng) {
        self.next_update = expiry.now + self.settings.t_update;
        self.delay = self.measured_delay(expiry.backlog);
        if self.active {
            self.update_probability();
        }
    }

    fn report_gauges(&self, report: GaugeReport) {
        report("probability", self.controller.probability());
        report("delay", self.delay);
    }

    fn signals_arriving_packets_only(&self) -> bool {
        true
    }
}

fn new_controller(settings: &Settings) -> PiController {
    PiController::new(settings.alpha, settings.beta, settings.target.seconds())
}

/// Divisor of a change at this probability, so that the controller is fast at light congestion and stable.
fn change_divisor(p: f64) -> f64 {
    CHANGE_DIVISORS.iter().find(|(below, _)| p < *below).map_or(1.0, |(_, scale)| *scale)
}

/// How long packets take to leave, by dq_threshold bytes at a time (RFC 8033, section 5.2 and appendix B).
struct DepartureRate {
    threshold: u32,
    /// When the measurement began and what has left since, while there is one.
    measurement: Option<(Time, u64)>,
    /// Average time for the threshold's bytes in seconds; zero before the first measurement.
    time: f64,
}

impl DepartureRate {
    fn new(threshold: u32) -> DepartureRate {
        DepartureRate { threshold, measurement: None, time: 0.0 }
    }

    fn on_departure(&mut self, departure: &Departure) {
        if let Some((since, left)) = &mut self.measurement {
            *left += u64::from(departure.packet.size);
            if *left >= u64::from(self.threshold) {
                let time = departure.now.since(*since).seconds();
                self.update_average_time(time);
                self.measurement = None;
            }
        }
        if self.measurement.is_none() && departure.backlog.bytes >= u64::from(self.threshold) {
            self.measurement = Some((departure.now, 0));
        }
    }

    fn update_average_time(&mut self, time: f64) {
        let weight = if self.time == 0.0 { 1.0 } else { f64::from(self.threshold) / 65_536.0 };
        self.time += weight * (time - self.time);
    }

    fn delay(&self, backlog: Backlog) -> f64 {
        backlog.bytes as f64 * self.time / f64::from(self.threshold)
    }
}

/// Below the first, a change is divided by the second.
const CHANGE_DIVISORS: [(f64, f64); 6] = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];

/// Below this probability a low delay brings no signal.
const SAFEGUARD_PROBABILITY: f64 = 0.2;
/// From this probability on the rise is capped.
const CHANGE_CAP_MIN_PROBABILITY: f64 = 0.1;
/// With derandomize: no signal before the probabilities add up to the first, and one when they reach the second.
const DERANDOMIZE_MIN_SUM: f64 = 0.85;
const DERANDOMIZE_MAX_SUM: f64 = 8.5;
