//! Waiting for descriptors and for a time, in one call with nanoseconds (`epoll_pwait2`, Linux 5.11).

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use super::errno::check;

/// As many are told of by one wait.
const MAX_EVENTS: usize = 64;

/// Descriptors to wait for, each under a token of its owner's.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    ready: Vec<libc::epoll_event>,
}

/// What to wait for. A descriptor that has been closed at the far end is always told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    Nothing,
    Read,
    Write,
    Both,
}

/// What has come of a descriptor. It is told again until it is no longer so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadyEvent {
    pub token: u64,
    pub read: bool,
    pub write: bool,
    /// An error, or the far end has closed.
    pub closed: bool,
}

impl Interest {
    fn epoll_flags(self) -> u32 {
        (match self {
            Interest::Nothing => 0,
            Interest::Read => libc::EPOLLIN | libc::EPOLLRDHUP,
            Interest::Write => libc::EPOLLOUT,
            Interest::Both => libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP,
        }) as u32
    }
}

impl Poller {
    /// # Errors
    /// If the process may have no more descriptors.
    pub fn new() -> io::Result<Poller> {
        // Safety: the descriptor is new and has no other owner.
        let epoll = unsafe { OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        Ok(Poller { epoll, ready: Vec::with_capacity(MAX_EVENTS) })
    }

    /// Waits for a descriptor from now on. One that is closed is forgotten.
    ///
    /// # Errors
    /// If it is waited for already.
    pub fn add(&self, descriptor: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, descriptor, token, interest)
    }

    /// Waits for something else of it.
    ///
    /// # Errors
    /// If it is not waited for.
    pub fn change(&self, descriptor: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, descriptor, token, interest)
    }

    /// Waits for the descriptor no longer, also not for its end.
    ///
    /// # Errors
    /// If it is not waited for.
    pub fn remove(&self, descriptor: impl AsFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, descriptor, 0, Interest::Nothing)
    }

    fn control(&self, what: libc::c_int, descriptor: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        let mut event = libc::epoll_event { events: interest.epoll_flags(), u64: token };
        // Safety: both descriptors are open, and the event outlives the call.
        check(unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), what, descriptor.as_fd().as_raw_fd(), &raw mut event) })?;
        Ok(())
    }

    /// Waits until a descriptor is ready or the time is over; with no time, for a descriptor alone. What has come of each ready one is
    /// then in [`Poller::ready`]; nothing, if the time is over or a signal came.
    ///
    /// # Errors
    /// If the kernel is older than Linux 5.11.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        let limit = timeout.map(|time| libc::timespec { tv_sec: time.as_secs() as _, tv_nsec: time.subsec_nanos() as _ });
        let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        self.ready.clear();
        let (to, max_events) = (self.ready.as_mut_ptr(), MAX_EVENTS as libc::c_int);
        let no_mask = std::ptr::null::<libc::sigset_t>();
        // Safety: the buffer has room for that many events, and the time, if any, outlives the call. Not every libc has the call.
        let count =
            check(unsafe { libc::syscall(libc::SYS_epoll_pwait2, self.epoll.as_raw_fd(), to, max_events, limit, no_mask, 8_usize) });
        match count {
            // Safety: the kernel has written so many events.
            Ok(count) => unsafe { self.ready.set_len(count as usize) },
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
        Ok(())
    }

    /// What the last wait has found.
    pub fn ready(&self) -> impl Iterator<Item = ReadyEvent> + '_ {
        self.ready.iter().map(|event| {
            let has = |bits: libc::c_int| event.events & bits as u32 != 0;
            let closed = has(libc::EPOLLERR | libc::EPOLLHUP | libc::EPOLLRDHUP);
            ReadyEvent { token: event.u64, read: has(libc::EPOLLIN), write: has(libc::EPOLLOUT), closed }
        })
    }
}
