//! Linux's RED as `tc` configures it (tc-red(8), iproute2; Linux 6, include/net/red.h and net/sched/sch_red.c).
//!
//! It is RED in bytes and whole numbers. With W = 2^-k, k the smallest at which a burst of `burst` packets passes below `min`:
//!
//! ```text
//! avg <- avg + W (backlog - avg)                            busy link
//! avg <- avg shifted right by a table over the idle time    first arrival after an idle spell
//! avg <  min         pass
//! avg <  max         signal once count p_b reaches a number drawn in 0 .. 1, p_b = probability (avg - min) / (max - min)
//! avg >= max         signal every packet
//! ```
//!
//! One number is drawn a signal, not a packet; gaps are even on 1 .. 1/p_b. It lacks `wait`, the gentle line and the floor. A signal marks
//! ECN-capable packets if `ecn` is on, above `max` too unless `harddrop`, and drops others unless `nodrop`. `adaptive` moves the
//! probability every half second by a hundredth up and a tenth down, as Adaptive RED does.
//!
//! Two properties of the kernel are parameters here, because their effect on an idle link contradicts the RED paper. First, tc computes the
//! table in scheduler ticks of 64 ns, but kernels since 3.2 look it up in microseconds (`idle_clock`), so the average of an idle link
//! decays 15.6 times more slowly. Second, a packet that is dropped at an idle link ends the idle period, and only a dequeue starts the next
//! one. Below another discipline there may be no such dequeue (`child`). Then an average above `max` decays by one packet's weight an
//! arrival, which locks the link up.

use ecnlab_units::quantity::PacketsOrBytes;
use ecnlab_units::{Rate, Rng, Span, Time, parameters, words};

use super::control::adaptive::GAUGES;
use super::control::linux_red_ewma::{IdleDecayTable, probability_slope_log, weight_log};
use super::entry::{AqmEntry, Contradictions, LinkParams};
use super::{AVERAGE_GAUGE_NAME, Aqm, Arrival, EnqueueVerdict, GaugeReport, PacketInfo, SignalCause, TimerContext};
use crate::limit::Limit;

/// Linux's RED in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "linux-red",
    title: "Linux's RED",
    summary: "RED as implemented in Linux and configured by tc: in bytes, with a weight derived from a burst.",
    source: "tc-red(8); Linux 6, net/sched/sch_red.c",
    parameters: Settings::PARAMETERS,
    lowest_mark: AqmEntry::MARK_LEVEL_CONGESTED_IF_ECN,
    check: |values, limit| Settings::from_values(values).contradictions(limit),
    test_params: &[("min", "2000 B"), ("max", "12000 B"), ("burst", "2"), ("probability", "1")],
    gauges: GAUGES,
    make: &|values, link| Box::new(LinuxRed::new(Settings::from_values(values), link)),
    ..AqmEntry::DEFAULTS
};

parameters! {
    /// Linux's RED as `tc` is told.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        /// Average below which no packet is signalled; auto is a third of max.
        #[source("tc-red(8), min")]
        #[usual(1500..=90000, linear)]
        pub min: Option<u64> = "auto", 1..=1e9, "bytes";
        /// Average from which every packet is signalled; auto is 3 min if that is given, else a quarter of the buffer.
        #[source("tc-red(8), max; iproute2")]
        #[usual(4500..=3e5, linear)]
        pub max: Option<u64> = "auto", 1..=1e9, "bytes";
        /// Value of the probability at max.
        #[source("tc-red(8), probability")]
        #[usual(0.01..=1, log)]
        pub probability: f64 = "0.02", 0..=1;
        /// Packets that may arrive at once before the average reaches min; auto is (2 min + max) / (3 avpkt).
        #[source("tc-red(8), burst")]
        pub burst: Option<u32> = "auto", 0..=1_000_000, "packets";
        /// Mean packet size.
        #[source("tc-red(8), avpkt")]
        pub avpkt: u32 = "1000 B", 1..=65_535, "bytes";
        /// Rate for the calculation of idle periods; auto is the link's.
        #[source("tc-red(8), bandwidth")]
        pub bandwidth: Option<Rate> = "10 Mbps";
        /// Marking of ECN-capable packets; without it every signal is a drop. In tc it is off by default.
        #[source("tc-red(8), ecn: recommended")]
        pub ecn: bool = "true";
        /// Drops of ECN-capable packets too, from max on.
        #[source("tc-red(8), harddrop")]
        #[when(ecn = "true")]
        pub harddrop: bool = "false";
        /// No drops of packets that are not ECN-capable where ECN-capable ones are marked.
        #[source("tc-red(8), nodrop")]
        #[when(ecn = "true")]
        pub nodrop: bool = "false";
        /// Adaptation of the probability between 1 % and 50 %, to keep the average half way between min and max.
        #[source("tc-red(8), adaptive; Floyd, Gummadi and Shenker 2001")]
        pub adaptive: bool = "false";
        /// Rounding of the slope: exact, or the next smaller power of two, as before Linux 3.3.
        #[source("iproute2, tc_red_eval_P; Linux 6, red_set_parms")]
        pub slope: SlopeRounding = "exact";
        /// Unit of the table of idle periods: microseconds, in which the kernel looks it up, or the scheduler's ticks of 64 ns.
        #[source("ticks is iproute2, tc_red_eval_idle_damping, beside Linux since 3.2")]
        pub idle_clock: IdleTableClock = "microseconds";
        /// Position below another discipline, which does not dequeue again after a drop, so that the drop ends the idle period.
        #[source("Linux 6, red_enqueue and red_dequeue")]
        pub child: bool = "false";
    }
}

words! {
    /// How steep the probability rises.
    pub enum SlopeRounding { Exact = "exact", PowerOfTwo = "power-of-two" }
}

words! {
    /// Unit of idle times in the table.
    pub enum IdleTableClock { Microseconds = "microseconds", Ticks = "ticks" }
}

/// How often `adaptive` moves the probability.
const ADAPT_INTERVAL: Span = Span::from_millis(500);
const ONE_PERCENT: u32 = 42_949_673;
const MAX_P_MAX: u32 = 50 * ONE_PERCENT;

impl Settings {
    /// Contradicting parameters, each with its error.
    pub fn contradictions(&self, limit: PacketsOrBytes) -> Contradictions {
        let limit = match limit {
            PacketsOrBytes::Packets(packets) => (packets * f64::from(self.avpkt)) as u64,
            PacketsOrBytes::Bytes(bytes) => bytes as u64,
        };
        let (min, max) = self.thresholds(limit);
        let burst = self.burst_or_default(min, max);
        let mut problems = Vec::new();
        if min >= max {
            problems.push(("min", format!("{min} bytes must be below max {max} bytes")));
        }
        if limit < max {
            problems.push(("limit", format!("{limit} bytes must be at least max {max} bytes")));
        }
        if weight_log(min, burst, self.avpkt).is_none() {
            problems.push((
                "burst",
                format!("no weight passes {burst} packets; fix: give at least min / avpkt, {}", min.div_ceil(self.avpkt.into())),
            ));
        }
        if probability_slope_log(max.saturating_sub(min).max(1), self.probability).is_none() {
            problems.push(("probability", format!("{} is too small for tc", self.probability)));
        }
        problems
    }

    /// min and max in bytes, in a buffer of this many bytes.
    fn thresholds(&self, limit: u64) -> (u64, u64) {
        let max = self.max.unwrap_or_else(|| self.min.map_or(limit / 4, |min| 3 * min));
        (self.min.unwrap_or(max / 3), max)
    }

    fn burst_or_default(&self, min: u64, max: u64) -> u32 {
        self.burst.unwrap_or(((2 * min + max) / (3 * u64::from(self.avpkt))) as u32)
    }
}

/// Parameters as the kernel stores them; averages are scaled by `2^weight_log`.
struct RedParams {
    min: u64,
    max: u64,
    weight_log: u32,
    idle_decay: IdleDecayTable,
    /// The probability at `max` in units of 2^-32.
    max_p: u32,
}

/// Linux's RED at work.
pub struct LinuxRed {
    settings: Settings,
    params: RedParams,
    average: u64,
    /// Packets since the last signal; nothing while the average is not between the thresholds.
    count: Option<u64>,
    /// Threshold of `count p_b` for the next signal, in units of bytes.
    spacing_threshold: u64,
    idle_since: Option<Time>,
    next_adaptation: Time,
}

impl LinuxRed {
    /// With these settings, before this line.
    pub fn new(settings: Settings, link: &LinkParams) -> LinuxRed {
        LinuxRed {
            settings,
            params: RedParams::new(&settings, link),
            average: 0,
            count: None,
            spacing_threshold: 0,
            idle_since: None,
            next_adaptation: Time::ZERO + ADAPT_INTERVAL,
        }
    }

    fn scaled_average_at(&self, now: Time) -> u64 {
        self.idle_since.map_or(self.average, |since| self.params.idle_decay.decay(self.average, now.since(since).micros()))
    }

    /// The average in bytes.
    fn average_bytes(&self) -> u64 {
        self.average >> self.params.weight_log
    }

    /// Cause of the signal at this average, if there is one (`red_action` of the kernel).
    fn red_action(&mut self, rng: &mut Rng) -> Option<SignalCause> {
        let average = self.average_bytes();
        if average < self.params.min || average >= self.params.max {
            self.count = None;
            return (average >= self.params.max).then_some(SignalCause::Forced);
        }
        let count = self.count.map_or(0, |count| count + 1);
        let hit = count > 0 && (average - self.params.min) * count >= self.spacing_threshold;
        if count == 0 || hit {
            self.spacing_threshold = u64::from((rng.next_u64() >> 32) as u32) / self.params.probability_per_byte();
        }
        self.count = Some(if hit { 0 } else { count });
        hit.then_some(SignalCause::Early)
    }

    fn signal_verdict(&self, cause: SignalCause, capable: bool) -> EnqueueVerdict {
        let Settings { ecn, harddrop, nodrop, .. } = self.settings;
        let drop = EnqueueVerdict::drop_arriving(cause);
        match () {
            () if !ecn || cause == SignalCause::Forced && harddrop => drop,
            () if capable => EnqueueVerdict::mark_arriving(cause),
            () if nodrop => EnqueueVerdict::Pass,
            () => drop,
        }
    }
}

impl RedParams {
    fn new(settings: &Settings, link: &LinkParams) -> RedParams {
        let limit = match link.limit {
            Limit::Packets(packets) => u64::from(packets) * u64::from(settings.avpkt),
            Limit::Bytes(bytes) => bytes,
        };
        let (min, max) = settings.thresholds(limit);
        // `check` has refused what has no weight.
        let weight_log = weight_log(min, settings.burst_or_default(min, max), settings.avpkt).unwrap_or(1);
        let idle_decay = RedParams::new_idle_decay_table(settings, weight_log, link.rate);
        RedParams { min, max, weight_log, idle_decay, max_p: scaled_max_p(settings, max.saturating_sub(min).max(1)) }
    }

    fn new_idle_decay_table(settings: &Settings, weight_log: u32, link: Rate) -> IdleDecayTable {
        let in_ticks = settings.idle_clock == IdleTableClock::Ticks;
        IdleDecayTable::new(weight_log, settings.avpkt, settings.bandwidth.unwrap_or(link), in_ticks)
    }

    fn threshold_distance(&self) -> u64 {
        self.max.saturating_sub(self.min).max(1)
    }

    /// How much the probability rises for each byte, in units of 2^-32.
    fn probability_per_byte(&self) -> u64 {
        (u64::from(self.max_p) / self.threshold_distance()).max(1)
    }

    /// Target range of the average for `adaptive`, in bytes.
    fn target_range(&self) -> (u64, u64) {
        let fifth = self.threshold_distance() / 5;
        (self.min + 2 * fifth, self.min + 3 * fifth)
    }

    fn adapt_max_p(&mut self, average: u64) {
        let (low, high) = self.target_range();
        if average > high && self.max_p <= MAX_P_MAX {
            self.max_p += ONE_PERCENT.min(self.max_p / 4);
        } else if average < low && self.max_p >= ONE_PERCENT {
            self.max_p = self.max_p / 10 * 9;
        }
    }
}

fn scaled_max_p(settings: &Settings, threshold_distance: u64) -> u32 {
    let exact = (settings.probability * 2f64.powi(32)) as u32;
    match (settings.slope, probability_slope_log(threshold_distance, settings.probability)) {
        (SlopeRounding::PowerOfTwo, Some(log)) => (u64::from(u32::MAX >> log) * threshold_distance).min(u64::from(u32::MAX)) as u32,
        _ => exact,
    }
}

impl Aqm for LinuxRed {
    fn on_enqueue(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        self.average = match self.idle_since {
            Some(_) => self.scaled_average_at(arrival.now),
            None => self.average + arrival.backlog.bytes - self.average_bytes(),
        };
        let was_idle = self.idle_since.take().is_some();
        let capable = arrival.packet.ecn.is_capable();
        let verdict = self.red_action(rng).map_or(EnqueueVerdict::Pass, |cause| self.signal_verdict(cause, capable));
        if was_idle && !self.settings.child && matches!(verdict, EnqueueVerdict::Drop { .. }) {
            self.idle_since = Some(arrival.now);
        }
        verdict
    }

    fn on_moved_in(&mut self, _packet: &PacketInfo, now: Time) {
        self.average = self.scaled_average_at(now);
        self.idle_since = None;
    }

    fn on_queue_empty(&mut self, now: Time) {
        self.idle_since = Some(now);
    }

    fn next_timer(&self) -> Option<Time> {
        self.settings.adaptive.then_some(self.next_adaptation)
    }

    fn on_timer(&mut self, expiry: &TimerContext, _rng: &mut Rng) {
        self.next_adaptation = expiry.now + ADAPT_INTERVAL;
        let average = self.scaled_average_at(expiry.now) >> self.params.weight_log;
        self.params.adapt_max_p(average);
    }

    fn set_link_rate(&mut self, rate: Rate) {
        self.params.idle_decay = RedParams::new_idle_decay_table(&self.settings, self.params.weight_log, rate);
    }

    fn average_queue_length(&self) -> Option<f64> {
        Some(self.average_bytes() as f64 / f64::from(self.settings.avpkt))
    }

    fn report_gauges(&self, report: GaugeReport) {
        let max_p = f64::from(self.params.max_p) / 2f64.powi(32);
        let above = self.average_bytes().saturating_sub(self.params.min) as f64 / self.params.threshold_distance() as f64;
        report(AVERAGE_GAUGE_NAME, self.average_bytes() as f64 / f64::from(self.settings.avpkt));
        report("probability", if above >= 1.0 { 1.0 } else { max_p * above });
        report("max_p", max_p);
    }

    fn signals_arriving_packets_only(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Ecn;

    use super::*;
    use crate::aqm::Backlog;
    use crate::aqm::entry::default_values_with_overrides;

    const LINK: fn() -> LinkParams = || LinkParams { rate: Rate::from_bps(10_000_000).unwrap(), limit: Limit::Bytes(400_000) };

    fn settings(given: &[(&str, &str)]) -> Settings {
        Settings::from_values(&default_values_with_overrides("linux-red", Settings::PARAMETERS, given))
    }

    fn red(given: &[(&str, &str)]) -> LinuxRed {
        LinuxRed::new(settings(given), &LINK())
    }

    fn arrival(now: Time, bytes: u64) -> Arrival<'static> {
        Arrival { now, backlog: Backlog { packets: (bytes / 1000) as u32, bytes }, ..Arrival::PLAIN }
    }

    /// With the average brought to this many bytes.
    fn red_with_average(given: &[(&str, &str)], bytes: u64) -> LinuxRed {
        let mut red = red(given);
        red.average = bytes << red.params.weight_log;
        red
    }

    #[test]
    fn tc_fills_in_what_is_not_given() {
        let thresholds = |given: &[(&str, &str)]| settings(given).thresholds(400_000);
        assert_eq!((33_333, 100_000), thresholds(&[]));
        assert_eq!((30_000, 90_000), thresholds(&[("min", "30 KB")]));
        assert_eq!(55, settings(&[]).burst_or_default(33_333, 100_000));
        assert_eq!(50, settings(&[]).burst_or_default(30_000, 90_000));
    }

    #[test]
    fn the_average_is_a_weighted_sum_in_whole_numbers() {
        let mut red = red(&[("min", "30 KB"), ("max", "90 KB"), ("burst", "55")]);
        let weight = 1.0 / (1u64 << red.params.weight_log) as f64;
        let (mut rng, mut expected) = (Rng::for_role(1, "linux"), 0.0);
        for n in 0..500u64 {
            let bytes = (n * 977) % 80_000;
            red.on_enqueue(&arrival(Time::ZERO, bytes), &mut rng);
            expected += weight * (bytes as f64 - expected);
            assert!((red.average_bytes() as f64 - expected).abs() < 40.0, "{n}: {} {expected}", red.average_bytes());
        }
    }

    /// The gaps at a steady average of half way, where p_b is half of the probability: even on 1 .. 1/p_b, so that the long-run rate is
    /// 2 p_b / (1 + p_b).
    #[test]
    fn gaps_between_signals_are_even_from_one_to_the_inverse_probability() {
        let mut red = red_with_average(&[("min", "30 KB"), ("max", "90 KB"), ("probability", "0.1")], 60_000);
        let (mut rng, mut gaps, mut gap) = (Rng::for_role(1, "gaps"), Vec::new(), 0usize);
        while gaps.len() < 200_000 {
            gap += 1;
            if red.on_enqueue(&arrival(Time::ZERO, 60_000), &mut rng) != EnqueueVerdict::Pass {
                gaps.push(std::mem::take(&mut gap));
            }
        }
        let p_b = 0.05;
        let rate = gaps.len() as f64 / gaps.iter().sum::<usize>() as f64;
        assert!((rate / (2.0 * p_b / (1.0 + p_b)) - 1.0).abs() < 0.01, "{rate}");
        // Whole numbers make the slope a little less steep, so that now and then a gap is one longer.
        assert_eq!((Some(&1), true), (gaps.iter().min(), gaps[1..].iter().all(|&gap| gap <= 21)));
        assert!(gaps.iter().filter(|&&gap| gap == 21).count() < 200);
    }

    #[test]
    fn switches_say_what_a_signal_does() {
        let capable = |given: &[(&str, &str)], bytes, ecn| {
            let mut red = red_with_average(given, bytes);
            red.count = Some(1_000_000);
            let packet = PacketInfo { ecn, ..PacketInfo::EXAMPLE_ECT0 };
            red.on_enqueue(&Arrival { packet, ..arrival(Time::ZERO, bytes) }, &mut Rng::for_role(1, "linux"))
        };
        let mark = |cause| EnqueueVerdict::mark_arriving(cause);
        let drop = |cause| EnqueueVerdict::drop_arriving(cause);
        assert_eq!([mark(SignalCause::Early), mark(SignalCause::Forced)], [60_000, 150_000].map(|bytes| capable(&[], bytes, Ecn::Ect0)));
        assert_eq!(
            [drop(SignalCause::Early), drop(SignalCause::Forced)],
            [60_000, 150_000].map(|bytes| capable(&[("ecn", "false")], bytes, Ecn::Ect0))
        );
        assert_eq!(drop(SignalCause::Forced), capable(&[("harddrop", "true")], 150_000, Ecn::Ect0));
        assert_eq!(drop(SignalCause::Early), capable(&[], 60_000, Ecn::NotEct));
        assert_eq!(EnqueueVerdict::Pass, capable(&[("nodrop", "true")], 60_000, Ecn::NotEct));
    }

    #[test]
    fn adaptive_moves_the_probability_between_one_and_fifty_percent() {
        let after = |bytes| {
            let mut red = red_with_average(&[("adaptive", "true")], bytes);
            for _ in 0..200 {
                red.on_timer(
                    &TimerContext { now: red.next_adaptation, backlog: Backlog::EMPTY, head_sojourn: Span::ZERO },
                    &mut Rng::for_role(1, "linux"),
                );
            }
            f64::from(red.params.max_p) / 2f64.powi(32)
        };
        assert!((0.5..=0.51).contains(&after(100_000)) && (0.009..=0.01).contains(&after(0)));
        assert!((after(66_000) - 0.02).abs() < 1e-6, "half way it stays");
    }

    #[test]
    fn the_slope_of_old_kernels_is_a_power_of_two() {
        let of = |slope| red(&[("min", "30 KB"), ("max", "90 KB"), ("slope", slope)]).params;
        let (exact, old) = (of("exact"), of("power-of-two"));
        assert_eq!(0.02, (f64::from(exact.max_p) / 2f64.powi(32) * 1e6).round() / 1e6);
        assert!(old.max_p <= exact.max_p && 2 * u64::from(old.max_p) > u64::from(exact.max_p) - 60_000);
    }

    /// Packets that come every 5 ms at an idle link whose average stands above max: how many are dropped before one passes.
    fn dropped_after_overload(child: &str) -> usize {
        let mut red = red_with_average(&[("ecn", "false"), ("child", child)], 350_000);
        let mut rng = Rng::for_role(1, "wedge");
        red.on_queue_empty(Time::ZERO);
        let mut at = |n: u64| red.on_enqueue(&arrival(Time::ZERO + Span::from_millis(5) * n, 0), &mut rng);
        (1..10_000).take_while(|&n| at(n) != EnqueueVerdict::Pass).count()
    }

    #[test]
    fn an_idle_link_forgets_unless_drops_end_the_spell() {
        let (root, child) = (dropped_after_overload("false"), dropped_after_overload("true"));
        assert!(root <= 2, "as the root it halves the average at each arrival: {root}");
        assert!(child >= 5, "as a child it comes down by one packet's weight an arrival: {child}");
    }

    #[test]
    fn contradictions_are_refused() {
        let wrong = |given: &[(&str, &str)]| {
            settings(given).contradictions(PacketsOrBytes::Bytes(100_000.0)).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(vec!["min"], wrong(&[("min", "30 KB"), ("max", "20 KB"), ("burst", "40")]));
        assert_eq!(vec!["limit"], wrong(&[("min", "50 KB")]));
        assert_eq!(vec!["burst"], wrong(&[("min", "30 KB"), ("burst", "3")]));
        assert_eq!(vec!["probability"], wrong(&[("probability", "0")]));
        assert!(wrong(&[]).is_empty());
    }
}
