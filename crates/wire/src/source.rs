//! Bytes on their way in: looked at before they are taken, with their place in the file, in a buffer that has a bound.

use std::io::{self, BufRead, ErrorKind, Read};

/// The most that can be looked at ahead.
pub const WINDOW: usize = 256 * 1024;

/// What is looked at ahead first: a small file needs no whole window.
const FIRST_WINDOW: usize = 8 * 1024;

/// An input with a window on what comes next.
pub struct Source<'a> {
    input: Box<dyn Read + Send + 'a>,
    /// Grows up to a window.
    buffer: Vec<u8>,
    /// What of the buffer has been read and not been taken.
    start: usize,
    end: usize,
    /// Place of `start` in the file.
    offset: u64,
}

impl<'a> Source<'a> {
    pub fn new(input: impl Read + Send + 'a) -> Source<'a> {
        Source { input: Box::new(input), buffer: vec![0; FIRST_WINDOW], start: 0, end: 0, offset: 0 }
    }

    /// How many bytes have been taken.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next `count` bytes, or fewer where the input ends before. `count` is a window at most.
    pub fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.end - self.start < count && self.fill()? {}
        Ok(&self.buffer[self.start..self.end.min(self.start + count)])
    }

    /// Takes the next `count` bytes; returns how many there were.
    pub fn skip(&mut self, count: u64) -> io::Result<u64> {
        let mut left = count;
        loop {
            let here = left.min((self.end - self.start) as u64);
            self.start += here as usize;
            self.offset += here;
            left -= here;
            if left == 0 || !self.fill()? {
                return Ok(count - left);
            }
        }
    }

    /// Takes the next line, without its end. Of a line longer than a window it is the first part; `None` at the input's end.
    pub fn line(&mut self) -> io::Result<Option<&[u8]>> {
        let mut searched = 0;
        let length = loop {
            let ahead = &self.buffer[self.start..self.end];
            match ahead[searched..].iter().position(|&byte| byte == b'\n') {
                Some(place) => break searched + place + 1,
                None if ahead.len() == WINDOW => break WINDOW,
                None => searched = ahead.len(),
            }
            if !self.fill()? {
                break searched;
            }
        };
        let line = &self.buffer[self.start..self.start + length];
        self.start += length;
        self.offset += length as u64;
        Ok((length > 0).then(|| trimmed(line)))
    }

    /// Reads more; false if there is no more, or no room.
    fn fill(&mut self) -> io::Result<bool> {
        let is_full = self.end == self.buffer.len();
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        // A file that has filled it once is read in larger parts from then on.
        if is_full && self.buffer.len() < WINDOW {
            self.buffer.resize(2 * self.buffer.len(), 0);
        }
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(count) => {
                    self.end += count;
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Read for Source<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(into)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Source<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.end {
            self.fill()?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    fn consume(&mut self, count: usize) {
        self.start += count;
        self.offset += count as u64;
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = into.len().min(1);
            self.0.read(&mut into[..count])
        }
    }

    #[test]
    fn lines_come_whole_from_an_input_that_trickles() {
        let mut source = Source::new(Trickle(b"one\r\n\ntwo"));
        let mut lines = Vec::new();
        while let Some(line) = source.line().unwrap() {
            lines.push(line.to_vec());
        }
        assert_eq!(vec![b"one".to_vec(), b"".to_vec(), b"two".to_vec()], lines);
        assert_eq!(9, source.offset());
    }

    #[test]
    fn an_endless_line_comes_in_parts_of_a_window() {
        let mut source = Source::new(io::repeat(b'x').take(WINDOW as u64 + 10));
        assert_eq!(Some(WINDOW), source.line().unwrap().map(<[u8]>::len));
        assert_eq!(Some(10), source.line().unwrap().map(<[u8]>::len));
        assert_eq!(None, source.line().unwrap());
    }

    #[test]
    fn what_is_skipped_is_not_kept() {
        let mut source = Source::new(io::repeat(7).take(1_000_000));
        assert_eq!(999_999, source.skip(999_999).unwrap());
        assert_eq!([7], source.peek(4).unwrap());
        assert_eq!(1, source.skip(4).unwrap());
        assert_eq!(1_000_000, source.offset());
    }
}
