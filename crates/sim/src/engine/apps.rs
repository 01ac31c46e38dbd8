//! Applications: the engine tells them of events and does what they ask for.
//!
//! An application is taken out of its place while it acts, so that what it asks for may work on the whole simulation. What happens to it
//! meanwhile is told afterwards, in order.

use std::collections::VecDeque;

use ecnlab_transport::Demand;
use ecnlab_transport::application::{Application, Calls, Event, Heading, Member, Transfer};
use ecnlab_units::{Rng, Span, Time};

use super::Simulation;
use super::flow::Opening;
use crate::component::{Component, ComponentKind};
use crate::deadlines::Order;
use crate::network::{AppSpec, OwnLinks, Template};
use crate::packet::NONE;
use crate::probe::Probe;

/// Flows of one application that may be there at once; each takes about 3 KB.
const MOST_MEMBERS: u32 = 1_000_000;

/// An application as it runs.
pub struct App {
    /// Not here while it acts.
    application: Option<Box<dyn Application>>,
    /// What happened to it while it acted.
    pending: VecDeque<Event>,
    started: bool,
    hears_deliveries: bool,
    /// Its place in the calendar.
    deadline: u32,
    due: Option<Time>,
    /// Its members' flows.
    flows: Vec<u32>,
    more: Option<Box<More>>,
}

/// How an application gets more members.
struct More {
    template: Template,
    /// The own links of each member that was made.
    own: Vec<OwnLinks>,
    /// How many members it began with.
    first: u32,
}

impl App {
    /// When it acts by itself next.
    pub fn due(&self) -> Option<Time> {
        self.due
    }

    /// Whether it may have more flows than it has.
    pub fn grows(&self) -> bool {
        self.more.is_some()
    }
}

impl<P: Probe> Simulation<P> {
    /// Adds an application whose flows are there; returns its number. It begins at its `start`, or at once if that is over.
    ///
    /// # Panics
    /// If it owns a flow that there is not, or one that another application owns.
    pub fn add_app(&mut self, spec: &AppSpec) -> u32 {
        let number = self.apps.len() as u32;
        let group = &self.group_names[spec.group as usize];
        let rng = Rng::for_role(self.options.seed, &format!("source {} {group}", spec.member));
        let deadline = self.deadlines.add(Component::new(ComponentKind::App, number as usize));
        let start = spec.start.max(self.now);
        self.deadlines.set_ordered(deadline, start, Order::default());
        let first = spec.flows.len() as u32;
        self.apps.push(App {
            application: Some(spec.spec.start(rng)),
            pending: VecDeque::new(),
            started: false,
            hears_deliveries: spec.spec.hears_deliveries(),
            deadline,
            due: Some(start),
            flows: Vec::with_capacity(spec.flows.len()),
            more: spec.more.as_ref().map(|template| Box::new(More { template: (**template).clone(), own: Vec::new(), first })),
        });
        spec.flows.iter().for_each(|&flow| self.own(number, flow));
        number
    }

    /// Makes a flow the application's next member.
    fn own(&mut self, app: u32, flow: u32) {
        let owner = &mut self.apps[app as usize];
        let member = &mut self.flows[flow as usize];
        assert_eq!(NONE, member.app, "a flow belongs to one application");
        (member.app, member.place, member.hears_deliveries) = (app, owner.flows.len() as u32, owner.hears_deliveries);
        owner.flows.push(flow);
    }

    /// An application's deadline: its start, later its timer.
    pub(super) fn wake_app(&mut self, app: u32) {
        let owner = &mut self.apps[app as usize];
        owner.due = None;
        let started = std::mem::replace(&mut owner.started, true);
        self.tell_app(app, if started { Event::Timer } else { Event::Start });
    }

    /// Tells a flow's application.
    #[cold]
    pub(super) fn tell_of(&mut self, flow: u32, event: impl FnOnce(Member) -> Event) {
        let flow = &self.flows[flow as usize];
        self.tell_app(flow.app, event(flow.place));
    }

    /// Tells an application, and does what it asks for.
    pub(super) fn tell_app(&mut self, app: u32, event: Event) {
        let Some(mut application) = self.apps[app as usize].application.take() else {
            return self.apps[app as usize].pending.push_back(event);
        };
        let mut next = Some(event);
        while let Some(event) = next {
            application.on(event, self.now, &mut Caller { simulation: self, app });
            next = self.apps[app as usize].pending.pop_front();
        }
        let (now, owner) = (self.now, &mut self.apps[app as usize]);
        let due = application.deadline().map(|due| due.max(now));
        owner.application = Some(application);
        match std::mem::replace(&mut owner.due, due) {
            before if before == due => {}
            _ => match due {
                Some(due) => self.deadlines.set(owner.deadline, now, due),
                None => self.deadlines.clear(owner.deadline),
            },
        }
    }
}

/// Which flows are the two directions of one connection, where acknowledgements of the one ride on data of the other.
impl<P: Probe> Simulation<P> {
    fn join(&mut self, one: u32, other: u32) {
        if self.flows[one as usize].acks_ride() {
            (self.flows[one as usize].twin, self.flows[other as usize].twin) = (other, one);
        }
    }

    /// A flow's connection is over.
    fn part(&mut self, flow: u32) {
        let twin = std::mem::replace(&mut self.flows[flow as usize].twin, NONE);
        if twin != NONE {
            self.flows[twin as usize].twin = NONE;
        }
    }
}

/// Does what an application asks for.
struct Caller<'a, P> {
    simulation: &'a mut Simulation<P>,
    app: u32,
}

impl<P: Probe> Caller<'_, P> {
    /// The flow of a member, which comes into being if the application may have more.
    ///
    /// # Panics
    /// If there is no such member and the application may not have more.
    fn flow(&mut self, member: Member) -> u32 {
        while member as usize >= self.simulation.apps[self.app as usize].flows.len() {
            self.add_member();
        }
        self.simulation.apps[self.app as usize].flows[member as usize]
    }

    /// # Panics
    /// If flows come faster than the network carries them, until there are too many.
    fn add_member(&mut self) {
        let mut more = self.simulation.apps[self.app as usize].more.take().expect("the application may have more members");
        let number = self.simulation.apps[self.app as usize].flows.len() as u32;
        let group = &self.simulation.group_names[more.template.flow.group as usize];
        assert!(
            number < MOST_MEMBERS,
            "{MOST_MEMBERS} flows of the group {group} are alive at once: let fewer come, or give a faster network"
        );
        let own = more.template.own_links(number, |link| self.simulation.add_link(&link));
        let flow = self.simulation.add_flow(&more.template.member(number, &own, Heading::Along));
        more.own.push(own);
        self.simulation.apps[self.app as usize].more = Some(more);
        self.simulation.own(self.app, flow);
    }

    /// Where a flow's last data brings a FIN and the flow is one direction of a connection, the other direction's FIN is not answered by another.
    fn close_by_data(&mut self, at: u32, demand: &Demand) {
        let twin = self.simulation.flows[at as usize].twin;
        if demand.closes && twin != NONE {
            self.simulation.flows[twin as usize].sink.leave_closing();
        }
    }

    /// Lets a new connection's sender begin.
    fn begin(&mut self, at: u32, demand: Demand) {
        let simulation = &mut *self.simulation;
        let flow = &mut simulation.flows[at as usize];
        let (timer, sink, datagrams) = (flow.timer, flow.sink_deadline, flow.datagrams);
        simulation.deadlines.clear(timer);
        simulation.deadlines.clear(sink);
        if flow.is_outside() {
            return simulation.begin_outside(at, demand);
        }
        if datagrams {
            flow.measures.send_datagram(simulation.now);
            return simulation.with_sender(at, |sender, now, out| sender.produce(&demand, now, out));
        }
        flow.measures.begin_transfer(simulation.now);
        simulation.with_sender(at, |sender, now, out| sender.start(now, out));
        let flow = &simulation.flows[at as usize];
        if !flow.sender.tcp().is_some_and(|sender| sender.is_opening()) {
            simulation.apps[self.app as usize].pending.push_back(Event::Opened(flow.place));
        }
    }
}

impl<P: Probe> Calls for Caller<'_, P> {
    fn open(&mut self, member: Member, demand: Demand) {
        let (at, now) = (self.flow(member), self.simulation.now);
        self.simulation.part(at);
        self.simulation.flows[at as usize].connect(&demand, now);
        self.begin(at, demand);
    }

    fn answer(&mut self, member: Member, to: Member, demand: Demand) {
        let (at, to) = (self.flow(member), self.flow(to));
        if self.simulation.flows[at as usize].is_outside() {
            return self.simulation.answer_outside(at, to, demand);
        }
        let opener = self.simulation.flows[to as usize].sender.tcp().expect("a connection is answered, not a datagram");
        let opening = Opening { ecn: opener.uses_ecn(), rtt: Some(opener.min_rtt()).filter(|&rtt| rtt > Span::ZERO) };
        let now = self.simulation.now;
        self.simulation.part(at);
        self.simulation.part(to);
        self.simulation.flows[at as usize].answer(opening, &demand, now);
        self.simulation.join(at, to);
        self.close_by_data(at, &demand);
        self.begin(at, demand);
    }

    fn produce(&mut self, member: Member, demand: Demand) {
        let at = self.flow(member);
        let now = self.simulation.now;
        let flow = &mut self.simulation.flows[at as usize];
        flow.started = true;
        if flow.is_outside() {
            return self.simulation.ask_outside(at, demand);
        }
        if flow.datagrams {
            flow.measures.send_datagram(now);
        }
        self.close_by_data(at, &demand);
        self.simulation.with_sender(at, |sender, now, out| sender.produce(&demand, now, out));
        let flow = &mut self.simulation.flows[at as usize];
        if !flow.datagrams && !flow.measures.is_sending() && !flow.sender.is_done() {
            flow.measures.begin_transfer(now);
        }
    }

    fn seat(&mut self, member: Member, number: u64) {
        let at = self.flow(member);
        let more = self.simulation.apps[self.app as usize].more.take();
        if let Some(more) = more {
            let own = member.checked_sub(more.first).map_or_else(OwnLinks::default, |made| more.own[made as usize]);
            self.simulation.redraw(at, &more.template, &own, number);
            self.simulation.apps[self.app as usize].more = Some(more);
        }
    }

    fn finished(&mut self, transfer: &Transfer) {
        let at = self.flow(transfer.member);
        self.simulation.count_transfer(at, transfer.began, transfer.bytes);
    }

    fn done(&mut self, member: Member) {
        let at = self.flow(member);
        self.simulation.flows[at as usize].measures.completed = Some(self.simulation.now);
    }
}
