//! User and process namespaces: new ones, in which a process may use privileges, and those of another process.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{getegid, geteuid};
use rustix::thread::UnshareFlags;

use super::caps::inherit_capabilities;
use super::namespace::{setns, unshare};

/// Moves the process into a new user namespace and a new network namespace. It is root there, and has capabilities over the objects that it
/// creates. It must have one thread.
///
/// # Errors
/// If the machine does not permit it.
pub fn unshare_as_root() -> io::Result<()> {
    unshare_user_namespace(Some(0))
}

/// The same, but the process keeps its user, and the programs that it starts keep the capabilities.
///
/// # Errors
/// If the machine does not permit it.
pub fn unshare_as_current_user() -> io::Result<()> {
    unshare_user_namespace(None)?;
    inherit_capabilities()
}

/// Moves the process into new namespaces, in which its user and group have this number, or the present ones.
fn unshare_user_namespace(number: Option<u32>) -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    retry_while_threads_exit(|| unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNET))?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{} {user} 1", number.unwrap_or(user)))?;
    fs::write("/proc/self/gid_map", format!("{} {group} 1", number.unwrap_or(group)))
}

/// Maximum time in which threads that have ended disappear.
const THREAD_EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// Result of a call that the kernel refuses to a process with several threads. An ended thread counts until the kernel has removed it,
/// shortly after its work was joined.
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

/// Later child processes of this thread are in a new process namespace, whose first process is process 1. When that ends, the kernel ends
/// all others. The thread itself can start no further threads, and cannot return.
///
/// # Errors
/// Without the privilege.
pub fn unshare_pid_namespace() -> io::Result<()> {
    unshare(UnshareFlags::NEWPID)
}

/// Moves the process into the user, network and mount namespaces of another process, and its later child processes into that process
/// namespace. It must have one thread.
///
/// # Errors
/// Without the privilege, which the creator of the namespaces has.
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
