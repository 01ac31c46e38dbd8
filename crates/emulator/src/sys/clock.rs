//! Clocks, in nanoseconds. Runs use the monotonic clock; in a virtual machine it is the guest's.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since an unspecified instant before the program started.
pub fn monotonic_time() -> u64 {
    read_clock(ClockId::Monotonic)
}

/// Processor time of the calling thread in nanoseconds.
pub fn thread_cpu_time() -> u64 {
    read_clock(ClockId::ThreadCPUTime)
}

fn read_clock(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
