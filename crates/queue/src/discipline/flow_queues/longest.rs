//! Which of many queues is the longest, found when it is asked for.
//!
//! A tournament: the queues play in pairs, the winners in pairs again, up to one. A queue that changed is only noted; when the longest is
//! asked for, the rounds that noted queues play in are played anew. So a change costs one step, and one more for each round when an
//! overflow follows: log2 of the number of queues, and never a look at all of them.

pub(super) struct Longest {
    /// The winner of match n of the matches 2n and 2n + 1; queue i stands at place `queues + i`.
    winners: Vec<u32>,
    changed: Vec<u32>,
    /// Whether a queue stands among the changed ones.
    noted: Vec<bool>,
}

impl Longest {
    pub(super) fn of(queues: usize) -> Longest {
        let leaves = 0..queues as u32;
        let winners = std::iter::repeat_n(0, queues).chain(leaves.clone()).collect();
        Longest { winners, changed: leaves.collect(), noted: vec![true; queues] }
    }

    /// A queue has another length now.
    #[inline]
    pub(super) fn note(&mut self, queue: usize) {
        if !std::mem::replace(&mut self.noted[queue], true) {
            self.changed.push(queue as u32);
        }
    }

    /// The longest queue; of equally long ones the first.
    pub(super) fn find(&mut self, length: impl Fn(usize) -> u64) -> usize {
        let better = |a: u32, b: u32| {
            let of = |queue: u32| (length(queue as usize), std::cmp::Reverse(queue));
            if of(a) > of(b) { a } else { b }
        };
        let queues = self.noted.len();
        for queue in self.changed.drain(..) {
            self.noted[queue as usize] = false;
            let mut game = (queues + queue as usize) / 2;
            while game > 0 {
                self.winners[game] = better(self.winners[2 * game], self.winners[2 * game + 1]);
                game /= 2;
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
            let mut longest = Longest::of(queues);
            let mut lengths = vec![0u64; queues];
            for _ in 0..1_000 {
                for _ in 0..rng.below(4) {
                    let queue = rng.below(queues as u64) as usize;
                    lengths[queue] = rng.below(10);
                    longest.note(queue);
                }
                let top = *lengths.iter().max().unwrap();
                let first = lengths.iter().position(|&length| length == top).unwrap();
                assert_eq!(first, longest.find(|queue| lengths[queue]), "{lengths:?}");
            }
        }
    }
}
