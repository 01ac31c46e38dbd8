//! Index of the longest of many queues (the fattest flow), updated when it is read.
//!
//! A tournament tree: queues are compared in pairs, then the winners in pairs, up to the root. A queue that changed is only noted; when the
//! longest is read, the matches of noted queues are repeated. So a change costs one step, and one more for each round when an
//! overflow follows: log2 of the number of queues, and never a look at all of them.

pub struct FattestFlowFinder {
    /// Entry n is the winner of the matches 2n and 2n + 1; queue i has the index `queues + i`.
    winners: Vec<u32>,
    changed: Vec<u32>,
    /// Whether a queue stands among the changed ones.
    is_marked: Vec<bool>,
}

impl FattestFlowFinder {
    pub fn new(queues: usize) -> FattestFlowFinder {
        let leaves = 0..queues as u32;
        let winners = std::iter::repeat_n(0, queues).chain(leaves.clone()).collect();
        FattestFlowFinder { winners, changed: leaves.collect(), is_marked: vec![true; queues] }
    }

    /// A queue has another length now.
    #[inline]
    pub fn mark_changed(&mut self, queue: usize) {
        if !std::mem::replace(&mut self.is_marked[queue], true) {
            self.changed.push(queue as u32);
        }
    }

    /// The longest queue; of equally long ones the first.
    pub fn find(&mut self, length: impl Fn(usize) -> u64) -> usize {
        let better = |a: u32, b: u32| {
            let of = |queue: u32| (length(queue as usize), std::cmp::Reverse(queue));
            if of(a) > of(b) { a } else { b }
        };
        let queues = self.is_marked.len();
        for queue in self.changed.drain(..) {
            self.is_marked[queue as usize] = false;
            let mut match_number = (queues + queue as usize) / 2;
            while match_number > 0 {
                self.winners[match_number] = better(self.winners[2 * match_number], self.winners[2 * match_number + 1]);
                match_number /= 2;
            }
        }
        self.winners[1] as usize
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Rng;

    use super::*;

    #[test]
    fn it_finds_what_a_search_through_all_queues_finds() {
        let mut rng = Rng::for_role(1, "longest");
        for queues in [1, 2, 3, 7, 64, 100] {
            let mut fattest = FattestFlowFinder::new(queues);
            let mut lengths = vec![0u64; queues];
            for _ in 0..1_000 {
                for _ in 0..rng.below(4) {
                    let queue = rng.below(queues as u64) as usize;
                    lengths[queue] = rng.below(10);
                    fattest.mark_changed(queue);
                }
                let top = *lengths.iter().max().unwrap();
                let first = lengths.iter().position(|&length| length == top).unwrap();
                assert_eq!(first, fattest.find(|queue| lengths[queue]), "{lengths:?}");
            }
        }
    }
}
