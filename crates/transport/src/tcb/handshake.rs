//! Sender side of the three-way handshake, with the ECN negotiation (RFC 9293, section 3.5; RFC 3168, section 6.1.1).
//!
//! ```text
//! a lost SYN     initial window             RTO for data                           ECN
//! rfc6298        1                          at least 3 s                           not used
//! sample         1 after the second one     from the RTT by the SYN-ACK's          used if the SYN-ACK accepts the offer of the first SYN;
//!                                           timestamp, 3 s without a timestamp     the first data carries CWR, since the RTO reduced cwnd
//! ```
//!
//! A spurious retransmission of the SYN does not reduce the initial window (Linux tcp_try_undo_spurious_syn). The SYN-ACK then echoes the
//! timestamp of the first SYN.

use ecnlab_units::{Ecn, Span, Time};

use super::{SenderOutput, Tcb};
use crate::accurate_ecn;
use crate::congestion::CongestionControl;
use crate::segment::{Ack, Segment, SegmentType};
use crate::settings::{RtoAndWindowAfterLostSyn, SlowStartAfterIdle};

/// RTO for data after a retransmitted SYN, if there is no RTT sample (RFC 6298, section 5.7).
const RTO_AFTER_LOST_SYN: Span = Span::from_secs(3);
/// SYN retransmissions that do not reduce the initial window.
const SYN_RETRANSMISSIONS_KEEPING_INITIAL_WINDOW: u64 = 1;

impl Tcb {
    /// Sends the SYN.
    pub fn send_syn(&mut self, now: Time, out: &mut impl SenderOutput) {
        self.transmit(0, now, out);
        self.snd_nxt = 1;
    }

    /// Processes the SYN-ACK.
    pub fn on_syn_ack(&mut self, ack: &Ack, now: Time, out: &mut impl SenderOutput) {
        self.ecn.on_syn_ack(ack);
        self.complete_accecn_negotiation(ack);
        let sent_again = self.counters.retransmitted_timeout;
        self.rto_deadline = Time::NEVER;
        self.snd_una = 1;
        self.recovery_point.on_handshake_done();
        self.send_buffer.release_before(self.snd_una);
        let first_sent = self.timed_segment().map(|_| self.timed_segment_sent_at);
        self.cancel_rtt_timing();
        match self.settings.quirks.syn_rtx_rto {
            RtoAndWindowAfterLostSyn::Rfc6298 => self.init_rto_rfc6298(sent_again, ack, now, out),
            RtoAndWindowAfterLostSyn::Sample => self.init_rto_from_syn_rtt(sent_again, first_sent, ack, now, out),
        }
        if self.settings.slow_start_after_idle == SlowStartAfterIdle::Halve {
            // The idle time of the application starts here.
            self.last_sent_at = now;
        }
    }

    fn init_rto_rfc6298(&mut self, sent_again: u64, ack: &Ack, now: Time, out: &mut impl SenderOutput) {
        if sent_again > 0 {
            //= RFC 6298, section 5.7: a timeout of 3 s for data
            self.rtt_estimator.raise_rto_after_lost_syn(RTO_AFTER_LOST_SYN);
            //= RFC 5681, section 3.1: one segment after a lost SYN
            //= RFC 5681, section 3.1: one segment after a lost SYN-ACK
            self.initial_window = 1;
        } else {
            self.rtt_stats.on_ack(ack, now);
            self.sample_handshake_rtt(ack.echo, now, now);
        }
        self.set_initial_window(out);
    }

    fn init_rto_from_syn_rtt(&mut self, sent_again: u64, first_sent: Option<Time>, ack: &Ack, now: Time, out: &mut impl SenderOutput) {
        let (echo, timestamps) = (self.host_clock_millis_at(ack.echo), self.settings.timestamps);
        let sample = match sent_again {
            0 => Some(now.since(ack.echo)),
            _ => timestamps.then(|| Span::from_millis((self.host_clock_millis_at(now) - echo).max(1))),
        };
        match sample.filter(|_| self.settings.quirks.handshake_rtt_sample) {
            Some(sample) => self.on_rtt_sample(sample, now),
            None => self.rtt_estimator.raise_rto_after_lost_syn(RTO_AFTER_LOST_SYN),
        }
        if sent_again == 0 {
            self.rtt_stats.on_ack(ack, now);
        }
        let for_nothing = timestamps && first_sent.is_some_and(|sent| self.host_clock_millis_at(sent) == echo);
        self.set_ssthresh(self.settings.max_rwnd as f64, out);
        let harmless = sent_again <= SYN_RETRANSMISSIONS_KEEPING_INITIAL_WINDOW || for_nothing;
        self.set_cwnd(if harmless { self.initial_window as f64 } else { 1.0 }, out);
    }

    /// Starts a connection that the peer opened; `rtt` is the RTT of its handshake if known.
    pub fn start_established(&mut self, rtt: Option<Span>, now: Time) {
        self.recovery_point.on_handshake_done();
        if let Some(rtt) = rtt {
            let shown = Ack { echo: Time::ZERO, ..Ack::plain(0, 0) };
            self.rtt_stats.on_ack(&shown, Time::ZERO + rtt);
            self.sample_handshake_rtt(Time::ZERO, Time::ZERO + rtt, now);
        }
    }

    /// Records the RTT of the handshake from `sent` to `answered`, known at `now`. The minimum RTT covers all samples (RFC 8985, section
    /// 6.2, step 1): otherwise a retransmission with a shorter RTT than the first flight would not count as delivered.
    fn sample_handshake_rtt(&mut self, sent: Time, answered: Time, now: Time) {
        if self.settings.quirks.handshake_rtt_sample {
            self.update_min_rtt(answered.since(sent).micros(), false, now);
            self.rtt_estimator.on_rtt_sample(sent, answered, self.sample_context(), &self.settings);
        }
    }

    /// Retransmits the SYN after its RTO, with the RTO doubled and without ECN, since the path may drop ECN-setup SYNs (section 6.1.1.1).
    pub fn on_syn_timeout(&mut self, now: Time, out: &mut impl SenderOutput) {
        self.rto_deadline = Time::NEVER;
        match self.settings.quirks.syn_rtx_rto {
            RtoAndWindowAfterLostSyn::Rfc6298 if self.settings.quirks.ecn_fallback && !self.ecn.is_accurate() => self.ecn.disable(),
            RtoAndWindowAfterLostSyn::Rfc6298 => {}
            RtoAndWindowAfterLostSyn::Sample => self.reduce_cwnd_for_lost_syn(out),
        }
        //= RFC 6298, sections 2.1 and 5.5: the second SYN goes after the initial timeout
        if self.counters.timeouts >= self.settings.quirks.syn_linear_timeouts {
            self.back_off_rto();
        }
        self.counters.timeouts += 1;
        self.transmit(0, now, out);
    }

    /// Reduces cwnd to one segment, as after any RTO, until the SYN is answered.
    fn reduce_cwnd_for_lost_syn(&mut self, out: &mut impl SenderOutput) {
        if self.counters.retransmitted_timeout == 0 {
            let left = self.control.ssthresh_after_loss(self.window.cwnd);
            self.set_ssthresh(left.max(self.settings.quirks.min_cwnd as f64), out);
        }
        self.set_cwnd(1.0, out);
        self.ecn.queue_cwr();
    }

    /// Sends the pure ACK that completes the handshake. With Accurate ECN it reflects the ECN field of the SYN-ACK.
    pub fn send_handshake_ack(&mut self, syn_ack: &Ack, out: &mut impl SenderOutput) {
        let mut ack = self.pure_ack();
        if self.uses_accurate_ecn() {
            //= RFC 9768, section 3.2.2.1: the third ACK reflects the SYN-ACK
            ack.set_ace(accurate_ecn::reflect(syn_ack.ecn));
            ack = self.with_option_on_third_packet(ack);
        }
        out.send(ack);
        self.counters.sent += 1;
    }

    /// Sends a pure ACK.
    pub fn send_pure_ack(&mut self, out: &mut impl SenderOutput) {
        out.send(self.pure_ack());
        self.counters.sent += 1;
    }

    fn pure_ack(&self) -> Segment {
        let ack = Segment {
            segment_type: SegmentType::PureAck,
            ecn: self.pure_ack_codepoint(),
            ..Segment::plain(self.snd_max, self.settings.quirks.ack_size + self.accecn_option_bytes())
        };
        if self.ecn.is_accurate() { self.with_accurate_fields(ack) } else { ack }
    }

    /// ECN codepoint of a segment without data.
    pub(super) fn pure_ack_codepoint(&self) -> Ecn {
        if self.ecn.sets_ect() && self.has_ect_on_all_packets() { self.settings.ect_codepoint.ecn() } else { Ecn::NotEct }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::application::AppWrite;
    use crate::clock::HostClock;
    use crate::profile;
    use crate::sender::Sender;
    use crate::settings::{Quirks, TcpSettings};

    fn at(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    /// Host with ticks of 4 ms at 4 k - 1 ms and `lost` unanswered SYNs; returns the send times of the SYNs too.
    fn sender_with_lost_syns(settings: TcpSettings, lost: usize) -> (Sender, Vec<Segment>, Vec<Time>) {
        let settings = TcpSettings { congestion_control: crate::settings::CongestionControlName::Reno, ..settings };
        let clock = HostClock::new(&settings, Span::from_millis(493 * 4 + 1));
        let mut sender = Sender::new(Arc::new(settings), &AppWrite::then_close(86_880), clock);
        let mut sent = Vec::new();
        sender.start(Time::ZERO, &mut sent);
        let mut times = vec![Time::ZERO];
        for _ in 0..lost {
            let at = sender.deadline().unwrap();
            sender.on_timer(at, &mut sent);
            times.push(at);
        }
        (sender, sent, times)
    }

    fn deliver_syn_ack(sender: &mut Sender, sent: &mut Vec<Segment>, echo: Time, ece: bool, now: Time) {
        let syn_ack =
            Ack { segment_type: SegmentType::Syn, ece, echo, echo_retransmission: echo > Time::ZERO, window: 65_535, ..Ack::plain(1, 60) };
        sent.clear();
        sender.on_ack(&syn_ack, now, sent);
    }

    fn linux_settings() -> TcpSettings {
        TcpSettings {
            ecn: true,
            quirks: Quirks { tick: Span::from_millis(4), ..profile::quirks("linux") },
            ..profile::tcp_settings_of("linux")
        }
    }

    #[test]
    fn a_lost_syn_answer_costs_a_timeout_and_no_window() {
        // reno-ecn-synack-lost: the second SYN offers no ECN. The SYN-ACK echoes the first SYN's timestamp and accepts its offer. Cwnd is 1
        // and ssthresh 5 from the RTO to the SYN-ACK; then ten segments go, the first of them with CWR.
        let (mut sender, mut sent, times) = sender_with_lost_syns(linux_settings(), 1);
        assert_eq!(vec![0, 1003], times.iter().map(|time| time.picos() / Span::from_millis(1).picos()).collect::<Vec<_>>());
        assert_eq!((1.0, 5.0), (sender.congestion_window().cwnd, sender.congestion_window().ssthresh));
        let offers: Vec<_> = sent.iter().map(|syn| (syn.ece, syn.cwr, syn.ecn)).collect();
        assert_eq!(vec![(true, true, Ecn::NotEct), (false, false, Ecn::NotEct)], offers);
        deliver_syn_ack(&mut sender, &mut sent, Time::ZERO, true, at(1_043_050));
        assert_eq!((10.0, linux_settings().max_rwnd as f64), (sender.congestion_window().cwnd, sender.congestion_window().ssthresh));
        let data: Vec<_> =
            sent.iter().filter(|segment| segment.segment_type == SegmentType::Plain).map(|data| (data.ecn, data.cwr)).collect();
        assert_eq!((10, (Ecn::Ect0, true), (Ecn::Ect0, false)), (data.len(), data[0], data[1]));
    }

    #[test]
    fn a_window_of_one_follows_the_second_lost_syn_and_none_that_was_answered() {
        let window = |lost: usize, echoed: usize| {
            let (mut sender, mut sent, times) = sender_with_lost_syns(linux_settings(), lost);
            let last = times[lost];
            deliver_syn_ack(&mut sender, &mut sent, times[echoed], false, last + Span::from_millis(40));
            sender.congestion_window().cwnd
        };
        assert_eq!([10.0, 10.0, 1.0, 1.0, 10.0], [window(0, 0), window(1, 1), window(2, 2), window(2, 1), window(2, 0)]);
    }

    #[test]
    fn the_timeout_for_data_is_that_of_the_sample_by_timestamp() {
        // After a lost SYN 40 ms + 200 ms; after a lost SYN-ACK the 1043 ms since the first SYN, and twice that (cubic-syn-lost,
        // reno-ecn-synack-lost). Without timestamps 3 s (RFC 6298, section 5.7). The timer wheel adds up to two ticks.
        for (timestamps, echoed, expected) in [(true, 1, 240..248), (true, 0, 3129..3137), (false, 1, 3000..3264)] {
            let (mut sender, mut sent, times) = sender_with_lost_syns(TcpSettings { timestamps, tlp: false, ..linux_settings() }, 1);
            let now = at(1_043_050);
            deliver_syn_ack(&mut sender, &mut sent, times[echoed], false, now);
            let timeout = sender.deadline().unwrap().since(now).picos() / Span::from_millis(1).picos();
            assert!(expected.start <= timeout && timeout < expected.end + 256, "{timeout} ms after {timestamps} {echoed}");
        }
    }
}
