//! Pacing: spreads segments over the RTT instead of sending bursts.
//!
//! ```text
//! interval   srtt / (gain cwnd) after each segment; the gain is 2 in slow start and 1.2 later, so that the pacer does not limit cwnd
//!                                                                                          (Aggarwal, Savage and Anderson 2000)
//! linux      payload / rate after each segment, less the time by which the segment left later than allowed, at most half of it;
//!            the tenth segment with data is the first that holds another back               (Linux tcp_update_skb_after_send)
//!            the rate is set at each ACK: 2 or 1.2 times cwnd / srtt, below and above half of ssthresh; cwnd is at least what is
//!            outstanding                                                                    (Linux tcp_update_pacing_rate)
//!            or congestion control determines it
//! ```
//!
//! Before the first RTT sample, and with `linux` before the first rate, segments are not paced.

use ecnlab_units::{Span, Time};

use crate::congestion::CongestionWindow;
use crate::settings::PacingRule;

const SLOW_START_GAIN: f64 = 2.0;
const AVOIDANCE_GAIN: f64 = 1.2;
/// Segments with data before the first that holds another back (Linux tcp_update_skb_after_send).
const UNPACED_SEGMENTS: u64 = 9;
const NANOS_PER_SECOND: u128 = 1_000_000_000;
const PICOS_PER_NANO: u64 = 1000;

#[derive(Clone, Debug)]
pub struct Pacer {
    interval: PacingIntervalBasis,
    next_send_time: Time,
    wake_at: Option<Time>,
}

/// Time between segments.
#[derive(Clone, Debug)]
enum PacingIntervalBasis {
    OfWindow,
    OfRate { bytes_per_second: Option<u64>, unpaced_segments: u64 },
}

impl Pacer {
    pub fn new(rule: PacingRule) -> Pacer {
        let interval = match rule {
            PacingRule::Interval => PacingIntervalBasis::OfWindow,
            PacingRule::Linux => PacingIntervalBasis::OfRate { bytes_per_second: None, unpaced_segments: UNPACED_SEGMENTS },
        };
        Pacer { interval, next_send_time: Time::ZERO, wake_at: None }
    }

    /// Sets the pacing rate, if there is one.
    pub fn set_rate(&mut self, rate: u64) {
        if let PacingIntervalBasis::OfRate { bytes_per_second, .. } = &mut self.interval {
            *bytes_per_second = Some(rate);
        }
    }

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

    /// Schedules the next segment after a transmission of `payload` bytes of data.
    pub fn on_sent(&mut self, payload: u32, window: &CongestionWindow, srtt: Span, now: Time) {
        let late = now.since(self.next_send_time.min(now));
        self.next_send_time = self.next_send_time.max(now);
        match &mut self.interval {
            PacingIntervalBasis::OfWindow => {
                let gain = if window.in_slow_start() { SLOW_START_GAIN } else { AVOIDANCE_GAIN };
                let interval = srtt.picos() as f64 / (gain * window.cwnd.max(1.0));
                self.next_send_time += Span::from_picos(interval as u64);
            }
            PacingIntervalBasis::OfRate { unpaced_segments, .. } if payload > 0 && *unpaced_segments > 0 => *unpaced_segments -= 1,
            PacingIntervalBasis::OfRate { bytes_per_second: Some(rate), unpaced_segments: 0 } if *rate > 0 => {
                let interval_ns = (u128::from(payload) * NANOS_PER_SECOND / u128::from(*rate)) as u64;
                let credit_ns = (late.picos() / PICOS_PER_NANO).min(interval_ns / 2);
                self.next_send_time += Span::from_picos((interval_ns - credit_ns) * PICOS_PER_NANO);
            }
            PacingIntervalBasis::OfRate { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: CongestionWindow = CongestionWindow { cwnd: 10.0, ssthresh: 2.0 };

    fn at_micros(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    #[test]
    fn a_window_is_spread_over_the_round_trip() {
        let mut pacer = Pacer::new(PacingRule::Interval);
        let now = at_micros(1_000_000);
        assert!(pacer.may_send(now));
        pacer.on_sent(1448, &WINDOW, Span::from_millis(120), now);
        assert!(!pacer.may_send(now));
        // 120 ms / (1.2 * 10)
        assert_eq!(Some(now + Span::from_millis(10)), pacer.deadline());
        assert!(pacer.may_send(now + Span::from_millis(10)));
    }

    /// prague-step-20m-10ms: segments of 1436 bytes at 20654, 20875, 21314 and 21723 us, at 3267022 and then 3515136 bytes per second.
    #[test]
    fn a_late_segment_brings_the_next_forward_by_half_an_interval_at_most() {
        let mut pacer = Pacer::new(PacingRule::Linux);
        let send = |pacer: &mut Pacer, now| {
            assert!(pacer.may_send(now));
            pacer.on_sent(1436, &WINDOW, Span::from_millis(10), now);
        };
        for _ in 0..10 {
            send(&mut pacer, at_micros(10_026));
            pacer.set_rate(2_992_220);
        }
        pacer.set_rate(3_267_022);
        let wait = |pacer: &mut Pacer, now: Time| {
            assert!(!pacer.may_send(now));
            pacer.deadline().unwrap().since(now).picos() / PICOS_PER_NANO
        };
        send(&mut pacer, at_micros(20_654));
        assert_eq!(219_772, wait(&mut pacer, at_micros(20_654)), "half of 439544 ns");
        send(&mut pacer, at_micros(20_875));
        assert_eq!(439_544 - (221_000 - 219_772), wait(&mut pacer, at_micros(20_875)));
        pacer.set_rate(3_515_136);
        send(&mut pacer, at_micros(21_314));
        assert_eq!(408_519 - (21_314_000 - 21_313_316), wait(&mut pacer, at_micros(21_314)));
    }

    #[test]
    fn the_tenth_segment_with_data_is_the_first_that_holds_another_back() {
        let mut pacer = Pacer::new(PacingRule::Linux);
        pacer.set_rate(1_448_000);
        pacer.on_sent(0, &WINDOW, Span::from_millis(10), at_micros(5));
        for _ in 0..10 {
            assert!(pacer.may_send(at_micros(10)));
            pacer.on_sent(1448, &WINDOW, Span::from_millis(10), at_micros(10));
        }
        assert!(!pacer.may_send(at_micros(10)));
    }
}
