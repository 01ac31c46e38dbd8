//! Reads a trace of any of the formats, compressed or not, from its start to its end.

use std::io::{self, Read};

use ecnlab_units::{Span, Time};

use crate::capture::Interface;
use crate::capture::clock::CaptureClock;
use crate::capture::pcap::{self, Pcap};
use crate::capture::pcapng::{self, Pcapng};
use crate::error::{ReadError, ReadErrorKind};
use crate::event::TraceEvent;
use crate::ns2;
use crate::record::{NextRecord, RecordError};
use crate::source::ByteSource;

/// Format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Ns2,
    Pcap,
    Pcapng,
}

/// A record that is earlier than one before it by more than this is out of order. Interfaces and processors that capture at the same time are
/// not synchronized, but differ by much less.
const MAX_TOLERATED_BACKWARD_STEP: Span = Span::from_millis(1);

/// First bytes of a Parquet file, which ecnlab writes as a trace too.
const PARQUET_MAGIC: [u8; 4] = *b"PAR1";
const PARQUET_MESSAGE: &str = "this is a Parquet table, which is not read as a trace; fix: trace the run to a .tr or .pcapng file, or read the \
                               table with polars";

/// Records whose times are earlier than that of a record before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackwardTimes {
    /// The first of them, as [`Reader::packets`] counts.
    pub first_record: u64,
    pub records: u64,
    /// The largest difference to an earlier record.
    pub max_step: Span,
}

/// A trace that is being read: an iterator over its events and errors.
///
/// Memory does not grow with the file. After an error that is not fatal the next record follows.
pub struct Reader<'a> {
    source: ByteSource<'a>,
    content: Content,
    clock: CaptureClock,
    /// Lines, packets or blocks that have been begun.
    record: u64,
    skipped_records: u64,
    /// The latest time so far.
    latest_time: Time,
    backward_times: Option<BackwardTimes>,
    has_ended: bool,
}

enum Content {
    Ns2,
    Pcap(Pcap),
    Pcapng(Pcapng),
}

impl<'a> Reader<'a> {
    /// Detects compression and format by the first bytes.
    ///
    /// # Errors
    /// If the input is empty, or its format is unknown.
    pub fn from_reader(input: impl Read + Send + 'a) -> Result<Reader<'a>, ReadError> {
        let unreadable = |kind| read_error(0, 0, kind, true);
        let mut source = decompressed_source(ByteSource::new(input)).map_err(|why| unreadable(why.into()))?;
        Ok(Reader {
            content: detect_format(&mut source).map_err(unreadable)?,
            source,
            clock: CaptureClock::default(),
            record: 0,
            skipped_records: 0,
            latest_time: Time::ZERO,
            backward_times: None,
            has_ended: false,
        })
    }

    pub fn format(&self) -> Format {
        match self.content {
            Content::Ns2 => Format::Ns2,
            Content::Pcap(_) => Format::Pcap,
            Content::Pcapng(_) => Format::Pcapng,
        }
    }

    /// The interfaces that have been described so far; none of an ns-2 trace.
    pub fn interfaces(&self) -> &[Interface] {
        match &self.content {
            Content::Ns2 => &[],
            Content::Pcap(pcap) => std::slice::from_ref(&pcap.interface),
            Content::Pcapng(pcapng) => &pcapng.interfaces,
        }
    }

    /// Zero of all times, in seconds since 1970: the midnight (UTC) before the first packet; 0 for a simulation's trace.
    pub fn epoch_s(&self) -> u64 {
        self.clock.epoch_s()
    }

    /// Number of lines, packets and blocks that have been read.
    pub fn records(&self) -> u64 {
        self.record
    }

    /// Number of lines or packets that have been read, and so the number of the last as Wireshark counts, without blocks that hold no packet.
    pub fn packets(&self) -> u64 {
        match &self.content {
            Content::Pcapng(pcapng) => pcapng.packets,
            _ => self.record,
        }
    }

    /// Number of records that were not IP packets: other protocols, annotations, descriptions.
    pub fn skipped_records(&self) -> u64 {
        self.skipped_records
    }

    /// Records so far that are earlier than one before them.
    pub fn backward_times(&self) -> Option<BackwardTimes> {
        self.backward_times
    }

    /// Bytes that have been read, after decompression.
    pub fn bytes_read(&self) -> u64 {
        self.source.offset()
    }

    /// Reads one record: its event, or `None` if it was skipped. A long file may have no events at all, so a caller that wants to stop in
    /// between reads record by record.
    pub fn read_record(&mut self) -> Option<Result<Option<TraceEvent>, ReadError>> {
        if self.has_ended {
            return None;
        }
        let offset = self.source.offset();
        let next = self.read_next();
        self.record += 1;
        match next {
            Ok(NextRecord::Event(event)) => {
                self.count_backward_time(event.time);
                Some(Ok(Some(event)))
            }
            Ok(NextRecord::Ignored) => {
                self.skipped_records += 1;
                Some(Ok(None))
            }
            Ok(NextRecord::End) => {
                self.record -= 1;
                self.has_ended = true;
                None
            }
            Err(RecordError::Skip(kind)) => Some(Err(read_error(self.record, offset, kind, false))),
            Err(RecordError::End(kind)) => {
                self.has_ended = true;
                Some(Err(read_error(self.record, offset, kind, true)))
            }
        }
    }

    /// Compares an event's time with those of the events before it.
    fn count_backward_time(&mut self, time: Time) {
        let step = self.latest_time.since(time);
        if step > MAX_TOLERATED_BACKWARD_STEP {
            let first_record = self.packets();
            let backward = self.backward_times.get_or_insert(BackwardTimes { first_record, records: 0, max_step: step });
            (backward.records, backward.max_step) = (backward.records + 1, backward.max_step.max(step));
        }
        self.latest_time = self.latest_time.max(time);
    }

    fn read_next(&mut self) -> Result<NextRecord, RecordError> {
        match &mut self.content {
            Content::Ns2 => read_ns2_line(&mut self.source),
            Content::Pcap(pcap) => pcap.read_record(&mut self.source, &mut self.clock),
            Content::Pcapng(pcapng) => pcapng.read_block(&mut self.source, &mut self.clock),
        }
    }
}

impl Iterator for Reader<'_> {
    type Item = Result<TraceEvent, ReadError>;

    fn next(&mut self) -> Option<Result<TraceEvent, ReadError>> {
        loop {
            if let Some(event) = self.read_record()?.transpose() {
                return Some(event);
            }
        }
    }
}

fn read_error(record: u64, offset: u64, kind: ReadErrorKind, is_fatal: bool) -> ReadError {
    ReadError { record, offset, kind, is_fatal }
}

/// A source of the decompressed input; the source itself if it is not compressed.
#[cfg(feature = "compressed")]
fn decompressed_source(mut source: ByteSource<'_>) -> io::Result<ByteSource<'_>> {
    match source.peek(4)? {
        [0x1f, 0x8b, ..] => Ok(ByteSource::new(flate2::bufread::MultiGzDecoder::new(source))),
        [0x28, 0xb5, 0x2f, 0xfd] => Ok(ByteSource::new(zstd::stream::read::Decoder::with_buffer(source)?)),
        _ => Ok(source),
    }
}

#[cfg(not(feature = "compressed"))]
fn decompressed_source(source: ByteSource<'_>) -> io::Result<ByteSource<'_>> {
    Ok(source)
}

fn detect_format(source: &mut ByteSource) -> Result<Content, ReadErrorKind> {
    let start: Vec<u8> = source.peek(4)?.to_vec();
    match start.first_chunk() {
        None if start.is_empty() => Err(ReadErrorKind::Empty),
        Some(&pcapng::FILE_MAGIC) => Ok(Content::Pcapng(Pcapng::default())),
        Some(&PARQUET_MAGIC) => Err(ReadErrorKind::Unsupported(PARQUET_MESSAGE.to_owned())),
        Some(&start) if pcap::parse_magic(start).is_some() => Pcap::open(source).map(Content::Pcap),
        _ => detect_ns2(source),
    }
}

/// Whether the first line that is not blank is one of ns-2's.
fn detect_ns2(source: &mut ByteSource) -> Result<Content, ReadErrorKind> {
    let start = source.peek(4096)?;
    let first = start.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end).find(|line| !line.is_empty()).unwrap_or_default();
    match ns2::read::parse_line(first) {
        Err(ReadErrorKind::Damaged(_)) if !matches!(first, [b'+' | b'-' | b'd' | b'r', b' ', b'0'..=b'9', ..]) => {
            Err(ReadErrorKind::Unknown)
        }
        Err(kind @ ReadErrorKind::Unsupported(_)) => Err(kind),
        _ => Ok(Content::Ns2),
    }
}

fn read_ns2_line(source: &mut ByteSource) -> Result<NextRecord, RecordError> {
    let Some(text) = source.read_line()? else { return Ok(NextRecord::End) };
    NextRecord::from_content(ns2::read::parse_line(text))
}
