//! First and last place of one direction in a file, and the order of the places between.
//!
//! An ns-2 trace of all links shows both ends: packets are sent where they enter a link of their source's node, and arrive where a link
//! ends at their destination's. A trace of some links, or a capture, shows a part of the path: its first place represents the source and
//! its last for the sink.

use ecnlab_wire::{Address, Event, Place, What};

/// The first and the last place of a direction.
#[derive(Clone, Debug, Default)]
pub struct ObservedPath {
    first: Option<Place>,
    last: Option<Place>,
    /// Interfaces of a capture in the order in which packets pass them, as far as it is known.
    order: Vec<Place>,
    /// The last place is the destination itself.
    reaches_destination: bool,
    /// Arrivals at a last place that is not known to be the destination.
    arrivals_at_last: u32,
}

/// Arrivals at a place after which it is the last that the file shows.
const SETTLED_AFTER_ARRIVALS: u32 = 1024;

/// Interfaces of one path whose order is kept.
const MAX_PLACES: usize = 64;

/// Meaning of an event for the two ends of a direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndpointEvents {
    /// The packet leaves its source.
    pub is_sent: bool,
    /// The packet arrives at its sink.
    pub is_received: bool,
    /// The last place is farther than assumed: earlier arrivals were not at the sink.
    pub has_sink_moved: bool,
}

impl ObservedPath {
    /// Whether both ends are in the file.
    pub fn has_both_ends(&self) -> bool {
        self.reaches_destination || self.first != self.last
    }

    /// Whether the last place will not change any more.
    pub fn is_sink_certain(&self) -> bool {
        self.reaches_destination || self.arrivals_at_last >= SETTLED_AFTER_ARRIVALS
    }

    /// The next place of packets from an interface; the last place if that is not known, and none from there.
    pub fn next_hop(&self, from: Place) -> Option<Place> {
        let known = self.position_of(from).and_then(|at| self.order.get(at + 1)).copied();
        self.last.filter(|&last| last != from).map(|last| known.unwrap_or(last))
    }

    pub fn last(&self) -> Option<Place> {
        self.last
    }

    /// Whether a place is the last and not the first.
    pub fn is_sink_place(&self, place: Place) -> bool {
        self.has_both_ends() && self.last == Some(place)
    }

    /// Whether a packet that was seen at one interface may be the one that is seen at another, which is then not known to lie before.
    pub fn may_precede(&self, from: Place, to: Place) -> bool {
        match (self.position_of(from), self.position_of(to)) {
            (Some(before), Some(after)) => before < after,
            _ => from != to,
        }
    }

    /// Processes an event; `from` is the place at which its packet was seen before, if it was.
    pub fn on_event(&mut self, event: &Event, from: Option<Place>) -> EndpointEvents {
        match event.what {
            What::Enqueued => EndpointEvents { is_sent: self.on_enqueued(event), ..EndpointEvents::default() },
            What::Received => self.on_received(event),
            What::Seen => self.on_captured(event.place, from),
            What::Dequeued | What::Dropped => EndpointEvents::default(),
        }
    }

    fn on_enqueued(&mut self, event: &Event) -> bool {
        let is_at_source = matches!(event.place, Place::Link { from, .. } if event.packet.source.address == Address::Node(from));
        if is_at_source {
            self.first = Some(event.place);
        }
        *self.first.get_or_insert(event.place) == event.place
    }

    fn on_received(&mut self, event: &Event) -> EndpointEvents {
        let Place::Link { from, to } = event.place else { return EndpointEvents::default() };
        let is_at_sink = event.packet.destination.address == Address::Node(to);
        let continues_last = matches!(self.last, Some(Place::Link { to: end, .. }) if end == from);
        if !self.reaches_destination && (is_at_sink || continues_last) {
            let has_sink_moved = self.last.is_some_and(|last| last != event.place);
            (self.last, self.reaches_destination) = (Some(event.place), is_at_sink);
            return EndpointEvents { is_received: true, has_sink_moved, is_sent: false };
        }
        let is_received = is_at_sink || (!self.reaches_destination && *self.last.get_or_insert(event.place) == event.place);
        self.arrivals_at_last += u32::from(is_received && !self.is_sink_certain());
        EndpointEvents { is_received, ..EndpointEvents::default() }
    }

    fn on_captured(&mut self, place: Place, from: Option<Place>) -> EndpointEvents {
        let last = *self.last.get_or_insert(place);
        let first = *self.first.get_or_insert(place);
        self.arrivals_at_last += u32::from(last == place && !self.is_sink_certain());
        let Some(from) = from else {
            // A packet that is new between the ends, or beyond, was forgotten too early.
            if place != first && place != last {
                self.arrivals_at_last = 0;
            }
            return EndpointEvents { is_sent: true, is_received: last == place, has_sink_moved: false };
        };
        self.learn_order(from, place);
        let has_sink_moved = from == last && place != last;
        if has_sink_moved {
            (self.last, self.arrivals_at_last) = (Some(place), 0);
        }
        EndpointEvents { is_sent: false, is_received: has_sink_moved || last == place, has_sink_moved }
    }

    /// A packet has come from one interface to another. Where it was not seen at one between them, that says nothing about one beyond.
    fn learn_order(&mut self, from: Place, to: Place) {
        let count = self.order.len();
        if count + 2 > MAX_PLACES {
            return;
        }
        match (self.position_of(from), self.position_of(to)) {
            (None, None) if count == 0 => self.order.extend([from, to]),
            (None, Some(at)) => self.order.insert(at, from),
            (Some(at), None) if at + 1 == count => self.order.push(to),
            _ => {}
        }
    }

    fn position_of(&self, place: Place) -> Option<usize> {
        self.order.iter().position(|&other| other == place)
    }
}
