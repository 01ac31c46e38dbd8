//! First and last place of one direction in a file, and the order of the places between.
//!
//! An ns-2 trace of all links shows both ends: packets are sent where they enter a link of their source's node, and arrive where a link
//! ends at their destination's. A trace of some links, or a capture, shows a part of the path: its first place represents the source and
//! its last for the sink.

use ecnlab_wire::{Address, Location, TraceEvent, TraceEventKind};

/// The first and the last place of a direction.
#[derive(Clone, Debug, Default)]
pub struct ObservationPoints {
    first: Option<Location>,
    last: Option<Location>,
    /// Interfaces of a capture in the order in which packets pass them, as far as it is known.
    order: Vec<Location>,
    /// The last place is the destination itself.
    reaches_destination: bool,
    /// Arrivals at a last place that is not known to be the destination.
    arrivals_at_last: u32,
}

/// Arrivals at a place after which it is the last that the file shows.
const SETTLED_AFTER_ARRIVALS: u32 = 1024;

/// Interfaces of one path whose order is kept.
const MAX_ORDERED_LOCATIONS: usize = 64;

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

impl ObservationPoints {
    /// Whether both ends are in the file.
    pub fn has_both_ends(&self) -> bool {
        self.reaches_destination || self.first != self.last
    }

    /// Whether the last place will not change any more.
    pub fn is_sink_certain(&self) -> bool {
        self.reaches_destination || self.arrivals_at_last >= SETTLED_AFTER_ARRIVALS
    }

    /// The next place of packets from an interface; the last place if that is not known, and none from there.
    pub fn next_location(&self, from: Location) -> Option<Location> {
        let known = self.position_of(from).and_then(|at| self.order.get(at + 1)).copied();
        self.last.filter(|&last| last != from).map(|last| known.unwrap_or(last))
    }

    pub fn last(&self) -> Option<Location> {
        self.last
    }

    /// Whether a place is the last and not the first.
    pub fn is_sink_place(&self, location: Location) -> bool {
        self.has_both_ends() && self.last == Some(location)
    }

    /// Whether a packet that was seen at one interface may be the one that is seen at another, which is then not known to lie before.
    pub fn may_precede(&self, from: Location, to: Location) -> bool {
        match (self.position_of(from), self.position_of(to)) {
            (Some(before), Some(after)) => before < after,
            _ => from != to,
        }
    }

    /// Processes an event; `from` is the place at which its packet was seen before, if it was.
    pub fn on_event(&mut self, event: &TraceEvent, from: Option<Location>) -> EndpointEvents {
        match event.kind {
            TraceEventKind::Enqueued => self.classify_enqueued_event(event),
            TraceEventKind::Received => self.classify_received_event(event),
            TraceEventKind::Captured => self.classify_captured_event(event.location, from),
            TraceEventKind::Dequeued | TraceEventKind::Dropped => EndpointEvents::default(),
        }
    }

    /// Whether an enqueue event is the one at the source.
    fn classify_enqueued_event(&mut self, event: &TraceEvent) -> EndpointEvents {
        let is_at_source = matches!(event.location, Location::Link { from, .. } if event.packet.source.address == Address::Node(from));
        if is_at_source {
            self.first = Some(event.location);
        }
        EndpointEvents { is_sent: *self.first.get_or_insert(event.location) == event.location, ..EndpointEvents::default() }
    }

    /// Whether a receive event is the one at the sink, and whether the sink has moved.
    fn classify_received_event(&mut self, event: &TraceEvent) -> EndpointEvents {
        let Location::Link { from, to } = event.location else { return EndpointEvents::default() };
        let is_at_sink = event.packet.destination.address == Address::Node(to);
        let continues_last = matches!(self.last, Some(Location::Link { to: end, .. }) if end == from);
        if !self.reaches_destination && (is_at_sink || continues_last) {
            let has_sink_moved = self.last.is_some_and(|last| last != event.location);
            (self.last, self.reaches_destination) = (Some(event.location), is_at_sink);
            return EndpointEvents { is_received: true, has_sink_moved, is_sent: false };
        }
        let is_received = is_at_sink || (!self.reaches_destination && *self.last.get_or_insert(event.location) == event.location);
        self.arrivals_at_last += u32::from(is_received && !self.is_sink_certain());
        EndpointEvents { is_received, ..EndpointEvents::default() }
    }

    /// Whether a captured packet is sent or received where it is captured, and whether the sink has moved.
    fn classify_captured_event(&mut self, location: Location, from: Option<Location>) -> EndpointEvents {
        let last = *self.last.get_or_insert(location);
        let first = *self.first.get_or_insert(location);
        self.arrivals_at_last += u32::from(last == location && !self.is_sink_certain());
        let Some(from) = from else {
            // A packet that is new between the ends, or beyond, was forgotten too early.
            if location != first && location != last {
                self.arrivals_at_last = 0;
            }
            return EndpointEvents { is_sent: true, is_received: last == location, has_sink_moved: false };
        };
        self.record_order(from, location);
        let has_sink_moved = from == last && location != last;
        if has_sink_moved {
            (self.last, self.arrivals_at_last) = (Some(location), 0);
        }
        EndpointEvents { is_sent: false, is_received: has_sink_moved || last == location, has_sink_moved }
    }

    /// Learns from a packet that passed two interfaces in this order. If an interface between them missed it, nothing is learned about one
    /// beyond.
    fn record_order(&mut self, from: Location, to: Location) {
        let count = self.order.len();
        if count + 2 > MAX_ORDERED_LOCATIONS {
            return;
        }
        match (self.position_of(from), self.position_of(to)) {
            (None, None) if count == 0 => self.order.extend([from, to]),
            (None, Some(at)) => self.order.insert(at, from),
            (Some(at), None) if at + 1 == count => self.order.push(to),
            _ => {}
        }
    }

    fn position_of(&self, location: Location) -> Option<usize> {
        self.order.iter().position(|&other| other == location)
    }
}
