//! What happened at each link: of an ns-2 trace a link between two nodes, of a capture the way from one interface to the next.

use std::collections::BTreeMap;

use ecnlab_units::Span;
use ecnlab_units::histogram::Histogram;
use ecnlab_wire::Place;

/// Links that have rows of their own; what happens at others is counted at none.
const MOST: usize = 4096;

/// Where a packet waits: a link, or the way from one interface to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hop {
    pub from: Place,
    pub to: Place,
}

impl Hop {
    pub fn link(place: Place) -> Hop {
        Hop { from: place, to: place }
    }
}

/// What a link has counted over the measured interval.
#[derive(Clone, Debug)]
pub struct Link {
    pub hop: Hop,
    pub arrivals: u64,
    pub departures: u64,
    /// Bytes that departed.
    pub bytes: u64,
    pub marks: u64,
    pub drops: u64,
    pub sojourn: Histogram<8>,
}

#[derive(Clone, Debug, Default)]
pub struct Links {
    index: BTreeMap<Hop, u32>,
    links: Vec<Link>,
}

impl Links {
    /// The number of a link, new or known; `None` if there are too many.
    pub fn number(&mut self, hop: Hop) -> Option<u32> {
        if let Some(&number) = self.index.get(&hop) {
            return Some(number);
        }
        let number = self.links.len();
        (number < MOST).then(|| {
            self.index.insert(hop, number as u32);
            self.links.push(Link { hop, arrivals: 0, departures: 0, bytes: 0, marks: 0, drops: 0, sojourn: Histogram::default() });
            number as u32
        })
    }

    /// Counts something at a link.
    pub fn count(&mut self, number: Option<u32>, count: impl FnOnce(&mut Link)) {
        if let Some(link) = number.and_then(|number| self.links.get_mut(number as usize)) {
            count(link);
        }
    }

    pub fn all(&self) -> &[Link] {
        &self.links
    }
}

impl Link {
    pub fn departed(&mut self, size: u32, sojourn: Option<Span>) {
        self.departures += 1;
        self.bytes += u64::from(size);
        if let Some(sojourn) = sojourn {
            self.sojourn.record(sojourn);
        }
    }

    /// How much it signalled: what it marked or dropped, then how long packets waited. The bottleneck is the link with the most.
    pub fn signals(&self) -> (u64, u64) {
        let waited_ns = self.sojourn.mean_s() * self.sojourn.count() as f64 * 1e9;
        (self.marks + self.drops, if waited_ns > 0.0 { waited_ns as u64 } else { 0 })
    }
}
