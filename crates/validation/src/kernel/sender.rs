//! The sender alone: the acknowledgements that reached the real sender reach ours, and ours is to send what the real one sent.

use std::sync::Arc;

use ecnlab_transport::{
    Ack, AppWrite, CongestionWindow, HostClock, Receiver, SackOption, Segment, SegmentType, Sender, SenderOutput, TcpSettings,
};
use ecnlab_units::{Span, Time};

use super::case::{Case, Packet, Side, Trigger};
use super::compare::{ReplayedState, TIME_TOLERANCE, max_packets};
use super::segment_map::{RecordedSegments, SegmentMap};
use super::segments::{self, app_writes, packet_of_ack, packet_of_segment, with_ack};
use super::settings::{boot, of_answer};

/// The replay of our sender.
#[derive(Debug, Default)]
pub struct SenderRun {
    pub packets: Vec<Packet>,
    pub states: Vec<ReplayedState>,
    /// Why the rest was not played, if it was not.
    pub stopped: Option<(Time, String)>,
    /// Time at which it had sent far too many packets, if it had.
    pub runaway: Option<Time>,
}

/// Plays a case to a sender with these settings.
pub fn play(case: &Case, settings: TcpSettings) -> SenderRun {
    let mut stage = SenderReplay::new(case, Arc::new(settings));
    stage.run(case);
    stage.played
}

struct SenderReplay {
    sender: Sender,
    /// Takes the data of the other side, if there is any.
    answers: Option<ReplyReceiver>,
    settings: Arc<TcpSettings>,
    segment_map: SegmentMap,
    outbox: Outbox,
    /// Writes before the connection was open.
    waiting: Vec<AppWrite>,
    /// Most packets that it may send.
    most: usize,
    played: SenderRun,
}

/// The receiving end of the sender's host, and the other side's segments; of the SYN-ACK, which is the first of them, it knows nothing.
struct ReplyReceiver {
    receiver: Receiver,
    segments: RecordedSegments,
    header: u32,
}

#[derive(Default)]
struct Outbox(Vec<Segment>);

impl SenderOutput for Outbox {
    fn send(&mut self, segment: Segment) {
        self.0.push(segment);
    }
}

/// An input of the sender.
enum Input<'a> {
    Connect,
    Write(AppWrite),
    Arrival(&'a Packet),
    /// The real sender's state after a timer was written down.
    Look(usize),
}

impl SenderReplay {
    fn new(case: &Case, settings: Arc<TcpSettings>) -> SenderReplay {
        let clock = HostClock::new(&settings, boot(case));
        let answers = case.goes_both_ways().then(|| ReplyReceiver::new(case, &settings));
        let sender = Sender::new(settings.clone(), &AppWrite::keep_open(0), clock);
        SenderReplay {
            sender,
            answers,
            settings,
            segment_map: SegmentMap::default(),
            outbox: Outbox::default(),
            waiting: Vec::new(),
            most: max_packets(case.sent_by(Side::A).count()),
            played: SenderRun::default(),
        }
    }

    fn run(&mut self, case: &Case) {
        for (time, input) in inputs(case) {
            self.run_timers(time);
            if self.runs_away(time) {
                return;
            }
            match input {
                Input::Connect => self.sender.start(time, &mut self.outbox),
                Input::Write(demand) => self.waiting.push(demand),
                Input::Look(state) => self.show(state),
                Input::Arrival(packet) => {
                    if let Err(why) = self.arrive(packet, case, time) {
                        self.played.stopped = Some((time, format!("packet {}: {why}", packet.id)));
                        return;
                    }
                }
            }
            self.write(time);
            self.note_sent(time, None);
            if let Input::Arrival(packet) = input
                && let Some(state) = case.states.iter().position(|state| state.packet == Some(packet.id))
            {
                self.show(state);
            }
        }
        self.run_timers(case.end);
        self.runs_away(case.end);
    }

    /// Whether it has sent far too many packets by now.
    fn runs_away(&mut self, now: Time) -> bool {
        let away = self.played.packets.len() > self.most;
        self.played.runaway = away.then_some(now);
        away
    }

    /// Writes what there is to write, once the connection is open.
    fn write(&mut self, time: Time) {
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
                self.note_sent(at, None);
            } else if let Some(ack) = self.answers.as_mut().and_then(|answers| answers.receiver.on_timer(at)) {
                self.note_ack(at, &ack);
            }
        }
    }

    /// A packet of the other side comes: what it acknowledges is taken first, then its data.
    fn arrive(&mut self, packet: &Packet, case: &Case, time: Time) -> Result<(), String> {
        let ack = self.ack(packet, case)?;
        if packet.len == 0 {
            self.sender.on_ack(&ack, time, &mut self.outbox);
            return Ok(());
        }
        self.sender.on_ack_with_data(&ack, time, &mut self.outbox);
        let Some(answers) = &mut self.answers else { return Ok(()) };
        let arrival = answers.receiver.receive(&answers.segment(packet), packet.sent, time);
        if let Some(ack) = &arrival.earlier_ack {
            self.note_ack(time, ack);
        }
        if let Some(ack) = self.note_sent(time, arrival.ack) {
            self.note_ack(time, &ack);
        }
        Ok(())
    }

    /// Notes what was sent. Data takes along what there is to acknowledge; returns what nothing took along.
    fn note_sent(&mut self, time: Time, mut ack: Option<Ack>) -> Option<Ack> {
        for segment in std::mem::take(&mut self.outbox.0) {
            let written = self.segment_map.on_sent(&segment, self.sender.send_buffer(), self.settings.quirks.header_size);
            let packet = packet_of_segment(Side::A, time, &segment, &written);
            let packet = match self
                .answers
                .as_mut()
                .filter(|_| segment.segment_type != SegmentType::PureAck && segment.segment_type != SegmentType::Syn)
            {
                Some(answers) => answers.on_data(packet, ack.take(), time),
                None => packet,
            };
            self.played.packets.push(packet);
        }
        ack
    }

    fn note_ack(&mut self, time: Time, ack: &Ack) {
        if let Some(answers) = &self.answers {
            self.played.packets.push(packet_of_ack(Side::A, time, ack, &answers.segments, self.segment_map.end()));
        }
    }

    fn show(&mut self, state: usize) {
        let CongestionWindow { cwnd, ssthresh } = *self.sender.window();
        let ssthresh = (ssthresh < self.settings.max_rwnd as f64).then_some(ssthresh);
        self.played.states.push(ReplayedState { state, cwnd, ssthresh });
    }

    /// A real acknowledgement in our numbers.
    fn ack(&self, packet: &Packet, case: &Case) -> Result<Ack, String> {
        let segment =
            |byte: u64| self.segment_map.segment_at(byte).ok_or_else(|| format!("byte {byte} is not a segment boundary of our sender"));
        let mut sacks = SackOption::default();
        for &(from, to) in &packet.sacks {
            sacks.push(segment(from)?, segment(to)?);
        }
        let echoed = echoed(packet, case);
        Ok(Ack {
            next: segment(packet.ack.unwrap_or_default())?,
            size: self.settings.quirks.ack_size,
            segment_type: segments::segment_type(packet),
            ece: packet.has('E'),
            cwr: packet.has('C'),
            ecn: segments::ecn_codepoint(packet.ecn_arrived),
            on_data: packet.len > 0,
            echo: echoed.map_or(Time::ZERO, |echoed| echoed.sent),
            echo_retransmission: echoed.is_some_and(|echoed| echoed.nth.is_some_and(|nth| nth > 0)),
            window: packet.window.unwrap_or_default() as u32,
            sacks,
        })
    }
}

impl ReplyReceiver {
    fn new(case: &Case, settings: &TcpSettings) -> ReplyReceiver {
        let settings = of_answer(case, settings).for_reverse_direction(false);
        let receiver = Receiver::new(&settings, HostClock::new(&settings, boot(case)));
        ReplyReceiver { receiver, segments: RecordedSegments::of_answer(case.sent_by(Side::B)), header: settings.quirks.header_size }
    }

    fn segment(&self, packet: &Packet) -> Segment {
        Segment {
            size: packet.len as u32 + self.header,
            ecn: segments::ecn_codepoint(packet.ecn_arrived),
            cwr: packet.has('C'),
            retransmission: packet.nth.is_some_and(|nth| nth > 0),
            push: packet.has('P'),
            ..Segment::plain(self.segments.containing(packet.seq), 0)
        }
    }

    fn on_data(&mut self, packet: Packet, ack: Option<Ack>, time: Time) -> Packet {
        let ack = ack.unwrap_or_else(|| self.receiver.piggybacked_ack(time));
        with_ack(packet, &ack, &self.segments)
    }
}

/// The sender's inputs in order of time.
fn inputs(case: &Case) -> Vec<(Time, Input<'_>)> {
    let connect = case.sent_by(Side::A).next().map_or(Time::ZERO, |syn| syn.sent);
    let mut inputs = vec![(connect, Input::Connect)];
    inputs.extend(
        app_writes(&case.application, Side::A)
            .into_iter()
            .filter_map(|(when, demand)| if let Trigger::At(at) = when { Some((at, Input::Write(demand))) } else { None }),
    );
    inputs.extend(case.reached(Side::A).into_iter().filter_map(|packet| Some((packet.arrives?, Input::Arrival(packet)))));
    inputs.sort_by_key(|&(time, _)| time);
    let looks = case.states.iter().enumerate().filter(|(_, state)| state.why == "timer");
    for (at, state) in looks {
        // Ours may be a little later than the real timer, but not later than what came next.
        let next = inputs.iter().map(|&(time, _)| time).find(|&time| time > state.time).unwrap_or(Time::NEVER);
        inputs.push((next.min(state.time + TIME_TOLERANCE), Input::Look(at)));
    }
    inputs.sort_by_key(|(time, input)| (*time, !matches!(input, Input::Look(_))));
    inputs
}

/// The real segment that an acknowledgement's timestamp is of: the one that caused it, if that bears the time, or the first one of that
/// millisecond. Without timestamps the one that caused it.
fn echoed<'a>(ack: &Packet, case: &'a Case) -> Option<&'a Packet> {
    let before = || case.sent_by(Side::A).filter(|packet| packet.arrives.is_some_and(|at| at <= ack.sent));
    let cause = before().filter(|packet| packet.arrives.is_some_and(|at| ack.sent.since(at) < Span::from_micros(1))).last();
    let Some(stamp) = ack.tsecr else { return cause };
    let bears = |packet: &&Packet| packet.tsval == Some(stamp);
    cause.filter(bears).or_else(|| before().find(bears))
}
