//! Waiting in real time. A sleeping processor wakes up 20 to 200 us late, and later the longer it has slept. The router therefore sleeps
//! until shortly before the next deadline, and then polls its descriptors without sleeping.

use std::io;
use std::time::Duration;

use crate::sys::Poller;
use crate::sys::clock::monotonic_time;

/// Time before a deadline from which the router polls, in ns.
const SPIN_BEFORE_DEADLINE_NS: u64 = 200_000;
/// The router may poll for at most one part in so many of the time, so that other programs get the processor; otherwise it sleeps.
const SPIN_TIME_DIVISOR: u64 = 4;
/// Maximum of the saved polling time, in ns.
const MAX_CREDIT_NS: u64 = 10_000_000;

/// Polling time that is available.
#[derive(Debug)]
pub struct SpinBudget {
    credit_ns: u64,
    credited_at_ns: u64,
}

impl SpinBudget {
    pub fn new() -> SpinBudget {
        SpinBudget { credit_ns: MAX_CREDIT_NS, credited_at_ns: monotonic_time() }
    }

    /// Waits for a descriptor, for at most this number of nanoseconds.
    ///
    /// # Errors
    /// As [`Poller::wait`].
    pub fn wait_for_ready_descriptor(&mut self, poller: &mut Poller, nanos: u64) -> io::Result<()> {
        let now = monotonic_time();
        self.credit_ns = (self.credit_ns + (now - self.credited_at_ns) / SPIN_TIME_DIVISOR).min(MAX_CREDIT_NS);
        self.credited_at_ns = now;
        if self.credit_ns < SPIN_BEFORE_DEADLINE_NS {
            return poller.wait(Some(Duration::from_nanos(nanos)));
        }
        let due = now + nanos;
        if nanos > SPIN_BEFORE_DEADLINE_NS {
            poller.wait(Some(Duration::from_nanos(nanos - SPIN_BEFORE_DEADLINE_NS)))?;
            if poller.ready().next().is_some() {
                return Ok(());
            }
        }
        let woken = monotonic_time();
        let mut time = woken;
        while time < due {
            poller.wait(Some(Duration::ZERO))?;
            time = monotonic_time();
            if poller.ready().next().is_some() {
                break;
            }
        }
        self.credit_ns = self.credit_ns.saturating_sub(time.saturating_sub(woken));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::poll::Interest;

    #[test]
    fn it_waits_until_the_deadline_with_credit_and_without() {
        let mut poller = Poller::new().unwrap();
        for credit_ns in [MAX_CREDIT_NS, 0] {
            let mut spin = SpinBudget { credit_ns, credited_at_ns: monotonic_time() };
            let began = monotonic_time();
            spin.wait_for_ready_descriptor(&mut poller, 3 * SPIN_BEFORE_DEADLINE_NS).unwrap();
            assert!(monotonic_time() - began >= 3 * SPIN_BEFORE_DEADLINE_NS);
        }
    }

    #[test]
    fn a_ready_descriptor_ends_the_wait() {
        use std::io::Write;
        let (mut near, far) = std::os::unix::net::UnixStream::pair().unwrap();
        near.write_all(b"x").unwrap();
        let mut poller = Poller::new().unwrap();
        poller.add(&far, 7, Interest::Read).unwrap();
        for nanos in [SPIN_BEFORE_DEADLINE_NS / 2, u64::MAX / 4] {
            SpinBudget::new().wait_for_ready_descriptor(&mut poller, nanos).unwrap();
            assert_eq!(Some(7), poller.ready().next().map(|ready| ready.token));
        }
    }
}
