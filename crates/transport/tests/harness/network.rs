//! Test network: runs a sender and a receiver over a path, with events in the order of (time, insertion), and records all steps.
//!
//! It asserts invariants of every run: no deadline in the past, no ACK of a segment that did not arrive, and every packet accounted for.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ecnlab_transport::settings::{RecoveryName, SsthreshRounding};
use ecnlab_transport::{Ack, AppWrite, CongestionWindow, HostClock, Receiver, Segment, SegmentType, Sender, SenderOutput, TcpSettings};
use ecnlab_units::{Span, Time};

use super::path::{PacketInfo, Path, PathAction, PathScript, apply_script};
use super::record::{ArrivedSegment, RecordedAck, RecordedSegment, SenderStep, StepCause, TransferRecord, payload};

/// A transfer to run.
#[derive(Clone)]
pub struct TransferPlan {
    pub path: Path,
    pub segments: u64,
    /// Further writes: time and segments.
    pub later: Vec<(Time, u64)>,
    /// Time at which the run is aborted.
    pub until: Time,
}

impl TransferPlan {
    pub fn new(segments: u64, path: Path) -> TransferPlan {
        TransferPlan { path, segments, later: Vec::new(), until: Time::ZERO + Span::from_secs(1000) }
    }
}

impl fmt::Debug for TransferPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        writeln!(
            f,
            "{} segments, later {:?}, {} s away, {:?}, {:?}",
            self.segments,
            self.later,
            path.delay.seconds(),
            path.rate,
            path.ecn_semantics
        )?;
        write!(f, "  data: {}\n  acks: {}", describe_script(&path.data), describe_script(&path.acks))
    }
}

enum Event {
    Segment(Segment, Time),
    Ack(Ack),
    Produce(AppWrite),
}

/// More calls of the sender than any run needs.
const MAX_STEPS: usize = 100_000;

/// Counters of one direction, by which scripts select packets.
#[derive(Default)]
struct Direction {
    index: u64,
    times: BTreeMap<u64, u32>,
    cwr: u32,
}

pub struct TestNetwork {
    sender: Sender,
    receiver: Receiver,
    settings: Arc<TcpSettings>,
    path: Path,
    now: Time,
    events: BTreeMap<(Time, u64), Event>,
    inserted: u64,
    free: Time,
    there: Direction,
    back: Direction,
    copies: u64,
    dropped: u64,
    /// Application data in each segment that has arrived.
    arrived: BTreeMap<u64, u32>,
    run: TransferRecord,
}

/// Collects the sender's output of one call.
struct SentCollector {
    window: CongestionWindow,
    sent: Vec<(Segment, CongestionWindow)>,
}

impl SenderOutput for SentCollector {
    fn send(&mut self, segment: Segment) {
        self.sent.push((segment, self.window));
    }

    fn on_window_changed(&mut self, window: &CongestionWindow) {
        self.window = *window;
    }
}

/// Runs a transfer to its end.
pub fn run_transfer(settings: &Arc<TcpSettings>, plan: &TransferPlan) -> TransferRecord {
    let first = AppWrite { closes: plan.later.is_empty(), ..AppWrite::full_packets(plan.segments, settings.payload()) };
    let clock = HostClock::new(settings, Span::ZERO);
    let mut network = TestNetwork {
        sender: Sender::new(settings.clone(), &first, clock),
        receiver: Receiver::new(settings, clock),
        settings: settings.clone(),
        path: plan.path.clone(),
        now: Time::ZERO,
        events: BTreeMap::new(),
        inserted: 0,
        free: Time::ZERO,
        there: Direction::default(),
        back: Direction::default(),
        copies: 0,
        dropped: 0,
        arrived: BTreeMap::new(),
        run: TransferRecord::default(),
    };
    let mut segments = plan.segments;
    for (place, &(time, more)) in plan.later.iter().enumerate() {
        segments += more;
        let closes = place + 1 == plan.later.len();
        network.insert(time, Event::Produce(AppWrite { closes, ..AppWrite::full_packets(more, settings.payload()) }));
    }
    network.run.written_bytes = segments * u64::from(settings.payload());
    network.call_sender(StepCause::Start, |sender, now, out| sender.start(now, out));
    network.run_until(plan.until);
    network.finish()
}

impl TestNetwork {
    fn insert(&mut self, time: Time, event: Event) {
        self.inserted += 1;
        self.events.insert((time, self.inserted), event);
    }

    /// Runs all events up to a time. Packets precede timers of the same time.
    fn run_until(&mut self, until: Time) {
        while self.run.all_acked_at.is_none() || !self.events.is_empty() {
            assert!(self.run.steps.len() < MAX_STEPS, "the sender is called over and over at {:?}", self.now);
            let event = self.events.keys().next().map(|&(time, _)| time);
            let timers = [self.receiver.deadline(), self.sender.deadline()];
            let Some(next) = timers.into_iter().flatten().chain(event).min() else { break };
            if next > until {
                break;
            }
            self.now = next;
            if event == Some(next) {
                let (_, event) = self.events.pop_first().expect("an event");
                self.process_event(event);
            } else if timers[0] == Some(next) {
                let ack = self.receiver.on_timer(next);
                ack.into_iter().for_each(|ack| self.send_ack(ack));
            } else {
                self.call_sender(StepCause::Timer, |sender, now, out| sender.on_timer(now, out));
            }
            self.check_deadlines();
        }
    }

    fn check_deadlines(&self) {
        for (who, deadline) in [("sender", self.sender.deadline()), ("receiver", self.receiver.deadline())] {
            assert!(deadline.is_none_or(|at| at >= self.now), "the {who} asks for a deadline in the past: {deadline:?} at {:?}", self.now);
        }
    }

    fn process_event(&mut self, event: Event) {
        match event {
            Event::Segment(segment, sent) => self.deliver_segment(&segment, sent),
            Event::Ack(ack) => self.call_sender(StepCause::Ack(ack.clone()), |sender, now, out| sender.on_ack(&ack, now, out)),
            Event::Produce(app_write) => self.call_sender(StepCause::Produce, |sender, now, out| sender.write(&app_write, now, out)),
        }
    }

    /// Calls the sender, transmits its segments and records the step.
    fn call_sender(&mut self, cause: StepCause, action: impl FnOnce(&mut Sender, Time, &mut SentCollector)) {
        let (before, counters_before) = (*self.sender.congestion_window(), *self.sender.counters());
        let una_before = self.sender.snd_una();
        let mut out = SentCollector { window: before, sent: Vec::new() };
        action(&mut self.sender, self.now, &mut out);
        let sent = out.sent.into_iter().map(|(segment, window)| self.send(segment, window)).collect();
        let (after, una) = (*self.sender.congestion_window(), self.sender.snd_una());
        // Integer halving reduces a cwnd of one to zero, and so does Vegas after an RTO for a cwnd inflated by duplicates: both wait for
        // the timer.
        let may_close = self.settings.reduction_rounding() == SsthreshRounding::Integer || self.settings.recovery == RecoveryName::Vegas;
        let least = if may_close { 0.0 } else { f64::MIN_POSITIVE };
        assert!(after.cwnd >= least && after.cwnd.is_finite(), "the window is {}", after.cwnd);
        if self.sender.is_done() && self.run.all_acked_at.is_none() {
            self.run.all_acked_at = Some(self.now);
        } else if !self.sender.is_done() {
            self.run.all_acked_at = None;
        }
        let counters = (counters_before, *self.sender.counters());
        let timer = self.sender.deadline();
        let ecn = self.sender.uses_ecn();
        self.run.steps.push(SenderStep { time: self.now, cause, before, after, una_before, una, sent, counters, timer, ecn });
    }

    fn send(&mut self, segment: Segment, window: CongestionWindow) -> RecordedSegment {
        let passing = self.there.next(segment.seq, self.now, segment.segment_type, segment.cwr && segment.segment_type != SegmentType::Syn);
        let passing = PacketInfo { capable: segment.ecn.is_capable(), ece: segment.ece, retransmission: segment.retransmission, ..passing };
        let fate = apply_script(&self.path.data, self.path.ecn_semantics, segment, &passing);
        self.free = self.free.max(self.now) + self.path.rate.map_or(Span::ZERO, |rate| rate.transmission_time(segment.size));
        self.count_copies(fate.copies.len());
        for &late in &fate.copies {
            self.insert(self.free + self.path.delay + late, Event::Segment(fate.packet, self.now));
        }
        RecordedSegment { segment, nth: passing.nth, actions: fate.actions, window }
    }

    fn count_copies(&mut self, copies: usize) {
        self.copies += copies as u64;
        self.dropped += u64::from(copies == 0);
    }

    fn deliver_segment(&mut self, segment: &Segment, sent: Time) {
        let before = self.receiver.rcv_nxt();
        let arrival = self.receiver.receive(segment, sent, self.now);
        assert_eq!(arrival.delivered, self.receiver.rcv_nxt() - before, "delivered is what `next` passed");
        if segment.segment_type != SegmentType::PureAck {
            self.arrived.insert(segment.seq, payload(&self.settings, segment));
        }
        self.run.arrived.push(ArrivedSegment { time: self.now, segment: *segment, delivered: arrival.delivered });
        for ack in arrival.earlier_ack.map(|ack| *ack).into_iter().chain(arrival.ack) {
            self.send_ack(ack);
        }
    }

    fn send_ack(&mut self, ack: Ack) {
        self.check_acked_segments_arrived(&ack);
        let passing = self.back.next(ack.next, self.now, ack.segment_type, ack.cwr);
        let passing = PacketInfo { ece: ack.ece, ..passing };
        let fate = apply_script(&self.path.acks, self.path.ecn_semantics, ack.clone(), &passing);
        for &late in &fate.copies {
            self.insert(self.now + self.path.delay + late, Event::Ack(fate.packet.clone()));
        }
        self.run.acks.push(RecordedAck { time: self.now, ack, actions: fate.actions });
    }

    /// Checks that only arrived segments are acknowledged (RFC 9293, section 3.4; RFC 2018, section 4).
    fn check_acked_segments_arrived(&self, ack: &Ack) {
        let acked = (0..ack.next).chain(ack.sacks.as_slice().iter().flat_map(|&(from, to)| from..to));
        for seq in acked {
            assert!(self.arrived.contains_key(&seq), "segment {seq} is acknowledged by {ack:?} but has not arrived");
        }
    }

    /// Checks that sent = received + dropped, once all packets have left the path.
    fn finish(mut self) -> TransferRecord {
        self.run.counters = *self.sender.counters();
        self.run.delivered_segments = self.receiver.rcv_nxt();
        self.run.end = self.now;
        self.run.all_acked_at = self.run.all_acked_at.filter(|_| self.sender.is_done());
        // A FIN on data has no number of its own, and a segment split for a small window has two.
        self.run.total_segments = self.sender.send_buffer().queued_segments();
        if let Some(accurate) = self.receiver.accurate_counters() {
            (self.run.received_ce, self.run.received_ce_bytes) = (accurate.received_ce_packets(), accurate.received_bytes()[1]);
        }
        (self.run.reported_ce, self.run.reported_ce_bytes) = (self.sender.reported_ce(), self.sender.reported_bytes()[1]);
        self.run.delivered_bytes = self.arrived.values().map(|&bytes| u64::from(bytes)).sum();
        if self.events.is_empty() {
            let extra: u64 = self.run.sent().map(|(_, sent)| duplicates(&sent.actions)).sum();
            assert_eq!(self.copies, self.run.arrived.len() as u64);
            assert_eq!(self.run.counters.sent + extra, self.copies + self.dropped, "sent = received + dropped");
        }
        assert_eq!(self.run.arrived.iter().map(|arrived| arrived.delivered).sum::<u64>(), self.run.delivered_segments);
        self.run
    }
}

fn duplicates(actions: &[PathAction]) -> u64 {
    if actions.contains(&PathAction::Drop) {
        0
    } else {
        actions.iter().filter(|action| matches!(action, PathAction::Duplicate(_))).count() as u64
    }
}

impl Direction {
    fn next(&mut self, number: u64, time: Time, kind: SegmentType, cwr: bool) -> PacketInfo {
        let index = self.index;
        self.index += 1;
        let nth = if kind == SegmentType::PureAck { 0 } else { *self.times.entry(number).and_modify(|times| *times += 1).or_insert(1) };
        self.cwr += u32::from(cwr);
        let cwr = cwr.then_some(self.cwr);
        PacketInfo { number, nth, index, time, capable: false, ece: false, cwr, retransmission: false, kind }
    }
}

/// The script of a direction as one line, for messages.
fn describe_script(script: &PathScript) -> String {
    script.iter().map(|(pick, action)| format!("({pick:?}, {action:?})")).collect::<Vec<_>>().join(", ")
}
