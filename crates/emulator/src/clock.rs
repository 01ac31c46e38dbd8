//! The time of a run: the system's monotonic clock from the run's start on, in the engine's picoseconds.

use ecnlab_units::Time;

use crate::sys::clock::monotonic;

const PICOS_PER_NANO: u64 = 1_000;

/// A run's clock. In a machine whose time is virtual, the same clock is.
#[derive(Clone, Copy, Debug)]
pub struct RunClock {
    origin: u64,
}

impl RunClock {
    /// One that begins now.
    pub fn start() -> RunClock {
        RunClock { origin: monotonic() }
    }

    /// What the system's clock said at the start, in nanoseconds.
    pub fn origin_ns(&self) -> u64 {
        self.origin
    }

    pub fn now(&self) -> Time {
        Time::from_picos((monotonic() - self.origin) * PICOS_PER_NANO)
    }
}

/// Nanoseconds from one time to another, rounded up: who waits so long comes no earlier.
pub fn nanos_until(time: Time, now: Time) -> u64 {
    time.since(now).picos().div_ceil(PICOS_PER_NANO)
}
