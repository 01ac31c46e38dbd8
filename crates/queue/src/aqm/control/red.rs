//! The RED algorithm (Floyd and Jacobson 1993): the average queue length, the probability ramp, and the spacing of signals.
//!
//! On every arrival, with q packets waiting:
//!
//! ```text
//! avg <- (1 - w_q)^(m+1) avg + w_q q      m = packets the idle link could have sent
//! avg <  min_th                           pass
//! min_th <= avg < max_th                  signal with p_a
//! avg >= max_th                           forced drop; gentle: p_b rises from max_p to 1 at 2 max_th
//! p_b = max_p (avg - min_th) / (max_th - min_th)
//! p_a = p_b / (1 - count p_b);            wait: 0 while count p_b < 1, p_b / (2 - count p_b) while < 2, else 1
//! p_a = p_b                               gaps = geometric
//! ```
//!
//! The order of the steps is that of ns-2 2.35. `count` grows at every arrival, so it includes the arriving packet (`count_self` excludes
//! it, as the derivation in the paper's section 7 does). The first arrival above `min_th` passes without a draw; at most one waiting packet
//! (`floor`) never causes a signal; and the idle link's packets are whole numbers. One difference: a packet that is dropped at an idle link
//! does not end the idle period, so that an average above `max_th` cannot starve the link. That lock-up occurs in real kernels, and ns-2's
//! `floor` hides it.

use ecnlab_units::quantity::PacketsOrBytes;
use ecnlab_units::{Rate, Rng, Span, Time, math, parameters, words};

use crate::aqm::drop_policy::DropPosition;
use crate::aqm::entry::{Contradictions, Gauge};
use crate::aqm::{AVERAGE_GAUGE_NAME, Arrival, EnqueueVerdict};

parameters! {
    /// RED's law as a scenario sets it. Every algorithm that signals by this law shares the table.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        /// Average queue length below which no packet is signalled.
        #[source("Floyd and Jacobson 1993, section 4")]
        #[usual(1..=60, linear)]
        pub min_th: f64 = "5", 0..=1e9, "packets";
        /// Average queue length from which every packet is signalled.
        #[source("Floyd and Jacobson 1993, section 4")]
        #[usual(5..=120, linear)]
        pub max_th: f64 = "15", 0..=1e9, "packets";
        /// Value of p_b, the probability before signals are spaced out, at max_th. The share of packets signalled there is about 2 max_p
        /// without wait, and two thirds of max_p with it.
        #[source("Floyd and Jacobson 1993, section 4")]
        #[off("0", "no packet is signalled before the average reaches max_th")]
        #[usual(0.01..=1, log)]
        pub max_p: f64 = "0.1", 0..=1;
        /// Weight of the newest queue length in the average; auto is 1 - exp(-1/C) with the link's C in packets/s.
        #[source("Floyd and Jacobson 1993, section 6; Floyd, Gummadi and Shenker 2001")]
        #[off("0", "the average stays 0 and no packet is ever signalled")]
        #[usual(0.0005..=1, log)]
        pub w_q: Option<f64> = "0.002", 0..=1;
        /// Increase of the probability from max_p to 1 between max_th and 2 max_th, instead of signalling every packet from max_th on.
        #[source("Floyd 2000, Recommendation on using the gentle_ variant of RED")]
        pub gentle: bool = "false";
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
        /// Scaling of the probability by bytes over mean_packet although the queue is measured in packets. A large packet is then signalled
        /// as often as small packets of the same total size.
        #[source("ns-2 2.35, bytes_ without queue_in_bytes_; RFC 7141, section 2.2, advises against it")]
        #[when(unit = "packets")]
        pub by_size: bool = "false";
        /// Mean packet size for the idle link's estimate, for w_q = auto, for unit = bytes and for by_size.
        #[source("ns-2 2.35, mean_pktsize_")]
        pub mean_packet: u32 = "500 B", 1..=65_535, "bytes";
        /// Largest p_b at which packets are marked; above it they are dropped.
        #[source("ns-2 2.35, mark_p_; RFC 3168, section 7")]
        #[off("0", "no packet is marked: what would be marked is dropped")]
        #[usual(0.01..=1, log)]
        pub mark_limit: f64 = "1", 0..=1;
        /// Packet that a drop removes: the arriving, the oldest or a random one. A packet that would be marked and is not ECN-capable is
        /// dropped itself.
        #[source("ns-2 2.35, drop_front_ and drop_rand_")]
        pub drop: DropPosition = "tail";
        /// Number of waiting packets up to which no packet is signalled.
        #[source("ns-2 2.35, qlen > 1")]
        pub floor: u32 = "1", 0..=1_000_000, "packets";
        /// Counting of the arriving packet itself among those since the last signal. Gaps without wait are then uniform on 1 .. 1/p_b - 1
        /// instead of 1 .. 1/p_b.
        #[source("Floyd and Jacobson 1993: figure 2 and ns-2 2.35 count it, the derivation in section 7 does not")]
        #[when(gaps = "uniform")]
        pub count_self: bool = "true";
    }
}

words! {
    /// How the gaps between signals are distributed.
    pub enum SignalGaps { Uniform = "uniform", Geometric = "geometric" }
}

words! {
    /// Unit of queue lengths.
    pub enum QueueUnit { Packets = "packets", Bytes = "bytes" }
}

impl Settings {
    /// Contradicting thresholds, each with its error.
    pub fn contradictions(&self, limit: PacketsOrBytes) -> Contradictions {
        let Settings { min_th, max_th, .. } = *self;
        let limit_packets = limit.in_packets_of(self.mean_packet);
        let mut problems = Vec::new();
        if min_th >= max_th {
            problems.push(("min_th", format!("{min_th} must be below max_th {max_th}")));
        }
        if limit_packets < max_th {
            problems.push(("limit", format!("{limit_packets} packets must be at least max_th {max_th}")));
        }
        problems
    }

    /// Unit that scales the probability.
    fn probability_unit(&self) -> QueueUnit {
        if self.by_size { QueueUnit::Bytes } else { self.unit }
    }

    /// The ramp that all packets share.
    pub(crate) fn probability_ramp(&self) -> ProbabilityRamp {
        ProbabilityRamp::new(self.min_th, self.max_th, self.max_p, self.gentle)
    }
}

/// The exponentially weighted average queue length, with the decay of idle spells.
pub(crate) struct AverageQueue {
    average: f64,
    w_q: f64,
    /// Whether w_q follows the link's rate.
    w_q_follows_rate: bool,
    unit: QueueUnit,
    mean_packet: u32,
    /// How long the link takes for a packet of the mean size.
    packet_time: Span,
    idle_since: Option<Time>,
}

impl AverageQueue {
    pub(crate) fn new(settings: &Settings, rate: Rate) -> AverageQueue {
        let mut average = AverageQueue {
            average: 0.0,
            w_q: settings.w_q.unwrap_or_default(),
            w_q_follows_rate: settings.w_q.is_none(),
            unit: settings.unit,
            mean_packet: settings.mean_packet,
            packet_time: Span::ZERO,
            idle_since: None,
        };
        average.set_link_rate(rate);
        average
    }

    /// The link has this rate from now on.
    pub(crate) fn set_link_rate(&mut self, rate: Rate) {
        self.packet_time = rate.transmission_time(self.mean_packet);
        if self.w_q_follows_rate {
            let packets_per_second = rate.bps() as f64 / (8.0 * f64::from(self.mean_packet));
            self.w_q = 1.0 - math::exp(-1.0 / packets_per_second);
        }
    }

    /// Takes the arrival in; returns the start of the idle spell that it ended, if any.
    #[inline]
    pub(crate) fn update_taking_idle_start(&mut self, arrival: &Arrival) -> Option<Time> {
        let idle = self.idle_since.take();
        let length = match self.unit {
            QueueUnit::Packets => f64::from(arrival.backlog.packets),
            QueueUnit::Bytes => arrival.backlog.bytes as f64 / f64::from(self.mean_packet),
        };
        let Some(since) = idle else {
            self.average = self.average * (1.0 - self.w_q) + self.w_q * length;
            return None;
        };
        let sent = self.packets_sendable_since(since, arrival.now);
        self.average *= math::powi(1.0 - self.w_q, sent + 1);
        self.average += self.w_q * length;
        Some(since + self.packet_time * sent)
    }

    /// A packet dropped at an idle link leaves it idle: the idle period continues from its start.
    pub(crate) fn resume_idle_if_dropped(&mut self, idle: Option<Time>, verdict: &EnqueueVerdict) {
        if matches!(verdict, EnqueueVerdict::Drop { .. }) {
            self.idle_since = idle;
        }
    }

    pub(crate) fn value(&self) -> f64 {
        self.average
    }

    /// The average, decayed by now if the link is idle.
    pub(crate) fn value_at(&self, now: Time) -> f64 {
        let sent = self.idle_since.map_or(0, |since| self.packets_sendable_since(since, now));
        self.average * math::powi(1.0 - self.w_q, sent)
    }

    pub(crate) fn start_idle(&mut self, now: Time) {
        self.idle_since = Some(now);
    }

    /// A packet waits that did not arrive: an idle spell ends, and the queue length is not sampled.
    pub(crate) fn end_idle(&mut self, now: Time) {
        self.average = self.value_at(now);
        self.idle_since = None;
    }

    fn packets_sendable_since(&self, since: Time, now: Time) -> u64 {
        now.since(since).picos() / self.packet_time.picos().max(1)
    }
}

/// The ramp of probabilities from `min_th` to `max_th`, and the gentle one after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbabilityRamp {
    pub(crate) min_th: f64,
    pub(crate) max_th: f64,
    max_p: f64,
    gentle: bool,
    /// Start of the gentle ramp; unlike `max_p` it may keep its initial value.
    gentle_p: f64,
    bend: Option<RampBend>,
}

/// Point between `min_th` and `max_th` at which a ramp changes its slope.
#[derive(Clone, Copy, Debug)]
struct RampBend {
    at: f64,
    p: f64,
}

impl ProbabilityRamp {
    pub(crate) fn new(min_th: f64, max_th: f64, max_p: f64, gentle: bool) -> ProbabilityRamp {
        ProbabilityRamp { min_th, max_th, max_p, gentle, gentle_p: max_p, bend: None }
    }

    /// The ramp that rises to `p` at the average `at` and on to `max_p` from there.
    pub(crate) fn with_bend(self, at: f64, p: f64) -> ProbabilityRamp {
        ProbabilityRamp { bend: Some(RampBend { at, p }), ..self }
    }

    /// The ramp to another `max_p`; the gentle one is left as it was.
    pub(crate) fn with_max_p_keeping_gentle(self, max_p: f64) -> ProbabilityRamp {
        ProbabilityRamp { max_p, ..self }
    }

    /// The average from which every packet is forced.
    pub(crate) fn forced_signal_threshold(&self) -> f64 {
        if self.gentle { 2.0 * self.max_th } else { self.max_th }
    }

    /// `p_b` at this average, which is at least `min_th`.
    pub(crate) fn probability(&self, average: f64) -> f64 {
        let p = if average < self.max_th {
            self.probability_below_max_th(average)
        } else if self.gentle {
            average * (1.0 - self.gentle_p) / self.max_th + 2.0 * self.gentle_p - 1.0
        } else {
            1.0
        };
        p.min(1.0)
    }

    /// The ramp below `max_th`.
    fn probability_below_max_th(&self, average: f64) -> f64 {
        match self.bend {
            None => self.max_p * (average - self.min_th) / (self.max_th - self.min_th),
            Some(RampBend { at, p }) if average < at => p * (average - self.min_th) / (at - self.min_th),
            Some(RampBend { at, p }) => p + (self.max_p - p) * (average - at) / (self.max_th - at),
        }
    }
}

/// Gauges of algorithms based on RED.
pub const GAUGES: &[Gauge] = &[
    Gauge::new(AVERAGE_GAUGE_NAME, "packets", "Average queue length"),
    Gauge { name: "probability", unit: "1", doc: "p_b, the probability before signals are spaced out", symbol: "p_b" },
];

/// Values under which algorithms of this law signal often in a buffer of 20 packets.
pub const TEST_PARAMS: &[(&str, &str)] = &[("w_q", "1"), ("min_th", "2"), ("max_th", "12"), ("max_p", "1")];

/// Packets and bytes since the last signal, which spread signals evenly.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SignalSpacing {
    packets: u64,
    bytes: u64,
    in_region: bool,
}

impl SignalSpacing {
    pub(crate) fn count_arrival(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }

    /// The average is below `min_th`, or hardly anything waits.
    pub(crate) fn leave_signal_region(&mut self) {
        self.in_region = false;
    }

    /// Whether this arrival is the first above `min_th`: counting starts, and it passes without a draw. Geometric gaps have no count.
    pub(crate) fn enters_signal_region(&mut self, settings: &Settings) -> bool {
        let enters = !self.in_region && settings.gaps == SignalGaps::Uniform;
        if enters {
            (self.packets, self.bytes, self.in_region) = (1, 0, true);
        }
        enters
    }

    pub(crate) fn reset(&mut self) {
        (self.packets, self.bytes) = (0, 0);
    }

    /// One random test with `p_b`; a hit resets the count.
    #[inline]
    pub(crate) fn draw_signal(&mut self, p_b: f64, settings: &Settings, size: u32, rng: &mut Rng) -> bool {
        let p_a = self.spaced_probability(p_b, settings, size);
        let hit = rng.uniform() <= p_a && p_a > 0.0;
        if hit {
            self.reset();
        }
        hit
    }

    /// `p_a`: `p_b`, or spread so that the gaps between signals are even rather than geometric.
    fn spaced_probability(&self, p_b: f64, settings: &Settings, size: u32) -> f64 {
        let mean_packet = f64::from(settings.mean_packet);
        let itself = u64::from(!settings.count_self);
        let unit = settings.probability_unit();
        let count = match unit {
            QueueUnit::Packets => (self.packets - itself) as f64,
            // Rounded down, without the call that `floor` is on x86-64.
            QueueUnit::Bytes => (self.bytes.saturating_sub(itself * u64::from(size)) as f64 / mean_packet) as u64 as f64,
        };
        let passed = count * p_b;
        let p = match (settings.gaps, settings.wait, passed) {
            (SignalGaps::Geometric, ..) => p_b,
            (SignalGaps::Uniform, true, passed) if passed < 1.0 => 0.0,
            (SignalGaps::Uniform, true, passed) if passed < 2.0 => p_b / (2.0 - passed),
            (SignalGaps::Uniform, false, passed) if passed < 1.0 => p_b / (1.0 - passed),
            _ => 1.0,
        };
        let scale = if unit == QueueUnit::Bytes && p < 1.0 { f64::from(size) / mean_packet } else { 1.0 };
        (p * scale).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::Backlog;
    use crate::aqm::entry::default_values_with_overrides;

    /// How many gaps are looked at.
    const SIGNALS: usize = 400_000;
    const PLAIN: &[(&str, &str)] = &[("wait", "false"), ("count_self", "false")];

    fn settings(given: &[(&str, &str)]) -> Settings {
        Settings::from_values(&default_values_with_overrides("red", Settings::PARAMETERS, given))
    }

    /// The gaps from signal to signal at a steady probability.
    fn draw_gaps(p_b: f64, settings: &Settings, signals: usize) -> Vec<usize> {
        let (mut count, mut rng) = (SignalSpacing::default(), Rng::for_role(1, "gaps"));
        count.enters_signal_region(settings);
        let mut gap = || {
            let missed = (1..).find(|_| {
                count.count_arrival(1000);
                count.draw_signal(p_b, settings, 1000, &mut rng)
            });
            missed.unwrap()
        };
        gap();
        (0..signals).map(|_| gap()).collect()
    }

    /// Pearson's statistic of the gaps against an even distribution over `from..=to`.
    fn chi_square(gaps: &[usize], from: usize, to: usize) -> f64 {
        let kinds = to + 1 - from;
        let mut seen = vec![0.0; kinds];
        gaps.iter().for_each(|gap| seen[gap - from] += 1.0);
        let expected = gaps.len() as f64 / kinds as f64;
        seen.iter().map(|count| (count - expected) * (count - expected) / expected).sum()
    }

    /// Floyd and Jacobson 1993, section 7: the gaps are even on 1 .. 1/p_b. 43.82 is the 99.9 % point of chi-square at 19 degrees of freedom.
    #[test]
    fn gaps_between_signals_are_even_from_one_to_the_inverse_probability() {
        let gaps = draw_gaps(0.05, &settings(PLAIN), SIGNALS);
        let statistic = chi_square(&gaps, 1, 20);
        assert!(statistic < 43.82, "{statistic}");
        let rate = gaps.len() as f64 / gaps.iter().sum::<usize>() as f64;
        assert!((rate / (2.0 * 0.05 / 1.05) - 1.0).abs() < 0.01, "long-run rate 2 p_b / (1 + p_b): {rate}");
    }

    /// As in figure 2 and ns-2 the arriving packet is counted, so the longest gap is one shorter and the long-run rate is 2 p_b. 42.31 is
    /// the 99.9 % point of chi-square at 18 degrees of freedom.
    #[test]
    fn counting_the_arriving_packet_makes_every_gap_one_shorter_at_most() {
        let gaps = draw_gaps(0.05, &settings(&[("wait", "false")]), SIGNALS);
        let statistic = chi_square(&gaps, 1, 19);
        assert!(statistic < 42.31, "{statistic}");
        let rate = gaps.len() as f64 / gaps.iter().sum::<usize>() as f64;
        assert!((rate / (2.0 * 0.05) - 1.0).abs() < 0.01, "{rate}");
    }

    /// Section 7, method 1: mean 1/p_b, variance (1 - p_b) / p_b^2, where even gaps have a twelfth of 1/p_b^2. Neither `wait` nor the first
    /// arrival above `min_th` is spared a draw.
    #[test]
    fn independent_draws_give_geometric_gaps() {
        let settings = settings(&[("gaps", "geometric")]);
        let gaps = draw_gaps(0.05, &settings, SIGNALS);
        let mean = gaps.iter().sum::<usize>() as f64 / gaps.len() as f64;
        let variance = gaps.iter().map(|&gap| (gap as f64 - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 20.0 - 1.0).abs() < 0.01 && (variance / 380.0 - 1.0).abs() < 0.02, "{mean} {variance}");
        assert!(
            !SignalSpacing::default().enters_signal_region(&settings)
                && SignalSpacing::default().enters_signal_region(&self::settings(&[]))
        );
    }

    #[test]
    fn with_wait_gaps_are_even_from_one_to_two_times_the_inverse_probability() {
        let gaps = draw_gaps(0.05, &settings(&[("count_self", "false")]), SIGNALS);
        let statistic = chi_square(&gaps, 21, 40);
        assert!(statistic < 43.82, "{statistic}");
    }

    /// RFC 7141, section 1.2: a drop probability of 0.1 % for packets of 1500 bytes is 0.004 % for those of 60.
    #[test]
    fn by_size_a_packet_25_times_smaller_is_signalled_25_times_less_often() {
        let by_size = settings(&[("wait", "false"), ("by_size", "true"), ("mean_packet", "1500")]);
        let count = SignalSpacing { packets: 1, bytes: 0, in_region: true };
        assert_eq!(0.001, count.spaced_probability(0.001, &by_size, 1500));
        assert!((0.00004 - count.spaced_probability(0.001, &by_size, 60)).abs() < 1e-12);
    }

    fn average(w_q: &str) -> AverageQueue {
        AverageQueue::new(&settings(&[("w_q", w_q)]), Rate::from_bps(1_500_000).unwrap())
    }

    /// Floyd and Jacobson 1993, section 6: 63 % of a step in -1 / ln(1 - w_q) packets.
    #[test]
    fn the_average_goes_63_percent_of_a_step_in_its_time_constant() {
        for w_q in ["0.002", "0.01", "0.1"] {
            let mut average = average(w_q);
            let constant = -1.0 / math::ln(1.0 - average.w_q);
            let step = Arrival { backlog: Backlog::of_1000_byte_packets(100), ..Arrival::PLAIN };
            let packets = (1..).find(|_| {
                average.update_taking_idle_start(&step);
                average.value() >= 100.0 * (1.0 - math::exp(-1.0))
            });
            assert_eq!(constant.ceil() as u64, packets.unwrap(), "w_q {w_q}");
        }
    }

    /// The average after it has seen these lengths one after another.
    fn average_after(w_q: f64, lengths: std::ops::Range<u32>) -> f64 {
        let mut average = average(&w_q.to_string());
        lengths.for_each(|packets| {
            average.update_taking_idle_start(&Arrival { backlog: Backlog::of_1000_byte_packets(packets), ..Arrival::PLAIN });
        });
        average.value()
    }

    /// Floyd and Jacobson 1993, section 6.1: lengths of 1 .. L leave an average of L + 1 + ((1 - w_q)^(L+1) - 1) / w_q, so that a burst of
    /// L = 50 packets stays below min_th = 5 for w_q <= 0.0042 (its fourth decimal is rounded). A queue that is measured before each arrival
    /// sees 0 .. L - 1.
    #[test]
    fn a_burst_of_fifty_packets_passes_for_the_weights_that_the_paper_allows() {
        for w_q in [0.001, 0.0042, 0.02] {
            let formula = 51.0 + (math::powi(1.0 - w_q, 51) - 1.0) / w_q;
            assert!((average_after(w_q, 1..51) - formula).abs() < 1e-9, "w_q {w_q}");
        }
        assert!(average_after(0.00415, 1..51) < 5.0 && average_after(0.00425, 1..51) > 5.0);
        assert!(average_after(0.0042, 0..50) < 5.0);
    }

    #[test]
    fn an_idle_link_s_average_can_be_asked_without_an_arrival() {
        let mut average = average("0.5");
        average.update_taking_idle_start(&Arrival { backlog: Backlog::of_1000_byte_packets(32), ..Arrival::PLAIN });
        average.start_idle(Time::ZERO);
        let four_packets_later = Time::ZERO + average.packet_time * 4;
        assert_eq!((1.0, 16.0), (average.value_at(four_packets_later), average.value()));
    }

    #[test]
    fn a_bent_line_meets_its_bend_and_its_end() {
        let ramp = ProbabilityRamp::new(5.0, 15.0, 1.0, false).with_bend(9.0, 0.2);
        assert_eq!([0.0, 0.1, 0.2, 1.0], [5.0, 7.0, 9.0, 15.0].map(|average| ramp.probability(average)));
        assert!((ramp.probability(12.0) - 0.6).abs() < 1e-12);
    }

    #[test]
    fn gentle_red_rises_to_one_at_twice_max_th() {
        let ramp = ProbabilityRamp::new(5.0, 15.0, 0.1, true);
        assert!((ramp.probability(15.0) - 0.1).abs() < 1e-12);
        assert!((ramp.probability(22.5) - 0.55).abs() < 1e-12);
        assert!((ramp.probability(30.0) - 1.0).abs() < 1e-12);
    }
}
