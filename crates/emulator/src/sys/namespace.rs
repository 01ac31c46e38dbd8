//! Network namespaces without names: each lives as long as something holds its descriptor, a device or a socket, so nothing is left
//! behind however a process ends.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::errno::check_syscall;

const THREAD_NET_NS: &str = "/proc/thread-self/ns/net";

/// A network namespace.
#[derive(Clone, Debug)]
pub struct Namespace(Arc<File>);

impl Namespace {
    /// The one that the calling thread is in.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn current() -> io::Result<Namespace> {
        Ok(Namespace(Arc::new(File::open(THREAD_NET_NS)?)))
    }

    /// Makes a new one, of which the calling thread is not part.
    ///
    /// # Errors
    /// Without the privilege, which root and the root of a user namespace have ([`super::userns::unshare_as_root`]).
    pub fn create() -> io::Result<Namespace> {
        let original = Namespace::current()?;
        unshare(UnshareFlags::NEWNET)?;
        let created = Namespace::current();
        original.enter()?;
        created
    }

    /// What tells it from all others while it is there.
    ///
    /// # Errors
    /// Never on Linux.
    pub fn inode(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.ino())
    }

    /// Moves the calling thread into it, for good. Sockets and devices that it makes from now on are there, and `/proc/sys/net` and
    /// `/proc/thread-self/net` show it.
    ///
    /// # Errors
    /// Without the privilege over the namespace.
    pub fn enter(&self) -> io::Result<()> {
        enter_network_namespace(self.descriptor())
    }

    /// The descriptor that keeps it, by which a child process that inherits it can enter.
    pub fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Does something inside of it, and comes back to where the thread was.
    ///
    /// # Errors
    /// What the work gives, or that a namespace could not be entered.
    pub fn run_inside<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let original = Namespace::current()?;
        self.enter()?;
        let done = work();
        original.enter()?;
        done
    }
}

/// Moves the calling thread into the network namespace of a descriptor, for good.
///
/// # Errors
/// Without the privilege over the namespace, or if the descriptor is not one of a network namespace.
pub fn enter_network_namespace(descriptor: RawFd) -> io::Result<()> {
    setns(descriptor, libc::CLONE_NEWNET)
}

/// Moves the calling thread, or for some kinds the process, into new namespaces.
pub fn unshare(kinds: UnshareFlags) -> io::Result<()> {
    assert!(!kinds.intersects(UnshareFlags::FILES | UnshareFlags::FS), "{kinds:?}");
    // Safety: the table of descriptors remains shared by all threads.
    Ok(unsafe { unshare_unsafe(kinds) }?)
}

/// Moves the calling thread, or for some kinds the process, into the namespace of a descriptor, of the kind of a `CLONE_NEW...`.
///
/// The functions of `rustix` look `setns` up with `dlsym`, which finds the C library's; in the guest program that one calls the host kernel.
pub fn setns(descriptor: RawFd, kind: libc::c_int) -> io::Result<()> {
    // Safety: the call accesses no memory of the process, and refuses a descriptor of another kind.
    check_syscall(unsafe { libc::setns(descriptor, kind) })?;
    Ok(())
}

/// How many packets a device of the namespace that the calling thread is in has dropped before the reader took them.
///
/// # Errors
/// If there is no such device or `/proc` cannot be read.
pub fn device_tx_drops(name: &str) -> io::Result<u64> {
    let devices = fs::read_to_string("/proc/thread-self/net/dev")?;
    let line = devices.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'));
    // Eight counts of what was received, then bytes, packets, errors and drops of what was sent.
    let count = line.and_then(|line| line.split_ascii_whitespace().nth(11)?.parse().ok());
    count.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("no device {name} in /proc/thread-self/net/dev")))
}
