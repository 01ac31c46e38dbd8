//! Traces: what happens to each packet on each link, in the forms that other tools read.
//!
//! A [`Tracer`] is a probe that hears of links. It keeps beside each packet in the network what its headers say, since a packet itself has no
//! room for that, and writes an event when it is told of one:
//!
//! ```text
//! entered  +  before anything that the link does to it      dropped  d
//! began    -  its transmission                              arrived  r  at the far end
//! ```
//!
//! The output waits in a buffer that whoever runs the simulation empties between two slices, so a trace of any length takes no more memory
//! than a slice of it. A pipe computes when a transmission begins as soon as the packet comes; such an event waits until its time has come.

mod ahead;
mod connection;
mod headers;
mod nodes;
mod output;
mod rows;

use ecnlab_transport::Ack;
use ecnlab_units::Time;
pub use ecnlab_wire::Version;
use ecnlab_wire::What;

use self::ahead::Ahead;
use self::headers::Headers;
use self::nodes::Nodes;
use self::output::Output;
pub use self::rows::EVENTS;
use crate::measures::Table;
use crate::network::{Buffer, FlowSpec, LinkSpec};
use crate::packet::{NONE, Packet, PacketId};
use crate::probe::{Made, Probe};

/// What to trace, and as what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceSpec {
    pub format: TraceFormat,
    /// The names of links as [`LinkName::shown`](crate::LinkName::shown) tells them, or as [`LinkName::label`](crate::LinkName::label) does, which
    /// means all of a group's own ones. Where none is named, all links; in a capture those with a measured queue.
    pub links: Vec<String>,
}

impl TraceSpec {
    /// Whether a link is to be traced.
    pub fn chooses(&self, link: &LinkSpec) -> bool {
        match (&self.links[..], self.format) {
            ([], TraceFormat::Pcapng { .. }) => matches!(link.buffer, Buffer::Queue(_)),
            ([], _) => true,
            (names, _) => names.contains(&link.name.shown()) || names.contains(&link.name.label()),
        }
    }
}

/// A form of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// ns-2's lines.
    Ns2,
    /// pcapng, with two interfaces for each link: before its queue and after it. At most so many bytes of each packet are kept.
    Pcapng { keep: u32, version: Version },
    /// A table with a row for each event.
    Table,
}

/// An event on a link.
#[derive(Clone, Copy, Debug)]
struct Event {
    time: Time,
    what: What,
    link: u32,
    id: PacketId,
    packet: Packet,
}

/// Writes a trace.
pub struct Tracer {
    spec: TraceSpec,
    /// Whether each link is traced.
    traced: Vec<bool>,
    nodes: Nodes,
    headers: Headers,
    output: Output,
    ahead: Ahead,
    /// The packet that arrived last at the end of a link.
    arrived: PacketId,
}

impl Tracer {
    pub fn new(spec: TraceSpec) -> Tracer {
        Tracer {
            traced: Vec::new(),
            nodes: Nodes::default(),
            headers: Headers::new(spec.format),
            output: Output::new(spec.format),
            ahead: Ahead::default(),
            arrived: NONE,
            spec,
        }
    }

    /// What has been written of a trace that is a file of bytes; its owner takes it out.
    pub fn bytes(&mut self) -> Option<&mut Vec<u8>> {
        self.output.bytes()
    }

    /// The rows of a trace that is a table since they were taken out last, if they are `least` or more.
    pub fn rows(&mut self, least: u64) -> Option<Table> {
        self.output.rows(least)
    }

    /// Writes the transmissions that have begun when the run ends.
    pub fn finish(&mut self, now: Time) {
        self.catch_up(now);
    }

    /// Writes all transmissions that have begun meanwhile.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        while let Some(event) = self.ahead.next(now) {
            self.output.write(&event, &self.headers, &mut self.nodes);
        }
    }

    #[inline]
    fn happened(&mut self, time: Time, what: What, link: u32, id: PacketId, packet: &Packet) {
        self.catch_up(time);
        if self.traced[link as usize] {
            self.output.write(&Event { time, what, link, id, packet: *packet }, &self.headers, &mut self.nodes);
        }
    }
}

impl Probe for Tracer {
    const LINKS: bool = true;

    fn link_added(&mut self, _link: u32, spec: &LinkSpec) {
        let chosen = self.spec.chooses(spec);
        self.traced.push(chosen);
        self.nodes.add_link(&spec.name);
        self.output.add_link(&spec.name, chosen);
    }

    fn flow_added(&mut self, _flow: u32, spec: &FlowSpec) {
        self.headers.add_flow(&spec.transport, self.nodes.add_flow(spec));
    }

    fn made(&mut self, now: Time, id: PacketId, packet: &Packet, made: &Made) {
        self.headers.made(now, id, packet, made, &mut self.nodes);
    }

    fn copied(&mut self, copy: PacketId, of: PacketId) {
        self.headers.copied(copy, of);
    }

    fn entered(&mut self, now: Time, link: u32, id: PacketId, packet: &Packet) {
        self.happened(now, What::Enqueued, link, id, packet);
    }

    fn began(&mut self, now: Time, begins: Time, link: u32, id: PacketId, packet: &Packet) {
        if begins == now {
            self.happened(now, What::Dequeued, link, id, packet);
        } else if self.traced[link as usize] {
            self.ahead.push(Event { time: begins, what: What::Dequeued, link, id, packet: *packet });
        }
    }

    fn dropped(&mut self, now: Time, link: u32, id: PacketId, packet: &Packet) {
        self.happened(now, What::Dropped, link, id, packet);
    }

    fn arrived(&mut self, now: Time, link: u32, id: PacketId, packet: &Packet) {
        self.happened(now, What::Received, link, id, packet);
        self.arrived = id;
    }

    fn ack_received(&mut self, _now: Time, flow: u32, _ack: &Ack) {
        self.headers.heard(self.arrived, flow);
    }
}
