//! CUBIC in whole segments and ticks (Ha, Rhee and Xu 2008; Linux bictcp_update).
//!
//! ```text
//! W(t)      = W_max + C (t - K)^3, in steps:  t in 1/1024 s, from ticks since the epoch began plus the minimum RTT,
//!             K = cbrt((W_max - cwnd) / C), C and beta in 1/1024
//! cnt       = cwnd / (W(t) - cwnd), segments acknowledged for one more, if the curve is above cwnd;
//!             100 cwnd if it is not; at most 20 before the first reduction
//!             at most cwnd / (W_reno - cwnd) if W_reno is larger, which grows by one for cwnd beta_reno / 8 segments
//!             at least 2, so that cwnd grows by at most half per RTT
//! computed  at most once per tick, and while cwnd is unchanged only after more than 1/32 s
//! reduction:  W_max = cwnd, or cwnd (1 + beta) / 2 if that is below the last W_max;  ssthresh = beta cwnd, all rounded down
//! RTO:      resets the state, W_max and the minimum RTT included
//! ```
//!
//! The epoch excludes the time in which nothing was outstanding. RTT samples in the first second of an epoch are ignored.

use ecnlab_units::{Span, Time};

use super::cube_root::cube_root;
use super::{CwndCount, FIXED_POINT_ONE, reduced_cwnd, slow_start, to_fixed_point};
use crate::clock::HostClock;
use crate::congestion::{AckSample, CongestionControl, CongestionWindow, CubicSettings, ReductionCause};
use crate::settings::TcpSettings;

/// Value of cnt if the curve is not above cwnd, as a multiple of cwnd.
const CNT_FACTOR_ABOVE_CURVE: u64 = 100;
/// Maximum of cnt before the first reduction, and its minimum.
const MAX_CNT_BEFORE_REDUCTION: u64 = 20;
const MIN_CNT: u64 = 2;
/// Validity of cnt, in whole ticks, while cwnd is unchanged.
const CNT_VALIDITY: Span = Span::from_picos(Span::from_secs(1).picos() / 32);
/// Shift of C times time cubed, with C and each of the times in 1/1024.
const CUBE_SHIFT: u32 = 40;

/// Parameters in fixed point, with derived constants.
struct CubicConstants {
    parameters: CubicSettings,
    c: u64,
    beta: u64,
    /// 8 (1 + beta) / 3 (1 - beta): eight times the segments for one of Reno's, as a multiple of cwnd.
    reno_scale: u64,
}

impl CubicConstants {
    fn from_settings(settings: &TcpSettings) -> CubicConstants {
        let parameters = CubicSettings::from_settings(settings);
        let beta = to_fixed_point(parameters.beta);
        CubicConstants {
            parameters,
            c: to_fixed_point(parameters.c).max(1),
            beta,
            reno_scale: 8 * (FIXED_POINT_ONE + beta) / 3 / (FIXED_POINT_ONE - beta),
        }
    }
}

/// CUBIC state. The fields that each ACK reads come first, in one cache line.
#[repr(C, align(64))]
pub struct LinuxCubic {
    cwnd_count: CwndCount,
    state: CubicState,
    clock: HostClock,
    constants: CubicConstants,
}

/// State that an RTO resets. Times are in ticks; a window of zero is unset.
#[repr(C)]
struct CubicState {
    /// Minimum RTT in microseconds; [`UNSET`] before the first.
    min_rtt: u64,
    /// Time from which RTT samples count.
    rtt_samples_from: Time,
    /// Segments acknowledged that have not grown Reno's window yet.
    ack_cnt: u64,
    /// Cwnd for which cnt was last computed, and the time until which it is valid for that.
    last_cwnd: u64,
    cnt_valid_until: Time,
    /// Segments acknowledged for one more segment of cwnd.
    cnt: u64,
    /// Tick of the last computation of cnt.
    last_computed: u64,
    /// Tick at which the epoch began; [`UNSET`] after a reduction.
    epoch_start: u64,
    last_max_cwnd: u64,
    bic_k: u64,
    origin_point: u64,
    /// Reno's cwnd.
    tcp_cwnd: u64,
}

const UNSET: u64 = u64::MAX;

impl CubicState {
    fn new(clock: &HostClock) -> CubicState {
        CubicState {
            min_rtt: UNSET,
            rtt_samples_from: Time::ZERO,
            ack_cnt: 0,
            last_cwnd: 0,
            cnt_valid_until: cnt_valid_until(0, clock),
            cnt: 0,
            last_computed: 0,
            epoch_start: UNSET,
            last_max_cwnd: 0,
            bic_k: 0,
            origin_point: 0,
            tcp_cwnd: 0,
        }
    }
}

impl LinuxCubic {
    pub fn new(settings: &TcpSettings, clock: HostClock) -> LinuxCubic {
        LinuxCubic {
            cwnd_count: CwndCount::default(),
            state: CubicState::new(&clock),
            clock,
            constants: CubicConstants::from_settings(settings),
        }
    }

    /// Updates cnt, the number of segments acknowledged for one more.
    #[inline]
    fn update_acks_per_increase(&mut self, cwnd: u64, segments: u64, now: Time) {
        let state = &mut self.state;
        state.ack_cnt += segments;
        if state.last_cwnd != cwnd || now >= state.cnt_valid_until {
            self.compute_acks_per_increase(cwnd, segments, self.clock.ticks(now));
        }
    }

    #[inline(never)]
    fn compute_acks_per_increase(&mut self, cwnd: u64, segments: u64, now: u64) {
        let state = &mut self.state;
        if state.epoch_start == UNSET || now != state.last_computed {
            (state.last_cwnd, state.last_computed, state.cnt_valid_until) = (cwnd, now, cnt_valid_until(now, &self.clock));
            let began = self.get_or_set_epoch_start(cwnd, segments, now);
            self.apply_cubic_curve(cwnd, now - began);
        }
        if self.constants.parameters.reno_friendly {
            self.apply_tcp_friendliness(cwnd);
        }
        self.state.cnt = self.state.cnt.max(MIN_CNT);
    }

    /// Starts an epoch unless one is running; returns the tick at which it began.
    fn get_or_set_epoch_start(&mut self, cwnd: u64, segments: u64, now: u64) -> u64 {
        let state = &mut self.state;
        if state.epoch_start != UNSET {
            return state.epoch_start;
        }
        self.set_epoch_start(now);
        let state = &mut self.state;
        (state.ack_cnt, state.tcp_cwnd) = (segments, cwnd);
        state.origin_point = state.last_max_cwnd.max(cwnd);
        state.bic_k = cube_root((1 << CUBE_SHIFT) / self.constants.c * (state.origin_point - cwnd));
        now
    }

    /// Starts an epoch at this tick, and ignores RTT samples in its first second.
    fn set_epoch_start(&mut self, began: u64) {
        self.state.epoch_start = began;
        self.state.rtt_samples_from = self.clock.time_of_tick(began + self.clock.ticks_in_span(Span::from_secs(1)));
    }

    fn apply_cubic_curve(&mut self, cwnd: u64, since: u64) {
        let ahead = self.clock.ticks_in_span(Span::from_micros(if self.state.min_rtt == UNSET { 0 } else { self.state.min_rtt }));
        let t = to_fixed_point_time(self.clock.tick_length() * (since + ahead));
        let state = &mut self.state;
        let rise = cubic_rise(self.constants.c, t.abs_diff(state.bic_k));
        let target = if t < state.bic_k { state.origin_point.saturating_sub(rise) } else { state.origin_point.saturating_add(rise) };
        state.cnt = if target > cwnd { cwnd / (target - cwnd) } else { CNT_FACTOR_ABOVE_CURVE * cwnd };
        if state.last_max_cwnd == 0 {
            state.cnt = state.cnt.min(MAX_CNT_BEFORE_REDUCTION);
        }
    }

    fn apply_tcp_friendliness(&mut self, cwnd: u64) {
        let state = &mut self.state;
        let per = ((cwnd * self.constants.reno_scale) >> 3).max(1);
        while state.ack_cnt > per {
            state.ack_cnt -= per;
            state.tcp_cwnd += 1;
        }
        if state.tcp_cwnd > cwnd {
            state.cnt = state.cnt.min(cwnd / (state.tcp_cwnd - cwnd));
        }
    }
}

/// Time until which a cnt computed at this tick is valid.
fn cnt_valid_until(computed_at: u64, clock: &HostClock) -> Time {
    clock.time_of_tick(computed_at + CNT_VALIDITY.picos() / clock.tick_length().picos() + 1)
}

/// A span in 1/1024 s, rounded down: a second is 2^12 5^12 ps.
fn to_fixed_point_time(span: Span) -> u64 {
    const PICOS_PER_FIXED_POINT_TICK: u64 = Span::from_secs(1).picos() / FIXED_POINT_ONE;
    const { assert!(PICOS_PER_FIXED_POINT_TICK * FIXED_POINT_ONE == Span::from_secs(1).picos()) }
    span.picos() / PICOS_PER_FIXED_POINT_TICK
}

/// C times the cube of a time, in segments.
fn cubic_rise(c: u64, time: u64) -> u64 {
    let cube = c.checked_mul(time).and_then(|by| by.checked_mul(time)).and_then(|by| by.checked_mul(time));
    cube.map_or_else(|| cubic_rise_u128(c, time), |cube| cube >> CUBE_SHIFT)
}

#[cold]
fn cubic_rise_u128(c: u64, time: u64) -> u64 {
    let time = u128::from(time);
    u64::try_from((u128::from(c) * time * time * time) >> CUBE_SHIFT).unwrap_or(u64::MAX)
}

impl CongestionControl for LinuxCubic {
    fn on_ack(&mut self, window: &mut CongestionWindow, acked: &AckSample) {
        let left = slow_start(window, acked.segments);
        if left > 0 {
            self.update_acks_per_increase(window.cwnd as u64, left, acked.now);
            self.cwnd_count.grow_in_avoidance(window, self.state.cnt, left);
        }
    }

    fn loss_beta(&self) -> f64 {
        self.constants.beta as f64 / FIXED_POINT_ONE as f64
    }

    fn ssthresh_after_loss(&self, cwnd: f64) -> f64 {
        reduced_cwnd(cwnd, self.constants.beta)
    }

    #[inline]
    fn on_rtt_sample(&mut self, rtt: u64, now: Time) -> bool {
        let state = &mut self.state;
        if now < state.rtt_samples_from {
            return false;
        }
        state.min_rtt = state.min_rtt.min(rtt);
        true
    }

    fn on_reduction(&mut self, before: &CongestionWindow, _cause: ReductionCause, _now: Time) {
        let cwnd = before.cwnd as u64;
        let falls = self.constants.parameters.is_fast_convergence_due(cwnd as f64, self.state.last_max_cwnd as f64);
        self.state.last_max_cwnd = if falls { cwnd * (FIXED_POINT_ONE + self.constants.beta) / (2 * FIXED_POINT_ONE) } else { cwnd };
        (self.state.epoch_start, self.state.rtt_samples_from) = (UNSET, Time::ZERO);
        self.cwnd_count.reset();
    }

    fn on_rto(&mut self, _high: u64, _now: Time) {
        self.state = CubicState::new(&self.clock);
        self.cwnd_count.reset();
    }

    fn on_restart_after_idle(&mut self, now: Time, last_sent: Time) {
        let now = self.clock.ticks(now);
        if self.state.epoch_start != UNSET {
            self.set_epoch_start((self.state.epoch_start + now - self.clock.ticks(last_sent)).min(now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::ack_sample;
    use crate::profile;
    use crate::settings::Quirks;

    /// A congestion control with its window and evenly spaced ACKs of single segments.
    struct TestFlow {
        cubic: LinuxCubic,
        window: CongestionWindow,
        rtt: Span,
        now: Time,
    }

    impl TestFlow {
        fn new(cwnd: f64, rtt_millis: u64, reno_friendly: bool) -> TestFlow {
            let settings = TcpSettings {
                quirks: Quirks { tick: Span::from_millis(4), cubic_reno_friendly: reno_friendly, ..profile::quirks("linux") },
                ..profile::tcp_settings_of("linux")
            };
            TestFlow {
                cubic: LinuxCubic::new(&settings, HostClock::new(&settings, Span::from_secs(1))),
                window: CongestionWindow { cwnd, ssthresh: cwnd },
                rtt: Span::from_millis(rtt_millis),
                now: Time::ZERO,
            }
        }

        fn reduce_for_loss(&mut self) {
            let left = self.cubic.ssthresh_after_loss(self.window.cwnd);
            self.cubic.on_reduction(&self.window, ReductionCause::Loss, self.now);
            self.window = CongestionWindow { cwnd: left, ssthresh: left };
        }

        fn deliver_ack(&mut self) {
            self.cubic.on_rtt_sample(self.rtt.micros(), self.now);
            self.cubic.on_ack(&mut self.window, &ack_sample(1, self.now, self.rtt));
        }

        /// ACKs of a window over one RTT.
        fn round(&mut self) {
            let acknowledgements = self.window.cwnd as u64;
            for _ in 0..acknowledgements {
                self.deliver_ack();
                self.now += self.rtt / acknowledgements;
            }
        }

        fn ack_windows(&mut self, rounds: u64) -> f64 {
            (0..rounds).for_each(|_| self.round());
            self.window.cwnd
        }
    }

    /// RFC 9438, figure 1, after a reduction from 1000 segments to 700: K = 9.09 s.
    #[test]
    fn the_window_is_the_rfc_s_cubic_of_the_time_to_a_hundredth() {
        let mut flow = TestFlow::new(1000.0, 100, false);
        flow.deliver_ack();
        flow.reduce_for_loss();
        let cut = flow.now;
        for _ in 0..150 {
            flow.round();
            let from_plateau = flow.now.since(cut).seconds() - 9.086;
            let expected = 0.4 * from_plateau * from_plateau * from_plateau + 1000.0;
            assert!((flow.window.cwnd / expected - 1.0).abs() < 0.01, "{} at {} s, not {expected}", flow.window.cwnd, flow.now.seconds());
        }
    }

    /// The cubic adds a segment in more than a second here; AIMD with 0.7 adds 0.53 in an RTT of 10 ms (RFC 9438, section 4.3).
    #[test]
    fn on_a_short_path_growth_is_that_of_aimd() {
        let mut flow = TestFlow::new(60.0, 10, true);
        flow.reduce_for_loss();
        let grown = flow.ack_windows(40) - 42.0;
        assert!((grown - 40.0 * 0.53).abs() < 2.0, "{grown}");
    }

    #[test]
    fn before_the_first_cut_growth_is_at_least_a_twentieth_in_a_round_trip_and_at_most_a_half() {
        assert_eq!(105.0, TestFlow::new(100.0, 10, false).ack_windows(1));
        let mut flow = TestFlow::new(100.0, 10, false);
        flow.deliver_ack();
        flow.now += Span::from_secs(100);
        let grown = flow.ack_windows(1);
        assert!((149.0..=151.0).contains(&grown), "{grown}");
    }

    #[test]
    fn a_cut_below_the_last_maximum_lowers_the_next_plateau_further() {
        let mut flow = TestFlow::new(1000.0, 100, true);
        flow.reduce_for_loss();
        flow.window.cwnd = 900.0;
        flow.reduce_for_loss();
        // 900 (1024 + 717) / 2048 = 765.09.
        assert_eq!((765, 630.0), (flow.cubic.state.last_max_cwnd, flow.window.cwnd));
    }

    #[test]
    fn a_timeout_forgets_the_plateau_and_the_smallest_round_trip_time() {
        let mut flow = TestFlow::new(1000.0, 100, true);
        flow.deliver_ack();
        flow.reduce_for_loss();
        assert_eq!((1000, 100_000), (flow.cubic.state.last_max_cwnd, flow.cubic.state.min_rtt));
        flow.cubic.on_rto(0, flow.now);
        assert_eq!((0, UNSET), (flow.cubic.state.last_max_cwnd, flow.cubic.state.min_rtt));
    }

    #[test]
    fn round_trip_times_of_an_epoch_s_first_second_are_passed_over() {
        let mut flow = TestFlow::new(100.0, 100, true);
        flow.deliver_ack();
        let mut takes = |millis| flow.cubic.on_rtt_sample(50_000, Time::ZERO + Span::from_millis(millis));
        assert_eq!([false, true], [999, 1000].map(&mut takes));
        flow.reduce_for_loss();
        assert!(flow.cubic.on_rtt_sample(100_000, flow.now), "after a cut no epoch is on");
    }

    #[test]
    fn ticks_longer_than_a_second_are_ticks_too() {
        let settings =
            TcpSettings { quirks: Quirks { tick: Span::from_secs(2), ..profile::quirks("linux") }, ..profile::tcp_settings_of("linux") };
        let mut cubic = LinuxCubic::new(&settings, HostClock::new(&settings, Span::ZERO));
        let mut window = CongestionWindow { cwnd: 100.0, ssthresh: 50.0 };
        cubic.on_ack(&mut window, &ack_sample(20, Time::ZERO + Span::from_secs(60), Span::from_secs(1)));
        assert_eq!(101.0, window.cwnd);
    }

    #[test]
    fn an_idle_time_is_taken_out_of_the_epoch() {
        let mut flow = TestFlow::new(100.0, 100, true);
        flow.deliver_ack();
        let began = flow.cubic.state.epoch_start;
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        flow.cubic.on_restart_after_idle(at(5000), at(1000));
        assert_eq!(began + 1000, flow.cubic.state.epoch_start);
        flow.cubic.on_restart_after_idle(at(5000), at(0));
        assert_eq!(began + 1250, flow.cubic.state.epoch_start, "no later than now");
    }
}
