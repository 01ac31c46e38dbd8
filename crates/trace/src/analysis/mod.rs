//! Reads events one by one and tells at the end what flows, links and bins of time have seen.
//!
//! Memory is bounded by the connections that are alive, of which there are at most [`crate::connections::MOST`], by the packets and
//! segments that are followed ([`Room`]), and by the rows of the tables, each of which has a bound of its own. What was left out is said.

mod report;

use ecnlab_units::table::Table;
use ecnlab_units::{Span, Time};
use ecnlab_wire::{Address, Event, Flags, Kind, Packet, Place, SackRuns, State, What};

use crate::bins::{Bins, Member};
use crate::columns::{ACCURATE, FlowRow};
use crate::competing::Candidates;
use crate::connection::{Connection, Half, Passage, Setting};
use crate::connections::{Connections, Key};
use crate::desk::{Desk, Found, Whole};
use crate::flow::{AckSeen, Flow, Kept, Numbers};
use crate::links::{Hop, Links};
use crate::room::Room;
use crate::underway::Passing;

/// Flows that have rows of their own; the total counts all.
const MOST_FLOWS: usize = 100_000;

/// What is asked of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The measured interval; from the first event to the last unless given.
    pub from: Option<Span>,
    pub to: Option<Span>,
    pub bin: Span,
    /// The flows to count; all if there are none.
    pub flows: Vec<u32>,
    /// The flows whose time-sequence graph is wanted.
    pub drawn: Vec<u32>,
    /// Bytes of headers in the TCP packets of an ns-2 trace, whose lines do not tell.
    pub header: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options { from: None, to: None, bin: Span::from_secs(1), flows: Vec::new(), drawn: Vec::new(), header: 0 }
    }
}

/// A trace that is being read.
#[derive(Debug)]
pub struct Analysis {
    /// The flows that were asked for; all if there are none.
    asked: Vec<u32>,
    /// What times are counted from, once it is known.
    origin: Option<Time>,
    begins_at_first: bool,
    interfaces: Vec<String>,
    connections: Connections<Connection>,
    links: Links,
    desk: Desk,
    next_flow: u32,
    rows: Vec<FlowRow>,
    total: Total,
    candidates: Candidates,
    /// Packets that have just turned out to be dropped.
    lost: Vec<Passing>,
    counts: Counts,
}

/// What was read, and what was not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub events: u64,
    /// Packets that are neither TCP nor datagrams.
    pub others: u64,
    /// Parts of fragmented packets, whose headers are elsewhere.
    pub fragments: u64,
    /// Packets of which the capture kept too little.
    pub cut: u64,
    /// Flows without rows of their own.
    pub unlisted_flows: u64,
    /// Connections that Jain's index leaves out, because there were too many.
    pub unranked: u64,
    /// Flows of TCP that go on while no acknowledgement of theirs is seen.
    pub unacknowledged: u64,
    /// Connections that were folded before they had ended, to make room.
    pub evicted: u64,
    /// Rows that found no room in their tables, and packets that could not be followed.
    pub left_out: u64,
    pub unfollowed: u64,
}

/// What a trace has told.
#[derive(Clone, Debug)]
pub struct Told {
    pub tables: Vec<(&'static str, Table)>,
    pub counts: Counts,
    /// The measured interval.
    pub from_s: f64,
    pub to_s: f64,
    /// The last event.
    pub last_s: f64,
}

/// What all flows have done together, as it is added up.
#[derive(Clone, Debug, Default)]
struct Total {
    flows: u64,
    kept: Kept,
    locked_out_flows: u64,
}

impl Analysis {
    /// `counts_from_first`: times are told from the first event on, as of a capture of a host, and not from zero, as of a simulation.
    pub fn new(options: Options, counts_from_first: bool) -> Analysis {
        let Options { from, to, bin, flows, drawn, header } = options;
        let desk = Desk {
            now: Time::ZERO,
            is_measured: false,
            from: Time::ZERO + from.unwrap_or_default(),
            to: to.map_or(Time::NEVER, |to| Time::ZERO + to),
            header,
            drawn,
            room: Room::default(),
            bins: Bins::new(bin.max(Span::from_picos(1))),
            whole: Whole::default(),
            found: Found::default(),
        };
        Analysis {
            asked: flows,
            origin: (!counts_from_first).then_some(Time::ZERO),
            begins_at_first: from.is_none(),
            interfaces: Vec::new(),
            connections: Connections::default(),
            links: Links::default(),
            desk,
            next_flow: 0,
            rows: Vec::new(),
            total: Total::default(),
            candidates: Candidates::default(),
            lost: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Names the interfaces of a capture, as they become known.
    pub fn interfaces(&mut self, names: Vec<String>) {
        self.interfaces = names;
    }

    /// The time of the event that was taken last.
    pub fn now(&self) -> Time {
        self.desk.now
    }

    /// Takes an event in.
    pub fn take(&mut self, event: &Event) {
        self.counts.events += 1;
        self.tick(event.time);
        match event.packet.state {
            State::Fragment { first: false } => self.counts.fragments += 1,
            State::Cut => self.counts.cut += 1,
            _ => match Key::of(&event.packet) {
                Some((key, side)) => self.follow(event, key, side),
                None => self.pass_other(event),
            },
        }
    }

    /// Ends the trace: its tables, and what could not be kept.
    pub fn finish(mut self) -> Told {
        let last = self.desk.now;
        let to = if self.desk.to == Time::NEVER { last.max(self.desk.from) } else { self.desk.to };
        self.desk.bins.close(self.desk.from, to);
        self.desk.is_measured = self.desk.from <= last;
        self.desk.now = last.min(to);
        for connection in std::mem::take(&mut self.connections).into_all() {
            self.fold(connection);
        }
        report::told(self, to, last)
    }

    /// Goes on to the time of an event. One that comes after a later one counts with that.
    fn tick(&mut self, time: Time) {
        let origin = *self.origin.get_or_insert(time);
        let now = Time::ZERO + time.since(origin);
        if self.counts.events == 1 && self.begins_at_first {
            self.desk.from = now;
        }
        self.desk.tick(now);
    }

    /// Counts what is neither TCP nor a datagram at its link.
    fn pass_other(&mut self, event: &Event) {
        self.counts.others += 1;
        if !self.desk.is_measured || !matches!(event.place, Place::Link { .. }) {
            return;
        }
        let number = self.links.number(Hop::link(event.place));
        self.links.count(number, |link| match event.what {
            What::Enqueued => link.arrivals += 1,
            What::Dequeued => link.departed(event.packet.size, None),
            What::Dropped => link.drops += 1,
            What::Received | What::Seen => {}
        });
    }

    /// Follows a packet of a connection.
    fn follow(&mut self, event: &Event, key: Key, side: usize) {
        let (at, gone) = self.connections.enter(key, Connection::default);
        if let Some(gone) = gone {
            self.counts.evicted += 1;
            self.fold(gone);
        }
        if self.connections.at(at).is_replaced_by(&event.packet) {
            let before = std::mem::take(self.connections.at(at));
            self.fold(before);
        }
        let setting = Setting { now: self.desk.now, is_measured: self.desk.is_measured, is_joined: self.interfaces.len() > 1 };
        let connection = self.connections.at(at);
        let closes = connection.note(&event.packet, side);
        let half = &mut connection.halves[side];
        let numbers = half.numbers(&event.packet);
        let passage = half.pass(event, numbers, setting, &mut self.links, &mut self.desk.room, &mut self.lost);
        if !self.lost.is_empty() {
            let mut half = std::mem::take(&mut self.connections.at(at).halves[side]);
            self.lose(&mut half);
            self.connections.at(at).halves[side] = half;
        }
        if numbers.is_some() || !event.packet.is_tcp() {
            self.begin_flow(at, side, &event.packet, numbers);
            self.forward(at, side, event, numbers, passage);
        }
        if event.packet.has(Flags::ACK) {
            self.backward(at, side, event, passage);
        }
        if closes {
            self.close(at);
        }
    }

    /// Counts packets that were overtaken and did not come, at the time at which they were seen last.
    fn lose(&mut self, half: &mut Half) {
        for dropped in self.lost.drain(..) {
            let is_measured = self.desk.from <= dropped.since && dropped.since < self.desk.to;
            let link = half.hop_from(dropped.place).and_then(|hop| self.links.number(hop));
            if is_measured {
                self.links.count(link, |link| (link.arrivals, link.drops) = (link.arrivals + 1, link.drops + 1));
            }
            if let Some(flow) = half.flow.as_mut().filter(|_| dropped.is_data) {
                let now = std::mem::replace(&mut self.desk.is_measured, is_measured);
                flow.dropped(link, dropped.numbers, dropped.since, &mut self.desk);
                self.desk.is_measured = now;
            }
        }
    }

    /// The first packet with data begins a flow.
    fn begin_flow(&mut self, at: u32, side: usize, packet: &Packet, numbers: Numbers) {
        let halves = &mut self.connections.at(at).halves;
        if halves[side].flow.is_some() {
            return;
        }
        let other = halves[1 - side].flow.as_deref().map(|flow| (flow.number, flow.is_chosen));
        let half = &mut halves[side];
        let base = half.base.unwrap_or(numbers.map_or(0, |(start, _)| start));
        let number = self.next_flow;
        let is_chosen = self.asked.is_empty() || self.asked.contains(&number);
        let member = Member { flow: number, connection: other.map_or(number, |(first, _)| first) };
        let is_first = is_chosen && !other.is_some_and(|(_, is_chosen)| is_chosen);
        half.flow = Some(Box::new(Flow::new(member, is_chosen, is_first, packet, base, self.desk.now)));
        self.next_flow = number.saturating_add(1);
        if is_chosen {
            self.desk.bins.flow_begins(is_first);
        }
    }

    /// Tells the flow of a packet with data what happened to it.
    fn forward(&mut self, at: u32, side: usize, event: &Event, numbers: Numbers, passage: Passage) {
        let connection = self.connections.at(at);
        let counts_marks = connection.ecn() == ACCURATE;
        let Half { flow: Some(flow), path, under_way, .. } = &mut connection.halves[side] else { return };
        flow.counts_marks = counts_marks;
        let (desk, packet, role) = (&mut self.desk, &event.packet, passage.role);
        let mut is_again = passage.before.is_some_and(|before| before.is_again);
        if role.is_sent {
            is_again = flow.sent(packet, numbers, event.what != What::Seen, desk);
            if is_again {
                under_way.last_was_again();
            }
        }
        if passage.is_marked {
            flow.marked(passage.link, numbers, desk);
        }
        if passage.is_dropped {
            flow.dropped(passage.link, numbers, desk.now, desk);
        }
        if role.has_moved {
            flow.moves_sink(desk);
        }
        if role.has_arrived {
            let sent = passage.before.and_then(|before| before.sent).filter(|_| path.has_length());
            let delay = sent.map(|sent| (desk.now.since(sent), path.is_settled()));
            flow.arrived(packet, numbers, is_again, delay, desk);
        }
    }

    /// Tells the flow of the other direction what is acknowledged.
    fn backward(&mut self, at: u32, side: usize, event: &Event, passage: Passage) {
        let (packet, role) = (&event.packet, passage.role);
        let connection = self.connections.at(at);
        let shift = connection.shift(side);
        let number = connection.halves[1 - side].covered(packet.tcp.ack);
        let is_sure = connection.halves[side].path.is_settled();
        let Half { flow: Some(flow), space, .. } = &mut connection.halves[1 - side] else { return };
        if role.has_moved {
            flow.moves_source();
        }
        if role.is_sent && packet.has(Flags::ECE) && !packet.has(Flags::SYN) {
            flow.echoed(number, matches!(packet.source.address, Address::Node(_)), &mut self.desk);
        }
        if role.has_arrived && !packet.has(Flags::SYN) {
            let mut blocks = [(0, 0); SackRuns::MOST];
            let runs = packet.tcp.sacks.as_slice();
            for (block, &(start, end)) in blocks.iter_mut().zip(runs) {
                *block = (space.near(start), space.near(end));
            }
            let edge = (packet.tcp.window > 0).then(|| number + (u64::from(packet.tcp.window) << shift));
            let is_pure = packet.kind == Kind::Ack && !packet.has(Flags::FIN);
            let ack = AckSeen { number, blocks: &blocks[..runs.len()], edge, is_pure, is_sure };
            flow.acknowledged(&ack, packet, &mut self.desk);
        }
    }

    /// A connection has been closed: its flows share no bin any more.
    fn close(&mut self, at: u32) {
        for flow in self.connections.at(at).halves.iter_mut().filter_map(|half| half.flow.as_mut()) {
            if flow.is_chosen && flow.closed.replace(self.desk.now).is_none() {
                self.desk.bins.flow_closes(flow.is_first);
            }
        }
    }

    /// Turns a connection's flows into rows and into the total.
    fn fold(&mut self, connection: Connection) {
        let ecn = connection.ecn();
        let mut candidates = Vec::with_capacity(2);
        for mut half in connection.halves {
            self.lost = half.lost(&mut self.desk.room);
            self.lose(&mut half);
            half.clear(&mut self.desk.room);
            let Some(flow) = half.flow else { continue };
            let (is_chosen, is_first, is_open) = (flow.is_chosen, flow.is_first, flow.closed.is_none());
            candidates.extend(is_chosen.then(|| flow.candidate()));
            self.counts.unacknowledged += u64::from(is_chosen && flow.goes_unacknowledged());
            let row = flow.end(ecn, &mut self.desk);
            if is_chosen {
                if is_open {
                    self.desk.bins.flow_closes(is_first);
                }
                self.total.add(&row.common.kept);
                self.keep(row);
            }
        }
        self.candidates.add(&candidates, self.desk.from, self.desk.now);
    }

    fn keep(&mut self, row: FlowRow) {
        if self.rows.len() < MOST_FLOWS {
            self.rows.push(row);
        } else {
            self.counts.unlisted_flows += 1;
        }
    }
}

impl Total {
    fn add(&mut self, kept: &Kept) {
        self.flows += 1;
        self.kept.add(kept);
        self.locked_out_flows += u64::from(kept.lockouts > 0);
    }
}
