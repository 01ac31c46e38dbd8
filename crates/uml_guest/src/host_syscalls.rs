//! The machine outside: a few of its system calls, made past the kernel inside.
//!
//! The job comes in and its result goes out by them. So nothing of the machine's files, such as their names, numbers and times, is known to
//! the kernel inside, of whose run it would become part; nor is how long it takes whoever reads what is told.

#![allow(unsafe_code)]

use std::ffi::{CString, c_long};
use std::io::{self, Write};

/// A system call of the machine outside.
///
/// # Safety
/// The arguments must be as that call needs them.
unsafe fn host_syscall(number: c_long, arguments: [usize; 4]) -> io::Result<usize> {
    loop {
        let mut result = number as isize;
        // Safety: as the caller says; a system call changes these registers and no others.
        unsafe {
            std::arch::asm!(
                "syscall",
                inlateout("rax") result,
                in("rdi") arguments[0],
                in("rsi") arguments[1],
                in("rdx") arguments[2],
                in("r10") arguments[3],
                out("rcx") _,
                out("r11") _,
                options(nostack)
            );
        }
        match result {
            0.. => return Ok(result as usize),
            // A signal of the kernel's came first.
            error if error == -(libc::EINTR as isize) => {}
            error => return Err(io::Error::from_raw_os_error(-error as i32)),
        }
    }
}

/// A file outside.
pub struct HostFile(usize);

impl HostFile {
    /// # Errors
    /// If it cannot be opened.
    pub fn open(path: &str) -> io::Result<HostFile> {
        HostFile::open_with_flags(path, libc::O_RDONLY)
    }

    /// A new one in place of what is there.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create(path: &str) -> io::Result<HostFile> {
        HostFile::open_with_flags(path, libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC)
    }

    fn open_with_flags(path: &str, flags: i32) -> io::Result<HostFile> {
        let path = CString::new(path)?;
        // Safety: the path ends with a zero and outlives the call.
        unsafe { host_syscall(libc::SYS_open, [path.as_ptr() as usize, (flags | libc::O_CLOEXEC) as usize, 0o600, 0]) }.map(HostFile)
    }

    /// All that it holds.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read_to_string(&self) -> io::Result<String> {
        let (mut text, mut chunk) = (Vec::new(), vec![0_u8; 1 << 16]);
        loop {
            // Safety: the buffer is as long as is said.
            match unsafe { host_syscall(libc::SYS_read, [self.0, chunk.as_mut_ptr() as usize, chunk.len(), 0]) }? {
                0 => return String::from_utf8(text).map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why)),
                read => text.extend_from_slice(&chunk[..read]),
            }
        }
    }
}

impl Write for HostFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Safety: the buffer is as long as is said.
        unsafe { host_syscall(libc::SYS_write, [self.0, bytes.as_ptr() as usize, bytes.len(), 0]) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for HostFile {
    fn drop(&mut self) {
        // Safety: the descriptor is this one's alone. That it cannot be closed changes nothing.
        let _ = unsafe { host_syscall(libc::SYS_close, [self.0, 0, 0, 0]) };
    }
}

/// # Errors
/// If it cannot be renamed.
pub fn host_rename(from: &str, to: &str) -> io::Result<()> {
    let (from, to) = (CString::new(from)?, CString::new(to)?);
    // Safety: both paths end with a zero and outlive the call.
    unsafe { host_syscall(libc::SYS_rename, [from.as_ptr() as usize, to.as_ptr() as usize, 0, 0]) }.map(|_| ())
}

/// Writes a line to standard output; if nobody reads it, that is no matter of the run's.
pub fn host_write_line(line: &str) {
    const STDOUT: usize = 1;
    let mut out = std::mem::ManuallyDrop::new(HostFile(STDOUT));
    let _ = out.write_all(format!("{line}\n").as_bytes());
}
