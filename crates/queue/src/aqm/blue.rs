//! BLUE (Feng, Shin, Kandlur and Saha 2002): the probability of a signal follows lost packets and idle links, not the queue's length.
//!
//! ```text
//! at a packet lost by a full buffer, or beyond `threshold`:  if now - last > freeze_time:  p <- min(p + increment, 1), last <- now
//! when the link is idle:                                     if now - last > freeze_time:  p <- max(p - decrement, 0), last <- now
//! at every arrival:                                          signal with p
//! ```
//!
//! "When the link is idle" is read as: once for each `freeze_time` that it is. The other reading, once as it becomes idle, is a trap: with
//! p near 1 a link whose packets are all dropped stays idle, becomes idle no more, and starves. For the same reason a packet that is
//! dropped at an idle link does not end the idle spell.

use ecnlab_units::{Rng, Span, Time, parameters};

use super::entry::{AqmEntry, Gauge};
use super::{Aqm, Arrival, EnqueueVerdict, GaugeReport, PacketInfo, SignalCause};

/// BLUE in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "blue",
    title: "BLUE",
    summary: "Signals with a probability that rises at packet losses and falls while the link is idle.",
    source: "Feng, Shin, Kandlur and Saha 2002",
    parameters: Settings::PARAMETERS,
    gauges: &[Gauge::new("probability", "1", "Probability of a signal")],
    lowest_mark: AqmEntry::MARK_LEVEL_CONGESTED_IF_ECN,
    test_params: &[("threshold", "5"), ("increment", "0.05"), ("freeze_time", "1 us")],
    make: &|values, _| Box::new(Blue::new(Settings::from_values(values))),
    ..AqmEntry::DEFAULTS
};

parameters! {
    /// BLUE as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        /// Increase of the probability at a loss.
        #[source("Feng, Shin, Kandlur and Saha 2002, d1")]
        #[off("0", "the probability stays 0 and no packet is ever signalled")]
        #[usual(0.001..=0.1, log)]
        pub increment: f64 = "0.02", 0..=1;
        /// Decrease of the probability while the link is idle; much smaller than the increment, since idle links are detected more easily.
        #[source("Feng, Shin, Kandlur and Saha 2002, d2")]
        #[off("0", "the probability never falls")]
        #[usual(0.0001..=0.01, log)]
        pub decrement: f64 = "0.002", 0..=1;
        /// Minimum time between two changes of the probability.
        #[source("Feng, Shin, Kandlur and Saha 2002")]
        #[usual(0.01..=1, log)]
        pub freeze_time: Span = "100 ms", 1e-6..=1000, "s";
        /// Queue length from which the probability rises as at a loss; auto is only at a loss.
        #[source("Feng, Shin, Kandlur and Saha 2002, L")]
        #[usual(1..=200, linear)]
        pub threshold: Option<u32> = "auto", 1..=1_000_000_000, "packets";
        /// Marking of ECN-capable packets instead of dropping them.
        #[source("Feng, Shin, Kandlur and Saha 2002")]
        pub ecn: bool = "true";
    }
}

/// BLUE at work.
pub struct Blue {
    settings: Settings,
    probability: f64,
    /// When the probability was last changed.
    last_change: Time,
    idle: bool,
}

impl Blue {
    /// With these settings, at a probability of 0.
    pub fn new(settings: Settings) -> Blue {
        Blue { settings, probability: 0.0, last_change: Time::ZERO, idle: false }
    }

    /// Whether the freeze time has passed; if so, it restarts.
    fn restart_freeze_if_elapsed(&mut self, now: Time) -> bool {
        let may = now.since(self.last_change) > self.settings.freeze_time;
        if may {
            self.last_change = now;
        }
        may
    }

    /// A packet is lost, or as many wait as count for one.
    fn raise_probability(&mut self, now: Time) {
        if self.restart_freeze_if_elapsed(now) {
            self.probability = (self.probability + self.settings.increment).min(1.0);
        }
    }

    fn subtract_decrements(&mut self, times: u64) {
        self.probability = (self.probability - self.settings.decrement * times as f64).max(0.0);
    }

    /// The link has been idle until now.
    fn apply_idle_time(&mut self, now: Time) {
        let freeze_time = self.settings.freeze_time;
        let times = now.since(self.last_change).picos() / freeze_time.picos();
        self.subtract_decrements(times);
        self.last_change += freeze_time * times;
    }

    fn is_congested(&self, arrival: &Arrival) -> bool {
        arrival.would_overflow || self.settings.threshold.is_some_and(|threshold| arrival.backlog.packets >= threshold)
    }
}

impl Aqm for Blue {
    fn on_enqueue(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        if self.idle {
            self.apply_idle_time(arrival.now);
        }
        if self.is_congested(arrival) {
            self.raise_probability(arrival.now);
        }
        if arrival.would_overflow {
            return EnqueueVerdict::drop_arriving(SignalCause::Overflow);
        }
        let verdict = if rng.uniform() < self.probability {
            arrival.mark_or_drop(self.settings.ecn, SignalCause::Early)
        } else {
            EnqueueVerdict::Pass
        };
        self.idle &= matches!(verdict, EnqueueVerdict::Drop { .. });
        verdict
    }

    fn on_overflow_drop(&mut self, _packet: &PacketInfo, now: Time) {
        self.raise_probability(now);
    }

    fn on_moved_in(&mut self, _packet: &PacketInfo, now: Time) {
        if std::mem::take(&mut self.idle) {
            self.apply_idle_time(now);
        }
    }

    fn on_queue_empty(&mut self, now: Time) {
        self.idle = true;
        if self.restart_freeze_if_elapsed(now) {
            self.subtract_decrements(1);
        }
    }

    fn report_gauges(&self, report: GaugeReport) {
        report("probability", self.probability);
    }

    fn signals_arriving_packets_only(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::Backlog;
    use crate::aqm::entry::default_values_with_overrides;

    fn blue(settings: &[(&str, &str)]) -> (Blue, Rng) {
        (Blue::new(Settings::from_values(&default_values_with_overrides("blue", Settings::PARAMETERS, settings))), Rng::for_role(1, "blue"))
    }

    #[test]
    fn a_packet_that_is_moved_in_ends_the_idle_spell() {
        let probability_at_3_s = |moved: bool| {
            let (mut blue, mut rng) = blue(&[("freeze_time", "100 ms"), ("decrement", "0.01")]);
            blue.probability = 0.5;
            blue.on_queue_empty(at(1_000));
            if moved {
                blue.on_moved_in(&PacketInfo::EXAMPLE_ECT0, at(1_000));
            }
            blue.on_enqueue(&Arrival { now: at(3_000), ..Arrival::PLAIN }, &mut rng);
            (blue.probability * 1000.0).round()
        };
        assert_eq!([290.0, 490.0], [false, true].map(probability_at_3_s));
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn lost(millis: u64) -> Arrival<'static> {
        Arrival { now: at(millis), would_overflow: true, ..Arrival::PLAIN }
    }

    fn assert_probability(expected: f64, blue: &Blue) {
        assert!((expected - blue.probability).abs() < 1e-12, "{expected} is not {}", blue.probability);
    }

    #[test]
    fn losses_raise_the_probability_once_in_a_freeze_time() {
        let (mut blue, mut rng) = blue(&[]);
        for (millis, expected) in [(50, 0.0), (101, 0.02), (150, 0.02), (201, 0.02), (202, 0.04)] {
            blue.on_enqueue(&lost(millis), &mut rng);
            assert_probability(expected, &blue);
        }
    }

    #[test]
    fn a_packet_that_a_shared_buffer_drops_is_a_loss() {
        let (mut blue, _) = blue(&[]);
        for (millis, expected) in [(50, 0.0), (101, 0.02), (150, 0.02), (202, 0.04)] {
            blue.on_overflow_drop(&PacketInfo::EXAMPLE_ECT0, at(millis));
            assert_probability(expected, &blue);
        }
    }

    #[test]
    fn an_idle_link_lowers_it_once_in_each_freeze_time() {
        let (mut blue, mut rng) = blue(&[("increment", "0.01")]);
        blue.on_enqueue(&lost(101), &mut rng);
        blue.on_queue_empty(at(202));
        assert_probability(0.008, &blue);
        blue.on_enqueue(&Arrival { now: at(202 + 350), ..Arrival::PLAIN }, &mut rng);
        assert_probability(0.002, &blue);
        blue.on_enqueue(&Arrival { now: at(5_000), ..Arrival::PLAIN }, &mut rng);
        assert_probability(0.002, &blue);
    }

    #[test]
    fn a_queue_beyond_the_threshold_counts_as_a_loss() {
        let (mut blue, mut rng) = blue(&[("threshold", "10")]);
        blue.on_enqueue(&Arrival { now: at(101), backlog: Backlog::of_1000_byte_packets(9), ..Arrival::PLAIN }, &mut rng);
        assert_probability(0.0, &blue);
        blue.on_enqueue(&Arrival { now: at(101), backlog: Backlog::of_1000_byte_packets(10), ..Arrival::PLAIN }, &mut rng);
        assert_probability(0.02, &blue);
    }

    #[test]
    fn packets_are_signalled_with_the_probability() {
        let (mut blue, mut rng) = blue(&[("increment", "0.25")]);
        blue.on_enqueue(&lost(101), &mut rng);
        let marked = EnqueueVerdict::mark_arriving(SignalCause::Early);
        let hits = (0..10_000).filter(|_| blue.on_enqueue(&Arrival { now: at(101), ..Arrival::PLAIN }, &mut rng) == marked).count();
        assert!((2_370..=2_630).contains(&hits), "{hits} of 10000 at 0.25: more than 3 standard deviations off");
    }

    #[test]
    fn without_ecn_a_signal_drops() {
        let (mut blue, mut rng) = blue(&[("increment", "1"), ("ecn", "false")]);
        blue.on_enqueue(&lost(101), &mut rng);
        let verdict = blue.on_enqueue(&Arrival { now: at(101), ..Arrival::PLAIN }, &mut rng);
        assert_eq!(EnqueueVerdict::drop_arriving(SignalCause::Early), verdict);
    }

    #[test]
    fn a_link_whose_packets_are_all_dropped_does_not_starve() {
        let (mut blue, mut rng) = blue(&[("increment", "1"), ("decrement", "0.1"), ("ecn", "false")]);
        blue.on_enqueue(&lost(101), &mut rng);
        blue.on_queue_empty(at(110));
        let passed =
            (12..).find(|&tenth| blue.on_enqueue(&Arrival { now: at(tenth * 10), ..Arrival::PLAIN }, &mut rng) == EnqueueVerdict::Pass);
        assert!(passed.unwrap() * 10 < 110 + 10 * 101, "nothing passed in the ten freeze times that take the probability to 0");
    }
}
