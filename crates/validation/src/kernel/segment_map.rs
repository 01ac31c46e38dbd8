//! The segments of a byte stream: where each begins and ends, as ours were sent and as they were recorded.

use ecnlab_transport::settings::PADDED_ACCECN_OPTION_BYTES;
use ecnlab_transport::{Segment, SegmentType, SendBuffer};

use super::case::Packet;

/// Our segments that were sent, in the order of their numbers; the SYN is byte 0, the first data byte 1.
#[derive(Debug, Default)]
pub struct SegmentMap {
    pub boundaries: SegmentBoundaries,
    counts: Vec<SegmentCounts>,
}

/// Data bytes of a segment, and how often it was sent.
#[derive(Clone, Copy, Debug)]
struct SegmentCounts {
    len: u64,
    transmissions: u64,
}

/// Bytes of a segment that our sender sends.
pub struct SentByteRange {
    pub seq: u64,
    pub len: u64,
    /// Which transmission it is.
    pub nth: Option<u64>,
}

impl SegmentMap {
    /// Adds a transmission of a segment; `header` bytes of it are no data.
    pub fn on_sent(&mut self, segment: &Segment, buffer: &SendBuffer, header: u32) -> SentByteRange {
        let at = segment.seq as usize;
        if segment.is_window_probe() {
            return SentByteRange { seq: self.boundaries.start(segment.seq + 1) - 1, len: 0, nth: None };
        }
        if segment.segment_type == SegmentType::PureAck {
            return SentByteRange { seq: self.boundaries.start(segment.seq), len: 0, nth: None };
        }
        if at == self.counts.len() {
            let is_syn = segment.segment_type == SegmentType::Syn;
            let option = if segment.accecn_option { PADDED_ACCECN_OPTION_BYTES } else { 0 };
            let len = if is_syn { 0 } else { u64::from(segment.size.saturating_sub(header + option)) };
            let start = if is_syn { 0 } else { 1 + buffer.bytes_before(segment.seq) };
            let end = start + len + u64::from(is_syn) + u64::from(segment.segment_type == SegmentType::Fin);
            self.boundaries.push(start, end);
            self.counts.push(SegmentCounts { len, transmissions: 0 });
        }
        let SegmentCounts { len, transmissions } = &mut self.counts[at];
        *transmissions += 1;
        SentByteRange { seq: self.boundaries.start(segment.seq), len: *len, nth: Some(*transmissions - 1) }
    }

    /// One past the last byte that was sent.
    pub fn end_seq(&self) -> u64 {
        self.boundaries.start(self.counts.len() as u64)
    }
}

/// First byte and end of each segment of a byte stream, in its order.
#[derive(Debug, Default)]
pub struct SegmentBoundaries(Vec<(u64, u64)>);

impl SegmentBoundaries {
    /// Adds a segment behind all others.
    pub fn push(&mut self, start: u64, end: u64) {
        self.0.push((start, end));
    }

    /// The segments of the packets of one side, as each byte was first sent; segment 0 is the SYN.
    pub fn from_packets<'a>(packets: impl Iterator<Item = &'a Packet>) -> SegmentBoundaries {
        let mut boundaries: Vec<(u64, u64)> =
            packets.filter(|packet| packet.nth.is_some()).map(|packet| (packet.seq, packet.end_seq())).collect();
        boundaries.sort_unstable();
        boundaries.dedup();
        SegmentBoundaries(boundaries)
    }

    /// Segments of the passive side, without its SYN.
    pub fn of_answering_side<'a>(packets: impl Iterator<Item = &'a Packet>) -> SegmentBoundaries {
        SegmentBoundaries::from_packets(packets.filter(|packet| packet.len > 0))
    }

    /// The first segment that begins at a byte or later.
    pub fn first_at_or_after(&self, byte: u64) -> u64 {
        self.0.partition_point(|&(start, _)| start < byte) as u64
    }

    /// The segment that has a byte; behind the last, the one that would follow.
    pub fn containing(&self, byte: u64) -> u64 {
        self.0.partition_point(|&(_, end)| end <= byte) as u64
    }

    /// Whether each byte lies in one segment and no two overlap.
    pub fn is_contiguous(&self) -> bool {
        self.0.windows(2).all(|pair| pair[0].1 == pair[1].0)
    }

    /// The segment that begins at a byte, or follows the one that ends there; `None` at any other byte.
    pub fn beginning_at(&self, byte: u64) -> Option<u64> {
        let at = self.0.partition_point(|&(_, end)| end <= byte);
        let begins = self.0.get(at).is_some_and(|&(start, _)| start == byte);
        let ends = at > 0 && self.0[at - 1].1 == byte;
        (begins || ends).then_some(at as u64)
    }

    /// The first byte of a segment; one segment past the last begins where the last ends.
    pub fn start(&self, segment: u64) -> u64 {
        let end = self.0.last().map_or(1, |&(_, end)| end);
        self.0.get(segment as usize).map_or(end, |&(start, _)| start)
    }

    /// The end of the previous segment.
    pub fn previous_segment_end(&self, segment: u64) -> u64 {
        segment.checked_sub(1).and_then(|before| self.0.get(before as usize)).map_or(0, |&(_, end)| end)
    }
}
