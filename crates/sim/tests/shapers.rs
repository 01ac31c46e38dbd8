//! Shaped links in the engine: their rate, conservation of packets, and progress while a shaper waits.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use std::sync::Arc;

use common::{options, pipe, run_off};
use ecnlab_queue::{Child, Limit, QueueConfig, Registry};
use ecnlab_sim::{Direction, FlowSpec, LinkName, LinkSpec, Network, PipeOrQueue, QueueSpec, RowPolicy, Run};
use ecnlab_transport::{AppWrite, TcpSettings, Transport, profile};
use ecnlab_units::Span;

fn fifo_queue(aqm: &str, values: &[(&str, &str)], packets: u32) -> QueueConfig {
    let registry = Registry::builtin();
    let aqm = registry.aqm_config(aqm, values).unwrap();
    registry.queue_config("fifo", &[], Child::Aqm { aqm, limit: Limit::Packets(packets) }).unwrap()
}

fn shaped_queue(discipline: &str, values: &[(&str, &str)], inner: QueueConfig) -> QueueConfig {
    Registry::builtin().queue_config(discipline, values, Child::Queue(Box::new(inner))).unwrap()
}

/// A link of 10 Mbps with this queue.
fn link(name: &str, of: QueueConfig) -> LinkSpec {
    let buffer = PipeOrQueue::Queue(Box::new(QueueSpec::new(name, of)));
    LinkSpec { name: LinkName::shared(name, Direction::Forward), buffer, ..pipe(10_000, 5_000, 0) }
}

fn tcp_settings() -> TcpSettings {
    TcpSettings { max_rwnd: 60, ..profile::tcp_settings_of("ns2") }
}

/// So many flows over these links, with a return link that is not shaped.
fn network(links: Vec<LinkSpec>, tcp: &TcpSettings, flows: u32, demand: AppWrite) -> Network {
    let there = links.len() as u32;
    let flow = |member| FlowSpec {
        group: 0,
        member,
        forward: (0..there).collect(),
        back: vec![there],
        transport: Transport::Tcp(Arc::new(tcp.clone())),
        initial_write: Some(demand),
        start: ecnlab_units::Time::ZERO + Span::from_millis(100) * u64::from(member),
        clock_phase: Some(Span::ZERO),
        row_policy: RowPolicy::OwnRow,
    };
    let links = links.into_iter().chain([pipe(10_000, 20_000, 1000)]).collect();
    Network { links, flows: (0..flows).map(flow).collect(), groups: vec!["all".into()], ..Network::default() }
}

fn queue_column(run: &Run, column: &str) -> f64 {
    run.report.column_as_reals("queues", column)[0]
}

#[test]
fn long_flows_fill_a_shaped_link_to_the_shapers_rate() {
    let cases = [
        ("tbf", &[("rate", "1.5 Mbps"), ("burst", "10 KB")][..]),
        ("tbf", &[("rate", "1.5 Mbps"), ("burst", "10 KB"), ("peakrate", "3 Mbps")]),
        ("cbq", &[("rate", "1.5 Mbps")]),
    ];
    for (discipline, values) in cases {
        for aqm in ["droptail", "ecn", "blue", "rem", "sred", "fred"] {
            let links = vec![link("bottleneck", shaped_queue(discipline, values, fifo_queue(aqm, &[], 50)))];
            let run = run_off(
                &network(links, &TcpSettings { ecn: true, ..tcp_settings() }, 4, AppWrite::full_packets(1_000_000, 960)),
                &options(60, 1),
            );
            let used = queue_column(&run, "utilisation") * 10.0 / 1.5;
            assert!((0.93..=1.02).contains(&used), "{discipline} {values:?} around {aqm}: {used} of the rate");
        }
    }
}

#[test]
fn a_packet_that_arrives_while_a_shaper_waits_is_sent() {
    let tight = [("rate", "100 kbps"), ("burst", "1000 B")];
    let queues = [
        shaped_queue("tbf", &tight, fifo_queue("droptail", &[], 1000)),
        shaped_queue("cbq", &[("rate", "100 kbps"), ("maxburst", "1")], fifo_queue("droptail", &[], 1000)),
        shaped_queue("tbf", &tight, shaped_queue("cbq", &[("rate", "200 kbps"), ("minburst", "3")], fifo_queue("droptail", &[], 1000))),
        shaped_queue(
            "cbq",
            &[("rate", "100 kbps")],
            shaped_queue("tbf", &[("rate", "50 kbps"), ("burst", "3 KB")], fifo_queue("rem", &[], 1000)),
        ),
    ];
    for of in queues {
        let label = format!("{of:?}");
        let run = run_off(&network(vec![link("bottleneck", of)], &tcp_settings(), 5, AppWrite::full_packets(20, 960)), &options(100, 1));
        let ends = run.report.column_as_reals("flows", "completion_s");
        assert!(ends.iter().all(|end| *end < 40.0), "100 packets at 50 kbps or more: {label} took {ends:?}");
    }
}
