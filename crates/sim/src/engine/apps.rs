//! Applications: the engine reports events to them and executes their calls.
//!
//! An application is moved out of its slot while it runs, so that its calls may borrow the whole simulation. Events that occur meanwhile
//! are queued and delivered afterwards, in order.

use std::collections::VecDeque;

use ecnlab_transport::application::{AppEvent, Application, EngineCalls, FinishedTransaction, FlowDirection, FlowIndex, WriteTimes};
use ecnlab_transport::{AccurateReceiver, AppWrite, ReverseAccurateStart};
use ecnlab_units::{Rng, Time};

use super::Simulation;
use super::fast_path::AppFlowFastPath;
use super::flow::{AppWriteTiming, HandshakeResult};
use crate::calendar_queue::TieBreak;
use crate::component::ComponentKind;
use crate::index_vec::IndexVec;
use crate::network::{AppWithFlows, FlowTemplate, MemberRngRole, PrivateLinkIds};
use crate::packet::NO_INDEX;
use crate::probe::Probe;

/// Maximum number of simultaneous flows of one application; each takes about 2 KB.
const MAX_MEMBERS: u32 = 1_000_000;

/// An application as it runs.
pub struct App {
    /// `None` while it runs.
    application: Option<Box<dyn Application>>,
    /// Events that occurred while it ran.
    pending_events: VecDeque<AppEvent>,
    started: bool,
    wants_deliveries: bool,
    write_times: WriteTimes,
    /// Whether the event that it gets is its start or its timer.
    is_at_timer: bool,
    /// Its slot in the calendar queue.
    timer_slot: u32,
    next_deadline: Option<Time>,
    /// Flows of its members.
    flows: IndexVec<u32>,
    member_factory: Option<Box<AppMemberFactory>>,
}

/// Template from which an application gets more members.
struct AppMemberFactory {
    template: FlowTemplate,
    /// Private links of each member that was added.
    private_links: IndexVec<PrivateLinkIds>,
    /// Number of members at the start.
    initial_members: u32,
    /// Where the fast path applies to members that are added.
    ahead: AppFlowFastPath,
}

impl App {
    /// Time of its next own timer.
    pub fn next_deadline(&self) -> Option<Time> {
        self.next_deadline
    }

    /// Whether it may add flows.
    pub fn can_add_members(&self) -> bool {
        self.member_factory.is_some()
    }

    /// The private links of flows that it has added, which other flows may get while packets are on them.
    pub fn reassignable_private_links(&self) -> impl Iterator<Item = u32> + '_ {
        let private_links = self.member_factory.iter().flat_map(|factory| factory.private_links.iter());
        let is_access_empty_then = self.write_times == WriteTimes::WhileIdle;
        private_links.flat_map(move |links| links.access.filter(|_| !is_access_empty_then).into_iter().chain(links.exit).flatten())
    }

    /// Where the fast path applies to flows that it may add, with their template.
    pub fn fast_path_of_members(&self) -> Option<(&FlowTemplate, AppFlowFastPath)> {
        self.member_factory.as_ref().map(|factory| (&factory.template, factory.ahead))
    }

    pub fn set_fast_path_of_members(&mut self, ahead: AppFlowFastPath) {
        if let Some(factory) = &mut self.member_factory {
            factory.ahead = ahead;
        }
    }

    /// The kind of its TCP flows.
    pub fn app_kind_of_tcp_flows(&self) -> AppWriteTiming {
        AppWriteTiming::new(self.wants_deliveries, self.write_times, true)
    }

    /// Template of the flows that it may add.
    pub fn member_template(&self) -> Option<&FlowTemplate> {
        self.member_factory.as_ref().map(|factory| &factory.template)
    }
}

impl<P: Probe> Simulation<P> {
    /// Adds an application whose flows exist already; returns its number. It starts at its `start`, or at once if that has passed.
    ///
    /// # Panics
    /// If it owns a flow that does not exist, or one that another application owns.
    pub fn add_app(&mut self, spec: &AppWithFlows) -> u32 {
        let number = self.apps.next_number();
        let group = &self.group_names[spec.group];
        let rng = Rng::for_role(self.options.seed, MemberRngRole { role: "source", member: spec.member, group });
        let timer_slot = self.calendar.add_component(ComponentKind::App, number);
        let start = spec.start.max(self.now);
        self.calendar.set_deadline_with_tie_break(timer_slot, start, TieBreak::default());
        let initial_members = spec.flows.len() as u32;
        self.apps.push(App {
            application: Some(spec.spec.instantiate(rng)),
            pending_events: VecDeque::new(),
            started: false,
            wants_deliveries: spec.spec.wants_delivery_events(),
            write_times: spec.spec.timing_of_writes(),
            is_at_timer: false,
            timer_slot,
            next_deadline: Some(start),
            flows: IndexVec::with_capacity(spec.flows.len()),
            member_factory: spec.member_template.as_ref().map(|template| {
                let template = (**template).clone();
                Box::new(AppMemberFactory {
                    template,
                    private_links: IndexVec::default(),
                    initial_members,
                    ahead: AppFlowFastPath::default(),
                })
            }),
        });
        spec.flows.iter().for_each(|&flow| self.assign_flow_to_app(number, flow));
        self.invalidate_fast_path_plan();
        number
    }

    /// Makes a flow the application's next member.
    fn assign_flow_to_app(&mut self, app: u32, flow: u32) {
        let owner = &mut self.apps[app];
        let member = &mut self.flows[flow];
        assert_eq!(NO_INDEX, member.app, "a flow belongs to one application");
        (member.app, member.app_member) = (app, owner.flows.next_number());
        member.app_kind = AppWriteTiming::new(owner.wants_deliveries, owner.write_times, member.sender.as_tcp().is_some());
        owner.flows.push(flow);
    }

    /// The timer of an application: its start, later the timer that it has set.
    pub(super) fn on_app_timer(&mut self, app: u32) {
        let owner = &mut self.apps[app];
        owner.next_deadline = None;
        let started = std::mem::replace(&mut owner.started, true);
        self.notify_app(app, if started { AppEvent::Timer } else { AppEvent::Start });
    }

    /// Delivers an event to the application of a flow.
    #[cold]
    pub(super) fn notify_app_of_flow(&mut self, flow: u32, event: impl FnOnce(FlowIndex) -> AppEvent) {
        let flow = &self.flows[flow];
        self.notify_app(flow.app, event(flow.app_member));
    }

    /// Delivers an event to an application, and executes its calls.
    pub(super) fn notify_app(&mut self, app: u32, event: AppEvent) {
        let Some(mut application) = self.apps[app].application.take() else {
            return self.apps[app].pending_events.push_back(event);
        };
        let mut next = Some(event);
        while let Some(event) = next {
            self.apps[app].is_at_timer = matches!(event, AppEvent::Start | AppEvent::Timer);
            application.on_event(event, self.now, &mut AppCalls { simulation: self, app });
            next = self.apps[app].pending_events.pop_front();
        }
        let (now, owner) = (self.now, &mut self.apps[app]);
        let due = application.deadline().map(|due| due.max(now));
        owner.application = Some(application);
        match std::mem::replace(&mut owner.next_deadline, due) {
            before if before == due => {}
            _ => match due {
                Some(due) => self.calendar.set_deadline(owner.timer_slot, now, due),
                None => self.calendar.clear_deadline(owner.timer_slot),
            },
        }
    }
}

/// Pairs of flows that are the two directions of one connection, with acknowledgements of the one piggybacked on data of the other.
impl<P: Probe> Simulation<P> {
    fn pair_directions(&mut self, one: u32, other: u32) {
        if self.flows[one].piggybacks_acks() {
            (self.flows[one].reverse_flow, self.flows[other].reverse_flow) = (other, one);
        }
    }

    /// Ends the pairing of a flow with its reverse flow when its connection is over.
    fn unpair_directions(&mut self, flow: u32) {
        let reverse_flow = std::mem::replace(&mut self.flows[flow].reverse_flow, NO_INDEX);
        if reverse_flow != NO_INDEX {
            self.flows[reverse_flow].reverse_flow = NO_INDEX;
        }
    }
}

/// Members of applications.
impl<P: Probe> Simulation<P> {
    /// The flow of a member, which is created if the application may add members.
    ///
    /// # Panics
    /// If the member does not exist and the application may not add members.
    fn get_or_add_member_flow(&mut self, app: u32, member: FlowIndex) -> u32 {
        while member >= self.apps[app].flows.next_number() {
            self.add_group_member(app);
        }
        self.apps[app].flows[member]
    }

    /// # Panics
    /// If flows are added faster than the network completes them, up to `MAX_MEMBERS`.
    fn add_group_member(&mut self, app: u32) {
        let mut more = self.apps[app].member_factory.take().expect("the application may have more members");
        let number = self.apps[app].flows.next_number();
        let group = &self.group_names[more.template.flow.group];
        assert!(
            number < MAX_MEMBERS,
            "{MAX_MEMBERS} flows of the group {group} are open at once; fix: start fewer flows, or give a faster network"
        );
        let (own, flow) = self.keep_plan_while_adding(|simulation| {
            let own = more.template.add_private_links(number, |link| simulation.add_link(&link));
            let flow = simulation.add_flow(&more.template.flow_of_member(number, &own, FlowDirection::Along));
            (own, flow)
        });
        more.private_links.push(own);
        self.apply_app_flow_fast_path(flow, &own, more.ahead);
        self.apps[app].member_factory = Some(more);
        self.assign_flow_to_app(app, flow);
    }

    /// If a flow's last data carries a FIN and the flow is one direction of a bidirectional connection, the sink does not answer that FIN
    /// with another.
    fn suppress_close_on_fin(&mut self, at: u32, demand: &AppWrite) {
        let reverse_flow = self.flows[at].reverse_flow;
        if demand.closes && reverse_flow != NO_INDEX {
            self.flows[reverse_flow].sink.suppress_close_on_fin();
        }
    }

    /// # Panics
    /// If the application writes while the flow may be ahead of the current time.
    fn assert_may_write_now(&self, app: u32, at: u32) {
        let flow = &self.flows[at];
        match flow.app_kind {
            AppWriteTiming::WritesWhileIdle => assert!(
                !flow.measures.is_sending(),
                "an application whose write_times are WhileIdle writes to flows without unacknowledged data only"
            ),
            AppWriteTiming::WritesAtTimer => {
                assert!(self.apps[app].is_at_timer, "an application whose write_times are AtTimer writes at its start and its timer only")
            }
            AppWriteTiming::Absent | AppWriteTiming::WantsDeliveries | AppWriteTiming::WritesAnyTime => {}
        }
    }

    /// Starts the sender of a new connection.
    fn start_sender(&mut self, app: u32, at: u32, demand: AppWrite) {
        let flow = &mut self.flows[at];
        let (timer, sink, datagrams) = (flow.timer_slot, flow.sink_timer_slot, flow.sends_datagrams);
        self.calendar.clear_deadline(timer);
        self.calendar.clear_deadline(sink);
        if flow.has_external_hosts() {
            return self.request_external_connection(at, demand);
        }
        if datagrams {
            flow.measures.on_datagram_sent(self.now);
            return self.run_sender(at, |sender, now, out| sender.write(&demand, now, out));
        }
        flow.measures.begin_transfer(self.now);
        self.run_sender(at, |sender, now, out| sender.start(now, out));
        let flow = &self.flows[at];
        if !flow.sender.as_tcp().is_some_and(|sender| sender.is_in_handshake()) {
            self.apps[app].pending_events.push_back(AppEvent::Opened(flow.app_member));
        }
    }
}

/// Executes the calls of an application.
struct AppCalls<'a, P> {
    simulation: &'a mut Simulation<P>,
    app: u32,
}

impl<P: Probe> EngineCalls for AppCalls<'_, P> {
    fn open_connection(&mut self, member: FlowIndex, demand: AppWrite) {
        let AppCalls { simulation, app } = self;
        let (at, now) = (simulation.get_or_add_member_flow(*app, member), simulation.now);
        simulation.assert_may_write_now(*app, at);
        let flow = &simulation.flows[at];
        assert!(
            flow.app_kind != AppWriteTiming::WritesAtTimer || !flow.started,
            "an application whose write_times are AtTimer opens a connection of a flow once"
        );
        simulation.unpair_directions(at);
        simulation.flows[at].replace_with_new_connection(&demand, now);
        simulation.start_sender(*app, at, demand);
    }

    fn write_reverse(&mut self, member: FlowIndex, to: FlowIndex, demand: AppWrite) {
        let AppCalls { simulation, app } = self;
        let (at, to) = (simulation.get_or_add_member_flow(*app, member), simulation.get_or_add_member_flow(*app, to));
        if simulation.flows[at].has_external_hosts() {
            return simulation.request_external_answer(at, to, demand);
        }
        let opener = simulation.flows[to].sender.as_tcp().expect("a connection is answered, not a datagram");
        // Directions that exchange ACKs separately count separately too.
        let shared = |count: u64| if simulation.flows[at].piggybacks_acks() { count } else { 0 };
        let accurate = ReverseAccurateStart {
            reported_ce: shared(simulation.flows[to].sink.accurate().map_or(0, AccurateReceiver::ce_reported_by_peer)),
            received_ce: shared(opener.received_ce_acks()),
            uses_option: opener.uses_accecn_option(),
            newest_tsval: 0,
            withholds_ect: simulation.flows[to].sink.accurate().is_some_and(AccurateReceiver::withholds_ect),
        };
        let opening = HandshakeResult { ecn: opener.negotiated_ecn(), rtt: opener.known_min_rtt(), accurate };
        let now = simulation.now;
        simulation.unpair_directions(at);
        simulation.unpair_directions(to);
        simulation.flows[at].replace_with_reverse_connection(opening, &demand, now);
        simulation.pair_directions(at, to);
        simulation.suppress_close_on_fin(at, &demand);
        simulation.start_sender(*app, at, demand);
    }

    fn write(&mut self, member: FlowIndex, demand: AppWrite) {
        let AppCalls { simulation, app } = self;
        let at = simulation.get_or_add_member_flow(*app, member);
        simulation.assert_may_write_now(*app, at);
        let now = simulation.now;
        let flow = &mut simulation.flows[at];
        flow.started = true;
        if flow.has_external_hosts() {
            return simulation.request_external_send(at, demand);
        }
        let mut idle_since = None;
        if flow.sends_datagrams {
            flow.measures.on_datagram_sent(now);
        } else if !flow.measures.is_sending() {
            // Before the write: what it sends may be delivered ahead of the current time.
            idle_since = Some(flow.measures.begin_transfer(now));
        }
        simulation.suppress_close_on_fin(at, &demand);
        simulation.run_sender(at, |sender, now, out| sender.write(&demand, now, out));
        let flow = &mut simulation.flows[at];
        if let Some(since) = idle_since.filter(|_| flow.sender.is_done()) {
            flow.measures.cancel_transfer(since);
        }
    }

    fn redraw_for_flow_number(&mut self, member: FlowIndex, number: u64) {
        let AppCalls { simulation, app } = self;
        let at = simulation.get_or_add_member_flow(*app, member);
        let more = simulation.apps[*app].member_factory.take();
        if let Some(more) = more {
            let own = member.checked_sub(more.initial_members).map_or_else(PrivateLinkIds::default, |made| more.private_links[made]);
            simulation.redraw_flow_for_member_number(at, &more.template, &own, number);
            simulation.apps[*app].member_factory = Some(more);
        }
    }

    fn record_transaction(&mut self, transfer: &FinishedTransaction) {
        let at = self.simulation.get_or_add_member_flow(self.app, transfer.flow);
        self.simulation.record_transfer(at, transfer.started_at, transfer.bytes);
    }

    fn finish_flow(&mut self, member: FlowIndex) {
        let at = self.simulation.get_or_add_member_flow(self.app, member);
        self.simulation.flows[at].measures.set_completed_at(self.simulation.now);
    }
}
