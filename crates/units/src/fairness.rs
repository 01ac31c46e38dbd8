//! Jain's index (Jain, Chiu and Hawe 1984): `(sum x)^2 / (n sum x^2)`, 1 for equal shares, 1/n for one taking all.

/// Jain's index of shares that are added one by one.
#[derive(Clone, Copy, Debug, Default)]
pub struct JainIndex {
    shares: u64,
    sum: f64,
    sum_of_squares: f64,
}

impl JainIndex {
    pub fn add_share(&mut self, share: f64) {
        self.shares += 1;
        self.sum += share;
        self.sum_of_squares += share * share;
    }

    /// Adds `count` shares of zero.
    pub fn add_zero_shares(&mut self, count: u64) {
        self.shares += count;
    }

    /// The index; NaN if no flow has a share.
    pub fn value(&self) -> f64 {
        self.sum * self.sum / (self.shares as f64 * self.sum_of_squares)
    }
}

/// The means over one-second bins of Jain's index over throughput, goodput and first-time goodput.
///
/// A bin in which nothing was delivered has no index and is left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct BinnedFairness {
    sums: [f64; 3],
    bin_counts: [u32; 3],
}

impl BinnedFairness {
    /// Adds the indices of one bin.
    pub fn add_bin_indices(&mut self, indices: [f64; 3]) {
        for (at, index) in indices.into_iter().enumerate().filter(|(_, index)| !index.is_nan()) {
            self.sums[at] += index;
            self.bin_counts[at] += 1;
        }
    }

    /// The means; not a number where there was no bin.
    pub fn means(&self) -> [f64; 3] {
        [0, 1, 2].map(|at| self.sums[at] / f64::from(self.bin_counts[at]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jain(shares: impl IntoIterator<Item = f64>) -> f64 {
        let mut jain = JainIndex::default();
        shares.into_iter().for_each(|share| jain.add_share(share));
        jain.value()
    }

    #[test]
    fn the_index_is_one_for_equal_shares_and_one_nth_for_a_monopoly() {
        assert_eq!(1.0, jain([3.0; 7]));
        assert_eq!(0.25, jain([5.0, 0.0, 0.0, 0.0]));
        assert!(jain([0.0; 3]).is_nan());
        let mut alone = JainIndex::default();
        alone.add_share(5.0);
        alone.add_zero_shares(3);
        assert_eq!(0.25, alone.value());
    }
}
