//! Flows that answer to congestion, as plain as can be: each keeps a window of packets in flight, lets it grow by one packet a round trip
//! (in slow start by one for each packet that arrives) and cuts it once a round trip for a loss or a mark.
//!
//! They stand for traffic whose rate follows the signals, no transport protocol in particular: retransmission, timeouts and delayed
//! acknowledgements are left out. A lost packet is missed one round trip after it was dropped.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ecnlab_units::{Level, Rate, Span, Time};

use super::packet::Packet;
use super::stand::Stand;
use super::subject::{Setting, Subject};
use crate::{Cause, Deed, Limit, Take};

/// What a queue did to such flows in the second half of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Held {
    /// Mean number of waiting packets, as a share of the buffer.
    pub filled: f64,
    /// Share of the time in which the link sent.
    pub used: f64,
    /// Packets dropped because the buffer was full, as a share of all that were sent.
    pub overflowed: f64,
}

/// A link that many flows share, and its queue.
struct Load<'a> {
    stand: Stand<Packet>,
    rate: Rate,
    flows: Vec<Flow>,
    events: BinaryHeap<Reverse<(Time, u64, What)>>,
    /// Events so far: those of one time happen in the order in which they were caused.
    order: u64,
    packet: &'a Packet,
    transmitting: bool,
    sums: Sums,
}

/// What is added up in the second half of the run.
#[derive(Default)]
struct Sums {
    since: Time,
    packet_picos: f64,
    sent: u64,
    overflowed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Start {
        flow: usize,
    },
    Transmitted,
    /// A flow hears of a packet that it sent: it arrived with this mark, or it was lost.
    Arrived {
        flow: usize,
        sent: u64,
        mark: Option<Level>,
    },
    Lost {
        flow: usize,
        sent: u64,
    },
    /// The line to retry a queue that had nothing to send yet.
    Retry,
}

struct Flow {
    window: f64,
    in_flight: u64,
    sent: u64,
    /// In slow start until the first signal.
    slow_start: bool,
    /// Signals of packets up to this one belong to a window that was cut already.
    cut_for: u64,
    round_trip: Span,
}

/// Runs so many flows over a link of this rate for so long.
pub fn hold(subject: &Subject, rate: Rate, buffer: u32, flows: usize, seconds: u64) -> Held {
    let packet = Packet { size: SIZE, dialect: subject.dialect(Setting::Defaults), ..Packet::PLAIN };
    let stand = Stand::new(subject, &subject.values(Setting::Defaults), rate, Limit::Packets(buffer));
    let mut load = Load {
        stand,
        rate,
        flows: (0..flows).map(|flow| Flow::new(round_trip(flow, flows))).collect(),
        events: BinaryHeap::new(),
        order: 0,
        packet: &packet,
        transmitting: false,
        sums: Sums::default(),
    };
    for flow in 0..flows {
        load.schedule(Time::ZERO + Span::from_micros(10_000_000 * flow as u64 / (4 * flows as u64)), What::Start { flow });
    }
    let half = Span::from_millis(500 * seconds);
    load.run_until(Time::ZERO + half);
    load.sums = Sums { since: load.stand.now, ..Sums::default() };
    load.run_until(Time::ZERO + half + half);
    load.held(buffer)
}

/// Round-trip times lie evenly between 80 and 120 ms, so that flows do not march in step.
fn round_trip(flow: usize, flows: usize) -> Span {
    Span::from_micros(80_000 + 40_000 * flow as u64 / flows as u64)
}

impl Load<'_> {
    fn schedule(&mut self, time: Time, what: What) {
        self.order += 1;
        self.events.push(Reverse((time, self.order, what)));
    }

    fn run_until(&mut self, end: Time) {
        while let Some(&Reverse((time, _, what))) = self.events.peek().filter(|Reverse((time, ..))| *time <= end) {
            self.events.pop();
            self.pass_time(time);
            self.happen(what);
        }
        self.pass_time(end);
    }

    fn pass_time(&mut self, time: Time) {
        self.sums.packet_picos += self.stand.len() as f64 * time.since(self.stand.now).picos() as f64;
        self.stand.wait_until(time);
    }

    fn happen(&mut self, what: What) {
        match what {
            What::Start { flow } => self.send(flow),
            What::Transmitted => {
                self.transmitting = false;
                self.transmit();
            }
            What::Retry => self.transmit(),
            What::Arrived { flow, sent, mark } => {
                self.flows[flow].arrived(sent, mark);
                self.send(flow);
            }
            What::Lost { flow, sent } => {
                self.flows[flow].lost(sent);
                self.send(flow);
            }
        }
    }

    /// Sends what a flow's window allows.
    fn send(&mut self, flow: usize) {
        while self.flows[flow].in_flight < self.flows[flow].window as u64 {
            let number = self.flows[flow].next();
            let packet = Packet { number, flow: flow as u64, rtt: self.flows[flow].round_trip, ..*self.packet };
            let lost = self.with_drops(|stand, tell| stand.offer(packet, tell)).1;
            self.miss(lost);
            self.transmit();
        }
    }

    fn transmit(&mut self) {
        if self.transmitting {
            return;
        }
        let (taken, lost) = self.with_drops(|stand, tell| stand.take(tell));
        self.miss(lost);
        match taken {
            Take::Packet { frame, .. } => {
                let sent = self.stand.now + self.rate.transmission(frame.size);
                self.transmitting = true;
                self.sums.sent += 1;
                self.schedule(sent, What::Transmitted);
                let flow = frame.flow as usize;
                let mark = frame.dialect.level(frame.ecn);
                self.schedule(sent + self.flows[flow].round_trip, What::Arrived { flow, sent: frame.number, mark });
            }
            Take::Later(time) => self.schedule(time, What::Retry),
            Take::Empty => {}
        }
    }

    /// Does something to the queue and gathers what it dropped.
    fn with_drops<T>(&mut self, act: impl FnOnce(&mut Stand<Packet>, &mut dyn FnMut(Deed<Packet>)) -> T) -> (T, Vec<(Packet, Cause)>) {
        let mut lost = Vec::new();
        let done = act(&mut self.stand, &mut |deed| {
            if let Deed::Dropped(packet, cause) = deed {
                lost.push((packet, cause));
            }
        });
        (done, lost)
    }

    fn miss(&mut self, lost: Vec<(Packet, Cause)>) {
        for (packet, cause) in lost {
            self.sums.overflowed += u64::from(cause == Cause::Overflow);
            let flow = packet.flow as usize;
            self.schedule(self.stand.now + self.flows[flow].round_trip, What::Lost { flow, sent: packet.number });
        }
    }

    fn held(&self, buffer: u32) -> Held {
        let span = self.stand.now.since(self.sums.since);
        let sending = self.rate.transmission(SIZE) * self.sums.sent;
        Held {
            filled: self.sums.packet_picos / span.picos() as f64 / f64::from(buffer),
            used: (sending.seconds() / span.seconds()).min(1.0),
            overflowed: self.sums.overflowed as f64 / (self.sums.sent + self.sums.overflowed).max(1) as f64,
        }
    }
}

impl Flow {
    fn new(round_trip: Span) -> Flow {
        Flow { window: INITIAL_WINDOW, in_flight: 0, sent: 0, slow_start: true, cut_for: 0, round_trip }
    }

    /// The number of the next packet, which is in flight from now on.
    fn next(&mut self) -> u64 {
        self.sent += 1;
        self.in_flight += 1;
        self.sent
    }

    fn arrived(&mut self, sent: u64, mark: Option<Level>) {
        self.in_flight -= 1;
        match mark {
            Some(Level::Congested) => self.cut(sent, 0.5),
            Some(Level::Incipient) => self.cut(sent, 0.2),
            None if self.slow_start => self.window += 1.0,
            None => self.window += 1.0 / self.window,
        }
    }

    fn lost(&mut self, sent: u64) {
        self.in_flight -= 1;
        self.cut(sent, 0.5);
    }

    /// Cuts the window by a share of it, once for all packets that were in flight.
    fn cut(&mut self, sent: u64, share: f64) {
        if sent > self.cut_for {
            self.window = (self.window * (1.0 - share)).max(1.0);
            self.cut_for = self.sent;
            self.slow_start = false;
        }
    }
}

const SIZE: u32 = 1500;
const INITIAL_WINDOW: f64 = 10.0;
