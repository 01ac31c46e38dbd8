//! The smallest round-trip time of the last minutes, by three samples in place of all (Linux tcp_update_rtt_min).
//!
//! ```text
//! the best, the second best since then, and the third best since that one; a sample as small as one of them takes its place and the later ones'
//! a quarter of the window after the best, with no second one:  the next sample becomes the second and third
//! half of the window after the second, with no third one:      the next sample becomes the third
//! the window after the best:  each moves up, and the sample becomes the third
//! ```

use ecnlab_units::{Span, Time};

use crate::clock::HostClock;

/// For how long a sample counts (ip-sysctl tcp_min_rtt_wlen).
const WINDOW: Span = Span::from_secs(300);

/// One cache line: every acknowledgement asks.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct MinRtt {
    /// [`WINDOW`] in ticks.
    window: u64,
    best: [Sample; 3],
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    /// In ticks.
    at: u64,
    /// In microseconds.
    rtt: u64,
}

impl MinRtt {
    pub fn new(clock: HostClock) -> MinRtt {
        MinRtt { window: clock.ticks_of(WINDOW), best: [Sample { at: 0, rtt: u64::MAX }; 3] }
    }

    /// The smallest, once there is a sample.
    pub fn get(&self) -> Option<Span> {
        let smallest = self.best[0].rtt;
        (smallest < u64::MAX).then(|| Span::from_micros(smallest))
    }

    /// The same in whole microseconds; more than any before the first sample.
    pub fn micros(&self) -> u64 {
        self.best[0].rtt
    }

    /// Takes a sample; one below a microsecond counts as a tick.
    pub fn sample(&mut self, rtt: Span, now: Time, clock: &HostClock) {
        let micros = Span::from_micros(1).picos();
        let rtt = if rtt.picos() < micros { clock.tick() } else { rtt };
        self.take(Sample { at: clock.ticks(now), rtt: rtt.picos() / micros });
    }

    fn take(&mut self, new: Sample) {
        let window = self.window;
        let nothing_left = new.at - self.best[2].at > window;
        match self.best.iter().position(|known| new.rtt <= known.rtt) {
            _ if nothing_left => self.best = [new; 3],
            Some(0) => self.best = [new; 3],
            Some(place) => self.best[place..].fill(new),
            None => {}
        }
        self.age(new, window);
    }

    /// Samples that count no more make way, and later ones are kept in reserve.
    fn age(&mut self, new: Sample, window: u64) {
        let [best, second, third] = self.best.map(|known| known.at);
        let since = new.at - best;
        if since > window {
            self.move_up(new);
            if new.at - self.best[0].at > window {
                self.move_up(new);
            }
        } else if second == best && since > window / 4 {
            self.best[1..].fill(new);
        } else if third == second && since > window / 2 {
            self.best[2] = new;
        }
    }

    fn move_up(&mut self, new: Sample) {
        self.best = [self.best[1], self.best[2], new];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;
    use crate::settings::Settings;

    fn clock() -> HostClock {
        let settings = Settings { tick: Span::from_millis(4), ..profile::settings("linux") };
        HostClock::new(&settings, Span::ZERO)
    }

    fn after(samples: impl IntoIterator<Item = (u64, u64)>) -> Option<Span> {
        let (clock, mut min) = (clock(), MinRtt::new(clock()));
        for (second, millis) in samples {
            min.sample(Span::from_millis(millis), Time::ZERO + Span::from_secs(second), &clock);
        }
        min.get()
    }

    #[test]
    fn the_smallest_counts() {
        assert_eq!(None, after([]));
        assert_eq!(Some(Span::from_millis(20)), after([(0, 30), (1, 20), (2, 40)]));
    }

    /// On a path that gets longer the samples of the window's later parts take over.
    #[test]
    fn a_smallest_that_is_too_old_makes_way_for_the_smallest_since() {
        let steadily = |to| (0..=to).map(|second| (second, if second == 0 { 20 } else { 40 }));
        assert_eq!([20, 40].map(|millis| Some(Span::from_millis(millis))), [300, 301].map(|to| after(steadily(to))));
    }

    #[test]
    fn all_that_is_known_may_be_too_old() {
        assert_eq!(Some(Span::from_millis(90)), after([(0, 20), (1, 40), (700, 90)]));
    }

    #[test]
    fn no_time_at_all_is_a_tick() {
        assert_eq!(Some(Span::from_millis(4)), after([(0, 0)]));
    }
}
