//! The sender: asks its parts in turn.
//!
//! An acknowledgement's echo of marks is responded to first; then loss recovery takes it, and tells the [`Tcb`] what to advance, cut, grow
//! and send.

use std::sync::Arc;

use ecnlab_units::{Span, Time};

use crate::application::Demand;
use crate::clock::HostClock;
use crate::plan::Plan;
use crate::processing::ProcessingTime;
use crate::recovery::{Algorithm, Recovery};
use crate::segment::{Ack, Role, Segment};
use crate::settings::{Handshake, ReceiveWindow, Settings};
use crate::tcb::{Output, SendCounters, Tcb};
use crate::timer::{Timer, earlier, is_due};
use crate::window::Window;

/// The sending end of a connection.
#[repr(C)]
pub struct Sender {
    recovery: Algorithm,
    /// The SYN of a three-way handshake is on its way.
    opening: bool,
    /// The retransmission timer is the only one.
    one_timer: bool,
    /// The other side's FIN has come: once all is acknowledged, the connection waits out what is on its way and only answers that FIN if it
    /// comes again (RFC 9293, section 3.6.1).
    ended: bool,
    tcb: Tcb,
}

impl Sender {
    /// A sender with something to send, on a host with this clock.
    pub fn new(settings: Arc<Settings>, demand: &Demand, clock: HostClock) -> Sender {
        assert!(!settings.wants_accurate_ecn(), "hosts of a kernel alone count marks, and who runs a scenario has to refuse it else");
        let recovery = Algorithm::new(&settings);
        let opening = settings.handshake == Handshake::ThreeWay;
        let one_timer = !settings.pacing && !recovery.has_timer() && settings.receive_window == ReceiveWindow::Any;
        Sender { tcb: Tcb::new(settings, demand, clock), recovery, opening, one_timer, ended: false }
    }

    /// A sender in the other direction of a connection that is open: there is no handshake, ECN is used if that was agreed upon, and the
    /// round-trip time is known if the handshake has shown it.
    pub fn answering(settings: Arc<Settings>, demand: &Demand, clock: HostClock, rtt: Option<Span>, now: Time) -> Sender {
        let mut sender = Sender::new(settings, demand, clock);
        sender.tcb.take_over(rtt, now);
        sender
    }

    /// The host needs a random time before segments leave.
    pub fn set_processing_time(&mut self, processing: ProcessingTime) {
        self.tcb.set_processing_time(processing);
        self.one_timer = false;
    }

    /// Opens the connection and sends what the window allows.
    pub fn start(&mut self, now: Time, out: &mut impl Output) {
        out.window(self.tcb.window());
        if self.opening {
            self.tcb.open(now, out);
        } else {
            self.fill(now, out);
        }
    }

    /// Sends what may be sent; then the application closes, if it does.
    fn fill(&mut self, now: Time, out: &mut impl Output) {
        self.recovery.fill(&mut self.tcb, now, out);
        if self.tcb.close() {
            self.recovery.fill(&mut self.tcb, now, out);
        }
        self.tcb.watch_window(false, now);
    }

    /// The application has more to send on an open connection.
    pub fn produce(&mut self, demand: &Demand, now: Time, out: &mut impl Output) {
        if demand.bytes > 0 {
            self.tcb.resume(self.recovery.lowers_window(), now, out);
        }
        self.tcb.add(demand);
        if !self.opening {
            self.fill(now, out);
        }
        self.tcb.run_timer_below_one(now);
    }

    /// Takes an acknowledgement.
    ///
    /// # Panics
    /// If it acknowledges what was never sent.
    // Every kind of run has a loop of its own, and each packet comes here: one copy for all of them costs 3 % of a run.
    #[inline(always)]
    pub fn acknowledge(&mut self, ack: &Ack, now: Time, out: &mut impl Output) {
        assert!(ack.next <= self.tcb.high(), "segment {} was acknowledged but never sent", ack.next);
        if ack.role != Role::Plain {
            if ack.role == Role::Syn {
                return self.answered(ack, now, out);
            }
            self.tcb.send_pure_ack(out);
            self.ended = true;
        }
        let was_idle = self.tcb.outstanding() == 0;
        if was_idle && self.ended && ack.role == Role::Plain && self.is_done() {
            return;
        }
        self.tcb.take_window(ack, || self.recovery.lowers_window(), now, out);
        self.tcb.see_rtt(ack, now);
        self.tcb.respond_to_echo(ack, now, out);
        self.recovery.acknowledged(&mut self.tcb, ack, now, out);
        if was_idle && self.tcb.outstanding() == 0 && self.tcb.is_window_update(ack) {
            // What opens the window is no duplicate (RFC 5681, section 2).
            self.recovery.fill(&mut self.tcb, now, out);
        }
        self.tcb.watch_window(was_idle, now);
        self.tcb.run_timer_below_one(now);
    }

    /// Takes an acknowledgement that came on data. One that acknowledges nothing new is no duplicate (RFC 5681, section 2), and the time that it
    /// echoes is no sample (RFC 7323, section 4.1); its echo of marks counts.
    ///
    /// # Panics
    /// If it acknowledges what was never sent.
    #[inline(never)]
    pub fn acknowledge_on_data(&mut self, ack: &Ack, now: Time, out: &mut impl Output) {
        if ack.next > self.tcb.una() || !ack.sacks.is_empty() {
            return self.acknowledge(ack, now, out);
        }
        let was_idle = self.tcb.outstanding() == 0;
        self.tcb.take_window(ack, || self.recovery.lowers_window(), now, out);
        self.tcb.respond_to_echo(ack, now, out);
        self.recovery.heard_on_data(&mut self.tcb, ack, now, out);
        self.tcb.watch_window(was_idle, now);
        self.tcb.run_timer_below_one(now);
    }

    /// The SYN has been answered, perhaps not for the first time. The answer to that knows already whether ECN is in use.
    #[inline(never)]
    fn answered(&mut self, ack: &Ack, now: Time, out: &mut impl Output) {
        let first = std::mem::take(&mut self.opening);
        if first {
            self.tcb.take_window(ack, || self.recovery.lowers_window(), now, out);
            self.tcb.opened(ack, now, out);
            self.recovery.opened(&self.tcb);
        }
        self.tcb.send_pure_ack(out);
        if first {
            self.fill(now, out);
        }
    }

    /// When the sender is to be woken: the earliest of its timers.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        if self.one_timer {
            return self.tcb.retransmit_at();
        }
        let others = earlier(self.tcb.held_until(), self.tcb.probe_at());
        earlier(self.tcb.retransmit_at(), earlier(self.recovery.deadline(), others))
    }

    /// The deadline has come.
    #[inline(never)]
    pub fn expire(&mut self, now: Time, out: &mut impl Output) {
        self.tcb.serve_timer(true);
        while let Some(timer) = self.due(now) {
            self.expire_one(timer, now, out);
        }
        self.tcb.serve_timer(false);
    }

    /// The timer to serve first of those that are due.
    fn due(&self, now: Time) -> Option<Timer> {
        let (retransmission, own) = (self.tcb.retransmit_at(), self.recovery.deadline());
        // A tail loss probe that the retransmission timer limits goes in its place (RFC 8985, section 7.2).
        let own_first = own.is_some_and(|own| retransmission.is_some_and(|at| own <= at));
        if is_due(retransmission, now) && !own_first {
            return Some(Timer::Retransmission);
        }
        let others = [(own, Timer::Recovery), (self.tcb.held_until(), Timer::Held), (self.tcb.probe_at(), Timer::Window)];
        others.into_iter().find(|&(at, _)| is_due(at, now)).map(|(_, timer)| timer)
    }

    fn expire_one(&mut self, timer: Timer, now: Time, out: &mut impl Output) {
        match timer {
            Timer::Retransmission if self.opening => self.tcb.syn_timed_out(now, out),
            Timer::Retransmission if self.recovery.cuts_at_timeouts() => self.recovery.timed_out(&mut self.tcb, now, out),
            Timer::Retransmission => {
                self.recovery.reopen(&mut self.tcb, out);
                self.tcb.time_out(now, out);
                self.recovery.timed_out(&mut self.tcb, now, out);
            }
            Timer::Recovery => self.recovery.expire(&mut self.tcb, now, out),
            Timer::Window => {
                if self.tcb.probe(now, out) {
                    self.recovery.send_part(&mut self.tcb, now, out);
                }
            }
            Timer::Held => {
                self.tcb.begin_held_turn(now);
                self.recovery.fill(&mut self.tcb, now, out);
                self.tcb.end_held_turn();
            }
        }
    }

    /// Whether the SYN has not been answered yet.
    pub fn is_opening(&self) -> bool {
        self.opening
    }

    /// Whether all that there was to send is acknowledged.
    pub fn is_done(&self) -> bool {
        self.tcb.una() >= self.tcb.available()
    }

    /// What an arriving segment brings; see [`crate::Endpoint::brought`].
    #[inline]
    pub fn brought(&self, segment: &Segment, delivered: u64, next: u64) -> (u64, u32) {
        self.tcb.brought(segment, delivered, next)
    }

    /// What there is to send, segment by segment.
    pub fn plan(&self) -> &Plan {
        self.tcb.plan()
    }

    pub fn window(&self) -> &Window {
        self.tcb.window()
    }

    pub fn counters(&self) -> &SendCounters {
        self.tcb.counters()
    }

    /// Lowest segment not yet acknowledged.
    pub fn una(&self) -> u64 {
        self.tcb.una()
    }

    /// The round-trip time to write into packets; zero before the first measurement.
    pub fn reported_rtt(&self) -> Span {
        self.tcb.rtt().report(self.tcb.settings().rtt_report)
    }

    /// Smallest round-trip time measured on a segment that was sent once; zero before the first.
    pub fn min_rtt(&self) -> Span {
        self.tcb.rtt().min()
    }

    /// DCTCP's estimate of the fraction of marked segments, where the response keeps one.
    pub fn alpha(&self) -> Option<f64> {
        self.tcb.alpha()
    }

    /// Whether ECN is in use.
    pub fn uses_ecn(&self) -> bool {
        self.tcb.uses_ecn()
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Ecn;

    use super::*;
    use crate::profile;
    use crate::settings::{Codepoint, EchoStyle, GrowthBy, HystartName, RecoveryName, ResponseName};

    struct Sent(Vec<Segment>);

    impl Output for Sent {
        fn send(&mut self, segment: Segment) {
            self.0.push(segment);
        }
    }

    /// A sender with so many full segments to send.
    fn sender_of(settings: Settings, segments: u64) -> Sender {
        let demand = Demand::packets(segments, settings.payload());
        {
            let clock = HostClock::new(&settings, Span::ZERO);
            Sender::new(Arc::new(settings), &demand, clock)
        }
    }

    #[test]
    fn duplicates_with_nothing_outstanding_retransmit_nothing() {
        let settings = Settings { handshake: Handshake::None, delay_growth: false, initial_window: 1, ..profile::settings("ns2") };
        let mut sender = sender_of(settings, 1);
        let mut sent = Sent(Vec::new());
        sender.start(Time::ZERO, &mut sent);
        for _ in 0..4 {
            sender.acknowledge(&Ack::plain(1, 40), Time::ZERO, &mut sent);
        }
        assert_eq!((0, 0), (sender.counters().retransmitted_fast, sender.counters().retransmitted_timeout));
    }

    #[test]
    fn hystart_governs_the_first_slow_start_and_none_after_a_timeout() {
        let settings = Settings {
            handshake: Handshake::None,
            delay_growth: false,
            initial_window: 10,
            max_window: 1000,
            growth: GrowthBy::Segments,
            hystart: HystartName::PlusPlus,
            ..profile::settings("ns2")
        };
        let mut sender = sender_of(settings, 1000);
        let mut sent = Sent(Vec::new());
        sender.start(Time::ZERO, &mut sent);
        sender.acknowledge(&Ack::plain(10, 40), Time::ZERO + Span::from_millis(100), &mut sent);
        assert_eq!(10.0 + 8.0, sender.window().cwnd, "an acknowledgement counts for eight segments");
        let at = sender.deadline().unwrap();
        sender.expire(at, &mut sent);
        assert_eq!(Window { cwnd: 1.0, ssthresh: 9.0 }, *sender.window());
        sender.acknowledge(&Ack::plain(20, 40), at + Span::from_millis(100), &mut sent);
        assert_eq!(9.0 + 2.0 / 9.0, sender.window().cwnd);
    }

    #[test]
    fn a_train_of_acknowledgements_ends_slow_start_under_any_recovery() {
        for recovery in [RecoveryName::NewReno, RecoveryName::Sack, RecoveryName::Rack] {
            let base = Settings { recovery, hystart: HystartName::TrainDelay, timestamps: true, ..profile::settings("ns2") };
            let start = Settings { handshake: Handshake::None, delay_growth: false, initial_window: 40, max_window: 1000, ..base };
            let mut sender = sender_of(start, 1000);
            let mut sent = Sent(Vec::new());
            sender.start(Time::ZERO, &mut sent);
            // The path of 40 ms and a millisecond for the network card hold a train of 20.5 ms.
            for milli in 0..=21 {
                assert!(sender.window().ssthresh > 999.0, "{recovery} at {milli} ms");
                let (echo, now) = [milli, 40 + milli].map(|at| Time::ZERO + Span::from_millis(at)).into();
                sender.acknowledge(&Ack { echo, ..Ack::plain(1 + milli, 40) }, now, &mut sent);
            }
            assert!(sender.window().ssthresh < 70.0, "{recovery}: {:?}", sender.window());
        }
    }

    #[test]
    fn any_cut_ends_the_first_slow_start_for_good() {
        for recovery in [RecoveryName::Tahoe, RecoveryName::NewReno] {
            let settings = Settings { recovery, hystart: HystartName::PlusPlus, ..profile::settings("ns2") };
            let (mut sender, mut sent) = avoiding(settings, true);
            for _ in 0..4 {
                sender.acknowledge(&Ack::plain(2, 40), Time::ZERO, &mut sent);
            }
            assert!(!sender.tcb.in_first_slow_start(), "{recovery:?}");
        }
    }

    /// A sender in congestion avoidance with ten segments outstanding.
    fn avoiding(settings: Settings, ecn: bool) -> (Sender, Sent) {
        let settings = Settings { ecn, handshake: Handshake::None, delay_growth: false, initial_window: 10, max_window: 10, ..settings };
        let mut sender = sender_of(settings, 1000);
        let mut sent = Sent(Vec::new());
        sender.start(Time::ZERO, &mut sent);
        (sender, sent)
    }

    #[test]
    fn abe_s_share_is_for_marks_and_a_loss_halves() {
        let abe = || avoiding(Settings { response: ResponseName::Abe, ..profile::settings("ns2") }, true);
        let (mut sender, mut sent) = abe();
        sender.acknowledge(&Ack { ece: true, ..Ack::plain(2, 40) }, Time::ZERO, &mut sent);
        assert_eq!(8.0, sender.window().ssthresh);
        let (mut sender, mut sent) = abe();
        for _ in 0..4 {
            sender.acknowledge(&Ack::plain(2, 40), Time::ZERO, &mut sent);
        }
        assert_eq!(5.0, sender.window().ssthresh);
    }

    /// A host with segments outstanding, at the end of the handshake, which agreed on ECN.
    fn host(settings: Settings, segments: u64) -> (Sender, Sent) {
        let settings = Settings { ecn: true, ..settings };
        let mut sender = sender_of(settings, segments);
        let mut sent = Sent(Vec::new());
        sender.start(Time::ZERO, &mut sent);
        let syn_ack = Ack { role: Role::Syn, ece: true, ..Ack::plain(1, 40) };
        sender.acknowledge(&syn_ack, Time::ZERO + Span::from_millis(500), &mut sent);
        (sender, sent)
    }

    #[test]
    fn a_host_that_opens_with_data_is_still_a_host() {
        let settings = Settings { ecn: true, handshake: Handshake::None, fin: false, initial_window: 10, ..profile::settings("rfc") };
        let mut sender = sender_of(settings, 1000);
        let mut sent = Sent(Vec::new());
        sender.start(Time::ZERO, &mut sent);
        assert!(sent.0.iter().all(|segment| segment.ecn == Ecn::Ect0 && !segment.ece), "ECN is in use and nobody has to be asked");
        sender.acknowledge(&Ack { ece: true, ..Ack::plain(2, 40) }, Time::ZERO, &mut sent);
        assert_eq!((5.0, 1), (sender.window().cwnd, sender.counters().ecn_reactions), "the first echo cuts and lets nothing grow");
        sent.0.clear();
        sender.expire(sender.deadline().unwrap(), &mut sent);
        assert_eq!(vec![(Ecn::NotEct, false)], sent.0.iter().map(|segment| (segment.ecn, segment.cwr)).collect::<Vec<_>>());
    }

    #[test]
    fn a_scalable_sender_may_say_so_by_its_codepoint() {
        for (codepoint, expected) in [(Codepoint::Ect0, Ecn::Ect0), (Codepoint::Ect1, Ecn::Ect1)] {
            let (_, sent) = host(Settings { codepoint, ..profile::settings("rfc") }, 100);
            let data = sent.0.iter().filter(|segment| segment.role == Role::Plain);
            assert!(sent.0.len() > 1 && data.into_iter().all(|segment| segment.ecn == expected), "{codepoint}: {:?}", sent.0);
        }
    }

    #[test]
    fn without_ecn_a_cut_is_told_of_only_where_that_is_asked_for() {
        let cwr = |cwr_without_ecn| {
            let (mut sender, mut sent) = avoiding(Settings { cwr_without_ecn, ..profile::settings("ns2") }, false);
            (0..4).for_each(|_| sender.acknowledge(&Ack::plain(2, 40), Time::ZERO, &mut sent));
            sent.0.iter().any(|segment| segment.cwr)
        };
        assert_eq!([true, false], [cwr(true), cwr(false)]);
    }

    #[test]
    fn duplicates_with_nothing_outstanding_cut_only_where_that_is_asked_for() {
        let threshold = |duplicates_when_idle| {
            let settings = Settings { duplicates_when_idle, limited_transmit: false, ..profile::settings("ns2") };
            let mut sender = sender_of(settings, 1);
            let mut sent = Sent(Vec::new());
            sender.start(Time::ZERO, &mut sent);
            (1..=2).for_each(|next| sender.acknowledge(&Ack::plain(next, 40), Time::ZERO, &mut sent));
            let more = Demand::packets(10, sender.tcb.settings().payload());
            sender.tcb.add(&more);
            (0..3).for_each(|_| sender.acknowledge(&Ack::plain(2, 40), Time::ZERO, &mut sent));
            sender.window().ssthresh
        };
        assert_eq!([2.0, 20.0], [threshold(true), threshold(false)]);
    }

    #[test]
    fn a_timeout_in_a_later_window_than_a_mark_s_cuts_the_threshold() {
        for (acknowledged, timeouts) in [(2, 0), (40, 1)] {
            let (mut sender, mut sent) = host(profile::settings("rfc"), 1000);
            let now = Time::ZERO + Span::from_secs(1);
            sender.acknowledge(&Ack { ece: true, echo: now, ..Ack::plain(2, 40) }, now, &mut sent);
            let cut = sender.window().ssthresh;
            (3..=acknowledged).for_each(|next| sender.acknowledge(&Ack { echo: now, ..Ack::plain(next, 40) }, now, &mut sent));
            let flight = sender.tcb.outstanding() as f64;
            sender.expire(sender.deadline().unwrap(), &mut sent);
            let threshold = if timeouts == 0 { cut } else { flight / 2.0 };
            assert_eq!((threshold, timeouts), (sender.window().ssthresh, sender.counters().timeouts));
        }
    }

    #[test]
    fn a_probe_that_the_retransmission_timer_limits_goes_in_its_place() {
        let (mut sender, mut sent) = host(profile::settings("linux"), 1);
        let mut now = Time::ZERO + Span::from_millis(500);
        for next in 2..100 {
            let echo = now;
            now += Span::from_millis(500);
            sender.acknowledge(&Ack { echo, ..Ack::plain(next, 52) }, now, &mut sent);
            let more = Demand::packets(1, sender.tcb.settings().payload());
            sender.produce(&more, now, &mut sent);
        }
        let at = sender.deadline().unwrap();
        assert!(at.since(now) < Span::from_millis(800), "two round trips are more than the timeout");
        sent.0.clear();
        sender.expire(at, &mut sent);
        assert_eq!((0, vec![99]), (sender.counters().timeouts, sent.0.iter().map(|segment| segment.seq).collect()));
        sender.expire(sender.deadline().unwrap(), &mut sent);
        assert_eq!(1, sender.counters().timeouts);
    }

    #[test]
    fn a_mark_of_the_next_window_does_not_prolong_recovery() {
        let settings = Settings { recovery: RecoveryName::Sack, initial_window: 10, max_window: 100, ..profile::settings("ns2") };
        let settings = Settings { ecn: true, handshake: Handshake::None, delay_growth: false, ..settings };
        let mut sender = sender_of(settings, 1000);
        let mut sent = Sent(Vec::new());
        sender.start(Time::ZERO, &mut sent);
        for to in 3..=14 {
            let mut sacks = crate::Sacks::default();
            sacks.push(2, to.min(sender.tcb.high()));
            sender.acknowledge(&Ack { sacks, ..Ack::plain(1, 40) }, Time::ZERO, &mut sent);
        }
        let (recover, high) = (sender.tcb.last_cut().recover(), sender.tcb.high());
        assert!(high > recover + 2, "recovery has sent new segments from {recover} to {high}");
        sender.acknowledge(&Ack { ece: true, ..Ack::plain(recover + 1, 40) }, Time::ZERO, &mut sent);
        let cwnd = sender.window().cwnd;
        assert_eq!((2.0, 1), (sender.window().ssthresh, sender.counters().ecn_reactions));
        sender.acknowledge(&Ack::plain(recover + 2, 40), Time::ZERO, &mut sent);
        assert_eq!(cwnd + 1.0 / cwnd, sender.window().cwnd, "recovery is over");
    }

    #[test]
    fn a_sender_without_a_response_grows_through_echoes() {
        let (mut sender, mut sent) = avoiding(Settings { response: ResponseName::None, ..profile::settings("ns2") }, true);
        for next in [1, 2] {
            sender.acknowledge(&Ack { ece: true, ..Ack::plain(next, 40) }, Time::ZERO, &mut sent);
        }
        assert_eq!(10.0 + 0.1 + 1.0 / 10.1, sender.window().cwnd);
    }

    #[test]
    fn a_heavier_echo_of_a_window_that_timed_out_cuts_no_more() {
        let mecn =
            Settings { response: ResponseName::Mecn, ecn_echo: EchoStyle::Mecn, mark_after_timeout: false, ..profile::settings("ns2") };
        let (mut sender, mut sent) = avoiding(mecn, true);
        sender.acknowledge(&Ack { cwr: true, ..Ack::plain(2, 40) }, Time::ZERO, &mut sent);
        let at = sender.deadline().unwrap();
        sender.expire(at, &mut sent);
        sender.acknowledge(&Ack { cwr: true, ece: true, echo: at, ..Ack::plain(3, 40) }, at, &mut sent);
        assert_eq!(8.0, sender.window().ssthresh);
    }

    #[test]
    fn mecn_s_answer_that_there_is_no_congestion_lets_the_window_grow() {
        let mecn = Settings { response: ResponseName::Mecn, ecn_echo: EchoStyle::Mecn, ..profile::settings("ns2") };
        let (mut sender, mut sent) = avoiding(mecn, true);
        for next in [1, 2] {
            sender.acknowledge(&Ack { ece: true, ..Ack::plain(next, 40) }, Time::ZERO, &mut sent);
        }
        assert_eq!(10.0 + 0.1 + 1.0 / 10.1, sender.window().cwnd);
        sender.acknowledge(&Ack { cwr: true, ..Ack::plain(3, 40) }, Time::ZERO, &mut sent);
        assert_eq!((10.0 * 0.8, 8.0), (sender.window().cwnd, sender.window().ssthresh));
    }
}
