//! Time in whole picoseconds, and link rates.
//!
//! A `u64` of picoseconds spans 213 days. One bit lasts 2.5 ps at 400 Gbps, and a 1000-byte packet
//! at 1.5 Mbps is cut by a third of one, which links carry over to the next packet.

use std::ops::{Add, AddAssign, Div, Mul, Sub};

const PICOS_PER_SECOND: u64 = 1_000_000_000_000;

/// An instant, counted from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(u64);

/// A length of time, never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(u64);

impl Time {
    pub const ZERO: Time = Time(0);
    /// Later than anything that happens.
    pub const NEVER: Time = Time(u64::MAX);

    pub const fn from_picos(picos: u64) -> Time {
        Time(picos)
    }

    pub const fn picos(self) -> u64 {
        self.0
    }

    /// Seconds since the start, for reports.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / PICOS_PER_SECOND as f64
    }

    /// The span from `earlier` to here; zero if `earlier` is later.
    pub fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// The instant that is `span` earlier, at least the start.
    pub fn saturating_sub(self, span: Span) -> Time {
        Time(self.0.saturating_sub(span.0))
    }
}

impl Span {
    pub const ZERO: Span = Span(0);

    pub const fn from_picos(picos: u64) -> Span {
        Span(picos)
    }

    pub const fn from_secs(secs: u64) -> Span {
        Span(secs * PICOS_PER_SECOND)
    }

    pub const fn from_millis(millis: u64) -> Span {
        Span(millis * (PICOS_PER_SECOND / 1_000))
    }

    pub const fn from_micros(micros: u64) -> Span {
        Span(micros * (PICOS_PER_SECOND / 1_000_000))
    }

    /// The nearest span to `secs`, or `None` if it is negative, not a number or longer than 213 days.
    pub fn from_secs_f64(secs: f64) -> Option<Span> {
        let picos = secs * PICOS_PER_SECOND as f64;
        (picos >= 0.0 && picos < u64::MAX as f64).then_some(Span((picos + 0.5) as u64))
    }

    pub const fn picos(self) -> u64 {
        self.0
    }

    /// Whole microseconds.
    pub const fn micros(self) -> u64 {
        self.0 / (PICOS_PER_SECOND / 1_000_000)
    }

    /// The rest without `other`, at least zero.
    pub fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }

    pub fn seconds(self) -> f64 {
        self.0 as f64 / PICOS_PER_SECOND as f64
    }
}

/// Saturation after 213 days is not checked: a check costs 0.7 % of a run's instructions (the thesis network, 60 flows).
impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

/// No span is longer than 213 days.
impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl Sub<Span> for Time {
    type Output = Time;
    fn sub(self, span: Span) -> Time {
        Time(self.0 - span.0)
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        Span(self.0 - other.0)
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, factor: u64) -> Span {
        Span(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Span {
    type Output = Span;
    fn div(self, divisor: u64) -> Span {
        Span(self.0 / divisor)
    }
}

/// A link's rate in bits per second, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(u64);

impl Rate {
    pub const MAX: Rate = Rate(u64::MAX);

    /// `None` for a rate of zero, at which nothing would ever be sent.
    pub fn from_bps(bps: u64) -> Option<Rate> {
        (bps > 0).then_some(Rate(bps))
    }

    pub fn bps(self) -> u64 {
        self.0
    }

    /// How long `bytes` bytes take to send: whole picoseconds, and what is left in units of 1/rate of one.
    pub fn transmission_time_with_remainder(self, bytes: u32) -> (Span, u64) {
        let bit_picos = u128::from(bytes) * 8 * u128::from(PICOS_PER_SECOND);
        let rate = u128::from(self.0);
        (Span((bit_picos / rate).min(u128::from(u64::MAX)) as u64), (bit_picos % rate) as u64)
    }

    /// How long `bytes` bytes take to send, to the nearest picosecond.
    pub fn transmission_time(self, bytes: u32) -> Span {
        let (whole, fraction) = self.transmission_time_with_remainder(bytes);
        whole + Span(u64::from(fraction >= self.0.div_ceil(2)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_bytes_at_one_and_a_half_megabits_take_five_and_a_third_milliseconds() {
        let rate = Rate::from_bps(1_500_000).unwrap();
        assert_eq!(Span::from_picos(5_333_333_333), rate.transmission_time(1000));
    }

    #[test]
    fn sixty_four_bytes_at_four_hundred_gigabits_are_exact() {
        let rate = Rate::from_bps(400_000_000_000).unwrap();
        assert_eq!(Span::from_picos(1_280), rate.transmission_time(64));
    }

    #[test]
    fn the_largest_packet_at_one_bit_per_second_stays_in_range() {
        let rate = Rate::from_bps(1).unwrap();
        assert_eq!(Span::from_secs(524_280), rate.transmission_time(65_535));
    }

    #[test]
    fn time_does_not_wrap_but_ends_at_never() {
        let long = Span::from_picos(u64::MAX - 1);
        assert_eq!(Time::NEVER, Time::ZERO + long + long);
        assert_eq!(long + long, Span::from_picos(u64::MAX));
        let (mut time, mut span) = (Time::from_picos(2), Span::from_picos(2));
        time += long;
        span += long;
        assert_eq!((Time::NEVER, u64::MAX), (time, span.picos()));
    }

    #[test]
    fn a_negative_or_unreal_span_is_refused() {
        assert_eq!(None, Span::from_secs_f64(-1.0));
        assert_eq!(None, Span::from_secs_f64(f64::NAN));
        assert_eq!(Some(Span::from_millis(5)), Span::from_secs_f64(0.005));
    }
}
