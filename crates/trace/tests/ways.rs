//! What is measured at the ends of a way, of which a trace shows every link.

use ecnlab_trace::{Analysis, Options, Told};
use ecnlab_units::table::Column;
use ecnlab_units::{Ecn, Span, Time};
use ecnlab_wire::{Address, End, Event, Flags, Kind, Packet, Place, State, Tcp, What};

/// A link takes ten milliseconds.
const LINK_MS: u64 = 10;

/// A packet goes over the links between these nodes, from a time on.
fn way(kind: Kind, number: u32, nodes: &[u32], begin_ms: u64) -> Vec<Event> {
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
        state: State::Whole,
    };
    let at = |ms, what, from, to| Event { time: Time::ZERO + Span::from_millis(ms), what, place: Place::Link { from, to }, packet };
    (begin_ms..)
        .step_by(LINK_MS as usize)
        .zip(nodes.windows(2))
        .flat_map(|(ms, pair)| [at(ms, What::Enqueued, pair[0], pair[1]), at(ms + LINK_MS, What::Received, pair[0], pair[1])])
        .collect()
}

/// Packets that leave the source at these times, each with its acknowledgement.
fn read(starts_ms: &[u64], nodes: &[u32]) -> Told {
    analysed(there_and_back(starts_ms, nodes))
}

fn there_and_back(starts_ms: &[u64], nodes: &[u32]) -> Vec<Event> {
    let back: Vec<u32> = nodes.iter().rev().copied().collect();
    let there_ms = LINK_MS * (nodes.len() as u64 - 1);
    let mut events = Vec::new();
    for (number, &start) in (0..).zip(starts_ms) {
        events.extend(way(Kind::Data, number, nodes, start));
        events.extend(way(Kind::Ack, number, &back, start + there_ms));
    }
    events
}

fn analysed(mut events: Vec<Event>) -> Told {
    events.sort_by_key(|event| event.time);
    let mut analysis = Analysis::new(Options::default(), false);
    events.iter().for_each(|event| analysis.take(event));
    analysis.finish()
}

fn real(told: &Told, table: &str, column: &str) -> f64 {
    let table = &told.tables.iter().find(|(name, _)| *name == table).unwrap().1;
    let Column::Real(values) = table.column(column) else { panic!("{column} is no real") };
    values[0]
}

#[test]
fn a_round_trip_ends_at_the_source_and_not_where_an_acknowledgement_is_seen_first() {
    for nodes in [&[0, 1][..], &[0, 1, 2], &[0, 1, 2, 3], &[0, 1, 2, 3, 4]] {
        let base_s = 2e-3 * LINK_MS as f64 * (nodes.len() - 1) as f64;
        // Several are under way when the first acknowledgement shows where the way ends.
        for starts in [&[100][..], &[100, 101, 102, 103, 115, 300]] {
            let told = read(starts, nodes);
            for (table, column) in [("flows", "rtt_min_s"), ("flows", "rtt_mean_s"), ("total", "rtt_mean_s")] {
                let seen = real(&told, table, column);
                assert!((seen - base_s).abs() < 1e-9, "{nodes:?} {starts:?} {table} {column}: {seen}, not {base_s}");
            }
        }
    }
}

#[test]
fn a_flow_that_goes_on_without_acknowledgements_is_counted() {
    let starts: Vec<u64> = (0..11).map(|packet| 100 * packet).collect();
    for (count, with_acks, expected) in [(11, true, 0), (10, false, 0), (11, false, 1)] {
        let mut events = there_and_back(&starts[..count], &[0, 1, 2]);
        events.retain(|event| with_acks || event.packet.kind == Kind::Data);
        assert_eq!(expected, analysed(events).counts.unacknowledged, "{count} {with_acks}");
    }
}
