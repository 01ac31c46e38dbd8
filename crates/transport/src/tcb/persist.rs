//! The window that the other side offers, in bytes, and the timer that probes one which stays too small (RFC 9293, sections 3.8.6 and 3.8.6.1).
//!
//! ```text
//! fits      segments that end within `offered` bytes of the first that is not acknowledged; none is cut to fit
//! probes    while nothing is outstanding and the next segment does not fit:
//!           the first after a retransmission timeout, the next after twice that, and so on; an answer starts the wait anew
//!           a timeout below 200 ms counts as that                                                   (Linux tcp_probe0_base)
//! a probe   is what fits of the next segment, or, where nothing does, a segment without data before all that is not acknowledged,
//!           which is answered at once                                  (Linux tcp_write_wakeup, tcp_probe0_when, tcp_ack_probe)
//! ```
//!
//! What is offered grows and shrinks with acknowledgements of more; one that acknowledges nothing new can only widen it.

use ecnlab_units::Time;

use super::{Output, Tcb};
use crate::segment::{Ack, Segment};

/// Most doublings of the wait, and most that are counted (Linux tcp_probe0_when, tcp_retries2).
const MOST_DOUBLINGS: u32 = 10;
const MOST_COUNTED: u32 = 15;

/// What the other side offers, and the probes of it.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// Bytes beyond the first segment that is not acknowledged; [`Ack::ANY`] as long as the other side says nothing of it.
    bytes: u32,
    /// The last acknowledgement that told of it brought news.
    updated: bool,
    /// When to probe.
    probe_at: Option<Time>,
    /// Probes without an answer that opened the window.
    probes: u32,
}

impl Default for Offer {
    fn default() -> Offer {
        Offer { bytes: Ack::ANY, updated: false, probe_at: None, probes: 0 }
    }
}

impl Tcb {
    /// Takes the offered window from an acknowledgement, before anything else of it. The congestion window may come down for a cut (`reduces`).
    #[inline]
    pub fn take_window(&mut self, ack: &Ack, reduces: impl FnOnce() -> bool, now: Time, out: &mut impl Output) {
        if ack.window != Ack::ANY {
            self.hear_window(ack, reduces(), now, out);
        }
    }

    fn hear_window(&mut self, ack: &Ack, reduces: bool, now: Time, out: &mut impl Output) {
        self.offer.updated = ack.next > self.una || ack.next == self.una && (!self.hears_window || ack.window > self.offer.bytes);
        if self.offer.updated {
            self.take_offer(ack, reduces, now, out);
        }
    }

    fn take_offer(&mut self, ack: &Ack, reduces: bool, now: Time, out: &mut impl Output) {
        self.hears_window = true;
        let changed = self.offer.bytes != ack.window;
        self.offer.bytes = ack.window;
        if ack.next > self.una {
            self.offer.probes = 0;
        }
        self.plan.hear(ack.window, self.high);
        self.room = ack.next + self.plan.segments_within(ack.next, ack.window);
        if changed && self.outstanding() == 0 && self.high < self.available() {
            self.restart_after_idle(reduces, now, out);
        }
    }

    /// Whether an acknowledgement, which is at hand, has told of the window, or of more than was acknowledged.
    pub fn is_window_update(&self, ack: &Ack) -> bool {
        if ack.window == Ack::ANY { ack.next > self.una } else { self.offer.updated }
    }

    /// What there is to send has changed: how much of it fits.
    pub(super) fn find_room(&mut self) {
        if self.hears_window {
            self.room = self.una + self.plan.segments_within(self.una, self.offer.bytes);
        }
    }

    /// When the window is to be probed.
    #[inline]
    pub fn probe_at(&self) -> Option<Time> {
        if self.hears_window { self.offer.probe_at } else { None }
    }

    /// Whether the next segment waits for the window while nothing is outstanding.
    fn is_shut(&self) -> bool {
        self.outstanding() == 0 && self.high < self.available() && self.high >= self.room
    }

    /// What might be sent has been: sets the timer of the probes, or ends it. `was_idle` says that an acknowledgement came with nothing
    /// outstanding, so that it answers a probe or opens the window.
    #[inline]
    pub fn watch_window(&mut self, was_idle: bool, now: Time) {
        if self.hears_window {
            self.set_probe_timer(was_idle, now);
        }
    }

    fn set_probe_timer(&mut self, was_idle: bool, now: Time) {
        if !self.is_shut() {
            self.offer.probe_at = None;
            if was_idle {
                self.offer.probes = 0;
            }
        } else if was_idle {
            self.offer.probe_at = Some(self.probe_time(self.offer.probes, now));
        } else if self.offer.probe_at.is_none() {
            self.offer.probe_at = Some(self.probe_time(0, now));
        }
    }

    fn probe_time(&self, doublings: u32, now: Time) -> Time {
        let wait = self.timeout().max(self.estimator.least_probe_wait(&self.settings)) * (1 << doublings.min(MOST_DOUBLINGS));
        self.estimator.clock().expiry(now, wait.min(self.settings.rto_max))
    }

    /// A probe is due. If there is room for a part of the next segment, that part is made a segment, which is for recovery to send; returns
    /// whether it is. Else a segment without data goes.
    pub fn probe(&mut self, now: Time, out: &mut impl Output) -> bool {
        self.offer.probe_at = None;
        if !self.is_shut() {
            return false;
        }
        if self.offer.bytes > 0 {
            self.plan.split(self.high, self.offer.bytes.min(self.plan.payload(self.high)), self.high);
            self.find_room();
            self.offer.probes = 0;
            return true;
        }
        out.send(Segment { ecn: self.bare_codepoint(), ..Segment::probe(self.una, self.settings.ack_size) });
        self.counters.sent += 1;
        self.offer.probes = (self.offer.probes + 1).min(MOST_COUNTED);
        self.offer.probe_at = Some(self.probe_time(self.offer.probes, now));
        false
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ecnlab_units::Span;

    use super::*;
    use crate::application::Demand;
    use crate::clock::HostClock;
    use crate::profile;
    use crate::segment::Role;
    use crate::sender::Sender;
    use crate::settings::{ReceiveWindow, RecoveryName, Settings};

    #[derive(Default)]
    struct Sent(Vec<Segment>);

    impl Output for Sent {
        fn send(&mut self, segment: Segment) {
            self.0.push(segment);
        }
    }

    /// A host with ticks of 4 ms at 4 k - 1 ms, and what it has sent.
    struct Host {
        sender: Sender,
        sent: Sent,
    }

    impl Host {
        /// Opened with a SYN-ACK that offers so many bytes, after 40.05 ms.
        fn opened(settings: Settings, bytes: u64, window: u32) -> Host {
            let settings = Settings { tick: Span::from_millis(4), receive_window: ReceiveWindow::Fixed, ..settings };
            let clock = HostClock::new(&settings, Span::from_millis(493 * 4 + 1));
            let mut host = Host { sender: Sender::new(Arc::new(settings), &Demand::closing(bytes), clock), sent: Sent::default() };
            host.sender.start(Time::ZERO, &mut host.sent);
            host.acknowledge(Ack { role: Role::Syn, window, ..Ack::plain(1, 60) }, 40_050);
            host
        }

        fn acknowledge(&mut self, ack: Ack, micros: u64) {
            self.sender.acknowledge(&ack, Time::ZERO + Span::from_micros(micros), &mut self.sent);
        }

        fn hear(&mut self, next: u64, window: u32, micros: u64) {
            self.acknowledge(Ack { window, echo: Time::ZERO + Span::from_micros(micros - 41_200), ..Ack::plain(next, 52) }, micros);
        }

        /// What is sent at the next timer, and when in ms.
        fn wake(&mut self) -> (u64, Vec<Segment>) {
            let at = self.sender.deadline().expect("a timer");
            self.sent.0.clear();
            self.sender.expire(at, &mut self.sent);
            (at.picos() / Span::from_millis(1).picos(), std::mem::take(&mut self.sent.0))
        }

        /// Numbers and payloads of the data sent since this was asked last.
        fn data(&mut self) -> Vec<(u64, u32)> {
            let data = std::mem::take(&mut self.sent.0).into_iter().filter(|segment| segment.role != Role::Pure && segment.seq > 0);
            data.map(|segment| (segment.seq, segment.size - 52)).collect()
        }
    }

    #[test]
    fn only_whole_segments_go_into_a_window() {
        let mut host = Host::opened(profile::settings("linux"), 100_000, 3 * 1448 + 1447);
        assert_eq!(vec![(1, 1448), (2, 1448), (3, 1448)], host.data());
        host.hear(2, 2 * 1448, 81_300);
        assert!(host.data().is_empty(), "two are outstanding, and there is room for two");
        host.hear(2, 2 * 1448 - 1, 81_400);
        host.hear(2, 3 * 1448, 81_500);
        assert_eq!(vec![(4, 1448)], host.data(), "what acknowledges nothing new can only widen the window");
    }

    #[test]
    fn a_window_that_stays_shut_is_probed_ever_later() {
        // As in cubic-zero-window: first goes what fits, then what draws an answer. The timeout is 240.2 ms, which are 61 ticks: from tick 513 on
        // the timer goes off at tick 575, from 585 at 647; twice that from tick 657 at 784, a multiple of 8, and four times from 794 at 1040.
        let mut host = Host::opened(profile::settings("linux"), 100_000, 2 * 1448);
        host.hear(3, 1064, 81_300);
        let (at, sent) = host.wake();
        assert_eq!((327, vec![(3, 1064, true)]), (at, sent.iter().map(|part| (part.seq, part.size - 52, part.push)).collect()));
        host.hear(4, 0, 368_200);
        assert_eq!((615, vec![Segment::probe(4, 52)]), host.wake());
        host.hear(4, 0, 655_200);
        assert_eq!((1163, vec![Segment::probe(4, 52)]), host.wake());
        host.hear(4, 0, 1_203_200);
        assert_eq!((2187, vec![Segment::probe(4, 52)]), host.wake());
        host.hear(4, 59_648, 2_228_000);
        assert_eq!(vec![(4, 384), (5, 1448)], host.data()[..2], "the rest of the segment goes by itself");
        assert!(host.sender.deadline().unwrap() < Time::ZERO + Span::from_secs(3), "no probe is due any more");
    }

    #[test]
    fn a_route_with_a_smaller_minimum_leaves_the_first_probe_its_200_ms() {
        // The timeout is about 92 ms. 200 ms are 50 ticks: from tick 513 on the timer goes off at tick 564, from 574 at 625.
        let settings = Settings { rto_min: Span::from_millis(50), ..profile::settings("linux") };
        let mut host = Host::opened(settings, 100_000, 2 * 1448);
        host.hear(3, 1064, 81_300);
        assert_eq!(283, host.wake().0);
        host.hear(4, 0, 324_200);
        assert_eq!((527, vec![Segment::probe(4, 52)]), host.wake());
    }

    #[test]
    fn a_probe_s_wait_is_bounded() {
        let mut host = Host::opened(Settings { rto_max: Span::from_secs(2), ..profile::settings("linux") }, 100_000, 1448);
        host.hear(2, 0, 81_300);
        let mut times = vec![81];
        for _ in 0..6 {
            let (at, sent) = host.wake();
            assert_eq!(vec![Segment::probe(2, 52)], sent);
            times.push(at);
        }
        let waits: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(waits.is_sorted() && waits[4..].iter().all(|&wait| (1999..=2260).contains(&wait)), "{waits:?}");
    }

    #[test]
    fn every_recovery_keeps_to_the_window() {
        for recovery in [RecoveryName::Reno, RecoveryName::NewReno, RecoveryName::Sack] {
            let mut host = Host::opened(Settings { recovery, ..profile::settings("linux") }, 100_000, 2 * 1448);
            assert_eq!(vec![(1, 1448), (2, 1448)], host.data(), "{recovery}");
            host.hear(3, 1000, 81_300);
            let (_, sent) = host.wake();
            assert_eq!(vec![(3, 1000)], sent.iter().map(|part| (part.seq, part.size - 52)).collect::<Vec<_>>(), "{recovery}");
        }
    }
}
