//! Segments in flight by number, and the last SACK blocks; both scoreboards use them.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use crate::memory;
use crate::segment::SackOption;

/// One state per segment, from `snd_una` on.
#[derive(Debug)]
#[repr(C)]
pub struct SegmentQueue<T> {
    snd_una: u64,
    segments: VecDeque<T>,
}

impl<T> Default for SegmentQueue<T> {
    fn default() -> SegmentQueue<T> {
        SegmentQueue::with_snd_una(0)
    }
}

impl<T> SegmentQueue<T> {
    /// Empty queue with all segments before `snd_una` acknowledged.
    pub fn with_snd_una(snd_una: u64) -> SegmentQueue<T> {
        SegmentQueue { snd_una, segments: VecDeque::new() }
    }

    /// Takes the memory of another queue, which is over, for its own segments.
    pub fn reuse_memory_of(&mut self, past: &mut SegmentQueue<T>) {
        memory::take_deque_allocation(&mut self.segments, &mut past.segments);
    }

    #[inline]
    pub fn snd_una(&self) -> u64 {
        self.snd_una
    }

    /// One past the last segment.
    #[inline]
    pub fn end_seq(&self) -> u64 {
        self.snd_una + self.segments.len() as u64
    }

    /// Number of segments.
    #[inline]
    pub fn segment_count(&self) -> u64 {
        self.segments.len() as u64
    }

    #[inline]
    pub fn first(&self) -> Option<&T> {
        self.segments.front()
    }

    #[inline]
    pub fn get(&self, seq: u64) -> Option<&T> {
        self.segments.get(seq.checked_sub(self.snd_una)? as usize)
    }

    #[inline]
    pub fn push(&mut self, segment: T) {
        self.segments.push_back(segment);
    }

    /// Removes the first segment, which is acknowledged.
    #[inline]
    pub fn pop_first(&mut self) -> Option<T> {
        let segment = self.segments.pop_front()?;
        self.snd_una += 1;
        Some(segment)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.segments.iter_mut()
    }

    /// Last segment that fulfils `wanted`.
    pub fn last_where(&self, wanted: impl Fn(&T) -> bool) -> Option<u64> {
        self.segments.iter().rposition(wanted).map(|place| self.snd_una + place as u64)
    }

    /// First segment from `from` on before `to` that fulfils `wanted` and is in none of the `known` blocks; `from` is unacknowledged.
    #[inline]
    pub fn next_outside_blocks_where(&self, from: u64, to: u64, known: &SackBlocks, wanted: impl Fn(&T) -> bool) -> Option<u64> {
        let (mut at, to) = (from, to.min(self.end_seq()));
        while at < to {
            if let Some(end) = known.end_of_block_containing(at) {
                at = end;
            } else if wanted(&self[at]) {
                return Some(at);
            } else {
                at += 1;
            }
        }
        None
    }
}

impl<T> Index<u64> for SegmentQueue<T> {
    type Output = T;

    #[inline]
    fn index(&self, seq: u64) -> &T {
        &self.segments[(seq - self.snd_una) as usize]
    }
}

impl<T> IndexMut<u64> for SegmentQueue<T> {
    #[inline]
    fn index_mut(&mut self, seq: u64) -> &mut T {
        &mut self.segments[(seq - self.snd_una) as usize]
    }
}

/// Blocks of the last ACK with SACK blocks, whose segments are all marked as sacked. The next ACK is processed only outside of them (Linux
/// recv_sack_cache).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks([(u64, u64); SackOption::MAX_BLOCKS]);

impl SackBlocks {
    pub fn of(blocks: impl IntoIterator<Item = (u64, u64)>) -> SackBlocks {
        let mut known = SackBlocks::default();
        known.0.iter_mut().zip(blocks).for_each(|(known, block)| *known = block);
        known
    }

    /// End of the block that contains a segment.
    #[inline]
    fn end_of_block_containing(&self, seq: u64) -> Option<u64> {
        self.0.iter().find(|&&(from, to)| from <= seq && seq < to).map(|&(_, to)| to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_blocks_are_skipped_and_so_are_segments_that_are_not_wanted() {
        let mut queue = SegmentQueue::with_snd_una(5);
        (5..15).for_each(|seq| queue.push(seq != 10));
        let known = SackBlocks::of([(7, 9), (11, 12)]);
        let next = |from| queue.next_outside_blocks_where(from, 14, &known, |&wanted| wanted);
        assert_eq!([Some(5), Some(9), Some(9), Some(12), Some(13), None], [5, 7, 9, 10, 13, 14].map(next));
        assert_eq!((Some(true), 6, 15), (queue.pop_first(), queue.snd_una(), queue.end_seq()));
        assert_eq!((None, Some(&false), None), (queue.get(5), queue.get(10), queue.get(15)));
        assert_eq!(Some(10), queue.last_where(|&wanted| !wanted));
    }
}
