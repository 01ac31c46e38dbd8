//! Clocks, in nanoseconds. That of runs is monotonic; in a virtual machine it is the guest's own.

use std::mem::MaybeUninit;

/// Nanoseconds since some instant before the program began.
pub fn monotonic() -> u64 {
    read_clock(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds of the processor that the calling thread has used.
pub fn thread_cpu_time() -> u64 {
    read_clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn read_clock(clock: libc::clockid_t) -> u64 {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // Safety: the call writes the time to where it is told; both clocks always exist.
    let time = unsafe {
        assert_eq!(0, libc::clock_gettime(clock, time.as_mut_ptr()));
        time.assume_init()
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
