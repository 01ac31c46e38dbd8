//! Random small networks: packets are conserved, measures stay within bounds, and a run depends on its network and seed alone.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use std::sync::Arc;

use common::{options, pipe, queue_link, run_off, run_with};

use ecnlab_queue::registry::AQMS;
use ecnlab_queue::{Limit, Registry};
use ecnlab_sim::impairment::{self, EcnPath, IMPAIRMENT_KINDS, Impairment};
use ecnlab_sim::{
    Direction, FlowSpec, ImpairmentSpec, LinkName, LinkSpec, MaxProcessingTime, Network, PipeOrQueue, Probe, Recorder, RecordingConfig,
    RowPolicy, Run, RunTimesAndSeed, Script,
};
use ecnlab_transport::application::{ConnectionReuse, GapDistribution, TransactionsSettings};
use ecnlab_transport::{AppWrite, SegmentType, TcpSettings, Traffic, Transport, profile};
use ecnlab_units::{Span, Time, Values};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::test_runner::RngSeed;

/// Random parameters of a link in a chain.
#[derive(Clone, Debug)]
struct RandomLink {
    kbps: u64,
    delay_us: u64,
    aqm: usize,
    limit: u32,
    in_bytes: bool,
    drop_numbers: Vec<u64>,
    drops: Vec<(u64, u32)>,
    ecn: EcnPath,
    /// In both directions.
    loss: [f64; 2],
    loss_every: u64,
    /// More impairments in both directions.
    parts: Vec<Impairment>,
    parts_back: Vec<Impairment>,
}

/// Random parameters of a flow: it enters the chain at one link and leaves it after another.
#[derive(Clone, Debug)]
struct RandomFlow {
    enters: usize,
    crosses: usize,
    profile: &'static str,
    ecn: bool,
    delayed_ack: bool,
    /// Whether it has a three-way handshake, and a FIN at the end of finite traffic.
    three_way: bool,
    max_rwnd: u64,
    load: RandomTraffic,
    start_ms: u64,
    access: bool,
}

/// Random traffic of a flow.
#[derive(Clone, Copy, Debug)]
enum RandomTraffic {
    Endless,
    Packets(u64),
    Bytes(u64),
    Transactions { bytes: u64, gap_ms: u64, exponential: bool, count: u64, connection: ConnectionReuse },
}

fn hop() -> impl Strategy<Value = RandomLink> {
    let drop_numbers = subsequence((0..60u64).collect::<Vec<_>>(), 0..6);
    let drops = prop::collection::vec((0u64..80, 0u32..3), 0..6);
    let faulty = select(vec![EcnPath::Bleach, EcnPath::Drop, EcnPath::ClearFlags, EcnPath::DropSetup]);
    let ecn = prop_oneof![4 => Just(EcnPath::Keep), 1 => faulty];
    let loss = || prop_oneof![2 => Just(0.0), 1 => 0.0..0.2];
    let losses = ([loss(), loss()], prop_oneof![3 => Just(0), 1 => 8u64..60]);
    let parts = || prop_oneof![1 => Just(Vec::new()), 1 => prop::collection::vec(part(), 1..4)];
    let buffer = (0..AQMS.len(), 1u32..40, any::<bool>());
    (50u64..5_000, 0u64..60_000, buffer, (drop_numbers, drops), ecn, losses, [parts(), parts()]).prop_map(
        |(kbps, delay_us, (aqm, limit, in_bytes), (drop_numbers, drops), ecn, (loss, loss_every), [parts, parts_back])| RandomLink {
            kbps,
            delay_us,
            aqm,
            limit,
            in_bytes,
            drop_numbers,
            drops,
            ecn,
            loss,
            loss_every,
            parts,
            parts_back,
        },
    )
}

/// An impairment of any kind.
fn part() -> impl Strategy<Value = Impairment> {
    let share = || (0.0..0.3).prop_map(|share: f64| share.to_string());
    let delay = prop_oneof![
        (0u64..60).prop_map(|ms| format!("uniform 0 ms to {} ms", ms + 1)),
        (1u64..60).prop_map(|ms| format!("normal {ms} ms, deviation {ms} ms")),
        (1u64..60).prop_map(|ms| format!("exponential {ms} ms")),
    ];
    prop_oneof![
        share().prop_map(|rate| part_of("mark", &[("rate", &rate)])),
        share().prop_map(|rate| part_of("duplicate", &[("rate", &rate)])),
        (share(), 1.0..9.0).prop_map(|(rate, burst): (_, f64)| part_of("burst-loss", &[("rate", &rate), ("burst", &burst.to_string())])),
        (share(), 0u64..90, select(vec!["off", "1", "5"])).prop_map(|(rate, ms, packets)| {
            part_of("reorder", &[("rate", &rate), ("delay", &format!("{ms} ms")), ("packets", packets)])
        }),
        (delay, select(vec!["keep", "overtake"])).prop_map(|(delay, order)| part_of("jitter", &[("delay", &delay), ("order", order)])),
    ]
}

fn part_of(kind: &str, given: &[(&str, &str)]) -> Impairment {
    let entry = IMPAIRMENT_KINDS.iter().find(|entry| entry.name == kind).unwrap();
    let mut values = Values::defaults(entry.parameters);
    given.iter().for_each(|(name, text)| values.set_from_text(name, text).unwrap());
    (entry.make)(&values)
}

fn load() -> impl Strategy<Value = RandomTraffic> {
    let connection = select(vec![ConnectionReuse::New, ConnectionReuse::Keep]);
    let transactions = (1u64..20_000, 0u64..2_000, any::<bool>(), 0u64..9, connection);
    prop_oneof![
        Just(RandomTraffic::Endless),
        (1u64..400).prop_map(RandomTraffic::Packets),
        (1u64..400_000).prop_map(RandomTraffic::Bytes),
        transactions.prop_map(|(bytes, gap_ms, exponential, count, connection)| RandomTraffic::Transactions {
            bytes,
            gap_ms,
            exponential,
            count,
            connection
        }),
    ]
}

impl RandomTraffic {
    fn traffic(self, payload: u32) -> Traffic {
        match self {
            RandomTraffic::Endless => Traffic::Once(AppWrite::ENDLESS),
            RandomTraffic::Packets(packets) => Traffic::Once(AppWrite { closes: true, ..AppWrite::full_packets(packets, payload) }),
            RandomTraffic::Bytes(bytes) => Traffic::Once(AppWrite::then_close(bytes)),
            RandomTraffic::Transactions { bytes, gap_ms, exponential, count, connection } => {
                let gap = Span::from_millis(gap_ms);
                let gap_distribution = if exponential { GapDistribution::Exponential } else { GapDistribution::Fixed };
                Traffic::Application(Arc::new(TransactionsSettings { bytes, gap, gap_distribution, count, connection }))
            }
        }
    }

    /// Bytes of one transfer, and the number of transfers; zero means unlimited.
    fn transfers(self, payload: u32) -> Option<(u64, u64)> {
        match self {
            RandomTraffic::Endless => None,
            RandomTraffic::Packets(packets) => Some((packets * u64::from(payload), 1)),
            RandomTraffic::Bytes(bytes) => Some((bytes, 1)),
            RandomTraffic::Transactions { bytes, count, .. } => Some((bytes, count)),
        }
    }
}

fn draw() -> impl Strategy<Value = RandomFlow> {
    let route = (0usize..4, 1usize..5);
    let tcp =
        (select(vec!["ns2", "ns2-2001", "linux-2.0", "linux-2.2", "linux", "rfc"]), any::<bool>(), any::<bool>(), any::<bool>(), 1u64..80);
    let when = (load(), 0u64..3_000, any::<bool>());
    (route, tcp, when).prop_map(|((enters, crosses), (profile, ecn, delayed_ack, three_way, max_rwnd), (load, start_ms, access))| {
        RandomFlow { enters, crosses, profile, ecn, delayed_ack, three_way, max_rwnd, load, start_ms, access }
    })
}

fn networks() -> impl Strategy<Value = Network> {
    (prop::collection::vec(hop(), 1..5), prop::collection::vec(draw(), 1..9), processing_time())
        .prop_map(|(hops, draws, processing_time)| Network { processing_time, ..network(&hops, &draws) })
}

/// Random networks with the traffic of each flow.
fn loaded_networks() -> impl Strategy<Value = (Network, Vec<RandomTraffic>)> {
    let drawn = (prop::collection::vec(hop(), 1..5), prop::collection::vec(draw(), 1..9), processing_time());
    drawn.prop_map(|(hops, draws, processing_time)| {
        (Network { processing_time, ..network(&hops, &draws) }, draws.iter().map(|draw| draw.load).collect())
    })
}

fn processing_time() -> impl Strategy<Value = MaxProcessingTime> {
    select(vec![MaxProcessingTime::default(), MaxProcessingTime::OnePacket, MaxProcessingTime::Fixed(Span::from_millis(30))])
}

fn network(hops: &[RandomLink], draws: &[RandomFlow]) -> Network {
    let mut network = Network { groups: ["even", "odd"].map(Into::into).to_vec(), ..Network::default() };
    network.links.extend(hops.iter().enumerate().map(|(at, hop)| hop.link(at)));
    network.links.extend(hops.iter().enumerate().map(|(at, hop)| hop.back(at)));
    for (at, draw) in draws.iter().enumerate() {
        draw.add_to(&mut network, hops.len(), at as u32);
    }
    network
}

impl RandomLink {
    fn link(&self, at: usize) -> LinkSpec {
        let entry = AQMS[self.aqm];
        let values = entry.test_values();
        let limit = if self.in_bytes { Limit::Bytes(u64::from(self.limit) * 1000) } else { Limit::Packets(self.limit) };
        let script = Script::new(self.drops.clone(), Vec::new(), self.drop_numbers.clone());
        let keys = impairment::ImpairmentKeys { ecn: self.ecn, loss: self.loss[0], loss_every: self.loss_every };
        let parts = keys.impairments().chain([Impairment::Script(script)]).chain(self.parts.clone());
        let link = queue_link(self.kbps, self.delay_us, &format!("hop {at}"), entry, values, limit);
        LinkSpec { impairment: ImpairmentSpec::from_parts(parts), ..link }
    }

    fn back(&self, at: usize) -> LinkSpec {
        let keys = impairment::ImpairmentKeys { ecn: self.ecn, loss: self.loss[1], loss_every: 0 };
        let name = LinkName::shared(&format!("hop {at}"), Direction::Back);
        LinkSpec {
            name,
            impairment: ImpairmentSpec::from_parts(keys.impairments().chain(self.parts_back.clone())),
            ..pipe(self.kbps, self.delay_us, 30)
        }
    }
}

impl RandomFlow {
    fn add_to(&self, network: &mut Network, hops: usize, at: u32) {
        let (group, member) = (at % 2, at / 2);
        let enters = self.enters.min(hops - 1);
        let leaves = (enters + self.crosses).min(hops);
        let mut forward: Vec<u32> = (enters as u32..leaves as u32).collect();
        let mut back: Vec<u32> = forward.iter().rev().map(|link| link + hops as u32).collect();
        if self.access {
            forward.insert(0, network.links.len() as u32);
            back.push(network.links.len() as u32 + 1);
            network.links.extend([pipe(10_000, 3_000, 20), pipe(10_000, 3_000, 20)]);
        }
        let start = Time::ZERO + Span::from_millis(self.start_ms);
        let tcp = self.tcp();
        let traffic = self.load.traffic(tcp.payload());
        let transport = Transport::Tcp(tcp);
        let row_policy = RowPolicy::OwnRow;
        network.add_flow_with_traffic(
            FlowSpec { group, member, forward, back, transport, initial_write: None, start, clock_phase: None, row_policy },
            &traffic,
        );
    }

    fn tcp(&self) -> Arc<TcpSettings> {
        let mut values = profile::find_profile(self.profile).unwrap().values_with_defaults();
        values.set_from_text("ecn", &self.ecn.to_string()).unwrap();
        values.set_from_text("delayed_ack", &self.delayed_ack.to_string()).unwrap();
        if self.three_way {
            values.set_from_text("handshake", "three-way").unwrap();
            values.set_from_text("fin", "true").unwrap();
        }
        values.set_from_text("max_rwnd", &self.max_rwnd.to_string()).unwrap();
        Arc::new(TcpSettings::from_values(&values))
    }
}

/// A packet of 1500 bytes takes 240 ms at 50 kbps.
const MAX_PROCESSING_TIME: Span = Span::from_millis(240);

/// All tables as text: NaN equals NaN, and every digit counts.
fn tables(run: &Run) -> String {
    format!("{:?}", run.report.tables)
}

/// One table as text.
fn table(run: &Run, name: &str) -> String {
    format!("{:?}", run.report.tables.iter().find(|(known, _)| *known == name))
}

/// Segments sent and acknowledged, and the last window, by flow.
#[derive(Default)]
struct FlowWatch {
    cwnd: Vec<f64>,
    sent: Vec<u64>,
    highest_ack: Vec<u64>,
    highest_sent: Vec<u64>,
    last_ack: Vec<Time>,
    /// Size of the FIN.
    fin: Vec<u32>,
}

impl FlowWatch {
    fn at<T: Clone + Default>(list: &mut Vec<T>, flow: u32) -> &mut T {
        if list.len() <= flow as usize {
            list.resize(flow as usize + 1, T::default());
        }
        &mut list[flow as usize]
    }
}

impl Probe for FlowWatch {
    fn on_segment_sent(&mut self, _now: Time, flow: u32, segment: &ecnlab_transport::Segment) {
        *FlowWatch::at(&mut self.sent, flow) += 1;
        if segment.segment_type == SegmentType::Fin {
            *FlowWatch::at(&mut self.fin, flow) = segment.size;
        }
        let highest = FlowWatch::at(&mut self.highest_sent, flow);
        *highest = (*highest).max(segment.seq + u64::from(segment.segment_type != SegmentType::PureAck));
    }

    fn on_window_update(&mut self, _now: Time, flow: u32, window: &ecnlab_transport::CongestionWindow) {
        *FlowWatch::at(&mut self.cwnd, flow) = window.cwnd;
    }

    fn on_ack_received(&mut self, now: Time, flow: u32, ack: &ecnlab_transport::Ack) {
        let highest = FlowWatch::at(&mut self.highest_ack, flow);
        *highest = (*highest).max(ack.next);
        *FlowWatch::at(&mut self.last_ack, flow) = now;
    }
}

/// The same 300 cases every time, unless PROPTEST_CASES or PROPTEST_RNG_SEED is set.
fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    let rng_seed = if config.rng_seed == RngSeed::Random { RngSeed::Fixed(1) } else { config.rng_seed };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { config.cases } else { 300 };
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..config }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn measures_keep_their_bounds_in_any_network(network in networks(), seed in any::<u64>()) {
        let (finished, watch) = run_with(&network, &options(20, seed), FlowWatch::default());
        let reals = |table, column| finished.report.column_as_reals(table, column);
        for (table, rows) in [("flows", network.flows.len()), ("groups", 2), ("total", 1)] {
            for row in 0..rows {
                prop_assert!(reals(table, "goodput_bps")[row] <= reals(table, "throughput_bps")[row]);
                prop_assert!(reals(table, "goodput_first_bps")[row] <= reals(table, "throughput_bps")[row]);
            }
        }
        for column in ["utilisation", "empty_fraction"] {
            prop_assert!(reals("queues", column).iter().all(|share| (0.0..=1.0).contains(share)), "{column}");
        }
        for (row, sent) in reals("flows", "sent").into_iter().enumerate() {
            prop_assert_eq!(watch.sent.get(row).copied().unwrap_or(0) as f64, sent);
        }
    }

    #[test]
    fn every_flow_completes_or_waits_for_an_ack_or_below_a_window_of_one_for_its_timer(network in networks(), seed in any::<u64>()) {
        let (finished, watch) = run_with(&network, &options(30, seed), FlowWatch::default());
        let end = options(30, seed).duration;
        for (at, (flow, completion)) in network.flows.iter().zip(finished.report.column_as_reals("flows", "completion_s")).enumerate() {
            let Some(demand) = flow.initial_write else { continue };
            if completion.is_nan() {
                let outstanding = watch.highest_ack.get(at).copied().unwrap_or(0) < watch.highest_sent[at];
                // After marks at a window of one, ns-2's sender waits for its timer with no packet in flight.
                let waits_for_timer = watch.cwnd[at] < 1.0;
                let processes = network.processing_time != MaxProcessingTime::default();
                let is_processed = processes && watch.last_ack.get(at).is_some_and(|ack| *ack + MAX_PROCESSING_TIME > end);
                prop_assert!(outstanding || waits_for_timer || is_processed, "flow {} neither ends nor waits: {:?}", at, flow);
            } else {
                let Transport::Tcp(tcp) = &flow.transport else { panic!("{flow:?}") };
                let data = demand.bytes.div_ceil(u64::from(tcp.payload()));
                // A FIN on data has no separate sequence number.
                let rides = watch.fin.get(at).is_some_and(|&size| size > tcp.quirks.ack_size);
                let all = data + u64::from(tcp.has_syn()) + u64::from(tcp.quirks.fin) - u64::from(rides);
                prop_assert_eq!((all, all), (watch.highest_ack[at], watch.highest_sent[at]));
            }
        }
    }

    #[test]
    fn applications_read_what_was_sent_to_them_to_the_byte((network, loads) in loaded_networks(), seed in any::<u64>()) {
        const SECONDS: u64 = 30;
        let finished = run_off(&network, &options(SECONDS, seed));
        let column = |name| finished.report.column_as_reals("flows", name);
        let (goodput, ended, completion) = (column("goodput_bps"), column("transactions"), column("completion_s"));
        for (at, (flow, load)) in network.flows.iter().zip(&loads).enumerate() {
            let Some((transfer, count)) = load.transfers(flow.transport.payload()) else { continue };
            let read = (goodput[at] * SECONDS as f64 / 8.0).round() as u64;
            let whole = ended[at] as u64 * transfer;
            prop_assert!((whole..=whole + transfer).contains(&read), "flow {at}: {read} bytes read, {whole} in whole transfers");
            prop_assert_eq!(!completion[at].is_nan(), count > 0 && ended[at] as u64 == count);
            if !completion[at].is_nan() {
                prop_assert_eq!(whole, read);
            }
        }
    }

    #[test]
    fn the_same_network_and_seed_give_the_same_run(network in networks(), seed in any::<u64>()) {
        let [first, second] = [(); 2].map(|()| run_off(&network, &options(10, seed)));
        prop_assert_eq!(first.fingerprint, second.fingerprint);
        prop_assert_eq!(tables(&first), tables(&second));
    }

    #[test]
    fn probes_change_no_result(network in networks(), seed in any::<u64>()) {
        let plain = options(10, seed);
        let off = run_off(&network, &plain);
        let every = Some(Span::from_millis(10));
        let all = RecordingConfig { queue_interval: every, window_interval: every, rate_bin: Some(Span::from_secs(1)), events: true, distributions: true, transfers: true, arrivals: true };
        let (recorded, recorder) = run_with(&network, &plain, Recorder::new(all, plain.duration));
        prop_assert_eq!(off.fingerprint, recorded.fingerprint);
        prop_assert_eq!(tables(&off), tables(&recorded));
        prop_assert!(recorder.tables(&recorded.names).is_ok());
    }

    #[test]
    fn flows_that_never_start_change_no_random_draws(network in networks(), draws in prop::collection::vec(draw(), 1..4), seed in any::<u64>()) {
        let plain = options(10, seed);
        let links = network.links.iter().filter(|link| matches!(link.buffer, PipeOrQueue::Queue(_))).count();
        let mut wider = network.clone();
        wider.groups.push("nobody".into());
        for draw in draws {
            RandomFlow { start_ms: 60_000, ..draw }.add_to(&mut wider, links, 2);
        }
        let (without, with) = (run_off(&network, &plain), run_off(&wider, &plain));
        prop_assert_eq!(table(&without, "queues"), table(&with, "queues"));
        prop_assert_eq!(without.packet_hops, with.packet_hops);
    }

    #[test]
    fn a_later_measured_interval_changes_no_packet(network in networks(), seed in any::<u64>(), from in 0u64..10_000) {
        let plain = options(10, seed);
        let measured = run_off(&network, &RunTimesAndSeed { measure_from: Time::ZERO + Span::from_millis(from), ..plain });
        prop_assert_eq!(run_off(&network, &plain).packet_hops, measured.packet_hops);
        prop_assert!(measured.report.column_as_reals("queues", "utilisation").iter().all(|share| (0.0..=1.0).contains(share)));
    }
}

/// One Reno flow over a drop-tail bottleneck of 10 Mbps with 100 ms base RTT and a buffer of `f` BDP.
fn one_reno_flow(f: f64) -> Network {
    const BDP_PACKETS: f64 = 125.0;
    let aqm = Registry::builtin().aqm("droptail").unwrap();
    let limit = Limit::Packets((f * BDP_PACKETS).round() as u32);
    let mut values = Values::defaults(TcpSettings::PARAMETERS);
    values.set_from_text("max_rwnd", "100000").unwrap();
    let flow = FlowSpec {
        group: 0,
        member: 0,
        forward: vec![0],
        back: vec![1],
        transport: Transport::Tcp(Arc::new(TcpSettings::from_values(&values))),
        initial_write: Some(AppWrite::ENDLESS),
        start: Time::ZERO,
        clock_phase: None,
        row_policy: RowPolicy::OwnRow,
    };
    let bottleneck = queue_link(10_000, 49_600, "bottleneck", aqm, Values::defaults(aqm.parameters), limit);
    Network { links: vec![bottleneck, pipe(1_000_000, 49_600, 1_000)], flows: vec![flow], groups: vec!["all".into()], ..Network::default() }
}

/// (3 + 6f - f²) / (4 (1 + f)): the saw-tooth of one flow whose window is halved when `1 + f` BDP overflow. ns-2 agrees within 0.01.
#[test]
fn one_reno_flow_fills_a_small_buffer_as_the_saw_tooth_says() {
    for (f, ns2) in [(0.048, 0.782), (0.096, 0.812), (0.248, 0.886), (0.496, 0.961), (1.0, 1.000)] {
        let measured = RunTimesAndSeed { measure_from: Time::ZERO + Span::from_secs(500), ..options(2_500, 1) };
        let finished = run_off(&one_reno_flow(f), &measured);
        let utilisation = finished.report.column_as_reals("queues", "utilisation")[0];
        assert!((utilisation - ns2).abs() <= 0.01, "f = {f}: {utilisation}, ns-2 {ns2}");
        let formula = (3.0 + 6.0 * f - f * f) / (4.0 * (1.0 + f));
        assert!((utilisation - formula).abs() <= 0.01, "f = {f}: {utilisation}, formula {formula}");
    }
}
