//! Jain's index (Jain, Chiu and Hawe 1984): `(sum x)^2 / (n sum x^2)`, 1 for equal shares, 1/n for one taking all.

/// Jain's index of shares that are added one by one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Jain {
    n: u64,
    sum: f64,
    squares: f64,
}

impl Jain {
    pub fn add(&mut self, share: f64) {
        self.n += 1;
        self.sum += share;
        self.squares += share * share;
    }

    /// Adds so many that have no share.
    pub fn add_idle(&mut self, count: u64) {
        self.n += count;
    }

    /// The index; not a number if nobody has any share.
    pub fn index(&self) -> f64 {
        self.sum * self.sum / (self.n as f64 * self.squares)
    }
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

    fn jain(shares: impl IntoIterator<Item = f64>) -> f64 {
        let mut jain = Jain::default();
        shares.into_iter().for_each(|share| jain.add(share));
        jain.index()
    }

    #[test]
    fn the_index_is_one_for_equal_shares_and_one_nth_for_a_monopoly() {
        assert_eq!(1.0, jain([3.0; 7]));
        assert_eq!(0.25, jain([5.0, 0.0, 0.0, 0.0]));
        assert!(jain([0.0; 3]).is_nan());
        let mut alone = Jain::default();
        alone.add(5.0);
        alone.add_idle(3);
        assert_eq!(0.25, alone.index());
    }
}
