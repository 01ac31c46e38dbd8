//! The tables of a trace that has been read.

use std::collections::BTreeMap;
use std::sync::Arc;

use ecnlab_units::Time;
use ecnlab_units::column_groups::TimeMeanAndPercentiles;
use ecnlab_wire::{End, Location};

use super::{Analysis, ReadCounts, TraceReport};
use crate::columns::{
    BINS, EVENTS, EndAndLinkNames, EventRow, FLOW_BINS, FLOWS, LINKS, LOCKOUTS, LinkRow, REACTIONS, SEQUENCE, SharedFlowAndTotalValues,
    TOTAL, TotalRow,
};
use crate::links::{Hop, LinkCounters};

/// The names of sources and sinks.
#[derive(Debug, Default)]
struct AddressNames {
    index: BTreeMap<End, u32>,
    names: Vec<Arc<str>>,
}

impl AddressNames {
    fn index_of(&mut self, end: End) -> u32 {
        *self.index.entry(end).or_insert_with(|| {
            self.names.push(end.to_string().into());
            (self.names.len() - 1) as u32
        })
    }
}

/// Builds all tables. The measured interval ends at `to`, the file at `last`.
pub fn build_report(analysis: Analysis, to: Time, last: Time) -> TraceReport {
    let Analysis { context, links, mut rows, total, candidates, interfaces, counts, .. } = analysis;
    let unranked_connections = candidates.left_out;
    let competing = candidates.into_competing(context.from, to);
    let seconds = to.since(context.from).seconds();
    let mut ends = AddressNames::default();
    rows.iter_mut().for_each(|row| row.end_names = row.ends.map(|end| ends.index_of(end)));
    let names = EndAndLinkNames {
        ends: ends.names.into(),
        links: links.as_slice().iter().map(|link| Arc::from(hop_name(link.hop, &interfaces))).collect(),
    };
    rows.sort_by_key(|row| row.flow);
    rows.iter_mut().for_each(|row| row.common.seconds = seconds);
    rows.iter_mut().for_each(|row| row.competes = competing.flows.binary_search(&row.flow).is_ok());
    let total_row = TotalRow {
        flows: total.flows,
        competing_flows: competing.flows.len() as u64,
        jain: competing.jain,
        jain_bins: if competing.flows.len() < 2 { [f64::NAN; 3] } else { context.bins.mean_jain_indices() },
        locked_out_flows: total.locked_out_flows,
        common: SharedFlowAndTotalValues {
            seconds,
            counters: total.counters,
            rtt: TimeMeanAndPercentiles::from(&context.overall.rtt),
            delay: TimeMeanAndPercentiles::from(&context.overall.delay),
        },
    };
    let rows_left_out = context.output.rows_left_out + context.bins.rows_left_out;
    let mut events: Vec<EventRow> = context.output.events;
    events.sort_by(|one, other| one.time_s.total_cmp(&other.time_s));
    TraceReport {
        tables: vec![
            (FLOWS.name, FLOWS.build_table_from_rows(&names, rows)),
            (TOTAL.name, TOTAL.build_table_from_rows(&names, [total_row])),
            (LINKS.name, LINKS.build_table_from_rows(&names, link_rows(links.as_slice(), seconds))),
            (BINS.name, BINS.build_table_from_rows(&names, context.bins.rows)),
            (FLOW_BINS.name, FLOW_BINS.build_table_from_rows(&names, context.bins.flow_rows)),
            (REACTIONS.name, REACTIONS.build_table_from_rows(&names, context.output.reactions)),
            (EVENTS.name, EVENTS.build_table_from_rows(&names, events)),
            (LOCKOUTS.name, LOCKOUTS.build_table_from_rows(&names, context.output.lockouts)),
            (SEQUENCE.name, SEQUENCE.build_table_from_rows(&names, context.output.points)),
        ],
        counts: ReadCounts { unranked_connections, rows_left_out, untracked_packets: context.memory.refused_reservations(), ..counts },
        from_s: context.from.seconds(),
        to_s: to.seconds(),
        last_s: last.seconds(),
    }
}

/// The links, the one with most marks and drops first.
fn link_rows(links: &[LinkCounters], seconds: f64) -> Vec<LinkRow> {
    let mut order: Vec<(u32, &LinkCounters)> = (0..).zip(links).collect();
    order.sort_by_key(|(_, link)| std::cmp::Reverse(link.signal_rank()));
    let row = |(number, link): (u32, &LinkCounters)| LinkRow {
        link: number,
        arrivals: link.arrivals,
        departures: link.departures,
        marks: link.marks,
        drops: link.drops,
        throughput_bps: link.bytes as f64 * 8.0 / seconds,
        sojourn: TimeMeanAndPercentiles::from(&link.sojourn),
    };
    order.into_iter().map(row).collect()
}

/// `1 > 2` between nodes; of two interfaces their names, or the name of the queue between them.
fn hop_name(hop: Hop, interfaces: &[String]) -> String {
    let name_of = |location: Location| match location {
        Location::Interface(number) => interfaces.get(number as usize).filter(|name| !name.is_empty()).cloned(),
        Location::Link { .. } => None,
    };
    match (hop.from, hop.to) {
        (Location::Link { from, to }, _) => format!("{from} > {to}"),
        (Location::Interface(from), Location::Interface(to)) => match (name_of(hop.from), name_of(hop.to)) {
            (Some(before), Some(after)) => queue_name_between_interfaces(&before, &after).unwrap_or_else(|| format!("{before} > {after}")),
            _ => format!("interface {from} > interface {to}"),
        },
        (Location::Interface(_), Location::Link { .. }) => String::new(),
    }
}

/// The name of the queue that one interface is before and the other after.
fn queue_name_between_interfaces(before: &str, after: &str) -> Option<String> {
    let name = before.strip_prefix("before ")?;
    (after.strip_prefix("after ")? == name).then(|| name.to_owned())
}
