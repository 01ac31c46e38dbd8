//! Hosts outside of the engine, whose packets the network carries.
//!
//! With [`Network::with_ends_outside`] flows have no sender and no receiver inside: a driver has them, such as one with real sockets. The
//! network stays what it is, with its links, queues, impairments, measures and applications.
//!
//! ```text
//!     driver                                         simulation
//!       advance_to(now), inject(packet)  ------------>  the packet enters its flow's route at `now`
//!       happened()                       <------------  Arrived, Lost, Copied: what became of packets
//!                                                       Open, Answer, Produce: what applications ask their hosts for
//!       tell(flow, Opened, Delivered ...) ----------->  applications act on, measures count
//! ```
//!
//! Whoever drives says what time it is, by [`Simulation::advance_to`](crate::Simulation::advance_to). Between two such times the network
//! goes on by itself, at its own exact times: a packet that arrives tells when it did, and what a driver that is late does with it later
//! moves no other packet. [`Simulation::next_deadline`](crate::Simulation::next_deadline) says when something happens next, and
//! [`Simulation::next_outward`](crate::Simulation::next_outward) how long a driver may look away without being late for anything.
//!
//! A packet is told by its ticket, a number of the driver's. It is the driver's again when [`Happened::Arrived`] or [`Happened::Lost`] has
//! come for it, once more for each [`Happened::Copied`].

use ecnlab_transport::{Demand, Role, SendCounters, Window};
use ecnlab_units::{Ecn, Span, Time};

use crate::network::{AppSpec, FlowSpec, Network, Template};

/// Which end of a flow takes a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Toward {
    /// It goes the flow's way, as data does.
    #[default]
    Sink,
    /// It goes the way back, as an acknowledgement without data does.
    Source,
}

/// A packet of a host outside.
#[derive(Clone, Copy, Debug, Default)]
pub struct Foreign {
    pub flow: u32,
    pub toward: Toward,
    /// Bytes on the wire, from the IP header on.
    pub size: u32,
    /// Application data in it, in bytes.
    pub payload: u32,
    pub retransmission: bool,
    pub ecn: Ecn,
    /// The round-trip time that queues are to see, where one is known; packets towards the source show none.
    pub rtt: Option<Span>,
    /// Tells connections of one flow apart to queues.
    pub label: u8,
    /// What it does to the connection, and its flags, for impairments that look at them. One towards the sink that does nothing and carries
    /// nothing is an acknowledgement of its sender, and no data.
    pub role: Role,
    pub ece: bool,
    pub cwr: bool,
    /// The driver's number for it.
    pub ticket: u32,
}

/// What a driver hears, in the order in which it happened. `at` is the exact time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Happened {
    /// A packet has reached the end of its route. `ece` and `cwr` are as the path has left them.
    Arrived { ticket: u32, at: Time, flow: u32, toward: Toward, ecn: Ecn, ece: bool, cwr: bool },
    /// A packet is gone: dropped by a queue or a buffer, or lost by an impairment.
    Lost { ticket: u32, at: Time },
    /// A link has made a copy of a packet: one more `Arrived` or `Lost` comes for this ticket.
    Copied { ticket: u32 },
    /// A packet has come to a queue that is outside too ([`KernelQueue`](ecnlab_queue::KernelQueue)), and waits there until
    /// [`Simulation::released`](crate::Simulation::released) or [`Simulation::dropped`](crate::Simulation::dropped).
    Offered { ticket: u32, at: Time, link: u32, ecn: Ecn },
    /// A new connection is to be opened in the flow's place, or datagrams begin, and this is to be sent over it. A connection that was there
    /// is forgotten. `connection` counts those of the flow from 0.
    Open { flow: u32, connection: u32, demand: Demand, at: Time },
    /// This is to be sent in the other direction of the connection that flow `to` has opened.
    Answer { flow: u32, to: u32, demand: Demand, at: Time },
    /// This is to be sent too, over the flow's connection or as datagrams.
    Produce { flow: u32, demand: Demand, at: Time },
}

/// What a driver tells of a flow's hosts.
#[derive(Clone, Copy, Debug)]
pub enum Told {
    /// The connection is open: the handshake has been answered.
    Opened,
    /// The application at the sink could read so many more bytes.
    Delivered { bytes: u64 },
    /// All that the flow was asked to send is acknowledged.
    Acknowledged,
    /// The sender has measured a round-trip time.
    RoundTrip(Span),
    /// The sender's congestion window and threshold, in packets.
    Window(Window),
    /// What the sender has counted since it told that last. `sent` says nothing: packets are counted as they enter the network.
    Counters(SendCounters),
}

impl Network {
    /// The same with hosts outside at the ends of every flow.
    pub fn with_ends_outside(self) -> Network {
        let flow = |flow: FlowSpec| FlowSpec { transport: flow.transport.outside(), ..flow };
        let template = |template: Template| Template { flow: flow(template.flow), ..template };
        let app = |app: AppSpec| AppSpec { more: app.more.map(|more| Box::new(template(*more))), ..app };
        Network { flows: self.flows.into_iter().map(flow).collect(), apps: self.apps.into_iter().map(app).collect(), ..self }
    }
}
