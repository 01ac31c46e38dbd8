//! Results of system calls.

use std::io;

/// The result of a system call that answers -1 for an error, which then stands in `errno`.
///
/// # Errors
/// What `errno` says.
pub fn call<T: Copy + PartialEq + From<i8>>(result: T) -> io::Result<T> {
    if result == T::from(-1) { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The same, again and again while a signal interrupts it.
pub fn uninterrupted<T: Copy + PartialEq + From<i8>>(mut result: impl FnMut() -> T) -> io::Result<T> {
    loop {
        match call(result()) {
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// `None` where a call that does not wait would have had to.
pub fn at_once<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(why) if why.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(why) => Err(why),
    }
}
