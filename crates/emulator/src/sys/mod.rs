//! The interface to the system: namespaces, TUN devices, netlink, waiting, clocks, scheduling.
//!
//! Calls go through `rustix` and netlink messages through `netlink-packet-route`, as far as these cover them. `libc` remains for calls that
//! `rustix` lacks (`TUNSETIFF`, `recvmmsg`, `sched_setscheduler`, some socket options), and for those that it looks up with `dlsym`
//! (`setns`, `epoll_pwait2`): the guest program of the backend `uml` replaces libc's functions by their names at link time, so a looked-up
//! function would call the host kernel. For the same reason `rustix` has the feature `use-libc`.
//! Everything outside of this module is safe code.

#![allow(unsafe_code)]

pub mod caps;
pub mod clock;
mod errno;
pub mod mounts;
pub mod namespace;
pub mod netlink;
pub mod packet_socket;
pub mod poll;
pub mod process;
pub mod socket;
mod sockopt;
pub mod sysctl;
pub mod tun;
pub mod userns;

pub use errno::check_syscall;
pub use namespace::Namespace;
pub use poll::{Poller, ReadyEvent};
pub use socket::Socket;
pub use tun::Tun;
