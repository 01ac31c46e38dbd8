//! The scoreboard: what is known of every segment in flight (RFC 6675, section 4).
//!
//! ```text
//! pipe = in flight by number - sacked - lost + retransmitted      what is thought to be in the network
//! ```

use std::collections::VecDeque;

use crate::segment::Sacks;

/// Everything from the lowest unacknowledged segment to the highest sent.
#[derive(Debug, Default)]
pub struct Scoreboard {
    base: u64,
    segments: VecDeque<SegmentState>,
    sacked: u64,
    /// Lost and not sacked since, whether sent again or not.
    lost: u64,
    /// Lost and waiting to be sent again.
    pending: u64,
    /// Sent again and neither sacked since nor lost again.
    resent: u64,
    /// One past the highest segment sacked.
    fack: u64,
    /// All below are sacked or lost.
    decided: u64,
    /// No segment below is lost and waits to be sent again.
    hint: u64,
    /// The blocks of the last acknowledgement: only what they did not cover is looked at.
    known: Sacks,
}

/// A segment in flight.
#[derive(Clone, Copy, Debug)]
pub struct SegmentState {
    pub sacked: bool,
    pub lost: bool,
    /// Its last transmission is a retransmission that is not known to be lost.
    pub resent: bool,
}

impl SegmentState {
    /// Lost and waiting to be sent again.
    fn is_pending(&self) -> bool {
        self.lost && !self.resent
    }
}

impl Scoreboard {
    /// Starts with all before `base` acknowledged.
    pub fn start(&mut self, base: u64) {
        *self = Scoreboard { base, fack: base, decided: base, hint: base, ..Scoreboard::default() };
    }

    pub fn end(&self) -> u64 {
        self.base + self.segments.len() as u64
    }

    /// Segments thought to be in the network.
    pub fn pipe(&self) -> u64 {
        self.segments.len() as u64 - self.sacked - self.lost + self.resent
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

    /// A segment was sent, the next one or one on the board again. One that is not lost is in the pipe twice then (RFC 6675, SetPipe).
    pub fn sent(&mut self, seq: u64) {
        if seq == self.end() {
            self.segments.push_back(SegmentState { sacked: false, lost: false, resent: false });
            return;
        }
        let segment = &mut self.segments[(seq - self.base) as usize];
        if !segment.resent && !segment.sacked {
            self.pending -= u64::from(segment.lost);
            segment.resent = true;
            self.resent += 1;
        }
    }

    /// All before `next` is acknowledged; returns how many of these had not been sacked.
    pub fn advance(&mut self, next: u64) -> u64 {
        let mut count = 0;
        while self.base < next {
            let Some(segment) = self.segments.pop_front() else { break };
            self.forget(&segment);
            count += u64::from(!segment.sacked);
            self.base += 1;
        }
        self.fack = self.fack.max(self.base);
        self.decided = self.decided.max(self.base);
        self.hint = self.hint.max(self.base);
        count
    }

    /// Takes SACK blocks in; returns how many segments they bring news of.
    pub fn sack(&mut self, blocks: &Sacks) -> u64 {
        let known = std::mem::replace(&mut self.known, blocks.clone());
        let mut count = 0;
        for &(from, to) in blocks.as_slice() {
            let (from, to) = (from.max(self.base), to.min(self.end()));
            match known.as_slice().iter().find(|known| known.0 < to && from < known.1) {
                Some(&(old_from, old_to)) => {
                    count += self.sack_run(from, to.min(old_from));
                    count += self.sack_run(from.max(old_to), to);
                }
                None => count += self.sack_run(from, to),
            }
        }
        count
    }

    fn sack_run(&mut self, from: u64, to: u64) -> u64 {
        let mut count = 0;
        for seq in from..to {
            let segment = self.segments[(seq - self.base) as usize];
            if segment.sacked {
                continue;
            }
            self.forget(&segment);
            self.segments[(seq - self.base) as usize] = SegmentState { sacked: true, lost: false, resent: false };
            self.sacked += 1;
            count += 1;
        }
        if count > 0 {
            self.fack = self.fack.max(to);
        }
        count
    }

    /// Takes a segment out of the counts.
    fn forget(&mut self, segment: &SegmentState) {
        self.sacked -= u64::from(segment.sacked);
        self.lost -= u64::from(segment.lost);
        self.pending -= u64::from(segment.is_pending());
        self.resent -= u64::from(segment.resent);
    }

    /// A segment is lost, or its retransmission is.
    pub fn lose(&mut self, seq: u64) {
        let segment = &mut self.segments[(seq - self.base) as usize];
        debug_assert!(!segment.sacked);
        self.resent -= u64::from(segment.resent);
        self.lost += u64::from(!segment.lost);
        self.pending += u64::from(!segment.is_pending());
        (segment.lost, segment.resent) = (true, false);
        self.hint = self.hint.min(seq);
    }

    /// Every segment below `seq` that is not sacked is lost, if that was not already decided about it. What was sent again before that stays in
    /// the pipe by its retransmission.
    pub fn lose_below(&mut self, seq: u64) {
        for seq in self.decided..seq.min(self.end()) {
            let segment = &mut self.segments[(seq - self.base) as usize];
            if segment.sacked || segment.lost {
                continue;
            }
            segment.lost = true;
            self.lost += 1;
            if !segment.resent {
                self.pending += 1;
                self.hint = self.hint.min(seq);
            }
        }
        self.decided = self.decided.max(seq.min(self.end()));
    }

    /// Every segment that is not sacked is lost, and so is every retransmission.
    pub fn lose_all(&mut self) {
        for seq in self.base..self.end() {
            if !self.segments[(seq - self.base) as usize].sacked {
                self.lose(seq);
            }
        }
        self.decided = self.end();
    }

    /// The highest segment above which, itself counted, `count` are sacked: all below that are not sacked are lost (RFC 6675, IsLost).
    pub fn below_sacked(&self, count: u64) -> Option<u64> {
        if self.sacked < count {
            return None;
        }
        let mut left = count;
        for seq in (self.base..self.fack).rev() {
            left -= u64::from(self.segments[(seq - self.base) as usize].sacked);
            if left == 0 {
                return Some(seq);
            }
        }
        None
    }

    /// The lowest segment that is lost and waits to be sent again (RFC 6675, NextSeg rule 1).
    pub fn next_lost(&mut self) -> Option<u64> {
        if self.pending == 0 {
            return None;
        }
        while self.hint < self.end() {
            if self.segments[(self.hint - self.base) as usize].is_pending() {
                return Some(self.hint);
            }
            self.hint += 1;
        }
        None
    }

    /// The lowest segment from `from` on that is not sacked while a higher one is, and was not sent again (RFC 6675, NextSeg rule 3). What was
    /// decided about is lost, and rule 1's.
    pub fn next_hole(&self, from: u64) -> Option<u64> {
        (from.max(self.decided)..self.fack).find(|seq| {
            let segment = &self.segments[(seq - self.base) as usize];
            !segment.sacked && !segment.resent
        })
    }

    /// The highest segment that is not sacked (RFC 6675, NextSeg rule 4).
    pub fn highest_unsacked(&self) -> Option<u64> {
        self.segments.iter().rposition(|segment| !segment.sacked).map(|place| self.base + place as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(sent: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        board.start(0);
        (0..sent).for_each(|seq| board.sent(seq));
        board
    }

    fn blocks(runs: &[(u64, u64)]) -> Sacks {
        let mut sacks = Sacks::default();
        runs.iter().for_each(|&(from, to)| sacks.push(from, to));
        sacks
    }

    #[test]
    fn the_pipe_is_what_is_neither_sacked_nor_lost_and_what_was_sent_again() {
        let mut board = board(10);
        assert_eq!(3, board.sack(&blocks(&[(4, 7)])));
        assert_eq!(7, board.pipe());
        board.lose_below(4);
        assert_eq!(3, board.pipe());
        assert_eq!(Some(0), board.next_lost());
        board.sent(0);
        assert_eq!((4, Some(1)), (board.pipe(), board.next_lost()));
        board.lose(0);
        assert_eq!((3, Some(0)), (board.pipe(), board.next_lost()));
    }

    #[test]
    fn a_segment_sent_again_before_it_is_lost_is_in_the_pipe_twice_until_then() {
        let mut board = board(10);
        board.sack(&blocks(&[(5, 6)]));
        assert_eq!((9, Some(0)), (board.pipe(), board.next_hole(0)));
        board.sent(0);
        assert_eq!((10, Some(1), None), (board.pipe(), board.next_hole(0), board.next_hole(5)));
        board.lose_below(1);
        assert_eq!((9, None), (board.pipe(), board.next_lost()), "its retransmission is on its way");
        board.lose_below(2);
        assert_eq!((8, Some(1)), (board.pipe(), board.next_lost()));
        board.lose_all();
        assert_eq!((0, Some(0)), (board.pipe(), board.next_lost()));
    }

    #[test]
    fn the_highest_unsacked_segment_may_lie_between_sacked_ones() {
        let mut board = board(10);
        assert_eq!(Some(9), board.highest_unsacked());
        board.sack(&blocks(&[(7, 10), (3, 6)]));
        assert_eq!(Some(6), board.highest_unsacked());
    }

    #[test]
    fn blocks_that_come_again_bring_no_news() {
        let mut board = board(10);
        assert_eq!(1, board.sack(&blocks(&[(2, 3)])));
        assert_eq!(1, board.sack(&blocks(&[(2, 4)])));
        assert_eq!(3, board.sack(&blocks(&[(6, 9), (2, 4)])));
        assert_eq!(1, board.sack(&blocks(&[(1, 4), (6, 9)])));
        assert_eq!((6, 9), (board.sacked(), board.fack()));
        assert_eq!(1, board.advance(2));
        assert_eq!(5, board.sacked());
    }

    #[test]
    fn three_sacked_segments_above_make_a_loss() {
        let mut board = board(10);
        board.sack(&blocks(&[(3, 4)]));
        board.sack(&blocks(&[(6, 7), (3, 4)]));
        assert_eq!(None, board.below_sacked(3));
        board.sack(&blocks(&[(8, 9), (6, 7), (3, 4)]));
        assert_eq!(Some(3), board.below_sacked(3));
    }
}
