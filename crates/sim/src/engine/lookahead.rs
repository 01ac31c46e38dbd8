//! Lookahead: the next time at which the driver must poll. That is not each event, only those that may produce an output.
//!
//! A packet on the wire of a link leaves the network no earlier than its arrival plus the delays of all links behind:
//!
//! ```text
//! tail(link)  = the least sum of delays of the links behind it, over all routes that lead over it
//! next        = min( due(first packet on the wire) + tail(link)       over all links,
//!                    next event + delay(link) + tail(link)            over links before which packets wait that are on no wire yet,
//!                    what applications do by themselves, starts of flows )
//! ```
//!
//! This lower bound is tight enough that, over several links in a row, most polls find an arrived packet.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ecnlab_units::{Span, Time};

use super::{END_OF_ROUTE, Simulation};
use crate::link::Link;
use crate::probe::Probe;

/// With more links than this, polling at each event is faster.
const MAX_LOOKAHEAD_LINKS: usize = 512;

/// Lower bounds of the time until an output of the simulation.
#[derive(Default)]
pub struct OutputLookahead {
    /// Lower bound for each link.
    delays_behind_links: Vec<Span>,
    /// Minimum delay from the next event to an output.
    min_delay_after_event: Span,
    /// Number of links and hops for which the bounds were computed; links and flows added from a template change neither.
    computed_for: (usize, usize),
    flow_starts: BinaryHeap<Reverse<Time>>,
}

impl OutputLookahead {
    /// Adds the start time of a flow that starts without an application.
    pub fn push_flow_start_time(&mut self, at: Time) {
        self.flow_starts.push(Reverse(at));
    }
}

impl<P: Probe> Simulation<P> {
    /// A time before which [`Simulation::drain_outputs`] returns only losses and copies, if nothing is injected and no host input applied
    /// until then; `None` if no event is scheduled. It is never before [`Simulation::next_event_time`].
    pub fn next_output_time(&mut self) -> Option<Time> {
        let next = self.calendar.earliest_deadline()?;
        if self.links.len() > MAX_LOOKAHEAD_LINKS || self.apps.iter().any(|app| app.can_add_members()) {
            return Some(next);
        }
        if self.lookahead.computed_for != (self.links.len(), self.route_hops.len()) {
            self.compute_lookahead();
        }
        while self.lookahead.flow_starts.peek().is_some_and(|Reverse(start)| *start <= self.now) {
            self.lookahead.flow_starts.pop();
        }
        let wires = self
            .links
            .iter()
            .zip(&self.lookahead.delays_behind_links)
            .filter_map(|(link, tail)| Some(link.next_arrival(&self.packets)? + *tail));
        let apps = self.apps.iter().filter_map(|app| app.next_deadline());
        let starts = self.lookahead.flow_starts.peek().map(|Reverse(start)| *start);
        let first = wires.chain(apps).chain(starts).fold(next + self.lookahead.min_delay_after_event, Time::min);
        Some(first.max(next))
    }

    fn compute_lookahead(&mut self) {
        let delays: Vec<Span> = self.links.iter().map(|link| self.min_delay_over_link_changes(link)).collect();
        let mut tails = vec![None; self.links.len()];
        for route in self.route_hops.split(|&hop| hop == END_OF_ROUTE) {
            route.iter().rev().fold(Span::ZERO, |behind, &link| {
                let link = link as usize;
                tails[link] = Some(tails[link].map_or(behind, |tail: Span| tail.min(behind)));
                behind + delays[link]
            });
        }
        // A pipe without impairments has no waiting packets whose arrival is unknown.
        let queues = self.links.iter().zip(&tails).zip(&delays).filter(|((link, _), _)| !link.has_plain_pipe());
        let least = queues.filter_map(|((_, tail), &delay)| Some((*tail)? + delay)).min();
        self.lookahead.min_delay_after_event = least.unwrap_or(Span::from_picos(u64::MAX));
        // Links on no route have no packets.
        self.lookahead.delays_behind_links = tails.into_iter().map(|tail| tail.unwrap_or(Span::ZERO)).collect();
        self.lookahead.computed_for = (self.links.len(), self.route_hops.len());
    }

    /// Minimum delay of a link, now or after its pending changes.
    fn min_delay_over_link_changes(&self, link: &Link) -> Span {
        self.changes_of_link(link.queue).filter_map(|change| change.delay).fold(link.delay(), Span::min)
    }
}
