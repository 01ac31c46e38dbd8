//! What is wrong with a trace, and where.

use std::fmt;
use std::io::{self, ErrorKind};

/// Something that could not be read.
#[derive(Debug)]
pub struct Fault {
    /// Number of the line, packet or block, from 1; 0 before the first.
    pub record: u64,
    /// Where it begins, in bytes from the start of the file (of what it contains, if it is compressed).
    pub offset: u64,
    pub why: Why,
    /// Whether nothing behind it can be read. If not, the reader goes on with the next record.
    pub ends: bool,
}

/// What was wrong.
#[derive(Debug)]
pub enum Why {
    /// The input itself failed.
    Input(io::Error),
    /// The file ends within a record.
    Truncated,
    /// It is none of the formats that are known.
    Unknown,
    /// There is nothing in it.
    Empty,
    /// The record contradicts its format; says how.
    Damaged(String),
    /// The format allows it, but it is not read here; says what.
    Unsupported(String),
}

/// What decompresses an input tells in an error of input what is wrong with it.
impl From<io::Error> for Why {
    fn from(error: io::Error) -> Why {
        match error.kind() {
            ErrorKind::UnexpectedEof => Why::Truncated,
            ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::Other => {
                Why::Damaged(format!("it cannot be decompressed: {error}"))
            }
            _ => Why::Input(error),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Input(error) => error.fmt(f),
            Why::Truncated => f.write_str("the file ends in the middle of it"),
            Why::Unknown => f.write_str("this is neither an ns-2 trace nor pcap nor pcapng"),
            Why::Empty => f.write_str("the file is empty"),
            Why::Damaged(how) | Why::Unsupported(how) => f.write_str(how),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.record {
            0 => self.why.fmt(f),
            record => write!(f, "record {record} at byte {}: {}", self.offset, self.why),
        }
    }
}

impl std::error::Error for Fault {}
