//! Reads a trace of any of the formats, compressed or not, from its start to its end.

use std::io::{self, Read};

use ecnlab_units::{Span, Time};

use crate::capture::Interface;
use crate::capture::clock::Clock;
use crate::capture::pcap::{self, Next, Pcap, Stop};
use crate::capture::pcapng::{self, Pcapng};
use crate::event::Event;
use crate::fault::{Fault, Why};
use crate::ns2;
use crate::ns2::read::Line;
use crate::source::Source;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Ns2,
    Pcap,
    Pcapng,
}

/// A record with an earlier time than one before it is out of order beyond this. Interfaces and processors that capture at a time are not in
/// step with each other, but by much less.
const OUT_OF_ORDER: Span = Span::from_millis(1);

/// Records whose times are earlier than that of a record before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backwards {
    /// The first of them, as [`Reader::packets`] counts.
    pub first: u64,
    pub count: u64,
    /// The longest way back.
    pub by: Span,
}

/// A trace that is being read: an iterator over its events, and over what could not be read.
///
/// Memory does not grow with the file. A fault that does not end the file is followed by the next record.
pub struct Reader<'a> {
    source: Source<'a>,
    content: Content,
    clock: Clock,
    /// Lines, packets or blocks that have been begun.
    record: u64,
    passed_over: u64,
    /// The latest time so far.
    latest: Time,
    backwards: Option<Backwards>,
    ended: bool,
}

enum Content {
    Ns2,
    Pcap(Pcap),
    Pcapng(Pcapng),
}

impl<'a> Reader<'a> {
    /// Looks at the beginning: what compresses it, if anything, and what it is.
    ///
    /// # Errors
    /// If there is nothing, or nothing that is known.
    pub fn open(input: impl Read + Send + 'a) -> Result<Reader<'a>, Fault> {
        let mut source = uncompressed(Source::new(input)).map_err(|error| fault(0, 0, error.into(), true))?;
        match content(&mut source) {
            Ok(content) => Ok(Reader {
                source,
                content,
                clock: Clock::default(),
                record: 0,
                passed_over: 0,
                latest: Time::ZERO,
                backwards: None,
                ended: false,
            }),
            Err(Stop::Skip(why) | Stop::End(why)) => Err(fault(0, 0, why, true)),
        }
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

    /// What times are counted from, in seconds since 1970: the midnight (UTC) before the first packet; 0 of a simulation's trace.
    pub fn zero(&self) -> u64 {
        self.clock.zero()
    }

    /// How many lines, packets and blocks have been read.
    pub fn records(&self) -> u64 {
        self.record
    }

    /// How many lines or packets have been read: the number of the last, as Wireshark counts, which leaves out blocks that hold none.
    pub fn packets(&self) -> u64 {
        match &self.content {
            Content::Pcapng(pcapng) => pcapng.packets,
            _ => self.record,
        }
    }

    /// How many records were no IP packets: other protocols, annotations, descriptions.
    pub fn passed_over(&self) -> u64 {
        self.passed_over
    }

    /// Whether times have gone backwards so far.
    pub fn backwards(&self) -> Option<Backwards> {
        self.backwards
    }

    /// How many bytes have been read, after decompression.
    pub fn position(&self) -> u64 {
        self.source.offset()
    }

    /// Reads one record: its event, or nothing where it was passed over. A file may hold nothing else for as long as it is, so whoever wants to
    /// stop in between asks for one after another.
    pub fn step(&mut self) -> Option<Result<Option<Event>, Fault>> {
        if self.ended {
            return None;
        }
        let offset = self.source.offset();
        let next = self.read();
        self.record += 1;
        match next {
            Ok(Next::Event(event)) => {
                self.follow(event.time);
                Some(Ok(Some(event)))
            }
            Ok(Next::Aside) => {
                self.passed_over += 1;
                Some(Ok(None))
            }
            Ok(Next::End) => {
                self.record -= 1;
                self.ended = true;
                None
            }
            Err(Stop::Skip(why)) => Some(Err(fault(self.record, offset, why, false))),
            Err(Stop::End(why)) => {
                self.ended = true;
                Some(Err(fault(self.record, offset, why, true)))
            }
        }
    }

    /// Compares an event's time with those before it.
    fn follow(&mut self, time: Time) {
        let by = self.latest.since(time);
        if by > OUT_OF_ORDER {
            let first = self.packets();
            let found = self.backwards.get_or_insert(Backwards { first, count: 0, by });
            (found.count, found.by) = (found.count + 1, found.by.max(by));
        }
        self.latest = self.latest.max(time);
    }

    fn read(&mut self) -> Result<Next, Stop> {
        match &mut self.content {
            Content::Ns2 => next_line(&mut self.source),
            Content::Pcap(pcap) => pcap.next(&mut self.source, &mut self.clock),
            Content::Pcapng(pcapng) => pcapng.next(&mut self.source, &mut self.clock),
        }
    }
}

impl Iterator for Reader<'_> {
    type Item = Result<Event, Fault>;

    fn next(&mut self) -> Option<Result<Event, Fault>> {
        loop {
            if let Some(found) = self.step()?.transpose() {
                return Some(found);
            }
        }
    }
}

fn fault(record: u64, offset: u64, why: Why, ends: bool) -> Fault {
    Fault { record, offset, why, ends }
}

/// The source of what a compressed input contains; of any other input the source itself.
#[cfg(feature = "compressed")]
fn uncompressed(mut source: Source<'_>) -> io::Result<Source<'_>> {
    match source.peek(4)? {
        [0x1f, 0x8b, ..] => Ok(Source::new(flate2::bufread::MultiGzDecoder::new(source))),
        [0x28, 0xb5, 0x2f, 0xfd] => Ok(Source::new(zstd::stream::read::Decoder::with_buffer(source)?)),
        _ => Ok(source),
    }
}

#[cfg(not(feature = "compressed"))]
fn uncompressed(source: Source<'_>) -> io::Result<Source<'_>> {
    Ok(source)
}

fn content(source: &mut Source) -> Result<Content, Stop> {
    let start: Vec<u8> = source.peek(4)?.to_vec();
    match start.first_chunk() {
        None if start.is_empty() => Err(Stop::End(Why::Empty)),
        Some(&pcapng::MAGIC) => Ok(Content::Pcapng(Pcapng::open())),
        Some(&start) if pcap::magic(start).is_some() => Pcap::open(source).map(Content::Pcap),
        _ => lines(source),
    }
}

/// Whether the first line that is not blank is one of ns-2's.
fn lines(source: &mut Source) -> Result<Content, Stop> {
    let start = source.peek(4096)?;
    let first = start.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end).find(|line| !line.is_empty()).unwrap_or_default();
    match ns2::read::line(first) {
        Err(Why::Damaged(_)) if !matches!(first, [b'+' | b'-' | b'd' | b'r', b' ', b'0'..=b'9', ..]) => Err(Stop::End(Why::Unknown)),
        Err(Why::Unsupported(what)) => Err(Stop::End(Why::Unsupported(what))),
        _ => Ok(Content::Ns2),
    }
}

fn next_line(source: &mut Source) -> Result<Next, Stop> {
    let Some(text) = source.line()? else { return Ok(Next::End) };
    match ns2::read::line(text) {
        Ok(Line::Event(event)) => Ok(Next::Event(event)),
        Ok(Line::Aside) => Ok(Next::Aside),
        Err(why) => Err(Stop::Skip(why)),
    }
}
