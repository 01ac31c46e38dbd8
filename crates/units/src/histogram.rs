//! Percentiles in little memory: a log-linear histogram of times that grows with the range it has seen.
//!
//! Each octave of nanoseconds is cut into `2^BITS` equal cells, so a percentile is off by at most half a cell: 1.6 % with 5 bits,
//! 0.2 % with 8.

use crate::Span;

/// A span inside a run in microseconds. Runs last at most 100 days, which a signed number holds, and that converts in one instruction.
#[inline]
pub fn micros(span: Span) -> f64 {
    span.picos() as i64 as f64 * 1e-6
}

/// A histogram of spans with `2^BITS` cells an octave.
#[derive(Clone, Debug, Default)]
pub struct Histogram<const BITS: u32> {
    /// Counts modulo 2^32, of whole octaves.
    cells: Vec<u32>,
    /// Number of the first cell kept.
    offset: u32,
    count: u64,
    sum_us: f64,
    /// The cells whose count has passed 2^32, each named as often as it did.
    wrapped: Vec<u32>,
}

impl<const BITS: u32> Histogram<BITS> {
    #[inline(always)]
    pub fn record(&mut self, span: Span) {
        self.count += 1;
        self.sum_us += micros(span);
        let cell = Self::cell(span.picos() / 1_000);
        match self.cells.get_mut(cell.wrapping_sub(self.offset) as usize) {
            Some(count) if *count < u32::MAX => *count += 1,
            _ => self.add(cell, 1),
        }
    }

    /// Mean in seconds; not a number if nothing was recorded.
    pub fn mean_s(&self) -> f64 {
        self.sum_us * 1e-6 / self.count as f64
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// The value in seconds that the fraction `q` of all values do not exceed; not a number if nothing was recorded.
    pub fn quantile_s(&self, q: f64) -> f64 {
        let rank = ((q * self.count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let found = self.counts().find(|&(_, count)| {
            seen += count;
            seen >= rank
        });
        found.map_or(f64::NAN, |(cell, _)| Self::middle(cell) * 1e-9)
    }

    /// The cells that counted any: least value and that of the next cell, in seconds, and how many.
    pub fn cells(&self) -> impl Iterator<Item = (f64, f64, u64)> {
        let counted = self.counts().filter(|&(_, count)| count > 0);
        counted.map(|(cell, count)| (Self::lowest(cell) as f64 * 1e-9, Self::lowest(cell + 1) as f64 * 1e-9, count))
    }

    /// Adds what another histogram has recorded.
    pub fn merge(&mut self, other: &Histogram<BITS>) {
        for (cell, count) in other.counts().filter(|&(_, count)| count > 0) {
            self.add(cell, count);
        }
        self.count += other.count;
        self.sum_us += other.sum_us;
    }

    /// The cells in order, with the exact count of each.
    fn counts(&self) -> impl Iterator<Item = (u32, u64)> {
        let wraps = |cell| self.wrapped.iter().filter(|&&wrapped| wrapped == cell).count() as u64;
        (self.offset..).zip(&self.cells).map(move |(cell, &count)| (cell, u64::from(count) + (wraps(cell) << 32)))
    }

    /// Counts `more` in a cell that may be outside the range seen so far or at the end of what it can hold.
    #[cold]
    fn add(&mut self, cell: u32, more: u64) {
        self.make_room(cell);
        let count = &mut self.cells[(cell - self.offset) as usize];
        let sum = u64::from(*count) + more;
        *count = sum as u32;
        self.wrapped.extend(std::iter::repeat_n(cell, (sum >> 32) as usize));
    }

    /// Widens the range to the whole octave of a cell.
    fn make_room(&mut self, cell: u32) {
        let octave = 1 << BITS;
        let begin = cell / octave * octave;
        if self.cells.is_empty() {
            self.offset = begin;
        }
        if begin < self.offset {
            self.cells.splice(0..0, std::iter::repeat_n(0, (self.offset - begin) as usize));
            self.offset = begin;
        }
        let length = self.cells.len().max((begin + octave - self.offset) as usize);
        self.cells.reserve_exact(length - self.cells.len());
        self.cells.resize(length, 0);
    }

    /// The cell of a number of nanoseconds: the octave, then the leading bits below the first.
    fn cell(nanos: u64) -> u32 {
        let octave = 63 - (nanos | (1 << BITS)).leading_zeros();
        let shift = octave - BITS;
        (shift << BITS) + (nanos >> shift) as u32
    }

    /// The least number of nanoseconds in a cell.
    fn lowest(cell: u32) -> u64 {
        let octaves = (cell >> BITS).saturating_sub(1);
        u64::from(cell - (octaves << BITS)) << octaves
    }

    fn middle(cell: u32) -> f64 {
        let octaves = (cell >> BITS).saturating_sub(1);
        Self::lowest(cell) as f64 + ((1u64 << octaves) as f64 - 1.0) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_a_uniform_spread_are_right_to_the_cell() {
        let mut histogram = Histogram::<5>::default();
        for micros in (1..=10_000u64).rev() {
            histogram.record(Span::from_micros(micros));
        }
        for q in [0.5, 0.95, 0.99] {
            let error = histogram.quantile_s(q) / (q * 0.01) - 1.0;
            assert!(error.abs() < 0.017, "{q}: {error}");
        }
        assert!((histogram.mean_s() - 0.005_000_5).abs() < 1e-12);
    }

    #[test]
    fn every_number_falls_into_a_cell_whose_middle_is_near() {
        for nanos in [0, 1, 31, 32, 33, 63, 64, 1_000, 123_456_789, u64::MAX / 4] {
            let middle = Histogram::<8>::middle(Histogram::<8>::cell(nanos));
            assert!((middle - nanos as f64).abs() <= nanos as f64 / 500.0, "{nanos}: {middle}");
        }
    }

    #[test]
    fn counts_stay_exact_beyond_what_a_cell_holds() {
        let mut histogram = Histogram::<5>::default();
        histogram.record(Span::from_millis(1));
        histogram.record(Span::from_millis(100));
        for _ in 0..34 {
            histogram.merge(&histogram.clone());
        }
        histogram.record(Span::from_millis(1));
        let counts: Vec<u64> = histogram.counts().map(|(_, count)| count).filter(|&count| count > 0).collect();
        assert_eq!((vec![(1 << 34) + 1, 1 << 34], (1 << 35) + 1), (counts, histogram.count()));
        assert!((histogram.quantile_s(0.5) / 0.001 - 1.0).abs() < 0.017);
        assert!((histogram.quantile_s(0.51) / 0.1 - 1.0).abs() < 0.017);
    }

    #[test]
    fn a_cell_that_is_full_goes_on_counting() {
        let mut histogram = Histogram::<5>::default();
        let cell = Histogram::<5>::cell(1_000_000);
        histogram.add(cell, u64::from(u32::MAX));
        histogram.record(Span::from_millis(1));
        assert_eq!(1 << 32, histogram.counts().map(|(_, count)| count).sum::<u64>());
    }

    #[test]
    fn cells_hold_what_was_recorded_between_their_bounds() {
        let mut histogram = Histogram::<8>::default();
        for nanos in [100, 255, 256, 511, 512, 513, 70_000, 70_001, 123_456_789] {
            histogram.record(Span::from_picos(nanos * 1_000));
            let (low_s, high_s, _) = histogram.cells().find(|(_, high_s, _)| *high_s * 1e9 > nanos as f64 + 1e-3).unwrap();
            assert!((low_s * 1e9).round() as u64 <= nanos && nanos < (high_s * 1e9).round() as u64, "{nanos} in {low_s}..{high_s}");
        }
        assert_eq!(9, histogram.cells().map(|(.., count)| count).sum::<u64>());
    }

    #[test]
    fn an_empty_histogram_has_no_percentile() {
        assert!(Histogram::<5>::default().quantile_s(0.5).is_nan());
    }
}
