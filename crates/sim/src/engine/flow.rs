//! A flow as it runs: its two ends, its routes and its counts over all of its connections.

use std::sync::Arc;

use ecnlab_transport::endpoint::Other;
use ecnlab_transport::{Demand, Endpoint, HostClock, ProcessingTime, SendCounters, Sender, Sink, Transport};
use ecnlab_units::{Span, Time};

use crate::measures::{FlowAtEnd, FlowMeasures};
use crate::network::{Counted, FlowSpec};
use crate::packet::{Bits, NONE, Origin};

/// A thousand flows are more than the cache near the processor holds, so what one event reads stands together: what an arrival at the sink
/// reads, what every packet reads in one cache line with the end of the measures, and what an acknowledgement reads.
#[repr(C, align(64))]
pub struct Flow {
    pub sink: Sink,
    /// Packets from the sender that were lost, in the whole run.
    pub lost: u64,
    /// Number of its application, or `NONE`, and which member it is there.
    pub app: u32,
    pub place: u32,
    /// Application data that it sends by itself.
    pub opens: Option<Demand>,
    pub start: Time,
    pub base_rtt: Span,
    pub measures: FlowMeasures,
    pub forward: u32,
    pub back: u32,
    pub group: u32,
    /// Which of its connections is open, modulo 256.
    connection: u8,
    /// What is the same of all packets of its sender.
    pub bits: Bits,
    pub datagrams: bool,
    pub started: bool,
    pub counted: Counted,
    /// Its application hears of each delivery.
    pub hears_deliveries: bool,
    /// The flow that is the other direction of its connection, if acknowledgements of the one ride on data of the other; else `NONE`.
    pub twin: u32,
    /// Places in the calendar: of the start and the sender's timer, and of the sink.
    pub timer: u32,
    pub sink_deadline: u32,
    /// Since when its connection is open.
    opened: Time,
    /// Packets from the sender that reached the sink, in the whole run.
    pub received: u64,
    pub sender: Endpoint,
    pub transport: Transport,
    /// How far the clocks of the sender's host and of the sink's have gone at time zero.
    pub phases: [Span; 2],
    /// Copies of its packets that links made, in the whole run.
    pub copied: u64,
    /// What the connections before this one have counted.
    past: Option<Box<Past>>,
    /// What gives each connection its random processing time, where there is one.
    pub processing: Option<Box<ProcessingTime>>,
}

/// What a flow's connections that are over have counted.
struct Past {
    sent: SendCounters,
    min_rtt: Option<Span>,
}

/// What the opening of a connection has shown to both sides: whether ECN is in use, and how long the handshake took, if that is known.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    pub ecn: bool,
    pub rtt: Option<Span>,
}

impl Flow {
    /// A flow at rest, with where its routes begin and where its timer and its sink stand in the calendar.
    pub fn new(
        spec: &FlowSpec,
        phases: [Span; 2],
        processing: Option<Box<ProcessingTime>>,
        base_rtt: Span,
        routes: (u32, u32),
        deadlines: [u32; 2],
    ) -> Flow {
        let transport = spec.transport.clone();
        let (forward, back) = routes;
        let [timer, sink_deadline] = deadlines;
        let nothing = Demand::open(0);
        let mut flow = Flow {
            sink: Sink::new(&transport, phases[1]),
            forward,
            back,
            group: spec.group,
            connection: 0,
            bits: Bits::of_sender(transport.dialect(), transport.is_datagrams()),
            datagrams: transport.is_datagrams(),
            started: false,
            counted: spec.counted,
            twin: NONE,
            hears_deliveries: false,
            timer,
            sink_deadline,
            app: NONE,
            place: 0,
            received: 0,
            lost: 0,
            copied: 0,
            opens: spec.opens,
            start: spec.start,
            measures: FlowMeasures::new(base_rtt, spec.opens.map(|_| spec.start)),
            base_rtt,
            sender: Endpoint::new(&transport, spec.opens.as_ref().unwrap_or(&nothing), phases[0]),
            transport,
            phases,
            opened: Time::ZERO,
            past: None,
            processing,
        };
        flow.begin_processing();
        flow
    }

    /// Gives the sender of a new connection its random processing time, where there is one.
    fn begin_processing(&mut self) {
        if let Some(processing) = &mut self.processing {
            self.sender.set_processing_time(processing.for_next_connection());
        }
    }

    /// Puts a new connection in the place of the one before, if there was one. Packets of that one that are still in the network are
    /// discarded when they arrive.
    pub fn connect(&mut self, demand: &Demand, now: Time) {
        let transport = self.transport.clone();
        self.replace(Endpoint::new(&transport, demand, self.phases[0]), Sink::new(&transport, self.phases[1]), now);
    }

    /// Puts the other direction of an open connection in the place of the connection before. Its FIN is not answered by one: the direction that
    /// has opened the connection closes by itself.
    pub fn answer(&mut self, opening: Opening, demand: &Demand, now: Time) {
        let settings = match &self.transport {
            Transport::Tcp(settings) => settings,
            Transport::Datagrams(_) => panic!("datagrams answer no connection"),
            Transport::Outside(_) => panic!("hosts outside answer by themselves"),
        };
        let settings = Arc::new(settings.of_answer(opening.ecn));
        let mut sink = Sink::new(&Transport::Tcp(settings.clone()), self.phases[1]);
        sink.leave_closing();
        let clock = HostClock::new(&settings, self.phases[0]);
        self.replace(Endpoint::Tcp(Sender::answering(settings, demand, clock, opening.rtt, now)), sink, now);
    }

    /// The same where the ends are outside.
    pub fn answer_outside(&mut self, demand: &Demand, now: Time) {
        self.connect(demand, now);
        if let Some(host) = self.sender.outside() {
            host.ask(demand.bytes);
            host.open();
        }
    }

    fn replace(&mut self, mut sender: Endpoint, sink: Sink, now: Time) {
        if let (Some(sender), Some(before)) = (sender.outside(), self.sender.outside()) {
            sender.follow(before);
        }
        // A host outside may have sent before anything was asked of it.
        if self.started || self.is_outside() {
            self.past = Some(Box::new(Past { sent: self.counters(), min_rtt: self.min_rtt() }));
            self.connection = self.connection.wrapping_add(1);
        }
        self.started = true;
        (self.sender, self.sink, self.opened) = (sender, sink, now);
        self.begin_processing();
    }

    /// Where its packets come from that enter a route, the sender's or the sink's.
    #[inline]
    pub fn origin(&self, flow: u32, cursor: u32, bits: Bits) -> Origin {
        Origin { flow, cursor, connection: self.connection, bits }
    }

    /// Whether a packet is of the connection that is open. One that stayed in the network while 256 others came and went carries the same
    /// number, but was `sent` before this one opened.
    #[inline]
    pub fn is_of_now(&self, connection: u8, sent: Time) -> bool {
        connection == self.connection && sent >= self.opened
    }

    /// Whether its ends are hosts outside.
    pub fn is_outside(&self) -> bool {
        matches!(self.sender, Endpoint::Other(Other::Outside(_)))
    }

    /// Whether acknowledgements of a connection that goes both ways ride on data.
    pub fn acks_ride(&self) -> bool {
        matches!(&self.transport, Transport::Tcp(settings) if settings.acks_ride())
    }

    /// Whether a connection that its application opened has not been answered yet.
    #[cold]
    #[inline(never)]
    pub fn opens_for_application(&self) -> bool {
        self.app != NONE && self.sender.tcp().is_some_and(Sender::is_opening)
    }

    /// What the senders of all its connections have done.
    pub fn counters(&self) -> SendCounters {
        self.past.as_ref().map_or(*self.sender.counters(), |past| past.sent.plus(self.sender.counters()))
    }

    /// Smallest round-trip time over all its connections, where one was measured.
    fn min_rtt(&self) -> Option<Span> {
        let past = self.past.as_ref().and_then(|past| past.min_rtt);
        past.into_iter().chain(self.sender.min_rtt()).min()
    }

    pub fn at_end(&self) -> FlowAtEnd<'_> {
        FlowAtEnd {
            group: self.group,
            has_row: self.counted == Counted::AsFlow,
            measures: &self.measures,
            sender: self.counters(),
            base_rtt_s: self.base_rtt.seconds(),
            min_rtt_s: self.min_rtt().unwrap_or(Span::ZERO).seconds(),
            started: self.start,
        }
    }
}
