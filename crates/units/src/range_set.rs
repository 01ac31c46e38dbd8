//! A set of whole numbers, kept as ranges: which segments have arrived, or are known to have.

/// Ranges `[from, to)`, ascending and apart: those that meet are one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeSet {
    ranges: Vec<(u64, u64)>,
}

impl RangeSet {
    /// The ranges, ascending.
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.ranges
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// How many numbers the set has.
    pub fn count(&self) -> u64 {
        self.ranges.iter().map(|(from, to)| to - from).sum()
    }

    pub fn contains(&self, number: u64) -> bool {
        self.range_of(number).is_some()
    }

    /// The range that a number is in.
    pub fn range_of(&self, number: u64) -> Option<(u64, u64)> {
        self.ranges.get(self.ranges.partition_point(|&(_, to)| to <= number)).copied().filter(|&(from, _)| from <= number)
    }

    /// The lowest number from `from` on that is not in the set and has numbers of the set above it.
    pub fn next_number_in_gap(&self, from: u64) -> Option<u64> {
        let at = self.ranges.partition_point(|&(_, to)| to < from);
        let &(start, end) = self.ranges.get(at)?;
        if start > from { Some(from) } else { self.ranges.get(at + 1).map(|_| end) }
    }

    /// Adds `[from, to)`, joined with the ranges that it meets; returns whether any of it is new.
    pub fn insert(&mut self, from: u64, to: u64) -> bool {
        let first = self.ranges.partition_point(|range| range.1 < from);
        let last = first + self.ranges[first..].partition_point(|range| range.0 <= to);
        let Some(met) = self.ranges.get(first..last).filter(|met| !met.is_empty()) else {
            self.ranges.insert(first, (from, to));
            return true;
        };
        let joined = (from.min(met[0].0), to.max(met[met.len() - 1].1));
        let is_new = met.len() > 1 || met[0] != joined;
        self.ranges.splice(first..last, [joined]);
        is_new
    }

    /// Removes all numbers below `bound`.
    pub fn remove_below(&mut self, bound: u64) {
        self.ranges.retain_mut(|range| {
            range.0 = range.0.max(bound);
            range.0 < range.1
        });
    }

    /// Removes the first range if it begins with `start`; returns where it ends.
    pub fn pop_first_if_starts_at(&mut self, start: u64) -> Option<u64> {
        let &(_, end) = self.ranges.first().filter(|&&(from, _)| from == start)?;
        self.ranges.remove(0);
        Some(end)
    }

    pub fn clear(&mut self) {
        self.ranges.clear();
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
    fn ranges_that_meet_are_one_and_a_part_of_one_is_nothing_new() {
        let mut set = set(&[(2, 4), (8, 9), (4, 6)]);
        assert_eq!(([(2, 6), (8, 9)].as_slice(), 5), (set.as_slice(), set.count()));
        assert!(!set.insert(2, 6) && !set.insert(3, 4));
        assert!(set.insert(5, 8));
        assert_eq!([(2, 9)], set.as_slice());
    }

    #[test]
    fn a_number_is_in_a_range_from_its_start_to_before_its_end() {
        let set = set(&[(2, 4), (6, 9)]);
        assert_eq!([None, Some((2, 4)), Some((2, 4)), None, Some((6, 9)), None], [1, 2, 3, 4, 8, 9].map(|number| set.range_of(number)));
    }

    #[test]
    fn a_gap_has_a_range_above_it() {
        let set = set(&[(2, 4), (6, 9)]);
        assert_eq!([Some(0), Some(4), Some(4), Some(5), None, None], [0, 2, 4, 5, 6, 9].map(|from| set.next_number_in_gap(from)));
    }

    #[test]
    fn ranges_are_cut_off_below_and_taken_from_the_front() {
        let mut set = set(&[(2, 4), (6, 9), (12, 13)]);
        set.remove_below(7);
        assert_eq!([(7, 9), (12, 13)], set.as_slice());
        assert_eq!([None, Some(9), Some(13), None], [6, 7, 12, 13].map(|start| set.pop_first_if_starts_at(start)));
    }

    /// Against a plain list of numbers.
    #[test]
    fn any_order_of_insertions_gives_the_same_set() {
        let mut rng = crate::Rng::for_role(1, "ranges");
        for _ in 0..200 {
            let (mut set, mut numbers) = (RangeSet::default(), [false; 40]);
            for _ in 0..30 {
                let from = rng.below(38);
                let to = from + 1 + rng.below(40 - from - 1);
                let fresh = (from..to).any(|number| !numbers[number as usize]);
                assert_eq!(fresh, set.insert(from, to));
                numbers[from as usize..to as usize].fill(true);
                assert!((0..40).all(|number| set.contains(number) == numbers[number as usize]));
                assert!(set.as_slice().windows(2).all(|pair| pair[0].1 < pair[1].0));
                let gap = |from: usize| (from..40).find(|&at| !numbers[at] && numbers[at..].contains(&true)).map(|at| at as u64);
                assert!((0..40).all(|from| set.next_number_in_gap(from as u64) == gap(from)));
            }
        }
    }
}
