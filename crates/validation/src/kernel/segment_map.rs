//! Where the bytes of a connection lie: which segment begins and ends at which sequence number, as the sender cut them.

use ecnlab_transport::{Role, Segment, SendBuffer};

use super::segments::SegmentBoundaries;

/// The segments that were sent, in the order of their numbers.
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
    sent: u64,
}

/// A segment in bytes.
pub struct SentSegment {
    pub seq: u64,
    pub len: u64,
    /// Which transmission it is.
    pub nth: Option<u64>,
}

impl SegmentMap {
    /// Notes a segment that was sent just now; `header` bytes of it are no data.
    pub fn note(&mut self, segment: &Segment, plan: &SendBuffer, header: u32) -> SentSegment {
        let at = segment.seq as usize;
        if segment.is_window_probe() {
            return SentSegment { seq: self.start(segment.seq + 1) - 1, len: 0, nth: None };
        }
        if segment.role == Role::PureAck {
            return SentSegment { seq: self.start(segment.seq), len: 0, nth: None };
        }
        if at == self.entries.len() {
            let opens = u64::from(segment.role == Role::Syn);
            let len = if opens == 1 { 0 } else { u64::from(segment.size.saturating_sub(header)) };
            let start = if opens == 1 { 0 } else { 1 + plan.bytes_before(segment.seq) };
            let end = start + len + opens + u64::from(segment.role == Role::Fin);
            self.entries.push(Entry { start, len, end, sent: 0 });
        }
        let Entry { start, len, sent, .. } = &mut self.entries[at];
        *sent += 1;
        SentSegment { seq: *start, len: *len, nth: Some(*sent - 1) }
    }

    /// One past the last byte that was sent.
    pub fn all(&self) -> u64 {
        self.start(self.entries.len() as u64)
    }

    /// The segment that begins at a byte, which is also the one past that which ends there; nothing if none does.
    pub fn segment_at(&self, byte: u64) -> Option<u64> {
        let at = self.entries.partition_point(|entry| entry.end <= byte);
        let begins = self.entries.get(at).is_some_and(|entry| entry.start == byte);
        let ends = at > 0 && self.entries[at - 1].end == byte;
        (begins || ends).then_some(at as u64)
    }
}

impl SegmentBoundaries for SegmentMap {
    fn start(&self, segment: u64) -> u64 {
        let after_all = self.entries.last().map_or(1, |entry| entry.end);
        self.entries.get(segment as usize).map_or(after_all, |entry| entry.start)
    }

    fn end(&self, segment: u64) -> u64 {
        segment.checked_sub(1).and_then(|before| self.entries.get(before as usize)).map_or(0, |entry| entry.end)
    }
}
