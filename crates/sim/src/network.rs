//! What is simulated: links, flows with their routes over them, and applications that say what flows send.

use std::fmt;
use std::sync::Arc;

use ecnlab_queue::QueueConfig;
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
    pub apps: Vec<AppSpec>,
    /// Names of the groups that the flows fall into.
    pub groups: Vec<Arc<str>>,
    pub processing_time: MaxProcessingTime,
}

/// The maximum of the random processing time at each sender's host (ns-2 `overhead_`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxProcessingTime {
    /// Zero: packets leave at once.
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
    /// Adds a flow that sends by itself, or one with an application of its own.
    pub fn add_flow(&mut self, flow: FlowSpec, traffic: &Traffic) {
        let number = self.flows.len() as u32;
        let FlowSpec { group, member, start, .. } = flow;
        match traffic {
            Traffic::Once(demand) => self.flows.push(FlowSpec { initial_write: Some(*demand), ..flow }),
            Traffic::Application(spec) => {
                self.flows.push(flow);
                self.apps.push(AppSpec { spec: spec.clone(), group, member, start, flows: vec![number], member_template: None });
            }
        }
    }

    /// Numbers the flows anew, so that those with a row of their own come first and their numbers are those of the rows.
    pub fn renumber_rows_first(&mut self) {
        let (rows, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.flows).into_iter().enumerate().partition(|(_, flow)| flow.row_policy == RowPolicy::OwnRow);
        let mut numbers = vec![0; rows.len() + others.len()];
        for (after, (before, flow)) in (0..).zip(rows.into_iter().chain(others)) {
            numbers[before] = after;
            self.flows.push(flow);
        }
        self.apps.iter_mut().flat_map(|app| &mut app.flows).for_each(|flow| *flow = numbers[*flow as usize]);
    }

    /// Adds the flows of a group's member with their own links, and the application that owns them.
    pub fn add_member(&mut self, template: &FlowTemplate, member: u32, traffic: &Traffic) {
        let links = &mut self.links;
        let mut add = |link: LinkSpec| {
            links.push(link);
            links.len() as u32 - 1
        };
        let Traffic::Application(spec) = traffic else {
            let own = template.add_private_links(member, add);
            return self.add_flow(template.flow_of_member(member, &own, FlowDirection::Along), traffic);
        };
        let headings = spec.flow_directions();
        let own = if headings.is_empty() { PrivateLinkIds::default() } else { template.add_private_links(member, &mut add) };
        let first = self.flows.len() as u32;
        self.flows.extend(headings.iter().map(|&heading| template.flow_of_member(member, &own, heading)));
        let flows = (first..self.flows.len() as u32).collect();
        // Who comes and goes is one of many: only a flow that is there from the beginning has a row.
        let one_of_many =
            || FlowTemplate { flow: FlowSpec { row_policy: RowPolicy::GroupOnly, ..template.flow.clone() }, ..template.clone() };
        let member_template = spec.spawns_flows().then(|| Box::new(one_of_many()));
        let FlowSpec { group, start, .. } = template.flow;
        self.apps.push(AppSpec { spec: spec.clone(), group, member, start, flows, member_template });
    }
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    pub name: LinkName,
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Span,
    /// Each run lengthens the delay by a draw between nothing and this; [`FlowSpec::base_rtt`] leaves it out.
    pub delay_spread: Span,
    pub buffer: Buffer,
    /// What happens to packets before they wait, if anything.
    pub impairment: Option<Box<ImpairmentSpec>>,
    /// Of a flow's own link: what its rate, delay and buffer follow from.
    pub private_params: Option<Arc<PrivateLinkParams>>,
}

/// The links of their own that the flows of a group have at one end. Flow `n` has entry `n` of each list, which begins anew at its end.
#[derive(Clone, Debug)]
pub struct PrivateLinkParams {
    pub rates: Vec<Rate>,
    /// From a distribution each run draws each flow's own.
    pub delays: Vec<TimeDistribution>,
    /// Packets that may wait.
    pub limits: Vec<u32>,
}

/// What ends the shown name of a link's way back.
pub const REVERSE_SUFFIX: &str = ".reverse";

/// Which link this is. The name, never a place in a list, names its random streams: another link shifts no draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkName {
    /// A link that flows share.
    Shared { name: Arc<str>, direction: Direction },
    /// A flow's own link to the first node of its route, by the flow's group and its place there.
    Access { group: Arc<str>, member: u32, direction: Direction },
    /// The same from the last node.
    Exit { group: Arc<str>, member: u32, direction: Direction },
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
    pub config: QueueConfig,
    /// How its link changes while the run goes on.
    pub changes: Vec<LinkChange>,
    /// When its link sends, if that is not at its rate.
    pub delivery_trace: Option<DeliveryTrace>,
}

/// A change of a link. A link that changes has a measured queue: a plain buffer computes its departures as packets arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkChange {
    pub time: Time,
    /// How long after that again, and again, if at all.
    pub repeat_interval: Option<Span>,
    pub rate: Option<Rate>,
    pub delay: Option<Span>,
    pub state: Option<LinkState>,
}

/// Whether a link sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    Up,
    Down {
        /// What is on the wire is lost, in place of arriving.
        drops_wire_packets: bool,
    },
}

impl QueueSpec {
    /// On a link that does not change and sends at its rate.
    pub fn new(name: impl Into<String>, config: QueueConfig) -> QueueSpec {
        QueueSpec { name: name.into(), config, changes: Vec::new(), delivery_trace: None }
    }
}

/// A flow and its routes.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Index into [`Network::groups`], and which flow of the group this is.
    pub group: u32,
    pub member: u32,
    /// Links from source to sink, in order.
    pub forward: Vec<u32>,
    /// Links from sink to source.
    pub back: Vec<u32>,
    pub transport: Transport,
    /// What it sends at its start; nothing if an application opens it.
    pub initial_write: Option<AppWrite>,
    pub start: Time,
    /// How far the clocks of both hosts have gone at time zero; drawn from the seed, each by itself, where it is not given.
    pub clock_phase: Option<Span>,
    pub row_policy: RowPolicy,
}

/// Where a flow's measures go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowPolicy {
    /// To a row of its own, to its group and to the total.
    OwnRow,
    /// To its group and to the total: it is one of many that come and go.
    GroupOnly,
    /// Nowhere: it carries requests against the route of its group.
    NotCounted,
}

/// An application and the flows that it owns.
#[derive(Clone, Debug)]
pub struct AppSpec {
    pub spec: Arc<dyn ApplicationSpec>,
    /// Index into [`Network::groups`], and which of the group's applications this is; together they name its random stream.
    pub group: u32,
    pub member: u32,
    pub start: Time,
    /// Its members, as indices into [`Network::flows`].
    pub flows: Vec<u32>,
    /// How more of them are made, where it may have more.
    pub member_template: Option<Box<FlowTemplate>>,
}

/// The flows of a group: all that is alike among them.
#[derive(Clone, Debug)]
pub struct FlowTemplate {
    /// A flow with the routes over shared links alone.
    pub flow: FlowSpec,
    /// A flow's own link to the first node of its route, and the one back.
    pub access: Option<[LinkSpec; 2]>,
    /// A flow's own link from the last node of its route, and the one back.
    pub exit: Option<[LinkSpec; 2]>,
}

/// The numbers of a flow's own links, each with that of the way back.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrivateLinkIds {
    pub access: Option<[u32; 2]>,
    pub exit: Option<[u32; 2]>,
}

impl FlowTemplate {
    /// Makes the own links of a member; `add` takes each and tells its number.
    pub fn add_private_links(&self, member: u32, mut add: impl FnMut(LinkSpec) -> u32) -> PrivateLinkIds {
        let mut both =
            |links: &Option<[LinkSpec; 2]>| links.as_ref().map(|links| links.each_ref().map(|link| add(link.for_member(member))));
        PrivateLinkIds { access: both(&self.access), exit: both(&self.exit) }
    }

    /// A member's flow over its own links and the shared ones.
    pub fn flow_of_member(&self, member: u32, own: &PrivateLinkIds, heading: FlowDirection) -> FlowSpec {
        let route_delay =
            |first: Option<u32>, shared: &[u32], last: Option<u32>| first.into_iter().chain(shared.iter().copied()).chain(last).collect();
        let forward: Vec<u32> = route_delay(own.access.map(|[to, _]| to), &self.flow.forward, own.exit.map(|[to, _]| to));
        let back: Vec<u32> = route_delay(own.exit.map(|[_, back]| back), &self.flow.back, own.access.map(|[_, back]| back));
        match heading {
            FlowDirection::Along => FlowSpec { member, forward, back, ..self.flow.clone() },
            FlowDirection::Against => {
                FlowSpec { member, forward: back, back: forward, row_policy: RowPolicy::NotCounted, ..self.flow.clone() }
            }
        }
    }
}

impl FlowSpec {
    /// Names a random stream of the flow by the name of its group and its place there, so that flows of other groups shift no draw.
    pub fn rng_role(&self, role: &str, group: &str) -> String {
        format!("{role} {} {group}", self.member)
    }

    /// Round-trip time of a full data packet and its acknowledgement over empty links of these rates and propagation delays.
    pub fn base_rtt(&self, links: &[(Rate, Span)]) -> Span {
        let route_delay = |route: &[u32], size| {
            let hops = route.iter().map(|&link| links[link as usize]);
            hops.fold(Span::ZERO, |sum, (rate, delay)| sum + rate.transmission_time(size) + delay)
        };
        let (data, answer) = self.transport.packet_and_ack_sizes();
        route_delay(&self.forward, data) + route_delay(&self.back, answer)
    }
}

impl LinkSpec {
    /// The own link of the flow that the name tells.
    pub fn private_link(name: LinkName, of: Arc<PrivateLinkParams>) -> LinkSpec {
        let number = name.member().unwrap_or(0) as usize;
        let delay = &of.delays[number % of.delays.len()].0;
        LinkSpec {
            name,
            rate: of.rates[number % of.rates.len()],
            delay: Span::from_secs_f64(delay.mean()).unwrap_or(Span::from_picos(u64::MAX)),
            delay_spread: Span::ZERO,
            buffer: Buffer::Pipe { limit: of.limits[number % of.limits.len()] },
            impairment: None,
            private_params: Some(of),
        }
    }

    /// The same link of another flow of the group.
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

    /// The delay of this link in the run with a seed, without its spread: declared, or drawn from a stream of the flow whose own it is. Both
    /// ways of a link have the same.
    pub fn delay_in_run(&self, seed: u64) -> Span {
        let (role, group, member) = match &self.name {
            LinkName::Shared { .. } => return self.delay,
            LinkName::Access { group, member, .. } => ("delay", group, *member),
            LinkName::Exit { group, member, .. } => ("exit delay", group, *member),
        };
        let drawn =
            self.private_params.as_ref().map(|own| &own.delays[member as usize % own.delays.len()]).filter(|delay| !delay.0.is_fixed());
        drawn.map_or(self.delay, |delay| delay.draw(&mut Rng::for_role(seed, &format!("{role} {member} {group}"))))
    }
}

impl LinkName {
    pub fn shared(name: &str, direction: Direction) -> LinkName {
        LinkName::Shared { name: name.into(), direction }
    }

    /// As a trace shows it: its label, and of a flow's own link which flow's it is.
    pub fn display_name(&self) -> String {
        let label = self.result_label();
        match (self.member(), label.strip_suffix(REVERSE_SUFFIX)) {
            (None, _) => label,
            (Some(member), None) => format!("{label}.{member}"),
            (Some(member), Some(of)) => format!("{of}.{member}{REVERSE_SUFFIX}"),
        }
    }

    /// What it is called in results, where a group's own links are one.
    pub fn result_label(&self) -> String {
        let (of, direction) = match self {
            LinkName::Shared { name, direction } => (name.to_string(), direction),
            LinkName::Access { group, direction, .. } => (format!("{group}.access"), direction),
            LinkName::Exit { group, direction, .. } => (format!("{group}.exit"), direction),
        };
        if *direction == Direction::Forward { of } else { of + REVERSE_SUFFIX }
    }

    /// Which of its group's flows the link belongs to, if to one.
    fn member(&self) -> Option<u32> {
        match self {
            LinkName::Shared { .. } => None,
            LinkName::Access { member, .. } | LinkName::Exit { member, .. } => Some(*member),
        }
    }

    /// The name of the same link of another flow of the group.
    fn for_member(&self, number: u32) -> LinkName {
        let mut name = self.clone();
        if let LinkName::Access { member, .. } | LinkName::Exit { member, .. } = &mut name {
            *member = number;
        }
        name
    }
}

/// Two links of one network never read alike, since what a user chose stands last.
impl fmt::Display for LinkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let route_delay = |direction: &Direction| if *direction == Direction::Forward { "forward" } else { "back" };
        match self {
            LinkName::Shared { name, direction } => write!(f, "{} {name}", route_delay(direction)),
            LinkName::Access { group, member, direction } => write!(f, "access {} {member} {group}", route_delay(direction)),
            LinkName::Exit { group, member, direction } => write!(f, "exit {} {member} {group}", route_delay(direction)),
        }
    }
}
