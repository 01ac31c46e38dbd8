//! When a driver has to look next: not at each event of the network, only when something may come out of it.
//!
//! A packet on the wire of a link comes out no earlier than at the end of the wire and after the delays of all links behind it:
//!
//! ```text
//! tail(link)  = the least sum of delays of the links behind it, over all routes that lead over it
//! next        = min( due(first packet on the wire) + tail(link)       over all links,
//!                    next event + delay(link) + tail(link)            over links before which packets wait that are on no wire yet,
//!                    what applications do by themselves, starts of flows )
//! ```
//!
//! That is a bound from below, near enough that over links in a row most looks find a packet that has arrived.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ecnlab_units::{Span, Time};

use super::{END_OF_ROUTE, Simulation};
use crate::probe::Probe;

/// With more links than this it takes less time to look at each event.
const MAX_LOOKAHEAD_LINKS: usize = 512;

/// Lower bounds of the time until an output of the simulation.
#[derive(Default)]
pub struct OutputLookahead {
    /// Of each link.
    delays_behind_links: Vec<Span>,
    /// From the next event on, at least.
    min_delay_after_event: Span,
    /// How many links and hops there were when this was learnt; what a template makes anew changes neither.
    computed_for: (usize, usize),
    flow_starts: BinaryHeap<Reverse<Time>>,
}

impl OutputLookahead {
    /// Notes the time at which a flow begins by itself.
    pub fn push_flow_start_time(&mut self, at: Time) {
        self.flow_starts.push(Reverse(at));
    }
}

impl<P: Probe> Simulation<P> {
    /// A time before which nothing is told by [`Simulation::outputs`] but losses and copies, if nothing is injected and nothing told until
    /// then; `None` if nothing is bound to happen. It is not over: at [`Simulation::next_deadline`] or later.
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
        let delays: Vec<Span> = (0..self.links.len()).map(|link| self.min_link_delay(link)).collect();
        let mut tails = vec![None; self.links.len()];
        for route in self.route_hops.split(|&hop| hop == END_OF_ROUTE) {
            route.iter().rev().fold(Span::ZERO, |behind, &link| {
                let link = link as usize;
                tails[link] = Some(tails[link].map_or(behind, |tail: Span| tail.min(behind)));
                behind + delays[link]
            });
        }
        // Before a pipe without impairments nothing waits that is on no wire.
        let may_queue = |link: usize| !self.links[link].has_plain_pipe();
        let least = (0..tails.len()).filter(|&link| may_queue(link)).filter_map(|link| Some(tails[link]? + delays[link])).min();
        self.lookahead.min_delay_after_event = least.unwrap_or(Span::from_picos(u64::MAX));
        // What is on no route has no packets.
        self.lookahead.delays_behind_links = tails.into_iter().map(|tail| tail.unwrap_or(Span::ZERO)).collect();
        self.lookahead.computed_for = (self.links.len(), self.route_hops.len());
    }

    /// The least delay that a link has now or will have.
    fn min_link_delay(&self, at: usize) -> Span {
        let link = &self.links[at];
        self.changes_of_link(link.queue).filter_map(|change| change.delay).fold(link.delay(), Span::min)
    }
}
