//! Computations of the engine that must agree: a run in one piece and in slices, with and without the fast path, with and without probes,
//! with a pipe and with a tail-drop queue, and the replay of a queue's log through the same queue.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use ecnlab_scenario::{Scenario, no_files};
use ecnlab_sim::measures::{Column, Table};
use ecnlab_sim::replay::replay;
use ecnlab_sim::{
    IpVersion, Network, NoProbe, PipeOrQueue, Recorder, RecorderAndTracer, RecordingConfig, Report, Run, RunTimesAndSeed, Simulation,
    TraceFormat, TraceSpec, Tracer,
};
use ecnlab_units::{Rate, Span, Time};
use ecnlab_wire::Reader;

use super::scenario::registry;
use crate::input::Input;

const PROFILES: [&str; 5] = ["ns2", "ns2-2001", "rfc", "linux-2.2", "linux"];

/// Packets in the queue that drops at its end, and in that of the way back.
const DROPTAIL_LIMIT: u32 = 6;
const REVERSE_LIMIT: u32 = 5;

const QUEUES: [&str; 14] = [
    // Of `DROPTAIL_LIMIT` packets.
    r#"{ aqm = "droptail", limit = 6 }"#,
    r#"{ aqm = "red", limit = 20, min_th = 2, max_th = 6 }"#,
    r#"{ aqm = "ecn", limit = 20, min_th = 1, max_th = 4 }"#,
    r#"{ aqm = "mecn", limit = 20 }"#,
    r#"{ aqm = "ared", limit = 20 }"#,
    r#"{ aqm = "pie", limit = 20 }"#,
    r#"{ aqm = "pi2", limit = 20 }"#,
    r#"{ aqm = "codel", limit = 20 }"#,
    r#"{ aqm = "blue", limit = 8 }"#,
    r#"{ aqm = "mark-front", limit = 20 }"#,
    r#"{ discipline = "fq", limit = 20, flows = 16, aqm = { name = "codel" } }"#,
    r#"{ discipline = "drr", limit = 20, flows = 16, aqm = { name = "pie" } }"#,
    r#"{ discipline = "dualpi2", limit = 20 }"#,
    r#"{ discipline = "tbf", rate = "2 Mbps", burst = "5 KB", queue = { aqm = "red", limit = 20 } }"#,
];

const APPS: [&str; 4] = [
    r#"{ kind = "file", bytes = "12 kB" }"#,
    r#"{ kind = "exchange" }"#,
    r#"{ kind = "transactions", bytes = "3 kB", gap = "5 ms", connection = "new" }"#,
    r#"{ kind = "bulk" }"#,
];

const IMPAIRMENTS: [&str; 4] = [
    "[]",
    r#"[{ kind = "loss", rate = 0.1 }]"#,
    r#"[{ kind = "reorder", rate = 0.2, delay = "3 ms" }]"#,
    r#"[{ kind = "duplicate", rate = 0.1 }]"#,
];

/// One scenario for each combination, whose numbers an input changes.
static BASES: LazyLock<Vec<Scenario>> = LazyLock::new(|| {
    let mut bases = Vec::new();
    for profile in PROFILES {
        for queue in QUEUES {
            for app in APPS {
                for impairment in IMPAIRMENTS {
                    bases.push(base_scenario(profile, queue, app, impairment));
                }
            }
        }
    }
    bases
});

/// Whether the base at this place has the first of the queues.
fn is_droptail(at: usize) -> bool {
    at / (IMPAIRMENTS.len() * APPS.len()) % QUEUES.len() == 0
}

pub fn prepare() {
    LazyLock::force(&BASES);
}

fn base_scenario(profile: &str, queue: &str, app: &str, impairment: &str) -> Scenario {
    let text = format!(
        r#"
        name = "base"
        duration = "1 s"
        [[link]]
        name = "first"
        from = "a"
        to = "b"
        rate = "10 Mbps"
        delay = "1 ms"
        limit = 20
        impair = {impairment}
        [[link]]
        name = "queue"
        from = "b"
        to = "c"
        rate = "3 Mbps"
        delay = "2 ms"
        queue = {queue}
        reverse = {{ queue = {{ aqm = "droptail", limit = 5 }}, rate = "1 Mbps" }}
        [[flows]]
        name = "tcp"
        from = "a"
        to = "c"
        count = 2
        app = {app}
        tcp = {{ profile = "{profile}", ecn = true }}
        [[flows]]
        name = "udp"
        from = "b"
        to = "c"
        udp = {{ packet_size = "500 B" }}
        app = {{ kind = "cbr", rate = "100 kbps" }}
        "#
    );
    Scenario::from_toml(&text, &[], registry(), &no_files).unwrap_or_else(|why| panic!("{text}: {why:#?}"))
}

/// Data packets that a run's slowest link may carry, which bounds what an execution takes.
const PACKETS: u64 = 8;

pub fn ways(data: &[u8]) {
    let mut input = Input(data);
    let at = usize::from(input.u16()) % BASES.len();
    let way = input.below(3);
    let mut network = (*BASES[at].network).clone();
    change_network(&mut network, &mut input, way < 2);
    let slowest = network.links[..2].iter().map(|link| link.rate.bps()).min().unwrap_or(1);
    let packets = PACKETS + u64::from(input.u8() & 31);
    let duration = Time::ZERO + Span::from_micros(packets * 12_000_000_000 / slowest);
    let measure_from = Time::ZERO + Span::from_micros(u64::from(input.u8()) * 20);
    let options = RunTimesAndSeed { duration, measure_from: measure_from.min(duration), seed: input.u8().into() };
    let (whole, _) = Simulation::new(&network, &options, NoProbe).finish();
    match way {
        0 => {
            assert_same_run(&whole, &run_in_slices(&network, &options, &mut input), "in slices");
            assert_same_run(&whole, &run_without_fast_path(&network, &options), "without the fast path");
        }
        1 => compare_with_probes(&network, &options, &whole),
        _ => compare_with_plain_buffer(network, &options, is_droptail(at), &whole),
    }
}

/// Rates, delays, buffers and starts. With `ties` packets often come at the same time as others; a plain buffer and a queue may then take them
/// in another order, so those two are compared without.
fn change_network(network: &mut Network, input: &mut Input, ties: bool) {
    let apart = |at: usize| if ties { 0 } else { at as u64 + 1 };
    for (at, link) in network.links.iter_mut().enumerate() {
        let [rate, delay, limit] = input.bytes();
        link.rate = Rate::from_bps(500_000 + u64::from(rate) * 77_777 + apart(at) * 1_009).expect("it is above zero");
        link.delay = Span::from_micros(u64::from(delay & 31) * 250) + Span::from_picos(apart(at) * 7_919_113);
        if let PipeOrQueue::Pipe { limit: packets } = &mut link.buffer {
            *packets = u32::from(limit & 15);
        }
    }
    for (at, flow) in network.flows.iter_mut().enumerate() {
        flow.start = Time::ZERO + Span::from_micros(u64::from(input.u8()) * 100) + Span::from_picos(apart(at) * 6_700_417);
    }
}

fn run_in_slices(network: &Network, options: &RunTimesAndSeed, input: &mut Input) -> Run {
    let mut simulation = Simulation::new(network, options, NoProbe);
    let mut until = Time::ZERO;
    for _ in 0..8 {
        let [step, events] = input.bytes();
        until += Span::from_micros(u64::from(step) * 200);
        simulation.advance_with_event_limit(until, u64::from(events));
    }
    simulation.finish().0
}

fn run_without_fast_path(network: &Network, options: &RunTimesAndSeed) -> Run {
    let mut simulation = Simulation::new(network, options, NoProbe);
    simulation.disable_fast_path();
    simulation.finish().0
}

/// A probe of everything changes nothing; what it has recorded of queues is what they decide again; the capture is read without a fault.
fn compare_with_probes(network: &Network, options: &RunTimesAndSeed, whole: &Run) {
    let millis = |millis| Some(Span::from_millis(millis));
    let recording = RecordingConfig {
        queue_interval: millis(5),
        window_interval: millis(5),
        rate_bin: Some(Span::from_secs(1)),
        events: true,
        distributions: true,
        transfers: true,
        arrivals: true,
    };
    let recorder = Recorder::new(recording, options.duration);
    let spec = TraceSpec { format: TraceFormat::Pcapng { keep: 128, version: IpVersion::V4 }, links: Vec::new() };
    let (run, mut probes) = Simulation::new(network, options, RecorderAndTracer { recorder, tracer: Tracer::new(spec) }).finish();
    assert_same_run(whole, &run, "with probes");
    let tables = probes.recorder.tables(&run.names).expect("a short run's record is small");
    let (_, arrivals) = tables.iter().find(|(name, _)| *name == "arrivals").expect("it was asked for");
    let outcomes = replay(network, options.seed, arrivals, None).unwrap_or_else(|why| panic!("{why}"));
    for (queue, outcome) in outcomes {
        let (_, difference) = outcome.expect("no queue here is a kernel's");
        assert_eq!(None, difference, "{queue} decides otherwise when it is replayed");
    }
    probes.tracer.write_begun_transmissions(options.duration);
    let capture = std::mem::take(probes.tracer.bytes_mut().expect("a capture is a file"));
    let reader = Reader::from_reader(&capture[..]).expect("a capture of ours");
    for read in reader {
        assert!(read.is_ok(), "{read:?}");
    }
}

/// A queue that drops at its end is as a link's plain buffer of the same size: flows see the same, unless a packet overflows just when a
/// transmission ends.
fn compare_with_plain_buffer(mut network: Network, options: &RunTimesAndSeed, is_droptail: bool, measured: &Run) {
    if has_overflow_at_end_of_transmission(&network, options) {
        return;
    }
    for link in network.links.iter_mut() {
        let limit = match &link.buffer {
            PipeOrQueue::Queue(queue) if queue.name == "queue.reverse" => REVERSE_LIMIT,
            PipeOrQueue::Queue(_) if is_droptail => DROPTAIL_LIMIT,
            _ => continue,
        };
        link.buffer = PipeOrQueue::Pipe { limit };
    }
    let (plain, _) = Simulation::new(&network, options, NoProbe).finish();
    for table in ["flows", "groups", "total"] {
        assert_same_table(table, measured.report.table(table), plain.report.table(table), "with a plain buffer");
    }
}

/// Whether a queue drops a packet at the instant at which its transmitter takes another. A plain buffer counts that one as gone and has room
/// (ARCHITECTURE.md, order of simultaneous events). ACKs that a bottleneck has spaced bring packets back at such instants.
fn has_overflow_at_end_of_transmission(network: &Network, options: &RunTimesAndSeed) -> bool {
    let spec = TraceSpec { format: TraceFormat::Table, links: Vec::new() };
    let (_, mut tracer) = Simulation::new(network, options, Tracer::new(spec)).finish();
    let table = tracer.drain_rows_if_at_least(0).expect("the trace is a table");
    let [Column::Real(times), Column::Name { index: events, names: words }, Column::Name { index: links, .. }] =
        ["time_s", "event", "link"].map(|wanted| &table.columns.iter().find(|(name, _)| &**name == wanted).expect("it is declared").1)
    else {
        panic!("a trace has times and names")
    };
    let instants_of = |word: &str| {
        let rows = times.iter().zip(events).zip(links).filter(move |((_, event), _)| &*words[**event as usize] == word);
        rows.map(|((time, _), link)| (time.to_bits(), *link)).collect::<BTreeSet<_>>()
    };
    !instants_of("dropped").is_disjoint(&instants_of("dequeued"))
}

fn assert_same_run(one: &Run, other: &Run, what: &str) {
    assert_eq!((one.fingerprint, one.events, one.packet_hops), (other.fingerprint, other.events, other.packet_hops), "{what}");
    assert_same_report(&one.report, &other.report, what);
}

fn assert_same_report(one: &Report, other: &Report, what: &str) {
    assert_eq!(one.tables.len(), other.tables.len());
    for ((name, table), (known, again)) in one.tables.iter().zip(&other.tables) {
        assert_eq!(name, known);
        assert_same_table(name, table, again, what);
    }
}

fn assert_same_table(name: &str, one: &Table, other: &Table, what: &str) {
    assert_eq!(one.columns.len(), other.columns.len());
    for ((column, values), (known, again)) in one.columns.iter().zip(&other.columns) {
        assert_eq!(column, known);
        assert!(is_same(values, again), "{what}: {name}.{column} is {again:?}, not {values:?}");
    }
}

/// NaN is the same as NaN.
fn is_same(one: &Column, other: &Column) -> bool {
    match (one, other) {
        (Column::Real(one), Column::Real(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.to_bits() == b.to_bits())
        }
        _ => one == other,
    }
}
