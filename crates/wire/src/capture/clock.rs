//! Times of a capture's packets.
//!
//! A capture counts from 1970, which is too far away to be counted in picoseconds. So a trace's zero is the midnight (UTC) before its first
//! packet; in a capture of a simulation, whose packets are stamped with simulated time, it is 1970, that is the simulation's start.

use ecnlab_units::Time;

use crate::error::ReadErrorKind;

const SECONDS_PER_DAY: u64 = 86_400;
const PICOS_PER_S: u64 = 1_000_000_000_000;

/// Time since 1970 at which a packet was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureTime {
    pub seconds: u64,
    pub picos: u64,
}

/// Unit and offset of a file's timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeResolution {
    per_second: u64,
    /// Seconds that are added to each timestamp.
    offset: i64,
}

impl TimeResolution {
    pub const MICRO: TimeResolution = TimeResolution { per_second: 1_000_000, offset: 0 };
    pub const NANO: TimeResolution = TimeResolution { per_second: 1_000_000_000, offset: 0 };

    /// By pcapng's `if_tsresol`: a negative power of ten, or of two if the highest bit is set. `None` if it is finer than 64 bits count.
    pub fn from_code(code: u8) -> Option<TimeResolution> {
        let (base, power) = if code & 0x80 == 0 { (10_u64, code) } else { (2, code & 0x7f) };
        base.checked_pow(power.into()).map(|per_second| TimeResolution { per_second, offset: 0 })
    }

    #[must_use]
    pub fn with_offset(self, seconds: i64) -> TimeResolution {
        TimeResolution { offset: seconds, ..self }
    }

    pub fn capture_time(self, units: u64) -> CaptureTime {
        let fraction = u128::from(units % self.per_second) * u128::from(PICOS_PER_S) / u128::from(self.per_second);
        CaptureTime { seconds: (units / self.per_second).saturating_add_signed(self.offset), picos: fraction as u64 }
    }
}

/// Converts timestamps to times of the trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct CaptureClock {
    /// Midnight before the first packet, in seconds since 1970.
    epoch_s: Option<u64>,
}

impl CaptureClock {
    /// Zero of the trace's times, in seconds since 1970.
    pub fn epoch_s(&self) -> u64 {
        self.epoch_s.unwrap_or(0)
    }

    pub fn relative_time(&mut self, capture_time: CaptureTime) -> Result<Time, ReadErrorKind> {
        let epoch_s = *self.epoch_s.get_or_insert_with(|| choose_epoch_s(capture_time));
        let since =
            capture_time.seconds.checked_sub(epoch_s).and_then(|seconds| seconds.checked_mul(PICOS_PER_S)?.checked_add(capture_time.picos));
        since.map(Time::from_picos).ok_or_else(|| {
            ReadErrorKind::Damaged(format!(
                "its time, {} s after 1970, is before the day of the first packet or more than 213 days after it",
                capture_time.seconds
            ))
        })
    }
}

fn choose_epoch_s(capture_time: CaptureTime) -> u64 {
    let days = capture_time.seconds / SECONDS_PER_DAY;
    if days < SIMULATION_DAYS { 0 } else { days * SECONDS_PER_DAY }
}

/// Timestamps within so many days of 1970 count from the start of a simulation.
const SIMULATION_DAYS: u64 = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_of_any_resolution_are_read() {
        let second = |code| TimeResolution::from_code(code).map(|resolution| resolution.capture_time(3_000_000_000));
        assert_eq!(Some(CaptureTime { seconds: 3000, picos: 0 }), second(6));
        assert_eq!(Some(CaptureTime { seconds: 3, picos: 0 }), second(9));
        assert_eq!(Some(CaptureTime { seconds: 0, picos: 3_000_000_000 }), second(12));
        assert_eq!(Some(CaptureTime { seconds: 3_000_000_000, picos: 0 }), second(0));
        assert_eq!(Some(CaptureTime { seconds: 2_929_687, picos: 500_000_000_000 }), second(0x80 | 10));
        assert_eq!((None, None), (second(20), second(0x80 | 64)));
        assert_eq!(7, TimeResolution::MICRO.with_offset(5).capture_time(2_000_000).seconds);
        assert_eq!(0, TimeResolution::MICRO.with_offset(-5).capture_time(2_000_000).seconds);
    }

    #[test]
    fn a_host_s_packets_are_counted_from_midnight_and_a_simulation_s_from_its_start() {
        let mut clock = CaptureClock::default();
        assert_eq!(7.5, clock.relative_time(CaptureTime { seconds: 86_400 * 20_000 + 7, picos: 500_000_000_000 }).unwrap().seconds());
        assert_eq!(86_400 * 20_000, clock.epoch_s());
        assert!(clock.relative_time(CaptureTime { seconds: 5, picos: 0 }).is_err());
        assert!(clock.relative_time(CaptureTime { seconds: u64::MAX, picos: 0 }).is_err());
        let mut clock = CaptureClock::default();
        assert_eq!(7.0, clock.relative_time(CaptureTime { seconds: 7, picos: 0 }).unwrap().seconds());
        assert_eq!(86_400.0, clock.relative_time(CaptureTime { seconds: 86_400, picos: 0 }).unwrap().seconds());
    }
}
