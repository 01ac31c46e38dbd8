//! The network to simulate: links, flows with their routes, and applications.

use std::fmt;
use std::sync::Arc;

use ecnlab_queue::{Bursts, QueueConfig};
use ecnlab_transport::application::{ApplicationSpec, FlowDirection};
use ecnlab_transport::{AppWrite, Traffic, Transport};
use ecnlab_units::distribution::TimeDistribution;
use ecnlab_units::{Rate, Rng, Span, Time};

use crate::impairment::ImpairmentSpec;
use crate::packet::Direction;
use crate::trace_driven_link::DeliveryTrace;

/// A network ready to run. Indices are checked when it is run.
#[derive(Clone, Debug, Default)]
pub struct Network {
    pub links: Vec<LinkSpec>,
    pub flows: Vec<FlowSpec>,
    pub apps: Vec<AppWithFlows>,
    /// Names of the groups of flows.
    pub groups: Vec<Arc<str>>,
    pub processing_time: MaxProcessingTime,
}

/// Maximum of the random processing time at each sender's host (ns-2 `overhead_`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxProcessingTime {
    /// This time; zero sends packets at once.
    Fixed(Span),
    /// The transmission time of one of the flow's full packets at the bottleneck: the slowest link of its route that has a measured queue, or
    /// the slowest link where none has.
    OnePacket,
}

impl Default for MaxProcessingTime {
    fn default() -> MaxProcessingTime {
        MaxProcessingTime::Fixed(Span::ZERO)
    }
}

impl Network {
    /// Adds a flow that sends by itself, or one with its application.
    pub fn add_flow_with_traffic(&mut self, flow: FlowSpec, traffic: &Traffic) {
        let number = self.flows.len() as u32;
        let FlowSpec { group, member, start, .. } = flow;
        match traffic {
            Traffic::Once(demand) => self.flows.push(FlowSpec { initial_write: Some(*demand), ..flow }),
            Traffic::Application(spec) => {
                self.flows.push(flow);
                self.apps.push(AppWithFlows { spec: spec.clone(), group, member, start, flows: vec![number], member_template: None });
            }
        }
    }

    /// Renumbers the flows, so that those with a separate row come first and have the numbers of their rows.
    pub fn renumber_rows_first(&mut self) {
        if self.flows.iter().all(|flow| flow.row_policy == RowPolicy::OwnRow) {
            return;
        }
        let (rows, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.flows).into_iter().enumerate().partition(|(_, flow)| flow.row_policy == RowPolicy::OwnRow);
        let mut numbers = vec![0; rows.len() + others.len()];
        for (after, (before, flow)) in (0..).zip(rows.into_iter().chain(others)) {
            numbers[before] = after;
            self.flows.push(flow);
        }
        self.apps.iter_mut().flat_map(|app| &mut app.flows).for_each(|flow| *flow = numbers[*flow as usize]);
    }

    /// Adds the flows of a group's member with their private links, and the application that owns them.
    pub fn add_group_member(&mut self, template: &FlowTemplate, member: u32, traffic: &Traffic) {
        let links = &mut self.links;
        let mut add = |link: LinkSpec| {
            links.push(link);
            links.len() as u32 - 1
        };
        let Traffic::Application(spec) = traffic else {
            let own = template.add_private_links(member, add);
            return self.add_flow_with_traffic(template.flow_of_member(member, &own, FlowDirection::Along), traffic);
        };
        let headings = spec.flow_directions();
        let own = if headings.is_empty() { PrivateLinkIds::default() } else { template.add_private_links(member, &mut add) };
        let first = self.flows.len() as u32;
        self.flows.extend(headings.iter().map(|&heading| template.flow_of_member(member, &own, heading)));
        let flows = (first..self.flows.len() as u32).collect();
        // A member that may come and go gets no row: only a flow that exists from the beginning has one.
        let one_of_many =
            || FlowTemplate { flow: FlowSpec { row_policy: RowPolicy::GroupOnly, ..template.flow.clone() }, ..template.clone() };
        let member_template = spec.spawns_flows().then(|| Box::new(one_of_many()));
        let FlowSpec { group, start, .. } = template.flow;
        self.apps.push(AppWithFlows { spec: spec.clone(), group, member, start, flows, member_template });
    }
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    pub name: LinkName,
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Span,
    /// Each run adds a uniform draw between zero and this to the delay; [`FlowSpec::base_rtt`] excludes it.
    pub delay_spread: Span,
    pub buffer: PipeOrQueue,
    /// Impairments that packets pass before the buffer.
    pub impairment: Option<Box<ImpairmentSpec>>,
    /// For a private link: source of its rate, delay and buffer.
    pub private_params: Option<Arc<PrivateLinkParamLists>>,
}

/// Private links of a group's flows at one end. Flow `n` has entry `n` of each list, modulo the list's length.
#[derive(Clone, Debug)]
pub struct PrivateLinkParamLists {
    pub rates: Vec<Rate>,
    /// Propagation delays; each run draws every flow's delay from its distribution.
    pub delays: Vec<TimeDistribution>,
    /// Buffer limits in packets.
    pub limits: Vec<u32>,
}

/// Suffix of the displayed name of a link's reverse direction.
pub const REVERSE_SUFFIX: &str = ".reverse";

/// Identity of a link. The name, not an index, names its random streams: adding a link changes no draw of the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkName {
    pub kind: LinkKind,
    /// The user's name of a shared link, or the group of the flow that owns a private one.
    pub name: Arc<str>,
    pub direction: Direction,
}

/// Whether several flows share a link, or else the flow that owns it, by its member number in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    Shared,
    /// To the first node of the flow's route.
    Access(u32),
    /// From the last node.
    Exit(u32),
}

/// Buffer of a link.
#[derive(Clone, Debug)]
pub enum PipeOrQueue {
    /// A drop-tail buffer without measures: one event a packet, for access links and return paths.
    Pipe { limit: u32 },
    /// A measured queue.
    Queue(Box<QueueSpec>),
}

/// A measured queue.
#[derive(Clone, Debug)]
pub struct QueueSpec {
    /// Names the queue's random stream.
    pub name: String,
    /// Its discipline and AQM.
    pub config: QueueConfig,
    /// Scheduled changes of its link.
    pub changes: Vec<LinkChange>,
    /// Delivery opportunities of its link, if it does not send at a rate.
    pub delivery_trace: Option<DeliveryTrace>,
    /// Slots at which its link sends, if it sends in bursts. It excludes a trace.
    pub bursts: Option<Bursts>,
}

/// A scheduled change of a link, which needs a measured queue: a pipe computes its departures as packets arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkChange {
    pub time: Time,
    /// Interval of repetitions, if it repeats.
    pub repeat_interval: Option<Span>,
    pub rate: Option<Rate>,
    pub delay: Option<Span>,
    pub state: Option<LinkState>,
}

impl LinkChange {
    /// Whether arrivals of packets depend on packets that are on the wire at this time: these are lost, or may not be overtaken.
    pub fn affects_propagating_packets(&self) -> bool {
        self.delay.is_some() || matches!(self.state, Some(LinkState::Down { drops_wire_packets: true }))
    }
}

/// Whether a link sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    Up,
    Down {
        /// Whether packets on the wire are lost instead of arriving.
        drops_wire_packets: bool,
    },
}

impl QueueSpec {
    /// A queue of a link without changes that sends at its rate.
    pub fn new(name: impl Into<String>, config: QueueConfig) -> QueueSpec {
        QueueSpec { name: name.into(), config, changes: Vec::new(), delivery_trace: None, bursts: None }
    }
}

/// A flow and its routes.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Index into [`Network::groups`], and the flow's number in this group.
    pub group: u32,
    pub member: u32,
    /// Links from source to sink, in order.
    pub forward: Vec<u32>,
    /// Links from sink to source.
    pub back: Vec<u32>,
    pub transport: Transport,
    /// Data that it sends at its start; `None` if an application opens it.
    pub initial_write: Option<AppWrite>,
    pub start: Time,
    /// Phase of the clocks of both hosts at time zero; drawn from the seed for each host if not given.
    pub clock_phase: Option<Span>,
    pub row_policy: RowPolicy,
}

/// Rows to which a flow's measures are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowPolicy {
    /// A separate row, its group and the total.
    OwnRow,
    /// Its group and the total, for one of many flows that come and go.
    GroupOnly,
    /// None: it carries requests against the direction of its group.
    NotCounted,
}

/// An application and the flows that it owns.
#[derive(Clone, Debug)]
pub struct AppWithFlows {
    pub spec: Arc<dyn ApplicationSpec>,
    /// Index into [`Network::groups`], and the application's number in the group; together they name its random stream.
    pub group: u32,
    pub member: u32,
    pub start: Time,
    /// Its members, as indices into [`Network::flows`].
    pub flows: Vec<u32>,
    /// Template for more members, if it may add them.
    pub member_template: Option<Box<FlowTemplate>>,
}

/// Template of the flows of a group: their common properties.
#[derive(Clone, Debug)]
pub struct FlowTemplate {
    /// A flow whose routes contain the shared links only.
    pub flow: FlowSpec,
    /// A flow's private link to the first node of its route, and its reverse.
    pub access: Option<[LinkSpec; 2]>,
    /// A flow's private link from the last node of its route, and its reverse.
    pub exit: Option<[LinkSpec; 2]>,
}

/// Numbers of a flow's private links, each with that of its reverse.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrivateLinkIds {
    pub access: Option<[u32; 2]>,
    pub exit: Option<[u32; 2]>,
}

impl FlowTemplate {
    /// Creates the private links of a member; `add` adds a link and returns its number.
    pub fn add_private_links(&self, member: u32, mut add: impl FnMut(LinkSpec) -> u32) -> PrivateLinkIds {
        let mut both =
            |links: &Option<[LinkSpec; 2]>| links.as_ref().map(|links| links.each_ref().map(|link| add(link.for_member(member))));
        PrivateLinkIds { access: both(&self.access), exit: both(&self.exit) }
    }

    /// Round-trip time of a member's flow over its private links and the shared ones, as [`FlowSpec::base_rtt`].
    pub fn base_rtt_of_member(&self, own: &PrivateLinkIds, links: &[(Rate, Span)]) -> Span {
        round_trip_time(&self.flow.transport, self.forward_route(own), self.back_route(own), links)
    }

    /// Links from its source to its sink.
    pub fn forward_route(&self, own: &PrivateLinkIds) -> impl Iterator<Item = u32> + Clone {
        let (first, last) = (own.access.map(|[to, _]| to), own.exit.map(|[to, _]| to));
        first.into_iter().chain(self.flow.forward.iter().copied()).chain(last)
    }

    fn back_route(&self, own: &PrivateLinkIds) -> impl Iterator<Item = u32> {
        let (first, last) = (own.exit.map(|[_, back]| back), own.access.map(|[_, back]| back));
        first.into_iter().chain(self.flow.back.iter().copied()).chain(last)
    }

    /// A member's flow over its private links and the shared ones.
    pub fn flow_of_member(&self, member: u32, own: &PrivateLinkIds, heading: FlowDirection) -> FlowSpec {
        let (forward, back) = (self.forward_route(own).collect(), self.back_route(own).collect());
        match heading {
            FlowDirection::Along => FlowSpec { member, forward, back, ..self.flow.clone() },
            FlowDirection::Against => {
                FlowSpec { member, forward: back, back: forward, row_policy: RowPolicy::NotCounted, ..self.flow.clone() }
            }
        }
    }
}

impl FlowSpec {
    /// Round-trip time of a full data packet and its acknowledgement over empty links of these rates and propagation delays.
    pub fn base_rtt(&self, links: &[(Rate, Span)]) -> Span {
        round_trip_time(&self.transport, self.forward.iter().copied(), self.back.iter().copied(), links)
    }
}

/// Round-trip time of a full data packet and its acknowledgement over empty links of these rates and propagation delays.
fn round_trip_time(
    transport: &Transport,
    forward: impl Iterator<Item = u32>,
    back: impl Iterator<Item = u32>,
    links: &[(Rate, Span)],
) -> Span {
    let (data, ack) = transport.packet_and_ack_sizes();
    let hops = forward.map(|link| (link, data)).chain(back.map(|link| (link, ack)));
    hops.fold(Span::ZERO, |sum, (link, size)| {
        let (rate, delay) = links[link as usize];
        sum + rate.transmission_time(size) + delay
    })
}

/// Role of a random stream of a flow, from the name of its group and its member number, so that flows of other groups change no draw.
pub struct MemberRngRole<'a> {
    pub role: &'a str,
    pub member: u32,
    pub group: &'a str,
}

impl fmt::Display for MemberRngRole<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_parts(f, &[self.role, " "])?;
        self.member.fmt(f)?;
        write_parts(f, &[" ", self.group])
    }
}

impl LinkSpec {
    /// The private link with this name.
    pub fn private_link(name: LinkName, of: Arc<PrivateLinkParamLists>) -> LinkSpec {
        let number = name.member().unwrap_or(0) as usize;
        let delay = &of.delays[number % of.delays.len()].0;
        LinkSpec {
            name,
            rate: of.rates[number % of.rates.len()],
            delay: Span::from_secs_f64(delay.mean()).unwrap_or(Span::from_picos(u64::MAX)),
            delay_spread: Span::ZERO,
            buffer: PipeOrQueue::Pipe { limit: of.limits[number % of.limits.len()] },
            impairment: None,
            private_params: Some(of),
        }
    }

    /// The same private link of another flow of the group.
    pub fn for_member(&self, number: u32) -> LinkSpec {
        let name = self.name.for_member(number);
        match &self.private_params {
            Some(own) => LinkSpec {
                delay_spread: self.delay_spread,
                impairment: self.impairment.clone(),
                ..LinkSpec::private_link(name, Arc::clone(own))
            },
            None => LinkSpec { name, ..self.clone() },
        }
    }

    /// Delay of this link in the run with this seed, without the delay spread: constant, or drawn from a stream of the flow that owns the
    /// link. Both directions of a link have the same.
    pub fn delay_in_run(&self, seed: u64) -> Span {
        let (role, member) = match self.name.kind {
            LinkKind::Shared => return self.delay,
            LinkKind::Access(member) => ("delay", member),
            LinkKind::Exit(member) => ("exit delay", member),
        };
        let drawn =
            self.private_params.as_ref().map(|own| &own.delays[member as usize % own.delays.len()]).filter(|delay| !delay.0.is_fixed());
        drawn.map_or(self.delay, |delay| delay.draw(&mut Rng::for_role(seed, MemberRngRole { role, member, group: &self.name.name })))
    }
}

impl LinkName {
    pub fn shared(name: &str, direction: Direction) -> LinkName {
        LinkName { kind: LinkKind::Shared, name: name.into(), direction }
    }

    /// Name in traces: the label, and for a private link also the flow's number.
    pub fn display_name(&self) -> String {
        let label = self.result_label();
        match (self.member(), label.strip_suffix(REVERSE_SUFFIX)) {
            (None, _) => label,
            (Some(member), None) => format!("{label}.{member}"),
            (Some(member), Some(of)) => format!("{of}.{member}{REVERSE_SUFFIX}"),
        }
    }

    /// Label in results, where a group's private links share one.
    pub fn result_label(&self) -> String {
        let of = match self.kind {
            LinkKind::Shared => self.name.to_string(),
            LinkKind::Access(_) => format!("{}.access", self.name),
            LinkKind::Exit(_) => format!("{}.exit", self.name),
        };
        if self.direction == Direction::Forward { of } else { of + REVERSE_SUFFIX }
    }

    /// Member number of the flow that owns the link, if it is private.
    fn member(&self) -> Option<u32> {
        match self.kind {
            LinkKind::Shared => None,
            LinkKind::Access(member) | LinkKind::Exit(member) => Some(member),
        }
    }

    /// Name of the same private link of another flow of the group.
    fn for_member(&self, number: u32) -> LinkName {
        let kind = match self.kind {
            LinkKind::Shared => LinkKind::Shared,
            LinkKind::Access(_) => LinkKind::Access(number),
            LinkKind::Exit(_) => LinkKind::Exit(number),
        };
        LinkName { kind, ..self.clone() }
    }
}

/// Names of two links of a network always differ, since the part that a user chose comes last.
impl fmt::Display for LinkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = if self.direction == Direction::Forward { "forward" } else { "back" };
        let (kind, member) = match self.kind {
            LinkKind::Shared => return write_parts(f, &[direction, " ", &self.name]),
            LinkKind::Access(member) => ("access ", member),
            LinkKind::Exit(member) => ("exit ", member),
        };
        write_parts(f, &[kind, direction, " "])?;
        member.fmt(f)?;
        write_parts(f, &[" ", &self.name])
    }
}

/// Writes texts one after the other, without the cost of `write!`: a connection of an application writes several names.
fn write_parts(f: &mut fmt::Formatter<'_>, parts: &[&str]) -> fmt::Result {
    parts.iter().try_for_each(|part| f.write_str(part))
}
