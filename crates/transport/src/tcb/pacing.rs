//! Pacing: spreads segments over the RTT instead of sending bursts.
//!
//! The interval is `srtt / (gain cwnd)`. The gain is 2 in slow start and 1.2 later, so that the pacer does not limit cwnd (Aggarwal, Savage
//! and Anderson 2000; Linux tcp_update_pacing_rate). Before the first RTT sample segments are not paced.

use ecnlab_units::{Span, Time};

use crate::congestion::CongestionWindow;

const SLOW_START_GAIN: f64 = 2.0;
const AVOIDANCE_GAIN: f64 = 1.2;

#[derive(Clone, Debug, Default)]
pub struct Pacer {
    next_send_time: Time,
    wake_at: Option<Time>,
}

impl Pacer {
    /// Time at which a delayed segment may go.
    pub fn deadline(&self) -> Option<Time> {
        self.wake_at
    }

    pub fn on_wake(&mut self) {
        self.wake_at = None;
    }

    /// Whether a segment may go now; if not, records that one waits.
    pub fn may_send(&mut self, now: Time) -> bool {
        let may = now >= self.next_send_time;
        self.wake_at = (!may).then_some(self.next_send_time);
        may
    }

    /// Schedules the next segment after a transmission.
    pub fn on_sent(&mut self, window: &CongestionWindow, srtt: Span, now: Time) {
        let gain = if window.in_slow_start() { SLOW_START_GAIN } else { AVOIDANCE_GAIN };
        let interval = srtt.picos() as f64 / (gain * window.cwnd.max(1.0));
        self.next_send_time = self.next_send_time.max(now) + Span::from_picos(interval as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_spread_over_the_round_trip() {
        let mut pacer = Pacer::default();
        let window = CongestionWindow { cwnd: 10.0, ssthresh: 2.0 };
        let now = Time::ZERO + Span::from_secs(1);
        assert!(pacer.may_send(now));
        pacer.on_sent(&window, Span::from_millis(120), now);
        assert!(!pacer.may_send(now));
        // 120 ms / (1.2 * 10)
        assert_eq!(Some(now + Span::from_millis(10)), pacer.deadline());
        assert!(pacer.may_send(now + Span::from_millis(10)));
    }
}
