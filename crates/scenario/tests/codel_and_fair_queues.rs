//! CoDel and the fair queues in simulation, compared with RFC 8289, RFC 8290 and the deficit round robin paper.

use ecnlab_scenario::{Registry, Scenario, no_files};
use ecnlab_sim::{NoProbe, Run, RunTimesAndSeed, Simulation};
use ecnlab_units::Time;

fn run(text: &str) -> Run {
    let scenario =
        Scenario::from_toml(text, &[], &Registry::builtin(), &no_files).unwrap_or_else(|problems| panic!("{problems:?}\n{text}"));
    let [duration, measure_from] = [scenario.duration, scenario.measure_from].map(|span| Time::ZERO + span);
    Simulation::new(&scenario.network, &RunTimesAndSeed { duration, measure_from, seed: 1 }, NoProbe).finish().0
}

/// Flows over one bottleneck with a delay of 5 ms, measured after a fifth of the time.
fn over_bottleneck(seconds: u32, rate: &str, queue: &str, groups: &[String]) -> Run {
    let measured = seconds / 5;
    run(&format!(
        r#"name = "one bottleneck"
duration = "{seconds} s"
measure_from = "{measured} s"
link = [{{ name = "bottleneck", from = "router", to = "sink", rate = "{rate}", delay = "5 ms", queue = {queue} }}]
{}"#,
        groups.concat()
    ))
}

/// Long transfers with this access delay.
fn bulk(name: &str, count: u32, delay_ms: u32, tcp: &str) -> String {
    format!(
        r#"
[[flows]]
name = "{name}"
count = {count}
to = "sink"
access = {{ to = "router", rate = "1 Gbps", delay = "{delay_ms} ms", spread = "1 ms" }}
tcp = {{ {tcp} }}
start = ["0 s", "1 s"]
"#
    )
}

/// A packet of 140 bytes about every tenth of a second, 15 ms away from the receiver.
fn sparse() -> String {
    r#"
[[flows]]
name = "sparse"
to = "sink"
access = { to = "router", rate = "1 Gbps", delay = "10 ms" }
tcp = { profile = "linux" }
app = { kind = "transactions", bytes = "100 B", gap = "100 ms", gap_distribution = "exponential", connection = "keep" }
"#
    .to_owned()
}

fn queue_value(run: &Run, column: &str) -> f64 {
    run.report.column_as_reals("queues", column)[0]
}

/// Jain's index.
fn jain(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>().powi(2) / (rates.len() as f64 * rates.iter().map(|rate| rate * rate).sum::<f64>())
}

#[test]
fn one_reno_flow_gets_the_share_of_the_link_that_the_formula_of_codels_rfc_says() {
    // RFC 8289, section 3.2: goodput = r (3 + 6f - f^2) / (4 (1 + f)) for a peak queue of f round trips; here r is 100 ms.
    for (f, target) in [(0.02, "2 ms"), (0.05, "5 ms"), (0.1, "10 ms"), (0.2, "20 ms")] {
        for rate in ["10 Mbps", "50 Mbps"] {
            let queue = format!(r#"{{ aqm = "codel", limit = 10000, target = "{target}" }}"#);
            let run = over_bottleneck(400, rate, &queue, &[bulk("reno", 1, 45, r#"profile = "rfc", variant = "newreno""#)]);
            let (formula, share) = ((3.0 + 6.0 * f - f * f) / (4.0 * (1.0 + f)), queue_value(&run, "utilisation"));
            assert!((share - formula).abs() < 0.01, "target {target} at {rate}: {share} of the link, by the formula {formula}");
        }
    }
}

#[test]
fn the_median_wait_behind_codel_tends_to_its_target_whatever_the_links_rate() {
    // RFC 8289, section 3.2, on long transfers. Each has a share of 2.5 Mbps here, so that they neither overload the link nor leave it
    // idle.
    for (rate, count) in [("10 Mbps", 4), ("20 Mbps", 8), ("40 Mbps", 16), ("80 Mbps", 32)] {
        for variant in ["newreno", "cubic"] {
            let tcp = format!(r#"profile = "rfc", variant = "{variant}""#);
            let run = over_bottleneck(100, rate, r#"{ aqm = "codel", limit = 1000 }"#, &[bulk("bulk", count, 45, &tcp)]);
            let median_ms = queue_value(&run, "sojourn_p50_s") * 1e3;
            assert!((2.5..=7.5).contains(&median_ms), "{count} {variant} flows at {rate}: {median_ms} ms");
            assert!(queue_value(&run, "utilisation") > 0.9);
        }
    }
}

#[test]
fn codel_marks_as_it_would_drop_and_loses_nothing_from_flows_with_ecn() {
    let run =
        over_bottleneck(100, "10 Mbps", r#"{ aqm = "codel", limit = 1000 }"#, &[bulk("bulk", 4, 45, r#"profile = "linux", ecn = true"#)]);
    assert_eq!(0.0, queue_value(&run, "drops"));
    assert!(queue_value(&run, "marks") > 100.0);
}

#[test]
fn flows_with_unlike_round_trips_share_evenly_in_flow_queues_and_not_in_one_queue() {
    let groups = [("near", 5), ("far", 50)].map(|(name, delay)| bulk(name, 3, delay, r#"profile = "linux", ecn = true"#));
    let index = |queue: &str| {
        let run = over_bottleneck(100, "10 Mbps", queue, &groups);
        assert!(queue_value(&run, "utilisation") > 0.99, "{queue}");
        jain(&run.report.column_as_reals("flows", "goodput_bps"))
    };
    // A packet takes 7 ms at a flow's sixth of the link, and the target must exceed that (RFC 8290, section 5.2.2). Below it the queue of a
    // flow with a long RTT runs empty after each mark, since a host does not grow cwnd during the reduction, and others use its share.
    let fq = r#"discipline = "fq", limit = 1000, aqm = { name = "codel", target = "15 ms" }"#;
    for queue in [fq, r#"discipline = "sfq", limit = 127"#, r#"discipline = "drr", limit = 200"#] {
        let index = index(&format!("{{ {queue} }}"));
        assert!(index > 0.99, "{queue}: {index}");
    }
    let alone = index(r#"{ aqm = "codel", limit = 1000 }"#);
    assert!(alone < 0.9, "{alone}");
}

#[test]
fn flows_with_unlike_packets_get_the_same_bytes_from_flow_queues_and_not_from_one_queue() {
    let groups =
        [("large", 1500), ("small", 300)].map(|(name, size)| bulk(name, 3, 20, &format!(r#"profile = "linux", packet_size = {size}"#)));
    let index = |queue: &str| jain(&over_bottleneck(100, "10 Mbps", queue, &groups).report.column_as_reals("flows", "throughput_bps"));
    for queue in [r#"discipline = "fq", limit = 1000"#, r#"discipline = "sfq", limit = 127"#, r#"discipline = "drr", limit = 200"#] {
        let index = index(&format!("{{ {queue} }}"));
        assert!(index > 0.99, "{queue}: {index}");
    }
    let alone = index(r#"{ aqm = "codel", limit = 1000 }"#);
    assert!(alone < 0.9, "{alone}");
}

/// Sojourn time of the sparse flow's packets beside six long transfers, in transmission times of one of their packets (1.2 ms): mean and
/// 95th percentile. The percentile may be off by half a histogram cell, 0.11 of that time.
fn sparse_wait(queue: &str) -> [f64; 2] {
    let run = over_bottleneck(100, "10 Mbps", queue, &[bulk("bulk", 6, 20, r#"profile = "linux""#), sparse()]);
    assert!(queue_value(&run, "utilisation") > 0.99, "{queue}");
    let own_ms = 15.0 + 140.0 * 8.0 / 10e3;
    ["delay_mean_s", "delay_p95_s"].map(|column| (run.report.column_as_reals("flows", column)[6] * 1e3 - own_ms) / 1.2)
}

#[test]
fn a_sparse_flow_waits_for_the_packet_in_transmission_where_the_others_keep_queues_that_never_empty() {
    // Its arrival times are independent, so the rest of that packet is uniform: half of it in the mean, and at most all of it.
    let [mean, most] = sparse_wait(r#"{ discipline = "fq", limit = 1000, aqm = "droptail" }"#);
    assert!((mean - 0.5).abs() < 0.05, "{mean} packets in the mean");
    assert!(most <= 1.0 + 0.11, "{most} packets");
}

#[test]
fn a_sparse_flow_waits_less_than_a_round_with_new_queues_first_a_round_without_and_more_in_one_queue() {
    // CoDel keeps the queues of the six so short that they run empty and return as new ones, over which the sparse flow has no priority.
    let [_, new_first] = sparse_wait(r#"{ discipline = "fq", limit = 1000 }"#);
    assert!(new_first < 6.0, "{new_first} packets");
    for queue in [r#"{ discipline = "sfq", limit = 127 }"#, r#"{ discipline = "drr", limit = 200 }"#] {
        let [_, round] = sparse_wait(queue);
        assert!((5.0..7.0).contains(&round), "{queue}: {round} packets");
    }
    let [_, one_queue] = sparse_wait(r#"{ aqm = "codel", limit = 1000 }"#);
    assert!(one_queue > 7.0, "{one_queue} packets");
}
