//! State of each segment in flight, and the order of transmissions.
//!
//! ```text
//! in flight = outstanding - sacked - lost + retransmitted
//! ```
//!
//! A segment may be retransmitted without being lost, if the reduction that retransmitted it was undone. Both copies count then.

use std::collections::VecDeque;

use crate::recovery::segment_queue::{SackBlocks, SegmentQueue};

/// Scoreboard of RACK. The fields that each ACK reads come first.
#[derive(Debug, Default)]
#[repr(C)]
pub struct RackScoreboard {
    segments: SegmentQueue<RackSegment>,
    /// Segments sacked; segments lost; and segments whose retransmission is in flight.
    pub sacked: u64,
    pub lost: u64,
    pub retransmitted: u64,
    /// One past the highest segment sacked, while any is.
    highest_sacked_end: u64,
    /// No segment below is waiting for retransmission.
    next_lost_hint: u64,
    /// Losses found so far, of segments and of retransmissions.
    pub losses_total: u64,
    /// Retransmissions in the order of time. Those acknowledged or superseded are skipped.
    retransmissions: VecDeque<Retransmission>,
    /// Below this segment no first transmission is left in the order of transmissions.
    next_original: u64,
    last_blocks: SackBlocks,
}

/// A segment in flight. Times are in whole microseconds of the host clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct RackSegment {
    /// Time of the last transmission.
    pub last_sent_at: u64,
    /// Delivered count at that time.
    pub prior_delivered: u64,
    pub sacked: bool,
    pub lost: bool,
    /// Retransmitted for a loss, and the retransmission is in flight.
    pub retransmitted: bool,
    /// Sent more than once.
    pub ever_retransmitted: bool,
    /// The first transmission is no longer in the order of transmissions: it was lost, acknowledged or superseded.
    left_send_order: bool,
}

/// A retransmission in the order of transmissions.
#[derive(Clone, Copy, Debug)]
struct Retransmission {
    seq: u64,
    sent_at: u64,
    /// One past the highest segment sent before this retransmission.
    prior_snd_max: u64,
}

impl RackSegment {
    /// Whether the segment is lost and not retransmitted yet.
    fn awaits_retransmission(&self) -> bool {
        self.lost && !self.retransmitted && !self.sacked
    }
}

impl RackScoreboard {
    /// Takes the memory of the scoreboard of a connection that is over.
    pub fn reuse_memory_of(&mut self, past: &mut RackScoreboard) {
        self.segments.reuse_memory_of(&mut past.segments);
    }

    /// Resets the scoreboard, with all segments before `base` acknowledged.
    pub fn reset_at(&mut self, base: u64) {
        let mut segments = SegmentQueue::with_snd_una(base);
        segments.reuse_memory_of(&mut self.segments);
        *self =
            RackScoreboard { segments, highest_sacked_end: base, next_lost_hint: base, next_original: base, ..RackScoreboard::default() };
    }

    pub fn snd_una(&self) -> u64 {
        self.segments.snd_una()
    }

    pub fn end_seq(&self) -> u64 {
        self.segments.end_seq()
    }

    pub fn outstanding_segments(&self) -> u64 {
        self.segments.segment_count()
    }

    /// Estimate of the segments in the network.
    pub fn in_flight(&self) -> u64 {
        (self.outstanding_segments() + self.retransmitted).saturating_sub(self.sacked + self.lost)
    }

    /// One past the highest segment sacked; `snd_una` if none is.
    pub fn sacked_end(&self, snd_una: u64) -> u64 {
        if self.sacked == 0 { snd_una } else { self.highest_sacked_end.max(snd_una) }
    }

    pub fn first_segment(&self) -> Option<&RackSegment> {
        self.segments.first()
    }

    pub fn segment(&self, seq: u64) -> Option<&RackSegment> {
        self.segments.get(seq)
    }

    /// A segment in flight from `seq` on before `to`, if there is one.
    pub fn next_outstanding(&self, seq: u64, to: u64) -> Option<u64> {
        (seq < to.min(self.end_seq())).then_some(seq)
    }

    /// Stores the blocks whose segments are about to be sacked, except DSACKs; returns the stored blocks of the previous ACK.
    pub fn replace_last_blocks(&mut self, blocks: &[(u64, u64, bool)]) -> SackBlocks {
        let sacked = blocks.iter().filter(|&&(_, _, report)| !report).map(|&(from, to, _)| (from, to));
        std::mem::replace(&mut self.last_blocks, SackBlocks::of(sacked))
    }

    /// First segment from `seq` on before `to` that is neither sacked nor in the `known` blocks; `seq` is unacknowledged.
    pub fn next_unsacked(&self, seq: u64, to: u64, known: &SackBlocks) -> Option<u64> {
        self.segments.next_outside_blocks_where(seq, to, known, |segment| !segment.sacked)
    }

    /// Appends a segment at its first transmission.
    pub fn on_sent(&mut self, now: u64, delivered: u64) {
        self.segments.push(RackSegment { last_sent_at: now, prior_delivered: delivered, ..RackSegment::default() });
    }

    /// Records a retransmission. `as_lost`: it replaces a lost segment; otherwise it is a probe.
    pub fn on_retransmitted(&mut self, seq: u64, now: u64, delivered: u64, as_lost: bool) {
        self.retransmissions.push_back(Retransmission { seq, sent_at: now, prior_snd_max: self.end_seq() });
        let segment = &mut self.segments[seq];
        (segment.last_sent_at, segment.prior_delivered, segment.ever_retransmitted) = (now, delivered, true);
        if as_lost && !segment.retransmitted {
            segment.retransmitted = true;
            self.retransmitted += 1;
        }
    }

    /// Removes the first segment, which is acknowledged.
    #[inline]
    pub fn pop_first(&mut self) -> Option<RackSegment> {
        let segment = self.segments.pop_first()?;
        self.sacked -= u64::from(segment.sacked);
        self.lost -= u64::from(segment.lost);
        self.retransmitted -= u64::from(segment.retransmitted);
        Some(segment)
    }

    /// Drops the retransmissions of acknowledged segments.
    #[inline]
    pub fn drop_acked_retransmissions(&mut self) {
        self.next_lost_hint = self.next_lost_hint.max(self.snd_una());
        while self.retransmissions.front().is_some_and(|again| again.seq < self.snd_una()) {
            self.retransmissions.pop_front();
        }
    }

    /// Marks a segment as sacked for the first time.
    pub fn mark_sacked(&mut self, seq: u64) {
        let segment = &mut self.segments[seq];
        if std::mem::take(&mut segment.lost) {
            self.lost -= 1;
            self.retransmitted -= u64::from(std::mem::take(&mut segment.retransmitted));
        }
        segment.sacked = true;
        self.highest_sacked_end = if self.sacked == 0 { seq + 1 } else { self.highest_sacked_end.max(seq + 1) };
        self.sacked += 1;
    }

    /// Clears the retransmission of a segment that arrived itself too, as DSACK reports.
    pub fn clear_retransmitted(&mut self, seq: u64) {
        let segment = &mut self.segments[seq];
        self.retransmitted -= u64::from(std::mem::replace(&mut segment.retransmitted, false));
    }

    /// Marks a segment, or its retransmission, as lost; returns whether it was not lost before.
    pub fn mark_lost(&mut self, seq: u64) -> bool {
        let segment = &mut self.segments[seq];
        let is_new = !segment.sacked && (!segment.lost || segment.retransmitted);
        if !is_new {
            return false;
        }
        // A segment retransmitted without being lost keeps its retransmission in flight.
        if std::mem::replace(&mut segment.lost, true) {
            segment.retransmitted = false;
            self.retransmitted -= 1;
        } else {
            self.lost += 1;
        }
        self.losses_total += 1;
        self.next_lost_hint = self.next_lost_hint.min(seq);
        true
    }

    /// Marks segments as lost that have at most `most` sacked segments below them.
    pub fn mark_lost_by_sacked_count(&mut self, most: u64) {
        let (mut count, mut at) = (0, self.snd_una());
        while let Some(&RackSegment { sacked, lost, .. }) = self.segment(at) {
            count += u64::from(sacked);
            if count > most {
                break;
            }
            if !lost {
                self.mark_lost(at);
            }
            at += 1;
        }
    }

    /// Marks the first segment as lost.
    pub fn mark_first_lost(&mut self, snd_una: u64) {
        if self.first_segment().is_some_and(|segment| !segment.lost) {
            self.mark_lost(snd_una);
        }
    }

    /// Clears all lost marks.
    pub fn clear_lost(&mut self) {
        self.segments.iter_mut().for_each(|segment| segment.lost = false);
        self.lost = 0;
    }

    /// Clears all sacked marks, because the receiver has discarded sacked data (reneging).
    pub fn clear_sacked(&mut self) {
        self.segments.iter_mut().for_each(|segment| segment.sacked = false);
        self.sacked = 0;
        self.last_blocks = SackBlocks::default();
    }

    /// Lowest segment that waits for retransmission.
    pub fn next_lost(&mut self) -> Option<u64> {
        if self.retransmitted >= self.lost {
            return None;
        }
        self.next_lost_hint = self.next_lost_hint.max(self.snd_una());
        while self.next_lost_hint < self.end_seq() {
            if self.segments[self.next_lost_hint].awaits_retransmission() {
                return Some(self.next_lost_hint);
            }
            self.next_lost_hint += 1;
        }
        None
    }

    /// Whether the first entry in the order of transmissions is as recent as `newest` (send time and one past its number), so that all are.
    #[inline]
    pub fn has_none_sent_before(&self, newest: (u64, u64)) -> bool {
        let first = self.next_original.max(self.snd_una());
        let waits = |segment: &RackSegment| {
            segment.awaits_retransmission() || segment.sacked || segment.ever_retransmitted || segment.left_send_order
        };
        self.retransmissions.is_empty()
            && self.segment(first).is_none_or(|segment| !waits(segment) && (segment.last_sent_at, first + 1) >= newest)
    }

    /// Calls `ask` for the segments in flight in the order of transmission, until it returns `Stop`; lost segments leave the order. The
    /// order is that of segment numbers, with the retransmissions inserted.
    pub fn for_each_in_send_order(&mut self, mut ask: impl FnMut(u64, &RackSegment) -> LossVerdict) {
        self.next_original = self.next_original.max(self.snd_una());
        let (mut at, mut kept, end) = (self.next_original, Vec::new(), self.end_seq());
        loop {
            if let Some(&again) = self.retransmissions.front().filter(|again| again.prior_snd_max <= at || at >= end) {
                let found = self.check_segment(again.seq, |segment| segment.last_sent_at == again.sent_at, &mut ask);
                match found {
                    Some(LossVerdict::Stop) => break,
                    Some(LossVerdict::InTime) => kept.push(again),
                    Some(LossVerdict::Lost) | None => {}
                }
                self.retransmissions.pop_front();
            } else if at < end {
                let found = self.check_segment(at, |segment| !segment.ever_retransmitted && !segment.left_send_order, &mut ask);
                match found {
                    Some(LossVerdict::Stop) => break,
                    Some(LossVerdict::InTime) => {}
                    Some(LossVerdict::Lost) | None => self.remove_from_send_order(at),
                }
                at += 1;
            } else {
                break;
            }
        }
        kept.into_iter().rev().for_each(|again| self.retransmissions.push_front(again));
    }

    /// Verdict on a segment by the current transmission, which is the one that counts if `is_last`; none if it is acknowledged. Marks the
    /// segment as lost if the verdict is so.
    fn check_segment(
        &mut self,
        seq: u64,
        is_last: impl FnOnce(&RackSegment) -> bool,
        ask: &mut impl FnMut(u64, &RackSegment) -> LossVerdict,
    ) -> Option<LossVerdict> {
        let segment = self.segment(seq).filter(|segment| is_last(segment) && !segment.sacked)?;
        let found = if segment.awaits_retransmission() { LossVerdict::InTime } else { ask(seq, segment) };
        if found == LossVerdict::Lost {
            self.mark_lost(seq);
        }
        Some(found)
    }

    fn remove_from_send_order(&mut self, seq: u64) {
        self.segments[seq].left_send_order = true;
        if self.next_original == seq {
            self.next_original = seq + 1;
        }
    }
}

/// Verdict on a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossVerdict {
    Lost,
    /// The segment may still arrive.
    InTime,
    /// The segment and all after it were sent after the most recently sent delivered one.
    Stop,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten segments from 5 on; the send time of each is its number.
    fn scoreboard_of() -> RackScoreboard {
        let mut board = RackScoreboard::default();
        board.reset_at(5);
        (5..15).for_each(|at| board.on_sent(at, 0));
        board
    }

    /// Recomputes `in_flight` from the segments.
    fn in_flight(board: &RackScoreboard) -> u64 {
        let count =
            |is: fn(&RackSegment) -> bool| (board.snd_una()..board.end_seq()).filter(|&seq| is(&board.segments[seq])).count() as u64;
        assert_eq!((board.sacked, board.lost, board.retransmitted), (count(|r| r.sacked), count(|r| r.lost), count(|r| r.retransmitted)));
        board.in_flight()
    }

    #[test]
    fn what_has_enough_sacked_above_it_is_lost_and_nothing_else() {
        // RFC 6675, section 4: three of those that are sacked have to be above.
        let mut board = scoreboard_of();
        let mut lost_with = |sacked: u64| {
            board.mark_sacked(sacked);
            if let Some(most) = board.sacked.checked_sub(3) {
                board.mark_lost_by_sacked_count(most);
            }
            (5..15).filter(|&seq| board.segment(seq).unwrap().lost).collect::<Vec<u64>>()
        };
        assert_eq!([vec![], vec![], vec![5], vec![5, 7], vec![5, 7]], [6, 8, 9, 10, 14].map(&mut lost_with));
    }

    #[test]
    fn what_is_in_flight_is_neither_sacked_nor_lost_or_was_sent_again() {
        let mut board = scoreboard_of();
        assert_eq!(10, in_flight(&board));
        [7, 8, 9].into_iter().for_each(|seq| board.mark_sacked(seq));
        assert_eq!((7, 10), (in_flight(&board), board.sacked_end(5)));
        assert!(board.mark_lost(5) && board.mark_lost(6) && !board.mark_lost(5) && !board.mark_lost(7));
        assert_eq!((5, Some(5)), (in_flight(&board), board.next_lost()));
        board.on_retransmitted(5, 20, 3, true);
        assert_eq!((6, Some(6)), (in_flight(&board), board.next_lost()));
        assert!(board.mark_lost(5), "the retransmission is lost");
        assert_eq!((5, Some(5)), (in_flight(&board), board.next_lost()));
        board.mark_sacked(5);
        assert_eq!((5, Some(6)), (in_flight(&board), board.next_lost()), "it has come after all");
        (5..8).for_each(|_| assert!(board.pop_first().is_some()));
        board.drop_acked_retransmissions();
        assert_eq!((5, None, 8), (in_flight(&board), board.next_lost(), board.snd_una()));
    }

    #[test]
    fn of_a_segment_that_was_not_lost_two_copies_are_in_flight() {
        let mut board = scoreboard_of();
        board.mark_lost(5);
        board.on_retransmitted(5, 20, 0, true);
        board.clear_lost();
        assert_eq!(11, in_flight(&board));
        board.clear_retransmitted(5);
        assert_eq!(10, in_flight(&board));
    }

    #[test]
    fn the_order_is_that_of_transmissions() {
        let mut board = scoreboard_of();
        board.mark_lost(5);
        board.on_retransmitted(5, 20, 0, true);
        board.mark_sacked(6);
        let mut asked = Vec::new();
        board.for_each_in_send_order(|seq, _| {
            asked.push(seq);
            LossVerdict::InTime
        });
        assert_eq!(vec![7, 8, 9, 10, 11, 12, 13, 14, 5], asked);
        board.for_each_in_send_order(|seq, _| if seq < 9 { LossVerdict::Lost } else { LossVerdict::Stop });
        assert_eq!((3, Some(7)), (board.lost, board.next_lost()));
    }

    #[test]
    fn what_goes_again_stands_between_what_went_before_it_and_what_went_after_it_at_the_same_instant() {
        let mut board = scoreboard_of();
        board.mark_lost(5);
        board.on_retransmitted(5, 14, 0, true);
        board.on_sent(14, 0);
        let asked = |board: &mut RackScoreboard| {
            let mut asked = Vec::new();
            board.for_each_in_send_order(|seq, _| {
                asked.push(seq);
                if seq == 13 { LossVerdict::Lost } else { LossVerdict::InTime }
            });
            asked
        };
        assert_eq!(vec![6, 7, 8, 9, 10, 11, 12, 13, 14, 5, 15], asked(&mut board));
        assert_eq!(vec![6, 7, 8, 9, 10, 11, 12, 14, 5, 15], asked(&mut board), "what is lost has left the order");
    }

    #[test]
    fn of_a_block_only_that_is_looked_at_which_the_blocks_before_did_not_cover() {
        let mut board = scoreboard_of();
        board.replace_last_blocks(&[(7, 9, false), (11, 12, false)]);
        [7, 8, 11].into_iter().for_each(|seq| board.mark_sacked(seq));
        let known = board.replace_last_blocks(&[(6, 7, true), (7, 14, false)]);
        let next = |seq| board.next_unsacked(seq, 14, &known);
        assert_eq!([Some(9), Some(9), Some(10), Some(12), Some(13), None], [7, 8, 10, 11, 13, 14].map(next));
        assert_eq!(SackBlocks::of([(7, 14)]), board.last_blocks, "a report is no block");
        board.clear_sacked();
        assert_eq!(SackBlocks::default(), board.last_blocks);
    }
}
