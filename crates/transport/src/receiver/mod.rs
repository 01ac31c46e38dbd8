//! The receiver: what has arrived and when to acknowledge it; `echo` has the echo of marks, `replies` those to SYN and FIN. A receiver whose
//! acknowledgements are quick or late as a host's stack has it is `host`.

mod delay;
mod echo;
mod host;
mod recent_blocks;
mod replies;

use ecnlab_units::Time;

use self::delay::AckDelay;
use self::echo::{EchoBits, MarkEcho};
use self::host::Host;
use self::recent_blocks::RecentBlocks;
use self::replies::Replies;
use crate::clock::HostClock;
use crate::segment::{Ack, Role, Segment};
use crate::settings::{AckDelayRule, Handshake, Settings};
use crate::timer::earlier;

/// Size of a SACK block in bytes (RFC 2018, section 3).
const BLOCK_SIZE: u32 = 8;

/// The receiving end of a connection. What every segment reads stands first.
#[derive(Debug)]
#[repr(C)]
pub struct Receiver {
    /// The next segment expected; all before it have arrived.
    next: u64,
    /// What a host's stack does, in place of all that follows.
    host: Option<Box<Host>>,
    /// Of a three-way handshake.
    replies: Option<Box<Replies>>,
    ack_size: u32,
    echo: MarkEcho,
    /// A delayed acknowledgement echoes the time of the earlier segment (RFC 7323, section 4.3).
    echo_earlier: bool,
    /// A segment that comes twice is reported (RFC 2883).
    reports_twice: bool,
    reports_blocks: bool,
    /// A segment that comes a second time may wait for its acknowledgement as a new one does, as in ns-2.
    delays_repeated: bool,
    /// Nothing is delayed and there is no handshake: the receiver is never woken.
    answers_at_once: bool,
    /// Acknowledgements may ride on data of the other direction.
    may_ride: bool,
    /// Runs of segments beyond `next` that have arrived, each `[from, to)`, ascending and apart.
    beyond: Vec<(u64, u64)>,
    delay: Option<AckDelay>,
    held: Option<Held>,
    recent_blocks: RecentBlocks,
    /// What the last acknowledgement echoed, where one may ride on data: when a segment was sent, and whether that was a retransmission.
    echoed: (Time, bool),
    quick_acks: u64,
    sack_option: u32,
    agrees_to_ecn: bool,
}

/// A segment whose acknowledgement is delayed.
#[derive(Clone, Copy, Debug)]
struct Held {
    segment: Segment,
    sent: Time,
    until: Time,
}

/// What a receiver announces of its buffer when the connection opens: the first window in bytes, and by how many bits headers shift those that
/// follow (RFC 7323, section 2). None of one that says nothing of it.
pub fn announced(settings: &Settings) -> Option<(u32, u32)> {
    host::room::Room::new(settings).map(|room| (room.first(), room.scale()))
}

/// What an arriving segment brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Segments that the application can now read.
    pub delivered: u64,
    /// Acknowledgements to send at once, in this order: of a segment that was held back before, and of this one.
    pub held: Option<Box<Ack>>,
    pub ack: Option<Ack>,
}

impl Receiver {
    pub fn new(settings: &Settings, clock: HostClock) -> Receiver {
        let three_way = settings.handshake == Handshake::ThreeWay;
        let is_host = settings.delayed_ack_rule == AckDelayRule::Quick;
        Receiver {
            ack_size: settings.ack_size,
            delay: AckDelay::new(settings),
            quick_acks: settings.quick_acks,
            echo_earlier: settings.timestamps,
            agrees_to_ecn: settings.receiver_ecn,
            next: 0,
            host: is_host.then(|| Box::new(Host::new(settings, clock))),
            beyond: Vec::new(),
            echo: MarkEcho::new(settings),
            held: None,
            replies: three_way.then(|| Box::new(Replies::new(settings.rto_initial))),
            delays_repeated: settings.delay_repeated,
            sack_option: settings.sack_option,
            recent_blocks: RecentBlocks::new(settings.reported_blocks()),
            echoed: (Time::ZERO, false),
            may_ride: settings.piggyback,
            reports_twice: settings.dsack && settings.reported_blocks() > 0,
            reports_blocks: settings.reported_blocks() > 0,
            answers_at_once: !settings.delayed_ack && !three_way && !is_host,
        }
    }

    /// Takes a segment that was sent at `sent`.
    // Every kind of run has a loop of its own, and each packet comes here: one copy for all of them costs 3 % of a run.
    #[inline(always)]
    pub fn receive(&mut self, segment: &Segment, sent: Time, now: Time) -> Arrival {
        if self.host.is_some() {
            return self.receive_as_host(segment, sent, now);
        }
        if let Some(replies) = &mut self.replies {
            if segment.role == Role::Syn {
                return self.reply_to_syn(segment, sent, now);
            }
            replies.take(segment);
        }
        if segment.role == Role::Pure {
            return Arrival::default();
        }
        let changes = self.echo.changes(segment);
        let before_change = if changes { self.held.take().map(|held| Box::new(self.before_change(&held))) } else { None };
        let (before, fills_gap) = (self.next, !self.beyond.is_empty());
        let is_next = segment.seq == before && !fills_gap;
        let twice = !is_next && self.reports_twice && self.has(segment.seq);
        if is_next {
            self.next += 1;
        } else {
            self.store(segment.seq);
        }
        let delivered = self.next - before;
        if let Some(delay) = &mut self.delay {
            let delay = delay.at_arrival(now);
            let may_repeat = delivered > 0 || self.delays_repeated;
            let in_order = self.next == segment.seq + 1 && !fills_gap && may_repeat && !twice;
            if in_order && !changes && self.held.is_none() && self.may_wait(segment) {
                self.held = Some(Held { segment: *segment, sent, until: now + delay });
                return Arrival { delivered, held: before_change, ack: None };
            }
        }
        let held = if self.delay.is_some() { self.held.take() } else { None };
        // It is made where it goes: it is large, and each segment has one.
        let mut arrival = Arrival { delivered, held: before_change, ack: Some(self.answer(segment, held.as_ref(), sent)) };
        if let Some(ack) = &mut arrival.ack {
            self.complete(segment.seq, twice, ack);
            if let Some(replies) = &mut self.replies {
                replies.sent(ack.role, now);
            }
        }
        arrival
    }

    #[inline(never)]
    fn receive_as_host(&mut self, segment: &Segment, sent: Time, now: Time) -> Arrival {
        let Some(host) = &mut self.host else { return Arrival::default() };
        let arrival = host.receive(segment, sent, now);
        self.next = host.next();
        arrival
    }

    /// Whether the acknowledgement of a segment in order may be delayed.
    fn may_wait(&self, segment: &Segment) -> bool {
        segment.seq >= self.quick_acks && !self.replies.as_ref().is_some_and(|replies| replies.closes())
    }

    /// When the receiver is to be woken.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        if self.answers_at_once {
            return None;
        }
        if let Some(host) = &self.host {
            return host.deadline();
        }
        let reply = self.replies.as_ref().and_then(|replies| replies.deadline());
        earlier(self.held.map(|held| held.until), reply)
    }

    /// The deadline has come: a delayed acknowledgement is due, or a reply that nobody has acknowledged.
    #[inline(never)]
    pub fn expire(&mut self, now: Time) -> Option<Ack> {
        if let Some(host) = &mut self.host {
            return host.expire(now);
        }
        if let Some(role) = self.replies.as_mut().and_then(|replies| replies.expire(now)) {
            let ece = role == Role::Syn && self.echo.is_agreed();
            return Some(Ack { role, ece, echo: now, echo_retransmission: true, ..Ack::plain(self.next, self.ack_size) });
        }
        let held = self.held.take()?;
        Some(self.answer_held(&held))
    }

    /// The acknowledgement as of now, which rides on data of the other direction; nothing waits any more.
    pub fn ride(&mut self, now: Time) -> Ack {
        if let Some(host) = &mut self.host {
            return host.ride(now);
        }
        let ack = match self.held.take() {
            Some(held) => self.answer_held(&held),
            None => self.as_of_now(),
        };
        Ack { role: Role::Plain, ..ack }
    }

    /// The acknowledgement of what was acknowledged before.
    fn as_of_now(&mut self) -> Ack {
        let EchoBits { cwr, ece } = self.echo.before_change();
        let (echo, echo_retransmission) = self.echoed;
        let mut ack = Ack { ece, cwr, echo, echo_retransmission, ..Ack::plain(self.next, self.ack_size) };
        if self.reports_blocks && !self.beyond.is_empty() {
            self.report_blocks(self.beyond[0].0, false, &mut ack);
        }
        ack
    }

    /// The other direction has a FIN of its own: that of this one is acknowledged and not answered.
    pub fn leave_closing(&mut self) {
        if let Some(host) = &mut self.host {
            host.leave_closing();
        }
        if let Some(replies) = &mut self.replies {
            replies.leave_closing();
        }
    }

    /// SYN-ACK: agrees to ECN by ECE without CWR, if both bits offered it (RFC 3168, section 6.1.1).
    #[inline(never)]
    fn reply_to_syn(&mut self, segment: &Segment, sent: Time, now: Time) -> Arrival {
        let delivered = u64::from(self.next == 0);
        self.next = self.next.max(1);
        let agreed = segment.ece && segment.cwr && self.agrees_to_ecn;
        self.echo.settle(agreed);
        if let Some(replies) = &mut self.replies {
            replies.sent(Role::Syn, now);
        }
        let ack = Ack {
            role: Role::Syn,
            ece: agreed,
            echo: sent,
            echo_retransmission: segment.retransmission,
            ..Ack::plain(self.next, self.ack_size)
        };
        Arrival { delivered, held: None, ack: Some(ack) }
    }

    /// The acknowledgement of a segment, and perhaps of one that was held back before it, without SACK blocks.
    #[inline(always)]
    fn answer(&mut self, segment: &Segment, held: Option<&Held>, sent: Time) -> Ack {
        let EchoBits { cwr, ece } = self.echo.bits(segment, held.map(|held| &held.segment));
        Ack {
            role: self.replies.as_ref().map_or(Role::Plain, |replies| replies.role(self.next)),
            ece,
            cwr,
            echo: held.filter(|_| self.echo_earlier).map_or(sent, |held| held.sent),
            echo_retransmission: segment.retransmission,
            ..Ack::plain(self.next, self.ack_size)
        }
    }

    /// What else goes on the acknowledgement of a segment, and what is remembered of it.
    #[inline(always)]
    fn complete(&mut self, seq: u64, twice: bool, ack: &mut Ack) {
        if self.may_ride {
            self.echoed = (ack.echo, ack.echo_retransmission);
        }
        if self.reports_blocks && (twice || !self.beyond.is_empty()) {
            self.report_blocks(seq, twice, ack);
        }
    }

    /// The acknowledgement of a segment that has waited.
    #[inline(never)]
    fn answer_held(&mut self, held: &Held) -> Ack {
        let mut ack = self.answer(&held.segment, None, held.sent);
        self.complete(held.segment.seq, false, &mut ack);
        ack
    }

    #[cold]
    fn report_blocks(&mut self, seq: u64, twice: bool, ack: &mut Ack) {
        ack.sacks = self.recent_blocks.report(seq, twice, self.next, &self.beyond);
        if !ack.sacks.is_empty() {
            ack.size += self.sack_option + BLOCK_SIZE * ack.sacks.as_slice().len() as u32;
        }
    }

    /// Whether a segment has arrived before.
    fn has(&self, seq: u64) -> bool {
        seq < self.next || self.beyond.iter().any(|&(from, to)| from <= seq && seq < to)
    }

    /// The acknowledgement of a segment that waited when DCTCP's state changed (RFC 8257, section 3.2).
    #[inline(never)]
    fn before_change(&self, held: &Held) -> Ack {
        let EchoBits { cwr, ece } = self.echo.before_change();
        let retransmission = held.segment.retransmission;
        Ack { ece, cwr, echo: held.sent, echo_retransmission: retransmission, ..Ack::plain(self.next, self.ack_size) }
    }

    /// The next segment expected.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Segments that arrived out of order and wait for earlier ones.
    pub fn waiting(&self) -> u64 {
        match &self.host {
            Some(host) => host.waiting(),
            None => self.beyond.iter().map(|(from, to)| to - from).sum(),
        }
    }

    /// The application reads no more: what arrives stays in the buffer. Only a receiver that advertises its buffer minds.
    pub fn stop_reading(&mut self) {
        if let Some(host) = &mut self.host {
            host.stop_reading();
        }
    }

    /// The application reads what is there and goes on. Returns the acknowledgement that tells of the room it makes; another may be due at once.
    pub fn read_again(&mut self, now: Time) -> Option<Ack> {
        self.host.as_mut().and_then(|host| host.read_again(now))
    }

    /// Takes in a segment that has come before or lies beyond the next one, or that others have waited for.
    #[inline(never)]
    fn store(&mut self, seq: u64) {
        if seq < self.next {
            return;
        }
        if seq > self.next {
            self.store_beyond(seq);
            return;
        }
        self.next += 1;
        if let Some(&(from, to)) = self.beyond.first()
            && from == self.next
        {
            self.next = to;
            self.beyond.remove(0);
        }
    }

    fn store_beyond(&mut self, seq: u64) {
        let at = self.beyond.partition_point(|&(_, to)| to < seq);
        match self.beyond.get_mut(at) {
            Some((from, to)) if *from <= seq && seq < *to => return,
            Some((_, to)) if *to == seq => *to += 1,
            Some((from, _)) if *from == seq + 1 => *from = seq,
            _ => self.beyond.insert(at, (seq, seq + 1)),
        }
        if at + 1 < self.beyond.len() && self.beyond[at].1 == self.beyond[at + 1].0 {
            self.beyond[at].1 = self.beyond.remove(at + 1).1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;
    use crate::settings::{EchoStyle, ReceiveWindow};
    use ecnlab_units::parameter::OrOff;
    use ecnlab_units::{Ecn, Span};

    fn receiver_of(settings: &Settings) -> Receiver {
        Receiver::new(settings, HostClock::new(settings, ecnlab_units::Span::ZERO))
    }

    fn segment(seq: u64) -> Segment {
        Segment { ecn: Ecn::Ect0, ..Segment::plain(seq, 1000) }
    }

    fn receiver() -> Receiver {
        receiver_of(&profile::settings("ns2"))
    }

    fn ack(receiver: &mut Receiver, segment: Segment) -> Ack {
        receiver.receive(&segment, Time::ZERO, Time::ZERO).ack.unwrap()
    }

    #[test]
    fn acknowledgements_are_cumulative_over_any_order_of_arrival() {
        let mut receiver = receiver();
        let acks: Vec<u64> = [0, 2, 4, 3, 6, 1, 5].map(|seq| ack(&mut receiver, segment(seq)).next).to_vec();
        assert_eq!(vec![1, 1, 1, 1, 1, 5, 7], acks);
    }

    #[test]
    fn a_mark_is_echoed_until_cwr_and_a_mark_on_the_same_packet_starts_it_anew() {
        let mut receiver = receiver();
        let marked = |seq| Segment { ecn: Ecn::Ce, ..segment(seq) };
        let cwr = |seq| Segment { cwr: true, ..segment(seq) };
        let stream = [segment(0), marked(1), segment(2), cwr(3), segment(4), Segment { cwr: true, ..marked(5) }, segment(6)];
        assert_eq!([false, true, true, false, false, true, true], stream.map(|s| ack(&mut receiver, s).ece));
    }

    #[test]
    fn a_mark_that_waits_for_its_acknowledgement_is_answered_by_the_cwr_behind_it() {
        let settings = Settings { delayed_ack: true, ..profile::settings("ns2") };
        let echoes = |first: Segment, second: Segment| {
            let mut receiver = receiver_of(&settings);
            ack(&mut receiver, Segment { ecn: Ecn::Ce, ..segment(0) });
            assert!(receiver.receive(&first, Time::ZERO, Time::ZERO).ack.is_none(), "it waits");
            [ack(&mut receiver, second).ece, {
                receiver.receive(&segment(3), Time::ZERO, Time::ZERO);
                ack(&mut receiver, segment(4)).ece
            }]
        };
        let (marked, reduced) = (|seq| Segment { ecn: Ecn::Ce, ..segment(seq) }, |seq| Segment { cwr: true, ..segment(seq) });
        assert_eq!([false, false], echoes(marked(1), reduced(2)));
        assert_eq!([true, true], echoes(reduced(1), marked(2)));
    }

    #[test]
    fn a_packet_that_is_not_capable_brings_no_echo_where_that_is_asked_for() {
        let echoes = |echo_on_capable_only| {
            let mut receiver = receiver_of(&Settings { echo_on_capable_only, ..profile::settings("ns2") });
            ack(&mut receiver, Segment { ecn: Ecn::Ce, ..segment(0) });
            ack(&mut receiver, Segment { ecn: Ecn::NotEct, ..segment(1) }).ece
        };
        assert_eq!([false, true], [echoes(true), echoes(false)]);
    }

    #[test]
    fn a_delaying_receiver_acknowledges_every_second_packet_or_after_its_time() {
        let settings = Settings { delayed_ack: true, delayed_ack_time: Span::from_millis(100), ..profile::settings("ns2") };
        let mut receiver = receiver_of(&settings);
        let answers = [0, 1, 2, 3].map(|seq| receiver.receive(&segment(seq), Time::ZERO, Time::ZERO).ack.map(|ack| ack.next));
        assert_eq!([Some(1), None, Some(3), None], answers);
        assert_eq!(Some(Time::ZERO + Span::from_millis(100)), receiver.deadline());
        assert_eq!(Some(4), receiver.expire(Time::ZERO).map(|ack| ack.next));
        assert_eq!(None, receiver.deadline());
    }

    #[test]
    fn a_delaying_host_answers_a_segment_that_came_before_at_once() {
        let mut receiver = receiver_of(&profile::settings("rfc"));
        receiver.receive(&Segment { role: Role::Syn, ..segment(0) }, Time::ZERO, Time::ZERO);
        let answers = [1, 2, 2, 3].map(|seq| receiver.receive(&segment(seq), Time::ZERO, Time::ZERO).ack.map(|ack| ack.next));
        assert_eq!([None, Some(3), Some(3), None], answers);
    }

    #[test]
    fn the_last_segment_may_wait_again_when_it_comes_again_where_that_is_asked_for() {
        let answers = |delay_repeated| {
            let mut receiver = receiver_of(&Settings { delayed_ack: true, delay_repeated, ..profile::settings("ns2") });
            [0, 1, 2, 2].map(|seq| receiver.receive(&segment(seq), Time::ZERO, Time::ZERO).ack.is_some())
        };
        assert_eq!([[true, false, true, false], [true, false, true, true]], [answers(true), answers(false)]);
    }

    #[test]
    fn dctcp_s_delayed_acknowledgement_echoes_its_marks_whatever_the_segment_behind_it_says_of_the_window() {
        // RFC 8257, section 3.2: what waits is acknowledged in the state before the change; CWR has no part in it.
        for rule in [AckDelayRule::Quick, AckDelayRule::Fixed] {
            let settings = Settings {
                ecn: true,
                ecn_echo: EchoStyle::Dctcp,
                delayed_ack_rule: rule,
                quick_acks: 0,
                receive_window: ReceiveWindow::Any,
                ..profile::settings("linux")
            };
            let mut receiver = receiver_of(&settings);
            let syn = Segment { role: Role::Syn, ece: true, cwr: true, ..Segment::plain(0, 60) };
            receiver.receive(&syn, Time::ZERO, Time::ZERO);
            let stream =
                [Segment { ecn: Ecn::Ce, ..segment(1) }, Segment { ecn: Ecn::Ce, ..segment(2) }, Segment { cwr: true, ..segment(3) }];
            let echoes: Vec<(u64, bool)> = stream
                .iter()
                .map(|segment| receiver.receive(segment, Time::ZERO, Time::ZERO))
                .flat_map(|arrival| arrival.held.map(|held| *held).into_iter().chain(arrival.ack))
                .map(|ack| (ack.next, ack.ece))
                .collect();
            assert_eq!(vec![(2, true), (3, true), (4, false)], echoes, "{rule:?}");
        }
    }

    #[test]
    fn a_host_that_delays_nothing_acknowledges_every_segment_and_tells_of_its_window() {
        // Linux with the attribute quickack of a route (tcp_in_quickack_mode); its buffer is as with delayed acknowledgements.
        let mut receiver = receiver_of(&Settings { delayed_ack: false, ..profile::settings("linux") });
        receiver.receive(&Segment { role: Role::Syn, ..Segment::plain(0, 60) }, Time::ZERO, Time::ZERO);
        let acks = (1..60).map(|seq| receiver.receive(&Segment::plain(seq, 1500), Time::ZERO, Time::ZERO).ack.unwrap());
        let acks: Vec<(u64, bool)> = acks.map(|ack| (ack.next, ack.window < Ack::ANY)).collect();
        assert_eq!((2..61).map(|next| (next, true)).collect::<Vec<_>>(), acks);
    }

    #[test]
    fn a_host_that_delays_nothing_keeps_its_timers() {
        let stops = OrOff(Some(Span::from_secs(1)));
        let settings = Settings {
            delayed_ack: false,
            handshake: Handshake::FirstPacket,
            fin: false,
            reader_stops: stops,
            ..profile::settings("linux")
        };
        let mut receiver = receiver_of(&settings);
        let first = Segment { role: Role::Syn, ..Segment::plain(0, 60) };
        assert!(receiver.receive(&first, Time::ZERO, Time::ZERO).ack.is_some());
        assert!(receiver.deadline().is_some(), "its reader stops");
    }

    #[test]
    fn a_delaying_receiver_answers_a_gap_at_once() {
        let settings = Settings { delayed_ack: true, delayed_ack_time: Span::from_millis(100), ..profile::settings("ns2") };
        let mut receiver = receiver_of(&settings);
        let answers = [0, 2, 1].map(|seq| receiver.receive(&segment(seq), Time::ZERO, Time::ZERO).ack.map(|ack| ack.next));
        assert_eq!([Some(1), Some(1), Some(3)], answers);
    }
}
