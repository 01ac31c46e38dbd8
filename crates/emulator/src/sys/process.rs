//! What a process asks for itself: the real-time class, exact timers, an end with its parent.

use std::io;

use super::errno::check;

/// Priority of what carries packets: below what the machine itself does in the real-time class, above everything else.
pub const REALTIME_PRIORITY: i32 = 10;

/// Moves the calling thread into the real-time class (`SCHED_FIFO`), where it runs before all that are not.
///
/// # Errors
/// Without the privilege, which root has and the root of a user namespace has not.
pub fn set_realtime_scheduling(priority: i32) -> io::Result<()> {
    // Safety: all zeros are valid parameters.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // Safety: the parameters outlive the call; 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) })?;
    Ok(())
}

/// Moves the calling thread back to where all others are.
///
/// # Errors
/// Never on Linux.
pub fn reset_scheduling() -> io::Result<()> {
    // Safety: all zeros are valid parameters.
    let parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    // Safety: the parameters outlive the call; 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const parameters) })?;
    Ok(())
}

/// As many descriptors as a Linux lets a process have that may raise its own limit, unless it was told otherwise (`fs.nr_open`).
const DEFAULT_NR_OPEN: libc::rlim_t = 1 << 20;

/// Lets the process have as many descriptors as it may, or may let itself have: each connection takes two.
///
/// # Errors
/// Never on Linux.
pub fn raise_descriptor_limit() -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // Safety: the call writes the limits, which outlive it.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) })?;
    let most = limit.rlim_max.max(DEFAULT_NR_OPEN);
    let raised = [most, limit.rlim_max].map(|most| libc::rlimit { rlim_cur: most, rlim_max: most });
    // Safety: the limits outlive the calls.
    let mut set = raised.iter().map(|limit| check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, limit) }).map(drop));
    set.find(Result::is_ok).unwrap_or_else(|| Err(io::Error::last_os_error()))
}

/// Lets the kernel end the calling thread's waits this many nanoseconds late, instead of 50 us.
///
/// # Errors
/// Never on Linux.
pub fn set_timer_slack(nanoseconds: u64) -> io::Result<()> {
    prctl(libc::PR_SET_TIMERSLACK, nanoseconds)
}

/// Has the kernel kill this process when its parent's thread that started it ends, however that ends.
///
/// # Errors
/// Never on Linux.
pub fn die_with_parent() -> io::Result<()> {
    prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as u64)
}

fn prctl(what: libc::c_int, value: u64) -> io::Result<()> {
    // Safety: these controls take a number, and none of them writes memory.
    check(unsafe { libc::prctl(what, value as libc::c_ulong, 0, 0, 0) })?;
    Ok(())
}
