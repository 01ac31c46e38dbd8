//! TCP sender: passes events to its parts in order.
//!
//! The ECN response handles an ACK's echo first. Loss recovery then processes the ACK, and calls the methods of [`Tcb`] that advance the
//! sequence space, reduce or grow cwnd, and send.

use std::mem::offset_of;
use std::sync::Arc;

use ecnlab_units::{Span, Time};

use crate::application::AppWrite;
use crate::clock::HostClock;
use crate::congestion::CongestionWindow;
use crate::processing::ProcessingTime;
use crate::recovery::{Recovery, RecoveryAlgorithm};
use crate::segment::{Ack, Segment, SegmentType};
use crate::send_buffer::SendBuffer;
use crate::settings::{Handshake, NegotiatedEcn, ReceiveWindow, TcpSettings};
use crate::tcb::{ReverseAccurateStart, SendCounters, SenderOutput, Tcb, TcbMemory};
use crate::timer::{SenderTimer, earlier_deadline, is_due};

/// Sending end of a TCP connection.
#[repr(C)]
pub struct Sender {
    recovery: RecoveryAlgorithm,
    /// The SYN of a three-way handshake is unanswered.
    syn_sent: bool,
    /// The retransmission timer is the sender's only timer.
    only_rto_timer: bool,
    /// The peer's FIN has arrived. Once all data is acknowledged, the connection is in TIME-WAIT: it waits for segments in flight, and only
    /// acknowledges a retransmitted FIN (RFC 9293, section 3.6.1).
    peer_fin_received: bool,
    tcb: Tcb,
}

impl Sender {
    /// End of the fields that each ACK reads, counted from the begin of a sender.
    pub const PACKET_FIELDS_END: usize = offset_of!(Sender, tcb) + Tcb::PACKET_FIELDS_END;

    /// Sender with a first write, on a host with this clock.
    pub fn new(settings: Arc<TcpSettings>, app_write: &AppWrite, clock: HostClock) -> Sender {
        let recovery = RecoveryAlgorithm::new(&settings);
        let (syn_sent, only_rto_timer) = Sender::syn_sent_and_only_rto_timer(&settings, &recovery);
        let tcb = Tcb::new(settings, app_write, clock, TcbMemory::default());
        Sender { recovery, syn_sent, only_rto_timer, peer_fin_received: false, tcb }
    }

    /// Becomes the sender of the next connection, in the same memory.
    pub fn renew(&mut self, settings: Arc<TcpSettings>, app_write: &AppWrite, clock: HostClock) {
        self.recovery.renew(&settings);
        let memory = self.tcb.detach_memory();
        (self.syn_sent, self.only_rto_timer) = Sender::syn_sent_and_only_rto_timer(&settings, &self.recovery);
        self.peer_fin_received = false;
        self.tcb = Tcb::new(settings, app_write, clock, memory);
    }

    /// Whether it begins with a SYN, and whether the retransmission timer is the only one.
    fn syn_sent_and_only_rto_timer(settings: &TcpSettings, recovery: &RecoveryAlgorithm) -> (bool, bool) {
        let only_rto_timer = !settings.pacing && !recovery.has_own_timer() && settings.receive_window == ReceiveWindow::Unlimited;
        (settings.handshake == Handshake::ThreeWay, only_rto_timer)
    }

    /// Sender for the reverse direction of an open connection. There is no handshake, ECN is used if it was negotiated, `rtt` is the
    /// RTT of the handshake if it was measured, and `accurate` what the first direction knows of marks.
    pub fn for_reverse_direction(
        settings: Arc<TcpSettings>,
        app_write: &AppWrite,
        clock: HostClock,
        rtt: Option<Span>,
        accurate: ReverseAccurateStart,
        now: Time,
    ) -> Sender {
        let mut sender = Sender::new(settings, app_write, clock);
        sender.tcb.start_established(rtt, now);
        sender.tcb.start_reverse_accurate_ecn(accurate);
        sender
    }

    /// Adds a random processing time before segments leave the host.
    pub fn set_processing_time(&mut self, processing: ProcessingTime) {
        self.tcb.set_processing_time(processing);
        self.only_rto_timer = false;
    }

    /// Opens the connection and sends what the window allows.
    pub fn start(&mut self, now: Time, out: &mut impl SenderOutput) {
        out.on_window_changed(self.tcb.window());
        //= RFC 9293, section 3.5: no data before the SYN-ACK
        if self.syn_sent {
            self.tcb.send_syn(now, out);
        } else {
            self.send_while_allowed(now, out);
        }
    }

    /// Sends what the window allows, and queues the FIN if the application has closed.
    fn send_while_allowed(&mut self, now: Time, out: &mut impl SenderOutput) {
        self.recovery.send_while_allowed(&mut self.tcb, now, out);
        if self.tcb.queue_fin() {
            self.recovery.send_while_allowed(&mut self.tcb, now, out);
        }
        self.tcb.update_probe_timer(false, now);
    }

    /// Appends a write of the application on an open connection.
    pub fn write(&mut self, app_write: &AppWrite, now: Time, out: &mut impl SenderOutput) {
        if app_write.bytes > 0 {
            self.tcb.restart_if_idle(self.recovery.is_reducing_cwnd(), now, out);
        }
        self.tcb.add_write(app_write);
        if !self.syn_sent {
            self.send_while_allowed(now, out);
        }
        self.tcb.ensure_timer_below_one_segment(now);
    }

    /// Processes an ACK.
    ///
    /// # Panics
    /// If it acknowledges data that was never sent.
    // Inlined into the loop of each kind of run, since every packet passes here: a shared copy costs 3 % of a run.
    #[inline(always)]
    pub fn on_ack(&mut self, ack: &Ack, now: Time, out: &mut impl SenderOutput) {
        assert!(ack.next <= self.tcb.snd_max(), "segment {} was acknowledged but never sent", ack.next);
        if ack.segment_type != SegmentType::Plain {
            if ack.segment_type == SegmentType::Syn {
                return self.on_syn_ack(ack, now, out);
            }
            self.tcb.send_pure_ack(out);
            self.peer_fin_received = true;
        }
        self.tcb.count_ce_on_pure_ack(ack);
        let was_idle = self.tcb.outstanding_segments() == 0;
        if was_idle && self.peer_fin_received && ack.segment_type == SegmentType::Plain && self.is_done() {
            return;
        }
        self.tcb.process_rwnd(ack, || self.recovery.is_reducing_cwnd(), now, out);
        self.tcb.sample_echoed_rtt(ack, now);
        self.tcb.respond_to_echo(ack, now, out);
        self.recovery.on_ack(&mut self.tcb, ack, now, out);
        if was_idle && self.tcb.outstanding_segments() == 0 && self.tcb.is_new_ack_or_window_update(ack) {
            // A window update is not a duplicate ACK (RFC 5681, section 2).
            self.recovery.send_while_allowed(&mut self.tcb, now, out);
        }
        self.tcb.update_probe_timer(was_idle, now);
        self.tcb.ensure_timer_below_one_segment(now);
    }

    /// Processes an ACK piggybacked on data. Without new data it is not a duplicate ACK (RFC 5681, section 2), and its echoed timestamp is
    /// not an RTT sample (RFC 7323, section 4.1). Its echo of marks counts.
    ///
    /// # Panics
    /// If it acknowledges data that was never sent.
    #[inline(never)]
    pub fn on_ack_with_data(&mut self, ack: &Ack, now: Time, out: &mut impl SenderOutput) {
        if ack.next > self.tcb.snd_una() || !ack.sacks.is_empty() {
            return self.on_ack(ack, now, out);
        }
        let was_idle = self.tcb.outstanding_segments() == 0;
        self.tcb.process_rwnd(ack, || self.recovery.is_reducing_cwnd(), now, out);
        self.tcb.respond_to_echo(ack, now, out);
        self.recovery.on_ack_with_data(&mut self.tcb, ack, now, out);
        self.tcb.update_probe_timer(was_idle, now);
        self.tcb.ensure_timer_below_one_segment(now);
    }

    /// Processes a SYN-ACK, possibly a retransmitted one. The pure ACK in response depends on whether ECN was negotiated.
    #[inline(never)]
    fn on_syn_ack(&mut self, ack: &Ack, now: Time, out: &mut impl SenderOutput) {
        let first = std::mem::take(&mut self.syn_sent);
        if first {
            self.tcb.process_rwnd(ack, || self.recovery.is_reducing_cwnd(), now, out);
            self.tcb.on_syn_ack(ack, now, out);
            self.recovery.on_handshake_done(&mut self.tcb, now);
        }
        self.tcb.send_handshake_ack(ack, out);
        if first {
            self.send_while_allowed(now, out);
        }
    }

    /// Earliest deadline of the sender's timers, or `NEVER`.
    #[inline]
    pub fn deadline_or_never(&self) -> Time {
        if self.only_rto_timer { self.tcb.rto_deadline_or_never() } else { self.deadline().unwrap_or(Time::NEVER) }
    }

    /// Earliest deadline of the sender's timers.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        if self.only_rto_timer {
            return self.tcb.rto_deadline();
        }
        let others = earlier_deadline(self.tcb.send_gate_deadline(), self.tcb.window_probe_deadline());
        earlier_deadline(self.tcb.rto_deadline(), earlier_deadline(self.recovery.deadline(), others))
    }

    /// Handles all timers that are due.
    #[inline(never)]
    pub fn on_timer(&mut self, now: Time, out: &mut impl SenderOutput) {
        self.tcb.set_timer_handler_running(true);
        while let Some(timer) = self.next_due_timer(now) {
            self.serve_timer(timer, now, out);
        }
        self.tcb.set_timer_handler_running(false);
    }

    /// The first of the due timers to handle.
    fn next_due_timer(&self, now: Time) -> Option<SenderTimer> {
        let (retransmission, own) = (self.tcb.rto_deadline(), self.recovery.deadline());
        // A tail loss probe limited by the RTO replaces the RTO (RFC 8985, section 7.2).
        let own_first = own.is_some_and(|own| retransmission.is_some_and(|at| own <= at));
        if is_due(retransmission, now) && !own_first {
            return Some(SenderTimer::Retransmission);
        }
        let others = [
            (own, SenderTimer::Recovery),
            (self.tcb.send_gate_deadline(), SenderTimer::SendGate),
            (self.tcb.window_probe_deadline(), SenderTimer::WindowProbe),
        ];
        others.into_iter().find(|&(at, _)| is_due(at, now)).map(|(_, timer)| timer)
    }

    fn serve_timer(&mut self, timer: SenderTimer, now: Time, out: &mut impl SenderOutput) {
        match timer {
            SenderTimer::Retransmission if self.syn_sent => self.tcb.on_syn_timeout(now, out),
            SenderTimer::Retransmission if self.recovery.reduces_on_rto_itself() => self.recovery.on_rto(&mut self.tcb, now, out),
            SenderTimer::Retransmission => {
                self.recovery.restore_cwnd_before_rto(&mut self.tcb, out);
                self.tcb.on_rto(now, out);
                self.recovery.on_rto(&mut self.tcb, now, out);
            }
            SenderTimer::Recovery => self.recovery.on_timer(&mut self.tcb, now, out),
            SenderTimer::WindowProbe => {
                if self.tcb.send_window_probe_or_split_segment(now, out) {
                    self.recovery.send_one_new_segment(&mut self.tcb, now, out);
                }
            }
            SenderTimer::SendGate => {
                self.tcb.on_send_gate_timer(now);
                self.recovery.send_while_allowed(&mut self.tcb, now, out);
                self.tcb.clear_send_gate_elapsed_wait();
            }
        }
    }

    /// Whether the SYN is unanswered.
    pub fn is_in_handshake(&self) -> bool {
        self.syn_sent
    }

    /// Whether all data is acknowledged.
    pub fn is_done(&self) -> bool {
        self.tcb.snd_una() >= self.tcb.queued_segments()
    }

    /// Bytes that an arriving segment delivers; see [`crate::SenderEndpoint::bytes_delivered_by_segment`].
    #[inline]
    pub fn bytes_delivered_by_segment(&self, segment: &Segment, delivered: u64, next: u64) -> (u64, u32) {
        self.tcb.bytes_delivered_by(segment, delivered, next)
    }

    /// Segments to send.
    pub fn send_buffer(&self) -> &SendBuffer {
        self.tcb.send_buffer()
    }

    pub fn congestion_window(&self) -> &CongestionWindow {
        self.tcb.window()
    }

    pub fn counters(&self) -> &SendCounters {
        self.tcb.counters()
    }

    /// Lowest unacknowledged segment.
    pub fn snd_una(&self) -> u64 {
        self.tcb.snd_una()
    }

    /// RTT to write into packets; zero before the first sample.
    #[inline(always)]
    pub fn rtt_in_packets(&self) -> Span {
        self.tcb.rtt_stats().rtt_in_packets(self.tcb.settings().quirks.rtt_report)
    }

    /// Minimum RTT of segments that were sent once; zero before the first sample.
    pub fn min_rtt(&self) -> Span {
        self.tcb.rtt_stats().min_rtt()
    }

    /// The same, if there was a sample.
    pub fn known_min_rtt(&self) -> Option<Span> {
        Some(self.min_rtt()).filter(|&rtt| rtt > Span::ZERO)
    }

    /// DCTCP's estimate of the fraction of marked segments, if the response keeps one.
    pub fn dctcp_alpha(&self) -> Option<f64> {
        self.tcb.dctcp_alpha()
    }

    /// Whether ECN is in use.
    pub fn uses_ecn(&self) -> bool {
        self.tcb.uses_ecn()
    }

    /// ECN as the handshake has negotiated it.
    pub fn negotiated_ecn(&self) -> NegotiatedEcn {
        match (self.tcb.uses_ecn(), self.tcb.uses_accurate_ecn()) {
            (false, _) => NegotiatedEcn::None,
            (true, false) => NegotiatedEcn::Classic,
            (true, true) => NegotiatedEcn::Accurate,
        }
    }

    /// Whether Accurate ECN was negotiated.
    pub fn uses_accurate_ecn(&self) -> bool {
        self.tcb.uses_accurate_ecn()
    }

    /// Whether data carries the Accurate ECN option.
    pub fn uses_accecn_option(&self) -> bool {
        self.tcb.uses_accecn_option()
    }

    /// With Accurate ECN: packets with CE that the peer has reported.
    pub fn reported_ce(&self) -> u64 {
        self.tcb.reported_ce()
    }

    /// With Accurate ECN: bytes with ECT(1), CE and ECT(0) that the peer has reported.
    pub fn reported_bytes(&self) -> [u64; 3] {
        self.tcb.reported_bytes()
    }

    /// With Accurate ECN: packets without data that came with CE.
    pub fn received_ce_acks(&self) -> u64 {
        self.tcb.received_ce_acks()
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Ecn;

    use super::*;
    use crate::profile;
    use crate::settings::Quirks;
    use crate::settings::{
        CongestionControlName, CwndIncrease, EchoStyle, EcnResponseName, EctCodepoint, HystartName, NegotiatedEcn, RecoveryName,
    };

    /// Sender with `segments` full segments to send.
    fn sender_of(settings: TcpSettings, segments: u64) -> Sender {
        let app_write = AppWrite::full_packets(segments, settings.payload());
        {
            let clock = HostClock::new(&settings, Span::ZERO);
            Sender::new(Arc::new(settings), &app_write, clock)
        }
    }

    #[test]
    fn duplicates_with_nothing_outstanding_retransmit_nothing() {
        let settings = TcpSettings {
            handshake: Handshake::None,
            initial_window: 1,
            quirks: Quirks { delay_growth: false, ..profile::quirks("ns2") },
            ..profile::tcp_settings_of("ns2")
        };
        let mut sender = sender_of(settings, 1);
        let mut sent = Vec::new();
        sender.start(Time::ZERO, &mut sent);
        for _ in 0..4 {
            sender.on_ack(&Ack::plain(1, 40), Time::ZERO, &mut sent);
        }
        assert_eq!((0, 0), (sender.counters().retransmitted_fast, sender.counters().retransmitted_timeout));
    }

    #[test]
    fn hystart_governs_the_first_slow_start_and_none_after_a_timeout() {
        let settings = TcpSettings {
            handshake: Handshake::None,
            initial_window: 10,
            max_rwnd: 1000,
            cwnd_increase: CwndIncrease::PerSegment,
            hystart: HystartName::HystartPlusPlus,
            quirks: Quirks { delay_growth: false, ..profile::quirks("ns2") },
            ..profile::tcp_settings_of("ns2")
        };
        let mut sender = sender_of(settings, 1000);
        let mut sent = Vec::new();
        sender.start(Time::ZERO, &mut sent);
        sender.on_ack(&Ack::plain(10, 40), Time::ZERO + Span::from_millis(100), &mut sent);
        assert_eq!(10.0 + 8.0, sender.congestion_window().cwnd, "an acknowledgement counts for eight segments");
        let at = sender.deadline().unwrap();
        sender.on_timer(at, &mut sent);
        assert_eq!(CongestionWindow { cwnd: 1.0, ssthresh: 9.0 }, *sender.congestion_window());
        sender.on_ack(&Ack::plain(20, 40), at + Span::from_millis(100), &mut sent);
        assert_eq!(9.0 + 2.0 / 9.0, sender.congestion_window().cwnd);
    }

    #[test]
    fn a_train_of_acknowledgements_ends_slow_start_under_any_recovery() {
        for recovery in [RecoveryName::NewReno, RecoveryName::Sack, RecoveryName::Rack] {
            let base = TcpSettings { recovery, hystart: HystartName::Hystart, timestamps: true, ..profile::tcp_settings_of("ns2") };
            let start = TcpSettings {
                handshake: Handshake::None,
                initial_window: 40,
                max_rwnd: 1000,
                quirks: Quirks { delay_growth: false, ..base.quirks },
                ..base
            };
            let mut sender = sender_of(start, 1000);
            let mut sent = Vec::new();
            sender.start(Time::ZERO, &mut sent);
            // The path of 40 ms and one millisecond for the network card hold a train of 20.5 ms.
            for milli in 0..=21 {
                assert!(sender.congestion_window().ssthresh > 999.0, "{recovery} at {milli} ms");
                let (echo, now) = [milli, 40 + milli].map(|at| Time::ZERO + Span::from_millis(at)).into();
                sender.on_ack(&Ack { echo, ..Ack::plain(1 + milli, 40) }, now, &mut sent);
            }
            assert!(sender.congestion_window().ssthresh < 70.0, "{recovery}: {:?}", sender.congestion_window());
        }
    }

    #[test]
    fn any_cut_ends_the_first_slow_start_for_good() {
        for recovery in [RecoveryName::Tahoe, RecoveryName::NewReno] {
            let settings = TcpSettings { recovery, hystart: HystartName::HystartPlusPlus, ..profile::tcp_settings_of("ns2") };
            let (mut sender, mut sent) = sender_in_avoidance(settings, true);
            for _ in 0..4 {
                sender.on_ack(&Ack::plain(2, 40), Time::ZERO, &mut sent);
            }
            assert!(!sender.tcb.in_first_slow_start(), "{recovery:?}");
        }
    }

    /// Sender in congestion avoidance with ten segments outstanding.
    fn sender_in_avoidance(settings: TcpSettings, ecn: bool) -> (Sender, Vec<Segment>) {
        let settings = TcpSettings {
            ecn,
            handshake: Handshake::None,
            initial_window: 10,
            max_rwnd: 10,
            quirks: Quirks { delay_growth: false, ..settings.quirks },
            ..settings
        };
        let mut sender = sender_of(settings, 1000);
        let mut sent = Vec::new();
        sender.start(Time::ZERO, &mut sent);
        (sender, sent)
    }

    #[test]
    fn abe_s_share_is_for_marks_and_a_loss_halves() {
        let abe = || sender_in_avoidance(TcpSettings { ecn_response: EcnResponseName::Abe, ..profile::tcp_settings_of("ns2") }, true);
        let (mut sender, mut sent) = abe();
        sender.on_ack(&Ack { ece: true, ..Ack::plain(2, 40) }, Time::ZERO, &mut sent);
        assert_eq!(8.0, sender.congestion_window().ssthresh);
        let (mut sender, mut sent) = abe();
        for _ in 0..4 {
            sender.on_ack(&Ack::plain(2, 40), Time::ZERO, &mut sent);
        }
        assert_eq!(5.0, sender.congestion_window().ssthresh);
    }

    /// Host with segments outstanding after a handshake that negotiated ECN.
    fn host(settings: TcpSettings, segments: u64) -> (Sender, Vec<Segment>) {
        let settings = TcpSettings { ecn: true, ..settings };
        let mut sender = sender_of(settings, segments);
        let mut sent = Vec::new();
        sender.start(Time::ZERO, &mut sent);
        let syn_ack = Ack { segment_type: SegmentType::Syn, ece: true, ..Ack::plain(1, 40) };
        sender.on_ack(&syn_ack, Time::ZERO + Span::from_millis(500), &mut sent);
        (sender, sent)
    }

    #[test]
    fn a_host_that_opens_with_data_is_still_a_host() {
        let settings = TcpSettings {
            ecn: true,
            handshake: Handshake::None,
            initial_window: 10,
            quirks: Quirks { fin: false, ..profile::quirks("rfc") },
            ..profile::tcp_settings_of("rfc")
        };
        let mut sender = sender_of(settings, 1000);
        let mut sent = Vec::new();
        sender.start(Time::ZERO, &mut sent);
        assert!(sent.iter().all(|segment| segment.ecn == Ecn::Ect0 && !segment.ece), "ECN is in use and nobody has to be asked");
        sender.on_ack(&Ack { ece: true, ..Ack::plain(2, 40) }, Time::ZERO, &mut sent);
        assert_eq!(
            (5.0, 1),
            (sender.congestion_window().cwnd, sender.counters().ecn_reactions),
            "the first echo cuts and lets nothing grow"
        );
        sent.clear();
        sender.on_timer(sender.deadline().unwrap(), &mut sent);
        assert_eq!(vec![(Ecn::NotEct, false)], sent.iter().map(|segment| (segment.ecn, segment.cwr)).collect::<Vec<_>>());
    }

    #[test]
    fn a_scalable_sender_may_say_so_by_its_codepoint() {
        for (codepoint, expected) in [(EctCodepoint::Ect0, Ecn::Ect0), (EctCodepoint::Ect1, Ecn::Ect1)] {
            let (_, sent) = host(TcpSettings { ect_codepoint: codepoint, ..profile::tcp_settings_of("rfc") }, 100);
            let data = sent.iter().filter(|segment| segment.segment_type == SegmentType::Plain);
            assert!(sent.len() > 1 && data.into_iter().all(|segment| segment.ecn == expected), "{codepoint}: {:?}", sent);
        }
    }

    #[test]
    fn without_ecn_a_cut_is_told_of_only_where_that_is_asked_for() {
        let cwr = |cwr_without_ecn| {
            let (mut sender, mut sent) = sender_in_avoidance(
                TcpSettings { quirks: Quirks { cwr_without_ecn, ..profile::quirks("ns2") }, ..profile::tcp_settings_of("ns2") },
                false,
            );
            (0..4).for_each(|_| sender.on_ack(&Ack::plain(2, 40), Time::ZERO, &mut sent));
            sent.iter().any(|segment| segment.cwr)
        };
        assert_eq!([true, false], [cwr(true), cwr(false)]);
    }

    #[test]
    fn duplicates_with_nothing_outstanding_cut_only_where_that_is_asked_for() {
        let threshold = |duplicates_when_idle| {
            let settings = TcpSettings {
                quirks: Quirks { count_dupacks_when_idle: duplicates_when_idle, limited_transmit: false, ..profile::quirks("ns2") },
                ..profile::tcp_settings_of("ns2")
            };
            let mut sender = sender_of(settings, 1);
            let mut sent = Vec::new();
            sender.start(Time::ZERO, &mut sent);
            (1..=2).for_each(|next| sender.on_ack(&Ack::plain(next, 40), Time::ZERO, &mut sent));
            let more = AppWrite::full_packets(10, sender.tcb.settings().payload());
            sender.tcb.add_write(&more);
            (0..3).for_each(|_| sender.on_ack(&Ack::plain(2, 40), Time::ZERO, &mut sent));
            sender.congestion_window().ssthresh
        };
        assert_eq!([2.0, 20.0], [threshold(true), threshold(false)]);
    }

    #[test]
    fn a_timeout_in_a_later_window_than_a_mark_s_cuts_the_threshold() {
        for (acknowledged, timeouts) in [(2, 0), (40, 1)] {
            let (mut sender, mut sent) = host(profile::tcp_settings_of("rfc"), 1000);
            let now = Time::ZERO + Span::from_secs(1);
            sender.on_ack(&Ack { ece: true, echo: now, ..Ack::plain(2, 40) }, now, &mut sent);
            let cut = sender.congestion_window().ssthresh;
            (3..=acknowledged).for_each(|next| sender.on_ack(&Ack { echo: now, ..Ack::plain(next, 40) }, now, &mut sent));
            let flight = sender.tcb.outstanding_segments() as f64;
            sender.on_timer(sender.deadline().unwrap(), &mut sent);
            let threshold = if timeouts == 0 { cut } else { flight / 2.0 };
            assert_eq!((threshold, timeouts), (sender.congestion_window().ssthresh, sender.counters().timeouts));
        }
    }

    #[test]
    fn a_probe_that_the_retransmission_timer_limits_goes_in_its_place() {
        let (mut sender, mut sent) = host(profile::tcp_settings_of("linux"), 1);
        let mut now = Time::ZERO + Span::from_millis(500);
        for next in 2..100 {
            let echo = now;
            now += Span::from_millis(500);
            sender.on_ack(&Ack { echo, ..Ack::plain(next, 52) }, now, &mut sent);
            let more = AppWrite::full_packets(1, sender.tcb.settings().payload());
            sender.write(&more, now, &mut sent);
        }
        let at = sender.deadline().unwrap();
        assert!(at.since(now) < Span::from_millis(800), "two round trips are more than the timeout");
        sent.clear();
        sender.on_timer(at, &mut sent);
        assert_eq!((0, vec![99]), (sender.counters().timeouts, sent.iter().map(|segment| segment.seq).collect()));
        sender.on_timer(sender.deadline().unwrap(), &mut sent);
        assert_eq!(1, sender.counters().timeouts);
    }

    #[test]
    fn a_mark_of_the_next_window_does_not_prolong_recovery() {
        let settings = TcpSettings { recovery: RecoveryName::Sack, initial_window: 10, max_rwnd: 100, ..profile::tcp_settings_of("ns2") };
        let settings =
            TcpSettings { ecn: true, handshake: Handshake::None, quirks: Quirks { delay_growth: false, ..settings.quirks }, ..settings };
        let mut sender = sender_of(settings, 1000);
        let mut sent = Vec::new();
        sender.start(Time::ZERO, &mut sent);
        for to in 3..=14 {
            let mut sacks = crate::SackOption::default();
            sacks.push(2, to.min(sender.tcb.snd_max()));
            sender.on_ack(&Ack { sacks, ..Ack::plain(1, 40) }, Time::ZERO, &mut sent);
        }
        let (recover, snd_max) = (sender.tcb.recovery_point.recover(), sender.tcb.snd_max());
        assert!(snd_max > recover + 2, "recovery has sent new segments from {recover} to {snd_max}");
        sender.on_ack(&Ack { ece: true, ..Ack::plain(recover + 1, 40) }, Time::ZERO, &mut sent);
        let cwnd = sender.congestion_window().cwnd;
        assert_eq!((2.0, 1), (sender.congestion_window().ssthresh, sender.counters().ecn_reactions));
        sender.on_ack(&Ack::plain(recover + 2, 40), Time::ZERO, &mut sent);
        assert_eq!(cwnd + 1.0 / cwnd, sender.congestion_window().cwnd, "recovery is over");
    }

    #[test]
    fn a_sender_without_a_response_grows_through_echoes() {
        let (mut sender, mut sent) =
            sender_in_avoidance(TcpSettings { ecn_response: EcnResponseName::None, ..profile::tcp_settings_of("ns2") }, true);
        for next in [1, 2] {
            sender.on_ack(&Ack { ece: true, ..Ack::plain(next, 40) }, Time::ZERO, &mut sent);
        }
        assert_eq!(10.0 + 0.1 + 1.0 / 10.1, sender.congestion_window().cwnd);
    }

    #[test]
    fn a_heavier_echo_of_a_window_that_timed_out_cuts_no_more() {
        let mecn = TcpSettings {
            ecn_response: EcnResponseName::Mecn,
            ecn_echo: EchoStyle::Mecn,
            quirks: Quirks { ece_response_after_rto: false, ..profile::quirks("ns2") },
            ..profile::tcp_settings_of("ns2")
        };
        let (mut sender, mut sent) = sender_in_avoidance(mecn, true);
        sender.on_ack(&Ack { cwr: true, ..Ack::plain(2, 40) }, Time::ZERO, &mut sent);
        let at = sender.deadline().unwrap();
        sender.on_timer(at, &mut sent);
        sender.on_ack(&Ack { cwr: true, ece: true, echo: at, ..Ack::plain(3, 40) }, at, &mut sent);
        assert_eq!(8.0, sender.congestion_window().ssthresh);
    }

    #[test]
    fn mecn_s_answer_that_there_is_no_congestion_lets_the_window_grow() {
        let mecn = TcpSettings { ecn_response: EcnResponseName::Mecn, ecn_echo: EchoStyle::Mecn, ..profile::tcp_settings_of("ns2") };
        let (mut sender, mut sent) = sender_in_avoidance(mecn, true);
        for next in [1, 2] {
            sender.on_ack(&Ack { ece: true, ..Ack::plain(next, 40) }, Time::ZERO, &mut sent);
        }
        assert_eq!(10.0 + 0.1 + 1.0 / 10.1, sender.congestion_window().cwnd);
        sender.on_ack(&Ack { cwr: true, ..Ack::plain(3, 40) }, Time::ZERO, &mut sent);
        assert_eq!((10.0 * 0.8, 8.0), (sender.congestion_window().cwnd, sender.congestion_window().ssthresh));
    }

    #[test]
    fn the_processing_time_of_a_limited_segment_starts_when_nagle_lets_it_go() {
        const MAX: Span = Span::from_millis(1);
        let prague = TcpSettings {
            congestion_control: CongestionControlName::Prague,
            ecn: true,
            ecn_echo: EchoStyle::Accurate,
            ecn_response: EcnResponseName::Prague,
            pacing: true,
            ..profile::tcp_settings_of("linux-7.2")
        };
        let short_write = AppWrite::keep_open(500);
        let (settings, rtt) = (Arc::new(prague.for_reverse_direction(NegotiatedEcn::Accurate)), Some(Span::from_millis(20)));
        let clock = HostClock::new(&settings, Span::ZERO);
        let mut now = Time::ZERO + Span::from_secs(1);
        let mut sender = Sender::for_reverse_direction(settings, &AppWrite::keep_open(0), clock, rtt, ReverseAccurateStart::default(), now);
        sender.set_processing_time(ProcessingTime::new(MAX, ecnlab_units::Rng::for_role(1, "processing time")));
        let mut sent = Vec::new();
        sender.write(&short_write, now, &mut sent);
        assert!(sent.is_empty(), "the first write waits for its processing time");
        now = sender.deadline().unwrap();
        assert!(now.since(Time::ZERO + Span::from_secs(1)) < MAX);
        sender.on_timer(now, &mut sent);
        assert_eq!(1, sent.len());
        assert!(sender.tcb.is_next_segment_limited_by_control());

        sender.write(&short_write, now, &mut sent);
        assert!(sender.deadline().unwrap().since(now) > MAX, "Nagle holds the second write, and no processing time is drawn");
        let acked = now + Span::from_millis(20);
        sender.on_ack(&Ack::plain(1, 40), acked, &mut sent);
        assert!(sender.deadline().unwrap().since(acked) < MAX);
        sender.on_timer(sender.deadline().unwrap(), &mut sent);
        assert_eq!(2, sent.len());
    }
}
