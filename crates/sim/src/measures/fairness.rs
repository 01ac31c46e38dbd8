//! Jain's index (Jain, Chiu and Hawe 1984): `(sum x)^2 / (n sum x^2)`, 1 for equal shares, 1/n for one taking all.

/// Jain's index of the shares; not a number if nobody has any.
pub fn jain(shares: impl Iterator<Item = f64>) -> f64 {
    let (mut n, mut sum, mut squares) = (0u64, 0.0, 0.0);
    for share in shares {
        n += 1;
        sum += share;
        squares += share * share;
    }
    sum * sum / (n as f64 * squares)
}

/// The means over one-second bins of Jain's index over throughput, goodput and first-time goodput.
///
/// A bin in which nothing was delivered has no index and is left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct FairnessBins {
    sums: [f64; 3],
    bins: [u32; 3],
}

impl FairnessBins {
    /// Takes the indices of a bin in.
    pub fn add(&mut self, indices: [f64; 3]) {
        for (at, index) in indices.into_iter().enumerate().filter(|(_, index)| !index.is_nan()) {
            self.sums[at] += index;
            self.bins[at] += 1;
        }
    }

    /// The means; not a number where there was no bin.
    pub fn means(&self) -> [f64; 3] {
        [0, 1, 2].map(|at| self.sums[at] / f64::from(self.bins[at]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_one_for_equal_shares_and_one_nth_for_a_monopoly() {
        assert_eq!(1.0, jain([3.0; 7].into_iter()));
        assert_eq!(0.25, jain([5.0, 0.0, 0.0, 0.0].into_iter()));
        assert!(jain([0.0; 3].into_iter()).is_nan());
    }
}
