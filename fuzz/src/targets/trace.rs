//! The analysis and the check of traces: of files as the command reads them, and of events of any kind.

use ecnlab_trace::{Analysis, CheckReport, EcnCheck, Options, TraceReport};
use ecnlab_units::table::Column;
use ecnlab_units::{Ecn, Span, Time};
use ecnlab_wire::{
    Address, End, Flags, Kind, Location, Packet, Reader, SackBlocks, Tcp, Timestamps, TraceEvent, TraceEventKind, Truncation,
};

use crate::input::Input;

pub fn file(data: &[u8]) {
    let Ok(mut reader) = Reader::from_reader(data) else { return };
    let mut analysis = Analysis::new(Options { sequence_flows: vec![0, 1], header_bytes: 40, ..Options::default() }, false);
    let mut check = EcnCheck::default();
    let (mut events, mut known) = (0, 0);
    while let Some(read) = reader.read_record() {
        let Ok(Some(event)) = read else { continue };
        if reader.interfaces().len() > known {
            known = reader.interfaces().len();
            analysis.set_interfaces(reader.interfaces().iter().map(|interface| interface.name.clone().unwrap_or_default()).collect());
            check.set_interface_count(known);
        }
        events += 1;
        analysis.on_event(&event);
        check.on_event(&event, reader.packets(), event.time);
    }
    check_analysis(&analysis.finish(), events);
    check_verdict(&check.finish(), events);
}

pub fn events(data: &[u8]) {
    let mut input = Input(data);
    let interfaces = input.below(4);
    let [from, to] = [input.u8(), input.u8()].map(|part| (part > 0).then(|| Span::from_millis(u64::from(part) * 20)));
    let from = from.filter(|from| to.is_none_or(|to| *from < to));
    let mut analysis =
        Analysis::new(Options { from, to, sequence_flows: vec![0, 1], header_bytes: 40, ..Options::default() }, input.flag());
    analysis.set_interfaces((0..interfaces).map(|number| format!("before {number}")).collect());
    let mut check = EcnCheck::default();
    check.set_interface_count(interfaces);
    let (mut count, mut now) = (0, Time::ZERO);
    while !input.is_empty() {
        let event = event(&mut input, &mut now);
        count += 1;
        analysis.on_event(&event);
        check.on_event(&event, count, event.time);
    }
    let tables = analysis.finish();
    if from.is_none() && to.is_none() {
        check_analysis(&tables, count);
    }
    check_verdict(&check.finish(), count);
}

/// Of a few hosts and ports, so that packets belong together.
fn event(input: &mut Input, now: &mut Time) -> TraceEvent {
    let pause = match input.u8() {
        0..=250 => Span::from_micros(u64::from(input.u8()) * 1000),
        _ => Span::from_picos(input.u64() >> 4),
    };
    // A trace covers at most 213 days.
    *now = Time::from_picos(now.picos().saturating_add(pause.picos()));
    let selector = input.u8();
    let (kind, location) = match selector >> 4 {
        kind @ 0..=3 => {
            let kind =
                [TraceEventKind::Enqueued, TraceEventKind::Dequeued, TraceEventKind::Dropped, TraceEventKind::Received][usize::from(kind)];
            (kind, Location::Link { from: u32::from(selector & 3), to: u32::from(selector >> 2 & 3) })
        }
        _ => (TraceEventKind::Captured, Location::Interface(u32::from(selector & 3))),
    };
    TraceEvent { time: *now, kind, location, packet: packet(input) }
}

fn packet(input: &mut Input) -> Packet {
    let [ends, kinds] = input.bytes();
    let end = |bits: u8| End {
        address: if ends & 0x80 == 0 { Address::V4([10, 0, 0, bits & 3].into()) } else { Address::Node(u32::from(bits & 3)) },
        port: u32::from(bits >> 2 & 1),
    };
    let kind = [Kind::Data, Kind::Ack, Kind::Data, Kind::Ack, Kind::Datagram, Kind::Other][usize::from(kinds & 7) % 6];
    let truncation = [Truncation::Complete, Truncation::Complete, Truncation::Truncated, Truncation::Fragment { is_first: false }]
        [usize::from(kinds >> 3 & 3)];
    let id = (kinds & 0x80 != 0).then(|| u64::from(input.u8()));
    let (size, payload) = if kinds & 0x20 != 0 { (1500, 1448) } else { (input.number(), input.number()) };
    Packet {
        kind,
        source: end(ends & 7),
        destination: end(ends >> 3 & 7),
        flow: (kinds & 0x40 != 0).then(|| u32::from(input.u8() & 7)),
        id,
        size,
        payload: if kind == Kind::Ack { 0 } else { payload },
        ecn: Ecn::from_bits(input.u8()),
        tcp: tcp(input),
        truncation,
    }
}

fn tcp(input: &mut Input) -> Tcp {
    let (seq, ack, flags, options) = (input.number(), input.number(), input.u16() & 0x1ff, input.u8());
    let mut sacks = SackBlocks::default();
    for _ in 0..options & 3 {
        sacks.push(input.number(), input.number());
    }
    Tcp {
        accecn: None,
        seq,
        ack,
        flags: Flags(flags),
        window: input.u16(),
        window_scale: (options & 4 != 0).then(|| input.u8()),
        timestamps: (options & 8 != 0).then(|| Timestamps { value: input.number(), echo: input.number() }),
        sack_permitted: options & 16 != 0,
        mss: (options & 32 != 0).then(|| input.u16()),
        sacks,
    }
}

/// The total is the sum of the flows.
fn check_analysis(tables: &TraceReport, events: u64) {
    assert_eq!(events, tables.counts.events);
    for column in ["sent", "retransmitted_fast", "retransmitted_timeout", "drops", "marks", "ce", "lockouts"] {
        assert_eq!(sum(tables, "flows", column), sum(tables, "total", column), "{column}");
    }
    for (name, table) in &tables.tables {
        assert!(table.columns.iter().all(|(_, column)| column.len() == table.height()), "columns of {name} differ in length");
    }
}

fn sum(tables: &TraceReport, table: &str, column: &str) -> u64 {
    let (_, table) = tables.tables.iter().find(|(name, _)| *name == table).expect("an analysis gives all tables");
    match table.column(column) {
        Column::Count(values) => values.iter().sum(),
        other => panic!("{column} is {other:?}"),
    }
}

/// Each finding is counted.
fn check_verdict(verdict: &CheckReport, events: u64) {
    let total = verdict.total_counts();
    assert_eq!(events, verdict.events);
    assert_eq!(verdict.findings.len() as u64, total.violations + total.departures);
    assert_eq!(verdict.findings.iter().filter(|finding| finding.known.is_some()).count() as u64, total.departures);
}
