//! The tables of a trace that has been read.

use std::collections::BTreeMap;
use std::sync::Arc;

use ecnlab_units::Time;
use ecnlab_units::column_groups::TimeStats;
use ecnlab_wire::{End, Place};

use super::{Analysis, Counts, Told};
use crate::columns::{
    BINS, Common, EVENTS_TABLE, EventRow, FLOW_BINS, FLOWS, LINKS, LOCKOUTS, LinkRow, REACTIONS, SEQUENCE, TOTAL, TotalRow, TraceNames,
};
use crate::links::{Hop, Link};

/// The names of sources and sinks, by their places.
#[derive(Debug, Default)]
struct Ends {
    index: BTreeMap<End, u32>,
    names: Vec<Arc<str>>,
}

impl Ends {
    fn place(&mut self, end: End) -> u32 {
        *self.index.entry(end).or_insert_with(|| {
            self.names.push(end.to_string().into());
            (self.names.len() - 1) as u32
        })
    }
}

/// Makes all tables. The measured interval ends at `to`, the file at `last`.
pub fn told(analysis: Analysis, to: Time, last: Time) -> Told {
    let Analysis { desk, links, mut rows, total, candidates, interfaces, counts, .. } = analysis;
    let unranked = candidates.left_out;
    let competing = candidates.competing(desk.from, to);
    let seconds = to.since(desk.from).seconds();
    let mut ends = Ends::default();
    rows.iter_mut().for_each(|row| row.names = row.ends.map(|end| ends.place(end)));
    let names =
        TraceNames { ends: ends.names.into(), links: links.all().iter().map(|link| Arc::from(name(link.hop, &interfaces))).collect() };
    rows.sort_by_key(|row| row.flow);
    rows.iter_mut().for_each(|row| row.common.seconds = seconds);
    rows.iter_mut().for_each(|row| row.competes = competing.flows.binary_search(&row.flow).is_ok());
    let whole = TotalRow {
        flows: total.flows,
        competing_flows: competing.flows.len() as u64,
        jain: competing.jain,
        jain_bins: if competing.flows.len() < 2 { [f64::NAN; 3] } else { desk.bins.fairness() },
        locked_out_flows: total.locked_out_flows,
        common: Common { seconds, kept: total.kept, rtt: TimeStats::from(&desk.whole.rtt), delay: TimeStats::from(&desk.whole.delay) },
    };
    let left_out = desk.found.left_out + desk.bins.left_out;
    let mut events: Vec<EventRow> = desk.found.events;
    events.sort_by(|one, other| one.time_s.total_cmp(&other.time_s));
    Told {
        tables: vec![
            (FLOWS.name, FLOWS.fill(&names, rows)),
            (TOTAL.name, TOTAL.fill(&names, [whole])),
            (LINKS.name, LINKS.fill(&names, link_rows(links.all(), seconds))),
            (BINS.name, BINS.fill(&names, desk.bins.rows)),
            (FLOW_BINS.name, FLOW_BINS.fill(&names, desk.bins.flow_rows)),
            (REACTIONS.name, REACTIONS.fill(&names, desk.found.reactions)),
            (EVENTS_TABLE.name, EVENTS_TABLE.fill(&names, events)),
            (LOCKOUTS.name, LOCKOUTS.fill(&names, desk.found.lockouts)),
            (SEQUENCE.name, SEQUENCE.fill(&names, desk.found.points)),
        ],
        counts: Counts { unranked, left_out, unfollowed: desk.room.refused(), ..counts },
        from_s: desk.from.seconds(),
        to_s: to.seconds(),
        last_s: last.seconds(),
    }
}

/// The links, the one that signalled most first.
fn link_rows(links: &[Link], seconds: f64) -> Vec<LinkRow> {
    let mut order: Vec<(u32, &Link)> = (0..).zip(links).collect();
    order.sort_by_key(|(_, link)| std::cmp::Reverse(link.signals()));
    let row = |(number, link): (u32, &Link)| LinkRow {
        link: number,
        arrivals: link.arrivals,
        departures: link.departures,
        marks: link.marks,
        drops: link.drops,
        throughput_bps: link.bytes as f64 * 8.0 / seconds,
        sojourn: TimeStats::from(&link.sojourn),
    };
    order.into_iter().map(row).collect()
}

/// `1 > 2` between nodes; of two interfaces their names, or the queue's that they stand before and after.
fn name(hop: Hop, interfaces: &[String]) -> String {
    let named = |place: Place| match place {
        Place::Interface(number) => interfaces.get(number as usize).filter(|name| !name.is_empty()).cloned(),
        Place::Link { .. } => None,
    };
    match (hop.from, hop.to) {
        (Place::Link { from, to }, _) => format!("{from} > {to}"),
        (Place::Interface(from), Place::Interface(to)) => match (named(hop.from), named(hop.to)) {
            (Some(before), Some(after)) => queue(&before, &after).unwrap_or_else(|| format!("{before} > {after}")),
            _ => format!("interface {from} > interface {to}"),
        },
        (Place::Interface(_), Place::Link { .. }) => String::new(),
    }
}

/// The queue that one interface stands before and the other after.
fn queue(before: &str, after: &str) -> Option<String> {
    let name = before.strip_prefix("before ")?;
    (after.strip_prefix("after ")? == name).then(|| name.to_owned())
}
