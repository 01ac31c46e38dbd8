//! Waiting for descriptors and for a time, in one call with nanoseconds (`epoll_pwait2`, Linux 5.11).

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, EventData, EventFlags};

use super::errno::check_syscall;

/// Maximum number of events of one wait.
const MAX_EVENTS: usize = 64;

/// Descriptors to wait for, each with a token of its owner.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    ready: Vec<libc::epoll_event>,
}

/// Events to wait for. The close of a descriptor by the far end is always reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    Nothing,
    Read,
    Write,
    Both,
}

/// State of a descriptor. It is reported until it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadyEvent {
    pub token: u64,
    pub read: bool,
    pub write: bool,
    /// An error, or the far end has closed.
    pub closed: bool,
}

impl Interest {
    fn epoll_flags(self) -> EventFlags {
        match self {
            Interest::Nothing => EventFlags::empty(),
            Interest::Read => EventFlags::IN | EventFlags::RDHUP,
            Interest::Write => EventFlags::OUT,
            Interest::Both => EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP,
        }
    }
}

impl Poller {
    /// # Errors
    /// If the process may not open more descriptors.
    pub fn new() -> io::Result<Poller> {
        Ok(Poller { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?, ready: Vec::with_capacity(MAX_EVENTS) })
    }

    /// Adds a descriptor. A closed one is removed by the kernel.
    ///
    /// # Errors
    /// If it was added already.
    pub fn add(&self, descriptor: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, descriptor, EventData::new_u64(token), interest.epoll_flags())?)
    }

    /// Changes the events of a descriptor.
    ///
    /// # Errors
    /// If it was not added.
    pub fn change(&self, descriptor: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, descriptor, EventData::new_u64(token), interest.epoll_flags())?)
    }

    /// Removes a descriptor; not even its close is reported then.
    ///
    /// # Errors
    /// If it was not added.
    pub fn remove(&self, descriptor: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, descriptor)?)
    }

    /// Waits until a descriptor is ready or the time has passed; without a time, for a descriptor only. [`Poller::ready`] then has the
    /// state of each ready descriptor. It is empty after the time or a signal.
    ///
    /// # Errors
    /// If the kernel is older than Linux 5.11.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        let limit = timeout.map(|time| libc::timespec { tv_sec: time.as_secs() as _, tv_nsec: time.subsec_nanos() as _ });
        let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        self.ready.clear();
        let (to, max_events) = (self.ready.as_mut_ptr(), MAX_EVENTS as libc::c_int);
        let no_mask = std::ptr::null::<libc::sigset_t>();
        // `rustix` looks the call up with `dlsym`, which in the guest program finds the C library's, and that one calls the host kernel.
        // Safety: the buffer has room for that many events, and the time, if any, outlives the call.
        let count = check_syscall(unsafe {
            libc::syscall(libc::SYS_epoll_pwait2, self.epoll.as_raw_fd(), to, max_events, limit, no_mask, 8_usize)
        });
        match count {
            // Safety: the kernel has written this number of events.
            Ok(count) => unsafe { self.ready.set_len(count as usize) },
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
        Ok(())
    }

    /// Results of the last wait.
    pub fn ready(&self) -> impl Iterator<Item = ReadyEvent> + '_ {
        self.ready.iter().map(|event| {
            let (flags, token) = (EventFlags::from_bits_retain(event.events), event.u64);
            let closed = flags.intersects(EventFlags::ERR | EventFlags::HUP | EventFlags::RDHUP);
            ReadyEvent { token, read: flags.contains(EventFlags::IN), write: flags.contains(EventFlags::OUT), closed }
        })
    }
}
