//! RED (Floyd and Jacobson 1993), and ECN as the papers name it: RED that marks.
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
//! ```
//!
//! The order of the steps is that of ns-2 2.35: `count` grows at every arrival, the first arrival above `min_th` is let pass
//! without a draw, at most one waiting packet (`floor`) never brings a signal, and the idle link's packets are counted as whole ones.
//! One thing differs: a packet that is dropped at an idle link does not end the idle spell, so that an average above
//! `max_th` cannot starve the link (the wedge that ns-2's `floor` hides and real kernels show).

use ecnlab_units::quantity::Amount;
use ecnlab_units::{Level, Rate, Rng, Span, Time, math, parameters, words};

use super::{Aqm, Cause, Glimpse, Target, Victim, Wish};

parameters! {
    /// RED's law as a scenario sets it. Every algorithm that signals by this law shares the table.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        /// Average queue length below which no packet is signalled.
        #[source("Floyd and Jacobson 1993, section 4")]
        pub min_th: f64 = "5", 0..=1e9, "packets";
        /// Average queue length from which every packet is signalled.
        #[source("Floyd and Jacobson 1993, section 4")]
        pub max_th: f64 = "15", 0..=1e9, "packets";
        /// What p_b, the probability before signals are spaced out, reaches at max_th; the share of packets signalled there is about
        /// 2 max_p without wait and two thirds of max_p with it.
        #[source("Floyd and Jacobson 1993, section 4")]
        #[off("0", "no packet is signalled before the average reaches max_th")]
        pub max_p: f64 = "0.1", 0..=1;
        /// Weight of the newest queue length in the average; auto is 1 - exp(-1/C) with the link's C in packets/s.
        #[source("Floyd and Jacobson 1993, section 6; Floyd, Gummadi and Shenker 2001, section 3")]
        #[off("0", "the average stays 0 and no packet is ever signalled")]
        pub w_q: Option<f64> = "0.002", 0..=1;
        /// Let the probability rise from max_p to 1 between max_th and 2 max_th instead of forcing every packet.
        #[source("Floyd 2000, Recommendation on using the gentle_ variant of RED")]
        pub gentle: bool = "false";
        /// Space signals out: none before 1/p_b packets have passed.
        #[source("ns-2 2.35, wait_")]
        pub wait: bool = "true";
        /// Measure the queue, and scale the probability, by packets or by bytes over mean_packet.
        #[source("Floyd and Jacobson 1993, section 9")]
        pub unit: Unit = "packets";
        /// Mean packet size for the idle link's estimate, for w_q = auto and for unit = bytes.
        #[source("ns-2 2.35, mean_pktsize_")]
        pub mean_packet: u32 = "500 B", 1..=65_535, "bytes";
        /// Mark only while p_b is at most this, above it drop.
        #[source("ns-2 2.35, mark_p_; RFC 3168, section 7")]
        #[off("0", "no packet is marked: what would be marked is dropped")]
        pub mark_limit: f64 = "1", 0..=1;
        /// Which packet a drop takes: the arriving, the oldest or a random one. One that is to be marked and is not ECN-capable goes itself.
        #[source("ns-2 2.35, drop_front_ and drop_rand_")]
        pub drop: DropPolicy = "tail";
        /// No signal while at most this many packets wait.
        #[source("ns-2 2.35, qlen > 1")]
        pub floor: u32 = "1", 0..=1_000_000, "packets";
    }
}

words! {
    /// What the queue is measured in.
    pub enum Unit { Packets = "packets", Bytes = "bytes" }
}

words! {
    /// Which packet a drop takes.
    pub enum DropPolicy { Tail = "tail", Front = "front", Random = "random" }
}

impl Settings {
    /// What is wrong with thresholds that contradict each other: the parameter's name and why.
    pub fn check(&self, limit: Amount) -> Vec<(&'static str, String)> {
        let Settings { min_th, max_th, .. } = *self;
        let limit_packets = match limit {
            Amount::Packets(packets) => packets,
            Amount::Bytes(bytes) => bytes / f64::from(self.mean_packet),
        };
        let mut problems = Vec::new();
        if min_th >= max_th {
            problems.push(("min_th", format!("{min_th} must be below max_th {max_th}")));
        }
        if limit_packets < max_th {
            problems.push(("limit", format!("{limit_packets} packets must be at least max_th {max_th}")));
        }
        problems
    }

    /// The line that all packets share.
    pub(crate) fn ramp(&self) -> Ramp {
        Ramp::new(self.min_th, self.max_th, self.max_p, self.gentle)
    }
}

/// How a signal is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Every signal drops.
    Drop,
    /// Early signals mark, forced ones drop.
    Mark,
    /// Early and forced signals mark; only a full buffer drops.
    MarkAll,
}

pub struct Red {
    mode: Mode,
    settings: Settings,
    ramp: Ramp,
    average: Average,
    count: Count,
}

impl Red {
    pub fn new(settings: Settings, mode: Mode, rate: Rate) -> Red {
        Red { mode, settings, ramp: settings.ramp(), average: Average::new(&settings, rate), count: Count::default() }
    }

    fn wish(&mut self, glimpse: &Glimpse, rng: &mut Rng) -> Wish {
        let Settings { floor, drop, .. } = self.settings;
        if self.average.value() < self.ramp.min_th || glimpse.packets <= floor {
            self.count.below();
            return Wish::Pass;
        }
        if self.average.value() >= self.ramp.end() && self.mode != Mode::MarkAll {
            self.count.restart();
            return Wish::Drop { victim: drop.victim(glimpse, rng), cause: Cause::Forced };
        }
        if self.count.enters() {
            return Wish::Pass;
        }
        let p_b = self.ramp.probability(self.average.value());
        if !self.count.test(p_b, &self.settings, glimpse.size, rng) {
            return Wish::Pass;
        }
        let cause = if self.average.value() >= self.ramp.end() { Cause::Forced } else { Cause::Early };
        if self.mode == Mode::Drop || p_b > self.settings.mark_limit && self.mode == Mode::Mark {
            return Wish::Drop { victim: drop.victim(glimpse, rng), cause };
        }
        Wish::Signal { level: Level::Congested, target: Target::Arriving, cause }
    }
}

impl Aqm for Red {
    fn arrive(&mut self, glimpse: &Glimpse, rng: &mut Rng) -> Wish {
        let idle = self.average.update(glimpse);
        self.count.arrival(glimpse.size);
        let mut wish = self.wish(glimpse, rng);
        if glimpse.full {
            self.count.restart();
            wish = Wish::Drop { victim: self.settings.drop.victim(glimpse, rng), cause: Cause::Overflow };
        }
        self.average.resume_idle_if_dropped(idle, &wish);
        wish
    }

    fn idle(&mut self, now: Time) {
        self.average.set_idle(now);
    }

    fn average(&self) -> Option<f64> {
        Some(self.average.value())
    }
}

impl DropPolicy {
    pub(crate) fn victim(self, glimpse: &Glimpse, rng: &mut Rng) -> Victim {
        match self {
            DropPolicy::Tail => Victim::Arriving,
            DropPolicy::Front => Victim::Front,
            DropPolicy::Random => Victim::Waiting(rng.below(u64::from(glimpse.packets) + 1) as u32),
        }
    }
}

/// The exponentially weighted average queue length, with the decay of idle spells.
pub(crate) struct Average {
    average: f64,
    w_q: f64,
    unit: Unit,
    mean_packet: f64,
    /// How long the link takes for a packet of the mean size.
    packet_time: Span,
    idle_since: Option<Time>,
}

impl Average {
    pub(crate) fn new(settings: &Settings, rate: Rate) -> Average {
        let mean_packet = f64::from(settings.mean_packet);
        let packets_per_second = rate.bps() as f64 / (8.0 * mean_packet);
        Average {
            average: 0.0,
            w_q: settings.w_q.unwrap_or_else(|| 1.0 - math::exp(-1.0 / packets_per_second)),
            unit: settings.unit,
            mean_packet,
            packet_time: rate.transmission(settings.mean_packet),
            idle_since: None,
        }
    }

    /// Takes the arrival in; returns the start of the idle spell that it ended, if any.
    pub(crate) fn update(&mut self, glimpse: &Glimpse) -> Option<Time> {
        let idle = self.idle_since.take();
        let length = match self.unit {
            Unit::Packets => f64::from(glimpse.packets),
            Unit::Bytes => glimpse.bytes as f64 / self.mean_packet,
        };
        let sent = idle.map_or(0, |since| self.could_have_sent(since, glimpse.now));
        self.average *= math::powi(1.0 - self.w_q, sent + 1);
        self.average += self.w_q * length;
        idle.map(|since| since + self.packet_time * sent)
    }

    /// A packet that was dropped at an idle link leaves it idle: the spell goes on from where it was counted.
    pub(crate) fn resume_idle_if_dropped(&mut self, idle: Option<Time>, wish: &Wish) {
        if matches!(wish, Wish::Drop { .. }) {
            self.idle_since = idle;
        }
    }

    pub(crate) fn value(&self) -> f64 {
        self.average
    }

    pub(crate) fn set_idle(&mut self, now: Time) {
        self.idle_since = Some(now);
    }

    fn could_have_sent(&self, since: Time, now: Time) -> u64 {
        now.since(since).picos() / self.packet_time.picos().max(1)
    }
}

/// The line from `min_th` to `max_th`, and the gentle one after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ramp {
    pub(crate) min_th: f64,
    max_th: f64,
    max_p: f64,
    gentle: bool,
}

impl Ramp {
    pub(crate) fn new(min_th: f64, max_th: f64, max_p: f64, gentle: bool) -> Ramp {
        Ramp { min_th, max_th, max_p, gentle }
    }

    /// The average from which every packet is forced.
    pub(crate) fn end(&self) -> f64 {
        if self.gentle { 2.0 * self.max_th } else { self.max_th }
    }

    /// `p_b` at this average.
    pub(crate) fn probability(&self, average: f64) -> f64 {
        let p = if average < self.max_th {
            self.max_p * (average - self.min_th) / (self.max_th - self.min_th)
        } else if self.gentle {
            average * (1.0 - self.max_p) / self.max_th + 2.0 * self.max_p - 1.0
        } else {
            1.0
        };
        p.min(1.0)
    }
}

/// Packets and bytes since the last signal, which spread signals evenly.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    packets: u64,
    bytes: u64,
    above: bool,
}

impl Count {
    pub(crate) fn arrival(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }

    /// The average is below `min_th`, or hardly anything waits.
    pub(crate) fn below(&mut self) {
        self.above = false;
    }

    /// Whether this arrival is the first above `min_th`: counting starts, and it passes without a draw.
    pub(crate) fn enters(&mut self) -> bool {
        let enters = !self.above;
        if enters {
            (self.packets, self.bytes, self.above) = (1, 0, true);
        }
        enters
    }

    pub(crate) fn restart(&mut self) {
        (self.packets, self.bytes) = (0, 0);
    }

    /// One random test with `p_b`; a hit starts the count anew.
    pub(crate) fn test(&mut self, p_b: f64, settings: &Settings, size: u32, rng: &mut Rng) -> bool {
        let p_a = self.spread(p_b, settings, size);
        let hit = rng.uniform() <= p_a && p_a > 0.0;
        if hit {
            self.restart();
        }
        hit
    }

    /// `p_a`: `p_b` spread so that the gaps between signals are even rather than geometric.
    fn spread(&self, p_b: f64, settings: &Settings, size: u32) -> f64 {
        let mean_packet = f64::from(settings.mean_packet);
        let count = match settings.unit {
            Unit::Packets => self.packets as f64,
            Unit::Bytes => (self.bytes as f64 / mean_packet).floor(),
        };
        let passed = count * p_b;
        let p = match (settings.wait, passed) {
            (true, passed) if passed < 1.0 => 0.0,
            (true, passed) if passed < 2.0 => p_b / (2.0 - passed),
            (false, passed) if passed < 1.0 => p_b / (1.0 - passed),
            _ => 1.0,
        };
        let scale = if settings.unit == Unit::Bytes && p < 1.0 { f64::from(size) / mean_packet } else { 1.0 };
        (p * scale).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Values;

    use super::*;

    fn values(settings: &[(&str, &str)]) -> Values {
        let mut values = Values::defaults(Settings::PARAMETERS);
        for (name, text) in settings {
            values.read(name, text).unwrap();
        }
        values
    }

    fn red(mode: Mode, settings: &[(&str, &str)]) -> (Red, Rng) {
        (Red::new(Settings::of(&values(settings)), mode, Rate::from_bps(1_500_000).unwrap()), Rng::for_role(1, "red"))
    }

    fn glimpse(now: Time, packets: u32) -> Glimpse<'static> {
        Glimpse { now, size: 1000, rtt: Span::ZERO, packets, bytes: u64::from(packets) * 1000, class_packets: &[], full: false }
    }

    #[test]
    fn the_average_follows_the_weighted_sum() {
        let (mut red, mut rng) = red(Mode::Drop, &[("w_q", "0.5"), ("min_th", "100"), ("max_th", "200")]);
        for (length, expected) in [(4, 2.0), (4, 3.0), (0, 1.5)] {
            red.arrive(&glimpse(Time::ZERO, length), &mut rng);
            assert_eq!(Some(expected), red.average());
        }
    }

    #[test]
    fn an_idle_spell_decays_the_average_as_if_small_packets_had_passed() {
        let (mut red, mut rng) = red(Mode::Drop, &[("w_q", "0.5"), ("min_th", "100"), ("max_th", "200"), ("mean_packet", "1000 B")]);
        red.arrive(&glimpse(Time::ZERO, 32), &mut rng);
        red.idle(Time::ZERO);
        let three_packets_later = Time::ZERO + Span::from_millis(16);
        red.arrive(&glimpse(three_packets_later, 0), &mut rng);
        assert_eq!(Some(16.0 * 0.5f64.powi(4)), red.average());
    }

    #[test]
    fn signals_come_at_even_gaps_between_one_and_two_times_the_inverse_probability() {
        let (mut red, mut rng) = red(Mode::Mark, &[("w_q", "1"), ("min_th", "5"), ("max_th", "15"), ("max_p", "0.1")]);
        let mut gaps = Vec::new();
        let mut gap = 0;
        for _ in 0..20_000 {
            gap += 1;
            if red.arrive(&glimpse(Time::ZERO, 10), &mut rng) != Wish::Pass {
                gaps.push(gap);
                gap = 0;
            }
        }
        assert!(gaps[1..].iter().all(|&gap| (20..=40).contains(&gap)), "{gaps:?}");
        let mean = gaps.iter().sum::<i32>() as f64 / gaps.len() as f64;
        assert!((mean - 30.0).abs() < 1.0, "{mean}");
    }

    #[test]
    fn without_wait_the_mean_gap_is_half_as_long() {
        let (mut red, mut rng) = red(Mode::Mark, &[("w_q", "1"), ("max_p", "0.1"), ("wait", "false")]);
        let hits = (0..20_000).filter(|_| red.arrive(&glimpse(Time::ZERO, 10), &mut rng) != Wish::Pass).count();
        assert!((20_000.0 / hits as f64 - 10.5).abs() < 0.6, "{hits}");
    }

    #[test]
    fn gentle_red_rises_to_one_at_twice_max_th() {
        let ramp = Ramp::new(5.0, 15.0, 0.1, true);
        assert!((ramp.probability(15.0) - 0.1).abs() < 1e-12);
        assert!((ramp.probability(22.5) - 0.55).abs() < 1e-12);
        assert!((ramp.probability(30.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn above_max_th_red_forces_a_drop_and_ecnm_marks() {
        for (mode, marks) in [(Mode::Drop, false), (Mode::Mark, false), (Mode::MarkAll, true)] {
            let (mut red, mut rng) = red(mode, &[("w_q", "1")]);
            red.arrive(&glimpse(Time::ZERO, 20), &mut rng);
            let wish = red.arrive(&glimpse(Time::ZERO, 20), &mut rng);
            let signalled = wish == Wish::Signal { level: Level::Congested, target: Target::Arriving, cause: Cause::Forced };
            assert_eq!(marks, signalled, "{mode:?}: {wish:?}");
        }
    }

    #[test]
    fn above_the_mark_limit_ecn_drops() {
        let (mut red, mut rng) = red(Mode::Mark, &[("w_q", "1"), ("max_p", "0.5"), ("mark_limit", "0.1")]);
        let wishes: Vec<Wish> = (0..100).map(|_| red.arrive(&glimpse(Time::ZERO, 10), &mut rng)).collect();
        assert!(wishes.contains(&Wish::Drop { victim: Victim::Arriving, cause: Cause::Early }));
        assert!(!wishes.iter().any(|wish| matches!(wish, Wish::Signal { .. })));
    }

    #[test]
    fn a_full_buffer_drops_whatever_red_thinks() {
        let (mut red, mut rng) = red(Mode::Mark, &[]);
        let full = Glimpse { full: true, ..glimpse(Time::ZERO, 10) };
        assert_eq!(Wish::Drop { victim: Victim::Arriving, cause: Cause::Overflow }, red.arrive(&full, &mut rng));
    }

    #[test]
    fn byte_mode_counts_small_packets_as_less() {
        let (mut red, mut rng) =
            red(Mode::Mark, &[("unit", "bytes"), ("mean_packet", "1000 B"), ("w_q", "1"), ("min_th", "100"), ("max_th", "200")]);
        red.arrive(&Glimpse { bytes: 2_000, ..glimpse(Time::ZERO, 50) }, &mut rng);
        assert_eq!(Some(2.0), red.average());
    }

    #[test]
    fn packets_dropped_at_an_empty_queue_do_not_end_the_idle_spell() {
        let (mut red, mut rng) =
            red(Mode::Drop, &[("w_q", "0.002"), ("floor", "0"), ("min_th", "5"), ("max_th", "15"), ("mean_packet", "1000 B")]);
        for _ in 0..2_000 {
            red.arrive(&glimpse(Time::ZERO, 40), &mut rng);
        }
        assert!(red.average().unwrap() > 15.0);
        red.idle(Time::ZERO);
        // One packet every 2 ms where the link could send one in 5.3 ms: each alone decays next to nothing.
        let passed = (1..=2_000).find(|&n| red.arrive(&glimpse(Time::ZERO + Span::from_millis(2) * n, 0), &mut rng) == Wish::Pass);
        let first = passed.expect("the link starves: the average never came down");
        assert!(first < 400, "the first packet passed only after {first} arrivals");
    }
}
