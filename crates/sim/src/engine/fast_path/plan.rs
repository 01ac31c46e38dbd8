//! Where the fast path applies: queues with known departures, pipes that are entered in order, and flows whose ends may be ahead.

use ecnlab_queue::{Discipline, Queue};
use ecnlab_transport::Transport;

use super::{AppFlowFastPath, SinkAhead};
use crate::engine::apps::App;
use crate::engine::flow::AppWriteTiming;
use crate::engine::{END_OF_ROUTE, Simulation};
use crate::link::Link;
use crate::network::{FlowSpec, FlowTemplate, LinkSpec, PipeOrQueue};
use crate::packet::{NO_INDEX, PacketId};
use crate::probe::Probe;

/// A place from which packets enter a link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Feed {
    Sender(u32),
    Link(u32),
    /// Sinks behind a link.
    Sinks(u32),
}

/// The places from which packets enter a link.
#[derive(Clone, Copy, Default)]
struct Feeds {
    /// One place from which packets come ahead.
    ahead: Option<Feed>,
    has_several_ahead: bool,
    has_events: bool,
}

impl Feeds {
    fn add(&mut self, feed: Feed, is_ahead: bool) {
        if is_ahead {
            self.has_several_ahead |= self.ahead.is_some_and(|known| known != feed);
            self.ahead = Some(feed);
        } else {
            self.has_events = true;
        }
    }

    /// Whether packets enter in the order of time, however far ahead they are computed.
    fn are_in_order(&self) -> bool {
        self.ahead.is_none() || !self.has_several_ahead && !self.has_events
    }
}

impl<P: Probe> Simulation<P> {
    /// Determines on which links and for which flows the fast path applies.
    ///
    /// A pipe is a candidate if it has no impairment. It stays one if all packets that enter it ahead come from one place, and no packet
    /// enters it by an event. Where packets come ahead depends on the other candidates, so the set shrinks until it is consistent.
    #[cold]
    #[inline(never)]
    pub(super) fn plan_fast_path(&mut self) {
        self.fast_path.is_planned = true;
        let is_possible = !self.fast_path.is_disabled
            && !P::OBSERVES_PACKETS
            && !self.probe.needs_event_order()
            && !self.flows.iter().any(|flow| flow.has_external_hosts())
            && !self.apps.iter().filter_map(App::member_template).any(|template| matches!(template.flow.transport, Transport::External(_)));
        self.choose_queues_ahead(is_possible);
        for (link, candidate) in self.links.iter_mut().zip(self.fast_path.links.iter_mut()) {
            link.accepts_ahead = is_possible && link.has_plain_pipe();
            if let Some(waiting) = &mut candidate.waiting {
                waiting.transmission_starts.clear();
            }
        }
        // Delays of these may change under way.
        for link in self.apps.iter().flat_map(App::reassignable_private_links) {
            self.links[link].accepts_ahead = false;
        }
        let mut uses = vec![0u32; self.links.len()];
        self.for_each_feed(|link, _, _| uses[link as usize] += 1);
        let count = |links: &[Link]| links.iter().filter(|link| link.accepts_ahead).count();
        loop {
            self.choose_flows_ahead(&uses);
            let mut feeds = vec![Feeds::default(); self.links.len()];
            self.for_each_feed(|link, feed, is_ahead| feeds[link as usize].add(feed, is_ahead));
            let before = count(&self.links);
            self.links.iter_mut().zip(&feeds).for_each(|(link, feeds)| link.accepts_ahead &= feeds.are_in_order());
            if before == count(&self.links) {
                break;
            }
        }
        self.choose_pipes_ahead();
        self.rebuild_fast_path_state();
    }

    /// Chooses the queues with known departures, once for each queue, and the queues behind which packets are passed ahead.
    fn choose_queues_ahead(&mut self, is_possible: bool) {
        self.fast_path.queues.clear();
        self.fast_path.queue_links.clear();
        for at in self.queues.numbers() {
            let has_changes = self.changes_of_link(at).next().is_some();
            let keeps_delay = !self.changes_of_link(at).any(|change| change.affects_propagating_packets());
            let queue = &mut self.queues[at];
            let is_known = queue.has_known_departures.unwrap_or_else(|| {
                let is_fifo = matches!(&queue.discipline, Queue::Fifo(fifo) if fifo.has_known_departures());
                is_possible && is_fifo && queue.discipline.len() == 0 && !queue.follows_schedule && !has_changes
            });
            queue.has_known_departures = Some(is_known);
            if is_known {
                self.fast_path.queues.push(at);
            }
            // Any other queue knows a departure when it dequeues the packet.
            let is_mirror = matches!(queue.discipline, Queue::KernelMirror(_));
            let computes_ahead = is_known || is_possible && keeps_delay && !is_mirror;
            self.links[queue.link].computes_ahead = computes_ahead;
            if computes_ahead {
                self.fast_path.queue_links.push(queue.link);
            }
        }
    }

    /// Whether packets may leave a link ahead.
    fn can_packets_leave_link_ahead(&self, link: u32) -> bool {
        let link = &self.links[link];
        if link.queue == NO_INDEX { link.accepts_ahead } else { link.computes_ahead }
    }

    /// Chooses the flows whose sinks and senders may be ahead, with these candidates among the pipes. `uses` has the number of routes that
    /// lead over each link.
    fn choose_flows_ahead(&mut self, uses: &[u32]) {
        let mut sinks_of_return_path = vec![0u32; self.links.len()];
        for at in self.flows.numbers() {
            let flow = &self.flows[at];
            let (forward, back) = (self.links_of_route(flow.forward_route), self.links_of_route(flow.back_route));
            let (access, last, first_back, last_back) = match (forward, back) {
                ([access, ..], [first_back, ..]) => (*access, forward[forward.len() - 1], *first_back, back[back.len() - 1]),
                _ => continue,
            };
            let accepts = |link: u32| self.links[link].accepts_ahead;
            let is_tcp = flow.sender.as_tcp().is_some();
            let is_app_ahead = flow.app_kind.allows_computing_ahead() && flow.reverse_flow == NO_INDEX;
            let replies_in_order =
                if is_tcp { is_app_ahead && accepts(first_back) } else { flow.app_kind != AppWriteTiming::WantsDeliveries };
            let sink = replies_in_order && self.can_packets_leave_link_ahead(last);
            let is_sender_ahead = sink && is_tcp && uses[access as usize] == 1 && accepts(access) && accepts(last_back);
            sinks_of_return_path[first_back as usize] += u32::from(sink && is_tcp);
            let flow = &mut self.flows[at];
            flow.sink_ahead = if sink { SinkAhead::OwnReturnPath } else { SinkAhead::Never };
            flow.is_sender_ahead = is_sender_ahead;
        }
        for app in self.apps.numbers() {
            let ahead = self.plan_app_flow_fast_path(&self.apps[app]);
            self.apps[app].set_fast_path_of_members(ahead);
            if let Some((template, _)) = self.apps[app].fast_path_of_members().filter(|_| ahead.sink != SinkAhead::Never) {
                // Several flows may share it.
                sinks_of_return_path[template.flow.back[0] as usize] += 2;
            }
        }
        for flow in self.flows.iter_mut() {
            let first_back = self.route_hops[flow.back_route];
            let is_shared = first_back != END_OF_ROUTE && sinks_of_return_path[first_back as usize] > 1;
            if is_shared && flow.sink_ahead != SinkAhead::Never && flow.sender.as_tcp().is_some() {
                flow.sink_ahead = SinkAhead::SharedReturnPath;
            }
        }
    }

    /// Where the fast path applies to flows that an application adds, with these candidates among the pipes.
    fn plan_app_flow_fast_path(&self, app: &App) -> AppFlowFastPath {
        let Some(template) = app.member_template() else { return AppFlowFastPath::default() };
        let FlowTemplate { flow, access, exit } = template;
        let (Some(&last), Some(&first_back), Transport::Tcp(_), None) = (flow.forward.last(), flow.back.first(), &flow.transport, exit)
        else {
            return AppFlowFastPath::default();
        };
        let is_app_ahead = app.app_kind_of_tcp_flows().allows_computing_ahead();
        if !is_app_ahead || !self.can_packets_leave_link_ahead(last) || !self.links[first_back].accepts_ahead {
            return AppFlowFastPath::default();
        }
        let is_plain = |link: &LinkSpec| matches!(link.buffer, PipeOrQueue::Pipe { .. }) && link.impairment.is_none();
        AppFlowFastPath {
            sink: SinkAhead::SharedReturnPath,
            is_sender_ahead: access.as_ref().is_some_and(|links| links.iter().all(is_plain)),
        }
    }

    /// Calls `visit` with each link of each route, the place from which the route's packets enter it, and whether they do so ahead.
    fn for_each_feed(&self, mut visit: impl FnMut(u32, Feed, bool)) {
        let mut follow = |links: &[u32], mut feed: Feed, mut is_ahead: bool| {
            for &link in links {
                visit(link, feed, is_ahead);
                (feed, is_ahead) = (Feed::Link(link), self.can_packets_leave_link_ahead(link));
            }
        };
        for (at, flow) in (0..).zip(self.flows.iter()) {
            let forward = self.links_of_route(flow.forward_route);
            follow(forward, Feed::Sender(at), flow.is_sender_ahead);
            if let (Some(&last), Some(_)) = (forward.last(), flow.sender.as_tcp()) {
                follow(self.links_of_route(flow.back_route), Feed::Sinks(last), flow.sink_ahead != SinkAhead::Never);
            }
        }
        // Members that applications add cross their private links by events, or enter the shared links from sinks that are ahead.
        for (template, ahead) in self.apps.iter().filter_map(App::fast_path_of_members) {
            let FlowSpec { forward, back, .. } = &template.flow;
            follow(forward, Feed::Link(NO_INDEX), false);
            follow(back, Feed::Sinks(forward.last().copied().unwrap_or(NO_INDEX)), ahead.sink != SinkAhead::Never);
        }
    }

    /// Chooses the pipes that pass packets ahead: those from which a packet can go on.
    fn choose_pipes_ahead(&mut self) {
        let mut passes = vec![false; self.links.len()];
        let mut follow = |links: &[u32], first: usize, is_end_ahead: bool| {
            for (place, &link) in links.iter().enumerate().skip(first) {
                passes[link as usize] |= links.get(place + 1).map_or(is_end_ahead, |&next| self.links[next].accepts_ahead);
            }
        };
        for flow in self.flows.iter() {
            // Packets of a sender that is ahead cross their first link by events. So a sender is never called while it sends.
            follow(self.links_of_route(flow.forward_route), usize::from(flow.is_sender_ahead), flow.sink_ahead != SinkAhead::Never);
            follow(self.links_of_route(flow.back_route), 0, flow.is_sender_ahead);
        }
        for (template, ahead) in self.apps.iter().filter_map(App::fast_path_of_members) {
            follow(&template.flow.forward, 0, ahead.sink != SinkAhead::Never);
            follow(&template.flow.back, 0, ahead.is_sender_ahead);
        }
        for (link, passes) in self.links.iter_mut().zip(passes).filter(|(link, _)| link.queue == NO_INDEX) {
            link.computes_ahead = link.accepts_ahead && passes;
            link.is_plain_pipe = link.has_plain_pipe() && !link.computes_ahead;
        }
    }

    /// Collects what the fast path knows of packets and timers under way.
    fn rebuild_fast_path_state(&mut self) {
        self.fast_path.held_pipes.clear();
        self.fast_path.next_window_sample = self.next_window_sample();
        for state in self.fast_path.links.iter_mut() {
            state.packets_before = 0;
            state.is_held = false;
            if let Some(waiting) = &mut state.waiting {
                waiting.sink_timers.clear();
            }
        }
        for at in self.links.numbers() {
            let link = &self.links[at];
            if !link.computes_ahead {
                continue;
            }
            let packets: Vec<PacketId> = link.iter_packets_on_wire(&self.packets).collect();
            for id in packets {
                let (packet, link) = (&self.packets[id], &self.links[at]);
                if link.queue == NO_INDEX {
                    let starts = packet.arrives_at - link.delay() - link.transmission_time(packet.size);
                    self.fast_path.links[at].transmission_starts().push_back(starts);
                    self.hold_pipe(at);
                } else if let Some(next) = self.next_pipe_of_packet(id) {
                    self.fast_path.links[next].packets_before += 1;
                }
            }
        }
        for at in self.flows.numbers() {
            let flow = &self.flows[at];
            if let (SinkAhead::SharedReturnPath, Some((due, tie_break))) =
                (flow.sink_ahead, self.calendar.deadline_of(flow.sink_timer_slot))
            {
                self.add_sink_timer(at, due, tie_break);
            }
        }
    }
}
