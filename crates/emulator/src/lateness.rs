//! Lateness of packets: nanoseconds from the scheduled time of a departure to its write.

use serde_json::{Value as Json, json};

/// Sub-buckets of each power of two: percentiles are exact within 1.6 %.
const SUB_BUCKET_BITS: u32 = 6;

/// Histogram of lateness, with buckets whose width grows with the value.
#[derive(Clone, Debug, Default)]
pub struct LatenessHistogram {
    bucket_counts: Vec<u64>,
    total: u64,
    sum: u128,
    max: u64,
}

impl LatenessHistogram {
    pub fn record(&mut self, nanos: u64) {
        let bucket = bucket_index(nanos);
        if bucket >= self.bucket_counts.len() {
            self.bucket_counts.resize(bucket + 1, 0);
        }
        self.bucket_counts[bucket] += 1;
        self.total += 1;
        self.sum += u128::from(nanos);
        self.max = self.max.max(nanos);
    }

    pub fn count(&self) -> u64 {
        self.total
    }

    pub fn max_s(&self) -> f64 {
        self.max as f64 / 1e9
    }

    /// 0 if no packet was counted.
    pub fn mean_s(&self) -> f64 {
        if self.total == 0 { 0.0 } else { self.sum as f64 / self.total as f64 / 1e9 }
    }

    /// The values for results, in seconds.
    pub fn json(&self) -> Json {
        let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|quantile| self.quantile_s(quantile));
        json!({ "mean": self.mean_s(), "p50": p50, "p99": p99, "p99.9": p999, "max": self.max_s() })
    }

    /// Percentile of lateness for a share of packets; 0 if no packet was counted.
    pub fn quantile_s(&self, quantile: f64) -> f64 {
        let wanted = (quantile * self.total as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        let bucket = self.bucket_counts.iter().position(|count| {
            below += count;
            below >= wanted
        });
        bucket.map_or(0.0, |bucket| bucket_upper_bound(bucket).min(self.max) as f64 / 1e9)
    }
}

fn bucket_index(nanos: u64) -> usize {
    let shift = nanos.checked_ilog2().unwrap_or(0).saturating_sub(SUB_BUCKET_BITS);
    ((u64::from(shift) << SUB_BUCKET_BITS) + (nanos >> shift)) as usize
}

/// The largest value of a bucket.
fn bucket_upper_bound(bucket: usize) -> u64 {
    let (bucket, fine) = (bucket as u64, 1_u64 << SUB_BUCKET_BITS);
    let shift = (bucket >> SUB_BUCKET_BITS).saturating_sub(1);
    let first = if bucket < 2 * fine { bucket } else { (bucket - (shift << SUB_BUCKET_BITS)) << shift };
    first + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_the_values_between_its_bounds() {
        for nanos in (0..2000).chain((11..62).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 12345 % (1 << bit)])) {
            let bucket = bucket_index(nanos);
            assert!(nanos <= bucket_upper_bound(bucket), "{nanos} in {bucket} up to {}", bucket_upper_bound(bucket));
            assert!(bucket == 0 || nanos > bucket_upper_bound(bucket - 1), "{nanos} in {bucket} from {}", bucket_upper_bound(bucket - 1));
        }
    }

    #[test]
    fn quantiles_of_a_thousand_values() {
        let mut lateness = LatenessHistogram::default();
        (1..=1000).for_each(|micros| lateness.record(micros * 1000));
        let close = |quantile: f64, micros: f64| assert!((lateness.quantile_s(quantile) * 1e6 / micros - 1.0).abs() < 0.017, "{quantile}");
        close(0.5, 500.0);
        close(0.99, 990.0);
        close(0.999, 999.0);
        assert_eq!(1e-3, lateness.quantile_s(1.0));
        assert_eq!(1e-3, lateness.max_s());
        assert!((lateness.mean_s() - 500.5e-6).abs() < 1e-12);
    }

    #[test]
    fn an_empty_histogram_is_zero() {
        assert_eq!(
            [0.0; 3],
            [LatenessHistogram::default().quantile_s(0.99), LatenessHistogram::default().mean_s(), LatenessHistogram::default().max_s()]
        );
    }
}
