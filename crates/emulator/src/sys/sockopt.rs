//! Socket options that `rustix` lacks.

use std::io;
use std::mem::{MaybeUninit, size_of_val};
use std::os::fd::{AsFd, AsRawFd};

use super::errno::check_syscall;

pub fn set_option(socket: impl AsFd, level: libc::c_int, option: libc::c_int, value: &[u8]) -> io::Result<()> {
    let (socket, length) = (socket.as_fd(), value.len() as libc::socklen_t);
    // Safety: the value is `length` bytes long and outlives the call.
    check_syscall(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, value.as_ptr().cast(), length) })?;
    Ok(())
}

pub fn set_int_option(socket: impl AsFd, level: libc::c_int, option: libc::c_int, value: i32) -> io::Result<()> {
    set_option(socket, level, option, &value.to_ne_bytes())
}

/// Reads `TCP_INFO` into a structure of numbers; fields that an older kernel does not report are zero.
///
/// # Safety
/// Any bytes must be a valid `T`.
pub unsafe fn tcp_info<T>(socket: impl AsFd) -> io::Result<T> {
    let mut info = MaybeUninit::<T>::zeroed();
    let mut length = size_of_val(&info) as libc::socklen_t;
    // Safety: the kernel writes at most `length` bytes, and any bytes are a `T`.
    unsafe {
        check_syscall(libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        ))?;
        Ok(info.assume_init())
    }
}
