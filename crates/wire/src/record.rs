//! The outcome of reading one record, of any format: a packet of a capture, a block of pcapng or a line of ns-2.

use std::io;

use crate::error::ReadErrorKind;
use crate::event::TraceEvent;

/// The next record of a file.
#[expect(clippy::large_enum_variant, reason = "nearly every record is an event, which is read where it stands")]
pub enum NextRecord {
    Event(TraceEvent),
    /// A packet of another protocol, or a record without a packet.
    Ignored,
    End,
}

/// An unreadable record, and whether more may follow it.
pub enum RecordError {
    Skip(ReadErrorKind),
    End(ReadErrorKind),
}

/// No more can be read of an input that fails.
impl From<io::Error> for RecordError {
    fn from(error: io::Error) -> RecordError {
        RecordError::End(error.into())
    }
}

impl NextRecord {
    /// The record whose content has been read or is unreadable, and whose end is known: after an error, the next one can be read.
    pub fn from_content(read: Result<Option<TraceEvent>, ReadErrorKind>) -> Result<NextRecord, RecordError> {
        match read {
            Ok(Some(event)) => Ok(NextRecord::Event(event)),
            Ok(None) => Ok(NextRecord::Ignored),
            Err(kind) => Err(RecordError::Skip(kind)),
        }
    }
}
