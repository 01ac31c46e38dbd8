//! The network: runs a sender and a receiver over a path, events in the order of (time, insertion), and keeps a record.
//!
//! What holds on every run is asserted here: no deadline in the past, nothing acknowledged that did not arrive, every packet accounted for.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ecnlab_transport::settings::{Halving, RecoveryName};
use ecnlab_transport::{Ack, Demand, HostClock, Output, Receiver, Role, Segment, Sender, Settings, Window};
use ecnlab_units::{Span, Time};

use super::path::{Deed, Passing, Path, Script, pass};
use super::record::{Arrived, Cause, Run, SentAck, SentSegment, Step, payload};

/// A run to be made.
#[derive(Clone)]
pub struct Plan {
    pub path: Path,
    pub segments: u64,
    /// More to send at these times.
    pub later: Vec<(Time, u64)>,
    /// The run is given up then.
    pub until: Time,
}

impl Plan {
    pub fn new(segments: u64, path: Path) -> Plan {
        Plan { path, segments, later: Vec::new(), until: Time::ZERO + Span::from_secs(1000) }
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        writeln!(
            f,
            "{} segments, later {:?}, {} s away, {:?}, {:?}",
            self.segments,
            self.later,
            path.delay.seconds(),
            path.rate,
            path.dialect
        )?;
        write!(f, "  data: {}\n  acks: {}", describe(&path.data), describe(&path.acks))
    }
}

enum Event {
    Segment(Segment, Time),
    Ack(Ack),
    Produce(Demand),
}

/// More calls of the sender than any run needs.
const MOST_STEPS: usize = 100_000;

/// Counts of one direction, by which scripts choose.
#[derive(Default)]
struct Direction {
    index: u64,
    times: BTreeMap<u64, u32>,
    cwr: u32,
}

pub struct Network {
    sender: Sender,
    receiver: Receiver,
    settings: Arc<Settings>,
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
    run: Run,
}

/// Gathers what the sender does in one call.
struct Collector {
    window: Window,
    sent: Vec<(Segment, Window)>,
}

impl Output for Collector {
    fn send(&mut self, segment: Segment) {
        self.sent.push((segment, self.window));
    }

    fn window(&mut self, window: &Window) {
        self.window = *window;
    }
}

/// Runs a plan to its end.
pub fn run(settings: &Arc<Settings>, plan: &Plan) -> Run {
    let first = Demand { closes: plan.later.is_empty(), ..Demand::packets(plan.segments, settings.payload()) };
    let clock = HostClock::new(settings, Span::ZERO);
    let mut network = Network {
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
        run: Run::default(),
    };
    let mut segments = plan.segments;
    for (place, &(time, more)) in plan.later.iter().enumerate() {
        segments += more;
        let closes = place + 1 == plan.later.len();
        network.insert(time, Event::Produce(Demand { closes, ..Demand::packets(more, settings.payload()) }));
    }
    network.run.asked = segments * u64::from(settings.payload());
    network.call(Cause::Start, |sender, now, out| sender.start(now, out));
    network.go_on(plan.until);
    network.finish()
}

impl Network {
    fn insert(&mut self, time: Time, event: Event) {
        self.inserted += 1;
        self.events.insert((time, self.inserted), event);
    }

    /// Packets come before timers of the same time.
    fn go_on(&mut self, until: Time) {
        while self.run.done.is_none() || !self.events.is_empty() {
            assert!(self.run.steps.len() < MOST_STEPS, "the sender is called over and over at {:?}", self.now);
            let event = self.events.keys().next().map(|&(time, _)| time);
            let timers = [self.receiver.deadline(), self.sender.deadline()];
            let Some(next) = timers.into_iter().flatten().chain(event).min() else { break };
            if next > until {
                break;
            }
            self.now = next;
            if event == Some(next) {
                let (_, event) = self.events.pop_first().expect("an event");
                self.happen(event);
            } else if timers[0] == Some(next) {
                let ack = self.receiver.expire(next);
                ack.into_iter().for_each(|ack| self.answer(ack));
            } else {
                self.call(Cause::Timer, |sender, now, out| sender.expire(now, out));
            }
            self.check_deadlines();
        }
    }

    fn check_deadlines(&self) {
        for (who, deadline) in [("sender", self.sender.deadline()), ("receiver", self.receiver.deadline())] {
            assert!(deadline.is_none_or(|at| at >= self.now), "the {who} asks for a deadline in the past: {deadline:?} at {:?}", self.now);
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Segment(segment, sent) => self.arrive(&segment, sent),
            Event::Ack(ack) => self.call(Cause::Ack(ack.clone()), |sender, now, out| sender.acknowledge(&ack, now, out)),
            Event::Produce(demand) => self.call(Cause::Produce, |sender, now, out| sender.produce(&demand, now, out)),
        }
    }

    /// Lets the sender do something, sends what it makes and records it.
    fn call(&mut self, cause: Cause, deed: impl FnOnce(&mut Sender, Time, &mut Collector)) {
        let (before, counters_before) = (*self.sender.window(), *self.sender.counters());
        let una_before = self.sender.una();
        let mut out = Collector { window: before, sent: Vec::new() };
        deed(&mut self.sender, self.now, &mut out);
        let sent = out.sent.into_iter().map(|(segment, window)| self.send(segment, window)).collect();
        let (after, una) = (*self.sender.window(), self.sender.una());
        // Integer halving makes nothing of a window of one, and Vegas of one that duplicates inflated after a timeout: both wait for the timer.
        let may_close = self.settings.rounding() == Halving::Integer || self.settings.recovery == RecoveryName::Vegas;
        let least = if may_close { 0.0 } else { f64::MIN_POSITIVE };
        assert!(after.cwnd >= least && after.cwnd.is_finite(), "the window is {}", after.cwnd);
        if self.sender.is_done() && self.run.done.is_none() {
            self.run.done = Some(self.now);
        } else if !self.sender.is_done() {
            self.run.done = None;
        }
        let counters = (counters_before, *self.sender.counters());
        let timer = self.sender.deadline();
        let ecn = self.sender.uses_ecn();
        self.run.steps.push(Step { time: self.now, cause, before, after, una_before, una, sent, counters, timer, ecn });
    }

    fn send(&mut self, segment: Segment, window: Window) -> SentSegment {
        let passing = self.there.next(segment.seq, self.now, segment.role, segment.cwr && segment.role != Role::Syn);
        let passing = Passing { capable: segment.ecn.is_capable(), ece: segment.ece, retransmission: segment.retransmission, ..passing };
        let fate = pass(&self.path.data, self.path.dialect, segment, &passing);
        self.free = self.free.max(self.now) + self.path.rate.map_or(Span::ZERO, |rate| rate.transmission(segment.size));
        self.count(fate.copies.len());
        for &late in &fate.copies {
            self.insert(self.free + self.path.delay + late, Event::Segment(fate.packet, self.now));
        }
        SentSegment { segment, nth: passing.nth, deeds: fate.deeds, window }
    }

    fn count(&mut self, copies: usize) {
        self.copies += copies as u64;
        self.dropped += u64::from(copies == 0);
    }

    fn arrive(&mut self, segment: &Segment, sent: Time) {
        let before = self.receiver.next();
        let arrival = self.receiver.receive(segment, sent, self.now);
        assert_eq!(arrival.delivered, self.receiver.next() - before, "delivered is what `next` passed");
        if segment.role != Role::Pure {
            self.arrived.insert(segment.seq, payload(&self.settings, segment));
        }
        self.run.arrived.push(Arrived { time: self.now, segment: *segment, delivered: arrival.delivered });
        for ack in arrival.held.map(|ack| *ack).into_iter().chain(arrival.ack) {
            self.answer(ack);
        }
    }

    fn answer(&mut self, ack: Ack) {
        self.check_truth(&ack);
        let passing = self.back.next(ack.next, self.now, ack.role, ack.cwr);
        let passing = Passing { ece: ack.ece, ..passing };
        let fate = pass(&self.path.acks, self.path.dialect, ack.clone(), &passing);
        for &late in &fate.copies {
            self.insert(self.now + self.path.delay + late, Event::Ack(fate.packet.clone()));
        }
        self.run.acks.push(SentAck { time: self.now, ack, deeds: fate.deeds });
    }

    /// Nothing is acknowledged that has not arrived (RFC 9293, section 3.4; RFC 2018, section 4).
    fn check_truth(&self, ack: &Ack) {
        let acked = (0..ack.next).chain(ack.sacks.as_slice().iter().flat_map(|&(from, to)| from..to));
        for seq in acked {
            assert!(self.arrived.contains_key(&seq), "segment {seq} is acknowledged by {ack:?} but has not arrived");
        }
    }

    /// Every packet is accounted for: sent = received + dropped, once all have left the path.
    fn finish(mut self) -> Run {
        self.run.counters = *self.sender.counters();
        self.run.delivered = self.receiver.next();
        self.run.end = self.now;
        self.run.done = self.run.done.filter(|_| self.sender.is_done());
        // A FIN that rides on data has no number of its own, and a segment that is split for a small window has two.
        self.run.total = self.sender.plan().segments();
        self.run.brought = self.arrived.values().map(|&bytes| u64::from(bytes)).sum();
        if self.events.is_empty() {
            let extra: u64 = self.run.sent().map(|(_, sent)| duplicates(&sent.deeds)).sum();
            assert_eq!(self.copies, self.run.arrived.len() as u64);
            assert_eq!(self.run.counters.sent + extra, self.copies + self.dropped, "sent = received + dropped");
        }
        assert_eq!(self.run.arrived.iter().map(|arrived| arrived.delivered).sum::<u64>(), self.run.delivered);
        self.run
    }
}

fn duplicates(deeds: &[Deed]) -> u64 {
    if deeds.contains(&Deed::Drop) { 0 } else { deeds.iter().filter(|deed| matches!(deed, Deed::Duplicate(_))).count() as u64 }
}

impl Direction {
    fn next(&mut self, number: u64, time: Time, kind: Role, cwr: bool) -> Passing {
        let index = self.index;
        self.index += 1;
        let nth = if kind == Role::Pure { 0 } else { *self.times.entry(number).and_modify(|times| *times += 1).or_insert(1) };
        self.cwr += u32::from(cwr);
        let cwr = cwr.then_some(self.cwr);
        Passing { number, nth, index, time, capable: false, ece: false, cwr, retransmission: false, kind }
    }
}

/// The script of a direction in a line, for messages.
fn describe(script: &Script) -> String {
    script.iter().map(|(pick, deed)| format!("({pick:?}, {deed:?})")).collect::<Vec<_>>().join(", ")
}
