//! RED (Floyd and Jacobson 1993), and ECN as the papers name it: RED that marks. The law is [`law::red`](super::law::red).

use ecnlab_units::{Level, Rate, Rng, Time};

use super::law::red::{Average, BUSY, Count, GAUGES, Ramp, Settings};
use super::{Aqm, Arrival, Cause, Glimpse, Target, Wish};
use crate::registry::AqmEntry;

/// RED in the registry.
pub static RED: AqmEntry = AqmEntry {
    name: "red",
    title: "RED",
    summary: "Random early detection that drops, whether or not a packet is ECN-capable.",
    source: "Floyd and Jacobson 1993",
    parameters: Settings::PARAMETERS,
    unread: &["mark_limit"],
    check: |values, limit| Settings::of(values).check(limit),
    busy: BUSY,
    gauges: GAUGES,
    make: &|values, line| Box::new(Red::new(Settings::of(values), Mode::Drop, line.rate)),
    ..AqmEntry::PLAIN
};

/// ECN in the registry.
pub static ECN: AqmEntry = AqmEntry {
    name: "ecn",
    title: "ECN",
    summary: "RED that marks ECN-capable packets on early signals and drops on forced ones.",
    source: "Floyd 1994; RFC 3168",
    parameters: Settings::PARAMETERS,
    marks: AqmEntry::CONGESTED,
    check: |values, limit| Settings::of(values).check(limit),
    busy: BUSY,
    gauges: GAUGES,
    make: &|values, line| Box::new(Red::new(Settings::of(values), Mode::Mark, line.rate)),
    ..AqmEntry::PLAIN
};

/// ECNM in the registry.
pub static ECNM: AqmEntry = AqmEntry {
    name: "ecnm",
    title: "ECNM",
    summary: "ECN that also marks at and above max_th and drops only when the buffer is full.",
    source: "Zheng 2001, section 4.2.2",
    parameters: Settings::PARAMETERS,
    unread: &["mark_limit"],
    marks: AqmEntry::CONGESTED,
    check: |values, limit| Settings::of(values).check(limit),
    busy: BUSY,
    gauges: GAUGES,
    make: &|values, line| Box::new(Red::new(Settings::of(values), Mode::MarkAll, line.rate)),
    ..AqmEntry::PLAIN
};

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

/// RED, ECN or ECNM at work.
pub struct Red {
    mode: Mode,
    settings: Settings,
    ramp: Ramp,
    average: Average,
    count: Count,
}

impl Red {
    /// With these settings, before a line of this rate.
    pub fn new(settings: Settings, mode: Mode, rate: Rate) -> Red {
        Red { mode, settings, ramp: settings.ramp(), average: Average::new(&settings, rate), count: Count::default() }
    }

    /// Takes an arrival into the average; returns the start of the idle spell that it ended, if any. [`Red::judge`] is to follow.
    #[inline]
    pub(super) fn measure(&mut self, arrival: &Arrival) -> Option<Time> {
        self.average.update(arrival)
    }

    /// Judges the arrival that was measured.
    #[inline(always)]
    pub(super) fn judge(&mut self, arrival: &Arrival, idle: Option<Time>, rng: &mut Rng) -> Wish {
        self.count.arrival(arrival.packet.size);
        let mut wish = self.wish(arrival, rng);
        if arrival.full {
            self.count.restart();
            wish = Wish::Drop { victim: self.settings.drop.victim(arrival, rng), cause: Cause::Overflow };
        }
        self.average.resume_idle_if_dropped(idle, &wish);
        wish
    }

    /// The average as an arrival at this time would find it.
    pub(super) fn average_at(&self, now: Time) -> f64 {
        self.average.at(now)
    }

    /// Signals along another ramp from now on.
    pub(super) fn follow(&mut self, ramp: Ramp) {
        self.ramp = ramp;
    }

    #[inline(always)]
    fn wish(&mut self, arrival: &Arrival, rng: &mut Rng) -> Wish {
        let Settings { floor, drop, .. } = self.settings;
        if self.average.value() < self.ramp.min_th || arrival.backlog.packets <= floor {
            self.count.below();
            return Wish::Pass;
        }
        let forced = self.average.value() >= self.ramp.end();
        if forced && self.mode != Mode::MarkAll {
            self.count.restart();
            return Wish::Drop { victim: drop.victim(arrival, rng), cause: Cause::Forced };
        }
        if self.count.enters(&self.settings) {
            return Wish::Pass;
        }
        let p_b = self.ramp.probability(self.average.value());
        let hit = self.count.test(p_b, &self.settings, arrival.packet.size, rng);
        if !hit && !forced {
            return Wish::Pass;
        }
        self.count.restart();
        let cause = if forced { Cause::Forced } else { Cause::Early };
        if self.mode == Mode::Drop || p_b > self.settings.mark_limit && self.mode == Mode::Mark {
            return Wish::Drop { victim: drop.victim(arrival, rng), cause };
        }
        Wish::Signal { level: Level::Congested, target: Target::Arriving, cause }
    }
}

impl Aqm for Red {
    fn arrive(&mut self, arrival: &Arrival, rng: &mut Rng) -> Wish {
        let idle = self.measure(arrival);
        self.judge(arrival, idle, rng)
    }

    fn on_moved_in(&mut self, _packet: &Glimpse, now: Time) {
        self.average.end_idle(now);
    }

    fn idle(&mut self, now: Time) {
        self.average.set_idle(now);
    }

    fn retune(&mut self, rate: Rate) {
        self.average.retune(rate);
    }

    fn average(&self) -> Option<f64> {
        Some(self.average.value())
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("average", self.average.value());
        show("probability", self.ramp.probability(self.average.value()).max(0.0));
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::{Span, Values};

    use super::*;
    use crate::aqm::{Backlog, Victim};

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

    fn arrival(now: Time, packets: u32) -> Arrival<'static> {
        Arrival { now, backlog: Backlog::of(packets), ..Arrival::PLAIN }
    }

    #[test]
    fn the_average_follows_the_weighted_sum() {
        let (mut red, mut rng) = red(Mode::Drop, &[("w_q", "0.5"), ("min_th", "100"), ("max_th", "200")]);
        for (length, expected) in [(4, 2.0), (4, 3.0), (0, 1.5)] {
            red.arrive(&arrival(Time::ZERO, length), &mut rng);
            assert_eq!(Some(expected), red.average());
        }
    }

    #[test]
    fn an_idle_spell_decays_the_average_as_if_small_packets_had_passed() {
        let (mut red, mut rng) = red(Mode::Drop, &[("w_q", "0.5"), ("min_th", "100"), ("max_th", "200"), ("mean_packet", "1000 B")]);
        red.arrive(&arrival(Time::ZERO, 32), &mut rng);
        red.idle(Time::ZERO);
        let three_packets_later = Time::ZERO + Span::from_millis(16);
        red.arrive(&arrival(three_packets_later, 0), &mut rng);
        assert_eq!(Some(16.0 * 0.5f64.powi(4)), red.average());
    }

    #[test]
    fn signals_come_at_even_gaps_between_one_and_two_times_the_inverse_probability() {
        let (mut red, mut rng) = red(Mode::Mark, &[("w_q", "1"), ("min_th", "5"), ("max_th", "15"), ("max_p", "0.1")]);
        let mut gaps = Vec::new();
        let mut gap = 0;
        for _ in 0..20_000 {
            gap += 1;
            if red.arrive(&arrival(Time::ZERO, 10), &mut rng) != Wish::Pass {
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
        let hits = (0..20_000).filter(|_| red.arrive(&arrival(Time::ZERO, 10), &mut rng) != Wish::Pass).count();
        assert!((20_000.0 / hits as f64 - 10.5).abs() < 0.6, "{hits}");
    }

    #[test]
    fn above_max_th_red_forces_a_drop_and_ecnm_marks() {
        for (mode, marks) in [(Mode::Drop, false), (Mode::Mark, false), (Mode::MarkAll, true)] {
            let (mut red, mut rng) = red(mode, &[("w_q", "1")]);
            red.arrive(&arrival(Time::ZERO, 20), &mut rng);
            let wish = red.arrive(&arrival(Time::ZERO, 20), &mut rng);
            let signalled = wish == Wish::Signal { level: Level::Congested, target: Target::Arriving, cause: Cause::Forced };
            assert_eq!(marks, signalled, "{mode:?}: {wish:?}");
        }
    }

    /// Zheng 2001, section 4.2.2: each one, also where counting by RED's rule would leave some out.
    #[test]
    fn above_max_th_ecnm_marks_every_packet_but_the_first_above_min_th() {
        for settings in [&[("count_self", "false")][..], &[("unit", "bytes"), ("mean_packet", "1000 B"), ("wait", "false")]] {
            let given: Vec<_> = [("w_q", "1")].iter().chain(settings).copied().collect();
            let (mut red, mut rng) = red(Mode::MarkAll, &given);
            let small = Arrival { packet: Glimpse { size: 80, ..Glimpse::PLAIN }, ..arrival(Time::ZERO, 20) };
            let wishes: Vec<Wish> = (0..100).map(|_| red.arrive(&small, &mut rng)).collect();
            let marked = wishes.iter().filter(|wish| matches!(wish, Wish::Signal { cause: Cause::Forced, .. })).count();
            assert_eq!((99, Wish::Pass), (marked, wishes[0]), "{settings:?}");
        }
    }

    #[test]
    fn above_the_mark_limit_ecn_drops() {
        let (mut red, mut rng) = red(Mode::Mark, &[("w_q", "1"), ("max_p", "0.5"), ("mark_limit", "0.1")]);
        let wishes: Vec<Wish> = (0..100).map(|_| red.arrive(&arrival(Time::ZERO, 10), &mut rng)).collect();
        assert!(wishes.contains(&Wish::Drop { victim: Victim::Arriving, cause: Cause::Early }));
        assert!(!wishes.iter().any(|wish| matches!(wish, Wish::Signal { .. })));
    }

    #[test]
    fn a_full_buffer_drops_whatever_red_thinks() {
        let (mut red, mut rng) = red(Mode::Mark, &[]);
        let full = Arrival { full: true, ..arrival(Time::ZERO, 10) };
        assert_eq!(Wish::Drop { victim: Victim::Arriving, cause: Cause::Overflow }, red.arrive(&full, &mut rng));
    }

    #[test]
    fn byte_mode_counts_small_packets_as_less() {
        let (mut red, mut rng) =
            red(Mode::Mark, &[("unit", "bytes"), ("mean_packet", "1000 B"), ("w_q", "1"), ("min_th", "100"), ("max_th", "200")]);
        red.arrive(&Arrival { backlog: Backlog { packets: 50, bytes: 2_000 }, ..Arrival::PLAIN }, &mut rng);
        assert_eq!(Some(2.0), red.average());
    }

    #[test]
    fn packets_dropped_at_an_empty_queue_do_not_end_the_idle_spell() {
        let (mut red, mut rng) =
            red(Mode::Drop, &[("w_q", "0.002"), ("floor", "0"), ("min_th", "5"), ("max_th", "15"), ("mean_packet", "1000 B")]);
        for _ in 0..2_000 {
            red.arrive(&arrival(Time::ZERO, 40), &mut rng);
        }
        assert!(red.average().unwrap() > 15.0);
        red.idle(Time::ZERO);
        // One packet every 2 ms where the link could send one in 5.3 ms: each alone decays next to nothing.
        let passed = (1..=2_000).find(|&n| red.arrive(&arrival(Time::ZERO + Span::from_millis(2) * n, 0), &mut rng) == Wish::Pass);
        let first = passed.expect("the link starves: the average never came down");
        assert!(first < 400, "the first packet passed only after {first} arrivals");
    }
}
