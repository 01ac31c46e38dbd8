//! Settings of the process: real-time scheduling, exact timers, descriptor limit, death with its parent.

use std::io;
use std::num::NonZeroU64;

use rustix::process::{Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit};
use rustix::thread::set_current_timer_slack;

use super::errno::check_syscall;

/// Priority of the threads that carry packets: below the machine's own real-time threads, above everything else.
pub const REALTIME_PRIORITY: i32 = 10;

/// Moves the calling thread into the real-time class (`SCHED_FIFO`).
///
/// # Errors
/// Without the privilege, which root has and the root of a user namespace lacks.
pub fn set_realtime_scheduling(priority: i32) -> io::Result<()> {
    set_scheduler(libc::SCHED_FIFO, priority)
}

/// Moves the calling thread back into the normal class.
///
/// # Errors
/// Never on Linux.
pub fn reset_scheduling() -> io::Result<()> {
    set_scheduler(libc::SCHED_OTHER, 0)
}

/// `rustix` has no `sched_setscheduler`.
fn set_scheduler(policy: libc::c_int, priority: i32) -> io::Result<()> {
    // Safety: all zeros are valid parameters, which outlive the call; 0 is the calling thread.
    check_syscall(unsafe {
        let mut parameters: libc::sched_param = std::mem::zeroed();
        parameters.sched_priority = priority;
        libc::sched_setscheduler(0, policy, &raw const parameters)
    })?;
    Ok(())
}

/// The kernel's default of `fs.nr_open`: the most descriptors that a privileged process can allow itself.
const DEFAULT_NR_OPEN: u64 = 1 << 20;

/// Raises the limit of descriptors as far as the kernel permits: each connection takes two.
///
/// # Errors
/// Never on Linux.
pub fn raise_descriptor_limit() -> io::Result<()> {
    let hard_limit = getrlimit(Resource::Nofile).maximum;
    let set = |limit: Option<u64>| setrlimit(Resource::Nofile, Rlimit { current: limit, maximum: limit });
    set(hard_limit.map(|limit| limit.max(DEFAULT_NR_OPEN))).or_else(|_| set(hard_limit))?;
    Ok(())
}

/// Sets by how many nanoseconds, at least 1, the kernel may delay the calling thread's wake-ups; the default is 50 us.
///
/// # Errors
/// Never on Linux.
pub fn set_timer_slack(nanoseconds: u64) -> io::Result<()> {
    Ok(set_current_timer_slack(NonZeroU64::new(nanoseconds))?)
}

/// Has the kernel kill this process when the thread that started it ends.
///
/// # Errors
/// Never on Linux.
pub fn die_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}
