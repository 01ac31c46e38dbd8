//! Setup of a simulation, and links, flows and applications added during the run.
//!
//! A link or flow added later behaves like one that was present from the beginning: its random streams depend on its name, its components
//! are numbered by kind, and its start counts as scheduled at time zero. So ties keep their order if links are added in the same order,
//! flows are too, and each flow is added before its start instant. All events of an instant that the run has reached come before a start
//! that is added then. Some measures differ as well: samples of windows and Jain's index over a second begin when the flow is added.

use std::collections::BTreeMap;

use ecnlab_queue::{BurstSchedule, Discipline};
use ecnlab_transport::{ProcessingTime, Transport};
use ecnlab_units::{Rng, Span, Time};

use super::fast_path::FastPath;
use super::flow::FlowState;
use super::lookahead::OutputLookahead;
use super::run_timers::{RUN_TIMER_COUNT, RateBinStart};
use super::{END_OF_ROUTE, RunTimesAndSeed, Simulation};
use crate::calendar_queue::{CalendarQueue, TieBreak};
use crate::component::ComponentKind;
use crate::impairment::LinkImpairments;
use crate::index_vec::IndexVec;
use crate::link::{KnownDepartures, Link, LinkQueue};
use crate::measures::{BinnedFairness, GroupMeasures, QueueMeasures};
use crate::network::{
    FlowSpec, FlowTemplate, LinkName, LinkSpec, MaxProcessingTime, MemberRngRole, Network, PipeOrQueue, PrivateLinkIds, QueueSpec,
};
use crate::packet::{NO_INDEX, PacketArena};
use crate::probe::Probe;
use crate::trace_driven_link::DeliverySchedule;

impl<P: Probe> Simulation<P> {
    /// # Panics
    /// If a route contains a link that does not exist, or a flow belongs to no group.
    pub fn new(network: &Network, options: &RunTimesAndSeed, probe: P) -> Simulation<P> {
        let mut simulation = Simulation::without_links_and_flows(network, options, probe);
        simulation.start_run_timers();
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

    /// An empty simulation with the network's groups and capacity for the rest.
    fn without_links_and_flows(network: &Network, options: &RunTimesAndSeed, probe: P) -> Simulation<P> {
        let (links, flows) = (network.links.len(), network.flows.len());
        let mut calendar = CalendarQueue::new(links + 2 * flows);
        let run_timers: [u32; RUN_TIMER_COUNT] = std::array::from_fn(|part| calendar.add_component(ComponentKind::RunTimer, part as u32));
        let hops = network.flows.iter().map(|flow| flow.forward.len() + flow.back.len() + 2).sum();
        Simulation {
            now: Time::ZERO,
            options: *options,
            calendar,
            run_timers,
            packets: PacketArena::new(),
            links: IndexVec::with_capacity(links),
            declared_links: IndexVec::with_capacity(links),
            queues: IndexVec::default(),
            impaired_links: Vec::new(),
            impaired_link_labels: Vec::new(),
            link_changes: IndexVec::default(),
            processing_time: network.processing_time,
            member_flow_counts: BTreeMap::new(),
            flows: IndexVec::with_capacity(flows),
            route_hops: IndexVec::with_capacity(hops),
            apps: IndexVec::with_capacity(network.apps.len()),
            groups: network.groups.iter().map(|_| GroupMeasures::default()).collect(),
            group_names: network.groups.iter().cloned().collect(),
            queue_names: Vec::new(),
            queue_bands: IndexVec::default(),
            fairness: BinnedFairness::default(),
            rate_bin_start: RateBinStart::default(),
            unsent_segments: Vec::new(),
            outputs: Vec::new(),
            lookahead: OutputLookahead::default(),
            fast_path: FastPath::default(),
            fingerprint: 0,
            events: 0,
            probe,
        }
    }

    /// Adds a link; returns the number that routes use for it.
    pub fn add_link(&mut self, spec: &LinkSpec) -> u32 {
        let number = self.links.next_number();
        let (limit, queue) = match &spec.buffer {
            PipeOrQueue::Pipe { limit } => (*limit, NO_INDEX),
            PipeOrQueue::Queue(queue) => (0, self.add_queue(queue, spec, number)),
        };
        let seed = self.options.seed;
        let rng_of_role = |role: &str| Rng::for_role(seed, format_args!("{role} {}", spec.name));
        let impairment = spec.impairment.as_deref().map(|parts| {
            self.assign_impairment_result_label(number, &spec.name);
            let hold = self.calendar.add_component(ComponentKind::DelayedPackets, number);
            Box::new(LinkImpairments::new(parts, rng_of_role, hold))
        });
        let delay = spec.delay_in_run(seed);
        self.links.push(Link::new(spec.rate, delay + self.draw_link_delay_spread(spec), limit, queue, impairment, number));
        self.declared_links.push((spec.rate, delay));
        self.add_link_ahead();
        self.invalidate_fast_path_plan();
        self.probe.on_link_added(number, spec);
        number
    }

    /// Stores the label of a link's impairments in results. Links that share a label are mostly added one after another.
    fn assign_impairment_result_label(&mut self, link: u32, name: &LinkName) {
        let label = name.result_label();
        let known = self.impaired_link_labels.iter().rposition(|known| **known == *label);
        let place = known.unwrap_or_else(|| {
            self.impaired_link_labels.push(label.into());
            self.impaired_link_labels.len() - 1
        });
        self.impaired_links.push((link, place as u32));
    }

    /// Draws the random part of a link's delay.
    fn draw_link_delay_spread(&self, spec: &LinkSpec) -> Span {
        if spec.delay_spread == Span::ZERO {
            return Span::ZERO;
        }
        let mut rng = Rng::for_role(self.options.seed, format_args!("spread {}", spec.name));
        Span::from_picos(rng.below(spec.delay_spread.picos() + 1))
    }

    fn add_queue(&mut self, spec: &QueueSpec, link: &LinkSpec, number: u32) -> u32 {
        let at = self.queues.next_number();
        let discipline = spec.config.build(link.rate);
        let before = discipline.counters_by_band();
        let transmitter_slot = self.calendar.add_component(ComponentKind::Transmitter, at);
        let timer_slot = discipline.next_timer().map_or(NO_INDEX, |due| self.add_queue_timer(at, due));
        self.queues.push(LinkQueue {
            discipline,
            rng: Rng::for_role(self.options.seed, format_args!("queue {}", spec.name)),
            link: number,
            transmitter_slot,
            timer_slot,
            transmitting: false,
            is_down: false,
            follows_schedule: spec.delivery_trace.is_some() || spec.bursts.is_some(),
            burst_schedule: spec.bursts.map(|bursts| Box::new(BurstSchedule::new(bursts))),
            delivery_schedule: spec.delivery_trace.clone().map(|trace| Box::new(DeliverySchedule::new(trace))),
            measures: QueueMeasures::new(self.now, before),
            has_known_departures: None,
            known_departures: KnownDepartures::default(),
        });
        self.queue_names.push(spec.name.as_str().into());
        self.queue_bands.push(spec.config.band_names());
        spec.changes.iter().for_each(|change| self.schedule_link_change(at, change));
        at
    }

    /// Adds a timer of a queue to the calendar queue; returns its slot.
    fn add_queue_timer(&mut self, queue: u32, due: Time) -> u32 {
        let timer = self.calendar.add_component(ComponentKind::QueueTimer, queue);
        self.calendar.set_deadline(timer, self.now, due.max(self.now));
        timer
    }

    /// Adds a flow whose links exist already; returns its number. It starts at its `start`, or at once if that has passed, or when its
    /// application opens it.
    ///
    /// # Panics
    /// If its route contains a link that does not exist, or it belongs to no group.
    pub fn add_flow(&mut self, spec: &FlowSpec) -> u32 {
        let number = self.flows.next_number();
        let routes = (self.add_route(&spec.forward), self.add_route(&spec.back));
        let timer_slot = self.calendar.add_component(ComponentKind::FlowTimer, number);
        if spec.initial_write.is_some() {
            let start = spec.start.max(self.now);
            self.calendar.set_deadline_with_tie_break(timer_slot, start, TieBreak::default());
            if matches!(spec.transport, Transport::External(_)) {
                self.lookahead.push_flow_start_time(start);
            }
        }
        let processing = self.new_processing_time(spec);
        self.flows.push(FlowState::new(
            spec,
            self.draw_host_clock_phases(spec, spec.member),
            processing,
            spec.base_rtt(&self.declared_links),
            routes,
            timer_slot,
        ));
        self.invalidate_fast_path_plan();
        self.probe.on_flow_added(number, spec);
        number
    }

    /// Phases of the clocks of the two hosts of a member's flow at time zero.
    fn draw_host_clock_phases(&self, spec: &FlowSpec, member: u32) -> [Span; 2] {
        let period = spec.transport.max_clock_phase();
        let draw_phase = |role: &str| match period {
            Span::ZERO => Span::ZERO,
            _ => Span::from_picos(self.rng_of_member(spec.group, member, role).below(period.picos())),
        };
        spec.clock_phase.map_or_else(|| ["boot", "sink boot"].map(draw_phase), |phase| [phase; 2])
    }

    /// Random processing time of a flow that is being added, if it has one, with a separate stream.
    fn new_processing_time(&mut self, spec: &FlowSpec) -> Option<Box<ProcessingTime>> {
        let max = self.max_processing_time(&spec.transport, spec.forward.iter().copied())?;
        let count = self.member_flow_counts.entry((spec.group, spec.member)).or_default();
        let role = format!("processing time {count}");
        *count += 1;
        Some(Box::new(ProcessingTime::new(max, self.rng_of_member(spec.group, spec.member, &role))))
    }

    /// The maximum of the random processing time of a flow, if it has one.
    fn max_processing_time(&self, transport: &Transport, route: impl Iterator<Item = u32> + Clone) -> Option<Span> {
        let max = match self.processing_time {
            MaxProcessingTime::Fixed(max) => max,
            MaxProcessingTime::OnePacket => {
                let link_rate = |link: u32| self.declared_links[link].0;
                let measured = route.clone().filter(|&link| self.links[link].queue != NO_INDEX).map(link_rate).min();
                let rate = measured.or_else(|| route.map(link_rate).min()).expect("a route has a link");
                rate.transmission_time(transport.packet_and_ack_sizes().0)
            }
        };
        (max > Span::ZERO && !matches!(transport, Transport::External(_))).then_some(max)
    }

    fn rng_of_member(&self, group: u32, member: u32, role: &str) -> Rng {
        Rng::for_role(self.options.seed, MemberRngRole { role, member, group: &self.group_names[group] })
    }

    /// Repeats all draws that depend on a flow's number, for flow `number` of the template's group.
    pub(super) fn redraw_flow_for_member_number(&mut self, at: u32, template: &FlowTemplate, own: &PrivateLinkIds, number: u64) {
        let number = number as u32;
        for (links, specs) in [(own.access, &template.access), (own.exit, &template.exit)] {
            for (link, spec) in links.iter().flatten().zip(specs.iter().flatten()) {
                let spec = spec.for_member(number);
                let delay = spec.delay_in_run(self.options.seed);
                let spread = self.draw_link_delay_spread(&spec);
                let PipeOrQueue::Pipe { limit } = spec.buffer else { panic!("a flow's own link has a plain buffer") };
                self.links[*link].set_rate_delay_and_limit(spec.rate, delay + spread, limit);
                self.declared_links[*link] = (spec.rate, delay);
            }
        }
        let (phases, base_rtt) =
            (self.draw_host_clock_phases(&template.flow, number), template.base_rtt_of_member(own, &self.declared_links));
        let max = self.max_processing_time(&template.flow.transport, template.forward_route(own));
        let stream = || self.rng_of_member(template.flow.group, number, "processing time, seated");
        let processing = max.map(|max| Box::new(ProcessingTime::new(max, stream())));
        let flow = &mut self.flows[at];
        (flow.clock_phases, flow.base_rtt, flow.processing) = (phases, base_rtt, processing);
        flow.measures.set_lockout_threshold_from_rtt(base_rtt);
    }

    /// Appends a route; returns where it begins.
    fn add_route(&mut self, links: &[u32]) -> u32 {
        let begin = self.route_hops.next_number();
        self.route_hops.extend(links);
        self.route_hops.push(END_OF_ROUTE);
        begin
    }
}
