//! Results of system calls.

use std::io;

/// Converts the result of a libc call that returns -1 on failure.
///
/// # Errors
/// The error in `errno`.
pub fn check_syscall<T: Copy + PartialEq + From<i8>>(result: T) -> io::Result<T> {
    if result == T::from(-1) { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Repeats a nonblocking call that a signal interrupts; `None` if it would block.
///
/// # Errors
/// Any other error of the call.
pub fn retry_on_intr_nonblocking<T, E: Into<io::Error>>(mut attempt: impl FnMut() -> Result<T, E>) -> io::Result<Option<T>> {
    loop {
        match attempt().map_err(Into::into) {
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
            retry_on_intr_nonblocking(|| results.pop().unwrap()).map_err(|why| why.kind())
        };
        assert_eq!([Ok(Some(7)), Ok(None), Err(BrokenPipe)], [after(Ok(7)), after(Err(WouldBlock.into())), after(Err(BrokenPipe.into()))]);
    }
}
