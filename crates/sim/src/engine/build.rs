//! What a simulation is made of, and what is added to it while it goes on.
//!
//! A link or flow that comes later is the same as one that was there from the beginning: its random streams go by its name, and its
//! components are numbered by their own kind. Only what asks all flows at once knows the difference: samples of windows and Jain's index
//! over a second begin when the flow is added.

use ecnlab_queue::Discipline;
use ecnlab_units::{Rng, Span, Time};

use super::clock::CLOCKS;
use super::flow::{Flow, TimedSource};
use super::{GroupCounts, Options, SINK, SOURCE, Simulation};
use crate::component::{Component, ComponentKind};
use crate::deadlines::Deadlines;
use crate::impairment::Impairment;
use crate::link::{Link, Queue};
use crate::measures::{FairnessBins, QueueMeasures};
use crate::network::{Buffer, FlowSpec, LinkName, LinkSpec, Network, QueueSpec};
use crate::packet::{Arena, NONE};
use crate::probe::Probe;

impl<P: Probe> Simulation<P> {
    /// # Panics
    /// If a route leads over a link that there is not, or a flow belongs to no group.
    pub fn new(network: &Network, options: &Options, probe: P) -> Simulation<P> {
        let mut simulation = Simulation::empty(network, options, probe);
        simulation.open_clock();
        for link in &network.links {
            simulation.add_link(link);
        }
        for flow in &network.flows {
            simulation.add_flow(flow);
        }
        simulation
    }

    /// The network's groups, and room for the rest.
    fn empty(network: &Network, options: &Options, probe: P) -> Simulation<P> {
        let (links, flows) = (network.links.len(), network.flows.len());
        let mut deadlines = Deadlines::new(links + 3 * flows);
        let clock: [u32; CLOCKS] = std::array::from_fn(|part| deadlines.add(Component::new(ComponentKind::Clock, part)));
        let hops = network.flows.iter().map(|flow| flow.forward.len() + flow.back.len() + 2).sum();
        Simulation {
            now: Time::ZERO,
            options: *options,
            deadlines,
            clock,
            packets: Arena::new(),
            links: Vec::with_capacity(links),
            declared: Vec::with_capacity(links),
            queues: Vec::new(),
            impaired: Vec::new(),
            impaired_names: Vec::new(),
            flows: Vec::with_capacity(flows),
            hops: Vec::with_capacity(hops),
            sources: Vec::new(),
            groups: network.groups.iter().map(|_| GroupCounts::default()).collect(),
            group_names: network.groups.clone(),
            queue_names: Vec::new(),
            queue_bands: Vec::new(),
            fairness: FairnessBins::default(),
            outbox: Vec::new(),
            fingerprint: 0,
            events: 0,
            probe,
        }
    }

    /// Adds a link; returns the number by which routes tell it.
    pub fn add_link(&mut self, spec: &LinkSpec) -> u32 {
        let number = self.links.len();
        let (limit, queue) = match &spec.buffer {
            Buffer::Pipe { limit } => (*limit, NONE),
            Buffer::Queue(queue) => (0, self.add_queue(queue, spec, number as u32)),
        };
        let seed = self.options.seed;
        let stream = |role: &str| Rng::for_role(seed, &format!("{role} {}", spec.name));
        let impairment = spec.impairment.as_deref().map(|parts| {
            self.note_impaired(number as u32, &spec.name);
            let hold = self.deadlines.add(Component::new(ComponentKind::Hold, number));
            Box::new(Impairment::new(parts, stream, hold))
        });
        let spread = if spec.spread == Span::ZERO { 0 } else { stream("spread").below(spec.spread.picos() + 1) };
        let deadline = self.deadlines.add(Component::new(ComponentKind::Link, number));
        self.links.push(Link::new(spec.rate, spec.delay + Span::from_picos(spread), limit, queue, impairment, deadline));
        self.declared.push((spec.rate, spec.delay));
        number as u32
    }

    /// Remembers by which name a link's impairments go in results. Links that share one are mostly added one after another.
    fn note_impaired(&mut self, link: u32, name: &LinkName) {
        let label = name.label();
        let known = self.impaired_names.iter().rposition(|known| **known == *label);
        let place = known.unwrap_or_else(|| {
            self.impaired_names.push(label.into());
            self.impaired_names.len() - 1
        });
        self.impaired.push((link, place as u32));
    }

    fn add_queue(&mut self, spec: &QueueSpec, link: &LinkSpec, number: u32) -> u32 {
        let at = self.queues.len();
        let discipline = spec.of.build(link.rate);
        let before = discipline.counters_by_band();
        let deadline = self.deadlines.add(Component::new(ComponentKind::Transmitter, at));
        let timer = discipline.deadline().map_or(NONE, |due| self.add_timer(at, due));
        self.queues.push(Queue {
            discipline,
            rng: Rng::for_role(self.options.seed, &format!("queue {}", spec.name)),
            link: number,
            deadline,
            timer,
            transmitting: false,
            measures: QueueMeasures::new(self.now, before),
        });
        self.queue_names.push(spec.name.as_str().into());
        self.queue_bands.push(spec.of.bands());
        at as u32
    }

    /// A place in the calendar for what a queue does at its own times.
    fn add_timer(&mut self, queue: usize, due: Time) -> u32 {
        let timer = self.deadlines.add(Component::new(ComponentKind::QueueTimer, queue));
        self.deadlines.set(timer, self.now, due.max(self.now));
        timer
    }

    /// Adds a flow whose links are there; returns its number. It begins at its `start`, or at once if that is over.
    ///
    /// # Panics
    /// If its route leads over a link that there is not, or it belongs to no group.
    pub fn add_flow(&mut self, spec: &FlowSpec) -> u32 {
        let number = self.flows.len();
        let routes = (self.add_route(&spec.forward, SINK), self.add_route(&spec.back, SOURCE));
        let deadlines = [ComponentKind::Timer, ComponentKind::Receiver].map(|kind| self.deadlines.add(Component::new(kind, number)));
        self.deadlines.set(deadlines[0], self.now, spec.start.max(self.now));
        let source = self.add_source(spec, number as u32);
        let (seed, group) = (self.options.seed, &self.group_names[spec.group as usize]);
        let boot = spec.boot.unwrap_or_else(|| {
            let mut rng = Rng::for_role(seed, &spec.role("boot", group));
            Span::from_picos(rng.below(spec.tcp.tick.picos()))
        });
        self.flows.push(Flow::new(spec, boot, spec.base_rtt(&self.declared), routes, deadlines, source));
        number as u32
    }

    /// Appends a route; returns where it begins.
    fn add_route(&mut self, links: &[u32], end: u32) -> u32 {
        let begin = self.hops.len() as u32;
        self.hops.extend(links);
        self.hops.push(end);
        begin
    }

    /// Adds the flow's source if it acts over time; returns its number or `NONE`.
    fn add_source(&mut self, spec: &FlowSpec, flow: u32) -> u32 {
        let (seed, group) = (self.options.seed, &self.group_names[spec.group as usize]);
        let Some(source) = spec.traffic.source(|| Rng::for_role(seed, &spec.role("source", group))) else { return NONE };
        let number = self.sources.len();
        let deadline = self.deadlines.add(Component::new(ComponentKind::Source, number));
        self.sources.push(TimedSource { flow, deadline, source, next: None });
        number as u32
    }
}
