//! Vegas (Brakmo and Peterson 1995) as ns-2 has it: the window follows the number of packets that wait in queues.
//!
//! ```text
//! once a round trip   queued = (window / base - sent in the round / rtt) base,     rounded
//! slow start          every second round: +1 an acknowledgement, unless queued > gamma: then cwnd -= cwnd/8, and it is over
//! afterwards          queued > beta: -1     queued < alpha: +1/cwnd an acknowledgement     between: nothing
//! ```
//!
//! `rtt` is the mean over the round, `base` the smallest ever. The window grows only while it is in use. A loss halves it,
//! where loss recovery is not Vegas' own.

use ecnlab_units::Time;

use super::{Acked, CongestionControl, Window};
use crate::settings::Settings;

/// The window does not shrink below this, nor the threshold that ends slow start for good.
const LEAST: f64 = 2.0;
/// How far the window may be ahead of what is in flight and still grow.
const AHEAD: f64 = 2.0;

/// Thresholds in queued packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VegasSettings {
    pub alpha: f64,
    pub beta: f64,
    pub gamma: f64,
}

impl VegasSettings {
    pub fn of(settings: &Settings) -> VegasSettings {
        VegasSettings { alpha: settings.vegas_alpha, beta: settings.vegas_beta, gamma: settings.vegas_gamma }
    }
}

pub struct Vegas {
    settings: VegasSettings,
    /// Smallest round-trip time in seconds.
    base: f64,
    /// When the round began, and the segment whose acknowledgement ends it.
    began: Option<Time>,
    ends: u64,
    /// Round-trip times of the round.
    sum: f64,
    samples: u32,
    /// What an acknowledgement of this round adds.
    step: f64,
    /// Slow start grows in this round, not in the next.
    grows: bool,
}

impl Vegas {
    pub fn new(settings: VegasSettings) -> Vegas {
        Vegas { settings, base: f64::INFINITY, began: None, ends: 0, sum: 0.0, samples: 0, step: 0.0, grows: true }
    }

    fn adapt(&mut self, window: &mut Window, acked: &Acked, mut changed: impl FnMut(&Window)) {
        let rtt = acked.rtt.map(|rtt| rtt.seconds());
        if acked.una > self.ends {
            self.end_round(window, acked, rtt, &mut changed);
        }
        if self.step == 1.0 && !window.in_slow_start() {
            self.step = 0.0;
        }
        let in_use = window.cwnd - (acked.high + 1 - acked.una) as f64 <= AHEAD;
        if self.step > 0.0 && in_use {
            window.cwnd += self.step * acked.segments as f64;
            changed(window);
        }
        if let Some(rtt) = rtt {
            self.sum += rtt;
            self.samples += 1;
            self.base = self.base.min(rtt);
        }
    }

    fn end_round(&mut self, window: &mut Window, acked: &Acked, rtt: Option<f64>, changed: &mut impl FnMut(&Window)) {
        let mean = if self.samples > 0 {
            self.sum / f64::from(self.samples)
        } else {
            self.began.map(|began| acked.now.since(began).seconds()).or(rtt).unwrap_or(0.0)
        };
        (self.sum, self.samples) = (0.0, 0);
        if mean > 0.0 {
            let queued = self.queued(acked, mean);
            self.decide(window, queued, changed);
        }
        self.ends = acked.high;
        self.began = Some(acked.now);
    }

    /// Packets that wait in queues, by the difference of the expected rate and the actual one.
    fn queued(&mut self, acked: &Acked, rtt: f64) -> f64 {
        let sent = acked.high - self.ends;
        if rtt < self.base || sent <= 1 {
            self.base = rtt;
        }
        let expected = (acked.high + 1 - acked.una) as f64 / self.base;
        let actual = sent as f64 / rtt;
        ((expected - actual) * self.base + 0.5).trunc()
    }

    fn decide(&mut self, window: &mut Window, queued: f64, changed: &mut impl FnMut(&Window)) {
        self.step = 0.0;
        if window.in_slow_start() {
            self.grows = !self.grows;
            if self.grows && queued > self.settings.gamma {
                window.ssthresh = LEAST;
                changed(window);
                shrink(window, window.cwnd / 8.0, changed);
            } else if self.grows {
                self.step = 1.0;
            }
        } else if queued > self.settings.beta {
            shrink(window, 1.0, changed);
        } else if queued < self.settings.alpha {
            self.step = 1.0 / window.cwnd;
        }
    }
}

fn shrink(window: &mut Window, by: f64, changed: &mut impl FnMut(&Window)) {
    window.cwnd -= by;
    changed(window);
    if window.cwnd < LEAST {
        window.cwnd = LEAST;
        changed(window);
    }
}

impl CongestionControl for Vegas {
    #[inline(never)]
    fn acknowledged(&mut self, window: &mut Window, acked: &Acked) {
        self.adapt(window, acked, |_| ());
    }

    fn acknowledged_by_steps(&mut self, window: &mut Window, acked: &Acked, changed: impl FnMut(&Window)) {
        self.adapt(window, acked, changed);
    }

    fn started(&mut self, now: Time) {
        self.began = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::acked;
    use ecnlab_units::Span;

    /// Runs rounds of a given round-trip time in milliseconds with a full window.
    fn after(rounds: &[(u64, u64)], mut window: Window) -> Window {
        let mut vegas = Vegas::new(VegasSettings { alpha: 1.0, beta: 3.0, gamma: 1.0 });
        let (mut una, mut high) = (0, window.cwnd as u64);
        for millis in rounds.iter().flat_map(|&(count, millis)| (0..count).map(move |_| millis)) {
            let end = high;
            while una < end {
                una += 1;
                let rtt = Span::from_millis(millis);
                vegas.acknowledged(&mut window, &Acked { una, high, ..acked(1, Time::ZERO, rtt) });
                high = una + window.cwnd as u64;
            }
        }
        window
    }

    #[test]
    fn slow_start_doubles_every_second_round() {
        assert_eq!(8.0, after(&[(4, 100)], Window { cwnd: 2.0, ssthresh: 64.0 }).cwnd);
    }

    #[test]
    fn a_queue_beyond_gamma_ends_slow_start() {
        // The window has doubled to 32, of which 32 (1 - 100/115) = 4.2 wait.
        let window = after(&[(1, 100), (3, 115)], Window { cwnd: 16.0, ssthresh: 64.0 });
        assert_eq!(Window { cwnd: 28.0, ssthresh: 2.0 }, window);
    }

    #[test]
    fn the_window_grows_below_alpha_and_shrinks_above_beta() {
        let avoiding = Window { cwnd: 16.0, ssthresh: 2.0 };
        assert!((after(&[(2, 100)], avoiding).cwnd - 18.0).abs() < 1e-9);
        // 18 (1 - 100/150) = 6 packets wait.
        assert!((after(&[(1, 100), (2, 150)], avoiding).cwnd - 17.0).abs() < 1e-9);
    }
}
