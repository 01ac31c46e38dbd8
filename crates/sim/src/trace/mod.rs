//! Traces: the events of each packet on each link, in formats of other tools.
//!
//! A [`Tracer`] is a probe of links and packets. It stores the headers of each packet separately, since they do not fit into the packet,
//! and writes these events:
//!
//! ```text
//! entered  +  before anything that the link does to it      dropped  d
//! began    -  its transmission                              arrived  r  at the far end
//! ```
//!
//! The owner of the simulation drains the output buffer between two slices, so a trace of any length needs memory for one slice only. A
//! pipe computes the begin of a transmission when the packet arrives; such an event is pending until its time.

mod connection;
mod headers;
mod nodes;
mod output;
mod rows;

use ecnlab_transport::Ack;
use ecnlab_units::Time;
pub use ecnlab_wire::IpVersion;
use ecnlab_wire::TraceEventKind;

use self::headers::PacketHeaders;
use self::nodes::NodeMap;
use self::output::TraceOutput;
pub use self::rows::EVENTS;
use crate::due_queue::DueQueue;
use crate::index_vec::IndexVec;
use crate::measures::Table;
use crate::network::{FlowSpec, LinkSpec, PipeOrQueue};
use crate::packet::{NO_INDEX, Packet, PacketId};
use crate::probe::{PacketCreationContext, Probe};

/// Links to trace, and the format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceSpec {
    pub format: TraceFormat,
    /// Names of links by [`LinkName::display_name`](crate::LinkName::display_name), or labels by
    /// [`LinkName::result_label`](crate::LinkName::result_label), which include all private links of a group. Empty: all links, or in a
    /// capture those with a measured queue.
    pub links: Vec<String>,
}

impl TraceSpec {
    /// Whether a link is to be traced.
    pub fn includes_link(&self, link: &LinkSpec) -> bool {
        match (&self.links[..], self.format) {
            ([], TraceFormat::Pcapng { .. }) => matches!(link.buffer, PipeOrQueue::Queue(_)),
            ([], _) => true,
            (names, _) => names.contains(&link.name.display_name()) || names.contains(&link.name.result_label()),
        }
    }
}

/// Format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// ns-2's trace lines.
    Ns2,
    /// pcapng, with two interfaces for each link: before and after its queue. `keep` is the snapshot length in bytes.
    Pcapng { keep: u32, version: IpVersion },
    /// A table with a row for each event.
    Table,
}

/// An event on a link.
#[derive(Clone, Copy, Debug)]
struct LinkTraceEvent {
    time: Time,
    kind: TraceEventKind,
    link: u32,
    id: PacketId,
    packet: Packet,
}

/// Writes a trace.
pub struct Tracer {
    spec: TraceSpec,
    /// Whether each link is traced.
    is_traced: IndexVec<bool>,
    nodes: NodeMap,
    headers: PacketHeaders,
    output: TraceOutput,
    /// Events that a pipe has computed in advance.
    pending: DueQueue<LinkTraceEvent>,
    /// The packet that last arrived at the far end of a link.
    last_arrived: PacketId,
}

impl Tracer {
    pub fn new(spec: TraceSpec) -> Tracer {
        Tracer {
            is_traced: IndexVec::default(),
            nodes: NodeMap::default(),
            headers: PacketHeaders::new(spec.format),
            output: TraceOutput::new(spec.format),
            pending: DueQueue::default(),
            last_arrived: NO_INDEX,
            spec,
        }
    }

    /// Output of a trace that is a file; the owner moves it out.
    pub fn bytes_mut(&mut self) -> Option<&mut Vec<u8>> {
        self.output.bytes_mut()
    }

    /// Rows of a table trace since the last drain, if there are at least `least`.
    pub fn drain_rows_if_at_least(&mut self, least: u64) -> Option<Table> {
        self.output.drain_rows_if_at_least(least)
    }

    /// Writes the pending transmissions that have begun by now. The owner asks for the last ones at the end of the run.
    #[inline]
    pub fn write_begun_transmissions(&mut self, now: Time) {
        while let Some(event) = self.pending.pop_due(now) {
            self.output.write(&event, &self.headers, &mut self.nodes);
        }
    }

    #[inline]
    fn write_event(&mut self, time: Time, kind: TraceEventKind, link: u32, id: PacketId, packet: &Packet) {
        self.write_begun_transmissions(time);
        if self.is_traced[link] {
            self.output.write(&LinkTraceEvent { time, kind, link, id, packet: *packet }, &self.headers, &mut self.nodes);
        }
    }
}

impl Probe for Tracer {
    const OBSERVES_PACKETS: bool = true;

    fn on_link_added(&mut self, _link: u32, spec: &LinkSpec) {
        let chosen = self.spec.includes_link(spec);
        self.is_traced.push(chosen);
        self.nodes.add_link(&spec.name);
        self.output.add_link(&spec.name, chosen);
    }

    fn on_flow_added(&mut self, _flow: u32, spec: &FlowSpec) {
        self.headers.add_flow(&spec.transport, self.nodes.add_flow(spec));
    }

    fn on_packet_created(&mut self, now: Time, id: PacketId, packet: &Packet, context: &PacketCreationContext) {
        self.headers.add_packet(now, id, packet, context, &mut self.nodes);
    }

    fn on_packet_duplicated(&mut self, copy: PacketId, of: PacketId) {
        self.headers.duplicate(copy, of);
    }

    fn on_link_entry(&mut self, now: Time, link: u32, id: PacketId, packet: &Packet) {
        self.write_event(now, TraceEventKind::Enqueued, link, id, packet);
    }

    fn on_transmission_start(&mut self, now: Time, begins: Time, link: u32, id: PacketId, packet: &Packet) {
        if begins == now {
            self.write_event(now, TraceEventKind::Dequeued, link, id, packet);
        } else if self.is_traced[link] {
            self.pending.insert(begins, LinkTraceEvent { time: begins, kind: TraceEventKind::Dequeued, link, id, packet: *packet });
        }
    }

    fn on_packet_drop(&mut self, now: Time, link: u32, id: PacketId, packet: &Packet) {
        self.write_event(now, TraceEventKind::Dropped, link, id, packet);
    }

    fn on_link_exit(&mut self, now: Time, link: u32, id: PacketId, packet: &Packet) {
        self.write_event(now, TraceEventKind::Received, link, id, packet);
        self.last_arrived = id;
    }

    fn on_ack_received(&mut self, _now: Time, flow: u32, _ack: &Ack) {
        self.headers.on_ack_timestamp_received(self.last_arrived, flow);
    }
}
