//! What a simulation is made of, and what is added to it while it goes on.
//!
//! A link or flow that comes later is the same as one that was there from the beginning: its random streams go by its name, its
//! components are numbered by their own kind, and its start is bound to come since time zero. So what ties with it keeps its order, if
//! the links and the flows are added in the same order, each among its own kind, and a flow before the run reaches its start instant.
//! All events of an instant that the run has reached come before a start that is added then. Measures over all flows know the difference
//! too: samples of windows and Jain's index over a second begin when the flow is added.

use std::collections::BTreeMap;

use ecnlab_queue::Discipline;
use ecnlab_transport::application::Heading;
use ecnlab_transport::{ProcessingTime, Transport};
use ecnlab_units::{Rng, Span, Time};

use super::clock::CLOCKS;
use super::flow::Flow;
use super::outward::Outward;
use super::{END, GroupCounts, Options, Simulation};
use crate::component::{Component, ComponentKind};
use crate::deadlines::{Deadlines, Order};
use crate::deliveries::Deliveries;
use crate::impairment::Impairment;
use crate::link::{Link, Queue};
use crate::measures::{FairnessBins, QueueMeasures};
use crate::network::{Buffer, FlowSpec, LinkName, LinkSpec, MaxProcessingTime, Network, OwnLinks, QueueSpec, Template};
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
        for app in &network.apps {
            simulation.add_app(app);
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
            schedule: Vec::new(),
            processing_time: network.processing_time,
            members: BTreeMap::new(),
            flows: Vec::with_capacity(flows),
            hops: Vec::with_capacity(hops),
            apps: Vec::with_capacity(network.apps.len()),
            groups: network.groups.iter().map(|_| GroupCounts::default()).collect(),
            group_names: network.groups.clone(),
            queue_names: Vec::new(),
            queue_bands: Vec::new(),
            fairness: FairnessBins::default(),
            outbox: Vec::new(),
            happened: Vec::new(),
            outward: Outward::default(),
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
        let deadline = self.deadlines.add(Component::new(ComponentKind::Link, number));
        let delay = spec.delay_in_run(seed);
        self.links.push(Link::new(spec.rate, delay + self.drawn_spread(spec), limit, queue, impairment, deadline));
        self.declared.push((spec.rate, delay));
        self.probe.link_added(number as u32, spec);
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

    /// What is drawn of a link's spread.
    fn drawn_spread(&self, spec: &LinkSpec) -> Span {
        if spec.spread == Span::ZERO {
            return Span::ZERO;
        }
        let mut rng = Rng::for_role(self.options.seed, &format!("spread {}", spec.name));
        Span::from_picos(rng.below(spec.spread.picos() + 1))
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
            is_down: false,
            deliveries: spec.deliveries.clone().map(|trace| Box::new(Deliveries::new(trace))),
            measures: QueueMeasures::new(self.now, before),
        });
        self.queue_names.push(spec.name.as_str().into());
        self.queue_bands.push(spec.of.bands());
        spec.changes.iter().for_each(|change| self.add_change(at as u32, change));
        at as u32
    }

    /// A place in the calendar for what a queue does at its own times.
    fn add_timer(&mut self, queue: usize, due: Time) -> u32 {
        let timer = self.deadlines.add(Component::new(ComponentKind::QueueTimer, queue));
        self.deadlines.set(timer, self.now, due.max(self.now));
        timer
    }

    /// Adds a flow whose links are there; returns its number. It begins at its `start`, or at once if that is over, or when its application opens it.
    ///
    /// # Panics
    /// If its route leads over a link that there is not, or it belongs to no group.
    pub fn add_flow(&mut self, spec: &FlowSpec) -> u32 {
        let number = self.flows.len();
        let routes = (self.add_route(&spec.forward), self.add_route(&spec.back));
        let deadlines = [ComponentKind::Timer, ComponentKind::Sink].map(|kind| self.deadlines.add(Component::new(kind, number)));
        if spec.opens.is_some() {
            let start = spec.start.max(self.now);
            self.deadlines.set_ordered(deadlines[0], start, Order::default());
            if matches!(spec.transport, Transport::Outside(_)) {
                self.outward.add_start(start);
            }
        }
        let processing = self.processing_time(spec);
        self.flows.push(Flow::new(spec, self.drawn_phases(spec), processing, spec.base_rtt(&self.declared), routes, deadlines));
        self.probe.flow_added(number as u32, spec);
        number as u32
    }

    /// How far the clocks of a flow's two hosts have gone at time zero.
    fn drawn_phases(&self, spec: &FlowSpec) -> [Span; 2] {
        let period = spec.transport.clock_period();
        let drawn = |purpose: &str| match period {
            Span::ZERO => Span::ZERO,
            _ => {
                let mut rng = Rng::for_role(self.options.seed, &spec.role(purpose, &self.group_names[spec.group as usize]));
                Span::from_picos(rng.below(period.picos()))
            }
        };
        spec.boot.map_or_else(|| ["boot", "sink boot"].map(drawn), |phase| [phase; 2])
    }

    /// The random processing time of a flow that is being added, if it has one, with a stream of its own.
    fn processing_time(&mut self, spec: &FlowSpec) -> Option<Box<ProcessingTime>> {
        let max = self.max_processing_time(spec)?;
        let count = self.members.entry((spec.group, spec.member)).or_default();
        let role = format!("processing time {count}");
        *count += 1;
        Some(Box::new(ProcessingTime::new(max, self.processing_stream(spec, &role))))
    }

    /// The maximum of the random processing time of a flow, if it has one.
    fn max_processing_time(&self, spec: &FlowSpec) -> Option<Span> {
        let max = match self.processing_time {
            MaxProcessingTime::Fixed(max) => max,
            MaxProcessingTime::OnePacket => {
                let rate = |link: &u32| self.declared[*link as usize].0;
                let measured = spec.forward.iter().filter(|&&link| self.links[link as usize].queue != NONE).map(rate).min();
                let rate = measured.or(spec.forward.iter().map(rate).min()).expect("a route has a link");
                rate.transmission(spec.transport.sizes().0)
            }
        };
        (max > Span::ZERO && !matches!(spec.transport, Transport::Outside(_))).then_some(max)
    }

    fn processing_stream(&self, spec: &FlowSpec, role: &str) -> Rng {
        Rng::for_role(self.options.seed, &spec.role(role, &self.group_names[spec.group as usize]))
    }

    /// Draws all anew that is drawn by a flow's number, for the flow `number` of the template's group.
    pub(super) fn redraw(&mut self, at: u32, template: &Template, own: &OwnLinks, number: u64) {
        let number = number as u32;
        for (links, specs) in [(own.access, &template.access), (own.exit, &template.exit)] {
            for (link, spec) in links.iter().flatten().zip(specs.iter().flatten()) {
                let spec = spec.of_member(number);
                let delay = spec.delay_in_run(self.options.seed);
                let spread = self.drawn_spread(&spec);
                let Buffer::Pipe { limit } = spec.buffer else { panic!("a flow's own link has a plain buffer") };
                self.links[*link as usize].reseat(spec.rate, delay + spread, limit);
                self.declared[*link as usize] = (spec.rate, delay);
            }
        }
        let spec = template.member(number, own, Heading::Along);
        let (phases, base_rtt) = (self.drawn_phases(&spec), spec.base_rtt(&self.declared));
        let max = self.max_processing_time(&spec);
        let processing = max.map(|max| Box::new(ProcessingTime::new(max, self.processing_stream(&spec, "processing time, seated"))));
        let flow = &mut self.flows[at as usize];
        (flow.phases, flow.base_rtt, flow.processing) = (phases, base_rtt, processing);
        flow.measures.set_base_rtt(base_rtt);
    }

    /// Appends a route; returns where it begins.
    fn add_route(&mut self, links: &[u32]) -> u32 {
        let begin = self.hops.len() as u32;
        self.hops.extend(links);
        self.hops.push(END);
        begin
    }
}
