//! The round-trip time as a receiver sees it (Linux tcp_rcv_rtt_measure_ts, tcp_rcv_rtt_measure).
//!
//! ```text
//! with timestamps      of every full segment whose echo is a new one: now less the time that it echoes, in whole milliseconds, at least one;
//!                      a smaller sample counts at once, a larger one by an eighth
//! without              the time in which a window of data arrived; the smallest counts
//! ```
//!
//! What a segment echoes is when the last acknowledgement was sent that the sender had when it sent the segment. The receiver has sent it
//! itself: it is the last one that was sent a way back earlier than the segment, and the first segment says how long that way is.

use std::collections::VecDeque;

use ecnlab_units::{Span, Time};

use crate::clock::HostClock;
use crate::settings::Settings;

/// What packets may be late on an empty way.
const LATE: Span = Span::from_micros(50);

#[derive(Debug)]
pub struct RoundTrips {
    timestamps: bool,
    clock: HostClock,
    /// Eight times the estimate, in microseconds; zero before the first.
    estimate: u64,
    /// How long an acknowledgement takes to the sender.
    way_back: Option<Span>,
    /// Acknowledgements, the earliest first: the one that was echoed last, and those after it.
    sent: VecDeque<Sent>,
    /// The echo of the last sample, in milliseconds.
    echoed: Option<u64>,
    /// Since when a window of data is awaited, and where it ends.
    window: Option<(Time, u64)>,
}

/// An acknowledgement: when it was sent, and what its timestamp says.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    stamp: Time,
}

fn micros(span: Span) -> u64 {
    span.picos() / Span::from_micros(1).picos()
}

impl RoundTrips {
    pub fn new(settings: &Settings, clock: HostClock) -> RoundTrips {
        let timestamps = settings.timestamps;
        RoundTrips { timestamps, clock, estimate: 0, way_back: None, sent: VecDeque::new(), echoed: None, window: None }
    }

    /// An acknowledgement goes out with this timestamp.
    pub fn sent(&mut self, stamp: Time, now: Time) {
        if self.timestamps && self.sent.back().is_none_or(|last| last.at != now) {
            self.sent.push_back(Sent { at: now, stamp });
        }
    }

    /// The sender's answer to the SYN-ACK has come, which was sent at `sent`.
    pub fn open(&mut self, sent: Time) {
        let first = self.sent.back().map(|first| first.at);
        self.way_back = first.filter(|&first| first <= sent).map(|first| sent.since(first));
    }

    /// A segment with data has come that was sent at `sent`.
    pub fn take(&mut self, is_full: bool, sent: Time, now: Time) {
        if !self.timestamps {
            return;
        }
        let way_back = *self.way_back.get_or_insert_with(|| now.since(sent));
        while self.sent.get(1).is_some_and(|next| next.at + way_back <= sent + LATE) {
            self.sent.pop_front();
        }
        let Some(echo) = self.sent.front().map(|echo| self.clock.millis(echo.stamp)) else { return };
        if self.echoed.replace(echo) != Some(echo) && is_full {
            self.learn((self.clock.millis(now) - echo).max(1) * 1000);
        }
    }

    /// Data has arrived up to `next`, and so much more is advertised.
    pub fn take_window(&mut self, next: u64, window: u64, now: Time) {
        if let Some((since, end)) = self.window {
            if next < end {
                return;
            }
            let sample = micros(now.since(since)).max(1);
            if self.estimate == 0 || sample * 8 < self.estimate {
                self.estimate = sample * 8;
            }
        }
        self.window = Some((now, next + window));
    }

    fn learn(&mut self, sample: u64) {
        let smaller = self.estimate == 0 || sample * 8 < self.estimate;
        self.estimate = if smaller { sample * 8 } else { self.estimate - self.estimate / 8 + sample };
    }

    /// The estimate, zero before the first sample.
    pub fn estimate(&self) -> Span {
        Span::from_picos(self.estimate * Span::from_micros(1).picos() / 8)
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
        let settings = profile::settings("linux");
        let mut trips = RoundTrips::new(&settings, HostClock::new(&settings, Span::ZERO));
        trips.sent(at(20_000), at(20_000));
        trips.open(at(40_000));
        // Sent with the answer, 21.2 ms after the SYN-ACK came back: 61 - 20 ms.
        trips.take(true, at(40_000), at(61_200));
        assert_eq!(Span::from_millis(41), trips.estimate());
        trips.sent(at(61_200), at(61_200));
        trips.sent(at(62_400), at(62_400));
        // The first of these two acknowledgements is what it echoes: 103 - 61 = 42 ms count by an eighth.
        trips.take(true, at(81_200), at(103_000));
        assert_eq!(Span::from_micros(41_125), trips.estimate());
        trips.take(true, at(81_200), at(104_000));
        assert_eq!(Span::from_micros(41_125), trips.estimate());
    }

    #[test]
    fn without_timestamps_the_smallest_time_of_a_window_counts() {
        let settings = Settings { timestamps: false, ..profile::settings("linux") };
        let mut trips = RoundTrips::new(&settings, HostClock::new(&settings, Span::ZERO));
        for (next, micros) in [(1_000, 0), (5_000, 4_000), (11_000, 50_000), (21_000, 80_000), (31_000, 200_000)] {
            trips.take_window(next, 10_000, at(micros));
        }
        assert_eq!(Span::from_millis(30), trips.estimate());
    }
}
