//! How the router waits in real time. A processor that has gone to sleep wakes up 20 to 200 us late, the longer it slept the later. So the
//! router sleeps until shortly before something is due, and looks at its descriptors without sleeping for the rest.

use std::io;
use std::time::Duration;

use crate::sys::Poller;
use crate::sys::clock::monotonic;

/// So long before something is due it is awake, in ns.
const AHEAD: u64 = 200_000;
/// Of the time it may be awake ahead one part in so many, so that it leaves the processor to others: with less in hand it just sleeps.
const SHARE: u64 = 4;
/// As much may be saved up, in ns.
const MOST: u64 = 10_000_000;

/// What is in hand of the time to be awake ahead.
#[derive(Debug)]
pub struct Awake {
    in_hand: u64,
    counted: u64,
}

impl Awake {
    pub fn new() -> Awake {
        Awake { in_hand: MOST, counted: monotonic() }
    }

    /// Waits for a descriptor, for so many nanoseconds at most.
    ///
    /// # Errors
    /// As [`Poller::wait`].
    pub fn wait(&mut self, poller: &mut Poller, nanos: u64) -> io::Result<()> {
        let now = monotonic();
        self.in_hand = (self.in_hand + (now - self.counted) / SHARE).min(MOST);
        self.counted = now;
        if self.in_hand < AHEAD {
            return poller.wait(Some(Duration::from_nanos(nanos)));
        }
        let due = now + nanos;
        if nanos > AHEAD {
            poller.wait(Some(Duration::from_nanos(nanos - AHEAD)))?;
            if poller.ready().next().is_some() {
                return Ok(());
            }
        }
        let woken = monotonic();
        let mut time = woken;
        while time < due {
            poller.wait(Some(Duration::ZERO))?;
            time = monotonic();
            if poller.ready().next().is_some() {
                break;
            }
        }
        self.in_hand = self.in_hand.saturating_sub(time.saturating_sub(woken));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::poll::Interest;

    #[test]
    fn it_waits_as_long_as_it_is_told_with_time_in_hand_and_without() {
        let mut poller = Poller::new().unwrap();
        for in_hand in [MOST, 0] {
            let mut awake = Awake { in_hand, counted: monotonic() };
            let began = monotonic();
            awake.wait(&mut poller, 3 * AHEAD).unwrap();
            assert!(monotonic() - began >= 3 * AHEAD);
        }
    }

    #[test]
    fn what_is_ready_ends_the_wait() {
        use std::io::Write;
        let (mut near, far) = std::os::unix::net::UnixStream::pair().unwrap();
        near.write_all(b"x").unwrap();
        let mut poller = Poller::new().unwrap();
        poller.add(&far, 7, Interest::Read).unwrap();
        for nanos in [AHEAD / 2, u64::MAX / 4] {
            Awake::new().wait(&mut poller, nanos).unwrap();
            assert_eq!(Some(7), poller.ready().next().map(|ready| ready.token));
        }
    }
}
