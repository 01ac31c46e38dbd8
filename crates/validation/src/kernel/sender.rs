//! The sender alone: the acknowledgements that reached the real sender reach ours, and ours is to send what the real one sent.

use std::collections::VecDeque;
use std::sync::Arc;

use ecnlab_transport::settings::PADDED_ACCECN_OPTION_BYTES;
use ecnlab_transport::{
    AccurateReceiver, Ack, AppWrite, CongestionWindow, HostClock, NegotiatedEcn, Receiver, SackOption, Segment, SegmentType, Sender,
    TcpSettings,
};
use ecnlab_units::{Ecn, Span, Time};

use super::case::{AppCallTrigger, Case, Packet, Side};
use super::compare::{ReplayedState, TIME_TOLERANCE, runaway_packet_limit};
use super::segment_map::{SegmentBoundaries, SegmentMap};
use super::segments::{self, app_writes, packet_of_ack, packet_of_segment, packet_with_ack};
use super::settings::{clock_age_at_start, settings_of_answering_side};

/// How much later than a write the kernel stamps its segments, by its RTT samples: in prague-app-limited 33 writes bound it to 4.04 to 4.78
/// us, and in the first flights of ten segments it grows from 2.6 to 6 us. That case and prague-step-0.5m-2ms are exact only with this delay.
const STAMP_DELAY_OF_WRITE: Span = Span::from_picos(4_400_000);
/// How much later than its time the recorded application writes: 0.96 to 1.22 us.
const SCHEDULED_WRITE_LATENESS: Span = Span::from_picos(1_200_000);

/// The replay of our sender.
#[derive(Debug, Default)]
pub struct SenderOutcome {
    pub packets: Vec<Packet>,
    pub states: Vec<ReplayedState>,
    /// Why the rest was not played, if it was not.
    pub stopped: Option<(Time, String)>,
    /// Time at which it had sent far too many packets, if it had.
    pub runaway: Option<Time>,
}

/// Plays a case to a sender with these settings.
pub fn replay(case: &Case, settings: TcpSettings) -> SenderOutcome {
    let mut replay_state = SenderReplay::new(case, Arc::new(settings));
    replay_state.run(case);
    replay_state.played
}

struct SenderReplay {
    sender: Sender,
    /// Takes the data of the other side, if there is any.
    answers: Option<ReplyReceiver>,
    settings: Arc<TcpSettings>,
    segment_map: SegmentMap,
    outbox: Vec<Segment>,
    /// Writes before the connection was open.
    waiting: Vec<AppWrite>,
    /// Writes that follow when so many bytes of the other side have come.
    after_received: VecDeque<(u64, AppWrite)>,
    /// Most packets that it may send.
    most: usize,
    played: SenderOutcome,
}

/// The receiving end of the sender's host, and the other side's segments; of the SYN-ACK, which is the first of them, it knows nothing.
struct ReplyReceiver {
    settings: TcpSettings,
    receiver: Receiver,
    segments: SegmentBoundaries,
    header: u32,
}

/// An input of the sender.
enum SenderInput<'a> {
    Connect,
    Write(AppWrite),
    Arrival(&'a Packet),
    /// The real sender's state after a timer was written down.
    RecordState(usize),
}

impl SenderReplay {
    fn new(case: &Case, settings: Arc<TcpSettings>) -> SenderReplay {
        let clock = HostClock::new(&settings, clock_age_at_start(case));
        let answers = case.has_data_both_ways().then(|| ReplyReceiver::new(case, &settings));
        let sender = Sender::new(settings.clone(), &AppWrite::keep_open(0), clock);
        SenderReplay {
            sender,
            answers,
            settings,
            segment_map: SegmentMap::default(),
            outbox: Vec::new(),
            waiting: Vec::new(),
            after_received: app_writes(&case.application, Side::A)
                .into_iter()
                .filter_map(|(when, demand)| if let AppCallTrigger::Received(bytes) = when { Some((bytes, demand)) } else { None })
                .collect(),
            most: runaway_packet_limit(case.sent_by(Side::A).count()),
            played: SenderOutcome::default(),
        }
    }

    fn run(&mut self, case: &Case) {
        for (time, input) in sender_inputs(case) {
            self.run_timers(time);
            if self.has_sent_too_many(time) {
                return;
            }
            match input {
                SenderInput::Connect => self.sender.start(time, &mut self.outbox),
                SenderInput::Write(demand) => self.waiting.push(demand),
                SenderInput::RecordState(state) => self.record_state(state),
                SenderInput::Arrival(packet) => {
                    if let Err(why) = self.receive_packet(packet, case, time) {
                        self.played.stopped = Some((time, format!("packet {}: {why}", packet.id)));
                        return;
                    }
                }
            }
            self.flush_pending_writes(time);
            self.record_sent_segments(time, None);
            if let SenderInput::Arrival(packet) = input
                && let Some(state) = case.states.iter().position(|state| state.packet == Some(packet.id))
            {
                self.record_state(state);
            }
        }
        self.run_timers(case.end);
        self.has_sent_too_many(case.end);
    }

    /// Whether it has sent far too many packets by now.
    fn has_sent_too_many(&mut self, now: Time) -> bool {
        let away = self.played.packets.len() > self.most;
        self.played.runaway = away.then_some(now);
        away
    }

    /// Writes what there is to write, once the connection is open.
    fn flush_pending_writes(&mut self, time: Time) {
        let received = self.answers.as_ref().map_or(0, ReplyReceiver::received_bytes);
        while self.after_received.front().is_some_and(|(bytes, _)| *bytes <= received) {
            self.waiting.extend(self.after_received.pop_front().map(|(_, demand)| demand));
        }
        if !self.sender.is_in_handshake() {
            self.waiting.drain(..).for_each(|demand| self.sender.write(&demand, time, &mut self.outbox));
        }
    }

    fn run_timers(&mut self, until: Time) {
        loop {
            let (own, of_answers) = (self.sender.deadline(), self.answers.as_ref().and_then(|answers| answers.receiver.deadline()));
            let next = own.into_iter().chain(of_answers).min();
            let Some(at) = next.filter(|&at| at < until && self.played.packets.len() <= self.most) else { return };
            if own == Some(at) {
                self.sender.on_timer(at, &mut self.outbox);
                self.record_sent_segments(at, None);
            } else if let Some(ack) = self.answers.as_mut().and_then(|answers| answers.receiver.on_timer(at)) {
                self.record_ack(at, &ack);
            }
        }
    }

    /// A packet of the other side comes: what it acknowledges is taken first, then its data.
    fn receive_packet(&mut self, packet: &Packet, case: &Case, time: Time) -> Result<(), String> {
        let ack = self.to_ack(packet, case)?;
        if packet.len == 0 {
            self.sender.on_ack(&ack, time, &mut self.outbox);
            if let Some(answers) = &mut self.answers {
                answers.on_packet_without_data(&self.sender, &ack);
            }
            return Ok(());
        }
        self.sender.on_ack_with_data(&ack, time, &mut self.outbox);
        let Some(answers) = &mut self.answers else { return Ok(()) };
        let arrival = answers.receiver.receive(&answers.to_segment(packet), packet.sent, time);
        if let Some(ack) = &arrival.earlier_ack {
            self.record_ack(time, ack);
        }
        if let Some(ack) = self.record_sent_segments(time, arrival.ack) {
            self.record_ack(time, &ack);
        }
        Ok(())
    }

    /// Notes what was sent. Data takes along what there is to acknowledge; returns what nothing took along.
    fn record_sent_segments(&mut self, time: Time, mut ack: Option<Ack>) -> Option<Ack> {
        for segment in std::mem::take(&mut self.outbox) {
            let written = self.segment_map.on_sent(&segment, self.sender.send_buffer(), self.settings.quirks.header_size);
            let packet = packet_of_segment(Side::A, time, &segment, &written);
            let packet = match self
                .answers
                .as_mut()
                .filter(|_| segment.segment_type != SegmentType::PureAck && segment.segment_type != SegmentType::Syn)
            {
                Some(answers) => answers.piggyback_ack(packet, ack.take(), time),
                None => packet,
            };
            self.played.packets.push(packet);
        }
        ack
    }

    fn record_ack(&mut self, time: Time, ack: &Ack) {
        if let Some(answers) = &self.answers {
            self.played.packets.push(packet_of_ack(Side::A, time, ack, &answers.segments, self.segment_map.end_seq()));
        }
    }

    fn record_state(&mut self, state: usize) {
        let CongestionWindow { cwnd, ssthresh } = *self.sender.congestion_window();
        let ssthresh = (ssthresh < self.settings.max_rwnd as f64).then_some(ssthresh);
        self.played.states.push(ReplayedState { state, cwnd, ssthresh });
    }

    /// A real acknowledgement in our numbers.
    fn to_ack(&self, packet: &Packet, case: &Case) -> Result<Ack, String> {
        let segment = |byte: u64| {
            self.segment_map.boundaries.beginning_at(byte).ok_or_else(|| format!("byte {byte} is not a segment boundary of our sender"))
        };
        let mut sacks = SackOption::default();
        for &(from, to) in &packet.sacks {
            let (first, end) = (segment(from)?, segment(to)?);
            if first >= end {
                return Err(format!("the SACK block from byte {from} to {to} has no segment of our sender"));
            }
            sacks.push(first, end);
        }
        let echoed = segment_echoed_by(packet, case);
        Ok(Ack {
            next: segment(packet.ack.unwrap_or_default())?,
            size: self.settings.quirks.ack_size,
            segment_type: segments::segment_type(packet),
            ece: packet.has_flag('E'),
            cwr: packet.has_flag('C'),
            ecn: Ecn::from_bits(packet.ecn_arrived),
            on_data: packet.len > 0,
            echo: echoed.map_or(Time::ZERO, |echoed| echoed.sent),
            echo_retransmission: echoed.is_some_and(|echoed| echoed.nth.is_some_and(|nth| nth > 0)),
            window: packet.window.unwrap_or_default() as u32,
            ae: packet.has_flag('N'),
            tsval_ms: packet.tsval.map_or(1, |stamp| (stamp as u32).wrapping_add(1)),
            accecn: segments::accecn_option_of_packet(packet),
            sacks,
        })
    }
}

impl ReplyReceiver {
    /// Takes up what the SYN-ACK has negotiated, and counts the marks of other packets without data.
    fn on_packet_without_data(&mut self, sender: &Sender, ack: &Ack) {
        if ack.segment_type != SegmentType::Syn {
            self.receiver.count_pure_ack_ecn(ack.ecn);
        } else if sender.uses_accurate_ecn() && self.receiver.accurate_counters().is_none() {
            let (ce, option, rtt) = (sender.received_ce_acks(), sender.uses_accecn_option(), sender.known_min_rtt());
            self.receiver.set_accurate_counters(AccurateReceiver::for_reverse_direction(&self.settings, ce, option, rtt));
        }
    }

    fn new(case: &Case, settings: &TcpSettings) -> ReplyReceiver {
        let ecn = if settings.wants_accurate_ecn() { NegotiatedEcn::Accurate } else { NegotiatedEcn::None };
        let settings = settings_of_answering_side(case, settings).for_reverse_direction(ecn);
        let receiver = Receiver::new(&settings, HostClock::new(&settings, clock_age_at_start(case)));
        ReplyReceiver {
            settings: settings.clone(),
            receiver,
            segments: SegmentBoundaries::of_answering_side(case.sent_by(Side::B)),
            header: settings.quirks.header_size,
        }
    }

    /// Bytes that have come in order, without the SYN.
    fn received_bytes(&self) -> u64 {
        self.segments.start(self.receiver.rcv_nxt()).saturating_sub(1)
    }

    fn to_segment(&self, packet: &Packet) -> Segment {
        Segment {
            size: packet.len as u32 + self.header + if packet.accecn.is_some() { PADDED_ACCECN_OPTION_BYTES } else { 0 },
            ae: packet.has_flag('N'),
            accecn_option: packet.accecn.is_some(),
            ecn: Ecn::from_bits(packet.ecn_arrived),
            cwr: packet.has_flag('C'),
            retransmission: packet.nth.is_some_and(|nth| nth > 0),
            push: packet.has_flag('P'),
            ..Segment::plain(self.segments.containing(packet.seq), 0)
        }
    }

    fn piggyback_ack(&mut self, packet: Packet, ack: Option<Ack>, time: Time) -> Packet {
        let ack = ack.unwrap_or_else(|| self.receiver.piggybacked_ack(time));
        packet_with_ack(packet, &ack, &self.segments)
    }
}

/// The sender's inputs in order of time.
fn sender_inputs(case: &Case) -> Vec<(Time, SenderInput<'_>)> {
    let connect = case.sent_by(Side::A).next().map_or(Time::ZERO, |syn| syn.sent);
    let opened = case.packets_that_reached(Side::A).into_iter().find_map(|packet| packet.arrives).unwrap_or(connect);
    let mut inputs = vec![(connect, SenderInput::Connect)];
    inputs.extend(
        app_writes(&case.application, Side::A)
            .into_iter()
            .filter_map(|(when, demand)| if let AppCallTrigger::At(at) = when { Some((at, SenderInput::Write(demand))) } else { None })
            .map(|(at, write)| (kernel_write_time(at, opened), write)),
    );
    inputs
        .extend(case.packets_that_reached(Side::A).into_iter().filter_map(|packet| Some((packet.arrives?, SenderInput::Arrival(packet)))));
    inputs.sort_by_key(|&(time, _)| time);
    let looks = case.states.iter().enumerate().filter(|(_, state)| state.why == "timer");
    for (at, state) in looks {
        // Ours may be a little later than the real timer, but not later than what came next.
        let next = inputs.iter().map(|&(time, _)| time).find(|&time| time > state.time).unwrap_or(Time::NEVER);
        inputs.push((next.min(state.time + TIME_TOLERANCE), SenderInput::RecordState(at)));
    }
    inputs.sort_by_key(|(time, input)| (*time, !matches!(input, SenderInput::RecordState(_))));
    inputs
}

/// Time at which the kernel stamps the first segment of a write: the recorder's process reads clocks first, of which each takes 256 ns.
/// Earlier writes wait for the SYN-ACK.
fn kernel_write_time(at: Time, opened: Time) -> Time {
    if at <= opened { opened + STAMP_DELAY_OF_WRITE } else { at + SCHEDULED_WRITE_LATENESS + STAMP_DELAY_OF_WRITE }
}

/// The real segment that an acknowledgement's timestamp is of: the one that caused it, if that bears the time, or the first one of that
/// millisecond. Without timestamps the one that caused it.
fn segment_echoed_by<'a>(ack: &Packet, case: &'a Case) -> Option<&'a Packet> {
    let before = || case.sent_by(Side::A).filter(|packet| packet.arrives.is_some_and(|at| at <= ack.sent));
    let cause = before().filter(|packet| packet.arrives.is_some_and(|at| ack.sent.since(at) < Span::from_micros(1))).last();
    let Some(stamp) = ack.tsecr else { return cause };
    let bears = |packet: &&Packet| packet.tsval == Some(stamp);
    cause.filter(bears).or_else(|| before().find(bears))
}
