//! Where the packets of one direction begin and end in a file.
//!
//! An ns-2 trace of all links shows both ends: packets are sent where they come to a link of their source's node, and arrive where a link
//! ends at their destination's. A trace of some links, or a capture, shows a part of the way: its first place stands for the source and
//! its last for the sink.

use ecnlab_wire::{Address, Event, Place, What};

/// The first and the last place of a direction.
#[derive(Clone, Debug, Default)]
pub struct Path {
    first: Option<Place>,
    last: Option<Place>,
    /// Interfaces of a capture in the order in which packets come to them, as far as it is known.
    order: Vec<Place>,
    /// The last place is the destination itself.
    is_whole: bool,
    /// Arrivals at a last place that is not known to be the destination.
    unsure: u32,
}

/// Arrivals after which a place is taken for the last that the file shows.
const SURE: u32 = 1024;

/// Interfaces of one way whose order is kept.
const MOST_PLACES: usize = 64;

/// What an event is for the ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Role {
    /// The packet leaves its source.
    pub is_sent: bool,
    /// The packet comes to its sink.
    pub has_arrived: bool,
    /// The last place is farther than was thought: what arrived before had not.
    pub has_moved: bool,
}

impl Path {
    /// Whether both ends are in the file, so that there is a way between them.
    pub fn has_length(&self) -> bool {
        self.is_whole || self.first != self.last
    }

    /// Whether the last place is not going to change any more.
    pub fn is_settled(&self) -> bool {
        self.is_whole || self.unsure >= SURE
    }

    /// Where packets come to next from an interface; the last place if that is not known, and none from there.
    pub fn next(&self, from: Place) -> Option<Place> {
        let known = self.rank(from).and_then(|at| self.order.get(at + 1)).copied();
        self.last.filter(|&last| last != from).map(|last| known.unwrap_or(last))
    }

    pub fn last(&self) -> Option<Place> {
        self.last
    }

    /// Whether a place is the last and not the first.
    pub fn ends_at(&self, place: Place) -> bool {
        self.has_length() && self.last == Some(place)
    }

    /// Whether a packet that was seen at one interface may be the one that is seen at another, which is then not known to lie before.
    pub fn may_lead(&self, from: Place, to: Place) -> bool {
        match (self.rank(from), self.rank(to)) {
            (Some(before), Some(after)) => before < after,
            _ => from != to,
        }
    }

    /// Takes an event in; `from` is where its packet was seen before, if it was.
    pub fn role(&mut self, event: &Event, from: Option<Place>) -> Role {
        match event.what {
            What::Enqueued => Role { is_sent: self.sets_out(event), ..Role::default() },
            What::Received => self.received(event),
            What::Seen => self.seen(event.place, from),
            What::Dequeued | What::Dropped => Role::default(),
        }
    }

    fn sets_out(&mut self, event: &Event) -> bool {
        let at_source = matches!(event.place, Place::Link { from, .. } if event.packet.source.address == Address::Node(from));
        if at_source {
            self.first = Some(event.place);
        }
        *self.first.get_or_insert(event.place) == event.place
    }

    fn received(&mut self, event: &Event) -> Role {
        let Place::Link { from, to } = event.place else { return Role::default() };
        let at_sink = event.packet.destination.address == Address::Node(to);
        let goes_on = matches!(self.last, Some(Place::Link { to: end, .. }) if end == from);
        if !self.is_whole && (at_sink || goes_on) {
            let has_moved = self.last.is_some_and(|last| last != event.place);
            (self.last, self.is_whole) = (Some(event.place), at_sink);
            return Role { has_arrived: true, has_moved, is_sent: false };
        }
        let has_arrived = at_sink || (!self.is_whole && *self.last.get_or_insert(event.place) == event.place);
        self.unsure += u32::from(has_arrived && !self.is_settled());
        Role { has_arrived, ..Role::default() }
    }

    fn seen(&mut self, place: Place, from: Option<Place>) -> Role {
        let last = *self.last.get_or_insert(place);
        let first = *self.first.get_or_insert(place);
        self.unsure += u32::from(last == place && !self.is_settled());
        let Some(from) = from else {
            // A packet that is new between the ends, or beyond, was forgotten too early.
            if place != first && place != last {
                self.unsure = 0;
            }
            return Role { is_sent: true, has_arrived: last == place, has_moved: false };
        };
        self.learn(from, place);
        let has_moved = from == last && place != last;
        if has_moved {
            (self.last, self.unsure) = (Some(place), 0);
        }
        Role { is_sent: false, has_arrived: has_moved || last == place, has_moved }
    }

    /// A packet has come from one interface to another. Where it was not seen at one between them, that says nothing about one beyond.
    fn learn(&mut self, from: Place, to: Place) {
        let count = self.order.len();
        if count + 2 > MOST_PLACES {
            return;
        }
        match (self.rank(from), self.rank(to)) {
            (None, None) if count == 0 => self.order.extend([from, to]),
            (None, Some(at)) => self.order.insert(at, from),
            (Some(at), None) if at + 1 == count => self.order.push(to),
            _ => {}
        }
    }

    fn rank(&self, place: Place) -> Option<usize> {
        self.order.iter().position(|&other| other == place)
    }
}
