//! Counters of each link: in an ns-2 trace a link between two nodes, in a capture the hop from one interface to the next.

use std::collections::BTreeMap;

use ecnlab_units::Span;
use ecnlab_units::histogram::Histogram;
use ecnlab_wire::Location;

/// Links with rows; events at further links are not counted.
const MAX_LINKS: usize = 4096;

/// A link, or the hop from one interface of a capture to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hop {
    pub from: Location,
    pub to: Location,
}

impl Hop {
    pub fn from_link(location: Location) -> Hop {
        Hop { from: location, to: location }
    }
}

/// Counters of a link over the measured interval.
#[derive(Clone, Debug)]
pub struct LinkCounters {
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
pub struct LinkTable {
    index: BTreeMap<Hop, u32>,
    links: Vec<LinkCounters>,
}

impl LinkTable {
    /// The index of a link, which is added if it is new; `None` if there are too many.
    pub fn link_index(&mut self, hop: Hop) -> Option<u32> {
        if let Some(&number) = self.index.get(&hop) {
            return Some(number);
        }
        let number = self.links.len();
        (number < MAX_LINKS).then(|| {
            self.index.insert(hop, number as u32);
            self.links.push(LinkCounters { hop, arrivals: 0, departures: 0, bytes: 0, marks: 0, drops: 0, sojourn: Histogram::default() });
            number as u32
        })
    }

    /// Updates the counters of a link.
    pub fn update(&mut self, number: Option<u32>, update_counters: impl FnOnce(&mut LinkCounters)) {
        if let Some(link) = number.and_then(|number| self.links.get_mut(number as usize)) {
            update_counters(link);
        }
    }

    pub fn as_slice(&self) -> &[LinkCounters] {
        &self.links
    }
}

impl LinkCounters {
    pub fn on_departure(&mut self, size: u32, sojourn: Option<Span>) {
        self.departures += 1;
        self.bytes += u64::from(size);
        if let Some(sojourn) = sojourn {
            self.sojourn.record(sojourn);
        }
    }

    /// Sort key for the bottleneck, which has the largest: marks and drops, then the total sojourn time.
    pub fn signal_rank(&self) -> (u64, u64) {
        let total_sojourn_ns = self.sojourn.mean_s() * self.sojourn.count() as f64 * 1e9;
        (self.marks + self.drops, if total_sojourn_ns > 0.0 { total_sojourn_ns as u64 } else { 0 })
    }
}
