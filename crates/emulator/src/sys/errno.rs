//! Results of system calls.

use std::io;

/// The result of a system call that answers -1 for an error, which then stands in `errno`.
///
/// # Errors
/// What `errno` says.
pub fn check<T: Copy + PartialEq + From<i8>>(result: T) -> io::Result<T> {
    if result == T::from(-1) { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The same, again and again while a signal interrupts it.
pub fn retry_eintr<T: Copy + PartialEq + From<i8>>(mut result: impl FnMut() -> T) -> io::Result<T> {
    loop {
        match check(result()) {
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Makes a call that does not wait, again while a signal interrupts it; `None` where it would have to wait.
///
/// # Errors
/// Any other error of the call.
pub fn nonblocking<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<Option<T>> {
    loop {
        match attempt() {
            Ok(value) => return Ok(Some(value)),
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(why) => return Err(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use io::ErrorKind::{BrokenPipe, Interrupted, WouldBlock};

    use super::*;

    #[test]
    fn an_interrupted_call_is_retried() {
        let after = |last: io::Result<u8>| {
            let mut results = vec![last, Err(Interrupted.into()), Err(Interrupted.into())];
            nonblocking(|| results.pop().unwrap()).map_err(|why| why.kind())
        };
        assert_eq!([Ok(Some(7)), Ok(None), Err(BrokenPipe)], [after(Ok(7)), after(Err(WouldBlock.into())), after(Err(BrokenPipe.into()))]);
    }
}
