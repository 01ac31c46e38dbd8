//! Hosts outside: their packets come in and go out, and what applications ask for goes to them.

use ecnlab_queue::{Cause, Discipline, Frame, Queue};
use ecnlab_transport::application::Event;
use ecnlab_transport::{Demand, Role};
use ecnlab_units::{Ecn, Level, Time};

use super::Simulation;
use super::path::launch;
use crate::arrivals::QueueDeed;
use crate::deadlines::Order;
use crate::link::Waiting;
use crate::measures::Delivery;
use crate::network::Counted;
use crate::outside::{Foreign, Happened, Told, Toward};
use crate::packet::{NONE, Origin, Packet, PacketId};
use crate::probe::{MarkOrDrop, Probe};

/// What a driver does.
impl<P: Probe> Simulation<P> {
    /// When something happens next, if anything does by itself.
    pub fn next_deadline(&mut self) -> Option<Time> {
        self.deadlines.earliest()
    }

    /// Index into [`Network::groups`](crate::Network::groups) of a flow.
    ///
    /// # Panics
    /// If there is no such flow.
    pub fn group_of(&self, flow: u32) -> u32 {
        self.flows[flow as usize].group
    }

    /// A host's packet enters its route, now.
    ///
    /// # Panics
    /// If there is no such flow, or its ends are not outside.
    pub fn inject(&mut self, foreign: &Foreign) {
        let flow = &mut self.flows[foreign.flow as usize];
        let host = flow.sender.outside().expect("packets are injected for flows whose ends are outside");
        let cursor = match foreign.toward {
            Toward::Sink => {
                host.sent();
                flow.forward
            }
            Toward::Source => flow.back,
        };
        let origin = Origin { flow: foreign.flow, cursor, connection: foreign.label, bits: flow.bits };
        let id = self.packets.insert(Packet::of_foreign(foreign, origin, self.now));
        self.enter(self.hops[cursor as usize], id);
    }

    /// What has happened since this was asked last, in order.
    pub fn happened(&mut self) -> std::vec::Drain<'_, Happened> {
        self.happened.drain(..)
    }

    /// A flow's hosts tell something, now.
    ///
    /// # Panics
    /// If there is no such flow, or its ends are not outside.
    pub fn tell(&mut self, flow: u32, told: Told) {
        let now = self.now;
        let told_of = &mut self.flows[flow as usize];
        let host = told_of.sender.outside().expect("hosts tell of flows whose ends are outside");
        match told {
            Told::Opened => {
                let is_news = host.open();
                if is_news && told_of.app != NONE {
                    self.tell_of(flow, Event::Opened);
                }
            }
            Told::Delivered { bytes } => {
                let counts = host.read(bytes);
                self.delivered_outside(flow, counts);
            }
            Told::Acknowledged => {
                host.finish();
                if told_of.measures.is_sending() {
                    self.end_transfer(flow);
                }
            }
            Told::RoundTrip(rtt) => {
                host.see_rtt(rtt);
                told_of.measures.round_trip(rtt);
                if told_of.counted != Counted::Nowhere {
                    self.probe.round_trip(now, told_of.group, rtt);
                }
            }
            Told::Window(window) => {
                host.see_window(window);
                self.probe.window(now, flow, &window);
            }
            Told::Counters(more) => host.count(&more),
        }
    }

    fn delivered_outside(&mut self, at: u32, bytes: u64) {
        let flow = &mut self.flows[at as usize];
        if let Some(since) = flow.measures.read(bytes, self.now) {
            self.probe.lockout(at, since, self.now);
        }
        if flow.hears_deliveries && bytes > 0 {
            self.tell_of(at, |member| Event::Delivered(member, bytes));
        }
    }
}

/// Queues that are outside too, such as a kernel's.
impl<P: Probe> Simulation<P> {
    /// A queue outside has been left by a packet, which the link begins to send now; `ecn` is what the queue has made of its ECN field. Whoever
    /// has the queue lets it release the next one when this one has been sent. Says whether the packet waited there.
    pub fn released(&mut self, link: u32, ticket: u32, ecn: Ecn) -> bool {
        let Some(at) = self.queue_outside(link) else { return false };
        let (now, queue, mut witness) = self.at_queue(at);
        queue.measures.held(queue.discipline.len(), now);
        let Queue::Outside(outside) = &mut queue.discipline else { return false };
        let is_marked = |frame: &Waiting| ecn == Ecn::Ce && frame.ecn() != Ecn::Ce;
        let found = outside.release(|frame| witness.ticket(frame.packet) == ticket, is_marked, now);
        let Some((mut frame, waited)) = found else { return false };
        witness.release(&frame, ecn);
        if is_marked(&frame) {
            frame.mark(Level::Congested);
            witness.tell_of_queue(QueueDeed::Marked(&frame, Cause::Early));
        }
        witness.tell_of_queue(QueueDeed::Left { frame: &frame, sojourn: waited, band: 0 });
        let transmission = self.links[link as usize].transmission_of(frame.size());
        self.queues[at as usize].measures.departure(waited, 0, transmission);
        self.at_link(link).tell_of_beginning(frame.packet, now);
        let order = Order { since: now, entered: now - waited };
        launch(&mut self.links[link as usize], &mut self.packets, &mut self.deadlines, frame.packet, now + transmission, order);
        true
    }

    /// A queue outside has dropped a packet, for this reason. Says whether it waited there.
    pub fn dropped(&mut self, link: u32, ticket: u32, cause: Cause) -> bool {
        let Some(at) = self.queue_outside(link) else { return false };
        let (now, queue, mut witness) = self.at_queue(at);
        queue.measures.held(queue.discipline.len(), now);
        let Queue::Outside(outside) = &mut queue.discipline else { return false };
        let Some(frame) = outside.lose(|frame| witness.ticket(frame.packet) == ticket, cause) else { return false };
        witness.tell_of_queue(QueueDeed::Dropped(&frame, cause));
        witness.lose(frame.packet, MarkOrDrop::Dropped(cause));
        true
    }

    /// A queue outside has made a copy of a packet that waits there, under the same ticket, and the copy waits there too. Says whether the
    /// packet waited there.
    pub fn copied(&mut self, link: u32, ticket: u32) -> bool {
        let Some(at) = self.queue_outside(link) else { return false };
        let mut found = None;
        self.queues[at as usize].discipline.frames(&mut |frame| {
            found = found.or((self.packets[frame.packet].ticket() == ticket).then_some(frame.packet));
        });
        let Some(original) = found else { return false };
        let copy = self.copy(original);
        self.links[link as usize].arrived += 1;
        let waiting = Waiting::new(copy, &self.packets);
        let (now, queue, mut witness) = self.at_queue(at);
        witness.tell_of_queue(QueueDeed::Came(&waiting));
        let length = queue.discipline.len();
        queue.measures.held(length, now);
        queue.discipline.offer(waiting, now, &mut queue.rng, &mut |deed| witness.hear(deed));
        queue.measures.arrival(length, queue.discipline.average());
        // Whoever has the queue has made it, and need not be told.
        if let Queue::Outside(outside) = &mut queue.discipline {
            outside.newcomers().for_each(drop);
        }
        true
    }

    /// The number of a link's queue, if that is outside.
    fn queue_outside(&self, link: u32) -> Option<u32> {
        let at = self.links.get(link as usize)?.queue;
        let queue = self.queues.get(at as usize)?;
        matches!(queue.discipline, Queue::Outside(_)).then_some(at)
    }

    /// A queue has nothing to send; one that is outside is told of the packets that have come.
    #[cold]
    #[inline(never)]
    pub(super) fn offer_outside(&mut self, at: u32) {
        let Simulation { now, queues, packets, happened, .. } = self;
        let queue = &mut queues[at as usize];
        let (at, link) = (*now, queue.link);
        if let Queue::Outside(outside) = &mut queue.discipline {
            happened.extend(outside.newcomers().map(|frame| {
                let packet = &packets[frame.packet];
                Happened::Offered { ticket: packet.ticket(), at, link, ecn: packet.ecn }
            }));
        }
    }
}

/// What becomes of packets, and what flows ask of their hosts.
impl<P: Probe> Simulation<P> {
    /// A host's packet has reached the end of its route.
    #[cold]
    #[inline(never)]
    pub(super) fn hand_over(&mut self, id: PacketId) {
        let packet = self.packets[id];
        self.packets.release(id);
        let (toward, bits) = (packet.toward(), packet.bits);
        if toward == Toward::Sink {
            let flow = &mut self.flows[packet.flow as usize];
            flow.received += 1;
            if packet.role() != Role::Pure {
                let delay = self.now.since(packet.sent);
                flow.measures.arrived(&Delivery { size: packet.size, new_bytes: 0, first_bytes: packet.first_bytes(), delay });
                if flow.counted != Counted::Nowhere {
                    self.groups[flow.group as usize].delay.record(delay);
                }
            }
        }
        let (ece, cwr) = (bits.ece(), bits.cwr());
        self.happened.push(Happened::Arrived {
            ticket: packet.ticket(),
            at: self.now,
            flow: packet.flow,
            toward,
            ecn: packet.ecn,
            ece,
            cwr,
        });
    }

    /// A flow's start has come.
    pub(super) fn start_outside(&mut self, at: u32) {
        let flow = &mut self.flows[at as usize];
        flow.started = true;
        if let Some(demand) = flow.opens {
            self.ask_outside(at, demand);
        }
    }

    /// A new connection is to begin in a flow's place.
    pub(super) fn begin_outside(&mut self, at: u32, demand: Demand) {
        let flow = &mut self.flows[at as usize];
        if !flow.datagrams {
            flow.measures.begin_transfer(self.now);
        }
        self.ask_outside(at, demand);
    }

    /// A flow is to send in the other direction of the connection that `to` has opened.
    pub(super) fn answer_outside(&mut self, at: u32, to: u32, demand: Demand) {
        let flow = &mut self.flows[at as usize];
        flow.answer_outside(&demand, self.now);
        flow.measures.begin_transfer(self.now);
        self.happened.push(Happened::Answer { flow: at, to, demand, at: self.now });
        self.tell_of(at, Event::Opened);
    }

    /// A flow is to send something, over a new connection if it has none.
    pub(super) fn ask_outside(&mut self, at: u32, demand: Demand) {
        let now = self.now;
        let flow = &mut self.flows[at as usize];
        let Some(host) = flow.sender.outside() else { return };
        let asked = if host.ask(demand.bytes) {
            Happened::Open { flow: at, connection: host.connection(), demand, at: now }
        } else {
            Happened::Produce { flow: at, demand, at: now }
        };
        if flow.datagrams {
            flow.measures.send_datagram(now);
        } else if !flow.measures.is_sending() {
            flow.measures.begin_transfer(now);
        }
        self.happened.push(asked);
    }
}
