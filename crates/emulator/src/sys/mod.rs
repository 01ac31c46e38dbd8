//! What is asked of the system: namespaces, TUN devices, netlink, waiting, clocks, scheduling.
//!
//! It goes through `libc` and no larger crate: what is needed are two dozen calls, some of which no safe wrapper has (`TUNSETIFF`,
//! `epoll_pwait2`, route metrics), in a program that is one thread, links statically and starts as process 1 as well.
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
pub mod sysctl;
pub mod tun;
pub mod userns;

pub use errno::check;
pub use namespace::Namespace;
pub use poll::{Poller, ReadyEvent};
pub use socket::Socket;
pub use tun::Tun;
