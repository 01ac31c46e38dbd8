//! Percentiles in little memory: a log-linear histogram of times that grows with the range it has seen.
//!
//! Each octave of nanoseconds has `2^BITS` equal bins, so a percentile is off by at most half a bin: 1.6 % with 5 bits, 0.2 % with 8.
//!
//! The crate `hdrhistogram` has such bins too, and costs more: 67 instructions a value instead of 31, and 10.3 KB instead of 0.4 KB for
//! values from 1 to 51 ms (2 digits and 5 bits; with 3 digits and 8 bits 70 KB and 3.1 KB), since it keeps every bin from 1 ns on. Each
//! flow has such a histogram. (hdrhistogram 7.6, callgrind over 200 000 values, x86-64, November 2026.)

use crate::Span;

/// A span inside a run in microseconds. Runs last at most 100 days, which a signed number holds, and that converts in one instruction.
#[inline]
pub fn span_to_micros_f64(span: Span) -> f64 {
    span.picos() as i64 as f64 * 1e-6
}

/// A histogram of spans with `2^BITS` bins per octave.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Histogram<const BITS: u32> {
    /// The bins whose count has passed 2^16, with the rest of their counts, in order.
    overflowed_bins: Option<Box<OverflowedBins>>,
    /// Index of the first bin kept.
    first_bin: u32,
    count: u64,
    /// Sum of all values, exact, so that the mean does not depend on their order: the lower and the upper half.
    sum_picos: [u64; 2],
    /// Counts modulo 2^16, of whole octaves.
    bins: Box<[u16]>,
}

/// Bins, and the parts of their counts that are multiples of 2^16.
#[derive(Clone, Debug, Default)]
struct OverflowedBins(Vec<(u32, u64)>);

impl OverflowedBins {
    fn count_of(&self, bin: u32) -> u64 {
        self.0.binary_search_by_key(&bin, |&(bin, _)| bin).map_or(0, |at| self.0[at].1)
    }

    fn add(&mut self, bin: u32, more: u64) {
        match self.0.binary_search_by_key(&bin, |&(bin, _)| bin) {
            Ok(at) => self.0[at].1 += more,
            Err(at) => self.0.insert(at, (bin, more)),
        }
    }
}

impl<const BITS: u32> Histogram<BITS> {
    #[inline(always)]
    pub fn record(&mut self, span: Span) {
        self.record_in_bin(span, Self::bin_index(span.picos() / 1_000));
    }

    /// Records a span here and in a histogram with wider bins, whose bin follows from that of this one.
    #[inline(always)]
    pub fn record_with_coarser<const FEWER_BITS: u32>(&mut self, coarser: &mut Histogram<FEWER_BITS>, span: Span) {
        let bin = Self::bin_index(span.picos() / 1_000);
        self.record_in_bin(span, bin);
        coarser.record_in_bin(span, Self::coarser_bin_index::<FEWER_BITS>(bin));
    }

    #[inline(always)]
    fn record_in_bin(&mut self, span: Span, bin: u32) {
        self.count += 1;
        self.add_to_sum([span.picos(), 0]);
        match self.bins.get_mut(bin.wrapping_sub(self.first_bin) as usize) {
            Some(count) if *count < u16::MAX => *count += 1,
            _ => self.add_to_bin(bin, 1),
        }
    }

    #[inline(always)]
    fn add_to_sum(&mut self, more: [u64; 2]) {
        let (low, carry) = self.sum_picos[0].overflowing_add(more[0]);
        self.sum_picos = [low, self.sum_picos[1] + more[1] + u64::from(carry)];
    }

    /// Mean in seconds; not a number if nothing was recorded.
    pub fn mean_s(&self) -> f64 {
        let [low, high] = self.sum_picos;
        (u128::from(high) << 64 | u128::from(low)) as f64 * 1e-12 / self.count as f64
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// The values in seconds that these fractions of all values do not exceed; not a number if nothing was recorded.
    ///
    /// # Panics
    /// If the fractions do not ascend: one pass over the bins finds them all.
    pub fn quantiles_s<const N: usize>(&self, fractions: [f64; N]) -> [f64; N] {
        assert!(fractions.is_sorted(), "{fractions:?} do not ascend");
        let ranks = fractions.map(|fraction| ((fraction * self.count as f64).ceil() as u64).max(1));
        let mut values = [f64::NAN; N];
        let (mut found, mut seen) = (0, 0);
        for (bin, count) in self.non_zero_bins() {
            seen += count;
            while found < N && seen >= ranks[found] {
                values[found] = Self::bin_midpoint(bin) * 1e-9;
                found += 1;
            }
            if found == N {
                break;
            }
        }
        values
    }

    /// Bins with a count above 0: lower bound, lower bound of the next bin, both in seconds, and the count.
    pub fn non_empty_bins(&self) -> impl Iterator<Item = (f64, f64, u64)> {
        self.non_zero_bins()
            .map(|(bin, count)| (Self::bin_lower_bound(bin) as f64 * 1e-9, Self::bin_lower_bound(bin + 1) as f64 * 1e-9, count))
    }

    /// Adds what another histogram has recorded.
    pub fn merge(&mut self, other: &Histogram<BITS>) {
        for (bin, count) in other.non_zero_bins() {
            self.add_to_bin(bin, count);
        }
        self.count += other.count;
        self.add_to_sum(other.sum_picos);
    }

    /// The bins that have counted something in order, with the exact count of each. Most are empty, so they are passed over several at a time.
    fn non_zero_bins(&self) -> impl Iterator<Item = (u32, u64)> {
        const EMPTY_BINS_PER_SKIP: usize = 32;
        let overflowed_bins = self.overflowed_bins.as_deref();
        let counted = move |(bin, &count)| (bin, u64::from(count) + overflowed_bins.map_or(0, |bins| bins.count_of(bin)));
        let is_empty = move |bins: &[u16]| overflowed_bins.is_none() && bins.iter().fold(0, |any, count| any | count) == 0;
        let several = (self.first_bin..).step_by(EMPTY_BINS_PER_SKIP).zip(self.bins.chunks(EMPTY_BINS_PER_SKIP));
        let several = several.filter(move |(_, bins)| !is_empty(bins));
        several.flat_map(move |(first, bins)| (first..).zip(bins).map(counted)).filter(|&(_, count)| count > 0)
    }

    /// Adds `more` to a bin that may be outside the range seen so far or at the limit of its counter.
    #[cold]
    fn add_to_bin(&mut self, bin: u32, more: u64) {
        self.extend_range_to(bin);
        let count = &mut self.bins[(bin - self.first_bin) as usize];
        let sum = u64::from(*count) + more;
        *count = sum as u16;
        let rest = sum - u64::from(*count);
        if rest > 0 {
            self.overflowed_bins.get_or_insert_default().add(bin, rest);
        }
    }

    /// Extends the range to the whole octave of a bin.
    fn extend_range_to(&mut self, bin: u32) {
        let octave = 1 << BITS;
        let begin = bin / octave * octave;
        if self.bins.is_empty() {
            self.first_bin = begin;
        }
        let first = self.first_bin.min(begin);
        let added_before = (self.first_bin - first) as usize;
        let length = ((begin + octave - first) as usize).max(added_before + self.bins.len());
        if length > self.bins.len() {
            let mut bins = vec![0; length].into_boxed_slice();
            bins[added_before..][..self.bins.len()].copy_from_slice(&self.bins);
            (self.bins, self.first_bin) = (bins, first);
        }
    }

    /// Index of the bin of a number of nanoseconds: the octave, then the leading bits below the first.
    fn bin_index(nanos: u64) -> u32 {
        let octave = 63 - (nanos | (1 << BITS)).leading_zeros();
        let shift = octave - BITS;
        (shift << BITS) + (nanos >> shift) as u32
    }

    /// Index of the bin of a histogram with fewer bits that has a bin of this one. The first bins of this one have a nanosecond each.
    #[inline(always)]
    fn coarser_bin_index<const FEWER_BITS: u32>(bin: u32) -> u32 {
        let fewer = const { BITS - FEWER_BITS };
        if bin < 1 << BITS { Histogram::<FEWER_BITS>::bin_index(u64::from(bin)) } else { (bin >> fewer) + (fewer << FEWER_BITS) }
    }

    /// Least number of nanoseconds in a bin.
    fn bin_lower_bound(bin: u32) -> u64 {
        let octaves = (bin >> BITS).saturating_sub(1);
        u64::from(bin - (octaves << BITS)) << octaves
    }

    fn bin_midpoint(bin: u32) -> f64 {
        let octaves = (bin >> BITS).saturating_sub(1);
        Self::bin_lower_bound(bin) as f64 + ((1u64 << octaves) as f64 - 1.0) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_a_uniform_spread_are_right_to_the_bin() {
        let mut histogram = Histogram::<5>::default();
        for span_to_micros in (1..=10_000u64).rev() {
            histogram.record(Span::from_micros(span_to_micros));
        }
        let fractions = [0.5, 0.95, 0.99];
        for (q, value) in fractions.into_iter().zip(histogram.quantiles_s(fractions)) {
            let error = value / (q * 0.01) - 1.0;
            assert!(error.abs() < 0.017, "{q}: {error}");
        }
        assert!((histogram.mean_s() - 0.005_000_5).abs() < 1e-12);
    }

    #[test]
    fn every_number_falls_into_a_bin_whose_midpoint_is_near() {
        for nanos in [0, 1, 31, 32, 33, 63, 64, 1_000, 123_456_789, u64::MAX / 4] {
            let bin_midpoint = Histogram::<8>::bin_midpoint(Histogram::<8>::bin_index(nanos));
            assert!((bin_midpoint - nanos as f64).abs() <= nanos as f64 / 500.0, "{nanos}: {bin_midpoint}");
        }
    }

    #[test]
    fn a_coarser_histogram_counts_as_it_would_alone() {
        let (mut fine, mut coarse) = (Histogram::<8>::default(), Histogram::<5>::default());
        let (mut fine_alone, mut coarse_alone) = (fine.clone(), coarse.clone());
        let nanos = (0..3000).chain((11..53).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 12345 % (1 << bit)]));
        for span in nanos.map(|nanos| Span::from_picos(nanos * 1_000 + 999)) {
            fine.record_with_coarser(&mut coarse, span);
            fine_alone.record(span);
            coarse_alone.record(span);
        }
        assert_eq!(fine_alone.non_zero_bins().collect::<Vec<_>>(), fine.non_zero_bins().collect::<Vec<_>>());
        assert_eq!(coarse_alone.non_zero_bins().collect::<Vec<_>>(), coarse.non_zero_bins().collect::<Vec<_>>());
        assert_eq!((coarse_alone.count(), coarse_alone.mean_s()), (coarse.count(), coarse.mean_s()));
    }

    #[test]
    fn counts_stay_exact_beyond_what_a_bin_holds() {
        let mut histogram = Histogram::<5>::default();
        histogram.record(Span::from_millis(1));
        histogram.record(Span::from_millis(100));
        for _ in 0..34 {
            histogram.merge(&histogram.clone());
        }
        histogram.record(Span::from_millis(1));
        let bin_counts: Vec<u64> = histogram.non_zero_bins().map(|(_, count)| count).collect();
        assert_eq!((vec![(1 << 34) + 1, 1 << 34], (1 << 35) + 1), (bin_counts, histogram.count()));
        let [median_s, above_s] = histogram.quantiles_s([0.5, 0.51]);
        assert!((median_s / 0.001 - 1.0).abs() < 0.017);
        assert!((above_s / 0.1 - 1.0).abs() < 0.017);
    }

    #[test]
    fn a_bin_that_is_full_goes_on_counting() {
        let mut histogram = Histogram::<5>::default();
        let bin = Histogram::<5>::bin_index(1_000_000);
        let other = Histogram::<5>::bin_index(50_000_000);
        histogram.add_to_bin(other, 7 << 16);
        histogram.add_to_bin(bin, u64::from(u32::MAX));
        histogram.record(Span::from_millis(1));
        histogram.record(Span::from_millis(1));
        assert_eq!(vec![(bin, (1 << 32) + 1), (other, 7 << 16)], histogram.non_zero_bins().collect::<Vec<_>>());
    }

    #[test]
    fn a_quantile_is_the_first_value_that_enough_do_not_exceed() {
        let mut histogram = Histogram::<8>::default();
        for nanos in [512, 256, 300, 256] {
            histogram.record(Span::from_picos(nanos * 1_000));
        }
        let values = histogram.quantiles_s([0.0, 0.5, 0.51, 0.75, 0.76, 1.0]).map(|value| (value * 1e9) as u64);
        assert_eq!([256, 256, 300, 300, 512, 512], values);
    }

    #[test]
    fn bins_hold_what_was_recorded_between_their_bounds() {
        let mut histogram = Histogram::<8>::default();
        for nanos in [100, 255, 256, 511, 512, 513, 70_000, 70_001, 123_456_789] {
            histogram.record(Span::from_picos(nanos * 1_000));
            let (low_s, high_s, _) = histogram.non_empty_bins().find(|(_, high_s, _)| *high_s * 1e9 > nanos as f64 + 1e-3).unwrap();
            assert!((low_s * 1e9).round() as u64 <= nanos && nanos < (high_s * 1e9).round() as u64, "{nanos} in {low_s}..{high_s}");
        }
        assert_eq!(9, histogram.non_empty_bins().map(|(.., count)| count).sum::<u64>());
    }

    #[test]
    fn an_empty_histogram_has_no_percentile() {
        assert!(Histogram::<5>::default().quantiles_s([0.0, 0.5, 1.0]).into_iter().all(f64::is_nan));
    }
}
