//! The segments of a byte stream: where each begins and ends, as ours were sent and as they were recorded.

use ecnlab_transport::settings::PADDED_ACCECN_OPTION_BYTES;
use ecnlab_transport::{Segment, SegmentType, SendBuffer};

use super::case::Packet;

/// Positions of segments in the byte stream.
pub trait SegmentBoundaries {
    /// The first byte of a segment; one segment past the last begins where the last ends.
    fn start(&self, segment: u64) -> u64;

    /// The end of the previous segment.
    fn previous_segment_end(&self, segment: u64) -> u64;
}

/// Our segments that were sent, in the order of their numbers.
#[derive(Debug, Default)]
pub struct SegmentMap {
    entries: Vec<Entry>,
}

/// One segment, in bytes; the SYN is byte 0, the first data byte 1.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u64,
    len: u64,
    end: u64,
    transmissions: u64,
}

/// A segment in bytes.
pub struct SentSegment {
    pub seq: u64,
    pub len: u64,
    /// Which transmission it is.
    pub nth: Option<u64>,
}

impl SegmentMap {
    /// Adds a transmission of a segment; `header` bytes of it are no data.
    pub fn on_sent(&mut self, segment: &Segment, buffer: &SendBuffer, header: u32) -> SentSegment {
        let at = segment.seq as usize;
        if segment.is_window_probe() {
            return SentSegment { seq: self.start(segment.seq + 1) - 1, len: 0, nth: None };
        }
        if segment.segment_type == SegmentType::PureAck {
            return SentSegment { seq: self.start(segment.seq), len: 0, nth: None };
        }
        if at == self.entries.len() {
            let is_syn = segment.segment_type == SegmentType::Syn;
            let option = if segment.accecn_option { PADDED_ACCECN_OPTION_BYTES } else { 0 };
            let len = if is_syn { 0 } else { u64::from(segment.size.saturating_sub(header + option)) };
            let start = if is_syn { 0 } else { 1 + buffer.bytes_before(segment.seq) };
            let end = start + len + u64::from(is_syn) + u64::from(segment.segment_type == SegmentType::Fin);
            self.entries.push(Entry { start, len, end, transmissions: 0 });
        }
        let Entry { start, len, transmissions, .. } = &mut self.entries[at];
        *transmissions += 1;
        SentSegment { seq: *start, len: *len, nth: Some(*transmissions - 1) }
    }

    /// One past the last byte that was sent.
    pub fn end_seq(&self) -> u64 {
        self.start(self.entries.len() as u64)
    }

    /// The segment that has a byte, or would follow the last one.
    pub fn segment_containing(&self, byte: u64) -> u64 {
        self.entries.partition_point(|entry| entry.end <= byte) as u64
    }

    /// The segment that begins at a byte, or follows the one that ends there; `None` at any other byte.
    pub fn segment_at(&self, byte: u64) -> Option<u64> {
        let at = self.entries.partition_point(|entry| entry.end <= byte);
        let begins = self.entries.get(at).is_some_and(|entry| entry.start == byte);
        let ends = at > 0 && self.entries[at - 1].end == byte;
        (begins || ends).then_some(at as u64)
    }
}

impl SegmentBoundaries for SegmentMap {
    fn start(&self, segment: u64) -> u64 {
        let end = self.entries.last().map_or(1, |entry| entry.end);
        self.entries.get(segment as usize).map_or(end, |entry| entry.start)
    }

    fn previous_segment_end(&self, segment: u64) -> u64 {
        segment.checked_sub(1).and_then(|before| self.entries.get(before as usize)).map_or(0, |entry| entry.end)
    }
}

/// The segments of a record; segment 0 is the SYN.
#[derive(Debug)]
pub struct RecordedSegments {
    /// First byte and end of each segment.
    boundaries: Vec<(u64, u64)>,
}

impl RecordedSegments {
    /// The segments of the packets of one side, as each byte was first sent.
    pub fn from_packets<'a>(packets: impl Iterator<Item = &'a Packet>) -> RecordedSegments {
        let mut boundaries: Vec<(u64, u64)> =
            packets.filter(|packet| packet.nth.is_some()).map(|packet| (packet.seq, packet.end_seq())).collect();
        boundaries.sort_unstable();
        boundaries.dedup();
        RecordedSegments { boundaries }
    }

    /// Segments of the passive side, without its SYN.
    pub fn of_answering_side<'a>(packets: impl Iterator<Item = &'a Packet>) -> RecordedSegments {
        RecordedSegments::from_packets(packets.filter(|packet| packet.len > 0))
    }

    /// The first segment that begins at a byte or later.
    pub fn first_at_or_after(&self, byte: u64) -> u64 {
        self.boundaries.partition_point(|&(start, _)| start < byte) as u64
    }

    /// The segment that has a byte; behind the last, the one that would follow.
    pub fn containing(&self, byte: u64) -> u64 {
        self.boundaries.partition_point(|&(_, end)| end <= byte) as u64
    }

    /// Whether each byte lies in one segment and no two overlap.
    pub fn is_contiguous(&self) -> bool {
        self.boundaries.windows(2).all(|pair| pair[0].1 == pair[1].0)
    }
}

impl SegmentBoundaries for RecordedSegments {
    fn start(&self, segment: u64) -> u64 {
        let end = self.boundaries.last().map_or(1, |&(_, end)| end);
        self.boundaries.get(segment as usize).map_or(end, |&(start, _)| start)
    }

    fn previous_segment_end(&self, segment: u64) -> u64 {
        segment.checked_sub(1).and_then(|before| self.boundaries.get(before as usize)).map_or(0, |&(_, end)| end)
    }
}
