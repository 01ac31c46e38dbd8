//! Which SACK blocks an acknowledgement carries (RFC 2018, section 4): first the one that the arriving segment is in, then those
//! reported most recently, as many as there is room for.

use crate::segment::Sacks;

/// The blocks reported last, the latest first.
#[derive(Debug)]
pub struct RecentBlocks {
    recent: Vec<(u64, u64)>,
    most: usize,
}

impl RecentBlocks {
    pub fn new(most: u8) -> RecentBlocks {
        RecentBlocks { recent: Vec::new(), most: usize::from(most).min(Sacks::MOST) }
    }

    /// The blocks to report when `seq` has arrived, perhaps for the second time, all before `next` and the runs `beyond` it having
    /// arrived. What came twice is reported first (RFC 2883, section 4).
    pub fn report(&mut self, seq: u64, twice: bool, next: u64, beyond: &[(u64, u64)]) -> Sacks {
        self.recent.retain(|block| block.0 >= next);
        if let Some(&block) = beyond.iter().find(|&&(from, to)| from <= seq && seq < to) {
            self.recent.retain(|&(from, to)| to <= block.0 || block.1 <= from);
            self.recent.insert(0, block);
            self.recent.truncate(self.most);
        }
        let mut sacks = Sacks::default();
        let again = twice.then_some((seq, seq + 1));
        again.iter().chain(&self.recent).take(self.most).for_each(|&(from, to)| sacks.push(from, to));
        sacks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_of_the_arriving_segment_comes_first_and_the_oldest_makes_room() {
        let mut blocks = RecentBlocks::new(3);
        blocks.report(2, false, 1, &[(2, 3)]);
        blocks.report(4, false, 1, &[(2, 3), (4, 5)]);
        blocks.report(6, false, 1, &[(2, 3), (4, 5), (6, 7)]);
        let sacks = blocks.report(8, false, 1, &[(2, 3), (4, 5), (6, 7), (8, 9)]);
        assert_eq!([(8, 9), (6, 7), (4, 5)], sacks.as_slice());
    }

    #[test]
    fn a_block_that_grew_stands_for_what_it_took_in() {
        let mut blocks = RecentBlocks::new(3);
        blocks.report(2, false, 1, &[(2, 3)]);
        blocks.report(4, false, 1, &[(2, 3), (4, 5)]);
        assert_eq!([(2, 5)], blocks.report(3, false, 1, &[(2, 5)]).as_slice());
    }

    #[test]
    fn an_arrival_in_order_reports_what_is_still_beyond() {
        let mut blocks = RecentBlocks::new(3);
        blocks.report(2, false, 1, &[(2, 3)]);
        blocks.report(4, false, 1, &[(2, 3), (4, 5)]);
        assert_eq!([(4, 5)], blocks.report(1, false, 3, &[(4, 5)]).as_slice());
    }

    #[test]
    fn what_came_twice_is_reported_first() {
        let mut blocks = RecentBlocks::new(3);
        assert_eq!([(0, 1)], blocks.report(0, true, 1, &[]).as_slice());
        blocks.report(2, false, 1, &[(2, 4)]);
        assert_eq!([(3, 4), (2, 4)], blocks.report(3, true, 1, &[(2, 4)]).as_slice());
    }
}
