//! The time of a capture's packets.
//!
//! A capture counts from 1970, which is too far away to be counted in picoseconds. So a trace's zero is the midnight (UTC) before its first
//! packet; in a capture of a simulation, whose packets are stamped with simulated time, it is 1970, that is the simulation's start.

use ecnlab_units::Time;

use crate::fault::Why;

const SECONDS_PER_DAY: u64 = 86_400;
const PICOS_PER_S: u64 = 1_000_000_000_000;

/// When a packet was captured: since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub seconds: u64,
    pub picos: u64,
}

/// What a file's units of time are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolution {
    per_second: u64,
    /// Seconds that are added to each stamp.
    offset: i64,
}

impl Resolution {
    pub const MICRO: Resolution = Resolution { per_second: 1_000_000, offset: 0 };
    pub const NANO: Resolution = Resolution { per_second: 1_000_000_000, offset: 0 };

    /// By pcapng's `if_tsresol`: a negative power of ten, or of two if the highest bit is set. `None` if it is finer than 64 bits count.
    pub fn of_code(code: u8) -> Option<Resolution> {
        let (base, power) = if code & 0x80 == 0 { (10_u64, code) } else { (2, code & 0x7f) };
        base.checked_pow(power.into()).map(|per_second| Resolution { per_second, offset: 0 })
    }

    #[must_use]
    pub fn offset_by(self, seconds: i64) -> Resolution {
        Resolution { offset: seconds, ..self }
    }

    pub fn stamp(self, units: u64) -> Stamp {
        let below = u128::from(units % self.per_second) * u128::from(PICOS_PER_S) / u128::from(self.per_second);
        Stamp { seconds: (units / self.per_second).saturating_add_signed(self.offset), picos: below as u64 }
    }
}

/// Turns stamps into times.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    /// Midnight before the first packet, in seconds since 1970.
    zero: Option<u64>,
}

impl Clock {
    /// What the trace's times are counted from, in seconds since 1970.
    pub fn zero(&self) -> u64 {
        self.zero.unwrap_or(0)
    }

    pub fn time(&mut self, stamp: Stamp) -> Result<Time, Why> {
        let zero = *self.zero.get_or_insert_with(|| midnight_before(stamp));
        let since = stamp.seconds.checked_sub(zero).and_then(|seconds| seconds.checked_mul(PICOS_PER_S)?.checked_add(stamp.picos));
        since.map(Time::from_picos).ok_or_else(|| {
            Why::Damaged(format!(
                "its time, {} s after 1970, is before the day of the first packet or more than 213 days after it",
                stamp.seconds
            ))
        })
    }
}

fn midnight_before(stamp: Stamp) -> u64 {
    let days = stamp.seconds / SECONDS_PER_DAY;
    if days < FIRST_DAYS { 0 } else { days * SECONDS_PER_DAY }
}

/// Who stamps packets within so many days of 1970 means the start of a simulation.
const FIRST_DAYS: u64 = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_of_any_resolution_are_read() {
        let second = |code| Resolution::of_code(code).map(|resolution| resolution.stamp(3_000_000_000));
        assert_eq!(Some(Stamp { seconds: 3000, picos: 0 }), second(6));
        assert_eq!(Some(Stamp { seconds: 3, picos: 0 }), second(9));
        assert_eq!(Some(Stamp { seconds: 0, picos: 3_000_000_000 }), second(12));
        assert_eq!(Some(Stamp { seconds: 3_000_000_000, picos: 0 }), second(0));
        assert_eq!(Some(Stamp { seconds: 2_929_687, picos: 500_000_000_000 }), second(0x80 | 10));
        assert_eq!((None, None), (second(20), second(0x80 | 64)));
        assert_eq!(7, Resolution::MICRO.offset_by(5).stamp(2_000_000).seconds);
        assert_eq!(0, Resolution::MICRO.offset_by(-5).stamp(2_000_000).seconds);
    }

    #[test]
    fn a_host_s_packets_are_counted_from_midnight_and_a_simulation_s_from_its_start() {
        let mut clock = Clock::default();
        assert_eq!(7.5, clock.time(Stamp { seconds: 86_400 * 20_000 + 7, picos: 500_000_000_000 }).unwrap().seconds());
        assert_eq!(86_400 * 20_000, clock.zero());
        assert!(clock.time(Stamp { seconds: 5, picos: 0 }).is_err());
        assert!(clock.time(Stamp { seconds: u64::MAX, picos: 0 }).is_err());
        let mut clock = Clock::default();
        assert_eq!(7.0, clock.time(Stamp { seconds: 7, picos: 0 }).unwrap().seconds());
        assert_eq!(86_400.0, clock.time(Stamp { seconds: 86_400, picos: 0 }).unwrap().seconds());
    }
}
