//! Minimum RTT over a sliding window, by three samples instead of all (Linux tcp_update_rtt_min).
//!
//! ```text
//! samples: the best, the second best since then, and the third best since that one; a sample as low as one of them replaces it and the later ones
//! a quarter of the window after the best, without a second one:  the next sample becomes the second and third
//! half of the window after the second, without a third one:      the next sample becomes the third
//! the window after the best:  each moves up, and the sample becomes the third
//! ```

use ecnlab_units::{Span, Time};

use crate::clock::HostClock;

/// Length of the sliding window (ip-sysctl tcp_min_rtt_wlen).
const MIN_RTT_WINDOW: Span = Span::from_secs(300);
const QUARTER_MIN_RTT_WINDOW: Span = Span::from_secs(75);

/// The fields that each ACK reads come first.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct MinRtt {
    /// RTT of the third best sample: a higher sample changes nothing while the best one is recent.
    third: u64,
    best: [MinRttSample; 3],
}

#[derive(Clone, Copy, Debug)]
struct MinRttSample {
    at: Time,
    /// In microseconds.
    rtt: u64,
}

impl Default for MinRtt {
    fn default() -> MinRtt {
        MinRtt { third: u64::MAX, best: [MinRttSample { at: Time::ZERO, rtt: u64::MAX }; 3] }
    }
}

impl MinRtt {
    /// Minimum RTT in whole microseconds; larger than any RTT before the first sample.
    #[inline]
    pub fn micros(&self) -> u64 {
        self.best[0].rtt
    }

    /// Adds a sample in microseconds; one below a microsecond counts as a tick.
    #[inline]
    pub fn on_rtt_sample(&mut self, rtt: u64, now: Time, clock: &HostClock) {
        // This age is below a quarter of the window in ticks.
        let recent = now.since(self.best[0].at) + clock.tick_length() * 2 < QUARTER_MIN_RTT_WINDOW;
        if rtt <= self.third || !recent {
            self.insert_sample(rtt, now, clock);
        }
    }

    #[inline(never)]
    fn insert_sample(&mut self, rtt: u64, now: Time, clock: &HostClock) {
        let rtt = if rtt == 0 { clock.tick_length().micros() } else { rtt };
        let new = MinRttSample { at: now, rtt };
        let nothing_left = self.ticks_between(&new, &self.best[2], clock) > clock.ticks_in_span(MIN_RTT_WINDOW);
        match self.best.iter().position(|known| new.rtt <= known.rtt) {
            _ if nothing_left => self.best = [new; 3],
            Some(place) => self.best[place..].fill(new),
            None => {}
        }
        self.expire_samples(new, clock);
        self.third = self.best[2].rtt;
    }

    /// Ticks from one sample to another.
    fn ticks_between(&self, new: &MinRttSample, known: &MinRttSample, clock: &HostClock) -> u64 {
        clock.ticks(new.at) - clock.ticks(known.at)
    }

    /// Replaces expired samples, and keeps later ones in reserve.
    fn expire_samples(&mut self, new: MinRttSample, clock: &HostClock) {
        let [best, second, third] = self.best.map(|known| clock.ticks(known.at));
        let (since, window) = (clock.ticks(new.at) - best, clock.ticks_in_span(MIN_RTT_WINDOW));
        if since > window {
            self.shift_samples(new);
            if self.ticks_between(&new, &self.best[0], clock) > window {
                self.shift_samples(new);
            }
        } else if second == best && since > window / 4 {
            self.best[1..].fill(new);
        } else if third == second && since > window / 2 {
            self.best[2] = new;
        }
    }

    fn shift_samples(&mut self, new: MinRttSample) {
        self.best = [self.best[1], self.best[2], new];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;
    use crate::settings::{Quirks, TcpSettings};

    fn clock() -> HostClock {
        let settings =
            TcpSettings { quirks: Quirks { tick: Span::from_millis(4), ..profile::quirks("linux") }, ..profile::tcp_settings_of("linux") };
        HostClock::new(&settings, Span::ZERO)
    }

    fn min_rtt_after(samples: impl IntoIterator<Item = (u64, u64)>) -> Option<Span> {
        let (clock, mut min) = (clock(), MinRtt::default());
        for (second, millis) in samples {
            min.on_rtt_sample(1000 * millis, Time::ZERO + Span::from_secs(second), &clock);
        }
        (min.micros() < u64::MAX).then(|| Span::from_micros(min.micros()))
    }

    #[test]
    fn the_smallest_counts() {
        assert_eq!(None, min_rtt_after([]));
        assert_eq!(Some(Span::from_millis(20)), min_rtt_after([(0, 30), (1, 20), (2, 40)]));
    }

    /// If the RTT of a path rises, the samples of later parts of the window take over.
    #[test]
    fn a_smallest_that_is_too_old_makes_way_for_the_smallest_since() {
        let steadily = |to| (0..=to).map(|second| (second, if second == 0 { 20 } else { 40 }));
        assert_eq!([20, 40].map(|millis| Some(Span::from_millis(millis))), [300, 301].map(|to| min_rtt_after(steadily(to))));
    }

    #[test]
    fn all_that_is_known_may_be_too_old() {
        assert_eq!(Some(Span::from_millis(90)), min_rtt_after([(0, 20), (1, 40), (700, 90)]));
    }

    #[test]
    fn no_time_at_all_is_a_tick() {
        assert_eq!(Some(Span::from_millis(4)), min_rtt_after([(0, 0)]));
    }
}
