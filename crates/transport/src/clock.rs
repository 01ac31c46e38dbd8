//! Host clock: ticks, timestamp milliseconds, and the expiry of timers.
//!
//! ```text
//! exact    at the requested time
//! wheel    the delay in whole ticks, counted from the last tick, and then the next step of the wheel:
//!          ticks ahead     below 63   below 504   below 4032   below 32256 ...
//!          step                  1          8          64          512       each level eight times as coarse
//!          (Gleixner 2016, a timer wheel without cascading: no timer fires early, and none is moved; Linux kernel/time/timer.c)
//! ```

use ecnlab_units::{Span, Time};

use crate::settings::TcpSettings;

/// Ticks that one level of the wheel covers at its own step, less one; each level's step is eight times that of the level below.
const FIRST_WHEEL_LEVEL_TICKS: u64 = 63;
const WHEEL_LEVEL_SHIFT: u32 = 3;
const LAST_WHEEL_LEVEL: u32 = 8;

/// Period in ticks after which the coarse wheel steps used by a connection's timers repeat: the step of the third level, which
/// retransmission timers do not exceed.
pub const COARSEST_WHEEL_STEP_TICKS: u64 = 512;

/// Clock of a host; all connections of the host should have the same.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HostClock {
    wheel: bool,
    /// A timer handler is running: the wheel is one tick ahead, so a timer set now fires one tick nearer to the wheel's position.
    serving_timer: bool,
    quotient: TickDivider,
    tick: Span,
    /// Reading of the clock at time zero.
    phase_at_zero: Span,
}

/// Division by the tick as a multiplication: a sender counts ticks many times per ACK, and a multiplication is faster.
///
/// ```text
/// n / tick = n m / 2^(64 + s),  s the largest with 2^s < tick,  m = 2^(64 + s) / tick rounded up
/// ```
///
/// The product is too large by less than n tick / 2^(64 + s), which is below one for n < 2^63, so the quotient is exact (Granlund and
/// Montgomery 1994, theorem 4.2).
#[derive(Clone, Copy, Debug)]
struct TickDivider {
    /// The factor m in two halves, the lower one first, so that the divider needs no padding.
    factor: [u32; 2],
    shift: u8,
    /// Maximum width in bits of a number that this divides.
    bits: u8,
}

impl TickDivider {
    fn for_tick(tick: u64) -> TickDivider {
        if tick < 2 {
            return TickDivider { factor: [0; 2], shift: 0, bits: 0 };
        }
        let shift = (tick - 1).ilog2();
        let factor = (1u128 << (64 + shift)).div_ceil(u128::from(tick)) as u64;
        TickDivider { factor: [factor as u32, (factor >> 32) as u32], shift: shift as u8, bits: 63 }
    }

    /// Quotient by multiplication, or none if the number has too many bits.
    #[inline(always)]
    fn divide(&self, number: u64) -> Option<u64> {
        let [low, high] = self.factor.map(u64::from);
        let product = (u128::from(number) * u128::from(high << 32 | low)) >> 64;
        (number >> self.bits == 0).then_some(product as u64 >> self.shift)
    }
}

impl HostClock {
    /// Clock with the reading `phase` at time zero, below [`COARSEST_WHEEL_STEP_TICKS`] ticks.
    pub fn new(settings: &TcpSettings, phase: Span) -> HostClock {
        let tick = settings.quirks.tick;
        HostClock {
            tick,
            quotient: TickDivider::for_tick(tick.picos()),
            phase_at_zero: phase,
            wheel: settings.quirks.timer_wheel,
            serving_timer: false,
        }
    }

    /// Sets whether a timer handler is running (Linux __run_timers advances the wheel before it calls handlers).
    pub fn set_timer_handler_running(&mut self, serves: bool) {
        self.serving_timer = serves;
    }

    /// Length of one tick.
    pub fn tick_length(&self) -> Span {
        self.tick
    }

    /// Reading of the clock in ticks.
    #[inline]
    pub fn ticks(&self, at: Time) -> u64 {
        let picos = at.picos() + self.phase_at_zero.picos();
        self.quotient.divide(picos).unwrap_or_else(|| self.ticks_by_division(picos))
    }

    /// Ticks in a span, rounded up.
    #[inline]
    pub fn ticks_in_span(&self, span: Span) -> u64 {
        let rounded_up = span.picos().saturating_add(self.tick.picos() - 1);
        self.quotient
            .divide(rounded_up)
            .unwrap_or_else(|| self.ticks_by_division(span.picos()) + u64::from(span.picos() % self.tick.picos() > 0))
    }

    /// Picoseconds in ticks, rounded down.
    #[cold]
    #[inline(never)]
    fn ticks_by_division(&self, picos: u64) -> u64 {
        picos / self.tick.picos()
    }

    /// Reading of the clock in milliseconds, the unit of timestamps (RFC 7323, section 5.4).
    pub fn millis(&self, at: Time) -> u64 {
        (at.picos() + self.phase_at_zero.picos()) / Span::from_millis(1).picos()
    }

    /// Reading of the clock in microseconds, the unit of RTT samples.
    pub fn micros(&self, at: Time) -> u64 {
        (at.picos() + self.phase_at_zero.picos()) / Span::from_micros(1).picos()
    }

    /// Expiry of a timer set now for `delay`.
    #[inline]
    pub fn timer_expiry(&self, now: Time, delay: Span) -> Time {
        if self.wheel { self.wheel_expiry(now, delay) } else { now + delay }
    }

    fn wheel_expiry(&self, now: Time, delay: Span) -> Time {
        let rounded_up = delay.picos().saturating_add(self.tick.picos() - 1);
        match (self.quotient.divide(rounded_up), self.quotient.divide(now.picos() + self.phase_at_zero.picos())) {
            (Some(ahead), Some(ticks)) => self.expiry_at_wheel_step(ticks, ahead),
            _ => self.wheel_expiry_by_division(now, delay),
        }
    }

    #[cold]
    #[inline(never)]
    fn wheel_expiry_by_division(&self, now: Time, delay: Span) -> Time {
        self.expiry_at_wheel_step(self.ticks(now), self.ticks_in_span(delay))
    }

    /// Expiry of a timer set at tick `ticks` for `ahead` ticks later, rounded up to the step of its wheel level.
    #[inline(always)]
    fn expiry_at_wheel_step(&self, ticks: u64, ahead: u64) -> Time {
        let from_wheel = ahead.saturating_sub(u64::from(self.serving_timer));
        let mut shift = 0;
        let mut reach = FIRST_WHEEL_LEVEL_TICKS;
        while from_wheel >= reach && shift < WHEEL_LEVEL_SHIFT * LAST_WHEEL_LEVEL {
            shift += WHEEL_LEVEL_SHIFT;
            reach <<= WHEEL_LEVEL_SHIFT;
        }
        self.time_of_tick((((ticks + ahead) >> shift) + 1) << shift)
    }

    /// Time at which the clock reads `ticks` ticks.
    pub fn time_of_tick(&self, ticks: u64) -> Time {
        Time::from_picos((ticks * self.tick.picos()).saturating_sub(self.phase_at_zero.picos()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;
    use crate::settings::Quirks;

    /// Ticks of 4 ms at 4 k - 1 ms; the last one before time zero is number 493.
    fn clock() -> HostClock {
        let settings = TcpSettings {
            quirks: Quirks { timer_wheel: true, tick: Span::from_millis(4), ..profile::quirks("ns2") },
            ..profile::tcp_settings_of("ns2")
        };
        HostClock::new(&settings, Span::from_millis(493 * 4 + 1))
    }

    fn expiry_millis(delay_millis: u64) -> u64 {
        let now = Time::ZERO + Span::from_micros(500);
        clock().timer_expiry(now, Span::from_millis(delay_millis)).picos() / Span::from_millis(1).picos()
    }

    #[test]
    fn ticks_are_the_quotient_at_every_edge() {
        for tick in [1, 2, 3, 7, 1_000_000, 4_000_000_000, 10_000_000_000, u64::MAX / 2, u64::MAX] {
            let settings = TcpSettings {
                quirks: Quirks { tick: Span::from_picos(tick), ..profile::quirks("ns2") },
                ..profile::tcp_settings_of("ns2")
            };
            let clock = HostClock::new(&settings, Span::ZERO);
            for picos in [0, 1, tick - 1, tick, tick.saturating_add(1), 1_000_000 * (tick / 1_000_000), u64::MAX - 1, u64::MAX] {
                let counted = (clock.ticks(Time::from_picos(picos)), clock.ticks_in_span(Span::from_picos(picos)));
                assert_eq!((picos / tick, picos.div_ceil(tick)), counted, "{picos} in ticks of {tick}");
            }
        }
    }

    #[test]
    fn a_short_timer_goes_off_at_the_tick_after_its_whole_ticks() {
        // 40 ms are 10 ticks: at tick 493 + 10 + 1 = 504, which is 11 * 4 - 1 ms after time zero.
        assert_eq!([43, 47], [expiry_millis(40), expiry_millis(41)]);
    }

    #[test]
    fn a_longer_timer_waits_for_a_coarser_step() {
        // 62 ticks: 493 + 62 + 1 = 556. 63 ticks: 493 + 63 = 556, the next multiple of 8 is 560. 504: 997, the next multiple of 64 is 1024.
        let at = |tick: u64| (tick - 493) * 4 - 1;
        assert_eq!([at(556), at(560), at(1024)], [expiry_millis(248), expiry_millis(252), expiry_millis(2016)]);
    }

    #[test]
    fn a_timer_that_is_set_while_one_is_served_is_a_tick_nearer_to_the_wheel() {
        // 63 ticks: the finest step still reaches, to tick 493 + 63 + 1.
        let mut clock = clock();
        clock.set_timer_handler_running(true);
        assert_eq!(clock.time_of_tick(557), clock.timer_expiry(Time::ZERO, Span::from_millis(252)));
        clock.set_timer_handler_running(false);
        assert_eq!(clock.time_of_tick(560), clock.timer_expiry(Time::ZERO, Span::from_millis(252)));
    }

    #[test]
    fn the_syn_timers_of_one_and_three_seconds() {
        // 250 ticks: 743, the next multiple of 8 is 744: 1003 ms. From tick 744, 500 ticks: 1244, the next is 1248: 3019 ms.
        let first = clock().timer_expiry(Time::ZERO, Span::from_secs(1));
        let second = clock().timer_expiry(first, Span::from_secs(2));
        assert_eq!([1003, 3019], [first, second].map(|at| at.picos() / Span::from_millis(1).picos()));
    }
}
