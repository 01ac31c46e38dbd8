//! What a process asks for itself: privileges of its own, the real-time class, exact timers, an end with its parent.

use std::fs;
use std::io;

use super::call::call;

/// Makes the process root of a user namespace of its own with a network namespace of its own, in which it may do what the other calls
/// of this crate need. It has to have one thread yet.
///
/// # Errors
/// With a remedy, where the machine does not permit user namespaces.
pub fn become_root() -> io::Result<()> {
    // Safety: these ask for the caller's own numbers, and cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    // Safety: the namespaces of this process alone change.
    call(unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET) })?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// Moves the calling thread into the real-time class (`SCHED_FIFO`), where it runs before all that are not.
///
/// # Errors
/// Without the privilege, which root has and the root of a user namespace has not.
pub fn real_time(priority: i32) -> io::Result<()> {
    // Safety: all zeros are valid parameters.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // Safety: the parameters outlive the call; 0 is the calling thread.
    call(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) })?;
    Ok(())
}

/// Moves the calling thread back to where all others are.
///
/// # Errors
/// Never on Linux.
pub fn no_real_time() -> io::Result<()> {
    // Safety: all zeros are valid parameters.
    let parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    // Safety: the parameters outlive the call; 0 is the calling thread.
    call(unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const parameters) })?;
    Ok(())
}

/// Lets the process have as many descriptors as it may: each connection takes two.
///
/// # Errors
/// Never on Linux.
pub fn raise_descriptors() -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // Safety: the call writes the limits, which outlive it.
    call(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) })?;
    limit.rlim_cur = limit.rlim_max;
    // Safety: the limits outlive the call.
    call(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) })?;
    Ok(())
}

/// Lets the kernel end the calling thread's waits this many nanoseconds late, instead of 50 us.
///
/// # Errors
/// Never on Linux.
pub fn timer_slack(nanoseconds: u64) -> io::Result<()> {
    control(libc::PR_SET_TIMERSLACK, nanoseconds)
}

/// Has the kernel kill this process when its parent's thread that started it ends, however that ends.
///
/// # Errors
/// Never on Linux.
pub fn die_with_parent() -> io::Result<()> {
    control(libc::PR_SET_PDEATHSIG, libc::SIGKILL as u64)
}

fn control(what: libc::c_int, value: u64) -> io::Result<()> {
    // Safety: these controls take a number, and none of them writes memory.
    call(unsafe { libc::prctl(what, value as libc::c_ulong, 0, 0, 0) })?;
    Ok(())
}
