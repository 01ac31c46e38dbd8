//! The receive window in bytes, and the persist timer that probes a window which stays too small (RFC 9293, sections 3.8.6 and 3.8.6.1).
//!
//! ```text
//! fits      segments that end within `bytes` bytes of the first unacknowledged one; no segment is split to fit
//! probes    while nothing is outstanding and the next segment does not fit:
//!           the first after an RTO, the next after twice that, and so on; a reply restarts the sequence
//!           an RTO below 200 ms counts as 200 ms                                                    (Linux tcp_probe0_base)
//! a probe   is the part of the next segment that fits. If nothing fits, it is a segment without data before `snd_una`,
//!           which the peer acknowledges at once                        (Linux tcp_write_wakeup, tcp_probe0_when, tcp_ack_probe)
//! ```
//!
//! The window grows and shrinks with ACKs of new data; an ACK without new data can only widen it.

use ecnlab_units::Time;

use super::{SenderOutput, Tcb};
use crate::segment::{Ack, Segment};

/// Maximum doublings of the probe interval, and maximum probes counted (Linux tcp_probe0_when, tcp_retries2).
const MAX_PROBE_DOUBLINGS: u32 = 10;
const MAX_COUNTED_PROBES: u32 = 15;

/// Window advertised by the peer, and the state of its probes.
#[derive(Clone, Copy, Debug)]
pub struct AdvertisedWindow {
    /// Bytes from the first unacknowledged segment; [`Ack::WINDOW_UNLIMITED`] while the peer advertises no window.
    bytes: u32,
    /// The last ACK with a window updated it.
    updated_by_last_ack: bool,
    /// Deadline of the next probe.
    probe_at: Option<Time>,
    /// Probes whose replies did not open the window.
    unanswered_probes: u32,
}

impl Default for AdvertisedWindow {
    fn default() -> AdvertisedWindow {
        AdvertisedWindow { bytes: Ack::WINDOW_UNLIMITED, updated_by_last_ack: false, probe_at: None, unanswered_probes: 0 }
    }
}

impl Tcb {
    /// Updates the receive window from an ACK, before the rest of the ACK is processed. `reduces` returns whether a congestion reduction of
    /// cwnd is in progress.
    #[inline]
    pub fn process_rwnd(&mut self, ack: &Ack, reduces: impl FnOnce() -> bool, now: Time, out: &mut impl SenderOutput) {
        if ack.window != Ack::WINDOW_UNLIMITED {
            self.update_snd_wnd(ack, reduces(), now, out);
        }
    }

    fn update_snd_wnd(&mut self, ack: &Ack, reduces: bool, now: Time, out: &mut impl SenderOutput) {
        let advertised = self.advertised_window.get_or_insert_default();
        advertised.updated_by_last_ack =
            ack.next > self.snd_una || ack.next == self.snd_una && (!self.uses_rwnd || ack.window > advertised.bytes);
        if advertised.updated_by_last_ack {
            self.set_rwnd_from_ack(ack, reduces, now, out);
        }
    }

    fn set_rwnd_from_ack(&mut self, ack: &Ack, reduces: bool, now: Time, out: &mut impl SenderOutput) {
        self.uses_rwnd = true;
        let advertised = self.advertised_window.get_or_insert_default();
        let changed = advertised.bytes != ack.window;
        advertised.bytes = ack.window;
        if ack.next > self.snd_una {
            advertised.unanswered_probes = 0;
        }
        self.send_buffer.on_rwnd(ack.window, self.snd_max);
        self.rwnd_right_edge = ack.next + self.send_buffer.segments_fitting(ack.next, ack.window);
        if changed && self.outstanding_segments() == 0 && self.snd_max < self.queued_segments() {
            self.restart_after_idle(reduces, now, out);
        }
    }

    /// Whether the current ACK updates the window, or acknowledges new data.
    pub fn is_new_ack_or_window_update(&self, ack: &Ack) -> bool {
        if ack.window == Ack::WINDOW_UNLIMITED {
            return ack.next > self.snd_una;
        }
        self.advertised_window.as_ref().is_some_and(|advertised| advertised.updated_by_last_ack)
    }

    /// Recomputes how many segments fit after the segments to send have changed.
    pub(super) fn recompute_rwnd_right_edge(&mut self) {
        if let Some(advertised) = self.advertised_window.as_ref().filter(|_| self.uses_rwnd) {
            self.rwnd_right_edge = self.snd_una + self.send_buffer.segments_fitting(self.snd_una, advertised.bytes);
        }
    }

    /// Deadline of the next window probe.
    #[inline]
    pub fn window_probe_deadline(&self) -> Option<Time> {
        if self.uses_rwnd { self.advertised_window.as_ref().and_then(|advertised| advertised.probe_at) } else { None }
    }

    /// Whether the next segment waits for the receive window while nothing is outstanding.
    fn is_blocked_by_rwnd(&self) -> bool {
        self.outstanding_segments() == 0 && self.snd_max < self.queued_segments() && self.snd_max >= self.rwnd_right_edge
    }

    /// Sets or clears the probe timer after a transmission. `was_idle`: an ACK arrived with nothing outstanding, so it answers a probe or
    /// opens the window.
    #[inline]
    pub fn update_probe_timer(&mut self, was_idle: bool, now: Time) {
        if self.uses_rwnd {
            self.set_or_clear_probe_timer(was_idle, now);
        }
    }

    fn set_or_clear_probe_timer(&mut self, was_idle: bool, now: Time) {
        let (is_blocked, AdvertisedWindow { probe_at, unanswered_probes, .. }) = (self.is_blocked_by_rwnd(), self.rwnd_state());
        if !is_blocked {
            let advertised = self.advertised_window.get_or_insert_default();
            advertised.probe_at = None;
            if was_idle {
                advertised.unanswered_probes = 0;
            }
        } else if was_idle {
            self.set_probe_deadline_after(unanswered_probes, now);
        } else if probe_at.is_none() {
            self.set_probe_deadline_after(0, now);
        }
    }

    /// The advertised window and its probes.
    fn rwnd_state(&self) -> AdvertisedWindow {
        self.advertised_window.as_deref().copied().unwrap_or_default()
    }

    fn set_probe_deadline_after(&mut self, doublings: u32, now: Time) {
        let deadline = self.probe_deadline_after(doublings, now);
        self.advertised_window.get_or_insert_default().probe_at = Some(deadline);
    }

    fn probe_deadline_after(&self, doublings: u32, now: Time) -> Time {
        let wait = self.rto().max(self.rtt_estimator.min_window_probe_wait(&self.settings)) * (1 << doublings.min(MAX_PROBE_DOUBLINGS));
        self.rtt_estimator.clock().timer_expiry(now, wait.min(self.settings.quirks.rto_max))
    }

    /// Sends a window probe. If a part of the next segment fits, that part becomes a segment, which recovery sends; returns whether it
    /// does. Otherwise sends a segment without data.
    pub fn send_window_probe_or_split_segment(&mut self, now: Time, out: &mut impl SenderOutput) -> bool {
        let advertised = self.advertised_window.get_or_insert_default();
        advertised.probe_at = None;
        let bytes = advertised.bytes;
        if !self.is_blocked_by_rwnd() {
            return false;
        }
        if bytes > 0 {
            self.send_buffer.split_segment_with_psh(self.snd_max, bytes.min(self.send_buffer.segment_payload(self.snd_max)), self.snd_max);
            self.recompute_rwnd_right_edge();
            self.advertised_window.get_or_insert_default().unanswered_probes = 0;
            return true;
        }
        let size = self.settings.quirks.ack_size + self.accecn_option_bytes();
        let probe = Segment { ecn: self.pure_ack_codepoint(), ..Segment::window_probe(self.snd_una, size) };
        out.send(if self.ecn.is_accurate() { self.with_accurate_fields(probe) } else { probe });
        self.counters.sent += 1;
        let unanswered_probes = (self.rwnd_state().unanswered_probes + 1).min(MAX_COUNTED_PROBES);
        self.advertised_window.get_or_insert_default().unanswered_probes = unanswered_probes;
        self.set_probe_deadline_after(unanswered_probes, now);
        false
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ecnlab_units::Span;

    use super::*;
    use crate::application::AppWrite;
    use crate::clock::HostClock;
    use crate::profile;
    use crate::segment::SegmentType;
    use crate::sender::Sender;
    use crate::settings::{Quirks, ReceiveWindow, RecoveryName, TcpSettings};

    /// Host with ticks of 4 ms at 4 k - 1 ms, and the segments that it has sent.
    struct TestHost {
        sender: Sender,
        sent: Vec<Segment>,
    }

    impl TestHost {
        /// Connection opened after 40.05 ms with a SYN-ACK that advertises `window` bytes.
        fn opened(settings: TcpSettings, bytes: u64, window: u32) -> TestHost {
            let settings = TcpSettings {
                receive_window: ReceiveWindow::Fixed,
                quirks: Quirks { tick: Span::from_millis(4), ..settings.quirks },
                ..settings
            };
            let clock = HostClock::new(&settings, Span::from_millis(493 * 4 + 1));
            let mut host = TestHost { sender: Sender::new(Arc::new(settings), &AppWrite::then_close(bytes), clock), sent: Vec::new() };
            host.sender.start(Time::ZERO, &mut host.sent);
            host.acknowledge(Ack { segment_type: SegmentType::Syn, window, ..Ack::plain(1, 60) }, 40_050);
            host
        }

        fn acknowledge(&mut self, ack: Ack, micros: u64) {
            self.sender.on_ack(&ack, Time::ZERO + Span::from_micros(micros), &mut self.sent);
        }

        fn ack_with_window(&mut self, next: u64, window: u32, micros: u64) {
            self.acknowledge(Ack { window, echo: Time::ZERO + Span::from_micros(micros - 41_200), ..Ack::plain(next, 52) }, micros);
        }

        /// Runs the next timer; returns its time in ms and the segments sent.
        fn fire_next_timer(&mut self) -> (u64, Vec<Segment>) {
            let at = self.sender.deadline().expect("a timer");
            self.sent.clear();
            self.sender.on_timer(at, &mut self.sent);
            (at.picos() / Span::from_millis(1).picos(), std::mem::take(&mut self.sent))
        }

        /// Sequence numbers and payloads of the data sent since the last call.
        fn take_sent_data(&mut self) -> Vec<(u64, u32)> {
            let data = std::mem::take(&mut self.sent)
                .into_iter()
                .filter(|segment| segment.segment_type != SegmentType::PureAck && segment.seq > 0);
            data.map(|segment| (segment.seq, segment.size - 52)).collect()
        }
    }

    #[test]
    fn only_whole_segments_go_into_a_window() {
        let mut host = TestHost::opened(profile::tcp_settings_of("linux"), 100_000, 3 * 1448 + 1447);
        assert_eq!(vec![(1, 1448), (2, 1448), (3, 1448)], host.take_sent_data());
        host.ack_with_window(2, 2 * 1448, 81_300);
        assert!(host.take_sent_data().is_empty(), "two are outstanding, and there is room for two");
        host.ack_with_window(2, 2 * 1448 - 1, 81_400);
        host.ack_with_window(2, 3 * 1448, 81_500);
        assert_eq!(vec![(4, 1448)], host.take_sent_data(), "what acknowledges nothing new can only widen the window");
    }

    #[test]
    fn a_window_that_stays_shut_is_probed_ever_later() {
        // As in cubic-zero-window: the first probe is the data that fits, the second a segment without data. The RTO is 240.2 ms, which are
        // 61 ticks. From tick 513 on the timer fires at tick 575, from 585 at 647. Twice that from tick 657 fires at 784, a multiple of 8,
        // and four times from 794 at 1040.
        let mut host = TestHost::opened(profile::tcp_settings_of("linux"), 100_000, 2 * 1448);
        host.ack_with_window(3, 1064, 81_300);
        let (at, sent) = host.fire_next_timer();
        assert_eq!((327, vec![(3, 1064, true)]), (at, sent.iter().map(|part| (part.seq, part.size - 52, part.push)).collect()));
        host.ack_with_window(4, 0, 368_200);
        assert_eq!((615, vec![Segment::window_probe(4, 52)]), host.fire_next_timer());
        host.ack_with_window(4, 0, 655_200);
        assert_eq!((1163, vec![Segment::window_probe(4, 52)]), host.fire_next_timer());
        host.ack_with_window(4, 0, 1_203_200);
        assert_eq!((2187, vec![Segment::window_probe(4, 52)]), host.fire_next_timer());
        host.ack_with_window(4, 59_648, 2_228_000);
        assert_eq!(vec![(4, 384), (5, 1448)], host.take_sent_data()[..2], "the rest of the segment goes by itself");
        assert!(host.sender.deadline().unwrap() < Time::ZERO + Span::from_secs(3), "no probe is due any more");
    }

    #[test]
    fn a_route_with_a_smaller_minimum_leaves_the_first_probe_its_200_ms() {
        // The RTO is about 92 ms. 200 ms are 50 ticks: from tick 513 on the timer fires at tick 564, from 574 at 625.
        let settings = TcpSettings { rto_min: Span::from_millis(50), ..profile::tcp_settings_of("linux") };
        let mut host = TestHost::opened(settings, 100_000, 2 * 1448);
        host.ack_with_window(3, 1064, 81_300);
        assert_eq!(283, host.fire_next_timer().0);
        host.ack_with_window(4, 0, 324_200);
        assert_eq!((527, vec![Segment::window_probe(4, 52)]), host.fire_next_timer());
    }

    #[test]
    fn a_probe_s_wait_is_bounded() {
        let mut host = TestHost::opened(
            TcpSettings { quirks: Quirks { rto_max: Span::from_secs(2), ..profile::quirks("linux") }, ..profile::tcp_settings_of("linux") },
            100_000,
            1448,
        );
        host.ack_with_window(2, 0, 81_300);
        let mut times = vec![81];
        for _ in 0..6 {
            let (at, sent) = host.fire_next_timer();
            assert_eq!(vec![Segment::window_probe(2, 52)], sent);
            times.push(at);
        }
        let waits: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(waits.is_sorted() && waits[4..].iter().all(|&wait| (1999..=2260).contains(&wait)), "{waits:?}");
    }

    #[test]
    fn every_recovery_keeps_to_the_window() {
        for recovery in [RecoveryName::Reno, RecoveryName::NewReno, RecoveryName::Sack] {
            let mut host = TestHost::opened(TcpSettings { recovery, ..profile::tcp_settings_of("linux") }, 100_000, 2 * 1448);
            assert_eq!(vec![(1, 1448), (2, 1448)], host.take_sent_data(), "{recovery}");
            host.ack_with_window(3, 1000, 81_300);
            let (_, sent) = host.fire_next_timer();
            assert_eq!(vec![(3, 1000)], sent.iter().map(|part| (part.seq, part.size - 52)).collect::<Vec<_>>(), "{recovery}");
        }
    }
}
