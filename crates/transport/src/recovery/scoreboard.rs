//! SACK scoreboard: the state of each segment in flight (RFC 6675, section 4).
//!
//! ```text
//! pipe = sent and not cumulatively acknowledged - sacked - lost + retransmitted      estimate of the segments in the network
//! ```

use super::segment_queue::{SackBlocks, SegmentQueue};
use crate::segment::SackOption;

/// State of all segments from the lowest unacknowledged to the highest sent.
#[derive(Debug, Default)]
pub struct Scoreboard {
    segments: SegmentQueue<SegmentState>,
    sacked: u64,
    /// Lost and not sacked since, whether retransmitted or not.
    lost: u64,
    /// Lost and not retransmitted yet.
    lost_pending: u64,
    /// Retransmitted, and since then neither sacked nor lost.
    retransmitted: u64,
    /// One past the highest segment sacked.
    fack: u64,
    /// All segments below are sacked or lost.
    loss_decided_below: u64,
    /// No segment below is waiting for retransmission.
    next_lost_hint: u64,
    last_blocks: SackBlocks,
}

/// State of a segment in flight.
#[derive(Clone, Copy, Debug, Default)]
pub struct SegmentState {
    pub sacked: bool,
    pub lost: bool,
    /// The last transmission is a retransmission that is not known to be lost.
    pub retransmitted: bool,
}

impl SegmentState {
    /// Whether the segment is lost and not retransmitted yet.
    fn is_lost_pending(&self) -> bool {
        self.lost && !self.retransmitted
    }
}

impl Scoreboard {
    /// Resets the scoreboard, with all segments before `base` acknowledged.
    pub fn reset_at(&mut self, base: u64) {
        *self = Scoreboard {
            segments: SegmentQueue::with_snd_una(base),
            fack: base,
            loss_decided_below: base,
            next_lost_hint: base,
            ..Scoreboard::default()
        };
    }

    pub fn end_seq(&self) -> u64 {
        self.segments.end_seq()
    }

    /// Estimate of the segments in the network.
    pub fn pipe(&self) -> u64 {
        self.segments.segment_count() - self.sacked - self.lost + self.retransmitted
    }

    pub fn sacked(&self) -> u64 {
        self.sacked
    }

    /// Whether a segment is lost and its retransmission has not arrived.
    pub fn has_losses(&self) -> bool {
        self.lost > 0
    }

    pub fn fack(&self) -> u64 {
        self.fack
    }

    /// Records a new transmission or a retransmission. A retransmitted segment that is not lost is in the pipe twice (RFC 6675, SetPipe).
    pub fn on_sent_or_retransmitted(&mut self, seq: u64) {
        if seq == self.end_seq() {
            self.segments.push(SegmentState::default());
            return;
        }
        let segment = &mut self.segments[seq];
        if !segment.retransmitted && !segment.sacked {
            self.lost_pending -= u64::from(segment.lost);
            segment.retransmitted = true;
            self.retransmitted += 1;
        }
    }

    /// Removes all segments before `next`; returns how many of them had not been sacked.
    pub fn ack_up_to(&mut self, next: u64) -> u64 {
        let mut count = 0;
        while self.segments.snd_una() < next {
            let Some(segment) = self.segments.pop_first() else { break };
            self.subtract_from_counts(&segment);
            count += u64::from(!segment.sacked);
        }
        let snd_una = self.segments.snd_una();
        self.fack = self.fack.max(snd_una);
        self.loss_decided_below = self.loss_decided_below.max(snd_una);
        self.next_lost_hint = self.next_lost_hint.max(snd_una);
        count
    }

    /// Marks segments as sacked; returns how many were not sacked before.
    pub fn apply_sack_blocks(&mut self, blocks: &SackOption) -> u64 {
        let known = std::mem::replace(&mut self.last_blocks, SackBlocks::of(blocks.as_slice().iter().copied()));
        let mut count = 0;
        for &(from, to) in blocks.as_slice() {
            let mut at = from.max(self.segments.snd_una());
            while let Some(seq) = self.segments.next_outside_blocks_where(at, to, &known, |segment| !segment.sacked) {
                self.mark_sacked(seq);
                count += 1;
                at = seq + 1;
            }
        }
        count
    }

    /// Marks a segment as sacked for the first time.
    fn mark_sacked(&mut self, seq: u64) {
        let segment = self.segments[seq];
        self.subtract_from_counts(&segment);
        self.segments[seq] = SegmentState { sacked: true, ..SegmentState::default() };
        self.sacked += 1;
        self.fack = self.fack.max(seq + 1);
    }

    /// Subtracts a segment from the counters.
    fn subtract_from_counts(&mut self, segment: &SegmentState) {
        self.sacked -= u64::from(segment.sacked);
        self.lost -= u64::from(segment.lost);
        self.lost_pending -= u64::from(segment.is_lost_pending());
        self.retransmitted -= u64::from(segment.retransmitted);
    }

    /// Marks a segment, or its retransmission, as lost.
    pub fn mark_lost(&mut self, seq: u64) {
        let segment = &mut self.segments[seq];
        debug_assert!(!segment.sacked);
        self.retransmitted -= u64::from(segment.retransmitted);
        self.lost += u64::from(!segment.lost);
        self.lost_pending += u64::from(!segment.is_lost_pending());
        (segment.lost, segment.retransmitted) = (true, false);
        self.next_lost_hint = self.next_lost_hint.min(seq);
    }

    /// Marks all segments below `seq` that are not sacked as lost, unless they were marked before. Their retransmissions stay in the pipe.
    pub fn mark_lost_below(&mut self, seq: u64) {
        for seq in self.loss_decided_below..seq.min(self.end_seq()) {
            let segment = &mut self.segments[seq];
            if segment.sacked || segment.lost {
                continue;
            }
            segment.lost = true;
            self.lost += 1;
            if !segment.retransmitted {
                self.lost_pending += 1;
                self.next_lost_hint = self.next_lost_hint.min(seq);
            }
        }
        self.loss_decided_below = self.loss_decided_below.max(seq.min(self.end_seq()));
    }

    /// Marks all segments that are not sacked as lost, with their retransmissions.
    pub fn mark_all_lost(&mut self) {
        for seq in self.segments.snd_una()..self.end_seq() {
            if !self.segments[seq].sacked {
                self.mark_lost(seq);
            }
        }
        self.loss_decided_below = self.end_seq();
    }

    /// Highest segment with `count` sacked segments from it on: all below that are not sacked are lost (RFC 6675, IsLost).
    pub fn loss_bound_by_sacked_count(&self, count: u64) -> Option<u64> {
        if self.sacked < count {
            return None;
        }
        let mut left = count;
        for seq in (self.segments.snd_una()..self.fack).rev() {
            left -= u64::from(self.segments[seq].sacked);
            if left == 0 {
                return Some(seq);
            }
        }
        None
    }

    /// Lowest segment that is lost and not retransmitted yet (RFC 6675, NextSeg rule 1).
    pub fn next_lost(&mut self) -> Option<u64> {
        if self.lost_pending == 0 {
            return None;
        }
        while self.next_lost_hint < self.end_seq() {
            if self.segments[self.next_lost_hint].is_lost_pending() {
                return Some(self.next_lost_hint);
            }
            self.next_lost_hint += 1;
        }
        None
    }

    /// Lowest segment from `from` on that is not sacked, was not retransmitted, and has a sacked one above it (RFC 6675, NextSeg rule 3).
    /// Segments already marked as lost belong to rule 1.
    pub fn next_hole(&self, from: u64) -> Option<u64> {
        (from.max(self.loss_decided_below)..self.fack).find(|&seq| {
            let segment = &self.segments[seq];
            !segment.sacked && !segment.retransmitted
        })
    }

    /// Highest segment that is not sacked (RFC 6675, NextSeg rule 4).
    pub fn highest_unsacked(&self) -> Option<u64> {
        self.segments.last_where(|segment| !segment.sacked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scoreboard_of(sent: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        board.reset_at(0);
        (0..sent).for_each(|seq| board.on_sent_or_retransmitted(seq));
        board
    }

    fn blocks(runs: &[(u64, u64)]) -> SackOption {
        let mut sacks = SackOption::default();
        runs.iter().for_each(|&(from, to)| sacks.push(from, to));
        sacks
    }

    #[test]
    fn the_pipe_is_what_is_neither_sacked_nor_lost_and_what_was_sent_again() {
        let mut board = scoreboard_of(10);
        assert_eq!(3, board.apply_sack_blocks(&blocks(&[(4, 7)])));
        assert_eq!(7, board.pipe());
        board.mark_lost_below(4);
        assert_eq!(3, board.pipe());
        assert_eq!(Some(0), board.next_lost());
        board.on_sent_or_retransmitted(0);
        assert_eq!((4, Some(1)), (board.pipe(), board.next_lost()));
        board.mark_lost(0);
        assert_eq!((3, Some(0)), (board.pipe(), board.next_lost()));
    }

    #[test]
    fn a_segment_sent_again_before_it_is_lost_is_in_the_pipe_twice_until_then() {
        let mut board = scoreboard_of(10);
        board.apply_sack_blocks(&blocks(&[(5, 6)]));
        assert_eq!((9, Some(0)), (board.pipe(), board.next_hole(0)));
        board.on_sent_or_retransmitted(0);
        assert_eq!((10, Some(1), None), (board.pipe(), board.next_hole(0), board.next_hole(5)));
        board.mark_lost_below(1);
        assert_eq!((9, None), (board.pipe(), board.next_lost()), "its retransmission is on its way");
        board.mark_lost_below(2);
        assert_eq!((8, Some(1)), (board.pipe(), board.next_lost()));
        board.mark_all_lost();
        assert_eq!((0, Some(0)), (board.pipe(), board.next_lost()));
    }

    #[test]
    fn the_highest_unsacked_segment_may_lie_between_sacked_ones() {
        let mut board = scoreboard_of(10);
        assert_eq!(Some(9), board.highest_unsacked());
        board.apply_sack_blocks(&blocks(&[(7, 10), (3, 6)]));
        assert_eq!(Some(6), board.highest_unsacked());
    }

    #[test]
    fn blocks_that_come_again_bring_no_news() {
        let mut board = scoreboard_of(10);
        assert_eq!(1, board.apply_sack_blocks(&blocks(&[(2, 3)])));
        assert_eq!(1, board.apply_sack_blocks(&blocks(&[(2, 4)])));
        assert_eq!(3, board.apply_sack_blocks(&blocks(&[(6, 9), (2, 4)])));
        assert_eq!(1, board.apply_sack_blocks(&blocks(&[(1, 4), (6, 9)])));
        assert_eq!((6, 9), (board.sacked(), board.fack()));
        assert_eq!(1, board.ack_up_to(2));
        assert_eq!(5, board.sacked());
    }

    #[test]
    fn three_sacked_segments_above_make_a_loss() {
        let mut board = scoreboard_of(10);
        board.apply_sack_blocks(&blocks(&[(3, 4)]));
        board.apply_sack_blocks(&blocks(&[(6, 7), (3, 4)]));
        assert_eq!(None, board.loss_bound_by_sacked_count(3));
        board.apply_sack_blocks(&blocks(&[(8, 9), (6, 7), (3, 4)]));
        assert_eq!(Some(3), board.loss_bound_by_sacked_count(3));
    }
}
