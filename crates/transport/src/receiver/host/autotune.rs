//! The buffer follows what the application reads in a round trip (Fisk and Feng 2001; Linux tcp_rcv_space_adjust).
//!
//! ```text
//! once a round trip, if more was read than the most before:
//!     window = 2 * read + 16 segments
//!     window = window + 2 * window * (read - before) / before
//!     buffer = memory for so many full segments
//! ```

use ecnlab_units::{Span, Time};

use crate::settings::Settings;

/// Segments of the first window, which is what nothing read yet is compared with (RFC 6928).
const FIRST: u64 = 10;

/// Segments that the window allows for small variations.
const CUSHION: u64 = 16;

/// Memory of a full segment besides its payload, and the step in which memory is raised until half of it holds the payload.
const OVERHEAD: u64 = 896;
const STEP: u64 = 128;

#[derive(Debug)]
pub struct Autotune {
    full: u64,
    memory: u64,
    /// The most that was read in a round trip.
    most: u64,
    /// Since when, and from where on, this round trip's reading counts.
    since: Time,
    from: u64,
}

impl Autotune {
    pub fn new(settings: &Settings) -> Autotune {
        let full = u64::from(settings.payload());
        let mut memory = full + OVERHEAD;
        while memory - memory / 2 < full {
            memory += STEP;
        }
        Autotune { full, memory, most: 0, since: Time::ZERO, from: 0 }
    }

    /// The connection is open with this window; `read` is where the data begins.
    pub fn open(&mut self, window: i64, read: u64, now: Time) {
        self.most = (FIRST * self.full).min(window as u64);
        (self.since, self.from) = (now, read);
    }

    /// The application has read all before `read`. Returns how large a buffer it takes, if that is to be asked now.
    pub fn read(&mut self, read: u64, rtt: Span, now: Time) -> Option<i64> {
        if rtt == Span::ZERO || now.since(self.since) < rtt {
            return None;
        }
        let copied = read - self.from;
        let buffer = (copied > self.most).then(|| self.buffer_for(copied));
        self.most = self.most.max(copied);
        (self.since, self.from) = (now, read);
        buffer
    }

    fn buffer_for(&self, copied: u64) -> i64 {
        let window = 2 * copied + CUSHION * self.full;
        let growth = window * (copied - self.most) / self.most;
        ((window + 2 * growth) / self.full * self.memory) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;

    #[test]
    fn the_buffer_is_asked_for_once_a_round_trip_and_allows_the_sender_to_double_its_rate() {
        let mut autotune = Autotune::new(&profile::settings("linux"));
        autotune.open(65_160, 0, Time::ZERO);
        let rtt = Span::from_millis(40);
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        assert_eq!(None, autotune.read(14_480, rtt, at(30)));
        // As much as the first window: nothing grows.
        assert_eq!(None, autotune.read(14_480, rtt, at(40)));
        // Twice as much: 2 * 28 960 + 23 168 = 81 088, and twice that more: 168 segments of 2984 bytes.
        assert_eq!(Some(168 * 2984), autotune.read(43_440, rtt, at(80)));
    }
}
