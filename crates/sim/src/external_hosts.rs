//! External hosts, whose packets the network carries.
//!
//! With [`Network::with_external_hosts`] flows have no sender and no receiver in the engine: a driver has them, such as one with real sockets.
//! The network stays the same, with its links, queues, impairments, measures and applications.
//!
//! ```text
//!     driver                                         simulation
//!       advance_to(now), inject(packet)  ------------>  the packet enters its flow's route at `now`
//!       drain_outputs()                  <------------  Arrived, Lost, Duplicated: results for packets
//!                                                       Open, Answer, Write: requests of applications to their hosts
//!       apply_host_input(flow, Opened ..) ----------->  applications act on it, measures count it
//! ```
//!
//! The driver sets the time by [`Simulation::advance_to`](crate::Simulation::advance_to). Between two such times the network runs at its own
//! exact times: an arriving packet carries its time of arrival, and a late driver delays no other packet.
//! [`Simulation::next_event_time`](crate::Simulation::next_event_time) is the time of the next event, and
//! [`Simulation::next_output_time`](crate::Simulation::next_output_time) the time until which a driver may sleep without missing an output.
//!
//! The driver identifies each packet by a handle, a number that it chooses. The handle is free again after [`SimOutput::Arrived`] or
//! [`SimOutput::Lost`]; each [`SimOutput::Duplicated`] adds one more of them.

use ecnlab_transport::{AppWrite, CongestionWindow, SendCounters};
use ecnlab_units::{Ecn, Span, Time};

use crate::network::{AppWithFlows, FlowSpec, FlowTemplate, Network};
use crate::packet::Direction;

/// An output of the simulation for the driver, in the order of events. `at` is the exact time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SimOutput {
    /// A packet has reached the end of its route. `ece` and `cwr` are the flags after impairments of the path.
    Arrived { handle: u32, at: Time, flow: u32, direction: Direction, ecn: Ecn, ece: bool, cwr: bool },
    /// A packet was dropped by a queue or a buffer, or lost by an impairment.
    Lost { handle: u32, at: Time },
    /// A link has copied a packet: one more `Arrived` or `Lost` follows for this handle.
    Duplicated { handle: u32 },
    /// A packet has entered a queue that a kernel serves ([`KernelQdisc`](ecnlab_queue::KernelQdisc)), and waits there until
    /// [`Simulation::on_kernel_dequeue`](crate::Simulation::on_kernel_dequeue) or
    /// [`Simulation::on_kernel_drop`](crate::Simulation::on_kernel_drop).
    KernelEnqueued { handle: u32, at: Time, link: u32, ecn: Ecn },
    /// Open a new connection for the flow, or begin datagrams, and send this over it. The previous connection is forgotten. `connection`
    /// counts those of the flow from 0.
    Open { flow: u32, connection: u32, demand: AppWrite, at: Time },
    /// Send this in the other direction of the connection that flow `to` has opened.
    Answer { flow: u32, to: u32, demand: AppWrite, at: Time },
    /// Send this too, over the flow's connection or as datagrams.
    Write { flow: u32, demand: AppWrite, at: Time },
}

/// An event of a flow's external hosts, reported by the driver.
#[derive(Clone, Copy, Debug)]
pub enum HostEvent {
    /// The connection is open: the handshake has been answered.
    Opened,
    /// The application at the sink could read so many more bytes.
    Delivered { bytes: u64 },
    /// All data that the flow was to send are acknowledged.
    Acknowledged,
    /// The sender has measured a round-trip time.
    RoundTrip(Span),
    /// The sender's congestion window and threshold, in packets.
    Window(CongestionWindow),
    /// Counters of the sender since its last report. `sent` is ignored: packets are counted as they enter the network.
    Counters(SendCounters),
}

impl Network {
    /// The same network with external hosts at the ends of every flow.
    pub fn with_external_hosts(self) -> Network {
        let flow = |flow: FlowSpec| FlowSpec { transport: flow.transport.with_external_hosts(), ..flow };
        let template = |template: FlowTemplate| FlowTemplate { flow: flow(template.flow), ..template };
        let app = |app: AppWithFlows| AppWithFlows { member_template: app.member_template.map(|more| Box::new(template(*more))), ..app };
        Network { flows: self.flows.into_iter().map(flow).collect(), apps: self.apps.into_iter().map(app).collect(), ..self }
    }
}
