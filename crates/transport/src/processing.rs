//! Random processing time of a sender's host, which removes phase effects (Floyd and Jacobson 1992).
//!
//! The rule is that of ns-2 2.35 (`overhead_` in tcp.cc, `send_much`). The first packet that may leave draws a time, uniform from zero to
//! the maximum, and waits for it. Other packets wait for the same time and draw none. Then all packets leave that may leave at that moment.
//! Packets therefore keep their order, and none waits longer than the maximum. The send time of a packet is the time at which it leaves, so
//! RTT samples do not include the wait.

use ecnlab_units::{Rng, Span, Time};

/// Processing time of one sender.
#[derive(Clone, Debug)]
pub struct ProcessingTime {
    max: Span,
    rng: Rng,
    pending: Option<PendingWait>,
    /// The wait is over, and all packets may leave.
    is_over: bool,
}

/// A running wait.
#[derive(Clone, Copy, Debug)]
struct PendingWait {
    since: Time,
    until: Time,
}

impl ProcessingTime {
    /// Times uniform from zero to `max`, which is above zero.
    pub fn new(max: Span, rng: Rng) -> ProcessingTime {
        ProcessingTime { max, rng, pending: None, is_over: false }
    }

    /// Processing time for a further connection, with an independent random stream.
    pub fn for_next_connection(&mut self) -> ProcessingTime {
        let rng = self.rng.for_purpose("connection");
        self.rng.next_u64();
        ProcessingTime::new(self.max, rng)
    }

    /// End of the wait, if one is running.
    pub fn deadline(&self) -> Option<Time> {
        self.pending.map(|pending| pending.until)
    }

    /// Whether a packet may leave now; if not, starts a wait unless one is running.
    pub fn may_send_or_start_wait(&mut self, now: Time) -> bool {
        if !self.is_over && self.pending.is_none() {
            self.pending = Some(PendingWait { since: now, until: now + Span::from_picos(self.rng.below(self.max.picos())) });
        }
        self.is_over
    }

    /// Ends the wait if its time is over.
    pub fn on_timer(&mut self, now: Time) {
        self.is_over = self.pending.is_some_and(|pending| pending.until <= now);
    }

    /// Ends a transmission after the wait; the next packet draws a new time.
    pub fn clear_finished_wait(&mut self) {
        if std::mem::take(&mut self.is_over) {
            self.pending = None;
        }
    }

    /// Time at which a packet that leaves now could have left without the wait.
    pub fn wait_start_or_now(&self, now: Time) -> Time {
        self.pending.filter(|_| self.is_over).map_or(now, |pending| pending.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_PROCESSING_TIME: Span = Span::from_millis(8);

    fn processing() -> ProcessingTime {
        ProcessingTime::new(MAX_PROCESSING_TIME, Rng::for_role(1, "processing time"))
    }

    /// Wait of a packet that arrives now.
    fn wait(processing: &mut ProcessingTime, now: Time) -> Span {
        assert!(!processing.may_send_or_start_wait(now));
        let until = processing.deadline().unwrap();
        processing.on_timer(until);
        assert!(processing.may_send_or_start_wait(until));
        assert_eq!(now, processing.wait_start_or_now(until));
        processing.clear_finished_wait();
        assert_eq!(None, processing.deadline());
        until.since(now)
    }

    #[test]
    fn waits_are_uniform_from_zero_to_the_maximum() {
        const DRAWS: u32 = 100_000;
        let mut processing = processing();
        let mut bins = [0u32; 10];
        for number in 0..u64::from(DRAWS) {
            let wait = wait(&mut processing, Time::ZERO + Span::from_millis(10 * number));
            bins[(wait.picos() * 10 / MAX_PROCESSING_TIME.picos()) as usize] += 1;
        }
        let expected = f64::from(DRAWS) / 10.0;
        let chi_squared: f64 = bins.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
        assert!(chi_squared < 27.9, "chi squared with 9 degrees of freedom is below 27.9 with probability 0.999: {chi_squared} {bins:?}");
    }

    #[test]
    fn a_packet_that_comes_during_a_wait_waits_for_its_end_and_no_longer() {
        let mut processing = processing();
        assert!(!processing.may_send_or_start_wait(Time::ZERO));
        let until = processing.deadline();
        let later = Time::ZERO + Span::from_micros(1);
        assert!(!processing.may_send_or_start_wait(later));
        assert_eq!(until, processing.deadline());
        processing.on_timer(later);
        assert!(!processing.may_send_or_start_wait(later), "another timer does not end the wait");
        processing.clear_finished_wait();
        assert_eq!(until, processing.deadline());
    }

    #[test]
    fn every_connection_draws_from_a_stream_of_its_own() {
        let mut host = processing();
        let [mut first, mut second] = [(); 2].map(|()| host.for_next_connection());
        assert_ne!(wait(&mut first, Time::ZERO), wait(&mut second, Time::ZERO));
    }
}
