//! Completion times of transfers by size: a histogram for each step of sizes, so that memory does not grow with their number.

use ecnlab_units::{Rate, Span};

use super::Histogram;

/// A finished transfer that a user has waited for.
#[derive(Clone, Copy, Debug)]
pub struct FinishedTransfer {
    pub bytes: u64,
    pub duration: Span,
    /// Its minimum duration, over empty links and without delays of the application.
    pub ideal_duration: Span,
}

impl FinishedTransfer {
    /// Minimum duration of `bytes`: one RTT over empty links, and the transmission time at the narrowest link of the route.
    pub fn ideal_duration(bytes: u64, base_rtt: Span, narrowest: Rate) -> Span {
        let seconds = bytes as f64 * 8.0 / narrowest.bps() as f64;
        base_rtt + Span::from_secs_f64(seconds).unwrap_or(Span::from_picos(u64::MAX))
    }
}

/// Finished transfers of a group, by size in steps of 1, 2, 5, 10, 20, 50, ... bytes.
#[derive(Clone, Debug, Default)]
pub struct CompletionsBySize {
    size_classes: Vec<TransferSizeClass>,
}

/// Transfers of about the same size.
#[derive(Clone, Debug, Default)]
pub struct TransferSizeClass {
    pub durations: Histogram<5>,
    slowdown_sum: f64,
}

impl TransferSizeClass {
    /// Mean ratio of duration to minimum duration.
    pub fn mean_slowdown(&self) -> f64 {
        self.slowdown_sum / self.durations.count() as f64
    }
}

impl CompletionsBySize {
    pub fn record(&mut self, ended: &FinishedTransfer) {
        let at = size_class_of(ended.bytes);
        self.size_classes.resize_with(self.size_classes.len().max(at + 1), TransferSizeClass::default);
        let step = &mut self.size_classes[at];
        step.durations.record(ended.duration);
        step.slowdown_sum += ended.duration.seconds() / ended.ideal_duration.seconds();
    }

    /// Non-empty steps, each with its smallest size and that of the next step.
    pub fn non_empty_size_classes(&self) -> impl Iterator<Item = (u64, u64, &TransferSizeClass)> {
        let counted = self.size_classes.iter().enumerate().filter(|(_, step)| step.durations.count() > 0);
        counted.map(|(at, step)| (min_size_of_class(at), min_size_of_class(at + 1), step))
    }
}

/// The step of a size; zero bytes count as one.
fn size_class_of(bytes: u64) -> usize {
    let decade = bytes.max(1).ilog10();
    let leading = bytes.max(1) / 10u64.pow(decade);
    3 * decade as usize + usize::from(leading >= 2) + usize::from(leading >= 5)
}

/// Smallest size of a step.
fn min_size_of_class(step: usize) -> u64 {
    [1, 2, 5][step % 3] * 10u64.pow(step as u32 / 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_lies_within_its_size_class() {
        for bytes in [1, 2, 4, 5, 9, 10, 19, 20, 49, 50, 99, 100, 999, 1_000, 12_000, 5_000_000, 1_000_000_000_000_000] {
            let step = size_class_of(bytes);
            assert!(
                (min_size_of_class(step)..min_size_of_class(step + 1)).contains(&bytes),
                "{bytes} in step {step} from {}",
                min_size_of_class(step)
            );
        }
        assert_eq!(0, size_class_of(0));
    }

    #[test]
    fn durations_and_slowdowns_are_recorded_by_size_class() {
        let mut completions = CompletionsBySize::default();
        let (rtt, rate) = (Span::from_millis(100), Rate::from_bps(8_000_000).unwrap());
        let ideal_duration = FinishedTransfer::ideal_duration(100_000, rtt, rate);
        assert_eq!(Span::from_millis(200), ideal_duration);
        for millis in [400, 800] {
            completions.record(&FinishedTransfer { bytes: 100_000, duration: Span::from_millis(millis), ideal_duration });
        }
        completions.record(&FinishedTransfer { bytes: 10, duration: rtt, ideal_duration: FinishedTransfer::ideal_duration(10, rtt, rate) });
        let classes: Vec<_> =
            completions.non_empty_size_classes().map(|(from, to, step)| (from, to, step.durations.count(), step.mean_slowdown())).collect();
        assert_eq!(2, classes.len());
        assert_eq!((100_000, 200_000, 2, 3.0), classes[1]);
        assert!((10, 20, 1) == (classes[0].0, classes[0].1, classes[0].2) && (classes[0].3 - 0.9999).abs() < 1e-6, "{:?}", classes[0]);
    }
}
