//! Time of a run: the system's monotonic clock since the start of the run, in the engine's picoseconds.

use ecnlab_units::Time;

use crate::sys::clock::monotonic_time;

const PICOS_PER_NANO: u64 = 1_000;

/// Clock of a run. With virtual time, the system's clock is virtual.
#[derive(Clone, Copy, Debug)]
pub struct RunClock {
    pub origin_ns: u64,
}

impl RunClock {
    /// Starts a clock at the current time.
    pub fn start() -> RunClock {
        RunClock { origin_ns: monotonic_time() }
    }

    pub fn now(&self) -> Time {
        Time::from_picos((monotonic_time() - self.origin_ns) * PICOS_PER_NANO)
    }
}

/// Nanoseconds from one time to another, rounded up, so that a wait does not end early.
pub fn nanos_until(time: Time, now: Time) -> u64 {
    time.since(now).picos().div_ceil(PICOS_PER_NANO)
}
