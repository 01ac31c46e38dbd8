//! PI, PIE, PI2 and DualPI2 at a bottleneck with TCP, compared with claims of their papers and RFCs.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use std::sync::Arc;

use common::{pipe, run_with};
use ecnlab_queue::{Child, Limit, QueueConfig, Registry};
use ecnlab_sim::{FlowSpec, LinkSpec, Network, PipeOrQueue, Probe, QueueSpec, RowPolicy, Run, RunTimesAndSeed};
use ecnlab_transport::{AppWrite, TcpSettings, Transport, profile};
use ecnlab_units::{Span, Time, Values};

/// Long flows with the same settings.
struct FlowGroup {
    count: u32,
    tcp: TcpSettings,
    /// Base round-trip times in milliseconds, spread evenly over the flows.
    rtt_ms: (u64, u64),
}

fn flow_group(count: u32, tcp: TcpSettings, rtt_ms: u64) -> FlowGroup {
    FlowGroup { count, tcp, rtt_ms: (rtt_ms, rtt_ms) }
}

fn values(parameters: &'static [ecnlab_units::Parameter], given: &[(&str, &str)]) -> Values {
    let mut values = Values::defaults(parameters);
    for (name, text) in given {
        values.set_from_text(name, text).unwrap_or_else(|why| panic!("{name} = {text}: {why}"));
    }
    values
}

fn aqm(name: &str, given: &[(&str, &str)], limit: u32) -> QueueConfig {
    let entry = Registry::builtin().aqm(name).unwrap();
    QueueConfig::fifo(entry, values(entry.parameters, given), Limit::Packets(limit))
}

fn dualpi2(given: &[(&str, &str)], limit: u32) -> QueueConfig {
    let discipline = Registry::builtin().discipline("dualpi2").unwrap();
    QueueConfig { discipline, values: values(discipline.parameters, given), child: Child::Buffer { limit: Limit::Packets(limit) } }
}

/// One measured queue, an access link for each flow, and a return link.
fn network(queue: QueueConfig, kbps: u64, groups: &[FlowGroup]) -> Network {
    let buffer = PipeOrQueue::Queue(Box::new(QueueSpec::new("bottleneck", queue)));
    let mut network = Network { links: vec![LinkSpec { buffer, ..pipe(kbps, 0, 0) }, pipe(1_000_000, 0, 1_000_000)], ..Network::default() };
    for (at, group) in groups.iter().enumerate() {
        network.groups.push(format!("group {at}").into());
        for member in 0..group.count {
            let access = network.links.len() as u32;
            let (least, most) = group.rtt_ms;
            let rtt_us = 1000 * least + 1000 * (most - least) * u64::from(member) / u64::from(group.count.max(2) - 1);
            network.links.push(pipe(1_000_000, rtt_us, 1_000_000));
            network.flows.push(FlowSpec {
                group: at as u32,
                member,
                forward: vec![access, 0],
                back: vec![1],
                transport: Transport::Tcp(Arc::new(group.tcp.clone())),
                initial_write: Some(AppWrite::ENDLESS),
                start: Time::ZERO + Span::from_millis(u64::from(member) * 50),
                clock_phase: None,
                row_policy: RowPolicy::OwnRow,
            });
        }
    }
    network
}

fn run(network: &Network, seconds: (u64, u64), seed: u64) -> (Run, QueueLengthSamples) {
    let at = |seconds| Time::ZERO + Span::from_secs(seconds);
    run_with(
        network,
        &RunTimesAndSeed { duration: at(seconds.1), measure_from: at(seconds.0), seed },
        QueueLengthSamples::from(at(seconds.0)),
    )
}

/// Queue length, sampled every 10 ms of the measured interval.
struct QueueLengthSamples {
    from: Time,
    packets: Vec<f64>,
}

impl QueueLengthSamples {
    fn from(from: Time) -> QueueLengthSamples {
        QueueLengthSamples { from, packets: Vec::new() }
    }

    fn mean(&self) -> f64 {
        self.packets.iter().sum::<f64>() / self.packets.len() as f64
    }

    fn standard_deviation(&self) -> f64 {
        let mean = self.mean();
        (self.packets.iter().map(|n| (n - mean) * (n - mean)).sum::<f64>() / self.packets.len() as f64).sqrt()
    }
}

impl Probe for QueueLengthSamples {
    fn queue_sample_interval(&self) -> Option<Span> {
        Some(Span::from_millis(10))
    }

    fn on_queue_sample(&mut self, now: Time, _queue: u32, packets: u32, _average: Option<f64>) {
        if now >= self.from {
            self.packets.push(f64::from(packets));
        }
    }
}

fn tcp(profile: &str, variant: &str, given: &[(&str, &str)]) -> TcpSettings {
    let mut all = profile::find_profile(profile).unwrap().values_with_defaults();
    profile::find_variant(variant).unwrap().apply(&mut all);
    for (name, text) in given {
        all.set_from_text(name, text).unwrap_or_else(|why| panic!("{name} = {text}: {why}"));
    }
    TcpSettings::from_values(&all)
}

/// Hollot et al. 2001: 60 flows over 3750 packets of 500 bytes a second, 160 to 240 ms of propagation, a buffer of 800.
#[test]
fn pi_holds_its_reference_where_red_wanders() {
    let long = tcp("ns2", "newreno", &[("packet_size", "500 B"), ("ecn", "true"), ("max_rwnd", "1000")]);
    let red = [("min_th", "150"), ("max_th", "700"), ("max_p", "0.1"), ("w_q", "1.33e-6")];
    for seed in 1..=3 {
        let length_samples = |queue| {
            let flows = FlowGroup { count: 60, tcp: long.clone(), rtt_ms: (160, 240) };
            run(&network(queue, 15_000, &[flows]), (50, 150), seed).1
        };
        let (pi, red) = (length_samples(aqm("pi", &[("q_ref", "200")], 800)), length_samples(aqm("ecn", &red, 800)));
        assert!((pi.mean() - 200.0).abs() < 10.0, "seed {seed}: {}", pi.mean());
        assert!(pi.standard_deviation() < 0.3 * pi.mean(), "seed {seed}: {} of {}", pi.standard_deviation(), pi.mean());
        assert!(red.standard_deviation() > 0.5 * red.mean(), "seed {seed}: RED {} of {}", red.standard_deviation(), red.mean());
    }
}

/// RFC 8033, section 4.2, and RFC 9332, appendix A.1: a target of 15 ms.
#[test]
fn pie_and_pi2_hold_fifteen_milliseconds_with_long_flows() {
    // A single run of four flows varies by 0.4 ms (standard deviation), so the test uses the mean.
    const SEED_COUNT: u64 = 5;
    for name in ["pie", "pi2"] {
        for (flows, variant, ecn) in [(4, "newreno", "true"), (4, "cubic", "false"), (20, "cubic", "true"), (60, "newreno", "false")] {
            let long = flow_group(flows, tcp("linux", variant, &[("ecn", ecn)]), 50);
            let network = network(aqm(name, &[], 1000), 10_000, &[long]);
            let runs: Vec<Run> = (1..=SEED_COUNT).map(|seed| run(&network, (20, 80), seed).0).collect();
            let mean_of = |column| runs.iter().map(|run| run.report.column_as_reals("queues", column)[0]).sum::<f64>() / SEED_COUNT as f64;
            let [mean, median, used] = ["sojourn_mean_s", "sojourn_p50_s", "utilisation"].map(mean_of);
            let what = format!("{name}, {flows} flows of {variant}, ecn {ecn}: mean {mean}, median {median}, utilisation {used}");
            assert!((mean - 0.015).abs() < 0.003 && (median - 0.015).abs() < 0.003 && used > 0.98, "{what}");
        }
    }
}

/// Scalable and classic flows at DualPI2.
struct TrafficMix {
    scalable: u32,
    classic: u32,
    variant: &'static str,
    rtt_ms: u64,
}

/// Results of a mix at 40 Mbps: the mean sojourn times of both bands, the 99th percentile of the low-latency one, its drops, and the ratio
/// of a scalable flow's rate to a classic one's.
#[derive(Debug)]
struct MixResult {
    waits: [f64; 2],
    p99: f64,
    drops: f64,
    ratio: f64,
}

/// With one flow of each kind, each loses a packet every few seconds, so shares of a single run vary: use the mean of several.
const RUN_COUNT: u64 = 5;

fn run_mix(mix: &TrafficMix, given: &[(&str, &str)]) -> MixResult {
    let scalable = flow_group(mix.scalable, tcp("linux", "dctcp", &[("ect_codepoint", "ect1")]), mix.rtt_ms);
    let classic = flow_group(mix.classic, tcp("linux", mix.variant, &[]), mix.rtt_ms);
    let network = network(dualpi2(given, 10_000), 40_000, &[scalable, classic]);
    let runs: Vec<Run> = (1..=RUN_COUNT).map(|seed| run(&network, (20, 60), seed).0).collect();
    let mean = |of: &dyn Fn(&Run) -> f64| runs.iter().map(of).sum::<f64>() / RUN_COUNT as f64;
    let band_column = |column, band: usize| mean(&|run| run.report.column_as_reals("bands", column)[band]);
    let group_goodput = |group: usize| mean(&|run| run.report.column_as_reals("groups", "goodput_bps")[group]);
    MixResult {
        waits: [band_column("sojourn_mean_s", 0), band_column("sojourn_mean_s", 1)],
        p99: band_column("sojourn_p99_s", 0),
        drops: ["drops_early", "drops_forced", "drops_overflow"].iter().map(|drops| band_column(drops, 0)).sum(),
        ratio: group_goodput(0) / f64::from(mix.scalable) / (group_goodput(1) / f64::from(mix.classic)),
    }
}

/// RFC 9332, section 1.4: in the low-latency queue the mean sojourn time is below 1 ms, the 99th percentile at most 2 ms, without losses.
/// Appendix C.2: k = 2 gives about equal rates at 25 ms; at a shorter RTT the ratio follows R_C / (1.22 R_L), equation 10.
#[test]
fn dualpi2_keeps_scalable_flows_from_waiting_and_shares_with_classic_ones() {
    for (scalable, classic) in [(1, 1), (2, 2), (5, 5), (10, 2), (2, 10)] {
        for (variant, rtt_ms) in [("newreno", 10), ("cubic", 10), ("newreno", 25), ("cubic", 25)] {
            let mix = TrafficMix { scalable, classic, variant, rtt_ms };
            let shared = run_mix(&mix, &[]);
            let what = format!("{scalable} scalable, {classic} of {variant}, {rtt_ms} ms: {shared:?}");
            assert!(shared.waits[0] < 0.001 && shared.p99 < 0.002, "{what}");
            // A kernel's window does not fall below two segments. If a flow's share is near that, marks cannot always slow the flows, and
            // the queue drops as for unresponsive flows (RFC 9332, section 4.2.3).
            let segments = 40e6 * (rtt_ms as f64 / 1000.0 + shared.waits[0]) / (8.0 * 1500.0) / f64::from(scalable + classic);
            assert!(shared.drops == 0.0 || segments < 4.0 && shared.drops < 10.0, "{what}: {segments} segments a flow");
            assert!(shared.waits[1] > 0.010 && shared.waits[1] < 0.020, "{what}");
            let rtt = rtt_ms as f64 / 1000.0;
            let by_equation_10 = (rtt + shared.waits[1]) / (1.22 * (rtt + shared.waits[0]));
            assert!(shared.ratio > 0.5 && shared.ratio < 2.0 * by_equation_10.max(1.0), "{what}: by equation 10 {by_equation_10}");
        }
    }
}

#[test]
fn without_the_coupling_scalable_flows_take_the_link() {
    let mix = TrafficMix { scalable: 5, classic: 5, variant: "cubic", rtt_ms: 25 };
    let [coupled, alone] = ["2", "0.01"].map(|coupling| run_mix(&mix, &[("coupling", coupling)]));
    assert!(alone.ratio > 5.0 * coupled.ratio, "{coupled:?} {alone:?}");
}

/// RFC 9332, section 4.2.3: unresponsive traffic with ECT(1) is dropped like any other, and the delay stays at the target.
#[test]
fn dualpi2_drops_what_marks_cannot_slow() {
    let deaf = tcp("linux", "newreno", &[("ecn", "true"), ("ecn_response", "none"), ("ect_codepoint", "ect1")]);
    let classic = tcp("linux", "cubic", &[]);
    let (run, _) = run(&network(dualpi2(&[], 10_000), 40_000, &[flow_group(20, deaf, 20), flow_group(5, classic, 20)]), (20, 60), 1);
    let band_column = |column| run.report.column_as_reals("bands", column);
    assert!(band_column("drops_forced")[0] > 0.0 && band_column("drops_overflow") == [0.0, 0.0]);
    assert!(band_column("sojourn_mean_s").iter().all(|&wait| wait < 0.025), "{:?}", band_column("sojourn_mean_s"));
}
