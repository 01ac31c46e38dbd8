//! RTT estimate of a receiver (Linux tcp_rcv_rtt_measure_ts, tcp_rcv_rtt_measure).
//!
//! ```text
//! with timestamps      from every full segment with a new echo: current time less the echoed time, in whole milliseconds, at least one;
//!                      a smaller sample counts at once, a larger one by an eighth
//! without              the time in which a window of data arrived; the minimum counts
//! ```
//!
//! A segment echoes the timestamp of the last ACK that the sender had received. Timestamps of ACKs are not simulated, so the receiver
//! reconstructs the echo: it is the last ACK sent at least one reverse delay before the segment was sent. The first segment shows that
//! delay.

use std::collections::VecDeque;

use ecnlab_units::{Span, Time};

use crate::clock::HostClock;
use crate::memory;
use crate::settings::TcpSettings;

/// Tolerance for the delay of packets on an empty path.
const PATH_JITTER: Span = Span::from_micros(50);

#[derive(Debug)]
pub struct RcvRttEstimator {
    timestamps: bool,
    clock: HostClock,
    /// Eight times the estimate in microseconds; zero before the first sample.
    srtt_eighths: u64,
    /// One-way delay of an ACK to the sender.
    reverse_delay: Option<Span>,
    /// ACKs, the earliest first: the one last echoed, and those after it.
    sent_acks: VecDeque<SentAckTimestamp>,
    /// Echoed timestamp of the last sample, in milliseconds.
    last_echo: Option<u64>,
    /// Start time of the current window of data, and its end.
    window_round: Option<(Time, u64)>,
}

/// An ACK: its send time and its timestamp.
#[derive(Clone, Copy, Debug)]
struct SentAckTimestamp {
    sent_at: Time,
    timestamp: Time,
}

impl RcvRttEstimator {
    /// Takes the memory of the estimator of a connection that is over.
    pub fn reuse_memory_of(&mut self, past: &mut RcvRttEstimator) {
        memory::take_deque_allocation(&mut self.sent_acks, &mut past.sent_acks);
    }

    pub fn new(settings: &TcpSettings, clock: HostClock) -> RcvRttEstimator {
        let timestamps = settings.timestamps;
        RcvRttEstimator {
            timestamps,
            clock,
            srtt_eighths: 0,
            reverse_delay: None,
            sent_acks: VecDeque::new(),
            last_echo: None,
            window_round: None,
        }
    }

    /// Records an ACK with this timestamp.
    pub fn on_ack_sent(&mut self, stamp: Time, now: Time) {
        if self.timestamps && self.sent_acks.back().is_none_or(|last| last.sent_at != now) {
            self.sent_acks.push_back(SentAckTimestamp { sent_at: now, timestamp: stamp });
        }
    }

    /// Processes the sender's reply to the SYN-ACK, which was sent at `sent`.
    pub fn measure_reverse_delay(&mut self, sent: Time) {
        let first = self.sent_acks.back().map(|first| first.sent_at);
        self.reverse_delay = first.filter(|&first| first <= sent).map(|first| sent.since(first));
    }

    /// Processes a data segment that was sent at `sent`.
    pub fn on_segment(&mut self, is_full: bool, sent: Time, now: Time) {
        if !self.timestamps {
            return;
        }
        let way_back = *self.reverse_delay.get_or_insert_with(|| now.since(sent));
        while self.sent_acks.get(1).is_some_and(|next| next.sent_at + way_back <= sent + PATH_JITTER) {
            self.sent_acks.pop_front();
        }
        let Some(echo) = self.sent_acks.front().map(|echo| self.clock.millis(echo.timestamp)) else { return };
        if self.last_echo.replace(echo) != Some(echo) && is_full {
            self.update_estimate((self.clock.millis(now) - echo).max(1) * 1000);
        }
    }

    /// Processes data up to `next`, with `window` bytes advertised beyond it.
    pub fn on_window_progress(&mut self, next: u64, window: u64, now: Time) {
        if let Some((since, end)) = self.window_round {
            if next < end {
                return;
            }
            let sample = now.since(since).micros().max(1);
            if self.srtt_eighths == 0 || sample * 8 < self.srtt_eighths {
                self.srtt_eighths = sample * 8;
            }
        }
        self.window_round = Some((now, next + window));
    }

    fn update_estimate(&mut self, sample: u64) {
        let smaller = self.srtt_eighths == 0 || sample * 8 < self.srtt_eighths;
        self.srtt_eighths = if smaller { sample * 8 } else { self.srtt_eighths - self.srtt_eighths / 8 + sample };
    }

    /// The estimate, zero before the first sample.
    pub fn srtt(&self) -> Span {
        Span::from_micros(self.srtt_eighths) / 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;

    fn at(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    #[test]
    fn a_segment_echoes_the_acknowledgement_that_its_sender_had() {
        let settings = profile::tcp_settings_of("linux");
        let mut trips = RcvRttEstimator::new(&settings, HostClock::new(&settings, Span::ZERO));
        trips.on_ack_sent(at(20_000), at(20_000));
        trips.measure_reverse_delay(at(40_000));
        // Sent with the reply, 21.2 ms after the SYN-ACK came back: 61 - 20 ms.
        trips.on_segment(true, at(40_000), at(61_200));
        assert_eq!(Span::from_millis(41), trips.srtt());
        trips.on_ack_sent(at(61_200), at(61_200));
        trips.on_ack_sent(at(62_400), at(62_400));
        // It echoes the first of these two ACKs: 103 - 61 = 42 ms count by an eighth.
        trips.on_segment(true, at(81_200), at(103_000));
        assert_eq!(Span::from_micros(41_125), trips.srtt());
        trips.on_segment(true, at(81_200), at(104_000));
        assert_eq!(Span::from_micros(41_125), trips.srtt());
    }

    #[test]
    fn without_timestamps_the_smallest_time_of_a_window_counts() {
        let settings = TcpSettings { timestamps: false, ..profile::tcp_settings_of("linux") };
        let mut trips = RcvRttEstimator::new(&settings, HostClock::new(&settings, Span::ZERO));
        for (next, micros) in [(1_000, 0), (5_000, 4_000), (11_000, 50_000), (21_000, 80_000), (31_000, 200_000)] {
            trips.on_window_progress(next, 10_000, at(micros));
        }
        assert_eq!(Span::from_millis(30), trips.srtt());
    }
}
