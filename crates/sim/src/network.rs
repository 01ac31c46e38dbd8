//! What is simulated: links, and flows with their routes over them.

use std::fmt;
use std::sync::Arc;

use ecnlab_queue::Composition;
use ecnlab_transport::{Settings, Traffic};
use ecnlab_units::{Rate, Span, Time};

use crate::impairment::ImpairmentSpec;

/// A network ready to run. Indices are checked when it is run.
#[derive(Clone, Debug, Default)]
pub struct Network {
    pub links: Vec<LinkSpec>,
    pub flows: Vec<FlowSpec>,
    /// Names of the groups that the flows fall into.
    pub groups: Vec<Arc<str>>,
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    pub name: LinkName,
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Span,
    /// Each run lengthens the delay by a draw between nothing and this; [`FlowSpec::base_rtt`] leaves it out.
    pub spread: Span,
    pub buffer: Buffer,
    /// What happens to packets before they wait, if anything.
    pub impairment: Option<Box<ImpairmentSpec>>,
}

/// Which link this is. The name, never a place in a list, names its random streams: another link shifts no draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkName {
    /// A link that flows share.
    Shared { name: Arc<str>, direction: Direction },
    /// A flow's own link, by the flow's group and its place there.
    Access { group: Arc<str>, member: u32, direction: Direction },
}

/// Towards the sink of the flows that a link was declared for, or back to their sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Back,
}

/// What waits before a link.
#[derive(Clone, Debug)]
pub enum Buffer {
    /// A plain drop-tail buffer that is not measured: one event a packet, for access links and return paths.
    Pipe { limit: u32 },
    /// A measured queue.
    Queue(Box<QueueSpec>),
}

/// A measured queue.
#[derive(Clone, Debug)]
pub struct QueueSpec {
    /// Names the queue's random stream.
    pub name: String,
    /// What it is made of.
    pub of: Composition,
}

/// A connection and its routes.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Index into [`Network::groups`], and which flow of the group this is.
    pub group: u32,
    pub member: u32,
    /// Links from source to sink, in order.
    pub forward: Vec<u32>,
    /// Links from sink to source.
    pub back: Vec<u32>,
    pub tcp: Arc<Settings>,
    /// What there is to send.
    pub traffic: Traffic,
    pub start: Time,
    /// Phase of the sender's clock; drawn from the seed where it is not given.
    pub boot: Option<Span>,
}

impl FlowSpec {
    /// Names a random stream of the flow by the name of its group and its place there, so that flows of other groups shift no draw.
    pub fn role(&self, role: &str, group: &str) -> String {
        format!("{role} {} {group}", self.member)
    }

    /// Round-trip time of a data packet and its acknowledgement over empty links of these rates and propagation delays.
    pub fn base_rtt(&self, links: &[(Rate, Span)]) -> Span {
        let way = |route: &[u32], size| {
            let hops = route.iter().map(|&link| links[link as usize]);
            hops.fold(Span::ZERO, |sum, (rate, delay)| sum + rate.transmission(size) + delay)
        };
        way(&self.forward, self.tcp.packet_size) + way(&self.back, self.tcp.ack_size)
    }
}

impl LinkName {
    pub fn shared(name: &str, direction: Direction) -> LinkName {
        LinkName::Shared { name: name.into(), direction }
    }

    /// What it is called in results, where a group's own links are one.
    pub fn label(&self) -> String {
        let (of, direction) = match self {
            LinkName::Shared { name, direction } => (name.to_string(), direction),
            LinkName::Access { group, direction, .. } => (format!("{group}.access"), direction),
        };
        if *direction == Direction::Forward { of } else { format!("{of}.reverse") }
    }
}

/// Two links of one network never read alike, since what a user chose stands last.
impl fmt::Display for LinkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = |direction: &Direction| if *direction == Direction::Forward { "forward" } else { "back" };
        match self {
            LinkName::Shared { name, direction } => write!(f, "{} {name}", way(direction)),
            LinkName::Access { group, member, direction } => write!(f, "access {} {member} {group}", way(direction)),
        }
    }
}
