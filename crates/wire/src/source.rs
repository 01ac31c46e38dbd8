//! Bytes of an input with lookahead: a bounded buffer that knows its offset in the file.

use std::io::{self, BufRead, ErrorKind, Read};

/// Largest lookahead.
pub const MAX_PEEK: usize = 256 * 1024;

/// Initial size of the buffer: a small file does not need the largest one.
const INITIAL_BUFFER: usize = 8 * 1024;

/// An input with lookahead.
pub struct ByteSource<'a> {
    input: Box<dyn Read + Send + 'a>,
    /// Grows up to [`MAX_PEEK`].
    buffer: Vec<u8>,
    /// The part of the buffer that was read from the input and not consumed.
    start: usize,
    end: usize,
    /// Offset of `start` in the file.
    offset: u64,
}

impl<'a> ByteSource<'a> {
    pub fn new(input: impl Read + Send + 'a) -> ByteSource<'a> {
        ByteSource { input: Box::new(input), buffer: vec![0; INITIAL_BUFFER], start: 0, end: 0, offset: 0 }
    }

    /// Bytes that have been consumed.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next `count` bytes, or fewer if the input ends before. `count` is at most [`MAX_PEEK`].
    pub fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.end - self.start < count && self.read_more_input()? {}
        Ok(&self.buffer[self.start..self.end.min(self.start + count)])
    }

    /// Consumes the next `count` bytes; returns how many there were.
    pub fn skip(&mut self, count: u64) -> io::Result<u64> {
        let mut remaining = count;
        loop {
            let available = remaining.min((self.end - self.start) as u64);
            self.start += available as usize;
            self.offset += available;
            remaining -= available;
            if remaining == 0 || !self.read_more_input()? {
                return Ok(count - remaining);
            }
        }
    }

    /// Consumes the next line and returns it without its end. A line longer than [`MAX_PEEK`] comes in parts; `None` at the input's end.
    pub fn read_line(&mut self) -> io::Result<Option<&[u8]>> {
        let mut searched = 0;
        let length = loop {
            let unread = &self.buffer[self.start..self.end];
            match unread[searched..].iter().position(|&byte| byte == b'\n') {
                Some(at) => break searched + at + 1,
                None if unread.len() == MAX_PEEK => break MAX_PEEK,
                None => searched = unread.len(),
            }
            if !self.read_more_input()? {
                break searched;
            }
        };
        let line = &self.buffer[self.start..self.start + length];
        self.start += length;
        self.offset += length as u64;
        Ok((length > 0).then(|| without_line_end(line)))
    }

    /// Reads more of the input; false at its end.
    fn read_more_input(&mut self) -> io::Result<bool> {
        let is_full = self.end == self.buffer.len();
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        // A file that has filled the buffer once is read in larger parts from then on.
        if is_full && self.buffer.len() < MAX_PEEK {
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

impl Read for ByteSource<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(into)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for ByteSource<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.end {
            self.read_more_input()?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    fn consume(&mut self, count: usize) {
        self.start += count;
        self.offset += count as u64;
    }
}

fn without_line_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns one byte at a time.
    struct OneByteReader<'a>(&'a [u8]);

    impl Read for OneByteReader<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = into.len().min(1);
            self.0.read(&mut into[..count])
        }
    }

    #[test]
    fn lines_are_read_whole_from_an_input_of_single_bytes() {
        let mut source = ByteSource::new(OneByteReader(b"one\r\n\ntwo"));
        let mut lines = Vec::new();
        while let Some(line) = source.read_line().unwrap() {
            lines.push(line.to_vec());
        }
        assert_eq!(vec![b"one".to_vec(), b"".to_vec(), b"two".to_vec()], lines);
        assert_eq!(9, source.offset());
    }

    #[test]
    fn an_endless_line_is_read_in_parts_of_the_buffer() {
        let mut source = ByteSource::new(io::repeat(b'x').take(MAX_PEEK as u64 + 10));
        assert_eq!(Some(MAX_PEEK), source.read_line().unwrap().map(<[u8]>::len));
        assert_eq!(Some(10), source.read_line().unwrap().map(<[u8]>::len));
        assert_eq!(None, source.read_line().unwrap());
    }

    #[test]
    fn skipped_bytes_are_not_kept() {
        let mut source = ByteSource::new(io::repeat(7).take(1_000_000));
        assert_eq!(999_999, source.skip(999_999).unwrap());
        assert_eq!([7], source.peek(4).unwrap());
        assert_eq!(1, source.skip(4).unwrap());
        assert_eq!(1_000_000, source.offset());
    }
}
