//! Errors in a trace, with their position.

use std::fmt;
use std::io::{self, ErrorKind};

/// A record that could not be read.
#[derive(Debug)]
pub struct ReadError {
    /// Number of the line, packet or block, from 1; 0 before the first.
    pub record: u64,
    /// Start of the record in bytes from the start of the file, after decompression.
    pub offset: u64,
    pub kind: ReadErrorKind,
    /// Whether nothing behind it can be read. Otherwise the reader continues with the next record.
    pub is_fatal: bool,
}

/// Kind of error.
#[derive(Debug)]
pub enum ReadErrorKind {
    /// The input itself failed.
    Input(io::Error),
    /// The file ends within a record.
    Truncated,
    /// The format is unknown.
    Unknown,
    /// The file is empty.
    Empty,
    /// The record contradicts its format; with a description.
    Damaged(String),
    /// The format allows it, but this reader does not support it; with a description.
    Unsupported(String),
}

/// Decoders report damaged data as errors of input.
impl From<io::Error> for ReadErrorKind {
    fn from(error: io::Error) -> ReadErrorKind {
        match error.kind() {
            ErrorKind::UnexpectedEof => ReadErrorKind::Truncated,
            ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::Other => {
                ReadErrorKind::Damaged(format!("it cannot be decompressed: {error}"))
            }
            _ => ReadErrorKind::Input(error),
        }
    }
}

impl fmt::Display for ReadErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadErrorKind::Input(error) => error.fmt(f),
            ReadErrorKind::Truncated => f.write_str("the file ends in the middle of it"),
            ReadErrorKind::Unknown => {
                f.write_str("this is neither an ns-2 trace nor pcap nor pcapng; fix: give a file of one of these formats")
            }
            ReadErrorKind::Empty => f.write_str("the file is empty"),
            ReadErrorKind::Damaged(how) | ReadErrorKind::Unsupported(how) => f.write_str(how),
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.record {
            0 => self.kind.fmt(f),
            record => write!(f, "record {record} at byte {}: {}", self.offset, self.kind),
        }
    }
}

impl std::error::Error for ReadError {}
