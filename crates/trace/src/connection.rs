//! A connection as a trace shows it: two directions, and what its handshake settled about ECN.

use ecnlab_units::{Ecn, Time};
use ecnlab_wire::{Address, Event, Flags, Kind, Packet, Place, What};

use crate::columns::{ACCURATE, CLASSIC, REFUSED, UNKNOWN};
use crate::flow::{Flow, Numbers};
use crate::links::{Hop, Links};
use crate::path::{Path, Role};
use crate::room::Room;
use crate::space::Space;
use crate::underway::{Passing, UnderWay, key};

#[derive(Debug, Default)]
pub struct Connection {
    pub halves: [Half; 2],
    setup: Setup,
    /// The number of the SYN that opened it.
    opened_by: Option<u32>,
    has_ended: [bool; 2],
    /// Its packets are ns-2's.
    pub is_ns2: bool,
}

/// One direction.
#[derive(Debug, Default)]
pub struct Half {
    pub path: Path,
    pub space: Space,
    pub under_way: UnderWay,
    /// By how many bits the windows are shifted that this end announces, once both ends have said so.
    scale: Option<u8>,
    pub flow: Option<Box<Flow>>,
    /// Its first number of data.
    pub base: Option<u64>,
    /// The number of its FIN, if that was seen.
    fin: Option<u64>,
}

/// What happened to a packet at a place, as far as its way is concerned.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passage {
    pub role: Role,
    /// What was known of it from before.
    pub before: Option<Passing>,
    pub link: Option<u32>,
    pub is_marked: bool,
    pub is_dropped: bool,
}

/// What the file is like, and whether anything counts now.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub now: Time,
    pub is_measured: bool,
    /// A capture of more than one interface.
    pub is_joined: bool,
}

/// What SYN and SYN-ACK said about ECN.
#[derive(Clone, Copy, Debug, Default)]
struct Setup {
    offered: Option<Flags>,
    answered: Option<Flags>,
    /// Whether any SYN offered ECN, of those that the connection took to open.
    has_offered: bool,
    /// Whether any of them asked for Accurate ECN, and any answer agreed: when either comes again, it may say nothing of it, and the hosts hold to
    /// what came first.
    has_asked_accurate: bool,
    has_agreed_accurate: bool,
    /// Anything was seen of the connection.
    has_begun: bool,
    /// The first packet was data that offers ECN, of an agent of ns-2 that has no handshake: its side, and the number behind it.
    offered_in_data: Option<(usize, u64)>,
    /// The side of the SYN, and whether the other side has answered without one.
    opener: usize,
    is_one_way: bool,
}

/// The flags by which ECN is offered and agreed to.
pub const ECN_FLAGS: Flags = Flags(Flags::ECE.0 | Flags::CWR.0 | Flags::AE.0);

impl Connection {
    /// Whether a packet opens a new connection between the same ends.
    pub fn is_replaced_by(&self, packet: &Packet) -> bool {
        let is_syn = packet.has(Flags::SYN) && !packet.has(Flags::ACK);
        let has_data = self.halves.iter().any(|half| half.flow.is_some());
        is_syn && self.opened_by != Some(packet.tcp.seq) && (has_data || self.opened_by.is_some())
    }

    /// Takes in what a packet says about the connection itself; returns whether it is closed by it.
    pub fn note(&mut self, packet: &Packet, side: usize) -> bool {
        let flags = packet.tcp.flags;
        if !std::mem::replace(&mut self.setup.has_begun, true) && is_offer_in_data(packet) {
            let start = self.halves[side].space.unwrapped(packet.tcp.seq);
            self.setup.offered_in_data = Some((side, start + u64::from(packet.payload)));
        }
        if flags.has(Flags::SYN) {
            self.opens(packet, side);
        } else if flags.has(Flags::ACK) && self.setup.offered.is_some() && side != self.setup.opener {
            self.setup.is_one_way |= self.setup.answered.is_none();
        }
        if flags.has(Flags::FIN) {
            let half = &mut self.halves[side];
            half.fin = Some(half.space.near(packet.tcp.seq) + u64::from(packet.payload));
        }
        let was_closed = self.is_closed();
        self.has_ended[side] |= flags.has(Flags::FIN);
        if flags.has(Flags::RST) {
            self.has_ended = [true; 2];
        }
        self.is_closed() && !was_closed
    }

    pub fn is_closed(&self) -> bool {
        self.has_ended == [true; 2]
    }

    /// How many bits a window is shifted by that comes from this end (RFC 7323, section 2.2: both ends must have offered it).
    pub fn shift(&self, side: usize) -> u8 {
        if self.halves.iter().all(|half| half.scale.is_some()) { self.halves[side].scale.unwrap_or(0).min(14) } else { 0 }
    }

    /// A place in [`crate::columns::ECN`].
    pub fn ecn(&self) -> u32 {
        let classic = Flags::ECE | Flags::CWR;
        match (self.setup.offered, self.setup.answered) {
            (None, _) | (Some(_), None) => UNKNOWN,
            _ if self.setup.has_asked_accurate && self.setup.has_agreed_accurate => ACCURATE,
            (Some(offered), Some(Flags::ECE)) if offered.has(classic) => CLASSIC,
            _ => REFUSED,
        }
    }

    /// Whether any SYN asked for Accurate ECN.
    pub fn has_asked_accurate(&self) -> bool {
        self.setup.has_asked_accurate
    }

    /// Whether it is known that no SYN offered ECN.
    pub fn offered_nothing(&self) -> bool {
        self.setup.offered.is_some() && !self.setup.has_offered
    }

    /// Whether hosts may use ECN after all that was said: they have agreed, or do what Linux does after a SYN was sent again, or nothing is known.
    pub fn may_use_ecn(&self) -> bool {
        self.ecn() != REFUSED || self.uses_ecn_after_fallback()
    }

    /// Whether a SYN that offered ECN was followed by one that did not, and the SYN-ACK agrees to ECN all the same. RFC 3168, section 6.1.1,
    /// then forbids ECN to the host that sent both; Linux uses it.
    pub fn uses_ecn_after_fallback(&self) -> bool {
        let Setup { offered, answered, has_offered, .. } = self.setup;
        let has_fallen_back = offered.is_some_and(|last| !last.has(Flags::ECE | Flags::CWR)) && has_offered;
        self.ecn() == REFUSED && has_fallen_back && answered == Some(Flags::ECE)
    }

    /// Whether the packets are ns-2's: nodes have sent them, or its one-way agents. Those count from 0, as no host does (RFC 9293, section
    /// 3.4.1), and either no SYN-ACK answers the SYN, or the first packet is data that offers ECN and the sink sends none.
    pub fn is_like_ns2(&self) -> bool {
        let Setup { offered, answered, is_one_way, offered_in_data, .. } = self.setup;
        let has_syn = answered.is_none() && self.opened_by == Some(0) && (offered == Some(Flags::ECE) || is_one_way);
        let has_none =
            offered.is_none() && answered.is_none() && offered_in_data.is_some_and(|(side, _)| self.halves[1 - side].base.is_none());
        self.is_ns2 || has_syn || has_none
    }

    /// Whether this is the first packet, and offers ECN with data, as ns-2's one-way agents do.
    pub fn opens_with_offer(&self, packet: &Packet) -> bool {
        self.is_like_ns2() && self.setup.offered_in_data.is_some() && is_offer_in_data(packet)
    }

    /// Whether an acknowledgement is that of the first packet of a direction of ns-2's one-way agents, whose ECE agrees to ECN.
    pub fn answers_offer(&self, side: usize, number: u64) -> bool {
        let behind_first = self.setup.offered_in_data.map(|(_, behind)| behind).or(self.halves[side].base.map(|base| base + 1));
        self.is_like_ns2() && behind_first.is_none_or(|behind| number <= behind)
    }

    fn opens(&mut self, packet: &Packet, side: usize) {
        let half = &mut self.halves[side];
        half.base = Some(half.space.unwrapped(packet.tcp.seq.wrapping_add(1)));
        half.scale = packet.tcp.window_scale;
        let said = Flags(packet.tcp.flags.0 & ECN_FLAGS.0);
        if packet.has(Flags::ACK) {
            self.setup.answered = Some(said);
            self.setup.has_agreed_accurate |= ![Flags::default(), Flags::ECE, ECN_FLAGS].contains(&said);
        } else {
            (self.setup.offered, self.opened_by) = (Some(said), Some(packet.tcp.seq));
            self.setup.opener = side;
            self.setup.has_offered |= packet.has(Flags::ECE | Flags::CWR);
            self.setup.has_asked_accurate |= packet.has(ECN_FLAGS);
        }
    }
}

impl Half {
    /// A segment's numbers: of a line of ns-2's one-way agents that of the packet, of any other segment with data those of its bytes.
    pub fn numbers(&mut self, packet: &Packet) -> Numbers {
        if packet.kind != Kind::Data {
            return None;
        }
        let start = self.space.unwrapped(packet.tcp.seq);
        let count = if counts_packets(packet) { 1 } else { u64::from(packet.payload) };
        let start = start + u64::from(packet.has(Flags::SYN));
        self.base.get_or_insert(start);
        Some((start, start + count))
    }

    /// The data that an acknowledgement covers, without the FIN.
    pub fn covered(&mut self, ack: u32) -> u64 {
        let number = self.space.unwrapped(ack);
        self.fin.map_or(number, |fin| number.min(fin))
    }

    /// Follows a packet of this direction. `overtaken` gets those that were overtaken long ago, and so dropped.
    pub fn pass(
        &mut self,
        event: &Event,
        numbers: Numbers,
        setting: Setting,
        links: &mut Links,
        room: &mut Room,
        overtaken: &mut Vec<Passing>,
    ) -> Passage {
        match event.what {
            What::Seen if !setting.is_joined => Passage { role: self.path.role(event, None), ..Passage::default() },
            What::Seen => self.seen(event, numbers, setting, links, room, overtaken),
            _ => self.on_link(event, numbers, setting, links, room),
        }
    }

    /// The packets that were overtaken and never came.
    pub fn lost(&mut self, room: &mut Room) -> Vec<Passing> {
        self.under_way.take_all_overtaken(room)
    }

    /// Where a packet goes next that is lost on its way from a place.
    pub fn hop_from(&self, place: Place) -> Option<Hop> {
        self.path.next(place).map(|to| Hop { from: place, to })
    }

    /// Gives its room back.
    pub fn clear(&mut self, room: &mut Room) {
        self.under_way.clear(room);
    }

    /// Something at a link of an ns-2 trace.
    fn on_link(&mut self, event: &Event, numbers: Numbers, setting: Setting, links: &mut Links, room: &mut Room) -> Passage {
        let Setting { now, is_measured, .. } = setting;
        let link = links.number(Hop::link(event.place));
        let counted = link.filter(|_| is_measured);
        let known = event.packet.id.and_then(|id| self.under_way.find(id));
        let before = known.map(|at| *self.under_way.at(at));
        let mut passage = Passage { role: self.path.role(event, None), before, link, ..Passage::default() };
        match event.what {
            What::Enqueued => {
                links.count(counted, |link| link.arrivals += 1);
                self.comes(event, numbers, known, now, passage.role.is_sent, room);
            }
            What::Dequeued => {
                let waited = before.filter(|before| before.place == event.place).map(|before| now.since(before.since));
                links.count(counted, |link| link.departed(event.packet.size, waited));
                passage.is_marked = self.sees_mark(known, &event.packet);
            }
            What::Dropped => {
                links.count(counted, |link| link.drops += 1);
                known.map(|at| self.under_way.remove(at, room));
                passage.is_dropped = true;
            }
            What::Received | What::Seen => {
                passage.is_marked = self.sees_mark(known, &event.packet);
                if let Some(at) = known.filter(|_| passage.role.has_arrived && self.path.is_settled()) {
                    self.under_way.remove(at, room);
                }
            }
        }
        links.count(counted, |link| link.marks += u64::from(passage.is_marked));
        passage
    }

    /// A packet comes to a link.
    fn comes(&mut self, event: &Event, numbers: Numbers, known: Option<usize>, now: Time, is_sent: bool, room: &mut Room) {
        match (known, event.packet.id) {
            (Some(at), _) => {
                let passing = self.under_way.at(at);
                (passing.place, passing.since, passing.ecn) = (event.place, now, event.packet.ecn);
            }
            (None, Some(id)) => {
                self.under_way.push(Passing::new(id, event.place, now, &event.packet, numbers, is_sent), room);
            }
            (None, None) => {}
        }
    }

    /// Whether a packet has CE that had not when it was seen before.
    fn sees_mark(&mut self, known: Option<usize>, packet: &Packet) -> bool {
        let Some(at) = known else { return false };
        let before = std::mem::replace(&mut self.under_way.at(at).ecn, packet.ecn);
        before != packet.ecn && packet.ecn == ecnlab_units::Ecn::Ce
    }

    /// Something at an interface of a capture that has several.
    fn seen(
        &mut self,
        event: &Event,
        numbers: Numbers,
        setting: Setting,
        links: &mut Links,
        room: &mut Room,
        overtaken: &mut Vec<Passing>,
    ) -> Passage {
        let Setting { now, is_measured, .. } = setting;
        self.forget(now, room, overtaken);
        let key = key(&event.packet);
        let known = self.under_way.find_at(key, |place| self.path.may_lead(place, event.place));
        let before = known.map(|at| *self.under_way.at(at));
        let role = self.path.role(event, before.map(|before| before.place));
        let (Some(at), Some(before)) = (known, before) else {
            if role.is_sent && !(self.path.ends_at(event.place) && self.path.is_settled()) {
                self.under_way.push(Passing::new(key, event.place, now, &event.packet, numbers, true), room);
            }
            return Passage { role, ..Passage::default() };
        };
        let link = links.number(Hop { from: before.place, to: event.place });
        self.under_way.moves_on(at, event.place, now);
        let is_marked = self.sees_mark(Some(at), &event.packet);
        if is_measured {
            links.count(link, |link| {
                link.arrivals += 1;
                link.departed(event.packet.size, Some(now.since(before.since)));
                link.marks += u64::from(is_marked);
            });
        }
        if role.has_arrived && self.path.is_settled() {
            self.under_way.remove(at, room);
        }
        Passage { role, before: Some(before), link, is_marked, is_dropped: false }
    }

    /// Forgets packets that have come to the last place, or were overtaken, so long ago that they will not be seen again. Those that have
    /// just come there are kept while it is not certain that it is the last.
    fn forget(&mut self, now: Time, room: &mut Room, overtaken: &mut Vec<Passing>) {
        loop {
            if let Some(last) = self.path.last().filter(|_| self.path.has_length()) {
                self.under_way.forget_arrived(last, now, room);
            }
            match self.under_way.take_dropped(now, room) {
                Some(dropped) => overtaken.push(dropped),
                None => return,
            }
        }
    }
}

/// Whether a packet is the first data of one of ns-2's one-way agents that offers ECN, in a capture: a Not-ECT packet with ECE, and both
/// sides count from 0.
fn is_offer_in_data(packet: &Packet) -> bool {
    let numbers = (packet.tcp.seq, packet.tcp.ack);
    packet.kind == Kind::Data && numbers == (1, 1) && packet.ecn == Ecn::NotEct && packet.has(Flags::ECE) && !packet.has(Flags::CWR)
}

/// Whether a packet's number counts packets: of ns-2's one-way agents, whose lines show no header.
pub fn counts_packets(packet: &Packet) -> bool {
    matches!(packet.source.address, Address::Node(_)) && packet.payload == packet.size
}
