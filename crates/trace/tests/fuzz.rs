//! Reading of arbitrary events ends, with tables that agree with each other.

use ecnlab_trace::{Analysis, EcnCheck, Options, TraceReport};
use ecnlab_units::table::Column;
use ecnlab_units::{Ecn, Span, Time};
use ecnlab_wire::{Address, End, Flags, Kind, Location, Packet, SackBlocks, Tcp, Timestamps, TraceEvent, TraceEventKind, Truncation};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn end() -> impl Strategy<Value = End> {
    (0..4_u32, 0..3_u32).prop_map(|(node, port)| End { address: Address::Node(node), port })
}

fn host() -> impl Strategy<Value = End> {
    (0..3_u8, 0..3_u32).prop_map(|(host, port)| End { address: Address::V4([10, 0, 0, host].into()), port })
}

fn kind_and_place() -> impl Strategy<Value = (TraceEventKind, Location)> {
    let on_link = (0..4_usize, 0..4_u32, 0..4_u32).prop_map(|(what, from, to)| {
        (
            [TraceEventKind::Enqueued, TraceEventKind::Dequeued, TraceEventKind::Dropped, TraceEventKind::Received][what],
            Location::Link { from, to },
        )
    });
    prop_oneof![on_link, (0..3_u32).prop_map(|interface| (TraceEventKind::Captured, Location::Interface(interface)))]
}

/// Numbers that are near each other, near where they wrap, or anything.
fn seq_number() -> impl Strategy<Value = u32> {
    prop_oneof![0..40_u32, (u32::MAX - 20)..=u32::MAX, any::<u32>()]
}

fn tcp() -> impl Strategy<Value = Tcp> {
    let blocks = proptest::collection::vec((seq_number(), seq_number()), 0..5);
    let stamps = proptest::option::of((0..50_u32, 0..50_u32));
    (seq_number(), seq_number(), 0..0x200_u16, any::<u16>(), proptest::option::of(0..20_u8), stamps, blocks).prop_map(
        |(seq, ack, flags, window, window_scale, stamps, blocks)| {
            let mut sacks = SackBlocks::default();
            blocks.into_iter().for_each(|(from, to)| sacks.push(from, to));
            let timestamps = stamps.map(|(value, echo)| Timestamps { value, echo });
            Tcp { seq, ack, flags: Flags(flags), window, window_scale, timestamps, sacks, ..Tcp::default() }
        },
    )
}

fn packet() -> impl Strategy<Value = Packet> {
    let ends = prop_oneof![(end(), end()), (host(), host())];
    let kind = prop_oneof![4 => Just(Kind::Data), 4 => Just(Kind::Ack), 1 => Just(Kind::Datagram), 1 => Just(Kind::Other)];
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)];
    let truncation =
        prop_oneof![8 => Just(Truncation::Complete), 1 => Just(Truncation::Truncated), 1 => Just(Truncation::Fragment { is_first: false })];
    let sizes = prop_oneof![(Just(1000_u32), Just(960_u32)), (Just(1000_u32), Just(1000_u32)), any::<(u32, u32)>()];
    (kind, ends, proptest::option::of(0..60_u64), sizes, ecn, tcp(), truncation).prop_map(
        |(kind, (source, destination), id, sizes, ecn, tcp, truncation)| {
            let payload = if kind == Kind::Ack { 0 } else { sizes.1 };
            Packet { kind, source, destination, flow: None, id, size: sizes.0, payload, ecn, tcp, truncation }
        },
    )
}

fn events() -> impl Strategy<Value = Vec<TraceEvent>> {
    let pause = prop_oneof![20 => 0..50_000_000_000_u64, 1 => any::<u64>()];
    let event = (pause, kind_and_place(), packet());
    proptest::collection::vec(event, 1..400).prop_map(|events| {
        let mut now = 0_u64;
        let event = |(pause, (kind, location), packet): (u64, (TraceEventKind, Location), Packet)| {
            now = now.saturating_add(pause);
            TraceEvent { time: Time::from_picos(now), kind, location, packet }
        };
        events.into_iter().map(event).collect()
    })
}

fn analyze(events: &[TraceEvent], options: Options, interfaces: usize) -> TraceReport {
    let mut analysis = Analysis::new(options, false);
    analysis.set_interfaces((0..interfaces).map(|seq_number| format!("before {seq_number}")).collect());
    events.iter().for_each(|event| analysis.on_event(event));
    analysis.finish()
}

fn column_sum(report: &TraceReport, table: &str, column: &str) -> u64 {
    match report.tables.iter().find(|(name, _)| *name == table).unwrap().1.column(column) {
        Column::Count(values) => values.iter().sum(),
        other => panic!("{column} is {other:?}"),
    }
}

/// The same inputs in each run, unless PROPTEST_CASES or PROPTEST_RNG_SEED ask for others.
fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    let rng_seed = if config.rng_seed == RngSeed::Random { RngSeed::Fixed(1) } else { config.rng_seed };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { config.cases } else { 200 };
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..config }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_total_is_the_sum_of_the_flows(events in events(), interfaces in 0..3_usize) {
        let report = analyze(&events, Options { sequence_flows: vec![0, 1], header_bytes: 40, ..Options::default() }, interfaces);
        prop_assert_eq!(events.len() as u64, report.counts.events);
        for column in ["sent", "retransmitted_fast", "retransmitted_timeout", "drops", "marks", "ce", "lockouts"] {
            prop_assert_eq!(column_sum(&report, "flows", column), column_sum(&report, "total", column), "{}", column);
        }
    }

    #[test]
    fn counts_of_two_adjacent_intervals_sum_to_those_of_their_union(events in events(), interfaces in 0..3_usize, boundary in 0..20_u64) {
        let last = events.last().unwrap().time.since(Time::ZERO) + Span::from_picos(1);
        let boundary = Span::from_picos(last.picos() / 20 * boundary + 1).max(Span::from_picos(2));
        let part = |from: Span, to: Span| analyze(&events, Options { from: Some(from), to: Some(to), ..Options::default() }, interfaces);
        let (first, second, whole) = (part(Span::ZERO, boundary), part(boundary, last.max(boundary)), part(Span::ZERO, last.max(boundary)));
        for column in ["sent", "retransmitted_fast", "retransmitted_timeout", "marks", "cwr_packets"] {
            prop_assert_eq!(column_sum(&first, "total", column) + column_sum(&second, "total", column), column_sum(&whole, "total", column), "{}", column);
        }
    }

    #[test]
    fn a_check_counts_every_finding(events in events(), interfaces in 0..3_usize) {
        let mut check = EcnCheck::default();
        check.set_interface_count(interfaces);
        (1..).zip(&events).for_each(|(record, event)| check.on_event(event, record, event.time));
        let report = check.finish();
        let departures = report.findings.iter().filter(|finding| finding.known.is_some()).count() as u64;
        prop_assert_eq!(report.findings.len() as u64, report.total_counts().violations + report.total_counts().departures);
        prop_assert_eq!(departures, report.total_counts().departures);
    }
}

/// A packet of 40 bytes without data.
fn packet_without_data(kind: Kind, source: End, destination: End, tcp: Tcp) -> Packet {
    let (ecn, truncation) = (Ecn::NotEct, Truncation::Complete);
    Packet { kind, source, destination, flow: None, id: Some(1), size: 40, payload: 0, ecn, tcp, truncation }
}

/// Found once by chance: an acknowledgement half the numbers away from the one before, and data just before where numbers wrap.
#[test]
fn sequence_numbers_half_the_space_apart_are_counted() {
    let end = |port| End { address: Address::V4([10, 0, 0, 1].into()), port };
    let ack = |flags, ack| Packet { id: None, ..packet_without_data(Kind::Ack, end(2), end(0), Tcp { flags, ack, ..Tcp::default() }) };
    let data = |flags, seq| {
        let packet = packet_without_data(Kind::Data, end(0), end(2), Tcp { flags, seq, ..Tcp::default() });
        Packet { id: None, size: 1000, payload: 960, ..packet }
    };
    let packets = [
        ack(Flags::ACK | Flags::ECE | Flags::CWR | Flags::AE, 0),
        ack(Flags::ACK, 1 << 31),
        data(Flags::default(), 0),
        data(Flags::ACK | Flags::ECE, u32::MAX - 20),
    ];
    let event =
        |packet| TraceEvent { time: Time::ZERO, kind: TraceEventKind::Enqueued, location: Location::Link { from: 0, to: 0 }, packet };
    let report = analyze(&packets.map(event), Options::default(), 0);
    assert_eq!((4, 2), (report.counts.events, column_sum(&report, "total", "sent")));
    let mut check = EcnCheck::default();
    packets.map(event).iter().for_each(|event| check.on_event(event, 1, event.time));
    assert_eq!(1, check.finish().connections);
}

/// A million connections of one packet each: the active ones are bounded, and so are the rows.
#[test]
fn very_many_flows_are_counted_without_being_kept() {
    let mut analysis = Analysis::new(Options::default(), false);
    let mut check = EcnCheck::default();
    for seq_number in 0..1_000_000_u32 {
        let source = End { address: Address::V4(seq_number.to_be_bytes().into()), port: 1 };
        let destination = End { address: Address::V4([1, 1, 1, 1].into()), port: 2 };
        let tcp = Tcp { seq: 5, ..Tcp::default() };
        let packet = Packet { size: 100, payload: 60, ..packet_without_data(Kind::Data, source, destination, tcp) };
        let event = TraceEvent {
            time: Time::from_picos(u64::from(seq_number)),
            kind: TraceEventKind::Captured,
            location: Location::Interface(0),
            packet,
        };
        analysis.on_event(&event);
        check.on_event(&event, u64::from(seq_number), event.time);
    }
    let report = analysis.finish();
    assert_eq!((1_000_000, 1_000_000), (column_sum(&report, "total", "flows"), column_sum(&report, "total", "sent")));
    assert_eq!((900_000, 1_000_000 - 65_536), (report.counts.unlisted_flows, report.counts.evicted_connections));
    let (_, flows) = report.tables.iter().find(|(name, _)| *name == "flows").unwrap();
    let Column::Name { names, .. } = flows.column("source") else { panic!("sources have names") };
    assert_eq!(100_001, names.len(), "those of 100 000 rows, which have one destination");
    assert_eq!(1_000_000, check.finish().connections);
}

/// Each connection breaks a rule and ends at once: listed findings are bounded, and the end of a connection visits its own findings alone.
#[test]
fn many_findings_are_counted_and_the_list_is_bounded() {
    let mut check = EcnCheck::default();
    for seq_number in 0..300_000_u32 {
        let end = |port| End { address: Address::V4(seq_number.to_be_bytes().into()), port };
        let tcp = Tcp { seq: 5, flags: Flags::SYN | Flags::CWR, ..Tcp::default() };
        let packet = packet_without_data(Kind::Ack, end(1), end(2), tcp);
        let time = Time::from_picos(u64::from(seq_number));
        check.on_event(
            &TraceEvent { time, kind: TraceEventKind::Captured, location: Location::Interface(0), packet },
            u64::from(seq_number),
            time,
        );
    }
    let report = check.finish();
    assert_eq!((300_000, 10_000), (report.total_counts().violations, report.findings.len()));
    assert!(report.findings.iter().all(|finding| finding.known.is_none()));
}
