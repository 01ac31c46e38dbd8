//! Measures at the ends of a path of which a trace shows every link.

use ecnlab_trace::{Analysis, Options, TraceReport};
use ecnlab_units::table::Column;
use ecnlab_units::{Ecn, Span, Time};
use ecnlab_wire::{Address, End, Flags, Kind, Location, Packet, Tcp, TraceEvent, TraceEventKind, Truncation};

/// Delay of a link.
const LINK_MS: u64 = 10;

/// Events of a packet that crosses the links between these nodes, from a time on.
fn path_events(kind: Kind, number: u32, nodes: &[u32], begin_ms: u64) -> Vec<TraceEvent> {
    let end = |node| End { address: Address::Node(node), port: 0 };
    let tcp = match kind {
        Kind::Data => Tcp { seq: number, ..Tcp::default() },
        _ => Tcp { ack: number + 1, flags: Flags::ACK, ..Tcp::default() },
    };
    let packet = Packet {
        kind,
        source: end(nodes[0]),
        destination: end(nodes[nodes.len() - 1]),
        flow: Some(1),
        id: Some(u64::from(number) * 2 + u64::from(kind == Kind::Ack)),
        size: 1000,
        payload: 1000,
        ecn: Ecn::NotEct,
        tcp,
        truncation: Truncation::Complete,
    };
    let at =
        |ms, kind, from, to| TraceEvent { time: Time::ZERO + Span::from_millis(ms), kind, location: Location::Link { from, to }, packet };
    (begin_ms..)
        .step_by(LINK_MS as usize)
        .zip(nodes.windows(2))
        .flat_map(|(ms, pair)| {
            [at(ms, TraceEventKind::Enqueued, pair[0], pair[1]), at(ms + LINK_MS, TraceEventKind::Received, pair[0], pair[1])]
        })
        .collect()
}

/// Packets that leave the source at these times, each with its acknowledgement.
fn analyze_round_trips(starts_ms: &[u64], nodes: &[u32]) -> TraceReport {
    analyze(round_trip_events(starts_ms, nodes))
}

fn round_trip_events(starts_ms: &[u64], nodes: &[u32]) -> Vec<TraceEvent> {
    let back: Vec<u32> = nodes.iter().rev().copied().collect();
    let one_way_ms = LINK_MS * (nodes.len() as u64 - 1);
    let mut events = Vec::new();
    for (number, &start) in (0..).zip(starts_ms) {
        events.extend(path_events(Kind::Data, number, nodes, start));
        events.extend(path_events(Kind::Ack, number, &back, start + one_way_ms));
    }
    events
}

fn analyze(mut events: Vec<TraceEvent>) -> TraceReport {
    events.sort_by_key(|event| event.time);
    let mut analysis = Analysis::new(Options::default(), false);
    events.iter().for_each(|event| analysis.on_event(event));
    analysis.finish()
}

fn real_value(report: &TraceReport, table: &str, column: &str) -> f64 {
    let table = &report.tables.iter().find(|(name, _)| *name == table).unwrap().1;
    let Column::Real(values) = table.column(column) else { panic!("{column} is no real") };
    values[0]
}

#[test]
fn a_round_trip_ends_at_the_source_and_not_where_an_acknowledgement_is_seen_first() {
    for nodes in [&[0, 1][..], &[0, 1, 2], &[0, 1, 2, 3], &[0, 1, 2, 3, 4]] {
        let base_s = 2e-3 * LINK_MS as f64 * (nodes.len() - 1) as f64;
        // Several packets are in flight when the first acknowledgement shows the end of the path.
        for starts in [&[100][..], &[100, 101, 102, 103, 115, 300]] {
            let report = analyze_round_trips(starts, nodes);
            for (table, column) in [("flows", "rtt_min_s"), ("flows", "rtt_mean_s"), ("total", "rtt_mean_s")] {
                let measured = real_value(&report, table, column);
                assert!((measured - base_s).abs() < 1e-9, "{nodes:?} {starts:?} {table} {column}: {measured}, not {base_s}");
            }
        }
    }
}

#[test]
fn a_flow_that_goes_on_without_acknowledgements_is_counted() {
    let starts: Vec<u64> = (0..11).map(|packet| 100 * packet).collect();
    for (count, with_acks, expected) in [(11, true, 0), (10, false, 0), (11, false, 1)] {
        let mut events = round_trip_events(&starts[..count], &[0, 1, 2]);
        events.retain(|event| with_acks || event.packet.kind == Kind::Data);
        assert_eq!(expected, analyze(events).counts.unacknowledged_flows, "{count} {with_acks}");
    }
}
