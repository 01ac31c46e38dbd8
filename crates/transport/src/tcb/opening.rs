//! The sender's part of the three-way handshake, and what it settles about ECN (RFC 9293, section 3.5; RFC 3168, section 6.1.1).
//!
//! ```text
//! a lost SYN     initial window             timeout for data                       ECN
//! rfc6298        1                          at least 3 s                           not used
//! sample         1 after the second one     of the sample by the answer's          used if the answer agrees to the first SYN's offer;
//!                                           timestamp, 3 s where there is none     the first data carries CWR, as a timeout cuts
//! ```
//!
//! A SYN that was sent again for nothing, as the timestamp of the first one in the answer shows, costs no window (Linux
//! tcp_try_undo_spurious_syn).

use ecnlab_units::{Ecn, Span, Time};

use super::{Output, Tcb};
use crate::segment::{Ack, Role, Segment};
use crate::settings::{IdleRestart, LostSyn};
use crate::window::CongestionControl;

/// The retransmission timeout for data after a SYN that had to be sent again, where nothing says how long a round trip takes (RFC 6298,
/// section 5.7).
const RTO_AFTER_LOST_SYN: Span = Span::from_secs(3);
/// SYNs sent again that cost no window.
const HARMLESS: u64 = 1;

impl Tcb {
    /// Sends the SYN.
    pub fn open(&mut self, now: Time, out: &mut impl Output) {
        self.transmit(0, now, out);
        self.next = 1;
    }

    /// The SYN has been answered.
    pub fn opened(&mut self, ack: &Ack, now: Time, out: &mut impl Output) {
        self.ecn.settle(ack);
        let sent_again = self.counters.retransmitted_timeout;
        self.retransmit_at = None;
        self.una = 1;
        self.last_cut.open();
        self.plan.pass(self.una);
        let first_sent = self.timed.take().map(|(_, sent)| sent);
        match self.settings.lost_syn {
            LostSyn::Rfc6298 => self.begin_by_rule(sent_again, ack, now, out),
            LostSyn::Sample => self.begin_by_sample(sent_again, first_sent, ack, now, out),
        }
        if self.settings.idle_restart == IdleRestart::Halve {
            // The time in which nobody wrote anything begins here.
            self.last_sent = now;
        }
    }

    fn begin_by_rule(&mut self, sent_again: u64, ack: &Ack, now: Time, out: &mut impl Output) {
        if sent_again > 0 {
            self.estimator.restart_at(RTO_AFTER_LOST_SYN);
            self.initial_window = 1;
        } else {
            self.rtt.sample(ack, now);
            self.take_handshake_sample(ack.echo, now, now);
        }
        self.open_window(out);
    }

    fn begin_by_sample(&mut self, sent_again: u64, first_sent: Option<Time>, ack: &Ack, now: Time, out: &mut impl Output) {
        let (echo, timestamps) = (self.millis(ack.echo), self.settings.timestamps);
        let sample = match sent_again {
            0 => Some(now.since(ack.echo)),
            _ => timestamps.then(|| Span::from_millis((self.millis(now) - echo).max(1))),
        };
        match sample.filter(|_| self.settings.handshake_sample) {
            Some(sample) => self.take_round_trip(sample, now),
            None => self.estimator.restart_at(RTO_AFTER_LOST_SYN),
        }
        if sent_again == 0 {
            self.rtt.sample(ack, now);
        }
        let for_nothing = timestamps && first_sent.is_some_and(|sent| self.millis(sent) == echo);
        self.set_ssthresh(self.settings.max_window as f64, out);
        let harmless = sent_again <= HARMLESS || for_nothing;
        self.set_cwnd(if harmless { self.initial_window as f64 } else { 1.0 }, out);
    }

    /// The connection has been opened from the other side; its handshake took `rtt`, if that is known.
    pub fn take_over(&mut self, rtt: Option<Span>, now: Time) {
        self.last_cut.open();
        if let Some(rtt) = rtt {
            let shown = Ack { echo: Time::ZERO, ..Ack::plain(0, 0) };
            self.rtt.sample(&shown, Time::ZERO + rtt);
            self.take_handshake_sample(Time::ZERO, Time::ZERO + rtt, now);
        }
    }

    /// Takes the round-trip time of the handshake, measured from `sent` to `answered` and known `now`. The smallest round-trip time is that of all
    /// samples (RFC 8985, section 6.2, step 1), or a retransmission that is faster than the first flight would not count as delivered.
    fn take_handshake_sample(&mut self, sent: Time, answered: Time, now: Time) {
        if self.settings.handshake_sample {
            self.take_smallest(answered.since(sent).picos() / Span::from_micros(1).picos(), false, now);
            self.estimator.sample(sent, answered, self.point(), &self.settings);
        }
    }

    /// Nobody answered the SYN: it goes again after a doubled timeout, and without ECN, which the path may not let pass (section 6.1.1.1).
    pub fn syn_timed_out(&mut self, now: Time, out: &mut impl Output) {
        self.retransmit_at = None;
        match self.settings.lost_syn {
            LostSyn::Rfc6298 if self.settings.ecn_fallback => self.ecn.give_up(),
            LostSyn::Rfc6298 => {}
            LostSyn::Sample => self.close_window(out),
        }
        self.back_off();
        self.counters.timeouts += 1;
        self.transmit(0, now, out);
    }

    /// The window falls to one segment as after any timeout, until the SYN is answered.
    fn close_window(&mut self, out: &mut impl Output) {
        if self.counters.retransmitted_timeout == 0 {
            let left = self.control.left_by_loss(self.window.cwnd);
            self.set_ssthresh(left.max(self.settings.min_window as f64), out);
        }
        self.set_cwnd(1.0, out);
        self.ecn.owe_cwr();
    }

    /// An acknowledgement without data, which closes a handshake.
    pub fn send_pure_ack(&mut self, out: &mut impl Output) {
        out.send(Segment { role: Role::Pure, ecn: self.bare_codepoint(), ..Segment::plain(self.high, self.settings.ack_size) });
        self.counters.sent += 1;
    }

    /// Of a packet without data.
    pub(super) fn bare_codepoint(&self) -> Ecn {
        if self.ecn.in_use() && self.settings.ect_on_all() { self.settings.codepoint.ecn() } else { Ecn::NotEct }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::application::Demand;
    use crate::clock::HostClock;
    use crate::profile;
    use crate::sender::Sender;
    use crate::settings::Settings;

    #[derive(Default)]
    struct Sent(Vec<Segment>);

    impl Output for Sent {
        fn send(&mut self, segment: Segment) {
            self.0.push(segment);
        }
    }

    fn at(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    /// A host with ticks of 4 ms at 4 k - 1 ms whose SYN was not answered so often, and when it sent them.
    fn opening(settings: Settings, lost: usize) -> (Sender, Sent, Vec<Time>) {
        let settings = Settings { congestion: crate::settings::CongestionName::Reno, ..settings };
        let clock = HostClock::new(&settings, Span::from_millis(493 * 4 + 1));
        let mut sender = Sender::new(Arc::new(settings), &Demand::closing(86_880), clock);
        let mut sent = Sent::default();
        sender.start(Time::ZERO, &mut sent);
        let mut times = vec![Time::ZERO];
        for _ in 0..lost {
            let at = sender.deadline().unwrap();
            sender.expire(at, &mut sent);
            times.push(at);
        }
        (sender, sent, times)
    }

    fn answer(sender: &mut Sender, sent: &mut Sent, echo: Time, ece: bool, now: Time) {
        let syn_ack = Ack { role: Role::Syn, ece, echo, echo_retransmission: echo > Time::ZERO, window: 65_535, ..Ack::plain(1, 60) };
        sent.0.clear();
        sender.acknowledge(&syn_ack, now, sent);
    }

    fn host() -> Settings {
        Settings { ecn: true, tick: Span::from_millis(4), ..profile::settings("linux") }
    }

    #[test]
    fn a_lost_syn_answer_costs_a_timeout_and_no_window() {
        // reno-ecn-synack-lost: the second SYN offers no ECN, the answer echoes the first one's timestamp and agrees to its offer. The window is
        // 1 and the threshold 5 from the timeout to the answer, then ten segments go, the first of them with CWR.
        let (mut sender, mut sent, times) = opening(host(), 1);
        assert_eq!(vec![0, 1003], times.iter().map(|time| time.picos() / Span::from_millis(1).picos()).collect::<Vec<_>>());
        assert_eq!((1.0, 5.0), (sender.window().cwnd, sender.window().ssthresh));
        let offers: Vec<_> = sent.0.iter().map(|syn| (syn.ece, syn.cwr, syn.ecn)).collect();
        assert_eq!(vec![(true, true, Ecn::NotEct), (false, false, Ecn::NotEct)], offers);
        answer(&mut sender, &mut sent, Time::ZERO, true, at(1_043_050));
        assert_eq!((10.0, host().max_window as f64), (sender.window().cwnd, sender.window().ssthresh));
        let data: Vec<_> = sent.0.iter().filter(|segment| segment.role == Role::Plain).map(|data| (data.ecn, data.cwr)).collect();
        assert_eq!((10, (Ecn::Ect0, true), (Ecn::Ect0, false)), (data.len(), data[0], data[1]));
    }

    #[test]
    fn a_window_of_one_follows_the_second_lost_syn_and_none_that_was_answered() {
        let window = |lost: usize, echoed: usize| {
            let (mut sender, mut sent, times) = opening(host(), lost);
            let last = times[lost];
            answer(&mut sender, &mut sent, times[echoed], false, last + Span::from_millis(40));
            sender.window().cwnd
        };
        assert_eq!([10.0, 10.0, 1.0, 1.0, 10.0], [window(0, 0), window(1, 1), window(2, 2), window(2, 1), window(2, 0)]);
    }

    #[test]
    fn the_timeout_for_data_is_that_of_the_sample_by_timestamp() {
        // After a lost SYN 40 ms + 200 ms; after a lost answer the 1043 ms since the first SYN, and twice that (cubic-syn-lost, reno-ecn-synack-lost).
        // Without timestamps 3 s (RFC 6298, section 5.7). Then up to two ticks more.
        for (timestamps, echoed, expected) in [(true, 1, 240..248), (true, 0, 3129..3137), (false, 1, 3000..3264)] {
            let (mut sender, mut sent, times) = opening(Settings { timestamps, tlp: false, ..host() }, 1);
            let now = at(1_043_050);
            answer(&mut sender, &mut sent, times[echoed], false, now);
            let timeout = sender.deadline().unwrap().since(now).picos() / Span::from_millis(1).picos();
            assert!(expected.start <= timeout && timeout < expected.end + 256, "{timeout} ms after {timestamps} {echoed}");
        }
    }
}
