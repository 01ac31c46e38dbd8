//! Vegas (Brakmo and Peterson 1995) as in ns-2: cwnd follows the number of its packets in queues.
//!
//! ```text
//! once per RTT        queued = (cwnd / base - sent in the round / rtt) base,     rounded
//! slow start          every second round: +1 per ACK, unless queued > gamma: then cwnd -= cwnd/8, and slow start ends
//! afterwards          queued > beta: -1     queued < alpha: +1/cwnd per ACK     between: no change
//! ```
//!
//! `rtt` is the mean over the round, `base_rtt` the minimum ever. Cwnd grows only while it is in use. A loss halves it, unless Vegas
//! recovery is used.

use ecnlab_units::Time;

use super::{AckSample, CongestionControl, CongestionWindow};
use crate::settings::TcpSettings;

/// Minimum cwnd, and minimum ssthresh after slow start has ended.
const MIN_CWND: f64 = 2.0;
/// Maximum difference between cwnd and the segments in flight at which cwnd still grows.
const MAX_UNUSED_CWND: f64 = 2.0;

/// Thresholds in queued packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VegasSettings {
    pub alpha: f64,
    pub beta: f64,
    pub gamma: f64,
}

impl VegasSettings {
    pub fn from_settings(settings: &TcpSettings) -> VegasSettings {
        VegasSettings { alpha: settings.vegas_alpha, beta: settings.vegas_beta, gamma: settings.vegas_gamma }
    }
}

pub struct Vegas {
    settings: VegasSettings,
    /// Minimum RTT in seconds.
    base_rtt: f64,
    /// Start time of the round, and the segment whose ACK ends it.
    round_start: Option<Time>,
    round_end: u64,
    /// Sum of the RTTs of the round.
    rtt_sum: f64,
    rtt_samples: u32,
    /// Increase of cwnd for each ACK of this round.
    cwnd_step: f64,
    /// Slow start grows in this round, not in the next.
    slow_start_grows: bool,
}

impl Vegas {
    pub fn new(settings: VegasSettings) -> Vegas {
        Vegas {
            settings,
            base_rtt: f64::INFINITY,
            round_start: None,
            round_end: 0,
            rtt_sum: 0.0,
            rtt_samples: 0,
            cwnd_step: 0.0,
            slow_start_grows: true,
        }
    }

    fn update_cwnd_for_ack(&mut self, window: &mut CongestionWindow, acked: &AckSample, mut changed: impl FnMut(&CongestionWindow)) {
        let rtt = acked.rtt.map(|rtt| rtt.seconds());
        if acked.snd_una > self.round_end {
            self.end_round(window, acked, rtt, &mut changed);
        }
        if self.cwnd_step == 1.0 && !window.in_slow_start() {
            self.cwnd_step = 0.0;
        }
        let in_use = window.cwnd - (acked.snd_max + 1 - acked.snd_una) as f64 <= MAX_UNUSED_CWND;
        if self.cwnd_step > 0.0 && in_use {
            window.cwnd += self.cwnd_step * acked.segments as f64;
            changed(window);
        }
        if let Some(rtt) = rtt {
            self.rtt_sum += rtt;
            self.rtt_samples += 1;
            self.base_rtt = self.base_rtt.min(rtt);
        }
    }

    fn end_round(
        &mut self,
        window: &mut CongestionWindow,
        acked: &AckSample,
        rtt: Option<f64>,
        changed: &mut impl FnMut(&CongestionWindow),
    ) {
        let mean = if self.rtt_samples > 0 {
            self.rtt_sum / f64::from(self.rtt_samples)
        } else {
            self.round_start.map(|began| acked.now.since(began).seconds()).or(rtt).unwrap_or(0.0)
        };
        (self.rtt_sum, self.rtt_samples) = (0.0, 0);
        if mean > 0.0 {
            let queued = self.queued_packets(acked, mean);
            self.choose_cwnd_step(window, queued, changed);
        }
        self.round_end = acked.snd_max;
        self.round_start = Some(acked.now);
    }

    /// Packets in queues, by the difference between the expected and the actual rate.
    fn queued_packets(&mut self, acked: &AckSample, rtt: f64) -> f64 {
        let sent = acked.snd_max - self.round_end;
        if rtt < self.base_rtt || sent <= 1 {
            self.base_rtt = rtt;
        }
        let expected = (acked.snd_max + 1 - acked.snd_una) as f64 / self.base_rtt;
        let actual = sent as f64 / rtt;
        ((expected - actual) * self.base_rtt + 0.5).trunc()
    }

    fn choose_cwnd_step(&mut self, window: &mut CongestionWindow, queued: f64, changed: &mut impl FnMut(&CongestionWindow)) {
        self.cwnd_step = 0.0;
        if window.in_slow_start() {
            self.slow_start_grows = !self.slow_start_grows;
            if self.slow_start_grows && queued > self.settings.gamma {
                window.ssthresh = MIN_CWND;
                changed(window);
                shrink_cwnd_by(window, window.cwnd / 8.0, changed);
            } else if self.slow_start_grows {
                self.cwnd_step = 1.0;
            }
        } else if queued > self.settings.beta {
            shrink_cwnd_by(window, 1.0, changed);
        } else if queued < self.settings.alpha {
            self.cwnd_step = 1.0 / window.cwnd;
        }
    }
}

fn shrink_cwnd_by(window: &mut CongestionWindow, by: f64, changed: &mut impl FnMut(&CongestionWindow)) {
    window.cwnd -= by;
    changed(window);
    if window.cwnd < MIN_CWND {
        window.cwnd = MIN_CWND;
        changed(window);
    }
}

impl CongestionControl for Vegas {
    #[inline(never)]
    fn on_ack(&mut self, window: &mut CongestionWindow, acked: &AckSample) {
        self.update_cwnd_for_ack(window, acked, |_| ());
    }

    fn on_ack_traced(&mut self, window: &mut CongestionWindow, acked: &AckSample, changed: impl FnMut(&CongestionWindow)) {
        self.update_cwnd_for_ack(window, acked, changed);
    }

    fn on_first_segment_sent(&mut self, now: Time) {
        self.round_start = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::ack_sample;
    use ecnlab_units::Span;

    /// Runs rounds of a given RTT in milliseconds with a full window.
    fn window_after_rounds(rounds: &[(u64, u64)], mut window: CongestionWindow) -> CongestionWindow {
        let mut vegas = Vegas::new(VegasSettings { alpha: 1.0, beta: 3.0, gamma: 1.0 });
        let (mut snd_una, mut snd_max) = (0, window.cwnd as u64);
        for millis in rounds.iter().flat_map(|&(count, millis)| (0..count).map(move |_| millis)) {
            let end = snd_max;
            while snd_una < end {
                snd_una += 1;
                let rtt = Span::from_millis(millis);
                vegas.on_ack(&mut window, &AckSample { snd_una, snd_max, ..ack_sample(1, Time::ZERO, rtt) });
                snd_max = snd_una + window.cwnd as u64;
            }
        }
        window
    }

    #[test]
    fn slow_start_doubles_every_second_round() {
        assert_eq!(8.0, window_after_rounds(&[(4, 100)], CongestionWindow { cwnd: 2.0, ssthresh: 64.0 }).cwnd);
    }

    #[test]
    fn a_queue_beyond_gamma_ends_slow_start() {
        // Cwnd has doubled to 32, of which 32 (1 - 100/115) = 4.2 are queued.
        let window = window_after_rounds(&[(1, 100), (3, 115)], CongestionWindow { cwnd: 16.0, ssthresh: 64.0 });
        assert_eq!(CongestionWindow { cwnd: 28.0, ssthresh: 2.0 }, window);
    }

    #[test]
    fn the_window_grows_below_alpha_and_shrinks_above_beta() {
        let avoiding = CongestionWindow { cwnd: 16.0, ssthresh: 2.0 };
        assert!((window_after_rounds(&[(2, 100)], avoiding).cwnd - 18.0).abs() < 1e-9);
        // 18 (1 - 100/150) = 6 packets are queued.
        assert!((window_after_rounds(&[(1, 100), (2, 150)], avoiding).cwnd - 17.0).abs() < 1e-9);
    }
}
