//! Selection of the SACK blocks of an ACK (RFC 2018, section 4): first the block with the arriving segment, then those reported most
//! recently, up to the maximum.

use ecnlab_units::RangeSet;

use crate::segment::SackOption;

/// The last reported blocks, the latest first.
#[derive(Debug)]
pub struct RecentSackBlocks {
    blocks: Vec<(u64, u64)>,
    max_blocks: usize,
}

impl RecentSackBlocks {
    pub fn new(most: u8) -> RecentSackBlocks {
        RecentSackBlocks { blocks: Vec::new(), max_blocks: usize::from(most).min(SackOption::MAX_BLOCKS) }
    }

    /// Blocks of an ACK when `seq` has arrived, with all before `next` and those in `out_of_order` received. A duplicate (`twice`) is
    /// reported first (RFC 2883, section 4).
    pub fn blocks_for_ack(&mut self, seq: u64, twice: bool, next: u64, out_of_order: &RangeSet) -> SackOption {
        self.blocks.retain(|block| block.0 >= next);
        if let Some(block) = out_of_order.range_of(seq) {
            self.blocks.retain(|&(from, to)| to <= block.0 || block.1 <= from);
            self.blocks.insert(0, block);
            self.blocks.truncate(self.max_blocks);
        }
        let mut sacks = SackOption::default();
        let again = twice.then_some((seq, seq + 1));
        again.iter().chain(&self.blocks).take(self.max_blocks).for_each(|&(from, to)| sacks.push(from, to));
        sacks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ranges: &[(u64, u64)]) -> RangeSet {
        let mut set = RangeSet::default();
        ranges.iter().for_each(|&(from, to)| assert!(set.insert(from, to)));
        set
    }

    #[test]
    fn the_block_of_the_arriving_segment_comes_first_and_the_oldest_makes_room() {
        let mut blocks = RecentSackBlocks::new(3);
        blocks.blocks_for_ack(2, false, 1, &set(&[(2, 3)]));
        blocks.blocks_for_ack(4, false, 1, &set(&[(2, 3), (4, 5)]));
        blocks.blocks_for_ack(6, false, 1, &set(&[(2, 3), (4, 5), (6, 7)]));
        let sacks = blocks.blocks_for_ack(8, false, 1, &set(&[(2, 3), (4, 5), (6, 7), (8, 9)]));
        assert_eq!([(8, 9), (6, 7), (4, 5)], sacks.as_slice());
    }

    #[test]
    fn a_block_that_grew_stands_for_what_it_took_in() {
        let mut blocks = RecentSackBlocks::new(3);
        blocks.blocks_for_ack(2, false, 1, &set(&[(2, 3)]));
        blocks.blocks_for_ack(4, false, 1, &set(&[(2, 3), (4, 5)]));
        assert_eq!([(2, 5)], blocks.blocks_for_ack(3, false, 1, &set(&[(2, 5)])).as_slice());
    }

    #[test]
    fn an_arrival_in_order_reports_what_is_still_beyond() {
        let mut blocks = RecentSackBlocks::new(3);
        blocks.blocks_for_ack(2, false, 1, &set(&[(2, 3)]));
        blocks.blocks_for_ack(4, false, 1, &set(&[(2, 3), (4, 5)]));
        assert_eq!([(4, 5)], blocks.blocks_for_ack(1, false, 3, &set(&[(4, 5)])).as_slice());
    }

    #[test]
    fn what_came_twice_is_reported_first() {
        let mut blocks = RecentSackBlocks::new(3);
        assert_eq!([(0, 1)], blocks.blocks_for_ack(0, true, 1, &set(&[])).as_slice());
        blocks.blocks_for_ack(2, false, 1, &set(&[(2, 4)]));
        assert_eq!([(3, 4), (2, 4)], blocks.blocks_for_ack(3, true, 1, &set(&[(2, 4)])).as_slice());
    }
}
