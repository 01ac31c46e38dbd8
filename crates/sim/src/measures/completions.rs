//! How long transfers took by their size: a histogram for each step of sizes, so that memory does not grow with their number.

use ecnlab_units::{Rate, Span};

use super::Histogram;

/// What a user waited for, when it has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub bytes: u64,
    pub took: Span,
    /// What it would take at least, alone and at once.
    pub ideal: Span,
}

impl Ended {
    /// The least time of `bytes`: a round trip over empty links, and the time that they take at the narrowest link of the route.
    pub fn ideal(bytes: u64, base_rtt: Span, narrowest: Rate) -> Span {
        let seconds = bytes as f64 * 8.0 / narrowest.bps() as f64;
        base_rtt + Span::from_secs_f64(seconds).unwrap_or(Span::from_picos(u64::MAX))
    }
}

/// The transfers of a group that ended, by size in steps of 1, 2, 5, 10, 20, 50, ... bytes.
#[derive(Clone, Debug, Default)]
pub struct Completions {
    steps: Vec<Step>,
}

/// Transfers of about the same size.
#[derive(Clone, Debug, Default)]
pub struct Step {
    pub times: Histogram<5>,
    slowdowns: f64,
}

impl Step {
    /// Mean of how many times as long as the least time a transfer took.
    pub fn mean_slowdown(&self) -> f64 {
        self.slowdowns / self.times.count() as f64
    }
}

impl Completions {
    pub fn record(&mut self, ended: &Ended) {
        let at = step_of(ended.bytes);
        self.steps.resize_with(self.steps.len().max(at + 1), Step::default);
        let step = &mut self.steps[at];
        step.times.record(ended.took);
        step.slowdowns += ended.took.seconds() / ended.ideal.seconds();
    }

    /// The steps that counted any, each with its least size and that of the next step.
    pub fn steps(&self) -> impl Iterator<Item = (u64, u64, &Step)> {
        let counted = self.steps.iter().enumerate().filter(|(_, step)| step.times.count() > 0);
        counted.map(|(at, step)| (least_of(at), least_of(at + 1), step))
    }
}

/// The step of a size; what is empty counts as one byte.
fn step_of(bytes: u64) -> usize {
    let decade = bytes.max(1).ilog10();
    let leading = bytes.max(1) / 10u64.pow(decade);
    3 * decade as usize + usize::from(leading >= 2) + usize::from(leading >= 5)
}

/// The least size of a step.
fn least_of(step: usize) -> u64 {
    [1, 2, 5][step % 3] * 10u64.pow(step as u32 / 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_falls_between_the_bounds_of_its_step() {
        for bytes in [1, 2, 4, 5, 9, 10, 19, 20, 49, 50, 99, 100, 999, 1_000, 12_000, 5_000_000, 1_000_000_000_000_000] {
            let step = step_of(bytes);
            assert!((least_of(step)..least_of(step + 1)).contains(&bytes), "{bytes} in step {step} from {}", least_of(step));
        }
        assert_eq!(0, step_of(0));
    }

    #[test]
    fn times_and_slowdowns_are_told_by_size() {
        let mut completions = Completions::default();
        let (rtt, rate) = (Span::from_millis(100), Rate::from_bps(8_000_000).unwrap());
        let ideal = Ended::ideal(100_000, rtt, rate);
        assert_eq!(Span::from_millis(200), ideal);
        for millis in [400, 800] {
            completions.record(&Ended { bytes: 100_000, took: Span::from_millis(millis), ideal });
        }
        completions.record(&Ended { bytes: 10, took: rtt, ideal: Ended::ideal(10, rtt, rate) });
        let told: Vec<_> = completions.steps().map(|(from, to, step)| (from, to, step.times.count(), step.mean_slowdown())).collect();
        assert_eq!(2, told.len());
        assert_eq!((100_000, 200_000, 2, 3.0), told[1]);
        assert!((10, 20, 1) == (told[0].0, told[0].1, told[0].2) && (told[0].3 - 0.9999).abs() < 1e-6, "{:?}", told[0]);
    }
}
