//! The clock of runs: monotonic, in nanoseconds, the guest's own in a virtual machine.

use std::mem::MaybeUninit;

/// Nanoseconds since some instant before the program began.
pub fn monotonic() -> u64 {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // Safety: the call writes the time to where it is told; CLOCK_MONOTONIC always exists.
    let time = unsafe {
        assert_eq!(0, libc::clock_gettime(libc::CLOCK_MONOTONIC, time.as_mut_ptr()));
        time.assume_init()
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
