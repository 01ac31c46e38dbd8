//! A flow as it runs: the two ends of its connection, its routes and its counts over all of its connections.

use std::sync::Arc;

use ecnlab_transport::SendCounters;
use ecnlab_transport::source::{Next, Source};
use ecnlab_transport::{Demand, Receiver, Sender, Settings};
use ecnlab_units::{Dialect, Span, Time};

use crate::measures::{FlowAtEnd, FlowMeasures};
use crate::network::FlowSpec;
use crate::payloads::Payloads;

/// What every packet reads stands first, so that it shares cache lines.
#[repr(C, align(64))]
pub struct Flow {
    pub sender: Sender,
    pub receiver: Receiver,
    pub forward: u32,
    pub back: u32,
    pub group: u32,
    /// Which of its connections is open, modulo 256.
    pub connection: u8,
    /// What the ECN field of its packets means.
    pub dialect: Dialect,
    pub started: bool,
    /// Places in the calendar: of the start and the sender's timer, and of the receiver.
    pub timer: u32,
    pub receiver_deadline: u32,
    /// Packets from the sender that reached the sink and that were lost, in the whole run.
    pub received: u64,
    pub lost: u64,
    /// Copies of its packets that links made, in the whole run.
    pub copied: u64,
    pub payloads: Payloads,
    pub measures: FlowMeasures,
    /// Number of its source that acts over time, or `NONE`.
    pub source: u32,
    pub start: Time,
    base_rtt: Span,
    tcp: Arc<Settings>,
    /// Phase of the sender's clock.
    boot: Span,
    /// What the connections before this one have counted.
    past: Option<Box<Past>>,
}

/// What a flow's connections that are over have counted.
struct Past {
    sent: SendCounters,
    min_rtt: Span,
}

/// A flow's source that acts over time.
pub struct TimedSource {
    pub flow: u32,
    /// Its place in the calendar.
    pub deadline: u32,
    pub source: Box<dyn Source>,
    /// The transfer that comes next, if it is known.
    pub next: Option<Next>,
}

impl Flow {
    /// A flow at rest, with where its routes begin and where its timer and its receiver stand in the calendar.
    pub fn new(spec: &FlowSpec, boot: Span, base_rtt: Span, routes: (u32, u32), deadlines: [u32; 2], source: u32) -> Flow {
        let tcp: Arc<Settings> = spec.tcp.clone();
        let (forward, back) = routes;
        let [timer, receiver_deadline] = deadlines;
        Flow {
            receiver: Receiver::new(&tcp),
            payloads: Payloads::new(&tcp, &spec.traffic.first),
            forward,
            back,
            group: spec.group,
            connection: 0,
            dialect: tcp.dialect(),
            started: false,
            timer,
            receiver_deadline,
            source,
            received: 0,
            lost: 0,
            copied: 0,
            start: spec.start,
            measures: FlowMeasures::new(base_rtt, spec.start),
            base_rtt,
            sender: Sender::new(tcp.clone(), &spec.traffic.first, boot),
            tcp,
            boot,
            past: None,
        }
    }

    /// Puts a new connection in the place of one that is over. Packets of that one that are still in the network carry its number and are
    /// discarded when they arrive.
    pub fn reconnect(&mut self, demand: &Demand) {
        self.past = Some(Box::new(Past { sent: self.counters(), min_rtt: self.min_rtt() }));
        self.sender = Sender::new(self.tcp.clone(), demand, self.boot);
        self.receiver = Receiver::new(&self.tcp);
        self.payloads = Payloads::new(&self.tcp, demand);
        self.connection = self.connection.wrapping_add(1);
    }

    /// What the senders of all its connections have done.
    pub fn counters(&self) -> SendCounters {
        self.past.as_ref().map_or(*self.sender.counters(), |past| sum(&past.sent, self.sender.counters()))
    }

    /// Smallest round-trip time over all its connections; zero before the first.
    fn min_rtt(&self) -> Span {
        let past = self.past.as_ref().map_or(Span::ZERO, |past| past.min_rtt);
        let known = [past, self.sender.min_rtt()].into_iter().filter(|&rtt| rtt > Span::ZERO);
        known.min().unwrap_or(Span::ZERO)
    }

    pub fn at_end(&self) -> FlowAtEnd<'_> {
        FlowAtEnd {
            group: self.group,
            measures: &self.measures,
            sender: self.counters(),
            base_rtt_s: self.base_rtt.seconds(),
            min_rtt_s: self.min_rtt().seconds(),
            started: self.start,
        }
    }
}

fn sum(a: &SendCounters, b: &SendCounters) -> SendCounters {
    SendCounters {
        sent: a.sent + b.sent,
        retransmitted_fast: a.retransmitted_fast + b.retransmitted_fast,
        retransmitted_timeout: a.retransmitted_timeout + b.retransmitted_timeout,
        timeouts: a.timeouts + b.timeouts,
        ecn_reactions: a.ecn_reactions + b.ecn_reactions,
    }
}
