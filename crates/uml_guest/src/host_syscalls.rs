//! System calls of the host machine, which bypass the UML kernel.
//!
//! They read the job and write its result. The UML kernel therefore sees no name, number or time of a file of the machine, which would
//! become part of the run. The time that a reader of the output takes does not affect it either.

#![allow(unsafe_code)]

use std::ffi::{CString, c_long};
use std::io::{self, Write};

/// Makes a system call of the host machine.
///
/// # Safety
/// The arguments must be valid for that call.
unsafe fn host_syscall(number: c_long, arguments: [usize; 4]) -> io::Result<usize> {
    loop {
        let mut result = number as isize;
        // Safety: the caller guarantees the arguments; a system call changes these registers and no others.
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
            // A signal of the UML kernel interrupted the call.
            error if error == -(libc::EINTR as isize) => {}
            error => return Err(io::Error::from_raw_os_error(-error as i32)),
        }
    }
}

/// A file of the host machine.
pub struct HostFile(usize);

impl HostFile {
    /// # Errors
    /// If it cannot be opened.
    pub fn open(path: &str) -> io::Result<HostFile> {
        HostFile::open_with_flags(path, libc::O_RDONLY)
    }

    /// Creates a file, and replaces an existing one.
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

    /// Reads the whole file.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read_to_string(&self) -> io::Result<String> {
        let (mut text, mut chunk) = (Vec::new(), vec![0_u8; 1 << 16]);
        loop {
            // Safety: the buffer has the given length.
            match unsafe { host_syscall(libc::SYS_read, [self.0, chunk.as_mut_ptr() as usize, chunk.len(), 0]) }? {
                0 => return String::from_utf8(text).map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why)),
                read => text.extend_from_slice(&chunk[..read]),
            }
        }
    }
}

impl Write for HostFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Safety: the buffer has the given length.
        unsafe { host_syscall(libc::SYS_write, [self.0, bytes.as_ptr() as usize, bytes.len(), 0]) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for HostFile {
    fn drop(&mut self) {
        // Safety: this value owns the descriptor. An error of the call has no effect.
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

/// Writes a line to standard output, and ignores errors.
pub fn host_write_line(line: &str) {
    const STDOUT_FILENO: usize = 1;
    let mut out = std::mem::ManuallyDrop::new(HostFile(STDOUT_FILENO));
    let _ = out.write_all(format!("{line}\n").as_bytes());
}
