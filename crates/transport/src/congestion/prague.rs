//! TCP Prague in fixed point (Linux module tcp_prague 0.7; De Schepper, Tilmans and Briscoe, draft-briscoe-iccrg-prague-congestion-control).
//!
//! ```text
//! W     congestion window in segments, in 2^-20; cwnd follows ceil(W) >= 2 by one segment per ACK
//! R     rate in bytes per second, the state instead of W once cwnd is at most 4 x 1500 bytes after a mark
//! T     target RTT, 25 ms;  V = max(T, srtt), the virtual RTT;  B = 1500 bytes
//!
//! ACK with a unmarked segments, in no loss and with cwnd in use:
//!   slow start     as Reno's, W = cwnd; the first mark ever halves W
//!   window         W += (srtt / T)^2 a / W x B / MTU for srtt below T, and a / W x B / MTU from T on
//!   rate           R += a B / V / n,  n = ceil(R V / MTU)
//! alpha            once per round trip, and at most once per T:  alpha += (F - alpha) / 16,  F the share of marked segments
//! mark             W -= W alpha / 2, or R -= R alpha / 2:  once per round trip, and at most once per T
//! loss             W or R is halved, and does not grow until the loss is repaired
//! pacing           MTU max(W, in flight) / srtt, twice that below half of ssthresh; R +- 3 % in either half of V in the mode of rate
//! MTU              half of R V or of W scaled from srtt to V, between 150 bytes of data and the path's: two segments per virtual RTT
//! ```
//!
//! The marks on a path to one flow then leave the same rate whatever its RTT below T: 1/p - 1 Mbit/s. All of this begins in the fifth round
//! trip after slow start; before it Prague grows by one segment per RTT, and T bounds nothing.
//!
//! `prague_rtt_target = 0 s` and `prague_rate_mode = false` leave the Prague of 2020, whose growth and response take an RTT of any length.

use ecnlab_units::Time;

use super::linux;
use super::{AckSample, CongControlSample, CongestionControl, CongestionWindow, ReductionCause};
use crate::clock::HostClock;
use crate::settings::TcpSettings;

/// Fraction bits of W.
const CWND_SHIFT: u32 = 20;
/// Fraction bits of alpha.
const ALPHA_SHIFT: u32 = 24;
/// Alpha is kept 16 times as large: its gain is 1/16.
const GAIN_SHIFT: u32 = 4;
const MAX_UPSCALED_ALPHA: u64 = 1 << (ALPHA_SHIFT + GAIN_SHIFT);
/// Fraction bits of the slowly smoothed RTT.
const HSRTT_SHIFT: u32 = 7;
/// Shift from microseconds in eighths to about a second: 2^23 for 8 10^6.
const RTT_TO_SECONDS_SHIFT: u32 = 23;
/// Microseconds in eighths per second.
const EIGHTH_MICROS_PER_SECOND: u64 = 8_000_000;
/// RTT in eighths of a microsecond from which growth is not scaled.
const MAX_GROWTH_SCALED_EIGHTH_RTT: u64 = 100_000 * 8;
/// Slowest rate in bytes per second.
const MIN_RATE: u64 = 12_500;
const MIN_CWND: u64 = 2;
/// Segments per virtual RTT for which the MTU is made smaller.
const MIN_SEGMENTS_PER_VIRTUAL_RTT: u64 = 2;
const MIN_MSS: u64 = 150;
/// MTU for which growth is one segment per RTT, and that of the threshold between window and rate.
const REFERENCE_MTU: u64 = 1500;
const RATE_MODE_MTUS: u64 = 4;
/// Pacing differs from R by 4/128.
const PACING_OFFSET_NUMERATOR: u64 = 4;
const PACING_OFFSET_SHIFT: u32 = 7;

/// Prague: its parameters, and its state.
#[derive(Clone, Debug)]
pub struct Prague {
    clock: HostClock,
    target_micros: u64,
    /// Rounds after slow start from which the target RTT counts.
    transition_rounds: u64,
    has_rate_mode: bool,
    header: u64,
    path_mtu: u64,
    state: PragueState,
}

/// The state in the units of the kernel. What a kernel's records show is public.
#[derive(Clone, Copy, Debug)]
pub struct PragueState {
    /// Alpha in 2^-28.
    pub upscaled_alpha: u64,
    /// W in 2^-20 segments.
    pub frac_cwnd: u64,
    /// R, and the pacing rate, in bytes per second.
    pub rate: u64,
    pub pacing_rate: u64,
    /// RTT smoothed over 128 round trips, in 1/1024 us.
    pub hsrtt: u64,
    /// Growth of W for an unmarked segment in 2^-20 segments per window.
    pub ai_increase: u64,
    pub mtu: u64,
    pub saw_ce: bool,
    pub rate_mode: bool,
    pub in_loss: bool,
    /// Times of the last update of alpha and of the last reduction for a mark, in microseconds.
    alpha_updated_at: u64,
    mark_reduced_at: Option<u64>,
    loss_cwnd: u64,
    loss_rate: u64,
    /// Round since slow start; its end is the ACK of all segments before `round_end`.
    pub round: u64,
    round_end: u64,
    round_delivered: u64,
    round_marked: u64,
    /// Smoothed RTT at the last ACK, in eighths of a microsecond.
    eight_srtt: u64,
}

fn div_round(dividend: u64, divisor: u64) -> u64 {
    (dividend + divisor / 2) / divisor
}

/// Product of two numbers shifted right.
fn mul_shr(first: u64, second: u64, shift: u32) -> u64 {
    ((u128::from(first) * u128::from(second)) >> shift) as u64
}

/// Half of the share `alpha` of a window, rounded to the nearest.
fn rounded_half_share(frac_cwnd: u64, alpha: u64) -> u64 {
    ((u128::from(alpha) * u128::from(frac_cwnd) + (1 << ALPHA_SHIFT)) >> (ALPHA_SHIFT + 1)) as u64
}

impl Prague {
    pub fn new(settings: &TcpSettings, clock: HostClock) -> Prague {
        let path_mtu = u64::from(settings.packet_size);
        Prague {
            clock,
            target_micros: settings.quirks.prague_rtt_target.micros(),
            transition_rounds: settings.quirks.prague_rtt_transition,
            has_rate_mode: settings.quirks.prague_rate_mode,
            header: u64::from(settings.quirks.header_size),
            path_mtu,
            state: PragueState {
                upscaled_alpha: 0,
                frac_cwnd: settings.initial_window << CWND_SHIFT,
                rate: MIN_RATE,
                pacing_rate: MIN_RATE,
                // As if the RTT were 1 us.
                hsrtt: 8 << HSRTT_SHIFT,
                ai_increase: 1 << CWND_SHIFT,
                mtu: path_mtu,
                saw_ce: false,
                rate_mode: false,
                in_loss: false,
                alpha_updated_at: 0,
                mark_reduced_at: None,
                loss_cwnd: 0,
                loss_rate: 0,
                round: 0,
                round_end: 0,
                round_delivered: 0,
                round_marked: 0,
                eight_srtt: 0,
            },
        }
    }

    pub fn state(&self) -> &PragueState {
        &self.state
    }

    /// For comparison with a kernel's records, which give the state before each ACK; nothing else sets it from outside.
    pub fn state_mut(&mut self) -> &mut PragueState {
        &mut self.state
    }

    fn target_eighth_micros(&self) -> u64 {
        self.target_micros * 8
    }

    fn virtual_rtt(&self) -> u64 {
        self.target_eighth_micros().max(self.state.eight_srtt)
    }

    /// Payload of a full segment at present.
    pub fn mss(&self) -> u64 {
        self.state.mtu - self.header
    }

    /// Whether a target RTT shorter than the path's counts.
    fn is_rtt_independence_active(&self, window: &CongestionWindow) -> bool {
        self.target_micros > 0 && !window.in_slow_start() && self.state.round >= self.transition_rounds
    }

    fn works_by_rate(&self, window: &CongestionWindow) -> bool {
        self.state.rate_mode && self.is_rtt_independence_active(window)
    }

    /// Rate of one segment per RTT.
    fn rate_of_one_segment(&self) -> u64 {
        let rate = EIGHTH_MICROS_PER_SECOND * self.state.mtu;
        rate.checked_div(self.state.eight_srtt).unwrap_or(rate)
    }

    fn rate_of_frac_cwnd(&self) -> u64 {
        mul_shr(self.rate_of_one_segment(), self.state.frac_cwnd, CWND_SHIFT).max(MIN_RATE)
    }

    /// W of R. The kernel takes 10^6 for 2^20 here.
    fn frac_cwnd_of_rate(&self) -> u64 {
        let slow = self.state.hsrtt >> HSRTT_SHIFT;
        let rtt = if slow > 0 { slow } else { self.state.eight_srtt };
        mul_shr(self.state.rate, rtt, RTT_TO_SECONDS_SHIFT - CWND_SHIFT).div_ceil(self.state.mtu)
    }

    fn frac_cwnd_rounded_up(&self) -> u64 {
        self.state.frac_cwnd.div_ceil(1 << CWND_SHIFT).max(MIN_CWND)
    }

    fn update_ai_increase(&mut self) {
        let (rtt, target) = (self.state.eight_srtt, self.target_eighth_micros());
        let unscaled = self.state.round < self.transition_rounds || rtt == 0 || rtt > MAX_GROWTH_SCALED_EIGHTH_RTT || rtt >= target;
        self.state.ai_increase = if unscaled { 1 << CWND_SHIFT } else { div_round((rtt << CWND_SHIFT) * rtt, target * target) };
    }

    fn grow(&mut self, window: &mut CongestionWindow, mut unmarked: u64) {
        if window.in_slow_start() {
            unmarked = linux::slow_start(window, unmarked);
            self.state.frac_cwnd = (window.cwnd as u64) << CWND_SHIFT;
            if unmarked == 0 {
                return self.update_ai_increase();
            }
        }
        if self.works_by_rate(window) {
            self.grow_rate(unmarked);
        } else {
            self.grow_frac_cwnd(unmarked);
        }
        self.step_cwnd(window);
    }

    fn grow_rate(&mut self, unmarked: u64) {
        let rtt = self.virtual_rtt();
        let increase = ((unmarked * REFERENCE_MTU) << RTT_TO_SECONDS_SHIFT) / rtt;
        let segments = (self.state.rate * rtt).div_ceil(self.state.mtu << RTT_TO_SECONDS_SHIFT);
        if segments > 0 {
            self.state.rate += div_round(increase, segments);
        }
        self.state.frac_cwnd = (self.state.frac_cwnd + unmarked).max(self.frac_cwnd_of_rate());
    }

    fn grow_frac_cwnd(&mut self, unmarked: u64) {
        let increase = unmarked * self.state.ai_increase;
        let increase = if self.state.frac_cwnd > 0 { div_round(increase << CWND_SHIFT, self.state.frac_cwnd) } else { increase };
        self.state.frac_cwnd += (increase * REFERENCE_MTU / self.state.mtu).max(unmarked);
        self.state.rate = (self.state.rate + unmarked).max(self.rate_of_frac_cwnd());
    }

    /// Moves cwnd by one segment towards W.
    fn step_cwnd(&mut self, window: &mut CongestionWindow) {
        let (cwnd, target) = (window.cwnd as u64, self.frac_cwnd_rounded_up());
        if cwnd > target {
            window.cwnd -= 1.0;
            window.ssthresh = window.cwnd;
            self.update_ai_increase();
        } else if cwnd < target {
            window.cwnd += 1.0;
            self.update_ai_increase();
        }
    }

    fn has_alpha_period_ended(&self, window: &CongestionWindow, sample: &CongControlSample) -> bool {
        let since = sample.now_micros - self.state.alpha_updated_at;
        sample.snd_una >= self.state.round_end && (!self.is_rtt_independence_active(window) || since >= self.target_micros)
    }

    fn end_round(&mut self, window: &mut CongestionWindow, sample: &CongControlSample) {
        if self.state.saw_ce {
            self.update_alpha(sample.now_micros);
            if self.is_rtt_independence_active(window) && !self.state.in_loss {
                self.adapt_mtu_to_rate(window);
            }
        }
        self.state.hsrtt = self.state.hsrtt + self.state.eight_srtt - (self.state.hsrtt >> HSRTT_SHIFT);
        self.begin_round(window, sample.snd_max);
    }

    fn begin_round(&mut self, window: &CongestionWindow, snd_max: u64) {
        self.state.round_end = snd_max;
        (self.state.round_delivered, self.state.round_marked) = (0, 0);
        self.state.round += u64::from(!window.in_slow_start());
        self.update_ai_increase();
    }

    fn update_alpha(&mut self, now_micros: u64) {
        let share = (self.state.round_marked << ALPHA_SHIFT) / self.state.round_delivered.max(1);
        let alpha = self.state.upscaled_alpha;
        self.state.upscaled_alpha = (alpha - (alpha >> GAIN_SHIFT) + share).min(MAX_UPSCALED_ALPHA);
        self.state.alpha_updated_at = now_micros;
    }

    /// Makes segments smaller at rates below two full ones per virtual RTT.
    fn adapt_mtu_to_rate(&mut self, window: &mut CongestionWindow) {
        let before = self.state.mtu;
        let least = MIN_MSS + self.header;
        self.state.mtu = self.bytes_per_virtual_rtt().div_ceil(MIN_SEGMENTS_PER_VIRTUAL_RTT).min(self.path_mtu).max(least);
        if self.state.mtu == before {
            return;
        }
        self.state.frac_cwnd = self.state.frac_cwnd * before / self.state.mtu;
        let cwnd = self.frac_cwnd_rounded_up();
        if cwnd != window.cwnd as u64 {
            window.cwnd = cwnd as f64;
            window.ssthresh = (window.ssthresh as u64 * before / self.state.mtu) as f64;
        }
    }

    fn bytes_per_virtual_rtt(&self) -> u64 {
        let PragueState { eight_srtt, rate, frac_cwnd, mtu, rate_mode, .. } = self.state;
        let target = self.target_eighth_micros();
        if rate_mode {
            return mul_shr(rate, self.virtual_rtt(), RTT_TO_SECONDS_SHIFT);
        }
        let scaled = if eight_srtt < target { frac_cwnd * target / eight_srtt.max(1) } else { frac_cwnd };
        mul_shr(scaled, mtu, CWND_SHIFT)
    }

    fn update_pacing_rate(&mut self, window: &CongestionWindow, sample: &CongControlSample) {
        let rate = self.state.rate;
        let paced = if self.works_by_rate(window) {
            let offset = mul_shr(PACING_OFFSET_NUMERATOR, rate, PACING_OFFSET_SHIFT);
            let half = self.virtual_rtt() >> 4;
            if half <= sample.now_micros - self.state.alpha_updated_at { rate - offset } else { rate + offset }
        } else {
            let segments = (self.state.frac_cwnd >> CWND_SHIFT).max(sample.in_flight);
            self.state.rate = (self.rate_of_one_segment() * segments).max(MIN_RATE);
            self.state.rate
        };
        let doubled = (window.cwnd as u64) < window.ssthresh as u64 / 2;
        self.state.pacing_rate = paced << u32::from(doubled);
    }

    fn choose_mode(&mut self, window: &CongestionWindow) {
        if !self.has_rate_mode {
            return;
        }
        let is_small = window.cwnd as u64 * self.state.mtu <= RATE_MODE_MTUS * REFERENCE_MTU;
        self.state.rate_mode = self.state.saw_ce && is_small;
        if self.state.rate_mode {
            self.state.frac_cwnd = self.frac_cwnd_of_rate();
        } else {
            self.state.rate = self.rate_of_frac_cwnd();
        }
    }

    fn reduce_for_mark(&mut self, window: &CongestionWindow, now_micros: u64) {
        let is_recent = |at: u64| now_micros - at < self.target_micros;
        if self.is_rtt_independence_active(window) && self.state.mark_reduced_at.is_some_and(is_recent) {
            return;
        }
        self.state.mark_reduced_at = Some(now_micros);
        let alpha = self.state.upscaled_alpha >> GAIN_SHIFT;
        if self.works_by_rate(window) {
            self.state.rate = (self.state.rate - mul_shr(self.state.rate, alpha, ALPHA_SHIFT + 1)).max(MIN_RATE);
            self.state.frac_cwnd = self.frac_cwnd_of_rate();
        } else {
            self.state.frac_cwnd -= rounded_half_share(self.state.frac_cwnd, alpha);
            self.state.rate = self.rate_of_frac_cwnd();
        }
    }

    fn reduce_for_loss(&mut self, window: &CongestionWindow) {
        (self.state.loss_cwnd, self.state.loss_rate) = (window.cwnd as u64, self.state.rate);
        if self.works_by_rate(window) {
            self.state.rate -= self.state.rate >> 1;
            self.state.frac_cwnd = self.frac_cwnd_of_rate();
        } else {
            self.state.frac_cwnd -= self.state.frac_cwnd >> 1;
            self.state.rate = self.rate_of_frac_cwnd();
        }
        self.state.in_loss = true;
    }

    /// Called once the connection is open.
    pub fn on_established(&mut self, window: &CongestionWindow, sample: &CongControlSample) {
        self.state.eight_srtt = sample.eight_srtt;
        self.state.alpha_updated_at = sample.now_micros;
        self.state.saw_ce = sample.marked > 0;
        self.state.frac_cwnd = (window.cwnd as u64) << CWND_SHIFT;
        if sample.eight_srtt > 0 {
            self.state.hsrtt = sample.eight_srtt << HSRTT_SHIFT;
            self.state.rate = (self.rate_of_one_segment() * (window.cwnd as u64).max(sample.in_flight)).max(MIN_RATE);
        }
        self.update_pacing_rate(window, sample);
        self.begin_round(window, sample.snd_max);
    }

    /// Called for each ACK while data is outstanding, after recovery has processed it.
    pub fn cong_control(&mut self, window: &mut CongestionWindow, sample: &CongControlSample) {
        self.state.eight_srtt = sample.eight_srtt;
        self.state.round_delivered += sample.delivered;
        self.state.round_marked += sample.marked;
        if sample.marked > 0 && !std::mem::replace(&mut self.state.saw_ce, true) {
            self.state.frac_cwnd = (self.state.frac_cwnd + 1) >> 1;
        }
        let unmarked = sample.delivered.saturating_sub(sample.marked);
        if unmarked > 0 && !self.state.in_loss && sample.cwnd_limited {
            self.grow(window, unmarked);
        } else {
            self.step_cwnd(window);
        }
        if self.has_alpha_period_ended(window, sample) {
            self.end_round(window, sample);
        }
        self.update_pacing_rate(window, sample);
        self.choose_mode(window);
    }

    /// Called when recovery or a reduction for a mark is over.
    pub fn on_reduction_end(&mut self) {
        self.state.in_loss = false;
    }

    /// Cwnd after a spurious reduction is undone.
    pub fn cwnd_after_undo(&mut self, cwnd: f64) -> f64 {
        self.state.in_loss = false;
        self.state.rate = self.state.rate.max(self.state.loss_rate);
        self.state.frac_cwnd = self.frac_cwnd_of_rate();
        cwnd.max(self.state.loss_cwnd as f64)
    }
}

impl CongestionControl for Prague {
    /// Not used: `cong_control` sets cwnd.
    fn on_ack(&mut self, _window: &mut CongestionWindow, _acked: &AckSample) {}

    fn on_reduction(&mut self, before: &CongestionWindow, cause: ReductionCause, now: Time) {
        match cause {
            ReductionCause::Mark | ReductionCause::Probe => self.reduce_for_mark(before, self.clock.micros(now)),
            ReductionCause::Loss | ReductionCause::Timeout => self.reduce_for_loss(before),
        }
    }
}
