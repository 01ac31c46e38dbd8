//! Namespaces of users and of processes: one of its own, in which a process may do what needs privileges, and those of another process.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{getegid, geteuid};
use rustix::thread::UnshareFlags;

use super::caps::inherit_capabilities;
use super::namespace::{setns, unshare};

/// Moves the process into namespaces of users and of networks of its own, in which it is root and has capabilities over what it makes there. It has
/// to have one thread.
///
/// # Errors
/// Where the machine does not permit it.
pub fn unshare_as_root() -> io::Result<()> {
    unshare_user_namespace(Some(0))
}

/// The same, but it is who it was, and the programs that it starts keep the capabilities.
///
/// # Errors
/// Where the machine does not permit it.
pub fn unshare_as_current_user() -> io::Result<()> {
    unshare_user_namespace(None)?;
    inherit_capabilities()
}

/// Moves the process into namespaces of its own, where its user and its group have this number, or those that they had.
fn unshare_user_namespace(number: Option<u32>) -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    retry_while_threads_exit(|| unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNET))?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{} {user} 1", number.unwrap_or(user)))?;
    fs::write("/proc/self/gid_map", format!("{} {group} 1", number.unwrap_or(group)))
}

/// How long threads that have call their work may take to be gone.
const THREAD_EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// The result of a call that is refused to a process of several threads. A thread counts until the kernel has put it away, which is a moment
/// after whoever waited for its work goes on.
fn retry_while_threads_exit(mut call: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    let end = Instant::now() + THREAD_EXIT_TIMEOUT;
    loop {
        match call() {
            Err(why) if why.raw_os_error() == Some(libc::EINVAL) && Instant::now() < end => sleep(Duration::from_millis(1)),
            Err(why) if why.raw_os_error() == Some(libc::EINVAL) => {
                return Err(io::Error::other(format!("cannot unshare the user namespace in a multi-threaded process: {why}")));
            }
            other => return other,
        }
    }
}

/// From now on the processes that this thread starts are in a new namespace, whose first process is its process 1: when that one ends, the
/// kernel ends all others of it. The thread itself can start no threads any more, and it cannot come back.
///
/// # Errors
/// Without the privilege.
pub fn unshare_pid_namespace() -> io::Result<()> {
    unshare(UnshareFlags::NEWPID)
}

/// Moves the process into the namespaces that another is in: of users, if it is in another, of networks, of mounts, and of processes for those that it
/// starts. It has to have one thread.
///
/// # Errors
/// Without the privilege, which whoever has made the namespaces has.
pub fn join_namespaces(process: u32) -> io::Result<()> {
    let open = |kind: &str| File::open(format!("/proc/{process}/ns/{kind}"));
    let users = fs::read_link(format!("/proc/{process}/ns/user"))?;
    let users = if users == fs::read_link("/proc/self/ns/user")? { None } else { Some(open("user")?) };
    let others = [("pid", libc::CLONE_NEWPID), ("net", libc::CLONE_NEWNET), ("mnt", libc::CLONE_NEWNS)];
    let others: Vec<_> = others.into_iter().map(|(kind, flag)| Ok((open(kind)?, flag))).collect::<io::Result<_>>()?;
    if let Some(users) = users {
        retry_while_threads_exit(|| setns(users.as_raw_fd(), libc::CLONE_NEWUSER))?;
        inherit_capabilities()?;
    }
    others.iter().try_for_each(|(namespace, kind)| setns(namespace.as_raw_fd(), *kind))
}
