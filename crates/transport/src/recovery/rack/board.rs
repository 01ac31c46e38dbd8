//! What is known of every segment in flight, and the order in which they were sent.
//!
//! ```text
//! in flight = outstanding - sacked - lost + resent
//! ```
//!
//! A segment may be resent without being lost: the cut that had it sent again was taken back. Both copies count then.

use std::collections::VecDeque;

use crate::segment::Sacks;

/// What every acknowledgement reads stands first.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Board {
    /// Lowest segment not yet acknowledged.
    base: u64,
    records: VecDeque<Record>,
    /// Segments sacked, lost, and sent again with the retransmission thought to be in flight.
    pub sacked: u64,
    pub lost: u64,
    pub resent: u64,
    /// One past the highest segment sacked, while any is.
    top: u64,
    /// No segment below waits to be sent again.
    hint: u64,
    /// Losses found so far, of segments and of retransmissions.
    pub losses: u64,
    /// Retransmissions in the order of their time. Those that are answered or superseded are passed over.
    again: VecDeque<Again>,
    /// No segment below waits in the order of transmissions for its first one.
    first: u64,
    /// The blocks of the last acknowledgement that had any: all in them is sacked.
    known: Known,
}

/// Blocks, the lowest first. Those that are not there are empty.
pub type Known = [(u64, u64); Sacks::MOST];

/// A segment in flight. Times are in whole microseconds of the host's clock.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// When it was sent last.
    pub sent: u64,
    /// How many segments had been delivered then.
    pub delivered: u64,
    pub sacked: bool,
    pub lost: bool,
    /// Sent again for a loss, and the retransmission is thought to be in flight.
    pub resent: bool,
    /// It was sent more than once.
    pub ever_resent: bool,
    /// Its first transmission has left the order: it was lost, answered or superseded.
    left: bool,
}

/// A retransmission in the order of transmissions.
#[derive(Clone, Copy, Debug)]
struct Again {
    seq: u64,
    at: u64,
    /// All before this segment had gone for the first time by then.
    high: u64,
}

impl Record {
    /// Whether it is known to be lost and waits to be sent again.
    fn waits(&self) -> bool {
        self.lost && !self.resent && !self.sacked
    }
}

impl Board {
    /// Starts with all before `base` acknowledged.
    pub fn start(&mut self, base: u64) {
        *self = Board { base, top: base, hint: base, first: base, ..Board::default() };
    }

    pub fn base(&self) -> u64 {
        self.base
    }

    pub fn end(&self) -> u64 {
        self.base + self.records.len() as u64
    }

    pub fn outstanding(&self) -> u64 {
        self.records.len() as u64
    }

    /// Segments thought to be in the network.
    pub fn in_flight(&self) -> u64 {
        (self.outstanding() + self.resent).saturating_sub(self.sacked + self.lost)
    }

    /// One past the highest segment sacked; `una`, the first unacknowledged one, if none is.
    pub fn highest_sacked(&self, una: u64) -> u64 {
        if self.sacked == 0 { una } else { self.top.max(una) }
    }

    pub fn first(&self) -> Option<&Record> {
        self.records.front()
    }

    pub fn get(&self, seq: u64) -> Option<&Record> {
        self.records.get(seq.checked_sub(self.base)? as usize)
    }

    /// A segment from `seq` on before `to`, if there is one in flight.
    pub fn next_before(&self, seq: u64, to: u64) -> Option<u64> {
        (seq < to.min(self.end())).then_some(seq)
    }

    /// Blocks in which all is about to be sacked, but for those that only `report`; returns the blocks of before.
    pub fn know(&mut self, blocks: &[(u64, u64, bool)]) -> Known {
        let mut known = Known::default();
        for (known, &(from, to, _)) in known.iter_mut().zip(blocks.iter().filter(|&&(_, _, report)| !report)) {
            *known = (from, to);
        }
        std::mem::replace(&mut self.known, known)
    }

    /// The first segment from `seq` on before `to` that is not sacked, as all in the `known` blocks is; `seq` is not acknowledged.
    pub fn next_unsacked(&self, seq: u64, to: u64, known: &Known) -> Option<u64> {
        let (mut at, to) = (seq, to.min(self.end()));
        while at < to {
            if let Some(&(_, end)) = known.iter().find(|&&(from, end)| from <= at && at < end) {
                at = end;
            } else if self.records[(at - self.base) as usize].sacked {
                at += 1;
            } else {
                return Some(at);
            }
        }
        None
    }

    /// A segment goes for the first time.
    pub fn sent(&mut self, now: u64, delivered: u64) {
        self.records.push_back(Record { sent: now, delivered, sacked: false, lost: false, resent: false, ever_resent: false, left: false });
    }

    /// A segment goes again; `as_lost` if that replaces one that is lost, and not if it only draws an answer.
    pub fn sent_again(&mut self, seq: u64, now: u64, delivered: u64, as_lost: bool) {
        self.again.push_back(Again { seq, at: now, high: self.end() });
        let record = &mut self.records[(seq - self.base) as usize];
        (record.sent, record.delivered, record.ever_resent) = (now, delivered, true);
        if as_lost && !record.resent {
            record.resent = true;
            self.resent += 1;
        }
    }

    /// Takes the first segment off, which is acknowledged.
    #[inline]
    pub fn pop(&mut self) -> Option<Record> {
        let record = self.records.pop_front()?;
        self.base += 1;
        self.sacked -= u64::from(record.sacked);
        self.lost -= u64::from(record.lost);
        self.resent -= u64::from(record.resent);
        Some(record)
    }

    /// Forgets the transmissions of what is acknowledged.
    #[inline]
    pub fn trim(&mut self) {
        self.hint = self.hint.max(self.base);
        while self.again.front().is_some_and(|again| again.seq < self.base) {
            self.again.pop_front();
        }
    }

    /// A segment is sacked for the first time.
    pub fn sack(&mut self, seq: u64) {
        let record = &mut self.records[(seq - self.base) as usize];
        if record.resent && record.lost {
            (record.resent, record.lost) = (false, false);
            self.resent -= 1;
            self.lost -= 1;
        } else if !record.resent && record.lost {
            record.lost = false;
            self.lost -= 1;
        }
        record.sacked = true;
        self.top = if self.sacked == 0 { seq + 1 } else { self.top.max(seq + 1) };
        self.sacked += 1;
    }

    /// The retransmission of a segment has come beside the segment itself.
    pub fn end_resent(&mut self, seq: u64) {
        let record = &mut self.records[(seq - self.base) as usize];
        self.resent -= u64::from(std::mem::replace(&mut record.resent, false));
    }

    /// A segment is lost, or its retransmission is; returns whether that is new.
    pub fn lose(&mut self, seq: u64) -> bool {
        let record = &mut self.records[(seq - self.base) as usize];
        let news = !record.sacked && (!record.lost || record.resent);
        if !news {
            return false;
        }
        // A segment that was sent again without being lost keeps its retransmission.
        if std::mem::replace(&mut record.lost, true) {
            record.resent = false;
            self.resent -= 1;
        } else {
            self.lost += 1;
        }
        self.losses += 1;
        self.hint = self.hint.min(seq);
        true
    }

    /// What has at most so many sacked segments below it is lost, if it was not.
    pub fn lose_below_sacked(&mut self, most: u64) {
        let (mut count, mut at) = (0, self.base);
        while let Some(&Record { sacked, lost, .. }) = self.get(at) {
            count += u64::from(sacked);
            if count > most {
                break;
            }
            if !lost {
                self.lose(at);
            }
            at += 1;
        }
    }

    /// The first segment is lost, if it was not.
    pub fn lose_first(&mut self, una: u64) {
        if self.first().is_some_and(|record| !record.lost) {
            self.lose(una);
        }
    }

    /// Nothing is lost after all.
    pub fn unmark_lost(&mut self) {
        self.records.iter_mut().for_each(|record| record.lost = false);
        self.lost = 0;
    }

    /// The receiver has let go of what it had sacked.
    pub fn forget_sacks(&mut self) {
        self.records.iter_mut().for_each(|record| record.sacked = false);
        self.sacked = 0;
        self.known = Known::default();
    }

    /// The lowest segment that waits to be sent again.
    pub fn next_lost(&mut self) -> Option<u64> {
        if self.resent >= self.lost {
            return None;
        }
        self.hint = self.hint.max(self.base);
        while self.hint < self.end() {
            if self.records[(self.hint - self.base) as usize].waits() {
                return Some(self.hint);
            }
            self.hint += 1;
        }
        None
    }

    /// Whether the first transmission in the order of transmissions is that of a segment which is as new as `newest` or newer, by when it was
    /// sent and one past its number: then all are.
    #[inline]
    pub fn begins_at(&self, newest: (u64, u64)) -> bool {
        let first = self.first.max(self.base);
        let waits = |record: &Record| record.waits() || record.sacked || record.ever_resent || record.left;
        self.again.is_empty() && self.get(first).is_none_or(|record| !waits(record) && (record.sent, first + 1) >= newest)
    }

    /// Asks about what is in flight in the order of transmission, until the answer is to stop; what is lost by it leaves the order. That is the
    /// order of segments, with the retransmissions where they went.
    pub fn walk(&mut self, mut ask: impl FnMut(u64, &Record) -> Found) {
        self.first = self.first.max(self.base);
        let (mut at, mut kept, end) = (self.first, Vec::new(), self.end());
        loop {
            if let Some(&again) = self.again.front().filter(|again| again.high <= at || at >= end) {
                let found = self.find(again.seq, |record| record.sent == again.at, &mut ask);
                match found {
                    Some(Found::Stop) => break,
                    Some(Found::InTime) => kept.push(again),
                    Some(Found::Lost) | None => {}
                }
                self.again.pop_front();
            } else if at < end {
                let found = self.find(at, |record| !record.ever_resent && !record.left, &mut ask);
                match found {
                    Some(Found::Stop) => break,
                    Some(Found::InTime) => {}
                    Some(Found::Lost) | None => self.leave(at),
                }
                at += 1;
            } else {
                break;
            }
        }
        kept.into_iter().rev().for_each(|again| self.again.push_front(again));
    }

    /// What is found of a segment by the transmission at hand, which is the one that counts if `is_last`; nothing of one that is answered. What is
    /// lost is lost from here on.
    fn find(&mut self, seq: u64, is_last: impl FnOnce(&Record) -> bool, ask: &mut impl FnMut(u64, &Record) -> Found) -> Option<Found> {
        let record = self.get(seq).filter(|record| is_last(record) && !record.sacked)?;
        let found = if record.waits() { Found::InTime } else { ask(seq, record) };
        if found == Found::Lost {
            self.lose(seq);
        }
        Some(found)
    }

    fn leave(&mut self, seq: u64) {
        self.records[(seq - self.base) as usize].left = true;
        if self.first == seq {
            self.first = seq + 1;
        }
    }
}

/// What is found of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Lost,
    /// It may still arrive.
    InTime,
    /// It was sent after what has arrived, as all that follow.
    Stop,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten segments from 5 on, sent at the times of their numbers.
    fn board() -> Board {
        let mut board = Board::default();
        board.start(5);
        (5..15).for_each(|at| board.sent(at, 0));
        board
    }

    /// Recounts what the board says of itself.
    fn in_flight(board: &Board) -> u64 {
        let count = |is: fn(&Record) -> bool| board.records.iter().filter(|record| is(record)).count() as u64;
        assert_eq!((board.sacked, board.lost, board.resent), (count(|r| r.sacked), count(|r| r.lost), count(|r| r.resent)));
        board.in_flight()
    }

    #[test]
    fn what_has_enough_sacked_above_it_is_lost_and_nothing_else() {
        // RFC 6675, section 4: three of those that are sacked have to be above.
        let mut board = board();
        let mut lost_with = |sacked: u64| {
            board.sack(sacked);
            if let Some(most) = board.sacked.checked_sub(3) {
                board.lose_below_sacked(most);
            }
            (5..15).filter(|&seq| board.get(seq).unwrap().lost).collect::<Vec<u64>>()
        };
        assert_eq!([vec![], vec![], vec![5], vec![5, 7], vec![5, 7]], [6, 8, 9, 10, 14].map(&mut lost_with));
    }

    #[test]
    fn what_is_in_flight_is_neither_sacked_nor_lost_or_was_sent_again() {
        let mut board = board();
        assert_eq!(10, in_flight(&board));
        [7, 8, 9].into_iter().for_each(|seq| board.sack(seq));
        assert_eq!((7, 10), (in_flight(&board), board.highest_sacked(5)));
        assert!(board.lose(5) && board.lose(6) && !board.lose(5) && !board.lose(7));
        assert_eq!((5, Some(5)), (in_flight(&board), board.next_lost()));
        board.sent_again(5, 20, 3, true);
        assert_eq!((6, Some(6)), (in_flight(&board), board.next_lost()));
        assert!(board.lose(5), "the retransmission is lost");
        assert_eq!((5, Some(5)), (in_flight(&board), board.next_lost()));
        board.sack(5);
        assert_eq!((5, Some(6)), (in_flight(&board), board.next_lost()), "it has come after all");
        (5..8).for_each(|_| assert!(board.pop().is_some()));
        board.trim();
        assert_eq!((5, None, 8), (in_flight(&board), board.next_lost(), board.base()));
    }

    #[test]
    fn of_a_segment_that_was_not_lost_two_copies_are_in_flight() {
        let mut board = board();
        board.lose(5);
        board.sent_again(5, 20, 0, true);
        board.unmark_lost();
        assert_eq!(11, in_flight(&board));
        board.end_resent(5);
        assert_eq!(10, in_flight(&board));
    }

    #[test]
    fn the_order_is_that_of_transmissions() {
        let mut board = board();
        board.lose(5);
        board.sent_again(5, 20, 0, true);
        board.sack(6);
        let mut asked = Vec::new();
        board.walk(|seq, _| {
            asked.push(seq);
            Found::InTime
        });
        assert_eq!(vec![7, 8, 9, 10, 11, 12, 13, 14, 5], asked);
        board.walk(|seq, _| if seq < 9 { Found::Lost } else { Found::Stop });
        assert_eq!((3, Some(7)), (board.lost, board.next_lost()));
    }

    #[test]
    fn what_goes_again_stands_between_what_went_before_it_and_what_went_after_it_at_the_same_instant() {
        let mut board = board();
        board.lose(5);
        board.sent_again(5, 14, 0, true);
        board.sent(14, 0);
        let asked = |board: &mut Board| {
            let mut asked = Vec::new();
            board.walk(|seq, _| {
                asked.push(seq);
                if seq == 13 { Found::Lost } else { Found::InTime }
            });
            asked
        };
        assert_eq!(vec![6, 7, 8, 9, 10, 11, 12, 13, 14, 5, 15], asked(&mut board));
        assert_eq!(vec![6, 7, 8, 9, 10, 11, 12, 14, 5, 15], asked(&mut board), "what is lost has left the order");
    }

    #[test]
    fn of_a_block_only_that_is_looked_at_which_the_blocks_before_did_not_cover() {
        let mut board = board();
        board.know(&[(7, 9, false), (11, 12, false)]);
        [7, 8, 11].into_iter().for_each(|seq| board.sack(seq));
        let known = board.know(&[(6, 7, true), (7, 14, false)]);
        let next = |seq| board.next_unsacked(seq, 14, &known);
        assert_eq!([Some(9), Some(9), Some(10), Some(12), Some(13), None], [7, 8, 10, 11, 13, 14].map(next));
        assert_eq!((7, 14), board.known[0], "a report is no block");
        board.forget_sacks();
        assert_eq!(Known::default(), board.known);
    }
}
