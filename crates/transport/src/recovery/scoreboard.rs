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
    /// Sent again and neither sacked nor lost since.
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
    /// It was sent more than once.
    pub ever_resent: bool,
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

    pub fn segment(&self, seq: u64) -> Option<&SegmentState> {
        self.segments.get(seq.checked_sub(self.base)? as usize)
    }

    /// A segment was sent, the next one or one on the board again.
    pub fn sent(&mut self, seq: u64) {
        if seq == self.end() {
            self.segments.push_back(SegmentState { sacked: false, lost: false, resent: false, ever_resent: false });
            return;
        }
        let segment = &mut self.segments[(seq - self.base) as usize];
        segment.ever_resent = true;
        if !segment.resent && !segment.sacked && segment.lost {
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
            self.segments[(seq - self.base) as usize] = SegmentState { sacked: true, lost: false, resent: false, ..segment };
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
        self.resent -= u64::from(segment.resent);
    }

    /// A segment is lost, or its retransmission is.
    pub fn lose(&mut self, seq: u64) {
        let segment = &mut self.segments[(seq - self.base) as usize];
        debug_assert!(!segment.sacked);
        self.resent -= u64::from(segment.resent);
        self.lost += u64::from(!segment.lost);
        (segment.lost, segment.resent) = (true, false);
        self.hint = self.hint.min(seq);
    }

    /// Every segment below `seq` that is not sacked is lost, if that was not already decided about it.
    pub fn lose_below(&mut self, seq: u64) {
        for seq in self.decided..seq.min(self.end()) {
            let segment = &self.segments[(seq - self.base) as usize];
            if !segment.sacked && !segment.lost {
                self.lose(seq);
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
        if self.lost == self.resent {
            return None;
        }
        while self.hint < self.end() {
            let segment = &self.segments[(self.hint - self.base) as usize];
            if segment.lost && !segment.resent {
                return Some(self.hint);
            }
            self.hint += 1;
        }
        None
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
