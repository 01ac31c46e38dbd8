//! Claims of the papers of BLUE, SRED, FRED and REM, checked on runs.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use std::sync::Arc;

use common::{options, pipe, queue_link, run_off};
use ecnlab_queue::{Limit, Registry};
use ecnlab_sim::{FlowSpec, Network, RowPolicy, Run, RunTimesAndSeed};
use ecnlab_transport::settings::EcnResponseName;
use ecnlab_transport::{AppWrite, TcpSettings, Transport, profile};
use ecnlab_units::{Span, Time};

/// A link with an AQM that long flows share.
struct SharedLink {
    aqm: &'static str,
    values: &'static [(&'static str, &'static str)],
    packets: u32,
    kbps: u64,
    flows: u32,
    /// Measured interval, in seconds.
    seconds: (u64, u64),
}

const DEFAULT_LINK: SharedLink = SharedLink { aqm: "", values: &[], packets: 100, kbps: 10_000, flows: 11, seconds: (50, 150) };

impl SharedLink {
    fn run(&self, tcp: &dyn Fn(u32) -> TcpSettings) -> Run {
        let flow = |member| FlowSpec {
            group: 0,
            member,
            forward: vec![0],
            back: vec![1],
            transport: Transport::Tcp(Arc::new(tcp(member))),
            initial_write: Some(AppWrite::ENDLESS),
            start: Time::ZERO + Span::from_millis(50) * u64::from(member),
            clock_phase: None,
            row_policy: RowPolicy::OwnRow,
        };
        let aqm = Registry::builtin().aqm_config(self.aqm, self.values).unwrap();
        let bottleneck = queue_link(self.kbps, 35_000, "bottleneck", aqm.entry, aqm.values, Limit::Packets(self.packets));
        let links = vec![bottleneck, pipe(self.kbps, 35_000, 1000)];
        let network = Network { links, flows: (0..self.flows).map(flow).collect(), groups: vec!["all".into()], ..Network::default() };
        let (from, to) = self.seconds;
        run_off(&network, &RunTimesAndSeed { measure_from: Time::ZERO + Span::from_secs(from), ..options(to, 1) })
    }
}

fn tcp_settings(ecn: bool) -> TcpSettings {
    TcpSettings { ecn, max_rwnd: 2000, ..profile::tcp_settings_of("ns2") }
}

fn queue_column(run: &Run, column: &str) -> f64 {
    run.report.column_as_reals("queues", column)[0]
}

/// The price must first rise to the level for so many flows, which takes minutes at the default gamma.
#[test]
fn rem_holds_its_target_queue_whatever_the_number_of_flows() {
    for flows in [10, 40, 100] {
        let run = SharedLink { aqm: "rem", flows, seconds: (400, 600), ..DEFAULT_LINK }.run(&|_| tcp_settings(true));
        let (length, used) = (queue_column(&run, "length_mean_packets"), queue_column(&run, "utilisation"));
        assert!((length - 20.0).abs() < 1.0 && used > 0.98, "{flows} flows: {length} packets, {used} used");
        assert_eq!(0.0, queue_column(&run, "drops"), "{flows} flows");
    }
}

/// Packets that it drops count as input, so in steady state alpha (b - target) + dropped = 0 in an interval: the queue is below the target.
/// The price is not quite the same at both ends: over 300 000 intervals a change of 30 is worth one packet.
#[test]
fn rem_without_ecn_rests_below_its_target_by_what_it_drops() {
    for flows in [10, 40, 100] {
        let run = SharedLink { aqm: "rem", flows, seconds: (400, 1000), ..DEFAULT_LINK }.run(&|_| tcp_settings(false));
        let unused = (1.0 - queue_column(&run, "utilisation")) * 2.5;
        let dropped = queue_column(&run, "drops") / (600.0 / 0.002);
        let expected = 20.0 - (dropped - unused) / 0.1;
        let length = queue_column(&run, "length_mean_packets");
        assert!((length - expected).abs() < 1.0, "{flows} flows: {length} packets where {expected} are expected");
    }
}

/// The paper's claim, on a link of its rate: the buffer occupancy does not depend on the number of flows. p_zap is proportional to (N /
/// 256)^2, so together the flows have about 256 sqrt(3/2) / sqrt(p_sred) packets in flight: 800 at p_max and 1600 at p_max / 4. With 400 on
/// the wires either 400 or 1200 would wait, so the queue settles at the boundary of the two, B/3 = 800.
#[test]
fn sred_rests_at_a_third_of_the_buffer_whatever_the_number_of_flows() {
    let values: [&'static [(&str, &str)]; 2] = [&[("full", "false")], &[]];
    let link = SharedLink { packets: 2400, kbps: 45_000, ..DEFAULT_LINK };
    for flows in [20, 80, 300] {
        for values in values {
            let run = SharedLink { aqm: "sred", values, flows, ..link }.run(&|_| tcp_settings(false));
            let length = queue_column(&run, "length_mean_packets");
            assert!(
                (680.0..=820.0).contains(&length) && queue_column(&run, "drops_overflow") == 0.0,
                "{flows} flows: {length} packets wait"
            );
        }
    }
    let droptail = SharedLink { aqm: "droptail", flows: 80, ..link }.run(&|_| tcp_settings(false));
    assert!(queue_column(&droptail, "length_mean_packets") > 1600.0);
}

/// One of eleven flows keeps its window of 200 packets and ignores marks.
#[test]
fn fred_holds_a_flow_that_does_not_heed_marks_to_its_share_and_red_does_not() {
    let one_greedy = |member| {
        let response = if member == 0 { EcnResponseName::None } else { EcnResponseName::Halve };
        TcpSettings { ecn_response: response, max_rwnd: 200, ..tcp_settings(true) }
    };
    let red: &[(&str, &str)] = &[("min_th", "15"), ("max_th", "30")];
    let greedy_share = |aqm, values| {
        let run = SharedLink { aqm, values, packets: 60, ..DEFAULT_LINK }.run(&one_greedy);
        let rates = run.report.column_as_reals("flows", "goodput_bps");
        11.0 * rates[0] / rates.iter().sum::<f64>()
    };
    let (fred, ecn) = (greedy_share("fred", &[]), greedy_share("ecn", red));
    assert!(fred < 1.2 && ecn > 3.0, "{fred} of an equal share under FRED, {ecn} under RED with ECN");
}

/// The paper's claim: with ECN, BLUE has almost no losses with a buffer in which RED's average reacts too late for many flows.
#[test]
fn blue_with_ecn_loses_next_to_nothing_where_red_loses_much() {
    let red: &[(&str, &str)] = &[("min_th", "15"), ("max_th", "45")];
    for flows in [60, 100] {
        let loss_share = |aqm, values| {
            let run = SharedLink { aqm, values, packets: 60, flows, ..DEFAULT_LINK }.run(&|_| tcp_settings(true));
            (queue_column(&run, "drops") / queue_column(&run, "arrivals"), queue_column(&run, "utilisation"))
        };
        let (blue, red) = (loss_share("blue", &[]), loss_share("ecn", red));
        assert!(blue.0 < 0.001 && blue.1 > 0.95 && red.0 > 0.03, "{flows} flows: BLUE {blue:?}, RED with ECN {red:?}");
    }
}
