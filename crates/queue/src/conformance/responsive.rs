//! Flows that answer to congestion, as plain as can be: each keeps a window of packets in flight, lets it grow by one packet a round trip
//! (in slow start by one for each packet that arrives) and cuts it once a round trip for a loss or a mark.
//!
//! They stand for traffic whose rate follows the signals, no transport protocol in particular: retransmission, timeouts and delayed
//! acknowledgements are left out. A lost packet is missed one round trip after it was dropped.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ecnlab_units::{Level, Rate, Rng, Span, Time};

use super::packet::Packet;
use super::stand::Stand;
use super::subject::{Setting, Subject};
use crate::{Cause, Deed, Limit, Take};

/// A link, its buffer and the flows that share it.
#[derive(Clone, Copy, Debug)]
pub struct Network<'a> {
    pub rate: Rate,
    /// Packets that may wait.
    pub buffer: u32,
    pub flows: usize,
    /// Sizes that packets have, drawn evenly.
    pub sizes: &'a [u32],
    pub duration: Span,
}

/// What a queue did to such flows in the second half of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Held {
    /// Mean number of waiting packets, as a share of the buffer.
    pub filled: f64,
    /// Share of the time in which the link sent.
    pub used: f64,
    /// Packets dropped because the buffer was full, as a share of all that were sent.
    pub overflowed: f64,
    /// What was offered and what was marked or dropped, by size.
    pub by_size: Vec<Share>,
}

/// A part of a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    pub part: u64,
    pub whole: u64,
}

impl Share {
    pub fn of_one(self) -> f64 {
        self.part as f64 / self.whole.max(1) as f64
    }
}

/// A link that many flows share, and its queue.
struct Load<'a> {
    stand: Stand<Packet>,
    network: &'a Network<'a>,
    flows: Vec<Flow>,
    events: BinaryHeap<Reverse<(Time, u64, What)>>,
    /// Events so far: those of one time happen in the order in which they were caused.
    order: u64,
    packet: Packet,
    sizes: Rng,
    transmitting: bool,
    sums: Sums,
}

/// What is added up in the second half of the run.
#[derive(Default)]
struct Sums {
    since: Time,
    packet_picos: f64,
    sending: Span,
    offered: u64,
    overflowed: u64,
    by_size: Vec<Share>,
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

/// Runs such flows over a queue with its defaults.
pub fn hold(subject: &Subject, network: &Network) -> Held {
    let flows = network.flows;
    let values = subject.values(Setting::Defaults);
    let mut load = Load {
        stand: Stand::new(subject, &values, network.rate, Limit::Packets(network.buffer)),
        network,
        flows: (0..flows).map(|flow| Flow::new(round_trip(flow, flows))).collect(),
        events: BinaryHeap::new(),
        order: 0,
        packet: Packet { dialect: subject.dialect(Setting::Defaults), ..Packet::PLAIN },
        sizes: Rng::for_role(1, "sizes"),
        transmitting: false,
        sums: Sums::from(Time::ZERO, network.sizes.len()),
    };
    for flow in 0..flows {
        load.schedule(Time::ZERO + Span::from_picos(LAST_START.picos() / flows as u64 * flow as u64), What::Start { flow });
    }
    let half = Span::from_picos(network.duration.picos() / 2);
    load.run_until(Time::ZERO + half);
    load.sums = Sums::from(load.stand.now, network.sizes.len());
    load.run_until(Time::ZERO + half + half);
    load.held()
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
            let kind = self.sizes.below(self.network.sizes.len() as u64) as usize;
            let size = self.network.sizes[kind];
            self.sums.offered += 1;
            self.sums.by_size[kind].whole += 1;
            let packet = Packet { number, flow: flow as u64, size, rtt: self.flows[flow].round_trip, ..self.packet };
            self.with_queue(|stand, tell| stand.offer(packet, tell));
            self.transmit();
        }
    }

    fn transmit(&mut self) {
        if self.transmitting {
            return;
        }
        match self.with_queue(|stand, tell| stand.take(tell)) {
            Take::Packet { frame, .. } => self.launch(&frame),
            Take::Later(time) => self.schedule(time, What::Retry),
            Take::Empty => {}
        }
    }

    fn launch(&mut self, packet: &Packet) {
        let sending = self.network.rate.transmission(packet.size);
        let sent = self.stand.now + sending;
        self.transmitting = true;
        self.sums.sending += sending;
        self.schedule(sent, What::Transmitted);
        let flow = packet.flow as usize;
        let mark = packet.dialect.level(packet.ecn);
        self.schedule(sent + self.flows[flow].round_trip, What::Arrived { flow, sent: packet.number, mark });
    }

    /// Does something to the queue, counts what it signalled, and lets the flows miss what it dropped.
    fn with_queue<T>(&mut self, act: impl FnOnce(&mut Stand<Packet>, &mut dyn FnMut(Deed<Packet>)) -> T) -> T {
        let mut lost = Vec::new();
        let Load { stand, sums, network, .. } = self;
        let mut signalled = |packet: &Packet| {
            let kind = network.sizes.iter().position(|&size| size == packet.size);
            kind.into_iter().for_each(|kind| sums.by_size[kind].part += 1);
        };
        let done = act(stand, &mut |deed| match deed {
            Deed::Stored(_) => {}
            Deed::Marked(packet, _) => signalled(packet),
            Deed::Dropped(packet, cause) => {
                signalled(&packet);
                lost.push((packet, cause));
            }
        });
        for (packet, cause) in lost {
            self.miss(&packet, cause);
        }
        done
    }

    fn miss(&mut self, packet: &Packet, cause: Cause) {
        self.sums.overflowed += u64::from(cause == Cause::Overflow);
        let flow = packet.flow as usize;
        self.schedule(self.stand.now + self.flows[flow].round_trip, What::Lost { flow, sent: packet.number });
    }

    fn held(self) -> Held {
        let span = self.stand.now.since(self.sums.since);
        Held {
            filled: self.sums.packet_picos / span.picos() as f64 / f64::from(self.network.buffer),
            used: (self.sums.sending.seconds() / span.seconds()).min(1.0),
            overflowed: Share { part: self.sums.overflowed, whole: self.sums.offered }.of_one(),
            by_size: self.sums.by_size,
        }
    }
}

impl Sums {
    fn from(since: Time, sizes: usize) -> Sums {
        Sums { since, by_size: vec![Share::default(); sizes], ..Sums::default() }
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

/// Flows start evenly until then.
const LAST_START: Span = Span::from_millis(2500);
const INITIAL_WINDOW: f64 = 10.0;
