//! Out-of-order queue: segments beyond a gap, and the SACK blocks that report them.
//!
//! ```text
//! a segment beyond the gap   extends an adjacent block, which becomes the first and merges with its neighbours; or is a new first block
//! a fifth block              evicts the last one, which is not reported again
//! the gap moves              blocks below it are dropped
//! ```
//!
//! A block therefore covers segments reported together, not all that has arrived around it (RFC 2018, section 4; Linux
//! tcp_sack_new_ofo_skb).

use std::collections::BTreeMap;

use super::rcvbuf::QueuedSegment;
use crate::segment::SackOption;

/// Number of blocks kept, more than fit into an ACK with timestamps.
const MAX_REMEMBERED_BLOCKS: usize = 4;

#[derive(Debug, Default)]
pub struct OfoQueue {
    segments: BTreeMap<u64, QueuedSegment>,
    /// `[from, to)`, the latest first.
    sack_blocks: Vec<(u64, u64)>,
    /// Duplicate segment, until an ACK has reported it by DSACK (RFC 2883).
    dsack_block: Option<(u64, u64)>,
    max_blocks: usize,
    reports_dsack: bool,
}

impl OfoQueue {
    pub fn new(most: u8, reports_twice: bool) -> OfoQueue {
        let most = usize::from(most).min(SackOption::MAX_BLOCKS);
        OfoQueue { max_blocks: most, reports_dsack: reports_twice && most > 0, ..OfoQueue::default() }
    }

    /// Whether SACK blocks are reported at all.
    pub fn is_sack_enabled(&self) -> bool {
        self.max_blocks > 0
    }

    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    pub fn len(&self) -> u64 {
        self.segments.len() as u64
    }

    pub fn contains(&self, seq: u64) -> bool {
        self.segments.contains_key(&seq)
    }

    /// Index of the block adjacent to a segment, or one past the last block.
    pub fn block_position(&self, seq: u64) -> usize {
        self.sack_blocks.iter().position(|&(from, to)| seq <= to && from <= seq + 1).unwrap_or(self.sack_blocks.len())
    }

    /// Stores a segment that arrives for the first time.
    pub fn insert(&mut self, seq: u64, stored: QueuedSegment) {
        if self.segments.is_empty() {
            self.sack_blocks.clear();
        }
        self.segments.insert(seq, stored);
    }

    /// Adds a segment beyond the gap to the first SACK block.
    pub fn add_to_sack_blocks(&mut self, seq: u64) {
        if self.max_blocks == 0 {
            return;
        }
        let place = self.block_position(seq);
        let mut block = (seq, seq + 1);
        if place < self.sack_blocks.len() {
            let (from, to) = self.sack_blocks.remove(place);
            block = (from.min(seq), to.max(seq + 1));
            self.sack_blocks.retain(|&(from, to)| {
                let meets = from <= block.1 && block.0 <= to;
                if meets {
                    block = (block.0.min(from), block.1.max(to));
                }
                !meets
            });
        }
        self.sack_blocks.truncate(MAX_REMEMBERED_BLOCKS - 1);
        self.sack_blocks.insert(0, block);
    }

    /// Records a duplicate segment for DSACK.
    pub fn set_dsack(&mut self, seq: u64) {
        if self.reports_dsack {
            self.dsack_block = Some((seq, seq + 1));
        }
    }

    /// Whether the next ACK reports a duplicate segment.
    pub fn has_dsack(&self) -> bool {
        self.dsack_block.is_some()
    }

    /// Clears an unreported DSACK, because a further segment is processed.
    pub fn discard_dsack(&mut self) {
        self.dsack_block = None;
    }

    /// Removes and returns the segment `next`, if it is queued.
    pub fn pop_next(&mut self, next: u64) -> Option<QueuedSegment> {
        let first = self.segments.first_entry().filter(|entry| *entry.key() == next)?;
        Some(first.remove())
    }

    /// Drops all blocks before `next`.
    pub fn drop_blocks_before(&mut self, next: u64) {
        self.sack_blocks.retain(|&(from, _)| next < from);
        if self.segments.is_empty() {
            self.sack_blocks.clear();
        }
    }

    /// SACK blocks for an ACK that is sent now.
    pub fn take_sack_blocks(&mut self) -> SackOption {
        let mut sacks = SackOption::default();
        let twice = self.dsack_block.take();
        twice.iter().chain(&self.sack_blocks).take(self.max_blocks).for_each(|&(from, to)| sacks.push(from, to));
        sacks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue_with(segments: &[u64]) -> OfoQueue {
        let mut late = OfoQueue::new(3, true);
        for &seq in segments {
            late.insert(seq, QueuedSegment::default());
            late.add_to_sack_blocks(seq);
        }
        late
    }

    #[test]
    fn the_block_of_the_last_segment_comes_first_and_three_fit() {
        assert_eq!([(8, 9), (6, 7), (4, 5)], queue_with(&[2, 4, 6, 8]).take_sack_blocks().as_slice());
    }

    #[test]
    fn a_segment_between_two_blocks_joins_them() {
        assert_eq!([(2, 5), (7, 8)], queue_with(&[2, 4, 7, 3]).take_sack_blocks().as_slice());
        assert_eq!([(2, 5), (8, 9), (6, 7)], queue_with(&[2, 4, 6, 8, 3]).take_sack_blocks().as_slice());
    }

    #[test]
    fn a_block_that_was_pushed_out_is_not_reported_again() {
        // The fifth block evicts the first; a segment adjacent to it then forms a new block.
        assert_eq!([(3, 4), (14, 15), (11, 12)], queue_with(&[2, 5, 8, 11, 14, 3]).take_sack_blocks().as_slice());
    }

    #[test]
    fn what_came_twice_is_told_once_and_first() {
        let mut late = queue_with(&[5]);
        late.set_dsack(1);
        assert_eq!([(1, 2), (5, 6)], late.take_sack_blocks().as_slice());
        assert_eq!([(5, 6)], late.take_sack_blocks().as_slice());
    }
}
