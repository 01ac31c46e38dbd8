//! CUBIC in whole segments and ticks (Ha, Rhee and Xu 2008; Linux bictcp_update).
//!
//! ```text
//! W(t)    = W_max + C (t - K)^3, a step at a time:  t in 1/1024 s of ticks since the epoch began and the smallest round trip more,
//!           K = cbrt((W_max - cwnd) / C), C and beta in 1/1024
//! count   = cwnd / (W(t) - cwnd), how many segments are acknowledged for one more, where the curve is above the window;
//!           100 cwnd where it is not; at most 20 before the first cut
//!           at most cwnd / (W_reno - cwnd) where W_reno is larger, which grows by one for cwnd beta_reno / 8 segments
//!           at least 2, so that the window grows by half in a round trip
//! anew      in a tick that the last one was not computed in, and while the window stays only after more than 1/32 s
//! cut:      W_max = cwnd, or cwnd (1 + beta) / 2 if that is below the last W_max;  ssthresh = beta cwnd, all rounded down
//! timeout:  all is forgotten, W_max and the smallest round trip too
//! ```
//!
//! The time in which nothing was outstanding is taken out of the epoch. In the first second of an epoch round trips are not looked at.

use ecnlab_units::{Span, Time};

use super::cube_root::cube_root;
use super::{Credit, GRID, cut_to, on_grid, slow_start};
use crate::clock::HostClock;
use crate::settings::Settings;
use crate::window::{Acked, CongestionControl, CutCause, Window};

/// The count where the curve is not above the window, as a multiple of the window.
const HARDLY_ANY: u64 = 100;
/// The largest count before the first cut, and the smallest ever.
const BEFORE_CUT: u64 = 20;
const FASTEST: u64 = 2;
/// A count holds for so long, in whole ticks, while the window stays.
const HOLDS: Span = Span::from_picos(Span::from_secs(1).picos() / 32);
/// C times time cubed: C and each of the times in 1/1024.
const CURVE_SHIFT: u32 = 40;

/// The parameters on the grid, and what follows from them.
struct Constants {
    c: u64,
    beta: u64,
    /// 8 (1 + beta) / 3 (1 - beta): eight times the segments for one of Reno's, as a multiple of the window.
    reno: u64,
    fast_convergence: bool,
    reno_friendly: bool,
}

impl Constants {
    fn of(settings: &Settings) -> Constants {
        let beta = on_grid(settings.cubic_beta);
        Constants {
            c: on_grid(settings.cubic_c).max(1),
            beta,
            reno: 8 * (GRID + beta) / 3 / (GRID - beta),
            fast_convergence: settings.cubic_fast_convergence,
            reno_friendly: settings.cubic_reno_friendly,
        }
    }
}

/// What every acknowledgement reads stands first, in one cache line.
#[repr(C, align(64))]
pub struct WholeCubic {
    credit: Credit,
    state: State,
    clock: HostClock,
    constants: Constants,
}

/// What a timeout forgets. Times are in ticks; zero is none of a window.
#[repr(C)]
struct State {
    /// Smallest round-trip time in microseconds; [`NOT_YET`] before the first.
    base: u64,
    /// From when on round-trip times count.
    counts_from: Time,
    /// Segments that Reno's window has not yet grown for.
    for_reno: u64,
    /// The window that the count was last computed for, and until when it holds for that.
    computed_for: u64,
    holds_until: Time,
    /// How many segments are acknowledged for one more.
    count: u64,
    /// When the count was last computed.
    computed_at: u64,
    /// When the epoch began; [`NOT_YET`] after a cut.
    began: u64,
    w_max: u64,
    k: u64,
    origin: u64,
    /// Reno's window.
    w_reno: u64,
}

const NOT_YET: u64 = u64::MAX;

impl State {
    fn new(clock: &HostClock) -> State {
        State {
            base: NOT_YET,
            counts_from: Time::ZERO,
            for_reno: 0,
            computed_for: 0,
            holds_until: hold_ends(0, clock),
            count: 0,
            computed_at: 0,
            began: NOT_YET,
            w_max: 0,
            k: 0,
            origin: 0,
            w_reno: 0,
        }
    }
}

impl WholeCubic {
    pub fn new(settings: &Settings, clock: HostClock) -> WholeCubic {
        WholeCubic { credit: Credit::default(), state: State::new(&clock), clock, constants: Constants::of(settings) }
    }

    /// Settles how many segments are acknowledged for one more.
    #[inline]
    fn settle_count(&mut self, cwnd: u64, segments: u64, now: Time) {
        let state = &mut self.state;
        state.for_reno += segments;
        if state.computed_for != cwnd || now >= state.holds_until {
            self.compute_count(cwnd, segments, self.clock.ticks(now));
        }
    }

    #[inline(never)]
    fn compute_count(&mut self, cwnd: u64, segments: u64, now: u64) {
        let state = &mut self.state;
        if state.began == NOT_YET || now != state.computed_at {
            (state.computed_for, state.computed_at, state.holds_until) = (cwnd, now, hold_ends(now, &self.clock));
            let began = self.epoch(cwnd, segments, now);
            self.follow_curve(cwnd, now - began);
        }
        if self.constants.reno_friendly {
            self.keep_up_with_reno(cwnd);
        }
        self.state.count = self.state.count.max(FASTEST);
    }

    /// When the epoch began that is on, or begins now.
    fn epoch(&mut self, cwnd: u64, segments: u64, now: u64) -> u64 {
        let state = &mut self.state;
        if state.began != NOT_YET {
            return state.began;
        }
        self.begin(now);
        let state = &mut self.state;
        (state.for_reno, state.w_reno) = (segments, cwnd);
        state.origin = state.w_max.max(cwnd);
        state.k = cube_root((1 << CURVE_SHIFT) / self.constants.c * (state.origin - cwnd));
        now
    }

    /// An epoch began at this tick; in its first second round-trip times do not count.
    fn begin(&mut self, began: u64) {
        self.state.began = began;
        self.state.counts_from = self.clock.at(began + self.clock.ticks_of(Span::from_secs(1)));
    }

    fn follow_curve(&mut self, cwnd: u64, since: u64) {
        let ahead = self.clock.ticks_of(Span::from_micros(if self.state.base == NOT_YET { 0 } else { self.state.base }));
        let t = on_time_grid(self.clock.tick() * (since + ahead));
        let state = &mut self.state;
        let rise = rise_of(self.constants.c, t.abs_diff(state.k));
        let target = if t < state.k { state.origin.saturating_sub(rise) } else { state.origin.saturating_add(rise) };
        state.count = if target > cwnd { cwnd / (target - cwnd) } else { HARDLY_ANY * cwnd };
        if state.w_max == 0 {
            state.count = state.count.min(BEFORE_CUT);
        }
    }

    fn keep_up_with_reno(&mut self, cwnd: u64) {
        let state = &mut self.state;
        let per = ((cwnd * self.constants.reno) >> 3).max(1);
        while state.for_reno > per {
            state.for_reno -= per;
            state.w_reno += 1;
        }
        if state.w_reno > cwnd {
            state.count = state.count.min(cwnd / (state.w_reno - cwnd));
        }
    }
}

/// When a count that was computed at this tick holds no more.
fn hold_ends(computed_at: u64, clock: &HostClock) -> Time {
    clock.at(computed_at + HOLDS.picos() / clock.tick().picos() + 1)
}

/// A span in 1/1024 s, rounded down: a second is 2^12 5^12 ps.
fn on_time_grid(span: Span) -> u64 {
    const STEP: u64 = Span::from_secs(1).picos() / GRID;
    const { assert!(STEP * GRID == Span::from_secs(1).picos()) }
    span.picos() / STEP
}

/// C times the cube of a time, in segments.
fn rise_of(c: u64, time: u64) -> u64 {
    let cube = c.checked_mul(time).and_then(|by| by.checked_mul(time)).and_then(|by| by.checked_mul(time));
    cube.map_or_else(|| large_rise_of(c, time), |cube| cube >> CURVE_SHIFT)
}

#[cold]
fn large_rise_of(c: u64, time: u64) -> u64 {
    let time = u128::from(time);
    u64::try_from((u128::from(c) * time * time * time) >> CURVE_SHIFT).unwrap_or(u64::MAX)
}

impl CongestionControl for WholeCubic {
    fn acknowledged(&mut self, window: &mut Window, acked: &Acked) {
        let left = slow_start(window, acked.segments);
        if left > 0 {
            self.settle_count(window.cwnd as u64, left, acked.now);
            self.credit.avoid(window, self.state.count, left);
        }
    }

    fn loss_share(&self) -> f64 {
        self.constants.beta as f64 / GRID as f64
    }

    fn left_by_loss(&self, cwnd: f64) -> f64 {
        cut_to(cwnd, self.constants.beta)
    }

    #[inline]
    fn takes_sample(&mut self, rtt: u64, now: Time) -> bool {
        let state = &mut self.state;
        if now < state.counts_from {
            return false;
        }
        state.base = state.base.min(rtt);
        true
    }

    fn cut(&mut self, before: &Window, _cause: CutCause, _now: Time) {
        let cwnd = before.cwnd as u64;
        let falls = self.constants.fast_convergence && cwnd < self.state.w_max;
        self.state.w_max = if falls { cwnd * (GRID + self.constants.beta) / (2 * GRID) } else { cwnd };
        (self.state.began, self.state.counts_from) = (NOT_YET, Time::ZERO);
        self.credit.forget();
    }

    fn timed_out(&mut self, _high: u64, _now: Time) {
        self.state = State::new(&self.clock);
        self.credit.forget();
    }

    fn resumed(&mut self, now: Time, last_sent: Time) {
        let now = self.clock.ticks(now);
        if self.state.began != NOT_YET {
            self.begin((self.state.began + now - self.clock.ticks(last_sent)).min(now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;
    use crate::window::acked;

    /// A control and its window, shown evenly spaced acknowledgements of single segments.
    struct Flow {
        cubic: WholeCubic,
        window: Window,
        rtt: Span,
        now: Time,
    }

    impl Flow {
        fn new(cwnd: f64, rtt_millis: u64, reno_friendly: bool) -> Flow {
            let settings = Settings { tick: Span::from_millis(4), cubic_reno_friendly: reno_friendly, ..profile::settings("linux") };
            Flow {
                cubic: WholeCubic::new(&settings, HostClock::new(&settings, Span::from_secs(1))),
                window: Window { cwnd, ssthresh: cwnd },
                rtt: Span::from_millis(rtt_millis),
                now: Time::ZERO,
            }
        }

        fn cut(&mut self) {
            let left = self.cubic.left_by_loss(self.window.cwnd);
            self.cubic.cut(&self.window, CutCause::Loss, self.now);
            self.window = Window { cwnd: left, ssthresh: left };
        }

        fn acknowledge(&mut self) {
            self.cubic.takes_sample(self.rtt.picos() / Span::from_micros(1).picos(), self.now);
            self.cubic.acknowledged(&mut self.window, &acked(1, self.now, self.rtt));
        }

        /// A window's acknowledgements over a round trip.
        fn round(&mut self) {
            let acknowledgements = self.window.cwnd as u64;
            for _ in 0..acknowledgements {
                self.acknowledge();
                self.now += Span::from_picos(self.rtt.picos() / acknowledgements);
            }
        }

        fn rounds(&mut self, rounds: u64) -> f64 {
            (0..rounds).for_each(|_| self.round());
            self.window.cwnd
        }
    }

    /// RFC 9438, figure 1, after a cut of 1000 segments to 700: K = 9.09 s.
    #[test]
    fn the_window_is_the_rfc_s_cubic_of_the_time_to_a_hundredth() {
        let mut flow = Flow::new(1000.0, 100, false);
        flow.acknowledge();
        flow.cut();
        let cut = flow.now;
        for _ in 0..150 {
            flow.round();
            let from_plateau = flow.now.since(cut).seconds() - 9.086;
            let expected = 0.4 * from_plateau * from_plateau * from_plateau + 1000.0;
            assert!((flow.window.cwnd / expected - 1.0).abs() < 0.01, "{} at {} s, not {expected}", flow.window.cwnd, flow.now.seconds());
        }
    }

    /// The cubic adds a segment in more than a second here; AIMD with 0.7 adds 0.53 in a round trip of 10 ms (RFC 9438, section 4.3).
    #[test]
    fn on_a_short_path_growth_is_that_of_aimd() {
        let mut flow = Flow::new(60.0, 10, true);
        flow.cut();
        let grown = flow.rounds(40) - 42.0;
        assert!((grown - 40.0 * 0.53).abs() < 2.0, "{grown}");
    }

    #[test]
    fn before_the_first_cut_growth_is_at_least_a_twentieth_in_a_round_trip_and_at_most_a_half() {
        assert_eq!(105.0, Flow::new(100.0, 10, false).rounds(1));
        let mut flow = Flow::new(100.0, 10, false);
        flow.acknowledge();
        flow.now += Span::from_secs(100);
        let grown = flow.rounds(1);
        assert!((149.0..=151.0).contains(&grown), "{grown}");
    }

    #[test]
    fn a_cut_below_the_last_maximum_lowers_the_next_plateau_further() {
        let mut flow = Flow::new(1000.0, 100, true);
        flow.cut();
        flow.window.cwnd = 900.0;
        flow.cut();
        // 900 (1024 + 717) / 2048 = 765.09.
        assert_eq!((765, 630.0), (flow.cubic.state.w_max, flow.window.cwnd));
    }

    #[test]
    fn a_timeout_forgets_the_plateau_and_the_smallest_round_trip_time() {
        let mut flow = Flow::new(1000.0, 100, true);
        flow.acknowledge();
        flow.cut();
        assert_eq!((1000, 100_000), (flow.cubic.state.w_max, flow.cubic.state.base));
        flow.cubic.timed_out(0, flow.now);
        assert_eq!((0, NOT_YET), (flow.cubic.state.w_max, flow.cubic.state.base));
    }

    #[test]
    fn round_trip_times_of_an_epoch_s_first_second_are_passed_over() {
        let mut flow = Flow::new(100.0, 100, true);
        flow.acknowledge();
        let mut takes = |millis| flow.cubic.takes_sample(50_000, Time::ZERO + Span::from_millis(millis));
        assert_eq!([false, true], [999, 1000].map(&mut takes));
        flow.cut();
        assert!(flow.cubic.takes_sample(100_000, flow.now), "after a cut no epoch is on");
    }

    #[test]
    fn ticks_longer_than_a_second_are_ticks_too() {
        let settings = Settings { tick: Span::from_secs(2), ..profile::settings("linux") };
        let mut cubic = WholeCubic::new(&settings, HostClock::new(&settings, Span::ZERO));
        let mut window = Window { cwnd: 100.0, ssthresh: 50.0 };
        cubic.acknowledged(&mut window, &acked(20, Time::ZERO + Span::from_secs(60), Span::from_secs(1)));
        assert_eq!(101.0, window.cwnd);
    }

    #[test]
    fn an_idle_time_is_taken_out_of_the_epoch() {
        let mut flow = Flow::new(100.0, 100, true);
        flow.acknowledge();
        let began = flow.cubic.state.began;
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        flow.cubic.resumed(at(5000), at(1000));
        assert_eq!(began + 1000, flow.cubic.state.began);
        flow.cubic.resumed(at(5000), at(0));
        assert_eq!(began + 1250, flow.cubic.state.began, "no later than now");
    }
}
